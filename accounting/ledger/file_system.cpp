#include <surety/accounting/ledger/file_system.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include <surety/accounting/ledger/file_locks.h>
#include <surety/accounting/ledger/side_files.h>
#include <surety/base/system/uninterrupted.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

// ---- Why a call failed ----

/// Whether this thread has one. Until then nothing is made that has a destructor: where there is no memory to note it, C++ ends the process.
constinit thread_local bool has_refusal = false;

/// SQLite hands codes through, and no text.
std::string& refusal_of_thread() {
  static thread_local std::string refusal;
  return refusal;
}

/// Returns `code`, and stores `reason` for the error that the caller throws.
int refused(int code, std::string reason) {
  has_refusal = true;
  refusal_of_thread() = std::move(reason);
  return code;
}

int refused_by_system(int code, std::string_view path, int error_number) {
  return refused(code, fmt::format("'{}': {}", one_line(path), std::strerror(error_number)));
}

/// What a function for SQLite returns: no exception may pass through SQLite.
template <class Work>
int without_exceptions(const Work& work) {
  try {
    return work();
  } catch (const std::exception&) {
    return SQLITE_NOMEM;
  }
}

// ---- Files ----

/// Constructed in memory of SQLite, which knows nothing of constructors; `close_file` frees what it holds.
struct LedgerStream {
  sqlite3_file base;
  OwnDescriptor own;
  const char* path;        ///< SQLite keeps it as long as the file
  LedgerStream* database;  ///< of a file beside a database; itself for a database
  FileLock locks;
  int error_number;         ///< of the last call that the system refused, here or in a file beside it; 0 where none was
  bool folder_is_unsynced;  ///< the file may be new, and its name not on the disk yet
};
static_assert(alignof(LedgerStream) <= 8, "SQLite aligns files to 8 bytes");

LedgerStream& stream(sqlite3_file* file) { return *reinterpret_cast<LedgerStream*>(file); }

/// Returns `code`, and stores this error as the last error of the database.
int failed(LedgerStream& file, int code, int error_number) {
  file.error_number = error_number;
  if (file.database != nullptr) file.database->error_number = error_number;
  return code;
}

int read_file(sqlite3_file* asked, void* to, int amount, sqlite3_int64 offset) {
  LedgerStream& file = stream(asked);
  auto* bytes = static_cast<char*>(to);
  int done = 0;
  while (done < amount) {
    const ssize_t got = uninterrupted(
        [&] { return ::pread(file.own.get(), bytes + done, static_cast<std::size_t>(amount - done), static_cast<off_t>(offset + done)); });
    if (got < 0) return failed(file, SQLITE_IOERR_READ, errno);
    if (got == 0) break;
    done += static_cast<int>(got);
  }
  if (done == amount) return SQLITE_OK;
  // SQLite relies on zeros behind the end.
  std::memset(bytes + done, 0, static_cast<std::size_t>(amount - done));
  return SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* asked, const void* from, int amount, sqlite3_int64 offset) {
  LedgerStream& file = stream(asked);
  const auto* bytes = static_cast<const char*>(from);
  for (int done = 0; done < amount;) {
    const ssize_t put = uninterrupted(
        [&] { return ::pwrite(file.own.get(), bytes + done, static_cast<std::size_t>(amount - done), static_cast<off_t>(offset + done)); });
    if (put == 0 || (put < 0 && errno == ENOSPC)) return SQLITE_FULL;
    if (put < 0) return failed(file, SQLITE_IOERR_WRITE, errno);
    done += static_cast<int>(put);
  }
  return SQLITE_OK;
}

int truncate_file(sqlite3_file* asked, sqlite3_int64 size) {
  LedgerStream& file = stream(asked);
  if (uninterrupted([&] { return ::ftruncate(file.own.get(), static_cast<off_t>(size)); }) == 0) return SQLITE_OK;
  return failed(file, SQLITE_IOERR_TRUNCATE, errno);
}

