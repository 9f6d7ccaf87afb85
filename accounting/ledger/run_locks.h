// Which runs of a ledger are alive: held by a reservation that may still release, in this process or in any other.
//
// A living run is an open-file-description lock of Linux on one byte of the ledger's file, far behind its last one: byte 2^62 + run. The
// kernel drops it with the process, however that dies, and keeps it while a copy of the process made by fork lives on. SQLite's locks are on
// other bytes (file_locks.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <string>

#include <surety/base/system/home_process.h>

namespace surety::accounting {

/// The living runs of one file. Objects of one process for one file share what they know; any number of threads may use them.
class RunLocks {
 public:
  /// \throws Error{environment} when there is no file at `path`.
  explicit RunLocks(std::string path);
  RunLocks(const RunLocks&) = delete;
  RunLocks& operator=(const RunLocks&) = delete;
  /// \pre connections of this process to the file that were opened with this object are closed. Does nothing in a copy of its process.
  ~RunLocks();

  /// Makes the run a living one; false when it is one already, wherever.
  /// \throws Error{environment} when the file may not be written or locked, or is no longer the one at `path`.
  [[nodiscard]] bool hold(std::uint64_t run);
  /// \pre held by this object, in the process that made it.
  void release(std::uint64_t run) noexcept;
  /// The file's times of change and access are `time` from now on, where the file is this user's. By the descriptor of the locks: opening and
  /// closing another one would drop the locks of another copy of SQLite in this process. \pre some object of this process held a run of the file.
  void show_change(const timespec& time) noexcept;

 private:
  HomeProcess home_;
  std::string path_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace surety::accounting
