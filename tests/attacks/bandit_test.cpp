// The bandits attacked: runs on the worst pair of users, an event fixed before they are looked at, and the epsilon that they prove. It must
// not exceed what a ledger charges, and comes close.
//
// The first of four users is replaced, the others are nobody. On a tree the prefix sums after 1, 2 and 4 users are the three nodes that
// hold the first, so their sum along the direction of the replacement is the best statistic.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/bandits/linear_bandit.h>
#include <surety/optimizers/bandits/linear_ucb.h>
#include <surety/optimizers/problem/loss.h>

#include <support/bandit_records.h>
#include <support/empirical_epsilon.h>

namespace surety::optimizers::bandit_test {
namespace {

using mechanisms::Factorization;
using mechanisms::GaussianContinualSum;
using mechanisms::ReplayBits;

constexpr std::uint64_t users = 4;
constexpr std::uint64_t runs = 100'000;
const NoiseMultiplier multiplier{std::sqrt(3.0)};  // three nodes: mu = 1
const Delta delta{1e-2};

/// Draws from a sum and keeps what it released.
class WatchedStream final : public StreamReleaser<> {
 public:
  WatchedStream(GaussianContinualSum& sum, ReplayBits& bits) : sum_{sum}, bits_{bits} {}

  std::vector<double> push(const GridVector& contribution, L2Sensitivity /*sensitivity*/) override {
    released_.push_back(sum_.push(contribution, bits_));
    return released_.back();
  }
  [[nodiscard]] Grid grid() const override { return sum_.grid(); }
  [[nodiscard]] const std::vector<std::vector<double>>& released() const { return released_; }

 private:
  GaussianContinualSum& sum_;
  ReplayBits& bits_;
  std::vector<std::vector<double>> released_;
};

/// The bandit of `make` on `first` and three users who are nobody, many times: in how many runs `direction` on the three nodes, in standard
/// deviations of its noise, exceeds `threshold`.
template <class Make>
reference::Hits hits(Make make, const StreamShape<>& asked, const BanditRecord& first, const std::vector<double>& direction,
                     double threshold, NoiseMultiplier used, std::uint64_t seed) {
  const GaussianContinualSum fresh{{.factorization = Factorization::tree,
                                    .steps = asked.steps,
                                    .dimension = asked.dimension,
                                    .sensitivity = asked.sensitivity,
                                    .multiplier = used,
                                    .grid = mechanisms::continual_grid(Factorization::tree, asked.steps, asked.sensitivity, used),
                                    .adjacency = asked.adjacency}};
  const BanditRecord nobody{std::vector<double>(first.row.size(), 0.0), std::vector<double>(first.rewards.size(), 0.0)};
  ReplayBits bits{seed};
  reference::Hits found{.hits = 0, .runs = runs};
  for (std::uint64_t k = 0; k < runs; ++k) {
    auto sum = fresh;
    WatchedStream stream{sum, bits};
    auto bandit = make();
    for (std::uint64_t t = 0; t < users; ++t) {
      const BanditRecord& user = t == 0 ? first : nobody;
      bandit.learn(view(user), user.rewards[bandit.choose(view(user))], stream);
    }
    double statistic = 0;
    for (const std::size_t t : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
      for (std::size_t j = 0; j < direction.size(); ++j) statistic += direction[j] * stream.released()[t][j];
    }
    const double deviation = std::sqrt(3.0) * used.value() * asked.sensitivity.value();
    if (statistic > threshold * deviation) ++found.hits;
  }
  return found;
}

/// With mu = 1 the two users' statistics have means 1/2 and -1/2, and the loss exceeds epsilon where the statistic exceeds epsilon / mu:
/// the event that attains the Gaussian curve.
template <class Make>
void attack(Make make, const StreamShape<>& asked, const BanditRecord& one, const BanditRecord& other,
            const std::vector<double>& direction) {
  const auto charged = accounting::epsilon(
      accounting::ClosedForm{}, mechanisms::continual_event(Factorization::tree, asked.steps, multiplier, asked.adjacency), delta);
  const auto proved = [&](NoiseMultiplier used, std::uint64_t seed) {
    const double threshold = charged.upper * used.value() / multiplier.value();
    return reference::empirical_epsilon(hits(make, asked, one, direction, threshold, used, seed),
                                        hits(make, asked, other, direction, threshold, used, seed + 1), delta.value(), 1e-9);
  };
  const double lower = proved(multiplier, 1);
  EXPECT_LE(lower, charged.upper);
  EXPECT_GE(lower, 0.7 * charged.upper);
  ::testing::Test::RecordProperty("lower_over_upper", std::to_string(lower / charged.upper));
  // Two thirds of the noise contradict the charge: the attack can fail.
  EXPECT_GT(proved(NoiseMultiplier{multiplier.value() / 1.5}, 3), charged.upper);
}

TEST(BanditAudit, LinearBanditIsNearlyAsLeakyAsCharged) {
  const LinearBanditOptions options{.steps = Count{users}, .arms = Count{2}, .warm_up = Count{1}, .clip = ClippingNorm{0.7}};
  const auto make = [&] {
    return LinearBandit{SquaredLoss{.label_bound = LabelBound{1.3}, .weight_radius = Radius{1}}, LpBall{LpExponent{1}, Radius{1}}, options,
                        Count{1}};
  };
  // A reward of 1.3 pushes -C into the block of arm 0.
  attack(make, shape(options, Count{1}), {{1}, {-1.3, 0}}, {{1}, {1.3, 0}}, {1, 0});
}

TEST(BanditAudit, LinearUcbIsNearlyAsLeakyAsCharged) {
  const LinearUcbOptions options{.steps = Count{users}, .arms = Count{2}};
  const auto make = [&] { return LinearUcb{options, Count{1}}; };
  // tri(v v^T) is (C', 0, 0) for v = (1, 0) and (0, 0, C') for v = (0, 1): along (1, 0, -1) / sqrt(2) they are sqrt(2) C' apart.
  attack(make, shape(options, Count{1}), {{1}, {0, 0}}, {{0}, {1, 1}}, {std::sqrt(0.5), 0, -std::sqrt(0.5), 0, 0, 0});
}

}  // namespace
}  // namespace surety::optimizers::bandit_test
