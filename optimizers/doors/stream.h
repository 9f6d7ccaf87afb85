// The door for data that arrive as a stream: a `StreamReleaser`.
//
// A streaming algorithm reads one record at each step, pushes one vector on a grid that depends on this record and on released values
// alone, says how far the record can move that vector, and gets a noisy sum of all vectors pushed so far. What was said of `Releaser`
// (run.h) holds here: everything computed from released values and public ones is post-processing, and nothing else that depends on a
// record may leave the algorithm, not even into its own next step. In particular a record must reach no other push than its own except
// through released values, since the noise is calibrated for a record that moves one push.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>

namespace surety::optimizers {

/// Asked once for each push. `Sensitivity` names the norm of how far one record moves a contribution.
template <class Sensitivity = L2Sensitivity>
class StreamReleaser {
 public:
  virtual ~StreamReleaser() = default;

  /// The noisy sum of all contributions so far, one value per coordinate, in data units. `sensitivity` bounds how far one record moves
  /// `contribution` under the adjacency of the stream's event, given everything that was released before.
  [[nodiscard]] virtual std::vector<double> push(const GridVector& contribution, Sensitivity sensitivity) = 0;
  /// The grid on which contributions must lie; public.
  [[nodiscard]] virtual Grid grid() const = 0;
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
void require_fixed_places(Adjacency adjacency);

/// One push per record, clipped to l2 norm `clip`: of sensitivity 2 clip under replace-one and clip under zero-out. \throws as above.
[[nodiscard]] StreamShape<> one_push_per_record(Count steps, Count dimension, ClippingNorm clip, Adjacency adjacency);

namespace detail {
/// \throws Error{internal}: a push of more than the noise is for.
[[noreturn]] void push_too_sensitive(double sensitivity, double calibrated);
}  // namespace detail

/// A continual sum that spends its event from a reservation before its first draw. What production uses; private when the bits are
/// cryptographic. A sum whose noise follows the sensitivities of the pushes is told them.
template <class Sum, class Sensitivity = L2Sensitivity>
requires mechanisms::ContinualSum<Sum> || mechanisms::AdaptiveContinualSum<Sum, Sensitivity>
class NoisyStream final : public StreamReleaser<Sensitivity> {
 public:
  /// `sum` is calibrated for pushes of sensitivity at most `sensitivity`; for an adaptive sum that is the largest one it will be told.
  /// Reservation and bits must outlive the stream.
  NoisyStream(accounting::Reservation& reservation, mechanisms::BitsRef bits, Sum sum, Sensitivity sensitivity)
      : reservation_{reservation}, bits_{bits}, sum_{std::move(sum)}, sensitivity_{sensitivity} {}

  /// \throws Error{internal} when the contribution is more sensitive than the noise is for; Error{budget_exceeded} when the reservation does not
  ///         hold the event; and as the sum's push.
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, Sensitivity sensitivity) override {
    if (!(sensitivity <= sensitivity_)) detail::push_too_sensitive(sensitivity.value(), sensitivity_.value());
    if (!spent_) {
      reservation_.spend(sum_.event());
      spent_ = true;
    }
    if constexpr (mechanisms::AdaptiveContinualSum<Sum, Sensitivity>) {
      return sum_.push(contribution, sensitivity, bits_);
    } else {
      return sum_.push(contribution, bits_);
    }
  }
  [[nodiscard]] Grid grid() const override { return sum_.grid(); }

 private:
  accounting::Reservation& reservation_;
  mechanisms::BitsRef bits_;
  Sum sum_;
  Sensitivity sensitivity_;
  bool spent_ = false;
};

}  // namespace surety::optimizers
