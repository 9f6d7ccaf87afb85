// A search: what it charges and when, the law of its runs and of its candidates, which run it keeps, and how far one record moves a score.
#include <surety/optimizers/empirical_risk/search.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <set>
#include <vector>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/releaser.h>

#include <support/full_gradient_checks.h>

namespace surety::optimizers::search_test {

using namespace data;

namespace {

constexpr auto adjacency = Adjacency::replace_one;

SearchOptions options_of(SearchOrder order, std::uint64_t runs, std::uint64_t candidates) {
  return {.noise_multiplier = NoiseMultiplier{2.5},
          .adjacency = adjacency,
          .order = order,
          .runs = Count{runs},
          .candidates = Count{candidates}};
}

/// A ledger that has reserved what such a search costs, some times over.
class Charged {
 public:
  explicit Charged(const SearchOptions& options, std::uint64_t times = 1)
      : ledger_{accounting::Ledger::open_or_create(folder_ / "ledger.db", adjacency)},
        reservation_{ledger_.reserve({.event = repeat(Count{times}, plan(options)), .not_private = true})} {}
  accounting::Reservation& operator*() { return reservation_; }
  [[nodiscard]] Event charged() { return ledger_.event().value(); }

 private:
  TemporaryFolder folder_;
  accounting::Ledger ledger_;
  accounting::Reservation reservation_;
};

TEST(Search, IsChargedAsAWholeBeforeItsFirstRun) {
  const Event run = gaussian(NoiseMultiplier{2.5}, adjacency);
  EXPECT_EQ(plan(options_of(SearchOrder::at_random, 4, 3)), best_of(Runs{RunsLaw::geometric, 4}, run));
  EXPECT_EQ(plan(options_of(SearchOrder::each, 3, 3)), repeat(Count{3}, run));
  for (const auto order : {SearchOrder::at_random, SearchOrder::each}) {
    const auto options = options_of(order, 2, 3);
    Charged charged{options};
    mechanisms::ReplayBits bits{1};
    bool was_charged = true;
    const auto found = search(options, *charged, bits, [&](std::size_t, Releaser&, Releaser&) {
      was_charged = was_charged && (*charged).released() == accounting::Releases::of(plan(options));
      return ScoredModel{.weights = {}, .score = 0};
    });
    EXPECT_LT(found.candidate, 3U);
    EXPECT_TRUE(was_charged);
    EXPECT_EQ((*charged).released(), accounting::Releases::of(plan(options)));  // and nothing more by its runs
  }
}

TEST(Search, DoesNothingThatTheReservationDoesNotHold) {
  Charged charged{options_of(SearchOrder::at_random, 3, 3)};
  mechanisms::ReplayBits bits{1};
  bool has_run = false;
  const auto run = [&](std::size_t, Releaser&, Releaser&) {
    has_run = true;
    return ScoredModel{.weights = {}, .score = 0};
  };
  EXPECT_TRUE(refuses([&] { static_cast<void>(search(options_of(SearchOrder::at_random, 4, 3), *charged, bits, run)); },
                      ErrorCode::budget_exceeded, {"beyond what is left of its plan"}));
  EXPECT_FALSE(has_run);
  EXPECT_TRUE(refuses([&] { static_cast<void>(plan(options_of(SearchOrder::each, 4, 3))); }, ErrorCode::invalid_argument,
                      {"number of candidates to try is 4, must be at most 3"}));
}

// What a run releases is held to gaussian(z) at each of its two doors, and a search that fails stays charged.
TEST(Search, HoldsEachDoorOfARunToItsGaussian) {
  const auto options = options_of(SearchOrder::at_random, 4, 3);
  const GridVector zero{.grid = {.log2_step = -20}, .steps = {0}};
  const auto releases = [&](double training, double scoring, int times) {
    Charged charged{options};
    mechanisms::ReplayBits bits{7};
    const auto run = [&](std::size_t, Releaser& first, Releaser& second) {
      for (int k = 0; k < times; ++k) {
        static_cast<void>(first.release(zero, L2Sensitivity{1}, gaussian(NoiseMultiplier{training}, adjacency)));
        static_cast<void>(second.release(zero, L2Sensitivity{1}, gaussian(NoiseMultiplier{scoring}, adjacency)));
      }
      return ScoredModel{.weights = {}, .score = 0};
    };
    const bool is_refused =
        refuses([&] { static_cast<void>(search(options, *charged, bits, run)); }, ErrorCode::internal, {"a run of a search"});
    EXPECT_EQ(charged.charged(), plan(options));
    return !is_refused;
  };
  EXPECT_TRUE(releases(2.5, 2.5, 1));
  EXPECT_FALSE(releases(2.4, 2.5, 1));
  EXPECT_FALSE(releases(2.5, 2.4, 1));
  EXPECT_FALSE(releases(2.5, 2.5, 2));
}

TEST(Search, RunsAGeometricNumberOfTimesWithCandidatesDrawnAfresh) {
  constexpr int searches = 2000;
  constexpr double mean = 4;
  const auto options = options_of(SearchOrder::at_random, 4, 3);
  Charged charged{options, searches};
  mechanisms::ReplayBits bits{42};
  std::vector<double> numbers(8);  // of searches with so many runs, the last of more
  std::vector<std::vector<double>> pairs(3, std::vector<double>(3));
  double runs = 0;
  for (int k = 0; k < searches; ++k) {
    std::size_t last = 3;
    std::size_t count = 0;
    static_cast<void>(search(options, *charged, bits, [&](std::size_t candidate, Releaser&, Releaser&) {
      if (last < 3) ++pairs[last][candidate];
      last = candidate;
      ++count;
      return ScoredModel{.weights = {}, .score = 0};
    }));
    ++numbers[std::min<std::size_t>(count, 8) - 1];
    runs += static_cast<double>(count);
  }
  // Six standard deviations each.
  double left = 1;
  for (std::size_t k = 0; k < 7; ++k) {
    const double p = left / mean;
    left -= p;
    EXPECT_NEAR(numbers[k] / searches, p, 6 * std::sqrt(p * (1 - p) / searches)) << k + 1;
  }
  EXPECT_NEAR(runs / searches, mean, 6 * std::sqrt(mean * (mean - 1) / searches));
  const double all = runs - searches;
  for (const auto& row : pairs) {
    for (const double count : row) EXPECT_NEAR(count / all, 1.0 / 9, 6 * std::sqrt(8.0 / 81 / all));
  }
}

// A mean of 2 with a cap of 3: r + r^2 = 1, and 3 runs with probability r^2.
TEST(Search, RunsNoMoreThanItsCap) {
  auto options = options_of(SearchOrder::at_random, 2, 3);
  options.most_runs = Count{3};
  EXPECT_EQ(plan(options), best_of(Runs::capped_geometric(2, Count{3}), gaussian(NoiseMultiplier{2.5}, adjacency)));
  constexpr int searches = 150;  // each solves for its law, ten milliseconds
  Charged charged{options, searches};
  mechanisms::ReplayBits bits{43};
  std::vector<double> numbers(4);  // of searches with so many runs
  for (int k = 0; k < searches; ++k) {
    std::size_t count = 0;
    static_cast<void>(search(options, *charged, bits, [&](std::size_t, Releaser&, Releaser&) {
      ++count;
      return ScoredModel{.weights = {}, .score = 0};
    }));
    ++numbers.at(count);
  }
  const double goes_on = std::numbers::phi - 1;
  EXPECT_EQ(numbers[0], 0);
  EXPECT_NEAR(numbers[1] / searches, 1 - goes_on, 6 * std::sqrt(0.25 / searches));
  EXPECT_NEAR(numbers[3] / searches, goes_on * goes_on, 6 * std::sqrt(0.25 / searches));
  options.most_runs = Count{2};
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(plan(options)); }, ErrorCode::invalid_argument, {"mean is 2, must be less than the cap of 2 runs"}));
}

