#include <surety/accounting/accountants/privacy_loss/privacy_loss.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/numbers/checked_cast.h>
#include <surety/accounting/accountants/closed_form.h>
#include <surety/accounting/accountants/composition.h>
#include <surety/accounting/numbers/convolution.h>
#include <surety/accounting/accountants/privacy_loss/dominating_pair.h>
#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/numbers/index_tests.h>
#include <surety/accounting/accountants/parallel_parts.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/accountants/renyi.h>
#include <surety/accounting/accountants/privacy_loss/shuffled_epoch.h>
#include <surety/accounting/accountants/privacy_loss/tilted_law.h>
#include <surety/accounting/numbers/rounding.h>

namespace surety::accounting {
namespace {


// ---- from events to pairs ----

/// One kind of release in one direction: a law that dominates it, one that concrete data attain, and how often it happens.
struct Part {
  LossLaw upper;
  std::optional<LossLaw> lower;  // nothing: only an upper bound is known
  bool same;                     // the two are one law
  std::uint64_t count;
};
/// Every release, in one direction.
using Parts = std::vector<Part>;

struct Directions {
  Parts removed;
  Parts added;
  bool symmetric = true;
  bool has_choice = false;  // which lower laws are best depends on the question
};

[[noreturn]] void refuse(const Event& event, std::string_view why) {
  throw Error{ErrorCode::unsupported, fmt::format("privacy-loss: {} {}", describe(event), why)};
}

/// Whether the accountant has a theorem for the event.
template <class A>
bool understands(const A& accountant, const Event& event) {
  try {
    (void)epsilon(accountant, event, Delta{1e-6});
    return true;
  } catch (const Error&) {
    return false;
  }
}

[[noreturn]] void refuse_with_hint(const Event& event, std::string_view why) {
  std::string_view hint;
  if (understands(Renyi{}, event)) {
    hint = "; try renyi";
  } else if (understands(Composition::Optimal{}, event)) {
    hint = "; try optimal";
  }
  refuse(event, fmt::format("{}{}", why, hint));
}

/// An (epsilon, 0)-differentially private release at its worst: truth with probability e^epsilon / (1 + e^epsilon).
AtomsBase two_atoms(double epsilon) {
  const double miss = std::exp(-epsilon) / (1 + std::exp(-epsilon));
  return {{{-epsilon, miss}, {epsilon, 1 / (1 + std::exp(-epsilon))}}, 0, unit_roundoff * (8 + 2 * epsilon)};
}

/// Two outcomes of losses t and t - epsilon, 0 < t < epsilon: what a choice of loss range epsilon can do.
AtomsBase two_point(double epsilon, double t) {
  const double hit = std::expm1(t - epsilon) / std::expm1(-epsilon);
  const double miss = std::exp(t - epsilon) * std::expm1(-t) / std::expm1(-epsilon);
  return {{{t - epsilon, miss}, {t, hit}}, 2 * unit_roundoff * epsilon, unit_roundoff * (24 + 4 * epsilon)};
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
      terms[i] = law.mixing == Mixing::added ? q_mass - s * mixed : q_mass + (s + 1) * mixed;
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
  const double error = unit_roundoff * (16 + 4 * loss);
  if (categories == 2) return {{{-loss, less}, {loss, more}}, error, 8 * unit_roundoff};
  return {{{-loss, less}, {0, other * (categories - 2)}, {loss, more}}, error, 16 * unit_roundoff};
}

/// A release that shows nothing, which anybody can attain.
LossLaw nothing() { return LossLaw{AtomsBase{{{0, 1}}, 0, 0}}; }

class PartsOf {
 public:
  /// \param tilt s of e^(s loss), by which the best part to be in is chosen for the lower laws; any choice is sound.
  explicit PartsOf(Directions& out, double tilt = 1) : out_{out}, tilt_{tilt} {}

