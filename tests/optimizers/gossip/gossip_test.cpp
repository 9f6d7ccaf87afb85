#include <surety/optimizers/gossip/gossip.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <mutex>
#include <numbers>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/learner_releaser.h>

#include <support/batch_taint.h>
#include <support/drawn_cases.h>
#include <support/drawn_records.h>
#include <support/faulty_network.h>
#include <support/learner_taint.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::gossip_test {
namespace {

const L2Ball ball{Radius{2}};

GossipOptions options(std::uint64_t records, std::uint64_t learners, std::uint64_t batch = 1, std::uint64_t passes = 1,
                      Adjacency adjacency = Adjacency::replace_one) {
  return {.noise = GaussianNoise{NoiseMultiplier{3}},
          .records = Count{records},
          .learners = Count{learners},
          .batch_size = Count{batch},
          .passes = Count{passes},
          .adjacency = adjacency,
          .step = InverseRootStep{StepSize{0.7}},
          .regularization = Regularization{0.3},
          .clip = ClippingNorm{0.8}};
}

LearnerRange all_of(const GossipOptions& options) { return {0, static_cast<std::size_t>(options.learners.value())}; }

std::vector<double> together(const GossipResult& result) {
  auto all = result.last;
  all.insert(all.end(), result.mean.begin(), result.mean.end());
  return all;
}

/// The algorithm as the taint test wants it: everything that it shows.
auto run(const GossipOptions& options, const Mixing& mixing) {
  return [=](std::span<const Dataset> parts, auto& engine, auto& releaser) {
    Mixing own = mixing;
    std::vector<double> shown;
    const GossipResult result =
        gossip(parts, LogisticLoss{}, ball, options, own, engine, releaser,
               [&](std::uint64_t, std::span<const double> parameters) { shown.insert(shown.end(), parameters.begin(), parameters.end()); });
    const auto all = together(result);
    shown.insert(shown.end(), all.begin(), all.end());
    return shown;
  };
}

/// Released values that are ordinary or extreme, the same for each (learner, round).
testing::LearnerScript script(std::size_t features, std::uint64_t seed) {
  return [=](std::size_t learner, std::uint64_t round) {
    std::mt19937_64 random{seed ^ (learner * 1'000'003 + round)};
    return drawn_vector(features, random);
  };
}

// 10,000 pairs of neighbours.
TEST(Gossip, ARecordMovesOneReleaseOfItsLearnerInEachPassByAtMostItsSensitivity) {
  std::vector<Mixing> mixings;
  for (std::uint64_t learners = 1; learners <= 4; ++learners) {
    mixings.push_back(learners == 3 ? Mixing::random_matchings(Count{3}, 9) : Mixing::complete(Count{learners}));
  }
  expect_all_within_sensitivity(20240503, [&](std::mt19937_64& random) {
    const std::size_t learners = 1 + random() % 4;
    const std::size_t features = 1 + random() % 3;
    const std::size_t size = learners + random() % 6;
    const std::size_t batch = 1 + random() % (size / learners);
    const auto adjacency = drawn_adjacency(random);
    const auto [data, neighbour, place] = drawn_neighbours(size, features, adjacency, random);
    const auto settings = options(size, learners, batch, 1 + random() % 2, adjacency);
    const auto parts = deal_records(data, settings.learners, all_of(settings));
    const auto others = deal_records(neighbour, settings.learners, all_of(settings));
    return learner_difference(run(settings, mixings[learners - 1]), parts, others, place % learners, settings.passes.value(),
                              script(features, random()));
  });
}

enum class Mistake {
  none,
  raw_own_weights_in_mixing,
  noise_for_each_neighbour,
  raw_weights_in_regularization,
  raw_output,
  start_at_data,
  sensitivity_of_a_mean,
  one_round_too_many
};

/// Algorithm 2 with batches of 2, as one may get it wrong.
auto run_with(Mistake mistake) {
  return [=](std::span<const Dataset> parts, auto& engine, auto& releaser) {
    const std::size_t learners = parts.size();
    const std::size_t dimension = parts.front().features();
    const auto settings = options(parts.size() * parts.front().size(), learners, 2);
    const GossipPass planned = pass(settings, Count{dimension});
    releaser.begin(planned);
    L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(settings.clip, settings.adjacency);
    const Grid grid = mechanisms::grid_for(sensitivity, NoiseMultiplier{3});
    if (mistake == Mistake::sensitivity_of_a_mean) sensitivity = L2Sensitivity{sensitivity.value() / 2};
    mechanisms::RecordSum sum{{.clip = settings.clip, .grid = grid, .dimension = dimension}};
    Mixing mixing = Mixing::complete(Count{learners});

    std::vector<double> noised(learners * dimension, 0.0);
    if (mistake == Mistake::start_at_data) {
      for (std::size_t i = 0; i < learners; ++i) parts[i].row(0).add_scaled_to(0.1, std::span{noised}.subspan(i * dimension, dimension));
    }
    std::vector<double> raw = noised;
    std::vector<double> mixed(noised.size());
    const std::uint64_t rounds = planned.rounds + (mistake == Mistake::one_round_too_many ? 1 : 0);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const MixingMatrix& matrix = mixing.at(round);
      engine.exchange(round, matrix, noised, mixed);
      const auto before_raw = raw;
      for (std::size_t i = 0; i < learners; ++i) {
        const auto b = std::span{mixed}.subspan(i * dimension, dimension);
        if (mistake == Mistake::raw_own_weights_in_mixing) {
          for (std::size_t j = 0; j < dimension; ++j)
            b[j] += matrix.row(i)[i].weight * (raw[i * dimension + j] - noised[i * dimension + j]);
        }
        sum.clear();
        const std::size_t first = std::min(static_cast<std::size_t>(round % planned.rounds) * 2, parts[i].size());
        add_gradients(parts[i], LogisticLoss{}, b, RecordRange{.first = first, .end = std::min(first + 2, parts[i].size())}, sum);
        const auto exact = mechanisms::to_reals(sum.sum());
        const auto released = releaser.release(i, round, sum.sum(), sensitivity);
        if (mistake == Mistake::noise_for_each_neighbour) static_cast<void>(releaser.release(i, round, sum.sum(), sensitivity));
        const double step = step_size(settings.step, round + 1);
        for (std::size_t j = 0; j < dimension; ++j) {
          const std::size_t at = i * dimension + j;
          const double shrunk =
              settings.regularization.value() * (mistake == Mistake::raw_weights_in_regularization ? before_raw[at] : b[j]);
          noised[at] = b[j] - step * (shrunk + released[j] / 2);
          raw[at] = b[j] - step * (shrunk + exact[j] / 2);
        }
      }
    }
    return mistake == Mistake::raw_output ? raw : noised;
  };
}

