#include <surety/accounting/events/runs.h>

#include <fmt/format.h>

#include <surety/accounting/events/runs_law.h>
#include <surety/accounting/events/words.h>
#include <surety/accounting/numbers/error.h>

namespace surety {
namespace {

constexpr accounting::Words<RunsLaw, 5> runs_laws{
    .what = "law of the number of runs",
    .values = {RunsLaw::poisson, RunsLaw::geometric, RunsLaw::logarithmic, RunsLaw::negative_binomial, RunsLaw::capped_geometric},
    .words = {"poisson_runs", "geometric_runs", "logarithmic_runs", "negative_binomial_runs", "capped_geometric_runs"}};

constexpr double least_shape = -0.5;
constexpr double most_shape = 1000;

}  // namespace

std::string_view name(RunsLaw law) { return runs_laws.name(law); }

RunsLaw parse_runs_law(std::string_view text) { return runs_laws.parse(text); }

Runs::Runs(RunsLaw law, double mean, double second) : law_{law}, mean_{mean}, second_{second} {
  const double least = law == RunsLaw::poisson ? 0 : 1;
  if (!(mean > least && mean <= most)) {
    invalid(fmt::format("mean is {}, must be greater than {} and at most {:.0f} for {}", mean, least, most, name(law)));
  }
  if (law == RunsLaw::negative_binomial && !(second >= least_shape && second <= most_shape)) {
    invalid(fmt::format("shape is {}, must be at least {} and at most {}", second, least_shape, most_shape));
  }
  if (law != RunsLaw::capped_geometric) return;
  if (!(second <= most)) invalid(fmt::format("cap is {:.0f}, must be at most {:.0f}", second, most));
  if (!(mean < second)) invalid(fmt::format("mean is {}, must be less than the cap of {:.0f} runs", mean, second));
}

Runs::Runs(RunsLaw law, double mean) : Runs{law, mean, 0.0} {
  if (law == RunsLaw::negative_binomial) invalid("a negative binomial number of runs has a shape");
  if (law == RunsLaw::capped_geometric) invalid("a capped geometric number of runs has a cap");
}

Runs Runs::negative_binomial(double mean, double shape) { return {RunsLaw::negative_binomial, mean, shape}; }

// Counts are at most 2^53, and so exact.
Runs Runs::capped_geometric(double mean, Count cap) { return {RunsLaw::capped_geometric, mean, static_cast<double>(cap.value())}; }

std::optional<Count> Runs::cap() const {
  if (law_ != RunsLaw::capped_geometric) return std::nullopt;
  return Count{static_cast<std::uint64_t>(second_)};
}

namespace accounting {
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

}  // namespace accounting
}  // namespace surety
