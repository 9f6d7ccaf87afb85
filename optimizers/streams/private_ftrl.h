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
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/streams/record_by_record.h>

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
[[nodiscard]] StreamShape<> shape(const PrivateFtrlOptions& options, Count features);

namespace detail {

/// What of `PrivateFtrl` is the same for all losses and domains.
class PrivateFtrlSteps {
 public:
  using Door = StreamReleaser<>;

  PrivateFtrlSteps(const Projectable& domain, const PrivateFtrlOptions& options, std::vector<double> start);
  void observe(ObjectiveRef objective, const Projectable& domain, const RowView& row, double label, StreamReleaser<>& stream);
  [[nodiscard]] std::span<const double> weights() const noexcept { return mean_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  PrivateFtrlOptions options_;
  std::vector<double> start_;
  L2Sensitivity sensitivity_;
  std::uint64_t steps_ = 0;
  std::vector<double> weights_;  ///< w_{t+1}
  std::vector<double> mean_;
};

}  // namespace detail

/// The state between two records: released values and public ones alone. The guarantee needs nothing of the data.
/// \pre labels are as the objective wants them. \source [KMSTTX21] Algorithm 1; docs/proofs/online-to-batch.md#ftrl.
///
/// `observe` takes O(features), one push and one projection. It throws Error{invalid_argument} when the row has not one coordinate per
/// weight. `weights` are the mean of w_1 .. w_t after t records, w_1 before the first.
template <Objective O, std::derived_from<Projectable> D>
class PrivateFtrl : public detail::RecordByRecord<detail::PrivateFtrlSteps, O, D> {
 public:
  /// Starts at the point of the domain nearest to `start`. \throws as `shape`; Error{invalid_argument} when it has no coordinates.
  PrivateFtrl(O objective, D domain, const PrivateFtrlOptions& options, std::vector<double> start)
      : detail::RecordByRecord<detail::PrivateFtrlSteps, O, D>{std::move(objective), std::move(domain), [&](const D& inside) {
                                                                 return detail::PrivateFtrlSteps{inside, options, std::move(start)};
                                                               }} {}
};

}  // namespace surety::optimizers
