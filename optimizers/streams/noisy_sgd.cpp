#include <surety/optimizers/streams/noisy_sgd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

BatchPass pass(const NoisySgdOptions& options) {
  require_fixed_places(options.adjacency);
  const std::uint64_t records = options.batches.records().value();
  const std::uint64_t size = options.batches.size().value();
  const Event release = gaussian(options.noise_multiplier, options.adjacency);
  return {.batches = Count{(records - 1) / size + 1},
          .release = release,
          .pass = deterministic(options.batches.records(), options.batches.size(), release)};
}

Event plan(const NoisySgdOptions& options) { return repeat(options.passes, pass(options).pass); }

std::vector<double> noisy_sgd(const Dataset& data, ObjectiveRef objective, const Projectable& domain, const NoisySgdOptions& options,
                              Releaser& releaser) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "stochastic gradient descent needs labels, the data set has none"};
  require_no_weights(data, "noisy SGD");
  if (data.size() != options.batches.records().value()) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the data set has {} records, must have {}, for which the batches were made",
                                                         data.size(), options.batches.records().value())};
  }
  const BatchPass planned = pass(options);
  const L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(options.clip, options.adjacency);
  const Grid grid = mechanisms::grid_for(sensitivity, options.noise_multiplier);
  mechanisms::RecordSum sum{{.clip = options.clip, .grid = grid, .dimension = data.features()}};
  const auto size = static_cast<std::size_t>(options.batches.size().value());
  const std::uint64_t steps = options.passes.value() * planned.batches.value();

  std::vector<double> weights(data.features(), 0.0);
  std::vector<double> mean(data.features(), 0.0);
  const std::uint64_t averaged = steps - steps / 2;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::size_t first = static_cast<std::size_t>(step % planned.batches.value()) * size;
    const std::size_t end = std::min(first + size, data.size());
    sum.clear();
    add_gradients(data, objective, weights, RecordRange{.first = first, .end = end}, sum);
    const std::vector<double> released = releaser.release(sum.sum(), sensitivity, planned.release);
    for (std::size_t j = 0; j < weights.size(); ++j)
      weights[j] -= options.step_size.value() * released[j] / static_cast<double>(end - first);
    domain.project(weights);
    if (step < steps - averaged) continue;
    for (std::size_t j = 0; j < weights.size(); ++j) mean[j] += weights[j] / static_cast<double>(averaged);
  }
  return mean;
}

}  // namespace surety::optimizers
