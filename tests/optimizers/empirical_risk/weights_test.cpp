// Weights of records: what one record with its weight moves, by drawn neighbours and by all tables of a grid.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <surety/data/features/features.h>
#include <surety/optimizers/empirical_risk/accelerated_gradient_descent.h>
#include <surety/optimizers/empirical_risk/constant_learner.h>
#include <surety/optimizers/empirical_risk/gradient_descent.h>
#include <surety/optimizers/empirical_risk/mirror_descent.h>
#include <surety/optimizers/empirical_risk/shaped_descent.h>
#include <surety/optimizers/empirical_risk/sufficient_statistics.h>
#include <surety/optimizers/problem/geometry.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/regularizer.h>
#include <surety/testing/releaser.h>

#include <support/full_gradient_checks.h>

namespace surety::optimizers::weights_test {
namespace {

using namespace data;

/// Numbers that do not depend on the data: of the size of queries, and far beyond.
class DrawnReleaser final : public Releaser {
 public:
  explicit DrawnReleaser(std::uint64_t seed) : random_{seed} {}
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    log_.push_back({query, sensitivity, event});
    std::vector<double> released(query.steps.size());
    for (double& value : released) value = std::uniform_real_distribution<double>{-9, 9}(random_);
    return released;
  }
  [[nodiscard]] const std::vector<testing::ScriptedReleaser::Request>& log() const { return log_; }

