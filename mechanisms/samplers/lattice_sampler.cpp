#include <surety/mechanisms/samplers/lattice_sampler.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/samplers/integer_law.h>

namespace surety::mechanisms {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

// Proved: docs/proofs/samplers.md#integers
/// So that a place in the first piece of the tail fits a word.
constexpr int log2_largest_gaussian = 60;
constexpr int log2_largest_exponential = 58;
constexpr int log2_most_flips = 52;
constexpr int log2_largest_mean = 50;

constexpr mpfr_prec_t first_precision = 128;

/// Largest scale whose every integer has its own threshold.
constexpr double narrow_limit = 128;
/// The same of the rounded Gaussian, whose thresholds take some 50 microseconds each to certify. Below 2^log2_blocks_per_scale a block
/// would be narrower than a step.
constexpr double narrow_limit_of_erfc = 32;
/// Blocks per scale of a wide law: from 2^5 to 2^6.
constexpr int log2_blocks_per_scale = 6;
/// The tail begins where the density has fallen to about e^-17 of its largest, so that what handles it may be slow.
constexpr double log_tail_start = 17;

constexpr int narrow_digits = 63;  // of T in the word of a narrow law; bit 0 is the sign
// From high to low, the first word of a wide law has:
constexpr int wide_digits = 28;        // of T, all that the table compares, also of a narrow law
constexpr int place_digits = 19;       // of V, after one bit for the sign
constexpr int acceptance_digits = 16;  // of U
constexpr int sign_shift = place_digits + acceptance_digits;
static_assert(wide_digits + 1 + sign_shift == 64);

// A slot of the table has the digits of T where a word has them, then the index (12 bits), and in the lowest bits what U must be below.
constexpr int slot_bits = 12;  // the digits of T that choose the slot
constexpr int index_bits = 12;
constexpr int index_shift = acceptance_digits;
constexpr std::uint64_t below_table_digits = std::uint64_t{1} << (64 - wide_digits);
static_assert(index_shift + index_bits <= 64 - wide_digits);

/// `value` as a point: both halves and their sum are exact.
Interval exactly(std::uint64_t value, mpfr_prec_t precision) {
  const Interval high{static_cast<double>(value >> 32), precision};
  const Interval low{static_cast<double>(value & 0xffffffff), precision};
  return high * Interval{0x1p32, precision} + low;
}

Interval exactly(Rational value, mpfr_prec_t precision) { return exactly(value.num, precision) / exactly(value.den, precision); }

/// floor(2^bits x) where the two ends of x agree on it. \pre 0 <= x <= 1.
std::optional<std::uint64_t> leading_digits(const Interval& x, unsigned bits) {
  mpfr_t scaled;
  mpfr_init2(scaled, x.precision());
  mpfr_mul_2ui(scaled, x.lower(), bits, MPFR_RNDD);
  const std::uint64_t low = mpfr_get_ui(scaled, MPFR_RNDD);
  mpfr_mul_2ui(scaled, x.upper(), bits, MPFR_RNDU);
  const std::uint64_t high = mpfr_get_ui(scaled, MPFR_RNDD);
  mpfr_clear(scaled);
  if (low != high) return std::nullopt;
  return low;
}

/// A real number in [0, 1) whose first binary digits are known.
class LazyReal {
 public:
  LazyReal(std::uint64_t digits, int count) : first_{digits}, count_{count} {}

  void extend(std::uint64_t word) { more_.push_back(word); }
  [[nodiscard]] bool is_extended() const { return !more_.empty(); }
  /// Its first 63 digits. \pre They are known, and not all from the start.
  [[nodiscard]] std::uint64_t first_63() const { return first_ << (63 - count_) | more_.front() >> (count_ + 1); }
  /// Enough for `low` and `high` to be exact.
  [[nodiscard]] mpfr_prec_t precision() const { return first_precision + 64 * static_cast<mpfr_prec_t>(more_.size()); }
  [[nodiscard]] Interval low(mpfr_prec_t precision) const { return end(0, precision); }
  [[nodiscard]] Interval high(mpfr_prec_t precision) const { return end(1, precision); }

 private:
  [[nodiscard]] Interval end(double last_place, mpfr_prec_t precision) const {
    const Interval word_size{0x1p64, precision};
    Interval digits = exactly(first_, precision);
    Interval units{std::ldexp(1.0, count_), precision};
    for (const auto word : more_) {
      digits = digits * word_size + exactly(word, precision);
      units = units * word_size;
    }
    return (digits + Interval{last_place, precision}) / units;
  }

  std::uint64_t first_;
  int count_;
  std::vector<std::uint64_t> more_;
};

bool surely_below(const Interval& a, const Interval& b) { return mpfr_lessequal_p(a.upper(), b.lower()) != 0; }

/// exp(-x) for 0 <= x <= 1/4, within 2^-47: the Taylor polynomial of degree 12.
double exp_of_minus(double x) {
  double sum = 1;
  for (int k = 12; k >= 1; --k) sum = 1 - x / k * sum;
  return sum;
}

std::int64_t clamp_to_saturation(Wide magnitude) {
  return static_cast<std::int64_t>(std::min<Wide>(magnitude, LatticeSampler::saturation));
}

void require_scale(const char* name, double value, int log2_limit) {
  if (value > 0 && value <= std::ldexp(1.0, log2_limit)) return;
  throw Error{ErrorCode::invalid_argument, fmt::format("{} is {}, must be greater than 0 and at most 2^{}", name, value, log2_limit)};
}

void require_scale(const char* name, Rational value) {
  const bool is_positive = value.num != 0 && value.den != 0;
  if (is_positive && static_cast<UnsignedWide>(value.num) <= static_cast<UnsignedWide>(value.den) << log2_largest_exponential) return;
  throw Error{ErrorCode::invalid_argument,
              fmt::format("{} is {}/{}, must be greater than 0 and at most 2^{}", name, value.num, value.den, log2_largest_exponential)};
}

}  // namespace

