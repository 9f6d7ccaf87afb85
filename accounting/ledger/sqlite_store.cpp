#include <surety/accounting/ledger/sqlite_store.h>

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <memory>
#include <utility>

#include <surety/accounting/ledger/ledger_contents.h>
#include <surety/base/system/new_file.h>
#include <surety/base/system/place.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>

namespace surety::accounting {
namespace {

const char* const schema = R"(
  CREATE TABLE entry (number INTEGER PRIMARY KEY, content TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT;
  CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 1), entries INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT;
)";

/// Puts `image` at `path`, complete and durable, unless something is there already: then false, and nothing has changed.
bool put(const std::string& path, std::string_view image) {
  const Place place{path};
  for (const auto suffix : database_side_files) {
    if (place.name().ends_with(suffix)) {
      invalid(fmt::format("the ledger is '{}', must not end in {}: SQLite deletes what has such a name", one_line(path), suffix));
    }
  }
  NewFile file{place, image.size()};
  file.write(image);
  // SQLite would take a journal that an earlier database left under this name for the new ledger's, and play it back into it.
  // A journal that belongs to a ledger which another process has just put here is not left over: that file is looked for last.
  for (const auto suffix : {"-journal", "-wal"}) {
    if (exists(path + suffix) && !exists(path)) {
      throw Error{ErrorCode::environment,
                  fmt::format("cannot create '{0}': '{0}{1}' is left over from another database, move it away", one_line(path), suffix)};
    }
  }
  return file.put_where_nothing_is();
}

/// Writes an entry, and the head that it makes.
void write_entry(const Connection& connection, const StoredEntry& entry) {
  const auto stored = std::bit_cast<std::int64_t>(entry.checksum);
  Statement{connection, "INSERT INTO entry (number, content, checksum) VALUES (?, ?, ?)"}
      .bind(entry.number)
      .bind(entry.content)
      .bind(stored)
      .run();
  Statement{connection, "INSERT OR REPLACE INTO head (id, entries, checksum) VALUES (1, ?, ?)"}.bind(entry.number).bind(stored).run();
}

/// The bytes of a database file that holds these entries.
std::string image_of(std::int64_t version, const std::vector<StoredEntry>& entries) {
  const Connection memory{":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
  memory.run(schema);
  memory.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", ledger_application_id, version).c_str());
  for (const auto& entry : entries) write_entry(memory, entry);
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes{sqlite3_serialize(memory.handle(), "main", &size, 0), sqlite3_free};
  if (!bytes) throw Error{ErrorCode::environment, "cannot make a ledger: out of memory"};
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
}

/// \throws unless there is a file at `path`. Only its name is looked at: opening and closing the file here would drop the
/// POSIX locks that another connection of this process holds on it.
std::string usable(const std::filesystem::path& path) {
  std::string name = full_path(path);
  struct stat status {};
  if (::stat(name.c_str(), &status) != 0) refused_by_machine(name, "open the ledger", errno);
  if (!S_ISREG(status.st_mode)) damaged(name, "it is not a file");
  if (status.st_size == 0) damaged(name, "it is empty");
  return name;
}

}  // namespace

bool exists(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR) refused_by_machine(path, "look for the ledger", errno);
  return false;
}

std::string full_path(const std::filesystem::path& path) {
  if (path.empty()) invalid("the path of the ledger is empty, must name a file");
  return std::filesystem::absolute(path).string();
}

SqliteStore::SqliteStore(const std::filesystem::path& path) : locks_{usable(path)}, connection_{full_path(path), SQLITE_OPEN_READWRITE} {
  // Hardened against a file made to confuse; see SQLite's "Defense against the dark arts". Nothing is done to another program's file.
  for (const int option : {SQLITE_DBCONFIG_DEFENSIVE, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE})
    sqlite3_db_config(connection_.handle(), option, 1, nullptr);
  if (connection_.has_write_ahead_log()) {
    if (!connection_.is_of_application(ledger_application_id)) damaged(connection_.name(), "it was written by another program");
    connection_.end_write_ahead_log();
  }
  connection_.run("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
  // EXTRA also syncs the folder after the journal is gone, which is the moment of commitment.
  connection_.run("PRAGMA synchronous = EXTRA");
  version_ = version_of_a_ledger();
}

bool SqliteStore::publish(const std::string& path, std::int64_t version, const std::vector<StoredEntry>& entries) {
  return put(path, image_of(version, entries));
}

std::int64_t SqliteStore::version_of_a_ledger() const {
  const Transaction transaction{connection_, Transaction::Access::read};
  if (integer_of(connection_, "PRAGMA application_id") != ledger_application_id)
    damaged(connection_.name(), "it was written by another program");
  const auto version = integer_of(connection_, "PRAGMA user_version");
  if (version < ledger_version_without_unit || version > ledger_version) {
    damaged(connection_.name(),
            fmt::format("its version is {}, must be from {} to {}", version, ledger_version_without_unit, ledger_version));
  }
  return version;
}

void SqliteStore::transact(Access access, const std::function<void()>& work) {
  if (connection_.has_write_ahead_log()) connection_.end_write_ahead_log();
  if (access == Access::read) {
    const Transaction transaction{connection_, Transaction::Access::read};
    return work();
  }
  if (try_to_write(work)) return;
  connection_.end_write_ahead_log();
  if (!try_to_write(work)) throw Error{ErrorCode::internal, "a write-ahead log has come back"};
}

bool SqliteStore::try_to_write(const std::function<void()>& work) {
  const Transaction transaction{connection_, Transaction::Access::write};
  if (!connection_.writes_to_the_file()) return false;
  work();
  transaction.commit();
  return true;
}

std::optional<StoredHead> SqliteStore::head() const {
  Statement head{connection_, "SELECT entries, checksum FROM head"};
  if (!head.next()) return std::nullopt;
  const StoredHead found{head.integer(0), std::bit_cast<std::uint64_t>(head.integer(1))};
  if (head.next()) return std::nullopt;
  return found;
}

std::optional<std::uint64_t> SqliteStore::checksum_of(std::int64_t number) const {
  Statement entry{connection_, "SELECT checksum FROM entry WHERE number = ?"};
  if (!entry.bind(number).next()) return std::nullopt;
  return std::bit_cast<std::uint64_t>(entry.integer(0));
}

void SqliteStore::each_after(std::int64_t number, const std::function<void(const StoredEntry&)>& take) const {
  Statement rows{connection_, "SELECT number, content, checksum FROM entry WHERE number > ? ORDER BY number"};
  rows.bind(number);
  while (rows.next()) take({rows.integer(0), rows.text(1), std::bit_cast<std::uint64_t>(rows.integer(2))});
}

void SqliteStore::show_change(std::time_t time, std::int64_t entries) noexcept {
  // The nanoseconds let backups that compare times see each entry, also where two are of one second.
  locks_.show_change({.tv_sec = time, .tv_nsec = static_cast<long>(entries % 1'000'000'000)});
}

void SqliteStore::append(const StoredEntry& entry) { write_entry(connection_, entry); }

void SqliteStore::verify() const {
  Statement check{connection_, "PRAGMA integrity_check(1)"};
  if (!check.next()) connection_.raise_damage("it could not be checked");
  if (const auto found = check.text(0); found != "ok") connection_.raise_damage(found);
}

}  // namespace surety::accounting