TEST(Gossip, PlantedViolationsAreCaught) {
  // Three learners, three rounds. The record that differs is learner 1's, in its first batch or in its last.
  const auto parts_with = [](std::size_t place, double x) {
    std::vector<DrawnRecord> records;
    for (std::size_t i = 0; i < 18; ++i) records.push_back({{0.3 + 0.1 * static_cast<double>(i), 0.2}, i % 2 == 0 ? 1.0 : -1.0});
    records[place].row = {x, 0.75 * x};
    return deal_records(assemble(records), Count{3}, {0, 3});
  };
  const auto difference = [&](Mistake mistake) {
    const std::size_t place = mistake == Mistake::raw_output ? 16 : 1;
    return learner_difference(run_with(mistake), parts_with(place, 40), parts_with(place, -40), 1, 1,
                              [](std::size_t learner, std::uint64_t round) {
                                return std::vector<double>{std::sin(static_cast<double>(learner + 7 * round)),
                                                           std::cos(static_cast<double>(3 * learner + round))};
                              });
  };
  const auto says = [&](Mistake mistake, const std::string& words) {
    const auto found = difference(mistake);
    if (found.untainted) return ::testing::AssertionFailure() << "not caught";
    const std::string message = found.untainted.message();
    return message.find(words) != std::string::npos ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << message;
  };
  const auto right = difference(Mistake::none);
  EXPECT_TRUE(right.untainted);
  EXPECT_LE(right.ratio, 1);
  EXPECT_TRUE(says(Mistake::raw_own_weights_in_mixing, "second of its pass that depends on one record"));
  EXPECT_TRUE(says(Mistake::noise_for_each_neighbour, "second one there"));
  EXPECT_TRUE(says(Mistake::raw_weights_in_regularization, "depends on a record of another learner"));
  EXPECT_TRUE(says(Mistake::raw_output, "the result depends on a record outside the releases"));
  EXPECT_FALSE(difference(Mistake::start_at_data).untainted);
  EXPECT_GT(difference(Mistake::sensitivity_of_a_mean).ratio, 1);
  EXPECT_TRUE(says(Mistake::one_round_too_many, "comes after the last pass"));
}

