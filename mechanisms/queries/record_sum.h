// A sum of records whose sensitivity is a fact of the machine's arithmetic, not of the real numbers that it imitates.
//
// Each record is scaled down to l2 norm C, rounded toward zero to the grid, and then *checked*: the sum of the squares of its integer
// steps is compared with (C / step)^2, exactly where a bound on rounding errors leaves it in doubt. Only a record that passes is added,
// in integers. Hence, whatever floating point did before, a record contributes an integer vector that depends on that record alone and
// has exact l2 norm at most C, and the sum does not depend on the order of the records.
//
// Integers of magnitude up to 2^53 are doubles, and so are their sums: steps are kept as doubles, which are faster to compute with.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>

namespace surety::mechanisms {

/// sqrt(sum of squares), within a relative (size / 2 + 2) 2^-53 unless it exceeds the range of double; no intermediate overflow or
/// underflow. NaN or infinite when a value is. O(size).
[[nodiscard]] double l2_norm(std::span<const double> values);

/// One record as integers: scaled down to l2 norm C, rounded toward zero, and checked.
class ClippedSteps {
 public:
  /// \pre 1 <= clip / grid.step() <= 2^40
  ClippedSteps(ClippingNorm clip, const Grid& grid);

  /// factor * values, clipped and rounded as RecordSum::add says, in grid steps, which are integers of exact l2 norm at most C / step; valid
  /// until the next call. \param norm of values: a wrong one costs accuracy, never the bound. O(size).
  [[nodiscard]] std::span<const double> place(double factor, std::span<const double> values, double norm);

  /// C / step, exact.
  [[nodiscard]] double ratio() const noexcept { return ratio_; }

 private:
  __extension__ using Unsigned = unsigned __int128;

  /// min(1, C / (|factor| norm)), or 0 for a record without a finite norm.
  [[nodiscard]] double clip_factor(double factor, double norm) const {
    const double length = std::abs(factor) * norm;
    if (!std::isfinite(length)) return 0;
    return length > clip_ ? clip_ / length : 1;
  }
  /// Sets steps_ to scale * values in grid steps, clamped to +-C, rounded toward zero. \return whether its exact l2 norm is at most C.
  bool try_place(double scale, std::span<const double> values);

  double clip_;
  double steps_per_unit_;
  double ratio_;
  Unsigned largest_squared_norm_;  ///< the integer part of (C / step)^2
  double nearest_squared_norm_;    ///< the same, as a double
  std::vector<double> steps_;      ///< integers; longer than a record
};

class RecordSum {
 public:
  /// The largest clipping norm over grid step: finer grids than this would add nothing but carries.
  static constexpr double largest_ratio = 0x1p40;

  struct Options {
    ClippingNorm clip;      ///< C, the largest l2 norm of a record's contribution
    Grid grid;              ///< with step at most C and at least C / largest_ratio
    std::size_t dimension;  ///< coordinates of a record, at least 1
    friend bool operator==(const Options&, const Options&) = default;
  };

  /// The empty sum. \throws Error{invalid_argument} when the options break their constraints.
  explicit RecordSum(Options options);

  /// Adds `record`, clipped and rounded: coordinate i of the contribution is min(1, C / ||record||) record[i], up to a relative (dimension
  /// / 2 + 6) 2^-53, rounded toward zero to the grid. A record whose norm is not a finite double contributes zero. O(dimension). \throws
  /// Error{invalid_argument} when the record does not have `dimension` coordinates.
  void add(std::span<const double> record) { add_scaled(1.0, record, l2_norm(record)); }

  /// Adds factor * row, clipped and rounded as in `add`, for a row of l2 norm `norm`; the gradient of a generalized linear model is such a
  /// record. A wrong norm costs accuracy, never privacy. When |factor| * norm is not a finite double the record contributes zero. \throws
  /// Error{invalid_argument} when the row does not have `dimension` coordinates.
  void add_scaled(double factor, std::span<const double> row, double norm);

  /// The same for a row whose coordinate indices[k] is values[k] and whose other coordinates are 0, in O(size of the row).
  /// \pre indices increase and lie in [0, dimension); an entry that breaks this is ignored.
  /// \throws Error{invalid_argument} when there are not as many indices as values.
  template <std::integral Index>
  void add_scaled(double factor, std::span<const Index> indices, std::span<const double> values, double norm);

  /// Adds all records of `other`, exactly. O(dimension). \throws Error{invalid_argument} unless it has the same options.
  void merge(const RecordSum& other);

  /// The sum so far, saturating at +-largest_sum steps per coordinate. O(dimension).
  [[nodiscard]] GridVector sum() const;

  /// The sum so far in data units, each coordinate to the nearest double; does not saturate. For use within proofs of their own: it has
  /// no sensitivity that holds on a grid. O(dimension).
  [[nodiscard]] std::vector<double> reals() const;

  /// l2 sensitivity of `sum()`, exactly.
  [[nodiscard]] L2Sensitivity sensitivity(Adjacency adjacency) const { return sensitivity_of_clipped_sum(options_.clip, adjacency); }

  [[nodiscard]] const Options& options() const noexcept { return options_; }

  /// Back to the empty sum.
  void clear();

 private:
  // 2^64 records of 2^40 steps fit into 128 bits, so that no sum overflows.
  __extension__ using Integer = __int128;

  /// Makes room for one more record in recent_.
  void count_record() {
    if (recent_records_ == most_recent_records_) [[unlikely]]
      flush();
    ++recent_records_;
  }
  void flush();

  void require_same_size(const char* what, std::size_t size, std::size_t wanted) const;

  Options options_;
  ClippedSteps record_;                ///< the one being placed
  std::uint64_t most_recent_records_;  ///< this many contributions sum to at most 2^53 steps
  std::uint64_t recent_records_ = 0;   ///< in recent_
  std::vector<double> recent_;         ///< in steps: an exact integer
  std::vector<Integer> sum_;           ///< in steps, of all records that are not in recent_
};

template <std::integral Index>
void RecordSum::add_scaled(double factor, std::span<const Index> indices, std::span<const double> values, double norm) {
  require_same_size("the index list of a row", indices.size(), values.size());
  const std::span<const double> steps = record_.place(factor, values, norm);
  count_record();
  // The checked norm is that of a vector only if no coordinate is named twice: hence the increasing order. Negative indices
  // become too large ones.
  std::size_t next = 0;
  const std::size_t dimension = recent_.size();
  double* const recent = recent_.data();
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto index = static_cast<std::size_t>(indices[k]);
    if (index < next || index >= dimension) [[unlikely]]
      continue;
    recent[index] += steps[k];
    next = index + 1;
  }
}

}  // namespace surety::mechanisms
