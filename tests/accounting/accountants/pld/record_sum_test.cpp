// Sums that bound each record: what they cost as they are, and on Poisson batches under replace-one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/group.h>
#include <surety/accounting/laws/cells/dominating_pair.h>

namespace surety::accounting::record_sum_test {
namespace {

constexpr auto replace = Adjacency::replace_one;
using Real = long double;

Event event_of(const std::string& text, Adjacency adjacency = replace) { return parse_event(text, adjacency); }
Enclosure delta_of(const std::string& text, double at, double width = 1e-4) {
  return delta(Pld{.width = width}, event_of(text), Epsilon{at});
}
Enclosure epsilon_of(const std::string& text, double at, double width = 1e-4) {
  return epsilon(Pld{.width = width}, event_of(text), Delta{at});
}

std::string refusal(const Event& event, auto accountant) {
  try {
    (void)epsilon(accountant, event, Delta{1e-5});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    return error.what();
  }
  return "";
}

// ---- unsampled ----

TEST(RecordSum, IsOneGaussianRelease) {
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    const std::string z = adjacency == replace ? "0.75" : "1.5";
    const std::string other = adjacency == replace ? "2" : "4";
    const std::string batch = adjacency == replace ? "without_replacement(10, 2, " : "poisson(0.2, ";
    for (const std::string shape : {"{0}", "repeat(20, {0})", "compose({0}, {1}, {0})", "repeat(50, compose({0}, parallel({0}, {1})))",
                                    "repeat(30, {2}{1}))", "repeat(30, {2}repeat(2, {1})))"}) {
      const auto with = [&](const std::string& one, const std::string& two) { return fmt::format(fmt::runtime(shape), one, two, batch); };
      const Event sum = event_of(with("record_sum(1.5)", "record_sum(4)"), adjacency);
      const Event noise = event_of(with("gaussian(" + z + ")", "gaussian(" + other + ")"), adjacency);
      const auto same = [&](auto accountant) {
        const auto outcome = [&](const Event& event) {
          try {
            const auto found = epsilon(accountant, event, Delta{1e-5});
            return fmt::format("{} {}", found.lower, found.upper);
          } catch (const Error& error) {
            return fmt::format("refused: {}", static_cast<int>(error.code()));
          }
        };
        EXPECT_EQ(outcome(sum), outcome(noise)) << describe(sum) << ' ' << name(adjacency);
      };
      same(ClosedForm{});
      same(Zcdp{});
      same(Renyi{});
      same(Contour{});
      same(Pld{.width = 1e-3});
    }
  }
}

TEST(RecordSum, CostsThatOfTheSensitivityItImplies) {
  EXPECT_EQ(pairwise_multiplier(event_of("record_sum(3)"))->value(), 1.5);
  EXPECT_EQ(pairwise_multiplier(event_of("record_sum(3)", Adjacency::zero_out))->value(), 3);
  EXPECT_EQ(pairwise_multiplier(event_of("gaussian(3)"))->value(), 3);
  EXPECT_FALSE(pairwise_multiplier(event_of("laplace(3)")));
  EXPECT_EQ(describe(group(event_of("record_sum(3)"), Count{2})), "record_sum(1.5)");
  EXPECT_NEAR(epsilon(ClosedForm{}, event_of("record_sum(3)"), Delta{1e-5}).upper,
              epsilon(ClosedForm{}, event_of("gaussian(1.5)"), Delta{1e-5}).upper, 1e-12);
}

// ---- Poisson batches under replace-one ----

TEST(PoissonUnderReplaceOne, NeedsABoundOnEachRecord) {
  for (const std::string inside :
       {"gaussian(2)", "repeat(3, gaussian(2))", "compose(record_sum(1), gaussian(2))", "laplace(2)", "parallel(record_sum(1), pure(1))"}) {
    try {
      (void)event_of("poisson(0.1, " + inside + ")");
      FAIL() << inside;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string{error.what()}.find("record_sum(z)"), std::string::npos) << error.what();
    }
  }
  EXPECT_NO_THROW((void)event_of("repeat(3, poisson(0.1, compose(record_sum(1), repeat(2, parallel(record_sum(1), record_sum(3))))))"));
}