/// Makes the names in the folder of `path` durable.
int sync_folder(std::string_view path) {
  const auto end = path.rfind('/');
  const std::string folder{end == std::string_view::npos ? "." : end == 0 ? "/" : path.substr(0, end)};
  const int descriptor = open_safely(folder, O_RDONLY | O_DIRECTORY);
  // Who may write a folder and not read it can make no name durable; SQLite leaves it at that, too.
  if (descriptor < 0) return errno == EACCES ? 0 : errno;
  const int error_number = uninterrupted([&] { return ::fsync(descriptor); }) == 0 ? 0 : errno;
  ::close(descriptor);
  return error_number;
}

int sync_file(sqlite3_file* asked, int /*flags*/) {
  LedgerStream& file = stream(asked);
  if (uninterrupted([&] { return ::fdatasync(file.own.get()); }) != 0) return failed(file, SQLITE_IOERR_FSYNC, errno);
  if (!file.folder_is_unsynced) return SQLITE_OK;
  return without_exceptions([&] {
    if (const int error_number = sync_folder(file.path); error_number != 0) return failed(file, SQLITE_IOERR_DIR_FSYNC, error_number);
    file.folder_is_unsynced = false;
    return SQLITE_OK;
  });
}

int size_of_file(sqlite3_file* asked, sqlite3_int64* size) {
  LedgerStream& file = stream(asked);
  struct stat status {};
  if (::fstat(file.own.get(), &status) != 0) return failed(file, SQLITE_IOERR_FSTAT, errno);
  *size = status.st_size;
  return SQLITE_OK;
}

/// The file beside a database that this thread closed last. SQLite closes such a file before it removes it.
struct stat& closed_by_thread() {
  static thread_local struct stat closed {};
  return closed;
}

int close_file(sqlite3_file* asked) {
  LedgerStream& file = stream(asked);
  if (file.database != &file && ::fstat(file.own.get(), &closed_by_thread()) != 0) closed_by_thread() = {};
  file.base.pMethods = nullptr;
  // Its locks end with the descriptor.
  return file.own.close() ? SQLITE_OK : SQLITE_IOERR_CLOSE;
}

/// Operations of our own have numbers above 100.
constexpr int read_header = 0x53757265;
constexpr int remove_index = 0x53757266;

bool is_there(const std::string& path, bool only_with_contents) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && (!only_with_contents || !S_ISREG(status.st_mode) || status.st_size > 0);
}

DatabaseHeader header_in(LedgerStream& file) {
  std::array<unsigned char, 100> bytes{};
  if (read_file(&file.base, bytes.data(), bytes.size(), 0) != SQLITE_OK) return {};
  DatabaseHeader header{.has_write_ahead_log = bytes[18] == 2 || bytes[19] == 2 || is_there(std::string{file.path} + "-wal", true)};
  for (std::size_t i = 68; i < 72; ++i) header.application_id = header.application_id << 8 | bytes[i];
  return header;
}

std::string names_text(nlink_t names) {
  return fmt::format(
      "it has {} names (hard links), must have one: a run that was interrupted under one name is not seen under another; remove the others, or copy the file",
      names);
}

/// SQLite asks this before it writes.
int find_move(LedgerStream& file, int* has_moved) {
  struct stat here {};
  struct stat named {};
  if (::fstat(file.own.get(), &here) != 0) return failed(file, SQLITE_IOERR_FSTAT, errno);
  *has_moved = ::lstat(file.path, &named) != 0 || named.st_dev != here.st_dev || named.st_ino != here.st_ino ? 1 : 0;
  if (*has_moved == 1) return refused(SQLITE_OK, "another file took its place while it was open, or it was moved");
  return here.st_nlink > 1 ? refused(SQLITE_IOERR_AUTH, names_text(here.st_nlink)) : SQLITE_OK;
}

