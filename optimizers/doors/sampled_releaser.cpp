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

std::span<const std::size_t> ScriptedSamplingReleaser::draw_batch(std::size_t records) {
  if (drawn_ == batches_.size()) invalid(fmt::format("the script ends after {} batches", drawn_));
  for (const std::size_t place : batches_[drawn_]) {
    if (place >= records) invalid(fmt::format("batch {} of the script has place {}, must be below {}", drawn_, place, records));
  }
  return batch_.hold(batches_[drawn_++]);
}

std::vector<double> ScriptedSamplingReleaser::answer(Request request) {
  const std::size_t step = log_.size();
  if (step == released_.size()) invalid(fmt::format("the script ends after {} releases", step));
  if (released_[step].size() != request.query.steps.size()) {
    invalid(fmt::format("release {} of the script has {} coordinates, the query has {}", step, released_[step].size(),
                        request.query.steps.size()));
  }
  log_.push_back(std::move(request));
  return released_[step];
}

}  // namespace surety::optimizers
