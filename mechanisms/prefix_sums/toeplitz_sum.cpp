#include <surety/mechanisms/prefix_sums/toeplitz_sum.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/text/error.h>

namespace surety::mechanisms {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int fraction_bits = SquareRootCoefficients::fraction_bits;

/// An integer below 2^100, exactly.
Interval interval_of(Wide value) {
  constexpr mpfr_prec_t precision = 192;
  const auto high = static_cast<double>(static_cast<std::uint64_t>(value >> 50));
  const auto low = static_cast<double>(static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << 50) - 1));
  return Interval{high, precision} * Interval{0x1p50, precision} + Interval{low, precision};
}

/// sum_i a[i] b[i], in four sums, since the compiler may not reorder one.
template <class Sum, class A, class B>
Sum dot(const A* a, const B* b, std::size_t size) {
  std::array<Sum, 4> sums{};
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += static_cast<Sum>(a[i + lane]) * static_cast<Sum>(b[i + lane]);
  }
  for (; i < size; ++i) sums[0] += static_cast<Sum>(a[i]) * static_cast<Sum>(b[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

std::vector<std::uint32_t> SquareRootCoefficients::fixed(Count count) {
  const StandardFloatingPoint environment;
  std::vector<std::uint32_t> result;
  result.reserve(count.value());
  double coefficient = 1;
  for (std::uint64_t k = 1; k <= count.value(); ++k) {
    result.push_back(static_cast<std::uint32_t>(std::lround(std::ldexp(coefficient, fraction_bits))));
    coefficient *= 1 - 1 / (2 * static_cast<double>(k));
  }
  return result;
}

ToeplitzCodec::ToeplitzCodec(const FactorizedSumOptions& options)
    : largest_{mechanisms::largest_coordinate(options)},
      unit_{std::ldexp(1.0, options.grid.log2_step.value() - fraction_bits)},
      encoded_sensitivity_{0},
      coefficients_{SquareRootCoefficients::fixed(options.steps)},
      decoder_(options.steps.value()),
      input_(options.dimension.value()),
      released_(options.dimension.value()),
      encoded_(options.dimension.value()) {
  std::int64_t sum = 0;  // at most 2^24 coefficients of at most 2^30
  Wide squares = 0;
  for (const std::int64_t coefficient : coefficients_) {
    real_coefficients_.push_back(std::ldexp(static_cast<double>(coefficient), -fraction_bits));
    sum += coefficient;
    squares += static_cast<Wide>(coefficient * coefficient);
  }
  std::reverse(coefficients_.begin(), coefficients_.end());
  const std::int64_t room = std::min<std::int64_t>(largest_sum / sum, std::numeric_limits<std::int32_t>::max());
  if (largest_ > room) {
    throw Error{
        ErrorCode::invalid_argument,
        fmt::format(
            "headroom * sensitivity is {} grid steps, must be at most {} for {} steps of a Toeplitz factorization: take a coarser grid",
            largest_, room, options.steps.value())};
  }
  constexpr mpfr_prec_t precision = 192;
  encoded_sensitivity_ =
      (Interval{options.sensitivity.value(), precision} * Interval{options.grid.steps_per_unit(), precision} * sqrt(interval_of(squares)))
          .enclosure()
          .upper;
}

std::span<const std::int64_t> ToeplitzCodec::encode(std::span<const std::int64_t> steps) {
  // Modulo 2^64: sum C x = sum C (x + 2^31) - 2^31 sum C, and the left side is at most 2^62. So the factors are unsigned, as vector
  // instructions want them.
  const std::size_t first = coefficients_.size() - input_.front().size() - 1;
  shifted_sum_ += std::uint64_t{coefficients_[first]} << 31;
  for (std::size_t j = 0; j < steps.size(); ++j) {
    auto& input = input_[j];
    input.push_back(static_cast<std::uint32_t>(std::clamp(steps[j], -largest_, largest_) + (std::int64_t{1} << 31)));
    encoded_[j] = static_cast<std::int64_t>(dot<std::uint64_t>(input.data(), coefficients_.data() + first, input.size()) - shifted_sum_);
  }
  return encoded_;
}

std::vector<double> ToeplitzCodec::decode(std::span<const std::int64_t> released) {
  const std::size_t step = released_.front().size();
  const std::size_t steps = decoder_.size();
  // c(x) b(x) = 1 / (1 - x) and c_0 = 1, so b_t = 1 - sum of c_k b_(t-k) over k = 1 .. t.
  decoder_[steps - 1 - step] = 1 - dot<double>(real_coefficients_.data() + 1, decoder_.data() + steps - step, step);

  std::vector<double> prefix(released.size());
  for (std::size_t j = 0; j < released.size(); ++j) {
    auto& past = released_[j];
    past.push_back(static_cast<double>(released[j]));
    prefix[j] = dot<double>(past.data(), decoder_.data() + steps - past.size(), past.size());
  }
  return prefix;
}

}  // namespace surety::mechanisms
