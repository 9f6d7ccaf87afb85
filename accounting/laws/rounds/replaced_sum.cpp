#include <surety/accounting/laws/rounds/replaced_sum.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <surety/accounting/laws/losses/pieces.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/hypotenuse.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

using laws::GaussianShape;
using laws::root_half;

/// Of a standard normal, the mass above t.
Ball normal_tail(Ball t) { return erfc(t * root_half) * Exact{0.5}; }

/// Masses below this are not multiplied: their products would have few digits.
constexpr double least_mass = 1e-150;

/// Values, rising, and their masses; where a test is looked for, also those under the sum of the B_i.
struct Values {
  std::vector<double> at;
  std::vector<double> mass;
  std::vector<double> other;

  void add(double value, double its_mass) {
    at.push_back(value);
    mass.push_back(its_mass);
  }
  [[nodiscard]] std::size_t size() const { return at.size(); }
};

/// A sum of rounds, by a law of which means of convex functions that rise are at least as large (from above) or at most (from below).
struct Sum {
  Values law;
  double error = 0;   ///< share by which its masses may be too small, or too large
  double beyond = 0;  ///< what the mean above a level may have besides, from above
};

/// Values moved so that a rounded sum of two of them is not below their sum, or not above it.
std::vector<double> moved(const std::vector<double>& values, bool up) {
  std::vector<double> found(values);
  for (auto& value : found) value += (up ? share_of_units(2.0) : -share_of_units(2.0)) * std::abs(value);
  return found;
}

/// What falls between points of a grid, of each of which it takes what lies from there to the next one.
struct Cells {
  std::vector<double> mass;
  std::vector<double> excess;  ///< mean of what lies above the point, times the mass
  std::vector<double> other;   ///< and masses under the sum of the B_i
  double below = 0;            ///< mass below the first point
};

/// The sum of a value of each. Relative errors: one for each value of either, and some. \complexity O(product of their sizes)
template <bool with_other>
Cells sums_of(const Values& a, const Values& b, bool up, const std::vector<double>& points) {
  const bool are_same = &a == &b;
  const auto first = moved(a.at, up);
  const auto second = moved(b.at, up);
  Cells found{std::vector<double>(points.size(), 0.0), std::vector<double>(points.size(), 0.0), {}};
  if (with_other) found.other.resize(points.size(), 0.0);
  PollNowAndThen poll;
  for (std::size_t j = 0; j < a.size(); ++j) {
    poll();
    // Of two equal laws each pair of values once, at twice its mass.
    std::size_t k = are_same ? j : 0;
    const double twice = are_same ? 2 : 1;
    const auto share = [&](std::size_t i) { return are_same && i == j ? 0.5 : 1.0; };
    double below = 0;
    for (; k < b.size() && first[j] + second[k] < points.front(); ++k) below += share(k) * b.mass[k];
    found.below += twice * a.mass[j] * below;
    if (k == b.size()) continue;
    auto cell = static_cast<std::size_t>(std::upper_bound(points.begin(), points.end(), first[j] + second[k]) - points.begin()) - 1;
    while (k < b.size()) {
      const double from = points[cell];
      const double to = cell + 1 < points.size() ? points[cell + 1] : std::numeric_limits<double>::infinity();
      double sum = 0;
      double excess = 0;
      double other = 0;
      for (double value = first[j] + second[k]; value < to;) {
        const double mass = share(k) * b.mass[k];
        sum += mass;
        excess += mass * (value - from);
        if constexpr (with_other) other += share(k) * b.other[k];
        if (++k == b.size()) break;
        value = first[j] + second[k];
      }
      found.mass[cell] += twice * a.mass[j] * sum;
      found.excess[cell] += twice * a.mass[j] * excess;
      if constexpr (with_other) found.other[cell] += twice * (a.other[j] * sum + a.mass[j] * other);
      ++cell;
    }
  }
  return found;
}

/// Which bound is made: above, below, or below as a test.
enum class Bound { above, below, test };

