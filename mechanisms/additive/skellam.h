// The Skellam mechanism: integers plus the difference of two independent Poisson variables, of the same mean mu, exactly. The variance is 2 mu.
// A sum of Skellam variables is one, so parties that each add their share to a secure sum make this noise together.
//
// A record moves one coordinate by at most s and the others not at all. A release then is skellam(mu, s).
#pragma once

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/mechanisms/samplers/integer_noise.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::mechanisms {

/// `release` and `release_in_place`: integer_noise.h. `event()` is skellam(mean, sensitivity).
class Skellam : public IntegerMechanism<SkellamNoise> {
 public:
  struct Options {
    PoissonMean mean;                   ///< mu, of each of the two variables: the very double, at most 2^50
    CoordinateSensitivity sensitivity;  ///< of the query, under `adjacency`
    Adjacency adjacency;
  };

  /// Takes milliseconds; copies share their tables. \throws Error{invalid_argument} unless mean is at most 2^50.
  explicit Skellam(Options options);

  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  Options options_;
};

}  // namespace surety::mechanisms
