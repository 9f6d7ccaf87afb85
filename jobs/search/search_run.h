// A search over public candidates, charged as a whole.
//
// All of a candidate's releases are Gaussian, so that whatever its steps and its clip are it can be given the noise at which it costs gaussian(z), the
// same for all; its score, on the held-out part, costs that too, and no record is in both parts. What is charged is
//
//     best_of(geometric_runs, K, gaussian(z))     K runs are expected, of candidates drawn with replacement
//     repeat(k, gaussian(z))                      k = min(K, candidates) different ones: the budget is split among them
//
// whichever meets the promise with less noise. Where the number of runs has a cap, it is best_of(capped_geometric_runs, K, cap, gaussian(z)); such
// a search can answer at a time that was said before (answer_time.h): a run of each candidate on made-up records says whether cap runs fit, before
// anything is charged. docs/proofs/tuning.md
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <surety/jobs/algorithms/algorithm.h>

namespace surety::jobs {

/// A candidate, and what its run refers to.
struct TunedCandidate {
  FieldText text;
  std::shared_ptr<TrainPlan> kept;
  std::unique_ptr<TrainingRun> run;
};

/// The search as one run. `shared` and what `context` refers to outlive it. \throws PlanError{unsupported} on several ranks and for units, and where it
/// cannot be said how long a run takes.
[[nodiscard]] std::unique_ptr<TrainingRun> tuned(const TrainPlan& shared, std::vector<TunedCandidate> candidates,
                                                 const TrainContext& context);

}  // namespace surety::jobs
