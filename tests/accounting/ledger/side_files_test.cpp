// Files that another user places beside a ledger under the names that SQLite uses: nothing of them is read, and nobody waits for them.
#include <surety/accounting/ledger/side_files.h>

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <surety/accounting/ledger/file_system.h>
#include <surety/accounting/ledger/ledger.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::accounting::side_files_test {
namespace {

namespace fs = std::filesystem;

constexpr auto adjacency = Adjacency::replace_one;
constexpr uid_t stranger = 65534;

Plan plan() { return {.event = gaussian(NoiseMultiplier{40}, adjacency)}; }

bool is_superuser() { return ::geteuid() == 0; }

std::string bytes_of(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

void write_bytes(const fs::path& path, const std::string& bytes) { std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes; }

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

/// A rollback journal by which SQLite makes a database what `old` is (https://www.sqlite.org/fileformat2.html#rollbackjournal).
std::string journal_of(const std::string& old) {
  constexpr std::uint32_t nonce = 7;
  constexpr std::uint32_t page_size = 4096;
  const auto pages = static_cast<std::uint32_t>(old.size() / page_size);
  std::string journal = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  for (const std::uint32_t word : {pages, nonce, pages, std::uint32_t{512}, page_size}) journal += big_endian(word);
  journal.resize(512, '\0');
  for (std::uint32_t page = 0; page < pages; ++page) {
    const auto content = old.substr(std::size_t{page} * page_size, page_size);
    std::uint32_t sum = nonce;
    for (int i = static_cast<int>(page_size) - 200; i > 0; i -= 200)
      sum += static_cast<unsigned char>(content[static_cast<std::size_t>(i)]);
    journal += big_endian(page + 1) + content + big_endian(sum);
  }
  return journal;
}

/// A write-ahead log by which a copy of the database loses its last run.
std::string log_of(const fs::path& database, const fs::path& copy) {
  fs::copy_file(database, copy);
  sqlite3* handle = nullptr;
  EXPECT_EQ(sqlite3_open(copy.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, "PRAGMA journal_mode = WAL; DELETE FROM entry WHERE number = (SELECT max(number) FROM entry)", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  auto log = bytes_of(copy.string() + "-wal");
  sqlite3_close(handle);
  fs::remove(copy);
  return log;
}

/// Runs `body` as another user; 99 where it throws, 50 and more with the code of an error.
pid_t start_as_stranger(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(300);
    int code = 99;
    try {
      if (::setgroups(0, nullptr) != 0 || ::setgid(stranger) != 0 || ::setuid(stranger) != 0) ::_exit(98);
      code = body();
    } catch (const Error& error) {
      code = 50 + static_cast<int>(error.code());
    } catch (...) {
    }
    ::_exit(code);
  }
  return child;
}

int as_stranger(const std::function<int()>& body) {
  const pid_t child = start_as_stranger(body);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// Why no other user can be asked here; empty where one can. The folders of a chroot made by `mktemp -d` are closed to others from / on.
std::string why_no_stranger(const fs::path& folder) {
  if (!is_superuser()) return "this process cannot become another user";
  const bool may_enter = as_stranger([&] { return ::access(folder.c_str(), X_OK) == 0 ? 0 : 1; }) == 0;
  return may_enter ? "" : "another user cannot enter the folder of temporary files: it or one above it is closed to others";
}

/// `action` is refused as by the machine, and the message is one line that holds all `words`.
void expect_refused(const std::function<void()>& action, const std::vector<std::string>& words, const std::string& what) {
  const auto refusal = reference::refusal_of([&] { return action(), 0; });
  ASSERT_TRUE(refusal.refused) << what;
  EXPECT_EQ(refusal.code, ErrorCode::environment) << what << ": " << refusal.message;
  for (const auto& word : words)
    EXPECT_NE(refusal.message.find(word), std::string::npos) << what << ": no '" << word << "' in: " << refusal.message;
  EXPECT_EQ(refusal.message.find('\n'), std::string::npos) << what;
}

class SideFiles : public ::testing::Test {
 protected:
  SideFiles() {
    ::umask(022);
    fs::permissions(folder_ / "", fs::perms{01777});
    auto ledger = Ledger::create(path_, adjacency);
    static_cast<void>(ledger.reserve(plan()));
    old_ = bytes_of(path_);
    static_cast<void>(ledger.reserve(plan()));
    now_ = bytes_of(path_);
  }
  ~SideFiles() override { ::umask(022); }

  [[nodiscard]] std::string beside(const std::string& ending) const { return path_.string() + ending; }

  /// What is planted under a name; false where the machine cannot.
  [[nodiscard]] bool plant(const std::string& kind, const std::string& name, uid_t owner, const std::string& content) const {
    const std::string aside = folder_ / "aside";
    if (kind == "FIFO") {
      if (::mkfifo(name.c_str(), 0644) != 0) return false;
    } else if (kind == "folder") {
      if (::mkdir(name.c_str(), 0755) != 0) return false;
    } else {
      const auto target = kind == "symbolic link" || kind == "hard link" ? aside : name;
      write_bytes(target, content);
      if (::chmod(target.c_str(), kind == "more writers" ? 0666 : 0644) != 0 || ::chown(target.c_str(), owner, static_cast<gid_t>(-1)) != 0)
        return false;
      if (kind == "symbolic link" && ::symlink(target.c_str(), name.c_str()) != 0) return false;
      if (kind == "hard link" && ::link(target.c_str(), name.c_str()) != 0) return false;
    }
    return ::lchown(name.c_str(), owner, static_cast<gid_t>(-1)) == 0;
  }
  void remove(const std::string& name) const {
    fs::remove_all(name);
    fs::remove(folder_ / "aside");
  }

  TemporaryFolder folder_;
  fs::path path_ = folder_ / "run.db";
  std::string old_;
  std::string now_;
};

const std::vector<std::string> kinds{"regular", "more writers", "hard link", "symbolic link", "FIFO", "folder"};

// Three names, six kinds, before and after the ledger was opened. A regular file of this user is what a crash leaves; here it holds nothing that
// SQLite takes for a journal.
void plant_each(const std::function<void(const std::string& ending, const std::string& kind, bool is_open)>& plant) {
  for (const std::string ending : {"-journal", "-wal", "-shm"}) {
    for (const auto& kind : kinds) {
      for (const bool is_open : {false, true}) plant(ending, kind, is_open);
    }
  }
}

TEST_F(SideFiles, OfThisUserAreUsedOnlyWhereNobodyElseMayWriteThem) {
  plant_each([&](const std::string& ending, const std::string& kind, bool is_open) {
    const auto what = ending + ", " + kind + (is_open ? ", open" : "");
    std::optional<Ledger> before;
    if (is_open) before.emplace(Ledger::open(path_));
    ASSERT_TRUE(plant(kind, beside(ending), ::geteuid(), "nothing that SQLite reads")) << what;
    const auto use = [&] { EXPECT_EQ((before ? *before : before.emplace(Ledger::open(path_))).runs().size(), 2U) << what; };
    if (kind == "regular") {
      use();
    } else {
      expect_refused(use, {"run.db" + ending}, what);
      if (before) expect_refused([&] { static_cast<void>(before->reserve(plan())); }, {"run.db" + ending}, what);
    }
    before.reset();
    remove(beside(ending));
    EXPECT_EQ(bytes_of(path_), now_) << what;
  });
}

TEST_F(SideFiles, OfAnotherUserAreNotReadWhateverTheyHold) {
  if (!is_superuser()) GTEST_SKIP() << "this process cannot make files of another user";
  const auto log = log_of(path_, folder_ / "copy.db");
  ASSERT_GT(log.size(), 4096U);
  plant_each([&](const std::string& ending, const std::string& kind, bool is_open) {
    const auto what = ending + ", " + kind + (is_open ? ", open" : "");
    std::optional<Ledger> before;
    if (is_open) before.emplace(Ledger::open(path_));
    ASSERT_TRUE(plant(kind, beside(ending), stranger, ending == "-journal" ? journal_of(old_) : log)) << what;
    if (before) {
      expect_refused([&] { static_cast<void>(before->runs()); }, {"run.db" + ending}, what);
      expect_refused([&] { static_cast<void>(before->reserve(plan())); }, {"run.db" + ending}, what);
    }
    expect_refused([&] { static_cast<void>(Ledger::open(path_)); }, {"run.db" + ending}, what);
    expect_refused([&] { static_cast<void>(Ledger::open_or_create(path_, adjacency)); }, {"run.db" + ending}, what);
    before.reset();
    remove(beside(ending));
    EXPECT_EQ(bytes_of(path_), now_) << what;
  });
  EXPECT_EQ(Ledger::open(path_).runs().size(), 2U);
}

// The test above plants what SQLite would obey.
TEST_F(SideFiles, SqliteItselfObeysThem) {
  for (const auto& [ending, content] : {std::pair{"-journal", journal_of(old_)}, std::pair{"-wal", log_of(path_, folder_ / "copy.db")}}) {
    write_bytes(beside(ending), content);
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
    std::string entries;
    const auto keep = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0];
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(handle, "SELECT count(*) FROM entry", keep, &entries, nullptr), SQLITE_OK);
    EXPECT_EQ(entries, "2") << ending << ": of three entries the last is gone";
    sqlite3_close(handle);
    for (const std::string any : {"-journal", "-wal", "-shm"}) fs::remove(beside(any));
    write_bytes(path_, now_);
  }
}

// SQLite follows links, so the names are those beside the file.
TEST_F(SideFiles, BesideWhatALinkLeadsTo) {
  fs::create_directory(folder_ / "links");
  const fs::path link = folder_ / "links/other.db";
  fs::create_symlink(path_, link);
  ASSERT_TRUE(plant("FIFO", link.string() + "-journal", ::geteuid(), ""));
  EXPECT_EQ(Ledger::open(link).runs().size(), 2U) << "a name beside the link means nothing";
  ASSERT_TRUE(plant("FIFO", beside("-journal"), ::geteuid(), ""));
  expect_refused([&] { static_cast<void>(Ledger::open(link)); }, {"run.db-journal", "a FIFO"}, "by a link");
  remove(beside("-journal"));
}

TEST_F(SideFiles, ALedgerHasOneName) {
  auto before = Ledger::open(path_);
  fs::create_hard_link(path_, folder_ / "second.db");
  expect_refused([&] { static_cast<void>(Ledger::open(path_)); }, {"2 names"}, "opened");
  expect_refused([&] { static_cast<void>(Ledger::open(folder_ / "second.db")); }, {"2 names"}, "opened by the other name");
  expect_refused([&] { static_cast<void>(before.reserve(plan())); }, {"2 names"}, "written");
  fs::remove(folder_ / "second.db");
  static_cast<void>(before.reserve(plan()));
  EXPECT_EQ(Ledger::open(path_).runs().size(), 3U);
}

TEST_F(SideFiles, AFifoInPlaceOfALedgerIsNotWaitedFor) {
  fs::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0644), 0);
  sqlite3* handle = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path_.c_str(), &handle, SQLITE_OPEN_READONLY, ledger_file_system()), SQLITE_CANTOPEN);
  sqlite3_close(handle);
}

