// The taint and sensitivity tests of algorithms that draw secret batches (taint.h says what taint is).
//
// Run an algorithm on two data sets that differ in one record, with the same released values and the same batches from a script; where the
// record is added, the batches of the larger data set hold it or not as the script says, and those of the smaller one are the same without
// it. All that may differ are the queries of batches that hold the record, by no more than the sensitivity that was said for them. A query
// that differs although its batch does not hold the record was not computed from the batch; a result that differs depends on something
// secret, such as the size of a batch.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <surety/optimizers/doors/sampled_releaser.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/testing/sampling_releaser.h>

#include <support/taint.h>

namespace surety::optimizers {

using Script = std::vector<std::vector<double>>;
using Places = std::vector<std::vector<std::size_t>>;

/// `algorithm(data, releaser)` returns every number of its result. `place` is that of the differing record, or of what is sampled and holds
/// it; when `is_added`, `data` lack it, and it is the last place of `neighbour`. No query may differ but those of batches that hold it and of
/// all records.
template <class Algorithm>
Difference sampled_difference(const Algorithm& algorithm, const Dataset& data, const Dataset& neighbour, std::size_t place, bool is_added,
                              const Places& batches, const Script& released) {
  Places others = batches;
  if (is_added) {
    for (auto& batch : others) batch.erase(std::remove(batch.begin(), batch.end(), place), batch.end());
  }
  testing::ScriptedSamplingReleaser first{others, released};
  testing::ScriptedSamplingReleaser second{batches, released};
  const std::vector<double> result = algorithm(data, first);
  const std::vector<double> other = algorithm(neighbour, second);
  double ratio = 0;
  const auto tainted = [&](const std::string& what) { return Difference{::testing::AssertionFailure() << what, ratio}; };
  if (first.log().size() != second.log().size()) return tainted("the number of releases depends on a record");
  for (std::size_t t = 0; t < first.log().size(); ++t) {
    const auto& a = first.log()[t];
    const auto& b = second.log()[t];
    if (a.sensitivity != b.sensitivity || !(a.event == b.event) || !(a.query.grid == b.query.grid) || a.batch != b.batch) {
      return tainted(fmt::format("what release {} asks for depends on a record", t));
    }
    if (a.query == b.query) continue;
    if (a.batch && !std::binary_search(batches[*a.batch].begin(), batches[*a.batch].end(), place)) {
      return tainted(fmt::format("release {} depends on a record that its batch does not hold", t));
    }
    ratio = std::max(ratio, query_distance(a.query, b.query) / a.sensitivity.value());
  }
  if (!same_bits(result, other)) return tainted("the result depends on a record outside its releases");
  return {::testing::AssertionSuccess(), ratio};
}

}  // namespace surety::optimizers
