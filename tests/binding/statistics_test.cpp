// What a statistic costs: its event against the exact divergence of what it releases on neighbouring files (tests/binding/binding.h). The
// files go through StatisticSum record by record, the noise is the one that noise_for makes.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <surety/statistics/statistics.h>

#include <binding/binding.h>
#include <support/every_statistic.h>
#include <support/random.h>

namespace surety::statistics::statistics_test {

using namespace data;

namespace {

using namespace testing;

const Condition condition = parse_condition("x>0");

/// One record: not counted, or counted with this cell or with a missing one.
using Record = std::optional<std::variant<double, std::string, std::monostate>>;

std::vector<Record> hard_records(const Statistic& statistic) {
  std::vector<Record> result;
  if (statistic.where) result.push_back(std::nullopt);
  for (const double x :
       {std::nan(""), infinity, -infinity, 0.0, -0.0, 5e-324, -1e-310, 1e308, -1e308, 0.12, -0.12, 0.999, 1.0, -1.0, 3.5, 6.0, 6.01}) {
    result.emplace_back(x);
  }
  for (const char* text : {"red", "green", "blue", ""}) result.emplace_back(text);
  result.emplace_back(std::monostate{});
  return result;
}

std::vector<std::int64_t> sum_of(const Statistic& statistic, Grid grid, NoiseLaw law, const std::vector<Record>& records) {
  StatisticSum sum{statistic, grid, law};
  const auto* const histogram = std::get_if<HistogramOf>(&statistic.of);
  const bool is_text = histogram != nullptr && std::holds_alternative<Categories>(histogram->cells);
  for (const auto& record : records) {
    if (!record) continue;
    if (std::holds_alternative<CountOf>(statistic.of)) {
      sum.add_to_count();
    } else if (std::holds_alternative<std::monostate>(*record)) {
      sum.add_damaged();
    } else if (is_text) {
      sum.add(std::holds_alternative<std::string>(*record) ? std::get<std::string>(*record) : "none");
    } else {
      sum.add(std::holds_alternative<double>(*record) ? std::get<double>(*record) : 2.0);
    }
  }
  return sum.sum().steps;
}

/// All moves of the sum between neighbours, up to sign.
std::set<std::vector<std::int64_t>> moves(const Statistic& statistic, Grid grid, NoiseLaw law) {
  std::set<std::vector<std::int64_t>> result;
  const auto take = [&](const std::vector<Record>& a, const std::vector<Record>& b) {
    auto x = sum_of(statistic, grid, law, a);
    const auto y = sum_of(statistic, grid, law, b);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::abs(x[i] - y[i]);
    result.insert(x);
  };
  const auto records = hard_records(statistic);
  const Record rest{0.5};
  for (const auto& record : records) {
    if (statistic.adjacency == Adjacency::replace_one) {
      for (const auto& other : records) take({rest, record}, {rest, other});
    } else {
      // The record that contributes zero leaves no trace, nor does one that is not there.
      take({rest, record}, {rest});
    }
  }
  return result;
}

/// The law of the noise in steps, from the event: scale or multiplier x the sensitivity of the moves themselves.
reference::SymmetricLaw law_of(const StatisticNoise& noise, double steps_per_unit) {
  if (const auto* const laplace = std::get_if<mechanisms::Laplace>(&noise))
    return testing::rounded_laplace_law(laplace->scale() * steps_per_unit);
  auto law = testing::rounded_gaussian_law(std::get<mechanisms::Gaussian>(noise).sigma() * steps_per_unit);
  law.reach = law.reach * 2 / 3;  // 1e-17 is left out
  return law;
}

/// The dearest neighbours: of the farthest moves, in l1 for Laplace noise and in l2 for Gaussian noise.
std::vector<Neighbours> dearest(const Statistic& statistic, const StatisticSum& sum, const StatisticNoise& noise) {
  const bool is_laplace = std::holds_alternative<mechanisms::Laplace>(noise);
  const auto length = [&](const std::vector<std::int64_t>& move) {
    std::int64_t result = 0;
    for (const auto steps : move) result += is_laplace ? steps : steps * steps;
    return result;
  };
  std::vector<std::int64_t> farthest;
  for (const auto& move : moves(statistic, sum.grid(), is_laplace ? NoiseLaw::laplace : NoiseLaw::gaussian)) {
    if (farthest.empty() || length(move) > length(farthest)) farthest = move;
  }
  const auto law = law_of(noise, sum.grid().steps_per_unit());
  std::optional<Neighbours> result;
  for (const auto steps : farthest) {
    if (steps == 0) continue;
    const auto coordinate = shifted(law, steps);
    result = result ? *result * coordinate : coordinate;
  }
  return {*result};
}

/// But variances, whose three coordinates make a law of minutes: integer_sum_test holds their sensitivities to all neighbours.
std::vector<Statistic> statistics() {
  auto all = every_statistic(
      condition, {Bounds{0, 6}, Bounds{-1, 3}, Bounds{4, 6}},
      {HistogramOf{"x", Bins{{0, 6}, 3}}, HistogramOf{"x", Categories{{"red"}}}, HistogramOf{"x", Categories{{"red", "green", "blue"}}}});
  // With a condition a record whose cell is missing may be none, too, whatever the rule for it.
  std::erase_if(all, [](const Statistic& statistic) {
    return std::holds_alternative<VarianceOf>(statistic.of) || (statistic.where && statistic.missing != MissingCells::left_out);
  });
  return all;
}

/// Numbers in steps of 1/4, counts in steps of 1.
Grid coarse(const Statistic& statistic) {
  return {std::holds_alternative<SumOf>(statistic.of) || std::holds_alternative<MeanOf>(statistic.of) ? -2 : 0};
}

TEST(BindingStatistics, LaplaceNoiseCostsWhatItsEventSays) {
  for (const auto& statistic : statistics()) {
    const StatisticSum sum{statistic, coarse(statistic)};
    const auto event = laplace(NoiseScale{1.5}, statistic.adjacency);
    const StatisticNoise noise = noise_for(sum, event);
    EXPECT_EQ(event_of(noise), event);
    const auto truth = dearest(statistic, sum, noise);
    const std::string what = describe(statistic) + " " + std::string{name(statistic.adjacency)};
    // All of the loss is attained, and one number in fine steps costs what its event says throughout. A move that two coordinates share is
    // noticed less often, as is one of a single step: measured, 46 % less delta at epsilon = 0.3.
    EXPECT_TRUE(binds(event_of(noise), truth, {{}, {0}}, 1e-12)) << what;
    const bool is_one_number = !sum.counts() && sum.sum().steps.size() == 1;
    EXPECT_TRUE(binds(event_of(noise), truth, {{0, 0.3}, {1e-9, 1e-5}}, is_one_number ? 0.01 : 0.85)) << what;
    EXPECT_TRUE(claims_too_little(laplace(NoiseScale{3}, statistic.adjacency), truth, {{}, {0}})) << what;
  }
}

TEST(BindingStatistics, GaussianNoiseCostsWhatItsEventSays) {
  for (const auto& statistic : statistics()) {
    const StatisticSum sum{statistic, coarse(statistic), NoiseLaw::gaussian};
    const double multiplier = sum.counts() ? 4 : 1;
    const auto event = gaussian(NoiseMultiplier{multiplier}, statistic.adjacency);
    const StatisticNoise noise = noise_for(sum, event);
    EXPECT_EQ(event_of(noise), event);
    const auto truth = dearest(statistic, sum, noise);
    const std::string what = describe(statistic) + " " + std::string{name(statistic.adjacency)};
    EXPECT_TRUE(binds(event_of(noise), truth, {{0, 0.2}, {1e-2, 1e-4}}, 0.03)) << what;
    EXPECT_TRUE(claims_too_little(gaussian(NoiseMultiplier{2 * multiplier}, statistic.adjacency), truth, {{0}, {1e-4}})) << what;
  }
}

// The norm of one noise for the other, and the adjacency of fewer changes, where they differ: seen.
TEST(BindingStatistics, PlantedBugsAreSeen) {
  const Statistic histogram{.of = HistogramOf{"x", Categories{{"red", "green"}}}, .adjacency = Adjacency::replace_one};
  const StatisticSum sum{histogram, {0}};
  const auto laplace_of = [](double sensitivity) {
    return mechanisms::Laplace{
        {.scale = NoiseScale{1.5}, .sensitivity = L1Sensitivity{sensitivity}, .grid = {0}, .adjacency = Adjacency::replace_one}};
  };
  const auto cost = [&](const mechanisms::Laplace& noise) { return dearest(histogram, sum, StatisticNoise{noise}); };
  EXPECT_TRUE(binds(laplace_of(2).event(), cost(laplace_of(2)), {{}, {0}}));
  EXPECT_TRUE(
      claims_too_little(laplace_of(sum.l2_sensitivity().value()).event(), cost(laplace_of(sum.l2_sensitivity().value())), {{}, {0}}));
  EXPECT_TRUE(claims_too_little(laplace_of(1).event(), cost(laplace_of(1)), {{}, {0}}));
}

RC_GTEST_PROP(BindingStatistics, NeverCostMoreThanTheirEventsSay, ()) {
  const auto candidates = statistics();
  auto statistic = candidates[*rc::gen::inRange<std::size_t>(0, candidates.size())];
  const double lower = *rc::gen::inRange(-60, 40) / 10.0;
  const Bounds bounds{lower, lower + *rc::gen::inRange(10, 60) / 10.0};
  if (auto* const sum = std::get_if<SumOf>(&statistic.of)) sum->bounds = bounds;
  if (auto* const mean = std::get_if<MeanOf>(&statistic.of)) mean->bounds = bounds;
  const StatisticSum sum{statistic, coarse(statistic)};
  const auto event = laplace(NoiseScale{reference::draw_log_uniform(0.3, 3)}, statistic.adjacency);
  const StatisticNoise noise = noise_for(sum, event);
  RC_ASSERT(quotients(event_of(noise), dearest(statistic, sum, noise), {{0.2}, {0, 1e-4}}).least >= 1);
}

}  // namespace
}  // namespace surety::statistics::statistics_test
