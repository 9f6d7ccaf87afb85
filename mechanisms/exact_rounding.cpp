#include <surety/mechanisms/exact_rounding.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include <surety/accounting/interval.h>

namespace surety::mechanisms {
namespace {

using accounting::Interval;

// Double arithmetic throughout; special cases go to the slow path by failing the comparisons, never by an exception.
using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false>,
                                             boost::math::policies::domain_error<boost::math::policies::ignore_error>,
                                             boost::math::policies::pole_error<boost::math::policies::ignore_error>,
                                             boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
                                             boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

// A bound on the relative error of `tail` and of the conversions of T, together: at most 2^-44.4, see docs/guarantees.md#rounded-gaussian.
constexpr double relative_error = 0x1p-42;

// Beyond this erfc is below 2^-63 and T is not, unless its first 63 bits are all 0, and then no double decides.
constexpr double far_out = 7;

double tail(double x) { return boost::math::erfc(std::min(x, far_out), Policy{}); }

/// `value` as a point: both halves and their sum are exact.
Interval exactly(std::uint64_t value, mpfr_prec_t precision) {
  const Interval high{static_cast<double>(value >> 32), precision};
  const Interval low{static_cast<double>(value & 0xffffffff), precision};
  return high * Interval{0x1p32, precision} + low;
}

/// T, known up to the bits drawn so far.
class LazyUniform {
 public:
  LazyUniform(std::uint64_t first_bits, const std::function<std::uint64_t()>& next_word) : first_bits_{first_bits}, next_word_{next_word} {}

  /// Whether |noise| >= j, that is T < erfc((j - 1/2) / (sigma sqrt 2)), for j >= 1. Draws a word exactly when the threshold lies inside
  /// the interval that T is known to be in; otherwise more precision decides, since erfc of a nonzero algebraic number is transcendental
  /// and hence equal to neither end.
  bool reaches(std::uint64_t j, double sigma) {
    for (;;) {
      const Interval threshold =
          erfc((exactly(j, precision_) - Interval{0.5, precision_}) / (Interval{sigma, precision_} * sqrt(Interval{2.0, precision_})));
      const auto [low, high] = ends();
      // A threshold is positive, also where its enclosure underflows to zero.
      const int from_low = low.compare(0) > 0 ? (threshold - low).compare(0) : 1;
      const int from_high = (threshold - high).compare(0);
      if (from_low < 0) return false;
      if (from_high > 0) return true;
      if (from_low > 0 && from_high < 0) {
        more_words_.push_back(next_word_());
        precision_ += 64;
      } else {
        precision_ *= 2;
      }
    }
  }

 private:
  struct Ends {
    Interval low;
    Interval high;
  };

  /// The ends of the interval of all completions of the bits drawn, as exact points.
  [[nodiscard]] Ends ends() const {
    const Interval word_size{0x1p64, precision_};
    Interval low = exactly(first_bits_, precision_);
    Interval units{0x1p63, precision_};
    for (const auto word : more_words_) {
      low = low * word_size + exactly(word, precision_);
      units = units * word_size;
    }
    return {low / units, (low + Interval{1.0, precision_}) / units};
  }

  std::uint64_t first_bits_;
  const std::function<std::uint64_t()>& next_word_;
  std::vector<std::uint64_t> more_words_;
  mpfr_prec_t precision_ = 128;  // always at least 65 bits more than T has
};

bool is_negative(std::uint64_t word) { return (word & 1) != 0; }

std::int64_t with_sign(std::uint64_t word, std::int64_t magnitude) { return is_negative(word) ? -magnitude : magnitude; }

}  // namespace

RoundedGaussian::RoundedGaussian(StepSigma sigma) : sigma_{sigma}, scale_{sigma.value() * std::numbers::sqrt2}, inverse_{1 / scale_} {}

std::optional<std::int64_t> RoundedGaussian::decide(std::uint64_t word) const noexcept {
  const std::uint64_t bits = word >> 1;
  const double low = static_cast<double>(bits) * 0x1p-63;
  const double high = static_cast<double>(bits + 1) * 0x1p-63;
  const double nearest = std::round(boost::math::erfc_inv(0.5 * (low + high), Policy{}) * scale_);
  // Beyond 2^51 half integers are not exact; such noise is doubtful anyway.
  if (!(nearest < 0x1p51)) return std::nullopt;
  const bool reached = nearest == 0 || high < tail((nearest - 0.5) * inverse_) * (1 - relative_error);
  const bool next_not_reached = low > tail((nearest + 0.5) * inverse_) * (1 + relative_error);
  if (!(reached && next_not_reached)) return std::nullopt;
  return with_sign(word, static_cast<std::int64_t>(nearest));
}

std::uint64_t RoundedGaussian::guess(std::uint64_t word) const noexcept {
  const double middle = (static_cast<double>(word >> 1) + 0.5) * 0x1p-63;
  return static_cast<std::uint64_t>(std::round(boost::math::erfc_inv(middle, Policy{}) * scale_));
}

std::int64_t RoundedGaussian::refine(std::uint64_t word, std::uint64_t start, const std::function<std::uint64_t()>& next_word) const {
  LazyUniform uniform{word >> 1, next_word};
  const auto reaches = [&](std::uint64_t j) { return uniform.reaches(j, sigma_.value()); };
  // |noise| is the largest integer that it reaches: known to reach `low`, not to reach `high` (or to saturate below it).
  // From the start gallop away in doubling strides, then bisect.
  constexpr auto limit = static_cast<std::uint64_t>(saturation) + 1;
  std::uint64_t low = 0;
  std::uint64_t high = limit;
  start = std::min(start, limit - 1);
  if (start == 0 || reaches(start)) {
    low = start;
    for (std::uint64_t stride = 1; stride < limit - low; stride *= 2) {
      if (!reaches(low + stride)) {
        high = low + stride;
        break;
      }
      low += stride;
    }
  } else {
    high = start;
    for (std::uint64_t stride = 1; stride < high; stride *= 2) {
      if (reaches(high - stride)) {
        low = high - stride;
        break;
      }
      high -= stride;
    }
  }
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (reaches(middle) ? low : high) = middle;
  }
  return with_sign(word, static_cast<std::int64_t>(low));
}

}  // namespace surety::mechanisms
