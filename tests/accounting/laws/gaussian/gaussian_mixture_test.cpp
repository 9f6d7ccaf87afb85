// Batches of users with several records, against quadrature of what their records add up to; and groups that take turns.
#include <surety/accounting/laws/gaussian/gaussian_mixture.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>

#include <support/mixtures.h>
#include <support/real.h>

namespace surety::accounting::gaussian_mixture_test {
namespace {

using namespace reference;

Enclosure asked(const std::string& text, Adjacency adjacency, double epsilon) {
  return delta(Pld{.width = 1e-5}, parse_event(text, adjacency), Epsilon{epsilon});
}

/// The sum over the records of a user that are in the batch, each of them `vector`.
Mixture sum_of_user(int records, double rate, double vector) {
  Mixture found;
  for (int i = 0; i <= records; ++i) found[i * vector] += binomial(records, i, rate);
  return found;
}

TEST(Users, CostWhatTheirRecordsTogetherDo) {
  for (const auto& [records, rate, z] : {std::tuple{1, 0.3, 1.0}, {2, 0.2, 0.7}, {4, 0.01, 2.0}, {7, 0.5, 3.0}, {40, 0.05, 8.0}}) {
    const auto text = "users(" + std::to_string(records) + ", poisson(" + std::to_string(rate) + ", ";
    const auto release = [&, noise = z](const std::string& name) { return text + name + "(" + std::to_string(noise) + ")))"; };
    const Mixture with = sum_of_user(records, rate, 1);
    for (const double epsilon : {0.0, 0.1, 0.8, 2.5}) {
      const double alone = delta_of_pair(with, {{0, 1}}, z, epsilon);
      for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::zero_out}) {
        const auto found = asked(release("gaussian"), adjacency, epsilon);
        EXPECT_LE(found.lower, alone + 3e-6) << release("gaussian") << ' ' << epsilon;
        EXPECT_GE(found.upper, alone - 3e-6) << release("gaussian") << ' ' << epsilon;
        EXPECT_LE(found.upper - found.lower, 2e-5) << release("gaussian") << ' ' << epsilon;
      }
      const double replaced = delta_of_pair(with, sum_of_user(records, rate, -1), z, epsilon);
      const auto found = asked(release("record_sum"), Adjacency::replace_one, epsilon);
      EXPECT_LE(found.lower, replaced + 3e-6) << release("record_sum") << ' ' << epsilon;
      EXPECT_GE(found.upper, replaced - 3e-6) << release("record_sum") << ' ' << epsilon;
      EXPECT_LE(found.upper - found.lower, 2e-5) << release("record_sum") << ' ' << epsilon;
    }
  }
}

// Where nearly all components are next to nothing, beside the one or two that count. The curve at the loss of a place has a closed form.
TEST(Users, CostWhatTheirRecordsTogetherDoWithLittleNoise) {
  using Real = reference::Real;
  const auto real = [](double x) { return Real{x}; };
  const auto beyond = [&](const Real& t) { return erfc(t / sqrt(real(2))) / 2.0; };
  for (const double z : {0.1, 0.08}) {
    const auto event = parse_event("users(3, poisson(0.01, gaussian(" + std::to_string(z) + ")))", Adjacency::add_or_remove_one);
    for (const double t : {1 / z - 2, 1 / z + 1, 2 / z - 2, 2 / z + 1}) {
      Real ratio{0};
      Real mass{0};
      for (int i = 0; i <= 3; ++i) {
        const Real weight{binomial(3, i, 0.01)};
        const Real shift = real(i) / real(z);
        ratio = ratio + weight * exp(shift * (real(t) - shift / 2.0));
        mass = mass + weight * beyond(real(t) - shift);
      }
      const double truth = log(ratio).nearest_double();
      const auto found = epsilon(Pld{.width = 1e-2}, event, Delta{(mass - ratio * beyond(real(t))).nearest_double()});
      EXPECT_LE(found.lower, truth * (1 + 1e-9)) << z << ' ' << t;
      EXPECT_GE(found.upper, truth * (1 - 1e-9)) << z << ' ' << t;
      EXPECT_LE(found.width(), 2e-2) << z << ' ' << t;
    }
  }
}