TEST(Gossip, DoesWhatItsFormulaSays) {
  // Two learners, one feature, batches of 2 of 3 and 2 records, by hand.
  const Dataset data = Dataset::dense(1, {0.5, -0.2, 0.3, 0.1, -0.4}, {1, 1, -1, -1, 1});
  auto settings = options(5, 2, 2, 2);
  const auto parts = deal_records(data, settings.learners, {0, 2});
  ASSERT_EQ(parts[0].size(), 3U);
  ASSERT_EQ(parts[1].size(), 2U);
  EXPECT_EQ(parts[1].row(1).values[0], 0.1);
  Mixing mixing = Mixing::of_graph(Count{2}, std::vector<Edge>{{0, 1}});
  InProcessExchange engine{2};
  testing::ExactLearnerReleaser exact;
  const LogisticLoss loss;
  const auto found = gossip(parts, loss, ball, settings, mixing, engine, exact);

  double w[2] = {0, 0};
  double mean[2] = {0, 0};
  const double x[2][3] = {{0.5, 0.3, -0.4}, {-0.2, 0.1, 0}};
  const double y[2][3] = {{1, -1, 1}, {1, -1, 0}};
  for (int round = 0; round < 4; ++round) {
    const double alpha = 0.7 / std::sqrt(round + 1);
    const double b = (w[0] + w[1]) / 2;
    for (int i = 0; i < 2; ++i) {
      const int first = round % 2 * 2;
      const int count = i == 0 ? (first == 0 ? 2 : 1) : (first == 0 ? 2 : 0);
      double g = 0;
      for (int k = first; k < first + count; ++k) g += loss.derivative(b * x[i][k], y[i][k]) * x[i][k];
      w[i] = b - alpha * (0.3 * b + (count > 0 ? g / count : 0));
      if (round >= 2) mean[i] += w[i] / 2;
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(found.last[i], w[i], 1e-8);
    EXPECT_NEAR(found.mean[i], mean[i], 1e-8);
  }
  // In a smaller ball the parameters of every learner stay at its border.
  const auto inside = gossip(parts, loss, L2Ball{Radius{1e-3}}, settings, mixing, engine, exact);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_GT(std::abs(w[i]), 1e-3);
    EXPECT_LE(std::abs(inside.last[i]), 1e-3);
    EXPECT_LE(std::abs(inside.mean[i]), 1e-3 * (1 + 1e-15));
  }
  EXPECT_NEAR(mean_vector(found.mean, 1)[0], (mean[0] + mean[1]) / 2, 1e-8);
}

