#include <surety/base/system/place.h>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <support/path_spellings.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::accounting::place_test {
namespace {

namespace fs = std::filesystem;
using Holds = Place::Holds;

/// A folder that is the working directory as long as the test runs.
class PlaceTest : public ::testing::Test {
 protected:
  PlaceTest() : before_{fs::current_path()} {
    fs::current_path(folder_ / "");
    fs::create_directories("sub/deep");
    fs::create_directories("ünïcødé");
  }
  ~PlaceTest() override { fs::current_path(before_); }

  static Holds holds(const std::string& path) { return Place{path}.holds(); }

  TemporaryFolder folder_;

 private:
  fs::path before_;
};

/// One way to write a path, and the file that it means.
struct Spelling {
  std::string text;
  std::size_t meant;
};

std::vector<std::string> spellings(const std::string& folder, const std::string& name, const std::string& tag) {
  return path_spellings(fs::current_path().string(), folder, name, tag);
}

TEST_F(PlaceTest, IsOneForAllWaysToWriteAPathAndAnotherForEveryOtherFile) {
  // Files that exist and that do not, of equal names in different folders, one with two names, some with names that need care.
  struct Meant {
    std::string folder;
    std::string name;
    bool exists;
  };
  const std::vector<Meant> files{
      {"sub", "data.csv", true}, {"sub/deep", "data.csv", true},   {"sub", "new.db", false},  {"sub/deep", "new.db", false},
      {"sub", "new.db ", false}, {"ünïcødé", "mödel.json", false}, {"sub", "a\nb\xff", true}, {"sub", "-", false},
      {"sub", "...", false}};
  std::vector<Spelling> all;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string plain = files[i].folder + "/" + files[i].name;
    if (files[i].exists) folder_.write(plain, plain);
    for (const auto& text : spellings(files[i].folder, files[i].name, std::to_string(i))) all.push_back({text, i});
  }
  fs::create_hard_link("sub/data.csv", "ünïcødé/twin.csv");
  for (const auto& text : spellings("ünïcødé", "twin.csv", "twin")) all.push_back({text, 0});

  std::vector<Place> places;
  for (const auto& spelling : all) places.emplace_back(spelling.text);
  ASSERT_GE(places.size(), 140U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(places[i].holds(), files[all[i].meant].exists ? Holds::file : Holds::nothing) << all[i].text;
    for (std::size_t j = 0; j < all.size(); ++j) {
      EXPECT_EQ(is_same(places[i], places[j]), all[i].meant == all[j].meant) << all[i].text << "\n" << all[j].text;
    }
  }
}

