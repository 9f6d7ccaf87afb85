#include <surety/mechanisms/additive/lp_noise.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <surety/accounting/events/format.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/samplers/grid_noise.h>

namespace surety::mechanisms {
namespace {

using Law = RoundedVector::Law;
using Radial = RoundedVector::Radial;
using Shape = RoundedVector::Shape;

constexpr double unit = 0x1p-53;

/// A sum of nonnegative doubles up to a relative 2^-51, however many: Kahan's, whose error is 2 units and n unit^2. NaN from infinity on.
class CompensatedSum {
 public:
  void operator+=(double term) {
    const double corrected = term - excess_;
    const double sum = sum_ + corrected;
    excess_ = (sum - sum_) - corrected;
    sum_ = sum;
  }
  [[nodiscard]] double value() const { return sum_; }

 private:
  double sum_ = 0;
  double excess_ = 0;
};

/// A nonnegative real variable that one uniform V gives.
struct Magnitude {
  enum class Transform { uniform, exponential, tail };  ///< V, -log V, 1 - log V / r
  Transform transform;
  double r;
  LazyUniform uniform;

  [[nodiscard]] Interval enclose(mpfr_prec_t precision) const {
    if (transform == Transform::uniform) return uniform.cell(precision);
    Interval exponential = noise(NoiseShape::exponential, uniform, precision);
    if (transform == Transform::exponential) return exponential;
    return Interval{1.0, precision} + exponential / Interval{r, precision};
  }

  /// Up to a relative 8 units of 2^-53 and, for V itself, the spacing of doubles near 0.
  [[nodiscard]] DoubleBounds bounds() const {
    const std::uint64_t word = uniform.first_word();
    if (transform == Transform::uniform) return {static_cast<double>(word) * 0x1p-64, (static_cast<double>(word) + 1) * 0x1p-64};
    const auto exponential = minus_log_of_cell(word, 64);
    if (transform == Transform::exponential) return exponential;
    return {1 + exponential.low / r, 1 + exponential.high / r};
  }
};

/// -log of the probability that a proposal is kept: g^r inside (0, 1), and g^r - 1 - r (g - 1) beyond 1, where g = 1 + E / r.
Exponent rejection(Magnitude& proposal) {
  const double r = proposal.r;
  const auto exponential = minus_log_of_cell(proposal.uniform.first_word(), 64);
  Exponent exponent;
  if (proposal.transform == Magnitude::Transform::uniform) {
    exponent.bounds = {std::exp(-r * exponential.high) - double_margin, std::exp(-r * exponential.low) + double_margin};
    exponent.enclose = [&proposal](mpfr_prec_t precision) {
      return exp(Interval{proposal.r, precision} * log(proposal.uniform.cell(precision)));
    };
  } else {
    const auto bound = [r](double e, double sign) {
      const double power = std::exp(r * std::log1p(e / r));
      return power - 1 - e + sign * double_margin * (1 + e + power);
    };
    exponent.bounds = {bound(exponential.low, -1), std::isinf(exponential.high) ? exponential.high : bound(exponential.high, 1)};
    exponent.enclose = [&proposal](mpfr_prec_t precision) {
      const Interval e = noise(NoiseShape::exponential, proposal.uniform, precision);
      const Interval exact_r{proposal.r, precision};
      return expm1(exact_r * log1p(e / exact_r)) - e;
    };
  }
  exponent.draw_more = [&proposal](const NextWord& next_word) { proposal.uniform.draw_another_word(next_word); };
  return exponent;
}

/// g > 0 of density proportional to exp(-g^r), by rejection from 1 on (0, 1) and exp(-1 - r (g - 1)) beyond, which lie above it.
Magnitude draw_power_exponential(double r, const NextWord& next_word) {
  // The tail proposes with probability (1 / (e r)) / (1 + 1 / (e r)) = exp(-log(1 + e r)).
  const double odds = std::log1p(std::exp(1.0) * r);
  const Exponent tail{.bounds = {odds - double_margin * (1 + odds), odds + double_margin * (1 + odds)},
                      .enclose = [r](mpfr_prec_t precision) {
                        return log1p(exp(Interval{1.0, precision}) * Interval{r, precision});
                      }};
  for (;;) {
    const auto transform = happens_with_exp_minus(tail, next_word) ? Magnitude::Transform::tail : Magnitude::Transform::uniform;
    Magnitude proposal{transform, r, LazyUniform{next_word}};
    if (happens_with_exp_minus(rejection(proposal), next_word)) return proposal;
  }
}

/// A vector that is known as far as its bits are drawn: coordinate i is sign_i factor magnitude_i with one common factor.
class LazyVector {
 public:
  LazyVector(const Law& law, const NextWord& next_word) : law_{law}, next_word_{next_word} {
    const std::size_t d = law.dimension;
    std::uint64_t signs = 0;
    magnitudes_.reserve(d);
    negative_.reserve(d);
    for (std::size_t i = 0; i < d; ++i) {
      if (i % 64 == 0) signs = next_word();
      negative_.push_back((signs >> (i % 64) & 1) != 0);
      magnitudes_.push_back(draw_magnitude());
    }
    if (law.shape == Shape::laplace_coordinates || law.radial == Radial::sphere) return;
    const std::uint64_t factors = law.radial == Radial::ball ? 1 : law.gamma_shape / 2;
    radius_.reserve(factors);
    for (std::uint64_t i = 0; i < factors; ++i) radius_.emplace_back(next_word);
    if (law.radial != Radial::ball && law.gamma_shape % 2 != 0) half_.emplace(draw_power_exponential(2, next_word));
  }

