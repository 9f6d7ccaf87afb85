// A lower bound on epsilon from runs of a mechanism on two neighbouring data sets.
//
// (epsilon, delta)-privacy says P(A) <= e^epsilon Q(A) + delta for every event A, so epsilon >= log((P(A) - delta) / Q(A)). P(A) is bounded
// from below and Q(A) from above by Clopper and Pearson's exact intervals, so a claim that is true is contradicted with probability at most
// `alpha`, however few runs there are. The event must be chosen before the runs are looked at.
#pragma once

#include <cstdint>

namespace surety::reference {

/// Runs in which the event happened.
struct Hits {
  std::uint64_t hits;
  std::uint64_t runs;
};

/// A bound below the probability, wrong with probability at most `alpha`.
double lower_probability(Hits found, double alpha);
/// A bound above it, likewise.
double upper_probability(Hits found, double alpha);

/// epsilon is at least this, at `delta`; wrong with probability at most `alpha`. `on_first` and `on_second` count one event on the two data
/// sets.
double empirical_epsilon(Hits on_first, Hits on_second, double delta, double alpha);

}  // namespace surety::reference
