#include <surety/data/features/record_file.h>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::data::record_file_test {
namespace {

/// `count` features, as they are.
RecordFileDescription described(std::uint32_t count) {
  return {.features = {.inputs = SparseFeatures{count}, .intercept = false, .unit_norm = false}, .label = parse_label_rule("visits>0")};
}

/// Records that can be told apart; each third is damaged.
std::string text_of(std::uint32_t features, std::size_t records, double scale = 1) {
  RecordFileText text{described(features)};
  std::string all;
  for (std::size_t i = 0; i < records; ++i) {
    std::vector<double> values(features, 0.25 * scale);
    values[0] = static_cast<double>(i) * scale;
    const bool is_damaged = i % 3 == 2;
    text.add(is_damaged ? std::span<const double>{} : values, static_cast<double>(i % 2), is_damaged);
    all += text.text();
    text.forget_text();
  }
  text.finish();
  return all + std::string{text.text()};
}

/// Reads all of it; -1 for the labels of damaged records, which are not equal to themselves.
std::vector<double> all_numbers(const RecordFile& file) {
  std::vector<double> all;
  std::vector<double> block;
  for (std::size_t k = 0; k < file.blocks(); ++k) {
    file.read_block(k, block);
    for (const double number : block) all.push_back(std::isnan(number) ? -1 : number);
  }
  return all;
}

/// Over what the file holds, which stays the same file.
void overwrite(const std::filesystem::path& path, std::size_t place, const std::string& bytes) {
  std::fstream file{path, std::ios::binary | std::ios::in | std::ios::out};
  file.seekp(static_cast<std::streamoff>(place));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST(RecordFile, ReadsWhatWasWritten) {
  const TemporaryFolder folder;
  // With 2,000 features there are four records in a block.
  for (const auto& [features, records] : {std::pair{2U, 5U}, {2000U, 10U}, {2000U, 8U}, {3U, 0U}}) {
    const auto path = folder.write("data", text_of(features, records));
    const auto file = std::make_shared<const RecordFile>(path);
    EXPECT_EQ(file->size(), records);
    EXPECT_EQ(file->features(), features);
    EXPECT_TRUE(file->description().features == described(features).features);
    EXPECT_EQ(describe(*file->description().label), "visits>0");
    EXPECT_TRUE(is_record_file(path));

    StoredRecords stored{file, RecordForm::is_private};
    std::vector<double> row;
    double label = 0;
    for (std::size_t i = 0; i < records; ++i) {
      ASSERT_TRUE(stored.next(row, label));
      EXPECT_EQ(stored.is_damaged(), i % 3 == 2);
      if (i % 3 == 2) {
        EXPECT_TRUE(row.empty());
        continue;
      }
      ASSERT_EQ(row.size(), features);
      EXPECT_EQ(row[0], static_cast<double>(i));
      EXPECT_EQ(row[1], 0.25);
      EXPECT_EQ(label, static_cast<double>(i % 2));
    }
    EXPECT_FALSE(stored.next(row, label));
  }
  EXPECT_EQ(std::make_shared<const RecordFile>(folder.write("wide", text_of(2000, 10)))->blocks(), 3U);
}

TEST(RecordFile, SeesEveryChangedByteAndEveryMissingOne) {
  const TemporaryFolder folder;
  const std::string right = text_of(2, 4);
  const auto is_refused = [&](const std::string& text) {
    try {
      static_cast<void>(all_numbers(RecordFile{folder.write("data", text)}));
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::bad_data;
    }
  };
  ASSERT_FALSE(is_refused(right));
  for (std::size_t i = 0; i < right.size(); ++i) {
    std::string other = right;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_TRUE(is_refused(other)) << i;
    EXPECT_TRUE(is_refused(right.substr(0, i))) << i;
  }
  EXPECT_TRUE(is_refused(right + "x"));
  EXPECT_TRUE(is_refused(right + std::string(8, '\0')));
}

TEST(RecordFile, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string right = text_of(2, 4);
  const auto refused = [&](std::size_t place, const std::string& bytes, std::string_view words) {
    const auto path = folder.write("data", right);
    overwrite(path, place, bytes);
    EXPECT_TRUE(refuses([&] { static_cast<void>(RecordFile{path}); }, ErrorCode::bad_data, {words}));
  };
  refused(16, {"\x01\x02\x03\x04\x05\x06\x07\x08", 8}, "the other byte order");
  refused(24, std::string("\x02", 1), "version 2, this program knows 1");
  refused(0, "S", "no record file");
  EXPECT_TRUE(refuses([&] { static_cast<void>(RecordFile{folder / "nothing"}); }, ErrorCode::bad_data, {"cannot be opened"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(RecordFile{(folder / "")}); }, ErrorCode::bad_data, {"no record file"}));
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(RecordFile{folder.write("short", "surety records\n")}); }, ErrorCode::bad_data, {"no record file"}));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(refuses([&] { static_cast<void>(RecordFile{folder / "pipe"}); }, ErrorCode::bad_data, {"no record file"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(is_record_file("/proc/self/mem")); }, ErrorCode::environment, {"cannot be read"}));
  EXPECT_FALSE(is_record_file(folder / "pipe"));
  EXPECT_FALSE(is_record_file(folder / "nothing"));
  EXPECT_FALSE(is_record_file(folder.write("text", "x,y\n1,2\n")));
}

TEST(RecordFile, SeesWhatChangesUnderneath) {
  const TemporaryFolder folder;
  const std::string right = text_of(2000, 10);
  const std::string other = text_of(2000, 10, 2);  // as good a file of the same size
  ASSERT_EQ(right.size(), other.size());
  const auto path = folder.write("data", right);
  const RecordFile file{path};
  const auto before = all_numbers(file);
  overwrite(path, 0, other);
  EXPECT_TRUE(refuses([&] { static_cast<void>(all_numbers(file)); }, ErrorCode::bad_data, {"changed while it was read"}));
  overwrite(path, 0, right);
  EXPECT_EQ(all_numbers(file), before);
  std::filesystem::resize_file(path, right.size() / 2);
  EXPECT_TRUE(refuses([&] { static_cast<void>(all_numbers(file)); }, ErrorCode::bad_data, {"became shorter"}));
  // The file that was opened is read on, whatever has its name.
  const RecordFile second{folder.write("data", right)};
  std::filesystem::rename(folder.write("new", other), path);
  EXPECT_EQ(all_numbers(second), before);
  std::filesystem::remove(path);
  EXPECT_EQ(all_numbers(second), before);
}

TEST(RecordFileText, RefusesWhatARecordFileHasNot) {
  auto several = described(2);
  several.label = with_classes(parse_label_rule("town"), {"a", "b"});
  EXPECT_TRUE(refuses([&] { static_cast<void>(RecordFileText{several}); }, ErrorCode::invalid_argument, {"one of several classes"}));
  EXPECT_THROW((RecordFileText{{.features = {.inputs = SparseFeatures{0}}, .label = {}}}), Error);
  auto bytes = described(2);
  bytes.label->column = "\xff";
  EXPECT_TRUE(refuses([&] { static_cast<void>(RecordFileText{bytes}); }, ErrorCode::invalid_argument, {"not UTF-8"}));
}

}  // namespace
}  // namespace surety::data::record_file_test
