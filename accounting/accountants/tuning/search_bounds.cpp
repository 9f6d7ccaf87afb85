#include <surety/accounting/accountants/tuning/search_bounds.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <surety/accounting/accountants/tuning/ranks.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

using namespace tuning_ranks;

/// The bound from above.
double delta_above(const std::vector<Edge>& edges, const RunCurve& curve, double epsilon) {
  double sum = 0;
  for (const auto& edge : edges) {
    const double loss = epsilon - edge.log_slope;
    sum += edge.rise * (loss > -infinity ? std::min(1.0, curve(loss - margin * (1 + std::abs(loss) + epsilon))) : 1);
  }
  return sum > 0 ? std::min(1.0, sum * (1 + rounding(edges.size())) + tiny) : 0;
}

/// Chords end at multiples of this, whatever epsilon is asked, so that their ends are found once.
constexpr double chord_step = 4 * kept_step;

/// The values of a bound at multiples of `kept_step`, the ends of chords among them, each found once.
class KeptAtSteps {
 public:
  template <typename Find>
  [[nodiscard]] double of(double epsilon, const Find& find) const {
    if (std::fmod(epsilon, kept_step) != 0) return find();
    {
      const std::lock_guard lock{mutex_};
      if (const auto found = known_.find(epsilon); found != known_.end()) return found->second;
    }
    const double value = find();
    const std::lock_guard lock{mutex_};
    return known_.emplace(epsilon, value).first->second;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<double, double> known_;
};

/// What all points of a cell may be: its log slopes, and with its ends three points above all of it.
struct Cell {
  Corner from;
  Corner to;
  Corner between;
  double least;
  double most;
};

/// \param from where u is less; slopes du/dv of the ranks in the cell are between e^least and e^most, where `most` is that at `from`
Cell cell_of(const Slope& slope, const End& from, const End& to, double most, double least) {
  Cell cell{.from = {slope.below(from.v_most), slope.above(from.u_least)},
            .to = {slope.below(to.v_most), slope.above(to.u_least)},
            .between = {0, 0},
            .least = 0,
            .most = 0};
  // u - v is a concave function of u, with the derivative 1 - e^-loss.
  const auto distances = [](const End& end) { return std::pair{end.v_least - end.u_most, end.v_most - end.u_least}; };
  const auto [least_from, most_from] = distances(from);
  const auto [least_to, most_to] = distances(to);
  double distance = std::max(most_from, most_to);
  if (most > 0 && least < 0) distance += std::max(0.0, from.u_most - to.u_least) * -std::expm1(-most);
  const double error = slope.bend_error() + few * std::max(std::abs(most), std::abs(least));
  const auto bend = slope.bend(from, to, std::min(least_from, least_to), distance);
  cell.most = bend.most + most + error;
  cell.least = bend.least + least - error;
  // Below a line of the largest slope through one end, and one of the least slope through the other.
  const double steep = std::exp(cell.most);
  const double flat = std::exp(cell.least);
  const double run = cell.to.b - cell.from.b;
  const double rise = cell.to.a - cell.from.a;
  double part = steep > flat ? (rise - flat * run) / (steep - flat) : 0.5 * run;
  part = part > 0 ? std::min(part, run) : 0;
  const double split = std::min(cell.from.b + part, cell.to.b);
  const double left = split > cell.from.b ? (cell.from.a + steep * (split - cell.from.b)) * (1 + few) : cell.from.a;
  const double right = cell.to.a * (1 + few) - flat * (cell.to.b - split) * (1 - few);
  const double height = std::max(left, right);
  cell.between = {split, height < cell.to.a ? height : cell.to.a};
  if (!(run > 0)) cell.between = cell.to;
  return cell;
}

/// How far apart the slopes in a cell may be where it counts.
double apart(double finest, double log_slope) { return finest * (1 + std::max(0.0, -log_slope)); }

// ---- One Gaussian release ----

double tail(double x) { return 0.5 * std::erfc(x * 0.70710678118654752440); }
/// Relative, of tail(x) where x is off by `off`.
double tail_error(double x, double off) { return few * (1 + 0.25 * x * x) + 2 * off * (std::abs(x) + 1); }

// ---- Any run, by its curve ----

/// A convex curve through points that bound delta(log odds), by rising odds from 0 on.
class CurveOfPoints {
 public:
  /// \param points of a curve that holds in both directions, at odds of at least 1, or of one direction alone, at any odds
  CurveOfPoints(const std::vector<CurvePoint>& points, bool both_directions) {
    std::vector<CurvePoint> all{{0, 1}};
    // Seen from the other side: delta(-x) = 1 - e^-x + e^-x delta(x), at odds that may be a little smaller, for delta(x) falls.
    for (std::size_t i = both_directions ? points.size() : 0; i-- > 0;) {
      const Lower odds = Lower{1} / Upper{Exact{points[i].odds}};
      if (!(odds.value() > std::max(least_odds, all.back().odds))) continue;
      all.push_back({odds.value(), min(Upper{1}, 1 - odds * (Lower{1} - Exact{points[i].delta})).value()});
    }
    for (const auto& point : points) {
      if (point.odds > all.back().odds) all.push_back({point.odds, std::min(1.0, point.delta)});
    }
    for (const auto& point : all) {
      while (points_.size() > 1) {
        const auto& last = points_.back();
        const auto& before = points_[points_.size() - 2];
        if ((last.delta - before.delta) * (point.odds - before.odds) < (point.delta - before.delta) * (last.odds - before.odds)) break;
        points_.pop_back();
      }
      points_.push_back(point);
    }
  }

