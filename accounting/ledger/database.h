// SQLite as the ledger uses it: one connection to a database file, its statements and its transactions. For use by the ledger.
//
// Waiting for a lock is fair enough for many writers: each tries again after a few milliseconds, chosen at random, however long it has
// waited, so the next turn is anybody's; SQLite's own waiting lets newcomers try more often than those that have waited long. Who waits
// gives up when nobody has written to the file for ten seconds, not when the queue is long.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <surety/base/system/home_process.h>

struct sqlite3;
struct sqlite3_stmt;

namespace surety::accounting {

/// Counts the calls of this process into SQLite, so that a copy of it made by fork in the middle of one knows that what it inherited of
/// SQLite is in an unknown state.
class DatabaseCall {
 public:
  DatabaseCall();
  DatabaseCall(const DatabaseCall&) = delete;
  DatabaseCall& operator=(const DatabaseCall&) = delete;
  ~DatabaseCall();
};

/// One connection to a database; closed on destruction. Neither copied nor moved.
///
/// In a copy of its process it is forgotten, not closed: closing would roll back what the other process is writing.
class Connection {
 public:
  static constexpr std::chrono::seconds patience{10};

  /// \throws Error{environment}, also in a process that was made by fork while another thread was within a call; Error{damaged_ledger}.
  Connection(std::string name, int flags);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  [[nodiscard]] sqlite3* handle() const { return handle_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  void require(int code) const;
  void run(const char* sql) const;
  /// Our statements are fixed and fit our schema. What SQLite cannot make sense of is therefore the file's fault, unless the machine failed to
  /// hand it out.
  [[noreturn]] void raise(int code, const std::string& reason) const;
  /// \throws Error{environment} when the system has refused to read or write the file, its journal included, since it was opened; otherwise
  ///         Error{damaged_ledger} with `reason`. SQLite itself calls a page that a disk fails to hand out a malformed database.
  [[noreturn]] void raise_damage(const std::string& reason) const;

  /// Whether a change of the database goes to the file itself, and not to a log beside it that a copy of the file lacks.
  [[nodiscard]] bool writes_to_the_file() const;
  /// Whether another program has asked for a write-ahead log, or has left one; as seen without a lock.
  [[nodiscard]] bool has_write_ahead_log() const;
  /// Whether the first page names this application; as seen without a lock.
  [[nodiscard]] bool is_of_application(std::uint32_t id) const;
  /// Takes the log that another program has asked for into the file, durably, and ends it. \pre outside a transaction.
  /// \throws Error{environment} when somebody uses that log, or the file may not be written.
  void end_write_ahead_log() const;

 private:
  struct Wait;

  std::string name_;
  HomeProcess home_;
  sqlite3* handle_ = nullptr;
  std::unique_ptr<Wait> wait_;
};

/// One prepared statement. Parameters are given once, in order; rows are read one after the other.
class Statement {
 public:
  Statement(const Connection& connection, std::string_view sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  Statement& bind(std::int64_t value);
  Statement& bind(const std::string& value);

  /// Moves to the next row; false after the last one.
  bool next();
  void run();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  DatabaseCall call_;
  const Connection& connection_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

/// The first column of the first row.
[[nodiscard]] std::int64_t integer_of(const Connection& connection, std::string_view sql);

/// A transaction that is undone unless it was committed.
class Transaction {
 public:
  enum class Access { read, write };

  Transaction(const Connection& connection, Access access);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit() const;

 private:
  DatabaseCall call_;
  const Connection& connection_;
};

}  // namespace surety::accounting
