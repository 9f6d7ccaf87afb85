// What a training and the score of its model really cost, where an owner gives way to one who is on the other side of the split: both parts move. Of sums that
// are all Gaussian, within their charge; of secret batches, beside them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/doors/sampled_releaser.h>
#include <surety/optimizers/doors/score_releaser.h>
#include <surety/optimizers/empirical_risk/constant_learner.h>
#include <surety/optimizers/empirical_risk/held_out_score.h>
#include <surety/optimizers/empirical_risk/sampled_sgd.h>
#include <surety/optimizers/empirical_risk/sufficient_statistics.h>
#include <surety/testing/releaser.h>

#include <support/batch_taint.h>
#include <support/empirical_epsilon.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::held_out_score_attack_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;
const NoiseMultiplier one{1};  ///< of the training: mu = 1
constexpr std::uint64_t runs = 1000;

/// Rows of three owners, then of the one that comes or goes, if any: its row and label are as long as can be.
Dataset owners(bool has_canary) {
  std::vector<double> values{0.6, 0.8, 0.8, -0.6, 1, 0};
  std::vector<double> labels{1, -1, 1};
  if (has_canary) {
    values.insert(values.end(), {0, 1});
    labels.push_back(-1);
  }
  return Dataset::dense(2, values, labels);
}

std::vector<std::size_t> ends_of(const Dataset& data) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= data.size(); ++i) ends.push_back(i);
  return ends;
}

/// The weights of one training, and the score with which it is released.
struct Training {
  std::string name;
  std::function<std::vector<double>(const Dataset& data, Releaser& releaser)> learn;
  ScoreKind kind;
};

std::vector<Training> trainings() {
  const auto least_squares = [](const Dataset& data, Releaser& releaser) {
    const auto ends = ends_of(data);
    return ridge_weights(release_moments(
        data, {.noise_multiplier = one, .label_bound = LabelBound{1}, .public_count = Count{4}, .unit_ends = ends}, releaser));
  };
  const auto constant = [](const Dataset& data, Releaser& releaser) {
    const auto ends = ends_of(data);
    return std::vector<double>{0, constant_learner(data, {.noise_multiplier = one, .public_count = Count{4}, .unit_ends = ends}, releaser)};
  };
  return {{"least squares", least_squares, ScoreKind::squared_error}, {"constant", constant, ScoreKind::error_rate}};
}

/// Keeps what another door releases.
struct Kept final : Releaser {
  explicit Kept(Releaser& inner) : door{inner} {}
  Releaser& door;
  std::vector<double> released = {};
  double sigma = 0;
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    released = door.release(query, sensitivity, event);
    sigma = sensitivity.value() * std::get<Event::Gaussian>(event.node()).multiplier.value();
    return released;
  }
};

/// (|x - b|^2 - |x - a|^2) / (2 sigma^2): the logarithm of the likelihood ratio of x; and |a - b|^2 / sigma^2.
struct Evidence {
  double logarithm = 0;
  double squared_mu = 0;
  void add(const std::vector<double>& x, const std::vector<double>& a, const std::vector<double>& b, double sigma) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      logarithm += ((x[k] - b[k]) * (x[k] - b[k]) - (x[k] - a[k]) * (x[k] - a[k])) / (2 * sigma * sigma);
      squared_mu += (a[k] - b[k]) * (a[k] - b[k]) / (sigma * sigma);
    }
  }
};

/// Asks both data sets what they would release, where the weights are known.
template <class Ask>
std::vector<double> exact(std::size_t size, const Ask& ask) {
  testing::ScriptedReleaser script{{std::vector<double>(size, 0.0)}};
  ask(script);
  return mechanisms::to_reals(script.log().front().query);
}

class Attack {
 public:
  /// The noise of the score is drawn at another door, which keeps its tables: score_releaser_test is about its own.
  Attack(Training training, double score_noise, std::uint64_t seed)
      : training_{std::move(training)}, score_noise_{score_noise}, bits_{seed}, reservation_{reserve(Count{2 * runs})} {}

