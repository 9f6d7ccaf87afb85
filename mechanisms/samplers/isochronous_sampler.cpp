#include <surety/mechanisms/samplers/isochronous_sampler.h>

#include <bit>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/samplers/fixed_point.h>
#include <surety/mechanisms/samplers/integer_law.h>
#include <surety/mechanisms/samplers/lazy_digits.h>
#include <surety/mechanisms/samplers/masks.h>
#include <surety/mechanisms/samplers/trial_loops.h>

namespace surety::mechanisms {
namespace {

// Proved: docs/proofs/samplers.md#isochronous
/// These leave 8 standard deviations and 32 scales before samples saturate.
constexpr int log2_largest_gaussian = 60;
constexpr int log2_largest_exponential = 58;
constexpr int log2_most_flips = 52;
constexpr int log2_largest_mean = 50;
/// Blocks per scale of a wide distribution: from 1 to 2 of Gaussian weights and of binomial and Skellam ones, from 8 to 16 of exponential ones.
constexpr int log2_exponential_blocks = 3;

/// More than twice the error of what is compared with T and U, in units of 2^-120.
constexpr std::uint64_t fixed_point_margin = 1 << 20;
/// From exp(-88) on all 120 digits are 0.
constexpr std::uint64_t largest_loss = 88;
/// A rate of exponential weights from which S(1) <= exp(-rate / 2) has 120 digits 0: larger ones count as this.
constexpr double largest_index_rate = 180;

/// Binomial and Skellam distributions: the last block with a height of its own begins that many standard deviations out, or less than a block further.
constexpr double integer_tail_start = 12.5;
/// T reaches the last block with less than 2^-104. Its height is so small that fixed-point numbers leave every trial there in doubt.
constexpr int log2_of_tail = 104;
/// Digits of the sums of cosines that doubles and fixed-point numbers compute.
constexpr mpfr_prec_t accuracy_in_doubles = 52;
constexpr mpfr_prec_t accuracy_in_fixed_point = 114;
/// Of U times a height and a sum of cosines in doubles. The errors of the latter are at most half of it.
constexpr double cosine_margin = 0x1p-45;
/// In fixed-point numbers both sides are this much larger, as a sum of cosines may be computed as less than 0.
constexpr UnsignedWide above_zero = UnsignedWide{1} << 40;

UnsignedWide distance(UnsignedWide a, UnsignedWide b) {
  const UnsignedWide difference = a - b;
  return select(a < b, UnsignedWide{0} - difference, difference);
}

/// x with the sign of two's complement where `is_negative`.
UnsignedWide with_sign(UnsignedWide x, bool is_negative) {
  const UnsignedWide sign = where(is_negative, ~UnsignedWide{0});
  return (x ^ sign) - sign;
}

/// x below 2^52. The conversion of the processor takes a branch for large numbers.
double small_to_double(std::uint64_t x) { return std::bit_cast<double>(x | 0x4330000000000000) - 0x1p52; }

Interval exactly(Rational value, mpfr_prec_t precision) {
  return exact_interval(value.num, precision) / exact_interval(value.den, precision);
}

void require_scale(const char* name, double value, int log2_limit) {
  if (value > 0 && value <= std::ldexp(1.0, log2_limit)) return;
  throw Error{ErrorCode::invalid_argument, fmt::format("{} is {}, must be greater than 0 and at most 2^{}", name, value, log2_limit)};
}

void require_scale(const char* name, Rational value) {
  const bool is_positive = value.num != 0 && value.den != 0;
  if (is_positive && UnsignedWide{value.num} <= UnsignedWide{value.den} << log2_largest_exponential) return;
  throw Error{ErrorCode::invalid_argument,
              fmt::format("{} is {}/{}, must be greater than 0 and at most 2^{}", name, value.num, value.den, log2_largest_exponential)};
}

/// x towards zero. \pre 0 <= x, and its enclosure is narrower than a unit.
FixedPoint fixed(const Interval& x) { return {floor_digits(x.lower(), FixedPoint::digits)}; }

/// 2^-n, exactly.
Interval power_of_half(std::uint64_t n, mpfr_prec_t precision) {
  Interval result{1, precision};
  Interval power{0.5, precision};
  for (; n != 0; n >>= 1, power = power * power) {
    if ((n & 1) != 0) result = result * power;
  }
  return result;
}

}  // namespace

/// A sum of cosines as fixed-point numbers compute it.
class IsochronousSampler::FixedPointCosines {
 public:
  FixedPointCosines() = default;
  explicit FixedPointCosines(const CosineSum& sum)
      : quarter_{sum.quarter}, log2_quarter_{static_cast<int>(std::bit_width(sum.quarter)) - 1} {
    for (const auto& coefficient : sum.coefficients) coefficients_.push_back(fixed(coefficient));
    constexpr mpfr_prec_t precision = 2 * first_precision;
    const Interval unit = Interval{std::ldexp(1.0, log2_quarter_), precision} / exact_interval(quarter_, precision);
    inverse_ = fixed(unit).value;
    const Interval quarter_turn = Interval::pi(precision) / Interval{2, precision};
    Interval term = quarter_turn;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      terms_[i] = fixed(term);
      const auto next = static_cast<double>((2 * i + 2) * (2 * i + 3));
      term = term * quarter_turn * quarter_turn / Interval{next, precision};
    }
  }

