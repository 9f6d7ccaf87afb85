#include <surety/data/features/row_reader.h>

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include <support/refusal.h>
#include <support/temporary_folder.h>
#include <surety/mechanisms/queries/record_sum.h>

namespace surety::data::row_reader_test {
namespace {

constexpr std::size_t features = 700;  // 11 records in a block
constexpr std::size_t records = 50;

double value_of(std::size_t record, std::size_t feature) { return std::sin(static_cast<double>(record * features + feature)); }

/// Labels are 0 to 6; record 20 was damaged, and labels of 6 nobody knows.
std::optional<double> known(std::size_t /*record*/, double label) {
  return std::isnan(label) || label == 6 ? std::nullopt : std::optional{label - 3};
}

class RowsInAFile : public ::testing::Test {
 protected:
  RowsInAFile() {
    RecordFileText text{{.features = {.inputs = SparseFeatures{features}, .intercept = false, .unit_norm = false}, .label = {}}};
    for (std::size_t i = 0; i < records; ++i) {
      std::vector<double> values;
      for (std::size_t j = 0; j < features; ++j) values.push_back(value_of(i, j));
      text.add(values, static_cast<double>(i % 7), i == 20);
    }
    text.finish();
    data_.emplace(Dataset::in_file(std::make_shared<const RecordFile>(folder_.write("data", text.text())), known));
  }

  /// What it should hold, in memory.
  static Dataset in_memory() {
    std::vector<double> values;
    std::vector<double> labels;
    for (std::size_t i = 0; i < records; ++i) {
      const bool counts = i != 20 && i % 7 != 6;
      for (std::size_t j = 0; j < features; ++j) values.push_back(counts ? value_of(i, j) : 0);
      labels.push_back(counts ? static_cast<double>(i % 7) - 3 : 0);
    }
    return Dataset::dense(features, std::move(values), std::move(labels));
  }

  static void expect_same(const Dataset& found, const Dataset& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    ASSERT_EQ(found.features(), wanted.features());
    RowReader reader{found};
    for (std::size_t i = 0; i < found.size(); ++i) {
      const RowView a = reader.row(i);
      const RowView b = wanted.row(i);
      EXPECT_TRUE(std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end())) << i;
      EXPECT_EQ(a.norm, b.norm);
      EXPECT_EQ(found.norm(i), b.norm);
      EXPECT_EQ(found.label(i), wanted.label(i));
    }
  }

  TemporaryFolder folder_;
  std::optional<Dataset> data_;
};

TEST_F(RowsInAFile, AreThoseOfMemory) {
  expect_same(*data_, in_memory());
  EXPECT_TRUE(refuses([&] { static_cast<void>(data_->row(0)); }, ErrorCode::unsupported, {"stay in a file"}));
}

TEST_F(RowsInAFile, ComeSeveralAtATime) {
  const std::vector<std::size_t> places{49, 3, 3, 20, 11, 10, 12};
  const Dataset wanted = in_memory();
  RowReader reader{*data_};
  std::vector<RowView> rows(places.size());
  reader.read(places, rows);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const RowView row = wanted.row(places[i]);
    EXPECT_TRUE(std::equal(rows[i].values.begin(), rows[i].values.end(), row.values.begin(), row.values.end())) << i;
  }
}

TEST_F(RowsInAFile, AreSplitAsInMemory) {
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_or_remove_one}) {
    const SplitOptions how{.adjacency = adjacency, .held_out_fraction = 0.3, .seed = 5};
    const Split found = split(*data_, how);
    const Split wanted = split(in_memory(), how);
    ASSERT_GT(wanted.held_out.size(), 0U);
    expect_same(found.training, wanted.training);
    expect_same(found.held_out, wanted.held_out);
    EXPECT_NE(found.training.file(), nullptr);
  }
  const std::vector<std::size_t> some{1, 5, 20, 48};
  Dataset kept = *data_;
  kept.keep(some);
  expect_same(kept, in_memory().subset(some));
  expect_same(data_->subset(some), in_memory().subset(some));
}

TEST(MapRows, ChangesEachRowAlone) {
  Dataset data = Dataset::dense(2, {1, 2, 3, 4, 5, 6}, {1, 2, 3});
  const RowMap map = [](std::span<const RowView> rows, std::span<double> mapped) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(mapped[2 * i], 0);
      mapped[2 * i] = rows[i].values[1];
      mapped[2 * i + 1] = rows[i].values[0] == 3 ? std::nan("") : -rows[i].values[0];
    }
  };
  data.map_rows(map);
  const Dataset wanted = Dataset::dense(2, {2, -1, 0, 0, 6, -5}, {1, 2, 3});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(data.row(i).values[0], wanted.row(i).values[0]);
    EXPECT_EQ(data.row(i).values[1], wanted.row(i).values[1]);
    EXPECT_EQ(data.row(i).norm, wanted.row(i).norm);
  }
  Dataset sparse = Dataset::sparse(2, {1}, {0}, {1}, {1});
  EXPECT_TRUE(refuses([&] { sparse.map_rows(map); }, ErrorCode::unsupported, {"dense"}));
}

}  // namespace
}  // namespace surety::data::row_reader_test
