#include <surety/data/features/dataset.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <support/refusal.h>

namespace surety::data::dataset_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Two features and a label that tell records apart.
Dataset numbered(std::size_t first, std::size_t count) {
  std::vector<double> values;
  std::vector<double> labels;
  for (std::size_t i = first; i < first + count; ++i) {
    values.insert(values.end(), {static_cast<double>(i), 0.5});
    labels.push_back(static_cast<double>(i % 3));
  }
  return Dataset::dense(2, std::move(values), std::move(labels));
}

std::vector<double> first_features(const Dataset& data) {
  std::vector<double> result;
  for (std::size_t i = 0; i < data.size(); ++i) result.push_back(data.row(i).values[0]);
  return result;
}

TEST(Dataset, DenseAndSparseRowsSayTheSame) {
  const Dataset dense = Dataset::dense(3, {0, 3, 4, 0, 0, 0, 1, 0, 0}, {1, 2, 3});
  const Dataset sparse = Dataset::sparse(3, {2, 2, 3}, {1, 2, 0}, {3, 4, 1}, {1, 2, 3});
  const std::vector<double> weights{0.25, -2, 7};
  ASSERT_EQ(sparse.size(), 3U);
  EXPECT_TRUE(sparse.is_sparse());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(dense.row(i).dot(weights), sparse.row(i).dot(weights));
    EXPECT_EQ(dense.row(i).norm, sparse.row(i).norm);
    EXPECT_EQ(dense.label(i), sparse.label(i));
    std::vector<double> a(3, 1.0);
    std::vector<double> b(3, 1.0);
    dense.row(i).add_scaled_to(-2, a);
    sparse.row(i).add_scaled_to(-2, b);
    EXPECT_EQ(a, b);
  }
  EXPECT_EQ(dense.row(0).norm, 5);
}

/// Records of so many features that two make a block, and sparse ones of several blocks, with what is in them.
struct InBlocks {
  Dataset data;
  std::vector<std::vector<double>> rows;  ///< of the first three features
};

InBlocks in_blocks(bool is_sparse) {
  const std::size_t features = is_sparse ? 3 : 60'000;
  const std::size_t records = is_sparse ? 9'000 : 7;
  InBlocks made{.data = Dataset::dense(1, {}, {}), .rows = {}};
  DatasetBuilder builder{features, is_sparse};
  for (std::size_t i = 0; i < records; ++i) {
    const double one = static_cast<double>(i) + 0.5;
    if (is_sparse) {
      const std::vector<std::uint32_t> indices{static_cast<std::uint32_t>(i % 3)};
      const std::size_t numbers = i % 5 == 0 ? 0 : 1;  // some have none
      builder.add({std::span{indices}.first(numbers), std::span{&one, numbers}, numbers == 0 ? 0 : one}, one);
      made.rows.emplace_back(3);
      if (numbers > 0) made.rows.back()[i % 3] = one;
    } else {
      std::vector<double> values(features);
      values[i % 3] = one;
      builder.add({{}, i == 4 ? std::span<const double>{} : values, i == 4 ? 0 : one}, one);
      made.rows.push_back({values[0], values[1], values[2]});
      if (i == 4) made.rows.back() = {0, 0, 0};
    }
  }
  made.data = std::move(builder).finish();
  return made;
}

void expect_rows(const Dataset& data, const InBlocks& made, const std::vector<std::size_t>& places) {
  ASSERT_EQ(data.size(), places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::vector<double> row(data.features());
    data.row(i).add_scaled_to(1, row);
    row.resize(3);
    EXPECT_EQ(row, made.rows[places[i]]) << i;
    EXPECT_EQ(data.label(i), static_cast<double>(places[i]) + 0.5);
    EXPECT_EQ(data.norm(i), *std::max_element(row.begin(), row.end()));
  }
}

