// Besides fixed cases: 10,000 pairs of streams for the sensitivity, and runs on two neighbouring streams for a lower bound on epsilon,
// 100,000 each with fixed seeds; a true claim is contradicted with probability 1e-9.
#include <surety/accounting/events/format.h>
#include <surety/optimizers/bandits/projection_free_bandit.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/events/continual.h>
#include <surety/accounting/ledger/audit.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/problem/matroid.h>
#include <surety/simulations/printed/printed_bandit_noise.h>
#include <surety/testing/stream.h>

#include <support/drawn_cases.h>
#include <support/drawn_records.h>
#include <support/empirical_epsilon.h>
#include <support/refusal.h>
#include <support/stream_taint.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::projection_free_bandit_test {
namespace {

const Grid grid{.log2_step = -30};

Simplex simplex() { return Simplex{Quantity<ScaleRule>{1}}; }

/// The loss height + slope |<a, x> - shift|, or always NaN.
struct Loss {
  std::vector<double> a;
  double height;
  double slope;
  double shift;

  double operator()(std::span<const double> x) const {
    double product = -shift;
    for (std::size_t j = 0; j < a.size(); ++j) product += a[j] * x[j];
    return height + slope * std::abs(product);
  }
};
using Losses = std::vector<Loss>;

/// Public directions: those of `seed`, or every coordinate +-1, where l1 norms are largest.
Directions directions(std::uint64_t seed, bool corners) {
  return [random = std::mt19937_64{seed}, corners](std::span<double> direction) mutable {
    std::normal_distribution<double> normal;
    for (double& x : direction) x = corners ? (random() % 2 == 0 ? 1.0 : -1.0) : normal(random);
  };
}

ProjectionFreeBanditOptions options(std::uint64_t steps, std::uint64_t batch, Adjacency adjacency = Adjacency::replace_one) {
  return {.steps = Count{steps},
          .batch = Count{batch},
          .radius = Radius{0.1},
          .step_size = StepSize{0.02},
          .losses = {-0.5, 1.5},
          .adjacency = adjacency};
}

/// Every point that is played and every decision.
template <class Bandit, class Stream>
std::vector<std::vector<double>> play(Bandit bandit, const Losses& losses, Stream& stream) {
  std::vector<std::vector<double>> shown;
  for (const Loss& loss : losses) {
    shown.emplace_back(bandit.point().begin(), bandit.point().end());
    bandit.observe(loss(bandit.point()), stream);
    shown.emplace_back(bandit.weights().begin(), bandit.weights().end());
  }
  return shown;
}

Losses linear_losses(std::size_t count, const std::vector<double>& slope) {
  return Losses(count, Loss{.a = slope, .height = 0, .slope = 1, .shift = -0.7});
}

// The formulas of the header, written down once more, with the projection for the oracle: six batches without noise.
TEST(ProjectionFreeBandit, WithoutNoisePlaysWhatTheFormulaSays) {
  auto o = options(600, 100);
  const Loss loss{.a = {0.3, -0.2, 0.7}, .height = 0.1, .slope = 1, .shift = 0.2};
  ProjectionFreeBandit<Simplex> bandit{simplex(), o, Count{3}, directions(5, false)};
  testing::ExactStream stream{grid};
  auto direction = directions(5, false);
  std::vector<double> sum(3);
  std::vector<double> decision(3, 1.0 / 3);  // the nearest point to 0
  double moved = 0;
  for (int t = 1; t <= 600; ++t) {
    std::vector<double> u(3);
    direction(u);
    const double norm = std::sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    const double f = loss(bandit.point());
    for (std::size_t j = 0; j < 3; ++j) {
      ASSERT_NEAR(bandit.weights()[j], decision[j], 0.02) << t;
      ASSERT_NEAR(bandit.point()[j] - bandit.weights()[j], 0.1 * u[j] / norm, 1e-15) << t;
      sum[j] += 3 / 0.1 * (f - 0.5) * u[j] / norm;
    }
    bandit.observe(f, stream);
    if (t % 100 != 0) continue;
    for (std::size_t j = 0; j < 3; ++j) decision[j] = -0.02 * sum[j];
    simplex().project(decision);
    for (const double x : decision) moved = std::max(moved, std::abs(x - 1.0 / 3));
  }
  EXPECT_GT(moved, 0.3);
}

TEST(ProjectionFreeBandit, FindsTheCheapestVertex) {
  const auto o = simulations::printed_options({.steps = Count{1 << 14}, .dimension = Count{4}, .diameter = std::sqrt(2.0), .lipschitz = 1});
  ProjectionFreeBandit<Simplex> bandit{simplex(), o, Count{4}, directions(7, false)};
  testing::ExactStream stream{grid};
  const auto shown = play(bandit, linear_losses(1 << 14, {0.5, -0.5, 0.5, 0.5}), stream);
  EXPECT_GT(shown.back()[1], 0.9);
}

// Points stay where losses are known: non-negative, of sum 1 or 3.
TEST(ProjectionFreeBandit, PlaysInsideTheDomain) {
  const auto run = [](auto domain, std::size_t n, double total, double radius) {
    auto o = options(400, 10);
    o.queries = QueryRegion::inside;
    o.radius = Radius{radius};
    ProjectionFreeBandit bandit{domain, o, Count{n}, directions(8, false)};
    testing::ExactStream stream{grid};
    std::vector<double> slope(n, 0.4);
    slope[0] = -0.4;
    double least = 1;
    double furthest = 0;
    for (const Loss& loss : linear_losses(400, slope)) {
      double sum = 0;
      double squared = 0;
      for (std::size_t j = 0; j < n; ++j) {
        least = std::min(least, bandit.point()[j]);
        ASSERT_GE(bandit.point()[j], -1e-15);
        ASSERT_LE(bandit.point()[j], 1 + 1e-15);
        sum += bandit.point()[j];
        squared += (bandit.point()[j] - bandit.weights()[j]) * (bandit.point()[j] - bandit.weights()[j]);
      }
      ASSERT_NEAR(sum, total, 1e-13);
      ASSERT_NEAR(std::sqrt(squared), radius, 1e-13);
      furthest = std::max(furthest, bandit.weights()[0]);
      bandit.observe(loss(bandit.point()), stream);
    }
    EXPECT_LT(least, 0.1 * total / static_cast<double>(n));  // some points come near the boundary
    EXPECT_GT(furthest, 1.5 * total / static_cast<double>(n));
  };
  run(simplex(), 4, 1, 0.1);
  run(BasePolytope{UniformMatroid{{.size = 6, .rank = 3}}}, 6, 3, 0.2);
}

TEST(ProjectionFreeBandit, RefusesPointsInsideWithoutRoom) {
  auto o = options(10, 2);
  o.queries = QueryRegion::inside;
  o.radius = Radius{0.3};
  EXPECT_TRUE(refuses([&] { ProjectionFreeBandit<Simplex>(simplex(), o, Count{4}, directions(1, false)); }, ErrorCode::invalid_argument,
                      {"radius of exploration is 0.3", "must be at most 0.288"}));
  const BasePolytope cycle{GraphicMatroid{{.vertices = 3, .edges = {{0, 1}, {1, 2}, {2, 0}}}}};
  EXPECT_TRUE(refuses([&] { ProjectionFreeBandit(cycle, o, Count{3}, directions(1, false)); }, ErrorCode::unsupported,
                      {"points are to be played inside the domain", "no ball"}));
  EXPECT_TRUE(refuses([] { LossRange(1, 1); }, ErrorCode::invalid_argument, {"loss range is 1 to 1", "ascending"}));
  EXPECT_TRUE(refuses([] { LossRange(-1e308, 1e308); }, ErrorCode::invalid_argument, {"finite"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(shape(options(3, 4), Count{2})); }, ErrorCode::invalid_argument,
                      {"batch is 4", "at most the 3 steps"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(shape(options(8, 4, Adjacency::add_or_remove_one), Count{2})); }, ErrorCode::unsupported,
                      {"adjacency is add-or-remove-one"}));
  ProjectionFreeBandit<Simplex> bandit{simplex(), options(1, 1), Count{2}, directions(1, false)};
  testing::ExactStream stream{grid};
  bandit.observe(1, stream);
  EXPECT_TRUE(refuses([&] { bandit.observe(1, stream); }, ErrorCode::invalid_argument, {"step is 2", "at most the horizon 1"}));
}

TEST(ProjectionFreeBandit, PlacesEveryLossInItsRange) {
  const LossRange range{-0.5, 1.5};
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(range.place(-0.5), -0.5);
  EXPECT_EQ(range.place(0), -0.25);
  EXPECT_EQ(range.place(1.5), 0.5);
  EXPECT_EQ(range.place(1e300), 0.5);
  EXPECT_EQ(range.place(-1e300), -0.5);
  EXPECT_EQ(range.place(infinity), 0.5);
  EXPECT_EQ(range.place(-infinity), -0.5);
  EXPECT_EQ(range.place(std::numeric_limits<double>::quiet_NaN()), 0);
}

TEST(ProjectionFreeBandit, PublicRulesAreThoseStated) {
  const BanditProblem problem{.steps = Count{10'000}, .dimension = Count{4}, .diameter = 3, .lipschitz = 2};
  const auto ball = InnerBall{.centre = std::vector<double>(4), .radius = 0.5, .fixed_sums = {{0, 1, 2, 3}}};
  const auto inside = options_inside(problem, ball);
  const double radius = std::sqrt(3 * 0.5 * 3) / 10;
  EXPECT_NEAR(inside.radius.value(), radius, 1e-15);
  EXPECT_NEAR(inside.step_size.value(), 3 / std::sqrt(10'000 * (81 / (radius * radius) + 100 * 4)), 1e-15);
  EXPECT_EQ(inside.losses.width(), 6);
  EXPECT_EQ(inside.queries, QueryRegion::inside);
  auto early = problem;
  early.steps = Count{16};
  EXPECT_EQ(options_inside(early, ball).radius.value(), 0.25);  // half the ball
}

TEST(ProjectionFreeBandit, AsksForAStreamOfOnePushPerBatch) {
  const auto asked = shape(options(1003, 10), Count{16});
  EXPECT_EQ(asked.steps, Count{100});
  EXPECT_EQ(asked.dimension, Count{16});
  EXPECT_EQ(asked.sensitivity, L2Sensitivity{1});
  EXPECT_EQ(shape(options(1003, 10, Adjacency::zero_out), Count{16}).sensitivity, L2Sensitivity{0.5});
  const double l1 = shape<L1Sensitivity>(options(1003, 10), Count{16}).sensitivity.value();
  EXPECT_GE(l1, 4);
  EXPECT_LE(l1, 4 * (1 + 1e-15));
}

/// 10,000 streams, each with one loss function replaced: ordinary, beyond the range on either side, NaN.
template <class Sensitivity>
void expect_all_within(std::uint64_t seed, double nearly) {
  const auto one_case = [](std::mt19937_64& random) {
    const std::size_t n = 2 + random() % 3;
    const std::size_t batch = 1 + random() % 3;
    const std::size_t size = batch * drawn_length(4, random) + random() % batch;
    auto o = options(size, batch, drawn_adjacency(random));
    if (random() % 2 == 0) o.queries = QueryRegion::inside;
    const auto loss = [&] {
      const double scale = random() % 4 == 0 ? 1e300 : 1;
      return Loss{.a = normal_vector(n, 1, random),
                  .height = scale * (static_cast<double>(random() % 5) - 2),
                  .slope = scale * (random() % 2 == 0 ? 1 : 0.1),
                  .shift = static_cast<double>(random() % 3) - 1};
    };
    Losses losses;
    for (std::size_t t = 0; t < size; ++t) losses.push_back(loss());
    const std::size_t place = random() % size;
    auto neighbours = losses;
    if (o.adjacency == Adjacency::zero_out) {
      neighbours[place].height = std::numeric_limits<double>::quiet_NaN();  // contributes zero
    } else if (random() % 2 == 0) {
      neighbours[place] = loss();
    } else {
      losses[place].height = 1e10;
      neighbours[place].height = -std::numeric_limits<double>::infinity();
    }
    std::vector<std::vector<double>> released;
    for (std::size_t r = 0; r < size / batch; ++r) released.push_back(normal_vector(n, random() % 5 == 0 ? 1e200 : 3, random));
    const std::uint64_t direction_seed = random();
    const bool corners = random() % 2 == 0 && o.queries == QueryRegion::around;  // corners may be normal to a hull
    const auto run = [&](const Losses& data, auto& stream) {
      return play(ProjectionFreeBandit<Simplex, Sensitivity>{simplex(), o, Count{n}, directions(direction_seed, corners)}, data, stream);
    };
    // The last, incomplete batch is never pushed: its place is beyond all pushes, and nothing may differ at all.
    return stream_difference<Sensitivity>(run, losses, neighbours, place / batch, grid, released);
  };
  expect_all_within_sensitivity(seed, one_case, nearly);
}

TEST(ProjectionFreeBandit, LeaksNothingAndMovesOnePushByAtMostItsL2Sensitivity) { expect_all_within<L2Sensitivity>(20240601, 0.999); }

TEST(ProjectionFreeBandit, LeaksNothingAndMovesOnePushByAtMostItsL1Sensitivity) {
  expect_all_within<L1Sensitivity>(20240602, 0.99);  // in directions of equal coordinates
}

// ---- Planted violations: each is a way in which such an algorithm was or could be written, and each is caught. ----

/// `Mistake` rewrites one line of the algorithm.
enum class Mistake { none, no_clip, queried_twice, exact_sum, batch_kept, step_within_batch, exact_baseline, wrong_sign };

auto run_with(Mistake mistake, const ProjectionFreeBanditOptions& o) {
  return [=](const Losses& losses, auto& stream) {
    const std::size_t n = losses.front().a.size();
    const ConditionalGradientMap<Simplex> map{simplex(), std::min(o.oracle_calls, o.batch)};
    std::vector<double> decision = map(std::vector<double>(n, 0.0), {});
    mechanisms::RecordSum batch{{.clip = ClippingNorm{mistake == Mistake::no_clip ? 8.0 : 0.5}, .grid = grid, .dimension = n}};
    std::vector<double> exact(n);
    auto direction = directions(3, false);
    double mean = 0;
    std::vector<std::vector<double>> shown;
    for (std::size_t t = 0; t < losses.size(); ++t) {
      std::vector<double> u(n);
      direction(u);
      const double norm = mechanisms::l2_norm(u);
      for (double& x : u) x /= norm;
      std::vector<double> point(n);
      for (std::size_t j = 0; j < n; ++j) point[j] = decision[j] + o.radius.value() * u[j];
      shown.push_back(point);
      const double f = losses[t](point);
      double c = mistake == Mistake::no_clip ? f : o.losses.place(f);
      if (mistake == Mistake::exact_baseline) c = std::clamp(c - 1e-6 * mean, -0.5, 0.5);
      mean += f;
      batch.add_scaled(c, u, mechanisms::l2_norm(u));
      if (mistake == Mistake::queried_twice) batch.add_scaled(c, u, mechanisms::l2_norm(u));
      for (std::size_t j = 0; j < n; ++j) exact[j] += c * u[j];
      if (mistake == Mistake::step_within_batch) decision[0] += 1e-9 * c;
      if ((t + 1) % o.batch.value() == 0) {
        std::vector<double> costs = stream.push(batch.sum(), shape(o, Count{n}).sensitivity);
        if (mistake != Mistake::batch_kept) batch.clear();
        if (mistake == Mistake::exact_sum) costs = exact;
        const double scale = o.step_size.value() * static_cast<double>(n) * o.losses.width() / o.radius.value();
        for (double& x : costs) x *= mistake == Mistake::wrong_sign ? -scale : scale;
        decision = map(costs, decision);
      }
      shown.push_back(decision);
    }
    return shown;
  };
}

TEST(ProjectionFreeBandit, PlantedViolationsAreCaught) {
  const auto o = options(6, 2);
  std::mt19937_64 random{9};
  Losses losses;
  for (int t = 0; t < 6; ++t) losses.push_back({.a = normal_vector(3, 1, random), .height = 0.3, .slope = 0.4, .shift = 0.1});
  const std::vector<std::vector<double>> released{{1, 2, -1}, {0.5, -1, 2}, {-2, 1, 1}};
  const auto difference = [&](const auto& run) {
    auto neighbours = losses;
    neighbours[2].height = 1e3;
    losses[2].height = -1e3;
    return stream_difference(run, losses, neighbours, 1, grid, released);
  };
  const auto genuine = difference(run_with(Mistake::none, o));
  EXPECT_TRUE(genuine.untainted);
  EXPECT_LE(genuine.ratio, 1);
  EXPECT_GT(difference(run_with(Mistake::no_clip, o)).ratio, 1);
  EXPECT_GT(difference(run_with(Mistake::queried_twice, o)).ratio, 1.9);
  EXPECT_FALSE(difference(run_with(Mistake::exact_sum, o)).untainted);
  EXPECT_FALSE(difference(run_with(Mistake::batch_kept, o)).untainted);
  EXPECT_FALSE(difference(run_with(Mistake::step_within_batch, o)).untainted);
  EXPECT_FALSE(difference(run_with(Mistake::exact_baseline, o)).untainted);
  // What was mutated is the algorithm itself, bit for bit.
  testing::ScriptedStream<> a{grid, released};
  testing::ScriptedStream<> b{grid, released};
  EXPECT_EQ(run_with(Mistake::none, o)(losses, a),
            play(ProjectionFreeBandit<Simplex>{simplex(), o, Count{3}, directions(3, false)}, losses, b));
}

TEST(ProjectionFreeBandit, ThePrintedSignGoesToTheDearestVertex) {
  auto o = simulations::printed_options({.steps = Count{1 << 14}, .dimension = Count{4}, .diameter = std::sqrt(2.0), .lipschitz = 1});
  const Losses losses = linear_losses(1 << 14, {0.5, 0.5, 0.5, -0.5});
  testing::ExactStream right{grid};
  testing::ExactStream wrong{grid};
  EXPECT_GT(run_with(Mistake::none, o)(losses, right).back()[3], 0.9);
  EXPECT_LT(run_with(Mistake::wrong_sign, o)(losses, wrong).back()[3], 0.1);
}

// ---- An unknown horizon. ----

/// What a ledger's audit says of `event`.
double audited(const Event& event, Delta delta) {
  TemporaryFolder folder;
  auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::replace_one);
  auto reservation = ledger.reserve({.event = event, .not_private = true});
  reservation.spend(event);
  reservation.settle(accounting::Stopping::data_independent);
  return accounting::audit(ledger, delta).epsilon_of_fresh_noise.upper;
}

TEST(DoublingBandit, PushesOncePerBatchOfEachEpoch) {
  // Epochs of 1, 4, 16, 64 records in batches of 1, 2, 4, 8.
  const auto rule = [](Count steps) { return options(steps.value(), static_cast<std::uint64_t>(std::sqrt(steps.value()))); };
  DoublingBandit<Simplex> bandit{simplex(), rule, Count{3}, directions(1, false)};
  testing::ScriptedStream<> stream{grid, std::vector<std::vector<double>>(100, std::vector<double>{1, 2, 3})};
  const std::vector<std::uint64_t> pushes_at{1, 3, 5, 9, 13, 17, 21, 29, 37};
  for (std::uint64_t t = 1; t <= 40; ++t) {
    bandit.observe(0.3, stream);
    const auto expected = static_cast<std::uint64_t>(std::upper_bound(pushes_at.begin(), pushes_at.end(), t) - pushes_at.begin());
    ASSERT_EQ(stream.log().size(), expected) << t;
    ASSERT_EQ(doubling_pushes(Count{t}), Count{expected}) << t;
    ASSERT_EQ(bandit.steps(), t);
  }
}

TEST(DoublingBandit, LeaksNothingAndMovesOnePushByAtMostItsSensitivity) {
  std::mt19937_64 random{20240603};
  // Ranges and radii may follow the epoch: a push has the same sensitivity in all of them.
  const auto rule = [](Count steps) {
    auto o = options(steps.value(), static_cast<std::uint64_t>(std::sqrt(steps.value())));
    o.radius = Radius{0.2 / std::pow(static_cast<double>(steps.value()), 0.25)};
    o.losses = {0, 1 + o.radius.value()};
    return o;
  };
  double largest = 0;
  for (std::uint64_t c = 0; c < 2000; ++c) {
    const std::size_t size = 1 + random() % 30;
    Losses losses;
    for (std::size_t t = 0; t < size; ++t) losses.push_back({.a = normal_vector(3, 1, random), .height = 0, .slope = 1, .shift = 0});
    const std::size_t place = random() % size;
    auto neighbours = losses;
    losses[place].height = 10;
    neighbours[place].height = -10;
    std::vector<std::vector<double>> released;
    for (std::size_t r = 0; r < doubling_pushes(Count{size}).value(); ++r) released.push_back(normal_vector(3, 3, random));
    // The push of a record: the first one after it.
    const std::size_t push = place == 0 ? 0 : doubling_pushes(Count{place}).value();
    const auto found = stream_difference(
        [&](const Losses& data, auto& stream) {
          return play(DoublingBandit<Simplex>{simplex(), rule, Count{3}, directions(c, false)}, data, stream);
        },
        losses, neighbours, push, grid, released);
    ASSERT_TRUE(found.untainted) << "case " << c;
    ASSERT_LE(found.ratio, 1) << "case " << c;
    largest = std::max(largest, found.ratio);
  }
  EXPECT_GT(largest, 0.99);
}

// In one constant direction, an epoch on the sums since its start is a run of its own.
TEST(DoublingBandit, StartsEachEpochAfresh) {
  const auto rule = [](Count steps) { return options(steps.value(), static_cast<std::uint64_t>(std::sqrt(steps.value()))); };
  const Directions constant = [](std::span<double> direction) {
    for (std::size_t j = 0; j < direction.size(); ++j) direction[j] = static_cast<double>(j) - 0.4;
  };
  DoublingBandit<Simplex> doubling{simplex(), rule, Count{3}, constant};
  testing::ExactStream all{grid};
  const Loss loss{.a = {0.3, -0.2, 0.7}, .height = 0.1, .slope = 1, .shift = 0.2};
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    const Count steps{std::uint64_t{1} << (2 * epoch)};
    ProjectionFreeBandit<Simplex> alone{simplex(), rule(steps), Count{3}, constant};
    testing::ExactStream own{grid};
    for (std::uint64_t t = 0; t < steps.value(); ++t) {
      for (std::size_t j = 0; j < 3; ++j) ASSERT_NEAR(doubling.point()[j], alone.point()[j], 1e-12) << epoch << " " << t;
      const double f = loss(alone.point());
      alone.observe(f, own);
      doubling.observe(f, all);
    }
  }
}

TEST(DoublingBandit, CostsAsMuchAsItsDearestEpoch) {
  const auto rule = [](Count steps) { return options(steps.value(), static_cast<std::uint64_t>(std::sqrt(steps.value()))); };
  const Count pushes = doubling_pushes(Count{200});
  const auto mechanism = [&](Count /*epoch_steps*/) {
    return mechanisms::Gaussian{
        {.multiplier = NoiseMultiplier{9}, .sensitivity = L2Sensitivity{1}, .grid = grid, .adjacency = Adjacency::replace_one}};
  };
  mechanisms::RestartedSum<mechanisms::TreeSum<mechanisms::Gaussian>> sum{pushes, [&](Count epoch) {
                                                                            return mechanisms::TreeSum{mechanism(epoch), epoch, Count{3}};
                                                                          }};
  const Event event = sum.event();
  const Delta delta{1e-5};
  // The epochs of 1, 2, 4, 8 and 16 batches: the last one has 5 levels.
  EXPECT_NEAR(audited(event, delta), audited(repeat(Count{5}, gaussian(NoiseMultiplier{9}, Adjacency::replace_one)), delta), 1e-9);
  TemporaryFolder folder;
  auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::replace_one);
  auto reservation = ledger.reserve({.event = event, .not_private = true});
  mechanisms::ReplayBits bits{1};
  NoisyStream stream{reservation, bits, std::move(sum), L2Sensitivity{1}};
  DoublingBandit<Simplex> bandit{simplex(), rule, Count{3}, directions(1, false)};
  for (int t = 0; t < 200; ++t) bandit.observe(0.1, stream);
  reservation.settle(accounting::Stopping::data_independent);
  for (const double x : bandit.weights()) EXPECT_TRUE(x >= 0 && x <= 1);
}

TEST(DoublingBandit, RefusesARuleThatForgetsItsEpochs) {
  const auto wrong = [](Count steps) { return options(steps.value(), 1); };
  DoublingBandit<Simplex> bandit{simplex(), wrong, Count{3}, directions(1, false)};
  testing::ExactStream stream{grid};
  EXPECT_TRUE(refuses([&] { bandit.observe(0.1, stream); }, ErrorCode::invalid_argument,
                      {"epoch 1 has 4 steps in batches of 1", "must have 4 in batches of 2"}));
}

// ---- A lower bound on epsilon. ----

/// A continual sum as a stream that keeps what it released and has no ledger: for many runs.
template <class Sum, class Sensitivity>
struct Repeated final : StreamReleaser<Sensitivity> {
  Repeated(Sum made, mechanisms::ReplayBits& source) : sum{std::move(made)}, bits{source} {}
  Sum sum;
  mechanisms::ReplayBits& bits;
  std::vector<std::vector<double>> released = {};

  [[nodiscard]] std::vector<double> push(const GridVector& contribution, Sensitivity /*sensitivity*/) override {
    return released.emplace_back(sum.push(contribution, bits));
  }
  [[nodiscard]] Grid grid() const override { return sum.grid(); }
};

/// The bandit on a pair of streams whose first loss is the highest or the lowest and whose other losses are in the middle, so that their
/// terms are 0, in the public direction of equal coordinates. Record 1 is in the nodes of the steps 1, 2, 4 and 8: counts how often
/// `happened(their coordinates)` on each stream. \return the bound of those counts.
template <class Sensitivity, class Sum, class Happened>
double lower_bound_of_runs(const Sum& sum, double delta, Happened happened) {
  constexpr std::uint64_t runs = 100'000;
  const auto o = options(8, 1);
  const Directions diagonal = [](std::span<double> direction) { std::fill(direction.begin(), direction.end(), 1.0); };
  mechanisms::ReplayBits bits{20240604};
  const auto hits = [&](double first_loss) {
    std::uint64_t count = 0;
    for (std::uint64_t run = 0; run < runs; ++run) {
      Repeated<Sum, Sensitivity> stream{sum, bits};
      ProjectionFreeBandit<Simplex, Sensitivity> bandit{simplex(), o, Count{2}, diagonal};
      bandit.observe(first_loss, stream);
      for (int t = 1; t < 8; ++t) bandit.observe(0.5, stream);
      std::vector<double> nodes;
      for (const std::size_t node : {0U, 1U, 3U, 7U}) {
        for (const double x : stream.released[node]) nodes.push_back(x);
      }
      if (happened(nodes)) ++count;
    }
    return reference::Hits{.hits = count, .runs = runs};
  };
  const auto high = hits(1.5);
  return reference::empirical_epsilon(high, hits(-0.5), delta, 1e-9);
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

TEST(ProjectionFreeBandit, GaussianTreeCostsAtLeastHalfOfWhatIsCharged) {
  const Delta delta{1e-3};
  const NoiseMultiplier z{std::sqrt(4) / accounting::largest_mu(Epsilon{4}, delta).lower};
  const mechanisms::TreeSum sum{
      mechanisms::Gaussian{{.multiplier = z, .sensitivity = L2Sensitivity{1}, .grid = grid, .adjacency = Adjacency::replace_one}}, Count{8},
      Count{2}};
  const double upper = audited(sum.event(), delta);
  EXPECT_NEAR(upper, 4, 1e-6);
  // The sum over 4 nodes and 2 coordinates has mean +-2 sqrt(2) and standard deviation z sqrt(8).
  const double threshold = -2 * std::sqrt(2) + 2.9 * z.value() * std::sqrt(8);
  const double lower = lower_bound_of_runs<L2Sensitivity>(sum, delta.value(), [&](const auto& nodes) { return sum_of(nodes) > threshold; });
  EXPECT_LE(lower, upper);
  EXPECT_GE(lower, upper / 2);
  RecordProperty("lower_over_upper", std::to_string(lower / upper));
  // A claim of half of that for the same noise would be refuted.
  EXPECT_GT(lower, audited(accounting::tree(Count{8}, gaussian(NoiseMultiplier{2 * z.value()}, Adjacency::replace_one)), delta));
}

/// A tree of the noise exp(-||x|| / b) for the norm of `Sensitivity`, of epsilon = 4. The event: all nodes on one side in all coordinates.
template <class Sensitivity>
double lower_over_upper() {
  const mechanisms::TreeSum sum{mechanisms::KNorm{{.scale = accounting::tree_noise_scale(Count{8}, Epsilon{4}),
                                                   .sensitivity = shape<Sensitivity>(options(8, 1), Count{2}).sensitivity,
                                                   .grid = grid,
                                                   .dimension = Count{2},
                                                   .adjacency = Adjacency::replace_one}},
                                Count{8}, Count{2}};
  const double upper = audited(sum.event(), Delta{0});
  EXPECT_NEAR(upper, 4, 1e-6);
  return lower_bound_of_runs<Sensitivity>(
             sum, 0, [](const auto& nodes) { return std::all_of(nodes.begin(), nodes.end(), [](double x) { return x > 0; }); }) /
         upper;
}

TEST(ProjectionFreeBandit, LaplaceTreeCostsAtLeastHalfOfWhatIsCharged) {
  const double ratio = lower_over_upper<L1Sensitivity>();
  EXPECT_LE(ratio, 1);
  EXPECT_GE(ratio, 0.5);
  RecordProperty("lower_over_upper", std::to_string(ratio));
}

TEST(ProjectionFreeBandit, EuclideanNoiseCostsAtLeastHalfOfWhatIsCharged) {
  const double ratio = lower_over_upper<L2Sensitivity>();
  EXPECT_LE(ratio, 1);
  EXPECT_GE(ratio, 0.5);
  RecordProperty("lower_over_upper", std::to_string(ratio));
}

}  // namespace
}  // namespace surety::optimizers::projection_free_bandit_test
