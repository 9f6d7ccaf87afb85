#include <surety/accounting/ledger/side_files.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include <surety/base/system/uninterrupted.h>
#include <surety/base/text/safe_text.h>

namespace surety::accounting {
namespace {

std::string_view kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFLNK: return "a symbolic link";
    case S_IFDIR: return "a folder";
    case S_IFIFO: return "a FIFO";
    case S_IFSOCK: return "a socket";
    default: return "a device";
  }
}

/// The access control list of a file; empty where it has none.
std::string access_list_of(int file) {
  std::array<char, 8192> bytes{};
  const ssize_t size = ::fgetxattr(file, "system.posix_acl_access", bytes.data(), bytes.size());
  if (size >= 0) return {bytes.data(), static_cast<std::size_t>(size)};
  // Of a list that cannot be read it is not known whom it lets write: no other list equals it.
  return errno == ENODATA || errno == ENOTSUP ? std::string{} : "unknown " + std::to_string(file);
}

/// Whether somebody may write the file who may not write the ledger. The owners are compared elsewhere.
bool has_more_writers(const DatabaseFile& ledger, const struct stat& status, std::optional<int> file) {
  if ((ledger.status.st_mode & S_IWOTH) != 0) return false;
  if ((status.st_mode & S_IWOTH) != 0) return true;
  // The bit of the group is also the mask of an access control list: without it the list lets nobody write.
  if ((status.st_mode & S_IWGRP) == 0) return false;
  if ((ledger.status.st_mode & S_IWGRP) == 0 || status.st_gid != ledger.status.st_gid) return true;
  return file && access_list_of(*file) != access_list_of(ledger.descriptor);
}

bool is_trusted(const DatabaseFile& ledger, uid_t owner) { return owner == ledger.status.st_uid || owner == ::geteuid(); }

/// Gives a new file the ledger's owner and group, where this process may, and as much of its permissions as lets nobody else write it.
void make_like(const DatabaseFile& ledger, int file) {
  const uid_t owner = ::geteuid() == 0 ? ledger.status.st_uid : static_cast<uid_t>(-1);
  struct stat status {};
  // Where the group stays another one, its members get no permission to write.
  static_cast<void>(!::fchown(file, owner, ledger.status.st_gid));
  if (::fstat(file, &status) != 0) return;
  mode_t mode = ledger.status.st_mode & 0777;
  status.st_mode = S_IFREG | mode;
  if (has_more_writers(ledger, status, file)) mode &= ~static_cast<mode_t>(S_IWGRP | S_IWOTH);
  static_cast<void>(::fchmod(file, mode));
}

std::string refusal_of(const std::string& path, int error_number) {
  return fmt::format("'{}': {}", one_line(path), std::strerror(error_number));
}

/// Empty where nothing more is known than the error.
std::string why_not_opened(const DatabaseFile& ledger, const std::string& path, const struct stat& status, int error_number) {
  if (auto reason = why_not_used(ledger, path, status, std::nullopt)) return *std::move(reason);
  if (error_number != EACCES && error_number != EPERM && error_number != EROFS) return {};
  return fmt::format("'{}' is left from an interrupted run and may not be written by this user; user {} must open the ledger",
                     one_line(path), user_text(status.st_uid));
}

bool is_one_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

}  // namespace

std::string user_text(uid_t user) {
  std::vector<char> buffer(16384);
  struct passwd entry {};
  struct passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return fmt::format("number {}", user);
  return fmt::format("'{}'", one_line(found->pw_name));
}

int open_safely(const std::string& path, int flags, mode_t mode) {
  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, mode); });
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  // Where a standard stream is closed, what is printed would be written into the file.
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error_number = errno;
  ::close(descriptor);
  errno = error_number;
  return moved;
}

std::optional<std::string> why_not_used(const DatabaseFile& ledger, const std::string& path, const struct stat& status,
                                        std::optional<int> file) {
  const auto name = one_line(path);
  if (!S_ISREG(status.st_mode)) return fmt::format("'{}' is {}, must be a regular file; remove it", name, kind_of(status.st_mode));
  if (!is_trusted(ledger, status.st_uid)) {
    const bool is_shared = (ledger.status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    const auto user = user_text(status.st_uid);
    const auto advice =
        status.st_size == 0 ? std::string{"it is empty, so remove it"}
        : is_shared ? fmt::format("if user {} was interrupted while writing, user {} must open the ledger, else remove it", user, user)
                    : std::string{"that user may not write the ledger, so remove it"};
    return fmt::format("'{}' belongs to user {}, must belong to the ledger's owner {} or to the user of this process; {}", name, user,
                       user_text(ledger.status.st_uid), advice);
  }
  if (status.st_nlink != 1)
    return fmt::format("'{}' has {} names (hard links), must have one; find out who made the others", name, status.st_nlink);
  if (has_more_writers(ledger, status, file)) {
    return fmt::format(
        "'{}' may be written by users who may not write the ledger (mode {:03o}, that of the ledger is {:03o}); find out who made it", name,
        status.st_mode & 0777, ledger.status.st_mode & 0777);
  }
  return std::nullopt;
}

OpenedSideFile open_side_file(const DatabaseFile& ledger, const std::string& path, SideFileUse use) {
  const int access = (use == SideFileUse::read ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_NONBLOCK;
  OpenedSideFile result;
  // Again where the name changes its file in the meantime: another process ends a transaction and begins the next.
  for (int attempt = 0; attempt < 100; ++attempt) {
    result = {.descriptor = open_safely(path, access)};
    if (result.descriptor < 0) result.error_number = errno;
    // Never O_CREAT for what is there: Linux may refuse that in a shared folder also to those who may open the file.
    if (result.error_number == ENOENT && use == SideFileUse::write_or_make) {
      result = {.descriptor = open_safely(path, access | O_CREAT | O_EXCL, ledger.status.st_mode & 0700), .is_new = true};
      if (result.descriptor < 0 && errno == EEXIST) continue;
      if (result.descriptor < 0) result.error_number = errno;
      if (result.descriptor >= 0) make_like(ledger, result.descriptor);
    }
    auto& status = result.status;
    if (result.descriptor < 0) {
      if (result.error_number == ENOENT && use != SideFileUse::write_or_make) return result;
      // The kind of what cannot be opened, or its owner, says more than the system's words.
      if (::lstat(path.c_str(), &status) == 0) result.reason = why_not_opened(ledger, path, status, result.error_number);
      if (result.reason.empty()) result.reason = refusal_of(path, result.error_number);
      return result;
    }
    if (::fstat(result.descriptor, &status) != 0) {
      result.error_number = errno;
      result.reason = refusal_of(path, errno);
    } else if (auto reason = why_not_used(ledger, path, status, result.descriptor)) {
      result.reason = *std::move(reason);
      result.error_number = EPERM;
    } else {
      return result;
    }
    struct stat of_name {};
    if (result.is_new) ::unlink(path.c_str());
    ::close(result.descriptor);
    result.descriptor = -1;
    if (result.is_new || (::lstat(path.c_str(), &of_name) == 0 ? is_one_file(of_name, status) : errno != ENOENT)) return result;
  }
  return result;
}

}  // namespace surety::accounting
