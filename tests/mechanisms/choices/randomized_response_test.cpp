// n = 262,144 answers per category, seed 20261121; exact binomial tails, false alarm 1e-10 (exact_counts.h).
#include <surety/mechanisms/choices/randomized_response.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/events/event_kinds.h>

#include <support/exact_counts.h>
#include <support/real.h>
#include <support/refusal.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::randomized_response_test {
namespace {

using reference::Real;
using reference::refusal_of;
using testing::ScriptedBits;

constexpr std::uint64_t seed = 20261121;
constexpr std::uint64_t one_eighth = std::uint64_t{1} << 61;

std::uint64_t answer(const RandomizedResponse& mechanism, std::uint64_t own, std::vector<std::uint64_t> words) {
  ScriptedBits bits{std::move(words)};
  const auto result = mechanism.release(own, bits);
  EXPECT_EQ(bits.used(), 2U);  // the same number whatever is said
  return result;
}

TEST(RandomizedResponse, IsExact) {
  // The coin's threshold is at 3/8 to the last bit, and what is said instead runs over the others in order.
  for (const auto& mechanism : {RandomizedResponse{Probability{0.375}, Count{4}, Adjacency::replace_one},
                                RandomizedResponse{Ratio{6, 16}, Count{4}, Adjacency::replace_one}}) {
    for (std::uint64_t own = 0; own < 4; ++own) {
      EXPECT_EQ(answer(mechanism, own, {3 * one_eighth - 1, 2}), own);
      std::vector<std::uint64_t> said;
      for (std::uint64_t word = 0; word < 3; ++word) said.push_back(answer(mechanism, own, {3 * one_eighth, word}));
      std::vector<std::uint64_t> others{0, 1, 2, 3};
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(own));
      EXPECT_EQ(said, others);
    }
  }
  const RandomizedResponse third{Ratio{1, 3}, Count{2}, Adjacency::zero_out};
  ScriptedBits bits{{0x5555555555555555, 0x5555555555555555, 0x5555555555555556, 0}};
  EXPECT_EQ(third.release(1, bits), 0U);
  EXPECT_EQ(bits.used(), 4U);
}

TEST(RandomizedResponse, HasItsLaw) {
  const RandomizedResponse mechanism{Probability{0.4}, Count{4}, Adjacency::replace_one};
  for (std::uint64_t own = 0; own < 4; ++own) {
    auto bits = ReplayBits{seed}.substream(own);
    std::vector<std::int64_t> counts(4);
    for (const auto said : mechanism.release(std::vector<std::uint64_t>(1 << 18, own), bits)) ++counts[said];
    const auto law = [own](double p) {
      std::vector<double> result(4, (1 - p) / 3);
      result[own] = p;
      return result;
    };
    EXPECT_TRUE(testing::counts_fit(counts, law(0.4)));
    EXPECT_FALSE(testing::counts_fit(counts, law(0.41)));
    EXPECT_FALSE(testing::counts_fit(counts, law(0.25 + 0.75 * 0.4)));  // a lie that may be the truth after all
  }
}

TEST(RandomizedResponse, LosesWhatItsEventSays) {
  for (const auto& [p, k] : std::vector<std::pair<double, std::uint64_t>>{{0.75, 2}, {0.5, 10}, {0.05, 3}, {0.999, 10}, {0.2, 2}}) {
    const RandomizedResponse mechanism{Probability{p}, Count{k}, Adjacency::replace_one};
    // Of all answers and all pairs of records the largest log-ratio is that of the own category, |log(p / q)|.
    const Real q = (1 - Real{p}) / static_cast<double>(k - 1);
    const double loss = std::abs(log(Real{p} / q).nearest_double());
    const auto claimed = accounting::epsilon(accounting::Pld{}, mechanism.event(), Delta{0});
    EXPECT_GE(claimed.upper, loss * (1 - 1e-15));
    EXPECT_LE(claimed.upper, loss * 1.01);
    // The bug in question: as if the lie were drawn from all k.
    const double wrong =
        std::abs(log((p + (1 - Real{p}) / static_cast<double>(k)) / ((1 - Real{p}) / static_cast<double>(k))).nearest_double());
    EXPECT_GT(std::abs(wrong / loss - 1), 0.01) << p;
  }
}

TEST(RandomizedResponse, RoundsARatioTowardMoreLoss) {
  const auto claimed = [](std::uint64_t a, std::uint64_t b, std::uint64_t k) {
    const RandomizedResponse mechanism{Ratio{a, b}, Count{k}, Adjacency::replace_one};
    return std::get<Event::RandomizedResponse>(mechanism.event().node()).truth.value();
  };
  for (std::uint64_t b = 3; b < 40; ++b) {
    for (std::uint64_t a = 1; a < b; ++a) {
      const Real exact = Real{static_cast<double>(a)} / static_cast<double>(b);
      const double nearest = static_cast<double>(a) / static_cast<double>(b);
      const double said = claimed(a, b, 3);
      EXPECT_TRUE(3 * a > b ? Real{said} >= exact : Real{said} <= exact) << a << "/" << b;
      EXPECT_NEAR(said, nearest, 2e-16);
    }
  }
}

