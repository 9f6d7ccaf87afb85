// Training on all records of a file but a public part that is held out for scores: empirical risk minimization.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <surety/data/units/unit_selection.h>
#include <surety/jobs/algorithms/algorithm.h>
#include <surety/jobs/algorithms/private_ranges.h>
#include <surety/jobs/algorithms/private_score.h>
#include <surety/jobs/algorithms/rank_doors.h>
#include <surety/jobs/algorithms/usable_count.h>
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

/// Whether the noise of a training that knows pure noise is that: where delta is 0, and no search runs it.
[[nodiscard]] bool is_pure(const TrainPlan& plan);

/// What is known of such a training before anything is read.
struct FileNeeds {
  AnyObjective objective;                          ///< for labels as it wants them
  std::string extent;                              ///< for people: "100 steps"
  std::optional<std::uint64_t> records = {};       ///< or units, that the file must have
  std::optional<std::uint64_t> public_count = {};  ///< that takes the place of a private number of records
  bool needs_no_count = false;                     ///< nothing is divided by it
  CountNeeds count = {};                           ///< of usable records; `public_count` stands in for the number that it lacks
  KeepRows keep = KeepRows::in_memory;
  /// Rows are their constant 1 alone, which is not scaled: for models whose answer does not depend on the record. A damaged record is a row of
  /// zeros as ever.
  bool sees_the_intercept_alone = false;
};

/// A training on a file: reads it, holds a part out, and scores the model there. Algorithms are `LoneRun`s or `RankRun`s.
class FileRun : public TrainingRun {
 public:
  [[nodiscard]] const data::FeatureMap& read(double noise, RunBits& bits, const RunContext& context) final;
  [[nodiscard]] std::optional<std::uint64_t> public_records() const final { return known_count(); }
  [[nodiscard]] std::string identity(double noise) const final;
  [[nodiscard]] bool releases_score(const Event& event) const final { return score_.is_released(scored_training(event)); }
  void add_to(TrainingFacts& facts, const ModelFacts& known) const final;

 protected:
  /// \param team whose ranks share the records, null for what is for one process. `shared` and the team outlive the run.
  /// \throws PlanError where a private number of records would divide, and for what several ranks cannot share.
  FileRun(const SplitPlan& own, const TrainPlan& shared, FileNeeds needs, Team* team);

  /// How many records it trains on, and how many features each has.
  struct TrainedNumbers {
    std::size_t records;
    std::size_t features;
  };
  /// Refuses what only these numbers show, of what is public in the data.
  virtual void check(const TrainedNumbers& /*numbers*/) const {}
  /// Whether all that it releases are sums over units of clipped vectors, of which one more moves half of what is charged under replace-one, or of positive
  /// semidefinite matrices and of vectors without negative coordinates, 1/sqrt 2 of it, and how many units are trained on is in nothing else.
  [[nodiscard]] virtual bool adds_up_units() const { return false; }
  /// Where nothing that it releases pays for a score: about how many records, or units, are held out, a public number, and 0 where one is wanted at no price but
  /// by its name.
  [[nodiscard]] virtual std::optional<double> held_out_for_price() const { return std::nullopt; }
  /// \throws Error{unsupported} where ranges are to be released.
  void require_no_ranges() const;
  /// Releases the ranges of columns that have none, and maps the rows by them: learn(use) at a door, as `TrainingDoors`.
  void release_ranges(const TrainingDoors& at);
  /// The event, with ranges, the count of usable records and a score that is paid for where the training has them.
  [[nodiscard]] Event with_what_is_beside(const Event& training) const;
  [[nodiscard]] const UsableCount& usable_count() const { return count_; }
  /// Releases how many usable records, or units, are trained on, where they are counted: release(query) at a door.
  /// \throws Error{bad_data} where they are fewer than half of as many as is publicly known: what is charged stays so.
  template <class Release>
  void count_usable(const Release& release) {
    if (count_.is_counted()) count_.keep(release(count_.query(usable_units(parts_->training, unit_ends_))), counted_of());
  }
  /// The weights, once the model was scored on the part held out, where it may be.
  [[nodiscard]] std::vector<double> scored(std::vector<double> weights, accounting::Reservation* reservation, mechanisms::BitsRef bits);
  /// Adds what else follows from what was released, once it was. \param model of these weights
  virtual void tell(TrainingFacts& /*facts*/, const optimizers::Model& /*model*/) const {}

