#include <surety/accounting/laws/finite/integer_noise.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/hypotenuse.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/long_sum.h>
#include <surety/base/text/error.h>

// Proved: docs/proofs/pld.md#integer-noise
namespace surety::accounting::laws {
namespace {

using Real = long double;
using Library = LibraryError<Real>;
constexpr Real unit = Outward<Real>::unit;
constexpr Real inflated = 1 + 16 * unit;  ///< at least what the rounding of a few sums and products takes away
/// Probabilities below e^-690 times the largest one are left out. Those that are kept, and their losses, are doubles.
constexpr Real largest_log_ratio = 690;
/// What may be cut off of a distribution.
constexpr Real most_cut = 1e-100L;

std::size_t whole_number(Real x) { return checked_cast<std::size_t>(static_cast<double>(x)); }

/// Probabilities p(v) = p(-v) at v = first, first + 1, ..., relative to p(first), falling ever faster.
struct IntegerNoise {
  Real first = 0;           ///< 0 or 1/2
  std::vector<Real> falls;  ///< log p(v - 1) - log p(v) for v = first + 1, first + 2, ...
  std::vector<Real> logs;   ///< log p(v) - log p(first), for v = first, first + 1, ...
  LongSum sum_of_falls;
  Real fall_error = 0;  ///< of each fall
  Real sum_of_errors = 0;
  bool is_whole = false;  ///< beyond the last one there is nothing

  [[nodiscard]] Real last() const { return first + static_cast<Real>(falls.size()); }
  [[nodiscard]] std::size_t place(Real v) const { return whole_number(std::abs(v) - first); }
  [[nodiscard]] Real log_at(Real v) const { return logs[place(v)]; }
  /// log p(v) - log p(v - 1), within `fall_error`.
  [[nodiscard]] Real rise_to(Real v) const {
    if (v == 0.5L) return 0;
    return v > 0 ? -falls[place(v) - 1] : falls[place(v)];
  }

  /// Appends a fall that is within `error`. Returns false where the next probability is too small to be kept.
  bool add(Real fall, Real error) {
    LongSum next = sum_of_falls;
    next += fall;
    if (next.value() > largest_log_ratio) return false;
    sum_of_falls = next;
    falls.push_back(fall);
    logs.push_back(-next.value());
    fall_error = std::max(fall_error, error);
    sum_of_errors += error;
    return true;
  }
  /// Of each logarithm.
  [[nodiscard]] Real log_error() const { return sum_of_errors + 4 * unit * largest_log_ratio; }
};

/// p(v - 1) / p(v) = (n / 2 + v) / (n / 2 - v + 1) = 1 + (4 v - 2) / (n - 2 v + 2), two whole numbers.
IntegerNoise of_flips(Count flips) {
  const auto n = static_cast<Real>(flips.value());
  IntegerNoise noise;
  noise.first = std::fmod(n, 2.0L) / 2;
  noise.logs.push_back(0);
  PollNowAndThen poll;
  for (Real v = noise.first + 1; v <= n / 2; ++v) {
    poll();
    const Real growth = (4 * v - 2) / (n - 2 * v + 2);
    const Real fall = std::log1p(growth);
    if (!noise.add(fall, unit * growth / (1 + growth) + 2 * unit * Library::log1p * fall)) return noise;
  }
  noise.is_whole = true;
  return noise;
}

/// With x = 2 mean, p(v) is proportional to the modified Bessel function I_v(x), and I_(v-1) - I_(v+1) = (2 v / x) I_v says that
/// p(v - 1) / p(v) = 1 + g(v), g(v) = v / mean - t(v + 1), t(v) = 1 - p(v) / p(v - 1) = g(v) / (1 + g(v)), from a far v down.
IntegerNoise of_poisson_variables(PoissonMean mean) {
  const Real half = mean.value();
  const auto log_of = [&](Real v) {
    const auto x = static_cast<double>(2 * half);
    const auto at = static_cast<double>(v);
    return hypotenuse(x, at) - x - at * std::asinh(at / x);
  };
  // `end` is about where the probabilities end. `far` lies so far beyond it that the unknown t there has no influence on what is kept.
  constexpr Real below_all = -largest_log_ratio - 60;
  Real end = 1;
  while (log_of(end) > below_all) end *= 2;
  for (Real step = end / 4; step >= 1; step /= 2) {
    if (log_of(end - step) < below_all) end -= step;
  }
  const Real far = end + 4 * std::sqrt(2 * half) + 40;
  const auto count = whole_number(std::ceil(far));
  std::vector<std::pair<Real, Real>> growths(count + 1);
  Real t = 0.5;
  Real t_error = 0.5;
  PollNowAndThen poll;
  for (std::size_t v = count; v >= 1; --v) {
    poll();
    const Real slope = static_cast<Real>(v) / half;
    const Real growth = std::max(slope - t, 0.0L);
    const Real error = inflated * (unit * (slope + growth) + t_error);
    const Real whole = 1 + growth;
    const Real least_whole = std::max(1.0L, whole - error);
    growths[v] = {growth, error};
    t = growth / whole;
    t_error = std::min(inflated * error / (whole * least_whole) + 3 * unit * t, 1.0L);
  }
  IntegerNoise noise;
  noise.logs.push_back(0);
  for (std::size_t v = 1; v <= count; ++v) {
    poll();
    const auto [growth, error] = growths[v];
    const Real fall = std::log1p(growth);
    const Real fall_error = inflated * error / std::max(1.0L, 1 + growth - error) + 2 * unit * Library::log1p * fall;
    if (!noise.add(fall, fall_error)) return noise;
  }
  throw Error{ErrorCode::internal, "the probabilities of a difference of Poisson variables do not end"};
}

/// Neighbouring outcomes v that share a place, with losses L(v) = log p(v - s) - log p(v). Masses are relative to the largest probability.
struct Place {
  Real least;    ///< loss
  Real largest;  ///< loss
  Real mass;     ///< under P
  Real high;     ///< the part of `mass` at `largest`, with the rest at `least`, such that the Q-mass is kept
  Real mean;     ///< log of P-mass over Q-mass
};

/// Collects the atoms of positive loss and adds their mirror images.
class MirroredAtoms {
 public:
  void add(Real loss, Real mass) { above_.push_back({loss, mass}); }
  void add_middle(Real mass) { middle_ = mass; }
  /// The masses over `whole`.
  [[nodiscard]] AtomsBase over(Real whole, Real loss_error, Real mass_error) && {
    AtomsBase base{.atoms = {}, .loss_error = 0, .mass_error = 0, .mirrors = true, .has_tails = above_.size() > 100};
    base.atoms.reserve(2 * above_.size() + 1);
    for (auto one = above_.rbegin(); one != above_.rend(); ++one) {
      base.atoms.push_back({-static_cast<double>(one->loss), static_cast<double>(one->mass * std::exp(-one->loss) / whole)});
    }
    if (middle_ > 0) base.atoms.push_back({0, static_cast<double>(middle_ / whole)});
    for (const auto& [loss, mass] : above_) base.atoms.push_back({static_cast<double>(loss), static_cast<double>(mass / whole)});
    // Each loss is rounded to double once. A mass has two roundings to double, two exponentials, three products, and the error of its loss.
    const LongUpper of_losses = LongUpper::claim(loss_error);
    const LongUpper of_masses = LongUpper::claim(mass_error);
    const auto largest = static_cast<double>(above_.empty() ? 0 : above_.back().loss);
    base.loss_error = (shortened(of_losses) + Exact{Ball::within(largest, 1).radius()}).value();
    base.mass_error = (shortened(of_masses + of_losses) + Exact{share_of_units(2.0)}).value();
    return base;
  }

