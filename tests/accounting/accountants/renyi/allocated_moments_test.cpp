// Moments of the ratio of an allocated epoch against quadrature over the variables of each round, and against a second way to each.
#include <surety/accounting/accountants/renyi/allocated_moments.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>

namespace surety::accounting::allocated_moments_test {
namespace {

/// E f(R) - f(1) for t = 2 or 3, by the trapezoid rule in each variable, far beyond where f(R) still counts.
double mean_of(int rounds, double mu, double reach, const std::function<double(double)>& f) {
  struct Node {
    double weight;
    double y;
  };
  std::vector<Node> nodes;
  const double step = rounds == 2 ? 0.05 : 0.2;
  for (double g = -reach; g <= reach; g += step) {
    nodes.push_back({step * std::exp(-g * g / 2) / std::sqrt(2 * std::acos(-1.0)), std::exp(mu * g - mu * mu / 2)});
  }
  double sum = 0;
  for (const auto& a : nodes) {
    for (const auto& b : nodes) {
      if (rounds == 2) {
        sum += a.weight * b.weight * f((a.y + b.y) / 2);
        continue;
      }
      for (const auto& c : nodes) sum += a.weight * b.weight * c.weight * f((a.y + b.y + c.y) / 3);
    }
  }
  return sum;
}

TEST(AllocatedMoments, AreThoseOfTheRatioOfTwoAndThreeRounds) {
  for (const int rounds : {2, 3}) {
    for (const double mu : {0.3, 0.7}) {
      if (rounds == 3 && mu == 0.3) continue;
      const AllocatedMoments moments{static_cast<double>(rounds), mu};
      for (const std::size_t k : {2U, 3U, 5U, 8U}) {
        const double reach = 8 + mu * static_cast<double>(k);
        const double positive = std::log(mean_of(rounds, mu, reach, [k](double r) { return std::pow(r, static_cast<double>(k)); }));
        EXPECT_NEAR(moments.log_moments()[k] / positive, 1, 1e-9) << rounds << ' ' << mu << ' ' << k;
        EXPECT_GE(moments.log_moments()[k], positive * (1 - 1e-11)) << rounds << ' ' << mu << ' ' << k;
        const double negative = std::log(mean_of(rounds, mu, reach, [k](double r) { return std::pow(r, -static_cast<double>(k)); }));
        // The chords of W leave a part in 2,000, and more of high orders.
        EXPECT_GE(moments.log_negative_moments()[k], negative) << rounds << ' ' << mu << ' ' << k;
        EXPECT_LE(moments.log_negative_moments()[k] / negative, 1.0005 + (k < 5 ? 0 : 0.02)) << rounds << ' ' << mu << ' ' << k;
      }
    }
  }
}

// Between whole orders both are known for two rounds: a chord is above, and not by much.
TEST(AllocatedMoments, BoundDivergencesOfEveryOrder) {
  const double mu = 0.7;
  const AllocatedMoments moments{2, mu};
  for (const double order : {1.05, 1.5, 2.0, 2.5, 3.7, 6.2}) {
    const double b = order - 1;
    const double remove = std::log(mean_of(2, mu, 14, [&](double r) { return std::pow(r, order); })) / b;
    const double add = std::log(mean_of(2, mu, 14, [&](double r) { return std::pow(r, -b); })) / b;
    const double found = moments.divergence(order);
    EXPECT_GE(found, std::max(remove, add) * (1 - 1e-11)) << order;
    EXPECT_LE(found, order * mu * mu / 2 * (1 + 1e-12)) << order;
    if (order >= 2) {
      EXPECT_LE(found, 1.08 * remove) << order;
    }
  }
}

/// A point of the trapezoid rule for one round: its weight where the record is absent, and the ratios of the record and of the opposite one.
struct Node {
  double weight;
  double with;
  double opposite;
};
std::vector<Node> nodes_of(double mu, double reach, double step) {
  std::vector<Node> nodes;
  for (double g = -reach; g <= reach; g += step) {
    const double weight = step * std::exp(-g * g / 2) / std::sqrt(2 * std::acos(-1.0));
    nodes.push_back({weight, std::exp(mu * g - mu * mu / 2), std::exp(-mu * g - mu * mu / 2)});
  }
  return nodes;
}

/// D_order of a record in one of two rounds, against the opposite one, by the trapezoid rule in both variables.
double replaced_by_quadrature(double mu, double order) {
  const auto nodes = nodes_of(mu, 9 + 4 * mu * order, 0.05);
  double sum = 0;
  for (const auto& a : nodes) {
    for (const auto& b : nodes) {
      const double ratio = (a.with + b.with) / (a.opposite + b.opposite);
      sum += a.weight * b.weight * (a.opposite + b.opposite) / 2 * std::pow(ratio, order);
    }
  }
  return std::log(sum) / (order - 1);
}

// Between whole moments, which lie at whole and half orders, a chord costs some percent more.
TEST(AllocatedMoments, BoundReplacedRecordsOfTwoRounds) {
  for (const auto& [mu, order, width] : {std::tuple{0.1, 2.0, 1.004},
                                         {0.1, 5.0, 1.004},
                                         {0.3, 1.5, 1.03},
                                         {0.3, 2.0, 1.03},
                                         {0.3, 5.0, 1.03},
                                         {0.7, 1.5, 1.12},
                                         {0.7, 3.0, 1.14},
                                         {0.3, 1.2, 1.5},
                                         {0.3, 2.3, 1.1},
                                         {0.7, 4.6, 1.25}}) {
    const AllocatedMoments moments{2, mu};
    const double truth = replaced_by_quadrature(mu, order);
    const double found = moments.replaced_divergence(order);
    EXPECT_GE(found, truth * (1 - 1e-11)) << mu << ' ' << order;
    EXPECT_LE(found, truth * width) << mu << ' ' << order;
    EXPECT_LE(found, order * mu * mu * (1 + 1e-12)) << mu << ' ' << order;
  }
}

/// D_order of a record in two of three rounds of this mu, against none or against the opposite record.
double two_of_three_by_quadrature(double mu, double order, bool is_replaced) {
  const auto nodes = nodes_of(mu, 12, 0.2);
  const auto mean = [](double x, double y, double z) { return (x * y + y * z + x * z) / 3; };
  double sum = 0;
  for (const auto& a : nodes) {
    for (const auto& b : nodes) {
      for (const auto& c : nodes) {
        const double with = mean(a.with, b.with, c.with);
        const double against = is_replaced ? mean(a.opposite, b.opposite, c.opposite) : 1;
        sum += a.weight * b.weight * c.weight * std::pow(with, order) * std::pow(against, 1 - order);
      }
    }
  }
  return std::log(sum) / (order - 1);
}

// One block of one round and one of two: by the sum of variances an eighth above the divergence itself where noise is large.
TEST(AllocatedMoments, BoundTwoOfThreeRounds) {
  for (const double order : {2.0, 3.0}) {
    const auto found = [&](const char* text, Adjacency adjacency) {
      return renyi_divergence(parse_event(text, adjacency), RenyiOrder{order}).divergence.upper;
    };
    const double present = found("allocated(3, 2, gaussian(4))", Adjacency::add_or_remove_one);
    EXPECT_GE(present, two_of_three_by_quadrature(0.25, order, false)) << order;
    EXPECT_LE(present, 1.16 * two_of_three_by_quadrature(0.25, order, false)) << order;
    const double replaced = found("allocated(3, 2, record_sum(4))", Adjacency::replace_one);
    EXPECT_GE(replaced, two_of_three_by_quadrature(0.25, order, true)) << order;
    EXPECT_LE(replaced, 1.16 * two_of_three_by_quadrature(0.25, order, true)) << order;
    const double blocks =
        found("allocated(3, record_sum(4))", Adjacency::replace_one) * 3 + found("allocated(2, record_sum(4))", Adjacency::replace_one) * 2;
    EXPECT_NEAR(found("allocated(13, 5, record_sum(4))", Adjacency::replace_one) / blocks, 1, 1e-12) << order;
  }
}

/// D_order of two records of a user, each in one of two rounds; with none; or against the opposite user's.
enum class Side { present, absent, replaced };
double two_records_by_quadrature(double mu, double order, Side side) {
  const double step = 0.05;
  const double reach = 9 + 4 * mu * order;
  const auto both = [&](double g, double sign) { return std::exp(2 * sign * mu * g - 2 * mu * mu); };
  const auto one = [&](double g, double sign) { return std::exp(sign * mu * g - mu * mu / 2); };
  double sum = 0;
  for (double g = -reach; g <= reach; g += step) {
    for (double h = -reach; h <= reach; h += step) {
      const auto ratio = [&](double sign) { return (both(g, sign) + both(h, sign)) / 4 + one(g, sign) * one(h, sign) / 2; };
      const double weight = step * step * std::exp(-(g * g + h * h) / 2) / (2 * std::acos(-1.0));
      const double with = ratio(1);
      const double other = side == Side::replaced ? ratio(-1) : 1;
      sum += weight * (side == Side::absent ? std::pow(with, 1 - order) : std::pow(with, order) * std::pow(other, 1 - order));
    }
  }
  return std::log(sum) / (order - 1);
}

// Told whether both share a round. Of two rounds that leaves each alone in one of them.
TEST(AllocatedMoments, BoundTwoRecordsOfAUser) {
  for (const double mu : {0.2, 0.5}) {
    for (const double order : {1.5, 2.0, 4.0}) {
      const auto found = [&](const std::string& release, Adjacency adjacency) {
        return renyi_divergence(parse_event("users(2, allocated(2, " + release + "))", adjacency), RenyiOrder{order}).divergence.upper;
      };
      const double present = found(mu == 0.2 ? "gaussian(5)" : "gaussian(2)", Adjacency::add_or_remove_one);
      const double truth =
          std::max(two_records_by_quadrature(mu, order, Side::present), two_records_by_quadrature(mu, order, Side::absent));
      EXPECT_GE(present, truth) << mu << ' ' << order;
      EXPECT_LE(present, 1.4 * truth) << mu << ' ' << order;
      const double replaced = found(mu == 0.2 ? "record_sum(5)" : "record_sum(2)", Adjacency::replace_one);
      EXPECT_GE(replaced, two_records_by_quadrature(mu, order, Side::replaced)) << mu << ' ' << order;
      EXPECT_LE(replaced, 1.6 * two_records_by_quadrature(mu, order, Side::replaced)) << mu << ' ' << order;
    }
  }
}

TEST(AllocatedMoments, OfOrderTwoAreThoseOfAllPairsOfCounts) {
  for (const auto& [records, rounds] : {std::pair{1, 4}, {2, 3}, {4, 3}, {5, 2}}) {
    std::vector<std::vector<int>> all{std::vector<int>(static_cast<std::size_t>(rounds), 0)};
    for (int record = 0; record < records; ++record) {
      std::vector<std::vector<int>> next;
      for (const auto& counts : all) {
        for (std::size_t round = 0; round < counts.size(); ++round) {
          next.push_back(counts);
          ++next.back()[round];
        }
      }
      all = std::move(next);
    }
    for (const double mu : {0.1, 0.5, 1.5}) {
      double sum = 0;
      for (const auto& one : all) {
        for (const auto& other : all) {
          int product = 0;
          for (std::size_t round = 0; round < one.size(); ++round) product += one[round] * other[round];
          sum += std::exp(mu * mu * product);
        }
      }
      const double truth = std::log(sum) - 2 * std::log(static_cast<double>(all.size()));
      const double found = users_divergence_of_order_2(static_cast<std::uint64_t>(records), static_cast<std::uint64_t>(rounds), mu);
      EXPECT_GE(found, truth - 1e-12);
      EXPECT_LE(found, truth + 1e-12);
    }
  }
  EXPECT_EQ(users_divergence_of_order_2(65, 2, 0.1), INFINITY);
  EXPECT_EQ(users_divergence_of_order_2(50, 100, 100), INFINITY);
}

TEST(AllocatedMoments, BoundTheReversedDivergenceOfTwoRecords) {
  for (const double mu : {0.1, 0.4}) {
    for (const double order : {1.1, 1.5, 2.0}) {
      const double truth = two_records_by_quadrature(mu, order, Side::absent);
      EXPECT_GE(users_reversed_divergence(2, 2, mu, order), truth) << mu << ' ' << order;
      EXPECT_LE(users_reversed_divergence(2, 2, mu, order), 1.6 * truth) << mu << ' ' << order;
      EXPECT_GE(users_divergence_of_order_2(2, 2, mu), two_records_by_quadrature(mu, order, Side::present)) << mu << ' ' << order;
    }
  }
}

// The divergences of order 2 and 1.5 of 50 records in 100 rounds at mu = 1/3, by the same sums in another program, and ten times that of the reversed bound.
TEST(AllocatedMoments, BoundManyRecordsOfAUser) {
  EXPECT_NEAR(users_divergence_of_order_2(50, 100, 1.0 / 3), 2.9365358154, 1e-9);
  EXPECT_NEAR(users_reversed_divergence(50, 100, 1.0 / 3, 2), 99.5 / 18, 1e-12);
  const auto event = parse_event("users(50, repeat(10, allocated(100, gaussian(3))))", Adjacency::add_or_remove_one);
  EXPECT_LE(best_epsilon(event, Delta{1e-6}).value.upper, 68);
}

// Beyond the orders that are known, and where no negative moment is, two rounds are what an epoch costs at most.
TEST(AllocatedMoments, OfReplacedRecordsAreThoseOfTwoRoundsElsewhere) {
  for (const auto& [mu, order] : {std::pair{0.3, 70.0}, {33.0, 2.0}, {1e6, 1.5}, {0.3, 1e9}}) {
    EXPECT_NEAR(AllocatedMoments(2, mu).replaced_divergence(order) / (order * mu * mu), 1, 1e-12) << mu << ' ' << order;
  }
}

// For many rounds E R^2 = 1 + (e^(mu^2) - 1) / t, and E R^3 and E R^4 have their closed forms, too.
TEST(AllocatedMoments, OfManyRoundsAreTheClosedForms) {
  for (const double t : {10.0, 1000.0, 1e6, 0x1p53}) {
    for (const double mu : {0.1, 1.0, 2.0}) {
      const AllocatedMoments moments{t, mu};
      const double e = std::expm1(mu * mu);
      const double three = std::expm1(3 * mu * mu);
      const double six = std::expm1(6 * mu * mu);
      const double third = std::log1p(3 * e * (t - 1) / t / t + three / t / t);
      const double pairs = 6 * (t - 1) * (t - 2) / t / t / t;
      const double fourth =
          std::log1p(pairs * e + 3 * (t - 1) / t / t / t * (e * e + 2 * e) + 4 * (t - 1) / t / t / t * three + six / t / t / t);
      EXPECT_NEAR(moments.log_moments()[2], std::log1p(e / t), 1e-12 * std::log1p(e / t) + 1e-14) << t << ' ' << mu;
      EXPECT_NEAR(moments.log_moments()[3], third, 1e-12 * third + 1e-14) << t << ' ' << mu;
      EXPECT_NEAR(moments.log_moments()[4], fourth, 1e-12 * fourth + 1e-14) << t << ' ' << mu;
      // E 1/R >= 1 + Var R - skewness, about e / t.
      const double inverse = moments.log_negative_moments()[1];
      if (mu <= 1 && t >= 1000 && t <= 1e6) {
        EXPECT_NEAR(inverse / std::log1p(e / t), 1, 0.01) << t << ' ' << mu;
      }
      // Jensen: no less than 1, and log-convex from 1 on.
      const auto& negative = moments.log_negative_moments();
      for (std::size_t k = 1; k + 1 < std::min<std::size_t>(negative.size(), 40); ++k) {
        EXPECT_GT(negative[k], 0);
        EXPECT_GE(negative[k + 1], negative[k]);
      }
    }
  }
}

// Of so many rounds E R^2 - 1 = (e^(mu^2) - 1) / t and E R^-1 - 1, between (Jensen) 0 and little more than that, are not much more than the roundings of
// long doubles, which are counted.
TEST(AllocatedMoments, AreNotBelowTheClosedFormOfVeryManyRounds) {
  for (const double t : {0x1p46, 1e15, 0x1p53}) {
    for (const double mu : {0.05, 0.1, 0.23, 0.5, 0.8, 1.0}) {
      const AllocatedMoments moments{t, mu};
      const long double mu_squared = static_cast<long double>(mu) * mu;
      const long double second = std::log1p(std::expm1(mu_squared) / t);
      EXPECT_GE(moments.log_moments()[2], second) << t << ' ' << mu;
      EXPECT_LE(moments.log_moments()[2], second + 6e-16L) << t << ' ' << mu;
      EXPECT_GE(moments.log_negative_moments()[1], second * (1 - 1e-9L)) << t << ' ' << mu;
      EXPECT_LE(moments.log_negative_moments()[1], second * 1.001L + 6e-16L) << t << ' ' << mu;
    }
  }
}

// The time of the negative moments grows with mu^2: where they say next to nothing more than one round, they are left out.
TEST(AllocatedMoments, OfLittleNoiseAreOneRound) {
  for (const double mu : {33.0, 221.7, 1e6, 1e150}) {
    const AllocatedMoments moments{194, mu};
    EXPECT_EQ(moments.log_negative_moments().size(), 1U) << mu;
    for (const double order : {1.0001, 1.5, 2.0, 30.0}) EXPECT_NEAR(moments.divergence(order) / (order * mu * mu / 2), 1, 1e-12) << mu;
  }
  EXPECT_GT(AllocatedMoments(194, 32).log_negative_moments().size(), 2U);
  EXPECT_GT(AllocatedMoments(194, 32).divergence(2), 0.994 * 32 * 32);
}

// Two accountants with nothing in common: the conversion of the divergences is above the lower end by the density of the losses.
TEST(AllocatedMoments, AgreeWithTheLossesOfTheEpoch) {
  for (const auto& [text, adjacency] : {std::pair{"allocated(20, gaussian(2))", Adjacency::add_or_remove_one},
                                        {"repeat(10, allocated(100, gaussian(1)))", Adjacency::add_or_remove_one},
                                        {"repeat(50, allocated(50, gaussian(3)))", Adjacency::add_or_remove_one},
                                        {"allocated(20, 3, gaussian(2))", Adjacency::zero_out},
                                        {"allocated(20, record_sum(4))", Adjacency::replace_one},
                                        {"repeat(50, allocated(50, record_sum(6)))", Adjacency::replace_one},
                                        {"repeat(5, allocated(20, 3, record_sum(4)))", Adjacency::replace_one}}) {
    const Event event = parse_event(text, adjacency);
    for (const double delta : {1e-3, 1e-6}) {
      const double lower = epsilon(Pld{}, event, Delta{delta}).lower;
      const double bound = epsilon(Renyi{}, event, Delta{delta}).upper;
      EXPECT_GT(bound, lower) << text;
      EXPECT_LT(bound, 2.2 * lower + 0.05) << text << ", " << delta;
    }
  }
}

}  // namespace
}  // namespace surety::accounting::allocated_moments_test
