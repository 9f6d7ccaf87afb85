// Noise that fits a statistic, and how far it reaches.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>

namespace surety::statistics {

using StatisticNoise = std::variant<mechanisms::Laplace, mechanisms::Gaussian>;

[[nodiscard]] Event event_of(const StatisticNoise& noise);
[[nodiscard]] std::string_view name(const StatisticNoise& noise);
/// Standard deviation of the ideal noise on each coordinate, before it is rounded to the grid.
[[nodiscard]] double standard_deviation(const StatisticNoise& noise);

/// The smallest multiple t of the grid step with P(|noise| > t) <= `exceeded`, by interval arithmetic from the law of the rounded noise:
/// erfc((t + g/2) / (sigma sqrt 2)) for the Gaussian, exp(-(t + g/2) / b) for Laplace. \pre 2^-60 <= exceeded < 1.
[[nodiscard]] double quantile(const StatisticNoise& noise, double exceeded);

/// P(noise >= x) for x steps of the grid, by interval arithmetic from the law of the rounded noise.
[[nodiscard]] Enclosure probability_at_least(const StatisticNoise& noise, std::int64_t steps);

}  // namespace surety::statistics
