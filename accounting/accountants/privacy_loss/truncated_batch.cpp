#include <surety/accounting/accountants/privacy_loss/truncated_batch.h>

#include <algorithm>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/numbers/interval.h>

namespace surety::accounting::privacy_loss {
namespace {

constexpr mpfr_prec_t batch_precision = 128;
constexpr double most_terms = 1e7;

Interval exactly(double value) { return {value, batch_precision}; }

double probability(double x) { return std::clamp(x, 0.0, 1.0); }
Enclosure probability_of(const Interval& x) {
  const Enclosure found = x.enclosure();
  return {probability(found.lower), probability(found.upper)};
}

}  // namespace

TruncatedBatch truncated_batch(SamplingRate rate, Batches batches) {
  const StandardFloatingPoint environment;
  const auto others = static_cast<double>(batches.records().value() - 1);
  const auto largest = static_cast<double>(batches.size().value());
  const double terms = std::min(others, largest + others * rate.value() + 1e4);
  if (!(terms <= most_terms)) {
    throw Error{ErrorCode::unsupported, fmt::format("privacy-loss: a batch of at most {} of {} records at rate {} has too many sizes",
                                                    batches.size().value(), batches.records().value(), rate.value())};
  }
  const Interval q = exactly(rate.value());
  const Interval one = exactly(1);
  // b(N) = C(others, N) q^N (1 - q)^(others - N); at q = 1 all are drawn.
  const bool all = rate.value() == 1;
  const Interval odds = all ? exactly(0) : q / (one - q);
  Interval b = all ? exactly(0) : exp(exactly(others) * log1p(-q));
  Interval below = exactly(0);  // b(0) + ... + b(largest - 2)
  Interval at = exactly(0);     // b(largest - 1)
  Interval above = exactly(0);  // b(largest) + ...
  Interval kept = exactly(0);   // the sum of b(N) largest / (N + 1) over N >= largest
  if (all) {
    (others < largest - 1 ? below : others == largest - 1 ? at : above) = one;
    if (others >= largest) kept = exactly(largest) / exactly(others + 1);
  } else {
    for (double n = 0; n <= others; ++n) {
      if (n < largest - 1) {
        below = below + b;
      } else if (n == largest - 1) {
        at = b;
      } else {
        above = above + b;
        kept = kept + b * exactly(largest) / exactly(n + 1);
      }
      if (n == others) break;
      const Interval growth = exactly(others - n) / exactly(n + 1) * odds;
      b = b * growth;
      // What is left is at most a geometric series of falling ratio.
      const double ratio = growth.enclosure().upper;
      if (n >= largest && ratio < 0.5 && b.approximate_log() < above.approximate_log() - 100) {
        const Interval rest = hull(exactly(0), b * exactly(2));
        above = above + rest;
        kept = kept + hull(exactly(0), b * exactly(2));
        break;
      }
    }
  }
  const Interval drawn_last = q * kept;  // drawn, and one of `largest` that stay of more
  const Interval last = at + drawn_last;
  return {.roomy = probability_of(below),
          .last = probability_of(last),
          .last_rate = probability_of((at * q + drawn_last) / last),
          .full = probability_of(above - drawn_last),
          .crowded = probability_of(above),
          .rate = probability_of((below + at) * q + drawn_last)};
}

double largest_crowded_rate(SamplingRate rate, Batches batches) {
  const StandardFloatingPoint environment;
  const auto largest = static_cast<double>(batches.size().value());
  return probability((exactly(rate.value()) * exactly(largest) / exactly(largest + 1)).enclosure().upper);
}

}  // namespace surety::accounting::privacy_loss
