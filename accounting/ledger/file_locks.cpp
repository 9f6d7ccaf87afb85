#include <surety/accounting/ledger/file_locks.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>
#include <string>

#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

// ---- Descriptors that hold locks ----

/// A place for one, never freed, so that the copy of a process can walk through all of them whatever its other threads were doing.
struct Place {
  std::atomic<int> descriptor = -1;
  Place* next = nullptr;
};
std::atomic<Place*> places{nullptr};

/// \returns nothing where there is no memory.
Place* place_for(int descriptor) {
  for (Place* at = places.load(); at != nullptr; at = at->next) {
    if (int free = -1; at->descriptor.compare_exchange_strong(free, descriptor)) return at;
  }
  auto* made = new (std::nothrow) Place{descriptor, places.load()};
  if (made == nullptr) return nullptr;
  while (!places.compare_exchange_weak(made->next, made)) {
  }
  return made;
}

/// In the copy of a process: a lock ends when the last copy of its descriptor is closed.
void close_all() {
  for (Place* at = places.load(); at != nullptr; at = at->next) {
    if (const int descriptor = at->descriptor.exchange(-1); descriptor >= 0) ::close(descriptor);
  }
}

// ---- The file ----

/// Where an inner file may begin.
constexpr std::size_t alignment = alignof(std::max_align_t);

struct File {
  sqlite3_file base;
  Place* place;
  int level;
  int error_number;  ///< of the last lock that failed, 0 where none did
};
constexpr std::size_t inner_offset = (sizeof(File) + alignment - 1) / alignment * alignment;

File& ours(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
sqlite3_file* inner(sqlite3_file* file) { return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + inner_offset); }
const sqlite3_io_methods& methods(sqlite3_file* file) { return *inner(file)->pMethods; }

struct Range {
  off_t first;
  off_t count;
};
constexpr Range pending_byte{0x40000000, 1};
constexpr Range reserved_byte{pending_byte.first + 1, 1};
constexpr Range pending_and_reserved{pending_byte.first, 2};
constexpr Range shared_bytes{pending_byte.first + 2, 510};
constexpr Range all_bytes{pending_byte.first, 512};

struct flock lock_of(const Range& range, short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = range.first;
  lock.l_len = range.count;
  return lock;
}

/// SQLITE_OK, SQLITE_BUSY where somebody's lock is in the way, or `failure`.
int set(File& file, const Range& range, short kind, int failure) {
  auto lock = lock_of(range, kind);
  if (::fcntl(file.place->descriptor, F_OFD_SETLK, &lock) == 0) return SQLITE_OK;
  if (errno == EAGAIN || errno == EACCES) return SQLITE_BUSY;
  file.error_number = errno;
  return failure;
}

int take_shared(File& file) {
  // Whoever waits for readers to leave holds this one: no new ones come in.
  if (const int code = set(file, pending_byte, F_RDLCK, SQLITE_IOERR_LOCK); code != SQLITE_OK) return code;
  const int code = set(file, shared_bytes, F_RDLCK, SQLITE_IOERR_LOCK);
  const int freed = set(file, pending_byte, F_UNLCK, SQLITE_IOERR_UNLOCK);
  if (code != SQLITE_OK) return code;
  if (freed != SQLITE_OK) {
    set(file, all_bytes, F_UNLCK, SQLITE_IOERR_UNLOCK);
    return freed;
  }
  file.level = SQLITE_LOCK_SHARED;
  return SQLITE_OK;
}

/// \pre SQLite asks for shared from none, for more from shared or above, and never for pending.
int lock(sqlite3_file* asked, int level) {
  File& file = ours(asked);
  if (file.level >= level) return SQLITE_OK;
  if (level == SQLITE_LOCK_SHARED) return take_shared(file);
  if (level == SQLITE_LOCK_RESERVED) {
    const int code = set(file, reserved_byte, F_WRLCK, SQLITE_IOERR_LOCK);
    if (code == SQLITE_OK) file.level = level;
    return code;
  }
  if (file.level < SQLITE_LOCK_PENDING) {
    if (const int code = set(file, pending_byte, F_WRLCK, SQLITE_IOERR_LOCK); code != SQLITE_OK) return code;
    file.level = SQLITE_LOCK_PENDING;
  }
  const int code = set(file, shared_bytes, F_WRLCK, SQLITE_IOERR_LOCK);
  if (code == SQLITE_OK) file.level = SQLITE_LOCK_EXCLUSIVE;
  return code;
}

