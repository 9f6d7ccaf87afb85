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
// up to e = 2.72 times the claim (`printed_minibatch_factor`). Here it is phi b_t. (3) Raw weights exist nowhere, so none is output
// (Definition 1 outputs them). (4) The printed loops make one round too many and use records again for it. (5) Records are clipped, so
// that the guarantee needs nothing of the data.
//
// [LZCJ16] Li, Zhou, Chen, Jiang: Differentially Private Distributed Online Learning.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/data/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/gossip/exchange.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/gossip/mixing.h>
#include <surety/optimizers/problem/problem.h>

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

/// What a run is made of, all public.
struct GossipPass {
  std::uint64_t rounds;  ///< of a pass
  Event release;         ///< of one learner in one round
  Event pass;            ///< what all learners release in a pass: parallel, one part for each
};

/// \throws Error{unsupported} under add-or-remove-one: which record is in which batch of which learner is public;
///         Error{invalid_argument} when there are more learners than records, or a batch is larger than what a learner has.
[[nodiscard]] GossipPass pass(const GossipOptions& options, Count features);

/// What a run releases: E passes. \throws as `pass`. \source docs/proofs/gossip.md#cost.
[[nodiscard]] Event plan(const GossipOptions& options, Count features);

/// sqrt(dimension) x sensitivity, rounded up: what l2 sensitivity allows in l1.
[[nodiscard]] L1Sensitivity l1_sensitivity(L2Sensitivity sensitivity, std::size_t dimension);

/// begin(pass): what the run will ask for, once, before the first release.
/// release(learner, round, query, sensitivity): one noisy value per coordinate of `query`, in data units: the door for the data of
/// learners. `sensitivity` bounds how far one record moves the query in l2, given everything that was released before.
template <class R>
concept LearnerReleaser = requires(R& releaser, const GossipPass& pass, std::size_t learner, std::uint64_t round, const GridVector& query,
                                   L2Sensitivity sensitivity) {
  releaser.begin(pass);
  { releaser.release(learner, round, query, sensitivity) } -> std::same_as<std::vector<double>>;
};

/// of(learner): that learner's random bits.
template <class B>
concept LearnerBits = requires(B& bits, std::size_t learner) {
  requires mechanisms::ReleaseBits<std::remove_reference_t<decltype(bits.of(learner))>>;
};

/// One source for all learners of a node: fast, but what a learner draws depends on the other learners of its node.
template <mechanisms::ReleaseBits Bits>
class SharedBits {
 public:
  /// `bits` must outlive this.
  explicit SharedBits(Bits& bits) : bits_{bits} {}
  [[nodiscard]] Bits& of(std::size_t /*learner*/) noexcept { return bits_; }

 private:
  Bits& bits_;
};

/// A substream for each learner: the same noise however learners are spread over nodes. NOT private, as any replay.
class ReplayedLearnerBits {
 public:
  /// \throws Error{environment} as `ReplayBits::substream`.
  ReplayedLearnerBits(const mechanisms::ReplayBits& root, LearnerRange local);
  /// \pre the learner is local.
  [[nodiscard]] mechanisms::ReplayBits& of(std::size_t learner) noexcept { return sources_[learner - first_]; }

 private:
  std::size_t first_;
  std::vector<mechanisms::ReplayBits> sources_;
};

/// The mechanism of one kind of release for queries of one sensitivity on one grid.
class LearnerMechanism {
 public:
  /// \throws Error{unsupported} for an event that is not Laplace, K-norm in l2 or Gaussian; Error{invalid_argument} as the mechanisms.
  LearnerMechanism(const Event& release, const Grid& grid, std::size_t dimension, L2Sensitivity sensitivity);

  [[nodiscard]] bool is_for(const GridVector& query, L2Sensitivity sensitivity) const {
    return sensitivity == sensitivity_ && query.grid == grid_ && query.steps.size() == dimension_;
  }
  template <mechanisms::ReleaseBits Bits>
  [[nodiscard]] std::vector<double> release(const GridVector& query, Bits& bits) const {
    return std::visit([&](const auto& noise) { return noise.release(query, bits); }, noise_);
  }

