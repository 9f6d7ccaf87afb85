// DP-FTRL, private follow-the-regularized-leader: [KMSTTX21] Algorithm 1 without momentum, a baseline,
//
//     G_t = noisy prefix sum of clip_C(grad l(w_i, z_i)), i <= t,   w_{t+1} = project(w_1 - eta G_t)
//
// where the result is the mean of w_1 .. w_t. Record z_t enters push t and nothing else, given the released sums: replacing it moves that
// push by at most 2C. Any continual sum will do, the paper's tree or a factorization.
//
// Beside online-to-batch: here what is summed are whole gradients, not their differences, so the sum that steers the weights is t times the
// mean gradient and the noise does not shrink against the gradient at one point; but the loss need not be smooth.
//
// The other baseline of streams is one-pass private stochastic gradient descent, one_pass_sgd.h.
//
// [KMSTTX21] Kairouz, McMahan, Song, Thakkar, Thakurta, Xu: Practical and Private (Deep) Learning without Sampling or Shuffling, 2021.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/accounting/numbers/error.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

/// All public; choosing them by the results of private runs is a release of its own.
struct PrivateFtrlOptions {
  Count steps;  ///< T, the horizon: the most records
  Adjacency adjacency = Adjacency::replace_one;
  ClippingNorm clip{1};  ///< C
  StepSize step_size;    ///< eta
};

/// One push per record, of sensitivity 2C under replace-one and C under zero-out.
/// \throws Error{unsupported} under add-or-remove-one: which record comes at which step is public.
[[nodiscard]] inline StreamShape<> shape(const PrivateFtrlOptions& options, Count features) {
  require_fixed_places(options.adjacency);
  return {.steps = options.steps,
          .dimension = features,
          .sensitivity = mechanisms::sensitivity_of_clipped_sum(options.clip, options.adjacency),
          .adjacency = options.adjacency};
}

/// The state between two records: released values and public ones alone. The guarantee needs nothing of the data.
/// \pre labels are as the objective wants them. \source [KMSTTX21] Algorithm 1; docs/proofs/online-to-batch.md#ftrl.
template <Objective O, Projectable D>
class PrivateFtrl {
 public:
  /// Starts at the point of the domain nearest to `start`. \throws as `shape`; Error{invalid_argument} when it has no coordinates.
  PrivateFtrl(O objective, D domain, const PrivateFtrlOptions& options, std::vector<double> start)
      : objective_{std::move(objective)}, domain_{std::move(domain)}, options_{options}, start_{std::move(start)} {
    if (start_.empty()) throw Error{ErrorCode::invalid_argument, "the start has no coordinates, must have at least 1"};
    domain_.project(start_);
    sensitivity_ = shape(options_, Count{start_.size()}).sensitivity;
    weights_ = mean_ = start_;
  }

  /// Reads the next record and moves on. O(features), one push and one projection. \throws what the stream throws;
  /// Error{invalid_argument} when the row has not one coordinate per weight.
  void observe(const RowView& row, double label, StreamReleaserRef<> stream) {
    const double factor = objective_.derivative(row.dot(weights_), label);
    const std::vector<double> sum =
        stream.push(clipped_contribution(factor, row, options_.clip, stream.grid(), weights_.size()), sensitivity_);
    const double share = 1 / static_cast<double>(++steps_);
    for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] += share * (weights_[j] - mean_[j]);
    for (std::size_t j = 0; j < weights_.size(); ++j) weights_[j] = start_[j] - options_.step_size.value() * sum[j];
    domain_.project(weights_);
  }

  /// The mean of w_1 .. w_t after t records, w_1 before the first: released, may be shown.
  [[nodiscard]] std::span<const double> weights() const noexcept { return mean_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  O objective_;
  D domain_;
  PrivateFtrlOptions options_;
  L2Sensitivity sensitivity_{1};
  std::uint64_t steps_ = 0;
  std::vector<double> start_;
  std::vector<double> weights_;  ///< w_{t+1}
  std::vector<double> mean_;
};

}  // namespace surety::optimizers