  [[nodiscard]] std::vector<std::int64_t> rounded() {
    std::vector<std::int64_t> result(law_.dimension);
    std::vector<std::size_t> in_doubt = round_by_doubles(result);
    while (!in_doubt.empty()) {
      in_doubt = round_by_intervals(result, in_doubt);
      if (!in_doubt.empty()) draw_another_word_each();
    }
    return result;
  }

 private:
  [[nodiscard]] Magnitude draw_magnitude() const {
    switch (law_.shape) {
      case Shape::laplace_coordinates: return {Magnitude::Transform::exponential, 1, LazyUniform{next_word_}};
      case Shape::cube: return {Magnitude::Transform::uniform, 1, LazyUniform{next_word_}};
      case Shape::cone: return draw_power_exponential(law_.r, next_word_);
    }
    throw Error{ErrorCode::internal, "a vector has no shape"};
  }

  [[nodiscard]] std::int64_t with_sign(std::size_t i, std::int64_t magnitude) const { return negative_[i] ? -magnitude : magnitude; }

  // ---- Doubles ----

  /// Rounds what doubles decide. \return the coordinates that they do not.
  [[nodiscard]] std::vector<std::size_t> round_by_doubles(std::vector<std::int64_t>& result) const {
    const auto [low, high] = factor_bounds();
    // Four times what all operations can err (docs/proofs/vector-noise.md#lp-noise); a ball's radius has an exponential more.
    const double margin = (law_.radial == Radial::ball ? 2048 : 256) * unit;
    std::vector<std::size_t> in_doubt;
    for (std::size_t i = 0; i < law_.dimension; ++i) {
      const auto magnitude = magnitudes_[i].bounds();
      const double from = std::round(low * magnitude.low * (1 - margin));
      const double to = std::round(high * magnitude.high * (1 + margin));
      if (from == to && to < 0x1p51) {
        result[i] = with_sign(i, static_cast<std::int64_t>(to));
      } else {
        in_doubt.push_back(i);
      }
    }
    return in_doubt;
  }

  [[nodiscard]] DoubleBounds factor_bounds() const {
    const double scale = law_.scale[0] * law_.scale[1] * law_.scale[2];
    const DoubleBounds radius = radius_bounds();
    double norm_low = 1;
    double norm_high = 1;
    if (law_.shape == Shape::cone) {
      CompensatedSum sum_low;
      CompensatedSum sum_high;
      for (const auto& magnitude : magnitudes_) {
        const auto [low, high] = magnitude.bounds();
        sum_low += std::pow(low, law_.r);
        sum_high += std::pow(high, law_.r);
      }
      // Powers that underflow have no relative accuracy: leave it to intervals.
      if (!(sum_low.value() > 0x1p-900)) return {0, std::numeric_limits<double>::infinity()};
      norm_low = std::pow(sum_low.value(), 1 / law_.r);
      norm_high = std::pow(sum_high.value(), 1 / law_.r);
    }
    return {scale * radius.low / norm_high, scale * radius.high / norm_low};
  }