int control(sqlite3_file* asked, int what, void* value) {
  LedgerStream& file = stream(asked);
  switch (what) {
    case SQLITE_FCNTL_LOCKSTATE: *static_cast<int*>(value) = file.locks.level(); return SQLITE_OK;
    case SQLITE_FCNTL_LAST_ERRNO:
      *static_cast<int*>(value) = file.error_number != 0 ? file.error_number : file.locks.error_number();
      return SQLITE_OK;
    case SQLITE_FCNTL_HAS_MOVED: return without_exceptions([&] { return find_move(file, static_cast<int*>(value)); });
    case read_header: return without_exceptions([&] { return *static_cast<DatabaseHeader*>(value) = header_in(file), SQLITE_OK; });
    case remove_index:
      return without_exceptions([&] { return static_cast<void>(::unlink((std::string{file.path} + "-shm").c_str())), SQLITE_OK; });
    default: return SQLITE_NOTFOUND;
  }
}

int lock_file(sqlite3_file* asked, int level) {
  // A transaction begins, and what refused an earlier one is history.
  if (level == SQLITE_LOCK_SHARED && has_refusal) refusal_of_thread().clear();
  return stream(asked).locks.lock(stream(asked).own.get(), level);
}

/// Of the first version: without memory that is shared with other processes, or mapped.
constexpr sqlite3_io_methods ledger_methods{
    .iVersion = 1,
    .xClose = &close_file,
    .xRead = &read_file,
    .xWrite = &write_file,
    .xTruncate = &truncate_file,
    .xSync = &sync_file,
    .xFileSize = &size_of_file,
    .xLock = &lock_file,
    .xUnlock = [](sqlite3_file* f, int level) { return stream(f).locks.unlock(stream(f).own.get(), level); },
    .xCheckReservedLock = [](sqlite3_file* f, int* found) { return stream(f).locks.check_reserved(stream(f).own.get(), found); },
    .xFileControl = &control,
    .xSectorSize = [](sqlite3_file*) { return 4096; },
    .xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; },
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

// ---- The file system ----

sqlite3_vfs* inner(sqlite3_vfs* system) { return static_cast<sqlite3_vfs*>(system->pAppData); }

/// Makes a file of a descriptor, which it takes over.
int make_file(sqlite3_file* file, int descriptor, const char* path, LedgerStream* database) {
  auto* made = new (file) LedgerStream{
      .base = {nullptr}, .own = {}, .path = path, .database = database, .locks = {}, .error_number = 0, .folder_is_unsynced = false};
  if (database == nullptr) made->database = made;
  if (!made->own.take(descriptor)) return SQLITE_NOMEM;
  made->base.pMethods = &ledger_methods;
  return SQLITE_OK;
}

bool may_not_write(int error_number) { return error_number == EACCES || error_number == EPERM || error_number == EROFS; }

int open_database(const char* path, sqlite3_file* file, int flags, int* granted) {
  refusal_of_thread().clear();
  // Not to wait for the other end of a pipe that has taken the name. SQLite has followed links already.
  constexpr int careful = O_NOFOLLOW | O_NONBLOCK;
  bool may_write = (flags & SQLITE_OPEN_READWRITE) != 0;
  int descriptor = open_safely(path, (may_write ? O_RDWR : O_RDONLY) | careful);
  if (descriptor < 0 && may_write && may_not_write(errno)) {
    may_write = false;
    descriptor = open_safely(path, O_RDONLY | careful);
  }
  if (descriptor < 0) return refused_by_system(SQLITE_CANTOPEN, path, errno);
  struct stat status {};
  const bool is_known = ::fstat(descriptor, &status) == 0;
  const int error_number = errno;
  if (const int code = make_file(file, descriptor, path, nullptr); code != SQLITE_OK) return code;
  int code = SQLITE_OK;
  if (!is_known) {
    code = refused_by_system(SQLITE_IOERR_FSTAT, path, error_number);
  } else if (!S_ISREG(status.st_mode)) {
    code = refused(SQLITE_CANTOPEN, fmt::format("'{}' is no regular file", one_line(path)));
  } else if (status.st_nlink > 1) {
    code = refused(SQLITE_CANTOPEN, names_text(status.st_nlink));
  }
  if (code != SQLITE_OK) {
    close_file(file);
    return code;
  }
  if (granted != nullptr) *granted = may_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  return SQLITE_OK;
}

