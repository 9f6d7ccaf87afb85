// The SHA-256 of a file, against published values (FIPS 180-2, appendix B).
#include <surety/jobs/report/file_checksum.h>

#include <gtest/gtest.h>

#include <string>

#include <surety/base/text/error.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::file_checksum_test {
namespace {

TEST(FileChecksum, IsThePublishedOne) {
  const TemporaryFolder folder;
  const auto of = [&](const std::string& text) { return jobs::sha256_of_file(folder.write("file", text)); };
  EXPECT_EQ(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  // More than a block.
  EXPECT_EQ(of(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(FileChecksum, RefusesAFileThatCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::sha256_of_file(folder / "none")); }, ErrorCode::environment, {"none"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::sha256_of_file(folder / ".")); }, ErrorCode::environment, {"directory"}));
}

}  // namespace
}  // namespace surety::file_checksum_test
