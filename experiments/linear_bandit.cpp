// Private bandits in high dimension: cumulative regret on a sparse and a dense instance, against the non-private versions and random play.
//
// linear_bandit [SEEDS [USERS]]: 10 seeds of 10,000 users unless told. Some minutes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <surety/accounting/calibrate.h>
#include <surety/accounting/zcdp.h>
#include <surety/optimizers/polyhedral_bandit.h>
#include <surety/optimizers/simulation.h>

#include "report.h"

namespace surety::experiments {
namespace {

using namespace optimizers;

const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-4}, .adjacency = Adjacency::replace_one};

struct Row {
  std::string title;
  Simulation simulation;
  bool has_noise;
  /// DP-HDB with choices of vertices in place of noisy sums.
  std::optional<mechanisms::NoiseShape> choices = std::nullopt;
};

/// Calibrated by zero-concentrated privacy, epsilon_t^2 / 8 for Gumbel noise and epsilon_t^2 / 2 for Laplace noise.
PolyhedralBanditOptions choices_of(const Row& row) {
  PolyhedralBanditOptions options{.arm = {.steps = row.simulation.steps,
                                          .noise_multiplier = NoiseMultiplier{1},
                                          .clip = LinfClip{0.1},
                                          .step_scale = row.simulation.step_scale,
                                          .laplace = row.choices == mechanisms::NoiseShape::laplace},
                                  .arms = row.simulation.arms,
                                  .warm_up = row.simulation.warm_up};
  options.arm.noise_multiplier = calibrate(
                                     [&](NoiseMultiplier z) {
                                       auto candidate = options;
                                       candidate.arm.noise_multiplier = z;
                                       return plan(candidate);
                                     },
                                     target, accounting::Zcdp{})
                                     .value;
  return options;
}

/// A reward of ordinary size on the instance: knowledge that the greedy baseline may use.
double usual_reward(BanditInstance instance) { return instance == BanditInstance::sparse ? 0.5 : 0.2; }

std::vector<Row> rows(BanditInstance instance, Count users) {
  const Simulation random{.instance = instance, .algorithm = BanditAlgorithm::random, .steps = users};
  const auto with = [&](BanditAlgorithm algorithm, auto change) {
    Simulation simulation = random;
    simulation.algorithm = algorithm;
    change(simulation);
    return simulation;
  };
  const auto hdb = with(BanditAlgorithm::hdb, [](Simulation&) {});
  const auto ucb = with(BanditAlgorithm::ucb, [](Simulation&) {});
  const auto on_l1_ball = with(BanditAlgorithm::hdb, [](Simulation& s) { s.ball = LpExponent{1}; });
  const auto by_tree = with(BanditAlgorithm::hdb, [](Simulation& s) { s.factorization = mechanisms::Factorization::tree; });
  const auto greedy = with(BanditAlgorithm::ucb, [](Simulation& s) { s.exploration = Exploration{0}; });
  const auto tuned = with(BanditAlgorithm::ucb, [&](Simulation& s) {
    s.exploration = Exploration{0};
    s.reward_bound = RewardBound{usual_reward(instance)};
  });
  return {{"random play", random, false},
          {"DP-HDB", hdb, true},
          {"DP-HDB on the l1 ball", on_l1_ball, true},
          {"DP-HDB with a binary tree", by_tree, true},
          {"DP-HDB by choices, Gumbel noise", hdb, true, mechanisms::NoiseShape::gumbel},
          {"DP-HDB by choices, Laplace noise", hdb, true, mechanisms::NoiseShape::laplace},
          {"DP-UCB", ucb, true},
          {"DP-UCB, greedy", greedy, true},
          {fmt::format("DP-UCB, greedy, rewards within {}", usual_reward(instance)), tuned, true},
          {"HDB without noise", hdb, false},
          {"UCB without noise", ucb, false},
          {"UCB without noise, greedy", greedy, false}};
}

struct Outcome {
  std::vector<RegretBand> regret;
  double epsilon = 0;  ///< audited, the largest over the runs; 0 for random play, infinite without noise
};

Outcome run(const Row& row, std::uint64_t seeds) {
  std::vector<std::vector<double>> runs;
  Outcome outcome;
  if (!row.has_noise && row.simulation.algorithm != BanditAlgorithm::random) outcome.epsilon = INFINITY;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (!row.has_noise) {
      runs.push_back(exact_regret(row.simulation, seed));
      continue;
    }
    if (row.choices) {
      const auto options = choices_of(row);
      auto [regret, spent] = charged(plan(options), target, seed, [&](accounting::Reservation& reservation, mechanisms::ReplayBits& bits) {
        SharedSelector selector{reservation, bits, plan(options)};
        const SquaredLoss loss{.label_bound = LabelBound{row.simulation.reward_bound.value()}, .weight_radius = Radius{1}};
        return optimizers::detail::regret(PolyhedralBandit{loss, options, row.simulation.features}, selector, row.simulation, seed);
      });
      runs.push_back(std::move(regret));
      outcome.epsilon = std::max(outcome.epsilon, spent);
      continue;
    }
    const auto noise = calibrate([&](NoiseMultiplier z) { return *event(row.simulation, z); }, target);
    auto [regret, spent] = charged(noise.event, target, seed, [&](accounting::Reservation& reservation, mechanisms::ReplayBits& bits) {
      reservation.spend(noise.event);
      return private_regret(row.simulation, noise.value, seed, bits);
    });
    runs.push_back(std::move(regret));
    outcome.epsilon = std::max(outcome.epsilon, spent);
  }
  outcome.regret = bands(runs);
  return outcome;
}

