#include <surety/research/papers/printed_erm_noise.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>
#include <utility>
#include <variant>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/event_kinds.h>

#include <support/empirical_epsilon.h>
#include <support/refusal.h>

namespace surety::papers::printed_erm_noise_test {
namespace {

Target target(double epsilon, double delta = 1e-3) {
  return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = Adjacency::replace_one};
}

// c at which the printed sigma is exactly what the claim needs, computed independently: 4 epsilon^2 / (mu*^2 log(1 / delta)).
TEST(PrintedErmNoise, OfGradientDescentNeedsAConstantFarAboveOne) {
  struct Row {
    double delta;
    double constants[5];
  };
  constexpr double epsilons[]{0.1, 0.5, 1, 4, 8};
  for (const auto& row :
       {Row{1e-3, {1.75, 3.08, 3.84, 6.28, 8.54}}, Row{1e-5, {3.29, 4.29, 4.84, 6.50, 8.01}}, Row{1e-7, {4.24, 5.02, 5.43, 6.69, 7.83}}}) {
    for (int i = 0; i < 5; ++i) {
      const auto cost = [&](double constant) {
        const auto event = printed_gradient_descent_noise({.records = Count{200'000}, .epochs = Count{1500}, .constant = constant},
                                                          target(epsilons[i], row.delta));
        return accounting::quick_epsilon(event, Delta{row.delta});
      };
      EXPECT_LT(cost(row.constants[i] + 0.006).upper, epsilons[i]);
      EXPECT_GT(cost(row.constants[i] - 0.006).lower, epsilons[i]);
    }
  }
}

TEST(PrintedErmNoise, OfGradientDescentWithConstantOneCostsTwiceItsClaim) {
  for (const auto& [delta, of_one, of_four] : {std::tuple{1e-3, 2.2, 13.35}, std::tuple{1e-5, 2.4, 12.27}, std::tuple{1e-7, 2.5, 11.86}}) {
    const auto cost = [&, at = delta](double claim) {
      return accounting::best_epsilon(printed_gradient_descent_noise({.records = Count{1000}, .epochs = Count{100}}, target(claim, at)),
                                      Delta{at})
          .value;
    };
    EXPECT_NEAR(cost(1).lower, of_one, 0.06);
    EXPECT_NEAR(cost(1).upper, of_one, 0.06);
    EXPECT_NEAR(cost(4).upper, of_four, 0.01);
  }
}

TEST(PrintedErmNoise, OfVarianceReductionShowsEveryRecordThatIsDrawn) {
  struct Row {
    double constant;
    double claim;
    double general;
    double linear;
  };
  for (const auto& row : {Row{1, 0.2, 74'672, 18'785}, Row{1, 1, 1.86e6, 4.65e5}, Row{10, 0.2, 7'559, 1'908}}) {
    const PrintedErm problem{.records = Count{200'000}, .epochs = Count{15}, .steps_per_epoch = Count{5000}, .constant = row.constant};
    for (const auto& [difference, truth] :
         {std::pair{GradientDifference::general, row.general}, std::pair{GradientDifference::linear, row.linear}}) {
      const auto with = [&, d = difference](double share) {
        return printed_svrg_noise(problem, target(row.claim), d, FullGradientShare{share});
      };
      const accounting::Participation accountant;
      EXPECT_NEAR(epsilon(accountant, with(0), Delta{1e-3}).lower / truth, 1, 3e-3);
      EXPECT_NEAR(epsilon(accountant, with(4e-4), Delta{1e-3}).upper / truth, 1, 5e-3);
      EXPECT_NEAR(delta(accountant, with(0), Epsilon{row.claim}).lower, 0.3127, 1e-4);
      const auto shown = delta(accountant, with(0.5), Epsilon{row.claim});
      EXPECT_GT(shown.lower, 0.3127);
      EXPECT_LT(shown.upper, row.claim == 1 ? 0.75 : 0.34);
    }
  }
}

TEST(PrintedErmNoise, OfDoublingEpochsCountsHalfOfItsSteps) {
  const PrintedErm problem{.records = Count{200'000}, .epochs = Count{15}, .steps_per_epoch = Count{10}};
  const auto event = printed_svrg_plus_plus_noise(problem, target(0.2), GradientDifference::general, FullGradientShare{0});
  EXPECT_EQ(std::get<Event::Repeated>(event.node()).count, Count{655'340});
  const auto shown = delta(accounting::Participation{}, event, Epsilon{0.2});
  EXPECT_NEAR(shown.lower, 0.96225, 1e-5);
  EXPECT_NEAR(shown.upper, 0.96225, 1e-5);
}

// The two parts of the noise have the variance of the whole.
TEST(PrintedErmNoise, SplitsItsNoiseBetweenDifferencesAndFullGradients) {
  const PrintedErm problem{.records = Count{200'000}, .epochs = Count{15}, .steps_per_epoch = Count{5000}};
  const double sigma = std::sqrt(75'000 * std::log(1e3)) / (200'000 * 0.2);
  for (const double share : {0.5, 0.1, 1e-3}) {
    const auto all = printed_svrg_noise(problem, target(0.2), GradientDifference::general, FullGradientShare{share});
    const auto& parts = std::get<Event::Composed>(all.node()).events;
    ASSERT_EQ(parts.size(), 2U);
    const auto& sampled = std::get<Event::SampledWithoutReplacement>(std::get<Event::Repeated>(parts[0].node()).event.node()).event;
    const double on_difference = 4 * pairwise_multiplier(sampled)->value();
    const double on_gradient = pairwise_multiplier(std::get<Event::Repeated>(parts[1].node()).event)->value() * 2 / 200'000;
    EXPECT_NEAR(on_difference * on_difference + on_gradient * on_gradient, sigma * sigma, 1e-15);
    EXPECT_NEAR(on_gradient * on_gradient, share * sigma * sigma, 1e-15);
  }
}

TEST(PrintedErmNoise, RefusesWhatIsReleasedWithoutNoise) {
  const PrintedErm problem{.records = Count{1000}, .epochs = Count{10}};
  EXPECT_TRUE(refuses([&] { static_cast<void>(printed_accelerated_mirror_descent_noise(problem, target(1))); }, ErrorCode::unsupported,
                      {"y-step", "exact gradient", "no epsilon"}));
  EXPECT_EQ(printed_accelerated_mirror_descent_noise(problem, target(1), MirrorStep::of_the_noisy_gradient),
            printed_gradient_descent_noise(problem, target(1)));
  for (const auto& bad : {PrintedErm{.records = Count{9}, .epochs = Count{9}, .constant = 0},
                          PrintedErm{.records = Count{9}, .epochs = Count{9}, .constant = std::nan("")}}) {
    EXPECT_TRUE(refuses([&] { static_cast<void>(printed_svrg_noise(bad, target(1))); }, ErrorCode::invalid_argument, {"constant"}));
  }
  EXPECT_TRUE(refuses([&] { static_cast<void>(printed_svrg_noise(problem, target(0))); }, ErrorCode::invalid_argument, {"epsilon"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(printed_svrg_noise(problem, target(1, 0))); }, ErrorCode::invalid_argument, {"delta"}));
  const PrintedErm long_run{.records = Count{9}, .epochs = Count{41}};
  EXPECT_TRUE(refuses([&] { static_cast<void>(printed_svrg_plus_plus_noise(long_run, target(1))); }, ErrorCode::invalid_argument,
                      {"epochs is 41"}));
  const Target other{.epsilon = Epsilon{1}, .delta = Delta{1e-3}, .adjacency = Adjacency::add_or_remove_one};
  EXPECT_TRUE(refuses([&] { static_cast<void>(printed_gradient_descent_noise(problem, other)); }, ErrorCode::unsupported, {"adjacency"}));
}

// ---- attacks: the printed algorithms, planted ----

/// The printed DP-SVRG, b = 1, in one dimension: n - 1 records without a gradient and one of loss max(0, -x), which is smoothed too
/// narrowly to see and has derivative -1 below 0 and 0 above, or none when `present` is false. Says whether any release shows the record:
/// a gradient of -1 where there should be none.
class PlantedSvrg {
 public:
  PlantedSvrg(double sigma, std::uint64_t seed) : noise_{0, sigma}, words_{seed} {}

  bool shows(bool present) {
    constexpr int records = 1000;
    constexpr double step = 0.1;
    bool seen = false;
    double anchor = 0;
    for (int epoch = 0; epoch < 3; ++epoch) {
      const double anchor_gradient = present && anchor < 0 ? -1 : 0;
      const double full = anchor_gradient / records;
      double point = anchor;
      double sum = 0;
      for (int t = 0; t < 125; ++t) {
        const bool drawn = present && words_() % records == 0;
        const double gradient = point < 0 ? -1 : 0;
        const double released = (drawn ? gradient - anchor_gradient : 0) + full + noise_(words_);
        seen = seen || std::abs(released) > 0.5;
        point -= step * released;
        sum += point;
      }
      anchor = sum / 125;
    }
    return seen;
  }

 private:
  std::normal_distribution<double> noise_;
  std::mt19937_64 words_;
};

// 5,000 runs on each side. The claim is (1, 1e-3); the runs prove that delta at epsilon = 1 is above 0.05, and the accountant's upper bound
// stays above what they prove. With honest noise the same attack proves nothing.
TEST(PrintedErmNoise, OfVarianceReductionIsBrokenByAWorstPair) {
  const PrintedErm problem{.records = Count{1000}, .epochs = Count{3}, .steps_per_epoch = Count{125}};
  const auto event = printed_svrg_noise(problem, target(1), GradientDifference::linear);
  const auto delta_shown = [](double sigma) {
    PlantedSvrg algorithm{sigma, 7};
    reference::Hits on_first{0, 5'000};
    reference::Hits on_second{0, 5'000};
    for (int i = 0; i < 5'000; ++i) {
      on_first.hits += algorithm.shows(true) ? 1U : 0U;
      on_second.hits += algorithm.shows(false) ? 1U : 0U;
    }
    return reference::lower_probability(on_first, 5e-10) - std::exp(1.0) * reference::upper_probability(on_second, 5e-10);
  };
  const double printed_sigma = std::sqrt(375 * std::log(1e3)) / 1000;
  const double shown = delta_shown(printed_sigma);
  EXPECT_GT(shown, 0.05);
  const auto proved = accounting::best_delta(event, Epsilon{1}).value;
  EXPECT_LT(shown, proved.upper);
  EXPECT_GT(proved.lower, 1e-3);
  const auto honest = calibrate(
      [](NoiseMultiplier z) { return repeat(Count{375}, without_replacement(Count{1000}, Count{1}, gaussian(z, Adjacency::replace_one))); },
      target(1), accounting::Pld{.width = 1e-3});
  EXPECT_GT(honest.value.value(), 10 * printed_sigma / 2);
  EXPECT_LT(delta_shown(2 * honest.value.value()), 1e-3);
}

/// One step of the printed DP-AccMD on loss (x - z)^2 / 2 over the ball of radius 1: y_1 moves along the gradient itself.
TEST(PrintedErmNoise, OfAcceleratedMirrorDescentShowsTheData) {
  const auto y_of_one_step = [](double mean_of_data, double /*noise of the z-step*/) {
    const double x = 0;
    const double diameter = 2;
    return std::clamp(x - (x - mean_of_data) / (diameter * diameter), -1.0, 1.0);
  };
  std::mt19937_64 words{3};
  std::normal_distribution<double> noise;
  const double first = y_of_one_step(0.5, 0);
  reference::Hits on_first{0, 10'000};
  reference::Hits on_second{0, 10'000};
  for (int i = 0; i < 10'000; ++i) {
    on_first.hits += y_of_one_step(0.5, noise(words)) == first ? 1U : 0U;
    on_second.hits += y_of_one_step(0.498, noise(words)) == first ? 1U : 0U;
  }
  EXPECT_GT(reference::empirical_epsilon(on_first, on_second, 1e-3, 1e-9), 6);
  EXPECT_EQ(on_second.hits, 0U);
}

}  // namespace
}  // namespace surety::papers::printed_erm_noise_test
