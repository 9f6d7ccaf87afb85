// Private learning in a program of your own: problems, the doors through which values that depend on data leave, models, and the algorithms that most
// programs want. Every other algorithm has a header of its own; whole trainings are jobs (jobs.h). Target: surety::optimizers.
#pragma once

#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/doors/epoch_releaser.h>
#include <surety/optimizers/doors/perturbing_releaser.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/doors/run_releaser.h>
#include <surety/optimizers/doors/score_releaser.h>
#include <surety/optimizers/empirical_risk/accelerated_gradient_descent.h>
#include <surety/optimizers/empirical_risk/constant_learner.h>
#include <surety/optimizers/empirical_risk/gradient_descent.h>
#include <surety/optimizers/empirical_risk/objective_perturbation.h>
#include <surety/optimizers/empirical_risk/population_intervals.h>
#include <surety/optimizers/empirical_risk/sufficient_statistics.h>
#include <surety/optimizers/models/metrics.h>
#include <surety/optimizers/models/model.h>
#include <surety/optimizers/models/shapes.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/matroid.h>
#include <surety/optimizers/problem/regularizer.h>
