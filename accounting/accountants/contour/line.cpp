#include <surety/accounting/accountants/contour/line.h>

#include <algorithm>
#include <array>
#include <numbers>
#include <numeric>
#include <utility>

#include <surety/accounting/accountants/contour/decay.h>
#include <surety/accounting/accountants/contour/excess_moment.h>
#include <surety/accounting/accountants/contour/lattice.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/hypotenuse.h>
#include <surety/base/numbers/limit.h>

namespace surety::accounting::contour {
namespace {

using std::numbers::pi;

/// Beyond these a grid would do better.
constexpr double most_points = 100'000;
constexpr double most_points_of_gaussians = 200'000;
constexpr double most_work = 1e8;
/// Of so many parts a grid would transform each one by itself, which takes longer than this.
constexpr double many_parts = 16;
constexpr double most_work_of_many = 1e9;
/// Exponentials of the tails of rare batches, each a tenth of a microsecond.
constexpr double most_work_of_excess = 1e7;

/// Points from which on fewer of them are worth the search for a smaller last one.
constexpr double few_points = 1500;

// Proved: docs/proofs/contour.md#shifts
/// The terms of one part on a grid of nodes at t = 0: f e^(i phase), no phases without a shift.
struct Terms {
  std::vector<double> f;
  std::vector<double> phase;
  double modulus = 1;  ///< bound on the sum of their moduli at every t in question
};

/// Their sums, each times exp(i t log r), at t = k step for k = first, first + 1, ...: sines and cosines every `stride` steps, and
/// multiplications by exp(i step log r) between them.
class Rotations {
 public:
  /// What one multiplication adds to the error: a factor that errs by sqrt(2) library units, with a shift by an exponential and a product
  /// more, and a product by sqrt(5).
  static constexpr double per_turn = 2 * library + 3;
  static constexpr double per_shifted_turn = 3 * library + 6;

  /// How many steps a sine and a cosine last where rotations may add `allowed` to the error.
  [[nodiscard]] static std::size_t stride(double allowed, double units) {
    return size_of(std::clamp(allowed / share_of_units(units / 2), 1.0, 256.0));
  }

  /// Rotations may add `allowed` to the error.
  Rotations(const NodeGrid& grid, const Terms& terms, double step, double allowed)
      : grid_{grid}, terms_{terms}, per_turn_{grid.shift > 0 ? per_shifted_turn : per_turn}, stride_{stride(allowed, per_turn_)} {
    const std::size_t nodes = terms.f.size();
    real_.resize(nodes);
    imaginary_.resize(nodes);
    if (stride_ == 1) return;
    turn_real_.resize(nodes);
    turn_imaginary_.resize(nodes);
    for (std::size_t j = 0; j < nodes; ++j) {
      const double shrink = grid.shift > 0 ? std::exp(-step * grid.angle[j]) : 1;
      turn_real_[j] = shrink * std::cos(step * grid.loss[j]);
      turn_imaginary_[j] = shrink * std::sin(step * grid.loss[j]);
    }
  }

  /// Bound on the absolute error of a sum, but for those of the terms and of log r.
  [[nodiscard]] double rounding() const {
    const auto nodes = static_cast<double>(terms_.f.size());
    const double sums = stride_ == 1 ? rounding_of_sum(nodes) : share_of_units(nodes / 8 + 2);
    const double turns = share_of_units(per_turn_ / 2 * static_cast<double>(stride_ - 1));
    return terms_.modulus * covered(sums + turns + share_of_units(1.5 * library + 5)).value();
  }