TEST(Gossip, TakesEachRecordOnce) {
  // No learner sees more rounds than its records allow: a round too many would use records again.
  for (std::uint64_t records = 4; records < 14; ++records) {
    for (std::uint64_t batch = 1; batch <= records / 4; ++batch) {
      const auto settings = options(records, 4, batch);
      std::vector<double> values(records);
      for (std::size_t k = 0; k < records; ++k) values[k] = std::ldexp(1.0, -static_cast<int>(k));
      const auto parts = deal_records(Dataset::dense(1, values, std::vector<double>(records, 1.0)), settings.learners, {0, 4});
      testing::ScriptedLearnerReleaser releaser{[](std::size_t, std::uint64_t) { return std::vector<double>{0}; }};
      InProcessExchange engine{4};
      Mixing mixing = Mixing::ring(Count{4});
      auto linear = settings;
      linear.clip = ClippingNorm{1};
      static_cast<void>(gossip(parts, LinearLoss{}, ball, linear, mixing, engine, releaser));
      double sum = 0;
      for (const auto& request : releaser.log()) sum += mechanisms::to_reals(request.query)[0];
      EXPECT_EQ(sum, 2 - std::ldexp(1.0, 1 - static_cast<int>(records)));  // every power of two once
      EXPECT_EQ(releaser.passes().front().rounds, ((records + 3) / 4 + batch - 1) / batch);
    }
  }
}

const std::vector<LearnerNoise> noises{LaplaceNoise{NoiseScale{2}}, L2KNormNoise{NoiseScale{2}}, GaussianNoise{NoiseMultiplier{2}}};

/// Runs over `nodes` threads; the last parameters of all learners.
std::vector<double> run_over_network(const Dataset& data, const GossipOptions& settings, const Mixing& mixing, std::size_t nodes,
                                     const Fates& fates) {
  FaultyNetwork network{mixing.learners(), nodes, fates};
  std::vector<double> gathered;
  std::vector<std::thread> threads;
  for (std::size_t node = 0; node < nodes; ++node) {
    threads.emplace_back([&, node] {
      FaultInjectingExchange engine{network, node};
      const mechanisms::ReplayBits root{17};
      ReplayedLearnerBits bits{root, engine.local()};
      NoisyLearnerReleaser releaser{ChargedByFirstNode{}, bits};
      Mixing own = mixing;
      const auto parts = deal_records(data, settings.learners, engine.local());
      const auto result = gossip(parts, LogisticLoss{}, ball, settings, own, engine, releaser);
      auto all = engine.gather(result.last);
      if (node == 0) gathered = std::move(all);
    });
  }
  for (auto& thread : threads) thread.join();
  return gathered;
}

TEST(Gossip, HasTheSameBitsHoweverLearnersAreSpread) {
  std::mt19937_64 random{11};
  std::vector<DrawnRecord> records;
  for (int i = 0; i < 45; ++i) records.push_back(drawn_record(3, random));
  const Dataset data = assemble(records);
  for (const auto& noise : noises) {
    auto settings = options(45, 8, 2, 2);
    settings.noise = noise;
    const Mixing mixing = Mixing::random_matchings(Count{8}, 5);
    InProcessExchange engine{8};
    const mechanisms::ReplayBits root{17};
    ReplayedLearnerBits bits{root, {0, 8}};
    NoisyLearnerReleaser releaser{ChargedByFirstNode{}, bits};
    Mixing own = mixing;
    const auto alone = gossip(deal_records(data, settings.learners, {0, 8}), LogisticLoss{}, ball, settings, own, engine, releaser);
    const auto reordered = [&random](std::uint64_t, std::size_t, std::size_t) {
      return Fate{.delay = std::chrono::milliseconds{random() % 3}, .copies = {std::chrono::milliseconds{random() % 5}}};
    };
    for (const std::size_t nodes : {1U, 2U, 5U}) {
      EXPECT_TRUE(same_bits(run_over_network(data, settings, mixing, nodes, reordered), alone.last)) << nodes << " nodes";
    }
  }
}