 private:
  std::mt19937_64 random_;
  std::vector<testing::ScriptedReleaser::Request> log_;
};

struct Learner {
  std::string name;
  bool has_places;  ///< labels are places of classes
  std::function<std::vector<double>(const Dataset& data, Adjacency adjacency, Releaser& releaser)> learn;
};

std::vector<Learner> learners() {
  const NoiseMultiplier noise{3};
  std::vector<Learner> found;
  const auto shaped = [&](const std::string& name, bool has_places, const auto& objective, const auto& change) {
    found.push_back({"shaped descent " + name, has_places, [=](const Dataset& data, Adjacency adjacency, Releaser& releaser) {
                       ShapedDescentOptions options{
                           .noise_multiplier = noise, .adjacency = adjacency, .steps = Count{3}, .public_count = Count{4}};
                       change(options);
                       return shaped_descent(data, objective, options, releaser).weights;
                     }});
  };
  shaped("of two classes", false, LogisticLoss{}, [](auto& options) { options.shrinks = options.starts_at_class_share = true; });
  shaped("with a constant feature", false, LogisticLoss{}, [](auto& options) { options.constant_feature = 0.5; });
  for (const ClassesBy by : {ClassesBy::softmax, ClassesBy::one_against_the_rest}) {
    shaped("of classes by " + std::string{name(by)}, true, LogisticLoss{}, [by](auto& options) {
      options.class_weights = {1, 0.5, 2};
      options.classes_by = by;
    });
  }
  const SquaredLoss squares{.label_bound = LabelBound{2}, .weight_radius = Radius{1}};
  shaped("of numbers", false, squares, [](auto& options) { options.residual_clip = ResidualClip{.label_bound = LabelBound{2}}; });
  shaped("of numbers, from the mean", false, squares, [](auto& options) {
    options.residual_clip = ResidualClip{.label_bound = LabelBound{2}, .intercept = 0.5};
    options.constant_feature = 0.5;
  });
  found.push_back(
      {"sufficient statistics", false, [=](const Dataset& data, Adjacency adjacency, Releaser& releaser) {
         return release_moments(data, {.noise_multiplier = noise, .label_bound = LabelBound{2}, .adjacency = adjacency}, releaser).matrix;
       }});
  for (const bool has_bound : {false, true}) {
    found.push_back({"constant", false, [=](const Dataset& data, Adjacency adjacency, Releaser& releaser) {
                       ConstantLearnerOptions options{.noise_multiplier = noise, .adjacency = adjacency, .public_count = Count{4}};
                       if (has_bound) options.label_bound = LabelBound{1};
                       return std::vector<double>{constant_learner(data, options, releaser)};
                     }});
  }
  found.push_back({"shares of classes", true, [=](const Dataset& data, Adjacency adjacency, Releaser& releaser) {
                     return constant_class_shares(data, 3, {.noise_multiplier = noise, .adjacency = adjacency, .public_count = Count{4}},
                                                  releaser);
                   }});
  found.push_back({"gradient descent", false, [=](const Dataset& data, Adjacency adjacency, Releaser& releaser) {
                     GradientDescentOptions options{.noise_multiplier = noise, .adjacency = adjacency, .steps = Count{3}};
                     options.public_count = Count{4};
                     return gradient_descent(data, LogisticLoss{}, WholeSpace{}, options, releaser).weights;
                   }});
  found.push_back({"accelerated descent", false, [=](const Dataset& data, Adjacency adjacency, Releaser& releaser) {
                     AcceleratedGradientDescentOptions options{.noise_multiplier = noise, .adjacency = adjacency, .steps = Count{3}};
                     options.public_count = Count{4};
                     return accelerated_gradient_descent(data, LogisticLoss{}, NoRegularizer{}, options, releaser).weights;
                   }});
  found.push_back({"mirror descent", false, [=](const Dataset& data, Adjacency adjacency, Releaser& releaser) {
                     MirrorDescentOptions options{.noise_multiplier = noise, .adjacency = adjacency, .steps = Count{3}};
                     options.public_count = Count{4};
                     return mirror_descent(data, LogisticLoss{}, L1Geometry{Radius{2}}, options, releaser).weights;
                   }});
  return found;
}

double any_weight(std::mt19937_64& random) {
  constexpr std::array some{0.0, 1.0, 0x1p-1074, 0.25};
  return random() % 2 == 0 ? some[random() % some.size()] : std::uniform_real_distribution<double>{0, 1}(random);
}

/// Neighbours that differ in one record and its weight, or in the weight alone.
Neighbours weighted_neighbours(Adjacency adjacency, std::size_t features, bool has_places, std::mt19937_64& random) {
  // Of no record and one, too.
  const std::size_t size = random() % 5 + (adjacency == Adjacency::add_or_remove_one ? 0 : 1);
  auto pair = drawn_neighbours_under_any(std::max<std::size_t>(size, 1), features, adjacency, random);
  if (size == 0)
    pair.data = pair.data.subset({}), pair.neighbour = pair.neighbour.subset(std::vector<std::size_t>{pair.place}), pair.place = 0;
  const bool is_same_row = adjacency == Adjacency::replace_one && random() % 3 == 0;
  if (is_same_row) pair.neighbour = pair.data;
  std::vector<double> weights;
  for (std::size_t i = 0; i < pair.data.size(); ++i) weights.push_back(any_weight(random));
  auto others = weights;
  others.resize(pair.neighbour.size());
  others[pair.place] = adjacency == Adjacency::zero_out ? 0 : any_weight(random);
  const auto with_places = [&](const Dataset& data) {
    std::vector<double> labels;
    for (const double label : data.labels()) labels.push_back(label > 0 ? 2 : label < 0 ? 0 : 1);
    return has_places ? data.with_labels(std::move(labels)) : data;
  };
  return {with_places(pair.data).with_weights(std::move(weights)), with_places(pair.neighbour).with_weights(std::move(others))};
}

TEST(Weights, OneRecordAndItsWeightMoveNothingButQueries) {
  std::mt19937_64 random{11};
  for (const auto& learner : learners()) {
    SCOPED_TRACE(learner.name);
    double largest = 0;
    for (int k = 0; k < (optimized ? 1500 : 150); ++k) {
      const Adjacency adjacency = every_adjacency[static_cast<std::size_t>(k) % 3];
      const std::size_t features = 1 + random() % 3;
      const auto [data, neighbour] = weighted_neighbours(adjacency, features, learner.has_places, random);
      DrawnReleaser a{static_cast<std::uint64_t>(k)};
      DrawnReleaser b{static_cast<std::uint64_t>(k)};
      ASSERT_TRUE(same_bits(learner.learn(data, adjacency, a), learner.learn(neighbour, adjacency, b)));
      ASSERT_EQ(a.log().size(), b.log().size());
      for (std::size_t t = 0; t < a.log().size(); ++t) {
        ASSERT_EQ(a.log()[t].query.grid, b.log()[t].query.grid);
        ASSERT_EQ(a.log()[t].query.steps.size(), b.log()[t].query.steps.size());
        ASSERT_EQ(a.log()[t].sensitivity, b.log()[t].sensitivity);
        ASSERT_EQ(a.log()[t].event, b.log()[t].event);
        largest = std::max(largest, query_distance(a.log()[t].query, b.log()[t].query) / a.log()[t].sensitivity.value());
      }
    }
    EXPECT_LE(largest, 1);
    EXPECT_GT(largest, 0.95);
  }
}

/// What a wrong program would make of the cells of weights.
enum class Fault { none, not_divided, beyond_the_bound, unusable_moves_others };

/// A record of a grid: a row, a label, and the cell of its weight.
struct GridRecord {
  double row;
  double label;
  double cell;
};
constexpr double largest_cell = 4;  // W

std::optional<double> weight_of(const GridRecord& record) {
  return std::isfinite(record.cell) ? WeightRule{.column = "w", .bound = largest_cell}(record.cell) : std::nullopt;
}

/// As readers make it: a record with an unusable weight is one of zeros.
Dataset table_of(const std::vector<GridRecord>& records) {
  std::vector<double> rows;
  std::vector<double> labels;
  std::vector<double> weights;
  for (const auto& record : records) {
    const auto weight = weight_of(record);
    rows.push_back(weight ? record.row : 0);
    labels.push_back(weight ? record.label : 0);
    weights.push_back(weight.value_or(0));
  }
  return Dataset::dense(1, rows, labels).with_weights(std::move(weights));
}

/// The gradients at 0 with a clip of 1/4, in real numbers: no sum clips them once more.
double sum_of(const std::vector<GridRecord>& records, Fault fault) {
  double sum = 0;
  bool has_unusable = false;
  for (const auto& record : records) {
    auto weight = weight_of(record);
    has_unusable = has_unusable || !weight;
    if (fault == Fault::not_divided && weight) weight = record.cell;
    if (fault == Fault::beyond_the_bound && std::isfinite(record.cell)) weight = record.cell / largest_cell;
    sum += weight.value_or(0) * std::clamp(-record.label / 2 * record.row, -0.25, 0.25);
  }
  return fault == Fault::unusable_moves_others && has_unusable ? 0 : sum;
}

std::vector<GridRecord> grid() {
  std::vector<GridRecord> all;
  for (const double row : {-2.0, 0.5, 1.0}) {
    for (const double label : {-1.0, 1.0}) {
      for (const double cell : {0.0, 1.0, largest_cell, -1.0, 2 * largest_cell, std::numeric_limits<double>::quiet_NaN()})
        all.push_back({row, label, cell});
    }
  }
  return all;
}

/// The largest distance(query(table), query(neighbour)) over all tables of a grid of records, at most `others` beside the one that differs.
template <class Query, class Distance>
double largest_change(Adjacency adjacency, std::size_t others, const Query& query, const Distance& distance) {
  const auto all = grid();
  std::vector<std::vector<GridRecord>> tables{{}};
  for (std::size_t first = 0, size = 0; size < others; ++size) {
    const std::size_t end = tables.size();
    for (; first < end; ++first) {
      for (const auto& one : all) {
        tables.push_back(tables[first]);
        tables.back().push_back(one);
      }
    }
  }
  double largest = 0;
  for (auto& table : tables) {
    const auto alone = query(table);
    std::vector<std::decay_t<decltype(alone)>> with;
    for (const auto& one : all) {
      table.push_back(one);
      with.push_back(query(table));
      table.pop_back();
    }
    table.push_back({0, 0, 0});
    const auto zeroed = query(table);
    for (const auto& one : with) {
      if (adjacency == Adjacency::add_or_remove_one) largest = std::max(largest, distance(one, alone));
      if (adjacency == Adjacency::zero_out) largest = std::max(largest, distance(one, zeroed));
      if (adjacency != Adjacency::replace_one) continue;
      for (const auto& other : with) largest = std::max(largest, distance(one, other));
    }
  }
  return largest;
}

// Of each query over the sensitivity that is claimed for it.
TEST(Weights, NoNeighbourOfATinyTableMovesAQueryByMore) {
  for (const auto& learner : learners()) {
    if (learner.has_places) continue;
    SCOPED_TRACE(learner.name);
    for (const Adjacency adjacency : every_adjacency) {
      const auto query = [&](const std::vector<GridRecord>& records) {
        DrawnReleaser releaser{1};
        static_cast<void>(learner.learn(table_of(records), adjacency, releaser));
        return releaser.log();
      };
      const auto distance = [](const auto& a, const auto& b) {
        double largest = a.size() == b.size() ? 0 : 2;
        for (std::size_t t = 0; t < std::min(a.size(), b.size()); ++t) {
          largest = std::max(largest, query_distance(a[t].query, b[t].query) / a[t].sensitivity.value());
        }
        return largest;
      };
      EXPECT_LE(largest_change(adjacency, 1, query, distance), 1);
    }
  }
}

// The same of real numbers, and of programs that are wrong.
TEST(Weights, NoNeighbourOfATinyTableMovesTheRealSumByMoreButWithAFault) {
  const auto change = [](Adjacency adjacency, Fault fault) {
    const auto query = [fault](const std::vector<GridRecord>& records) { return sum_of(records, fault); };
    const double clip = adjacency == Adjacency::replace_one ? 0.5 : 0.25;
    return largest_change(adjacency, 2, query, [](double a, double b) { return std::abs(a - b); }) / clip;
  };
  for (const Adjacency adjacency : every_adjacency) {
    EXPECT_EQ(change(adjacency, Fault::none), 1);
    EXPECT_GT(change(adjacency, Fault::not_divided), 1);
    EXPECT_GT(change(adjacency, Fault::beyond_the_bound), 1);
    EXPECT_GT(change(adjacency, Fault::unusable_moves_others), 1);
  }
}

std::vector<double> reals(const GridVector& query) { return mechanisms::to_reals(query); }

// Half of the weight is half of what a record adds, also beyond the clip: the weight multiplies what is left after it.
TEST(Weights, MultiplyWhatIsLeftAfterTheClip) {
  for (const auto& learner : learners()) {
    if (learner.name.starts_with("shaped") || learner.name.starts_with("constant") || learner.has_places) continue;
    SCOPED_TRACE(learner.name);
    for (const double row : {0.5, 7.0}) {
      if (learner.name == "sufficient statistics" && row > 1) continue;  // rows beyond norm 1 are clipped once weighted
      const auto query_of = [&](double weight) {
        DrawnReleaser releaser{1};
        static_cast<void>(learner.learn(Dataset::dense(1, {row}, {1}).with_weights({weight}), Adjacency::add_or_remove_one, releaser));
        return reals(releaser.log().front().query);
      };
      const auto whole = query_of(1);
      const auto part = query_of(0.375);
      for (std::size_t j = 0; j < whole.size(); ++j)
        EXPECT_NEAR(part[j], 0.375 * whole[j], 1e-3 * std::abs(whole[0]));  // rounding to the grid of rows
      EXPECT_NE(whole.front(), 0);
    }
  }
}

// With weights of 1 all sums are those without weights.
TEST(Weights, OfOneChangeNoSum) {
  std::mt19937_64 random{3};
  const Dataset data = learnable_records(20, random);
  const std::vector<double> ones(data.size(), 1.0);
  for (const auto& learner : learners()) {
    if (learner.name == "constant" || learner.has_places) continue;
    SCOPED_TRACE(learner.name);
    DrawnReleaser a{1};
    DrawnReleaser b{1};
    static_cast<void>(learner.learn(data, Adjacency::replace_one, a));
    static_cast<void>(learner.learn(data.with_weights(ones), Adjacency::replace_one, b));
    ASSERT_EQ(a.log().size(), b.log().size());
    EXPECT_LE(query_distance(a.log()[0].query, b.log()[0].query), 1e-6 * a.log()[0].sensitivity.value());
  }
}

/// Without noise, with as many copies of a record as its weight in quarters says, or with the weight.
TEST(Weights, AreAsGoodAsCopies) {
  std::mt19937_64 random{5};
  const Dataset data = logistic_problem(400, 2, 5);
  std::vector<double> weights;
  std::vector<std::size_t> copies;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::size_t times = data.label(i) > 0 ? 1 + random() % 4 : random() % 2;
    weights.push_back(static_cast<double>(times) / 4);
    copies.insert(copies.end(), times, i);
  }
  const auto learned = [](const Dataset& records, bool is_of_numbers) {
    testing::ExactReleaser exact;
    ShapedDescentOptions options{.noise_multiplier = NoiseMultiplier{1e-4}, .adjacency = Adjacency::replace_one, .steps = Count{60}};
    if (!is_of_numbers) {
      options.clip_share = 1;
      return shaped_descent(records, LogisticLoss{}, options, exact).weights;
    }
    options.residual_clip = ResidualClip{.label_bound = LabelBound{2}};
    return shaped_descent(records, SquaredLoss{.label_bound = LabelBound{2}, .weight_radius = Radius{1}}, options, exact).weights;
  };
  for (const bool is_of_numbers : {false, true}) {
    const auto weighted = learned(data.with_weights(weights), is_of_numbers);
    const auto copied = learned(data.subset(copies), is_of_numbers);
    const auto plain = learned(data, is_of_numbers);
    for (std::size_t j = 0; j < weighted.size(); ++j) EXPECT_NEAR(weighted[j], copied[j], 0.03 * std::abs(copied[j]) + 0.01);
    EXPECT_GT(std::abs(plain.front() - copied.front()) + std::abs(plain.back() - copied.back()), 0.05);
  }
  testing::ExactReleaser exact;
  const ConstantLearnerOptions options{.noise_multiplier = NoiseMultiplier{1e-4}, .adjacency = Adjacency::replace_one};
  EXPECT_NEAR(constant_learner(data.with_weights(weights), options, exact), constant_learner(data.subset(copies), options, exact), 1e-3);
  auto numbers = options;
  numbers.label_bound = LabelBound{2};
  EXPECT_NEAR(constant_learner(data.with_weights(weights), numbers, exact), constant_learner(data.subset(copies), numbers, exact), 1e-3);
}

// No theorem gives weights to these: refused before anything is released.
TEST(Weights, AreRefusedByWhatHasNoTheorem) {
  const Dataset data = Dataset::dense(1, {0.5, 0.25}, {1, -1}).with_weights({1, 0.5});
  EXPECT_TRUE(refuses([&] { require_no_weights(data, "SVRG"); }, ErrorCode::unsupported, {"weights", "SVRG"}));
  EXPECT_NO_THROW(require_no_weights(Dataset::dense(1, {0.5}, {1}), "SVRG"));
  EXPECT_TRUE(refuses([&] { static_cast<void>(Dataset::dense(1, {0.5}, {1}).with_weights({1.5})); }, ErrorCode::invalid_argument, {"1.5"}));
  EXPECT_TRUE(refuses(
      [&] {
        static_cast<void>(Dataset::dense(1, {0.5}, {1}).with_weights({1, 1}));
      },
      ErrorCode::invalid_argument, {"2 weights"}));
}

}  // namespace
}  // namespace surety::optimizers::weights_test
