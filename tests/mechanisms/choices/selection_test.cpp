// n = 524,288 choices per law, seed 20261121; exact binomial tails, false alarm 1e-10 per law (exact_counts.h). Detected with probability
// 0.999: an error of 0.007 in one probability.
#include <surety/mechanisms/choices/selection.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <surety/accounting/answers/asked.h>

#include <support/exact_counts.h>
#include <support/random.h>
#include <support/refusal.h>
#include <support/scripted_bits.h>
#include <support/selection_laws.h>

namespace surety::mechanisms::selection_test {
namespace {

using reference::Real;
using reference::refusal_of;
using testing::counts_fit;
using testing::ScriptedBits;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t seed = 20261121;

SelectionOptions options(double epsilon, double sensitivity, ScoreChange change, std::uint64_t candidates) {
  return {.epsilon = Epsilon{epsilon},
          .sensitivity = ScoreSensitivity{sensitivity},
          .change = change,
          .candidates = Count{candidates},
          .adjacency = Adjacency::add_or_remove_one};
}

// ---- The choice, against its definition -----------------------------------------------------------------------------------------

Real unit_at(std::uint64_t first, std::uint64_t second, int add) {
  const auto word = [](std::uint64_t w) { return Real{static_cast<double>(w >> 32)} * 0x1p32 + static_cast<double>(w & 0xffffffff); };
  return (word(first) * 0x1p64 + word(second) + static_cast<double>(add)) * 0x1p-64 * 0x1p-64;
}

Real noise_at(NoiseShape shape, const Real& u) {
  if (shape == NoiseShape::exponential) return -log(u);
  if (shape == NoiseShape::gumbel) return -log(-log(u));
  return u < 0.5 ? log(u * 2) : -log((1 - u) * 2);
}

/// U such that noise(U) = x.
Real quantile_inverse(NoiseShape shape, const Real& x) {
  if (shape == NoiseShape::exponential) return exp(-x);
  if (shape == NoiseShape::gumbel) return exp(-exp(-x));
  return x < 0 ? exp(x) / 2 : 1 - exp(-x) / 2;
}

// Two candidates, the second's word placed at the tie: what lies 2^-50 beside the tie is decided by the right scale b and by two words; the
// tie itself takes further words, and those decide as they should.
void expect_decided_at_the_tie(NoiseShape shape, ScoreChange change, double score, std::uint64_t word) {
  const double epsilon = 0.7;
  const double sensitivity = 1.5;
  const Real b = Real{change == ScoreChange::either_way ? 2 * sensitivity : sensitivity} / epsilon;
  const ReportNoisyMax mechanism{options(epsilon, sensitivity, change, 2), shape};
  const std::vector<double> scores{score, 0};
  const Real tie = quantile_inverse(shape, noise_at(shape, unit_at(word, 0x8000000000000000, 0)) + Real{score} / b);
  const std::uint64_t at = mpfr_get_ui((tie * 0x1p64).get(), MPFR_RNDD);
  const bool falls = shape == NoiseShape::exponential;  // noise falls in U
  const std::uint64_t apart = std::uint64_t{1} << 14;
  for (const bool second_wins : {false, true}) {
    ScriptedBits bits{{word, falls == second_wins ? at - apart : at + apart}};
    EXPECT_EQ(mechanism.release(scores, bits), second_wins ? 1U : 0U) << score << " " << word;
    EXPECT_EQ(bits.used(), 2U);
  }
  // In the tied cell, the second words decide.
  const Real rest = tie * 0x1p64 - (Real{static_cast<double>(at >> 32)} * 0x1p32 + static_cast<double>(at & 0xffffffff));
  const std::uint64_t at_rest = mpfr_get_ui((rest * 0x1p64).get(), MPFR_RNDD);
  ASSERT_GT(at_rest, apart);
  for (const bool second_wins : {false, true}) {
    ScriptedBits bits{{word, at, 0x8000000000000000, falls == second_wins ? at_rest - apart : at_rest + apart}};
    EXPECT_EQ(mechanism.release(scores, bits), second_wins ? 1U : 0U) << score << " " << word;
    EXPECT_EQ(bits.used(), 4U);
  }
}

TEST(ReportNoisyMax, DecidesEveryTieByMoreBits) {
  for (const auto shape : {NoiseShape::gumbel, NoiseShape::laplace, NoiseShape::exponential}) {
    for (const auto change : {ScoreChange::either_way, ScoreChange::one_way, ScoreChange::range}) {
      for (const double score : {0.1, 0.0, 3.3}) {
        expect_decided_at_the_tie(shape, change, score, 0x6123456789abcdef);
        expect_decided_at_the_tie(shape, change, score, 0x9edcba9876543210);
      }
    }
  }
}

// The shortcut in double changes nothing: with scores and epsilon scaled out of its range the same law is decided by intervals alone.
RC_GTEST_PROP(ReportNoisyMax, ChoosesTheSameByIntervalsAlone, (std::uint64_t stream)) {
  const auto shape = *rc::gen::element(NoiseShape::gumbel, NoiseShape::laplace, NoiseShape::exponential);
  const auto k = *rc::gen::inRange<std::size_t>(1, 12);
  std::vector<double> scores;
  std::vector<double> shrunk;
  for (std::size_t i = 0; i < k; ++i) {
    scores.push_back(*rc::gen::inRange(-40, 40) * 0.25);
    shrunk.push_back(std::ldexp(scores.back(), -960));
  }
  ReplayBits one{stream};
  ReplayBits other{stream};
  const ReportNoisyMax plain{options(1, 1, ScoreChange::one_way, k), shape};
  const ReportNoisyMax scaled{options(1, 0x1p-960, ScoreChange::one_way, k), shape};
  for (int i = 0; i < 5; ++i) RC_ASSERT(plain.release(scores, one) == scaled.release(shrunk, other));
  RC_ASSERT(draw_word(one) == draw_word(other));
}

// ---- The law, by counting -------------------------------------------------------------------------------------------------------

constexpr std::int64_t choices = 1 << 19;

template <class Mechanism>
std::vector<std::int64_t> count(const Mechanism& mechanism, const std::vector<double>& scores, std::string_view stream) {
  auto bits = ReplayBits{seed}.substream(stream);
  std::vector<std::int64_t> counts(scores.size());
  for (std::int64_t i = 0; i < choices; ++i) ++counts[mechanism.release(scores, bits)];
  return counts;
}

std::vector<Real> in_units(const std::vector<double>& scores, double b) {
  std::vector<Real> units;
  for (const double s : scores) units.push_back(Real{s} / b);
  return units;
}

std::vector<double> doubles(const std::vector<Real>& values) {
  std::vector<double> result;
  for (const auto& value : values) result.push_back(value.nearest_double());
  return result;
}

const std::vector<double> example{3, 1, 2.5, 3, 0};

TEST(ExponentialMechanism, HasItsLaw) {
  // range 2 x 1, epsilon 1: b = 2.
  const ExponentialMechanism mechanism{options(1, 1, ScoreChange::either_way, 5)};
  const auto counts = count(mechanism, example, "exponential mechanism");
  EXPECT_TRUE(counts_fit(counts, doubles(testing::softmax(in_units(example, 2)))));
  // The same counts reject a scale 3 % off, and the law of another noise.
  EXPECT_FALSE(counts_fit(counts, doubles(testing::softmax(in_units(example, 2 / 1.03)))));
  EXPECT_FALSE(counts_fit(counts, doubles(testing::exponential_noise_law(in_units(example, 2)))));
}

TEST(ReportNoisyMax, HasItsLawWithExponentialNoise) {
  const ReportNoisyMax mechanism{options(1, 2, ScoreChange::one_way, 5), NoiseShape::exponential};
  const auto counts = count(mechanism, example, "exponential noise");
  EXPECT_TRUE(counts_fit(counts, doubles(testing::exponential_noise_law(in_units(example, 2)))));
  EXPECT_FALSE(counts_fit(counts, doubles(testing::exponential_noise_law(in_units(example, 2 / 1.03)))));
}

TEST(ReportNoisyMax, HasItsLawWithLaplaceNoise) {
  const std::vector<double> two{-3, 1};
  const ReportNoisyMax mechanism{options(0.5, 1, ScoreChange::range, 2), NoiseShape::laplace};
  const auto counts = count(mechanism, two, "laplace noise");
  EXPECT_TRUE(counts_fit(counts, doubles(testing::laplace_noise_law(in_units(two, 2)))));
  EXPECT_FALSE(counts_fit(counts, doubles(testing::laplace_noise_law(in_units(two, 2 / 1.2)))));
  EXPECT_FALSE(counts_fit(counts, doubles(testing::softmax(in_units(two, 2)))));
}

TEST(PermuteAndFlip, HasTheLawOfExponentialNoise) {
  const PermuteAndFlip mechanism{options(1, 1, ScoreChange::either_way, 5)};
  const auto counts = count(mechanism, example, "permute and flip");
  const auto law = testing::permute_and_flip_law(in_units(example, 2));
  EXPECT_TRUE(counts_fit(counts, doubles(law)));
  const auto same = testing::exponential_noise_law(in_units(example, 2));
  for (std::size_t i = 0; i < law.size(); ++i) EXPECT_LT(reference::relative_error(law[i].nearest_double(), same[i]), 1e-15);
  EXPECT_FALSE(counts_fit(counts, doubles(testing::permute_and_flip_law(in_units(example, 2 / 1.03)))));
}

// Noisy scores rounded to a grid, ties to the first: what samplers in fixed point do. The counts see it.
TEST(ReportNoisyMax, RoundedTiesWouldBeSeen) {
  const std::vector<double> equal(4, 0.0);
  std::mt19937_64 words{seed};
  const auto draw = [&words](double step) {
    std::size_t best = 0;
    double best_noisy = -infinity;
    for (std::size_t i = 0; i < 4; ++i) {
      const double gumbel = -std::log(-std::log((static_cast<double>(words() >> 11) + 0.5) * 0x1p-53));
      const double noisy = std::floor(gumbel / step) * step;
      if (noisy > best_noisy) best = i;
      best_noisy = std::max(best_noisy, noisy);
    }
    return best;
  };
  const std::vector<double> quarter(4, 0.25);
  for (const double step : {0x1p-30, 0.0625}) {
    std::vector<std::int64_t> counts(4);
    for (std::int64_t i = 0; i < choices; ++i) ++counts[draw(step)];
    EXPECT_EQ(static_cast<bool>(counts_fit(counts, quarter)), step < 0.01) << step;
  }
  EXPECT_TRUE(counts_fit(count(ExponentialMechanism{options(1, 1, ScoreChange::range, 4)}, equal, "equal scores"), quarter));
}

// ---- What it costs, by number ---------------------------------------------------------------------------------------------------

using Law = std::function<std::vector<Real>(const std::vector<Real>&)>;

/// The largest and the smallest log-ratio of the probabilities of a choice.
struct Losses {
  double largest = -infinity;
  double smallest = infinity;
};
Losses losses(const Law& law, const std::vector<double>& scores, const std::vector<double>& changes, double b) {
  std::vector<double> moved;
  for (std::size_t i = 0; i < scores.size(); ++i) moved.push_back(scores[i] + changes[i]);
  const auto p = law(in_units(scores, b));
  const auto q = law(in_units(moved, b));
  Losses result;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double loss = log(q[i] / p[i]).nearest_double();
    result.largest = std::max(result.largest, loss);
    result.smallest = std::min(result.smallest, loss);
  }
  return result;
}

struct Selection {
  std::string_view name;
  Law law;
  std::size_t candidates;  ///< of the random cases
  bool has_bounded_range;
};
const std::vector<Selection>& selections() {
  static const std::vector<Selection> all{{"exponential mechanism", testing::softmax, 4, true},
                                          {"exponential noise", testing::exponential_noise_law, 4, false},
                                          {"permute and flip", testing::permute_and_flip_law, 4, false},
                                          {"laplace noise", testing::laplace_noise_law, 2, false}};
  return all;
}

/// b of the mechanisms, as `DecidesEveryTieByMoreBits` and the counts find it.
double scale(ScoreChange change, double sensitivity, double epsilon) {
  return (change == ScoreChange::either_way ? 2 : 1) * sensitivity / epsilon;
}

TEST(Selection, NeverLosesMoreThanItsEventSays) {
  std::mt19937_64 words{seed};
  const auto uniform = [&words](double low, double high) { return low + (high - low) * static_cast<double>(words() >> 11) * 0x1p-53; };
  for (const auto& selection : selections()) {
    for (const auto change : {ScoreChange::either_way, ScoreChange::one_way, ScoreChange::range}) {
      for (int i = 0; i < 60; ++i) {
        const double epsilon = reference::log_uniform(words, 0.01, 20);
        const double sensitivity = reference::log_uniform(words, 0.1, 10);
        std::vector<double> scores;
        std::vector<double> changes;
        const double lowest = change == ScoreChange::one_way ? 0 : change == ScoreChange::either_way ? -sensitivity : uniform(-100, 100);
        const double highest = change == ScoreChange::range ? lowest + sensitivity : sensitivity;
        for (std::size_t j = 0; j < selection.candidates; ++j) {
          scores.push_back(uniform(-5, 5) * sensitivity / epsilon);
          changes.push_back(words() % 3 == 0 ? lowest : words() % 2 == 0 ? highest : uniform(lowest, highest));
        }
        const auto [largest, smallest] = losses(selection.law, scores, changes, scale(change, sensitivity, epsilon));
        EXPECT_LE(std::max(largest, -smallest), epsilon * (1 + 1e-12)) << selection.name;
        if (selection.has_bounded_range) {
          EXPECT_LE(largest - smallest, epsilon * (1 + 1e-12)) << selection.name;
        }
      }
    }
  }
}

// Worst neighbours: a candidate far below gains all that a record can give it, the others lose as much as they can. The event is at most
// 1 % above, so that half the scale, or twice, would show.
TEST(Selection, LosesNearlyWhatItsEventSays) {
  const double sensitivity = 1.5;
  for (const double epsilon : {0.1, 1.0, 5.0}) {
    for (const auto& selection : selections()) {
      for (const auto change : {ScoreChange::either_way, ScoreChange::one_way, ScoreChange::range}) {
        const double b = scale(change, sensitivity, epsilon);
        const double lowest = change == ScoreChange::either_way ? -sensitivity : 0;
        const auto worst = losses(selection.law, {0, 300 * b}, {sensitivity, lowest}, b);
        const double loss = std::max(worst.largest, -worst.smallest);
        EXPECT_LE(loss, epsilon * (1 + 1e-12)) << selection.name;
        EXPECT_GE(loss * 1.01, epsilon) << selection.name;
        // Half the scale breaks the promise.
        const auto halved = losses(selection.law, {0, 300 * b}, {sensitivity, lowest}, b / 2);
        EXPECT_GT(std::max(halved.largest, -halved.smallest), 1.9 * epsilon) << selection.name;
        // A scale that forgets that scores can move both ways does too.
        if (change == ScoreChange::either_way) {
          const auto forgotten =
              losses(selection.law, {0, 300 * b}, {sensitivity, lowest}, scale(ScoreChange::one_way, sensitivity, epsilon));
          EXPECT_GT(std::max(forgotten.largest, -forgotten.smallest), 1.9 * epsilon) << selection.name;
        }
      }
    }
  }
}

// Exponential noise has no loss of range epsilon: it must not say exponential(epsilon).
TEST(Selection, ExponentialNoiseHasNoBoundedRange) {
  const auto range = [](const Law& law) {
    const auto [largest, smallest] = losses(law, {0, 1}, {1, 0}, 1.0);
    return largest - smallest;
  };
  EXPECT_LE(range(testing::softmax), 1 + 1e-12);
  EXPECT_GT(range(testing::exponential_noise_law), 1.2);
}

TEST(Selection, SaysItsEvent) {
  const auto some = options(0.3, 1, ScoreChange::either_way, 2);
  const auto adjacency = Adjacency::add_or_remove_one;
  EXPECT_EQ(ExponentialMechanism{some}.event(), exponential(Epsilon{0.3}, adjacency));
  EXPECT_EQ((ReportNoisyMax{some, NoiseShape::gumbel}.event()), exponential(Epsilon{0.3}, adjacency));
  EXPECT_EQ((ReportNoisyMax{some, NoiseShape::laplace}.event()), pure(Epsilon{0.3}, adjacency));
  EXPECT_EQ((ReportNoisyMax{some, NoiseShape::exponential}.event()), pure(Epsilon{0.3}, adjacency));
  EXPECT_EQ(PermuteAndFlip{some}.event(), pure(Epsilon{0.3}, adjacency));
  // What an accountant makes of it is what the worst neighbours attain.
  const auto pure = accounting::epsilon(accounting::Pld{}, PermuteAndFlip{some}.event(), Delta{0});
  EXPECT_GE(pure.upper, 0.3);
  EXPECT_LE(pure.upper, 0.303);
}

// ---- Hard scores ----------------------------------------------------------------------------------------------------------------

template <class Mechanism>
void expect_to_cope(const Mechanism& make) {
  ReplayBits bits{7};
  const auto chosen = [&](double epsilon, double sensitivity, const std::vector<double>& scores) {
    return make(options(epsilon, sensitivity, ScoreChange::either_way, scores.size())).release(scores, bits);
  };
  EXPECT_EQ(chosen(1, 1, {0, not_a_number, -infinity, -1e300}), 0U);
  EXPECT_EQ(chosen(1, 1, {0, infinity, 1e300}), 1U);
  EXPECT_EQ(chosen(1, 1, {-1e308, 1e308}), 1U);
  EXPECT_EQ(chosen(1, 1, {-infinity, -1e300}), 1U);
  EXPECT_EQ(chosen(5, 5e-324, {0, 1e-300}), 1U);
  EXPECT_EQ(chosen(5, 5e-324, {1e308, -1e308}), 0U);
  EXPECT_EQ(chosen(1e300, 1e-300, {1, 2}), 1U);
  EXPECT_EQ(chosen(1, 1, {not_a_number}), 0U);
  // Equal however they are spelt, or told apart by nothing: either is chosen.
  for (const auto& scores :
       {std::vector<double>{0.0, -0.0}, {infinity, std::numeric_limits<double>::max()}, {not_a_number, -infinity}, {5e-324, 0}}) {
    std::array<int, 2> counts{};
    for (int i = 0; i < 200; ++i) ++counts[chosen(1, 1, scores)];
    EXPECT_GT(counts[0], 50);
    EXPECT_GT(counts[1], 50);
  }
  // epsilon = 0 looks at no score, and a sensitivity beyond reach hardly does.
  for (const auto& [epsilon, sensitivity] : {std::pair{0.0, 1.0}, std::pair{1e-300, 1e300}}) {
    std::array<int, 2> counts{};
    for (int i = 0; i < 200; ++i) ++counts[chosen(epsilon, sensitivity, {0, 1e6})];
    EXPECT_GT(counts[0], 50);
    EXPECT_GT(counts[1], 50);
  }
}

TEST(Selection, CopesWithEveryScore) {
  expect_to_cope([](SelectionOptions o) { return ExponentialMechanism{o}; });
  expect_to_cope([](SelectionOptions o) { return ReportNoisyMax{o, NoiseShape::laplace}; });
  expect_to_cope([](SelectionOptions o) { return ReportNoisyMax{o, NoiseShape::exponential}; });
  expect_to_cope([](SelectionOptions o) { return PermuteAndFlip{o}; });
}

TEST(Selection, ChoosesAmongAMillion) {
  std::vector<double> scores(1'000'000, 5000.0);
  scores[654'321] = 5100;
  ReplayBits bits{8};
  const auto million = options(1, 1, ScoreChange::one_way, scores.size());
  // 100 above in units of b, against the largest of a million noises, which is 14 or so.
  EXPECT_EQ(ExponentialMechanism{million}.release(scores, bits), 654'321U);
  EXPECT_EQ((ReportNoisyMax{million, NoiseShape::laplace}.release(scores, bits)), 654'321U);
  EXPECT_EQ((ReportNoisyMax{million, NoiseShape::exponential}.release(scores, bits)), 654'321U);
  EXPECT_EQ(PermuteAndFlip{million}.release(scores, bits), 654'321U);
}

TEST(Selection, RefusesAnotherNumberOfScores) {
  ReplayBits bits{9};
  const auto three = options(1, 1, ScoreChange::one_way, 3);
  const std::vector<double> two{1, 2};
  const std::string line = "2 scores are given, must be 3, one per candidate";
  EXPECT_TRUE(refusal_of([&] { return ExponentialMechanism{three}.release(two, bits); }).says(ErrorCode::invalid_argument, line));
  EXPECT_TRUE(refusal_of([&] { return PermuteAndFlip{three}.release(two, bits); }).says(ErrorCode::invalid_argument, line));
  EXPECT_TRUE(refusal_of([] { return ScoreSensitivity{0}; }).says(ErrorCode::invalid_argument, "score sensitivity is 0"));
}

}  // namespace
}  // namespace surety::mechanisms::selection_test