class OneEnd {
 public:
  OneEnd(std::uint64_t rounds, double multiplier, double x, double scale, double step, Bound bound)
      : rounds_{rounds},
        shape_{GaussianBase{multiplier}},
        mu_{1 / multiplier},
        x_{x},
        half_{0.5 * x},
        step_{step},
        is_above_{bound == Bound::above},
        is_test_{bound == Bound::test} {
    constexpr double share_beyond = 1e-5;
    constexpr double most_beyond = 0.3;
    largest_coordinate_ = mu_ + laws::tail_point(std::log(std::min(share_beyond * scale, most_beyond)));
    top_ = std::exp(mu_ * largest_coordinate_ - 0.5 * mu_ * mu_ - half_);
    middle_ = 2 * std::exp(-0.5 * mu_ * mu_);
    // A sum takes half the square of them in products, and there are some for each power of two.
    constexpr double products = 1.5e6;
    most_points_ = size_of(std::sqrt(products / step / (std::log2(static_cast<double>(rounds)) + 1)));
  }

  /// \throws Error{unsupported} where a cell has no digits.
  [[nodiscard]] double value() {
    const auto [first, second] = last_two();
    const double mean = mean_above_zero(first.law, second.law);
    const double error = first.error + second.error + errors(first.law, second.law);
    const Exact rounds{static_cast<double>(rounds_)};
    if (is_above_) {
      const Upper scaled = Upper{Exact{mean}} * (Upper{1} + Exact{error}) + beyond(first, second);
      return (scaled * exp(Upper{Exact{half_}}) / rounds).value();
    }
    return std::max(0.0, (Lower{Exact{mean}} * (Lower{1} - Exact{error}) * exp(Lower{Exact{half_}}) / rounds).value());
  }

  /// Of the test that the sum is above 0. \pre it was made as a test.
  [[nodiscard]] laws::CurveTest test() {
    const auto [first, second] = last_two();
    const double mean = mean_above_zero(first.law, second.law);
    const double other = other_above_zero(first.law, second.law);
    const double error = first.error + second.error + errors(first.law, second.law);
    const Exact rounds{static_cast<double>(rounds_)};
    // Cells of next to no mass under B have no share of error: each may be off by twice what they are.
    const Upper unseen = Upper{Exact{least_mass}} * Exact{4 * static_cast<double>(most_points_)};
    const Upper most = Upper{Exact{other}} * (Upper{1} + Exact{error}) / rounds + unseen;
    // A line of that slope is too high left of x by what the slope is too steep, at most e^x times that.
    const Upper high = Upper{2} * Exact{error} * most + unseen;
    const Lower least = Lower{Exact{mean}} * (Lower{1} - Exact{error}) * exp(Lower{Exact{half_}}) / rounds;
    return {(least - high).value(), (most * exp(-Lower{Exact{x_}})).value()};
  }

 private:
  /// Of what sums_of and mean_above_zero return, of products and of sums of that many terms, with room for sums of such errors.
  static double errors(const Values& a, const Values& b) { return share_of_units(static_cast<double>(a.size() + b.size()) + 32); }

  /// The mean of the sum where it is above 0.
  [[nodiscard]] double mean_above_zero(const Values& a, const Values& b) const {
    const auto first = moved(a.at, is_above_);
    const auto second = moved(b.at, is_above_);
    double all = 0;
    PollNowAndThen poll;
    for (std::size_t j = 0; j < a.size(); ++j) {
      poll();
      double sum = 0;
      for (std::size_t k = b.size(); k-- > 0 && first[j] + second[k] > 0;) sum += b.mass[k] * (first[j] + second[k]);
      all += a.mass[j] * sum;
    }
    return all;
  }

  /// P'(sum above 0), times the rounds and e^x.
  [[nodiscard]] double other_above_zero(const Values& a, const Values& b) const {
    const auto first = moved(a.at, is_above_);
    const auto second = moved(b.at, is_above_);
    double all = 0;
    double mass = 0;
    double other = 0;
    // The further up the one, the further down the others that are enough.
    std::size_t k = b.size();
    for (std::size_t j = 0; j < a.size(); ++j) {
      for (; k > 0 && first[j] + second[k - 1] > 0; --k) {
        mass += b.mass[k - 1];
        other += b.other[k - 1];
      }
      all += a.other[j] * mass + a.mass[j] * other;
    }
    return all;
  }

  /// The two sums that make up all of it.
  [[nodiscard]] std::pair<Sum, Sum> last_two() {
    const Sum one = round();
    const std::uint64_t half = std::bit_floor(rounds_ - 1);
    const Sum first = half == 1 ? one : power_of_two(one, half);
    return {first, half == rounds_ - half ? first : rest(rounds_ - half, one)};
  }

