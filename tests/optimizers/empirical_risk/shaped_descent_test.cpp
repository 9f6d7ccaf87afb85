#include <surety/optimizers/empirical_risk/shaped_descent.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/data/features/record_file.h>
#include <surety/optimizers/doors/vector_releaser.h>
#include <surety/optimizers/empirical_risk/accelerated_gradient_descent.h>
#include <surety/optimizers/empirical_risk/constant_learner.h>
#include <surety/optimizers/empirical_risk/gradient_descent.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/second_moment.h>
#include <surety/testing/releaser.h>

#include <support/full_gradient_checks.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::shaped_descent_test {

using namespace data;

namespace {

constexpr std::size_t few = 4;

ShapedDescentOptions few_steps(Adjacency adjacency) {
  return {.noise_multiplier = NoiseMultiplier{3}, .adjacency = adjacency, .steps = Count{few}, .public_count = Count{11}};
}

/// A release of the second moment, as likely as not far from one, and of gradients.
std::vector<std::vector<double>> script_of(std::size_t features, std::size_t steps, std::mt19937_64& random) {
  std::vector<std::vector<double>> script(steps + 1, std::vector<double>(features));
  script[0].resize(features * features);
  for (auto& released : script) {
    for (double& value : released) value = std::uniform_real_distribution<double>{-20, 20}(random);
  }
  return script;
}

/// What one record does; optimizer(data, releaser) returns all numbers.
template <class Optimizer>
Checked check(const Optimizer& make, int cases, std::uint64_t seed, std::size_t classes = 1) {
  std::mt19937_64 random{seed};
  Checked worst;
  for (int k = 0; k < cases && worst.untainted; ++k) {
    const Adjacency adjacency = every_adjacency[static_cast<std::size_t>(k) % 3];
    const std::size_t features = 1 + random() % 4;
    const auto [data, neighbour] = neighbours_under(adjacency, 1 + random() % 6, features, random);
    const auto run = make(adjacency);
    auto script = script_of(features, few, random);
    for (std::size_t step = 1; step < script.size(); ++step) {
      const auto of_one = script[step];
      for (std::size_t c = 1; c < classes; ++c) script[step].insert(script[step].end(), of_one.rbegin(), of_one.rend());
    }
    const auto difference = full_gradient_difference(
        [&](const Dataset& records, const auto&, auto& releaser) { return run(records, releaser); }, data, neighbour, script);
    worst.untainted = difference.untainted;
    worst.largest_ratio = std::max(worst.largest_ratio, difference.ratio);
  }
  return worst;
}

TEST(ShapedDescent, OneRecordMovesNothingButItsQueries) {
  const auto make = [](Adjacency adjacency) {
    return
        [=](const Dataset& data, auto& releaser) { return shaped_descent(data, LogisticLoss{}, few_steps(adjacency), releaser).weights; };
  };
  expect_nothing_but_queries_moved(check(make, optimized ? 12'000 : 1000, 1), "largest_ratio");
}

TEST(ShapedDescent, OneUnitMovesNothingButItsQueries) {
  std::mt19937_64 random{6};
  double largest = 0;
  for (int k = 0; k < (optimized ? 2000 : 300); ++k) {
    const Adjacency adjacency = every_adjacency[static_cast<std::size_t>(k) % 3];
    const std::size_t d = 1 + random() % 3;
    const std::size_t classes = k % 2 == 0 ? 1 : 2;
    const auto pair = unit_neighbours_under(adjacency, 1 + random() % 4, d, random);
    auto options = few_steps(adjacency);
    options.public_count = Count{4};
    if (classes > 1) options.class_weights = {1, 2};
    if (k % 4 == 1) options.classes_by = ClassesBy::softmax;
    std::vector<std::vector<double>> script(1 + steps_of(options), std::vector<double>(classes * d));
    script[0].resize(d * d);
    for (auto& released : script) {
      for (double& value : released) value = std::normal_distribution<double>{0, 2}(random);
    }
    const auto run = [&](const Dataset& records, const auto&, auto& releaser) {
      options.unit_ends = pair.ends_of(records);
      return shaped_descent(records, LogisticLoss{}, options, releaser).weights;
    };
    const auto found = full_gradient_difference(run, pair.data[0], pair.data[1], script);
    ASSERT_TRUE(found.untainted) << k;
    largest = std::max(largest, found.ratio);
  }
  EXPECT_LE(largest, 1);
  EXPECT_GT(largest, 0.9);
}

// A unit of equal rows is its row, but for the margin of the clip.
TEST(ShapedDescent, UnitsOfEqualRowsAreRecords) {
  const Dataset records = Dataset::dense(2, {0.6, 0.1, -0.3, 0.9, 0.2, -0.5}, {1, -1, 1});
  const Dataset rows = Dataset::dense(2, {0.6, 0.1, 0.6, 0.1, -0.3, 0.9, 0.2, -0.5, 0.2, -0.5, 0.2, -0.5}, {1, 1, -1, 1, 1, 1});
  const std::vector<std::size_t> ends{2, 3, 6};
  auto options = few_steps(Adjacency::replace_one);
  testing::ExactReleaser exact;
  const auto one = shaped_descent(records, LogisticLoss{}, options, exact).weights;
  options.unit_ends = ends;
  const auto other = shaped_descent(rows, LogisticLoss{}, options, exact).weights;
  for (std::size_t k = 0; k < one.size(); ++k) EXPECT_NEAR(one[k], other[k], 1e-4 * std::abs(one[k]));
  // Rows that stay where they are, and are mapped at each step, are the same.
  std::vector<std::size_t> places;
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::uint32_t k = 0; k < 2; ++k) indices.push_back(k);
    for (const double value : rows.row(i).values) values.push_back(value);
    places.push_back(values.size());
  }
  const Dataset sparse = Dataset::sparse(2, places, indices, values, {rows.labels().begin(), rows.labels().end()});
  EXPECT_EQ(shaped_descent(sparse, LogisticLoss{}, options, exact).weights, other);
}

/// The same records, their labels one of three classes or none, by each record alone.
Dataset with_classes(const Dataset& data) {
  std::vector<double> values;
  std::vector<double> labels;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const RowView row = data.row(i);
    values.insert(values.end(), row.values.begin(), row.values.end());
    const double first = row.values.front();
    labels.push_back(data.label(i) > 0 ? (first > 0.3 ? 2 : 1) : first > 0 ? 0 : -1);
  }
  return Dataset::dense(data.features(), std::move(values), std::move(labels));
}

