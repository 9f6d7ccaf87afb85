#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/continual.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/bits/random_bits.h>

namespace surety::mechanisms::gaussian_continual_sum_test {
namespace {

static_assert(ContinualSum<GaussianContinualSum, ReplayBits> && ContinualSum<GaussianContinualSum, SystemBits>);

constexpr auto adjacency = Adjacency::add_or_remove_one;

GaussianContinualSum::Options options(Factorization factorization, std::uint64_t steps, std::uint64_t dimension, double multiplier) {
  const L2Sensitivity sensitivity{1};
  const NoiseMultiplier z{multiplier};
  return {.factorization = factorization,
          .steps = Count{steps},
          .dimension = Count{dimension},
          .sensitivity = sensitivity,
          .multiplier = z,
          .grid = continual_grid(factorization, Count{steps}, sensitivity, z),
          .adjacency = adjacency};
}

TEST(PrefixError, IsWhatIsPublished) {
  struct Row {
    Factorization factorization;
    std::uint64_t steps;
    double max, rms;
  };
  for (const auto& row : {Row{Factorization::tree, 1024, 10.49, 7.42}, Row{Factorization::tree, 4096, 12.49, 8.83},
                          Row{Factorization::streaming_tree, 1024, 7.99, 5.65}, Row{Factorization::streaming_tree, 4096, 9.40, 6.65},
                          Row{Factorization::toeplitz, 1024, 3.273, 3.110}, Row{Factorization::toeplitz, 4096, 3.714, 3.551},
                          Row{Factorization::buffered, 1024, 3.273, 3.110}, Row{Factorization::buffered, 4096, 3.716, 3.553}}) {
    const auto error = prefix_error(row.factorization, Count{row.steps});
    EXPECT_NEAR(error.max, row.max, 0.001 * row.max) << name(row.factorization) << row.steps;
    EXPECT_NEAR(error.rms, row.rms, 0.001 * row.rms) << name(row.factorization) << row.steps;
  }
  EXPECT_NEAR(least_rms_prefix_error(Count{1024}), 2.910, 0.0006);
  EXPECT_NEAR(least_rms_prefix_error(Count{4096}), 3.350, 0.0006);
}

TEST(PrefixError, OfTreesIsThatOfAllStepsByBruteForce) {
  for (const bool streaming : {false, true}) {
    std::vector<double> variances{1};
    for (int level = 1; level < 12; ++level) variances.push_back(streaming ? 1 / (1 + 1 / (2 * variances.back())) : 1);
    double total = 0;
    double largest = 0;
    for (std::uint64_t n = 1; n <= 2100; ++n) {
      double variance = 0;
      for (std::size_t level = 0; level < 12; ++level) variance += (n >> level & 1U) != 0 ? variances[level] : 0;
      total += variance;
      largest = std::max(largest, variance);
      const auto levels = static_cast<double>(accounting::tree_levels(Count{n}).value());
      const auto error = prefix_error(streaming ? Factorization::streaming_tree : Factorization::tree, Count{n});
      ASSERT_NEAR(error.max, std::sqrt(levels * largest), 1e-9) << n;
      ASSERT_NEAR(error.rms, std::sqrt(levels * total / static_cast<double>(n)), 1e-9) << n;
    }
  }
}

// [ENV21] Appendix A adds noise to each prefix of T = 2^k steps until it holds k terms: twice the variance of the tree, on average.
TEST(PrefixError, OfATreeToppedUpToOneNoiseForAllPrefixesIsTwiceItsVariance) {
  for (int k = 1; k <= 12; ++k) {
    const double steps = std::ldexp(1, k);
    const double topped_up = k * (k + 1.0);  // k nodes of the variance `levels`, in units of sensitivity / mu
    const double error = prefix_error(Factorization::tree, Count{std::uint64_t{1} << k}).rms;
    EXPECT_NEAR(topped_up / (error * error), 2 / (1 + 2 / (k * steps)), 1e-9) << k;
  }
}

/// The decoder's coefficients, as the codec itself decodes a single 1, by steps from 0.
template <class Codec>
std::vector<double> decoder(Codec codec, std::uint64_t steps) {
  std::vector<double> b;
  for (std::uint64_t t = 0; t < steps; ++t) {
    const std::vector<std::int64_t> released{t == 0 ? std::int64_t{1} << 50 : 0};
    b.push_back(std::ldexp(codec.decode(released)[0], -50));
  }
  return b;
}

FactorizedSumOptions factorized(Factorization factorization, std::uint64_t steps) {
  const auto all = options(factorization, steps, 1, 2);
  return {.steps = all.steps,
          .dimension = all.dimension,
          .sensitivity = all.sensitivity,
          .multiplier = all.multiplier,
          .grid = all.grid,
          .adjacency = adjacency};
}

TEST(PrefixError, OfFactorizationsIsThatOfTheirMatrices) {
  for (const std::uint64_t n : {1U, 2U, 10U, 1000U, 1024U, 4096U}) {
    for (const auto factorization : {Factorization::toeplitz, Factorization::buffered}) {
      const auto shape = factorized(factorization, n);
      const bool buffered = factorization == Factorization::buffered;
      const auto b = buffered ? decoder(BufferedCodec{shape}, n) : decoder(ToeplitzCodec{shape}, n);
      const double norm = buffered ? BufferedCodec{shape}.encoded_sensitivity() * BufferedCodec{shape}.unit()
                                   : ToeplitzCodec{shape}.encoded_sensitivity() * ToeplitzCodec{shape}.unit();
      double variance = 0;
      double total = 0;
      for (const double value : b) {
        variance += value * value;
        total += variance;
      }
      const auto error = prefix_error(factorization, Count{n});
      EXPECT_NEAR(error.max / (norm * std::sqrt(variance)), 1, 1e-6) << name(factorization) << n;
      EXPECT_NEAR(error.rms / (norm * std::sqrt(total / static_cast<double>(n))), 1, 1e-6) << name(factorization) << n;
      EXPECT_GT(error.rms, least_rms_prefix_error(Count{n}) * (1 - 1e-9)) << n;
    }
  }
}

TEST(PrefixError, OfFewBuffersIsNearTheLeast) {
  const auto of = [](double buffers, std::uint64_t n) { return prefix_error(Factorization::buffered, Count{n}, Buffers{buffers}).max; };
  for (const std::uint64_t n : {1000U, 1024U, 1025U, 4096U, 100'000U, 1U << 20}) {
    const double toeplitz = prefix_error(Factorization::toeplitz, Count{n}).max;
    EXPECT_LT(of(4, n), 1.02 * toeplitz) << n;
    EXPECT_LT(of(6, n), 1.005 * toeplitz) << n;
    for (const double buffers : {3.0, 4.0, 5.0, 6.0}) EXPECT_LE(of(buffers, n), of(buffers - 1, n) * 1.001) << n;
  }
}

// Real noise. The mean of squared errors over `dimension` independent coordinates, and over steps with any weights, relative to its
// expectation, is the mean of `dimension` copies of sum_i l_i N_i^2 with l_i >= 0 and sum l_i = 1. It leaves 1 +- (2 sqrt(q x / dimension)
// + 2 sqrt(q) x / dimension), q = sum l_i^2 <= 1, with probability at most 2 e^-x (Laurent, Massart 2000, Lemma 1; l_i <= sqrt(q)).
constexpr double x = 17;  // 8e-8 for each figure, 9e-7 for all 11 together
double tolerance(double q, double dimension) { return 2 * std::sqrt(q * x / dimension) + 2 * std::sqrt(q) * x / dimension; }

/// By step, the mean over coordinates of the squared errors.
std::vector<double> squared_errors(const GaussianContinualSum::Options& shape, std::uint64_t seed) {
  GaussianContinualSum sum{shape};
  ReplayBits bits{seed};
  const GridVector zero{.grid = shape.grid, .steps = std::vector<std::int64_t>(shape.dimension.value(), 0)};
  std::vector<double> result;
  for (std::uint64_t t = 0; t < shape.steps.value(); ++t) {
    const auto error = sum.push(zero, bits);
    result.push_back(std::inner_product(error.begin(), error.end(), error.begin(), 0.0) / static_cast<double>(error.size()));
  }
  return result;
}

// Sanitizers look at each instruction of this; they learn as much from fewer steps.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t measured_steps = 64;
#else
constexpr std::uint64_t measured_steps = 1024;
#endif

TEST(GaussianContinualSum, HasTheErrorThatIsComputed) {
  constexpr std::uint64_t n = measured_steps;
  constexpr std::uint64_t dimension = 45'000;
  const double variance_tolerance = tolerance(1, dimension);
  ASSERT_LT(variance_tolerance, 0.0404);  // 2 % of the standard deviation
  for (const auto factorization : {Factorization::tree, Factorization::streaming_tree, Factorization::buffered}) {
    // mu = 1.
    const bool tree = factorization != Factorization::buffered;
    const auto levels = static_cast<double>(accounting::tree_levels(Count{n}).value());
    const auto squares = squared_errors(options(factorization, n, dimension, tree ? std::sqrt(levels) : 1), 20);
    const auto error = prefix_error(factorization, Count{n});
    const double rms_squared = std::accumulate(squares.begin(), squares.end(), 0.0) / n;
    const double at_largest = squares[tree ? n - 2 : n - 1];  // 1023 has the most one bits
    EXPECT_NEAR(rms_squared / (error.rms * error.rms), 1, variance_tolerance) << name(factorization);
    EXPECT_NEAR(at_largest / (error.max * error.max), 1, variance_tolerance) << name(factorization);
  }
}

TEST(GaussianContinualSum, HasTheErrorThatIsComputedWithToeplitz) {
  constexpr std::uint64_t n = 1024;
  constexpr std::uint64_t dimension = 4'000;
  // e_t^2 over its variance v_t, averaged over the steps: q is the sum of squares of their correlations over n^2.
  const auto b = decoder(ToeplitzCodec{factorized(Factorization::toeplitz, n)}, n);
  std::vector<double> variance;
  for (std::size_t t = 0; t < n; ++t) variance.push_back((t == 0 ? 0 : variance[t - 1]) + b[t] * b[t]);
  double q = 0;
  for (std::size_t lag = 0; lag < n; ++lag) {
    double covariance = 0;
    for (std::size_t t = 0; t + lag < n; ++t) {
      covariance += b[t] * b[t + lag];
      q += (lag == 0 ? 1 : 2) * covariance * covariance / (variance[t] * variance[t + lag]) / (n * n);
    }
  }
  const double variance_tolerance = tolerance(q, dimension);
  ASSERT_LT(variance_tolerance, 0.0404);
  const auto squares = squared_errors(options(Factorization::toeplitz, n, dimension, 1), 21);
  const double max = prefix_error(Factorization::toeplitz, Count{n}).max;
  double mean = 0;
  for (std::size_t t = 0; t < n; ++t) mean += squares[t] / (max * max * variance[t] / variance[n - 1]) / n;
  EXPECT_NEAR(mean, 1, variance_tolerance);
}

TEST(GaussianContinualSum, LooksThroughTheBestTestLikeOneGaussianRelease) {
  // A push that differs by its whole sensitivity at the first step: the likelihood ratio is a function of T = <c, y> / (||c|| sigma), with
  // y the encoded stream again made of the results. T must be N(1 / multiplier, 1). Each coordinate is an experiment of its own.
  constexpr std::uint64_t n = 64;
  constexpr std::uint64_t dimension = 45'000;
  constexpr double multiplier = 0.5;
  for (const auto factorization : {Factorization::toeplitz, Factorization::buffered}) {
    const auto shape = options(factorization, n, dimension, multiplier);
    std::vector<double> c;
    ToeplitzCodec toeplitz{factorized(Factorization::toeplitz, n)};
    BufferedCodec buffered{factorized(Factorization::buffered, n)};
    for (std::uint64_t t = 0; t < n; ++t) {
      const std::vector<std::int64_t> impulse{t == 0 ? std::int64_t{1} << 20 : 0};
      c.push_back(
          static_cast<double>(factorization == Factorization::toeplitz ? toeplitz.encode(impulse)[0] : buffered.encode(impulse)[0]));
    }
    const double first = c[0];
    for (double& value : c) value /= first;
    const double norm = std::sqrt(std::inner_product(c.begin(), c.end(), c.begin(), 0.0));
    GaussianContinualSum sum{shape};
    ReplayBits bits{22};
    std::vector<std::vector<double>> input;  // what the results say was pushed, by step
    std::vector<double> last(dimension, 0.0);
    for (std::uint64_t t = 0; t < n; ++t) {
      const auto push = t == 0 ? static_cast<std::int64_t>(shape.grid.steps_per_unit()) : 0;
      const auto prefix = sum.push({.grid = shape.grid, .steps = std::vector<std::int64_t>(dimension, push)}, bits);
      input.emplace_back(dimension);
      for (std::size_t j = 0; j < dimension; ++j) input.back()[j] = prefix[j] - last[j];
      last = prefix;
    }
    double mean = 0;
    double square = 0;
    for (std::size_t j = 0; j < dimension; ++j) {
      double statistic = 0;
      for (std::size_t t = 0; t < n; ++t) {
        double y = 0;
        for (std::size_t k = 0; k <= t; ++k) y += c[k] * input[t - k][j];
        statistic += c[t] * y / (norm * norm * multiplier);
      }
      mean += statistic / dimension;
      square += (statistic - 1 / multiplier) * (statistic - 1 / multiplier) / dimension;
    }
    EXPECT_NEAR(mean, 1 / multiplier, std::sqrt(2 * x / dimension)) << name(factorization);
    EXPECT_NEAR(square, 1, tolerance(1, dimension)) << name(factorization);
  }
}

TEST(GaussianContinualSum, ReturnsPrefixSums) {
  // So little noise that the sums are seen through it: 8 standard deviations of the largest error.
  constexpr std::uint64_t n = 300;
  for (const auto factorization : all_factorizations) {
    const auto shape = options(factorization, n, 2, 0x1p-8);
    GaussianContinualSum sum{shape};
    ReplayBits bits{6};
    double exact = 0;
    const double tolerance = 8 * 0x1p-8 * prefix_error(factorization, Count{n}).max;
    for (std::uint64_t t = 0; t < n; ++t) {
      const double value = std::sin(static_cast<double>(t));
      const auto steps = static_cast<std::int64_t>(value * shape.grid.steps_per_unit());
      exact += value;
      const auto prefix = sum.push({.grid = shape.grid, .steps = {steps, -steps}}, bits);
      ASSERT_NEAR(prefix[0], exact, tolerance) << name(factorization) << t;
      ASSERT_NEAR(prefix[1], -exact, tolerance) << name(factorization) << t;
    }
  }
}

TEST(GaussianContinualSum, IsTheEventThatItWasCalibratedAs) {
  const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = adjacency};
  const double mu = accounting::largest_mu(target.epsilon, target.delta).lower;
  for (const auto factorization : all_factorizations) {
    const Count steps{1000};
    const auto found = calibrate([&](NoiseMultiplier z) { return continual_event(factorization, steps, z, adjacency); }, target);
    const GaussianContinualSum sum{options(factorization, 1000, 3, found.value.value())};
    EXPECT_EQ(sum.event(), continual_event(factorization, steps, found.value, adjacency));
    EXPECT_EQ(sum.steps(), steps);
    const bool tree = factorization == Factorization::tree || factorization == Factorization::streaming_tree;
    EXPECT_NEAR(found.value.value() * mu, tree ? std::sqrt(10) : 1, 1e-9) << name(factorization);
  }
}

TEST(ContinualGrid, FitsWhateverItIsMadeFor) {
  for (const auto factorization : {Factorization::toeplitz, Factorization::buffered}) {
    for (const std::uint64_t n : {1U, 2U, 100U, 1U << 16}) {
      for (const double multiplier : {1e-3, 0.3, 1.0, 30.0, 1000.0}) {
        for (const double headroom : {1.0, 4.0, 100.0}) {
          for (const double sensitivity : {0.7e-6, 1.0, 1.99, 3e9}) {
            const Count steps{n};
            const Headroom room{headroom};
            const L2Sensitivity s{sensitivity};
            const NoiseMultiplier z{multiplier};
            const FactorizedSumOptions shape{.steps = steps,
                                             .dimension = Count{1},
                                             .sensitivity = s,
                                             .multiplier = z,
                                             .grid = continual_grid(factorization, steps, s, z, room),
                                             .adjacency = adjacency,
                                             .headroom = room};
            EXPECT_GE(sensitivity, std::ldexp(shape.grid.step(), 10));
            const auto encoded = factorization == Factorization::toeplitz ? ToeplitzCodec{shape}.encoded_sensitivity()
                                                                          : BufferedCodec{shape}.encoded_sensitivity();
            EXPECT_NO_THROW(static_cast<void>(encoded_sigma(z, encoded)));
          }
        }
      }
    }
  }
}

TEST(ContinualGrid, RefusesWhatHasNoRoom) {
  try {
    static_cast<void>(continual_grid(Factorization::toeplitz, Count{1000}, L2Sensitivity{1}, NoiseMultiplier{1e6}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "noise multiplier 1000000 with headroom 4 over 1000 steps leaves 2^1 grid steps for the sensitivity, must be at least 2^10 for factorization toeplitz");
  }
}

}  // namespace
}  // namespace surety::mechanisms::gaussian_continual_sum_test
