// Lower bounds on what DP-SGD really costs, from runs on pairs of data sets that are as bad as can be: one record at the clip that appears,
// or turns to the other side. The event is that the likelihood ratio of all releases exceeds a threshold, which is chosen from other noise.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/optimizers/doors/epoch_releaser.h>
#include <surety/optimizers/empirical_risk/sampled_sgd.h>

#include <support/batch_taint.h>
#include <support/empirical_epsilon.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::sampled_sgd_test {
namespace {

using mechanisms::FixedSizeBatches;
using mechanisms::PoissonBatches;

constexpr double clip = 0.5;
constexpr std::uint64_t steps = 6;
constexpr std::uint64_t runs = 40'000;
constexpr double delta = 1e-3;
constexpr double alpha = 1e-6;

/// A mixture of two normal distributions of standard deviation z, in units of C: what one step releases.
struct Mixture {
  double z;
  double weight;  ///< of the first
  double first;
  double second;

  [[nodiscard]] double density(double x) const {
    const auto normal = [this, x](double mean) { return std::exp(-(x - mean) * (x - mean) / (2 * z * z)); };
    return weight * normal(first) + (1 - weight) * normal(second);
  }
  double draw(std::mt19937_64& random) const {
    const bool is_first = std::uniform_real_distribution<double>{}(random) < weight;
    return std::normal_distribution<double>{is_first ? first : second, z}(random);
  }
};

/// Where most is seen in so many runs. `on_first(random)` and `on_second(random)`: the likelihood ratio of one run on either data set.
template <class First, class Second>
double best_threshold(const First& on_first, const Second& on_second, std::uint64_t so_many, std::mt19937_64& random) {
  const auto ratios = [&](const auto& of_one_run) {
    std::vector<double> all(so_many);
    for (double& ratio : all) ratio = of_one_run(random);
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto on_p = ratios(on_first);
  const auto on_q = ratios(on_second);
  const auto above = [&](const std::vector<double>& sorted, double c) {
    return reference::Hits{static_cast<std::uint64_t>(sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), c)), so_many};
  };
  double best = 0;
  double largest = 0;
  for (double c = 0; c < 8; c += 0.05) {
    const double found = reference::empirical_epsilon(above(on_p, c), above(on_q, c), delta, alpha);
    if (found > largest) {
      largest = found;
      best = c;
    }
  }
  return best;
}

double best_threshold(const Mixture& p, const Mixture& q, std::mt19937_64& random) {
  const auto ratio_on = [&](const Mixture& from) {
    return [&p, &q, &from](std::mt19937_64& bits) {
      double ratio = 0;
      for (std::uint64_t t = 0; t < steps; ++t) {
        const double x = from.draw(bits);
        ratio += std::log(p.density(x) / q.density(x));
      }
      return ratio;
    };
  };
  return best_threshold(ratio_on(p), ratio_on(q), runs, random);
}

/// Adds up the likelihood ratio of what another releaser releases.
struct WatchedSampling final : SamplingReleaser {
  WatchedSampling(SamplingReleaser& inner, const Mixture& first, const Mixture& second) : releaser{inner}, p{first}, q{second} {}
  SamplingReleaser& releaser;
  const Mixture& p;
  const Mixture& q;
  double ratio = 0;

  std::span<const std::size_t> draw_batch(std::size_t records) override { return releaser.draw_batch(records); }
  std::vector<double> release_sampled(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    auto released = releaser.release_sampled(query, sensitivity, event);
    ratio += std::log(p.density(released[0] / clip) / q.density(released[0] / clip));
    return released;
  }
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    return releaser.release(query, sensitivity, event);
  }
};

/// One feature, gradients of size 1000 in the direction of the signs, or none.
Dataset records_of(const std::vector<double>& signs) {
  std::vector<double> values;
  for (const double sign : signs) values.push_back(1000 * sign);
  return Dataset::dense(1, values, std::vector<double>(signs.size(), 1.0));
}

struct Audit {
  double lower;
  double charged;
};

