#include <surety/accounting/laws/pairs/pairs.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/refusal.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/laws/pairs/allocated_epoch.h>
#include <surety/accounting/laws/pairs/allocated_sum.h>
#include <surety/accounting/laws/pairs/batch_pair.h>
#include <surety/accounting/laws/pairs/dealt_records.h>
#include <surety/accounting/laws/pairs/finite_law.h>
#include <surety/accounting/laws/pairs/gaussian_mixture.h>
#include <surety/accounting/laws/pairs/moved_vector.h>
#include <surety/accounting/laws/pairs/polygon_law.h>
#include <surety/accounting/laws/pairs/replaced_epoch.h>
#include <surety/accounting/laws/pairs/replaced_sum.h>
#include <surety/accounting/laws/pairs/search_pair.h>
#include <surety/accounting/laws/pairs/shuffled_epoch.h>
#include <surety/accounting/laws/pairs/vector_pair.h>
#include <surety/accounting/laws/truncated/truncated_batch.h>
#include <surety/accounting/numbers/bound.h>
#include <surety/accounting/numbers/interval.h>
#include <surety/accounting/numbers/last_few.h>
#include <surety/accounting/numbers/rounding.h>

namespace surety::accounting::privacy_loss {
namespace {

[[noreturn]] void no_pair_for(const Event& event, std::string_view why) { unsupported(event, fmt::format("privacy-loss: {{}} {}", why)); }

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

/// log of the mean of e^(tilt loss), roughly; it only chooses among lower bounds.
double tilted_mean_at(double tilt, const Parts& parts) {
  double total = 0;
  for (const auto& part : parts) {
    const LossLaw law = part.lower.value_or(nothing());
    const Cut cut{-60 - 40 * tilt, -60};
    const auto bounds = range(law, cut);
    const double step = std::max((bounds.largest - bounds.least) / 1000, 1e-12);
    const auto found = cells(law, step, cut);
    std::vector<double> exponents;
    for (const auto& cell : found.cells) {
      exponents.push_back(std::log(cell.mass) + cell.log_scale + tilt * rough_loss(found, cell));
    }
    if (law.infinite_mass > 0) exponents.push_back(std::log(law.infinite_mass) + tilt * bounds.largest + 20);
    if (exponents.empty()) continue;
    const double top = *std::max_element(exponents.begin(), exponents.end());
    double sum = 0;
    for (const double exponent : exponents) sum += std::exp(exponent - top);
    total += static_cast<double>(part.count) * (top + std::log(sum));
  }
  return total;
}

/// Shares of its variance that rounding may add to a sum of logarithms: while its rate is chosen, and then.
constexpr double coarse_blur = 1e-3;
constexpr double fine_blur = 2e-5;
/// Shares of the mean number of participations in a round that are tried as rates.
constexpr double rates_of_sums[] = {0.1, 0.2, 0.35, 0.5, 0.65, 0.8};

/// Points of the curve of a replaced epoch that are joined by chords, and of the transforms that give them.
constexpr int chords = 60;
constexpr std::size_t points_of_chord = std::size_t{1} << 14;
/// The curve at which they end.
constexpr double last_chord = 1e-13;

/// The law of a curve that lies above that of an epoch in which a record is replaced. `multiplier`: the noise over the bound on one record.
LossLaw replaced_from_above(std::uint64_t rounds, double multiplier) {
  static auto& kept = *new LastFew<std::pair<std::uint64_t, double>, LossLaw>;
  return kept.of({rounds, multiplier}, [&] {
    const auto curve = [&](double x, double scale) {
      return replaced_curve(rounds, multiplier, x, std::clamp(scale, 1e-250, 1.0), points_of_chord).upper;
    };
    double end = 1 / multiplier;
    for (double scale = 1e-2; (scale = curve(end, scale)) > last_chord && end < 1e6;) end *= 1.25;
    std::vector<Corner> corners;
    double value = 1;
    for (int i = 0; i <= chords; ++i) {
      const double x = end * i / chords;
      // A curve falls.
      value = std::min(value, curve(x, value));
      corners.push_back({x, static_cast<long double>(value)});
    }
    return with_infinite(polygon_law(corners, +1), corners.back().value);
  });
}

class PartsOf {
 public:
  /// \param tilt s of e^(s loss), by which the best part to be in is chosen for the lower laws; any choice is sound.
  PartsOf(BothDirections& out, const LeafCurves& others, double tilt, Reach reach)
      : out_{out}, others_{others}, tilt_{tilt}, reach_{reach} {}

  void visit(const Event& event, std::uint64_t times) {
    const auto entries = Releases::of(event).entries();
    for (const auto& [leaf, count] : entries) {
      if (times > Releases::max_count / count.value()) no_pair_for(event, "has more than 2^53 releases");
      if (std::holds_alternative<Event::BestOf>(leaf.node()) && entries.size() == 1 && count == Count{1} && times == 1) {
        no_pair_for(event, "is a search alone, of which tuning knows more");
      }
      leaf_ = &leaf;
      count_ = times * count.value();
      std::visit(*this, leaf.node());
    }
  }

