// The file system that SQLite uses for ledgers: SQLite's "unix" with three differences.
//
//   * Locks are those of the open file (file_locks.h).
//   * What lies beside a ledger is read and written only where it is trusted (side_files.h), by the descriptor that was compared.
//   * A write-ahead log has no index in shared memory: SQLite uses such a log with an exclusive lock or not at all.
//
// A ledger's own file must be a regular file with one name. With a second name a crash under one name would leave a journal that is not seen
// under the other.
#pragma once

#include <cstdint>
#include <string>

struct sqlite3;

namespace surety::accounting {

/// The name of SQLite's file system for ledgers, for sqlite3_open_v2. It opens databases that are there and makes none. It is made at the first
/// call; every copy of this library in a process has its own. A copy of the process made by fork closes its descriptors at once, so that no lock of
/// the other lives on in it.
/// \throws Error{environment} where SQLite has no file system "unix", or no memory.
[[nodiscard]] const char* ledger_file_system();

/// Why a call of this thread into SQLite failed, where the file system knows more than SQLite's code says; empty otherwise. Taken once.
[[nodiscard]] std::string taken_refusal();

/// What the first page of a database says, without a lock.
struct DatabaseHeader {
  bool has_write_ahead_log = false;  ///< the page says so, or there is one
  std::uint32_t application_id = 0;
};
/// \pre `connection` uses the file system of ledgers. Zeros where the file cannot be read, which the next statement reports.
[[nodiscard]] DatabaseHeader header_of(sqlite3* connection);

/// Removes the index in shared memory that another program has left beside the database. \pre this connection holds an exclusive lock.
void remove_shared_memory(sqlite3* connection);

}  // namespace surety::accounting
