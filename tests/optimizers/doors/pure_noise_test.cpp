#include <surety/optimizers/doors/pure_noise.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/doors/vector_releaser.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::pure_noise_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;
const L2Sensitivity sensitivity{0.75};

GridVector zeros(std::size_t size) { return {.grid = {.log2_step = -20}, .steps = std::vector<std::int64_t>(size)}; }

accounting::Reservation reserve(const TemporaryFolder& folder, const Event& event) {
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", adjacency);
  return ledger.reserve({.event = event, .not_private = true});
}

double squared_norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

/// Keeps which event was requested last.
struct Asked final : Releaser {
  std::vector<Event> events = {};
  std::vector<double> release(const GridVector& query, L2Sensitivity /*sensitivity*/, const Event& event) override {
    events.push_back(event);
    return std::vector<double>(query.steps.size());
  }
};

TEST(PureRelease, IsPureAndAsLongAsGaussianNoiseOfItsMultiplier) {
  const PureRelease one{.scale = NoiseScale{4}, .numbers = 8};
  EXPECT_EQ(one.event(adjacency), pure(Epsilon{0.25}, adjacency));
  EXPECT_EQ(one.multiplier().value(), 12);
}

TEST(PureRelease, HasTheMeanSquaredLengthThatItStates) {
  constexpr std::uint64_t draws = 20'000;
  for (const std::size_t numbers : {1U, 3U, 10U}) {
    const PureRelease planned{.scale = NoiseScale{4}, .numbers = numbers};
    const TemporaryFolder folder;
    auto reservation = reserve(folder, repeat(Count{draws}, planned.event(adjacency)));
    mechanisms::ReplayBits bits{numbers};
    NoisyVectorReleaser releaser{reservation, bits};
    double sum = 0;
    double first_above = 0;
    for (std::uint64_t k = 0; k < draws; ++k) {
      const auto noise = releaser.release(zeros(numbers), sensitivity, planned.event(adjacency));
      sum += squared_norm(noise);
      first_above += noise[0] > 0 ? 1 : 0;
    }
    // ||X||^2 of shape D has the mean D (D + 1) and the mean square D (D + 1) (D + 2) (D + 3), in units of (b s)^2: six standard deviations.
    const auto d = static_cast<double>(numbers);
    const double deviation = std::sqrt(((d + 2) * (d + 3) / (d * (d + 1)) - 1) / draws);
    const double expected = d * std::pow(planned.multiplier().value() * sensitivity.value(), 2);
    EXPECT_NEAR(sum / draws / expected, 1, 6 * deviation) << numbers;
    EXPECT_NEAR(first_above / draws, 0.5, 6 * 0.5 / std::sqrt(draws)) << numbers;
    EXPECT_TRUE(refuses([&] { static_cast<void>(releaser.release(zeros(numbers), sensitivity, planned.event(adjacency))); },
                        ErrorCode::budget_exceeded, {}));
  }
}

TEST(PureReleaser, RequestsThePlannedEventOfEachGaussianOne) {
  const PureRelease matrix{.scale = NoiseScale{2}, .numbers = 9};
  const PureRelease gradient{.scale = NoiseScale{8}, .numbers = 3};
  Asked inner;
  PureReleaser releaser{inner, adjacency, {matrix, gradient}};
  const auto ask = [&](const PureRelease& one, std::size_t numbers) {
    return releaser.release(zeros(numbers), sensitivity, gaussian(one.multiplier(), adjacency));
  };
  static_cast<void>(ask(gradient, 3));
  static_cast<void>(ask(matrix, 9));
  EXPECT_EQ(inner.events, (std::vector<Event>{pure(Epsilon{0.125}, adjacency), pure(Epsilon{0.5}, adjacency)}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(ask(matrix, 3)); }, ErrorCode::unsupported, {"in dimension 3"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(releaser.release(zeros(3), sensitivity, gaussian(NoiseMultiplier{1}, adjacency))); },
                      ErrorCode::unsupported, {}));
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(releaser.release(zeros(3), sensitivity, gradient.event(adjacency))); }, ErrorCode::unsupported, {}));
  EXPECT_EQ(inner.events.size(), 2U);
}

TEST(NoisyVectorReleaser, RefusesEventsThatItsNoiseDoesNotKeep) {
  const TemporaryFolder folder;
  const Event none = pure(Epsilon{0}, adjacency);
  const Event line = laplace(NoiseScale{2}, adjacency);
  auto reservation = reserve(folder, compose({none, line}));
  mechanisms::ReplayBits bits{3};
  NoisyVectorReleaser releaser{reservation, bits};
  const auto refused = [&](const Event& event, std::size_t numbers) {
    return refuses([&] { static_cast<void>(releaser.release(zeros(numbers), sensitivity, event)); }, ErrorCode::unsupported, {});
  };
  EXPECT_TRUE(refused(none, 1));
  EXPECT_TRUE(refused(line, 2)) << "noise in l2 of two numbers is longer than two Laplace numbers for one sensitivity";
  EXPECT_TRUE(refused(pure(Epsilon{1e-310}, adjacency), 1));
  EXPECT_EQ(releaser.release(zeros(1), sensitivity, line).size(), 1U);
}

}  // namespace
}  // namespace surety::optimizers::pure_noise_test