  [[nodiscard]] DoubleBounds radius_bounds() const {
    if (law_.shape == Shape::laplace_coordinates || law_.radial == Radial::sphere) return {1, 1};
    CompensatedSum sum_low;
    CompensatedSum sum_high;
    for (const auto& uniform : radius_) {
      const auto [low, high] = minus_log_of_cell(uniform.first_word(), 64);
      sum_low += low;
      sum_high += high;
    }
    DoubleBounds gamma{sum_low.value(), sum_high.value()};
    if (law_.radial == Radial::ball) {
      const auto d = static_cast<double>(law_.dimension);
      return {std::exp(-gamma.high / d), std::exp(-gamma.low / d)};
    }
    if (half_) {
      const auto [low, high] = half_->bounds();
      gamma.low += low * low;
      gamma.high += high * high;
    }
    if (law_.radial == Radial::root_of_gamma) return {std::sqrt(2 * gamma.low), std::sqrt(2 * gamma.high)};
    return gamma;
  }

  // ---- Intervals ----

  /// Rounds what the bits drawn so far decide. \return the coordinates that they do not.
  [[nodiscard]] std::vector<std::size_t> round_by_intervals(std::vector<std::int64_t>& result,
                                                            const std::vector<std::size_t>& in_doubt) const {
    const mpfr_prec_t precision = precision_for(most_words());
    const auto factor = enclose_factor(precision);
    if (!factor) return in_doubt;
    std::vector<std::size_t> still;
    for (const auto i : in_doubt) {
      const Interval value = *factor * magnitudes_[i].enclose(precision);
      static_assert(sizeof(long) == sizeof(std::int64_t));
      const long low = mpfr_get_si(value.lower(), MPFR_RNDN);
      const long high = mpfr_get_si(value.upper(), MPFR_RNDN);
      // A NaN would count as 0 here.
      if (low == high && mpfr_nan_p(value.lower()) == 0 && mpfr_nan_p(value.upper()) == 0) {
        result[i] = with_sign(i, low);
      } else {
        still.push_back(i);
      }
    }
    return still;
  }

  /// Nothing where the norm may still be 0.
  [[nodiscard]] std::optional<Interval> enclose_factor(mpfr_prec_t precision) const {
    const auto point = [precision](double value) { return Interval{value, precision}; };
    const Interval scale = point(law_.scale[0]) * point(law_.scale[1]) * point(law_.scale[2]);
    const Interval radius = enclose_radius(precision);
    if (law_.shape != Shape::cone) return scale * radius;
    const Interval r = point(law_.r);
    Interval sum = point(0);
    for (const auto& magnitude : magnitudes_) sum = sum + exp(r * log(magnitude.enclose(precision)));
    if (mpfr_sgn(sum.lower()) <= 0) return std::nullopt;
    return scale * radius / exp(log(sum) / r);
  }

  [[nodiscard]] Interval enclose_radius(mpfr_prec_t precision) const {
    const auto point = [precision](double value) { return Interval{value, precision}; };
    if (law_.shape == Shape::laplace_coordinates || law_.radial == Radial::sphere) return point(1);
    // A sum of exponentials is minus the logarithm of a product of uniforms.
    Interval product = point(1);
    for (const auto& uniform : radius_) product = product * uniform.cell(precision);
    Interval gamma = -log(product);
    if (law_.radial == Radial::ball) return exp(-gamma / point(static_cast<double>(law_.dimension)));
    if (half_) {
      const Interval half = half_->enclose(precision);
      gamma = gamma + half * half;
    }
    if (law_.radial == Radial::root_of_gamma) return sqrt(point(2) * gamma);
    return gamma;
  }

  // ---- Bits ----

  template <class Self, class Visit>
  static void for_each_uniform(Self& self, Visit visit) {
    for (auto& magnitude : self.magnitudes_) visit(magnitude.uniform);
    for (auto& uniform : self.radius_) visit(uniform);
    if (self.half_) visit(self.half_->uniform);
  }
  void draw_another_word_each() {
    for_each_uniform(*this, [this](LazyUniform& uniform) { uniform.draw_another_word(next_word_); });
  }
  [[nodiscard]] std::size_t most_words() const {
    std::size_t most = 1;
    for_each_uniform(*this, [&most](const LazyUniform& uniform) { most = std::max(most, uniform.words()); });
    return most;
  }

