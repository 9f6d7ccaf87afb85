#include <surety/optimizers/doors/selector.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>

#include <support/ledger_test.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::selector_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;
const Event exponential = surety::exponential(Epsilon{0.5}, adjacency);
const Event pure = surety::pure(Epsilon{0.5}, adjacency);
constexpr std::array scores{1.0, 3.0, 2.0};

class NoisySelectorTest : public surety::testing::LedgerTest {};

std::uint64_t first_word() {
  mechanisms::ReplayBits bits{1};
  return mechanisms::draw_word(bits);
}

TEST_F(NoisySelectorTest, SpendsWhatItChooses) {
  auto reservation = reserve(compose({exponential, pure}));
  NoisySelector selector{reservation, bits_};
  EXPECT_LT(selector.select(scores, ScoreSensitivity{1}, ScoreChange::range, exponential), 3U);
  EXPECT_EQ(reservation.released().event(), exponential);
  EXPECT_LT(selector.select(scores, ScoreSensitivity{1}, ScoreChange::range, pure), 3U);
  EXPECT_TRUE(reservation.released() == accounting::Releases::of(compose({exponential, pure})));
}

TEST_F(NoisySelectorTest, DrawsNothingThatIsNotReserved) {
  auto reservation = reserve(pure);
  NoisySelector selector{reservation, bits_};
  EXPECT_THROW(static_cast<void>(selector.select(scores, ScoreSensitivity{1}, ScoreChange::range, exponential)), Error);
  EXPECT_TRUE(refuses(
      [&] { static_cast<void>(selector.select(scores, ScoreSensitivity{1}, ScoreChange::range, gaussian(NoiseMultiplier{1}, adjacency))); },
      ErrorCode::unsupported, {"no mechanism selects", "gaussian(1)"}));
  EXPECT_EQ(mechanisms::draw_word(bits_), first_word());
}

// P(the best) = 1 / (1 + e^-eps/r + e^-2eps/r) for the exponential mechanism, r the range: 20,000 choices, false alarm 2e-9 (6 deviations).
TEST_F(NoisySelectorTest, ChoosesByTheEventsEpsilonAndTheSensitivity) {
  constexpr int choices = 20'000;
  auto reservation = reserve(repeat(Count{choices}, exponential));
  NoisySelector selector{reservation, bits_};
  int best = 0;
  for (int i = 0; i < choices; ++i) best += selector.select(scores, ScoreSensitivity{0.25}, ScoreChange::range, exponential) == 1 ? 1 : 0;
  const double expected = choices / (1 + std::exp(-2.0) + std::exp(-4.0));
  EXPECT_NEAR(best, expected, 6 * std::sqrt(expected * (1 - expected / choices)));
}

}  // namespace
}  // namespace surety::optimizers::selector_test
