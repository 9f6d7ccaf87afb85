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
// Version 1, of Surety 0.1.0, has no "unit": it protects one row. Nothing else differs, so runs are added to such a file as they are, and
// it stays one of version 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/events/releases.h>
#include <surety/accounting/events/unit.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/ledger/store.h>

namespace surety::accounting {

/// Of the entries. Stores write it down: the version of an SQLite file is this one.
constexpr std::int64_t ledger_version = 2;
constexpr std::int64_t ledger_version_without_unit = 1;

[[nodiscard]] std::string open_entry(Adjacency adjacency, const UnitOfPrivacy& unit);
[[nodiscard]] std::string budget_entry(const Budget& budget);
[[nodiscard]] std::string reserve_entry(const Plan& plan);
[[nodiscard]] std::string settle_entry(RunId run, const std::optional<Event>& released, Stopping stopping);

/// What the first `entries` entries amount to.
struct LedgerContents {
  std::optional<Adjacency> adjacency;  ///< nothing only before the first entry was read
  UnitOfPrivacy unit;
  bool says_unit = false;
  std::optional<Budget> budget;
  std::vector<Run> runs;
  std::optional<Releases> charged;  ///< by all runs together; nothing as `adjacency`
  std::optional<Releases> counted;
  std::int64_t entries = 0;
  std::uint64_t checksum = 0;
  /// The event that was read last, by its JSON: runs often repeat each other, and reading an event takes longer than all else.
  std::optional<std::pair<std::string, Event>> last_event;

  /// Takes the next entry into account. Leaves everything as it was when it throws.
  /// \throws Error{invalid_argument} or a JSON exception when it makes no sense there.
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
