#include <surety/optimizers/bandits/linear_bandit.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/stream.h>

#include <support/bandit_records.h>
#include <support/drawn_cases.h>
#include <support/refusal.h>
#include <support/stream_taint.h>

namespace surety::optimizers::linear_bandit_test {
namespace {

const Grid grid{.log2_step = -30};
const SquaredLoss loss{.label_bound = LabelBound{1.3}, .weight_radius = Radius{1}};
const LpBall ball{LpExponent{1}, Radius{1}};

LinearBanditOptions options(std::uint64_t steps, std::uint64_t arms, std::uint64_t warm_up, Adjacency adjacency = Adjacency::replace_one) {
  return {.steps = Count{steps},
          .arms = Count{arms},
          .adjacency = adjacency,
          .warm_up = Count{warm_up},
          .clip = ClippingNorm{0.7},
          .step_scale = StepScaleFactor{1.3}};
}

/// Everything that anyone but the user at `place` sees: the arms of the others, and all parameters.
auto run(const LinearBanditOptions& options, std::size_t features, std::size_t place) {
  return [=](const std::vector<BanditRecord>& users, auto& stream) {
    return shown_by(LinearBandit{loss, ball, options, Count{features}}, users, place, stream);
  };
}

TEST(LinearBandit, WithoutNoiseFollowsThePaperArmByArm) {
  // Two arms, eight users each to warm up, then the better one; each arm's d_i = grad + (1 - 1/i)(d_{i-1} - grad before), step by step.
  auto settings = options(80, 2, 8);
  settings.clip = ClippingNorm{100};
  std::mt19937_64 random{5};
  const auto number = [&] { return std::uniform_real_distribution<double>{-1, 1}(random); };
  std::vector<BanditRecord> users;
  for (int t = 0; t < 80; ++t) users.push_back({{number(), number()}, {2 * number(), 2 * number()}});
  LinearBandit bandit{loss, ball, settings, Count{2}};
  testing::ExactStream stream{grid};
  struct Arm {
    std::vector<double> now{0, 0};
    std::vector<double> before{0, 0};
    std::vector<double> d{0, 0};
    double i = 0;
  };
  std::vector<Arm> arms(2);
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) { return a[0] * b[0] + a[1] * b[1]; };
  for (std::size_t t = 0; t < users.size(); ++t) {
    const auto& x = users[t].row;
    const std::size_t wanted = t < 16 ? t / 8 : dot(x, arms[1].now) > dot(x, arms[0].now) ? 1 : 0;
    ASSERT_EQ(bandit.choose(view(users[t])), wanted) << t;
    const double r = std::clamp(users[t].rewards[wanted], -1.3, 1.3);
    for (std::size_t a = 0; a < 2; ++a) {
      if (t < 16 && a != wanted) continue;
      Arm& arm = arms[a];
      ++arm.i;
      const double here = a == wanted ? dot(x, arm.now) - r : 0;
      const double there = a == wanted ? dot(x, arm.before) - r : 0;
      for (std::size_t j = 0; j < 2; ++j) arm.d[j] = here * x[j] + (1 - 1 / arm.i) * (arm.d[j] - there * x[j]);
      const std::size_t largest = std::abs(arm.d[1]) > std::abs(arm.d[0]) ? 1 : 0;
      arm.before = arm.now;
      for (std::size_t j = 0; j < 2; ++j) {
        const double vertex = j == largest ? (arm.d[j] > 0 ? -1 : 1) : 0;
        arm.now[j] += 1.3 / (arm.i + 1) * (vertex - arm.now[j]);
      }
    }
    bandit.learn(view(users[t]), users[t].rewards[wanted], stream);
    for (std::size_t a = 0; a < 2; ++a) {
      for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(bandit.weights(a)[j], arms[a].now[j], 1e-7) << t << " " << a;
    }
  }
}

// 10,000 streams of users, each with one replaced: other contexts, other rewards, another arm, in the warm-up and after it.
TEST(LinearBandit, LeaksNothingAndMovesOnePushByAtMostItsSensitivity) {
  BanditRatios largest;
  expect_all_within_sensitivity(20240503, [&](std::mt19937_64& random) {
    const std::size_t features = 1 + random() % 4;
    const std::size_t arms = 1 + random() % 3;
    const std::size_t warm_up = 1 + random() % 2;
    const std::size_t size = arms * warm_up + drawn_length(6, random) - 1;
    const auto adjacency = drawn_adjacency(random);
    auto settings = options(size, arms, warm_up, adjacency);
    if (random() % 2 == 0) settings.preselection = PreselectionMargin{0.01};
    const auto users = bandit_records(size, features, arms, random);
    const std::size_t place = random() % 3 == 0 ? 0 : random() % 2 == 0 ? size - 1 : random() % size;
    const auto neighbours = neighbour(users, place, adjacency, random);
    const auto released = drawn_script(size, arms * features, random);
    return bandit_difference(run(settings, features, place), users, neighbours, place, grid, released, features, largest);
  });
  EXPECT_GT(largest.at_first, 0.99);
  // From C to 0 in one block and from 0 to C in another: sqrt(2) C of the 2C.
  EXPECT_GT(largest.arm_changes, 300);
  EXPECT_GT(largest.where_the_arm_changes, 0.7);
  EXPECT_LT(largest.where_the_arm_changes, std::sqrt(0.5) + 1e-9);
  RecordProperty("largest_ratio_where_the_arm_changes", std::to_string(largest.where_the_arm_changes));
}

TEST(LinearBandit, LeavesOutArmsThatAreFarBehindAfterTheWarmUp) {
  auto settings = options(4, 2, 1);
  settings.preselection = PreselectionMargin{0.5};
  LinearBandit bandit{loss, ball, settings, Count{1}};
  // After the warm-up arm 0 is at 0.65 and arm 1 at -0.65; then both are driven the other way.
  testing::ScriptedStream<> stream{grid, {{-1, 0}, {0, 1}, {5, -5}, {5, -5}}};
  const BanditRecord user{{1}, {0, 0}};
  for (int t = 0; t < 4; ++t) bandit.learn(view(user), 0, stream);
  ASSERT_GT(bandit.weights(1)[0], bandit.weights(0)[0]);
  EXPECT_EQ(bandit.choose(view(user)), 0U);
  settings.preselection = PreselectionMargin{2};
  LinearBandit lenient{loss, ball, settings, Count{1}};
  testing::ScriptedStream<> again{grid, {{-1, 0}, {0, 1}, {5, -5}, {5, -5}}};
  for (int t = 0; t < 4; ++t) lenient.learn(view(user), 0, again);
  EXPECT_EQ(lenient.choose(view(user)), 1U);
}

TEST(LinearBandit, AsksForABlockPerArmAndOnePushPerUser) {
  const auto asked = shape(options(1000, 3, 20), Count{7});
  EXPECT_EQ(asked.steps, Count{1000});
  EXPECT_EQ(asked.dimension, Count{21});
  EXPECT_EQ(asked.sensitivity, L2Sensitivity{1.4});
  EXPECT_EQ(shape(options(1000, 3, 20, Adjacency::zero_out), Count{7}).sensitivity, L2Sensitivity{0.7});
}

TEST(LinearBandit, RefusesWhatItHasNoGuaranteeOrNoRoomFor) {
  EXPECT_TRUE(refuses([] { static_cast<void>(shape(options(100, 2, 20, Adjacency::add_or_remove_one), Count{7})); }, ErrorCode::unsupported,
                      {"adjacency is add-or-remove-one"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(shape(options(100, 3, 34), Count{7})); }, ErrorCode::invalid_argument,
                      {"warm-up is 34 users for each of 3 arms", "at most the 100"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(shape(options(1 << 20, 1 << 16, 1), Count{1 << 17})); }, ErrorCode::invalid_argument,
                      {"arms x features", "2^32"}));
  EXPECT_TRUE(refuses([] { PreselectionMargin{0}; }, ErrorCode::invalid_argument, {"preselection margin is 0"}));
}

TEST(LinearBandit, TakesAnyContextAndReward) {
  const double huge = std::numeric_limits<double>::max();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::nan(""), infinity, -infinity, huge, -huge}) {
    LinearBandit bandit{loss, ball, options(6, 2, 1), Count{2}};
    testing::ExactStream stream{grid};
    for (int t = 0; t < 6; ++t) {
      const BanditRecord user{{t % 2 == 0 ? bad : 1, 0.5}, {t % 3 == 0 ? bad : 0, 1}};
      bandit.learn(view(user), user.rewards[bandit.choose(view(user))], stream);
      for (std::size_t a = 0; a < 2; ++a) EXPECT_LE(std::abs(bandit.weights(a)[0]) + std::abs(bandit.weights(a)[1]), 1 + 1e-12);
    }
  }
}

