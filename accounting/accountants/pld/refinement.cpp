#include <surety/accounting/accountants/pld/refinement.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/pld/choice_laws.h>
#include <surety/accounting/accountants/pld/composed_curve.h>
#include <surety/accounting/accountants/pld/counted_rounds.h>
#include <surety/accounting/accountants/pld/games.h>
#include <surety/accounting/accountants/pld/joint_epochs.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/laws/pairs/pairs.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/convolution.h>
#include <surety/base/numbers/limit.h>

namespace surety::accounting::pld {
namespace {

/// A step times the tilt is at most this, so that the tilt over one step is far from overflow.
constexpr double most_tilt_per_step = 40;
/// The same for the tilts of the ends: log_transform raises it to the 64th power.
constexpr double most_end_tilt_per_step = 8;
/// Of a window: fewer cost little, and so few next to nothing beside it.
constexpr double many_points = 0x1p16;
constexpr double quick_look = 0x1p14;

/// Whether both are one kind of pair whose numbers are within a relative `tolerance`: Gaussian ones, or atoms.
bool alike(const LossLaw& x, const LossLaw& y, double tolerance) {
  const auto near = [&](double a, double b) { return std::abs(a - b) <= tolerance * std::abs(a); };
  if (x.mixing != y.mixing || x.rate != y.rate || !near(x.infinite_mass, y.infinite_mass)) return false;
  const auto* a = std::get_if<GaussianBase>(&x.base);
  const auto* b = std::get_if<GaussianBase>(&y.base);
  if (a != nullptr && b != nullptr) return near(a->multiplier, b->multiplier);
  const auto* c = std::get_if<AtomsBase>(&x.base);
  const auto* d = std::get_if<AtomsBase>(&y.base);
  return c != nullptr && d != nullptr &&
         std::equal(c->atoms.begin(), c->atoms.end(), d->atoms.begin(), d->atoms.end(),
                    [&](const auto& one, const auto& other) { return near(one.loss, other.loss) && near(one.mass, other.mass); });
}

class Run {
 public:
  Run(const Pld& accountant, const Given& question) : accountant_{accountant}, question_{question} {}

  /// The enclosure of one composition at a step of at most `step`; the step used is left in the task.
  [[nodiscard]] Enclosure operator()(Task& task, double step) const {
    const auto pair = composed(task, step);
    auto found = question_.delta ? epsilon_of(pair, *question_.delta) : delta_of(pair, *question_.epsilon);
    if (question_.delta && found.upper > task.window.most) found = {std::min(found.lower, task.window.most), task.window.most};
    // At the window's first loss an epsilon that was found is that loss, rounded.
    const long double first = pair.upper.loss(1) + pair.loss_error;
    if (question_.delta && static_cast<long double>(task.gives_lower ? found.lower : found.upper) <= first) {
      task.last.whole_window = true;  // the guess where epsilon lies was wrong: all of the law is looked at from now on
    }
    if (question_.epsilon && task.grid.follows_step) task.last.fall = fall_at(pair, *question_.epsilon, found.upper, 0.01 / task.slope);
    task.last.rounding = share_of_rounding(pair.upper, found.upper);
    return found;
  }

  /// The width of an enclosure in units of epsilon.
  [[nodiscard]] double width(const Task& task, const Enclosure& found) const {
    if (question_.delta) return found.width();
    if (found.upper <= found.lower || found.upper < 1e-300) return 0;
    // Next to a largest loss delta may be far from known where epsilon is known well; where that costs little, it is looked at too.
    const double share = 1 / std::max(task.slope, task.last.fall);
    return std::log(found.upper / found.lower) * (task.last.cheap ? std::max(share, 1e3 * task.wanted) : share);
  }

  /// Whoever only compares the upper end with a level has seen enough: it is much farther from there than it can still move.
  [[nodiscard]] bool is_settled(const Task& task) const {
    constexpr double farther = 10;
    if (!accountant_.upper_only || !accountant_.level || !task.grid.follows_step || !(task.last.answer.upper > 0)) return false;
    const double distance = question_.delta
                                ? std::abs(task.last.answer.upper - *accountant_.level)
                                : std::abs(std::log(task.last.answer.upper / *accountant_.level)) / std::max(task.slope, task.last.fall);
    return farther * task.last.width < distance;
  }

  /// The width of a lower end alone over the largest that counts, which is a share of what lies above it in any case: 1 or less where it is narrow
  /// enough, infinity where the upper end is not known to be farther.
  [[nodiscard]] double excess_of_lower(const Task& task, const Enclosure& upper) const {
    constexpr double share = 1e-3;
    if (task.gives_upper || !(task.last.answer.upper < upper.upper)) return infinity;
    return width(task, task.last.answer) / (share * width(task, {task.last.answer.upper, upper.upper}));
  }

