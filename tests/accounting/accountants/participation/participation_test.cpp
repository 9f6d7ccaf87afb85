#include <surety/accounting/answers/asked.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/answers/best.h>

#include <support/refusal.h>

namespace surety::accounting::participation_test {
namespace {

using reference::refusal_of;

constexpr auto replace = Adjacency::replace_one;
constexpr auto add = Adjacency::add_or_remove_one;

Event fixed(std::uint64_t steps, std::uint64_t records, double multiplier) {
  return repeat(Count{steps}, without_replacement(Count{records}, Count{1}, gaussian(NoiseMultiplier{multiplier}, replace)));
}
Event poisson(std::uint64_t steps, double rate, double multiplier) {
  return repeat(Count{steps}, poisson(SamplingRate{rate}, gaussian(NoiseMultiplier{multiplier}, add)));
}

long double phi_cdf(long double x) { return 0.5L * std::erfc(-x * std::sqrt(0.5L)); }

/// The curve of N(mu, 1) against N(0, 1) at any real epsilon = log(a).
long double plain(long double mu, long double log_a) {
  return phi_cdf(mu / 2 - log_a / mu) - std::exp(log_a) * phi_cdf(-mu / 2 - log_a / mu);
}

/// The curve of one batch, M = (1-q) N(0, 1) + q N(mu, 1) against N(0, 1), at any real epsilon, and reversed.
long double batch(long double q, long double mu, long double epsilon, bool removed) {
  const long double a = std::exp(epsilon);
  const long double rest = removed ? a - (1 - q) : 1 - a * (1 - q);
  if (removed) return rest <= 0 ? 1 - a : q * plain(mu, std::log(rest / q));
  return rest <= 0 ? 0 : rest * plain(mu, std::log(a * q / rest));
}

/// One more batch, or one Gaussian release, by the trapezoid rule over what it showed.
template <class Rest>
long double then(const Rest& rest, long double q, long double mu, long double epsilon, bool removed) {
  constexpr long double step = 1.0L / 128;
  const long double sign = removed ? 1 : -1;
  const auto around = [&](long double centre) {
    long double sum = 0;
    for (long double t = -9; t <= 9; t += step) {
      const long double loss = std::log1p(q * std::expm1(mu * (centre + t) - mu * mu / 2));
      sum += std::exp(-t * t / 2) * rest(epsilon - sign * loss);
    }
    return sum * step / std::sqrt(2 * std::acos(-1.0L));
  };
  return removed ? (q < 1 ? (1 - q) * around(0) : 0) + q * around(mu) : around(0);
}

// One batch in closed form, two batches, and one beside a Gaussian release, in both directions: the larger of them is the truth under
// add-or-remove-one.
TEST(Participation, EnclosesTheTruthOfAFewBatches) {
  int cases = 0;
  int narrow = 0;
  constexpr long double tolerance = 1e-4L;  // of the rule, where the curve of the rest has a bend at e^epsilon = 1 - q
  for (const double rate : {0.6, 0.3, 0.01}) {
    for (const double multiplier : {0.2, 0.1, 0.05}) {
      const long double q = rate;
      const long double mu = 1 / static_cast<long double>(multiplier);
      const double loss = 0.5 / multiplier / multiplier;  // the mean loss of one batch with the record
      for (const double share : {0.0, 0.01, 0.8, 1.0, 2.2}) {
        const double epsilon = share * loss;
        const auto check = [&](const Event& event, const auto& curve, const char* what) {
          const long double truth = std::max(curve(true), curve(false));
          const auto found = delta(Participation{}, event, Epsilon{epsilon});
          EXPECT_LE(found.lower, truth * (1 + tolerance)) << what << ' ' << rate << ' ' << multiplier << ' ' << epsilon;
          EXPECT_GE(found.upper, truth * (1 - tolerance)) << what << ' ' << rate << ' ' << multiplier << ' ' << epsilon;
          if (found.lower > 0.99L * truth && found.upper < 1.01L * truth) ++narrow;
          ++cases;
        };
        const auto at = [&](bool removed) { return [=](long double e) { return batch(q, mu, e, removed); }; };
        check(
            poisson(1, rate, multiplier), [&](bool removed) { return at(removed)(epsilon); }, "one batch");
        check(
            poisson(2, rate, multiplier), [&](bool removed) { return then(at(removed), q, mu, epsilon, removed); }, "two batches");
        check(
            compose({gaussian(NoiseMultiplier{0.5}, add), poisson(1, rate, multiplier)}),
            [&](bool removed) { return then(at(removed), 1.0L, 2.0L, epsilon, removed); }, "a batch and a release");
      }
    }
  }
  EXPECT_EQ(cases, 3 * 3 * 5 * 3);
  EXPECT_GT(narrow, cases / 4);
}

// To the last digits: what each of the terms of the upper bound covers is small.
TEST(Participation, EnclosesTheCurveOfOneBatch) {
  long double nearest = 1;
  for (double rate = 0.5; rate > 1e-4; rate /= 9) {
    for (double multiplier = 0.2; multiplier > 0.05; multiplier /= 1.5) {
      for (double epsilon = 1e-3; epsilon < 1 / multiplier / multiplier; epsilon *= 3) {
        const long double truth = batch(rate, 1 / static_cast<long double>(multiplier), epsilon, true);
        const auto found = delta(Participation{}, poisson(1, rate, multiplier), Epsilon{epsilon});
        EXPECT_LE(found.lower, truth * (1 + 1e-14L)) << rate << ' ' << multiplier << ' ' << epsilon;
        EXPECT_GE(found.upper, truth * (1 - 1e-14L)) << rate << ' ' << multiplier << ' ' << epsilon;
        nearest = std::min(nearest, found.upper / truth - 1);
      }
    }
  }
  EXPECT_LT(nearest, 1e-7);
}

// Where every draw shows, delta is the probability that the record is drawn at all.
TEST(Participation, CountsEveryNumberOfDraws) {
  const long double drawn = -std::expm1(75'000 * std::log1p(-1 / 200'000.0L));
  const auto found = delta(Participation{}, fixed(75'000, 200'000, 1e-4), Epsilon{0.2});
  EXPECT_LE(found.lower, drawn);
  EXPECT_GE(found.upper, drawn);
  EXPECT_LT(found.width(), 1e-11);
}

// With rate 1/2 and one batch every term has its weight: the curve is q delta_G(log(1 + (e^epsilon - 1) / q)).
TEST(Participation, IsNarrowWhereTheNoiseIsSmall) {
  for (const double multiplier : {0.1, 0.03, 0.01, 0.001}) {
    const auto found = delta(Participation{}, poisson(1, 0.5, multiplier), Epsilon{0.5 / multiplier / multiplier});
    const double exact = 0.5 * gaussian_delta(Mu{1 / multiplier}, Epsilon{0.5 / multiplier / multiplier + std::log(2)}).upper;
    EXPECT_LE(found.lower, exact * (1 + 1e-12));
    EXPECT_GE(found.upper, exact * (1 - 1e-12));
    EXPECT_LT(found.upper / found.lower, 1 + 2 * multiplier) << multiplier;
  }
}

// The printed noise of variance-reduced gradients at n = 200,000, 15 epochs of 5,000 steps: sigma / (4 G) and sigma / (2 G), the epsilon
// claimed, and what it really is at delta = 1e-3, by an independent computation with relative errors of 1e-4.
TEST(Participation, SaysWhatThePrintedNoiseCosts) {
  struct Row {
    double c;
    double claim;
    double general;
    double linear;
  };
  for (const auto& row : {Row{1, 0.2, 74'672, 18'785}, Row{1, 1, 1.86e6, 4.65e5}, Row{2, 0.2, 37'438, 9'434}, Row{5, 0.5, 93'273, 23'453},
                          Row{10, 0.2, 7'559, 1'908}, Row{10, 1, 1.862e5, 4.675e4}}) {
    const double sigma = std::sqrt(row.c * 75'000 * std::log(1000)) / (200'000 * row.claim);
    for (const auto& [sensitivity, truth] : {std::pair{4.0, row.general}, std::pair{2.0, row.linear}}) {
      const auto event = fixed(75'000, 200'000, sigma / sensitivity);
      const auto cost = epsilon(Participation{}, event, Delta{1e-3});
      EXPECT_NEAR(cost.upper / truth, 1, 3e-3) << row.c << ' ' << row.claim;
      EXPECT_LT(cost.upper - cost.lower, 0.5 + 1e-6 * cost.upper);
      const auto shown = delta(Participation{}, event, Epsilon{row.claim});
      const double drawn = -std::expm1(75'000 * std::log1p(-1 / 200'000.0));
      EXPECT_NEAR(shown.lower, drawn, 1e-11);
      EXPECT_NEAR(shown.upper, drawn, 1e-11);
    }
  }
  const auto doubling = delta(Participation{}, fixed(655'340, 200'000, 0.0045), Epsilon{0.2});
  EXPECT_NEAR(doubling.lower, 0.96225, 1e-5);
  EXPECT_NEAR(doubling.upper, 0.96225, 1e-5);
}