TEST(Dataset, BlocksDoNotShow) {
  for (const bool is_sparse : {false, true}) {
    const InBlocks made = in_blocks(is_sparse);
    std::vector<std::size_t> all(made.data.size());
    std::iota(all.begin(), all.end(), 0U);
    expect_rows(made.data, made, all);
    const std::vector<std::size_t> some{6, 0, 0, 4, 5};
    expect_rows(made.data.subset(some), made, some);
    for (const std::vector<std::size_t>& kept : {std::vector<std::size_t>{5}, {0, 1, 4, 6}, {}, all}) {
      Dataset other = made.data;
      other.keep(kept);
      expect_rows(other, made, kept);
    }
    const Split parts = split(made.data, {.held_out_fraction = 0.4, .seed = 3});
    std::vector<std::size_t> of_training;
    std::vector<std::size_t> of_held_out;
    for (std::size_t i = 0; i < parts.training.size(); ++i) of_training.push_back(static_cast<std::size_t>(parts.training.label(i)));
    for (std::size_t i = 0; i < parts.held_out.size(); ++i) of_held_out.push_back(static_cast<std::size_t>(parts.held_out.label(i)));
    EXPECT_EQ(of_training.size() + of_held_out.size(), all.size());
    expect_rows(parts.training, made, of_training);
    expect_rows(parts.held_out, made, of_held_out);
  }
}

TEST(DatasetBuilder, RefusesWhatIsNoRecord) {
  EXPECT_THROW((DatasetBuilder{0, false}), Error);
  DatasetBuilder builder{1, false};
  EXPECT_THROW(builder.add({{}, {&infinity, 1}, 1}, 0), Error);
  const double one = 1;
  EXPECT_THROW(builder.add({{}, {&one, 1}, 1}, nan), Error);
  EXPECT_EQ(builder.size(), 0U);
}

TEST(Dataset, NormsNeitherOverflowNorVanish) {
  EXPECT_EQ(Dataset::dense(2, {3e300, 4e300}, {}).row(0).norm, 5e300);
  EXPECT_NEAR(Dataset::dense(2, {3e-300, 4e-300}, {}).row(0).norm / 5e-300, 1, 1e-15);
}

TEST(Dataset, RefusesWhatDoesNotFit) {
  const auto refused = [](auto make, std::string_view words) { return refuses(make, ErrorCode::invalid_argument, {words}); };
  EXPECT_TRUE(refused([] { return Dataset::dense(0, {}, {}); }, "features"));
  EXPECT_TRUE(refused([] { return Dataset::dense(2, {1, 2, 3}, {}); }, "rows of 2"));
  EXPECT_TRUE(refused([] { return Dataset::dense(2, {1, 2}, {1, 2}); }, "2 labels for 1"));
  EXPECT_TRUE(refused([] { return Dataset::dense(2, {1, nan}, {}); }, "finite"));
  EXPECT_TRUE(refused([] { return Dataset::dense(2, {1, 2}, {infinity}); }, "finite"));
  EXPECT_TRUE(refused([] { return Dataset::sparse(2, {1}, {2}, {1}, {}); }, "below 2"));
  EXPECT_TRUE(refused([] { return Dataset::sparse(3, {2}, {1, 1}, {1, 1}, {}); }, "index 1 after 1"));
  EXPECT_TRUE(refused([] { return Dataset::sparse(3, {3}, {0, 1}, {1, 1}, {}); }, "outside"));
  EXPECT_TRUE(refused([] { return Dataset::sparse(3, {2, 1}, {0, 1}, {1, 1}, {}); }, "outside"));
  EXPECT_TRUE(refused([] { return Dataset::sparse(3, {1}, {0, 1}, {1, 1}, {}); }, "end at 1"));
  EXPECT_TRUE(refused([] { return Dataset::sparse(3, {2}, {0, 1}, {1}, {}); }, "indices"));
  EXPECT_TRUE(refused([] { return numbered(0, 3).with_labels({1}); }, "1 labels"));
}

TEST(Dataset, KeepsInItsPlaceWhatASubsetCopies) {
  const Dataset dense = Dataset::dense(2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {1, 2, 3, 4, 5});
  const Dataset sparse = Dataset::sparse(4, {2, 2, 5, 6, 6}, {0, 3, 0, 1, 2, 3}, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5});
  const Dataset plain = Dataset::dense(1, {1, 2, 3, 4, 5}, {});
  for (const Dataset& data : {dense, sparse, plain}) {
    for (unsigned kept = 0; kept < 32; ++kept) {
      std::vector<std::size_t> places;
      for (std::size_t i = 0; i < 5; ++i) {
        if ((kept >> i & 1U) != 0) places.push_back(i);
      }
      Dataset found = data;
      found.keep(places);
      const Dataset expected = data.subset(places);
      ASSERT_EQ(found.size(), expected.size());
      ASSERT_EQ(found.has_labels(), expected.has_labels());
      for (std::size_t i = 0; i < found.size(); ++i) {
        const RowView a = found.row(i);
        const RowView b = expected.row(i);
        EXPECT_TRUE(std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end()));
        EXPECT_TRUE(std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(), b.indices.end()));
        EXPECT_EQ(a.norm, b.norm);
        if (found.has_labels()) {
          EXPECT_EQ(found.label(i), expected.label(i));
        }
      }
    }
  }
}

