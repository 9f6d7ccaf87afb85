// Single releases.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/refusal.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/laws/finite/finite_law.h>
#include <surety/accounting/laws/finite/integer_noise.h>
#include <surety/accounting/laws/finite/polygon_law.h>
#include <surety/accounting/laws/gaussian/gaussian_mixture.h>
#include <surety/accounting/laws/pairs/pairs.h>
#include <surety/accounting/laws/pairs/parts_of_event.h>
#include <surety/accounting/laws/pairs/shuffled_laws.h>
#include <surety/accounting/laws/vectors/moved_vector.h>
#include <surety/accounting/laws/vectors/smooth_vector.h>
#include <surety/accounting/laws/vectors/spread_vector.h>
#include <surety/accounting/laws/vectors/vector_pair.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {
namespace {

/// What moving along one coordinate shows, and along many where that is known.
struct LawsOfVector {
  AtomsBase one;
  AtomsBase many;

  [[nodiscard]] static LawsOfVector of(const VectorNoise& noise) {
    const bool spreads = noise.is_squared && noise.r > 2 && noise.r <= most_spread_exponent;
    return {vector_pair(noise), spreads ? spread_vector(noise) : AtomsBase{{}, 0, 0}};
  }
  /// The law of the larger mean of e^(tilt loss): both are sound.
  [[nodiscard]] const AtomsBase& best(double tilt) const {
    const auto mean = [&](const AtomsBase& law) {
      double sum = 0;
      for (const auto& atom : law.atoms) sum += atom.mass * std::exp(tilt * atom.loss);
      return sum;
    };
    return mean(many) > mean(one) ? many : one;
  }
};

/// An (epsilon, 0)-differentially private release at its worst: truth with probability e^epsilon / (1 + e^epsilon). An exponential, half of it in a
/// sum, and three roundings.
AtomsBase two_atoms(double epsilon) {
  const double miss = std::exp(-epsilon) / (1 + std::exp(-epsilon));
  return {{{-epsilon, miss}, {epsilon, 1 / (1 + std::exp(-epsilon))}}, 0, share_of_units(5.5)};
}

/// Two outcomes of losses t and t - epsilon, 0 < t < epsilon: what a choice of loss range epsilon can do. The difference is rounded; a mass has an
/// exponential of it, two less one, and two roundings.
AtomsBase two_point(double epsilon, double t) {
  const double hit = std::expm1(t - epsilon) / std::expm1(-epsilon);
  const double miss = std::exp(t - epsilon) * std::expm1(-t) / std::expm1(-epsilon);
  return {{{t - epsilon, miss}, {t, hit}}, share_of_units(epsilon), share_of_units(12 + 2 * epsilon)};
}

/// The same at a t that makes the moment E[e^(s loss)] under the law's mixing large: at tilt s that lower bound is the best one, roughly.
AtomsBase best_two_point(double epsilon, const LossLaw& law, double s) {
  const auto log_moment = [&](double t) {
    const auto atoms = two_point(epsilon, t).atoms;
    double terms[2];
    for (std::size_t i = 0; i < 2; ++i) {
      const double u = atoms[i].loss;
      // What is revealed adds the same to the moment at every t.
      const double rate = law.mixing == Mixing::revealed ? 1 : law.rate;
      const double mixed = u < 0 ? std::log1p(rate * std::expm1(u)) : u + std::log(rate + (1 - rate) * std::exp(-u));
      const double q_mass = std::log(atoms[i].mass) - u;
      terms[i] = law.mixing == Mixing::add ? q_mass - s * mixed : q_mass + (s + 1) * mixed;
    }
    return std::max(terms[0], terms[1]) + std::log1p(std::exp(-std::abs(terms[0] - terms[1])));
  };
  constexpr int points = 64;
  int best = 1;
  for (int i = 2; i < points; ++i) {
    if (log_moment(epsilon * i / points) > log_moment(epsilon * best / points)) best = i;
  }
  double low = epsilon * (best - 1 + 1e-6) / points;
  double high = epsilon * (best + 1 - 1e-6) / points;
  for (int i = 0; i < 60; ++i) {
    const double a = low + (high - low) / 3;
    const double b = high - (high - low) / 3;
    (log_moment(a) < log_moment(b) ? low : high) = log_moment(a) < log_moment(b) ? a : b;
  }
  return two_point(epsilon, 0.5 * (low + high));
}

AtomsBase randomized_response(double truth, double categories) {
  const double other = (1 - truth) / (categories - 1);
  const double loss = std::abs(std::log(truth / other));
  const double more = std::max(truth, other);
  const double less = std::min(truth, other);
  // The logarithm of a quotient of a quotient; masses are rounded at most three times.
  const double error = share_of_units(2 + 3 * loss);
  const double mass_error = share_of_units(2.0);
  if (categories == 2) return {{{-loss, less}, {loss, more}}, error, mass_error};
  return {{{-loss, less}, {0, other * (categories - 2)}, {loss, more}}, error, mass_error};
}

}  // namespace