  const Law& law_;
  const NextWord& next_word_;
  std::vector<Magnitude> magnitudes_;
  std::vector<bool> negative_;
  std::vector<LazyUniform> radius_;
  std::optional<Magnitude> half_;  ///< its square is Gamma(1/2)
};

struct NormOf {
  Shape shape;
  double r;
  double sensitivity;
  std::uint64_t shape_above_dimension;  ///< of the radius' Gamma
};

NormOf norm_of(const KNorm::Options& options) {
  if (const auto* l1 = std::get_if<L1Sensitivity>(&options.sensitivity)) return {Shape::laplace_coordinates, 1, l1->value(), 0};
  if (const auto* l2 = std::get_if<L2Sensitivity>(&options.sensitivity)) return {Shape::cone, 2, l2->value(), 0};
  return {Shape::cube, 1, std::get<LinfSensitivity>(options.sensitivity).value(), 1};
}

Law law_of(const KNorm::Options& options) {
  const NormOf norm = norm_of(options);
  return {.shape = norm.shape,
          .r = norm.r,
          .radial = Radial::gamma,
          .gamma_shape = 2 * (options.dimension.value() + norm.shape_above_dimension),
          .scale = {options.scale.value(), norm.sensitivity, options.grid.steps_per_unit()},
          .dimension = options.dimension.value()};
}

Law law_of(const GeneralizedGaussian::Options& options) {
  if (!(options.r.value() <= GeneralizedGaussian::largest_r)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("norm exponent is {}, must be at most 2^20", options.r)};
  }
  return {.shape = Shape::cone,
          .r = options.r.value(),
          .radial = Radial::root_of_gamma,
          .gamma_shape = options.dimension.value(),
          .scale = {options.multiplier.value(), options.sensitivity.value(), options.grid.steps_per_unit()},
          .dimension = options.dimension.value()};
}

/// The law of a point of an l2 sphere or ball.
Law law_of_point(Radial radial, Count dimension, Radius radius, Grid grid) {
  // On a sphere of dimension 1 nothing but the sign is random, and a radius between two grid points would never be decided.
  if (radial == Radial::sphere && dimension.value() == 1) {
    throw Error{ErrorCode::invalid_argument, "dimension is 1, must be at least 2 for a sphere"};
  }
  return {.shape = Shape::cone,
          .r = 2,
          .radial = radial,
          .gamma_shape = 0,
          .scale = {radius.value(), 1, grid.steps_per_unit()},
          .dimension = dimension.value()};
}

/// query + noise in data units, saturating as `saturating_add`.
std::vector<double> sum(const GridVector& query, const std::vector<std::int64_t>& noise) {
  GridVector noisy{.grid = query.grid, .steps = std::vector<std::int64_t>(query.steps.size())};
  for (std::size_t i = 0; i < noise.size(); ++i) noisy.steps[i] = saturating_add(query.steps[i], noise[i]);
  return to_reals(noisy);
}

}  // namespace

RoundedVector::RoundedVector(const Law& law) : law_{law} {
  if (!(law.dimension <= std::uint64_t{1} << 32)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("dimension is {}, must be at most 2^32", law.dimension)};
  }
  if (!(scale() <= 0x1p56))
    throw Error{ErrorCode::invalid_argument, fmt::format("noise scale is {} grid steps, must be at most 2^56", scale())};
}

std::vector<std::int64_t> RoundedVector::operator()(BitsRef bits) const {
  const StandardFloatingPoint environment;
  const NextWord next_word = words_of(bits);
  return LazyVector{law_, next_word}.rounded();
}

namespace detail {

void require_grid_and_dimension(const GridVector& query, const Grid& grid, std::size_t dimension) {
  if (query.grid != grid) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the query's grid has log2_step {}, must be the mechanism's {}",
                                                         query.grid.log2_step.value(), grid.log2_step.value())};
  }
  if (query.steps.size() != dimension) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the query has {} coordinates, must have {}", query.steps.size(), dimension)};
  }
}

}  // namespace detail