TEST(ShapedDescent, OneRecordOfSeveralClassesMovesNothingButItsQueries) {
  for (const ClassesBy by : {ClassesBy::one_against_the_rest, ClassesBy::softmax}) {
    const auto make = [by](Adjacency adjacency) {
      return [=](const Dataset& data, auto& releaser) {
        auto options = few_steps(adjacency);
        options.class_weights = {1, 2, 0.5};
        options.classes_by = by;
        return shaped_descent(with_classes(data), LogisticLoss{}, options, releaser).weights;
      };
    };
    expect_nothing_but_queries_moved(check(make, optimized ? 6000 : 600, 3, 3),
                                     by == ClassesBy::softmax ? "largest_ratio_by_softmax" : "largest_ratio");
  }
}

/// Releases what it is asked, and `common[j]` more in coordinate j of each class.
struct WithCommonNoise final : Releaser {
  explicit WithCommonNoise(std::vector<double> of_all = {}) : common{std::move(of_all)} {}
  testing::ExactReleaser exact = {};
  std::vector<double> common = {};
  bool is_first = true;
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    auto released = exact.release(query, sensitivity, event);
    if (!std::exchange(is_first, false)) {
      for (std::size_t j = 0; j < released.size(); ++j) released[j] += common[j % common.size()];
    }
    return released;
  }
};

/// Records of three classes around the corners of a triangle, of norm 1.
Dataset three_corners(int size, std::uint64_t seed);

// Noise that all classes share says nothing of their probabilities, and is not learned; the optimum is that of one softmax.
TEST(ShapedDescent, BySoftmaxLearnsNothingThatIsCommonToAllClasses) {
  const Dataset data = three_corners(600, 9);
  ShapedDescentOptions options{.noise_multiplier = NoiseMultiplier{1e-3}, .adjacency = Adjacency::zero_out, .steps = Count{400}};
  options.class_weights = {1, 2, 1};
  options.classes_by = ClassesBy::softmax;
  options.clip_share = 1;
  options.derivative_bound = 100;  // no clip, which would move the optimum
  options.regularization = Regularization{0.01};
  const auto weights_with = [&](std::vector<double> common) {
    WithCommonNoise releaser{std::move(common)};
    return shaped_descent(data, LogisticLoss{}, options, releaser).weights;
  };
  const auto found = weights_with({0, 0, 0});
  const auto noisy = weights_with({30, -20, 10});
  for (std::size_t j = 0; j < found.size(); ++j) EXPECT_NEAR(noisy[j], found[j], 1e-9);
  for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(found[j] + found[3 + j] + found[6 + j], 0, 1e-9);
  mechanisms::RecordSum sum{{.clip = ClippingNorm{100}, .grid = {.log2_step = -30}, .dimension = 9}};
  add_class_gradients(data, LogisticLoss{}, found, options.class_weights, sum, 1, {}, ClassesBy::softmax);
  const auto gradient = sum.reals();
  for (std::size_t j = 0; j < found.size(); ++j) EXPECT_NEAR(gradient[j] / 600 + 0.01 * found[j], 0, 1e-4);
  EXPECT_GT(*std::max_element(found.begin(), found.end()), 1);
}

Dataset three_corners(int size, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  constexpr std::array<std::array<double, 2>, 3> corners{{{1, 0}, {-0.5, 0.87}, {-0.5, -0.87}}};
  std::vector<double> values;
  std::vector<double> labels;
  for (int i = 0; i < size; ++i) {
    const std::size_t own = random() % 3;
    std::vector<double> row{corners[own][0] + 0.3 * normal(random), corners[own][1] + 0.3 * normal(random), 1};
    const double norm = mechanisms::l2_norm(row) * (1 + 1e-12);
    for (const double value : row) values.push_back(value / norm);
    labels.push_back(static_cast<double>(own));
  }
  return Dataset::dense(3, std::move(values), std::move(labels));
}

// By the class whose corner of the plane it is.
TEST(ShapedDescent, LearnsSeveralClasses) {
  const Dataset data = three_corners(3000, 5);
  testing::ExactReleaser exact;
  ShapedDescentOptions options{.noise_multiplier = NoiseMultiplier{1}, .adjacency = Adjacency::zero_out};
  for (const ClassesBy by : {ClassesBy::one_against_the_rest, ClassesBy::softmax}) {
    options.class_weights = {1, 1, 1};
    options.classes_by = by;
    const auto found = shaped_descent(data, LogisticLoss{}, options, exact).weights;
    ASSERT_EQ(found.size(), 9U);
    int right = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
      std::array<double, 3> scores{};
      for (std::size_t k = 0; k < 3; ++k) scores[k] = data.row(i).dot(std::span{found}.subspan(3 * k, 3));
      right += std::max_element(scores.begin(), scores.end()) - scores.begin() == static_cast<std::ptrdiff_t>(data.label(i)) ? 1 : 0;
    }
    EXPECT_GT(right, 2800) << name(by);
  }
  for (const double weight : {0.0, -1.0, std::nan("")}) {
    options.class_weights = {1, weight, 1};
    EXPECT_THROW(static_cast<void>(shaped_descent(data, LogisticLoss{}, options, exact)), Error);
  }
}

// Planted: what a program without privacy would do.
enum class Leak { none, exact_moment, half_matrix_sensitivity, count_of_rows, clip_from_rows };

