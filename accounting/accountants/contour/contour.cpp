#include <surety/accounting/accountants/contour/contour.h>

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/numbers/checked_cast.h>
#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/numbers/interval.h>
#include <surety/accounting/numbers/rounding.h>

namespace surety::accounting {
namespace {

using std::numbers::pi;

/// Unit roundoff of double, and of the accumulators of long sums (at most that of double).
constexpr double sum_unit = static_cast<double>(std::numeric_limits<long double>::epsilon());
/// Bound on the relative error of exp, expm1, log, log1p, sin, cos, atan2 of the C library, in units of `unit`: glibc states at
/// most 1 ulp (2 units) for each on the machines it lists, 2 ulp for none of these; the rest is margin.
constexpr double library = 4;
/// Covers the rounding of bounds that are themselves computed in double, each from fewer than 1e5 operations on positive terms.
constexpr double outward = 1 + 1e-8;
constexpr double log_sqrt_two_pi = 0.918938533204672741780;

/// Beyond these a grid would do better.
constexpr double most_nodes = 20'000;
constexpr double most_points = 30'000;
constexpr double most_points_of_gaussians = 200'000;
constexpr double most_work = 1e7;
constexpr double most_work_per_part = 2e4;
/// Of so many parts a grid would transform each one by itself, which takes longer than this.
constexpr double many_parts = 16;
constexpr double most_work_of_many = 3e8;
constexpr double most_relative_error = 1e-3;

/// The loss has no contour that is worth its points; becomes Error{unsupported} where the event is known.
struct Unsuitable {
  const char* reason;
};

// ---- What is accounted for ----

/// `count` batches joined with probability `rate`, of Gaussian releases with mu together; mu is within 2 units.
struct Part {
  double rate;
  double mu;
  double count;
};

/// Gaussian releases of `mu_squared` together (within 2 units; 0 for none) and sampled ones.
struct Loss {
  double mu_squared = 0;
  std::vector<Part> parts;
  double releases = 0;
};

[[noreturn]] void refuse(const Event& event, std::string_view reason) {
  throw Error{ErrorCode::unsupported, fmt::format("contour has no answer for {}: {}; privacy-loss may", one_line(describe(event)), reason)};
}

constexpr mpfr_prec_t precision = 128;

/// mu^2 of an event without sampling. A record is in one part of a parallel event and in one batch of a deterministic epoch; the
/// other releases are post-processing of what was known before.
Interval mu_squared_of(const Event& event) {
  if (const auto gaussian = pairwise_multiplier(event)) {
    const Interval multiplier{gaussian->value(), precision};
    return Interval{1, precision} / (multiplier * multiplier);
  }
  if (const auto* repeated = std::get_if<Event::Repeated>(&event.node())) {
    return Interval{static_cast<double>(repeated->count.value()), precision} * mu_squared_of(repeated->event);
  }
  if (const auto* composed = std::get_if<Event::Composed>(&event.node())) {
    Interval sum{0, precision};
    for (const auto& part : composed->events) sum = sum + mu_squared_of(part);
    return sum;
  }
  if (const auto* parallel = std::get_if<Event::Parallel>(&event.node())) {
    Interval largest{0, precision};
    for (const auto& part : parallel->events) {
      auto candidate = mu_squared_of(part);
      if (mpfr_cmp(candidate.upper(), largest.upper()) > 0) largest = std::move(candidate);
    }
    return largest;
  }
  if (const auto* deterministic = std::get_if<Event::Deterministic>(&event.node())) return mu_squared_of(deterministic->event);
  refuse(event, "its loss has no density that is known here");
}

double middle(const Interval& interval) {
  const auto enclosure = interval.enclosure();
  return enclosure.lower + (enclosure.upper - enclosure.lower) / 2;
}

struct Collector {
  Interval mu_squared{0, precision};
  std::map<std::pair<double, double>, double> counts;
  double releases = 0;

