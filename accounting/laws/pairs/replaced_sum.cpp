#include <surety/accounting/laws/pairs/replaced_sum.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <surety/accounting/laws/pairs/pieces.h>
#include <surety/accounting/laws/pairs/tilted_law.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/convolution.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

using privacy_loss::GaussianShape;
using privacy_loss::root_half;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Of a standard normal, the mass above t.
Ball normal_tail(Ball t) { return erfc(t * root_half) * Exact{0.5}; }

/// An interval of g: its mass, and E[A; g there] and E[B; g there].
struct Mass {
  Ball q;
  Ball a;
  Ball b;
};

class Curve {
 public:
  Curve(std::uint64_t rounds, double multiplier, double x, double scale, std::size_t size)
      : rounds_{rounds}, shape_{{multiplier}}, mu_{1 / multiplier}, x_{x}, ratio_{std::exp(x)}, size_{size} {
    e_to_x_ = exp(Ball{Exact{x}});
    choose_grid(scale);
  }

  /// \param upper_only the lower end is 0.
  [[nodiscard]] Enclosure bounds(bool upper_only) const {
    if (!(step_ > 0 && std::isfinite(step_))) return {0, 1};
    const auto count = static_cast<std::size_t>(last_ - first_);
    // Cell j is of the values from point first + j to the next one, but for rounding.
    std::vector<Mass> cells(count, {Exact{0}, Exact{0}, Exact{0}});
    std::vector<double> ends(count + 1);
    for (std::size_t j = 0; j <= count; ++j) ends[j] = place(value(j));
    for (std::size_t j = 0; j < count; ++j) ends[j + 1] = std::max(ends[j], ends[j + 1]);
    PollNowAndThen poll;
    for (std::size_t j = 0; j < count; ++j) {
      poll();
      if (ends[j] < ends[j + 1]) cells[j] = mass(ends[j], ends[j + 1]);
    }
    // Spread over the two points around it, a value keeps its mean: from above. Its rounding down: a test, from below.
    SequencePair masses{std::vector<double>(count + 1, 0.0), std::vector<double>(count + 1, 0.0)};
    double error = 0;
    for (std::size_t j = 0; j < count; ++j) {
      const Mass& cell = cells[j];
      const double q = cell.q.value();
      if (!(q > 0)) continue;
      error = std::max(error, q > 1e-200 ? cell.q.share() : 0);
      const double risen = share_above(cell, j);
      masses.first[j] += q * (1 - risen);
      masses.first[j + 1] += q * risen;
      masses.second[j] = q;
    }
    // All that is below the grid is raised to its first point.
    const Ball below = normal_tail(-Ball{Exact{ends.front()}});
    masses.first[0] += below.value();
    if (below.value() > 1e-200) error = std::max(error, below.share());
    const std::uint64_t others = rounds_ - 1;
    // What lies above the window, of the law from above and so of what is tested.
    const Upper high = outside(masses.first, 0, +1, error);
    Sums above(size_);
    Sums tests(size_);
    // Two sequences are transformed as one: of both ends those of one tilt, of the upper end alone those of two tilts.
    struct Sequence {
      const std::vector<double>& masses;
      double tilt;
      Sums& sums;
    };
    const auto take_both = [&](const Sequence& a, const Sequence& b) {
      const auto one = tilted(a.masses, a.tilt, error);
      const auto other = tilted(b.masses, b.tilt, error);
      const auto found = CircularProduct::power({one.weights, other.weights}, others, size_);
      const auto take = [&](const Sequence& of, const Tilted& law, const std::vector<double>& entries) {
        of.sums.take(entries, found.error, (outside(law.weights, of.tilt, +1, 0) + outside(law.weights, of.tilt, -1, 0)).value(), law,
                     of.tilt, *this);
      };
      take(a, one, found.first);
      take(b, other, found.second);
    };
    const std::array tilts{0.0, 0.5 * tilt_, tilt_, 1.5 * tilt_};
    if (upper_only) {
      take_both({masses.first, tilts[0], above}, {masses.first, tilts[1], above});
      take_both({masses.first, tilts[2], above}, {masses.first, tilts[3], above});
    } else {
      for (const double tilt : tilts) take_both({masses.first, tilt, above}, {masses.second, tilt, tests});
    }

    const Ball far = normal_tail(Ball{Exact{ends.back()}});
    const Upper beyond = high + Exact{static_cast<double>(others)} * far.upper();
    // E[X_1; sum > 0] of the law from above. The others' sum exceeds -x_j: points above that.
    long double upper = mean_beyond(ends.back());
    long double size_of_upper = upper;
    for (std::size_t j = 0; j <= count; ++j) {
      const double at = value(j);
      const auto index = from_start(-(first_ + static_cast<std::int64_t>(j)) + 1);
      const double probability = at > 0 ? std::min(1.0, (Upper::claim(above.most[index]) + beyond).value()) : above.least[index];
      const long double here =
          static_cast<long double>(at) * static_cast<long double>(masses.first[j]) * static_cast<long double>(probability);
      upper += here;
      size_of_upper += std::abs(here);
    }
    upper += size_of_upper * static_cast<long double>(error + share_of_units(16.0));
    const auto most = static_cast<double>(upper);
    const double ended = most >= 0 ? std::min(1.0, most) : 1.0;
    if (upper_only) return {0, ended};
    // E[X_1; test] for the test that all are on the grid and their sum, rounded down, is above minus half a step a round.
    long double lower = 0;
    long double size_of_lower = 0;
    const auto threshold = -static_cast<std::int64_t>(rounds_ / 2);
    for (std::size_t j = 0; j < count; ++j) {
      const double kept = (cells[j].a - cells[j].b * e_to_x_).lower().value();
      const auto index = from_start(threshold - (first_ + static_cast<std::int64_t>(j)) + 1);
      const double probability = kept > 0 ? tests.least[index] : std::min(1.0, (Upper::claim(tests.most[index]) + high).value());
      const long double here = static_cast<long double>(kept) * static_cast<long double>(probability);
      lower += here;
      size_of_lower += std::abs(here);
    }
    lower -= size_of_lower * static_cast<long double>(share_of_units(16.0));
    return {std::max(0.0, static_cast<double>(lower)), ended};
  }

