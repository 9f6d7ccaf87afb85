// The door for data that arrive as a stream: a `StreamReleaser`.
//
// A streaming algorithm reads one record at each step, pushes one vector on a grid that depends on this record and on released values
// alone, says how far the record can move that vector, and gets a noisy sum of all vectors pushed so far. What was said of `Releaser`
// (run.h) holds here: everything computed from released values and public ones is post-processing, and nothing else that depends on a
// record may leave the algorithm, not even into its own next step. In particular a record must reach no other push than its own except
// through released values, since the noise is calibrated for a record that moves one push.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/data/dataset.h>

namespace surety::optimizers {

/// push(contribution, sensitivity): the noisy sum of all contributions so far, one value per coordinate, in data units. `sensitivity`,
/// whose type names its norm, bounds how far one record moves `contribution` under the adjacency of the stream's event, given everything
/// that was released before. grid(): the grid on which contributions must lie; public.
template <class S, class Sensitivity = L2Sensitivity>
concept StreamReleaser = requires(S& stream, const S& constant, const GridVector& contribution, Sensitivity sensitivity) {
  { stream.push(contribution, sensitivity) } -> std::same_as<std::vector<double>>;
  { constant.grid() } -> std::same_as<Grid>;
};

/// What a streaming algorithm needs of a stream, all public: the caller makes a continual sum of this shape, calibrated for its target.
template <class Sensitivity = L2Sensitivity>
struct StreamShape {
  Count steps;              ///< the most pushes
  Count dimension;          ///< coordinates of a contribution
  Sensitivity sensitivity;  ///< of one push, under `adjacency`
  Adjacency adjacency;
};

/// Which record comes at which step of a stream is public, so adding or removing one is not what neighbouring streams differ by.
/// \throws Error{unsupported} under add-or-remove-one.
inline void require_fixed_places(Adjacency adjacency) {
  if (adjacency == Adjacency::add_or_remove_one) {
    throw Error{ErrorCode::unsupported,
                "adjacency is add-or-remove-one, must be replace-one or zero-out for a stream: records have public places in it"};
  }
}

/// One record's vector factor x row on a grid, clipped to l2 norm `clip` exactly (mechanisms/queries/record_sum.h). O(dimension).
/// \throws Error{invalid_argument} when a dense row has not `dimension` coordinates, or the grid does not suit the clipping norm.
[[nodiscard]] inline GridVector clipped_contribution(double factor, const RowView& row, ClippingNorm clip, Grid grid,
                                                     std::size_t dimension) {
  mechanisms::RecordSum sum{{.clip = clip, .grid = grid, .dimension = dimension}};
  if (row.is_sparse()) {
    sum.add_scaled(factor, row.indices, row.values, row.norm);
  } else if (!row.values.empty()) {
    sum.add_scaled(factor, row.values, row.norm);
  }
  return sum.sum();
}

/// A continual sum that spends its event from a reservation before its first draw. What production uses; private when `Bits` is
/// cryptographic. A sum whose noise follows the sensitivities of the pushes is told them.
template <class Sum, class Bits, class Sensitivity = L2Sensitivity>
requires mechanisms::ContinualSum<Sum, Bits> || mechanisms::AdaptiveContinualSum<Sum, Sensitivity, Bits>
class NoisyStream {
 public:
  /// `sum` is calibrated for pushes of sensitivity at most `sensitivity`; for an adaptive sum that is the largest one it will be told.
  /// Reservation and bits must outlive the stream.
  NoisyStream(accounting::Reservation& reservation, Bits& bits, Sum sum, Sensitivity sensitivity)
      : reservation_{reservation}, bits_{bits}, sum_{std::move(sum)}, sensitivity_{sensitivity} {}

  /// \throws Error{internal} when the contribution is more sensitive than the noise is for, or the reservation does not hold the event;
  ///         and as the sum's push.
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, Sensitivity sensitivity) {
    if (!(sensitivity <= sensitivity_)) {
      throw Error{ErrorCode::internal, fmt::format("sensitivity of a push is {}, must be at most {}, for which the noise was calibrated",
                                                   sensitivity.value(), sensitivity_.value())};
    }
    if (!spent_) {
      reservation_.spend(sum_.event());
      spent_ = true;
    }
    if constexpr (mechanisms::AdaptiveContinualSum<Sum, Sensitivity, Bits>) {
      return sum_.push(contribution, sensitivity, bits_);
    } else {
      return sum_.push(contribution, bits_);
    }
  }
  [[nodiscard]] Grid grid() const { return sum_.grid(); }

 private:
  accounting::Reservation& reservation_;
  Bits& bits_;
  Sum sum_;
  Sensitivity sensitivity_;
  bool spent_ = false;
};

/// Returns the exact sums: NOT private. The same algorithm without its noise, for tests and as a baseline.
class ExactStream {
 public:
  explicit ExactStream(Grid grid) : grid_{grid} {}

  template <class Sensitivity>
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, Sensitivity /*sensitivity*/) {
    const auto added = mechanisms::to_reals(contribution);
    if (sum_.empty()) sum_.resize(added.size());
    for (std::size_t j = 0; j < added.size(); ++j) sum_[j] += added[j];
    return sum_;
  }
  [[nodiscard]] Grid grid() const { return grid_; }

 private:
  Grid grid_;
  std::vector<double> sum_;
};

/// Replays released prefix sums and logs what was pushed: for tests. What it returns does not depend on the data at all.
template <class Sensitivity = L2Sensitivity>
class ScriptedStream {
 public:
  struct Request {
    GridVector contribution;
    Sensitivity sensitivity;
  };

  /// `released[t]` is the answer to push t.
  ScriptedStream(Grid grid, std::vector<std::vector<double>> released) : grid_{grid}, released_{std::move(released)} {}

  /// \throws Error{invalid_argument} when the script is over, or its next vector is not as long as the contribution.
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, Sensitivity sensitivity) {
    const std::size_t step = log_.size();
    if (step == released_.size()) throw Error{ErrorCode::invalid_argument, fmt::format("the script ends after {} pushes", step)};
    if (released_[step].size() != contribution.steps.size()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("answer {} of the script has {} coordinates, the contribution has {}", step,
                                                           released_[step].size(), contribution.steps.size())};
    }
    log_.push_back({contribution, sensitivity});
    return released_[step];
  }

  [[nodiscard]] Grid grid() const { return grid_; }
  [[nodiscard]] const std::vector<Request>& log() const noexcept { return log_; }

 private:
  Grid grid_;
  std::vector<std::vector<double>> released_;
  std::vector<Request> log_;
};

static_assert(StreamReleaser<ExactStream> && StreamReleaser<ScriptedStream<>>);

}  // namespace surety::optimizers