  void visit(const Event& event, std::uint64_t times) {
    for (const auto& [leaf, count] : Releases::of(event).entries()) {
      if (times > Releases::max_count / count.value()) refuse(event, "has more than 2^53 releases");
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
    atoms.loss_error = 2 * unit_roundoff / e.scale.value();
    atoms.mass_error += 4 * unit_roundoff / e.scale.value();
    add({LossLaw{atoms}, std::nullopt, false, count_}, {LossLaw{atoms}, std::nullopt, false, count_});
  }
  void operator()(const Event::PoissonSampled& e) { sampled(e.event, e.rate.value(), false); }
  void operator()(const Event::SampledWithoutReplacement& e) {
    sampled(e.event, static_cast<double>(e.batches.size().value()) / static_cast<double>(e.batches.records().value()), true);
  }
  /// One epoch of public batches: a record takes part in one of them, known in advance. That neighbours share their batches is why
  /// event.cpp refuses add-or-remove-one.
  void operator()(const Event::Deterministic& e) { PartsOf{out_, tilt_}.visit(e.event, count_); }
  /// Whoever knows the permutation sees public batches: no amplification is counted. Adjacencies as above.
  void operator()(const Event::Shuffled& e) {
    const std::uint64_t records = e.batches.records().value();
    const std::uint64_t size = e.batches.size().value();
    if (records == size) return PartsOf{out_, tilt_}.visit(e.event, count_);
    out_.symmetric = false;
    if (const auto multiplier = gaussian_multiplier(e.event)) {
      const std::uint64_t batches = (records + size - 1) / size;
      const LossLaw upper{GaussianBase{multiplier->lower}};
      // Two statistics of the epoch: the largest of all batches, and their sum, one Gaussian release of sqrt(batches) times the noise.
      const AtomsBase seen = largest_coordinate(multiplier->upper, batches);
      const LossLaw sum{GaussianBase{multiplier->upper * std::sqrt(static_cast<double>(batches)) * (1 + 4 * unit_roundoff)}};
      LossLaw removed{seen};
      LossLaw added{seen, Mixing::added};
      out_.has_choice = true;
      if (tilted_mean({{sum, sum, true, 1}}) > tilted_mean({{removed, removed, true, 1}})) removed = added = sum;
      return add({upper, removed, false, count_}, {upper, added, false, count_});
    }
    // Who looks at the first batch only has a record in it with probability size / records.
    const double rate = std::nextafter(static_cast<double>(size) / static_cast<double>(records), 0.0);
    const Directions inner = directions_of(e.event);
    const bool single = inner.removed.size() == 1 && inner.removed.front().count == 1;
    const auto of = [&](const Part& part, Mixing mixing) {
      Part found{part.upper, nothing(), false, product(part.count, count_)};
      if (single && part.lower && part.lower->rate == 1 && part.lower->infinite_mass == 0 && is_symmetric(*part.lower)) {
        found.lower = part.lower;
        found.lower->rate = rate;
        found.lower->mixing = mixing;
      }
      return found;
    };
    for (std::size_t i = 0; i < inner.removed.size(); ++i) add(of(inner.removed[i], Mixing::removed), of(inner.added[i], Mixing::added));
  }
  /// A record takes part in one of the parts: release by release the pair whose curve is the largest of theirs, and from below the part
  /// that is worst at the tilt.
  void operator()(const Event::Parallel& e) {
    const auto parts = undominated(e);
    if (parts.size() == 1) return PartsOf{out_, tilt_}.visit(parts.front(), count_);
    std::vector<Directions> all;
    std::size_t chosen = 0;
    for (const auto& part : parts) {
      all.push_back(directions_of(part));
      out_.symmetric = out_.symmetric && all.back().symmetric;
      if (tilted_mean(all.back().removed) > tilted_mean(all[chosen].removed)) chosen = all.size() - 1;
    }
    out_.has_choice = true;
    // The k-th releases of all parts side by side, as often as the one that occurs least often; parts may run out of releases.
    std::vector<std::size_t> place(all.size(), 0);
    std::vector<std::uint64_t> used(all.size(), 0);
    for (;;) {
      std::uint64_t count = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (place[i] == all[i].removed.size()) continue;
        const std::uint64_t left = all[i].removed[place[i]].count - used[i];
        count = count == 0 ? left : std::min(count, left);
      }
      if (count == 0) return;
      std::vector<LossLaw> removed;
      std::vector<LossLaw> added;
      std::optional<LossLaw> removed_lower = nothing();
      std::optional<LossLaw> added_lower = nothing();
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (place[i] == all[i].removed.size()) continue;
        const Part& one = all[i].removed[place[i]];
        const Part& other = all[i].added[place[i]];
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
    refuse_with_hint(*leaf_, "has no dominating pair here");
  }

 private:
  [[nodiscard]] Directions directions_of(const Event& event) {
    Directions found;
    PartsOf{found, tilt_}.visit(event, 1);
    out_.has_choice = out_.has_choice || found.has_choice;
    return found;
  }
  [[nodiscard]] std::uint64_t product(std::uint64_t inner, std::uint64_t outer) const {
    if (inner > Releases::max_count / outer) refuse(*leaf_, "has more than 2^53 releases");
    return inner * outer;
  }
  static LossLaw largest_of_curves(std::vector<LossLaw> laws) {
    if (laws.size() == 1) return laws.front();
    return LossLaw{MaximumBase{std::make_shared<const std::vector<LossLaw>>(std::move(laws))}};
  }
  /// log of the mean of e^(tilt loss), roughly; it only chooses among lower bounds.
  [[nodiscard]] double tilted_mean(const Parts& parts) const {
    double total = 0;
    for (const auto& part : parts) {
      const LossLaw law = part.lower.value_or(nothing());
      const Cut cut{-60 - 40 * tilt_, -60};
      const auto bounds = range(law, cut);
      const double step = std::max((bounds.largest - bounds.least) / 1000, 1e-12);
      const auto found = cells(law, step, cut);
      std::vector<double> exponents;
      for (const auto& cell : found.cells) {
        const double loss = found.anchor + static_cast<double>(cell.index) * step - std::log1p(-std::min(cell.excess, 0.999));
        exponents.push_back(std::log(cell.mass) + cell.log_scale + tilt_ * loss);
      }
      if (law.infinite_mass > 0) exponents.push_back(std::log(law.infinite_mass) + tilt_ * bounds.largest + 20);
      if (exponents.empty()) continue;
      const double top = *std::max_element(exponents.begin(), exponents.end());
      double sum = 0;
      for (const double exponent : exponents) sum += std::exp(exponent - top);
      total += static_cast<double>(part.count) * (top + std::log(sum));
    }
    return total;
  }

  void add(Part removed, Part added) {
    for (const auto* part : {&removed, &added}) {
      // Cells of a grid are no smaller than 1e-12 of anything; a loss so small has no digits there.
      const auto bounds = range(part->upper, {-60, -60});
      const double width = bounds.largest - bounds.least;
      if (!(width > 1e-14) && !(width == 0 && std::holds_alternative<AtomsBase>(part->upper.base))) {
        refuse_with_hint(*leaf_, "has losses too small for a grid");
      }
    }
    out_.removed.push_back(std::move(removed));
    out_.added.push_back(std::move(added));
  }
  void both(const LossLaw& law) { add({law, law, true, count_}, {law, law, true, count_}); }

  /// Gaussian releases whose multiplier lies between the two, on batches of rate `rate`.
  void gaussian(double least, double most, double rate) {
    const bool same = least == most;
    const LossLaw removed_upper{GaussianBase{least}, Mixing::removed, rate};
    const LossLaw removed_lower{GaussianBase{most}, Mixing::removed, rate};
    if (rate == 1) return add({removed_upper, removed_lower, same, count_}, {removed_upper, removed_lower, same, count_});
    out_.symmetric = false;
    const LossLaw added_upper{GaussianBase{least}, Mixing::added, rate};
    const LossLaw added_lower{GaussianBase{most}, Mixing::added, rate};
    add({removed_upper, removed_lower, same, count_}, {added_upper, added_lower, same, count_});
  }

  /// Fixed size is a theorem under replace-one (event.cpp) for any release, since the record, the one in its place, and the one that
  /// takes its place in the batch are three neighbours; which pair a Poisson batch has is for poisson_pair to say.
  void sampled(const Event& inner, double rate, bool fixed_size) {
    const auto entries = Releases::of(inner).entries();
    // One batch, shared by everything inside. A Gaussian composition is one Gaussian release.
    if (fixed_size && rate < 1 && splits_its_batch(inner)) {
      refuse(*leaf_, "shares one batch of fixed size among parallel parts, for which no theorem is known");
    }
    if (const auto multiplier = gaussian_multiplier(inner)) {
      const double least = multiplier->lower;
      const double most = multiplier->upper;
      if (!fixed_size && rate < 1 && poisson_pair(inner) == PoissonPair::opposite) {
        // Two bounded records may be opposite; each of the two data sets has one of them in the batch or not. The bound on one record is
        // half of the sensitivity.
        const Part part{{GaussianBase{2 * least}, Mixing::opposite, rate},
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
      add({upper, LossLaw{GaussianBase{most}, Mixing::removed, less}, false, count_},
          {upper, LossLaw{GaussianBase{most}, Mixing::added, less}, false, count_});
      return;
    }
    if (rate == 1) return PartsOf{out_, tilt_}.visit(inner, count_);
    const auto* parallel = std::get_if<Event::Parallel>(&entries.front().leaf.node());
    if (entries.size() == 1 && entries.front().count.value() == 1 && parallel != nullptr) {
      // A record takes part in one of them, and joins the batch whatever the others do.
      std::vector<Event> parts;
      for (const auto& part : parallel->events) parts.push_back(poisson_sampled(SamplingRate{rate}, part));
      return PartsOf{out_, tilt_}.visit(surety::parallel(std::move(parts)), count_);
    }
    if (entries.size() != 1 || entries.front().count.value() != 1) {
      refuse_with_hint(*leaf_, "shares one batch among releases that are not all gaussian, whose pair is not known here");
    }
    Directions one;
    PartsOf{one}.visit(inner, 1);
    if (one.removed.size() != 1) refuse(*leaf_, "shares one batch among several releases");
    if (!fixed_size && poisson_pair(inner) == PoissonPair::revealed) return revealed(one, rate);
    Part removed = one.removed.front();
    if (removed.upper.rate != 1 || removed.upper.infinite_mass > 0 || !is_symmetric(removed.upper) ||
        std::holds_alternative<MaximumBase>(removed.upper.base)) {
      refuse_with_hint(*leaf_, "has no dominating pair here");
    }
    out_.symmetric = out_.symmetric && rate == 1;
    removed.count = count_;
    if (fixed_size && rate != 1) {
      // As for gaussian releases.
      removed.upper.mixing = Mixing::symmetric;
      removed.upper.rate = std::nextafter(rate, 1.0);
      if (removed.lower) removed.lower->rate = std::nextafter(rate, 0.0);
      removed.same = false;
      Part added = removed;
      if (added.lower) added.lower->mixing = Mixing::added;
      return add(std::move(removed), std::move(added));
    }
    removed.upper.rate = rate;
    if (removed.lower) removed.lower->rate = rate;
    Part added = removed;
    added.upper.mixing = Mixing::added;
    if (added.lower) added.lower->mixing = Mixing::added;
    add(std::move(removed), std::move(added));
  }

  /// With probability `rate` the pair of the release, else nothing that differs. \pre `one` is a single release.
  void revealed(const Directions& one, double rate) {
    out_.symmetric = out_.symmetric && one.symmetric;
    out_.has_choice = out_.has_choice || one.has_choice;
    const auto of = [&](Part part) {
      if (std::holds_alternative<MaximumBase>(part.upper.base)) refuse_with_hint(*leaf_, "has no dominating pair here");
      part.upper = reveal(part.upper, rate, +1);
      if (part.lower) part.lower = reveal(*part.lower, rate, -1);
      part.same = part.same && part.upper.infinite_mass == 0;
      part.count = count_;
      return part;
    };
    add(of(one.removed.front()), of(one.added.front()));
  }
  /// A larger rate and a larger share at infinite loss dominate, so both are rounded to `side`, where they round at all.
  [[nodiscard]] static LossLaw reveal(LossLaw law, double rate, int side) {
    law.mixing = Mixing::revealed;
    law.rate = rate;
    if (law.infinite_mass == 0) return law;
    const double outward = side > 0 ? infinity : 0.0;
    const double share = law.infinite_mass;
    law.infinite_mass = std::nextafter(rate * share, outward);
    law.rate = rate * (1 - share) / (1 - law.infinite_mass) * (1 + side * 8 * unit_roundoff);
    law.rate = std::min(law.rate, 1.0);
    return law;
  }

  Directions& out_;
  double tilt_;
  const Event* leaf_ = nullptr;
  std::uint64_t count_ = 1;
};

// ---- tuning: an approximate cumulant function. Nothing here is certified, nor needs to be. ----

struct Cumulants {
  double value;
  double mean;
  double variance;
};

/// log of the moment generating function of the composed loss under P, from coarse laws.
class ApproximateCumulants {
 public:
  ApproximateCumulants(const Parts& parts, const Cut& cut) {
    const double points = parts.size() == 1 ? 1000 : std::max(100.0, 100000.0 / static_cast<double>(parts.size()));
    for (const auto& part : parts) {
      const auto bounds = range(part.upper, cut);
      Law law{{}, {}, static_cast<double>(part.count)};
      const double step = std::max((bounds.largest - bounds.least) / points, 1e-300);
      if (std::holds_alternative<GaussianBase>(part.upper.base) && part.upper.mixing != Mixing::opposite) {
        add_gaussian(law, part.upper, cut);
      } else if (step > 1e-300) {
        const auto found = cells(part.upper, step, cut);
        for (const auto& cell : found.cells) {
          law.add(found.anchor + static_cast<double>(cell.index) * step - std::log1p(-std::min(cell.excess, 0.999)),
                  cell.log_scale + std::log(cell.mass));
        }
      } else {
        law.add(bounds.least, 0);  // one outcome
      }
      least_ += law.count * bounds.least;
      largest_ += law.count * bounds.largest;
      laws_.push_back(std::move(law));
    }
  }

  [[nodiscard]] Cumulants at(double s) const {
    Cumulants total{0, 0, 0};
    for (const auto& law : laws_) {
      const auto one = at(law, s);
      total.value += law.count * one.value;
      total.mean += law.count * one.mean;
      total.variance += law.count * one.variance;
    }
    return total;
  }
  [[nodiscard]] Cumulants part(std::size_t i, double s) const { return at(laws_[i], s); }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double largest() const { return largest_; }

 private:
  struct Law {
    std::vector<double> losses;
    std::vector<double> log_masses;
    double count;

    void add(double loss, double log_mass) {
      losses.push_back(loss);
      log_masses.push_back(log_mass);
    }
  };

  /// The trapezoid rule over the Gaussian outcome t, where everything is smooth, converges faster than any power of its step.
  static void add_gaussian(Law& law, const LossLaw& pair, const Cut& cut) {
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
      if (pair.mixing == Mixing::added) {
        law.add(-loss, log_q);
      } else {
        law.add(loss, log_q + loss);
      }
    }
    if (pair.mixing == Mixing::symmetric && rest > 0) law.add(0, std::log(rest));
  }
  static Cumulants at(const Law& law, double s) {
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

  std::vector<Law> laws_;
  double least_ = 0;
  double largest_ = 0;
};

/// What the saddle-point approximation says at one tilt: the epsilon whose saddle it is, and the logarithm of delta there. For an
/// epsilon with another saddle the integrand s -> e^(K(s) - s epsilon) / (s (s + 1)) is larger than needed, no more.
struct Saddle {
  double s = 0;
  double epsilon = 0;
  double log_delta = 0;
};

Saddle saddle_at(const ApproximateCumulants& k, double s) {
  const auto here = k.at(s);
  const double epsilon = here.mean - 1 / s - 1 / (s + 1);
  const double curvature = here.variance + 1 / (s * s) + 1 / ((s + 1) * (s + 1));
  return {s, epsilon, here.value - s * epsilon - std::log(s) - std::log1p(s) - 0.5 * std::log(6.2831853 * curvature)};
}

/// A step times the tilt is at most this, so that the tilt over one step is far from overflow.
constexpr double most_tilt_per_step = 40;
/// The same for the tilts of the ends: log_transform raises it to the 64th power.
constexpr double most_end_tilt_per_step = 8;

/// The saddle of an epsilon or a delta; s between 1e-4 and `most`, at which it stays where it is larger (near the largest loss, where
/// there is an atom, it is infinite).
Saddle find_saddle(const ApproximateCumulants& k, double most, const std::function<bool(const Saddle&)>& beyond) {
  double low = std::log(1e-4);
  double high = std::log(most);
  for (int i = 0; i < 18; ++i) {
    const double mid = 0.5 * (low + high);
    (beyond(saddle_at(k, std::exp(mid))) ? high : low) = mid;
  }
  return saddle_at(k, std::exp(low));
}
double log_alias(double s) { return s * std::log(s) - (s + 1) * std::log1p(s); }

// ---- the composed law ----

/// delta(epsilon) of a composed law on a grid, from a tilted convolution. In units of e^(log_scale - s (loss)).
class ComposedCurve {
 public:
  std::vector<double> plain;     // B_j = sum over i >= j of c_i e^(-(s + 1) (i - j) step)
  std::vector<double> weighted;  // D_j = sum over i >= j of c_i e^(-s (i - j) step) (1 - e^(-(i - j) step))
  long double start = 0;         // loss of entry 0
  long double log_scale = 0;
  Grid grid{};
  double relative = 0;       // relative error of plain and weighted
  double entry_error = 0;    // of each c
  double wrapped_right = 0;  // bounds on the tilted mass outside the window
  double wrapped_left = 0;
  long double faded = 0;          // bound on what the images from the left add to delta: they lie at least the window's length too high
  long double beyond = 0;         // bound on delta's part from beyond the end of the window
  long double log_total = 0;      // log of a bound on the tilted mass
  long double infinite_less = 0;  // bounds on the mass at infinite loss
  long double infinite_more = 0;

  void accumulate(std::vector<double> entries) {
    const double keep_plain = std::exp(-(grid.s + 1) * grid.step);
    const double keep = std::exp(-grid.s * grid.step);
    const double gain = -std::expm1(-grid.step);
    plain = std::move(entries);
    weighted.resize(plain.size());
    double b = 0;
    double d = 0;
    for (std::size_t j = plain.size(); j-- > 0;) {
      d = keep * (d + gain * b);
      b = std::max(plain[j], 0.0) + keep_plain * b;
      weighted[j] = d;
      plain[j] = b;
    }
    relative = 8 * unit_roundoff * (static_cast<double>(plain.size()) + 16) * (1 + 0.125 * (grid.s + 1) * grid.step);
    const double n = static_cast<double>(plain.size());
    sum_plain_ = std::min(n, -1 / std::expm1(-(grid.s + 1) * grid.step));
    sum_weighted_ = grid.s > 0 ? std::min(n, keep * gain * sum_plain_ / -std::expm1(-grid.s * grid.step)) : n;
    alias_ = std::exp(grid.s * std::log(grid.s) - (grid.s + 1) * std::log1p(grid.s) + grid.s * grid.step) * 1.000001;
  }

  [[nodiscard]] long double loss(std::size_t j) const { return start + static_cast<long double>(j) * static_cast<long double>(grid.step); }
  [[nodiscard]] std::size_t size() const { return plain.size(); }

  /// delta at `below` under the loss of entry j, 0 <= below <= step, without what is infinite or outside the window.
  struct Sum {
    long double value;
    long double rounding;
  };
  [[nodiscard]] Sum sum(std::size_t j, double below) const {
    const double lifted = -std::expm1(-below);
    const double value = weighted[j] + lifted * plain[j];
    const double rounding = value * relative + entry_error * (sum_weighted_ + lifted * sum_plain_) * (1 + 1e-9) + underflow;
    const long double here = scale(j);  // may be infinite
    return {value > 0 ? here * static_cast<long double>(value) : 0, here * static_cast<long double>(rounding) * (1 + 1e-12L)};
  }
  /// Bound on what images add to that.
  [[nodiscard]] long double aliasing(std::size_t j) const {
    const auto share = [&](double wrapped) { return wrapped > 0 ? scale(j) * static_cast<long double>(wrapped * alias_) : 0; };
    return (share(wrapped_right) + std::min(share(wrapped_left), faded)) * (1 + 1e-12L);
  }
  [[nodiscard]] long double upper(std::size_t j, double below) const {
    const Sum found = sum(j, below);
    return infinite_more + beyond + (found.value + found.rounding) * (1 + 1e-15L);
  }
  [[nodiscard]] long double lower(std::size_t j, double below) const {
    const Sum found = sum(j, below);
    const long double value = (found.value - found.rounding) * (1 - 1e-15L) - aliasing(j);
    return value > 0 ? infinite_less + value : infinite_less;
  }
  /// Chernoff's bound on delta at `epsilon`, which needs no window: (1 - e^-x) <= alias e^(s x).
  [[nodiscard]] long double chernoff(long double epsilon) const {
    return infinite_more +
           std::exp(log_total + log_scale - static_cast<long double>(grid.s) * epsilon) * static_cast<long double>(alias_) * (1 + 1e-12L);
  }
  /// The epsilon at which that bound is `delta`.
  [[nodiscard]] long double chernoff_epsilon(long double delta) const {
    if (!(infinite_more < delta)) return static_cast<long double>(infinity);
    const long double log_alias = std::log(static_cast<long double>(alias_));
    return (log_total + log_scale + log_alias - std::log(delta - infinite_more)) / static_cast<long double>(grid.s) * (1 + 1e-15L);
  }

 private:
  [[nodiscard]] long double scale(std::size_t j) const { return std::exp(log_scale - static_cast<long double>(grid.s) * loss(j)); }
  double sum_plain_ = 0;
  double sum_weighted_ = 0;
  double alias_ = 0;
};

struct ComposedPair {
  ComposedCurve upper;
  ComposedCurve lower;
  long double loss_error;  // of the losses of all entries
  std::optional<IndexTests> tests{};  // what bounds it from below, where `lower` does not
};

struct Window {
  double least;
  double largest;
  double step;
  std::size_t size;
  double s;
  double right_tilt;  // of the Chernoff bounds
  double left_tilt;
};

struct Side {
  long double loss = 0;  // of entry 0 of the product: all first entries together
  long double magnitude = 0;
  long double log_scale = 0;
  long double scales = 0;  // the sum of their moduli
  long double right = 0;  // log of the Chernoff sums, relative to `loss`
  long double left = 0;
  long double total = 0;   // log of the tilted mass
  long double length = 0;  // index of the last entry

  void take(const TiltedLaw& law, double count, const Window& window) {
    take_place(law, count, window);
    take_weights(law.weights, count, window);
  }
  void take_place(const TiltedLaw& law, double count, const Window& window) {
    const long double times = count;
    const long double step = window.step;
    loss += times * (law.base + static_cast<long double>(law.first) * step);
    magnitude += times * (std::abs(law.base) + std::abs(static_cast<long double>(law.first)) * step);
    log_scale += times * static_cast<long double>(law.log_scale);
    scales += times * std::abs(static_cast<long double>(law.log_scale));
  }
  void take_weights(const std::vector<double>& weights, double count, const Window& window) {
    const long double times = count;
    right += times * static_cast<long double>(log_transform(weights, window.step, window.right_tilt));
    left += times * static_cast<long double>(log_transform(weights, window.step, -window.left_tilt));
    total += times * static_cast<long double>(log_transform(weights, window.step, 0));
    length += times * static_cast<long double>(weights.size() - 1);
  }
};

/// Adds entries that lie a multiple of `size` apart; a share of 2 u of each sum per fold is inside the relative error of the curve.
void fold(std::vector<double>& weights, std::size_t size) {
  for (std::size_t i = size; i < weights.size(); ++i) weights[i % size] += weights[i];
  weights.resize(size, 0.0);
}

/// The entries of a circular product as those of the window, and bounds on what lies outside it.
struct Placed {
  std::vector<double> entries;
  long double start;       // loss of entry 0
  long double end;         // of the first one beyond the window
  long double right;       // tilted mass beyond the ends
  long double left;
  long double faded;       // bound on what the images from the left count for
};

Placed place(const Side& side, std::vector<double> entries, const Window& window) {
  const long double step = window.step;
  const long double span = static_cast<long double>(window.size) * step;
  // The window starts at a whole number of steps above the first entry, never below it.
  const long double length = static_cast<long double>(window.largest) - static_cast<long double>(window.least);
  const long double target = static_cast<long double>(window.least) + std::min(0.0L, (length - span) / 2);
  const long double skipped =
      std::max(0.0L, std::min(std::floor((target - side.loss) / step), std::max(0.0L, side.length + 1 - span / step)));
  const auto rotation = size_of(std::fmod(skipped, static_cast<long double>(window.size)));
  std::rotate(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(rotation), entries.end());
  // Chernoff: the tilted mass at or beyond x is at most e^(right - a (x - loss)).
  const long double ends = skipped + static_cast<long double>(window.size);
  const bool cut_right = side.length >= ends;
  const bool cut_left = skipped > 0;
  const long double log_right = side.right - static_cast<long double>(window.right_tilt) * ends * step;
  const long double log_left = side.left + static_cast<long double>(window.left_tilt) * (skipped - 1) * step;
  return {std::move(entries),
          side.loss + skipped * step,
          side.loss + ends * step,
          cut_right ? std::exp(log_right) * (1 + 1e-12L) : 0,
          cut_left ? std::exp(log_left) * (1 + 1e-12L) : 0,
          cut_left ? std::exp(-static_cast<long double>(window.s) * span) * (1 + 1e-12L) : 0};
}

/// Bounds on the mass at infinite loss.
struct Infinite {
  long double less;
  long double more;
};

ComposedCurve curve_of(const Side& side, std::vector<double> entries, bool is_upper, const Window& window, double entry_error,
                       const Infinite& infinite) {
  auto placed = place(side, std::move(entries), window);
  ComposedCurve out;
  out.grid = {window.step, window.s};
  out.entry_error = entry_error;
  out.log_scale = side.log_scale;
  out.log_total = side.total;
  out.start = placed.start;
  out.wrapped_right = static_cast<double>(std::min(placed.right, 1e300L)) * (1 + 1e-12);
  out.wrapped_left = static_cast<double>(std::min(placed.left, 1e300L)) * (1 + 1e-12);
  out.faded = placed.faded;
  if (is_upper) {
    out.beyond = placed.right * std::exp(side.log_scale - static_cast<long double>(window.s) * placed.end) * (1 + 1e-12L);
  }
  out.infinite_less = infinite.less;
  out.infinite_more = infinite.more;
  out.accumulate(std::move(placed.entries));
  return out;
}

/// P-mass to be counted as infinite loss; all, where no cell holds any.
long double lost_above(const LossCells& law) { return law.cells.empty() ? 1 : law.cut_above; }

ComposedPair compose(const Parts& parts, const Window& window, const Cut& cut) {
  const Grid grid{window.step, window.s};
  const bool one = parts.size() == 1;
  CircularProduct product{one ? 4 : window.size};
  CircularProduct::Result alone{};
  Side up;
  Side down;
  bool has_lower = true;
  long double infinite_less = 0;  // logs of the mass that stays finite
  long double infinite_more = 0;
  for (const auto& part : parts) {
    const double count = static_cast<double>(part.count);
    auto law = cells(part.upper, window.step, cut);
    const double shift = log_of_largest(law, grid);
    SequencePair factor;
    {
      auto tilted = spread(law, grid, shift);
      up.take(tilted, count, window);
      factor.first = std::move(tilted.weights);
    }
    const long double lost = lost_above(law);  // once for each release
    infinite_more += count * std::log1p(-std::min(static_cast<long double>(part.upper.infinite_mass) + lost, 1 - long_unit_roundoff));
    if (part.lower) {
      const auto other = part.same ? LossCells{} : cells(*part.lower, window.step, cut);
      auto tilted = merge(part.same ? law : other, grid, shift);
      if (tilted.weights.empty()) {
        has_lower = false;
        factor.second.assign(1, 0.0);
      } else {
        down.take(tilted, count, window);
        factor.second = std::move(tilted.weights);
      }
      infinite_less += count * std::log1p(-static_cast<long double>(part.lower->infinite_mass));
    } else {
      has_lower = false;
      factor.second.assign(1, 0.0);
    }
    if (one && part.count == 1) {
      // One release needs no transform, and has none of its rounding: only the folding of the indices.
      alone = {std::move(factor.first), std::move(factor.second), 0};
      for (auto* weights : {&alone.first, &alone.second}) fold(*weights, window.size);
    } else if (one) {
      law = {};
      alone = CircularProduct::power(std::move(factor), part.count, window.size);
    } else {
      product.multiply(factor, part.count);
    }
  }
  auto result = one ? std::move(alone) : std::move(product).result();
  const Infinite infinite{std::max(0.0L, -std::expm1(infinite_less) * (1 - 1e-15L)), std::max(0.0L, -std::expm1(infinite_more) * (1 + 1e-15L))};
  const double entry_error = result.error + underflow;
  const long double span = static_cast<long double>(window.size) * static_cast<long double>(window.step);
  ComposedPair pair{curve_of(up, std::move(result.first), true, window, entry_error, infinite),
                    curve_of(down, std::move(result.second), false, window, entry_error, infinite),
                    16 * long_unit_roundoff * (up.magnitude + down.magnitude + span + std::abs(up.loss) + std::abs(down.loss))};
  if (!has_lower) {
    std::fill(pair.lower.plain.begin(), pair.lower.plain.end(), 0.0);
    std::fill(pair.lower.weighted.begin(), pair.lower.weighted.end(), 0.0);
  }
  return pair;
}

/// From so many different laws on, the lower bound is made of tests of the sum of indices, which needs no common grid for isolated atoms, and
/// short laws are convolved with one another before they are transformed.
constexpr std::size_t many = 16;
bool are_many(const Parts& parts) {
  return parts.size() >= many && std::any_of(parts.begin(), parts.end(), [](const Part& part) {
           return !std::holds_alternative<GaussianBase>(part.upper.base);
         });
}

/// Different laws, one after the other, each equally often: they are convolved by definition as long as that is faster than a transform.
class ManyLaws {
 public:
  explicit ManyLaws(const Window& window) : window_{window}, upper_{window.size}, tests_{window.size} {}

  void take(const TiltedLaw& spread, const CountedLaw& counted, std::uint64_t count) {
    const auto times = static_cast<double>(count);
    laws_ += 1;
    up_.take_place(spread, times, window_);
    hit_.take_place(counted.hits, times, window_);
    miss_.take_place(counted.misses, times, window_);
    const double products = static_cast<double>(waiting_.up.size()) * static_cast<double>(spread.weights.size());
    if (count_ != count || products > products_per_point * static_cast<double>(window_.size)) {
      flush();
      count_ = count;
      waiting_ = {spread.weights, counted.hits.weights, counted.misses.weights};
      return;
    }
    waiting_ = {convolved(waiting_.up, spread.weights, +1), convolved(waiting_.hit, counted.hits.weights, -1),
                convolved(waiting_.miss, counted.misses.weights, +1)};
  }

  /// \param has_lower whether the counted laws bound all from below
  [[nodiscard]] ComposedPair composed(const Infinite& infinite, bool has_lower) && {
    flush();
    const long double span = static_cast<long double>(window_.size) * static_cast<long double>(window_.step);
    auto above = std::move(upper_).result();
    ComposedPair pair{curve_of(up_, std::move(above.first), true, window_, above.error + underflow, infinite), ComposedCurve{},
                      16 * long_unit_roundoff * (up_.magnitude + span + std::abs(up_.loss))};
    IndexSums sums;
    sums.infinite = infinite.less;
    if (has_lower) {
      auto below = std::move(tests_).result();
      auto hits = place(hit_, std::move(below.first), window_);
      sums.hits = std::move(hits.entries);
      // The same indices: the window begins at the same one.
      sums.misses = place(miss_, std::move(below.second), window_).entries;
      sums.start = hits.start;
      sums.log_hits = hit_.log_scale;
      sums.log_misses = miss_.log_scale;
      sums.step = window_.step;
      sums.s = window_.s;
      sums.entry_error = below.error + underflow;
      sums.outside_right = hits.right;
      sums.outside_left = hits.left;
      sums.faded = hits.faded;
      sums.doubt = 16 * long_unit_roundoff * (static_cast<long double>(2 * window_.s + 2) * (hit_.magnitude + span + std::abs(hit_.loss)) +
                                     laws_ * (hit_.scales + miss_.scales));
    }
    pair.tests.emplace(std::move(sums));
    return pair;
  }

 private:
  struct Sequences {
    std::vector<double> up;
    std::vector<double> hit;
    std::vector<double> miss;
  };
  /// What a transform and its product cost, in products of numbers for each point.
  static constexpr double products_per_point = 40;

  void flush() {
    if (count_ == 0) return;
    const auto times = static_cast<double>(count_);
    up_.take_weights(waiting_.up, times, window_);
    hit_.take_weights(waiting_.hit, times, window_);
    miss_.take_weights(waiting_.miss, times, window_);
    upper_.multiply({std::move(waiting_.up), {}}, count_);
    tests_.multiply({std::move(waiting_.hit), std::move(waiting_.miss)}, count_);
    count_ = 0;
  }

  Window window_;
  CircularProduct upper_;
  CircularProduct tests_;
  Side up_;
  Side hit_;
  Side miss_;
  Sequences waiting_;
  std::uint64_t count_ = 0;  // of what waits
  long double laws_ = 1;
};

ComposedPair compose_many(const Parts& parts, const Window& window, const Cut& cut) {
  const Grid grid{window.step, window.s};
  std::vector<const Part*> order;
  for (const auto& part : parts) order.push_back(&part);
  std::stable_sort(order.begin(), order.end(), [](const Part* x, const Part* y) { return x->count < y->count; });
  const bool has_lower = std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.lower.has_value(); });
  ManyLaws laws{window};
  long double infinite_less = 0;  // logs of the mass that stays finite
  long double infinite_more = 0;
  for (const auto* part : order) {
    const auto count = static_cast<long double>(part->count);
    const auto law = cells(part->upper, window.step, cut);
    infinite_more += count * std::log1p(-std::min(static_cast<long double>(part->upper.infinite_mass) + lost_above(law), 1 - long_unit_roundoff));
    const auto other = !has_lower || part->same ? LossCells{} : cells(*part->lower, window.step, cut);
    const auto& below = !has_lower || part->same ? law : other;
    if (has_lower) infinite_less += count * std::log1p(-static_cast<long double>(part->lower->infinite_mass));
    laws.take(spread(law, grid, log_of_largest(law, grid)), counted(below, grid, log_of_largest(below, grid)), part->count);
  }
  return std::move(laws).composed(
      {std::max(0.0L, -std::expm1(infinite_less) * (1 - 1e-15L)), std::max(0.0L, -std::expm1(infinite_more) * (1 + 1e-15L))}, has_lower);
}

// ---- answers ----

/// The smallest entry at which `holds`, assuming that it holds from some entry on; size() when at none.
template <class Holds>
std::size_t first_where(std::size_t size, Holds holds) {
  std::size_t low = 0;
  std::size_t high = size;
  while (low < high) {
    const std::size_t mid = low + (high - low) / 2;
    if (holds(mid)) {
      high = mid;
    } else {
      low = mid + 1;
    }
  }
  return low;
}

Enclosure epsilon_of(const ComposedPair& pair, double target) {
  const long double delta = target;
  const double step = pair.upper.grid.step;
  double upper = infinity;
  {
    const auto& curve = pair.upper;
    const std::size_t j = first_where(curve.size(), [&](std::size_t i) { return curve.upper(i, 0) <= delta; });
    if (j < curve.size()) {
      double good = 0;  // below entry j by this much
      double bad = step;
      for (int i = 0; j > 0 && i < 50; ++i) {
        const double mid = 0.5 * (good + bad);
        (curve.upper(j, mid) <= delta ? good : bad) = mid;
      }
      upper = std::max(0.0, round_up(curve.loss(j) - static_cast<long double>(good) + pair.loss_error));
    }
    const long double simple = curve.chernoff_epsilon(delta);
    if (simple > 0) upper = std::min(upper, round_up(simple + pair.loss_error));
  }
  double lower = 0;
  if (pair.tests) {
    const long double proved = pair.tests->epsilon(target);
    lower = std::isinf(proved) ? infinity : std::max(0.0, round_down(proved));
  } else {
    const auto& curve = pair.lower;
    const std::size_t j = first_where(curve.size(), [&](std::size_t i) { return !(curve.lower(i, 0) > delta); });
    if (j > 0) {
      long double found = curve.loss(j - 1);
      if (j < curve.size()) {
        double good = step;
        double bad = 0;
        for (int i = 0; i < 50; ++i) {
          const double mid = 0.5 * (good + bad);
          (curve.lower(j, mid) > delta ? good : bad) = mid;
        }
        if (good < step) found = curve.loss(j) - static_cast<long double>(good);
      }
      lower = std::max(0.0, round_down(found - pair.loss_error));
    }
  }
  return {std::min(lower, upper), upper};
}

Enclosure delta_of(const ComposedPair& pair, double epsilon) {
  // The first entry with a loss above, and how far epsilon lies below it.
  const auto bound = [&](const ComposedCurve& curve, long double at, bool up) -> long double {
    const std::size_t j = first_where(curve.size(), [&](std::size_t i) { return curve.loss(i) > at; });
    if (up && (j == curve.size() || j == 0)) return std::min(1.0L, curve.chernoff(at));
    if (j == curve.size()) return curve.infinite_less;
    const double below = static_cast<double>(curve.loss(j) - at);
    if (j == 0 && below > curve.grid.step) return curve.lower(0, 0);
    return up ? curve.upper(j, std::min(below * (1 + 4 * unit_roundoff), curve.grid.step)) : curve.lower(j, std::max(0.0, below * (1 - 4 * unit_roundoff)));
  };
  const long double at = epsilon;
  const double upper = std::min(1.0, round_up(bound(pair.upper, at - pair.loss_error, true)));
  const double lower =
      std::max(0.0, round_down(pair.tests ? pair.tests->delta(epsilon) : bound(pair.lower, at + pair.loss_error, false)));
  return {std::min(lower, upper), upper};
}

/// The largest loss that the parts can add up to; infinity where it is unbounded.
Enclosure largest_of(const Parts& parts) {
  double lower = 0;
  double upper = 0;
  bool is_unbounded = false;
  const double rounding = 4 * unit_roundoff * static_cast<double>(parts.size() + 2);
  for (const auto& part : parts) {
    const double count = static_cast<double>(part.count);
    const auto most = largest_loss(part.upper);
    upper += most ? count * most->upper * (1 + rounding) : infinity;
    if (!part.lower) continue;
    const auto least = largest_loss(*part.lower);
    is_unbounded = is_unbounded || !least;
    lower += least ? count * least->lower * (1 - rounding) : 0;
  }
  // A finite sum beyond the range of double is at least its largest number.
  lower = is_unbounded ? infinity : std::min(lower, std::numeric_limits<double>::max());
  return {std::min(lower, upper), upper};
}

/// Whether both are Gaussian pairs whose multipliers are within a relative `tolerance` and that are alike in all else.
bool alike(const LossLaw& x, const LossLaw& y, double tolerance) {
  const auto* a = std::get_if<GaussianBase>(&x.base);
  const auto* b = std::get_if<GaussianBase>(&y.base);
  return a != nullptr && b != nullptr && x.mixing == y.mixing && std::abs(a->multiplier - b->multiplier) <= tolerance * a->multiplier &&
         x.rate == y.rate && x.infinite_mass == y.infinite_mass;
}

struct Question {
  std::optional<double> epsilon;  // one of the two
  std::optional<double> delta;
};

/// One composition of pairs, ready to be computed at any step, and what of its enclosure counts for the answer.
struct Task {
  Parts parts;
  bool gives_upper = true;
  bool gives_lower = true;
  double wanted = 0;  // the width aimed at, or for one end alone the error
  Cut cut{};
  Saddle saddle{};
  double slope = 0;         // of -log delta by epsilon, about
  double second_order = 0;  // the width is about this times step^2
  double needed = 0;        // the step that follows from it
  double coarse = 0;        // the largest step at which a law is still seen
  double distance = 0;      // of atoms, 0 where there are none
  // The window. Losses below `epsilon` only need to keep clear of those above when they wrap around.
  double least = 0;
  double largest = 0;
  double clear = 0;          // the span at which they are
  double support_least = 0;  // of the composed loss
  double support_largest = 0;
  double right_tilt = 0;
  double left_tilt = 0;
  double cell_range = 0;   // the longest range of a single law
  double most = infinity;  // the largest loss
  Enclosure answer{0, infinity};
  double width = infinity;
  double step = 0;
  bool cheap = true;  // the last run was so short that more of them cost little
  bool whole_window = false;
  bool follows_step = false;  // a law is itself a bound that the grid makes
  bool first_order = false;   // a law has atoms that fit no grid
};

double count_of(const Parts& parts) {
  double total = 0;
  for (const auto& part : parts) total += static_cast<double>(part.count);
  return total;
}

/// The share of a law's mass that is not in atoms, and so spread and merged.
double continuous_share(const LossLaw& law) {
  if (const auto* laplace = std::get_if<LaplaceBase>(&law.base)) return -0.5 * std::expm1(-1 / laplace->scale);
  if (const auto* atoms = std::get_if<AtomsBase>(&law.base)) return atoms->atoms.size() > 3 ? 1 : 0;
  return 1;
}

bool is_lattice(const LossLaw& law) {
  return std::holds_alternative<DiscreteGaussianBase>(law.base) || std::holds_alternative<DiscreteLaplaceBase>(law.base);
}

/// The distance that the grid step should divide; nothing where the atoms fit no grid, or lie so close that they are merged like a density.
std::optional<double> distance_for_grid(const LossLaw& law, double needed) {
  if (std::holds_alternative<BoundedRangeBase>(law.base) || std::holds_alternative<MaximumBase>(law.base)) return std::nullopt;
  if (const auto* atoms = std::get_if<AtomsBase>(&law.base); atoms != nullptr && atoms->atoms.size() > 3) return std::nullopt;
  const auto distance = atom_distance(law);
  if (is_lattice(law) && distance && (law.rate != 1 || *distance < 0.25 * needed)) return std::nullopt;
  return distance;
}

/// Chooses the tilt, and the window: the shortest for which Chernoff's bounds leave a small share of delta outside.
void choose_window(Task& task, const ApproximateCumulants& k, double step, const Question& question) {
  const double s_best = task.saddle.s;
  task.slope = s_best;
  const double epsilon = task.saddle.epsilon;
  const double log_delta = task.saddle.log_delta;
  // Whoever asks for delta wants its digits, also where they make little of epsilon.
  const double log_tolerance = std::log(0.03 * std::min(1.0, s_best * task.wanted)) - (question.epsilon ? 5 : 0);
  // Between two atoms Chernoff's bound may be far above delta.
  const double gap = std::min(s_best * task.distance, 60.0);
  task.cut.log_above = std::max(task.cut.log_above, log_delta - std::log(count_of(task.parts)) + log_tolerance - gap - 3);
  // How far the tilted mass may be above the smallest possible, so that its rounding is still small.
  const auto allowed = [&](double s) { return log_tolerance + 25 - std::log1p(1 / (s * step)); };
  const auto waste = [&](double s, const Cumulants& here) { return here.value + log_alias(s) - s * epsilon - log_delta; };
  double s = s_best;
  if (s_best * task.wanted > 1) {
    // Next to the largest loss: the grid cannot follow so steep a tilt, and need not.
    double low = std::log(1e-4);
    double high = std::log(s_best);
    for (int i = 0; i < 18; ++i) {
      const double mid = 0.5 * (low + high);
      (waste(std::exp(mid), k.at(std::exp(mid))) <= allowed(std::exp(mid)) ? high : low) = mid;
    }
    s = std::exp(high);
  }
  const auto here = k.at(s);
  const double deviation = std::sqrt(here.variance) + 4 * std::min(task.wanted, 1.0);
  const double quiet = std::max(waste(s, here), 1.0) - log_tolerance + gap + 1;
  task.saddle.s = s;
  task.largest = infinity;
  task.least = -infinity;
  for (double factor = 1; factor < 16; factor *= 1.25) {
    const double a = factor / deviation;
    const double end = (k.at(s + a).value - here.value + quiet) / a;
    if (end < task.largest) {
      task.largest = end;
      task.right_tilt = a;
    }
    const double begin = -(k.at(s - a).value - here.value + quiet) / a;
    if (begin > task.least) {
      task.least = begin;
      task.left_tilt = a;
    }
  }
  task.clear = (1 - log_tolerance - log_delta) / s;
}

Task prepare(Task task, const Question& question) {
  const auto& parts = task.parts;
  const double log_count = std::log(count_of(parts));
  double log_delta = question.delta ? std::log(*question.delta) : -40;
  for (int attempt = 0;; ++attempt) {
    task.cut = {log_delta - log_count - 22, -45 - log_count};
    const ApproximateCumulants k{parts, task.cut};
    task.saddle = find_saddle(k, std::clamp(20 / task.wanted, 1.0, 1e7), [&](const Saddle& at) {
      if (question.delta) return at.log_delta < log_delta;
      return at.epsilon > *question.epsilon || at.log_delta < -1500;
    });
    if (question.epsilon) {
      task.saddle.log_delta += task.saddle.s * (task.saddle.epsilon - *question.epsilon);
      task.saddle.epsilon = *question.epsilon;
      if (task.saddle.log_delta < log_delta && attempt < 12) {
        log_delta = std::max(1.5 * task.saddle.log_delta - 10, -11000.0);
        continue;
      }
    } else {
      task.saddle.epsilon += (task.saddle.log_delta - log_delta) / task.saddle.s;
      task.saddle.log_delta = log_delta;
    }
    task.saddle.epsilon = std::min(task.saddle.epsilon, k.largest());
    task.support_least = k.least();
    task.support_largest = k.largest();
    const auto needed_step = [&](double continuous) {
      task.second_order = std::max(continuous, 1e-9) * (task.saddle.s + 1) / (task.gives_upper && task.gives_lower ? 6 : 12);
      return std::sqrt(0.85 * task.wanted / task.second_order);
    };
    double continuous = 0;
    for (const auto& part : parts) {
      const auto bounds = range(part.upper, task.cut);
      task.cell_range = std::max(task.cell_range, bounds.largest - bounds.least);
      task.follows_step = task.follows_step || std::holds_alternative<MaximumBase>(part.upper.base);
      continuous += static_cast<double>(part.count) * continuous_share(part.upper);
    }
    task.needed = needed_step(continuous);
    double isolated = 0;
    if (are_many(parts)) {
      // Their atoms are spread and counted like all else.
      task.needed = needed_step(count_of(parts));
    }
    for (const auto& part : parts) {
      if (are_many(parts)) break;
      const double count = static_cast<double>(part.count);
      const auto distance = distance_for_grid(part.upper, task.needed);
      if (!distance) {
        task.first_order = task.first_order || is_lattice(part.upper);
        continue;
      }
      // Atoms on grid points are exact.
      if (!std::holds_alternative<LaplaceBase>(part.upper.base)) continuous -= count * continuous_share(part.upper);
      if (count * *distance > isolated) {
        isolated = count * *distance;
        task.distance = *distance;
      }
    }
    if (!are_many(parts)) task.needed = needed_step(continuous);
    // At least 50 cells for a law, unless its atoms are all that counts.
    task.coarse = task.distance > 0 && task.distance < task.needed ? task.distance : std::max(task.cell_range / 50, 1e-12);
    if (task.cell_range == 0) task.coarse = task.needed;  // outcomes without a spread, however far from 0
    choose_window(task, k, std::min(task.needed, task.coarse), question);
    task.cell_range = 0;
    for (const auto& part : parts) {
      const auto bounds = range(part.upper, task.cut);
      task.cell_range = std::max(task.cell_range, bounds.largest - bounds.least);
    }
    return task;
  }
}

class Run {
 public:
  Run(const PrivacyLoss& accountant, const Question& question) : accountant_{accountant}, question_{question} {}

