#include <surety/accounting/laws/pairs/parts.h>

#include <algorithm>
#include <limits>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::privacy_loss {

LossLaw nothing() { return LossLaw{AtomsBase{{{0, 1}}, 0, 0}}; }

Enclosure largest_of(const Parts& parts) {
  Lower all_least{0};
  Upper all_most{0};
  bool is_unbounded = false;
  for (const auto& part : parts) {
    const Exact count{static_cast<double>(part.count)};
    const auto most = largest_loss(part.upper);
    if (!most || most->upper != 0) all_most += most ? count * Upper{Exact{most->upper}} : Upper{Exact{infinity}};
    if (!part.lower) continue;
    const auto least = largest_loss(*part.lower);
    is_unbounded = is_unbounded || !least;
    if (least && least->lower != 0) all_least += count * Lower{Exact{least->lower}};
  }
  // A finite sum beyond the range of double is at least its largest number.
  const double lower = is_unbounded ? infinity : std::min(all_least.value(), std::numeric_limits<double>::max());
  return {std::min(lower, all_most.value()), all_most.value()};
}

double count_of(const Parts& parts) {
  double total = 0;
  for (const auto& part : parts) total += static_cast<double>(part.count);
  return total;
}

}  // namespace surety::accounting::privacy_loss
