#include <surety/accounting/accountants/contour/moments.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/text/error.h>

namespace surety::accounting::contour {
namespace {

using std::numbers::pi;

// Proved: docs/proofs/contour.md#shifts
constexpr double strips[] = {1.1, 1, 0.9, 0.8, 0.7, 0.6, 0.45, 0.3};

/// How fast the logarithm of the integrand's bound grows with a^2 / 2, a the distance from the real line.
double growth(double mu, double w) { return 1 + std::max(-w, 0.0) * mu * mu / 4; }

}  // namespace

double power(Direction direction, double s) { return direction == Direction::remove ? s + 1 : -s; }

double shorten(double x, int bits) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::floor(std::ldexp(mantissa, bits)), exponent - bits);
}

double log_expm1(double x) { return x > 40 ? x : std::log(std::expm1(x)); }
Lower log_expm1(Lower x) { return x.value() > 1 ? x + log1p(-exp(-x)) : log(expm1(x)); }

double over_one_less(double x) { return x < 0.5 ? 1 / (1 - x) : infinity; }

double log_line(double mu, double y, double t, double w) {
  return y * y / 2 + t * mu * std::max(-y, 0.0) + (w < 0 ? w * std::log(std::cos(mu * y / 2)) : 0);
}

double log_quadrature(double mu, double step, double t, double w, double shift) {
  const double farthest = 0.98 * pi / mu;
  const double here = log_line(mu, shift, t, w);
  const double slope = 2 * pi / step;
  const double of_cosine = share_of_units(4.0) * std::max(-w, 0.0);
  // The bound is convex in the line, so that of a strip it is largest at an end. All its terms are positive.
  const auto side = [&](double width, double line) {
    const double largest = std::max(here, log_line(mu, line, t, w));
    const double fall = log_expm1(slope * width);
    return largest - fall + (share_of_units(128.0) * (1 + largest + std::abs(fall)) + of_cosine);
  };
  double above = infinity;
  double below = shift > 0 ? side(shift, 0) : infinity;
  for (const double fraction : strips) {
    const double up = std::min(fraction * std::min(slope / growth(mu, w), farthest), farthest) - shift;
    if (up > 0) above = std::min(above, side(up, shift + up));
    const double down = std::min(fraction * std::min((slope - t * mu) / growth(mu, w), farthest), farthest);
    if (down > 0) below = std::min(below, side(shift + down, -down));
  }
  const double both = std::max(above, below) + std::log1p(std::exp(-std::abs(above - below)));
  return both + share_of_units(8.0) * (1 + std::abs(both));
}

double step_for(double mu, double t, double w, double digits, double shift) {
  const double farthest = 0.97 * pi / mu;
  const double here = log_line(mu, shift, t, w);
  const double reach = std::sqrt(2 * (digits + 1) / growth(mu, w));
  const auto side = [&](double width, double line) { return 2 * pi * width / (digits + 1 + std::max(here, log_line(mu, line, t, w))); };
  double above = 0;
  double below = shift > 0 ? side(shift, 0) : 0;
  for (const double fraction : strips) {
    const double line = std::min(fraction * reach, farthest);
    const double higher = std::min(shift + fraction * reach, farthest);
    above = std::max(above, side(higher - shift, higher));
    below = std::max(below, side(shift + line, -line));
  }
  return shorten(std::min(above, below), 12);
}

double digits_for(const Loss& loss, double tolerance) { return std::log(16 * loss.releases / tolerance) + 2; }

Range range_of(const SampledReleases& part, double w, double digits) {
  const double around_zero = std::sqrt(2 * digits);
  const double bump = (w * w - w) * part.mu * part.mu / 2;
  const double known = w > 0 ? std::max(0.0, w * std::log(part.rate) + bump) : 0;
  const double excess = digits + std::log(part.rate) + bump - known;
  const double around_bump = excess > 0 ? std::sqrt(2 * excess) : 0;
  Range range{-around_zero, around_zero};
  if (w > 0) {
    if (excess > 0) range.high = std::max(range.high, w * part.mu + around_bump);
  } else {
    const double flat = std::sqrt(2 * (digits + w * std::log1p(-part.rate)));
    const double bumped = excess > 0 ? std::max(around_zero, -w * part.mu + around_bump) : around_zero;
    range.low = -std::min(flat, bumped);
  }
  return range;
}