/// `first` and `second` are neighbours; p and q are what one step releases of them. `sampler` draws the batches, `said` is in the plan.
template <class Sampler>
Audit audit(const Sampler& sampler, const AnySampler& said, Adjacency adjacency, const std::vector<double>& first,
            const std::vector<double>& second, const Mixture& p, const Mixture& q) {
  const TemporaryFolder folder;
  const SampledSgdOptions options{.noise_multiplier = NoiseMultiplier{p.z},
                                  .sampler = said,
                                  .steps = Count{steps},
                                  .adjacency = adjacency,
                                  .step_size = StepSize{1},
                                  .clip = ClippingNorm{clip},
                                  .public_count = Count{10}};
  std::mt19937_64 random{7};
  const double threshold = best_threshold(p, q, random);
  auto ledger = accounting::Ledger::create(folder / "ledger", adjacency);
  const auto hits = [&](const std::vector<double>& signs, std::uint64_t seed) {
    auto reservation = ledger.reserve({.event = repeat(Count{runs}, plan(options)), .not_private = true});
    mechanisms::ReplayBits bits{seed};
    NoisySamplingReleaser noisy{reservation, bits, sampler};
    const Dataset data = records_of(signs);
    reference::Hits found{0, runs};
    for (std::uint64_t run = 0; run < runs; ++run) {
      WatchedSampling releaser{noisy, p, q};
      static_cast<void>(sampled_sgd(data, LinearLoss{}, NoRegularizer{}, options, releaser));
      if (releaser.ratio > threshold) ++found.hits;
    }
    return found;
  };
  const double lower = reference::empirical_epsilon(hits(first, 1), hits(second, 2), delta, alpha);
  const double charged = accounting::best_epsilon(plan(options), Delta{delta}).value.upper;
  ::testing::Test::RecordProperty("lower_over_upper", std::to_string(lower / charged));
  return {lower, charged};
}

void expect_between(const Audit& found, double floor) {
  EXPECT_LE(found.lower, found.charged);
  EXPECT_GE(found.lower, floor * found.charged);
}

const PoissonBatches poisson{SamplingRate{0.3}};
const Mixture without{0.9, 1, 0, 0};

TEST(SampledSgdAudit, OfARecordThatAppearsInPoissonBatches) {
  expect_between(audit(poisson, poisson, Adjacency::add_or_remove_one, {0, 0, 1}, {0, 0}, {0.9, 0.3, 1, 0}, without), 0.5);
}

TEST(SampledSgdAudit, OfARecordThatTurnsInPoissonBatches) {
  expect_between(audit(poisson, poisson, Adjacency::replace_one, {0, 0, 1}, {0, 0, -1}, {0.9, 0.3, 1, 0}, {0.9, 0.3, -1, 0}), 0.5);
}

TEST(SampledSgdAudit, OfARecordThatTurnsInBatchesOfFixedSize) {
  const FixedSizeBatches fixed{Batches{Count{4}, Count{1}}};
  expect_between(audit(fixed, fixed, Adjacency::replace_one, {-1, -1, -1, 1}, {-1, -1, -1, -1}, {2.5, 0.25, 1, -1}, {2.5, 1, -1, -1}),
                 0.45);
}

/// Says that it is Poisson, and always takes the last record.
struct AlwaysTheLast {
  template <mechanisms::ReleaseBits Bits>
  [[nodiscard]] std::vector<std::size_t> draw(std::size_t records, Bits& /*bits*/) const {
    return records == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{records - 1};
  }
  [[nodiscard]] Event event(const Event& release) const { return poisson.event(release); }
};

// The disaster that the door is against, and that only a sampler can cause that says what it is not: what runs show is more than what is
// charged.
TEST(SampledSgdAudit, OfASamplerThatIsNotPoissonShowsMoreThanItsCharge) {
  const Audit found = audit(AlwaysTheLast{}, poisson, Adjacency::add_or_remove_one, {0, 0, 1}, {0, 0}, {0.9, 1, 1, 1}, without);
  EXPECT_GT(found.lower, found.charged);
}

// ---- Epochs of random allocation --------------------------------------------------------------------------------------------------------

constexpr std::uint64_t rounds = 10;
constexpr std::uint64_t epochs = 4;
constexpr std::uint64_t epoch_runs = 20'000;
constexpr double epoch_noise = 1;
const mechanisms::Allocation allocation{Count{rounds}};

/// Of what the rounds of one epoch release in units of C: the record is in one of them, in none on the other data set.
double log_ratio_of_epoch(std::span<const double> released) {
  double sum = 0;
  for (const double x : released) sum += std::exp((x - 0.5) / (epoch_noise * epoch_noise));
  return std::log(sum / static_cast<double>(released.size()));
}

/// Keeps what another releaser releases, in units of C.
struct KeptSampling final : SamplingReleaser {
  explicit KeptSampling(SamplingReleaser& inner) : releaser{inner} {}
  SamplingReleaser& releaser;
  std::vector<double> kept = {};

  std::span<const std::size_t> draw_batch(std::size_t records) override { return releaser.draw_batch(records); }
  std::vector<double> release_sampled(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    auto released = releaser.release_sampled(query, sensitivity, event);
    kept.push_back(released[0] / clip);
    return released;
  }
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    return releaser.release(query, sensitivity, event);
  }
};

