#include <surety/mechanisms/additive/lp_noise.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include <fmt/format.h>

#include <surety/accounting/events/format.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/additive/vector_rounding.h>
#include <surety/mechanisms/samplers/grid_noise.h>
#include <surety/mechanisms/samplers/ideal_reals.h>
#include <surety/mechanisms/samplers/lazy_digits.h>
#include <surety/mechanisms/samplers/power_trial.h>

namespace surety::mechanisms {
namespace {

using Law = VectorLaw;
using Radial = VectorLaw::Radial;
using Shape = VectorLaw::Shape;

/// What decides trials and roundings.
enum class Way { integers, intervals };

/// A vector whose reals are known as far as their digits are drawn.
class DrawnVector {
 public:
  DrawnVector(const VectorRounding& rounding, BitsRef bits, TrialPath path, Way way)
      : rounding_{rounding}, law_{rounding.law()}, bits_{bits}, path_{path}, way_{way} {
    const Law& law = law_;
    signs_.resize((law.dimension + 63) / 64);
    draw_words(bits, signs_);
    magnitudes_.reserve(law.dimension);
    switch (law.shape) {
      case Shape::exponential: magnitudes_.draw(IdealShape::exponential, law.dimension, bits, path); break;
      case Shape::normal: magnitudes_.draw(IdealShape::half_normal, law.dimension, bits, path); break;
      case Shape::uniform: magnitudes_.draw(IdealShape::uniform, law.dimension, bits, path); break;
      case Shape::power: draw_powers(); break;
    }
    exponentials_.reserve(law.exponentials());
    exponentials_.draw(IdealShape::exponential, law.exponentials(), bits, path);
    if (law.has_normal()) normal_.draw(IdealShape::half_normal, 1, bits, path);
  }

  [[nodiscard]] std::vector<std::int64_t> rounded() {
    std::vector<std::int64_t> result(law_.dimension);
    const bool is_rare = magnitudes_.has_rare() || exponentials_.has_rare() || normal_.has_rare();
    if (way_ == Way::integers && !is_rare && round_by_integers(result)) [[likely]]
      return result;
    std::vector<std::size_t> in_doubt(law_.dimension);
    for (std::size_t i = 0; i < in_doubt.size(); ++i) in_doubt[i] = i;
    for (;;) {
      in_doubt = round_by_intervals(result, in_doubt);
      if (in_doubt.empty()) return result;
      for (IdealReals* reals : {&magnitudes_, &exponentials_, &normal_}) reals->draw_another_word_each(words_of(bits_));
    }
  }

 private:
  // ---- Trials of a direction ----

  void draw_powers() {
    while (magnitudes_.size() < law_.dimension) draw_block_of_powers(rounding_.power());
  }

  void draw_block_of_powers(const PowerTrial& rule) {
    // Three of four trials are accepted, or more.
    const std::size_t missing = law_.dimension - magnitudes_.size();
    const std::size_t trials = std::min(missing + missing / 3 + 4, IdealReals::block);
    IdealReals e;
    e.draw(IdealShape::exponential, trials, bits_, path_);
    IdealReals v;
    v.draw(IdealShape::uniform, trials, bits_, path_);
    std::array<std::uint64_t, 4 * IdealReals::block> words;
    draw_words(bits_, std::span{words}.first(4 * trials));
    std::array<PowerTrial::Decision, IdealReals::block> decisions;
    std::int64_t in_doubt = e.has_rare() || way_ == Way::intervals ? -1 : 0;
    for (std::size_t i = 0; i < trials; ++i) {
      decisions[i] = rule.decide(e.reals()[i], v.reals()[i], {words[4 * i], words[4 * i + 1]}, {words[4 * i + 2], words[4 * i + 3]});
      in_doubt |= decisions[i].in_doubt;
    }
    for (std::size_t i = 0; i < trials && magnitudes_.size() < law_.dimension; ++i) {
      const auto& decision = decisions[i];
      if (in_doubt != 0) [[unlikely]] {
        keep_by_definition(rule, e, v, i, std::span{words}.subspan(4 * i, 4));
      } else if (decision.accepted != 0) {
        magnitudes_.append(decision.real);
        tails_.push_back(decision.is_tail);
        logs_.push_back(decision.log);
      }
    }
  }