  void add(const Event& event, double count) {
    if (!(count <= 0x1p53)) refuse(event, "it is released more than 2^53 times");
    if (const auto* repeated = std::get_if<Event::Repeated>(&event.node())) {
      add(repeated->event, count * static_cast<double>(repeated->count.value()));
    } else if (const auto* composed = std::get_if<Event::Composed>(&event.node())) {
      for (const auto& part : composed->events) add(part, count);
    } else if (const auto* sampled = std::get_if<Event::PoissonSampled>(&event.node()); sampled && sampled->rate.value() < 1) {
      const auto pair = poisson_pair(sampled->event);
      if (pair == PoissonPair::opposite) refuse(event, "under replace-one both data sets are mixtures");
      if (pair != PoissonPair::with_or_without) refuse(event, "who was in the batch may show");
      const double mu = middle(sqrt(mu_squared_of(sampled->event)));
      counts[{sampled->rate.value(), mu}] += count;
      releases += count;
    } else {
      mu_squared = mu_squared + Interval{count, precision} * mu_squared_of(sampled ? sampled->event : event);
      releases += 1;
    }
  }
};

Loss collect(const Event& event) {
  Collector collector;
  collector.add(event, 1);
  Loss loss{middle(collector.mu_squared), {}, collector.releases};
  if (loss.mu_squared != 0 && !(loss.mu_squared > 1e-200 && loss.mu_squared < 1e200)) throw Unsuitable{"its noise is out of range"};
  for (const auto& [key, count] : collector.counts) {
    if (!(key.second > 1e-100 && key.second < 1e3)) throw Unsuitable{"the noise of a sampled batch is out of range"};
    if (!(key.first > 1e-30 && key.first < 1 - 1e-9)) throw Unsuitable{"its sampling rate is nearly 0 or 1"};
    loss.parts.push_back({key.first, key.second, count});
  }
  return loss;
}

// ---- The moment generating function of one part: M(z) = E[r(U)^w], U standard normal, r = 1 - q + q exp(mu U - mu^2 / 2) ----

/// remove: M(z) = E[r^(z + 1)]; add: M(z) = E[r^(-z)].
double power(Direction direction, double s) { return direction == Direction::remove ? s + 1 : -s; }

/// x with `bits` bits, rounded down: sums and small multiples of it are exact.
double shorten(double x, int bits) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::floor(std::ldexp(mantissa, bits)), exponent - bits);
}

double log_expm1(double x) { return x > 40 ? x : std::log(std::expm1(x)); }

constexpr double strips[] = {1.1, 1, 0.9, 0.8, 0.7, 0.6, 0.45, 0.3};

/// How fast the logarithm of the integrand's bound grows with a^2 / 2, a the distance from the real line.
double growth(double mu, double w) { return 1 + std::max(-w, 0.0) * mu * mu / 4; }

/// Logarithm of a bound on |trapezoid sum - M(s + it)| / M(s): 2 N / (exp(2 pi a / step) - 1) for any half width a of the strip
/// [TW14, Theorem 5.1], with N <= exp(a^2 / 2 + |t| mu a) M(s), and cos(mu a / 2)^w more where w < 0. \pre mu a < pi.
double log_quadrature(double mu, double step, double t, double w) {
  const double best_width = (2 * pi / step - t * mu) / growth(mu, w);
  double best = infinity;
  for (const double fraction : strips) {
    const double a = std::min(fraction * best_width, 0.98 * pi / mu);
    if (!(a > 0)) break;
    const double cosine = w < 0 ? w * std::log(std::cos(mu * a / 2)) : 0;
    best = std::min(best, std::numbers::ln2 + a * a / 2 + t * mu * a + cosine - log_expm1(2 * pi * a / step));
  }
  return best + 1e-8;
}

/// A step at which that is at most -digits.
double step_for(double mu, double t, double w, double digits) {
  double best = 0;
  for (const double fraction : strips) {
    const double a = std::min(fraction * std::sqrt(2 * (digits + 1) / growth(mu, w)), 0.97 * pi / mu);
    const double cosine = w < 0 ? w * std::log(std::cos(mu * a / 2)) : 0;
    best = std::max(best, 2 * pi * a / (digits + 1 + a * a / 2 + t * mu * a + cosine));
  }
  return shorten(best, 12);
}

/// Digits (to base e) of one part's moments that leave the whole with `tolerance`.
double digits_for(const Loss& loss, double tolerance) { return std::log(16 * loss.releases / tolerance) + 2; }

struct Range {
  double low;
  double high;
};

