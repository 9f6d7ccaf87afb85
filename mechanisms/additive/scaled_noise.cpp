#include <surety/mechanisms/additive/scaled_noise.h>

#include <fmt/format.h>

#include <surety/base/numbers/floating_point.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/samplers/exact_product.h>
#include <surety/mechanisms/samplers/ideal_reals.h>
#include <surety/mechanisms/samplers/lazy_digits.h>

namespace surety::mechanisms {
namespace {

// Proved: docs/proofs/samplers.md#scaled
std::int64_t round_by_intervals(IdealReals& normals, std::size_t i, const std::array<double, 3>& scale, const NextWord& next) {
  for (;; normals.draw_another_word(i, next)) {
    const mpfr_prec_t precision = normals.precision();
    const auto point = [precision](double value) { return Interval{value, precision}; };
    if (const auto nearest = nearest_integer(point(scale[0]) * point(scale[1]) * point(scale[2]) * normals.enclose(i, precision))) {
      return *nearest;
    }
  }
}

void draw_normals(const std::array<double, 3>& scale, std::span<std::int64_t> samples, BitsRef bits, bool by_definition) {
  const StandardFloatingPoint environment;
  std::array<std::uint64_t, ScaledNormal::block / 64> words;
  const auto signs = std::span{words}.first((samples.size() + 63) / 64);
  draw_words(bits, signs);
  IdealReals normals;
  normals.draw(IdealShape::half_normal, samples.size(), bits);
  const WideFactor sigma = WideFactor::product_of(scale);
  std::int64_t in_doubt = by_definition || normals.has_rare() ? -1 : 0;
  const auto is_negative = [&](std::size_t i) { return std::uint64_t{0} - (signs[i / 64] >> (i % 64) & 1); };
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const RoundedProduct rounded = rounded_product(sigma, normals.reals()[i].magnitude(), is_negative(i));
    samples[i] = rounded.value;
    in_doubt |= rounded.in_doubt;
  }
  if (in_doubt == 0) [[likely]]
    return;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int64_t magnitude = round_by_intervals(normals, i, scale, words_of(bits));
    samples[i] = is_negative(i) != 0 ? -magnitude : magnitude;
  }
}

// Proved so far.
}  // namespace

void ScaledNormal::draw(const std::array<double, 3>& scale, std::span<std::int64_t> samples, BitsRef bits) {
  draw_normals(scale, samples, bits, false);
}

void ScaledNormal::draw_by_definition(const std::array<double, 3>& scale, std::span<std::int64_t> samples, BitsRef bits) {
  draw_normals(scale, samples, bits, true);
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
