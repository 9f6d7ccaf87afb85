// The taint and sensitivity tests of algorithms that read disjoint batches (taint.h says what taint is).
//
// Run an algorithm on two data sets that differ in one record, with the same released values from a script. All that may differ are the
// queries of the batches that hold the record: one in each pass, and by no more than the sensitivity that was said for it. A second query
// of a pass that depends on the record would be released for nothing.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/doors/batch_releaser.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/releaser.h>

#include <support/empirical_epsilon.h>
#include <support/taint.h>

namespace surety::optimizers {

/// `algorithm(data, releaser)` returns every number of its result; a pass has `batches` releases, of which no more than one may differ.
template <class Algorithm>
Difference batch_difference(const Algorithm& algorithm, const Dataset& data, const Dataset& neighbour, std::uint64_t batches,
                            const std::vector<std::vector<double>>& released) {
  testing::ScriptedReleaser first{released};
  testing::ScriptedReleaser second{released};
  const std::vector<double> result = algorithm(data, first);
  const std::vector<double> other = algorithm(neighbour, second);
  double ratio = 0;
  const auto tainted = [&](const std::string& what) { return Difference{::testing::AssertionFailure() << what, ratio}; };
  if (first.log().size() != second.log().size()) return tainted("the number of releases depends on a record");
  std::size_t differing = 0;
  for (std::size_t t = 0; t < first.log().size(); ++t) {
    const auto& a = first.log()[t];
    const auto& b = second.log()[t];
    if (t % batches == 0) differing = 0;
    if (a.sensitivity != b.sensitivity || !(a.event == b.event) || !(a.query.grid == b.query.grid)) {
      return tainted(fmt::format("what release {} asks for depends on a record", t));
    }
    if (a.query == b.query) continue;
    if (++differing > 1) return tainted(fmt::format("release {} is the second of its pass that depends on one record", t));
    ratio = std::max(ratio, query_distance(a.query, b.query) / a.sensitivity.value());
  }
  if (!same_bits(result, other)) return tainted("the result depends on a record outside its releases");
  return {::testing::AssertionSuccess(), ratio};
}

/// y s: its gradient does not depend on the weights.
struct LinearLoss : LogisticLoss {
  [[nodiscard]] double value(double score, double label) const noexcept { return label * score; }
  [[nodiscard]] double derivative(double /*score*/, double label) const noexcept { return label; }
};

/// Keeps first coordinates of what another releaser releases: for lower bounds from runs.
struct WatchedReleaser final : Releaser {
  explicit WatchedReleaser(Releaser& inner) : releaser{inner} {}
  Releaser& releaser;
  double sum = 0;
  double last = 0;
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    auto released = releaser.release(query, sensitivity, event);
    last = released[0];
    sum += last;
    return released;
  }
};

/// In how many of `runs` runs `attack(releaser)` sees its event, with the noise of `seed`.
template <class Attack>
reference::Hits hits_of_releases(accounting::Reservation& reservation, const BatchPass& pass, std::uint64_t seed, std::uint64_t runs,
                                 const Attack& attack) {
  mechanisms::ReplayBits bits{seed};
  NoisyBatchReleaser noisy{reservation, bits, pass};
  std::uint64_t count = 0;
  for (std::uint64_t k = 0; k < runs; ++k) {
    WatchedReleaser releaser{noisy};
    if (attack(releaser)) ++count;
  }
  return {.hits = count, .runs = runs};
}

}  // namespace surety::optimizers
