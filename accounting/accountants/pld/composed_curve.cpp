#include <surety/accounting/accountants/pld/composed_curve.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <variant>

#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/convolution.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/long_sum.h>

namespace surety::accounting::pld {
namespace {

struct Side {
  LongSum loss;  // of entry 0 of the product: all first entries together
  LongSum log_scale;
  long double magnitude = 0;  // the sum of the moduli of both terms of each loss
  long double scales = 0;     // and of each scale
  LongUpper right{0};         // log of the Chernoff sums, relative to `loss`
  LongUpper left{0};
  LongUpper total{0};      // log of the tilted mass
  long double length = 0;  // index of the last entry

  void take(const TiltedLaw& law, double count, const Window& window) {
    take_place(law, count, window);
    take_weights(law.weights, count, window);
  }
  void take_place(const TiltedLaw& law, double count, const Window& window) {
    const long double times = count;
    const long double step = window.step;
    loss += times * (law.base + static_cast<long double>(law.first) * step);
    magnitude += times * (std::abs(law.base) + std::abs(static_cast<long double>(law.first)) * step);
    log_scale += times * static_cast<long double>(law.log_scale);
    scales += times * std::abs(static_cast<long double>(law.log_scale));
  }
  void take_weights(const std::vector<double>& weights, double count, const Window& window) {
    const auto transform = [&](double a) { return LongUpper::claim(log_transform(weights, window.step, a)) * LongExact{count}; };
    right += transform(window.right_tilt);
    left += transform(-window.left_tilt);
    total += transform(0);
    length += static_cast<long double>(count) * static_cast<long double>(weights.size() - 1);
  }
  /// Of the losses of all entries: each term is rounded three times, their sum, and the places in the window.
  [[nodiscard]] long double loss_error(const Window& window) const { return LongBall::within(reach(window), 16).radius(); }
  /// Of log_scale - s loss, both as they are computed.
  [[nodiscard]] LongUpper exponent_error(const Window& window, double s) const {
    return LongUpper{LongExact{LongBall::within(scales + static_cast<long double>(s) * reach(window), 20).radius()}};
  }

 private:
  [[nodiscard]] long double reach(const Window& window) const {
    return magnitude + static_cast<long double>(window.size) * static_cast<long double>(window.step) +
           std::abs(static_cast<long double>(window.least)) + std::abs(loss.value());
  }
};

/// Adds entries that lie a multiple of `size` apart; a share of 2 u of each sum per fold is inside the relative error of the curve.
void fold(std::vector<double>& weights, std::size_t size) {
  for (std::size_t i = size; i < weights.size(); ++i) weights[i % size] += weights[i];
  weights.resize(size, 0.0);
}

/// The entries of a circular product as those of the window, and bounds on what lies outside it.
struct Placed {
  std::vector<double> entries;
  long double start;  // loss of entry 0
  long double end;    // of the first one beyond the window
  LongUpper right;    // tilted mass beyond the ends
  LongUpper left;
  LongUpper faded;  // what the images from the left count for
};

Placed place(const Side& side, std::vector<double> entries, const Window& window) {
  const long double step = window.step;
  const long double span = static_cast<long double>(window.size) * step;
  // The window starts at a whole number of steps above the first entry, never below it.
  const long double first = side.loss.value();
  const long double length = static_cast<long double>(window.largest) - static_cast<long double>(window.least);
  const long double target = static_cast<long double>(window.least) + std::min(0.0L, (length - span) / 2);
  const long double skipped = std::max(0.0L, std::min(std::floor((target - first) / step), std::max(0.0L, side.length + 1 - span / step)));
  const auto rotation = size_of(std::fmod(skipped, static_cast<long double>(window.size)));
  std::rotate(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(rotation), entries.end());
  // Chernoff: the tilted mass at or beyond x is at most e^(right - a (x - loss)).
  const long double ends = skipped + static_cast<long double>(window.size);
  const bool cut_right = side.length >= ends;
  const bool cut_left = skipped > 0;
  const LongUpper log_right = side.right - LongLower{LongExact{window.right_tilt}} * LongExact{ends} * LongExact{step};
  const LongUpper log_left = side.left + LongUpper{LongExact{window.left_tilt}} * LongExact{skipped - 1} * LongExact{step};
  const LongUpper log_faded = -(LongLower{LongExact{window.s}} * LongExact{span});
  constexpr LongUpper nothing{0};
  return {.entries = std::move(entries),
          .start = first + skipped * step,
          .end = first + ends * step,
          .right = cut_right ? exp(log_right) : nothing,
          .left = cut_left ? exp(log_left) : nothing,
          .faded = cut_left ? exp(log_faded) : nothing};
}

/// Bounds on the mass at infinite loss, from the logarithms of what stays finite.
struct Infinite {
  long double less;
  long double more;
};
class Finite {
 public:
  /// `count` releases, each of which has at most this mass at infinite loss, or at least.
  void lose_at_most(LongUpper mass, double count) {
    if (mass.value() > 0) least_ += LongExact{count} * log1p(-min(mass, LongUpper{1}));
  }
  void lose_at_least(LongLower mass, double count) {
    if (mass.value() > 0) most_ += LongExact{count} * log1p(-mass);
  }
  [[nodiscard]] Infinite infinite() const {
    return {most_.value() < 0 ? max(-expm1(most_), LongLower{0}).value() : 0, least_.value() < 0 ? (-expm1(least_)).value() : 0};
  }