  void operator()(const Event::Gaussian& e) { gaussian(e.multiplier.value(), e.multiplier.value(), 1); }
  void operator()(const Event::RecordSum&) { (*this)(Event::Gaussian{*pairwise_multiplier(*leaf_)}); }
  void operator()(const Event::Laplace& e) { both(LossLaw{LaplaceBase{e.scale.value()}}); }
  void operator()(const Event::RandomizedResponse& e) {
    both(LossLaw{randomized_response(e.truth.value(), static_cast<double>(e.categories.value()))});
  }
  void operator()(const Event::Pure& e) { both(LossLaw{two_atoms(e.epsilon.value())}); }
  void operator()(const Event::Approximate& e) {
    LossLaw law{two_atoms(e.epsilon.value())};
    law.infinite_mass = e.delta.value();
    both(law);
  }
  void operator()(const Event::DiscreteGaussian& e) {
    both(LossLaw{DiscreteGaussianBase{e.sigma.value(), static_cast<double>(e.sensitivity.value())}});
  }
  void operator()(const Event::DiscreteLaplace& e) {
    both(LossLaw{DiscreteLaplaceBase{e.scale.value(), static_cast<double>(e.sensitivity.value())}});
  }
  /// The envelope of all two-point pairs bounds every choice; each of those pairs is attained.
  void operator()(const Event::Exponential& e) {
    const double range = e.epsilon.value();
    if (range == 0) return both(LossLaw{two_atoms(0)});
    const LossLaw upper{BoundedRangeBase{range}};
    const LossLaw lower{two_point(range, range / 2)};
    out_.has_choice = true;
    add({upper, lower, false, count_}, {upper, lower, false, count_});
  }
  void operator()(const Event::KNorm& e) {
    if (e.dimension.value() == 1) return both(LossLaw{LaplaceBase{e.scale.value()}});
    AtomsBase atoms = two_atoms(1 / e.scale.value());
    atoms.loss_error = share_of_units(1 / e.scale.value());
    atoms.mass_error += share_of_units(1 / e.scale.value());
    const LossLaw upper = e.norm == NormName::l2 && !makes_none() ? moved_from_above(e, LossLaw{atoms}) : LossLaw{atoms};
    const auto lower = along(e);
    add({upper, lower, false, count_}, {upper, lower, false, count_});
  }
  /// Of what is concentrated: so many releases are one of all their rho, and of all their xi.
  void operator()(const Event::Concentrated& e) {
    const Exact each{e.rho.value()};
    if (each.value == 0 && e.xi.value() == 0) return both(nothing());
    const Exact times{static_cast<double>(count_)};
    const Upper rho = count_ == 1 ? Upper{each} : times * Upper{each};
    const Upper xi = count_ == 1 ? Upper{Exact{e.xi.value()}} : times * Upper{Exact{e.xi.value()}};
    count_ = 1;
    const ReleaseLaws part = concentrated(rho.value(), xi.value());
    add(part, part);
  }
  /// Of divergences at some orders: so many releases have the sum of theirs. Below them lies a Gaussian release whose divergences are no larger.
  void operator()(const Event::RenyiCurve& e) {
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
  /// Points of a curve, which is convex: its chords, and from below the same, which a pair attains.
  void operator()(const Event::Profile& e) {
    std::vector<Corner> corners;
    for (const auto& [epsilon, delta] : e.points.all()) corners.push_back({epsilon, static_cast<long double>(delta)});
    const auto law = [&](int direction) { return with_infinite(polygon_law(corners, direction), corners.back().value, direction); };
    const ReleaseLaws part{law(+1), law(-1), false, count_};
    add(part, part);
  }
  /// The pair itself, which is attained.
  void operator()(const Event::Law& e) {
    out_.symmetric = false;
    const auto part = [&](bool reversed) {
      const LossLaw upper = finite_law(e.atoms, reversed, +1);
      return ReleaseLaws{upper, finite_law(e.atoms, reversed, -1), upper.infinite_mass == 0, count_};
    };
    add(part(false), part(true));
  }
  /// What a record may contribute, and how much of it is secret.
  void operator()(const Event::Mixture& e) {
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
  void operator()(const Event::GeneralizedGaussian& e) {
    const Exact z{e.multiplier.value()};
    const Upper each = (Upper{Exact{e.r.value()}} - Exact{1}) / (Lower{2} * Exact{z} * Exact{z});
    const Upper rho = Exact{static_cast<double>(count_)} * each;
    const auto lower = e.dimension.value() == 1 ? std::optional{LossLaw{GaussianBase{e.multiplier.value()}}} : along(e);
    const LossLaw above = concentrated(rho.value()).upper;
    const std::uint64_t times = std::exchange(count_, 1);
    add({above, nothing(), false, 1}, {above, nothing(), false, 1});
    add({nothing(), lower, false, times}, {nothing(), lower, false, times});
  }
  void operator()(const Event::PoissonSampled& e) { sampled(e.event, e.rate.value(), false); }
  void operator()(const Event::SampledWithoutReplacement& e) {
    sampled(e.event, static_cast<double>(e.batches.size().value()) / static_cast<double>(e.batches.records().value()), true);
  }
  /// One epoch of public batches: a record takes part in one of them, known in advance. That neighbours share their batches is why
  /// event.cpp refuses add-or-remove-one.
  void operator()(const Event::Deterministic& e) { PartsOf{out_, others_, tilt_, reach_}.visit(e.event, count_); }
  /// Whoever knows the permutation sees public batches: no amplification is counted. Adjacencies as above.
  void operator()(const Event::Shuffled& e) {
    const std::uint64_t records = e.batches.records().value();
    const std::uint64_t size = e.batches.size().value();
    if (records == size) return PartsOf{out_, others_, tilt_, reach_}.visit(e.event, count_);
    out_.symmetric = false;
    if (const auto multiplier = gaussian_multiplier(e.event)) {
      const std::uint64_t batches = (records + size - 1) / size;
      const LossLaw upper{GaussianBase{multiplier->lower}};
      // Two statistics of the epoch: the largest of all batches, and their sum, one Gaussian release of sqrt(batches) times the noise.
      const AtomsBase seen = makes_none() ? AtomsBase{{{0, 1}}, 0, 0} : largest_coordinate(multiplier->upper, batches);
      const Upper largest = Upper{Exact{multiplier->upper}} * sqrt(Upper{Exact{static_cast<double>(batches)}});
      const LossLaw sum{GaussianBase{largest.value()}};
      LossLaw removed{seen};
      LossLaw added{seen, Mixing::add};
      out_.has_choice = true;
      if (tilted_mean({{sum, sum, true, 1}}) > tilted_mean({{removed, removed, true, 1}})) removed = added = sum;
      return add({upper, removed, false, count_}, {upper, added, false, count_});
    }
    // Who looks at the first batch only has a record in it with probability size / records.
    const double rate = std::nextafter(static_cast<double>(size) / static_cast<double>(records), 0.0);
    const BothDirections inner = directions_of(e.event);
    const bool single = inner.remove.size() == 1 && inner.remove.front().count == 1;
    const auto of = [&](const ReleaseLaws& part, Mixing mixing) {
      ReleaseLaws found{part.upper, nothing(), false, product(part.count, count_)};
      if (single && part.lower && part.lower->rate == 1 && part.lower->infinite_mass == 0 && is_symmetric(*part.lower)) {
        found.lower = part.lower;
        found.lower->rate = rate;
        found.lower->mixing = mixing;
      }
      return found;
    };
    for (std::size_t i = 0; i < inner.remove.size(); ++i) add(of(inner.remove[i], Mixing::remove), of(inner.add[i], Mixing::add));
  }
  /// A user's records in a Poisson batch: the sum of those that are in it, which lie in one direction at worst.
  void operator()(const Event::Users& e) {
    if (const auto multiplier = gaussian_multiplier(*leaf_)) return gaussian(multiplier->lower, multiplier->upper, 1);
    if (const auto* epoch = std::get_if<Event::Allocated>(&e.event.node())) return users_of_epoch(e.records.value(), *epoch);
    const auto* batch = std::get_if<Event::PoissonSampled>(&e.event.node());
    const auto multiplier = batch != nullptr ? gaussian_multiplier(batch->event) : std::nullopt;
    if (!multiplier) no_pair_for(*leaf_, "has no dominating pair here");
    if (e.records.value() > most_records_of_a_user) {
      no_pair_for(*leaf_, fmt::format("has users of more than {} records, for which no mixture is made", most_records_of_a_user));
    }
    const bool opposite = poisson_pair(batch->event) == PoissonPair::opposite;
    const auto law = [&](double of_pair, Mixing mixing) {
      const double of_record = opposite ? 2 * of_pair : of_pair;
      if (makes_none()) return LossLaw{GaussianMixtureBase{of_record, {0, 0}, 0}, mixing};
      return LossLaw{binomial_mixture(of_record, e.records.value(), batch->rate.value()), mixing};
    };
    const auto part = [&](Mixing mixing) {
      return ReleaseLaws{law(multiplier->lower, mixing), law(multiplier->upper, mixing), multiplier->lower == multiplier->upper, count_};
    };
    if (opposite) return add(part(Mixing::opposite), part(Mixing::opposite));
    out_.symmetric = false;
    add(part(Mixing::remove), part(Mixing::add));
  }
  /// Of a search bounds on its curve are known, the same for both directions, and what some scores attain.
  void operator()(const Event::BestOf&) {
    if (makes_none() && !others_.know_search(*leaf_)) no_pair_for(*leaf_, "is a search whose curve nobody knows");
    const LossLaw upper = makes_none() ? nothing() : search_pair(*leaf_, others_);
    const SearchLaws lower = makes_none() ? SearchLaws{} : attained_search(*leaf_, tilt_, others_);
    out_.symmetric = out_.symmetric && lower.symmetric;
    out_.has_choice = out_.has_choice || lower.remove.has_value();
    add({upper, lower.remove, false, count_}, {upper, lower.add, false, count_});
  }
  /// One of the rounds, and nobody knows which; or so many of them.
  void operator()(const Event::Allocated& e) {
    const auto multiplier = gaussian_multiplier(e.event);
    if (!multiplier) no_pair_for(*leaf_, "has no dominating pair here");
    const std::uint64_t rounds = e.rounds.value();
    const std::uint64_t times = e.participations.value();
    if (poisson_pair(e.event) == PoissonPair::opposite) {
      return replaced_epochs(*multiplier, rounds, times);
    }
    out_.symmetric = false;
    if (times == 1) return epochs(*multiplier, rounds, count_);
    // The rounds of a uniform permutation cut into blocks, one of each, are a uniform set: told the blocks, they are epochs of their own.
    const std::uint64_t longer = rounds % times;
    if (longer > 0) epochs_from_above(multiplier->lower, rounds / times + 1, product(longer, count_));
    epochs_from_above(multiplier->lower, rounds / times, product(times - longer, count_));
    if (makes_none()) return from_below(multiplier->upper, rounds, static_cast<double>(times), {}, {});
    from_below(multiplier->upper, rounds, static_cast<double>(times), in_so_many_rounds(times),
               times <= most_participations ? std::optional{largest_coordinate(multiplier->upper, rounds, times)} : std::nullopt);
  }
  /// How many of the others are kept is told to whoever asks; from below the others' vectors show it under noise, or are 0.
  void operator()(const Event::TruncatedPoisson& e) {
    const auto multiplier = gaussian_multiplier(e.event);
    if (!multiplier) no_pair_for(*leaf_, "has no dominating pair here");
    const auto pair = poisson_pair(e.event);
    const double scale = pair == PoissonPair::opposite ? 2 : 1;  // of the bound on one record
    const auto batch = [&](double of_pair, Mixing mixing, double rate) {
      return rate > 0 ? LossLaw{GaussianBase{scale * of_pair}, mixing, rate} : nothing();
    };
    const double rate = e.rate.value();
    if (makes_none()) {
      const auto part = [&](Mixing mixing) {
        const LossLaw law = no_mixture(batch(multiplier->lower, mixing, rate));
        return ReleaseLaws{law, law, false, count_};
      };
      if (pair == PoissonPair::opposite) return add(part(Mixing::opposite), part(Mixing::opposite));
      out_.symmetric = false;
      return add(part(Mixing::remove), part(Mixing::add));
    }
    if (e.event.adjacency() == Adjacency::add_or_remove_one) {
      // A record that stays in a crowded batch displaces another one: the sum moves by twice the bound. The number of records is private:
      // the curve of any number up to the public one lies below that of one of these.
      const auto crowds = crowded_batches(e.rate, e.batches);
      const auto part = [&](Mixing mixing) {
        const LossLaw poisson = batch(multiplier->lower, mixing, rate);
        std::vector<LossLaw> curves{poisson};
        for (const auto& crowd : crowds) {
          const LossLaw crowded{GaussianBase{multiplier->lower / 2}, mixing, crowd.largest_rate};
          const Enclosure room = {std::max(0.0, 1 - crowd.weight.upper - unit_roundoff),
                                  std::min(1.0, 1 - crowd.weight.lower + unit_roundoff)};
          curves.push_back(public_mixture({{poisson, room}, {crowded, crowd.weight}}, Side::upper));
        }
        return ReleaseLaws{largest_of_curves(std::move(curves)), batch(multiplier->upper, mixing, rate), false, count_};
      };
      out_.symmetric = false;
      return add(part(Mixing::remove), part(Mixing::add));
    }
    const auto found = truncated_batch(e.rate, e.batches);
    const auto seen = shares_by_others_seen(e.rate, e.batches, scale * multiplier->upper);
    const auto part = [&](Mixing mixing) {
      const LossLaw last = batch(multiplier->lower, mixing, found.last_rate.upper);
      const LossLaw upper =
          public_mixture({{batch(multiplier->lower, mixing, rate), found.roomy}, {last, found.last}, {nothing(), found.full}}, Side::upper);
      LossLaw lower = batch(multiplier->upper, mixing, found.rate.lower);
      if (!seen.empty()) {
        std::vector<std::pair<LossLaw, Enclosure>> shares;
        for (const auto& share : seen) shares.emplace_back(batch(multiplier->upper, mixing, share.rate.lower), share.weight);
        lower = public_mixture(shares, Side::lower);
      }
      return ReleaseLaws{upper, lower, false, count_};
    };
    if (pair == PoissonPair::opposite) return add(part(Mixing::opposite), part(Mixing::opposite));
    out_.symmetric = false;
    add(part(Mixing::remove), part(Mixing::add));
  }
  /// A record takes part in one of the parts: release by release the pair whose curve is the largest of theirs, and from below the part
  /// that is worst at the tilt.
  void operator()(const Event::Parallel& e) {
    const auto parts = undominated(e);
    if (parts.size() == 1) return PartsOf{out_, others_, tilt_, reach_}.visit(parts.front(), count_);
    std::vector<BothDirections> all;
    std::size_t chosen = 0;
    for (const auto& part : parts) {
      all.push_back(directions_of(part));
      out_.symmetric = out_.symmetric && all.back().symmetric;
      if (tilted_mean(all.back().remove) > tilted_mean(all[chosen].remove)) chosen = all.size() - 1;
    }
    out_.has_choice = true;
    // The k-th releases of all parts side by side, as often as the one that occurs least often; parts may run out of releases.
    std::vector<std::size_t> place(all.size(), 0);
    std::vector<std::uint64_t> used(all.size(), 0);
    for (;;) {
      std::uint64_t count = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (place[i] == all[i].remove.size()) continue;
        const std::uint64_t left = all[i].remove[place[i]].count - used[i];
        count = count == 0 ? left : std::min(count, left);
      }
      if (count == 0) return;
      std::vector<LossLaw> removed;
      std::vector<LossLaw> added;
      std::optional<LossLaw> removed_lower = nothing();
      std::optional<LossLaw> added_lower = nothing();
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (place[i] == all[i].remove.size()) continue;
        const ReleaseLaws& one = all[i].remove[place[i]];
        const ReleaseLaws& other = all[i].add[place[i]];
        removed.push_back(one.upper);
        added.push_back(other.upper);
        if (i == chosen && one.lower && other.lower) {
          removed_lower = one.lower;
          added_lower = other.lower;
        }
        used[i] += count;
        if (used[i] == one.count) {
          ++place[i];
          used[i] = 0;
        }
      }
      add({largest_of_curves(std::move(removed)), removed_lower, false, product(count, count_)},
          {largest_of_curves(std::move(added)), added_lower, false, product(count, count_)});
    }
  }
  template <class Other>
  void operator()(const Other&) {
    no_pair_but_perhaps_others("has no dominating pair here");
  }