  /// Nearer to 0 the curve has no digits, and its chord from there serves.
  static constexpr double least_odds = 1e-6;

  [[nodiscard]] const std::vector<CurvePoint>& points() const { return points_; }

  /// Of an exponential and a product; of a quotient of differences and products that are not negative.
  static constexpr double rounding_of_odds = share_of_units(LibraryError<double>::exp + 1);
  static constexpr double rounding_of_chord = share_of_units(4.0);

  [[nodiscard]] double above(double loss) const {
    if (!(loss < 709)) return points_.back().delta;
    // The curve falls: no more than the odds.
    const double odds = std::exp(loss) * (1 - rounding_of_odds);
    const auto next =
        std::upper_bound(points_.begin(), points_.end(), odds, [](double x, const CurvePoint& point) { return x < point.odds; });
    if (next == points_.end()) return points_.back().delta;
    const auto& to = *next;
    const auto& from = *(next - 1);
    const double share = (to.odds - odds) * from.delta + (odds - from.odds) * to.delta;
    return share / (to.odds - from.odds) * (1 + rounding_of_chord) + (share > 0 ? tiny : 0);
  }

 private:
  std::vector<CurvePoint> points_;
};

/// The chain of a curve that is given by points: on each cell of ranks v is bounded by the line of one of them.
std::vector<Edge> edges_of_curve(const Slope& slope, const CurveOfPoints& curve, double finest) {
  const auto& points = curve.points();
  std::vector<Corner> corners;
  const std::size_t last = points.size() - 1;
  // 1 - u where the lines of neighbours meet.
  const auto meet = [&](std::size_t i) {
    const auto& from = points[i];
    const auto& to = points[i + 1];
    const double u = (from.delta * to.odds - to.delta * from.odds) / (to.odds - from.odds);
    return std::clamp(1 - u, 0.0, 1.0);
  };
  corners.push_back({slope.below(1), slope.above(std::max(0.0, 1 - points[last].delta - share_of_units(1.0)))});
  double bar = std::max(0.0, 1 - points[last].delta - share_of_units(1.0));
  for (std::size_t i = last; i >= 1; --i) {
    poll_limit();
    const double until = i == 1 ? 0 : std::min(bar, meet(i - 1));
    const double odds = points[i].odds;
    const double log_odds = std::log(odds);
    const auto end_at = [&](double u_bar) {
      // 1 - v of the line v = (u - delta) / odds.
      const double v_bar = ((odds - 1) + points[i].delta + u_bar) / odds;
      const double error = share_of_units(8.0) * (std::abs(odds - 1) + points[i].delta + u_bar) / odds;
      return End{u_bar, u_bar, v_bar - error, v_bar + error};
    };
    const auto whole = cell_of(slope, end_at(bar), end_at(until), log_odds + few, log_odds - few);
    constexpr double most_parts = 4000;
    const double wanted = (whole.most - whole.least) / apart(finest, whole.most);
    const double parts = wanted > 1 ? std::min(std::ceil(wanted), most_parts) : 1;
    double from = bar;
    for (int part = 0; part < parts; ++part) {
      const double to = part + 1 == parts ? until : std::min(from, bar - (bar - until) * (part + 1) / parts);
      const auto cell = cell_of(slope, end_at(from), end_at(to), log_odds + few, log_odds - few);
      corners.push_back(cell.from);
      corners.push_back(cell.between);
      corners.push_back(cell.to);
      from = to;
    }
    bar = until;
  }
  corners.push_back({corners.back().b, slope.mean() * (1 + few)});
  return edges_of(corners, hull_of(corners));
}

}  // namespace

