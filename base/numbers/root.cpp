#include <surety/base/numbers/root.h>

#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>

namespace surety {

RootBracket narrow_root(const std::function<double(double)>& function, double low, double high, int bits, std::uintmax_t evaluations) {
  const auto found = boost::math::tools::toms748_solve(
      function, low, high, [bits](double a, double b) { return agree_to(bits, a, b); }, evaluations);
  return {found.first, found.second};
}

RootBracket narrow_root(const std::function<double(double)>& function, double low, double high, double at_low, double at_high,
                        const std::function<bool(double, double)>& near, std::uintmax_t evaluations) {
  const auto found = boost::math::tools::toms748_solve(function, low, high, at_low, at_high, near, evaluations);
  return {found.first, found.second};
}

bool agree_to(int bits, double a, double b) { return boost::math::tools::eps_tolerance<double>{static_cast<unsigned>(bits)}(a, b); }

std::optional<double> first_certain(const std::function<bool(double)>& holds, const std::function<std::optional<double>(int)>& candidate) {
  for (int i = 0;; ++i) {
    const auto x = candidate(i);
    if (!x || holds(*x)) return x;
  }
}

Enclosure enclose_root(const std::function<SideOfRoot(double)>& side, double before, double beyond) {
  // Bisection alone, three evaluations a bit, ends within these.
  const auto guess = narrow_root([&](double x) { return side(x).distance; }, before, beyond, 48, 300);
  const auto margin = [](int i) { return std::ldexp(0x1p-50, 3 * i); };
  const auto lower = first_certain([&](double x) { return side(x).certain > 0; },
                                   [&](int i) -> std::optional<double> {
                                     const double x = guess.low * (1 - margin(i));
                                     if (!(margin(i) < 0.5) || x <= before) return std::nullopt;
                                     return x;
                                   });
  const auto upper = first_certain([&](double x) { return side(x).certain < 0; },
                                   [&](int i) -> std::optional<double> {
                                     const double x = guess.high * (1 + margin(i));
                                     if (!(margin(i) < 0.5) || x >= beyond) return std::nullopt;
                                     return x;
                                   });
  return {lower.value_or(before), upper.value_or(beyond)};
}

double where_it_falls_to(double target, const std::function<double(double)>& falling) {
  double beyond = 1;
  while (falling(beyond) > target && beyond < 1e300) beyond *= 2;
  double before = 0;
  while (beyond - before > 1e-9 * beyond && beyond > std::numeric_limits<double>::min()) {
    const double middle = before + (beyond - before) / 2;
    (falling(middle) > target ? before : beyond) = middle;
  }
  return beyond;
}

}  // namespace surety
