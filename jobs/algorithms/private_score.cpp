#include <surety/jobs/algorithms/private_score.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/events/releases.h>
#include <surety/jobs/doors/releasers.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/optimizers/doors/score_releaser.h>

namespace surety::jobs {
namespace {

using namespace optimizers;

constexpr double confidence = 0.95;

/// The scores that a loss has, the standard one first.
std::vector<ScoreKind> kinds_of(const TrainPlan& plan) {
  if (plan.problem.loss == Loss::squared) return {ScoreKind::squared_error};
  if (plan.problem.loss == Loss::logistic) return {ScoreKind::brier, ScoreKind::log_loss, ScoreKind::error_rate};
  return {ScoreKind::error_rate};
}

std::size_t classes_of(const TrainPlan& plan) {
  const auto& label = plan.source.label;
  return label && !label->classes.empty() ? label->classes.size() : 1;
}

/// Of a score that is charged beside its training.
double noise_of_paid(const Target& target) {
  constexpr double share_of_mu = 0.2;
  return 1 / (share_of_mu * accounting::largest_mu(target.epsilon, target.delta).lower);
}
/// So many held out for one of the noise multiplier: a standard deviation of a twentieth of the largest loss.
constexpr double least_per_noise = 20;

/// Of a score that a constant reaches where hardly any record has the other class; empty for others. \param worst the upper bound that was released
std::string warning_of(ScoreKind kind, double worst) {
  // A share of about 2 % has a Brier score and an error rate of .02 and a log loss of .1.
  if (kind == ScoreKind::squared_error || !(worst < (kind == ScoreKind::log_loss ? 0.1 : 0.02))) return {};
  return fmt::format(
      "a {} score of at most {:.4f} is also that of labels of which nearly all are one class: check the comparison or the classes of the label",
      name(kind), worst);
}

/// \pre it is a score
ScoreKind kind_of(Score score) {
  switch (score) {
    case Score::log_loss: return ScoreKind::log_loss;
    case Score::error_rate: return ScoreKind::error_rate;
    case Score::squared_error: return ScoreKind::squared_error;
    default: return ScoreKind::brier;
  }
}

nlohmann::json ends_of(const std::optional<Enclosure>& found) {
  if (!found) return {{"from", nullptr}, {"to", nullptr}};
  return {{"from", found->lower}, {"to", found->upper}};
}

}  // namespace

PrivateScore::PrivateScore(const SplitPlan& own, const TrainPlan& shared) : plan_{shared}, is_named_{own.score.has_value()} {
  if (own.score == Score::none) return;
  if (!(own.held_out > 0)) {
    if (own.score) refuse_plan("{} is {}, must be none where {} is 0", "score"_field, *own.score, "held-out"_field);
    return;
  }
  const auto kinds = kinds_of(shared);
  kind_ = own.score ? kind_of(*own.score) : kinds.front();
  if (std::find(kinds.begin(), kinds.end(), *kind_) != kinds.end()) return;
  std::string known;
  for (const auto kind : kinds) known += fmt::format("{}, ", name(kind));
  refuse_plan("{} is {}, must be {}or none for {} loss", "score"_field, *own.score, known, shared.problem.loss);
}

std::optional<NoiseMultiplier> PrivateScore::paid_noise(const ScoredTraining& training) const {
  if (!kind_ || !training.held_out_for_price) return std::nullopt;
  const double noise = noise_of_paid(plan_.target);
  if (!std::isfinite(noise) || (!is_named_ && *training.held_out_for_price < least_per_noise * noise)) return std::nullopt;
  return NoiseMultiplier{noise};
}

std::string PrivateScore::why_not(const ScoredTraining& training) const {
  if (training.held_out_for_price) {
    return paid_noise(training)
               ? std::string{}
               : fmt::format(
                     "nothing that {} releases pays for one. One is paid for beside it where it is named, and where no noise is given and about {:.0f} {} are held out",
                     plan_.algorithm_name(), std::ceil(least_per_noise * noise_of_paid(plan_.target)),
                     plan_.has_unit() ? "units" : "records");
  }
  if (!least_score_multiplier(accounting::Releases::of(training.event))) {
    return fmt::format("nothing that {} releases pays for one", plan_.algorithm_name());
  }
  if (plan_.has_unit() && plan_.target.adjacency == Adjacency::replace_one && !training.adds_up_units) {
    return fmt::format("for {} it is not proved that a unit which comes to the other part moves what it leaves by less",
                       plan_.algorithm_name());
  }
  return {};
}

void PrivateScore::release(const ScoredTraining& training, const data::Dataset& held_out, UnitEnds ends, std::span<const double> weights,
                           accounting::Reservation& reservation, mechanisms::BitsRef bits) {
  if (!kind_) return;
  why_not_ = why_not(training);
  if (!why_not_.empty()) return;
  is_paid_ = training.held_out_for_price.has_value();
  // A unit that changes sides moves the count by as much as one that gives way: of that the score has no share.
  auto paying = reservation.released();
  if (training.count) paying.subtract(accounting::Releases::of(*training.count));
  noise_ = is_paid_ ? paid_noise(training) : least_score_multiplier(paying);
  if (!noise_) {
    why_not_ = "the training released nothing";
    return;
  }
  ScoreOptions options{.kind = *kind_,
                       .noise_multiplier = *noise_,
                       .adjacency = plan_.target.adjacency,
                       .classes = classes_of(plan_),
                       .classes_by = classes_by_of(plan_.problem),
                       .unit_ends = ends};
  if (*kind_ == ScoreKind::squared_error) options.label_bound = label_range(plan_.problem).value().bound;
  const auto door = is_paid_ ? releasers().gaussian(reservation, bits) : releasers().of_score(reservation, bits);
  released_ = release_score(held_out, weights, options, *door);
}

void PrivateScore::add_to(TrainingFacts& facts) const {
  if (!why_not_.empty()) {
    facts.lines.emplace_back("score", "none that is private: " + why_not_);
    facts.fields["held_out_score"] = {{"name", nullptr}, {"why_not", why_not_}};
    return;
  }
  if (!released_) return;
  const auto found = found_score(*released_, Confidence{confidence});
  // Records that are held out by their content are no sample of all: equal ones stay together.
  const bool is_sample = plan_.has_unit() || plan_.target.adjacency != Adjacency::add_or_remove_one;
  const auto of_the_source = found && is_sample ? found->of_the_source : std::nullopt;
  const std::string_view whose = plan_.has_unit() ? "units" : "records";
  const auto within = [](const Enclosure& ends) { return fmt::format("in [{:.4f}, {:.4f}]", ends.lower, ends.upper); };
  if (found) {
    facts.lines.emplace_back("score", fmt::format("{} {:.4f} on {} held out: {} for these with confidence {} over the noise", name(*kind_),
                                                  found->value, whose, within(found->of_these), confidence));
  } else {
    facts.lines.emplace_back(
        "score", fmt::format("{}, hidden by the noise: too few {} are held out, or few of them have a usable label", name(*kind_), whose));
  }
  const auto warning = found ? warning_of(*kind_, found->of_these.upper) : std::string{};
  if (of_the_source) {
    facts.lines.emplace_back("  of others", fmt::format("{} for independent {} of their source with confidence {} over noise and sampling",
                                                        within(*of_the_source), whose, confidence));
  }
  facts.lines.emplace_back(
      "  paid", is_paid_ ? fmt::format("gaussian({}) beside what the training releases, in the same charge", noise_->value())
                         : fmt::format("gaussian({}) about other {} than the training's, within its charge", noise_->value(), whose));
  if (!warning.empty()) facts.lines.emplace_back("WARNING", warning);
  facts.fields["held_out_score"] = {{"name", name(*kind_)},
                                    {"value", found ? nlohmann::json(found->value) : nlohmann::json{}},
                                    {"largest", released_->bound},
                                    {"confidence", confidence},
                                    {"over_noise", ends_of(found ? std::optional{found->of_these} : std::nullopt)},
                                    {"over_noise_and_sampling", ends_of(of_the_source)},
                                    {fmt::format("usable_{}", whose), std::max(released_->usable, 0.0)},
                                    {"event", describe(gaussian(*noise_, plan_.target.adjacency))},
                                    {"charged", is_paid_ ? "beside the training's releases, in the event"
                                                         : "within the training's event: a record is trained on or held out"}};
  if (!warning.empty()) facts.fields["held_out_score"]["warning"] = warning;
}

}  // namespace surety::jobs
