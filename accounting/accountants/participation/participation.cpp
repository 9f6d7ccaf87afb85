#include <surety/accounting/accountants/participation/participation.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/root.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

constexpr double smallest = std::numeric_limits<double>::denorm_min();
constexpr mpfr_prec_t precision = 192;

Refusal no_theorem_for(const Event& event, std::string_view why) { return {event, fmt::format("participation: {{}} {}", why)}; }

Interval number(double value) { return {value, precision}; }
Interval number(std::uint64_t value) { return number(static_cast<double>(value)); }  // counts are at most 2^53
Interval one() { return number(1.0); }

/// P(K = k) for k = 0, 1, ..., and `beyond`: P(K > k), bounded from above.
struct Draws {
  struct Term {
    Enclosure probability;
    double beyond;
  };
  std::vector<Term> terms;
};

/// The terms up to where what is left is no double. p_(k+1) = p_k (N - k) / (k + 1) q / (1 - q), and that ratio falls with k.
Draws binomial(std::uint64_t count, const Interval& rate) {
  Draws draws;
  const Interval odds = rate / (one() - rate);
  const auto ratio = [&](std::uint64_t k) { return number(count - k) / number(k + 1) * odds; };
  Interval probability = exp(number(count) * log1p(-rate));
  PollNowAndThen poll;
  for (std::uint64_t k = 0;; ++k) {
    poll();
    if (k == count) {
      draws.terms.push_back({probability.enclosure(), 0});
      return draws;
    }
    Interval next = probability * ratio(k);
    const Interval falls = k + 1 < count ? ratio(k + 1) : number(0.0);
    const double beyond = falls.enclosure().upper < 1 ? (next / (one() - falls)).enclosure().upper : 1;
    draws.terms.push_back({probability.enclosure(), std::min(beyond, 1.0)});
    if (beyond <= smallest) return draws;
    probability = std::move(next);
  }
}

/// The event: Gaussian releases of mu_0^2, and `count` batches that draw the record with probability `rate`, of mu^2 each.
struct Batched {
  Interval outside;
  Interval inside;
  std::uint64_t count;
  Interval rate;
};

/// What a batch is, where there is a theorem for it here: nothing for any other leaf.
struct Batch {
  const Event* event;
  Interval rate;
};
OrRefusal<std::optional<Batch>> batch_of(const Event& leaf) {
  if (const auto* sampled = std::get_if<Event::SampledWithoutReplacement>(&leaf.node())) {
    if (splits_its_batch(sampled->event)) return no_theorem_for(leaf, "shares one batch of fixed size among parallel parts");
    return std::optional{Batch{&sampled->event, number(sampled->batches.size().value()) / number(sampled->batches.records().value())}};
  }
  if (const auto* sampled = std::get_if<Event::PoissonSampled>(&leaf.node())) {
    const auto pair = poisson_pair(sampled->event);
    if (pair == PoissonPair::opposite) return no_theorem_for(leaf, "has another worst pair under replace-one; privacy-loss knows it");
    if (pair != PoissonPair::with_or_without) return no_theorem_for(leaf, "is not made of Gaussian releases");
    return std::optional{Batch{&sampled->event, number(sampled->rate.value())}};
  }
  return std::optional<Batch>{};
}

OrRefusal<Batched> batched(const Event& event) {
  Batched found{number(0.0), number(0.0), 0, number(0.0)};
  for (const auto& [leaf, count] : Releases::of(plainest(event)).entries()) {
    const auto known = batch_of(leaf);
    if (!known) return known.refusal();
    const auto& batch = *known;
    const auto found_squared = gaussian_mu_squared(batch ? *batch->event : leaf, precision);
    if (!found_squared) return no_theorem_for(leaf, "is not made of Gaussian releases");
    const Interval& squared = *found_squared;
    // A batch of everything is no batch.
    if (!batch || batch->rate.enclosure().lower == 1) {
      found.outside = found.outside + number(count.value()) * squared;
      continue;
    }
    if (found.count > 0) return no_theorem_for(event, "has batches of more than one kind");
    const double multiplier = (one() / sqrt(squared)).enclosure().lower;
    if (!(multiplier <= Participation::largest_multiplier)) {
      return no_theorem_for(
          leaf,
          fmt::format("has noise multiplier {}, must be at most {}: more noise hides who takes part, and privacy-loss can say how well",
                      multiplier, Participation::largest_multiplier));
    }
    found = {found.outside, squared, count.value(), batch->rate};
  }
  if (found.count == 0) return no_theorem_for(event, "has no secret batches");
  const double mean = (number(found.count) * found.rate).enclosure().lower;
  if (!(mean <= Participation::largest_mean)) {
    return no_theorem_for(event, fmt::format("draws a record {} times on average, must be at most {}", mean, Participation::largest_mean));
  }
  return found;
}

