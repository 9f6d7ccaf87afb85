// A run of a ledger: what it planned, how it ended, and what it costs. What charged and counted mean says ledger.h.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>

namespace surety::accounting {

/// Names a run within its ledger: 1, 2, 3, ... in the order of reservation.
struct RunId {
  std::uint64_t value;
  friend auto operator<=>(const RunId&, const RunId&) = default;
};

/// How it was decided that a run ends.
///   data_independent  the releases that were made, and their number, are a function of public values only: the plan was
///                     finished, a fixed number of steps was done, a signal came from outside
///   adaptive          a function of earlier releases too, such as stopping when a released loss no longer falls
enum class Stopping { data_independent, adaptive };

[[nodiscard]] std::string_view name(Stopping stopping);
/// The inverse of `name`. \throws Error{invalid_argument} listing the names.
[[nodiscard]] Stopping parse_stopping(std::string_view text);

/// What a run may release at most, and what is said about it.
struct Plan {
  Event event;
  UnitOfPrivacy unit = {};                       ///< what is protected; that of the ledger
  std::optional<Target> promise = std::nullopt;  ///< what the run was said to cost; recorded, compared by an audit
  std::string note = {};                         ///< for people; bytes that are not UTF-8 become U+FFFD
  bool not_private = false;                      ///< the noise was a replay with a known seed: no guarantee holds
};

/// The end of a run, as written.
struct Settlement {
  std::string time;               ///< of the reservation: how long a run took is nobody's business; in ledgers of 0.1.0 of the settlement
  std::optional<Event> released;  ///< nothing when the run ended before its first release
  Stopping stopping;
};

/// A run, as written.
struct Run {
  RunId id;
  std::string created;  ///< UTC, ISO 8601
  Plan plan;
  std::optional<Settlement> settlement;  ///< nothing while the run is reserved: running, or killed

  /// What an audit adds up, and what a budget counts (see the table above); nothing when it is free.
  [[nodiscard]] std::optional<Event> charged() const;
  [[nodiscard]] std::optional<Event> counted() const;
};

}  // namespace surety::accounting