  /// The sum at k, in two's complement. \pre 2 k <= N.
  [[nodiscard]] UnsignedWide operator()(std::uint64_t k) const {
    // cos(2 pi k / N) = sin(pi t / 2) with t = (N/4 - k) / (N/4).
    const bool is_negative = k > quarter_;
    const std::uint64_t distance = static_cast<std::uint64_t>(with_sign(UnsignedWide{quarter_} - k, is_negative));
    const UnsignedWide high = UnsignedWide{static_cast<std::uint64_t>(inverse_ >> 64)} * distance;
    const UnsignedWide low = UnsignedWide{static_cast<std::uint64_t>(inverse_)} * distance;
    const FixedPoint t{(high << (64 - log2_quarter_)) + (low >> log2_quarter_)};
    const FixedPoint square = t * t;
    FixedPoint sine = terms_.back();
    for (std::size_t i = terms_.size() - 1; i-- > 0;) sine = terms_[i] - square * sine;
    const FixedPoint cosine = t * sine;
    const FixedPoint twice = cosine + cosine;
    // Clenshaw's recurrence.
    const auto product = [is_negative](FixedPoint x, UnsignedWide y) {
      const bool sign = (y >> 127) != 0;
      return with_sign((x * FixedPoint{with_sign(y, sign)}).value, sign != is_negative);
    };
    UnsignedWide next = 0;
    UnsignedWide after_next = 0;
    for (std::size_t j = coefficients_.size() - 1; j > 0; --j) {
      const UnsignedWide here = coefficients_[j].value + product(twice, next) - after_next;
      after_next = next;
      next = here;
    }
    return coefficients_.front().value + product(cosine, next) - after_next;
  }

 private:
  std::uint64_t quarter_ = 1;
  int log2_quarter_ = 0;
  UnsignedWide inverse_ = 0;               ///< 2^log2_quarter_ / (N/4), with 120 digits
  std::array<FixedPoint, 19> terms_ = {};  ///< (pi/2)^(2 i + 1) / (2 i + 1)!
  std::vector<FixedPoint> coefficients_ = {};
};

struct IsochronousSampler::Law {
  bool is_gaussian;
  bool is_rounded;
  bool is_two_sided;
  /// sigma^2 of Gaussian weights, b of exponential ones.
  std::function<Interval(mpfr_prec_t)> parameter;
  /// Binomial or Skellam probabilities instead of both.
  std::optional<IntegerLaw> integer = std::nullopt;

  [[nodiscard]] TrialWeights weights() const {
    if (integer) return TrialWeights::cosines;
    return is_gaussian ? TrialWeights::gaussian : TrialWeights::exponential;
  }
  [[nodiscard]] bool is_exponential() const { return weights() == TrialWeights::exponential; }

  [[nodiscard]] static Law of_integers(const IntegerLaw& law) {
    return {.is_gaussian = false,
            .is_rounded = false,
            .is_two_sided = true,
            .parameter =
                [variance = law.variance()](auto precision) {
                  return Interval{variance, precision};
                },
            .integer = law};
  }
};

struct IsochronousSampler::Tables {
  explicit Tables(Law&& of) : law{std::move(of)} {
    const StandardFloatingPoint environment;
    const double parameter = law.parameter(first_precision).enclosure().upper;
    const double scale = law.is_exponential() ? parameter : std::sqrt(parameter);
    fast.weights = law.weights();
    fast.is_rounded = law.is_rounded;
    fast.is_two_sided = law.is_two_sided;
    fast.is_wide = scale >= narrow_limit();
    if (fast.is_wide) set_blocks(std::ilogb(scale) - (law.is_exponential() ? log2_exponential_blocks : 0));
    if (fast.is_wide && law.integer) set_heights(scale);
    law.is_exponential() ? set_exponential() : set_thresholds();
    number_thresholds();
    if (fast.is_wide && law.integer) set_cosines();
  }

  [[nodiscard]] double narrow_limit() const {
    switch (law.weights()) {
      case TrialWeights::gaussian: return gaussian_narrow_limit;
      case TrialWeights::exponential: return exponential_narrow_limit;
      case TrialWeights::cosines: return integer_narrow_limit;
    }
    return 0;
  }

