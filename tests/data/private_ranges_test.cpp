// Rows that are mapped after their ranges are released are those of a table that is read with these ranges as bounds, to the last bit.
#include <surety/data/features/private_ranges.h>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/data/csv/csv.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::data::private_ranges_test {
namespace {

struct Row {
  std::vector<double> values;
  double label;
  friend bool operator==(const Row&, const Row&) = default;
};

/// Rows read with one map; of damaged records rows of zeros.
Dataset read(const std::string& path, const FeatureMap& map, const LabelRule& label, const DataPolicy& policy) {
  CsvRecords records{CsvReader{path, policy}, map, label};
  DatasetBuilder builder{map.features(), false};
  Row row;
  while (records.next(row.values, row.label)) {
    if (records.is_damaged()) row = {.values = std::vector<double>(map.features(), 0.0), .label = 0};
    builder.add({.indices = {}, .values = row.values, .norm = 1}, row.label);
  }
  return std::move(builder).finish();
}

std::vector<Row> rows_of(const Dataset& data) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto values = data.row(i).values;
    rows.push_back({{values.begin(), values.end()}, data.label(i)});
  }
  return rows;
}

std::string any_table(std::mt19937_64& random) {
  const auto any = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  std::string text = "a,b,c,kind,y\n";
  for (int i = 0; i < 40; ++i) {
    const auto number = [&] {
      return any(9) == 0 ? std::string{} : any(20) == 0 ? std::string{"x"} : fmt::format("{}", (any(2001) - 1000) / 128.0);
    };
    text += fmt::format("{},{},{},{},{}\n", number(), number(), number(), any(2) == 0 ? "red" : "blue", any(3));
  }
  return text;
}

TEST(PrivateRanges, MakeTheRowsOfATableThatIsReadWithThem) {
  std::mt19937_64 random{7};
  const TemporaryFolder folder;
  const LabelRule label = parse_label_rule("y>0");
  for (int repetition = 0; repetition < 60; ++repetition) {
    const auto any = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
    const auto path = folder.write("table.csv", any_table(random));
    CsvOptions planned{.bounds = {{"b", Bounds{-3, 4}}},
                       .categories = {{"kind", {"red", "green"}}},
                       .intercept = any(3) != 0,
                       .unit_norm = any(2) == 0,
                       .rows_have_common_scale = any(2) == 0};
    if (any(2) == 0) planned.terms = Terms::additive;
    if (any(2) == 0) planned.pairs = {{"b", "a"}, {"c", "a"}};
    if (any(2) == 0) {
      planned.ranges = Ranges::released;
    } else {
      planned.private_ranges = {"a", "c"};
    }
    DataPolicy policy;
    if (any(2) == 0) policy.csv.missing = {{"a", "0.5"}, {"b", "1"}};
    const std::vector<Bounds> ranges{{-2.5, 1.25}, {0.125, 7}};
    CsvOptions known = planned;
    known.ranges = Ranges::automatic;
    known.private_ranges.clear();
    known.bounds.emplace("a", ranges[0]);
    known.bounds.emplace("c", ranges[1]);

    const auto map = csv_features(CsvReader{path, policy}, label, planned);
    const auto expected = csv_features(CsvReader{path, policy}, label, known);
    ASSERT_TRUE(has_private_ranges(map));
    ASSERT_EQ(map.features(), expected.features());
    ASSERT_EQ(with_ranges(map, ranges), expected);
    ASSERT_EQ(places_of_ranges(map).size(), 2U);
    const auto raw = read(path, map_before_ranges(map), label, policy);
    ASSERT_EQ(rows_of(rows_with_ranges(raw, map, ranges)), rows_of(read(path, expected, label, policy))) << repetition;
  }
}

TEST(PrivateRanges, ArePartOfNoModelAndOfNoRowThatIsRead) {
  const TemporaryFolder folder;
  const LabelRule label = parse_label_rule("y>0");
  const auto path = folder.write("table.csv", "a,b,y\n1,2,1\n");
  const auto map = csv_features(CsvReader{path, {}}, label, {.ranges = Ranges::released});
  EXPECT_EQ(refusal([&] {
              static_cast<void>(CsvRecords{CsvReader{path, {}}, map, label});
            }),
            "rows are made with bounds that are not yet released");
  EXPECT_THROW(static_cast<void>(feature_map_from_json(to_json(map))), Error);
  EXPECT_FALSE(has_private_ranges(without_private_ranges(map)));
  EXPECT_EQ(without_private_ranges(map), csv_features(CsvReader{path, {}}, label, {}));
  EXPECT_EQ(map_before_ranges(without_private_ranges(map)), without_private_ranges(map));
}

}  // namespace
}  // namespace surety::data::private_ranges_test
