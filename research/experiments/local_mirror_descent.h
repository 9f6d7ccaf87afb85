// Localized noisy mirror descent over an l_p ball, 1 < p <= 2: "LocalMD" of [HLL22], after [AFKT21].
//
// Phase i = 1, ..., ceil(log n) has n_i = floor(n / 2^i) records of its own and starts at the result c of the phase before it. It minimizes
//
//     (mean loss of its records) + lambda h,   h(x) = ||x - c||_p^2 / (p - 1),   over ||x - c||_p <= rho in the domain,
//
// by T steps x <- argmin <g + lambda grad h(x_t), x> + D_h(x, x_t) / eta_t, eta_t = 2 / (lambda (t + 1)), with g the noisy mean of clipped
// gradients of a secret batch, and returns the mean of x_t with weights t. docs/proofs/frank-wolfe.md#local has the parameters.
//
// [AFKT21] Asi, Feldman, Koren, Talwar: Private Stochastic Convex Optimization: Optimal Rates in l1 Geometry, 2021.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/choices/batch_sampler.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/sampled_releaser.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/objective.h>

namespace surety::experiments {

using namespace optimizers;

/// All public.
struct LocalMirrorDescentOptions {
  LpBall domain;          ///< 1 < p <= 2
  Count dimension;        ///< at least 2
  double lipschitz;       ///< L: no gradient of a record has a larger l_q norm, 1/p + 1/q = 1
  ClippingNorm clip;      ///< C, of gradients, in l2
  double epsilon;         ///< in the formulas of step and batch
  double delta;           ///< in the formula of the step
  double step_scale = 1;  ///< multiplies the printed eta
};

/// What a phase does: its records are those at places first, ..., first + batches.records() - 1.
struct LocalPhase {
  std::size_t first;
  Batches batches;
  Count steps;
  double regularization;  ///< lambda
  double radius;          ///< rho
};

/// The phases of a run on `records` records, at least 3: sizes of batches rounded up, numbers of steps to the nearest.
/// \source docs/proofs/frank-wolfe.md#local
inline std::vector<LocalPhase> local_phases(const LocalMirrorDescentOptions& options, std::uint64_t records) {
  const auto n = static_cast<double>(records);
  const auto d = static_cast<double>(options.dimension.value());
  const double log_d = std::log(d);
  const double eta = options.step_scale * 2 * options.domain.radius.value() / options.lipschitz *
                     std::min(std::sqrt(log_d / n), options.epsilon / std::sqrt(d * log_d * std::log(1 / options.delta)));
  const double p = options.domain.p.value();
  std::vector<LocalPhase> phases;
  std::size_t first = 0;
  for (int i = 1; i <= static_cast<int>(std::ceil(std::log(n))) && records >> i >= 1; ++i) {
    const std::uint64_t own = records >> i;
    const auto own_n = static_cast<double>(own);
    const double size = std::min(own_n, std::ceil(std::max(std::sqrt(own_n / log_d), std::sqrt(d / options.epsilon))));
    const double spread = std::ldexp(eta, -4 * i) * own_n;  // eta_i n_i
    phases.push_back({.first = first,
                      .batches = Batches{Count{own}, Count{static_cast<std::uint64_t>(size)}},
                      .steps = Count{static_cast<std::uint64_t>(std::max(1.0, std::round(own_n * own_n / (size * size))))},
                      .regularization = 1 / spread,
                      .radius = 2 * options.lipschitz * spread * (p - 1)});
    first += own;
  }
  return phases;
}

/// What a step releases: the sum of a batch, which one replaced record moves by 2C.
inline Event local_release(NoiseMultiplier multiplier) { return gaussian(multiplier, Adjacency::replace_one); }

inline Event plan(const LocalPhase& phase, NoiseMultiplier multiplier) {
  return repeat(phase.steps, mechanisms::FixedSizeBatches{phase.batches}.event(local_release(multiplier)));
}

/// The gradient of ||u||_p^2 / (p - 1).
inline std::vector<double> mirror_gradient(std::span<const double> u, LpExponent p) {
  std::vector<double> gradient(u.size());
  const double norm = lp_norm(u, p);
  if (norm == 0) return gradient;
  for (std::size_t j = 0; j < u.size(); ++j) {
    gradient[j] = 2 / (p.value() - 1) * norm * std::copysign(std::pow(std::abs(u[j]) / norm, p.value() - 1), u[j]);
  }
  return gradient;
}

/// argmin of <costs, u> + ||u||_p^2 / (p - 1) over ||u||_p <= radius, radius > 0.
/// \source docs/proofs/frank-wolfe.md#local
inline std::vector<double> mirror_step(std::span<const double> costs, LpExponent p, double radius) {
  const double length = std::min(radius, (p.value() - 1) / 2 * lp_norm(costs, dual(p)));
  if (!(length > 0)) return std::vector<double>(costs.size());
  return LpBall{p, Radius{length}}.minimize_linear(costs);
}

/// Runs one phase from `start`, which is in the domain. The releaser must hold plan(phase, multiplier) for batches of the records of the phase.
/// \return the result of the phase. \pre data.has_labels(), with a label and a row for each place of the phase.
/// \complexity O(T (values of a batch + features)) time.
inline std::vector<double> local_mirror_descent_phase(const Dataset& data, ObjectiveRef objective, const LocalMirrorDescentOptions& options,
                                                      const LocalPhase& phase, NoiseMultiplier multiplier, std::span<const double> start,
                                                      SamplingReleaser& releaser) {
  const LpExponent p = options.domain.p;
  const L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(options.clip, Adjacency::replace_one);
  mechanisms::RecordSum sum{{.clip = options.clip, .grid = mechanisms::grid_for(sensitivity, multiplier), .dimension = data.features()}};
  const Event event = local_release(multiplier);
  const auto size = static_cast<double>(phase.batches.size().value());
  // No point of the domain is farther away than the latter; around 0 that ball is the domain.
  const double radius = std::min(phase.radius, options.domain.radius.value() + lp_norm(start, p));
  std::vector<double> weights(start.begin(), start.end());
  std::vector<double> mean(weights.size());
  std::vector<double> offset(weights.size());
  std::vector<std::size_t> places;
  const auto steps = static_cast<double>(phase.steps.value());
  for (double t = 1; t <= steps; ++t) {
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += weights[j] * (2 * t / (steps * (steps + 1)));
    sum.clear();
    const std::span<const std::size_t> batch = releaser.draw_batch(phase.batches.records().value());
    places.assign(batch.begin(), batch.end());
    for (std::size_t& place : places) place += phase.first;
    add_gradients(data, objective, weights, places, sum);
    const std::vector<double> released = releaser.release_sampled(sum.sum(), sensitivity, event);
    const double eta = 2 / (phase.regularization * (t + 1));
    for (std::size_t j = 0; j < offset.size(); ++j) offset[j] = weights[j] - start[j];
    std::vector<double> costs = mirror_gradient(offset, p);
    for (std::size_t j = 0; j < costs.size(); ++j) costs[j] = eta * (released[j] / size) - (1 - eta * phase.regularization) * costs[j];
    offset = mirror_step(costs, p, radius);
    for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = start[j] + offset[j];
    options.domain.project(weights);
  }
  return mean;
}

}  // namespace surety::experiments
