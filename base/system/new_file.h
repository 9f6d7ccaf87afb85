// A file in the making, which appears under its name complete, durable and in one step, or not at all.
//
// Until then it has its space on the disk but, where the file system knows how (O_TMPFILE), no name: nothing is left of it whatever ends the
// process, and nobody can put something else in its place. Elsewhere it has a name that cannot be guessed, ".surety-" and 32 hexadecimal
// digits, made by O_EXCL, and is removed by the destructor, or by a signal where `remove_new_files_on_signals` was called; SIGKILL leaves it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include <surety/base/system/place.h>

namespace surety {

/// For one thread, and for the process that made it: a child of fork may destroy its copy, which then does nothing.
class NewFile {
 public:
  enum class Method {
    nameless,  ///< where the file system knows how, else `named`
    named,
  };

  enum class Readers {
    as_the_umask_says,
    owner_alone,  ///< and what the umask takes from that
  };

  /// Takes `space` bytes in the folder of `place`.
  /// \throws Error{environment} naming `place` when that fails: no folder, no permission, a full disk.
  explicit NewFile(Place place, std::uint64_t space = 0, Method preferred = Method::nameless, Readers readers = Readers::as_the_umask_says);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  [[nodiscard]] Method method() const noexcept { return temporary_.empty() ? Method::nameless : Method::named; }
  [[nodiscard]] std::uint64_t space() const noexcept { return space_; }

  /// Appends. \throws Error{environment}.
  void write(std::string_view bytes);

  /// From when the file has its name, it says that it was last changed at `time`.
  void show_change(std::time_t time) noexcept { shown_ = time; }

  /// Gives the file its name unless something has that name: then false, and nothing has changed. Durable on return.
  /// \throws Error{environment}. \pre neither this nor `replace` was called before.
  [[nodiscard]] bool put_where_nothing_is();
  /// Gives the file its name, in place of an empty file, one of its own `kind`, or what `overwrite` says that has it. Where the file system
  /// exchanges two names in one step, what is lost is what was looked at, whatever others did meanwhile. The content is durable on return, and
  /// the name as far as the folder can be synced.
  /// \throws Error{invalid_argument} as `require_replaceable`; Error{environment}. Then what was there is there still, unless the
  ///         message says that the file was written and that what it replaced could not be removed.
  void replace(const FileKind& kind, Overwrite overwrite);

 private:
  [[noreturn]] void refuse(std::string_view action, int error_number) const;
  void open_with_a_name(mode_t mode);
  void finish();
  /// linkat of the open file to `name`; 0 or the error's number.
  [[nodiscard]] int link_to(const std::string& name) const;
  /// Gives a nameless file a name that cannot be guessed. `action` is for the message.
  void take_a_name(std::string_view action);
  /// Gives the file its name if nothing has it; 0 or the error's number, EEXIST where something does.
  [[nodiscard]] int take_free_name();
  /// Gives the file, which has a name that cannot be guessed, the name of what is there and may be lost.
  /// Why what was replaced could not be removed, and where it is; empty where it was.
  [[nodiscard]] std::string take_name_of_another(const FileKind& kind, Overwrite overwrite);
  [[noreturn]] void refuse(const Obstacle& obstacle) const;
  void forget_name();
  void remove();

  Place place_;
  std::uint64_t space_;
  std::uint64_t size_ = 0;
  std::optional<std::time_t> shown_;
  int folder_ = -1;
  bool can_sync_folder_ = true;
  int file_ = -1;
  std::string temporary_;  ///< the name while it is not final; empty without one
  std::size_t slot_;       ///< where a signal finds that name
  pid_t owner_;
};

/// From now on SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM and SIGXCPU remove the new files of this process before they end it as
/// they would have. Signals that are ignored stay so. For `main` of a program that has no handlers of its own.
void remove_new_files_on_signals();

/// Removes the new files of this process that have a name, for who ends it without destructors. Takes no memory and no lock, and may be called
/// by a signal handler.
void remove_new_files() noexcept;

}  // namespace surety