  void set_blocks(int log2_width) {
    fast.log2_width = log2_width;
    if (law.integer) {
      // Widths are at most 2^25, and two words have 27 digits of V.
      fast.index_digits = 48;
      fast.acceptance_digits = 52;
      place_digits = 63 - fast.index_digits + 64 - fast.acceptance_digits;
      fast.acceptance_unit = std::ldexp(1.0, -fast.acceptance_digits);
      fast.acceptance_margin = cosine_margin;
      return;
    }
    if (law.is_gaussian) fast.index_digits = 44;
    fast.acceptance_digits = law.is_gaussian ? 42 : 44;
    // Rounding takes one digit of V more, and acceptance further ones: of Gaussian blocks what two words have, of exponential ones more.
    const int digits_of_two_words = 63 - fast.index_digits + 64 - fast.acceptance_digits;
    fast.has_third_word = log2_width + (law.is_rounded ? 1 : 0) > digits_of_two_words || (law.is_rounded && !law.is_gaussian);
    if (fast.has_third_word) {
      fast.index_digits = 52;
      fast.acceptance_digits = 52;
    }
    fast.acceptance_unit = std::ldexp(1.0, -fast.acceptance_digits);
    place_digits = fast.has_third_word ? 64 : digits_of_two_words;
    fast.place_digits = std::min(law.is_rounded ? place_digits : log2_width, 52);
    fast.place_unit = std::ldexp(1.0, -fast.place_digits);
    fast.rate = rate_at(first_precision).enclosure().upper;
    fast.acceptance_margin = std::max(2 * fast.acceptance_unit, 0x1p-43);
    // The slope of the loss in block i is at most (2 i + 2) rate.
    fast.margin_per_index = law.is_rounded ? 2 * fast.rate * fast.place_unit : 0;
    rate = fixed(rate_at(2 * first_precision));
  }

  /// The envelope of binomial and Skellam distributions.
  void set_heights(double scale) {
    const auto last = checked_cast<std::uint64_t>(std::ceil(std::ldexp(integer_tail_start * scale, -fast.log2_width)));
    const CosineSum sum = law.integer->cosine_sum(fast.log2_width, last << fast.log2_width, accuracy_in_fixed_point);
    for (std::uint64_t i = 0; i <= last; ++i) fast.heights.push_back(sum.at(i << fast.log2_width).enclosure().upper);
    // Then the weights fall by half or more from block to block, from the last one on, as -ln P is convex.
    if (!(fast.heights.back() <= std::ldexp(sum.at(0).enclosure().lower, -static_cast<int>(last)))) {
      throw Error{ErrorCode::internal, "the weights of an integer law do not fall as fast as proved"};
    }
    for (const double height : fast.heights) heights.push_back(fixed(Interval{height, 2 * first_precision}));
    cosines = FixedPointCosines{sum};
  }

  /// The weights of binomial and Skellam distributions, for all indices that doubles decide.
  void set_cosines() {
    if (thresholds.size() + 1 != fast.heights.size() || thresholds.back() >> (fast.index_digits + 64 - log2_of_tail) != 0) {
      throw Error{ErrorCode::internal, "the tail of an integer law is not as light as proved"};
    }
    const std::uint64_t farthest = (fast.thresholds.size() + 1) << fast.log2_width;
    const CosineSum sum = law.integer->cosine_sum(fast.log2_width, farthest, accuracy_in_doubles);
    double error = 0;
    for (std::size_t j = 0; j < sum.coefficients.size(); ++j) {
      const double coefficient = sum.coefficients[j].enclosure().upper;
      const auto i = static_cast<double>(j);
      fast.coefficients.push_back(coefficient);
      // Of rounding the coefficient, of the recurrence and of the cosine.
      error += coefficient * (1 + 3 * (i + 1) * (i + 2) + 8 * i * i);
    }
    if (!(error * 0x1.1p-53 + sum.left_out <= cosine_margin / 2)) {
      throw Error{ErrorCode::internal, "a sum of cosines does not give the weights of an integer law as closely as proved"};
    }
    fast.quarter = static_cast<double>(sum.quarter);
    fast.inverse_quarter = 1 / fast.quarter;
  }

  /// S(1), S(2), ... until all digits of T with a further word are 0, or the last block begins.
  void set_thresholds() {
    for (mpfr_prec_t precision = 2 * first_precision;; precision *= 2) {
      thresholds.clear();
      fast.thresholds.clear();
      Weights known;
      for (std::uint64_t j = 1;; ++j) {
        if (!fast.heights.empty() && j == fast.heights.size()) return;
        const auto digits = leading_digits(survival(j, precision, known), static_cast<unsigned>(fast.index_digits) + 64);
        if (!digits) break;
        if (*digits == 0 && fast.heights.empty()) return;
        thresholds.push_back(*digits);
        const auto first = static_cast<std::uint64_t>(*digits >> 64);
        if (first != 0) fast.thresholds.push_back(1 + std::ldexp(static_cast<double>(first), -fast.index_digits));
      }
    }
  }

  void number_thresholds() {
    const int below = 63 - fast.index_digits;
    for (std::size_t j = 0; j < fast.thresholds.size(); ++j) {
      fast.numbered_thresholds.push_back(static_cast<std::uint64_t>(thresholds[j] >> 64) << below | j);
    }
    fast.numbered_thresholds.push_back(fast.thresholds.size());
  }

  void set_exponential() {
    constexpr mpfr_prec_t precision = 2 * first_precision;
    const Interval one{1, precision};
    Interval rate_of_index = fast.is_wide ? rate_at(precision) : one / law.parameter(precision);
    if (rate_of_index.compare(largest_index_rate) > 0) rate_of_index = Interval{largest_index_rate, precision};
    Interval log_of_factor{0, precision};
    if (!fast.is_wide && law.is_two_sided) {
      const Interval two{2, precision};
      log_of_factor = law.is_rounded ? rate_of_index / two : log(two / (one + exp(-rate_of_index)));
    }
    fast.index_rate = rate_of_index.enclosure().upper;
    fast.log_factor = log_of_factor.enclosure().upper;
    fast.indices_per_log = 1 / fast.index_rate;
    index_rate = fixed(rate_of_index);
    log_factor = fixed(log_of_factor);
  }

