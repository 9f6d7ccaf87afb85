// Noise for vectors against its exact law: radius, direction, their independence, signs, and consecutive vectors, for n = 2.5e5 vectors
// (an eightieth of sample_size: a vector takes some 2 microseconds). The grids have 2^24 steps per unit, so that rounding moves a
// distribution function by less than 1e-6, a thousandth of a standard error. Laws: docs/proofs/vector-noise.md#lp-noise. Mutants are
// right vectors changed; found_from as in mutants_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <surety/mechanisms/additive/lp_noise.h>

#include <support/norms.h>
#include <support/suite.h>

namespace surety::statistical::vector_test {
namespace {

using mechanisms::GeneralizedGaussian;
using mechanisms::KNorm;
using mechanisms::ReplayBits;

using Vector = std::vector<double>;
using testing::norm;
using Gamma = boost::math::gamma_distribution<double>;
using Beta = boost::math::beta_distribution<double>;

constexpr double inf = std::numeric_limits<double>::infinity();
const Grid fine{-24};

std::int64_t vectors() { return sample_size() / 80; }

/// A law of reals, with small relative errors.
struct RealLaw {
  std::function<double(double)> below;     ///< P(X < x)
  std::function<double(double)> from;      ///< P(X >= x)
  std::function<double(double)> quantile;  ///< near x with P(X < x) = p
  std::function<double(double)> upper;     ///< near x with P(X >= x) = p
};

template <class Distribution>
RealLaw real_law(const Distribution& law) {
  return {.below = [law](double x) { return boost::math::cdf(law, x); },
          .from = [law](double x) { return boost::math::cdf(boost::math::complement(law, x)); },
          .quantile = [law](double p) { return boost::math::quantile(law, p); },
          .upper = [law](double p) { return boost::math::quantile(boost::math::complement(law, p)); }};
}

/// Uniform on (0, 1), and 1 itself with probability p.
RealLaw uniform_or_one(double p) {
  return {.below = [p](double x) { return x * (1 - p); },
          .from = [p](double x) { return 1 - x * (1 - p); },
          .quantile = [p](double q) { return std::min(1.0, q / (1 - p)); },
          .upper = [p](double q) { return std::min(1.0, (1 - q) / (1 - p)); }};
}

/// Values of a law, in cells between quantiles: 128 of equal probability, and ever rarer ones in both tails, with ends where a normal
/// variable is beyond 3, 4 and 5 standard deviations.
class Values {
 public:
  explicit Values(const RealLaw& law) {
    std::vector<double> levels;
    for (int i = 22; i > 7; --i) levels.push_back(std::ldexp(1.0, -i));
    for (const double p : beyond) levels.push_back(p);
    for (int i = 1; i <= 64; ++i) levels.push_back(i / 128.0);
    for (const double p : levels) {
      ends_.push_back(law.quantile(p));
      ends_.push_back(law.upper(p));
    }
    std::sort(ends_.begin(), ends_.end());
    ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
    double previous = -inf;
    for (const double end : ends_) {
      // Differences of the smaller of both tails.
      const bool is_low = law.below(end) < 0.5;
      const double before = std::isinf(previous) ? 0 : is_low ? law.below(previous) : law.from(previous);
      if (std::isinf(previous)) {
        cells_.probability.push_back(law.below(end));
      } else {
        cells_.probability.push_back(is_low ? law.below(end) - before : before - law.from(end));
      }
      cells_.score.push_back(std::isinf(previous) ? end : (previous + end) / 2);
      previous = end;
    }
    cells_.probability.push_back(law.from(previous));
    cells_.score.push_back(previous);
    cells_.count.resize(cells_.size());
    double mass = 0;
    for (const double p : cells_.probability) {
      category_of_.push_back(static_cast<std::size_t>(std::min(3.0, 4 * mass)));
      category_probability_.resize(std::max(category_probability_.size(), category_of_.back() + 1));
      category_probability_[category_of_.back()] += p;
      mass += p;
    }
  }