double range_error(const SampledReleases& part, double w, const Range& range, double log_moment) {
  const double shift = w * part.mu;
  if (!(range.high > 0 && range.low < 0)) return infinity;
  const double log_rate = std::log(part.rate);
  const double bump = log_rate + (w * w - w) * part.mu * part.mu / 2 - log_moment;
  // What exponents err by, from the sizes of their terms.
  constexpr double rounding = share_of_units(8.0);
  const double doubt_of_bump = rounding * ((w * w + std::abs(w)) * part.mu * part.mu + std::abs(log_rate) + std::abs(log_moment) + 1);
  const auto one_side = [&](double from_zero, double from_bump) {
    const double at_zero = -from_zero * from_zero / 2 - log_moment + rounding * (from_zero * from_zero + std::abs(log_moment));
    const double off = doubt_of_bump + rounding * (from_zero * from_zero + shift * shift);
    const double at_bump = off + (from_bump > 0 ? bump - from_bump * from_bump / 2 - std::numbers::ln2 : bump + std::numbers::ln2);
    const double convex = (1 - part.rate) * std::exp(at_zero) / 2 + std::exp(at_bump);
    return w < 0 ? std::min(convex, std::exp(w * std::log1p(-part.rate) * (1 + rounding) + at_zero) / 2) : convex;
  };
  return covered(one_side(range.high, range.high - shift) + one_side(-range.low, shift - range.low)).value();
}

bool can_be_shifted(const SampledReleases& part, const Range& range) { return part.mu * range.high < 340; }

void fill(NodeGrid& grid, const SampledReleases& part, double step, const Range& range, double shift) {
  const double first = std::floor(range.low / step);
  const double last = std::ceil(range.high / step);
  if (!(last - first < most_nodes)) throw Unsuitable{"its moment generating function needs too many points"};
  poll_limit();
  if (!(part.mu * range.high < 700 && (shift == 0 || can_be_shifted(part, range)))) throw Unsuitable{"its loss is nearly an atom"};
  const auto nodes = size_of(last - first) + 1;
  grid.part = part;
  grid.step = step;
  grid.shift = shift;
  grid.range = {first * step, last * step};
  grid.farthest = std::max(-grid.range.low, grid.range.high);
  double largest = 0;
  double worst_error = 0;
  grid.u.resize(nodes);
  grid.loss.resize(nodes);
  grid.angle.resize(shift > 0 ? nodes : 0);
  grid.loss_error.resize(nodes);
  const double half_square = part.mu * part.mu / 2;
  const double turn = part.mu * shift;
  const double cosine = std::cos(turn);
  const double sine = std::sin(turn);
  const double half_sine = std::sin(turn / 2);
  for (std::size_t j = 0; j < nodes; ++j) {
    const double u = (first + static_cast<double>(j)) * step;
    const double x = part.mu * u - half_square;
    // x errs by at most 4 |mu u| + 8 (mu^2 / 2) + |x| units (mu by 2 of them), excess by q e^x times that and its own.
    const double x_error = 5 * (std::abs(part.mu * u) + 2 * half_square);
    const double grown = std::expm1(x);
    grid.u[j] = u;
    if (shift > 0) {
      // r - 1 = q (e^(x + i turn) - 1), each part of which errs by what x and the turn do, and by a few units of its terms.
      const double real = part.rate * (grown * cosine - 2 * half_sine * half_sine);
      const double imaginary = part.rate * (grown + 1) * sine;
      const double excess = 2 * real + (real * real + imaginary * imaginary);  // |r|^2 - 1
      const double square = 1 + excess;
      const double off = part.rate * ((grown + 1) * (x_error + 3 * turn) + (grown + 4) * (2 * library + 8));
      grid.loss[j] = std::log1p(excess) / 2;
      grid.angle[j] = std::atan2(imaginary, 1 + real);
      grid.loss_error[j] =
          share_of_units((off / std::sqrt(square) + 3 * (2 * std::abs(real) + real * real + imaginary * imaginary) / square +
                          (library + 1) * std::abs(grid.loss[j]) + (library + 2) * grid.angle[j]) /
                         2);
      largest = std::max(largest, std::abs(grid.loss[j]) + grid.angle[j]);
      worst_error = std::max(worst_error, grid.loss_error[j]);
      continue;
    }
    const double excess = part.rate * grown;
    const double ratio = 1 + excess;
    grid.loss[j] = std::log1p(excess);
    grid.loss_error[j] = share_of_units(
        ((part.rate * (excess / part.rate + 1) * x_error + (library + 2) * std::abs(excess)) / ratio + library * std::abs(grid.loss[j])) /
        2);
    largest = std::max(largest, std::abs(grid.loss[j]));
    worst_error = std::max(worst_error, grid.loss_error[j]);
  }
  grid.largest = largest;
  grid.worst_loss = worst_error + share_of_units(largest / 2);
}

