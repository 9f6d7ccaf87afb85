// What searches cost at least: concrete scores, for runs of which a finite law is known from below. docs/proofs/best-of.md#orders.
#pragma once

#include <memory>
#include <vector>

#include <surety/accounting/events/runs.h>
#include <surety/accounting/laws/given/curves.h>

namespace surety::accounting {

/// Scores that rank the atoms of a run's law in one direction, each the best of some orders that are tried.
class SearchOrders {
 public:
  /// \param atoms by falling loss; their curve is not above the run's at any real epsilon
  SearchOrders(const Runs& runs, const std::vector<WeighedAtom>& atoms);

  /// delta(epsilon) of the best run is at least this. \pre epsilon >= 0. \complexity some dozen merges of at most some thousand atoms.
  [[nodiscard]] double below(double epsilon) const;
  /// What is published by the order that is best at `epsilon`, by falling loss, with the outcome that there was no run: a law of the search.
  [[nodiscard]] std::vector<WeighedAtom> published(double epsilon) const;

 private:
  class Tables;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace surety::accounting
