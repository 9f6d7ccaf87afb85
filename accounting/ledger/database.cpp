#include <surety/accounting/ledger/database.h>

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <surety/accounting/ledger/file_system.h>
#include <surety/accounting/ledger/side_files.h>
#include <surety/accounting/ledger/store.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

/// The calls of this process.
struct Calls {
  explicit Calls(const Calls* inherited)
      : was_forked_amid_one{inherited != nullptr && (inherited->running != 0 || inherited->was_forked_amid_one)} {}
  std::atomic<int> running{0};
  bool was_forked_amid_one;
};

/// The number of the last error of the system on the files of a connection; 0 where there was none.
int last_error_of(sqlite3* handle) {
  int error_number = 0;
  if (handle == nullptr) return 0;
  sqlite3_file_control(handle, "main", SQLITE_FCNTL_LAST_ERRNO, &error_number);
  sqlite3_file* journal = nullptr;
  if (error_number != 0 || sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal) != SQLITE_OK) return error_number;
  // A journal in memory has no such function, and none that is open no functions at all.
  if (journal != nullptr && journal->pMethods != nullptr && journal->pMethods->xFileControl != nullptr) {
    journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &error_number);
  }
  return error_number;
}

/// A journal has to be played back into a ledger that this user may not write.
std::string interrupted_run(const std::string& name) {
  struct stat status {};
  const auto owner = ::stat(name.c_str(), &status) == 0 ? fmt::format("its owner, user {},", user_text(status.st_uid)) : "its owner";
  return fmt::format("a run was interrupted while writing it; {} must open it first", owner);
}

/// Handles that a copy of their process has inherited, kept where a leak checker finds them.
void forget(sqlite3* handle) {
  static auto& inherited = *new std::vector<sqlite3*>;
  inherited.push_back(handle);
}

}  // namespace

DatabaseCall::DatabaseCall() { ++one_of_this_process<Calls>().running; }

DatabaseCall::~DatabaseCall() { --one_of_this_process<Calls>().running; }

/// How long a connection has waited for a lock while nobody else got on.
struct Connection::Wait {
  /// What of a file changes whenever somebody commits to it, or begins to.
  struct Traces {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    std::int64_t size = 0;
    bool has_journal = false;
    friend bool operator==(const Traces&, const Traces&) = default;

    [[nodiscard]] static Traces of(const std::string& name) {
      // Looked at by name: to open and close the file would drop the locks of another copy of SQLite in this process.
      struct stat status {};
      Traces traces;
      if (::stat(name.c_str(), &status) == 0) {
        traces = {.seconds = status.st_mtim.tv_sec, .nanoseconds = status.st_mtim.tv_nsec, .size = status.st_size, .has_journal = false};
      }
      traces.has_journal = ::stat((name + "-journal").c_str(), &status) == 0;
      return traces;
    }
  };

  explicit Wait(sqlite3* handle) {
    if (const char* const file = sqlite3_db_filename(handle, "main"); file != nullptr) name = file;
  }

  std::string name;  ///< where links end, and a journal lies
  Traces last_seen;
  std::chrono::steady_clock::time_point since = {};

  /// SQLite's busy handler: 0 gives up.
  static int again(void* self, int attempts) {
    auto& wait = *static_cast<Wait*>(self);
    const auto now = std::chrono::steady_clock::now();
    if (const auto seen = Traces::of(wait.name); attempts == 0 || seen != wait.last_seen) {
      wait.last_seen = seen;
      wait.since = now;
    } else if (now - wait.since >= patience) {
      return 0;
    }
    unsigned char random = 0;
    sqlite3_randomness(sizeof random, &random);
    std::this_thread::sleep_for(std::chrono::microseconds{500 + 30 * random});
    return 1;
  }
};

Connection::Connection(std::string name, int flags) : name_{std::move(name)} {
  if (one_of_this_process<Calls>().was_forked_amid_one) {
    throw Error{
        ErrorCode::environment,
        fmt::format("cannot use the ledger '{}': this process was made by fork while another thread used a ledger", one_line(name_))};
  }
  const DatabaseCall call;
  // Even a failed open leaves a handle, which holds the reason and has to be closed.
  const int code = sqlite3_open_v2(name_.c_str(), &handle_, flags | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX, ledger_file_system());
  if (code != SQLITE_OK) {
    const std::string reason = handle_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    raise(code, reason);
  }
  wait_ = std::make_unique<Wait>(handle_);
  sqlite3_busy_handler(handle_, &Wait::again, wait_.get());
}

Connection::~Connection() {
  const DatabaseCall call;
  home_.is_here() ? static_cast<void>(sqlite3_close(handle_)) : forget(handle_);
}

void Connection::require(int code) const {
  if (code != SQLITE_OK) raise(code, sqlite3_errmsg(handle_));
}

