// Runs on a worst pair, in a file of their own: sanitizers learn nothing from them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include <surety/accounting/answers/best.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/empirical_risk/objective_perturbation.h>
#include <surety/optimizers/problem/loss.h>

#include <support/empirical_epsilon.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::objective_perturbation_test {
namespace {

// A lower bound on epsilon from runs on a worst pair: one record of long row against the opposite label.
TEST(ObjectivePerturbation, LosesNoMoreThanItIsCharged) {
  const TemporaryFolder folder;
  constexpr double delta = 1e-3;
  constexpr std::uint64_t runs = 20'000;
  ObjectivePerturbationOptions options{
      .records = Count{1}, .noise_multiplier = NoiseMultiplier{1}, .epsilon = Epsilon{2}, .regularization = Regularization{20}};
  options.clip = ClippingNorm{0.1};
  options.noise_multiplier = objective_perturbation_multiplier(options, perturbed_loss(LogisticLoss{}), Delta{delta});
  auto ledger = accounting::Ledger::create(folder / "ledger.db", Adjacency::replace_one);
  const double sigma = options.noise_multiplier.value() * 0.1;
  const auto events = objective_perturbation_events(options, perturbed_loss(LogisticLoss{}));
  const auto hits = [&](double label) {
    auto reservation = ledger.reserve({.event = repeat(Count{runs}, plan(options, LogisticLoss{})), .not_private = true});
    mechanisms::ReplayBits bits{static_cast<std::uint64_t>(label + 43)};
    NoisyPerturbingReleaser releaser{reservation, bits};
    const Dataset data = Dataset::dense(1, {1e6}, {label});
    std::uint64_t count = 0;
    for (std::uint64_t k = 0; k < runs; ++k) {
      if (detail::perturb_and_minimize(data, LogisticLoss{}, options, events, releaser)[0] > 1.6 * sigma / 20) ++count;
    }
    return reference::Hits{.hits = count, .runs = runs};
  };
  const double lower = reference::empirical_epsilon(hits(1), hits(-1), delta, 1e-9);
  const double charged = accounting::best_epsilon(plan(options, LogisticLoss{}), Delta{2 * delta}).value.upper;
  EXPECT_LE(lower, charged);
  EXPECT_GE(lower, 0.9);
  RecordProperty("lower", std::to_string(lower));
  RecordProperty("charged", std::to_string(charged));
}

}  // namespace
}  // namespace surety::optimizers::objective_perturbation_test
