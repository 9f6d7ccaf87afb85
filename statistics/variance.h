// The variance of a column: the mean of (x - mean)^2 over all records that count, from sums of numbers and of their squares.
//
// Numbers are clamped, rounded to whole steps and counted from the middle of the bounds: k in [-M, M]. A record contributes
//
//   k,   z = the nearest integer of (2 k^2 - M^2) / M,   and M to the count where the number of records is private,
//
// three parts of equal range. From their noisy sums A, B, C, with y = k / M, m the mean and v the variance of y, and N records,
// (B + C) / 2 - 2 m A + (m^2 - v) C is noise alone: v is judged by its exact law (docs/proofs/statistics.md#variance).
#pragma once

#include <cstdint>
#include <optional>

#include <surety/base/numbers/enclosure.h>
#include <surety/base/numbers/interval.h>
#include <surety/statistics/confidence_set.h>

namespace surety::statistics {

/// z of a record: within [-largest, largest]. \pre |steps| <= largest, 1 <= largest <= 2^40.
[[nodiscard]] std::int64_t centred_square(std::int64_t steps, std::int64_t largest) noexcept;

/// How far one record moves the vector, in steps.
struct VarianceNorms {
  Interval l1;
  Interval l2;
};
/// Of a record that comes or goes: 2 M or 3 M with the count, sqrt 2 M or sqrt 3 M; attained.
[[nodiscard]] VarianceNorms norms_of_a_record(std::int64_t largest, bool has_count);
/// Of one that becomes another: 25/8 M + 1 and sqrt((71 + 8 sqrt 2) / 16) M + 1, attained but for the rounding of 1.
[[nodiscard]] VarianceNorms norms_of_a_change(std::int64_t largest);

/// What was released, in steps, and the noise on each part.
struct VarianceRelease {
  double sum;
  double squares;
  std::optional<double> count;  ///< M N with noise; nothing where the number of records is public
  std::uint64_t records;        ///< read where it is public
  std::int64_t largest;         ///< M
  double scale;                 ///< sigma or b of the ideal noise, in steps
};

/// The variance in units of M^2 steps^2, within [0, 1]. Of fewer than one record as if of one.
[[nodiscard]] double variance_value(const VarianceRelease& release) noexcept;

/// What judges the parts of a variance: a tenth of `exceeded` goes to the mean, which matters in second order only.
struct VarianceTest {
  NoiseTest of_mean;
  NoiseTest of_variance;
  /// \pre 2^-50 <= exceeded < 1.
  VarianceTest(NoiseLaw law, double exceeded);
};

/// Holds the variance of the clamped and rounded numbers, of at least one record, with probability at least 1 - exceeded, in the same
/// units, and holds `variance_value`. \pre No sum is saturated.
[[nodiscard]] Enclosure variance_interval(const VarianceRelease& release, const VarianceTest& test);

}  // namespace surety::statistics
