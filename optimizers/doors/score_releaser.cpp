#include <surety/optimizers/doors/score_releaser.h>

#include <cmath>
#include <variant>

#include <fmt/format.h>

#include <surety/base/numbers/bound.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>

namespace surety::optimizers {

std::optional<NoiseMultiplier> least_score_multiplier(const accounting::Releases& training) {
  using accounting::Exact;
  using accounting::Lower;
  using accounting::Upper;
  Lower squared_mu{0};
  for (const auto& [leaf, count] : training.entries()) {
    const auto* const gaussian = std::get_if<Event::Gaussian>(&leaf.node());
    if (gaussian == nullptr) return std::nullopt;
    const Upper multiplier{Exact{gaussian->multiplier.value()}};
    squared_mu = squared_mu + Exact{static_cast<double>(count.value())} / multiplier / multiplier;
  }
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
