// Samples per second, in bulk. sampler/<law>/<scale in steps>: exact samplers with SystemBits on one thread, results as int64;
// sampler/<law>_doubles: as doubles on a grid; sampler/two_threads/<law>: two threads, each with its own bits, against the wall clock.
// release/<law>: noise for 10^6 coordinates of a query on the grid, as doubles; release/<law>_in_place: over 10^6 doubles, rounded to the
// grid first. insecure/*: samplers without exactness or cryptographic bits, for comparison. scalar/*: one sample per call.
// path/<instructions>/<law>/<scale>: isochronous samplers by each of the loops that this processor has; AES without VAES, but for avx512.
#include <benchmark/benchmark.h>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/samplers/exact_rounding.h>
#include <surety/mechanisms/samplers/trial_loops.h>

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

void fill_doubles(benchmark::State& state, const LatticeNoise& noise) {
  SystemBits bits;
  std::vector<double> samples(batch);
  for (auto _ : state) {
    noise.fill(samples, Grid{-10}, bits);
    benchmark::DoNotOptimize(samples.data());
  }
  count_items(state, batch);
}

std::uint64_t argument(const benchmark::State& state) { return static_cast<std::uint64_t>(state.range(0)); }
RoundedGaussian gaussian_of(const benchmark::State& state) { return RoundedGaussian{StepSigma{static_cast<double>(state.range(0))}}; }
RoundedLaplace laplace_of(const benchmark::State& state) { return RoundedLaplace{StepScale{static_cast<double>(state.range(0))}}; }

void gaussian(benchmark::State& state) { fill(state, gaussian_of(state)); }
void laplace(benchmark::State& state) { fill(state, laplace_of(state)); }
void gaussian_doubles(benchmark::State& state) { fill_doubles(state, gaussian_of(state)); }
void laplace_doubles(benchmark::State& state) { fill_doubles(state, laplace_of(state)); }
void gaussian_on_threads(benchmark::State& state) { fill(state, gaussian_of(state)); }
void discrete_gaussian(benchmark::State& state) { fill(state, DiscreteGaussianNoise{{argument(state) * argument(state), 1}}); }
void discrete_laplace(benchmark::State& state) { fill(state, DiscreteLaplaceNoise{{argument(state), 1}}); }
void geometric(benchmark::State& state) { fill(state, GeometricNoise{{argument(state), 1}}); }
void binomial(benchmark::State& state) { fill(state, BinomialNoise{argument(state)}); }
void skellam(benchmark::State& state) { fill(state, SkellamNoise{static_cast<double>(state.range(0))}); }

/// The same samples by each loop.
const bool paths_are_registered = [] {
  const auto add = [](TrialPath path, const std::string& law, const IsochronousSampler& sampler) {
    benchmark::RegisterBenchmark(("path/" + std::string{name_of(path)} + "/" + law).c_str(), [=](benchmark::State& state) {
      // A processor without AVX-512 has OpenSSL's bits.
      SystemBits bits{path == TrialPath::avx512 ? fastest_aes() : AesPath::openssl};
      std::vector<std::int64_t> samples(batch);
      for (auto _ : state) {
        sampler.fill(samples, bits, path);
        benchmark::DoNotOptimize(samples.data());
      }
      count_items(state, batch);
    });
  };
  for (const auto path : available_paths()) {
    for (const int log2_scale : {-1, 0, 1, 2, 10, 20, 40}) {
      const double scale = std::ldexp(1.0, log2_scale);
      const std::string text = log2_scale < 0 ? "0.5" : "2^" + std::to_string(log2_scale);
      add(path, "gaussian/" + text, IsochronousSampler::rounded_gaussian(scale));
      add(path, "laplace/" + text, IsochronousSampler::rounded_laplace(scale));
      if (log2_scale >= 0) add(path, "discrete_laplace/" + text, IsochronousSampler::discrete_laplace({std::uint64_t{1} << log2_scale, 1}));
      if (log2_scale >= 0 && log2_scale < 32) {
        add(path, "discrete_gaussian/" + text, IsochronousSampler::discrete_gaussian({std::uint64_t{1} << 2 * log2_scale, 1}));
      }
    }
  }
  return true;
}();