  /// The enclosure of one composition at a step of at most `step`; the step used is left in the task.
  [[nodiscard]] Enclosure operator()(Task& task, double step) const {
    const auto pair = composed(task, step);
    auto found = question_.delta ? epsilon_of(pair, *question_.delta) : delta_of(pair, *question_.epsilon);
    if (question_.delta && found.upper > task.most) found = {std::min(found.lower, task.most), task.most};
    if (question_.delta && static_cast<long double>(task.gives_lower ? found.lower : found.upper) <= pair.upper.start) {
      task.whole_window = true;  // the guess where epsilon lies was wrong: all of the law is looked at from now on
    }
    return found;
  }

  /// The width of an enclosure in units of epsilon.
  [[nodiscard]] double width(const Task& task, const Enclosure& found) const {
    if (question_.delta) return found.width();
    if (found.upper <= found.lower || found.upper < 1e-300) return 0;
    // Next to a largest loss delta may be far from known where epsilon is known well; where that costs little, it is looked at too.
    return std::log(found.upper / found.lower) * (task.cheap ? std::max(1 / task.slope, 1e3 * task.wanted) : 1 / task.slope);
  }

 private:
  [[nodiscard]] ComposedPair composed(Task& task, double step) const {
    step = std::min(step, most_tilt_per_step / task.saddle.s);
    Window window{0, 0, step, 4, task.saddle.s, task.right_tilt, task.left_tilt};
    if (task.distance > 0) {
      // The cells between two atoms are merged in pairs.
      const double pairs = std::ceil(task.distance / step / 2);
      window.step = step < task.distance ? task.distance / (2 * pairs) : task.distance;
    }
    // A law may reach two steps beyond its range at either end.
    const double reach = 2 * count_of(task.parts) * window.step;
    window.least = std::max(task.least, task.support_least - reach);
    window.largest = std::min(task.largest, task.support_largest + reach);
    const double steepest = most_end_tilt_per_step / window.step;
    if (task.right_tilt > steepest) {
      window.right_tilt = steepest;
      window.largest = task.support_largest + reach;
    }
    if (task.left_tilt > steepest) {
      window.left_tilt = steepest;
      window.least = task.support_least - reach;
    }
    if (!task.whole_window) {
      const double off = task.second_order * window.step * window.step;  // by which the step moves either bound
      const double seen = std::max(task.answer.lower > 0 ? task.answer.lower - off : 0.0, task.saddle.epsilon - off - 1 / task.saddle.s);
      const double from = question_.epsilon ? *question_.epsilon : seen;
      window.least = std::max(window.least, std::min(std::max(from, 0.0) - 8 * window.step, window.largest - task.clear));
    }
    keep_within_reach(window, task, reach);
    const double points = (window.largest - window.least) / window.step + 8;
    const double cells = task.cell_range / window.step + 8;
    if (!(points < 0x1p40 && cells < 0x1p40)) refuse_memory(std::max(points, cells) * 88);
    // Chernoff's bound at the end has room: a window slightly too long for a power of two is cut instead. The end of the support has none.
    const bool has_room = window.largest < task.support_largest + reach;
    const double room = has_room ? std::min(0.1 * points, 1 / (window.right_tilt * window.step)) : 0;
    window.size = std::bit_ceil(size_of(points - room) + 16);
    // The cells of the only law are gone when it is transformed; of several, the product waits while the next one is made.
    const bool one = task.parts.size() == 1;
    const double transformed = static_cast<double>(CircularProduct::bytes(window.size, one));
    double bytes = one ? std::max(transformed + cells * 16, cells * 120) : transformed + cells * 120;
    // Two products, and what is convolved before: at most twice as many points as a transform takes.
    if (are_many(task.parts)) bytes += transformed + std::max(static_cast<double>(window.size), cells) * 48;
    if (bytes > static_cast<double>(accountant_.memory)) refuse_memory(bytes);
    task.step = window.step;
    task.cheap = window.size < (std::size_t{1} << 16);
    auto pair = are_many(task.parts) ? compose_many(task.parts, window, task.cut) : compose(task.parts, window, task.cut);
    for (const auto* curve : {&pair.upper, pair.tests ? &pair.upper : &pair.lower}) {
      const long double all =
          curve->log_scale + curve->log_total + curve->wrapped_right + curve->wrapped_left + curve->beyond + curve->entry_error;
      if (std::isnan(all) || std::isnan(curve->plain.front()))
        throw Error{ErrorCode::unsupported, "privacy-loss: its losses are out of range"};
    }
    return pair;
  }

