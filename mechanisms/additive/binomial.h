// The binomial mechanism: integers plus the number of heads among n fair coin flips, minus n / 2, exactly. The noise is an integer of at most n / 2 in
// magnitude with variance n / 4. \source IETF draft-case-ppm-binomial-dp.
//
// A record moves one coordinate by at most s and the others not at all. A release then is binomial(n, s). Neighbouring results that only one of two
// queries can have cost their probability in delta: no n gives a pure epsilon.
#pragma once

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/mechanisms/samplers/integer_noise.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::mechanisms {

/// `release` and `release_in_place`: integer_noise.h. `event()` is binomial(flips, sensitivity).
class Binomial : public IntegerMechanism<BinomialNoise> {
 public:
  struct Options {
    Count flips;                        ///< n: even, from 2 to 2^52
    CoordinateSensitivity sensitivity;  ///< of the query, under `adjacency`
    Adjacency adjacency;
  };

  /// Takes milliseconds; copies share their tables. \throws Error{invalid_argument} unless flips is even and at most 2^52.
  explicit Binomial(Options options);

  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  Options options_;
};

}  // namespace surety::mechanisms
