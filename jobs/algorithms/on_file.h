// Training on all records of a file but a public part that is held out for scores: empirical risk minimization.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/data/unit_selection.h>
#include <surety/jobs/algorithms/algorithm.h>
#include <surety/jobs/algorithms/rank_doors.h>
#include <surety/optimizers/models/metrics.h>
#include <surety/optimizers/problem/gradient_sum.h>

namespace surety::jobs {

/// Of units of several rows that are trained on. Nothing where each row is a unit.
struct TrainingUnits {
  optimizers::UnitEnds ends = {};
  /// About how many they are, a public number, where that of all units is public; on several ranks how many records all of them have, where
  /// that is public.
  std::optional<Count> count = {};
};

/// What a search needs to know of a training: see tuning.h.
struct TunableTraining {
  std::function<Event(NoiseMultiplier)> plan;  ///< all its releases: Gaussian, their multipliers in proportion to this one
  AnyObjective objective;                      ///< by which its model is scored
};

/// What such an algorithm does.
struct FileTraining {
  std::string extent;                              ///< for people: "100 steps"
  std::optional<std::uint64_t> records = {};       ///< or units, that the file must have
  std::optional<std::uint64_t> public_count = {};  ///< that takes the place of a private number of records
  bool needs_no_count = false;                     ///< nothing is divided by it
  Reader read;
  std::function<CalibratedNoise()> calibrate;
  std::optional<TunableTraining> tunable = {};  ///< with `learn`, where a search may run it
  std::function<std::vector<double>(const data::Dataset& data, const TrainingUnits& units, double noise,
                                    accounting::Reservation& reservation, mechanisms::BitsRef bits)>
      run = {};
  /// In the place of `run`, for what several ranks can do together: `data` are this rank's, and may be used up.
  std::function<std::vector<double>(data::Dataset&& data, const TrainingUnits& units, double noise, const TrainingDoors& doors)> learn = {};
  /// Refuses what only the numbers of records and features show, of what is public in the data.
  std::function<void(const data::Dataset& data)> check = {};
  /// Rows are their constant 1 alone, which is not scaled: for models whose answer does not depend on the record. A damaged record is a row of
  /// zeros as ever.
  bool sees_the_intercept_alone = false;
  /// Adds what else follows from what was released, once it was.
  std::function<void(TrainingFacts& facts)> tell = {};
};

/// What a run with these options releases, where its noise multiplier is `noise`.
template <class Options>
[[nodiscard]] Event plan_at(Options settings, NoiseMultiplier noise) {
  settings.noise_multiplier = noise;
  return plan(settings);
}

/// The least noise at which `plan` keeps the promise.
template <class Options>
[[nodiscard]] CalibratedNoise calibrated_plan(const Options& settings, const Target& target) {
  const auto found = calibrate([&](NoiseMultiplier z) { return plan_at(settings, z); }, target);
  return {.event = found.event, .epsilon = found.epsilon, .value = found.value.value()};
}

/// The run of one candidate of a search, on the records that one of them has read for all.
class CandidateRun : public TrainingRun {
 public:
  /// What a search needs to know of it. \throws Error{unsupported} where no search may run it.
  [[nodiscard]] virtual const TunableTraining& tunable() const = 0;
  [[nodiscard]] virtual const std::string& extent() const = 0;
  /// The parts of the records. \pre `read` was called
  [[nodiscard]] virtual const data::Split& parts() const = 0;
  [[nodiscard]] virtual std::vector<double> learn(const data::Dataset& training, double noise, const TrainingDoors& doors) const = 0;
};

// ---- Plans of which a public part of the records is held out ---------------------------------------------------------------------------

/// `held-out`, `split-seed` and `form-is-public`.
void add_split(FieldTable& table, SplitPlan& own, TrainPlan& shared);
/// For those that run on ranks: `timeout`.
void add_timeout(FieldTable& table, SplitPlan& own);
/// \throws PlanError for a share that is none.
[[nodiscard]] data::SplitOptions split_options(const SplitPlan& own, const TrainPlan& shared);
/// The number of records that are trained on, as public as `said` is: exact where records are replaced, a guess where they are added.
/// \throws PlanError where it is not said, or where none is left.
/// Of units that are split by their identifiers it is the expected one.
[[nodiscard]] Count training_count(const SplitPlan& own, const TrainPlan& shared, const std::optional<std::uint64_t>& said);
[[nodiscard]] std::unique_ptr<TrainingRun> on_file(const SplitPlan& own, const TrainPlan& shared, FileTraining training);
/// On the ranks of `team`, each with its share of the records. \pre training.learn
[[nodiscard]] std::unique_ptr<TrainingRun> on_file(const SplitPlan& own, const TrainPlan& shared, FileTraining training, Team& team);

/// Algorithms of such plans.
template <class Own>
class FileAlgorithm : public AlgorithmOf<Own> {
 public:
  using AlgorithmOf<Own>::AlgorithmOf;

  [[nodiscard]] std::chrono::milliseconds timeout(const TrainPlan& plan) const final {
    return timeout_of(std::get<Own>(plan.algorithm).timeout);
  }
  [[nodiscard]] std::vector<ReadFile> inputs(const TrainPlan& plan) const final {
    auto files = Algorithm::inputs(plan);
    for (const auto& path : plan.source.paths_of_ranks) files.push_back({"the data file", path});
    return files;
  }
};

}  // namespace surety::jobs