  /// The sum at t; to be called for each t in turn.
  [[nodiscard]] std::pair<double, double> advance(double t) {
    poll_limit();
    const std::size_t nodes = terms_.f.size();
    if (turned_ % stride_ == 0) {
      for (std::size_t j = 0; j < nodes; ++j) {
        const bool shifted = grid_.shift > 0;
        const double size = shifted ? terms_.f[j] * std::exp(-t * grid_.angle[j]) : terms_.f[j];
        const double angle = t * grid_.loss[j] + (shifted ? terms_.phase[j] : 0);
        real_[j] = size * std::cos(angle);
        imaginary_[j] = size * std::sin(angle);
      }
    } else {
      for (std::size_t j = 0; j < nodes; ++j) {
        const double turned = real_[j] * turn_real_[j] - imaginary_[j] * turn_imaginary_[j];
        imaginary_[j] = real_[j] * turn_imaginary_[j] + imaginary_[j] * turn_real_[j];
        real_[j] = turned;
      }
    }
    ++turned_;
    if (stride_ > 1) return {sum(real_), sum(imaginary_)};
    return {static_cast<double>(std::accumulate(real_.begin(), real_.end(), 0.0L)),
            static_cast<double>(std::accumulate(imaginary_.begin(), imaginary_.end(), 0.0L))};
  }

 private:
  /// In four parts at once.
  [[nodiscard]] static double sum(const std::vector<double>& terms) {
    std::array<double, 4> parts{};
    std::size_t j = 0;
    for (; j + 4 <= terms.size(); j += 4) {
      for (std::size_t i = 0; i < 4; ++i) parts[i] += terms[j + i];
    }
    for (; j < terms.size(); ++j) parts[0] += terms[j];
    return (parts[0] + parts[1]) + (parts[2] + parts[3]);
  }

  const NodeGrid& grid_;
  const Terms& terms_;
  double per_turn_;
  std::size_t stride_;
  std::size_t turned_ = 0;
  std::vector<double> turn_real_;
  std::vector<double> turn_imaginary_;
  std::vector<double> real_;
  std::vector<double> imaginary_;
};

/// Points from `from` on, |phi| being 1: step / t^2 at the first and the integral of 1 / t^2 for the rest, on both half lines.
Upper weight_from(double from, double step) { return (Upper{1} / Exact{from} + Upper{Exact{step}} / Exact{from} / Exact{from}) / pi_below; }
/// Those up to `to`.
Upper weight_between(double from, double to, double step) {
  return (Upper{1} / Exact{from} - Lower{1} / Exact{to} + Upper{Exact{step}} / Exact{from} / Exact{from}) / pi_below;
}

/// log |phi| of the Gaussian releases at t >= from.
Upper gaussian_decay(const Loss& loss, double from) {
  return -(Lower::within(loss.continuous_mu_squared, 2) * Exact{from} * Exact{from} / 2);
}

/// Up to this t the nodes of a part are on the real line: there they are not yet much denser than for t = 0.
double unshifted(const SampledReleases& part) { return 30 / part.mu; }

/// log phi at every point, summed over the parts.
struct Sums {
  struct Sum {
    long double log_size = 0;
    long double phase = 0;
    double rounding = 0;  ///< of the logarithm, and so relative
    double quadrature = 0;
    double magnitude = 0;
  };

  Sums(double step, Direction direction, double w, double digits, double allowed, std::size_t last)
      : of(last + 1), step_{step}, direction_{direction}, w_{w}, digits_{digits}, allowed_{allowed} {}

  std::vector<Sum> of;