TEST(Users, OfManyRecordsHaveBinomialWeights) {
  using Real = reference::Real;
  double worst = 0;
  for (const auto& [records, rate] : {std::tuple{2, 0.3}, {17, 0.01}, {400, 0.77}, {3000, 1e-5}}) {
    const auto mixture = laws::binomial_mixture(1, static_cast<std::uint64_t>(records), rate);
    ASSERT_EQ(mixture.log_weights.size(), static_cast<std::size_t>(records) + 1);
    Real log_choices{0};
    for (int i = 0; i <= records; ++i) {
      if (i > 0) log_choices = log_choices + log(Real{records - i + 1.0} / Real{static_cast<double>(i)});
      const Real truth =
          log_choices + Real{static_cast<double>(i)} * log(Real{rate}) + (records - static_cast<double>(i)) * log(1.0 - Real{rate});
      const double off = std::abs((Real{mixture.log_weights[static_cast<std::size_t>(i)]} - truth).nearest_double());
      EXPECT_LE(off, mixture.weight_error) << records << ' ' << i;
      worst = std::max(worst, off / mixture.weight_error);
    }
  }
  EXPECT_GT(worst, 0.3);
}

/// log of the probability that a mixture's shift is at least `least`.
double log_tail(const GaussianMixtureBase& base, double least, double lost) {
  double sum = lost;
  for (std::size_t i = 0; i < base.log_weights.size(); ++i) sum += base.shift(i) >= least ? std::exp(base.log_weights[i]) : 0;
  return std::log(sum);
}

TEST(Users, OfManyRecordsHaveFewComponentsOnEitherSide) {
  for (const auto& [records, rate] : {std::tuple{257, 0.01}, {1000, 0.001}, {3000, 0.5}, {20000, 0.9}, {300000, 1e-6}}) {
    const auto k = static_cast<std::uint64_t>(records);
    const auto above = laws::few_components(1, k, rate, laws::MixtureSide::above);
    const auto below = laws::few_components(1, k, rate, laws::MixtureSide::below);
    EXPECT_LE(above.base.log_weights.size(), 1028U);
    EXPECT_LE(below.base.log_weights.size(), 1028U);
    EXPECT_GT(above.lost, 0) << "what lies beyond the last component";
    EXPECT_LT(above.lost, 1e-300);
    EXPECT_EQ(below.lost, 0);
    EXPECT_LT(std::max(above.base.weight_error, below.base.weight_error), 1e-11);
    EXPECT_NEAR(log_tail(below.base, 0, 0), 0, 1e-11);
    EXPECT_NEAR(log_tail(above.base, 0, above.lost), 0, 1e-11);
    // The law of the number itself, from its mean outward, where there is more of it than rounding.
    std::vector<double> shares(k + 1, 0.0);
    for (int i = 0; i <= records; ++i) {
      const double log_share = std::lgamma(records + 1.0) - std::lgamma(i + 1.0) - std::lgamma(records - i + 1.0) + i * std::log(rate) +
                               (records - i) * std::log1p(-rate);
      shares[static_cast<std::size_t>(i)] = std::exp(log_share);
    }
    double tail = 0;
    double nearest = 0;
    for (int i = records; i >= 0; --i) {
      tail += shares[static_cast<std::size_t>(i)];
      if (!(tail > 1e-290)) continue;
      const double truth = std::log(tail);
      EXPECT_GE(log_tail(above.base, i, above.lost), truth - 1e-7) << records << ' ' << i;
      EXPECT_LE(log_tail(below.base, i, 0), truth + 1e-7) << records << ' ' << i;
      if (tail > 0.1 && tail < 0.9) nearest = std::max(nearest, log_tail(above.base, i, 0) - log_tail(below.base, i, 0));
    }
    EXPECT_LT(nearest, 0.3) << records;
  }
}

