// [ZTC22] Private online-to-batch: every learner beside one-pass DP-SGD, DP-FTRL, the printed noise, and the same without noise.
//
//     experiment_online_to_batch [SEEDS [INSTANCE...]]      default: 10 seeds, all instances (0 to 7) and real data (8), which takes a
//                                                           third of the seeds
//
// Instance. x uniform on the unit sphere of R^d, theta uniform there too, weights in the ball of radius 2. Logistic: P(y = 1) = 1 / (1 +
// exp(-4 <x, theta>)). Least squares: loss (y - <x, w>)^2 / 2, y = <x, theta> + N(0, 0.1^2), clipped to |y| <= 1.3. (1, 1e-6)-DP under
// replace-one, k = 1 unless said. Gap: loss(w) - loss(best) on 20,000 fresh records, where the best point of the ball is 2 theta for
// logistic loss (by symmetry on the line of theta, and beyond the radius) and theta for least squares.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/data/features/features.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/additive/scaled_noise.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/models/metrics.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/streams/noisy_sgd.h>
#include <surety/optimizers/streams/online_to_batch.h>
#include <surety/optimizers/streams/private_ftrl.h>
#include <surety/research/papers/printed_online_to_batch_noise.h>
#include <surety/testing/releaser.h>
#include <surety/testing/stream.h>

#include "continual.h"
#include "page_check.h"
#include "report.h"

