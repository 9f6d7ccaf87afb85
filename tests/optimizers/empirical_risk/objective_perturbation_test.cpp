#include <surety/optimizers/empirical_risk/objective_perturbation.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/empirical_risk/minimizer.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/perturbing_releaser.h>

#include <support/drawn_records.h>
#include <support/refusal.h>
#include <support/taint.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::objective_perturbation_test {
namespace {

const SquaredLoss squared{.label_bound = LabelBound{1}, .weight_radius = Radius{1}};

ObjectivePerturbationOptions some_options(std::uint64_t records, Adjacency adjacency = Adjacency::replace_one) {
  return {.records = Count{records},
          .noise_multiplier = NoiseMultiplier{4},
          .epsilon = Epsilon{1.5},
          .regularization = Regularization{0.2},
          .adjacency = adjacency,
          .clip = ClippingNorm{0.6},
          .row_norm = Radius{0.9}};
}

// ---- The law of the exact minimiser in one dimension ----

/// Records (x, y) with |x| <= R.
struct Point {
  double x;
  double label;
};

/// n times the derivative of the unperturbed objective, and its own derivative: -b and its rate at the minimiser w for b.
template <class O>
std::array<double, 2> score_and_rate(const O& objective, const std::vector<Point>& data, const ObjectivePerturbationOptions& options,
                                     double w) {
  const double strong = static_cast<double>(options.records.value()) * options.regularization.value();
  double score = strong * w;
  double rate = strong;
  for (const auto& [x, label] : data) {
    constexpr double h = 1e-6;
    const double gradient = objective.derivative(w * x, label) * x;
    if (std::abs(gradient) > options.clip.value()) {
      score += std::copysign(options.clip.value(), gradient);
    } else {
      score += gradient;
      rate += (objective.derivative(w * x + h, label) - objective.derivative(w * x - h, label)) / (2 * h) * x * x;
    }
  }
  return {score, rate};
}

/// The density of the minimiser on a grid of weights: that of b there times the rate.
constexpr int points = 6'000;

template <class O>
std::vector<double> density(const O& objective, const std::vector<Point>& data, const ObjectivePerturbationOptions& options, double end) {
  const double sigma = options.noise_multiplier.value() * options.clip.value();
  std::vector<double> result;
  double mass = 0;
  for (int i = 0; i < points; ++i) {
    const auto [score, rate] = score_and_rate(objective, data, options, end * ((2 * i + 1.0) / points - 1));
    result.push_back(std::exp(-score * score / (2 * sigma * sigma)) / (sigma * std::sqrt(2 * M_PI)) * rate * 2 * end / points);
    mass += result.back();
  }
  EXPECT_NEAR(mass, 1, 0.03);  // the rate jumps at the clip
  for (double& p : result) p /= mass;
  return result;
}

double hockey_stick(const std::vector<double>& p, const std::vector<double>& q, double epsilon) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::max(0.0, p[i] - std::exp(epsilon) * q[i]);
  return sum;
}

/// The largest ratio of the truth to what is claimed, over worst and ordinary pairs, noises, strengths and epsilons.
template <class O, class Claim>
double largest_share(const O& objective, const Claim& claim) {
  double largest = 0;
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out}) {
    for (const double z : {0.8, 3.0}) {
      for (const double lambda : {0.02, 0.3}) {
        for (const double clip : {0.05, 0.3, 1.0}) {
          auto options = some_options(2, adjacency);
          options.noise_multiplier = NoiseMultiplier{z};
          options.regularization = Regularization{lambda};
          options.clip = ClippingNorm{clip};
          const double end = (10 * z + 2) * clip / (2 * lambda);
          const auto law = [&](Point second) { return density(objective, {Point{0.5, 1}, second}, options, end); };
          const std::vector<std::vector<double>> firsts{law({0.9, 1}), law({0.9, -1})};
          std::vector<std::vector<double>> seconds{law({0, 1})};
          if (adjacency == Adjacency::replace_one) seconds = {law({0.9, -1}), law({-0.9, -1}), law({0.2, 1})};
          for (const double epsilon : {0.2, 1.0, 2.5, 4.0}) {
            options.epsilon = Epsilon{epsilon};
            const double claimed = claim(options, perturbed_loss(objective));
            if (!(claimed < 1) || claimed < 1e-4) continue;
            for (const auto& first : firsts) {
              for (const auto& second : seconds) {
                largest =
                    std::max({largest, hockey_stick(first, second, epsilon) / claimed, hockey_stick(second, first, epsilon) / claimed});
              }
            }
          }
        }
      }
    }
  }
  return largest;
}

