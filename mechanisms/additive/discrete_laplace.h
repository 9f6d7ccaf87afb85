// The discrete Laplace mechanism, also called two-sided geometric: integers plus independent k with probability proportional to
// exp(-|k| / b), exactly.
//
// On a vector of integers that one record moves by at most s in l1 norm, a release is discrete_laplace(b, s): to move one coordinate by all
// of s costs at least as much as to share it among several (docs/proofs/samplers.md#discrete-laplace-vectors). b is in steps of the
// integers, not in units of the sensitivity: b = s / epsilon gives a pure epsilon. For results in a public range see truncated_geometric.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/mechanisms/samplers/integer_noise.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::mechanisms {

class DiscreteLaplace {
 public:
  struct Options {
    NoiseScale scale;           ///< b, in steps of the integers
    L1Sensitivity sensitivity;  ///< of the query, under `adjacency`: a whole number
    Adjacency adjacency;
  };

  static constexpr double least_scale = 0x1p-10;
  static constexpr double largest_scale = 0x1p56;

  /// Takes milliseconds; copies share their tables. \throws Error{invalid_argument} unless least_scale <= scale <= largest_scale, which
  /// makes every double an exact quotient of 64-bit integers, and the sensitivity is a whole number from 1 to 2^53.
  explicit DiscreteLaplace(Options options);

  /// b of the noise and of the event.
  [[nodiscard]] double scale() const noexcept { return options_.scale.value(); }
  /// What a release is, for the accountants: discrete_laplace(scale, sensitivity).
  [[nodiscard]] const Event& event() const noexcept { return event_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] const DiscreteLaplaceNoise& noise() const noexcept { return noise_; }

  /// query + k, where the query is clamped to +-2^62 and the result to +-(2^62 - 1). Never throws on a value of the query.
  ///
  /// Time depends on what is drawn, not on the query: a sample that its first word (b above 128: two words) does not decide takes some 50
  /// nanoseconds more, one of a magnitude above some 17 b microseconds to milliseconds. `DrawAhead` (draw_ahead.h) takes that time
  /// beforehand. \throws Error{environment} when the bits fail.
  template <ReleaseBits Bits>
  [[nodiscard]] std::int64_t release(std::int64_t query, Bits& bits) const {
    return with_noise(noise_, query, bits);
  }

  /// One release of a vector: each coordinate as above, with independent noise drawn in bulk. O(size).
  [[nodiscard]] std::vector<std::int64_t> release(std::span<const std::int64_t> query, BitsRef bits) const {
    return with_noise(noise_, query, bits);
  }

  /// The same result, in the place of the query. When the bits fail, coordinates without noise are left: the vector is then no release.
  void release_in_place(std::span<std::int64_t> query, BitsRef bits) const { add_noise(noise_, query, bits); }

 private:
  Options options_;
  Event event_;
  DiscreteLaplaceNoise noise_;
};

}  // namespace surety::mechanisms
