// Weights of records as readers make them: a cell over the largest weight, or a damaged record.
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/data/arrow/arrow_records.h>
#include <surety/data/csv/csv.h>
#include <surety/data/features/dataset.h>
#include <surety/data/features/private_ranges.h>

#include <support/arrow_batches.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::data::weights_test {
namespace {

struct Made {
  std::vector<double> row;
  double label = 0;
  double weight = 0;
  bool is_damaged = false;
  friend bool operator==(const Made&, const Made&) = default;
};

template <class Records>
std::vector<Made> all_of(Records records) {
  std::vector<Made> all;
  Made one;
  while (records.next(one.row, one.label)) {
    one.weight = records.weight();
    one.is_damaged = records.is_damaged();
    if (one.is_damaged) one.label = 0;
    all.push_back(one);
  }
  return all;
}

const LabelRule label = parse_label_rule("y>0");
const CsvOptions options{.drop = {"w"}, .bounds = {{"a", {0, 4}}}};
const WeightRule rule{.column = "w", .bound = 4};

std::vector<Made> from_csv(const std::vector<std::string>& cells, const std::optional<WeightRule>& weight = rule,
                           const DataPolicy& policy = {}) {
  std::string text = "a,w,y\n";
  for (std::size_t i = 0; i < cells.size(); ++i) text += fmt::format("{},{},{}\n", i % 5, cells[i], i % 2);
  const TemporaryFolder folder;
  CsvReader reader{folder.write("table.csv", text), policy};
  const auto features = csv_features(reader, label, options);
  return all_of(CsvRecords{std::move(reader), features, label, weight});
}

TEST(WeightsOfRecords, AreCellsOverTheLargestOne) {
  const auto made = from_csv({"0", "1", "4", " 2.5 ", "1e-320", "-0"});
  const std::vector<double> expected{0, 0.25, 1, 0.625, 1e-320 / 4, 0};
  ASSERT_EQ(made.size(), expected.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(made[i].weight, expected[i]);
    EXPECT_FALSE(made[i].is_damaged);
    EXPECT_EQ(made[i].row.size(), 2U);  // of column a and the constant: that of weights is no feature
  }
}

TEST(WeightsOfRecords, ThatCannotBeUsedMakeTheRecordDamaged) {
  for (const std::string cell : {"", " ", "x", "nan", "inf", "1e999", "-1", "-1e-320", "4.0000000000000009", "1e300"}) {
    const auto made = from_csv({cell});
    EXPECT_TRUE(made.at(0).is_damaged) << cell;
    EXPECT_EQ(made.at(0).weight, 0);
    EXPECT_TRUE(made.at(0).row.empty());
  }
}

// Whatever a cell is, the other records are the same.
TEST(WeightsOfRecords, ChangeNoOtherRecord) {
  const std::vector<std::string> usual{"1", "2", "3", "4"};
  const auto expected = from_csv(usual);
  for (std::size_t place = 0; place < usual.size(); ++place) {
    for (const std::string cell : {"", "x", "9", "-9", "0", "4", "inf"}) {
      auto cells = usual;
      cells[place] = cell;
      auto made = from_csv(cells);
      ASSERT_EQ(made.size(), expected.size());
      made[place] = expected[place];
      EXPECT_EQ(made, expected) << cell;
    }
  }
}

TEST(WeightsOfRecords, AreOneWithoutARule) {
  for (const auto& one : from_csv({"3", "x", ""}, std::nullopt)) {
    EXPECT_EQ(one.weight, 1);
    EXPECT_FALSE(one.is_damaged);
  }
}

TEST(WeightsOfRecords, CountAsSaidWhereTheyAreMissing) {
  DataPolicy policy;
  policy.csv.missing = {{"w", "2"}};
  EXPECT_EQ(from_csv({"", "x"}, rule, policy).at(0).weight, 0.5);
  policy.csv.missing = {{"w", "5"}};
  EXPECT_TRUE(from_csv({""}, rule, policy).at(0).is_damaged);
}

TEST(WeightsOfRecords, AreShownWhereTheFormIsPublicAlone) {
  const DataPolicy policy{.form = RecordForm::is_public};
  EXPECT_TRUE(refuses(
      [&] {
        static_cast<void>(from_csv({"1", "5"}, rule, policy));
      },
      ErrorCode::bad_data, {"row 2", "column 'w': the weight is 5, must be from 0 to 4"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(from_csv({""}, rule, policy)); }, ErrorCode::bad_data, {"column 'w': the cell is empty"}));
}

TEST(WeightsOfRecords, OfAnArrowStreamAreThoseOfACsvFile) {
  testing::ArrowTestTable table{
      .columns = {{"a", "g", {0.0, 1.0, 2.0, 3.0, 4.0, 0.0}}, {"w", "g", {}}, {"y", "g", {0.0, 1.0, 0.0, 1.0, 0.0, 1.0}}}};
  table.columns[1].cells = {0.0, 1.0, 4.0, testing::ArrowCell{}, 5.0, -1.0};
  auto stream = testing::arrow_stream(std::move(table), {.batches = {2}, .offset = 1});
  ArrowReader reader{ArrowStream{&stream}, {}};
  const auto features = arrow_features(reader, label, options);
  EXPECT_EQ(all_of(ArrowRecords{std::move(reader), features, label, rule}), from_csv({"0", "1", "4", "", "5", "-1"}));
}

TEST(WeightsOfDataSets, StayWithTheirRecords) {
  const Dataset data = Dataset::dense(1, {0.1, 0.2, 0.3, 0.4, 0.5}, {1, 2, 3, 4, 5}).with_weights({0.1, 0.2, 0.3, 0.4, 0.5});
  const auto expect_own = [](const Dataset& part) {
    EXPECT_TRUE(part.has_weights());
    for (std::size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part.weight(i), part.label(i) / 10);
  };
  expect_own(data.subset(std::vector<std::size_t>{4, 0, 2}));
  auto kept = data;
  kept.keep(std::vector<std::size_t>{1, 3});
  expect_own(kept);
  for (const Adjacency adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one}) {
    const auto parts = split(data, {.adjacency = adjacency, .held_out_fraction = 0.4, .seed = 3});
    expect_own(parts.training);
    expect_own(parts.held_out);
    EXPECT_EQ(parts.training.size() + parts.held_out.size(), 5U);
  }
  // That there are weights is public, however many records there are.
  EXPECT_TRUE(data.subset({}).has_weights());
  EXPECT_TRUE((DatasetBuilder{1, false, true}.finish().has_weights()));
  EXPECT_FALSE(Dataset::dense(1, {}, {}).has_weights());
}

}  // namespace
}  // namespace surety::data::weights_test
