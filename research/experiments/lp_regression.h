// Linear regression in l_p geometry, [HLL22] Table 5.1 and Figures 5.2 and 5.3: the instance, and methods that run on it under a charge.
//
// Rows N(0, 0.05^2) in each coordinate, divided by their l_q norm, 1/p + 1/q = 1; y = <x, theta> + N(0, 0.05^2), clipped to |y| <= 1.15,
// where all d coordinates of theta are d^(-1/p); the l_p ball of radius 2; start at 0; (1, 1/T)-DP under replace-one. SubOpt is (loss(w) -
// loss(theta)) / (loss(0) - loss(theta)) on 10,000 fresh rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/streams/noisy_frank_wolfe.h>
#include <surety/optimizers/streams/noisy_sgd.h>
#include <surety/optimizers/streams/online_frank_wolfe.h>
#include <surety/testing/stream.h>

#include "continual.h"
#include "report.h"

namespace surety::experiments {

using namespace optimizers;
using mechanisms::Factorization;

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double radius = 2;
inline constexpr double label_bound = 1.15;

struct Cell {
  double p;
  std::size_t dimension;
  std::uint64_t steps;
  bool sparse = false;   ///< theta is the first unit vector
  double ball = radius;  ///< of the domain
};

/// A run's data, and its test loss as the quadratic function of the weights that it is.
struct Instance {
  Dataset training;
  std::vector<double> truth;
  std::vector<double> moments;       ///< mean of x x^T
  std::vector<double> correlations;  ///< mean of y x

  [[nodiscard]] double loss_difference(std::span<const double> w) const {
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      sum -= 2 * w[i] * correlations[i];
      for (std::size_t j = 0; j < w.size(); ++j) sum += w[i] * moments[i * w.size() + j] * w[j];
    }
    return sum;
  }
  /// (loss(w) - loss(theta)) / (loss(0) - loss(theta)).
  [[nodiscard]] double suboptimality(std::span<const double> w) const {
    const double best = loss_difference(truth);
    return (loss_difference(w) - best) / -best;
  }
};

inline Instance make_instance(const Cell& cell, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  const std::size_t d = cell.dimension;
  const LpExponent q = dual(LpExponent{cell.p});
  std::vector<double> truth(d, std::pow(static_cast<double>(d), -1 / cell.p));
  if (cell.sparse) {
    std::fill(truth.begin(), truth.end(), 0);
    truth[0] = 1;
  }
  std::vector<double> row(d);
  const auto draw = [&] {
    for (double& x : row) x = 0.05 * normal(random);
    const double norm = lp_norm(row, q);
    double score = 0;
    for (std::size_t j = 0; j < d; ++j) score += (row[j] /= norm) * truth[j];
    return std::clamp(score + 0.05 * normal(random), -label_bound, label_bound);
  };
  std::vector<double> values;
  std::vector<double> labels;
  for (std::uint64_t t = 0; t < cell.steps; ++t) {
    labels.push_back(draw());
    values.insert(values.end(), row.begin(), row.end());
  }
  Instance instance{.training = Dataset::dense(d, std::move(values), std::move(labels)),
                    .truth = truth,
                    .moments = std::vector<double>(d * d),
                    .correlations = std::vector<double>(d)};
  constexpr int fresh = 10'000;
  for (int k = 0; k < fresh; ++k) {
    const double label = draw();
    for (std::size_t i = 0; i < d; ++i) {
      instance.correlations[i] += label * row[i] / fresh;
      for (std::size_t j = 0; j < d; ++j) instance.moments[i * d + j] += row[i] * row[j] / fresh;
    }
  }
  return instance;
}

inline LpBall domain_of(const Cell& cell) { return {LpExponent{cell.p}, Radius{cell.ball}}; }
inline SquaredLoss squared_loss() { return {.label_bound = LabelBound{label_bound}, .weight_radius = Radius{radius}}; }
inline Target target_of(const Cell& cell) {
  return {.epsilon = Epsilon{1}, .delta = Delta{1 / static_cast<double>(cell.steps)}, .adjacency = Adjacency::replace_one};
}

/// Step scale and clip, as functions of T, d and p alone. The clip is that of gradients of the loss over 2.
inline OnlineFrankWolfeOptions public_rule(const Cell& cell) {
  const auto t = static_cast<double>(cell.steps);
  const auto d = static_cast<double>(cell.dimension);
  return {.steps = Count{cell.steps},
          .adjacency = Adjacency::replace_one,
          .clip = ClippingNorm{std::pow(t, 0.25) * std::pow(d, 1 / cell.p - 1.5) / 4},
          .step_scale = StepScaleFactor{0.25 + d / (2 * std::sqrt(t))}};
}

template <class Options, class Stream>
std::vector<double> run_online(const Cell& cell, const Options& options, const Dataset& data, Stream& stream) {
  OnlineFrankWolfe algorithm{squared_loss(), domain_of(cell), options, Count{cell.dimension}};
  for (std::size_t i = 0; i < data.size(); ++i) algorithm.observe(data.row(i), data.label(i), stream);
  return {algorithm.weights().begin(), algorithm.weights().end()};
}

/// What a method did on one instance.
struct Outcome {
  std::vector<double> weights;
  double audited_epsilon = 0;
  double seconds = 0;
};

