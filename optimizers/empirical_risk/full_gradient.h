// The noisy mean gradient of all records: the only thing that a full-gradient method learns of them,
//
//     g(w) = (sum_i clip_C(grad loss(w, z_i)) + N(0, (z s)^2 I)) / n,
//
// s = 2C under replace-one, C under add-or-remove-one and zero-out, n public. Each call is one release of gaussian(z). Where neighbours differ
// in units of several rows, i goes over units, whose mean gradient is clipped.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

/// All public.
struct FullGradientOptions {
  NoiseMultiplier noise_multiplier;  ///< z
  Adjacency adjacency;
  std::optional<ClippingNorm> clip = {};   ///< C; default the loss's gradient bound at row norm 1
  std::optional<Count> public_count = {};  ///< n; default the number of records or units, which add-or-remove-one keeps private
  std::size_t threads = 1;                 ///< results do not depend on it
  UnitEnds unit_ends = {};                 ///< where neighbours differ in units of several rows
  std::vector<double> class_weights = {};  ///< of several classes (`add_class_gradients`); none for one model
  ClassesBy classes_by = ClassesBy::one_against_the_rest;  ///< of these
  RowMap row_map = {};                                     ///< what becomes of each row before anything else; as it is where there is none
};

/// What the options of a method say of its full gradients.
template <class Options>
[[nodiscard]] FullGradientOptions full_gradient_options(const Options& options) {
  return {.noise_multiplier = options.noise_multiplier,
          .adjacency = options.adjacency,
          .clip = options.clip,
          .public_count = options.public_count,
          .threads = options.threads,
          .unit_ends = options.unit_ends};
}

/// \source docs/proofs/empirical-risk.md#full-gradient
class NoisyFullGradient {
 public:
  /// Data, objective and releaser must outlive it.
  /// \pre   labels are as the objective wants them (`encode_labels`).
  /// \throws Error{invalid_argument} when the data have no labels, when there is no record and n is not given, or when n is not given
  ///         under add-or-remove-one.
  NoisyFullGradient(const Dataset& data, ObjectiveRef objective, const FullGradientOptions& options, Releaser& releaser);

  /// g(weights): released, may be shown. O(stored values + features) for each class. \pre weights.size() == data.features(), that times the
  ///     number of classes where there are several.
  /// \throws what the releaser throws.
  [[nodiscard]] std::vector<double> operator()(std::span<const double> weights);

  /// z s / n, the standard deviation of the noise in each coordinate of g: public.
  [[nodiscard]] double noise() const { return multiplier_.value() * sensitivity_.value() / count_; }

 private:
  const Dataset& data_;
  ObjectiveRef objective_;
  Releaser& releaser_;
  double count_;
  std::size_t threads_;
  UnitEnds unit_ends_;
  std::vector<double> class_weights_;
  ClassesBy classes_by_;
  RowMap row_map_;
  NoiseMultiplier multiplier_;
  Event event_;
  mechanisms::RecordSum sum_;
  L2Sensitivity sensitivity_;
};

}  // namespace surety::optimizers
