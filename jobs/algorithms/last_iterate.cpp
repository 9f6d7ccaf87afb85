#include <surety/jobs/algorithms/last_iterate.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/streams/snowball.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/on_file.h>
#include <surety/jobs/algorithms/on_stream.h>
#include <surety/jobs/algorithms/penalty.h>
#include <surety/jobs/doors/releasers.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

Event event_at(LastIterateDescent descent, const AnyConvexObjective& objective, NoiseMultiplier z) {
  descent.noise_multiplier = z;
  return plan(descent, objective);
}

std::vector<double> released(LastIterateDescent descent, const AnyConvexObjective& objective, const Dataset& data, double noise,
                             accounting::Reservation& reservation, mechanisms::BitsRef bits) {
  descent.noise_multiplier = NoiseMultiplier{noise};
  return releasers().of_last_iterate(reservation, bits)->release(data, objective, descent);
}

/// A public permutation of so many places: files are often sorted, and the last weights would follow the records at the end.
std::vector<std::size_t> public_order(std::size_t records) {
  mechanisms::ReplayBits bits{0};
  std::vector<std::size_t> order(records);
  for (std::size_t i = 0; i < records; ++i) {
    const std::size_t j = mechanisms::uniform_below(i + 1, [&bits] { return mechanisms::draw_word(bits); });
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

/// Adds public facts of the run: what is published, from which ball, and the Lipschitz constant that is charged.
void add_facts(const LastIterateDescent& descent, const AnyConvexObjective& objective, TrainingFacts& facts) {
  facts.fields["publish"] = "last";
  facts.fields["radius"] = descent.radius.value();
  facts.fields["lipschitz_constant"] = step_constant(descent, objective).value();
  facts.lines.emplace_back("published", fmt::format("the last weights alone, kept in a ball of radius {}", descent.radius.value()));
}

class LastIterateOfFile final : public LoneRun {
 public:
  LastIterateOfFile(const GradientDescentPlan& own, const TrainPlan& shared, AnyConvexObjective objective, LastIterateDescent descent)
      : LoneRun{own, shared, {.objective = objective, .extent = fmt::format("{} steps", own.steps)}},
        objective_{std::move(objective)},
        descent_{std::move(descent)} {}

  CalibratedNoise calibrate() override {
    auto found = calibrated([&](NoiseMultiplier z) { return with_what_is_beside(event_at(descent_, objective_, z)); }, target());
    found.sigma = (1 + rounding_share_of_noise) * summed_sigma(NoiseMultiplier{found.value}, descent_.clip, target().adjacency);
    return found;
  }

 protected:
  std::vector<double> learn(const Dataset& data, double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits) override {
    return released(descent_, objective_, data, noise, reservation, bits);
  }
  void check(const TrainedNumbers& numbers) const override {
    require_last_iterate(numbers.records, numbers.features, objective_, descent_);
  }
  void tell(TrainingFacts& facts, const Model& /*model*/) const override { add_facts(descent_, objective_, facts); }

 private:
  AnyConvexObjective objective_;
  LastIterateDescent descent_;
};

class LastIterateOfBatches final : public BatchRun {
 public:
  LastIterateOfBatches(const CountPlan& own, const TrainPlan& shared, std::uint64_t records, AnyConvexObjective objective,
                       LastIterateDescent descent)
      : BatchRun{own, shared, objective, records}, objective_{std::move(objective)}, descent_{std::move(descent)} {}

  CalibratedNoise calibrate() override {
    return calibrated([&](NoiseMultiplier z) { return usable_count().with_count(event_at(descent_, objective_, z)); }, target(),
                      accounting::best_cost(target()));
  }
  void add_to(TrainingFacts& facts, const ModelFacts& known) const override {
    BatchRun::add_to(facts, known);
    add_facts(descent_, objective_, facts);
  }

 protected:
  void check(std::size_t records) const override { require_last_iterate(records, data().features(), objective_, descent_); }
  std::vector<double> learn(double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits) override {
    return released(descent_, objective_, data().subset(public_order(data().size())), noise, reservation, bits);
  }

 private:
  AnyConvexObjective objective_;
  LastIterateDescent descent_;
};

class SnowballSgd final : public BallAlgorithm<SnowballSgdPlan> {
 public:
  SnowballSgd()
      : BallAlgorithm{
            "Noisy gradients of growing batches of a whole file, in one pass; the last weights alone are published (Snowball-SGD)."} {}

 protected:
  void fields(FieldTable& table, SnowballSgdPlan& own, TrainPlan& shared) const override {
    table.group("Data");
    add_form(table, shared.source.form_is_public);
    add_count(table, own);
    add_records(table, own.records);
    add_radius(table, shared, "100");
    add_clip(table, shared, "the loss's bound for rows of norm 1");
    table.add("steps", own.steps, "Batches", WholeNumber{1, most_snowball_steps}).standard("2 sqrt(records)");
    table.add("step-size", own.step_size, "Of each step", AnyNumber{}).standard("1 / smoothness");
  }

  std::unique_ptr<TrainingRun> run_of(const SnowballSgdPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    const AnyConvexObjective objective = smooth_objective_of(shared);
    const Count records = records_of_batches(own.records);
    const auto standard = static_cast<std::uint64_t>(2 * std::sqrt(static_cast<double>(records.value())));
    const std::uint64_t steps = own.steps.value_or(std::min({standard, records.value(), most_snowball_steps}));
    if (steps > records.value()) refuse_plan("{} is {}, must be at most the {} records", "steps"_field, steps, records.value());
    auto descent = last_iterate_descent(shared, objective, GrowingBatches{snowball_batches(records, Count{steps})}, own.step_size, 0);
    descent.progress = context.progress_of(steps);
    return std::make_unique<LastIterateOfBatches>(own, shared, records.value(), objective, std::move(descent));
  }
};

}  // namespace

void add_publish(FieldTable& table, Publish& publish) {
  table.group("Privacy");
  table.add("publish", publish, "all weights of the run, or the last ones alone, which costs less where the steps are many");
  table.group("Problem and algorithm");
}

LastIterateDescent last_iterate_descent(const TrainPlan& shared, const AnyConvexObjective& objective,
                                        decltype(LastIterateDescent::batches) batches, const std::optional<double>& step_size,
                                        double regularization) {
  LastIterateDescent descent{
      .noise_multiplier = NoiseMultiplier{1},
      .adjacency = shared.target.adjacency,
      .batches = std::move(batches),
      .step_size = StepSize{step_size.value_or(1 / (objective.smoothness(1) + Regularization{regularization}.value()))},
      .clip = clip_of(shared, objective),
      .regularization = Regularization{regularization}};
  descent.radius = Radius{shared.problem.radius.value_or(100 * label_unit(shared))};
  static_cast<void>(plan(descent, objective));
  return descent;
}

std::unique_ptr<TrainingRun> last_iterate_of_file(const GradientDescentPlan& own, const TrainPlan& shared, const TrainContext& context) {
  const AnyConvexObjective objective = smooth_objective_of(shared);
  if (own.iterate != Iterate::last) {
    refuse_plan("{} is {}, must be last where {} is last", "iterate"_field, own.iterate, "publish"_field);
  }
  if (own.l1) refuse_plan("{} cannot be combined with {} last; remove one", "l1"_field, "publish"_field);
  if (own.public_count) refuse_plan("{} cannot be combined with {} last; remove one", "public-count"_field, "publish"_field);
  if (shared.search.tune) refuse_plan("{} cannot be combined with {} last; remove one", "tune"_field, "publish"_field);
  if (context.team.size() > 1) {
    refuse_plan("{} is last, must be all on {} processes: the steps of the last iterate run in one process", "publish"_field,
                context.team.size());
  }
  auto descent = last_iterate_descent(shared, objective, AllRecords{Count{own.steps}}, own.step_size, own.regularization);
  descent.threads = threads_of(own.threads);
  descent.progress = context.progress_of(own.steps);
  return std::make_unique<LastIterateOfFile>(own, shared, objective, std::move(descent));
}

std::unique_ptr<TrainingRun> last_iterate_of_passes(const NoisySgdPlan& own, const TrainPlan& shared, const TrainContext& context) {
  const AnyConvexObjective objective = smooth_objective_of(shared);
  const Count records = records_of_batches(own.records);
  const Batches batches = batches_of(own.batch_size, records);
  auto descent = last_iterate_descent(
      shared, objective, PublicBatches{.records = records, .size = batches.size(), .passes = Count{own.passes}}, own.step_size, 0);
  descent.progress = context.progress_of(own.passes * ((records.value() - 1) / batches.size().value() + 1));
  return std::make_unique<LastIterateOfBatches>(own, shared, records.value(), objective, std::move(descent));
}

std::unique_ptr<Algorithm> snowball_sgd_algorithm() { return std::make_unique<SnowballSgd>(); }

}  // namespace surety::jobs