/// \pre to shared or none
int unlock(sqlite3_file* asked, int level) {
  File& file = ours(asked);
  if (file.level <= level) return SQLITE_OK;
  if (level == SQLITE_LOCK_SHARED) {
    // First the shared bytes, which a reader needs, and no writer may get in between.
    if (file.level > SQLITE_LOCK_RESERVED) {
      if (set(file, shared_bytes, F_RDLCK, SQLITE_IOERR_RDLOCK) != SQLITE_OK) return SQLITE_IOERR_RDLOCK;
    }
    if (const int code = set(file, pending_and_reserved, F_UNLCK, SQLITE_IOERR_UNLOCK); code != SQLITE_OK) return code;
  } else if (const int code = set(file, all_bytes, F_UNLCK, SQLITE_IOERR_UNLOCK); code != SQLITE_OK) {
    return code;
  }
  file.level = level;
  return SQLITE_OK;
}

int check_reserved(sqlite3_file* asked, int* found) {
  File& file = ours(asked);
  *found = file.level >= SQLITE_LOCK_RESERVED ? 1 : 0;
  if (*found == 1) return SQLITE_OK;
  auto lock = lock_of(reserved_byte, F_WRLCK);
  if (::fcntl(file.place->descriptor, F_OFD_GETLK, &lock) != 0) {
    file.error_number = errno;
    return SQLITE_IOERR_CHECKRESERVEDLOCK;
  }
  *found = lock.l_type != F_UNLCK ? 1 : 0;
  return SQLITE_OK;
}

int close_inner(sqlite3_file* file) {
  const int code = inner(file)->pMethods != nullptr ? methods(file).xClose(inner(file)) : SQLITE_OK;
  file->pMethods = nullptr;
  return code;
}

int close_file(sqlite3_file* asked) {
  // Its locks end with the descriptor. One less in the list first: another thread may get the same number at once.
  if (const int descriptor = ours(asked).place->descriptor.exchange(-1); descriptor >= 0) ::close(descriptor);
  return close_inner(asked);
}

int control(sqlite3_file* asked, int what, void* value) {
  const File& file = ours(asked);
  if (what == SQLITE_FCNTL_LOCKSTATE) {
    *static_cast<int*>(value) = file.level;
    return SQLITE_OK;
  }
  if (what == SQLITE_FCNTL_LAST_ERRNO && file.error_number != 0) {
    *static_cast<int*>(value) = file.error_number;
    return SQLITE_OK;
  }
  return methods(asked).xFileControl(inner(asked), what, value);
}

/// All but locks is the inner file's.
constexpr sqlite3_io_methods locked_methods{
    .iVersion = 3,
    .xClose = &close_file,
    .xRead = [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) { return methods(f).xRead(inner(f), to, n, at); },
    .xWrite = [](sqlite3_file* f, const void* from, int n, sqlite3_int64 at) { return methods(f).xWrite(inner(f), from, n, at); },
    .xTruncate = [](sqlite3_file* f, sqlite3_int64 size) { return methods(f).xTruncate(inner(f), size); },
    .xSync = [](sqlite3_file* f, int flags) { return methods(f).xSync(inner(f), flags); },
    .xFileSize = [](sqlite3_file* f, sqlite3_int64* size) { return methods(f).xFileSize(inner(f), size); },
    .xLock = &lock,
    .xUnlock = &unlock,
    .xCheckReservedLock = &check_reserved,
    .xFileControl = &control,
    .xSectorSize = [](sqlite3_file* f) { return methods(f).xSectorSize(inner(f)); },
    .xDeviceCharacteristics = [](sqlite3_file* f) { return methods(f).xDeviceCharacteristics(inner(f)); },
    .xShmMap = [](sqlite3_file* f, int page, int size, int extend,
                  void volatile** at) { return methods(f).xShmMap(inner(f), page, size, extend, at); },
    .xShmLock = [](sqlite3_file* f, int first, int n, int flags) { return methods(f).xShmLock(inner(f), first, n, flags); },
    .xShmBarrier = [](sqlite3_file* f) { methods(f).xShmBarrier(inner(f)); },
    .xShmUnmap = [](sqlite3_file* f, int remove) { return methods(f).xShmUnmap(inner(f), remove); },
    .xFetch = [](sqlite3_file* f, sqlite3_int64 at, int n, void** to) { return methods(f).xFetch(inner(f), at, n, to); },
    .xUnfetch = [](sqlite3_file* f, sqlite3_int64 at, void* from) { return methods(f).xUnfetch(inner(f), at, from); },
};

