// The door for choices: a `Selector`.
//
// An algorithm scores public candidates by private data, says by how much one record can change the scores and what kind of release it asks
// for (the event), and gets the index of one candidate back. What was said of `Releaser` (run.h) holds here.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/base/system/home_process.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/choices/selection.h>

namespace surety::optimizers {

class Selector {
 public:
  virtual ~Selector() = default;

  /// A candidate whose score is large. `sensitivity` bounds, as `change` says and under event.adjacency(), how far one record moves the
  /// scores, given everything that was released before.
  [[nodiscard]] virtual std::size_t select(std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change,
                                           const Event& event) = 0;
};

/// The exponential mechanism for the event exponential(epsilon), report-noisy-max with Laplace noise for pure(epsilon).
/// \throws Error{unsupported} for another event.
[[nodiscard]] mechanisms::ReportNoisyMax mechanism_of(const Event& event, ScoreSensitivity sensitivity, ScoreChange change,
                                                      Count candidates);

/// Spends from a reservation, then chooses: by the exponential mechanism for the event exponential(epsilon), and by report-noisy-max with
/// Laplace noise for pure(epsilon). What production uses; private when the bits are cryptographic.
class NoisySelector final : public Selector {
 public:
  /// Both must outlive the selector.
  NoisySelector(accounting::Reservation& reservation, mechanisms::BitsRef bits) : reservation_{reservation}, bits_{bits} {}

  /// \throws Error{unsupported} for another event; Error{budget_exceeded} when the reservation does not hold it; Error{environment} when the bits
  /// fail.
  [[nodiscard]] std::size_t select(std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change,
                                   const Event& event) override;

 private:
  accounting::Reservation& reservation_;
  mechanisms::BitsRef bits_;
};

/// Chooses for many asks under one charge, `plan`, which is spent before the first draw. Hence in the process alone that made it.
class SharedSelector final : public Selector {
 public:
  /// Reservation and bits must outlive the selector.
  SharedSelector(accounting::Reservation& reservation, mechanisms::BitsRef bits, Event plan)
      : reservation_{reservation}, bits_{bits}, plan_{std::move(plan)} {}

  /// \throws Error{unsupported} when no mechanism selects with the event; Error{budget_exceeded} when the reservation does not hold the plan;
  /// Error{invalid_argument} in a process made by fork; Error{environment} when the bits fail.
  [[nodiscard]] std::size_t select(std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change,
                                   const Event& event) override;

 private:
  HomeProcess home_;
  accounting::Reservation& reservation_;
  mechanisms::BitsRef bits_;
  Event plan_;
  bool spent_ = false;
};

}  // namespace surety::optimizers