  /// Of one run where the owner is trained on, or held out.
  Evidence run(bool is_trained_on) {
    Kept training{training_door_};
    const auto weights = training_.learn(owners(is_trained_on), training);
    const auto score = [&](bool has_canary, Releaser& releaser) {
      const auto data = owners(has_canary);
      const auto ends = ends_of(data);
      static_cast<void>(release_score(
          data, weights, {.kind = training_.kind, .noise_multiplier = NoiseMultiplier{score_noise_}, .unit_ends = ends}, releaser));
    };
    Kept scoring{score_door_};
    score(!is_trained_on, scoring);
    const auto asked_of_training = [&](bool has_canary) {
      return exact(training.released.size(), [&](Releaser& releaser) { static_cast<void>(training_.learn(owners(has_canary), releaser)); });
    };
    const auto asked_of_score = [&](bool has_canary) { return exact(2, [&](Releaser& releaser) { score(has_canary, releaser); }); };
    Evidence found;
    found.add(training.released, asked_of_training(true), asked_of_training(false), training.sigma);
    found.add(scoring.released, asked_of_score(false), asked_of_score(true), scoring.sigma);
    return found;
  }

 private:
  accounting::Reservation reserve(Count all) {
    auto ledger = accounting::Ledger::open_or_create(folder_ / "ledger.db", adjacency);
    const Event both = compose({gaussian(one, adjacency), gaussian(NoiseMultiplier{score_noise_}, adjacency)});
    return ledger.reserve({.event = repeat(all, both), .not_private = true});
  }

  Training training_;
  double score_noise_;
  TemporaryFolder folder_;
  mechanisms::ReplayBits bits_;
  accounting::Reservation reservation_;
  NoisyReleaser training_door_{reservation_, bits_};
  NoisyReleaser score_door_{reservation_, bits_};
};

TEST(HeldOutScore, OfAnOwnerWhoChangesSidesCostsNoMoreThanIsCharged) {
  constexpr double delta = 0.01;
  const double promised = accounting::epsilon(accounting::Best{}, gaussian(one, adjacency), Delta{delta}).upper;
  const double score_noise = least_score_multiplier(accounting::Releases::of(gaussian(one, adjacency))).value().value();
  for (const auto& training : trainings()) {
    Attack attack{training, score_noise, 5};
    reference::Hits first{0, runs};
    reference::Hits second{0, runs};
    double largest = 0;
    for (std::uint64_t k = 0; k < runs; ++k) {
      const auto here = attack.run(true);
      const auto there = attack.run(false);
      // Chosen before the runs: where the ratio is e.
      first.hits += here.logarithm > 1 ? 1 : 0;
      second.hits += there.logarithm > 1 ? 1 : 0;
      largest = std::max({largest, here.squared_mu, there.squared_mu});
    }
    const double lower = reference::empirical_epsilon(first, second, delta, 1e-3);
    std::printf("held-out score, %s: %.3f of %.3f, squared mu %.4f\n", training.name.c_str(), lower, promised, largest);
    EXPECT_LE(lower, promised) << training.name;
    EXPECT_GE(lower, promised / 3) << training.name;
    EXPECT_LE(largest, 1) << training.name;
    EXPECT_GE(largest, training.kind == ScoreKind::squared_error ? 0.99 : 0.7) << training.name;
  }
}

// Twice the share of the budget: with matrices what is charged is not enough.
TEST(HeldOutScore, OfTwiceTheShareIsSeen) {
  Attack attack{trainings().front(), 1 / std::sqrt(2.0), 5};
  double largest = 0;
  for (int k = 0; k < 20; ++k) largest = std::max(largest, attack.run(true).squared_mu);
  EXPECT_GT(largest, 1.2);
}

// ---- Secret batches ----------------------------------------------------------------------------------------------------------------------

constexpr double rate = 0.3;
constexpr double batch_noise = 6;  ///< over the clip
constexpr double beside_noise = 1;
constexpr double batch_clip = 0.5;
constexpr std::uint64_t batch_steps = 6;
constexpr std::uint64_t batch_runs = 8000;

/// Rows of zeros, which add nothing to either part, and the owner, if any, whose gradient is longer than the clip.
Dataset lone_owner(bool has_canary) {
  std::vector<double> values{0, 0};
  std::vector<double> labels{1, 1};
  if (has_canary) {
    values.push_back(1000);
    labels.push_back(1);
  }
  return Dataset::dense(1, values, labels);
}