  /// A lower end alone, of so many points that more would cost, is narrow enough.
  [[nodiscard]] bool has_seen_enough(const Task& task, const Enclosure& upper) const {
    return !task.last.cheap && excess_of_lower(task, upper) <= 1;
  }

  /// Whether rounding would be more than all of delta at a finer step, so that such a look says less than the last one: there are that many more
  /// entries, each off by no less.
  [[nodiscard]] static bool would_drown(const Task& task, double finer) {
    // How far a lower end is narrowed hangs on an upper one of another law.
    return task.gives_upper == task.gives_lower && task.last.rounding * task.last.step > finer;
  }

  /// Whether a look at this step is short. It may not be where a coarse step takes no steep tilt, so that the window is all of the law.
  [[nodiscard]] bool is_quick(const Task& task, double step) const {
    return step * task.window.right_tilt <= most_end_tilt_per_step && step * task.window.left_tilt <= most_end_tilt_per_step &&
           task.window.cell_range / step <= many_points;
  }

  /// After some looks, where it is plain that the width wanted needs a step for which there is no memory. \throws Error{memory}
  void refuse_what_will_not_fit(const Task& task) const {
    if (!task.grid.follows_step || task.gives_upper == task.gives_lower || !question_.delta) return;
    if (const double step = step_after_halvings(task); step > 0) static_cast<void>(window_of(task, step));
  }

 private:
  /// What share of delta rounding is where the upper end lies; 0 where that is not in the window.
  [[nodiscard]] double share_of_rounding(const ComposedCurve& curve, double upper) const {
    const long double at = question_.delta ? upper : *question_.epsilon;
    const std::size_t j = first_where(curve.size(), [&](std::size_t i) { return curve.loss(i) > at; });
    if (j == curve.size()) return 0;
    const auto share = static_cast<double>(curve.sum(j, 0).rounding) / question_.delta.value_or(upper);
    return share > 0 ? std::min(share, 1.0) : 0;
  }
  /// How steeply the logarithm of the upper curve falls; 0 where it does not say.
  [[nodiscard]] static double fall_at(const ComposedPair& pair, double epsilon, double delta, double distance) {
    const double fall = std::log(delta / delta_of(pair, epsilon + distance).upper) / distance;
    return std::isfinite(fall) ? fall : 0;
  }
  [[nodiscard]] ComposedPair composed(Task& task, double step) const {
    const Window window = window_of(task, step);
    poll_limit();
    task.last.step = window.step;
    const auto takes_sums = [](const laws::ReleaseLaws& part) { return std::holds_alternative<AllocatedRatioBase>(part.upper.base); };
    task.last.cheap = static_cast<double>(window.size) < many_points && std::none_of(task.parts.begin(), task.parts.end(), takes_sums);
    auto pair = task.grid.by_tests ? compose_many(task.parts, window, task.cut) : compose(task.parts, window, task.cut);
    for (const auto* curve : {&pair.upper, pair.tests ? &pair.upper : &pair.lower}) {
      const long double all =
          curve->log_scale + curve->log_total + curve->wrapped_right + curve->wrapped_left + curve->beyond + curve->entry_error;
      if (std::isnan(all) || std::isnan(curve->plain.front()))
        throw Error{ErrorCode::unsupported, "privacy-loss: its losses are out of range"};
    }
    return pair;
  }

  /// \throws Error{memory} where such a step takes more than is allowed.
  [[nodiscard]] Window window_of(const Task& task, double step) const {
    step = std::min(step, most_tilt_per_step / task.saddle.s);
    Window window{.least = 0,
                  .largest = 0,
                  .step = step,
                  .size = 4,
                  .s = task.saddle.s,
                  .right_tilt = task.window.right_tilt,
                  .left_tilt = task.window.left_tilt};
    if (task.steps.distance > 0) {
      // The cells between two atoms are merged in pairs.
      const double pairs = std::ceil(task.steps.distance / step / 2);
      window.step = step < task.steps.distance ? task.steps.distance / (2 * pairs) : task.steps.distance;
    }
    // A law may reach two steps beyond its range at either end.
    const double reach = 2 * laws::count_of(task.parts) * window.step;
    window.least = std::max(task.window.least, task.window.support_least - reach);
    window.largest = std::min(task.window.largest, task.window.support_largest + reach);
    const double steepest = most_end_tilt_per_step / window.step;
    if (task.window.right_tilt > steepest) {
      window.right_tilt = steepest;
      window.largest = task.window.support_largest + reach;
    }
    if (task.window.left_tilt > steepest) {
      window.left_tilt = steepest;
      window.least = task.window.support_least - reach;
    }
    if (!task.last.whole_window) {
      const double off = task.steps.second_order * window.step * window.step;  // by which the step moves either bound
      const double seen =
          std::max(task.last.answer.lower > 0 ? task.last.answer.lower - off : 0.0, task.saddle.epsilon - off - 1 / task.saddle.s);
      const double from = question_.epsilon ? *question_.epsilon : seen;
      window.least = std::max(window.least, std::min(std::max(from, 0.0) - 8 * window.step, window.largest - task.window.clear));
    }
    keep_within_reach(window, task, reach);
    const double points = (window.largest - window.least) / window.step + 8;
    const double cells = task.window.cell_range / window.step + 8;
    if (!(points < 0x1p40 && cells < 0x1p40)) refuse_memory(std::max(points, cells) * 88);
    // Chernoff's bound at the end has room: a window slightly too long for a power of two is cut instead. The end of the support has none.
    const bool has_room = window.largest < task.window.support_largest + reach;
    const double room = has_room ? std::min(0.1 * points, 1 / (window.right_tilt * window.step)) : 0;
    window.size = std::bit_ceil(size_of(points - room) + 16);
    // The cells of the only law are gone when it is transformed; of several, the product waits while the next one is made.
    const bool one = task.parts.size() == 1;
    const double transformed = static_cast<double>(CircularProduct::bytes(window.size, one));
    double bytes = one ? std::max(transformed + cells * 16, cells * 120) : transformed + cells * 120;
    // Two products, and what is convolved before: at most twice as many points as a transform takes.
    if (task.grid.by_tests) bytes += transformed + std::max(static_cast<double>(window.size), cells) * 48;
    if (bytes > static_cast<double>(accountant_.memory)) refuse_memory(bytes);
    return window;
  }

