// What the entries of a ledger say, and what they amount to, wherever they are kept. For use by the ledger.
//
// The content of an entry is one JSON object whose only field says what happened.
//
// An entry is one of
//   {"open": {"time", "adjacency", "unit"}}                                    the first, and only the first
//   {"budget": {"time", "epsilon", "delta", "filter"}}                         at most one, before any run; of a renyi filter also "order"
//   {"reserve": {"time", "event", "promise", "note", "not_private"}}           promise: null or {"epsilon", "delta"}
//   {"settle": {"time", "run", "released", "stopping"}}                        released: null or an event
//
// The time of a settlement is that of its run's reservation: nothing tells how long a run took, for that tells how often a search ran whose
// privacy rests on its being secret (docs/trust.md#time). Surety 0.1.0 wrote the time at which it settled.
//
// Version 1, of Surety 0.1.0, has no "unit": it protects one row. In version 2 a unit of owners does not say its rule (unit.h), in version 3 it
// does; a ledger of rows is still of version 2. Nothing else differs, so runs are added to such a file as they are, and it stays of its version.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <surety/accounting/events/releases.h>
#include <surety/accounting/events/unit.h>
#include <surety/accounting/ledger/filter.h>
#include <surety/accounting/ledger/run.h>
#include <surety/accounting/ledger/running_cost.h>
#include <surety/accounting/ledger/store.h>

namespace surety::accounting {

/// Of the entries. Stores write it down: the version of an SQLite file is this one.
constexpr std::int64_t ledger_version = 3;
constexpr std::int64_t ledger_version_without_rule = 2;
constexpr std::int64_t ledger_version_without_unit = 1;

/// The oldest version that can say this unit.
[[nodiscard]] std::int64_t version_of(const UnitOfPrivacy& unit) noexcept;

[[nodiscard]] std::string open_entry(Adjacency adjacency, const UnitOfPrivacy& unit);
[[nodiscard]] std::string budget_entry(const Budget& budget);
/// \param time as `utc_text` writes it
[[nodiscard]] std::string reserve_entry(const Plan& plan, const std::string& time);
/// \param time of the run's reservation
[[nodiscard]] std::string settle_entry(RunId run, const std::string& time, const std::optional<Event>& released, Stopping stopping);

/// Seconds since 1970. \throws Error{environment} where the clock cannot be read.
[[nodiscard]] std::time_t present_time();

/// UTC, ISO 8601, to the second.
[[nodiscard]] std::string utc_text(std::time_t time);
/// The inverse, of what `utc_text` wrote; nothing of anything else.
[[nodiscard]] std::optional<std::time_t> time_of_text(const std::string& text);

/// What the first `entries` entries amount to.
struct LedgerContents {
  std::optional<Adjacency> adjacency;  ///< nothing only before the first entry was read
  UnitOfPrivacy unit;
  std::int64_t version = 0;  ///< that its first entry is of
  std::optional<Budget> budget;
  std::vector<Run> runs;
  std::optional<Releases> charged;  ///< by all runs together; nothing as `adjacency`
  std::optional<Releases> counted;
  std::string last_time;  ///< of the last entry that is no settlement
  std::int64_t entries = 0;
  std::uint64_t checksum = 0;
  /// Some of the events that were read, by their JSON: runs often repeat each other, and reading an event takes longer than all else.
  std::map<std::string, Event> known_events;
  /// Of what is counted, from the first admission under a budget on; nothing where a price failed, which the filter then reports.
  mutable std::optional<RunningCost> cost;

  /// What is counted becomes other. The running cost follows.
  void count(const Releases& releases);
  void count_no_more(const Releases& releases);

  /// Takes the next entry into account. Leaves everything as it was when it throws.
  /// \throws Error{invalid_argument} when it makes no sense there; exceptions of the JSON library are translated where entries are read.
  void take(const std::string& entry);
};

/// Brings `contents` up to the store: empty ones by all entries, others by those that came later. Everything that is read is verified, and
/// that the last entry of `contents` is still the one it was. \pre within `transact`, so that it is one state of the store.
/// \throws Error{damaged_ledger}; `contents` then hold what was verified before.
void read_on(const LedgerStore& store, LedgerContents& contents);

/// The entry that follows `last` with this content.
[[nodiscard]] StoredEntry entry_after(const StoredHead& last, std::string content);

/// The entries of a ledger without runs.
[[nodiscard]] std::vector<StoredEntry> first_entries(Adjacency adjacency, const UnitOfPrivacy& unit, const std::optional<Budget>& budget);

/// \throws Error{invalid_argument} unless a run with this plan can be settled so.
void require_part(const Run& run, const std::optional<Event>& released);

}  // namespace surety::accounting
