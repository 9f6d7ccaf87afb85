#include <surety/accounting/laws/cells/parts.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {

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

std::optional<Parts> in_orders_by_turns(const Parts& parts) {
  Parts found;
  bool is_first = true;
  bool any = false;
  for (const auto& part : parts) {
    if (!part.other_order) {
      found.push_back(part);
      continue;
    }
    any = true;
    // What is left of an odd number takes its turn with that of the parts before.
    const std::uint64_t half = part.count / 2;
    const std::uint64_t as_it_is = half + (part.count % 2 == 1 && is_first ? 1 : 0);
    if (part.count % 2 == 1) is_first = !is_first;
    ReleaseLaws other = part;
    other.count = part.count - as_it_is;
    std::swap(other.lower, other.other_order);
    if (as_it_is > 0) {
      found.push_back(part);
      found.back().count = as_it_is;
    }
    if (other.count > 0) found.push_back(std::move(other));
  }
  return any ? std::optional{std::move(found)} : std::nullopt;
}

Parts with_a_last_order(Parts parts) {
  std::optional<std::size_t> last;
  double most = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].last_order) continue;
    const auto loss = largest_loss(parts[i].upper);
    const double size = loss ? loss->upper : infinity;
    if (last && !(size > most)) continue;
    last = i;
    most = size;
  }
  if (!last) return parts;
  ReleaseLaws one = parts[*last];
  one.lower = one.last_order;
  one.count = 1;
  if (--parts[*last].count == 0) parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(*last));
  parts.push_back(std::move(one));
  return parts;
}

double count_of(const Parts& parts) {
  double total = 0;
  for (const auto& part : parts) total += static_cast<double>(part.count);
  return total;
}

}  // namespace surety::accounting::laws
