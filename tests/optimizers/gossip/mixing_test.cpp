#include <surety/optimizers/gossip/mixing.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Dense>

#include <support/refusal.h>

namespace surety::optimizers::mixing_test {
namespace {

constexpr auto invalid = ErrorCode::invalid_argument;

Eigen::MatrixXd dense(const MixingMatrix& matrix) {
  const auto size = static_cast<Eigen::Index>(matrix.learners());
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(size, size);
  for (std::size_t i = 0; i < matrix.learners(); ++i) {
    for (const auto& [learner, weight] : matrix.row(i)) result(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(learner)) = weight;
  }
  return result;
}

/// Connected by the definition: some power of I + A has no zero.
bool connects(Eigen::MatrixXd sum) {
  sum = (sum.array() > 0).cast<double>().matrix() + Eigen::MatrixXd::Identity(sum.rows(), sum.cols());
  for (Eigen::Index reached = 1; reached < sum.rows(); reached *= 2) sum = ((sum * sum).array() > 0).cast<double>().matrix();
  return (sum.array() > 0).all();
}

/// Every sequence for about `size` learners that there is, by name.
std::map<std::string, Mixing> sequences(std::uint64_t size) {
  std::map<std::string, Mixing> all;
  const Count learners{size};
  all.emplace("complete", Mixing::complete(learners));
  all.emplace("ring", Mixing::ring(learners));
  all.emplace("matchings", Mixing::random_matchings(learners, 7 + size));
  std::uint64_t power = 1;
  while (2 * power <= size) power *= 2;
  all.emplace("hypercube", Mixing::hypercube(Count{power}));
  all.emplace("torus", Mixing::torus(Count{2}, Count{std::max<std::uint64_t>(size / 2, 2)}));
  std::vector<Edge> star;
  for (std::size_t i = 1; i < size; ++i) star.push_back({i, 0});
  all.emplace("star", Mixing::of_graph(learners, star));
  return all;
}

TEST(Mixing, IsDoublyStochasticSymmetricAndKeepsAPartOfOnesOwn) {
  for (const std::uint64_t size : {1, 2, 3, 4, 5, 6, 7, 9, 16, 31, 64}) {
    for (auto& [name, mixing] : sequences(size)) {
      for (std::uint64_t round = 0; round < 40; ++round) {
        const auto matrix = dense(mixing.at(round));
        const double least = 1 / static_cast<double>(mixing.learners());
        const double rounding = static_cast<double>(mixing.learners()) * 0x1p-52;
        EXPECT_LE((matrix.rowwise().sum().array() - 1).abs().maxCoeff(), rounding) << name << " of " << size;
        EXPECT_LE((matrix.colwise().sum().array() - 1).abs().maxCoeff(), rounding) << name << " of " << size;
        EXPECT_GE(matrix.minCoeff(), 0) << name;
        EXPECT_TRUE(matrix == matrix.transpose()) << name << " of " << size;
        EXPECT_GE(matrix.diagonal().minCoeff(), least - rounding) << name << " of " << size;
      }
    }
  }
}

TEST(Mixing, ConnectsAllLearnersInEveryWindow) {
  for (const std::uint64_t size : {1, 2, 3, 4, 5, 6, 7, 9, 16, 31, 64}) {
    for (auto& [name, mixing] : sequences(size)) {
      std::vector<Eigen::MatrixXd> matrices;
      for (std::uint64_t round = 0; round < 40; ++round) matrices.push_back(dense(mixing.at(round)));
      for (std::size_t first = 0; first + mixing.window() <= matrices.size(); ++first) {
        Eigen::MatrixXd sum = matrices[first];
        for (std::size_t k = 1; k < mixing.window(); ++k) sum += matrices[first + k];
        EXPECT_TRUE(connects(sum)) << name << " of " << size << ", rounds from " << first;
      }
    }
  }
}

// A product of doubly stochastic matrices has the singular value 1 once, for the mean; the next one says how far learners still disagree.
TEST(Mixing, ContractsToTheMean) {
  for (const std::uint64_t size : {2, 3, 5, 8, 16, 31}) {
    for (auto& [name, mixing] : sequences(size)) {
      const auto learners = static_cast<Eigen::Index>(mixing.learners());
      const Eigen::MatrixXd mean = Eigen::MatrixXd::Constant(learners, learners, 1 / static_cast<double>(learners));
      Eigen::MatrixXd product = Eigen::MatrixXd::Identity(learners, learners);
      double disagreement = 1;
      for (std::uint64_t round = 0; round < 200 * mixing.window(); ++round) {
        product = dense(mixing.at(round)) * product;
        if ((round + 1) % mixing.window() != 0) continue;
        const double now = (product - mean).operatorNorm();
        // Metropolis weights of a connected graph contract by at least a factor 1 - 1 / (71 m^2) in squared norm a window [NO09].
        EXPECT_TRUE(now <= disagreement * (1 - 1 / (142.0 * static_cast<double>(learners * learners))) || now < 1e-13)
            << name << " of " << size << ", round " << round << ": " << now << " after " << disagreement;
        disagreement = now;
      }
      EXPECT_LE(disagreement, 0.2) << name << " of " << size;
    }
  }
}

TEST(Mixing, OfAHypercubeAveragesExactlyInItsWindow) {
  auto mixing = Mixing::hypercube(Count{16});
  ASSERT_EQ(mixing.window(), 4U);
  for (std::uint64_t first = 0; first < 6; ++first) {
    Eigen::MatrixXd product = Eigen::MatrixXd::Identity(16, 16);
    for (std::uint64_t round = first; round < first + 4; ++round) product = dense(mixing.at(round)) * product;
    EXPECT_TRUE(product == Eigen::MatrixXd::Constant(16, 16, 1.0 / 16)) << first;
  }
}

TEST(Mixing, HasTheNeighboursThatItsNameSays) {
  const auto neighbours = [](Mixing mixing, std::uint64_t round, std::size_t learner) {
    std::vector<std::size_t> found;
    for (const auto& entry : mixing.at(round).row(learner)) found.push_back(entry.learner);
    return found;
  };
  using Learners = std::vector<std::size_t>;
  EXPECT_EQ(neighbours(Mixing::ring(Count{6}), 3, 0), (Learners{0, 1, 5}));
  EXPECT_EQ(neighbours(Mixing::ring(Count{2}), 0, 1), (Learners{0, 1}));
  EXPECT_EQ(neighbours(Mixing::torus(Count{12}), 0, 5), (Learners{1, 4, 5, 6, 9}));
  EXPECT_EQ(neighbours(Mixing::torus(Count{12}), 0, 0), (Learners{0, 1, 3, 4, 8}));
  EXPECT_EQ(neighbours(Mixing::torus(Count{2}, Count{2}), 0, 0), (Learners{0, 1, 2}));
  EXPECT_EQ(neighbours(Mixing::hypercube(Count{8}), 4, 1), (Learners{1, 3}));
  EXPECT_EQ(neighbours(Mixing::complete(Count{3}), 9, 1), (Learners{0, 1, 2}));
  EXPECT_EQ(neighbours(Mixing::of_graph(Count{3}, std::vector<Edge>{{1, 0}, {1, 2}, {2, 1}}), 0, 2), (Learners{1, 2}));
  for (std::uint64_t round = 0; round < 100; ++round) {
    std::size_t alone = 0;
    for (std::size_t learner = 0; learner < 7; ++learner) {
      const auto found = neighbours(Mixing::random_matchings(Count{7}, 3), round, learner);
      ASSERT_LE(found.size(), 2U);
      alone += found.size() == 1 ? 1 : 0;
      if (found.size() == 1) continue;
      const std::size_t other = found[0] == learner ? found[1] : found[0];
      EXPECT_EQ(neighbours(Mixing::random_matchings(Count{7}, 3), round, other), found);
    }
    EXPECT_EQ(alone, 1U);
  }
}

// Metropolis weights by hand: a path of three, whose middle has degree 2.
TEST(Mixing, HasMetropolisWeights) {
  const auto matrix = MixingMatrix::metropolis(Count{3}, std::vector<Edge>{{0, 1}, {1, 2}});
  Eigen::MatrixXd expected(3, 3);
  expected << 2.0 / 3, 1.0 / 3, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3, 0, 1.0 / 3, 2.0 / 3;
  EXPECT_LE((dense(matrix) - expected).cwiseAbs().maxCoeff(), 0x1p-53);
}

RC_GTEST_PROP(Mixing, OfAnyGraphIsDoublyStochasticAndConnectedOrRefused, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 12);
  const auto ends = rc::gen::inRange<std::size_t>(0, size);
  auto edges = *rc::gen::container<std::vector<std::pair<std::size_t, std::size_t>>>(rc::gen::pair(ends, ends));
  std::vector<Edge> graph;
  Eigen::MatrixXd adjacent = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(size), static_cast<Eigen::Index>(size));
  for (const auto& [a, b] : edges) {
    if (a == b) continue;
    graph.push_back({a, b});
    adjacent(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)) =
        adjacent(static_cast<Eigen::Index>(b), static_cast<Eigen::Index>(a)) = 1;
  }
  const bool connected = connects(adjacent);
  RC_TAG(connected ? "connected" : "not connected");
  if (!connected) {
    RC_ASSERT(refuses([&] { static_cast<void>(Mixing::of_graph(Count{size}, graph)); }, invalid, {"cannot be reached from learner 0"}));
    return;
  }
  const auto matrix = dense(Mixing::of_graph(Count{size}, graph).at(5));
  RC_ASSERT((matrix.rowwise().sum().array() - 1).abs().maxCoeff() <= static_cast<double>(size) * 0x1p-52);
  RC_ASSERT(matrix == matrix.transpose());
  RC_ASSERT(((matrix.array() > 0).cast<double>().matrix() - Eigen::MatrixXd::Identity(matrix.rows(), matrix.cols())) == adjacent);
}

