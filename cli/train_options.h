// What the algorithms of surety train share: options, where records come from, and what is said of a run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <surety/data/csv.h>
#include <surety/data/libsvm.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/record_stream.h>

#include "data_options.h"
#include "private_run.h"

namespace surety::cli {

struct TrainOptions {
  std::string data;
  std::string format = "csv";
  std::string label;
  std::vector<std::string> drop;
  std::vector<std::string> bounds;
  std::vector<std::string> categories;
  std::optional<std::uint64_t> features;
  DataOptions reading;
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
  std::optional<double> l1;
  std::optional<double> smoothing;
  std::optional<std::string> iterate;
  std::optional<std::uint64_t> threads;
  std::optional<std::string> geometry;
  std::optional<std::string> sampling;
  std::optional<std::uint64_t> epochs;
  std::optional<std::uint64_t> inner_steps;
  std::optional<double> noise_multiplier;
  std::optional<std::uint64_t> microbatch;
  std::optional<double> momentum;
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

/// \throws Error{invalid_argument} for an option of another loss than the one that is asked for.
void require_options_of_loss(const TrainOptions& options);

/// Calls train(objective) with the loss that the options name, for algorithms that know two. \throws Error{invalid_argument} for options
/// that do not suit it.
template <class Train>
int with_objective(const TrainOptions& options, Train train) {
  using namespace optimizers;
  require_options_of_loss(options);
  if (options.loss == LogisticLoss::name) return train(LogisticLoss{});
  if (options.loss != SquaredLoss::name) {
    throw usage(fmt::format("--loss is {}, must be logistic or squared for {}", options.loss, options.algorithm));
  }
  // Without a radius every record is clipped to --clip, and the loss's own bound is not used.
  return train(SquaredLoss{.label_bound = LabelBound{*options.label_bound}, .weight_radius = Radius{options.radius.value_or(1)}});
}

/// The same for algorithms that know all losses.
template <class Train>
int with_any_objective(const TrainOptions& options, Train train) {
  using namespace optimizers;
  if (options.loss != SmoothedHingeLoss::name && options.loss != HingeLoss::name) return with_objective(options, train);
  require_options_of_loss(options);
  if (options.loss == HingeLoss::name) return train(HingeLoss{});
  return train(SmoothedHingeLoss{.width = SmoothingWidth{options.smoothing.value_or(0.5)}});
}

/// How the data are to be read: public, and checked before they are.
struct Source {
  std::optional<optimizers::LabelRule> label;
  std::variant<optimizers::CsvOptions, optimizers::SparseFeatures> inputs;
};
[[nodiscard]] Source source_of(const TrainOptions& options);

/// Records one at a time, and the map that makes their features. Reads the header alone. \throws Error{bad_data}.
struct OpenStream {
  optimizers::RecordStream records;
  optimizers::FeatureMap features;
};
[[nodiscard]] OpenStream open_stream(const TrainOptions& options, const Source& source);

/// All records, with labels as `objective` wants them.
struct ReadRecords {
  optimizers::Dataset data;
  optimizers::FeatureMap features;
  std::uint64_t damaged = 0;  ///< of them are records of zeros: private
};

/// How many numbers a data set may hold: not limited where the number of records is private.
[[nodiscard]] std::uint64_t most_numbers(const TrainOptions& options);
/// \throws Error{bad_data} for a file without records where their number is public, always.
[[noreturn]] void refuse_no_records(const TrainOptions& options);

/// \throws Error{bad_data} for what is wrong with the file, or with a record where its form is public, and where the number of records is
///         public for a file without any.
template <class O>
[[nodiscard]] ReadRecords read(const TrainOptions& options, const Source& source, const O& objective) {
  auto [records, features] = open_stream(options, source);
  auto data = read_all(records, objective, features.features(), most_numbers(options));
  if (data.empty() && options.run.target().adjacency != Adjacency::add_or_remove_one) refuse_no_records(options);
  return {.data = std::move(data), .features = std::move(features), .damaged = records.damaged()};
}

/// "2 records were damaged and ...", for what is printed of private data.
[[nodiscard]] std::string describe_damage(std::uint64_t damaged);

/// `require_separate` for the files of a training run: the data, or those of every learner, a graph, the ledger and the model.
void require_distinct_files(const TrainOptions& options);

/// In a path of data: the number of a learner, whose own file it is.
inline constexpr std::string_view learner_word = "{learner}";
/// The path of a learner's own data; where they share one, that one.
[[nodiscard]] std::string data_of_learner(const TrainOptions& options, std::uint64_t learner);

/// Shows public progress on a terminal, and nothing elsewhere.
[[nodiscard]] std::function<void(std::uint64_t)> progress_bar(std::uint64_t steps);

/// How long a rank of an mpirun waits for the others. \throws Error{invalid_argument} when --timeout is out of range.
[[nodiscard]] std::chrono::milliseconds timeout_of(const TrainOptions& options);

class Team;
/// Trains learners that exchange parameters, alone or over the ranks of an mpirun. \throws as every command.
int train_by_gossip(const TrainOptions& options, Team& team);

/// Trains on all records of a file but those held out, by empirical risk minimization. \throws as every command.
int train_on_a_file(const TrainOptions& options);

/// Trains by any other algorithm but gossip. \throws as every command.
int train_beyond_gradient_descent(const TrainOptions& options);

}  // namespace surety::cli
