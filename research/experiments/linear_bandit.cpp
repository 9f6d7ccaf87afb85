// Private bandits in high dimension: cumulative regret on a sparse and a dense instance, against the non-private versions and random play.
//
// linear_bandit [SEEDS [USERS]]: 10 seeds of 10,000 users unless told. Some minutes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/optimizers/bandits/polyhedral_bandit.h>
#include <surety/simulations/simulation.h>

#include "page_check.h"
#include "report.h"

namespace surety::experiments {
namespace {

using namespace optimizers;
using namespace simulations;

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
        return simulations::detail::regret(PolyhedralBandit{loss, options, row.simulation.features}, selector, row.simulation, seed);
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

constexpr std::array<std::size_t, 5> tenths{1, 2, 5, 8, 10};

std::vector<std::string> row_of(const Row& row, const Outcome& outcome) {
  const auto& regret = outcome.regret;
  std::vector<std::string> cells{row.title};
  for (const std::size_t tenth : tenths) cells.push_back(fmt::format("{:.0f}", regret[tenth - 1].mean));
  cells.push_back(fmt::format("{:.0f}", regret.back().deviation));
  cells.push_back(fmt::format("{:.0f} to {:.0f}", regret.back().least, regret.back().largest));
  cells.push_back(fmt::format("{:.2f}", slope(regret)));
  cells.push_back(std::isinf(outcome.epsilon) ? "no noise" : outcome.epsilon == 0 ? "no data" : fmt::format("{:.4f}", outcome.epsilon));
  return cells;
}

std::string_view name_of(BanditInstance instance) { return instance == BanditInstance::sparse ? "Sparse" : "Dense"; }

/// Prints the table.
/// \return what it says of DP-HDB beside the other rows.
std::string print_instance(BanditInstance instance, std::uint64_t seeds, Count users) {
  const auto all = rows(instance, users);
  std::vector<Outcome> outcomes;
  for (const auto& row : all) outcomes.push_back(run(row, seeds));
  std::vector<std::string> header{"mean regret after"};
  for (const std::size_t tenth : tenths) header.push_back(std::to_string(outcomes[0].regret[tenth - 1].users));
  for (const char* column : {"deviation", "least to largest", "slope", "audited epsilon"}) header.emplace_back(column);
  Table table{header};
  for (std::size_t i = 0; i < all.size(); ++i) table.add(row_of(all[i], outcomes[i]));
  fmt::print("{}\n", table.markdown({.file = "linear-bandit",
                                     .labels = {{"instance", std::string{name_of(instance)}}},
                                     .keep = R"(\| (random play|DP-HDB|DP-UCB, greedy|UCB without noise) \|)",
                                     .columns = {"instance", "mean regret after", "1000", "10000", "deviation", "audited epsilon"}}));
  const double hdb = outcomes[1].regret.back().mean;
  Table ratios{{"regret of DP-HDB over that of", "ratio"}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 1) continue;
    ratios.add({all[i].title, fmt::format("{:.2f}", hdb / outcomes[i].regret.back().mean)});
  }
  std::string better;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].has_noise && outcomes[i].regret.back().mean < hdb) better += fmt::format("{}{}", better.empty() ? "" : "; ", all[i].title);
  }
  return fmt::format("{}\nPrivate rows with less regret than DP-HDB, {}: {}.\n\n",
                     ratios.markdown({.file = "linear-bandit-ratios", .labels = {{"instance", std::string{name_of(instance)}}}}),
                     name_of(instance), better.empty() ? "none" : better);
}

std::uint64_t argument(std::span<char* const> arguments, std::size_t position, std::uint64_t otherwise) {
  if (arguments.size() <= position) return otherwise;
  std::uint64_t value = 0;
  const std::string_view text = arguments[position];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) {
    throw Error{ErrorCode::invalid_argument, fmt::format("argument {} is '{}', must be a whole number from 1", position, text)};
  }
  return value;
}

int page(std::span<char* const> arguments) {
  const std::uint64_t seeds = argument(arguments, 1, 10);
  const Count users{argument(arguments, 2, 10'000)};
  fmt::print("{}", heading("Private bandits in high dimension", "research/scripts/experiment linear_bandit"));
  fmt::print(
      "{} users, 50 features, 2 arms, seeds 1 to {}; (1, 1e-4) joint differential privacy under replace-one, each run charged and audited.\n"
      "Regret is cumulative, of mean rewards; the slope is that of log regret over log users in the second half. Instances are those of\n"
      "`surety simulate`, sparse (sign contexts, parameters of 5 coordinates) and dense (contexts uniform on [-1, 1]^50, normal parameters); l1 norm\n"
      "1, noise 0.1 on rewards, which are clamped to 1.3. Options are the command's defaults, fixed on other seeds.\n"
      "\n"
      "* *DP-HDB*: [[HLL22]](../bibliography.md), Algorithm 3, on buffered Gaussian prefix sums, on the l_p ball with p = 1 + 1 / log 50 = 1.26 or l1; its\n"
      "  regret includes the warm-up of 200 users per arm. *By choices*: the paper's estimator, with gradients clipped to 0.1 in each coordinate.\n"
      "* *DP-UCB*: [SS18] with the same factorization, sensitivity sqrt(2) C and their confidence width; *greedy* is width 0.\n\n",
      users.value(), seeds);
  const std::string sparse = print_instance(BanditInstance::sparse, seeds, users);
  const std::string dense = print_instance(BanditInstance::dense, seeds, users);
  fmt::print("{}{}", sparse, dense);
  return 0;
}

/// A short run of the rows of the sparse instance (without two that others stand for), of some of the dense one, and a row of the page.
void make_fixed_part(FixedPart& part) {
  const auto add = [&](BanditInstance instance, const Row& row) {
    const Outcome outcome = run(row, 1);
    const auto title = fmt::format("{}, {}", name_of(instance), row.title);
    part.add(title + ": regret of 500 users", outcome.regret.back().mean);
    if (row.has_noise) part.add(title + ": audited epsilon", outcome.epsilon);
  };
  for (const Row& row : rows(BanditInstance::sparse, Count{500})) {
    if (row.choices != mechanisms::NoiseShape::laplace && row.title != "DP-UCB, greedy") add(BanditInstance::sparse, row);
  }
  for (const Row& row : rows(BanditInstance::dense, Count{500})) {
    if (row.title == "random play" || row.title == "DP-HDB" || row.title == "HDB without noise") add(BanditInstance::dense, row);
  }
  const Row random = rows(BanditInstance::sparse, Count{10'000}).front();
  part.show(Table::line(row_of(random, run(random, 10))));
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page({arguments, static_cast<std::size_t>(count)}, page, make_fixed_part);
}
