#include <surety/mechanisms/prefix_sums/buffered_sum.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/prefix_sums/buffered_parameters.h>

namespace surety::mechanisms {
namespace {

__extension__ using Product = __int128;

constexpr int theta_bits = 53;
constexpr mpfr_prec_t buffer_precision = 256;

/// The integer nearest to product / 2^53, halves upward.
std::int64_t rounded(Product product) { return static_cast<std::int64_t>((product + (Product{1} << (theta_bits - 1))) >> theta_bits); }

double to_multiple(double x) { return std::ldexp(std::round(std::ldexp(x, theta_bits)), -theta_bits); }

Interval number(double x) { return Interval{x, buffer_precision}; }

Interval power(Interval base, std::uint64_t exponent) {
  Interval result = number(1);
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = result * base;
    base = base * base;
  }
  return result;
}

/// sum over k < terms of (sum_i weights[i] poles[i]^k)^2.
Interval squared_norm(const std::vector<Interval>& weights, const std::vector<double>& poles, std::uint64_t terms) {
  Interval sum = number(0);
  for (std::size_t i = 0; i < poles.size(); ++i) {
    for (std::size_t j = 0; j < poles.size(); ++j) {
      const Interval ratio = number(poles[i]) * number(poles[j]);  // exact
      const Interval series =
          poles[i] == 1 && poles[j] == 1 ? number(static_cast<double>(terms)) : (number(1) - power(ratio, terms)) / (number(1) - ratio);
      sum = sum + weights[i] * weights[j] * series;
    }
  }
  return sum;
}

}  // namespace

std::vector<BufferTerm> buffer_terms(Count steps, Buffers buffers) {
  const StandardFloatingPoint environment;
  const int wanted = std::max(smallest_log2_steps, static_cast<int>(std::bit_width(steps.value() - 1)));
  if (wanted > largest_log2_steps) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("number of steps is {}, must be at most 2^{} for a buffered sum", steps.value(), largest_log2_steps)};
  }
  const auto count = static_cast<std::size_t>(buffers.value());
  const auto& parameters = buffered_parameters[count - 2][static_cast<std::size_t>(wanted - smallest_log2_steps)];
  std::vector<BufferTerm> terms;
  for (std::size_t j = 0; j < count; ++j) {
    terms.push_back({.theta = 1 - to_multiple(parameters[j].decay), .weight = to_multiple(parameters[j].weight)});
  }
  return terms;
}

BufferedCodec::BufferedCodec(const FactorizedSumOptions& options, Buffers buffers)
    : terms_{buffer_terms(options.steps, buffers)},
      largest_{largest_coordinate(options)},
      buffers_(options.dimension.value() * terms_.size()),
      decoder_(buffers_.size()),
      prefix_(options.dimension.value()),
      encoded_(options.dimension.value()) {
  const std::uint64_t later = options.steps.value() - 1;  // steps after the first
  std::vector<double> thetas;
  std::vector<Interval> weights;
  // rho_k = 1 + sum_j weight_j (1 - theta_j^(k-1)) / (1 - theta_j), as a constant and one term for each buffer.
  std::vector<double> poles{1};
  std::vector<Interval> deviations{number(1)};
  double largest_gain = 1;  // of a buffer, relative to the largest contribution
  double output_gain = 1;
  for (const BufferTerm& term : terms_) {
    fixed_terms_.push_back({.theta = checked_cast<std::int64_t>(std::ldexp(term.theta, theta_bits)),
                            .weight = checked_cast<std::int64_t>(std::ldexp(term.weight, theta_bits))});
    thetas.push_back(term.theta);
    weights.push_back(number(term.weight));
    poles.push_back(term.theta);
    const Interval lasting = number(term.weight) / number(1 - term.theta);
    deviations[0] = deviations[0] + lasting;
    deviations.push_back(-lasting);
    const double gain = std::min(static_cast<double>(options.steps.value()), 1 / (1 - term.theta));
    largest_gain = std::max(largest_gain, gain);
    output_gain += term.weight * gain;
  }
  const Interval norm = sqrt(number(1) + squared_norm(weights, thetas, later));
  const Interval sensitivity = number(options.sensitivity.value()) * number(options.grid.steps_per_unit()) * norm;  // in grid steps

  // Buffers and outputs stay within (largest 2^shift + 1) * gain; the factor 2 covers rounding in these estimates.
  const double gain = std::max(largest_gain, output_gain);
  const double room = 0x1p61 / gain / (static_cast<double>(largest_) + 1);
  const double sigma_room = 0x1p54 / (options.multiplier.value() * sensitivity.enclosure().upper);
  shift_ = std::min(60, std::ilogb(std::min(room, sigma_room)));
  if (shift_ < 0) {
    throw Error{
        ErrorCode::invalid_argument,
        fmt::format(
            "headroom * sensitivity is {} grid steps, must be at most {:.0f} for a buffered sum over {} steps with noise multiplier {}: take a coarser grid",
            largest_, std::floor(static_cast<double>(largest_) * std::ldexp(1.0, shift_)), options.steps.value(),
            options.multiplier.value())};
  }
  unit_ = std::ldexp(1.0, options.grid.log2_step.value() - shift_);

  const Interval linear = sensitivity * number(std::ldexp(1.0, shift_));
  const Interval rounding = sqrt(number(static_cast<double>(options.dimension.value())) * squared_norm(deviations, poles, later));
  linear_sensitivity_ = linear.enclosure().upper;
  rounding_charge_ = rounding.enclosure().upper;
  encoded_sensitivity_ = (linear + rounding).enclosure().upper;
  if (!(rounding_charge_ <= linear_sensitivity_)) {
    throw Error{
        ErrorCode::invalid_argument,
        fmt::format(
            "rounding adds {:.3g} times the sensitivity of the encoded stream, must be at most 1: fewer steps, coordinates or headroom, or a smaller multiplier",
            rounding_charge_ / linear_sensitivity_)};
  }
}

std::span<const std::int64_t> BufferedCodec::encode(std::span<const std::int64_t> steps) {
  std::int64_t* buffer = buffers_.data();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::int64_t x = std::clamp(steps[i], -largest_, largest_) * (std::int64_t{1} << shift_);
    Product sum = 0;
    for (const Term& term : fixed_terms_) {
      sum += Product{term.weight} * *buffer;
      *buffer = rounded(Product{term.theta} * *buffer) + x;
      ++buffer;
    }
    encoded_[i] = x + rounded(sum);
  }
  return encoded_;
}

std::vector<double> BufferedCodec::decode(std::span<const std::int64_t> released) {
  double* buffer = decoder_.data();
  for (std::size_t i = 0; i < released.size(); ++i) {
    auto x = static_cast<double>(released[i]);
    for (std::size_t j = 0; j < terms_.size(); ++j) x -= terms_[j].weight * buffer[j];
    for (std::size_t j = 0; j < terms_.size(); ++j) buffer[j] = terms_[j].theta * buffer[j] + x;
    buffer += terms_.size();
    prefix_[i] += x;
  }
  return prefix_;
}

}  // namespace surety::mechanisms
