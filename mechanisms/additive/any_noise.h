// Whichever noise somebody has made: what one release of it is, refuses and does. For who chooses the law at run time, as other languages do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/additive/binomial.h>
#include <surety/mechanisms/additive/discrete_gaussian.h>
#include <surety/mechanisms/additive/discrete_laplace.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/additive/skellam.h>
#include <surety/mechanisms/additive/truncated_geometric.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/clipped_sum.h>
#include <surety/mechanisms/queries/grid.h>

namespace surety::mechanisms {

class AnyNoise {
 public:
  using Law = std::variant<GaussianOnReals, LaplaceOnReals, KNormOnReals, GeneralizedGaussianOnReals, DiscreteGaussian, DiscreteLaplace,
                           TruncatedGeometric, Binomial, Skellam>;

  AnyNoise(Law law);
  [[nodiscard]] const Law& law() const noexcept { return law_; }

  /// What one release is, for the accountants.
  [[nodiscard]] Event event() const;
  /// Of whole numbers for noise on integers.
  [[nodiscard]] Grid grid() const;
  [[nodiscard]] bool is_on_integers() const noexcept;
  /// Values of one release. 1 for noise on integers, which takes any number.
  [[nodiscard]] std::size_t dimension() const;
  /// sigma or b, in data units; of binomial and Skellam noise the standard deviation.
  [[nodiscard]] double scale() const;

  /// Refuses what `release_in_place` refuses of `count` values of this type (double, float, std::int64_t), and looks at no value: to be asked before
  /// a release is charged. \throws Error{invalid_argument} for another type or number than the noise has, and as `require_floats`.
  template <class Value>
  void require_release_of(std::size_t count) const;

  /// One release in place, as of the law. \throws as `require_release_of`; Error{environment} when the bits fail.
  template <class Value>
  void release_in_place(std::span<Value> values, BitsRef bits) const;

  /// The empty sum of rows of `columns` numbers whose sum has at most the sensitivity that this noise is scaled to, in its norm: rows are clipped to
  /// `clip`, and such a sum moves by that, under replace-one by twice that. Of noise whose sensitivity is along one coordinate (discrete Gaussian,
  /// binomial, Skellam), rows of one number. \throws Error{invalid_argument} when that is more than the noise has, when `columns` is not its dimension, and as
  /// `ClippedSum`, whose grid is that of the noise.
  [[nodiscard]] ClippedSum sum_of_rows(ClippingNorm clip, std::size_t columns) const;

  /// One release of a sum that `sum_of_rows` began. Value is double, or std::int64_t for noise on integers. \throws Error{invalid_argument} for the
  /// other type; Error{environment} when the bits fail.
  template <class Value>
  [[nodiscard]] std::vector<Value> release(const ClippedSum& sum, BitsRef bits) const;

 private:
  Law law_;
};

}  // namespace surety::mechanisms
