#include <surety/accounting/events/continual.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <support/gaussian_truth.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting::continual_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;
using Steps = std::pair<int, int>;  // (first - 1, last]

Event noise(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }
Count count(int n) { return Count{static_cast<std::uint64_t>(n)}; }

/// Every aligned interval of a power of two steps that is completed within n steps.
std::vector<Steps> full_tree(int n) {
  std::vector<Steps> nodes;
  for (int length = 1; length <= n; length *= 2) {
    for (int end = length; end <= n; end += length) nodes.emplace_back(end - length, end);
  }
  return nodes;
}

/// The nodes that prefix sums use: strip the lowest set bit until nothing is left.
std::set<Steps> needed_nodes(int n) {
  std::set<Steps> nodes;
  for (int t = 1; t <= n; ++t) {
    for (int end = t; end > 0;) {
      int bit = 1;
      while (end % (2 * bit) == 0) bit *= 2;
      nodes.emplace(end - bit, end);
      end -= bit;
    }
  }
  return nodes;
}

std::vector<int> touched(const auto& nodes, int n) {
  std::vector<int> change(static_cast<std::size_t>(n) + 2);
  for (const auto& [before, end] : nodes) {
    ++change[static_cast<std::size_t>(before) + 1];
    --change[static_cast<std::size_t>(end) + 1];
  }
  for (std::size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
  change.resize(static_cast<std::size_t>(n) + 1);
  return change;
}

// Brute force over n = 1 .. 5000; the full tree and its left children charge the worst step the same.
TEST(TreeLevels, AreTheMostNodesThatOneStepTouches) {
  for (int n = 1; n <= 5000; ++n) {
    const auto full = touched(full_tree(n), n);
    const auto levels = static_cast<int>(tree_levels(count(n)).value());
    ASSERT_EQ(levels, *std::max_element(full.begin(), full.end())) << n;
    ASSERT_EQ(levels, static_cast<int>(nodes_of_step(Count{1}, count(n)).value())) << n;
  }
  EXPECT_EQ(tree_levels(Count{std::uint64_t{1} << 53}), Count{54});
}

TEST(NodesOfStep, CountsTheNeededNodesThatHoldIt) {
  std::vector<int> horizons{4095, 4096, 4097, 5000};
  for (int n = 1; n <= 300; ++n) horizons.push_back(n);
  for (const int n : horizons) {
    const auto nodes = needed_nodes(n);
    EXPECT_EQ(nodes.size(), static_cast<std::size_t>(n)) << "one node is completed at each step";
    const auto held = touched(nodes, n);
    for (int step = 1; step <= n; ++step) {
      ASSERT_EQ(static_cast<int>(nodes_of_step(count(step), count(n)).value()), held[static_cast<std::size_t>(step)])
          << step << " of " << n;
    }
  }
  EXPECT_THROW(static_cast<void>(nodes_of_step(Count{6}, Count{5})), Error);
}

// A needed node is the left child of its parent, or the first node of its level.
TEST(NeededNodes, AreLeftChildren) {
  for (const auto& [before, end] : needed_nodes(1000)) EXPECT_EQ((before / (end - before)) % 2, 0) << before << ' ' << end;
}

TEST(Tree, RepeatsItsNodeOverTheLevels) {
  for (const auto* node : {"gaussian(3)", "laplace(2)", "k_norm(linf, 4, 2)", "generalized_gaussian(3, 10, 4)", "zcdp(0.1)"}) {
    EXPECT_EQ(describe(tree(Count{1000}, parse_event(node, adjacency))), std::string{"repeat(10, "} + node + ")");
  }
  EXPECT_EQ(describe(tree_of_step(Count{3}, Count{1000}, noise(3))), "repeat(9, gaussian(3))");
}

// mu = sqrt(levels) / multiplier: the published constants for n = 10^4 at delta = 1/n.
TEST(Tree, OfGaussiansHasTheRootOfItsLevels) {
  const auto cost = delta(ClosedForm{}, tree(Count{10000}, noise(11.92)), Epsilon{1});
  const reference::Real mu = sqrt(reference::Real{14}) / reference::Real{11.92};
  EXPECT_TRUE(reference::contains(cost, reference::gaussian_delta(mu, reference::Real{1})));
  const Target target{Epsilon{1}, Delta{1e-4}, adjacency};
  const auto found = calibrate([](NoiseMultiplier z) { return tree(Count{10000}, gaussian(z, adjacency)); }, target);
  EXPECT_NEAR(found.value.value(), 11.92, 0.005);
  const auto best = largest_mu(Epsilon{1}, Delta{1e-4});
  EXPECT_NEAR(found.value.value(), std::sqrt(14.0) / best.lower, 1e-10);
}

// Where a law has an exact curve, the tree is priced by it.
TEST(Tree, NamesItsNodesByTheExactLaw) {
  const auto tree_of = [](const char* node) { return describe(tree(Count{1000}, parse_event(node, adjacency))); };
  EXPECT_EQ(tree_of("k_norm(l1, 7, 2)"), "repeat(10, laplace(2))");
  EXPECT_EQ(tree_of("k_norm(linf, 1, 2)"), "repeat(10, laplace(2))");
  EXPECT_EQ(tree_of("generalized_gaussian(2, 7, 3)"), "repeat(10, gaussian(3))");
  EXPECT_EQ(tree_of("k_norm(l2, 2, 2)"), "repeat(10, k_norm(l2, 2, 2))");
  EXPECT_EQ(tree_of("generalized_gaussian(2.5, 7, 3)"), "repeat(10, generalized_gaussian(2.5, 7, 3))");
  EXPECT_EQ(describe(tree_of_step(Count{3}, Count{1000}, parse_event("k_norm(l1, 7, 2)", adjacency))), "repeat(9, laplace(2))");
  const std::vector<Event> levels{parse_event("k_norm(l1, 7, 2)", adjacency), noise(3)};
  EXPECT_EQ(describe(tree(Count{2}, levels)), "compose(laplace(2), gaussian(3))");
}

/// delta(epsilon) of `count` releases of laplace(b) by brute force: the law of one loss on a lattice, rounded down and up, convolved. The
/// truth lies between.
std::pair<double, double> laplace_delta(double b, int count, double epsilon) {
  constexpr int cells = 400;  // of the losses -1/b .. 1/b
  const double width = 2 / b / cells;
  const auto bound = [&](int shift) {
    // Noise around 0 against around 1: loss 1/b with probability 1/2, -1/b with e^(-1/b) / 2, and density e^(s/2 - 1/(2b)) / 4 between.
    std::vector<double> one(cells + 1, 0.0);
    one[cells] += 0.5;
    one[0] += std::exp(-1 / b) / 2;
    for (int i = 0; i < cells; ++i) {
      const double left = -1 / b + i * width;
      const double mass = std::exp(-1 / (2 * b)) / 2 * (std::exp((left + width) / 2) - std::exp(left / 2));
      one[static_cast<std::size_t>(i + shift)] += mass;
    }
    std::vector<double> sum{1.0};
    for (int k = 0; k < count; ++k) {
      std::vector<double> next(sum.size() + cells, 0.0);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        for (std::size_t j = 0; j <= cells; ++j) next[i + j] += sum[i] * one[j];
      }
      sum = std::move(next);
    }
    double delta = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const double loss = -count / b + static_cast<double>(i) * width;
      delta += sum[i] * std::max(0.0, -std::expm1(epsilon - loss));
    }
    return delta;
  };
  return {bound(0), bound(1)};
}

