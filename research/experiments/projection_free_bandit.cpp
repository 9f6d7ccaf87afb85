// [ENV21]: bandit convex optimization without projections, regret by horizon and noise.
//
//     experiment_projection_free_bandit [SEEDS [LOG2_T...]]      default: 5 seeds, T = 2^10 2^12 .. 2^18
//
// Instance. Losses f_t(x) = |<a_t, x - x*>| with a_t uniform on the unit sphere of R^n; only f_t(x_t) is seen. x* is fixed for a run: on
// the simplex from a Dirichlet law of parameters 0.3, on a base polytope the mean of the bases of smallest cost for normal costs, weighted
// by such a law. No x has a loss below f_t(x*) = 0, so regret is the sum of the losses. (1, 1/T)-DP or (1, 0)-DP under replace-one of a
// loss function.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/format.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/bandits/projection_free_bandit.h>
#include <surety/optimizers/problem/matroid.h>
#include <surety/simulations/loss_simulation.h>
#include <surety/simulations/printed/printed_bandit_noise.h>
#include <surety/testing/stream.h>

#include "page_check.h"
#include "report.h"

namespace surety::experiments {
namespace {

using namespace optimizers;
using namespace simulations;
using mechanisms::Factorization;
using mechanisms::TreeSum;

constexpr double lipschitz = 1;

template <class D>
struct Cell {
  D domain;
  Count dimension;
  Count steps;
  QueryRegion queries;