  /// Points that are dense where the sum mostly is, and around 0: the distance to the next one is a share of that to either, or of what it mostly spreads.
  [[nodiscard]] std::vector<double> grid(double center, double spread) const {
    const double least = std::min(-2 * top_, center - reach * spread);
    const double largest = std::max(top_, center + reach * spread);
    double step = step_;
    for (;; step *= 1.5) {
      const auto length = [&](double v) { return step * std::min(hypotenuse(v - center, spread), hypotenuse(v, middle_)); };
      std::vector<double> points{least};
      while (points.back() < largest && points.size() <= most_points_) {
        const double v = points.back();
        points.push_back(v + length(v + 0.5 * length(v)));
      }
      if (points.size() <= most_points_) return points;
    }
  }

  /// e^(-x / 2) (A - e^x B) there.
  [[nodiscard]] Ball difference(double g) const {
    const Ball mu = Ball{1} / Exact{shape_.multiplier};
    const Ball move = mu * Exact{g};
    const Ball half = mu * mu * Exact{0.5};
    return exp(move - half - Exact{half_}) - exp(Exact{half_} - move - half);
  }
  /// g where that is v, nearly: e^(mu g) solves a quadratic.
  [[nodiscard]] double place(double v) const {
    const double scaled = v * std::exp(0.5 * mu_ * mu_);
    return (std::asinh(0.5 * scaled) + 0.5 * x_) / mu_;
  }

  /// What one round adds, e^(-x / 2) (A - e^x B), by its cells between coordinates.
  [[nodiscard]] Sum round() const {
    const double low = std::sinh(-0.5 * x_ - quarter * mu_);
    const double high = std::sinh(-0.5 * x_ + quarter * mu_);
    std::vector<double> ends;
    for (const double v : grid(middle_ * std::sinh(-0.5 * x_), middle_ * 0.5 * (high - low))) {
      if (const double g = place(v); ends.empty() || g > ends.back()) ends.push_back(g);
    }
    std::vector<Ball> values;
    for (const double g : ends) values.push_back(difference(g));
    const Ball right = normal_tail(Ball{Exact{ends.back()}});
    Sum found;
    if (!is_above_) {
      const auto take = [&](double value, const Ball& mass, const Ball& other) {
        found.law.add(value, mass.lower().value());
        if (is_test_) {
          found.law.other.push_back(other.value());
          found.error = std::max(found.error, other.value() > least_mass ? 2 * (other.share() + mass.share()) : 0);
        }
      };
      for (std::size_t j = 0; j + 1 < ends.size(); ++j) {
        const auto [mass, mean, other] = cell(ends[j], ends[j + 1]);
        if (mass.lower().value() > least_mass) take(std::max(mean.lower().value(), values[j].lower().value()), mass, other);
      }
      if (right.lower().value() > least_mass) {
        const Ball other = normal_tail(Exact{ends.back()} + Ball{1} / Exact{shape_.multiplier});
        take(values.back().lower().value(), right, other * exp(Ball{Exact{x_}}));
      }
      make_rising(found.law.at);
      return found;
    }
    std::vector<double> at;
    for (const Ball& v : values) at.push_back(at.empty() ? v.upper().value() : std::max(at.back(), v.upper().value()));
    std::vector<double> masses(at.size(), 0.0);
    masses.front() = normal_tail(-Ball{Exact{ends.front()}}).upper().value();
    for (std::size_t j = 0; j + 1 < at.size(); ++j) {
      const auto [mass, mean, other] = cell(ends[j], ends[j + 1]);
      const double most = mass.upper().value();
      double risen = 1;
      if (most > least_mass && at[j + 1] > at[j]) {
        // What the rounding of its ends puts below the first point is raised to it.
        const Upper raised = Upper{Exact{at[j]}} - values[j].lower();
        const Upper share = (mean.upper() + raised - Exact{at[j]}) / (Lower{Exact{at[j + 1]}} - Exact{at[j]});
        risen = std::clamp(share.value(), 0.0, 1.0);
      }
      masses[j] += most * (1 - risen);
      masses[j + 1] += most * risen;
    }
    masses.back() += right.upper().value();
    found.law = kept(at, masses);
    found.error = share_of_units(4.0);
    // E[A; g above].
    const Ball tail = normal_tail(Exact{ends.back()} - Ball{1} / Exact{shape_.multiplier});
    found.beyond = (tail * exp(-Ball{Exact{half_}})).upper().value();
    return found;
  }
  /// Of the coordinates between two.
  struct Cell {
    Ball mass;
    Ball mean;   ///< of e^(-x / 2) (A - e^x B)
    Ball other;  ///< mean of e^x B, times the mass
  };
  [[nodiscard]] Cell cell(double from, double to) const {
    const auto p = shape_.piece(from, to);
    const auto mirrored = shape_.piece(-to, -from);
    laws::require_digits(p);
    laws::require_digits(mirrored);
    const Ball mass = Ball::of_share(p.mass, p.mass_error) * exp(Ball{Exact{p.log_scale}});
    const auto ratio = [](const auto& piece) { return Ball::of_share(piece.ratio, piece.ratio_error) * exp(Ball{Exact{piece.loss}}); };
    const Ball b = ratio(mirrored) * exp(Ball{Exact{half_}});
    return {mass, ratio(p) * exp(-Ball{Exact{half_}}) - b, mass * b * exp(Ball{Exact{half_}})};
  }