struct LatticeSampler::Law {
  /// `of_integers`: binomial and Skellam, known by `integers` alone.
  enum class Weight { gaussian, exponential, of_integers };
  enum class Points { rounded, discrete };

  Weight weight;
  Points points;
  bool two_sided;
  /// sigma^2 of a Gaussian weight, b of an exponential one.
  std::function<Interval(mpfr_prec_t)> parameter = {};
  std::optional<IntegerLaw> integers = {};

  [[nodiscard]] static Law of(const IntegerLaw& law) {
    return {.weight = Weight::of_integers, .points = Points::discrete, .two_sided = true, .integers = law};
  }

  [[nodiscard]] bool is_gaussian() const { return weight == Weight::gaussian; }
  [[nodiscard]] bool is_rounded() const { return points == Points::rounded; }
  /// No greater magnitude is sampled.
  [[nodiscard]] std::uint64_t largest() const { return integers ? integers->largest() : static_cast<std::uint64_t>(saturation); }
  /// The tail, where about e^-log_tail_start of the law is left, begins at so many scales.
  [[nodiscard]] double tail_start() const { return weight == Weight::exponential ? log_tail_start : std::sqrt(2 * log_tail_start); }
  /// sigma or b, nearly.
  [[nodiscard]] double approximate_scale() const {
    if (integers) return std::sqrt(integers->variance());
    const double value = parameter(first_precision).enclosure().upper;
    return is_gaussian() ? std::sqrt(value) : value;
  }
};

struct LatticeSampler::Tables {
  explicit Tables(Law&& of) : law{std::move(of)} {
    const StandardFloatingPoint environment;
    const double scale = law.approximate_scale();
    is_wide = scale > (law.is_gaussian() && law.is_rounded() ? narrow_limit_of_erfc : narrow_limit);
    if (is_wide) {
      log2_width = std::max(0, std::ilogb(scale) - log2_blocks_per_scale);
      // The nearest integer takes one digit more than the integer below.
      has_second_word = log2_width + 1 > place_digits;
      const double blocks_per_scale = std::ldexp(scale, -log2_width);
      tail = checked_cast<std::uint64_t>(blocks_per_scale * law.tail_start());
      if (law.integers) {
        set_heights();
      } else {
        step_in_blocks = std::ldexp(1.0, -log2_width);
        rate = rate_at(first_precision).enclosure().upper;
        set_tail_piece();
        set_acceptances();
      }
    } else if (law.integers) {
      tail = tail_of_integers();
    } else {
      tail = checked_cast<std::uint64_t>(scale * law.tail_start()) + 1;
    }
    set_thresholds();
    set_slots();
  }

  /// The exponent that a wide law's density loses over the first block: w^2 / (2 sigma^2) or w / b for blocks of width w.
  [[nodiscard]] Interval rate_at(mpfr_prec_t precision) const {
    const Interval width{std::ldexp(1.0, log2_width), precision};
    const Interval parameter = law.parameter(precision);
    return law.is_gaussian() ? width * width / (Interval{2, precision} * parameter) : width / parameter;
  }

  /// The exponent that the density loses from the start of block i to y blocks further.
  [[nodiscard]] Interval loss(std::uint64_t i, const Interval& y) const {
    const mpfr_prec_t precision = y.precision();
    const Interval rate_here = rate_at(precision);
    return law.is_gaussian() ? (exactly(2 * i, precision) + y) * y * rate_here : y * rate_here;
  }

  // ---- Thresholds ----

  /// S(1), ..., S(tail).
  [[nodiscard]] std::vector<Interval> survivals(mpfr_prec_t precision) const {
    if (is_wide) return survivals_of_weights(block_weights(precision), precision);
    if (sums_weights()) return survivals_of_weights(integer_weights(precision), precision);
    std::vector<Interval> result;
    result.reserve(tail);
    if (law.is_gaussian()) {
      for (std::uint64_t j = 1; j <= tail; ++j) result.push_back(survival_by_formula(j, precision));
      return result;
    }
    const Interval factor = exp(-(Interval{1, precision} / law.parameter(precision)));
    result.push_back(survival_by_formula(1, precision));
    while (result.size() < tail) result.push_back(result.back() * factor);
    return result;
  }

  /// The weights that were last summed: the decisions about one T share them.
  struct Weights {
    mpfr_prec_t precision = 0;
    std::vector<Interval> values = {};
  };

  /// S(j), for a wide law only up to the tail, and where there is no formula from sums over all weights.
  [[nodiscard]] Interval survival(std::uint64_t j, mpfr_prec_t precision, Weights& known) const {
    if (is_wide || sums_weights()) {
      if (known.precision != precision || known.values.size() <= j) {
        known = {precision, is_wide ? block_weights(precision) : weights_of_integers(precision, j)};
      }
      return survival_of_weights(known.values, j, precision);
    }
    return survival_by_formula(j, precision);
  }

