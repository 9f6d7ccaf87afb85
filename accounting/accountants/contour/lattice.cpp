#include <surety/accounting/accountants/contour/lattice.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include <surety/accounting/accountants/contour/moments.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::contour {
namespace {

// Proved: docs/proofs/contour.md#lattices
using std::numbers::pi;

/// Terms of theta to either side; the rest is below this share of 1 for sigma >= 1/2 and t <= period / 4.
constexpr int theta_terms = 3;
constexpr double rest_of_theta = 1e-24;
/// Relative error of a bound that is computed in double from positions of fewer than 2^40 periods.
constexpr double position_error = 1e-9;
/// Where the valleys of a lattice are this deep, only the neighbourhoods of its peaks count.
constexpr double deep = 45;

}  // namespace

Lattice::Lattice(const LatticeReleases& releases) : sensitivity_{releases.sensitivity}, count_{releases.count} {
  const double sigma = releases.sigma;
  const double mu = sensitivity_ / sigma;
  if (!(sigma >= least_sigma)) throw Unsuitable{"the noise of a lattice is narrow"};
  if (!(mu > 1e-100 && mu < 1e100 && sigma < 1e100)) throw Unsuitable{"the noise of a lattice is out of range"};
  square_ = mu * mu;
  period_ = 2 * pi * sigma / mu;
  quadratic_ = 2 * pi * pi * sigma * sigma;
  other_images_ = 3 * std::exp(-quadratic_);
  log_start_ = -std::log1p(-2.1 * std::exp(-quadratic_));
}

std::complex<double> Lattice::theta(double s, double t, double& error) const {
  // Terms m and -m of exp(-m^2 quadratic - 2 pi m t sensitivity + 2 pi i m s sensitivity).
  const double turns = s * sensitivity_;
  const double angle = 2 * pi * (turns - std::round(turns));
  const double growth = 2 * pi * t * sensitivity_;
  std::complex<double> sum = 0;
  error = rest_of_theta;
  for (int m = 1; m <= theta_terms; ++m) {
    for (const double sign : {1.0, -1.0}) {
      const double exponent = -m * m * quadratic_ - sign * m * growth;
      if (exponent < -80) continue;
      const double size = std::exp(exponent);
      sum += std::polar(size, sign * m * angle);
      // Units of the exponent's terms, of the angle, whose product of s and the sensitivity is rounded, and of the exponential and the sine.
      error += size * share_of_units(8 + 4 * (m * m * quadratic_ + m * growth) + 8 * m * (1 + std::abs(turns)));
    }
  }
  return sum;
}

Ball Lattice::log_moment(double s) const {
  double error = 0;
  double error_at_0 = 0;
  const double at_s = theta(s, 0, error).real();
  const double at_0 = theta(0, 0, error_at_0).real();
  const double value = std::log1p(at_s) - std::log1p(at_0);
  // theta lies within 0.015 of 1, so that its logarithm errs by less than twice of it.
  const double radius = 2 * (error + error_at_0) + share_of_units(8.0) * (std::abs(at_s) + std::abs(at_0));
  return Ball::around(value, covered(radius).value());
}

Lattice::Correction Lattice::correction(double s, double t) const {
  double error = 0;
  double error_at_0 = 0;
  const auto here = theta(s, t, error);
  const double start = theta(s, 0, error_at_0).real();
  const double log_size = std::log1p(2 * here.real() + std::norm(here)) / 2 - std::log1p(start);
  const double phase = std::atan2(here.imag(), 1 + here.real());
  // Both lie within 0.1 of 1, so that their logarithms err by less than twice of them.
  return {log_size, phase, covered(2 * (error + error_at_0) + share_of_units(8.0) * (2 * std::abs(here) + std::abs(start))).value()};
}

double Lattice::log_bound(double a, double b) const {
  const double half = period_ / 2;
  const double slack = position_error * period_ + share_of_units(16.0) * b;
  // Within the slack of what is left of whole periods.
  const auto left = [&](double x) {
    const double periods = x / period_;
    // Without a call, which std::floor is on a processor that is not named.
    const double whole = periods < 0x1p52 ? static_cast<double>(static_cast<std::int64_t>(periods)) : periods;
    return std::clamp(x - period_ * whole, 0.0, period_);
  };
  const double from = left(a);
  const double to = from + (b - a);
  const auto distance = [&](double x) { return std::min(left(x), period_ - left(x)); };
  const double nearest = to >= period_ ? 0 : std::min(from, period_ - to);
  const bool holds_middle = (from <= half && half <= to) || to >= 3 * half;
  const double least = std::max(0.0, nearest - slack);
  const double most = holds_middle ? half : std::min(half, std::max(distance(from), distance(to)) + slack);
  // All images: the nearest one, its neighbour on the other side, and the rest; over theta(s), which is at least 1 - 2.1 e^-quadratic.
  const double exponent = -square_ * period_ * (period_ - 2 * most) / 2;
  constexpr double no_digit = -60;
  // log(1 + x) <= x.
  const double raised = exponent > no_digit ? std::log1p(std::exp(exponent) + other_images_) : 1e-26 + other_images_;
  const double each = -square_ * least * least / 2 * (1 - position_error) + raised * (1 + position_error) + log_start_;
  return count_ * std::min(0.0, each);
}

