// Trainings that publish the last iterate alone, which costs less than all of them (docs/proofs/last-iterate.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <surety/jobs/algorithms/algorithm.h>
#include <surety/optimizers/doors/last_iterate_releaser.h>

namespace surety::jobs {

/// `publish`.
void add_publish(FieldTable& table, Publish& publish);

/// What such a training does with the batches of a plan, at noise multiplier 1. \throws PlanError as `publish` needs it; as `optimizers::plan`.
[[nodiscard]] optimizers::LastIterateDescent last_iterate_descent(const TrainPlan& shared, const AnyConvexObjective& objective,
                                                                  decltype(optimizers::LastIterateDescent::batches) batches,
                                                                  const std::optional<double>& step_size, double regularization);

/// On all records of a file but a part that is held out, and on public batches of a whole file.
[[nodiscard]] std::unique_ptr<TrainingRun> last_iterate_of_file(const GradientDescentPlan& own, const TrainPlan& shared,
                                                                const TrainContext& context);
[[nodiscard]] std::unique_ptr<TrainingRun> last_iterate_of_passes(const NoisySgdPlan& own, const TrainPlan& shared,
                                                                  const TrainContext& context);

}  // namespace surety::jobs