/// A process that is killed when its journal is on the disk and part of its changes are in the ledger.
void die_while_writing(const fs::path& path) {
  sqlite3* handle = nullptr;
  if (sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE, ledger_file_system()) != SQLITE_OK) ::_exit(97);
  // What does not fit into memory is written before the commit.
  if (sqlite3_exec(
          handle,
          "PRAGMA cache_size = 1; BEGIN IMMEDIATE; DELETE FROM entry; CREATE TABLE t(x); INSERT INTO t SELECT zeroblob(4000) FROM (WITH RECURSIVE "
          "n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT i FROM n)",
          nullptr, nullptr, nullptr) != SQLITE_OK) {
    ::_exit(96);
  }
  ::kill(::getpid(), SIGKILL);
}

TEST_F(SideFiles, TheJournalOfACrashIsPlayedBack) {
  const pid_t child = ::fork();
  if (child == 0) die_while_writing(path_);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  ASSERT_TRUE(fs::exists(beside("-journal")));
  EXPECT_NE(bytes_of(path_), now_);
  EXPECT_EQ(Ledger::open(path_).runs().size(), 2U);
  EXPECT_EQ(bytes_of(path_), now_);
  EXPECT_FALSE(fs::exists(beside("-journal")));
}

// Also where the group of a new file is not the ledger's, and where the superuser writes another user's ledger.
TEST_F(SideFiles, TheJournalOfACrashIsPlayedBackWhoeverOwnsTheLedger) {
  if (const auto why = why_no_stranger(path_.parent_path()); !why.empty()) GTEST_SKIP() << why;
  for (const gid_t group : {gid_t{stranger}, gid_t{100}}) {
    for (const bool crashes_as_stranger : {false, true}) {
      for (const bool recovers_as_stranger : {false, true}) {
        write_bytes(path_, now_);
        ASSERT_EQ(::chown(path_.c_str(), stranger, group), 0);
        ASSERT_EQ(::chmod(path_.c_str(), 0660), 0);
        const auto die = [&] { return die_while_writing(path_), 0; };
        if (crashes_as_stranger) {
          EXPECT_EQ(as_stranger(die), 1000 + SIGKILL);
        } else if (const pid_t child = ::fork(); child == 0) {
          die();
        } else {
          ::waitpid(child, nullptr, 0);
        }
        ASSERT_TRUE(fs::exists(beside("-journal")));
        const auto runs = [&] { return static_cast<int>(Ledger::open(path_).runs().size()); };
        EXPECT_EQ(recovers_as_stranger ? as_stranger(runs) : runs(), 2) << group << crashes_as_stranger << recovers_as_stranger;
        EXPECT_EQ(bytes_of(path_), now_);
      }
    }
  }
}

