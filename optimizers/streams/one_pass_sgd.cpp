#include <surety/optimizers/streams/one_pass_sgd.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/optimizers/problem/gradient_sum.h>

namespace surety::optimizers::detail {

OnePassSgdSteps::OnePassSgdSteps(const NoisySgdOptions& options, Count features)
    : options_{options},
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

void OnePassSgdSteps::observe(ObjectiveRef objective, const Projectable& domain, const RowView& row, double label, Releaser& releaser) {
  const std::uint64_t records = options_.batches.records().value();
  if (steps_ == records) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("record is {}, must be at most {}, for which the batches were made", steps_ + 1, records)};
  }
  add_clipped(objective.derivative(row.dot(weights_), label), row, sum_);
  ++steps_;
  ++filled_;
  if (filled_ == options_.batches.size().value() || steps_ == records) release(domain, releaser);
}

void OnePassSgdSteps::release(const Projectable& domain, Releaser& releaser) {
  const std::vector<double> released = releaser.release(sum_.sum(), sensitivity_, pass_.release);
  sum_.clear();
  for (std::size_t j = 0; j < weights_.size(); ++j) {
    weights_[j] -= options_.step_size.value() * released[j] / static_cast<double>(filled_);
  }
  domain.project(weights_);
  filled_ = 0;
  if (++batches_ <= pass_.batches.value() / 2) return;
  const double share = 1 / static_cast<double>(++averaged_);
  for (std::size_t j = 0; j < weights_.size(); ++j) mean_[j] += share * (weights_[j] - mean_[j]);
}

}  // namespace surety::optimizers::detail
