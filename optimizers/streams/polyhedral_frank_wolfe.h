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

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/selector.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/units.h>

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
[[nodiscard]] Event choice(const PolyhedralFrankWolfeOptions& options, std::uint64_t t);

/// What a run releases: its choices, octave by octave.
/// \throws Error{unsupported} under add-or-remove-one; Error{invalid_argument} for more than 2^40 steps.
/// \source Dong, Durfee, Rogers 2020 (the exponential mechanism's range); Cesar, Rogers 2021 (epsilon^2 / 8 in zCDP).
[[nodiscard]] Event plan(const PolyhedralFrankWolfeOptions& options);

namespace detail {

/// What of `PolyhedralFrankWolfe` is the same for all losses.
class PolyhedralFrankWolfeSteps {
 public:
  PolyhedralFrankWolfeSteps(const PolyhedralFrankWolfeOptions& options, Count features);
  void observe(ObjectiveRef objective, const RowView& row, double label, Selector& selector);
  [[nodiscard]] std::span<const double> weights() const noexcept { return weights_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  [[nodiscard]] ScoreSensitivity sensitivity() const;

 private:
  /// Adds factor x row, scaled to l-infinity norm at most C and rounded toward zero, C being `largest_` steps. A vector that is not finite
  /// counts as zero.
  void add(double factor, const RowView& row);

  PolyhedralFrankWolfeOptions options_;
  std::uint64_t steps_ = 0;
  std::int64_t largest_ = 0;       ///< C in grid steps
  std::vector<double> weights_;    ///< w_t
  std::vector<double> previous_;   ///< w_{t-1}
  std::vector<std::int64_t> sum_;  ///< S_t in grid steps: private
  std::vector<double> scores_;
};

}  // namespace detail

/// The state between two records: w_t, and the exact sum, which leaves it through choices alone.
template <Objective O>
class PolyhedralFrankWolfe {
 public:
  /// Starts at 0. `plan(options)` is what the selector will be asked for. \throws as `plan`.
  PolyhedralFrankWolfe(O objective, const PolyhedralFrankWolfeOptions& options, Count features)
      : objective_{std::move(objective)}, state_{options, features} {}

  /// Reads the next record and moves on. O(features).
  /// \pre a sparse row has as many indices as values; indices that do not increase or are no feature are ignored.
  /// \throws Error{invalid_argument} beyond the horizon or for a row of another length; and what the selector throws.
  void observe(const RowView& row, double label, Selector& selector) { state_.observe(objective_, row, label, selector); }

  /// w_{t+1} after t records: released, may be shown.
  [[nodiscard]] std::span<const double> weights() const noexcept { return state_.weights(); }
  [[nodiscard]] std::uint64_t steps() const noexcept { return state_.steps(); }

  /// The range of the changes of the scores, exactly.
  [[nodiscard]] ScoreSensitivity sensitivity() const { return state_.sensitivity(); }

 private:
  O objective_;
  detail::PolyhedralFrankWolfeSteps state_;
};

}  // namespace surety::optimizers
