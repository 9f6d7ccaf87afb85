#include <surety/accounting/ledger/file_system.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include <support/temporary_folder.h>

namespace surety::accounting::file_locks_test {
namespace {

/// A connection that waits for nothing. `system` is of SQLite's; nothing is the one that everybody gets.
class Database {
 public:
  Database(const std::string& path, const char* system) {
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE, system), SQLITE_OK);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close(handle_); }

  [[nodiscard]] int run(const char* sql) const { return sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) & 0xff; }
  [[nodiscard]] std::string first(const char* sql) const {
    std::string found;
    const auto keep = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0];
      return 0;
    };
    return sqlite3_exec(handle_, sql, keep, &found, nullptr) == SQLITE_OK ? found : sqlite3_errmsg(handle_);
  }
  [[nodiscard]] sqlite3* handle() const { return handle_; }

 private:
  sqlite3* handle_ = nullptr;
};

/// Another process, with SQLite's own locks. It begins before anything of SQLite is open here, of which it would have a copy.
class OtherProcess {
 public:
  explicit OtherProcess(const std::string& path) {
    EXPECT_EQ(::pipe(asked_.data()), 0);
    EXPECT_EQ(::pipe(said_.data()), 0);
    child_ = ::fork();
    if (child_ == 0) answer(path);
    ::close(asked_[0]);
    ::close(said_[1]);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() {
    ::close(asked_[1]);
    ::close(said_[0]);
    ::waitpid(child_, nullptr, 0);
  }

  /// The first value that it finds, or what refused it.
  [[nodiscard]] std::string operator()(const std::string& sql) const {
    const auto text = sql + '\n';
    EXPECT_EQ(::write(asked_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return line_from(said_[0]);
  }

 private:
  static std::string line_from(int end) {
    std::string line;
    for (char byte = 0; ::read(end, &byte, 1) == 1 && byte != '\n';) line += byte;
    return line;
  }

  [[noreturn]] void answer(const std::string& path) const {
    ::alarm(300);
    ::close(asked_[1]);
    ::close(said_[0]);
    for (std::string sql; !(sql = line_from(asked_[0])).empty();) {
      const auto text = Database{path, "unix"}.first(sql.c_str()) + '\n';
      if (::write(said_[1], text.data(), text.size()) != static_cast<ssize_t>(text.size())) break;
    }
    ::_exit(0);
  }

  std::array<int, 2> asked_{};
  std::array<int, 2> said_{};
  pid_t child_ = -1;
};

class FileLocks : public ::testing::Test {
 protected:
  FileLocks() {
    const Database made{create(), ledger_file_system()};
    EXPECT_EQ(made.run("CREATE TABLE t(x); INSERT INTO t VALUES(1)"), SQLITE_OK);
  }
  [[nodiscard]] std::string path() const { return (folder_ / "some.db").string(); }

 private:
  [[nodiscard]] std::string create() const {
    const int descriptor = ::open(path().c_str(), O_CREAT | O_WRONLY, 0600);
    EXPECT_GE(descriptor, 0);
    ::close(descriptor);
    return path();
  }
  TemporaryFolder folder_;

 protected:
  OtherProcess elsewhere{path()};
};

constexpr const char* busy = "database is locked";

// The file systems of SQLite and of ledgers exclude each other, in one process and in two, and a ledger's own connections.
TEST_F(FileLocks, WritersExcludeEachOther) {
  for (const auto& [one, other] : {std::pair{ledger_file_system(), ledger_file_system()}, std::pair{ledger_file_system(), "unix"},
                                   std::pair{"unix", ledger_file_system()}}) {
    const Database writer{path(), one};
    const Database second{path(), other};
    ASSERT_EQ(writer.run("BEGIN IMMEDIATE; INSERT INTO t VALUES(2)"), SQLITE_OK);
    EXPECT_EQ(second.run("BEGIN IMMEDIATE"), SQLITE_BUSY);
    EXPECT_EQ(elsewhere("BEGIN IMMEDIATE"), busy);
    EXPECT_EQ(second.first("SELECT count(*) FROM t"), "1") << "readers need not wait for a writer that has not begun to write the file";
    EXPECT_EQ(writer.run("ROLLBACK"), SQLITE_OK);
    EXPECT_EQ(second.run("BEGIN IMMEDIATE; ROLLBACK"), SQLITE_OK);
    EXPECT_EQ(elsewhere("BEGIN IMMEDIATE; ROLLBACK"), "");
  }
}

TEST_F(FileLocks, AReaderHoldsUpAWritersCommitAndNoNewReaderComesIn) {
  for (const auto& [one, other] : {std::pair{ledger_file_system(), ledger_file_system()}, std::pair{ledger_file_system(), "unix"}}) {
    const Database writer{path(), one};
    const Database reader{path(), other};
    ASSERT_EQ(reader.run("BEGIN; SELECT * FROM t"), SQLITE_OK);
    ASSERT_EQ(writer.run("BEGIN IMMEDIATE; INSERT INTO t VALUES(2)"), SQLITE_OK);
    EXPECT_EQ(writer.run("COMMIT"), SQLITE_BUSY);
    EXPECT_EQ(elsewhere("SELECT count(*) FROM t"), busy) << "the writer waits at the door";
    EXPECT_EQ(Database(path(), ledger_file_system()).run("SELECT * FROM t"), SQLITE_BUSY);
    EXPECT_EQ(reader.run("COMMIT"), SQLITE_OK);
    EXPECT_EQ(writer.run("COMMIT"), SQLITE_OK);
    EXPECT_EQ(reader.first("SELECT count(*) FROM t"), "2");
    EXPECT_EQ(reader.run("DELETE FROM t WHERE x = 2"), SQLITE_OK);
  }
}

// With SQLite's own file system somebody else gets in here.
TEST_F(FileLocks, OutliveWhatOthersCloseInTheProcess) {
  const Database writer{path(), ledger_file_system()};
  ASSERT_EQ(writer.run("BEGIN IMMEDIATE; INSERT INTO t VALUES(2)"), SQLITE_OK);
  ::close(::open(path().c_str(), O_RDONLY | O_CLOEXEC));
  {
    const Database foreign{path(), "unix"};
    EXPECT_EQ(foreign.first("SELECT count(*) FROM t"), "1");
  }
  EXPECT_EQ(elsewhere("BEGIN IMMEDIATE"), busy);
  EXPECT_EQ(writer.run("COMMIT"), SQLITE_OK);
  EXPECT_EQ(elsewhere("SELECT count(*) FROM t"), "2");
}

// The journal of a process that died is rolled back by whoever comes next, also while a copy of that process lives on.
TEST_F(FileLocks, EndWithTheProcessWhateverCopiesOfItLive) {
  std::array<int, 2> ready{};
  std::array<int, 2> held{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  ASSERT_EQ(::pipe(held.data()), 0);
  const pid_t dying = ::fork();
  if (dying == 0) {
    const Database writer{path(), ledger_file_system()};
    // What does not fit into memory is written before the commit, and needs the journal.
    const bool has_written =
        writer.run(
            "PRAGMA cache_size = 1; BEGIN EXCLUSIVE; UPDATE t SET x = 7; INSERT INTO t SELECT zeroblob(4000) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT i FROM n)") ==
        SQLITE_OK;
    if (::fork() == 0) {
      // The copy keeps what it inherited until the test is over.
      ::close(ready[0]);
      ::close(held[1]);
      const bool is_told = ::write(ready[1], has_written ? "y" : "n", 1) == 1;
      ::close(ready[1]);
      char byte = 0;
      _exit(is_told && ::read(held[0], &byte, 1) == 0 ? 0 : 1);
    }
    ::pause();
  }
  ::close(ready[1]);
  char has_written = 'n';
  ASSERT_EQ(::read(ready[0], &has_written, 1), 1);
  EXPECT_EQ(has_written, 'y');
  EXPECT_EQ(::access((path() + "-journal").c_str(), F_OK), 0);
  EXPECT_EQ(elsewhere("SELECT count(*) FROM t"), busy);
  ::kill(dying, SIGKILL);
  ::waitpid(dying, nullptr, 0);
  const Database next{path(), ledger_file_system()};
  EXPECT_EQ(next.first("SELECT group_concat(x) FROM t"), "1");
  EXPECT_EQ(next.first("PRAGMA integrity_check"), "ok");
  EXPECT_NE(::access((path() + "-journal").c_str(), F_OK), 0) << "it was rolled back";
  ::close(ready[0]);
  ::close(held[0]);
  ::close(held[1]);
}

TEST_F(FileLocks, AreToldBySqliteLevelByLevel) {
  const Database writer{path(), ledger_file_system()};
  const auto level = [&] {
    int found = -1;
    EXPECT_EQ(sqlite3_file_control(writer.handle(), "main", SQLITE_FCNTL_LOCKSTATE, &found), SQLITE_OK);
    return found;
  };
  EXPECT_EQ(level(), SQLITE_LOCK_NONE);
  EXPECT_EQ(writer.run("BEGIN; SELECT * FROM t"), SQLITE_OK);
  EXPECT_EQ(level(), SQLITE_LOCK_SHARED);
  EXPECT_EQ(writer.run("INSERT INTO t VALUES(2)"), SQLITE_OK);
  EXPECT_EQ(level(), SQLITE_LOCK_RESERVED);
  EXPECT_EQ(writer.run("ROLLBACK; BEGIN EXCLUSIVE"), SQLITE_OK);
  EXPECT_EQ(level(), SQLITE_LOCK_EXCLUSIVE);
  EXPECT_EQ(writer.run("COMMIT"), SQLITE_OK);
  EXPECT_EQ(level(), SQLITE_LOCK_NONE);
}

TEST_F(FileLocks, AFileThatMayOnlyBeReadIsRead) {
  ASSERT_EQ(::chmod(path().c_str(), 0400), 0);
  sqlite3* reader = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path().c_str(), &reader, SQLITE_OPEN_READONLY, ledger_file_system()), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(reader, "SELECT * FROM t", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_NE(sqlite3_exec(reader, "INSERT INTO t VALUES(2)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(reader);
}

TEST_F(FileLocks, ThereIsOneFileSystem) {
  EXPECT_EQ(ledger_file_system(), ledger_file_system());
  EXPECT_NE(sqlite3_vfs_find(ledger_file_system()), nullptr);
  EXPECT_STREQ(sqlite3_vfs_find(nullptr)->zName, "unix") << "what others open is as before";
  sqlite3* nothing = nullptr;
  EXPECT_EQ(sqlite3_open_v2((path() + "/none").c_str(), &nothing, SQLITE_OPEN_READWRITE, ledger_file_system()), SQLITE_CANTOPEN);
  sqlite3_close(nothing);
}

}  // namespace
}  // namespace surety::accounting::file_locks_test
