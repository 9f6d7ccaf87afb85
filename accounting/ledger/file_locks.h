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

#include <atomic>

namespace surety::accounting {

/// A descriptor that the copy of this process made by fork closes at once: a lock ends when the last copy of its descriptor is closed.
/// Neither copied nor moved; it has to be closed by `close`, since SQLite's memory has no destructors.
struct OwnDescriptor {
  std::atomic<int>* place = nullptr;

  /// Takes over `descriptor`; false where there is no memory, and then it is closed. \throws std::bad_alloc at the first call.
  [[nodiscard]] bool take(int descriptor);
  [[nodiscard]] int get() const { return place->load(); }
  /// \returns false where the system reports an error; the descriptor is gone all the same.
  bool close();
};

/// The locks of one connection on its database file. Results are SQLite's.
class FileLock {
 public:
  /// \pre SQLite asks for shared from none, for more from shared or above, and never for pending.
  int lock(int descriptor, int level);
  /// \pre to shared or none
  int unlock(int descriptor, int level);
  /// 1 where this connection or another one has a lock at `reserved` or above, else 0.
  int check_reserved(int descriptor, int* found);

  [[nodiscard]] int level() const { return level_; }
  /// Of the last lock that failed; 0 where none did.
  [[nodiscard]] int error_number() const { return error_number_; }

 private:
  struct Range;
  int set(int descriptor, const Range& range, short kind, int failure);
  int take_shared(int descriptor);

  int level_ = 0;
  int error_number_ = 0;
};

}  // namespace surety::accounting
