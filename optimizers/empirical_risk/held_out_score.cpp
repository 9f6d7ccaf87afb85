#include <surety/optimizers/empirical_risk/held_out_score.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <boost/math/distributions/normal.hpp>

#include <surety/accounting/events/words.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/text/error.h>
#include <surety/data/features/row_reader.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/bounded_sum.h>

namespace surety::optimizers {
namespace {

__extension__ using Integer = __int128;

constexpr double least_probability = 0.01;

constexpr accounting::Words<ScoreKind, 4> kinds{
    .what = "score",
    .values = {ScoreKind::brier, ScoreKind::log_loss, ScoreKind::error_rate, ScoreKind::squared_error},
    .words = {"brier", "log-loss", "error-rate", "squared-error"}};

/// The probability of -1 beside that of a label 1, or the other way round.
double probability_of_other(double score, double label) { return 1 / (1 + std::exp(label > 0 ? score : -score)); }

double loss_of_class(const ScoreOptions& options, std::span<const double> scores, std::size_t own) {
  if (options.kind == ScoreKind::error_rate) {
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin()) == own ? 0 : 1;
  }
  const auto probabilities = class_probabilities(scores, options.classes_by);
  if (options.kind == ScoreKind::log_loss) return -std::log(std::max(probabilities[own], least_probability));
  double sum = 0;
  for (std::size_t k = 0; k < probabilities.size(); ++k) {
    const double error = probabilities[k] - (k == own ? 1 : 0);
    sum += error * error;
  }
  return sum;
}

/// Both sums, in whole steps of a grid.
class ScoreSums {
 public:
  ScoreSums(double bound, Grid grid) : steps_{{-bound / 2, bound / 2}, grid}, below_{{-bound / 2, bound / 2}, grid} {}

  void add_unit(double below) {
    below_.add(below);
    weight_ += steps_.highest();
  }
  [[nodiscard]] double weight_of_one() const { return static_cast<double>(steps_.highest()) * steps_.grid().step(); }
  [[nodiscard]] GridVector sums() const {
    auto sums = below_.sum();
    sums.steps.push_back(static_cast<std::int64_t>(std::min<Integer>(weight_, largest_sum)));
    return sums;
  }
  /// h the most of each sum: h sqrt(2) for a unit that comes or goes, 2 h for one that gives way to another.
  [[nodiscard]] L2Sensitivity sensitivity(Adjacency adjacency) const {
    const Exact most{weight_of_one()};
    return L2Sensitivity{adjacency == Adjacency::replace_one ? below_.sensitivity(adjacency) : (Upper{most} * sqrt(Upper{2})).value()};
  }

 private:
  mechanisms::BoundedSteps steps_;
  mechanisms::BoundedSum below_;
  Integer weight_ = 0;
};

/// Of a two-sided interval, and of one end.
double quantile_above(double exceeded) { return boost::math::quantile(boost::math::complement(boost::math::normal{}, exceeded)); }

/// The divergence of two coins.
double divergence(double p, double q) {
  const auto term = [](double a, double b) { return a == 0 ? 0.0 : a * std::log(a / b); };
  return term(p, q) + term(1 - p, 1 - q);
}

/// The q between `from`, where it is p, and `end`, 0 or 1, at which divergence(p, q) is `most`: from outside.
double farthest(double p, double end, double most) {
  double inside = p;
  double outside = end;
  for (int k = 0; k < 100; ++k) {
    const double middle = (inside + outside) / 2;
    (divergence(p, middle) > most ? outside : inside) = middle;
  }
  return outside;
}

/// The shares theta with (s - theta m)^2 <= t^2 (1 + theta^2), in [-1, 1]; nothing where they have no end.
std::optional<Enclosure> ratio_within(double s, double m, double t) {
  const double square = (m - t) * (m + t);
  if (!(m > t)) return std::nullopt;
  const double half = t * std::sqrt(square + s * s);
  return Enclosure{std::clamp((s * m - half) / square, -1.0, 1.0), std::clamp((s * m + half) / square, -1.0, 1.0)};
}

}  // namespace

std::string_view name(ScoreKind kind) { return kinds.name(kind); }

ScoreKind parse_score_kind(std::string_view text) { return kinds.parse(text); }