TEST(Gossip, KeepsTheFullChargeWhenAMessageIsLost) {
  const TemporaryFolder folder;
  const auto settings = options(20, 2, 1);
  const Event event = plan(settings, Count{1});
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", Adjacency::replace_one);
  const Dataset data = Dataset::dense(1, std::vector<double>(20, 0.5), std::vector<double>(20, 1.0));
  FaultyNetwork network{2, 2,
                        [](std::uint64_t round, std::size_t learner, std::size_t) { return Fate{.lost = round == 4 && learner == 1}; }};
  std::string error;
  std::thread other{[&] {
    FaultInjectingExchange engine{network, 1, std::chrono::milliseconds{1000}};
    testing::ExactLearnerReleaser releaser;
    Mixing mixing = Mixing::ring(Count{2});
    try {
      static_cast<void>(
          gossip(deal_records(data, settings.learners, engine.local()), LogisticLoss{}, ball, settings, mixing, engine, releaser));
    } catch (const Error&) {
    }
  }};
  try {
    auto reservation = ledger.reserve({.event = event, .not_private = true});
    FaultInjectingExchange engine{network, 0, std::chrono::milliseconds{1000}};
    mechanisms::ReplayBits source{1};
    SharedBits bits{source};
    NoisyLearnerReleaser releaser{reservation, bits};
    Mixing mixing = Mixing::ring(Count{2});
    static_cast<void>(
        gossip(deal_records(data, settings.learners, engine.local()), LogisticLoss{}, ball, settings, mixing, engine, releaser));
    reservation.settle(accounting::Stopping::data_independent);
  } catch (const Error& caught) {
    error = caught.what();
  }
  other.join();
  EXPECT_EQ(error, "round 4: no parameters of learner 1 within 1 s");
  ASSERT_TRUE(ledger.event().has_value());
  EXPECT_TRUE(accounting::Releases::of(*ledger.event()) == accounting::Releases::of(event));
}

TEST(Gossip, ChargesEachLearnerForItsPasses) {
  const auto settings = options(11, 3, 2, 5);
  const Event event = plan(settings, Count{4});
  EXPECT_EQ(describe(event),
            "repeat(5, parallel(deterministic(4, 2, gaussian(3)), deterministic(4, 2, gaussian(3)), deterministic(3, 2, gaussian(3))))");

  // Five passes at the noise that makes one pass (1, 1e-5): sqrt(5) mu.
  const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-5}, .adjacency = Adjacency::replace_one};
  const auto one = calibrate([](NoiseMultiplier z) { return gaussian(z, Adjacency::replace_one); }, target);
  auto five = settings;
  five.noise = GaussianNoise{one.value};
  const auto cost = accounting::best_epsilon(plan(five, Count{4}), target.delta).value;
  EXPECT_NEAR(cost.upper, 2.44, 0.005);
  EXPECT_LE(cost.upper - cost.lower, 1e-3);
  five.passes = Count{1};
  EXPECT_NEAR(accounting::best_epsilon(plan(five, Count{4}), target.delta).value.upper, 1, 1e-6);

  // Pure noise: E epsilon.
  for (const LearnerNoise& noise : {LearnerNoise{LaplaceNoise{NoiseScale{2}}}, LearnerNoise{L2KNormNoise{NoiseScale{2}}}}) {
    auto pure = settings;
    pure.noise = noise;
    EXPECT_NEAR(accounting::best_epsilon(plan(pure, Count{4}), Delta{0}).value.upper, 2.5, 1e-9);
    pure.passes = Count{1};
    EXPECT_NEAR(accounting::best_epsilon(plan(pure, Count{4}), Delta{0}).value.upper, 0.5, 1e-9);
  }
}

TEST(Gossip, SpendsItsPassesAndNoMore) {
  const TemporaryFolder folder;
  std::mt19937_64 random{5};
  std::vector<DrawnRecord> records;
  for (int i = 0; i < 11; ++i) records.push_back(drawn_record(2, random));
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", Adjacency::replace_one);
  for (const auto& noise : noises) {
    auto settings = options(11, 3, 2, 3);
    settings.noise = noise;
    const auto parts = deal_records(assemble(records), settings.learners, {0, 3});
    auto reservation = ledger.reserve({.event = plan(settings, Count{2}), .not_private = true});
    mechanisms::ReplayBits source{11};
    SharedBits bits{source};
    const auto once = [&] {
      NoisyLearnerReleaser releaser{reservation, bits};
      static_assert(std::derived_from<decltype(releaser), LearnerReleaser>);
      InProcessExchange engine{3};
      Mixing mixing = Mixing::ring(Count{3});
      return gossip(parts, LogisticLoss{}, ball, settings, mixing, engine, releaser);
    };
    EXPECT_EQ(once().last.size(), 6U);
    EXPECT_TRUE(reservation.released() == accounting::Releases::of(plan(settings, Count{2})));
    EXPECT_TRUE(refuses([&] { static_cast<void>(once()); }, ErrorCode::budget_exceeded, {}));
  }
}

