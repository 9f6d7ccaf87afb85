#include <surety/accounting/accountants/closed_form/largest_loss.h>

#include <variant>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/laws/shuffled/shuffled_curve.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

Interval in_digits(double value) { return {value, 128}; }

// Proved: docs/proofs/closed-form.md#largest-loss
/// Of Laplace noise, noise shaped like a norm, and shuffled reports; nothing for other kinds.
std::optional<Interval> largest_loss(const Event& leaf) {
  if (const auto scale = pairwise_scale(leaf)) return in_digits(1) / in_digits(scale->value());
  if (const auto* noise = std::get_if<Event::KNorm>(&leaf.node())) return in_digits(1) / in_digits(noise->scale.value());
  if (!laws::is_shuffle(leaf)) return std::nullopt;
  const auto largest = laws::LocalRandomizer::of(leaf).largest_loss();
  if (!(largest.upper < infinity)) return std::nullopt;
  return hull(in_digits(largest.lower), in_digits(largest.upper));
}

}  // namespace

std::optional<Enclosure> sum_of_largest_losses(const Event& plain) {
  Interval sum = in_digits(0);
  for (const auto& [leaf, count] : Releases::of(plain).entries()) {
    const auto largest = largest_loss(leaf);
    if (!largest) return std::nullopt;
    sum = sum + in_digits(static_cast<double>(count.value())) * *largest;
  }
  return sum.enclosure();
}
// Proved so far.

}  // namespace surety::accounting