 private:
  [[nodiscard]] double value(std::size_t j) const { return static_cast<double>(first_ + static_cast<std::int64_t>(j)) * step_; }

  /// g where A - e^x B is a little less than v: e^(mu g) solves a quadratic.
  [[nodiscard]] double place(double v) const {
    const double log_scale = 0.5 * mu_ * mu_;
    const double scaled = v * std::exp(log_scale);
    const double root = std::sqrt(scaled * scaled + 4 * ratio_);
    const double y = v > 0 ? 0.5 * (scaled + root) : 2 * ratio_ / (root - scaled);
    const double g = std::log(y) / mu_;
    // The exponent of y is within so many units of its terms, so g within that over mu.
    return g - share_of_units(16.0) * (1 + x_ + std::abs(std::log(y)) + log_scale) / mu_;
  }

  [[nodiscard]] Mass mass(double from, double to) const {
    const auto p = shape_.piece(from, to);
    const auto mirrored = shape_.piece(-to, -from);
    privacy_loss::require_digits(p);
    privacy_loss::require_digits(mirrored);
    const auto q = Ball::of_share(p.mass, p.mass_error) * exp(Ball{Exact{p.log_scale}});
    const auto of = [](const auto& piece) {
      return Ball::of_share(piece.mass, piece.mass_error) * Ball::of_share(piece.ratio, piece.ratio_error) *
             exp(Ball{Exact{piece.log_scale}} + Exact{piece.loss});
    };
    return {q, of(p), of(mirrored)};
  }