TEST(Mixing, DrawsMatchingsThatAreUniformAndRepeatable) {
  auto drawn = Mixing::random_matchings(Count{4}, 11);
  auto again = Mixing::random_matchings(Count{4}, 11);
  auto other = Mixing::random_matchings(Count{4}, 12);
  std::map<std::size_t, int> partners;
  int same = 0;
  constexpr std::uint64_t rounds = 6000;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const std::uint64_t round = i * 37 % rounds;  // also out of order
    const auto row = [round](Mixing& mixing) {
      const auto entries = mixing.at(round).row(0);
      return std::vector<MixingWeight>{entries.begin(), entries.end()};
    };
    EXPECT_EQ(row(drawn), row(again));
    ++partners[row(drawn).back().learner];
    same += row(drawn) == row(other) ? 1 : 0;
  }
  // Three partners, alike. The standard deviation is 36.5.
  for (const std::size_t partner : {1, 2, 3}) EXPECT_NEAR(partners[partner], rounds / 3.0, 220) << partner;
  EXPECT_NEAR(same, rounds / 3.0, 220);
}

// Of four learners a matching is one of three, so one block in 27 would leave two pairs apart, were it not drawn anew.
TEST(Mixing, DrawsMatchingsThatConnectAnew) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    auto mixing = Mixing::random_matchings(Count{4}, seed);
    std::vector<MixingMatrix> matrices;
    for (std::uint64_t round = 0; round < 24; ++round) matrices.push_back(mixing.at(round));
    for (std::size_t first = 0; first < 24; first += Mixing::matchings_drawn) {
      EXPECT_EQ(unreachable_learner(std::span{matrices}.subspan(first, Mixing::matchings_drawn)), std::nullopt) << seed << " " << first;
    }
    for (std::size_t first = 0; first + mixing.window() <= 24; ++first) {
      EXPECT_EQ(unreachable_learner(std::span{matrices}.subspan(first, mixing.window())), std::nullopt) << seed << " " << first;
    }
  }
}