std::vector<double> VectorNoise::release(const GridVector& query, BitsRef bits) const {
  detail::require_grid_and_dimension(query, grid_, noise_.law().dimension);
  return sum(query, noise_(bits));
}

double VectorNoise::coordinate_in_steps() const noexcept {
  const auto& law = noise_.law();
  const auto dimension = static_cast<double>(law.dimension);
  switch (law.shape) {
    case Shape::laplace_coordinates: return noise_.scale();
    case Shape::cube: return noise_.scale() * dimension;
    case Shape::cone: break;
  }
  // The radius, b d or sigma sqrt(d), shared among the coordinates in l_r.
  return noise_.scale() * std::pow(dimension, (law.radial == Radial::root_of_gamma ? 0.5 : 1.0) - 1 / law.r);
}

LrSensitivity after_rounding(LrSensitivity sensitivity, NormExponent r, Grid grid, std::size_t dimension) {
  if (!(dimension >= 1 && dimension <= std::size_t{1} << 53)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("dimension is {}, must be from 1 to 2^53", dimension)};
  }
  constexpr mpfr_prec_t precision = 128;
  const auto root = exp(log(Interval{static_cast<double>(dimension), precision}) / Interval{r.value(), precision});
  const auto after = Interval{sensitivity.value(), precision} + Interval{grid.step(), precision} * root;
  return LrSensitivity{after.enclosure().upper};
}

namespace detail {

void release_vector_in_place(const VectorNoise& mechanism, std::span<double> query, BitsRef bits) {
  const auto noisy = mechanism.release(round_to_nearest(query, mechanism.grid()), bits);
  std::copy(noisy.begin(), noisy.end(), query.begin());
}

void release_vector_in_place(const VectorNoise& mechanism, std::span<float> query, BitsRef bits) {
  const StandardFloatingPoint environment;
  const Grid grid = mechanism.grid();
  require_floats(grid, mechanism.coordinate_in_steps());
  const auto noisy = mechanism.release(round_to_nearest(std::vector<double>{query.begin(), query.end()}, grid), bits);
  std::transform(noisy.begin(), noisy.end(), query.begin(), [grid](double value) { return float_on_grid(value, grid); });
}

}  // namespace detail

KNorm::KNorm(Options options) : VectorNoise{options.grid, RoundedVector{law_of(options)}}, options_{options} {}

Event KNorm::event() const { return surety::k_norm(norm(), options_.dimension, options_.scale, options_.adjacency); }

GeneralizedGaussian::GeneralizedGaussian(Options options) : VectorNoise{options.grid, RoundedVector{law_of(options)}}, options_{options} {}

Event GeneralizedGaussian::event() const {
  return surety::generalized_gaussian(options_.r, options_.dimension, options_.multiplier, options_.adjacency);
}

namespace {

KNorm::Options after_rounding(KNorm::Options options) {
  const auto before = options.sensitivity;
  std::visit(
      [&options](const auto& sensitivity) {
        options.sensitivity = mechanisms::after_rounding(sensitivity, options.grid, options.dimension.value());
      },
      before);
  return options;
}

}  // namespace

KNormOnReals::KNormOnReals(const KNorm::Options& options) : VectorOnReals{KNorm{after_rounding(options)}} {}

GeneralizedGaussianOnReals::GeneralizedGaussianOnReals(const GeneralizedGaussian::Options& options)
    : VectorOnReals{
          GeneralizedGaussian{{.r = options.r,
                               .multiplier = options.multiplier,
                               .sensitivity = after_rounding(options.sensitivity, options.r, options.grid, options.dimension.value()),
                               .grid = options.grid,
                               .dimension = options.dimension,
                               .adjacency = options.adjacency}}} {}

GridVector uniform_on_sphere(Count dimension, Radius radius, Grid grid, BitsRef bits) {
  return {.grid = grid, .steps = RoundedVector{law_of_point(Radial::sphere, dimension, radius, grid)}(bits)};
}

GridVector uniform_in_ball(Count dimension, Radius radius, Grid grid, BitsRef bits) {
  return {.grid = grid, .steps = RoundedVector{law_of_point(Radial::ball, dimension, radius, grid)}(bits)};
}

}  // namespace surety::mechanisms
