// Time of a push into a continual sum, on average over a stream, with SystemBits and noise of 2^20 grid steps. The argument is the
// dimension. continual/tree: the binary tree with Gaussian nodes. continual/honaker: its streaming estimate. continual/adaptive: the tree
// whose noise changes at each push. Counters: `bytes_per_coordinate`, what the pushes made the sum hold; `levels` of the tree by then.
#include <benchmark/benchmark.h>

#include <malloc.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/scaled_noise.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>

namespace surety::mechanisms {
namespace {

constexpr auto adjacency = Adjacency::replace_one;
const Grid grid{-20};

std::size_t allocated() {
  const auto memory = mallinfo2();
  return memory.uordblks + memory.hblkhd;
}

/// Pushes until the benchmark has enough: `push(sum, contribution, t, bits)`.
template <class Make, class Push>
void run(benchmark::State& state, Make make, Push push) {
  const auto dimension = static_cast<std::size_t>(state.range(0));
  const GridVector contribution{.grid = grid, .steps = std::vector<std::int64_t>(dimension, 7)};
  SystemBits bits;
  auto sum = make(Count{dimension});
  const std::size_t before = allocated();
  std::uint64_t t = 0;
  for (auto _ : state) benchmark::DoNotOptimize(push(sum, contribution, ++t, bits));
  state.SetItemsProcessed(state.iterations());
  state.counters["bytes_per_coordinate"] = static_cast<double>(allocated() - before) / static_cast<double>(dimension);
  state.counters["levels"] = static_cast<double>(std::bit_width(t));
}

void tree_of(benchmark::State& state, TreeEstimate estimate) {
  const auto make = [estimate](Count dimension) {
    return TreeSum<Gaussian>{
        Gaussian{{.multiplier = NoiseMultiplier{1}, .sensitivity = L2Sensitivity{1}, .grid = grid, .adjacency = adjacency}},
        Count{std::uint64_t{1} << 40}, dimension, estimate};
  };
  run(state, make, [](auto& sum, const GridVector& contribution, std::uint64_t, SystemBits& bits) { return sum.push(contribution, bits); });
}

void tree(benchmark::State& state) { tree_of(state, TreeEstimate::plain); }
void honaker(benchmark::State& state) { tree_of(state, TreeEstimate::streaming); }

void adaptive(benchmark::State& state) {
  const auto make = [](Count dimension) {
    return AdaptiveTreeSum<ScaledGaussian>{ScaledGaussian{{.multiplier = NoiseMultiplier{1}, .grid = grid, .adjacency = adjacency}},
                                           Count{std::uint64_t{1} << 40}, dimension};
  };
  run(state, make, [](auto& sum, const GridVector& contribution, std::uint64_t t, SystemBits& bits) {
    return sum.push(contribution, L2Sensitivity{1 + static_cast<double>(t) * 0x1p-20}, bits);
  });
}

// Streams of 2^k - 1 steps: every level holds a node at the end.
constexpr std::int64_t many = (1 << 20) - 1;
constexpr std::int64_t some = (1 << 7) - 1;
BENCHMARK(tree)->Name("continual/tree")->Arg(10)->Iterations(many);
BENCHMARK(tree)->Name("continual/tree")->Arg(1'000'000)->Iterations(some);
BENCHMARK(honaker)->Name("continual/honaker")->Arg(10)->Iterations(many);
BENCHMARK(honaker)->Name("continual/honaker")->Arg(1'000'000)->Iterations(some);
BENCHMARK(adaptive)->Name("continual/adaptive")->Arg(10)->Iterations(many);
BENCHMARK(adaptive)->Name("continual/adaptive")->Arg(1'000'000)->Iterations(some);

}  // namespace
}  // namespace surety::mechanisms