 private:
  LongLower least_{0};
  LongUpper most_{0};
};

ComposedCurve curve_of(const Side& side, std::vector<double> entries, bool is_upper, const Window& window, double entry_error,
                       const Infinite& infinite, bool keeps_entries = false) {
  auto placed = place(side, std::move(entries), window);
  ComposedCurve out;
  out.grid = {window.step, window.s};
  out.entry_error = entry_error;
  out.log_scale = side.log_scale.value();
  out.log_total = side.total.value();
  out.start = placed.start;
  const LongUpper exponent_error = side.exponent_error(window, window.s);
  out.scale_error = shortened(expm1(exponent_error)).value();
  constexpr LongUpper most_mass{LongExact{1e300L}};
  out.wrapped_right = placed.right.value() > 0 ? shortened(min(placed.right, most_mass)).value() : 0;
  out.wrapped_left = placed.left.value() > 0 ? shortened(min(placed.left, most_mass)).value() : 0;
  out.faded = placed.faded.value();
  if (is_upper && placed.right.value() > 0) {
    const LongLower fall = LongLower{LongExact{placed.end}} * LongExact{window.s};
    out.beyond = (placed.right * exp(LongUpper{LongExact{out.log_scale}} + exponent_error - fall)).value();
  }
  out.infinite_less = infinite.less;
  out.infinite_more = infinite.more;
  if (keeps_entries) out.kept = placed.entries;
  out.accumulate(std::move(placed.entries));
  return out;
}

/// P-mass to be counted as infinite loss; all, where no cell holds any.
LongUpper infinite_above(const laws::ReleaseLaws& part, const LossCells& law) {
  return LongUpper{LongExact{part.upper.infinite_mass}} + LongExact{law.cells.empty() ? 1 : law.cut_above};
}
LongLower infinite_below(const laws::ReleaseLaws& part) { return LongExact{part.lower->infinite_mass}; }

constexpr std::size_t many = 16;

/// Different laws, one after the other, each equally often: they are convolved by definition as long as that is faster than a transform.
class ManyLaws {
 public:
  explicit ManyLaws(const Window& window) : window_{window}, upper_{window.size}, tests_{window.size} {}

