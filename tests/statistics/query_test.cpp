#include <surety/statistics/query.h>

#include <gtest/gtest.h>

#include <limits>
#include <string_view>
#include <vector>

#include <support/every_statistic.h>
#include <support/refusal.h>

namespace surety::statistics::query_test {

using namespace data;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Statistic, RefusesWhatHasNoMeaning) {
  const auto refused = [](const auto& of, const std::vector<std::string_view>& words) {
    return refuses([&] { Statistic{.of = of, .adjacency = Adjacency::replace_one}.validate(); }, ErrorCode::invalid_argument, words);
  };
  for (const Bounds bounds : {Bounds{1, 1}, Bounds{2, 1}, Bounds{nan, 1}, Bounds{0, nan}, Bounds{-infinity, 0}, Bounds{0, infinity},
                              Bounds{-1e308, 1e308}, Bounds{0, 5e-324}}) {
    EXPECT_TRUE(refused(SumOf{"x", bounds}, {"bounds are", "must ascend"}));
    EXPECT_TRUE(refused(MeanOf{"x", bounds}, {"bounds are"}));
    EXPECT_TRUE(refused(HistogramOf{"x", Bins{bounds, 2}}, {"bounds are"}));
  }
  EXPECT_TRUE(refused(HistogramOf{"x", Bins{{0, 1}, 1}}, {"bins is 1", "from 2"}));
  EXPECT_TRUE(refused(HistogramOf{"x", Bins{{1, 1 + 0x1p-50}, 1000}}, {"1000 bins", "fewer"}));
  EXPECT_TRUE(refused(HistogramOf{"x", Edges{{0, 1}}}, {"edges is 2", "from 3"}));
  EXPECT_TRUE(refused(HistogramOf{"x", Edges{std::vector<double>(most_cells + 2, 0)}}, {"edges is 1048578"}));
  for (const std::vector<double>& numbers : {std::vector<double>{0, 2, 1}, {0, 1, 1}, {-0.0, 0.0, 1}}) {
    EXPECT_TRUE(refused(HistogramOf{"x", Edges{numbers}}, {"must be greater"}));
  }
  for (const double wrong : {nan, infinity, -infinity, 1e300}) {
    EXPECT_TRUE(refused(HistogramOf{"x", Edges{{0, wrong, 1}}}, {"an edge is", "2^900"}));
  }
  EXPECT_TRUE(refused(HistogramOf{"x", Categories{}}, {"empty"}));
  EXPECT_TRUE(refused(HistogramOf{"x", Categories{{"a", ""}}}, {"empty"}));
  EXPECT_TRUE(refused(HistogramOf{"x", Categories{{"a", "b", "a"}}}, {"twice"}));
  EXPECT_TRUE(refuses(
      [] {
        return StatisticSum{{.of = SumOf{"x", {0, 1}}, .adjacency = Adjacency::replace_one}, Grid{-60}};
      },
      ErrorCode::invalid_argument, {"grid steps", "2^40"}));
}

}  // namespace
}  // namespace surety::statistics::query_test
