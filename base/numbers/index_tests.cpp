#include <surety/base/numbers/index_tests.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <surety/base/numbers/bound.h>

namespace surety {
namespace {

/// Units of long double: of sums in double, four of whose operations round, and of the rest.
constexpr long double units_of_error = 8 * 2048;
long double raised(long double bound) { return LongUpper::within(bound, units_of_error).value(); }

/// In place, each entry and all later ones, which count e^(-a step) less each.
void sum_from_the_end(std::vector<double>& entries, double a, double step) {
  const double keep = std::exp(-a * step);
  double sum = 0;
  for (std::size_t j = entries.size(); j-- > 0;) entries[j] = sum = std::max(entries[j], 0.0) + keep * sum;
}

}  // namespace

IndexTests::IndexTests(IndexSums sums) : sums_{std::move(sums)} {
  sum_from_the_end(sums_.hits, sums_.s, sums_.step);
  sum_from_the_end(sums_.misses, sums_.s + 1, sums_.step);
  const auto n = static_cast<double>(size());
  // Each step multiplies by an exponential, 2.5 units and as many as its argument, which is rounded twice; one product and one sum besides.
  relative_ = share_of_units((n + 16) * (4 + (sums_.s + 1) * sums_.step));
  const Lower fall = Lower{Exact{sums_.s}} * Exact{sums_.step};
  const Lower fall_of_misses = (Lower{Exact{sums_.s}} + 1) * Exact{sums_.step};
  hit_sum_ = min(Upper{Exact{n}}, 1 / -expm1(-fall)).value();
  miss_sum_ = min(Upper{Exact{n}}, 1 / -expm1(-fall_of_misses)).value();
}

IndexTests::Terms IndexTests::terms(std::size_t j) const {
  const long double x = sums_.start + static_cast<long double>(j) * static_cast<long double>(sums_.step);
  const long double scale = std::exp(sums_.log_hits - static_cast<long double>(sums_.s) * x);
  const auto hits = static_cast<long double>(sums_.hits[j]);
  const long double rounding = hits * static_cast<long double>(relative_) + static_cast<long double>(sums_.entry_error * hit_sum_);
  const long double left = std::min(scale * sums_.outside_left, sums_.faded);
  return {scale * hits, raised(scale * (rounding + hits * std::expm1(sums_.doubt))), raised(scale * sums_.outside_right + left)};
}

IndexTests::Power IndexTests::power(std::size_t j) const {
  const auto found = terms(j);
  const long double x = sums_.start + static_cast<long double>(j) * static_cast<long double>(sums_.step);
  const long double misses = raised(static_cast<long double>(sums_.misses[j] * (1 + relative_) + sums_.entry_error * miss_sum_));
  return {sums_.infinite + found.sum - found.rounding - found.aliasing,
          sums_.log_misses - static_cast<long double>(sums_.s + 1) * x + std::log(misses) + sums_.doubt};
}

/// The largest value(j), nearly: any one is a bound.
template <class Value>
long double IndexTests::best(Value value) const {
  const std::size_t stride = size() / 512 + 1;
  std::size_t at = 0;
  long double largest = value(0);
  const auto look = [&](std::size_t from, std::size_t to, std::size_t by) {
    for (std::size_t j = from; j < to; j += by) {
      const long double here = value(j);
      if (here > largest) {
        largest = here;
        at = j;
      }
    }
  };
  look(0, size(), stride);
  const std::size_t middle = at;
  look(middle - std::min(middle, stride), std::min(size(), middle + stride), 1);
  return largest;
}

long double IndexTests::delta(double epsilon) const {
  if (size() == 0) return std::max(0.0L, sums_.infinite);
  return std::max(sums_.infinite, best([&](std::size_t j) {
                    const auto found = power(j);
                    const LongUpper miss = exp(LongUpper{LongExact{found.log_miss}} + LongExact{static_cast<long double>(epsilon)});
                    return max(LongLower{LongExact{found.hit}} - miss, LongLower{0}).value();
                  }));
}

long double IndexTests::epsilon(double delta) const {
  if (sums_.infinite > static_cast<long double>(delta)) return std::numeric_limits<long double>::infinity();
  if (size() == 0) return 0;
  return best([&](std::size_t j) {
    const auto found = power(j);
    const long double left = found.hit - static_cast<long double>(delta);
    if (!(left > 0)) return 0.0L;
    const long double log_left = std::log(left);
    const long double rounding = 0x1p-60L * (1 + std::abs(log_left) + std::abs(found.log_miss));
    return std::max(0.0L, log_left - found.log_miss - rounding);
  });
}

}  // namespace surety