TEST(Participation, NeverContradictsTheOthers) {
  std::mt19937_64 words{20};
  const auto uniform = [&] { return static_cast<double>(words() >> 11) * 0x1p-53; };
  int compared = 0;
  for (int i = 0; i < 12; ++i) {
    const double multiplier = 0.2 * std::exp(-0.5 * uniform());
    const double rate = std::exp(-7 * uniform());
    const auto steps = static_cast<std::uint64_t>(1 + 20 * uniform());
    if (rate * static_cast<double>(steps) > 10) continue;
    const auto batches = poisson(steps, rate, multiplier);
    const auto event = i % 2 == 0 ? batches : compose({gaussian(NoiseMultiplier{1 + 4 * uniform()}, add), batches});
    const double at = 0.5 / multiplier / multiplier * (1 + 3 * uniform());
    const auto found = delta(Participation{}, event, Epsilon{at});
    const auto grid = delta(Pld{.width = 0.5}, event, Epsilon{at});
    EXPECT_TRUE(overlap(found, grid)) << describe(event) << " at " << at << ": [" << found.lower << ", " << found.upper << "] and ["
                                      << grid.lower << ", " << grid.upper << ']';
    const auto cost = epsilon(Participation{}, event, Delta{1e-4});
    EXPECT_LE(cost.lower, epsilon(Renyi{}, event, Delta{1e-4}).upper);
    EXPECT_LE(delta(Participation{}, event, Epsilon{cost.upper}).upper, 1e-4);
    EXPECT_TRUE(cost.lower == 0 || delta(Participation{}, event, Epsilon{cost.lower}).lower > 1e-4);
    ++compared;
  }
  EXPECT_GT(compared, 7);
}

