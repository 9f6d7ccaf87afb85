#include <surety/base/system/new_file.h>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <surety/base/system/uninterrupted.h>
#include <surety/base/text/error.h>

namespace surety {

namespace {

/// What a signal handler needs in order to remove a file: names of fixed length in fixed places. A file that finds no free slot is removed
/// by its destructor alone.
struct Slot {
  enum State : int { free, being_written, valid };
  std::atomic<int> state{free};
  int folder = -1;
  pid_t owner = 0;
  std::array<char, 64> name{};
};
constexpr std::size_t no_slot = static_cast<std::size_t>(-1);
std::array<Slot, 32> slots;  // NOLINT: a signal handler can see nothing else

static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait for a lock");

std::size_t take_slot(int folder, const std::string& name) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    auto& slot = slots[i];
    int expected = Slot::free;
    if (!slot.state.compare_exchange_strong(expected, Slot::being_written)) continue;
    slot.folder = folder;
    slot.owner = ::getpid();
    slot.name.fill('\0');
    name.copy(slot.name.data(), slot.name.size() - 1);
    slot.state = Slot::valid;
    return i;
  }
  return no_slot;
}

extern "C" void remove_new_files_and_end(int signal) {
  const int error_number = errno;
  remove_new_files();
  errno = error_number;
  // SA_RESETHAND has put the default back, which ends the process as soon as this handler returns.
  ::raise(signal);
}

/// A name that nobody can have guessed.
std::string random_name() {
  std::array<unsigned char, 16> bytes{};
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error{ErrorCode::environment, fmt::format("the system gives no random bytes: {}", std::strerror(errno))};
    done += static_cast<std::size_t>(got);
  }
  std::string name = ".surety-";
  for (const unsigned char byte : bytes) name += fmt::format("{:02x}", byte);
  return name;
}

std::string own_name_of(int file) { return fmt::format("/proc/self/fd/{}", file); }

constexpr mode_t less_umask = 0666;
constexpr mode_t of_owner = 0600;

}  // namespace

NewFile::NewFile(Place place, std::uint64_t space, Method preferred, Readers readers)
    : place_{std::move(place)}, space_{space}, slot_{no_slot}, owner_{::getpid()} {
  if (place_.holds() == Place::Holds::unreachable || place_.name().empty()) {
    throw Error{ErrorCode::environment, fmt::format("cannot create '{}': {}", one_line(place_.written()), place_.reason())};
  }
  try {
    const auto open_folder = [&](int access) {
      return uninterrupted([&] { return ::open(place_.folder().c_str(), access | O_DIRECTORY | O_CLOEXEC); });
    };
    folder_ = open_folder(O_RDONLY);
    if (folder_ < 0 && errno == EACCES) {  // a folder that may be written but not listed
      can_sync_folder_ = false;
      folder_ = open_folder(O_PATH);
    }
    if (folder_ < 0) refuse("create", errno);
    struct stat status {};
    if (::fstat(folder_, &status) != 0) refuse("create", errno);
    if (FileIdentity{status.st_dev, status.st_ino} != place_.folder_identity()) refuse("create", ESTALE);

    const mode_t mode = readers == Readers::owner_alone ? of_owner : less_umask;
    if (preferred == Method::nameless)
      file_ = uninterrupted([&] { return ::openat(folder_, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode); });
    // Without /proc such a file can never be given a name.
    if (file_ >= 0 && ::faccessat(AT_FDCWD, own_name_of(file_).c_str(), F_OK, 0) != 0) ::close(std::exchange(file_, -1));
    if (file_ < 0) open_with_a_name(mode);
    int error_number = EINTR;
    while (space_ > 0 && error_number == EINTR) error_number = ::posix_fallocate(file_, 0, static_cast<off_t>(space_));
    if (space_ > 0 && error_number != 0) refuse("take space for", error_number);
  } catch (...) {
    remove();
    throw;
  }
}

NewFile::~NewFile() { remove(); }

void NewFile::remove() {
  if (!temporary_.empty() && owner_ == ::getpid()) ::unlinkat(folder_, temporary_.c_str(), 0);
  forget_name();
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (folder_ >= 0) ::close(std::exchange(folder_, -1));
}

void NewFile::forget_name() {
  temporary_.clear();
  if (slot_ != no_slot && owner_ == ::getpid()) slots[slot_].state = Slot::free;
  slot_ = no_slot;
}

void NewFile::open_with_a_name(mode_t mode) {
  // In this order a signal in between finds a name that there is no file of, rather than a file that nobody knows.
  temporary_ = random_name();
  slot_ = take_slot(folder_, temporary_);
  file_ = uninterrupted([&] { return ::openat(folder_, temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode); });
  if (file_ >= 0) return;
  const int error_number = errno;
  forget_name();
  refuse("create", error_number);
}

void NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) refuse("write", written < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
}

void NewFile::finish() {
  if (file_ < 0) throw Error{ErrorCode::internal, fmt::format("'{}' is made twice", one_line(place_.written()))};
  if (uninterrupted([&] { return ::ftruncate(file_, static_cast<off_t>(size_)); }) != 0) refuse("write", errno);
  if (shown_) {
    const timespec time{.tv_sec = *shown_, .tv_nsec = 0};
    const std::array<timespec, 2> of_access_and_change{time, time};
    static_cast<void>(::futimens(file_, of_access_and_change.data()));  // where the file system has no such time, it has its own
  }
  if (uninterrupted([&] { return ::fsync(file_); }) != 0) refuse("write", errno);
}

