#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/pld/terms.h>
#include <surety/accounting/accountants/renyi/renyi.h>

#include <support/gaussian_truth.h>
#include <support/random.h>
#include <support/real.h>

namespace surety::accounting::pld_test {
namespace {

using reference::log_uniform;
using reference::Real;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr auto add_remove = Adjacency::add_or_remove_one;
constexpr auto replace = Adjacency::replace_one;
const std::string job_a = "repeat(10000, poisson(0.01, gaussian(1)))";

Enclosure epsilon_of(const std::string& text, double delta, double width = 1e-4, Adjacency adjacency = add_remove) {
  return epsilon(Pld{.width = width}, parse_event(text, adjacency), Delta{delta});
}
Enclosure delta_of(const std::string& text, double epsilon, double width = 1e-4, Adjacency adjacency = add_remove) {
  return delta(Pld{.width = width}, parse_event(text, adjacency), Epsilon{epsilon});
}

/// delta(epsilon) of `count` times the pair (e^a / (1 + e^a), 1 / (1 + e^a)) against its reverse, as a binomial sum.
Real binomial_delta(double a, unsigned count, double epsilon) {
  const Real loss{a, 400};
  const Real hit = 1.0 / (1.0 + exp(-loss));
  const Real miss = 1.0 / (1.0 + exp(loss));
  Real total{0, 400};
  Real term{1, 400};  // choose(count, k) hit^(count - k) miss^k
  for (unsigned i = 0; i < count; ++i) term = term * hit;
  for (unsigned k = 0; k <= count; ++k) {
    const Real above = loss * (static_cast<double>(count) - 2.0 * k) - epsilon;
    if (above > 0.0) total = total - term * expm1(-above);
    term = term * (miss / hit) * (static_cast<double>(count - k) / (k + 1.0));
  }
  return total;
}

bool contains(const Enclosure& found, const Real& truth) { return !(truth < found.lower) && !(truth > found.upper); }

// ---- against closed forms ----

TEST(PldEpsilon, ContainsTheGaussianTruth) {
  std::mt19937_64 words{20110711};
  int positive = 0;
  for (int i = 0; i < 60; ++i) {
    const double multiplier = log_uniform(words, 0.3, 300);
    const auto count = static_cast<std::uint64_t>(log_uniform(words, 1, 3000));
    const double delta_at = log_uniform(words, 1e-200, 0.3);
    const auto event = repeat(Count{count}, gaussian(NoiseMultiplier{multiplier}, replace));
    const auto truth = epsilon(ClosedForm{}, event, Delta{delta_at});
    if (truth.upper > 2000) continue;
    const auto found = epsilon(Pld{.width = 1e-2}, event, Delta{delta_at});
    EXPECT_LE(found.lower, truth.lower) << describe(event) << ' ' << delta_at;
    EXPECT_GE(found.upper, truth.upper) << describe(event) << ' ' << delta_at;
    EXPECT_LE(found.width(), 1e-2) << describe(event) << ' ' << delta_at;
    positive += found.lower > 0;
  }
  EXPECT_GT(positive, 35);
}

TEST(PldDelta, ContainsTheGaussianTruth) {
  std::mt19937_64 words{7110201};
  for (int i = 0; i < 60; ++i) {
    const double mu = log_uniform(words, 0.05, 4);
    const auto count = static_cast<std::uint64_t>(log_uniform(words, 1, 1000));
    const double at = mu * mu / 2 + mu * log_uniform(words, 0.01, 20);
    const auto event = repeat(Count{count}, gaussian(NoiseMultiplier{std::sqrt(static_cast<double>(count)) / mu}, replace));
    const auto truth = delta(ClosedForm{}, event, Epsilon{at});
    const auto found = delta(Pld{.width = 2e-3 * mu}, event, Epsilon{at});
    EXPECT_LE(found.lower, truth.lower) << describe(event) << ' ' << at;
    EXPECT_GE(found.upper, truth.upper) << describe(event) << ' ' << at;
    if (truth.lower > 1e-300) {
      EXPECT_LT(found.upper / found.lower, 1.5) << describe(event) << ' ' << at;
    }
  }
}

TEST(PldDelta, ContainsTheBinomialTruth) {
  struct Case {
    double loss;
    unsigned count;
    double epsilon;
  };
  for (const auto& [loss, count, at] :
       {Case{0.1, 100, 1.5}, {0.1, 100, 0.0}, {0.03, 700, 4.7}, {1.3, 7, 5.0}, {0.5, 1, 0.2}, {2.0, 40, 79.0}}) {
    const std::string text = "repeat(" + std::to_string(count) + ", pure(" + std::to_string(loss) + "))";
    const auto found = delta_of(text, at, 1e-4, replace);
    const Real truth = binomial_delta(loss, count, at);
    EXPECT_TRUE(contains(found, truth)) << text << ' ' << at << ": " << found.lower << ' ' << found.upper << ", truth " << truth;
    EXPECT_LT(found.upper / found.lower - 1, 1e-6) << text << ' ' << at;
  }
}

TEST(PldEpsilon, ContainsTheBinomialTruth) {
  for (const double target : {0.3, 1e-3, 1e-5, 1e-12, 1e-40}) {
    const auto found = epsilon_of("repeat(200, pure(0.25))", target, 1e-4, replace);
    EXPECT_TRUE(binomial_delta(0.25, 200, found.lower) >= target) << target;
    EXPECT_TRUE(binomial_delta(0.25, 200, found.upper) <= target) << target;
    EXPECT_LE(found.width(), 1e-6);
  }
}

// Randomized response between two categories is the pure pair at log(truth / (1 - truth)).
TEST(PldEpsilon, RandomizedResponseCountsItsRepetitions) {
  const double truth = 0.6;
  const double loss = std::log(1.5);
  const auto found = delta_of("repeat(100, randomized_response(0.6, 2))", 15.0, 1e-4, replace);
  const Real exact = binomial_delta(loss, 100, 15.0);
  EXPECT_LE(found.lower, 1.0 * (1 + 1e-10));
  EXPECT_TRUE(exact * (1 + 1e-9) >= found.lower && exact * (1 - 1e-9) <= found.upper) << truth;
  EXPECT_TRUE(binomial_delta(loss, 1, 15.0) < found.lower) << "the count is not dropped";
}

// delta(epsilon) of one subsampled release is rate delta_G(log(1 + (e^epsilon - 1) / rate)).
TEST(PldDelta, ContainsOneSubsampledGaussian) {
  struct Case {
    double rate;
    double multiplier;
    double epsilon;
  };
  for (const auto& [rate, multiplier, at] : {Case{0.1, 1, 0.5}, {0.01, 0.7, 1.0}, {0.5, 2, 0.1}, {0.9, 1.5, 1.0}, {0.001, 0.5, 3.0}}) {
    const auto event = poisson(SamplingRate{rate}, gaussian(NoiseMultiplier{multiplier}, add_remove));
    const auto found = delta(Pld{}, event, Epsilon{at});
    const Real inner = log1p(expm1(Real{at}) / Real{rate});
    const Real truth = Real{rate} * reference::gaussian_delta(Real{1} / Real{multiplier}, inner);
    EXPECT_TRUE(contains(found, truth)) << rate << ' ' << multiplier << ' ' << at << ": " << found.lower << ' ' << found.upper << ' '
                                        << truth;
  }
}

// Losses around the largest exponent of double, over rates that lift them further.
TEST(PldDelta, ContainsOneRareBatchOfLittleNoise) {
  int answers = 0;
  for (const double records : {0x1p11, 0x1p17, 0x1p40, 0x1p52}) {
    for (const double multiplier : {0.04, 0.0522, 0.055}) {
      for (const double at : {500.0, 600.0, 660.0, 680.0, 690.0, 699.4, 701.0, 709.7, 710.0, 720.0, 800.0}) {
        const auto event = parse_event(fmt::format("without_replacement({:.0f}, 1, record_sum({}))", records, multiplier), replace);
        Enclosure found{0, 1};
        try {
          found = delta(Pld{}, event, Epsilon{at});
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
          continue;
        }
        ++answers;
        const Real inner = log1p(expm1(Real{at}) * records);
        const Real truth = reference::gaussian_delta(Real{2} / Real{multiplier}, inner) / Real{records};
        EXPECT_TRUE(contains(found, truth)) << records << ' ' << multiplier << ' ' << at << ": " << found.lower << ' ' << found.upper << ' '
                                            << truth;
      }
    }
  }
  EXPECT_GT(answers, 60);
}

// Losses so small that a step is no more than a few of their rounding errors: what is merged lies above the last grid point of the law,
// which has no room for it.
TEST(PldDelta, KeepsToItsArraysWhenLossesAreRoundingErrors) {
  const auto event = parse_event("poisson(2e-9, gaussian(2500))", add_remove);
  const double at = 1e-12;
  const Real truth = Real{2e-9, 400} * reference::gaussian_delta(1.0 / Real{2500, 400}, log1p(expm1(Real{at, 400}) / Real{2e-9, 400}));
  for (const double step : {1e-13, 1.5e-13, 2e-13}) {
    const auto terms =
        grid_terms(event, Epsilon{at}, {.step = step, .tilt = 8e4, .least = -4096 * step, .largest = 4096 * step, .log_cut = -17},
                   curves_of_all().leaves);
    const auto& [upper, lower] = terms;
    EXPECT_TRUE(truth <= static_cast<double>(upper.sum + upper.rounding + upper.beyond + upper.infinite)) << step;
    EXPECT_TRUE(truth >= static_cast<double>(lower.sum - lower.rounding - lower.aliasing + lower.infinite)) << step;
  }
}

// The tilt that so small a delta needs takes everything but the largest losses below the least double.
TEST(PldEpsilon, CountsWhatUnderflows) {
  for (const double at : {1.5e-36, 1.6e-12}) {
    const auto found = epsilon_of("laplace(0.01)", at, 0.2);
    EXPECT_TRUE(found.contains(100 + 2 * std::log1p(-at))) << found.lower << ' ' << found.upper;
    EXPECT_LE(found.width(), 0.2);
  }
}

// Bounded losses: near the largest one the best tilt is far beyond what a grid can follow, and not needed.
TEST(PldEpsilon, AnswersNextToTheLargestLoss) {
  struct Case {
    const char* event;
    double delta;
    double largest;
    double mass;  // of the largest loss: delta is mass (1 - e^(epsilon - largest)) next to it
  };
  for (const auto& [event, at, largest, mass] : {Case{"repeat(2, laplace(7.56))", 4.8e-11, 2 / 7.56, 0.25},
                                                 {"repeat(3, laplace(1))", 1e-12, 3, 0.125},
                                                 {"repeat(10, pure(1))", 1e-9, 10, std::pow(1 + std::exp(-1.0), -10)}}) {
    const auto found = epsilon_of(event, at);
    EXPECT_TRUE(found.contains(largest + std::log1p(-at / mass))) << event << ": " << found.lower << ' ' << found.upper;
    EXPECT_LE(found.width(), 1e-4) << event;
  }
  const auto found = delta_of("repeat(10, laplace(1))", 9.9999);
  const double truth = -std::expm1(-1e-4) / 1024;
  EXPECT_NEAR(found.lower, truth, 0.01 * truth);
  EXPECT_NEAR(found.upper, truth, 0.01 * truth);
}

// The mean of 10^9 losses is hardly more than one grid step of most others; the central limit theorem is good to 1e-3 here.
TEST(PldEpsilon, AnswersForABillionReleases) {
  const double gaussian = epsilon(ClosedForm{}, parse_event("gaussian(3.1622776601683795)", replace), Delta{1e-5}).upper;
  for (const auto* event : {"repeat(1000000000, pure(1e-5))", "repeat(1000000000, laplace(1e5))"}) {
    const auto found = epsilon_of(event, 1e-5, 1e-3, replace);
    EXPECT_NEAR(found.upper, gaussian, 3e-3) << event;
    EXPECT_NEAR(found.lower, gaussian, 3e-3) << event;
  }
}

TEST(PldEpsilon, RareBatchesOfLittleNoise) {
  const auto found = epsilon_of("repeat(100000, poisson(0.0001, gaussian(0.5)))", 1e-5);
  EXPECT_NEAR(found.upper, 2.0578, 1e-3);
  EXPECT_LE(found.width(), 1e-4);
}

// ---- values that two other high-precision methods agree on ----

TEST(PldEpsilon, SubsampledGaussianTenThousandTimes) {
  const auto found = epsilon_of(job_a, 1e-5);
  EXPECT_TRUE(found.contains(6.187712390)) << found.lower << ' ' << found.upper;
  EXPECT_LE(found.width(), 1e-4);
  // The direction in which the record is added costs less: taking it for the answer would be below the truth.
  EXPECT_FALSE(found.contains(5.611508618));
}

TEST(PldEpsilon, HoldsAtEveryDelta) {
  struct Case {
    double delta;
    double epsilon;
  };
  for (const auto& [at, truth] :
       {Case{1e-10, 9.3161385}, {1e-15, 11.7599785}, {1e-20, 13.8797727}, {1e-30, 17.6350611}, {1e-100, 40.4548447}}) {
    const auto found = epsilon_of(job_a, at, 1e-3);
    EXPECT_TRUE(found.contains(truth)) << at << ": " << found.lower << ' ' << found.upper;
    EXPECT_LE(found.width(), 1e-3) << at;
  }
}

TEST(PldEpsilon, LaplaceAThousandTimes) {
  const auto found = epsilon_of("repeat(1000, laplace(10))", 1e-6);
  EXPECT_TRUE(found.contains(18.950287368)) << found.lower << ' ' << found.upper;
  EXPECT_LE(found.width(), 1e-4);
}

TEST(PldEpsilon, BatchesWithoutReplacement) {
  const std::string text = "repeat(10000, without_replacement(60000, 600, gaussian(1)))";
  const auto found = epsilon_of(text, 1e-5, 1e-3, replace);
  EXPECT_NEAR(found.upper, 8.0840, 1e-3);
  // Of one grid the lower end has a pair, a tilt and a step of its own: that of the Poisson-sampled batches, whose limit is 6.1877124.
  const double limit = 6.18771240;
  const auto one_way = epsilon(Pld{.step = 1e-3}, parse_event(text, replace), Delta{1e-5});
  EXPECT_GE(one_way.lower, limit - 2e-2);
  EXPECT_LE(one_way.lower, limit);
  // Seen either way the rounds cost more.
  const auto narrow = epsilon_of(text, 1e-5, 1e-4, replace);
  EXPECT_GE(narrow.lower, limit + 4e-3);
  EXPECT_LE(narrow.lower, 6.2);
  EXPECT_LE(narrow.upper, 8.0840);
}

TEST(PldEpsilon, DifferentPairs) {
  std::string text = "compose(";
  for (int i = 0; i < 1000; i += 50) {
    text += (i == 0 ? "" : ",") +
            ("repeat(500, poisson(" + std::to_string(0.005 + 0.00001 * i) + ", gaussian(" + std::to_string(1 + 0.001 * i) + ")))");
  }
  const auto together = epsilon_of(text + ")", 1e-5, 1e-2);
  EXPECT_GT(together.lower, 3.0);
  EXPECT_LT(together.upper, 3.4);
  EXPECT_LE(together.width(), 1e-2);
}

// ---- properties ----

TEST(PldEpsilon, WidthIsOfSecondOrderInTheStep) {
  const auto event = parse_event(job_a, add_remove);
  double before = 0;
  for (const double step : {4e-3, 2e-3, 1e-3}) {
    const double width = epsilon(Pld{.step = step}, event, Delta{1e-5}).width();
    if (before > 0) {
      EXPECT_GT(before / width, 3) << step;
      EXPECT_LT(before / width, 7) << step;
    }
    before = width;
  }
}

TEST(PldEpsilon, SamplingEveryRecordIsNoSampling) {
  const auto sampled = epsilon_of("repeat(10, poisson(1, gaussian(3)))", 1e-6);
  const auto plain = epsilon(ClosedForm{}, parse_event("repeat(10, gaussian(3))", add_remove), Delta{1e-6});
  EXPECT_TRUE(sampled.contains(plain.lower) && sampled.contains(plain.upper));
  const auto nearly = epsilon_of("repeat(10, poisson(0.999999, gaussian(3)))", 1e-6);
  EXPECT_NEAR(nearly.upper, plain.upper, 1e-3);
}

TEST(PldEpsilon, OneBatchSharedByTwoReleases) {
  // Two Gaussian releases on one batch are one of multiplier 1 / sqrt(2).
  const auto shared = epsilon_of("repeat(50, poisson(0.1, compose(gaussian(2), gaussian(2))))", 1e-6, 1e-3);
  const auto single = epsilon_of("repeat(50, poisson(0.1, gaussian(1.4142135623730951)))", 1e-6, 1e-3);
  EXPECT_TRUE(overlap(shared, single));
  EXPECT_LE(shared.width(), 1e-3);
}

TEST(PldEpsilon, InfiniteLossIsInBothBounds) {
  const auto found = delta_of("repeat(10, approx(0.1, 0.01))", 1.0, 1e-4, replace);  // all of the rest is below epsilon
  const double infinite = 1 - std::pow(0.99, 10);
  EXPECT_LE(found.lower, infinite * (1 + 1e-12));
  EXPECT_GE(found.upper, infinite * (1 - 1e-12));
  EXPECT_NEAR(found.lower, infinite, 1e-9);
  EXPECT_EQ(epsilon_of("repeat(10, approx(0.1, 0.01))", 0.05, 1e-4, replace).upper, infinity);
}

TEST(PldEpsilon, ZeroDeltaCostsTheLargestLoss) {
  EXPECT_EQ(epsilon_of("gaussian(1)", 0).upper, infinity);
  EXPECT_EQ(epsilon_of("gaussian(1)", 0).lower, infinity);
  const auto laplace = epsilon_of("repeat(30, laplace(4))", 0);
  EXPECT_TRUE(laplace.contains(7.5));
  EXPECT_LT(laplace.width(), 1e-12);
}

// Nearly all mass is one atom, and the guess where the window lies misses the law.
TEST(PldEpsilon, OfNearlyOneOutcomeIsAnswered) {
  constexpr auto zero = Adjacency::zero_out;
  const auto one = epsilon_of("repeat(2, shuffled(1000, 100, discrete_gaussian(0.0424, 1)))", 0.3, 1e-4, zero);
  EXPECT_LE(one.lower, one.upper);
  EXPECT_NEAR(one.upper, 555.958, 1e-3);  // one of the two atoms of loss 1 / (2 sigma^2) is enough for a delta of 0.3
  const auto other = epsilon(Pld{.width = 0.1, .memory = std::size_t{8} << 20},
                             parse_event("repeat(10, shuffled(10, 1, discrete_gaussian(1, 39)))", zero), Delta{1e-6});
  EXPECT_LE(other.lower, other.upper);
  EXPECT_GT(other.upper, 10 * 39 * 39 / 2.0);
  const auto delta = delta_of("repeat(100, parallel(discrete_gaussian(0.00786, 1), laplace(0.17), gaussian(0.1)))", 0);
  EXPECT_GT(delta.lower, 0.999);
}

TEST(PldEpsilon, WithoutNoiseIsRefused) {
  for (const auto* text :
       {"shuffled(4503599627370696, 4503599627370496, repeat(6, gaussian(5e-324)))", "shuffled(10, 2, gaussian(5e-324))"}) {
    EXPECT_THROW((void)epsilon_of(text, 0.005, 1e-4, Adjacency::zero_out), Error) << text;
  }
}

// ---- many different laws ----

/// delta(epsilon) of pure releases of all these epsilons, over all outcomes.
long double delta_of_pure(const std::vector<double>& epsilons, double at) {
  std::vector<std::pair<long double, long double>> outcomes{{1, 1}};  // P and Q
  for (const double epsilon : epsilons) {
    const long double hit = 1 / (1 + std::exp(-static_cast<long double>(epsilon)));
    const long double miss = 1 / (1 + std::exp(static_cast<long double>(epsilon)));
    const std::size_t size = outcomes.size();
    for (std::size_t i = 0; i < size; ++i) {
      const auto [p, q] = outcomes[i];
      outcomes.emplace_back(p * miss, q * hit);
      outcomes[i] = {p * hit, q * miss};
    }
  }
  long double sum = 0;
  for (const auto& [p, q] : outcomes) sum += std::max(0.0L, p - std::exp(static_cast<long double>(at)) * q);
  return sum;
}

TEST(PldOfMany, ContainsTheSumOverAllOutcomes) {
  std::mt19937_64 words{77};
  for (int i = 0; i < 12; ++i) {
    std::vector<double> epsilons;
    std::string text;
    double largest = 0;
    for (int part = 0; part < 16; ++part) {
      epsilons.push_back(log_uniform(words, 0.01, i % 2 == 0 ? 0.1 : 1.5));
      text += (text.empty() ? "compose(pure(" : "), pure(") + fmt::format("{}", epsilons.back());
      largest += epsilons.back();
    }
    const double at = largest * log_uniform(words, 0.1, 0.9);
    const auto truth = delta_of_pure(epsilons, at);
    const auto found = delta_of(text + "))", at, 1e-3);
    EXPECT_LE(found.lower, truth) << text << " " << at;
    EXPECT_GE(found.upper, truth) << text << " " << at;
    EXPECT_GT(found.lower, 0.5 * found.upper) << text << " " << at;
    const auto target = static_cast<double>(truth);
    const auto epsilon = epsilon_of(text + "))", target, 1e-3);
    EXPECT_LE(epsilon.lower, at + 1e-12) << text;
    EXPECT_GE(epsilon.upper, at - 1e-12) << text;
    EXPECT_LT(epsilon.width(), 2e-3) << text;
  }
}

TEST(PldOfMany, MeetsTheDefaultWidth) {
  std::mt19937_64 words{5};
  const auto composed = [&](int parts, const std::string& before, const std::string& after, double least, double most) {
    std::string text;
    for (int i = 0; i < parts; ++i)
      text += (i == 0 ? "compose(" : ", ") + before + fmt::format("{}", log_uniform(words, least, most)) + after;
    return text + ")";
  };
  for (const auto& text : {composed(300, "pure(", ")", 0.001, 0.1), composed(120, "laplace(", ")", 5, 50),
                           "repeat(1000, " + composed(16, "poisson(0.01, laplace(", "))", 1, 5) + ")"}) {
    const auto found = epsilon_of(text, 1e-6);
    EXPECT_LE(found.width(), 1e-4) << text.substr(0, 60);
    const auto by_moments = epsilon(Renyi{}, parse_event(text, add_remove), Delta{1e-6});
    EXPECT_LT(found.lower, by_moments.upper) << text.substr(0, 60);
    EXPECT_GT(found.upper, 0.7 * by_moments.upper) << text.substr(0, 60);
  }
}

/// delta(at) of counts[i] times pure(epsilons[i]), summed over all numbers of misses.
double delta_of_repeated_pure(const std::vector<double>& epsilons, const std::vector<unsigned>& counts, double at) {
  std::vector<std::pair<double, double>> all{{0, 1}};  // loss and P-mass
  for (std::size_t i = 0; i < epsilons.size(); ++i) {
    std::vector<std::pair<double, double>> next;
    const double miss = 1 / (1 + std::exp(epsilons[i]));
    for (const auto& [loss, mass] : all) {
      double here = mass * std::pow(1 - miss, counts[i]);
      for (unsigned k = 0; k <= counts[i]; ++k) {
        next.emplace_back(loss + epsilons[i] * (counts[i] - 2.0 * k), here);
        here *= miss / (1 - miss) * (counts[i] - k) / (k + 1.0);
      }
    }
    all = std::move(next);
  }
  double delta = 0;
  for (const auto& [loss, mass] : all) delta += mass * std::max(0.0, -std::expm1(at - loss));
  return delta;
}

TEST(PldEpsilon, AtomsThatFitNoCommonGridAreBoundedFromBelow) {
  const std::vector<double> epsilons{0.11, 0.23, 0.37};
  const std::vector<unsigned> counts{40, 40, 40};
  for (const double delta : {1e-4, 1e-6}) {
    const auto found = epsilon_of("compose(repeat(40, pure(0.11)), repeat(40, pure(0.23)), repeat(40, pure(0.37)))", delta);
    EXPECT_GT(delta_of_repeated_pure(epsilons, counts, found.lower), delta * (1 - 1e-9)) << delta;
    EXPECT_LT(delta_of_repeated_pure(epsilons, counts, found.upper), delta * (1 + 1e-9)) << delta;
    EXPECT_LE(found.width(), 1e-5) << delta;
  }
  const auto sampled = epsilon_of("compose(repeat(300, poisson(0.01, pure(1))), repeat(1000, poisson(0.02, pure(0.7))))", 0.01);
  EXPECT_LE(sampled.width(), 1e-4);
}

TEST(PldEpsilon, NextToTheLargestLossOfDifferentLawsIsBoundedFromBelow) {
  // Where the largest losses meet with probability 2^-6, delta = 2^-6 (1 - e^(epsilon - 3.5)) but for a little.
  const auto found = epsilon_of("compose(laplace(1), repeat(5, laplace(2)))", 1e-4, 1e-4, Adjacency::zero_out);
  EXPECT_LE(found.lower, 3.493640455);
  EXPECT_GE(found.upper, 3.493637860);
  EXPECT_LE(found.width(), 1e-4);
  for (const double delta : {0.3, 0.1, 1e-2, 1e-3, 3e-4, 1e-5, 1e-7}) {
    for (const char* text : {"compose(laplace(1), repeat(5, laplace(2)))", "compose(laplace(1.3), repeat(5, laplace(2.2)), gaussian(3))",
                             "compose(randomized_response(0.7, 3), repeat(5, laplace(2.2)), discrete_laplace(1.3, 1))",
                             "compose(k_norm(l1, 1, 0.9), discrete_laplace(2, 1), repeat(3, pure(0.31)))"}) {
      EXPECT_LE(epsilon_of(text, delta, 1e-4, Adjacency::zero_out).width(), 1.5e-4) << text << " " << delta;
    }
  }
}

TEST(PldEpsilon, IsZeroWhereDeltaIsLarge) {
  const auto found = epsilon_of("gaussian(100)", 0.5);
  EXPECT_EQ(found.lower, 0);
  EXPECT_LE(found.upper, 1e-4);
}

TEST(PldEpsilon, RefusesByName) {
  EXPECT_THROW((void)epsilon_of("zcdp(20000)", 1e-5), Error);
  try {
    (void)epsilon(Pld{.width = 1e-9, .memory = 1 << 20}, parse_event(job_a, add_remove), Delta{1e-5});
    FAIL() << "a megabyte is too little";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::memory);
  }
}

}  // namespace
}  // namespace surety::accounting::pld_test
