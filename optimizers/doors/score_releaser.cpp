#include <surety/optimizers/doors/score_releaser.h>

#include <cmath>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/last_iterate.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>

namespace surety::optimizers {

namespace {

/// Of the largest Gaussian that so many of these leaves dominate.
Lower squared_mu_in(const accounting::Releases::Entry& releases) {
  const Exact count{static_cast<double>(releases.count.value())};
  if (const auto* const gaussian = std::get_if<Event::Gaussian>(&releases.leaf.node())) {
    const Upper multiplier{Exact{gaussian->multiplier.value()}};
    return count / multiplier / multiplier;
  }
  if (const auto* const approx = std::get_if<Event::Approximate>(&releases.leaf.node())) {
    const Lower mu{Exact{accounting::largest_mu(approx->epsilon, approx->delta).lower}};
    return mu * mu * count;
  }
  // Some maps cost as much as this Gaussian, so the event dominates it.
  const auto last = accounting::last_iterate_cost(releases.leaf, 128);
  if (!last || !last->is_attained) return Lower{0};
  const auto* const step = std::get_if<Event::Gaussian>(&last->step.node());
  if (step == nullptr) return Lower{0};
  const Upper multiplier{Exact{step->multiplier.value()}};
  return Lower{Exact{last->squared.enclosure().lower}} * count / multiplier / multiplier;
}

}  // namespace

std::optional<NoiseMultiplier> least_score_multiplier(const accounting::Releases& training) {
  Lower squared_mu{0};
  for (const auto& releases : training.entries()) {
    // What pays nothing is left out: adding 0 rounds downwards, and beside it the others would pay less.
    if (const Lower paid = squared_mu_in(releases); paid.value() > 0) squared_mu = squared_mu + paid;
  }
  if (!(squared_mu.value() > 0)) return std::nullopt;
  const double least = (Exact{1} / sqrt(squared_mu)).value();
  return std::isfinite(least) ? std::optional{NoiseMultiplier{least}} : std::nullopt;
}

std::vector<double> ScoreReleaser::release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  const auto* const leaf = std::get_if<Event::Gaussian>(&event.node());
  if (leaf == nullptr) throw Error{ErrorCode::unsupported, fmt::format("no mechanism releases the event '{}'", describe(event))};
  const mechanisms::Gaussian noise{
      {.multiplier = leaf->multiplier, .sensitivity = sensitivity, .grid = query.grid, .adjacency = event.adjacency()}};
  const auto least = least_score_multiplier(training_.released());
  if (is_used_ || !least || !(leaf->multiplier.value() >= least->value()) || event.adjacency() != training_.released().adjacency()) {
    throw Error{ErrorCode::internal, fmt::format("a score releases '{}' beyond what its training is charged for", describe(event))};
  }
  is_used_ = true;
  return noise.release(query, bits_);
}

}  // namespace surety::optimizers