  // ---- The distribution, by interval arithmetic ----

  /// The exponent that the density loses over the first block: w^2 / (2 sigma^2) or w / b.
  [[nodiscard]] Interval rate_at(mpfr_prec_t precision) const {
    const Interval width{std::ldexp(1.0, fast.log2_width), precision};
    const Interval parameter = law.parameter(precision);
    return law.is_gaussian ? width * width / (Interval{2, precision} * parameter) : width / parameter;
  }

  /// The exponent that the density loses from the start of block i to y blocks further.
  [[nodiscard]] Interval loss(std::uint64_t i, const Interval& y) const {
    const mpfr_prec_t precision = y.precision();
    return law.is_gaussian ? (exact_interval(2 * i, precision) + y) * y * rate_at(precision) : y * rate_at(precision);
  }

  /// The weights that were last summed, or their sums: the decisions about one T share them.
  struct Weights {
    mpfr_prec_t precision = 0;
    std::vector<Interval> values = {};
  };

  /// S(j) for j >= 1: the share of the indices from j on.
  [[nodiscard]] Interval survival(std::uint64_t j, mpfr_prec_t precision, Weights& known) const {
    const Interval one{1, precision};
    const Interval at = exact_interval(j, precision);
    if (law.integer) return integer_survival(j, precision, known);
    if (law.is_gaussian && !fast.is_wide && law.is_rounded) {
      return erfc((at - Interval{0.5, precision}) / sqrt(Interval{2, precision} * law.parameter(precision)));
    }
    if (law.is_gaussian) {
      if (known.precision != precision || known.values.size() <= j + 1) known = {precision, gaussian_weights(precision, j)};
      return share_from(known.values, j, precision);
    }
    if (fast.is_wide) return exp(-(at * rate_at(precision)));
    const Interval parameter = law.parameter(precision);
    if (law.is_rounded) return exp(-((at - Interval{0.5, precision}) / parameter));
    const Interval power = exp(-(at / parameter));
    return law.is_two_sided ? Interval{2, precision} * power / (one + exp(-(one / parameter))) : power;
  }

  [[nodiscard]] Interval integer_survival(std::uint64_t j, mpfr_prec_t precision, Weights& known) const {
    if (!fast.is_wide) {
      if (known.precision != precision || known.values.size() <= j + 1) {
        known = {precision, law.integer->weights(precision, j)};
        // Their sums from the last one on.
        for (std::size_t i = known.values.size() - 1; i-- > 0;) known.values[i] = known.values[i] + known.values[i + 1];
      }
      // A binomial distribution ends.
      return j < known.values.size() ? known.values[j] / known.values[0] : Interval{0, precision};
    }
    // Sums and quotients of doubles. Where a quotient has few digits, it is exact at some precision, and so decides.
    const std::uint64_t last = fast.heights.size() - 1;
    Interval sum = Interval{2, precision} * Interval{fast.heights[last], precision};
    Interval above = j > last ? sum * power_of_half(j - last, precision) : sum;
    for (std::uint64_t i = last; i-- > 0;) {
      sum = sum + Interval{fast.heights[i], precision};
      if (i == j) above = sum;
    }
    return above / sum;
  }

  [[nodiscard]] static Interval share_from(const std::vector<Interval>& weights, std::uint64_t j, mpfr_prec_t precision) {
    Interval sum{0, precision};
    Interval above{0, precision};
    for (std::size_t i = weights.size(); i-- > 0;) {
      sum = sum + weights[i];
      if (i == j) above = sum;
    }
    return above / sum;
  }

  /// exp(-rate i^2) for i = 0, 1, ..., at least j + 1, the last one with all that follow. The weight of a narrow distribution's 0 is halved, for
  /// both of its signs are 0.
  [[nodiscard]] std::vector<Interval> gaussian_weights(mpfr_prec_t precision, std::uint64_t j) const {
    const Interval rate_here = rate_at(precision);
    const auto until_negligible = std::sqrt(0.7 * static_cast<double>(precision) / rate_here.enclosure().lower);
    const auto count = std::max(j + 2, checked_cast<std::uint64_t>(until_negligible) + 2);
    const Interval one{1, precision};
    std::vector<Interval> result{fast.is_wide ? one : Interval{0.5, precision}};
    Interval ratio = exp(-rate_here);
    const Interval ratio_of_ratios = ratio * ratio;
    Interval weight = one;
    while (result.size() < count) {
      weight = weight * ratio;
      ratio = ratio * ratio_of_ratios;
      result.push_back(weight);
    }
    // f(m) + f(m + 1) + ... <= f(m) / (1 - f(m + 1) / f(m)), since the ratios of neighbours decrease.
    result.back() = hull(weight, weight / (one - ratio));
    return result;
  }

  // ---- A trial, by definition ----