int open_side_file_of(LedgerStream& database, const char* path, sqlite3_file* file, int flags, int* granted) {
  DatabaseFile ledger{.descriptor = database.own.get(), .status = {}};
  if (::fstat(ledger.descriptor, &ledger.status) != 0) {
    return refused_by_system(failed(database, SQLITE_IOERR_FSTAT, errno), database.path, errno);
  }
  const auto is_same = [](const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; };
  const auto use = (flags & SQLITE_OPEN_READWRITE) == 0 ? SideFileUse::read
                   : (flags & SQLITE_OPEN_CREATE) == 0  ? SideFileUse::write
                                                        : SideFileUse::write_or_make;
  auto opened = open_side_file(ledger, path, use);
  while (opened.descriptor < 0) {
    // SQLite takes a journal that it cannot open for one that has to be played back, and tries again when it has an exclusive lock. That is right
    // for a journal that is gone, and for the journal of somebody who is writing now: there is no exclusive lock to be had.
    if (opened.error_number == ENOENT) return SQLITE_CANTOPEN;
    if (use == SideFileUse::read) {
      int somebody_writes = 0;
      if (database.locks.check_reserved(ledger.descriptor, &somebody_writes) == SQLITE_OK && somebody_writes == 1) return SQLITE_CANTOPEN;
      // A writer removes the journal before the lock: what was there before and is there after no lock was seen belongs to no writer.
      auto again = open_side_file(ledger, path, use);
      const bool is_new = again.descriptor >= 0 || !is_same(again.status, opened.status);
      opened = std::move(again);
      if (is_new) continue;
    }
    return refused(SQLITE_IOERR_AUTH, std::move(opened.reason));
  }
  if (const int code = make_file(file, opened.descriptor, path, &database); code != SQLITE_OK) return code;
  stream(file).folder_is_unsynced = use == SideFileUse::write_or_make;
  if (granted != nullptr) *granted = flags & (SQLITE_OPEN_READWRITE | SQLITE_OPEN_READONLY);
  return SQLITE_OK;
}

