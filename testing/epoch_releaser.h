// A releaser of the rounds of epochs that is NOT private: the query itself. As a script serves `ScriptedSamplingReleaser`.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/choices/allocation.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/epoch_releaser.h>

namespace surety::testing {

/// Deals epochs and returns the query itself: NOT private. The same algorithm without its noise, for tests and as a baseline.
class ExactEpochReleaser final : public optimizers::SamplingReleaser {
 public:
  /// The bits must outlive the releaser.
  ExactEpochReleaser(mechanisms::BitsRef bits, mechanisms::Allocation allocation) : bits_{bits}, rounds_{allocation} {}

  [[nodiscard]] std::span<const std::size_t> draw_batch(std::size_t records) override { return batch_.hold(rounds_.next(records, bits_)); }
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
  optimizers::EpochRounds rounds_;
  optimizers::SecretBatch batch_;
};

}  // namespace surety::testing