/// delta of a mixture against another one of the same components, mirrored or at 0, by the midpoint rule.
double delta_of_many(int records, double rate, double z, double epsilon, bool is_mirrored) {
  std::vector<std::pair<double, double>> components;
  double farthest = 0;
  for (int i = 0; i <= records; ++i) {
    const double weight = binomial(records, i, rate);
    if (weight > 1e-17) components.emplace_back(i / z, weight), farthest = i / z;
  }
  constexpr double step = 1.0 / 192;
  double with = 0;
  double other_way = 0;
  for (double t = -farthest - 9; t <= farthest + 9; t += step) {
    double p = 0;
    double q = is_mirrored ? 0 : std::exp(-0.5 * t * t);
    for (const auto& [shift, weight] : components) {
      p += weight * std::exp(-0.5 * (t - shift) * (t - shift));
      if (is_mirrored) q += weight * std::exp(-0.5 * (t + shift) * (t + shift));
    }
    with += std::max(0.0, p - std::exp(epsilon) * q);
    other_way += std::max(0.0, q - std::exp(epsilon) * p);
  }
  return std::max(with, other_way) * step / 2.5066282746310002;
}

TEST(Users, OfManyRecordsCostWhatTheyTogetherDo) {
  for (const auto& [records, rate, z] : {std::tuple{257, 0.01, 5.0}, {2000, 0.5, 900.0}}) {
    const auto text = "users(" + std::to_string(records) + ", poisson(" + std::to_string(rate) + ", ";
    const auto release = [&, noise = z](const std::string& name) { return text + name + "(" + std::to_string(noise) + ")))"; };
    for (const double epsilon : {0.0, 0.8}) {
      const double alone = delta_of_many(records, rate, z, epsilon, false);
      const auto found = asked(release("gaussian"), Adjacency::add_or_remove_one, epsilon);
      EXPECT_LE(found.lower, alone + 1e-6) << release("gaussian") << ' ' << epsilon;
      EXPECT_GE(found.upper, alone - 1e-6) << release("gaussian") << ' ' << epsilon;
      EXPECT_LE(found.upper - found.lower, 3e-5) << release("gaussian") << ' ' << epsilon;
      const double replaced = delta_of_many(records, rate, z, epsilon, true);
      const auto both = asked(release("record_sum"), Adjacency::replace_one, epsilon);
      EXPECT_LE(both.lower, replaced + 1e-6) << release("record_sum") << ' ' << epsilon;
      EXPECT_GE(both.upper, replaced - 1e-6) << release("record_sum") << ' ' << epsilon;
      EXPECT_LE(both.upper - both.lower, 3e-5) << release("record_sum") << ' ' << epsilon;
    }
  }
  const auto one_more = epsilon(Best{}, parse_event("users(257, poisson(0.01, gaussian(300)))", Adjacency::add_or_remove_one), Delta{1e-6});
  EXPECT_LE(one_more.upper, 0.028667);
  EXPECT_THROW(
      static_cast<void>(epsilon(Best{}, parse_event("users(1048577, poisson(0.5, gaussian(9e6)))", Adjacency::zero_out), Delta{1e-6})),
      Error);
}

TEST(Users, OfOneRecordAreItsBatches) {
  const auto event = [](const std::string& text) { return parse_event(text, Adjacency::zero_out); };
  const auto batches = epsilon(Contour{}, event("repeat(1000, poisson(0.01, gaussian(2)))"), Delta{1e-5});
  const auto users = epsilon(Contour{}, event("users(1, repeat(1000, poisson(0.01, gaussian(2))))"), Delta{1e-5});
  EXPECT_EQ(users.lower, batches.lower);
  EXPECT_EQ(users.upper, batches.upper);
}

TEST(Users, OfManyRoundsAgreeWithTheKnownValue) {
  // By a program that shares nothing with this one: 2.8933843408, and 2.6605191150 in the other direction.
  const auto found =
      epsilon(Best{}, parse_event("users(4, repeat(1000, poisson(0.01, gaussian(2))))", Adjacency::add_or_remove_one), Delta{1e-5});
  EXPECT_TRUE(found.lower <= 2.8933843408 && 2.8933843408 <= found.upper) << found.lower << ' ' << found.upper;
  EXPECT_LE(found.width(), 2e-4);
}

