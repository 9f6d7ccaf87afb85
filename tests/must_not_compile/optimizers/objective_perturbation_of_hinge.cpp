// error: could not convert .*HingeLoss.* to .*ConvexObjectiveRef
#include <surety/optimizers/empirical_risk/objective_perturbation.h>
#include <surety/optimizers/problem/loss.h>

using namespace surety::optimizers;

void perturb(const surety::optimizers::Dataset& data, const ObjectivePerturbationOptions& options, PerturbingReleaser& releaser) {
  (void)objective_perturbation(data, LogisticLoss{}, options, releaser);
  (void)objective_perturbation(data, HingeLoss{}, options, releaser);
}
