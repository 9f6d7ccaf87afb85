// Private online Frank-Wolfe over the l1 ball: [HLL22] Algorithm 2 (DP-POFW). The recursive gradient is that of online_frank_wolfe.h, but
// no vector is released: the vertex +-R e_j of the ball is chosen privately from the exact prefix sum S_t of clipped g_1 .. g_t,
//
//     v_t = exponential mechanism over the 2 d vertices with costs <S_t, v>,   w_{t+1} = w_t + eta_t (v_t - w_t),   eta_t = s / (t + 1)
//
// so the noise grows with log d and not with sqrt(d).
//
// Sums live on a grid as integers. g_t is clipped to C in l-infinity, so replacing record q moves every coordinate of S_t, t >= q, by at
// most 2C, hence costs of +-e_j by at most 2C up or down: their changes have range 4C under replace-one (2C under zero-out). Every choice
// from q on reads the record, so all n choices compose: choice t is exponential(epsilon_t), and the run costs sum epsilon_t^2 / 8 in zCDP.
//
// Differences from the paper: Gumbel noise (the exponential mechanism, of *range* epsilon_t) by default in place of Laplace noise, which
// halves the noise; the range of the changes in place of a claim about counting queries; rho_t = 1 / t (the paper's first step weighs
// twice); clipping in place of assumptions; calibration by the accountant.
//
// [HLL22] Han, Liang, Liang, Wang, Yao, Zhang: On Private Online Convex Optimization, 2022.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/numbers/error.h>
#include <surety/optimizers/doors/selector.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/streams/online_frank_wolfe.h>

namespace surety::optimizers {

struct LinfClipRule : Positive {
  static constexpr std::string_view name = "clipping bound";
};
/// The largest magnitude that one record may contribute to a coordinate.
using LinfClip = Quantity<LinfClipRule>;

/// All public.
struct PolyhedralFrankWolfeOptions {
  Count steps;  ///< n, the horizon: the most records, at most 2^40
  Radius radius{1};
  /// Divides every epsilon_t: epsilon_t = sqrt(t) / (t + 1) / z at the first t of each octave 2^i <= t < 2^(i+1).
  NoiseMultiplier noise_multiplier;
  Adjacency adjacency = Adjacency::replace_one;
  LinfClip clip{0.5};               ///< C
  StepScaleFactor step_scale{0.5};  ///< s
  bool laplace = false;             ///< report-noisy-max with Laplace noise, as the paper has it, in place of Gumbel noise
};

/// The event of choice t: the same for all t of an octave, so that a run is a composition of few different events.
[[nodiscard]] inline Event choice(const PolyhedralFrankWolfeOptions& options, std::uint64_t t) {
  const auto first = static_cast<double>(std::bit_floor(t));
  const Epsilon epsilon{std::sqrt(first) / (first + 1) / options.noise_multiplier.value()};
  return options.laplace ? release(Event::Pure{epsilon}, options.adjacency) : release(Event::Exponential{epsilon}, options.adjacency);
}

/// What a run releases: its choices, octave by octave.
/// \throws Error{unsupported} under add-or-remove-one; Error{invalid_argument} for more than 2^40 steps.
/// \source Dong, Durfee, Rogers 2020 (the exponential mechanism's range); Cesar, Rogers 2021 (epsilon^2 / 8 in zCDP).
[[nodiscard]] inline Event plan(const PolyhedralFrankWolfeOptions& options) {
  require_fixed_places(options.adjacency);
  const std::uint64_t n = options.steps.value();
  if (n > std::uint64_t{1} << 40) throw Error{ErrorCode::invalid_argument, fmt::format("steps is {}, must be at most 2^40", n)};
  std::vector<Event> octaves;
  for (std::uint64_t first = 1; first <= n; first *= 2) {
    octaves.push_back(repeat(Count{std::min(2 * first, n + 1) - first}, choice(options, first)));
  }
  return compose(std::move(octaves));
}

/// The state between two records: w_t, and the exact sum, which leaves it through choices alone.
template <Objective O>
class PolyhedralFrankWolfe {
 public:
  /// Starts at 0. `plan(options)` is what the selector will be asked for. \throws as `plan`.
  PolyhedralFrankWolfe(O objective, const PolyhedralFrankWolfeOptions& options, Count features)
      : objective_{std::move(objective)},
        options_{options},
        weights_(features.value(), 0.0),
        previous_(features.value(), 0.0),
        sum_(features.value(), 0),
        scores_(2 * features.value()) {
    static_cast<void>(plan(options));
    // n contributions of at most 2^bits steps stay below 2^52, so that every score is an exact double.
    const int bits = std::min(30, 51 - static_cast<int>(std::bit_width(options.steps.value())));
    largest_ = std::int64_t{1} << bits;
  }

