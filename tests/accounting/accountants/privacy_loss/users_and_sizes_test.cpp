// Batches of users with several records and of a largest size, against the meaning of their adjacency on concrete data: every way to draw and
// to drop is enumerated, and the curve of what is released is integrated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/privacy_loss/privacy_loss.h>
#include <surety/accounting/accountants/privacy_loss/truncated_batch.h>

namespace surety::accounting::users_and_sizes_test {
namespace {

/// A mixture of normal laws of one deviation: where each lies, and how likely it is.
using Mixture = std::map<double, double>;

/// delta(epsilon) of P against Q by the trapezoid rule: a kink costs at most some 1e-6.
double delta_of(const Mixture& p, const Mixture& q, double deviation, double epsilon) {
  const double low = std::min(p.begin()->first, q.begin()->first) - 9 * deviation;
  const double high = std::max(p.rbegin()->first, q.rbegin()->first) + 9 * deviation;
  const auto density = [&](const Mixture& mixture, double x) {
    double sum = 0;
    for (const auto& [mean, weight] : mixture) sum += weight * std::exp(-0.5 * std::pow((x - mean) / deviation, 2));
    return sum / (deviation * 2.5066282746310002);
  };
  constexpr int points = 6000;
  const double step = (high - low) / points;
  double sum = 0;
  for (int i = 0; i <= points; ++i) {
    const double x = low + i * step;
    sum += std::max(0.0, density(p, x) - std::exp(epsilon) * density(q, x)) * step;
  }
  return sum;
}

double binomial(int n, int k, double q) {
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1)) * std::pow(q, k) * std::pow(1 - q, n - k);
}

/// The larger of both directions.
double delta_of_pair(const Mixture& p, const Mixture& q, double deviation, double epsilon) {
  return std::max(delta_of(p, q, deviation, epsilon), delta_of(q, p, deviation, epsilon));
}

