// Rising frequencies against multiples of one frequency, another rule on other nodes; and far out, where the modulus grows in the strip.
#include <surety/accounting/laws/epochs/replaced_frequencies.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>

#include <surety/accounting/laws/epochs/replaced_epoch.h>

namespace surety::accounting::replaced_frequencies_test {
namespace {

constexpr std::size_t many = std::size_t{1} << 13;

TEST(ReplacedFrequencies, AgreeWithMultiplesOfOne) {
  struct Case {
    double rounds;
    double multiplier;
  };
  for (const auto& [rounds, multiplier] : {Case{2, 3}, Case{37, 1.2}, Case{50, 2}, Case{1370, 1}, Case{100, 10}}) {
    const std::array<double, 4> losses{0, 0.3 / multiplier, 1 / multiplier, 2 / multiplier};
    const auto found = ReplacedFrequencies{rounds, multiplier}.beyond(losses, many);
    ASSERT_EQ(found.size(), losses.size());
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const auto truth = replaced_epoch(rounds, multiplier)->beyond(losses[i]);
      // What is left out is stated, and little: p and other are apart by far more.
      EXPECT_LE(std::abs(static_cast<double>(found[i].p) - truth.p), static_cast<double>(found[i].p_error.value()) + truth.p_error)
          << rounds << " " << losses[i];
      EXPECT_LE(std::abs(static_cast<double>(found[i].other) - truth.other),
                static_cast<double>(found[i].other_error.value()) + truth.other_error)
          << rounds << " " << losses[i];
      EXPECT_LT(found[i].p_error.value(), 1e-14L);
      EXPECT_LT(found[i].other_error.value(), 1e-14L);
      EXPECT_GT(found[i].rule.value(), 0);
      EXPECT_GT(found[i].ends.value(), 0);
    }
  }
}

// Of one loss and among others, on other frequencies and other nodes: to within what both state.
TEST(ReplacedFrequencies, GiveEachLossTheSameBesideOthers) {
  const ReplacedFrequencies epoch{22, 0.893};
  const std::array<double, 3> losses{0.5, 3, 7};
  const auto together = epoch.beyond(losses, many);
  ASSERT_EQ(together.size(), losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto alone = epoch.beyond({&losses[i], 1}, many);
    ASSERT_EQ(alone.size(), 1U);
    EXPECT_LE(std::abs(alone[0].p - together[i].p), (alone[0].p_error + together[i].p_error).value()) << losses[i];
    EXPECT_LE(std::abs(alone[0].other - together[i].other), (alone[0].other_error + together[i].other_error).value()) << losses[i];
  }
  EXPECT_LT(together[0].count, 1024U);
}

// Far out next to nothing is left, where the bound on the edges is what makes the step short enough.
TEST(ReplacedFrequencies, LeaveNextToNothingFarOut) {
  const double far = 6.4;
  const auto found = ReplacedFrequencies{22, 0.893}.beyond({&far, 1}, many);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_LE(std::abs(found[0].p - 2.0e-14L), found[0].p_error.value() + 1e-15L);
  EXPECT_TRUE(ReplacedFrequencies(22, 0.893).beyond({&far, 1}, 100).empty());
}

// Lines that are hardly turned, whose roundings are not counted, and lattices of very many nodes: nobody waits for them.
TEST(ReplacedFrequencies, AreOfNoMultiplierThatTheyAreNotFor) {
  const double loss = 0.1;
  for (const double multiplier : {0.01, 0.05, 20.0, 1000.0})
    EXPECT_TRUE(ReplacedFrequencies(5, multiplier).beyond({&loss, 1}, many).empty());
  for (const double multiplier : {0.3, 11.0})
    EXPECT_EQ(ReplacedFrequencies(5, multiplier).beyond({&loss, 1}, many).size(), 1U) << multiplier;
}

}  // namespace
}  // namespace surety::accounting::replaced_frequencies_test
