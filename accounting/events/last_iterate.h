// The Gaussian release that the last iterate of noisy descent costs. With s how far one record moves the map of a step, tau the standard deviation of the
// noise and z = tau / s, the last iterate is mu-Gaussian differentially private with mu = f / z. The functions here compute f^2.
#pragma once

#include <optional>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting {

/// f^2 of `steps` steps on all data with maps of Lipschitz constant c: (1 - c^T) / (1 + c^T) (1 + c) / (1 - c), or T where c = 1. Linear maps attain it.
/// An interval of relative width some 2^(8 - precision). \pre precision >= 64. \complexity microseconds.
/// \source docs/proofs/last-iterate.md#closed-forms, [BSA24].
[[nodiscard]] Interval last_iterate_squared(Count steps, LipschitzConstant constant, mpfr_prec_t precision);

/// An upper bound of f^2 in a convex set of diameter d s: the least of the former and ((1 - c^n) / (1 - c) + c^n d)^2 (1 - c^2) / (1 - c^(2 n)) for n below
/// the steps. f is at least 1. The interval contains the bound for one n, which is best or nearly so.
/// \pre, \source as above. \complexity some 10 microseconds.
[[nodiscard]] Interval last_iterate_within_squared(Diameter diameter, Count steps, LipschitzConstant constant, mpfr_prec_t precision);

/// f^2 of so many passes over so many public batches, a record in one batch of each pass. Linear maps attain it.
/// \pre, \complexity, \source as above.
[[nodiscard]] Interval last_iterate_of_passes_squared(Count passes, Count batches, LipschitzConstant constant, mpfr_prec_t precision);

/// f^2 of one pass over public batches of these sizes: the largest 1 / (B^2 n) over the steps, n of them from this step on. Linear maps attain it.
/// \pre, \source as above. \complexity O(pairs of sizes).
[[nodiscard]] Interval last_iterate_of_batches_squared(const BatchSizes& sizes, mpfr_prec_t precision);

/// The step of a last iterate and f^2; nothing for other kinds of events.
struct LastIterateCost {
  Event step;        ///< a gaussian or record_sum
  Interval squared;  ///< f^2, or of last_iterate_within an upper bound of it, above 1
  bool is_attained;  ///< some maps attain f, so the event costs that Gaussian release exactly
};
[[nodiscard]] std::optional<LastIterateCost> last_iterate_cost(const Event& event, mpfr_prec_t precision);

/// Noise multipliers of two Gaussian releases, of a last iterate: it costs at most the one of the lower end, and at least the one of the upper end.
/// Nothing for other kinds of events.
[[nodiscard]] std::optional<Enclosure> last_iterate_multipliers(const Event& event);

}  // namespace surety::accounting
