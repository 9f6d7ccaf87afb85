#include <surety/accounting/laws/shuffled/binomial.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace surety::accounting::laws {
namespace {

constexpr long double unit = share_of_units(0.5L);
/// Below this a long double may have lost digits.
constexpr long double least_normal = 1e-4900L;

// Proved: docs/proofs/shuffled-reports.md#sums
/// log k! - ((k + 1/2) log k - k + log sqrt(2 pi)). \pre k >= 1
LongBall stirling_error(std::uint64_t k) {
  constexpr std::uint64_t exact_factorials = 16;
  const LongBall x = exactly(k);
  if (k < exact_factorials) {
    long double factorial = 1;
    for (std::uint64_t i = 2; i <= k; ++i) factorial *= static_cast<long double>(i);
    const LongBall root = log(2 * LongBall::rounded(std::numbers::pi_v<long double>)) / LongExact{2};
    return log(LongBall{LongExact{factorial}}) - (x + LongBall{1} / LongBall{2}) * log(x) + x - root;
  }
  // 1/(12 k) - 1/(360 k^3) + 1/(1260 k^5) - 1/(1680 k^7), and less than 1/(1188 k^9) more.
  const LongBall inverse = LongBall{1} / x;
  const LongBall square = inverse * inverse;
  const auto over = [](int divisor) { return LongBall{1} / LongBall{divisor}; };
  const LongBall sum = inverse * (over(12) - square * (over(360) - square * (over(1260) - square * over(1680))));
  const LongBall next = inverse * square * square * square * square * over(1188);
  return sum + LongBall::around(0, next.upper().value());
}

/// The share of itself that a product of so many ratios and a sum of so many terms may be off by. `share`: of the first term and of each ratio.
long double share_of_steps(long double first, long double each, long double steps) {
  return (first + (steps + 4) * (each + 8 * unit)) * 1.0625L;
}

/// At least, and at most, a sum that is off by the share `error` of itself.
LongBounds around(long double sum, long double error) {
  if (!(error < 0.1L)) return {LongLower{0}, LongUpper::claim(std::numeric_limits<long double>::infinity())};
  return {LongLower{LongExact{sum}} * LongLower{LongExact{1 - error}}, LongUpper{LongExact{sum}} * LongUpper{LongExact{1 + 2 * error}}};
}

}  // namespace

LongBall binomial_mass(std::uint64_t trials, const LongBall& p, std::uint64_t count) {
  const LongBall all = exactly(trials);
  if (trials == 0) return 1;
  if (count == 0) return exp(all * log1p(-p));
  if (count == trials) return exp(all * log(p));
  const LongBall hits = exactly(count);
  const LongBall misses = exactly(trials - count);
  const LongBall expected = all * p;
  const LongBall expected_misses = all * (LongBall{1} - p);
  const LongBall more = hits - expected;
  const LongBall divergence = hits * log1p(more / expected) + misses * log1p(-more / expected_misses);
  const LongBall exponent = stirling_error(trials) - stirling_error(count) - stirling_error(trials - count) - divergence;
  const LongBall two_pi = 2 * LongBall::rounded(std::numbers::pi_v<long double>);
  return exp(exponent) * sqrt(all / (two_pi * hits * misses));
}

std::vector<LongBounds> expected_excess(std::uint64_t trials, const LongBall& p, const std::vector<long double>& levels) {
  std::vector<LongBounds> found(levels.size(), LongBounds{LongLower{0}, LongUpper{0}});
  const auto all = static_cast<long double>(trials);
  const LongBall expected = exactly(trials) * p;
  // Levels that every count reaches, or none.
  std::size_t begin = 0;
  for (; begin < levels.size() && levels[begin] <= 0; ++begin) {
    const LongBall mean = expected - LongBall{LongExact{levels[begin]}};
    found[begin] = {max(mean.lower(), LongLower{0}), mean.upper()};
  }
  std::size_t end = levels.size();
  while (end > begin && levels[end - 1] >= all) --end;
  if (begin == end) return found;

  const long double variance = std::max<long double>(expected.value() * (1 - p.value()), 0);
  const long double highest = std::max(std::ceil(levels[end - 1]), std::floor(expected.value()) + 1);
  const long double above = std::max<long double>(highest - expected.value(), 0);
  const LongBall odds = p / (LongBall{1} - p);
  const auto mass_of = [&](long double count) { return binomial_mass(trials, p, static_cast<std::uint64_t>(count)); };
  // From a count on masses fall at least so fast.
  const auto fall_from = [&](long double count) {
    return LongUpper{((exactly(trials) - LongBall{LongExact{count}}) / LongBall{LongExact{count + 1}} * odds).upper()};
  };
  long double top = std::min(all, std::ceil(highest + std::sqrt(above * above + 60 * variance) - above + 40));
  LongBall mass = mass_of(top);
  if (!(mass.value() > least_normal)) {
    top = std::min(all, highest);
    mass = mass_of(top);
  }
  if (!(mass.value() > least_normal)) {
    // The chance of so many is below every number that counts here; each exceeds a level by at most all trials.
    const LongUpper tail = geometric_tail(LongUpper{mass.upper()}, max(fall_from(top), LongUpper{0}));
    for (std::size_t i = begin; i < end; ++i) {
      if (std::ceil(levels[i]) == top) {
        found[i].upper = tail * LongUpper{LongExact{all}};
      } else {
        found[i] = expected_excess(trials, p, {levels[i]}).front();
      }
    }
    return found;
  }
  // Of what is above `top`: its probability, and by how much it exceeds `top` in the mean.
  LongUpper beyond{0};
  LongUpper beyond_by{0};
  if (top < all) {
    const LongUpper ratio = fall_from(top);
    beyond = geometric_tail(LongUpper{mass.upper()} * ratio, ratio);
    beyond_by = geometric_tail(beyond, ratio);
  }
  const LongBall back = LongBall{1} / odds;
  const long double each = back.share();
  const long double first = mass.share();
  long double here = mass.value();  // the probability of `count`
  long double tail = here;          // and of all from it to `top`
  long double excess = 0;           // by which those exceed `count`
  long double count = top;
  for (std::size_t i = end; i-- > begin;) {
    const long double least = std::ceil(levels[i]);
    while (count > least) {
      here *= count / (all - count + 1) * back.value();
      count -= 1;
      excess += tail;
      tail += here;
    }
    const long double error = share_of_steps(first, each, top - count);
    const LongBounds tails = around(tail, error);
    const LongBounds excesses = around(excess, error);
    const LongExact level{levels[i]};
    const LongUpper rest = beyond_by + (LongUpper{LongExact{top}} - level) * beyond;
    found[i] = {excesses.lower + max(LongLower{LongExact{least}} - level, LongLower{0}) * tails.lower,
                excesses.upper + max(LongUpper{LongExact{least}} - level, LongUpper{0}) * tails.upper + rest};
  }
  return found;
}

