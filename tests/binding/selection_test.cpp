// Choices, thresholds and randomized answers: what event() costs against the probabilities of what is released (binding.h). These are found
// from the outside: the word at which a release turns from one answer to the other, by bisection to 2^-64, integrated over the word before.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <surety/mechanisms/choices/randomized_response.h>
#include <surety/mechanisms/choices/selection.h>
#include <surety/mechanisms/choices/sparse_vector.h>

#include <binding/binding.h>
#include <support/random.h>
#include <support/selection_laws.h>

namespace surety::mechanisms::selection_test {
namespace {

using namespace testing;

constexpr auto adjacency = Adjacency::replace_one;

SelectionOptions options(double epsilon, double sensitivity, ScoreChange change, std::uint64_t candidates = 2) {
  return {.epsilon = Epsilon{epsilon},
          .sensitivity = ScoreSensitivity{sensitivity},
          .change = change,
          .candidates = Count{candidates},
          .adjacency = adjacency};
}

/// The integral over u in (0, 1) of f, by u = 1 / (1 + e^-t): smooth and exponentially small at both ends. `f` is given the word of u.
double over_words(const std::function<double(std::uint64_t)>& f) {
  const auto integrand = [&f](double t) {
    const double u = 1 / (1 + std::exp(-t));
    const double distance = 1 / (1 + std::exp(t));  // of u from 1
    const std::uint64_t word = t < 0 ? static_cast<std::uint64_t>(u * 0x1p64) : ~static_cast<std::uint64_t>(distance * 0x1p64);
    return f(word) * u * distance;
  };
  double sum = 0;
  for (double t = -40; t < 40; t += 4) sum += boost::math::quadrature::gauss_kronrod<double, 15>::integrate(integrand, t, t + 4, 4, 1e-7);
  return sum;
}

/// Two outcomes, of which one is rare: by its probability under either neighbour. Found to some 1e-8.
Neighbours one_bit(double p, double q) {
  return {{Real{p, law_bits}, 1.0 - Real{p, law_bits}}, {Real{q, law_bits}, 1.0 - Real{q, law_bits}}};
}
/// Errors of bisection and quadrature allowed for.
constexpr int bits = 30;
constexpr double quadrature_error = 1e-5;

testing::Quotients widened(testing::Quotients found) {
  found.least *= 1 + quadrature_error;
  return found;
}

/// P(the first of two candidates), from the outside of ReportNoisyMax.
double first_of_two(const ReportNoisyMax& mechanism, double first, double second) {
  const std::vector<double> scores{first, second};
  const auto chosen = [&](std::uint64_t word, std::uint64_t next) {
    auto script = testing::words({word, next});
    return mechanism.release(scores, script);
  };
  return over_words([&](std::uint64_t word) {
    // With exponential noise the second wins for small words, otherwise for large ones.
    const auto at_small = chosen(word, 0);
    const double turn = turning_point([&](std::uint64_t next) { return chosen(word, next) != at_small; }, bits).nearest_double();
    return at_small == 0 ? turn : 1 - turn;
  });
}

/// What one record does to two scores, at most: the sum of both moves is the range that `change` allows.
struct Move {
  ScoreChange change;
  double first;
  double second;
};
const std::vector<Move> worst_moves{
    {ScoreChange::either_way, 1, -1}, {ScoreChange::one_way, 1, 0}, {ScoreChange::one_way, 0, -1}, {ScoreChange::range, 0.5, -0.5}};

/// The pair of neighbours in which the first candidate starts `below` below the second and one record makes the most of it.
Neighbours neighbours(const ReportNoisyMax& mechanism, const Move& move, double sensitivity, double below) {
  const double far = first_of_two(mechanism, -below, 0);
  const double near = first_of_two(mechanism, -below + move.first * sensitivity, move.second * sensitivity);
  return one_bit(near, far);
}

// ---- Exponential mechanism ------------------------------------------------------------------------------------------------------

// With two candidates a loss of range epsilon is split anyhow between them, as the first starts nearer or farther: these are the pairs that
// an event of bounded range is made of, so its cost is attained.
TEST(BindingExponentialMechanism, CostsWhatItsEventSays) {
  const double sensitivity = 1.5;
  for (const double epsilon : {0.5, 2.0}) {
    const auto& move = worst_moves[0];
    const ExponentialMechanism mechanism{options(epsilon, sensitivity, move.change)};
    const double b = 2 * sensitivity / epsilon;
    std::vector<Neighbours> pairs;
    for (double x = -6 * epsilon; x <= 8 * epsilon; x += epsilon / 16) {
      pairs.push_back(one_bit(1 / (1 + std::exp(x - epsilon)), 1 / (1 + std::exp(x))));
      // What is drawn is what is assumed of it.
      const auto step = static_cast<int>(std::lround(x / (epsilon / 16)));
      if (step % 32 == 0) {
        EXPECT_NEAR(first_of_two(mechanism, -x * b, 0) * (1 + std::exp(x)), 1, quadrature_error);
      }
    }
    // A candidate 40 b below loses all.
    pairs.push_back(one_bit(1 / (1 + std::exp(40 - epsilon)), 1 / (1 + std::exp(40.0))));
    const Points points{{0, 0.05, 0.2 * epsilon, 0.5 * epsilon, 0.8 * epsilon}, {0, 1e-4, 1e-2, 0.05}};
    const auto found = widened(quotients(mechanism.event(), pairs, points));
    EXPECT_GE(found.least, 1);
    EXPECT_LE(found.largest, 1.01);
    // The factor of monotonic scores where they are not: epsilon / 2 for epsilon.
    EXPECT_TRUE(claims_too_little(exponential(Epsilon{epsilon / 2}, adjacency), pairs, points));
    EXPECT_FALSE(binds(exponential(Epsilon{2 * epsilon}, adjacency), pairs, points));
    EXPECT_FALSE(binds(exponential(Epsilon{epsilon * 1.02}, adjacency), pairs, points));
  }
}

TEST(BindingExponentialMechanism, LosesAllOfItsRangeByEveryWorstMove) {
  const double epsilon = 0.8;
  const double sensitivity = 2;
  for (const auto& move : worst_moves) {
    const ExponentialMechanism mechanism{options(epsilon, sensitivity, move.change)};
    const double b = (move.change == ScoreChange::either_way ? 2 : 1) * sensitivity / epsilon;
    const auto truth = neighbours(mechanism, move, sensitivity, 14 * b);
    const auto found = widened(quotients(mechanism.event(), truth, {{}, {0}}));
    EXPECT_GE(found.least, 1);
    EXPECT_LE(found.largest, 1.01);
    EXPECT_TRUE(claims_too_little(exponential(Epsilon{epsilon / 2}, adjacency), truth, {{}, {0}}));
  }
  // Scores that move either way, said to move one way: twice epsilon.
  const ExponentialMechanism monotonic{options(epsilon, sensitivity, ScoreChange::one_way)};
  EXPECT_TRUE(
      claims_too_little(monotonic.event(), neighbours(monotonic, worst_moves[0], sensitivity, 14 * sensitivity / epsilon), {{}, {0}}));
}

// ---- Report-noisy-max and permute-and-flip --------------------------------------------------------------------------------------

// The largest loss is epsilon, which a candidate far below attains: for exponential noise exactly, for Laplace noise but for (1 + x) terms.
// It is lost rarely, so at a positive delta a bit of odds e^epsilon, which is all that the event says, costs much more.
TEST(BindingReportNoisyMax, CostsAtMostWhatItsEventSays) {
  const double sensitivity = 1.5;
  for (const double epsilon : {0.5, 2.0}) {
    for (const auto noise : {NoiseShape::exponential, NoiseShape::laplace}) {
      for (const auto& move : worst_moves) {
        const ReportNoisyMax mechanism{options(epsilon, sensitivity, move.change), noise};
        const double b = (move.change == ScoreChange::either_way ? 2 : 1) * sensitivity / epsilon;
        const bool is_laplace = noise == NoiseShape::laplace;
        const auto far = neighbours(mechanism, move, sensitivity, 16 * b);
        const auto found = widened(quotients(mechanism.event(), far, {{}, {0}}));
        EXPECT_GE(found.least, 1);
        // (2 + 16) / (2 + 16 - epsilon) of the odds are the polynomial's.
        EXPECT_LE(found.largest, is_laplace ? 1.07 : 1.01);
        EXPECT_TRUE(claims_too_little(pure(Epsilon{epsilon / 2}, adjacency), far, {{}, {0}}));
        if (move.change != ScoreChange::either_way || epsilon < 1) continue;
        std::vector<Neighbours> pairs{far};
        for (const double below : {0.0, 0.5 * epsilon, epsilon, 2 * epsilon}) {
          pairs.push_back(neighbours(mechanism, move, sensitivity, below * b));
        }
        const Points points{{0, 0.5 * epsilon}, {1e-4, 1e-2}};
        const auto inside = widened(quotients(mechanism.event(), pairs, points));
        EXPECT_GE(inside.least, 1);
        // Measured at epsilon = 2: exponential noise 1.77, Laplace noise 4.2.
        EXPECT_LE(inside.largest, is_laplace ? 4.3 : 1.8);
      }
    }
  }
}

/// P(the first of two candidates), from the outside of PermuteAndFlip: either one is looked at first.
double first_of_two(const PermuteAndFlip& mechanism, double first, double second) {
  const std::vector<double> scores{first, second};
  double sum = 0;
  for (const std::uint64_t place : {0U, 1U}) {
    const auto chosen = [&](std::uint64_t coin) {
      // Should the first coin fail, the other candidate, alone and best, passes whatever follows.
      auto script = testing::words({place, coin, 0, 0});
      return mechanism.release(scores, script);
    };
    const auto at_small = chosen(0);
    const double turn = turning_point([&](std::uint64_t coin) { return chosen(coin) != at_small; }).nearest_double();
    sum += (at_small == 0 ? turn : 1 - turn) / 2;
  }
  return sum;
}

TEST(BindingPermuteAndFlip, CostsAtMostWhatItsEventSays) {
  const double sensitivity = 1.5;
  for (const double epsilon : {0.5, 2.0}) {
    for (const auto& move : worst_moves) {
      const PermuteAndFlip mechanism{options(epsilon, sensitivity, move.change)};
      const double b = (move.change == ScoreChange::either_way ? 2 : 1) * sensitivity / epsilon;
      std::vector<Neighbours> pairs;
      for (const double below : {0.0, 0.5 * epsilon, epsilon, 2 * epsilon, 16.0}) {
        pairs.push_back(one_bit(first_of_two(mechanism, -below * b + move.first * sensitivity, move.second * sensitivity),
                                first_of_two(mechanism, -below * b, 0)));
      }
      EXPECT_GE(widened(quotients(mechanism.event(), pairs, {{0, 0.5 * epsilon}, {0, 1e-4, 1e-2}})).least, 1);
      EXPECT_LE(quotients(mechanism.event(), pairs, {{}, {0}}).largest, 1.01);
      EXPECT_TRUE(claims_too_little(pure(Epsilon{epsilon / 2}, adjacency), pairs, {{}, {0}}));
    }
  }
}

/// More candidates: laws in closed form, for scores in units of b.
RC_GTEST_PROP(BindingSelection, NeverCostsMoreThanItsEventSays, ()) {
  const auto k = *rc::gen::inRange<std::size_t>(2, 7);
  const double epsilon = reference::draw_log_uniform(0.05, 5);
  const auto change = *rc::gen::element(ScoreChange::either_way, ScoreChange::one_way, ScoreChange::range);
  std::vector<Real> before;
  std::vector<Real> after;
  for (std::size_t i = 0; i < k; ++i) {
    // In units of the sensitivity, moves of up to 1 either way, 1 one way, or 1 in range; then in units of b.
    const double unit = change == ScoreChange::either_way ? epsilon / 2 : epsilon;
    const double score = *rc::gen::inRange(-20, 21) * 0.25;
    const double moves = *rc::gen::inRange(0, 5) / 4.0;
    const double shift = change == ScoreChange::either_way ? 2 * moves - 1 : moves;
    before.push_back(Real{score, law_bits} * unit);
    after.push_back(Real{score + shift, law_bits} * unit);
  }
  const auto at_most = [&](const Event& event, const Neighbours& pair) {
    return quotients(event, pair, {{0.5 * epsilon}, {0, 1e-3}}).least >= 1;
  };
  const auto chosen = options(epsilon, 1, change, k);
  RC_ASSERT(at_most(ExponentialMechanism{chosen}.event(), {testing::softmax(before), testing::softmax(after)}));
  RC_ASSERT(at_most(ReportNoisyMax(chosen, NoiseShape::exponential).event(),
                    {testing::exponential_noise_law(before), testing::exponential_noise_law(after)}));
  if (k < 6) {
    RC_ASSERT(at_most(PermuteAndFlip{chosen}.event(), {testing::permute_and_flip_law(before), testing::permute_and_flip_law(after)}));
  }
  if (k == 2) {
    RC_ASSERT(at_most(ReportNoisyMax(chosen, NoiseShape::laplace).event(),
                      {testing::laplace_noise_law(before), testing::laplace_noise_law(after)}));
  }
}

// ---- AboveThreshold -------------------------------------------------------------------------------------------------------------

struct Stream {
  double epsilon;
  ScoreChange change;
  std::uint64_t answers;