  [[nodiscard]] BanditProblem problem(Count horizon) const {
    return {.steps = horizon, .dimension = dimension, .diameter = domain.diameter(Norm::l2, dimension.value()), .lipschitz = lipschitz};
  }
  [[nodiscard]] ProjectionFreeBanditOptions options(Count horizon) const {
    if constexpr (HasInnerBall<D>) {
      if (queries == QueryRegion::inside) return options_inside(problem(horizon), domain.inner_ball(dimension.value()));
    }
    return simulations::printed_options(problem(horizon));
  }
  [[nodiscard]] Target target(double delta) const {
    return {.epsilon = Epsilon{1}, .delta = Delta{delta}, .adjacency = Adjacency::replace_one};
  }
  [[nodiscard]] double delta() const { return 1 / static_cast<double>(steps.value()); }
};

/// Regret per step, and what it cost.
struct Run {
  double regret;
  double epsilon = 0;
};

/// Plays `bandit` over the whole horizon. \return regret per step.
template <class Bandit, class D, class Stream>
double play(Bandit bandit, const Cell<D>& cell, std::uint64_t seed, Stream& stream) {
  SimulatedLosses losses{drawn_point(cell.domain, cell.dimension.value(), 1000 + seed), 2000 + seed};
  double sum = 0;
  for (std::uint64_t t = 0; t < cell.steps.value(); ++t) {
    const double loss = losses.next(bandit.point());
    sum += loss;
    bandit.observe(loss, stream);
  }
  return sum / static_cast<double>(cell.steps.value());
}

template <class D>
using Method = std::function<Run(const Cell<D>&, std::uint64_t seed)>;

template <class D>
Run without_noise(const Cell<D>& cell, std::uint64_t seed) {
  mechanisms::ReplayBits directions{3000 + seed};
  testing::ExactStream stream{Grid{.log2_step = -30}};
  return {.regret = play(ProjectionFreeBandit<D>{cell.domain, cell.options(cell.steps), cell.dimension, normal_directions(directions)},
                         cell, seed, stream)};
}

/// A run whose stream is `sum`, of this event.
template <class Sensitivity, class D, class Sum>
Run with_sum(const Cell<D>& cell, std::uint64_t seed, Sum sum, const Target& target) {
  const auto options = cell.options(cell.steps);
  mechanisms::ReplayBits directions{3000 + seed};
  const auto [regret, epsilon] = charged(sum.event(), target, 4000 + seed, [&](auto& reservation, auto& bits) {
    NoisyStream stream{reservation, bits, sum, shape<Sensitivity>(options, cell.dimension).sensitivity};
    return play(ProjectionFreeBandit<D, Sensitivity>{cell.domain, options, cell.dimension, normal_directions(directions)}, cell, seed,
                stream);
  });
  return {.regret = regret, .epsilon = epsilon};
}

/// Batches of m records have coordinates of up to m / 2.
mechanisms::Headroom headroom(Count batch) { return mechanisms::Headroom{std::max(1.0, static_cast<double>(batch.value()) / 2)}; }

mechanisms::GaussianContinualSum gaussian_sum(Factorization factorization, Count steps, Count dimension, Count batch, Grid grid,
                                              NoiseMultiplier multiplier) {
  return mechanisms::GaussianContinualSum{{.factorization = factorization,
                                           .steps = steps,
                                           .dimension = dimension,
                                           .sensitivity = L2Sensitivity{1},
                                           .multiplier = multiplier,
                                           .grid = grid,
                                           .adjacency = Adjacency::replace_one,
                                           .headroom = headroom(batch)}};
}

NoiseMultiplier calibrated(Factorization factorization, Count pushes, const Target& target) {
  return calibrate([&](NoiseMultiplier z) { return continual_event(factorization, pushes, z, target.adjacency); }, target).value;
}

template <class D>
Method<D> gaussian_noise(Factorization factorization) {
  return [=](const Cell<D>& cell, std::uint64_t seed) {
    const auto options = cell.options(cell.steps);
    const Count pushes = shape(options, cell.dimension).steps;
    const Target target = cell.target(cell.delta());
    const NoiseMultiplier z = calibrated(factorization, pushes, target);
    const Grid grid = continual_grid(factorization, pushes, L2Sensitivity{1}, z, headroom(options.batch));
    return with_sum<L2Sensitivity>(cell, seed, gaussian_sum(factorization, pushes, cell.dimension, options.batch, grid, z), target);
  };
}

/// An unknown horizon: epochs of 4^e records, each with a factorization of its own.
template <class D>
Run doubling(const Cell<D>& cell, std::uint64_t seed) {
  const Target target = cell.target(cell.delta());
  const Count pushes = doubling_pushes(cell.steps);
  const NoiseMultiplier z = calibrated(Factorization::buffered, pushes, target);
  const Grid grid = continual_grid(Factorization::buffered, pushes, L2Sensitivity{1}, z, headroom(pushes));
  const mechanisms::RestartedSum<mechanisms::GaussianContinualSum> sum{
      pushes, [&](Count epoch) { return gaussian_sum(Factorization::buffered, epoch, cell.dimension, epoch, grid, z); }};
  mechanisms::ReplayBits directions{3000 + seed};
  const auto [regret, epsilon] = charged(sum.event(), target, 4000 + seed, [&](auto& reservation, auto& bits) {
    NoisyStream stream{reservation, bits, sum, L2Sensitivity{1}};
    const auto rule = [&](Count horizon) { return cell.options(horizon); };
    return play(DoublingBandit<D>{cell.domain, rule, cell.dimension, normal_directions(directions)}, cell, seed, stream);
  });
  return {.regret = regret, .epsilon = epsilon};
}

const Grid pure_grid{.log2_step = -30};

/// A tree of independent Laplace noise of this scale over the l1 sensitivity.
template <class D>
Run laplace_tree(const Cell<D>& cell, std::uint64_t seed, NoiseScale scale) {
  const auto asked = shape<L1Sensitivity>(cell.options(cell.steps), cell.dimension);
  return with_sum<L1Sensitivity>(
      cell, seed,
      TreeSum{mechanisms::Laplace{{.scale = scale, .sensitivity = asked.sensitivity, .grid = pure_grid, .adjacency = asked.adjacency}},
              asked.steps, cell.dimension},
      cell.target(0));
}

template <class D>
Run laplace(const Cell<D>& cell, std::uint64_t seed) {
  return laplace_tree(cell, seed, accounting::tree_noise_scale(shape(cell.options(cell.steps), cell.dimension).steps, Epsilon{1}));
}

/// A tree of noise of density exp(-||x||_2 / b).
template <class D>
Run euclidean(const Cell<D>& cell, std::uint64_t seed) {
  const auto asked = shape(cell.options(cell.steps), cell.dimension);
  return with_sum<L2Sensitivity>(cell, seed,
                                 TreeSum{mechanisms::KNorm{{.scale = accounting::tree_noise_scale(asked.steps, Epsilon{1}),
                                                            .sensitivity = asked.sensitivity,
                                                            .grid = pure_grid,
                                                            .dimension = cell.dimension,
                                                            .adjacency = asked.adjacency}},
                                         asked.steps, cell.dimension},
                                 cell.target(0));
}

template <class D>
Run printed_gaussian_tree(const Cell<D>& cell, std::uint64_t seed) {
  const auto options = cell.options(cell.steps);
  const Target target = cell.target(cell.delta());
  const auto printed = simulations::printed_gaussian(options, cell.problem(cell.steps), target);
  const mechanisms::Gaussian noise{
      {.multiplier = printed.noise, .sensitivity = L2Sensitivity{1}, .grid = pure_grid, .adjacency = Adjacency::replace_one}};
  return with_sum<L2Sensitivity>(cell, seed, TreeSum{noise, shape(options, cell.dimension).steps, cell.dimension}, target);
}

template <class D>
Run printed_laplace_tree(const Cell<D>& cell, std::uint64_t seed) {
  return laplace_tree(cell, seed, simulations::printed_laplace(cell.options(cell.steps), cell.problem(cell.steps), cell.target(0)).noise);
}

/// Slope of log regret over log T, by least squares, where regret is T times `per_step`.
double slope(const std::vector<unsigned>& log2_horizons, const std::vector<double>& per_step) {
  double x_mean = 0;
  double y_mean = 0;
  const auto count = static_cast<double>(per_step.size());
  for (std::size_t i = 0; i < per_step.size(); ++i) {
    x_mean += log2_horizons[i] / count;
    y_mean += (log2_horizons[i] + std::log2(per_step[i])) / count;
  }
  double covariance = 0;
  double variance = 0;
  for (std::size_t i = 0; i < per_step.size(); ++i) {
    const double x = log2_horizons[i] - x_mean;
    covariance += x * (log2_horizons[i] + std::log2(per_step[i]) - y_mean);
    variance += x * x;
  }
  return covariance / variance;
}

struct Plan {
  std::uint64_t seeds;
  std::vector<unsigned> log2_horizons;
};

template <class D>
std::vector<std::pair<std::string, Method<D>>> methods_for(QueryRegion queries) {
  std::vector<std::pair<std::string, Method<D>>> methods{{"none", without_noise<D>},
                                                         {"Gaussian, buffered", gaussian_noise<D>(Factorization::buffered)},
                                                         {"Gaussian, tree", gaussian_noise<D>(Factorization::tree)},
                                                         {"Gaussian, buffered, horizon unknown", doubling<D>},
                                                         {"Laplace, tree", laplace<D>},
                                                         {"l2 K-norm, tree", euclidean<D>}};
  if (queries == QueryRegion::around) {
    methods.emplace_back("printed Gaussian, tree", printed_gaussian_tree<D>);
    methods.emplace_back("printed Laplace, tree", printed_laplace_tree<D>);
  }
  return methods;
}

/// The runs of a method over seeds.
struct Runs {
  MeanAndDeviation regret{};
  double epsilon = 0;  ///< audited, the largest
  double seconds = 0;  ///< of the processor, for one run
};

template <class D>
Runs runs_of(const Method<D>& method, const Cell<D>& cell, std::uint64_t seeds) {
  Runs runs;
  std::vector<double> regrets;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    forget_audits();
    const std::clock_t start = std::clock();
    const Run run = method(cell, seed);
    runs.seconds += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / static_cast<double>(seeds);
    regrets.push_back(run.regret);
    runs.epsilon = std::max(runs.epsilon, run.epsilon);
  }
  runs.regret = mean_and_deviation(regrets);
  return runs;
}

std::string text_of(const Runs& runs) { return fmt::format("{:.3f} ({:.3f})", runs.regret.mean, runs.regret.deviation); }

template <class D>
void table(const std::string& title, const D& domain, std::size_t dimension, QueryRegion queries, const Plan& plan) {
  std::vector<std::string> header{"noise"};
  for (const unsigned log2_t : plan.log2_horizons) header.push_back(fmt::format("T = 2^{}", log2_t));
  header.insert(header.end(), {"slope", "audited epsilon", "seconds"});
  Table rows{header};
  for (const auto& [name, method] : methods_for<D>(queries)) {
    std::vector<std::string> row{name};
    std::vector<double> means;
    double epsilon = 0;
    double seconds = 0;
    for (const unsigned log2_t : plan.log2_horizons) {
      const Cell<D> cell{.domain = domain, .dimension = Count{dimension}, .steps = Count{std::uint64_t{1} << log2_t}, .queries = queries};
      const Runs runs = runs_of(method, cell, plan.seeds);
      epsilon = std::max(epsilon, runs.epsilon);
      seconds = runs.seconds;
      means.push_back(runs.regret.mean);
      row.push_back(text_of(runs));
    }
    row.push_back(means.size() > 1 ? fmt::format("{:.3f}", slope(plan.log2_horizons, means)) : "");
    row.push_back(epsilon > 0 ? fmt::format("{:.3g}", epsilon) : "");
    row.push_back(fmt::format("{:.2g}", seconds));
    rows.add(std::move(row));
  }
  fmt::print("{}\n", rows.markdown({.file = "projection-free-bandit",
                                    .labels = {{"domain", std::string{title}}},
                                    .keep = R"((n = 5|elements) \| (none|Gaussian, (buffered|tree)|printed Gaussian, tree) \|)",
                                    .columns = {"domain", "noise", "T = 2^18", "slope", "audited epsilon"}}));
}

const Simplex simplex{Quantity<ScaleRule>{1}};

BasePolytope<UniformMatroid> uniform() { return BasePolytope{UniformMatroid{{.size = 8, .rank = 4}}}; }
BasePolytope<GraphicMatroid> spanning_trees() {
  return BasePolytope{GraphicMatroid{{.vertices = 4, .edges = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}}}};
}