  [[nodiscard]] Interval survival_by_formula(std::uint64_t j, mpfr_prec_t precision) const {
    const Interval parameter = law.parameter(precision);
    const Interval at = exactly(j, precision);
    if (law.is_gaussian()) {
      return erfc((at - Interval{0.5, precision}) / sqrt(Interval{2, precision} * parameter));
    }
    if (law.is_rounded()) return exp(-((at - Interval{0.5, precision}) / parameter));
    const Interval power = exp(-(at / parameter));
    if (!law.two_sided) return power;
    return Interval{2, precision} * power / (Interval{1, precision} + exp(-(Interval{1, precision} / parameter)));
  }

  [[nodiscard]] static std::vector<Interval> survivals_of_weights(const std::vector<Interval>& weights, mpfr_prec_t precision) {
    Interval sum{0, precision};
    std::vector<Interval> result;
    result.reserve(weights.size());
    for (std::size_t i = weights.size(); i-- > 1;) {
      sum = sum + weights[i];
      result.push_back(sum);
    }
    // A quotient of exact sums that is a number of few digits is exact, too, and so decides.
    const Interval all = sum + weights[0];
    std::reverse(result.begin(), result.end());
    for (auto& survival : result) survival = survival / all;
    return result;
  }

  [[nodiscard]] static Interval survival_of_weights(const std::vector<Interval>& weights, std::uint64_t j, mpfr_prec_t precision) {
    const auto sum = [&](std::size_t first, std::size_t last, const Interval& beyond) {
      Interval result = beyond;
      while (last-- > first) result = result + weights[last];
      return result;
    };
    const auto first = std::min<std::size_t>(j, weights.size());
    const Interval above = sum(first, weights.size(), Interval{0, precision});
    return above / sum(0, first, above);
  }

  /// exp(-rate i^2) or exp(-rate i) for i = 0, ..., count - 1.
  [[nodiscard]] std::vector<Interval> powers(const Interval& rate_here, std::uint64_t count) const {
    const mpfr_prec_t precision = rate_here.precision();
    Interval ratio = exp(-rate_here);
    const Interval ratio_of_ratios = law.is_gaussian() ? ratio * ratio : Interval{1, precision};
    std::vector<Interval> result{Interval{1, precision}};
    result.reserve(count);
    while (result.size() < count) {
      result.push_back(result.back() * ratio);
      if (law.is_gaussian()) ratio = ratio * ratio_of_ratios;
    }
    return result;
  }

  /// The envelope's weights of blocks 0, ..., tail, in units of a block's width.
  [[nodiscard]] std::vector<Interval> block_weights(mpfr_prec_t precision) const {
    std::vector<Interval> weights;
    for (const double height : heights) weights.emplace_back(height, precision);
    if (!law.integers) weights = powers(rate_at(precision), tail + 1);
    // Pieces of 2^log2_piece blocks: 1 + 1/2 + 1/4 + ... = 2.
    weights.back() = weights.back() * Interval{std::ldexp(2.0, log2_piece), precision};
    return weights;
  }

  /// Narrow laws whose S(j) have no formula.
  [[nodiscard]] bool sums_weights() const { return law.integers || (law.is_gaussian() && !law.is_rounded()); }

  /// Of magnitudes 0, 1, ..., at least up to `at_least`, halved at 0 for its one sign; the last one encloses the sum from there on. \pre narrow
  [[nodiscard]] std::vector<Interval> weights_of_integers(mpfr_prec_t precision, std::uint64_t at_least) const {
    return law.integers ? law.integers->weights(precision, at_least) : discrete_gaussian_weights(precision, at_least);
  }

  /// The first magnitude that is reached with less than e^-log_tail_start, or the largest there is.
  [[nodiscard]] std::uint64_t tail_of_integers() const {
    const auto reached = survivals_of_weights(weights_of_integers(first_precision, 0), first_precision);
    const auto rare = std::partition_point(reached.begin(), reached.end(),
                                           [](const Interval& s) { return s.enclosure().upper >= std::exp(-log_tail_start); });
    return std::min(static_cast<std::uint64_t>(rare - reached.begin()) + 1, law.largest());
  }

  /// Those of the magnitudes 0, ..., tail - 1 and of all from `tail` on.
  [[nodiscard]] std::vector<Interval> integer_weights(mpfr_prec_t precision) const {
    auto weights = weights_of_integers(precision, tail);
    for (std::size_t i = tail + 1; i < weights.size(); ++i) weights[tail] = weights[tail] + weights[i];
    weights.resize(tail + 1, Interval{0, precision});
    return weights;
  }

  [[nodiscard]] std::vector<Interval> discrete_gaussian_weights(mpfr_prec_t precision, std::uint64_t at_least) const {
    const Interval rate_here = Interval{0.5, precision} / law.parameter(precision);
    // Until the last weight is below 2^-precision: below, S is known to that many digits beyond its largest.
    const double scale = law.approximate_scale();
    const auto count = std::max(at_least + 2, checked_cast<std::uint64_t>(scale * std::sqrt(1.4 * static_cast<double>(precision))) + 2);
    auto weights = powers(rate_here, count);
    weights[0] = Interval{0.5, precision};
    // f(m) + f(m + 1) + ... <= f(m) / (1 - exp(-rate (2 m + 1))), since the ratios of neighbours decrease.
    const Interval one{1, precision};
    const Interval ratio = exp(-(rate_here * exactly(2 * (count - 1) + 1, precision)));
    weights.back() = hull(weights.back(), weights.back() / (one - ratio));
    return weights;
  }

