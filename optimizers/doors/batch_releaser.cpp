#include <surety/optimizers/doors/batch_releaser.h>

#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/scaled_noise.h>

namespace surety::optimizers {

std::vector<double> NoisyBatchReleaser::release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  home_.require_here("this releaser");
  if (!(event == pass_.release)) {
    throw Error{ErrorCode::internal, fmt::format("release is '{}', must be '{}' in this pass", describe(event), describe(pass_.release))};
  }
  const auto* const leaf = std::get_if<Event::Gaussian>(&event.node());
  if (leaf == nullptr) throw Error{ErrorCode::unsupported, fmt::format("no mechanism releases the event '{}'", describe(event))};
  const mechanisms::ScaledGaussian noise{{.multiplier = leaf->multiplier, .grid = query.grid, .adjacency = event.adjacency()}};
  if (done_ % pass_.batches.value() == 0) reservation_.spend(pass_.pass);
  ++done_;
  return noise.release(query, sensitivity, bits_);
}

}  // namespace surety::optimizers
