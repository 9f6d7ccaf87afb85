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

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/units.h>
#include <surety/optimizers/streams/lr_clip.h>
#include <surety/optimizers/streams/record_by_record.h>

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
[[nodiscard]] StreamShape<> shape(const OnlineFrankWolfeOptions& options, Count features);

/// The same in l_r, for a sum with generalized Gaussian noise of that r: TreeSum<GeneralizedGaussian>. \throws as above.
[[nodiscard]] StreamShape<LrSensitivity> shape(const GeneralizedFrankWolfeOptions& options, Count features);

namespace detail {

/// What of `OnlineFrankWolfe` is the same for all losses and domains, for either of the options.
template <class Options>
class OnlineFrankWolfeSteps {
 public:
  using Sensitivity = decltype(shape(std::declval<Options>(), std::declval<Count>()).sensitivity);
  using Door = StreamReleaser<Sensitivity>;

  OnlineFrankWolfeSteps(const Options& options, Count features, std::optional<std::vector<double>> start);
  void observe(ObjectiveRef objective, const LinearlyMinimizable& domain, const RowView& row, double label,
               StreamReleaser<Sensitivity>& stream);
  [[nodiscard]] std::span<const double> weights() const noexcept { return weights_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  Options options_;
  Sensitivity sensitivity_;
  std::uint64_t steps_ = 0;
  std::vector<double> weights_;   ///< w_t
  std::vector<double> previous_;  ///< w_{t-1}
};

extern template class OnlineFrankWolfeSteps<OnlineFrankWolfeOptions>;
extern template class OnlineFrankWolfeSteps<GeneralizedFrankWolfeOptions>;

}  // namespace detail

/// The state between two records: released values and public ones alone.
///
/// The guarantee needs nothing of the data: rows longer than expected, labels out of range and overflowing scores are clipped or count as
/// zero. \pre labels are as the objective wants them.
///
/// `observe` takes O(features) and one push. It throws Error{invalid_argument} when the row does not have `features` coordinates. `weights`
/// are w_{t+1} after t records.
template <Objective O, std::derived_from<LinearlyMinimizable> D, class Options = OnlineFrankWolfeOptions>
class OnlineFrankWolfe : public detail::RecordByRecord<detail::OnlineFrankWolfeSteps<Options>, O, D> {
 public:
  using Sensitivity = typename detail::OnlineFrankWolfeSteps<Options>::Sensitivity;

  /// Starts at `start`, a public point of the domain; by default at 0, which must be one.
  /// \throws Error{invalid_argument} when `start` has not one coordinate per feature.
  OnlineFrankWolfe(O objective, D domain, const Options& options, Count features, std::optional<std::vector<double>> start = std::nullopt)
      : detail::RecordByRecord<detail::OnlineFrankWolfeSteps<Options>, O, D>{
            std::move(objective), std::move(domain), [&](const D&) {
              return detail::OnlineFrankWolfeSteps<Options>{options, features, std::move(start)};
            }} {}
};

}  // namespace surety::optimizers
