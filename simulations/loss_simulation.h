// Bandit convex optimization on simulated losses: an instance drawn from a seed, and the regret of the bandit without projections on it.
//
// Losses f_t(x) = |<a_t, x - x*>| with a_t uniform on the unit sphere of R^n; only f_t(x_t) is seen. x* is fixed for a run. No x has a loss
// below f_t(x*) = 0, so regret is the sum of the losses. A record is a loss function. The losses are simulated, the algorithm is the one
// for real ones: its event is what it would be charged.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/bandits/projection_free_bandit.h>
#include <surety/optimizers/problem/matroid.h>
#include <surety/simulations/simulation.h>

namespace surety::simulations {

using namespace optimizers;

/// The losses of one run, drawn as they are played. The same on every machine with the same standard library.
class SimulatedLosses {
 public:
  SimulatedLosses(std::vector<double> best, std::uint64_t seed) : best_{std::move(best)}, random_{seed}, a_(best_.size()) {}

  /// f_t(point), for the next t. \pre the point has as many coordinates as x*.
  [[nodiscard]] double next(std::span<const double> point);

 private:
  std::vector<double> best_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::vector<double> a_;
};

/// Nonnegative weights of sum 1 from a Dirichlet law of parameters 0.3: a few of them are large.
[[nodiscard]] std::vector<double> drawn_weights(std::size_t size, std::mt19937_64& random);

/// x* of a simplex of scale 1: such weights.
[[nodiscard]] std::vector<double> drawn_point(const Simplex& simplex, std::size_t dimension, std::uint64_t seed);

/// x* of a base polytope: the mean of the bases of smallest cost for 10 vectors of normal costs, with such weights.
template <Matroid M>
[[nodiscard]] std::vector<double> drawn_point(const BasePolytope<M>& polytope, std::size_t dimension, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  std::vector<double> point(dimension);
  for (const double weight : drawn_weights(10, random)) {
    std::vector<double> costs(dimension);
    for (double& cost : costs) cost = normal(random);
    const auto base = polytope.minimize_linear(costs);
    for (std::size_t j = 0; j < dimension; ++j) point[j] += weight * base[j];
  }
  return point;
}

enum class LossInstance {
  simplex,         ///< {x >= 0, sum x = 1}
  uniform_matroid  ///< {0 <= x <= 1, sum x = rank}
};
[[nodiscard]] std::string_view name(LossInstance instance);  ///< "simplex", "uniform-matroid"

enum class LossNoise {
  gaussian,  ///< the least that meets the target, by any factorization
  laplace,   ///< on a tree, (epsilon, 0)-private
  paper      ///< what [ENV21] prints, on a tree: Laplace noise when delta is 0, else Gaussian
};
[[nodiscard]] std::string_view name(LossNoise noise);  ///< "gaussian", "laplace", "paper"

/// A run with the paper's parameters (`printed_options`). All public.
struct LossSimulation {
  LossInstance instance;
  Count steps{10'000};
  Count dimension{50};
  Count rank{1};  ///< of the uniform matroid
  LossNoise noise = LossNoise::gaussian;
  mechanisms::Factorization factorization = mechanisms::Factorization::buffered;  ///< for `LossNoise::gaussian`
  Adjacency adjacency = Adjacency::replace_one;
};

/// \throws Error{invalid_argument} when the domain is a single point, or the bandit refuses its options; Error{unsupported} under
///         add-or-remove-one.
void require_possible(const LossSimulation& simulation);

/// Noise for a run, over the sensitivity of a push, and what it costs.
struct CalibratedLossNoise {
  std::variant<NoiseMultiplier, NoiseScale> amount;  ///< of Gaussian, of Laplace noise
  mechanisms::Factorization factorization;
  Event event;        ///< what a run releases
  Enclosure epsilon;  ///< of that event at the target's delta; at most the target's epsilon
};

/// \throws as `require_possible`; Error{unreachable} when delta is 0 for Gaussian noise; Error{unsupported} when what the paper prints
///         costs more than the target; Error{invalid_argument} when no grid suits the noise, or the adjacencies differ.
[[nodiscard]] CalibratedLossNoise calibrated_noise(const LossSimulation& simulation, const Target& target);

namespace detail {
using LossDomain = BasePolytope<UniformMatroid>;  // that of rank 1 is the simplex

[[nodiscard]] LossDomain domain_of(const LossSimulation& simulation);
[[nodiscard]] SimulatedLosses losses_of(const LossSimulation& simulation, std::uint64_t seed);
[[nodiscard]] ProjectionFreeBanditOptions bandit_options(const LossSimulation& simulation);
[[nodiscard]] mechanisms::GaussianContinualSum gaussian_sum(const LossSimulation& simulation, mechanisms::Factorization factorization,
                                                            NoiseMultiplier multiplier);
[[nodiscard]] mechanisms::TreeSum<mechanisms::Laplace> laplace_sum(const LossSimulation& simulation, NoiseScale scale);
}  // namespace detail

/// The cumulative regret after each step of the instance of that seed, with noise: `noise.event` must be charged before.
/// `noise` is from `calibrated_noise` of this simulation. O(steps dimension), and up to 100 calls of the oracle per batch.
/// \throws as `require_possible`; Error{internal} when the noise is another than `noise.event`; Error{environment} when the bits fail.
[[nodiscard]] std::vector<double> private_regret(const LossSimulation& simulation, const CalibratedLossNoise& noise, std::uint64_t seed,
                                                 mechanisms::BitsRef bits);

/// The same without noise: NOT private. \throws as `require_possible`.
[[nodiscard]] std::vector<double> exact_regret(const LossSimulation& simulation, std::uint64_t seed);

}  // namespace surety::simulations
