#include <surety/statistics/tail_sums.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace surety::statistics {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// What is left of a probability after the rounding of its computation.
constexpr double share_of_exceeded = 1 - 0x1p-30;

/// Probabilities of a variable on a grid: of (i - `below`) steps for each i, and of more than the last.
class GridLaw {
 public:
  GridLaw(std::size_t below, std::size_t above) : below_{below}, mass_(below + above + 1) { mass_[below] = 1; }

  /// Adds scale E, rounded up; `scale` is in steps.
  void add_exponential(double scale) {
    const double stays = -std::expm1(-1 / scale);
    double moving = 0;
    for (auto& mass : mass_) {
      const double arrived = moving;
      moving = mass + moving * std::exp(-1 / scale);
      mass = arrived * stays;
    }
    beyond_ += moving;
  }
  /// Subtracts scale E, rounded down; what would be below the grid stays on its first number.
  void subtract_exponential(double scale) {
    const double stays = -std::expm1(-1 / scale);
    double moving = 0;
    for (std::size_t i = mass_.size(); i-- > 1;) {
      moving += mass_[i];
      mass_[i] = moving * stays;
      moving *= std::exp(-1 / scale);
    }
    mass_[0] += moving;
  }
  /// Adds a variable of so many steps with these probabilities, and of more than them with the rest.
  void add(const std::vector<double>& probabilities, double beyond) {
    std::vector<double> sum(mass_.size());
    double kept = 0;
    for (std::size_t i = 0; i < mass_.size(); ++i) {
      if (mass_[i] == 0) continue;
      kept += mass_[i];
      for (std::size_t k = 0; k < probabilities.size(); ++k) {
        const double both = mass_[i] * probabilities[k];
        if (i + k < sum.size()) {
          sum[i + k] += both;
        } else {
          beyond_ += both;
        }
      }
    }
    beyond_ += kept * beyond;
    mass_ = std::move(sum);
  }
  /// The fewest steps that are exceeded with at most this probability, from 0 on; infinite where there are none.
  [[nodiscard]] double quantile(double exceeded) const {
    double above = beyond_;
    if (above > exceeded * share_of_exceeded) return infinity;
    std::size_t k = mass_.size() - 1;
    for (; k > below_; --k) {
      above += mass_[k];
      if (above > exceeded * share_of_exceeded) break;
    }
    return static_cast<double>(k - below_);
  }

 private:
  std::size_t below_;
  std::vector<double> mass_;
  double beyond_ = 0;
};

double exceeds(const ShiftedExponential& part, double value) {
  if (value < part.least) return 1;
  return part.scale > 0 ? std::exp(-(value - part.least) / part.scale) : 0;
}
/// P(larger > value), from above.
double exceeds(const LargerOfTwo& term, double value) {
  const double one = exceeds(term.one, value);
  const double other = exceeds(term.other, value);
  return one + other * (1 - one);
}
double quantile_of(const ShiftedExponential& part, double exceeded) { return part.least - part.scale * std::log(exceeded); }

}  // namespace

double quantile_of_larger(std::span<const LargerOfTwo> terms, double exceeded) {
  // Each term may exceed its own bound.
  double by_union = 0;
  const double each = exceeded * share_of_exceeded / static_cast<double>(2 * terms.size());
  for (const auto& term : terms) {
    if (term.weight > 0) by_union += term.weight * std::max(quantile_of(term.one, each), quantile_of(term.other, each));
  }
  by_union *= 1 + 0x1p-30;
  if (!(by_union > 0) || std::isinf(by_union) || exceeded < 1e-4) return by_union;
  constexpr std::size_t cells = 512;
  const double step = by_union / static_cast<double>(cells);
  GridLaw sum{0, cells};
  for (const auto& term : terms) {
    if (!(term.weight > 0)) continue;
    std::vector<double> probabilities(cells + 1);
    double before = 1;
    for (std::size_t k = 0; k <= cells; ++k) {
      const double tail = exceeds(term, static_cast<double>(k) * step / term.weight);
      probabilities[k] = std::max(before - tail, 0.0);
      before = tail;
    }
    sum.add(probabilities, before);
  }
  return std::min(by_union, sum.quantile(exceeded) * step * (1 + 0x1p-30));
}

double quantile_of_laplace(std::span<const LaplaceTerms> terms, double exceeded) {
  double variance = 0;
  double largest = 0;
  std::size_t count = 0;
  for (const auto& [scale, its] : terms) {
    variance += 2 * scale * scale * static_cast<double>(its);
    if (its > 0) largest = std::max(largest, scale);
    count += its;
  }
  if (!(largest > 0)) return 0;
  // Far enough in nearly all cases; twice as far if not.
  double top = 3 * std::sqrt(variance) - 2 * largest * std::log(exceeded);
  while (true) {
    const std::size_t cells = std::max<std::size_t>(1024, 100 * count);
    const double step = top / static_cast<double>(cells);
    GridLaw sum{cells, cells};
    for (const auto& [scale, its] : terms) {
      for (std::size_t k = 0; k < its && scale > 0; ++k) {
        sum.subtract_exponential(scale / step);
        sum.add_exponential(scale / step);
      }
    }
    const double found = sum.quantile(exceeded);
    if (std::isfinite(found)) return found * step * (1 + 0x1p-30);
    top *= 2;
  }
}

}  // namespace surety::statistics