TEST(Tree, OfLaplaceNodesHasTheirExactCurve) {
  for (const double epsilon : {0.1, 0.7, 1.1}) {
    const auto cost = best_delta(tree(Count{1000}, parse_event("laplace(8)", adjacency)), Epsilon{epsilon}).value;
    const auto [low, high] = laplace_delta(8, 10, epsilon);
    EXPECT_GE(cost.lower, low) << epsilon;
    EXPECT_LE(cost.upper, high) << epsilon;
    EXPECT_LE(cost.upper - cost.lower, 1e-12) << epsilon;
    EXPECT_LE(high - low, 0.05 * high) << epsilon;
  }
  const auto pure = best_epsilon(tree(Count{1000}, parse_event("laplace(8)", adjacency)), Delta{0}).value;
  EXPECT_LE(pure.lower, 1.25);
  EXPECT_GE(pure.upper, 1.25);
  EXPECT_LE(pure.upper - pure.lower, 1e-13);
}

// Never a sum over the levels where anything better is proved.
TEST(Tree, OfOtherNodesCostsLessThanTheSumOfItsLevels) {
  const auto k_norm = tree(Count{10000}, parse_event("k_norm(l2, 10, 40)", adjacency));
  EXPECT_LE(best_epsilon(k_norm, Delta{0}).value.upper, 14.0 / 40 * (1 + 1e-15));
  EXPECT_LE(best_epsilon(k_norm, Delta{1e-4}).value.upper, 0.75 * 14 / 40);
  const auto smooth = tree(Count{10000}, parse_event("generalized_gaussian(3, 10, 11.92)", adjacency));
  const auto rho = zcdp_rho(smooth, 128).enclosure();
  EXPECT_LE(rho.lower, 14 / (11.92 * 11.92));
  EXPECT_NEAR(rho.upper, 14 / (11.92 * 11.92), 1e-15);
  EXPECT_LE(best_epsilon(smooth, Delta{1e-4}).value.upper, 0.91 * epsilon(Zcdp{}, smooth, Delta{1e-4}).upper);
}