  void set_thresholds() {
    for (mpfr_prec_t precision = first_precision; thresholds.size() != tail; precision *= 2) {
      thresholds.clear();
      for (const auto& survival : survivals(precision)) {
        const auto digits = leading_digits(survival, narrow_digits);
        if (!digits) break;
        thresholds.push_back(*digits);
      }
    }
  }

  // ---- What is accepted ----

  void set_tail_piece() {
    const auto halves = [&] {
      const Interval piece{std::ldexp(1.0, log2_piece), first_precision};
      return surely_below(exp(-loss(tail, piece)), Interval{0.5, first_precision});
    };
    while (!halves()) ++log2_piece;
  }

  void set_acceptances() {
    acceptances.reserve(tail);
    // exp(-loss(i, 1)), each from the one before: few of them need more digits than that leaves.
    const Interval rate_here = rate_at(first_precision);
    const Interval ratio = law.is_gaussian() ? exp(-(Interval{2, first_precision} * rate_here)) : Interval{1, first_precision};
    for (Interval next = exp(-rate_here); acceptances.size() < tail; next = next * ratio) {
      auto digits = leading_digits(next, 16);
      for (mpfr_prec_t precision = first_precision; !digits; precision *= 2) {
        digits = leading_digits(exp(-loss(acceptances.size(), Interval{1, precision})), 16);
      }
      acceptances.push_back(static_cast<std::uint16_t>(*digits));
    }
  }

  /// The envelope of a binomial or Skellam law and what is accepted under it, from doubles within their margin.
  void set_heights() {
    constexpr double margin = IntegerWeight::margin;
    weight.emplace(*law.integers);
    const auto at_block = [&](std::uint64_t i) { return weight->near_everywhere(i << log2_width); };
    const auto share_of = [](double part, double whole) {
      return checked_cast<std::uint16_t>(std::ldexp(part / whole, acceptance_digits));
    };
    for (std::uint64_t i = 0; i <= tail; ++i) {
      const double here = at_block(i);
      if (i > 0) acceptances.push_back(share_of(here - margin, heights.back()));
      heights.push_back(here + margin);
    }
    const double largest_half = (at_block(tail) - margin) / 2;
    while (!(at_block(tail + (std::uint64_t{1} << log2_piece)) + margin < largest_half)) ++log2_piece;
  }

  // ---- Slots ----

  /// The first digits of the one threshold in the slot, or of the slot where there is none; the index of a T above it; what U's first
  /// digits must be below, 0 where the table does not decide.
  static constexpr std::uint64_t pack(std::uint64_t digits, std::uint64_t index, std::uint64_t acceptance) {
    return digits << (64 - wide_digits) | index << index_shift | acceptance;
  }
  static constexpr std::uint64_t index_of(std::uint64_t slot) { return slot >> index_shift & ((1U << index_bits) - 1); }

  void set_slots() {
    slots.resize(std::size_t{1} << slot_bits);
    constexpr int below_slot = narrow_digits - slot_bits;
    // Slots from high T, that is from small indices; `index` is that of a T at the slot's end.
    std::size_t index = 0;
    for (std::size_t slot = slots.size(); slot-- > 0;) {
      const std::size_t before = index;
      while (index < thresholds.size() && thresholds[index] >> below_slot == slot) ++index;
      const std::uint64_t digits =
          index == before ? slot << (wide_digits - slot_bits) : thresholds[before] >> (narrow_digits - wide_digits);
      const bool decides = index - before <= 1 && (index < tail || (!is_wide && tail == law.largest()));
      slots[slot] = pack(digits, before, decides ? acceptance_of(before, index) : 0);
    }
  }

  /// What holds for both indices.
  [[nodiscard]] std::uint64_t acceptance_of(std::size_t first, std::size_t second) const {
    if (!is_wide) return 1;
    return std::min(acceptances[first], acceptances[second]);
  }

  [[nodiscard]] bool has_halved_zero() const { return law.two_sided && !law.is_rounded(); }

  // ---- One sample, decided from its words ----

  /// Whether T < S(j); draws a word exactly where S(j) lies strictly inside the interval that T is known to be in.
  [[nodiscard]] bool reaches(LazyReal& t, std::uint64_t j, Weights& known, const NextWord& next) const {
    for (mpfr_prec_t precision = t.precision();;) {
      const Interval threshold = survival(j, precision, known);
      const Interval low = t.low(precision);
      const Interval high = t.high(precision);
      // A threshold is positive, also where its enclosure underflows to zero.
      const bool is_from_zero = mpfr_zero_p(low.lower()) != 0;
      if (!is_from_zero && surely_below(threshold, low)) return false;
      if (surely_below(high, threshold)) return true;
      if ((is_from_zero || surely_below(low, threshold)) && surely_below(threshold, high)) {
        t.extend(next());
        precision = std::max(precision, t.precision());
      } else {
        precision *= 2;
      }
    }
  }

