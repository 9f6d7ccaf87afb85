// The integers nearest to a vector of noise whose reals are drawn, in a time that is independent of them (docs/proofs/vector-noise.md#vector-rounding).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <surety/mechanisms/additive/vector_law.h>
#include <surety/mechanisms/samplers/ideal_reals.h>
#include <surety/mechanisms/samplers/power_trial.h>

namespace surety::mechanisms {

/// What is drawn of a vector.
struct VectorDraw {
  std::span<const std::uint64_t> signs;     ///< digit i % 64 of word i / 64
  std::span<const IdealReal> magnitudes;    ///< of `power`, E or V
  std::span<const std::uint64_t> tails;     ///< of `power`: masks
  std::span<const UnsignedWide> logs;       ///< of `power`: signed, in units of 2^-120
  std::span<const IdealReal> exponentials;  ///< of the radius
  std::span<const IdealReal> normal;        ///< of the radius: one or none

  [[nodiscard]] std::uint64_t is_negative(std::size_t i) const { return std::uint64_t{0} - (signs[i / 64] >> (i % 64) & 1); }
};

class VectorRounding {
 public:
  /// Takes some 10 microseconds. \pre the scale is positive
  explicit VectorRounding(const VectorLaw& law);

  [[nodiscard]] const VectorLaw& law() const noexcept { return law_; }
  /// How its coordinates are drawn. \pre their shape is `power`
  [[nodiscard]] const PowerTrial& power() const { return *power_; }

  /// Writes the nearest integers. \return a mask: 0, or -1 where some are not decided. \pre all reals are below 128.
  [[nodiscard]] std::int64_t round(const VectorDraw& draw, std::span<std::int64_t> integers) const;

 private:
  /// The common factor of all coordinates. Adds to the mask `in_doubt`.
  [[nodiscard]] WideFactor factor(const VectorDraw& draw, std::int64_t& in_doubt) const;

  VectorLaw law_;
  WideFactor scale_;
  FixedPoint inverse_dimension_;
  std::optional<PowerTrial> power_;
};

}  // namespace surety::mechanisms
