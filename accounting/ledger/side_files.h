// Which files beside a ledger may be read: its rollback journal, its write-ahead log and the index of that log.
//
// SQLite plays back any valid journal that lies beside a database, whoever made it. Another user who may create names in the folder of a ledger
// could so change a ledger that this user may not write. A file beside a ledger is therefore used only when
//   * it is a regular file with one name,
//   * it belongs to the owner of the ledger or to the user of this process, and
//   * nobody may write it who may not write the ledger.
// The rule is applied to the descriptor from which SQLite reads: a check of the name could be made of another file.
//
// What the rule does not see: who made the contents of a file that belongs to the owner. A folder without the sticky bit lets others replace the
// ledger itself.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace surety::accounting {

/// The ledger's file as its descriptor shows it, for comparison.
struct DatabaseFile {
  int descriptor;
  struct stat status;
};

/// Why a file beside a ledger must not be used, as "'run.db-journal' is a FIFO, must be a regular file; remove it"; nothing where it may be.
/// \param file its open descriptor; without one access control lists are not compared
[[nodiscard]] std::optional<std::string> why_not_used(const DatabaseFile& ledger, const std::string& path, const struct stat& status,
                                                      std::optional<int> file);

/// What became of an attempt to open a file beside a ledger.
struct OpenedSideFile {
  int descriptor = -1;
  bool is_new = false;
  int error_number = 0;     ///< where nothing was opened: ENOENT where there is none
  struct stat status = {};  ///< of what was opened, or must not be used
  std::string reason = {};  ///< where it must not be used or was refused by the system, for a message
};

enum class SideFileUse { read, write, write_or_make };

/// Opens a file beside a ledger without following links and without waiting, and compares it with the rule above. A file that is made gets the
/// ledger's owner, group and permissions, as far as this process may give them, so that the rule holds for it later, too.
[[nodiscard]] OpenedSideFile open_side_file(const DatabaseFile& ledger, const std::string& path, SideFileUse use);

/// open(2) that a signal does not end, with a descriptor above those of the standard streams; -1 and errno on failure.
[[nodiscard]] int open_safely(const std::string& path, int flags, mode_t mode = 0);

/// "'alice'", or "number 1000" for a user without a name.
[[nodiscard]] std::string user_text(uid_t user);

}  // namespace surety::accounting
