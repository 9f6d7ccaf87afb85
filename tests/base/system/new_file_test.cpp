#include <surety/base/system/new_file.h>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::accounting::new_file_test {
namespace {

namespace fs = std::filesystem;
using Method = NewFile::Method;

/// Of what these tests write, all is of one kind.
constexpr FileKind any{"anything", ""};

std::string content(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Both ways in which a file can be in the making: the one that the file system of the test offers, and the other.
class NewFileTest : public ::testing::TestWithParam<Method> {
 protected:
  [[nodiscard]] std::unique_ptr<NewFile> start(const std::string& name, std::uint64_t space = 100) const {
    return std::make_unique<NewFile>(Place{folder_ / name}, space, GetParam());
  }
  [[nodiscard]] std::size_t names() const {
    const fs::directory_iterator files{folder_ / ""};
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }
  /// How a child ends that does this.
  static int status_of(const std::function<void()>& action) {
    const pid_t child = ::fork();
    if (child == 0) {
      action();
      ::_exit(7);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }

  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(, NewFileTest, ::testing::Values(Method::nameless, Method::named),
                         [](const auto& tested) { return tested.param == Method::named ? "Named" : "Nameless"; });

TEST_P(NewFileTest, AppearsWholeOrNotAtAll) {
  for (const bool is_replacing : {false, true}) {
    const auto path = folder_.write("old", "old");
    fs::create_hard_link(path, folder_ / "other_name_of_old");
    const auto file = start(is_replacing ? "old" : "new");
    EXPECT_EQ(names(), file->method() == Method::named ? 3U : 2U);
    file->write("one, ");
    file->write("two");
    EXPECT_FALSE(fs::exists(folder_ / "new"));
    EXPECT_EQ(content(path), "old");
    if (is_replacing) {
      file->replace(any, Overwrite::own_kind_alone);
      EXPECT_EQ(content(path), "one, two");
    } else {
      EXPECT_TRUE(file->put_where_nothing_is());
      EXPECT_EQ(content(folder_ / "new"), "one, two");
      fs::remove(folder_ / "new");
    }
    EXPECT_EQ(content(folder_ / "other_name_of_old"), "old");
    EXPECT_EQ(names(), 2U);
    fs::remove(folder_ / "other_name_of_old");
  }
}

TEST_P(NewFileTest, ReplacesNothingWhereItMayNot) {
  const auto file = start("taken");
  file->write("new");
  const auto path = folder_.write("taken", "old");  // by somebody else, meanwhile
  EXPECT_FALSE(file->put_where_nothing_is());
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(names(), 1U);
}

TEST_P(NewFileTest, LeavesNothingWhenItIsGivenUp) {
  const auto path = folder_.write("model", "old");
  start("model")->write("unfinished");
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(names(), 1U);
}

// Two containers may see one folder and have the same process number.
TEST_P(NewFileTest, TwoOfOneNameAndOneProcessNumberDoNotDisturbEachOther) {
  const auto first = start("model");
  const auto second = start("model");
  first->write("first");
  second->write("second");
  first->replace(any, Overwrite::own_kind_alone);
  EXPECT_EQ(content(folder_ / "model"), "first");
  second->replace(any, Overwrite::own_kind_alone);
  EXPECT_EQ(content(folder_ / "model"), "second");
  EXPECT_EQ(names(), 1U);
}

TEST_P(NewFileTest, ReplacesWhatALinkLeadsToAndKeepsTheLink) {
  fs::create_directory(folder_ / "elsewhere");
  folder_.write("elsewhere/model", "old");
  fs::create_symlink("elsewhere/model", folder_ / "link");
  fs::create_symlink("elsewhere/new", folder_ / "dangling");
  for (const auto& [link, target] : {std::pair{"link", "elsewhere/model"}, {"dangling", "elsewhere/new"}}) {
    const auto file = start(link);
    file->write("new");
    file->replace(any, Overwrite::own_kind_alone);
    EXPECT_TRUE(fs::is_symlink(folder_ / link));
    EXPECT_EQ(content(folder_ / target), "new");
  }
}

TEST_P(NewFileTest, HasThePermissionsThatTheUmaskLeaves) {
  const mode_t before = ::umask(027);
  const auto file = start("model");
  file->replace(any, Overwrite::own_kind_alone);
  ::umask(before);
  EXPECT_EQ(fs::status(folder_ / "model").permissions(), fs::perms{0640});
}

TEST_P(NewFileTest, MayBeItsOwnersAlone) {
  NewFile file{Place{folder_ / "model"}, 0, GetParam(), NewFile::Readers::owner_alone};
  file.replace(any, Overwrite::own_kind_alone);
  EXPECT_EQ(fs::status(folder_ / "model").permissions(), fs::perms{0600});
}

TEST_P(NewFileTest, StaysInTheFolderThatWasMeant) {
  fs::create_directory(folder_ / "models");
  const Place place{folder_ / "models/model"};
  fs::rename(folder_ / "models", folder_ / "away");
  fs::create_directory(folder_ / "models");
  EXPECT_TRUE(refuses([&] { NewFile(place, 1, GetParam()); }, ErrorCode::environment, {"models/model"}));
  const auto file = start("away/model");
  fs::rename(folder_ / "away", folder_ / "further");
  file->replace(any, Overwrite::own_kind_alone);
  EXPECT_TRUE(fs::exists(folder_ / "further/model"));
}

TEST_P(NewFileTest, IsRemovedByTheSignalsThatEndAProcess) {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU}) {
    const int status = status_of([&] {
      remove_new_files_on_signals();
      const auto first = start("a");
      const auto second = start("b");
      ::raise(signal);
    });
    EXPECT_TRUE(WIFSIGNALED(status)) << signal;
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_EQ(names(), 0U) << signal;
  }
  const int ignored = status_of([&] {
    ::signal(SIGHUP, SIG_IGN);
    remove_new_files_on_signals();
    ::raise(SIGHUP);
  });
  EXPECT_EQ(WEXITSTATUS(ignored), 7) << "nohup";
}

TEST_P(NewFileTest, IsLeftByAKillOnlyWhereItNeedsAName) {
  Method method{};
  const int status = status_of([&] {
    const auto file = start("model");
    ::raise(SIGKILL);
  });
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  method = start("model")->method();
  EXPECT_EQ(names(), method == Method::named ? 1U : 0U);
}

// A child that ends, or is ended, takes nothing from its parent.
TEST_P(NewFileTest, BelongsToTheProcessThatMadeIt) {
  auto file = start("model");
  file->write("of the parent");
  status_of([&] { file.reset(); });
  const int status = status_of([] {
    remove_new_files_on_signals();
    ::raise(SIGTERM);
  });
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  file->replace(any, Overwrite::own_kind_alone);
  EXPECT_EQ(content(folder_ / "model"), "of the parent");
}

}  // namespace
}  // namespace surety::accounting::new_file_test