 private:
  struct One {
    Real loss;
    Real mass;
  };
  std::vector<One> above_;  ///< by rising loss
  Real middle_ = 0;
};

std::optional<IntegerNoiseLaws> laws_of(const IntegerNoise& noise, Count sensitivity, const IntegerNoiseTerms& terms) {
  const auto s = static_cast<Real>(sensitivity.value());
  const Real last = noise.last();
  if (s > 2 * last) return std::nullopt;
  const auto count = [&](Real from, Real to) { return to < from ? std::size_t{0} : whole_number(to - from) + 1; };
  PollNowAndThen poll;
  // The P-mass of the outcomes that are left out.
  Real beyond = 0;
  const Real outer = last - s + 1;
  for (std::size_t i = 0, n = count(outer, last); i < n; ++i) {
    poll();
    beyond += std::exp(noise.log_at(outer + static_cast<Real>(i)));
  }
  if (!noise.is_whole) {
    // Each further probability is smaller by more than the last one is.
    const Real fall = noise.falls.empty() ? 0 : noise.falls.back() - noise.fall_error;
    if (!(fall > 0)) return std::nullopt;
    beyond += 2 * std::exp(noise.logs.back() - fall) / -std::expm1(-fall);
  }
  // The places of positive loss: v above s / 2.
  const Real start = std::floor(s / 2 - noise.first) + 1 + noise.first;
  const std::size_t outcomes = count(start, last);
  const std::size_t width = (outcomes + terms.most_places - 1) / terms.most_places;
  const bool has_middle = start - 1 == s / 2;
  const Real middle = has_middle ? std::exp(noise.log_at(s / 2)) : 0;
  Real common = middle;
  Real chord_error = 0;
  std::vector<Place> places;
  places.reserve(std::min(outcomes, terms.most_places));
  std::vector<Real> rises;
  for (std::size_t at = 0; at < outcomes; at += width) {
    poll();
    const std::size_t n = std::min(width, outcomes - at);
    const Real v = start + static_cast<Real>(at);
    Place place{noise.log_at(v - s) - noise.log_at(v), 0, 0, 0, 0};
    rises.assign(1, 0);
    for (std::size_t i = 1; i < n; ++i) {
      const Real w = v + static_cast<Real>(i);
      rises.push_back(rises.back() + noise.rise_to(w - s) - noise.rise_to(w));
    }
    const Real range = rises.back();
    Real below = 0;  // Q-mass, relative to e^-least
    for (std::size_t i = 0; i < n; ++i) {
      const Real mass = std::exp(noise.log_at(v + static_cast<Real>(i) - s));
      place.mass += mass;
      below += mass * std::exp(-rises[i]);
      if (range > 0) place.high += mass * (std::expm1(-rises[i]) / std::expm1(-range));
    }
    place.largest = place.least + range;
    place.mean = place.least - std::log(below / place.mass);
    if (n > 1) {
      if (!(range > 0)) return std::nullopt;
      chord_error = std::max(chord_error, 16 * static_cast<Real>(n) * (noise.fall_error + unit * range) / range);
    }
    common += place.mass * (1 + std::exp(-place.mean));
    places.push_back(place);
  }
  if (!(common > 0)) return std::nullopt;
  const Real outside = beyond / (common + beyond);
  if (!noise.is_whole && !(outside <= most_cut)) return std::nullopt;
  if (!(chord_error < 1e-6L)) return std::nullopt;

  const Real sums = 4 * unit * static_cast<Real>(outcomes + noise.logs.size());
  const Real loss_error = 2 * noise.log_error() + 8 * unit * (1 + largest_log_ratio);
  const Real mass_error = 3 * noise.log_error() + sums;
  MirroredAtoms above;
  MirroredAtoms below;
  above.add_middle(middle);
  below.add_middle(middle);
  for (const Place& place : places) {
    below.add(place.mean, place.mass);
    if (width == 1) {
      above.add(place.least, place.mass);
    } else if (terms.chords) {
      above.add(place.least, place.mass - place.high);
      above.add(place.largest, place.high);
    } else {
      above.add(place.mean, place.mass);
    }
  }
  const auto with = [&](AtomsBase base, Real infinite) {
    LossLaw law{std::move(base)};
    law.infinite_mass = static_cast<double>(infinite);
    return law;
  };
  const Real more = outside * (1 + 2 * mass_error) + 0x1p-1074L;
  IntegerNoiseLaws laws{with(std::move(above).over(common, loss_error, mass_error + chord_error), 0), std::nullopt};
  if (terms.outside) laws.upper.infinite_mass = std::nextafter(static_cast<double>(std::min(more, 1.0L)), 2.0);
  if (!(laws.upper.infinite_mass < 1)) return std::nullopt;
  if (noise.is_whole) {
    const Real less = std::max(0.0L, outside * (1 - 2 * mass_error));
    laws.lower =
        with(std::move(below).over(common, loss_error, mass_error), std::max(0.0, std::nextafter(static_cast<double>(less), -1.0)));
    return laws;
  }
  // The outcomes that are left out are mapped to the two middle ones, or to the one at s / 2.
  const Real central = (has_middle ? middle : places.front().mass * std::exp(-places.front().mean)) / (common + beyond);
  const Real moved = 2 * outside / central;
  if (moved < 1e-13L) laws.lower = with(std::move(below).over(common, loss_error + moved, mass_error + moved), 0);
  return laws;
}

}  // namespace

std::optional<IntegerNoiseLaws> binomial_laws(Count flips, Count sensitivity, const IntegerNoiseTerms& terms) {
  return laws_of(of_flips(flips), sensitivity, terms);
}

std::optional<IntegerNoiseLaws> skellam_laws(PoissonMean mean, Count sensitivity, const IntegerNoiseTerms& terms) {
  return laws_of(of_poisson_variables(mean), sensitivity, terms);
}

bool has_integer_noise(const Event& release) {
  return std::holds_alternative<Event::Binomial>(release.node()) || std::holds_alternative<Event::Skellam>(release.node());
}

std::optional<std::string> why_no_integer_noise_laws(const Event& release) {
  const auto* flips = std::get_if<Event::Binomial>(&release.node());
  const double deviation = flips != nullptr ? 0.5 * std::sqrt(static_cast<double>(flips->flips.value()))
                                            : std::sqrt(2 * std::get<Event::Skellam>(release.node()).mean.value());
  if (deviation <= largest_integer_deviation) return std::nullopt;
  return fmt::format("has noise of standard deviation {:.12g}, must be at most {:.0f} for its probabilities to be added up", deviation,
                     largest_integer_deviation);
}

std::shared_ptr<const IntegerNoiseLaws> integer_noise_laws(const Event& release, std::size_t most_places) {
  static auto& kept = *new LastFew<std::pair<Event, std::size_t>, std::shared_ptr<const IntegerNoiseLaws>>;
  return kept.of({release, most_places}, [&] {
    IntegerNoiseTerms terms;
    terms.most_places = most_places;
    const auto* flips = std::get_if<Event::Binomial>(&release.node());
    const auto* poisson = std::get_if<Event::Skellam>(&release.node());
    auto laws = flips != nullptr ? binomial_laws(flips->flips, flips->sensitivity, terms)
                                 : skellam_laws(poisson->mean, poisson->sensitivity, terms);
    return laws ? std::make_shared<const IntegerNoiseLaws>(*std::move(laws)) : nullptr;
  });
}

}  // namespace surety::accounting::laws
// Proved so far.
