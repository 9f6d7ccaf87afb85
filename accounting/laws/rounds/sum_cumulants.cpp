#include <surety/accounting/laws/rounds/sum_cumulants.h>

namespace surety::accounting::sums_of_terms {
namespace {

/// The tilt between `low` and `high` at which a falling or rising function crosses a level.
template <class Below>
double crossing(double low, double high, Below below) {
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (low + high);
    (below(middle) ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

std::vector<Centre> centres(const Cumulants& k, double steepest) {
  // Places where P, or below its mean Q, has no more than so much mass, as logarithms.
  const auto p_at = [&](double log_mass) {
    const double s = crossing(0, steepest, [&](double theta) {
      const auto here = k.of_p(theta);
      return here.value - theta * here.slope > log_mass;
    });
    return log_mass == 0 ? k.of_p(0).slope : k.of_p(s).slope;
  };
  const auto q_at = [&](double log_mass) {
    const double s = crossing(0, steepest, [&](double theta) {
      const auto here = k.of_q(-theta);
      return here.value + theta * here.slope > log_mass;
    });
    return log_mass == 0 ? k.of_q(0).slope : k.of_q(-s).slope;
  };
  std::vector<Centre> found;
  // The first four say how wide the grid is.
  for (const double place : {p_at(0), q_at(0), p_at(-18), q_at(-18), p_at(-50), q_at(-60), p_at(-120)}) {
    Centre one{};
    one.p_tilt = crossing(-steepest, 2 * steepest, [&](double theta) { return k.of_p(theta).slope < place; });
    one.q_tilt = crossing(-steepest, 2 * steepest, [&](double theta) { return k.of_q(theta).slope < place; });
    // The window outside which hardly anything is left of P as it is tilted, by Chernoff's bound.
    constexpr double quiet = 40;
    const auto here = k.of_p(one.p_tilt);
    const double deviation = std::sqrt(here.variance) + 1e-9;
    double most = std::numeric_limits<double>::infinity();
    one.least = -most;
    for (double factor = 0.5; factor < 16; factor *= 1.4) {
      const double a = factor / deviation;
      const double end = (k.of_p(one.p_tilt + a).value - here.value + quiet) / a;
      if (end < most) {
        most = end;
        one.right = a;
      }
      const double begin = -(k.of_p(one.p_tilt - a).value - here.value + quiet) / a;
      if (begin > one.least) {
        one.least = begin;
        one.left = a;
      }
    }
    one.span = most - one.least;
    one.deviation = deviation;
    found.push_back(one);
  }
  return found;
}

}  // namespace surety::accounting::sums_of_terms
