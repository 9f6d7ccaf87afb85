// Releasers of learners that are NOT private: the query itself, and a script.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/learner_releaser.h>

namespace surety::testing {

/// Returns the query itself: NOT private. The same algorithm without its noise, for tests and as a baseline.
struct ExactLearnerReleaser final : optimizers::LearnerReleaser {
  void begin(const optimizers::GossipPass& /*pass*/) override {}
  [[nodiscard]] std::vector<double> release(std::size_t /*learner*/, std::uint64_t /*round*/, const GridVector& query,
                                            L2Sensitivity /*sensitivity*/) override {
    return mechanisms::to_reals(query);
  }
};

/// What is released by a learner in a round.
using LearnerScript = std::function<std::vector<double>(std::size_t learner, std::uint64_t round)>;

/// Replays a script and logs what was asked: for tests. What it returns does not depend on the data at all.
class ScriptedLearnerReleaser final : public optimizers::LearnerReleaser {
 public:
  struct Request {
    std::size_t learner;
    std::uint64_t round;
    GridVector query;
    L2Sensitivity sensitivity;
  };

  explicit ScriptedLearnerReleaser(LearnerScript script) : script_{std::move(script)} {}

  void begin(const optimizers::GossipPass& pass) override { passes_.push_back(pass); }
  [[nodiscard]] std::vector<double> release(std::size_t learner, std::uint64_t round, const GridVector& query,
                                            L2Sensitivity sensitivity) override {
    log_.push_back({learner, round, query, sensitivity});
    return script_(learner, round);
  }

  [[nodiscard]] const std::vector<Request>& log() const noexcept { return log_; }
  [[nodiscard]] const std::vector<optimizers::GossipPass>& passes() const noexcept { return passes_; }

 private:
  LearnerScript script_;
  std::vector<Request> log_;
  std::vector<optimizers::GossipPass> passes_;
};

}  // namespace surety::testing
