// The door for learners that have records of their own: in each round each of them may release one query.
//
// A record takes part in one release of one learner in each pass, and given the releases before, nothing else depends on it: a pass is
// charged once for all learners (docs/proofs/gossip.md#cost). What was said of `Releaser` (run.h) holds here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/base/system/home_process.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>

namespace surety::optimizers {

/// What a run is made of, all public.
struct GossipPass {
  std::uint64_t rounds;  ///< of a pass
  Event release;         ///< of one learner in one round
  Event pass;            ///< what all learners release in a pass: parallel, one part for each
};

class LearnerReleaser {
 public:
  virtual ~LearnerReleaser() = default;

  /// What the run will ask for, once, before the first release.
  virtual void begin(const GossipPass& pass) = 0;
  /// One noisy value per coordinate of `query`, in data units. `sensitivity` bounds how far one record moves the query in l2, given everything
  /// that was released before.
  [[nodiscard]] virtual std::vector<double> release(std::size_t learner, std::uint64_t round, const GridVector& query,
                                                    L2Sensitivity sensitivity) = 0;
};

/// Where learners' random bits come from.
class LearnerBits {
 public:
  virtual ~LearnerBits() = default;
  /// That learner's.
  [[nodiscard]] virtual mechanisms::BitsRef of(std::size_t learner) = 0;
};

/// One source for all learners of a node: fast, but what a learner draws depends on the other learners of its node.
class SharedBits final : public LearnerBits {
 public:
  /// `bits` must outlive this.
  explicit SharedBits(mechanisms::BitsRef bits) : bits_{bits} {}
  [[nodiscard]] mechanisms::BitsRef of(std::size_t /*learner*/) noexcept override { return bits_; }

 private:
  mechanisms::BitsRef bits_;
};

/// sqrt(dimension) x sensitivity, rounded up: what l2 sensitivity allows in l1.
[[nodiscard]] L1Sensitivity l1_sensitivity(L2Sensitivity sensitivity, std::size_t dimension);

/// The mechanism of one kind of release for queries of one sensitivity on one grid.
class LearnerMechanism {
 public:
  /// \throws Error{unsupported} for an event that is not Laplace, K-norm in l2 or Gaussian; Error{invalid_argument} as the mechanisms.
  LearnerMechanism(const Event& release, const Grid& grid, std::size_t dimension, L2Sensitivity sensitivity);

  [[nodiscard]] bool is_for(const GridVector& query, L2Sensitivity sensitivity) const {
    return sensitivity == sensitivity_ && query.grid == grid_ && query.steps.size() == dimension_;
  }
  [[nodiscard]] std::vector<double> release(const GridVector& query, mechanisms::BitsRef bits) const;

 private:
  using Mechanism = std::variant<mechanisms::Laplace, mechanisms::KNorm, mechanisms::Gaussian>;
  static Mechanism make(const Event& release, const Grid& grid, std::size_t dimension, L2Sensitivity sensitivity);

  Grid grid_;
  std::size_t dimension_;
  L2Sensitivity sensitivity_;
  Mechanism mechanism_;
};

/// Says that the node of learner 0 has reserved the whole run, durably, before this node draws: only the nodes of later learners may say
/// it.
struct ChargedByFirstNode {};

/// Spends a pass from a reservation before its first draw, then draws the noise of one learner in one round. What production uses; private
/// when the bits are cryptographic. In a process made by fork it refuses: a pass is spent for one process.
class NoisyLearnerReleaser final : public LearnerReleaser {
 public:
  /// Reservation and bits must outlive the releaser.
  NoisyLearnerReleaser(accounting::Reservation& reservation, LearnerBits& bits) : reservation_{&reservation}, bits_{bits} {}
  NoisyLearnerReleaser(ChargedByFirstNode /*owner*/, LearnerBits& bits) : bits_{bits} {}

  /// \throws Error{internal} when called twice.
  void begin(const GossipPass& pass) override;

  /// Query and parameters are checked first, the pass of this round is spent next, and only then is a random bit drawn.
  /// \throws Error{internal} before `begin`, when the learner has released in this round or a later one;
  ///         Error{budget_exceeded} when the reservation does not hold the pass; Error{unsupported} for a release that no mechanism here makes; Error{invalid_argument} when the noise does not
  ///         fit the grid, and in a process made by fork; Error{environment} when the bits fail.
  [[nodiscard]] std::vector<double> release(std::size_t learner, std::uint64_t round, const GridVector& query,
                                            L2Sensitivity sensitivity) override;

 private:
  HomeProcess home_;
  accounting::Reservation* reservation_ = nullptr;
  LearnerBits& bits_;
  std::optional<GossipPass> pass_;
  std::uint64_t passes_ = 0;  ///< spent
  std::map<std::size_t, std::uint64_t> next_round_;
  std::optional<LearnerMechanism> mechanism_;  ///< the last one: its tables may take milliseconds to make
};

}  // namespace surety::optimizers
