#include <surety/statistics/totals.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <surety/data/reading/condition.h>
#include <surety/statistics/keys.h>
#include <surety/statistics/quantile.h>

#include <support/every_statistic.h>
#include <support/refusal.h>

namespace surety::statistics::totals_test {
namespace {

using data::Bounds;
using data::Categories;

std::vector<Statistic> statistics() {
  std::vector<Statistic> result = every_statistic(data::parse_condition("z>0"), {Bounds{0, 100}, Bounds{-1.3, 0.7}, Bounds{10, 10.1}},
                                                  {HistogramOf{"x", Bins{{0, 1}, 2}}, HistogramOf{"x", Categories{{"red", "green"}}}});
  const auto ungrouped = result.size();
  for (std::size_t k = 0; k < ungrouped; ++k) {
    result.push_back(result[k]);
    result.back().by = {"y", Categories{{"a", "b"}}};
  }
  return result;
}

const std::vector<Record> table{{.number = 0.4, .text = "red", .group = "a"},
                                {.number = 1e300, .text = "green", .group = "b"},
                                {.number = -50, .text = "none", .is_damaged = true, .group = "a"},
                                {.meets = false, .number = 3, .text = "red", .group = "b"},
                                {.number = 10.07, .text = "green", .group = "c"}};

/// Calls see(parts) for each way to put the rows into so many parts.
template <class See>
void for_all_splits(std::size_t rows, std::size_t parts, const See& see) {
  std::vector<std::size_t> part_of(rows);
  for (;;) {
    see(part_of);
    std::size_t row = 0;
    while (row < rows && ++part_of[row] == parts) part_of[row++] = 0;
    if (row == rows) return;
  }
}

// Also that what the parts of a table add up to passes for a sum of so many records.
TEST(StepTotal, OfPartsIsThatOfTheWhole) {
  for (const auto& statistic : statistics()) {
    for (const auto law : {NoiseLaw::laplace, NoiseLaw::gaussian}) {
      const StatisticSum nothing = example(statistic, 1, law);
      StatisticSum whole = nothing;
      for (const auto& record : table) add(whole, record);
      for_all_splits(table.size(), 3, [&](const std::vector<std::size_t>& part_of) {
        std::vector<StatisticSum> parts(3, nothing);
        for (std::size_t k = 0; k < table.size(); ++k) add(parts[part_of[k]], table[k]);
        QueryTotal total = parts[2].total();
        for (const std::size_t part : {0U, 1U}) add(total, parts[part].total());
        ASSERT_EQ(std::get<StepTotal>(total), whole.total()) << describe(statistic);
        StatisticSum sum = nothing;
        sum.add_total(std::get<StepTotal>(total), table.size());
        ASSERT_EQ(sum.sum().steps, whole.sum().steps);
      });
    }
  }
}

// A part that saturates by itself would take what another takes back.
TEST(StepTotal, SaturatesWhereItIsReleased) {
  const Statistic statistic{.of = SumOf{"x", Bounds{-1, 1}}, .adjacency = Adjacency::add_or_remove_one};
  const StatisticSum nothing{statistic, Grid{.log2_step = -40}};
  constexpr std::uint64_t records = std::uint64_t{1} << 24;
  constexpr ExactInteger far = ExactInteger{1} << 64;
  QueryTotal total = StepTotal{{far}};
  StatisticSum alone = nothing;
  alone.add_total(std::get<StepTotal>(total), records);
  EXPECT_EQ(alone.sum().steps.front(), largest_sum);
  add(total, StepTotal{{-far + 5}});
  StatisticSum sum = nothing;
  sum.add_total(std::get<StepTotal>(total), 2 * records);
  EXPECT_EQ(sum.sum().steps.front(), 5);
}

TEST(StepTotal, OfNoRecordsIsRefused) {
  for (const auto& statistic : statistics()) {
    const StatisticSum nothing = example(statistic);
    StatisticSum whole = nothing;
    for (const auto& record : table) add(whole, record);
    const auto total = whole.total();
    const auto refused = [&](const StepTotal& other, std::uint64_t records) {
      StatisticSum sum = nothing;
      const auto found = refuses([&] { sum.add_total(other, records); }, ErrorCode::invalid_argument, {"a total is none of a statistic's"});
      EXPECT_EQ(sum.total(), found ? nothing.total() : sum.total()) << "nothing was added";
      return found;
    };
    StepTotal longer = total;
    longer.steps.push_back(0);
    EXPECT_TRUE(refused(longer, 5));
    EXPECT_TRUE(refused({}, 5));
    for (std::size_t k = 0; k < total.steps.size(); ++k) {
      for (const ExactInteger beyond :
           {std::numeric_limits<ExactInteger>::max(), std::numeric_limits<ExactInteger>::min(), ExactInteger{1} << 60}) {
        StepTotal other = total;
        other.steps[k] = beyond;
        EXPECT_TRUE(refused(other, 5)) << describe(statistic) << " " << k;
      }
    }
    if (nothing.counts()) {
      StepTotal negative = total;
      negative.steps[0] = -1;
      EXPECT_TRUE(refused(negative, 5));
      StepTotal many = total;
      many.steps.back() = 6;
      EXPECT_TRUE(refused(many, 5));
    }
    if (nothing.weight() > 1) {
      StepTotal half = total;
      half.steps[nothing.coordinates_of_group() - 1] += 1;
      EXPECT_TRUE(refused(half, 5)) << "a count that is not whole";
    }
    // One that is there in one place alone: as many as all records, and more in another group.
    if (nothing.counts() && total.steps.size() > 1) {
      StepTotal twice = nothing.total();
      twice.steps.front() = 3;
      twice.steps.back() = 3;
      EXPECT_TRUE(refused(twice, 5));
      EXPECT_FALSE(refused(twice, 6));
    }
  }
}

TEST(RankTotal, OfPartsIsThatOfTheWhole) {
  const Candidates candidates{{-1, 3}, 9};
  const std::vector<double> numbers{-7, 0, 0.1, 2.9, 3};
  RankCounts whole{candidates};
  for (const double number : numbers) whole.add(number);
  for_all_splits(numbers.size(), 3, [&](const std::vector<std::size_t>& part_of) {
    std::vector<RankCounts> parts(3, RankCounts{candidates});
    for (std::size_t k = 0; k < numbers.size(); ++k) parts[part_of[k]].add(numbers[k]);
    QueryTotal total = parts[1].total();
    for (const std::size_t part : {0U, 2U}) add(total, parts[part].total());
    ASSERT_EQ(std::get<RankTotal>(total), whole.total());
    RankCounts counts{candidates};
    counts.add_total(std::get<RankTotal>(total), numbers.size());
    ASSERT_TRUE(std::ranges::equal(counts.counts(), whole.counts()));
  });
  const auto refused = [&](const RankTotal& total, std::uint64_t records) {
    RankCounts counts{candidates};
    return refuses([&] { counts.add_total(total, records); }, ErrorCode::invalid_argument, {"none of a quantile's"});
  };
  EXPECT_EQ(whole.total(), (RankTotal{{{1, 1}, {7, 1}, {8, 1}, {24, 1}, {25, 1}}})) << "at, at, above, below and at a candidate";
  EXPECT_FALSE(refused({{{0, 1}, {26, 4}}}, 5));
  EXPECT_TRUE(refused({{{0, 1}, {26, 5}}}, 5)) << "more than there are records";
  EXPECT_TRUE(refused({{{0, std::numeric_limits<std::uint64_t>::max()}, {26, 5}}}, 5)) << "which overflow to 4";
  EXPECT_TRUE(refused({{{27, 1}}}, 5)) << "no candidate's";
  EXPECT_TRUE(refused({{{3, 1}, {3, 1}}}, 5));
  EXPECT_TRUE(refused({{{3, 1}, {2, 1}}}, 5));
  EXPECT_TRUE(refused({{{3, 0}}}, 5));
}

TEST(KeyTotal, OfPartsIsThatOfTheWholeWhereUnitsAreInOne) {
  struct Row {
    std::string unit, key;
  };
  const std::vector<Row> rows{{"ann", "red"}, {"bob", "red"}, {"ann", "blue"}, {"cid", "green"}, {"ann", "green"}, {"bob", "blue"}};
  const KeyCounts nothing{Count{2}, Adjacency::replace_one};
  KeyCounts whole = nothing;
  for (const auto& row : rows) whole.add(row.unit, row.key);
  EXPECT_EQ(whole.total(), (KeyTotal{{{"blue", 2}, {"green", 1}, {"red", 2}}}));
  int same = 0;
  for_all_splits(rows.size(), 2, [&](const std::vector<std::size_t>& part_of) {
    std::vector<KeyCounts> parts(2, nothing);
    for (std::size_t k = 0; k < rows.size(); ++k) parts[part_of[k]].add(rows[k].unit, rows[k].key);
    QueryTotal total = parts[1].total();
    add(total, parts[0].total());
    const bool keeps_units = part_of[0] == part_of[2] && part_of[2] == part_of[4] && part_of[1] == part_of[5];
    if (keeps_units) {
      ASSERT_EQ(std::get<KeyTotal>(total), whole.total());
      KeyCounts counts = nothing;
      counts.add_total(std::get<KeyTotal>(total), rows.size());
      ASSERT_EQ(counts.counts(counts.keys()).steps, whole.counts(whole.keys()).steps);
    }
    same += std::get<KeyTotal>(total) == whole.total() ? 1 : 0;
  });
  EXPECT_LT(same, 64) << "a unit in two parts counts for more keys";
  const auto refused = [&](const KeyTotal& total, std::uint64_t records) {
    KeyCounts counts = nothing;
    return refuses([&] { counts.add_total(total, records); }, ErrorCode::invalid_argument, {"none of keys"});
  };
  EXPECT_FALSE(refused({{{"a", 2}, {"b", 3}}}, 5));
  EXPECT_TRUE(refused({{{"a", 2}, {"b", 4}}}, 5));
  EXPECT_TRUE(refused({{{"a", 1}, {"a", 1}}}, 5));
  EXPECT_TRUE(refused({{{"b", 1}, {"a", 1}}}, 5));
  EXPECT_TRUE(refused({{{"", 1}}}, 5));
  EXPECT_TRUE(refused({{{"a", 0}}}, 5));
  EXPECT_TRUE(refused({{{std::string(257, 'a'), 1}}}, 5));
  EXPECT_TRUE(refused({{{"a", ~std::uint64_t{0}}}}, ~std::uint64_t{0})) << "beyond what counts are kept in";
}

TEST(QueryTotal, OfAnotherQueryIsRefused) {
  const std::vector<QueryTotal> kinds{StepTotal{{1}}, StepTotal{{1, 2}}, RankTotal{{{1, 1}}}, KeyTotal{{{"a", 1}}}};
  for (std::size_t a = 0; a < kinds.size(); ++a) {
    for (std::size_t b = 0; b < kinds.size(); ++b) {
      QueryTotal sum = kinds[a];
      if (a == b) {
        EXPECT_NO_THROW(add(sum, kinds[b]));
      } else {
        EXPECT_TRUE(refuses([&] { add(sum, kinds[b]); }, ErrorCode::invalid_argument, {"must be of one plan"}));
      }
    }
  }
  QueryTotal most = StepTotal{{std::numeric_limits<ExactInteger>::max()}};
  EXPECT_TRUE(refuses([&] { add(most, StepTotal{{1}}); }, ErrorCode::invalid_argument, {"more than any records"}));
  most = KeyTotal{{{"a", ~std::uint64_t{0}}}};
  EXPECT_TRUE(refuses([&] { add(most, KeyTotal{{{"a", 1}}}); }, ErrorCode::invalid_argument, {"more than any records"}));
}

}  // namespace
}  // namespace surety::statistics::totals_test
