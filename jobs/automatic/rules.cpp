#include <surety/jobs/automatic/rules.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <variant>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/event.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/on_file.h>
#include <surety/jobs/automatic/public_form.h>
#include <surety/optimizers/problem/geometry.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::jobs {

using namespace optimizers;

namespace {

/// What a rule knows: the public numbers, and the plan that holds what was said.
class Rules {
 public:
  Rules(const TrainPlan& plan, const RuleNumbers& numbers)
      : plan_{plan},
        loss_{any_objective_of(plan)},
        clip_{plan.problem.clip.value_or(loss_.gradient_bound(1))},
        records_{numbers.records},
        features_{numbers.features},
        strength_{numbers.strength() / clip_} {}

  void add(const GradientDescentPlan& /*own*/) { full_gradients(whole(strength_ / 10, 10, 2000)); }
  void add(const AcceleratedGradientDescentPlan& /*own*/) { full_gradients(whole(std::sqrt(strength_), 10, 500)); }
  void add(const MirrorDescentPlan& own) {
    if (own.geometry == Geometry::simplex && !plan_.problem.radius) return;
    const double radius = radius_or((own.geometry == Geometry::l1 ? 12 : 5) * std::sqrt(features_));
    const auto dimension = static_cast<std::size_t>(features_);
    const auto steps = [&](const auto& geometry, double ratio) {
      // 4 L Theta / T^2 is 1 / ratio of 2 S_1 sqrt(2 Theta / 3), S_1 the size of the noise for one step.
      const double noise = 2 * std::sqrt(geometry.squared_dual_noise(dimension)) / strength_;
      const double range = geometry.range(dimension);
      return whole(std::sqrt(ratio * 4 * smoothness() * range / (2 * noise * std::sqrt(2 * range / 3))), 30, 3000);
    };
    if (own.geometry == Geometry::l1) return say("steps", steps(L1Geometry{Radius{radius}}, 50));
    if (own.geometry == Geometry::simplex) return say("steps", steps(SimplexGeometry{Simplex{Quantity<ScaleRule>{radius}}}, 50));
    say("steps", steps(EuclideanGeometry{L2Ball{Radius{radius}}}, 12));
  }
  void add(const DpSgdPlan& own) {
    if (!own.steps && !own.noise_multiplier) say("epochs", whole(std::sqrt(strength_) / 15, 1, 20));
    say("regularization", "0");
  }
  void add(const SvrgPlan& /*own*/) { variance_reduction(1); }
  void add(const SvrgPlusPlusPlan& /*own*/) { variance_reduction(5.0 / 7); }
  void add(const OutputPerturbationPlan& /*own*/) { say("regularization", number(0.4 * std::pow(strength_, -2.0 / 3))); }
  void add(const ObjectivePerturbationPlan& /*own*/) {
    // The determinants of neighbours, beta / (n lambda), take a quarter of epsilon at most.
    say("regularization", number(std::max({0.2 / strength_, 4 * smoothness() / (records_ * plan_.target.epsilon.value()), 2e-5})));
  }
  void add(const OnlineFrankWolfePlan& /*own*/) {
    stream_radius(1);
    stream_clip();
    say("step-scale", "1");
  }
  void add(const PolyhedralFrankWolfePlan& /*own*/) {
    stream_radius(2);
    say("clip", "0.25");
  }
  void add(const NoisyFrankWolfePlan& /*own*/) {
    stream_radius(1);
    stream_clip();
    say("step-scale", "0.5");
    say("steps", whole(std::min(std::sqrt(strength_) / 4, records_ / 2), std::min(30.0, std::floor(records_ / 2) + 1), 300));
  }
  void add(const OnlineToBatchPlan& own) {
    stream_radius(1);
    stream_clip();
    if (own.learner == OnlineLearner::strongly_convex) say("regularization", number(0.02 / std::sqrt(strength_)));
  }
  void add(const PrivateFtrlPlan& /*own*/) {
    stream_radius(1);
    say("step-size", number(std::min(15 * std::sqrt(strength_) / records_, 35 / std::sqrt(records_))));
  }
  void add(const OnePassSgdPlan& /*own*/) {
    stream_radius(1);
    batches(records_, strength_, 8, 1);
    step_size(3);
  }
  void add(const NoisySgdPlan& own) {
    // Passes over 30 public batches cost 1 + (passes - 1) / 30 releases where the last weights alone are published.
    if (own.publish == Publish::last) return say("passes", whole(20, 1, 20));
    static_cast<void>(radius_or(5 * std::sqrt(features_)));
    say("batch-size", whole(records_, 1, 0x1p53));
    say("passes", whole(strength_ / 10, 10, 1000));
    step_size(1.5);
  }
  void add(const GossipPlan& own) {
    const auto learners = static_cast<double>(own.learners.value_or(1));
    stream_radius(1);
    batches(records_ / learners, strength_ / learners, 4, 1);
    step_size(18);
  }
  void add(const auto& /*of an algorithm without a rule*/) {}

  [[nodiscard]] FieldValues take() && { return std::move(fields_); }

