// What comes under the name of an output between the last look at it and the system call that takes the name. This program puts it there itself:
// it replaces renameat2.
#include <surety/base/system/new_file.h>

#include <gtest/gtest.h>

#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace {

/// What happens before the next exchange, once.
std::function<void()> meanwhile;  // NOLINT: a function of the C library has no other way to know it
bool knows_exchange = true;       // NOLINT

}  // namespace

extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (flags == RENAME_EXCHANGE) {
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    if (!knows_exchange) {
      errno = EINVAL;
      return -1;
    }
  }
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

namespace surety::accounting::exchange_test {
namespace {

namespace fs = std::filesystem;

constexpr FileKind kind{"a note", "note:"};
const std::string database = std::string{"SQLite format 3\0", 16} + "and what was released";

std::string content(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

class Exchange : public ::testing::TestWithParam<NewFile::Method> {
 protected:
  Exchange() {
    knows_exchange = true;
    folder_.write("name", "note: old");
  }
  /// Replaces "name" by a note, after `action` at the last moment.
  void replace(std::function<void()> action, Overwrite overwrite = Overwrite::own_kind_alone) {
    NewFile file{Place{folder_ / "name"}, 0, GetParam()};
    file.write("note: new");
    meanwhile = std::move(action);
    file.replace(kind, overwrite);
  }
  /// Puts a file of this content under the name, as others do: whole.
  void put(const std::string& text) const {
    folder_.write("elsewhere", text);
    fs::rename(folder_ / "elsewhere", folder_ / "name");
  }
  [[nodiscard]] std::size_t names() const {
    const fs::directory_iterator files{folder_ / ""};
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(, Exchange, ::testing::Values(NewFile::Method::nameless, NewFile::Method::named),
                         [](const auto& tested) { return tested.param == NewFile::Method::named ? "Named" : "Nameless"; });

TEST_P(Exchange, ReplacesWhatItMay) {
  replace({});
  EXPECT_EQ(content(folder_ / "name"), "note: new");
  replace([&] { put("note: of another process"); });
  EXPECT_EQ(content(folder_ / "name"), "note: new");
  EXPECT_EQ(names(), 1U);
}

TEST_P(Exchange, PutsBackALedgerThatCameAtTheLastMoment) {
  for (const auto overwrite : {Overwrite::own_kind_alone, Overwrite::any_kind}) {
    folder_.write("name", "note: old");
    EXPECT_TRUE(refuses([&] { replace([&] { put(database); }, overwrite); }, ErrorCode::invalid_argument, {"name' is an SQLite database"}));
    EXPECT_EQ(content(folder_ / "name"), database);
    EXPECT_EQ(names(), 1U);
    fs::remove(folder_ / "name");
  }
}

TEST_P(Exchange, PutsBackAFolderAndWhatIsOfAnotherKind) {
  EXPECT_TRUE(refuses([&] { replace([&] { put("a text"); }); }, ErrorCode::invalid_argument, {"does not hold a note"}));
  EXPECT_EQ(content(folder_ / "name"), "a text");
  folder_.write("name", "note: old");
  const auto make_folder = [&] {
    fs::remove(folder_ / "name");
    fs::create_directory(folder_ / "name");
  };
  EXPECT_TRUE(refuses([&] { replace(make_folder); }, ErrorCode::invalid_argument, {"no regular file"}));
  EXPECT_TRUE(fs::is_directory(folder_ / "name"));
  EXPECT_EQ(names(), 1U);
}

TEST_P(Exchange, TakesTheNameOfWhatIsGone) {
  replace([&] { fs::remove(folder_ / "name"); });
  EXPECT_EQ(content(folder_ / "name"), "note: new");
  EXPECT_EQ(names(), 1U);
}

TEST_P(Exchange, IsNotNeeded) {
  knows_exchange = false;
  replace({});
  EXPECT_EQ(content(folder_ / "name"), "note: new");
  put(database);
  EXPECT_TRUE(refuses([&] { replace({}, Overwrite::any_kind); }, ErrorCode::invalid_argument, {"is an SQLite database"}));
  EXPECT_EQ(content(folder_ / "name"), database);
  EXPECT_EQ(names(), 1U);
}

}  // namespace
}  // namespace surety::accounting::exchange_test
