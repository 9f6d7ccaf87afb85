#include <surety/mechanisms/prefix_sums/continual_sum.h>

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/additive/scaled_noise.h>
#include <surety/mechanisms/bits/random_bits.h>

namespace surety::mechanisms::continual_sum_test {
namespace {

const Grid grid{.log2_step = -20};
constexpr auto adjacency = Adjacency::replace_one;
constexpr auto estimates = {TreeEstimate::plain, TreeEstimate::streaming};

GridVector contribution(std::vector<std::int64_t> steps) { return {.grid = grid, .steps = std::move(steps)}; }
GridVector nothing(std::size_t dimension) { return contribution(std::vector<std::int64_t>(dimension, 0)); }
BinaryTree::Node exact(const GridVector& node) { return {.sum = to_reals(node), .variance = 1}; }

Gaussian gaussian_nodes(double multiplier, double sensitivity = 1) {
  return Gaussian{
      {.multiplier = NoiseMultiplier{multiplier}, .sensitivity = L2Sensitivity{sensitivity}, .grid = grid, .adjacency = adjacency}};
}

// ---- The tree ----

TEST(BinaryTree, ReturnsThePrefixSumsWhereNothingIsAdded) {
  for (const auto estimate : estimates) {
    BinaryTree tree{Count{37}, Count{2}, grid, estimate};
    std::mt19937_64 random{7};
    std::int64_t first = 0;
    std::int64_t second = 0;
    for (int t = 1; t <= 37; ++t) {
      const auto a = static_cast<std::int64_t>(random() % 1000) - 500;
      const auto b = static_cast<std::int64_t>(random() % 1000) - 500;
      first += a;
      second += b;
      const auto prefix = tree.push(contribution({a, b}), exact);
      EXPECT_NEAR(prefix[0], std::ldexp(static_cast<double>(first), -20), 1e-12) << t;
      EXPECT_NEAR(prefix[1], std::ldexp(static_cast<double>(second), -20), 1e-12) << t;
    }
  }
}

// A stream of sets of steps: step t contributes 1 in the t-th pair of bits, so a node's sum says how often it holds each step.
constexpr std::size_t steps_per_word = 30;

GridVector name_of(std::size_t step, std::size_t horizon) {
  auto name = nothing(horizon / steps_per_word + 1);
  name.steps[step / steps_per_word] = std::int64_t{1} << 2 * (step % steps_per_word);
  return name;
}

std::int64_t times_held(const GridVector& node, std::size_t step) {
  return node.steps[step / steps_per_word] >> 2 * (step % steps_per_word) & 3;
}

/// Pushes `horizon` named steps into a tree. What the tree has released after n pushes is what a tree of horizon n releases in all, so
/// one run is brute force for every horizon: `after(n, held)` is told how many released nodes hold each step.
void count_nodes(std::size_t horizon, TreeEstimate estimate,
                 const std::function<void(std::size_t n, const std::vector<std::uint64_t>& held)>& after) {
  BinaryTree tree{Count{horizon}, Count{horizon / steps_per_word + 1}, grid, estimate};
  std::vector<std::uint64_t> held(horizon, 0);
  for (std::size_t n = 1; n <= horizon; ++n) {
    static_cast<void>(tree.push(name_of(n - 1, horizon), [&](const GridVector& node) {
      for (std::size_t step = 0; step < n; ++step) held[step] += static_cast<std::uint64_t>(times_held(node, step));
      return exact(node);
    }));
    after(n, held);
  }
}

TEST(BinaryTree, PutsEachStepIntoAsManyNodesAsAreCharged) {
  constexpr std::size_t horizon = 5000;
  count_nodes(horizon, TreeEstimate::plain, [](std::size_t n, const std::vector<std::uint64_t>& held) {
    ASSERT_EQ(*std::max_element(held.begin(), held.end()), accounting::tree_levels(Count{n}).value()) << n;
    for (std::size_t step = 1; step <= n; ++step) {
      ASSERT_EQ(held[step - 1], accounting::nodes_of_step(Count{step}, Count{n}).value()) << step << " of " << n;
    }
  });
  // Every completed interval is released: step q is in those of length 2^l up to the last one that fits into n.
  count_nodes(horizon, TreeEstimate::streaming, [](std::size_t n, const std::vector<std::uint64_t>& held) {
    ASSERT_EQ(*std::max_element(held.begin(), held.end()), accounting::tree_levels(Count{n}).value()) << n;
    for (const std::size_t step : {std::size_t{0}, n / 3, n / 2, n - 1}) {
      std::uint64_t completed = 0;
      for (std::size_t length = 1; (step / length + 1) * length <= n; length *= 2) ++completed;
      ASSERT_EQ(held[step], completed) << step << " of " << n;
    }
  });
}

// The nodes themselves, and not only how many there are.
TEST(BinaryTree, ReleasesTheIntervalsThatItSays) {
  constexpr std::size_t horizon = 200;
  for (const auto estimate : estimates) {
    BinaryTree tree{Count{horizon}, Count{horizon / steps_per_word + 1}, grid, estimate};
    for (std::size_t t = 1; t <= horizon; ++t) {
      std::vector<std::pair<std::size_t, std::size_t>> released;
      static_cast<void>(tree.push(name_of(t - 1, horizon), [&](const GridVector& node) {
        std::size_t first = 0;
        while (first < horizon && times_held(node, first) == 0) ++first;
        std::size_t last = first;
        while (last < horizon && times_held(node, last) == 1) ++last;
        for (std::size_t step = last; step < horizon; ++step) EXPECT_EQ(times_held(node, step), 0) << t;
        released.emplace_back(first, last);
        return exact(node);
      }));
      std::vector<std::pair<std::size_t, std::size_t>> expected;
      for (std::size_t length = 1; t % length == 0; length *= 2) expected.emplace_back(t - length, t);
      if (estimate == TreeEstimate::plain) expected.erase(expected.begin(), expected.end() - 1);
      EXPECT_EQ(released, expected) << t;
    }
  }
}

TEST(BinaryTree, RefusesWhatIsNotItsStream) {
  EXPECT_THROW((BinaryTree{Count{1}, Count{(std::uint64_t{1} << 32) + 1}, grid, TreeEstimate::plain}), Error);
  BinaryTree tree{Count{1}, Count{2}, grid, TreeEstimate::plain};
  EXPECT_THROW(static_cast<void>(tree.push(nothing(3), exact)), Error);
  EXPECT_THROW(static_cast<void>(tree.push({.grid = {.log2_step = -3}, .steps = {0, 0}}, exact)), Error);
  EXPECT_EQ(tree.push(nothing(2), exact).size(), 2U);
  EXPECT_THROW(static_cast<void>(tree.push(nothing(2), exact)), Error);
}

// A release that fails has perhaps shown something, so no second one of the same nodes may follow.
TEST(BinaryTree, IsOverAfterAFailedRelease) {
  BinaryTree tree{Count{4}, Count{1}, grid, TreeEstimate::plain};
  EXPECT_THROW(static_cast<void>(tree.push(nothing(1), [](const GridVector&) -> BinaryTree::Node { throw std::runtime_error{"bits"}; })),
               std::runtime_error);
  EXPECT_THROW(static_cast<void>(tree.push(nothing(1), exact)), Error);
}

// ---- Estimates ----

/// A released node as the test knows it: its steps (first, last] and the variance of its noise.
struct Observation {
  std::size_t first;
  std::size_t last;
  double variance;
};

/// Pushes one step with unit noise of its own in each node: coordinate k of an estimate is the weight of the k-th node in it.
std::vector<double> push_unit_noise(BinaryTree& tree, std::size_t t, std::size_t dimension, std::vector<Observation>& nodes,
                                    const std::function<double()>& variance) {
  std::size_t length = tree.estimate() == TreeEstimate::streaming ? 1 : t & (~t + 1);
  return tree.push(nothing(dimension), [&](const GridVector&) {
    BinaryTree::Node node{.sum = std::vector<double>(dimension, 0.0), .variance = variance()};
    node.sum[nodes.size()] = 1;
    nodes.push_back({t - length, t, node.variance});
    length *= 2;
    return node;
  });
}

/// The weights of the best linear unbiased estimate of the sum of the first t steps: min sum v_k w_k^2 where every step has weight 1.
Eigen::VectorXd best_weights(const std::vector<Observation>& nodes, std::size_t t) {
  const auto rows = static_cast<Eigen::Index>(nodes.size());
  const auto columns = static_cast<Eigen::Index>(t);
  Eigen::MatrixXd holds = Eigen::MatrixXd::Zero(rows, columns);
  Eigen::VectorXd precision(rows);
  for (Eigen::Index k = 0; k < rows; ++k) {
    const auto& node = nodes[static_cast<std::size_t>(k)];
    for (auto step = node.first; step < node.last; ++step) holds(k, static_cast<Eigen::Index>(step)) = 1;
    precision(k) = 1 / node.variance;
  }
  const Eigen::MatrixXd normal = holds.transpose() * precision.asDiagonal() * holds;
  return precision.asDiagonal() * holds * normal.ldlt().solve(Eigen::VectorXd::Ones(columns));
}

// Weighted least squares over all nodes that are known, for every t: nothing better is linear and unbiased.
TEST(StreamingEstimate, IsTheBestLinearUnbiasedOneOfAllNodesSoFar) {
  std::mt19937_64 random{11};
  std::uniform_real_distribution<double> log_variance{-3, 3};
  for (const bool are_equal : {true, false}) {
    constexpr std::size_t dimension = 127;
    BinaryTree tree{Count{64}, Count{dimension}, grid, TreeEstimate::streaming};
    std::vector<Observation> nodes;
    for (std::size_t t = 1; t <= 64; ++t) {
      const auto weights = push_unit_noise(tree, t, dimension, nodes, [&] { return are_equal ? 1.0 : std::exp(log_variance(random)); });
      const Eigen::VectorXd best = best_weights(nodes, t);
      for (std::size_t k = 0; k < dimension; ++k) {
        ASSERT_NEAR(weights[k], k < nodes.size() ? best(static_cast<Eigen::Index>(k)) : 0, 1e-9) << t << ' ' << k;
      }
    }
  }
}

struct Errors {
  double largest;
  double root_mean_square;
};

/// Of prefix sums at unit noise per unit sensitivity: each node has variance `levels` where the whole stream has mu = 1. From the weights
/// of the estimator itself.
Errors theoretical_errors(std::size_t n, TreeEstimate estimate) {
  const std::size_t dimension = estimate == TreeEstimate::streaming ? 2 * n : n;
  BinaryTree tree{Count{n}, Count{dimension}, grid, estimate};
  std::vector<Observation> nodes;
  double largest = 0;
  double sum = 0;
  for (std::size_t t = 1; t <= n; ++t) {
    double variance = 0;
    for (const double weight : push_unit_noise(tree, t, dimension, nodes, [] { return 1.0; })) variance += weight * weight;
    largest = std::max(largest, variance);
    sum += variance;
  }
  const auto levels = static_cast<double>(accounting::tree_levels(Count{n}).value());
  return {std::sqrt(levels * largest), std::sqrt(levels * sum / static_cast<double>(n))};
}

/// The same, measured over the coordinates of one stream of `dimension` coordinates.
Errors measured_errors(std::size_t n, TreeEstimate estimate, std::size_t dimension) {
  const auto levels = static_cast<double>(accounting::tree_levels(Count{n}).value());
  TreeSum<Gaussian> tree{gaussian_nodes(std::sqrt(levels)), Count{n}, Count{dimension}, estimate};
  ReplayBits bits{n};
  double largest = 0;
  double sum = 0;
  for (std::size_t t = 1; t <= n; ++t) {
    double squares = 0;
    for (const double error : tree.push(nothing(dimension), bits)) squares += error * error;
    largest = std::max(largest, squares / static_cast<double>(dimension));
    sum += squares / static_cast<double>(dimension);
  }
  return {std::sqrt(largest), std::sqrt(sum / static_cast<double>(n))};
}

// What is published of these estimators.
TEST(TreeSum, HasThePrefixErrorOfTheory) {
  struct Known {
    std::size_t n;
    TreeEstimate estimate;
    Errors errors;
  };
  for (const auto& [n, estimate, known] :
       {Known{1024, TreeEstimate::plain, {10.49, 7.42}}, Known{4096, TreeEstimate::plain, {12.49, 8.83}},
        Known{1024, TreeEstimate::streaming, {7.99, 5.65}}, Known{4096, TreeEstimate::streaming, {9.40, 6.65}}}) {
    const auto theory = theoretical_errors(n, estimate);
    EXPECT_NEAR(theory.largest, known.largest, 0.005) << n;
    EXPECT_NEAR(theory.root_mean_square, known.root_mean_square, 0.005) << n;
    const auto measured = measured_errors(n, estimate, n == 1024 ? 8000 : 3000);
    EXPECT_NEAR(measured.largest, theory.largest, 0.02 * theory.largest) << n;
    EXPECT_NEAR(measured.root_mean_square, theory.root_mean_square, 0.02 * theory.root_mean_square) << n;
  }
}

// ---- Laws of nodes ----

TEST(TreeSum, TakesNodesOfEveryLaw) {
  static_assert(ContinualSum<TreeSum<Gaussian>, ReplayBits> && ContinualSum<TreeSum<Laplace>, ReplayBits> &&
                ContinualSum<TreeSum<KNorm>, SystemBits> && ContinualSum<TreeSum<GeneralizedGaussian>, SystemBits>);
  const auto check = [](const auto& mechanism, const std::string& event, double standard_deviation) {
    constexpr std::size_t dimension = 200;
    TreeSum sum{mechanism, Count{1000}, Count{dimension}, TreeEstimate::streaming};
    EXPECT_EQ(describe(sum.event()), "repeat(10, " + event + ")");
    EXPECT_EQ(sum.event(), accounting::tree(Count{1000}, mechanism.event()));
    EXPECT_EQ(sum.steps(), Count{1000});
    ReplayBits bits{5};
    double squares = 0;
    for (int t = 1; t <= 32; ++t) {
      const auto prefix = sum.push(contribution(std::vector<std::int64_t>(dimension, std::int64_t{1} << 20)), bits);
      for (const double value : prefix) squares += t == 1 ? (value - 1) * (value - 1) : 0;
      // Within 8 standard deviations of t, for a sum of at most 5 nodes.
      for (const double value : prefix) ASSERT_NEAR(value, t, 8 * std::sqrt(5) * standard_deviation * 2) << event;
    }
    EXPECT_NEAR(std::sqrt(squares / dimension), standard_deviation, 0.2 * standard_deviation) << event;
  };
  const Count dimension{200};
  check(gaussian_nodes(3, 0.5), "gaussian(3)", 1.5);
  check(Laplace{{.scale = NoiseScale{3}, .sensitivity = L1Sensitivity{0.5}, .grid = grid, .adjacency = adjacency}}, "laplace(3)",
        1.5 * std::sqrt(2));
  // A radius of Gamma(d): d + 1 squares of b in all.
  check(KNorm{{.scale = NoiseScale{3}, .sensitivity = L2Sensitivity{0.5}, .grid = grid, .dimension = dimension, .adjacency = adjacency}},
        "k_norm(l2, 200, 3)", 1.5 * std::sqrt(201));
  check(GeneralizedGaussian{{.r = NormExponent{2},
                             .multiplier = NoiseMultiplier{3},
                             .sensitivity = LrSensitivity{0.5},
                             .grid = grid,
                             .dimension = dimension,
                             .adjacency = adjacency}},
        "gaussian(3)", 1.5);
}

TEST(TreeSum, SplitsABudgetOverItsLevels) {
  const std::vector<double> weights{5, 1, 3};
  const auto multipliers = accounting::split_over_levels(Mu{1}, weights);
  std::vector<Gaussian> levels;
  std::vector<Event> events;
  for (const auto z : multipliers) {
    levels.push_back(gaussian_nodes(z.value()));
    events.push_back(levels.back().event());
  }
  // Variances 9/5, 9 and 3 by level. The sum of step 4, streaming: node, halves, each of them node or two leaves.
  const double halves = 2 * (9 * 3.6 / (9 + 3.6));
  for (const auto& [estimate, variance] : {std::pair{TreeEstimate::plain, 3.0}, {TreeEstimate::streaming, 3 * halves / (3 + halves)}}) {
    constexpr std::size_t dimension = 40000;
    TreeSum sum{levels, Count{4}, Count{dimension}, estimate};
    EXPECT_EQ(sum.event(), accounting::tree(Count{4}, events));
    ReplayBits bits{41};
    std::vector<double> prefix;
    for (int t = 1; t <= 4; ++t) {
      prefix = sum.push(nothing(dimension), bits);
      double squares = 0;
      for (const double value : prefix) squares += value * value / dimension;
      const double expected = t == 1 ? 1.8 : t == 4 ? variance : estimate == TreeEstimate::plain ? 9 : halves / 2;
      if (t != 3) {
        EXPECT_NEAR(squares, expected, 0.04 * expected) << t;
      }
    }
  }
  EXPECT_THROW((TreeSum{levels, Count{8}, Count{1}}), Error);
  levels.pop_back();
  EXPECT_THROW((TreeSum{levels, Count{4}, Count{1}}), Error);
  levels.push_back(
      Gaussian{{.multiplier = NoiseMultiplier{1}, .sensitivity = L2Sensitivity{1}, .grid = {.log2_step = -3}, .adjacency = adjacency}});
  EXPECT_THROW((TreeSum{levels, Count{4}, Count{1}}), Error);
}

TEST(TreeSum, EndsAtItsHorizon) {
  TreeSum<Gaussian> sum{gaussian_nodes(2), Count{1000}, Count{3}};
  ReplayBits bits{5};
  for (int t = 0; t < 1000; ++t) EXPECT_EQ(sum.push(nothing(3), bits).size(), 3U);
  EXPECT_THROW(static_cast<void>(sum.push(nothing(3), bits)), Error);
}

// ---- Noise that follows the stream ----

ScaledGaussian scaled_nodes(double multiplier) {
  return ScaledGaussian{{.multiplier = NoiseMultiplier{multiplier}, .grid = grid, .adjacency = adjacency}};
}

/// Nodes that log what they are asked to cover, and release a script.
struct ScriptedNodes {
  using Sensitivity = L2Sensitivity;
  struct Options {
    Grid grid;
  };
  struct Request {
    GridVector node;
    double sensitivity;
    friend bool operator==(const Request&, const Request&) = default;
  };
  std::vector<std::vector<double>>* script;
  std::vector<Request>* log;

