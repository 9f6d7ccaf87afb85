// What a sum of clipped records is, said plainly and slowly: every step of every record in 128-bit integers. The truth for
// mechanisms::RecordSum and for optimizers::add_gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/record_sum.h>

namespace surety::reference {

class PlainRecordSum {
 public:
  explicit PlainRecordSum(const mechanisms::RecordSum::Options& options)
      : options_{options}, ratio_{options.clip.value() * options.grid.steps_per_unit()}, sum_(options.dimension) {
    int exponent = 0;
    const auto mantissa = static_cast<Unsigned>(std::ldexp(std::frexp(ratio_, &exponent), 53));
    largest_squared_norm_ = mantissa * mantissa >> (2 * (53 - exponent));
  }

  void add_scaled(double factor, std::span<const double> row, double norm) {
    const auto steps = placed(factor, row, norm);
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += steps[i];
  }

  template <class Index>
  void add_scaled(double factor, std::span<const Index> indices, std::span<const double> values, double norm) {
    const auto steps = placed(factor, values, norm);
    std::size_t next = 0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const auto index = static_cast<std::size_t>(indices[k]);
      if (index < next || index >= sum_.size()) continue;
      sum_[index] += steps[k];
      next = index + 1;
    }
  }

  [[nodiscard]] GridVector sum() const {
    GridVector result{.grid = options_.grid, .steps = {}};
    for (const Integer steps : sum_) {
      result.steps.push_back(static_cast<std::int64_t>(std::clamp<Integer>(steps, -Integer{largest_sum}, Integer{largest_sum})));
    }
    return result;
  }

 private:
  __extension__ using Integer = __int128;
  __extension__ using Unsigned = unsigned __int128;

  [[nodiscard]] std::vector<std::int64_t> placed(double factor, std::span<const double> values, double norm) const {
    const double length = std::abs(factor) * norm;
    const double clip = !std::isfinite(length) ? 0 : length > options_.clip.value() ? options_.clip.value() / length : 1;
    double scale = clip == 0 ? 0 : factor * clip;
    std::vector<std::int64_t> steps(values.size());
    for (double shrink = 0x1p-50;; shrink *= 2) {
      Unsigned squared_norm = 0;
      for (std::size_t k = 0; k < values.size(); ++k) {
        double exact = scale * values[k] * options_.grid.steps_per_unit();
        if (std::isnan(exact)) exact = 0;
        if (std::abs(exact) > ratio_) exact = std::copysign(ratio_, exact);
        steps[k] = static_cast<std::int64_t>(exact);
        const auto magnitude = static_cast<std::uint64_t>(std::abs(steps[k]));
        squared_norm += static_cast<Unsigned>(magnitude) * magnitude;
      }
      if (squared_norm <= largest_squared_norm_) return steps;
      scale *= 1 - shrink;
    }
  }

  mechanisms::RecordSum::Options options_;
  double ratio_;
  Unsigned largest_squared_norm_;
  std::vector<Integer> sum_;
};

}  // namespace surety::reference
