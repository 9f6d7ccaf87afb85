// The audit: what a ledger proves, from the ledger alone.
//
// Definitions:
//   kept    the certified upper bound of what a run is charged meets what the run promised
//   broken  it does not: either more was spent, or nobody can prove that it was not
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <surety/accounting/ledger/ledger.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

struct RunAudit {
  Run run;
  std::optional<Enclosure> epsilon;  ///< cost of what is charged, at the promise's delta, as Audit::epsilon; nothing without a promise
  std::optional<Enclosure> delta;    ///< likewise, at the promise's epsilon
  std::optional<bool> kept;          ///< nothing without a promise
  /// The promise is broken, and holds a law under replace-one, which earlier versions composed in one order of the neighbours: what they recorded was
  /// too low. docs/proofs/given.md#orders.
  bool recorded_in_one_order = false;

  /// What is said of that, for people.
  static constexpr std::string_view in_one_order =
      "the recorded cost is too low: earlier versions composed a law under replace-one in one order of the neighbours, but each release may have its own";
};

struct Audit {
  Adjacency adjacency;
  UnitOfPrivacy unit;  ///< what every promise protects
  Delta delta;
  std::vector<RunAudit> runs;
  std::optional<Event> event;        ///< everything that is charged; nothing when nothing is
  Enclosure epsilon;                 ///< its cost at `delta`; the upper end is infinity when noise was replayed
  Enclosure epsilon_of_fresh_noise;  ///< the same if all noise had been drawn by SystemBits: for experiments with replayed noise
  std::string_view accountant;       ///< whose bound that is
  Enclosure independent;             ///< the tightest bound by another accountant; of `nobody` where none knows the event: up to infinity
  static constexpr std::string_view nobody = "nobody";
  std::string_view independent_accountant;
  bool not_private;                ///< some run drew noise that is not secret
  std::optional<Balance> balance;  ///< of the budget, where the ledger has one
  bool kept;                       ///< every promise and the budget are kept, and all noise was secret
};

/// The delta of the budget, or without one the largest of the promises; nothing where there is neither.
[[nodiscard]] std::optional<Delta> promised_delta(const Ledger& ledger);

/// Reads `ledger` and accounts for it: every run against its own promise, and all runs together at `delta`.
/// \throws as Ledger::runs; Error{unsupported} naming an event that no accountant here has a theorem for; Error{internal} when
///         the two accountants contradict each other.
[[nodiscard]] Audit audit(const Ledger& ledger, Delta delta);

}  // namespace surety::accounting
