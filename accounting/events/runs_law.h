// The laws of runs.h as numbers: the parameter that follows from the mean, to any precision.
#pragma once

#include <surety/accounting/events/runs.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting {

/// The shape of a law that starts at one run: 1, 0, or its own; 1 of a capped geometric one, below its cap. \pre not Poisson.
[[nodiscard]] double shape_of(const Runs& runs);

/// -log g of a law that starts at one run, g = P(K = 1) of geometric ones, by bisection to a relative 2^-bits. \pre not Poisson.
/// \complexity bits evaluations of the mean, some microseconds each.
[[nodiscard]] Interval minus_log_stopping(const Runs& runs, mpfr_prec_t bits);

}  // namespace surety::accounting
