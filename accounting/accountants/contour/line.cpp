#include <surety/accounting/accountants/contour/line.h>

#include <algorithm>
#include <numbers>
#include <utility>

#include <surety/accounting/accountants/contour/decay.h>
#include <surety/accounting/numbers/checked_cast.h>

namespace surety::accounting::contour {
namespace {

using std::numbers::pi;

/// Beyond these a grid would do better.
constexpr double most_points = 30'000;
constexpr double most_points_of_gaussians = 200'000;
constexpr double most_work = 1e7;
constexpr double most_work_per_part = 2e4;
/// Of so many parts a grid would transform each one by itself, which takes longer than this.
constexpr double many_parts = 16;
constexpr double most_work_of_many = 3e8;

/// The sums of f exp(i k step L) over the nodes of one part for k = 1, 2, ...: sines and cosines every `stride` steps, and
/// multiplications by exp(i step L) between them.
class Rotations {
 public:
  /// What one multiplication adds to the error: a factor that errs by sqrt(2) library units, and a product by sqrt(5).
  static constexpr double per_turn = 2 * library + 3;

  Rotations(const NodeGrid& grid, const std::vector<double>& f, double step, double stride) : grid_{grid}, f_{f}, stride_{size_of(stride)} {
    if (stride_ == 1) return;
    const std::size_t nodes = f.size();
    turn_real_.resize(nodes);
    turn_imaginary_.resize(nodes);
    real_.resize(nodes);
    imaginary_.resize(nodes);
    for (std::size_t j = 0; j < nodes; ++j) {
      turn_real_[j] = std::cos(step * grid.loss[j]);
      turn_imaginary_[j] = std::sin(step * grid.loss[j]);
    }
  }

  /// Bound on the absolute error of a sum, but for those of f and of L.
  [[nodiscard]] double rounding() const {
    const auto nodes = static_cast<double>(f_.size());
    return (stride_ == 1 ? nodes * sum_unit : (nodes + per_turn * static_cast<double>(stride_ - 1)) * unit_roundoff) * outward +
           (2 * library + 6) * unit_roundoff;
  }

  /// The sum at t = k step; to be called for k = 1, 2, ... in turn.
  [[nodiscard]] std::pair<double, double> advance(std::size_t k, double t) {
    const std::size_t nodes = f_.size();
    if (stride_ == 1) {
      long double real = 0;
      long double imaginary = 0;
      for (std::size_t j = 0; j < nodes; ++j) {
        const double angle = t * grid_.loss[j];
        real += f_[j] * std::cos(angle);
        imaginary += f_[j] * std::sin(angle);
      }
      return {static_cast<double>(real), static_cast<double>(imaginary)};
    }
    double real = 0;
    double imaginary = 0;
    if ((k - 1) % stride_ == 0) {
      for (std::size_t j = 0; j < nodes; ++j) {
        const double angle = t * grid_.loss[j];
        real += real_[j] = f_[j] * std::cos(angle);
        imaginary += imaginary_[j] = f_[j] * std::sin(angle);
      }
      return {real, imaginary};
    }
    for (std::size_t j = 0; j < nodes; ++j) {
      const double turned = real_[j] * turn_real_[j] - imaginary_[j] * turn_imaginary_[j];
      imaginary_[j] = real_[j] * turn_imaginary_[j] + imaginary_[j] * turn_real_[j];
      real_[j] = turned;
      real += turned;
      imaginary += imaginary_[j];
    }
    return {real, imaginary};
  }

