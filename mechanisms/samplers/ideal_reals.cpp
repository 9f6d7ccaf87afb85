#include <surety/mechanisms/samplers/ideal_reals.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <surety/base/numbers/floating_point.h>
#include <surety/mechanisms/bits/lazy_real.h>
#include <surety/mechanisms/samplers/lazy_digits.h>

namespace surety::mechanisms {
namespace {

constexpr int cells = IdealReals::log2_cells;
/// Of U and the exponential function of losses, in units of 2^-120: 2^-78.
constexpr UnsignedWide block_margin = UnsignedWide{1} << 42;

const IsochronousSampler& sampler_of(IdealShape shape) {
  // Never destroyed: a thread may draw while the process ends.
  static const auto& exponential = *new IsochronousSampler{IsochronousSampler::geometric({std::uint64_t{1} << cells, 1})};
  static const auto& half_normal = *new IsochronousSampler{IsochronousSampler::half_gaussian(std::uint64_t{1} << cells)};
  return shape == IdealShape::exponential ? exponential : half_normal;
}

/// A geometric variable, also where it is beyond what its sampler returns: it has no memory.
UnsignedWide unlimited_geometric(const IsochronousSampler& sampler, BitsRef bits) {
  UnsignedWide sum = 0;
  for (;;) {
    const auto part = static_cast<std::uint64_t>(sampler(bits));
    sum += part;
    if (part != static_cast<std::uint64_t>(IsochronousSampler::saturation)) return sum;
  }
}

}  // namespace

// Proved: docs/proofs/vector-noise.md#ideal-reals
UnsignedWide IdealReals::beyond(IdealShape shape, BitsRef bits) {
  constexpr auto least = static_cast<std::uint64_t>(IsochronousSampler::saturation);
  if (shape == IdealShape::exponential) return UnsignedWide{least} + unlimited_geometric(sampler_of(shape), bits);
  const IsochronousSampler steps = IsochronousSampler::geometric({std::uint64_t{1} << (2 * cells), least});
  for (;;) {
    const UnsignedWide j = unlimited_geometric(steps, bits);
    const auto half_square = [j](mpfr_prec_t precision) {
      const Interval exact = exact_interval(j, precision);
      return exact * exact * Interval{std::ldexp(1.0, -2 * cells - 1), precision};
    };
    const Exponent exponent{.bounds = {0, std::numeric_limits<double>::infinity()}, .enclose = half_square};
    if (happens_with_exp_minus(exponent, words_of(bits))) return UnsignedWide{least} + j;
  }
}

IdealBlock::Decision IdealBlock::decide(std::span<const IdealReal> reals, const std::array<std::uint64_t, 2>& u) const {
  std::uint64_t all_k = 0;
  UnsignedWide loss = 0;
  for (const IdealReal& real : reals) {
    all_k |= real.k;
    if (shape_ == IdealShape::exponential) {
      loss += real.digits[0];
    } else {
      // (2 k F + F^2) / 2 in units of 2^-65.
      loss += UnsignedWide{real.k} * real.digits[0] * 2 + (UnsignedWide{real.digits[0]} * real.digits[0] >> 64);
    }
  }
  // In units of 2^-(64 + cells) or 2^-(65 + 2 cells).
  const int digits = shape_ == IdealShape::exponential ? 64 + log2_cells_ : 65 + 2 * log2_cells_;
  const FixedPoint exponent{digits > FixedPoint::digits ? loss >> (digits - FixedPoint::digits) : loss << (FixedPoint::digits - digits)};
  const FixedPoint probability = fixed_point::exp_of_minus(exponent);
  const UnsignedWide known = (UnsignedWide{u[0]} << 64 | u[1]) >> (128 - FixedPoint::digits);
  const UnsignedWide difference = probability.value - known;
  const bool is_near = difference + block_margin <= 2 * block_margin;
  const bool is_large = all_k >> (log2_cells_ + 7) != 0;
  return {.is_kept = known < probability.value, .is_in_doubt = (is_near | is_large) != 0};
}

void IdealReals::draw(IdealShape shape, std::size_t count, BitsRef bits, TrialPath path) {
  const StandardFloatingPoint environment;
  for (std::size_t drawn = 0; drawn < count; drawn += std::min(block, count - drawn)) {
    draw_block(shape, std::min(block, count - drawn), bits, path);
  }
}

void IdealReals::draw_block(IdealShape shape, std::size_t count, BitsRef bits, TrialPath path) {
  const std::size_t first = reals_.size();
  reals_.resize(first + count);
  const auto drawn = std::span{reals_}.subspan(first);
  std::array<std::uint64_t, 3 * block + 2> words;
  if (shape == IdealShape::uniform) {
    const auto used = std::span{words}.first(3 * count);
    draw_words(bits, used);
    for (std::size_t i = 0; i < count; ++i) drawn[i] = {used[i] >> (64 - cells), {used[count + 2 * i], used[count + 2 * i + 1]}};
    return;
  }
  const IsochronousSampler& sampler = sampler_of(shape);
  const IdealBlock rule{shape, cells};
  std::array<std::int64_t, block> integers;
  for (;;) {
    sampler.fill(std::span{integers}.first(count), bits, path);
    const auto used = std::span{words}.first(2 * count + 2);
    draw_words(bits, used);
    for (std::size_t i = 0; i < count; ++i) drawn[i] = {static_cast<std::uint64_t>(integers[i]), {used[2 * i], used[2 * i + 1]}};
    const std::array<std::uint64_t, 2> u{used[2 * count], used[2 * count + 1]};
    const auto [is_kept, is_in_doubt] = rule.decide(drawn, u);
    if (is_in_doubt) [[unlikely]] {
      for (std::size_t i = first; i < reals_.size(); ++i) {
        Rare& real = make_rare(i);
        if (real.k != static_cast<std::uint64_t>(IsochronousSampler::saturation)) continue;
        real.k = beyond(shape, bits);
      }
      if (is_kept_by_definition(shape, first, u, words_of(bits))) return;
      rare_.erase(rare_.lower_bound(first), rare_.end());
      continue;
    }
    if (is_kept) return;
  }
}

bool IdealReals::is_kept_by_definition(IdealShape shape, std::size_t first, const std::array<std::uint64_t, 2>& u, const NextWord& next) {
  LazyReal uniform{u[0], 64};
  uniform.extend(u[1]);
  for (;;) {
    const mpfr_prec_t precision = std::max(this->precision(), uniform.precision()) + 128;
    Interval loss{0, precision};
    for (std::size_t i = first; i < reals_.size(); ++i) {
      const Rare& real = rare_.at(i);
      const Interval h{std::ldexp(1.0, -cells), precision};
      const Interval x = enclose(i, precision);
      const Interval least = exact_interval(real.k, precision) * h;
      loss = loss + (shape == IdealShape::exponential ? x - least : (x - least) * (x + least) * Interval{0.5, precision});
    }
    const Interval probability = exp(-loss);
    if (surely_below(uniform.high(precision), probability)) return true;
    if (surely_below(probability, uniform.low(precision))) return false;
    uniform.extend(next());
    for (std::size_t i = first; i < reals_.size(); ++i) draw_another_word(i, next);
  }
}

// Proved so far.

void IdealReals::clear() {
  reals_.clear();
  rare_.clear();
  most_words_ = 2;
}

void IdealReals::append(const IdealReals& other, std::size_t i) {
  const auto found = other.rare_.find(i);
  if (found != other.rare_.end()) {
    rare_.emplace(reals_.size(), found->second);
    most_words_ = std::max(most_words_, found->second.digits.size());
  }
  reals_.push_back(other.reals_[i]);
}

Interval IdealReals::enclose(std::size_t i, mpfr_prec_t precision) const {
  const auto found = rare_.find(i);
  const IdealReal& real = reals_[i];
  const std::span<const std::uint64_t> digits = found != rare_.end() ? std::span{found->second.digits} : std::span{real.digits};
  const UnsignedWide k = found != rare_.end() ? found->second.k : UnsignedWide{real.k};
  const Interval word{0x1p64, precision};
  Interval integer = exact_interval(k, precision);
  Interval unit{std::ldexp(1.0, -cells), precision};
  for (const std::uint64_t part : digits) {
    integer = integer * word + exact_interval(part, precision);
    unit = unit / word;
  }
  return hull(integer * unit, (integer + Interval{1, precision}) * unit);
}

mpfr_prec_t IdealReals::precision() const { return 64 * static_cast<mpfr_prec_t>(most_words_ + 2) + 128; }

IdealReals::Rare& IdealReals::make_rare(std::size_t i) {
  const IdealReal& real = reals_[i];
  return rare_.try_emplace(i, Rare{real.k, {real.digits.begin(), real.digits.end()}}).first->second;
}

void IdealReals::draw_another_word(std::size_t i, const NextWord& next) {
  auto& digits = make_rare(i).digits;
  digits.push_back(next());
  most_words_ = std::max(most_words_, digits.size());
}

void IdealReals::draw_another_word_each(const NextWord& next) {
  for (std::size_t i = 0; i < reals_.size(); ++i) draw_another_word(i, next);
}

}  // namespace surety::mechanisms