  /// Appends the trial, if it is accepted.
  void keep_by_definition(const PowerTrial& rule, IdealReals& e, IdealReals& v, std::size_t i, std::span<const std::uint64_t> words) {
    const NextWord next = words_of(bits_);
    LazyReal coin{words[0], 64};
    coin.extend(words[1]);
    const bool is_tail = is_surely_below(
        coin, [&rule](mpfr_prec_t precision) { return rule.tail_probability(precision); }, next);
    IdealReals& reals = is_tail ? e : v;
    LazyReal uniform{words[2], 64};
    uniform.extend(words[3]);
    for (;; uniform.extend(next()), reals.draw_another_word(i, next)) {
      const mpfr_prec_t precision = std::max(reals.precision(), uniform.precision()) + 64;
      const Interval probability = exp(-rule.exponent(reals.enclose(i, precision), is_tail));
      if (surely_below(probability, uniform.low(precision))) return;
      if (surely_below(uniform.high(precision), probability)) break;
    }
    magnitudes_.append(reals, i);
    tails_.push_back(is_tail ? ~std::uint64_t{0} : 0);
    // Of what the coin decided, from the digits that are known. A real that needed more is not rounded by integers.
    const std::uint64_t decided = is_tail ? 0 : ~std::uint64_t{0};
    logs_.push_back(rule.decide(e.reals()[i], v.reals()[i], {decided, decided}, {words[2], words[3]}).log);
  }

  // ---- Rounding ----

  [[nodiscard]] VectorDraw draw() const {
    return {.signs = signs_,
            .magnitudes = magnitudes_.reals(),
            .tails = tails_,
            .logs = logs_,
            .exponentials = exponentials_.reals(),
            .normal = normal_.reals()};
  }

  [[nodiscard]] bool round_by_integers(std::vector<std::int64_t>& result) const { return rounding_.round(draw(), result) == 0; }

  /// Rounds what the digits drawn so far decide. \return the coordinates that they do not.
  [[nodiscard]] std::vector<std::size_t> round_by_intervals(std::vector<std::int64_t>& result,
                                                            const std::vector<std::size_t>& in_doubt) const {
    const mpfr_prec_t precision = std::max({magnitudes_.precision(), exponentials_.precision(), normal_.precision()});
    const auto factor = enclose_factor(precision);
    if (!factor) return in_doubt;
    std::vector<std::size_t> still;
    for (const auto i : in_doubt) {
      const auto nearest = nearest_integer(*factor * enclose_magnitude(i, precision));
      if (nearest) {
        result[i] = draw().is_negative(i) != 0 ? -*nearest : *nearest;
      } else {
        still.push_back(i);
      }
    }
    return still;
  }

  [[nodiscard]] Interval enclose_magnitude(std::size_t i, mpfr_prec_t precision) const {
    const Interval real = magnitudes_.enclose(i, precision);
    return law_.shape == Shape::power && tails_[i] != 0 ? Interval{1, precision} + real / Interval{law_.r, precision} : real;
  }

  /// Nothing where the norm may still be 0.
  [[nodiscard]] std::optional<Interval> enclose_factor(mpfr_prec_t precision) const {
    const auto point = [precision](double value) { return Interval{value, precision}; };
    const Interval scale = point(law_.scale[0]) * point(law_.scale[1]) * point(law_.scale[2]) * enclose_radius(precision);
    if (!law_.is_normalized()) return scale;
    const Interval r = point(law_.r);
    Interval sum = point(0);
    for (std::size_t i = 0; i < magnitudes_.size(); ++i) sum = sum + exp(r * log(enclose_magnitude(i, precision)));
    if (mpfr_sgn(sum.lower()) <= 0) return std::nullopt;
    return scale / exp(log(sum) / r);
  }

  [[nodiscard]] Interval enclose_radius(mpfr_prec_t precision) const {
    Interval sum{0, precision};
    for (std::size_t i = 0; i < exponentials_.size(); ++i) sum = sum + exponentials_.enclose(i, precision);
    switch (law_.radial) {
      case Radial::none:
      case Radial::sphere: return Interval{1, precision};
      case Radial::gamma: return sum;
      case Radial::ball: return exp(-(sum / Interval{static_cast<double>(law_.dimension), precision}));
      case Radial::root_of_chi_square: break;
    }
    sum = sum + sum;
    if (law_.has_normal()) {
      const Interval normal = normal_.enclose(0, precision);
      sum = sum + normal * normal;
    }
    return sqrt(sum);
  }

