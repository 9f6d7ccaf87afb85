// What a run released of what it planned, and what that means to a user over several periods.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::jobs {

/// Events as a ledger writes them, so that one release is one text everywhere: gaussian(2), not repeat(1, gaussian(2)).
[[nodiscard]] std::string as_charged(const Event& event);

struct Released {
  std::string planned;
  std::string event;  ///< "nothing", or as charged
  Enclosure epsilon;  ///< at the promise's delta
};
/// \param plan, epsilon what was planned, and its cost. \throws as `accounting::quick_epsilon` where something else was released
[[nodiscard]] Released released_by(const accounting::Reservation& reservation, const Event& plan, const Enclosure& epsilon, Delta delta);

/// Upper bounds of epsilon for a user with units in at most so many periods.
struct PeriodBound {
  std::uint64_t periods;
  std::optional<double>
      of_one_run;  ///< of `users(periods, event)`, where the run reads all periods at once; nothing where no group theorem is known
  std::optional<double>
      of_run_each{};  ///< of `repeat(periods, event)`, where so many runs read the rows of one period each; nothing where no bound is known
};

/// Bounds for a week, a month and a year of days.
struct OverPeriods {
  static constexpr std::array<std::uint64_t, 3> numbers{7, 31, 365};
  std::vector<std::string> user;  ///< the other columns of the unit
  std::string period;             ///< the column of periods
  double delta;
  std::vector<PeriodBound> bounds;
};

/// \param period one of the unit's columns; nothing: so is the result. Infinite bounds are those of a delta that is too small for so many periods.
/// \throws Error{internal} where two accountants contradict each other. \complexity six answers of `best_epsilon`
/// \source docs/proofs/units.md#periods
[[nodiscard]] std::optional<OverPeriods> over_periods(const UnitOfPrivacy& unit, const std::optional<std::string>& period,
                                                      const Event& event, Delta delta);

/// Report lines "over time", one for each number of periods.
[[nodiscard]] std::string report_lines(const OverPeriods& over);
/// {"user": ["user"], "period": "day", "delta": 0, "bounds": [{"periods": 7, "of_one_run": 7, "of_run_each": 7}, ...]}: a bound that is not known is null, an
/// infinite one "infinity".
[[nodiscard]] nlohmann::json to_json(const OverPeriods& over);

}  // namespace surety::jobs
