// A place: what a path is, however it is written. Two texts can name one file in many ways (relative and absolute, "./", "..", links to files
// and to folders, hard links), and whoever compares texts overwrites a ledger with a model some day. A place is the identity of a folder and
// a name in it, found as the kernel finds them, so it is known of a file that does not exist yet, too.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <surety/base/text/error.h>

namespace surety {

/// What makes a file or folder itself: the same for all its names.
struct FileIdentity {
  std::uint64_t device;
  std::uint64_t number;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

class Place {
 public:
  /// What is there.
  ///   nothing      its folder exists, and has no such name
  ///   file         a regular file
  ///   folder
  ///   other        a device, pipe or socket, or what a process keeps open (/dev/stdout, /proc/self/fd/...)
  ///   unreachable  no folder, no permission to look, a circle of links, another user's link in a shared folder: `reason()` says which
  enum class Holds { nothing, file, folder, other, unreachable };

  /// Follows `path` through all links to its end, also one that leads to nothing yet. Reads no file and opens none.
  /// \throws Error{invalid_argument} when `path` is empty or holds a zero byte.
  explicit Place(const std::filesystem::path& path);

  /// Where an open file is; nothing unless it is a regular file. \throws Error{environment} where the system does not say.
  [[nodiscard]] static std::optional<Place> of_open_file(int descriptor);

  [[nodiscard]] Holds holds() const noexcept { return holds_; }
  /// For people: why it is unreachable, as "No such file or directory"; what it holds, as "a folder"; empty otherwise.
  [[nodiscard]] std::string_view reason() const noexcept { return reason_; }
  /// As it was written, for messages.
  [[nodiscard]] const std::string& written() const noexcept { return written_; }

  /// The folder in which links end, and the last name there. Empty when `path` names a folder as such ("a/", "..").
  [[nodiscard]] const std::string& folder() const noexcept { return folder_path_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::string path() const { return folder_path_ + "/" + name_; }
  [[nodiscard]] const std::optional<FileIdentity>& folder_identity() const noexcept { return folder_; }

  /// The place whose name in the same folder is longer by `suffix`.
  [[nodiscard]] Place beside(std::string_view suffix) const;

  /// Whether both are one file, or would be if they were made: the same existing file, or the same name in the same folder. Names that differ
  /// in the case of ASCII letters alone count as the same where neither exists, since some file systems do not tell them apart.
  friend bool is_same(const Place& a, const Place& b);

 private:
  Place() = default;
  void follow(std::string text);
  void be_unreachable(int error_number);

  std::string written_;
  std::string folder_path_;
  std::string name_;
  std::optional<FileIdentity> folder_;
  std::optional<FileIdentity> file_;
  Holds holds_ = Holds::unreachable;
  std::string reason_;
};

/// What SQLite adds to the name of a database for files beside it, which are its own to overwrite and to delete.
inline constexpr std::array<std::string_view, 3> database_side_files{"-journal", "-wal", "-shm"};

/// A kind of file that is written.
struct FileKind {
  std::string_view name;       ///< for messages, with its article: "a model"
  std::string_view beginning;  ///< of every file of this kind, and of no other
};

/// What an output may take the place of, beside nothing, an empty file and a file of its own kind. An SQLite database is never replaced, nor
/// is a file beside which SQLite keeps a journal or a write-ahead log: as far as anybody can tell it is a ledger, and what replaces that
/// forgets what was released.
enum class Overwrite {
  own_kind_alone,
  any_kind,  ///< also what is neither
};

/// Why an output of `kind` may not take a place.
struct Obstacle {
  ErrorCode code;  ///< invalid_argument: "'<place>' <reason>"; environment: "cannot write '<place>': <reason>"
  std::string reason;
};
/// Nothing where it may. A regular file is opened, its first bytes are read, and its folder is looked at: it may not let the file go (the root
/// of a mount, an immutable file, another user's file in a shared folder).
[[nodiscard]] std::optional<Obstacle> obstacle_to(const Place& place, const FileKind& kind, Overwrite overwrite);

/// Why a file of `kind` may not take the place of the entry `name` of an open folder, where SQLite keeps what belongs to `owner` beside it;
/// nothing where it may. Looks at what is there now and follows no link.
[[nodiscard]] std::optional<Obstacle> obstacle_in(int folder, const std::string& name, const std::string& owner, const FileKind& kind,
                                                  Overwrite overwrite);

/// \throws Error{obstacle.code} where there is an obstacle.
void require_replaceable(const Place& place, const FileKind& kind, Overwrite overwrite);

}  // namespace surety
