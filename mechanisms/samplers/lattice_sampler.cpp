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
#include <surety/mechanisms/samplers/lazy_digits.h>

namespace surety::mechanisms {
namespace {

__extension__ using Wide = __int128;

// Proved: docs/proofs/samplers.md#integers
constexpr int log2_most_flips = 52;
constexpr int log2_largest_mean = 50;

/// Largest scale whose every integer has its own threshold.
constexpr double narrow_limit = 128;
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

std::int64_t clamp_to_saturation(Wide magnitude) {
  return static_cast<std::int64_t>(std::min<Wide>(magnitude, LatticeSampler::saturation));
}

}  // namespace

struct LatticeSampler::Tables {
  explicit Tables(const IntegerLaw& of) : law{of} {
    const StandardFloatingPoint environment;
    const double scale = std::sqrt(law.variance());
    is_wide = scale > narrow_limit;
    if (is_wide) {
      log2_width = std::max(0, std::ilogb(scale) - log2_blocks_per_scale);
      has_second_word = log2_width + 1 > place_digits;
      tail = checked_cast<std::uint64_t>(std::ldexp(scale, -log2_width) * std::sqrt(2 * log_tail_start));
      set_heights();
    } else {
      tail = tail_of_integers();
    }
    set_thresholds();
    set_slots();
  }

  // ---- Thresholds ----

  /// S(1), ..., S(tail).
  [[nodiscard]] std::vector<Interval> survivals(mpfr_prec_t precision) const {
    return survivals_of_weights(is_wide ? block_weights(precision) : integer_weights(precision), precision);
  }

  /// The weights that were last summed: the decisions about one T share them.
  struct Weights {
    mpfr_prec_t precision = 0;
    std::vector<Interval> values = {};
  };