/// Processor time, which other programs do not lengthen.
template <class Function>
double seconds_of(Function function) {
  const std::clock_t start = std::clock();
  function();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// The runs of a method over seeds.
struct Summary {
  std::vector<double> suboptimalities;
  double audited_epsilon = 0;  ///< the largest
  double seconds = infinity;   ///< of the processor, the least

  void add(const Instance& instance, const Outcome& outcome) {
    suboptimalities.push_back(instance.suboptimality(outcome.weights));
    audited_epsilon = std::max(audited_epsilon, outcome.audited_epsilon);
    seconds = std::min(seconds, outcome.seconds);
  }
};

/// Makes a run of a method on an instance, from what depends on the cell alone.
using Method = std::function<Outcome(const Instance&, std::uint64_t seed)>;

/// With `scale` times the step scale of the rule.
inline Method online_frank_wolfe(const Cell& cell, Factorization factorization, double scale = 1) {
  auto options = public_rule(cell);
  options.step_scale = StepScaleFactor{scale * options.step_scale.value()};
  const auto asked = shape(options, Count{cell.dimension});
  const Target target = target_of(cell);
  const auto calibration =
      calibrate([&](NoiseMultiplier z) { return continual_event(factorization, asked.steps, z, asked.adjacency); }, target);
  return [=](const Instance& instance, std::uint64_t seed) {
    Outcome outcome;
    auto [weights, epsilon] = charged(calibration.event, target, seed, [&](auto& reservation, auto& bits) {
      std::vector<double> found;
      outcome.seconds = seconds_of([&] {
        NoisyStream stream{reservation, bits, sum_for(factorization, asked, calibration.value), asked.sensitivity};
        found = run_online(cell, options, instance.training, stream);
      });
      return found;
    });
    outcome.weights = std::move(weights);
    outcome.audited_epsilon = epsilon;
    return outcome;
  };
}

inline Method online_frank_wolfe_without_noise(const Cell& cell) {
  return [=](const Instance& instance, std::uint64_t /*seed*/) {
    testing::ExactStream stream{Grid{.log2_step = -40}};
    return Outcome{.weights = run_online(cell, public_rule(cell), instance.training, stream)};
  };
}

/// The first accountant that has a theorem for the event.
inline CostFunctions quick_cost() {
  return {[](const Event& event, Epsilon at) { return accounting::quick_delta(event, at); },
          [](const Event& event, Delta at) { return accounting::quick_epsilon(event, at); }};
}

/// Offline methods: `algorithm(data, z, releaser)` under `door(reservation, bits, z)`.
template <class Template, class Door, class Algorithm>
Method offline(const Cell& cell, Template event, Door door, Algorithm algorithm) {
  const Target target = target_of(cell);
  const auto calibration = calibrate(event, target, quick_cost());
  return [=](const Instance& instance, std::uint64_t seed) {
    Outcome outcome;
    auto [weights, epsilon] = charged(calibration.event, target, seed, [&](auto& reservation, auto& bits) {
      std::vector<double> found;
      outcome.seconds = seconds_of([&] {
        auto releaser = door(reservation, bits, calibration.value);
        found = algorithm(instance.training, calibration.value, releaser);
      });
      return found;
    });
    outcome.weights = std::move(weights);
    outcome.audited_epsilon = epsilon;
    return outcome;
  };
}

/// The same of disjoint batches: `algorithm(data, options(z), releaser)`.
template <class Options, class Algorithm>
Method of_batches(const Cell& cell, Options options, Algorithm algorithm) {
  return offline(
      cell, [=](NoiseMultiplier z) { return plan(options(z)); },
      [=](auto& reservation, auto& bits, NoiseMultiplier z) {
        return NoisyBatchReleaser{reservation, bits, pass(options(z))};
      },
      [=](const Dataset& data, NoiseMultiplier z, auto& releaser) { return algorithm(data, options(z), releaser); });
}

// Public parameters of the baselines, functions of T, d and p like the rule above: scores are of the size d^(-1/2) and rows of the l2 norm
// d^(1/p - 1/2), hence gradients and curvature. The constants are the best of some that were tried by hand on the table's own instances, four
// seeds at T = 1000 and 10000.
inline ClippingNorm offline_clip(const Cell& cell) {
  return ClippingNorm{std::pow(static_cast<double>(cell.dimension), 1 / cell.p - 1) / 4};
}
inline StepSize offline_step(const Cell& cell) { return StepSize{std::pow(static_cast<double>(cell.dimension), 2 - 2 / cell.p) / 2}; }

inline Method noisy_frank_wolfe_method(const Cell& cell, double scale = 1) {
  const auto options = [=](NoiseMultiplier z) {
    const auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(cell.steps)));
    return NoisyFrankWolfeOptions{
        .noise_multiplier = z, .iterations = Count{root}, .clip = offline_clip(cell), .step_scale = StepScaleFactor{0.15 * scale}};
  };
  return of_batches(cell, options, [=](const Dataset& data, const auto& settings, auto& releaser) {
    return noisy_frank_wolfe(data, squared_loss(), domain_of(cell), settings, releaser);
  });
}

inline Method noisy_sgd_method(const Cell& cell, double scale = 1) {
  const auto options = [=](NoiseMultiplier z) {
    return NoisySgdOptions{.noise_multiplier = z,
                           .batches = Batches{Count{cell.steps}, Count{cell.steps / 10}},
                           .passes = Count{10},
                           .step_size = StepSize{scale * offline_step(cell).value()},
                           .clip = offline_clip(cell)};
  };
  return of_batches(cell, options, [=](const Dataset& data, const auto& settings, auto& releaser) {
    return noisy_sgd(data, squared_loss(), domain_of(cell), settings, releaser);
  });
}

}  // namespace surety::experiments
