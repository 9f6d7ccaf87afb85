// The taint test: private state may feed nothing but the noisy release it was made for.
//
// Run an optimizer on two data sets that differ in one record, with the same released values from a script. All that may
// differ between the runs is the content of the queries. Whatever else differs - an iterate, the result, a sensitivity, an
// event, the grid or length of a query, the number of releases - is a function of the record that no noise covers.
// Comparison is bit for bit: a leak need not be large.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/testing/releaser.h>

namespace surety::optimizers {

/// A domain that keeps every vector that it is asked to project: the iterates of an optimizer, from within.
template <std::derived_from<Projectable> D>
class WatchedDomain final : public Projectable {
 public:
  explicit WatchedDomain(D domain) : domain_{std::move(domain)} {}
  void project(std::span<double> weights) const override {
    iterates_.emplace_back(weights.begin(), weights.end());
    domain_.project(weights);
  }
  [[nodiscard]] const std::vector<std::vector<double>>& iterates() const { return iterates_; }

 private:
  D domain_;
  mutable std::vector<std::vector<double>> iterates_;
};

/// What one record did.
struct Difference {
  ::testing::AssertionResult untainted;  ///< nothing differs but what may
  double ratio;                          ///< the largest change of a query over its sensitivity: at most 1, or the claim is wrong
};

/// Everything that one run shows.
struct Trace {
  std::vector<std::vector<double>> iterates;
  std::vector<double> result;
  std::vector<testing::ScriptedReleaser::Request> requests;
};

/// `optimizer(data, domain, releaser)` returns every number of its result.
template <class Optimizer, std::derived_from<Projectable> D>
Trace trace(const Optimizer& optimizer, const Dataset& data, const D& domain, const std::vector<std::vector<double>>& released) {
  const WatchedDomain watched{domain};
  testing::ScriptedReleaser releaser{released};
  auto result = optimizer(data, watched, releaser);
  return {.iterates = watched.iterates(), .result = std::move(result), .requests = releaser.log()};
}

bool same_bits(std::span<const double> a, std::span<const double> b);

/// Success when nothing but the queries' content differs between the runs on `data` and on its neighbour.
template <class Optimizer, std::derived_from<Projectable> D>
::testing::AssertionResult untainted(const Optimizer& optimizer, const Dataset& data, const Dataset& neighbour, const D& domain,
                                     const std::vector<std::vector<double>>& released) {
  const Trace a = trace(optimizer, data, domain, released);
  const Trace b = trace(optimizer, neighbour, domain, released);
  const auto tainted = [](auto what) { return ::testing::AssertionFailure() << what << " depends on a record outside the releases"; };
  if (a.requests.size() != b.requests.size()) return tainted("the number of releases");
  for (std::size_t t = 0; t < a.requests.size(); ++t) {
    if (a.requests[t].query.steps.size() != b.requests[t].query.steps.size() || !(a.requests[t].query.grid == b.requests[t].query.grid)) {
      return tainted(fmt::format("the shape of query {}", t));
    }
    if (a.requests[t].sensitivity != b.requests[t].sensitivity) return tainted(fmt::format("sensitivity {}", t));
    if (!(a.requests[t].event == b.requests[t].event)) return tainted(fmt::format("event {}", t));
  }
  if (a.iterates.size() != b.iterates.size()) return tainted("the number of iterates");
  for (std::size_t t = 0; t < a.iterates.size(); ++t) {
    if (!same_bits(a.iterates[t], b.iterates[t])) return tainted(fmt::format("iterate {}", t));
  }
  if (!same_bits(a.result, b.result)) return tainted("the result");
  return ::testing::AssertionSuccess();
}

/// The l2 distance between two queries on one grid, in data units.
double query_distance(const GridVector& a, const GridVector& b);

/// By how much one more of two lists of scores changes than another.
double range_of_changes(std::span<const double> a, std::span<const double> b);

/// The largest distance between the queries of the runs on `data` and on its neighbour, given the same releases, over the
/// sensitivity that was claimed for them. At most 1, or the claim is wrong.
template <class Optimizer, std::derived_from<Projectable> D>
double largest_sensitivity_ratio(const Optimizer& optimizer, const Dataset& data, const Dataset& neighbour, const D& domain,
                                 const std::vector<std::vector<double>>& released) {
  const Trace a = trace(optimizer, data, domain, released);
  const Trace b = trace(optimizer, neighbour, domain, released);
  double largest = 0;
  for (std::size_t t = 0; t < std::min(a.requests.size(), b.requests.size()); ++t) {
    largest = std::max(largest, query_distance(a.requests[t].query, b.requests[t].query) / a.requests[t].sensitivity.value());
  }
  return largest;
}

}  // namespace surety::optimizers
