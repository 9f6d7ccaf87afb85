// k of t rounds from above, all rounds together: against the curve by quadrature, and against what a sum of logarithms shows, which is a lower
// bound by other means.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <surety/accounting/accountants/pld/joint_epochs.h>
#include <surety/accounting/accountants/pld/run_laws.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/laws/epochs/dealt_records.h>
#include <surety/accounting/laws/rounds/allocated_sum.h>
#include <surety/accounting/laws/rounds/joint_round.h>
#include <surety/base/numbers/rounding.h>

#include <support/allocated_truth.h>

namespace surety::accounting::joint_epochs_test {
namespace {

using reference::Dealing;

struct Bound {
  double multiplier;
  std::uint64_t rounds;
  std::uint64_t participations;
  double log_delta;
  std::vector<CurvePoint> points{};  // of the epoch, not yet made convex

  Bound(double z, std::uint64_t t, std::uint64_t k, double made_for) : multiplier{z}, rounds{t}, participations{k}, log_delta{made_for} {
    const auto joint = joint_round(z, t, k, made_for);
    const double log_scale = joint->log_scale.value();
    const Delta delta{std::exp(std::min(made_for - log_scale, -1.0))};
    for (const auto& point : pld::curve_above({{joint->round, std::nullopt, false, t}}, delta)) {
      points.push_back({point.odds * std::exp(log_scale), point.delta * std::exp(log_scale) + joint->rest.value()});
    }
  }
  [[nodiscard]] double at(double epsilon) const {
    const double odds = std::exp(epsilon);
    const auto next = std::find_if(points.begin(), points.end(), [&](const CurvePoint& point) { return point.odds > odds; });
    if (next == points.begin() || next == points.end()) return 1;
    const auto& before = *(next - 1);
    const double share = (odds - before.odds) / (next->odds - before.odds);
    return std::min(1.0, before.delta + share * (next->delta - before.delta));
  }
};

double curve(const AtomsBase& law, double epsilon) {
  double delta = 0;
  for (const auto& atom : law.atoms) delta += atom.mass * std::max(0.0, -std::expm1(epsilon - atom.loss));
  return delta;
}

TEST(JointEpochs, LieAboveTheCurveOfTwoOfThree) {
  for (const double multiplier : {0.5, 2.0}) {
    const Bound bound{multiplier, 3, 2, -8};
    for (const double deviations : {-1.0, 0.1, 1.0, 3.0}) {
      const double epsilon = deviations / multiplier;
      const auto truth = static_cast<double>(reference::allocated_delta(Dealing::two_of_three, multiplier, epsilon, true, 0.2L));
      EXPECT_GE(bound.at(epsilon), truth * (1 - 1e-5)) << multiplier << " " << epsilon;
      EXPECT_LT(bound.at(epsilon), 6 * truth) << multiplier << " " << epsilon;
    }
  }
}

// Also where the sum of all p (1 - p) leaves the chord: made for a delta of e^-1, the bound has much of its mass there at 1e-7.
TEST(JointEpochs, LieAboveWhatASumShows) {
  struct Case {
    double multiplier;
    std::uint64_t rounds;
    std::uint64_t participations;
    double log_delta;
    double within;
  };
  for (const auto& [z, t, k, log_delta, within] : {Case{1, 1000, 100, -14, 0.06}, Case{1, 1000, 100, -1, 0.5}, Case{2, 100, 30, -14, 0.15},
                                                   Case{1, 20, 10, -1, 3}, Case{4, 100, 30, -10, 0.1}}) {
    const Bound bound{z, t, k, log_delta};
    const double rate = static_cast<double>(k) / static_cast<double>(t);
    double least = infinity;
    for (const double share : {0.4, 0.7, 0.9}) {
      const auto shown = sum_of_logarithms(z, t, in_so_many_rounds(k), share * rate, 2e-5).removed;
      for (double epsilon = 0; epsilon < 60; epsilon += 0.5) {
        const double below = curve(shown, epsilon);
        if (!(below > 1e-9)) break;
        EXPECT_GE(bound.at(epsilon), below) << z << " " << t << " " << k << " " << epsilon;
        if (below < 1e-3) least = std::min(least, bound.at(epsilon) / below - 1);
      }
    }
    EXPECT_LT(least, within) << z << " " << t << " " << k;
  }
}

TEST(JointEpochs, NarrowTheAnswer) {
  const auto answer = [](const char* written) { return epsilon(Pld{}, parse_event(written, Adjacency::add_or_remove_one), Delta{1e-6}); };
  const auto most = answer("allocated(1000, 100, gaussian(1))");
  EXPECT_LT(most.upper - most.lower, 0.002 * most.upper);
  const auto blocks = answer("repeat(100, allocated(10, gaussian(1)))");
  EXPECT_LT(most.upper, 0.97 * blocks.lower);
  // Several of them, and one beside something else.
  const auto two = answer("compose(repeat(2, allocated(100, 30, gaussian(2))), laplace(5))");
  EXPECT_LT(two.upper - two.lower, 0.02 * two.upper);
}

}  // namespace
}  // namespace surety::accounting::joint_epochs_test
