// A release of statistics, a training, predictions and conversions as jobs: plans that are values, prepared, charged and run. Target: surety::jobs.
#pragma once

#include <surety/jobs/automatic/automatic.h>
#include <surety/jobs/convert/record_file_job.h>
#include <surety/jobs/parts/release_in_parts.h>
#include <surety/jobs/pictures/bar_picture.h>
#include <surety/jobs/pictures/curve_picture.h>
#include <surety/jobs/pictures/shape_picture.h>
#include <surety/jobs/plans/train_plan.h>
#include <surety/jobs/plans/written_plan.h>
#include <surety/jobs/predict/predictions.h>
#include <surety/jobs/predict/shown_model.h>
#include <surety/jobs/release/release_job.h>
#include <surety/jobs/release/released_report.h>
#include <surety/jobs/release/written_release.h>
#include <surety/jobs/run/prepared.h>
#include <surety/jobs/run/run_bits.h>
#include <surety/jobs/run/run_context.h>
#include <surety/jobs/train/train_job.h>
#include <surety/jobs/train/trained_report.h>
#include <surety/jobs/train/written_plan.h>
#include <surety/jobs/train/written_training.h>
#include <surety/jobs/written/plan_schema.h>
#include <surety/mechanisms/bits/random_bits.h>