 private:
  /// No law is made: stand-ins of the same kind take their places.
  [[nodiscard]] bool makes_none() const { return reach_ == Reach::none; }
  static LossLaw no_mixture(LossLaw law) { return public_mixture({{law, {0.5, 0.5}}, {law, {0.5, 0.5}}}, Side::lower); }

  /// What moving along one coordinate, or along all, shows: in the l1 norm and in the largest coordinate's that is Laplace noise.
  std::optional<LossLaw> along(const Event::KNorm& e) const {
    if (e.norm != NormName::l2) return LossLaw{LaplaceBase{e.scale.value()}};
    return moved({2, static_cast<double>(e.dimension.value()), e.scale.value(), false});
  }
  std::optional<LossLaw> along(const Event::GeneralizedGaussian& e) const {
    return moved({e.r.value(), static_cast<double>(e.dimension.value()), e.multiplier.value(), true});
  }
  std::optional<LossLaw> moved(const VectorNoise& noise) const {
    if (makes_none()) return nothing();
    static auto& kept = *new LastFew<std::array<double, 4>, LossLaw>;
    const LossLaw law =
        kept.of({noise.r, noise.dimension, noise.scale, noise.is_squared ? 1.0 : 0.0}, [&] { return LossLaw{vector_pair(noise)}; });
    if (std::get<AtomsBase>(law.base).atoms.empty()) return std::nullopt;
    return law;
  }
  /// From above as far as it may move, in three coordinates or more; `pure` is the law of its largest loss alone.
  static LossLaw moved_from_above(const Event::KNorm& e, const LossLaw& pure) {
    const double dimension = static_cast<double>(e.dimension.value());
    const double scale = e.scale.value();
    constexpr double most_dimensions = 1e6;
    constexpr double least_scale = 0.01;
    constexpr double most_scale = 1e6;
    if (!(dimension >= 3 && dimension <= most_dimensions && scale >= least_scale && scale <= most_scale)) return pure;
    static auto& kept = *new LastFew<std::pair<double, double>, LossLaw>;
    return kept.of({dimension, scale}, [&] { return moved_vector(dimension, scale); });
  }
  [[nodiscard]] ReleaseLaws concentrated(double rho, double xi = 0) const {
    if (!(rho < largest_rho)) no_pair_but_perhaps_others(fmt::format("has rho {}, must be below {}", rho, largest_rho));
    if (!(xi < largest_rho)) no_pair_but_perhaps_others(fmt::format("has xi {}, must be below {}", xi, largest_rho));
    return of_divergences(zcdp(Epsilon{xi}, Rho{rho}, Adjacency::zero_out), rho, xi + end_of_concentrated(rho));
  }
  /// What is known by divergences alone. `rho`: of the Gaussian release below it; 0 for none.
  [[nodiscard]] ReleaseLaws of_divergences(const Event& releases, double rho, double end) const {
    if (makes_none()) return {LossLaw{AtomsBase{{{-1, 0.5}, {1, 0.5}}, 0, 0}}, nothing(), false, 1};
    using Key = std::pair<const LeafCurves*, Event>;
    static auto& kept = *new LastFew<Key, std::shared_ptr<const ReleaseLaws>>;
    return *kept.of(Key{&others_, releases}, [&] {
      return std::make_shared<const ReleaseLaws>(
          divergence_part(rho, end, [&](double at) { return others_.of_divergences(releases, Epsilon{at}); }));
    });
  }

