#include <surety/optimizers/empirical_risk/output_perturbation.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/empirical_risk/minimizer.h>
#include <surety/optimizers/models/metrics.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/releaser.h>

#include <support/drawn_cases.h>
#include <support/drawn_records.h>
#include <support/empirical_epsilon.h>
#include <support/refusal.h>
#include <support/taint.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::output_perturbation_test {
namespace {

OutputPerturbationOptions some_options(Adjacency adjacency = Adjacency::replace_one) {
  OutputPerturbationOptions options{.noise = NoiseMultiplier{3}, .regularization = Regularization{0.2}, .adjacency = adjacency};
  options.clip = ClippingNorm{0.1};  // so small that gradients are often at the clip
  if (adjacency == Adjacency::add_or_remove_one) options.public_count = Count{4};
  return options;
}

template <class O>
auto perturbed(const O& objective, const OutputPerturbationOptions& options) {
  return
      [=](const Dataset& data, const auto& /*domain*/, auto& releaser) { return output_perturbation(data, objective, options, releaser); };
}

/// One more record at a random place.
DrawnNeighbours drawn_addition(std::size_t size, std::size_t features, std::mt19937_64& random) {
  std::vector<DrawnRecord> records;
  for (std::size_t i = 0; i < size; ++i) records.push_back(drawn_record(features, random));
  auto more = records;
  const std::size_t place = random() % (size + 1);
  more.insert(more.begin() + static_cast<std::ptrdiff_t>(place), drawn_record(features, random));
  return {.data = assemble(records), .neighbour = assemble(more), .place = place};
}

// 12,000 pairs of neighbours. The largest ratio is that of records whose gradients are at the clip and point away from each other.
TEST(OutputPerturbation, ARecordMovesTheQueryByAtMostItsSensitivityAndNothingElse) {
  std::mt19937_64 random{31};
  double largest[3] = {};
#ifdef __OPTIMIZE__
  constexpr std::size_t cases = 12'000;
#else
  constexpr std::size_t cases = 1'000;  // as under the sanitizers
#endif
  for (std::size_t c = 0; c < cases; ++c) {
    const std::size_t features = 1 + random() % 3;
    const std::size_t size = 1 + random() % 5;
    const auto adjacency = std::array{Adjacency::replace_one, Adjacency::zero_out, Adjacency::add_or_remove_one}[c % 3];
    const auto neighbours = adjacency == Adjacency::add_or_remove_one ? drawn_addition(size, features, random)
                                                                      : drawn_neighbours(size, features, adjacency, random);
    const std::vector<std::vector<double>> script(1, drawn_vector(features, random));
    const auto check = [&](const auto& objective) {
      const auto optimizer = perturbed(objective, some_options(adjacency));
      ASSERT_TRUE(untainted(optimizer, neighbours.data, neighbours.neighbour, WholeSpace{}, script));
      const double ratio = largest_sensitivity_ratio(optimizer, neighbours.data, neighbours.neighbour, WholeSpace{}, script);
      ASSERT_LE(ratio, 1) << "case " << c;
      largest[c % 3] = std::max(largest[c % 3], ratio);
    };
    switch (random() % 3) {
      case 0: check(LogisticLoss{}); break;
      case 1: check(SmoothedHingeLoss{}); break;
      default: check(SquaredLoss{.label_bound = LabelBound{1}, .weight_radius = Radius{1}});
    }
  }
  RecordProperty("replace_one", std::to_string(largest[0]));
  RecordProperty("zero_out", std::to_string(largest[1]));
  RecordProperty("add_or_remove_one", std::to_string(largest[2]));
  EXPECT_GT(largest[0], 0.99);
  EXPECT_GT(largest[1], 0.99);
  EXPECT_GT(largest[2], 0.95);
}

/// What somebody might run instead: each mistake has a neighbour that exceeds the claim, or shows outside the release.
enum class Mistake { none, unclipped_gradients, half_sensitivity, raw_minimum };

auto mistaken(Mistake mistake) {
  return [mistake](const Dataset& data, const auto& /*domain*/, auto& releaser) {
    auto options = some_options();
    if (mistake == Mistake::unclipped_gradients) options.clip = ClippingNorm{1e3};
    const auto honest = some_options();
    const double claim = minimizer_sensitivity(LogisticLoss{}, honest, Count{2}, data.features()).value();
    const auto shape = minimum_shape(LogisticLoss{}, 3, options.clip, options.row_norm, options.regularization, 0, data.features());
    const auto minimum = minimize(with_clipped_rows(data, options.row_norm), LogisticLoss{}, 0.5, {}, shape);
    const L2Sensitivity sensitivity{mistake == Mistake::half_sensitivity ? claim / 2 : claim * (1 + 1e-6)};
    auto released = releaser.release(mechanisms::round_to_nearest(minimum, Grid{-40}), sensitivity, plan(honest, Count{data.features()}));
    return mistake == Mistake::raw_minimum ? minimum : released;
  };
}

TEST(OutputPerturbation, PlantedViolationsAreCaught) {
  const Dataset data = Dataset::dense(1, {1, 1e3}, {1, 1});
  const Dataset neighbour = Dataset::dense(1, {1, 1e3}, {1, -1});
  const std::vector<std::vector<double>> script{{0.25}};
  const auto ratio = [&](Mistake mistake) { return largest_sensitivity_ratio(mistaken(mistake), data, neighbour, WholeSpace{}, script); };
  EXPECT_LE(ratio(Mistake::none), 1);
  EXPECT_GT(ratio(Mistake::none), 0.9);
  EXPECT_GT(ratio(Mistake::unclipped_gradients), 1.2);
  EXPECT_GT(ratio(Mistake::half_sensitivity), 1.8);
  EXPECT_TRUE(untainted(mistaken(Mistake::none), data, neighbour, WholeSpace{}, script));
  EXPECT_FALSE(untainted(mistaken(Mistake::raw_minimum), data, neighbour, WholeSpace{}, script));
}

// Longer rows are no danger to a clipped gradient; they are to the distance that rounding errors leave.
// docs/proofs/output-perturbation.md#output-perturbation: a / lambda + 2t, a = C / n for each gradient that changes and 2^-49 T C more.
TEST(OutputPerturbation, ItsSensitivityIsTheFormulaOfItsProof) {
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out, Adjacency::add_or_remove_one}) {
    for (const double lambda : {0.2, 1e-5}) {
      OutputPerturbationOptions options{.noise = NoiseMultiplier{3}, .regularization = Regularization{lambda}, .adjacency = adjacency};
      options.clip = ClippingNorm{0.7};
      options.row_norm = Radius{0.6};
      const double total = adjacency == Adjacency::add_or_remove_one ? 64 : 1;
      const double gradients = adjacency == Adjacency::replace_one ? 2 : 1;
      const auto shape = minimum_shape(LogisticLoss{}, total * (1 + 0x1p-40), options.clip, options.row_norm, options.regularization, 0, 5);
      // So many records that what rounding adds is a part of the whole.
      for (const double n : {37.0, 0x1p46}) {
        const double a = gradients * 0.7 / n + 0x1p-49 * total * 0.7;
        const double wanted = (1 + 0x1p-40) * (a / lambda + 2 * minimum_distance(shape));
        const double found = minimizer_sensitivity(LogisticLoss{}, options, Count{static_cast<std::uint64_t>(n)}, 5).value();
        EXPECT_NEAR(found / wanted, 1, 1e-15) << name(adjacency) << n;
      }
    }
  }
}

