// The steps of a release, wherever its records and its ledger are.
#pragma once

#include <optional>
#include <utility>

#include <surety/jobs/release/prepared_release.h>
#include <surety/jobs/run/order.h>

namespace surety::jobs {

class ReleaseSteps : public RunSteps {
 public:
  [[nodiscard]] accounting::Plan calibrate() final { return job_->charge(not_private_); }
  void read() final {
    read_.emplace(read_by(*std::move(job_)));
    context_.require_going_on();
  }
  void release(accounting::Reservation& reservation) final { released_.emplace((*std::move(read_)).release(reservation, bits_, context_)); }

  /// All of them. \throws as `run_in_order`
  [[nodiscard]] ReleasedStatistics released() && {
    run_in_order(*this);
    return *std::move(released_);
  }

 protected:
  /// Whatever `bits` and `context` refer to outlives this.
  ReleaseSteps(ReleaseJob job, const Bits& bits, const RunContext& context)
      : job_{std::move(job)}, bits_{bits.bits}, not_private_{bits.not_private}, context_{context} {}

  [[nodiscard]] virtual ReadStatistics read_by(ReleaseJob job) = 0;
  [[nodiscard]] mechanisms::BitsRef bits() const { return bits_; }
  [[nodiscard]] const RunContext& context() const { return context_; }

 private:
  std::optional<ReleaseJob> job_;
  std::optional<ReadStatistics> read_;
  std::optional<ReleasedStatistics> released_;
  mechanisms::BitsRef bits_;
  bool not_private_;
  const RunContext& context_;
};

}  // namespace surety::jobs