void PartsOfEvent::operator()(const Event::RandomizedResponse& e) {
  both(LossLaw{randomized_response(e.truth.value(), static_cast<double>(e.categories.value()))});
}

void PartsOfEvent::operator()(const Event::Pure& e) { both(LossLaw{two_atoms(e.epsilon.value())}); }

void PartsOfEvent::operator()(const Event::Approximate& e) {
  LossLaw law{two_atoms(e.epsilon.value())};
  law.infinite_mass = e.delta.value();
  both(law);
}

void PartsOfEvent::operator()(const Event::DiscreteGaussian& e) {
  both(LossLaw{DiscreteGaussianBase{e.sigma.value(), static_cast<double>(e.sensitivity.value())}});
}

void PartsOfEvent::operator()(const Event::DiscreteLaplace& e) {
  both(LossLaw{DiscreteLaplaceBase{e.scale.value(), static_cast<double>(e.sensitivity.value())}});
}

void PartsOfEvent::on_integers() {
  if (const auto why = why_no_integer_noise_laws(*leaf_)) no_pair_for(*leaf_, *why);
  if (makes_none()) return both(LossLaw{AtomsBase{{{-1, 0.5}, {1, 0.5}}, 0, 0}});
  const auto laws = integer_noise_laws(*leaf_);
  if (laws == nullptr) no_pair_for(*leaf_, too_little_integer_noise);
  const ReleaseLaws part{laws->upper, laws->lower.value_or(nothing()), false, count_};
  add(part, part);
}

void PartsOfEvent::operator()(const Event::Exponential& e) {
  const double range = e.epsilon.value();
  if (range == 0) return both(LossLaw{two_atoms(0)});
  const LossLaw upper{BoundedRangeBase{range}};
  const LossLaw lower{two_point(range, range / 2)};
  out_.has_choice = true;
  add({upper, lower, false, count_}, {upper, lower, false, count_});
}

void PartsOfEvent::operator()(const Event::KNorm& e) {
  if (e.dimension.value() == 1) return both(LossLaw{LaplaceBase{e.scale.value()}});
  AtomsBase atoms = two_atoms(1 / e.scale.value());
  atoms.loss_error = share_of_units(1 / e.scale.value());
  atoms.mass_error += share_of_units(1 / e.scale.value());
  const LossLaw upper = e.norm == NormName::l2 && !makes_none() ? moved_from_above(e, LossLaw{atoms}) : LossLaw{atoms};
  const auto lower = along(e);
  add({upper, lower, false, count_}, {upper, lower, false, count_});
}

void PartsOfEvent::operator()(const Event::Concentrated& e) {
  const Exact each{e.rho.value()};
  if (each.value == 0 && e.xi.value() == 0) return both(nothing());
  const Exact times{static_cast<double>(count_)};
  const Upper rho = count_ == 1 ? Upper{each} : times * Upper{each};
  const Upper xi = count_ == 1 ? Upper{Exact{e.xi.value()}} : times * Upper{Exact{e.xi.value()}};
  count_ = 1;
  const ReleaseLaws part = concentrated(rho.value(), xi.value());
  add(part, part);
}

void PartsOfEvent::operator()(const Event::RenyiCurve& e) {
  const auto times = static_cast<double>(count_);
  double rho = infinity;
  double end = infinity;
  for (const auto& [order, bound] : e.bounds.all()) {
    rho = std::min(rho, (Lower{Exact{bound}} / Exact{order}).value());
    end = std::min(end, end_of_curve(order, times * bound));
  }
  const Event releases = count_ == 1 ? *leaf_ : repeat(Count{count_}, *leaf_);
  const std::uint64_t each = std::exchange(count_, 1);
  const auto above = of_divergences(releases, 0, end).upper;
  const auto below = rho > 0 ? LossLaw{GaussianBase{(1 / sqrt(Lower{Exact{2 * rho}})).value()}} : nothing();
  add({above, nothing(), false, 1}, {above, nothing(), false, 1});
  add({nothing(), below, false, each}, {nothing(), below, false, each});
}

