#include <surety/accounting/accountants/contour/excess_moment.h>

#include <algorithm>
#include <cmath>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::contour {
namespace {

// Proved: docs/proofs/contour.md#rare
using Complex = std::complex<double>;

/// Products of complex doubles, without the tests for infinities of operator*.
template <class T>
std::complex<T> times(std::complex<T> x, std::complex<T> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

/// exp(y) - 1 - y for |y| <= 1/2: the terms left out are less than 2^-53 / 32 of the result.
Complex series_of_exponential(Complex y) {
  Complex sum = 1;
  for (int n = 16; n > 2; --n) sum = 1.0 + times(sum, y) / static_cast<double>(n);
  return times(times(y, y), sum) / 2.0;
}

Complex exponential_less_its_line(Complex y) {
  if (std::norm(y) <= 0.25) return series_of_exponential(y);
  // The exponential would be less than 2^-90 of the rest.
  if (y.real() < -60) return -1.0 - y;
  const double size = std::exp(y.real());
  return {size * std::cos(y.imag()) - 1 - y.real(), size * std::sin(y.imag()) - y.imag()};
}

/// log(1 + v) - v for |v| <= 1/8: the terms left out are less than 2^-53 / 8 of the result.
Complex series_of_logarithm(Complex v) {
  constexpr int last = 20;
  Complex sum = 1.0 / last;
  for (int n = last - 1; n >= 2; --n) sum = 1.0 / n - times(sum, v);
  return -times(times(v, v), sum);
}

}  // namespace

ExcessMoment::ExcessMoment(const SampledReleases& part, double w, double digits, double from, double to) : w_{w} {
  // Farther from the real line steps are longer and moduli larger: by e^(y^2 / 2), and each term by its phase.
  const double shift = shorten(std::min(1.2 / part.mu, 1.5), 12);
  const double more = digits + std::log1p(2 * std::abs(Complex{w, to}));
  const double line = log_line(part.mu, shift, 0, w);
  const double step = step_for(part.mu, to, w, more, shift);
  Range range = range_of(part, w, more + line);
  const Range of_ratio = range_of(part, 1, more + line);
  range = {std::min(range.low, of_ratio.low), std::max(range.high, of_ratio.high)};
  const double first = std::floor(range.low / step);
  const double last = std::ceil(range.high / step);
  if (!(last - first < most_nodes)) throw Unsuitable{"its moment generating function needs too many points"};
  if (!can_be_shifted(part, range)) throw Unsuitable{"its loss is nearly an atom"};
  poll_limit();
  range = {first * step, last * step};
  for (double j = first; j <= last; ++j) add(j * step, shift, step, part, from, to);
  const double of_line = std::exp(log_quadrature(part.mu, step, 0, 0, shift));
  const double grown = std::exp(log_line(part.mu, shift, 0, 0));
  const double of_one = of_line + grown * range_error(part, 0, range, 0);
  const double of_ratio_itself = of_line + grown * range_error(part, 1, range, 0);
  const double of_moment =
      (1 + largest_excess) * std::exp(log_quadrature(part.mu, step, to, w, shift)) + std::exp(line) * range_error(part, w, range, 0);
  cut_ = covered(of_moment + of_one).value();
  cut_of_power_ = covered(of_one + of_ratio_itself).value();
}

void ExcessMoment::add(double u, double shift, double step, const SampledReleases& part, double from, double to) {
  const double half_square = part.mu * part.mu / 2;
  const double turn = part.mu * shift;
  const double x = part.mu * u - half_square;
  const double grown = std::expm1(x);
  const double half_sine = std::sin(turn / 2);
  // r - 1 = q (e^(x + i turn) - 1).
  const Complex v{part.rate * (grown * std::cos(turn) - 2 * half_sine * half_sine), part.rate * (grown + 1) * std::sin(turn)};
  const double size = std::abs(v);
  const Complex loss{std::log1p(2 * v.real() + std::norm(v)) / 2, std::atan2(v.imag(), 1 + v.real())};
  const bool is_small = size <= 0.125;
  const Complex bend = is_small ? series_of_logarithm(v) : loss - v;
  const double weight = step * std::exp((shift - u) * (shift + u) / 2 - log_sqrt_two_pi);
  const Complex turned{weight * std::cos(u * shift), -weight * std::sin(u * shift)};

  // Errors in units of 2^-53; those of the first order are shares of less than 2^-29, which `covered` adds.
  constexpr double unit = share_of_units(0.5);
  const double ratio = std::norm(1.0 + v);
  const double of_ratio =
      part.rate * ((grown + 1) * (5 * (std::abs(part.mu * u) + 2 * half_square) + 3 * turn) + (grown + 4) * (2 * library + 8));
  const double length = std::abs(loss);
  const double of_loss = 4 * (2 * size + size * size) / ratio + 2 * (library + 2) * length;
  const double of_bend = is_small ? 16 * size * size : of_loss + 2 * (length + size);
  const double of_weight =
      2 * (u * u + shift * shift) + 4 * std::abs(u * shift) + 4 * library + 64;  // with the sum: long double, at most 20,000 terms
  // e^(Re Y) is largest at the first t.
  const double largest = std::max(1.0, std::exp(w_ * loss.real() - from * loss.imag()));
  const double farthest = std::abs(Complex{w_, to});
  const bool is_near = farthest * length <= 0.5;
  const double of_exponential = is_near ? 64 : 20 * (2 * library + 16);
  of_square_ +=
      unit * weight * largest *
      (length * (of_loss + 3 * length) + of_exponential * length * length + 2 * length * of_ratio + of_weight * length * length / 2);
  of_power_ += unit * weight * (of_bend + 4 * std::abs(bend) + 2 * largest * length * of_ratio + of_weight * std::abs(bend));

  if (!is_near) {
    tail_.push_back({turned, loss, bend});
    return;
  }
  const std::complex<long double> base{loss};
  std::complex<long double> power = times(std::complex<long double>{turned}, base);
  for (std::size_t n = 2; n < most_powers; ++n) {
    power = times(power, base) / static_cast<long double>(n);
    powers_[n] += power;
  }
  bends_ += times(std::complex<long double>{turned}, std::complex<long double>{bend});
}

ExcessMoment::Value ExcessMoment::at(double t) const {
  const Complex w{w_, t};
  std::complex<long double> sum{};
  const std::complex<long double> base{w};
  for (std::size_t n = most_powers; n-- > 2;) sum = times(sum, base) + powers_[n];
  sum = times(times(sum, base), base) + times(base, bends_);
  for (const auto& node : tail_) {
    const Complex term = exponential_less_its_line(times(w, node.loss)) + times(w, node.bend);
    sum += std::complex<long double>{times(node.weight, term)};
  }
  const double size = std::abs(w);
  return {Complex{sum}, covered(of_square_ * size * size + of_power_ * size).value(), covered(cut_ + cut_of_power_ * size).value()};
}

// Proved so far.
}  // namespace surety::accounting::contour
