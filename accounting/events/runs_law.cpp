#include <surety/accounting/events/runs_law.h>

#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

/// The mean of a law that starts at one run, with g = e^-w: shape (e^w - 1) / (1 - e^(-shape w)), which grows with w.
Interval mean_at(const Interval& w, double shape, mpfr_prec_t precision) {
  const Interval rise = expm1(w);
  if (shape == 0) return rise / w;
  const Interval of_shape{shape, precision};
  return of_shape * rise / -expm1(-(of_shape * w));
}

/// The mean of the smaller of a geometric number and the cap, (1 - (1 - g)^cap) / g, which grows with w from 1 to the cap.
Interval capped_mean_at(const Interval& w, Count cap, mpfr_prec_t precision) {
  const Interval stops = exp(-w);
  return -expm1(Interval{static_cast<double>(cap.value()), precision} * log1p(-stops)) / stops;
}

}  // namespace

double shape_of(const Runs& runs) {
  switch (runs.law()) {
    case RunsLaw::geometric:
    case RunsLaw::capped_geometric: return 1;
    case RunsLaw::logarithmic: return 0;
    case RunsLaw::negative_binomial: return runs.shape();
    case RunsLaw::poisson: break;
  }
  throw Error{ErrorCode::internal, "a Poisson number of runs has no shape"};
}

Interval minus_log_stopping(const Runs& runs, mpfr_prec_t bits) {
  const double shape = shape_of(runs);
  const auto& cap = runs.cap();
  const double mean = runs.mean();
  const mpfr_prec_t precision = 2 * bits + 128;
  if (shape == 1 && !cap) return log(Interval{mean, precision});
  // Points are exact: halving adds one bit.
  const auto side = [&](const Interval& w) {
    return (cap ? capped_mean_at(w, *cap, precision) : mean_at(w, shape, precision)).compare(mean);
  };
  const Interval half{0.5, precision};
  double from = 1;
  while (side(Interval{from, precision}) >= 0) from /= 2;
  double to = 2 * from;
  while (side(Interval{to, precision}) <= 0) to *= 2;
  Interval low{from, precision};
  Interval high{to, precision};
  for (mpfr_prec_t step = 0; step < bits + 8; ++step) {
    const Interval middle = (low + high) * half;
    const int found = side(middle);
    if (found == 0) break;
    (found < 0 ? low : high) = middle;
  }
  return hull(low, high);
}

}  // namespace surety::accounting