  [[noreturn]] void no_pair_but_perhaps_others(std::string_view why) const {
    if (makes_none()) no_pair_for(*leaf_, why);
    const auto known_by = others_.also_known_by(*leaf_);
    no_pair_for(*leaf_, fmt::format("{}{}{}", why, known_by.empty() ? "" : "; alone it is known to ", known_by));
  }

  /// Coordinates of batches that a record is in, of which the largest is looked at.
  static constexpr std::uint64_t most_participations = 1000;
  /// Records of a user whose ways to share rounds are listed.
  static constexpr std::uint64_t most_sharing_records = 4;

  /// One of the rounds, so many times, both bounds.
  void epochs(const Enclosure& multiplier, std::uint64_t rounds, std::uint64_t count) {
    const bool same = multiplier.lower == multiplier.upper;
    const auto of = [&](double of_bound, bool from_above) -> BaseLaw {
      if (reach_ == Reach::middle) {
        const auto epoch = allocated_epoch(static_cast<double>(rounds), of_bound);
        if (epoch->has_density()) return AllocatedBase{epoch};
      }
      return AllocatedRatioBase{of_bound, rounds, 1, from_above};
    };
    const BaseLaw upper = of(multiplier.lower, true);
    const bool is_sharp = same && std::holds_alternative<AllocatedBase>(upper);
    const BaseLaw lower = is_sharp ? upper : of(multiplier.upper, false);
    const auto part = [&](Mixing mixing) { return ReleaseLaws{LossLaw{upper, mixing}, LossLaw{lower, mixing}, is_sharp, count}; };
    add(part(Mixing::remove), part(Mixing::add));
  }
  /// Some of the rounds, opposite vectors in both data sets; the bound on one record is half of the sensitivity.
  void replaced_epochs(const Enclosure& multiplier, std::uint64_t rounds, std::uint64_t times) {
    const double least = 2 * multiplier.lower;
    const double most = 2 * multiplier.upper;
    if (times == 1 && (makes_none() || has_fourier_sums(rounds, least, most))) {
      const auto law = [&](double of_bound, bool from_above) {
        return LossLaw{ReplacedBase{makes_none() ? nullptr : replaced_epoch(static_cast<double>(rounds), of_bound), from_above}};
      };
      const ReleaseLaws part{law(least, true), law(most, false), false, count_};
      return add(part, part);
    }
    if (makes_none()) {
      const ReleaseLaws part{LossLaw{GaussianBase{multiplier.lower}}, nothing(), false, product(times, count_)};
      return add(part, part);
    }
    // Told the blocks, k of the rounds are one of each block, as without a replacement.
    const auto block = [&](std::uint64_t length, std::uint64_t count) {
      const LossLaw law = length == 1 ? LossLaw{GaussianBase{multiplier.lower}} : replaced_from_above(length, least);
      const ReleaseLaws part{law, std::nullopt, false, product(count, count_)};
      add(part, part);
    };
    if (rounds % times > 0) block(rounds / times + 1, rounds % times);
    block(rounds / times, times - rounds % times);
    AtomsBase seen = shown_by_replaced_epoch(most, rounds, times, tilt_);
    out_.has_choice = true;
    const ReleaseLaws shown{nothing(), seen.atoms.empty() ? nothing() : LossLaw{std::move(seen)}, false, count_};
    add(shown, shown);
  }
  /// Whether the Fourier sums of both ends take few enough nodes.
  static bool has_fourier_sums(std::uint64_t rounds, double least, double most) {
    try {
      for (const double of_bound : {least, most}) {
        const auto epoch = replaced_epoch(static_cast<double>(rounds), of_bound);
        static_cast<void>(epoch->range());
        static_cast<void>(epoch->beyond(0));
      }
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      return false;
    }
  }
  void epochs_from_above(double multiplier, std::uint64_t rounds, std::uint64_t count) {
    if (rounds == 1) {
      const LossLaw law{GaussianBase{multiplier}};
      return add({law, std::nullopt, false, count}, {law, std::nullopt, false, count});
    }
    BaseLaw upper = AllocatedRatioBase{multiplier, rounds, 1, true};
    if (reach_ == Reach::middle) {
      const auto epoch = allocated_epoch(static_cast<double>(rounds), multiplier);
      if (epoch->has_density()) upper = AllocatedBase{epoch};
    }
    add({LossLaw{upper, Mixing::remove}, std::nullopt, false, count}, {LossLaw{upper, Mixing::add}, std::nullopt, false, count});
  }
  /// What an epoch shows to whoever looks at one number: the sum of all rounds, which has moved by `times`, the largest of them, or the sum of
  /// logarithms that makes the most of how records take part, where that is listed.
  void from_below(double multiplier, std::uint64_t rounds, double times, const std::vector<DealtRecords>& ways,
                  const std::optional<AtomsBase>& seen) {
    const Upper whole = Upper{Exact{multiplier}} * sqrt(Upper{Exact{static_cast<double>(rounds)}}) / Exact{times};
    const LossLaw sum{GaussianBase{whole.value()}};
    LossLaw removed = sum;
    LossLaw added = sum;
    double best = tilted_mean({{sum, sum, true, 1}});
    const auto is_better = [&](const LossLaw& law) {
      out_.has_choice = true;
      const double mean = tilted_mean({{law, law, true, 1}});
      if (mean > best) best = mean;
      return mean == best;
    };
    if (seen && is_better(LossLaw{*seen})) {
      removed = LossLaw{*seen};
      added = LossLaw{*seen, Mixing::add};
    }
    if (!ways.empty()) {
      // A coarse look says at which rate.
      const double mean = times / static_cast<double>(rounds);
      double chosen = 0;
      for (const double share : rates_of_sums) {
        const double rate = share * std::min(mean, 1.0);
        const auto laws = sum_of_logarithms(multiplier, rounds, ways, rate, coarse_blur);
        if (!laws.removed.atoms.empty() && !laws.added.atoms.empty() && is_better(LossLaw{laws.removed})) chosen = rate;
      }
      if (chosen > 0) {
        const auto laws = sum_of_logarithms(multiplier, rounds, ways, chosen, fine_blur);
        removed = LossLaw{laws.removed};
        added = LossLaw{laws.added};
      }
    }
    // Nothing costs less than nothing: what bounds it from above are the parts beside this one.
    add({nothing(), removed, false, count_}, {nothing(), added, false, count_});
  }
  /// A user's records, each dealt for itself. From above they are told who shares a round and in which part of the rounds each round is, or
  /// each has a share of the noise for itself.
  void users_of_epoch(std::uint64_t records, const Event::Allocated& e) {
    const auto multiplier = gaussian_multiplier(e.event);
    if (!multiplier) no_pair_for(*leaf_, "has no dominating pair here");
    if (poisson_pair(e.event) == PoissonPair::opposite) no_pair_for(*leaf_, "has no dominating pair here under replace-one");
    out_.symmetric = false;
    const std::uint64_t rounds = e.rounds.value();
    const std::uint64_t times = e.participations.value();
    if (times == 1 && records <= most_sharing_records) {
      const LossLaw removed{AllocatedRatioBase{multiplier->lower, rounds, records, true}};
      const LossLaw added{AllocatedRatioBase{multiplier->lower, rounds, records, true}, Mixing::add};
      add({removed, std::nullopt, false, count_}, {added, std::nullopt, false, count_});
    } else {
      const double each = (Lower{Exact{multiplier->lower}} / sqrt(Upper{Exact{static_cast<double>(records)}})).value();
      const std::uint64_t longer = rounds % times;
      if (longer > 0) epochs_from_above(each, rounds / times + 1, product(product(longer, records), count_));
      epochs_from_above(each, rounds / times, product(product(times - longer, records), count_));
    }
    const double all = static_cast<double>(records) * static_cast<double>(times);
    if (makes_none() || times > 1) return from_below(multiplier->upper, rounds, all, {}, {});
    from_below(
        multiplier->upper, rounds, all, records <= most_sharing_records ? each_in_some_round(records, rounds) : std::vector<DealtRecords>{},
        records <= 2 * most_sharing_records ? std::optional{largest_coordinate_of_user(multiplier->upper, rounds, records)} : std::nullopt);
  }