int run(const Plan& plan) {
  fmt::print("{}", heading("Bandit convex optimization without projections", "research/scripts/experiment projection_free_bandit"));
  fmt::print(
      "[[ENV21]](../bibliography.md), Algorithm 1, PrivateBandit: regret per step, mean (standard deviation) over {} seeds.\n"
      "Losses |<a_t, x - x*>|, a_t uniform on the unit sphere; regret is against x*, whose losses are 0.\n"
      "epsilon = 1 under replace-one of a loss function, with delta = 1/T for Gaussian noise and 0 otherwise; the audited epsilon is the largest.\n"
      "*tree* is the paper's aggregation (Algorithms 3 to 5) with exact calibration, *buffered* a factorization, *printed* the paper's noise.\n"
      "The slope is that of log regret over log T, by least squares; the paper's bound has 3/4.\n"
      "Parameters are those of line 1 of Algorithm 1 (losses clipped to [0, L (D + zeta)]), inside the domain `options_inside`; nothing is tuned.\n\n",
      plan.seeds);
  table("Simplex, n = 5", simplex, 5, QueryRegion::around, plan);
  table("Simplex, n = 20", simplex, 20, QueryRegion::around, plan);
  table("Simplex, n = 5, points inside", simplex, 5, QueryRegion::inside, plan);
  table("Base polytope of the uniform matroid of rank 4 on 8 elements", uniform(), 8, QueryRegion::around, plan);
  table("Base polytope of the uniform matroid of rank 4 on 8 elements, points inside", uniform(), 8, QueryRegion::inside, plan);
  table("Spanning trees of the complete graph of 4 vertices, n = 6", spanning_trees(), 6, QueryRegion::around, plan);
  return 0;
}

