#include <surety/accounting/accountants/renyi/best_order.h>

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/renyi/release_curves.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/text/error.h>

namespace surety::accounting::renyi {
namespace {

/// The best order a = 1 + e^s; the objective falls and then rises in s.
OrderFound best_order(const Curve& curve, const Conversion& conversion) {
  const double low = std::log(1e-6);
  const double high = std::log(1e6);
  const auto objective = [&](double s) {
    const double order = 1 + std::exp(s);
    const double value = conversion(curve({order, rough}).divergence, order);
    return std::isfinite(value) ? value : std::numeric_limits<double>::max();
  };
  // A start from the curve near order 2, as if it were that of a Gaussian.
  const double rho = std::max(curve({2, rough}).divergence / 2, 1e-300);
  const double guess = conversion.is_epsilon ? std::sqrt(-conversion.given / rho) : (conversion.given / rho - 1) / 2;
  double middle = std::clamp(std::log(std::max(guess, 1e-6)), low, std::log(64.0));
  double value = objective(middle);
  double step = 0.7;
  // Where the curve ends before that, nearer to 1.
  while (value == std::numeric_limits<double>::max() && middle > low) {
    middle = std::max(low, middle - step);
    value = objective(middle);
  }
  double left = std::max(low, middle - step);
  double right = std::min(high, middle + step);
  double left_value = left < middle ? objective(left) : infinity;
  double right_value = right > middle ? objective(right) : infinity;
  while (left_value < value && left > low) {
    right = middle;
    middle = left;
    value = left_value;
    left = std::max(low, left - (step *= 1.5));
    left_value = objective(left);
  }
  while (right_value < value && right < high) {
    left = middle;
    middle = right;
    value = right_value;
    right = std::min(high, right + (step *= 1.5));
    right_value = objective(right);
  }
  if (left == low && left_value <= value && left_value <= right_value) middle = left;
  if (right == high && right_value < value) middle = right;
  std::uintmax_t evaluations = 40;
  auto found = boost::math::tools::brent_find_minima(objective, left, right, 17, evaluations);
  double s = found.first;
  if (objective(middle) < found.second) s = middle;
  const bool at_end = s - low < 1e-2 || high - s < 1e-2;
  return {1 + std::exp(s), at_end};
}

/// The orders at which a curve is given: it has corners there, and nothing beyond the last one.
void add_orders(const Event& event, std::vector<double>& all) {
  std::visit(
      [&](const auto& kind) {
        if constexpr (std::is_same_v<std::decay_t<decltype(kind)>, Event::RenyiCurve>) {
          for (const auto& [order, bound] : kind.bounds.all()) all.push_back(order);
        } else if constexpr (requires { kind.events; }) {
          for (const auto& part : kind.events) add_orders(part, all);
        } else if constexpr (requires { kind.event; }) {
          add_orders(kind.event, all);
        }
      },
      event.node());
}

}  // namespace

Enclosure certified_epsilon(double divergence, double order, double delta) {
  if (!std::isfinite(divergence)) return at_most(infinity);
  const Interval a = number(order);
  const Interval b = number(order - 1);
  const Interval bound = number(divergence) + log(b) - log(a) - (log(number(delta)) + log(a)) / b;
  return at_most(upper(bound));
}
Enclosure certified_delta(double divergence, double order, double epsilon) {
  if (!std::isfinite(divergence)) return at_most(1);
  const Interval a = number(order);
  const Interval b = number(order - 1);
  const Interval log_delta = b * (number(divergence) - number(epsilon)) + b * (log(b) - log(a)) - log(a);
  return at_most(std::min(1.0, upper(exp(log_delta))));
}

OrderFound best_order_of(const Event& event, const Curve& curve, const Conversion& conversion) {
  OrderFound found = best_order(curve, conversion);
  std::vector<double> given;
  add_orders(event, given);
  constexpr std::size_t most_given = 1000;
  if (given.size() > most_given) given.resize(most_given);
  const auto value = [&](double order) {
    const double at = conversion(curve({order, rough}).divergence, order);
    return std::isfinite(at) ? at : std::numeric_limits<double>::max();
  };
  double least = given.empty() ? 0 : value(found.order);
  for (const double order : given) {
    const double at = value(order);
    if (at < least) {
      least = at;
      found = {order, false};
    }
  }
  return found;
}

OrderFound best_integer_order(const Curve& curve, const Conversion& conversion, Count largest_order) {
  if (largest_order < Count{2}) {
    throw Error{ErrorCode::invalid_argument, fmt::format("largest order is {}, must be at least 2", largest_order.value())};
  }
  const auto objective = [&](std::uint64_t order) {
    const double a = static_cast<double>(order);
    return conversion(curve({a, fine}).divergence, a);
  };
  std::uint64_t low = 2;
  std::uint64_t high = largest_order.value();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const double here = objective(middle);
    if (here < infinity && objective(middle + 1) < here) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {static_cast<double>(low), low == 2 || low == largest_order.value()};
}

}  // namespace surety::accounting::renyi