  /// The share of a cell's mass that goes to its upper point, at least what keeps the mean of what is in it and of what is raised into it: its lower end is
  /// a little below its point.
  [[nodiscard]] double share_above(const Mass& cell, std::size_t j) const {
    const double at = value(j);
    const Ball mean = (cell.a - cell.b * e_to_x_) / cell.q;
    // By how much place() may have lowered the end: its exponent by twice what it is lowered, times A + e^x B, which is the root.
    const double size = std::abs(at) + 2 * std::sqrt(ratio_) + step_;
    const double raised = size * share_of_units(64.0) * (2 + 2 * x_ + std::abs(std::log(size)) + 2 * mu_ * mu_);
    const double share = ((mean - Ball::within(at, 1)).upper() + Exact{raised}).value() / step_;
    return share < 1 ? std::max(0.0, share * (1 + share_of_units(4.0))) : 1.0;
  }

  /// E[A; g above].
  [[nodiscard]] long double mean_beyond(double end) const {
    const Ball mu = Ball{1} / Exact{shape_.multiplier};
    return static_cast<long double>(normal_tail(Exact{end} - mu).upper().value());
  }

  /// Masses times e^(tilt value - shift), and the share by which they err together in the others' sum.
  struct Tilted {
    std::vector<double> weights;
    double shift;
    double share;
  };
  [[nodiscard]] Tilted tilted(const std::vector<double>& masses, double tilt, double error) const {
    double top = 0;
    double sum = 0;
    for (std::size_t j = 0; j < masses.size(); ++j) top = std::max(top, tilt * value(j));
    for (std::size_t j = 0; j < masses.size(); ++j) sum += masses[j] * std::exp(tilt * value(j) - top);
    Tilted found{masses, top + std::log(sum), 0};
    if (tilt == 0) found.shift = 0;
    const double largest = tilt * std::max(std::abs(value(0)), std::abs(value(masses.size()))) + std::abs(found.shift);
    if (tilt > 0) {
      for (std::size_t j = 0; j < masses.size(); ++j) found.weights[j] = masses[j] * std::exp(tilt * value(j) - found.shift);
    }
    found.share = error + share_of_units(LibraryError<double>::exp + 8 + 4 * largest);
    return found;
  }

  /// At most the mass of the others' sum above the window, or below it, times e^(tilt sum - shifts) where `weights` are so tilted.
  [[nodiscard]] Upper outside(const std::vector<double>& weights, double tilt, int side, double error) const {
    Upper best{Exact{infinity}};
    const auto n = static_cast<double>(rounds_ - 1);
    const double end = static_cast<double>(side > 0 ? start_ + static_cast<std::int64_t>(size_) : start_) * step_;
    for (const double a : side > 0 ? right_ : left_) {
      // In all as far as without a tilt.
      const double more = std::clamp(side > 0 ? a - tilt : a + tilt, 0.0, 8 / step_) * side;
      const double terms[] = {n * log_transform(weights, step_, more), n * more * static_cast<double>(first_) * step_, -more * end,
                              n * error * 2};
      double sum = 0;
      double size = 0;
      for (const double term : terms) {
        sum += term;
        size += std::abs(term);
      }
      best = min(best, exp(Upper::claim(sum + share_of_units(16.0) * size)));
    }
    return best;
  }

  /// The mass of the others' sum from each point of the window to its end, from below and from above.
  struct Sums {
    std::vector<double> least;
    std::vector<double> most;

    explicit Sums(std::size_t size) : least(size + 1, 0.0), most(size + 1, infinity) { most[size] = 0; }

