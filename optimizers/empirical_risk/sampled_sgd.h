// Private stochastic gradient descent from secret batches, "DP-SGD" [ACG16],
//
//     g_t = (1/b) (sum over a fresh batch of clip_C(grad loss(w_{t-1}, z)) + N(0, (z C)^2 I)),
//     v_t = mu v_{t-1} + (1 - mu) g_t,   w_t = proximal_(eta_t h)(w_{t-1} - eta_t v_t)   for t = 1 .. T, from w_0 = v_0 = 0.
//
// Each record joins each batch with probability q (and of what is beyond m records a uniform choice stays out), or a batch is m records
// drawn without replacement, or the t batches of an epoch are what each record's own draw of one of them makes; b is the expected size q n,
// m, or n / t: public, and never the size of the batch at hand. Where neighbours differ in units of several rows, either a unit takes the
// place of a record and its mean gradient is clipped, or records are drawn as ever and the batches are `PoissonBatchesOfUnits`. With microbatches of k records, record i belongs to microbatch floor(i / k) for good;
// batches are of microbatches, and what is clipped is the mean gradient of one.
//
// Differences from the paper: the batch that is drawn is the one that is charged, to the last bit of q; the accounting is tight and works
// for replace-one too, where a record that is replaced moves the sum of a batch by 2C and Poisson sampling hides it from both sides;
// microbatches have public places (docs/proofs/sampling.md#sgd).
//
// [ACG16] Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang: Deep Learning with Differential Privacy, 2016.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/choices/allocation.h>
#include <surety/mechanisms/choices/batch_sampler.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/sampled_releaser.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/regularizer.h>
#include <surety/optimizers/problem/returned_iterate.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

struct MomentumFactorRule {
  static constexpr std::string_view name = "momentum";
  static constexpr std::string_view constraint = "at least 0 and less than 1";
  static bool holds(double x) { return x >= 0 && x < 1; }
};
using MomentumFactor = Quantity<MomentumFactorRule>;

/// eta_t for t = 1, 2, ...:
///   constant             eta
///   inverse_square_root  eta / sqrt(t)
///   inverse              eta / (1 + eta m t), m the strong convexity of the regularizer
enum class StepSchedule { constant, inverse_square_root, inverse };

/// Of the batches, all secret: Poisson, whole or cut, under every adjacency; of a fixed size under replace-one alone; an allocation, of which
/// a run pays for whole epochs, under add-or-remove-one and zero-out.
using AnySampler = std::variant<mechanisms::PoissonBatches, mechanisms::PoissonBatchesOfUnits, mechanisms::FixedSizeBatches,
                                mechanisms::TruncatedBatches, mechanisms::Allocation>;

/// All public.
struct SampledSgdOptions {
  NoiseMultiplier noise_multiplier;  ///< z: the noise over C, under every adjacency
  AnySampler sampler;                ///< of records, or of microbatches where these hold several records
  Count steps{1000};                 ///< T
  Adjacency adjacency = Adjacency::add_or_remove_one;
  UnitEnds unit_ends = {};                           ///< where neighbours differ in units of several rows: then batches are of units
  Count microbatch{1};                               ///< k, records; the last one may be smaller
  std::optional<StepSize> step_size = {};            ///< eta; default 1 / (beta + m), beta the loss's smoothness at row norm 1
  StepSchedule schedule = StepSchedule::inverse;     ///< of eta_t
  MomentumFactor momentum{0};                        ///< mu
  std::optional<ClippingNorm> clip = {};             ///< C; default the loss's gradient bound at row norm 1
  std::optional<Count> public_count = {};            ///< n; default the number of records, which add-or-remove-one keeps private
  std::optional<ReturnedIterate> returned = {};      ///< which w_t; default the mean of the last half
  std::function<void(std::uint64_t)> progress = {};  ///< called with the number of steps done, which is public, after each
};

/// What one batch releases: gaussian(z) where a record appears or vanishes, record_sum(z) where it is replaced.
/// \throws Error{unsupported} for microbatches of several records under any adjacency but replace-one.
[[nodiscard]] Event batch_release(const SampledSgdOptions& options);

/// What a run releases: T batches of the sampler; of an allocation to t rounds ceil(T / t) epochs.
/// \throws as `batch_release`; Error{invalid_argument} for a sampler that has no theorem for the adjacency.
/// \source docs/proofs/sampling.md#sgd
[[nodiscard]] Event plan(const SampledSgdOptions& options);

/// Runs the algorithm above on loss + h; returns one weight per feature. `plan(options)` is what `releaser` will be asked for, in equal
/// parts; its sampler has to be that of the options, or it refuses. The guarantee needs nothing of the data: what is too long is clipped.
///
/// \pre labels are as the objective wants them (`encode_labels`).
/// \throws Error{invalid_argument}, before the first release, when the data have no labels, when units have microbatches, when the data are not as many as batches of a fixed
///         or largest size are for, when n is not given under add-or-remove-one, and as `IterateKeeper`; Error{unsupported} as `batch_release`, and
///         when eta is not given and the loss is not smooth; and what the releaser throws.
/// \complexity O(T (stored values of a batch + features)) time and the sampler's, O(features) memory and the sampler's.
/// \source [ACG16] Algorithm 1; docs/proofs/sampling.md#sgd.
[[nodiscard]] std::vector<double> sampled_sgd(const Dataset& data, ObjectiveRef objective, const Regularizer& regularizer,
                                              const SampledSgdOptions& options, SamplingReleaser& releaser);

}  // namespace surety::optimizers