auto leaky(Leak leak) {
  return [leak](const Dataset& data, auto& releaser) {
    auto options = few_steps(Adjacency::replace_one);
    if (leak == Leak::count_of_rows) {
      double count = 1;
      for (std::size_t i = 0; i < data.size(); ++i) count += data.row(i).norm > 1 ? 1 : 0;
      options.public_count = Count{static_cast<std::uint64_t>(count)};
    }
    if (leak == Leak::clip_from_rows) {
      double longest = 0;
      for (std::size_t i = 0; i < data.size(); ++i) longest = std::max(longest, data.row(i).norm);
      options.derivative_bound = longest;
    }
    struct Wrapped final : Releaser {
      Wrapped(Releaser& inner, Leak planted) : own{inner}, leak{planted} {}
      Releaser& own;
      Leak leak;
      bool is_first = true;
      std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
        const bool is_matrix = std::exchange(is_first, false);
        const bool is_half = is_matrix && leak == Leak::half_matrix_sensitivity;
        auto released = own.release(query, is_half ? L2Sensitivity{sensitivity.value() / 1.5} : sensitivity, event);
        return is_matrix && leak == Leak::exact_moment ? mechanisms::to_reals(query) : released;
      }
    } wrapped{releaser, leak};
    return shaped_descent(data, LogisticLoss{}, options, wrapped).weights;
  };
}

TEST(ShapedDescent, PlantedViolationsAreCaught) {
  std::mt19937_64 random{2};
  const auto script = script_of(2, few, random);
  const DrawnRecord first{{0.6, 0.1}, -1};
  const auto difference = [&](Leak leak) {
    return full_gradient_difference([&](const Dataset& data, const auto&, auto& releaser) { return leaky(leak)(data, releaser); },
                                    assemble({first, {{1, 0}, 1}}), assemble({first, {{0, 2}, 1}}), script);
  };
  EXPECT_TRUE(difference(Leak::none).untainted);
  EXPECT_LE(difference(Leak::none).ratio, 1);
  EXPECT_GT(difference(Leak::half_matrix_sensitivity).ratio, 1);
  for (const Leak leak : {Leak::exact_moment, Leak::count_of_rows, Leak::clip_from_rows}) {
    EXPECT_FALSE(difference(leak).untainted) << static_cast<int>(leak);
  }
}

TEST(ShapedDescent, PlansAndSpendsWhatItAsksFor) {
  const TemporaryFolder folder;
  auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::zero_out);
  const auto options = few_steps(Adjacency::zero_out);
  auto reservation = ledger.reserve({.event = plan(options), .not_private = true});
  mechanisms::ReplayBits bits{5};
  NoisyReleaser releaser{reservation, bits};
  static_cast<void>(shaped_descent(logistic_problem(11, 3, 1), LogisticLoss{}, options, releaser));
  EXPECT_TRUE(reservation.released() == accounting::Releases::of(plan(options)));
  // A tenth of mu^2 = T / z^2 / .9 is the matrix's.
  const Event one = gaussian(NoiseMultiplier{std::sqrt(0.9 * 9 / 4)}, Adjacency::zero_out);
  const auto epsilon = [](const Event& event) { return accounting::best_epsilon(event, Delta{1e-5}).value.upper; };
  EXPECT_NEAR(epsilon(plan(options)), epsilon(one), 1e-8);
}

/// Rows of unit norm, whose last feature is the intercept, with labels of log-odds `slope` times the first feature.
Dataset rows_of_slope(double slope, std::size_t records, std::size_t features, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  std::vector<double> values;
  std::vector<double> labels;
  for (std::size_t i = 0; i < records; ++i) {
    std::vector<double> row(features);
    for (double& value : row) value = normal(random);
    row.back() = 1;
    const double norm = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    labels.push_back(std::uniform_real_distribution<double>{}(random) < 1 / (1 + std::exp(-slope * row[0])) ? 1 : -1);
    for (const double value : row) values.push_back(value / norm);
  }
  return Dataset::dense(features, values, labels);
}

struct Losses {
  double plain = 0;
  double shrunk = 0;
  double ratio = 0;  ///< of the norms of weights
};
/// Mean losses on other records, of one set of releases.
Losses losses_of_slope(double slope, double noise) {
  constexpr std::size_t features = 20;
  constexpr int seeds = 10;
  const Dataset others = rows_of_slope(slope, 4000, features, 99);
  Losses found;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    std::vector<double> weights[2];
    for (const bool shrinks : {false, true}) {
      const TemporaryFolder folder;
      ShapedDescentOptions options{.noise_multiplier = NoiseMultiplier{noise}, .adjacency = Adjacency::zero_out, .steps = Count{10}};
      options.shrinks = shrinks;
      auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::zero_out);
      auto reservation = ledger.reserve({.event = plan(options), .not_private = true});
      mechanisms::ReplayBits bits{seed};
      NoisyReleaser releaser{reservation, bits};
      weights[shrinks ? 1 : 0] = shaped_descent(rows_of_slope(slope, 2000, features, seed), LogisticLoss{}, options, releaser).weights;
    }
    const auto loss_of = [&](const std::vector<double>& of) {
      double sum = 0;
      for (std::size_t i = 0; i < others.size(); ++i) {
        const auto row = others.row(i).values;
        sum += LogisticLoss{}.value(std::inner_product(row.begin(), row.end(), of.begin(), 0.0), others.label(i));
      }
      return sum / static_cast<double>(others.size());
    };
    const auto norm_of = [](const std::vector<double>& of) { return std::sqrt(std::inner_product(of.begin(), of.end(), of.begin(), 0.0)); };
    found.plain += loss_of(weights[0]) / seeds;
    found.shrunk += loss_of(weights[1]) / seeds;
    found.ratio += norm_of(weights[1]) / norm_of(weights[0]) / seeds;
  }
  return found;
}

