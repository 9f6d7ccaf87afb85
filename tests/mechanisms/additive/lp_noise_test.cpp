// n = 32,768 vectors per law, seed 20261121; exact binomial tails of the number of values below each of 15 quantiles, false alarm 1e-10 per
// statistic (exact_counts.h). Detected with probability 0.999: a shift of 0.03 in a distribution function, which is 2 % of a scale in
// dimension 16. The grids have 2^20 steps per unit of noise, so that rounding moves a distribution function by about 1e-6.
#include <surety/mechanisms/additive/lp_noise.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/asked.h>

#include <surety/mechanisms/samplers/trial_loops.h>

#include <support/exact_counts.h>
#include <support/ideal_tapes.h>
#include <support/norms.h>
#include <support/real.h>
#include <support/refusal.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::lp_noise_test {
namespace {

using namespace reference;
using namespace testing;

constexpr std::uint64_t seed = 20261121;
constexpr std::int64_t vectors = 1 << 15;
const Grid fine{-20};

using Vector = std::vector<double>;
using Sensitivity = decltype(KNorm::Options::sensitivity);

/// Whether values have a continuous law, by their number below its quantiles i / 16.
template <class Distribution>
::testing::AssertionResult have_law(const std::vector<double>& values, const Distribution& law) {
  constexpr int parts = 16;
  for (int i = 1; i < parts; ++i) {
    const double p = static_cast<double>(i) / parts;
    const double end = boost::math::quantile(law, p);
    const auto below = std::count_if(values.begin(), values.end(), [end](double value) { return value < end; });
    if (testing::is_rare(below, static_cast<std::int64_t>(values.size()), p, testing::false_alarm / (parts - 1))) {
      return ::testing::AssertionFailure() << below << " of " << values.size() << " lie below the quantile of " << p;
    }
  }
  return ::testing::AssertionSuccess() << "have it";
}

std::vector<double> norms(const std::vector<Vector>& sample, double r) {
  std::vector<double> result;
  for (const auto& x : sample) result.push_back(norm(x, r));
  return result;
}

/// |x_0|^r over ||x||_r^r, which is Beta(1/r, (d - 1)/r) for a cone, and signs of all coordinates.
std::vector<double> shares(const std::vector<Vector>& sample, double r) {
  std::vector<double> result;
  for (const auto& x : sample) result.push_back(std::pow(std::abs(x[0]) / norm(x, r), r));
  return result;
}

::testing::AssertionResult have_fair_signs(const std::vector<Vector>& sample) {
  const std::size_t d = sample.front().size();
  std::vector<std::int64_t> positive(d);
  std::int64_t alike = 0;
  for (const auto& x : sample) {
    for (std::size_t j = 0; j < d; ++j) positive[j] += x[j] > 0 ? 1 : 0;
    alike += (x[0] > 0) == (x[d - 1] > 0) ? 1 : 0;
  }
  for (std::size_t j = 0; j < d; ++j) {
    if (testing::is_rare(positive[j], vectors, 0.5, testing::false_alarm / static_cast<double>(d))) {
      return ::testing::AssertionFailure() << positive[j] << " are positive in coordinate " << j;
    }
  }
  if (d > 1 && testing::is_rare(alike, vectors, 0.5, testing::false_alarm)) {
    return ::testing::AssertionFailure() << alike << " have first and last coordinates of one sign";
  }
  return ::testing::AssertionSuccess() << "are fair";
}

template <class Mechanism>
std::vector<Vector> draw(const Mechanism& mechanism, std::string_view stream) {
  auto bits = ReplayBits{seed}.substream(stream);
  const auto dimension = mechanism.options().dimension.value();
  const GridVector zero{mechanism.options().grid, std::vector<std::int64_t>(dimension)};
  std::vector<Vector> sample;
  for (std::int64_t i = 0; i < vectors; ++i) sample.push_back(mechanism.release(zero, bits));
  return sample;
}

std::vector<Vector> scaled(std::vector<Vector> sample, const std::function<double(const Vector&)>& factor) {
  for (auto& x : sample) {
    const double by = factor(x);
    for (auto& value : x) value *= by;
  }
  return sample;
}

KNorm k_norm(double scale, Sensitivity sensitivity, std::uint64_t dimension, Grid grid = fine) {
  return KNorm{{.scale = NoiseScale{scale},
                .sensitivity = sensitivity,
                .grid = grid,
                .dimension = Count{dimension},
                .adjacency = Adjacency::replace_one}};
}

GeneralizedGaussian generalized_gaussian(double r, double multiplier, double sensitivity, std::uint64_t dimension, Grid grid = fine) {
  return GeneralizedGaussian{{.r = NormExponent{r},
                              .multiplier = NoiseMultiplier{multiplier},
                              .sensitivity = LrSensitivity{sensitivity},
                              .grid = grid,
                              .dimension = Count{dimension},
                              .adjacency = Adjacency::replace_one}};
}

using Gamma = boost::math::gamma_distribution<double>;
using Beta = boost::math::beta_distribution<double>;

// ---- Laws, and mutants made from true samples -----------------------------------------------------------------------------------

void expect_k_norm_law(double r, Sensitivity sensitivity, std::uint64_t d, std::string_view stream) {
  // b = 1.5 x 2 = 3.
  const auto sample = draw(k_norm(1.5, sensitivity, d), stream);
  const Gamma radius{static_cast<double>(d), 3};
  EXPECT_TRUE(have_law(norms(sample, r), radius));
  EXPECT_TRUE(have_fair_signs(sample));
  EXPECT_FALSE(have_law(norms(scaled(sample, [](const Vector&) { return 1.02; }), r), radius));
  EXPECT_FALSE(have_law(norms(scaled(sample, [](const Vector&) { return 1 / 1.02; }), r), radius));
  // The radius of one dimension less.
  std::mt19937_64 words{seed};
  std::gamma_distribution<double> short_radius{static_cast<double>(d - 1), 3};
  EXPECT_FALSE(have_law(norms(scaled(sample, [&](const Vector& x) { return short_radius(words) / norm(x, r); }), r), radius));
  // b read as 1 / b.
  EXPECT_FALSE(have_law(norms(scaled(sample, [](const Vector&) { return 1 / 9.0; }), r), radius));
}

TEST(KNormL1, HasItsLaw) {
  expect_k_norm_law(1, L1Sensitivity{2}, 16, "l1");
  const auto sample = draw(k_norm(1.5, L1Sensitivity{2}, 3), "l1 direction");
  EXPECT_TRUE(have_law(shares(sample, 1), Beta{1, 2}));
  EXPECT_FALSE(have_law(shares(sample, 2), Beta{0.5, 1}));  // not the direction of l2
}

TEST(KNormL2, HasItsLaw) {
  expect_k_norm_law(2, L2Sensitivity{2}, 16, "l2");
  const auto sample = draw(k_norm(1.5, L2Sensitivity{2}, 3), "l2 direction");
  EXPECT_TRUE(have_law(shares(sample, 2), Beta{0.5, 1}));
  // A direction that is a normalised point of a cube.
  std::mt19937_64 words{seed};
  std::uniform_real_distribution<double> side{-1, 1};
  std::vector<Vector> cubic;
  for (std::int64_t i = 0; i < vectors; ++i) cubic.push_back({side(words), side(words), side(words)});
  EXPECT_FALSE(have_law(shares(cubic, 2), Beta{0.5, 1}));
}

TEST(KNormLinf, HasItsLaw) {
  const double inf = std::numeric_limits<double>::infinity();
  expect_k_norm_law(inf, LinfSensitivity{2}, 16, "linf");
  // Given the largest coordinate, the others are uniform; here the share of the smaller of two.
  const auto sample = draw(k_norm(1.5, LinfSensitivity{2}, 2), "linf direction");
  const auto smaller = [](const std::vector<Vector>& of) {
    std::vector<double> result;
    for (const auto& x : of) result.push_back(std::min(std::abs(x[0]), std::abs(x[1])) / std::max(std::abs(x[0]), std::abs(x[1])));
    return result;
  };
  EXPECT_TRUE(have_law(smaller(sample), Beta{1, 1}));
  EXPECT_FALSE(have_law(smaller(draw(k_norm(1.5, L2Sensitivity{2}, 2), "l2 for linf")), Beta{1, 1}));
}

TEST(GeneralizedGaussian, HasItsLaw) {
  // sigma = 2.5 x 2 = 5: the radius squared is Gamma(d / 2, scale 50), of mean 25 d.
  for (const double r : {2.0, 3.0, 8.5}) {
    for (const std::uint64_t d : {15U, 16U}) {
      const auto sample = draw(generalized_gaussian(r, 2.5, 2, d), "generalized gaussian");
      const Gamma squared{static_cast<double>(d) / 2, 50};
      const auto squares = [r](const std::vector<Vector>& of, double factor) {
        auto result = norms(of, r);
        for (auto& value : result) value *= value * factor;
        return result;
      };
      EXPECT_TRUE(have_law(squares(sample, 1), squared)) << r << " " << d;
      EXPECT_TRUE(have_fair_signs(sample));
      EXPECT_TRUE(have_law(shares(sample, r), Beta{1 / r, (static_cast<double>(d) - 1) / r})) << r << " " << d;
      // The scale of the radial law misprinted as 2 sigma instead of 2 sigma^2: everything is too small by sqrt(sigma).
      EXPECT_FALSE(have_law(squares(sample, 1.0 / 5), squared));
      EXPECT_FALSE(have_law(squares(sample, 1.03), squared));
      EXPECT_FALSE(have_law(squares(sample, 1 / 1.03), squared));
      // Gamma((d - 1) / 2).
      std::mt19937_64 words{seed};
      std::gamma_distribution<double> short_square{(static_cast<double>(d) - 1) / 2, 50};
      std::vector<double> mutant;
      for (std::int64_t i = 0; i < vectors; ++i) mutant.push_back(short_square(words));
      EXPECT_FALSE(have_law(mutant, squared));
      // The direction of a neighbouring norm.
      EXPECT_FALSE(have_law(shares(sample, r), Beta{1 / (r + 0.5), (static_cast<double>(d) - 1) / (r + 0.5)}));
    }
  }
}

TEST(GeneralizedGaussian, IsGaussianForREqualTo2) {
  const auto sample = draw(generalized_gaussian(2, 2.5, 2, 3), "gaussian");
  std::vector<double> coordinate;
  for (const auto& x : sample) coordinate.push_back(x[1] * x[1]);
  EXPECT_TRUE(have_law(coordinate, Gamma{0.5, 50}));
}

TEST(UniformPoints, HaveTheirLaw) {
  auto bits = ReplayBits{seed}.substream("points");
  std::vector<Vector> sphere;
  std::vector<Vector> ball;
  for (std::int64_t i = 0; i < vectors; ++i) {
    sphere.push_back(to_reals(uniform_on_sphere(Count{3}, Radius{2}, fine, bits)));
    ball.push_back(to_reals(uniform_in_ball(Count{3}, Radius{2}, fine, bits)));
  }
  for (const double length : norms(sphere, 2)) ASSERT_NEAR(length, 2, 1e-6);
  // Archimedes: a coordinate of the sphere is uniform on (-2, 2), and so (1 + x / 2) / 2 on (0, 1).
  std::vector<double> height;
  for (const auto& x : sphere) height.push_back((1 + x[2] / 2) / 2);
  EXPECT_TRUE(have_law(height, Beta{1, 1}));
  auto radii = norms(ball, 2);
  for (auto& length : radii) length /= 2;
  EXPECT_TRUE(have_law(radii, Beta{3, 1}));
  EXPECT_TRUE(have_law(shares(ball, 2), Beta{0.5, 1}));
  EXPECT_TRUE(have_fair_signs(ball));
  EXPECT_FALSE(have_law(radii, Beta{2, 1}));
}

// ---- Exactness ------------------------------------------------------------------------------------------------------------------

// In one dimension every k-norm noise is Laplace: |k| >= j if and only if E >= (j - 1/2) / b. The limits are found at 159 and at 223 digits.
TEST(KNorm, HasExactlyTheLaplaceDistributionInOneDimension) {
  const Real b = Real{1.7} * 3.0 * 4.0;  // b = 1.7 x 3 as real numbers multiply, times 4 steps
  const GridVector zero{Grid{-2}, {0}};
  for (const Sensitivity& sensitivity : {Sensitivity{L1Sensitivity{3}}, Sensitivity{L2Sensitivity{3}}, Sensitivity{LinfSensitivity{3}}}) {
    const auto mechanism = k_norm(1.7, sensitivity, 1, Grid{-2});
    for (int j = 1; j <= 70; j += 3) {
      const testing::IdealDigits limit{(Real{static_cast<double>(j)} - 0.5) / b};
      const auto steps = [&](const testing::IdealDigits& digits, std::uint64_t sign, std::vector<std::uint64_t> more) {
        auto tape = testing::exponential_tape(digits.k, digits.f, {0, 0});
        tape.insert(tape.begin(), sign);
        tape.insert(tape.end(), more.begin(), more.end());
        ScriptedBits bits{tape};
        const double value = mechanism.release(zero, bits)[0] * 4;
        EXPECT_EQ(bits.used(), tape.size()) << j;
        return value;
      };
      EXPECT_EQ(steps(limit.moved_by(-1), 0, {}), j - 1);
      EXPECT_EQ(steps(limit.moved_by(1), 0, {}), j);
      EXPECT_EQ(steps(limit.moved_by(1), 1, {}), -j);
      EXPECT_EQ(steps(limit, 0, {limit.next - 1}), j - 1);
      EXPECT_EQ(steps(limit, 0, {limit.next + 1}), j);
    }
  }
}

/// What integers decide is what intervals decide, from the same bits, by every path of instructions.
TEST(RoundedVector, DrawsWhatItsDefinitionSays) {
  using Shape = VectorLaw::Shape;
  using Radial = VectorLaw::Radial;
  std::uint64_t stream = 0;
  const auto expect = [&](Shape shape, double r, Radial radial, std::uint64_t count, std::size_t d, double steps) {
    const RoundedVector noise{
        {.shape = shape, .r = r, .radial = radial, .radial_count = count, .scale = {1.1, 0.9, steps}, .dimension = d}};
    for (int i = 0; i < (d > 10 ? 1 : 12); ++i) {
      ++stream;
      ReplayBits same{stream};
      const auto expected = noise.by_definition(same);
      for (const auto path : available_paths()) {
        ReplayBits bits{stream};
        ASSERT_EQ(noise(bits, path), expected) << "d " << d << ", r " << r << ", " << steps << " steps, by " << name_of(path);
      }
    }
  };
  for (const std::size_t d : {1U, 2U, 3U, 8U, 70U}) {
    for (const double steps : {0.25, 0x1p10, 0x1p30, 0x1p56}) {
      expect(Shape::exponential, 2, Radial::none, 0, d, steps);
      expect(Shape::normal, 2, Radial::none, 0, d, steps);
      expect(Shape::uniform, 2, Radial::gamma, d + 1, d, steps);
      expect(Shape::normal, 2, Radial::root_of_chi_square, d + 1, d, steps);
      expect(Shape::normal, 2, Radial::ball, 0, d, steps);
      if (d == 1) continue;
      expect(Shape::normal, 2, Radial::sphere, 0, d, steps);
      for (const double r : {2.5, 3.0, 77.7, 0x1p20}) expect(Shape::power, r, Radial::root_of_chi_square, d, d, steps);
    }
  }
}

// A coin whose first 128 digits are those of 1 / (1 + e r): the next one decides, and integers round what it decided.
TEST(RoundedVector, RoundsWhatACoinInDoubtDecided) {
  const double r = 3;
  const RoundedVector noise{{.shape = VectorLaw::Shape::power,
                             .r = r,
                             .radial = VectorLaw::Radial::root_of_chi_square,
                             .radial_count = 2,
                             .scale = {1, 1, 0x1p20},
                             .dimension = 2}};
  const testing::IdealDigits coin{1 / (exp(Real{1}) * r + 1.0) * 0x1p-31};
  int differ = 0;
  for (std::uint64_t stream = 0; stream < 20; ++stream) {
    // Signs; 16 trials of two words for six exponentials, two further words, their digits and U; six uniforms; then the coins.
    constexpr std::size_t at = 1 + 34 + 14 + 18;
    std::vector<std::uint64_t> words(400);
    ReplayBits bits{stream};
    draw_words(bits, words);
    words[at] = coin.f[0];
    words[at + 1] = coin.f[1];
    std::vector<std::vector<std::int64_t>> results;
    for (const std::uint64_t next : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      words[at + 24] = next;
      ScriptedBits one{words};
      ScriptedBits other{words};
      results.push_back(noise(one));
      EXPECT_EQ(results.back(), noise.by_definition(other)) << stream;
    }
    differ += results[0] != results[1] ? 1 : 0;
  }
  EXPECT_GE(differ, 15);
}

// The same bits on grids that are finer and finer. Each result is the rounding of the finest.
TEST(RoundedVector, AgreesWithItselfOnFinerGrids) {
  const auto expect_agreement = [](const auto& make) {
    for (const std::uint64_t d : {1U, 5U, 100U}) {
      const std::uint64_t streams = d == 100 ? 3 : 60;
      for (std::uint64_t stream = 0; stream < streams; ++stream) {
        ReplayBits finest_bits{stream};
        const auto finest = make(Grid{-52}, d).release({Grid{-52}, std::vector<std::int64_t>(d)}, finest_bits);
        for (const int log2_step : {0, -10, -30, -40, -42}) {
          ReplayBits bits{stream};
          const Grid grid{log2_step};
          const auto coarse = make(grid, d).release({grid, std::vector<std::int64_t>(d)}, bits);
          for (std::size_t i = 0; i < d; ++i) {
            // The finest has few digits beyond the coarse one: within them a tie is not to be judged.
            const double steps = finest[i] / grid.step();
            if (std::abs(std::abs(steps - std::round(steps)) - 0.5) < 0x1p-8) continue;
            EXPECT_EQ(coarse[i], std::round(steps) * grid.step()) << log2_step;
          }
        }
      }
    }
  };
  expect_agreement([](Grid grid, std::uint64_t d) { return k_norm(1, L1Sensitivity{1}, d, grid); });
  expect_agreement([](Grid grid, std::uint64_t d) { return k_norm(1, L2Sensitivity{1}, d, grid); });
  expect_agreement([](Grid grid, std::uint64_t d) { return k_norm(1, LinfSensitivity{1}, d, grid); });
  expect_agreement([](Grid grid, std::uint64_t d) { return generalized_gaussian(2, 1, 1, d, grid); });
  expect_agreement([](Grid grid, std::uint64_t d) { return generalized_gaussian(3.7, 1, 1, d, grid); });
  expect_agreement([](Grid grid, std::uint64_t d) { return generalized_gaussian(0x1p20, 1, 1, d, grid); });
}

// Uniforms at the very ends of their cells: nothing divides by zero, takes a logarithm of it for a number, or never ends.
TEST(RoundedVector, SurvivesExtremeBits) {
  const std::uint64_t ones = ~std::uint64_t{0};
  const std::uint64_t middle = 0x8123456789abcdef;
  for (const std::uint64_t extreme : {std::uint64_t{0}, ones, std::uint64_t{1}, ones - 1}) {
    for (std::size_t place = 0; place < 6; ++place) {
      std::vector<std::uint64_t> words(2000, middle);
      words[place] = extreme;
      for (std::size_t i = 6; i < words.size(); ++i) words[i] = middle * (2 * i + 1);
      const GridVector zero{fine, {0}};
      for (const auto& noise : {k_norm(1, L2Sensitivity{1}, 1), k_norm(1, L1Sensitivity{1}, 1), k_norm(1, LinfSensitivity{1}, 1)}) {
        ScriptedBits bits{words};
        EXPECT_LT(std::abs(noise.release(zero, bits)[0]), 300);
      }
      ScriptedBits bits{words};
      EXPECT_LT(std::abs(generalized_gaussian(3, 1, 1, 1).release(zero, bits)[0]), 300);
    }
  }
}

// ---- What it costs, by number ---------------------------------------------------------------------------------------------------

/// log of the integral of exp(-||x||_r / b) over the unit cell around (i, j): the mass of a grid point, up to the common constant.
double log_mass(double r, double b, double i, double j) {
  const auto inner = [&](double x) {
    return boost::math::quadrature::gauss_kronrod<double, 15>::integrate(
        [&](double y) {
          return std::exp(-norm({x, y}, r) / b);
        },
        j - 0.5, j + 0.5, 5, 1e-10);
  };
  return std::log(boost::math::quadrature::gauss_kronrod<double, 15>::integrate(inner, i - 0.5, i + 0.5, 5, 1e-10));
}

// Neighbouring queries 0 and v, ||v|| = 6 steps: the loss at every grid point is at most 6 / b, what event() promises, and attained far
// out.
TEST(KNorm, LosesWhatItsEventSays) {
  struct Case {
    Sensitivity sensitivity;
    double r;
    double vx;
    double vy;
  };
  const double inf = std::numeric_limits<double>::infinity();
  const double scale = 1.25;
  const double b = scale * 6;  // in steps of 1
  for (const auto& [sensitivity, r, vx, vy] :
       {Case{L1Sensitivity{6}, 1, 2, 4}, Case{L2Sensitivity{6}, 2, 6, 0}, Case{LinfSensitivity{6}, inf, 6, 3}}) {
    double largest = 0;
    for (int i = -60; i <= 60; i += 6) {
      for (int j = -60; j <= 60; j += 6) largest = std::max(largest, log_mass(r, b, i - vx, j - vy) - log_mass(r, b, i, j));
    }
    const auto claimed = accounting::epsilon(accounting::Pld{}, k_norm(scale, sensitivity, 2, Grid{0}).event(), Delta{0});
    EXPECT_LE(largest, claimed.upper * (1 + 1e-8)) << r;
    EXPECT_GE(largest * 1.01, claimed.upper) << r;
  }
  // A sensitivity in one norm is not one in another: the same v with the noise of l-infinity breaks the promise of l1.
  EXPECT_GT(log_mass(1, b, 0, 0) - log_mass(1, b, 6, 6), 1.3 / scale);
}

/// delta(epsilon) between density exp(-||x||_r^2 / (2 sigma^2)) and its shift by v, in two dimensions, by a sum of step sigma / 40.
double delta_of_shift(double r, double sigma, double vx, double vy, double epsilon) {
  const double step = sigma / 40;
  double excess = 0;
  double mass = 0;
  for (int i = -320; i <= 320; ++i) {
    for (int j = -320; j <= 320; ++j) {
      const double x = i * step;
      const double y = j * step;
      const double p = std::exp(-std::pow(norm({x - vx, y - vy}, r) / sigma, 2) / 2);
      const double q = std::exp(-std::pow(norm({x, y}, r) / sigma, 2) / 2);
      mass += q;
      excess += std::max(0.0, p - std::exp(epsilon) * q);
    }
  }
  return excess / mass;
}

// Neighbouring queries 0 and v, ||v||_r = 1: delta is at most what an accountant makes of event(), which is an upper bound alone. With the
// misprinted radial law, that is with sqrt(sigma) for sigma, it would be more.
TEST(GeneralizedGaussian, LosesNoMoreThanItsEventSays) {
  const double sigma = 3;
  for (const double r : {2.0, 3.0, 8.0}) {
    const double diagonal = std::pow(0.5, 1 / r);
    for (const double epsilon : {0.2, 0.5}) {
      const auto claimed = accounting::delta(accounting::Zcdp{}, generalized_gaussian(r, sigma, 1, 2).event(), Epsilon{epsilon});
      EXPECT_LE(delta_of_shift(r, sigma, 1, 0, epsilon), claimed.upper) << r;
      EXPECT_LE(delta_of_shift(r, sigma, diagonal, diagonal, epsilon), claimed.upper) << r;
      if (r == 2) {
        EXPECT_GT(delta_of_shift(r, std::sqrt(sigma), 1, 0, epsilon), claimed.upper);
      }
    }
  }
}

TEST(LpNoise, SaysItsEvent) {
  const auto adjacency = Adjacency::replace_one;
  EXPECT_EQ(k_norm(1.5, L1Sensitivity{2}, 7).event(), k_norm(NormName::l1, Count{7}, NoiseScale{1.5}, adjacency));
  EXPECT_EQ(k_norm(1.5, L2Sensitivity{2}, 7).event(), k_norm(NormName::l2, Count{7}, NoiseScale{1.5}, adjacency));
  EXPECT_EQ(k_norm(1.5, LinfSensitivity{2}, 7).event(), k_norm(NormName::linf, Count{7}, NoiseScale{1.5}, adjacency));
  EXPECT_EQ(generalized_gaussian(3, 1.5, 2, 7).event(), generalized_gaussian(NormExponent{3}, Count{7}, NoiseMultiplier{1.5}, adjacency));
}

TEST(LpNoise, AddsToTheQueryAndSaturates) {
  ReplayBits one{4};
  ReplayBits other{4};
  const auto mechanism = k_norm(1, L2Sensitivity{1}, 3, Grid{-4});
  const auto noise = mechanism.release({Grid{-4}, {0, 0, 0}}, one);
  const auto noisy = mechanism.release({Grid{-4}, {160, -32, 16}}, other);
  EXPECT_EQ(noisy, (Vector{noise[0] + 10, noise[1] - 2, noise[2] + 1}));
  ReplayBits bits{5};
  const double limit = std::ldexp(static_cast<double>(largest_sum), -4);
  for (const double value : mechanism.release({Grid{-4}, {largest_sum, -largest_sum, largest_sum}}, bits)) {
    EXPECT_LE(std::abs(value), limit);
    EXPECT_GT(std::abs(value), limit - 1e6);
  }
}

// The release on the grid of the rounded query, with the noise of the sensitivity after rounding: in doubles and in floats, in place.
TEST(LpNoise, OnRealsChargesTheRounding) {
  const Grid grid{-4};
  const std::vector<double> query{0.03, 0.04, -0.04, 100, 1e308, std::nan(""), -1e308, -0.0, 7};
  const GridVector rounded{grid, {0, 1, -1, 1600, largest_sum, 0, -largest_sum, 0, 112}};
  const auto expect = [&](const auto& on_reals, const auto& on_grid) {
    EXPECT_EQ(on_reals.event(), on_grid.event());
    ReplayBits bits{1};
    ReplayBits same{1};
    auto values = query;
    on_reals.release_in_place(values, bits);
    EXPECT_EQ(values, on_grid.release(rounded, same));
    ReplayBits again{1};
    std::vector<float> floats(query.begin(), query.end());
    on_reals.release_in_place(floats, again);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(static_cast<double>(floats[i]), std::clamp(values[i], -0x1p20, 0x1p20));
    EXPECT_THROW(on_reals.release_in_place(std::span{values}.first(3), bits), Error);
  };
  const auto k_norm_options = [&](Sensitivity sensitivity) {
    return KNorm::Options{
        .scale = NoiseScale{2}, .sensitivity = sensitivity, .grid = grid, .dimension = Count{9}, .adjacency = Adjacency::replace_one};
  };
  expect(KNormOnReals{k_norm_options(L1Sensitivity{3})}, KNorm{k_norm_options(L1Sensitivity{3 + 9.0 / 16})});
  expect(KNormOnReals{k_norm_options(L2Sensitivity{3})}, KNorm{k_norm_options(L2Sensitivity{3 + 3.0 / 16})});
  expect(KNormOnReals{k_norm_options(LinfSensitivity{3})}, KNorm{k_norm_options(LinfSensitivity{3 + 1.0 / 16})});
  const auto gaussian_options = [&](double r, LrSensitivity sensitivity) {
    return GeneralizedGaussian::Options{.r = NormExponent{r},
                                        .multiplier = NoiseMultiplier{2},
                                        .sensitivity = sensitivity,
                                        .grid = grid,
                                        .dimension = Count{9},
                                        .adjacency = Adjacency::replace_one};
  };
  for (const double r : {2.0, 3.0, 0x1p20}) {
    const auto after = after_rounding(LrSensitivity{3}, NormExponent{r}, grid, 9);
    EXPECT_NEAR(after.value(), 3 + std::pow(9, 1 / r) / 16, 1e-15);
    EXPECT_GE(after.value(), 3 + std::pow(9, 1 / r) / 16 - 1e-16);
    expect(GeneralizedGaussianOnReals{gaussian_options(r, LrSensitivity{3})}, GeneralizedGaussian{gaussian_options(r, after)});
  }
  const KNormOnReals fine_noise{{.scale = NoiseScale{1},
                                 .sensitivity = L1Sensitivity{1},
                                 .grid = Grid{-30},
                                 .dimension = Count{1},
                                 .adjacency = Adjacency::replace_one}};
  std::vector<float> one{1};
  ReplayBits bits{1};
  EXPECT_THROW(fine_noise.release_in_place(one, bits), Error);
  EXPECT_EQ(one, std::vector<float>{1});
}

// What grids for floats are measured by: within a factor of 3 of the root of the mean square, whatever the norm and the dimension.
TEST(LpNoise, KnowsAboutHowLargeACoordinateIs) {
  const auto near = [](const auto& mechanism, std::uint64_t dimension) {
    double square = 0;
    constexpr int draws = 400;
    ReplayBits bits{8};
    for (int i = 0; i < draws; ++i) {
      const double value = mechanism.release({Grid{-10}, std::vector<std::int64_t>(dimension)}, bits).front() * 1024;
      square += value * value / draws;
    }
    const double ratio = std::sqrt(square) / mechanism.coordinate_in_steps();
    EXPECT_GT(ratio, 1.0 / 3);
    EXPECT_LT(ratio, 3);
  };
  for (const std::uint64_t dimension : {1, 4, 100}) {
    near(k_norm(1, L1Sensitivity{1}, dimension, Grid{-10}), dimension);
    near(k_norm(1, L2Sensitivity{1}, dimension, Grid{-10}), dimension);
    near(k_norm(1, LinfSensitivity{1}, dimension, Grid{-10}), dimension);
    for (const double r : {2.0, 3.0, 50.0}) {
      near(GeneralizedGaussian{{.r = NormExponent{r},
                                .multiplier = NoiseMultiplier{1},
                                .sensitivity = LrSensitivity{1},
                                .grid = Grid{-10},
                                .dimension = Count{dimension},
                                .adjacency = Adjacency::replace_one}},
           dimension);
    }
  }
}

TEST(LpNoise, RefusesWhatHasNoMeaning) {
  ReplayBits bits{6};
  const auto refused = [](auto call, const std::string& part) {
    const auto refusal = refusal_of(call);
    EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, part)) << refusal;
  };
  refused([] { return k_norm(1, L1Sensitivity{1}, 3, Grid{-60}); }, "grid steps, must be at most 2^56");
  refused([] { return k_norm(1, L1Sensitivity{1}, std::uint64_t{1} << 40); }, "must be at most 2^32");
  refused([] { return generalized_gaussian(0x1p21, 1, 1, 3); }, "norm exponent");
  refused([&] { return k_norm(1, L1Sensitivity{1}, 3).release({fine, {0, 0}}, bits); }, "has 2 coordinates, must have 3");
  refused([&] { return k_norm(1, L1Sensitivity{1}, 3).release({Grid{3}, {0, 0, 0}}, bits); }, "log2_step 3");
  refused([&] { return uniform_on_sphere(Count{1}, Radius{1}, fine, bits); }, "at least 2 for a sphere");
}

}  // namespace
}  // namespace surety::mechanisms::lp_noise_test