  /// Counts a value and returns its category, about a quarter.
  std::size_t add(double value) {
    const auto cell = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), value) - ends_.begin());
    ++cells_.count[cell];
    return category_of_[cell];
  }

  [[nodiscard]] const std::vector<double>& categories() const noexcept { return category_probability_; }

  void judge(Report& report, const std::string& prefix, bool tails) const {
    judge_cells(report, prefix, cells_);
    for (std::size_t i = 0; tails && i < beyond.size(); ++i) {
      double p = 0;
      std::int64_t observed = 0;
      for (std::size_t cell = cells_.size(); cell-- > 0 && p < beyond[i] * 0.999;) {
        p += cells_.probability[cell];
        observed += cells_.count[cell];
      }
      judge_count(report, fmt::format("{}beyond {} deviations", prefix, i + 3), observed, cells_.total(), p);
    }
  }

 private:
  static constexpr std::array<double, 3> beyond{2.7e-3, 6.3e-5, 5.7e-7};

  std::vector<double> ends_;
  Cells cells_;
  std::vector<std::size_t> category_of_;
  std::vector<double> category_probability_;
};

using Draw = std::function<Vector()>;

struct Case {
  std::string name;
  double r;  ///< of the norm
  std::size_t dimension;
  std::function<double(double)> of_radius;  ///< what is judged of the norm; none where it is constant
  RealLaw radius;
  std::function<Draw(const std::string&)> make;  ///< vectors from the stream of this name
};

/// (|x_0| / norm)^r is Beta(1/r, (d - 1)/r) for a cone; for a cube, |x_0| / norm is 1 or uniform.
RealLaw share_law(double r, std::size_t dimension) {
  const auto d = static_cast<double>(dimension);
  return std::isinf(r) ? uniform_or_one(1 / d) : real_law(Beta{1 / r, (d - 1) / r});
}

Report judge(const Case& law, const Draw& draw, std::int64_t n) {
  Values shares{share_law(law.r, law.dimension)};
  Values radii{law.of_radius ? law.radius : uniform_or_one(0)};
  std::vector<std::int64_t> positive(law.dimension);
  std::int64_t alike = 0;
  const std::size_t a = shares.categories().size();
  const std::size_t b = law.of_radius ? radii.categories().size() : 1;
  std::vector<std::int64_t> radius_and_share(a * b);
  std::vector<std::int64_t> two_radii(b * b);
  std::vector<std::int64_t> two_shares(a * a);
  std::size_t last_share = 0;
  std::size_t last_radius = 0;
  std::int64_t last_sign = 0;
  std::int64_t signs_repeated = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const Vector x = draw();
    const double length = norm(x, law.r);
    const double ratio = std::abs(x[0]) / length;
    const std::size_t share = shares.add(std::isinf(law.r) ? ratio : std::pow(ratio, law.r));
    const std::size_t radius = law.of_radius ? radii.add(law.of_radius(length)) : 0;
    for (std::size_t j = 0; j < x.size(); ++j) positive[j] += x[j] > 0 ? 1 : 0;
    alike += (x.front() > 0) == (x.back() > 0) ? 1 : 0;
    ++radius_and_share[radius * a + share];
    const std::int64_t sign = x.back() > 0 ? 1 : -1;
    if (i % 2 != 0) {
      ++two_radii[last_radius * b + radius];
      ++two_shares[last_share * a + share];
      signs_repeated += sign == last_sign ? 1 : 0;
    }
    last_share = share;
    last_radius = radius;
    last_sign = sign;
  }
  Report report;
  shares.judge(report, "direction: ", false);
  for (std::size_t j = 0; j < positive.size(); ++j) judge_count(report, fmt::format("positive, coordinate {}", j), positive[j], n, 0.5);
  judge_count(report, "first and last coordinates of one sign", alike, n, 0.5);
  judge_count(report, "signs of consecutive vectors", signs_repeated, n / 2, 0.5);
  judge_pairs(report, "consecutive directions,", shares.categories(), shares.categories(), two_shares);
  if (law.of_radius) {
    radii.judge(report, "radius: ", true);
    judge_pairs(report, "radius and direction,", radii.categories(), shares.categories(), radius_and_share);
    judge_pairs(report, "consecutive radii,", radii.categories(), radii.categories(), two_radii);
  }
  return report;
}

template <class Mechanism>
Draw releases(const Mechanism& mechanism, const std::string& stream) {
  auto bits = std::make_shared<ReplayBits>(ReplayBits{seed}.substream(stream));
  const GridVector zero{fine, std::vector<std::int64_t>(mechanism.options().dimension.value())};
  return [=] { return mechanism.release(zero, *bits); };
}

