// Additive noise on one number and on sums: what event() costs against what is released (binding.h). Neighbouring inputs go through the
// mechanism's own rounding and clamping, and the noise through its own release.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <surety/accounting/events/event_kinds.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/queries/bounded_sum.h>
#include <surety/mechanisms/queries/record_sum.h>

#include <binding/binding.h>
#include <support/random.h>

namespace surety::mechanisms::noise_test {
namespace {

using namespace testing;

/// What users may feed to a number: hard ones of every kind.
const std::vector<double> hard_values{
    std::nan(""), -std::nan(""), infinity, -infinity, 0.0, -0.0, 5e-324, -5e-324,  1e-310, 0x1p-1022, 1e308, -1e308, 0x1p62, -0x1p63, 0.49,
    -0.49,        0.5,           -0.5,     1.5,       2.5, 3,    -3,     4.999999, 5,      7.5,       -7.5,  8.0001, 100.25, -100.25};

Gaussian gaussian_on(double multiplier, double sensitivity, Grid grid, Adjacency adjacency = Adjacency::replace_one) {
  return Gaussian{
      {.multiplier = NoiseMultiplier{multiplier}, .sensitivity = L2Sensitivity{sensitivity}, .grid = grid, .adjacency = adjacency}};
}
Laplace laplace_on(double scale, double sensitivity, Grid grid, Adjacency adjacency = Adjacency::replace_one) {
  return Laplace{{.scale = NoiseScale{scale}, .sensitivity = L1Sensitivity{sensitivity}, .grid = grid, .adjacency = adjacency}};
}

/// A release of 0 in grid steps, with this word deciding.
template <class Mechanism>
auto release_of_zero(const Mechanism& mechanism) {
  return [mechanism](std::uint64_t word) {
    auto bits = testing::tape_of_block(word);
    const Grid grid = mechanism.options().grid;
    return mechanism.release({grid, {0}}, bits)[0] * grid.steps_per_unit();
  };
}

// ---- Gaussian -------------------------------------------------------------------------------------------------------------------

// The law's sigma is written from the definition, multiplier x sensitivity / step, not asked from the mechanism.
TEST(BindingGaussian, DrawsTheNoiseThatItsEventNames) {
  for (const auto& [multiplier, sensitivity, log2_step] :
       {std::array{1.25, 2.75, 0.0}, std::array{0.25, 0.875, -4.0}, std::array{1.25, 40.0, 4.0}}) {
    const auto mechanism = gaussian_on(multiplier, sensitivity, Grid{static_cast<int>(log2_step)});
    const double sigma = multiplier * sensitivity / std::exp2(log2_step);
    EXPECT_TRUE(draws(release_of_zero(mechanism), rounded_gaussian_law(sigma)));
    EXPECT_FALSE(draws(release_of_zero(mechanism), rounded_gaussian_law(sigma * (1 + 1e-12))));
    EXPECT_FALSE(draws(release_of_zero(mechanism), rounded_gaussian_law(sigma * sigma)));
  }
}

TEST(BindingGaussian, CostsWhatItsEventSays) {
  for (const double multiplier : {0.4, 1.0, 3.0}) {
    for (const auto adjacency : all_adjacencies) {
      // The query moves by 16 steps, all of its sensitivity.
      const auto event = gaussian_on(multiplier, 4, {-2}, adjacency).event();
      EXPECT_TRUE(binds(event, shifted(rounded_gaussian_law(multiplier * 16), 16)));
    }
  }
}

TEST(BindingGaussian, AFinerGridIsTighterAndACoarserOneOnlySafer) {
  const auto excess = [](std::int64_t steps) {
    const auto found =
        quotients(gaussian(NoiseMultiplier{1}, Adjacency::zero_out), shifted(rounded_gaussian_law(static_cast<double>(steps)), steps));
    EXPECT_GE(found.least, 1);
    return found.largest - 1;
  };
  EXPECT_LT(excess(64), 1e-3);
  EXPECT_LT(excess(16), 1e-2);
  // Rounding to steps of sigma hides some of the loss: less is lost than is said.
  EXPECT_GT(excess(1), 0.05);
}

TEST(BindingGaussian, PlantedBugsAreSeen) {
  const auto truth = shifted(rounded_gaussian_law(1.5 * 16), 16);
  const auto adjacency = Adjacency::replace_one;
  const auto event_of = [&](double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); };
  EXPECT_TRUE(binds(event_of(1.5), truth));
  EXPECT_TRUE(claims_too_little(event_of(3), truth));                     // the sensitivity halved, or 2C taken for C
  EXPECT_TRUE(claims_too_little(event_of(1.5 * 1.5), truth));             // the variance for the scale
  EXPECT_TRUE(claims_too_little(event_of(1.5 * std::sqrt(2.0)), truth));  // the standard deviation of two such noises
  EXPECT_FALSE(binds(event_of(1.5 * 1.01), truth));
  EXPECT_FALSE(binds(event_of(1.5 / 1.02), truth));  // more noise than is counted is a loss of utility, and seen too
}

RC_GTEST_PROP(BindingGaussian, NeverCostsMoreThanItsEventSays, ()) {
  const double multiplier = reference::draw_log_uniform(0.2, 5);
  const auto steps = *rc::gen::inRange<std::int64_t>(1, 12);
  // The sensitivity need not be a multiple of the step; the query on the grid then moves by less.
  const double sensitivity = static_cast<double>(steps) + reference::draw_log_uniform(1e-6, 0.999);
  const auto mechanism = gaussian_on(multiplier, sensitivity, {0});
  const auto found = quotients(mechanism.event(), shifted(rounded_gaussian_law(mechanism.sigma()), steps), {{0.1, 1}, {1e-5}});
  RC_ASSERT(found.least >= 1);
}

// At scales that cannot be enumerated, the number that the sampler is given.
RC_GTEST_PROP(BindingGaussian, KeepsItsScaleOnFineGrids, ()) {
  const double multiplier = reference::draw_log_uniform(1e-3, 1e3);
  const double sensitivity = reference::draw_log_uniform(1e-6, 1e6);
  const auto mechanism = gaussian_on(multiplier, sensitivity, grid_for(L2Sensitivity{sensitivity}, NoiseMultiplier{multiplier}));
  const double event_multiplier = std::get<Event::Gaussian>(mechanism.event().node()).multiplier.value();
  RC_ASSERT(mechanism.sigma() >= event_multiplier * sensitivity * (1 - 0x1p-53));
  RC_ASSERT(mechanism.sigma() <= event_multiplier * sensitivity * (1 + 0x1p-51));
}

// ---- Reals, rounded by the mechanism --------------------------------------------------------------------------------------------

/// The farthest apart that two reals within `sensitivity` round: over places of the first one within a step.
std::int64_t farthest_images(double sensitivity, Grid grid) {
  std::int64_t farthest = 0;
  for (int i = -64; i <= 64; ++i) {
    for (const double nudge : {-1e-13, 0.0, 1e-13}) {
      const double from = (i / 64.0 + nudge) * grid.step();
      for (const double to : {from + sensitivity, from - sensitivity, from + sensitivity * (1 - 1e-12)}) {
        if (std::abs(to - from) > sensitivity) continue;
        const auto images = round_to_nearest(std::array{from, to}, grid);
        farthest = std::max(farthest, std::abs(images.steps[0] - images.steps[1]));
      }
    }
  }
  return farthest;
}

TEST(BindingGaussianOnReals, PaysForItsRounding) {
  const Grid grid{-3};
  for (const double steps : {16.0, 16.001, 16.5, 16.999}) {
    const double sensitivity = steps * grid.step();
    const GaussianOnReals mechanism{{.multiplier = NoiseMultiplier{0.8},
                                     .sensitivity = L2Sensitivity{sensitivity},
                                     .grid = grid,
                                     .dimension = 1,
                                     .adjacency = Adjacency::add_or_remove_one}};
    const auto images = farthest_images(sensitivity, grid);
    EXPECT_EQ(images, 17);  // from -1/2 to 15 1/2 for 16 steps: halves leave 0
    const double sigma = mechanism.sigma() * grid.steps_per_unit();
    EXPECT_NEAR(sigma, 0.8 * (steps + 1), 1e-12);
    const auto truth = shifted(rounded_gaussian_law(sigma), images);
    // At a whole number of steps, or just above, the charge of a step for rounding is the truth; else it is up to one step in 17 too much:
    // 6 % in the multiplier, some tens of % in a small delta.
    EXPECT_TRUE(binds(mechanism.event(), truth, usual_points, steps < 16.01 ? 0.01 : 1.5)) << steps;
    // Not to charge it is too little.
    const auto uncharged = shifted(rounded_gaussian_law(0.8 * steps), images);
    if (steps < 16.9) {
      EXPECT_TRUE(claims_too_little(mechanism.event(), uncharged)) << steps;
    }
  }
}

// ---- Laplace --------------------------------------------------------------------------------------------------------------------

TEST(BindingLaplace, DrawsTheNoiseThatItsEventNames) {
  for (const auto& [scale, sensitivity, log2_step] : {std::array{1.5, 3.0, 0.0}, std::array{0.25, 5.0, -3.0}, std::array{2.0, 8.0, 2.0}}) {
    const auto mechanism = laplace_on(scale, sensitivity, Grid{static_cast<int>(log2_step)});
    const double b = scale * sensitivity / std::exp2(log2_step);
    EXPECT_TRUE(draws(release_of_zero(mechanism), rounded_laplace_law(b)));
    EXPECT_FALSE(draws(release_of_zero(mechanism), rounded_laplace_law(b * (1 + 1e-12))));
    EXPECT_FALSE(draws(release_of_zero(mechanism), rounded_laplace_law(b / 2)));
  }
}

TEST(BindingLaplace, CostsWhatItsEventSays) {
  for (const double scale : {0.5, 1.0, 4.0}) {
    for (const auto adjacency : all_adjacencies) {
      const auto event = laplace_on(scale, 4, {-3}, adjacency).event();
      EXPECT_TRUE(binds(event, shifted(rounded_laplace_law(scale * 32), 32), {{0, 0.1, 0.2}, {0, 1e-9, 1e-5, 1e-2}}));
    }
  }
}

TEST(BindingLaplace, PlantedBugsAreSeen) {
  const auto truth = shifted(rounded_laplace_law(2 * 16), 16);
  const auto event_of = [](double scale) { return laplace(NoiseScale{scale}, Adjacency::replace_one); };
  const testing::Points points{{0, 0.1, 0.4}, {0, 1e-5}};
  EXPECT_TRUE(binds(event_of(2), truth, points));
  EXPECT_TRUE(claims_too_little(event_of(4), truth, points));                   // the sensitivity halved
  EXPECT_TRUE(claims_too_little(event_of(2 * std::sqrt(2.0)), truth, points));  // the standard deviation for the scale
  EXPECT_TRUE(claims_too_little(event_of(8), truth, points));                   // the variance for the scale
  EXPECT_FALSE(binds(event_of(2.01), truth, points));
}

RC_GTEST_PROP(BindingLaplace, NeverCostsMoreThanItsEventSays, ()) {
  const double scale = reference::draw_log_uniform(0.1, 20);
  const auto steps = *rc::gen::inRange<std::int64_t>(1, 40);
  const double sensitivity = static_cast<double>(steps) + *rc::gen::inRange(0, 100) / 100.0;
  const auto mechanism = laplace_on(scale, sensitivity, {0});
  const auto found = quotients(mechanism.event(), shifted(rounded_laplace_law(mechanism.scale()), steps), {{0.1, 0.5 / scale}, {0, 1e-5}});
  RC_ASSERT(found.least >= 1);
  if (sensitivity == static_cast<double>(steps)) {
    const auto tight = quotients(mechanism.event(), shifted(rounded_laplace_law(mechanism.scale()), steps), {{}, {0}});
    RC_ASSERT(tight.largest <= 1 + 1e-12);
  }
}

// ---- Bounded sums and means -----------------------------------------------------------------------------------------------------

/// The largest move of a query of one coordinate between neighbours, over all small data sets of hard values.
template <class Query>
std::int64_t largest_move(Adjacency adjacency, Query query) {
  std::int64_t largest = 0;
  const auto take = [&](const std::vector<double>& a, const std::vector<double>& b) {
    largest = std::max(largest, std::abs(query(a) - query(b)));
  };
  for (const double x : hard_values) {
    const std::vector<double> rest{3.25, x};
    for (const double y : hard_values) {
      if (adjacency == Adjacency::replace_one) take({3.25, x}, {3.25, y});
      if (adjacency == Adjacency::add_or_remove_one) take({y, x}, {y});
    }
    // The record that contributes zero: it leaves no trace in the sum.
    if (adjacency == Adjacency::zero_out) take({3.25, x}, {3.25});
  }
  return largest;
}

TEST(BindingBoundedSum, ItsSensitivityAndNoiseAreItsEvent) {
  const Grid grid{-2};
  for (const auto& bounds : {Bounds{-3, 5}, Bounds{2, 6}, Bounds{-8, -1}, Bounds{-0.9, 7.6}}) {
    for (const auto adjacency : all_adjacencies) {
      const auto move = largest_move(adjacency, [&](const std::vector<double>& values) {
        BoundedSum sum{bounds, grid};
        sum.add(values);
        return sum.sum().steps[0];
      });
      const BoundedSum sum{bounds, grid};
      const auto laplace = laplace_on(0.7, sum.l1_sensitivity(adjacency).value(), grid, adjacency);
      const auto law = rounded_laplace_law(laplace.scale() * grid.steps_per_unit());
      EXPECT_TRUE(binds(laplace.event(), shifted(law, move), pure_points)) << name(adjacency);
      const auto noise = gaussian_on(0.9, sum.l2_sensitivity(adjacency).value(), grid, adjacency);
      EXPECT_TRUE(binds(noise.event(), shifted(rounded_gaussian_law(noise.sigma() * grid.steps_per_unit()), move))) << name(adjacency);
    }
  }
}

// The sensitivity of another adjacency, for bounds where the two differ by 2: seen.
TEST(BindingBoundedSum, AnotherAdjacencyIsSeen) {
  const Grid grid{-2};
  const BoundedSum sum{Bounds{-4, 4}, grid};
  const auto wrong = laplace_on(0.7, sum.sensitivity(Adjacency::add_or_remove_one), grid);
  const auto move = largest_move(Adjacency::replace_one, [&](const std::vector<double>& values) {
    BoundedSum filled{Bounds{-4, 4}, grid};
    filled.add(values);
    return filled.sum().steps[0];
  });
  EXPECT_TRUE(claims_too_little(wrong.event(), shifted(rounded_laplace_law(wrong.scale() * 4), move), pure_points));
}

TEST(BindingBoundedMean, ItsSensitivityAndNoiseAreItsEvent) {
  const Grid grid{-2};
  for (const auto& bounds : {Bounds{-3, 5}, Bounds{2, 6}, Bounds{-8, -1}}) {
    for (const auto adjacency : all_adjacencies) {
      const auto move = largest_move(adjacency, [&](const std::vector<double>& values) {
        BoundedMean mean{bounds, grid, adjacency};
        mean.add(values);
        return mean.centred_sum().steps[0];
      });
      const BoundedMean mean{bounds, grid, adjacency};
      const auto laplace = laplace_on(1.3, mean.l1_sensitivity().value(), grid, adjacency);
      const auto of_sum = shifted(rounded_laplace_law(laplace.scale() * 4), move);
      EXPECT_TRUE(binds(laplace.event(), of_sum, {{0, 0.1, 0.5}, {0, 1e-5, 1e-2}})) << name(adjacency);
      if (adjacency != Adjacency::add_or_remove_one) continue;
      // The number of records is released as well; both together, against both events composed. Whoever adds a record moves both.
      const auto count = laplace_on(0.9, 1, {0}, adjacency);
      const auto of_count = shifted(rounded_laplace_law(0.9), 1);
      const auto both = compose({laplace.event(), count.event()});
      EXPECT_TRUE(binds(both, of_sum * of_count, {{}, {0}}, 1e-9));
      // With a step of the size of its sensitivity the count hides some of its loss at epsilon below the largest.
      EXPECT_TRUE(binds(both, of_sum * of_count, {{0, 0.1, 0.5, 1}, {1e-5, 1e-2}}, 0.3));
      EXPECT_TRUE(claims_too_little(laplace.event(), of_sum * of_count, pure_points));
    }
  }
}

// ---- Sums of clipped records ----------------------------------------------------------------------------------------------------

// Clipping norm 5 steps: the records (3, 4) and -(3, 4), and 0, are contributed exactly, so sums move by 5 or 10 steps in l2.
TEST(BindingRecordSum, ItsSensitivityAndNoiseAreItsEvent) {
  const Grid grid{-1};
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one}) {
    const auto sum_of = [&](const std::vector<std::array<double, 2>>& records) {
      RecordSum sum{{.clip = ClippingNorm{2.5}, .grid = grid, .dimension = 2}};
      for (const auto& record : records) sum.add(record);
      return sum.sum().steps;
    };
    const std::array<double, 2> rest{0.3, -77};
    // Infinities and huge records contribute zero or are scaled down.
    const auto with = sum_of({rest, {3e5, 4e5}});
    const auto without = adjacency == Adjacency::replace_one ? sum_of({{-3e300, -4e300}, rest}) : sum_of({rest});
    const std::int64_t x = with[0] - without[0];
    const std::int64_t y = with[1] - without[1];
    const RecordSum empty{{.clip = ClippingNorm{2.5}, .grid = grid, .dimension = 2}};
    const double sensitivity = empty.sensitivity(adjacency).value();
    EXPECT_EQ(static_cast<double>(x * x + y * y), sensitivity * sensitivity * 4);
    const double multiplier = adjacency == Adjacency::replace_one ? 0.5 : 1.0;  // 5 steps
    const auto mechanism = gaussian_on(multiplier, sensitivity, grid, adjacency);
    const auto law = rounded_gaussian_law(5);
    const auto truth = shifted(law, x) * shifted(law, y);
    // Steps of sigma / 5, in two coordinates: 2 % in the delta at epsilon = 2, where delta = 0.03.
    EXPECT_TRUE(binds(mechanism.event(), truth, {{0, 0.5, 1, 2}, {1e-2, 1e-5}}, 0.03));
    // The same noise told as a multiple of the clipping norm.
    EXPECT_TRUE(binds(record_sum(NoiseMultiplier{1}, adjacency), truth, {{0, 0.5, 1, 2}, {1e-2, 1e-5}}, 0.03));
    if (adjacency == Adjacency::replace_one) {
      EXPECT_TRUE(claims_too_little(gaussian(NoiseMultiplier{1}, adjacency), truth));  // C for 2 C
    }
  }
}

