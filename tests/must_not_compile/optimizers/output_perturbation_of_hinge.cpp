// error: could not convert .*HingeLoss.* to .*ConvexObjectiveRef
// The minimum of a loss that has no smooth derivative cannot be certified: its sensitivity is known to nobody.
#include <surety/optimizers/empirical_risk/output_perturbation.h>
#include <surety/optimizers/problem/loss.h>

using namespace surety::optimizers;

void perturb(const surety::optimizers::Dataset& data, const OutputPerturbationOptions& options, Releaser& releaser) {
  (void)output_perturbation(data, LogisticLoss{}, options, releaser);
  (void)output_perturbation(data, HingeLoss{}, options, releaser);
}