void one_at_a_time(benchmark::State& state) {
  SystemBits bits;
  const RoundedGaussian noise{StepSigma{static_cast<double>(state.range(0))}};
  for (auto _ : state) benchmark::DoNotOptimize(noise(bits));
  count_items(state, 1);
}

constexpr std::size_t dimension = 1'000'000;

template <class Mechanism>
void release(benchmark::State& state, const Mechanism& mechanism) {
  SystemBits bits;
  const GridVector query{Grid{-10}, std::vector<std::int64_t>(dimension, 7)};
  for (auto _ : state) benchmark::DoNotOptimize(mechanism.release(query, bits));
  count_items(state, dimension);
}

template <class Mechanism>
void release_in_place(benchmark::State& state, const Mechanism& mechanism) {
  SystemBits bits;
  std::vector<double> gradients(dimension);
  for (std::size_t i = 0; i < dimension; ++i) gradients[i] = static_cast<double>(i) / 3e4 - 10;
  for (auto _ : state) {
    mechanism.release_in_place(gradients, bits);
    benchmark::DoNotOptimize(gradients.data());
  }
  count_items(state, dimension);
}

// A scale of 1024 steps, nearly.
const Grid fine{-10};
constexpr Adjacency any = Adjacency::add_or_remove_one;
void release_gaussian(benchmark::State& state) {
  release(state, Gaussian{{.multiplier = NoiseMultiplier{1}, .sensitivity = L2Sensitivity{1}, .grid = fine, .adjacency = any}});
}
void release_laplace(benchmark::State& state) {
  release(state, Laplace{{.scale = NoiseScale{1}, .sensitivity = L1Sensitivity{1}, .grid = fine, .adjacency = any}});
}
void gaussian_in_place(benchmark::State& state) {
  release_in_place(
      state,
      GaussianOnReals{
          {.multiplier = NoiseMultiplier{1}, .sensitivity = L2Sensitivity{0.03}, .grid = fine, .dimension = dimension, .adjacency = any}});
}
void laplace_in_place(benchmark::State& state) {
  release_in_place(
      state, LaplaceOnReals{
                 {.scale = NoiseScale{1e-3}, .sensitivity = L1Sensitivity{25}, .grid = fine, .dimension = dimension, .adjacency = any}});
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
BENCHMARK(binomial)->Name("sampler/binomial")->Arg(100)->Arg(1'000'000)->Arg(std::int64_t{1} << 52);
BENCHMARK(skellam)->Name("sampler/skellam")->Arg(50)->Arg(500'000);
BENCHMARK(gaussian_doubles)->Name("sampler/gaussian_doubles")->Arg(1024)->Arg(1 << 20);
BENCHMARK(laplace_doubles)->Name("sampler/laplace_doubles")->Arg(1024)->Arg(1 << 20);
BENCHMARK(gaussian_on_threads)->Name("sampler/one_thread/gaussian")->Arg(1024)->Threads(1)->UseRealTime();
BENCHMARK(gaussian_on_threads)->Name("sampler/two_threads/gaussian")->Arg(1024)->Threads(2)->UseRealTime();
BENCHMARK(release_gaussian)->Name("release/gaussian/1024");
BENCHMARK(release_laplace)->Name("release/laplace/1024");
BENCHMARK(gaussian_in_place)->Name("release/gaussian_in_place/1024");
BENCHMARK(laplace_in_place)->Name("release/laplace_in_place/1024");
BENCHMARK(one_at_a_time)->Name("scalar/gaussian")->Arg(1)->Arg(1024);
BENCHMARK(insecure<std::normal_distribution<double>, std::mt19937_64>)->Name("insecure/std_normal_mt19937_64");
BENCHMARK(insecure<boost::random::normal_distribution<double>, boost::random::mt19937_64>)->Name("insecure/boost_ziggurat_mt19937_64");

}  // namespace
}  // namespace surety::mechanisms
