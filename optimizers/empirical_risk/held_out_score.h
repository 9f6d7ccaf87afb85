// How well a model does on records that it was not trained on, as one release, and what that says of these records and of others drawn as they were.
//
// Of each unit, a record where nothing else is said, that has a usable record, two numbers are added up: B / 2 less its loss, the mean over its usable
// records, and B / 2. The losses lie in [0, B], B public:
//
//   brier          (p - 1)^2 of one model of two classes, p the probability of the label; sum over classes (p_k - [k = label])^2 of several   B = 1, 2
//   log_loss       -log max(p, 0.01)                                                                                             B = log 100
//   error_rate     whether the class of the largest score is another than the label's                                            B = 1
//   squared_error  (s - y)^2 of a score clamped to where labels lie, in [-b, b]; at most b^2                                       B = b^2
//
// docs/proofs/held-out-score.md
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/empirical_risk/sufficient_statistics.h>
#include <surety/optimizers/problem/classes.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/unit_rows.h>

namespace surety::optimizers {

enum class ScoreKind { brier, log_loss, error_rate, squared_error };
/// "brier", "log-loss", "error-rate", "squared-error".
[[nodiscard]] std::string_view name(ScoreKind kind);
/// The inverse. \throws Error{invalid_argument}.
[[nodiscard]] ScoreKind parse_score_kind(std::string_view text);

/// All public.
struct ScoreOptions {
  ScoreKind kind;
  NoiseMultiplier noise_multiplier;  ///< z
  Adjacency adjacency = Adjacency::replace_one;
  std::size_t classes = 1;  ///< of the label: 1 where it is -1 or 1, or a number
  ClassesBy classes_by = ClassesBy::one_against_the_rest;
  LabelBound label_bound{1};  ///< b, of squared error
  UnitEnds unit_ends = {};    ///< in the held-out part, where neighbours differ in units of several rows
};

/// B. \throws Error{invalid_argument} where it is no positive finite number.
[[nodiscard]] double largest_loss(const ScoreOptions& options);
/// The loss of one record, in [0, B] where scores are finite. \pre scores.size() == options.classes; the label is as its reader encodes it
[[nodiscard]] double score_loss(const ScoreOptions& options, std::span<const double> scores, double label);

/// What a score releases: gaussian(z).
[[nodiscard]] Event plan(const ScoreOptions& options);

/// What was released, and the public numbers that say how.
struct ReleasedScore {
  double below;       ///< the noisy sum of B / 2 less losses
  double usable;      ///< that of B / 2, times 2 / B: about how many units there are
  double bound;       ///< B
  double half_bound;  ///< what was added for each unit, B / 2 rounded to the grid
  double sigma;       ///< of the noise of both sums
  double step;        ///< to which that noise was rounded
};

/// One release. A unit moves both sums together by at most B / sqrt(2) in l2 where it comes or goes, and by at most B where it gives way to another. Records of
/// zeros are not usable, and add nothing; a loss that is no number counts as B / 2.
/// \throws Error{invalid_argument} for weights of another number than features times classes, and data without labels; and what the releaser throws.
/// \complexity O(stored values).
[[nodiscard]] ReleasedScore release_score(const Dataset& held_out, std::span<const double> weights, const ScoreOptions& options,
                                          Releaser& releaser);

/// What follows from a release. Where the noise hides how many units there are, nothing does.
struct FoundScore {
  double value;                            ///< about the mean loss
  Enclosure of_these;                      ///< holds the mean loss of the usable units held out
  std::optional<Enclosure> of_the_source;  ///< holds the expected loss of one more unit, where units are independent draws from one law
};
/// Each interval holds what it is about with at least the given probability: `of_these` over the noise, for every data set with a usable unit held out;
/// `of_the_source` over noise and draws of units. Computed in double precision. \source docs/proofs/held-out-score.md#intervals
[[nodiscard]] std::optional<FoundScore> found_score(const ReleasedScore& released, Confidence confidence);

}  // namespace surety::optimizers