/// b = 1.5 x 2 = 3.
Case k_norm(const std::string& name, decltype(KNorm::Options::sensitivity) sensitivity, double r, std::uint64_t dimension) {
  const KNorm mechanism{{.scale = NoiseScale{1.5},
                         .sensitivity = sensitivity,
                         .grid = fine,
                         .dimension = Count{dimension},
                         .adjacency = Adjacency::replace_one}};
  return {.name = fmt::format("K-norm {}, dimension {}", name, dimension),
          .r = r,
          .dimension = dimension,
          .of_radius = [](double length) { return length; },
          .radius = real_law(Gamma{static_cast<double>(dimension), 3}),
          .make = [=](const std::string& stream) { return releases(mechanism, stream); }};
}

/// sigma = 2.5 x 2 = 5: the radius squared is Gamma(d / 2, scale 50).
Case generalized_gaussian(double r, std::uint64_t dimension) {
  const GeneralizedGaussian mechanism{{.r = NormExponent{r},
                                       .multiplier = NoiseMultiplier{2.5},
                                       .sensitivity = LrSensitivity{2},
                                       .grid = fine,
                                       .dimension = Count{dimension},
                                       .adjacency = Adjacency::replace_one}};
  return {.name = fmt::format("generalized Gaussian, r {}, dimension {}", r, dimension),
          .r = r,
          .dimension = dimension,
          .of_radius = [](double length) { return length * length; },
          .radius = real_law(Gamma{static_cast<double>(dimension) / 2, 50}),
          .make = [=](const std::string& stream) { return releases(mechanism, stream); }};
}

Case points(bool is_ball, std::uint64_t dimension) {
  return {.name = fmt::format("uniform {}, dimension {}", is_ball ? "in the ball" : "on the sphere", dimension),
          .r = 2,
          .dimension = dimension,
          .of_radius = is_ball ? [](double length) { return length / 2; } : std::function<double(double)>{},
          .radius = real_law(Beta{static_cast<double>(dimension), 1}),
          .make = [=](const std::string& stream) -> Draw {
            auto bits = std::make_shared<ReplayBits>(ReplayBits{seed}.substream(stream));
            return [=] {
              const Count d{dimension};
              const Radius two{2};
              return mechanisms::to_reals(is_ball ? mechanisms::uniform_in_ball(d, two, fine, *bits)
                                                  : mechanisms::uniform_on_sphere(d, two, fine, *bits));
            };
          }};
}

std::vector<Case> cases() {
  return {k_norm("l1", L1Sensitivity{2}, 1, 3),
          k_norm("l1", L1Sensitivity{2}, 1, 8),
          k_norm("l2", L2Sensitivity{2}, 2, 3),
          k_norm("l2", L2Sensitivity{2}, 2, 8),
          k_norm("linf", LinfSensitivity{2}, inf, 2),
          k_norm("linf", LinfSensitivity{2}, inf, 8),
          generalized_gaussian(2, 3),
          generalized_gaussian(3, 8),
          generalized_gaussian(8.5, 3),
          points(false, 3),
          points(false, 8),
          points(true, 3)};
}

std::string identifier(const std::string& text) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

class VectorSamples : public ::testing::TestWithParam<Case> {};

TEST_P(VectorSamples, FitTheirLaw) {
  const auto& law = GetParam();
  const auto report = judge(law, law.make(law.name), vectors());
  report_fit(law.name, vectors(), report);
  EXPECT_TRUE(fits(report));
}

INSTANTIATE_TEST_SUITE_P(Laws, VectorSamples, ::testing::ValuesIn(cases()), [](const auto& test) { return identifier(test.param.name); });

TEST(UniformOnSphere, LiesOnTheSphere) {
  const auto draw = points(false, 8).make("length");
  for (int i = 0; i < 10000; ++i) ASSERT_NEAR(norm(draw(), 2), 2, std::sqrt(8.0) / 2 * fine.step() * (1 + 1e-6));
}

// ---- Mutants --------------------------------------------------------------------------------------------------------------------------

struct Mutant {
  std::string name;
  double found_from;
  Case law;
  std::function<Draw(const Draw& right)> mutation;
};

Vector times(Vector x, double factor) {
  for (auto& value : x) value *= factor;
  return x;
}

