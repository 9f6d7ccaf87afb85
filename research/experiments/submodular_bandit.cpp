// [ENV21] The bandit without projections on the base polytope of a submodular function, which the paper names: regret by horizon.
//
//     experiment_submodular_bandit [SEEDS]      default: 5 seeds
//
// Instance (ours). 8 elements, of which element e covers the places e, e + 1 and e + 3 mod 8 of the weights 1/8, 2/8, .., 1; f(S) is the
// weight of what S covers. Losses f_t(x) = |<a_t, x - x*>|, a_t uniform on the unit sphere, x* the mean of the vertices of least cost for 10
// vectors of normal costs, weighted by a Dirichlet law of parameters 0.3; regret is the sum of the losses. (1, 1/T)-DP or (1, 0)-DP under
// replace-one of a loss function.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/bandits/projection_free_bandit.h>
#include <surety/optimizers/problem/submodular.h>
#include <surety/simulations/loss_simulation.h>
#include <surety/simulations/printed/printed_bandit_noise.h>
#include <surety/testing/stream.h>

#include "page_check.h"
#include "report.h"

namespace surety::experiments {
namespace {

using namespace optimizers;
using namespace simulations;

constexpr std::size_t elements = 8;
const Count dimension{elements};

double covered(std::span<const std::size_t> set) {
  std::array<bool, elements> is_covered{};
  for (const std::size_t e : set) {
    for (const std::size_t step : {0U, 1U, 3U}) is_covered[(e + step) % elements] = true;
  }
  double weight = 0;
  for (std::size_t k = 0; k < elements; ++k) weight += is_covered[k] ? static_cast<double>(k + 1) / elements : 0;
  return weight;
}

const SubmodularPolytope& polytope() {
  static const SubmodularPolytope made{elements, covered};
  return made;
}

std::vector<double> drawn_best(std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  std::vector<double> point(elements);
  for (const double weight : drawn_weights(10, random)) {
    std::vector<double> costs(elements);
    for (double& cost : costs) cost = normal(random);
    const auto vertex = polytope().minimize_linear(costs);
    for (std::size_t j = 0; j < elements; ++j) point[j] += weight * vertex[j];
  }
  return point;
}

ProjectionFreeBanditOptions options_of(std::uint64_t steps) {
  return simulations::printed_options(
      {.steps = Count{steps}, .dimension = dimension, .diameter = polytope().diameter(Norm::l2, elements), .lipschitz = 1});
}

struct Run {
  double regret;  ///< per step
  double epsilon;
};

template <class Sensitivity = L2Sensitivity, class Stream>
double play(std::uint64_t steps, std::uint64_t seed, Stream& stream) {
  mechanisms::ReplayBits directions{3000 + seed};
  ProjectionFreeBandit<SubmodularPolytope, Sensitivity> bandit{polytope(), options_of(steps), dimension, normal_directions(directions)};
  SimulatedLosses losses{drawn_best(1000 + seed), 2000 + seed};
  double sum = 0;
  for (std::uint64_t t = 0; t < steps; ++t) {
    const double loss = losses.next(bandit.point());
    sum += loss;
    bandit.observe(loss, stream);
  }
  return sum / static_cast<double>(steps);
}

Run without_noise(std::uint64_t steps, std::uint64_t seed) {
  testing::ExactStream stream{Grid{.log2_step = -30}};
  return {play(steps, seed, stream), 0};
}

Target target_of(double delta) { return {.epsilon = Epsilon{1}, .delta = Delta{delta}, .adjacency = Adjacency::replace_one}; }

Run gaussian_noise(std::uint64_t steps, std::uint64_t seed) {
  constexpr auto factorization = mechanisms::Factorization::buffered;
  const auto options = options_of(steps);
  const auto asked = shape<L2Sensitivity>(options, dimension);
  const Target target = target_of(1 / static_cast<double>(steps));
  const auto found =
      calibrate([&](NoiseMultiplier z) { return mechanisms::continual_event(factorization, asked.steps, z, asked.adjacency); }, target);
  const mechanisms::Headroom headroom{std::max(1.0, static_cast<double>(options.batch.value()) / 2)};
  const mechanisms::GaussianContinualSum sum{
      {.factorization = factorization,
       .steps = asked.steps,
       .dimension = asked.dimension,
       .sensitivity = asked.sensitivity,
       .multiplier = found.value,
       .grid = mechanisms::continual_grid(factorization, asked.steps, asked.sensitivity, found.value, headroom),
       .adjacency = asked.adjacency,
       .headroom = headroom}};
  const auto [regret, epsilon] = charged(found.event, target, 4000 + seed, [&](auto& reservation, auto& bits) {
    NoisyStream stream{reservation, bits, sum, asked.sensitivity};
    return play(steps, seed, stream);
  });
  return {regret, epsilon};
}

/// A tree of noise of density exp(-||x||_2 / b): pure epsilon.
Run euclidean(std::uint64_t steps, std::uint64_t seed) {
  const auto asked = shape<L2Sensitivity>(options_of(steps), dimension);
  const mechanisms::KNorm node{{.scale = accounting::tree_noise_scale(asked.steps, Epsilon{1}),
                                .sensitivity = asked.sensitivity,
                                .grid = Grid{.log2_step = -30},
                                .dimension = dimension,
                                .adjacency = asked.adjacency}};
  const mechanisms::TreeSum sum{node, asked.steps, dimension};
  const auto [regret, epsilon] = charged(sum.event(), target_of(0), 4000 + seed, [&](auto& reservation, auto& bits) {
    NoisyStream stream{reservation, bits, sum, asked.sensitivity};
    return play(steps, seed, stream);
  });
  return {regret, epsilon};
}

struct Method {
  std::string name;
  Run (*run)(std::uint64_t steps, std::uint64_t seed);
};
const std::array<Method, 3> methods{{{"none", without_noise}, {"Gaussian, buffered", gaussian_noise}, {"l2 K-norm, tree", euclidean}}};
constexpr std::array<unsigned, 4> log2_horizons{10, 12, 14, 16};

struct Runs {
  MeanAndDeviation regret;
  double epsilon = 0;  ///< audited, the largest
};
Runs runs_of(const Method& method, unsigned log2_t, std::uint64_t seeds) {
  std::vector<double> regrets;
  double epsilon = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto [regret, cost] = method.run(std::uint64_t{1} << log2_t, seed);
    regrets.push_back(regret);
    epsilon = std::max(epsilon, cost);
  }
  return {mean_and_deviation(regrets), epsilon};
}
std::string cell_of(const Runs& runs) { return fmt::format("{:.3f} ({:.3f})", runs.regret.mean, runs.regret.deviation); }

int page(std::span<char* const> arguments) {
  const std::uint64_t seeds = number_at(arguments, 1, 5);
  fmt::print("{}", heading("Bandits on the base polytope of a submodular function", "research/scripts/experiment submodular_bandit"));
  std::vector<std::string> header{"noise"};
  for (const unsigned log2_t : log2_horizons) header.push_back(fmt::format("T = 2^{}", log2_t));
  header.insert(header.end(), {"slope", "audited epsilon"});
  Table table{header};
  for (const Method& method : methods) {
    std::vector<std::string> row{method.name};
    double epsilon = 0;
    std::vector<double> means;
    for (const unsigned log2_t : log2_horizons) {
      const Runs runs = runs_of(method, log2_t, seeds);
      epsilon = std::max(epsilon, runs.epsilon);
      means.push_back(runs.regret.mean);
      row.push_back(cell_of(runs));
    }
    // Least squares of log2 regret, T times what a step has, on the horizons' logarithms -3, -1, 1, 3 after halving.
    double covariance = 0;
    for (std::size_t i = 0; i < means.size(); ++i) covariance += (2.0 * static_cast<double>(i) - 3) * std::log2(means[i]);
    row.push_back(fmt::format("{:.3f}", 1 + covariance / 20));
    row.push_back(epsilon > 0 ? fmt::format("{:.4f}", epsilon) : "");
    table.add(std::move(row));
  }
  fmt::print(
      "[[ENV21]](../bibliography.md), Algorithm 1, PrivateBandit, on the base polytope of a\n"
      "submodular function, by a value oracle and the greedy rule (`SubmodularPolytope`).\n"
      "8 elements each cover three of 8 weighted places, f is the weight covered (checked to be submodular on all sets), l2 diameter at most {:.4f}.\n"
      "Losses and slopes are as in [projection-free-bandit](projection-free-bandit.md): regret per step, mean (deviation) over {} seeds.\n"
      "epsilon = 1 under replace-one, delta = 1/T for Gaussian noise and 0 for K-norm noise, audited; parameters of line 1, nothing tuned.\n\n{}",
      polytope().diameter(Norm::l2, elements), seeds, table.markdown());
  return 0;
}

/// How two rows of the page begin, and a run of every method at the shortest horizon.
void make_fixed_part(FixedPart& part) {
  part.show(Table::line({methods[0].name, cell_of(runs_of(methods[0], 10, 5)), cell_of(runs_of(methods[0], 12, 5))}));
  part.show(Table::line({methods[1].name, cell_of(runs_of(methods[1], 10, 5))}));
  part.add("diameter", polytope().diameter(Norm::l2, elements));
  for (const Method& method : methods) {
    const auto [regret, epsilon] = method.run(1024, 1);
    part.add(method.name + ", T = 1024: regret per step", regret);
    if (epsilon > 0) part.add(method.name + ", T = 1024: audited epsilon", epsilon);
  }
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page({arguments, static_cast<std::size_t>(count)}, page, make_fixed_part);
}
