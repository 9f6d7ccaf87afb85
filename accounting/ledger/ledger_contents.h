// What the entries of a ledger file say, and what they amount to. For use by the ledger.
//
// The file format. `application_id` ("Sure") and `user_version` stand at fixed places in the first page of the file.
//
//   entry  the log: number 1, 2, 3, ...; content, one JSON object whose only field says what happened; checksum
//   head   one row: the number of entries and the checksum of the last one, so that a lost end of the log is noticed
//
// An entry is one of
//   {"open": {"time", "adjacency", "unit"}}                                    the first, and only the first
//   {"budget": {"time", "epsilon", "delta", "filter"}}                         at most one, before any run
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

#include <surety/accounting/ledger/database.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/events/unit.h>

namespace surety::accounting {

constexpr std::int64_t ledger_application_id = 0x53757265;
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

/// Brings `contents` up to the file: empty ones by all entries, others by those that came later. Everything that is read is verified, and
/// that the last entry of `contents` is still the one it was. \pre within a transaction, so that it is one state of the file.
/// \throws Error{damaged_ledger}; `contents` then hold what was verified before.
void read_on(const Connection& connection, LedgerContents& contents);

/// Adds an entry to the file. \pre within a writing transaction, with `contents` read in it.
void append_entry(const Connection& connection, const LedgerContents& contents, const std::string& entry);

/// The bytes of a database file that holds a ledger without runs.
[[nodiscard]] std::string first_image(Adjacency adjacency, const UnitOfPrivacy& unit, const std::optional<Budget>& budget);

/// \throws Error{invalid_argument} unless a run with this plan can be settled so.
void require_part(const Run& run, const std::optional<Event>& released);

}  // namespace surety::accounting