/// What runs of the plan show on the worst neighbours, and what is charged. `deal` draws the rounds of all epochs of a run.
template <class MakeReleaser>
Audit audit_of_epochs(const MakeReleaser& make_releaser, bool is_dealt_once) {
  const SampledSgdOptions options{.noise_multiplier = NoiseMultiplier{epoch_noise},
                                  .sampler = allocation,
                                  .steps = Count{rounds * epochs},
                                  .adjacency = Adjacency::add_or_remove_one,
                                  .step_size = StepSize{1},
                                  .clip = ClippingNorm{clip},
                                  .public_count = Count{10}};
  const Event planned = plan(options);
  // Where the deal is kept, what is known of a round is the sum of what it released.
  const auto log_ratio = [&](std::span<const double> released) {
    double sum = 0;
    if (!is_dealt_once) {
      for (std::size_t epoch = 0; epoch < epochs; ++epoch) sum += log_ratio_of_epoch(released.subspan(epoch * rounds, rounds));
      return sum;
    }
    for (std::size_t i = 0; i < rounds; ++i) {
      double of_round = 0;
      for (std::size_t epoch = 0; epoch < epochs; ++epoch) of_round += released[epoch * rounds + i] - 0.5;
      sum += std::exp(of_round / (epoch_noise * epoch_noise));
    }
    return std::log(sum / static_cast<double>(rounds));
  };
  const auto simulated = [&](bool is_there) {
    return [&log_ratio, is_there, is_dealt_once](std::mt19937_64& bits) {
      std::array<double, rounds * epochs> released{};
      std::normal_distribution<double> noise{0, epoch_noise};
      for (double& x : released) x = noise(bits);
      std::size_t round = bits() % rounds;
      for (std::size_t epoch = 0; epoch < epochs && is_there; ++epoch) {
        released[epoch * rounds + round] += 1;
        if (!is_dealt_once) round = bits() % rounds;
      }
      return log_ratio(released);
    };
  };
  std::mt19937_64 random{11};
  const double threshold = best_threshold(simulated(true), simulated(false), epoch_runs, random);
  const TemporaryFolder folder;
  auto ledger = accounting::Ledger::create(folder / "ledger", Adjacency::add_or_remove_one);
  const auto hits = [&](const std::vector<double>& signs, std::uint64_t seed) {
    auto reservation = ledger.reserve({.event = repeat(Count{epoch_runs}, planned), .not_private = true});
    mechanisms::ReplayBits bits{seed};
    auto noisy = make_releaser(reservation, bits);
    const Dataset data = records_of(signs);
    reference::Hits found{0, epoch_runs};
    for (std::uint64_t run = 0; run < epoch_runs; ++run) {
      KeptSampling releaser{noisy};
      static_cast<void>(sampled_sgd(data, LinearLoss{}, NoRegularizer{}, options, releaser));
      if (log_ratio(releaser.kept) > threshold) ++found.hits;
    }
    // The whole plan was charged, and nothing more.
    EXPECT_TRUE(reservation.released() == accounting::Releases::of(repeat(Count{epoch_runs}, planned)));
    return found;
  };
  const double lower = reference::empirical_epsilon(hits({0, 0, 1}, 5), hits({0, 0}, 6), delta, alpha);
  const double charged = accounting::best_epsilon(planned, Delta{delta}).value.upper;
  ::testing::Test::RecordProperty("lower_over_upper", std::to_string(lower / charged));
  return {lower, charged};
}

TEST(SampledSgdAudit, OfARecordThatAppearsInAllocatedEpochs) {
  const auto production = [](auto& reservation, auto& bits) { return NoisyEpochReleaser{reservation, bits, allocation}; };
  expect_between(audit_of_epochs(production, false), 0.5);
}

/// Charges epoch by epoch, and deals once for all epochs of a run.
class DealsOnce final : public SamplingReleaser {
 public:
  DealsOnce(accounting::Reservation& reservation, mechanisms::BitsRef bits) : reservation_{reservation}, bits_{bits} {}

  std::span<const std::size_t> draw_batch(std::size_t records) override {
    if (round_ % (rounds * epochs) == 0) epoch_.emplace(allocation.deal(records, bits_));
    return epoch_->batch(round_++ % rounds);
  }
  std::vector<double> release_sampled(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    if (round_ % rounds == 1) reservation_.spend(allocation.event(event));
    return detail::noise_of(query, event).release(query, sensitivity, bits_);
  }
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    return detail::spend_and_release(reservation_, bits_, query, sensitivity, event, event, nullptr);
  }

 private:
  accounting::Reservation& reservation_;
  mechanisms::BitsRef bits_;
  std::optional<mechanisms::DealtEpoch> epoch_;
  std::uint64_t round_ = 0;
};

TEST(SampledSgdAudit, OfADealThatIsKeptForAllEpochsShowsMoreThanItsCharge) {
  const auto mutant = [](auto& reservation, auto& bits) { return DealsOnce{reservation, bits}; };
  const Audit found = audit_of_epochs(mutant, true);
  EXPECT_GT(found.lower, found.charged);
}

}  // namespace
}  // namespace surety::optimizers::sampled_sgd_test
