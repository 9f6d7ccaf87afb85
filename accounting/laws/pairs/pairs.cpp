#include <surety/accounting/laws/pairs/pairs.h>

#include <surety/accounting/laws/pairs/parts_of_event.h>

namespace surety::accounting::laws {

BothDirections both_directions(const Event& event, const LeafCurves& others, double tilt, Reach reach, bool from_above) {
  BothDirections directions;
  PartsOfEvent{directions, others, tilt, reach, from_above}.visit(event, 1);
  return directions;
}

void require_searches_stand_alone(const std::vector<Event>& parts) { require_no_part_is_one_search(parts); }

std::optional<Refusal> why_no_pairs(const Event& event, const LeafCurves& others) {
  // An answer asks this of every search that stands alone, so it is no exception.
  if (auto refusal = why_no_pair_of_search(event)) return refusal;
  return refusal_thrown_by(event, [&] { static_cast<void>(both_directions(event, others, 1, Reach::none)); });
}

}  // namespace surety::accounting::laws
