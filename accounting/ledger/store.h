// Where the entries of a ledger are kept. What they mean, and what may be written, is the ledger's; a store keeps them, in order and durably,
// lets one writer in at a time, and knows which runs are alive. SQLite is the first store (sqlite_store.h).
//
// A store that damages what it keeps is noticed: every entry carries a checksum over itself and all before it, the head says how many there are,
// and the ledger adds up what is charged from the entries that it has verified, never from a total that a store says. It is believed in that
// what it acknowledged is durable, and in which runs are alive. The checksum has no key: a store that forges is not noticed.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>

namespace surety::accounting {

/// What was written, as `number` 1, 2, 3, ...
struct StoredEntry {
  std::int64_t number;
  std::string content;
  std::uint64_t checksum;
};

/// How many entries there are, and the checksum of the last one: written with each entry, so that a lost end is noticed.
struct StoredHead {
  std::int64_t entries;
  std::uint64_t checksum;
  friend bool operator==(const StoredHead&, const StoredHead&) = default;
};

class LedgerStore {
 public:
  enum class Access { read, write };

  LedgerStore() = default;
  LedgerStore(const LedgerStore&) = delete;
  LedgerStore& operator=(const LedgerStore&) = delete;
  virtual ~LedgerStore() = default;

  /// Names the store in messages: the path of a file.
  [[nodiscard]] virtual const std::string& name() const = 0;

  /// Runs `work` on one consistent state. With `write` nobody else writes from its start on, and what it appended is there, durably, once this
  /// has returned; when `work` throws, nothing was written. It is run once. Not to be nested, nor called by two threads at a time.
  /// \throws Error{environment} when the machine refuses, Error{damaged_ledger}; what `work` throws.
  virtual void transact(Access access, const std::function<void()>& work) = 0;

  // ---- Within transact ----

  /// Nothing where there is no single one.
  [[nodiscard]] virtual std::optional<StoredHead> head() const = 0;
  /// Nothing where there is no such entry.
  [[nodiscard]] virtual std::optional<std::uint64_t> checksum_of(std::int64_t number) const = 0;
  /// Hands all entries of a greater number to `take`, in their order.
  virtual void each_after(std::int64_t number, const std::function<void(const StoredEntry&)>& take) const = 0;
  /// Adds an entry and writes the head that it makes. \pre access is `write`.
  virtual void append(const StoredEntry& entry) = 0;
  /// Shows `time` as that of the last change, wherever the store shows one, with something in it that differs for each number of `entries`; does
  /// nothing where it shows none or is not allowed to. \pre access is `write`.
  virtual void show_change(std::time_t /*time*/, std::int64_t /*entries*/) noexcept {}
  /// Looks through what is kept for damage of the store's own kind. \throws Error{damaged_ledger}.
  virtual void verify() const {}

  // ---- Which runs are alive; at any time, by any thread ----

  /// Makes the run a living one until `release`, or until the process is gone; false when it is one already, wherever.
  [[nodiscard]] virtual bool hold(std::uint64_t run) = 0;
  /// \pre held by this object.
  virtual void release(std::uint64_t run) noexcept = 0;
};

/// \throws Error{damaged_ledger}.
[[noreturn]] void damaged(const std::string& name, const std::string& reason);
/// \throws Error{environment} with the system's words for `error_number`.
[[noreturn]] void refused_by_machine(const std::string& path, const std::string& action, int error_number);

}  // namespace surety::accounting