  /// The guess where the window lies may miss the law, where nearly all mass is one atom: then it is moved to the law's near end, as long
  /// as it was meant to be.
  static void keep_within_reach(Window& window, const Task& task, double reach) {
    const double first = task.window.support_least - reach;
    const double last = task.window.support_largest + reach;
    const double length = std::max(task.window.largest - task.window.least, 16 * window.step);
    if (window.largest <= first) window = moved(window, first, first + length);
    if (window.least >= window.largest) window = moved(window, std::min(window.largest, last) - length, std::min(window.largest, last));
  }
  static Window moved(Window window, double least, double largest) {
    window.least = least;
    window.largest = largest;
    return window;
  }
  [[noreturn]] void refuse_memory(double bytes) const {
    if (!std::isfinite(bytes)) throw Error{ErrorCode::unsupported, "privacy-loss: its losses are out of range"};
    throw Error{ErrorCode::memory, fmt::format("an answer of width {} needs about {:.3g} bytes, more than the {} allowed",
                                               accountant_.width, bytes, accountant_.memory)};
  }
  const Pld& accountant_;
  const Given& question_;
};

/// The compositions to be computed. Where the upper and the lower bound come from different laws, they are two tasks: each has its own
/// tilt, window and step.
class Tasks {
 public:
  Tasks(const Event& event, const Given& question, double width, bool upper_only, laws::Reach reach, const LeafCurves& others,
        laws::BothDirections directions)
      : event_{event},
        others_{others},
        question_{question},
        width_{width},
        reach_{reach},
        directions_{std::move(directions)},
        choices_{directions_, question, width} {
    directions_ = with_known_orders(choices_.joined(std::move(directions_)));
    // Beside choices, which have an accountant of that width, the others should not be what is wide.
    if (choices_.any()) width_ = width *= 0.1;
    for_each_direction(directions_, [&](const laws::Parts& parts) {
      if (!upper_only && one_limit(parts)) return add(all_, parts, true, true, width);
      laws::Parts upper;
      for (const auto& part : parts) upper.push_back({part.upper, std::nullopt, false, part.count});
      const bool known = std::any_of(uppers_.begin(), uppers_.end(), [&](const laws::Parts& other) {
        return std::equal(
            other.begin(), other.end(), upper.begin(), upper.end(),
            [](const laws::ReleaseLaws& x, const laws::ReleaseLaws& y) { return x.count == y.count && alike(x.upper, y.upper, 0); });
      });
      if (known) return;
      uppers_.push_back(upper);
      add(all_, std::move(upper), true, false, width / 4);
    });
    sort(all_);
    if (upper_only) return;
    if (!all_.empty()) tilt_ = all_.front().slope;
    // After the upper ends, which say how much a lower one may count.
    auto below = lower(tilt_);
    sort(below);
    for (auto& task : below) all_.push_back(std::move(task));
  }

  [[nodiscard]] std::vector<Task>& all() { return all_; }
  /// The same compositions bounded from below by tests, where atoms fit no common grid, on which they could be merged.
  [[nodiscard]] std::vector<Task> by_tests(const std::vector<Task>& tasks) const {
    std::vector<Task> found;
    for (const auto& task : tasks) {
      if (task.gives_lower && !task.grid.common_grid) add(found, task.parts, false, true, width_ / 10, true);
    }
    return found;
  }
  /// The tilt at which the lower laws were chosen, and whether there was a choice.
  [[nodiscard]] double tilt() const { return tilt_; }
  [[nodiscard]] bool has_choice() const { return directions_.has_choice; }