// What is released is the minimum that the certified solver finds with the weights and the shape of the proof, rounded to the grid.
TEST(OutputPerturbation, ReleasesTheCertifiedMinimum) {
  std::mt19937_64 random{32};
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out, Adjacency::add_or_remove_one}) {
    const auto options = some_options(adjacency);
    const std::size_t size = 4;
    const Dataset data = assemble(drawn_records(size, 3, random));
    testing::ScriptedReleaser releaser{{{1, 2, 3}}};
    EXPECT_EQ(output_perturbation(data, LogisticLoss{}, options, releaser), (std::vector<double>{1, 2, 3}));
    const auto& request = releaser.log()[0];
    const Count n{size};
    const double total = adjacency == Adjacency::add_or_remove_one ? 64 : 1;
    const auto shape =
        minimum_shape(LogisticLoss{}, total * (1 + 0x1p-40), options.clip, options.row_norm, options.regularization, 0, data.features());
    const L2Sensitivity exact = minimizer_sensitivity(LogisticLoss{}, options, n, data.features());
    const Grid grid = mechanisms::grid_for(exact, NoiseMultiplier{3});
    EXPECT_TRUE(request.query.grid == grid);
    EXPECT_EQ(request.sensitivity, mechanisms::after_rounding(exact, grid, data.features()));
    const auto minimum = minimize(with_clipped_rows(data, options.row_norm), LogisticLoss{}, record_weight(adjacency, n, size), {}, shape);
    EXPECT_EQ(request.query, mechanisms::round_to_nearest(minimum, grid));
  }
}

