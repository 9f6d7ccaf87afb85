#include <surety/optimizers/doors/vector_releaser.h>

#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/lp_noise.h>

namespace surety::optimizers {

std::vector<double> NoisyVectorReleaser::release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  const auto* const leaf = std::get_if<Event::KNorm>(&event.node());
  if (leaf == nullptr) return gaussian_.release(query, sensitivity, event);
  if (leaf->norm != NormName::l2 || leaf->dimension.value() != query.steps.size()) {
    throw Error{ErrorCode::unsupported,
                fmt::format("no mechanism releases the event '{}' in dimension {}", describe(event), query.steps.size())};
  }
  const mechanisms::KNorm noise{
      {.scale = leaf->scale, .sensitivity = sensitivity, .grid = query.grid, .dimension = leaf->dimension, .adjacency = event.adjacency()}};
  reservation_.spend(event);
  return noise.release(query, bits_);
}

}  // namespace surety::optimizers
