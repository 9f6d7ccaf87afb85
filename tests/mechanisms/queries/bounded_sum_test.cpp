#include <surety/mechanisms/queries/bounded_sum.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/lp_noise.h>

#include <support/refusal.h>

namespace surety::mechanisms::bounded_sum_test {
namespace {

using reference::refusal_of;

constexpr double infinity = std::numeric_limits<double>::infinity();
const std::vector<double> hard_values{-infinity, -1e308, -7.3, -2.5, -1, -0.3, -5e-324, -0.0,     0,           5e-324,
                                      0.124,     0.126,  1,    3.99, 4,  4.01, 1e300,   infinity, std::nan("")};

const std::vector<Bounds> all_bounds{{-2.5, 4}, {1, 4}, {-4, -1}, {0, 0.3}, {-0.45, 0.95}, {-0.3, 1e-300}, {-1e-300, 2.2}};

std::int64_t steps_of(const BoundedSum& sum) { return sum.sum().steps.at(0); }

// All pairs of neighbours over the hard values: no difference exceeds the sensitivity, and one attains it.
TEST(BoundedSum, HasExactlyItsSensitivity) {
  const Grid grid{-2};
  for (const auto& bounds : all_bounds) {
    const auto contribution = [&](double value) {
      BoundedSum sum{bounds, grid};
      sum.add(value);
      return static_cast<double>(steps_of(sum)) * grid.step();
    };
    double replaced = 0;
    double added = 0;
    for (const double one : hard_values) {
      const double value = contribution(one);
      EXPECT_GE(value, bounds.lower());
      EXPECT_LE(value, bounds.upper());
      added = std::max(added, std::abs(value));
      for (const double other : hard_values) replaced = std::max(replaced, std::abs(value - contribution(other)));
    }
    const BoundedSum sum{bounds, grid};
    EXPECT_EQ(sum.sensitivity(Adjacency::replace_one), replaced);
    EXPECT_EQ(sum.sensitivity(Adjacency::add_or_remove_one), added);
    EXPECT_EQ(sum.sensitivity(Adjacency::zero_out), added);
    EXPECT_LE(replaced, bounds.upper() - bounds.lower());
    EXPECT_EQ(sum.l1_sensitivity(Adjacency::replace_one).value(), replaced);
    EXPECT_EQ(sum.l2_sensitivity(Adjacency::zero_out).value(), added);
  }
}

RC_GTEST_PROP(BoundedSum, DoesNotDependOnTheOrder, ()) {
  auto values = *rc::gen::container<std::vector<double>>(rc::gen::oneOf(rc::gen::elementOf(hard_values), rc::gen::arbitrary<double>()));
  BoundedSum one{{-3, 1e5}, Grid{-20}};
  BoundedSum other{{-3, 1e5}, Grid{-20}};
  BoundedMean mean{{-3, 1e5}, Grid{-20}, Adjacency::replace_one};
  BoundedMean other_mean{{-3, 1e5}, Grid{-20}, Adjacency::replace_one};
  one.add(values);
  mean.add(values);
  const auto by = *rc::gen::inRange<std::size_t>(0, values.size() + 1);
  std::rotate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(by), values.end());
  other.add(values);
  other_mean.add(values);
  RC_ASSERT(one.sum() == other.sum());
  RC_ASSERT(mean.centred_sum() == other_mean.centred_sum());
}

// What the integers are for: near 2^53 a sum in double moves by 2 when one record of [0, 1] moves by 1.
TEST(BoundedSum, KeepsTheSensitivityThatFloatingPointLoses) {
  const auto floating = [](double first, double last) {
    double sum = 0x1p53 + first;  // as if so many records had been summed
    sum += 1;
    sum += last;
    return sum;
  };
  EXPECT_GT(floating(0, 1 + 1e-15) - floating(0, 0.0), 1.5);
  BoundedSum one{{0, 1}, Grid{-30}};
  BoundedSum other{{0, 1}, Grid{-30}};
  for (int i = 0; i < 1000; ++i) one.add(0.1), other.add(0.1);
  one.add(1 + 1e-15);
  other.add(0);
  EXPECT_EQ(static_cast<double>(steps_of(one) - steps_of(other)) * 0x1p-30, one.sensitivity(Adjacency::replace_one));
}

TEST(BoundedSum, RoundsToNearestWithinTheBounds) {
  const auto steps = [](const Bounds& bounds, double value) {
    BoundedSum sum{bounds, Grid{0}};
    sum.add(value);
    return steps_of(sum);
  };
  EXPECT_EQ(steps({0, 10}, 3.4), 3);
  EXPECT_EQ(steps({0, 10}, 3.6), 4);
  EXPECT_EQ(steps({0, 3.9}, 3.8), 3);  // 4 lies beyond the bound
  EXPECT_EQ(steps({-1.5, 9}, -1.4), -1);
  EXPECT_EQ(steps({2, 9}, std::nan("")), 2);
  EXPECT_EQ(steps({-2, 9}, std::nan("")), 0);
  EXPECT_EQ(steps({-9, -2}, std::nan("")), -2);
}

// The same for the centred sum and the count of a mean.
TEST(BoundedMean, HasExactlyItsSensitivity) {
  const Grid grid{-2};
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_or_remove_one, Adjacency::zero_out}) {
    for (const auto& bounds : all_bounds) {
      const auto contribution = [&](double value) {
        BoundedMean mean{bounds, grid, adjacency};
        mean.add(value);
        EXPECT_EQ(mean.private_count(), (GridVector{Grid{0}, {1}}));
        return static_cast<double>(mean.centred_sum().steps.at(0)) * grid.step();
      };
      EXPECT_EQ(contribution(std::nan("")), 0);
      double largest = 0;
      for (const double one : hard_values) {
        if (adjacency != Adjacency::replace_one) largest = std::max(largest, std::abs(contribution(one)));
        for (const double other : hard_values) {
          if (adjacency == Adjacency::replace_one) largest = std::max(largest, std::abs(contribution(one) - contribution(other)));
        }
      }
      const BoundedMean mean{bounds, grid, adjacency};
      EXPECT_EQ(mean.sensitivity(), largest);
      EXPECT_EQ(mean.l1_sensitivity().value(), largest);
      EXPECT_EQ(mean.l2_sensitivity().value(), largest);
      EXPECT_GE(mean.centre(), bounds.lower());
      EXPECT_LE(mean.centre(), bounds.upper());
    }
  }
}

