// The accountants that take curves of others, asked with those of all others.
#pragma once

#include <surety/accounting/answers/asking.h>
#include <surety/accounting/answers/best.h>

namespace surety::accounting {

/// As participation.h says.
[[nodiscard]] Enclosure delta(const Participation& accountant, const Event& event, Epsilon epsilon);
[[nodiscard]] Enclosure epsilon(const Participation& accountant, const Event& event, Delta delta);

/// See pld/pld.h.
[[nodiscard]] Enclosure delta(const Pld& accountant, const Event& event, Epsilon epsilon);
[[nodiscard]] Enclosure epsilon(const Pld& accountant, const Event& event, Delta delta);
[[nodiscard]] std::optional<Refusal> why_not(const Pld& accountant, const Event& event);
[[nodiscard]] inline bool supports(const Pld& accountant, const Event& event) { return !why_not(accountant, event); }

/// As tuning.h says.
[[nodiscard]] Enclosure delta(const Tuning& accountant, const Event& event, Epsilon epsilon);
[[nodiscard]] Enclosure epsilon(const Tuning& accountant, const Event& event, Delta delta);
[[nodiscard]] std::optional<Refusal> why_not(const Tuning& accountant, const Event& event);
[[nodiscard]] inline bool supports(const Tuning& accountant, const Event& event) { return !why_not(accountant, event); }
[[nodiscard]] std::vector<CurvePoint> tuning_curve(const Event& event, std::size_t points);

/// As asking.h says.
[[nodiscard]] Opinion opinion_of(AccountantPlace accountant, const Event& event, const Question& question, const Effort& effort,
                                 const PldRequest& request = {});

}  // namespace surety::accounting
