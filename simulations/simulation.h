// Linear bandits on simulated users: instances drawn from a seed, and the regret of an algorithm on them.
//
// The data are simulated, the algorithms are those for real users: with noise they draw what they would draw for people, and their event is
// what they would be charged.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/bandits/linear_bandit.h>
#include <surety/optimizers/bandits/linear_ucb.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/loss.h>

namespace surety::simulations {

using namespace optimizers;

enum class BanditInstance {
  sparse,  ///< contexts uniform on {-1, 1}^d; arms 2m and 2m + 1 have +0.2 and -0.2 on coordinates 5m .. 5m + 4, and 0 elsewhere
  dense    ///< contexts uniform on [-1, 1]^d; each arm's parameters are N(0, I) divided by their l1 norm
};
[[nodiscard]] std::string_view name(BanditInstance instance);  ///< "sparse", "dense"

/// A user: what each arm would bring on average, and with the user's own noise.
struct SimulatedUser {
  std::vector<double> context;
  std::vector<double> means;
  std::vector<double> rewards;
};

/// Standard deviation of the normal noise on rewards.
inline constexpr double reward_deviation = 0.1;

/// Users one after the other, the same on every machine up to the last digits of log and cos.
class SimulatedUsers {
 public:
  /// \throws Error{invalid_argument} when the sparse instance has fewer than 5 features for every two arms.
  SimulatedUsers(BanditInstance instance, Count features, Count arms, std::uint64_t seed);

  [[nodiscard]] SimulatedUser next();
  [[nodiscard]] const std::vector<std::vector<double>>& parameters() const noexcept { return parameters_; }

 private:
  [[nodiscard]] double uniform();  ///< in [0, 1)
  [[nodiscard]] double normal();

  BanditInstance instance_;
  std::size_t features_;
  std::mt19937_64 words_;
  std::vector<std::vector<double>> parameters_;  ///< by arm, of l1 norm 1
};

/// Root mean square of the contexts' l2 norm: public knowledge of an instance.
[[nodiscard]] double typical_norm(BanditInstance instance, Count features);

enum class BanditAlgorithm {
  hdb,    ///< linear_bandit.h
  ucb,    ///< linear_ucb.h
  random  ///< an arm at random: no data used
};
[[nodiscard]] std::string_view name(BanditAlgorithm algorithm);  ///< "hdb", "ucb", "random"

/// A run. Options that an algorithm does not have are ignored. All public.
struct Simulation {
  BanditInstance instance;
  BanditAlgorithm algorithm;
  Count steps{10'000};
  Count features{50};
  Count arms{2};
  Adjacency adjacency = Adjacency::replace_one;
  mechanisms::Factorization factorization = mechanisms::Factorization::buffered;
  Count warm_up{200};               ///< hdb: users per arm
  StepScaleFactor step_scale{0.5};  ///< hdb
  /// hdb: p of the l_p ball of radius 1; default 1 + 1 / max(1, log features), whose points are nearly those of the l1 ball, and whose
  /// vertex does not jump from axis to axis with the noise.
  std::optional<LpExponent> ball = std::nullopt;
  /// hdb: default a tenth of the typical norm. ucb: default 1.
  std::optional<ClippingNorm> clip = std::nullopt;
  RewardBound reward_bound{1.3};
  Exploration exploration{1};  ///< ucb: in units of the paper's width
};

/// What a run releases with noise of that multiplier, nothing for random play.
/// \throws Error{invalid_argument} and Error{unsupported} as the algorithms' shapes do.
[[nodiscard]] std::optional<Event> event(const Simulation& simulation, NoiseMultiplier multiplier);

/// Refuses what `private_regret` would refuse: call it before anything is charged. \throws as `private_regret`, but for the bits.
void require_possible(const Simulation& simulation, NoiseMultiplier multiplier);

/// Draws from a continual sum whose event is charged already.
template <class Sum, class Sensitivity = L2Sensitivity>
class ChargedStream final : public optimizers::StreamReleaser<Sensitivity> {
 public:
  /// `sum` is calibrated for pushes of sensitivity at most `sensitivity`.
  ChargedStream(Sum& sum, mechanisms::BitsRef bits, Sensitivity sensitivity) : sum_{sum}, bits_{bits}, sensitivity_{sensitivity} {}

  [[nodiscard]] std::vector<double> push(const GridVector& contribution, Sensitivity sensitivity) override {
    if (!(sensitivity <= sensitivity_)) {
      throw Error{ErrorCode::internal, "a push is more sensitive than the noise was calibrated for"};
    }
    return sum_.push(contribution, bits_);
  }
  [[nodiscard]] Grid grid() const override { return sum_.grid(); }

 private:
  Sum& sum_;
  mechanisms::BitsRef bits_;
  Sensitivity sensitivity_;
};

namespace detail {
[[nodiscard]] LinearBanditOptions bandit_options(const Simulation& simulation);
[[nodiscard]] LpExponent ball_exponent(const Simulation& simulation);
/// With the paper's width for the noise of `deviation` on each coordinate.
[[nodiscard]] LinearUcbOptions ucb_options(const Simulation& simulation, double deviation);
[[nodiscard]] mechanisms::GaussianContinualSum::Options sum_options(const Simulation& simulation, NoiseMultiplier multiplier);
/// The largest standard deviation on a coordinate of the prefix sums of such a sum.
[[nodiscard]] double largest_deviation(const mechanisms::GaussianContinualSum::Options& options);
[[nodiscard]] std::vector<double> regret_of_random_play(const Simulation& simulation, std::uint64_t seed);

/// How much the chosen arms' means fall short of the best arms', summed up to each user.
template <class Bandit, class Stream>
std::vector<double> regret(Bandit bandit, Stream& stream, const Simulation& simulation, std::uint64_t seed) {
  SimulatedUsers users{simulation.instance, simulation.features, simulation.arms, seed};
  std::vector<double> sums;
  double sum = 0;
  for (std::uint64_t t = 0; t < simulation.steps.value(); ++t) {
    const SimulatedUser user = users.next();
    const RowView row{.indices = {}, .values = user.context, .norm = mechanisms::l2_norm(user.context)};
    const std::size_t arm = bandit.choose(row);
    sum += *std::max_element(user.means.begin(), user.means.end()) - user.means[arm];
    sums.push_back(sum);
    bandit.learn(row, user.rewards[arm], stream);
  }
  return sums;
}
}  // namespace detail

/// The cumulative regret after each user of the instance of that seed, with noise: `event(simulation, multiplier)` must be charged before.
/// A second or so at the default sizes. \throws as `event`; Error{invalid_argument} when there is no grid for the noise, or the instance
/// has too few features; Error{environment} when the bits fail.
[[nodiscard]] std::vector<double> private_regret(const Simulation& simulation, NoiseMultiplier multiplier, std::uint64_t seed,
                                                 mechanisms::BitsRef bits);

/// The same without noise: NOT private.
[[nodiscard]] std::vector<double> exact_regret(const Simulation& simulation, std::uint64_t seed);

/// Regret over several runs at one time.
struct RegretBand {
  std::uint64_t users;
  double mean;
  double deviation;  ///< of the sample, with size - 1; 0 for one run
  double least;
  double largest;
};

/// Bands after each tenth of the users (rounded up), equal times once. \pre runs are not empty, of one length, which is not 0.
[[nodiscard]] std::vector<RegretBand> bands(std::span<const std::vector<double>> runs);

}  // namespace surety::simulations