  /// The tasks that bound the answer from below alone, with the lower laws that are best at `tilt`, roughly. Any choice is sound.
  [[nodiscard]] std::vector<Task> lower(double tilt) const {
    laws::BothDirections found;
    if (directions_.has_choice) found = with_known_orders(choices_.joined(laws::both_directions(event_, others_, tilt, reach_)));
    std::vector<Task> tasks;
    for_each_direction(directions_.has_choice ? found : directions_, [&](laws::Parts parts) {
      if (one_limit(parts)) return;
      laws::choose_two_points(parts, tilt);
      add_concrete(tasks, laws::with_a_last_order(parts));
      if (const auto turns = laws::in_orders_by_turns(parts)) add_concrete(tasks, laws::with_a_last_order(*turns));
    });
    return tasks;
  }

 private:
  template <class Do>
  static void for_each_direction(const laws::BothDirections& directions, Do act) {
    act(directions.remove);
    if (!directions.symmetric) act(directions.add);
  }
  /// Where either order shows the same there is none to choose, and where one release alone has an order, it is chosen by the results of all others.
  static laws::BothDirections with_known_orders(laws::BothDirections directions) {
    for (auto* parts : {&directions.remove, &directions.add}) {
      double ordered = 0;
      for (auto& part : *parts) {
        if (!part.other_order) continue;
        if (part.lower && alike(*part.lower, *part.other_order, 1e-12)) {
          part.other_order.reset();
          part.last_order.reset();
        } else {
          ordered += static_cast<double>(part.count);
        }
      }
      if (ordered != 1) continue;
      for (auto& part : *parts) {
        if (part.last_order) part.lower = std::exchange(part.last_order, std::nullopt);
        part.other_order.reset();
      }
    }
    // Both directions may be one by now.
    const auto is_same = [](const laws::ReleaseLaws& x, const laws::ReleaseLaws& y) {
      return x.count == y.count && x.lower && y.lower && !x.other_order && alike(x.upper, y.upper, 0) && alike(*x.lower, *y.lower, 0);
    };
    directions.symmetric = directions.symmetric || std::equal(directions.remove.begin(), directions.remove.end(), directions.add.begin(),
                                                              directions.add.end(), is_same);
    return directions;
  }
  void add_concrete(std::vector<Task>& tasks, const laws::Parts& parts) const {
    laws::Parts concrete;
    for (const auto& part : parts) {
      const LossLaw law = part.lower.value_or(laws::nothing());
      concrete.push_back({law, law, true, part.count});
    }
    add(tasks, std::move(concrete), false, true, width_ / 10);
  }
  static bool one_limit(const laws::Parts& parts) {
    return std::all_of(parts.begin(), parts.end(),
                       [](const laws::ReleaseLaws& part) { return part.same || (part.lower && alike(part.upper, *part.lower, 1e-12)); });
  }
  void add(std::vector<Task>& tasks, laws::Parts parts, bool gives_upper, bool gives_lower, double wanted, bool by_tests = false) const {
    // No finite loss exceeds epsilon: that direction costs nothing.
    const double most = laws::largest_of(parts).upper;
    if (most == 0 || (question_.epsilon && *question_.epsilon >= most)) return;
    Task task;
    task.window.most = most;
    task.parts = std::move(parts);
    task.gives_upper = gives_upper;
    task.gives_lower = gives_lower;
    task.wanted = wanted;
    task.grid.by_tests = by_tests || are_many(task.parts);
    tasks.push_back(prepare(std::move(task), question_));
  }
  void sort(std::vector<Task>& tasks) const {
    const auto cost = [&](const Task& task) { return question_.delta ? task.saddle.epsilon : task.saddle.log_delta; };
    std::stable_sort(tasks.begin(), tasks.end(), [&](const Task& x, const Task& y) { return cost(x) > cost(y); });
  }

  const Event& event_;
  const LeafCurves& others_;
  const Given& question_;
  double width_;
  laws::Reach reach_;
  laws::BothDirections directions_;
  ChoicesAmongOthers choices_;
  std::vector<laws::Parts> uppers_;
  std::vector<Task> all_;
  double tilt_ = 1;
};

/// The larger of both directions, at either end.
struct Largest {
  Enclosure upper{0, 0};
  Enclosure lower{0, 0};

