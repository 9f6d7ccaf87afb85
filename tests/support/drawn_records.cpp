#include <support/drawn_records.h>

#include <cstdint>
#include <utility>

namespace surety::optimizers {

Dataset assemble(const std::vector<DrawnRecord>& records) {
  std::vector<double> values;
  std::vector<double> labels;
  for (const auto& record : records) {
    values.insert(values.end(), record.row.begin(), record.row.end());
    labels.push_back(record.label);
  }
  return Dataset::dense(records.front().row.size(), values, labels);
}

std::vector<double> drawn_vector(std::size_t size, std::mt19937_64& random) {
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

std::vector<double> normal_vector(std::size_t size, double scale, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> values(size);
  for (auto& value : values) value = scale * normal(random);
  return values;
}

DrawnRecord drawn_record(std::size_t features, std::mt19937_64& random) {
  auto row = drawn_vector(features, random);
  return {.row = std::move(row), .label = random() % 2 == 0 ? 1.0 : -1.0};
}

std::vector<DrawnRecord> drawn_records(std::size_t size, std::size_t features, std::mt19937_64& random) {
  std::vector<DrawnRecord> records;
  for (std::size_t i = 0; i < size; ++i) records.push_back(drawn_record(features, random));
  return records;
}

Adjacency drawn_adjacency(std::mt19937_64& random) { return random() % 2 == 0 ? Adjacency::replace_one : Adjacency::zero_out; }

Dataset with(const Dataset& data, const DrawnRecord& record) {
  std::vector<DrawnRecord> records;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto values = data.row(i).values;
    records.push_back({{values.begin(), values.end()}, data.label(i)});
  }
  records.push_back(record);
  return assemble(records);
}

std::vector<DrawnRecord> turned(std::vector<DrawnRecord> records, std::size_t place) {
  for (auto& value : records[place].row) value = -value;
  return records;
}

Dataset learnable_records(int size, std::mt19937_64& random) {
  std::vector<double> values;
  std::vector<double> labels;
  for (int i = 0; i < size; ++i) {
    const double label = i % 2 == 0 ? 1 : -1;
    const double x = 0.5 * label + 0.4 * std::normal_distribution<double>{}(random);
    values.insert(values.end(), {x / 2, std::normal_distribution<double>{}(random) / 4});
    labels.push_back(label);
  }
  return Dataset::dense(2, values, labels);
}

std::vector<std::vector<double>> drawn_script(std::size_t releases, std::size_t features, std::mt19937_64& random) {
  std::vector<std::vector<double>> released;
  for (std::size_t t = 0; t < releases; ++t) released.push_back(drawn_vector(features, random));
  return released;
}

std::vector<std::size_t> drawn_choices(std::size_t count, std::mt19937_64& random) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(random());
  return chosen;
}

std::vector<std::vector<std::size_t>> drawn_batches(std::size_t count, std::size_t size, std::mt19937_64& random) {
  std::vector<std::vector<std::size_t>> drawn(count);
  for (auto& batch : drawn) {
    for (std::size_t i = 0; i < size; ++i) {
      if (random() % 2 == 0) batch.push_back(i);
    }
  }
  return drawn;
}

DrawnNeighbours drawn_neighbours(std::size_t size, std::size_t features, Adjacency adjacency, std::mt19937_64& random) {
  const auto records = drawn_records(size, features, random);
  const std::size_t place = random() % 3 == 0 ? 0 : random() % size;
  auto neighbours = records;
  if (adjacency == Adjacency::zero_out) {
    neighbours[place].row.assign(features, 0.0);
  } else if (random() % 2 == 0) {
    neighbours = turned(records, place);
  } else {
    neighbours[place] = drawn_record(features, random);
  }
  return {.data = assemble(records), .neighbour = assemble(neighbours), .place = place};
}

DrawnNeighbours drawn_neighbours_under_any(std::size_t size, std::size_t features, Adjacency adjacency, std::mt19937_64& random) {
  auto drawn = drawn_neighbours(size, features, adjacency, random);
  if (adjacency == Adjacency::add_or_remove_one) {
    drawn.neighbour = with(drawn.data, drawn_record(features, random));
    drawn.place = size;
  }
  return drawn;
}

std::size_t drawn_length(std::size_t most, std::mt19937_64& random) {
  if (random() % 128 != 0) return 1 + random() % most;
  return (std::size_t{2} << random() % 7) + random() % 3 - 1;
}

DrawnStream drawn_stream(std::size_t most, std::mt19937_64& random) {
  const std::size_t features = 1 + random() % 4;
  const std::size_t size = drawn_length(most, random);
  const Adjacency adjacency = drawn_adjacency(random);
  auto neighbours = drawn_neighbours(size, features, adjacency, random);
  return {.features = features,
          .size = size,
          .adjacency = adjacency,
          .neighbours = std::move(neighbours),
          .released = drawn_script(size, features, random)};
}

}  // namespace surety::optimizers