/// delta_G(mu; epsilon) where both are known to lie in an interval; epsilon may be infinite. Falls with epsilon, rises with mu.
Enclosure certified(const GaussianCurve& gaussian, const Enclosure& mu, const Enclosure& epsilon) {
  // x = mu/2 - epsilon/mu. Beyond 9, 1 - delta_G <= Phi(-x) + phi(x) / (mu/2 + epsilon/mu) <= 2 phi(x) / x < 2^-59; below -39,
  // delta_G <= Phi(x) < 10^-323. The margins cover the rounding of x.
  const auto end = [&](double m, double e, bool upper) {
    if (m == 0 || e == infinity) return 0.0;
    const double x = m / 2 - e / m;
    const double margin = 1e-14 * (m + e / m);
    if (x - margin > 9) return upper ? 1 : std::nextafter(1.0, 0.0);
    if (x + margin < -39) return upper ? smallest : 0;
    const auto exact = gaussian.delta(Mu{m}, Epsilon{e});
    return upper ? exact.upper : exact.lower;
  };
  return {end(mu.lower, epsilon.upper, false), end(mu.upper, epsilon.lower, true)};
}

/// The same to some ten digits, a thousand times faster: it says where to ask.
Enclosure estimated(const Enclosure& mu, const Enclosure& epsilon) {
  const double m = mu.lower;
  const double e = epsilon.lower;
  if (m == 0 || e == infinity) return {0, 0};
  const double near = e / m - m / 2;
  const double far = e / m + m / 2;
  const auto tail = [](double t) { return 0.5 * std::erfc(t * 0.70710678118654752440); };
  // e^epsilon (1 - Phi(far)) = phi(near) times Mills' ratio at far.
  const double square = 1 / (far * far);
  const double mills =
      far < 30 ? tail(far) * std::exp(far * far / 2) : 0.39894228040143267794 * (1 - square * (1 - square * (3 - 15 * square))) / far;
  const double value = std::clamp(tail(near) - std::exp(-near * near / 2) * mills, 0.0, 1.0);
  return {value, value};
}

enum class Digits { certified, estimated };

double up(double value) { return round_up(value); }
/// Of numbers that are not negative.
double down(double value) { return std::max(0.0, round_down(value)); }

class ByDraws {
 public:
  ByDraws(const Event& event, const GaussianCurve& gaussian)
      : gaussian_{gaussian}, event_{batched(event).value()}, draws_{binomial(event_.count, event_.rate)} {
    PollNowAndThen poll;
    for (std::size_t k = 0; k < draws_.terms.size(); ++k) {
      poll();
      mu_.push_back(sqrt(event_.outside + number(static_cast<double>(k)) * event_.inside).enclosure());
    }
    const Interval mu = sqrt(event_.inside);
    log_rate_ = (-log(event_.rate)).enclosure();
    log_rest_ = (-log1p(-event_.rate)).enclosure();
    // docs/proofs/participation.md#hidden: a batch without the record that seems to hold it.
    const Interval seems = normal_cdf(-mu / number(2.0));
    seeming_ = event_.rate.enclosure().upper <= 0.5 ? (number(event_.count) * seems).enclosure().upper : 1;
    for (const double margin : {30.0, 4.0, 0.0}) {
      const Interval least = log((one() - event_.rate) / event_.rate) + number(margin);
      hidings_.push_back({log1p(exp(-number(margin))).enclosure().upper, normal_cdf(least / mu - mu / number(2.0)).enclosure().upper});
    }
  }

  /// A lower bound of delta(epsilon).
  [[nodiscard]] double lower(double epsilon, Digits digits = Digits::certified) const {
    double sum = 0;
    for (std::size_t k = 0; k < draws_.terms.size(); ++k) {
      poll_limit();
      const auto drawn = static_cast<double>(k);
      const double shift = up(up(drawn * log_rate_.upper) + up((static_cast<double>(event_.count) - drawn) * log_rest_.upper));
      const double at = up(epsilon + shift);
      const double term = of_gaussian(mu_[k], at, digits).lower;
      sum = down(sum + down(draws_.terms[k].probability.lower * term));
      if (is_last(k, sum)) break;
    }
    return std::min(sum, 1.0);
  }

