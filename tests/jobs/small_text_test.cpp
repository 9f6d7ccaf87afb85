// Texts of plans and schemas come whole from their files, or not at all.
#include <surety/jobs/plans/small_text.h>

#include <gtest/gtest.h>

#include <string>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::small_text_test {
namespace {

TEST(SmallText, IsReadToItsLastByte) {
  const TemporaryFolder folder;
  const std::string text{"a\n\0b\r\n", 6};
  EXPECT_EQ(jobs::read_text(folder.write("plan", text).string(), 6, "a plan"), text);
  EXPECT_EQ(jobs::read_text(folder.write("empty", "").string(), 6, "a plan"), "");
}

TEST(SmallText, IsRefusedByTheNameOfItsFile) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& file, std::size_t most) {
    return reference::refusal_of([&] { return jobs::read_text((folder / file).string(), most, "a plan"); });
  };
  folder.write("long", "seven b");
  EXPECT_TRUE(refused("long", 6).says(ErrorCode::bad_data, "a plan")) << refused("long", 6);
  EXPECT_TRUE(refused("long", 6).says(ErrorCode::bad_data, (folder / "long").string()));
  EXPECT_FALSE(refused("long", 7).refused);
  EXPECT_TRUE(refused("none", 6).says(ErrorCode::bad_data, (folder / "none").string())) << refused("none", 6);
}

}  // namespace
}  // namespace surety::small_text_test
