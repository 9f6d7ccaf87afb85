// A rule that chooses an algorithm and fields of its plan from public numbers alone.
//
// With n records (or units), d features, nu = d s / (n mu) for mu of the target and s = 2 under replace-one, else 1 (about the size of noise
// in the mean gradient over that of a gradient):
//
//     additive terms of columns with bounds where, of all features that there are then, nu is at most .1 (logistic), .015 (squared) or .03 (several classes;
//       .2 with fewer than 70 records of each feature), and there are 12 records of each, and 3 for each class; then all that follows is by that number of features. Never for units of several rows
//     delta = 0                         with nu of noise as long as the pure noise of 8 steps with 0.7 of epsilon, of at least one number for each feature and class:
//                                       constant where nu > 1, of squared loss .5; else shaped-descent of 8 steps with .3 of epsilon for the matrix, and a ridge of .1 or, of two classes, shrinkage
//     several classes, nu > 1           constant: their shares; else shaped-descent by softmax, of additive terms with shrinkage
//     hinge losses                      gradient-descent, as ever: no rule was fitted
//     units of at most K rows           the constant as for records, by the number of units; else as records of logistic loss, with nu K^(-1/4) in the
//                                       place of nu and 1 / sqrt(K) of the clip share; squared loss likewise, derivatives clipped to half the label bound
//       squared, nu <= .1               shaped-descent with the clip that follows from released residuals and a clip share of 1 / sqrt(K)
//     logistic, 100 features and more, nu > .3 (and at most 1, up to 1,024 features)   mirror-descent in the l1 geometry, with the options of rules.h
//     more features than a second moment is taken of   accelerated-gradient-descent, of logistic loss with the options of rules.h
//     logistic, nu > 1                  constant: the share of the class
//     logistic, 100 features and more   shaped-descent with its own ridge and at least 30 steps
//     logistic                          shaped-descent with T = 10 (nu / .1)^(-1/2) steps, from 10 to 60, from the released share of the class, shrunk by an estimate of its
//                                       risk (owners: with a ridge of .3 instead)
//     squared, nu > .5                  constant: the mean label
//     squared, d <= 15, nu <= .001      sufficient-statistics
//     squared                           shaped-descent with the clip that follows from released residuals
//     squared, every column with bounds or categories: rows of one scale (`rows` scaled), also of additive terms
//
// Columns without bounds count as columns with bounds, whose ranges the training releases, where the noise of a count is at most .6 of the records
// (docs/proofs/ranges.md): not for units, searches and the constant. All numbers of features above are then those of such columns.
//
// How it was fitted, and what it costs: docs/decisions/optimization.md, docs/results/rule.md, docs/results/terms.md, docs/results/other-terms.md,
// docs/results/owners.md, docs/results/learners.md, docs/results/regression.md, docs/results/squared-loss.md,
// docs/results/ranges.md, docs/results/shrinkage.md, docs/results/curve-shrinkage.md, docs/results/pure.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/jobs/plans/train_plan.h>

namespace surety::jobs {

/// What is known of how long rows are.
enum class RowLength {
  unit,
  scaled,  ///< all by one public number
  either,  ///< nobody said, and every column has bounds or categories, so that both are good
};

/// All that the rule sees.
struct PublicNumbers {
  Count records;  ///< that are trained on, or units; a guess under add-or-remove-one
  std::size_t features;
  std::size_t linear_features;  ///< how many they are without hat functions
  Target target;
  Loss loss;
  std::optional<double> label_bound = {};
  std::optional<Count> unit_rows = {};  ///< K, where neighbours differ in units
  std::size_t classes = 0;              ///< how many are listed, or none
  RowLength rows = RowLength::unit;
  std::optional<std::size_t> additive_features = {};  ///< how many they are with additive terms, where the rule may take these
};

struct Choice {
  std::string algorithm;
  std::vector<std::pair<std::string, std::string>> fields;  ///< what is said of its plan: names and values
  std::string why;
};

/// What the rule takes, and behind it what it would take in its place, for fields that the first does not know.
/// \throws Error{invalid_argument} for a target that no Gaussian noise meets; Error{unreachable} likewise.
[[nodiscard]] std::vector<Choice> choices(const PublicNumbers& numbers);

/// What is said of a plan whose algorithm is to be chosen.
struct AutomaticPlan {
  double held_out = 0.2;
  std::optional<std::uint64_t> records = {};  ///< counted where it is not said and their number is public
  bool says_rows = false;                     ///< whether it was said how long rows are
  bool searches = false;                      ///< over candidates, which releases no ranges
};

/// The first of the rule's choices that is one of `known`, with a public count where the number of records is private. Reads the header, and where
/// `records` is not said and their number is public, counts the records. Rows in memory stay for the training: a stream that must be read to be counted holds them.
/// \param plan but for its algorithm. \param known algorithms that know all that was said; where there is one alone, it is chosen and nothing is read, and so is
/// shaped descent for several classes where records cannot be counted; where they can, their number decides
/// \throws PlanError without `records` where the number of records is private or each of several ranks has a file of its own, for standard input, and
///         where no choice of the rule is known.
[[nodiscard]] Choice choose(const TrainPlan& plan, const AutomaticPlan& own, const std::vector<std::string>& known);

/// A plan that was chosen, and why.
struct ChosenPlan {
  TrainPlan plan;
  std::string why;
};
/// The plan with the algorithm and the fields that `choose` takes among all algorithms. \throws as `choose`.
[[nodiscard]] ChosenPlan chosen_plan(TrainPlan plan, const AutomaticPlan& own);

}  // namespace surety::jobs