  [[nodiscard]] AboveThreshold::Options of(double sensitivity) const {
    return {.epsilon = Epsilon{epsilon},
            .sensitivity = ScoreSensitivity{sensitivity},
            .change = change,
            .answers = Count{answers},
            .adjacency = adjacency};
  }
};

/// P(`count` queries of one value are below, and then one of another is above), from the outside, for the threshold 0: the first word
/// draws the threshold's noise, and given that the second one turns a query from below to above.
double stretch(const Stream& run, double sensitivity, double below, double count, double above) {
  return over_words([&](std::uint64_t word) {
    const auto is_above = [&](double query, std::uint64_t next) {
      AboveThreshold mechanism{run.of(sensitivity)};
      auto script = testing::words({word, next});
      return mechanism.release(query, 0, script);
    };
    const auto turn = [&](double query) { return turning_point([&](std::uint64_t next) { return is_above(query, next); }, bits); };
    return std::exp(count * log(turn(below)).nearest_double()) * (1.0 - turn(above)).nearest_double();
  });
}

TEST(BindingAboveThreshold, CostsWhatItsEventSays) {
  const double sensitivity = 1.5;
  for (const auto& run :
       {Stream{1, ScoreChange::either_way, 1}, Stream{1, ScoreChange::one_way, 1}, Stream{2, ScoreChange::either_way, 2}}) {
    const double b = 2 * static_cast<double>(run.answers) * sensitivity / run.epsilon;
    const bool either = run.change == ScoreChange::either_way;
    // Many queries that a record raises are below, one that it lowers (or leaves) is above.
    const double low = -20 * b;
    const double before = stretch(run, sensitivity, 0, 1e7, low);
    const double after = stretch(run, sensitivity, sensitivity, 1e7, either ? low - sensitivity : low);
    const auto all = static_cast<double>(run.answers);
    const auto truth = one_bit(std::pow(before, all), std::pow(after, all));
    const AboveThreshold mechanism{run.of(sensitivity)};
    const auto found = widened(quotients(mechanism.event(), truth, {{}, {0}}));
    EXPECT_GE(found.least, 1);
    EXPECT_LE(found.largest, 1.01);
    const auto mutant = [&](double factor) { return pure(Epsilon{run.epsilon * factor}, adjacency); };
    EXPECT_TRUE(claims_too_little(mutant(0.5), truth, {{}, {0}}));  // the sensitivity halved, or the threshold's budget forgotten
    // The scales swapped (4 c for the threshold, 2 c for a query) cost 5 / 4 epsilon: to say epsilon of that is to say 4 / 5 of this.
    EXPECT_TRUE(claims_too_little(mutant(0.8), truth, {{}, {0}}));
    if (run.answers == 2) {
      EXPECT_TRUE(claims_too_little(mutant(1.0 / 2), truth, {{}, {0}}));  // one answer for all
    }
  }
}

// ---- Randomized response --------------------------------------------------------------------------------------------------------

/// The probabilities of all answers for a record, from the outside: the coin's word, and all remainders of the other one.
std::vector<Real> answers(const RandomizedResponse& mechanism, std::uint64_t own, std::uint64_t k) {
  const auto answer = [&](std::uint64_t coin, std::uint64_t other) {
    auto script = testing::words({coin, other});
    return mechanism.release(own, script);
  };
  const Real truth = turning_point([&](std::uint64_t coin) { return answer(coin, 0) != own; });
  std::vector<Real> law(k, Real{0, law_bits});
  law[own] = truth;
  for (std::uint64_t other = 0; other + 1 < k; ++other) {
    auto& mass = law[answer(~std::uint64_t{0}, other)];
    mass = mass + (1.0 - truth) / static_cast<double>(k - 1);
  }
  return law;
}

TEST(BindingRandomizedResponse, CostsWhatItsEventSays) {
  for (const std::uint64_t k : {2U, 3U, 10U}) {
    for (const double truth : {0.75, 0.5, 0.2, 0.95}) {
      const RandomizedResponse mechanism{Probability{truth}, Count{k}, adjacency};
      std::vector<Neighbours> pairs;
      for (const std::uint64_t other : {std::uint64_t{1}, k - 1}) {
        pairs.push_back({answers(mechanism, 0, k), answers(mechanism, other, k)});
      }
      const Points points{{0, 0.1, 0.5, 1}, {0, 1e-5, 1e-2}};
      auto found = quotients(mechanism.event(), pairs, points);
      EXPECT_GE(found.least * (1 + 1e-15), 1);  // 2^-64 of each probability
      if (truth * static_cast<double>(k) != 1) {
        EXPECT_LE(found.largest, 1.01) << truth << " " << k;
      }
    }
  }
  // A category for another: three with the same truth are told apart better than two.
  const RandomizedResponse three{Probability{0.75}, Count{3}, adjacency};
  const Neighbours truth{answers(three, 0, 3), answers(three, 1, 3)};
  EXPECT_TRUE(claims_too_little(randomized_response(Probability{0.75}, Count{2}, adjacency), truth, {{0.5}, {0}}));
  // Truth with probability p and else *any* category is truth with p + (1 - p) / k: more.
  EXPECT_TRUE(claims_too_little(randomized_response(Probability{0.7}, Count{3}, adjacency), truth, {{0.5}, {0}}));
}

TEST(BindingRandomizedResponse, KeepsTheEpsilonAskedFor) {
  for (const std::uint64_t k : {2U, 5U}) {
    for (const double epsilon : {0.1, 1.0, 6.0}) {
      const auto truth = RandomizedResponse::truth_for(Epsilon{epsilon}, Count{k});
      const RandomizedResponse mechanism{truth, Count{k}, adjacency};
      const auto found =
          quotients(pure(Epsilon{epsilon}, adjacency), Neighbours{answers(mechanism, 0, k), answers(mechanism, 1, k)}, {{}, {0}});
      EXPECT_GE(found.least * (1 + 1e-15), 1);
      EXPECT_LE(found.largest, 1 + 1e-12);
    }
  }
}

}  // namespace
}  // namespace surety::mechanisms::selection_test
