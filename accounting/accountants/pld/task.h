// One composition that is to be computed: which laws, at which tilt, in which window, how finely.
#pragma once

#include <optional>

#include <surety/accounting/accountants/pld/saddle.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/text/error.h>

namespace surety::accounting::pld {

/// What is asked for: delta at an epsilon, or epsilon at a delta.
struct Given {
  std::optional<double> epsilon;  // one of the two
  std::optional<double> delta;
};

/// Where the sum of losses is looked at. Losses below `epsilon` only need to keep clear of those above when they wrap around.
struct TaskWindow {
  double least = 0;
  double largest = 0;
  double clear = 0;          // the span at which they are
  double support_least = 0;  // of the composed loss
  double support_largest = 0;
  double right_tilt = 0;
  double left_tilt = 0;
  double cell_range = 0;   // the longest range of a single law
  double most = infinity;  // the largest loss
};

/// How fine the grid must be.
struct TaskSteps {
  double second_order = 0;  // the width is about this times step^2
  double needed = 0;        // the step that follows from it
  double coarse = 0;        // the largest step at which a law is still seen
  double distance = 0;      // of atoms, 0 where there are none
};

/// How laws lie on the grid.
struct TaskGrid {
  bool follows_step = false;  // a law is itself a bound that the grid makes
  bool first_order = false;   // a law has atoms that fit no grid
  bool common_grid = true;    // no law has, and all atoms fit one
  bool by_tests = false;      // bounded from below by tests of the sum of indices, which ask no atom to fit a grid: `compose_many`
};

/// The result of the last run.
struct TaskResult {
  Enclosure answer{0, infinity};
  double width = infinity;
  double step = 0;
  double rounding = 0;  // of delta, the share that rounding was
  double fall = 0;      // the slope as the run found it
  bool cheap = true;    // it was so short that more of them cost little
  bool whole_window = false;
  std::optional<Error> refused{};  // why it was not made
};

/// One composition of pairs, ready to be computed at any step, and what of its enclosure counts for the answer.
struct Task {
  laws::Parts parts;
  bool gives_upper = true;
  bool gives_lower = true;
  double wanted = 0;  // the width aimed at, or for one end alone the error
  Cut cut{};
  Saddle saddle{};
  double slope = 0;  // of -log delta by epsilon, about
  TaskSteps steps{};
  TaskWindow window{};
  TaskGrid grid{};
  TaskResult last{};
};

/// Chooses everything but what the runs leave in the task, from its parts and from what is wanted.
[[nodiscard]] Task prepare(Task task, const Given& question);

/// The step that will be looked at in the end, where steps are halved until they meet the one needed and the last but one is too wide; 0 where an earlier
/// one may do.
[[nodiscard]] double step_after_halvings(const Task& task);

}  // namespace surety::accounting::pld