  /// The same for a part with M(s) - 1 <= `largest_excess`, from M - 1: T batches then err by shares of T (M - 1) instead of T.
  void add_by_excess(const SampledReleases& part, double digits) {
    const auto relative = [](double error, double size) { return error / size * over_one_less(error / size); };
    const double end = static_cast<double>(of.size() - 1) * step_;
    const auto at_s = ExcessMoment{part, w_, digits, 0, 0}.at(0);
    const double moment = 1 + at_s.excess.real();
    const double log_moment = std::log1p(at_s.excess.real());
    const double sign = direction_ == Direction::remove ? 1 : -1;
    double work = 0;
    for (std::size_t k = 1; k < of.size();) {
      const double from = static_cast<double>(k) * step_;
      const double to = std::min(end, 2 * from);
      const ExcessMoment moments{part, w_, digits, from, to};
      work += static_cast<double>(moments.tail_nodes()) * (to - from) / step_;
      if (!(work < most_work_of_excess)) throw Unsuitable{"its contour needs too many points"};
      PollNowAndThen poll;
      for (; k < of.size() && static_cast<double>(k) * step_ <= to; ++k) {
        poll();
        const auto [excess, rounding, cut] = moments.at(static_cast<double>(k) * step_);
        const double above = 2 * excess.real() + std::norm(excess);  // |M|^2 - 1
        const double size = std::abs(1.0 + excess);
        if (!(size > 0)) throw Unsuitable{"its characteristic function vanishes"};
        const double log_of_size = std::log1p(above) / 2;
        const double angle = sign * std::atan2(excess.imag(), 1 + excess.real());
        auto& sum = of[k];
        sum.log_size += part.count * (static_cast<long double>(log_of_size) - static_cast<long double>(log_moment));
        sum.phase += part.count * static_cast<long double>(angle);
        const double magnitude = std::abs(log_of_size) + std::abs(log_moment) + std::abs(angle);
        const double of_square = 3 * (2 * std::abs(excess.real()) + std::norm(excess)) / (size * size);
        sum.rounding += part.count * (relative(rounding, size) + relative(at_s.rounding, moment) +
                                      share_of_units((library / 2 + 2) * magnitude + of_square));
        sum.magnitude += part.count * magnitude;
        sum.quadrature += part.count * (relative(cut, size) + relative(at_s.cut, moment));
      }
    }
  }

  void add(const SampledReleases& part) {
    const double end = static_cast<double>(of.size() - 1) * step_;
    auto [k, at, denominator] = add_unshifted(part, 1, std::min(end, unshifted(part)));
    if (k == of.size()) return;
    ShiftedDecay decay{part, w_, Exact{at.log_moment}};  // which only chooses a shift
    while (k < of.size()) {
      const double from = static_cast<double>(k) * step_;
      const double shift = shorten(std::min(decay.best(1.4 * from).shift, most_angle / part.mu), 12);
      const auto range = range_of(part, w_, digits_ + log_line(part.mu, shift, 0, w_));
      if (!(shift > 0 && can_be_shifted(part, range))) {
        k = add_unshifted(part, k, end).next;
        continue;
      }
      const double to = std::min(end, 2 * from);
      fill(grid_, part, step_for(part.mu, to, w_, digits_, shift), range, shift);
      const auto tilted = shifted_tilt(grid_, w_, from, at.log_moment, terms_.f, terms_.phase);
      terms_.modulus = tilted.modulus;
      k = add_points(part, k, to,
                     {.rounding = tilted.rounding + at.rounding * tilted.modulus, .loss_error = tilted.loss_error, .worst = tilted.worst},
                     at, denominator);
    }
  }

 private:
  /// What the nodes between and beyond those of the grid leave out, over M(s), for all t up to `to`.
  [[nodiscard]] double cut(const SampledReleases& part, double to, double log_moment) const {
    return covered(std::exp(log_quadrature(part.mu, grid_.step, to, w_, grid_.shift)) +
                   range_error(part, w_, grid_.range, log_moment) * std::exp(log_line(part.mu, grid_.shift, 0, w_)))
        .value();
  }

  /// Of the terms of a sum over M(s), at t: absolute, and per unit of t; of one term, at most.
  struct TermErrors {
    double rounding;
    double loss_error;
    double worst;
  };
  struct Added {
    std::size_t next;
    Tilt at;
    double denominator;  // what is cut off M(s), relative
  };
  /// As `add_points`, on nodes of the real line.
  Added add_unshifted(const SampledReleases& part, std::size_t k, double to) {
    fill(grid_, part, step_for(part.mu, to, w_, digits_), range_of(part, w_, digits_));
    const auto at = tilt(grid_, w_, terms_.f);
    terms_.modulus = 1;
    const double denominator = cut(part, 0, at.log_moment);
    return {add_points(part, k, to, {2 * at.rounding, at.loss_error, at.worst}, at, denominator), at, denominator};
  }

