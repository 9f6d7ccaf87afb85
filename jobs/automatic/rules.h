// Options of an algorithm that follow from public numbers, where nobody says them: numbers of steps, step sizes, clips, regularization and radii.
//
// With N = 2 n mu / (s C) for the clip C (n mu under replace-one, where s = 2, and C = 1; s = 1 elsewhere), d features with the constant, beta the smoothness of the loss at rows of norm 1:
//
//     gradient-descent                steps N / 10, from 10 to 2000; regularization 0
//     accelerated-gradient-descent    steps sqrt(N), from 10 to 500; regularization 0
//     mirror-descent                  radius 5 sqrt(d), in l1 12 sqrt(d); steps from 30 to 3000, as many as make the optimization error of the theorem a twelfth, in
//                                     l1 and on a simplex a fiftieth, of what noise adds
//     dp-sgd                          sqrt(N) / 15 epochs, from 1 to 20, but for given noise; regularization 0
//     svrg, svrg++                    inner steps N / (2 sqrt(d)), from 20 to 2000, of svrg++ 5/7 of these;
//                                     batches of n / 400 records, at least 0.6 sqrt(n); regularization 0
//     output-perturbation             regularization 0.4 N^(-2/3)
//     objective-perturbation          regularization 0.2 / N, at least 4 beta / (n epsilon) and at least 2e-5
//     streams, gossip, noisy-frank-wolfe   radius min(2.5 sqrt(d), sqrt(N) / 2.5), of polyhedral-frank-wolfe twice that
//     online-to-batch, Frank-Wolfe    clip 1 where 2 sqrt(d) / N is at most 0.002, else 0.5, of polyhedral-frank-wolfe 0.25; online-frank-wolfe step-scale 1,
//                                     noisy-frank-wolfe 0.5 and sqrt(N) / 4 steps, from 30 to 300; the strongly convex learner regularization 0.02 / sqrt(N)
//     private-ftrl                    step-size 15 sqrt(N) / n, at most 35 / sqrt(n)
//     one-pass-sgd                    sqrt(N) / 2.5 batches, at most sqrt(n), at least 8; step-size 3 / beta
//     noisy-sgd                       one batch a pass, N / 10 passes, from 10 to 1000; step-size 1.5 / beta; radius 5 sqrt(d); with --publish last 20 passes over batches of a
//                                     thirtieth, and nothing else
//     gossip of L learners            sqrt(N / L) / 2.5 batches for each learner, at most sqrt(n / L), at least 4; step-size 18 / beta, decreasing as ever
//
// Each is derived up to its constant in docs/reference/default-options.md; constants were chosen on five made tables (docs/results/defaults.md).
// No guarantee rests on them: noise is calibrated for whatever options there are.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/jobs/plans/train_plan.h>

namespace surety::jobs {

/// Of shaped-descent at delta = 0, where steps share epsilon itself: few steps, and a larger share for the matrix, whose noise grows with its number of entries.
/// Chosen on the made tables of docs/results/pure.md.
inline constexpr int pure_steps = 8;
inline constexpr double pure_matrix_share = 0.3;

/// Names of fields and their values.
using FieldValues = std::vector<std::pair<std::string, std::string>>;

/// The public numbers of a training.
struct RuleNumbers {
  double records;   ///< n that are trained on
  double features;  ///< d, with the constant
  double mu;        ///< of the promise: the Gaussian mechanism of multiplier 1 / mu keeps it
  Adjacency adjacency = Adjacency::replace_one;

  /// N above.
  [[nodiscard]] double strength() const { return records * mu * (adjacency == Adjacency::replace_one ? 1 : 2); }
};

/// mu of a promise: 1 / (the least multiplier of Gaussian noise that keeps it). \throws as `calibrate`
[[nodiscard]] double mu_of(const Target& target);

/// What the rules above say of a plan's algorithm. Nothing for squared loss and for algorithms without a rule.
[[nodiscard]] FieldValues rule_fields(const TrainPlan& plan, const RuleNumbers& numbers);

struct RuledFields {
  FieldValues fields = {};
  std::string why = {};  ///< the public numbers
};
/// The same from the numbers that are public in a plan: how many records it says; where their number is public, as many as its file has, and of its features the
/// header says; at delta = 0 the fields of shaped-descent above. Nothing where they are not public or cannot be read beforehand (standard input, a pipe), where neighbours differ in units of several rows, at delta = 0 of all others,
/// and for a plan that will be refused: its fixed defaults hold.
/// \throws Error{bad_data} and Error{environment} of rows in memory, which may come once: what a producer raises belongs to the caller. No other Error.
[[nodiscard]] RuledFields ruled_fields(const TrainPlan& plan);

}  // namespace surety::jobs
