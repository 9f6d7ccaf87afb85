// What the algorithms of surety train share: options, where records come from, and what is said of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <surety/optimizers/csv.h>
#include <surety/optimizers/libsvm.h>
#include <surety/optimizers/loss.h>
#include <surety/optimizers/record_stream.h>

#include "private_run.h"

namespace surety::cli {

struct TrainOptions {
  std::string data;
  std::string format = "csv";
  std::string label;
  std::vector<std::string> drop;
  std::vector<std::string> bounds;
  std::vector<std::string> categories;
  std::optional<std::uint32_t> features;
  std::optional<double> held_out;
  std::optional<std::uint64_t> split_seed;

  std::string loss = "logistic";
  std::optional<double> label_bound;
  std::string algorithm = "gradient-descent";
  std::optional<std::uint64_t> steps;
  std::optional<std::uint64_t> records;
  std::optional<std::uint64_t> batch_size;
  std::optional<std::uint64_t> passes;
  std::optional<double> step_size;
  std::optional<double> step_scale;
  std::optional<double> regularization;
  std::optional<double> clip;
  std::optional<double> radius;
  std::optional<double> norm;
  std::optional<std::string> factorization;
  std::optional<std::string> learner;
  std::optional<std::string> noise;
  std::optional<std::uint64_t> learners;
  std::optional<std::string> topology;
  std::optional<std::string> graph;
  std::optional<std::uint64_t> mixing_seed;
  std::optional<std::string> schedule;
  std::optional<double> timeout;

  PrivateRunOptions run;
  std::optional<std::uint64_t> public_count;

  std::string model;
  std::optional<std::uint64_t> every;
  bool json = false;
};

/// Calls train(objective) with the loss that the options name. \throws Error{invalid_argument} for options that do not suit it.
template <class Train>
int with_objective(const TrainOptions& options, Train train) {
  using namespace optimizers;
  if (options.loss == LogisticLoss::name) {
    if (options.label_bound) throw usage("--label-bound is for squared loss, labels of logistic loss are classes");
    return train(LogisticLoss{});
  }
  if (!options.label_bound) throw usage("--label-bound is missing: squared loss needs a public bound on the labels' magnitude");
  if (!options.radius && !options.clip)
    throw usage("--radius or --clip is missing: the gradient of squared loss is bounded only where the weights are");
  // Without a radius every record is clipped to --clip, and the loss's own bound is not used.
  return train(SquaredLoss{.label_bound = LabelBound{*options.label_bound}, .weight_radius = Radius{options.radius.value_or(1)}});
}

/// How the data are to be read: public, and checked before they are.
struct Source {
  std::optional<optimizers::LabelRule> label;
  std::variant<optimizers::CsvOptions, optimizers::SparseFeatures> inputs;
};
[[nodiscard]] Source source_of(const TrainOptions& options);

/// All records. \throws Error{bad_data}.
[[nodiscard]] optimizers::CsvData read(const TrainOptions& options, const Source& source);

/// Records one at a time, and the map that makes their features. Reads the header alone. \throws Error{bad_data}.
struct OpenStream {
  optimizers::RecordStream records;
  optimizers::FeatureMap features;
};
[[nodiscard]] OpenStream open_stream(const TrainOptions& options, const Source& source);

/// Refuses outputs that would overwrite each other or the data.
void require_distinct_files(const TrainOptions& options);

/// Shows public progress on a terminal, and nothing elsewhere.
[[nodiscard]] std::function<void(std::uint64_t)> progress_bar(std::uint64_t steps);

class Team;
/// Trains learners that exchange parameters, alone or over the ranks of an mpirun. \throws as every command.
int train_by_gossip(const TrainOptions& options, Team& team);

/// Trains by any algorithm but gradient descent and gossip. \throws as every command.
int train_beyond_gradient_descent(const TrainOptions& options);

}  // namespace surety::cli
