// How mechanisms on the integers add their noise: the query is clamped to +-2^62 and the result to +-(2^62 - 1), so that nothing overflows
// and nothing is refused for its value (grid.h). Clamping brings no two queries further apart, and the result is post-processing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::mechanisms {

/// Adds a sample of `noise` to each of `values`, as `saturating_add`; the samples are those of `noise.fill`. O(values), time as
/// `LatticeNoise::fill`: it depends on what is drawn, not on the values. \throws what the bits throw; from there on, values are as they
/// were, without noise.
void add_noise(const LatticeNoise& noise, std::span<std::int64_t> values, BitsRef bits);

/// The same of one value, compiled for each source of bits as the samplers' `operator()`.
template <ReleaseBits Bits>
[[nodiscard]] std::int64_t with_noise(const LatticeNoise& noise, std::int64_t value, Bits& bits) {
  return saturating_add(value, noise(bits));
}

/// The same of a copy.
[[nodiscard]] std::vector<std::int64_t> with_noise(const LatticeNoise& noise, std::span<const std::int64_t> values, BitsRef bits);

/// What mechanisms have in common that add `Noise` (a `LatticeNoise`) to integers.
template <class Noise>
class IntegerMechanism {
 public:
  /// What a release is, for the accountants.
  [[nodiscard]] const Event& event() const noexcept { return event_; }
  [[nodiscard]] const Noise& noise() const noexcept { return noise_; }

  /// query + k, where the query is clamped to +-2^62 and the result to +-(2^62 - 1). Never throws on a value of the query.
  ///
  /// Time depends on what is drawn, not on the query: a sample that its first word (of a scale above 128: two words) does not decide takes
  /// some 50 nanoseconds more, one of a magnitude above some 6 sigma of a Gaussian or 17 b of a Laplace law microseconds to milliseconds.
  /// `DrawAhead` (draw_ahead.h) takes that time beforehand. \throws Error{environment} when the bits fail.
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

 protected:
  IntegerMechanism(Event event, Noise noise) : event_{std::move(event)}, noise_{std::move(noise)} {}

 private:
  Event event_;
  Noise noise_;
};

}  // namespace surety::mechanisms