  /// The largest index that T reaches, at least `reached`, by doubling strides and bisection.
  [[nodiscard]] std::uint64_t search(LazyReal& t, std::uint64_t reached, const NextWord& next) const {
    const std::uint64_t limit = (is_wide ? tail : law.largest()) + 1;
    std::uint64_t low = reached;
    std::uint64_t high = limit;
    Weights known;
    for (std::uint64_t stride = 1; stride < limit - low; stride *= 2) {
      if (!reaches(t, low + stride, known, next)) {
        high = low + stride;
        break;
      }
      low += stride;
    }
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (reaches(t, middle, known, next) ? low : high) = middle;
    }
    return low;
  }

  /// The same with the help of the table.
  [[nodiscard]] std::uint64_t look_up(LazyReal& t, std::uint64_t digits, int count, const NextWord& next) const {
    const int shift = narrow_digits - count;
    // Between the indices that the slot starts and ends with.
    const std::uint64_t slot = digits >> (count - slot_bits);
    const std::uint64_t first = index_of(slots[slot]);
    const std::uint64_t last = slot == 0 ? tail : index_of(slots[slot - 1]);
    const auto undecided = std::partition_point(thresholds.begin() + static_cast<std::ptrdiff_t>(first),
                                                thresholds.begin() + static_cast<std::ptrdiff_t>(last),
                                                [&](std::uint64_t threshold) { return threshold >> shift > digits; });
    auto index = static_cast<std::uint64_t>(undecided - thresholds.begin());
    while (index < tail && thresholds[index] >> shift == digits && reaches_by_table(t, index + 1, count, next)) ++index;
    return index == tail && !is_wide ? search(t, tail, next) : index;
  }

  /// Whether T < S(j), whose first digits are those of T. \pre 1 <= j <= tail.
  [[nodiscard]] bool reaches_by_table(LazyReal& t, std::uint64_t j, int count, const NextWord& next) const {
    if (count < narrow_digits) {
      if (!t.is_extended()) t.extend(next());
      if (t.first_63() != thresholds[j - 1]) return t.first_63() < thresholds[j - 1];
    }
    Weights known;
    return reaches(t, j, known, next);
  }

  /// Whether U < 2^halvings exp(-loss) for the place y = start + 2^log2_scale V in blocks after block i. Draws a word for each of V (of a
  /// rounded law) and U as long as what is known of them does not decide.
  [[nodiscard]] bool accepts(std::uint64_t i, std::uint64_t start, int log2_scale, LazyReal& v, LazyReal& u, std::uint64_t halvings,
                             const NextWord& next) const {
    for (mpfr_prec_t precision = std::max(u.precision(), v.precision()) + 64;;) {
      const auto ratio = [&](const Interval& place) {
        const Interval y = exactly(start, precision) + Interval{std::ldexp(1.0, log2_scale), precision} * place;
        return exp(exactly(halvings, precision) * log(Interval{2, precision}) - loss(i, y));
      };
      const Interval largest = ratio(v.low(precision));
      const Interval least = law.is_rounded() ? ratio(v.high(precision)) : largest;
      const Interval low = u.low(precision);
      const Interval high = u.high(precision);
      if (surely_below(high, least)) return true;
      if (surely_below(largest, low)) return false;
      if (surely_below(least, high) && surely_below(low, largest)) {
        if (law.is_rounded()) v.extend(next());
        u.extend(next());
        precision = std::max({precision, u.precision() + 64, v.precision() + 64});
      } else {
        precision *= 2;
      }
    }
  }

  /// The same for a binomial or Skellam law: whether U < 2^halvings f(k) / height. The number of U's digits sets the precision. More precision is no
  /// help where a ratio has so few digits that it is equal to an end of U's interval; more digits of U are.
  [[nodiscard]] bool accepts_integer(std::uint64_t k, double height, LazyReal& u, std::uint64_t halvings, const NextWord& next) const {
    for (;; u.extend(next())) {
      const mpfr_prec_t precision = u.precision() + 64 + static_cast<mpfr_prec_t>(halvings);
      const Interval factor{std::ldexp(1.0, weight->log2_scale()), precision};
      const Interval doubled = exp(exactly(halvings, precision) * log(Interval{2, precision}));
      const Interval ratio = factor * doubled * law.integers->probability(k, precision) / Interval{height, precision};
      if (surely_below(u.high(precision), ratio)) return true;
      if (surely_below(ratio, u.low(precision))) return false;
    }
  }

  /// |sample| at the place that `v` names in a piece of 2^log2_pieces blocks: the nearest integer, or the one below.
  [[nodiscard]] std::uint64_t offset(std::uint64_t v, int log2_pieces) const {
    return ((v >> (63 - log2_width - log2_pieces)) + (law.is_rounded() ? 1 : 0)) >> 1;
  }

  /// The digits of V that a sample's words have, from the highest bit on, and how many.
  [[nodiscard]] std::uint64_t place_of(const std::uint64_t* words) const {
    const std::uint64_t first = words[0] >> acceptance_digits << (64 - place_digits);
    return has_second_word ? first | words[1] >> place_digits : first;
  }
  [[nodiscard]] int known_place_digits() const { return has_second_word ? 64 : place_digits; }

  /// V as acceptance knows it: of a discrete law, the digits of the integer below.
  [[nodiscard]] LazyReal place(std::uint64_t v, int known, int log2_pieces) const {
    const int digits = law.is_rounded() ? known : log2_width + log2_pieces;
    return {digits == 0 ? 0 : v >> (64 - digits), digits};
  }

  [[nodiscard]] static std::uint64_t u_digits_of(std::uint64_t word) { return word & ((1U << acceptance_digits) - 1); }

  template <bool by_table>
  [[nodiscard]] std::int64_t settle(const std::uint64_t* words, const NextWord& next) const {
    const int count = is_wide ? wide_digits : narrow_digits;
    const int sign_at = is_wide ? sign_shift : 0;
    std::array<std::uint64_t, 2> fresh;
    for (;;) {
      const bool negative = law.two_sided && (words[0] >> sign_at & 1) != 0;
      const auto with_sign = [negative](std::int64_t magnitude) { return negative ? -magnitude : magnitude; };
      const std::uint64_t digits = words[0] >> (64 - count);
      LazyReal t{digits, count};
      const std::uint64_t index = by_table ? look_up(t, digits, count, next) : search(t, 0, next);
      if (!is_wide) return with_sign(static_cast<std::int64_t>(std::min<std::uint64_t>(index, saturation)));

      const auto magnitude = index < tail ? settle_in_block<by_table>(index, words, negative, next) : settle_in_tail(words, next);
      if (magnitude) return with_sign(*magnitude);
      fresh[0] = next();
      if (has_second_word) fresh[1] = next();
      words = fresh.data();
    }
  }

  template <bool by_table>
  [[nodiscard]] std::optional<std::int64_t> settle_in_block(std::uint64_t i, const std::uint64_t* words, bool negative,
                                                            const NextWord& next) const {
    const std::uint64_t v_digits = place_of(words);
    const std::uint64_t place_in_block = offset(v_digits, 0);
    const auto magnitude = static_cast<std::int64_t>((i << log2_width) + place_in_block);
    if (magnitude == 0 && negative && has_halved_zero()) return std::nullopt;
    const std::uint64_t u_digits = u_digits_of(words[0]);
    if (u_digits < acceptances[i]) return magnitude;
    if (law.integers) return settle_integer<by_table>(magnitude, heights[i], u_digits, next);

    LazyReal v = place(v_digits, known_place_digits(), 0);
    LazyReal u{u_digits, acceptance_digits};
    if constexpr (by_table) {
      constexpr double margin = 0x1p-40;  // the errors of both sides stay below 2^-46 together
      constexpr double u_unit = 1.0 / (1U << acceptance_digits);
      const auto edge = static_cast<double>(i);
      const auto lost = [&](double y) { return law.is_gaussian() ? (2 * edge + y) * y * rate : y * rate; };
      // The ratio is between those at v and at v + v_unit: within v_unit times the steepest slope of the loss.
      const double v_unit = law.is_rounded() ? (has_second_word ? 0x1p-64 : 1.0 / (1U << place_digits)) : 0;
      const double spread = v_unit * (law.is_gaussian() ? 2 * edge + 2 : 1) * rate;
      const double v_low =
          law.is_rounded() ? static_cast<double>(v_digits) * 0x1p-64 : static_cast<double>(place_in_block) * step_in_blocks;
      const double u_low = static_cast<double>(u_digits) * u_unit;
      const double u_high = u_low + u_unit;
      const double x = lost(v_low);
      // 1 - x <= exp(-x) <= 1 - x + x^2 / 2 mostly tells.
      if (u_high < 1 - x - spread - margin) return magnitude;
      if (u_low > 1 - x + x * x / 2 + margin) return std::nullopt;
      const double ratio = exp_of_minus(x);
      if (u_high < ratio - spread - margin) return magnitude;
      if (u_low > ratio + margin) return std::nullopt;
      if (u_low < ratio - margin && u_high > ratio + margin) {  // in doubt for every ratio that V leaves open
        double v_known = v_low;
        if (law.is_rounded()) {
          const std::uint64_t more = next();
          v.extend(more);
          v_known += static_cast<double>(more) * 0x1p-64 * v_unit;
        }
        const std::uint64_t more = next();
        u.extend(more);
        const double u_known = u_low + static_cast<double>(more) * 0x1p-64 * u_unit;
        const double ratio_known = exp_of_minus(lost(v_known));
        if (u_known < ratio_known - margin) return magnitude;
        if (u_known > ratio_known + margin) return std::nullopt;
      }
    }
    if (accepts(i, 0, 0, v, u, 0, next)) return magnitude;
    return std::nullopt;
  }

  template <bool by_table>
  [[nodiscard]] std::optional<std::int64_t> settle_integer(std::int64_t magnitude, double height, std::uint64_t u_digits,
                                                           const NextWord& next) const {
    LazyReal u{u_digits, acceptance_digits};
    const auto k = static_cast<std::uint64_t>(magnitude);
    if constexpr (by_table) {
      constexpr double u_unit = 1.0 / (1U << acceptance_digits);
      const double low = weight->near(k) - IntegerWeight::margin;
      const double high = low + 2 * IntegerWeight::margin;
      const double u_low = static_cast<double>(u_digits) * u_unit;
      if ((u_low + u_unit) * height < low) return magnitude;
      if (u_low * height > high) return std::nullopt;
      if (u_low * height < low && (u_low + u_unit) * height > high) {  // in doubt
        const std::uint64_t more = next();
        u.extend(more);
        const double u_known = u_low + static_cast<double>(more) * 0x1p-64 * u_unit;
        if (u_known * height < low) return magnitude;
        if (u_known * height > high) return std::nullopt;
      }
    }
    if (accepts_integer(k, height, u, 0, next)) return magnitude;
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::int64_t> settle_in_tail(const std::uint64_t* words, const NextWord& next) const {
    // A place in a piece may take more digits than one word has.
    std::uint64_t v_digits = place_of(words);
    if (!has_second_word) v_digits |= next() >> place_digits;
    // The piece: as many as there are ones before the first zero.
    std::uint64_t piece = 0;
    std::uint64_t ones = next();
    for (; ones == ~std::uint64_t{0}; ones = next()) piece += 64;
    piece += static_cast<std::uint64_t>(std::countl_one(ones));
    const std::uint64_t start = piece << log2_piece;
    const Wide magnitude = (static_cast<Wide>(tail + start) << log2_width) + static_cast<Wide>(offset(v_digits, log2_piece));
    LazyReal v = place(v_digits, 64, log2_piece);
    LazyReal u{u_digits_of(words[0]), acceptance_digits};
    if (law.integers) {
      const std::int64_t clamped = clamp_to_saturation(magnitude);
      if (accepts_integer(static_cast<std::uint64_t>(clamped), heights[tail], u, piece, next)) return clamped;
      return std::nullopt;
    }
    if (accepts(tail, start, log2_piece, v, u, piece, next)) return clamp_to_saturation(magnitude);
    return std::nullopt;
  }

  Law law;
  bool is_wide = false;
  bool has_second_word = false;  ///< to each sample of a wide law
  std::uint64_t tail = 0;        ///< the index of the tail, and the number of thresholds
  int log2_width = 0;            ///< of a block
  int log2_piece = 0;            ///< blocks in a piece of the tail
  double rate = 0;
  double step_in_blocks = 0;
  std::optional<IntegerWeight> weight;  ///< of a wide binomial or Skellam law
  std::vector<double> heights;          ///< of its envelope on blocks 0, ..., tail
  std::vector<std::uint64_t> thresholds;
  std::vector<std::uint16_t> acceptances;
  std::vector<std::uint64_t> slots;
};

