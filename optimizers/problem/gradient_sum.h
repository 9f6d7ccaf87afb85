// The clipped gradients of many records, summed in integers: what most algorithms release with noise.
//
//     sum  <-  sum + sum_i round(clip_C(loss'(<w, x_i>, y_i) x_i))
//
// The sum depends neither on the order of the records nor on the number of threads, bit for bit.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>

#include <surety/mechanisms/queries/record_sum.h>
#include <surety/data/dataset.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

/// Adds factor x row, clipped, to a sum of records. O(nonzeros). \throws as RecordSum::add_scaled.
inline void add_clipped(double factor, const RowView& row, mechanisms::RecordSum& sum) {
  if (row.is_sparse()) {
    sum.add_scaled(factor, row.indices, row.values, row.norm);
  } else if (!row.values.empty()) {
    sum.add_scaled(factor, row.values, row.norm);
  }
}

namespace detail {

/// Records whose scores are computed together: few enough to be read once from memory and twice from the cache.
inline constexpr std::size_t block_of_records = 64;

/// scores[i] = <weights, row i of the block>, each exactly as RowView::dot computes it, several at a time: an addition of one score need
/// not wait for that of another. \pre scores.size() rows.
void compute_scores(std::span<const RowView> rows, std::span<const double> weights, std::span<double> scores);

/// Asks for a dense row to be read from memory while something else is computed.
inline void prefetch(const RowView& row) {
  constexpr std::size_t values_in_line = 64 / sizeof(double);
  for (std::size_t k = 0; k < row.values.size(); k += values_in_line) __builtin_prefetch(row.values.data() + k);
}

/// Calls add(begin, end, part) for consecutive parts of 0 .. count, each on a thread of its own and with a sum of its own, which are merged
/// into `sum`. Small parts are not worth a thread. Rethrows what `add` throws; then `sum` holds some of the records.
void in_parts(std::size_t count, std::size_t threads, mechanisms::RecordSum& sum,
              const std::function<void(std::size_t begin, std::size_t end, mechanisms::RecordSum& part)>& add);

/// Adds the gradients of the records place(begin) .. place(end - 1).
template <Objective O, class Place>
void add_gradients(const Dataset& data, const O& objective, std::span<const double> weights, std::size_t begin, std::size_t end,
                   const Place& place, mechanisms::RecordSum& sum) {
  std::array<RowView, block_of_records> rows;
  std::array<double, block_of_records> scores;
  for (std::size_t first = begin; first < end; first += block_of_records) {
    const std::size_t size = std::min(block_of_records, end - first);
    for (std::size_t i = 0; i < size; ++i) rows[i] = data.row(place(first + i));
    compute_scores(std::span{rows}.first(size), weights, std::span{scores}.first(size));
    for (std::size_t i = 0; i < size; ++i) scores[i] = objective.derivative(scores[i], data.label(place(first + i)));
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t ahead = first + block_of_records + i;
      if (!data.is_sparse() && ahead < end) prefetch(data.row(place(ahead)));
      add_clipped(scores[i], rows[i], sum);
    }
  }
}

}  // namespace detail

/// The records at first .. end - 1.
struct RecordRange {
  std::size_t first;
  std::size_t end;
};

/// Adds the gradients of the records of `range` at `weights`, each as `add_clipped` does. O(stored values), on up to `threads` threads.
/// \pre first <= end <= data.size(); data.has_labels(), encoded for the objective; weights.size() == data.features() == the sum's
/// dimension.
template <Objective O>
void add_gradients(const Dataset& data, const O& objective, std::span<const double> weights, RecordRange range, mechanisms::RecordSum& sum,
                   std::size_t threads = 1) {
  detail::in_parts(range.end - range.first, threads, sum, [&](std::size_t begin, std::size_t end, mechanisms::RecordSum& part) {
    detail::add_gradients(
        data, objective, weights, begin, end, [&](std::size_t i) { return range.first + i; }, part);
  });
}

/// The same for all records.
template <Objective O>
void add_gradients(const Dataset& data, const O& objective, std::span<const double> weights, mechanisms::RecordSum& sum,
                   std::size_t threads = 1) {
  add_gradients(data, objective, weights, RecordRange{.first = 0, .end = data.size()}, sum, threads);
}

/// The same for the records at `batch`; a record that is named twice counts twice. \pre as above; every index < data.size().
template <Objective O>
void add_gradients(const Dataset& data, const O& objective, std::span<const double> weights, std::span<const std::size_t> batch,
                   mechanisms::RecordSum& sum, std::size_t threads = 1) {
  detail::in_parts(batch.size(), threads, sum, [&](std::size_t begin, std::size_t end, mechanisms::RecordSum& part) {
    detail::add_gradients(
        data, objective, weights, begin, end, [&](std::size_t i) { return batch[i]; }, part);
  });
}

}  // namespace surety::optimizers
