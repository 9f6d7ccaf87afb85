// What the tests of laws and events share: laws in plain double arithmetic, and what the certified accountant says of an event's words.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <surety/accounting/answers/asked.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::testing {

inline constexpr auto replace = Adjacency::replace_one;
inline constexpr auto zero = Adjacency::zero_out;

inline Enclosure epsilon_of(const std::string& text, double delta, double width = 1e-4, Adjacency adjacency = replace) {
  return epsilon(Pld{.width = width}, parse_event(text, adjacency), Delta{delta});
}
inline Enclosure delta_of(const std::string& text, double epsilon, double width = 1e-4, Adjacency adjacency = replace) {
  return delta(Pld{.width = width}, parse_event(text, adjacency), Epsilon{epsilon});
}

/// What plain double arithmetic makes of a law: exact up to some 1e-12.
struct Atom {
  double loss;
  double mass;
};
inline double delta_of(const std::vector<Atom>& atoms, double epsilon) {
  double sum = 0;
  for (const auto& [loss, mass] : atoms) sum += mass * std::max(0.0, loss == infinity ? 1 : -std::expm1(epsilon - loss));
  return sum;
}

}  // namespace surety::accounting::testing
