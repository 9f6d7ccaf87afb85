// A machine that fails, for a program that is started with this library in LD_PRELOAD: call number N of a class of system calls, or of malloc, does
// what FAULTS_DO says. Calls are counted from the start of main, by all threads together.
//
//   FAULTS_FROM   call    calls are counted between faults_begin() and faults_end(), which the program calls: an interpreter's own start is left out
//   FAULTS_CALLS  open, read, write, sync, name (rename, link, unlink), space (ftruncate, fallocate), memory (malloc and its kin), stat (stat and its kin, getcwd),
//                 lock (fcntl), close (which closes all the same), clock (time), map (mmap, madvise), entropy (getrandom), or
//                 files (open to space)
//   FAULTS_AT     the number of the call, from 1
//   FAULTS_DO     fail    it returns FAULTS_ERROR, an error number; a null pointer where it is malloc
//                 always  it and all that follow do
//                 short   a read or write takes one byte
//                 lie     a sync does nothing and says that all went well
//                 kill    the process is killed in its place
//                 cut     the power fails in its place: what was written and not synced since is lost, all of it
//                 part    the same, but of each file and of the latest changes of names a part that FAULTS_SEED decides is on the disk
//   FAULTS_COUNTS a file of 64-bit words, to which is added: calls counted, faults, faults in syncs of regular files; and the calls of each class, in the
//                 order of Calls
//   FAULTS_SIDE   an empty folder in the file system of the files, for cut and part: copies of what is on the disk
//   FAULTS_NO_SYNC=1  syncs count, but nothing is on the disk after them: a program that does not sync
//
// A program may call faults_fail_allocation(AT, ALWAYS) instead: from then on its allocation AT fails, and all later ones with ALWAYS. It returns how many allocations
// were counted since its last call. AT is 0 where none fails.
//
// Standard streams are left alone, and what the C library does by itself (stdio, the loader) is not seen. By a cut all that is not synced is lost, names
// too unless their folder was synced, which is more than most file systems lose.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

enum class Calls { open, read, write, sync, name, space, memory, files, stat, lock, close, clock, map, entropy };
constexpr int classes = static_cast<int>(Calls::entropy) + 1;
enum class Do { nothing, fail, always, shorten, lie, kill, cut, part };

// Set before main, by one thread.
Calls watched = Calls::files;
Do deed = Do::nothing;
std::uint64_t fault_at = 0;
int fault_error = EIO;
bool syncs = true;
std::uint64_t seed = 0;
int side = -1;
std::atomic<bool> is_armed{false};

struct Counts {
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> faults;
  std::atomic<std::uint64_t> faults_in_syncs_of_files;
  std::atomic<std::uint64_t> of_class[classes];
};
Counts own_counts{};
Counts* counts = &own_counts;

// ---- What is not on the disk yet ----

/// A regular file that was written to since it was synced, and where the copy of what is on the disk is.
struct Unsynced {
  bool is_used;
  dev_t device;
  ino_t number;
  int file;  // a descriptor of our own; never closed, for that would drop locks
  int copy;
  off_t size;
};
/// A change of names that is not synced.
struct Change {
  enum Kind { made, removed, renamed, exchanged } kind;
  bool is_used;
  dev_t device;  // of the folder
  ino_t number;
  char from[PATH_MAX];
  char to[PATH_MAX];
  char kept[32];  // in `side`; empty where nothing was lost
};
constexpr int most = 512;
Unsynced unsynced[most];
Change changes[most];
int change_count = 0;
int kept_count = 0;

bool tracks() { return side >= 0; }

int sys_open(const char* path, int flags, mode_t mode) { return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode)); }

// What this library itself asks, without being counted.
int look_at(int folder, const char* path, struct stat* status, int flags) {
  return static_cast<int>(syscall(SYS_newfstatat, folder, path, status, flags));
}
int look_at(int file, struct stat* status) { return look_at(file, "", status, AT_EMPTY_PATH); }

void own_path(int file, char* text, std::size_t size) { std::snprintf(text, size, "/proc/self/fd/%d", file); }

