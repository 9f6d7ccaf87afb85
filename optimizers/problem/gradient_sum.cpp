#include <surety/optimizers/problem/gradient_sum.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <surety/data/features/row_reader.h>
#include <surety/optimizers/problem/in_parts.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {
namespace {

/// Records whose scores are computed together: few enough to be read once from memory and twice from the cache.
constexpr std::size_t block_of_records = 64;

/// The scores of `together` dense rows of as many features, side by side.
template <std::size_t together>
void dense_scores(const RowView* rows, std::span<const double> weights, double* scores) {
  std::array<const double*, together> values;
  for (std::size_t i = 0; i < together; ++i) values[i] = rows[i].values.data();
  std::array<double, together> sums{};
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const double weight = weights[k];
    for (std::size_t i = 0; i < together; ++i) sums[i] += values[i][k] * weight;
  }
  for (std::size_t i = 0; i < together; ++i) scores[i] = sums[i];
}

/// Asks for a dense row to be read from memory while something else is computed.
void prefetch(const RowView& row) {
  constexpr std::size_t values_in_line = 64 / sizeof(double);
  for (std::size_t k = 0; k < row.values.size(); k += values_in_line) __builtin_prefetch(row.values.data() + k);
}

/// Adds the gradients of the records place(begin) .. place(end - 1).
template <class Place>
void add_gradients_at(const Dataset& data, ObjectiveRef objective, std::span<const double> weights, std::size_t begin, std::size_t end,
                      const Place& place, const RowMap& map, mechanisms::RecordSum& sum) {
  data::RowReader reader{data};
  std::vector<double> room(map ? block_of_records * data.features() : 0);
  const bool lie_apart = data.file() == nullptr && !data.is_sparse();  // dense rows in memory
  std::array<std::size_t, block_of_records> places;
  std::array<RowView, block_of_records> rows;
  std::array<double, block_of_records> scores;
  std::array<double, block_of_records> labels;
  for (std::size_t first = begin; first < end; first += block_of_records) {
    const std::size_t size = std::min(block_of_records, end - first);
    for (std::size_t i = 0; i < size; ++i) {
      places[i] = place(first + i);
      labels[i] = data.label(places[i]);
    }
    reader.read(std::span{places}.first(size), std::span{rows}.first(size));
    if (map) data::map_in_room(map, std::span{rows}.first(size), std::span{room}.first(size * data.features()));
    detail::compute_scores(std::span{rows}.first(size), weights, std::span{scores}.first(size));
    objective.derivatives(std::span{scores}.first(size), std::span{labels}.first(size));
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t ahead = first + block_of_records + i;
      if (lie_apart && ahead < end) prefetch(data.row(place(ahead)));
      data.has_weights() ? add_clipped(scores[i], rows[i], data.weight(places[i]), sum) : add_clipped(scores[i], rows[i], sum);
    }
  }
}

}  // namespace

namespace detail {

void compute_scores(std::span<const RowView> rows, std::span<const double> weights, std::span<double> scores) {
  constexpr std::size_t together = 8;
  std::size_t i = 0;
  while (i < rows.size()) {
    const auto next = rows.subspan(i);
    const auto is_full = [&](const RowView& row) { return row.indices.empty() && row.values.size() == weights.size(); };
    if (next.size() >= together && std::all_of(next.begin(), next.begin() + together, is_full)) {
      dense_scores<together>(next.data(), weights, &scores[i]);
      i += together;
    } else {
      scores[i] = rows[i].dot(weights);
      ++i;
    }
  }
}

}  // namespace detail

GridVector clipped_contribution(double factor, const RowView& row, ClippingNorm clip, Grid grid, std::size_t dimension) {
  mechanisms::RecordSum sum{{.clip = clip, .grid = grid, .dimension = dimension}};
  add_clipped(factor, row, sum);
  return sum.sum();
}

void add_gradients(const Dataset& data, ObjectiveRef objective, std::span<const double> weights, RecordRange range,
                   mechanisms::RecordSum& sum, std::size_t threads) {
  detail::in_parts(range.end - range.first, threads, sum, [&](std::size_t begin, std::size_t end, mechanisms::RecordSum& part) {
    add_gradients_at(
        data, objective, weights, begin, end, [&](std::size_t i) { return range.first + i; }, {}, part);
  });
}

void add_gradients(const Dataset& data, ObjectiveRef objective, std::span<const double> weights, mechanisms::RecordSum& sum,
                   std::size_t threads, const RowMap& map) {
  detail::in_parts(data.size(), threads, sum, [&](std::size_t begin, std::size_t end, mechanisms::RecordSum& part) {
    add_gradients_at(
        data, objective, weights, begin, end, [](std::size_t i) { return i; }, map, part);
  });
}

void add_gradients(const Dataset& data, ObjectiveRef objective, std::span<const double> weights, std::span<const std::size_t> batch,
                   mechanisms::RecordSum& sum, std::size_t threads) {
  detail::in_parts(batch.size(), threads, sum, [&](std::size_t begin, std::size_t end, mechanisms::RecordSum& part) {
    add_gradients_at(
        data, objective, weights, begin, end, [&](std::size_t i) { return batch[i]; }, {}, part);
  });
}