  /// The points from k up to t = `to`; returns the next one.
  std::size_t add_points(const SampledReleases& part, std::size_t k, double to, const TermErrors& terms, const Tilt& of_moment,
                         double denominator) {
    const double sign = direction_ == Direction::remove ? 1 : -1;
    // Errors of numerator and denominator are relative to the exact M(s), which may be less than the computed one.
    const double both_cut = (cut(part, to, of_moment.log_moment) + denominator) * over_one_less(of_moment.rounding + denominator);
    Rotations rotations{grid_, terms_, step_, allowed_};
    const double rotated = rotations.rounding();
    for (; k < of.size() && (static_cast<double>(k) * step_ <= to); ++k) {
      const double t = static_cast<double>(k) * step_;
      const auto [real, imaginary] = rotations.advance(t);
      const double size = hypotenuse(real, imaginary);
      if (!(size > 0)) throw Unsuitable{"its characteristic function vanishes"};
      const double log_of_size = std::log(real * real + imaginary * imaginary) / 2;
      const double angle = sign * std::atan2(imaginary, real);
      auto& sum = of[k];
      sum.log_size += part.count * static_cast<long double>(log_of_size);
      sum.phase += part.count * static_cast<long double>(angle);
      // Both phi's numerator and its denominator err; the logarithm and the angle of the result are computed from both parts.
      const double absolute =
          (terms.rounding + t * terms.loss_error + rotated) * over_one_less(of_moment.rounding + terms.worst + t * grid_.worst_loss);
      sum.rounding +=
          part.count * (std::log1p(absolute / size) + share_of_units(2 + (library / 2 + 1) * (std::abs(log_of_size) + std::abs(angle))));
      sum.magnitude += part.count * (std::abs(log_of_size) + std::abs(angle));
      sum.quadrature += part.count * std::log1p(both_cut / size);
    }
    return k;
  }