/// Of the mean regret between half of the users and all: 1 is linear.
double slope(const std::vector<RegretBand>& regret) {
  const auto& half = regret[regret.size() / 2 - 1];
  const auto& all = regret.back();
  return std::log(all.mean / half.mean) / std::log(static_cast<double>(all.users) / static_cast<double>(half.users));
}

void print_instance(BanditInstance instance, std::uint64_t seeds, Count users) {
  fmt::print("## {} instance\n\n", instance == BanditInstance::sparse ? "Sparse" : "Dense");
  const auto all = rows(instance, users);
  std::vector<Outcome> outcomes;
  for (const auto& row : all) outcomes.push_back(run(row, seeds));
  std::vector<std::string> header{"mean regret after"};
  for (const std::size_t tenth : {1, 2, 5, 8, 10}) header.push_back(std::to_string(outcomes[0].regret[tenth - 1].users));
  for (const char* column : {"deviation", "least to largest", "slope", "audited epsilon"}) header.emplace_back(column);
  Table table{header};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& regret = outcomes[i].regret;
    std::vector<std::string> cells{all[i].title};
    for (const std::size_t tenth : {1, 2, 5, 8, 10}) cells.push_back(fmt::format("{:.0f}", regret[tenth - 1].mean));
    cells.push_back(fmt::format("{:.0f}", regret.back().deviation));
    cells.push_back(fmt::format("{:.0f} to {:.0f}", regret.back().least, regret.back().largest));
    cells.push_back(fmt::format("{:.2f}", slope(regret)));
    cells.push_back(std::isinf(outcomes[i].epsilon) ? "no noise"
                    : outcomes[i].epsilon == 0      ? "no data"
                                                    : fmt::format("{:.4f}", outcomes[i].epsilon));
    table.add(cells);
  }
  fmt::print("{}\n", table.markdown());
  const double hdb = outcomes[1].regret.back().mean;
  fmt::print("Regret of DP-HDB over that of");
  const char* separator = " ";
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 1) continue;
    fmt::print("{}{}: {:.2f}", separator, all[i].title, hdb / outcomes[i].regret.back().mean);
    separator = "; ";
  }
  std::string better;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].has_noise && outcomes[i].regret.back().mean < hdb) better += fmt::format("{}{}", better.empty() ? "" : "; ", all[i].title);
  }
  fmt::print(".\n\nPrivate rows with less regret than DP-HDB: {}.\n\n", better.empty() ? "none" : better);
}

std::uint64_t argument(int argc, char** argv, int position, std::uint64_t otherwise) {
  if (argc <= position) return otherwise;
  std::uint64_t value = 0;
  const std::string_view text = argv[position];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) {
    throw Error{ErrorCode::invalid_argument, fmt::format("argument {} is '{}', must be a whole number from 1", position, text)};
  }
  return value;
}

}  // namespace
}  // namespace surety::experiments

int main(int argc, char** argv) {
  using namespace surety::experiments;
  const std::uint64_t seeds = argument(argc, argv, 1, 10);
  const surety::Count users{argument(argc, argv, 2, 10'000)};
  fmt::print("{}", heading("Private bandits in high dimension", "scripts/experiment linear_bandit"));
  fmt::print(
      "{} users, 50 features, 2 arms, seeds 1 to {}; (1, 1e-4) joint differential privacy under replace-one, each run charged to a ledger "
      "of "
      "its own and audited. Regret is cumulative: how much the mean rewards of the chosen arms fall short of the best arms'.\n"
      "The instances are those of `surety simulate`: contexts of signs and parameters of 5 coordinates (sparse), contexts uniform on [-1, "
      "1]^50 "
      "and parameters normal (dense), l1 norm 1, noise 0.1 on rewards, which are clamped to 1.3. Options are defaults of the command, "
      "fixed on "
      "other seeds (1000 to 1005); a warm-up of 200 users per arm is in the regret of HDB. DP-HDB is Algorithm 3 of Han et al. with "
      "Gaussian prefix "
      "sums by buffered factorization, on the l_p ball with p = 1 + 1 / log 50 = 1.26 unless it says l1. DP-UCB is that of Shariff and "
      "Sheffet with the same factorization, sensitivity sqrt(2) C, and their confidence width; greedy means width 0. By choices means the "
      "paper's own estimator: each arm moves to privately chosen vertices of the l1 "
      "ball, gradients clipped to 0.1 in each coordinate. The slope is that of "
      "log "
      "regret over log users in the second half.\n\n",
      users.value(), seeds);
  print_instance(surety::optimizers::BanditInstance::sparse, seeds, users);
  print_instance(surety::optimizers::BanditInstance::dense, seeds, users);
}
