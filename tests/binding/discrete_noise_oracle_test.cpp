// The samplers of the library against those of Canonne, Kamath and Steinke, and both against the probabilities, in MPFR.
//
// Samples are counted in bins, and compared by the likelihood-ratio chi-square, halved: with the law n KL(counts / n || law), and with each
// other n KL(a || m) + n KL(b || m), m = (a + b) / 2. Their tails are proved, not asymptotic: with f = bins - 1,
//
//   P(n KL(counts / n || law) >= x) <= e^(f - x) (x / f)^f for x > f        (Agrawal, "Finite-sample concentration of the multinomial in
//   relative entropy", IEEE Trans. Inf. Theory 66, 2020, Theorem I.2, by E exp(u n KL) <= (1 - u)^-f)
//
// and since m minimises KL(a || .) + KL(b || .), two samples of one law are at most n KL(a || law) + n KL(b || law), whose moment is at
// most (1 - u)^-2f: the same bound with 2 f. Seeds are fixed; the false alarm of the file is at most 1e-9, shared among its comparisons.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <surety/mechanisms/samplers/lattice_noise.h>

#include <support/canonne_kamath_steinke.h>
#include <support/discrete_laws.h>
#include <support/real.h>

namespace surety::mechanisms::discrete_noise_oracle_test {
namespace {

using reference::CanonneKamathSteinke;
using reference::Real;

constexpr std::size_t sample_size = 1 << 16;
constexpr int true_comparisons = 60;  // a bound on those of this file
constexpr double alpha = 1e-9 / true_comparisons;

using Samples = std::vector<std::int64_t>;

/// Consecutive bins: bin i ends with last[i], the last one is endless.
struct Bins {
  std::vector<std::int64_t> last;
  std::vector<double> probability;
};

/// Some 15 bins of at least 4 % each. `weight(k)` is proportional to P(k), and what is beyond the ends is below rounding.
Bins bins_of(const std::function<Real(std::int64_t)>& weight, std::int64_t lowest, std::int64_t highest) {
  Real total{0};
  for (std::int64_t k = lowest; k <= highest; ++k) total = total + weight(k);
  Bins bins;
  Real sum{0};
  double rest = 1;
  for (std::int64_t k = lowest; k <= highest; ++k) {
    sum = sum + weight(k);
    const double p = (sum / total).nearest_double();
    if (p < 0.06 || rest - p < 0.04) continue;
    bins.last.push_back(k);
    bins.probability.push_back(p);
    rest -= p;
    sum = Real{0};
  }
  bins.probability.push_back((sum / total).nearest_double());
  return bins;
}

std::vector<double> frequencies(const Samples& samples, const Bins& bins) {
  std::vector<double> result(bins.probability.size());
  for (const auto sample : samples) {
    const auto bin = std::lower_bound(bins.last.begin(), bins.last.end(), sample) - bins.last.begin();
    result[static_cast<std::size_t>(bin)] += 1 / static_cast<double>(sample_size);
  }
  return result;
}

double divergence(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > 0) sum += a[i] * std::log(a[i] / b[i]);
  }
  return static_cast<double>(sample_size) * sum;
}

bool is_rare(double x, double f) { return x > f && f - x + f * std::log(x / f) <= std::log(alpha); }

/// Whether samples have the law, and whether two samples have one law.
bool fits(const Samples& samples, const Bins& bins) {
  return !is_rare(divergence(frequencies(samples, bins), bins.probability), static_cast<double>(bins.last.size()));
}
bool agree(const Samples& a, const Samples& b, const Bins& bins) {
  const auto of_a = frequencies(a, bins);
  const auto of_b = frequencies(b, bins);
  std::vector<double> middle;
  for (std::size_t i = 0; i < of_a.size(); ++i) middle.push_back((of_a[i] + of_b[i]) / 2);
  return !is_rare(divergence(of_a, middle) + divergence(of_b, middle), 2 * static_cast<double>(bins.last.size()));
}

enum class Kind { gaussian, laplace, geometric };

struct Case {
  Kind kind;
  Rational parameter;  ///< the variance, or the scale

  [[nodiscard]] double value() const { return static_cast<double>(parameter.num) / static_cast<double>(parameter.den); }
  [[nodiscard]] std::string name() const {
    const std::string law = kind == Kind::gaussian ? "Gaussian" : kind == Kind::laplace ? "Laplace" : "geometric";
    return law + " " + std::to_string(parameter.num) + "/" + std::to_string(parameter.den);
  }
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name(); }
  [[nodiscard]] Bins bins() const {
    const Real exact = Real{static_cast<double>(parameter.num)} / Real{static_cast<double>(parameter.den)};
    const auto weight = [&](std::int64_t k) {
      const Real x{static_cast<double>(std::abs(k))};
      return exp(kind == Kind::gaussian ? -(x * x) / (2 * exact) : -x / exact);
    };
    const auto reach = static_cast<std::int64_t>(kind == Kind::gaussian ? 10 * std::sqrt(value()) : 50 * value()) + 10;
    return bins_of(weight, kind == Kind::geometric ? 0 : -reach, reach);
  }
  [[nodiscard]] Samples fast(const Rational& of, std::uint64_t seed) const {
    Samples samples(sample_size);
    ReplayBits bits{seed};
    if (kind == Kind::gaussian) DiscreteGaussianNoise{of}.fill(samples, bits);
    if (kind == Kind::laplace) DiscreteLaplaceNoise{of}.fill(samples, bits);
    if (kind == Kind::geometric) GeometricNoise{of}.fill(samples, bits);
    return samples;
  }
  [[nodiscard]] Samples by_oracle(const Rational& of, std::uint64_t seed) const {
    Samples samples;
    ReplayBits bits{seed};
    CanonneKamathSteinke oracle{bits};
    mpq_class exact{mpz_class{of.num}, mpz_class{of.den}};
    exact.canonicalize();
    while (samples.size() < sample_size) {
      std::int64_t sample = (kind == Kind::gaussian ? oracle.discrete_gaussian(exact) : oracle.discrete_laplace(exact)).get_si();
      // A two-sided law on one side is the one-sided law.
      if (kind == Kind::geometric && sample < 0) continue;
      samples.push_back(sample);
    }
    return samples;
  }
};