    /// From the entries of a circular product, each within `error`. What lies outside the window has come in, in all at most `alias`: from above it
    /// only adds. Of tilts the sharper is kept.
    void take(const std::vector<double>& entries, double error, double alias, const Tilted& law, double tilt, const Curve& curve) {
      const auto size = static_cast<std::int64_t>(curve.size_);
      const auto others = static_cast<std::int64_t>(curve.rounds_ - 1);
      const double share = static_cast<double>(others) * law.share;
      if (!(share < 1e-3)) return;
      const long double shift = static_cast<long double>(others) * static_cast<long double>(law.shift);
      // A sum, what its terms are off by, and their moduli: in extended precision so many terms add no more than 2^-20 units of double of those.
      long double sum = 0;
      long double off = 0;
      long double moduli = 0;
      // From one exponential to the next the factor is multiplied, in extended precision: so many steps are less than a unit of double.
      constexpr std::int64_t restart = 64;
      const long double rise = std::exp(static_cast<long double>(tilt) * static_cast<long double>(curve.step_));
      long double factor = 1;
      PollNowAndThen poll;
      for (std::int64_t i = size; i-- > 0;) {
        poll();
        const std::int64_t index = curve.start_ + i;
        const std::int64_t residue = ((index - others * curve.first_) % size + size) % size;
        const auto entry = static_cast<long double>(entries[static_cast<std::size_t>(residue)]);
        const long double exponent =
            tilt == 0 ? 0
                      : shift - static_cast<long double>(tilt) * static_cast<long double>(index) * static_cast<long double>(curve.step_);
        // Further left all factors are larger.
        if (!(exponent < 600)) return;
        if (tilt > 0) factor = (i + 1) % restart == 0 ? std::exp(exponent) : factor * rise;
        sum += entry * factor;
        off += static_cast<long double>(error + underflow) * factor;
        moduli += std::abs(entry) * factor;
        const double grown = share * (1 + share) + share_of_units(9 + static_cast<double>(std::abs(shift) + std::abs(exponent)));
        const auto at = static_cast<std::size_t>(i);
        const long double rounding =
            (off + moduli) * static_cast<long double>(share_of_units(2.0) * (1 + static_cast<double>(size) * 0x1p-10));
        const auto low = static_cast<double>((sum - off - static_cast<long double>(alias) * factor - rounding));
        const auto high = static_cast<double>(sum + off + rounding);
        least[at] = std::max(least[at], low * (1 - grown));
        most[at] = std::min(most[at], std::max(high, 0.0) * (1 + grown) + underflow);
      }
    }
  };
  /// The place of an index of the others' sum in the window.
  [[nodiscard]] std::size_t from_start(std::int64_t index) const {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(index - start_, 0, static_cast<std::int64_t>(size_)));
  }

  /// Points of g, with their weights, and a = e^(mu g - mu^2 / 2) there; b of point i is that of point n - 1 - i.
  struct Points {
    std::vector<double> weight;
    std::vector<double> a;
  };

  /// Where Chernoff's bound of the sum of clipped terms, to the right (`side` +1) or left of 0, falls to what is little, e^quiet, and the tilts around the one
  /// that says so.
  [[nodiscard]] double reach(int side, double end, double quiet, const Points& at, std::vector<double>& tilts) const {
    const auto t = static_cast<double>(rounds_);
    const std::size_t n = at.a.size();
    double best = infinity;
    double tilt = 1 / end;
    for (double s = 1e-3 / end; s < 100 / end; s *= 1.3) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double term = std::clamp(at.a[i] - ratio_ * at.a[n - 1 - i], -end, end);
        if (side > 0 && term >= end) continue;
        sum += at.weight[i] * std::expm1(side * s * term);
      }
      // What is above counts e^x times, from below.
      const double found = (t * std::log1p(sum) - quiet + (side > 0 ? x_ : 0)) / s;
      if (found < best) {
        best = found;
        tilt = s;
      }
    }
    tilts = {0.7 * tilt, tilt, 1.4 * tilt};
    return best;
  }

  /// Tilts so that the sum of the tilted terms is around 0.
  void choose_tilt(double end, const Points& at) {
    const auto t = static_cast<double>(rounds_);
    const std::size_t n = at.a.size();
    double least = 0;
    for (double tilt = 1e-4 / end; tilt < 100 / end; tilt *= 1.15) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double term = at.a[i] - ratio_ * at.a[n - 1 - i];
        if (term < end) sum += at.weight[i] * std::expm1(tilt * std::max(term, -end));
      }
      if (t * std::log1p(sum) < least) {
        least = t * std::log1p(sum);
        tilt_ = tilt;
      }
    }
  }

  /// Where the grid ends, and the window of the sum, roughly: whatever is chosen is counted.
  void choose_grid(double scale) {
    const auto t = static_cast<double>(rounds_);
    const double quiet = std::log(scale) - 9;  // a mass that is little beside the curve
    Points at;
    constexpr double spacing = 0.02;
    for (double g = -12 - mu_; g <= 12 + mu_; g += spacing) {
      at.weight.push_back(spacing * inverse_root_of_two_pi * std::exp(-0.5 * g * g));
      at.a.push_back(std::exp(mu_ * g - 0.5 * mu_ * mu_));
    }
    const std::size_t n = at.a.size();
    double end = std::exp(mu_ * privacy_loss::tail_point(quiet - std::log(t)) - 0.5 * mu_ * mu_);
    // A term that is left out of one sum should outweigh all others.
    const auto others_below = [&](double cut) {
      double mean = 0;
      double square = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double b = std::min(ratio_ * at.a[n - 1 - i], cut);
        mean += at.weight[i] * b;
        square += at.weight[i] * b * b;
      }
      return t * mean + 4 * std::sqrt(t * square);
    };
    for (int i = 0; i < 200 && end < others_below(end); ++i) end *= 1.25;
    choose_tilt(end, at);
    const double right = std::max(2 * end, reach(+1, end, quiet, at, right_));
    const double left = std::max(end, reach(-1, end, quiet, at, left_));
    // Rounding down lowers the sum by half a step a round.
    const double room = 0.5 * t + 8;
    if (!(8 * room < static_cast<double>(size_))) return;
    step_ = (right + left) / (static_cast<double>(size_) - 2 * room);
    last_ = checked_cast<std::int64_t>(std::ceil(end / step_));
    first_ = -last_;
    start_ = -checked_cast<std::int64_t>(std::ceil(left / step_ + room));
  }

  std::uint64_t rounds_;
  GaussianShape shape_;
  double mu_;
  double x_;
  double ratio_;
  Ball e_to_x_{0};  // e^x
  std::size_t size_;
  double step_ = 0;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::int64_t start_ = 0;  // of the window
  std::vector<double> right_;
  std::vector<double> left_;
  double tilt_ = 0;
};