TEST(ObjectivePerturbationDelta, IsAboveTheTruthAndNotFar) {
  const double logistic = largest_share(LogisticLoss{}, objective_perturbation_delta);
  const double hinge = largest_share(SmoothedHingeLoss{.width = SmoothingWidth{0.5}}, objective_perturbation_delta);
  const double parabola = largest_share(squared, objective_perturbation_delta);
  for (const double share : {logistic, hinge, parabola}) EXPECT_LE(share, 1.001);
  EXPECT_GT(logistic, 0.8);
  EXPECT_GT(hinge, 0.6);
  EXPECT_GT(parabola, 0.2);
  RecordProperty("logistic", std::to_string(logistic));
  RecordProperty("smoothed_hinge", std::to_string(hinge));
  RecordProperty("squared", std::to_string(parabola));
}

// Claims that were made or might be: the truth exceeds each of them.
TEST(ObjectivePerturbationDelta, PlantedClaimsAreCaught) {
  const auto without_determinant = [](ObjectivePerturbationOptions options, ObjectivePerturbationLoss loss) {
    loss.slope = 1e-12;
    return objective_perturbation_delta(options, loss);
  };
  const auto half_slope = [](ObjectivePerturbationOptions options, ObjectivePerturbationLoss loss) {
    loss.slope /= 3;
    return objective_perturbation_delta(options, loss);
  };
  const auto zero_out_for_all = [](ObjectivePerturbationOptions options, ObjectivePerturbationLoss loss) {
    options.adjacency = Adjacency::zero_out;
    return objective_perturbation_delta(options, loss);
  };
  EXPECT_GT(largest_share(LogisticLoss{}, without_determinant), 1.05);
  EXPECT_GT(largest_share(SmoothedHingeLoss{.width = SmoothingWidth{0.5}}, without_determinant), 1.05);
  EXPECT_GT(largest_share(SmoothedHingeLoss{.width = SmoothingWidth{0.5}}, half_slope), 1.01);
  EXPECT_GT(largest_share(LogisticLoss{}, zero_out_for_all), 1.5);
}

TEST(ObjectivePerturbationDelta, IsTheFormula) {
  auto options = some_options(50);
  options.epsilon = Epsilon{0.8};
  const double left = 0.8 - std::log1p(0.25 * 0.81 / (50 * 0.2));
  const auto gaussian = [&](double mu) {
    const auto phi = [](double x) { return std::erfc(-x / std::sqrt(2)) / 2; };
    return phi(mu / 2 - left / mu) - std::exp(left) * phi(-mu / 2 - left / mu);
  };
  EXPECT_NEAR(objective_perturbation_delta(options, perturbed_loss(LogisticLoss{})) / (gaussian(0.5) + 2 * gaussian(0.25)), 1, 1e-9);
  options.adjacency = Adjacency::zero_out;
  EXPECT_NEAR(objective_perturbation_delta(options, perturbed_loss(LogisticLoss{})) / gaussian(0.25), 1, 1e-9);
  const double steeper = 0.8 - std::log1p(0.81 / (50 * 0.2));
  const ObjectivePerturbationLoss two_signs = perturbed_loss(squared);
  EXPECT_FALSE(two_signs.has_one_sign);
  EXPECT_LT(steeper, left);
  EXPECT_GT(objective_perturbation_delta(options, two_signs), 2 * gaussian(0.25));
  options.epsilon = Epsilon{0.01};
  EXPECT_EQ(objective_perturbation_delta(options, two_signs), HUGE_VAL);
}

TEST(ObjectivePerturbationMultiplier, IsTheLeast) {
  auto options = some_options(1000);
  options.regularization = Regularization{0.01};
  const auto loss = perturbed_loss(LogisticLoss{});
  options.noise_multiplier = objective_perturbation_multiplier(options, loss, Delta{1e-6});
  EXPECT_LE(objective_perturbation_delta(options, loss), 1e-6);
  options.noise_multiplier = NoiseMultiplier{options.noise_multiplier.value() * (1 - 1e-5)};
  EXPECT_GT(objective_perturbation_delta(options, loss), 1e-6);
  options.regularization = Regularization{1e-6};
  EXPECT_TRUE(refuses([&] { static_cast<void>(objective_perturbation_multiplier(options, loss, Delta{1e-6})); },
                      ErrorCode::invalid_argument, {"no noise reaches epsilon 1.5"}));
}

