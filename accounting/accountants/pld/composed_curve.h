// The composed law: many releases on one grid, by tilted convolution, as two curves that enclose delta(epsilon).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <surety/accounting/laws/cells/parts.h>
#include <surety/accounting/laws/cells/tilted_law.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/base/numbers/index_tests.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::pld {

/// delta(epsilon) of a composed law on a grid, from a tilted convolution. In units of e^(log_scale - s (loss)).
class ComposedCurve {
 public:
  std::vector<double> plain;     // B_j = sum over i >= j of c_i e^(-(s + 1) (i - j) step)
  std::vector<double> weighted;  // D_j = sum over i >= j of c_i e^(-s (i - j) step) (1 - e^(-(i - j) step))
  std::vector<double> kept;      // c_i, where they are asked for
  long double start = 0;         // loss of entry 0
  long double log_scale = 0;
  TiltedGrid grid{};
  double relative = 0;       // relative error of plain and weighted, and of their scale
  double scale_error = 0;    // relative, of the scale alone
  double entry_error = 0;    // of each c
  double wrapped_right = 0;  // bounds on the tilted mass outside the window
  double wrapped_left = 0;
  long double faded = 0;          // bound on what the images from the left add to delta: they lie at least the window's length too high
  long double beyond = 0;         // bound on delta's part from beyond the end of the window
  long double log_total = 0;      // log of a bound on the tilted mass
  long double infinite_less = 0;  // bounds on the mass at infinite loss
  long double infinite_more = 0;

  /// `relative` and what bounds all entries. \pre grid and scale_error are set.
  void accumulate(std::vector<double> entries);

  [[nodiscard]] long double loss(std::size_t j) const { return start + static_cast<long double>(j) * static_cast<long double>(grid.step); }
  [[nodiscard]] std::size_t size() const { return plain.size(); }

  /// delta at `below` under the loss of entry j, 0 <= below <= step, without what is infinite or outside the window.
  struct Sum {
    long double value;
    long double rounding;
  };
  [[nodiscard]] Sum sum(std::size_t j, double below) const {
    const double lifted = -std::expm1(-below);
    const double value = weighted[j] + lifted * plain[j];
    const long double of_entries = static_cast<long double>(entry_error) * static_cast<long double>(sum_weighted_ + lifted * sum_plain_);
    const long double rounding = static_cast<long double>(value) * static_cast<long double>(relative) + of_entries + most_underflow();
    const long double here = scale(j);  // may be infinite
    return {value > 0 ? here * static_cast<long double>(value) : 0, LongUpper::within(here * rounding, units_of_error).value()};
  }
  /// Bound on what images add to that.
  [[nodiscard]] long double aliasing(std::size_t j) const {
    const auto share = [&](double wrapped) {
      return wrapped > 0 ? scale(j) * (1 + static_cast<long double>(scale_error)) * static_cast<long double>(wrapped * alias_) : 0;
    };
    return LongUpper::within(share(wrapped_right) + std::min(share(wrapped_left), faded), units_of_error).value();
  }
  [[nodiscard]] long double upper(std::size_t j, double below) const {
    const Sum found = sum(j, below);
    return LongUpper::of_sum(infinite_more + beyond + (found.value + found.rounding), 4).value();
  }
  [[nodiscard]] long double lower(std::size_t j, double below) const {
    const Sum found = sum(j, below);
    const LongLower value = LongLower{LongExact{found.value}} - LongExact{found.rounding} - LongExact{aliasing(j)};
    return value.value() > 0 ? (LongExact{infinite_less} + value).value() : infinite_less;
  }
  /// Chernoff's bound on delta at `epsilon`, which needs no window: (1 - e^-x) <= alias e^(s x).
  [[nodiscard]] long double chernoff(long double epsilon) const {
    const LongLower fall = LongLower{LongExact{epsilon}} * LongExact{grid.s};
    return (LongExact{infinite_more} + exp(log_all() - fall) * LongExact{alias_}).value();
  }
  /// The epsilon at which that bound is `delta`.
  [[nodiscard]] long double chernoff_epsilon(long double delta) const {
    if (!(infinite_more < delta)) return static_cast<long double>(infinity);
    const LongUpper log_alias = log(LongUpper{LongExact{alias_}});
    return ((log_all() + log_alias - log(LongLower{LongExact{delta}} - LongExact{infinite_more})) / LongExact{grid.s}).value();
  }

 private:
  [[nodiscard]] long double scale(std::size_t j) const { return std::exp(log_scale - static_cast<long double>(grid.s) * loss(j)); }
  /// Of the tilted mass in the curve's own units, and its scale.
  [[nodiscard]] LongUpper log_all() const { return LongUpper{LongExact{log_total}} + LongExact{log_scale} + LongExact{scale_error}; }
  static constexpr long double most_underflow() { return underflow; }
  /// Units of long double: of sums in double, four of whose operations round, and of the rest.
  static constexpr long double units_of_error = 8 * 2048;
  double sum_plain_ = 0;  // bounds on sums of all e^(-(s + 1) x) and of all e^(-s x) (1 - e^-x)
  double sum_weighted_ = 0;
  double alias_ = 0;
};

struct ComposedPair {
  ComposedCurve upper;
  ComposedCurve lower;
  long double loss_error;             // of the losses of all entries
  std::optional<IndexTests> tests{};  // what bounds it from below, where `lower` does not
};

/// Where the composed law is looked at: losses, the grid step, a power of two of steps, and the tilt.
struct Window {
  double least;
  double largest;
  double step;
  std::size_t size;
  double s;
  double right_tilt;  // of the Chernoff bounds
  double left_tilt;
};

/// \param keeps_entries whether the lower curve keeps its entries.
[[nodiscard]] ComposedPair compose(const laws::Parts& parts, const Window& window, const Cut& cut, bool keeps_entries = false);

/// Whether the parts are so many different laws that the lower bound is made of tests of the sum of indices, which needs no common grid for
/// isolated atoms, and that short laws are convolved with one another before they are transformed; then `compose_many` is for them.
[[nodiscard]] bool are_many(const laws::Parts& parts);
[[nodiscard]] ComposedPair compose_many(const laws::Parts& parts, const Window& window, const Cut& cut);

/// The smallest entry at which `holds`, assuming that it holds from some entry on; size() when at none.
template <class Holds>
std::size_t first_where(std::size_t size, Holds holds) {
  std::size_t low = 0;
  std::size_t high = size;
  while (low < high) {
    const std::size_t mid = low + (high - low) / 2;
    if (holds(mid)) {
      high = mid;
    } else {
      low = mid + 1;
    }
  }
  return low;
}

/// What a pair says: inf {epsilon >= 0 : delta(epsilon) <= target}, and delta(epsilon).
[[nodiscard]] Enclosure epsilon_of(const ComposedPair& pair, double target);
[[nodiscard]] Enclosure delta_of(const ComposedPair& pair, double epsilon);

}  // namespace surety::accounting::pld
