// The taint and sensitivity tests of streaming algorithms (taint.h says what taint is).
//
// Run an algorithm on two streams that differ in the record at one place, with the same released prefix sums from a script. All that may
// differ is the contribution pushed at that place, and by no more than the sensitivity that was said for it. Whatever else differs - any
// other contribution, a sensitivity, an iterate, the number of pushes - is a function of the record that no noise covers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include <surety/optimizers/doors/stream.h>
#include <surety/testing/stream.h>

#include <support/drawn_records.h>
#include <support/taint.h>

namespace surety::optimizers {

/// The distance between two contributions in the norm of the sensitivity, in data units.
inline double distance(const GridVector& a, const GridVector& b, L2Sensitivity /*norm*/) { return query_distance(a, b); }
inline double distance(const GridVector& a, const GridVector& b, L1Sensitivity /*norm*/) {
  double sum = 0;
  for (std::size_t j = 0; j < a.steps.size(); ++j) sum += std::abs(static_cast<double>(a.steps[j] - b.steps[j]));
  return sum * a.grid.step();
}
inline double distance(const GridVector& a, const GridVector& b, LinfSensitivity /*norm*/) {
  double largest = 0;
  for (std::size_t j = 0; j < a.steps.size(); ++j) largest = std::max(largest, std::abs(static_cast<double>(a.steps[j] - b.steps[j])));
  return largest * a.grid.step();
}

/// Everything that one run shows.
template <class Sensitivity>
struct StreamTrace {
  std::vector<std::vector<double>> iterates;
  std::vector<typename testing::ScriptedStream<Sensitivity>::Request> requests;
};

/// `algorithm(data, stream)` returns every vector that the algorithm shows, in order.
template <class Sensitivity = L2Sensitivity, class Algorithm, class Data>
StreamTrace<Sensitivity> stream_trace(const Algorithm& algorithm, const Data& data, Grid grid,
                                      const std::vector<std::vector<double>>& released) {
  testing::ScriptedStream<Sensitivity> stream{grid, released};
  auto iterates = algorithm(data, stream);
  return {.iterates = std::move(iterates), .requests = stream.log()};
}

/// The weights of `algorithm` after each record of `data`.
template <class Algorithm, class Stream>
std::vector<std::vector<double>> iterates_of(Algorithm algorithm, const Dataset& data, Stream& stream) {
  std::vector<std::vector<double>> iterates;
  for (std::size_t i = 0; i < data.size(); ++i) {
    algorithm.observe(data.row(i), data.label(i), stream);
    iterates.emplace_back(algorithm.weights().begin(), algorithm.weights().end());
  }
  return iterates;
}

/// What replacing the record at place `place` (from 0) of a stream did: nothing may differ but the contribution at that place.
/// `apart(a, b, sensitivity)` is the distance between two contributions in the norm of the sensitivity.
template <class Sensitivity = L2Sensitivity, class Algorithm, class Data, class Distance>
Difference stream_difference(const Algorithm& algorithm, const Data& data, const Data& neighbour, std::size_t place, Grid grid,
                             const std::vector<std::vector<double>>& released, const Distance& apart) {
  const auto a = stream_trace<Sensitivity>(algorithm, data, grid, released);
  const auto b = stream_trace<Sensitivity>(algorithm, neighbour, grid, released);
  double ratio = 0;
  const auto tainted = [&](const std::string& what) {
    return Difference{::testing::AssertionFailure() << what << " depends on a record outside its release", ratio};
  };
  if (a.requests.size() != b.requests.size()) return tainted("the number of pushes");
  for (std::size_t t = 0; t < a.requests.size(); ++t) {
    const auto& x = a.requests[t];
    const auto& y = b.requests[t];
    if (x.sensitivity != y.sensitivity) return tainted(fmt::format("sensitivity {}", t));
    if (x.contribution.steps.size() != y.contribution.steps.size()) return tainted(fmt::format("the shape of push {}", t));
    if (t == place) {
      ratio = apart(x.contribution, y.contribution, x.sensitivity) / x.sensitivity.value();
    } else if (!(x.contribution == y.contribution)) {
      return tainted(fmt::format("push {}", t));
    }
  }
  if (a.iterates.size() != b.iterates.size()) return tainted("the number of iterates");
  for (std::size_t t = 0; t < a.iterates.size(); ++t) {
    if (!same_bits(a.iterates[t], b.iterates[t])) return tainted(fmt::format("iterate {}", t));
  }
  return {::testing::AssertionSuccess(), ratio};
}

template <class Sensitivity = L2Sensitivity, class Algorithm, class Data>
Difference stream_difference(const Algorithm& algorithm, const Data& data, const Data& neighbour, std::size_t place, Grid grid,
                             const std::vector<std::vector<double>>& released) {
  return stream_difference<Sensitivity>(algorithm, data, neighbour, place, grid, released,
                                        [](const auto& a, const auto& b, auto norm) { return distance(a, b, norm); });
}

/// Three records, the first beyond the clip of the tests, and released values for them.
inline const std::vector<DrawnRecord> planted_records{{{3, 0.1}, 1}, {{-0.3, 0.4}, -1}, {{0.2, 0.7}, 1}};
inline const std::vector<std::vector<double>> planted_releases{{1, 2}, {0.5, -1}, {-2, 1}};

/// What turning the first of them to its opposite does to an algorithm, with a planted mistake or without.
template <class Algorithm>
Difference planted_difference(const Algorithm& algorithm, Grid grid) {
  return stream_difference(algorithm, assemble(planted_records), assemble(turned(planted_records, 0)), 0, grid, planted_releases);
}

}  // namespace surety::optimizers
