// The taint and sensitivity tests of algorithms that run learners on many nodes (taint.h says what taint is).
//
// Run an algorithm on data that differ in one record of one learner, with the same released values from a script. All that may differ are
// that learner's queries of the rounds that hold the record: one in each pass, and by no more than the sensitivity that was said for it.
// Every message, every observed parameter and every number of the result must stay the same, bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/optimizers/gossip/gossip.h>
#include <surety/testing/learner_releaser.h>

#include <support/taint.h>

namespace surety::optimizers {

/// Keeps everything that learners send.
template <std::derived_from<Exchange> X>
class WatchedExchange final : public Exchange {
 public:
  explicit WatchedExchange(X engine) : engine_{std::move(engine)} {}
  [[nodiscard]] std::size_t learners() const override { return engine_.learners(); }
  [[nodiscard]] LearnerRange local() const override { return engine_.local(); }
  void exchange(std::uint64_t round, const MixingMatrix& matrix, std::span<const double> parameters, std::span<double> mixed) override {
    sent_.insert(sent_.end(), parameters.begin(), parameters.end());
    engine_.exchange(round, matrix, parameters, mixed);
  }
  [[nodiscard]] std::vector<double> gather(std::span<const double> parameters) override {
    sent_.insert(sent_.end(), parameters.begin(), parameters.end());
    return engine_.gather(parameters);
  }
  [[nodiscard]] const std::vector<double>& sent() const noexcept { return sent_; }

 private:
  X engine_;
  std::vector<double> sent_;
};

/// `algorithm(parts, engine, releaser)` returns every number of its result. `learner` has the record that differs: no more than one of its
/// queries in each pass may.
template <class Algorithm>
Difference learner_difference(const Algorithm& algorithm, std::span<const Dataset> parts, std::span<const Dataset> neighbours,
                              std::size_t learner, std::uint64_t passes, const testing::LearnerScript& script) {
  testing::ScriptedLearnerReleaser first{script};
  testing::ScriptedLearnerReleaser second{script};
  WatchedExchange engine{InProcessExchange{parts.size()}};
  WatchedExchange other_engine{InProcessExchange{parts.size()}};
  const std::vector<double> result = algorithm(parts, engine, first);
  const std::vector<double> other = algorithm(neighbours, other_engine, second);
  double ratio = 0;
  const auto tainted = [&](const std::string& what) { return Difference{::testing::AssertionFailure() << what, ratio}; };
  if (first.passes().size() != 1 || second.passes().size() != 1) return tainted("a run does not begin once");
  const GossipPass& pass = first.passes().front();
  if (!(pass.pass == second.passes().front().pass) || pass.rounds != second.passes().front().rounds) {
    return tainted("what is charged depends on a record");
  }
  if (first.log().size() != second.log().size()) return tainted("the number of releases depends on a record");
  std::set<std::pair<std::size_t, std::uint64_t>> seen;
  std::optional<std::uint64_t> last_pass;
  for (std::size_t k = 0; k < first.log().size(); ++k) {
    const auto& a = first.log()[k];
    const auto& b = second.log()[k];
    const auto name = fmt::format("the release of learner {} in round {}", a.learner, a.round);
    if (a.learner != b.learner || a.round != b.round || a.sensitivity != b.sensitivity || !(a.query.grid == b.query.grid)) {
      return tainted(name + ": what it asks for depends on a record");
    }
    if (a.round >= passes * pass.rounds) return tainted(name + " comes after the last pass");
    if (!seen.insert({a.learner, a.round}).second) return tainted(name + " is the second one there");
    if (a.query == b.query) continue;
    if (a.learner != learner) return tainted(name + " depends on a record of another learner");
    if (last_pass == a.round / pass.rounds) return tainted(name + " is the second of its pass that depends on one record");
    last_pass = a.round / pass.rounds;
    ratio = std::max(ratio, query_distance(a.query, b.query) / a.sensitivity.value());
  }
  if (!same_bits(engine.sent(), other_engine.sent())) return tainted("a message depends on a record outside the releases");
  if (!same_bits(result, other)) return tainted("the result depends on a record outside the releases");
  return {::testing::AssertionSuccess(), ratio};
}

}  // namespace surety::optimizers