 private:
  const NodeGrid& grid_;
  const std::vector<double>& f_;
  std::size_t stride_;
  std::vector<double> turn_real_;
  std::vector<double> turn_imaginary_;
  std::vector<double> real_;
  std::vector<double> imaginary_;
};

}  // namespace

Line::Line(Cumulants& cumulants, const Saddle& saddle, const ContourShares& shares) : s_{saddle.s}, at_s_{cumulants(saddle.s)} {
  // delta / exp(Lambda(s) - s epsilon), roughly; each error is to be a share of it.
  const double log_share = saddle.log_delta - (at_s_.value - s_ * saddle.epsilon);
  choose_step(cumulants, saddle, log_share + std::log(shares.aliasing));
  choose_end(cumulants, saddle, log_share + std::log(shares.truncation));
  add_points(cumulants, shares.quadrature);
}

Line::Value Line::at(double epsilon) const {
  const double scale = step_ / (2 * pi);
  const double centre = 1 / (s_ * (s_ + 1));
  long double sum = centre;
  long double slope = centre * s_;
  double magnitude = centre;
  double rounding = 0;
  double quadrature = 0;
  for (const auto& point : points_) {
    const double phase = point.phase - point.t * epsilon;
    const double cosine = std::cos(phase);
    const double sine = std::sin(phase);
    const double real = point.weight.real() * cosine - point.weight.imag() * sine;
    const double imaginary = point.weight.real() * sine + point.weight.imag() * cosine;
    sum += real;
    slope += s_ * real - point.t * imaginary;
    magnitude += point.size;
    rounding += point.size * (point.rounding + unit_roundoff * (3 * std::abs(point.phase) + 3 * point.t * epsilon));
    quadrature += point.size * point.quadrature;
  }
  Value value{};
  value.log_scale = at_s_.value - s_ * epsilon;
  value.log_scale_error = (at_s_.error + 5 * unit_roundoff * (std::abs(at_s_.value) + s_ * epsilon)) * outward;
  value.sum = static_cast<double>(sum) * scale;
  value.slope = static_cast<double>(slope / sum);
  value.quadrature = quadrature * scale;
  value.rounding = scale * (rounding + magnitude * (static_cast<double>(points_.size()) * sum_unit + 24 * unit_roundoff));
  value.truncation = truncation_;
  value.aliasing = alias(right_, epsilon) + alias(left_, epsilon);
  return value;
}

double Line::alias(const Second& second, double epsilon) const {
  const double exponent = second.log_bound - at_s_.value + at_s_.error + (s_ - second.s) * epsilon;
  const double rounding = 8 * unit_roundoff * (std::abs(second.log_bound) + std::abs(at_s_.value) + (s_ + second.s) * epsilon);
  return std::exp(exponent + rounding - log_expm1(std::abs(second.s - s_) * period_ * (1 - 1e-14))) * outward;
}

void Line::choose_step(Cumulants& cumulants, const Saddle& saddle, double log_target) {
  const auto second_at = [&](double s) {
    return Second{s, s > 0 ? cumulants(s).upper() + log_chernoff(s) + 16 * unit_roundoff * (1 + s) * (1 + std::abs(std::log(s))) : 0.0};
  };
  // The period at which this tilt's bound meets the target.
  const auto period_of = [&](const Second& second) {
    const double exponent = second.log_bound - at_s_.value + (s_ - second.s) * saddle.epsilon - (log_target - std::numbers::ln2);
    return (exponent > 0 ? exponent + std::log1p(std::exp(-exponent)) : 1e-3) / std::abs(second.s - s_);
  };
  // How far to tilt, for a Gaussian loss; then a descent, for the period is quasi-convex in the tilt.
  const double curvature = saddle.variance + 1 / (s_ * s_);
  const double guess = std::sqrt(2 * std::max(1.0, saddle.log_delta - (at_s_.value - s_ * saddle.epsilon) - log_target) / curvature);
  const auto descend = [&](auto tilt_at, Second& best) {
    double distance = guess;
    best = second_at(tilt_at(distance));
    double period = period_of(best);
    for (const double factor : {1.3, 1 / 1.3}) {
      double trial = distance * factor;
      for (int i = 0; i < 40; ++i, trial *= factor) {
        const auto candidate = second_at(tilt_at(trial));
        const double its = period_of(candidate);
        if (!(its < period)) break;
        period = its;
        best = candidate;
        distance = trial;
      }
      if (distance != guess) break;
    }
    return period;
  };
  const double to_right = descend([&](double distance) { return s_ + distance; }, right_);
  const double to_left = descend([&](double distance) { return distance < s_ ? s_ - distance : 0.0; }, left_);
  if (left_.s > 0) {
    if (const Second none{0, 0}; period_of(none) < to_left) left_ = none;
  }
  step_ = shorten(2 * pi / std::max(to_right, std::min(to_left, period_of({0, 0}))), 12);
  if (!(step_ > 0)) throw Unsuitable{"its contour needs too many points"};
  period_ = 2 * pi / step_;
}

void Line::choose_end(Cumulants& cumulants, const Saddle& saddle, double log_target) {
  const auto& loss = cumulants.loss();
  const double w = power(cumulants.direction(), s_);
  std::vector<Pieces> pieces;
  pieces.reserve(loss.parts.size());
  NodeGrid grid;
  std::vector<double> weights;
  for (const auto& part : loss.parts) {
    const auto range = range_of(part, w, 36);
    fill(grid, part, step_for(part.mu, 0, w, 36), range);
    // Good to 1e-14, where 1e-8 is allowed for.
    pieces.push_back(pieces_of(part, w, tilt(grid, w, weights).log_moment, grid));
  }
  constexpr double factor = 1.2;
  double from = 0.7 * std::sqrt(2 * std::max(1.0, -log_target) / saddle.variance);
  struct Interval {
    double from;
    double bound;
  };
  std::vector<Interval> intervals;
  double beyond = 0;
  for (;; from *= factor) {
    const double gaussian = -loss.mu_squared * from * from / 2 * (1 - 1e-8);
    double far = gaussian;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      far += loss.parts[i].count * std::min(0.0, std::log(pieces[i].variation / from));
    }
    // Points between a and b: step / t^2 at the first and the integral of 1 / t^2 for the rest, twice for both half lines.
    beyond = std::exp(far * (1 - 1e-8)) * (1 / from + step_ / (from * from)) / pi * outward;
    if (std::log(beyond) < log_target - 3) break;
    if (intervals.size() > 150) throw Unsuitable{"its characteristic function falls too slowly"};
    double near = gaussian;
    // Each part only lowers the bound, so that the rest is not needed once it is far below anything that counts.
    const double negligible = log_target - 64 - std::max(0.0, std::log((1 / from + step_ / (from * from)) / pi));
    for (std::size_t i = 0; i < pieces.size() && near > negligible; ++i) {
      near += loss.parts[i].count * log_decay(pieces[i], from, from * factor);
    }
    const double bound = std::exp(near * (1 - 1e-8)) * (1 / from - 1 / (from * factor) + step_ / (from * from)) / pi * outward;
    intervals.push_back({from, bound});
  }
  truncation_ = beyond;
  double end = from;
  while (!intervals.empty() && std::log(truncation_ + intervals.back().bound) < log_target) {
    truncation_ += intervals.back().bound;
    end = intervals.back().from;
    intervals.pop_back();
  }
  truncation_ *= outward;
  const double points = std::ceil(end / step_);
  if (!(points < (pieces.empty() ? most_points_of_gaussians : most_points))) throw Unsuitable{"its contour needs too many points"};
  last_ = size_of(points);
}