// The sequence is part of what a replay reproduces, on every machine: the first matchings, as of SHA-256 and AES.
TEST(Mixing, DrawsTheSameMatchingsEverywhere) {
  auto mixing = Mixing::random_matchings(Count{6}, 1);
  std::string partners;
  for (std::uint64_t round = 0; round < 6; ++round) {
    for (std::size_t i = 0; i < 6; ++i) {
      const auto row = mixing.at(round).row(i);
      partners += std::to_string(row[0].learner == i ? row[1].learner : row[0].learner);
    }
    partners += ' ';
  }
  EXPECT_EQ(partners, "345012 250431 435102 321054 543210 105432 ");
}

TEST(Mixing, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(refuses([] { static_cast<void>(Mixing::hypercube(Count{12})); }, invalid, {"learners is 12", "power of two"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(Mixing::torus(Count{13})); }, invalid, {"learners is 13", "product"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(Mixing::torus(Count{1}, Count{5})); }, invalid, {"1 x 5", "at least two"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(Mixing::complete(Count{2049})); }, invalid, {"2049", "2048"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(Mixing::ring(Count{(std::uint64_t{1} << 20) + 1})); }, invalid, {"1048577", "1048576"}));
  const auto graph = [](const std::vector<Edge>& edges) { return [edges] { static_cast<void>(Mixing::of_graph(Count{4}, edges)); }; };
  EXPECT_TRUE(refuses(graph({{0, 1}, {2, 3}}), invalid, {"learner 2 cannot be reached"}));
  EXPECT_TRUE(refuses(graph({{0, 4}}), invalid, {"0 and 4", "below 4"}));
  EXPECT_TRUE(refuses(graph({{2, 2}}), invalid, {"learner 2 to itself"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(Mixing::repeating({})); }, invalid, {"empty"}));
  EXPECT_TRUE(refuses(
      [] {
        static_cast<void>(Mixing::repeating({MixingMatrix::metropolis(Count{2}, {}), MixingMatrix::metropolis(Count{3}, {})}));
      },
      invalid, {"for 3 learners", "for 2"}));
}

