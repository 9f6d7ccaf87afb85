// Output perturbation: [CMS11] Algorithm 1. The minimiser of the regularised loss, then noise:
//
//     w = argmin_v  weight sum_i loss_C(<v, x_i>, y_i) + (lambda/2) ||v||^2   + noise,      weight = 1/n .
//
// One record moves the minimiser by at most 2C / (n lambda) under replace-one and C / (n lambda) otherwise, in l2. Differences from the
// paper: rows are scaled and gradients clipped, so that nothing need be true of the data; what the solver and rounding leave is part of the
// sensitivity; noise is Gaussian, or of density exp(-||x||_2 / b) as there; and under add-or-remove-one, where n is a public guess, weights
// shrink a little as records are more (`record_weight`), so that no number of records costs more.
//
// [CMS11] Chaudhuri, Monteleoni, Sarwate: Differentially Private Empirical Risk Minimization, JMLR 2011.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/data/dataset.h>
#include <surety/optimizers/empirical_risk/minimizer.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/doors/run.h>

namespace surety::optimizers {

/// All public.
struct OutputPerturbationOptions {
  std::variant<NoiseMultiplier, NoiseScale> noise;  ///< Gaussian of that multiplier, or l2 K-norm noise of that scale: 1 / epsilon
  Regularization regularization;                    ///< lambda, greater than 0
  Adjacency adjacency = Adjacency::replace_one;
  ClippingNorm clip{1};                    ///< C
  Radius row_norm{1};                      ///< R: longer rows are scaled down to it
  std::optional<Count> public_count = {};  ///< n; default the number of records, which add-or-remove-one keeps private
  std::size_t threads = 1;                 ///< the result does not depend on them
};

/// What a run releases, with `features` weights.
[[nodiscard]] inline Event plan(const OutputPerturbationOptions& options, Count features) {
  if (const auto* const multiplier = std::get_if<NoiseMultiplier>(&options.noise)) return gaussian(*multiplier, options.adjacency);
  return release(Event::KNorm{NormName::l2, features, std::get<NoiseScale>(options.noise)}, options.adjacency);
}

/// The weight of each of `records` records: 1/n under replace-one and zero-out. Under add-or-remove-one (1 - N / (256 n)) / n for N records
/// up to 128 n, and 64 / N beyond: then adding one to N records moves a sum of vectors of norm at most C by at most C / n, and the weights
/// sum to at most 64, for every N.
/// \source docs/proofs/output-perturbation.md#weights
[[nodiscard]] inline double record_weight(Adjacency adjacency, Count public_count, std::size_t records) {
  const auto n = static_cast<double>(public_count.value());
  if (adjacency != Adjacency::add_or_remove_one) return 1 / n;
  const auto count = static_cast<double>(records);
  return count <= 128 * n ? (1 - count / (256 * n)) / n : 64 / count;
}

/// How far one record can move the minimiser, as computed, before rounding to a grid. Rounded up.
/// \throws as `minimum_distance`. \source docs/proofs/output-perturbation.md#output-perturbation
template <ConvexObjective O>
[[nodiscard]] L2Sensitivity minimizer_sensitivity(const O& objective, const OutputPerturbationOptions& options, Count public_count,
                                                  std::size_t features) {
  const double total_weight = options.adjacency == Adjacency::add_or_remove_one ? 64 : 1;
  const auto shape =
      minimum_shape(objective, total_weight * (1 + 0x1p-40), options.clip, options.row_norm, options.regularization, 0, features);
  const double records = options.adjacency == Adjacency::replace_one ? 2 : 1;
  const double clip = options.clip.value();
  const double moved = records * clip / static_cast<double>(public_count.value()) + 0x1p-49 * total_weight * clip;  // and rounded weights
  return L2Sensitivity{(1 + 0x1p-40) * (moved / options.regularization.value() + 2 * minimum_distance(shape))};
}

/// Releases of the events that `plan` above can be: spends, then draws. What production uses; private when `Bits` is cryptographic.
template <mechanisms::ReleaseBits Bits>
class NoisyVectorReleaser {
 public:
  /// Both must outlive the releaser.
  NoisyVectorReleaser(accounting::Reservation& reservation, Bits& bits)
      : reservation_{reservation}, bits_{bits}, gaussian_{reservation, bits} {}

