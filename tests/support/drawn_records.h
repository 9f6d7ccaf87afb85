// Random records for the tests of streaming and batch algorithms: ordinary ones, and those at and beyond every limit.
#pragma once

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include <surety/data/dataset.h>

namespace surety::optimizers {

struct DrawnRecord {
  std::vector<double> row;
  double label;
};

inline Dataset assemble(const std::vector<DrawnRecord>& records) {
  std::vector<double> values;
  std::vector<double> labels;
  for (const auto& record : records) {
    values.insert(values.end(), record.row.begin(), record.row.end());
    labels.push_back(record.label);
  }
  return Dataset::dense(records.front().row.size(), values, labels);
}

/// Coordinates of ordinary and of extreme size: rows below the clip, far beyond it, zero.
inline std::vector<double> drawn_vector(std::size_t size, std::mt19937_64& random) {
  std::vector<double> values(size);
  for (auto& value : values) {
    value = std::uniform_real_distribution<double>{-1, 1}(random);
    switch (random() % 6) {
      case 0: value = 0; break;
      case 1: value *= 1e3; break;
      case 2: value *= 1e300; break;
      default: break;
    }
  }
  return values;
}

inline DrawnRecord drawn_record(std::size_t features, std::mt19937_64& random) {
  auto row = drawn_vector(features, random);
  return {.row = std::move(row), .label = random() % 2 == 0 ? 1.0 : -1.0};
}

/// `data` and one record more, at the end.
inline Dataset with(const Dataset& data, const DrawnRecord& record) {
  std::vector<DrawnRecord> records;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto values = data.row(i).values;
    records.push_back({{values.begin(), values.end()}, data.label(i)});
  }
  records.push_back(record);
  return assemble(records);
}

/// Released values for a script: of the size of what is asked, and far beyond it.
inline std::vector<std::vector<double>> drawn_script(std::size_t releases, std::size_t features, std::mt19937_64& random) {
  std::vector<std::vector<double>> released;
  for (std::size_t t = 0; t < releases; ++t) released.push_back(drawn_vector(features, random));
  return released;
}

/// Batches for a script: each of `size` records joins by a coin.
inline std::vector<std::vector<std::size_t>> drawn_batches(std::size_t count, std::size_t size, std::mt19937_64& random) {
  std::vector<std::vector<std::size_t>> drawn(count);
  for (auto& batch : drawn) {
    for (std::size_t i = 0; i < size; ++i) {
      if (random() % 2 == 0) batch.push_back(i);
    }
  }
  return drawn;
}

struct DrawnNeighbours {
  Dataset data;
  Dataset neighbour;
  std::size_t place;  ///< of the record that differs
};

/// Neighbours under replace-one or zero-out: the record is replaced by another one or by its opposite, or zeroed. Every third time it is
/// the first one.
inline DrawnNeighbours drawn_neighbours(std::size_t size, std::size_t features, Adjacency adjacency, std::mt19937_64& random) {
  std::vector<DrawnRecord> records;
  for (std::size_t i = 0; i < size; ++i) records.push_back(drawn_record(features, random));
  const std::size_t place = random() % 3 == 0 ? 0 : random() % size;
  auto neighbours = records;
  if (adjacency == Adjacency::zero_out) {
    neighbours[place].row.assign(features, 0.0);
  } else if (random() % 2 == 0) {
    for (auto& value : neighbours[place].row) value = -value;
  } else {
    neighbours[place] = drawn_record(features, random);
  }
  return {.data = assemble(records), .neighbour = assemble(neighbours), .place = place};
}

}  // namespace surety::optimizers