  /// The largest index that T reaches.
  [[nodiscard]] std::uint64_t search(LazyReal& t, const NextWord& next) const {
    Weights known;
    // No binomial magnitude is larger.
    const std::uint64_t limit = law.integer && !fast.is_wide ? law.integer->largest() + 1 : std::uint64_t{1} << 63;
    return last_that_holds(0, limit, [&](std::uint64_t j) {
      return is_surely_below(
          t, [&](mpfr_prec_t precision) { return survival(j, precision, known); }, next);
    });
  }

  /// Whether U < exp(-loss) at the place V of block i. Draws a word for each of V (of a rounded distribution) and U as long as what is known of
  /// them does not decide.
  [[nodiscard]] bool accepts(std::uint64_t i, LazyReal& v, LazyReal& u, const NextWord& next) const {
    for (mpfr_prec_t precision = std::max(u.precision(), v.precision()) + 64;;) {
      const Interval largest = exp(-loss(i, v.low(precision)));
      const Interval least = law.is_rounded ? exp(-loss(i, v.high(precision))) : largest;
      const Interval low = u.low(precision);
      const Interval high = u.high(precision);
      if (surely_below(high, least)) return true;
      if (surely_below(largest, low)) return false;
      if (surely_below(least, high) && surely_below(low, largest)) {
        if (law.is_rounded) v.extend(next());
        u.extend(next());
        precision = std::max({precision, u.precision() + 64, v.precision() + 64});
      } else {
        precision *= 2;
      }
    }
  }

  /// The same of binomial and Skellam distributions: whether U < 2^b P(k) / height. The number of U's digits sets the precision. More precision is
  /// no help where a ratio has so few digits that it is equal to an end of U's interval; more digits of U are.
  [[nodiscard]] bool accepts_integer(std::uint64_t i, std::uint64_t k, LazyReal& u, const NextWord& next) const {
    const std::uint64_t last = fast.heights.size() - 1;
    const std::uint64_t halvings = i > last ? i - last : 0;
    for (;; u.extend(next())) {
      // The last height is about 2^-112.
      const mpfr_prec_t precision = u.precision() + 192 + static_cast<mpfr_prec_t>(halvings);
      const Interval height = Interval{fast.heights[std::min(i, last)], precision} * power_of_half(halvings, precision);
      const Interval ratio = Interval{std::ldexp(1.0, fast.log2_width), precision} * law.integer->probability(k, precision) / height;
      if (surely_below(u.high(precision), ratio)) return true;
      if (surely_below(ratio, u.low(precision))) return false;
    }
  }

  // ---- What the words of a trial hold ----

  [[nodiscard]] std::uint64_t index_digits(std::uint64_t first) const { return first >> (64 - fast.index_digits); }
  [[nodiscard]] bool has_sign(std::uint64_t first) const { return (std::uint64_t{law.is_two_sided} & first & 1) != 0; }
  /// 1 where a magnitude of 0 is rejected: its sign is minus, and the one integer 0 has both signs.
  [[nodiscard]] std::uint64_t negative_zero(std::uint64_t first) const {
    return std::uint64_t{fast.is_wide && law.is_two_sided && !law.is_rounded} & first & 1;
  }
  /// The digits of V that the words have, from the highest bit on. \pre wide.
  [[nodiscard]] std::uint64_t v_of(const std::uint64_t* words) const {
    if (fast.has_third_word) return words[1];
    const int upper_digits = 63 - fast.index_digits;
    return words[0] >> 1 << (64 - upper_digits) | words[1] >> fast.acceptance_digits << fast.acceptance_digits >> upper_digits;
  }
  /// The integer below the place in the block, or nearest to it. \pre wide.
  [[nodiscard]] std::uint64_t place(const std::uint64_t* words) const {
    return ((v_of(words) >> (63 - fast.log2_width)) + (law.is_rounded ? 1 : 0)) >> 1;
  }
  [[nodiscard]] std::uint64_t acceptance(const std::uint64_t* words) const {
    return fast.has_third_word ? words[2] >> (64 - fast.acceptance_digits) : words[1] & ((std::uint64_t{1} << fast.acceptance_digits) - 1);
  }
  /// The sample of this index and sign.
  [[nodiscard]] std::int64_t sample_of(UnsignedWide index, const std::uint64_t* words) const {
    const UnsignedWide magnitude = fast.is_wide ? (index << fast.log2_width) + place(words) : index;
    const auto largest = static_cast<std::uint64_t>(saturation);
    const auto limited = select(magnitude > largest, largest, static_cast<std::uint64_t>(magnitude));
    const std::uint64_t sign = where(has_sign(words[0]), ~std::uint64_t{0});
    return static_cast<std::int64_t>((limited ^ sign) - sign);
  }

  /// The mask of a trial that U accepts or not: a negative zero is rejected.
  [[nodiscard]] std::int64_t kept(bool is_below, std::int64_t sample, std::uint64_t first) const {
    const std::uint64_t is_kept = std::uint64_t{is_below} & ~(std::uint64_t{sample == 0} & negative_zero(first));
    return where((is_kept & 1) != 0, std::int64_t{-1});
  }

  // ---- A trial, by fixed-point numbers ----

