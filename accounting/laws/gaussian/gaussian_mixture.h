// What several records of one user add up to: mixtures of Gaussians at multiples of one shift, cut into cells. docs/proofs/users.md.
#pragma once

#include <cstdint>
#include <optional>

#include <surety/accounting/events/points.h>
#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting::laws {

/// Records of a user for which a component is made of each number of records in the batch.
inline constexpr std::uint64_t most_single_records = 256;
/// Records of a user at most, of which a mixture with few components is made.
inline constexpr std::uint64_t most_records_of_a_user = std::uint64_t{1} << 20;

/// The sum of `records` vectors of length 1, each in the batch with probability `rate`: i of them with probability
/// C(records, i) rate^i (1 - rate)^(records - i). \pre 0 < rate < 1, 1 <= records.
[[nodiscard]] GaussianMixtureBase binomial_mixture(double multiplier, std::uint64_t records, double rate);

/// At most some thousand components for many records: from above no number of records is smaller than the number that it stands for, from below
/// none is larger. \pre 0 < rate < 1, 1 <= records <= most_records_of_a_user. \source docs/proofs/users.md#many.
struct FewComponents {
  GaussianMixtureBase base;
  double lost;  ///< at most this share of P is in no component; 0 from below
};
enum class MixtureSide { above, below };
[[nodiscard]] FewComponents few_components(double multiplier, std::uint64_t records, double rate, MixtureSide side);

/// The shifts and weights of an event, the latter scaled to a sum of 1; nothing where nothing moves. \source docs/proofs/users.md#mixture.
[[nodiscard]] std::optional<GaussianMixtureBase> given_mixture(double multiplier, const MixtureParts& components);

/// `range`, `cells` and `largest_loss` of dominating_pair.h, for the mixings remove, add and opposite.
/// \complexity O(cells x weights).
[[nodiscard]] LossRange mixture_range(const GaussianMixtureBase& base, Mixing mixing, const Cut& cut);
[[nodiscard]] LossCells mixture_cells(const GaussianMixtureBase& base, Mixing mixing, double step, const Cut& cut);
[[nodiscard]] std::optional<Enclosure> mixture_largest_loss(const GaussianMixtureBase& base, Mixing mixing);

}  // namespace surety::accounting::laws
