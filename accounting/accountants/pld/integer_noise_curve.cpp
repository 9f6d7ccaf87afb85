#include <surety/accounting/accountants/pld/integer_noise_curve.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <surety/accounting/laws/finite/integer_noise.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

// Proved: docs/proofs/pld.md#one-integer-noise
namespace surety::accounting {
namespace {

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
  if (i == losses_.size()) return infinite_;
  // Running sums of numbers that are not negative.
  const auto terms = static_cast<long double>(losses_.size() + 1);
  const LongBall first = LongBall::within(first_[i], terms);
  const LongBall second = LongBall::within(second_[i], (1 + LibraryError<long double>::exp) * terms);
  const LongBall factor = exp(LongBall{LongExact{epsilon}} - LongExact{moved});
  const LongBall finite = (first - factor * second) * (1 + LongExact{direction * mass_error_} * LongBall{1});
  const LongBall whole = LongExact{infinite_} * LongBall{1} + (1 - LongBall{LongExact{infinite_}}) * finite;
  const double found = direction > 0 ? shortened(whole.upper()).value() : shortened(whole.lower()).value();
  return std::clamp(found, infinite_, 1.0);
}

IntegerNoiseCurve::IntegerNoiseCurve(const laws::IntegerNoiseLaws& laws) : upper_{laws.upper} {
  if (laws.lower) lower_.emplace(*laws.lower);
}

std::shared_ptr<const IntegerNoiseCurve> IntegerNoiseCurve::of(const Event& release) {
  static auto& kept = *new LastFew<Event, std::shared_ptr<const IntegerNoiseCurve>>;
  return kept.of(release, [&] {
    const auto laws = laws::integer_noise_laws(release, laws::IntegerNoiseTerms{}.most_places);
    return std::shared_ptr<const IntegerNoiseCurve>{laws == nullptr ? nullptr : new IntegerNoiseCurve{*laws}};
  });
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
    const double end = 2 * side.largest_loss() + 1;
    return falls_to(end) ? crossing(falls_to, end) : infinity;
  };
  const double upper = root(upper_, +1);
  const double lower = lower_ ? root(*lower_, -1) : 0;
  // At the double before it the bound from below is still above the target.
  const double before = lower > 0 && lower < infinity ? std::nextafter(lower, 0.0) : lower;
  return {std::min(before, upper), upper};
}

}  // namespace surety::accounting
// Proved so far.