// The places that were one while nothing was there are the file when it is made through any of them.
TEST_F(PlaceTest, OfANewNameIsWhereTheKernelMakesTheFile) {
  for (const auto& text : spellings("sub", "made.db", "made")) {
    fs::remove("sub/made.db");
    const Place before{text};
    ASSERT_EQ(before.holds(), Holds::nothing) << text;
    const int file = ::open(text.c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_GE(file, 0) << text;
    EXPECT_EQ(Place::of_open_file(file).value().holds(), Holds::file);
    EXPECT_TRUE(is_same(*Place::of_open_file(file), Place{before.path()})) << text;
    ::close(file);
    EXPECT_TRUE(is_same(before, Place{"sub/made.db"})) << text;
  }
}

TEST_F(PlaceTest, SaysWhatIsThere) {
  folder_.write("file", "x");
  ASSERT_EQ(::mkfifo("pipe", 0600), 0);
  fs::create_symlink("pipe", "to_pipe");
  fs::create_symlink("nowhere/at/all", "into_nothing");
  fs::create_symlink("circle", "circle");
  fs::create_symlink("sub/", "with_slash");
  EXPECT_EQ(holds("file"), Holds::file);
  for (const char* text : {".", "..", "/", "sub", "sub/", "sub/.", "sub/deep/..", "with_slash", "//", "/tmp/"})
    EXPECT_EQ(holds(text), Holds::folder) << text;
  for (const char* text : {"/dev/null", "/dev/full", "/dev/tty", "pipe", "to_pipe", "/proc/self/comm"})
    EXPECT_EQ(holds(text), Holds::other) << text;
  for (const char* text : {"no/such/file", "file/below", "file/", "new/", "into_nothing", "circle", "circle/x", "no/.."}) {
    EXPECT_EQ(holds(text), Holds::unreachable) << text;
    EXPECT_FALSE(Place{text}.reason().empty()) << text;
  }
  EXPECT_EQ(holds(std::string(300, 'x')), Holds::unreachable);
  EXPECT_EQ(holds(std::string(100'000, 'x')), Holds::unreachable);
  EXPECT_TRUE(refuses([] { Place{""}; }, ErrorCode::invalid_argument, {"''", "must name a file"}));
  EXPECT_TRUE(refuses([] { Place{std::string("a\0b", 3)}; }, ErrorCode::invalid_argument, {"zero byte"}));
}

// /dev/stdout is a link to a link whose text names the file that is open, or names one that is gone.
TEST_F(PlaceTest, KnowsAnOpenFileButDoesNotTakeItForItsName) {
  const int file = ::open("opened", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  const Place by_number{"/proc/self/fd/" + std::to_string(file)};
  EXPECT_EQ(by_number.holds(), Holds::other);
  EXPECT_TRUE(is_same(by_number, Place{"opened"}));
  EXPECT_TRUE(is_same(by_number, Place::of_open_file(file).value()));
  fs::create_symlink("/proc/self/fd/" + std::to_string(file), "to_opened");
  EXPECT_EQ(holds("to_opened"), Holds::other);
  EXPECT_TRUE(is_same(Place{"to_opened"}, Place{"opened"}));
  fs::rename("opened", "moved");
  EXPECT_TRUE(is_same(Place{"/dev/fd/" + std::to_string(file)}, Place{"moved"}));
  ::close(file);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  EXPECT_FALSE(Place::of_open_file(pipe[0]).has_value());
  EXPECT_EQ(holds("/proc/self/fd/" + std::to_string(pipe[0])), Holds::other);
  for (const int end : pipe) ::close(end);
  EXPECT_FALSE(Place::of_open_file(-1).has_value());
}

TEST_F(PlaceTest, TakesNewNamesOfAnotherCaseForTheSame) {
  EXPECT_TRUE(is_same(Place{"run.db"}, Place{"Run.DB"}));
  EXPECT_FALSE(is_same(Place{"run.db"}, Place{"sub/Run.DB"}));
  folder_.write("run.db", "x");
  EXPECT_FALSE(is_same(Place{"run.db"}, Place{"Run.DB"}));
}

TEST_F(PlaceTest, BesideIsInTheFolderWhereLinksEnd) {
  fs::create_symlink("sub/run.db", "link.db");
  EXPECT_TRUE(is_same(Place{"link.db"}.beside("-wal"), Place{"sub/run.db-wal"}));
  EXPECT_FALSE(is_same(Place{"link.db"}.beside("-wal"), Place{"link.db-wal"}));
  fs::create_symlink("../model.json", "sub/run.db-journal");
  EXPECT_TRUE(is_same(Place{"link.db"}.beside("-journal"), Place{"model.json"}));
}

/// What `action` does as a user without rights: whether it returned true.
bool as_nobody(const std::function<bool()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_nobody = ::setgid(65534) == 0 && ::setuid(65534) == 0;
    ::_exit(is_nobody && action() ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

constexpr FileKind note{"a note", "note:"};

void require_replaceable(const Place& place) { require_replaceable(place, note, Overwrite::any_kind); }

TEST_F(PlaceTest, RefusesWhatCouldNotBeReplacedBeforeAnybodyTries) {
  EXPECT_NO_THROW(require_replaceable(Place{"new"}));
  EXPECT_NO_THROW(require_replaceable(Place{folder_.write("old", "x").string()}));
  EXPECT_TRUE(refuses([] { require_replaceable(Place{"sub"}); }, ErrorCode::invalid_argument, {"'sub' is a folder", "regular file"}));
  EXPECT_TRUE(refuses([] { require_replaceable(Place{"/dev/null"}); }, ErrorCode::invalid_argument, {"/dev/null", "device"}));
  EXPECT_TRUE(refuses([] { require_replaceable(Place{"no/file"}); }, ErrorCode::environment, {"no/file", "No such file"}));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  fs::permissions(".", fs::perms::all);
  const auto refused = [](const char* path, ErrorCode code, std::string_view word) {
    return as_nobody([&] { return static_cast<bool>(refuses([&] { require_replaceable(Place{path}); }, code, {word})); });
  };
  // Somebody else's folder; in a shared one somebody else's file, and somebody else's link.
  EXPECT_TRUE(refused("sub/new", ErrorCode::environment, "Permission denied"));
  EXPECT_FALSE(refused("old", ErrorCode::environment, "another user's"));
  ASSERT_EQ(::chmod(".", 01777), 0);
  EXPECT_TRUE(refused("old", ErrorCode::environment, "another user's"));
  fs::create_symlink("sub/planted", "trap");
  ASSERT_EQ(::lchown("trap", 12345, 12345), 0);
  EXPECT_EQ(holds("trap"), Holds::unreachable);
  ASSERT_EQ(::lchown("trap", ::geteuid(), 0), 0);
  EXPECT_EQ(holds("trap"), Holds::nothing);
}

TEST_F(PlaceTest, IsReplacedByItsOwnKindAlone) {
  const auto refused = [&](const std::string& text, Overwrite overwrite, std::string_view word) {
    folder_.write("old", text);
    return refuses([&] { require_replaceable(Place{"old"}, note, overwrite); }, ErrorCode::invalid_argument, {"'old'", word});
  };
  const std::string database{"SQLite format 3\0", 16};
  for (const std::string& text : {std::string{}, std::string{"note:"}, std::string{"note: buy milk"}}) {
    EXPECT_FALSE(refused(text, Overwrite::own_kind_alone, "")) << text;
  }
  for (const std::string& text : {std::string{"not"}, std::string{" note:"}, database.substr(0, 15), std::string(100, '\0')}) {
    EXPECT_TRUE(refused(text, Overwrite::own_kind_alone, "does not hold a note")) << text;
    EXPECT_FALSE(refused(text, Overwrite::any_kind, "")) << text;
  }
  for (const auto overwrite : {Overwrite::own_kind_alone, Overwrite::any_kind}) {
    for (const std::string& text : {database, database + "note:"}) EXPECT_TRUE(refused(text, overwrite, "SQLite database")) << text;
    for (const char* beside : {"old-journal", "old-wal"}) {
      const auto side = folder_.write(beside, "");
      EXPECT_TRUE(refused("note:", overwrite, beside));
      fs::remove("old");
      EXPECT_TRUE(refuses([&] { require_replaceable(Place{"old"}, note, overwrite); }, ErrorCode::invalid_argument, {beside}));
      fs::remove(side);
    }
  }
}

}  // namespace
}  // namespace surety::accounting::place_test
