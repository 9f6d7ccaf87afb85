#include <surety/data/reading/decompressor.h>

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

namespace surety::data::decompressor_test {
namespace {

std::span<const unsigned char> bytes(const std::string& text) { return {reinterpret_cast<const unsigned char*>(text.data()), text.size()}; }

std::string format_of(const std::string& text) {
  const auto decompressor = decompressor_of(bytes(text));
  return decompressor ? std::string{decompressor->name()} : "none";
}

// What text_reader_test does not see: how much of a start decides.
TEST(Decompressor, IsToldByTheStartOfAFile) {
  const std::string gzip = "\x1f\x8b";
  const std::string zstd = "\x28\xb5\x2f\xfd";
  const std::string block = "BZh91AY&SY";
  const std::string end = "BZh1\x17\x72\x45\x38\x50\x90";
  for (const auto& [start, name] : {std::pair{gzip, "gzip"}, {zstd, "zstd"}, {block, "bzip2"}, {end, "bzip2"}}) {
    for (std::size_t length = 0; length < start.size(); ++length) {
      EXPECT_EQ(format_of(start.substr(0, length)), "none");
      EXPECT_TRUE(may_become_compressed(bytes(start.substr(0, length)))) << name << length;
      std::string other = start.substr(0, length + 1);
      other.back() = '\0';
      EXPECT_FALSE(may_become_compressed(bytes(other))) << name << length;
      EXPECT_EQ(format_of(other + "0123456789"), "none");
    }
    EXPECT_EQ(format_of(start), name);
    EXPECT_EQ(format_of(start + "x"), name);
    EXPECT_FALSE(may_become_compressed(bytes(start)));
  }
}

}  // namespace
}  // namespace surety::data::decompressor_test