TEST(Gossip, ReleasesOnceInARoundAndOnlyWhatItWasToldOf) {
  mechanisms::ReplayBits source{1};
  SharedBits bits{source};
  const auto planned = pass(options(6, 2), Count{1});
  const GridVector query{.grid = {.log2_step = -20}, .steps = {5}};
  const L2Sensitivity sensitivity{1};
  NoisyLearnerReleaser releaser{ChargedByFirstNode{}, bits};
  const auto release = [&](std::size_t learner, std::uint64_t round) {
    static_cast<void>(releaser.release(learner, round, query, sensitivity));
  };
  EXPECT_TRUE(refuses([&] { release(0, 0); }, ErrorCode::internal, {"has not begun"}));
  releaser.begin(planned);
  EXPECT_TRUE(refuses([&] { releaser.begin(planned); }, ErrorCode::internal, {"has begun"}));
  release(0, 1);
  release(1, 1);
  release(1, 2);
  EXPECT_TRUE(refuses([&] { release(0, 1); }, ErrorCode::internal, {"learner 0 releases in round 1", "one release a round"}));
  EXPECT_TRUE(refuses([&] { release(1, 0); }, ErrorCode::internal, {"learner 1 releases in round 0"}));

  NoisyLearnerReleaser wrong{ChargedByFirstNode{}, bits};
  auto other = planned;
  other.release = surety::k_norm(NormName::linf, Count{1}, NoiseScale{1}, Adjacency::replace_one);
  wrong.begin(other);
  EXPECT_TRUE(refuses([&] { static_cast<void>(wrong.release(0, 0, query, sensitivity)); }, ErrorCode::unsupported, {"k_norm"}));
}

/// E ||noise||_2 in units of the sensitivity, by `runs` draws.
double mean_length(const LearnerNoise& noise, std::size_t dimension, int runs) {
  auto settings = options(2, 1);
  settings.noise = noise;
  const Grid grid{.log2_step = -20};
  const LearnerMechanism mechanism{pass(settings, Count{dimension}).release, grid, dimension, L2Sensitivity{1}};
  mechanisms::ReplayBits bits{4};
  const GridVector zero{.grid = grid, .steps = std::vector<std::int64_t>(dimension, 0)};
  double sum = 0;
  for (int k = 0; k < runs; ++k) sum += mechanisms::l2_norm(mechanism.release(zero, bits));
  return sum / runs;
}

TEST(Gossip, NoiseHasTheLengthThatItsLawSays) {
  // At (1, 1e-5) and dimension 100: Gaussian 37; l2 K-norm 100 (Gamma(100)); Laplace about sqrt(2) more, 141. At dimension 10: 11.8
  // and 14.1.
  const auto z = calibrate([](NoiseMultiplier m) { return gaussian(m, Adjacency::replace_one); },
                           {.epsilon = Epsilon{1}, .delta = Delta{1e-5}, .adjacency = Adjacency::replace_one});
  EXPECT_NEAR(mean_length(GaussianNoise{z.value}, 100, 2000), 37.3, 0.5);
  EXPECT_NEAR(mean_length(L2KNormNoise{NoiseScale{1}}, 100, 2000), 100, 1.5);
  EXPECT_NEAR(mean_length(LaplaceNoise{NoiseScale{1}}, 100, 2000), 141, 2.5);
  EXPECT_NEAR(mean_length(GaussianNoise{z.value}, 10, 4000), 11.5, 0.5);
  EXPECT_NEAR(mean_length(LaplaceNoise{NoiseScale{1}}, 10, 4000), 13.8, 0.5);
}

