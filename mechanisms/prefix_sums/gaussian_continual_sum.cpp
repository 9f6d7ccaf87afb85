#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <surety/accounting/events/continual.h>
#include <surety/accounting/events/format.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/text/error.h>

namespace surety::mechanisms {
namespace {

bool is_tree(Factorization factorization) { return factorization == Factorization::tree || factorization == Factorization::streaming_tree; }

TreeEstimate estimate_of(Factorization factorization) {
  return factorization == Factorization::streaming_tree ? TreeEstimate::streaming : TreeEstimate::plain;
}

/// Of nodes of unit noise, the leaves' first.
std::vector<double> node_variances(std::size_t levels, TreeEstimate estimate) {
  std::vector<double> variances(levels, 1.0);
  if (estimate == TreeEstimate::streaming) {
    for (std::size_t level = 1; level < levels; ++level) variances[level] = 1 / (1 + 1 / (2 * variances[level - 1]));
  }
  return variances;
}

/// The prefix sum of step t is that of the nodes named by t's one bits.
PrefixError tree_error(Count steps, TreeEstimate estimate) {
  const std::uint64_t n = steps.value();
  const std::size_t levels = accounting::tree_levels(steps).value();
  const auto variances = node_variances(levels, estimate);
  double total = 0;  // over the steps
  for (std::size_t level = 0; level < levels; ++level) {
    // Of the numbers 0 .. n, those with this bit.
    const std::uint64_t half = std::uint64_t{1} << level;
    const std::uint64_t rest = (n + 1) % (2 * half);
    const std::uint64_t count = (n + 1) / (2 * half) * half + (rest > half ? rest - half : 0);
    total += static_cast<double>(count) * variances[level];
  }
  // The largest is n itself, or shares the bits of n above one that it lacks and has all below it.
  const auto variance_of = [&](std::uint64_t t) {
    double sum = 0;
    for (std::size_t level = 0; level < levels; ++level) sum += (t >> level & 1U) != 0 ? variances[level] : 0;
    return sum;
  };
  double largest = variance_of(n);
  for (std::size_t level = 0; level < levels; ++level) {
    const std::uint64_t bit = std::uint64_t{1} << level;
    if ((n & bit) != 0) largest = std::max(largest, variance_of((n - bit) | (bit - 1)));
  }
  const auto nodes = static_cast<double>(levels);
  return {.max = std::sqrt(nodes * largest), .rms = std::sqrt(nodes * total / static_cast<double>(n))};
}

/// From the squares of the decoder's coefficients, asked one after the other, and the encoder's squared norm.
template <class NextSquare>
PrefixError factorized_error(Count steps, double squared_norm, NextSquare next_square) {
  double variance = 0;
  double total = 0;
  for (std::uint64_t t = 0; t < steps.value(); ++t) {
    variance += next_square();
    total += variance;
  }
  return {.max = std::sqrt(squared_norm * variance), .rms = std::sqrt(squared_norm * total / static_cast<double>(steps.value()))};
}

PrefixError toeplitz_error(Count steps) {
  double squared_norm = 0;
  for (const std::uint32_t coefficient : SquareRootCoefficients::fixed(steps)) {
    const double c = std::ldexp(static_cast<double>(coefficient), -SquareRootCoefficients::fraction_bits);
    squared_norm += c * c;
  }
  double b = 1;
  double k = 0;
  return factorized_error(steps, squared_norm, [&] {
    const double square = b * b;
    ++k;
    b *= 1 - 1 / (2 * k);
    return square;
  });
}

PrefixError buffered_error(Count steps, Buffers buffers) {
  const auto terms = buffer_terms(steps, buffers);
  double squared_norm = 1;
  std::vector<double> parts;
  for (const auto& term : terms) parts.push_back(term.weight);
  for (std::uint64_t k = 1; k < steps.value(); ++k) {
    double c = 0;
    for (std::size_t j = 0; j < terms.size(); ++j) {
      c += parts[j];
      parts[j] *= terms[j].theta;
    }
    squared_norm += c * c;
  }
  // b_k: what the decoder makes of a single 1.
  std::vector<double> buffer(terms.size(), 0.0);
  double input = 1;
  double b = 0;
  return factorized_error(steps, squared_norm, [&] {
    double x = input;
    input = 0;
    for (std::size_t j = 0; j < terms.size(); ++j) x -= terms[j].weight * buffer[j];
    for (std::size_t j = 0; j < terms.size(); ++j) buffer[j] = terms[j].theta * buffer[j] + x;
    b += x;
    return b * b;
  });
}

/// The largest k such that 2^k grid steps in the sensitivity leave room for the encoded stream.
int log2_steps_that_fit(Factorization factorization, Count steps, NoiseMultiplier multiplier, Headroom headroom, Buffers buffers) {
  // The sensitivity has less than 2^(k + 1) steps. Each rounding here is much less than the spare bits taken.
  const double contribution = 1 + std::log2(headroom.value());
  const auto n = static_cast<double>(steps.value());
  const double norm = 1 + std::log(n) / 2;  // above ||c||_2 of either
  const double sigma = 1 + std::log2(std::max(multiplier.value() * norm, 0x1p-200));
  if (factorization == Factorization::toeplitz) {
    constexpr double fraction = SquareRootCoefficients::fraction_bits;
    const double gain = std::log2(1 + 1.2 * std::sqrt(n));  // above sum_k c_k <= 2 sqrt(n / pi) + 1
    const double room = std::min(30.5, 61.5 - fraction - gain) - contribution;
    return checked_cast<int>(std::floor(std::min(room, 55 - fraction - sigma)));
  }
  double gain = 1;
  double output = 1;
  for (const auto& term : buffer_terms(steps, buffers)) {
    const double lasting = std::min(n, 1 / (1 - term.theta));
    gain = std::max(gain, lasting);
    output += term.weight * lasting;
  }
  return checked_cast<int>(std::floor(std::min(60 - std::log2(std::max(gain, output)) - contribution, 53 - sigma)));
}

}  // namespace

std::string_view name(Factorization factorization) {
  switch (factorization) {
    case Factorization::tree: return "tree";
    case Factorization::streaming_tree: return "streaming-tree";
    case Factorization::toeplitz: return "toeplitz";
    case Factorization::buffered: return "buffered";
  }
  return {};
}

Event continual_event(Factorization factorization, Count steps, NoiseMultiplier multiplier, Adjacency adjacency) {
  const StandardFloatingPoint environment;
  const Event release = surety::gaussian(multiplier, adjacency);
  return is_tree(factorization) ? accounting::tree(steps, release) : release;
}

Grid continual_grid(Factorization factorization, Count steps, L2Sensitivity sensitivity, NoiseMultiplier multiplier, Headroom headroom,
                    Buffers buffers) {
  if (is_tree(factorization)) return grid_for(sensitivity, multiplier);
  const int fits = log2_steps_that_fit(factorization, steps, multiplier, headroom, buffers);
  if (fits < 10) {
    throw Error{
        ErrorCode::invalid_argument,
        fmt::format(
            "noise multiplier {} with headroom {} over {} steps leaves 2^{} grid steps for the sensitivity, must be at least 2^10 for factorization {}",
            multiplier, headroom, steps.value(), fits, name(factorization))};
  }
  return {.log2_step = std::ilogb(sensitivity.value()) - std::min(fits, 38)};
}

PrefixError prefix_error(Factorization factorization, Count steps, Buffers buffers) {
  const StandardFloatingPoint environment;
  switch (factorization) {
    case Factorization::tree:
    case Factorization::streaming_tree: return tree_error(steps, estimate_of(factorization));
    case Factorization::toeplitz: return toeplitz_error(steps);
    case Factorization::buffered: return buffered_error(steps, buffers);
  }
  return {};
}

double least_rms_prefix_error(Count steps) {
  const auto n = static_cast<double>(steps.value());
  double sum = 0;
  for (std::uint64_t i = 1; i <= steps.value(); ++i) {
    sum += 1 / (2 * std::sin(static_cast<double>(2 * i - 1) * std::numbers::pi / (4 * n + 2)));
  }
  return sum / n;
}

GaussianContinualSum::GaussianContinualSum(Options options) : options_{options}, sum_{make(options)} {}

Event GaussianContinualSum::event() const {
  return std::visit([](const auto& sum) { return sum.event(); }, sum_);
}

std::vector<double> GaussianContinualSum::push(const GridVector& contribution, BitsRef bits) {
  return std::visit([&](auto& sum) { return sum.push(contribution, bits); }, sum_);
}

GaussianContinualSum::Sum GaussianContinualSum::make(const Options& options) {
  const StandardFloatingPoint environment;
  if (is_tree(options.factorization)) {
    const Gaussian node{
        {.multiplier = options.multiplier, .sensitivity = options.sensitivity, .grid = options.grid, .adjacency = options.adjacency}};
    return TreeSum<Gaussian>{node, options.steps, options.dimension, estimate_of(options.factorization)};
  }
  const FactorizedSumOptions factorized{.steps = options.steps,
                                        .dimension = options.dimension,
                                        .sensitivity = options.sensitivity,
                                        .multiplier = options.multiplier,
                                        .grid = options.grid,
                                        .adjacency = options.adjacency,
                                        .headroom = options.headroom};
  if (options.factorization == Factorization::toeplitz) return ToeplitzSum{factorized};
  return BufferedSum{factorized, options.buffers};
}

}  // namespace surety::mechanisms