TEST(Split, TakesTheAskedShareOfEveryStretch) {
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out}) {
    for (const double fraction : {0.2, 0.3, 0.5, 0.9, 0.01}) {
      const auto held_out =
          first_features(split(numbered(0, 3000), {.adjacency = adjacency, .held_out_fraction = fraction, .seed = 7}).held_out);
      for (const double end : {500.0, 1000.0, 3000.0}) {
        const auto before = std::count_if(held_out.begin(), held_out.end(), [&](double index) { return index < end; });
        EXPECT_NEAR(static_cast<double>(before), fraction * end, 1.01) << fraction;
      }
    }
  }
}

TEST(Split, ByContentTakesTheAskedShareOnAverage) {
  // The binomial standard deviation of the share is 0.0012; 6 of them.
  const Split parts = split(numbered(0, 100'000), {.adjacency = Adjacency::add_or_remove_one, .held_out_fraction = 0.2, .seed = 7});
  EXPECT_NEAR(static_cast<double>(parts.held_out.size()) / 100'000, 0.2, 0.0076);
  EXPECT_EQ(parts.training.size() + parts.held_out.size(), 100'000U);
}

TEST(Split, MayHoldNothingOut) {
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_or_remove_one}) {
    for (const double fraction : {0.0, 1e-300}) {
      EXPECT_TRUE(split(numbered(0, 100), {.adjacency = adjacency, .held_out_fraction = fraction}).held_out.empty());
    }
  }
}

// A longer file with the same beginning splits its beginning alike.
TEST(Split, ByIndexDoesNotDependOnTheLength) {
  const auto beginning = [](std::size_t size) {
    auto indices = first_features(split(numbered(0, size), {.held_out_fraction = 0.3, .seed = 5}).held_out);
    std::erase_if(indices, [](double index) { return index >= 101; });
    return indices;
  };
  EXPECT_EQ(beginning(101), beginning(1000));
}

TEST(Split, DependsOnItsSeed) {
  const auto sides = [](std::uint64_t seed) { return first_features(split(numbered(0, 100), {.seed = seed}).training); };
  EXPECT_EQ(sides(1), sides(1));
  EXPECT_NE(sides(1), sides(2));
}

TEST(Split, RefusesFractionsOutOfRange) {
  for (const double fraction : {-0.1, 1.0, nan}) {
    EXPECT_TRUE(refuses([&] { return split(numbered(0, 3), {.held_out_fraction = fraction}); }, ErrorCode::invalid_argument, {"held-out"}));
  }
}

// Neighbouring data sets have neighbouring parts: replacing record i changes at most that one position of one part.
RC_GTEST_PROP(Split, ReplacingARecordMovesNoRecord, (std::uint64_t seed)) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 60);
  const auto replaced = *rc::gen::inRange<std::size_t>(0, size);
  std::vector<double> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<double>(i);
  const Split before = split(Dataset::dense(1, values, {}), {.adjacency = Adjacency::replace_one, .seed = seed});
  values[replaced] = *rc::gen::element(-1.0, 0.0, 1e300);
  const Split after = split(Dataset::dense(1, values, {}), {.adjacency = Adjacency::replace_one, .seed = seed});
  const auto distance = [](const Dataset& a, const Dataset& b) {
    RC_ASSERT(a.size() == b.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < a.size(); ++i) different += a.row(i).values[0] != b.row(i).values[0] ? 1U : 0U;
    return different;
  };
  RC_ASSERT(distance(before.training, after.training) + distance(before.held_out, after.held_out) <= 1);
}

