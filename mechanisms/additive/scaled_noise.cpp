#include <surety/mechanisms/additive/scaled_noise.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <surety/base/numbers/floating_point.h>
#include <surety/base/text/error.h>

namespace surety::mechanisms {
namespace {

constexpr double cell_length = 0x1p-50;

/// The exact value: both halves and their sum are.
Interval exactly(std::uint64_t value, mpfr_prec_t precision) {
  return Interval{static_cast<double>(value >> 32), precision} * Interval{0x1p32, precision} +
         Interval{static_cast<double>(value & 0xffffffff), precision};
}

/// A normal N >= 0 (for cell 0: of either sign) whose cell is known: x0 + 2^-50 V for a uniform V, kept with probability
/// exp(-(x^2 - x0^2) / 2) where x0 is the end of the cell nearest to 0. The last cell has no other end: x = x0 + E / x0 for an
/// exponential E, kept with probability exp(-(x - x0)^2 / 2).
class NormalInCell {
 public:
  NormalInCell(std::uint64_t cell, const NextWord& next_word)
      : cell_{cell}, is_tail_{cell == static_cast<std::uint64_t>(LatticeNoise::saturation)}, uniform_{next_word} {
    while (!happens_with_exp_minus(rejection(), next_word)) uniform_ = LazyUniform{next_word};
  }

  void draw_another_word(const NextWord& next_word) { uniform_.draw_another_word(next_word); }
  [[nodiscard]] std::size_t words() const noexcept { return uniform_.words(); }

  [[nodiscard]] Interval enclose(mpfr_prec_t precision) const { return start(precision) + beyond_start(precision); }

 private:
  /// (cell - 1/2) 2^-50.
  [[nodiscard]] Interval start(mpfr_prec_t precision) const {
    return (exactly(cell_, precision) - Interval{0.5, precision}) * Interval{cell_length, precision};
  }
  [[nodiscard]] Interval beyond_start(mpfr_prec_t precision) const {
    if (is_tail_) return noise(NoiseShape::exponential, uniform_, precision) / start(precision);
    return uniform_.cell(precision) * Interval{cell_length, precision};
  }

  [[nodiscard]] Exponent rejection() {
    Exponent exponent;
    // At most 2^-50 x (|cell| + 1/2) 2^-50, and 2^63 2^-100 is nearly nothing: doubles decide by that alone.
    exponent.bounds = {0, is_tail_ ? std::numeric_limits<double>::infinity() : 0x1p-37};
    exponent.enclose = [this](mpfr_prec_t precision) {
      const Interval half{0.5, precision};
      const Interval beyond = beyond_start(precision);
      if (is_tail_) return half * beyond * beyond;
      const Interval x = enclose(precision);
      if (cell_ == 0) return half * x * x;
      return half * beyond * (x + start(precision));
    };
    exponent.draw_more = [this](const NextWord& next_word) { draw_another_word(next_word); };
    return exponent;
  }

  std::uint64_t cell_;
  bool is_tail_;
  LazyUniform uniform_;
};

}  // namespace

std::int64_t ScaledNormal::within_cell(std::int64_t cell, const std::array<double, 3>& scale, const NextWord& next_word) {
  NormalInCell normal{static_cast<std::uint64_t>(std::abs(cell)), next_word};
  for (;; normal.draw_another_word(next_word)) {
    const mpfr_prec_t precision = precision_for(normal.words());
    const auto point = [precision](double value) { return Interval{value, precision}; };
    const Interval value = point(scale[0]) * point(scale[1]) * point(scale[2]) * normal.enclose(precision);
    static_assert(sizeof(long) == sizeof(std::int64_t));
    const long low = mpfr_get_si(value.lower(), MPFR_RNDN);
    const long high = mpfr_get_si(value.upper(), MPFR_RNDN);
    // A NaN would count as 0 here.
    if (low == high && mpfr_nan_p(value.lower()) == 0 && mpfr_nan_p(value.upper()) == 0) return cell < 0 ? -low : low;
  }
}

const RoundedGaussian& ScaledNormal::finest() {
  static const auto& made_once = *new RoundedGaussian{StepSigma{0x1p50}};  // never destroyed: a thread may draw while the process ends
  return made_once;
}

void ScaledNormal::round(std::span<const std::int64_t> cells, const std::array<double, 3>& scale, std::span<std::int64_t> noise,
                         const NextWord& next_word) {
  const StandardFloatingPoint environment;
  const double sigma = scale[0] * scale[1] * scale[2];
  const double per_cell = sigma * cell_length;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    // The product of four roundings, and half a cell: both at least twice over.
    const double middle = static_cast<double>(cells[i]) * per_cell;
    const double margin = std::abs(middle) * 0x1p-50 + per_cell;
    const double from = std::floor(middle - margin + 0.5);
    const double to = std::floor(middle + margin + 0.5);
    noise[i] = from == to && std::abs(to) < 0x1p51 ? static_cast<std::int64_t>(to) : within_cell(cells[i], scale, next_word);
  }
}

std::array<double, 3> ScaledGaussian::scale_of(L2Sensitivity sensitivity) const {
  const StandardFloatingPoint environment;
  const double sigma = options_.multiplier.value() * sensitivity.value() * options_.grid.steps_per_unit();
  if (!(sigma <= 0x1p56)) throw Error{ErrorCode::invalid_argument, fmt::format("sigma is {} grid steps, must be at most 2^56", sigma)};
  return {options_.multiplier.value(), sensitivity.value(), options_.grid.steps_per_unit()};
}

std::vector<double> ScaledGaussian::release(const GridVector& query, L2Sensitivity sensitivity, BitsRef bits) const {
  detail::require_grid_and_dimension(query, options_.grid, query.steps.size());
  const auto scale = scale_of(sensitivity);
  std::vector<double> noisy(query.steps.size());
  normal_.for_each_block(noisy.size(), scale, bits, [&](std::size_t first, std::span<const std::int64_t> noise) {
    for (std::size_t i = 0; i < noise.size(); ++i) {
      noisy[first + i] = static_cast<double>(saturating_add(query.steps[first + i], noise[i])) * options_.grid.step();
    }
  });
  return noisy;
}

std::vector<double> ScaledGeneralizedGaussian::release(const GridVector& query, LrSensitivity sensitivity, BitsRef bits) const {
  const GeneralizedGaussian noise{{.r = options_.r,
                                   .multiplier = options_.multiplier,
                                   .sensitivity = sensitivity,
                                   .grid = options_.grid,
                                   .dimension = options_.dimension,
                                   .adjacency = options_.adjacency}};
  return noise.release(query, bits);
}

}  // namespace surety::mechanisms
