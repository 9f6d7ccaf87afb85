#include <surety/mechanisms/bits/lazy_real.h>

#include <cmath>
#include <limits>

#include <surety/base/numbers/floating_point.h>

namespace surety::mechanisms {
namespace {

constexpr std::uint64_t top_bit = std::uint64_t{1} << 63;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// word 2^-64, exactly: both halves are doubles.
Interval fraction(std::uint64_t word, mpfr_prec_t precision) {
  return Interval{static_cast<double>(word >> 32) * 0x1p-32, precision} +
         Interval{static_cast<double>(word & 0xffffffff) * 0x1p-64, precision};
}

}  // namespace

Interval LazyUniform::cell(mpfr_prec_t precision) const {
  const Interval next_place{0x1p-64, precision};
  if (more_.empty()) {
    const Interval low = fraction(first_, precision);
    return hull(low, low + next_place);
  }
  Interval low = fraction(more_.back(), precision);
  Interval length = next_place * next_place;
  for (std::size_t i = more_.size() - 1; i-- > 0;) {
    low = fraction(more_[i], precision) + low * next_place;
    length = length * next_place;
  }
  low = fraction(first_, precision) + low * next_place;
  return hull(low, low + length);
}

Interval noise(NoiseShape shape, const LazyUniform& uniform, mpfr_prec_t precision) {
  const Interval u = uniform.cell(precision);
  if (shape == NoiseShape::exponential) return -log(u);
  if (shape == NoiseShape::gumbel) return -log(-log(u));
  const Interval two{2.0, precision};
  // The first digit says on which side of the median U lies, so a cell has no points on both.
  if (uniform.first_word() < top_bit) return log(two * u);
  return -log(two * (Interval{1.0, precision} - u));
}

DoubleBounds minus_log_of_cell(std::uint64_t k, int bits) {
  const double unit = bits == 64 ? 0x1p-64 : 0x1p-63;
  const std::uint64_t last = bits == 64 ? ~std::uint64_t{0} : top_bit - 1;
  // Near 1 the distance from 1 has the digits.
  if (k > last / 2) {
    const auto distance = static_cast<double>(last - k);
    return {-std::log1p(-distance * unit), -std::log1p(-(distance + 1) * unit)};
  }
  const auto low = static_cast<double>(k);
  return {-std::log((low + 1) * unit), k == 0 ? infinity : -std::log(low * unit)};
}

DoubleBounds noise_of_first_word(NoiseShape shape, std::uint64_t word) {
  const StandardFloatingPoint environment;
  if (shape == NoiseShape::laplace) {
    const auto [low, high] = minus_log_of_cell(word < top_bit ? word : ~word, 63);
    return word < top_bit ? DoubleBounds{-high, -low} : DoubleBounds{low, high};
  }
  const auto exponential = minus_log_of_cell(word, 64);
  if (shape == NoiseShape::exponential) return exponential;
  return {-std::log(exponential.high), exponential.low == 0 ? infinity : -std::log(exponential.low)};
}

bool happens_with_exp_minus(const Exponent& exponent, const NextWord& next_word) {
  const StandardFloatingPoint environment;
  LazyUniform uniform{next_word};
  const auto [low, high] = minus_log_of_cell(uniform.first_word(), 64);
  if (low - double_margin * (1 + low) > exponent.bounds.high) return true;
  if (high + double_margin * (1 + high) < exponent.bounds.low) return false;
  for (;;) {
    const auto precision = precision_for(uniform.words());
    const Interval drawn = noise(NoiseShape::exponential, uniform, precision);
    const Interval wanted = exponent.enclose(precision);
    if (is_at_most(wanted, drawn)) return true;
    if (is_at_most(drawn, wanted)) return false;
    uniform.draw_another_word(next_word);
    exponent.draw_more(next_word);
  }
}

std::uint64_t uniform_below(std::uint64_t n, const NextWord& next_word) {
  // The last 2^64 mod n words would favour small remainders.
  const std::uint64_t excess = (~std::uint64_t{0} % n + 1) % n;
  std::uint64_t word = next_word();
  while (word > ~std::uint64_t{0} - excess) word = next_word();
  return word % n;
}

bool happens_with_ratio(std::uint64_t numerator, std::uint64_t denominator, const NextWord& next_word) {
  __extension__ using Wide = unsigned __int128;
  if (numerator == denominator) return true;
  for (;;) {
    // The next 64 digits of the quotient, and what remains beyond them.
    const Wide shifted = Wide{numerator} << 64;
    const auto digits = static_cast<std::uint64_t>(shifted / denominator);
    const std::uint64_t word = next_word();
    if (word != digits) return word < digits;
    numerator = static_cast<std::uint64_t>(shifted % denominator);
    if (numerator == 0) return false;
  }
}

bool happens_with(double p, const NextWord& next_word) {
  const StandardFloatingPoint environment;
  if (p >= 1) return true;
  for (;;) {
    // Scaling, truncation and subtraction are all exact.
    const double scaled = p * 0x1p64;
    const auto digits = static_cast<std::uint64_t>(scaled);
    const std::uint64_t word = next_word();
    if (word != digits) return word < digits;
    p = scaled - static_cast<double>(digits);
    if (p == 0) return false;
  }
}

}  // namespace surety::mechanisms
