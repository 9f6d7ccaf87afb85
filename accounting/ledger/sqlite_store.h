// A ledger in a file of its own: an append-only table in an SQLite database. For use by the ledger.
//
// The file format. `application_id` ("Sure") and `user_version` stand at fixed places in the first page of the file.
//
//   entry  the log: number 1, 2, 3, ...; content; checksum
//   head   one row: the number of entries and the checksum of the last one
//
// A rollback journal, not a write-ahead log: between transactions the file alone holds everything, so whoever copies or moves it loses no
// charge.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <surety/accounting/ledger/database.h>
#include <surety/accounting/ledger/run_locks.h>
#include <surety/accounting/ledger/store.h>

namespace surety::accounting {

constexpr std::int64_t ledger_application_id = 0x53757265;

class SqliteStore final : public LedgerStore {
 public:
  /// Opens the ledger at `path`, for reading alone where it may not be written.
  /// \throws Error{damaged_ledger} for what is no ledger; Error{environment} when there is nothing.
  explicit SqliteStore(const std::filesystem::path& path);

  /// Puts a ledger of these entries at `path`, complete and durable, unless something is there already: then false, and nothing has changed.
  [[nodiscard]] static bool publish(const std::string& path, std::int64_t version, const std::vector<StoredEntry>& entries);

  /// The version that the file says.
  [[nodiscard]] std::int64_t version() const { return version_; }

  [[nodiscard]] const std::string& name() const override { return connection_.name(); }
  void transact(Access access, const std::function<void()>& work) override;
  [[nodiscard]] std::optional<StoredHead> head() const override;
  [[nodiscard]] std::optional<std::uint64_t> checksum_of(std::int64_t number) const override;
  void each_after(std::int64_t number, const std::function<void(const StoredEntry&)>& take) const override;
  void append(const StoredEntry& entry) override;
  void show_change(std::time_t time, std::int64_t entries) noexcept override;
  void verify() const override;
  [[nodiscard]] bool hold(std::uint64_t run) override { return locks_.hold(run); }
  void release(std::uint64_t run) noexcept override { locks_.release(run); }

 private:
  [[nodiscard]] std::int64_t version_of_a_ledger() const;
  /// False when what would be written does not go to the file; nothing was done then.
  [[nodiscard]] bool try_to_write(const std::function<void()>& work);

  RunLocks locks_;  // before the connection: its descriptor may be closed only afterwards
  Connection connection_;
  std::int64_t version_ = 0;
};

/// An absolute path, since SQLite gives ":memory:" and the like a meaning of their own. \throws Error{invalid_argument} when it is empty.
[[nodiscard]] std::string full_path(const std::filesystem::path& path);

/// Whether there is anything at `path`, be it a link that leads nowhere. \throws Error{environment} where the system does not say.
[[nodiscard]] bool exists(const std::string& path);

}  // namespace surety::accounting
