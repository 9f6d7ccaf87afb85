// Counts against exact probabilities: each count of n independent draws is binomial, its tails are computed, not approximated.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>

namespace surety::testing {

/// The chance that a whole call of `counts_fit` fails on a true law: below this, by the union bound over its counts.
inline constexpr double false_alarm = 1e-10;

/// min(P(count <= observed), P(count >= observed)) <= level / 2, for a binomial count: of probability at most `level`.
bool is_rare(std::int64_t observed, std::int64_t n, double p, double level);

/// Whether the counts are consistent with independent draws of these probabilities.
::testing::AssertionResult counts_fit(std::span<const std::int64_t> counts, std::span<const double> probabilities);

}  // namespace surety::testing