void Connection::run(const char* sql) const {
  const DatabaseCall call;
  require(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr));
}

void Connection::raise(int code, const std::string& reason) const {
  const auto refusal = taken_refusal();
  switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_NOMEM:
    case SQLITE_NOLFS:
    case SQLITE_PROTOCOL:
      throw Error{ErrorCode::environment, fmt::format("cannot use the ledger '{}': {}", one_line(name_),
                                                      !refusal.empty()                   ? refusal
                                                      : code == SQLITE_READONLY_ROLLBACK ? interrupted_run(name_)
                                                                                         : reason)};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error{ErrorCode::environment,
                  fmt::format("cannot use the ledger '{}': could not get its lock in {} s in which nobody wrote to it", one_line(name_),
                              patience.count())};
    case SQLITE_MISUSE:
    case SQLITE_INTERNAL: throw Error{ErrorCode::internal, fmt::format("misuse of SQLite on '{}': {}", one_line(name_), reason)};
    default: raise_damage(reason);
  }
}

void Connection::raise_damage(const std::string& reason) const {
  if (const int error_number = last_error_of(handle_); error_number != 0) {
    throw Error{ErrorCode::environment, fmt::format("cannot use the ledger '{}': {}", one_line(name_), std::strerror(error_number))};
  }
  damaged(name_, reason);
}

bool Connection::writes_to_the_file() const {
  Statement mode{*this, "PRAGMA journal_mode"};
  return mode.next() && mode.text(0) == "delete";
}

bool Connection::has_write_ahead_log() const { return header_of(handle_).has_write_ahead_log; }

bool Connection::is_of_application(std::uint32_t id) const { return header_of(handle_).application_id == id; }

void Connection::end_write_ahead_log() const {
  const DatabaseCall call;
  // That somebody else uses the log is reported at once, and not a lock that was waited for.
  sqlite3_busy_handler(handle_, nullptr, nullptr);
  // With an exclusive lock SQLite keeps the index of the log in its own memory.
  int code = sqlite3_exec(handle_, "PRAGMA locking_mode = EXCLUSIVE", nullptr, nullptr, nullptr);
  // Before it is read, SQLite does not know that there is a log, and ends none.
  if (code == SQLITE_OK) code = sqlite3_exec(handle_, "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) code = sqlite3_exec(handle_, "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
  if (code == SQLITE_OK && !has_write_ahead_log()) remove_shared_memory(handle_);
  // The lock is released when the next transaction ends.
  sqlite3_exec(handle_, "PRAGMA locking_mode = NORMAL; SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr);
  sqlite3_busy_handler(handle_, &Wait::again, wait_.get());
  if (const auto refusal = taken_refusal(); code != SQLITE_OK && !refusal.empty()) {
    throw Error{ErrorCode::environment, fmt::format("cannot use the ledger '{}': {}", one_line(name_), refusal)};
  }
  if (code == SQLITE_OK && !has_write_ahead_log() && writes_to_the_file()) return;
  throw Error{
      ErrorCode::environment,
      fmt::format(
          "cannot use the ledger '{0}': another program has switched it to a write-ahead log, which cannot be ended now; close that program, or run: sqlite3 '{0}' 'PRAGMA journal_mode = DELETE'",
          one_line(name_))};
}

Statement::Statement(const Connection& connection, std::string_view sql) : connection_{connection} {
  connection.require(sqlite3_prepare_v2(connection.handle(), sql.data(), static_cast<int>(sql.size()), &handle_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::bind(std::int64_t value) {
  connection_.require(sqlite3_bind_int64(handle_, ++bound_, value));
  return *this;
}

Statement& Statement::bind(const std::string& value) {
  connection_.require(sqlite3_bind_text64(handle_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

bool Statement::next() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) connection_.raise(code, sqlite3_errmsg(connection_.handle()));
  return false;
}

void Statement::run() {
  while (next()) {
  }
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  if (bytes == nullptr && sqlite3_errcode(connection_.handle()) == SQLITE_NOMEM) connection_.raise(SQLITE_NOMEM, "out of memory");
  return bytes == nullptr ? std::string{} : std::string{bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

std::int64_t integer_of(const Connection& connection, std::string_view sql) {
  Statement statement{connection, sql};
  if (!statement.next()) damaged(connection.name(), "a table is empty");
  return statement.integer(0);
}

Transaction::Transaction(const Connection& connection, Access access) : connection_{connection} {
  // An earlier one that could not be ended, for want of memory.
  if (sqlite3_get_autocommit(connection.handle()) == 0) connection.run("ROLLBACK");
  // A writer locks at once: what it reads is then still true when it writes.
  connection.run(access == Access::write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  // Some failures (a full disk) have rolled back already, and a second rollback would only report that.
  if (sqlite3_get_autocommit(connection_.handle()) == 0) sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() const { connection_.run("COMMIT"); }

}  // namespace surety::accounting
