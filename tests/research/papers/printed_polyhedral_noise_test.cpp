#include <surety/research/papers/printed_polyhedral_noise.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/interval.h>
#include <surety/optimizers/bandits/polyhedral_bandit.h>

#include <support/refusal.h>

namespace surety::papers::printed_polyhedral_noise_test {
namespace {

// sum epsilon_t^2 / 2 = epsilon^2 / (8 log n log(1/delta)) sum t / (t + 1)^2, with t the first of its octave: private, and wasteful.
TEST(PrintedPolyhedralNoise, CostsHalfOfItsClaim) {
  const optimizers::PolyhedralBanditOptions settings{.arm = {.steps = Count{10'000},
                                                             .noise_multiplier = printed_multiplier(Count{10'000}, Epsilon{1}, Delta{1e-4}),
                                                             .clip = optimizers::LinfClip{0.2},
                                                             .step_scale = optimizers::StepScaleFactor{1.3},
                                                             .laplace = true},
                                                     .arms = Count{1},
                                                     .warm_up = Count{1}};
  double sum = 0;
  for (std::uint64_t t = 1; t <= 10'000; ++t) {
    const auto first = std::exp2(std::floor(std::log2(static_cast<double>(t))));
    sum += first / ((first + 1) * (first + 1));
  }
  const double rho = sum / (8 * std::log(1e4) * std::log(1e4));
  EXPECT_NEAR(accounting::zcdp_rho(plan(settings), 128).enclosure().upper, rho, 1e-12 * rho);
  const double spent = accounting::epsilon(accounting::Zcdp{}, plan(settings), Delta{1e-4}).upper;
  EXPECT_LT(spent, 0.7);
  EXPECT_GT(spent, 0.4);
  RecordProperty("epsilon_of_printed_noise", std::to_string(spent));
  EXPECT_TRUE(refuses([] { static_cast<void>(printed_multiplier(Count{10}, Epsilon{1}, Delta{0})); }, ErrorCode::invalid_argument,
                      {"printed noise"}));
}

}  // namespace
}  // namespace surety::papers::printed_polyhedral_noise_test
