#include <surety/optimizers/empirical_risk/output_perturbation.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/optimizers/empirical_risk/minimizer.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

Event plan(const OutputPerturbationOptions& options, Count features) {
  if (const auto* const multiplier = std::get_if<NoiseMultiplier>(&options.noise)) return gaussian(*multiplier, options.adjacency);
  return k_norm(NormName::l2, features, std::get<NoiseScale>(options.noise), options.adjacency);
}

double record_weight(Adjacency adjacency, Count public_count, std::size_t records) {
  const auto n = static_cast<double>(public_count.value());
  if (adjacency != Adjacency::add_or_remove_one) return 1 / n;
  const auto count = static_cast<double>(records);
  return count <= 128 * n ? (1 - count / (256 * n)) / n : 64 / count;
}

L2Sensitivity minimizer_sensitivity(ConvexObjectiveRef objective, const OutputPerturbationOptions& options, Count public_count,
                                    std::size_t features) {
  const double total_weight = options.adjacency == Adjacency::add_or_remove_one ? 64 : 1;
  const auto shape =
      minimum_shape(objective, total_weight * (1 + 0x1p-40), options.clip, options.row_norm, options.regularization, 0, features);
  const double records = options.adjacency == Adjacency::replace_one ? 2 : 1;
  const double clip = options.clip.value();
  const double moved = records * clip / static_cast<double>(public_count.value()) + 0x1p-49 * total_weight * clip;  // and rounded weights
  return L2Sensitivity{(1 + 0x1p-40) * (moved / options.regularization.value() + 2 * minimum_distance(shape))};
}

std::vector<double> output_perturbation(const Dataset& data, ConvexObjectiveRef objective, const OutputPerturbationOptions& options,
                                        Releaser& releaser) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "output perturbation needs labels, the data set has none"};
  require_no_weights(data, "output perturbation");
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

  const Dataset clipped = with_clipped_rows(data, options.row_norm, objective);
  const double weight = record_weight(options.adjacency, count, data.size());
  const std::vector<double> minimum = minimize(clipped, objective, weight, {}, shape, {.threads = options.threads});
  return releaser.release(mechanisms::round_to_nearest(minimum, grid), sensitivity, event);
}

}  // namespace surety::optimizers