// The other members cannot know whether the journal is real. Its owner can.
TEST_F(SideFiles, InASharedLedgerTheOwnerOfTheJournalIsNamed) {
  if (const auto why = why_no_stranger(path_.parent_path()); !why.empty()) GTEST_SKIP() << why;
  ASSERT_EQ(::chown(path_.c_str(), 0, stranger), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0660), 0);
  EXPECT_EQ(as_stranger([&] { return die_while_writing(path_), 0; }), 1000 + SIGKILL);
  ASSERT_TRUE(fs::exists(beside("-journal")));
  const auto user = user_text(stranger);
  expect_refused([&] { static_cast<void>(Ledger::open(path_)); },
                 {"run.db-journal", "belongs to user " + user, "user " + user + " must open the ledger"}, "by root");
  EXPECT_EQ(as_stranger([&] { return static_cast<int>(Ledger::open(path_).runs().size()); }), 2);
  EXPECT_EQ(Ledger::open(path_).runs().size(), 2U);
}

// Who may only read a ledger cannot end an interrupted run.
TEST_F(SideFiles, AReaderIsToldWhoMustOpenTheLedger) {
  if (const auto why = why_no_stranger(path_.parent_path()); !why.empty()) GTEST_SKIP() << why;
  const pid_t child = ::fork();
  if (child == 0) die_while_writing(path_);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(
      as_stranger([&] {
        expect_refused([&] { static_cast<void>(Ledger::open(path_)); }, {"interrupted", "its owner, user " + user_text(0)}, "a reader");
        return HasFailure() ? 1 : 0;
      }),
      0);
}

