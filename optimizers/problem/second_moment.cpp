#include <surety/optimizers/problem/second_moment.h>

#include <cmath>

#include <surety/data/features/row_reader.h>
#include <surety/optimizers/problem/in_parts.h>

namespace surety::optimizers {

void add_second_moments(const Dataset& data, mechanisms::SecondMomentSum& sum, std::size_t threads, UnitEnds ends) {
  detail::in_parts(units_in(data, ends), threads, sum, [&](std::size_t begin, std::size_t end, mechanisms::SecondMomentSum& part) {
    data::RowReader reader{data};
    for (std::size_t unit = begin; unit < end; ++unit) {
      const RecordRange rows = rows_of_unit(ends, unit);
      part.begin_unit(rows.end - rows.first);
      for (std::size_t i = rows.first; i < rows.end; ++i) {
        const RowView row = reader.row(i);
        const double factor = std::sqrt(data.weight(i));
        if (row.is_sparse()) {
          part.add_scaled(factor, row.indices, row.values, row.norm);
        } else if (!row.values.empty()) {
          part.add_scaled(factor, row.values, row.norm);
        }
      }
    }
  });
}

void symmetrize(std::size_t dimension, std::vector<double>& released) {
  for (std::size_t j = 0; j < dimension; ++j) {
    for (std::size_t k = j + 1; k < dimension; ++k) {
      const double mean = (released[j * dimension + k] + released[k * dimension + j]) / 2;
      released[j * dimension + k] = mean;
      released[k * dimension + j] = mean;
    }
  }
}

double noise_operator_norm(double sigma, std::size_t dimension) { return sigma * std::sqrt(2 * static_cast<double>(dimension)); }

}  // namespace surety::optimizers
