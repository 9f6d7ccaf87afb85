// Divergences from cells, against integrals in plain double.
#include <surety/accounting/laws/batches/users_divergence.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/base/text/error.h>

#include <support/mixtures.h>

namespace surety::accounting::users_divergence_test {
namespace {

double found_at(const std::string& text, double order) {
  const Event event = parse_event(text, Adjacency::zero_out);
  EXPECT_TRUE(laws::has_users_divergence(event)) << text;
  return laws::users_divergence(event, RenyiOrder{order});
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

TEST(UsersDivergence, IsAtMostThatOfAllRecordsAndOfNoOtherEvent) {
  EXPECT_LE(found_at("users(2, poisson(0.5, gaussian(0.1)))", 300), 300 * 200 * (1 + 1e-9)) << "too little noise for cells";
  EXPECT_NEAR(found_at("users(2, poisson(0.1, gaussian(4)))", 600), 600.0 / 8, 1e-9) << "an order beyond";
  EXPECT_GE(found_at("users(2, poisson(0.1, gaussian(4)))", 600), 600.0 / 8);
  for (const char* text : {"gaussian(1)", "users(2, gaussian(3))", "poisson(0.1, gaussian(2))", "allocated(9, gaussian(2))"}) {
    EXPECT_FALSE(laws::has_users_divergence(parse_event(text, Adjacency::zero_out))) << text;
  }
  EXPECT_FALSE(laws::has_users_divergence(parse_event("users(2, poisson(0.1, record_sum(3)))", Adjacency::replace_one)));
}

}  // namespace
}  // namespace surety::accounting::users_divergence_test
