#include <surety/optimizers/gossip/exchange.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <surety/base/text/error.h>

#include <support/faulty_network.h>
#include <support/refusal.h>
#include <support/taint.h>

namespace surety::optimizers::exchange_test {
namespace {

using std::chrono::milliseconds;

std::vector<double> drawn(std::size_t size, std::mt19937_64& random) {
  std::vector<double> values(size);
  for (double& value : values) value = std::ldexp(std::uniform_real_distribution<double>{-1, 1}(random), static_cast<int>(random() % 40));
  return values;
}

/// Every learner's vector after some rounds of mixing; the first node's gathered result, or the message of what went wrong at each node.
struct Outcome {
  std::vector<double> gathered;
  std::vector<std::string> errors;  ///< empty where all went well
  std::uint64_t late = 0;
  std::uint64_t duplicates = 0;
};

/// Each node mixes and adds something of its own in every round, as an algorithm does.
template <class Engine>
std::vector<double> run(Engine& engine, Mixing mixing, std::size_t dimension, std::uint64_t rounds) {
  const LearnerRange local = engine.local();
  std::vector<double> parameters(local.count() * dimension);
  for (std::size_t k = 0; k < parameters.size(); ++k) parameters[k] = std::sin(static_cast<double>(local.first * dimension + k));
  std::vector<double> mixed(parameters.size());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    engine.exchange(round, mixing.at(round), parameters, mixed);
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      parameters[k] = mixed[k] + std::cos(static_cast<double>(round) + static_cast<double>(local.first * dimension + k));
    }
  }
  return engine.gather(parameters);
}

Outcome run_over_network(const Mixing& mixing, std::size_t nodes, std::uint64_t rounds, const Fates& fates, milliseconds timeout) {
  FaultyNetwork network{mixing.learners(), nodes, fates};
  Outcome outcome{.gathered = {}, .errors = std::vector<std::string>(nodes)};
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (std::size_t node = 0; node < nodes; ++node) {
    threads.emplace_back([&, node] {
      FaultInjectingExchange engine{network, node, timeout};
      try {
        auto gathered = run(engine, mixing, 3, rounds);
        const std::lock_guard lock{mutex};
        if (node == 0) outcome.gathered = std::move(gathered);
      } catch (const Error& error) {
        const std::lock_guard lock{mutex};
        outcome.errors[node] = error.code() == ErrorCode::environment ? error.what() : "another code";
      }
      const std::lock_guard lock{mutex};
      outcome.late += engine.late();
      outcome.duplicates += engine.duplicates();
    });
  }
  for (auto& thread : threads) thread.join();
  return outcome;
}

std::vector<Mixing> sequences() {
  return {Mixing::complete(Count{8}), Mixing::ring(Count{8}), Mixing::torus(Count{8}), Mixing::hypercube(Count{8}),
          Mixing::random_matchings(Count{7}, 3)};
}

TEST(Exchange, SpreadsLearnersEvenlyAndInOrder) {
  for (std::size_t learners = 1; learners < 20; ++learners) {
    for (std::size_t nodes = 1; nodes <= learners; ++nodes) {
      std::size_t next = 0;
      for (std::size_t node = 0; node < nodes; ++node) {
        const LearnerRange part = part_of_node(learners, nodes, node);
        EXPECT_EQ(part.first, next);
        EXPECT_GE(part.count(), learners / nodes);
        EXPECT_LE(part.count(), (learners + nodes - 1) / nodes);
        next = part.last;
      }
      EXPECT_EQ(next, learners);
    }
  }
  EXPECT_TRUE(refuses([] { static_cast<void>(part_of_node(3, 4, 0)); }, ErrorCode::invalid_argument, {"nodes is 4", "at most 3"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(part_of_node(3, 0, 0)); }, ErrorCode::invalid_argument, {"nodes is 0"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(part_of_node(3, 2, 2)); }, ErrorCode::invalid_argument, {"node is 2"}));
}