class GaussianSearch::Tables {
 public:
  Tables(const Runs& runs, const Enclosure& mu) : slope_{runs}, mu_{mu} {
    const double reach = std::sqrt(2 * (42 + std::log1p(runs.mean())));
    constexpr double first_cells = 48;
    const double from = mu.upper + reach;
    const double length = from + reach;
    for (int i = 0; i < first_cells; ++i) {
      cells_.push_back(piece(i == 0 ? from : cells_.back().to, i + 1 == first_cells ? -reach : from - length * (i + 1) / first_cells));
    }
    const double finest = 0.0015 * std::min(1.0, mu.upper);
    constexpr std::size_t most_cells = 60'000;
    while (refine(finest, most_cells)) {
    }
    points_ = corners();
    edges_ = edges_of(points_, hull_of(points_));
    if (mu.lower > 0) {
      prepare_order();
      prepare_cells();
    }
  }

  [[nodiscard]] double above(double epsilon) const {
    return at_steps_.of(epsilon, [&] {
      return delta_above(
          edges_, [&](double loss) { return gaussian_run_above(mu_.upper, loss); }, epsilon);
    });
  }

  [[nodiscard]] Enclosure mu() const { return mu_; }

  /// The largest of bounds by several orders.
  [[nodiscard]] double below(double epsilon) const {
    if (order_.empty() || epsilon > 600) return 0;
    double best = std::max(by_cells(falling_, epsilon), by_cells(rising_, epsilon));
    // Where nearly everything would be rejected, less of it is.
    const double first = epsilon - order_.front().log_slope;
    const bool is_much = tails(first).p_most * slope_.mean() > 1e-3;
    const std::size_t stride = order_.size() / 200 + 1;
    // Any ranks give a bound; some 2,000 of them lose nothing that counts where much is moved, and all count in the tail.
    best = std::max(best, by_moves(epsilon, first, is_much ? order_.size() / 2000 + 1 : 1));
    for (int i = 1; is_much && i <= 40; ++i) best = std::max(best, by_moves(epsilon, first + (mu_.lower * 12 - first) * i / 40, stride));
    return best;
  }

 private:
  /// Outcomes of a loss above `least`, by intervals of the loss, are moved to the rank whose point is best for them, of every so many ranks.
  [[nodiscard]] double by_moves(double epsilon, double least, std::size_t stride) const {
    double gain = 0;
    double loss = 0;
    double last_a = 0;
    double last_b = 0;
    double least_b = 0;
    double threshold = least;
    poll_limit();
    for (std::size_t i = 0; i < order_.size(); i += stride) {
      const auto& rank = order_[i];
      threshold = std::max(threshold, epsilon - rank.log_slope);
      const auto [p, p_most, q_most] = tails(threshold);
      // What is rejected with a loss of at least this is not below it any more.
      const double a = slope_.below(rank.u_most + p_most);
      if (!(a > last_a)) continue;
      // What is rejected may be more than what the rank has below it.
      if (last_a == 0) least_b = slope_.above(std::max(0.0, 1 - q_most - share_of_units(1.0)));
      const double b = std::max(rank.b, least_b);
      gain += (a - last_a) * p;
      loss += (b - last_b) * q_most;
      last_a = a;
      last_b = b;
    }
    const double error = rounding(order_.size());
    return std::max(0.0, gain * (1 - error) - std::exp(epsilon) * loss * (1 + error));
  }

  /// What a cell of outcomes is published with, in an order of all: P-mass from below, Q-mass from above.
  struct Published {
    double p;
    double q;
  };
  /// The sum over the cells that say more for P.
  [[nodiscard]] static double by_cells(const std::vector<Published>& cells, double epsilon) {
    const double odds = std::exp(epsilon) * (1 + few * (1 + epsilon));
    double sum = 0;
    for (const auto& cell : cells) sum += std::max(0.0, cell.p - odds * cell.q);
    return sum * (1 - rounding(cells.size()));
  }

  /// A real point of the curve: bounds on 1 - u from above and on phi'(v) from above, and where it comes first.
  struct Rank {
    double u_most;
    double b;
    double log_slope;
  };

  [[nodiscard]] static End end_at(double t, double mu) {
    const double x = t - mu;
    const double off = few * (std::abs(t) + std::abs(mu));
    const double u = tail(-x);
    const double v = tail(-t);
    const double u_error = tail_error(x, off);
    const double v_error = tail_error(t, 0);
    return {std::max(0.0, u * (1 - u_error) - tiny), u * (1 + u_error) + tiny, std::max(0.0, v * (1 - v_error) - tiny),
            v * (1 + v_error) + tiny};
  }
  /// log of the ratio at the threshold t, of which the cell's own error takes the rounding.
  [[nodiscard]] double log_ratio(double t) const { return mu_.upper * (t - 0.5 * mu_.upper); }

