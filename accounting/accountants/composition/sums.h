// Sums over promises that the theorems share.
#pragma once

#include <span>

#include <surety/accounting/accountants/composition/promise.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting::composing {

inline constexpr mpfr_prec_t precision = 256;

[[nodiscard]] inline Interval number(double value) { return {value, precision}; }
[[nodiscard]] inline Interval count_of(const Promise& promise) { return number(static_cast<double>(promise.count.value())); }
[[nodiscard]] inline Interval zero() { return number(0); }

[[nodiscard]] inline Interval sum_of_epsilons(std::span<const Promise> promises) {
  Interval sum = zero();
  for (const auto& promise : promises) sum = sum + count_of(promise) * number(promise.epsilon.value());
  return sum;
}
[[nodiscard]] inline Interval sum_of_deltas(std::span<const Promise> promises) {
  Interval sum = zero();
  for (const auto& promise : promises) sum = sum + count_of(promise) * number(promise.delta.value());
  return sum;
}

}  // namespace surety::accounting::composing