  /// The place in the block, of a rounded distribution V with a further word towards zero. \pre wide.
  [[nodiscard]] FixedPoint precise_place(const std::uint64_t* words, const std::uint64_t* further) const {
    if (!law.is_rounded) return {UnsignedWide{place(words)} << (FixedPoint::digits - fast.log2_width)};
    return {(UnsignedWide{v_of(words)} << 64 | UnsignedWide{further[2]} << 64 >> place_digits) >> (128 - FixedPoint::digits)};
  }

  /// The trial with these words and further ones. `is_in_doubt` is set where that does not decide.
  [[nodiscard]] DecidedTrial decide_precisely(const std::uint64_t* words, const std::uint64_t* further, bool& is_in_doubt) const {
    const UnsignedWide t = UnsignedWide{index_digits(words[0])} << 64 | further[0];
    std::uint64_t index = 0;
    UnsignedWide height = 0;
    FixedPoint ratio;
    bool in_doubt = false;
    if (!heights.empty()) {
      height = heights[0].value;
      for (std::size_t j = 0; j < thresholds.size(); ++j) {
        index += std::uint64_t{t < thresholds[j]};
        height = select(t < thresholds[j], heights[j + 1].value, height);
        in_doubt |= t == thresholds[j];
      }
    } else if (!law.is_exponential()) {
      in_doubt |= t == 0;
      for (const UnsignedWide threshold : thresholds) {
        index += std::uint64_t{t < threshold};
        in_doubt |= t == threshold;
      }
    } else {
      // Below, T has few digits that are not 0, and its logarithm is not known well enough.
      in_doubt |= t < UnsignedWide{1} << 16;
      const FixedPoint real{t << (FixedPoint::digits - 64 - fast.index_digits)};
      const double rough = small_to_double(index_digits(words[0])) * 0x1p-52 + small_to_double(further[0] >> 12) * 0x1p-104 + 0x1p-118;
      // Towards zero, in whatever direction doubles are rounded here: at least 1/4 for all T below 1.
      const double nearest = (fast.log_factor - rough_log(rough)) * fast.indices_per_log + 0.5;
      const auto j = static_cast<std::uint64_t>(static_cast<std::int64_t>(nearest));
      const UnsignedWide limit = UnsignedWide{largest_loss} << FixedPoint::digits;
      const UnsignedWide exponent = where(j != 0, index_rate.times(j).value - log_factor.value);
      const FixedPoint limited{select(exponent < limit, exponent, limit)};
      FixedPoint survival;
      if (fast.is_wide) {
        const auto both = fixed_point::exps_of_minus<2>({limited, product(precise_place(words, further), rate)});
        survival = both[0];
        ratio = both[1];
      } else {
        survival = fixed_point::exp_of_minus(limited);
      }
      in_doubt |= distance(real.value, survival.value) <= fixed_point_margin;
      // Not `||`, which is a branch.
      index = j - 1 + (std::uint64_t{j == 0} | std::uint64_t{real.value < survival.value});
    }
    DecidedTrial result{.sample = sample_of(index, words), .accepted = -1};
    if (fast.is_wide) {
      const int width = fast.log2_width;
      const int below_u = FixedPoint::digits - fast.acceptance_digits;
      const FixedPoint u{UnsignedWide{acceptance(words)} << below_u | UnsignedWide{further[1]} << (below_u - 64)};
      if (!heights.empty()) {
        const UnsignedWide proposed = (u * FixedPoint{height}).value + above_zero;
        const UnsignedWide weight = cosines((index << width) + place(words)) + above_zero;
        in_doubt |= distance(proposed, weight) <= fixed_point_margin;
        result.accepted = kept(proposed < weight, result.sample, words[0]);
        is_in_doubt = in_doubt;
        return result;
      }
      if (law.is_gaussian) {
        const FixedPoint y = precise_place(words, further);
        const FixedPoint twice_index{UnsignedWide{2 * index} << FixedPoint::digits};
        ratio = fixed_point::exp_of_minus(product(product(twice_index + y, y), rate));
      }
      in_doubt |= distance(u.value, ratio.value) <= fixed_point_margin;
      result.accepted = kept(u.value < ratio.value, result.sample, words[0]);
    }
    is_in_doubt = in_doubt;
    return result;
  }

  /// ln x within 0.001, for normal x in (0, 2).
  [[nodiscard]] static double rough_log(double x) {
    const auto digits = std::bit_cast<std::uint64_t>(x);
    const double f = std::bit_cast<double>((digits & 0xfffffffffffff) | 0x3ff0000000000000) - 1;
    const double exponent = small_to_double(digits >> 52) - 1023;
    return (exponent + f * (1.42349418 + f * (-0.58776924 + f * 0.16558988))) * 0x1.62e42fefa39efp-1;
  }

  Law law;
  TrialConstants fast;
  int place_digits = 0;  ///< of V in the words of a wide trial
  std::vector<UnsignedWide> thresholds;
  std::vector<FixedPoint> heights;  ///< of binomial and Skellam blocks
  FixedPointCosines cosines;        ///< their weights
  FixedPoint rate;
  FixedPoint index_rate;
  FixedPoint log_factor;
};

