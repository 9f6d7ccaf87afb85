// Certified roots. A root finder works on values that may be in doubt near the root, so its answer is a guess: certain are only points at
// which a bound says on which side of the root they lie. Whoever needs certainty asks there, and steps outward until the answer is one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <surety/base/numbers/enclosure.h>

namespace surety {

/// Two points with a change of sign between them, or twice the same one where the function is 0.
struct RootBracket {
  double low;
  double high;
  [[nodiscard]] double middle() const { return low + (high - low) / 2; }
};

/// Narrows a change of sign to a relative 2^(1 - bits), or as far as `evaluations` go. Nothing about it is certain but the signs that
/// `function` gave. \pre function(low) and function(high) differ in sign or one of them is 0.
/// \source [APS95] Alefeld, Potra, Shi: Algorithm 748.
[[nodiscard]] RootBracket narrow_root(const std::function<double(double)>& function, double low, double high, int bits,
                                      std::uintmax_t evaluations);
/// The same with the values at both ends, until `near` holds of the two points.
[[nodiscard]] RootBracket narrow_root(const std::function<double(double)>& function, double low, double high, double at_low, double at_high,
                                      const std::function<bool(double, double)>& near, std::uintmax_t evaluations);
/// Whether two points agree to a relative 2^(1 - bits): a `near` for the above.
[[nodiscard]] bool agree_to(int bits, double a, double b);

/// The first of `candidates` at which `holds`: candidate(0), candidate(1), ..., up to the first that is nothing.
[[nodiscard]] std::optional<double> first_certain(const std::function<bool(double)>& holds,
                                                  const std::function<std::optional<double>(int)>& candidate);

/// On which side of a root a point lies: certain (+1 before, -1 at or beyond it, 0 in doubt), and how far, in any increasing measure
/// that is positive before the root.
struct SideOfRoot {
  int certain;
  double distance;
};

/// Encloses the point where `side` turns from + to -. The ends are certified by `side` itself, not by the root finder: within a relative
/// 2^-50 of its guess where `side` is certain that near, else as near as it is, at the worst `before` and `beyond`.
/// \pre side(before) is + and side(beyond) is -, both greater than 0.
[[nodiscard]] Enclosure enclose_root(const std::function<SideOfRoot(double)>& side, double before, double beyond);

/// A point at which a falling function is at most `target`, within a relative 1e-9 of the first such one where there is no other:
/// doubling from 1, then bisection. 1e300 or more where the function stays above.
[[nodiscard]] double where_it_falls_to(double target, const std::function<double(double)>& falling);

}  // namespace surety