  void take(const TiltedLaw& spread, const CountedLaw& counted, std::uint64_t count) {
    const auto times = static_cast<double>(count);
    up_.take_place(spread, times, window_);
    hit_.take_place(counted.hits, times, window_);
    miss_.take_place(counted.misses, times, window_);
    const double products = static_cast<double>(waiting_.up.size()) * static_cast<double>(spread.weights.size());
    if (count_ != count || products > products_per_point * static_cast<double>(window_.size)) {
      flush();
      count_ = count;
      waiting_ = {spread.weights, counted.hits.weights, counted.misses.weights};
      return;
    }
    waiting_ = {convolved(waiting_.up, spread.weights, +1), convolved(waiting_.hit, counted.hits.weights, -1),
                convolved(waiting_.miss, counted.misses.weights, +1)};
  }

  /// \param has_lower whether the counted laws bound all from below
  [[nodiscard]] ComposedPair composed(const Infinite& infinite, bool has_lower) && {
    flush();
    auto above = std::move(upper_).result();
    ComposedPair pair{curve_of(up_, std::move(above.first), true, window_, above.error + underflow, infinite), ComposedCurve{},
                      up_.loss_error(window_)};
    IndexSums sums;
    sums.infinite = infinite.less;
    if (has_lower) {
      auto below = std::move(tests_).result();
      auto hits = place(hit_, std::move(below.first), window_);
      sums.hits = std::move(hits.entries);
      // The same indices: the window begins at the same one.
      sums.misses = place(miss_, std::move(below.second), window_).entries;
      sums.start = hits.start;
      sums.log_hits = hit_.log_scale.value();
      sums.log_misses = miss_.log_scale.value();
      sums.step = window_.step;
      sums.s = window_.s;
      sums.entry_error = below.error + underflow;
      sums.outside_right = hits.right.value();
      sums.outside_left = hits.left.value();
      sums.faded = hits.faded.value();
      sums.doubt = (hit_.exponent_error(window_, window_.s) + miss_.exponent_error(window_, window_.s + 1)).value();
    }
    pair.tests.emplace(std::move(sums));
    return pair;
  }

 private:
  struct Sequences {
    std::vector<double> up;
    std::vector<double> hit;
    std::vector<double> miss;
  };
  /// What a transform and its product cost, in products of numbers for each point.
  static constexpr double products_per_point = 40;

  void flush() {
    if (count_ == 0) return;
    const auto times = static_cast<double>(count_);
    up_.take_weights(waiting_.up, times, window_);
    hit_.take_weights(waiting_.hit, times, window_);
    miss_.take_weights(waiting_.miss, times, window_);
    upper_.multiply({std::move(waiting_.up), {}}, count_);
    tests_.multiply({std::move(waiting_.hit), std::move(waiting_.miss)}, count_);
    count_ = 0;
  }