TEST(PoissonUnderReplaceOne, IsRefusedByNameWhereNoTheoremIsUsed) {
  const Event event = event_of("repeat(100, poisson(0.1, record_sum(2)))");
  const std::string said = "poisson(0.1, record_sum(2))";
  EXPECT_NE(refusal(event, Renyi{}).find(said), std::string::npos);
  EXPECT_NE(refusal(event, Contour{}).find(said), std::string::npos);
  EXPECT_NE(refusal(event, Zcdp{}).find(said), std::string::npos);
  EXPECT_NE(refusal(event, ClosedForm{}).find(said), std::string::npos);
}

Real tail(Real t) { return 0.5L * std::erfc(t * std::sqrt(0.5L)); }

/// (1 - q) N(0, 1) + q N(mu, 1) against (1 - q) N(0, 1) + q N(-mu, 1).
struct Opposite {
  Real mu;
  Real q;

  [[nodiscard]] Real loss(Real t) const {
    const Real e = std::exp(-0.5L * mu * mu);
    return std::log((1 - q + q * e * std::exp(mu * t)) / (1 - q + q * e * std::exp(-mu * t)));
  }
  /// Where the loss is l: with y = e^(mu t) a quadratic equation, solved for its positive root.
  [[nodiscard]] Real at(Real l) const {
    const Real e = std::exp(-0.5L * mu * mu);
    const Real b = std::expm1(std::abs(l)) * (1 - q);
    const Real y = (b + std::sqrt(b * b + 4 * std::exp(std::abs(l)) * q * e * q * e)) / (2 * q * e);
    return std::copysign(std::log(y) / mu, l);
  }
  [[nodiscard]] Real p_above(Real t) const { return (1 - q) * tail(t) + q * tail(t - mu); }
  [[nodiscard]] Real q_above(Real t) const { return (1 - q) * tail(t) + q * tail(t + mu); }
  [[nodiscard]] Real delta(Real l) const {
    const Real t = at(l);
    return p_above(t) - std::exp(l) * q_above(t);
  }
  [[nodiscard]] Real density(Real t) const {
    return ((1 - q) * std::exp(-0.5L * t * t) + q * std::exp(-0.5L * (t - mu) * (t - mu))) / std::sqrt(2 * std::acos(-1.0L));
  }
};

TEST(PoissonUnderReplaceOne, HasTheCellsOfItsPair) {
  for (const double z : {0.04, 0.1, 0.4, 1.0, 6.0, 300.0}) {
    for (const double q : {1e-5, 0.01, 0.5, 0.999}) {
      const Opposite pair{1 / static_cast<Real>(z), q};
      const LossLaw law{GaussianBase{z}, Mixing::opposite, q};
      const Cut cut{-30, -30};
      const auto bounds = range(law, cut);
      const double step = (bounds.largest - bounds.least) / 2000;
      const auto found = cells(law, step, cut);
      ASSERT_LT(found.loss_error, 1e-10);
      // From the largest loss down: all that lies above a grid point, under both laws of the pair.
      Real p = 0;
      Real q_mass = 0;
      Real p_error = 0;
      Real q_error = 0;
      for (std::size_t i = found.cells.size(); i-- > 0;) {
        const auto& cell = found.cells[i];
        const Real l = static_cast<Real>(found.anchor) + static_cast<Real>(cell.index) * step;
        const Real mass = cell.mass * std::exp(static_cast<Real>(cell.log_scale));
        p += mass;
        q_mass += mass * (1 - static_cast<Real>(cell.excess)) * std::exp(-l);
        p_error += mass * cell.mass_error;
        q_error += mass * (cell.mass_error + cell.excess_error) * std::exp(-l);
        if (l < bounds.least || l > bounds.largest - 0.1 * (bounds.largest - bounds.least)) continue;  // the ends are cut
        const Real below = pair.at(l - found.loss_error);
        const Real above = pair.at(l + found.loss_error);
        // Both tails beyond the cut are in neither sum.
        EXPECT_GE(p + p_error, pair.p_above(above) - 1.001L * found.cut_above) << z << ' ' << q << ' ' << l;
        EXPECT_LE(p - p_error, pair.p_above(below)) << z << ' ' << q << ' ' << l;
        EXPECT_GE(q_mass + q_error, pair.q_above(above) - 1.001L * found.cut_above) << z << ' ' << q << ' ' << l;
        EXPECT_LE(q_mass - q_error, pair.q_above(below)) << z << ' ' << q << ' ' << l;
      }
      EXPECT_LT(p_error, 2e-9L);
      EXPECT_LT(q_error, 1e-8L);
      EXPECT_NEAR(static_cast<double>(p), 1, 1e-12) << z << ' ' << q;
      EXPECT_LE(q_mass, 1 + 1e-12L) << z << ' ' << q;
    }
  }
}

