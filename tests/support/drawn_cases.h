// Many drawn pairs of neighbours, each of which must hold, and one of which must come near the sensitivity that is claimed.
#pragma once

#include <cstdint>
#include <functional>
#include <random>

#include <support/taint.h>

namespace surety::optimizers {

/// Runs `one_case` 10,000 times on random words of `seed`: expects that nothing leaks, that no query changes by more than its sensitivity, and
/// that some changes by more than `nearly` of it (else the test would not see a sensitivity that is too small). The largest ratio is recorded.
void expect_all_within_sensitivity(std::uint64_t seed, const std::function<Difference(std::mt19937_64& random)>& one_case,
                                   double nearly = 0.99);

/// Expects a lower bound on epsilon from runs that does not contradict what is charged and comes to `part` of it. The quotient is recorded.
void expect_charged(double lower, double charged, double part = 0.5);

}  // namespace surety::optimizers