  [[nodiscard]] BothDirections directions_of(const Event& event) {
    BothDirections found;
    PartsOf{found, others_, tilt_, reach_}.visit(event, 1);
    out_.has_choice = out_.has_choice || found.has_choice;
    return found;
  }
  [[nodiscard]] std::uint64_t product(std::uint64_t inner, std::uint64_t outer) const {
    if (inner > Releases::max_count / outer) no_pair_for(*leaf_, "has more than 2^53 releases");
    return inner * outer;
  }
  enum class Side { lower, upper };
  /// What is shown with a probability so small that its digits do not matter is lost altogether, or from below is not shown.
  static LossLaw public_mixture(const std::vector<std::pair<LossLaw, Enclosure>>& shares, Side side) {
    std::vector<LossLaw> laws;
    std::vector<double> weights;
    double error = 0;
    Upper lost{0};
    for (const auto& [law, share] : shares) {
      if (share.upper < 1e-200) {
        lost += Upper{Exact{share.upper}};
        continue;
      }
      const double weight = share.lower + 0.5 * (share.upper - share.lower);
      error = std::max(error, (share.upper - share.lower) / weight + share_of_units(2.0));
      laws.push_back(law);
      weights.push_back(weight);
    }
    LossLaw mixture{PublicMixtureBase{std::make_shared<const std::vector<LossLaw>>(std::move(laws)), std::move(weights), error}};
    if (side == Side::upper) mixture.infinite_mass = lost.value();
    return mixture;
  }
  static LossLaw largest_of_curves(std::vector<LossLaw> laws) {
    if (laws.size() == 1) return laws.front();
    return LossLaw{MaximumBase{std::make_shared<const std::vector<LossLaw>>(std::move(laws))}};
  }
  [[nodiscard]] double tilted_mean(const Parts& parts) const { return makes_none() ? 0 : tilted_mean_at(tilt_, parts); }

