#include <surety/accounting/accountants/contour/cumulants.h>

#include <algorithm>
#include <cmath>

#include <surety/accounting/accountants/contour/excess_moment.h>
#include <surety/accounting/accountants/contour/lattice.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/text/error.h>

namespace surety::accounting::contour {

// Proved: docs/proofs/contour.md#shifts
Cumulant Cumulants::operator()(double s) {
  cover(s);
  if (const auto known = known_.find(s); known != known_.end()) return known->second;
  if (known_.size() >= most_known) known_.clear();
  return known_.emplace(s, computed(s)).first->second;
}

/// Whether T batches turn the rounding of M(s) into more than a small share of the answer.
bool is_lost_in_rounding(const SampledReleases& part, double log_moment) {
  constexpr double units = 64;
  constexpr double share = 1e-4;
  return part.rate < 0.5 && log_moment <= std::log1p(largest_excess) && part.count * share_of_units(units) > share;
}
Ball log_moment_by_excess(const SampledReleases& part, double w, double digits) {
  const auto at = ExcessMoment{part, w, digits, 0, 0}.at(0);
  const double moment = 1 + at.excess.real();
  const double log_moment = std::log1p(at.excess.real());
  return Ball::around(log_moment,
                      log_error(covered((at.rounding + at.cut) / moment)).value() + share_of_units(library * std::abs(log_moment)));
}

Cumulant Cumulants::computed(double s) {
  const double w = power(direction_, s);
  const double sign = direction_ == Direction::remove ? 1 : -1;
  const double half = loss_.mu_squared / 2;
  Cumulant sum{half * s * (s + 1), share_of_units(3.0) * half * s * (s + 1), half * (2 * s + 1), 2 * half};
  for (const auto& releases : loss_.lattices) {
    const Ball moment = Lattice{releases}.log_moment(s);
    sum.value += releases.count * moment.value();
    sum.error += releases.count * (moment.radius() + share_of_units(std::abs(moment.value())));
  }
  for (const auto& grid : grids_) {
    const double count = grid.part.count;
    const auto at = tilt(grid, w, weights_);
    const Ball moment =
        is_lost_in_rounding(grid.part, at.log_moment) ? log_moment_by_excess(grid.part, w, digits_) : log_moment(grid, w, at);
    sum.value += count * moment.value();
    sum.error += count * (moment.radius() + share_of_units(std::abs(moment.value())));
    sum.mean += count * sign * at.mean;
    sum.variance += count * at.variance;
  }
  sum.error =
      covered(sum.error + share_of_units(static_cast<double>(grids_.size() + loss_.lattices.size()) / 2) * std::abs(sum.value)).value();
  return sum;
}

void Cumulants::cover(double s) {
  if (s <= covered_) return;
  const double before = covered_;
  const auto grids_before = grids_;
  covered_ = std::max(2 * covered_, std::max(4.0, 1.25 * s));
  grids_.resize(loss_.parts.size());
  const double w = power(direction_, covered_);
  try {
    for (std::size_t i = 0; i < grids_.size(); ++i) {
      const auto& part = loss_.parts[i];
      const auto here = range_of(part, w, digits_);
      const auto origin = range_of(part, power(direction_, 0), digits_);
      fill(grids_[i], part, step_for(part.mu, 0, w, digits_), {std::min(here.low, origin.low), std::max(here.high, origin.high)});
    }
    known_.clear();
  } catch (const Error&) {
    // Stopped in the middle, it may be asked again.
    covered_ = before;
    grids_ = grids_before;
    throw;
  }
}

bool is_small_by_chernoff(Cumulants& cumulants, double epsilon, double delta) {
  if (delta >= 1 || epsilon > largest_loss(cumulants.loss(), cumulants.direction()).upper) return true;
  for (const double factor : {1.3, 1 / 1.3}) {
    double previous = infinity;
    for (double s = 1; s < 1e6 && s > 1e-6; s *= factor) {
      Upper bound{Exact{infinity}};
      try {
        bound = cumulants(s).upper() + log_chernoff(s) - Lower{Exact{s}} * Exact{epsilon};
      } catch (const Unsuitable&) {
        break;
      }
      if (exp(bound).value() <= delta) return true;
      if (!(bound.value() < previous)) break;
      previous = bound.value();
    }
  }
  return false;
}

// Proved so far.
}  // namespace surety::accounting::contour
