// Random records for the tests of streaming and batch algorithms: ordinary ones, and those at and beyond every limit.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include <surety/optimizers/problem/dataset.h>

namespace surety::optimizers {

struct DrawnRecord {
  std::vector<double> row;
  double label;
};

Dataset assemble(const std::vector<DrawnRecord>& records);

/// Coordinates of ordinary and of extreme size: rows below the clip, far beyond it, zero.
std::vector<double> drawn_vector(std::size_t size, std::mt19937_64& random);

/// Normal coordinates of standard deviation `scale`.
std::vector<double> normal_vector(std::size_t size, double scale, std::mt19937_64& random);

DrawnRecord drawn_record(std::size_t features, std::mt19937_64& random);
std::vector<DrawnRecord> drawn_records(std::size_t size, std::size_t features, std::mt19937_64& random);

/// Replace-one or zero-out.
Adjacency drawn_adjacency(std::mt19937_64& random);

/// `data` and one record more, at the end.
Dataset with(const Dataset& data, const DrawnRecord& record);

/// `records`, the one at `place` turned to its opposite.
std::vector<DrawnRecord> turned(std::vector<DrawnRecord> records, std::size_t place);

/// Records (x, y) of two features and a label, of which x tells the label half of the time, in [-1, 1] mostly: something can be learned.
Dataset learnable_records(int size, std::mt19937_64& random);

/// Released values for a script: of the size of what is asked, and far beyond it.
std::vector<std::vector<double>> drawn_script(std::size_t releases, std::size_t features, std::mt19937_64& random);

/// Choices for a script: any words.
std::vector<std::size_t> drawn_choices(std::size_t count, std::mt19937_64& random);

/// Batches for a script: each of `size` records joins by a coin.
std::vector<std::vector<std::size_t>> drawn_batches(std::size_t count, std::size_t size, std::mt19937_64& random);

struct DrawnNeighbours {
  Dataset data;
  Dataset neighbour;
  std::size_t place;  ///< of the record that differs
};

/// Neighbours under replace-one or zero-out: the record is replaced by another one or by its opposite, or zeroed. Every third time it is
/// the first one.
DrawnNeighbours drawn_neighbours(std::size_t size, std::size_t features, Adjacency adjacency, std::mt19937_64& random);

/// The same under any adjacency: under add-or-remove-one the neighbour has one record more, the last one, which is the place.
DrawnNeighbours drawn_neighbours_under_any(std::size_t size, std::size_t features, Adjacency adjacency, std::mt19937_64& random);

/// A stream of one to four features, as long as up to `most` records, one of them replaced, and released values for it.
struct DrawnStream {
  std::size_t features;
  std::size_t size;
  Adjacency adjacency;
  DrawnNeighbours neighbours;
  std::vector<std::vector<double>> released;
};
/// From 1 to `most`; once in 128 times 2^k - 1, 2^k or 2^k + 1 for a k up to 7: what is kept of earlier steps is cleared or merged there.
std::size_t drawn_length(std::size_t most, std::mt19937_64& random);
DrawnStream drawn_stream(std::size_t most, std::mt19937_64& random);

}  // namespace surety::optimizers