IsochronousSampler::IsochronousSampler(Law law) : tables_{std::make_shared<const Tables>(std::move(law))} {
  const TrialConstants& fast = tables_->fast;
  words_per_trial_ = fast.is_wide ? (fast.has_third_word ? 3 : 2) : 1;
  further_words_ = fast.is_wide ? (fast.is_rounded ? 3 : 2) : 1;
}

IsochronousSampler IsochronousSampler::rounded_gaussian(double sigma) {
  require_scale("sigma in grid steps", sigma, log2_largest_gaussian);
  return IsochronousSampler{{.is_gaussian = true, .is_rounded = true, .is_two_sided = true, .parameter = [=](auto precision) {
                               const Interval exact{sigma, precision};
                               return exact * exact;
                             }}};
}

IsochronousSampler IsochronousSampler::rounded_laplace(double scale) {
  require_scale("scale in grid steps", scale, log2_largest_exponential);
  return IsochronousSampler{{.is_gaussian = false, .is_rounded = true, .is_two_sided = true, .parameter = [=](auto precision) {
                               return Interval{scale, precision};
                             }}};
}

IsochronousSampler IsochronousSampler::discrete_gaussian(Rational variance) {
  if (variance.num == 0 || variance.den == 0) {
    throw Error{ErrorCode::invalid_argument, fmt::format("variance is {}/{}, must be greater than 0", variance.num, variance.den)};
  }
  return IsochronousSampler{{.is_gaussian = true, .is_rounded = false, .is_two_sided = true, .parameter = [=](auto precision) {
                               return exactly(variance, precision);
                             }}};
}

IsochronousSampler IsochronousSampler::discrete_laplace(Rational scale) {
  require_scale("scale", scale);
  return IsochronousSampler{{.is_gaussian = false, .is_rounded = false, .is_two_sided = true, .parameter = [=](auto precision) {
                               return exactly(scale, precision);
                             }}};
}

IsochronousSampler IsochronousSampler::geometric(Rational scale) {
  require_scale("scale", scale);
  return IsochronousSampler{{.is_gaussian = false, .is_rounded = false, .is_two_sided = false, .parameter = [=](auto precision) {
                               return exactly(scale, precision);
                             }}};
}

IsochronousSampler IsochronousSampler::half_gaussian(std::uint64_t sigma) {
  if (sigma < 4 || sigma > std::uint64_t{1} << log2_largest_gaussian) {
    throw Error{ErrorCode::invalid_argument, fmt::format("sigma is {}, must be from 4 to 2^{}", sigma, log2_largest_gaussian)};
  }
  return IsochronousSampler{{.is_gaussian = true, .is_rounded = false, .is_two_sided = false, .parameter = [=](auto precision) {
                               const Interval exact = exact_interval(sigma, precision);
                               return exact * exact;
                             }}};
}

IsochronousSampler IsochronousSampler::binomial(std::uint64_t flips) {
  if (flips < 2 || flips % 2 != 0 || flips > std::uint64_t{1} << log2_most_flips) {
    throw Error{ErrorCode::invalid_argument, fmt::format("flips is {}, must be even, from 2 to 2^{}", flips, log2_most_flips)};
  }
  return IsochronousSampler{Law::of_integers(IntegerLaw::binomial(flips))};
}

IsochronousSampler IsochronousSampler::skellam(double mean) {
  const StandardFloatingPoint environment;  // in which twice a subnormal mean is exact
  if (!(mean > 0 && mean <= std::ldexp(1.0, log2_largest_mean))) {
    throw Error{ErrorCode::invalid_argument, fmt::format("mean is {}, must be greater than 0 and at most 2^{}", mean, log2_largest_mean)};
  }
  return IsochronousSampler{Law::of_integers(IntegerLaw::skellam(mean))};
}

bool IsochronousSampler::is_wide() const noexcept { return tables_->fast.is_wide; }
int IsochronousSampler::log2_block_width() const noexcept { return tables_->fast.log2_width; }
const TrialConstants& IsochronousSampler::constants() const noexcept { return tables_->fast; }
std::span<const UnsignedWide> IsochronousSampler::thresholds() const noexcept { return tables_->thresholds; }
std::span<const double> IsochronousSampler::heights() const noexcept { return tables_->fast.heights; }

std::size_t IsochronousSampler::trials_for(std::size_t count) const {
  count = std::min(count, block);
  // Gaussian blocks, and binomial and Skellam ones, accept from .71 to .83 of all trials, exponential ones from .94 on, but for half of the zeros.
  if (tables_->fast.is_wide) count += (tables_->law.is_exponential() ? count / 16 : 3 * count / 8) + 4;
  return std::min((count + trial_lanes - 1) / trial_lanes * trial_lanes, block);
}

std::size_t IsochronousSampler::draw_block(std::size_t count, BitsRef bits, TrialPath path, std::int64_t* samples) const {
  const StandardFloatingPoint environment;
  std::array<std::uint64_t, most_words * block + most_further_words> words;
  const std::size_t trials = trials_for(count);
  const auto drawn = std::span{words}.first(words_per_trial_ * trials + further_words_);
  draw_words(bits, drawn);
  return std::min(count, decide_block(trials, drawn.data(), drawn.last(further_words_), words_of(bits), path, samples));
}

