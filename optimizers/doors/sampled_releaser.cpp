#include <surety/optimizers/doors/sampled_releaser.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {

void SecretBatch::require_fresh() const {
  if (!is_fresh_) throw Error{ErrorCode::internal, "a batch is released that was not drawn, or was released before"};
}

namespace detail {

mechanisms::ScaledGaussian noise_of(const GridVector& query, const Event& event) {
  const std::optional<NoiseMultiplier> multiplier = pairwise_multiplier(event);
  if (!multiplier) throw Error{ErrorCode::unsupported, fmt::format("no mechanism releases the event '{}'", describe(event))};
  return mechanisms::ScaledGaussian{{.multiplier = *multiplier, .grid = query.grid, .adjacency = event.adjacency()}};
}

std::vector<double> spend_and_release(accounting::Reservation& reservation, mechanisms::BitsRef bits, const GridVector& query,
                                      L2Sensitivity sensitivity, const Event& event, const Event& charged, SecretBatch* batch) {
  const mechanisms::ScaledGaussian noise = noise_of(query, event);
  // A batch is used up before the charge: whatever fails from here on, it serves no second release.
  if (batch != nullptr) batch->use();
  reservation.spend(charged);
  return noise.release(query, sensitivity, bits);
}

}  // namespace detail

}  // namespace surety::optimizers
