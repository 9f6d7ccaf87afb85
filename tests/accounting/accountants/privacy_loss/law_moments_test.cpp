// Divergences from cells, against sums over all combinations and against integrals in plain double.
#include <surety/accounting/accountants/privacy_loss/law_moments.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include <surety/accounting/accountants/renyi.h>
#include <surety/accounting/numbers/error.h>

#include <support/mixtures.h>

namespace surety::accounting::law_moments_test {
namespace {

double found_at(const std::string& text, double order) {
  const Event event = parse_event(text, Adjacency::zero_out);
  EXPECT_TRUE(privacy_loss::has_divergence_of_batch(event)) << text;
  return privacy_loss::divergence_of_batch(event, RenyiOrder{order});
}

TEST(UsersDivergence, IsTheIntegralInBothDirections) {
  for (const auto& [records, rate, z] : {std::tuple{1, 0.1, 1.0}, {2, 0.3, 1.5}, {4, 0.01, 2.0}, {7, 0.2, 4.0}, {3, 0.9, 3.0}}) {
    reference::Mixture in;
    for (int i = 0; i <= records; ++i) in[i] = reference::binomial(records, i, rate);
    const reference::Mixture out{{0, 1}};
    const auto text = "users(" + std::to_string(records) + ", poisson(" + std::to_string(rate) + ", gaussian(" + std::to_string(z) + ")))";
    for (const double order : {1.1, 2.0, 3.7, 12.0}) {
      const double truth =
          std::max(reference::divergence_of_mixtures(in, out, z, order), reference::divergence_of_mixtures(out, in, z, order));
      EXPECT_GE(found_at(text, order), truth * (1 - 1e-7)) << text << ' ' << order;
      EXPECT_LE(found_at(text, order), truth * 1.003) << text << ' ' << order;
    }
  }
}

TEST(UsersDivergence, OfOneRecordIsThatOfTheBatch) {
  for (const double order : {1.5, 8.0, 60.0}) {
    const double batch =
        renyi_divergence(parse_event("poisson(0.01, gaussian(1.2))", Adjacency::zero_out), RenyiOrder{order}).divergence.upper;
    EXPECT_GE(found_at("users(1, poisson(0.01, gaussian(1.2)))", order), batch * (1 - 1e-6));
    EXPECT_LE(found_at("users(1, poisson(0.01, gaussian(1.2)))", order), batch * 1.003);
  }
}

/// D_order of an epoch of two or three rounds, in both directions, by the trapezoid rule in as many dimensions.
double epoch_of_few(int rounds, double z, double order) {
  const double step = rounds == 2 ? 0.05 : 0.15;
  const double reach = order / z + 8;
  std::vector<double> places;
  for (double x = -reach; x <= reach; x += step) places.push_back(x);
  std::vector<double> ratio;
  std::vector<double> weight;
  for (const double x : places) {
    ratio.push_back(std::exp(x / z - 0.5 / (z * z)) / rounds);
    weight.push_back(std::exp(-x * x / 2) * step / 2.5066282746310002);
  }
  double removed = 0;
  double added = 0;
  const auto count = [&](double mass, double mean) {
    if (mass < 1e-30) return;
    removed += mass * std::pow(mean, order);
    added += mass * std::pow(mean, 1 - order);
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = 0; j < places.size(); ++j) {
      if (rounds == 2) {
        count(weight[i] * weight[j], ratio[i] + ratio[j]);
        continue;
      }
      for (std::size_t k = 0; k < places.size(); ++k) count(weight[i] * weight[j] * weight[k], ratio[i] + ratio[j] + ratio[k]);
    }
  }
  return std::log(std::max(removed, added)) / (order - 1);
}

TEST(AllocatedDivergence, OfFewRoundsIsTheIntegralInBothDirections) {
  for (const auto& [rounds, z] : {std::tuple{2, 3.0}, {3, 2.5}}) {
    const auto text = "allocated(" + std::to_string(rounds) + ", gaussian(" + std::to_string(z) + "))";
    for (const double order : {1.5, 3.0, 6.5}) {
      const double truth = epoch_of_few(rounds, z, order);
      EXPECT_GE(found_at(text, order), truth * (1 - 1e-6)) << text << ' ' << order;
      EXPECT_LE(found_at(text, order), truth * 1.01) << text << ' ' << order;
    }
  }
}

// E R^m for m = 2 and 3 by hand.
TEST(AllocatedDivergence, OfManyRoundsIsTheSumAtWholeOrders) {
  for (const auto& [rounds, z] : {std::tuple{100.0, 1.0}, {1000.0, 2.0}, {100.0, 4.0}}) {
    const auto text = "allocated(" + std::to_string(static_cast<int>(rounds)) + ", gaussian(" + std::to_string(z) + "))";
    const double square = std::exp(1 / (z * z));
    const double second = 1 + (square - 1) / rounds;
    const double third = ((rounds - 1) * (rounds - 2) + 3 * (rounds - 1) * square + square * square * square) / (rounds * rounds);
    EXPECT_GE(found_at(text, 2), std::log(second) * (1 - 1e-9)) << text;
    EXPECT_LE(found_at(text, 2), std::log(second) * 1.003) << text;
    EXPECT_GE(found_at(text, 3), std::log(third) / 2 * (1 - 1e-9)) << text;
    EXPECT_LE(found_at(text, 3), std::log(third) / 2 * 1.003) << text;
    // Between them it grows.
    EXPECT_GE(found_at(text, 2.5), found_at(text, 2) * (1 - 3e-3));
    EXPECT_LE(found_at(text, 2.5), found_at(text, 3) * (1 + 3e-3));
  }
}

TEST(DivergenceOfBatch, IsAtMostThatOfAllRecordsAndRefusesOthers) {
  EXPECT_LE(found_at("users(2, poisson(0.5, gaussian(0.1)))", 300), 300 * 200 * (1 + 1e-9));
  EXPECT_NEAR(found_at("allocated(1000, gaussian(4))", 600), 600.0 / 32, 1e-12);
  for (const char* text : {"gaussian(1)", "users(2, gaussian(3))", "poisson(0.1, gaussian(2))"}) {
    EXPECT_FALSE(privacy_loss::has_divergence_of_batch(parse_event(text, Adjacency::zero_out))) << text;
  }
  EXPECT_FALSE(privacy_loss::has_divergence_of_batch(parse_event("users(2, poisson(0.1, record_sum(3)))", Adjacency::replace_one)));
}

}  // namespace
}  // namespace surety::accounting::law_moments_test
