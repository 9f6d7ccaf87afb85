#include <surety/optimizers/streams/noisy_frank_wolfe.h>

#include <algorithm>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

BatchPass pass(const NoisyFrankWolfeOptions& options) {
  require_fixed_places(options.adjacency);
  const Event release = gaussian(options.noise_multiplier, options.adjacency);
  return {.batches = options.iterations, .release = release, .pass = release};
}

Event plan(const NoisyFrankWolfeOptions& options) { return pass(options).pass; }

std::size_t first_of_batch(std::size_t records, std::uint64_t batches, std::uint64_t k) {
  if (k == 0) return 0;
  if (batches == 1) return records;
  const std::size_t half = records - records / 2;
  const auto parts = static_cast<std::size_t>(batches - 1);
  const std::size_t rest = records - half;
  const auto part = static_cast<std::size_t>(k - 1);
  return half + rest / parts * part + std::min(rest % parts, part);
}

std::vector<double> noisy_frank_wolfe(const Dataset& data, ObjectiveRef objective, const LinearlyMinimizable& domain,
                                      const NoisyFrankWolfeOptions& options, Releaser& releaser) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "Frank-Wolfe needs labels, the data set has none"};
  require_no_weights(data, "noisy Frank-Wolfe");
  const std::uint64_t iterations = options.iterations.value();
  if (data.empty() || iterations - 1 > data.size() / 2) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("iterations is {}, must be at most {}: half of the records and 1", iterations, data.size() / 2 + 1)};
  }
  if (options.step_scale.value() > 1) {
    throw Error{ErrorCode::invalid_argument, fmt::format("step scale is {}, must be at most 1", options.step_scale.value())};
  }
  const BatchPass planned = pass(options);
  const Grid grid = mechanisms::grid_for(mechanisms::sensitivity_of_clipped_sum(options.clip, options.adjacency), options.noise_multiplier);

  std::vector<double> weights(data.features(), 0.0);
  std::vector<double> previous = weights;
  std::vector<double> direction(data.features(), 0.0);
  for (std::uint64_t k = 0; k < iterations; ++k) {
    const double step = options.step_scale.value() / (static_cast<double>(k) + 1);
    const double kept = k == 0 ? 0 : 1 - step;
    const ClippingNorm clip{k == 0 ? options.clip.value() : step * options.clip.value()};
    mechanisms::RecordSum sum{{.clip = clip, .grid = grid, .dimension = data.features()}};
    const std::size_t first = first_of_batch(data.size(), iterations, k);
    const std::size_t end = first_of_batch(data.size(), iterations, k + 1);
    for (std::size_t i = first; i < end; ++i) {
      const RowView row = data.row(i);
      const double before = kept == 0 ? 0 : kept * objective.derivative(row.dot(previous), data.label(i));
      add_clipped(objective.derivative(row.dot(weights), data.label(i)) - before, row, sum);
    }
    const auto released = releaser.release(sum.sum(), mechanisms::sensitivity_of_clipped_sum(clip, options.adjacency), planned.release);
    for (std::size_t j = 0; j < direction.size(); ++j) {
      direction[j] = kept * direction[j] + released[j] / static_cast<double>(end - first);
    }
    const std::vector<double> vertex = domain.minimize_linear(direction);
    previous = weights;
    for (std::size_t j = 0; j < weights.size(); ++j) weights[j] += step * (vertex[j] - weights[j]);
  }
  return weights;
}

}  // namespace surety::optimizers