class DiscreteNoise : public ::testing::TestWithParam<Case> {};

TEST_P(DiscreteNoise, FastSamplerOracleAndProbabilitiesAgree) {
  const auto& c = GetParam();
  SCOPED_TRACE(c.name());
  const auto bins = c.bins();
  ASSERT_GE(bins.last.size(), 1U);
  const auto fast = c.fast(c.parameter, 20261121);
  const auto slow = c.by_oracle(c.parameter, 20261122);
  EXPECT_TRUE(fits(fast, bins));
  EXPECT_TRUE(fits(slow, bins));
  EXPECT_TRUE(agree(fast, slow, bins));

  // Mutants of either: a scale that is 15 % wrong, one sample in four moved by a scale or without its sign, a bit that is stuck.
  const Rational wider{c.parameter.num * (c.kind == Kind::gaussian ? 529 : 23), c.parameter.den * (c.kind == Kind::gaussian ? 400 : 20)};
  EXPECT_FALSE(fits(c.fast(wider, 1), bins));
  EXPECT_FALSE(fits(c.by_oracle(wider, 2), bins));
  EXPECT_FALSE(agree(c.fast(wider, 1), slow, bins));
  EXPECT_FALSE(agree(fast, c.by_oracle(wider, 2), bins));
  const auto expect_caught = [&](const std::string& name, const std::function<std::int64_t(std::int64_t, std::size_t)>& mutation) {
    for (const auto* samples : {&fast, &slow}) {
      auto mutant = *samples;
      for (std::size_t i = 0; i < mutant.size(); ++i) mutant[i] = mutation(mutant[i], i);
      EXPECT_FALSE(fits(mutant, bins)) << name;
      EXPECT_FALSE(agree(mutant, samples == &fast ? slow : fast, bins)) << name;
    }
  };
  const auto step = std::max<std::int64_t>(1, static_cast<std::int64_t>(c.kind == Kind::gaussian ? std::sqrt(c.value()) : c.value()));
  expect_caught("shift", [step](std::int64_t k, std::size_t i) { return i % 4 == 0 ? k + step : k; });
  if (c.kind != Kind::geometric) {
    expect_caught("sign", [](std::int64_t k, std::size_t i) { return i % 4 == 0 ? std::abs(k) : k; });
  }
  expect_caught("stuck bit", [step](std::int64_t k, std::size_t) { return k & ~step; });
}

INSTANTIATE_TEST_SUITE_P(Parameters, DiscreteNoise,
                         ::testing::Values(Case{Kind::gaussian, {1, 4}}, Case{Kind::gaussian, {1, 1}}, Case{Kind::gaussian, {22, 7}},
                                           Case{Kind::gaussian, {1000, 9}}, Case{Kind::gaussian, {50'001, 3}}, Case{Kind::laplace, {1, 2}},
                                           Case{Kind::laplace, {3, 2}}, Case{Kind::laplace, {22, 7}}, Case{Kind::laplace, {1000, 7}},
                                           Case{Kind::geometric, {2, 3}}, Case{Kind::geometric, {37, 3}},
                                           Case{Kind::geometric, {1000, 7}}));

// Algorithm 1 on its own: counts of a coin are binomial, and the bound above holds for two bins.
TEST(CanonneKamathSteinke, FlipsExponentialCoins) {
  ReplayBits bits{7};
  CanonneKamathSteinke oracle{bits};
  for (const auto& [num, den] : {std::pair{0, 1}, {1, 3}, {1, 1}, {5, 2}}) {
    Samples coins;
    for (std::size_t i = 0; i < sample_size; ++i) coins.push_back(oracle.bernoulli_exp_minus(mpq_class{num, den}) ? 0 : 1);
    const double p = std::exp(-static_cast<double>(num) / den);
    if (num == 0) {
      EXPECT_EQ(std::count(coins.begin(), coins.end(), 1), 0);
      continue;
    }
    EXPECT_TRUE(fits(coins, Bins{{0}, {p, 1 - p}})) << num << "/" << den;
    EXPECT_FALSE(fits(coins, Bins{{0}, {p * 0.85, 1 - p * 0.85}})) << num << "/" << den;
  }
}

// Two zeros where one should be, the mistake that Algorithm 2 takes care to avoid.
TEST(CanonneKamathSteinke, HasOneZero) {
  const Case c{Kind::laplace, {3, 2}};
  auto samples = c.by_oracle({3, 2}, 5);
  const double y = std::exp(-2.0 / 3);
  const double zero = (1 - y) / (1 + y);
  const double two_zeros = 2 * zero / (1 + zero);
  for (auto& sample : samples) sample = std::min<std::int64_t>(std::abs(sample), 1);
  EXPECT_TRUE(fits(samples, Bins{{0}, {zero, 1 - zero}}));
  EXPECT_FALSE(fits(samples, Bins{{0}, {two_zeros, 1 - two_zeros}}));
}

}  // namespace
}  // namespace surety::mechanisms::discrete_noise_oracle_test