TEST(Users, OfGaussianReleasesAreGaussian) {
  const auto found = epsilon(Best{}, parse_event("users(4, repeat(4, gaussian(4)))", Adjacency::zero_out), Delta{1e-6});
  const auto known = epsilon(Best{}, parse_event("gaussian(0.5)", Adjacency::zero_out), Delta{1e-6});
  EXPECT_NEAR(found.upper, known.upper, 1e-8);
  EXPECT_NEAR(found.lower, known.lower, 1e-8);
}

TEST(Users, AreRefusedWhereNothingIsProved) {
  EXPECT_THROW(static_cast<void>(parse_event("users(2, poisson(0.5, laplace(1)))", Adjacency::zero_out)), Error);
  EXPECT_THROW(static_cast<void>(parse_event("poisson(0.5, users(2, gaussian(1)))", Adjacency::zero_out)), Error);
  EXPECT_THROW(static_cast<void>(parse_event("users(2, poisson(0.5, gaussian(1)))", Adjacency::replace_one)), Error);
}

TEST(Cyclic, IsThePoissonRoundsOfTheDearestGroup) {
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::zero_out}) {
    const auto found = epsilon(Best{}, parse_event("cyclic(10, 995, 0.1, gaussian(2))", adjacency), Delta{1e-5});
    const auto rounds = epsilon(Best{}, parse_event("repeat(100, poisson(0.1, gaussian(2)))", adjacency), Delta{1e-5});
    EXPECT_EQ(found.lower, rounds.lower);
    EXPECT_EQ(found.upper, rounds.upper);
  }
}

TEST(Cyclic, IsDearestForAUserWithAllRecordsInOneGroup) {
  const auto answer_of = [](const char* text) { return epsilon(Best{}, parse_event(text, Adjacency::zero_out), Delta{1e-5}); };
  const auto found = answer_of("users(3, cyclic(10, 95, 0.1, gaussian(2)))");
  const auto rounds = answer_of("repeat(10, users(3, poisson(0.1, gaussian(2))))");
  EXPECT_EQ(found.lower, rounds.lower);
  EXPECT_EQ(found.upper, rounds.upper);
  // Records in three groups: each of the ten rounds of a group has one of them.
  EXPECT_LT(answer_of("repeat(30, poisson(0.1, gaussian(2)))").upper, found.lower);
}

/// P-mass of a mixture between two places, each component from the nearer tail.
long double mass_between(const std::vector<long double>& weights, const std::vector<long double>& shifts, long double from,
                         long double to) {
  const auto tail = [](long double t) { return std::erfc(t / std::sqrt(2.0L)) / 2; };
  long double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const long double a = from - shifts[i];
    const long double b = to - shifts[i];
    sum += weights[i] * (a > 0 ? tail(a) - tail(b) : tail(-b) - tail(-a));
  }
  return sum;
}

// Little noise: from one end of a block, or of a cell, to the other each component rises by hundreds of its logarithm, and those that were next to nothing
// are all that counts.
TEST(GaussianMixtures, LeaveOutOnlyWhatIsNextToNothing) {
  for (const auto& [records, rate, z, step] :
       {std::tuple{3, 0.01, 0.004, 900.0}, {3, 0.01, 0.004, 300.0}, {40, 0.05, 0.05, 700.0}, {2, 0.3, 0.7, 0.2}}) {
    const auto base = laws::binomial_mixture(z, static_cast<std::uint64_t>(records), rate);
    std::vector<long double> weights;
    std::vector<long double> shifts;
    for (int i = 0; i <= records; ++i) {
      weights.push_back(binomial(records, i, rate));
      shifts.push_back(i / static_cast<long double>(z));
    }
    const auto loss = [&](long double t) {
      const auto exponent = [&](std::size_t i) { return std::log(weights[i]) + shifts[i] * (t - shifts[i] / 2); };
      long double top = exponent(0);
      for (std::size_t i = 1; i < weights.size(); ++i) top = std::max(top, exponent(i));
      long double sum = 0;
      for (std::size_t i = 0; i < weights.size(); ++i) sum += std::exp(exponent(i) - top);
      return top + std::log(sum);
    };
    const auto place = [&](long double wanted) {
      long double low = -40;
      long double high = shifts.back() + 40;
      for (int i = 0; i < 80; ++i) (loss((low + high) / 2) < wanted ? low : high) = (low + high) / 2;
      return low;
    };
    const auto found = laws::mixture_cells(base, Mixing::remove, step, {-60, -60});
    int compared = 0;
    // The outermost cells end where tails are cut.
    for (std::size_t i = 1; i + 1 < found.cells.size(); ++i) {
      const auto& cell = found.cells[i];
      const long double least = static_cast<long double>(cell.index) * static_cast<long double>(step);
      const long double a = place(least);
      const long double b = place(least + static_cast<long double>(step));
      const long double p = mass_between(weights, shifts, a, b);
      if (!(p > 1e-4000L)) continue;
      ++compared;
      const long double mass = static_cast<long double>(cell.mass) * std::exp(static_cast<long double>(cell.log_scale));
      EXPECT_LE(std::abs(mass / p - 1), 1e-8L) << z << ' ' << step << ' ' << cell.index;
      const long double q = mass_between({1}, {0}, a, b);
      if (!(q > 0)) continue;
      const long double excess = 1 - std::exp(least + std::log(q) - std::log(p));
      EXPECT_NEAR(cell.excess, static_cast<double>(excess), 1e-7) << z << ' ' << step << ' ' << cell.index;
    }
    EXPECT_GT(compared, 10) << z << ' ' << step;
  }
}