// ---- Planted violations: each is a way in which such a bandit was or could be written, and each is caught. ----

enum class Mistake {
  none,
  first_step_weight,   ///< the first reward of an arm counts twice
  unclipped_reward,    ///< bounds the gradient by the bound on rewards, which are not bounded
  global_step,         ///< weighs by the step of all arms in place of the arm's own, where the bound on g_t needs the latter
  pulls_as_step,       ///< weighs by how often the arm was chosen
  no_synthetic_update  ///< moves only the arm that was chosen, as its stream alone would be noised
};

/// The bandit without the clip of g_t, as in the paper. With s = 1 the recursion telescopes to g_t = (<v, x_t> - r_t) x_t for the vertex v
/// that the arm last moved to, so 1 + B bounds it for rewards in [-B, B], rows of norm 1 and the l1 ball of radius 1 - if i is the arm's
/// own.
auto run_with(Mistake mistake, std::size_t warm_up, std::size_t place, L2Sensitivity claimed) {
  return [=](const std::vector<BanditRecord>& users, auto& stream) {
    struct Arm {
      std::vector<double> now{0, 0};
      std::vector<double> before{0, 0};
      double steps = 0;
      double pulls = 0;
    };
    std::vector<Arm> arms(2);
    std::vector<std::vector<double>> shown;
    const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) { return a[0] * b[0] + a[1] * b[1]; };
    for (std::size_t t = 0; t < users.size(); ++t) {
      const auto& x = users[t].row;
      const bool warm = t < 2 * warm_up;
      const std::size_t chosen = warm ? t / warm_up : dot(x, arms[1].now) > dot(x, arms[0].now) ? 1 : 0;
      if (t != place) shown.push_back({static_cast<double>(chosen)});
      double r = users[t].rewards[chosen];
      if (mistake != Mistake::unclipped_reward) r = std::clamp(r, -1.3, 1.3);
      Arm& mine = arms[chosen];
      const double i = mistake == Mistake::global_step     ? static_cast<double>(t) + 1
                       : mistake == Mistake::pulls_as_step ? mine.pulls + 1
                                                           : mine.steps + 1;
      double factor = i * (dot(x, mine.now) - r) - (i - 1) * (dot(x, mine.before) - r);
      if (mistake == Mistake::first_step_weight && i == 1) factor *= 2;
      const auto block = clipped_contribution(factor, view(users[t]), ClippingNorm{1e3}, grid, 2);
      GridVector contribution{.grid = grid, .steps = std::vector<std::int64_t>(4)};
      std::copy(block.steps.begin(), block.steps.end(), contribution.steps.begin() + static_cast<std::ptrdiff_t>(2 * chosen));
      const auto sum = stream.push(contribution, claimed);
      mine.pulls += 1;
      for (std::size_t a = 0; a < 2; ++a) {
        if (warm && a != chosen) continue;
        if (mistake == Mistake::no_synthetic_update && a != chosen) continue;
        Arm& arm = arms[a];
        arm.before = arm.now;
        arm.steps += 1;
        const std::size_t largest = std::abs(sum[2 * a + 1]) > std::abs(sum[2 * a]) ? 1 : 0;
        const double step = mistake == Mistake::pulls_as_step ? 1 / (std::max(arm.pulls, 1.0) + 1) : 1 / (arm.steps + 1);
        for (std::size_t j = 0; j < 2; ++j) {
          const double vertex = j == largest ? (sum[2 * a + j] > 0 ? -1 : 1) : 0;
          arm.now[j] += step * (vertex - arm.now[j]);
        }
        shown.push_back(arm.now);
      }
    }
    return shown;
  };
}