TEST(ShrunkWeights, AreSmallWhereThereIsNoSignalAndStayWhereItIsStrong) {
  const Losses nothing = losses_of_slope(0, 60);
  EXPECT_LT(nothing.ratio, 0.6);
  EXPECT_LT(nothing.shrunk - std::log(2.0), 0.5 * (nothing.plain - std::log(2.0)));
  const Losses weak = losses_of_slope(0.5, 60);
  EXPECT_LT(weak.shrunk, weak.plain);
  const Losses strong = losses_of_slope(4, 6);
  EXPECT_GT(strong.ratio, 0.9);
  EXPECT_LT(strong.shrunk, strong.plain + 0.003);
}

TEST(ShapedDescent, PureRunsMoveNothingButTheirQueries) {
  const auto make = [](Adjacency adjacency) {
    return [=](const Dataset& data, auto& releaser) {
      auto options = few_steps(adjacency);
      options.is_pure = true;
      return shaped_descent(data, LogisticLoss{}, options, releaser).weights;
    };
  };
  expect_nothing_but_queries_moved(check(make, optimized ? 3000 : 500, 9), "largest_ratio");
}

TEST(ShapedDescent, APureRunPlansAndSpendsWhatItRequests) {
  const auto expect_spent = [](ShapedDescentOptions options, const Dataset& data, ObjectiveRef objective, double epsilon) {
    options.is_pure = true;
    const TemporaryFolder folder;
    auto ledger = accounting::Ledger::create(folder / "run.db", options.adjacency);
    auto reservation = ledger.reserve({.event = plan(options), .not_private = true});
    mechanisms::ReplayBits bits{5};
    NoisyVectorReleaser releaser{reservation, bits};
    static_cast<void>(shaped_descent(data, objective, options, releaser));
    EXPECT_TRUE(reservation.released() == accounting::Releases::of(plan(options)));
    EXPECT_NEAR(accounting::best_epsilon(plan(options), Delta{0}).value.upper, epsilon, 1e-9 * epsilon);
  };
  // Four gradients of scale 3 with .9 of epsilon, or .9 of what other releases leave.
  const auto options = few_steps(Adjacency::zero_out);
  expect_spent(options, logistic_problem(11, 3, 1), LogisticLoss{}, 4 / (3 * 0.9));
  auto of_share = options;
  of_share.starts_at_class_share = true;
  expect_spent(of_share, logistic_problem(11, 3, 1), LogisticLoss{}, 4 / (3 * 0.9 * 0.97));
  auto of_classes = options;
  of_classes.class_weights = {1, 1, 1};
  of_classes.classes_by = ClassesBy::softmax;
  expect_spent(of_classes, Dataset::dense(1, {1, 0.5, 0.2}, {0, 1, 2}), LogisticLoss{}, 4 / (3 * 0.9));
  const SquaredLoss squared{LabelBound{1}, Radius{1}};
  auto of_residuals = options;
  of_residuals.residual_clip = ResidualClip{.label_bound = LabelBound{1}};
  expect_spent(of_residuals, logistic_problem(11, 3, 1), squared, 4 / (3 * 0.9 * 0.93));
  of_residuals.residual_clip->intercept = 1;
  expect_spent(of_residuals, logistic_problem(11, 3, 1), squared, 4 / (3 * 0.9 * 0.865));
}