/// Another radius for the same direction.
std::function<Draw(const Draw&)> with_radius(double r, const std::function<double(std::mt19937_64&)>& radius) {
  return [=](const Draw& right) -> Draw {
    auto words = std::make_shared<std::mt19937_64>(seed);
    return [=] {
      const Vector x = right();
      return times(x, radius(*words) / norm(x, r));
    };
  };
}

std::vector<Mutant> mutants() {
  const auto l2 = k_norm("l2", L2Sensitivity{2}, 2, 8);
  const auto cone = generalized_gaussian(3, 8);
  const auto scaled = [](double factor) { return [=](const Draw& right) -> Draw { return [=] { return times(right(), factor); }; }; };
  const auto gamma = [](double shape, double scale) {
    return [=](std::mt19937_64& words) { return std::gamma_distribution<double>{shape, scale}(words); };
  };
  const auto root = [=](double shape, double scale) {
    return [=](std::mt19937_64& words) { return std::sqrt(gamma(shape, scale)(words)); };
  };
  return {
      // The squared radius as misprinted: of scale 2 sigma = 10 instead of 2 sigma^2 = 50.
      {"the misprinted radial law", 1e4, cone, with_radius(3, root(4, 10))},
      {"a radius of Gamma((d - 1) / 2)", 1e4, cone, with_radius(3, root(3.5, 50))},
      {"a radius of Gamma(d - 1)", 1e4, l2, with_radius(2, gamma(7, 3))},
      {"b read as 1 / b", 1e4, l2, scaled(1 / 9.0)},
      // A relative standard error of the mean is 1 / sqrt(8 n), of the squared one 1 / sqrt(4 n).
      {"scale + 0.3 %", 2e6, l2, scaled(1.003)},
      {"scale - 0.3 %", 2e6, l2, scaled(0.997)},
      {"scale + 0.3 %", 1e6, cone, scaled(1.003)},
      {"a normalised point of a cube for a direction", 1e5, l2,
       [](const Draw& right) -> Draw {
         auto words = std::make_shared<std::mt19937_64>(seed);
         return [=] {
           Vector x(8);
           std::uniform_real_distribution<double> side{-1, 1};
           for (auto& value : x) value = side(*words);
           return times(x, norm(right(), 2) / norm(x, 2));
         };
       }},
      {"the direction of l2 for l3", 1e5, cone,
       [](const Draw& right) -> Draw {
         const auto other = generalized_gaussian(2, 8).make("direction");
         return [=] {
           const Vector x = other();
           return times(x, norm(right(), 3) / norm(x, 3));
         };
       }},
      {"one direction for two vectors, once in 32", 2e5, l2,
       [](const Draw& right) -> Draw {
         auto words = std::make_shared<std::mt19937_64>(seed);
         auto last = std::make_shared<Vector>(8, 1.0);
         return [=] {
           const Vector x = right();
           const bool repeats = (*words)() % 32 == 0;
           const Vector y = repeats ? times(*last, norm(x, 2) / norm(*last, 2)) : x;
           *last = x;
           return y;
         };
       }},
      {"first coordinate positive once more in 64", 2e5, l2,
       [](const Draw& right) -> Draw {
         auto words = std::make_shared<std::mt19937_64>(seed);
         return [=] {
           Vector x = right();
           if ((*words)() % 32 == 0) x[0] = std::abs(x[0]);
           return x;
         };
       }},
  };
}

class VectorMutants : public ::testing::TestWithParam<Mutant> {};

TEST_P(VectorMutants, AreFound) {
  const auto& [name, found_from, law, mutation] = GetParam();
  const auto n = vectors();
  const auto report = judge(law, mutation(law.make("mutant")), n);
  report_line(
      fmt::format("| {}, {} | {} | {} | {:.0g} |", name, law.name, n, report.alarms() ? report.alarming() : "not found", report.worst().p));
  if (static_cast<double>(n) >= found_from) {
    EXPECT_TRUE(report.alarms()) << report.worst().statistic << ": " << report.worst().detail;
  }
}

INSTANTIATE_TEST_SUITE_P(Planted, VectorMutants, ::testing::ValuesIn(mutants()),
                         [](const auto& test) { return identifier(test.param.name) + std::to_string(test.index); });

}  // namespace
}  // namespace surety::statistical::vector_test