  /// S(j), for a wide law only up to the tail.
  [[nodiscard]] Interval survival(std::uint64_t j, mpfr_prec_t precision, Weights& known) const {
    if (known.precision != precision || known.values.size() <= j) {
      known = {precision, is_wide ? block_weights(precision) : law.weights(precision, j)};
    }
    return survival_of_weights(known.values, j, precision);
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

  /// The envelope's weights of blocks 0, ..., tail, in units of a block's width.
  [[nodiscard]] std::vector<Interval> block_weights(mpfr_prec_t precision) const {
    std::vector<Interval> weights;
    for (const double height : heights) weights.emplace_back(height, precision);
    // Pieces of 2^log2_piece blocks: 1 + 1/2 + 1/4 + ... = 2.
    weights.back() = weights.back() * Interval{std::ldexp(2.0, log2_piece), precision};
    return weights;
  }

  /// The first magnitude that is reached with less than e^-log_tail_start, or the largest there is.
  [[nodiscard]] std::uint64_t tail_of_integers() const {
    const auto reached = survivals_of_weights(law.weights(first_precision, 0), first_precision);
    const auto rare = std::partition_point(reached.begin(), reached.end(),
                                           [](const Interval& s) { return s.enclosure().upper >= std::exp(-log_tail_start); });
    return std::min(static_cast<std::uint64_t>(rare - reached.begin()) + 1, law.largest());
  }

  /// Those of the magnitudes 0, ..., tail - 1 and of all from `tail` on.
  [[nodiscard]] std::vector<Interval> integer_weights(mpfr_prec_t precision) const {
    auto weights = law.weights(precision, tail);
    for (std::size_t i = tail + 1; i < weights.size(); ++i) weights[tail] = weights[tail] + weights[i];
    weights.resize(tail + 1, Interval{0, precision});
    return weights;
  }

  void set_thresholds() {
    for (mpfr_prec_t precision = first_precision; thresholds.size() != tail; precision *= 2) {
      thresholds.clear();
      for (const auto& survival : survivals(precision)) {
        const auto digits = leading_digits(survival, narrow_digits);
        if (!digits) break;
        thresholds.push_back(static_cast<std::uint64_t>(*digits));
      }
    }
  }

  // ---- What is accepted ----

  /// The envelope of a binomial or Skellam law and what is accepted under it, from doubles within their margin.
  void set_heights() {
    constexpr double margin = IntegerWeight::margin;
    weight.emplace(law);
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

  // ---- One sample, decided from its words ----

  /// Whether T < S(j).
  [[nodiscard]] bool reaches(LazyReal& t, std::uint64_t j, Weights& known, const NextWord& next) const {
    return is_surely_below(
        t, [&](mpfr_prec_t precision) { return survival(j, precision, known); }, next);
  }

  /// The largest index that T reaches, at least `reached`.
  [[nodiscard]] std::uint64_t search(LazyReal& t, std::uint64_t reached, const NextWord& next) const {
    Weights known;
    return last_that_holds(reached, (is_wide ? tail : law.largest()) + 1, [&](std::uint64_t j) { return reaches(t, j, known, next); });
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

  /// Whether U < 2^halvings f(k) / height. The number of U's digits sets the precision. More precision is no
  /// help where a ratio has so few digits that it is equal to an end of U's interval; more digits of U are.
  [[nodiscard]] bool accepts_integer(std::uint64_t k, double height, LazyReal& u, std::uint64_t halvings, const NextWord& next) const {
    for (;; u.extend(next())) {
      const mpfr_prec_t precision = u.precision() + 64 + static_cast<mpfr_prec_t>(halvings);
      const Interval factor{std::ldexp(1.0, weight->log2_scale()), precision};
      const Interval doubled = exp(exact_interval(halvings, precision) * log(Interval{2, precision}));
      const Interval ratio = factor * doubled * law.probability(k, precision) / Interval{height, precision};
      if (surely_below(u.high(precision), ratio)) return true;
      if (surely_below(ratio, u.low(precision))) return false;
    }
  }

  /// The integer below the place that `v` names in a piece of 2^log2_pieces blocks.
  [[nodiscard]] std::uint64_t offset(std::uint64_t v, int log2_pieces) const { return v >> (63 - log2_width - log2_pieces) >> 1; }

  /// The digits of V that a sample's words have, from the highest bit on, and how many.
  [[nodiscard]] std::uint64_t place_of(const std::uint64_t* words) const {
    const std::uint64_t first = words[0] >> acceptance_digits << (64 - place_digits);
    return has_second_word ? first | words[1] >> place_digits : first;
  }
  [[nodiscard]] static std::uint64_t u_digits_of(std::uint64_t word) { return word & ((1U << acceptance_digits) - 1); }

  template <bool by_table>
  [[nodiscard]] std::int64_t settle(const std::uint64_t* words, const NextWord& next) const {
    const int count = is_wide ? wide_digits : narrow_digits;
    const int sign_at = is_wide ? sign_shift : 0;
    std::array<std::uint64_t, 2> fresh;
    for (;;) {
      const bool negative = (words[0] >> sign_at & 1) != 0;
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
    if (magnitude == 0 && negative) return std::nullopt;
    const std::uint64_t u_digits = u_digits_of(words[0]);
    if (u_digits < acceptances[i]) return magnitude;
    return settle_integer<by_table>(magnitude, heights[i], u_digits, next);
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
    LazyReal u{u_digits_of(words[0]), acceptance_digits};
    const std::int64_t clamped = clamp_to_saturation(magnitude);
    if (accepts_integer(static_cast<std::uint64_t>(clamped), heights[tail], u, piece, next)) return clamped;
    return std::nullopt;
  }

  IntegerLaw law;
  bool is_wide = false;
  bool has_second_word = false;         ///< to each sample of a wide law
  std::uint64_t tail = 0;               ///< the index of the tail, and the number of thresholds
  int log2_width = 0;                   ///< of a block
  int log2_piece = 0;                   ///< blocks in a piece of the tail
  std::optional<IntegerWeight> weight;  ///< of a wide binomial or Skellam law
  std::vector<double> heights;          ///< of its envelope on blocks 0, ..., tail
  std::vector<std::uint64_t> thresholds;
  std::vector<std::uint16_t> acceptances;
  std::vector<std::uint64_t> slots;
};

LatticeSampler::LatticeSampler(const IntegerLaw& law) : tables_{std::make_shared<const Tables>(law)} {
  words_per_sample_ = tables_->has_second_word ? 2 : 1;
}

LatticeSampler LatticeSampler::binomial(std::uint64_t flips) {
  if (flips < 2 || flips % 2 != 0 || flips > std::uint64_t{1} << log2_most_flips) {
    throw Error{ErrorCode::invalid_argument, fmt::format("flips is {}, must be even, from 2 to 2^{}", flips, log2_most_flips)};
  }
  return LatticeSampler{IntegerLaw::binomial(flips)};
}

LatticeSampler LatticeSampler::skellam(double mean) {
  const StandardFloatingPoint environment;  // in which twice a subnormal mean is exact
  if (!(mean > 0 && mean <= std::ldexp(1.0, log2_largest_mean))) {
    throw Error{ErrorCode::invalid_argument, fmt::format("mean is {}, must be greater than 0 and at most 2^{}", mean, log2_largest_mean)};
  }
  return LatticeSampler{IntegerLaw::skellam(mean)};
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
  const int width = tables.log2_width;
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
      magnitude = (index << width) + (place >> (63 - width) >> 1);
    } else {
      // The block and the digits of V as one number; what is below them falls away.
      constexpr std::uint64_t below_sign = (std::uint64_t{1} << sign_shift) - 1;
      magnitude = ((index << sign_shift) + (word & below_sign)) >> (sign_shift - width);
    }
    const std::uint64_t sign = -(word >> sign_shift & 1);
    out[k] = static_cast<std::int64_t>((magnitude ^ sign) - sign);
    const bool refused = static_cast<std::uint16_t>(word) >= static_cast<std::uint16_t>(slot);
    const bool equal = (word ^ slot) < below_table_digits;
    undecided[count] = static_cast<std::uint16_t>(k);
    count += (refused ? 1U : 0U) | (equal ? 1U : 0U) | (magnitude == 0 ? 1U : 0U);
  }
  return count;
}

std::size_t LatticeSampler::decode_narrow(const Tables& tables, const std::uint64_t* words, std::span<std::int64_t> samples,
                                          std::uint16_t* undecided) {
  const std::uint64_t* const slots = tables.slots.data();
  std::int64_t* const out = samples.data();
  std::size_t count = 0;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    const std::uint64_t word = words[k];
    const std::uint64_t slot = slots[word >> (64 - slot_bits)];
    const std::uint64_t magnitude = Tables::index_of(slot) + (word < slot ? 1 : 0);
    const std::uint64_t sign = -(word & 1);
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
