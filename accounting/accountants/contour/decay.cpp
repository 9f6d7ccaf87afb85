#include <surety/accounting/accountants/contour/decay.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <surety/accounting/numbers/rounding.h>

namespace surety::accounting::contour {
namespace {

using std::numbers::pi;

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

}  // namespace

Pieces pieces_of(const SampledReleases& part, double w, double log_moment, NodeGrid& grid) {
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

ShiftedDecay::ShiftedDecay(const SampledReleases& part, double w, double log_moment) : part_{part}, w_{w}, log_moment_{log_moment} {
  constexpr double most_pieces = 4000;
  const auto range = range_of(part, w, 36);
  step_ = shorten(std::max(0.1 / std::max(1.0, part.mu), (range.high - range.low) / most_pieces), 12);
  NodeGrid grid;
  fill(grid, part, step_, range);
  outside_ = range_error(part, w, grid.range, log_moment);
  for (const double u : grid.u) {
    log_phi_.push_back(-u * u / 2 - log_sqrt_two_pi);
    grown_.push_back(part.rate * std::exp(part.mu * u - part.mu * part.mu / 2));
  }
}

double ShiftedDecay::at(double shift, double from) const {
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
  for (std::size_t j = 0; j < grown_.size(); ++j) {
    const double real = rest + grown_[j] * cosine;
    const double imaginary = grown_[j] * sine;
    const double log_modulus = std::log(real * real + imaginary * imaginary) / 2;
    const double exponent = log_phi_[j] + shift * shift / 2 + w_ * log_modulus - log_moment_;
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
  return std::log(total * step_ + outside) + 1e-8 * (1 + std::abs(log_moment_)) + 1e-12 * std::abs(w_);
}

ShiftedDecay::Bound ShiftedDecay::best(double from) {
  // So far out the bends would be beyond double.
  if (!(part_.rate < 1 && from + std::abs(w_) < 1e6)) return {0, 0};
  const auto bound_at = [&](double turn) { return Bound{turn / part_.mu, at(turn / part_.mu, from)}; };
  Bound best = bound_at(turn_);
  for (const double factor : {1.4, 1 / 1.4}) {
    bool moved = false;
    for (double turn = turn_ * factor; turn < most_angle; turn *= factor) {
      const auto next = bound_at(turn);
      if (!(next.log_decay < best.log_decay)) break;
      best = next;
      moved = true;
    }
    turn_ = best.shift * part_.mu;
    if (moved) break;
  }
  return {best.shift, std::min(0.0, best.log_decay)};
}

}  // namespace surety::accounting::contour