  double step_;
  Direction direction_;
  double w_;
  double digits_;
  double allowed_;
  NodeGrid grid_;
  Terms terms_;
};

/// log M(s) of one part, roughly.
double log_moment_of(const SampledReleases& part, double w) {
  NodeGrid grid;
  std::vector<double> weights;
  fill(grid, part, step_for(part.mu, 0, w, 36), range_of(part, w, 36));
  return tilt(grid, w, weights).log_moment;
}

/// Whether the rounding of M itself, T times, would be more than a small share of delta.
bool loses_delta_in_rounding(const SampledReleases& part, double log_share) {
  constexpr double units = 64;
  constexpr double share = 1e-5;
  return part.count * share_of_units(units) > share * std::exp(log_share);
}

}  // namespace

Line::Line(Cumulants& cumulants, const Saddle& saddle, const ContourShares& shares) : s_{saddle.s}, at_s_{cumulants(saddle.s)} {
  // delta / exp(Lambda(s) - s epsilon), roughly; each error is to be a share of it.
  const double log_share = saddle.log_delta - (at_s_.value - s_ * saddle.epsilon);
  choose_step(cumulants, saddle, log_share + std::log(shares.aliasing));
  choose_end(cumulants, saddle, log_share + std::log(shares.truncation));
  add_points(cumulants, shares.quadrature, log_share);
}

Line::Value Line::at(double epsilon) const {
  const double scale = step_ / (2 * pi);
  const double centre = 1 / (s_ * (s_ + 1));
  long double sum = centre;
  long double slope = centre * s_;
  double magnitude = centre;
  double rounding = 0;
  double quadrature = 0;
  PollNowAndThen poll;
  for (const auto& point : points_) {
    poll();
    const double phase = point.phase - point.t * epsilon;
    const double cosine = std::cos(phase);
    const double sine = std::sin(phase);
    const double real = point.weight.real() * cosine - point.weight.imag() * sine;
    const double imaginary = point.weight.real() * sine + point.weight.imag() * cosine;
    sum += real;
    slope += s_ * real - point.t * imaginary;
    magnitude += point.size;
    rounding += point.size * (point.rounding + share_of_units(1.5 * (std::abs(point.phase) + point.t * epsilon)));
    quadrature += point.size * point.quadrature;
  }
  const double of_sums = magnitude * (rounding_of_sum(static_cast<double>(points_.size())) + share_of_units(12.0));
  return {.log_scale = at_s_.value - s_ * epsilon,
          .log_scale_error = covered(at_s_.error + share_of_units(2.5) * (std::abs(at_s_.value) + s_ * epsilon)).value(),
          .sum = static_cast<double>(sum) * scale,
          .aliasing = alias(right_, epsilon) + alias(left_, epsilon),
          .truncation = truncation_,
          .quadrature = covered(quadrature * scale),
          .rounding = covered((rounding + of_sums) * scale),
          .slope = static_cast<double>(slope / sum)};
}

Upper Line::alias(const Second& second, double epsilon) const {
  const Upper exponent = second.log_bound - at_s_.lower() + Upper{Exact{s_}} * Exact{epsilon} - Lower{Exact{second.s}} * Exact{epsilon};
  const Lower period = 2 * pi_below / Exact{step_};
  return exp(exponent - log_expm1(Lower::rounded(std::abs(second.s - s_)) * period));
}

void Line::choose_step(Cumulants& cumulants, const Saddle& saddle, double log_target) {
  const auto second_at = [&](double s) { return Second{s, s > 0 ? cumulants(s).upper() + log_chernoff(s) : Upper{0}}; };
  // The period at which this tilt's bound meets the target.
  const auto period_of = [&](const Second& second) {
    const double exponent = second.log_bound.value() - at_s_.value + (s_ - second.s) * saddle.epsilon - (log_target - std::numbers::ln2);
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
    if (const Second none{0, Upper{0}}; period_of(none) < to_left) left_ = none;
  }
  step_ = shorten(2 * pi / std::max(to_right, std::min(to_left, period_of({0, Upper{0}}))), 12);
  if (!(step_ > 0)) throw Unsuitable{"its contour needs too many points"};
}

void Line::choose_end(Cumulants& cumulants, const Saddle& saddle, double log_target) {
  const auto& loss = cumulants.loss();
  if (!loss.lattices.empty()) {
    // Of one lattice a grid of its losses is exact, and without deep valleys the peaks never end.
    if (!ends_beyond_lattices(loss)) throw Unsuitable{"its losses lie on a lattice"};
    double end = std::sqrt(2 * std::max(1.0, 3 - log_target) / loss.mu_squared);
    for (const auto& releases : loss.lattices) end = std::min(end, Lattice{releases}.farthest());
    const double points = std::floor(end / step_);
    if (!(points >= 1)) throw Unsuitable{"its lattice is too coarse"};
    if (!(points < most_points)) throw Unsuitable{"its contour needs too many points"};
    last_ = size_of(points);
    truncation_ = lattice_truncation(loss, step_, static_cast<double>(last_) * step_, log_target);
    return;
  }
  const double w = power(cumulants.direction(), s_);
  std::vector<Pieces> pieces;
  pieces.reserve(loss.parts.size());
  std::vector<Ball> log_moments;
  NodeGrid grid;
  std::vector<double> weights;
  for (const auto& part : loss.parts) {
    const auto range = range_of(part, w, 36);
    fill(grid, part, step_for(part.mu, 0, w, 36), range);
    log_moments.push_back(log_moment(grid, w, tilt(grid, w, weights)));
    pieces.push_back(pieces_of(part, w, log_moments.back(), grid));
  }
  constexpr double factor = 1.2;
  PollNowAndThen poll;
  const double start = 0.7 * std::sqrt(2 * std::max(1.0, -log_target) / saddle.variance);
  double from = start;
  struct Interval {
    double from;
    Upper bound;
  };
  std::vector<Interval> intervals;
  for (;; from *= factor) {
    const Upper gaussian = gaussian_decay(loss, from);
    const Upper weight = weight_from(from, step_);
    Upper far = gaussian;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      poll();
      far += Exact{loss.parts[i].count} * min(Upper{0}, log(pieces[i].variation / Exact{from}));
    }
    truncation_ = exp(far) * weight;
    if (std::log(truncation_.value()) < log_target - 3) break;
    if (intervals.size() > 150) throw Unsuitable{"its characteristic function falls too slowly"};
    Upper near = gaussian;
    // Each part only lowers the bound, so that the rest is not needed once it is far below anything that counts.
    const double negligible = log_target - 64 - std::max(0.0, std::log(weight.value()));
    for (std::size_t i = 0; i < pieces.size() && near.value() > negligible; ++i) {
      poll();
      near += Exact{loss.parts[i].count} * log_decay(pieces[i], from, from * factor);
    }
    intervals.push_back({from, exp(near) * weight_between(from, from * factor, step_)});
  }
  double end = from;
  while (!intervals.empty() && std::log((truncation_ + intervals.back().bound).value()) < log_target) {
    truncation_ += intervals.back().bound;
    end = intervals.back().from;
    intervals.pop_back();
  }
  if (!loss.parts.empty() && end > few_points * step_) end = shortened_end(cumulants, pieces, log_moments, {start, end}, log_target);
  const double points = std::ceil(end / step_);
  if (!(points < (pieces.empty() ? most_points_of_gaussians : most_points))) throw Unsuitable{"its contour needs too many points"};
  last_ = size_of(points);
}

