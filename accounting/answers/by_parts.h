// Basic composition of what an event is made of, each part by whichever accountant knows it best: for events whose parts no one computation takes.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include <surety/accounting/answers/opinion.h>
#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// The different releases of an event, each with all its repetitions; nothing where there is one alone, or there are so many that to ask about each
/// of them takes long.
[[nodiscard]] std::optional<std::vector<Event>> few_parts(const Event& event);

/// Whether what is known is so wide that the parts may add up to less: its upper end is far above its lower one, and above what tests of the parts
/// say that the parts add up to at least. \complexity some 100 tests a part.
[[nodiscard]] bool may_add_up_to_less(const std::vector<Event>& parts, const Question& question, const Enclosure& known);

/// At most epsilon(delta), or delta(epsilon), of all parts together: the sum over the parts, each at its share of what is given, for the best of
/// several shares. `ask`: an enclosure for a part. Nothing where a part has no answer, and where that is not less than `below`.
/// \complexity some questions a part. \source docs/proofs/composition.md#by-parts.
[[nodiscard]] std::optional<double> by_parts(const std::vector<Event>& parts, const Question& question,
                                             const std::function<Enclosure(const Event& part, const Question& at)>& ask,
                                             double below = std::numeric_limits<double>::infinity());

}  // namespace surety::accounting
