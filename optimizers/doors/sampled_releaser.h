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
  /// \throws Error{unsupported} for any other event; Error{internal} when no fresh batch was drawn, or the reservation does not hold the
  ///         sampled event; Error{invalid_argument} when the noise does not fit the grid, or the sampler has no theorem for the event.
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

/// Draws batches and returns the query itself: NOT private. The same algorithm without its noise, for tests and as a baseline.
template <mechanisms::BatchSampler Sampler>
class ExactSamplingReleaser final : public SamplingReleaser {
 public:
  /// The bits must outlive the releaser.
  ExactSamplingReleaser(mechanisms::BitsRef bits, Sampler sampler) : bits_{bits}, sampler_{std::move(sampler)} {}

  [[nodiscard]] std::span<const std::size_t> draw_batch(std::size_t records) override { return batch_.hold(sampler_.draw(records, bits_)); }
  [[nodiscard]] std::vector<double> release_sampled(const GridVector& query, L2Sensitivity /*sensitivity*/,
                                                    const Event& /*event*/) override {
    batch_.require_fresh();
    batch_.use();
    return mechanisms::to_reals(query);
  }
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity /*sensitivity*/, const Event& /*event*/) override {
    return mechanisms::to_reals(query);
  }

 private:
  mechanisms::BitsRef bits_;
  Sampler sampler_;
  SecretBatch batch_;
};

/// Replays batches and released values and logs what was asked: for tests. What it returns does not depend on the data at all.
class ScriptedSamplingReleaser final : public SamplingReleaser {
 public:
  /// What an algorithm asked in one release.
  struct Request {
    GridVector query;
    L2Sensitivity sensitivity;
    Event event;
    std::optional<std::size_t> batch;  ///< its place in the script; nothing for a query of all records
  };

  /// `batches[k]` answers the k-th draw, whatever the number of records; `released[t]` is the answer to request t, of either kind.
  ScriptedSamplingReleaser(std::vector<std::vector<std::size_t>> batches, std::vector<std::vector<double>> released)
      : batches_{std::move(batches)}, released_{std::move(released)} {}

  /// \throws Error{invalid_argument} when the script has no further batch, or the batch has a place beyond the records.
  [[nodiscard]] std::span<const std::size_t> draw_batch(std::size_t records) override;
  /// \throws Error{internal} when no fresh batch was drawn; Error{invalid_argument} when the script is over, or its next vector is not as
  ///         long as the query.
  [[nodiscard]] std::vector<double> release_sampled(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    batch_.require_fresh();
    batch_.use();
    return answer({query, sensitivity, event, drawn_ - 1});
  }
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    return answer({query, sensitivity, event, std::nullopt});
  }

  [[nodiscard]] const std::vector<Request>& log() const noexcept { return log_; }

 private:
  std::vector<double> answer(Request request);

  std::vector<std::vector<std::size_t>> batches_;
  std::vector<std::vector<double>> released_;
  std::size_t drawn_ = 0;
  SecretBatch batch_;
  std::vector<Request> log_;
};

}  // namespace surety::optimizers
