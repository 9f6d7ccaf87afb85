#include <surety/optimizers/bandits/polyhedral_bandit.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/selector.h>

#include <support/bandit_records.h>
#include <support/drawn_cases.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::polyhedral_bandit_test {
namespace {

const SquaredLoss loss{.label_bound = LabelBound{1.3}, .weight_radius = Radius{1}};

PolyhedralBanditOptions options(std::uint64_t steps, std::uint64_t arms, std::uint64_t warm_up,
                                Adjacency adjacency = Adjacency::replace_one) {
  return {.arm = {.steps = Count{steps},
                  .noise_multiplier = NoiseMultiplier{3},
                  .adjacency = adjacency,
                  .clip = LinfClip{0.2},
                  .step_scale = StepScaleFactor{1.3}},
          .arms = Count{arms},
          .warm_up = Count{warm_up}};
}

struct Shown {
  std::vector<std::vector<double>> seen;  ///< by everyone but the user at one place
  std::vector<testing::ScriptedSelector::Request> requests;
  std::vector<std::size_t> ends;  ///< of each user's requests
};

Shown run(const PolyhedralBanditOptions& options, const std::vector<BanditRecord>& users, std::size_t place,
          const std::vector<std::size_t>& chosen) {
  testing::ScriptedSelector selector{chosen};
  PolyhedralBandit bandit{loss, options, Count{users[0].row.size()}};
  Shown shown;
  for (std::size_t t = 0; t < users.size(); ++t) {
    const std::size_t arm = bandit.choose(view(users[t]));
    if (t != place) shown.seen.push_back({static_cast<double>(arm)});
    bandit.learn(view(users[t]), users[t].rewards[arm], selector);
    shown.ends.push_back(selector.log().size());
    for (std::size_t a = 0; a < options.arms.value(); ++a) shown.seen.emplace_back(bandit.weights(a).begin(), bandit.weights(a).end());
  }
  shown.requests = selector.log();
  return shown;
}

// 10,000 streams of users, each with one replaced: at every step the ranges by which the scores of all arms change add up to at most the
// sensitivity, and nothing else changes.
TEST(PolyhedralBandit, LeaksNothingAndMovesTheScoresOfAllArmsByAtMostOneSensitivity) {
  double largest_of_two = 0;
  expect_all_within_sensitivity(20240506, [&](std::mt19937_64& random) {
    const std::size_t features = 1 + random() % 3;
    const std::size_t arms = 1 + random() % 3;
    const std::size_t size = arms + drawn_length(5, random) - 1;
    const auto adjacency = drawn_adjacency(random);
    const auto settings = options(size, arms, 1, adjacency);
    const auto users = bandit_records(size, features, arms, random);
    const std::size_t place = random() % 2 == 0 ? size - 1 : random() % size;
    const auto neighbours = neighbour(users, place, adjacency, random);
    const auto chosen = drawn_choices(size * arms, random);
    const Shown a = run(settings, users, place, chosen);
    const Shown b = run(settings, neighbours, place, chosen);
    Difference found{::testing::AssertionSuccess(), 0};
    EXPECT_EQ(a.ends, b.ends);
    EXPECT_EQ(a.seen.size(), b.seen.size());
    if (::testing::Test::HasFailure()) return found;
    for (std::size_t i = 0; i < a.seen.size(); ++i) EXPECT_TRUE(same_bits(a.seen[i], b.seen[i]));
    for (std::size_t t = 0, k = 0; t < size; ++t) {
      double ratio = 0;
      int moved = 0;
      for (; k < a.ends[t]; ++k) {
        EXPECT_EQ(a.requests[k].sensitivity, b.requests[k].sensitivity);
        EXPECT_TRUE(a.requests[k].event == b.requests[k].event);
        const double range = range_of_changes(a.requests[k].scores, b.requests[k].scores) / a.requests[k].sensitivity.value();
        ratio += range;
        moved += range > 0 ? 1 : 0;
      }
      EXPECT_TRUE(t >= place || moved == 0);
      found.ratio = std::max(found.ratio, ratio);
      if (moved == 2) largest_of_two = std::max(largest_of_two, ratio);
    }
    return found;
  });
  EXPECT_GT(largest_of_two, 0.99);  // 2C in each of two arms
}

TEST(PolyhedralBandit, PlansTheChoicesOfOneArm) {
  const auto settings = options(20, 3, 4);
  const std::vector<BanditRecord> users(20, BanditRecord{{0.5, -1}, {0.3, 0.1, 0.2}});
  const Shown made = run(settings, users, 20, std::vector<std::size_t>(60, 2));
  ASSERT_EQ(made.requests.size(), 12U + 3 * 8);
  std::vector<Event> first_arm;
  for (std::size_t k = 0; k < 4; ++k) first_arm.push_back(made.requests[k].event);
  for (std::size_t k = 12; k < made.requests.size(); k += 3) {
    first_arm.push_back(made.requests[k].event);
    EXPECT_TRUE(made.requests[k].event == made.requests[k + 1].event && made.requests[k].event == made.requests[k + 2].event);
  }
  EXPECT_TRUE(accounting::Releases::of(compose(first_arm)) == accounting::Releases::of(plan(settings)));
}

TEST(PolyhedralBandit, SpendsItsPlanOnceBeforeTheFirstDraw) {
  const TemporaryFolder folder;
  auto ledger = accounting::Ledger::create(folder / "ledger", Adjacency::replace_one);
  const auto settings = options(20, 2, 4);
  auto reservation = ledger.reserve({.event = plan(settings), .note = "a bandit"});
  mechanisms::ReplayBits bits{1};
  SharedSelector selector{reservation, bits, plan(settings)};
  PolyhedralBandit bandit{loss, settings, Count{2}};
  const BanditRecord user{{0.5, -1}, {0.3, 0.1}};
  EXPECT_FALSE(reservation.released().event());
  for (int t = 0; t < 20; ++t) {
    bandit.learn(view(user), 0.3, selector);
    EXPECT_TRUE(accounting::Releases::of(*reservation.released().event()) == accounting::Releases::of(plan(settings)));
  }
  auto small = ledger.reserve({.event = plan(options(10, 2, 4)), .note = "too small"});
  SharedSelector greedy{small, bits, plan(settings)};
  PolyhedralBandit another{loss, settings, Count{2}};
  EXPECT_TRUE(refuses([&] { another.learn(view(user), 0.3, greedy); }, ErrorCode::budget_exceeded, {}));
}

TEST(PolyhedralBandit, WithoutNoisePrefersTheBetterArm) {
  std::mt19937_64 random{3};
  auto settings = options(2000, 2, 50);
  settings.arm.step_scale = StepScaleFactor{0.5};
  PolyhedralBandit bandit{loss, settings, Count{4}};
  testing::ExactSelector selector;
  int right = 0;
  for (int t = 0; t < 2000; ++t) {
    BanditRecord user{std::vector<double>(4), {0, 0}};
    for (auto& x : user.row) x = random() % 2 == 0 ? -1 : 1;
    user.rewards = {0.5 * user.row[2], -0.5 * user.row[2]};
    const std::size_t arm = bandit.choose(view(user));
    if (t >= 1000) right += user.rewards[arm] > 0 ? 1 : 0;
    bandit.learn(view(user), user.rewards[arm], selector);
  }
  EXPECT_GT(right, 950);
}

TEST(PolyhedralBandit, RefusesAWarmUpLongerThanTheHorizon) {
  EXPECT_TRUE(
      refuses([] { static_cast<void>(plan(options(100, 3, 34))); }, ErrorCode::invalid_argument, {"warm-up is 34", "3 arms", "100"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(plan(options(100, 3, 3, Adjacency::add_or_remove_one))); }, ErrorCode::unsupported,
                      {"adjacency is add-or-remove-one"}));
}

}  // namespace
}  // namespace surety::optimizers::polyhedral_bandit_test
