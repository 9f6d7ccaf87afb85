// An algorithm of surety train: its name, the options that it knows, and the run that they make. Each is one file here, and one line of
// algorithms.cpp: parsing, help, the refusal of other algorithms' options and the table of the documents come from that.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/numbers/error.h>
#include <surety/optimizers/problem/loss.h>

#include "../algorithm_options.h"
#include "../files.h"
#include "../team.h"
#include "train_options.h"

namespace surety::cli {

/// The noise of a run, and what an accountant says of it.
struct CalibratedNoise {
  Event event;                       ///< all that will be released
  Enclosure epsilon;                 ///< its cost at the target's delta
  double value;                      ///< the noise multiplier, or the scale
  std::optional<double> sigma = {};  ///< on each coordinate of a summed gradient
};

struct Report;

/// What one training is about to do, and does, in this order: calibrate, read, run, report. A later rank of an mpirun is told the noise.
class TrainingRun {
 public:
  TrainingRun() = default;
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;
  virtual ~TrainingRun() = default;

  /// The least noise that keeps the promise. Knows nothing of records.
  [[nodiscard]] virtual CalibratedNoise calibrate() = 0;
  /// Reads what is read before the charge, and refuses what does not fit the plan. \return the features; they stay where they are.
  [[nodiscard]] virtual const data::FeatureMap& read(double noise, RunBits& bits) = 0;
  /// What must be equal on all ranks, as a text.
  [[nodiscard]] virtual std::string identity(double /*noise*/) const { return {}; }
  /// Learns. \param reservation of the first rank; the others have none.
  [[nodiscard]] virtual std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) = 0;
  /// Adds what only this kind of run can say.
  virtual void add_to(Report& report) const = 0;
};

class Algorithm : public NamedAlgorithm<TrainOptions> {
 public:
  using NamedAlgorithm::NamedAlgorithm;

  /// Whether it runs on several ranks of an mpirun, and how long one waits for the others.
  [[nodiscard]] virtual bool runs_on_ranks() const { return false; }
  [[nodiscard]] virtual std::chrono::milliseconds timeout() const { return optimizers::default_timeout; }
  /// Why it has no theorem for units of several rows, in words that follow "is not for NAME: "; empty where it has one.
  [[nodiscard]] virtual std::string why_no_units() const = 0;
  /// What its candidates differ in, where --tune is said and --tune-over is not: "steps=10,30". Public.
  [[nodiscard]] virtual std::vector<std::string> tuned_over() const { return {}; }
  /// The files that it reads.
  [[nodiscard]] virtual std::vector<NamedFile> inputs(const TrainOptions& shared) const { return {{"the data file", shared.data}}; }
  /// The run that the options make. Reads no records. \throws Error{invalid_argument} for what is missing or does not fit together.
  /// `shared`, `source` and `team` outlive the run, and so does this algorithm.
  [[nodiscard]] virtual std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team& team) const = 0;
};

/// A loss that lasts as long as any copy of this, as algorithms see it: a `Ref`.
template <class Ref>
class Owned : public Ref {
 public:
  template <class O>
  explicit Owned(std::shared_ptr<const O> objective) : Ref{*objective}, objective_{std::move(objective)} {}

 private:
  std::shared_ptr<const void> objective_;
};
using AnyObjective = Owned<optimizers::ObjectiveRef>;
using AnyConvexObjective = Owned<optimizers::ConvexObjectiveRef>;

/// The loss that the options name, for algorithms that know logistic and squared loss, for those that know all of them, and for those that
/// need a smooth one. \throws Error{invalid_argument} for options that do not suit it, and for a loss that the algorithm does not know.
[[nodiscard]] AnyObjective objective_of(const TrainOptions& options);
[[nodiscard]] AnyObjective any_objective_of(const TrainOptions& options);
[[nodiscard]] AnyConvexObjective smooth_objective_of(const TrainOptions& options);

/// \throws Error{invalid_argument} for an option of another loss than the one that is asked for.
void require_options_of_loss(const TrainOptions& options);

/// prepare(objective) with the loss of `objective_of` itself, for algorithms that are compiled for each loss.
template <class Prepare>
auto with_objective(const TrainOptions& options, Prepare prepare) {
  using namespace optimizers;
  using namespace data;
  require_options_of_loss(options);
  if (options.loss == LogisticLoss::name) return prepare(LogisticLoss{});
  if (options.loss != SquaredLoss::name) {
    invalid(fmt::format("--loss is {}, must be logistic or squared for {}", options.loss, options.algorithm));
  }
  // Without a radius every record is clipped to --clip, and the loss's own bound is not used.
  return prepare(SquaredLoss{.label_bound = LabelBound{*options.label_bound}, .weight_radius = Radius{options.radius.value_or(1)}});
}

/// What reads all records with labels as `objective` wants them, or those of `units` that are kept. \param keep of an algorithm that reads rows
/// through a `RowReader` alone
using Reader = std::function<ReadRecords(const jobs::KeptUnits* units)>;
[[nodiscard]] Reader reader_for(const TrainOptions& options, const Source& source, const AnyObjective& objective,
                                KeepRows keep = KeepRows::in_memory);
[[nodiscard]] Reader reader_for(const TrainOptions& options, const Source& source, const AnyConvexObjective& objective,
                                KeepRows keep = KeepRows::in_memory);

/// How long a rank waits for others: the 30 s that hold where nothing is said. \throws Error{invalid_argument} for less than a millisecond or more
/// than a day.
[[nodiscard]] std::chrono::milliseconds timeout_of(const std::optional<double>& seconds);

/// The clip of one record, or what the loss says for rows of norm 1.
[[nodiscard]] ClippingNorm clip_of(const TrainOptions& options, optimizers::ObjectiveRef objective);

// ---- Options that several algorithms know -----------------------------------------------------------------------------------------------

void add_clip(OptionTable& table, TrainOptions& shared, std::string standard);
void add_radius(OptionTable& table, TrainOptions& shared, std::string standard);
void add_records(OptionTable& table, std::optional<std::uint64_t>& records, std::string standard = "needed");
void add_threads(OptionTable& table, std::optional<std::uint64_t>& threads);
void add_public_count(OptionTable& table, std::optional<std::uint64_t>& count);
void add_regularization(OptionTable& table, double& regularization);
void add_l1(OptionTable& table, std::optional<double>& l1);
/// For those whose releases are Gaussian, all in proportion to one multiplier. \param standard what is tuned where nothing is said
void add_tune(OptionTable& table, TrainOptions& shared, std::string standard);

/// For gradients of all records. Results do not depend on them.
[[nodiscard]] std::size_t threads_of(const std::optional<std::uint64_t>& threads);

}  // namespace surety::cli