  /// Lowers what rounding put above the next.
  static void make_rising(std::vector<double>& at) {
    for (std::size_t j = at.size(); j-- > 1;) at[j - 1] = std::min(at[j - 1], at[j]);
  }

  /// At most the mass of a law, 1 but for rounding.
  static Upper total(const Values& law) {
    Upper sum{0};
    for (const double mass : law.mass) sum += Upper{Exact{mass}};
    return sum;
  }

  /// What has next to no mass is raised to the next point.
  static Values kept(const std::vector<double>& at, const std::vector<double>& mass) {
    Values found;
    double waiting = 0;
    for (std::size_t j = 0; j < at.size(); ++j) {
      const double here = mass[j] + waiting;
      waiting = 0;
      if (here > least_mass || j + 1 == at.size()) {
        found.add(at[j], std::max(here, least_mass));
      } else {
        waiting = here;
      }
    }
    return found;
  }

  /// The median of a sum of two, and half of what half of it spreads, roughly.
  static std::pair<double, double> center_and_spread(const Values& a, const Values& b) {
    constexpr int parts = 48;
    const auto some_of = [](const Values& law) {
      double all = 0;
      for (const double mass : law.mass) all += mass;
      std::vector<double> found;
      double sum = 0;
      for (std::size_t j = 0; j < law.size(); ++j) {
        sum += law.mass[j];
        while (static_cast<double>(found.size()) + 0.5 < parts * sum / all && found.size() < parts) found.push_back(law.at[j]);
      }
      return found;
    };
    std::vector<double> sums;
    const auto second = some_of(b);
    for (const double x : some_of(a)) {
      for (const double y : second) sums.push_back(x + y);
    }
    std::sort(sums.begin(), sums.end());
    const std::size_t n = sums.size();
    return {sums[n / 2], 0.5 * (sums[3 * n / 4] - sums[n / 4])};
  }

  /// Of the sum, what either counts apart.
  static Upper beyond(const Sum& a, const Sum& b) { return total(b.law) * Exact{a.beyond} + total(a.law) * Exact{b.beyond}; }

  [[nodiscard]] Sum both(const Sum& a, const Sum& b) const {
    const auto [center, spread] = center_and_spread(a.law, b.law);
    const auto points = grid(center, std::max(spread, middle_));
    const Cells cells = is_test_ ? sums_of<true>(a.law, b.law, is_above_, points) : sums_of<false>(a.law, b.law, is_above_, points);
    const double error = errors(a.law, b.law);
    Sum found;
    found.error = a.error + b.error + error;
    if (!is_above_) {
      // Each cell at its mean, or a little below.
      for (std::size_t j = 0; j < points.size(); ++j) {
        if (!(cells.mass[j] > least_mass)) continue;
        const double mean = points[j] + cells.excess[j] / cells.mass[j] * (1 - 2 * error);
        found.law.add(mean - share_of_units(2.0) * std::abs(mean), cells.mass[j]);
        if (is_test_) found.law.other.push_back(cells.other[j]);
      }
      make_rising(found.law.at);
      return found;
    }
    // Each cell at its two points, with its mean or a little above.
    std::vector<double> mass(points.size(), 0.0);
    mass.front() = cells.below;
    for (std::size_t j = 0; j + 1 < points.size(); ++j) {
      if (!(cells.mass[j] > 0)) continue;
      const double mean = cells.excess[j] / cells.mass[j] * (1 + 2 * error);
      const double risen = std::min(1.0, mean / (points[j + 1] - points[j]) * (1 + share_of_units(4.0)));
      mass[j] += cells.mass[j] * (1 - risen);
      mass[j + 1] += cells.mass[j] * risen;
    }
    mass.back() += cells.mass.back();
    found.law = kept(points, mass);
    found.beyond = (beyond(a, b) + Upper{Exact{cells.excess.back()}} * (Upper{1} + Exact{found.error})).value();
    return found;
  }

