#include <surety/mechanisms/additive/discrete_gaussian.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/events/event_kinds.h>

#include <support/additive_checks.h>
#include <support/discrete_laws.h>
#include <support/refusal.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::discrete_gaussian_test {
namespace {

using reference::refusal_of;
using testing::discrete_gaussian_law;
using testing::enumerated_delta;
using testing::enumerated_renyi;
using testing::ScriptedBits;

DiscreteGaussian with(double sigma, std::uint64_t sensitivity) {
  return DiscreteGaussian{
      {.sigma = NoiseScale{sigma}, .sensitivity = CoordinateSensitivity{Count{sensitivity}}, .adjacency = Adjacency::add_or_remove_one}};
}

TEST(DiscreteGaussian, KnowsItsEvent) {
  EXPECT_EQ(with(2.5, 3).event(), discrete_gaussian(NoiseScale{2.5}, Count{3}, Adjacency::add_or_remove_one));
  const DiscreteGaussian vector{{.sigma = NoiseScale{4}, .sensitivity = L2Sensitivity{2}, .adjacency = Adjacency::replace_one}};
  EXPECT_EQ(vector.event(), zcdp(Rho{0.125}, Adjacency::replace_one));
}

// The event's sigma is that of the noise, so what is not representable is rounded up before either is made.
TEST(DiscreteGaussian, EventAndNoiseHaveOneSigma) {
  const auto mechanism = with(0.1, 1);
  EXPECT_EQ(mechanism.sigma(), 214748365 * 0x1p-31);
  EXPECT_EQ(mechanism.event(), discrete_gaussian(NoiseScale{mechanism.sigma()}, Count{1}, Adjacency::add_or_remove_one));
  EXPECT_EQ(mechanism.noise().variance(), (Rational{214748365ULL * 214748365ULL, std::uint64_t{1} << 62}));
}

RC_GTEST_PROP(DiscreteGaussian, SigmaIsRoundedUpToAnExactSquareRoot, ()) {
  const double wanted = std::exp(*rc::gen::inRange(-6'900, 22'000) / 1000.0);
  const double sigma = DiscreteGaussian::sigma_for(NoiseScale{wanted}).value();
  RC_ASSERT(sigma >= wanted);
  RC_ASSERT(sigma < wanted + 0x1p-31 * std::max(1.0, wanted));
  RC_ASSERT(DiscreteGaussian::sigma_for(NoiseScale{sigma}).value() == sigma);
}

TEST(DiscreteGaussian, TheVarianceOfTheNoiseIsTheSquareExactly) {
  for (const double wanted : {0x1p-10, 0.7, 1.0, 3.3, 1e3, 12345.678, 0x1p31, 0x1p32 - 1}) {
    const auto mechanism = with(wanted, 1);
    const auto variance = mechanism.noise().variance();
    const reference::Real sigma{mechanism.sigma()};
    const reference::Real num =
        reference::Real{static_cast<double>(variance.num >> 32)} * 0x1p32 + static_cast<double>(variance.num & 0xffffffff);
    const reference::Real difference = num - sigma * sigma * static_cast<double>(variance.den);  // den is a power of two
    EXPECT_EQ(difference.nearest_double(), 0) << wanted;
  }
}

TEST(DiscreteGaussian, RefusesWhatIsOutOfRange) {
  for (const double sigma : {0x1p-11, 0x1p32}) {
    EXPECT_TRUE(
        refusal_of([&] { return with(sigma, 1); }).says(ErrorCode::invalid_argument, "integer steps, must be from 2^-10 to 2^32 - 1"))
        << sigma;
  }
  const auto infinite_rho = [] {
    return DiscreteGaussian{{.sigma = NoiseScale{1}, .sensitivity = L2Sensitivity{1e200}, .adjacency = Adjacency::zero_out}};
  };
  EXPECT_TRUE(refusal_of(infinite_rho).says(ErrorCode::invalid_argument, "rho is inf, must be finite"));
}

// The binding to 2^-63: a release changes its mind where the law that the *event* names has its thresholds.
TEST(DiscreteGaussian, DrawsFromTheLawThatItsEventNames) {
  for (const double wanted : {0.6, 1.0, 3.3, 3.9}) {
    const auto mechanism = with(wanted, 2);
    const auto& event = std::get<Event::DiscreteGaussian>(mechanism.event().node());
    const auto law = discrete_gaussian_law(event.sigma.value());
    SCOPED_TRACE(wanted);
    for (const std::int64_t j : {1, 2, 3}) expect_threshold(mechanism, j, testing::binary_digits(law.beyond(j), 63));
  }
}

struct Claim {
  double lower;
  double upper;
};
Claim claimed(const Event& event, double epsilon) {
  const auto delta = accounting::delta(accounting::Pld{}, event, Epsilon{epsilon});
  return {delta.lower, delta.upper};
}

// What a release costs, from the law's probabilities on neighbouring inputs, against what the accountant says of the event.
TEST(DiscreteGaussian, CostsWhatItsEventSays) {
  for (const auto& [sigma, s] : {std::pair{0.8, 1U}, {3.0, 1U}, {3.3, 2U}, {10.0, 7U}}) {
    const auto mechanism = with(sigma, s);
    const auto law = discrete_gaussian_law(mechanism.sigma());
    for (const double epsilon : {0.0, 0.1, 0.7, 2.0}) {
      double worst = 0;
      for (std::int64_t shift = 1; shift <= static_cast<std::int64_t>(s); ++shift)
        worst = std::max(worst, enumerated_delta(law, shift, epsilon));
      if (worst < 1e-9) continue;
      const auto [lower, upper] = claimed(mechanism.event(), epsilon);
      EXPECT_GE(upper, worst) << sigma << " " << s << " at " << epsilon;
      EXPECT_LE(upper, 1.01 * worst) << sigma << " " << s << " at " << epsilon;
      // A map that is off: sigma taken for sigma^2, in units of the sensitivity, or a sensitivity that is one more.
      EXPECT_GT(claimed(with(sigma, s + 1).event(), epsilon).lower, worst);
      EXPECT_LT(claimed(with(1.02 * sigma, s).event(), epsilon).upper, worst);
    }
  }
}

// A vector: divergences of the coordinates add up. At whole orders a move along an axis attains the bound.
TEST(DiscreteGaussian, AVectorCostsAtMostItsRho) {
  const DiscreteGaussian mechanism{{.sigma = NoiseScale{3}, .sensitivity = L2Sensitivity{5}, .adjacency = Adjacency::zero_out}};
  const double rho = std::get<Event::Concentrated>(mechanism.event().node()).rho.value();
  const auto law = discrete_gaussian_law(mechanism.sigma());
  for (const double order : {1.1, 1.5, 2.0, 3.0, 4.5}) {
    const auto of = [&](std::int64_t shift) { return enumerated_renyi(law, shift, order); };
    for (const double divergence : {of(5), of(3) + of(4), of(4) + 2 * of(2) + of(1)}) {
      EXPECT_LE(divergence, order * rho * (1 + 1e-12)) << order;
      EXPECT_GE(divergence, 0.99 * order * rho) << order;
    }
  }
}

TEST(DiscreteGaussian, RoundsRhoUp) {
  const DiscreteGaussian mechanism{{.sigma = NoiseScale{3}, .sensitivity = L2Sensitivity{1}, .adjacency = Adjacency::zero_out}};
  const double rho = std::get<Event::Concentrated>(mechanism.event().node()).rho.value();
  EXPECT_GE(rho * 18, 1);
  EXPECT_GT(reference::Real{rho} * 18, 1.0);
  EXPECT_LT(reference::Real{std::nextafter(rho, 0)} * 18, 1.0);
}

TEST(DiscreteGaussian, ReleasesTheQueryPlusItsNoise) { expect_the_query_plus_its_noise(with(300, 1)); }

RC_GTEST_PROP(DiscreteGaussian, ShiftingTheQueryShiftsTheRelease, (std::int32_t shift, std::uint64_t seed)) {
  static const auto mechanism = with(5.1, 1);
  ReplayBits bits{seed};
  ReplayBits same{seed};
  RC_ASSERT(mechanism.release(shift, bits) - mechanism.release(0, same) == shift);
}

TEST(DiscreteGaussian, ClampsAsAFunctionOfTheSum) {
  const auto mechanism = with(1, 1);
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
  const auto release = [&](std::int64_t query) {
    ScriptedBits bits{{std::uint64_t{1} << 62, 0}};  // T = 1/4, positive: 1
    return mechanism.release(query, bits);
  };
  EXPECT_EQ(release(largest_sum - 3), largest_sum - 2);
  EXPECT_EQ(release(largest_sum - 2), largest_sum - 1);
  EXPECT_EQ(release(largest_sum - 1), largest_sum - 1);
  EXPECT_EQ(release(greatest), largest_sum - 1);
  EXPECT_EQ(release(least), release(-largest_sum));
  EXPECT_EQ(release(least), -largest_sum + 1);
  std::vector<std::int64_t> extremes{least, greatest};
  ScriptedBits bits{testing::block_of_trials({std::uint64_t{1} << 62})};
  mechanism.release_in_place(extremes, bits);
  EXPECT_EQ(extremes, (std::vector<std::int64_t>{-largest_sum + 1, largest_sum - 1}));
}

TEST(DiscreteGaussian, TakesEmptyVectors) {
  ReplayBits bits{1};
  EXPECT_TRUE(with(1, 1).release(std::vector<std::int64_t>{}, bits).empty());
}

}  // namespace
}  // namespace surety::mechanisms::discrete_gaussian_test