/// The absolute path of a name in an open folder; false where there is none.
bool path_of(int folder, const char* name, char* path) {
  if (name[0] == '/') return std::snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
  char here[PATH_MAX];
  if (folder == AT_FDCWD) {
    if (syscall(SYS_getcwd, here, sizeof here) < 0) return false;
  } else {
    char link[64];
    own_path(folder, link, sizeof link);
    const long length = syscall(SYS_readlinkat, AT_FDCWD, link, here, sizeof here - 1);
    if (length < 0) return false;
    here[length] = '\0';
  }
  return std::snprintf(path, PATH_MAX, "%s/%s", here, name) < PATH_MAX;
}

void folder_of(const char* path, Change& change) {
  char folder[PATH_MAX];
  std::snprintf(folder, sizeof folder, "%s", path);
  if (char* const slash = std::strrchr(folder, '/')) *slash = '\0';
  struct stat status {};
  if (look_at(AT_FDCWD, folder, &status, 0) == 0) {
    change.device = status.st_dev;
    change.number = status.st_ino;
  }
}

/// A second name for what is at `path`, so that it is not lost.
void keep(const char* path, Change& change) {
  std::snprintf(change.kept, sizeof change.kept, "kept%d", kept_count++);
  if (syscall(SYS_linkat, AT_FDCWD, path, side, change.kept, 0) != 0) change.kept[0] = '\0';
}

Change* new_change(Change::Kind kind, const char* from, const char* to) {
  if (change_count == most) std::abort();
  Change& change = changes[change_count++];
  change.kind = kind;
  change.is_used = true;
  change.kept[0] = '\0';
  std::snprintf(change.from, sizeof change.from, "%s", from);
  std::snprintf(change.to, sizeof change.to, "%s", to);
  folder_of(to, change);
  return &change;
}

