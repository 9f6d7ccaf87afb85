// Whether the time of the parts of a release depends on the values they work on: the harness of `surety noise --check-timing` on clipping and summing,
// on vector noise by its first number, on adding noise and on printing. Prints the rows of a Markdown table; docs/results/release-timing.md has it.
//
// Rows and sums are 4,096 fixed ones, used in turn, so a difference of less than a cycle may be one of their places in memory.
//
//   surety_release_timing [SECONDS]     for each row, at most (10)
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <surety/mechanisms/additive/any_noise.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/queries/clipped_sum.h>
#include <surety/mechanisms/timing/check_timing.h>

namespace {

using namespace surety;
using namespace surety::mechanisms;

constexpr std::size_t dimension = 8;
/// Rows and sums that are made before the measurement and used in turn. They fit into the cache of the second level.
constexpr std::size_t prepared = 4096;
const Grid grid{.log2_step = -20};

struct Row {
  std::array<double, dimension> numbers;
  double norm;  ///< over the clipping norm, less 1: negative where the row is not clipped; 0 of a row with a NaN, which counts as none
};

double uniform(ReplayBits& bits) { return static_cast<double>(draw_word(bits) >> 11) * 0x1p-53; }

/// Rows of l2 norm from `least` to `most`, uniform in its logarithm, with clipping norm 1. One in `damaged` has a NaN, where that is not 0.
std::vector<Row> rows(double least, double most, std::size_t damaged) {
  ReplayBits bits{20261130};
  std::vector<Row> result(prepared);
  for (std::size_t n = 0; n < prepared; ++n) {
    double sum = 0;
    for (double& number : result[n].numbers) {
      number = uniform(bits) - 0.5;
      sum += number * number;
    }
    const double norm = least * std::pow(most / least, uniform(bits));
    for (double& number : result[n].numbers) number *= norm / std::sqrt(sum);
    result[n].norm = norm - 1;
    if (damaged != 0 && n % damaged == 0) {
      result[n].numbers[n / damaged % dimension] = std::numeric_limits<double>::quiet_NaN();
      result[n].norm = 0;
    }
  }
  return result;
}

std::string cell(const std::optional<double>& value) { return value ? fmt::format("{:.1f}", *value) : "-"; }

void print_row(std::string_view part, std::string_view values, std::string_view first, std::string_view second, const TimingReport& report,
               std::size_t contrast) {
  const TimingContrast& found = report.contrasts.at(contrast);
  fmt::print("| {} | {} | {} | {} {:.1f} | {} {:.1f} | {} |\n", part, values, report.draws, first, found.first.times.mean, second,
             found.second.times.mean, cell(found.t()));
  std::fflush(stdout);
}

constexpr std::size_t tail = 0;
constexpr std::size_t magnitude = 1;
constexpr std::size_t zero = 2;
constexpr std::size_t sign = 3;

}  // namespace

int main(int argc, char** argv) {
  const TimingOptions options{.seconds = argc > 1 ? std::stod(argv[1]) : 10};
  fmt::print("| part | values | calls | cycles | cycles | t |\n|---|---|---|---|---|---|\n");

  // ---- Clip and add a row to the exact sum ----
  const std::vector<std::pair<std::string_view, std::variant<NormName, NormExponent>>> norms{
      {"l2", NormName::l2}, {"l1", NormName::l1}, {"l-infinity", NormName::linf}, {"l_3", NormExponent{3}}};
  for (const auto& [name, norm] : norms) {
    const auto check = [&, norm = norm](const std::vector<Row>& of) {
      ClippedSum sum{{.norm = norm, .clip = ClippingNorm{1}, .grid = grid, .dimension = dimension}};
      std::size_t next = 0;
      return check_timing(
          [&] {
            const Row& row = of[next++ % prepared];
            sum.add(std::span<const double>{row.numbers});
            return row.norm;
          },
          options);
    };
    const std::string part = fmt::format("clip a row of {} numbers in {} and add it", dimension, name);
    print_row(part, "norms from .01 to 100 clips", "not clipped", "clipped", check(rows(0.01, 100, 0)), sign);
    print_row(part, "norms from .001 to .1 clips", "smaller", "larger", check(rows(0.001, 0.1, 0)), magnitude);
    print_row(part, "one row in 16 with a NaN", "NaN", "others", check(rows(0.001, 0.1, 16)), zero);
  }

  // ---- Draw vector noise ----
  SystemBits bits;
  const auto print_vector_noise = [&](std::string_view name, const AnyNoise::Law& law) {
    const AnyNoise vector_noise{law};
    std::vector<double> values(vector_noise.dimension());
    const auto report = check_timing(
        [&] {
          std::fill(values.begin(), values.end(), 0);
          vector_noise.release_in_place(std::span<double>{values}, bits);
          return values.front();
        },
        options);
    const std::string part = fmt::format("draw and add vector noise of {} numbers: {}", values.size(), name);
    print_row(part, "first number of the noise", "outer 1 %", "up to the 95th percentile", report, tail);
  };
  const Grid whole_numbers{.log2_step = 0};
  constexpr double scale = 0x1p28;
  const auto k_norm = [&](std::variant<L1Sensitivity, L2Sensitivity, LinfSensitivity> sensitivity) {
    return KNormOnReals{{.scale = NoiseScale{scale},
                         .sensitivity = sensitivity,
                         .grid = whole_numbers,
                         .dimension = Count{dimension},
                         .adjacency = Adjacency::add_or_remove_one}};
  };
  print_vector_noise("k-norm, l1", k_norm(L1Sensitivity{1}));
  print_vector_noise("k-norm, l-infinity", k_norm(LinfSensitivity{1}));
  print_vector_noise("k-norm, l2", k_norm(L2Sensitivity{1}));
  print_vector_noise("generalized Gaussian, r = 3", GeneralizedGaussianOnReals{{.r = NormExponent{3},
                                                                                .multiplier = NoiseMultiplier{scale},
                                                                                .sensitivity = LrSensitivity{1},
                                                                                .grid = whole_numbers,
                                                                                .dimension = Count{dimension},
                                                                                .adjacency = Adjacency::add_or_remove_one}});

  // ---- Add the noise ----
  const AnyNoise noise{DiscreteGaussian{
      {.sigma = NoiseScale{1000}, .sensitivity = CoordinateSensitivity{Count{1}}, .adjacency = Adjacency::add_or_remove_one}}};
  std::vector<std::int64_t> sums(prepared);
  ReplayBits replayed{1};
  for (auto& sum : sums) sum = static_cast<std::int64_t>(std::ldexp(uniform(replayed) - 0.5, 1 + static_cast<int>(60 * uniform(replayed))));
  std::size_t next = 0;
  const auto added = check_timing(
      [&] {
        const std::int64_t sum = sums[next++ % prepared];
        std::array<std::int64_t, 1> value{sum};
        noise.release_in_place(std::span<std::int64_t>{value}, bits);
        return static_cast<double>(sum);
      },
      options);
  print_row("draw noise, add it and limit the result", "exact sums up to 2^60", "larger", "smaller", added, magnitude);
  print_row("draw noise, add it and limit the result", "exact sums up to 2^60", "negative", "positive", added, sign);

  // ---- Print ----
  fmt::memory_buffer text;
  const auto printed = check_timing(
      [&] {
        const std::int64_t sum = sums[next++ % prepared];
        text.clear();
        fmt::format_to(std::back_inserter(text), "{}", static_cast<double>(sum));
        return static_cast<double>(sum);
      },
      options);
  print_row("print the result", "numbers up to 2^60", "larger", "smaller", printed, magnitude);
}
