// From a curve of divergences to epsilon or delta: the conversion, and the order at which it is best. docs/proofs/renyi.md.
#pragma once

#include <cmath>

#include <surety/accounting/accountants/renyi/order_bound.h>
#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting::renyi {

/// The conversion in double, for the search: what is to be made small.
struct Conversion {
  bool is_epsilon;  ///< epsilon is sought, at log delta = given; otherwise log delta, at epsilon = given
  double given;

  double operator()(double divergence, double order) const {
    const double b = order - 1;
    const double gain = std::log(b / order);
    if (is_epsilon) return divergence + gain - (given + std::log(order)) / b;
    return b * (divergence - given) + b * gain - std::log(order);
  }
};

/// The conversion with outward rounding.
[[nodiscard]] Enclosure certified_epsilon(double divergence, double order, double delta);
[[nodiscard]] Enclosure certified_delta(double divergence, double order, double epsilon);

struct OrderFound {
  double order;
  bool at_end;
};

/// The better of the order that is found on a continuum and those at which the curve is given.
[[nodiscard]] OrderFound best_order_of(const Event& event, const Curve& curve, const Conversion& conversion);

/// The best integer order; the objective falls and then rises. \throws Error{invalid_argument} unless `largest_order` is at least 2.
[[nodiscard]] OrderFound best_integer_order(const Curve& curve, const Conversion& conversion, Count largest_order);

}  // namespace surety::accounting::renyi