  /// The guess where the window lies may miss the law, where nearly all mass is one atom: then it is moved to the law's near end, as long
  /// as it was meant to be.
  static void keep_within_reach(Window& window, const Task& task, double reach) {
    const double first = task.support_least - reach;
    const double last = task.support_largest + reach;
    const double length = std::max(task.largest - task.least, 16 * window.step);
    if (window.largest <= first) window = moved(window, first, first + length);
    if (window.least >= window.largest) window = moved(window, std::min(window.largest, last) - length, std::min(window.largest, last));
  }
  static Window moved(Window window, double least, double largest) {
    window.least = least;
    window.largest = largest;
    return window;
  }
  [[noreturn]] void refuse_memory(double bytes) const {
    throw Error{ErrorCode::memory, fmt::format("an answer of width {} needs about {:.3g} bytes, more than the {} allowed",
                                               accountant_.width, bytes, accountant_.memory)};
  }
  const PrivacyLoss& accountant_;
  const Question& question_;
};

/// Gives each bounded range the concrete pair that is best at tilt s; at s = 0 it keeps the symmetric one.
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

/// The compositions to be computed. Where the upper and the lower bound come from different laws, they are two tasks: each has its own
/// tilt, window and step.
class Tasks {
 public:
  Tasks(const Event& event, const Question& question, double width, bool upper_only)
      : event_{event}, question_{question}, width_{width} {
    PartsOf{directions_}.visit(event, 1);
    for_each_direction(directions_, [&](const Parts& parts) {
      if (!upper_only && one_limit(parts)) return add(all_, parts, true, true, width);
      Parts upper;
      for (const auto& part : parts) upper.push_back({part.upper, std::nullopt, false, part.count});
      const bool known = std::any_of(uppers_.begin(), uppers_.end(), [&](const Parts& other) {
        return std::equal(other.begin(), other.end(), upper.begin(), upper.end(),
                          [](const Part& x, const Part& y) { return x.count == y.count && alike(x.upper, y.upper, 0); });
      });
      if (known) return;
      uppers_.push_back(upper);
      add(all_, std::move(upper), true, false, width / 4);
    });
    sort(all_);
    if (upper_only) return;
    if (!all_.empty()) tilt_ = all_.front().slope;
    for (auto& task : lower(tilt_)) all_.push_back(std::move(task));
    sort(all_);
  }

