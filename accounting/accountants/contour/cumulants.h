// The logarithm of the moment generating function of a whole loss at real s, with a bound on its error.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include <surety/accounting/accountants/contour/moments.h>

namespace surety::accounting::contour {

/// Lambda(s) = log E[exp(s L)] of the whole loss and its derivatives; only the value has an error bound.
struct Cumulant {
  double value = 0;
  double error = 0;
  double mean = 0;
  double variance = 0;

  [[nodiscard]] Upper upper() const { return Upper{Exact{value}} + Exact{error}; }
  [[nodiscard]] Lower lower() const { return Lower{Exact{value}} - Exact{error}; }
};

/// One direction of a composed loss at real s, on nodes that grow with s. What was asked on the same nodes is kept: searches for saddle points try
/// the same s again and again.
class Cumulants {
 public:
  Cumulants(const Loss& loss, Direction direction, double digits) : loss_{loss}, direction_{direction}, digits_{digits} {}

  [[nodiscard]] Cumulant operator()(double s);

  [[nodiscard]] const Loss& loss() const { return loss_; }
  [[nodiscard]] Direction direction() const { return direction_; }

 private:
  void cover(double s);
  [[nodiscard]] Cumulant computed(double s);

  static constexpr std::size_t most_known = 1 << 12;

  const Loss& loss_;
  Direction direction_;
  double digits_;
  double covered_ = -1;
  std::vector<NodeGrid> grids_;
  std::vector<double> weights_;
  std::map<double, Cumulant> known_;
};

/// Whether Chernoff's bound proves at one of some tilts that delta(epsilon) is at most `delta`; needs no line.
[[nodiscard]] bool is_small_by_chernoff(Cumulants& cumulants, double epsilon, double delta);

}  // namespace surety::accounting::contour
