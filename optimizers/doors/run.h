// The one door for data: a `Releaser`.
//
// An algorithm that reads private records computes a query on a grid, says how far one record can move it (l2 sensitivity) and
// what kind of release it asks for (the event), and gets a noisy vector back. Everything that it computes from released vectors
// and public values alone is post-processing and costs nothing; nothing else that depends on records may leave it, not even into
// its own next step (docs/proofs/gradient-descent.md#releaser). Every optimizer takes any releaser, so the code that
// draws noise in production replays a script under test, where one record is replaced, the released values are held fixed, and
// every value outside the queries must stay the same.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>

namespace surety::optimizers {

/// The door that algorithms are given: they take it by reference and are compiled once. Asked once a step.
class Releaser {
 public:
  virtual ~Releaser() = default;

  /// One noisy value per coordinate of `query`, in data units. `sensitivity` bounds, under event.adjacency(), how far one record moves the
  /// query in l2, given everything that was released before.
  [[nodiscard]] virtual std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) = 0;
};

/// Spends from a reservation, then draws the noise. What production uses; private when the bits are cryptographic.
class NoisyReleaser final : public Releaser {
 public:
  /// Both must outlive the releaser.
  NoisyReleaser(accounting::Reservation& reservation, mechanisms::BitsRef bits) : reservation_{reservation}, bits_{bits} {}

  /// The query plus N(0, (z sensitivity)^2) per coordinate, rounded exactly to the query's grid, for the event gaussian(z).
  /// Parameters are checked first, the event is spent next, and only then is a random bit drawn.
  /// \throws Error{unsupported} for an event that is not Gaussian; Error{budget_exceeded} when the reservation does not hold it;
  ///         Error{invalid_argument} when the noise does not fit the grid.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override;

 private:
  accounting::Reservation& reservation_;
  mechanisms::BitsRef bits_;
  std::optional<mechanisms::Gaussian> noise_;  ///< the last one: its tables take milliseconds to make
};

}  // namespace surety::optimizers
