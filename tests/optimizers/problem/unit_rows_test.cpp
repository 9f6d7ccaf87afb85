#include <surety/optimizers/problem/unit_rows.h>

#include <gtest/gtest.h>

#include <vector>

namespace surety::optimizers::unit_rows_test {
namespace {

TEST(UnitRows, AreThoseUpToTheNextEnd) {
  const Dataset data = Dataset::dense(1, {1, 2, 3, 4, 5, 6}, {});
  const std::vector<std::size_t> ends{2, 3, 6};
  ASSERT_EQ(units_in(data, ends), 3U);
  std::vector<std::size_t> rows;  // each once, in order
  for (std::size_t unit = 0; unit < 3; ++unit) {
    const RecordRange range = rows_of_unit(ends, unit);
    EXPECT_EQ(range.end, ends[unit]);
    for (std::size_t i = range.first; i < range.end; ++i) rows.push_back(i);
  }
  EXPECT_EQ(rows, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
}

TEST(UnitRows, WithoutEndsEachIsAUnit) {
  const Dataset data = Dataset::dense(1, {1, 2, 3}, {});
  EXPECT_EQ(units_in(data, {}), 3U);
  EXPECT_EQ(rows_of_unit({}, 2).first, 2U);
  EXPECT_EQ(rows_of_unit({}, 2).end, 3U);
}

}  // namespace
}  // namespace surety::optimizers::unit_rows_test