LatticeSampler::LatticeSampler(Law law) : tables_{std::make_shared<const Tables>(std::move(law))} {
  words_per_sample_ = tables_->has_second_word ? 2 : 1;
}

LatticeSampler LatticeSampler::rounded_gaussian(double sigma) {
  require_scale("sigma in grid steps", sigma, log2_largest_gaussian);
  return LatticeSampler{
      {.weight = Law::Weight::gaussian, .points = Law::Points::rounded, .two_sided = true, .parameter = [=](auto precision) {
         const Interval exact{sigma, precision};
         return exact * exact;
       }}};
}

LatticeSampler LatticeSampler::rounded_laplace(double scale) {
  require_scale("scale in grid steps", scale, log2_largest_exponential);
  return LatticeSampler{
      {.weight = Law::Weight::exponential, .points = Law::Points::rounded, .two_sided = true, .parameter = [=](auto precision) {
         return Interval{scale, precision};
       }}};
}

LatticeSampler LatticeSampler::discrete_gaussian(Rational variance) {
  if (variance.num == 0 || variance.den == 0) {
    throw Error{ErrorCode::invalid_argument, fmt::format("variance is {}/{}, must be greater than 0", variance.num, variance.den)};
  }
  return LatticeSampler{
      {.weight = Law::Weight::gaussian, .points = Law::Points::discrete, .two_sided = true, .parameter = [=](auto precision) {
         return exactly(variance, precision);
       }}};
}

