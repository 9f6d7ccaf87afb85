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

#include <fmt/format.h>

#include <surety/accounting/events/units.h>
#include <surety/accounting/numbers/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/batch_releaser.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/streams/noisy_sgd.h>

namespace surety::optimizers {

/// The state between two records: released values, public ones, and the sum of the open batch, which feeds its release and nothing else.
/// The guarantee needs nothing of the data. \pre labels are as the objective wants them. \source docs/proofs/frank-wolfe.md#batches.
template <Objective O, Projectable D>
class OnePassSgd {
 public:
  /// `pass(options)` is what the releaser will be asked for. \throws Error{invalid_argument} unless the options ask for one pass; as
  /// `pass`.
  OnePassSgd(O objective, D domain, const NoisySgdOptions& options, Count features)
      : objective_{std::move(objective)},
        domain_{std::move(domain)},
        options_{options},
        pass_{pass(options)},
        sensitivity_{mechanisms::sensitivity_of_clipped_sum(options.clip, options.adjacency)},
        sum_{{.clip = options.clip,
              .grid = mechanisms::grid_for(sensitivity_, options.noise_multiplier),
              .dimension = static_cast<std::size_t>(features.value())}},
        weights_(features.value(), 0.0),
        mean_(features.value(), 0.0) {
    if (options.passes != Count{1}) {
      throw Error{ErrorCode::invalid_argument, fmt::format("passes are {}, must be 1 over a stream", options.passes.value())};
    }
  }

  /// Reads the next record; at the end of its batch releases and moves on. O(nonzeros), and O(features) and one release for a batch.
  /// \throws Error{invalid_argument} when all records that the batches are for were read, or the row has not `features` coordinates; and
  ///         what the releaser throws.
  void observe(const RowView& row, double label, ReleaserRef releaser) {
    const std::uint64_t records = options_.batches.records().value();
    if (steps_ == records) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("record is {}, must be at most {}, for which the batches were made", steps_ + 1, records)};
    }
    add_clipped(objective_.derivative(row.dot(weights_), label), row, sum_);
    ++steps_;
    ++filled_;
    if (filled_ == options_.batches.size().value() || steps_ == records) release(releaser);
  }

  /// The mean of the iterates of the last half of the steps, as far as they are made; the current one before: released, may be shown.
  [[nodiscard]] std::span<const double> weights() const noexcept { return averaged_ > 0 ? mean_ : weights_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  void release(ReleaserRef releaser) {
    const std::vector<double> released = releaser.release(sum_.sum(), sensitivity_, pass_.release);
    sum_.clear();
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      weights_[j] -= options_.step_size.value() * released[j] / static_cast<double>(filled_);
    }
    domain_.project(weights_);
    filled_ = 0;
    if (++batches_ <= pass_.batches.value() / 2) return;
    const double share = 1 / static_cast<double>(++averaged_);
    for (std::size_t j = 0; j < weights_.size(); ++j) mean_[j] += share * (weights_[j] - mean_[j]);
  }

  O objective_;
  D domain_;
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

}  // namespace surety::optimizers