void PartsOfEvent::operator()(const Event::Profile& e) {
  std::vector<Corner> corners;
  for (const auto& [epsilon, delta] : e.points.all()) corners.push_back({epsilon, static_cast<long double>(delta)});
  const auto law = [&](int direction) { return with_infinite(polygon_law(corners, direction), corners.back().value, direction); };
  const ReleaseLaws part{law(+1), law(-1), false, count_};
  add(part, part);
}

void PartsOfEvent::operator()(const Event::Law& e) {
  // No neighbour is the one with the record there.
  if (leaf_->adjacency() == Adjacency::replace_one) return in_either_order(e.atoms);
  out_.symmetric = false;
  const auto part = [&](bool reversed) {
    const LossLaw upper = finite_law(e.atoms, reversed, +1);
    return ReleaseLaws{upper, finite_law(e.atoms, reversed, -1), upper.infinite_mass == 0, count_};
  };
  add(part(false), part(true));
}

// Proved: docs/proofs/given.md#orders
void PartsOfEvent::in_either_order(const LawAtoms& atoms) {
  if (const auto either = either_without_finite_losses(atoms)) {
    return add({*either, finite_law(atoms, false, -1), false, count_}, {*either, finite_law(atoms, true, -1), false, count_});
  }
  const LossLaw upper = larger_of_orders(atoms, +1);
  if (shares_a_batch_) {
    const ReleaseLaws part{upper, smaller_of_orders(atoms), false, count_};
    return add(part, part);
  }
  out_.symmetric = false;
  const LossLaw one = finite_law(atoms, false, -1);
  const LossLaw other = finite_law(atoms, true, -1);
  const LossLaw last = larger_of_orders(atoms, -1);
  add({.upper = upper, .lower = one, .same = false, .count = count_, .other_upper = {}, .other_order = other, .last_order = last},
      {.upper = upper, .lower = other, .same = false, .count = count_, .other_upper = {}, .other_order = one, .last_order = last});
}
// Proved so far.

void PartsOfEvent::shuffled() {
  const LossLaw stand_in{AtomsBase{{{-1, 0.5}, {1, 0.5}}, 0, 0}};
  if (makes_none()) return both(stand_in);
  static auto& kept = *new LastFew<std::pair<Event, bool>, std::shared_ptr<const ShuffledLaws>>;
  const auto laws =
      kept.of({*leaf_, from_above_}, [&] { return std::make_shared<const ShuffledLaws>(shuffled_laws(*leaf_, from_above_)); });
  const auto lower = [&](const std::optional<LossLaw>& law) { return from_above_ ? law : std::optional{law.value_or(nothing())}; };
  out_.symmetric = out_.symmetric && std::holds_alternative<Event::ShuffledReports>(leaf_->node());
  add({laws->upper, lower(laws->lower), false, count_}, {laws->upper, lower(laws->reversed), false, count_});
}

void PartsOfEvent::operator()(const Event::Mixture& e) {
  const auto multiplier = gaussian_multiplier(e.event);
  if (!multiplier) no_pair_for(*leaf_, "has no dominating pair here");
  const bool opposite = poisson_pair(e.event) == PoissonPair::opposite;
  const auto law = [&](double of_pair, Mixing mixing) {
    const double of_record = opposite ? 2 * of_pair : of_pair;
    if (makes_none()) return LossLaw{GaussianMixtureBase{of_record, {0, 0}, 0}, mixing};
    const auto base = given_mixture(of_record, e.components);
    return base ? LossLaw{*base, mixing} : nothing();
  };
  const auto part = [&](Mixing mixing) {
    return ReleaseLaws{law(multiplier->lower, mixing), law(multiplier->upper, mixing), multiplier->lower == multiplier->upper, count_};
  };
  if (opposite) return add(part(Mixing::opposite), part(Mixing::opposite));
  out_.symmetric = false;
  add(part(Mixing::remove), part(Mixing::add));
}

void PartsOfEvent::operator()(const Event::GeneralizedGaussian& e) {
  const Exact z{e.multiplier.value()};
  if (e.dimension.value() == 1) {
    const ReleaseLaws normal{LossLaw{GaussianBase{z.value}}, LossLaw{GaussianBase{z.value}}, true, count_};
    return add(normal, normal);
  }
  // Proved: docs/proofs/vector-noise.md#smooth
  const LossLaw above{GaussianBase{(Lower{z} / sqrt(Upper{Exact{e.r.value()}} - Exact{1})).value()}};
  // Proved so far.
  const ReleaseLaws part{makes_none() ? above : moved_from_above(e, above), along(e), false, count_};
  out_.has_choice = true;
  add(part, part);
}

