// What a search asks of an event: its certified cost, whoever gives it.
#pragma once

#include <functional>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/base/numbers/enclosure.h>

namespace surety {

/// The curve that a search uses: certified cost of one event. accounting/calibration/best_cost.h has that of all accountants.
struct CostFunctions {
  std::function<Enclosure(const Event&, Epsilon)> delta;
  std::function<Enclosure(const Event&, Delta)> epsilon;
  /// How exact the last answer was, as a share of epsilon: a search need not be finer. Exact where there is no such function.
  std::function<double()> resolution = nullptr;
  /// The cost to be told of at the end, at the target's delta; `epsilon` where there is no such function.
  std::function<Enclosure(const Event&)> report = nullptr;
  /// epsilon at the target's delta as an account of the event returns it. A search over real numbers moves its value outward by at most a hundredth until
  /// this upper bound meets the target, too, in at most three steps. Nothing where that is expensive.
  std::function<Enclosure(const Event&)> account = nullptr;
};

}  // namespace surety
