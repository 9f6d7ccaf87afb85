// What a score may release beside a training: one Gaussian with at least the noise of all that the training spent.
#include <surety/optimizers/doors/score_releaser.h>

#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <utility>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/doors/run.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::score_releaser_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;
const L2Sensitivity sensitivity{0.75};

GridVector zeros(std::size_t size) { return {.grid = {.log2_step = -20}, .steps = std::vector<std::int64_t>(size)}; }
Event gaussian_of(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }

accounting::Reservation reserve(const TemporaryFolder& folder, const Event& event) {
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", event.adjacency());
  return ledger.reserve({.event = event, .not_private = true});
}

bool is_refused(ScoreReleaser& door, const Event& event, ErrorCode code = ErrorCode::internal) {
  return refuses([&] { static_cast<void>(door.release(zeros(2), sensitivity, event)); }, code, {});
}

TEST(LeastScoreMultiplier, IsTheRootOfWhatIsSpentFromAbove) {
  const auto of = [](const Event& event) { return least_score_multiplier(accounting::Releases::of(event)).value().value(); };
  // 1 / 4^2 + 3 / 5^2 + 7 / 10^2 = .2525
  const double found = of(compose({gaussian_of(4), repeat(Count{3}, gaussian_of(5)), repeat(Count{7}, gaussian_of(10))}));
  EXPECT_GE(static_cast<long double>(found) * static_cast<long double>(found) * 0.2525L, 1.0L);
  EXPECT_NEAR(found * std::sqrt(0.2525), 1, 1e-14);
  EXPECT_FALSE(least_score_multiplier(accounting::Releases{adjacency}));
  const auto has_none = [](const Event& event) { return !least_score_multiplier(accounting::Releases::of(event)); };
  EXPECT_TRUE(has_none(laplace(NoiseScale{3}, adjacency)));
  EXPECT_TRUE(has_none(poisson(SamplingRate{0.5}, gaussian(NoiseMultiplier{4}, Adjacency::add_or_remove_one))));
  EXPECT_TRUE(has_none(approx(Epsilon{3}, Delta{0}, adjacency)));
  // What is not Gaussian is left out: what remains is a part of what was released.
  EXPECT_EQ(of(compose({gaussian_of(4), laplace(NoiseScale{3}, adjacency)})), of(gaussian_of(4)));
}

// f^2 / z^2 of a last iterate whose maps attain it.
TEST(LeastScoreMultiplier, OfALastIterateIsTheGaussianThatItCosts) {
  const auto of = [](const Event& event) { return least_score_multiplier(accounting::Releases::of(event)); };
  // f^2 = (1 - c^2) / (1 + c^2) (1 + c) / (1 - c) = (1 + c)^2 / (1 + c^2) at T = 2
  const auto found = of(compose({gaussian_of(4), last_iterate(Count{2}, LipschitzConstant{0.5}, gaussian_of(5))})).value().value();
  const double squared = 1.0 / 16 + 1.8 / 25;
  EXPECT_NEAR(found * std::sqrt(squared), 1, 1e-12);
  EXPECT_GE(found * found * squared, 1 - 1e-15);
  EXPECT_NEAR(of(last_iterate_of_passes(Count{3}, Count{4}, LipschitzConstant{1}, gaussian_of(5))).value().value(), 5 / std::sqrt(1.5),
              1e-12);
  EXPECT_FALSE(of(last_iterate_within(surety::Diameter{2}, Count{9}, LipschitzConstant{1}, gaussian_of(5))));
}

// A Gaussian that keeps (epsilon, delta) itself, and hardly less noise would not.
TEST(LeastScoreMultiplier, OfApproxIsTheGaussianThatKeepsIt) {
  const auto delta_at = [](double noise, double epsilon) {
    return accounting::delta(accounting::ClosedForm{}, gaussian_of(noise), Epsilon{epsilon});
  };
  for (const auto& [epsilon, delta] : {std::pair{0.9, 1e-6}, {0.0, 0.01}, {4.0, 1e-9}}) {
    const auto leaf = approx(Epsilon{epsilon}, Delta{delta}, adjacency);
    const double found = least_score_multiplier(accounting::Releases::of(leaf)).value().value();
    EXPECT_LE(delta_at(found, epsilon).lower, delta);
    EXPECT_GT(delta_at(found * (1 - 1e-9), epsilon).lower, delta);
    // Twice, beside a Gaussian: squares of mu add up.
    const auto all = compose({repeat(Count{2}, leaf), gaussian_of(found)});
    EXPECT_NEAR(least_score_multiplier(accounting::Releases::of(all)).value().value() * std::sqrt(3.0), found, 1e-12 * found);
  }
}

TEST(ScoreReleaser, ReleasesOneScoreOfWhatTheTrainingSpent) {
  const TemporaryFolder folder;
  auto reservation = reserve(folder, repeat(Count{4}, gaussian_of(6)));
  mechanisms::ReplayBits bits{1};
  ScoreReleaser door{reservation, bits};
  static_assert(std::derived_from<ScoreReleaser, Releaser>);
  EXPECT_TRUE(is_refused(door, gaussian_of(1e6)));  // nothing was spent
  NoisyReleaser training{reservation, bits};
  static_cast<void>(training.release(zeros(1), sensitivity, gaussian_of(6)));
  EXPECT_TRUE(is_refused(door, gaussian_of(3)));  // what is planned is not spent
  for (int k = 0; k < 3; ++k) static_cast<void>(training.release(zeros(1), sensitivity, gaussian_of(6)));
  EXPECT_TRUE(is_refused(door, gaussian_of(2.9999999999)));
  EXPECT_TRUE(is_refused(door, gaussian(NoiseMultiplier{4}, Adjacency::zero_out)));
  EXPECT_TRUE(is_refused(door, repeat(Count{1}, gaussian_of(4)), ErrorCode::unsupported));
  const auto spent = reservation.released();
  EXPECT_FALSE(is_refused(door, gaussian_of(3.0000000001)));
  EXPECT_EQ(reservation.released(), spent);        // it charges nothing
  EXPECT_TRUE(is_refused(door, gaussian_of(30)));  // one score
}

}  // namespace
}  // namespace surety::optimizers::score_releaser_test
