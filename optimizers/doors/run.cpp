#include <surety/optimizers/doors/run.h>

#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/text/error.h>

namespace surety::optimizers {

std::vector<double> NoisyReleaser::release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  const auto* const leaf = std::get_if<Event::Gaussian>(&event.node());
  if (leaf == nullptr) throw Error{ErrorCode::unsupported, fmt::format("no mechanism releases the event '{}'", describe(event))};
  const mechanisms::Gaussian::Options options{
      .multiplier = leaf->multiplier, .sensitivity = sensitivity, .grid = query.grid, .adjacency = event.adjacency()};
  if (!noise_ || noise_->options() != options) noise_.emplace(options);
  reservation_.spend(event);
  return noise_->release(query, bits_);
}

}  // namespace surety::optimizers