  [[nodiscard]] Event event() const { return surety::gaussian(NoiseMultiplier{1}, adjacency); }
  [[nodiscard]] Options options() const { return {grid}; }
  template <ReleaseBits Bits>
  [[nodiscard]] std::vector<double> release(const GridVector& node, L2Sensitivity sensitivity, Bits& /*bits*/) const {
    log->push_back({node, sensitivity.value()});
    return (*script)[log->size() - 1];
  }
  template <ReleaseBits Bits>
  [[nodiscard]] std::vector<double> release(const GridVector& node, Bits& bits) const {
    return release(node, L2Sensitivity{1}, bits);
  }
};

std::vector<std::vector<double>> random_script(std::size_t length, std::size_t dimension) {
  std::mt19937_64 random{17};
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> script(length, std::vector<double>(dimension));
  for (auto& vector : script) {
    for (auto& value : vector) value = normal(random);
  }
  return script;
}

TEST(AdaptiveTreeSum, CoversEachNodeForTheMostSensitiveOfItsSteps) {
  static_assert(AdaptiveContinualSum<AdaptiveTreeSum<ScaledGaussian>, L2Sensitivity, ReplayBits>);
  static_assert(AdaptiveContinualSum<AdaptiveTreeSum<ScaledKNorm<L1Sensitivity>>, L1Sensitivity, ReplayBits>);
  static_assert(!AdaptiveContinualSum<AdaptiveTreeSum<ScaledKNorm<L1Sensitivity>>, L2Sensitivity, ReplayBits>);
  constexpr std::size_t n = 300;
  auto script = random_script(2 * n, n / steps_per_word + 1);
  for (const auto estimate : estimates) {
    std::vector<ScriptedNodes::Request> log;
    AdaptiveTreeSum<ScriptedNodes> sum{{&script, &log}, Count{n}, Count{n / steps_per_word + 1}, estimate};
    EXPECT_EQ(describe(sum.event()), "repeat(9, gaussian(1))");
    std::mt19937_64 random{3};
    ReplayBits bits{1};
    std::vector<double> sensitivities;
    for (std::size_t t = 0; t < n; ++t) {
      sensitivities.push_back(std::exp(std::uniform_real_distribution<double>{-5, 5}(random)));
      static_cast<void>(sum.push(name_of(t, n), L2Sensitivity{sensitivities.back()}, bits));
    }
    for (const auto& [node, sensitivity] : log) {
      double largest = 0;
      for (std::size_t step = 0; step < n; ++step) {
        if (times_held(node, step) == 1) largest = std::max(largest, sensitivities[step]);
      }
      ASSERT_EQ(sensitivity, largest);
    }
    ASSERT_EQ(log.size(), estimate == TreeEstimate::plain ? n : 2 * n - static_cast<std::size_t>(std::popcount(n)));
  }
}

// Sensitivities that never change are the tree of fixed noise: same event, same error.
TEST(AdaptiveTreeSum, OfAConstantSensitivityIsTheTree) {
  constexpr std::size_t dimension = 20000;
  for (const auto estimate : estimates) {
    AdaptiveTreeSum<ScaledGaussian> sum{scaled_nodes(3), Count{15}, Count{dimension}, estimate};
    EXPECT_EQ(sum.event(), accounting::tree(Count{15}, gaussian_nodes(3).event()));
    ReplayBits bits{23};
    std::vector<double> prefix;
    for (int t = 1; t <= 15; ++t) prefix = sum.push(nothing(dimension), L2Sensitivity{0.5}, bits);
    double squares = 0;
    for (const double value : prefix) squares += value * value;
    const double variance = estimate == TreeEstimate::plain ? 4 : 1 + 2.0 / 3 + 4.0 / 7 + 8.0 / 15;
    EXPECT_NEAR(squares / dimension, 2.25 * variance, 0.05 * 2.25 * variance);
  }
}

// Where sensitivities differ, the streaming estimate weighs nodes by what their noise is.
TEST(AdaptiveTreeSum, WeighsNodesByTheirNoise) {
  constexpr std::size_t dimension = 20000;
  AdaptiveTreeSum<ScaledGaussian> sum{scaled_nodes(1), Count{2}, Count{dimension}, TreeEstimate::streaming};
  ReplayBits bits{29};
  static_cast<void>(sum.push(nothing(dimension), L2Sensitivity{1}, bits));
  double squares = 0;
  for (const double value : sum.push(nothing(dimension), L2Sensitivity{3}, bits)) squares += value * value;
  // Nodes of variance 1, 9 and 9: 10 against 9.
  EXPECT_NEAR(squares / dimension, 90.0 / 19, 0.05 * 90.0 / 19);
}

TEST(AdaptiveTreeSum, TakesKNormAndGeneralizedGaussianNodes) {
  ReplayBits bits{31};
  AdaptiveTreeSum k_norm{ScaledKNorm<L2Sensitivity>{{.scale = NoiseScale{2}, .grid = grid, .dimension = Count{3}, .adjacency = adjacency}},
                         Count{7}, Count{3}};
  EXPECT_EQ(describe(k_norm.event()), "repeat(3, k_norm(l2, 3, 2))");
  EXPECT_EQ(k_norm.push(nothing(3), L2Sensitivity{0.1}, bits).size(), 3U);
  AdaptiveTreeSum generalized{
      ScaledGeneralizedGaussian{
          {.r = NormExponent{3}, .multiplier = NoiseMultiplier{2}, .grid = grid, .dimension = Count{3}, .adjacency = adjacency}},
      Count{7}, Count{3}, TreeEstimate::streaming};
  EXPECT_EQ(describe(generalized.event()), "repeat(3, generalized_gaussian(3, 3, 2))");
  EXPECT_EQ(generalized.push(nothing(3), LrSensitivity{0.1}, bits).size(), 3U);
  const auto event_of = [](auto sensitivity) {
    return describe(
        ScaledKNorm<decltype(sensitivity)>{{.scale = NoiseScale{2}, .grid = grid, .dimension = Count{3}, .adjacency = adjacency}}.event());
  };
  EXPECT_EQ(event_of(L1Sensitivity{1}), "k_norm(l1, 3, 2)");
  EXPECT_EQ(event_of(LinfSensitivity{1}), "k_norm(linf, 3, 2)");
}

TEST(FinestGrid, SuitsTheLargestScale) {
  EXPECT_EQ(finest_grid(L2Sensitivity{1}, NoiseMultiplier{100}, Count{1000}).log2_step.value(), -38);
  EXPECT_EQ(finest_grid(L2Sensitivity{1e9}, NoiseMultiplier{100}, Count{1000}).log2_step.value(), 30 - 39);
  EXPECT_EQ(finest_grid(L2Sensitivity{1}, NoiseMultiplier{0x1p30}, Count{1000}).log2_step.value(), 1 + 31 - 56);
  EXPECT_EQ(finest_grid(L2Sensitivity{1}, NoiseMultiplier{1}, Count{std::uint64_t{1} << 40}).log2_step.value(), 1 + 41 - 62);
  const Grid finest = finest_grid(L2Sensitivity{7}, NoiseMultiplier{0x1p40}, Count{10});
  const ScaledGaussian nodes{{.multiplier = NoiseMultiplier{0x1p40}, .grid = finest, .adjacency = adjacency}};
  ReplayBits bits{1};
  EXPECT_EQ(nodes.release({.grid = finest, .steps = {0}}, L2Sensitivity{7}, bits).size(), 1U);
  EXPECT_THROW(static_cast<void>(nodes.release({.grid = finest, .steps = {0}}, L2Sensitivity{70}, bits)), Error);
}

// ---- Restarts ----

TEST(RestartedSum, CostsTheDearestEpochAndAddsUpTheEnded) {
  const auto node = [](Count epoch) { return gaussian_nodes(static_cast<double>(accounting::tree_levels(epoch).value())); };
  const auto make = [&](Count epoch) { return TreeSum<Gaussian>{node(epoch), epoch, Count{1}}; };
  for (const std::uint64_t n : {1, 2, 3, 4, 100, 127, 128}) {
    const RestartedSum<TreeSum<Gaussian>> sum{Count{n}, make};
    EXPECT_EQ(sum.event(), accounting::doubling_tree(Count{n}, [&](Count epoch) { return node(epoch).event(); })) << n;
  }
  static_assert(ContinualSum<RestartedSum<TreeSum<Gaussian>>, ReplayBits>);
  static_assert(AdaptiveContinualSum<RestartedSum<AdaptiveTreeSum<ScaledGaussian>>, L2Sensitivity, ReplayBits>);
  static_assert(!ContinualSum<RestartedSum<AdaptiveTreeSum<ScaledGaussian>>, ReplayBits>);
}

/// Sums that show the epoch and step of each estimate.
struct EpochSum {
  Count epoch;
  std::uint64_t pushed = 0;
  [[nodiscard]] Event event() const { return surety::gaussian(NoiseMultiplier{1}, adjacency); }
  [[nodiscard]] Count steps() const { return epoch; }
  [[nodiscard]] Grid grid() const { return nothing(1).grid; }
  template <ReleaseBits Bits>
  std::vector<double> push(const GridVector& /*contribution*/, Bits& /*bits*/) {
    ++pushed;
    return {static_cast<double>(epoch.value()) + static_cast<double>(pushed) / 1024};
  }
};

TEST(RestartedSum, AddsTheLastEstimateOfEachEndedEpoch) {
  RestartedSum<EpochSum> sum{Count{20}, [](Count epoch) { return EpochSum{epoch}; }};
  EXPECT_EQ(sum.grid(), nothing(1).grid);
  ReplayBits bits{1};
  double ended = 0;
  for (std::uint64_t t = 1; t <= 20; ++t) {
    const auto epoch = std::bit_floor(t);
    const double within = static_cast<double>(epoch) + static_cast<double>(t - epoch + 1) / 1024;
    EXPECT_EQ(sum.push(nothing(1), bits), std::vector<double>{ended + within}) << t;
    if (std::has_single_bit(t + 1)) ended += within;
  }
  EXPECT_THROW(static_cast<void>(sum.push(nothing(1), bits)), Error);
  EXPECT_THROW((RestartedSum<EpochSum>{Count{4}, [](Count) { return EpochSum{Count{4}}; }}), Error);
}

TEST(RestartedSum, IsExactWithoutNoise) {
  // Noise far below a step rounds to nothing.
  const auto make = [](Count epoch) { return TreeSum<Gaussian>{gaussian_nodes(1e-12), epoch, Count{1}, TreeEstimate::streaming}; };
  RestartedSum<TreeSum<Gaussian>> sum{Count{100}, make};
  ReplayBits bits{1};
  for (std::int64_t t = 1; t <= 100; ++t) {
    EXPECT_NEAR(sum.push(contribution({t}), bits)[0], std::ldexp(static_cast<double>(t * (t + 1) / 2), -20), 1e-12);
  }
}

// ---- What depends on the data ----

/// Two streams that differ in step q alone, under the same released nodes: estimates are equal bit for bit, and only the nodes that
/// hold q, at most as many as are charged, differ, each by no more than the contribution did.
template <class MakeSum, class Push>
void expect_that_only_nodes_differ(std::size_t n, std::size_t q, MakeSum make_sum, Push push) {
  const auto stream = [&](bool replaced, std::vector<ScriptedNodes::Request>& log) {
    auto script = random_script(2 * n, 1);
    auto sum = make_sum(&script, &log);
    std::mt19937_64 random{5};
    std::vector<std::vector<double>> prefixes;
    for (std::size_t t = 1; t <= n; ++t) {
      auto value = static_cast<std::int64_t>(random() % 1001);
      if (replaced && t == q) value += 77;
      prefixes.push_back(push(sum, contribution({value}), t));
    }
    return prefixes;
  };
  std::vector<ScriptedNodes::Request> log;
  std::vector<ScriptedNodes::Request> other_log;
  ASSERT_EQ(stream(false, log), stream(true, other_log)) << q;
  ASSERT_EQ(log.size(), other_log.size());
  std::uint64_t differing = 0;
  for (std::size_t k = 0; k < log.size(); ++k) {
    ASSERT_EQ(log[k].sensitivity, other_log[k].sensitivity);
    const auto change = other_log[k].node.steps[0] - log[k].node.steps[0];
    ASSERT_TRUE(change == 0 || change == 77) << q;
    if (change != 0) ++differing;
  }
  ASSERT_GE(differing, 1U) << q;
  ASSERT_LE(differing, accounting::tree_levels(Count{n}).value()) << q;
}

TEST(Taint, NothingButTheNodesOfAStepDependsOnIt) {
  constexpr std::size_t n = 100;
  using Script = std::vector<std::vector<double>>*;
  using Log = std::vector<ScriptedNodes::Request>*;
  ReplayBits bits{1};
  const auto push = [&](auto& sum, const GridVector& added, std::size_t) { return sum.push(added, bits); };
  const auto push_adaptively = [&](auto& sum, const GridVector& added, std::size_t t) {
    return sum.push(added, L2Sensitivity{1.0 + static_cast<double>(t * 37 % 11)}, bits);
  };
  for (const auto estimate : estimates) {
    const auto tree = [&](Script script, Log log) { return TreeSum<ScriptedNodes>{{script, log}, Count{n}, Count{1}, estimate}; };
    const auto adaptive = [&](Script script, Log log) {
      return AdaptiveTreeSum<ScriptedNodes>{{script, log}, Count{n}, Count{1}, estimate};
    };
    const auto restarted = [&](Script script, Log log) {
      return RestartedSum<TreeSum<ScriptedNodes>>{Count{n}, [&](Count epoch) {
                                                    return TreeSum<ScriptedNodes>{{script, log}, epoch, Count{1}, estimate};
                                                  }};
    };
    for (std::size_t q = 1; q <= n; ++q) {
      expect_that_only_nodes_differ(n, q, tree, push);
      expect_that_only_nodes_differ(n, q, adaptive, push_adaptively);
      expect_that_only_nodes_differ(n, q, restarted, push);
    }
  }
}

}  // namespace
}  // namespace surety::mechanisms::continual_sum_test