// Without noise it finds the optimum, whatever the scales of the features are, on any number of threads.
TEST(ShapedDescent, FindsTheOptimumWithoutNoise) {
  const Dataset data = logistic_problem(500, 4, 7);
  auto options = few_steps(Adjacency::zero_out);
  options.noise_multiplier = NoiseMultiplier{1e-3};
  options.public_count = std::nullopt;
  options.steps = Count{300};
  options.clip_share = 1;
  options.derivative_bound = 100;  // no clip, which would move the optimum
  options.ridge = NoiseFactor{0};
  testing::ExactReleaser exact;
  const auto found = shaped_descent(data, LogisticLoss{}, options, exact).weights;
  const auto reference = gradient_descent(data, LogisticLoss{}, NoRegularizer{},
                                          {.noise_multiplier = NoiseMultiplier{1e-3},
                                           .adjacency = Adjacency::zero_out,
                                           .steps = Count{20'000},
                                           .regularization = Regularization{0}},
                                          exact);
  for (std::size_t j = 0; j < found.size(); ++j) EXPECT_NEAR(found[j], reference.weights[j], 2e-4);
  options.threads = 4;
  EXPECT_EQ(shaped_descent(data, LogisticLoss{}, options, exact).weights, found);
  // A penalty is on w, not on u.
  options.regularization = Regularization{0.1};
  const auto penalised = shaped_descent(data, LogisticLoss{}, options, exact).weights;
  const auto other = gradient_descent(data, LogisticLoss{}, NoRegularizer{},
                                      {.noise_multiplier = NoiseMultiplier{1e-3},
                                       .adjacency = Adjacency::zero_out,
                                       .steps = Count{3000},
                                       .regularization = Regularization{0.1}},
                                      exact);
  for (std::size_t j = 0; j < found.size(); ++j) EXPECT_NEAR(penalised[j], other.weights[j], 2e-4);
}

// One feature, five steps, two of them accelerated: all of the formula, by hand.
TEST(ShapedDescent, TakesTheStepsOfTheFormula) {
  const Dataset data = Dataset::dense(1, {0.5, 1}, {1, -1});
  ShapedDescentOptions options{.noise_multiplier = NoiseMultiplier{3},
                               .adjacency = Adjacency::replace_one,
                               .steps = Count{5},
                               .regularization = Regularization{0.2},
                               .clip_share = 0.5,
                               .derivative_bound = 0.8,
                               .ridge = NoiseFactor{0.1},
                               .damping = NoiseFactor{0.3},
                               .public_count = Count{100}};
  const std::vector<double> released{7, 0.5, -3, 1, 2};
  testing::ScriptedReleaser releaser{{{40}, {7}, {0.5}, {-3}, {1}, {2}}};
  const double found = shaped_descent(data, LogisticLoss{}, options, releaser).weights[0];

  const double of_matrix = 3 * std::sqrt(0.9 / (0.1 * 5)) * std::sqrt(2.0);
  const double op = of_matrix * std::sqrt(2.0);
  const double e = 40 + op;
  const double m = std::sqrt(e / 100);
  const double mu = std::sqrt(5.0) / (3 * std::sqrt(0.9));
  const double clip = 0.8 * std::sqrt(0.5 * std::min(1 / m, (e - op / 2) / (100 * m)));
  const double noise = clip * 2 / (100 * mu);
  const double pull = 0.1 * noise + 0.2 / m;
  const double step = 1 / (0.25 * e / (100 * m) + 0.2 / m + 0.3 * noise);
  EXPECT_DOUBLE_EQ(releaser.log()[1].sensitivity.value(), 2 * clip);
  double u = 0;
  double ahead = 0;
  double sum = 0;
  double k = 1;
  for (std::size_t t = 0; t < 5; ++t) {
    double& from = t < 2 ? ahead : u;
    from -= step * (released[t] / 100 + pull * from);
    if (t < 2) {
      const double next = (1 + std::sqrt(1 + 4 * k * k)) / 2;
      const double previous = u;
      u = ahead;
      ahead += (k - 1) / next * (u - previous);
      k = next;
    } else {
      sum += u / 3;
    }
  }
  // The script answers in z, whose sign is that of an eigenvector: either may come.
  EXPECT_NEAR(std::abs(found), std::abs(sum) / std::sqrt(m), 1e-12);
}

TEST(ShapedDescent, DefaultsFollowFromPublicNumbers) {
  const Dataset data = Dataset::dense(2, {0.6, 0.8, 0, 1}, {-1, 1});
  ShapedDescentOptions options{.noise_multiplier = NoiseMultiplier{0.2}, .adjacency = Adjacency::zero_out};
  const auto run = [&](std::size_t steps) {
    std::mt19937_64 random{3};
    testing::ScriptedReleaser releaser{script_of(2, steps, random)};
    auto weights = shaped_descent(data, LogisticLoss{}, options, releaser).weights;
    EXPECT_EQ(releaser.log().size(), steps + 1);
    return weights;
  };
  const auto found = run(30);
  const double mu = std::sqrt(30.0) / (0.2 * std::sqrt(0.9));
  options.steps = Count{30};
  options.clip_share = std::clamp(0.6 * std::pow(2 / (2 * mu) / 0.01, -0.4), 0.3, 1.0);
  options.derivative_bound = 1;
  options.ridge = NoiseFactor{0.03};
  options.damping = NoiseFactor{0.5};
  options.public_count = Count{2};
  EXPECT_EQ(found, run(30));
  options.steps = std::nullopt;
  options.ridge = std::nullopt;
  options.damping = std::nullopt;
  options.regularization = Regularization{0.01};
  const auto regularized = run(15);
  options.steps = Count{15};
  options.ridge = NoiseFactor{0};
  options.damping = NoiseFactor{0};
  EXPECT_EQ(regularized, run(15));
}

/// Coordinates of very different size, as real features have: the label depends on the small ones, too.
Dataset uneven_problem(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  std::vector<double> values;
  std::vector<double> labels;
  for (std::size_t i = 0; i < size; ++i) {
    std::array<double, 6> x{};
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = normal(random) * std::pow(0.4, static_cast<double>(j));
    x[0] = 2;  // an intercept
    const double score = 6 * (x[1] - 2 * x[2] + 4 * x[3] - 8 * x[4]);
    const double norm = mechanisms::l2_norm(x);
    for (const double value : x) values.push_back(value / norm);
    labels.push_back(std::uniform_real_distribution<double>{0, 1}(random) < 1 / (1 + std::exp(-score)) ? 1 : -1);
  }
  return Dataset::dense(6, std::move(values), std::move(labels));
}

// The job it is for, at epsilon = 1 and delta = 1e-5.
TEST(ShapedDescent, LearnsWhatDescentInPlainCoordinatesDoesNot) {
  const Dataset data = uneven_problem(6000, 1);
  const LogisticLoss loss;
  const double best = regularized_loss(
      loss, data, minimum_of(loss, data, 0, 0.25, optimized ? 4000 : 1000, [](double, std::span<double>) {}), Regularization{0});
  const double mu = accounting::largest_mu(Epsilon{1}, Delta{1e-5}).lower;
  double shaped = 0;
  double plain = 0;
  constexpr int seeds = optimized ? 5 : 2;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    mechanisms::ReplayBits bits{seed};
    ReplayedReleaser releaser{bits};
    const auto excess = [&](const std::vector<double>& weights) {
      return (regularized_loss(loss, data, weights, Regularization{0}) - best) / seeds;
    };
    shaped += excess(shaped_descent(data, loss, {.noise_multiplier = NoiseMultiplier{std::sqrt(30 / 0.9) / mu}}, releaser).weights);
    plain += excess(
        accelerated_gradient_descent(
            data, loss, NoRegularizer{},
            {.noise_multiplier = NoiseMultiplier{std::sqrt(30.0) / mu}, .steps = Count{30}, .regularization = Regularization{0}}, releaser)
            .weights);
  }
  RecordProperty("shaped", std::to_string(shaped));
  RecordProperty("plain", std::to_string(plain));
  EXPECT_GT(shaped, 0);
  EXPECT_LT(shaped, plain / 2);
}