  void take(const Task& task) {
    if (task.gives_upper) upper = {std::max(upper.lower, task.last.answer.lower), std::max(upper.upper, task.last.answer.upper)};
    if (task.gives_lower) lower = {std::max(lower.lower, task.last.answer.lower), std::max(lower.upper, task.last.answer.upper)};
  }
  /// Nothing that a narrower enclosure could say would count: it only lowers its upper end.
  [[nodiscard]] bool outweighs(const Task& task) const {
    return (!task.gives_upper || task.last.answer.upper <= upper.upper) && (!task.gives_lower || task.last.answer.upper <= lower.lower);
  }
  [[nodiscard]] Enclosure answer() const { return {std::min(lower.lower, upper.upper), upper.upper}; }
};

/// Whether losses of these upper laws are infinite with a probability above delta, so that no step says more than that epsilon is at most infinity.
bool are_infinite_beyond(const laws::Parts& parts, double delta) {
  double log_finite = 0;
  for (const auto& part : parts) log_finite += static_cast<double>(part.count) * std::log1p(-part.upper.infinite_mass);
  return -std::expm1(log_finite) > delta;
}

/// What a look at next to no cost says before a long one.
struct Glance {
  Enclosure answer{0, infinity};
  bool is_all = false;  // rounding would be all that the long one shows
};
/// Where rounding would be all, which is believed where a finer look is already wider, the task is left answered by coarse steps, towards where
/// they gain.
Glance glance_before(Task& task, const Run& run, double step) {
  const double span = task.window.largest - task.window.least;
  const double start = std::min(span / quick_look, task.steps.coarse);
  if (!task.gives_upper || !task.gives_lower || !(span / step > many_points) || !run.is_quick(task, start)) return {};
  Task look = task;
  Enclosure best{0, infinity};
  const auto upper_at = [&](double at) {
    const auto found = run(look, at);
    best = {std::max(best.lower, found.lower), std::min(best.upper, found.upper)};
    return found.upper;
  };
  double before = infinity;
  for (double at = start; at > step; at /= 2) {
    const double upper = upper_at(at);
    if (!Run::would_drown(look, step) || upper == before) return {best, false};
    if (!(upper > before)) {
      before = upper;
      continue;
    }
    for (double coarser = 2 * start; coarser <= task.steps.coarse; coarser *= 2) {
      const double known = best.upper;
      if (!(upper_at(coarser) < known)) break;
    }
    task = std::move(look);
    task.last.answer = best;
    task.last.width = run.width(task, best);
    return {best, true};
  }
  return {best, false};
}

/// The upper bound that is known before any grid.
void start_at_most(Task& task, const Given& question) {
  if (question.delta) task.last.answer.upper = task.window.most;
}

/// Runs a task at finer and finer steps until it is as narrow as wanted or no longer counts beside `largest`.
void refine(Task& task, const Run& run, const Largest& largest, const Given& question) {
  // The width grows with the square of the step. A coarse look says how large it is, and whether the direction matters.
  const double needed = task.steps.needed;
  int last_gain = 0;
  bool hopeless = false;
  bool still = false;
  const auto& other = task.gives_upper ? largest.upper : largest.lower;
  double first = 10 * needed;
  if (question.delta && other.lower > task.saddle.epsilon) {
    first = std::max(needed, 0.7 * std::sqrt((other.lower - task.saddle.epsilon) / task.steps.second_order));
  }
  start_at_most(task, question);
  if (largest.outweighs(task) || (!task.gives_lower && question.delta && are_infinite_beyond(task.parts, *question.delta))) return;
  first = std::min(first, task.steps.coarse);
  if (!task.gives_upper && (task.window.largest - task.window.least) / first > many_points) {
    // So many points that a coarser look costs next to nothing beside them.
    for (double step = std::min(10 * first, task.steps.coarse); step > 2 * first;) {
      task.last.answer = run(task, step);
      if (run.has_seen_enough(task, largest.upper)) return;
      step *= std::clamp(std::sqrt(0.85 / run.excess_of_lower(task, largest.upper)), 0.1, 0.5);
    }
  }
  const Glance glance = glance_before(task, run, first);
  if (glance.is_all) return;
  task.last.answer = run(task, first);
  task.last.width = run.width(task, task.last.answer);
  bool widens = task.last.answer.upper > glance.answer.upper;
  for (int attempt = 0; attempt < 12 && !largest.outweighs(task) && !run.is_settled(task); ++attempt) {
    if (run.has_seen_enough(task, largest.upper)) break;
    // At a step that should do, one that does not help meets rounding.
    const double before = task.last.width;
    if (std::isinf(task.last.answer.lower)) break;
    if (before <= task.wanted && (!task.grid.follows_step || still)) break;
    if (!task.last.cheap && ((attempt > 3 && attempt > last_gain + 1) || (hopeless && task.last.step < std::min(needed, 1 / task.slope))))
      break;
    double factor = std::isfinite(before) ? std::sqrt(0.85 * task.wanted / before) : 0.25;
    if (task.gives_upper != task.gives_lower && attempt == 0) factor = std::min(0.5, needed / task.last.step);
    if (task.grid.follows_step) {
      factor = 0.5;
      // The next but one would be the one needed: it is next.
      const double met = 0.95 * needed / task.last.step;
      if (met < factor && met > factor * factor) factor = met;
    }
    // Where the width does not follow its square the step is already fine enough for a good guess to be impossible.
    const double least = task.last.step < needed ? 0.4 : std::min(0.9, std::max(0.05, 0.95 * needed / task.last.step));
    const double next = task.last.step * std::clamp(factor, least, 0.9);
    if (widens && Run::would_drown(task, next)) break;
    const double old_step = task.last.step;
    const auto old = task.last.answer;
    Enclosure found{0, 0};
    try {
      if (attempt > 0) run.refuse_what_will_not_fit(task);
      found = run(task, next);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::memory && !task.grid.common_grid && task.gives_upper) {
        // Its upper end is of second order, and tests may narrow the lower one. One that had moved no more is as narrow as it was to be.
        if (task.last.width > task.wanted) task.last.refused = error;
        break;
      }
      // There would be nothing but rounding to be seen.
      if (error.code() == ErrorCode::memory && Run::would_drown(task, next)) break;
      // Of delta more digits were wanted than there is memory for.
      const bool is_narrow = question.epsilon && std::log(old.upper / old.lower) <= task.wanted * task.slope;
      // Sums of ratios take no finer step than they have time for: what the last one gave is an answer.
      if (error.code() != ErrorCode::unsupported && !(error.code() == ErrorCode::memory && is_narrow)) throw;
      break;
    }
    widens = found.upper > old.upper;
    // A lower law that the grid makes rises as that grows finer.
    const double risen = std::max(old.lower, found.lower);
    task.last.answer = {risen, task.gives_upper ? std::min(old.upper, found.upper) : std::max(risen, std::min(old.upper, found.upper))};
    task.last.width = run.width(task, task.last.answer);
    if (task.gives_upper != task.gives_lower) {
      // One end alone: its error falls with the square of the step, so what it moved says what is left.
      const double moved =
          task.gives_upper ? run.width(task, {task.last.answer.upper, old.upper}) : run.width(task, {old.lower, task.last.answer.lower});
      task.last.width = moved / std::max(old_step * old_step / (task.last.step * task.last.step) - 1, 0.2);
    }
    // One step may by chance suit the kinks of a curve that the grid makes, two hardly do.
    still = before <= task.wanted && task.last.width <= task.wanted;
    hopeless = !(task.last.width < 0.9 * before) && !task.grid.follows_step && !task.grid.first_order;
    if (!hopeless) last_gain = attempt;
  }
  task.last.answer = {std::max(task.last.answer.lower, glance.answer.lower), std::min(task.last.answer.upper, glance.answer.upper)};
}

/// Raises the lower end by the lower laws that are best at other tilts, while it rises.
void try_other_choices(const Tasks& tasks, const Run& run, Largest& largest) {
  double best = tasks.tilt();
  for (const double factor : {0.0, 4.0, 0.25, 2.0, 0.5, 1.4, 0.7}) {
    for (int i = 0; i < 4; ++i) {
      double found = 0;
      for (auto& task : tasks.lower(best * factor)) {
        try {
          found = std::max(found, run(task, std::min(task.steps.needed, task.steps.coarse)).lower);
        } catch (const Error& error) {
          if (error.code() != ErrorCode::memory) throw;
        }
      }
      if (!(found > largest.lower.lower)) break;
      largest.lower = {found, std::max(found, largest.lower.upper)};
      if (factor == 0) break;
      best *= factor;
    }
  }
}

}  // namespace

