// Private distributed learning: [LZCJ16] Algorithms 1 and 2. Each of m learners has records of its own; in round t learner i does
//
//     b_t^i = sum_j a_ij(t) w_t^j                                                    what neighbours sent (exchange.h)
//     r_t^i = sum over its next h records of clip_C(grad loss(b_t^i, z)) + noise     the only thing it ever computes from records
//     w_{t+1}^i = project(b_t^i - alpha_t (phi b_t^i + r_t^i / h))                   what it keeps, sends and outputs
//
// from w_0 = project(0), t = 0 .. ceil(n_0 / h) - 1 in each of E passes, where n_0 is the largest number of records of a learner. Algorithm
// 1 is h = 1, one record a round. A learner whose records of the pass are used up releases nothing and steps without r.
//
// The noise is Laplace, l2 K-norm or Gaussian, for the l2 sensitivity s = 2C of the sum of a batch (C under zero-out; sqrt(d) s in l1). In
// w_{t+1} it has the size that the paper gives its noise, alpha_t s / h.
//
// A record takes part in one release of one learner in each pass, and given the releases before, nothing else depends on it. So a pass
// costs as much as one release and E passes as much as E: docs/proofs/gossip.md.
//
// Differences from the paper. (1) Noise is added to the gradients, before the projection: the weights stay in the domain, the sensitivity
// is exact and needs no property of the projection (the paper's proof claims that it is nonexpansive in l1, which is false). (2) Step 6 of
// the printed Algorithm 2 uses phi w_t with the learner's own weights *without* noise, which carries each record into all later releases:
// up to e = 2.72 times the claim (docs/proofs/gossip.md#printed). Here it is phi b_t. (3) Raw weights exist nowhere, so none is output
// (Definition 1 outputs them). (4) The printed loops make one round too many and use records again for it. (5) Records are clipped, so
// that the guarantee needs nothing of the data.
//
// [LZCJ16] Li, Zhou, Chen, Jiang: Differentially Private Distributed Online Learning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/learner_releaser.h>
#include <surety/optimizers/gossip/exchange.h>
#include <surety/optimizers/gossip/mixing.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

/// The noise of every release; a scale is 1 / epsilon.
struct LaplaceNoise {
  NoiseScale scale;  ///< b of each coordinate over the l1 sensitivity
};
struct L2KNormNoise {
  NoiseScale scale;  ///< b of the density exp(-||x||_2 / b) over the l2 sensitivity: less noise than Laplace
};
struct GaussianNoise {
  NoiseMultiplier multiplier;  ///< sigma over the l2 sensitivity
};
using LearnerNoise = std::variant<LaplaceNoise, L2KNormNoise, GaussianNoise>;

struct StepDecayRule : Positive {
  static constexpr std::string_view name = "step decay";
};

/// alpha_t = step.
struct ConstantStep {
  StepSize step;
};
/// alpha_t = step / sqrt(t).
struct InverseRootStep {
  StepSize step;
};
/// alpha_t = 1 / (decay t): for objectives that are decay-strongly convex, with what `phi` adds.
struct InverseStep {
  Quantity<StepDecayRule> decay;
};
/// alpha_t for rounds t = 1, 2, ...
using StepRule = std::variant<ConstantStep, InverseRootStep, InverseStep>;
/// \pre round >= 1.
[[nodiscard]] double step_size(const StepRule& rule, std::uint64_t round);

/// All public, and so is the number of records of each learner.
struct GossipOptions {
  LearnerNoise noise;
  Count records;                ///< n, of all learners together
  Count learners;               ///< m
  Count batch_size = Count{1};  ///< h, the records of a learner in a round
  Count passes = Count{1};      ///< E
  Adjacency adjacency = Adjacency::replace_one;
  StepRule step = InverseRootStep{StepSize{1}};
  Regularization regularization{0};                  ///< phi
  ClippingNorm clip{1};                              ///< C
  std::function<void(std::uint64_t)> progress = {};  ///< called with the number of rounds done, which is public, after each
};

/// n / m, and one more for the first n mod m learners. \throws Error{invalid_argument} unless learner < learners <= records.
[[nodiscard]] std::size_t records_of_learner(Count records, Count learners, std::size_t learner);

/// The records of the learners in `local`: learner i has records i, i + m, i + 2m, ... of `data`.
/// \throws Error{invalid_argument} when there are more learners than records. O(stored values).
[[nodiscard]] std::vector<Dataset> deal_records(const Dataset& data, Count learners, LearnerRange local);

/// \throws Error{unsupported} under add-or-remove-one: which record is in which batch of which learner is public;
///         Error{invalid_argument} when there are more learners than records, or a batch is larger than what a learner has.
[[nodiscard]] GossipPass pass(const GossipOptions& options, Count features);

/// What a run releases: E passes. \throws as `pass`. \source docs/proofs/gossip.md#cost.
[[nodiscard]] Event plan(const GossipOptions& options, Count features);

/// A substream for each learner: the same noise however learners are spread over nodes. NOT private, as any replay.
class ReplayedLearnerBits final : public LearnerBits {
 public:
  /// \throws Error{environment} as `ReplayBits::substream`.
  ReplayedLearnerBits(const mechanisms::ReplayBits& root, LearnerRange local);
  /// \pre the learner is local.
  [[nodiscard]] mechanisms::BitsRef of(std::size_t learner) noexcept override { return sources_[learner - first_]; }

 private:
  std::size_t first_;
  std::vector<mechanisms::ReplayBits> sources_;
};

/// What the learners of one node have learned, their vectors one after the other: released, may be shown.
struct GossipResult {
  LearnerRange local;
  std::vector<double> last;  ///< w after the last round
  std::vector<double> mean;  ///< of w over the last half of the rounds
};

/// Called in every round, before it, with the parameters w_t of this node's learners: released, may be shown.
using GossipObserver = std::function<void(std::uint64_t round, std::span<const double> parameters)>;

/// Runs the algorithm above for the learners of this node. `parts[k]` holds the records of learner local.first + k. Every node calls it
/// with equal options and mixing. `pass(options, features)` is what `releaser` will be asked for, E times.
///
/// The guarantee needs nothing of the data: what is too long is clipped.
///
/// \pre labels are as the objective wants them.
/// \throws Error{invalid_argument}, before the first release, when parts, mixing or engine are not for these learners, or a part has no
///         labels or not as many records as its learner should; what `pass` throws; Error{environment} when messages do not come; and what
///         the releaser throws.
/// \complexity O(E (stored values + n / h features + rounds x entries of the mixing matrices x features)) time for one node.
/// \source [LZCJ16] Algorithms 1 and 2; docs/proofs/gossip.md.
[[nodiscard]] GossipResult gossip(std::span<const Dataset> parts, ObjectiveRef objective, const Projectable& domain,
                                  const GossipOptions& options, Mixing& mixing, Exchange& engine, LearnerReleaser& releaser,
                                  const GossipObserver& observe = {});

/// The mean of `vectors`, one after the other, each of `dimension` coordinates: in ascending order, so the same bits everywhere. O(size).
/// \throws Error{invalid_argument} when there is none, or they are no vectors of this dimension.
[[nodiscard]] std::vector<double> mean_vector(std::span<const double> vectors, std::size_t dimension);

}  // namespace surety::optimizers
