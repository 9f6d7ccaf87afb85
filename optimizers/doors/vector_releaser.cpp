#include <surety/optimizers/doors/vector_releaser.h>

#include <cmath>
#include <limits>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/lp_noise.h>

namespace surety::optimizers {

namespace {

/// The scale of noise of density exp(-||x||_2 / b) that keeps the event, nothing for an event that such noise does not keep.
std::optional<NoiseScale> scale_of(const Event& event, std::size_t numbers) {
  if (const auto* const leaf = std::get_if<Event::KNorm>(&event.node())) {
    const bool fits = leaf->norm == NormName::l2 && leaf->dimension.value() == numbers;
    return fits ? std::optional{leaf->scale} : std::nullopt;
  }
  if (const auto* const leaf = std::get_if<Event::Laplace>(&event.node())) {
    return numbers == 1 ? std::optional{leaf->scale} : std::nullopt;
  }
  const auto* const leaf = std::get_if<Event::Pure>(&event.node());
  if (leaf == nullptr || !(leaf->epsilon.value() > 0) || !std::isfinite(1 / leaf->epsilon.value())) return std::nullopt;
  // Not below the reciprocal: the noise must cost at most epsilon.
  return NoiseScale{std::nextafter(1 / leaf->epsilon.value(), std::numeric_limits<double>::infinity())};
}

}  // namespace

std::vector<double> NoisyVectorReleaser::release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  if (std::holds_alternative<Event::Gaussian>(event.node())) return gaussian_.release(query, sensitivity, event);
  const auto scale = scale_of(event, query.steps.size());
  if (!scale) {
    throw Error{ErrorCode::unsupported,
                fmt::format("no mechanism releases the event '{}' in dimension {}", describe(event), query.steps.size())};
  }
  const mechanisms::KNorm noise{{.scale = *scale,
                                 .sensitivity = sensitivity,
                                 .grid = query.grid,
                                 .dimension = Count{query.steps.size()},
                                 .adjacency = event.adjacency()}};
  reservation_.spend(event);
  return noise.release(query, bits_);
}

}  // namespace surety::optimizers