void Line::add_points(Cumulants& cumulants, double tolerance) {
  const auto& loss = cumulants.loss();
  const auto direction = cumulants.direction();
  const double w = power(direction, s_);
  const double sign = direction == Direction::remove ? 1 : -1;
  const double farthest = static_cast<double>(last_) * step_;
  const double digits = std::max(0.5, digits_for(loss, tolerance));
  std::vector<long double> log_size(last_ + 1);
  std::vector<long double> phase(last_ + 1);
  std::vector<double> rounding(last_ + 1);
  std::vector<double> quadrature(last_ + 1);
  std::vector<double> magnitude(last_ + 1);
  for (std::size_t k = 1; k <= last_; ++k) {
    const double t = static_cast<double>(k) * step_;
    log_size[k] = -loss.mu_squared * t * t / 2;
    phase[k] = loss.mu_squared * t * (2 * s_ + 1) / 2;
    rounding[k] = 8 * unit_roundoff * (std::abs(static_cast<double>(log_size[k])) + std::abs(static_cast<double>(phase[k])));
  }
  // Rotations may add a tenth of the tolerance.
  const double stride = std::clamp(0.1 * tolerance / (loss.releases * Rotations::per_turn * unit_roundoff), 1.0, 32.0);
  NodeGrid grid;
  std::vector<double> f;
  double work = 0;
  for (const auto& part : loss.parts) {
    fill(grid, part, step_for(part.mu, farthest, w, digits), range_of(part, w, digits));
    const std::size_t nodes = grid.u.size();
    work += static_cast<double>(nodes) * static_cast<double>(last_);
    const auto parts = static_cast<double>(loss.parts.size());
    if (!(work < (parts < many_parts ? most_work + most_work_per_part * parts : most_work_of_many)))
      throw Unsuitable{"its contour needs too many points"};
    const auto at = tilt(grid, w, f);
    Rotations rotations{grid, f, step_, stride};
    const double cut = std::exp(log_quadrature(part.mu, grid.step, farthest, w)) + range_error(part, w, grid.range, at.log_moment);
    for (std::size_t k = 1; k <= last_; ++k) {
      const double t = static_cast<double>(k) * step_;
      const auto [real, imaginary] = rotations.advance(k, t);
      const double size = std::hypot(real, imaginary);
      if (!(size > 0)) throw Unsuitable{"its characteristic function vanishes"};
      const double log_of_size = std::log(real * real + imaginary * imaginary) / 2;
      const double angle = sign * std::atan2(imaginary, real);
      log_size[k] += part.count * static_cast<long double>(log_of_size);
      phase[k] += part.count * static_cast<long double>(angle);
      // Both phi's numerator and its denominator err; the logarithm and the angle of the result are computed from both parts.
      const double absolute = 2 * at.rounding + t * at.loss_error + rotations.rounding();
      rounding[k] +=
          part.count * (std::log1p(absolute / size) + unit_roundoff * (4 + (library + 2) * (std::abs(log_of_size) + std::abs(angle))));
      magnitude[k] += part.count * (std::abs(log_of_size) + std::abs(angle));
      quadrature[k] += part.count * std::log1p(2 * cut / size);
    }
  }
  const auto parts = static_cast<double>(loss.parts.size());
  points_.reserve(last_);
  for (std::size_t k = 1; k <= last_; ++k) {
    const double t = static_cast<double>(k) * step_;
    const std::complex<double> z{s_, t};
    const double real = s_ * (s_ + 1) - t * t;
    const double imaginary = t * (2 * s_ + 1);
    const double square = real * real + imaginary * imaginary;
    const auto log_of_size = static_cast<double>(log_size[k]);
    const auto angle = static_cast<double>(phase[k]);
    const double factor = 2 * std::exp(log_of_size) / square;
    Point point{};
    point.t = t;
    point.phase = angle;
    point.weight = {factor * real, -factor * imaginary};
    point.size = 2 * std::exp(log_of_size) / std::sqrt(square) * outward;
    const double sums = (parts + 2) * sum_unit * magnitude[k] + 4 * unit_roundoff * (std::abs(log_of_size) + std::abs(angle));
    const double relative_rounding = std::expm1(rounding[k] * outward + sums) * outward;
    const double with_quadrature = std::expm1(rounding[k] * outward + sums + quadrature[k] * outward) * outward;
    // The real part of z (z + 1) cancels; its error is relative to the modulus, of which s (s + 1) + t^2 is at most twice.
    point.rounding = relative_rounding + 40 * unit_roundoff;
    point.quadrature = std::max(0.0, with_quadrature - relative_rounding) + unit_roundoff * with_quadrature;
    points_.push_back(point);
  }
}

}  // namespace surety::accounting::contour
