// What is said of a training at its end, for people and as JSON.
#pragma once

#include <surety/cli/commands/train/train_options.h>
#include <surety/jobs/algorithms/algorithm.h>
#include <surety/jobs/train/train_job.h>

namespace surety::cli {

void print_report(const TrainOptions& options, const jobs::TrainedModel& trained);

}  // namespace surety::cli