namespace surety::experiments {
namespace {

using namespace optimizers;
using namespace data;
using mechanisms::Factorization;

const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = Adjacency::replace_one};

/// Where a problem comes from, all public.
struct Cell {
  bool logistic;
  std::uint64_t steps;
  std::size_t dimension;
  std::optional<double> allowed;  ///< the gap that the subgradient, optimistic and strongly convex learners should not exceed
};

constexpr std::array<Cell, 8> cells{{{true, 10'000, 10, 0.003},
                                     {true, 10'000, 50, 0.014},
                                     {false, 10'000, 10, 0.0045},
                                     {false, 10'000, 50, {}},
                                     {true, 100'000, 10, {}},
                                     {true, 100'000, 50, {}},
                                     {false, 100'000, 10, 1.2e-4},
                                     {false, 100'000, 50, {}}}};

/// What the methods take from a problem before they see its data.
template <Objective O>
struct Setting {
  O loss;
  std::uint64_t steps;
  std::size_t dimension;
  double radius;            ///< of the ball of weights
  double clip;              ///< of gradient differences
  double gradient_bound;    ///< G
  double smoothness;        ///< H
  double strong_convexity;  ///< mu
  double sgd_step;
  double ftrl_step;
};

/// G, H for rows of unit norm. The Hessian of the expected loss is at least sigma'(2) E[x x^T] = 0.105 / d for logistic loss with scores up
/// to 2, and 1 / d for least squares. Clip and steps of the baselines: the best of 18 settings (clip in units of ours 1/2, 1, 2; step in
/// units of one over the mean curvature, or of D / sqrt(T), 1/8, 1/4, ..., 4) on instances 0, 1, 2 and 6.
Setting<LogisticLoss> logistic_setting(std::uint64_t steps, std::size_t dimension, double radius) {
  const auto d = static_cast<double>(dimension);
  return {.loss = {},
          .steps = steps,
          .dimension = dimension,
          .radius = radius,
          .clip = 0.5,
          .gradient_bound = 1,
          .smoothness = 0.25,
          .strong_convexity = 0.105 / d,
          .sgd_step = d / 0.2 / 8,
          .ftrl_step = 2 * (2 * radius) / std::sqrt(static_cast<double>(steps))};
}
Setting<SquaredLoss> squared_setting(std::uint64_t steps, std::size_t dimension, double radius) {
  const auto d = static_cast<double>(dimension);
  return {.loss = {.label_bound = LabelBound{1.3}, .weight_radius = Radius{radius}},
          .steps = steps,
          .dimension = dimension,
          .radius = radius,
          .clip = 1,
          .gradient_bound = 1.3 + radius,
          .smoothness = 1,
          .strong_convexity = 1 / d,
          .sgd_step = d / 4,
          .ftrl_step = 0.5 * (2 * radius) / std::sqrt(static_cast<double>(steps))};
}

struct Problem {
  Dataset training;
  Dataset fresh;
  std::vector<double> best;
};

std::vector<double> point_of_sphere(std::size_t dimension, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> point(dimension);
  for (double& x : point) x = normal(random);
  scale_to_unit_norm(point);
  return point;
}

Problem make_problem(const Cell& cell, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  const auto theta = point_of_sphere(cell.dimension, random);
  const auto draw = [&](std::uint64_t count) {
    std::vector<double> values;
    std::vector<double> labels;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto row = point_of_sphere(cell.dimension, random);
      double score = 0;
      for (std::size_t j = 0; j < row.size(); ++j) score += row[j] * theta[j];
      if (cell.logistic) {
        labels.push_back(std::uniform_real_distribution<double>{}(random) < 1 / (1 + std::exp(-4 * score)) ? 1 : -1);
      } else {
        labels.push_back(std::clamp(score + 0.1 * std::normal_distribution<double>{}(random), -1.3, 1.3));
      }
      values.insert(values.end(), row.begin(), row.end());
    }
    return Dataset::dense(cell.dimension, std::move(values), std::move(labels));
  };
  auto training = draw(cell.steps);
  auto fresh = draw(20'000);
  auto best = theta;
  for (double& x : best) x *= cell.logistic ? 2 : 1;
  return {std::move(training), std::move(fresh), std::move(best)};
}

template <Objective O>
double gap(const O& loss, const Problem& problem, std::span<const double> weights) {
  return regularized_loss(loss, problem.fresh, weights, Regularization{0}) -
         regularized_loss(loss, problem.fresh, problem.best, Regularization{0});
}

struct Outcome {
  std::vector<double> weights;
  std::optional<double> audited_epsilon = {};
};
/// Trains on data, with noise replayed from the seed; and the same on exact sums, where there is such a thing.
struct Method {
  std::string name;
  std::string target = "1, 1e-6";
  std::function<Outcome(const Dataset&, std::uint64_t seed)> with_noise;
  std::function<Outcome(const Dataset&)> without_noise;
};

/// A method whose `algorithm()` observes a stream made by `make_stream(reservation, bits)`.
template <class MakeAlgorithm, class MakeStream>
Method streaming(std::string name, const StreamShape<>& asked, const Event& event, const Target& promise, MakeAlgorithm make,
                 MakeStream make_stream) {
  const auto run = [=](const Dataset& data, auto& stream) {
    auto algorithm = make();
    for (std::size_t i = 0; i < data.size(); ++i) algorithm.observe(data.row(i), data.label(i), stream);
    return std::vector<double>(algorithm.weights().begin(), algorithm.weights().end());
  };
  return {.name = std::move(name),
          .target = promise.delta.value() > 0 ? "1, 1e-6" : "1, 0",
          .with_noise =
              [=](const Dataset& data, std::uint64_t seed) {
                auto [weights, epsilon] = charged(event, promise, seed, [&](auto& reservation, auto& bits) {
                  auto stream = make_stream(reservation, bits);
                  return run(data, stream);
                });
                return Outcome{std::move(weights), epsilon};
              },
          .without_noise =
              [=](const Dataset& data) {
                testing::ExactStream stream{mechanisms::finest_grid(asked.sensitivity, NoiseMultiplier{1}, asked.steps)};
                return Outcome{run(data, stream)};
              }};
}

/// With the buffered factorization, calibrated for the target.
template <class MakeAlgorithm>
Method buffered(std::string name, const StreamShape<>& asked, MakeAlgorithm make) {
  constexpr auto factorization = Factorization::buffered;
  const auto calibration =
      calibrate([&](NoiseMultiplier z) { return continual_event(factorization, asked.steps, z, asked.adjacency); }, target);
  return streaming(std::move(name), asked, calibration.event, target, make, [=](auto& reservation, auto& bits) {
    return NoisyStream{reservation, bits, sum_for(factorization, asked, calibration.value), asked.sensitivity};
  });
}

/// With a tree whose noise follows the pushes, of nodes gaussian(multiplier).
template <class MakeAlgorithm>
Method following(std::string name, const StreamShape<>& asked, NoiseMultiplier multiplier, mechanisms::TreeEstimate estimate,
                 MakeAlgorithm make) {
  const Event event = accounting::tree(asked.steps, gaussian(multiplier, asked.adjacency));
  return streaming(std::move(name), asked, event, target, make, [=](auto& reservation, auto& bits) {
    const mechanisms::ScaledGaussian nodes{{.multiplier = multiplier,
                                            .grid = mechanisms::finest_grid(asked.sensitivity, multiplier, asked.steps),
                                            .adjacency = asked.adjacency}};
    mechanisms::AdaptiveTreeSum sum{nodes, asked.steps, asked.dimension, estimate};
    return NoisyStream{reservation, bits, std::move(sum), asked.sensitivity};
  });
}

NoiseMultiplier tree_multiplier(Count steps) {
  return calibrate([&](NoiseMultiplier z) { return accounting::tree(steps, gaussian(z, target.adjacency)); }, target).value;
}

/// (1, 0)-DP: a tree of l2 K-norm nodes.
template <class MakeAlgorithm>
Method pure(std::string name, const StreamShape<>& asked, MakeAlgorithm make) {
  const NoiseScale scale = accounting::tree_noise_scale(asked.steps, target.epsilon);
  const mechanisms::KNorm node{{.scale = scale,
                                .sensitivity = asked.sensitivity,
                                .grid = mechanisms::grid_for(asked.sensitivity, NoiseMultiplier{scale.value()}),
                                .dimension = asked.dimension,
                                .adjacency = asked.adjacency}};
  return streaming(std::move(name), asked, accounting::tree(asked.steps, node.event()),
                   {.epsilon = Epsilon{1}, .delta = Delta{0}, .adjacency = target.adjacency}, make, [=](auto& reservation, auto& bits) {
                     mechanisms::TreeSum sum{node, asked.steps, asked.dimension};
                     return NoisyStream{reservation, bits, std::move(sum), asked.sensitivity};
                   });
}

template <Objective O>
Method one_pass_sgd(const Setting<O>& setting) {
  const auto options = [=](NoiseMultiplier z) {
    return NoisySgdOptions{.noise_multiplier = z,
                           .batches = Batches{Count{setting.steps}, Count{(setting.steps + 29) / 30}},
                           .passes = Count{1},
                           .step_size = StepSize{setting.sgd_step},
                           .clip = ClippingNorm{setting.clip / 2}};
  };
  const auto calibration = calibrate([&](NoiseMultiplier z) { return plan(options(z)); }, target,
                                     CostFunctions{[](const Event& e, Epsilon at) { return accounting::quick_delta(e, at); },
                                                   [](const Event& e, Delta at) { return accounting::quick_epsilon(e, at); }});
  return {.name = "one-pass DP-SGD, 30 batches",
          .with_noise =
              [=](const Dataset& data, std::uint64_t seed) {
                auto [weights, epsilon] = charged(calibration.event, target, seed, [&](auto& reservation, auto& bits) {
                  NoisyBatchReleaser releaser{reservation, bits, pass(options(calibration.value))};
                  return noisy_sgd(data, setting.loss, L2Ball{Radius{setting.radius}}, options(calibration.value), releaser);
                });
                return Outcome{std::move(weights), epsilon};
              },
          .without_noise =
              [=](const Dataset& data) {
                testing::ExactReleaser releaser;
                return Outcome{noisy_sgd(data, setting.loss, L2Ball{Radius{setting.radius}}, options(calibration.value), releaser)};
              }};
}

template <Objective O>
std::vector<Method> methods_for(const Setting<O>& setting) {
  const Count steps{setting.steps};
  const Count features{setting.dimension};
  const std::vector<double> zero(setting.dimension, 0.0);
  const L2Ball ball{Radius{setting.radius}};
  const optimizers::DomainDiameter diameter{2 * setting.radius};
  const auto t = static_cast<double>(setting.steps);

  const OnlineToBatchOptions plain{.steps = steps, .scale = FixedScale{ClippingNorm{setting.clip}}};
  auto convex = plain;
  convex.strong_convexity = Regularization{setting.strong_convexity};
  auto smooth = plain;
  smooth.scale = FollowingScale{GradientBound{setting.gradient_bound}, Smoothness{setting.smoothness}, diameter};
  auto clipped = plain;
  clipped.scale = FollowingScale{GradientBound{setting.clip}, Smoothness{setting.smoothness / 10}, diameter};
  auto as_printed = plain;
  as_printed.scale = PrintedScale{GradientBound{setting.gradient_bound}, Smoothness{setting.smoothness}, diameter};
  auto cubic = plain;
  cubic.power = Count{3};
  cubic.towards_start = TowardsStart{Regularization{0.01}, Regularization{0.1}, Regularization{0.001}};

  // Steps no longer than those of gradients of a tenth of the clip, all alike.
  const InitialAccumulator accumulator{std::pow(setting.clip / 10, 2) * t * t * t};
  const SubgradientDescent descent{ball, zero, accumulator};
  const DualAveraging<L2Ball> averaging{ball, zero, accumulator};
  const OptimisticAveraging<L2Ball> optimistic{ball, zero, accumulator};
  const StronglyConvexDescent convex_descent{ball, zero};
  const CoinBetting bettor{ball, zero, {GradientBound{t / 10}, InitialWealth{1}}};
  const CoinBetting cubic_bettor{ball, zero, {GradientBound{t * t * t / 10}, InitialWealth{1}}};
  const auto with = [&](const OnlineToBatchOptions& options, auto learner) {
    return [=, loss = setting.loss] { return OnlineToBatch{loss, learner, options}; };
  };
  const PrivateFtrlOptions ftrl{.steps = steps, .clip = ClippingNorm{setting.clip / 2}, .step_size = StepSize{setting.ftrl_step}};
  const NoiseMultiplier z = tree_multiplier(steps);
  constexpr auto plain_tree = mechanisms::TreeEstimate::plain;
  constexpr auto streaming_tree = mechanisms::TreeEstimate::streaming;

  std::vector<Method> methods;
  methods.push_back(one_pass_sgd(setting));
  methods.push_back(buffered("DP-FTRL", shape(ftrl, features), [=, loss = setting.loss] { return PrivateFtrl{loss, ball, ftrl, zero}; }));
  methods.push_back(following("printed noise", shape(as_printed, features), papers::printed_noise(steps, target).scale, plain_tree,
                              with(as_printed, descent)));
  methods.push_back(following("following scale, G and H true", shape(smooth, features), z, streaming_tree, with(smooth, descent)));
  methods.push_back(following("following scale, clipped", shape(clipped, features), z, streaming_tree, with(clipped, descent)));
  methods.push_back(buffered("subgradient descent", shape(plain, features), with(plain, descent)));
  methods.push_back(buffered("dual averaging", shape(plain, features), with(plain, averaging)));
  methods.push_back(buffered("optimistic", shape(plain, features), with(plain, optimistic)));
  methods.push_back(buffered("strongly convex", shape(convex, features), with(convex, convex_descent)));
  methods.push_back(buffered("coin betting", shape(plain, features), with(plain, bettor)));
  methods.push_back(following("coin betting, k = 3", shape(cubic, features), z, streaming_tree, with(cubic, cubic_bettor)));
  methods.push_back(pure("dual averaging, pure", shape(plain, features), with(plain, averaging)));
  return methods;
}

/// A method's runs over seeds.
struct Runs {
  std::vector<double> values;
  std::vector<double> exact;  ///< without noise
  double audited_epsilon = 0;
};

std::vector<std::string> row_of(const Method& method, const Runs& runs) {
  return {method.name, text(mean_and_deviation(runs.values)), text(mean_and_deviation(runs.exact)), method.target,
          fmt::format("{:.4f}", runs.audited_epsilon)};
}

void print_table(std::string_view measure, const std::vector<Method>& methods, const std::vector<Runs>& runs, const Kept& kept) {
  Table table{{"method", std::string{measure}, "without noise", "epsilon, delta", "audited epsilon"}};
  for (std::size_t m = 0; m < methods.size(); ++m) table.add(row_of(methods[m], runs[m]));
  fmt::print("{}\n", table.markdown(kept));
  std::fflush(stdout);
}

/// Runs every method with and without noise. `measure(weights)` is what the table shows.
template <class Measure>
void run_all(const std::vector<Method>& methods, const Dataset& training, std::uint64_t seed, Measure measure, std::vector<Runs>& runs) {
  for (std::size_t m = 0; m < methods.size(); ++m) {
    const Outcome outcome = methods[m].with_noise(training, seed);
    runs[m].values.push_back(measure(outcome.weights));
    runs[m].audited_epsilon = std::max(runs[m].audited_epsilon, *outcome.audited_epsilon);
    runs[m].exact.push_back(measure(methods[m].without_noise(training).weights));
  }
}

std::string title_of(const Cell& cell) {
  return fmt::format("{}, T = {}, d = {}", cell.logistic ? "Logistic" : "Least squares", cell.steps, cell.dimension);
}

/// A row of the table of instances; `at_zero` has the gaps of the zero vector.
std::vector<std::string> instance_row(const Cell& cell, const std::vector<double>& at_zero) {
  return {title_of(cell), fmt::format("{:.3g}", mean_and_deviation(at_zero).mean),
          cell.allowed ? fmt::format("{:.3g}", *cell.allowed) : ""};
}

template <Objective O>
void report(const Cell& cell, const Setting<O>& setting, std::uint64_t seeds, Table& instances) {
  const auto methods = methods_for(setting);
  std::vector<Runs> runs(methods.size());
  std::vector<double> at_zero;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Problem problem = make_problem(cell, seed);
    const auto measure = [&](std::span<const double> weights) { return gap(setting.loss, problem, weights); };
    at_zero.push_back(measure(std::vector<double>(cell.dimension, 0.0)));
    run_all(methods, problem.training, seed, measure, runs);
  }
  instances.add(instance_row(cell, at_zero));
  print_table("gap", methods, runs,
              {.file = "online-to-batch",
               .labels = {{"instance", title_of(cell)}},
               .keep = R"(T = 100000, d = 50 \| (one-pass|printed|subgradient|strongly))",
               .columns = {"instance", "method", "gap", "without noise"}});
}

// ---- Real data ----

struct Rows {
  std::size_t dimension;
  std::vector<double> values = {};
  std::vector<double> labels = {};
  /// Appends a constant feature and divides the row by its norm: rows of one norm, by themselves alone.
  void add(std::vector<double> row, double label) {
    row.push_back(1);
    scale_to_unit_norm(row);
    values.insert(values.end(), row.begin(), row.end());
    labels.push_back(label);
  }
  /// The records `from` to `to` of a public order.
  [[nodiscard]] Dataset part(const std::vector<std::size_t>& order, std::size_t from, std::size_t to) const {
    return Dataset::dense(dimension, values, labels).subset(std::span{order}.subspan(from, to - from));
  }
  [[nodiscard]] std::vector<std::size_t> order(std::uint64_t seed) const {
    std::vector<std::size_t> places(labels.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::mt19937_64 random{seed};
    std::shuffle(places.begin(), places.end(), random);
    return places;
  }
};

Rows read_ijcnn1(const std::string& path) {
  Rows rows{.dimension = 23};
  for (const auto& line : lines_of("bzcat '" + path + "'")) {
    std::istringstream text{line};
    double label = 0;
    text >> label;
    std::vector<double> row(22, 0.0);
    std::size_t index = 0;
    char colon = 0;
    double value = 0;
    while (text >> index >> colon >> value) row.at(index - 1) = value;
    rows.add(std::move(row), label > 0 ? 1 : -1);
  }
  return rows;
}

/// Class 2 against the rest. The ten measured features are scaled to [-1, 1] from ranges that we wrote down: round numbers that hold all records
/// or nearly all, for which there is no source but these data (angles and hillshade have theirs by definition).
Rows read_covtype(const std::string& path) {
  constexpr std::array<Bounds, 10> bounds{
      {{1800, 3900}, {0, 360}, {0, 70}, {0, 1400}, {-200, 600}, {0, 7200}, {0, 255}, {0, 255}, {0, 255}, {0, 7200}}};
  Rows rows{.dimension = 55};
  for (const auto& line : lines_of("zcat '" + path + "'")) {
    std::istringstream text{line};
    std::vector<double> row;
    std::string cell;
    while (std::getline(text, cell, ',')) row.push_back(std::strtod(cell.c_str(), nullptr));
    if (row.size() != 55) continue;
    const double label = row.back() == 2 ? 1 : -1;
    row.pop_back();
    for (std::size_t j = 0; j < bounds.size(); ++j) {
      const double share = (row[j] - bounds[j].lower) / (bounds[j].upper - bounds[j].lower);
      row[j] = 2 * std::clamp(share, 0.0, 1.0) - 1;
    }
    rows.add(std::move(row), label);
  }
  return rows;
}

/// The runs of the first `count` methods on real data, and the row of the table of data.
struct RealRuns {
  std::vector<Method> methods;
  std::vector<Runs> runs;
  std::vector<std::string> data_row;
};

RealRuns runs_on_real(const std::string& name, const Rows& training, const Rows* test, std::uint64_t seeds, std::size_t count) {
  const std::size_t held_out = test == nullptr ? training.labels.size() / 5 : 0;
  const std::size_t steps = training.labels.size() - held_out;
  auto methods = methods_for(logistic_setting(steps, training.dimension, 20));
  methods.resize(std::min(count, methods.size()));
  std::vector<Runs> runs(methods.size());
  std::vector<double> constant;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto order = training.order(seed);
    const Dataset scored =
        test == nullptr ? training.part(order, steps, order.size()) : test->part(test->order(seed), 0, test->labels.size());
    const auto measure = [&](std::span<const double> weights) {
      std::vector<double> scores;
      for (std::size_t i = 0; i < scored.size(); ++i) scores.push_back(scored.row(i).dot(weights));
      return binary_scores(scores, scored.labels()).accuracy;
    };
    constant.push_back(constant_scores(scored.labels()).accuracy);
    run_all(methods, training.part(order, 0, steps), seed, measure, runs);
  }
  return {std::move(methods),
          std::move(runs),
          {name, fmt::format("{}", seeds), fmt::format("{}", steps), fmt::format("{}", training.dimension),
           fmt::format("{}", test == nullptr ? held_out : test->labels.size()), fmt::format("{:.4f}", mean_and_deviation(constant).mean)}};
}

void report_real(const std::string& name, const Rows& training, const Rows* test, std::uint64_t seeds, Table& data) {
  auto [methods, runs, data_row] = runs_on_real(name, training, test, seeds, std::numeric_limits<std::size_t>::max());
  data.add(std::move(data_row));
  print_table("accuracy", methods, runs,
              {.file = "online-to-batch-accuracy",
               .labels = {{"data", name}},
               .keep = R"(\| (one-pass|printed|subgradient))",
               .columns = {"data", "method", "accuracy", "without noise"}});
}

void report_real_data(std::uint64_t seeds) {
  const char* const folder = std::getenv("SURETY_DATA_DIR");
  if (folder == nullptr) {
    fmt::print("## Real data\n\nSkipped: SURETY_DATA_DIR does not name the folder of ijcnn1 and covtype.20k.\n");
    return;
  }
  fmt::print(
      "## Real data\n\nAccuracy on held-out records; seeds order the records. The radius of the weights, 20, is the best of 5, 10, 20, 50 and 100 on these data,\n"
      "without privacy cost.\n\n");
  Table data{{"data", "seeds", "records", "features with the constant one", "held out", "more frequent class"}};
  const std::string path{folder};
  const Rows training = read_ijcnn1(path + "/ijcnn1.trn.bz2");
  const Rows test = read_ijcnn1(path + "/ijcnn1.tst.bz2");
  if (training.labels.empty() || test.labels.empty())
    fmt::print("## ijcnn1\n\nSkipped: not in SURETY_DATA_DIR.\n\n");
  else
    report_real("ijcnn1", training, &test, seeds, data);
  const Rows covtype = read_covtype(path + "/covtype.20k.data.gz");
  if (covtype.labels.empty())
    fmt::print("## covtype.20k\n\nSkipped: not in SURETY_DATA_DIR.\n");
  else
    report_real("covtype.20k, class 2 against the rest", covtype, nullptr, seeds, data);
  fmt::print("{}", data.markdown({.file = "online-to-batch-data"}));
}

int run(std::uint64_t seeds, const std::vector<std::size_t>& chosen) {
  const std::uint64_t fewer = (seeds + 2) / 3;
  fmt::print("{}", heading("Private online-to-batch", "research/scripts/experiment online_to_batch"));
  fmt::print(
      "[[ZTC22]](../bibliography.md), Algorithm 1, on instances of `research/experiments/online_to_batch.cpp`; the first two rows are other methods.\n"
      "Gap: loss(w) - loss(best) on 20,000 fresh records, mean (deviation) over seeds 1 .. {}, for real data 1 .. {}.\n"
      "\n"
      "* *printed noise*: by the paper's formula (6), for epsilon = 1; its audited epsilon shows how much of the budget it wastes.\n"
      "* *following scale*: noise from the released iterates (tree), with the true G and H unclipped; *clipped* takes the clip for G and a tenth of H.\n"
      "  The others clip gradient differences at 0.5 (logistic) or 1 (least squares) and use the buffered factorization.\n"
      "* *optimistic*, *strongly convex*: Sections 3 and 4. *coin betting, k = 3*: regularizers of Section 5, on a tree.\n"
      "* *pure*: (1, 0)-DP by K-norm nodes, Appendix C.2.\n"
      "\n"
      "Clip and step of DP-SGD and DP-FTRL are the best of 18 settings on instances 0, 1, 2 and 6; the other rows share one rule, the best of 6 on\n"
      "the same instances.\n\n",
      seeds, fewer);
  fmt::print("## Instances\n\n*Aim*: the largest permitted gap of subgradient descent, optimistic and strongly convex.\n\n");
  Table instances{{"instance", "gap of the zero vector", "aim"}};
  for (const std::size_t index : chosen) {
    if (index >= cells.size()) continue;
    const Cell& cell = cells.at(index);
    if (cell.logistic)
      report(cell, logistic_setting(cell.steps, cell.dimension, 2), seeds, instances);
    else
      report(cell, squared_setting(cell.steps, cell.dimension, 2), seeds, instances);
  }
  fmt::print("{}\n", instances.markdown({.file = "online-to-batch-instances"}));
  if (std::any_of(chosen.begin(), chosen.end(), [](std::size_t index) { return index >= cells.size(); })) report_real_data(fewer);
  return 0;
}

/// One run of every method on the first instance, one of its rows with all seeds of the page, and the instance's row. A row of
/// real data, where SURETY_DATA_DIR names their folder.
void make_fixed_part(FixedPart& part) {
  const Cell& cell = cells[0];
  const auto setting = logistic_setting(cell.steps, cell.dimension, 2);
  const auto methods = methods_for(setting);
  const std::size_t shown = 8;  // "strongly convex"
  Runs runs;
  std::vector<double> at_zero;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Problem problem = make_problem(cell, seed);
    at_zero.push_back(gap(setting.loss, problem, std::vector<double>(cell.dimension, 0.0)));
    for (std::size_t m = 0; m < methods.size(); ++m) {
      if (seed > 1 && m != shown) continue;
      const Outcome outcome = methods[m].with_noise(problem.training, seed);
      const double value = gap(setting.loss, problem, outcome.weights);
      const double exact = gap(setting.loss, problem, methods[m].without_noise(problem.training).weights);
      if (m == shown) {
        runs.values.push_back(value);
        runs.exact.push_back(exact);
        runs.audited_epsilon = std::max(runs.audited_epsilon, *outcome.audited_epsilon);
      }
      if (seed > 1) continue;
      part.add(methods[m].name + ": gap", value);
      part.add(methods[m].name + ": without noise", exact);
      part.add(methods[m].name + ": audited epsilon", *outcome.audited_epsilon);
    }
  }
  part.show(Table::line(row_of(methods[shown], runs)));
  part.show(Table::line(instance_row(cell, at_zero)));
  const char* const folder = std::getenv("SURETY_DATA_DIR");
  if (folder == nullptr) return;
  const std::string name = "covtype.20k, class 2 against the rest";
  const auto real = runs_on_real(name, read_covtype(std::string{folder} + "/covtype.20k.data.gz"), nullptr, 4, 1);
  part.show(Table::line(real.data_row));
  auto row = row_of(real.methods[0], real.runs[0]);
  row.insert(row.begin(), name);
  part.show(Table::line(row));
}

int page(std::span<char* const> arguments) {
  const std::uint64_t seeds = number_at(arguments, 1, 10);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 2; i < arguments.size(); ++i) chosen.push_back(std::strtoull(arguments[i], nullptr, 10));
  if (chosen.empty()) {
    for (std::size_t i = 0; i <= cells.size(); ++i) chosen.push_back(i);
  }
  return run(seeds, chosen);
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page({arguments, static_cast<std::size_t>(count)}, page, make_fixed_part);
}