namespace {

/// Deltas at which densities of allocated epochs have no digits left.
constexpr double far_tail = 1e-11;

/// Whoever only compares the upper end with a level has the answer.
bool is_below_level(const Pld& accountant, const Enclosure& found) {
  return accountant.upper_only && accountant.level && found.upper <= *accountant.level;
}

bool holds_epoch(const Event& event) {
  return !every_leaf(event, [](const Event& leaf) {
    const auto* users = std::get_if<Event::Users>(&leaf.node());
    return !std::holds_alternative<Event::Allocated>((users != nullptr ? users->event : leaf).node());
  });
}

Enclosure answer_of(const Pld& accountant, const Event& event, const Given& question, laws::Reach reach, const LeafCurves& others,
                    laws::BothDirections directions) {
  Tasks tasks{event, question, accountant.width, accountant.upper_only, reach, others, std::move(directions)};
  const Run run{accountant, question};
  Largest largest;
  const auto take = [&](Task& task) {
    try {
      if (accountant.step > 0) {
        start_at_most(task, question);
        if (largest.outweighs(task)) return;
        task.last.answer = run(task, accountant.step);
        if (task.last.whole_window) task.last.answer = run(task, accountant.step);
      } else {
        refine(task, run, largest, question);
      }
    } catch (const Error& error) {
      // Without a narrower bound from below there is still an answer.
      if (error.code() != ErrorCode::memory || task.gives_upper) throw;
    }
    largest.take(task);
  };
  for (auto& task : tasks.all()) take(task);
  if (tasks.all().empty()) return largest.answer();
  const auto is_wide = [&] { return run.width(tasks.all().front(), largest.answer()) > accountant.width; };
  if (accountant.step == 0 && !accountant.upper_only && is_wide()) {
    for (auto& task : tasks.by_tests(tasks.all())) take(task);
  }
  for (const auto& task : tasks.all()) {
    if (task.last.refused && is_wide()) throw Error{*task.last.refused};
  }
  if (tasks.has_choice() && accountant.step == 0 && !accountant.upper_only) try_other_choices(tasks, run, largest);
  return largest.answer();
}

/// Of a user's epoch, what is told as is best by a coarse look at the upper end. Any choice is sound.
void choose_what_is_told(laws::BothDirections& directions, Pld accountant, const Event& event, const Given& question, laws::Reach reach,
                         const LeafCurves& others) {
  if (!laws::choose_what_is_told(directions.remove, 1)) return;
  accountant.upper_only = true;
  accountant.level.reset();
  accountant.step = 0.05;
  double best = infinity;
  double chosen = 1;
  const auto look = [&](double tilt) {
    laws::choose_what_is_told(directions.remove, tilt);
    try {
      const double found = answer_of(accountant, event, question, reach, others, directions).upper;
      if (found < best) chosen = tilt;
      best = std::min(best, found);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
    }
  };
  for (const double tilt : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0}) look(tilt);
  const double found = chosen;
  for (const double factor : {1 / 1.15, 1.15}) look(found * factor);
  laws::choose_what_is_told(directions.remove, chosen);
}

