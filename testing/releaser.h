// Releasers of whole queries that are NOT private: the query itself, and a script.
#pragma once

#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/run.h>

namespace surety::testing {

/// Returns the query itself: NOT private. The same algorithm without its noise, for tests and as a baseline.
struct ExactReleaser final : optimizers::Releaser {
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity /*sensitivity*/, const Event& /*event*/) override {
    return mechanisms::to_reals(query);
  }
};

/// Replays released values and logs what was asked: for tests. What it returns does not depend on the data at all.
class ScriptedReleaser final : public optimizers::Releaser {
 public:
  /// What an algorithm asked in one release.
  struct Request {
    GridVector query;
    L2Sensitivity sensitivity;
    Event event;
  };

  /// `released[t]` is the answer to request t.
  explicit ScriptedReleaser(std::vector<std::vector<double>> released) : released_{std::move(released)} {}

  /// \throws Error{invalid_argument} when the script is over, or its next vector is not as long as the query.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override;

  [[nodiscard]] const std::vector<Request>& log() const noexcept { return log_; }

 private:
  std::vector<std::vector<double>> released_;
  std::vector<Request> log_;
};

}  // namespace surety::testing