namespace {

/// The derivatives of one record by its K scores; all 0 for a label that is no class.
void class_derivatives(const RowView& row, double label, ObjectiveRef objective, std::span<const double> weights,
                       std::span<const double> class_weights, ClassesBy by, std::span<double> derivatives, std::span<double> signs) {
  const std::size_t classes = class_weights.size();
  const bool is_known = label >= 0 && label < static_cast<double>(classes) && std::floor(label) == label;
  std::fill(derivatives.begin(), derivatives.end(), 0.0);
  if (!is_known) return;
  const auto own = static_cast<std::size_t>(label);
  const std::size_t d = weights.size() / classes;
  for (std::size_t k = 0; k < classes; ++k) {
    derivatives[k] = row.dot(weights.subspan(k * d, d));
    signs[k] = k == own ? 1 : -1;
  }
  by == ClassesBy::softmax ? softmax_derivatives(own, derivatives) : objective.derivatives(derivatives, signs);
  for (double& derivative : derivatives) derivative *= class_weights[own];
}

}  // namespace

void add_class_gradients(const Dataset& data, ObjectiveRef objective, std::span<const double> weights,
                         std::span<const double> class_weights, mechanisms::RecordSum& sum, std::size_t threads, const RowMap& map,
                         ClassesBy by, UnitEnds ends) {
  const std::size_t d = data.features();
  detail::in_parts(units_in(data, ends), threads, sum, [&](std::size_t begin, std::size_t end, mechanisms::RecordSum& part) {
    data::RowReader reader{data};
    std::vector<double> room(map ? d : 0);
    std::vector<double> derivatives(class_weights.size());
    std::vector<double> signs(class_weights.size());
    std::vector<double> stacked(weights.size());
    for (std::size_t unit = begin; unit < end; ++unit) {
      const RecordRange rows = rows_of_unit(ends, unit);
      std::fill(stacked.begin(), stacked.end(), 0.0);
      for (std::size_t i = rows.first; i < rows.end; ++i) {
        RowView row = reader.row(i);
        if (map) data::map_in_room(map, {&row, 1}, room);
        class_derivatives(row, data.label(i), objective, weights, class_weights, by, derivatives, signs);
        const bool is_in_unit = data.has_weights() && !ends.empty();
        for (std::size_t k = 0; k < derivatives.size(); ++k) {
          row.add_scaled_to(is_in_unit ? derivatives[k] * data.weight(i) : derivatives[k], std::span{stacked}.subspan(k * d, d));
        }
      }
      for (double& value : stacked) value /= static_cast<double>(rows.end - rows.first);
      if (data.has_weights() && ends.empty()) {
        const double length = mechanisms::l2_norm(stacked);
        const double clip = part.options().clip.value();
        const double factor = (length > clip ? clip / length : 1) * data.weight(unit);
        for (double& value : stacked) value *= factor;
      }
      part.add(stacked);
    }
  });
}

namespace {

/// The mean gradient of one unit at a time.
class UnitGradient {
 public:
  UnitGradient(const Dataset& data, ObjectiveRef objective, const RowMap& map)
      : data_{data}, objective_{objective}, map_{map}, reader_{data}, mean_(data.features()), room_(map ? data.features() : 0) {}

  void add_to(mechanisms::RecordSum& sum, RecordRange rows, std::span<const double> weights) {
    std::fill(mean_.begin(), mean_.end(), 0.0);
    for (std::size_t i = rows.first; i < rows.end; ++i) {
      RowView row = reader_.row(i);
      if (map_) data::map_in_room(map_, {&row, 1}, room_);
      add_gradient(objective_, row, data_.label(i), weights, mean_, data_.weight(i));
    }
    for (double& value : mean_) value /= static_cast<double>(rows.end - rows.first);
    sum.add(mean_);
  }

 private:
  const Dataset& data_;
  ObjectiveRef objective_;
  const RowMap& map_;
  data::RowReader reader_;
  std::vector<double> mean_;
  std::vector<double> room_;
};

}  // namespace

void add_unit_gradients(const Dataset& data, ObjectiveRef objective, std::span<const double> weights, UnitEnds ends,
                        mechanisms::RecordSum& sum, std::size_t threads, const RowMap& map) {
  detail::in_parts(ends.size(), threads, sum, [&](std::size_t begin, std::size_t end, mechanisms::RecordSum& part) {
    UnitGradient gradient{data, objective, map};
    for (std::size_t unit = begin; unit < end; ++unit) gradient.add_to(part, rows_of_unit(ends, unit), weights);
  });
}

void add_unit_gradients(const Dataset& data, ObjectiveRef objective, std::span<const double> weights, UnitEnds ends,
                        std::span<const std::size_t> batch, mechanisms::RecordSum& sum) {
  const RowMap as_it_is;
  UnitGradient gradient{data, objective, as_it_is};
  for (const std::size_t unit : batch) gradient.add_to(sum, rows_of_unit(ends, unit), weights);
}

}  // namespace surety::optimizers
