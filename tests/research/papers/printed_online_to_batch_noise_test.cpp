#include <surety/research/papers/printed_online_to_batch_noise.h>

#include <gtest/gtest.h>

#include <cmath>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/continual.h>

#include <support/refusal.h>

namespace surety::papers::printed_online_to_batch_noise_test {
namespace {

TEST(PrintedOnlineToBatchNoise, CostsLessThanItSaysForSmallDelta) {
  const auto noise = printed_noise(Count{10'000}, {Epsilon{1}, Delta{1e-6}, Adjacency::replace_one});
  EXPECT_LT(noise.epsilon.upper, 0.6);
  EXPECT_GT(noise.epsilon.lower, 0.4);
}

TEST(PrintedOnlineToBatchNoise, IsRefusedWhereTheConversionPointsTheWrongWay) {
  // rho = 10 at delta = 1e-5 >= exp(-100), as printed: 2 rho sqrt(log(1/delta)) = 67.9, really 91.8; at 67.9 the delta is 0.03.
  const double claimed = 20 * std::sqrt(-std::log(1e-5));
  EXPECT_NEAR(claimed, 67.9, 0.05);
  const Event event = gaussian(NoiseMultiplier{0.1}, Adjacency::replace_one);  // mu = 10, what a tree of 2^n steps costs for this rho
  EXPECT_NEAR(accounting::delta(accounting::ClosedForm{}, event, Epsilon{claimed}).lower, 0.03, 0.005);
  EXPECT_TRUE(refuses(
      [&] {
        static_cast<void>(printed_noise(Count{1024}, {Epsilon{claimed}, Delta{1e-5}, Adjacency::replace_one}));
      },
      ErrorCode::unsupported, {"costs epsilon = 91.8"}));
  EXPECT_TRUE(refuses(
      [&] {
        static_cast<void>(printed_noise(Count{10}, {Epsilon{1}, Delta{1e-5}, Adjacency::zero_out}));
      },
      ErrorCode::unsupported, {"must be replace-one"}));
}

TEST(PrintedOnlineToBatchNoise, IsRefusedInThePureVariant) {
  // 14 nodes at a scale of sqrt(log2(2e4)) / epsilon.
  EXPECT_TRUE(refuses([] { static_cast<void>(printed_pure_noise(Count{10'000}, Count{10}, Epsilon{1}, Adjacency::replace_one)); },
                      ErrorCode::unsupported, {"costs epsilon = 3.7", "in 14"}));
  EXPECT_NEAR(printed_pure_noise(Count{1}, Count{10}, Epsilon{1}, Adjacency::replace_one).epsilon.upper, 1, 1e-9);
  const Event enough = accounting::tree(
      Count{10'000}, k_norm(NormName::l2, Count{10}, accounting::tree_noise_scale(Count{10'000}, Epsilon{1}), Adjacency::replace_one));
  EXPECT_NEAR(accounting::best_epsilon(enough, Delta{0}).value.upper, 1, 1e-12);
}

}  // namespace
}  // namespace surety::papers::printed_online_to_batch_noise_test