int NewFile::link_to(const std::string& name) const {
  return ::linkat(AT_FDCWD, own_name_of(file_).c_str(), folder_, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

void NewFile::take_a_name(std::string_view action) {
  // A nameless file can get a free name only. Until the next call this one is left behind by whatever ends the process at once.
  temporary_ = random_name();
  slot_ = take_slot(folder_, temporary_);
  if (const int error_number = link_to(temporary_); error_number != 0) {
    forget_name();
    refuse(action, error_number);
  }
}

bool NewFile::put_where_nothing_is() {
  if (!can_sync_folder_) refuse("make durable", EACCES);
  finish();
  if (temporary_.empty()) take_a_name("create");
  // Before others can open it: closing a file drops the locks that this process has on it through any other descriptor.
  ::close(std::exchange(file_, -1));
  const int error_number = take_free_name();
  if (error_number == EEXIST) {
    remove();
    return false;
  }
  if (error_number != 0) refuse("create", error_number);
  if (uninterrupted([&] { return ::fsync(folder_); }) != 0) refuse("make durable", errno);
  remove();
  return true;
}

int NewFile::take_free_name() {
  if (temporary_.empty()) return link_to(place_.name());
  if (::renameat2(folder_, temporary_.c_str(), folder_, place_.name().c_str(), RENAME_NOREPLACE) == 0) {
    forget_name();
    return 0;
  }
  if (errno != EINVAL && errno != ENOSYS) return errno;
  return ::linkat(folder_, temporary_.c_str(), folder_, place_.name().c_str(), 0) == 0 ? 0 : errno;
}

std::string NewFile::take_name_of_another(const FileKind& kind, Overwrite overwrite) {
  const auto& name = place_.name();
  if (const auto obstacle = obstacle_in(folder_, name, name, kind, overwrite)) refuse(*obstacle);
  // After an exchange nobody can put anything else in the place of what is looked at and removed. A signal must not remove it unseen.
  const std::string mine = temporary_;
  forget_name();
  const auto exchange = [&] { return ::renameat2(folder_, mine.c_str(), folder_, name.c_str(), RENAME_EXCHANGE) == 0; };
  if (exchange()) {
    const auto give_back = [&] { return exchange() && ::unlinkat(folder_, mine.c_str(), 0) == 0; };
    std::optional<Obstacle> obstacle;
    try {
      obstacle = obstacle_in(folder_, mine, name, kind, overwrite);
    } catch (...) {
      static_cast<void>(give_back());
      throw;
    }
    if (!obstacle) {
      // The new file has its name already, so this is reported once it is durable.
      if (::unlinkat(folder_, mine.c_str(), 0) == 0 || errno == ENOENT) return {};
      return fmt::format("{}; remove '{}'", std::strerror(errno), one_line(place_.folder() + "/" + mine));
    }
    if (give_back()) refuse(*obstacle);
    throw Error{ErrorCode::environment, fmt::format("cannot replace '{}': what came there meanwhile has the name '{}' now: {}",
                                                    one_line(place_.written()), mine, std::strerror(errno))};
  }
  // What was there is gone, or the file system does not know how to exchange.
  if (::renameat2(folder_, mine.c_str(), folder_, name.c_str(), errno == ENOENT ? RENAME_NOREPLACE : 0) == 0) return {};
  const int error_number = errno;
  if (::unlinkat(folder_, mine.c_str(), 0) != 0 && errno != ENOENT) {
    throw Error{ErrorCode::environment,
                fmt::format("cannot replace '{}': {}; remove what is left of the attempt, '{}'", one_line(place_.written()),
                            std::strerror(error_number), one_line(place_.folder() + "/" + mine))};
  }
  refuse("replace", error_number);
}

void NewFile::replace(const FileKind& kind, Overwrite overwrite) {
  finish();
  std::string left;
  if (const int error_number = take_free_name(); error_number == EEXIST) {
    if (temporary_.empty()) take_a_name("replace");
    left = take_name_of_another(kind, overwrite);
  } else if (error_number != 0) {
    refuse("create", error_number);
  }
  // The new name is durable once its folder is; the file is complete either way, and its run is charged.
  if (can_sync_folder_) static_cast<void>(uninterrupted([&] { return ::fsync(folder_); }));
  remove();
  if (!left.empty()) {
    throw Error{ErrorCode::environment,
                fmt::format("'{}' was written, but what it replaced could not be removed: {}", one_line(place_.written()), left)};
  }
}

void NewFile::refuse(const Obstacle& obstacle) const {
  if (obstacle.code == ErrorCode::environment) {
    throw Error{obstacle.code, fmt::format("cannot replace '{}': {}", one_line(place_.written()), obstacle.reason)};
  }
  throw Error{obstacle.code, fmt::format("'{}' {}", one_line(place_.written()), obstacle.reason)};
}

void NewFile::refuse(std::string_view action, int error_number) const {
  throw Error{ErrorCode::environment, fmt::format("cannot {} '{}': {}", action, one_line(place_.written()), std::strerror(error_number))};
}

void remove_new_files() noexcept {
  const pid_t process = ::getpid();
  for (const auto& slot : slots) {
    if (slot.state == Slot::valid && slot.owner == process) ::unlinkat(slot.folder, slot.name.data(), 0);
  }
}

void remove_new_files_on_signals() {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU}) {
    struct sigaction present {};
    if (::sigaction(signal, nullptr, &present) != 0 || present.sa_handler != SIG_DFL) continue;
    struct sigaction next {};
    next.sa_handler = remove_new_files_and_end;
    next.sa_flags = static_cast<int>(SA_RESETHAND);
    sigfillset(&next.sa_mask);
    ::sigaction(signal, &next, nullptr);
  }
}

}  // namespace surety
