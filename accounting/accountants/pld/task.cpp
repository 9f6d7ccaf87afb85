#include <surety/accounting/accountants/pld/task.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/accountants/pld/composed_curve.h>

namespace surety::accounting::pld {
namespace {

/// The share of a law's mass that is not in atoms, and so spread and merged.
double continuous_share(const LossLaw& law) {
  if (const auto* laplace = std::get_if<LaplaceBase>(&law.base)) return -0.5 * std::expm1(-1 / laplace->scale);
  if (const auto* atoms = std::get_if<AtomsBase>(&law.base)) return atoms->atoms.size() > 3 ? 1 : 0;
  return 1;
}

bool is_lattice(const LossLaw& law) {
  return std::holds_alternative<DiscreteGaussianBase>(law.base) || std::holds_alternative<DiscreteLaplaceBase>(law.base);
}

/// The distance that the grid step should divide; nothing where the atoms fit no grid, or lie so close that they are merged like a density.
std::optional<double> distance_for_grid(const LossLaw& law, double needed) {
  if (std::holds_alternative<BoundedRangeBase>(law.base) || std::holds_alternative<MaximumBase>(law.base)) return std::nullopt;
  if (const auto* atoms = std::get_if<AtomsBase>(&law.base); atoms != nullptr && atoms->atoms.size() > 3) return std::nullopt;
  const auto distance = atom_distance(law);
  // Of a law that is given they may lie as close as they like.
  const auto* given = std::get_if<AtomsBase>(&law.base);
  if (given != nullptr && !given->mirrors && distance && *distance < 0.25 * needed) return std::nullopt;
  if (is_lattice(law) && distance && (law.rate != 1 || *distance < 0.25 * needed)) return std::nullopt;
  return distance;
}

/// Whether a distance is a whole number of halves of another one: grid steps are such halves over a whole number.
bool fits(double distance, double other) {
  const double halves = 2 * distance / other;
  return std::abs(halves - std::round(halves)) <= 1e-12 * halves;
}

/// Whether all outcomes of a law lie on the grid that suits two of them, where there are only finitely many.
bool fits_itself(const LossLaw& law) {
  const auto* atoms = std::get_if<AtomsBase>(&law.base);
  if (atoms == nullptr || atoms->atoms.size() < 3) return true;
  const auto loss = [&](std::size_t i) { return atoms->atoms[i].loss; };
  return atoms->atoms.size() == 3 && law.rate == 1 && fits(loss(2) - loss(1), loss(1) - loss(0));
}

/// Chooses the tilt, and the window: the shortest for which Chernoff's bounds leave a small share of delta outside.
void choose_window(Task& task, const ApproximateCumulants& k, double step, const Given& question) {
  const double s_best = task.saddle.s;
  task.slope = s_best;
  const double epsilon = task.saddle.epsilon;
  const double log_delta = task.saddle.log_delta;
  // Whoever asks for delta wants its digits, also where they make little of epsilon.
  const double log_tolerance = std::log(0.03 * std::min(1.0, s_best * task.wanted)) - (question.epsilon ? 5 : 0);
  // Between two atoms Chernoff's bound may be far above delta.
  const double gap = std::min(s_best * task.steps.distance, 60.0);
  task.cut.log_above = std::max(task.cut.log_above, log_delta - std::log(laws::count_of(task.parts)) + log_tolerance - gap - 3);
  // How far the tilted mass may be above the smallest possible, so that its rounding is still small.
  const auto allowed = [&](double s) { return log_tolerance + 25 - std::log1p(1 / (s * step)); };
  const auto waste = [&](double s, const Cumulants& here) { return here.value + log_alias(s) - s * epsilon - log_delta; };
  double s = s_best;
  if (s_best * task.wanted > 1) {
    // Next to the largest loss: the grid cannot follow so steep a tilt, and need not.
    double low = std::log(1e-4);
    double high = std::log(s_best);
    for (int i = 0; i < 18; ++i) {
      const double mid = 0.5 * (low + high);
      (waste(std::exp(mid), k.at(std::exp(mid))) <= allowed(std::exp(mid)) ? high : low) = mid;
    }
    s = std::exp(high);
  }
  const auto here = k.at(s);
  const double deviation = std::sqrt(here.variance) + 4 * std::min(task.wanted, 1.0);
  const double quiet = std::max(waste(s, here), 1.0) - log_tolerance + gap + 1;
  task.saddle.s = s;
  task.window.largest = infinity;
  task.window.least = -infinity;
  for (double factor = 1; factor < 16; factor *= 1.25) {
    const double a = factor / deviation;
    const double end = (k.at(s + a).value - here.value + quiet) / a;
    if (end < task.window.largest) {
      task.window.largest = end;
      task.window.right_tilt = a;
    }
    const double begin = -(k.at(s - a).value - here.value + quiet) / a;
    if (begin > task.window.least) {
      task.window.least = begin;
      task.window.left_tilt = a;
    }
  }
  task.window.clear = (1 - log_tolerance - log_delta) / s;
}

/// A first saddle, at which laws may be cut; false where they are to be cut farther out, at `log_delta`.
bool place_saddle(Task& task, const ApproximateCumulants& k, const Given& question, double& log_delta, bool may_try_again) {
  task.saddle = find_saddle(k, std::clamp(20 / task.wanted, 1.0, 1e7), [&](const Saddle& at) {
    if (question.delta) return at.log_delta < log_delta;
    return at.epsilon > *question.epsilon || at.log_delta < -1500;
  });
  if (question.epsilon) {
    task.saddle.log_delta += task.saddle.s * (task.saddle.epsilon - *question.epsilon);
    task.saddle.epsilon = *question.epsilon;
    if (task.saddle.log_delta < log_delta && may_try_again) {
      log_delta = std::max(1.5 * task.saddle.log_delta - 10, -11000.0);
      return false;
    }
  } else {
    task.saddle.epsilon += (task.saddle.log_delta - log_delta) / task.saddle.s;
    task.saddle.log_delta = log_delta;
  }
  task.saddle.epsilon = std::min(task.saddle.epsilon, k.largest());
  task.window.support_least = k.least();
  task.window.support_largest = k.largest();
  return true;
}

void widen_cell_range(Task& task) {
  for (const auto& part : task.parts) {
    const auto bounds = range(part.upper, task.cut);
    task.window.cell_range = std::max(task.window.cell_range, bounds.largest - bounds.least);
  }
}

/// The step that is needed, and whether all atoms lie on one grid.
void choose_step(Task& task) {
  const auto& parts = task.parts;
  const auto needed_step = [&](double continuous) {
    task.steps.second_order = std::max(continuous, 1e-9) * (task.saddle.s + 1) / (task.gives_upper && task.gives_lower ? 6 : 12);
    return std::sqrt(0.85 * task.wanted / task.steps.second_order);
  };
  double continuous = 0;
  for (const auto& part : parts) {
    task.grid.follows_step = task.grid.follows_step || std::holds_alternative<MaximumBase>(part.upper.base);
    if (task.gives_upper != task.gives_lower) {
      // One end alone moves with where atoms lie between grid points.
      const auto* atoms = std::get_if<AtomsBase>(&part.upper.base);
      task.grid.follows_step = task.grid.follows_step || (atoms != nullptr && atoms->atoms.size() > 2);
    }
    continuous += static_cast<double>(part.count) * continuous_share(part.upper);
  }
  task.steps.needed = needed_step(continuous);
  // By tests, atoms are spread and counted like all else.
  if (task.grid.by_tests) task.steps.needed = needed_step(laws::count_of(parts));
  double isolated = 0;
  std::vector<double> distances;
  for (const auto& part : parts) {
    if (task.grid.by_tests) break;
    const double count = static_cast<double>(part.count);
    const auto distance = distance_for_grid(part.upper, task.steps.needed);
    if (!distance) {
      task.grid.first_order = task.grid.first_order || is_lattice(part.upper);
      continue;
    }
    distances.push_back(*distance);
    // Atoms on grid points are exact.
    if (!std::holds_alternative<LaplaceBase>(part.upper.base)) continuous -= count * continuous_share(part.upper);
    if (count * *distance > isolated) {
      isolated = count * *distance;
      task.steps.distance = *distance;
    }
  }
  if (!task.grid.by_tests) task.steps.needed = needed_step(continuous);
  task.grid.common_grid = !task.grid.first_order && std::all_of(distances.begin(), distances.end(), [&](double distance) {
    return fits(distance, task.steps.distance);
  }) && std::all_of(parts.begin(), parts.end(), [](const laws::ReleaseLaws& part) { return fits_itself(part.upper); });
  // At least 50 cells for a law, unless its atoms are all that counts.
  task.steps.coarse = task.steps.distance > 0 && task.steps.distance < task.steps.needed ? task.steps.distance
                                                                                         : std::max(task.window.cell_range / 50, 1e-12);
  if (task.window.cell_range == 0) task.steps.coarse = task.steps.needed;  // outcomes without a spread, however far from 0
}

}  // namespace

Task prepare(Task task, const Given& question) {
  const double log_count = std::log(laws::count_of(task.parts));
  double log_delta = question.delta ? std::log(*question.delta) : -40;
  for (int attempt = 0;; ++attempt) {
    task.cut = {log_delta - log_count - 22, -45 - log_count};
    const ApproximateCumulants k{task.parts, task.cut};
    if (!place_saddle(task, k, question, log_delta, attempt < 12)) continue;
    widen_cell_range(task);
    choose_step(task);
    choose_window(task, k, std::min(task.steps.needed, task.steps.coarse), question);
    task.window.cell_range = 0;
    widen_cell_range(task);
    return task;
  }
}

double step_after_halvings(const Task& task) {
  // Steps are halved as far as this one, and then meet it (`refine`). Where the one before is too wide, so is the one after it looked at.
  const double met = 0.95 * task.steps.needed;
  if (!(task.last.step > 2 * met)) return 0;
  const double before = task.last.step * std::exp2(-std::ceil(std::log2(task.last.step / (2 * met))));
  const double share = before / task.last.step;
  return task.last.width * share * share > 1.2 * task.wanted ? 0.5 * met : 0;
}

}  // namespace surety::accounting::pld
