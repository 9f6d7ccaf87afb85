// Private online Frank-Wolfe with recursive gradients: [HLL22] Algorithm 1 (DP-TOFW), for domains with a linear minimisation oracle.
//
//     g_t = t grad f(w_t, z_t) - (t - 1) grad f(w_{t-1}, z_t),  clipped to l2 norm C
//     G_t = noisy prefix sum of g_1 .. g_t,   v_t = argmin over v in the domain of <G_t, v>,   w_{t+1} = w_t + eta_t (v_t - w_t)
//
// with w_1 in the domain and eta_t = s / (t + 1). G_t / t estimates the gradient of the mean loss at w_t with an error that shrinks like
// 1 / sqrt(t). Record z_t enters g_t and nothing else, given the released prefix sums: replacing it moves one push by at most 2C.
//
// Differences from the paper, all in the direction of what its proof needs:
//   first step   the paper's rho_t = 1 / (t + 1) with d_1 = grad f(w_1, z_1) gives the first record twice the weight that the noise is
//                calibrated for; here rho_t = 1 / t, which is unbiased and treats all records alike
//   clipping     ||g_t|| <= beta D + L is an assumption about losses; here g_t is clipped, and the guarantee needs no assumption
//   noise        calibrated exactly for the whole stream by the accountant, where the paper splits (epsilon, delta) over tree levels;
//                plain Gaussian by default, on any continual sum; the paper's generalized Gaussian by clipping in l_r (lr_clip.h).
//                printed_frank_wolfe_noise.h says what the printed noise costs, and which parts of it are no noise at all
//
// [HLL22] Han, Liang, Liang, Wang, Yao, Zhang: On Private Online Convex Optimization, 2022.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/units.h>
#include <surety/accounting/numbers/error.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/units.h>
#include <surety/optimizers/streams/lr_clip.h>

namespace surety::optimizers {

/// All public. The defaults were fixed once, for rows of unit norm; choosing options by the results of private runs is a release of its
/// own.
struct OnlineFrankWolfeOptions {
  Count steps;  ///< n, the horizon: the most records
  Adjacency adjacency = Adjacency::replace_one;
  ClippingNorm clip{0.5};           ///< C
  StepScaleFactor step_scale{0.5};  ///< s
};

/// The same for generalized Gaussian noise: gradients are clipped in an l_r norm. Plain Gaussian noise is never worse in the dual norm
/// (docs/proofs/frank-wolfe.md#generalized); this is the paper's.
struct GeneralizedFrankWolfeOptions {
  Count steps;
  Adjacency adjacency = Adjacency::replace_one;
  LrClip clip;  ///< C and its norm
  StepScaleFactor step_scale{0.5};
};

/// What the algorithm asks of its stream: one push per record, of sensitivity 2C under replace-one and C under zero-out.
/// \throws Error{unsupported} under add-or-remove-one: which record comes at which step is public.
[[nodiscard]] inline StreamShape<> shape(const OnlineFrankWolfeOptions& options, Count features) {
  require_fixed_places(options.adjacency);
  return {.steps = options.steps,
          .dimension = features,
          .sensitivity = mechanisms::sensitivity_of_clipped_sum(options.clip, options.adjacency),
          .adjacency = options.adjacency};
}

/// The same in l_r, for a sum with generalized Gaussian noise of that r: TreeSum<GeneralizedGaussian>. \throws as above.
[[nodiscard]] inline StreamShape<LrSensitivity> shape(const GeneralizedFrankWolfeOptions& options, Count features) {
  require_fixed_places(options.adjacency);
  return {.steps = options.steps,
          .dimension = features,
          .sensitivity = lr_sensitivity(options.clip, options.adjacency),
          .adjacency = options.adjacency};
}

/// The state between two records: released values and public ones alone.
///
/// The guarantee needs nothing of the data: rows longer than expected, labels out of range and overflowing scores are clipped or count as
/// zero. \pre labels are as the objective wants them.
template <Objective O, LinearlyMinimizable D, class Options = OnlineFrankWolfeOptions>
class OnlineFrankWolfe {
 public:
  using Sensitivity = decltype(shape(std::declval<Options>(), std::declval<Count>()).sensitivity);

  /// Starts at `start`, a public point of the domain; by default at 0, which must be one.
  /// \throws Error{invalid_argument} when `start` has not one coordinate per feature.
  OnlineFrankWolfe(O objective, D domain, const Options& options, Count features, std::optional<std::vector<double>> start = std::nullopt)
      : objective_{std::move(objective)},
        domain_{std::move(domain)},
        options_{options},
        sensitivity_{shape(options, features).sensitivity},
        weights_{start ? *std::move(start) : std::vector<double>(features.value(), 0.0)},
        previous_{weights_} {
    if (weights_.size() != features.value()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("the start has {} coordinates, must have one for each of the {} features",
                                                           weights_.size(), features.value())};
    }
  }

  /// Reads the next record and moves on. O(features) and one push. \throws what the stream throws; Error{invalid_argument} when the row
  /// does not have `features` coordinates.
  void observe(const RowView& row, double label, StreamReleaserRef<Sensitivity> stream) {
    const auto t = static_cast<double>(++steps_);
    const double factor = t * objective_.derivative(row.dot(weights_), label) - (t - 1) * objective_.derivative(row.dot(previous_), label);
    const std::vector<double> sum =
        stream.push(clipped_contribution(factor, row, options_.clip, stream.grid(), weights_.size()), sensitivity_);
    const std::vector<double> vertex = domain_.minimize_linear(sum);
    previous_ = weights_;
    const double step = options_.step_scale.value() / (t + 1);
    for (std::size_t j = 0; j < weights_.size(); ++j) weights_[j] += step * (vertex[j] - weights_[j]);
  }

  /// w_{t+1} after t records: released, may be shown.
  [[nodiscard]] std::span<const double> weights() const noexcept { return weights_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  O objective_;
  D domain_;
  Options options_;
  Sensitivity sensitivity_;
  std::uint64_t steps_ = 0;
  std::vector<double> weights_;   ///< w_t
  std::vector<double> previous_;  ///< w_{t-1}
};

}  // namespace surety::optimizers