RC_GTEST_PROP(BindingRecordSum, NeverMovesByMoreThanItsSensitivity, ()) {
  const double clip = reference::draw_log_uniform(1, 30);
  const auto dimension = *rc::gen::inRange<std::size_t>(1, 5);
  const auto draw_record = [&] {
    std::vector<double> record;
    for (std::size_t i = 0; i < dimension; ++i) {
      const auto kind = *rc::gen::inRange(0, 4);
      if (kind == 0) {
        record.push_back(hard_values[*rc::gen::inRange<std::size_t>(0, hard_values.size())]);
      } else {
        record.push_back((kind == 1 ? -1 : 1) * reference::draw_log_uniform(1e-3, 1e3));
      }
    }
    return record;
  };
  RecordSum sum{{.clip = ClippingNorm{clip}, .grid = {0}, .dimension = dimension}};
  const auto rest = draw_record();
  const auto contribution = [&](const std::vector<double>& record, double factor, double norm) {
    sum.clear();
    sum.add(rest);
    sum.add_scaled(factor, record, norm);
    return sum.sum().steps;
  };
  const auto record = draw_record();
  const auto other = draw_record();
  // Also with a factor and a norm that are wrong or not numbers.
  const double factor = hard_values[*rc::gen::inRange<std::size_t>(0, hard_values.size())];
  const double norm = hard_values[*rc::gen::inRange<std::size_t>(0, hard_values.size())];
  const auto with = contribution(record, factor, norm);
  const auto changed = contribution(other, 1, l2_norm(other));
  sum.clear();
  sum.add(rest);
  const auto without = sum.sum().steps;
  const auto squared = [&](const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    double result = 0;
    for (std::size_t i = 0; i < dimension; ++i) result += std::pow(static_cast<double>(a[i] - b[i]), 2);
    return result;
  };
  const auto allowed = [&](Adjacency adjacency) { return std::pow(sum.sensitivity(adjacency).value(), 2) * (1 + 0x1p-50); };
  RC_ASSERT(squared(with, without) <= allowed(Adjacency::add_or_remove_one));
  RC_ASSERT(squared(with, changed) <= allowed(Adjacency::replace_one));
}

}  // namespace
}  // namespace surety::mechanisms::noise_test