// A journal of somebody who writes now is not one of a crash.
TEST_F(SideFiles, ASharedLedgerIsReadWhileAnotherUserWrites) {
  if (const auto why = why_no_stranger(path_.parent_path()); !why.empty()) GTEST_SKIP() << why;
  ASSERT_EQ(::chown(path_.c_str(), 0, stranger), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0660), 0);
  std::array<int, 2> writes{};
  std::array<int, 2> may_end{};
  ASSERT_EQ(::pipe(writes.data()), 0);
  ASSERT_EQ(::pipe(may_end.data()), 0);
  std::thread other{[&] {
    EXPECT_EQ(as_stranger([&] {
                sqlite3* handle = nullptr;
                if (sqlite3_open_v2(path_.c_str(), &handle, SQLITE_OPEN_READWRITE, ledger_file_system()) != SQLITE_OK) return 1;
                if (sqlite3_exec(handle, "BEGIN IMMEDIATE; UPDATE head SET entries = 30", nullptr, nullptr, nullptr) != SQLITE_OK) return 2;
                char byte = 'w';
                if (::write(writes[1], &byte, 1) != 1 || ::read(may_end[0], &byte, 1) != 1) return 3;
                return sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK ? 0 : 4;
              }),
              0);
  }};
  char byte = 0;
  EXPECT_EQ(::read(writes[0], &byte, 1), 1);
  EXPECT_TRUE(fs::exists(beside("-journal")));
  EXPECT_EQ(Ledger::open(path_).runs().size(), 2U);
  EXPECT_EQ(::write(may_end[1], &byte, 1), 1);
  other.join();
  for (const int end : {writes[0], writes[1], may_end[0], may_end[1]}) ::close(end);
}