/// At the shortest horizon one run of every method on three domains, of some inside them, and the beginnings of two rows of the page.
void make_fixed_part(FixedPart& part) {
  const auto add = [&](std::string_view title, const auto& domain, std::size_t dimension, QueryRegion queries) {
    using D = std::remove_cvref_t<decltype(domain)>;
    for (const auto& [name, method] : methods_for<D>(queries)) {
      if (queries == QueryRegion::inside && name != "none" && name != "Gaussian, buffered") continue;
      const Cell<D> cell{.domain = domain, .dimension = Count{dimension}, .steps = Count{1024}, .queries = queries};
      const Run run = method(cell, 1);
      part.add(fmt::format("{}, {}: regret per step", title, name), run.regret);
      if (run.epsilon > 0) part.add(fmt::format("{}, {}: audited epsilon", title, name), run.epsilon);
    }
  };
  add("simplex, n = 5", simplex, 5, QueryRegion::around);
  add("simplex, n = 5, inside", simplex, 5, QueryRegion::inside);
  add("uniform matroid", uniform(), 8, QueryRegion::around);
  add("uniform matroid, inside", uniform(), 8, QueryRegion::inside);
  add("spanning trees", spanning_trees(), 6, QueryRegion::around);
  const Cell<Simplex> shortest{.domain = simplex, .dimension = Count{5}, .steps = Count{1024}, .queries = QueryRegion::around};
  for (const auto& [name, method] : methods_for<Simplex>(QueryRegion::around)) {
    if (name == "none" || name == "Gaussian, buffered") {
      part.show(Table::line({name, text_of(runs_of(method, shortest, 5))}));
    }
  }
}

int page(std::span<char* const> arguments) {
  Plan plan{.seeds = 5, .log2_horizons = {10, 12, 14, 16, 18}};
  if (arguments.size() > 1) plan.seeds = std::strtoull(arguments[1], nullptr, 10);
  if (arguments.size() > 2) plan.log2_horizons.clear();
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    plan.log2_horizons.push_back(static_cast<unsigned>(std::strtoul(arguments[i], nullptr, 10)));
  }
  if (plan.seeds == 0) throw Error{ErrorCode::invalid_argument, "SEEDS must be at least 1"};
  return run(plan);
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page({arguments, static_cast<std::size_t>(count)}, page, make_fixed_part);
}