double largest_loss(const ScoreOptions& options) {
  const double bound = options.label_bound.value();
  switch (options.kind) {
    case ScoreKind::brier: return options.classes > 1 ? 2 : 1;
    case ScoreKind::log_loss: return -std::log(least_probability);
    case ScoreKind::error_rate: return 1;
    case ScoreKind::squared_error: break;
  }
  if (!(bound * bound > 0 && std::isfinite(bound * bound))) {
    invalid(fmt::format("the bound on squared errors is {}, must be positive and finite", bound * bound));
  }
  return bound * bound;
}

double score_loss(const ScoreOptions& options, std::span<const double> scores, double label) {
  if (options.classes > 1) return loss_of_class(options, scores, static_cast<std::size_t>(label));
  const double score = scores.front();
  switch (options.kind) {
    case ScoreKind::brier: {
      const double error = probability_of_other(score, label);
      return error * error;
    }
    case ScoreKind::log_loss: return -std::log(std::max(probability_of_other(-score, label), least_probability));
    case ScoreKind::error_rate: return (score >= 0) == (label > 0) ? 0 : 1;
    case ScoreKind::squared_error: break;
  }
  const double bound = options.label_bound.value();
  const double error = std::clamp(score, -bound, bound) - label;
  return std::min(error * error, bound * bound);
}

Event plan(const ScoreOptions& options) { return gaussian(options.noise_multiplier, options.adjacency); }

ReleasedScore release_score(const Dataset& held_out, std::span<const double> weights, const ScoreOptions& options, Releaser& releaser) {
  const std::size_t d = held_out.features();
  if (!held_out.has_labels()) invalid("a score needs labels, the data set has none");
  if (weights.size() != d * options.classes) {
    invalid(fmt::format("{} weights for {} features and {} classes", weights.size(), d, options.classes));
  }
  const double bound = largest_loss(options);
  ScoreSums sums{bound, mechanisms::grid_for(L2Sensitivity{bound}, options.noise_multiplier)};
  data::RowReader reader{held_out};
  std::vector<double> scores(options.classes);
  for (std::size_t unit = 0; unit < units_in(held_out, options.unit_ends); ++unit) {
    const RecordRange rows = rows_of_unit(options.unit_ends, unit);
    double below = 0;
    std::size_t usable = 0;
    for (std::size_t i = rows.first; i < rows.end; ++i) {
      const RowView row = reader.row(i);
      if (!(row.norm > 0)) continue;
      for (std::size_t k = 0; k < options.classes; ++k) scores[k] = row.dot(weights.subspan(k * d, d));
      below += bound / 2 - score_loss(options, scores, held_out.label(i));
      ++usable;
    }
    if (usable > 0) sums.add_unit(below / static_cast<double>(usable));
  }
  const L2Sensitivity moved = sums.sensitivity(options.adjacency);
  const GridVector query = sums.sums();
  const auto released = releaser.release(query, moved, plan(options));
  const double half = sums.weight_of_one();
  return {.below = released[0],
          .usable = released[1] / half,
          .bound = bound,
          .half_bound = half,
          .sigma = options.noise_multiplier.value() * moved.value(),
          .step = query.grid.step()};
}

std::optional<FoundScore> found_score(const ReleasedScore& released, Confidence confidence) {
  const double exceeded = 1 - confidence.value();
  const double m = released.usable * released.half_bound;
  const double rounding = std::sqrt(2.0) * released.step / 2;
  const auto loss_at = [&](double theta) { return std::max(released.bound / 2 - released.half_bound * theta, 0.0); };
  const auto ratio_at = [&](double exceeded_by_noise) {
    return ratio_within(released.below, m, quantile_above(exceeded_by_noise / 2) * released.sigma + rounding);
  };
  const auto ratio = ratio_at(exceeded);
  if (!ratio) return std::nullopt;
  FoundScore found{.value = loss_at(std::clamp(released.below / m, -1.0, 1.0)),
                   .of_these = {loss_at(ratio->upper), loss_at(ratio->lower)},
                   .of_the_source = {}};
  // A fifth of what may be exceeded is for the ratio, a tenth for the number of units, the rest for draws.
  const auto wider = ratio_at(exceeded / 5);
  const double units = (m - quantile_above(exceeded / 10) * released.sigma - released.step / 2) / released.half_bound;
  if (!wider || !(units >= 1)) return found;
  const double most = std::log(2 / (exceeded * 7 / 10)) / units;
  const auto share_at = [&](double theta) { return std::min(loss_at(theta) / released.bound, 1.0); };
  found.of_the_source =
      Enclosure{released.bound * farthest(share_at(wider->upper), 0, most), released.bound * farthest(share_at(wider->lower), 1, most)};
  return found;
}

}  // namespace surety::optimizers
