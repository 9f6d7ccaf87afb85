// Numbers with a meaning. Each type checks its constraint once, in its constructor, so that code that receives one need not.
//
// Definitions used everywhere (natural logarithms throughout):
//   (epsilon, delta)  P(M(D) in S) <= e^epsilon P(M(D') in S) + delta for every S and all neighbours D, D'
//   rho               zero-concentrated differential privacy: the Renyi divergence of order a is at most rho a, for all a > 1
//   mu                Gaussian differential privacy: at least as hard to tell apart as N(0, 1) and N(mu, 1)
//   noise multiplier  standard deviation of Gaussian noise over the l2 sensitivity under the stated adjacency; mu = 1 / multiplier
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <surety/base/text/error.h>

namespace surety {

/// \throws Error{invalid_argument} with all three.
[[noreturn]] void refuse_quantity(std::string_view name, double value, std::string_view constraint);

/// A double that satisfies `Rule::holds`; construction throws Error{invalid_argument} with the rule's name, the value and
/// the constraint. A NaN satisfies no rule.
template <class Rule>
class Quantity {
 public:
  explicit Quantity(double value) : value_{value} {
    if (!Rule::holds(value)) refuse_quantity(Rule::name, value, Rule::constraint);
  }
  [[nodiscard]] double value() const noexcept { return value_; }
  friend auto operator<=>(const Quantity&, const Quantity&) = default;

 private:
  double value_;
};

/// Not std::isfinite: <cmath> is a fifth of what a program that includes this library's headers waits for.
[[nodiscard]] constexpr bool is_finite(double x) {
  return x >= -std::numeric_limits<double>::max() && x <= std::numeric_limits<double>::max();
}

/// Rules shared by several quantities: finite and non-negative, finite and positive.
struct NonNegative {
  static constexpr std::string_view constraint = "finite and at least 0";
  static bool holds(double x) { return x >= 0 && is_finite(x); }
};
struct Positive {
  static constexpr std::string_view constraint = "finite and greater than 0";
  static bool holds(double x) { return x > 0 && is_finite(x); }
};

struct EpsilonRule : NonNegative {
  static constexpr std::string_view name = "epsilon";
};
struct DeltaRule {
  static constexpr std::string_view name = "delta";
  static constexpr std::string_view constraint = "at least 0 and less than 1";
  static bool holds(double x) { return x >= 0 && x < 1; }
};
struct RhoRule : NonNegative {
  static constexpr std::string_view name = "rho";
};
struct MuRule : NonNegative {
  static constexpr std::string_view name = "mu";
};
struct NoiseMultiplierRule : Positive {
  static constexpr std::string_view name = "noise multiplier";
};
struct NoiseScaleRule : Positive {
  static constexpr std::string_view name = "scale";
};
struct PoissonMeanRule : Positive {
  static constexpr std::string_view name = "Poisson mean";
};
struct ProbabilityRule {
  static constexpr std::string_view name = "probability";
  static constexpr std::string_view constraint = "greater than 0 and less than 1";
  static bool holds(double x) { return x > 0 && x < 1; }
};
struct SamplingRateRule {
  static constexpr std::string_view name = "sampling rate";
  static constexpr std::string_view constraint = "greater than 0 and at most 1";
  static bool holds(double x) { return x > 0 && x <= 1; }
};
struct LipschitzConstantRule {
  static constexpr std::string_view name = "Lipschitz constant";
  static constexpr std::string_view constraint = "at least 0 and at most 1";
  static bool holds(double x) { return x >= 0 && x <= 1; }
};
struct DiameterRule : Positive {
  static constexpr std::string_view name = "diameter";
};
struct NormExponentRule {
  static constexpr std::string_view name = "norm exponent";
  static constexpr std::string_view constraint = "finite and at least 2";
  static bool holds(double x) { return x >= 2 && is_finite(x); }
};
struct RenyiOrderRule {
  static constexpr std::string_view name = "Renyi order";
  static constexpr std::string_view constraint = "finite and greater than 1";
  static bool holds(double x) { return x > 1 && is_finite(x); }
};

using Epsilon = Quantity<EpsilonRule>;
using Delta = Quantity<DeltaRule>;
using Rho = Quantity<RhoRule>;
using Mu = Quantity<MuRule>;
using NoiseMultiplier = Quantity<NoiseMultiplierRule>;
/// A scale in units of sensitivity (laplace, k_norm) or of lattice steps (discrete noise).
using NoiseScale = Quantity<NoiseScaleRule>;
/// The mean of a variable of the Poisson law.
using PoissonMean = Quantity<PoissonMeanRule>;
using Probability = Quantity<ProbabilityRule>;
using SamplingRate = Quantity<SamplingRateRule>;
/// Of a map: |phi(x) - phi(y)| <= c |x - y|.
using LipschitzConstant = Quantity<LipschitzConstantRule>;
/// Of a domain, over the sensitivity of one step.
using Diameter = Quantity<DiameterRule>;
/// r of an l_r norm that is smooth.
using NormExponent = Quantity<NormExponentRule>;

/// Which data sets are neighbours.
///   add_or_remove_one  one holds one record more than the other; the number of records is private
///   replace_one        equal length, one record differs; the number of records is public
///   zero_out           equal length, one record is replaced by the record that contributes zero
enum class Adjacency { add_or_remove_one, replace_one, zero_out };

[[nodiscard]] std::string_view name(Adjacency adjacency);
/// The inverse of `name`. \throws Error{invalid_argument} listing the three names.
[[nodiscard]] Adjacency parse_adjacency(std::string_view text);

/// The norm that an event names; what it measures is for mechanisms to say.
enum class NormName { l1, l2, linf };

[[nodiscard]] std::string_view name(NormName norm);
/// The inverse of `name`. \throws Error{invalid_argument} listing the three names.
[[nodiscard]] NormName parse_norm(std::string_view text);

/// How often an event happens: an integer from 1 to 2^53, so that its JSON form is exact.
class Count {
 public:
  explicit Count(std::uint64_t value);
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }
  friend auto operator<=>(const Count&, const Count&) = default;

 private:
  std::uint64_t value_;
};

namespace accounting {
/// Of a Renyi divergence.
using RenyiOrder = Quantity<RenyiOrderRule>;
}  // namespace accounting

/// A promise: at most `epsilon` at `delta`, between neighbours under `adjacency`.
struct Target {
  Epsilon epsilon;
  Delta delta;
  Adjacency adjacency;
  friend bool operator==(const Target&, const Target&) = default;
};

/// `records` records in batches of `size`. \throws Error{invalid_argument} when a batch is larger than the data.
class Batches {
 public:
  Batches(Count records, Count size);
  [[nodiscard]] Count records() const noexcept { return records_; }
  [[nodiscard]] Count size() const noexcept { return size_; }
  friend bool operator==(const Batches&, const Batches&) = default;

 private:
  Count records_;
  Count size_;
};

}  // namespace surety