// Each epoch calibrated to mu = 1: together what one of them costs, by two-sided bounds.
TEST(DoublingTree, OfGaussiansHasTheCurveOfOneEpoch) {
  const auto node = [](Count epoch) { return noise(std::sqrt(static_cast<double>(tree_levels(epoch).value()))); };
  const auto restarts = best_epsilon(doubling_tree(Count{1000}, node), Delta{1e-6}).value;
  const auto once = best_epsilon(noise(1), Delta{1e-6}).value;
  EXPECT_LE(restarts.lower, once.upper * (1 + 1e-9));
  EXPECT_NEAR(restarts.upper, once.upper, 1e-8);
}

TEST(Tree, RefusesSampledNodes) {
  const auto sampled = poisson(SamplingRate{0.5}, gaussian(NoiseMultiplier{1}, Adjacency::zero_out));
  EXPECT_THROW(static_cast<void>(tree(Count{4}, sampled)), Error);
  EXPECT_THROW(static_cast<void>(tree(Count{2}, std::vector<Event>{sampled, sampled})), Error);
  EXPECT_THROW(static_cast<void>(tree_of_step(Count{2}, Count{4}, sampled)), Error);
}

TEST(SplitOverLevels, SpendsTheBudgetExactly) {
  const std::vector<double> weights{5, 1, 3, 0.25};
  const Mu mu{0.7};
  const auto multipliers = split_over_levels(mu, weights);
  std::vector<Event> levels;
  for (const auto z : multipliers) levels.push_back(gaussian(z, adjacency));
  const auto spent = sqrt(gaussian_mu_squared(tree(Count{9}, levels), 200).value()).enclosure();
  EXPECT_LE(spent.upper, mu.value() * (1 + 1e-15));
  EXPECT_GE(spent.lower, mu.value() * (1 - 1e-15));
  for (std::size_t l = 0; l < weights.size(); ++l) {
    const double share = std::pow(multipliers[l].value() * mu.value(), -2);
    EXPECT_NEAR(share, weights[l] / 9.25, 1e-15);
  }
  // Equal weights are the tree of one node event.
  const auto equal = split_over_levels(mu, std::vector<double>(14, 1.0));
  EXPECT_NEAR(equal.front().value(), std::sqrt(14.0) / 0.7, 1e-14);
}

TEST(SplitOverLevels, RefusesBadWeights) {
  EXPECT_THROW(static_cast<void>(split_over_levels(Mu{1}, {})), Error);
  EXPECT_THROW(static_cast<void>(split_over_levels(Mu{0}, std::vector<double>{1})), Error);
  EXPECT_THROW(static_cast<void>(split_over_levels(Mu{1}, std::vector<double>{1, 0})), Error);
  EXPECT_THROW(static_cast<void>(split_over_levels(Mu{1}, std::vector<double>{1, std::nan("")})), Error);
  EXPECT_THROW(static_cast<void>(tree(Count{4}, std::vector<Event>{noise(1)})), Error);
}

TEST(TreeNoiseScale, SpendsEpsilonOverTheLevels) {
  EXPECT_EQ(tree_noise_scale(Count{1000}, Epsilon{2}).value(), 5);
  const double scale = tree_noise_scale(Count{5}, Epsilon{0.7}).value();
  EXPECT_LE((Interval{3, 200} / Interval{scale, 200}).enclosure().lower, 0.7);
  EXPECT_NEAR(scale, 3 / 0.7, 1e-14);
  EXPECT_THROW(static_cast<void>(tree_noise_scale(Count{5}, Epsilon{0})), Error);
}

TEST(Restarts, AreParallel) {
  EXPECT_EQ(describe(restarted({tree(Count{3}, noise(2)), tree(Count{9}, noise(5))})),
            "parallel(repeat(2, gaussian(2)), repeat(4, gaussian(5)))");
  EXPECT_THROW(static_cast<void>(restarted({})), Error);
}

TEST(DoublingTree, CostsItsDearestEpochAndNotTheSum) {
  for (const int n : {1, 2, 3, 4, 1000, 1023, 1024}) {
    const auto unknown = doubling_tree(count(n), [](Count) { return noise(3); });
    const auto known = tree(count(n), noise(3));
    const auto rho = zcdp_rho(unknown, 128).enclosure();
    EXPECT_EQ(rho, zcdp_rho(known, 128).enclosure()) << n;
  }
}

// Each epoch calibrated to the target by itself: the whole meets it at every horizon.
TEST(DoublingTree, MeetsTheTargetOfEachEpoch) {
  const double mu = 0.5;
  const auto node = [&](Count epoch) {
    const std::vector<double> weights(tree_levels(epoch).value(), 1.0);
    return gaussian(split_over_levels(Mu{mu}, weights).front(), adjacency);
  };
  for (const std::uint64_t n : {1, 7, 100, 100000}) {
    EXPECT_NEAR(zcdp_rho(doubling_tree(Count{n}, node), 128).enclosure().upper, mu * mu / 2, 1e-15) << n;
  }
  EXPECT_EQ(std::get<Event::Parallel>(doubling_tree(Count{100}, node).node()).events.size(), 7U);
}

}  // namespace
}  // namespace surety::accounting::continual_test
