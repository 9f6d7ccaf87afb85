// `--tune`: a search over public candidates, charged as a whole.
//
// The candidates are the combinations of what --tune-over says, each the words of the command with its own values. All of a candidate's
// releases are Gaussian, so that whatever its steps and its clip are it can be given the noise at which it costs gaussian(z), the same for
// all; its score, on the held-out part, costs that too, and no record is in both parts. What is charged is
//
//     best_of(geometric_runs, K, gaussian(z))     K runs are expected, of candidates drawn with replacement
//     repeat(k, gaussian(z))                      k = min(K, candidates) different ones: the budget is split among them
//
// whichever meets the promise with less noise. Where the number of runs has a cap, it is best_of(capped_geometric_runs, K, cap, gaussian(z)); such
// a search can answer at a time that was said before (answer_time.h): a run of each candidate on made-up records says whether cap runs fit, before
// anything is charged. docs/proofs/tuning.md
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "algorithm.h"

namespace surety::cli {

/// One combination of --tune-over.
struct Combination {
  std::string text = {};  ///< "--steps 10 --clip 0.3"
  Arguments words = {};   ///< the same
};

/// All of them, the last option varying fastest. \param over "steps=10,30" each
/// \param own options of the algorithm. \param given those of the command, as they were given
/// \throws Error{invalid_argument} for one that names no option of `own` which may tell candidates apart, or names it twice, for an option that
///         is given beside it, and for fewer than two or too many combinations.
[[nodiscard]] std::vector<Combination> combinations(const std::vector<std::string>& over, const OptionTable& own, const OptionTable& given);
/// The options that a search with these words would tune, as "--steps"; none without --tune.
[[nodiscard]] std::vector<std::string> tuned_options(const Arguments& words, const Algorithm& algorithm);

/// A candidate, and what its run refers to.
struct TunedCandidate {
  std::string text;
  std::shared_ptr<const void> kept;
  std::unique_ptr<TrainingRun> run;
};

/// The search as one run. `shared` and `team` outlive it. \throws Error{unsupported} on several ranks and for units, and where it
/// cannot be said how long a run takes.
[[nodiscard]] std::unique_ptr<TrainingRun> tuned(const TrainOptions& shared, std::vector<TunedCandidate> candidates, Team& team);

}  // namespace surety::cli