  /// Stand-ins have no range, and what takes long is not asked for one.
  static bool is_slow(const LossLaw& law) {
    return std::holds_alternative<PublicMixtureBase>(law.base) || std::holds_alternative<MaximumBase>(law.base) ||
           std::holds_alternative<GaussianMixtureBase>(law.base) || std::holds_alternative<AllocatedBase>(law.base) ||
           std::holds_alternative<AllocatedRatioBase>(law.base) || std::holds_alternative<ReplacedBase>(law.base);
  }

  void add(ReleaseLaws removed, ReleaseLaws added) {
    for (const auto* part : {&removed, &added}) {
      if (makes_none() && is_slow(part->upper)) continue;
      // Cells of a grid are no smaller than 1e-12 of anything; a loss so small has no digits there.
      const auto bounds = range(part->upper, {-60, -60});
      const double width = bounds.largest - bounds.least;
      if (!(width > 1e-14) && !(width == 0 && std::holds_alternative<AtomsBase>(part->upper.base))) {
        no_pair_but_perhaps_others(width < infinity ? "has losses too small for a grid" : "has losses too large for a grid");
      }
    }
    out_.remove.push_back(std::move(removed));
    out_.add.push_back(std::move(added));
  }
  void both(const LossLaw& law) { add({law, law, true, count_}, {law, law, true, count_}); }

  /// Gaussian releases whose multiplier lies between the two, on batches of rate `rate`.
  void gaussian(double least, double most, double rate) {
    const bool same = least == most;
    const LossLaw removed_upper{GaussianBase{least}, Mixing::remove, rate};
    const LossLaw removed_lower{GaussianBase{most}, Mixing::remove, rate};
    if (rate == 1) return add({removed_upper, removed_lower, same, count_}, {removed_upper, removed_lower, same, count_});
    out_.symmetric = false;
    const LossLaw added_upper{GaussianBase{least}, Mixing::add, rate};
    const LossLaw added_lower{GaussianBase{most}, Mixing::add, rate};
    add({removed_upper, removed_lower, same, count_}, {added_upper, added_lower, same, count_});
  }