// ---- The file system ----

sqlite3_vfs* inner(sqlite3_vfs* system) { return static_cast<sqlite3_vfs*>(system->pAppData); }

/// The file that was opened is still the one of that name: the two descriptors are of one file.
bool is_at(const char* name, int descriptor) {
  struct stat of_descriptor {};
  struct stat of_name {};
  return ::fstat(descriptor, &of_descriptor) == 0 && ::stat(name, &of_name) == 0 && of_descriptor.st_dev == of_name.st_dev &&
         of_descriptor.st_ino == of_name.st_ino;
}

int open_locked(sqlite3_vfs* system, const char* name, sqlite3_file* file, int flags, int* granted) {
  // First ours: where the name is the same file's afterwards, what SQLite opened between the two is that file, too.
  const bool asks_to_write = (flags & SQLITE_OPEN_READWRITE) != 0;
  int descriptor = ::open(name, (asks_to_write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  const bool may_write = asks_to_write && descriptor >= 0;
  if (descriptor < 0 && asks_to_write) descriptor = ::open(name, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return SQLITE_CANTOPEN;
  Place* const place = place_for(descriptor);
  if (place == nullptr) {
    ::close(descriptor);
    return SQLITE_NOMEM;
  }
  ours(file) = {{&locked_methods}, place, SQLITE_LOCK_NONE, 0};
  inner(file)->pMethods = nullptr;
  const int opened_for = may_write ? flags : (flags & ~SQLITE_OPEN_READWRITE) | SQLITE_OPEN_READONLY;
  const int code = inner(system)->xOpen(inner(system), name, inner(file), opened_for & ~SQLITE_OPEN_CREATE, granted);
  if (code == SQLITE_OK && is_at(name, descriptor)) return SQLITE_OK;
  close_file(file);
  return code == SQLITE_OK ? SQLITE_CANTOPEN : code;
}

/// Databases alone are locked: a journal is its database's.
int open_file(sqlite3_vfs* system, const char* name, sqlite3_file* file, int flags, int* granted) {
  if ((flags & SQLITE_OPEN_MAIN_DB) != 0 && name != nullptr) return open_locked(system, name, file, flags, granted);
  return inner(system)->xOpen(inner(system), name, file, flags, granted);
}

/// \throws as ledger_file_system.
const char* registered() {
  sqlite3_vfs* const unix_files = sqlite3_vfs_find("unix");
  if (unix_files == nullptr) throw Error{ErrorCode::environment, "SQLite has no file system 'unix', which ledgers are kept in"};
  static sqlite3_vfs system = *unix_files;
  // Two copies of this library may share one SQLite.
  static const std::string name = fmt::format("surety-ledger-{}", static_cast<const void*>(&system));
  system.pNext = nullptr;
  system.zName = name.c_str();
  system.pAppData = unix_files;
  system.szOsFile = static_cast<int>(inner_offset) + unix_files->szOsFile;
  system.xOpen = &open_file;
  system.xDelete = [](sqlite3_vfs* s, const char* path, int sync) { return inner(s)->xDelete(inner(s), path, sync); };
  system.xAccess = [](sqlite3_vfs* s, const char* path, int flags, int* out) { return inner(s)->xAccess(inner(s), path, flags, out); };
  system.xFullPathname = [](sqlite3_vfs* s, const char* path, int n, char* out) { return inner(s)->xFullPathname(inner(s), path, n, out); };
  if (const int error_number = ::pthread_atfork(nullptr, nullptr, &close_all); error_number != 0) throw std::bad_alloc{};
  if (sqlite3_vfs_register(&system, 0) != SQLITE_OK) throw std::bad_alloc{};
  return system.zName;
}

}  // namespace

const char* ledger_file_system() {
  static const char* const name = registered();
  return name;
}

}  // namespace surety::accounting
