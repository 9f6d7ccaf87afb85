#include <surety/accounting/accountants/contour/decay.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::contour {
namespace {

using std::numbers::pi;

/// Of a few products and sums that are not negative.
constexpr double rounding_of_product = share_of_units(8.0);

/// Lower bound on the sum over cells of at most `width` of mass times variance of the loss within the cell.
double variance_within(const Pieces& pieces, double width) {
  double total = 0;
  double all = 0;
  double start = 0;
  double mass = 0;
  double first = 0;
  double second = 0;
  const auto close = [&] {
    if (mass > 0) total += std::max(0.0, second - first * first / mass);
    mass = first = second = 0;
  };
  for (const auto& [low, high, piece] : pieces.pieces) {
    all += piece;
    const double extent = high - low;
    if (extent > width) {
      close();
      const double slice = extent / std::ceil((Upper{Exact{extent}} / Exact{width}).value());
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
  // In a cell of n pieces both moments err by n + 8 units, each of at most mass times width^2; their difference, slices and sums by n + 8 of what is left.
  const double rounding = share_of_units(static_cast<double>(pieces.pieces.size()) + 8);
  return std::max(0.0, total - rounding * (total + 2 * all * width * width) * (1 + rounding_of_product));
}

}  // namespace

Pieces pieces_of(const SampledReleases& part, double w, Ball log_moment, NodeGrid& grid) {
  const double step = shorten(std::min(0.12, 0.2 / part.mu), 12);
  const double shift = w * part.mu;
  const auto needed = range_of(part, w, 12);
  fill(grid, part, step, {std::min({needed.low, -part.mu - 1, shift - 1}), std::max({needed.high, -part.mu + 1, shift + 1})});
  const Upper mu = Upper::within(part.mu, 2);
  const Upper convex = max(Upper{0}, Upper{Exact{w}} + 1) * (mu * mu / 4);
  const Upper concave = 1 + max(Upper{0}, Upper{Exact{-w}} - 1) * (mu * mu / 4);
  const double below = exp(-(convex * Exact{step} * Exact{step} / 8)).value();
  const Upper above = exp(concave * Exact{step} * Exact{step} / 8);
  const double constant = -std::log(part.mu) - std::log(part.rate) - log_sqrt_two_pi - log_moment.value();
  const double half_square = part.mu * part.mu / 2;
  const double fixed = std::abs(std::log(part.mu)) - std::log(part.rate) + std::abs(log_moment.value()) + half_square + 3;
  Pieces pieces;
  double top = 0;
  double previous = 0;
  double low = 0;
  for (std::size_t j = 0; j < grid.u.size(); ++j) {
    const double u = grid.u[j];
    const double loss = grid.loss[j];
    const double tilted = (w + 1) * loss;
    const double density = std::exp(-u * u / 2 + tilted - (part.mu * u - half_square) + constant);
    // What the exponent errs by, from the sizes of its terms; as much again is more than the rounding of what is made of it.
    const double doubt = log_moment.radius() + std::abs(w + 1) * grid.loss_error[j] +
                         share_of_units(6.0) * (u * u + std::abs(tilted) + std::abs(part.mu * u) + fixed);
    const double least = density * (1 - 2 * doubt);
    top = std::max(top, doubt < 1 ? density * (1 + 2 * doubt) : infinity);
    // A piece ends where the nodes' losses do for certain.
    const double high = (Lower{Exact{loss}} - Exact{grid.loss_error[j]}).value();
    const double lower_density = std::min(least, previous);
    if (j > 0 && high > low && lower_density > 0) pieces.pieces.push_back({low, high, (high - low) * lower_density * below});
    low = (Upper{Exact{loss}} + Exact{grid.loss_error[j]}).value();
    previous = least;
  }
  pieces.variation = (w + 1 <= 0 || convex.value() <= 1 ? 2 : 4) * (Upper{Exact{top}} * above);
  return pieces;
}

Upper log_decay(const Pieces& pieces, double from, double to) {
  Upper best = min(Upper{0}, log(pieces.variation / Exact{from}));
  for (const double share : {1.0, 0.5, 0.25}) {
    // |y| <= share pi has 1 - cos y >= chord y^2 / 2, and sqrt(1 - x) <= 1 - x / 2.
    const Lower angle = pi_below * Exact{share / 2};
    const Lower sine_over_angle = Lower::within(std::sin(angle.value()), LibraryError<double>::sin) / Exact{angle.value()};
    const double width = (pi_below * Exact{share} / Exact{to}).value();
    const Lower variance = Exact{variance_within(pieces, width)};
    const Lower drop = sine_over_angle * sine_over_angle * Exact{from} * Exact{from} / 2 * variance;
    best = min(best, drop.value() < 1 ? log1p(-drop) : Upper{Exact{-infinity}});
  }
  return best;
}

ShiftedDecay::ShiftedDecay(const SampledReleases& part, double w, Ball log_moment) : part_{part}, w_{w}, log_moment_{log_moment} {
  constexpr double most_pieces = 4000;
  const auto range = range_of(part, w, 36);
  step_ = shorten(std::max(0.1 / std::max(1.0, part.mu), (range.high - range.low) / most_pieces), 12);
  NodeGrid grid;
  fill(grid, part, step_, range);
  outside_ = range_error(part, w, grid.range, log_moment.value());
  farthest_ = grid.farthest;
  for (const double u : grid.u) {
    log_phi_.push_back(-u * u / 2 - log_sqrt_two_pi);
    grown_.push_back(part.rate * std::exp(part.mu * u - part.mu * part.mu / 2));
  }
}

Upper ShiftedDecay::at(double shift, double from) const {
  constexpr double negligible = -45;
  const double cosine = std::cos(part_.mu * shift);
  const double sine = std::sin(part_.mu * shift);
  const double rest = 1 - part_.rate;
  // Between two nodes the logarithm A of the modulus is at most its chord and step^2 / 8 times a bound on -A'', and exp of a chord
  // integrates to at most the mean of its ends: |(log r)''| = mu^2 / |x + 2 cos + 1 / x|, x = q e^(mu u - mu^2 / 2) / (1 - q).
  const double bend = step_ * step_ / 8;
  const double bend_of_loss = bend * (std::abs(w_) + from) * part_.mu * part_.mu;
  double total = 0;
  double before = 0;
  double inverse_before = 0;
  double x_before = 0;
  double largest_log = 0;
  for (std::size_t j = 0; j < grown_.size(); ++j) {
    const double real = rest + grown_[j] * cosine;
    const double imaginary = grown_[j] * sine;
    const double log_modulus = std::log(real * real + imaginary * imaginary) / 2;
    const double exponent = log_phi_[j] + shift * shift / 2 + w_ * log_modulus - log_moment_.value();
    largest_log = std::max(largest_log, std::abs(log_modulus));
    // Where next to nothing is left, the angle, which is positive, may be left out.
    const double here = std::exp(exponent < negligible ? exponent : exponent - from * std::atan2(imaginary, real));
    const double x = grown_[j] / rest;
    const double inverse = x + 1 / x;
    if (j > 0) {
      const double least = x_before < 1 && x > 1 ? 2 : std::min(inverse, inverse_before);
      const double bent = bend + bend_of_loss / (least + 2 * cosine);
      total += (before + here) / 2 * (bent < 1 ? 1 + bent + bent * bent : std::exp(bent));
    }
    before = here;
    inverse_before = inverse;
    x_before = x;
  }
  const double outside = outside_ * std::exp(log_line(part_.mu, shift, 0, w_));
  // Units of a ratio, whose terms all lie on one side, and with it of a bend; of an exponent, from the sizes of its terms; of the sum.
  const double of_ratio = 5 * part_.mu * (farthest_ + part_.mu) + 40;
  const double sizes = 1 + farthest_ * farthest_ + shift * shift + std::abs(w_) * largest_log + std::abs(log_moment_.value()) + 2 * from;
  const double units = (std::abs(w_) + from + bend + bend_of_loss) * of_ratio + 6 * sizes + static_cast<double>(grown_.size()) + 8;
  return log(covered(total * step_ + outside)) + Exact{log_moment_.radius()} + Exact{share_of_units(units)};
}

ShiftedDecay::Bound ShiftedDecay::best(double from) {
  // So far out the bends would be beyond double.
  if (!(part_.rate < 1 && from + std::abs(w_) < 1e6)) return {0, Upper{0}};
  const auto bound_at = [&](double turn) { return Bound{turn / part_.mu, at(turn / part_.mu, from)}; };
  Bound best = bound_at(turn_);
  for (const double factor : {1.4, 1 / 1.4}) {
    bool moved = false;
    for (double turn = turn_ * factor; turn < most_angle; turn *= factor) {
      const auto next = bound_at(turn);
      if (!(next.log_decay.value() < best.log_decay.value())) break;
      best = next;
      moved = true;
    }
    turn_ = best.shift * part_.mu;
    if (moved) break;
  }
  return {best.shift, min(Upper{0}, best.log_decay)};
}

}  // namespace surety::accounting::contour
