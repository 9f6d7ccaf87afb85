// A stream in which the first record alone says anything, for tests of what its release shows.
#pragma once

#include <cstdint>
#include <vector>

#include <surety/optimizers/problem/dataset.h>

namespace surety::optimizers {

/// One feature: `algorithm` reads a record far beyond its clip, then records of nothing up to step `steps`.
template <class Algorithm, class Door>
void observe_first_record_alone(Algorithm& algorithm, double label, std::uint64_t steps, Door& door) {
  const std::vector<double> longest{100};
  const std::vector<double> zero{0};
  algorithm.observe({.indices = {}, .values = longest, .norm = 100}, label, door);
  for (std::uint64_t t = 2; t <= steps; ++t) algorithm.observe({.indices = {}, .values = zero, .norm = 0}, 1, door);
}

}  // namespace surety::optimizers
