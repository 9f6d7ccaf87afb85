#include <surety/optimizers/streams/snowball.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {
namespace {

/// B_t, from the number of steps from this one on.
double batch(double root, std::uint64_t left) { return std::ceil(root / std::sqrt(static_cast<double>(left))); }

bool fit(double root, std::uint64_t steps, double records) {
  double sum = 0;
  for (std::uint64_t left = steps; left >= 1 && sum <= records; --left) sum += batch(root, left);
  return sum <= records;
}

}  // namespace

BatchSizes snowball_batches(Count records, Count steps) {
  if (steps.value() > most_snowball_steps) {
    throw Error{ErrorCode::invalid_argument, fmt::format("steps are {}, must be at most {}", steps.value(), most_snowball_steps)};
  }
  const auto n = static_cast<double>(records.value());
  double enough = 1;  // all batches are of one record
  double too_many = n + 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (enough + too_many) / 2;
    (fit(middle, steps.value(), n) ? enough : too_many) = middle;
  }
  std::vector<NumberPair> sizes;
  for (std::uint64_t left = steps.value(); left >= 1; --left) {
    const double size = batch(enough, left);
    if (sizes.empty() || sizes.back().second != size) sizes.push_back({0, size});
    ++sizes.back().first;
  }
  if (constexpr std::size_t most = 10'000; sizes.size() > most) {  // of BatchSizes
    throw Error{ErrorCode::invalid_argument,
                fmt::format("{} steps on {} records take {} different batch sizes, must be at most {}: use fewer steps", steps.value(),
                            records.value(), sizes.size(), most)};
  }
  return BatchSizes{std::move(sizes)};
}

}  // namespace surety::optimizers