 private:
  using Noise = std::variant<mechanisms::Laplace, mechanisms::KNorm, mechanisms::Gaussian>;
  static Noise make(const Event& release, const Grid& grid, std::size_t dimension, L2Sensitivity sensitivity);

  Grid grid_;
  std::size_t dimension_;
  L2Sensitivity sensitivity_;
  Noise noise_;
};

/// Says that the node of learner 0 has reserved the whole run, durably, before this node draws: only the nodes of later learners may say
/// it.
struct ChargedByFirstNode {};

/// Spends a pass from a reservation before its first draw, then draws the noise of one learner in one round. What production uses; private
/// when the bits are cryptographic. In a process made by fork it refuses: a pass is spent for one process.
template <LearnerBits B>
class NoisyLearnerReleaser {
 public:
  /// Reservation and bits must outlive the releaser.
  NoisyLearnerReleaser(accounting::Reservation& reservation, B& bits) : reservation_{&reservation}, bits_{bits} {}
  NoisyLearnerReleaser(ChargedByFirstNode /*owner*/, B& bits) : bits_{bits} {}

  /// \throws Error{internal} when called twice.
  void begin(const GossipPass& pass) {
    if (pass_) throw Error{ErrorCode::internal, "a releaser of learners has begun a run, must be new for another"};
    pass_ = pass;
  }

  /// Query and parameters are checked first, the pass of this round is spent next, and only then is a random bit drawn.
  /// \throws Error{internal} before `begin`, when the learner has released in this round or a later one, or when the reservation does not
  ///         hold the pass; Error{unsupported} for a release that no mechanism here makes; Error{invalid_argument} when the noise does not
  ///         fit the grid, and in a process made by fork; Error{environment} when the bits fail.
  [[nodiscard]] std::vector<double> release(std::size_t learner, std::uint64_t round, const GridVector& query, L2Sensitivity sensitivity) {
    home_.require_here("this releaser");
    if (!pass_) throw Error{ErrorCode::internal, "a releaser of learners has not begun, must be told the pass first"};
    if (!mechanism_ || !mechanism_->is_for(query, sensitivity)) {
      mechanism_.emplace(pass_->release, query.grid, query.steps.size(), sensitivity);
    }
    const auto [next, is_new] = next_round_.try_emplace(learner, 0);
    if (round < next->second) {
      throw Error{ErrorCode::internal, fmt::format("learner {} releases in round {}, must be in round {} or later: one release a round",
                                                   learner, round, next->second)};
    }
    while (reservation_ != nullptr && passes_ <= round / pass_->rounds) {
      reservation_->spend(pass_->pass);
      ++passes_;
    }
    next->second = round + 1;
    return mechanism_->release(query, bits_.of(learner));
  }

 private:
  HomeProcess home_;
  accounting::Reservation* reservation_ = nullptr;
  B& bits_;
  std::optional<GossipPass> pass_;
  std::uint64_t passes_ = 0;  ///< spent
  std::map<std::size_t, std::uint64_t> next_round_;
  std::optional<LearnerMechanism> mechanism_;  ///< the last one: its tables may take milliseconds to make
};

