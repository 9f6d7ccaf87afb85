#include <surety/optimizers/empirical_risk/svrg_calibration.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/answers/best.h>

#include <support/refusal.h>

namespace surety::optimizers::svrg_calibration_test {
namespace {

using mechanisms::FixedSizeBatches;
using mechanisms::PoissonBatches;

SvrgOptions options(std::variant<PoissonBatches, FixedSizeBatches> sampler, Adjacency adjacency) {
  return {.anchor_multiplier = NoiseMultiplier{1},
          .noise_multiplier = NoiseMultiplier{1},
          .sampler = std::move(sampler),
          .adjacency = adjacency,
          .epochs = Count{5},
          .inner_steps = Count{20}};
}

Target target(double epsilon, Adjacency adjacency) { return {.epsilon = Epsilon{epsilon}, .delta = Delta{1e-3}, .adjacency = adjacency}; }

// Judged by all accountants, of which the search asked one.
TEST(SvrgCalibration, MeetsTheTargetWithHardlyMoreNoiseThanNeeded) {
  for (const double epsilon : {0.2, 1.0, 4.0}) {
    for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::zero_out}) {
      auto settings = options(PoissonBatches{SamplingRate{0.02}}, adjacency);
      const auto found = calibrate_svrg(settings, target(epsilon, adjacency));
      EXPECT_LE(found.delta.upper, 1e-3);
      EXPECT_EQ(found.refusal, "");
      settings.anchor_multiplier = found.anchor_multiplier;
      settings.noise_multiplier = found.noise_multiplier;
      EXPECT_TRUE(found.event == plan(settings));
      EXPECT_LE(accounting::best_delta(found.event, Epsilon{epsilon}).value.upper, 1e-3);
      settings.noise_multiplier = NoiseMultiplier{found.noise_multiplier.value() * (1 - 0x1p-10)};
      EXPECT_GT(accounting::best_delta(plan(settings), Epsilon{epsilon}).value.lower, 1e-3);
    }
  }
}

TEST(SvrgCalibration, KnowsEverySamplerOfReplaceOne) {
  const std::variant<PoissonBatches, FixedSizeBatches> samplers[]{PoissonBatches{SamplingRate{0.02}},
                                                                  FixedSizeBatches{Batches{Count{1000}, Count{20}}}};
  for (const auto& sampler : samplers) {
    auto settings = options(sampler, Adjacency::replace_one);
    settings.epochs = Count{2};
    const auto found = calibrate_svrg(settings, target(1, Adjacency::replace_one));
    EXPECT_LE(found.delta.upper, 1e-3);
    EXPECT_EQ(found.refusal, "");
    settings.anchor_multiplier = found.anchor_multiplier;
    settings.noise_multiplier = found.noise_multiplier;
    EXPECT_TRUE(found.event == plan(settings));
    EXPECT_LE(accounting::best_delta(found.event, Epsilon{1}).value.upper, 1e-3);
  }
}

TEST(SvrgCalibration, GivesTheFullGradientsTheirShare) {
  for (const double share : {0.05, 0.5, 0.9}) {
    const auto found = calibrate_svrg(options(PoissonBatches{SamplingRate{0.02}}, Adjacency::add_or_remove_one),
                                      target(1, Adjacency::add_or_remove_one), AnchorShare{share});
    const double mu = accounting::largest_mu(Epsilon{1}, Delta{1e-3}).upper;
    const double z = found.anchor_multiplier.value();
    EXPECT_NEAR(5 / (z * z), share * mu * mu, 1e-12);
    EXPECT_LE(5 / (z * z), share * mu * mu * (1 + 1e-15));
  }
}

// Batches of everything are no batches: the two noises are one composition of Gaussians, whose mu is known.
TEST(SvrgCalibration, IsGaussianCompositionWithBatchesOfEverything) {
  const auto found = calibrate_svrg(options(PoissonBatches{SamplingRate{1}}, Adjacency::add_or_remove_one),
                                    target(1, Adjacency::add_or_remove_one), AnchorShare{0.3});
  const double mu = accounting::largest_mu(Epsilon{1}, Delta{1e-3}).lower;
  EXPECT_NEAR(found.noise_multiplier.value(), std::sqrt(100 / (0.7 * mu * mu)), 2e-4 * found.noise_multiplier.value());
}

TEST(SvrgCalibration, RefusesWhatItCannotPromise) {
  const auto settings = options(PoissonBatches{SamplingRate{0.02}}, Adjacency::add_or_remove_one);
  const auto refused = [&](const Target& wanted, ErrorCode code, std::string_view word) {
    return refuses([&] { static_cast<void>(calibrate_svrg(settings, wanted)); }, code, {word});
  };
  EXPECT_TRUE(refused(target(1, Adjacency::replace_one), ErrorCode::invalid_argument, "adjacency of the target is replace-one"));
  EXPECT_TRUE(refused(target(0, Adjacency::add_or_remove_one), ErrorCode::invalid_argument, "epsilon of the target is 0"));
  EXPECT_TRUE(refused({Epsilon{1}, Delta{0}, Adjacency::add_or_remove_one}, ErrorCode::invalid_argument, "delta of the target is 0"));
  EXPECT_TRUE(refuses([] { static_cast<void>(AnchorShare{1}); }, ErrorCode::invalid_argument, {"share", "less than 1"}));
}

}  // namespace
}  // namespace surety::optimizers::svrg_calibration_test