/// Where the density of U tilted by r^w is above exp(-digits) or so.
Range range_of(const Part& part, double w, double digits) {
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

/// Bound on what the nodes outside the range would add, over exp(log_moment): r^w <= 1 - q + q exp(w (mu u - mu^2 / 2)) for w >= 1
/// and for w <= 0 (convexity), r^w <= (1 - q)^w for w <= 0; nodes beyond an end of a falling density sum to less than its
/// integral from there, P(N(0, 1) > x) <= exp(-x^2 / 2) / 2, and all nodes of a density to less than 2 for steps below 2.
double range_error(const Part& part, double w, const Range& range, double log_moment) {
  const double shift = w * part.mu;
  if (!(range.high > 0 && range.low < 0)) return infinity;
  const double bump = std::log(part.rate) + (w * w - w) * part.mu * part.mu / 2 - log_moment;
  const auto one_side = [&](double from_zero, double from_bump) {
    const double at_zero = -from_zero * from_zero / 2 - log_moment;
    const double at_bump = from_bump > 0 ? bump - from_bump * from_bump / 2 - std::numbers::ln2 : bump + std::numbers::ln2;
    const double convex = (1 - part.rate) * std::exp(at_zero) / 2 + std::exp(at_bump);
    return w < 0 ? std::min(convex, std::exp(w * std::log1p(-part.rate) + at_zero) / 2) : convex;
  };
  return (one_side(range.high, range.high - shift) + one_side(-range.low, shift - range.low)) * outward;
}

/// Nodes u = first step, (first + 1) step, ...; the loss log r at each, with a bound on its error.
struct Grid {
  Part part;
  double step = 0;
  Range range{};
  std::vector<double> u;
  std::vector<double> loss;
  std::vector<double> loss_error;
};

void fill(Grid& grid, const Part& part, double step, const Range& range) {
  const double first = std::floor(range.low / step);
  const double last = std::ceil(range.high / step);
  if (!(last - first < most_nodes)) throw Unsuitable{"its moment generating function needs too many points"};
  if (!(part.mu * range.high < 700)) throw Unsuitable{"its loss is nearly an atom"};
  const auto nodes = size_of(last - first) + 1;
  grid.part = part;
  grid.step = step;
  grid.range = {first * step, last * step};
  grid.u.resize(nodes);
  grid.loss.resize(nodes);
  grid.loss_error.resize(nodes);
  const double half_square = part.mu * part.mu / 2;
  for (std::size_t j = 0; j < nodes; ++j) {
    const double u = (first + static_cast<double>(j)) * step;
    const double x = part.mu * u - half_square;
    const double excess = part.rate * std::expm1(x);
    const double ratio = 1 + excess;
    grid.u[j] = u;
    grid.loss[j] = std::log1p(excess);
    // x errs by at most 4 |mu u| + 8 (mu^2 / 2) + |x| units (mu by 2 of them), excess by q e^x times that and its own.
    const double x_error = 5 * (std::abs(part.mu * u) + 2 * half_square);
    grid.loss_error[j] =
        1.01 * unit_roundoff *
        ((part.rate * (excess / part.rate + 1) * x_error + (library + 2) * std::abs(excess)) / ratio + library * std::abs(grid.loss[j]));
  }
}

/// The law of U tilted by r^w on the nodes, at real s.
struct Tilt {
  double log_moment = 0;  ///< log M(s)
  double rounding = 0;    ///< of M(s), relative
  double loss_error = 0;  ///< mean error of t L per unit of t, with that of the product
  double mean = 0;        ///< of log r
  double variance = 0;
};

/// \param f becomes the nodes' probabilities
Tilt tilt(const Grid& grid, double w, std::vector<double>& f) {
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
  for (std::size_t j = 0; j < nodes; ++j) {
    const double exponent = f[j];
    const double tilted = std::abs(w * grid.loss[j]);
    f[j] = std::exp(exponent - shift);
    const double loss = grid.loss[j];
    error += f[j] * (std::abs(w) * grid.loss_error[j] +
                     unit_roundoff * (grid.u[j] * grid.u[j] + 2 * tilted + 2 * std::abs(exponent) + std::abs(shift) + library));
    loss_error += f[j] * (grid.loss_error[j] + unit_roundoff * std::abs(loss));
    sum += f[j];
    first += f[j] * loss;
    second += f[j] * loss * loss;
  }
  const auto total = static_cast<double>(sum);
  const double scale = 1 / total;
  Tilt result;
  result.log_moment = std::log(total * (grid.step / std::sqrt(2 * pi))) + shift;
  result.rounding = (error * scale + static_cast<double>(nodes) * sum_unit + 8 * unit_roundoff) * outward +
                    unit_roundoff * ((library + 1) * std::abs(result.log_moment) + std::abs(shift));
  result.loss_error = loss_error * scale * outward;
  result.mean = static_cast<double>(first) * scale;
  result.variance = std::max(0.0, static_cast<double>(second) * scale - result.mean * result.mean);
  for (auto& weight : f) weight *= scale;
  return result;
}

/// Upper bound on |log(1 + x)| for |x| <= relative.
double log_error(double relative) { return relative < 0.5 ? -std::log1p(-relative) : infinity; }

/// log max over x > 0 of (1 - e^-x) e^(-s x): delta(epsilon) <= that times M(s) e^(-s epsilon).
double log_chernoff(double s) { return s > 0 ? s * std::log(s) - (1 + s) * std::log1p(s) : 0; }

/// Lambda(s) = log E[exp(s L)] of the whole loss and its derivatives; only the value has an error bound.
struct Cumulant {
  double value = 0;
  double error = 0;
  double mean = 0;
  double variance = 0;

  [[nodiscard]] double upper() const { return value + error; }
};

/// One direction of a composed loss at real s, on nodes that grow with s.
class Cumulants {
 public:
  Cumulants(const Loss& loss, Direction direction, double digits) : loss_{loss}, direction_{direction}, digits_{digits} {}

  [[nodiscard]] Cumulant operator()(double s) {
    cover(s);
    const double w = power(direction_, s);
    const double sign = direction_ == Direction::remove ? 1 : -1;
    const double half = loss_.mu_squared / 2;
    Cumulant sum{half * s * (s + 1), 6 * unit_roundoff * half * s * (s + 1), half * (2 * s + 1), 2 * half};
    for (const auto& grid : grids_) {
      const double count = grid.part.count;
      const auto at = tilt(grid, w, weights_);
      const double relative =
          at.rounding + std::exp(log_quadrature(grid.part.mu, grid.step, 0, w)) + range_error(grid.part, w, grid.range, at.log_moment);
      sum.value += count * at.log_moment;
      sum.error += count * (log_error(relative) + 2 * unit_roundoff * std::abs(at.log_moment));
      sum.mean += count * sign * at.mean;
      sum.variance += count * at.variance;
    }
    sum.error = (sum.error + static_cast<double>(grids_.size()) * unit_roundoff * std::abs(sum.value)) * outward;
    return sum;
  }

  [[nodiscard]] const Loss& loss() const { return loss_; }
  [[nodiscard]] Direction direction() const { return direction_; }

 private:
  void cover(double s) {
    if (s <= covered_) return;
    covered_ = std::max(2 * covered_, std::max(4.0, 1.25 * s));
    grids_.resize(loss_.parts.size());
    const double w = power(direction_, covered_);
    for (std::size_t i = 0; i < grids_.size(); ++i) {
      const auto& part = loss_.parts[i];
      const auto here = range_of(part, w, digits_);
      const auto origin = range_of(part, power(direction_, 0), digits_);
      fill(grids_[i], part, step_for(part.mu, 0, w, digits_), {std::min(here.low, origin.low), std::max(here.high, origin.high)});
    }
  }

  const Loss& loss_;
  Direction direction_;
  double digits_;
  double covered_ = -1;
  std::vector<Grid> grids_;
  std::vector<double> weights_;
};

// ---- Where the line stands ----

struct Saddle {
  double s;
  double epsilon;    ///< where s is the saddle point
  double log_delta;  ///< there, by the saddle point's approximation
  double variance;   ///< Lambda''(s)
};

Saddle saddle_at(Cumulants& cumulants, double s) {
  const auto at = cumulants(s);
  const double epsilon = at.mean - 1 / s - 1 / (s + 1);
  const double curvature = at.variance + 1 / (s * s) + 1 / ((s + 1) * (s + 1));
  const double log_delta = at.value - s * epsilon - std::log(s) - std::log1p(s) - std::log(2 * pi * curvature) / 2;
  return {s, epsilon, log_delta, at.variance};
}

/// The largest s, or nearly, that is still too small; to within `within` in its logarithm, and so closely that the integrand does
/// not grow by more than a factor between it and the turn (the cumulants of heavy tails turn sharply).
template <class TooSmall>
Saddle find_saddle(Cumulants& cumulants, TooSmall too_small, double within) {
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

/// A second tilt, which bounds delta elsewhere: delta(x) <= exp(log_bound - s x).
struct Second {
  double s;
  double log_bound;
};

// ---- Points beyond the ends of the line ----

/// Pieces of constant density in the loss, from loss[i] to loss[i + 1], that lie below the tilted law of one part.
struct Pieces {
  std::vector<double> loss;
  std::vector<double> mass;
  double variation = 0;  ///< upper bound of the total variation of the density of the loss
};

/// The density of the loss is g = f / (dL/du); A = log g has A'' <= max(w + 1, 0) mu^2 / 4 - 1 and A'' >= -1 - max(-w - 1, 0)
/// mu^2 / 4, increases before and decreases beyond the nodes' range, and has at most two maxima (docs/guarantees-contour.md).
Pieces pieces_of(const Part& part, double w, double log_moment, Grid& grid) {
  const double step = shorten(std::min(0.12, 0.2 / part.mu), 12);
  const double shift = w * part.mu;
  const auto needed = range_of(part, w, 12);
  fill(grid, part, step, {std::min({needed.low, -part.mu - 1, shift - 1}), std::max({needed.high, -part.mu + 1, shift + 1})});
  const double quarter = part.mu * part.mu / 4;
  const double convex = std::max(w + 1, 0.0) * quarter;
  const double concave = 1 + std::max(-w - 1, 0.0) * quarter;
  const double below = std::exp(-step * step * convex / 8) * (1 - 1e-8);
  const double above = std::exp(step * step * concave / 8) * outward;
  const double constant = -std::log(part.mu) - std::log(part.rate) - log_sqrt_two_pi - log_moment;
  const double half_square = part.mu * part.mu / 2;
  Pieces pieces;
  double top = 0;
  double previous = 0;
  for (std::size_t j = 0; j < grid.u.size(); ++j) {
    const double u = grid.u[j];
    const double loss = grid.loss[j];
    const double density = std::exp(-u * u / 2 + (w + 1) * loss - (part.mu * u - half_square) + constant);
    top = std::max(top, density);
    if (j > 0) {
      const double width = loss - grid.loss[j - 1];
      // Where rounding could matter to a piece's width, its mass counts as mass outside.
      const bool sharp = width > 1e9 * (grid.loss_error[j] + grid.loss_error[j - 1]);
      pieces.loss.push_back(grid.loss[j - 1]);
      pieces.mass.push_back(sharp ? width * std::min(density, previous) * below : 0);
    }
    previous = density;
  }
  pieces.loss.push_back(grid.loss.back());
  pieces.variation = (w + 1 <= 0 || convex <= 1 ? 2 : 4) * top * above;
  return pieces;
}

/// Lower bound on the sum over cells of at most `width` of mass times variance of the loss within the cell.
double variance_within(const Pieces& pieces, double width) {
  double total = 0;
  double start = 0;
  double mass = 0;
  double first = 0;
  double second = 0;
  const auto close = [&] {
    if (mass > 0) total += std::max(0.0, second - first * first / mass);
    mass = first = second = 0;
  };
  for (std::size_t i = 0; i < pieces.mass.size(); ++i) {
    const double piece = pieces.mass[i];
    if (!(piece > 0)) continue;
    const double low = pieces.loss[i];
    const double high = pieces.loss[i + 1];
    const double extent = high - low;
    if (extent > width) {
      close();
      const double slice = extent / std::ceil(extent / width * outward);
      total += piece * slice * slice / 12;
      continue;
    }
    if (mass > 0 && high - start > width) close();
    if (!(mass > 0)) start = low;
    const double at = low - start + extent / 2;
    mass += piece;
    first += piece * at;
    second += piece * (at * at + extent * extent / 12);
  }
  close();
  return std::max(0.0, total * (1 - 1e-8) - 1e-14 * width * width);
}

/// Logarithm of a bound on |phi| = |M(s + it)| / M(s) of one part, for all t between from and to.
double log_decay(const Pieces& pieces, double from, double to) {
  double best = std::min(0.0, std::log(pieces.variation / from));
  for (const double share : {1.0, 0.5, 0.25}) {
    // |y| <= share pi has 1 - cos y >= chord y^2 / 2, and sqrt(1 - x) <= 1 - x / 2.
    const double angle = share * pi / 2;
    const double chord = std::pow(std::sin(angle) / angle, 2) * (1 - 1e-8);
    const double drop = chord * from * from / 2 * variance_within(pieces, share * pi / to * (1 - 1e-8));
    best = std::min(best, drop < 1 ? std::log1p(-drop) : -infinity);
  }
  return best;
}

// ---- The line ----

/// The sums of f exp(i k step L) over the nodes of one part for k = 1, 2, ...: sines and cosines every `stride` steps, and
/// multiplications by exp(i step L) between them.
class Rotations {
 public:
  /// What one multiplication adds to the error: a factor that errs by sqrt(2) library units, and a product by sqrt(5).
  static constexpr double per_turn = 2 * library + 3;

  Rotations(const Grid& grid, const std::vector<double>& f, double step, double stride)
      : grid_{grid}, f_{f}, stride_{size_of(stride)} {
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
  const Grid& grid_;
  const std::vector<double>& f_;
  std::size_t stride_;
  std::vector<double> turn_real_;
  std::vector<double> turn_imaginary_;
  std::vector<double> real_;
  std::vector<double> imaginary_;
};

/// The trapezoid rule at s + i k step, k = 0, 1, ...; everything is relative to exp(Lambda(s) - s epsilon).
class Line {
 public:
  Line(Cumulants& cumulants, const Saddle& saddle, const ContourShares& shares) : s_{saddle.s}, at_s_{cumulants(saddle.s)} {
    // delta / exp(Lambda(s) - s epsilon), roughly; each error is to be a share of it.
    const double log_share = saddle.log_delta - (at_s_.value - s_ * saddle.epsilon);
    choose_step(cumulants, saddle, log_share + std::log(shares.aliasing));
    choose_end(cumulants, saddle, log_share + std::log(shares.truncation));
    add_points(cumulants, shares.quadrature);
  }

  /// delta(epsilon) is within [log_lower, log_upper], in logarithms; `slope` is about -d log delta / d epsilon.
  struct Value {
    double log_scale;
    double log_scale_error;
    double sum;
    double aliasing;
    double truncation;
    double quadrature;
    double rounding;
    double slope;

    [[nodiscard]] double two_sided() const { return (truncation + quadrature + rounding) * outward; }
    [[nodiscard]] double log_upper() const {
      const double log_sum = std::log(sum + two_sided());
      return log_scale + (log_sum + (log_scale_error + 2 * library * unit_roundoff * std::abs(log_sum)));
    }
    [[nodiscard]] double log_lower() const {
      const double bound = sum - aliasing * outward - two_sided();
      if (!(bound > 0)) return -infinity;
      const double log_sum = std::log(bound * (1 - 4 * unit_roundoff));
      return log_scale + (log_sum - (log_scale_error + 2 * library * unit_roundoff * std::abs(log_sum)));
    }
    [[nodiscard]] double relative_error() const { return sum > 0 ? (aliasing + 2 * two_sided()) / sum + 2 * log_scale_error : infinity; }
  };

  [[nodiscard]] Value at(double epsilon) const {
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

  [[nodiscard]] int points() const { return static_cast<int>(points_.size()) + 1; }

 private:
  struct Point {
    double t;
    double phase;                 ///< of phi
    std::complex<double> weight;  ///< 2 |phi| / (z (z + 1))
    double size;                  ///< |weight|
    double rounding;              ///< relative
    double quadrature;            ///< relative
  };

  /// The sum over k >= 1 of exp(+-s k p) delta(epsilon +- k p), by Chernoff's bound at the other tilt, over exp(Lambda(s) - s epsilon).
  [[nodiscard]] double alias(const Second& second, double epsilon) const {
    const double exponent = second.log_bound - at_s_.value + at_s_.error + (s_ - second.s) * epsilon;
    const double rounding = 8 * unit_roundoff * (std::abs(second.log_bound) + std::abs(at_s_.value) + (s_ + second.s) * epsilon);
    return std::exp(exponent + rounding - log_expm1(std::abs(second.s - s_) * period_ * (1 - 1e-14))) * outward;
  }

  void choose_step(Cumulants& cumulants, const Saddle& saddle, double log_target) {
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

  /// Chooses the last point so that those beyond it are below the target, by bounds on |phi| on intervals that grow by a factor.
  void choose_end(Cumulants& cumulants, const Saddle& saddle, double log_target) {
    const auto& loss = cumulants.loss();
    const double w = power(cumulants.direction(), s_);
    std::vector<Pieces> pieces;
    pieces.reserve(loss.parts.size());
    Grid grid;
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
      for (std::size_t i = 0; i < pieces.size(); ++i) near += loss.parts[i].count * log_decay(pieces[i], from, from * factor);
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

  void add_points(Cumulants& cumulants, double tolerance) {
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
    Grid grid;
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
        rounding[k] += part.count * (std::log1p(absolute / size) + unit_roundoff * (4 + (library + 2) * (std::abs(log_of_size) + std::abs(angle))));
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

  double s_;
  Cumulant at_s_;
  double step_ = 0;
  double period_ = 0;
  Second right_{};
  Second left_{};
  double truncation_ = 0;
  std::size_t last_ = 0;
  std::vector<Point> points_;
};

// ---- Answers ----

double checked(const Contour& accountant) {
  if (!(accountant.width > 0)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the contour's width is {}, must be greater than 0", accountant.width)};
  }
  return accountant.width;
}

/// The relative error of delta that is worth `width` in epsilon at a line through s.
double tolerance_for(double width, double s) { return std::clamp(0.02 * width * s, 1e-13, 0.1); }

constexpr double finest = 1e-13;

void check(const Line::Value& value, double tolerance) {
  if (!(value.relative_error() <= std::max(most_relative_error, 8 * tolerance))) throw Unsuitable{"its provable error is too large"};
}

/// exp, outwards.
double exp_up(double x) { return std::min(1.0, std::exp(x + (library + 2) * unit_roundoff * (1 + std::abs(x))) + 0x1p-1073); }
double exp_down(double x) { return x < -700 ? 0.0 : std::min(1.0, std::exp(x - (library + 2) * unit_roundoff * (1 + std::abs(x)))); }

/// A bound that no loss of the direction exceeds: in the add direction r >= 1 - q, unless there is a Gaussian part.
double largest_loss(const Loss& loss, Direction direction) {
  if (direction == Direction::remove || loss.mu_squared > 0) return infinity;
  double largest = 0;
  for (const auto& part : loss.parts) largest -= part.count * std::log1p(-part.rate);
  return largest;
}

/// The line for one epsilon; `shares` of its s.
template <class Shares>
Line line_at(Cumulants& cumulants, double epsilon, Shares shares) {
  const auto saddle = find_saddle(
      cumulants, [&](const Saddle& at) { return at.epsilon < epsilon; }, 0.05);
  const Saddle here{saddle.s, epsilon, saddle.log_delta + saddle.s * (saddle.epsilon - epsilon), saddle.variance};
  return Line{cumulants, here, shares(saddle.s)};
}

Enclosure delta_of(const Contour& accountant, const Loss& loss, double epsilon, Direction direction) {
  if (epsilon > largest_loss(loss, direction) * outward) return {0, 0};
  Cumulants cumulants{loss, direction, digits_for(loss, finest)};
  double tolerance = 0;
  const auto line = line_at(cumulants, epsilon, [&](double s) {
    tolerance = tolerance_for(checked(accountant), s);
    return ContourShares{tolerance, tolerance, tolerance};
  });
  const auto value = line.at(epsilon);
  // Below the range of double the answer says nothing more than that.
  if (!(value.log_upper() < -760)) check(value, tolerance);
  return {exp_down(value.log_lower()), exp_up(value.log_upper())};
}

/// The root of log delta(epsilon) = log_delta on one line, both ends certified by the line itself.
Enclosure solve(const Line& line, double tolerance, double epsilon, double log_delta) {
  const double doubt = library * unit_roundoff * std::abs(log_delta);
  auto value = line.at(epsilon);
  for (int i = 0; i < 60; ++i) {
    check(value, tolerance);
    if (!(value.slope > 0)) throw Unsuitable{"its provable error is too large"};
    const double next = std::max(0.0, epsilon + (value.log_scale + std::log(value.sum) - log_delta) / value.slope);
    const bool still = std::abs(next - epsilon) <= 4 * unit_roundoff * epsilon + 1e-3 * value.relative_error() / value.slope;
    epsilon = next;
    value = line.at(epsilon);
    if (still) break;
  }
  check(value, tolerance);
  if (line.at(0).log_upper() <= log_delta - doubt) return {0, 0};
  const double gap = 1.02 * (value.relative_error() + 2 * doubt) / value.slope + 4 * unit_roundoff * epsilon;
  double upper = infinity;
  double lower = 0;
  double margin = 0.25 * gap;
  for (int i = 0; i < 40 && upper == infinity; ++i, margin *= 1.5) {
    if (const double candidate = epsilon + margin; line.at(candidate).log_upper() <= log_delta - doubt) upper = candidate;
  }
  if (upper == infinity) throw Unsuitable{"its provable error is too large"};
  margin = 0.25 * gap;
  for (int i = 0; i < 40 && margin < epsilon; ++i, margin *= 1.5) {
    if (const double candidate = epsilon - margin; line.at(candidate).log_lower() >= log_delta + doubt) {
      lower = candidate;
      break;
    }
  }
  return {lower, upper};
}

/// An epsilon at which Chernoff's bound meets delta.
double chernoff_epsilon(Cumulants& cumulants, double log_delta) {
  double best = infinity;
  for (const double factor : {1.1, 1 / 1.1}) {
    double previous = infinity;
    for (double s = 1; s < 1e9 && s > 1e-9; s *= factor) {
      double epsilon = infinity;
      try {
        epsilon = (cumulants(s).value + log_chernoff(s) - log_delta) / s;
      } catch (const Unsuitable&) {
        break;
      }
      if (!(epsilon < previous)) break;
      previous = epsilon;
    }
    best = std::min(best, previous);
  }
  return best;
}

Enclosure epsilon_of(const Contour& accountant, const Loss& loss, double delta, Direction direction) {
  if (delta == 0) {
    const double largest = largest_loss(loss, direction);
    return {largest / outward, largest * outward};
  }
  const double log_delta = std::log(delta);
  Cumulants cumulants{loss, direction, digits_for(loss, finest)};
  double tolerance = 0;
  const auto shares = [&](double s) {
    tolerance = tolerance_for(checked(accountant), s);
    return ContourShares{tolerance, tolerance, tolerance};
  };
  try {
    // The saddle point's approximation of delta is good enough to choose the line.
    const auto saddle = find_saddle(
        cumulants, [&](const Saddle& at) { return at.epsilon < 0 || at.log_delta > log_delta; }, 0.05);
    const double start = std::max(0.0, saddle.epsilon);
    return solve(Line{cumulants, {saddle.s, start, saddle.log_delta, saddle.variance}, shares(saddle.s)}, tolerance, start, log_delta);
  } catch (const Unsuitable&) {
    // Not where tails are heavy: then from Chernoff's epsilon towards the root, a new line at each step.
    double epsilon = chernoff_epsilon(cumulants, log_delta);
    if (!(epsilon < infinity)) throw;
    for (int i = 0; i < 12; ++i) {
      const auto line = line_at(cumulants, std::max(0.0, epsilon), shares);
      const auto value = line.at(std::max(0.0, epsilon));
      check(value, tolerance);
      if (!(value.slope > 0)) throw;
      const double ahead = value.log_scale + std::log(value.sum) - log_delta;
      if (std::abs(ahead) < 1 || (epsilon <= 0 && ahead < 0)) return solve(line, tolerance, std::max(0.0, epsilon), log_delta);
      epsilon = std::max(0.0, epsilon) + ahead / value.slope;
    }
    throw;
  }
}

/// Upper bound on log delta(epsilon) by Chernoff's bound at the best of some tilts; needs no line.
double log_chernoff_bound(const Loss& loss, Direction direction, double epsilon) {
  if (epsilon > largest_loss(loss, direction) * outward) return -infinity;
  Cumulants cumulants{loss, direction, digits_for(loss, finest)};
  double best = 0;
  for (const double factor : {1.3, 1 / 1.3}) {
    double previous = infinity;
    for (double s = 1; s < 1e6 && s > 1e-6; s *= factor) {
      double bound = infinity;
      try {
        bound = cumulants(s).upper() + log_chernoff(s) - s * epsilon;
      } catch (const Unsuitable&) {
        break;
      }
      if (!(bound < previous)) break;
      previous = bound;
      best = std::min(best, bound + 1e-9 * (1 + s + s * epsilon));
    }
  }
  return best;
}

template <class Answer>
auto with_event(const Event& event, Answer answer) {
  try {
    return answer(collect(event));
  } catch (const Unsuitable& unsuitable) {
    refuse(event, unsuitable.reason);
  }
}

Enclosure larger(const Enclosure& a, const Enclosure& b) { return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)}; }

}  // namespace

Enclosure delta(const Contour& accountant, const Event& event, Epsilon epsilon, Direction direction) {
  const StandardFloatingPoint environment;
  return with_event(event, [&](const Loss& loss) { return delta_of(accountant, loss, epsilon.value(), direction); });
}

Enclosure epsilon(const Contour& accountant, const Event& event, Delta delta, Direction direction) {
  const StandardFloatingPoint environment;
  return with_event(event, [&](const Loss& loss) { return epsilon_of(accountant, loss, delta.value(), direction); });
}

Enclosure delta(const Contour& accountant, const Event& event, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  return with_event(event, [&](const Loss& loss) {
    const auto remove = delta_of(accountant, loss, epsilon.value(), Direction::remove);
    if (loss.parts.empty()) return remove;
    try {
      return larger(remove, delta_of(accountant, loss, epsilon.value(), Direction::add));
    } catch (const Unsuitable&) {
      // The add direction matters only where it is the larger one.
      if (exp_up(log_chernoff_bound(loss, Direction::add, epsilon.value())) <= remove.lower) return remove;
      throw;
    }
  });
}

Enclosure epsilon(const Contour& accountant, const Event& event, Delta delta) {
  const StandardFloatingPoint environment;
  return with_event(event, [&](const Loss& loss) {
    const auto remove = epsilon_of(accountant, loss, delta.value(), Direction::remove);
    if (loss.parts.empty() || remove.lower == infinity) return remove;
    try {
      return larger(remove, epsilon_of(accountant, loss, delta.value(), Direction::add));
    } catch (const Unsuitable&) {
      if (exp_up(log_chernoff_bound(loss, Direction::add, remove.lower)) <= delta.value()) return remove;
      throw;
    }
  });
}

ContourTerms contour_terms(const Event& event, Epsilon epsilon, Direction direction, const ContourShares& shares) {
  const StandardFloatingPoint environment;
  return with_event(event, [&](const Loss& loss) {
    Cumulants cumulants{loss, direction, digits_for(loss, finest)};
    const auto line = line_at(cumulants, epsilon.value(), [&](double) { return shares; });
    const auto value = line.at(epsilon.value());
    const double scale = std::exp(value.log_scale);
    const double scaling = std::expm1(value.log_scale_error + 8 * unit_roundoff * (1 + std::abs(value.log_scale)));
    const double rounding = scale * (value.rounding + std::abs(value.sum) * scaling);
    return ContourTerms{scale * value.sum, scale * value.aliasing, scale * value.truncation, scale * value.quadrature,
                        rounding,          line.points()};
  });
}

}  // namespace surety::accounting