double Line::shortened_end(const Cumulants& cumulants, const std::vector<Pieces>& pieces, const std::vector<Ball>& log_moments, Range range,
                           double log_target) {
  constexpr double close = 1.1;
  const auto& loss = cumulants.loss();
  const auto parts = pieces.size();
  const double w = power(cumulants.direction(), s_);
  std::vector<ShiftedDecay> shifted;
  for (std::size_t i = 0; i < parts; ++i) shifted.emplace_back(loss.parts[i], w, log_moments[i]);
  while (range.low * close < range.high) {
    const double from = std::sqrt(range.low * range.high);
    // Each part only lowers the bound: enough of them are.
    const Upper weight = weight_from(from, step_);
    const double enough = log_target - 0.1 - std::log(weight.value());
    Upper sum = gaussian_decay(loss, from);
    for (std::size_t i = 0; i < parts && sum.value() >= enough; ++i) {
      poll_limit();
      sum += Exact{loss.parts[i].count} * min(min(Upper{0}, log(pieces[i].variation / Exact{from})), shifted[i].best(from).log_decay);
    }
    const Upper tail = exp(sum) * weight;
    if (std::log(tail.value()) < log_target) {
      range.high = from;
      truncation_ = tail;
    } else {
      range.low = from;
    }
  }
  return range.high;
}

