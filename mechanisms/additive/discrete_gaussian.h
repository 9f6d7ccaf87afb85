// The discrete Gaussian mechanism: integers plus k with probability proportional to exp(-k^2 / (2 sigma^2)), exactly.
//
// What one record may do to the query decides what a release costs, and is a type:
//
//   sensitivity              one record moves                                    event
//   CoordinateSensitivity s  one coordinate by at most s, the others not at all  discrete_gaussian(sigma, s), tight
//   L2Sensitivity s          the vector by at most s in l2 norm                  zcdp(s^2 / (2 sigma^2)), rounded up
//
// sigma is in steps of the integers, not in units of the sensitivity. A sum of discrete Gaussians is not a discrete Gaussian, and no
// theorem says that a move along several coordinates costs at most what one along a single coordinate does; hence the bound of the second
// line. \source Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy, 2020, Theorems 4 and 14;
// docs/proofs/samplers.md#discrete-mechanisms.
#pragma once

#include <variant>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/mechanisms/samplers/integer_noise.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::mechanisms {

/// `release` and `release_in_place`: integer_noise.h. `event()`: see above.
class DiscreteGaussian : public IntegerMechanism<DiscreteGaussianNoise> {
 public:
  struct Options {
    NoiseScale sigma;                                                ///< in steps of the integers, see `sigma_for`
    std::variant<CoordinateSensitivity, L2Sensitivity> sensitivity;  ///< of the query, under `adjacency`
    Adjacency adjacency;
  };

  static constexpr double least_sigma = 0x1p-10;
  static constexpr double largest_sigma = 0x1p32 - 1;

  /// The least sigma that the mechanism has, from `wanted` on: a multiple of 2^-31 of at most 32 significant bits, so that sigma^2 is a
  /// quotient of 64-bit integers and the event names sigma itself. It exceeds `wanted` by less than 2^-31 max(1, wanted).
  /// \throws Error{invalid_argument} unless least_sigma <= wanted <= largest_sigma.
  [[nodiscard]] static NoiseScale sigma_for(NoiseScale wanted);

  /// Noise of sigma_for(options.sigma). Takes milliseconds; copies share their tables. \throws Error{invalid_argument} as `sigma_for`, and
  /// when s^2 / (2 sigma^2) is beyond the range of double.
  explicit DiscreteGaussian(Options options);

  /// sigma of the noise and of the event: sigma_for(options().sigma). The standard deviation is a little less where sigma is below 1.
  [[nodiscard]] double sigma() const noexcept { return sigma_.value(); }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  Options options_;
  NoiseScale sigma_;
};

}  // namespace surety::mechanisms
