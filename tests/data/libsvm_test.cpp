#include <surety/data/csv/libsvm.h>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::data::libsvm_test {
namespace {

FeatureMap plain(std::uint32_t count) { return {.inputs = SparseFeatures{count}, .intercept = false, .unit_norm = false}; }

std::vector<double> dense_row(const Dataset& data, std::size_t index) {
  std::vector<double> values(data.features(), 0.0);
  data.row(index).add_scaled_to(1, values);
  return values;
}

TEST(ReadLibsvm, ReadsRecords) {
  const TemporaryFolder folder;
  const std::string text = "+1 1:0.5 3:-2e0 # a comment\r\n-1\t2:1\t\n0";
  for (const auto& content : {text, gzip(text), text + "\n"}) {
    const Dataset data = read_libsvm(folder.write("data", content), plain(3));
    ASSERT_EQ(data.size(), 3U);
    EXPECT_EQ(dense_row(data, 0), (std::vector<double>{0.5, 0, -2}));
    EXPECT_EQ(dense_row(data, 1), (std::vector<double>{0, 1, 0}));
    EXPECT_EQ(dense_row(data, 2), (std::vector<double>{0, 0, 0}));
    EXPECT_EQ(std::vector<double>(data.labels().begin(), data.labels().end()), (std::vector<double>{1, -1, 0}));
  }
}

TEST(ReadLibsvm, AppendsAnInterceptAndNormalises) {
  const TemporaryFolder folder;
  const Dataset data = read_libsvm(folder.write("data", "1 2:3\n1\n"), {.inputs = SparseFeatures{3}, .intercept = true, .unit_norm = true});
  EXPECT_NEAR(dense_row(data, 0)[1], 3 / std::sqrt(10), 1e-15);
  EXPECT_NEAR(dense_row(data, 0)[3], 1 / std::sqrt(10), 1e-15);
  EXPECT_EQ(dense_row(data, 1), (std::vector<double>{0, 0, 0, 1}));
}

TEST(ReadLibsvm, RefusesBadFiles) {
  const TemporaryFolder folder;
  const auto refused = [&](std::string_view content, std::vector<std::string_view> words) {
    words.emplace_back("data.svm");
    const auto path = folder.write("data.svm", content);
    return refuses([&] { static_cast<void>(read_libsvm(path, plain(10))); }, ErrorCode::bad_data, words);
  };
  EXPECT_TRUE(refused("", {"no records"}));
  EXPECT_TRUE(refused("# nothing\n", {"line 1 holds no record"}));
  EXPECT_TRUE(refused("1 1:1\n\n1 1:1\n", {"line 2 holds no record"}));
  EXPECT_TRUE(refused("1 1:1\n1 0:1\n", {"line 2", "index is 0"}));
  EXPECT_TRUE(refused("1 3:1 2:1\n", {"line 1", "index 2 comes after index 3"}));
  EXPECT_TRUE(refused("1 3:1 3:1\n", {"index 3 comes after index 3"}));
  EXPECT_TRUE(refused("1 11:1\n", {"index '11' is larger than the count of features, 10"}));
  EXPECT_TRUE(refused("1 99999999999999999999999:1\n", {"larger"}));
  EXPECT_TRUE(refused("1 -1:1\n", {"'-1' is not a whole number"}));
  EXPECT_TRUE(refused("1 1.5:1\n", {"'1.5' is not a whole number"}));
  EXPECT_TRUE(refused("1 :1\n", {"'' is not a whole number"}));
  EXPECT_TRUE(refused("1 1\n", {"'1' is not index:value"}));
  EXPECT_TRUE(refused("1 1:\n", {"value of index 1 ''"}));
  EXPECT_TRUE(refused("1 1:x\n", {"value of index 1 'x' is not a number"}));
  EXPECT_TRUE(refused("1 1:inf\n", {"not finite"}));
  EXPECT_TRUE(refused("1 1:1e999\n", {"range of double"}));
  EXPECT_TRUE(refused("yes 1:1\n", {"label 'yes' is not a number"}));
  EXPECT_TRUE(refused("nan 1:1\n", {"label 'nan' is not finite"}));
  EXPECT_TRUE(refused(gzip("1 1:1\n1 2:1\n").substr(0, 22), {"truncated"}));
}

TEST(ReadLibsvm, RefusesOtherMaps) {
  const FeatureMap columns{.inputs = NamedColumns{{"a", Unchanged{}}}};
  EXPECT_TRUE(refuses([&] { static_cast<void>(read_libsvm("none", columns)); }, ErrorCode::invalid_argument, {"named columns"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(read_libsvm("none", plain(0))); }, ErrorCode::invalid_argument, {"count of features"}));
}

}  // namespace
}  // namespace surety::data::libsvm_test