  const VectorRounding& rounding_;
  const Law& law_;
  BitsRef bits_;
  TrialPath path_;
  Way way_;
  std::vector<std::uint64_t> signs_;
  IdealReals magnitudes_;
  std::vector<std::uint64_t> tails_;
  std::vector<UnsignedWide> logs_;
  IdealReals exponentials_;
  IdealReals normal_;
};

Law law_of(const KNorm::Options& options) {
  const std::uint64_t dimension = options.dimension.value();
  const auto scale = [&](double sensitivity) { return std::array{options.scale.value(), sensitivity, options.grid.steps_per_unit()}; };
  const auto law = [&](Shape shape, Radial radial, std::uint64_t count, double sensitivity) {
    // In one dimension all norms are one.
    if (dimension == 1) {
      shape = Shape::exponential;
      radial = Radial::none;
    }
    return Law{.shape = shape, .r = 2, .radial = radial, .radial_count = count, .scale = scale(sensitivity), .dimension = dimension};
  };
  if (const auto* l1 = std::get_if<L1Sensitivity>(&options.sensitivity)) return law(Shape::exponential, Radial::none, 0, l1->value());
  if (const auto* l2 = std::get_if<L2Sensitivity>(&options.sensitivity)) {
    return law(Shape::normal, Radial::root_of_chi_square, dimension + 1, l2->value());
  }
  return law(Shape::uniform, Radial::gamma, dimension + 1, std::get<LinfSensitivity>(options.sensitivity).value());
}

Law law_of(const GeneralizedGaussian::Options& options) {
  if (!(options.r.value() <= GeneralizedGaussian::largest_r)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("norm exponent is {}, must be at most 2^20", options.r)};
  }
  const std::uint64_t dimension = options.dimension.value();
  const bool is_gaussian = options.r.value() == 2 || dimension == 1;
  return {.shape = is_gaussian ? Shape::normal : Shape::power,
          .r = is_gaussian ? 2 : options.r.value(),
          .radial = is_gaussian ? Radial::none : Radial::root_of_chi_square,
          .radial_count = dimension,
          .scale = {options.multiplier.value(), options.sensitivity.value(), options.grid.steps_per_unit()},
          .dimension = dimension};
}

/// The law of a point of an l2 sphere or ball.
Law law_of_point(Radial radial, Count dimension, Radius radius, Grid grid) {
  // On a sphere of dimension 1 nothing but the sign is random, and a radius between two grid points would never be decided.
  if (radial == Radial::sphere && dimension.value() == 1) {
    throw Error{ErrorCode::invalid_argument, "dimension is 1, must be at least 2 for a sphere"};
  }
  return {.shape = Shape::normal,
          .r = 2,
          .radial = radial,
          .radial_count = 0,
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
  rounding_ = std::make_shared<const VectorRounding>(law);
}

std::vector<std::int64_t> RoundedVector::operator()(BitsRef bits) const { return (*this)(bits, fastest_path()); }

std::vector<std::int64_t> RoundedVector::operator()(BitsRef bits, TrialPath path) const {
  const StandardFloatingPoint environment;
  return DrawnVector{*rounding_, bits, path, Way::integers}.rounded();
}

std::vector<std::int64_t> RoundedVector::by_definition(BitsRef bits) const {
  const StandardFloatingPoint environment;
  return DrawnVector{*rounding_, bits, fastest_path(), Way::intervals}.rounded();
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
    case Shape::exponential: return noise_.scale();
    case Shape::uniform: return noise_.scale() * dimension;
    case Shape::normal: return noise_.scale() * (law.radial == VectorLaw::Radial::none ? 1 : std::sqrt(dimension));
    case Shape::power: break;
  }
  // The radius, sigma sqrt(d), shared among the coordinates in l_r.
  return noise_.scale() * std::pow(dimension, 0.5 - 1 / law.r);
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