std::vector<CountBlock> count_blocks(std::uint64_t trials, const LongBall& p, std::uint64_t blocks, double reach) {
  const auto all = static_cast<long double>(trials);
  const long double mean = std::clamp<long double>(all * p.value(), 0, all);
  const long double far = reach * (std::sqrt(mean * std::max<long double>(1 - p.value(), 0)) + 20);
  const long double mode = std::floor(mean);
  const auto lowest = static_cast<std::uint64_t>(std::max<long double>(0, mode - far));
  const auto highest = static_cast<std::uint64_t>(std::min(all, mode + far));
  const std::uint64_t length = (highest - lowest) / blocks + 1;
  const LongBall odds = p / (LongBall{1} - p);
  const long double each = odds.share();
  const LongBall mass = binomial_mass(trials, p, static_cast<std::uint64_t>(mode));
  const long double error = share_of_steps(mass.share(), each, static_cast<long double>(highest - lowest));
  std::vector<long double> sums((highest - lowest) / length + 1, 0);
  const auto from = static_cast<std::uint64_t>(mode);
  const std::size_t middle = (from - lowest) / length;
  const long double forward = odds.value();
  const long double back = 1 / forward;
  long double up = mass.value();
  long double down = mass.value();
  long double count = mode;
  sums[middle] += up;
  for (std::size_t i = middle; i < sums.size(); ++i) {
    const auto last = static_cast<long double>(std::min(highest, lowest + (i + 1) * length - 1));
    for (; count < last; count += 1) sums[i] += up *= (all - count) * forward / (count + 1);
    if (i + 1 < sums.size()) {
      sums[i + 1] += up *= (all - count) * forward / (count + 1);
      count += 1;
    }
  }
  count = mode;
  for (std::size_t i = middle + 1; i-- > 0;) {
    const auto first = static_cast<long double>(lowest + i * length);
    for (; count > first; count -= 1) sums[i] += down *= count * back / (all - count + 1);
    if (i > 0) {
      sums[i - 1] += down *= count * back / (all - count + 1);
      count -= 1;
    }
  }
  std::vector<CountBlock> found;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::uint64_t first = lowest + i * length;
    found.push_back({first, std::min(highest, first + length - 1), around(sums[i], error)});
    // What a product lost where it became subnormal.
    found.back().weight.upper = found.back().weight.upper + LongUpper{LongExact{least_normal}};
  }
  // Beyond either end masses fall at least as fast as at the end.
  const LongBall rise = LongBall{1} / odds;
  if (lowest > 0) {
    const LongUpper ratio = (exactly(lowest) / exactly(trials - lowest + 1) * rise).upper();
    found.front().first = 0;
    found.front().weight.upper =
        found.front().weight.upper + geometric_tail((LongUpper{LongExact{down}} + LongExact{least_normal}) * LongUpper{2} * ratio, ratio);
  }
  if (highest < trials) {
    const LongUpper ratio = (exactly(trials - highest) / exactly(highest + 1) * odds).upper();
    found.back().last = trials;
    found.back().weight.upper =
        found.back().weight.upper + geometric_tail((LongUpper{LongExact{up}} + LongExact{least_normal}) * LongUpper{2} * ratio, ratio);
  }
  return found;
}
// Proved so far.

}  // namespace surety::accounting::laws
