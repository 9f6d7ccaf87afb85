#include <surety/optimizers/empirical_risk/svrg.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/sampling_releaser.h>

#include <support/drawn_records.h>
#include <support/refusal.h>
#include <support/sampled_taint.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::svrg_test {
namespace {

using mechanisms::FixedSizeBatches;
using mechanisms::PoissonBatches;
using Sampler = std::variant<PoissonBatches, FixedSizeBatches>;

constexpr double whole_clip = 0.8;
constexpr double largest_clip = 0.6;
constexpr double floor_clip = 1e-3;

/// Two epochs of three inner steps, or of two and four.
SvrgOptions options(Sampler sampler, Adjacency adjacency, SvrgVariant variant = SvrgVariant::svrg) {
  return {.anchor_multiplier = NoiseMultiplier{5},
          .noise_multiplier = NoiseMultiplier{3},
          .sampler = std::move(sampler),
          .adjacency = adjacency,
          .variant = variant,
          .epochs = Count{2},
          .inner_steps = Count{variant == SvrgVariant::svrg ? 3U : 1U},
          .step_size = StepSize{0.7},
          .clip = ClippingNorm{whole_clip},
          .difference_clip = ClippingNorm{largest_clip},
          .floor = DifferenceFloor{floor_clip},
          .public_count = Count{20}};
}
constexpr std::size_t releases = 8;
constexpr std::size_t batches = 6;

template <std::derived_from<Regularizer> H>
auto run(const SvrgOptions& options, const H& regularizer) {
  return [=](const Dataset& data, auto& releaser) { return svrg(data, LogisticLoss{}, regularizer, options, releaser); };
}

// ---- Sensitivity and taint --------------------------------------------------------------------------------------------------------------

/// The largest change of a query over its sensitivity, of all records and of batches.
struct Ratios {
  double whole = 0;
  double sampled = 0;
};

template <class Algorithm>
Ratios ratios(const Algorithm& algorithm, const Dataset& data, const Dataset& neighbour, const Places& first, const Places& second,
              const Script& released) {
  testing::ScriptedSamplingReleaser one{first, released};
  testing::ScriptedSamplingReleaser other{second, released};
  static_cast<void>(algorithm(data, one));
  static_cast<void>(algorithm(neighbour, other));
  Ratios found;
  for (std::size_t t = 0; t < one.log().size(); ++t) {
    const auto& a = one.log()[t];
    double& largest = a.batch ? found.sampled : found.whole;
    largest = std::max(largest, query_distance(a.query, other.log()[t].query) / a.sensitivity.value());
  }
  return found;
}

// 12,000 pairs of neighbours: a third under each adjacency, both variants, every step rule and anchor, in a ball and without one.
TEST(Svrg, ARecordMovesEveryQueryByAtMostItsSensitivity) {
  std::mt19937_64 random{20240601};
  Ratios largest[3];
  for (int c = 0; c < 12'000; ++c) {
    const std::size_t features = 1 + random() % 4;
    const std::size_t size = 1 + random() % 8;
    const auto adjacency = static_cast<Adjacency>(c % 3);
    const bool is_added = adjacency == Adjacency::add_or_remove_one;
    const auto [data, neighbour, place] = drawn_neighbours_under_any(size, features, adjacency, random);
    Sampler sampler = PoissonBatches{SamplingRate{0.3}};
    if (adjacency == Adjacency::replace_one && random() % 2 == 0) sampler = FixedSizeBatches{Batches{Count{size}, Count{1}}};
    auto settings = options(sampler, adjacency, random() % 2 == 0 ? SvrgVariant::svrg : SvrgVariant::svrg_plus_plus);
    if (random() % 2 == 0) settings.anchor = SvrgAnchor::last;
    switch (random() % 3) {
      case 0: settings.step_size = SvrgSchedule{[](std::uint64_t epoch) { return StepSize{1 / static_cast<double>(epoch)}; }}; break;
      case 1: settings.step_size = BarzilaiBorwein{.first = StepSize{0.7}, .lowest = StepSize{0.1}, .highest = StepSize{9}}; break;
      default: break;
    }
    const Places drawn = drawn_batches(batches, is_added ? size + 1 : size, random);
    Places others = drawn;
    if (is_added) {
      for (auto& batch : others) batch.erase(std::remove(batch.begin(), batch.end(), place), batch.end());
    }
    const Script released = drawn_script(releases, features, random);
    const auto check = [&, place = place, &data = data, &neighbour = neighbour](const auto& algorithm) {
      const auto found = sampled_difference(algorithm, data, neighbour, place, is_added, drawn, released);
      ASSERT_TRUE(found.untainted) << "case " << c;
      ASSERT_LE(found.ratio, 1) << "case " << c;
      const Ratios kinds = ratios(algorithm, data, neighbour, others, drawn, released);
      auto& most = largest[static_cast<int>(adjacency)];
      most = {.whole = std::max(most.whole, kinds.whole), .sampled = std::max(most.sampled, kinds.sampled)};
    };
    if (random() % 2 == 0) {
      check(run(settings, L2RegularizerOn{Regularization{0.1}, L2Ball{Radius{2}}}));
    } else {
      check(run(settings, NoRegularizer{}));
    }
    if (HasFatalFailure()) return;
  }
  for (int adjacency = 0; adjacency < 3; ++adjacency) {
    EXPECT_GT(largest[adjacency].whole, 0.99) << adjacency;
    EXPECT_GT(largest[adjacency].sampled, 0.99) << adjacency;
    const std::string of{name(static_cast<Adjacency>(adjacency))};
    RecordProperty("largest_ratio_whole_" + of, std::to_string(largest[adjacency].whole));
    RecordProperty("largest_ratio_sampled_" + of, std::to_string(largest[adjacency].sampled));
  }
}

enum class Mistake {
  none,
  clip_from_raw_iterate,    ///< C_t follows an iterate without noise
  no_clipping,              ///< differences as they are
  gradients_clipped_apart,  ///< each of the two gradients to C_t: the difference may be 2 C_t long, and 4 C_t moves the sum
  sensitivity_of_one_side,  ///< C_t where a record is replaced
  raw_full_gradient,        ///< the gradient of all records once more, as it is
  raw_barzilai_borwein,     ///< a step size from gradients without noise
  raw_average,              ///< the mean of iterates without noise
  real_batch_size,          ///< the mean over the batch at hand
  clip_of_largest_seen,     ///< C_t from the batch
};

/// One epoch of two inner steps, and the anchor that comes of it.
auto run_with(Mistake mistake) {
  return [=](const Dataset& data, auto& releaser) {
    const auto settings = options(FixedSizeBatches{Batches{Count{data.size()}, Count{2}}}, Adjacency::replace_one);
    const SquaredLoss loss{.label_bound = LabelBound{1}, .weight_radius = Radius{1}};
    const std::size_t d = data.features();
    const auto gradients = [&](std::span<const double> at) {
      mechanisms::RecordSum sum{{.clip = ClippingNorm{whole_clip}, .grid = Grid{-30}, .dimension = d}};
      add_gradients(data, loss, at, sum);
      return sum.sum();
    };
    const std::vector<double> anchor(d, 0.0);
    std::vector<double> x{0.5, 0.45};
    std::vector<double> raw_x = x;
    std::vector<double> mean(d, 0.0);
    const GridVector raw_gradient = gradients(anchor);
    auto g = releaser.release(raw_gradient, L2Sensitivity{2 * whole_clip}, anchor_release(settings));
    double step = 0.7;
    if (mistake == Mistake::raw_full_gradient) g = mechanisms::to_reals(raw_gradient);
    if (mistake == Mistake::raw_barzilai_borwein) {
      const detail::SvrgAnchorPoint now{.weights = x, .gradient = mechanisms::to_reals(gradients(x))};
      const detail::SvrgAnchorPoint before{.weights = anchor, .gradient = mechanisms::to_reals(raw_gradient)};
      step = detail::barzilai_borwein({StepSize{1}, StepSize{1e-9}, StepSize{1e9}, 1}, now, before).value();
    }
    for (int t = 1; t <= 2; ++t) {
      const auto batch = releaser.draw_batch(data.size());
      const auto& watched = mistake == Mistake::clip_from_raw_iterate ? raw_x : x;
      double clip = std::max(floor_clip, std::min(largest_clip, detail::euclidean_distance(watched, anchor) / 4));
      if (mistake == Mistake::clip_of_largest_seen) {
        clip = floor_clip;
        for (const std::size_t i : batch) clip = std::max(clip, std::min(largest_clip, data.row(i).norm * 0.01));
      }
      const bool is_clipped = mistake != Mistake::no_clipping;
      const bool is_apart = mistake == Mistake::gradients_clipped_apart;
      mechanisms::RecordSum sum{{.clip = ClippingNorm{is_clipped ? clip : 1e3}, .grid = Grid{-28}, .dimension = d}};
      for (const std::size_t i : batch) {
        const RowView row = data.row(i);
        const double now = loss.derivative(row.dot(x), data.label(i));
        const double then = loss.derivative(row.dot(anchor), data.label(i));
        if (is_apart) {
          add_clipped(now, row, sum);
          add_clipped(-then, row, sum);
        } else {
          add_clipped(now - then, row, sum);
        }
      }
      const double said = mistake == Mistake::sensitivity_of_one_side ? clip : 2 * clip;
      const auto r = releaser.release_sampled(sum.sum(), L2Sensitivity{said}, batch_release(settings));
      const auto raw_r = mechanisms::to_reals(sum.sum());
      const double b = mistake == Mistake::real_batch_size ? static_cast<double>(batch.size()) : 2;
      for (std::size_t j = 0; j < d; ++j) {
        x[j] -= step * (g[j] / 20 + r[j] / b);
        raw_x[j] -= step * (g[j] / 20 + raw_r[j] / b);
        mean[j] += (mistake == Mistake::raw_average ? raw_x[j] : x[j]) / 2;
      }
    }
    return mean;
  };
}

TEST(Svrg, PlantedViolationsAreCaught) {
  // Both scores rise from the anchor to x, so both gradients change along their rows, which are nearly opposite.
  const std::vector<DrawnRecord> records{{{0.1, 0.2}, 1}, {{1, 1}, -1}, {{30, -20}, 1}, {{0.5, 0}, 1}};
  auto neighbours = records;
  neighbours[2] = {{-20, 30}, 1};
  const Places drawn{{0, 2}, {1, 2}};
  const Script released{{1, 2}, {-1, 0.5}, {0.25, -3}};
  const auto difference = [&](Mistake mistake, const Places& places) {
    return sampled_difference(run_with(mistake), assemble(records), assemble(neighbours), 2, false, places, released);
  };
  const auto right = difference(Mistake::none, drawn);
  EXPECT_TRUE(right.untainted);
  EXPECT_LE(right.ratio, 1);
  EXPECT_FALSE(difference(Mistake::clip_from_raw_iterate, drawn).untainted);
  EXPECT_FALSE(difference(Mistake::raw_full_gradient, drawn).untainted);
  EXPECT_FALSE(difference(Mistake::raw_barzilai_borwein, drawn).untainted);
  EXPECT_FALSE(difference(Mistake::raw_average, drawn).untainted);
  EXPECT_GT(difference(Mistake::no_clipping, drawn).ratio, 1);
  EXPECT_GT(difference(Mistake::gradients_clipped_apart, drawn).ratio, 1);

  EXPECT_GT(right.ratio, 0.9);
  EXPECT_GT(difference(Mistake::sensitivity_of_one_side, drawn).ratio, 1.8);

  // A record that is added makes a batch larger, and a clip that looks at the batch larger too.
  auto more = records;
  more.push_back({{30, 40}, 1});
  const auto added = [&](Mistake mistake) {
    return sampled_difference(run_with(mistake), assemble(records), assemble(more), 4, true, {{0, 2, 4}, {1, 3}}, released);
  };
  EXPECT_FALSE(added(Mistake::real_batch_size).untainted);
  EXPECT_FALSE(added(Mistake::clip_of_largest_seen).untainted);
}

// ---- What it computes -------------------------------------------------------------------------------------------------------------------

Dataset small_data() { return Dataset::dense(2, {0.6, 0.2, -0.3, 0.8, 0.1, -0.9, 0.5, 0.5}, {1, -1, 1, -1}); }
const Sampler all_of_small = FixedSizeBatches{Batches{Count{4}, Count{4}}};

/// The iterates of gradient descent from 0.
std::vector<std::vector<double>> descent(const Dataset& data, double step, double lambda, std::size_t steps) {
  std::vector<std::vector<double>> iterates{std::vector<double>(data.features(), 0.0)};
  for (std::size_t t = 0; t < steps; ++t) {
    std::vector<double> w = iterates.back();
    for (std::size_t i = 0; i < data.size(); ++i) {
      const RowView row = data.row(i);
      row.add_scaled_to(-step * LogisticLoss{}.derivative(row.dot(iterates.back()), data.label(i)) / static_cast<double>(data.size()), w);
    }
    for (double& value : w) value /= 1 + step * lambda;
    iterates.push_back(w);
  }
  return iterates;
}

std::vector<double> mean_of(const std::vector<std::vector<double>>& iterates, std::size_t first, std::size_t last) {
  std::vector<double> mean(iterates[0].size(), 0.0);
  for (std::size_t t = first; t <= last; ++t) {
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += iterates[t][j] / static_cast<double>(last - first + 1);
  }
  return mean;
}

std::vector<double> without_noise(const Dataset& data, const SvrgOptions& settings, double lambda) {
  mechanisms::ReplayBits bits{1};
  return std::visit(
      [&](const auto& sampler) {
        testing::ExactSamplingReleaser releaser{bits, sampler};
        return svrg(data, LogisticLoss{}, L2Regularizer{Regularization{lambda}}, settings, releaser);
      },
      settings.sampler);
}

// With batches of all records the anchor cancels: x follows gradient descent, so the clip never bites.
TEST(Svrg, IsGradientDescentWithBatchesOfEverything) {
  const Dataset data = small_data();
  auto settings = options(all_of_small, Adjacency::replace_one);
  settings.public_count.reset();
  settings.clip.reset();
  settings.difference_clip.reset();
  settings.floor.reset();
  const auto expect_near = [](const std::vector<double>& found, const std::vector<double>& expected) {
    for (std::size_t j = 0; j < expected.size(); ++j) EXPECT_NEAR(found[j], expected[j], 1e-7);
  };
  settings.anchor = SvrgAnchor::last;
  expect_near(without_noise(data, settings, 0.3), descent(data, 0.7, 0.3, 6).back());
  settings.step_size = SvrgSchedule{[](std::uint64_t epoch) { return StepSize{epoch == 1 ? 0.7 : 0.0625}; }};
  const auto first = descent(data, 0.7, 0.3, 3).back();
  EXPECT_NE(without_noise(data, settings, 0.3), first);
  settings.epochs = Count{1};
  expect_near(without_noise(data, settings, 0.3), first);
  settings.anchor = SvrgAnchor::average;
  expect_near(without_noise(data, settings, 0.3), mean_of(descent(data, 0.7, 0.3, 3), 1, 3));

  // SVRG++ goes on where it was, whatever its anchor is.
  settings.variant = SvrgVariant::svrg_plus_plus;
  settings.inner_steps = Count{1};
  settings.epochs = Count{2};
  settings.step_size = StepSize{0.7};
  expect_near(without_noise(data, settings, 0.3), mean_of(descent(data, 0.7, 0.3, 6), 3, 6));
  // The default step.
  settings.step_size = {};
  expect_near(without_noise(data, settings, 0.3), mean_of(descent(data, 0.8, 0.3, 6), 3, 6));
}

TEST(Svrg, ChargesWhatItSays) {
  const Sampler poisson = PoissonBatches{SamplingRate{0.25}};
  const Sampler fixed = FixedSizeBatches{Batches{Count{8}, Count{2}}};
  EXPECT_EQ(describe(plan(options(poisson, Adjacency::add_or_remove_one))),
            "compose(repeat(2, gaussian(5)), repeat(6, poisson(0.25, gaussian(3))))");
  EXPECT_EQ(describe(plan(options(poisson, Adjacency::replace_one))),
            "compose(repeat(2, gaussian(5)), repeat(6, poisson(0.25, record_sum(6))))");
  EXPECT_EQ(describe(plan(options(fixed, Adjacency::replace_one))),
            "compose(repeat(2, gaussian(5)), repeat(6, without_replacement(8, 2, gaussian(3))))");
  auto doubling = options(fixed, Adjacency::replace_one, SvrgVariant::svrg_plus_plus);
  doubling.epochs = Count{15};
  doubling.inner_steps = Count{10};
  EXPECT_EQ(all_inner_steps(doubling), Count{655'340});  // (2^16 - 2) 10, where 2^15 10 is printed
  std::uint64_t sum = 0;
  for (std::uint64_t epoch = 1; epoch <= 15; ++epoch) sum += inner_steps(doubling, epoch).value();
  EXPECT_EQ(Count{sum}, all_inner_steps(doubling));
  EXPECT_EQ(gradient_evaluations(options(fixed, Adjacency::replace_one), Count{8}), 2 * 8 + 2 * 6 * 2);
  EXPECT_EQ(gradient_evaluations(options(poisson, Adjacency::replace_one), Count{8}), 2 * 8 + 2 * 6 * 2);
}

TEST(Svrg, SpendsItsPlanAndNoMore) {
  const TemporaryFolder folder;
  std::mt19937_64 random{7};
  std::vector<DrawnRecord> records;
  for (int i = 0; i < 8; ++i) records.push_back(drawn_record(3, random));
  const Dataset data = assemble(records);
  int c = 0;
  for (const auto variant : {SvrgVariant::svrg, SvrgVariant::svrg_plus_plus}) {
    for (const auto& [sampler, adjacency] :
         std::vector<std::pair<Sampler, Adjacency>>{{PoissonBatches{SamplingRate{0.25}}, Adjacency::add_or_remove_one},
                                                    {PoissonBatches{SamplingRate{0.25}}, Adjacency::zero_out},
                                                    {PoissonBatches{SamplingRate{0.25}}, Adjacency::replace_one},
                                                    {FixedSizeBatches{Batches{Count{8}, Count{2}}}, Adjacency::replace_one}}) {
      const auto settings = options(sampler, adjacency, variant);
      auto ledger = accounting::Ledger::open_or_create(folder / fmt::format("{}.db", c++), adjacency);
      auto reservation = ledger.reserve({.event = plan(settings), .not_private = true});
      mechanisms::ReplayBits bits{11};
      std::visit(
          [&](const auto& drawn) {
            NoisySamplingReleaser releaser{reservation, bits, drawn};
            const auto algorithm = run(settings, NoRegularizer{});
            EXPECT_EQ(algorithm(data, releaser).size(), 3U);
            EXPECT_TRUE(reservation.released() == accounting::Releases::of(plan(settings)));
            EXPECT_TRUE(refuses([&] { static_cast<void>(algorithm(data, releaser)); }, ErrorCode::budget_exceeded, {}));
          },
          sampler);
    }
  }
}

// Another sampler than that of the options is not in the plan.
TEST(Svrg, DoesNotRunOnAnotherSampler) {
  const TemporaryFolder folder;
  const auto settings = options(PoissonBatches{SamplingRate{0.25}}, Adjacency::zero_out);
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", Adjacency::zero_out);
  auto reservation = ledger.reserve({.event = plan(settings), .not_private = true});
  mechanisms::ReplayBits bits{11};
  NoisySamplingReleaser releaser{reservation, bits, PoissonBatches{SamplingRate{0.5}}};
  const auto algorithm = run(settings, NoRegularizer{});
  EXPECT_TRUE(refuses([&] { static_cast<void>(algorithm(small_data(), releaser)); }, ErrorCode::budget_exceeded, {"poisson(0.5"}));
}

// At x = x~ every difference is 0, so the floor alone stands between the record and noise of scale 0.
TEST(Svrg, FollowsTheReleasedIteratesWithItsClipAndGrid) {
  const Dataset data = small_data();
  auto settings = options(all_of_small, Adjacency::replace_one);
  settings.epochs = Count{1};
  settings.step_size = StepSize{1};
  settings.public_count = Count{1};
  const auto asked = [&](const Script& released) {
    testing::ScriptedSamplingReleaser releaser{{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}, released};
    static_cast<void>(run(settings, NoRegularizer{})(data, releaser));
    return releaser.log();
  };
  // g~ is (0.4, 0), so x_1 = (-0.4, 0) and x_2 = (-0.8 - 100/4, 0).
  const auto log = asked({{0.4, 0}, {0, 0}, {100, 0}, {0, 0}});
  EXPECT_EQ(log[1].sensitivity, L2Sensitivity{2 * floor_clip});
  EXPECT_EQ(log[1].query.steps, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(log[2].sensitivity, L2Sensitivity{2 * (0.25 * 0.4)});
  EXPECT_EQ(log[3].sensitivity, L2Sensitivity{2 * largest_clip});
  for (const std::size_t t : {1U, 2U, 3U}) {
    const double steps = settings.noise_multiplier.value() * log[t].sensitivity.value() * log[t].query.grid.steps_per_unit();
    EXPECT_GT(steps, 0x1p28) << t;
    EXPECT_LT(steps, 0x1p30) << t;
  }
  // A floor of 2^-20 D by default, and weights beyond every bound.
  settings.floor.reset();
  const auto extreme = asked({{1e308, 0}, {0, -1e308}, {1e308, 1e308}, {0, 0}});
  EXPECT_EQ(extreme[1].sensitivity, L2Sensitivity{2 * largest_clip * 0x1p-20});
  EXPECT_EQ(extreme[2].sensitivity, L2Sensitivity{2 * largest_clip});
  EXPECT_EQ(extreme[3].sensitivity, L2Sensitivity{2 * largest_clip});
}

TEST(Svrg, MakesBarzilaiBorweinStepsFromWhatIsReleased) {
  const BarzilaiBorwein rule{.first = StepSize{0.5}, .lowest = StepSize{0.1}, .highest = StepSize{4}, .multiple = 1};
  const detail::SvrgAnchorPoint before{.weights = {1, 0}, .gradient = {0.5, 0.5}};
  const auto step = [&](const std::vector<double>& weights, const std::vector<double>& gradient, const BarzilaiBorwein& with) {
    return detail::barzilai_borwein(with, {.weights = weights, .gradient = gradient}, before).value();
  };
  EXPECT_DOUBLE_EQ(step({3, 1}, {1.5, 1}, rule), 5 / 2.5);
  auto half = rule;
  half.multiple = 0.5;
  EXPECT_DOUBLE_EQ(step({3, 1}, {1.5, 1}, half), 1);
  EXPECT_EQ(step({3, 1}, {100, 1}, rule), 0.1);                 // clamped
  EXPECT_EQ(step({3, 1}, {0.50001, 0.5}, rule), 4);             // clamped
  EXPECT_EQ(step({3, 1}, {0.4, 0.5}, rule), 0.5);               // noise made the curvature negative
  EXPECT_EQ(step({1, 0}, {1, 1}, rule), 0.5);                   // the anchor did not move
  EXPECT_EQ(step({1, 0}, {0.5, 0.5}, rule), 0.5);               // 0 / 0
  EXPECT_EQ(step({1e200, 1e200}, {1e200, -1e200}, rule), 0.5);  // infinity - infinity

  // In a run: step 0.5 in the first epoch and the quotient in the second one.
  auto settings = options(all_of_small, Adjacency::replace_one);
  settings.inner_steps = Count{1};
  settings.anchor = SvrgAnchor::last;
  settings.public_count = Count{1};
  settings.step_size = rule;
  testing::ScriptedSamplingReleaser releaser{{{0}, {0}}, {{1, 0}, {0, 0}, {0.75, 0}, {0, 0}}};
  // x~ moves by -0.5 and the gradient by -0.25: the step is 2.
  EXPECT_EQ(run(settings, NoRegularizer{})(small_data(), releaser), (std::vector<double>{-0.5 - 2 * 0.75, 0}));
}

TEST(Svrg, MeasuresHowFarItIsFromItsAnchor) {
  EXPECT_DOUBLE_EQ(detail::euclidean_distance(std::vector<double>{1, -2, 7}, std::vector<double>{4, 2, 7}), 5);
}

TEST(Svrg, DefaultsFollowFromPublicConstants) {
  const Dataset data = Dataset::dense(1, {0.5, -0.2, 0.9, 0.4}, {1, 1, -1, 1});
  SvrgOptions settings{.anchor_multiplier = NoiseMultiplier{5},
                       .noise_multiplier = NoiseMultiplier{3},
                       .sampler = PoissonBatches{SamplingRate{0.5}},
                       .adjacency = Adjacency::zero_out,
                       .epochs = Count{2},
                       .inner_steps = Count{2}};
  const auto weights = [&](double moved) {
    testing::ScriptedSamplingReleaser scripted{{{0, 2}, {}, {1, 2, 3}, {3}}, {{2}, {moved}, {0.8}, {-1}, {0.1}, {3}}};
    auto result = run(settings, NoRegularizer{})(data, scripted);
    std::vector<double> sensitivities;
    for (const auto& request : scripted.log()) sensitivities.push_back(request.sensitivity.value());
    EXPECT_EQ(sensitivities[0], 1);        // G = 1
    EXPECT_EQ(sensitivities[1], 0x1p-20);  // the floor, where nothing has moved
    sensitivities.insert(sensitivities.end(), result.begin(), result.end());
    return sensitivities;
  };
  const auto found = weights(0.3);
  const auto far = weights(1e6);
  EXPECT_EQ(far[2], 1);  // D = 1
  settings.step_size = StepSize{1 / (5 * 0.25)};
  settings.clip = ClippingNorm{1};
  settings.difference_clip = ClippingNorm{1};
  settings.floor = DifferenceFloor{0x1p-20};
  settings.public_count = Count{4};
  settings.anchor = SvrgAnchor::average;
  EXPECT_EQ(found, weights(0.3));
}

TEST(Svrg, Learns) {
  std::mt19937_64 random{3};
  std::normal_distribution<double> normal;
  std::vector<double> values;
  std::vector<double> labels;
  constexpr std::size_t n = 2000;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> row{normal(random), normal(random), normal(random)};
    const double norm = mechanisms::l2_norm(row);
    for (double& value : row) values.push_back(value / norm);
    labels.push_back(row[0] + 0.1 * normal(random) > 0 ? 1 : -1);
  }
  const Dataset data = Dataset::dense(3, values, labels);
  const Regularization lambda{0.01};
  const double start = regularized_loss(LogisticLoss{}, data, std::vector<double>(3, 0.0), lambda);
  const double best = regularized_loss(LogisticLoss{}, data, descent(data, 3.8, 0.01, 3000).back(), lambda);
  for (const auto variant : {SvrgVariant::svrg, SvrgVariant::svrg_plus_plus}) {
    const SvrgOptions settings{.anchor_multiplier = NoiseMultiplier{12},
                               .noise_multiplier = NoiseMultiplier{3},
                               .sampler = PoissonBatches{SamplingRate{0.05}},
                               .adjacency = Adjacency::add_or_remove_one,
                               .variant = variant,
                               .epochs = Count{5},
                               .inner_steps = Count{variant == SvrgVariant::svrg ? 30U : 3U},
                               .public_count = Count{n}};
    const TemporaryFolder folder;
    auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", settings.adjacency);
    auto reservation = ledger.reserve({.event = plan(settings), .not_private = true});
    mechanisms::ReplayBits bits{4};
    NoisySamplingReleaser releaser{reservation, bits, std::get<PoissonBatches>(settings.sampler)};
    const auto weights = svrg(data, LogisticLoss{}, L2Regularizer{lambda}, settings, releaser);
    EXPECT_LT(regularized_loss(LogisticLoss{}, data, weights, lambda) - best, 0.1 * (start - best));
  }
}

TEST(Svrg, RefusesWhatItHasNoGuaranteeFor) {
  const Dataset data = small_data();
  const Sampler fixed = FixedSizeBatches{Batches{Count{4}, Count{1}}};
  const Sampler poisson = PoissonBatches{SamplingRate{0.5}};
  const auto refused = [&](const SvrgOptions& settings, ErrorCode code, std::initializer_list<const char*> words) {
    testing::ScriptedSamplingReleaser none{{}, {}};  // refuses to release anything
    for (const auto* word : words) {
      const auto found = refuses([&] { static_cast<void>(run(settings, NoRegularizer{})(data, none)); }, code, {word});
      if (!found) return found;
    }
    return ::testing::AssertionSuccess();
  };
  EXPECT_TRUE(refuses([] { static_cast<void>(DifferenceFloor{0}); }, ErrorCode::invalid_argument, {"floor", "is 0", "greater than 0"}));
  auto settings = options(fixed, Adjacency::replace_one);
  settings.floor = DifferenceFloor{1};
  EXPECT_TRUE(refused(settings, ErrorCode::invalid_argument, {"floor", "is 1", "at most 0.6"}));
  settings.floor = DifferenceFloor{1e-290};
  EXPECT_TRUE(refused(settings, ErrorCode::invalid_argument, {"grid"}));
  settings = options(FixedSizeBatches{Batches{Count{5}, Count{1}}}, Adjacency::replace_one);
  EXPECT_TRUE(refused(settings, ErrorCode::invalid_argument, {"4 records", "must have 5"}));
  settings = options(poisson, Adjacency::add_or_remove_one);
  settings.public_count.reset();
  EXPECT_TRUE(refused(settings, ErrorCode::invalid_argument, {"public count"}));
  settings = options(fixed, Adjacency::replace_one);
  settings.step_size = BarzilaiBorwein{.first = StepSize{5}, .lowest = StepSize{1}, .highest = StepSize{4}};
  EXPECT_TRUE(refused(settings, ErrorCode::invalid_argument, {"step size is 5", "from 1 to 4"}));
  settings.step_size = BarzilaiBorwein{.first = StepSize{2}, .lowest = StepSize{1}, .highest = StepSize{4}, .multiple = 0};
  EXPECT_TRUE(refused(settings, ErrorCode::invalid_argument, {"multiple", "is 0"}));

  // Fixed size hides nothing of a record that is added; SVRG++ doubles its steps beyond counting.
  EXPECT_TRUE(refuses([&] { static_cast<void>(plan(options(fixed, Adjacency::add_or_remove_one))); }, ErrorCode::invalid_argument, {}));
  settings = options(fixed, Adjacency::replace_one, SvrgVariant::svrg_plus_plus);
  settings.epochs = Count{54};
  EXPECT_TRUE(refused(settings, ErrorCode::invalid_argument, {"54", "at most 53"}));
  settings.epochs = Count{53};
  EXPECT_TRUE(refused(settings, ErrorCode::invalid_argument, {}));
  settings = options(fixed, Adjacency::replace_one);
  settings.inner_steps = Count{std::uint64_t{1} << 53};
  EXPECT_TRUE(refused(settings, ErrorCode::invalid_argument, {"2^53"}));

  settings = options(fixed, Adjacency::replace_one);
  testing::ScriptedSamplingReleaser none{{}, {}};
  EXPECT_TRUE(refuses([&] { static_cast<void>(svrg(data, HingeLoss{}, NoRegularizer{}, settings, none)); }, ErrorCode::unsupported,
                      {"hinge", "SVRG"}));
  const Dataset unlabelled = Dataset::dense(1, {0.5, -0.2, 0, 1}, {});
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(run(settings, NoRegularizer{})(unlabelled, none)); }, ErrorCode::invalid_argument, {"labels"}));

  // No record at all is a data set like any other where the count is public.
  settings = options(poisson, Adjacency::add_or_remove_one);
  testing::ScriptedSamplingReleaser nothing{Places(batches), Script(releases, {1.0, 1.0})};
  EXPECT_EQ(run(settings, NoRegularizer{})(data.subset({}), nothing).size(), 2U);
}

}  // namespace
}  // namespace surety::optimizers::svrg_test