std::optional<LossLaw> PartsOfEvent::along(const Event::KNorm& e) const {
  if (e.norm != NormName::l2) return LossLaw{LaplaceBase{e.scale.value()}};
  return moved({2, static_cast<double>(e.dimension.value()), e.scale.value(), false});
}

std::optional<LossLaw> PartsOfEvent::along(const Event::GeneralizedGaussian& e) const {
  return moved({e.r.value(), static_cast<double>(e.dimension.value()), e.multiplier.value(), true});
}

std::optional<LossLaw> PartsOfEvent::moved(const VectorNoise& noise) const {
  if (makes_none()) return nothing();
  if (from_above_) return std::nullopt;
  static auto& kept = *new LastFew<std::array<double, 4>, LawsOfVector>;
  const LawsOfVector laws =
      kept.of({noise.r, noise.dimension, noise.scale, noise.is_squared ? 1.0 : 0.0}, [&] { return LawsOfVector::of(noise); });
  const AtomsBase& best = laws.best(tilt_);
  if (best.atoms.empty()) return std::nullopt;
  return LossLaw{best};
}

LossLaw PartsOfEvent::moved_from_above(const Event::KNorm& e, const LossLaw& pure) {
  const double dimension = static_cast<double>(e.dimension.value());
  const double scale = e.scale.value();
  constexpr double most_dimensions = 1e6;
  constexpr double least_noise_scale = 0.01;
  constexpr double most_noise_scale = 1e6;
  if (!(dimension >= 3 && dimension <= most_dimensions && scale >= least_noise_scale && scale <= most_noise_scale)) return pure;
  static auto& kept = *new LastFew<std::pair<double, double>, LossLaw>;
  return kept.of({dimension, scale}, [&] { return moved_vector(dimension, scale); });
}

LossLaw PartsOfEvent::moved_from_above(const Event::GeneralizedGaussian& e, const LossLaw& smoothest) {
  const VectorNoise noise{e.r.value(), static_cast<double>(e.dimension.value()), e.multiplier.value(), true};
  const double root = std::sqrt(noise.r - 1) / noise.scale;
  constexpr double most_dimensions = 1e6;
  constexpr double least_root = 1e-4;
  constexpr double most_root = 8;
  if (!(noise.r <= most_spread_exponent && noise.dimension <= most_dimensions && root >= least_root && root <= most_root)) return smoothest;
  static auto& kept = *new LastFew<std::array<double, 3>, LossLaw>;
  return kept.of({noise.r, noise.dimension, noise.scale}, [&] { return smooth_vector(noise); });
}

ReleaseLaws PartsOfEvent::concentrated(double rho, double xi) const {
  if (!(rho < largest_rho)) no_pair_but_perhaps_others(fmt::format("has rho {}, must be below {}", rho, largest_rho));
  if (!(xi < largest_rho)) no_pair_but_perhaps_others(fmt::format("has xi {}, must be below {}", xi, largest_rho));
  return of_divergences(zcdp(Epsilon{xi}, Rho{rho}, Adjacency::zero_out), rho, xi + end_of_concentrated(rho));
}

ReleaseLaws PartsOfEvent::of_divergences(const Event& releases, double rho, double end) const {
  if (makes_none()) return {LossLaw{AtomsBase{{{-1, 0.5}, {1, 0.5}}, 0, 0}}, nothing(), false, 1};
  using Key = std::pair<const LeafCurves*, Event>;
  static auto& kept = *new LastFew<Key, std::shared_ptr<const ReleaseLaws>>;
  return *kept.of(Key{&others_, releases}, [&] {
    return std::make_shared<const ReleaseLaws>(
        divergence_part(rho, end, [&](double at) { return others_.of_divergences(releases, Epsilon{at}); }));
  });
}

void choose_two_points(Parts& parts, double s) {
  if (s == 0) return;
  for (auto& part : parts) {
    const auto* bounded = std::get_if<BoundedRangeBase>(&part.upper.base);
    if (bounded == nullptr || !part.lower) continue;
    // One outcome shows nothing, and has to stay so.
    const auto* atoms = std::get_if<AtomsBase>(&part.lower->base);
    if (atoms != nullptr && atoms->atoms.size() == 2) part.lower->base = best_two_point(bounded->epsilon, *part.lower, s);
  }
}

}  // namespace surety::accounting::laws
