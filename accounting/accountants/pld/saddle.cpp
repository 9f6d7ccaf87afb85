#include <surety/accounting/accountants/pld/saddle.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::pld {
namespace {

Saddle saddle_at(const ApproximateCumulants& k, double s) {
  const auto here = k.at(s);
  const double epsilon = here.mean - 1 / s - 1 / (s + 1);
  const double curvature = here.variance + 1 / (s * s) + 1 / ((s + 1) * (s + 1));
  return {s, epsilon, here.value - s * epsilon - std::log(s) - std::log1p(s) - 0.5 * std::log(6.2831853 * curvature)};
}

}  // namespace

ApproximateCumulants::ApproximateCumulants(const laws::Parts& parts, const Cut& cut) {
  const double points = std::clamp(100000.0 / static_cast<double>(parts.size()), 100.0, 1000.0);
  for (const auto& part : parts) {
    poll_limit();
    const auto bounds = range(part.upper, cut);
    Law law{{}, {}, static_cast<double>(part.count)};
    const double step = std::max((bounds.largest - bounds.least) / points, 1e-300);
    if (std::holds_alternative<GaussianBase>(part.upper.base) && part.upper.mixing != Mixing::opposite) {
      add_gaussian(law, part.upper, cut);
    } else if (step > 1e-300) {
      const auto found = cells(part.upper, step, cut);
      for (const auto& cell : found.cells) {
        const double loss = rough_loss(found, cell);
        // A cell far from all that a mixture is made of may have no digits.
        if (!std::isnan(loss) && cell.mass > 0) law.add(loss, cell.log_scale + std::log(cell.mass));
      }
    } else {
      law.add(bounds.least, 0);  // one outcome
    }
    least_ += law.count * bounds.least;
    largest_ += law.count * bounds.largest;
    laws_.push_back(std::move(law));
  }
}

Cumulants ApproximateCumulants::at(double s) const {
  Cumulants total{0, 0, 0};
  for (const auto& law : laws_) {
    const auto one = at(law, s);
    total.value += law.count * one.value;
    total.mean += law.count * one.mean;
    total.variance += law.count * one.variance;
  }
  return total;
}

void ApproximateCumulants::add_gaussian(Law& law, const LossLaw& pair, const Cut& cut) {
  const double mu = 1 / std::get<GaussianBase>(pair.base).multiplier;
  const double above = std::sqrt(2 * std::max(-cut.log_above, 8.0));
  const double below = std::sqrt(2 * std::max(-cut.log_below, 8.0));
  const double low = pair.mixing == Mixing::symmetric ? 0.5 * mu : -std::max(above, below);
  const double high = mu + std::max(above, below);
  const double step = std::max(std::min(0.12, 0.25 / mu), (high - low) / 4000);
  const auto count = size_of((high - low) / step) + 1;
  const double q = pair.rate;
  const auto mixed = [&](double u) { return u > 30 ? u + std::log(q) : std::log1p(q * std::expm1(u)); };
  double rest = 1;
  for (std::size_t i = 0; i <= count; ++i) {
    const double t = low + static_cast<double>(i) * step;
    const double loss = mixed(mu * (t - 0.5 * mu));
    double log_q = -0.5 * t * t + std::log(step * 0.39894228);
    if (pair.mixing == Mixing::symmetric) {
      if (i == 0) log_q -= std::log(2.0);
      law.add(-loss, log_q);
      rest -= std::exp(log_q) * (1 + std::exp(loss));
    }
    if (pair.mixing == Mixing::add) {
      law.add(-loss, log_q);
    } else {
      law.add(loss, log_q + loss);
    }
  }
  if (pair.mixing == Mixing::symmetric && rest > 0) law.add(0, std::log(rest));
}

Cumulants ApproximateCumulants::at(const Law& law, double s) {
  poll_limit();
  double top = -infinity;
  for (std::size_t i = 0; i < law.losses.size(); ++i) top = std::max(top, law.log_masses[i] + s * law.losses[i]);
  double sum = 0;
  double first = 0;
  double second = 0;
  for (std::size_t i = 0; i < law.losses.size(); ++i) {
    const double exponent = law.log_masses[i] + s * law.losses[i] - top;
    if (exponent < -60) continue;
    const double w = std::exp(exponent);
    sum += w;
    first += w * law.losses[i];
    second += w * law.losses[i] * law.losses[i];
  }
  const double mean = first / sum;
  return {top + std::log(sum), mean, std::max(0.0, second / sum - mean * mean)};
}

Saddle find_saddle(const ApproximateCumulants& k, double most, const std::function<bool(const Saddle&)>& beyond) {
  double low = std::log(1e-4);
  double high = std::log(most);
  // Huge losses have tilts far below.
  const double least = std::log(1e-12);
  while (low > least && beyond(saddle_at(k, std::exp(low)))) {
    high = low;
    low -= std::log(1e2);
  }
  for (int i = 0; i < 18; ++i) {
    const double mid = 0.5 * (low + high);
    (beyond(saddle_at(k, std::exp(mid))) ? high : low) = mid;
  }
  return saddle_at(k, std::exp(low));
}

double log_alias(double s) { return s * std::log(s) - (s + 1) * std::log1p(s); }

}  // namespace surety::accounting::pld
