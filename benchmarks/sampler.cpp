// Samples per second, in bulk, on one core. sampler/<law>/<scale in steps>: exact samplers with SystemBits, results as int64.
// release/gaussian: noise added to a query and converted to doubles. insecure/*: samplers without exactness or cryptographic bits, for
// comparison. scalar/*: one sample per call.
#include <benchmark/benchmark.h>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <surety/mechanisms/exact_rounding.h>
#include <surety/mechanisms/gaussian.h>

namespace surety::mechanisms {
namespace {

constexpr std::size_t batch = 1 << 16;

void count_items(benchmark::State& state, std::size_t items) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(items));
}

void fill(benchmark::State& state, const LatticeNoise& noise) {
  SystemBits bits;
  std::vector<std::int64_t> samples(batch);
  for (auto _ : state) {
    noise.fill(samples, bits);
    benchmark::DoNotOptimize(samples.data());
  }
  count_items(state, batch);
}

std::uint64_t argument(const benchmark::State& state) { return static_cast<std::uint64_t>(state.range(0)); }

void gaussian(benchmark::State& state) { fill(state, RoundedGaussian{StepSigma{static_cast<double>(state.range(0))}}); }
void laplace(benchmark::State& state) { fill(state, RoundedLaplace{StepScale{static_cast<double>(state.range(0))}}); }
void discrete_gaussian(benchmark::State& state) { fill(state, DiscreteGaussianNoise{{argument(state) * argument(state), 1}}); }
void discrete_laplace(benchmark::State& state) { fill(state, DiscreteLaplaceNoise{{argument(state), 1}}); }
void geometric(benchmark::State& state) { fill(state, GeometricNoise{{argument(state), 1}}); }

void one_at_a_time(benchmark::State& state) {
  SystemBits bits;
  const RoundedGaussian noise{StepSigma{static_cast<double>(state.range(0))}};
  for (auto _ : state) benchmark::DoNotOptimize(noise(bits));
  count_items(state, 1);
}

void release(benchmark::State& state) {
  const Gaussian mechanism{
      {.multiplier = NoiseMultiplier{1}, .sensitivity = L2Sensitivity{1024}, .grid = {0}, .adjacency = Adjacency::add_or_remove_one}};
  SystemBits bits;
  const GridVector query{Grid{0}, std::vector<std::int64_t>(1'000'000, 7)};
  for (auto _ : state) benchmark::DoNotOptimize(mechanism.release(query, bits));
  count_items(state, query.steps.size());
}

template <class Distribution, class Engine>
void insecure(benchmark::State& state) {
  Engine engine;
  Distribution distribution;
  std::vector<double> samples(batch);
  for (auto _ : state) {
    for (auto& sample : samples) sample = distribution(engine);
    benchmark::DoNotOptimize(samples.data());
  }
  count_items(state, batch);
}

BENCHMARK(gaussian)->Name("sampler/gaussian")->Arg(1)->Arg(30)->Arg(1024)->Arg(1 << 20);
BENCHMARK(laplace)->Name("sampler/laplace")->Arg(1)->Arg(1024)->Arg(1 << 20);
BENCHMARK(discrete_gaussian)->Name("sampler/discrete_gaussian")->Arg(1)->Arg(10)->Arg(100)->Arg(1000);
BENCHMARK(discrete_laplace)->Name("sampler/discrete_laplace")->Arg(1)->Arg(10)->Arg(1024);
BENCHMARK(geometric)->Name("sampler/geometric")->Arg(10)->Arg(1024);
BENCHMARK(release)->Name("release/gaussian/1024");
BENCHMARK(one_at_a_time)->Name("scalar/gaussian")->Arg(1)->Arg(1024);
BENCHMARK(insecure<std::normal_distribution<double>, std::mt19937_64>)->Name("insecure/std_normal_mt19937_64");
BENCHMARK(insecure<boost::random::normal_distribution<double>, boost::random::mt19937_64>)->Name("insecure/boost_ziggurat_mt19937_64");

}  // namespace
}  // namespace surety::mechanisms
