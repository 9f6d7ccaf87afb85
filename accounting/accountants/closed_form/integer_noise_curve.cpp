#include <surety/accounting/accountants/closed_form/integer_noise_curve.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include <surety/accounting/events/refusal.h>
#include <surety/accounting/laws/finite/integer_noise.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/limit.h>

// Proved: docs/proofs/closed-form.md#integer-noise
namespace surety::accounting {
namespace {

using Long = Outward<long double>;

std::shared_ptr<const laws::IntegerNoiseLaws> laws_or_refusal(const Event& release) {
  auto made = laws::integer_noise_laws(release);
  if (made == nullptr) unsupported(Refusal{release, fmt::format("{{}} {}", laws::too_little_integer_noise)});
  return made;
}

/// The least double at which a falling function that is at least `target` at 0 is at most `target`. \pre it is at `end`
template <class Falling>
double crossing(const Falling& falls_to, double end) {
  double low = 0;
  double high = end;
  for (;;) {
    const double middle = low + 0.5 * (high - low);
    if (!(middle > low && middle < high)) return high;
    (falls_to(middle) ? high : low) = middle;
  }
}

}  // namespace

IntegerNoiseCurve::Side::Side(const LossLaw& law) : infinite_{law.infinite_mass} {
  const auto& base = std::get<AtomsBase>(law.base);
  loss_error_ = base.loss_error;
  mass_error_ = base.mass_error;
  const std::size_t count = base.atoms.size();
  losses_.resize(count);
  first_.resize(count + 1);
  second_.resize(count + 1);
  PollNowAndThen poll;
  for (std::size_t i = count; i-- > 0;) {
    poll();
    const auto& [loss, mass] = base.atoms[i];
    losses_[i] = loss;
    first_[i] = first_[i + 1] + mass;
    second_[i] = second_[i + 1] + mass * std::exp(-static_cast<long double>(loss));
  }
}

double IntegerNoiseCurve::Side::delta(double epsilon, int direction) const {
  const long double moved = direction * loss_error_;
  const auto at = std::partition_point(losses_.begin(), losses_.end(), [&](double loss) { return loss + moved <= epsilon; });
  const auto i = static_cast<std::size_t>(at - losses_.begin());
  // Each mass counts once up and once down; what the sums err by is a share of the larger one.
  const long double sum = first_[i] - std::exp(static_cast<long double>(epsilon) - moved) * second_[i];
  const long double rounding = (static_cast<long double>(losses_.size()) + 64) * 4 * Long::unit * first_[i];
  const long double finite = std::max(0.0L, sum + direction * rounding) * (1 + direction * (mass_error_ + 8 * Long::unit));
  const long double infinite = infinite_;
  const long double whole = infinite + (1 - infinite) * finite;
  return static_cast<double>(std::clamp(whole + direction * (whole * 0x1p-52L + 0x1p-1074L), 0.0L, 1.0L));
}

IntegerNoiseCurve::IntegerNoiseCurve(const Event& release) : upper_{laws_or_refusal(release)->upper} {
  if (const auto& below = laws_or_refusal(release)->lower) lower_.emplace(*below);
}

std::shared_ptr<const IntegerNoiseCurve> IntegerNoiseCurve::of(const Event& release) {
  static auto& kept = *new LastFew<Event, std::shared_ptr<const IntegerNoiseCurve>>;
  return kept.of(release, [&] { return std::shared_ptr<const IntegerNoiseCurve>{new IntegerNoiseCurve{release}}; });
}

Enclosure IntegerNoiseCurve::delta(double epsilon) const {
  const double upper = upper_.delta(epsilon, +1);
  return {lower_ ? std::min(lower_->delta(epsilon, -1), upper) : 0, upper};
}

Enclosure IntegerNoiseCurve::epsilon(double target) const {
  // Flips of one data set alone can reach some outcomes; losses of Poisson variables have no end.
  if (target == 0) return {infinity, infinity};
  const auto root = [&](const Side& side, int direction) {
    const auto falls_to = [&](double epsilon) { return side.delta(epsilon, direction) <= target; };
    if (falls_to(0)) return 0.0;
    const double end = side.largest_loss() * 1.001 + 1;
    return falls_to(end) ? crossing(falls_to, end) : infinity;
  };
  const double upper = root(upper_, +1);
  // Before the least double where it is proved to be that small it is not.
  const double lower = lower_ ? root(*lower_, -1) : 0;
  return {std::min(std::nextafter(lower, -1.0) > 0 && lower < infinity ? std::nextafter(lower, -1.0) : lower, upper), upper};
}

}  // namespace surety::accounting
// Proved so far.