  /// Fixed size is a theorem under replace-one (event.cpp) for any release, since the record, the one in its place, and the one that
  /// takes its place in the batch are three neighbours; which pair a Poisson batch has is for poisson_pair to say.
  void sampled(const Event& inner, double rate, bool fixed_size) {
    const auto entries = Releases::of(inner).entries();
    // One batch, shared by everything inside. A Gaussian composition is one Gaussian release.
    if (fixed_size && rate < 1 && splits_its_batch(inner)) {
      no_pair_for(*leaf_, "shares one batch of fixed size among parallel parts, for which no theorem is known");
    }
    if (const auto multiplier = gaussian_multiplier(inner)) {
      const double least = multiplier->lower;
      const double most = multiplier->upper;
      if (!fixed_size && rate < 1 && poisson_pair(inner) == PoissonPair::opposite) {
        // Two bounded records may be opposite; each of the two data sets has one of them in the batch or not. The bound on one record is
        // half of the sensitivity.
        const ReleaseLaws part{{GaussianBase{2 * least}, Mixing::opposite, rate},
                               LossLaw{GaussianBase{2 * most}, Mixing::opposite, rate},
                               least == most,
                               count_};
        return add(part, part);
      }
      if (!fixed_size || rate == 1) return gaussian(least, most, rate);
      // rate = m / n is rounded: the law is that of a rate within a relative u, which `widened` covers.
      const double more = std::nextafter(rate, 1.0);
      const double less = std::nextafter(rate, 0.0);
      out_.symmetric = false;
      const LossLaw upper{GaussianBase{least}, Mixing::symmetric, more};
      add({upper, LossLaw{GaussianBase{most}, Mixing::remove, less}, false, count_},
          {upper, LossLaw{GaussianBase{most}, Mixing::add, less}, false, count_});
      return;
    }
    if (rate == 1) return PartsOf{out_, others_, tilt_, reach_}.visit(inner, count_);
    const auto* parallel = std::get_if<Event::Parallel>(&entries.front().leaf.node());
    if (entries.size() == 1 && entries.front().count.value() == 1 && parallel != nullptr) {
      // A record takes part in one of them, and joins the batch whatever the others do.
      std::vector<Event> parts;
      for (const auto& part : parallel->events) parts.push_back(poisson(SamplingRate{rate}, part));
      return PartsOf{out_, others_, tilt_, reach_}.visit(surety::parallel(std::move(parts)), count_);
    }
    const auto has_no_pair_to_mix = [](const Event& leaf) {
      // The law from below of a vector that moves is not to be reversed.
      const auto* vector = std::get_if<Event::KNorm>(&leaf.node());
      return std::holds_alternative<Event::Approximate>(leaf.node()) || std::holds_alternative<Event::Concentrated>(leaf.node()) ||
             std::holds_alternative<Event::Profile>(leaf.node()) || std::holds_alternative<Event::RenyiCurve>(leaf.node()) ||
             std::holds_alternative<Event::GeneralizedGaussian>(leaf.node()) ||
             (vector != nullptr && vector->norm == NormName::l2 && vector->dimension.value() > 1);
    };
    if (entries.size() != 1 || entries.front().count.value() != 1 || has_no_pair_to_mix(entries.front().leaf)) {
      return shared(inner, rate, fixed_size);
    }
    const bool is_in_or_out = !fixed_size && poisson_pair(inner) == PoissonPair::with_or_without;
    if (const auto* given = std::get_if<Event::Law>(&entries.front().leaf.node()); given != nullptr && is_in_or_out)
      return sampled(*given, rate);
    BothDirections one;
    PartsOf{one, others_, tilt_, reach_}.visit(inner, 1);
    if (one.remove.size() != 1) no_pair_for(*leaf_, "shares one batch among several releases");
    if (!fixed_size && poisson_pair(inner) == PoissonPair::revealed) return revealed(one, rate);
    ReleaseLaws removed = one.remove.front();
    if (removed.upper.rate != 1 || removed.upper.infinite_mass > 0 || !is_symmetric(removed.upper) ||
        std::holds_alternative<MaximumBase>(removed.upper.base)) {
      no_pair_but_perhaps_others("has no dominating pair here");
    }
    out_.symmetric = out_.symmetric && rate == 1;
    removed.count = count_;
    if (fixed_size && rate != 1) {
      // As for gaussian releases.
      removed.upper.mixing = Mixing::symmetric;
      removed.upper.rate = std::nextafter(rate, 1.0);
      if (removed.lower) removed.lower->rate = std::nextafter(rate, 0.0);
      removed.same = false;
      ReleaseLaws added = removed;
      if (added.lower) added.lower->mixing = Mixing::add;
      return add(std::move(removed), std::move(added));
    }
    removed.upper.rate = rate;
    if (removed.lower) removed.lower->rate = rate;
    ReleaseLaws added = removed;
    added.upper.mixing = Mixing::add;
    if (added.lower) added.lower->mixing = Mixing::add;
    add(std::move(removed), std::move(added));
  }

  /// The given pair in a batch, or not in it.
  void sampled(const Event::Law& given, double rate) {
    if (!has_finite_losses(given.atoms)) no_pair_but_perhaps_others("has no dominating pair here");
    out_.symmetric = false;
    const auto part = [&](Mixing mixing) {
      LossLaw law = finite_law(given.atoms, false, +1);
      law.mixing = mixing;
      law.rate = rate;
      return ReleaseLaws{law, law, true, count_};
    };
    add(part(Mixing::remove), part(Mixing::add));
  }

  /// One batch that several releases share, or one whose pair is known by its outcomes alone: the pair of all of them is mixed.
  void shared(const Event& inner, double rate, bool fixed_size) {
    const auto pair = makes_none() ? nullptr : pair_of_batch(inner);
    if (makes_none()) static_cast<void>(parts_of_batch(inner));
    const double less = std::nextafter(rate, 0.0);
    const auto part = [&](Mixing upper, double most, Mixing lower, double least) {
      if (pair == nullptr) {
        // As its law: its own reverse where the batch is revealed, and else not.
        const LossLaw law{upper == Mixing::revealed ? AtomsBase{{{-1, 0.5}, {1, 0.5}}, 0, 0} : AtomsBase{{{-1, 0.5}, {2, 0.5}}, 0, 0}};
        return ReleaseLaws{law, law, false, count_};
      }
      return ReleaseLaws{batch_law(*pair, upper, most, +1), batch_law(*pair, lower, least, -1), false, count_};
    };
    if (fixed_size) {
      // As for gaussian releases.
      out_.symmetric = false;
      const ReleaseLaws removed = part(Mixing::symmetric, std::nextafter(rate, 1.0), Mixing::remove, less);
      ReleaseLaws added = removed;
      if (pair != nullptr) added.lower = batch_law(*pair, Mixing::add, less, -1);
      return add(removed, added);
    }
    if (poisson_pair(inner) == PoissonPair::revealed) {
      const ReleaseLaws both = part(Mixing::revealed, rate, Mixing::revealed, rate);
      return add(both, both);
    }
    out_.symmetric = false;
    add(part(Mixing::remove, rate, Mixing::remove, rate), part(Mixing::add, rate, Mixing::add, rate));
  }