TEST(OutputPerturbation, LongRowsCountAsTheirDirections) {
  testing::ExactReleaser exact;
  const auto options = some_options();
  const auto of = [&](double x) {
    return output_perturbation(Dataset::dense(2, {x, -x, 0.1, 0.2}, {1, -1}), LogisticLoss{}, options, exact);
  };
  const auto limit = of(1e3);
  for (const double x : {1e6, 1e150, 1e300}) {
    for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(of(x)[j], limit[j], 1e-7) << x;
  }
}

TEST(RecordWeight, MovesAClippedSumByAtMostOneOverN) {
  for (const std::uint64_t n : {1U, 3U, 50U, 1000U}) {
    const auto weight = [&](std::uint64_t records) { return record_weight(Adjacency::add_or_remove_one, Count{n}, records); };
    for (std::uint64_t records = 0; records < 600 * n; records += 1 + records / 3000) {
      const auto count = static_cast<double>(records);
      // One more record, of weight weight(records + 1), while those of all others change.
      const double moved = weight(records + 1) + count * std::abs(weight(records) - weight(records + 1));
      ASSERT_LE(moved, (1 + 1e-12) / static_cast<double>(n)) << n << ' ' << records;
      ASSERT_LE(count * weight(records), 64 * (1 + 1e-15));
    }
    EXPECT_GT(weight(n), 0.996 / static_cast<double>(n));
    EXPECT_EQ(record_weight(Adjacency::replace_one, Count{n}, n), 1 / static_cast<double>(n));
  }
}

// The privacy curve of the worst pair by brute force: records of opposite labels whose gradients are at the clip.
struct WorstPair {
  double first;
  double second;
  L2Sensitivity sensitivity;
};

WorstPair worst_pair(const OutputPerturbationOptions& options) {
  testing::ScriptedReleaser one{{{0.0}}};
  testing::ScriptedReleaser other{{{0.0}}};
  static_cast<void>(output_perturbation(Dataset::dense(1, {1, 1}, {1, 1}), LogisticLoss{}, options, one));
  static_cast<void>(output_perturbation(Dataset::dense(1, {1, 1}, {1, -1}), LogisticLoss{}, options, other));
  const auto at = [](const testing::ScriptedReleaser& releaser) { return mechanisms::to_reals(releaser.log()[0].query)[0]; };
  return {.first = at(one), .second = at(other), .sensitivity = one.log()[0].sensitivity};
}