LatticeSampler LatticeSampler::discrete_laplace(Rational scale) {
  require_scale("scale", scale);
  return LatticeSampler{
      {.weight = Law::Weight::exponential, .points = Law::Points::discrete, .two_sided = true, .parameter = [=](auto precision) {
         return exactly(scale, precision);
       }}};
}

LatticeSampler LatticeSampler::geometric(Rational scale) {
  require_scale("scale", scale);
  return LatticeSampler{
      {.weight = Law::Weight::exponential, .points = Law::Points::discrete, .two_sided = false, .parameter = [=](auto precision) {
         return exactly(scale, precision);
       }}};
}

LatticeSampler LatticeSampler::binomial(std::uint64_t flips) {
  if (flips < 2 || flips % 2 != 0 || flips > std::uint64_t{1} << log2_most_flips) {
    throw Error{ErrorCode::invalid_argument, fmt::format("flips is {}, must be even, from 2 to 2^{}", flips, log2_most_flips)};
  }
  return LatticeSampler{Law::of(IntegerLaw::binomial(flips))};
}

LatticeSampler LatticeSampler::skellam(double mean) {
  const StandardFloatingPoint environment;  // in which twice a subnormal mean is exact
  require_scale("mean", mean, log2_largest_mean);
  return LatticeSampler{Law::of(IntegerLaw::skellam(mean))};
}

bool LatticeSampler::is_wide() const noexcept { return tables_->is_wide; }
int LatticeSampler::log2_block_width() const noexcept { return tables_->log2_width; }
int LatticeSampler::log2_tail_piece() const noexcept { return tables_->log2_piece; }
std::span<const std::uint64_t> LatticeSampler::thresholds() const noexcept { return tables_->thresholds; }
std::span<const std::uint16_t> LatticeSampler::acceptances() const noexcept { return tables_->acceptances; }

