// Lower bounds on what the streaming algorithms really cost, from runs on a pair of streams that is as bad as can be: the first record
// lies at the clip, on one side or on the other, and no other record has a gradient. It is in every level of the tree.
#include <gtest/gtest.h>

#include <boost/math/distributions/normal.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/continual.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/additive/scaled_noise.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/streams/online_to_batch.h>
#include <surety/optimizers/streams/private_ftrl.h>

#include <support/drawn_cases.h>
#include <support/empirical_epsilon.h>

namespace surety::optimizers::online_to_batch_test {
namespace {

constexpr std::uint64_t steps = 8;  // four levels
const Count levels = accounting::tree_levels(Count{steps});
const L2Ball ball{Radius{2}};
const Delta delta{1e-3};
const Target target{.epsilon = Epsilon{1}, .delta = delta, .adjacency = Adjacency::replace_one};
const Grid grid{.log2_step = -20};
constexpr double clip = 0.5;
constexpr std::uint64_t runs = 100'000;
constexpr double alpha = 1e-6;

/// Passes pushes on to a sum, without a ledger, and adds up the prefix sums after 1, 2, 4, ... steps: these are the nodes that hold the
/// first record, and their sum is the best statistic of it when their noise is alike.
template <class Sum, class Bits>
class AuditedStream final : public StreamReleaser<> {
 public:
  AuditedStream(Sum sum, Bits& bits) : sum_{std::move(sum)}, bits_{bits} {}
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, L2Sensitivity sensitivity) override {
    std::vector<double> released;
    if constexpr (mechanisms::AdaptiveContinualSum<Sum, L2Sensitivity, Bits>) {
      released = sum_.push(contribution, sensitivity, bits_);
    } else {
      released = sum_.push(contribution, bits_);
    }
    ++pushed_;
    if ((pushed_ & (pushed_ - 1)) == 0) statistic_ += released[0];
    return released;
  }
  [[nodiscard]] Grid grid() const override { return sum_.grid(); }
  [[nodiscard]] double statistic() const noexcept { return statistic_; }