// Whoever looks when one transaction has ended and the next has begun sees two journals.
TEST_F(SideFiles, ASharedLedgerIsReadBetweenTheTransactionsOfAnotherUser) {
  if (const auto why = why_no_stranger(path_.parent_path()); !why.empty()) GTEST_SKIP() << why;
  ASSERT_EQ(::chown(path_.c_str(), 0, stranger), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0660), 0);
  const pid_t other = start_as_stranger([&] {
    auto ledger = Ledger::open(path_);
    for (int run = 0; run < 100; ++run) static_cast<void>(ledger.reserve(plan()));
    return 0;
  });
  auto mine = Ledger::open(path_);
  int status = -1;
  for (int i = 0; ::waitpid(other, &status, WNOHANG) == 0; ++i) {
    EXPECT_GE(mine.runs().size(), 2U);
    if (i % 10 == 0) static_cast<void>(mine.reserve(plan()));
  }
  EXPECT_EQ(status, 0);
  EXPECT_GT(mine.runs().size(), 102U);
}

// Another user may have given the journal of a commit a second name, in a folder of his own, and move it back later.
TEST_F(SideFiles, AJournalHoldsNothingOnceItHasServed) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open_v2(path_.c_str(), &handle, SQLITE_OPEN_READWRITE, ledger_file_system()), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "PRAGMA synchronous = EXTRA; BEGIN IMMEDIATE; UPDATE head SET entries = 30", nullptr, nullptr, nullptr),
            SQLITE_OK);
  fs::create_hard_link(beside("-journal"), folder_ / "kept");
  EXPECT_GT(fs::file_size(folder_ / "kept"), 0U);
  EXPECT_EQ(sqlite3_exec(handle, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  EXPECT_EQ(fs::file_size(folder_ / "kept"), 0U);
  EXPECT_FALSE(fs::exists(beside("-journal")));
}

// Whoever compares a name, and then opens it, opens another file now and then.
TEST_F(SideFiles, WhatWasComparedIsWhatIsRead) {
  const DatabaseFile ledger = [&] {
    DatabaseFile file{.descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC), .status = {}};
    EXPECT_EQ(::fstat(file.descriptor, &file.status), 0);
    return file;
  }();
  const auto name = beside("-journal");
  const std::string good = folder_ / "good";
  const std::string bad = folder_ / "bad";
  write_bytes(good, "good");
  ASSERT_TRUE(plant("more writers", bad, ::geteuid(), "bad"));
  fs::rename(good, name);
  std::atomic<bool> is_over = false;
  std::thread other{[&] {
    // Exchanges the two, so that each has one name at all times.
    while (!is_over) ::renameat2(AT_FDCWD, name.c_str(), AT_FDCWD, bad.c_str(), RENAME_EXCHANGE);
  }};
  int opened = 0;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto found = open_side_file(ledger, name, SideFileUse::write);
    if (found.descriptor < 0) {
      ++refused;
      EXPECT_NE(found.reason.find("may be written by users"), std::string::npos) << found.reason;
      continue;
    }
    ++opened;
    std::array<char, 4> bytes{};
    EXPECT_EQ(::pread(found.descriptor, bytes.data(), bytes.size(), 0), 4);
    EXPECT_EQ(std::string(bytes.data(), 4), "good");
    ::close(found.descriptor);
    if (HasFailure()) break;
  }
  is_over = true;
  other.join();
  ::close(ledger.descriptor);
  EXPECT_GT(opened, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace surety::accounting::side_files_test
