// What an epoch of random allocation shows to whoever looks at one number,
//
//     T = sum over its rounds of log(1 - q + q Y_i),   Y_i = exp(mu g_i - mu^2 / 2), mu = 1 / multiplier,
//
// g_i the release of round i over its noise. It is post-processing, so the laws of T bound the epoch's pair from below, in both directions and also
// in compositions: nearly sharply, since the ratio of an epoch is nearly a function of T. docs/proofs/allocated.md derives them.
#pragma once

#include <cstdint>
#include <vector>

#include <surety/accounting/laws/epochs/dealt_records.h>
#include <surety/accounting/laws/losses/loss_law.h>

namespace surety::accounting {

/// Laws of T rounded to a grid, as finitely many atoms: P against Q, and Q against P. P-masses are rounded down and Q-masses up, each pair's own.
struct SumLaws {
  AtomsBase removed;
  AtomsBase added;
};

/// \pre multiplier > 0; there is a participation, all of them in at most `rounds` rounds; 0 < rate < 1, the q above: any is sound, .1 to .8 of the
///     mean number of participations in a round is good; blur > 0, the share that rounding may add to the variance of T where it is widest.
/// \return no atoms where digits do not suffice: rounds with too little noise, or more than 2^24 of them.
/// \complexity O(N log N) for each participation, N some 100 sqrt(rounds / blur) points, at most 2^17; the last few are kept.
/// \source docs/proofs/allocated.md#k-of-t-from-below
[[nodiscard]] SumLaws sum_of_logarithms(double multiplier, std::uint64_t rounds, const std::vector<DealtRecords>& all, double rate,
                                        double blur);

/// The same under replace-one, `multiplier` the noise over the bound on one record: of the sum of log(1 - q + q Y_i) - log(1 - q + q Y'_i), Y'_i that of -g_i,
/// with the record against with the opposite one. The pair's own reverse has the same law. \source docs/proofs/allocated.md#k-of-t-from-below
[[nodiscard]] AtomsBase sum_of_differences(double multiplier, std::uint64_t rounds, const std::vector<DealtRecords>& all, double rate,
                                           double blur);

/// How many points, unless there is a bound on them, either of these takes, the latter `is_odd`: what it costs. 0 where digits do not suffice.
[[nodiscard]] double points_of_sum(double multiplier, std::uint64_t rounds, const std::vector<DealtRecords>& all, double rate, double blur,
                                   bool is_odd);

}  // namespace surety::accounting