Enclosure answer_of(const Pld& accountant, const Event& event, const Given& question, laws::Reach reach, const LeafCurves& others) {
  auto directions = laws::both_directions(event, others, 1, reach, accountant.upper_only);
  choose_what_is_told(directions, accountant, event, question, reach, others);
  return answer_of(accountant, event, question, reach, others, std::move(directions));
}

/// The same with an upper end by all rounds of an epoch together, where that is smaller than the one by blocks.
Enclosure with_joint_epochs(Enclosure found, Pld accountant, const Event& event, const Given& question, const LeafCurves& others) {
  constexpr double narrow_enough = 1e-3;
  if (accountant.step > 0 || !(found.upper - found.lower > narrow_enough * found.upper)) return found;
  auto directions = joint_directions(event, question.delta.value_or(found.upper), others, laws::Reach::middle);
  if (!directions) return found;
  accountant.upper_only = true;
  try {
    const Enclosure joint = answer_of(accountant, event, question, laws::Reach::middle, others, std::move(*directions));
    return {found.lower, std::max(found.lower, std::min(found.upper, joint.upper))};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
    return found;
  }
}

/// The same with the smallest upper end of coarse steps, each of which is sound: where nearly every round shows next to nothing, cells add little
/// spread, and what many fine ones err by is more than that. They are shares of an epsilon, which is best seen next to a grid point.
Enclosure at_coarse_steps(Enclosure found, const Pld& accountant, const Event& event, const Given& question, const LeafCurves& others) {
  constexpr double near = 48;  // so many steps from 0 it counts whether one is next to a grid point
  constexpr double gain = 1e-3;
  constexpr std::size_t most_bytes = std::size_t{1} << 23;
  Pld quick = accountant;
  quick.upper_only = true;
  quick.memory = std::min(accountant.memory, most_bytes);
  const auto directions = laws::both_directions(event, others, 1, laws::Reach::middle, true);
  // Without the record every loss is above a small one: that direction, where it is another one, is looked at by itself.
  laws::BothDirections with = directions;
  with.symmetric = true;
  double best = found.upper;
  const auto upper_with = [&](double steps) {
    quick.step = question.epsilon.value_or(best) / steps;
    double upper = infinity;
    try {
      upper = answer_of(quick, event, question, laws::Reach::middle, others, with).upper;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
    }
    best = std::clamp(upper, found.lower, best);
    return upper;
  };
  double before = infinity;
  double last = infinity;
  while (best < (1 - gain) * before) {
    before = best;
    for (double steps = 1; steps <= near; steps = std::max(steps + 1, std::floor(1.15 * steps))) last = upper_with(steps);
    // Of a given epsilon all are the same again.
    if (question.epsilon) break;
  }
  // On to finer ones while they narrow.
  for (double steps = 2 * near;; steps *= 2) {
    const double upper = upper_with(steps);
    if (!(upper < last)) break;
    last = upper;
  }
  if (!(best < found.upper)) {
    // Where all of these were left out, a few that take long.
    quick.memory = accountant.memory;
    with = directions;
    for (const double steps : {5.0, 10.0, 20.0, 50.0}) {
      const double known = best;
      if (!(upper_with(steps) < known) && known < found.upper) break;
    }
    return {found.lower, best};
  }
  if (directions.symmetric) return {found.lower, best};
  laws::BothDirections without = directions;
  without.remove = directions.add;
  without.symmetric = true;
  double other = question.delta ? laws::largest_of(directions.add).upper : infinity;
  if (other > best) {
    Pld rough = accountant;
    rough.upper_only = true;
    rough.width = 0.1 * question.epsilon.value_or(found.upper);
    try {
      other = std::min(other, answer_of(rough, event, question, laws::Reach::middle, others, std::move(without)).upper);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
    }
  }
  return {found.lower, std::min(found.upper, std::max(best, other))};
}