TEST(PoissonUnderReplaceOne, HoldsTheTruthOfOneAndTwoReleases) {
  std::mt19937_64 source{7};
  std::uniform_real_distribution<double> unit;
  int asked = 0;
  for (int i = 0; i < 60; ++i) {
    const double z = std::exp(-0.7 + 3 * unit(source));
    const double q = std::exp(-7 * unit(source));
    const double at = unit(source) * std::min(3.0, 4 * q / z);
    const Opposite pair{1 / static_cast<Real>(z), q};
    const std::string batch = fmt::format("poisson({}, record_sum({}))", q, z);
    const Real once = pair.delta(at);
    // The second release, given the first: the trapezoid rule converges spectrally.
    Real twice = 0;
    const Real step = 0.05L;
    for (Real t = -12; t < 12 + pair.mu; t += step) twice += step * pair.density(t) * pair.delta(at - pair.loss(t));
    for (const auto& [text, truth] : {std::pair{batch, once}, std::pair{"repeat(2, " + batch + ")", twice}}) {
      if (truth < 1e-8L) continue;
      ++asked;
      const auto found = delta_of(text, at, 1e-5);
      EXPECT_LE(found.lower, static_cast<double>(truth) * (1 + 1e-9)) << text << ' ' << at;
      EXPECT_GE(found.upper, static_cast<double>(truth) * (1 - 1e-9)) << text << ' ' << at;
      EXPECT_LT(found.width(), 1e-5) << text << ' ' << at;
    }
  }
  EXPECT_GT(asked, 60);
}

/// delta of (1 - q) N(0, I) + q N(x, I) against (1 - q) N(0, I) + q N(x', I) in the plane, by the midpoint rule.
double in_the_plane(double q, double at, double x0, double x1, double y0, double y1) {
  const double step = 0.05;
  double sum = 0;
  for (double s = -8; s < 8; s += step) {
    for (double t = -8; t < 8; t += step) {
      const double base = std::exp(-0.5 * (s * s + t * t)) / (2 * M_PI);
      const double p = 1 - q + q * std::exp(x0 * s + x1 * t - 0.5 * (x0 * x0 + x1 * x1));
      const double other = 1 - q + q * std::exp(y0 * s + y1 * t - 0.5 * (y0 * y0 + y1 * y1));
      sum += base * std::max(0.0, p - std::exp(at) * other);
    }
  }
  return sum * step * step;
}

