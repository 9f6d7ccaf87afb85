// What the curves of the Renyi accountant are: an upper bound of the divergence at each order.
#pragma once

#include <functional>

#include <surety/base/numbers/bound.h>

namespace surety::accounting::renyi {

/// Below every answer: what may have been lost to underflow.
inline constexpr double tiny = 1e-290;

/// What is to be computed: the order a, and how small, as e^-digits, the relative error of the divergence should be.
struct At {
  double order;
  double digits;
};
inline constexpr double rough = 17;
inline constexpr double fine = 30;

/// An upper bound of D_order.
struct OrderBound {
  double divergence;
  bool exact;
};
using Curve = std::function<OrderBound(At)>;

/// order - 1 from both sides: exact up to order 2^53, and rounded beyond it.
struct LessOne {
  Upper above;
  Lower below;
};
inline LessOne less_one(double order) {
  const double b = order - 1;
  return order <= 0x1p53 ? LessOne{Exact{b}, Exact{b}} : LessOne{Upper::rounded(b), Lower::rounded(b)};
}

}  // namespace surety::accounting::renyi
