#include <surety/optimizers/streams/noisy_oco.h>

#include <cmath>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {

template <>
L2Sensitivity sensitivity_of_term<L2Sensitivity>(ClippingNorm clip, Adjacency adjacency, Count /*dimension*/) {
  return mechanisms::sensitivity_of_clipped_sum(clip, adjacency);
}

template <>
L1Sensitivity sensitivity_of_term<L1Sensitivity>(ClippingNorm clip, Adjacency adjacency, Count dimension) {
  const L2Sensitivity euclidean = mechanisms::sensitivity_of_clipped_sum(clip, adjacency);
  // Three roundings, of relative error 2^-53 each.
  return L1Sensitivity{euclidean.value() * std::sqrt(static_cast<double>(dimension.value())) * (1 + 0x1p-51)};
}

template <TermSensitivity Sensitivity>
StreamShape<Sensitivity> shape(const NoisyOcoOptions& options, Count dimension) {
  require_fixed_places(options.adjacency);
  if (options.steps < options.batch) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("batch is {}, must be at most the {} steps", options.batch.value(), options.steps.value())};
  }
  return {.steps = Count{options.steps.value() / options.batch.value()},
          .dimension = dimension,
          .sensitivity = sensitivity_of_term<Sensitivity>(options.clip, options.adjacency, dimension),
          .adjacency = options.adjacency};
}
template StreamShape<L1Sensitivity> shape(const NoisyOcoOptions& options, Count dimension);
template StreamShape<L2Sensitivity> shape(const NoisyOcoOptions& options, Count dimension);

namespace detail {

template <TermSensitivity Sensitivity>
TermBatches<Sensitivity>::TermBatches(const NoisyOcoOptions& options, Count dimension)
    : options_{options}, shape_{shape<Sensitivity>(options, dimension)} {}

template <TermSensitivity Sensitivity>
std::optional<std::vector<double>> TermBatches<Sensitivity>::add(double factor, const RowView& row, StreamReleaser<Sensitivity>& stream) {
  mechanisms::require_next_step(steps_, options_.steps);
  if (!batch_) {
    batch_.emplace(mechanisms::RecordSum::Options{
        .clip = options_.clip, .grid = stream.grid(), .dimension = static_cast<std::size_t>(shape_.dimension.value())});
  }
  if (row.is_sparse()) {
    batch_->add_scaled(factor, row.indices, row.values, row.norm);
  } else {
    batch_->add_scaled(factor, row.values, row.norm);
  }
  ++steps_;
  if (steps_ % options_.batch.value() != 0) return std::nullopt;
  std::vector<double> costs = stream.push(batch_->sum(), shape_.sensitivity);
  batch_->clear();
  for (double& cost : costs) cost *= options_.step_size.value();
  return costs;
}

template class TermBatches<L1Sensitivity>;
template class TermBatches<L2Sensitivity>;

}  // namespace detail
}  // namespace surety::optimizers
