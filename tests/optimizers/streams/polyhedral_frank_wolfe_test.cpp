#include <surety/optimizers/streams/polyhedral_frank_wolfe.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/choices/selection.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/selector.h>

#include <support/drawn_cases.h>
#include <support/drawn_records.h>
#include <support/empirical_epsilon.h>
#include <support/first_record.h>
#include <support/refusal.h>
#include <support/taint.h>

namespace surety::optimizers::polyhedral_frank_wolfe_test {
namespace {

PolyhedralFrankWolfeOptions options(std::uint64_t steps, Adjacency adjacency = Adjacency::replace_one) {
  return {.steps = Count{steps},
          .radius = Radius{1.5},
          .noise_multiplier = NoiseMultiplier{3},
          .adjacency = adjacency,
          .clip = LinfClip{0.7},
          .step_scale = StepScaleFactor{1.3}};
}

struct Shown {
  std::vector<std::vector<double>> iterates;
  std::vector<testing::ScriptedSelector::Request> requests;
};

Shown run(const PolyhedralFrankWolfeOptions& options, const Dataset& data, const std::vector<std::size_t>& chosen) {
  testing::ScriptedSelector selector{chosen};
  PolyhedralFrankWolfe algorithm{LogisticLoss{}, options, Count{data.features()}};
  Shown result;
  for (std::size_t i = 0; i < data.size(); ++i) {
    algorithm.observe(data.row(i), data.label(i), selector);
    result.iterates.emplace_back(algorithm.weights().begin(), algorithm.weights().end());
  }
  result.requests = selector.log();
  return result;
}

// 10,000 streams, each with one record replaced: scores before it do not change, those from it on change by at most their sensitivity,
// and nothing else changes at all.
TEST(PolyhedralFrankWolfe, LeaksNothingAndMovesScoresByAtMostTheirSensitivity) {
  double largest_at_first = 0;
  expect_all_within_sensitivity(20240502, [&](std::mt19937_64& random) {
    const auto [features, size, adjacency, drawn, unused] = drawn_stream(6, random);
    const auto chosen = drawn_choices(size, random);
    const Shown a = run(options(size, adjacency), drawn.data, chosen);
    const Shown b = run(options(size, adjacency), drawn.neighbour, chosen);
    Difference found{::testing::AssertionSuccess(), 0};
    for (std::size_t t = 0; t < size; ++t) {
      EXPECT_EQ(a.requests[t].sensitivity, b.requests[t].sensitivity);
      EXPECT_TRUE(a.requests[t].event == b.requests[t].event);
      EXPECT_TRUE(same_bits(a.iterates[t], b.iterates[t]));
      if (t < drawn.place) {
        EXPECT_TRUE(same_bits(a.requests[t].scores, b.requests[t].scores));
        continue;
      }
      const double ratio = range_of_changes(a.requests[t].scores, b.requests[t].scores) / a.requests[t].sensitivity.value();
      found.ratio = std::max(found.ratio, ratio);
      if (t == 0) largest_at_first = std::max(largest_at_first, ratio);
    }
    return found;
  });
  EXPECT_GT(largest_at_first, 0.99);
}

// What is scored and where the choices lead, by the formulas of the header in plain floating point; clipped, and not.
TEST(PolyhedralFrankWolfe, FollowsItsRecursion) {
  std::mt19937_64 random{20261124};
  const auto records = drawn_records(9, 3, random);
  const Dataset data = assemble(records);
  const std::vector<std::size_t> chosen{0, 3, 5, 2, 1, 4, 0, 0, 3};
  for (const double clip : {100.0, 0.4}) {
    auto o = options(9);
    o.clip = LinfClip{clip};
    const auto shown = run(o, data, chosen);
    const LogisticLoss loss;
    std::vector<double> w(3, 0.0);
    std::vector<double> before(3, 0.0);
    std::vector<double> sum(3, 0.0);
    for (std::size_t i = 0; i < 9; ++i) {
      const auto t = static_cast<double>(i) + 1;
      const auto slope = [&](const std::vector<double>& at) { return loss.derivative(data.row(i).dot(at), data.label(i)); };
      const double factor = t * slope(w) - (t - 1) * slope(before);
      double largest = 0;
      for (std::size_t j = 0; j < 3; ++j) largest = std::max(largest, std::abs(factor * data.row(i).values[j]));
      const auto& request = shown.requests[i];
      const double unit = 4 * clip / request.sensitivity.value();  // under replace-one the sensitivity is 4 C
      for (std::size_t j = 0; j < 3; ++j) {
        sum[j] += factor * data.row(i).values[j] * (largest > clip ? clip / largest : 1);
        EXPECT_NEAR(request.scores[2 * j] * unit, -sum[j], 1e-5) << i;
        EXPECT_NEAR(request.scores[2 * j + 1] * unit, sum[j], 1e-5) << i;
      }
      before = w;
      const double step = 1.3 / (t + 1);
      for (double& weight : w) weight *= 1 - step;
      w[chosen[i] / 2] += (chosen[i] % 2 == 0 ? step : -step) * 1.5;
      for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(shown.iterates[i][j], w[j], 1e-12) << i;
    }
  }
}

TEST(PolyhedralFrankWolfe, PlansEveryChoiceThatItMakes) {
  for (const bool laplace : {false, true}) {
    auto settings = options(13);
    settings.laplace = laplace;
    const auto planned = accounting::Releases::of(plan(settings));
    std::mt19937_64 random{3};
    std::vector<DrawnRecord> records(13, DrawnRecord{{0.5, -1}, 1});
    const Shown made = run(settings, assemble(records), std::vector<std::size_t>(13, 2));
    ASSERT_EQ(made.requests.size(), 13U);
    std::vector<Event> asked;
    for (const auto& request : made.requests) asked.push_back(request.event);
    EXPECT_TRUE(accounting::Releases::of(compose(asked)) == planned);
  }
}

// epsilon_t^2 / 8 summed over the choices.
TEST(PolyhedralFrankWolfe, CostsTheSumOfSquaresOfItsChoices) {
  const auto settings = options(1000);
  double rho = 0;
  for (std::uint64_t t = 1; t <= 1000; ++t) {
    const auto first = std::exp2(std::floor(std::log2(static_cast<double>(t))));
    const double epsilon = std::sqrt(first) / (first + 1) / 3;
    rho += epsilon * epsilon / 8;
  }
  const auto found = accounting::zcdp_rho(plan(settings), 128).enclosure();
  EXPECT_NEAR(found.upper, rho, 1e-12 * rho);
}

// Against the printed noise: [HLL22] Algorithm 2 has Laplace noise of scales that stand for choices of
// epsilon_t^2 = epsilon^2 t / (t + 1)^2 / (4 log n log(1 / delta)). The root of the sum of epsilon_t^2 over theirs says how much less noise
// there is at equal steps. Figures: sqrt(8 rho) and sqrt(2 rho) over theirs, rho being the largest that zero-concentration allows.
TEST(PolyhedralFrankWolfe, NeedsLessNoiseThanThePaper) {
  struct Row {
    double epsilon;
    double delta;
    double laplace;
    double gumbel;
  };
  constexpr std::uint64_t n = 10'000;
  for (const auto& row :
       {Row{0.1, 1e-3, 2.72, 5.44}, Row{0.1, 1e-5, 2.12, 4.25}, Row{0.1, 1e-7, 1.92, 3.85}, Row{1, 1e-3, 1.93, 3.85},
        Row{1, 1e-5, 1.78, 3.57}, Row{1, 1e-7, 1.72, 3.43}, Row{4, 1e-3, 1.55, 3.09}, Row{4, 1e-5, 1.56, 3.12}, Row{4, 1e-7, 1.56, 3.12}}) {
    const Target target{.epsilon = Epsilon{row.epsilon}, .delta = Delta{row.delta}, .adjacency = Adjacency::replace_one};
    double printed = 0;
    double shape = 0;
    for (std::uint64_t t = 1; t <= n; ++t) {
      const auto square = [](double x) { return x / ((x + 1) * (x + 1)); };
      printed += square(static_cast<double>(t));
      shape += square(static_cast<double>(std::bit_floor(t)));
    }
    printed *= row.epsilon * row.epsilon / (4 * std::log(n) * std::log(1 / row.delta));
    for (const bool laplace : {false, true}) {
      const auto at = [&](NoiseMultiplier z) {
        return plan(PolyhedralFrankWolfeOptions{.steps = Count{n}, .noise_multiplier = z, .laplace = laplace});
      };
      const auto found = calibrate(at, target, accounting::Zcdp{});
      EXPECT_LE(found.epsilon.upper, row.epsilon);
      EXPECT_NEAR(std::sqrt(shape / printed) / found.value.value(), laplace ? row.laplace : row.gumbel, 0.0051)
          << row.epsilon << " " << row.delta;
    }
  }
}

TEST(PolyhedralFrankWolfe, WithoutNoiseApproachesTheMinimum) {
  // Labels are the sign of the third coordinate: the best point of the ball is its vertex there.
  std::mt19937_64 random{11};
  auto settings = options(4000);
  PolyhedralFrankWolfe algorithm{LogisticLoss{}, settings, Count{5}};
  testing::ExactSelector selector;
  for (int i = 0; i < 4000; ++i) {
    std::vector<double> row(5);
    for (auto& value : row) value = std::uniform_real_distribution<double>{-1, 1}(random);
    const double norm = mechanisms::l2_norm(row);
    algorithm.observe({.indices = {}, .values = row, .norm = norm}, row[2] > 0 ? 1.0 : -1.0, selector);
  }
  EXPECT_GT(algorithm.weights()[2], 1.3);
}

// ---- A lower bound from runs. ----

/// Chooses with noise, without a ledger, and keeps the choices.
struct WatchedSelector final : Selector {
  explicit WatchedSelector(mechanisms::ReplayBits& source) : bits{source} {}
  mechanisms::ReplayBits& bits;
  std::vector<std::size_t> chosen = {};
  std::size_t select(std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change, const Event& event) override {
    const mechanisms::ExponentialMechanism mechanism{{.epsilon = std::get<Event::Exponential>(event.node()).epsilon,
                                                      .sensitivity = sensitivity,
                                                      .change = change,
                                                      .candidates = Count{scores.size()},
                                                      .adjacency = event.adjacency()}};
    chosen.push_back(mechanism.release(scores, bits));
    return chosen.back();
  }
};

// One feature, a first record at the clip, then records of nothing: every choice t tells the sign of the first record, and its log-odds
// differ by epsilon_t / 2 from even to either side.
TEST(PolyhedralFrankWolfe, LosesNoMoreThanItIsCharged) {
  auto settings = options(7);
  settings.noise_multiplier = NoiseMultiplier{0.4};
  constexpr double delta = 1e-3;
  const auto hits = [&](double label) {
    mechanisms::ReplayBits bits{static_cast<std::uint64_t>(label + 30)};
    constexpr std::uint64_t runs = 60'000;
    std::uint64_t count = 0;
    for (std::uint64_t k = 0; k < runs; ++k) {
      WatchedSelector selector{bits};
      PolyhedralFrankWolfe algorithm{LogisticLoss{}, settings, Count{1}};
      observe_first_record_alone(algorithm, label, 7, selector);
      if (std::count(selector.chosen.begin(), selector.chosen.end(), 0) >= 6) ++count;
    }
    return reference::Hits{.hits = count, .runs = runs};
  };
  const double lower = reference::empirical_epsilon(hits(1), hits(-1), delta, 1e-9);
  const double charged = accounting::epsilon(accounting::Zcdp{}, plan(settings), Delta{delta}).upper;
  EXPECT_LE(lower, charged);
  EXPECT_GE(lower, charged / 4);
  RecordProperty("lower_over_upper", std::to_string(lower / charged));
}

// ---- Planted violations: each is a way in which such an algorithm was or could be written, and each is caught. ----

enum class Mistake { none, first_step_weight, sensitivity_of_one_score, exact_vertex, late_choice_not_charged };

Shown run_with(Mistake mistake, const Dataset& data, const std::vector<std::size_t>& chosen) {
  const LogisticLoss loss;
  const auto settings = options(data.size());
  const double clip = settings.clip.value();
  testing::ScriptedSelector selector{chosen};
  std::vector<double> now(data.features(), 0.0);
  auto before = now;
  std::vector<double> sum(data.features(), 0.0);
  Shown result;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const RowView row = data.row(i);
    const double t = static_cast<double>(i) + 1;
    double factor = t * loss.derivative(row.dot(now), data.label(i)) - (t - 1) * loss.derivative(row.dot(before), data.label(i));
    double largest = 0;
    for (const double value : row.values) largest = std::max(largest, std::abs(factor * value));
    factor *= std::min(1.0, clip / largest);
    if (mistake == Mistake::first_step_weight && i == 0) factor *= 2;
    row.add_scaled_to(factor, sum);
    std::vector<double> scores;
    for (const double value : sum) {
      scores.push_back(-value);
      scores.push_back(value);
    }
    const ScoreSensitivity said{mistake == Mistake::sensitivity_of_one_score ? 2 * clip : 4 * clip};
    std::size_t vertex = 0;
    if (mistake == Mistake::late_choice_not_charged && i + 1 == data.size()) {
      vertex = testing::ExactSelector{}.select(scores, said, ScoreChange::range, choice(settings, i + 1));
    } else {
      vertex = selector.select(scores, said, ScoreChange::range, choice(settings, i + 1));
    }
    if (mistake == Mistake::exact_vertex)
      vertex = testing::ExactSelector{}.select(scores, said, ScoreChange::range, choice(settings, i + 1));
    before = now;
    const double step = settings.step_scale.value() / (t + 1);
    for (double& weight : now) weight *= 1 - step;
    now[vertex / 2] += (vertex % 2 == 0 ? step : -step) * settings.radius.value();
    result.iterates.push_back(now);
  }
  result.requests = selector.log();
  return result;
}

TEST(PolyhedralFrankWolfe, PlantedViolationsAreCaught) {
  const std::vector<DrawnRecord> records{{{3, 0.1}, 1}, {{-0.3, 0.4}, -1}, {{0.2, 0.7}, 1}};
  auto neighbours = records;
  for (auto& value : neighbours[0].row) value = -value;
  const std::vector<std::size_t> chosen{0, 3, 1};
  const auto largest_ratio = [&](Mistake mistake) {
    const Shown a = run_with(mistake, assemble(records), chosen);
    const Shown b = run_with(mistake, assemble(neighbours), chosen);
    double ratio = 0;
    for (std::size_t t = 0; t < a.requests.size(); ++t) {
      ratio = std::max(ratio, range_of_changes(a.requests[t].scores, b.requests[t].scores) / a.requests[t].sensitivity.value());
    }
    return ratio;
  };
  const auto same_iterates = [&](Mistake mistake) {
    const Shown a = run_with(mistake, assemble(records), chosen);
    const Shown b = run_with(mistake, assemble(neighbours), chosen);
    for (std::size_t t = 0; t < a.iterates.size(); ++t) {
      if (!same_bits(a.iterates[t], b.iterates[t])) return false;
    }
    return true;
  };
  const auto charged_as_planned = [&](Mistake mistake) {
    std::vector<Event> asked;
    for (const auto& request : run_with(mistake, assemble(records), chosen).requests) asked.push_back(request.event);
    return accounting::Releases::of(compose(asked)) == accounting::Releases::of(plan(options(records.size())));
  };
  EXPECT_LE(largest_ratio(Mistake::none), 1 + 1e-12);
  EXPECT_TRUE(same_iterates(Mistake::none));
  EXPECT_TRUE(charged_as_planned(Mistake::none));
  EXPECT_GT(largest_ratio(Mistake::first_step_weight), 1.5);
  EXPECT_GT(largest_ratio(Mistake::sensitivity_of_one_score), 1.5);
  EXPECT_FALSE(same_iterates(Mistake::exact_vertex));
  EXPECT_FALSE(charged_as_planned(Mistake::late_choice_not_charged));
}

// A row that names a coordinate twice would move it by twice the clip.
TEST(PolyhedralFrankWolfe, CountsACoordinateOnce) {
  PolyhedralFrankWolfe algorithm{LogisticLoss{}, options(1), Count{2}};
  const std::vector<std::uint32_t> indices{1, 1};
  const std::vector<double> values{9, 9};
  testing::ScriptedSelector selector{{0}};
  algorithm.observe({.indices = indices, .values = values, .norm = 9 * std::sqrt(2)}, 1, selector);
  EXPECT_EQ(range_of_changes(selector.log()[0].scores, std::vector<double>(4, 0.0)), selector.log()[0].sensitivity.value() / 2);
}

TEST(PolyhedralFrankWolfe, RefusesWhatItHasNoGuaranteeFor) {
  EXPECT_TRUE(refuses([] { static_cast<void>(plan(options(10, Adjacency::add_or_remove_one))); }, ErrorCode::unsupported,
                      {"adjacency is add-or-remove-one"}));
  EXPECT_TRUE(
      refuses([] { static_cast<void>(plan(options((std::uint64_t{1} << 40) + 1))); }, ErrorCode::invalid_argument, {"steps", "2^40"}));
}

}  // namespace
}  // namespace surety::optimizers::polyhedral_frank_wolfe_test