bool ends_beyond_lattices(const Loss& loss) {
  const auto is_narrow = [](const LatticeReleases& releases) { return !(releases.sigma >= Lattice::least_sigma); };
  if (std::any_of(loss.lattices.begin(), loss.lattices.end(), is_narrow)) return false;
  if (loss.continuous_mu_squared > 0) return true;
  return loss.lattices.size() > 1 && std::any_of(loss.lattices.begin(), loss.lattices.end(),
                                                 [](const LatticeReleases& releases) { return Lattice{releases}.depth() >= deep; });
}

Upper lattice_truncation(const Loss& loss, double step, double end, double log_target) {
  constexpr double most_periods = 4e4;
  constexpr double most_pieces = 3e4;
  std::vector<Lattice> lattices;
  for (const auto& releases : loss.lattices) lattices.emplace_back(releases);
  // Lattices of long periods come first: away from their peaks their bounds alone are small enough.
  std::sort(lattices.begin(), lattices.end(), [](const Lattice& x, const Lattice& y) { return x.period() > y.period(); });
  const Lattice* comb = nullptr;
  for (const auto& lattice : lattices) {
    if (lattice.depth() >= deep && (comb == nullptr || lattice.period() > comb->period())) comb = &lattice;
  }
  const double target = std::exp(log_target);
  // A piece below this bound is not divided further.
  const double negligible = 1e-4 * target;
  const auto bound_of = [&](double a, double b) {
    const double weight = ((b - a) + step) / (pi * a * a);
    const double enough = std::log(negligible / weight);
    double sum = -loss.continuous_mu_squared * a * a / 2 * (1 - position_error);
    for (const auto& lattice : lattices) {
      if (sum < enough) break;
      sum += lattice.log_bound(a, b);
    }
    return weight * std::exp(sum);
  };
  const double finest = 0.1 / std::sqrt(loss.mu_squared);
  double total = 0;
  double pieces = 0;
  const auto add = [&](auto&& again, double a, double b) -> void {
    if (!(b > a)) return;
    const double bound = bound_of(a, b);
    ++pieces;
    if (bound <= negligible || b - a <= finest || pieces > most_pieces) {
      total += bound;
      return;
    }
    const double middle = a + (b - a) / 2;
    again(again, a, middle);
    again(again, middle, b);
  };
  // An upper bound on the factor of continuous noise at every t >= from.
  const auto fallen = [&](double from) { return std::exp(-loss.continuous_mu_squared * from * from / 2 * (1 - position_error)); };
  if (comb == nullptr) {
    for (double from = end;; from *= 2) {
      const double beyond = (1 + step / from) / (pi * from) * fallen(from);
      if (beyond <= 0.1 * target || from > 1e6 * end) {
        total += beyond;
        break;
      }
      add(add, from, 2 * from);
    }
    return covered(total);
  }
  const double period = comb->period();
  const double reach = std::min(period / 2, std::sqrt(2 * deep / comb->sharpness()));
  // Upper bound on the sum over the points of one period, times t^2: points of the peak, then points of the valley.
  const double factor = std::exp(comb->log_bound(reach, reach) + comb->sharpness() * reach * reach / 2 * (1 + position_error));
  const double peak =
      (std::sqrt(2 * pi / comb->sharpness()) + step) * factor + (period + step) * std::exp(comb->log_bound(reach, period - reach));
  double from = end;
  for (double m = 0;; ++m) {
    poll_limit();
    for (const double to : {m * period + reach, (m + 1) * period - reach}) {
      add(add, from, to);
      from = std::max(from, to);
    }
    // Period k > m begins beyond (k - 1/2) periods, and the sum over them of 1 / (k - 1/2)^2 is at most 1 / m.
    const double beyond = m > 0 ? fallen(from) * peak / (pi * period * period * m) : infinity;
    if (beyond <= std::max(0.1 * target, 0.7 * total) || m > most_periods || pieces > most_pieces) {
      total += beyond;
      break;
    }
  }
  return covered(total);
}

// Proved so far.
}  // namespace surety::accounting::contour