/// integral of (p - e^epsilon q)^+ for densities on [from, to], by the midpoint rule.
template <class P, class Q>
double curve(const P& p, const Q& q, double epsilon, double from, double to) {
  constexpr int points = 400'000;
  const double step = (to - from) / points;
  double sum = 0;
  for (int i = 0; i < points; ++i) {
    const double x = from + (i + 0.5) * step;
    sum += std::max(0.0, p(x) - std::exp(epsilon) * q(x));
  }
  return sum * step;
}

TEST(OutputPerturbation, TheWorstPairUsesTheWholeCurve) {
  for (const double z : {0.7, 3.0}) {
    auto options = some_options();
    options.clip = ClippingNorm{0.05};
    options.noise = NoiseMultiplier{z};
    const auto pair = worst_pair(options);
    const double sigma = z * pair.sensitivity.value();
    const auto normal = [&](double mean) {
      return [=](double x) { return std::exp(-(x - mean) * (x - mean) / (2 * sigma * sigma)) / (sigma * std::sqrt(2 * M_PI)); };
    };
    for (const double epsilon : {0.0, 0.3, 1.0, 2.0}) {
      const double truth = curve(normal(pair.first), normal(pair.second), epsilon, pair.second - 12 * sigma, pair.first + 12 * sigma);
      const double claimed = accounting::delta(accounting::ClosedForm{}, plan(options, Count{1}), Epsilon{epsilon}).upper;
      EXPECT_LE(truth, claimed * (1 + 1e-6)) << z << ' ' << epsilon;
      EXPECT_GE(truth, claimed * 0.99 - 1e-12) << z << ' ' << epsilon;
    }
    auto laplace = options;
    laplace.noise = NoiseScale{z};
    const auto other = worst_pair(laplace);
    const double b = z * other.sensitivity.value();
    const auto density = [&](double mean) { return [=](double x) { return std::exp(-std::abs(x - mean) / b) / (2 * b); }; };
    EXPECT_LE(curve(density(other.first), density(other.second), 1 / z, other.second - 40 * b, other.first + 40 * b), 1e-9);
    EXPECT_GE(curve(density(other.first), density(other.second), 0.95 / z, other.second - 40 * b, other.first + 40 * b), 1e-3);
    EXPECT_NEAR(accounting::best_epsilon(plan(laplace, Count{1}), Delta{0}).value.upper, 1 / z, 1e-9);
  }
}

TEST(OutputPerturbation, SpendsItsPlanAndNoMore) {
  const TemporaryFolder folder;
  auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::replace_one);
  const Dataset data = Dataset::dense(2, {0.1, 0.9, -0.4, 0.3}, {1, -1});
  auto options = some_options();
  for (const bool is_gaussian : {true, false}) {
    if (!is_gaussian) options.noise = NoiseScale{2};
    auto reservation = ledger.reserve({.event = plan(options, Count{2}), .not_private = true});
    mechanisms::ReplayBits bits{4};
    NoisyVectorReleaser releaser{reservation, bits};
    EXPECT_EQ(output_perturbation(data, LogisticLoss{}, options, releaser).size(), 2U);
    EXPECT_TRUE(
        refuses([&] { static_cast<void>(output_perturbation(data, LogisticLoss{}, options, releaser)); }, ErrorCode::budget_exceeded, {}));
    reservation.settle(accounting::Stopping::data_independent);
  }
  EXPECT_EQ(describe(plan(options, Count{2})), "k_norm(l2, 2, 2)");
  auto reservation = ledger.reserve({.event = plan(options, Count{3}), .not_private = true});
  mechanisms::ReplayBits bits{4};
  NoisyVectorReleaser releaser{reservation, bits};
  EXPECT_TRUE(refuses(
      [&] {
        static_cast<void>(releaser.release(GridVector{Grid{-20}, {0, 0}}, L2Sensitivity{1}, plan(options, Count{3})));
      },
      ErrorCode::unsupported, {"in dimension 2"}));
}