TEST(Exchange, InProcessIsTheProductWithTheMatrix) {
  std::mt19937_64 random{1};
  for (Mixing mixing : sequences()) {
    InProcessExchange engine{mixing.learners()};
    for (std::uint64_t round = 0; round < 5; ++round) {
      const MixingMatrix& matrix = mixing.at(round);
      const auto parameters = drawn(mixing.learners() * 3, random);
      std::vector<double> mixed(parameters.size());
      engine.exchange(round, matrix, parameters, mixed);
      for (std::size_t i = 0; i < mixing.learners(); ++i) {
        for (std::size_t k = 0; k < 3; ++k) {
          long double sum = 0;
          long double size = 0;
          for (const auto& entry : matrix.row(i)) {
            const long double term = static_cast<long double>(entry.weight) * static_cast<long double>(parameters[entry.learner * 3 + k]);
            sum += term;
            size += std::abs(term);
          }
          EXPECT_NEAR(mixed[i * 3 + k], static_cast<double>(sum), static_cast<double>(size) * 0x1p-49);
        }
      }
    }
  }
}

TEST(Exchange, HasTheSameBitsHoweverLearnersAreSpread) {
  for (const Mixing& mixing : sequences()) {
    InProcessExchange alone{mixing.learners()};
    const auto expected = run(alone, mixing, 3, 12);
    for (const std::size_t nodes : {1U, 2U, 3U, 7U}) {
      const Outcome outcome = run_over_network(mixing, nodes, 12, {}, milliseconds{20'000});
      EXPECT_EQ(outcome.errors, std::vector<std::string>(nodes));
      EXPECT_TRUE(same_bits(outcome.gathered, expected)) << nodes << " nodes";
    }
  }
}

TEST(Exchange, BearsMessagesThatAreDelayedRepeatedAndReordered) {
  for (const Mixing& mixing : sequences()) {
    InProcessExchange alone{mixing.learners()};
    const auto expected = run(alone, mixing, 3, 12);
    std::mt19937_64 random{7};
    const auto fates = [&](std::uint64_t, std::size_t, std::size_t) {
      Fate fate{.delay = milliseconds{random() % 4}};
      for (auto copies = random() % 3; copies > 0; --copies) fate.copies.emplace_back(random() % 8);
      return fate;
    };
    const Outcome outcome = run_over_network(mixing, 4, 12, fates, milliseconds{20'000});
    EXPECT_EQ(outcome.errors, std::vector<std::string>(4));
    EXPECT_TRUE(same_bits(outcome.gathered, expected));
    EXPECT_GT(outcome.late + outcome.duplicates, 0U);
  }
}

TEST(Exchange, EndsWhenAMessageIsLost) {
  const auto lost = [](std::uint64_t round, std::size_t learner, std::size_t) { return Fate{.lost = round == 5 && learner == 2}; };
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run_over_network(Mixing::ring(Count{6}), 3, 12, lost, milliseconds{1000});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{20});
  EXPECT_EQ(outcome.errors[0], "round 5: no parameters of learner 2 within 1 s");
  // The others end too, since the first node sends nothing any more.
  EXPECT_NE(outcome.errors[1], "");
  EXPECT_NE(outcome.errors[2], "");
  EXPECT_EQ(default_timeout, std::chrono::seconds{30});
}

TEST(Exchange, EndsWhenAMessageIsTooSlow) {
  const auto slow = [](std::uint64_t round, std::size_t learner, std::size_t) {
    return Fate{.delay = milliseconds{round == 3 && learner == 1 ? 60'000 : 0}};
  };
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run_over_network(Mixing::complete(Count{2}), 2, 12, slow, milliseconds{1000});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{20});
  EXPECT_EQ(outcome.errors[0], "round 3: no parameters of learner 1 within 1 s");
  EXPECT_EQ(outcome.errors[1], "round 4: no parameters of learner 0 within 1 s");
}

TEST(Exchange, EndsWhenAResultIsLost) {
  const auto lost = [](std::uint64_t round, std::size_t learner, std::size_t) {
    return Fate{.lost = round == gather_round && learner == 3};
  };
  const Outcome outcome = run_over_network(Mixing::ring(Count{4}), 2, 3, lost, milliseconds{1000});
  EXPECT_EQ(outcome.errors[0], "no result of learner 3 within 1 s");
  EXPECT_EQ(outcome.errors[1], "");
}

TEST(Inbox, TellsRoundsApart) {
  Inbox inbox{3, {0, 1}, 2};
  const std::vector<std::size_t> awaited{1, 2};
  inbox.open(4);
  EXPECT_EQ(inbox.missing(awaited), std::optional<std::size_t>{1});
  inbox.receive(5, 1, std::vector<double>{5, 1});  // ahead of its time
  EXPECT_FALSE(inbox.values(1).has_value());
  inbox.receive(4, 1, std::vector<double>{4, 1});
  inbox.receive(4, 1, std::vector<double>{4, 1});
  inbox.receive(3, 2, std::vector<double>{3, 2});
  EXPECT_EQ(inbox.missing(awaited), std::optional<std::size_t>{2});
  EXPECT_EQ(inbox.duplicates(), 1U);
  EXPECT_EQ(inbox.late(), 1U);
  EXPECT_EQ((*inbox.values(1))[0], 4);
  inbox.open(5);
  EXPECT_EQ((*inbox.values(1))[0], 5);
  EXPECT_FALSE(inbox.values(2).has_value());
  inbox.receive(4, 2, std::vector<double>{4, 2});
  EXPECT_EQ(inbox.late(), 2U);
}

TEST(Inbox, RefusesWhatNoNeighbourMaySend) {
  Inbox inbox{3, {0, 1}, 2};
  inbox.open(4);
  const std::vector<double> values{1, 2};
  inbox.receive(4, 1, values);
  const auto refused = [&](auto action, std::string_view word) { return refuses(action, ErrorCode::environment, {word}); };
  // Two vectors for one learner and round: noise that differs between neighbours would be averaged out.
  EXPECT_TRUE(refused([&] { inbox.receive(4, 1, std::vector<double>{1, 2.5}); }, "round 4: a message of learner 1 differs"));
  EXPECT_TRUE(refused([&] { inbox.receive(4, 0, values); }, "learner 0 came from another node"));
  EXPECT_TRUE(refused([&] { inbox.receive(4, 3, values); }, "learner 3 came from another node"));
  EXPECT_TRUE(refused([&] { inbox.receive(4, 2, std::vector<double>{1}); }, "has 1 values, must have 2"));
  EXPECT_TRUE(refused([&] { receive_frames(std::vector<std::uint64_t>(5), inbox); }, "5 words"));
}

TEST(Inbox, ReadsTheFramesThatWereWritten) {
  Inbox inbox{4, {0, 2}, 2};
  inbox.open(9);
  std::vector<std::uint64_t> words;
  append_frame(9, 2, std::vector<double>{-0.0, 0.1}, words);
  append_frame(9, 3, std::vector<double>{5e-324, 1e308}, words);
  EXPECT_EQ(words.size(), 2 * (frame_header + 2));
  receive_frames(words, inbox);
  EXPECT_TRUE(same_bits(*inbox.values(2), std::vector<double>{-0.0, 0.1}));
  EXPECT_TRUE(same_bits(*inbox.values(3), std::vector<double>{5e-324, 1e308}));
}

TEST(Exchange, KnowsWhoAwaitsWhom) {
  Mixing ring = Mixing::ring(Count{6});
  const MixingMatrix& matrix = ring.at(0);
  EXPECT_EQ(awaited_learners(matrix, {0, 2}), (std::vector<std::size_t>{2, 5}));
  EXPECT_EQ(awaited_learners(matrix, {0, 6}), std::vector<std::size_t>{});
  EXPECT_TRUE(awaits(matrix, {0, 2}, 5));
  EXPECT_FALSE(awaits(matrix, {0, 2}, 3));
}

TEST(Exchange, RefusesWhatDoesNotFit) {
  Mixing ring = Mixing::ring(Count{3});
  const MixingMatrix& matrix = ring.at(0);
  InProcessExchange engine{3};
  std::vector<double> six(6);
  std::vector<double> four(4);
  const auto refused = [&](auto action, std::string_view word) { return refuses(action, ErrorCode::invalid_argument, {word}); };
  EXPECT_TRUE(refused([&] { engine.exchange(0, matrix, six, four); }, "room for 4"));
  EXPECT_TRUE(refused([&] { engine.exchange(0, matrix, four, four); }, "4 parameters"));
  EXPECT_TRUE(refused([&] { engine.exchange(0, matrix, {}, {}); }, "0 parameters"));
  InProcessExchange other{2};
  EXPECT_TRUE(refused([&] { other.exchange(0, matrix, six, six); }, "for 3 learners, must be for 2"));
  EXPECT_TRUE(refused([] { static_cast<void>(InProcessExchange{0}); }, "learners is 0"));
}

}  // namespace
}  // namespace surety::optimizers::exchange_test
