#include <surety/statistics/cells.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace surety::statistics::cells_test {
namespace {

TEST(CellFinder, FindsEachNumberInOneBin) {
  const CellFinder finder{Bins{{0, 10}, 5}};
  EXPECT_FALSE(finder.is_text());
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double low : {-infinity, std::numeric_limits<double>::quiet_NaN(), -0.0, 1.9}) EXPECT_EQ(finder.find(low), 0U);
  EXPECT_EQ(finder.find(2.0), 1U);
  for (const double high : {8.0, 10.0, 11.0, infinity}) EXPECT_EQ(finder.find(high), 4U);
}

TEST(CellFinder, FindsEachNumberBetweenEdges) {
  const std::vector<double> edges{-2, 0, 18, 65, 1000};
  const CellFinder finder{Edges{edges}};
  EXPECT_FALSE(finder.is_text());
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double low : {-infinity, std::numeric_limits<double>::quiet_NaN(), -3.0, -2.0, std::nextafter(0.0, -1.0)}) {
    EXPECT_EQ(finder.find(low), 0U) << low;
  }
  for (const double high : {65.0, 999.0, 1000.0, 1e300, infinity}) EXPECT_EQ(finder.find(high), 3U) << high;
  std::mt19937_64 random{7};  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same numbers each time
  std::uniform_real_distribution<double> numbers{-5, 1100};
  for (int k = 0; k < 10'000; ++k) {
    const double number = k % 10 == 0 ? edges[static_cast<std::size_t>(k / 10) % edges.size()] : numbers(random);
    const auto above = std::count_if(edges.begin() + 1, edges.end() - 1, [&](double edge) { return number >= edge; });
    EXPECT_EQ(finder.find(number), static_cast<std::size_t>(above)) << number;
  }
}

TEST(CellFinder, FindsTheWholeTextOfACategory) {
  const CellFinder finder{data::Categories{{"1", "two"}}};
  EXPECT_TRUE(finder.is_text());
  EXPECT_EQ(finder.find(std::string{"two"}), std::optional<std::size_t>{1});
  for (const char* other : {"", "1.0", " 1", "Two"}) EXPECT_FALSE(finder.find(std::string{other})) << other;
}

TEST(Cells, HaveAsManyNamesAsThereAre) {
  for (const Cells& cells : {Cells{Bins{{0, 4}, 2}}, Cells{data::Categories{{"a", "b", "c"}}}, Cells{Edges{{0, 18, 65, 70}}}}) {
    EXPECT_EQ(names_of(cells).size(), number_of(cells));
  }
  EXPECT_EQ(names_of(Bins{{0, 4}, 2}), (std::vector<std::string>{"[0, 2)", "[2, 4]"}));
  EXPECT_EQ(names_of(Edges{{0, 18, 65}}), (std::vector<std::string>{"[0, 18)", "[18, 65]"}));
}

}  // namespace
}  // namespace surety::statistics::cells_test