  [[nodiscard]] std::vector<Task>& all() { return all_; }
  /// The tilt at which the lower laws were chosen, and whether there was a choice.
  [[nodiscard]] double tilt() const { return tilt_; }
  [[nodiscard]] bool has_choice() const { return directions_.has_choice; }

  /// The tasks that bound the answer from below alone, with the lower laws that are best at `tilt`, roughly. Any choice is sound.
  [[nodiscard]] std::vector<Task> lower(double tilt) const {
    Directions found;
    if (directions_.has_choice) PartsOf{found, tilt}.visit(event_, 1);
    std::vector<Task> tasks;
    for_each_direction(directions_.has_choice ? found : directions_, [&](Parts parts) {
      if (one_limit(parts)) return;
      choose_two_points(parts, tilt);
      Parts concrete;
      for (const auto& part : parts) {
        const LossLaw law = part.lower.value_or(nothing());
        concrete.push_back({law, law, true, part.count});
      }
      add(tasks, std::move(concrete), false, true, width_ / 10);
    });
    return tasks;
  }

 private:
  template <class Do>
  static void for_each_direction(const Directions& directions, Do act) {
    act(directions.removed);
    if (!directions.symmetric) act(directions.added);
  }
  static bool one_limit(const Parts& parts) {
    return std::all_of(parts.begin(), parts.end(),
                       [](const Part& part) { return part.same || (part.lower && alike(part.upper, *part.lower, 1e-12)); });
  }
  void add(std::vector<Task>& tasks, Parts parts, bool gives_upper, bool gives_lower, double wanted) const {
    // No finite loss exceeds epsilon: that direction costs nothing.
    const double most = largest_of(parts).upper;
    if (most == 0 || (question_.epsilon && *question_.epsilon >= most)) return;
    Task task;
    task.most = most;
    task.parts = std::move(parts);
    task.gives_upper = gives_upper;
    task.gives_lower = gives_lower;
    task.wanted = wanted;
    tasks.push_back(prepare(std::move(task), question_));
  }
  void sort(std::vector<Task>& tasks) const {
    const auto cost = [&](const Task& task) { return question_.delta ? task.saddle.epsilon : task.saddle.log_delta; };
    std::stable_sort(tasks.begin(), tasks.end(), [&](const Task& x, const Task& y) { return cost(x) > cost(y); });
  }