  struct Piece {
    double from;
    double to;
    Cell cell;
  };
  [[nodiscard]] Piece piece(double from, double to) const {
    return {from, to,
            cell_of(slope_, end_at(from, mu_.upper), end_at(to, mu_.upper), log_ratio(from) + ratio_error(from),
                    log_ratio(to) - ratio_error(to))};
  }
  [[nodiscard]] double ratio_error(double t) const { return few * mu_.upper * (std::abs(t) + mu_.upper); }

  [[nodiscard]] std::vector<Corner> corners() const {
    std::vector<Corner> points;
    points.reserve(2 * cells_.size() + 2);
    // Before the first cell and after the last one.
    points.push_back({slope_.below(1), cells_.front().cell.from.a});
    for (const auto& one : cells_) {
      points.push_back(one.cell.between);
      points.push_back(one.cell.to);
    }
    points.push_back({cells_.back().cell.to.b, slope_.mean()});
    return points;
  }

  /// Halves the cells on the hull whose slopes are too far apart. Says whether there were any.
  bool refine(double finest, std::size_t most_cells) {
    poll_limit();
    const auto points = corners();
    std::vector<bool> is_on_hull(cells_.size(), false);
    for (const std::size_t i : hull_of(points)) {
      if (i == 0 || i + 1 == points.size()) continue;
      is_on_hull[(i - 1) / 2] = true;
    }
    std::vector<Piece> finer;
    bool halved = false;
    PollNowAndThen poll;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      poll();
      const auto& whole = cells_[i];
      const bool is_near = is_on_hull[i] || (i + 1 < cells_.size() && is_on_hull[i + 1]) || (i > 0 && is_on_hull[i - 1]);
      const double middle = 0.5 * (whole.from + whole.to);
      const bool is_wide = !(whole.cell.most - whole.cell.least <= apart(finest, whole.cell.most));
      const bool is_long = whole.from - whole.to > 1e-9 * (1 + mu_.upper);
      if (!is_near || !is_wide || !is_long || finer.size() + 2 > most_cells) {
        finer.push_back(whole);
        continue;
      }
      halved = true;
      finer.push_back(piece(whole.from, middle));
      finer.push_back(piece(middle, whole.to));
    }
    cells_ = std::move(finer);
    return halved && cells_.size() < most_cells;
  }

  /// The real points on the hull of real points.
  void prepare_order() {
    std::vector<Corner> points;
    std::vector<double> bars;
    for (const auto& one : cells_) {
      const End end = end_at(one.to, mu_.lower);
      points.push_back({slope_.above(end.v_least), slope_.below(end.u_most)});
      bars.push_back(end.u_most);
    }
    const auto hull = hull_of(points);
    const auto edges = edges_of(points, hull);
    for (std::size_t i = 0; i < hull.size(); ++i) order_.push_back({bars[hull[i]], points[hull[i]].b, edges[i].log_slope});
  }

  /// Cells of outcomes in the order of their likelihood ratio, the highest or the lowest one ranked last. Between two ranks an outcome is
  /// published with at least phi' at the middle one (it is convex) and at most the mean of its ends.
  void prepare_cells() {
    const double mu = mu_.lower;
    const double reach = std::sqrt(2 * (42 + std::log1p(slope_.mean())));
    constexpr int count = 600;
    const auto at = [&](int i) { return mu + reach - (mu + 2 * reach) * i / count; };
    for (int i = 0; i < count; ++i) {
      const End a = end_at(at(i), mu);
      const End b = end_at(at(i + 1), mu);
      const auto published = [&](const End& from, const End& to) {
        const double p = std::max(0.0, from.u_least - to.u_most - share_of_units(from.u_most));
        const double q = from.v_most - to.v_least + share_of_units(from.v_most);
        return Published{slope_.below(0.5 * (from.u_most + to.u_most)) * p * (1 - few),
                         0.5 * (slope_.above(from.v_least) + slope_.above(to.v_least)) * q * (1 + few)};
      };
      falling_.push_back(published(a, b));
      // The other way round what is below a threshold was above it.
      rising_.push_back(published(end_at(-at(i + 1), -mu), end_at(-at(i), -mu)));
    }
  }

  struct Masses {
    double p;
    double p_most;
    double q_most;
  };
  /// Of losses above `loss`: P-mass from below and above, Q-mass from above, at the least mu.
  [[nodiscard]] Masses tails(double loss) const {
    const double mu = mu_.lower;
    if (!(loss > -infinity)) return {1, 1, 1};
    const double near = loss / mu - 0.5 * mu;
    const double far = loss / mu + 0.5 * mu;
    const double off = few * (std::abs(loss) / mu + mu);
    const double p = tail(near);
    const double error = tail_error(near, off);
    return {std::max(0.0, p * (1 - error) - tiny), p * (1 + error) + tiny, tail(far) * (1 + tail_error(far, off)) + tiny};
  }
  Slope slope_;
  Enclosure mu_;
  std::vector<Piece> cells_;  // by falling thresholds, that is by rising u
  std::vector<Corner> points_;
  std::vector<Edge> edges_;
  std::vector<Rank> order_;
  std::vector<Published> falling_;
  std::vector<Published> rising_;
  KeptAtSteps at_steps_;
};

