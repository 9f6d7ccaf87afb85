// The one way by which a statistic leaves.
#pragma once

#include <vector>

#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/statistics/integer_sum.h>
#include <surety/statistics/noise.h>

namespace surety::statistics {

/// Noise for `sum` that is `event`: laplace(b) or gaussian(z). \throws Error{unsupported} for another event; Error{invalid_argument} where
/// the noise does not fit the grid.
[[nodiscard]] StatisticNoise noise_for(const StatisticSum& sum, const Event& event);

/// z of gaussian(z) or b of laplace(b), which grids are made for. \throws Error{unsupported} for another event.
[[nodiscard]] NoiseMultiplier multiplier_of(const Event& event);

/// Spends from `reservation`, then draws the noise: the one way by which a statistic leaves. \throws Error{internal} when the reservation
/// does not hold the event; Error{environment} when the bits fail.
[[nodiscard]] std::vector<double> release(const StatisticSum& sum, const StatisticNoise& noise, accounting::Reservation& reservation,
                                          mechanisms::BitsRef bits);

}  // namespace surety::statistics
