// Stochastic gradient descent with variance reduction, private: [WYX17] Algorithms 1 (DP-SVRG) and 2 (DP-SVRG++), with two noises.
//
// Epoch s = 1 .. T has an anchor x~ and releases the gradient of all records there,
//
//     g~ = (1/n) (sum_i clip_G(grad loss(x~, z_i)) + N(0, (z_F s_F)^2 I)).
//
// Each of its m_s inner steps draws a fresh secret batch of (expected) size b and releases how its gradients have changed since,
//
//     r_t = (1/b) (sum over the batch of clip_{C_t}(grad loss(x_{t-1}, z) - grad loss(x~, z)) + N(0, (z s_t)^2 I)),
//     x_t = proximal_(eta h)(x_{t-1} - eta (g~ + r_t)),   C_t = max(floor, min(D, L ||x_{t-1} - x~||_2)),
//
// where one record moves a sum of vectors of norm at most C by s = 2C under replace-one and by C otherwise, and D and L are the loss's
// bounds on how far a record's gradient moves between two weight vectors. C_t is a function of released values, so the noise of an inner
// step shrinks as x nears its anchor. The next anchor is the mean of x_1 .. x_{m_s}, or x_{m_s}, and so is the result.
//
//     SVRG     m_s = m        x_0 is the anchor
//     SVRG++   m_s = 2^s m    x_0 is the last x of the epoch before: (2^(T+1) - 2) m steps in all
//
// A run costs compose(repeat(T, gaussian(z_F)), repeat(N, sampled(gaussian(z)))) with N = m_1 + .. + m_T.
//
// Differences from the paper. There the gradient of all records enters every inner step without noise of its own, and one noise of
// sigma^2 = c G^2 N log(1/delta) / (n epsilon)^2 on batches of one record is to cover everything, with 2^T m steps counted for SVRG++: that
// is no guarantee at any c that was used (docs/proofs/svrg.md#printed), and is refused. Barzilai-Borwein steps are made from released gradients.
//
// [WYX17] Wang, Ye, Xu: Differentially Private Empirical Risk Minimization Revisited: Faster and More General.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/mechanisms/choices/batch_sampler.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/sampled_releaser.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/regularizer.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

enum class SvrgVariant { svrg, svrg_plus_plus };
enum class SvrgAnchor { average, last };

/// eta in epoch s = 1, 2, ...: any public function.
using SvrgSchedule = std::function<StepSize(std::uint64_t epoch)>;

/// From the second epoch on eta = multiple x ||x~ - x~'||^2 / <x~ - x~', g~ - g~'>, where x~' and g~' are those of the epoch before,
/// clamped to [lowest, highest]; `first` in the first epoch and where the quotient is not positive. All of it released.
struct BarzilaiBorwein {
  StepSize first;
  StepSize lowest;
  StepSize highest;
  double multiple = 0.2;  ///< greater than 0; as the default step, a fifth of what the curvature allows
};

struct DifferenceFloorRule : Positive {
  static constexpr std::string_view name = "floor of the clip of gradient differences";
};
/// The least C_t. It cannot be 0: at x = x~ noise of scale 0 would be none.
using DifferenceFloor = Quantity<DifferenceFloorRule>;

/// All public. The defaults were fixed once, for rows of unit norm, and do not look at the data at hand: choosing options by the results of
/// private runs is a release of its own.
struct SvrgOptions {
  NoiseMultiplier anchor_multiplier;  ///< z_F
  NoiseMultiplier noise_multiplier;   ///< z, over the sensitivity under every adjacency
  std::variant<mechanisms::PoissonBatches, mechanisms::FixedSizeBatches> sampler;
  Adjacency adjacency = Adjacency::replace_one;
  SvrgVariant variant = SvrgVariant::svrg;
  Count epochs{10};                                                                      ///< T
  Count inner_steps{50};                                                                 ///< m
  SvrgAnchor anchor = SvrgAnchor::average;                                               ///< what the next anchor and the result are
  std::variant<std::monostate, StepSize, SvrgSchedule, BarzilaiBorwein> step_size = {};  ///< default 1 / (5 L)
  std::optional<ClippingNorm> clip = {};             ///< G; default the loss's gradient bound at row norm 1
  std::optional<ClippingNorm> difference_clip = {};  ///< D; default the loss's gradient difference bound at row norm 1
  std::optional<DifferenceFloor> floor = {};         ///< default 2^-20 D; at most D
  std::optional<Count> public_count = {};            ///< n; default the number of records, which add-or-remove-one keeps private
  std::size_t threads = 1;                           ///< for gradients of all records
  std::function<void(std::uint64_t)> progress = {};  ///< called with the number of epochs done, which is public, after each
};

/// m_s for s = 1 .. T. \throws Error{invalid_argument} when it is more than 2^53.
[[nodiscard]] Count inner_steps(const SvrgOptions& options, std::uint64_t epoch);

/// N = m_1 + .. + m_T. \throws Error{invalid_argument} when it is more than 2^53.
[[nodiscard]] Count all_inner_steps(const SvrgOptions& options);

/// The release of the gradient of all records.
[[nodiscard]] Event anchor_release(const SvrgOptions& options);

/// The release of one batch, of the sampler. Poisson sampling under replace-one hides a record on both sides, and what it costs is known
/// for sums of records: record_sum(2 z), which has the same noise.
[[nodiscard]] Event batch_release(const SvrgOptions& options);

/// What a run releases: T gradients of all records and N batches.
/// \throws Error{invalid_argument} for a sampler without a theorem for the adjacency, and when N is more than 2^53.
/// \source docs/proofs/svrg.md#two-noises
[[nodiscard]] Event plan(const SvrgOptions& options);

/// Gradients of one record that a run evaluates, where a batch has its expected size: T n + 2 N b. Public.
[[nodiscard]] double gradient_evaluations(const SvrgOptions& options, Count records);

namespace detail {

[[nodiscard]] double euclidean_distance(std::span<const double> a, std::span<const double> b);

/// The anchor of an epoch and the gradient released there.
struct SvrgAnchorPoint {
  std::vector<double> weights;
  std::vector<double> gradient;
};

/// A Barzilai-Borwein step: a function of two released gradients and their anchors.
[[nodiscard]] StepSize barzilai_borwein(const BarzilaiBorwein& rule, const SvrgAnchorPoint& now, const SvrgAnchorPoint& before);

}  // namespace detail

/// Runs the algorithm above from 0 on loss + h; returns the last anchor, one weight per feature. `plan(options)` is what `releaser` will be
/// asked for: T times a release of all records followed by m_s batches.
///
/// The guarantee needs nothing of the data: rows longer than expected, labels out of range and overflowing scores are clipped or count as
/// zero. The defaults of G, D and eta, and L, suit rows of norm at most 1.
///
/// \pre   labels are as the objective wants them (`encode_labels`); the releaser's sampler is that of the options.
/// \throws Error{unsupported} for a loss that is not smooth; Error{invalid_argument}, before the first release, when options break their
///         constraints, the data have no labels, are not as many records as the batches are for, or there is no n to divide by; and what
///         the releaser throws.
/// \complexity O(T stored values + 2 N b nonzeros + N features) time, O(features + b) memory.
/// \source [WYX17] Algorithms 1 and 2; docs/proofs/svrg.md.
[[nodiscard]] std::vector<double> svrg(const Dataset& data, ObjectiveRef objective, const Regularizer& regularizer,
                                       const SvrgOptions& options, SamplingReleaser& releaser);

}  // namespace surety::optimizers