TEST(BoundedMean, EstimatesTheMean) {
  BoundedMean mean{{0, 100}, Grid{-10}, Adjacency::replace_one};
  mean.add(std::vector<double>{10, 20, 60, 250});
  EXPECT_EQ(mean.public_count(), 4U);
  EXPECT_EQ(mean.centre(), 50);
  const double sum = to_reals(mean.centred_sum())[0];
  EXPECT_EQ(mean.estimate(sum, 4), 47.5);
  EXPECT_EQ(mean.estimate(1e9, 4), 100);
  EXPECT_EQ(mean.estimate(-1e9, 4), 0);
  EXPECT_EQ(mean.estimate(sum, -3), 40);  // a noisy count below 1
  EXPECT_EQ(mean.estimate(std::nan(""), 0), 50);
}

TEST(BoundedMean, GoesWithAnyMechanism) {
  ReplayBits bits{20261121};
  BoundedMean mean{{18, 90}, Grid{-20}, Adjacency::add_or_remove_one};
  for (int i = 0; i < 10'000; ++i) mean.add(18 + i % 60);
  const KNorm sum_noise{{.scale = NoiseScale{2},
                         .sensitivity = mean.l1_sensitivity(),
                         .grid = Grid{-20},
                         .dimension = Count{1},
                         .adjacency = Adjacency::add_or_remove_one}};
  const KNorm count_noise{{.scale = NoiseScale{2},
                           .sensitivity = L1Sensitivity{1},
                           .grid = Grid{0},
                           .dimension = Count{1},
                           .adjacency = Adjacency::add_or_remove_one}};
  const double estimate = mean.estimate(sum_noise.release(mean.centred_sum(), bits)[0], count_noise.release(mean.private_count(), bits)[0]);
  // The mean of 18 .. 77 over 10,000 records is 47.44; noise of standard deviation 2 sqrt 2 x 36 / 10,000 = 0.01.
  EXPECT_NEAR(estimate, 47.44, 0.1);
  EXPECT_NE(estimate, 47.44);
}

TEST(BoundedSum, RefusesBadBounds) {
  const auto refused = [](auto call, const std::string& part) {
    const auto refusal = refusal_of(call);
    EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, part)) << refusal;
  };
  refused([] { return Bounds{1, 1}; }, "bounds are 1 and 1");
  refused([] { return Bounds{0, infinity}; }, "must be finite and increasing");
  refused([] { return Bounds{std::nan(""), 1}; }, "must be finite and increasing");
  refused([] { return BoundedSum{{0, 1}, Grid{-41}}; }, "must be within 2^40 of 0");
  refused([] { return BoundedSum{{0.1, 0.9}, Grid{0}}; }, "at least two grid points");
  refused([] { return BoundedSum{{0.5, 1.5}, Grid{0}}; }, "at least two grid points");
  refused([] { return BoundedMean({0, 1}, Grid{-10}, Adjacency::add_or_remove_one).public_count(); }, "private under add-or-remove-one");
}

}  // namespace
}  // namespace surety::mechanisms::bounded_sum_test