TEST(ObjectivePerturbationMultiplier, NeverNeedsMoreNoiseForMore) {
  auto options = some_options(4360);
  options.regularization = Regularization{0.01};
  for (const double delta : {1e-3, 1e-5, 1e-9}) {
    double last = HUGE_VAL;
    for (const double promised : {0.5, 4.0, 16.0, 30.0, 32.0, 35.0, 37.0, 38.0, 39.0, 40.0, 48.0, 64.0, 100.0, 1000.0}) {
      options.epsilon = objective_perturbation_epsilon(Epsilon{promised}, Delta{delta});
      EXPECT_LE(options.epsilon.value(), promised);
      const auto noise = objective_perturbation_multiplier(options, perturbed_loss(LogisticLoss{}), Delta{delta});
      EXPECT_LE(noise.value(), last * (1 + 2e-6)) << promised << " at " << delta;
      last = noise.value();
    }
  }
}

// ---- The algorithm ----

/// The neighbour's b that gives the same exact minimiser: b' = b + n (gradient of F - gradient of F') there.
template <class O>
std::vector<double> matching_noise(const O& objective, const Dataset& data, const Dataset& neighbour, const std::vector<double>& b,
                                   const ObjectivePerturbationOptions& options, const std::vector<double>& weights) {
  std::vector<double> matched = b;
  const auto add = [&](const Dataset& records, double sign) {
    const Dataset clipped = with_clipped_rows(records, options.row_norm);
    for (std::size_t i = 0; i < clipped.size(); ++i) {
      const RowView row = clipped.row(i);
      if (row.norm == 0) continue;
      const double largest = options.clip.value() / row.norm;
      row.add_scaled_to(sign * std::clamp(objective.derivative(row.dot(weights), clipped.label(i)), -largest, largest), matched);
    }
  };
  add(data, 1);
  add(neighbour, -1);
  return matched;
}

// Given the exact minimiser, which fixes b on each side, one record moves what is released by no more than is said for it: 10,000 pairs.
TEST(ObjectivePerturbation, GivenTheMinimiserTheQueryMovesByAtMostItsSensitivity) {
  std::mt19937_64 random{77};
  double largest = 0;
#ifdef __OPTIMIZE__
  constexpr int cases = 10'000;
#else
  constexpr int cases = 1'000;  // as under the sanitizers
#endif
  std::map<std::pair<std::size_t, Adjacency>, ObjectivePerturbationEvents> events;  // they take longer than a run on so few records
  for (std::size_t size = 1; size <= 5; ++size) {
    for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out}) {
      events.emplace(std::pair{size, adjacency},
                     objective_perturbation_events(some_options(size, adjacency), perturbed_loss(LogisticLoss{})));
    }
  }
  for (int c = 0; c < cases; ++c) {
    const std::size_t features = 1 + random() % 3;
    const std::size_t size = 1 + random() % 5;
    const auto adjacency = random() % 2 == 0 ? Adjacency::replace_one : Adjacency::zero_out;
    const auto [data, neighbour, place] = drawn_neighbours(size, features, adjacency, random);
    const auto options = some_options(size, adjacency);
    std::vector<double> b(features);
    for (auto& each : b) each = std::uniform_real_distribution<double>{-3, 3}(random);
    testing::ScriptedPerturbingReleaser first{b, {std::vector<double>(features, 0.5)}};
    const auto result = detail::perturb_and_minimize(data, LogisticLoss{}, options, events.at({size, adjacency}), first);
    // The minimiser to within what the query has of it.
    const auto weights = mechanisms::to_reals(first.log()[0].query);
    testing::ScriptedPerturbingReleaser second{matching_noise(LogisticLoss{}, data, neighbour, b, options, weights),
                                               {std::vector<double>(features, 0.5)}};
    const auto other = detail::perturb_and_minimize(neighbour, LogisticLoss{}, options, events.at({size, adjacency}), second);
    ASSERT_TRUE(same_bits(result, other));
    ASSERT_EQ(first.perturbations(), second.perturbations());
    const auto& a = first.log()[0];
    const auto& z = second.log()[0];
    ASSERT_TRUE(a.sensitivity == z.sensitivity && a.event == z.event && a.query.grid == z.query.grid);
    const double ratio = query_distance(a.query, z.query) / a.sensitivity.value();
    ASSERT_LE(ratio, 1) << "case " << c;
    largest = std::max(largest, ratio);
  }
  RecordProperty("largest_ratio", std::to_string(largest));
}