TEST(RandomizedResponse, TruthForEpsilonIsTheLargestThatKeepsIt) {
  for (const double epsilon : {1e-6, 0.1, 1.0, 10.0, 36.0}) {
    for (const std::uint64_t k : {2U, 3U, 100U}) {
      const double p = RandomizedResponse::truth_for(Epsilon{epsilon}, Count{k}).value();
      const auto loss = [k](double truth) { return log(Real{truth} * static_cast<double>(k - 1) / (1 - Real{truth})); };
      EXPECT_TRUE(loss(p) <= epsilon) << epsilon << " " << k;
      EXPECT_TRUE(loss(std::nextafter(p, 1)) > epsilon) << epsilon << " " << k;
    }
  }
  EXPECT_EQ(RandomizedResponse::truth_for(Epsilon{1000}, Count{2}).value(), 1 - 0x1p-53);
  EXPECT_EQ(RandomizedResponse::truth_for(Epsilon{0}, Count{4}).value(), 0.25);
  EXPECT_TRUE(
      refusal_of([] { return RandomizedResponse::truth_for(Epsilon{0}, Count{3}); }).says(ErrorCode::invalid_argument, "epsilon is 0"));
  EXPECT_TRUE(
      refusal_of([] { return RandomizedResponse::truth_for(Epsilon{1}, Count{1}); }).says(ErrorCode::invalid_argument, "categories"));
}

// All 3^5 answers of five records, with their probabilities: mean and variance of the estimates.
TEST(RandomizedResponse, FrequenciesAreUnbiasedWithTheStatedVariance) {
  const std::vector<std::uint64_t> records{0, 0, 1, 2, 2};
  const std::vector<double> fractions{0.4, 0.2, 0.4};
  const double p = 0.7;
  const double q = 0.15;
  const RandomizedResponse mechanism{Probability{p}, Count{3}, Adjacency::replace_one};
  std::vector<double> mean(3);
  std::vector<double> square(3);
  for (int code = 0; code < 243; ++code) {
    std::vector<std::uint64_t> counts(3);
    double probability = 1;
    int rest = code;
    for (const auto own : records) {
      const auto said = static_cast<std::size_t>(rest % 3);
      rest /= 3;
      ++counts[said];
      probability *= said == own ? p : q;
    }
    const auto estimates = mechanism.frequencies(counts);
    for (std::size_t j = 0; j < 3; ++j) {
      mean[j] += probability * estimates[j].value;
      square[j] += probability * estimates[j].value * estimates[j].value;
    }
  }
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_NEAR(mean[j], fractions[j], 1e-14);
    const double variance = (fractions[j] * p * (1 - p) + (1 - fractions[j]) * q * (1 - q)) / (5 * (p - q) * (p - q));
    EXPECT_NEAR(square[j] - mean[j] * mean[j], variance, 1e-14);
  }
  // Counts as they are expected for f = 0.2 of 2000: 0.15 + 0.55 x 0.2 = 0.26.
  const auto expected = mechanism.frequencies(std::vector<std::uint64_t>{520, 740, 740});
  EXPECT_NEAR(expected[0].value, 0.2, 1e-14);
  EXPECT_NEAR(expected[0].standard_error, std::sqrt((0.2 * 0.21 + 0.8 * 0.1275) / 2000) / 0.55, 1e-15);
}

TEST(RandomizedResponse, TakesEveryRecordAndRefusesBadParameters) {
  const RandomizedResponse mechanism{Probability{0.75}, Count{3}, Adjacency::replace_one};
  EXPECT_EQ(answer(mechanism, ~std::uint64_t{0}, {0, 0}), 2U);
  const auto refused = [](auto call, const std::string& part) { EXPECT_TRUE(refusal_of(call).says(ErrorCode::invalid_argument, part)); };
  refused([] { return RandomizedResponse{Probability{0.5}, Count{1}, Adjacency::replace_one}; }, "categories");
  refused([] { return RandomizedResponse{Probability{0.5}, Count{2}, Adjacency::add_or_remove_one}; }, "add-or-remove-one");
  refused([] { return Ratio{0, 3}; }, "ratio is 0 / 3");
  refused([] { return Ratio{3, 3}; }, "ratio is 3 / 3");
  refused([&] { return mechanism.frequencies(std::vector<std::uint64_t>{1, 2}); }, "2 counts are given, must be 3");
  refused([&] { return mechanism.frequencies(std::vector<std::uint64_t>{0, 0, 0}); }, "no answer");
  refused(
      [] {
        return RandomizedResponse{Probability{0.25}, Count{4}, Adjacency::replace_one}.frequencies(std::vector<std::uint64_t>{1, 2, 3, 4});
      },
      "tell nothing");
}

}  // namespace
}  // namespace surety::mechanisms::randomized_response_test
