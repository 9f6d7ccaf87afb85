// Geometric noise within a public range.
//
//   TruncatedGeometric       a mechanism: an integer query plus two-sided geometric (discrete Laplace) noise, cut off at the range's ends.
//                            The best mechanism for a count, whatever its user does with the result (Ghosh, Roughgarden, Sundararajan:
//                            Universally utility-maximizing privacy mechanisms, 2009)
//   TruncatedGeometricNoise  a law: P(k) proportional to exp(-k / b) for 0 <= k <= n. Not a mechanism: a query plus this has results that
//                            its neighbour cannot have
//
// The mechanism moves what lies beyond the range to its ends. It is *not* two-sided geometric noise conditioned on the range, whose
// normalisation depends on the query and would cost more than the event says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/additive/discrete_laplace.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/mechanisms/samplers/integer_noise.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::mechanisms {

/// The integers from `lowest` to `highest`, known to everybody. \throws Error{invalid_argument} unless -2^61 <= lowest < highest <= 2^61.
class IntegerRange {
 public:
  static constexpr std::int64_t limit = std::int64_t{1} << 61;

  IntegerRange(std::int64_t lowest, std::int64_t highest);
  [[nodiscard]] std::int64_t lowest() const noexcept { return lowest_; }
  [[nodiscard]] std::int64_t highest() const noexcept { return highest_; }
  [[nodiscard]] std::int64_t nearest(std::int64_t value) const noexcept { return std::clamp(value, lowest_, highest_); }
  friend bool operator==(const IntegerRange&, const IntegerRange&) = default;

 private:
  std::int64_t lowest_;
  std::int64_t highest_;
};

class TruncatedGeometric {
 public:
  struct Options {
    NoiseScale scale;           ///< b, in steps of the integers: s / epsilon gives a pure epsilon
    L1Sensitivity sensitivity;  ///< of the query, under `adjacency`: a whole number
    IntegerRange range;         ///< of each coordinate of the result
    Adjacency adjacency;
  };

  /// \throws Error{invalid_argument} as `DiscreteLaplace`.
  explicit TruncatedGeometric(Options options);

  [[nodiscard]] double scale() const noexcept { return untruncated_.scale(); }
  /// discrete_laplace(scale, sensitivity): tight for a single number wherever the range is at least as wide as the sensitivity.
  [[nodiscard]] const Event& event() const noexcept { return untruncated_.event(); }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

  /// The nearest integer of the range to q + k, where q is the nearest one to `query`:
  ///   P(j) = (1 - y) / (1 + y) y^|j - q| inside, y^|j - q| / (1 + y) at an end j, y = e^(-1/b).
  /// Never throws on a value of the query. Time as of `DiscreteLaplace::release`. \throws Error{environment} when the bits fail.
  template <ReleaseBits Bits>
  [[nodiscard]] std::int64_t release(std::int64_t query, Bits& bits) const {
    return options_.range.nearest(untruncated_.release(options_.range.nearest(query), bits));
  }

  /// One release of a vector, each coordinate as above. O(size).
  [[nodiscard]] std::vector<std::int64_t> release(std::span<const std::int64_t> query, BitsRef bits) const;

  /// The same result, in the place of the query. When the bits fail, coordinates without noise are left: the vector is then no release.
  void release_in_place(std::span<std::int64_t> query, BitsRef bits) const;

 private:
  Options options_;
  DiscreteLaplace untruncated_;
};

/// P(k) = y^k (1 - y) / (1 - y^(n+1)) for k = 0, ..., n, y = e^(-1/b), exactly.
///
/// The remainder of a geometric variable by n + 1 has this law, since its quotient is independent of it. Time: that of `GeometricNoise`, independent
/// of the value; and with probability below e^-16, independent of the value too, another draw.
class TruncatedGeometricNoise {
 public:
  /// \throws Error{invalid_argument} unless 0 < scale <= 2^58 and 1 <= largest <= 2^62.
  TruncatedGeometricNoise(Rational scale, std::int64_t largest);

  [[nodiscard]] Rational scale() const noexcept { return geometric_.scale(); }
  [[nodiscard]] std::int64_t largest() const noexcept { return largest_; }

  template <ReleaseBits Bits>
  [[nodiscard]] std::int64_t operator()(Bits& bits) const {
    return remainder(geometric_(bits), bits);
  }

  /// Fills `noise` with independent samples: geometric ones in bulk, and then, in their order, those to be drawn again.
  /// \throws what the bits throw.
  void fill(std::span<std::int64_t> noise, BitsRef bits) const;

 private:
  /// Whole periods of n + 1 only, so that what saturates is never used.
  template <ReleaseBits Bits>
  [[nodiscard]] std::int64_t remainder(std::int64_t sample, Bits& bits) const {
    while (sample >= whole_periods_) sample = geometric_(bits);
    return remainder_of(sample);
  }
  /// sample modulo n + 1, without a division, whose time depends on the quotient.
  [[nodiscard]] std::int64_t remainder_of(std::int64_t sample) const {
    __extension__ using Wide = unsigned __int128;
    const auto period = static_cast<std::uint64_t>(largest_ + 1);
    // The quotient or one less: sample / 2^64 < 1/2 is what the rounded reciprocal can take away.
    const auto quotient = static_cast<std::uint64_t>(Wide{static_cast<std::uint64_t>(sample)} * reciprocal_ >> 64);
    const std::uint64_t rest = static_cast<std::uint64_t>(sample) - quotient * period;
    return static_cast<std::int64_t>(rest - (period & (std::uint64_t{0} - std::uint64_t{rest >= period})));
  }

  GeometricNoise geometric_;
  std::int64_t largest_;
  std::uint64_t reciprocal_;    ///< floor(2^64 / (n + 1))
  std::int64_t whole_periods_;  ///< the largest multiple of n + 1 that no saturated sample is below
};

}  // namespace surety::mechanisms
