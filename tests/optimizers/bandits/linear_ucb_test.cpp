#include <surety/optimizers/bandits/linear_ucb.h>

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/testing/stream.h>

#include <support/bandit_records.h>
#include <support/drawn_cases.h>
#include <support/refusal.h>
#include <support/stream_taint.h>

namespace surety::optimizers::linear_ucb_test {
namespace {

const Grid grid{.log2_step = -30};

LinearUcbOptions options(std::uint64_t steps, std::uint64_t arms, Adjacency adjacency = Adjacency::replace_one) {
  return {.steps = Count{steps},
          .arms = Count{arms},
          .adjacency = adjacency,
          .row_norm = ClippingNorm{2},
          .reward_bound = RewardBound{1.3},
          .clip = ClippingNorm{0.8},
          .ridge = Ridge{0.5},
          .exploration = Exploration{0.3}};
}

/// Everything that anyone but the user at `place` sees.
auto run(const LinearUcbOptions& options, std::size_t features, std::size_t place) {
  return [=](const std::vector<BanditRecord>& users, auto& stream) {
    return shown_by(LinearUcb{options, Count{features}}, users, place, stream);
  };
}

TEST(LinearUcb, WithoutNoiseIsRidgeRegressionWithConfidence) {
  std::mt19937_64 random{7};
  const auto number = [&] { return std::uniform_real_distribution<double>{-1, 1}(random); };
  auto settings = options(60, 3);
  settings.clip = ClippingNorm{4};
  LinearUcb bandit{settings, Count{3}};
  testing::ExactStream stream{{.log2_step = -34}};
  std::vector<Eigen::MatrixXd> gram(3, 0.5 * Eigen::MatrixXd::Identity(3, 3));
  std::vector<Eigen::VectorXd> moments(3, Eigen::VectorXd::Zero(3));
  std::vector<int> pulls(3);
  for (int t = 0; t < 60; ++t) {
    const BanditRecord user{{2 * number(), number(), 0.3 * number()}, {number(), 0.2, 2 * number()}};
    const RowView row = view(user);
    const Eigen::Vector3d x = Eigen::Vector3d{user.row[0], user.row[1], user.row[2]} / std::max(2.0, row.norm);
    std::vector<double> scores;
    for (std::size_t a = 0; a < 3; ++a) {
      const Eigen::MatrixXd inverse = gram[a].inverse();
      scores.push_back(x.dot(inverse * moments[a]) + 0.3 * std::sqrt(x.dot(inverse * x)));
    }
    const auto wanted = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    ASSERT_EQ(bandit.choose(row), wanted) << t;
    ++pulls[wanted];
    const double r = std::clamp(user.rewards[wanted], -1.3, 1.3) / 1.3;
    gram[wanted] += x * x.transpose();
    moments[wanted] += r * x;
    bandit.learn(row, user.rewards[wanted], stream);
    for (std::size_t a = 0; a < 3; ++a) {
      const Eigen::VectorXd weights = gram[a].inverse() * moments[a] * (1.3 / 2);
      for (std::size_t j = 0; j < 3; ++j) ASSERT_NEAR(bandit.weights(a)[j], weights[static_cast<Eigen::Index>(j)], 1e-6) << t;
    }
  }
  for (const int count : pulls) EXPECT_GT(count, 5);
}

// 10,000 streams of users, each with one replaced, half of them by a user who is orthogonal or gets another arm.
TEST(LinearUcb, LeaksNothingAndMovesOnePushByAtMostItsSensitivity) {
  BanditRatios largest;
  expect_all_within_sensitivity(20240504, [&](std::mt19937_64& random) {
    const std::size_t features = 1 + random() % 4;
    const std::size_t arms = 1 + random() % 3;
    const std::size_t size = drawn_length(6, random);
    const auto adjacency = drawn_adjacency(random);
    const auto settings = options(size, arms, adjacency);
    auto users = bandit_records(size, features, arms, random);
    const std::size_t place = random() % 3 == 0 ? 0 : random() % size;
    if (random() % 3 == 0) {  // on an axis
      std::fill(users[place].row.begin() + 1, users[place].row.end(), 0.0);
      users[place].rewards.assign(arms, 0.0);
    }
    auto neighbours = neighbour(users, place, adjacency, random);
    if (adjacency == Adjacency::zero_out) neighbours[place].rewards.assign(arms, 0.0);
    if (adjacency == Adjacency::replace_one && random() % 3 == 0) {
      std::rotate(neighbours[place].row.begin(), neighbours[place].row.begin() + 1, neighbours[place].row.end());
    }
    const auto released = drawn_script(size, arms * block_size(features), random);
    return bandit_difference(run(settings, features, place), users, neighbours, place, grid, released, block_size(features), largest);
  });
  EXPECT_GT(largest.at_first, 0.99);
  EXPECT_GT(largest.arm_changes, 300);
  EXPECT_GT(largest.where_the_arm_changes, 0.99);
  RecordProperty("largest_ratio_where_the_arm_changes", std::to_string(largest.where_the_arm_changes));
}

// On the coarsest grid that is accepted, where rounding matters most.
TEST(LinearUcb, CountsRoundingInTheAngleOfBlocks) {
  std::mt19937_64 random{20240505};
  const Grid coarse{.log2_step = -14};  // 2^-14 sqrt(6) <= 2^-12 0.8
  double largest = 0;
  for (int c = 0; c < 5'000; ++c) {
    std::vector<BanditRecord> users{bandit_record(2, 1, random)};
    for (auto& value : users[0].row) value *= 1e3;
    std::vector<BanditRecord> neighbours = users;
    neighbours[0].row = {-users[0].row[1], users[0].row[0]};  // orthogonal
    if (random() % 2 == 0) neighbours[0].rewards[0] *= -1;
    const auto found = stream_difference(run(options(1, 1), 2, 0), users, neighbours, 0, coarse, {std::vector<double>(6, 1.0)});
    ASSERT_LE(found.ratio, 1);
    largest = std::max(largest, found.ratio);
  }
  EXPECT_GT(largest, 0.99);
  LinearUcb bandit{options(1, 1), Count{2}};
  testing::ExactStream coarser{{.log2_step = -13}};
  const BanditRecord user{{1, 0}, {1}};
  EXPECT_TRUE(refuses([&] { bandit.learn(view(user), 1, coarser); }, ErrorCode::invalid_argument, {"grid step is", "2^-12"}));
}

TEST(LinearUcb, AsksForATrianglePerArm) {
  const auto asked = shape(options(1000, 3), Count{7});
  EXPECT_EQ(asked.steps, Count{1000});
  EXPECT_EQ(asked.dimension, Count{3 * 36});
  EXPECT_DOUBLE_EQ(asked.sensitivity.value(), 0.8 * std::sqrt(2.0));
  EXPECT_EQ(shape(options(1000, 3, Adjacency::zero_out), Count{7}).sensitivity, L2Sensitivity{0.8});
  EXPECT_TRUE(refuses([] { static_cast<void>(shape(options(100, 2, Adjacency::add_or_remove_one), Count{7})); }, ErrorCode::unsupported,
                      {"adjacency is add-or-remove-one"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(shape(options(100, 2), Count{1 << 20})); }, ErrorCode::invalid_argument, {"2^32"}));
}

TEST(LinearUcb, TakesAnyContextRewardAndSum) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double huge = std::numeric_limits<double>::max();
  for (const double bad : {std::nan(""), infinity, -infinity, huge, -huge}) {
    LinearUcb bandit{options(6, 2), Count{2}};
    // Indefinite sums at first, sums beyond all bounds later.
    std::vector<std::vector<double>> released(6, std::vector<double>(12, -5.0));
    released[3].assign(12, huge);
    released[4].assign(12, bad);
    testing::ScriptedStream<> stream{grid, released};
    for (int t = 0; t < 6; ++t) {
      const BanditRecord user{{t % 2 == 0 ? bad : 1, 0.5}, {t % 3 == 0 ? bad : 0, 1}};
      bandit.learn(view(user), user.rewards[bandit.choose(view(user))], stream);
      for (std::size_t a = 0; a < 2; ++a) EXPECT_TRUE(std::isfinite(bandit.weights(a)[0])) << t;
    }
  }
}

// The operator norm of the noise stays below what the ridge allows for.
TEST(LinearUcb, PaperWidthCoversTheNoise) {
  std::mt19937_64 random{11};
  std::normal_distribution<double> normal;
  const auto settings = options(1000, 2);
  const auto width = paper_width(settings, Count{12}, {.deviation = 3, .reward_deviation = 0.1, .parameter_norm = 1, .failure = 0.05});
  double largest = 0;
  for (int c = 0; c < 2000; ++c) {
    Eigen::MatrixXd noise(13, 13);
    for (int i = 0; i < 13; ++i) {
      for (int j = i; j < 13; ++j) noise(i, j) = noise(j, i) = 3 * normal(random);
    }
    largest = std::max(largest, noise.selfadjointView<Eigen::Upper>().eigenvalues().cwiseAbs().maxCoeff());
  }
  EXPECT_LT(largest, width.ridge.value() / 2);
  EXPECT_GT(largest, width.ridge.value() / 4);
  const double n = width.ridge.value() / 2;
  const double logarithm = std::log(4 * 2000 / 0.05);
  const double beta = 0.1 / 1.3 * std::sqrt(2 * std::log(40.0) + 12 * std::log(3 + 1000 / (12 * n))) + 2 / 1.3 * std::sqrt(3 * n) +
                      3 * (std::sqrt(12.0) + std::sqrt(2 * logarithm)) / std::sqrt(n);
  EXPECT_NEAR(width.exploration.value(), beta, 1e-12 * beta);
}

// ---- Planted violations ----

enum class Mistake { none, no_clip, no_corner, exact_gram };

auto run_with(Mistake mistake) {
  return [=](const std::vector<BanditRecord>& users, auto& stream) {
    std::vector<std::vector<double>> shown;
    double exact = 0;
    for (std::size_t t = 0; t < users.size(); ++t) {
      const double norm = mistake == Mistake::no_clip ? 1 : std::max(1.0, std::abs(users[t].row[0]));
      const double x = users[t].row[0] / norm;
      const double r = users[t].rewards[0];
      const std::vector<double> products =
          mistake == Mistake::no_corner ? std::vector<double>{x * x, x * r} : std::vector<double>{x * x, x * r, r * r};
      const ClippingNorm clip{mistake == Mistake::no_clip ? 100.0 : 0.8 * (1 - 0x1p-10)};
      const auto sum = stream.push(
          clipped_contribution(1, {.indices = {}, .values = products, .norm = mechanisms::l2_norm(products)}, clip, grid, products.size()),
          L2Sensitivity{0.8 * std::sqrt(2.0)});
      exact += x * x;
      shown.push_back({sum[1] / ((mistake == Mistake::exact_gram ? exact : sum[0]) + 1)});
    }
    return shown;
  };
}

TEST(LinearUcb, PlantedViolationsAreCaught) {
  const auto difference = [](Mistake mistake, double reward) {
    const std::vector<BanditRecord> users{{{3}, {reward}}, {{0.5}, {0.1}}};
    auto neighbours = users;
    neighbours[0].rewards[0] = -reward;
    if (mistake == Mistake::exact_gram) neighbours[0].row[0] = 0.2;
    if (mistake == Mistake::no_clip) neighbours[0].row[0] = 0;
    const std::size_t size = mistake == Mistake::no_corner ? 2 : 3;
    return stream_difference(run_with(mistake), users, neighbours, 0, grid, {2, std::vector<double>(size, 0.7)});
  };
  EXPECT_TRUE(difference(Mistake::none, 1).untainted);
  EXPECT_LE(difference(Mistake::none, 1).ratio, 1);
  EXPECT_GT(difference(Mistake::no_clip, 1).ratio, 1);
  // Opposite large rewards: without the corner r^2 the two vectors are nearly opposite.
  EXPECT_GT(difference(Mistake::no_corner, 50).ratio, 1.4);
  EXPECT_LE(difference(Mistake::none, 50).ratio, 1);
  EXPECT_FALSE(difference(Mistake::exact_gram, 1).untainted);
}

}  // namespace
}  // namespace surety::optimizers::linear_ucb_test