  /// Reads the next record and moves on. O(features).
  /// \pre a sparse row has as many indices as values; indices that do not increase or are no feature are ignored.
  /// \throws Error{invalid_argument} beyond the horizon or for a row of another length; and what the selector throws.
  void observe(const RowView& row, double label, SelectorRef selector) {
    if (steps_ == options_.steps.value()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("step is {}, must be at most the horizon {}", steps_ + 1, steps_)};
    }
    if (!row.is_sparse() && !row.values.empty() && row.values.size() != weights_.size()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("the row has {} coordinates, must have {}", row.values.size(), weights_.size())};
    }
    const auto t = static_cast<double>(++steps_);
    add(t * objective_.derivative(row.dot(weights_), label) - (t - 1) * objective_.derivative(row.dot(previous_), label), row);
    for (std::size_t j = 0; j < sum_.size(); ++j) {
      scores_[2 * j] = -static_cast<double>(sum_[j]);  // of +R e_j
      scores_[2 * j + 1] = static_cast<double>(sum_[j]);
    }
    const std::size_t chosen = selector.select(scores_, sensitivity(), ScoreChange::range, choice(options_, steps_));
    previous_ = weights_;
    const double step = options_.step_scale.value() / (t + 1);
    for (double& weight : weights_) weight *= 1 - step;
    weights_[chosen / 2] += (chosen % 2 == 0 ? step : -step) * options_.radius.value();
  }

  /// w_{t+1} after t records: released, may be shown.
  [[nodiscard]] std::span<const double> weights() const noexcept { return weights_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

  /// The range of the changes of the scores, exactly.
  [[nodiscard]] ScoreSensitivity sensitivity() const {
    const auto one_record = static_cast<double>(largest_);
    return ScoreSensitivity{options_.adjacency == Adjacency::replace_one ? 4 * one_record : 2 * one_record};
  }

 private:
  /// Adds factor x row, scaled to l-infinity norm at most C and rounded toward zero, C being `largest_` steps. A vector that is not finite
  /// counts as zero.
  void add(double factor, const RowView& row) {
    double largest = 0;
    for (const double value : row.values) largest = std::max(largest, std::abs(value));
    const double norm = std::abs(factor) * largest;
    if (!std::isfinite(norm) || norm == 0) return;
    const auto bound = static_cast<double>(largest_);
    const double steps_per_unit = bound / options_.clip.value();
    const double scale = factor * std::min(1.0, options_.clip.value() / norm);
    // The range of the changes is that of a record which names no coordinate twice: hence the increasing order.
    std::size_t next = 0;
    for (std::size_t k = 0; k < row.values.size(); ++k) {
      const std::size_t j = row.is_sparse() ? row.indices[k] : k;
      const double steps = scale * row.values[k] * steps_per_unit;
      if (j < next || j >= sum_.size() || std::isnan(steps)) continue;
      sum_[j] += static_cast<std::int64_t>(std::clamp(steps, -bound, bound));
      next = j + 1;
    }
  }

  O objective_;
  PolyhedralFrankWolfeOptions options_;
  std::uint64_t steps_ = 0;
  std::int64_t largest_ = 0;       ///< C in grid steps
  std::vector<double> weights_;    ///< w_t
  std::vector<double> previous_;   ///< w_{t-1}
  std::vector<std::int64_t> sum_;  ///< S_t in grid steps: private
  std::vector<double> scores_;
};

}  // namespace surety::optimizers