class SearchByCurve::Tables {
 public:
  Tables(const Runs& runs, const std::vector<CurvePoint>& points, bool both_directions) : curve_{points, both_directions} {
    edges_ = edges_of_curve(Slope{runs}, curve_, 0.02 * std::max(1.0, runs.mean() / 1000));
  }
  [[nodiscard]] double above(double epsilon) const {
    return at_steps_.of(epsilon, [&] {
      return delta_above(
          edges_, [&](double loss) { return curve_.above(loss); }, epsilon);
    });
  }
  /// The largest logarithm of a slope: losses below epsilon less this do not count.
  [[nodiscard]] double steepest() const { return edges_.empty() ? 0 : edges_.front().log_slope; }

 private:
  CurveOfPoints curve_;
  std::vector<Edge> edges_;
  KeptAtSteps at_steps_;
};

double gaussian_run_above(double mu, double loss) {
  const double near = loss / mu - 0.5 * mu;
  const double far = loss / mu + 0.5 * mu;
  const double off = few * (std::abs(loss) / mu + mu);
  const double p = tail(near) * (1 + tail_error(near, off)) + tiny;
  if (loss > 700) return p;
  const double q = std::max(0.0, tail(far) * (1 - tail_error(far, off)) - tiny);
  return std::max(0.0, p - std::exp(loss) * q * (1 - few * (1 + std::abs(loss))));
}

double below_chords(const RunCurve& bound, double epsilon) {
  double least = bound(epsilon);
  if (!(least > 0.05)) return least;
  const double first = std::floor(epsilon / chord_step) + 1;
  for (int i = 0; i < 12; ++i) {
    const double to = chord_step * (first + i);
    const double apart = to - epsilon;
    if (least <= -std::expm1(-apart)) break;  // the chord lies above that, and those to farther points higher
    least = std::min(least, 1 - std::exp(-apart) * (1 - bound(to)) + few);
  }
  return least;
}

RunCurve curve_of_points(const std::vector<CurvePoint>& points) {
  const StandardFloatingPoint environment;
  return [curve = CurveOfPoints{points, false}](double loss) { return std::min(1.0, curve.above(loss)); };
}

GaussianSearch::GaussianSearch(const Runs& runs, const Enclosure& mu) {
  const StandardFloatingPoint environment;
  tables_ = std::make_shared<const Tables>(runs, mu);
}
double GaussianSearch::above(double epsilon) const {
  const StandardFloatingPoint environment;
  return below_chords([this](double x) { return tables_->above(x); }, epsilon);
}
double GaussianSearch::above_alone(double epsilon) const {
  const StandardFloatingPoint environment;
  return tables_->above(epsilon);
}
double GaussianSearch::below(double epsilon) const {
  const StandardFloatingPoint environment;
  return tables_->below(epsilon);
}
Enclosure GaussianSearch::mu() const { return tables_->mu(); }

std::vector<CurvePoint> convex_curve(const std::vector<CurvePoint>& points) {
  const StandardFloatingPoint environment;
  return CurveOfPoints{points, true}.points();
}

SearchByCurve::SearchByCurve(const Runs& runs, const std::vector<CurvePoint>& points) {
  const StandardFloatingPoint environment;
  tables_ = std::make_shared<const Tables>(runs, points, true);
}
SearchByCurve SearchByCurve::in_one_direction(const Runs& runs, const std::vector<CurvePoint>& points) {
  const StandardFloatingPoint environment;
  return SearchByCurve{std::make_shared<const Tables>(runs, points, false)};
}
double SearchByCurve::above(double epsilon) const {
  const StandardFloatingPoint environment;
  return below_chords([this](double x) { return tables_->above(x); }, epsilon);
}
double SearchByCurve::steepest() const { return tables_->steepest(); }

}  // namespace surety::accounting