  Window window_;
  CircularProduct upper_;
  CircularProduct tests_;
  Side up_;
  Side hit_;
  Side miss_;
  Sequences waiting_;
  std::uint64_t count_ = 0;  // of what waits
};

}  // namespace

void ComposedCurve::accumulate(std::vector<double> entries) {
  const double keep_plain = std::exp(-(grid.s + 1) * grid.step);
  const double keep = std::exp(-grid.s * grid.step);
  const double gain = -std::expm1(-grid.step);
  plain = std::move(entries);
  weighted.resize(plain.size());
  double b = 0;
  double d = 0;
  PollNowAndThen poll;
  for (std::size_t j = plain.size(); j-- > 0;) {
    poll();
    d = keep * (d + gain * b);
    b = std::max(plain[j], 0.0) + keep_plain * b;
    weighted[j] = d;
    plain[j] = b;
  }
  const double n = static_cast<double>(plain.size());
  // Each step multiplies by an exponential, 2.5 units and as many as its argument, which is rounded twice; one product and one sum besides.
  relative = share_of_units((n + 16) * (4 + (grid.s + 1) * grid.step)) + scale_error;
  const Lower fall = Lower{Exact{grid.s}} * Exact{grid.step};
  const Lower fall_plain = (Lower{Exact{grid.s}} + 1) * Exact{grid.step};
  const Upper every = Exact{n};
  const Upper sum_plain = min(every, 1 / -expm1(-fall_plain));
  const Upper gained = exp(-fall) * -expm1(Lower{Exact{-grid.step}}) * sum_plain;
  sum_plain_ = sum_plain.value();
  sum_weighted_ = min(every, gained / -expm1(-fall)).value();
  const Ball s = Exact{grid.s};
  alias_ = grid.s > 0 ? exp(s * log(s) - (s + 1) * log1p(s) + s * Exact{grid.step}).upper().value() : 1;
}

ComposedPair compose(const laws::Parts& parts, const Window& window, const Cut& cut, bool keeps_entries) {
  const TiltedGrid grid{window.step, window.s};
  const bool one = parts.size() == 1;
  CircularProduct product{one ? 4 : window.size};
  CircularProduct::Result alone{};
  Side up;
  Side down;
  bool has_lower = true;
  Finite finite;
  for (const auto& part : parts) {
    const double count = static_cast<double>(part.count);
    auto law = cells(part.upper, window.step, cut);
    const double shift = log_of_largest(law, grid);
    SequencePair factor;
    {
      auto tilted = spread(law, grid, shift);
      up.take(tilted, count, window);
      factor.first = std::move(tilted.weights);
    }
    finite.lose_at_most(infinite_above(part, law), count);
    if (part.lower) {
      const auto other = part.same ? LossCells{} : cells(*part.lower, window.step, cut);
      auto tilted = merge(part.same ? law : other, grid, shift);
      if (tilted.weights.empty()) {
        has_lower = false;
        factor.second.assign(1, 0.0);
      } else {
        down.take(tilted, count, window);
        factor.second = std::move(tilted.weights);
      }
      finite.lose_at_least(infinite_below(part), count);
    } else {
      has_lower = false;
      factor.second.assign(1, 0.0);
    }
    if (one && part.count == 1) {
      // One release needs no transform, and has none of its rounding: only the folding of the indices.
      alone = {std::move(factor.first), std::move(factor.second), 0};
      for (auto* weights : {&alone.first, &alone.second}) fold(*weights, window.size);
    } else if (one) {
      law = {};
      alone = CircularProduct::power(std::move(factor), part.count, window.size);
    } else {
      product.multiply(factor, part.count);
    }
  }
  auto result = one ? std::move(alone) : std::move(product).result();
  const Infinite infinite = finite.infinite();
  const double entry_error = result.error + underflow;
  ComposedPair pair{curve_of(up, std::move(result.first), true, window, entry_error, infinite),
                    curve_of(down, std::move(result.second), false, window, entry_error, infinite, keeps_entries),
                    std::max(up.loss_error(window), down.loss_error(window))};
  if (!has_lower) {
    std::fill(pair.lower.plain.begin(), pair.lower.plain.end(), 0.0);
    std::fill(pair.lower.weighted.begin(), pair.lower.weighted.end(), 0.0);
    pair.lower.kept.clear();
  }
  return pair;
}

bool are_many(const laws::Parts& parts) {
  return parts.size() >= many && std::any_of(parts.begin(), parts.end(), [](const laws::ReleaseLaws& part) {
           return !std::holds_alternative<GaussianBase>(part.upper.base);
         });
}

ComposedPair compose_many(const laws::Parts& parts, const Window& window, const Cut& cut) {
  const TiltedGrid grid{window.step, window.s};
  std::vector<const laws::ReleaseLaws*> order;
  for (const auto& part : parts) order.push_back(&part);
  std::stable_sort(order.begin(), order.end(), [](const laws::ReleaseLaws* x, const laws::ReleaseLaws* y) { return x->count < y->count; });
  const bool has_lower = std::all_of(parts.begin(), parts.end(), [](const laws::ReleaseLaws& part) { return part.lower.has_value(); });
  ManyLaws laws{window};
  Finite finite;
  for (const auto* part : order) {
    const auto count = static_cast<double>(part->count);
    const auto law = cells(part->upper, window.step, cut);
    finite.lose_at_most(infinite_above(*part, law), count);
    const auto other = !has_lower || part->same ? LossCells{} : cells(*part->lower, window.step, cut);
    const auto& below = !has_lower || part->same ? law : other;
    if (has_lower) finite.lose_at_least(infinite_below(*part), count);
    laws.take(spread(law, grid, log_of_largest(law, grid)), counted(below, grid, log_of_largest(below, grid)), part->count);
  }
  return std::move(laws).composed(finite.infinite(), has_lower);
}

Enclosure epsilon_of(const ComposedPair& pair, double target) {
  const long double delta = target;
  const double step = pair.upper.grid.step;
  double upper = infinity;
  {
    const auto& curve = pair.upper;
    const std::size_t j = first_where(curve.size(), [&](std::size_t i) { return curve.upper(i, 0) <= delta; });
    if (j < curve.size()) {
      double good = 0;  // below entry j by this much
      double bad = step;
      for (int i = 0; j > 0 && i < 50; ++i) {
        const double mid = 0.5 * (good + bad);
        (curve.upper(j, mid) <= delta ? good : bad) = mid;
      }
      upper = std::max(0.0, round_up(curve.loss(j) - static_cast<long double>(good) + pair.loss_error));
    }
    const long double simple = curve.chernoff_epsilon(delta);
    if (simple > 0) upper = std::min(upper, round_up(simple + pair.loss_error));
  }
  double lower = 0;
  if (pair.lower.infinite_less > delta) {
    lower = infinity;  // whatever epsilon is, delta(epsilon) is at least the mass at infinite loss
  } else if (pair.tests) {
    const long double proved = pair.tests->epsilon(target);
    lower = std::isinf(proved) ? infinity : std::max(0.0, round_down(proved));
  } else {
    const auto& curve = pair.lower;
    // Far to the left a steep tilt leaves rounding alone, so it is looked for from the upper end on: no entry further right is above delta.
    const auto above = [&](std::size_t i) { return curve.lower(i, 0) > delta; };
    std::size_t j = first_where(curve.size(), [&](std::size_t i) { return curve.loss(i) > static_cast<long double>(upper); });
    for (std::size_t distance = 1;; distance *= 2) {
      const std::size_t from = j - std::min(j, distance);
      if (from < j && !above(from) && from > 0) continue;
      j = from + first_where(j - from, [&](std::size_t i) { return !above(from + i); });
      break;
    }
    if (j > 0) {
      long double found = curve.loss(j - 1);
      if (j < curve.size()) {
        double good = step;
        double bad = 0;
        for (int i = 0; i < 50; ++i) {
          const double mid = 0.5 * (good + bad);
          (curve.lower(j, mid) > delta ? good : bad) = mid;
        }
        if (good < step) found = curve.loss(j) - static_cast<long double>(good);
      }
      lower = std::max(0.0, round_down(found - pair.loss_error));
    }
  }
  return {std::min(lower, upper), upper};
}

Enclosure delta_of(const ComposedPair& pair, double epsilon) {
  // The first entry with a loss above, and how far epsilon lies below it.
  const auto bound = [&](const ComposedCurve& curve, long double at, bool up) -> long double {
    const std::size_t j = first_where(curve.size(), [&](std::size_t i) { return curve.loss(i) > at; });
    if (up && (j == curve.size() || j == 0)) return std::min(1.0L, curve.chernoff(at));
    if (j == curve.size()) return curve.infinite_less;
    const LongExact loss{curve.loss(j)};
    const double least_below = shortened(LongLower{loss} - LongExact{at}).value();
    if (j == 0 && least_below > curve.grid.step) return curve.lower(0, 0);
    return up ? curve.upper(j, std::min(shortened(LongUpper{loss} - LongExact{at}).value(), curve.grid.step))
              : curve.lower(j, std::max(0.0, least_below));
  };
  const long double at = epsilon;
  const double upper = std::min(1.0, round_up(bound(pair.upper, at - pair.loss_error, true)));
  const double lower = std::max(0.0, round_down(pair.tests ? pair.tests->delta(epsilon) : bound(pair.lower, at + pair.loss_error, false)));
  return {std::min(lower, upper), upper};
}

}  // namespace surety::accounting::pld