TEST(Gossip, BoundsTheL1NormByTheL2Norm) {
  EXPECT_GE(l1_sensitivity(L2Sensitivity{0.7}, 2).value(), 0.7 * std::numbers::sqrt2);
  EXPECT_LE(l1_sensitivity(L2Sensitivity{0.7}, 2).value(), 0.7 * std::numbers::sqrt2 * (1 + 0x1p-50));
  // Attained: two opposite vectors of norm C with equal coordinates, dimension 4.
  EXPECT_GE(l1_sensitivity(L2Sensitivity{2}, 4).value(), 4);
  EXPECT_LE(l1_sensitivity(L2Sensitivity{2}, 4).value(), 4 * (1 + 0x1p-50));
}

TEST(Gossip, ProjectionsAreNotNonexpansiveInL1) {
  // What the paper's sensitivity rests on: false next to the ball, 67.5 degrees from the first axis.
  const double angle = 3 * std::numbers::pi / 8;
  std::vector<double> a{2 * std::cos(angle), 2 * std::sin(angle)};
  std::vector<double> b{a[0] + 1e-3, a[1]};
  ball.project(a);
  ball.project(b);
  EXPECT_NEAR((std::abs(a[0] - b[0]) + std::abs(a[1] - b[1])) / 1e-3, (1 + std::numbers::sqrt2) / 2, 1e-3);
  EXPECT_LE(std::hypot(a[0] - b[0], a[1] - b[1]), 1e-3);
}

TEST(Gossip, LearnsWhatItsLearnersKnowTogether) {
  // Learner i sees coordinate i alone: what it cannot know comes from its neighbours.
  std::mt19937_64 random{8};
  constexpr std::size_t learners = 4;
  std::vector<DrawnRecord> records;
  for (std::size_t k = 0; k < 4000; ++k) {
    DrawnRecord record{.row = std::vector<double>(learners, 0.0), .label = random() % 2 == 0 ? 1.0 : -1.0};
    record.row[k % learners] = record.label * (k % 2 == 0 ? 1 : -1);
    records.push_back(std::move(record));
  }
  const Dataset data = assemble(records);
  auto settings = options(records.size(), learners, 5);
  settings.noise = GaussianNoise{NoiseMultiplier{1}};
  settings.clip = ClippingNorm{1};
  settings.step = InverseRootStep{StepSize{1}};
  settings.regularization = Regularization{0};
  mechanisms::ReplayBits source{2};
  SharedBits bits{source};
  NoisyLearnerReleaser releaser{ChargedByFirstNode{}, bits};
  InProcessExchange engine{learners};
  Mixing mixing = Mixing::random_matchings(Count{learners}, 1);
  const auto found = gossip(deal_records(data, settings.learners, {0, learners}), LogisticLoss{}, ball, settings, mixing, engine, releaser);
  for (std::size_t i = 0; i < learners; ++i) {
    std::size_t right = 0;
    for (std::size_t k = 0; k < data.size(); ++k) {
      right += data.row(k).dot(std::span{found.mean}.subspan(i * learners, learners)) * data.label(k) > 0 ? 1 : 0;
    }
    EXPECT_GT(static_cast<double>(right) / static_cast<double>(data.size()), 0.95) << "learner " << i;
  }
}

