// The locks by which SQLite keeps the users of a ledger's file apart, as locks of the open file and not of the process.
//
// SQLite's own are POSIX locks: closing any descriptor of the file in the process, by whichever library, drops all of them. Another process may
// then take the journal of a transaction that is under way for one that a crash left behind, and roll it back. A program with a second copy of
// SQLite in it (Python's) does that by reading the ledger. Open-file-description locks of Linux lie on the same bytes and exclude POSIX locks
// of anybody, other copies in the same process included, and end with the descriptor that took them. Whoever uses stock SQLite elsewhere is
// bound as before. The other way round nothing is mended: what is closed here drops the POSIX locks of another copy in the process, which may then
// read what is half written, or be rolled back if it writes.
//
// Definitions:
//   level    what SQLite calls them (https://www.sqlite.org/lockingv3.html): none, shared, reserved, pending, exclusive
//   pending, reserved and shared bytes
//            at 2^30, after it, and the 510 that follow
#pragma once

namespace surety::accounting {

/// The name of SQLite's file system for ledgers, for sqlite3_open_v2: that of the machine ("unix") with these locks on database files,
/// of which it opens those that are there and makes none. It is made at the first call; every copy of this library in a process has its own. A copy of the process made by fork closes its descriptors at once, so
/// that no lock of the other lives on in it.
/// \throws Error{environment} where SQLite has no file system of that name, or no memory.
[[nodiscard]] const char* ledger_file_system();

}  // namespace surety::accounting
