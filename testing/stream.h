// Streams that are NOT private: the exact prefix sums, and a script.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/stream.h>

namespace surety::testing {

namespace detail {
/// \throws Error{invalid_argument} unless the script has an answer of this size for this push.
void require_answer(const std::vector<std::vector<double>>& script, std::size_t push, std::size_t size);
}  // namespace detail

/// Returns the exact sums: NOT private. The same algorithm without its noise, for tests and as a baseline.
template <class Sensitivity = L2Sensitivity>
class ExactStream final : public optimizers::StreamReleaser<Sensitivity> {
 public:
  explicit ExactStream(Grid grid) : grid_{grid} {}

  [[nodiscard]] std::vector<double> push(const GridVector& contribution, Sensitivity /*sensitivity*/) override {
    const auto added = mechanisms::to_reals(contribution);
    if (sum_.empty()) sum_.resize(added.size());
    for (std::size_t j = 0; j < added.size(); ++j) sum_[j] += added[j];
    return sum_;
  }
  [[nodiscard]] Grid grid() const override { return grid_; }

 private:
  Grid grid_;
  std::vector<double> sum_;
};

/// Replays released prefix sums and logs what was pushed: for tests. What it returns does not depend on the data at all.
template <class Sensitivity = L2Sensitivity>
class ScriptedStream final : public optimizers::StreamReleaser<Sensitivity> {
 public:
  struct Request {
    GridVector contribution;
    Sensitivity sensitivity;
  };

  /// `released[t]` is the answer to push t.
  ScriptedStream(Grid grid, std::vector<std::vector<double>> released) : grid_{grid}, released_{std::move(released)} {}

  /// \throws Error{invalid_argument} when the script is over, or its next vector is not as long as the contribution.
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, Sensitivity sensitivity) override {
    detail::require_answer(released_, log_.size(), contribution.steps.size());
    log_.push_back({contribution, sensitivity});
    return released_[log_.size() - 1];
  }

  [[nodiscard]] Grid grid() const override { return grid_; }
  [[nodiscard]] const std::vector<Request>& log() const noexcept { return log_; }

 private:
  Grid grid_;
  std::vector<std::vector<double>> released_;
  std::vector<Request> log_;
};

}  // namespace surety::testing