TEST(Search, TriesEachCandidateAtMostOnceInARandomOrder) {
  const auto options = options_of(SearchOrder::each, 2, 3);
  constexpr int searches = 1200;
  Charged charged{options, searches};
  mechanisms::ReplayBits bits{5};
  std::vector<int> firsts(9);
  for (int k = 0; k < searches; ++k) {
    std::vector<std::size_t> tried;
    static_cast<void>(search(options, *charged, bits, [&](std::size_t candidate, Releaser&, Releaser&) {
      tried.push_back(candidate);
      return ScoredModel{.weights = {}, .score = 0};
    }));
    ASSERT_EQ(tried.size(), 2U);
    ASSERT_NE(tried[0], tried[1]);
    ++firsts[3 * tried[0] + tried[1]];
  }
  for (std::size_t k = 0; k < 9; ++k) EXPECT_NEAR(firsts[k], k % 4 == 0 ? 0 : searches / 6.0, 6 * std::sqrt(searches * 5.0 / 36)) << k;
}

TEST(Search, KeepsTheBestRunWithItsCandidateAndItsWeights) {
  const auto options = options_of(SearchOrder::each, 4, 4);
  const auto best_of_scores = [&](const std::vector<double>& scores) {
    Charged charged{options};
    mechanisms::ReplayBits bits{3};
    const auto found = search(options, *charged, bits, [&](std::size_t candidate, Releaser&, Releaser&) {
      return ScoredModel{.weights = {static_cast<double>(candidate)}, .score = scores.at(candidate)};
    });
    EXPECT_EQ(found.model.weights, std::vector<double>{static_cast<double>(found.candidate)});
    return found.candidate;
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(best_of_scores({1, 3, 2, -1}), 1U);
  EXPECT_EQ(best_of_scores({nan, nan, nan, -1e300}), 3U);
  EXPECT_EQ(best_of_scores({nan, 1, std::numeric_limits<double>::infinity(), 5}), 2U);
}

// ---- The score ----------------------------------------------------------------------------------------------------------------------------

testing::ScriptedReleaser::Request query_of(const Dataset& data, const std::vector<double>& weights, Adjacency under, double bound = 1.5) {
  testing::ScriptedReleaser releaser{{{0}}};
  const BoundedLoss loss{.value = [](double score, double label) { return LogisticLoss{}.value(score, label); }, .bound = bound};
  static_cast<void>(released_score(data, loss, weights, NoiseMultiplier{2}, under, releaser));
  return releaser.log().front();
}

TEST(ReleasedScore, OneRecordMovesItByNoMoreThanItsSensitivity) {
  std::mt19937_64 random{4};
  for (const Adjacency under : every_adjacency) {
    double largest = 0;
    for (int k = 0; k < 1500; ++k) {
      const std::size_t features = 1 + random() % 3;
      auto [data, neighbour] = neighbours_under(under, 1 + random() % 4, features, random);
      std::vector<double> weights(features);
      for (double& weight : weights)
        weight = std::uniform_real_distribution<double>{-1, 1}(random)*std::pow(10.0, random() % 5 == 0 ? 300 : 1);
      const auto a = query_of(data, weights, under);
      const auto b = query_of(neighbour, weights, under);
      ASSERT_EQ(a.sensitivity.value(), b.sensitivity.value());
      ASSERT_EQ(a.event, gaussian(NoiseMultiplier{2}, under));
      const double moved = static_cast<double>(std::abs(a.query.steps[0] - b.query.steps[0])) * a.query.grid.step();
      ASSERT_LE(moved, a.sensitivity.value());
      largest = std::max(largest, moved / a.sensitivity.value());
    }
    EXPECT_GT(largest, 0.999);  // and no less would do
  }
}

TEST(ReleasedScore, IsTheSumOfWhatLossesLeaveOfTheirBound) {
  const std::vector<double> weights{1};
  const auto sum = [&](const Dataset& data) {
    const auto request = query_of(data, weights, adjacency);
    EXPECT_EQ(request.query.steps.size(), 1U);
    return static_cast<double>(request.query.steps[0]) * request.query.grid.step();
  };
  const auto loss = [](double margin) { return std::log1p(std::exp(-margin)); };
  EXPECT_NEAR(sum(Dataset::dense(1, {2, -1, 0.5}, {1, -1, -1})), 3 * 0.75 - loss(2) - loss(1) - loss(-0.5), 1e-6);
  EXPECT_NEAR(sum(Dataset::dense(1, {2, -9}, {1, 1})), 0.75 - loss(2) - 0.75, 1e-6);  // clipped at the bound
  EXPECT_EQ(sum(Dataset::dense(1, {0, 0}, {1, -1})), 0);                              // damaged records say nothing
  EXPECT_EQ(query_of(Dataset::dense(1, {2}, {1}), weights, Adjacency::replace_one).sensitivity.value(), 1.5);
  EXPECT_EQ(query_of(Dataset::dense(1, {2}, {1}), weights, Adjacency::add_or_remove_one).sensitivity.value(), 0.75);
  // No number counts as the largest loss.
  EXPECT_NEAR(static_cast<double>(query_of(Dataset::dense(2, {1e200, 1e200}, {1}), {1e200, -1e200}, adjacency).query.steps[0]) *
                  query_of(Dataset::dense(2, {1e200, 1e200}, {1}), {1e200, -1e200}, adjacency).query.grid.step(),
              -0.75, 1e-6);
}

TEST(BoundedLoss, OfLogisticLossIsTheSquaredErrorOfTheProbability) {
  const LogisticLoss logistic;
  const auto loss = bounded_loss(logistic);
  EXPECT_EQ(loss.bound, 1);
  EXPECT_DOUBLE_EQ(loss.value(0, 1), 0.25);
  EXPECT_NEAR(loss.value(2, 1), std::pow(1 / (1 + std::exp(2.0)), 2), 1e-15);
  EXPECT_NEAR(loss.value(2, -1), std::pow(1 / (1 + std::exp(-2.0)), 2), 1e-15);
  for (const double huge : {1e4, 1e308, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(loss.value(huge, 1), 0);
    EXPECT_EQ(loss.value(huge, -1), 1);
    EXPECT_EQ(loss.value(-huge, -1), 0);
  }
  // Of a class that 84 in 100 have, the one who says so is better than the one who is sure, which a log loss that is cut off would deny.
  const auto mean = [&](const auto& of, double score) { return 0.84 * of(score, 1) + 0.16 * of(score, -1); };
  const double honest = std::log(0.84 / 0.16);
  EXPECT_LT(mean(loss.value, honest), mean(loss.value, 30));
  EXPECT_LT(mean(loss.value, honest), mean(loss.value, 0));
  const auto cut = [&](double score, double label) { return std::min(logistic.value(score, label), 2 * std::numbers::ln2); };
  EXPECT_GT(mean(cut, honest), mean(cut, 30));
}

TEST(BoundedLoss, OfOthersIsTwiceWhatAnswering0Loses) {
  const SquaredLoss squared{.label_bound = LabelBound{3}, .weight_radius = Radius{1}};
  EXPECT_EQ(bounded_loss(squared, 3).bound, 9);
  EXPECT_EQ(bounded_loss(squared, 3).value(1, 3), 2);
  EXPECT_EQ(bounded_loss(HingeLoss{}, 1).bound, 2);
}

TEST(ReleasedScore, RefusesWhatIsNoScore) {
  const auto refused = [](const Dataset& data, const std::vector<double>& weights, double bound, std::string_view word) {
    return refuses([&] { static_cast<void>(query_of(data, weights, adjacency, bound)); }, ErrorCode::invalid_argument, {word});
  };
  const auto data = Dataset::dense(1, {1}, {1});
  EXPECT_TRUE(refused(data, {1}, 0, "bound on the loss is 0"));
  EXPECT_TRUE(refused(data, {1}, std::numeric_limits<double>::infinity(), "bound on the loss is inf"));
  EXPECT_TRUE(refused(data, {1, 2}, 1, "2 weights for 1 features"));
  EXPECT_TRUE(refused(Dataset::dense(1, {1}, {}), {1}, 1, "needs labels"));
}

}  // namespace
}  // namespace surety::optimizers::search_test
