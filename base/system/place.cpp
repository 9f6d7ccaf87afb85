#include <surety/base/system/place.h>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include <surety/base/system/uninterrupted.h>
#include <surety/base/text/error.h>

namespace surety {

namespace {

/// As many as the kernel follows.
constexpr int most_links = 40;

FileIdentity identity_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

/// What lies in /proc is of processes, not of a disk. Its links lead to open files, which their text need not name any more.
bool is_of_processes(const std::string& folder) {
  struct statfs status {};
  return ::statfs(folder.c_str(), &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

/// The text of a link; nothing on an error, which errno says.
std::optional<std::string> target_of_link(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0) return std::nullopt;
  return std::string{target.data(), static_cast<std::size_t>(length)};
}

bool is_same_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

Place::Place(const std::filesystem::path& path) : written_{path.string()} {
  if (written_.empty()) throw Error{ErrorCode::invalid_argument, "a path is '', must name a file"};
  if (written_.find('\0') != std::string::npos) {
    throw Error{ErrorCode::invalid_argument, fmt::format("a path is '{}', must be without a zero byte", one_line(written_))};
  }
  follow(written_);
}

std::optional<Place> Place::of_open_file(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    if (errno == EBADF) return std::nullopt;
    throw Error{ErrorCode::environment, fmt::format("cannot look at the open file {}: {}", descriptor, std::strerror(errno))};
  }
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  Place place;
  place.file_ = identity_of(status);
  place.holds_ = Holds::file;
  return place;
}

void Place::be_unreachable(int error_number) {
  holds_ = Holds::unreachable;
  reason_ = std::strerror(error_number);
}

void Place::follow(std::string text) {
  const auto hold = [this](const struct stat& status, bool is_open_file) {
    file_ = identity_of(status);
    const bool is_folder = S_ISDIR(status.st_mode);
    holds_ = is_folder ? Holds::folder : S_ISREG(status.st_mode) && !is_open_file ? Holds::file : Holds::other;
    if (holds_ == Holds::folder) reason_ = "a folder";
    if (holds_ == Holds::other) reason_ = is_open_file ? "what a process keeps open" : "a device, pipe or socket";
  };
  struct stat status {};
  for (int links = 0; links <= most_links; ++links) {
    const auto slash = text.rfind('/');
    name_ = slash == std::string::npos ? text : text.substr(slash + 1);
    if (name_.empty() || name_ == "." || name_ == "..") {  // as such a folder, or nothing
      name_.clear();
      folder_path_.clear();
      folder_.reset();
      if (::stat(text.c_str(), &status) != 0) return be_unreachable(errno);
      return hold(status, false);
    }
    folder_path_ = slash == std::string::npos ? "." : slash == 0 ? "/" : text.substr(0, slash);
    if (::stat(folder_path_.c_str(), &status) != 0) return be_unreachable(errno);
    if (!S_ISDIR(status.st_mode)) return be_unreachable(ENOTDIR);
    folder_ = identity_of(status);
    const struct stat folder = status;
    if (::lstat(path().c_str(), &status) != 0) {
      if (errno != ENOENT) return be_unreachable(errno);
      holds_ = Holds::nothing;
      return;
    }
    if (is_of_processes(folder_path_)) {
      if (::stat(path().c_str(), &status) != 0) return be_unreachable(errno);
      return hold(status, true);
    }
    if (!S_ISLNK(status.st_mode)) return hold(status, false);
    // In a folder that all may write to, somebody else's link is a trap: the kernel's own rule (protected_symlinks), kept on every machine.
    const bool is_shared = (folder.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
    if (is_shared && status.st_uid != ::geteuid() && status.st_uid != folder.st_uid) return be_unreachable(EACCES);
    const auto target = target_of_link(path());
    if (!target) return be_unreachable(errno);
    text = target->starts_with('/') ? *target : folder_path_ + "/" + *target;
  }
  be_unreachable(ELOOP);
}

Place Place::beside(std::string_view suffix) const {
  Place place;
  place.written_ = written_ + std::string{suffix};
  place.follow(path() + std::string{suffix});
  return place;
}

bool is_same(const Place& a, const Place& b) {
  if (a.file_ && b.file_ && *a.file_ == *b.file_) return true;
  if (!a.folder_ || !b.folder_ || *a.folder_ != *b.folder_) return false;
  return a.name_ == b.name_ || (!a.file_ && !b.file_ && is_same_but_for_case(a.name_, b.name_));
}

namespace {

/// The first 16 bytes of every SQLite database that holds something.
constexpr std::string_view database_beginning{"SQLite format 3\0", 16};

Obstacle of_machine(int error_number) { return {ErrorCode::environment, std::strerror(error_number)}; }
Obstacle of_argument(std::string reason) { return {ErrorCode::invalid_argument, std::move(reason)}; }

/// As many of the first bytes of a file as are asked for, fewer where it ends; nothing on an error, which errno says.
std::optional<std::string> first_bytes(int file, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = ::pread(file, bytes.data() + done, count - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

/// The first bytes of a regular file by a descriptor of its own, which stays open where they are those of a database: closing it would drop the
/// locks that this process holds on that one.
std::optional<Obstacle> obstacle_of_content(int folder, const std::string& name, const FileKind& kind, Overwrite overwrite) {
  // Not to wait for the other end of a pipe that has taken the name.
  const int file = uninterrupted([&] { return ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); });
  if (file < 0 && errno == ENOENT) return std::nullopt;
  if (file < 0) return of_machine(errno);
  struct stat status {};
  const bool is_known = ::fstat(file, &status) == 0;
  if (!is_known || !S_ISREG(status.st_mode)) {
    const int error_number = errno;
    ::close(file);
    return is_known ? of_argument("is no regular file, must be one or a new name") : of_machine(error_number);
  }
  const auto beginning = first_bytes(file, std::max(database_beginning.size(), kind.beginning.size()));
  const int error_number = errno;
  if (beginning && beginning->starts_with(database_beginning)) {
    return of_argument("is an SQLite database, as ledgers are, must be another file");
  }
  ::close(file);
  if (!beginning) return of_machine(error_number);
  if (beginning->empty() || beginning->starts_with(kind.beginning) || overwrite == Overwrite::any_kind) return std::nullopt;
  return of_argument(fmt::format("does not hold {}, must be a new name or hold one unless --overwrite is given", kind.name));
}

}  // namespace

std::optional<Obstacle> obstacle_in(int folder, const std::string& name, const std::string& owner, const FileKind& kind,
                                    Overwrite overwrite) {
  if (auto found = obstacle_of_content(folder, name, kind, overwrite)) return found;
  for (const auto* suffix : {"-journal", "-wal"}) {
    if (::faccessat(folder, (owner + suffix).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
      return of_argument(
          fmt::format("has '{}{}' beside it, of an SQLite database as ledgers are, must be another file", one_line(owner), suffix));
    }
    if (errno != ENOENT) return of_machine(errno);
  }
  return std::nullopt;
}

std::optional<Obstacle> obstacle_to(const Place& place, const FileKind& kind, Overwrite overwrite) {
  if (place.holds() == Place::Holds::unreachable) return Obstacle{ErrorCode::environment, std::string{place.reason()}};
  if (place.holds() == Place::Holds::folder || place.holds() == Place::Holds::other) {
    return of_argument(fmt::format("is {}, must be a regular file or a new name", place.reason()));
  }
  if (::access(place.folder().c_str(), W_OK | X_OK) != 0) return of_machine(errno);
  const int folder_file = uninterrupted([&] { return ::open(place.folder().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); });
  if (folder_file < 0) return of_machine(errno);
  auto found = obstacle_in(folder_file, place.name(), place.name(), kind, overwrite);
  ::close(folder_file);
  if (found || place.holds() == Place::Holds::nothing) return found;
  struct stat folder {};
  struct statx file {};
  if (::stat(place.folder().c_str(), &folder) != 0) return of_machine(errno);
  if (::statx(AT_FDCWD, place.path().c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &file) != 0) return of_machine(errno);
  if ((folder.st_mode & S_ISVTX) != 0 && ::geteuid() != 0 && ::geteuid() != folder.st_uid && ::geteuid() != file.stx_uid) {
    return Obstacle{ErrorCode::environment, "the file is another user's, and its folder is shared"};
  }
  if ((file.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0) {
    return Obstacle{ErrorCode::environment, "the file may not be replaced (chattr)"};
  }
#ifdef STATX_ATTR_MOUNT_ROOT
  if ((file.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {
    return Obstacle{ErrorCode::environment, "something is mounted on the file, must be on its folder"};
  }
#endif
  return std::nullopt;
}

void require_replaceable(const Place& place, const FileKind& kind, Overwrite overwrite) {
  const auto obstacle = obstacle_to(place, kind, overwrite);
  if (!obstacle) return;
  const auto written = one_line(place.written());
  throw Error{obstacle->code, obstacle->code == ErrorCode::environment ? fmt::format("cannot write '{}': {}", written, obstacle->reason)
                                                                       : fmt::format("'{}' {}", written, obstacle->reason)};
}

}  // namespace surety