// docs/proofs/objective-perturbation.md#approximate: the distance, and what is minimized and released, by the formulas; noise that is longer than
// what is provided for among it.
TEST(ObjectivePerturbation, ReleasesTheCertifiedMinimumOfItsObjective) {
  std::mt19937_64 random{78};
  for (const double length : {0.3, 1000.0}) {
    for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out}) {
      const std::size_t size = 5;
      const auto options = some_options(size, adjacency);
      const Dataset data = assemble(drawn_records(size, 3, random));
      const double n = 5;
      const double sigma = options.noise_multiplier.value() * options.clip.value();
      const double most = sigma * (std::sqrt(3.0) + 10.25);
      const auto shape =
          minimum_shape(LogisticLoss{}, 1 + 0x1p-40, options.clip, options.row_norm, options.regularization, most / n * (1 + 0x1p-40), 3);
      const double distance = perturbed_minimum_distance(LogisticLoss{}, options, 3);
      const double wanted =
          (1 + 0x1p-40) * (minimum_distance(shape) + 0x1p-28 * sigma * std::sqrt(3.0) / n / options.regularization.value());
      EXPECT_NEAR(distance / wanted, 1, 1e-15);

      const std::vector<double> b{0.5 * length * sigma, -0.7 * length * sigma, 0.1 * length * sigma};
      testing::ScriptedPerturbingReleaser script{b, {{1, 2, 3}}};
      const auto result = detail::perturb_and_minimize(data, LogisticLoss{}, options,
                                                       objective_perturbation_events(options, perturbed_loss(LogisticLoss{})), script);
      EXPECT_EQ(result, (std::vector<double>{1, 2, 3}));
      const auto& request = script.log()[0];
      const Grid grid = mechanisms::grid_for(L2Sensitivity{2 * distance}, options.output_multiplier);
      EXPECT_TRUE(request.query.grid == grid);
      EXPECT_EQ(request.sensitivity, mechanisms::after_rounding(L2Sensitivity{2 * distance}, grid, 3));
      std::vector<double> linear = b;
      const double norm = mechanisms::l2_norm(linear);
      for (double& c : linear) c = (norm > most ? c * (most / norm) : c) / n;
      const auto minimum = minimize(with_clipped_rows(data, options.row_norm), LogisticLoss{}, 1 / n, linear, shape);
      EXPECT_EQ(request.query, mechanisms::round_to_nearest(minimum, grid));
    }
  }
}

TEST(ObjectivePerturbation, AsksForItsPlan) {
  const auto options = some_options(2, Adjacency::zero_out);
  testing::ScriptedPerturbingReleaser releaser{{0.5, -1}, {{0.25, 4}}};
  const auto weights = objective_perturbation(Dataset::dense(2, {0.1, 0.9, -0.4, 0.3}, {1, -1}), LogisticLoss{}, options, releaser);
  EXPECT_EQ(weights, (std::vector<double>{0.25, 4}));
  ASSERT_EQ(releaser.perturbations().size(), 1U);
  ASSERT_EQ(releaser.log().size(), 1U);
  EXPECT_EQ(releaser.perturbations()[0].sigma.value(), 4 * 0.6);
  EXPECT_EQ(plan(options, LogisticLoss{}), compose({releaser.perturbations()[0].event, releaser.log()[0].event}));
  // Where the gradient of the perturbed objective vanishes.
  const auto query = mechanisms::to_reals(releaser.log()[0].query);
  std::vector<double> gradient{0.5 / 2 + 0.2 * query[0], -1.0 / 2 + 0.2 * query[1]};
  const Dataset clipped = with_clipped_rows(Dataset::dense(2, {0.1, 0.9, -0.4, 0.3}, {1, -1}), options.row_norm);
  for (std::size_t i = 0; i < 2; ++i) {
    const RowView row = clipped.row(i);
    const double largest = options.clip.value() / row.norm;
    row.add_scaled_to(std::clamp(LogisticLoss{}.derivative(row.dot(query), clipped.label(i)), -largest, largest) / 2, gradient);
  }
  EXPECT_NEAR(gradient[0], 0, 1e-7);
  EXPECT_NEAR(gradient[1], 0, 1e-7);
}