Enclosure curve_of(std::uint64_t rounds, double multiplier, double x, double scale, std::size_t size, bool upper_only) {
  const StandardFloatingPoint environment;
  const double most = one_replaced_round(multiplier, x);
  // Beyond these one round alone answers: the grid has no room, or transforms have no digits.
  constexpr double most_rounds = 0x1p24;
  constexpr double least_scale = 1e-60;
  if (static_cast<double>(rounds) > most_rounds || !(1 / multiplier < 16 && x < 300 && scale > least_scale)) return {0, most};
  try {
    const Enclosure found = Curve{rounds, multiplier, x, scale, size}.bounds(upper_only);
    return {std::min(found.lower, most), std::min(found.upper, most)};
  } catch (const Error& error) {
    // Masses without digits.
    if (error.code() != ErrorCode::unsupported) throw;
    return {0, most};
  }
}

}  // namespace

double one_replaced_round(double multiplier, double x) {
  const StandardFloatingPoint environment;
  // Means 2 mu apart.
  const Ball mu = Ball{2} / Exact{multiplier};
  const Ball at = Ball{Exact{x}} / mu;
  const Ball first = normal_tail(at - mu * Exact{0.5});
  const Ball second = normal_tail(at + mu * Exact{0.5}) * exp(Ball{Exact{x}});
  const double simple = first.upper().value();
  const double sharp = (first - second).upper().value();
  const double best = sharp >= 0 ? std::min(simple, sharp) : simple;
  return best >= 0 ? std::min(1.0, best) : 1.0;
}

Enclosure replaced_curve(std::uint64_t rounds, double multiplier, double x, double scale, std::size_t size) {
  return curve_of(rounds, multiplier, x, scale, size, false);
}

double replaced_curve_above(std::uint64_t rounds, double multiplier, double x, double scale, std::size_t size) {
  return curve_of(rounds, multiplier, x, scale, size, true).upper;
}

}  // namespace surety::accounting