RC_GTEST_PROP(Split, AddingARecordMovesNoOther, (std::uint64_t seed)) {
  auto records = *rc::gen::container<std::vector<double>>(rc::gen::map(rc::gen::inRange(0, 1000), [](int i) { return i / 8.0; }));
  const auto place = *rc::gen::inRange<std::size_t>(0, records.size() + 1);
  const SplitOptions options{.adjacency = Adjacency::add_or_remove_one, .seed = seed};
  const Split before = split(Dataset::dense(1, records, {}), options);
  const double added = *rc::gen::element(-1.0, 0.0, 1e300);
  records.insert(records.begin() + static_cast<std::ptrdiff_t>(place), added);
  const Split after = split(Dataset::dense(1, records, {}), options);
  auto training = first_features(before.training);
  auto held_out = first_features(before.held_out);
  // The new record is in one part; without it both parts are as before, in order.
  const bool in_training = after.training.size() > before.training.size();
  auto grown = first_features(in_training ? after.training : after.held_out);
  const auto& shorter = in_training ? training : held_out;
  const auto& other = in_training ? held_out : training;
  RC_ASSERT(first_features(in_training ? after.held_out : after.training) == other);
  RC_ASSERT(grown.size() == shorter.size() + 1);
  std::sort(grown.begin(), grown.end());
  auto expected = shorter;
  expected.push_back(added);
  std::sort(expected.begin(), expected.end());
  RC_ASSERT(grown == expected);
}

TEST(Split, SeesTheRecordNotItsStorage) {
  const Dataset dense = Dataset::dense(3, {0, 3, -0.0, 0, 0, 2}, {1, -0.0});
  const Dataset sparse = Dataset::sparse(3, {2, 3}, {0, 1, 2}, {0, 3, 2}, {1, 0});
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    const SplitOptions options{.adjacency = Adjacency::add_or_remove_one, .held_out_fraction = 0.5, .seed = seed};
    const auto labels = [](const Dataset& data) { return std::vector<double>(data.labels().begin(), data.labels().end()); };
    EXPECT_EQ(labels(split(dense, options).training), labels(split(sparse, options).training));
  }
}

// What batches of fixed size and their rates are made of, before any record is read.
// By arithmetic, since a table that is read as it comes may have more records than fit into memory.
TEST(Split, CountsWhatItTrainsOnWithoutRecords) {
  for (const double fraction : {0.0, 0.01, 0.2, 0.25, 1.0 / 3, 0.7, 0.999}) {
    for (const std::uint64_t seed : {0U, 7U}) {
      const SplitOptions options{.held_out_fraction = fraction, .seed = seed};
      for (std::size_t size = 0; size < 130; ++size) {
        EXPECT_EQ(training_records(size, options), split(numbered(0, size), options).training.size()) << fraction << " of " << size;
      }
    }
  }
  constexpr std::size_t many = std::size_t{1} << 40U;
  EXPECT_NEAR(static_cast<double>(training_records(many, {.held_out_fraction = 0.2})), 0.8 * static_cast<double>(many), 2);
  EXPECT_LE(training_records(std::size_t{1} << 62U, {.held_out_fraction = 0.999}), std::size_t{1} << 62U);
}

TEST(Split, TrainsOnAPublicNumberOfRecordsWhereTheirNumberIsPublic) {
  for (const std::size_t size : {0U, 1U, 7U, 60U, 301U}) {
    for (const double fraction : {0.0, 0.2, 0.37, 0.9}) {
      for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out}) {
        const SplitOptions options{.adjacency = adjacency, .held_out_fraction = fraction, .seed = size};
        const Dataset data = Dataset::dense(1, std::vector<double>(size, 0.5), std::vector<double>(size, 1.0));
        EXPECT_EQ(training_records(size, options), split(data, options).training.size()) << size << ' ' << fraction;
      }
    }
  }
  const SplitOptions by_content{.adjacency = Adjacency::add_or_remove_one};
  EXPECT_TRUE(refuses([&] { static_cast<void>(training_records(10, by_content)); }, ErrorCode::invalid_argument, {"add-or-remove-one"}));
  const SplitOptions all{.held_out_fraction = 1};
  EXPECT_TRUE(refuses([&] { static_cast<void>(training_records(10, all)); }, ErrorCode::invalid_argument, {"held-out fraction is 1"}));
}

}  // namespace
}  // namespace surety::data::dataset_test