// Noise longer than is provided for, which is in delta, is shortened and not refused.
TEST(ObjectivePerturbation, TakesNoiseOfAnyLength) {
  const auto options = some_options(2);
  for (const double b : {1e3, 1e200}) {
    testing::ScriptedPerturbingReleaser releaser{{b}, {{0}}};
    static_cast<void>(objective_perturbation(Dataset::dense(1, {0.3, 0.4}, {1, 1}), LogisticLoss{}, options, releaser));
    // sigma (1 + 10.25) = 27 over n lambda = 0.4, and the records' part.
    EXPECT_NEAR(mechanisms::to_reals(releaser.log()[0].query)[0], -(2.4 * 11.25 - 0.7) / 0.4, 0.1);
  }
}

TEST(ObjectivePerturbation, SpendsItsPlanAndNoMore) {
  const TemporaryFolder folder;
  auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::replace_one);
  const Dataset data = Dataset::dense(2, {0.1, 0.9, -0.4, 0.3}, {1, -1});
  const auto options = some_options(2);
  auto reservation = ledger.reserve({.event = plan(options, LogisticLoss{}), .not_private = true});
  mechanisms::ReplayBits bits{4};
  NoisyPerturbingReleaser releaser{reservation, bits};
  EXPECT_EQ(objective_perturbation(data, LogisticLoss{}, options, releaser).size(), 2U);
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(objective_perturbation(data, LogisticLoss{}, options, releaser)); }, ErrorCode::budget_exceeded, {}));
  reservation.settle(accounting::Stopping::data_independent);
  EXPECT_EQ(ledger.event(), plan(options, LogisticLoss{}));
}

TEST(ObjectivePerturbation, Learns) {
  std::mt19937_64 random{12};
  const Dataset data = learnable_records(4000, random);
  ObjectivePerturbationOptions options{
      .records = Count{4000}, .noise_multiplier = NoiseMultiplier{1}, .epsilon = Epsilon{0.9}, .regularization = Regularization{0.01}};
  options.noise_multiplier = objective_perturbation_multiplier(options, perturbed_loss(LogisticLoss{}), Delta{9e-7});
  const TemporaryFolder folder;
  auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::replace_one);
  const Event event = plan(options, LogisticLoss{});
  EXPECT_LT(accounting::best_epsilon(event, Delta{1e-6}).value.upper, 1.05);
  auto reservation = ledger.reserve({.event = event, .not_private = true});
  mechanisms::ReplayBits bits{5};
  NoisyPerturbingReleaser releaser{reservation, bits};
  const auto weights = objective_perturbation(data, LogisticLoss{}, options, releaser);
  testing::ScriptedPerturbingReleaser exact{{0, 0}, {{0, 0}}};
  static_cast<void>(objective_perturbation(data, LogisticLoss{}, options, exact));
  const auto best = mechanisms::to_reals(exact.log()[0].query);
  const double excess = regularized_loss(LogisticLoss{}, data, weights, options.regularization) -
                        regularized_loss(LogisticLoss{}, data, best, options.regularization);
  EXPECT_GE(excess, -1e-9);
  EXPECT_LT(excess, 0.01);
}

TEST(ObjectivePerturbation, RefusesBeforeAnythingIsDrawn) {
  testing::ScriptedPerturbingReleaser nothing{{}, {{}}};
  const Dataset data = Dataset::dense(1, {1, 1}, {1, -1});
  const auto refused = [&](const Dataset& records, const ObjectivePerturbationOptions& options, ErrorCode code, std::string_view words) {
    return refuses([&] { static_cast<void>(objective_perturbation(records, LogisticLoss{}, options, nothing)); }, code, {words});
  };
  auto options = some_options(2, Adjacency::add_or_remove_one);
  EXPECT_TRUE(refused(data, options, ErrorCode::unsupported, "adjacency is add-or-remove-one"));
  options = some_options(3);
  EXPECT_TRUE(refused(data, options, ErrorCode::invalid_argument, "2 records, must have 3"));
  options = some_options(2);
  EXPECT_TRUE(refused(Dataset::dense(1, {1, 1}, {}), options, ErrorCode::invalid_argument, "labels"));
  options.regularization = Regularization{0};
  EXPECT_TRUE(refused(data, options, ErrorCode::invalid_argument, "regularization is 0"));
  options = some_options(2);
  options.noise_multiplier = NoiseMultiplier{0.01};
  EXPECT_TRUE(refused(data, options, ErrorCode::invalid_argument, "must be less than 1"));
  EXPECT_TRUE(nothing.perturbations().empty());
}

}  // namespace
}  // namespace surety::optimizers::objective_perturbation_test