  /// The pair of all releases of `inner`, kept for the questions that follow.
  [[nodiscard]] std::shared_ptr<const BatchPair> pair_of_batch(const Event& inner) const {
    using Key = std::pair<const LeafCurves*, Event>;
    static auto& kept = *new LastFew<Key, std::shared_ptr<const BatchPair>>;
    return kept.of(Key{&others_, inner}, [&] { return std::make_shared<const BatchPair>(batch_pair(parts_of_batch(inner))); });
  }
  [[nodiscard]] Parts parts_of_batch(const Event& inner) const {
    // Gaussian releases are one, and what is concentrated adds up.
    BothDirections found;
    PartsOf parts{found, others_, 1, makes_none() ? Reach::none : Reach::middle};
    std::vector<Event> gaussians;
    Interval concentrated{0, precision};
    double number = 0;
    for (const auto& [leaf, count] : Releases::of(inner).entries()) {
      if (const auto* known = std::get_if<Event::Concentrated>(&leaf.node()); known != nullptr && known->xi.value() == 0) {
        concentrated = concentrated + Interval{static_cast<double>(count.value()), precision} * Interval{known->rho.value(), precision};
      } else if (gaussian_multiplier(leaf)) {
        gaussians.push_back(repeat(count, leaf));
      } else {
        number += static_cast<double>(count.value());
        parts.visit(leaf, count.value());
      }
    }
    if (number > most_in_a_batch) {
      no_pair_but_perhaps_others(
          fmt::format("shares one batch among more than {:.0f} releases that are not all gaussian", most_in_a_batch));
    }
    if (!gaussians.empty()) {
      const auto multiplier = gaussian_multiplier(compose(std::move(gaussians)));
      parts.leaf_ = leaf_;
      parts.count_ = 1;
      parts.gaussian(multiplier->lower, multiplier->upper, 1);
    }
    for (const auto& part : found.remove) {
      if (!is_symmetric(part.upper) || part.upper.rate != 1 || std::holds_alternative<MaximumBase>(part.upper.base)) {
        no_pair_but_perhaps_others("has no dominating pair here");
      }
    }
    const double rho = concentrated.enclosure().upper;
    if (!(rho < largest_rho))
      no_pair_for(*leaf_, fmt::format("shares one batch among releases of rho {}, must be below {}", rho, largest_rho));
    if (rho > 0 && !makes_none()) {
      found.remove.push_back(this->concentrated(rho));
    }
    if (found.remove.empty()) found.remove.push_back({nothing(), nothing(), true, 1});
    return found.remove;
  }
  static constexpr double most_in_a_batch = 1000;
  static constexpr double largest_rho = 1e4;
  static constexpr mpfr_prec_t precision = 128;

  /// With probability `rate` the pair of the release, else nothing that differs. \pre `one` is a single release.
  void revealed(const BothDirections& one, double rate) {
    out_.symmetric = out_.symmetric && one.symmetric;
    out_.has_choice = out_.has_choice || one.has_choice;
    const auto of = [&](ReleaseLaws part) {
      if (std::holds_alternative<MaximumBase>(part.upper.base)) no_pair_but_perhaps_others("has no dominating pair here");
      part.upper = reveal(part.upper, rate, +1);
      if (part.lower) part.lower = reveal(*part.lower, rate, -1);
      part.same = part.same && part.upper.infinite_mass == 0;
      part.count = count_;
      return part;
    };
    add(of(one.remove.front()), of(one.add.front()));
  }
  /// A larger rate and a larger share at infinite loss dominate, so both are rounded to `side`, where they round at all.
  [[nodiscard]] static LossLaw reveal(LossLaw law, double rate, int side) {
    law.mixing = Mixing::revealed;
    law.rate = rate;
    if (law.infinite_mass == 0) return law;
    const double outward = side > 0 ? infinity : 0.0;
    const double share = law.infinite_mass;
    law.infinite_mass = std::nextafter(rate * share, outward);
    const Exact left{law.infinite_mass};
    const Upper largest = Upper{Exact{rate}} * (Upper{1} - Exact{share}) / (Lower{1} - left);
    const Lower smallest = Lower{Exact{rate}} * (Lower{1} - Exact{share}) / (Upper{1} - left);
    law.rate = std::min(side > 0 ? largest.value() : smallest.value(), 1.0);
    return law;
  }

  BothDirections& out_;
  const LeafCurves& others_;
  double tilt_;
  Reach reach_;
  const Event* leaf_ = nullptr;
  std::uint64_t count_ = 1;
};

}  // namespace

BothDirections both_directions(const Event& event, const LeafCurves& others, double tilt, Reach reach) {
  BothDirections directions;
  PartsOf{directions, others, tilt, reach}.visit(event, 1);
  return directions;
}

std::optional<Refusal> why_no_pairs(const Event& event, const LeafCurves& others) {
  return refusal_of(event, [&] { static_cast<void>(both_directions(event, others, 1, Reach::none)); });
}

AtomsBase shown_by_replaced_epoch(double multiplier, std::uint64_t rounds, std::uint64_t participations, double s) {
  const auto ways = in_so_many_rounds(participations);
  const double mean = static_cast<double>(participations) / static_cast<double>(rounds);
  double best = 0;
  double chosen = 0;
  for (const double share : rates_of_sums) {
    const auto law = sum_of_differences(multiplier, rounds, ways, share * mean, coarse_blur);
    if (law.atoms.empty()) continue;
    const LossLaw coarse{law};
    const double found = tilted_mean_at(s, {{coarse, coarse, true, 1}});
    if (chosen > 0 && found <= best) continue;
    best = found;
    chosen = share * mean;
  }
  return chosen > 0 ? sum_of_differences(multiplier, rounds, ways, chosen, fine_blur) : AtomsBase{{}, 0, 0};
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

}  // namespace surety::accounting::privacy_loss
