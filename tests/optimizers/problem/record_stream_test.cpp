#include <surety/optimizers/problem/record_stream.h>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <surety/data/features/features.h>
#include <surety/optimizers/problem/loss.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::record_stream_test {

using namespace data;

namespace {

class RecordStreamTest : public ::testing::Test {
 protected:
  [[nodiscard]] RecordStream csv(const std::string& text) {
    CsvReader reader{folder_.write("stream.csv", text), DataPolicy{}};
    const auto label = parse_label_rule("y>0");
    const auto features = csv_features(reader, label, {.otherwise = Unchanged{}, .intercept = false, .unit_norm = false});
    return RecordStream{CsvRecords{std::move(reader), features, label}};
  }
  [[nodiscard]] RecordStream libsvm(const std::string& text) {
    const FeatureMap features{.inputs = SparseFeatures{3}, .intercept = false, .unit_norm = false};
    return RecordStream{LibsvmRecords{folder_.write("stream.txt", text), features, DataPolicy{}}};
  }
  TemporaryFolder folder_;
};

/// Every record of a stream: its label, then its values.
std::vector<std::vector<double>> all(RecordStream& stream) {
  std::vector<std::vector<double>> records;
  while (stream.next(LogisticLoss{})) {
    records.push_back({stream.label()});
    records.back().insert(records.back().end(), stream.row().values.begin(), stream.row().values.end());
  }
  return records;
}

using Records = std::vector<std::vector<double>>;

TEST_F(RecordStreamTest, ReadsWhatTheFileHolds) {
  auto rows = csv("a,y,b\n1,1,2\n3,0,-4\n");
  EXPECT_EQ(all(rows), (Records{{1, 1, 2}, {-1, 3, -4}}));
  auto lines = libsvm("1 1:2 3:4\n-1 2:5\n");
  ASSERT_TRUE(lines.next(LogisticLoss{}));
  EXPECT_EQ(lines.row().dot(std::vector<double>{1, 10, 100}), 402);
  EXPECT_EQ(lines.row().norm, mechanisms::l2_norm(std::vector<double>{2, 4}));
  EXPECT_TRUE(lines.next(LogisticLoss{}));
  EXPECT_FALSE(lines.next(LogisticLoss{}));
  EXPECT_EQ(lines.damaged(), 0U);
}

TEST_F(RecordStreamTest, GivesLabelsAsTheLossWantsThem) {
  auto lines = libsvm("0 1:2\n1 2:5\n");
  EXPECT_EQ(all(lines), (Records{{-1, 2}, {1, 5}}));
}

// Whatever one record holds, it is one: those behind it keep their places.
TEST_F(RecordStreamTest, ADamagedRecordIsOneOfZerosAndMovesNoOther) {
  const Records expected{{1, 1, 2}, {0}, {-1, 3, 4}};
  for (const std::string damaged : {"x,1,2", "1,1", "1,2,3,4", "", "\"1\n\n\",1,2", "1,\"1\"2,2", "1\"2\",1,2", "1,nan,2", "1e999,1,2",
                                    "1,\r1,2", "\r", ",,", "#", "\"1,1,2\n\n\""}) {
    auto rows = csv("a,y,b\n1,1,2\n" + damaged + "\n3,0,4\n");
    EXPECT_EQ(all(rows), expected) << damaged;
    EXPECT_EQ(rows.damaged(), 1U) << damaged;
  }
  for (const auto& damaged : std::vector<std::string>{"", "# only a comment", "1 0:1", "1 2:1 1:1", "1 4:1", "x 1:1", "1 1", "7 1:1", "nan",
                                                      std::string{"1 1:\0 2:3", 9}}) {
    auto lines = libsvm("1 1:1 2:2\n" + damaged + "\n-1 1:3 2:4\n");
    EXPECT_EQ(all(lines), expected) << damaged;
    EXPECT_EQ(lines.damaged(), 1U) << damaged;
  }
}

TEST_F(RecordStreamTest, TheLastRecordIsOneLikeEveryOther) {
  const std::string head = "a,y,b\n1,1,2\n";
  for (const std::string last : {"\n", "\r\n", "\r", " ", "\"", "\"1,1,2\n3,0,4\n", "1,1,\"2\n", "x,1,2", "#\n"}) {
    auto rows = csv(head + last);
    EXPECT_EQ(all(rows), (Records{{1, 1, 2}, {0}})) << last;
  }
  auto ended = csv(head);
  EXPECT_EQ(all(ended), (Records{{1, 1, 2}}));
  for (const std::string last : {"\n", "\r\n", " ", "#", "# a comment\n", "x"}) {
    auto lines = libsvm("1 1:1 2:2\n" + last);
    EXPECT_EQ(all(lines), (Records{{1, 1, 2}, {0}})) << last;
  }
}

// What a record holds in quotes is its own, line ends too.
TEST_F(RecordStreamTest, AQuotedLineEndIsPartOfItsCell) {
  auto rows = csv("a,y,b,\"no\nte\"\n1,1,2,\"well\nthen ill\"\n3,0,-4,\"\n\"\"\n\"\n\"5\",\"1\",6,x\n");
  CsvOptions options{.drop = {"no\nte"}};
  EXPECT_EQ(rows.damaged(), 0U);
  CsvReader reader{folder_ / "stream.csv", DataPolicy{}};
  const auto label = parse_label_rule("y>0");
  options.otherwise = Unchanged{};
  options.intercept = false;
  options.unit_norm = false;
  const auto features = csv_features(reader, label, options);
  RecordStream stream{CsvRecords{std::move(reader), features, label}};
  EXPECT_EQ(all(stream), (Records{{1, 1, 2}, {-1, 3, -4}, {1, 5, 6}}));
}

TEST_F(RecordStreamTest, AllOfItIsADataSetWithRowsOfZeros) {
  auto rows = csv("a,y,b\n1,1,2\nx,1,2\n3,0,4\n");
  const Dataset dense = read_all(rows, LogisticLoss{}, 2, 6);
  ASSERT_EQ(dense.size(), 3U);
  EXPECT_EQ(std::vector<double>(dense.row(1).values.begin(), dense.row(1).values.end()), (std::vector<double>{0, 0}));
  EXPECT_EQ(dense.row(1).norm, 0);
  EXPECT_EQ(std::vector<double>(dense.labels().begin(), dense.labels().end()), (std::vector<double>{1, 0, -1}));
  auto lines = libsvm("1 1:1 2:2\n7 1:1\n-1 3:1\n");
  const Dataset sparse = read_all(lines, LogisticLoss{}, 3, 3);
  ASSERT_EQ(sparse.size(), 3U);
  EXPECT_TRUE(sparse.row(1).values.empty());
  EXPECT_EQ(lines.damaged(), 1U);
  auto none = csv("a,y,b\n");
  EXPECT_TRUE(read_all(none, LogisticLoss{}, 2, 6).empty());
  auto more = csv("a,y,b\n1,1,2\n1,1,2\n1,1,2\n1,1,2\n");
  EXPECT_TRUE(refuses([&] { static_cast<void>(read_all(more, LogisticLoss{}, 2, 6)); }, ErrorCode::bad_data,
                      {"more than 6 numbers", "--no-limits"}));
  // What a later map makes of a row counts.
  auto mapped = csv("a,y,b\n1,1,2\n1,1,2\n");
  EXPECT_TRUE(refuses([&] { static_cast<void>(read_all(mapped, LogisticLoss{}, 2, 7, 4)); }, ErrorCode::bad_data, {"more than 7 numbers"}));
}

TEST_F(RecordStreamTest, WhereTheFormIsPublicDamageHasItsPlace) {
  const auto refused = [&](const std::string& text, std::string_view words) {
    CsvReader reader{folder_.write("stream.csv", text), public_form};
    const auto label = parse_label_rule("y");
    const auto features = csv_features(reader, label, {});
    RecordStream stream{CsvRecords{std::move(reader), features, label}};
    return refuses([&] { static_cast<void>(read_all(stream, LogisticLoss{}, features.features(), 100)); }, ErrorCode::bad_data, {words});
  };
  EXPECT_TRUE(refused("a,y\n1,1\n\"2\n\",1\n1,7\n", "row 2 (line 3), column 'a': '2 ' is not a number"));
  EXPECT_TRUE(refused("a,y\n1,1\n1,7\n", "row 2 (line 3): label is 7, must be -1, 0 or 1 for logistic loss"));
}

TEST_F(RecordStreamTest, AStreamThatCannotBeReadOnEndsWithAnError) {
  // A gzip stream that ends in the middle, which must not become zeros without end.
  const std::string truncated{"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\xd4", 12};
  const FeatureMap features{.inputs = SparseFeatures{3}};
  EXPECT_TRUE(refuses(
      [&] {
        RecordStream stream{LibsvmRecords{folder_.write("stream.gz", truncated), features, DataPolicy{}}};
        while (stream.next(LogisticLoss{})) {
        }
      },
      ErrorCode::bad_data, {"gzip stream is truncated"}));
}

TEST_F(RecordStreamTest, HandsOnARecordAsSoonAsItsLineIsThere) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  // Opened both ways, so that neither end waits for the other.
  const int end = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  const auto send = [&](const std::string& text) { ASSERT_EQ(::write(end, text.data(), text.size()), static_cast<ssize_t>(text.size())); };
  send("1 1:1\n");
  const FeatureMap features{.inputs = SparseFeatures{1}, .intercept = false, .unit_norm = false};
  RecordStream stream{LibsvmRecords{pipe, features, DataPolicy{}}};
  ASSERT_TRUE(stream.next(LogisticLoss{}));
  EXPECT_EQ(stream.label(), 1);
  send("-1 1:1\n");
  ASSERT_TRUE(stream.next(LogisticLoss{}));
  EXPECT_EQ(stream.label(), -1);
  close(end);
}

}  // namespace
}  // namespace surety::optimizers::record_stream_test