TEST(Gossip, RegretPerRoundFalls) {
  // Without noise, on records that a fixed vector separates: mean regret of learner 0 over the first and over all rounds.
  std::mt19937_64 random{12};
  std::vector<DrawnRecord> records;
  for (int k = 0; k < 4000; ++k) {
    std::normal_distribution<double> normal;
    std::vector<double> row{normal(random), normal(random)};
    const double norm = std::hypot(row[0], row[1]);
    for (double& x : row) x /= norm;
    records.push_back({row, row[0] > 0 ? 1.0 : -1.0});
  }
  const Dataset data = assemble(records);
  const auto settings = options(records.size(), 4);
  const auto parts = deal_records(data, settings.learners, {0, 4});
  testing::ExactLearnerReleaser exact;
  InProcessExchange engine{4};
  Mixing mixing = Mixing::ring(Count{4});
  std::vector<double> losses;
  const LogisticLoss loss_function;
  auto unregularized = settings;
  unregularized.regularization = Regularization{0};
  static_cast<void>(gossip(parts, loss_function, ball, unregularized, mixing, engine, exact,
                           [&](std::uint64_t round, std::span<const double> parameters) {
                             double sum = 0;
                             for (const Dataset& part : parts) {
                               sum += loss(loss_function, part.row(round), part.label(round), parameters.first(2));
                             }
                             losses.push_back(sum / 4);
                           }));
  ASSERT_EQ(losses.size(), 1000U);
  const auto regret_up_to = [&](std::size_t rounds) {
    double sum = 0;
    for (std::size_t t = 0; t < rounds; ++t) sum += losses[t];
    const std::vector<double> best{2, 0};
    return sum / static_cast<double>(rounds) - regularized_loss(loss_function, data, best, Regularization{0});
  };
  EXPECT_LT(regret_up_to(1000), regret_up_to(100) / 2);
  EXPECT_LT(regret_up_to(1000), 0.02);
}

TEST(Gossip, RefusesWhatItHasNoGuaranteeFor) {
  const Dataset data = Dataset::dense(1, {0.5, -0.2, 1, 2}, {1, 1, 1, 1});
  const auto with = [&](const GossipOptions& settings, std::vector<Dataset> parts, std::uint64_t mixed, std::size_t engines) {
    return [=] {
      InProcessExchange engine{engines};
      Mixing mixing = Mixing::complete(Count{mixed});
      testing::ExactLearnerReleaser releaser;
      static_cast<void>(gossip(parts, LogisticLoss{}, ball, settings, mixing, engine, releaser));
    };
  };
  const auto parts = deal_records(data, Count{2}, {0, 2});
  constexpr auto invalid = ErrorCode::invalid_argument;
  EXPECT_TRUE(refuses([] { static_cast<void>(plan(options(4, 2, 1, 1, Adjacency::add_or_remove_one), Count{1})); }, ErrorCode::unsupported,
                      {"adjacency is add-or-remove-one"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(plan(options(4, 5), Count{1})); }, invalid, {"learners is 5, must be at most 4"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(plan(options(5, 2, 3), Count{1})); }, invalid, {"batch size is 3, must be at most 2"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(deal_records(data, Count{5}, {0, 5})); }, invalid, {"learners is 5"}));
  EXPECT_TRUE(refuses(with(options(4, 2), parts, 3, 2), invalid, {"the mixing is for 3 learners, must be for 2"}));
  EXPECT_TRUE(refuses(with(options(4, 2), parts, 2, 3), invalid, {"the engine is for 3 learners, must be for 2"}));
  EXPECT_TRUE(refuses(with(options(4, 2), {parts[0]}, 2, 2), invalid, {"records of 1 learners, must be of 2"}));
  EXPECT_TRUE(refuses(with(options(5, 2), parts, 2, 2), invalid, {"learner 0 has 2 records, must have 3"}));
  const Dataset wide = Dataset::dense(2, {1, 1, 1, 1}, {1, 1});
  EXPECT_TRUE(refuses(with(options(4, 2), {parts[0], wide}, 2, 2), invalid, {"learner 1 have 2 features, must have 1"}));
  const Dataset unlabelled = Dataset::dense(1, {1, 1}, {});
  EXPECT_TRUE(refuses(with(options(4, 2), {parts[0], unlabelled}, 2, 2), invalid, {"labels", "learner 1"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(mean_vector({}, 2)); }, invalid, {"0 numbers"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(mean_vector(std::vector<double>(3), 2)); }, invalid, {"3 numbers"}));
}

}  // namespace
}  // namespace surety::optimizers::gossip_test
