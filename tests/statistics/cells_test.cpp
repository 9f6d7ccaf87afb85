#include <surety/statistics/cells.h>

#include <gtest/gtest.h>

#include <limits>
#include <optional>
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

TEST(CellFinder, FindsTheWholeTextOfACategory) {
  const CellFinder finder{data::Categories{{"1", "two"}}};
  EXPECT_TRUE(finder.is_text());
  EXPECT_EQ(finder.find(std::string{"two"}), std::optional<std::size_t>{1});
  for (const char* other : {"", "1.0", " 1", "Two"}) EXPECT_FALSE(finder.find(std::string{other})) << other;
}

TEST(Cells, HaveAsManyNamesAsThereAre) {
  for (const Cells& cells : {Cells{Bins{{0, 4}, 2}}, Cells{data::Categories{{"a", "b", "c"}}}}) {
    EXPECT_EQ(names_of(cells).size(), number_of(cells));
  }
  EXPECT_EQ(names_of(Bins{{0, 4}, 2}), (std::vector<std::string>{"[0, 2)", "[2, 4]"}));
}

}  // namespace
}  // namespace surety::statistics::cells_test
