// Releasers of secret batches that are NOT private: the query itself, and a script.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/choices/batch_sampler.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/sampled_releaser.h>

namespace surety::testing {

/// Draws batches and returns the query itself: NOT private. The same algorithm without its noise, for tests and as a baseline.
template <mechanisms::BatchSampler Sampler>
class ExactSamplingReleaser final : public optimizers::SamplingReleaser {
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
  optimizers::SecretBatch batch_;
};

/// Replays batches and released values and logs what was asked: for tests. What it returns does not depend on the data at all.
class ScriptedSamplingReleaser final : public optimizers::SamplingReleaser {
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
  optimizers::SecretBatch batch_;
  std::vector<Request> log_;
};

}  // namespace surety::testing
