#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <surety/mechanisms/continual_sum.h>
#include <surety/mechanisms/gaussian.h>
#include <surety/mechanisms/random_bits.h>

namespace surety::mechanisms {
namespace {

const Grid grid{.log2_step = -20};

GridVector contribution(std::vector<std::int64_t> steps) { return {.grid = grid, .steps = std::move(steps)}; }

TEST(BinaryTree, ReturnsThePrefixSumsWhereNothingIsAdded) {
  for (const auto estimate : {TreeEstimate::plain, TreeEstimate::streaming}) {
    BinaryTree tree{Count{37}, Count{2}, grid, estimate};
    std::mt19937_64 random{7};
    std::int64_t first = 0;
    std::int64_t second = 0;
    for (int t = 1; t <= 37; ++t) {
      const auto a = static_cast<std::int64_t>(random() % 1000) - 500;
      const auto b = static_cast<std::int64_t>(random() % 1000) - 500;
      first += a;
      second += b;
      const auto prefix = tree.push(contribution({a, b}), [](const GridVector& node) { return BinaryTree::Node{to_reals(node), 1}; });
      EXPECT_NEAR(prefix[0], std::ldexp(static_cast<double>(first), -20), 1e-12) << t;
      EXPECT_NEAR(prefix[1], std::ldexp(static_cast<double>(second), -20), 1e-12) << t;
    }
  }
}

TEST(BinaryTree, PutsEachStepIntoAsManyNodesAsAreCharged) {
  for (std::uint64_t n = 1; n <= 300; ++n) {
    for (const auto estimate : {TreeEstimate::plain, TreeEstimate::streaming}) {
      BinaryTree tree{Count{n}, Count{n}, grid, estimate};
      std::vector<std::uint64_t> nodes(n, 0);
      for (std::uint64_t t = 0; t < n; ++t) {
        std::vector<std::int64_t> one(n, 0);
        one[t] = 1;
        static_cast<void>(tree.push(contribution(one), [&](const GridVector& node) {
          for (std::uint64_t i = 0; i < n; ++i) nodes[i] += static_cast<std::uint64_t>(node.steps[i]);
          return BinaryTree::Node{to_reals(node), 1};
        }));
      }
      std::uint64_t largest = 0;
      for (std::uint64_t t = 0; t < n; ++t) {
        if (estimate == TreeEstimate::plain) {
          EXPECT_EQ(nodes[t], accounting::nodes_of_step(Count{t + 1}, Count{n}).value()) << t << " of " << n;
        }
        largest = std::max(largest, nodes[t]);
      }
      EXPECT_EQ(largest, accounting::tree_levels(Count{n}).value()) << n;
    }
  }
}

TEST(TreeSum, OfGaussianNodesIsAContinualSum) {
  static_assert(ContinualSum<TreeSum<Gaussian>, ReplayBits>);
  const Gaussian mechanism{
      {.multiplier = NoiseMultiplier{2}, .sensitivity = L2Sensitivity{1}, .grid = grid, .adjacency = Adjacency::replace_one}};
  TreeSum<Gaussian> sum{mechanism, Count{1000}, Count{3}};
  EXPECT_EQ(sum.event(), accounting::tree(Count{1000}, mechanism.event()));
  ReplayBits bits{5};
  for (int t = 0; t < 1000; ++t) EXPECT_EQ(sum.push(contribution({0, 0, 0}), bits).size(), 3U);
  EXPECT_THROW(static_cast<void>(sum.push(contribution({0, 0, 0}), bits)), Error);
}

}  // namespace
}  // namespace surety::mechanisms
