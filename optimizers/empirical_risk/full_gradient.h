// The noisy mean gradient of all records: the only thing that a full-gradient method learns of them,
//
//     g(w) = (sum_i clip_C(grad loss(w, z_i)) + N(0, (z s)^2 I)) / n,
//
// s = 2C under replace-one, C under add-or-remove-one and zero-out, n public. Each call is one release of gaussian(z).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/data/dataset.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/doors/run.h>

namespace surety::optimizers {

/// All public.
struct FullGradientOptions {
  NoiseMultiplier noise_multiplier;  ///< z
  Adjacency adjacency;
  std::optional<ClippingNorm> clip = {};   ///< C; default the loss's gradient bound at row norm 1
  std::optional<Count> public_count = {};  ///< n; default the number of records, which add-or-remove-one keeps private
  std::size_t threads = 1;                 ///< results do not depend on it
};

/// What the options of a method say of its full gradients.
template <class Options>
[[nodiscard]] FullGradientOptions full_gradient_options(const Options& options) {
  return {.noise_multiplier = options.noise_multiplier,
          .adjacency = options.adjacency,
          .clip = options.clip,
          .public_count = options.public_count,
          .threads = options.threads};
}

/// \source docs/proofs/empirical-risk.md#full-gradient
template <Objective O, Releaser R>
class NoisyFullGradient {
 public:
  /// Data and releaser must outlive it.
  /// \pre   labels are as the objective wants them (`encode_labels`).
  /// \throws Error{invalid_argument} when the data have no labels, when there is no record and n is not given, or when n is not given
  ///         under add-or-remove-one.
  NoisyFullGradient(const Dataset& data, const O& objective, const FullGradientOptions& options, R& releaser)
      : data_{data},
        objective_{objective},
        releaser_{releaser},
        count_{divisor(data, options)},
        threads_{options.threads},
        multiplier_{options.noise_multiplier},
        event_{gaussian(options.noise_multiplier, options.adjacency)},
        sum_{sum_options(data, objective, options)},
        sensitivity_{sum_.sensitivity(options.adjacency)} {}

  /// g(weights): released, may be shown. O(stored values + features). \pre weights.size() == data.features().
  /// \throws what the releaser throws.
  [[nodiscard]] std::vector<double> operator()(std::span<const double> weights) {
    sum_.clear();
    add_gradients(data_, objective_, weights, sum_, threads_);
    std::vector<double> gradient = releaser_.release(sum_.sum(), sensitivity_, event_);
    for (double& g : gradient) g /= count_;
    return gradient;
  }

  /// z s / n, the standard deviation of the noise in each coordinate of g: public.
  [[nodiscard]] double noise() const { return multiplier_.value() * sensitivity_.value() / count_; }

 private:
  static double divisor(const Dataset& data, const FullGradientOptions& options) {
    if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "a gradient needs labels, the data set has none"};
    if (!options.public_count && options.adjacency == Adjacency::add_or_remove_one) {
      throw Error{ErrorCode::invalid_argument,
                  "under add-or-remove-one the number of records is private: give a public count to divide by"};
    }
    const Count count = options.public_count ? *options.public_count : Count{data.size()};
    return static_cast<double>(count.value());
  }
  static mechanisms::RecordSum::Options sum_options(const Dataset& data, const O& objective, const FullGradientOptions& options) {
    const ClippingNorm clip = options.clip ? *options.clip : ClippingNorm{objective.gradient_bound(1)};
    const L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(clip, options.adjacency);
    return {.clip = clip, .grid = mechanisms::grid_for(sensitivity, options.noise_multiplier), .dimension = data.features()};
  }

  const Dataset& data_;
  O objective_;
  R& releaser_;
  double count_;
  std::size_t threads_;
  NoiseMultiplier multiplier_;
  Event event_;
  mechanisms::RecordSum sum_;
  L2Sensitivity sensitivity_;
};

}  // namespace surety::optimizers