  /// \throws Error{unsupported} for an event that is neither Gaussian nor l2 K-norm noise of the query's dimension; Error{internal} when
  /// the
  ///         reservation does not hold it; Error{invalid_argument} when the noise does not fit the grid.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
    const auto* const leaf = std::get_if<Event::KNorm>(&event.node());
    if (leaf == nullptr) return gaussian_.release(query, sensitivity, event);
    if (leaf->norm != NormName::l2 || leaf->dimension.value() != query.steps.size()) {
      throw Error{ErrorCode::unsupported,
                  fmt::format("no mechanism releases the event '{}' in dimension {}", describe(event), query.steps.size())};
    }
    const mechanisms::KNorm noise{{.scale = leaf->scale,
                                   .sensitivity = sensitivity,
                                   .grid = query.grid,
                                   .dimension = leaf->dimension,
                                   .adjacency = event.adjacency()}};
    reservation_.spend(event);
    return noise.release(query, bits_);
  }

 private:
  accounting::Reservation& reservation_;
  Bits& bits_;
  NoisyReleaser<Bits> gaussian_;
};

/// Runs the algorithm above; returns the released weights, one per feature. `plan(options, features)` is what `releaser` is asked for,
/// once. The guarantee needs nothing of the data but labels that the loss knows.
///
/// \pre   labels are as the objective wants them (`encode_labels`).
/// \throws Error{invalid_argument}, before the release, when the data have no labels, when there is no record and n is not given, when n is
///         not given under add-or-remove-one or is not the number of records otherwise, and as `minimum_distance`; and what the releaser
///         throws.
/// \complexity as `minimize`, with the data once more in memory.
/// \source [CMS11] Algorithm 1, Theorem 6; docs/proofs/output-perturbation.md.
template <ConvexObjective O, Releaser R>
[[nodiscard]] std::vector<double> output_perturbation(const Dataset& data, const O& objective, const OutputPerturbationOptions& options,
                                                      R& releaser) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "output perturbation needs labels, the data set has none"};
  const bool is_count_private = options.adjacency == Adjacency::add_or_remove_one;
  if (!options.public_count && is_count_private) {
    throw Error{ErrorCode::invalid_argument, "under add-or-remove-one the number of records is private: give a public count to divide by"};
  }
  const Count count = options.public_count ? *options.public_count : Count{data.size()};
  if (!is_count_private && count.value() != data.size()) {
    throw Error{ErrorCode::invalid_argument, fmt::format("public count is {}, must be {}, the number of records, under {}", count.value(),
                                                         data.size(), name(options.adjacency))};
  }
  const double total_weight = is_count_private ? 64 : 1;
  const auto shape =
      minimum_shape(objective, total_weight * (1 + 0x1p-40), options.clip, options.row_norm, options.regularization, 0, data.features());
  const Event event = plan(options, Count{data.features()});
  const L2Sensitivity exact = minimizer_sensitivity(objective, options, count, data.features());
  const double ratio = std::visit([](auto noise) { return noise.value(); }, options.noise);
  const Grid grid = mechanisms::grid_for(exact, NoiseMultiplier{ratio});
  const L2Sensitivity sensitivity = mechanisms::after_rounding(exact, grid, data.features());

  const Dataset clipped = with_clipped_rows(data, options.row_norm);
  const double weight = record_weight(options.adjacency, count, data.size());
  const std::vector<double> minimum = minimize(clipped, objective, weight, {}, shape, {.threads = options.threads});
  return releaser.release(mechanisms::round_to_nearest(minimum, grid), sensitivity, event);
}

}  // namespace surety::optimizers