/// Before a file is changed: remembers what is on the disk.
void before_change_of(int file) {
  if (!tracks()) return;
  struct stat status {};
  if (look_at(file, &status) != 0 || !S_ISREG(status.st_mode)) return;
  Unsynced* free = nullptr;
  for (auto& one : unsynced) {
    if (one.is_used && one.device == status.st_dev && one.number == status.st_ino) return;
    if (!one.is_used && free == nullptr) free = &one;
  }
  if (free == nullptr) std::abort();
  char path[64];
  own_path(file, path, sizeof path);
  const int own = sys_open(path, O_RDWR | O_CLOEXEC, 0);
  if (own < 0) return;
  char name[32];
  std::snprintf(name, sizeof name, "copy%d", kept_count++);
  const int copy = static_cast<int>(syscall(SYS_openat, side, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  static char buffer[1 << 16];
  for (off_t at = 0; at < status.st_size;) {
    const long got = syscall(SYS_pread64, own, buffer, sizeof buffer, at);
    if (got <= 0) break;
    static_cast<void>(!syscall(SYS_pwrite64, copy, buffer, got, at));
    at += got;
  }
  *free = {true, status.st_dev, status.st_ino, own, copy, status.st_size};
}

void after_sync_of(int file) {
  if (!tracks() || !syncs) return;
  struct stat status {};
  if (look_at(file, &status) != 0) return;
  for (auto& one : unsynced) {
    if (one.is_used && one.device == status.st_dev && one.number == status.st_ino) one.is_used = false;
  }
  for (int k = 0; k < change_count; ++k) {
    if (changes[k].device == status.st_dev && changes[k].number == status.st_ino) changes[k].is_used = false;
  }
}

std::uint64_t next_random() {  // splitmix64
  std::uint64_t z = (seed += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void undo(const Change& change) {
  switch (change.kind) {
    case Change::made: syscall(SYS_unlinkat, AT_FDCWD, change.to, 0); break;
    case Change::removed: break;
    case Change::renamed: syscall(SYS_renameat2, AT_FDCWD, change.to, AT_FDCWD, change.from, 0); break;
    case Change::exchanged: syscall(SYS_renameat2, AT_FDCWD, change.to, AT_FDCWD, change.from, RENAME_EXCHANGE); break;
  }
  if (change.kept[0] == '\0') return;
  syscall(SYS_linkat, side, change.kept, AT_FDCWD, change.to, 0);
  syscall(SYS_unlinkat, side, change.kept, 0);  // a ledger's journal with two names is refused
}

/// The disk as it is after the power has failed.
void lose_what_is_not_synced(bool all) {
  for (auto& one : unsynced) {
    if (!one.is_used || (!all && next_random() % 2 == 0)) continue;
    syscall(SYS_ftruncate, one.file, one.size);
    static char buffer[1 << 16];
    for (off_t at = 0; at < one.size;) {
      const long got = syscall(SYS_pread64, one.copy, buffer, sizeof buffer, at);
      if (got <= 0) break;
      static_cast<void>(!syscall(SYS_pwrite64, one.file, buffer, got, at));
      at += got;
    }
  }
  int lost = change_count;
  if (!all) lost = static_cast<int>(next_random() % (static_cast<std::uint64_t>(change_count) + 1));
  for (int k = change_count - 1; k >= 0 && lost > 0; --k) {
    if (!changes[k].is_used) continue;
    undo(changes[k]);
    --lost;
  }
}

[[noreturn]] void die() {
  syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  for (;;) pause();
}

/// Counts a call. What it is to do besides: nothing, or fail, shorten, lie.
Do count(Calls kind, bool is_sync_of_file = false) {
  if (!is_armed.load(std::memory_order_relaxed)) return Do::nothing;
  counts->of_class[static_cast<int>(kind)].fetch_add(1, std::memory_order_relaxed);
  if (kind != watched && (watched != Calls::files || kind >= Calls::memory)) return Do::nothing;
  const std::uint64_t number = counts->calls.fetch_add(1) + 1;
  if (deed == Do::nothing || fault_at == 0) return Do::nothing;
  if (number != fault_at && !(deed == Do::always && number > fault_at)) return Do::nothing;
  counts->faults.fetch_add(1);
  if (is_sync_of_file) counts->faults_in_syncs_of_files.fetch_add(1);
  switch (deed) {
    case Do::kill: die();
    case Do::cut: lose_what_is_not_synced(true); die();
    case Do::part: lose_what_is_not_synced(false); die();
    case Do::always: return Do::fail;
    default: return deed;
  }
}

bool is_standard(int file) { return file >= 0 && file <= STDERR_FILENO; }

/// Whether the call is to fail; sets errno.
bool fails(Calls kind) {
  if (count(kind) != Do::fail) return false;
  errno = fault_error;
  return true;
}

const char* said(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

__attribute__((constructor)) void begin() {
  struct Word {
    const char* text;
    int value;
  };
  const Word kinds[] = {{"open", 0},  {"read", 1}, {"write", 2}, {"sync", 3},   {"name", 4},   {"space", 5}, {"memory", 6},
                        {"files", 7}, {"stat", 8}, {"lock", 9},  {"close", 10}, {"clock", 11}, {"map", 12},  {"entropy", 13}};
  for (const auto& kind : kinds) {
    if (std::strcmp(said("FAULTS_CALLS"), kind.text) == 0) watched = static_cast<Calls>(kind.value);
  }
  const Word deeds[] = {{"fail", 1}, {"always", 2}, {"short", 3}, {"lie", 4}, {"kill", 5}, {"cut", 6}, {"part", 7}};
  for (const auto& one : deeds) {
    if (std::strcmp(said("FAULTS_DO"), one.text) == 0) deed = static_cast<Do>(one.value);
  }
  fault_at = std::strtoull(said("FAULTS_AT"), nullptr, 10);
  seed = std::strtoull(said("FAULTS_SEED"), nullptr, 10);
  if (said("FAULTS_ERROR")[0] != '\0') fault_error = std::atoi(said("FAULTS_ERROR"));
  syncs = said("FAULTS_NO_SYNC")[0] == '\0';
  if (said("FAULTS_COUNTS")[0] != '\0') {
    const int file = sys_open(said("FAULTS_COUNTS"), O_RDWR | O_CLOEXEC, 0);
    void* const memory = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) counts = static_cast<Counts*>(memory);
    if (file >= 0) syscall(SYS_close, file);
  }
  if (said("FAULTS_SIDE")[0] != '\0') side = sys_open(said("FAULTS_SIDE"), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

int (*real_main)(int, char**, char**) = nullptr;

int armed_main(int count, char** words, char** environment) {
  is_armed = std::strcmp(said("FAULTS_FROM"), "call") != 0;
  return real_main(count, words, environment);
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  if (fails(Calls::open)) return -1;
  char full[PATH_MAX];
  bool is_new = false;
  if (tracks() && (flags & O_CREAT) != 0 && path_of(folder, path, full)) is_new = syscall(SYS_faccessat, AT_FDCWD, full, F_OK) != 0;
  const int file = static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
  if (file >= 0 && is_new) new_change(Change::made, "", full);
  if (file >= 0 && (flags & O_TRUNC) != 0) before_change_of(file);
  return file;
}

int unlink_at(int folder, const char* path, int flags) {
  if (fails(Calls::name)) return -1;
  char full[PATH_MAX];
  if (tracks() && flags == 0 && path_of(folder, path, full)) {
    Change* const change = new_change(Change::removed, "", full);
    keep(full, *change);
  }
  return static_cast<int>(syscall(SYS_unlinkat, folder, path, flags));
}

int rename_at(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (fails(Calls::name)) return -1;
  char full_from[PATH_MAX];
  char full_to[PATH_MAX];
  const bool is_tracked = tracks() && path_of(from_folder, from, full_from) && path_of(to_folder, to, full_to);
  Change kept{};
  if (is_tracked && flags == 0) keep(full_to, kept);
  const int result = static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
  if (result == 0 && is_tracked) {
    Change* const change = new_change(flags == RENAME_EXCHANGE ? Change::exchanged : Change::renamed, full_from, full_to);
    std::memcpy(change->kept, kept.kept, sizeof kept.kept);
  }
  return result;
}

int link_at(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (fails(Calls::name)) return -1;
  const int result = static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
  char full[PATH_MAX];
  if (result == 0 && tracks() && path_of(to_folder, to, full)) new_change(Change::made, "", full);
  return result;
}

ssize_t read_at(int file, void* bytes, std::size_t size, off_t offset, bool is_at) {
  if (!is_standard(file) && size > 0) {
    const Do what = count(Calls::read);
    if (what == Do::fail) {
      errno = fault_error;
      return -1;
    }
    if (what == Do::shorten) size = 1;
  }
  return is_at ? syscall(SYS_pread64, file, bytes, size, offset) : syscall(SYS_read, file, bytes, size);
}

ssize_t write_at(int file, const void* bytes, std::size_t size, off_t offset, bool is_at) {
  if (!is_standard(file) && size > 0) {
    const Do what = count(Calls::write);
    if (what == Do::fail) {
      errno = fault_error;
      return -1;
    }
    if (what == Do::shorten) size = 1;
    before_change_of(file);
  }
  return is_at ? syscall(SYS_pwrite64, file, bytes, size, offset) : syscall(SYS_write, file, bytes, size);
}

int sync_file(int file, long call) {
  struct stat status {};
  const bool is_file = look_at(file, &status) == 0 && S_ISREG(status.st_mode);
  const Do what = count(Calls::sync, is_file);
  if (what == Do::lie) return 0;
  if (what == Do::fail) {
    errno = fault_error;
    return -1;
  }
  const int result = static_cast<int>(syscall(call, file));
  if (result == 0) after_sync_of(file);
  return result;
}

int take_space(int file, off_t offset, off_t length) {
  if (fails(Calls::space)) return fault_error;
  before_change_of(file);
  const int before = errno;
  const int result = syscall(SYS_fallocate, file, 0, offset, length) == 0 ? 0 : errno;
  errno = before;
  return result;
}

int change_size(int file, off_t size) {
  if (fails(Calls::space)) return -1;
  before_change_of(file);
  return static_cast<int>(syscall(SYS_ftruncate, file, size));
}

mode_t mode_of(int flags, std::va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

bool is_out_of_memory() {
  if (count(Calls::memory) != Do::fail) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

#define SEEN extern "C" __attribute__((visibility("default")))
#define WITH_MODE(call)                          \
  std::va_list arguments;                        \
  va_start(arguments, flags);                    \
  const mode_t mode = mode_of(flags, arguments); \
  va_end(arguments);                             \
  return call

SEEN void faults_begin() { is_armed = true; }
SEEN void faults_end() { is_armed = false; }

SEEN int __libc_start_main(int (*main)(int, char**, char**), int count, char** words, void (*init)(), void (*fini)(), void (*loader)(),
                           void* stack) {
  real_main = main;
  using Start = int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(armed_main, count, words, init, fini, loader, stack);
}

SEEN int open(const char* path, int flags, ...) { WITH_MODE(open_at(AT_FDCWD, path, flags, mode)); }
SEEN int open64(const char* path, int flags, ...) { WITH_MODE(open_at(AT_FDCWD, path, flags, mode)); }
SEEN int openat(int folder, const char* path, int flags, ...) { WITH_MODE(open_at(folder, path, flags, mode)); }
SEEN int openat64(int folder, const char* path, int flags, ...) { WITH_MODE(open_at(folder, path, flags, mode)); }
SEEN ssize_t read(int file, void* bytes, std::size_t size) { return read_at(file, bytes, size, 0, false); }
SEEN ssize_t pread(int file, void* bytes, std::size_t size, off_t offset) { return read_at(file, bytes, size, offset, true); }
SEEN ssize_t pread64(int file, void* bytes, std::size_t size, off_t offset) { return read_at(file, bytes, size, offset, true); }
SEEN ssize_t write(int file, const void* bytes, std::size_t size) { return write_at(file, bytes, size, 0, false); }
SEEN ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t offset) { return write_at(file, bytes, size, offset, true); }
SEEN ssize_t pwrite64(int file, const void* bytes, std::size_t size, off_t offset) { return write_at(file, bytes, size, offset, true); }
SEEN int fsync(int file) { return sync_file(file, SYS_fsync); }
SEEN int fdatasync(int file) { return sync_file(file, SYS_fdatasync); }
SEEN int unlink(const char* path) noexcept { return unlink_at(AT_FDCWD, path, 0); }
SEEN int unlinkat(int folder, const char* path, int flags) noexcept { return unlink_at(folder, path, flags); }
SEEN int rename(const char* from, const char* to) noexcept { return rename_at(AT_FDCWD, from, AT_FDCWD, to, 0); }
SEEN int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return rename_at(from_folder, from, to_folder, to, 0);
}
SEEN int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  return rename_at(from_folder, from, to_folder, to, flags);
}
SEEN int link(const char* from, const char* to) noexcept { return link_at(AT_FDCWD, from, AT_FDCWD, to, 0); }
SEEN int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  return link_at(from_folder, from, to_folder, to, flags);
}
SEEN int ftruncate(int file, off_t size) noexcept { return change_size(file, size); }
SEEN int ftruncate64(int file, off_t size) noexcept { return change_size(file, size); }
SEEN int posix_fallocate(int file, off_t offset, off_t length) { return take_space(file, offset, length); }
SEEN int posix_fallocate64(int file, off_t offset, off_t length) { return take_space(file, offset, length); }

SEEN int stat(const char* path, struct stat* status) noexcept { return fails(Calls::stat) ? -1 : look_at(AT_FDCWD, path, status, 0); }
SEEN int lstat(const char* path, struct stat* status) noexcept {
  return fails(Calls::stat) ? -1 : look_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
SEEN int fstat(int file, struct stat* status) noexcept { return fails(Calls::stat) ? -1 : look_at(file, status); }
SEEN int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
  return fails(Calls::stat) ? -1 : look_at(folder, path, status, flags);
}
SEEN int stat64(const char* path, struct stat64* status) noexcept { return stat(path, reinterpret_cast<struct stat*>(status)); }
SEEN int lstat64(const char* path, struct stat64* status) noexcept { return lstat(path, reinterpret_cast<struct stat*>(status)); }
SEEN int fstat64(int file, struct stat64* status) noexcept { return fstat(file, reinterpret_cast<struct stat*>(status)); }
SEEN int fstatat64(int folder, const char* path, struct stat64* status, int flags) noexcept {
  return fstatat(folder, path, reinterpret_cast<struct stat*>(status), flags);
}
SEEN int statx(int folder, const char* path, int flags, unsigned mask, struct statx* status) noexcept {
  return fails(Calls::stat) ? -1 : static_cast<int>(syscall(SYS_statx, folder, path, flags, mask, status));
}
SEEN int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  return fails(Calls::stat) ? -1 : static_cast<int>(syscall(SYS_faccessat2, folder, path, mode, flags));
}

SEEN char* getcwd(char* path, std::size_t size) noexcept {
  if (fails(Calls::stat)) return nullptr;
  using Getcwd = char* (*)(char*, std::size_t);
  static const auto of_library = reinterpret_cast<Getcwd>(dlsym(RTLD_NEXT, "getcwd"));
  return of_library(path, size);
}

SEEN int fcntl(int file, int what, ...) {
  std::va_list arguments;
  va_start(arguments, what);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const bool is_lock = what == F_OFD_SETLK || what == F_OFD_GETLK || what == F_SETLK || what == F_GETLK;
  if (is_lock && fails(Calls::lock)) return -1;
  return static_cast<int>(syscall(SYS_fcntl, file, what, argument));
}
SEEN int fcntl64(int file, int what, ...) {
  std::va_list arguments;
  va_start(arguments, what);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return fcntl(file, what, argument);
}
SEEN int close(int file) {
  const bool is_failure = !is_standard(file) && fails(Calls::close);
  const int error_number = errno;
  const int result = static_cast<int>(syscall(SYS_close, file));
  if (!is_failure) return result;
  errno = error_number;
  return -1;
}
SEEN std::time_t time(std::time_t* to) noexcept {
  timespec now{};
  if (fails(Calls::clock) || clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (to != nullptr) *to = now.tv_sec;
  return now.tv_sec;
}

SEEN void* mmap(void* address, std::size_t length, int protection, int flags, int file, off_t offset) noexcept {
  if (fails(Calls::map)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, file, offset));
}
SEEN void* mmap64(void* address, std::size_t length, int protection, int flags, int file, off_t offset) noexcept {
  return mmap(address, length, protection, flags, file, offset);
}
SEEN int madvise(void* address, std::size_t length, int advice) noexcept {
  return fails(Calls::map) ? -1 : static_cast<int>(syscall(SYS_madvise, address, length, advice));
}
SEEN ssize_t getrandom(void* bytes, std::size_t size, unsigned flags) {
  return fails(Calls::entropy) ? -1 : syscall(SYS_getrandom, bytes, size, flags);
}

SEEN void* malloc(std::size_t size) { return is_out_of_memory() ? nullptr : __libc_malloc(size); }
SEEN void* calloc(std::size_t count, std::size_t size) { return is_out_of_memory() ? nullptr : __libc_calloc(count, size); }
SEEN void* realloc(void* memory, std::size_t size) { return is_out_of_memory() ? nullptr : __libc_realloc(memory, size); }
SEEN void* memalign(std::size_t alignment, std::size_t size) { return is_out_of_memory() ? nullptr : __libc_memalign(alignment, size); }
SEEN void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return is_out_of_memory() ? nullptr : __libc_memalign(alignment, size);
}
SEEN int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  if (is_out_of_memory()) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}

SEEN std::uint64_t faults_fail_allocation(std::uint64_t at, int always) {
  is_armed = false;
  watched = Calls::memory;
  deed = always != 0 ? Do::always : Do::fail;
  fault_at = at;
  const std::uint64_t before = counts->calls.exchange(0);
  is_armed = true;
  return before;
}