TEST(PoissonUnderReplaceOne, IsWorstForOppositeRecordsOfFullNorm) {
  std::mt19937_64 source{11};
  std::uniform_real_distribution<double> unit;
  for (const double z : {0.6, 1.0, 2.5}) {
    for (const double q : {0.03, 0.4, 0.9}) {
      const double at = 0.5 * std::log1p(q * std::expm1(1 / z));
      const double upper = delta_of(fmt::format("poisson({}, record_sum({}))", q, z), at).upper;
      EXPECT_NEAR(in_the_plane(q, at, 1 / z, 0, -1 / z, 0), upper, 1e-3 * upper) << z << ' ' << q;
      for (int i = 0; i < 12; ++i) {
        const double first = 2 * M_PI * unit(source);
        const double second = i % 2 == 0 ? first + M_PI + 0.3 * (unit(source) - 0.5) : 2 * M_PI * unit(source);
        const double one = (i < 4 ? 1 : unit(source)) / z;
        const double other = (i < 6 ? 1 : unit(source)) / z;
        const double found =
            in_the_plane(q, at, one * std::cos(first), one * std::sin(first), other * std::cos(second), other * std::sin(second));
        EXPECT_LT(found, upper * (1 + 3e-4)) << z << ' ' << q << ' ' << first << ' ' << second << ' ' << one << ' ' << other;
      }
    }
  }
}

TEST(PoissonUnderReplaceOne, OfARateOfOneIsNoSampling) {
  const auto sure = epsilon_of("repeat(10, poisson(1, record_sum(4)))", 1e-5);
  const auto plain = epsilon_of("repeat(10, gaussian(2))", 1e-5);
  EXPECT_EQ(sure.lower, plain.lower);
  EXPECT_EQ(sure.upper, plain.upper);
  const auto nearly = epsilon_of("repeat(10, poisson(0.999999999, record_sum(4)))", 1e-5);
  EXPECT_NEAR(nearly.upper, plain.upper, 2e-4);
  EXPECT_NEAR(nearly.lower, plain.lower, 2e-4);
}

TEST(PoissonUnderReplaceOne, CostsWhatTheOppositePairCosts) {
  const auto found = epsilon_of("repeat(10000, poisson(0.01, record_sum(1)))", 1e-5);
  EXPECT_LT(found.width(), 1e-4);
  EXPECT_NEAR(found.lower, 10.88078, 1e-4);
  EXPECT_NEAR(found.upper, 10.88078, 1e-4);
  // Far more than with one of the two records, whose sensitivity is half of it.
  EXPECT_GT(found.lower,
            1.7 * epsilon(Pld{}, event_of("repeat(10000, poisson(0.01, record_sum(1)))", Adjacency::zero_out), Delta{1e-5}).upper);
}

TEST(PoissonUnderReplaceOne, SharesABatchAmongSums) {
  const auto one = epsilon_of("repeat(100, poisson(0.1, record_sum(1)))", 1e-6);
  const auto four = epsilon_of("repeat(100, poisson(0.1, compose(record_sum(2), repeat(3, record_sum(2)))))", 1e-6);
  EXPECT_NEAR(four.lower, one.lower, 1e-4);
  EXPECT_NEAR(four.upper, one.upper, 1e-4);
  const auto parts = epsilon_of("repeat(100, poisson(0.1, parallel(record_sum(1), record_sum(3))))", 1e-6);
  EXPECT_NEAR(parts.upper, one.upper, 1e-4);
  const auto apart = epsilon_of("repeat(100, parallel(poisson(0.1, record_sum(1)), poisson(0.05, record_sum(3))))", 1e-6, 1e-3);
  EXPECT_NEAR(apart.upper, one.upper, 2e-3);
}

TEST(PoissonUnderReplaceOne, IsMonotone) {
  double before = 0;
  for (const double q : {0.001, 0.01, 0.1, 0.5, 0.9, 1.0}) {
    const auto found = epsilon_of(fmt::format("repeat(20, poisson({}, record_sum(2)))", q), 1e-6, 1e-3);
    EXPECT_GT(found.upper, before) << q;
    before = found.lower;
  }
  const auto best = best_epsilon(event_of("repeat(20, poisson(0.1, record_sum(2)))"), Delta{1e-6});
  EXPECT_EQ(best.accountant, "privacy-loss");
}

}  // namespace
}  // namespace surety::accounting::record_sum_test