Tilt tilt(const NodeGrid& grid, double w, std::vector<double>& f) {
  poll_limit();
  const std::size_t nodes = grid.u.size();
  f.resize(nodes);
  double top = -infinity;
  for (std::size_t j = 0; j < nodes; ++j) {
    f[j] = -grid.u[j] * grid.u[j] / 2 + w * grid.loss[j];
    top = std::max(top, f[j]);
  }
  const double shift = std::abs(top) < 500 ? 0 : top;
  long double sum = 0;
  long double first = 0;
  long double second = 0;
  double error = 0;
  double loss_error = 0;
  Tilt result;
  for (std::size_t j = 0; j < nodes; ++j) {
    const double exponent = f[j];
    const double tilted = std::abs(w * grid.loss[j]);
    f[j] = std::exp(exponent - shift);
    const double loss = grid.loss[j];
    error += f[j] * (std::abs(w) * grid.loss_error[j] +
                     share_of_units((grid.u[j] * grid.u[j] + std::abs(shift) + library) / 2 + tilted + std::abs(exponent)));
    loss_error += f[j] * (grid.loss_error[j] + share_of_units(std::abs(loss) / 2));
    sum += f[j];
    first += f[j] * loss;
    second += f[j] * loss * loss;
  }
  const auto total = static_cast<double>(sum);
  const double scale = 1 / total;
  // The largest of those, from the largest of their parts.
  const double square = grid.farthest * grid.farthest;
  result.worst = std::abs(w) * grid.worst_loss + share_of_units(square + (std::abs(shift) + library) / 2 + 2 * std::abs(w) * grid.largest);
  result.log_moment = std::log(total * (grid.step / std::sqrt(2 * pi))) + shift;
  result.rounding = covered(error * scale * over_one_less(result.worst) + rounding_of_sum(static_cast<double>(nodes)) +
                            share_of_units(4 + ((library + 1) * std::abs(result.log_moment) + std::abs(shift)) / 2))
                        .value();
  result.loss_error = covered(loss_error * scale).value();
  result.mean = static_cast<double>(first) * scale;
  result.variance = std::max(0.0, static_cast<double>(second) * scale - result.mean * result.mean);
  for (auto& weight : f) weight *= scale;
  return result;
}

Ball log_moment(const NodeGrid& grid, double w, const Tilt& at) {
  const double relative =
      at.rounding + std::exp(log_quadrature(grid.part.mu, grid.step, 0, w)) + range_error(grid.part, w, grid.range, at.log_moment);
  return Ball::around(at.log_moment, log_error(covered(relative)).value());
}

ShiftedTilt shifted_tilt(const NodeGrid& grid, double w, double from, double log_moment, std::vector<double>& f,
                         std::vector<double>& phase) {
  poll_limit();
  const std::size_t nodes = grid.u.size();
  f.resize(nodes);
  phase.resize(nodes);
  const double y = grid.shift;
  const double constant = std::log(grid.step) - log_sqrt_two_pi - log_moment;
  ShiftedTilt result;
  for (std::size_t j = 0; j < nodes; ++j) {
    const double u = grid.u[j];
    const double exponent = (y - u) * (y + u) / 2 + w * grid.loss[j] + constant;
    f[j] = std::exp(exponent);
    phase[j] = w * grid.angle[j] - u * y;
    const double left = f[j] * std::exp(-from * grid.angle[j]);
    // The exponent and the phase are sums of four and two products.
    const double terms = 2 * (u * u + y * y) + 4 * std::abs(w) * (std::abs(grid.loss[j]) + grid.angle[j]) + 4 * std::abs(u * y);
    result.modulus += left;
    result.rounding += left * (std::abs(w) * grid.loss_error[j] +
                               share_of_units(terms / 2 + std::abs(exponent) + 2 * std::abs(constant) + 2 * std::abs(log_moment) + 6));
    result.loss_error += left * (grid.loss_error[j] + share_of_units((std::abs(grid.loss[j]) + grid.angle[j]) / 2));
  }
  const double reach = grid.farthest + y;
  result.worst = std::abs(w) * grid.worst_loss +
                 share_of_units(2 * reach * reach + 3 * std::abs(w) * grid.largest + 3 * std::abs(constant) + 2 * std::abs(log_moment) + 6);
  result.modulus = covered(result.modulus).value();
  result.rounding = covered(result.rounding).value();
  result.loss_error = covered(result.loss_error).value();
  return result;
}

Upper log_chernoff(double s) {
  const Lower at{Exact{s}};
  return s > 0 ? Exact{s} * log(Upper{Exact{s}}) - (at + 1) * log1p(at) : Upper{0};
}

// Proved so far.
}  // namespace surety::accounting::contour