  [[nodiscard]] const Sum& power_of_two(const Sum& one, std::uint64_t rounds) {
    if (rounds == 1) return one;
    if (const auto found = powers_.find(rounds); found != powers_.end()) return found->second;
    const Sum& half = power_of_two(one, rounds / 2);
    return powers_.emplace(rounds, both(half, half)).first->second;
  }
  [[nodiscard]] Sum rest(std::uint64_t rounds, const Sum& one) {
    const std::uint64_t first = std::bit_floor(rounds);
    if (first == rounds) return power_of_two(one, rounds);
    return both(power_of_two(one, first), rest(rounds - first, one));
  }

  static constexpr double quarter = 0.67448975;  // of a standard normal, half lies within
  static constexpr double reach = 30;            // of spreads

  std::uint64_t rounds_;
  GaussianShape shape_;
  double mu_;
  double x_;
  double half_;  ///< of it: values are e^-half times A - e^x B, and masses under B e^x times what they are
  double step_;
  bool is_above_;
  bool is_test_;
  double largest_coordinate_;
  double top_;
  double middle_;
  std::size_t most_points_;
  std::map<std::uint64_t, Sum> powers_;
};

/// Beyond these two rounds answer: values have no room in double, or masses no digits.
bool has_room(std::uint64_t rounds, double multiplier, double x, double scale) {
  constexpr double most_rounds = 0x1p24;
  constexpr double least_scale = 1e-60;
  return static_cast<double>(rounds) <= most_rounds && 1 / multiplier < 18 && x < 600 && scale > least_scale;
}

double end_of(Bound bound, std::uint64_t rounds, double multiplier, double x, double scale, double step) {
  const StandardFloatingPoint environment;
  const Enclosure two = two_replaced_rounds(multiplier, x);
  if (rounds == 2) return bound == Bound::above ? two.upper : two.lower;
  const double simple = bound == Bound::above ? two.upper : 0;
  if (!has_room(rounds, multiplier, x, scale)) return simple;
  try {
    return std::min(OneEnd{rounds, multiplier, x, scale, step, bound}.value(), two.upper);
  } catch (const Error& error) {
    // Masses without digits.
    if (error.code() != ErrorCode::unsupported) throw;
    return simple;
  }
}

}  // namespace

Enclosure two_replaced_rounds(double multiplier, double x) {
  const StandardFloatingPoint environment;
  const Ball apart = sqrt(Ball{2}) / Exact{multiplier};
  const Ball at = Ball{Exact{x}} / apart;
  const Ball first = normal_tail(at - apart * Exact{0.5});
  const Ball second = normal_tail(at + apart * Exact{0.5}) * exp(Ball{Exact{x}});
  // e^x may be beyond double.
  const double simple = std::clamp(first.upper().value(), 0.0, 1.0);
  const Ball sharp = first - second;
  const double least = sharp.lower().value();
  const double most = sharp.upper().value();
  return {least > 0 ? std::min(least, simple) : 0, most >= 0 ? std::min(most, simple) : simple};
}

double replaced_curve_above(std::uint64_t rounds, double multiplier, double x, double scale, double step) {
  return end_of(Bound::above, rounds, multiplier, x, scale, step);
}

double replaced_curve_below(std::uint64_t rounds, double multiplier, double x, double scale, double step) {
  return end_of(Bound::below, rounds, multiplier, x, scale, step);
}

laws::CurveTest replaced_test(std::uint64_t rounds, double multiplier, double x, double scale, double step) {
  const StandardFloatingPoint environment;
  if (!has_room(rounds, multiplier, x, scale)) return {0, 0};
  try {
    return OneEnd{rounds, multiplier, x, scale, step, Bound::test}.test();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return {0, 0};
  }
}

}  // namespace surety::accounting