std::size_t IsochronousSampler::draw_block(std::size_t count, BitsRef bits, std::int64_t* samples) const {
  return draw_block(count, bits, fastest_path(), samples);
}

void IsochronousSampler::fill(std::span<std::int64_t> samples, BitsRef bits) const { fill(samples, bits, fastest_path()); }

void IsochronousSampler::fill(std::span<std::int64_t> samples, BitsRef bits, TrialPath path) const {
  // In place, where there is space for what a block writes beyond its samples.
  while (samples.size() >= block + trial_lanes) samples = samples.subspan(draw_block(samples.size(), bits, path, samples.data()));
  std::array<std::int64_t, block + trial_lanes> gathered;
  while (!samples.empty()) {
    const std::size_t drawn = draw_block(samples.size(), bits, path, gathered.data());
    std::copy_n(gathered.begin(), drawn, samples.begin());
    samples = samples.subspan(drawn);
  }
}

std::size_t IsochronousSampler::decide_block(std::size_t count, const std::uint64_t* words, std::span<const std::uint64_t> further,
                                             const NextWord& next, TrialPath path, std::int64_t* samples) const {
  DecidedTrials trials;  // NOLINT(cppcoreguidelines-pro-type-member-init): decide_trials writes what is read
  decide_trials(path, tables_->fast, count, words, trials);
  bool is_in_doubt = false;
  const DecidedTrial one = tables_->decide_precisely(trials.words.data(), further.data(), is_in_doubt);
  const bool is_rare = trials.doubts > 1 || (trials.doubts == 1 && is_in_doubt);
  if (is_rare) [[unlikely]] {
    for (std::size_t k = 0; k < count; ++k) {
      if (trials.in_doubt[k] == 0) continue;
      std::array<std::uint64_t, most_words> own{};
      for (std::size_t w = 0; w < words_per_trial_; ++w) own[w] = words[w * count + k];
      const auto sample =
          decide_by_definition(std::span{own}.first(words_per_trial_), trials.doubts == 1 ? further : further.first(0), next);
      trials.samples[k] = sample.value_or(0);
      trials.accepted[k] = sample ? -1 : 0;
      trials.in_doubt[k] = 0;
    }
  }
  return gather_accepted(path, trials, count, one, samples);
}

DecidedTrial IsochronousSampler::decide_precisely(const std::uint64_t* words, const std::uint64_t* further, bool& is_in_doubt) const {
  return tables_->decide_precisely(words, further, is_in_doubt);
}

std::optional<std::int64_t> IsochronousSampler::decide(std::span<const std::uint64_t> words, const NextWord& next) const {
  bool is_in_doubt = false;
  const DecidedTrial trial = tables_->decide_precisely(words.data(), words.data() + words_per_trial_, is_in_doubt);
  if (is_in_doubt) [[unlikely]] {
    const StandardFloatingPoint environment;
    return decide_by_definition(words.first(words_per_trial_), words.subspan(words_per_trial_), next);
  }
  if (trial.accepted == 0) return std::nullopt;
  return trial.sample;
}

std::optional<std::int64_t> IsochronousSampler::decide_by_definition(std::span<const std::uint64_t> words,
                                                                     std::span<const std::uint64_t> further, const NextWord& next) const {
  const Tables& tables = *tables_;
  LazyReal t{tables.index_digits(words[0]), tables.fast.index_digits};
  if (!further.empty()) t.extend(further[0]);
  const std::uint64_t index = tables.search(t, next);
  const std::int64_t sample = tables.sample_of(index, words.data());
  if (!tables.fast.is_wide) return sample;
  if (tables.law.integer) {
    LazyReal u{tables.acceptance(words.data()), tables.fast.acceptance_digits};
    if (!further.empty()) u.extend(further[1]);
    if (sample == 0 && tables.negative_zero(words[0]) != 0) return std::nullopt;
    if (tables.accepts_integer(index, static_cast<std::uint64_t>(std::abs(sample)), u, next)) return sample;
    return std::nullopt;
  }
  LazyReal v = tables.law.is_rounded ? LazyReal{tables.v_of(words.data()) >> (64 - tables.place_digits), tables.place_digits}
                                     : LazyReal{tables.place(words.data()), tables.fast.log2_width};
  LazyReal u{tables.acceptance(words.data()), tables.fast.acceptance_digits};
  if (!further.empty()) {
    u.extend(further[1]);
    if (tables.law.is_rounded) v.extend(further[2]);
  }
  if (sample == 0 && tables.negative_zero(words[0]) != 0) return std::nullopt;
  if (tables.accepts(index, v, u, next)) return sample;
  return std::nullopt;
}

std::int64_t IsochronousSampler::by_definition(BitsRef bits) const {
  const StandardFloatingPoint environment;
  std::array<std::uint64_t, most_words + most_further_words> words;
  const auto drawn = std::span{words}.first(words_per_trial_ + further_words_);
  for (;;) {
    draw_words(bits, drawn);
    if (const auto sample = decide_by_definition(drawn.first(words_per_trial_), drawn.subspan(words_per_trial_), words_of(bits)))
      return *sample;
  }
}

// Proved so far.
}  // namespace surety::mechanisms