Enclosure asked(const std::string& text, Adjacency adjacency, double epsilon) {
  return delta(PrivacyLoss{.width = 1e-5}, parse_event(text, adjacency), Epsilon{epsilon});
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
  EXPECT_THROW(static_cast<void>(parse_event("users(2, laplace(1))", Adjacency::zero_out)), Error);
  EXPECT_THROW(static_cast<void>(parse_event("users(2, cyclic(2, 4, 0.5, gaussian(1)))", Adjacency::zero_out)), Error);
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

/// Where the sum of one round lies: the record's own vector where it stays, and the others' where they do.
struct Data {
  int others;
  double own;
  double other;
};
/// With the record, or with its zeroed form, which is drawn and keeps its place.
Mixture sum_with(const Data& data, double rate, int largest, bool zeroed) {
  Mixture found;
  for (int drawn = 0; drawn <= data.others; ++drawn) {
    const double weight = binomial(data.others, drawn, rate);
    const double own = zeroed ? 0 : data.own;
    found[std::min(drawn, largest) * data.other] += weight * (1 - rate);
    const double stays = drawn < largest ? 1 : static_cast<double>(largest) / (drawn + 1);
    found[std::min(drawn, largest - 1) * data.other + own] += weight * rate * stays;
    if (stays < 1) found[largest * data.other] += weight * rate * (1 - stays);
  }
  return found;
}
Mixture sum_without(const Data& data, double rate, int largest) {
  Mixture found;
  for (int drawn = 0; drawn <= data.others; ++drawn) found[std::min(drawn, largest) * data.other] += binomial(data.others, drawn, rate);
  return found;
}

TEST(TruncatedPoisson, CoversEveryDataSetOfItsAdjacency) {
  constexpr int records = 6;
  bool displaces = false;
  for (const auto& [largest, rate, z] : {std::tuple{1, 0.3, 1.0}, {2, 0.5, 0.8}, {3, 0.2, 1.5}, {5, 0.9, 2.0}}) {
    const auto text = "truncated_poisson(" + std::to_string(rate) + ", " + std::to_string(largest) + ", " + std::to_string(records) + ", ";
    const auto release = [&, noise = z](const std::string& name) { return text + name + "(" + std::to_string(noise) + "))"; };
    for (const double epsilon : {0.0, 0.3, 1.0, 2.0}) {
      const auto zeroed = asked(release("gaussian"), Adjacency::zero_out, epsilon);
      const auto removed = asked(release("gaussian"), Adjacency::add_or_remove_one, epsilon);
      const auto replaced = asked(release("record_sum"), Adjacency::replace_one, epsilon);
      for (const double other : {-1.0, -0.5, 0.0, 0.7, 1.0}) {
        const Data data{records - 1, 1, other};
        const Mixture with = sum_with(data, rate, largest, false);
        const double attack = delta_of_pair(with, sum_with(data, rate, largest, true), z, epsilon);
        EXPECT_GE(zeroed.upper, attack - 3e-6) << release("gaussian") << ' ' << epsilon << ' ' << other;
        if (other == 0) {
          EXPECT_NEAR(zeroed.lower, attack, 2e-5) << release("gaussian") << ' ' << epsilon;
        }
        const double opposite = delta_of_pair(with, sum_with({records - 1, -1, other}, rate, largest, false), z, epsilon);
        EXPECT_GE(replaced.upper, opposite - 3e-6) << release("record_sum") << ' ' << epsilon << ' ' << other;
        if (other == 0) {
          EXPECT_NEAR(replaced.lower, opposite, 2e-5) << release("record_sum") << ' ' << epsilon;
        }
        for (int others = 0; others < records; ++others) {
          const Data fewer{others, 1, other};
          const double removal = delta_of_pair(sum_with(fewer, rate, largest, false), sum_without(fewer, rate, largest), z, epsilon);
          EXPECT_GE(removed.upper, removal - 3e-6) << release("gaussian") << ' ' << epsilon << ' ' << other << ' ' << others;
          if (others == 0) {
            EXPECT_NEAR(removed.lower, removal, 2e-5) << release("gaussian") << ' ' << epsilon;
          }
          // Without the place that the record takes, the charge would be the one of zero-out, which this exceeds.
          displaces = displaces || removal > zeroed.upper + 1e-3;
        }
      }
    }
  }
  EXPECT_TRUE(displaces);
}

TEST(TruncatedPoisson, SharesOutItsBatch) {
  for (const auto& [records, largest, rate] : {std::tuple{5, 2, 0.5}, {40, 7, 0.2}, {3, 1, 1.0}, {1000, 30, 0.02}}) {
    const auto found = privacy_loss::truncated_batch(
        SamplingRate{rate}, Batches{Count{static_cast<std::uint64_t>(records)}, Count{static_cast<std::uint64_t>(largest)}});
    double joins = 0;
    double roomy = 0;
    double last = 0;
    double crowded = 0;
    for (int n = 0; n < records; ++n) {
      const double weight = rate == 1 ? (n == records - 1 ? 1 : 0) : binomial(records - 1, n, rate);
      const double stays = rate * (n < largest ? 1.0 : static_cast<double>(largest) / (n + 1));
      joins += weight * stays;
      if (n < largest - 1) roomy += weight;
      if (n == largest - 1) last += weight;
      if (n >= largest) {
        last += weight * stays;
        crowded += weight;
      }
    }
    EXPECT_NEAR(found.rate.lower, joins, 1e-11);
    EXPECT_NEAR(found.roomy.upper, roomy, 1e-11);
    EXPECT_NEAR(found.last.upper, last, 1e-11);
    EXPECT_NEAR(found.crowded.upper, crowded, 1e-11);
    EXPECT_NEAR(found.roomy.upper + found.last.upper + found.full.upper, 1, 1e-11);
    EXPECT_LE(found.rate.width(), 1e-14);
  }
}

TEST(TruncatedPoisson, AgreesWithKnownValues) {
  struct Known {
    const char* text;
    Adjacency adjacency;
    double least;  ///< from concrete data
    double most;   ///< by the same theorem in plain doubles
  };
  for (const auto& known :
       {Known{"repeat(10000, truncated_poisson(0.01, 700, 60000, gaussian(1)))", Adjacency::zero_out, 6.187710, 6.188676},
        Known{"repeat(10000, truncated_poisson(0.01, 650, 60000, gaussian(1)))", Adjacency::zero_out, 6.185348, 7.177411},
        Known{"repeat(10000, truncated_poisson(0.01, 700, 60000, record_sum(1)))", Adjacency::replace_one, 10.88, 10.8821},
        Known{"repeat(10000, truncated_poisson(0.01, 700, 60000, gaussian(1)))", Adjacency::add_or_remove_one, 6.187710, 6.212491}}) {
    const auto found = epsilon(Best{}, parse_event(known.text, known.adjacency), Delta{1e-5});
    EXPECT_LE(found.lower, known.least + 1e-3) << known.text;
    EXPECT_GE(found.lower, known.least - 1e-4) << known.text;
    EXPECT_GE(found.upper, known.most - 1e-6) << known.text;
    EXPECT_LE(found.upper, known.most + 1e-3) << known.text;
  }
}

TEST(TruncatedPoisson, RefusesWhatItHasNoTheoremFor) {
  EXPECT_THROW(static_cast<void>(parse_event("truncated_poisson(0.5, 2, 4, laplace(1))", Adjacency::zero_out)), Error);
  EXPECT_THROW(static_cast<void>(parse_event("truncated_poisson(0.5, 2, 4, gaussian(1))", Adjacency::replace_one)), Error);
  EXPECT_THROW(static_cast<void>(parse_event("truncated_poisson(0.5, 4, 4, gaussian(1))", Adjacency::zero_out)), Error);
}

}  // namespace
}  // namespace surety::accounting::users_and_sizes_test
