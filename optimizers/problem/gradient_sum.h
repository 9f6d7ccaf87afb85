// The clipped gradients of many records, summed in integers: what most algorithms release with noise.
//
//     sum  <-  sum + sum_i round(clip_C(loss'(<w, x_i>, y_i) x_i))
//
// A record with a weight adds w times that, w from 0 to 1; of units of several rows w times each gradient, before the mean is clipped.
//
// The sum depends neither on the order of the records nor on the number of threads, bit for bit.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/classes.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/objective.h>
#include <surety/optimizers/problem/unit_rows.h>

namespace surety::optimizers {

/// Adds factor x row, clipped, to a sum of records. O(nonzeros). \throws as RecordSum::add_scaled.
inline void add_clipped(double factor, const RowView& row, mechanisms::RecordSum& sum) {
  if (row.is_sparse()) {
    sum.add_scaled(factor, row.indices, row.values, row.norm);
  } else if (!row.values.empty()) {
    sum.add_scaled(factor, row.values, row.norm);
  }
}

/// The same for a record with a weight from 0 to 1, which multiplies what is left after the clip. The sum clips once more, so no weight moves it by more than C.
/// \source docs/proofs/weights.md#clip
inline void add_clipped(double factor, const RowView& row, double weight, mechanisms::RecordSum& sum) {
  // Proved: docs/proofs/weights.md#clip
  const double length = std::abs(factor) * row.norm;
  const double clip = sum.options().clip.value();
  add_clipped((length > clip ? factor * (clip / length) : factor) * weight, row, sum);
  // Proved so far.
}

/// One record's vector factor x row on a grid, clipped to l2 norm `clip` exactly (mechanisms/queries/record_sum.h). O(dimension).
/// \throws Error{invalid_argument} when a dense row has not `dimension` coordinates, or the grid does not suit the clipping norm.
[[nodiscard]] GridVector clipped_contribution(double factor, const RowView& row, ClippingNorm clip, Grid grid, std::size_t dimension);

namespace detail {

/// scores[i] = <weights, row i of the block>, each exactly as RowView::dot computes it, several at a time: an addition of one score need
/// not wait for that of another. \pre scores.size() rows.
void compute_scores(std::span<const RowView> rows, std::span<const double> weights, std::span<double> scores);

}  // namespace detail

/// Adds the gradients of the records of `range` at `weights`, each as `add_clipped` does, with the weight of its record. O(stored values), on up to `threads` threads.
/// \pre first <= end <= data.size(); data.has_labels(), encoded for the objective; weights.size() == data.features() == the sum's
/// dimension.
void add_gradients(const Dataset& data, ObjectiveRef objective, std::span<const double> weights, RecordRange range,
                   mechanisms::RecordSum& sum, std::size_t threads = 1);

/// The same for all records, of rows as `map` makes them where it is given: that takes room for 64 rows a thread.
void add_gradients(const Dataset& data, ObjectiveRef objective, std::span<const double> weights, mechanisms::RecordSum& sum,
                   std::size_t threads = 1, const RowMap& map = {});

/// The same for the records at `batch`; a record that is named twice counts twice. \pre as above; every index < data.size().
void add_gradients(const Dataset& data, ObjectiveRef objective, std::span<const double> weights, std::span<const std::size_t> batch,
                   mechanisms::RecordSum& sum, std::size_t threads = 1);

/// Several classes: labels are 0, ..., K - 1, and the weights are those of K classes, one behind the other. A record x of class y adds
/// (f_1 x, ..., f_K x), clipped as the one vector of K d numbers that it is, so that the sensitivity is that of a sum of vectors. One against the rest
/// f_k = c_y loss'(<w_k, x>, k = y ? 1 : -1); by softmax f_k = c_y (p_k - [k = y]), p_k in proportion to exp(<w_k, x>), and `objective` is not asked.
/// c = `class_weights`, which are public, is inside the clip. A record of another label adds nothing, nor does one whose gradient is not finite.
/// A record's weight multiplies the clipped vector; of units of several rows each adds the mean of its rows' vectors, clipped, and a weight multiplies the vector
/// of its row.
/// O(K) times that of one model, on up to `threads` threads. \source docs/proofs/shaped-descent.md#softmax
/// \pre data.has_labels(); weights.size() == class_weights.size() * data.features() == the sum's dimension; class weights are finite; ends ascend
///      strictly, and the last one is data.size().
void add_class_gradients(const Dataset& data, ObjectiveRef objective, std::span<const double> weights,
                         std::span<const double> class_weights, mechanisms::RecordSum& sum, std::size_t threads = 1, const RowMap& map = {},
                         ClassesBy by = ClassesBy::one_against_the_rest, UnitEnds ends = {});

/// Adds for each unit the mean gradient of its rows at `weights`, clipped: one contribution, which depends on that unit's rows alone. Rows as
/// `map` makes them where it is given.
/// O(stored values), on up to `threads` threads. \pre as above.
void add_unit_gradients(const Dataset& data, ObjectiveRef objective, std::span<const double> weights, UnitEnds ends,
                        mechanisms::RecordSum& sum, std::size_t threads = 1, const RowMap& map = {});
/// The same for the units at `batch`. \pre every index < ends.size().
void add_unit_gradients(const Dataset& data, ObjectiveRef objective, std::span<const double> weights, UnitEnds ends,
                        std::span<const std::size_t> batch, mechanisms::RecordSum& sum);

}  // namespace surety::optimizers