/// Adds up how much more likely what one training releases is where the owner is in it.
struct WatchedBatches final : SamplingReleaser {
  explicit WatchedBatches(SamplingReleaser& inner) : door{inner} {}
  SamplingReleaser& door;
  double logarithm = 0;

  std::span<const std::size_t> draw_batch(std::size_t records) override { return door.draw_batch(records); }
  std::vector<double> release_sampled(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    auto released = door.release_sampled(query, sensitivity, event);
    const double x = released[0] / batch_clip;
    logarithm += std::log1p(rate * std::expm1((x - 0.5) / (batch_noise * batch_noise)));
    return released;
  }
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    return door.release(query, sensitivity, event);
  }
};

// The owner is trained on, or held out in the place of another who was nowhere: batches and score both tell. What batches cost alone would not be enough.
TEST(HeldOutScore, BesideSecretBatchesCostsNoMoreThanBothAndMoreThanThem) {
  constexpr double delta = 0.01;
  const mechanisms::PoissonBatches sampler{SamplingRate{rate}};
  const SampledSgdOptions options{.noise_multiplier = NoiseMultiplier{batch_noise},
                                  .sampler = sampler,
                                  .steps = Count{batch_steps},
                                  .adjacency = adjacency,
                                  .step_size = StepSize{1},
                                  .clip = ClippingNorm{batch_clip},
                                  .public_count = Count{10}};
  const Event score_event = gaussian(NoiseMultiplier{beside_noise}, adjacency);
  const Event charged = compose({score_event, plan(options)});
  const auto epsilon_of = [&](const Event& event) { return accounting::epsilon(accounting::Best{}, event, Delta{delta}).upper; };
  const TemporaryFolder folder;
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", adjacency);
  auto reservation = ledger.reserve({.event = repeat(Count{2 * batch_runs}, charged), .not_private = true});
  mechanisms::ReplayBits bits{9};
  NoisySamplingReleaser batches{reservation, bits, sampler};
  NoisyReleaser beside{reservation, bits};

  const auto evidence_of = [&](bool is_trained_on) {
    WatchedBatches training{batches};
    const auto weights = sampled_sgd(lone_owner(is_trained_on), LinearLoss{}, NoRegularizer{}, options, training);
    const auto score = [&](bool has_canary, Releaser& releaser) {
      const auto data = lone_owner(has_canary);
      const auto ends = ends_of(data);
      static_cast<void>(release_score(
          data, weights, {.kind = ScoreKind::error_rate, .noise_multiplier = NoiseMultiplier{beside_noise}, .unit_ends = ends}, releaser));
    };
    Kept scoring{beside};
    score(!is_trained_on, scoring);
    const auto asked = [&](bool has_canary) { return exact(2, [&](Releaser& releaser) { score(has_canary, releaser); }); };
    Evidence found;
    found.add(scoring.released, asked(false), asked(true), scoring.sigma);
    return found.logarithm + training.logarithm;
  };
  reference::Hits first{0, batch_runs};
  reference::Hits second{0, batch_runs};
  for (std::uint64_t k = 0; k < batch_runs; ++k) {
    first.hits += evidence_of(true) > 1.2 ? 1 : 0;  // chosen before the runs
    second.hits += evidence_of(false) > 1.2 ? 1 : 0;
  }
  const double lower = reference::empirical_epsilon(first, second, delta, 1e-3);
  std::printf("held-out score beside batches: %.3f of %.3f, of batches alone %.3f\n", lower, epsilon_of(charged),
              epsilon_of(plan(options)));
  EXPECT_LE(lower, epsilon_of(charged));
  EXPECT_GE(lower, epsilon_of(charged) / 3);
  EXPECT_GT(lower, epsilon_of(plan(options)));
  EXPECT_EQ(reservation.released(), accounting::Releases::of(repeat(Count{2 * batch_runs}, charged)));  // all of it was spent
}

}  // namespace
}  // namespace surety::optimizers::held_out_score_attack_test
