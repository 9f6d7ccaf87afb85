// Integer noise: what event() costs against what is released (binding.h).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <surety/accounting/events/event_kinds.h>
#include <surety/mechanisms/additive/binomial.h>
#include <surety/mechanisms/additive/discrete_gaussian.h>
#include <surety/mechanisms/additive/discrete_laplace.h>
#include <surety/mechanisms/additive/skellam.h>
#include <surety/mechanisms/additive/truncated_geometric.h>

#include <binding/binding.h>
#include <support/integer_laws.h>
#include <support/random.h>

namespace surety::mechanisms::discrete_test {
namespace {

using namespace testing;

constexpr auto adjacency = Adjacency::add_or_remove_one;
constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

// ---- Laws, from their definitions -----------------------------------------------------------------------------------------------

/// P(k) proportional to exp(-k^2 / (2 sigma^2)), summed until terms are below 1e-60 of the first.
SymmetricLaw discrete_gaussian_law(double sigma) {
  const auto reach = static_cast<std::int64_t>(17 * sigma) + 3;
  std::vector<Real> at_least(static_cast<std::size_t>(reach) + 2, Real{0, law_bits});
  for (std::int64_t k = reach; k >= 1; --k) {
    const Real x = Real{static_cast<double>(k), law_bits} / sigma;
    at_least[static_cast<std::size_t>(k)] = at_least[static_cast<std::size_t>(k) + 1] + exp(-x * x / 2.0);
  }
  const Real whole = 1.0 + 2.0 * at_least[1];
  return {[at_least, whole](std::int64_t k) {
            const auto place = static_cast<std::size_t>(k);
            return place < at_least.size() ? at_least[place] / whole : Real{0, law_bits};
          },
          static_cast<std::int64_t>(13 * sigma) + 2};
}

/// P(|k| >= j) = 2 y^j / (1 + y), y = e^(-1/b).
SymmetricLaw discrete_laplace_law(double b) {
  const Real y = exp(-1.0 / Real{b, law_bits});
  return {[b, y](std::int64_t k) { return exp(-Real{static_cast<double>(k), law_bits} / b) / (1.0 + y); }, 2};
}

template <class Mechanism>
auto release_of_zero(const Mechanism& mechanism) {
  return [mechanism](std::uint64_t word) {
    auto bits = testing::tape_of_one(word);
    return static_cast<double>(mechanism.release(std::int64_t{0}, bits));
  };
}

// ---- Discrete Gaussian ----------------------------------------------------------------------------------------------------------

DiscreteGaussian discrete_gaussian(double sigma, std::uint64_t sensitivity) {
  return DiscreteGaussian{{.sigma = NoiseScale{sigma}, .sensitivity = CoordinateSensitivity{Count{sensitivity}}, .adjacency = adjacency}};
}

TEST(BindingDiscreteGaussian, DrawsTheNoiseThatItsEventNames) {
  for (const double sigma : {0.5, 3.1, 3.9}) {
    const auto mechanism = discrete_gaussian(sigma, 1);
    const auto& said = std::get<Event::DiscreteGaussian>(mechanism.event().node());
    EXPECT_TRUE(draws(release_of_zero(mechanism), discrete_gaussian_law(said.sigma.value())));
    EXPECT_FALSE(draws(release_of_zero(mechanism), discrete_gaussian_law(said.sigma.value() * (1 + 1e-12))));
    EXPECT_FALSE(draws(release_of_zero(mechanism), discrete_gaussian_law(std::sqrt(said.sigma.value()))));
  }
}

TEST(BindingDiscreteGaussian, CostsWhatItsEventSays) {
  for (const auto& [sigma, sensitivity] : {std::pair{0.7, 1}, std::pair{2.0, 1}, std::pair{6.0, 5}, std::pair{20.0, 7}}) {
    const auto mechanism = discrete_gaussian(sigma, static_cast<std::uint64_t>(sensitivity));
    const auto truth = shifted(discrete_gaussian_law(mechanism.sigma()), sensitivity);
    EXPECT_TRUE(binds(mechanism.event(), truth));
    const auto mutant = [&](double factor, std::uint64_t moved) {
      return discrete_gaussian(NoiseScale{mechanism.sigma() * factor}, Count{moved}, adjacency);
    };
    EXPECT_TRUE(claims_too_little(mutant(2, static_cast<std::uint64_t>(sensitivity)), truth));  // the sensitivity halved
    if (sensitivity > 1) {
      EXPECT_TRUE(claims_too_little(mutant(1, static_cast<std::uint64_t>(sensitivity) - 1), truth));
    }
    if (sigma > 1) {
      EXPECT_TRUE(claims_too_little(mutant(mechanism.sigma(), static_cast<std::uint64_t>(sensitivity)), truth));  // variance
    }
    EXPECT_FALSE(binds(mutant(1.01, static_cast<std::uint64_t>(sensitivity)), truth));
  }
}

// Two coordinates share the move: only its concentration is said, which loses what zCDP's conversion does.
TEST(BindingDiscreteGaussian, CostsAtMostWhatItsEventSaysInTheL2Norm) {
  const DiscreteGaussian mechanism{{.sigma = NoiseScale{6}, .sensitivity = L2Sensitivity{5}, .adjacency = adjacency}};
  const auto law = discrete_gaussian_law(6);
  const std::vector<Neighbours> pairs{shifted(law, 3) * shifted(law, 4), shifted(law, 5)};
  const Points points{{0.5, 1}, {1e-2, 1e-5}};
  // Measured: 1.20 in epsilon, 2.1 in delta.
  EXPECT_TRUE(binds(mechanism.event(), pairs, points, 1.1));
  const DiscreteGaussian mutant{{.sigma = NoiseScale{12}, .sensitivity = L2Sensitivity{5}, .adjacency = adjacency}};
  EXPECT_TRUE(claims_too_little(mutant.event(), pairs, points));
}

RC_GTEST_PROP(BindingDiscreteGaussian, NeverCostsMoreThanItsEventSays, ()) {
  const auto sensitivity = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto mechanism = discrete_gaussian(reference::draw_log_uniform(0.4, 10), static_cast<std::uint64_t>(sensitivity));
  const auto found = quotients(mechanism.event(), shifted(discrete_gaussian_law(mechanism.sigma()), sensitivity), {{0.5}, {1e-5}});
  RC_ASSERT(found.least >= 1);
  RC_ASSERT(found.largest <= 1.01);
}

// ---- Discrete Laplace -----------------------------------------------------------------------------------------------------------

DiscreteLaplace discrete_laplace(double scale, double sensitivity) {
  return DiscreteLaplace{{.scale = NoiseScale{scale}, .sensitivity = L1Sensitivity{sensitivity}, .adjacency = adjacency}};
}

const Points laplace_points{{0, 0.1, 0.3}, {0, 1e-9, 1e-5, 1e-2}};

TEST(BindingDiscreteLaplace, DrawsTheNoiseThatItsEventNames) {
  for (const double b : {0.4, 2.5, 15.0}) {
    EXPECT_TRUE(draws(release_of_zero(discrete_laplace(b, 1)), discrete_laplace_law(b)));
    EXPECT_FALSE(draws(release_of_zero(discrete_laplace(b, 1)), discrete_laplace_law(b * (1 + 1e-12))));
  }
}

TEST(BindingDiscreteLaplace, CostsWhatItsEventSays) {
  for (const auto& [b, s] : {std::pair{0.8, 1}, std::pair{2.0, 1}, std::pair{7.5, 4}, std::pair{20.0, 13}}) {
    const auto law = discrete_laplace_law(b);
    const auto event = discrete_laplace(b, s).event();
    EXPECT_TRUE(binds(event, shifted(law, s), laplace_points));
    EXPECT_TRUE(claims_too_little(discrete_laplace(2 * b, s).event(), shifted(law, s), laplace_points));  // the sensitivity halved
    EXPECT_TRUE(claims_too_little(discrete_laplace(b, s).event(), shifted(law, s + 1), laplace_points));
    EXPECT_FALSE(binds(discrete_laplace(1.02 * b, s).event(), shifted(law, s), laplace_points));
    // Shared among coordinates a move costs no more.
    for (std::int64_t part = 1; part < s; part += 3) {
      EXPECT_GE(quotients(event, shifted(law, part) * shifted(law, s - part), laplace_points).least, 1);
    }
  }
}

RC_GTEST_PROP(BindingDiscreteLaplace, NeverCostsMoreThanItsEventSays, ()) {
  const auto x = *rc::gen::inRange<std::int64_t>(0, 12);
  const auto y = *rc::gen::inRange<std::int64_t>(1, 12);
  const double b = reference::draw_log_uniform(0.3, 20);
  const auto law = discrete_laplace_law(b);
  const auto event = discrete_laplace(b, static_cast<double>(x + y)).event();
  RC_ASSERT(quotients(event, shifted(law, x) * shifted(law, y), {{0.2}, {0, 1e-5}}).least >= 1);
}

// ---- Binomial and Skellam -------------------------------------------------------------------------------------------------------

/// P(noise >= k) for k >= 1, from probabilities up to `most`.
SymmetricLaw summed(std::int64_t reach, std::int64_t most, const std::function<Real(std::uint64_t)>& probability) {
  std::vector<Real> at_least(static_cast<std::size_t>(most) + 2, Real{0, law_bits});
  for (std::int64_t k = most; k >= 1; --k) {
    at_least[static_cast<std::size_t>(k)] = at_least[static_cast<std::size_t>(k) + 1] + probability(static_cast<std::uint64_t>(k));
  }
  return {[at_least](std::int64_t k) {
            const auto place = static_cast<std::size_t>(k);
            return place < at_least.size() ? at_least[place] : Real{0, law_bits};
          },
          reach};
}

/// With the outermost results of both sides lumped together, so that each has a probability under one of two neighbours.
SymmetricLaw binomial_law(std::uint64_t flips) {
  const auto half = static_cast<std::int64_t>(flips / 2);
  const auto reach = std::min(half - 1, static_cast<std::int64_t>(6.5 * std::sqrt(static_cast<double>(flips))));
  return summed(reach, half, [flips](std::uint64_t k) { return testing::binomial_probability(flips, k, law_bits); });
}

SymmetricLaw skellam_law(double mean) {
  const double sigma = std::sqrt(2 * mean);
  return summed(static_cast<std::int64_t>(13 * sigma) + 9, static_cast<std::int64_t>(17 * sigma) + 40,
                [mean](std::uint64_t k) { return testing::skellam_probability(mean, k, law_bits); });
}

Binomial binomial(std::uint64_t flips, std::uint64_t sensitivity) {
  return Binomial{{.flips = Count{flips}, .sensitivity = CoordinateSensitivity{Count{sensitivity}}, .adjacency = adjacency}};
}
Skellam skellam(double mean, std::uint64_t sensitivity) {
  return Skellam{{.mean = PoissonMean{mean}, .sensitivity = CoordinateSensitivity{Count{sensitivity}}, .adjacency = adjacency}};
}

TEST(BindingBinomial, DrawsTheNoiseThatItsEventNames) {
  for (const std::uint64_t flips : {2U, 20U, 200U}) {
    const auto mechanism = binomial(flips, 1);
    const auto named = std::get<Event::Binomial>(mechanism.event().node()).flips.value();
    EXPECT_TRUE(draws(release_of_zero(mechanism), binomial_law(named)));
    EXPECT_FALSE(draws(release_of_zero(mechanism), binomial_law(named + 2)));
  }
}

TEST(BindingBinomial, CostsWhatItsEventSays) {
  for (const auto& [flips, s] : {std::pair{20U, 1U}, std::pair{400U, 1U}, std::pair{1000U, 5U}}) {
    const auto truth = shifted(binomial_law(flips), s);
    const Points points{{0.1, 0.5, 1}, {1e-2, 1e-5}};
    EXPECT_TRUE(binds(binomial(flips, s).event(), truth, points));
    EXPECT_TRUE(claims_too_little(binomial(4 * flips, s).event(), truth, points));  // a variance of n, as of flips of +-1
    EXPECT_TRUE(claims_too_little(binomial(flips, s).event(), shifted(binomial_law(flips), s + 1), points));
  }
}

TEST(BindingSkellam, DrawsTheNoiseThatItsEventNames) {
  for (const double mean : {0.2, 2.5, 30.0}) {
    const auto mechanism = skellam(mean, 1);
    const auto named = std::get<Event::Skellam>(mechanism.event().node()).mean.value();
    EXPECT_TRUE(draws(release_of_zero(mechanism), skellam_law(named)));
    EXPECT_FALSE(draws(release_of_zero(mechanism), skellam_law(named * (1 + 1e-12))));
    EXPECT_FALSE(draws(release_of_zero(mechanism), skellam_law(named / 2)));
  }
}

TEST(BindingSkellam, CostsWhatItsEventSays) {
  for (const auto& [mean, s] : {std::pair{2.5, 1U}, std::pair{100.0, 1U}, std::pair{150.3, 6U}}) {
    const auto truth = shifted(skellam_law(mean), s);
    EXPECT_TRUE(binds(skellam(mean, s).event(), truth));
    EXPECT_TRUE(claims_too_little(skellam(2 * mean, s).event(), truth));  // a mistake: 2 mu, the variance, taken for mu
    EXPECT_TRUE(claims_too_little(skellam(mean, s).event(), shifted(skellam_law(mean), s + 1)));
  }
}

// ---- Truncated geometric --------------------------------------------------------------------------------------------------------

/// The law of a release within a range, from the outside: where the word turns from one magnitude of noise to the next, on either side.
std::vector<Real> law_in_range(const TruncatedGeometric& mechanism, std::int64_t query) {
  const auto range = mechanism.options().range;
  const auto release = [&](std::uint64_t word) {
    auto bits = testing::tape_of_one(word);
    return mechanism.release(query, bits);
  };
  std::vector<Real> law(static_cast<std::size_t>(range.highest() - range.lowest() + 1), Real{0, law_bits});
  for (const std::uint64_t sign : {0U, 1U}) {
    // Along the other 63 bits the magnitude falls, so the result goes from an end of the range to the query.
    Real from{0, law_bits};
    std::int64_t result = release(sign);
    const std::int64_t step = result > range.nearest(query) ? -1 : 1;
    for (;; result += step) {
      const Real to =
          testing::turning_point([&](std::uint64_t word) { return (release((word & ~std::uint64_t{1}) | sign) - result) * step > 0; });
      auto& mass = law[static_cast<std::size_t>(result - range.lowest())];
      mass = mass + 0.5 * (to - from);
      from = to;
      if (to >= 1) break;
    }
  }
  return law;
}

TEST(BindingTruncatedGeometric, CostsWhatItsEventSays) {
  for (const auto& [b, s, highest] : {std::array{2.0, 1.0, 6.0}, std::array{5.0, 4.0, 12.0}, std::array{3.0, 5.0, 5.0}}) {
    const TruncatedGeometric mechanism{{.scale = NoiseScale{b},
                                        .sensitivity = L1Sensitivity{s},
                                        .range = IntegerRange{-1, static_cast<std::int64_t>(highest) - 1},
                                        .adjacency = adjacency}};
    std::vector<Neighbours> pairs;
    // Queries beyond the range as well.
    for (std::int64_t query = -3; query <= static_cast<std::int64_t>(highest) + 1; ++query) {
      pairs.push_back({law_in_range(mechanism, query), law_in_range(mechanism, query + static_cast<std::int64_t>(s))});
    }
    auto found = quotients(mechanism.event(), pairs, {{0, 0.1, 0.3}, {0, 1e-5, 1e-2}});
    EXPECT_GE(found.least * (1 + 1e-14), 1);  // laws from the outside hold to 2^-60
    EXPECT_LE(found.largest, 1.01);
    const auto wider = discrete_laplace(2 * b, s).event();
    EXPECT_TRUE(claims_too_little(wider, pairs, {{0.1}, {0}}));
    // Conditioned on the range instead of cut off at its ends, the same noise costs more than is said.
    const auto conditioned = [&mechanism, scale = b](std::int64_t query) {
      std::vector<Real> law;
      Real whole{0, law_bits};
      for (auto j = mechanism.options().range.lowest(); j <= mechanism.options().range.highest(); ++j) {
        law.push_back(exp(-Real{std::abs(static_cast<double>(j - query)), law_bits} / scale));
        whole = whole + law.back();
      }
      for (auto& mass : law) mass = mass / whole;
      return law;
    };
    if (s < highest) {
      const Neighbours conditioned_pair{conditioned(-1), conditioned(-1 + static_cast<std::int64_t>(s))};
      EXPECT_TRUE(claims_too_little(mechanism.event(), conditioned_pair, {{}, {0}}));
    }
  }
}

// ---- Inputs ---------------------------------------------------------------------------------------------------------------------

// Every integer is a query, and the result is a function of the clamped query plus noise.
TEST(BindingDiscreteNoise, TakesEveryInteger) {
  const auto results = [](const auto& mechanism, std::int64_t query) {
    ReplayBits bits{7};
    return mechanism.release(query, bits);
  };
  const auto gaussian = discrete_gaussian(3, 1);
  const auto laplace = discrete_laplace(3, 1);
  const auto flips = binomial(36, 1);
  const auto poisson = skellam(4.5, 1);
  const TruncatedGeometric truncated{
      {.scale = NoiseScale{3}, .sensitivity = L1Sensitivity{1}, .range = IntegerRange{0, 100}, .adjacency = adjacency}};
  for (const auto& [beyond, end] :
       {std::pair{greatest, largest_sum}, std::pair{least, -largest_sum}, std::pair{largest_sum + 5, largest_sum}}) {
    EXPECT_EQ(results(gaussian, beyond), results(gaussian, end));
    EXPECT_EQ(results(laplace, beyond), results(laplace, end));
    EXPECT_EQ(results(flips, beyond), results(flips, end));
    EXPECT_EQ(results(poisson, beyond), results(poisson, end));
    EXPECT_EQ(results(truncated, beyond), results(truncated, end > 0 ? 100 : 0));
    EXPECT_LT(std::abs(results(laplace, beyond)), largest_sum);
  }
}

}  // namespace
}  // namespace surety::mechanisms::discrete_test