 private:
  Sum sum_;
  Bits& bits_;
  std::uint64_t pushed_ = 0;
  double statistic_ = 0;
};

/// Where `statistic > threshold` says most of N(mean, sd^2) against N(-mean, sd^2) at `delta`, in as many runs as there are.
double best_threshold(double mean, double sd) {
  const boost::math::normal standard;
  double best = 0;
  double largest = 0;
  for (double c = -3; c <= 3; c += 0.01) {
    const auto hits = [&](double centre) {
      return reference::Hits{static_cast<std::uint64_t>(runs * cdf(complement(standard, (c * sd - centre) / sd))), runs};
    };
    const double found = reference::empirical_epsilon(hits(mean), hits(-mean), delta.value(), alpha);
    if (found > largest) {
      largest = found;
      best = c * sd;
    }
  }
  return best;
}

/// Two data sets of one feature: the first record far beyond the clip, on the side `sign`.
Dataset stream_of(double sign) {
  std::vector<double> values(steps, 0.0);
  values[0] = -1000 * sign;  // the gradient of a record with label 1 points away from it
  return Dataset::dense(1, values, std::vector<double>(steps, 1.0));
}

/// The lower bound for an algorithm made by make() on a sum, whose four nodes have standard deviation `sigma`.
template <class Make, class Sum>
double lower_bound(Make make, const Sum& sum, double sigma, std::uint64_t seed) {
  const auto count = static_cast<double>(levels.value());
  const double threshold = best_threshold(count * clip, std::sqrt(count) * sigma);
  mechanisms::ReplayBits bits{seed};
  const auto hits = [&](double sign) {
    const Dataset data = stream_of(sign);
    reference::Hits found{0, runs};
    for (std::uint64_t run = 0; run < runs; ++run) {
      AuditedStream stream{sum, bits};
      auto algorithm = make();
      for (std::size_t i = 0; i < data.size(); ++i) algorithm.observe(data.row(i), data.label(i), stream);
      if (stream.statistic() > threshold) ++found.hits;
    }
    return found;
  };
  return reference::empirical_epsilon(hits(1), hits(-1), delta.value(), alpha);
}

NoiseMultiplier calibrated() {
  return calibrate([](NoiseMultiplier z) { return accounting::tree(Count{steps}, gaussian(z, target.adjacency)); }, target).value;
}

mechanisms::TreeSum<mechanisms::Gaussian> tree_of(NoiseMultiplier multiplier) {
  return {
      mechanisms::Gaussian{{.multiplier = multiplier, .sensitivity = L2Sensitivity{2 * clip}, .grid = grid, .adjacency = target.adjacency}},
      Count{steps}, Count{1}};
}

OnlineToBatch<LogisticLoss, SubgradientDescent<L2Ball>> online_to_batch(const OnlineToBatchOptions& options) {
  return {LogisticLoss{}, SubgradientDescent{ball, {0.0}}, options};
}

TEST(OnlineToBatchAudit, TheTreeCostsAtLeastHalfOfWhatIsClaimedAndNotMore) {
  const NoiseMultiplier z = calibrated();
  const auto make = [] { return online_to_batch({.steps = Count{steps}, .scale = FixedScale{ClippingNorm{clip}}}); };
  const double found = lower_bound(make, tree_of(z), z.value() * 2 * clip, 1);
  expect_charged(found, target.epsilon.value());
}

TEST(OnlineToBatchAudit, SoDoesTheTreeThatFollowsTheIterates) {
  const NoiseMultiplier z = calibrated();
  const auto make = [] {
    return online_to_batch({.steps = Count{steps}, .scale = FollowingScale{GradientBound{clip}, Smoothness{1e-3}, DomainDiameter{4}}});
  };
  const mechanisms::AdaptiveTreeSum sum{mechanisms::ScaledGaussian{{.multiplier = z, .grid = grid, .adjacency = target.adjacency}},
                                        Count{steps}, Count{1}};
  const double found = lower_bound(make, sum, z.value() * 2 * clip, 2);
  expect_charged(found, target.epsilon.value());
}

TEST(OnlineToBatchAudit, SoDoesDpFtrl) {
  const NoiseMultiplier z = calibrated();
  const auto make = [] {
    return PrivateFtrl{LogisticLoss{}, ball,
                       PrivateFtrlOptions{.steps = Count{steps}, .clip = ClippingNorm{clip}, .step_size = StepSize{0.1}},
                       std::vector<double>{0.0}};
  };
  const double found = lower_bound(make, tree_of(z), z.value() * 2 * clip, 3);
  expect_charged(found, target.epsilon.value());
}

TEST(OnlineToBatchAudit, PureNodesCostNoMoreThanTheyClaim) {
  const NoiseScale scale = accounting::tree_noise_scale(Count{steps}, target.epsilon);
  const mechanisms::TreeSum sum{
      mechanisms::KNorm{
          {.scale = scale, .sensitivity = L2Sensitivity{2 * clip}, .grid = grid, .dimension = Count{1}, .adjacency = target.adjacency}},
      Count{steps}, Count{1}};
  const auto make = [] { return online_to_batch({.steps = Count{steps}, .scale = FixedScale{ClippingNorm{clip}}}); };
  const double found = lower_bound(make, sum, scale.value() * 2 * clip * std::sqrt(2.0), 4);
  EXPECT_LE(found, target.epsilon.value());
  EXPECT_GE(found, target.epsilon.value() / 4);
  RecordProperty("lower_bound", std::to_string(found));
}

// What the same runs say of noise that is not enough: that of the pure variant as the paper composes it, and half of what a tree needs.
TEST(OnlineToBatchAudit, PlantedViolationsAreFound) {
  const auto make = [] { return online_to_batch({.steps = Count{steps}, .scale = FixedScale{ClippingNorm{clip}}}); };
  const NoiseMultiplier half{calibrated().value() / 2};
  EXPECT_GT(lower_bound(make, tree_of(half), half.value() * 2 * clip, 5), target.epsilon.value());
  // Noise for a record that is in one node of the tree.
  const NoiseMultiplier one{calibrated().value() / std::sqrt(static_cast<double>(levels.value()))};
  EXPECT_GT(lower_bound(make, tree_of(one), one.value() * 2 * clip, 6), target.epsilon.value());
}

}  // namespace
}  // namespace surety::optimizers::online_to_batch_test
