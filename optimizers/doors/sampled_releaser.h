// The door for data in secret batches: a `Releaser` that also draws batches, and says in the ledger the sampler that drew them.
//
// An algorithm asks for a batch, computes a query from its records, and releases that. The batch comes from the sampler of the releaser,
// and what is charged is that sampler's event: the two cannot differ. A batch serves one release, since two releases from one batch cost
// more than two batches. The indices of a batch are secret: nothing but the query may depend on them, nor, under Poisson sampling, on how
// many they are (docs/proofs/sampling.md#door).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/additive/scaled_noise.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/choices/batch_sampler.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/run.h>

namespace surety::optimizers {

/// A `Releaser` that also draws batches; `release` is for a query of all records.
class SamplingReleaser : public Releaser {
 public:
  /// The places of the next secret batch among 0 .. records - 1, ascending; valid until the next call.
  [[nodiscard]] virtual std::span<const std::size_t> draw_batch(std::size_t records) = 0;

  /// One noisy value per coordinate of `query`, in data units. `event` is the release of one batch; `sensitivity` bounds, under
  /// event.adjacency(), how far one record moves the query in l2 given the batch and everything that was released before. Under replace-one
  /// with a record_sum event it is 2C, where C is what each record of a batch contributes at most. Under zero-out with Poisson batches the
  /// query is a sum over the batch: a record that is zeroed leaves it as one that is not drawn does.
  [[nodiscard]] virtual std::vector<double> release_sampled(const GridVector& query, L2Sensitivity sensitivity, const Event& event) = 0;
};

/// The batch in hand, and whether it has served.
class SecretBatch {
 public:
  std::span<const std::size_t> hold(std::vector<std::size_t> places) {
    places_ = std::move(places);
    is_fresh_ = true;
    return places_;
  }
  /// \throws Error{internal} when no batch was drawn since the last release.
  void require_fresh() const;
  void use() noexcept { is_fresh_ = false; }

 private:
  std::vector<std::size_t> places_;
  bool is_fresh_ = false;
};

namespace detail {
/// The noise of a Gaussian or record_sum event on the grid of `query`. \throws Error{unsupported} for any other event.
[[nodiscard]] mechanisms::ScaledGaussian noise_of(const GridVector& query, const Event& event);

/// Spends `charged`, then releases for `event`; `batch`, if any, is used up by then.
[[nodiscard]] std::vector<double> spend_and_release(accounting::Reservation& reservation, mechanisms::BitsRef bits, const GridVector& query,
                                                    L2Sensitivity sensitivity, const Event& event, const Event& charged,
                                                    SecretBatch* batch);
}  // namespace detail

/// Draws batches with `sampler`, spends sampler.event(event) from a reservation, then draws the noise. What production uses; private when
/// the bits are cryptographic.
template <mechanisms::BatchSampler Sampler>
class NoisySamplingReleaser final : public SamplingReleaser {
 public:
  /// Reservation and bits must outlive the releaser.
  NoisySamplingReleaser(accounting::Reservation& reservation, mechanisms::BitsRef bits, Sampler sampler)
      : reservation_{reservation}, bits_{bits}, sampler_{std::move(sampler)} {}

  /// \throws as Sampler::draw.
  [[nodiscard]] std::span<const std::size_t> draw_batch(std::size_t records) override { return batch_.hold(sampler_.draw(records, bits_)); }

  /// The query plus N(0, (z sensitivity)^2) per coordinate, rounded exactly to the query's grid, for the event gaussian(z), or with half
  /// of z for record_sum(z) under replace-one. The event is spent before a bit of noise is drawn.
  /// \throws Error{unsupported} for any other event; Error{internal} when no fresh batch was drawn; Error{budget_exceeded} when the
  ///         reservation does not hold the sampled event; Error{invalid_argument} when the noise does not fit the grid, or the sampler has no theorem for the event.
  [[nodiscard]] std::vector<double> release_sampled(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    batch_.require_fresh();
    return detail::spend_and_release(reservation_, bits_, query, sensitivity, event, sampler_.event(event), &batch_);
  }

  /// The same for a query of all records, charged as `event` itself.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    return detail::spend_and_release(reservation_, bits_, query, sensitivity, event, event, nullptr);
  }

 private:
  accounting::Reservation& reservation_;
  mechanisms::BitsRef bits_;
  Sampler sampler_;
  SecretBatch batch_;
};

}  // namespace surety::optimizers
