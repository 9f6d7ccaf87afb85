#include <surety/accounting/privacy_loss.h>

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

#include <surety/accounting/closed_form.h>
#include <surety/accounting/convolution.h>
#include <surety/accounting/dominating_pair.h>
#include <surety/accounting/parallel_parts.h>
#include <surety/accounting/releases.h>
#include <surety/accounting/shuffled_epoch.h>

namespace surety::accounting {
namespace {

constexpr double unit = 0x1p-53;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr long double long_unit = 0x1p-63L;

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

/// An (epsilon, 0)-differentially private release at its worst: truth with probability e^epsilon / (1 + e^epsilon).
AtomsBase two_atoms(double epsilon) {
  const double miss = std::exp(-epsilon) / (1 + std::exp(-epsilon));
  return {{{-epsilon, miss}, {epsilon, 1 / (1 + std::exp(-epsilon))}}, 0, unit * (8 + 2 * epsilon)};
}

AtomsBase randomized_response(double truth, double categories) {
  const double other = (1 - truth) / (categories - 1);
  const double loss = std::abs(std::log(truth / other));
  const double more = std::max(truth, other);
  const double less = std::min(truth, other);
  const double error = unit * (16 + 4 * loss);
  if (categories == 2) return {{{-loss, less}, {loss, more}}, error, 8 * unit};
  return {{{-loss, less}, {0, other * (categories - 2)}, {loss, more}}, error, 16 * unit};
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
  /// Every bounded-range release is epsilon-differentially private; two outcomes of losses epsilon / 2 and -epsilon / 2 attain range
  /// epsilon.
  void operator()(const Event::Exponential& e) {
    const LossLaw upper{two_atoms(e.epsilon.value())};
    add({upper, LossLaw{two_atoms(e.epsilon.value() / 2)}, false, count_},
        {upper, LossLaw{two_atoms(e.epsilon.value() / 2)}, false, count_});
  }
  void operator()(const Event::KNorm& e) {
    if (e.dimension.value() == 1) return both(LossLaw{LaplaceBase{e.scale.value()}});
    AtomsBase atoms = two_atoms(1 / e.scale.value());
    atoms.loss_error = 2 * unit / e.scale.value();
    atoms.mass_error += 4 * unit / e.scale.value();
    add({LossLaw{atoms}, std::nullopt, false, count_}, {LossLaw{atoms}, std::nullopt, false, count_});
  }
  void operator()(const Event::PoissonSampled& e) { sampled(e.event, e.rate.value(), false); }
  void operator()(const Event::SampledWithoutReplacement& e) {
    sampled(e.event, static_cast<double>(e.batches.size().value()) / static_cast<double>(e.batches.records().value()), true);
  }
  /// One epoch of public batches: a record takes part in one of them, known in advance.
  void operator()(const Event::Deterministic& e) { PartsOf{out_, tilt_}.visit(e.event, count_); }
  /// Whoever knows the permutation sees public batches: no amplification is counted.
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
      const LossLaw sum{GaussianBase{multiplier->upper * std::sqrt(static_cast<double>(batches)) * (1 + 4 * unit)}};
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
    refuse(*leaf_, "has no dominating pair here; try renyi");
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
        refuse(*leaf_, "has losses too small for a grid; try renyi");
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

  void sampled(const Event& inner, double rate, bool fixed_size) {
    const auto entries = Releases::of(inner).entries();
    // One batch, shared by everything inside. A Gaussian composition is one Gaussian release.
    const bool has_parallel = std::any_of(entries.begin(), entries.end(),
                                          [](const auto& entry) { return std::holds_alternative<Event::Parallel>(entry.leaf.node()); });
    if (fixed_size && rate < 1 && has_parallel) {
      // How many of the batch fall into one part tells how many are left for another.
      refuse(*leaf_, "shares one batch of fixed size among parallel parts, for which no theorem is known");
    }
    if (const auto multiplier = gaussian_multiplier(inner)) {
      const double least = multiplier->lower;
      const double most = multiplier->upper;
      if (!fixed_size && rate < 1 && inner.adjacency() == Adjacency::replace_one) {
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
    if (fixed_size) refuse(*leaf_, "has a known pair for gaussian releases only");
    if (rate == 1) return PartsOf{out_, tilt_}.visit(inner, count_);
    const auto* parallel = std::get_if<Event::Parallel>(&entries.front().leaf.node());
    if (entries.size() == 1 && entries.front().count.value() == 1 && parallel != nullptr) {
      // A record takes part in one of them, and joins the batch whatever the others do.
      std::vector<Event> parts;
      for (const auto& part : parallel->events) parts.push_back(poisson_sampled(SamplingRate{rate}, part));
      return PartsOf{out_, tilt_}.visit(surety::parallel(std::move(parts)), count_);
    }
    if (entries.size() != 1 || entries.front().count.value() != 1) {
      refuse(*leaf_, "shares one batch among releases that are not all gaussian, whose pair is not known here; try renyi");
    }
    Directions one;
    PartsOf{one}.visit(inner, 1);
    if (one.removed.size() != 1) refuse(*leaf_, "shares one batch among several releases");
    Part removed = one.removed.front();
    if (removed.upper.rate != 1 || removed.upper.infinite_mass > 0 || !is_symmetric(removed.upper)) {
      refuse(*leaf_, "has no dominating pair here; try renyi");
    }
    out_.symmetric = out_.symmetric && rate == 1;
    removed.count = count_;
    removed.upper.rate = rate;
    if (removed.lower) removed.lower->rate = rate;
    Part added = removed;
    added.upper.mixing = Mixing::added;
    if (added.lower) added.lower->mixing = Mixing::added;
    add(std::move(removed), std::move(added));
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
      const double step = std::max((bounds.largest - bounds.least) / points, 1e-300);
      Law law{{}, {}, static_cast<double>(part.count)};
      if (step > 1e-300) {
        const auto found = cells(part.upper, step, cut);
        for (const auto& cell : found.cells) {
          law.losses.push_back(found.anchor + static_cast<double>(cell.index) * step - std::log1p(-std::min(cell.excess, 0.999)));
          law.log_masses.push_back(cell.log_scale + std::log(cell.mass));
        }
      } else {
        law.losses.push_back(0);
        law.log_masses.push_back(0);
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
  };
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

/// The tilt at which Chernoff's bound delta <= e^(K(s) - s epsilon) s^s / (s + 1)^(s + 1) is tightest, and the bound there.
struct Saddle {
  double s;
  double log_delta;
};

/// A step times the tilt is at most this, so that the tilt over one step is far from overflow.
constexpr double most_tilt_per_step = 40;
/// The same for the tilts of the ends: log_transform raises it to the 64th power.
constexpr double most_end_tilt_per_step = 8;

/// \param excess rises with s and changes its sign at the tilt; s between 1e-4 and `most`, at which it stays where the best one is
/// larger (near the largest loss, where there is an atom, it is infinite).
Saddle find_saddle(const ApproximateCumulants& k, double most, const std::function<double(double, const Cumulants&)>& excess) {
  double low = std::log(1e-4);
  double high = std::log(most);
  for (int i = 0; i < 20; ++i) {
    const double mid = 0.5 * (low + high);
    (excess(std::exp(mid), k.at(std::exp(mid))) < 0 ? low : high) = mid;
  }
  return {std::exp(low), 0};
}
double log_alias(double s) { return s * std::log(s) - (s + 1) * std::log1p(s); }

// ---- one law on the grid, tilted ----

/// Weight i stands for P-mass weight e^(log_scale - s loss) at loss = base + (first + i) step, with exactly these numbers.
struct TiltedLaw {
  std::vector<double> weights;
  long double base = 0;
  std::int64_t first = 0;
  double log_scale = 0;
};

struct Grid {
  double step;
  double s;
};

/// Divides the weights by their sum and keeps that in log_scale; `direction` +1 rounds up and -1 down.
void normalise(TiltedLaw& law, double log_scale, int direction) {
  double sum = 0;
  for (const double w : law.weights) sum += w;
  if (!(sum > 0)) {
    law.log_scale = log_scale;
    return;
  }
  const double shift = std::log(sum);
  law.log_scale = log_scale + shift;
  const double factor = (1 + direction * unit * (8 + 2 * std::abs(log_scale) + 2 * std::abs(shift))) / sum;
  for (double& w : law.weights) w *= factor;
}

/// Relative error of mass * exp(log_scale + s l - shift) over the exact mass, tilted.
double weight_error(const LossCell& cell, double tilt, double shift) {
  return cell.mass_error + unit * (16 + 4 * (std::abs(cell.log_scale) + std::abs(tilt) + std::abs(shift)));
}

/// A law that dominates: each cell's mass is spread to the two ends of the cell, keeping P-mass and Q-mass; what lies below all cells is
/// moved up to the first one.
TiltedLaw spread(const LossCells& law, const Grid& grid, double shift) {
  TiltedLaw out;
  if (law.cells.empty()) return out;
  out.first = law.cells.front().index;
  out.weights.assign(static_cast<std::size_t>(law.cells.back().index - out.first) + 2, 0.0);
  out.base = static_cast<long double>(law.anchor) + static_cast<long double>(law.loss_error);
  const double spread_width = -std::expm1(-grid.step);
  const double up = std::exp(grid.s * grid.step) * (1 + 4 * unit * (1 + grid.s * grid.step));
  const double raise = 2 * grid.s * law.loss_error;
  for (const auto& cell : law.cells) {
    const double tilt = grid.s * (law.anchor + static_cast<double>(cell.index) * grid.step);
    const double weight = cell.mass * std::exp(cell.log_scale + tilt - shift) * (1 + weight_error(cell, tilt, shift) + raise);
    const double share = (cell.excess + cell.excess_error + 2 * law.loss_error) / spread_width * (1 + 8 * unit);
    const double beta = std::clamp(share, 0.0, 1.0);
    const auto at = static_cast<std::size_t>(cell.index - out.first);
    out.weights[at] += weight * (1 - beta) * (1 + 4 * unit);
    out.weights[at + 1] += weight * beta * up * (1 + 4 * unit);
  }
  const double tilt = grid.s * (law.anchor + static_cast<double>(out.first) * grid.step);
  const double log_below = law.cut_below > 0 ? static_cast<double>(std::log(law.cut_below)) : -infinity;
  out.weights[0] += std::exp(log_below + tilt - shift) * 1.0001 * (1 + raise);
  normalise(out, shift, +1);
  return out;
}

/// A law that is dominated: outcomes are merged so that the merged loss falls on a grid point; what finds no partner moves down.
class Merger {
 public:
  Merger(const LossCells& law, const Grid& grid, double shift) : law_{law}, grid_{grid} {
    for (const auto& cell : law.cells) {
      const double tilt = grid.s * (law.anchor + static_cast<double>(cell.index) * grid.step);
      const double weight = cell.mass * std::exp(cell.log_scale + tilt - shift) * (1 - weight_error(cell, tilt, shift));
      if (weight > 0) pieces_.push_back({cell.index, weight, cell.excess - cell.excess_error});
    }
  }

  TiltedLaw merge(double shift) {
    TiltedLaw out;
    if (pieces_.empty()) return out;
    choose_offset();
    for (int n = 0; n < table_size; ++n) {
      const double x = offset_ + (n - table_size / 2) * grid_.step;
      tilts_[static_cast<std::size_t>(n)] = std::exp(grid_.s * x);
      shifts_[static_cast<std::size_t>(n)] = std::expm1(x);
    }
    out.first = pieces_.front().index - 2;
    out.weights.assign(static_cast<std::size_t>(pieces_.back().index - out.first) + 4, 0.0);
    out.base = static_cast<long double>(law_.anchor) + static_cast<long double>(offset_);
    std::size_t j = 0;
    while (j < pieces_.size()) {
      const Piece& piece = pieces_[j];
      // The first grid point above the piece, unless one lies below it by next to nothing.
      std::int64_t k = piece.index + static_cast<std::int64_t>(std::floor((piece.excess - offset_) / grid_.step)) - 1;
      while (lift(piece, k + 1) > 0) ++k;
      if (lift(piece, k) > 0 && lift(piece, k) < 1e-5 * grid_.step) {
        place(out, k, tilted(piece, k));
        ++j;
        continue;
      }
      ++k;
      double need = 0;
      double mass = 0;
      while (j < pieces_.size() && !(lift(pieces_[j], k) > 0)) {
        const double weight = tilted(pieces_[j], k);
        need -= weight * lift(pieces_[j], k);
        mass += weight;
        ++j;
      }
      need *= 1 + 1e-13;
      // A partner across a gap costs more than going down one step.
      const bool far = j < pieces_.size() && static_cast<double>(pieces_[j].index - k) * grid_.step * (grid_.s + 1) > 2;
      if (need > 0 && (j == pieces_.size() || (far && pieces_[j].index - k > 2))) {
        place(out, k - 1, mass * std::exp(-grid_.s * grid_.step) * (1 - 8 * unit * (1 + grid_.s * grid_.step)));
        continue;
      }
      while (need > 0 && j < pieces_.size()) {
        Piece& next = pieces_[j];
        const double weight = tilted(next, k);
        const double each = weight * lift(next, k);
        // A partner on the grid point itself would only be dragged down with the rest.
        if (lift(next, k) < 1e-4 * grid_.step) break;
        if (each > need) {
          const double share = std::min(1.0, need / each * (1 + 8 * unit));
          mass += weight * share * (1 - 4 * unit);
          next.weight *= (1 - share) * (1 - 4 * unit);
          need = 0;
        } else {
          mass += weight;
          need = (need - each) * (1 + 4 * unit) + 4 * unit * need;
          ++j;
        }
      }
      if (need > 0) {
        place(out, k - 1, mass * std::exp(-grid_.s * grid_.step) * (1 - 8 * unit * (1 + grid_.s * grid_.step)));
      } else {
        place(out, k, mass);
      }
    }
    normalise(out, shift, -1);
    return out;
  }

 private:
  struct Piece {
    std::int64_t index;
    double weight;
    double excess;
  };
  static constexpr int table_size = 16;

  /// 1 - e^(grid point k) Q / P of the piece, rounded down: above 0 where its loss lies above the grid point.
  [[nodiscard]] double lift(const Piece& piece, std::int64_t k) const {
    const std::int64_t n = k - piece.index + table_size / 2;
    const double x = offset_ + static_cast<double>(k - piece.index) * grid_.step;
    const double e = n >= 0 && n < table_size ? shifts_[static_cast<std::size_t>(n)] : std::expm1(x);
    return piece.excess - e * (1 - piece.excess) - 16 * unit * (std::abs(e) + std::abs(x) + std::abs(piece.excess));
  }
  [[nodiscard]] double tilted(const Piece& piece, std::int64_t k) const {
    const std::int64_t n = k - piece.index + table_size / 2;
    const double x = offset_ + static_cast<double>(k - piece.index) * grid_.step;
    const double factor = n >= 0 && n < table_size ? tilts_[static_cast<std::size_t>(n)] : std::exp(grid_.s * x);
    return piece.weight * factor * (1 - unit * (8 + 4 * std::abs(grid_.s * x)));
  }
  /// What falls outside the array is dropped, which only lowers the law.
  void place(TiltedLaw& out, std::int64_t k, double weight) const {
    if (k < out.first || k - out.first >= static_cast<std::int64_t>(out.weights.size())) return;
    out.weights[static_cast<std::size_t>(k - out.first)] += weight * (1 - 4 * unit);
  }

  /// Where grid points should lie within the cells: just above most merged losses, or on the atoms.
  void choose_offset() {
    double deepest = 0;
    double total = 0;
    for (const auto& piece : pieces_) {
      deepest = std::max(deepest, -piece.excess);
      total += piece.weight;
    }
    const std::size_t stride = pieces_.size() / 2000 + 1;
    double best = infinity;
    for (int n = 0; n <= 12; ++n) {
      const double candidate = n == 0 ? -2 * deepest - 4 * unit * grid_.step : grid_.step * (0.5 + std::ldexp(0.5, -n));
      double cost = 0;
      for (std::size_t j = 0; j < pieces_.size(); ++j) {
        const auto& piece = pieces_[j];
        const bool heavy = piece.weight > 0.01 * total;
        if (!heavy && j % stride != 0) continue;
        const double position = (piece.excess * (1 + 0.5 * piece.excess) - candidate) / grid_.step;
        const double fraction = position - std::floor(position);
        if (fraction < 1e-5) continue;
        const double gap = j + 1 < pieces_.size() ? static_cast<double>(pieces_[j + 1].index - piece.index) : 1e9;
        cost += (heavy ? 1.0 : static_cast<double>(stride)) * piece.weight *
                std::min((1 - fraction) * std::max(gap, 1.0), 2 / ((grid_.s + 1) * grid_.step));
      }
      if (cost < best) {
        best = cost;
        offset_ = candidate;
      }
    }
  }

  const LossCells& law_;
  Grid grid_;
  std::vector<Piece> pieces_;
  double offset_ = 0;
  std::array<double, table_size> tilts_{};
  std::array<double, table_size> shifts_{};
};

/// An upper bound on log of sum of weight e^(a (loss - base - first step)); a may have either sign.
double log_transform(const TiltedLaw& law, double step, double a) {
  const double n = static_cast<double>(law.weights.size());
  const double top = a > 0 ? a * (n - 1) * step : 0;
  double sum = 0;
  constexpr std::size_t block = 64;
  const double factor = std::exp(a * step);
  for (std::size_t i = 0; i < law.weights.size(); i += block) {
    double part = 0;
    for (std::size_t j = std::min(law.weights.size(), i + block); j-- > i;) part = part * factor + law.weights[j];
    sum += part * std::exp(a * static_cast<double>(i) * step - top);
  }
  const double error = unit * (300 + n / 32 + 4 * std::abs(a) * (n * step + static_cast<double>(block) * step * 64));
  const double log_sum = std::log(sum * (1 + error) + 1e-300);
  return log_sum + top + 4 * unit * (std::abs(log_sum) + std::abs(top) + 1);
}

// ---- the composed law ----

/// delta(epsilon) of a composed law on a grid, from a tilted convolution. In units of e^(log_scale - s (loss)).
class ComposedCurve {
 public:
  std::vector<double> plain;     // B_j = sum over i >= j of c_i e^(-(s + 1) (i - j) step)
  std::vector<double> weighted;  // D_j = sum over i >= j of c_i e^(-s (i - j) step) (1 - e^(-(i - j) step))
  long double start = 0;         // loss of entry 0
  long double log_scale = 0;
  Grid grid{};
  double relative = 0;            // relative error of plain and weighted
  double entry_error = 0;         // of each c
  double wrapped = 0;             // bound on the tilted mass outside the window
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
    relative = 8 * unit * (static_cast<double>(plain.size()) + 16) * (1 + 0.125 * (grid.s + 1) * grid.step);
    const double n = static_cast<double>(plain.size());
    sum_plain_ = std::min(n, -1 / std::expm1(-(grid.s + 1) * grid.step));
    sum_weighted_ = grid.s > 0 ? std::min(n, keep * gain * sum_plain_ / -std::expm1(-grid.s * grid.step)) : n;
    alias_ = std::exp(grid.s * std::log(grid.s) - (grid.s + 1) * std::log1p(grid.s) + grid.s * grid.step) * 1.000001;
  }

  [[nodiscard]] long double loss(std::size_t j) const { return start + static_cast<long double>(j) * static_cast<long double>(grid.step); }
  [[nodiscard]] std::size_t size() const { return plain.size(); }

  /// Bounds on delta at `below` under the loss of entry j, 0 <= below <= step.
  [[nodiscard]] long double upper(std::size_t j, double below) const {
    const double lifted = -std::expm1(-below);
    const double error = entry_error * (sum_weighted_ + lifted * sum_plain_) * (1 + 1e-9);
    const double value = (weighted[j] + lifted * plain[j]) * (1 + relative) + error;
    return infinite_more + beyond + scale(j) * static_cast<long double>(value) * (1 + 1e-15L);
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
  [[nodiscard]] long double lower(std::size_t j, double below) const {
    const double lifted = -std::expm1(-below);
    const double error = entry_error * (sum_weighted_ + lifted * sum_plain_) * (1 + 1e-9) + wrapped * alias_;
    const double value = (weighted[j] + lifted * plain[j]) * (1 - relative) - error;
    return infinite_less + scale(j) * static_cast<long double>(std::max(value, 0.0)) * (1 - 1e-15L);
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
  long double right = 0;  // log of the Chernoff sums, relative to `loss`
  long double left = 0;
  long double total = 0;   // log of the tilted mass
  long double length = 0;  // index of the last entry

  void take(const TiltedLaw& law, double count, const Window& window) {
    const long double times = count;
    const long double step = window.step;
    loss += times * (law.base + static_cast<long double>(law.first) * step);
    magnitude += times * (std::abs(law.base) + std::abs(static_cast<long double>(law.first)) * step);
    log_scale += times * static_cast<long double>(law.log_scale);
    right += times * static_cast<long double>(log_transform(law, window.step, window.right_tilt));
    left += times * static_cast<long double>(log_transform(law, window.step, -window.left_tilt));
    total += times * static_cast<long double>(log_transform(law, window.step, 0));
    length += times * static_cast<long double>(law.weights.size() - 1);
  }
};

/// Adds entries that lie a multiple of `size` apart; a share of 2 u of each sum per fold is inside the relative error of the curve.
void fold(std::vector<double>& weights, std::size_t size) {
  for (std::size_t i = size; i < weights.size(); ++i) weights[i % size] += weights[i];
  weights.resize(size, 0.0);
}

ComposedPair compose(const Parts& parts, const Window& window, const Cut& cut) {
  const Grid grid{window.step, window.s};
  const bool single = parts.size() == 1 && parts.front().count == 1;
  CircularProduct product{single ? 4 : window.size};
  CircularProduct::Result alone{};
  Side up;
  Side down;
  bool has_lower = true;
  long double infinite_less = 0;  // logs of the mass that stays finite
  long double infinite_more = 0;
  for (const auto& part : parts) {
    const double count = static_cast<double>(part.count);
    const auto law = cells(part.upper, window.step, cut);
    double shift = -infinity;
    for (const auto& cell : law.cells) {
      shift = std::max(shift, cell.log_scale + std::log(cell.mass) + grid.s * (law.anchor + static_cast<double>(cell.index) * grid.step));
    }
    SequencePair factor;
    {
      auto tilted = spread(law, grid, shift);
      up.take(tilted, count, window);
      factor.first = std::move(tilted.weights);
    }
    const long double lost = law.cut_above;
    infinite_more += count * std::log1p(-std::min(static_cast<long double>(part.upper.infinite_mass) + lost, 1 - long_unit));
    if (part.lower) {
      const auto other = part.same ? LossCells{} : cells(*part.lower, window.step, cut);
      auto tilted = Merger{part.same ? law : other, grid, shift}.merge(shift);
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
    if (single) {
      // One release needs no transform, and has none of its rounding: only the folding of the indices.
      alone = {std::move(factor.first), std::move(factor.second), 0};
      for (auto* weights : {&alone.first, &alone.second}) fold(*weights, window.size);
    } else {
      product.multiply(factor, part.count);
    }
  }
  auto result = single ? std::move(alone) : std::move(product).result();
  const double entry_error = result.error;
  const long double step = window.step;
  const long double span = static_cast<long double>(window.size) * step;

  const auto curve = [&](const Side& side, std::vector<double> entries, bool is_upper) {
    ComposedCurve out;
    out.grid = grid;
    out.entry_error = entry_error;
    out.log_scale = side.log_scale;
    out.log_total = side.total;
    // The window starts at a whole number of steps above the first entry, never below it.
    const long double target = (static_cast<long double>(window.least) + static_cast<long double>(window.largest) - span) / 2;
    const long double skipped =
        std::max(0.0L, std::min(std::floor((target - side.loss) / step), std::max(0.0L, side.length + 1 - span / step)));
    const auto rotation = static_cast<std::size_t>(std::fmod(skipped, static_cast<long double>(window.size)));
    std::rotate(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(rotation), entries.end());
    out.start = side.loss + skipped * step;
    // Chernoff: the tilted mass at or beyond x is at most e^(right - a (x - loss)).
    const long double ends = skipped + static_cast<long double>(window.size);
    const bool cut_right = side.length >= ends;
    const bool cut_left = skipped > 0;
    const long double log_right = side.right - static_cast<long double>(window.right_tilt) * ends * step;
    const long double log_left = side.left + static_cast<long double>(window.left_tilt) * (skipped - 1) * step;
    const long double right = cut_right ? std::exp(log_right) * (1 + 1e-12L) : 0;
    const long double left = cut_left ? std::exp(log_left) * (1 + 1e-12L) : 0;
    out.wrapped = static_cast<double>(std::min(right + left, 1e300L)) * (1 + 1e-12);
    if (is_upper)
      out.beyond = right * std::exp(side.log_scale - static_cast<long double>(grid.s) * (side.loss + ends * step)) * (1 + 1e-12L);
    out.infinite_less = std::max(0.0L, -std::expm1(infinite_less) * (1 - 1e-15L));
    out.infinite_more = std::max(0.0L, -std::expm1(infinite_more) * (1 + 1e-15L));
    out.accumulate(std::move(entries));
    return out;
  };
  ComposedPair pair{curve(up, std::move(result.first), true), curve(down, std::move(result.second), false),
                    16 * long_unit * (up.magnitude + down.magnitude + span + std::abs(up.loss) + std::abs(down.loss))};
  if (!has_lower) {
    std::fill(pair.lower.plain.begin(), pair.lower.plain.end(), 0.0);
    std::fill(pair.lower.weighted.begin(), pair.lower.weighted.end(), 0.0);
  }
  return pair;
}

// ---- answers ----

double round_up(long double x) { return std::nextafter(static_cast<double>(x), infinity); }
double round_down(long double x) { return std::nextafter(static_cast<double>(x), -infinity); }

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
  {
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
    return up ? curve.upper(j, std::min(below * (1 + 4 * unit), curve.grid.step)) : curve.lower(j, std::max(0.0, below * (1 - 4 * unit)));
  };
  const long double at = epsilon;
  const double upper = std::min(1.0, round_up(bound(pair.upper, at - pair.loss_error, true)));
  const double lower = std::max(0.0, round_down(bound(pair.lower, at + pair.loss_error, false)));
  return {std::min(lower, upper), upper};
}

/// The largest loss that the parts can add up to; infinity where it is unbounded.
Enclosure largest_of(const Parts& parts) {
  double lower = 0;
  double upper = 0;
  const double rounding = 4 * unit * static_cast<double>(parts.size() + 2);
  for (const auto& part : parts) {
    const double count = static_cast<double>(part.count);
    const auto most = largest_loss(part.upper);
    upper += most ? count * most->upper * (1 + rounding) : infinity;
    if (!part.lower) continue;
    const auto least = largest_loss(*part.lower);
    lower += least ? count * least->lower * (1 - rounding) : infinity;
  }
  return {std::min(lower, upper), upper};
}

struct Question {
  std::optional<double> epsilon;  // one of the two
  std::optional<double> delta;
};

/// One direction, ready to be computed at any step.
struct Task {
  Parts parts;
  Cut cut{};
  Saddle saddle{};
  double second_order = 0;  // the width is about this times step^2
  double distance = 0;      // of atoms, 0 where there are none
  double least = 0;         // the window
  double largest = 0;
  double support_least = 0;  // of the composed loss
  double support_largest = 0;
  double right_tilt = 0;
  double left_tilt = 0;
  double cell_range = 0;  // the longest range of a single law
  Enclosure answer{0, infinity};
  double width = infinity;
  double step = 0;
  bool gives_upper = true;  // which ends of its enclosure bound the answer
  bool gives_lower = true;
  double found_upper = infinity;  // of the last run
  int still = 0;                  // halvings of the step in turn that moved little
  bool follows_step = false;      // a law is itself a bound that the grid makes, so that the two ends do not show its error
};

double count_of(const Parts& parts) {
  double total = 0;
  for (const auto& part : parts) total += static_cast<double>(part.count);
  return total;
}

Task prepare(const Parts& parts, const Question& question, double width) {
  Task task;
  task.parts = parts;
  const double log_count = std::log(count_of(parts));
  double log_delta = question.delta ? std::log(*question.delta) : -40;
  for (int attempt = 0;; ++attempt) {
    task.cut = {log_delta - log_count - 22, -45 - log_count};
    const ApproximateCumulants k{parts, task.cut};
    // The derivatives by s of (K + log alias - log delta) / s and of K + log alias - s epsilon; both functions have one minimum.
    task.saddle = find_saddle(k, std::clamp(20 / width, 1.0, 1e7), [&](double s, const Cumulants& at) {
      const double slope = at.mean + std::log(s / (s + 1));
      if (question.delta) return s * slope - (at.value + log_alias(s) - log_delta);
      return at.value + log_alias(s) - s * *question.epsilon < -1500 ? 1.0 : slope - *question.epsilon;
    });
    if (question.epsilon) task.saddle.log_delta = k.at(task.saddle.s).value + log_alias(task.saddle.s) - task.saddle.s * *question.epsilon;
    if (!question.delta && task.saddle.log_delta < log_delta && attempt < 12) {
      log_delta = std::max(1.5 * task.saddle.log_delta - 10, -11000.0);
      continue;
    }
    const double s = task.saddle.s;
    const auto here = k.at(s);
    const double deviation = std::sqrt(here.variance) + 4 * std::min(width, 1.0);
    // Ends of the window: the smallest one for which Chernoff's bound leaves e^-quiet.
    const double quiet = 8 - std::log(std::min(0.5, s * width));
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
    task.support_least = k.least();
    task.support_largest = k.largest();
    break;
  }
  double isolated = 0;
  for (const auto& part : parts) {
    const auto bounds = range(part.upper, task.cut);
    task.cell_range = std::max(task.cell_range, bounds.largest - bounds.least);
    task.follows_step = task.follows_step || std::holds_alternative<MaximumBase>(part.upper.base);
    const auto distance = atom_distance(part.upper);
    if (distance && static_cast<double>(part.count) * *distance > isolated) {
      isolated = static_cast<double>(part.count) * *distance;
      task.distance = *distance;
    }
  }
  task.second_order = count_of(parts) * (task.saddle.s + 1) / 8;
  return task;
}

class Run {
 public:
  Run(const PrivacyLoss& accountant, const Question& question) : accountant_{accountant}, question_{question} {}

  /// The enclosure of one direction at a step of at most `step`; the step used is left in the task.
  [[nodiscard]] Enclosure operator()(Task& task, double step) const {
    step = std::min({step, most_tilt_per_step / task.saddle.s, most_end_tilt_per_step / std::max(task.right_tilt, task.left_tilt)});
    Window window{task.least, task.largest, step, 4, task.saddle.s, task.right_tilt, task.left_tilt};
    if (task.distance > 0) window.step = task.distance / std::ceil(task.distance / step);
    // A law may reach two steps beyond its range at either end.
    const double reach = 2 * count_of(task.parts) * window.step;
    window.least = std::max(task.least, task.support_least - reach);
    window.largest = std::min(task.largest, task.support_largest + reach);
    const double points = (window.largest - window.least) / window.step + 8;
    const double cells = task.cell_range / window.step + 8;
    if (!(points < 0x1p40 && cells < 0x1p40)) refuse_memory(std::max(points, cells) * 88);
    // Chernoff's bounds at the ends have room: a window slightly too long for a power of two is cut instead. The ends of the support
    // have none, and may hold much of the mass.
    const bool has_room = window.least == task.least && window.largest == task.largest;
    window.size = std::bit_ceil(static_cast<std::size_t>((has_room ? 0.86 : 1.0) * points) + 16);
    const double bytes = static_cast<double>(CircularProduct::bytes(window.size)) + cells * 120;
    if (bytes > static_cast<double>(accountant_.memory)) refuse_memory(bytes);
    task.step = window.step;
    const auto pair = compose(task.parts, window, task.cut);
    for (const auto* curve : {&pair.upper, &pair.lower}) {
      const long double all = curve->log_scale + curve->log_total + curve->wrapped + curve->beyond + curve->entry_error;
      if (std::isnan(all) || std::isnan(curve->plain.front()))
        throw Error{ErrorCode::unsupported, "privacy-loss: its losses are out of range"};
    }
    return question_.delta ? epsilon_of(pair, *question_.delta) : delta_of(pair, *question_.epsilon);
  }

  /// The width of an enclosure in units of epsilon.
  [[nodiscard]] double width(const Task& task, const Enclosure& found) const {
    if (question_.delta) return found.width();
    if (found.upper <= found.lower || found.upper < 1e-300) return 0;
    return std::log(found.upper / found.lower) / task.saddle.s;
  }

 private:
  [[noreturn]] void refuse_memory(double bytes) const {
    throw Error{ErrorCode::memory, fmt::format("an answer of width {} needs about {:.3g} bytes, more than the {} allowed",
                                               accountant_.width, bytes, accountant_.memory)};
  }
  const PrivacyLoss& accountant_;
  const Question& question_;
};

/// The laws above, or those below, as both bounds of themselves.
Parts only(const Parts& parts, bool upper) {
  Parts found;
  for (const auto& part : parts) {
    const LossLaw law = upper ? part.upper : part.lower.value_or(nothing());
    found.push_back({law, law, true, part.count});
  }
  return found;
}

/// One task where the laws above and below are the same, one for each where they differ: each has its own tilt and window.
std::vector<Task> tasks_for(const PrivacyLoss& accountant, const Event& event, const Question& question) {
  Directions directions;
  PartsOf{directions}.visit(event, 1);
  std::vector<Task> tasks;
  const auto add = [&](const Parts& parts, bool gives_upper, bool gives_lower) {
    // No finite loss exceeds epsilon: that direction costs nothing.
    const double most = largest_of(parts).upper;
    if (most == 0 || (question.epsilon && *question.epsilon >= most)) return;
    tasks.push_back(prepare(parts, question, accountant.width));
    tasks.back().gives_upper = gives_upper;
    tasks.back().gives_lower = gives_lower;
  };
  const auto same = [](const Parts& parts) { return std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.same; }); };
  for (const auto* parts : {&directions.removed, &directions.added}) {
    if (parts == &directions.added && directions.symmetric) continue;
    if (same(*parts)) {
      add(*parts, true, true);
    } else {
      add(only(*parts, true), true, false);
    }
  }
  if (directions.has_choice && !tasks.empty()) {
    Directions better;
    PartsOf{better, tasks.front().saddle.s}.visit(event, 1);
    directions = std::move(better);
  }
  for (const auto* parts : {&directions.removed, &directions.added}) {
    if (parts == &directions.added && directions.symmetric) continue;
    if (!same(*parts)) add(only(*parts, false), false, true);
  }
  return tasks;
}

Enclosure answer(const PrivacyLoss& accountant, const Event& event, const Question& question) {
  auto tasks = tasks_for(accountant, event, question);
  const Run run{accountant, question};
  const auto combined = [&] {
    Enclosure all{0, 0};
    for (const auto& task : tasks) {
      if (task.gives_lower) all.lower = std::max(all.lower, task.answer.lower);
      if (task.gives_upper) all.upper = std::max(all.upper, task.answer.upper);
    }
    all.lower = std::min(all.lower, all.upper);
    return all;
  };
  if (accountant.step > 0) {
    for (auto& task : tasks) task.answer = run(task, accountant.step);
    return combined();
  }
  if (!(accountant.width > 0))
    throw Error{ErrorCode::invalid_argument, fmt::format("width is {}, must be greater than 0", accountant.width)};
  const auto refine = [&](Task& task) {
    try {
      const auto found = run(task, task.step);
      task.found_upper = found.upper;
      const double upper = std::min(task.answer.upper, found.upper);
      task.answer = {task.follows_step ? std::min(found.lower, upper) : std::max(task.answer.lower, found.lower), upper};
      return true;
    } catch (const Error& error) {
      // Without a bound from below there is still an answer.
      if (error.code() != ErrorCode::memory || task.gives_upper) throw;
      return false;
    }
  };
  // A coarse look at every direction tells which of them matters, and the step that the width needs: the width grows with its square.
  for (auto& task : tasks) {
    task.step = std::min(8 * std::sqrt(0.85 * accountant.width / task.second_order), std::max(task.cell_range / 50, 1e-12));
    refine(task);
  }
  for (auto& task : tasks) {
    for (int attempt = 0; attempt < 12; ++attempt) {
      const bool matters = std::none_of(tasks.begin(), tasks.end(), [&](const Task& other) {
        return &other != &task && other.gives_upper == task.gives_upper && task.answer.upper <= other.answer.lower;
      });
      if (!matters) break;
      const auto before = task.answer;
      const double width = run.width(task, before);
      if (task.follows_step) {
        // Halving the step divides the error by 4: what is left is a third of how far the end moved.
        // One step may by chance suit the kinks of a curve, two hardly do.
        const double earlier = task.found_upper;
        task.step *= 0.5;
        if (!refine(task)) break;
        const Enclosure moved{std::min(earlier, task.found_upper), std::max(earlier, task.found_upper)};
        task.still = run.width(task, moved) <= accountant.width ? task.still + 1 : 0;
        if (task.still == 2) break;
        continue;
      }
      // From the first guess on, a step that does not help is one that meets rounding.
      if (width <= accountant.width || (attempt > 3 && !(width < 0.9 * task.width))) break;
      task.width = width;
      task.step *= std::clamp(std::isfinite(width) ? std::sqrt(0.9 * accountant.width / width) : 0.25, 0.05, 0.9);
      if (!refine(task)) break;
    }
  }
  return combined();
}

/// The parts of which one meets the record once and nothing else does; empty for any other event. Each is then accounted for by itself.
std::vector<Event> lone_parts(const Event& event) {
  const auto entries = Releases::of(event).entries();
  if (entries.size() != 1 || entries.front().count.value() != 1) return {};
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
  if (const auto parts = lone_parts(event); !parts.empty()) {
    return largest_among(parts, [&](const Event& part) { return delta(accountant, part, epsilon); });
  }
  return answer(accountant, event, {epsilon.value(), std::nullopt});
}

Enclosure epsilon(const PrivacyLoss& accountant, const Event& event, Delta delta) {
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
