#include <surety/accounting/ledger/file_locks.h>

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include <surety/base/system/uninterrupted.h>

namespace surety::accounting {
namespace {

// ---- Descriptors that hold locks ----

/// Room for one, never freed, so that the copy of a process can walk through all of them whatever its other threads were doing.
struct Slot {
  std::atomic<int> descriptor = -1;
  Slot* next = nullptr;
};
std::atomic<Slot*> slots{nullptr};

/// \returns nothing where there is no memory.
Slot* slot_for(int descriptor) {
  for (Slot* at = slots.load(); at != nullptr; at = at->next) {
    if (int free = -1; at->descriptor.compare_exchange_strong(free, descriptor)) return at;
  }
  auto* made = new (std::nothrow) Slot{descriptor, slots.load()};
  if (made == nullptr) return nullptr;
  while (!slots.compare_exchange_weak(made->next, made)) {
  }
  return made;
}

/// In the copy of a process.
void close_all() {
  for (Slot* at = slots.load(); at != nullptr; at = at->next) {
    if (const int descriptor = at->descriptor.exchange(-1); descriptor >= 0) ::close(descriptor);
  }
}

struct flock lock_at(off_t first, off_t count, short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  lock.l_len = count;
  return lock;
}

int locked_by(int descriptor, int operation, struct flock& lock) {
  return uninterrupted([&] { return ::fcntl(descriptor, operation, &lock); });
}

}  // namespace

bool OwnDescriptor::take(int descriptor) {
  static const bool closes_in_copies = [] {
    if (::pthread_atfork(nullptr, nullptr, &close_all) != 0) throw std::bad_alloc{};
    return true;
  }();
  static_cast<void>(closes_in_copies);
  Slot* const found = slot_for(descriptor);
  if (found == nullptr) {
    ::close(descriptor);
    return false;
  }
  place = &found->descriptor;
  return true;
}

bool OwnDescriptor::close() {
  // One less in the list first: another thread may get the same number at once.
  const int descriptor = place == nullptr ? -1 : place->exchange(-1);
  place = nullptr;
  // Linux closes the descriptor also where a signal came.
  return descriptor < 0 || ::close(descriptor) == 0 || errno == EINTR;
}

struct FileLock::Range {
  off_t first;
  off_t count;
  static const Range pending, reserved, pending_and_reserved, shared, all;
};
constexpr FileLock::Range FileLock::Range::pending{0x40000000, 1};
constexpr FileLock::Range FileLock::Range::reserved{0x40000001, 1};
constexpr FileLock::Range FileLock::Range::pending_and_reserved{0x40000000, 2};
constexpr FileLock::Range FileLock::Range::shared{0x40000002, 510};
constexpr FileLock::Range FileLock::Range::all{0x40000000, 512};

/// SQLITE_OK, SQLITE_BUSY where somebody's lock is in the way, or `failure`.
int FileLock::set(int descriptor, const Range& range, short kind, int failure) {
  auto lock = lock_at(range.first, range.count, kind);
  if (locked_by(descriptor, F_OFD_SETLK, lock) == 0) return SQLITE_OK;
  if (errno == EAGAIN || errno == EACCES) return SQLITE_BUSY;
  error_number_ = errno;
  return failure;
}

int FileLock::take_shared(int descriptor) {
  // Whoever waits for readers to leave holds this one: no new ones come in.
  if (const int code = set(descriptor, Range::pending, F_RDLCK, SQLITE_IOERR_LOCK); code != SQLITE_OK) return code;
  const int code = set(descriptor, Range::shared, F_RDLCK, SQLITE_IOERR_LOCK);
  const int freed = set(descriptor, Range::pending, F_UNLCK, SQLITE_IOERR_UNLOCK);
  if (code != SQLITE_OK) return code;
  if (freed != SQLITE_OK) {
    set(descriptor, Range::all, F_UNLCK, SQLITE_IOERR_UNLOCK);
    return freed;
  }
  level_ = SQLITE_LOCK_SHARED;
  return SQLITE_OK;
}

int FileLock::lock(int descriptor, int level) {
  if (level_ >= level) return SQLITE_OK;
  if (level == SQLITE_LOCK_SHARED) return take_shared(descriptor);
  if (level == SQLITE_LOCK_RESERVED) {
    const int code = set(descriptor, Range::reserved, F_WRLCK, SQLITE_IOERR_LOCK);
    if (code == SQLITE_OK) level_ = level;
    return code;
  }
  if (level_ < SQLITE_LOCK_PENDING) {
    if (const int code = set(descriptor, Range::pending, F_WRLCK, SQLITE_IOERR_LOCK); code != SQLITE_OK) return code;
    level_ = SQLITE_LOCK_PENDING;
  }
  const int code = set(descriptor, Range::shared, F_WRLCK, SQLITE_IOERR_LOCK);
  if (code == SQLITE_OK) level_ = SQLITE_LOCK_EXCLUSIVE;
  return code;
}

int FileLock::unlock(int descriptor, int level) {
  if (level_ <= level) return SQLITE_OK;
  if (level == SQLITE_LOCK_SHARED) {
    // First the shared bytes, which a reader needs, and no writer may get in between.
    if (level_ > SQLITE_LOCK_RESERVED) {
      if (set(descriptor, Range::shared, F_RDLCK, SQLITE_IOERR_RDLOCK) != SQLITE_OK) return SQLITE_IOERR_RDLOCK;
    }
    if (const int code = set(descriptor, Range::pending_and_reserved, F_UNLCK, SQLITE_IOERR_UNLOCK); code != SQLITE_OK) return code;
  } else if (const int code = set(descriptor, Range::all, F_UNLCK, SQLITE_IOERR_UNLOCK); code != SQLITE_OK) {
    return code;
  }
  level_ = level;
  return SQLITE_OK;
}

int FileLock::check_reserved(int descriptor, int* found) {
  *found = level_ >= SQLITE_LOCK_RESERVED ? 1 : 0;
  if (*found == 1) return SQLITE_OK;
  auto lock = lock_at(Range::reserved.first, Range::reserved.count, F_WRLCK);
  if (locked_by(descriptor, F_OFD_GETLK, lock) != 0) {
    error_number_ = errno;
    return SQLITE_IOERR_CHECKRESERVEDLOCK;
  }
  *found = lock.l_type != F_UNLCK ? 1 : 0;
  return SQLITE_OK;
}

}  // namespace surety::accounting