// A lower bound on epsilon from releases for the worst pair; the minimisers are computed once.
TEST(OutputPerturbation, LosesNoMoreThanItIsCharged) {
  constexpr double delta = 1e-3;
  constexpr std::uint64_t runs = 40'000;
  auto options = some_options();
  options.clip = ClippingNorm{0.05};
  options.noise = NoiseMultiplier{1};
  const auto pair = worst_pair(options);
  const double threshold = (pair.first + pair.second) / 2 + 1.75 * pair.sensitivity.value();
  const auto hits = [&](double label) {
    mechanisms::ReplayBits bits{static_cast<std::uint64_t>(label + 40)};
    testing::ScriptedReleaser asked{{{0.0}}};
    static_cast<void>(output_perturbation(Dataset::dense(1, {1, 1}, {1, label}), LogisticLoss{}, options, asked));
    std::uint64_t count = 0;
    const auto& request = asked.log()[0];
    const mechanisms::Gaussian noise{{.multiplier = NoiseMultiplier{1},
                                      .sensitivity = request.sensitivity,
                                      .grid = request.query.grid,
                                      .adjacency = Adjacency::replace_one}};
    for (std::uint64_t k = 0; k < runs; ++k) {
      if (noise.release(request.query, bits)[0] > threshold) ++count;
    }
    return reference::Hits{.hits = count, .runs = runs};
  };
  const double lower = reference::empirical_epsilon(hits(1), hits(-1), delta, 1e-9);
  expect_charged(lower, accounting::best_epsilon(plan(options, Count{1}), Delta{delta}).value.upper);
}

TEST(OutputPerturbation, Learns) {
  std::mt19937_64 random{12};
  const Dataset data = learnable_records(4000, random);
  const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = Adjacency::replace_one};
  OutputPerturbationOptions options{.noise = NoiseMultiplier{1}, .regularization = Regularization{0.01}};
  const auto found = calibrate([&](NoiseMultiplier z) { return gaussian(z, target.adjacency); }, target);
  options.noise = found.value;
  const TemporaryFolder folder;
  auto ledger = accounting::Ledger::create(folder / "run.db", target.adjacency);
  auto reservation = ledger.reserve({.event = plan(options, Count{2}), .promise = target, .not_private = true});
  mechanisms::ReplayBits bits{5};
  NoisyVectorReleaser releaser{reservation, bits};
  const auto weights = output_perturbation(data, LogisticLoss{}, options, releaser);
  testing::ExactReleaser exact;
  const auto best = output_perturbation(data, LogisticLoss{}, options, exact);
  const double excess = regularized_loss(LogisticLoss{}, data, weights, options.regularization) -
                        regularized_loss(LogisticLoss{}, data, best, options.regularization);
  EXPECT_GE(excess, 0);
  EXPECT_LT(excess, 0.02);
  EXPECT_LT(regularized_loss(LogisticLoss{}, data, best, options.regularization), 0.5);
}

TEST(OutputPerturbation, RefusesBeforeTheRelease) {
  testing::ScriptedReleaser nothing{{}};
  const Dataset data = Dataset::dense(1, {1, 1}, {1, -1});
  const auto refused = [&](const Dataset& records, const OutputPerturbationOptions& options, std::string_view words) {
    return refuses([&] { static_cast<void>(output_perturbation(records, LogisticLoss{}, options, nothing)); }, ErrorCode::invalid_argument,
                   {words});
  };
  auto options = some_options(Adjacency::add_or_remove_one);
  options.public_count = std::nullopt;
  EXPECT_TRUE(refused(data, options, "public count"));
  options = some_options();
  EXPECT_TRUE(refused(Dataset::dense(1, {1, 1}, {}), options, "labels"));
  EXPECT_TRUE(refused(Dataset::dense(1, {}, {}), options, "count is 0"));
  options.public_count = Count{3};
  EXPECT_TRUE(refused(data, options, "public count is 3, must be 2"));
  options = some_options();
  options.regularization = Regularization{0};
  EXPECT_TRUE(refused(data, options, "regularization is 0"));
}

}  // namespace
}  // namespace surety::optimizers::output_perturbation_test