  [[nodiscard]] const TrainPlan& shared() const { return plan_; }
  template <class Own>
  [[nodiscard]] const Own& own() const {
    return std::get<Own>(plan_.algorithm);
  }
  [[nodiscard]] const Target& target() const { return plan_.target; }
  [[nodiscard]] const AnyObjective& objective() const { return needs_.objective; }
  [[nodiscard]] const std::string& extent() const { return needs_.extent; }
  [[nodiscard]] bool holds_out() const { return how_.held_out_fraction > 0; }
  /// \pre `read` was called, of these and of what follows
  [[nodiscard]] const data::Split& parts() const { return parts_.value(); }
  [[nodiscard]] data::Dataset& training() { return parts_->training; }
  [[nodiscard]] const data::FeatureMap& features() const { return found_->features; }
  [[nodiscard]] TrainingUnits units() const;
  [[nodiscard]] TrainingDoors doors(accounting::Reservation* reservation, mechanisms::BitsRef bits) const {
    return {*team_, reservation, bits, counts_, is_pure(plan_)};
  }

 private:
  [[nodiscard]] ScoredTraining scored_training(const Event& event) const {
    return {.event = event, .count = count_.event(), .adds_up_units = adds_up_units(), .held_out_for_price = held_out_for_price()};
  }
  void check_parts() const { check({.records = parts_->training.size(), .features = found_->features.features()}); }
  void read_parts(RunBits& bits, const RunContext& context);
  void read_share();
  void find(const KeptUnits* units);
  void split_kept(const data::KeptRows& kept);
  /// With what number the usable records, or units, are compared: how many are trained on, or a guess of that. \pre they are counted
  [[nodiscard]] std::uint64_t counted_of() const;
  [[nodiscard]] bool is_shared() const { return team_ != nullptr && team_->size() > 1; }
  [[nodiscard]] std::uint64_t training_records() const;
  /// How many records, or units, are trained on, as is publicly known; nothing where nothing is.
  [[nodiscard]] std::optional<std::uint64_t> known_count() const;
  [[nodiscard]] bool is_count_public() const { return how_.adjacency != Adjacency::add_or_remove_one; }

  const TrainPlan& plan_;
  data::SplitOptions how_;
  FileNeeds needs_;
  UsableCount count_;
  PrivateRanges ranges_;
  PrivateScore score_;
  Team* team_;
  std::vector<std::uint64_t> counts_;  ///< of records that each rank trains on
  std::uint64_t fingerprint_ = 0;
  std::uint64_t damaged_ = 0;
  std::uint64_t trained_on_ = 0;  ///< of these
  std::optional<ReadRecords> found_;
  std::optional<data::Split> parts_;
  std::vector<std::size_t> unit_ends_;
  std::vector<std::size_t> held_out_ends_;
  std::uint64_t units_ = 0;  ///< as public as the adjacency says
};

/// One that runs in one process.
class LoneRun : public FileRun {
 public:
  [[nodiscard]] std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) final {
    count_usable([&](const CountQuery& query) { return release_count(query, *reservation, bits.source()); });
    return scored(learn(training(), noise, *reservation, bits.source()), reservation, bits.source());
  }

 protected:
  /// \throws Error{unsupported} for private ranges.
  LoneRun(const SplitPlan& own, const TrainPlan& shared, FileNeeds needs) : FileRun{own, shared, std::move(needs), nullptr} {
    require_no_ranges();
  }
  [[nodiscard]] virtual std::vector<double> learn(const data::Dataset& data, double noise, accounting::Reservation& reservation,
                                                  mechanisms::BitsRef bits) = 0;
};