TEST(LinearBandit, PlantedViolationsAreCaught) {
  const auto difference = [](Mistake mistake, std::size_t warm_up, std::size_t place, const BanditRecord& from, const BanditRecord& to,
                             double claimed) {
    std::vector<BanditRecord> users(2 * warm_up + 3, BanditRecord{{0.6, 0.8}, {0.2, -0.3}});
    users[place] = from;
    auto neighbours = users;
    neighbours[place] = to;
    // Answers that drive arm 0 along the first axis, and back at the last step of its warm-up; arm 1 the other way.
    std::vector<std::vector<double>> released(users.size(), {-1, 0, 1, 0});
    released[warm_up - 1][0] = 1;
    return stream_difference(run_with(mistake, warm_up, place, L2Sensitivity{claimed}), users, neighbours, place, grid, released);
  };
  const auto user = [](double x, double reward) { return BanditRecord{{x, 0}, {reward, reward}}; };
  const double bound = 2.3 + 1e-6;  // of one contribution; a replacement moves twice that

  EXPECT_LE(difference(Mistake::none, 2, 0, user(1, 1.3), user(1, -1.3), 2.6 + 1e-6).ratio, 1);
  EXPECT_GT(difference(Mistake::first_step_weight, 2, 0, user(1, 1.3), user(1, -1.3), 2.6 + 1e-6).ratio, 1.9);

  EXPECT_LE(difference(Mistake::none, 2, 1, user(1, 1.3), user(1, -100), 2 * bound).ratio, 1);
  EXPECT_GT(difference(Mistake::unclipped_reward, 2, 1, user(1, 1.3), user(1, -100), 2 * bound).ratio, 1);

  // Right after the warm-up of both arms, arm 0 goes on with step W + 1, not with 2 W + 1.
  const double honest = difference(Mistake::none, 40, 80, user(1, 1.3), user(0, 0), bound).ratio;
  EXPECT_LE(honest, 1);
  EXPECT_GT(honest, 0.99);
  EXPECT_GT(difference(Mistake::global_step, 40, 80, user(1, 1.3), user(0, 0), bound).ratio, 1.8);

  // A user who gets another arm changes neither later weights i nor which arms move.
  EXPECT_TRUE(difference(Mistake::none, 2, 4, user(1, 0.5), user(-1, 0.5), 2 * bound).untainted);
  EXPECT_FALSE(difference(Mistake::pulls_as_step, 2, 4, user(1, 0.5), user(-1, 0.5), 2 * bound).untainted);
  EXPECT_FALSE(difference(Mistake::no_synthetic_update, 2, 4, user(1, 0.5), user(-1, 0.5), 2 * bound).untainted);
}

}  // namespace
}  // namespace surety::optimizers::linear_bandit_test