/// By the grid in the middle of the curve, or in its tail.
Enclosure answer_of_grids(const Pld& accountant, const Event& event, const Given& question, const LeafCurves& others) {
  if (!holds_epoch(event)) {
    const auto found = answer_of(accountant, event, question, laws::Reach::middle, others);
    // Of rare rounds no tilt makes a narrow grid.
    if (accountant.upper_only || accountant.step > 0 || !accountant.looks_again || found.lower > 0.5 * found.upper) return found;
    const double counted = by_counted_rounds(event, question);
    if (!(counted > 0)) return found;
    return at_coarse_steps({std::min(std::max(found.lower, counted), found.upper), found.upper}, accountant, event, question, others);
  }
  std::optional<Enclosure> found;
  if (question.epsilon || *question.delta >= far_tail) {
    found = with_joint_epochs(answer_of(accountant, event, question, laws::Reach::middle, others), accountant, event, question, others);
    if (!question.epsilon || found->upper >= far_tail || is_below_level(accountant, *found)) return *found;
  }
  try {
    const Enclosure far = answer_of(accountant, event, question, laws::Reach::far_tail, others);
    return found ? Enclosure{std::max(found->lower, far.lower), std::min(found->upper, far.upper)} : far;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
  }
  return found ? *found : answer_of(accountant, event, question, laws::Reach::middle, others);
}

/// Whether there are batches that two laws dominate.
bool holds_crowded_batches(const Event& event) {
  return event.adjacency() == Adjacency::replace_one &&
         !every_leaf(event, [](const Event& leaf) { return !std::holds_alternative<Event::TruncatedPoisson>(leaf.node()); });
}

/// Whether there are so many choices that they may cost no more than one Gaussian release does.
bool holds_many_choices(const Event& event) {
  constexpr double fewest = 20;
  double found = 0;
  for (const auto& [leaf, count] : Releases::of(event).entries()) {
    if (std::holds_alternative<Event::Exponential>(leaf.node())) found += static_cast<double>(count.value());
  }
  return found >= fewest;
}

/// A lower and an upper bound by different proofs. Where they exclude each other one of them is wrong, and there is no answer.
Enclosure of_two_proofs(const Event& event, double lower, double upper) {
  if (lower <= upper) return {lower, upper};
  throw Error{ErrorCode::internal,
              fmt::format("two proofs disagree about {}: one says at least {}, the other at most {}", describe(event), lower, upper)};
}

Enclosure narrowed(const Pld& accountant, const Event& event, const Given& question, const LeafCurves& others) {
  const Enclosure found = answer_of_grids(accountant, event, question, others);
  constexpr double narrow_enough = 1e-3;
  if (accountant.step > 0 || !(found.upper - found.lower > narrow_enough * found.upper)) return found;
  if (is_below_level(accountant, found)) return found;
  const bool has_choices = holds_many_choices(event);
  if (!has_choices && !holds_crowded_batches(event)) return found;
  Pld from_above = accountant;
  from_above.upper_only = true;
  try {
    auto directions = laws::both_directions(event, others);
    auto other = laws::by_other_uppers(directions);
    if (has_choices) {
      if (auto smooth = with_smooth_choices(other ? *other : std::move(directions))) other = std::move(smooth);
    }
    if (!other) return found;
    const Enclosure lowered = answer_of(from_above, event, question, laws::Reach::middle, others, std::move(*other));
    return of_two_proofs(event, found.lower, std::min(found.upper, lowered.upper));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
    return found;
  }
}

}  // namespace

Enclosure answer(const Pld& accountant, const Event& event, const Given& question, const LeafCurves& others) {
  if (!(accountant.width > 0))
    throw Error{ErrorCode::invalid_argument, fmt::format("width is {}, must be greater than 0", accountant.width)};
  if (accountant.step > 0) return narrowed(accountant, event, question, others);
  const double least = by_choices_in_order(event, question);
  Pld narrower = accountant;
  // Of a tiny epsilon a share is wanted.
  constexpr double share = 1e-3;
  if (least > 0) narrower.width = std::min(accountant.width, share * question.epsilon.value_or(least));
  const Enclosure found = narrowed(narrower, event, question, others);
  const auto raised = [&](double lower) { return of_two_proofs(event, std::max(found.lower, lower), found.upper); };
  if (least > 0) return raised(least);
  constexpr double narrow_enough = 1e-3;
  const bool is_wide = !accountant.upper_only && found.upper - found.lower > narrow_enough * found.upper;
  return is_wide ? raised(by_batches_either_way(event, question, found, others)) : found;
}

}  // namespace surety::accounting::pld