/// Returns the query itself: NOT private. The same algorithm without its noise, for tests and as a baseline.
struct ExactLearnerReleaser {
  void begin(const GossipPass& /*pass*/) const noexcept {}
  [[nodiscard]] std::vector<double> release(std::size_t /*learner*/, std::uint64_t /*round*/, const GridVector& query,
                                            L2Sensitivity /*sensitivity*/) const {
    return mechanisms::to_reals(query);
  }
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
template <Objective O, Projectable D, Exchange X, LearnerReleaser R>
[[nodiscard]] GossipResult gossip(std::span<const Dataset> parts, const O& objective, const D& domain, const GossipOptions& options,
                                  Mixing& mixing, X& engine, R& releaser, const GossipObserver& observe = {});

/// The mean of `vectors`, one after the other, each of `dimension` coordinates: in ascending order, so the same bits everywhere. O(size).
/// \throws Error{invalid_argument} when there is none, or they are no vectors of this dimension.
[[nodiscard]] std::vector<double> mean_vector(std::span<const double> vectors, std::size_t dimension);

/// The cost of the *printed* Algorithm 2 over its claim: the largest over rounds t of 1 + phi a_t + phi^2 a_t a_{t+1} + ..., up to the last
/// round; exact for Laplace noise where no projection binds, within a relative 2^-40. e for a_t = 1 / (phi t). O(rounds).
/// \source docs/proofs/gossip.md#printed.
[[nodiscard]] double printed_minibatch_factor(const StepRule& step, Regularization phi, std::uint64_t rounds);

namespace detail {
/// \throws Error{invalid_argument} unless everything is for the learners of `options`.
void require_gossip(std::span<const Dataset> parts, const GossipOptions& options, const Mixing& mixing, std::size_t learners,
                    LearnerRange local);
/// A public grid for the queries of these releases, as mechanisms::grid_for.
[[nodiscard]] Grid grid_of_learners(const LearnerNoise& noise, L2Sensitivity sensitivity, std::size_t dimension);
}  // namespace detail

template <Objective O, Projectable D, Exchange X, LearnerReleaser R>
GossipResult gossip(std::span<const Dataset> parts, const O& objective, const D& domain, const GossipOptions& options, Mixing& mixing,
                    X& engine, R& releaser, const GossipObserver& observe) {
  const LearnerRange local = engine.local();
  detail::require_gossip(parts, options, mixing, engine.learners(), local);
  const std::size_t dimension = parts.front().features();
  const GossipPass planned = pass(options, Count{dimension});
  const L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(options.clip, options.adjacency);
  mechanisms::RecordSum sum{
      {.clip = options.clip, .grid = detail::grid_of_learners(options.noise, sensitivity, dimension), .dimension = dimension}};
  const auto size = static_cast<std::size_t>(options.batch_size.value());
  const std::uint64_t rounds = options.passes.value() * planned.rounds;
  releaser.begin(planned);

  // Released values alone; the start is the same for all learners.
  std::vector<double> start(dimension, 0.0);
  domain.project(start);
  GossipResult result{.local = local, .last = {}, .mean = std::vector<double>(local.count() * dimension, 0.0)};
  std::vector<double>& parameters = result.last;
  for (std::size_t k = 0; k < local.count(); ++k) parameters.insert(parameters.end(), start.begin(), start.end());
  std::vector<double> mixed(parameters.size());
  std::uint64_t averaged = 0;

  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (observe) observe(round, parameters);
    engine.exchange(round, mixing.at(round), parameters, mixed);
    const double step = step_size(options.step, round + 1);
    for (std::size_t k = 0; k < local.count(); ++k) {
      const Dataset& data = parts[k];
      const auto before = std::span<const double>{mixed}.subspan(k * dimension, dimension);
      const auto after = std::span{parameters}.subspan(k * dimension, dimension);
      const double shrink = 1 - step * options.regularization.value();
      for (std::size_t j = 0; j < dimension; ++j) after[j] = shrink * before[j];
      const std::size_t first = static_cast<std::size_t>(round % planned.rounds) * size;
      if (first < data.size()) {
        const std::size_t end = std::min(first + size, data.size());
        sum.clear();
        add_gradients(data, objective, before, RecordRange{first, end}, sum);
        const std::vector<double> released = releaser.release(local.first + k, round, sum.sum(), sensitivity);
        const double factor = step / static_cast<double>(end - first);
        for (std::size_t j = 0; j < dimension; ++j) after[j] -= factor * released[j];
      }
      domain.project(after);
    }
    if (round >= rounds / 2) {
      const double share = 1 / static_cast<double>(++averaged);
      for (std::size_t j = 0; j < parameters.size(); ++j) result.mean[j] += share * (parameters[j] - result.mean[j]);
    }
    if (options.progress) options.progress(round + 1);
  }
  return result;
}

}  // namespace surety::optimizers
