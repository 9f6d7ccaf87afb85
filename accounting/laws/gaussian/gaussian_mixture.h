// What several records of one user add up to: mixtures of Gaussians at multiples of one shift, cut into cells. docs/proofs/users.md.
#pragma once

#include <cstdint>
#include <optional>

#include <surety/accounting/events/points.h>
#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting::laws {

/// Records of a user that a mixture is made for at most.
inline constexpr std::uint64_t most_records_of_a_user = 256;

/// The sum of `records` vectors of length 1, each in the batch with probability `rate`: i of them with probability
/// C(records, i) rate^i (1 - rate)^(records - i). \pre 0 < rate < 1, 1 <= records <= most_records_of_a_user.
[[nodiscard]] GaussianMixtureBase binomial_mixture(double multiplier, std::uint64_t records, double rate);

/// The shifts and weights of an event, the latter scaled to a sum of 1; nothing where nothing moves. \source docs/proofs/users.md#mixture.
[[nodiscard]] std::optional<GaussianMixtureBase> given_mixture(double multiplier, const MixtureParts& components);

/// `range`, `cells` and `largest_loss` of dominating_pair.h, for the mixings remove, add and opposite.
/// \complexity O(cells x weights).
[[nodiscard]] LossRange mixture_range(const GaussianMixtureBase& base, Mixing mixing, const Cut& cut);
[[nodiscard]] LossCells mixture_cells(const GaussianMixtureBase& base, Mixing mixing, double step, const Cut& cut);
[[nodiscard]] std::optional<Enclosure> mixture_largest_loss(const GaussianMixtureBase& base, Mixing mixing);

}  // namespace surety::accounting::laws