TEST(ShapedDescent, RowsMayLieAnywhere) {
  // Dense rows are changed once, where they are; sparse ones and those of a file each time. Queries and model are the same to the last bit.
  std::mt19937_64 random{17};
  constexpr std::size_t d = 5;
  constexpr std::size_t n = 150;  // three blocks of 64, the last one cut short
  std::vector<double> values;
  std::vector<double> labels;
  std::vector<double> nonzeros;
  std::vector<std::uint32_t> indices;
  std::vector<std::size_t> ends;
  RecordFileText text{{.features = {.inputs = SparseFeatures{d}, .intercept = false, .unit_norm = false}, .label = {}}};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::uint32_t j = 0; j < d; ++j) {
      values.push_back(random() % 3 == 0 ? 0 : std::uniform_real_distribution<double>{-0.4, 0.4}(random));
      if (values.back() == 0) continue;
      nonzeros.push_back(values.back());
      indices.push_back(j);
    }
    ends.push_back(nonzeros.size());
    labels.push_back(random() % 2 == 0 ? 1 : -1);
    text.add(std::span{values}.last(d), labels.back(), false);
  }
  text.finish();
  const TemporaryFolder folder;
  const auto file = std::make_shared<const RecordFile>(folder.write("records", text.text()));
  const auto script = script_of(d, few, random);
  const auto run = [&](const Dataset& data, std::size_t threads) {
    testing::ScriptedReleaser releaser{script};
    auto options = few_steps(Adjacency::replace_one);
    options.threads = threads;
    auto numbers = shaped_descent(data, LogisticLoss{}, options, releaser).weights;
    for (const auto& request : releaser.log()) {
      const auto query = mechanisms::to_reals(request.query);
      numbers.insert(numbers.end(), query.begin(), query.end());
    }
    return numbers;
  };
  const auto wanted = run(Dataset::dense(d, values, labels), 1);
  EXPECT_EQ(run(Dataset::sparse(d, ends, indices, nonzeros, labels), 1), wanted);
  EXPECT_EQ(run(Dataset::in_file(file, [](std::size_t, double label) { return std::optional{label}; }), 1), wanted);
  EXPECT_EQ(run(Dataset::in_file(file, [](std::size_t, double label) { return std::optional{label}; }), 2), wanted);
}

TEST(ShrunkWeights, AreOfNoResidualsAndOfCurvesThatAreFeatures) {
  auto options = few_steps(Adjacency::zero_out);
  options.shrinks = true;
  testing::ExactReleaser exact;
  const auto run = [&](const ShapedDescentOptions& of) {
    static_cast<void>(shaped_descent(Dataset::dense(1, {1}, {1}), LogisticLoss{}, of, exact));
  };
  EXPECT_NO_THROW(run(options));
  auto curves = options;
  curves.curves = {1};
  EXPECT_THROW(run(curves), Error);
  options.residual_clip = ResidualClip{.label_bound = LabelBound{1}};
  EXPECT_THROW(run(options), Error);
}

/// Rows of unit norm: a number, eight hat functions of it, and an intercept, for each of three columns; three classes of scores that are linear in the first number, or
/// jump at its middle.
Dataset rows_with_curves(bool jumps, std::size_t records, std::uint64_t seed) {
  constexpr std::size_t columns = 3;
  constexpr std::size_t knots = 8;
  std::mt19937_64 random{seed};
  std::uniform_real_distribution<double> uniform{-1, 1};
  std::vector<double> values;
  std::vector<double> labels;
  for (std::size_t i = 0; i < records; ++i) {
    std::vector<double> row;
    double first = 0;
    for (std::size_t k = 0; k < columns; ++k) {
      const double number = uniform(random);
      if (k == 0) first = number;
      row.push_back(number);
      for (std::size_t at = 0; at < knots; ++at) {
        const double knot = 2 * static_cast<double>(at) / (knots - 1) - 1;
        row.push_back(std::max(0.0, 1 - std::abs(number - knot) * (knots - 1) / 2));
      }
    }
    row.push_back(1);
    const double norm = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    for (const double value : row) values.push_back(value / norm);
    const double score = jumps ? 3 * std::copysign(1, std::abs(first) - 0.5) : first;
    const double weight = std::exp(score);
    const double draw = (1 + uniform(random)) / 2 * (weight + 1 + 1 / weight);
    labels.push_back(draw < weight ? 0 : draw < weight + 1 ? 1 : 2);
  }
  return Dataset::dense(1 + columns * (1 + knots), values, labels);
}

struct WithCurves {
  double loss = 0;   ///< mean log loss of softmax on other rows
  double curve = 0;  ///< norm of the weights of curves
};
WithCurves run_with_curves(bool jumps, bool shrinks, std::uint64_t seed) {
  constexpr std::size_t classes = 3;
  const Dataset others = rows_with_curves(jumps, 4000, 99);
  const std::size_t d = others.features();
  ShapedDescentOptions options{.noise_multiplier = NoiseMultiplier{8}, .adjacency = Adjacency::zero_out, .steps = Count{20}};
  options.class_weights.assign(classes, 1);
  options.classes_by = ClassesBy::softmax;
  options.shrinks = shrinks;
  for (std::size_t j = 0; j + 1 < d; ++j) {
    if (shrinks && j % 9 != 0) options.curves.push_back(j);
  }
  const TemporaryFolder folder;
  auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::zero_out);
  auto reservation = ledger.reserve({.event = plan(options), .not_private = true});
  mechanisms::ReplayBits bits{seed};
  NoisyReleaser releaser{reservation, bits};
  const auto weights = shaped_descent(rows_with_curves(jumps, 2000, seed), LogisticLoss{}, options, releaser).weights;
  double sum = 0;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const auto row = others.row(i).values;
    double all = 0;
    double own = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      const double score = std::inner_product(row.begin(), row.end(), weights.begin() + static_cast<std::ptrdiff_t>(k * d), 0.0);
      all += std::exp(score);
      if (others.label(i) == static_cast<double>(k)) own = score;
    }
    sum += std::log(all) - own;
  }
  double squares = 0;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (j % d + 1 < d && j % d % 9 != 0) squares += weights[j] * weights[j];
  }
  return {.loss = sum / static_cast<double>(others.size()), .curve = std::sqrt(squares)};
}

