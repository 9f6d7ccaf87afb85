// Private stochastic gradient descent in one pass over a stream, the simplest baseline of streaming methods:
//
//     w_{k+1} = project(w_k - eta g_k),   g_k = (1/b) (sum over batch k of clip_C(grad loss(w_k, z)) + N(0, (z s)^2 I))
//
// from w_0 = 0, where batch k holds records k b + 1 .. (k + 1) b and s = 2C under replace-one, C under zero-out. The result is the mean of
// the iterates of the last half of the steps: that of `noisy_sgd` with one pass, record by record and without keeping them.
//
// A record is in one batch, and given what was released before, no other release depends on it: the stream costs as much as one release.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/batch_releaser.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/streams/noisy_sgd.h>
#include <surety/optimizers/streams/record_by_record.h>

namespace surety::optimizers {

namespace detail {

/// What of `OnePassSgd` is the same for all losses and domains.
class OnePassSgdSteps {
 public:
  using Door = Releaser;

  OnePassSgdSteps(const NoisySgdOptions& options, Count features);
  void observe(ObjectiveRef objective, const Projectable& domain, const RowView& row, double label, Releaser& releaser);
  [[nodiscard]] std::span<const double> weights() const noexcept { return averaged_ > 0 ? mean_ : weights_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  void release(const Projectable& domain, Releaser& releaser);

  NoisySgdOptions options_;
  BatchPass pass_;
  L2Sensitivity sensitivity_;
  mechanisms::RecordSum sum_;  ///< private: of the open batch
  std::uint64_t filled_ = 0;   ///< records in the open batch
  std::uint64_t steps_ = 0;
  std::uint64_t batches_ = 0;
  std::uint64_t averaged_ = 0;
  std::vector<double> weights_;
  std::vector<double> mean_;
};

}  // namespace detail

/// The state between two records: released values, public ones, and the sum of the open batch, which feeds its release and nothing else.
/// The guarantee needs nothing of the data. \pre labels are as the objective wants them. \source docs/proofs/frank-wolfe.md#batches.
///
/// At the end of a batch `observe` releases: O(nonzeros), and O(features) and one release for a batch. It throws Error{invalid_argument}
/// when all records that the batches are for were read, or the row has not `features` coordinates. `weights` are the mean of the iterates
/// of the last half of the steps, as far as they are made, and the current one before.
template <Objective O, std::derived_from<Projectable> D>
class OnePassSgd : public detail::RecordByRecord<detail::OnePassSgdSteps, O, D> {
 public:
  /// `pass(options)` is what the releaser will be asked for. \throws Error{invalid_argument} unless the options ask for one pass; as
  /// `pass`.
  OnePassSgd(O objective, D domain, const NoisySgdOptions& options, Count features)
      : detail::RecordByRecord<detail::OnePassSgdSteps, O, D>{std::move(objective), std::move(domain), [&](const D&) {
                                                                return detail::OnePassSgdSteps{options, features};
                                                              }} {}
};

}  // namespace surety::optimizers
