#include <surety/accounting/accountants/closed_form/largest_loss.h>

#include <variant>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t precision_of_sum = 128;

// Proved: docs/proofs/closed-form.md#largest-loss
/// The scale of Laplace noise or noise shaped like a norm; nothing for other kinds.
std::optional<double> scale_of_norm(const Event& leaf) {
  if (const auto scale = pairwise_scale(leaf)) return scale->value();
  if (const auto* noise = std::get_if<Event::KNorm>(&leaf.node())) return noise->scale.value();
  return std::nullopt;
}

}  // namespace

std::optional<Enclosure> sum_of_largest_losses(const Event& plain) {
  Interval sum{0, precision_of_sum};
  for (const auto& [leaf, count] : Releases::of(plain).entries()) {
    const auto scale = scale_of_norm(leaf);
    if (!scale) return std::nullopt;
    sum = sum + Interval{static_cast<double>(count.value()), precision_of_sum} / Interval{*scale, precision_of_sum};
  }
  return sum.enclosure();
}
// Proved so far.

}  // namespace surety::accounting