  const Event& event_;
  const Question& question_;
  double width_;
  Directions directions_;
  std::vector<Parts> uppers_;
  std::vector<Task> all_;
  double tilt_ = 1;
};

/// The larger of both directions, at either end.
struct Largest {
  Enclosure upper{0, 0};
  Enclosure lower{0, 0};

  void take(const Task& task) {
    if (task.gives_upper) upper = {std::max(upper.lower, task.answer.lower), std::max(upper.upper, task.answer.upper)};
    if (task.gives_lower) lower = {std::max(lower.lower, task.answer.lower), std::max(lower.upper, task.answer.upper)};
  }
  /// Nothing that a narrower enclosure could say would count.
  [[nodiscard]] bool outweighs(const Task& task) const {
    return (!task.gives_upper || task.answer.upper <= upper.lower) && (!task.gives_lower || task.answer.upper <= lower.lower);
  }
  [[nodiscard]] Enclosure answer() const { return {std::min(lower.lower, upper.upper), upper.upper}; }
};

/// Runs a task at finer and finer steps until it is as narrow as wanted or no longer counts beside `largest`.
void refine(Task& task, const Run& run, const Largest& largest, const Question& question) {
  // The width grows with the square of the step. A coarse look says how large it is, and whether the direction matters.
  const double needed = task.needed;
  int last_gain = 0;
  bool hopeless = false;
  bool still = false;
  const auto& other = task.gives_upper ? largest.upper : largest.lower;
  double first = 10 * needed;
  if (question.delta && other.lower > task.saddle.epsilon) {
    first = std::max(needed, 0.7 * std::sqrt((other.lower - task.saddle.epsilon) / task.second_order));
  }
  task.answer = run(task, std::min(first, task.coarse));
  task.width = run.width(task, task.answer);
  for (int attempt = 0; attempt < 12 && !largest.outweighs(task); ++attempt) {
    // At a step that should do, one that does not help meets rounding.
    const double before = task.width;
    if (before <= task.wanted && (!task.follows_step || still)) break;
    if (!task.cheap && ((attempt > 3 && attempt > last_gain + 1) || (hopeless && task.step < std::min(needed, 1 / task.slope)))) break;
    double factor = std::isfinite(before) ? std::sqrt(0.85 * task.wanted / before) : 0.25;
    if (task.gives_upper != task.gives_lower && attempt == 0) factor = std::min(0.5, needed / task.step);
    if (task.follows_step) factor = 0.5;
    // Where the width does not follow its square the step is already fine enough for a good guess to be impossible.
    const double least = task.step < needed ? 0.4 : std::min(0.9, std::max(0.05, 0.95 * needed / task.step));
    const double old_step = task.step;
    const auto old = task.answer;
    Enclosure found{0, 0};
    try {
      found = run(task, task.step * std::clamp(factor, least, 0.9));
    } catch (const Error& error) {
      // Of delta more digits were wanted than there is memory for.
      if (error.code() != ErrorCode::memory || !question.epsilon || !(std::log(old.upper / old.lower) <= task.wanted * task.slope)) throw;
      break;
    }
    task.answer = {std::max(old.lower, found.lower), std::min(old.upper, found.upper)};
    task.width = run.width(task, task.answer);
    if (task.gives_upper != task.gives_lower) {
      // One end alone: its error falls with the square of the step, so what it moved says what is left.
      const double moved =
          task.gives_upper ? run.width(task, {task.answer.upper, old.upper}) : run.width(task, {old.lower, task.answer.lower});
      task.width = moved / std::max(old_step * old_step / (task.step * task.step) - 1, 0.2);
    }
    // One step may by chance suit the kinks of a curve that the grid makes, two hardly do.
    still = before <= task.wanted && task.width <= task.wanted;
    hopeless = !(task.width < 0.9 * before) && !task.follows_step && !task.first_order;
    if (!hopeless) last_gain = attempt;
  }
}

/// Raises the lower end by the lower laws that are best at other tilts, while it rises.
void try_other_choices(const Tasks& tasks, const Run& run, Largest& largest) {
  double best = tasks.tilt();
  for (const double factor : {0.0, 4.0, 0.25, 2.0, 0.5, 1.4, 0.7}) {
    for (int i = 0; i < 4; ++i) {
      double found = 0;
      for (auto& task : tasks.lower(best * factor)) {
        try {
          found = std::max(found, run(task, std::min(task.needed, task.coarse)).lower);
        } catch (const Error& error) {
          if (error.code() != ErrorCode::memory) throw;
        }
      }
      if (!(found > largest.lower.lower)) break;
      largest.lower = {found, std::max(found, largest.lower.upper)};
      if (factor == 0) break;
      best *= factor;
    }
  }
}

Enclosure answer(const PrivacyLoss& accountant, const Event& event, const Question& question) {
  if (!(accountant.width > 0))
    throw Error{ErrorCode::invalid_argument, fmt::format("width is {}, must be greater than 0", accountant.width)};
  Tasks tasks{event, question, accountant.width, accountant.upper_only};
  const Run run{accountant, question};
  Largest largest;
  for (auto& task : tasks.all()) {
    try {
      if (accountant.step > 0) {
        task.answer = run(task, accountant.step);
        if (task.whole_window) task.answer = run(task, accountant.step);
      } else {
        refine(task, run, largest, question);
      }
    } catch (const Error& error) {
      // Without a narrower bound from below there is still an answer.
      if (error.code() != ErrorCode::memory || task.gives_upper) throw;
    }
    largest.take(task);
  }
  if (tasks.has_choice() && accountant.step == 0 && !accountant.upper_only) try_other_choices(tasks, run, largest);
  return largest.answer();
}

/// What is done with a batch that every record is in.
const Event* batch_of_all(const Event& event) {
  if (const auto* poisson = std::get_if<Event::PoissonSampled>(&event.node())) return poisson->rate.value() == 1 ? &poisson->event : nullptr;
  const auto whole = [](const auto* sampled) { return sampled->batches.size() == sampled->batches.records() ? &sampled->event : nullptr; };
  if (const auto* sampled = std::get_if<Event::SampledWithoutReplacement>(&event.node())) return whole(sampled);
  if (const auto* shuffled = std::get_if<Event::Shuffled>(&event.node())) return whole(shuffled);
  // Of an epoch in a known order a record meets one batch.
  if (const auto* deterministic = std::get_if<Event::Deterministic>(&event.node())) return &deterministic->event;
  return nullptr;
}

/// The parts of which one meets the record once and nothing else does; empty for any other event. Each is then accounted for by itself.
std::vector<Event> lone_parts(const Event& event) {
  const auto entries = Releases::of(event).entries();
  if (entries.size() != 1 || entries.front().count.value() != 1) return {};
  if (const auto* whole = batch_of_all(entries.front().leaf)) return lone_parts(*whole);
  const auto* parallel = std::get_if<Event::Parallel>(&entries.front().leaf.node());
  return parallel != nullptr ? undominated(*parallel) : std::vector<Event>{};
}

template <class Ask>
Enclosure largest_among(const std::vector<Event>& parts, Ask ask) {
  Enclosure all{0, 0};
  for (const auto& part : parts) {
    const Enclosure one = ask(part);
    all = {std::max(all.lower, one.lower), std::max(all.upper, one.upper)};
  }
  return all;
}

}  // namespace

Enclosure delta(const PrivacyLoss& accountant, const Event& event, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  if (const auto parts = lone_parts(event); !parts.empty()) {
    return largest_among(parts, [&](const Event& part) { return delta(accountant, part, epsilon); });
  }
  return answer(accountant, event, {epsilon.value(), std::nullopt});
}

GridTerms grid_terms(const Event& event, Epsilon epsilon, const GridShape& shape) {
  const StandardFloatingPoint environment;
  Directions directions;
  PartsOf{directions}.visit(event, 1);
  const double span = shape.largest - shape.least;
  if (!(span / shape.step >= 4)) throw Error{ErrorCode::invalid_argument, fmt::format("window is {} steps, must be at least 4", span / shape.step)};
  const Window window{shape.least, shape.largest,    shape.step,     std::bit_floor(size_of(span / shape.step)),
                      shape.tilt,  shape.right_tilt, shape.left_tilt};
  const auto pair = compose(shape.removed ? directions.removed : directions.added, window, {shape.log_cut, shape.log_cut});
  const auto at = [&](const ComposedCurve& curve) {
    const std::size_t j =
        first_where(curve.size(), [&](std::size_t i) { return curve.loss(i) > static_cast<long double>(epsilon.value()); });
    if (j == 0 || j == curve.size())
      throw Error{ErrorCode::invalid_argument, fmt::format("epsilon is {}, must lie in the window", epsilon)};
    const auto sum = curve.sum(j, static_cast<double>(curve.loss(j) - static_cast<long double>(epsilon.value())));
    return std::array{sum.value, sum.rounding, curve.aliasing(j)};
  };
  const auto up = at(pair.upper);
  const auto down = at(pair.lower);
  return {{up[0], up[1], pair.upper.beyond, pair.upper.infinite_more}, {down[0], down[1], down[2], pair.lower.infinite_less}};
}

Enclosure epsilon(const PrivacyLoss& accountant, const Event& event, Delta delta) {
  const StandardFloatingPoint environment;
  if (const auto parts = lone_parts(event); !parts.empty()) {
    return largest_among(parts, [&](const Event& part) { return epsilon(accountant, part, delta); });
  }
  if (delta.value() == 0) {
    Directions directions;
    PartsOf{directions}.visit(event, 1);
    const auto removed = largest_of(directions.removed);
    const auto added = largest_of(directions.added);
    return {std::max(removed.lower, added.lower), std::max(removed.upper, added.upper)};
  }
  return answer(accountant, event, {std::nullopt, delta.value()});
}

}  // namespace surety::accounting