/// One that several ranks can do together.
class RankRun : public FileRun {
 public:
  [[nodiscard]] CalibratedNoise calibrate() override {
    return calibrated([&](NoiseMultiplier z) { return with_what_is_beside(event_at(z)); }, target());
  }
  [[nodiscard]] std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) final {
    const auto at = doors(reservation, bits.source());
    release_ranges(at);
    const auto counted = [&](const CountQuery& query) {
      return at.learn([&](optimizers::Releaser& releaser) { return releaser.release(query.sum, query.sensitivity, query.event); }).front();
    };
    count_usable(counted);
    return scored(learn(std::move(training()), units(), noise, at), reservation, bits.source());
  }

 protected:
  RankRun(const SplitPlan& own, const TrainPlan& shared, FileNeeds needs, Team& team) : FileRun{own, shared, std::move(needs), &team} {}

  /// All that it releases.
  [[nodiscard]] virtual Event event_at(NoiseMultiplier noise) const = 0;
  /// \param data of this rank, which may be used up
  [[nodiscard]] virtual std::vector<double> learn(data::Dataset&& data, const TrainingUnits& units, double noise,
                                                  const TrainingDoors& doors) = 0;
};

/// One that a search may run: all its releases are Gaussian, their multipliers in proportion to one.
class TunableRun : public RankRun {
 public:
  using FileRun::extent;
  using FileRun::holds_out;
  using FileRun::objective;
  using FileRun::parts;
  using RankRun::event_at;
  using RankRun::learn;

 protected:
  using RankRun::RankRun;
};

/// `Run` with the options of its algorithm, whose `plan` is all that it releases.
template <class Run, class Options>
class OptionsRun : public Run {
 public:
  template <class... Others>
  explicit OptionsRun(Options settings, Others&&... others) : Run{std::forward<Others>(others)...}, settings_{std::move(settings)} {}

 protected:
  [[nodiscard]] Event event_at(NoiseMultiplier noise) const final { return plan_at(settings_, noise); }
  /// The options with this noise, and with a number of records where that is public and none was said.
  [[nodiscard]] Options noisy(double noise, const TrainingUnits& units) const {
    Options noisy = settings_;
    noisy.noise_multiplier = NoiseMultiplier{noise};
    if (!noisy.public_count) noisy.public_count = units.count;
    return noisy;
  }
  [[nodiscard]] const Options& settings() const { return settings_; }

 private:
  Options settings_;
};

// ---- Plans of which a public part of the records is held out ---------------------------------------------------------------------------

/// `held-out`, `split-seed`, `form-is-public`, and whether usable records are counted.
void add_split(FieldTable& table, SplitPlan& own, TrainPlan& shared);
/// For those that run on ranks: `timeout`.
void add_timeout(FieldTable& table, SplitPlan& own);
/// \throws PlanError for a share that is none.
[[nodiscard]] data::SplitOptions split_options(const SplitPlan& own, const TrainPlan& shared);
/// The number of records that are trained on, as public as `said` is: exact where records are replaced, a guess where they are added.
/// \throws PlanError where it is not said, or where none is left.
/// Of units that are split by their identifiers it is the expected one.
[[nodiscard]] Count training_count(const SplitPlan& own, const TrainPlan& shared, const std::optional<std::uint64_t>& said);
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

 protected:
  /// `why` for units of several rows. Of one row each a unit is a record, which may stand anywhere in the file: for what does not depend on the
  /// order of records. Where a part is held out by identifiers, how many are trained on is private, which records are not. Empty otherwise.
  [[nodiscard]] static FieldText unless_records(const TrainPlan& plan, const FieldText& why) {
    if (plan.unit.most() != Count{1}) return why;
    if (std::get<Own>(plan.algorithm).held_out == 0) return {};
    return field_text("{}; with {} 0 each of these units is a record", why, "held-out"_field);
  }
};

}  // namespace surety::jobs
