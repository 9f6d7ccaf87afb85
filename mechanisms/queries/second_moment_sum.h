// The sum over records of x x^T, whose sensitivity is a fact of integers.
//
// Each record is clipped to l2 norm C and rounded to a grid as in `RecordSum`; the products of its integer steps m are exact, and so are their
// sums. Hence a record contributes a matrix m m^T that is exactly symmetric, of rank one and positive semidefinite, of Frobenius norm
// |m|^2 <= (C / step)^2, and two such matrices have an inner product <m, m'>^2 >= 0. So the sensitivity in Frobenius norm is
//
//     C^2            under add-or-remove-one and zero-out,
//     sqrt(2) C^2    under replace-one: |A - B|^2 = |A|^2 + |B|^2 - 2 <A, B> <= 2 C^4,
//
// (docs/proofs/shaped-descent.md#second-moment). A unit of m rows adds the mean of its rows' matrices: each row is divided by sqrt(m) and clipped to
// C / sqrt(m), so that what the unit adds is exactly positive semidefinite and of trace at most C^2, and the same numbers hold
// (docs/proofs/shaped-descent.md#second-moment-of-units). All d^2 entries are released with independent noise of one sigma; averaging the entries (j, k)
// and (k, j) afterwards leaves noise that is isotropic in Frobenius norm on symmetric matrices, as if each had been released once.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>

namespace surety::mechanisms {

class SecondMomentSum {
 public:
  /// The largest clipping norm over grid step: products of two steps are then at most 2^44, and 512 of them a double.
  static constexpr double largest_ratio = 0x1p22;
  /// The largest number of coordinates: the sum has its square.
  static constexpr std::size_t largest_dimension = 4096;

  struct Options {
    ClippingNorm clip;      ///< C, the largest l2 norm of a record
    Grid grid;              ///< of a record's coordinates, with step at most C and at least C / largest_ratio
    std::size_t dimension;  ///< d, coordinates of a record, from 1 to largest_dimension
    friend bool operator==(const Options&, const Options&) = default;
  };

  /// The empty sum. O(d^2) memory. \throws Error{invalid_argument} when the options break their constraints.
  explicit SecondMomentSum(Options options);

  /// Adds x x^T for x = factor * row, clipped and rounded as in `RecordSum::add_scaled`. O(d^2).
  /// \throws Error{invalid_argument} when the row does not have d coordinates.
  void add_scaled(double factor, std::span<const double> row, double norm);
  void add(std::span<const double> record) { add_scaled(1.0, record, l2_norm(record)); }

  /// The same for a row whose coordinate indices[k] is values[k] and whose others are 0. O(size of the row squared).
  /// \pre indices increase and lie in [0, d); an entry that breaks this is ignored.
  /// \throws Error{invalid_argument} when there are not as many indices as values.
  template <std::integral Index>
  void add_scaled(double factor, std::span<const Index> indices, std::span<const double> values, double norm);

  /// The next `rows` rows are those of one unit, which adds the mean of their x x^T. Where sqrt(rows) grid steps are more than C, it adds nothing.
  /// Without this each row is a unit. Fewer may follow, more are refused. \throws Error{invalid_argument} for no rows.
  void begin_unit(std::size_t rows);

  /// Adds all records of `other`, exactly. \throws Error{invalid_argument} unless it has the same options.
  void merge(const SecondMomentSum& other);

  /// The sum so far: d x d entries row by row, symmetric, on the grid of step^2, saturating at +-largest_sum. O(d^2).
  [[nodiscard]] GridVector sum() const;

  /// l2 sensitivity of `sum()`, which is that in Frobenius norm; rounded up.
  [[nodiscard]] L2Sensitivity sensitivity(Adjacency adjacency) const;

  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  __extension__ using Integer = __int128;

  /// \throws Error{invalid_argument} when all rows of the unit were added.
  void count_record();
  void flush();

  Options options_;
  ClippedSteps record_;    ///< of one of the rows of a unit of unit_rows_
  double row_factor_ = 1;  ///< 1 / sqrt(unit_rows_)
  std::size_t unit_rows_ = 1;
  std::optional<std::size_t> rows_left_;  ///< of the unit that was begun
  std::uint64_t most_recent_records_;     ///< so many records' products sum to at most 2^53
  std::uint64_t recent_records_ = 0;
  std::vector<double> recent_;       ///< the upper triangle, of a d x d matrix, in squared steps
  std::vector<Integer> sum_;         ///< likewise, of all records that are not in recent_
  std::vector<std::size_t> places_;  ///< of a sparse record
  std::vector<double> kept_;         ///< its steps there
};

/// l2 sensitivity in Frobenius norm of a sum of x x^T, |x| <= clip: as above. Rounded up.
/// \throws Error{invalid_argument} when it is beyond the range of double.
[[nodiscard]] L2Sensitivity sensitivity_of_second_moment(ClippingNorm clip, Adjacency adjacency);

/// A grid of record coordinates for a `SecondMomentSum` of about `records` records, which are public, and noise of `multiplier` sensitivities: the finest on
/// which neither saturates, with 2^10 to 2^22 steps in `clip`.
[[nodiscard]] Grid second_moment_grid(ClippingNorm clip, Count records, NoiseMultiplier multiplier);

template <std::integral Index>
void SecondMomentSum::add_scaled(double factor, std::span<const Index> indices, std::span<const double> values, double norm) {
  if (indices.size() != values.size()) {
    throw Error{ErrorCode::invalid_argument, "the index list of a row must have as many entries as its values"};
  }
  count_record();
  const std::span<const double> steps = record_.place(row_factor_ * factor, values, norm);
  // A coordinate that is named twice would have a longer vector than was checked: hence the increasing order.
  places_.clear();
  kept_.clear();
  std::size_t next = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto index = static_cast<std::size_t>(indices[k]);
    if (index < next || index >= options_.dimension) [[unlikely]]
      continue;
    next = index + 1;
    if (steps[k] == 0) continue;
    places_.push_back(index);
    kept_.push_back(steps[k]);
  }
  for (std::size_t a = 0; a < places_.size(); ++a) {
    double* const row = recent_.data() + places_[a] * options_.dimension;
    for (std::size_t b = a; b < places_.size(); ++b) row[places_[b]] += kept_[a] * kept_[b];
  }
}

}  // namespace surety::mechanisms