void Line::add_points(Cumulants& cumulants, double tolerance, double log_share) {
  const auto& loss = cumulants.loss();
  const auto direction = cumulants.direction();
  const double w = power(direction, s_);
  const double farthest = static_cast<double>(last_) * step_;
  const double digits = std::max(0.5, digits_for(loss, tolerance));
  const double allowed = 0.1 * tolerance / loss.releases;
  Sums sums{step_, direction, w, digits, allowed, last_};
  for (std::size_t k = 1; k <= last_; ++k) {
    const double t = static_cast<double>(k) * step_;
    auto& sum = sums.of[k];
    sum.log_size = -loss.mu_squared * t * t / 2;
    sum.phase = loss.mu_squared * t * (2 * s_ + 1) / 2;
    sum.rounding = share_of_units(4.0) * (std::abs(static_cast<double>(sum.log_size)) + std::abs(static_cast<double>(sum.phase)));
  }
  for (const auto& releases : loss.lattices) {
    const Lattice lattice{releases};
    for (std::size_t k = 1; k <= last_; ++k) {
      const auto [log_size, phase, error] = lattice.correction(s_, static_cast<double>(k) * step_);
      auto& sum = sums.of[k];
      sum.log_size += releases.count * static_cast<long double>(log_size);
      sum.phase += releases.count * static_cast<long double>(phase);
      sum.rounding += releases.count * error;
      sum.magnitude += releases.count * (std::abs(log_size) + std::abs(phase));
    }
  }
  // Whether it is too much is known before anything of it is done. A sine and a cosine take as long as some ten rotations.
  const auto stride = static_cast<double>(Rotations::stride(allowed, Rotations::per_shifted_turn));
  const double each = 1 + 10 / stride;
  double work = 0;
  std::vector<SampledReleases> plain;
  std::vector<SampledReleases> by_excess;
  // With so many terms of the plain sum the excess is the faster one.
  constexpr double much = 1e6;
  for (const auto& part : loss.parts) {
    const auto range = range_of(part, w, digits);
    const double terms =
        (range.high - range.low) / step_for(part.mu, std::min(farthest, unshifted(part)), w, digits) * static_cast<double>(last_) * each;
    const bool is_worth_it = part.rate < 0.5 && (terms > much || loses_delta_in_rounding(part, log_share));
    if (is_worth_it && log_moment_of(part, w) <= std::log1p(largest_excess)) {
      by_excess.push_back(part);
      continue;
    }
    plain.push_back(part);
    work += terms;
  }
  const auto parts = static_cast<double>(loss.parts.size() + loss.lattices.size());
  if (!(work < (parts < many_parts ? most_work : most_work_of_many))) throw Unsuitable{"its contour needs too many points"};
  for (const auto& part : plain) sums.add(part);
  for (const auto& part : by_excess) sums.add_by_excess(part, digits + std::max(0.0, -log_share));
  points_.reserve(last_);
  for (std::size_t k = 1; k <= last_; ++k) {
    const double t = static_cast<double>(k) * step_;
    const std::complex<double> z{s_, t};
    const double real = s_ * (s_ + 1) - t * t;
    const double imaginary = t * (2 * s_ + 1);
    const double square = real * real + imaginary * imaginary;
    const auto& sum = sums.of[k];
    const auto log_of_size = static_cast<double>(sum.log_size);
    const auto angle = static_cast<double>(sum.phase);
    const double factor = 2 * std::exp(log_of_size) / square;
    QuadraturePoint point{};
    point.t = t;
    point.phase = angle;
    point.weight = {factor * real, -factor * imaginary};
    point.size = covered(2 * std::exp(log_of_size) / std::sqrt(square)).value();
    const double adding = rounding_of_sum(parts + 2) * sum.magnitude + share_of_units(2.0) * (std::abs(log_of_size) + std::abs(angle));
    const auto relative = [](double of_logarithm) { return covered(std::expm1(covered(of_logarithm).value())).value(); };
    const double relative_rounding = relative(sum.rounding + adding);
    const double with_quadrature = relative(sum.rounding + adding + sum.quadrature);
    // The real part of z (z + 1) cancels; its error is relative to the modulus, of which s (s + 1) + t^2 is at most twice.
    point.rounding = relative_rounding + share_of_units(20.0);
    point.quadrature = std::max(0.0, with_quadrature - relative_rounding) + share_of_units(with_quadrature);
    points_.push_back(point);
  }
}

// Proved so far.
}  // namespace surety::accounting::contour
