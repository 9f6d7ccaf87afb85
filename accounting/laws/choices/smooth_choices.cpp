#include <surety/accounting/laws/choices/smooth_choices.h>

#include <algorithm>
#include <cmath>

#include <surety/base/numbers/bound.h>

namespace surety::accounting {
namespace {

// Proved: docs/proofs/choices.md#smooth
/// A quarter of the square of a range: the largest variance of a loss.
Upper variance_of(double range) { return Exact{0.25} * (Upper{Exact{range}} * Exact{range}); }

/// What all choices together add to the variance that there is before the first one.
class Smoothing {
 public:
  /// \param most the variance of the largest choice \param start what there is before the first one: at least `most` over the root of 3
  Smoothing(Upper most, Upper start) : most_{most}, start_{start} {
    const Upper first = most * (Upper{1} + most / least_of(start) / Exact{6});
    longest_ = first * (Upper{1} + first / Exact{8});
  }
  /// Whether what the losses' drift adds is within what the proof allows for it.
  [[nodiscard]] bool holds() const { return drift(least_of(start_)).value() <= 2; }

  /// What one choice adds beyond its variance, over the square of that, where there is `before` already. It falls, and is convex.
  [[nodiscard]] Upper beyond(Lower before) const {
    const Upper larger = Upper{1} + most_ / before / Exact{6};
    return Upper{1} / before / Exact{6} + drift(before) * larger * larger / Exact{16};
  }

 private:
  static Lower least_of(Upper exact) { return Lower{Exact{exact.value()}}; }
  [[nodiscard]] Upper drift(Lower before) const { return exp(longest_ / Exact{8}) * sqrt(Upper{1} + longest_ / before); }

  Upper most_;
  Upper start_;
  Upper longest_{0};
};

}  // namespace

std::optional<double> gaussian_above_choices(const ChoiceCounts& counts) {
  const Upper most = variance_of(counts.rbegin()->first);
  // As little as the proof allows; more of it for choices of a larger range.
  for (const double share : {0.6, 1.0}) {
    const Upper start{Exact{(Exact{share} * most).value()}};
    const Smoothing smoothing{most, start};
    if (!smoothing.holds()) continue;
    Upper sum = start;
    Lower before{Exact{start.value()}};
    // The largest first; many of one range a few at a time, as if nothing were added between them.
    for (auto kind = counts.rbegin(); kind != counts.rend(); ++kind) {
      const Upper each = variance_of(kind->first);
      const Lower each_below = Exact{0.25} * (Lower{Exact{kind->first}} * Exact{kind->first});
      for (auto left = static_cast<double>(kind->second); left > 0;) {
        const double some = std::clamp(std::floor(before.value() / (64 * each.value())), 1.0, left);
        sum += Exact{some} * (each + each * each * smoothing.beyond(before));
        before += Exact{some} * each_below;
        left -= some;
      }
    }
    const double multiplier = (Lower{1} / sqrt(sum)).value();
    if (multiplier > 0 && std::isfinite(multiplier)) return multiplier;
  }
  return std::nullopt;
}
// Proved so far.

}  // namespace surety::accounting