int open_file(sqlite3_vfs* system, const char* path, sqlite3_file* file, int flags, int* granted) {
  file->pMethods = nullptr;
  return without_exceptions([&] {
    if ((flags & SQLITE_OPEN_MAIN_DB) != 0 && path != nullptr) return open_database(path, file, flags, granted);
    if ((flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0) {
      return open_side_file_of(stream(sqlite3_database_file_object(path)), path, file, flags, granted);
    }
    if ((flags & SQLITE_OPEN_SUPER_JOURNAL) != 0) {
      return refused(SQLITE_CANTOPEN, fmt::format("'{}' belongs to another program", one_line(path)));
    }
    // Temporary files, which SQLite removes as soon as they are open.
    return inner(system)->xOpen(inner(system), path, file, flags, granted);
  });
}

/// The path of the database beside which `path` lies, if that is what a name with this ending means; empty otherwise.
std::string_view database_of(std::string_view path, std::string_view ending) {
  return path.ends_with(ending) ? path.substr(0, path.size() - ending.size()) : std::string_view{};
}

/// Whether there is a write-ahead log. Neither that nor its index may be a file that is not trusted.
int find_log(const std::string& database, int* found) {
  struct stat status {};
  DatabaseFile ledger{.descriptor = -1, .status = {}};
  if (::lstat(database.c_str(), &ledger.status) != 0) return refused_by_system(SQLITE_IOERR_ACCESS, database, errno);
  *found = 0;
  for (const std::string_view ending : {"-wal", "-shm"}) {
    const std::string path = database + std::string{ending};
    if (::lstat(path.c_str(), &status) != 0) {
      if (errno == ENOENT) continue;
      return refused_by_system(SQLITE_IOERR_ACCESS, path, errno);
    }
    if (auto reason = why_not_used(ledger, path, status, std::nullopt)) return refused(SQLITE_IOERR_AUTH, *std::move(reason));
    if (ending == "-wal" && status.st_size > 0) *found = 1;
  }
  return SQLITE_OK;
}

int find_file(sqlite3_vfs* system, const char* path, int flags, int* found) {
  if (flags != SQLITE_ACCESS_EXISTS) return inner(system)->xAccess(inner(system), path, flags, found);
  return without_exceptions([&] {
    if (const auto database = database_of(path, "-wal"); !database.empty()) return find_log(std::string{database}, found);
    struct stat status {};
    *found = ::lstat(path, &status) == 0 ? 1 : 0;
    if (*found == 0 && errno != ENOENT) return refused_by_system(SQLITE_IOERR_ACCESS, path, errno);
    // What a journal is shows when it is opened. SQLite looks for nothing else but the journal of a transaction over several databases.
    if (!std::string_view{path}.ends_with("-journal")) {
      return refused(
          SQLITE_IOERR_AUTH,
          fmt::format(
              "another program was interrupted while writing several databases at once ('{}'); open the ledger with that program first",
              one_line(path)));
    }
    return SQLITE_OK;
  });
}

/// Empties a journal or log that has served its time. Where another user has given it a second name, its contents would outlive it, and could come
/// back under the first name as a file of this user. SQLite has written the database to the disk, and takes an empty journal for none.
void empty(const char* path) {
  const int descriptor = open_safely(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return;
  struct stat status {};
  const auto& closed = closed_by_thread();
  if (::fstat(descriptor, &status) == 0 && status.st_ino == closed.st_ino && status.st_dev == closed.st_dev) {
    static_cast<void>(!uninterrupted([&] { return ::ftruncate(descriptor, 0); }));
  }
  ::close(descriptor);
}

/// Removes a file beside a database.
int remove_file(sqlite3_vfs* /*system*/, const char* path, int sync_the_folder) {
  return without_exceptions([&] {
    empty(path);
    if (uninterrupted([&] { return ::unlink(path); }) != 0) {
      return errno == ENOENT ? SQLITE_IOERR_DELETE_NOENT : refused_by_system(SQLITE_IOERR_DELETE, path, errno);
    }
    if ((sync_the_folder & 1) == 0) return SQLITE_OK;
    if (const int error_number = sync_folder(path); error_number != 0) return refused_by_system(SQLITE_IOERR_DIR_FSYNC, path, error_number);
    return SQLITE_OK;
  });
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
  system.szOsFile = std::max(static_cast<int>(sizeof(LedgerStream)), unix_files->szOsFile);
  system.xOpen = &open_file;
  system.xDelete = &remove_file;
  system.xAccess = &find_file;
  system.xFullPathname = [](sqlite3_vfs* s, const char* path, int n, char* out) { return inner(s)->xFullPathname(inner(s), path, n, out); };
  if (sqlite3_vfs_register(&system, 0) != SQLITE_OK) throw std::bad_alloc{};
  return system.zName;
}

}  // namespace

const char* ledger_file_system() {
  static const char* const name = registered();
  return name;
}

std::string taken_refusal() {
  if (!has_refusal) return {};
  return std::exchange(refusal_of_thread(), {});
}

DatabaseHeader header_of(sqlite3* connection) {
  DatabaseHeader header;
  sqlite3_file_control(connection, "main", read_header, &header);
  return header;
}

void remove_shared_memory(sqlite3* connection) { sqlite3_file_control(connection, "main", remove_index, nullptr); }

}  // namespace surety::accounting