std::span<const double> LatticeSampler::heights() const noexcept { return tables_->heights; }

// The loops below have no branch that depends on a sample. They write the places of undecided samples to `undecided` and return their
// number.

template <bool has_second_word>
std::size_t LatticeSampler::decode_wide(const Tables& tables, const std::uint64_t* words, std::span<std::int64_t> samples,
                                        std::uint16_t* undecided) {
  const std::uint64_t* const slots = tables.slots.data();
  const std::uint64_t sign_bit = tables.law.two_sided ? 1 : 0;
  const int width = tables.log2_width;
  // Half a step, in the digits of a word's end or of V.
  const bool is_rounded = tables.law.is_rounded();
  const std::uint64_t half_step = is_rounded ? std::uint64_t{1} << (has_second_word ? 0 : sign_shift - 1 - width) : 0;
  // Magnitude 0 of a discrete law has one sign.
  const std::uint64_t least = tables.has_halved_zero() ? 1 : 0;
  std::int64_t* const out = samples.data();
  const std::size_t size = samples.size();
  std::size_t count = 0;
  for (std::size_t k = 0; k < size; ++k) {
    const std::uint64_t word = words[has_second_word ? 2 * k : k];
    const std::uint64_t slot = slots[word >> (64 - slot_bits)];
    // Both begin with digits of T: they decide unless these are the same.
    const std::uint64_t index = Tables::index_of(slot) + (word < slot ? 1 : 0);
    std::uint64_t magnitude = 0;
    if constexpr (has_second_word) {
      const std::uint64_t place = word >> acceptance_digits << (64 - place_digits) | words[2 * k + 1] >> place_digits;
      magnitude = (index << width) + (((place >> (63 - width)) + half_step) >> 1);
    } else {
      // The block and the digits of V as one number; what is below them falls away.
      constexpr std::uint64_t below_sign = (std::uint64_t{1} << sign_shift) - 1;
      magnitude = ((index << sign_shift) + (word & below_sign) + half_step) >> (sign_shift - width);
    }
    const std::uint64_t sign = -(word >> sign_shift & sign_bit);
    out[k] = static_cast<std::int64_t>((magnitude ^ sign) - sign);
    const bool refused = static_cast<std::uint16_t>(word) >= static_cast<std::uint16_t>(slot);
    const bool equal = (word ^ slot) < below_table_digits;
    undecided[count] = static_cast<std::uint16_t>(k);
    count += (refused ? 1U : 0U) | (equal ? 1U : 0U) | (magnitude < least ? 1U : 0U);
  }
  return count;
}

std::size_t LatticeSampler::decode_narrow(const Tables& tables, const std::uint64_t* words, std::span<std::int64_t> samples,
                                          std::uint16_t* undecided) {
  const std::uint64_t* const slots = tables.slots.data();
  const std::uint64_t sign_bit = tables.law.two_sided ? 1 : 0;
  std::int64_t* const out = samples.data();
  std::size_t count = 0;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    const std::uint64_t word = words[k];
    const std::uint64_t slot = slots[word >> (64 - slot_bits)];
    const std::uint64_t magnitude = Tables::index_of(slot) + (word < slot ? 1 : 0);
    const std::uint64_t sign = -(word & sign_bit);
    out[k] = static_cast<std::int64_t>((magnitude ^ sign) - sign);
    const bool equal = (word ^ slot) < below_table_digits;
    undecided[count] = static_cast<std::uint16_t>(k);
    count += (static_cast<std::uint16_t>(slot) == 0 ? 1U : 0U) | (equal ? 1U : 0U);
  }
  return count;
}

void LatticeSampler::draw_block(std::span<std::int64_t> samples, BitsRef bits) const {
  std::array<std::uint64_t, 2 * block> words;
  const auto drawn = std::span{words}.first(samples.size() * words_per_sample());
  draw_words(bits, drawn);
  decode(drawn.data(), samples, words_of(bits));
}

void LatticeSampler::fill(std::span<std::int64_t> samples, BitsRef bits) const {
  for (std::size_t first = 0; first < samples.size(); first += block) {
    draw_block(samples.subspan(first, std::min(block, samples.size() - first)), bits);
  }
}

std::int64_t LatticeSampler::by_definition(BitsRef bits) const {
  std::array<std::uint64_t, 2> words;
  draw_words(bits, std::span{words}.first(words_per_sample()));
  return decode_by_definition(words.data(), words_of(bits));
}

void LatticeSampler::decode(const std::uint64_t* words, std::span<std::int64_t> samples, const NextWord& next) const {
  const Tables& tables = *tables_;
  std::array<std::uint16_t, block> undecided;
  samples = samples.first(std::min(samples.size(), block));
  const auto loop = !tables.is_wide ? decode_narrow : tables.has_second_word ? decode_wide<true> : decode_wide<false>;
  const std::size_t count = loop(tables, words, samples, undecided.data());
  if (count == 0) return;
  const StandardFloatingPoint environment;
  for (std::size_t i = 0; i < count; ++i) samples[undecided[i]] = tables.settle<true>(words + words_per_sample_ * undecided[i], next);
}

std::int64_t LatticeSampler::decode_by_definition(const std::uint64_t* words, const NextWord& next) const {
  const StandardFloatingPoint environment;
  return tables_->settle<false>(words, next);
}

// Proved so far.
}  // namespace surety::mechanisms
