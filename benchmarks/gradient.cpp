// Time of one sum of clipped gradients of all records. gradient/sum/<data>/<threads>: logistic loss, clipped to C = 0.5 and rounded to the
// grid of a run with noise multiplier 40, on records of unit norm. gradient/reference/<data>: the same gradient in doubles, without
// clipping or rounding, record by record. gradient/descent: 100 steps of private gradient descent with their noise. `asked_for` in
// milliseconds.
//
// sparse: 32,561 records of 14 ones each among 123 features, scaled to unit norm, as the data set a9a has them; dense: 200,000 x 54 normal
// numbers.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/empirical_risk/gradient_descent.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/loss.h>

namespace surety::optimizers {
namespace {

std::vector<double> labels(std::size_t size, std::mt19937_64& random) {
  std::vector<double> result(size);
  for (auto& label : result) label = random() % 2 == 0 ? 1 : -1;
  return result;
}

/// One of nine features in each of the first 13 groups and one of the last six, as one-hot columns are.
Dataset make_sparse() {
  std::mt19937_64 random{1};
  constexpr std::size_t records = 32'561;
  constexpr std::uint32_t ones = 14;
  std::vector<std::size_t> row_ends;
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < records; ++i) {
    for (std::uint32_t group = 0; group < ones; ++group) {
      indices.push_back(group * 9 + static_cast<std::uint32_t>(random() % (group + 1 < ones ? 9 : 6)));
    }
    row_ends.push_back(indices.size());
  }
  std::vector<double> values(indices.size(), 1 / std::sqrt(double{ones}));
  return Dataset::sparse(123, std::move(row_ends), std::move(indices), std::move(values), labels(records, random));
}

Dataset make_dense() {
  std::mt19937_64 random{2};
  constexpr std::size_t records = 200'000;
  constexpr std::size_t features = 54;
  std::normal_distribution<double> normal{0, 1 / std::sqrt(double{features})};
  std::vector<double> values(records * features);
  for (auto& value : values) value = normal(random);
  return Dataset::dense(features, std::move(values), labels(records, random));
}

const Dataset& data(bool is_sparse) {
  static const Dataset sparse = make_sparse();
  static const Dataset dense = make_dense();
  return is_sparse ? sparse : dense;
}

std::vector<double> some_weights(std::size_t features) {
  std::mt19937_64 random{3};
  std::vector<double> weights(features);
  for (auto& weight : weights) weight = std::normal_distribution<double>{}(random);
  return weights;
}

void sum(benchmark::State& state, bool is_sparse, std::size_t threads, double asked_for) {
  const Dataset& records = data(is_sparse);
  const auto weights = some_weights(records.features());
  const ClippingNorm clip{0.5};
  mechanisms::RecordSum total{
      {.clip = clip, .grid = mechanisms::grid_for(L2Sensitivity{1}, NoiseMultiplier{40}), .dimension = records.features()}};
  for (auto _ : state) {
    total.clear();
    add_gradients(records, LogisticLoss{}, weights, total, threads);
    benchmark::DoNotOptimize(total.sum());
  }
  if (asked_for > 0) state.counters["asked_for"] = asked_for;
}

void reference(benchmark::State& state, bool is_sparse) {
  const Dataset& records = data(is_sparse);
  const auto weights = some_weights(records.features());
  std::vector<double> gradient(records.features());
  for (auto _ : state) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    for (std::size_t i = 0; i < records.size(); ++i) add_gradient(LogisticLoss{}, records.row(i), records.label(i), weights, gradient);
    benchmark::DoNotOptimize(gradient.data());
  }
}

/// The noise of a release, without a ledger: the benchmark measures what depends on data and dimension.
struct UnchargedReleaser final : Releaser {
  mechanisms::SystemBits bits;
  std::optional<mechanisms::Gaussian> noise;
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    if (!noise) {
      noise.emplace(mechanisms::Gaussian::Options{
          .multiplier = *pairwise_multiplier(event), .sensitivity = sensitivity, .grid = query.grid, .adjacency = event.adjacency()});
    }
    return noise->release(query, bits);
  }
};

void descent(benchmark::State& state, bool is_sparse, double asked_for) {
  for (auto _ : state) {
    UnchargedReleaser releaser;
    benchmark::DoNotOptimize(
        gradient_descent(data(is_sparse), LogisticLoss{}, WholeSpace{}, {.noise_multiplier = NoiseMultiplier{40}}, releaser));
  }
  if (asked_for > 0) state.counters["asked_for"] = asked_for;
}

BENCHMARK_CAPTURE(sum, sparse / threads : 1, true, 1, 2.0)->Name("gradient/sum/sparse/threads:1")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sum, sparse / threads : 2, true, 2, 0)
    ->Name("gradient/sum/sparse/threads:2")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(reference, sparse, true)->Name("gradient/reference/sparse")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sum, dense / threads : 1, false, 1, 25.0)->Name("gradient/sum/dense/threads:1")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sum, dense / threads : 2, false, 2, 0)
    ->Name("gradient/sum/dense/threads:2")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(reference, dense, false)->Name("gradient/reference/dense")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(descent, sparse, true, 300.0)->Name("gradient/descent/sparse")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace surety::optimizers