TEST(ShrunkWeights, OfClassesLoseCurvesThatAreNoiseAndKeepOthers) {
  for (const bool jumps : {false, true}) {
    constexpr int seeds = 3;
    WithCurves plain;
    WithCurves shrunk;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      for (const bool shrinks : {false, true}) {
        const WithCurves one = run_with_curves(jumps, shrinks, seed);
        auto& mean = shrinks ? shrunk : plain;
        mean.loss += one.loss / seeds;
        mean.curve += one.curve / seeds;
      }
    }
    if (jumps) {
      EXPECT_LT(shrunk.loss, plain.loss + 0.005);
      EXPECT_GT(shrunk.curve, 0.7 * plain.curve);
    } else {
      EXPECT_LT(shrunk.loss, plain.loss - 0.01);
      EXPECT_LT(shrunk.curve, 0.3 * plain.curve);
    }
  }
}

TEST(ShapedDescent, RefusesBeforeTheFirstRelease) {
  const auto refused = refusal_of_run([](const Dataset& data, const ShapedDescentOptions& options) {
    testing::ScriptedReleaser none{{}};
    return shaped_descent(data, LogisticLoss{}, options, none).weights;
  });
  expect_bad_data_refused(refused, few_steps(Adjacency::replace_one));
  auto options = few_steps(Adjacency::replace_one);
  EXPECT_TRUE(refused(Dataset::dense(1025, std::vector<double>(1025), {1}), options, "1025"));
  options.clip_share = 1.5;
  EXPECT_TRUE(refused(worst_record(1), options, "clip share is 1.5"));
}

TEST(SymmetrizedNoise, IsIsotropicAndItsEdgeIsWhereItIsSaid) {
  // Of a matrix of noise alone, sigma = 1: the largest eigenvalue is about sqrt(2 d), and entries off the diagonal have half the variance.
  constexpr std::size_t d = 120;
  std::mt19937_64 random{9};
  std::vector<double> matrix(d * d);
  for (double& value : matrix) value = std::normal_distribution<double>{}(random);
  symmetrize(d, matrix);
  double diagonal = 0;
  double off = 0;
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t k = 0; k < d; ++k) {
      EXPECT_EQ(matrix[j * d + k], matrix[k * d + j]);
      (j == k ? diagonal : off) += matrix[j * d + k] * matrix[j * d + k];
    }
  }
  EXPECT_NEAR(diagonal / d, 1, 0.5);
  EXPECT_NEAR(off / (d * (d - 1)), 0.5, 0.05);
  // Power iteration on the matrix squared.
  std::vector<double> v(d, 1.0);
  double norm = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<double> next(d, 0.0);
    for (std::size_t j = 0; j < d; ++j) {
      for (std::size_t k = 0; k < d; ++k) next[j] += matrix[j * d + k] * v[k];
    }
    norm = mechanisms::l2_norm(next);
    for (std::size_t j = 0; j < d; ++j) v[j] = next[j] / norm;
  }
  EXPECT_NEAR(norm / noise_operator_norm(1, d), 1, 0.08);
}

TEST(ConstantLearner, OneRecordMovesItsSumByItsSensitivityAndNothingElse) {
  std::mt19937_64 random{3};
  for (const bool is_number : {false, true}) {
    double largest = 0;
    for (int k = 0; k < 3000; ++k) {
      const Adjacency adjacency = every_adjacency[static_cast<std::size_t>(k) % 3];
      const auto [data, neighbour] = neighbours_under(adjacency, 1 + random() % 5, 2, random);
      ConstantLearnerOptions options{.noise_multiplier = NoiseMultiplier{2}, .adjacency = adjacency, .public_count = Count{7}};
      if (is_number) options.label_bound = LabelBound{0.5};
      const auto learner = [&](const Dataset& records, const auto&, auto& releaser) {
        return std::vector<double>{constant_learner(records, options, releaser)};
      };
      const auto found = full_gradient_difference(learner, data, neighbour, {{std::normal_distribution<double>{0, 5}(random)}});
      ASSERT_TRUE(found.untainted);
      largest = std::max(largest, found.ratio);
    }
    EXPECT_LE(largest, 1);
    EXPECT_GT(largest, 0.99);
  }
}

// Of five classes, units of several rows, and labels that are none of them: one moves the counts by sqrt 2 where it gives way to another.
TEST(ConstantLearner, OneUnitMovesCountsOfClassesByTheirSensitivityAndNothingElse) {
  std::mt19937_64 random{5};
  std::array<double, 3> largest{};
  for (int k = 0; k < 3000; ++k) {
    const auto at = static_cast<std::size_t>(k) % 3;
    const auto pair = unit_neighbours_under(every_adjacency[at], 1 + random() % 4, 2, random);
    ConstantLearnerOptions options{.noise_multiplier = NoiseMultiplier{2}, .adjacency = every_adjacency[at], .public_count = Count{7}};
    const auto learner = [&](const Dataset& records, const auto&, auto& releaser) {
      options.unit_ends = pair.ends_of(records);
      std::vector<double> labels;  // -1 to 5, of what a row holds
      std::vector<double> values;
      for (std::size_t i = 0; i < records.size(); ++i) {
        const auto row = records.row(i).values;
        values.insert(values.end(), row.begin(), row.end());
        const double sum = std::accumulate(row.begin(), row.end(), records.label(i));
        labels.push_back(std::isfinite(sum) ? std::floor(std::fmod(std::abs(1000 * sum), 7)) - 1 : -1);
      }
      return constant_class_shares(Dataset::dense(records.features(), std::move(values), std::move(labels)), 5, options, releaser);
    };
    std::normal_distribution<double> noise{0, 5};
    std::vector<double> script(5);
    for (double& one : script) one = noise(random);
    const auto found = full_gradient_difference(learner, pair.data[0], pair.data[1], {script});
    ASSERT_TRUE(found.untainted);
    largest[at] = std::max(largest[at], found.ratio);
  }
  for (const double one : largest) {
    EXPECT_LE(one, 1);
    EXPECT_GT(one, 0.99);
  }
}

