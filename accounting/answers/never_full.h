// Poisson batches with a largest size that is practically never reached, bounded as Poisson batches without one.
#pragma once

#include <functional>
#include <optional>

#include <surety/accounting/answers/opinion.h>
#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// An event whose batches of a largest size are replaced by Poisson batches.
struct NeverFull {
  Event poisson;
  double share = 0;                 ///< at most the probability that any batch is full, on either data set
  bool is_attained_by_few = false;  ///< data of at most as many records as a batch holds attain the curve of `poisson`
};

/// Nothing where no batch has a largest size, where one is likely to be full, or where another release fixes the number of records.
/// \complexity microseconds a kind of release.
[[nodiscard]] std::optional<NeverFull> find_never_full(const Event& event);

/// What the proof of `with_full_batches` is made of, for a test that leaves one out.
struct NeverFullTerms {
  bool both_sides = true;  ///< the share counts for both data sets, e^epsilon times for the second
};

/// Enclosure of delta(epsilon), or epsilon(delta), of the event, from that of `poisson`; nothing where full batches may count for more than half of delta.
/// \param request an enclosure of the curve of `poisson`
/// \complexity at most three requests. \source docs/proofs/truncated.md#never-full.
[[nodiscard]] std::optional<Enclosure> with_full_batches(const NeverFull& never_full, const Question& question,
                                                         const std::function<Enclosure(const Question&)>& request,
                                                         const NeverFullTerms& terms = {});

}  // namespace surety::accounting
