// The dominating pair of a release on the integers with binomial or Skellam noise, whose probabilities are added up term by term.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <surety/accounting/events/event.h>
#include <surety/accounting/laws/losses/loss_law.h>

namespace surety::accounting::laws {

/// What the bounds are made of. A test leaves one out and sees the truth escape.
struct IntegerNoiseTerms {
  bool outside = true;  ///< outcomes that are left out count as infinite loss
  bool chords = true;   ///< a place of several outcomes is split between its two ends in the upper law
  /// The number of places for outcomes of one sign of the loss. Where there are more outcomes, neighbours share a place.
  std::size_t most_places = std::size_t{1} << 17;
};

/// Laws of one release from above and from below.
struct IntegerNoiseLaws {
  LossLaw upper;
  std::optional<LossLaw> lower;  ///< nothing where too much of the distribution is left out
};

/// Standard deviations beyond this have too many outcomes to be added up.
inline constexpr double largest_integer_deviation = 0x1p16;

/// The noise around `sensitivity` against the noise around 0. The pair is its own reverse, since the noise is symmetric. Nothing where the two distributions
/// overlap too little. \pre a standard deviation of at most `largest_integer_deviation`.
/// \complexity O(standard deviation) logarithms, at most 3 10^6. \source docs/proofs/pld.md#integer-noise
[[nodiscard]] std::optional<IntegerNoiseLaws> binomial_laws(Count flips, Count sensitivity, const IntegerNoiseTerms& terms = {});
[[nodiscard]] std::optional<IntegerNoiseLaws> skellam_laws(PoissonMean mean, Count sensitivity, const IntegerNoiseTerms& terms = {});

/// Whether `release` is one of the two.
[[nodiscard]] bool has_integer_noise(const Event& release);
/// Why its laws are not made, for a message that begins with the release; nothing where they may be. Makes none.
[[nodiscard]] std::optional<std::string> why_no_integer_noise_laws(const Event& release);
/// Its laws, cached; null where the two distributions overlap too little. \pre why_no_integer_noise_laws(release) has no reason
/// \param most_places as in IntegerNoiseTerms. A grid makes a cell of each place, so it uses fewer
inline constexpr std::size_t places_of_grid = std::size_t{1} << 13;
[[nodiscard]] std::shared_ptr<const IntegerNoiseLaws> integer_noise_laws(const Event& release, std::size_t most_places = places_of_grid);

inline constexpr std::string_view too_little_integer_noise = "has too little noise for its sensitivity";

}  // namespace surety::accounting::laws
