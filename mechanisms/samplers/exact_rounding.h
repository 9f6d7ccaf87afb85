// Exact rounding of ideal real noise to the integers, that is to a grid in steps.
//
// A real random variable is defined by random bits that nobody has finished drawing; its nearest integer depends on finitely many of them.
// So draw some, and more only where the rounding is still in doubt. The result has *exactly* the distribution of the rounded ideal
// variable: nothing is approximated (isochronous_sampler.h says how, docs/proofs/samplers.md why).
#pragma once

#include <cstdint>
#include <string_view>

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety {

struct StepSigmaRule {
  static constexpr std::string_view name = "sigma in grid steps";
  static constexpr std::string_view constraint = "greater than 0 and at most 2^60";
  static bool holds(double x) { return x > 0 && x <= 0x1p60; }
};
/// Standard deviation of noise, in grid steps. Its largest value leaves 8 standard deviations before int64 saturates.
using StepSigma = Quantity<StepSigmaRule>;

struct StepScaleRule {
  static constexpr std::string_view name = "scale in grid steps";
  static constexpr std::string_view constraint = "greater than 0 and at most 2^58";
  static bool holds(double x) { return x > 0 && x <= 0x1p58; }
};
/// Scale of Laplace noise, in grid steps. Its largest value leaves 32 scales before int64 saturates.
using StepScale = Quantity<StepScaleRule>;

namespace mechanisms {

/// Samples the nearest integer to sigma * N for an ideal N ~ N(0, 1), saturating at +-saturation.
///
/// Law: P(k) = Phi((k + 1/2) / sigma) - Phi((k - 1/2) / sigma), exactly, for uniform independent bits.
/// Copies share their tables.
class RoundedGaussian : public LatticeNoise {
 public:
  explicit RoundedGaussian(StepSigma sigma) : LatticeNoise{IsochronousSampler::rounded_gaussian(sigma.value())}, sigma_{sigma} {}
  [[nodiscard]] StepSigma sigma() const noexcept { return sigma_; }

 private:
  StepSigma sigma_;
};

/// Samples the nearest integer to scale * L for an ideal L of density exp(-|x|) / 2, saturating at +-saturation.
class RoundedLaplace : public LatticeNoise {
 public:
  explicit RoundedLaplace(StepScale scale) : LatticeNoise{IsochronousSampler::rounded_laplace(scale.value())}, scale_{scale} {}
  [[nodiscard]] StepScale scale() const noexcept { return scale_; }

 private:
  StepScale scale_;
};

/// The same sample from the same bits as `RoundedGaussian{sigma}(bits)`, by interval arithmetic alone: slow, and an oracle.
[[nodiscard]] inline std::int64_t rounded_gaussian_by_definition(BitsRef bits, StepSigma sigma) {
  return IsochronousSampler::rounded_gaussian(sigma.value()).by_definition(bits);
}

}  // namespace mechanisms
}  // namespace surety
