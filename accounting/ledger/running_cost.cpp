#include <surety/accounting/ledger/running_cost.h>

#include <cmath>
#include <limits>

#include <surety/accounting/events/format.h>
#include <surety/base/numbers/floating_point.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t wide = 256;
constexpr double infinite_price = std::numeric_limits<double>::infinity();

/// At most 1 - 1e-6 of a limit, so that the answer is that of the filter, whose own sum is rounded otherwise.
double reduced(double limit) { return (Interval{limit, wide} * Interval{1 - 0x1p-19, wide}).enclosure().lower; }

}  // namespace

void RunningCost::Sum::add(double count, double price) {
  if (std::isfinite(price)) {
    finite = finite + Interval{count, wide} * Interval{price, wide};
  } else {
    infinite = infinite + Interval{count, wide};
  }
}

bool RunningCost::Sum::is_at_most(double limit) const { return infinite.compare(0) <= 0 && finite.compare(limit) < 0; }

RunningCost::RunningCost(const Budget& budget, const Releases& counted)
    : filter_{budget},
      limit_{0},
      epsilon_limit_{0},
      sums_{.cost = {Interval{0, wide}, Interval{0, wide}},
            .epsilon = {Interval{0, wide}, Interval{0, wide}},
            .delta = {Interval{0, wide}, Interval{0, wide}}} {
  const StandardFloatingPoint environment;
  limit_ = reduced(filter_.limit().lower);
  epsilon_limit_ = reduced(budget.target.epsilon.value());
  add(counted);
}

const RunningCost::Price& RunningCost::price_of(const Event& leaf) {
  auto text = describe(leaf);
  if (const auto known = prices_.find(text); known != prices_.end()) return known->second;
  const auto one = Releases::of(leaf);
  Price price{.cost = filter_.spent(one).upper, .epsilon = infinite_price, .delta = filter_.spent_delta(one).upper};
  if (const auto epsilon = filter_.spent_epsilon(one)) price.epsilon = epsilon->upper;
  return prices_.emplace(std::move(text), price).first->second;
}

void RunningCost::add(Sums& sums, const Releases& releases, double sign) {
  const StandardFloatingPoint environment;
  for (const auto& entry : releases.entries()) {
    const auto& price = price_of(entry.leaf);
    const double count = sign * static_cast<double>(entry.count.value());
    sums.cost.add(count, price.cost);
    sums.epsilon.add(count, price.epsilon);
    sums.delta.add(count, price.delta);
  }
}

void RunningCost::add(const Releases& releases) { add(sums_, releases, 1); }

void RunningCost::subtract(const Releases& releases) { add(sums_, releases, -1); }

bool RunningCost::surely_admits(const Releases& more) {
  Sums sums = sums_;
  add(sums, more, 1);
  const StandardFloatingPoint environment;
  if (filter_.budget().filter == FilterKind::renyi && sums.epsilon.is_at_most(epsilon_limit_)) return true;
  return sums.cost.is_at_most(limit_) &&
         (filter_.budget().filter != FilterKind::basic || sums.delta.is_at_most(filter_.budget().target.delta.value()));
}

}  // namespace surety::accounting