// A law from below of which the densities are known roughly, and only so far out: each cell says what is known of it.
TEST(GaussianMixtures, CountWhatIsKnownOfTheirDensities) {
  constexpr double rate = 0.3;
  constexpr double shift = 2;
  constexpr double off = 0.1;
  constexpr double step = 0.05;
  auto base = laws::binomial_mixture(1 / shift, 1, rate);
  base.farthest = 2.5;
  base.density_error = off;
  const auto normal_cdf = [](double t) { return 0.5 * std::erfc(-t / std::sqrt(2.0)); };
  const auto loss = [&](double t) { return std::log1p(rate * std::expm1(shift * (t - shift / 2))); };
  const auto place = [&](double l) {
    const double inside = 1 + std::expm1(l) / rate;
    return std::clamp(inside > 0 ? std::log(inside) / shift + shift / 2 : -base.farthest, -base.farthest, base.farthest);
  };
  for (const auto mixing : {Mixing::remove, Mixing::add}) {
    const bool reversed = mixing == Mixing::add;
    const auto found = laws::mixture_cells(base, mixing, step, {-60, -60});
    EXPECT_GE(found.loss_error, 2 * off);
    double all = 0;
    for (const auto& cell : found.cells) {
      const double least = static_cast<double>(cell.index) * step;
      const double a = reversed ? place(-least - step) : place(least);
      const double b = reversed ? place(-least) : place(least + step);
      const double still = normal_cdf(b) - normal_cdf(a);
      const double mixed = (1 - rate) * still + rate * (normal_cdf(b - shift) - normal_cdf(a - shift));
      const double p = reversed ? still : mixed;
      const double q = reversed ? mixed : still;
      if (p < 1e-9) continue;
      const double mass = cell.mass * std::exp(cell.log_scale);
      all += mass;
      EXPECT_NEAR(mass, p, 1e-9 * p) << cell.index;
      EXPECT_LE(mass * (1 - cell.mass_error), p * std::exp(-off)) << cell.index;
      const double excess = 1 - std::exp(least + 2 * off) * q / p;  // with less of P and more of Q
      EXPECT_LE(cell.excess - cell.excess_error, excess + 1e-9) << cell.index;
    }
    const double inside = reversed ? normal_cdf(2.5) - normal_cdf(-2.5)
                                   : (1 - rate) * (normal_cdf(2.5) - normal_cdf(-2.5)) + rate * (normal_cdf(0.5) - normal_cdf(-4.5));
    EXPECT_NEAR(all, inside, 1e-6) << "and nothing farther out";
    EXPECT_LE(static_cast<double>(found.cells.back().index) * step, reversed ? -loss(-2.5) : loss(2.5));
  }
}

}  // namespace
}  // namespace surety::accounting::gaussian_mixture_test
