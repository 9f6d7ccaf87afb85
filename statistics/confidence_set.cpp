#include <surety/statistics/confidence_set.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

#include <surety/base/numbers/bound.h>

namespace surety::statistics {

double exceedance(NoiseLaw law, std::span<const double> scales, double t) {
  std::vector<double> positive;
  std::copy_if(scales.begin(), scales.end(), std::back_inserter(positive), [](double scale) { return scale > 0; });
  if (!(t > 0)) return 1;
  if (positive.empty()) return 0;
  Interval result = exactly(0);
  if (law == NoiseLaw::gaussian) {
    Interval squares = exactly(0);
    for (const double scale : positive) squares = squares + exactly(scale) * exactly(scale);
    result = erfc(exactly(t) / sqrt(exactly(2) * squares));
  } else {
    // A larger scale exceeds t at least as often, so equal ones may be told apart upward.
    std::sort(positive.begin(), positive.end());
    for (std::size_t i = 1; i < positive.size(); ++i) positive[i] = std::max(positive[i], positive[i - 1] * (1 + 0x1p-20));
    for (const double scale : positive) {
      const Interval square = exactly(scale) * exactly(scale);
      Interval part = exp(-(exactly(t) / exactly(scale)));
      for (const double other : positive) {
        if (other != scale) part = part * (square / (square - exactly(other) * exactly(other)));
      }
      result = result + part;
    }
  }
  return std::clamp(result.enclosure().upper, 0.0, 1.0);
}

NoiseTest::NoiseTest(NoiseLaw law, double exceeded) : law_{law}, exceeded_{exceeded} {
  if (law != NoiseLaw::gaussian) return;
  const auto suffices = [&](double deviations) { return exceedance(law, std::array{1.0}, deviations) <= exceeded; };
  double failing = 0;
  deviations_ = 1;
  while (!suffices(deviations_)) deviations_ *= 2;
  while (deviations_ - failing > 0x1p-40) {
    const double middle = failing + (deviations_ - failing) / 2;
    (suffices(middle) ? deviations_ : failing) = middle;
  }
}

bool NoiseTest::is_likely(std::span<const double> scales, double t) const {
  double probability = 0;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!(scales[i] > 0)) continue;
    double part = std::exp(-t / scales[i]);
    for (std::size_t j = 0; j < scales.size(); ++j) {
      if (j == i || !(scales[j] > 0)) continue;
      const double ratio = scales[j] / scales[i];
      if (std::abs(ratio - 1) < 0.01) return std::exp(-t / scales[i]) > 2 * exceeded_;  // too near to be told apart
      part /= 1 - ratio * ratio;
    }
    probability += part;
  }
  return probability > exceeded_ * 1.001;
}

std::optional<bool> NoiseTest::excludes_two(double larger, double smaller, double t) const {
  const Exact a{larger};
  const Exact b{smaller};
  const Upper least_decay = exp(-(Lower{Exact{t}} / Upper{a}));  // of exp(-t / a), above and below
  const Lower most_decay = exp(-(Upper{Exact{t}} / Lower{a}));
  const Lower squares = (Lower{a} - Upper{b}) * (Lower{a} + Lower{b});
  if (squares.value() > 0) {
    // (a^2 exp(-t / a) - b^2 exp(-t / b)) / (a^2 - b^2)
    const Upper most = (Upper{a} * a * least_decay - Lower{b} * b * exp(-(Upper{Exact{t}} / Lower{b}))) / squares;
    if (most.value() <= exceeded_) return true;
    const Lower difference = Lower{a} * a * most_decay - Upper{b} * b * exp(-(Lower{Exact{t}} / Upper{b}));
    if (difference.value() > 0 && (difference / ((Upper{a} - Lower{b}) * (Upper{a} + Upper{b}))).value() > exceeded_) return false;
  }
  // Scales that both were a, or both b, would exceed t at least as often, or at most: (1 + t / 2a) exp(-t / a).
  if (((Exact{1} + Upper{Exact{t}} / Lower{a} / Exact{2}) * least_decay).value() <= exceeded_) return true;
  const Lower of_smaller = (Exact{1} + Lower{Exact{t}} / Upper{b} / Exact{2}) * exp(-(Upper{Exact{t}} / Lower{b}));
  if (of_smaller.value() > exceeded_) return false;
  return std::nullopt;
}

bool NoiseTest::excludes(std::span<const double> scales, double t) const {
  if (!(t > 0)) return false;
  if (law_ == NoiseLaw::gaussian) {
    Upper squares{Exact{0.0}};
    for (const double scale : scales) squares += Upper{Exact{scale}} * Exact{scale};
    return (sqrt(squares) * Exact{deviations_}).value() <= t;
  }
  if (scales.size() == 2 && std::min(scales[0], scales[1]) > 0) {
    if (const auto known = excludes_two(std::max(scales[0], scales[1]), std::min(scales[0], scales[1]), t)) return *known;
  }
  // A clear no needs no proof.
  if (is_likely(scales, t)) return false;
  return exceedance(law_, scales, t) <= exceeded_;
}

namespace {

/// The end of an excluded stretch that begins at `from` and goes toward `to`; `from` itself where none is found.
double end_of_exclusion(double from, double to, double tolerance, const std::function<bool(double, double)>& is_excluded) {
  constexpr int most_steps = 1000;  // a stretch that ends where the pivot nearly touches its quantile takes many small ones
  double position = from;
  double step = to - from;
  for (int i = 0; i < most_steps && position != to && std::abs(step) > tolerance; ++i) {
    const double beyond = position + step;
    const double next = step > 0 ? std::min(beyond, to) : std::max(beyond, to);
    if (next == position) break;
    if (is_excluded(std::min(position, next), std::max(position, next))) {
      position = next;
      step *= 2;
    } else {
      step /= 2;
    }
  }
  return position;
}

}  // namespace

std::optional<Enclosure> hull_of_the_rest(double from, double to, double tolerance,
                                          const std::function<bool(double, double)>& is_excluded) {
  const double lower = end_of_exclusion(from, to, tolerance, is_excluded);
  if (lower == to && is_excluded(to, to)) return std::nullopt;
  return Enclosure{lower, end_of_exclusion(to, lower, tolerance, is_excluded)};
}

}  // namespace surety::statistics
