#include <surety/accounting/accountants/contour/saddle.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include <surety/base/numbers/rounding.h>

namespace surety::accounting::contour {
namespace {

using std::numbers::pi;

Saddle saddle_at(Cumulants& cumulants, double s) {
  const auto at = cumulants(s);
  const double epsilon = at.mean - 1 / s - 1 / (s + 1);
  const double curvature = at.variance + 1 / (s * s) + 1 / ((s + 1) * (s + 1));
  const double log_delta = at.value - s * epsilon - std::log(s) - std::log1p(s) - std::log(2 * pi * curvature) / 2;
  return {s, epsilon, log_delta, at.variance};
}

}  // namespace

Saddle find_saddle(Cumulants& cumulants, const std::function<bool(const Saddle&)>& too_small, double within) {
  std::optional<Saddle> below;
  std::optional<Saddle> above;
  const auto is_small = [&](double exponent) {
    std::optional<Saddle> here;
    try {
      here = saddle_at(cumulants, std::exp(exponent));
    } catch (const Unsuitable&) {
      // Moments that need too many points lie beyond.
    }
    const bool small = here && too_small(*here);
    (small ? below : above) = here;
    return small;
  };
  double low = 0;
  double high = 0;
  const bool up = is_small(0);
  for (double exponent = 1;; exponent *= 1.5) {
    if (exponent > 60) throw Unsuitable{"its saddle point is out of range"};
    const double next = up ? exponent : -exponent;
    const bool small = is_small(next);
    (small ? low : high) = next;
    if (small != up) break;
  }
  for (int i = 0; i < 80; ++i) {
    const double gap = above ? above->s - below->s : infinity;
    if (high - low <= within && above && std::max(above->variance, below->variance) * gap * gap < 0.5) break;
    const double half = (low + high) / 2;
    (is_small(half) ? low : high) = half;
  }
  return saddle_at(cumulants, shorten(below->s, 24));
}

}  // namespace surety::accounting::contour