// Planted mistakes: what a wrong formula would make.
TEST(MixingMatrix, RefusesWhatIsNotDoublyStochastic) {
  const auto rows = [](std::vector<std::vector<MixingWeight>> all) { return [all] { static_cast<void>(MixingMatrix{all}); }; };
  const double half = 0.5;
  const double third = 1.0 / 3;
  // Weights by the degree of the reader alone: rows sum to 1, columns do not.
  EXPECT_TRUE(
      refuses(rows({{{0, half}, {1, half}}, {{0, third}, {1, third}, {2, third}}, {{1, half}, {2, half}}}), invalid, {"column 0", "0.83"}));
  EXPECT_TRUE(refuses(rows({{{0, half}, {1, half}}, {{0, half}, {1, 0.4}}}), invalid, {"row 1", "0.9"}));
  // Swapping without keeping a part never converges.
  EXPECT_TRUE(refuses(rows({{{1, 1}}, {{0, 1}}}), invalid, {"row 0", "no diagonal"}));
  EXPECT_TRUE(refuses(rows({{{0, 1.5}, {1, -half}}, {{0, -half}, {1, 1.5}}}), invalid, {"row 0", "-0.5", "positive"}));
  EXPECT_TRUE(refuses(rows({{{0, std::numeric_limits<double>::quiet_NaN()}}}), invalid, {"nan", "positive"}));
  EXPECT_TRUE(refuses(rows({{{0, half}, {2, half}}, {{1, 1}}}), invalid, {"learner 2", "below 2"}));
  EXPECT_TRUE(refuses(rows({{{1, half}, {0, half}}, {{0, half}, {1, half}}}), invalid, {"ascend"}));
  EXPECT_TRUE(refuses(rows({}), invalid, {"no rows"}));
  // Off by a few last digits is rounding; by 1e-12 it is not.
  EXPECT_NO_THROW(static_cast<void>(MixingMatrix{{{{0, 0.1}, {1, 0.9}}, {{0, 0.9}, {1, 0.1}}}}));
  EXPECT_TRUE(refuses(rows({{{0, half}, {1, half + 1e-12}}, {{0, half}, {1, half}}}), invalid, {"row 0"}));
}

// Doubly stochastic without symmetry: a rotation in which every learner keeps half. Directions do not matter for reaching everybody.
TEST(Mixing, TakesWhatIsNotSymmetric) {
  const std::vector<std::vector<MixingWeight>> rotation{{{0, 0.5}, {1, 0.5}}, {{1, 0.5}, {2, 0.5}}, {{0, 0.5}, {2, 0.5}}};
  auto mixing = Mixing::repeating({MixingMatrix{rotation}});
  Eigen::MatrixXd product = Eigen::MatrixXd::Identity(3, 3);
  for (std::uint64_t round = 0; round < 60; ++round) product = dense(mixing.at(round)) * product;
  EXPECT_LE((product.array() - 1.0 / 3).abs().maxCoeff(), 1e-12);
}

// A sequence of matrices that together, but not alone, reach everybody; one of them left out is refused.
TEST(Mixing, IsConnectedOverItsPeriod) {
  const auto one = MixingMatrix::metropolis(Count{4}, std::vector<Edge>{{0, 1}, {2, 3}});
  const auto two = MixingMatrix::metropolis(Count{4}, std::vector<Edge>{{1, 2}});
  EXPECT_EQ(Mixing::repeating({one, two}).window(), 2U);
  EXPECT_TRUE(refuses([&] { static_cast<void>(Mixing::repeating({one, one})); }, invalid, {"learner 2 cannot be reached"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(Mixing::repeating({two, two})); }, invalid, {"learner 1 cannot be reached"}));
}

}  // namespace
}  // namespace surety::optimizers::mixing_test
