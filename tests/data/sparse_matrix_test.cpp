#include <surety/data/features/sparse_matrix.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <surety/data/csv/libsvm.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::data::sparse_matrix_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

FeatureMap map_of(std::uint32_t count, bool scales = false) {
  return {.inputs = SparseFeatures{count}, .intercept = scales, .unit_norm = scales};
}

/// A matrix with what it looks at.
struct Held {
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> wide;
  std::vector<std::int32_t> narrow;
  std::vector<double> values;
  std::vector<double> labels = {};

  [[nodiscard]] SparseMatrix matrix(std::uint64_t columns) const {
    using Indices = decltype(SparseMatrix::indices);
    return {.columns = columns,
            .ends = ends,
            .indices = narrow.empty() ? Indices{std::span<const std::int64_t>{wide}} : Indices{std::span<const std::int32_t>{narrow}},
            .values = values,
            .labels = labels};
  }
};

std::vector<SparseRecord> all(SparseRows rows, std::size_t* damaged = nullptr) {
  std::vector<SparseRecord> records;
  for (SparseRecord record; rows.next(record);) {
    records.push_back(record);
    if (damaged != nullptr) *damaged += rows.is_damaged();
  }
  return records;
}

void expect_equal(const std::vector<SparseRecord>& some, const std::vector<SparseRecord>& others) {
  ASSERT_EQ(some.size(), others.size());
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(some[i].label, others[i].label) << i;
    EXPECT_EQ(some[i].indices, others[i].indices) << i;
    EXPECT_EQ(some[i].values, others[i].values) << i;
  }
}

// In any order, with columns twice, zeros, and sums that are zero.
const Held written{.ends = {0, 3, 3, 6, 8},
                   .wide = {2, 0, 2, 1, 3, 1, 0, 0},
                   .narrow = {},
                   .values = {1, 0.5, 0.25, 3, 0, -2, 2, -2},
                   .labels = {1, -1, 1, -1}};

TEST(SparseRows, AreWhatTheSameRowsAreAsLibsvmText) {
  const TemporaryFolder folder;
  const auto path = folder.write("same.svm", "1 1:0.5 3:1.25\n-1\n1 2:1\n-1\n");
  for (const bool scales : {false, true}) {
    LibsvmRecords of_text{path, map_of(4, scales), {}};
    std::vector<SparseRecord> expected;
    for (SparseRecord record; of_text.next(record);) expected.push_back(record);
    Held narrow = written;
    narrow.narrow.assign(written.wide.begin(), written.wide.end());
    for (const auto& held : {written, narrow}) {
      std::size_t damaged = 0;
      expect_equal(all(SparseRows{held.matrix(4), map_of(4, scales), RecordForm::is_private}, &damaged), expected);
      EXPECT_EQ(damaged, 0U);
    }
  }
}

TEST(SparseRows, CountDamagedOnesAsZerosUnlessTheFormIsPublic) {
  const std::vector<std::pair<Held, std::string>> rows{
      {{.ends = {0, 1}, .wide = {4}, .narrow = {}, .values = {1}}, "row 1: a column index is not from 0 to 3"},
      {{.ends = {0, 2}, .wide = {1, -1}, .narrow = {}, .values = {1, 1}}, "row 1: a column index is not from 0 to 3"},
      {{.ends = {0, 1}, .wide = {std::int64_t{1} << 32}, .narrow = {}, .values = {1}}, "row 1: a column index is not from 0 to 3"},
      {{.ends = {0, 1}, .wide = {2}, .narrow = {}, .values = {-infinity}}, "row 1: the value in column 2 is not finite"},
      {{.ends = {0, 2}, .wide = {2, 2}, .narrow = {}, .values = {1e308, 1e308}}, "row 1: the value in column 2 is not finite"},
      {{.ends = {0, 0}, .wide = {}, .narrow = {}, .values = {}, .labels = {std::numeric_limits<double>::quiet_NaN()}},
       "row 1: the label is not finite"}};
  for (const auto& [held, message] : rows) {
    std::size_t damaged = 0;
    expect_equal(all(SparseRows{held.matrix(4), map_of(4, true), RecordForm::is_private}, &damaged), {SparseRecord{}});
    EXPECT_EQ(damaged, 1U) << message;
    EXPECT_TRUE(refuses(
        [&] {
          all(SparseRows{held.matrix(4), map_of(4), RecordForm::is_public});
        },
        ErrorCode::bad_data, {"sparse matrix: ", message}));
  }
}

TEST(SparseRows, RefusesWhatIsNoMatrix) {
  const auto refused = [](const Held& held, std::string_view word, std::uint64_t columns = 4) {
    return refuses(
        [&] {
          SparseRows{held.matrix(columns), map_of(4), RecordForm::is_private};
        },
        ErrorCode::invalid_argument, {"sparse matrix: ", word});
  };
  EXPECT_TRUE(refused({.ends = {}, .wide = {}, .narrow = {}, .values = {}}, "begin with 0"));
  EXPECT_TRUE(refused({.ends = {1, 1}, .wide = {0}, .narrow = {}, .values = {1}}, "begin with 0"));
  EXPECT_TRUE(refused({.ends = {0, 2, 1}, .wide = {0, 1}, .narrow = {}, .values = {1, 1}}, "descend"));
  EXPECT_TRUE(refused({.ends = {0, -1, 1}, .wide = {0}, .narrow = {}, .values = {1}}, "descend"));
  EXPECT_TRUE(refused({.ends = {0, 2}, .wide = {0}, .narrow = {}, .values = {1}}, "end beyond its values"));
  EXPECT_TRUE(
      refused({.ends = {0, std::numeric_limits<std::int64_t>::max()}, .wide = {0}, .narrow = {}, .values = {1}}, "end beyond its values"));
  EXPECT_TRUE(refused({.ends = {0, 1}, .wide = {0, 1}, .narrow = {}, .values = {1}}, "as many column indices as values"));
  EXPECT_TRUE(refused({.ends = {0, 0}, .wide = {}, .narrow = {}, .values = {}, .labels = {1, 1}}, "as many labels as rows"));
  EXPECT_TRUE(refused(written, "it has 3 columns, must have 4", 3));
  const FeatureMap columns{.inputs = NamedColumns{{"a", Unchanged{}}}};
  EXPECT_TRUE(refuses(
      [&] {
        SparseRows{written.matrix(4), columns, RecordForm::is_private};
      },
      ErrorCode::invalid_argument, {"named columns"}));
}

}  // namespace
}  // namespace surety::data::sparse_matrix_test