 private:
  static std::string number(double value) { return fmt::format("{:.4g}", value); }
  static std::string whole(double value, double least, double most) {
    return fmt::format("{:.0f}", std::round(std::clamp(value, least, most)));
  }
  void say(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  [[nodiscard]] double smoothness() const { return loss_.smoothness(1); }

  void full_gradients(std::string steps) {
    say("steps", std::move(steps));
    say("regularization", "0");
  }
  void variance_reduction(double share) {
    say("inner-steps", whole(share * strength_ / (2 * std::sqrt(features_)), 20, 2000));
    say("batch-size", whole(std::max(0.6 * std::sqrt(records_), records_ / 400), 1, 0x1p53));
    say("regularization", "0");
  }
  double radius_or(double radius) {
    if (plan_.problem.radius) return *plan_.problem.radius;
    say("radius", number(radius));
    return radius;
  }
  void stream_radius(double times) {
    static_cast<void>(radius_or(times * std::min(2.5 * std::sqrt(features_), std::sqrt(strength_) / 2.5)));
  }
  void stream_clip() { say("clip", 2 * std::sqrt(features_) / strength_ <= 0.002 ? "1" : "0.5"); }
  /// \param most over sqrt(records): more batches of one pass are too small for their step, whatever the noise
  void batches(double records, double strength, double least, double most) {
    const double count = std::max(std::round(std::min(std::sqrt(strength) / 2.5, most * std::sqrt(records))), least);
    say("batch-size", fmt::format("{:.0f}", std::max(std::ceil(records / count), 1.0)));
  }
  void step_size(double over_smoothness) {
    if (std::isfinite(smoothness())) say("step-size", number(over_smoothness / smoothness()));
  }

  const TrainPlan& plan_;
  AnyObjective loss_;
  double clip_;
  double records_;
  double features_;
  double strength_;
  FieldValues fields_;
};

/// The number of records that a plan says; nothing where it says none.
std::optional<std::uint64_t> said_records(const TrainPlan& plan) {
  return std::visit(
      [](const auto& own) -> std::optional<std::uint64_t> {
        if constexpr (requires { own.records; }) {
          if (own.records) return own.records;
        }
        if constexpr (requires { own.public_count; }) return own.public_count;
        if constexpr (std::derived_from<std::remove_cvref_t<decltype(own)>, StreamPlan>) return own.steps;
        return std::nullopt;
      },
      plan.algorithm);
}

/// How many of the records of a file are trained on, as public as their number. \throws PlanError where none is left
std::uint64_t trained_on(const TrainPlan& plan, std::uint64_t records) {
  return std::visit(
      [&](const auto& own) {
        if constexpr (std::derived_from<std::remove_cvref_t<decltype(own)>, SplitPlan>) return training_count(own, plan, records).value();
        return records;
      },
      plan.algorithm);
}

RuledFields ruled(TrainPlan plan) {
  const bool is_count_public = plan.target.adjacency != Adjacency::add_or_remove_one;
  if (plan.target.delta.value() == 0) {
    if (!std::holds_alternative<ShapedDescentPlan>(plan.algorithm) || plan.search.tune) return {};
    return {.fields = {{"steps", std::to_string(pure_steps)}, {"matrix-share", fmt::format("{}", pure_matrix_share)}}, .why = "delta = 0"};
  }
  if (plan.has_unit() || plan.problem.loss == Loss::squared || !plan.problem.classes.empty()) return {};
  // What the run refuses.
  if (plan.problem.clip) static_cast<void>(ClippingNorm{*plan.problem.clip});
  if (plan.problem.radius) static_cast<void>(Radius{*plan.problem.radius});
  // The header of the first learner's file shows the features.
  plan.source.path = data_of_learner(plan.source.path, 0);
  if (!plan.source.rows && !std::filesystem::is_regular_file(plan.source.path)) return {};
  auto said = said_records(plan);
  if (!said && (!is_count_public || !plan.source.paths_of_ranks.empty())) return {};
  auto opened = open_stream(form_of(plan.source));
  if (!said) said = count_of(plan.source, opened.records);
  const RuleNumbers numbers{.records = static_cast<double>(trained_on(plan, *said)),
                            .features = static_cast<double>(opened.features.features()),
                            .mu = mu_of(plan.target),
                            .adjacency = plan.target.adjacency};
  return {.fields = rule_fields(plan, numbers),
          .why = fmt::format("{:.0f} records, {:.0f} features, mu = {:.3g}", numbers.records, numbers.features, numbers.mu)};
}

}  // namespace

double mu_of(const Target& target) {
  return 1 / calibrate([&](NoiseMultiplier z) { return gaussian(z, target.adjacency); }, target).value.value();
}

FieldValues rule_fields(const TrainPlan& plan, const RuleNumbers& numbers) {
  if (plan.problem.loss == Loss::squared) return {};
  Rules rules{plan, numbers};
  std::visit([&](const auto& own) { rules.add(own); }, plan.algorithm);
  return std::move(rules).take();
}

RuledFields ruled_fields(const TrainPlan& plan) {
  // A plan that cannot be read is refused where it is run, with a message that belongs there; but rows that another program gives once were read here.
  try {
    return ruled(plan);
  } catch (const Error& error) {
    const bool is_of_reading = error.code() == ErrorCode::bad_data || error.code() == ErrorCode::environment;
    if (plan.source.rows && is_of_reading) throw;
    return {};
  }
}

}  // namespace surety::jobs
