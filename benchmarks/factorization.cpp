// surety_factorization: writes the tables of docs/results/continual.md, the error, time and memory of private prefix sums.
// research/scripts/continual runs it. Fails when a measured error is more than 2 % from the computed one.
// surety_factorization --check PAGE.md: makes some errors again, one of them measured, and looks for their lines in the page.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/events/continual.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>

namespace {
std::size_t bytes_held = 0;
}  // namespace

// Every allocation of this program is counted: what a sum holds is the difference.
void* operator new(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc{};
  bytes_held += malloc_usable_size(memory);
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) bytes_held -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

namespace surety::mechanisms {
namespace {

struct Choice {
  std::string name;
  Factorization factorization;
  Buffers buffers{4};
};

std::vector<Choice> choices() {
  std::vector<Choice> result{{"binary tree", Factorization::tree},
                             {"binary tree, streaming estimate", Factorization::streaming_tree},
                             {"square-root Toeplitz", Factorization::toeplitz}};
  for (const double buffers : {2.0, 3.0, 4.0, 5.0, 6.0}) {
    result.push_back({fmt::format("buffered Toeplitz, {} buffers", buffers), Factorization::buffered, Buffers{buffers}});
  }
  return result;
}

bool is_tree(const Choice& choice) {
  return choice.factorization == Factorization::tree || choice.factorization == Factorization::streaming_tree;
}

/// A sum of sensitivity 1 whose event is 1-GDP.
GaussianContinualSum make(const Choice& choice, std::uint64_t steps, std::uint64_t dimension) {
  const Count n{steps};
  const L2Sensitivity sensitivity{1};
  const NoiseMultiplier multiplier{is_tree(choice) ? std::sqrt(static_cast<double>(accounting::tree_levels(n).value())) : 1};
  return GaussianContinualSum{{.factorization = choice.factorization,
                               .steps = n,
                               .dimension = Count{dimension},
                               .sensitivity = sensitivity,
                               .multiplier = multiplier,
                               .grid = continual_grid(choice.factorization, n, sensitivity, multiplier, Headroom{4}, choice.buffers),
                               .adjacency = Adjacency::add_or_remove_one,
                               .buffers = choice.buffers}};
}

GridVector zero(const GaussianContinualSum& sum) {
  return {.grid = sum.options().grid, .steps = std::vector<std::int64_t>(sum.options().dimension.value(), 0)};
}

/// Of noise alone: its largest, at the step where it should be largest, and rms. Over sums of `dimension` coordinates, `sums` of them.
PrefixError measure(const Choice& choice, std::uint64_t steps, std::uint64_t dimension, std::uint64_t sums) {
  double total = 0;
  double largest = 0;
  const ReplayBits seed{20'230'101};
  for (std::uint64_t i = 0; i < sums; ++i) {
    ReplayBits bits = seed.substream(i);
    GaussianContinualSum sum = make(choice, steps, dimension);
    const GridVector contribution = zero(sum);
    for (std::uint64_t t = 1; t <= steps; ++t) {
      double squares = 0;
      for (const double error : sum.push(contribution, bits)) squares += error * error;
      total += squares;
      if (t == (is_tree(choice) ? steps - 1 : steps)) largest += squares;
    }
  }
  const auto coordinates = static_cast<double>(dimension * sums);
  return {.max = std::sqrt(largest / coordinates), .rms = std::sqrt(total / coordinates / static_cast<double>(steps))};
}

bool near(const PrefixError& a, const PrefixError& b) { return std::abs(a.max / b.max - 1) <= 0.02 && std::abs(a.rms / b.rms - 1) <= 0.02; }

std::string text(const PrefixError& error) { return fmt::format("{:.3f} / {:.3f}", error.max, error.rms); }

std::string bounds() {
  return fmt::format("| lower bound (rms) | {:.3f} | | {:.3f} | | {:.3f} |\n", least_rms_prefix_error(Count{1024}),
                     least_rms_prefix_error(Count{4096}), least_rms_prefix_error(Count{1U << 20}));
}

bool print_errors() {
  bool agree = true;
  fmt::print("| | n = 1024 | measured | n = 4096 | measured | n = 2^20 |\n|---|---|---|---|---|---|\n{}", bounds());
  for (const Choice& choice : choices()) {
    std::string row = fmt::format("| {} |", choice.name);
    for (const std::uint64_t steps : {1024U, 4096U}) {
      const PrefixError computed = prefix_error(choice.factorization, Count{steps}, choice.buffers);
      // Toeplitz sums take time in proportion to n^2.
      const std::uint64_t sums = choice.factorization == Factorization::toeplitz && steps == 4096 ? 20 : 40;
      const PrefixError measured = measure(choice, steps, 1000, sums);
      agree = agree && near(measured, computed);
      row += fmt::format(" {} | {} |", text(computed), text(measured));
    }
    const PrefixError computed = prefix_error(choice.factorization, Count{1U << 20}, choice.buffers);
    fmt::print("{} {} |\n", row, text(computed));
  }
  return agree;
}

/// The bounds, the computed errors of 1024 steps, and the measured one of the default, as the page shows them.
std::vector<std::string> fixed_part() {
  std::vector<std::string> lines{bounds()};
  for (const Choice& choice : choices()) {
    std::string line = fmt::format("| {} | {} |", choice.name, text(prefix_error(choice.factorization, Count{1024}, choice.buffers)));
    if (choice.name == "buffered Toeplitz, 4 buffers") line += fmt::format(" {} |", text(measure(choice, 1024, 1000, 40)));
    lines.push_back(line);
  }
  return lines;
}

int check(const char* file) {
  std::ostringstream page;
  page << std::ifstream{file}.rdbuf();
  bool good = true;
  const auto lines = fixed_part();
  for (const auto& line : lines) {
    if (page.str().find(line) != std::string::npos) continue;
    good = false;
    fmt::print("{} does not show \"{}\": make it again with research/scripts/continual\n", file, line);
  }
  if (good) fmt::print("{}: {} lines as shown\n", file, lines.size());
  return good ? 0 : 1;
}

double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string bytes(double count) {
  const double kilobytes = count / 1000;
  return kilobytes < 1000 ? fmt::format("{:.1f} kB", kilobytes) : fmt::format("{:.1f} MB", kilobytes / 1000);
}

/// Time of a push and memory of the sum after `pushes` pushes, without the sampler's tables and the caller's vectors.
std::string cost(const Choice& choice, std::uint64_t steps, std::uint64_t dimension, std::uint64_t pushes) {
  ReplayBits bits{7};
  const std::size_t nothing = bytes_held;
  std::size_t tables = 0;
  {
    const GaussianContinualSum smallest = make(choice, 1, 1);
    tables = bytes_held - nothing;
  }
  const std::size_t before = bytes_held;
  GaussianContinualSum sum = make(choice, steps, dimension);
  const GridVector contribution = zero(sum);
  const std::size_t of_caller = malloc_usable_size(const_cast<std::int64_t*>(contribution.steps.data()));
  const double start = seconds();
  for (std::uint64_t t = 0; t < pushes; ++t) static_cast<void>(sum.push(contribution, bits));
  const double per_push = (seconds() - start) / static_cast<double>(pushes);
  const double held = static_cast<double>(bytes_held - before - of_caller) - static_cast<double>(tables);
  const std::string time = per_push < 1e-3 ? fmt::format("{:.2f} us", per_push * 1e6) : fmt::format("{:.1f} ms", per_push * 1e3);
  return fmt::format("{} | {}", time, bytes(std::max(held, 0.0)));
}

void print_costs() {
  fmt::print("| | d = 10: per push | memory | d = 10^6: per push | memory |\n|---|---|---|---|---|\n");
  for (const Choice& choice : choices()) {
    const std::string large = choice.factorization == Factorization::toeplitz ? "(12 bytes per step and coordinate: 49 GB) |"
                                                                              : cost(choice, 4096, 1'000'000, 127);
    fmt::print("| {} | {} | {} |\n", choice.name, cost(choice, 4096, 10, 4095), large);
  }
}

}  // namespace
}  // namespace surety::mechanisms

int main(int count, char** arguments) {
  using namespace surety::mechanisms;
  if (count == 3 && std::string_view{arguments[1]} == "--check") return check(arguments[2]);
  const bool agree = print_errors();
  fmt::print("\n");
  print_costs();
  if (!agree) fmt::print(stderr, "surety_factorization: a measured error is more than 2 % from the computed one\n");
  return agree ? 0 : 1;
}