  /// An upper bound of delta(epsilon): the smaller of what is shown when K is told and when it is not.
  [[nodiscard]] double upper(double epsilon, Digits digits = Digits::certified) const {
    double told = 0;
    double hidden = seeming_;
    for (std::size_t k = 0; k < draws_.terms.size(); ++k) {
      poll_limit();
      const auto drawn = static_cast<double>(k);
      const double probability = draws_.terms[k].probability.upper;
      const double if_told = of_gaussian(mu_[k], epsilon, digits).upper;
      double if_hidden = if_told;
      for (const auto& hiding : hidings_) {
        if (k == 0 || seeming_ >= 1 || hiding.excess >= log_rate_.lower) continue;
        const double at = down(epsilon + down(drawn * down(log_rate_.lower - hiding.excess)));
        if_hidden = std::min(if_hidden, up(of_gaussian(mu_[k], at, digits).upper + up(drawn * hiding.missed)));
      }
      told = up(told + up(probability * if_told));
      hidden = up(hidden + up(probability * if_hidden));
      if (is_last(k, told)) {
        told = up(told + draws_.terms[k].beyond);
        hidden = up(hidden + draws_.terms[k].beyond);
        break;
      }
    }
    return std::min({told, hidden, 1.0});
  }

 private:
  [[nodiscard]] Enclosure of_gaussian(const Enclosure& mu, double epsilon, Digits digits) const {
    return digits == Digits::certified ? certified(gaussian_, mu, {epsilon, epsilon}) : estimated(mu, {epsilon, epsilon});
  }
  /// What is left beyond k no longer counts.
  [[nodiscard]] bool is_last(std::size_t k, double sum) const {
    return k + 1 == draws_.terms.size() || draws_.terms[k].beyond <= 1e-12 * sum;
  }

  struct Hiding {
    double excess;  ///< of the loss of a batch with the record over b - log(1/q)
    double missed;  ///< how likely the loss of such a batch is too small for that
  };

  GaussianCurve gaussian_;
  Batched event_;
  Draws draws_;
  std::vector<Enclosure> mu_;
  Enclosure log_rate_{0, 0};
  Enclosure log_rest_{0, 0};
  double seeming_ = 1;
  std::vector<Hiding> hidings_;
};

}  // namespace

std::optional<Refusal> why_not(const Participation&, const Event& event) {
  const StandardFloatingPoint environment;
  return batched(event).why_not();
}

Enclosure delta(const Participation&, const Event& event, Epsilon epsilon, const GaussianCurve& gaussian) {
  const StandardFloatingPoint environment;
  const ByDraws curve{event, gaussian};
  return {curve.lower(epsilon.value()), curve.upper(epsilon.value())};
}

Enclosure epsilon(const Participation&, const Event& event, Delta delta, const GaussianCurve& gaussian) {
  const StandardFloatingPoint environment;
  const ByDraws curve{event, gaussian};
  if (delta.value() == 0) return {infinity, infinity};
  // The root of an estimate, moved outward until the bound itself says that it is beyond.
  double upper = where_it_falls_to(delta.value(), [&](double x) { return curve.upper(x, Digits::estimated); });
  double step = 1e-8;
  const auto beyond = first_certain([&](double x) { return !(curve.upper(x) > delta.value()); },
                                    [&](int attempt) -> std::optional<double> {
                                      if (attempt > 0) upper *= 1 + std::exchange(step, 4 * step);
                                      if (upper > 1e300) return std::nullopt;
                                      return upper;
                                    });
  if (!beyond) return at_most(infinity);
  double lower = where_it_falls_to(delta.value(), [&](double x) { return curve.lower(x, Digits::estimated); });
  step = 1e-8;
  const auto before = first_certain([&](double x) { return curve.lower(x) > delta.value(); },
                                    [&](int attempt) -> std::optional<double> {
                                      if (attempt > 0) lower = step < 1 ? lower * (1 - step) : 0;
                                      if (attempt > 0) step *= 4;
                                      if (!(lower > 0)) return std::nullopt;
                                      return lower;
                                    });
  return {before.value_or(0), curve.upper(0) > delta.value() ? *beyond : 0};
}

}  // namespace surety::accounting
