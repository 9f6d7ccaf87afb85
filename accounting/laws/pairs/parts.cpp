#include <surety/accounting/laws/pairs/parts.h>

#include <algorithm>
#include <limits>

#include <surety/accounting/numbers/rounding.h>

namespace surety::accounting::privacy_loss {

LossLaw nothing() { return LossLaw{AtomsBase{{{0, 1}}, 0, 0}}; }

Enclosure largest_of(const Parts& parts) {
  double lower = 0;
  double upper = 0;
  bool is_unbounded = false;
  const double rounding = 4 * unit_roundoff * static_cast<double>(parts.size() + 2);
  for (const auto& part : parts) {
    const double count = static_cast<double>(part.count);
    const auto most = largest_loss(part.upper);
    upper += most ? count * most->upper * (1 + rounding) : infinity;
    if (!part.lower) continue;
    const auto least = largest_loss(*part.lower);
    is_unbounded = is_unbounded || !least;
    lower += least ? count * least->lower * (1 - rounding) : 0;
  }
  // A finite sum beyond the range of double is at least its largest number.
  lower = is_unbounded ? infinity : std::min(lower, std::numeric_limits<double>::max());
  return {std::min(lower, upper), upper};
}

double count_of(const Parts& parts) {
  double total = 0;
  for (const auto& part : parts) total += static_cast<double>(part.count);
  return total;
}

}  // namespace surety::accounting::privacy_loss
