// The clipped gradients of many records, summed in integers: what most algorithms release with noise.
//
//     sum  <-  sum + sum_i round(clip_C(loss'(<w, x_i>, y_i) x_i))
//
// The sum depends neither on the order of the records nor on the number of threads.
#pragma once

#include <cstddef>
#include <span>

#include <surety/mechanisms/record_sum.h>
#include <surety/optimizers/batch_releaser.h>
#include <surety/optimizers/dataset.h>
#include <surety/optimizers/problem.h>

namespace surety::optimizers {

/// Adds the gradient of record `index` at `weights`.
template <Objective O>
void add_gradient(const Dataset& data, const O& objective, std::span<const double> weights, std::size_t index, mechanisms::RecordSum& sum) {
  const RowView row = data.row(index);
  add_clipped(objective.derivative(row.dot(weights), data.label(index)), row, sum);
}

/// Adds the gradients of all records at `weights`, each as `add_clipped` does. O(stored values), on up to `threads` threads.
/// \pre data.has_labels(), encoded for the objective; weights.size() == data.features() == the sum's dimension.
template <Objective O>
void add_gradients(const Dataset& data, const O& objective, std::span<const double> weights, mechanisms::RecordSum& sum,
                   [[maybe_unused]] std::size_t threads = 1) {
  for (std::size_t i = 0; i < data.size(); ++i) add_gradient(data, objective, weights, i, sum);
}

/// The same for the records at `batch`; a record that is named twice counts twice. \pre as above; every index < data.size().
template <Objective O>
void add_gradients(const Dataset& data, const O& objective, std::span<const double> weights, std::span<const std::size_t> batch,
                   mechanisms::RecordSum& sum, [[maybe_unused]] std::size_t threads = 1) {
  for (const std::size_t i : batch) add_gradient(data, objective, weights, i, sum);
}

}  // namespace surety::optimizers