TEST(ConstantLearner, OfSeveralClassesSpendsOnePureEvent) {
  const TemporaryFolder folder;
  auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::replace_one);
  const ConstantLearnerOptions options{.noise_multiplier = NoiseMultiplier{4}, .adjacency = Adjacency::replace_one, .is_pure = true};
  EXPECT_EQ(plan(options), pure(Epsilon{0.25}, Adjacency::replace_one));
  auto reservation = ledger.reserve({.event = plan(options), .not_private = true});
  mechanisms::ReplayBits bits{5};
  NoisyVectorReleaser releaser{reservation, bits};
  const auto shares =
      constant_class_shares(Dataset::dense(1, std::vector<double>(90, 1.0), std::vector<double>(90, 2.0)), 3, options, releaser);
  EXPECT_TRUE(reservation.released() == accounting::Releases::of(plan(options)));
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
}

TEST(ConstantLearner, OfSeveralClassesIsTheirShares) {
  testing::ExactReleaser exact;
  // A damaged record is a row of zeros, and a label of none of the classes counts for nothing.
  const Dataset records = Dataset::dense(1, {1, 1, 1, 1, 0}, {0, 2, 2, 5, 1});
  const ConstantLearnerOptions options{.noise_multiplier = NoiseMultiplier{1e-6}, .public_count = Count{4}};
  const auto shares = constant_class_shares(records, 3, options, exact);
  const double total = 0.25 + 0.25 + 0.5;  // of the middle one a fourth, the least that is told of four records
  EXPECT_NEAR(shares[0], 0.25 / total, 1e-6);
  EXPECT_NEAR(shares[1], 0.25 / total, 1e-6);
  EXPECT_NEAR(shares[2], 0.5 / total, 1e-6);
  // Noise of the size of the answer halves what is kept of it: sigma / n is the standard deviation of a share, sqrt(1 / 18).
  auto noisy = options;
  noisy.noise_multiplier = NoiseMultiplier{4 / std::sqrt(36.0)};
  testing::ScriptedReleaser one{{{4, 0, 0}}};
  const auto halved = constant_class_shares(records, 3, noisy, one);
  EXPECT_NEAR(halved[0], (1.0 / 3 + 0.5 * (1 - 1.0 / 3)) / (2.0 / 3 + 2 * 0.25), 1e-9);
  testing::ScriptedReleaser far{{{1e9, -1e9, -1e9}}};
  const auto kept = constant_class_shares(records, 3, options, far);
  EXPECT_NEAR(kept[0], 1 / 1.5, 1e-12);
  EXPECT_NEAR(kept[1], 0.25 / 1.5, 1e-12);
}

TEST(ConstantLearner, OneUnitMovesItsSumByItsSensitivityAndNothingElse) {
  std::mt19937_64 random{4};
  double largest = 0;
  for (int k = 0; k < 3000; ++k) {
    const Adjacency adjacency = every_adjacency[static_cast<std::size_t>(k) % 3];
    const auto pair = unit_neighbours_under(adjacency, 1 + random() % 4, 2, random);
    ConstantLearnerOptions options{.noise_multiplier = NoiseMultiplier{2}, .adjacency = adjacency, .public_count = Count{7}};
    const auto learner = [&](const Dataset& records, const auto&, auto& releaser) {
      options.unit_ends = pair.ends_of(records);
      return std::vector<double>{constant_learner(records, options, releaser)};
    };
    const auto found = full_gradient_difference(learner, pair.data[0], pair.data[1], {{std::normal_distribution<double>{0, 5}(random)}});
    ASSERT_TRUE(found.untainted);
    largest = std::max(largest, found.ratio);
  }
  EXPECT_LE(largest, 1);
  EXPECT_GT(largest, 0.99);
}

TEST(ConstantLearner, OfUnitsIsTheMeanOfTheirMeans) {
  testing::ExactReleaser exact;
  const Dataset classes = Dataset::dense(1, {1, 1, 1, 1, 0}, {1, 1, -1, 1, 1});
  const std::vector<std::size_t> ends{2, 3, 5};  // shares 1, 0, and of a row of zeros beside one of class 1, 3/4
  const ConstantLearnerOptions options{.noise_multiplier = NoiseMultiplier{1e-6}, .unit_ends = ends};
  EXPECT_NEAR(constant_learner(classes, options, exact), std::log(1.75 / 1.25), 1e-6);
}

TEST(ConstantLearner, IsTheLogOddsOfTheShareOrTheMean) {
  testing::ExactReleaser exact;
  const Dataset classes = Dataset::dense(1, {1, 1, 1, 1, 0}, {1, 1, 1, -1, 1});  // a damaged record is a row of zeros
  const ConstantLearnerOptions options{.noise_multiplier = NoiseMultiplier{1e-6}, .public_count = Count{4}};
  EXPECT_NEAR(constant_learner(classes, options, exact), std::log(3.0), 1e-7);
  testing::ScriptedReleaser far{{{1e9}, {-1e9}}};
  EXPECT_NEAR(constant_learner(classes, options, far), std::log(3.0), 1e-7);  // within a fourth of 0 and 1
  EXPECT_NEAR(constant_learner(classes, options, far), -std::log(3.0), 1e-7);
  auto mean = options;
  mean.label_bound = LabelBound{2};
  EXPECT_NEAR(constant_learner(Dataset::dense(1, {1, 1, 1, 1}, {5, 1, 1, 0}), mean, exact), 1, 1e-7);
  EXPECT_EQ(plan(options), gaussian(NoiseMultiplier{1e-6}, Adjacency::replace_one));
  // Noise of the size of the answer halves what is kept of it: sigma / n = 1 / sqrt(12).
  auto noisy = options;
  noisy.noise_multiplier = NoiseMultiplier{4 / std::sqrt(12.0)};
  testing::ScriptedReleaser one{{{1}}};
  EXPECT_NEAR(constant_learner(classes, noisy, one), std::log(0.625 / 0.375), 1e-9);
}

}  // namespace
}  // namespace surety::optimizers::shaped_descent_test