TEST(Participation, CountsReleasesOutsideTheBatches) {
  // A batch of rate 1 is no batch.
  const auto whole = compose({fixed(10, 100'000, 0.01), without_replacement(Count{5}, Count{5}, gaussian(NoiseMultiplier{2}, replace))});
  const auto plain = compose({fixed(10, 100'000, 0.01), gaussian(NoiseMultiplier{2}, replace)});
  EXPECT_EQ(delta(Participation{}, whole, Epsilon{1}), delta(Participation{}, plain, Epsilon{1}));
  const double alone = gaussian_delta(Mu{0.5}, Epsilon{1}).lower;
  const auto found = delta(Participation{}, plain, Epsilon{1});
  EXPECT_GT(found.lower, alone + 9e-5);
  EXPECT_LT(found.upper, alone + 1.1e-4);
  EXPECT_TRUE(std::isinf(epsilon(Participation{}, plain, Delta{0}).lower));
}

TEST(Participation, RefusesByName) {
  const auto refuses = [](const Event& event, const char* why) {
    const auto refusal = refusal_of([&] { return delta(Participation{}, event, Epsilon{1}); });
    EXPECT_TRUE(refusal.says(ErrorCode::unsupported, why)) << refusal;
  };
  refuses(fixed(10, 100, 0.3), "must be at most 0.2");
  refuses(fixed(100, 3, 0.1), "must be at most 32");
  refuses(gaussian(NoiseMultiplier{0.1}, replace), "no secret batches");
  refuses(compose({fixed(10, 100, 0.1), fixed(10, 101, 0.1)}), "more than one kind");
  refuses(parse_event("poisson(0.1, record_sum(0.1))", replace), "under replace-one");
  refuses(parse_event("poisson(0.1, laplace(0.1))", add), "laplace(0.1)");
  refuses(parse_event("compose(laplace(1), poisson(0.1, gaussian(0.1)))", add), "laplace(1)");
}

TEST(Participation, IsAskedByBest) {
  const auto best = best_delta(fixed(75'000, 200'000, 0.0045), Epsilon{0.2});
  EXPECT_EQ(best.accountant, "participation");
  EXPECT_NEAR(best.value.lower, 0.3127, 1e-4);
  EXPECT_NEAR(quick_delta(fixed(75'000, 200'000, 0.0045), Epsilon{0.2}).upper, 0.3127, 1e-4);
}

}  // namespace
}  // namespace surety::accounting::participation_test
