// [WYX17] Section 6: private gradient descent on losses that need not be convex.
//
//     experiment_general_losses [SEEDS]      default: 10 seeds
//
// Theorem 6.3 bounds the squared gradient norm of a random iterate, Theorem 6.2 the gap of the last one under a Polyak-Lojasiewicz
// condition. The paper names no such loss and has no such experiment: losses and instances are ours. Rows have l2 norm at most 1, epsilon =
// 1 and delta = 1e-5 under replace-one, clips are the losses' own gradient bounds, so that they never bind, and the number of steps is what
// balances the two terms of each bound, a function of public constants alone.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/empirical_risk/gradient_descent.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/returned_iterate.h>

#include "page_check.h"
#include "report.h"

namespace surety::experiments {
namespace {

using namespace optimizers;

constexpr auto adjacency = Adjacency::replace_one;
const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-5}, .adjacency = adjacency};

// ---- Losses without the promise of convexity ----

std::optional<double> any_number(double label) { return std::isfinite(label) ? std::optional{label} : std::nullopt; }

/// 1 / (1 + exp(y s)) for labels y in {-1, 1}: a smooth count of mistakes.
struct SigmoidLoss {
  static constexpr std::string_view name = "sigmoid";
  static constexpr std::string_view label_constraint = "must be -1 or 1";
  [[nodiscard]] double value(double score, double label) const { return 1 / (1 + std::exp(label * score)); }
  [[nodiscard]] double derivative(double score, double label) const {
    const double v = value(score, label);
    return -label * v * (1 - v);
  }
  [[nodiscard]] double gradient_bound(double norm) const { return norm / 4; }
  /// The derivative has the sign of -y.
  [[nodiscard]] double gradient_difference_bound(double norm) const { return norm / 4; }
  /// |v (1 - v) (1 - 2 v)| is largest at v = (1 +- 1 / sqrt(3)) / 2.
  [[nodiscard]] double smoothness(double norm) const { return norm * norm / (6 * std::sqrt(3.0)); }
  [[nodiscard]] std::optional<double> encode_label(double label) const { return any_number(label); }
};

/// Tukey's biweight of r = s - y: c^2 (1 - (1 - (r / c)^2)^3) / 6, and c^2 / 6 beyond |r| = c.
struct BiweightLoss {
  static constexpr std::string_view name = "biweight";
  static constexpr std::string_view label_constraint = "must be a finite number";
  double width = 1;  ///< c
  [[nodiscard]] double value(double score, double label) const {
    const double u = std::min(1.0, std::pow((score - label) / width, 2));
    return width * width * (1 - std::pow(1 - u, 3)) / 6;
  }
  [[nodiscard]] double derivative(double score, double label) const {
    const double r = score - label;
    const double u = std::min(1.0, std::pow(r / width, 2));
    return r * (1 - u) * (1 - u);
  }
  /// Largest at (r / c)^2 = 1 / 5.
  [[nodiscard]] double gradient_bound(double norm) const { return norm * width * 16 / (25 * std::sqrt(5.0)); }
  [[nodiscard]] double gradient_difference_bound(double norm) const { return 2 * gradient_bound(norm); }
  /// (1 - u) (1 - 5 u) is between -4/5 and 1.
  [[nodiscard]] double smoothness(double norm) const { return norm * norm; }
  [[nodiscard]] std::optional<double> encode_label(double label) const { return any_number(label); }
};

/// (a(s) - y)^2 / 2 of one unit with the activation a(s) = s + sin(s) / 4, whose slope is between 3/4 and 5/4, for weights and labels' own
/// weights in the unit ball: |a(s) - y| is at most 2 a(1).
struct UnitLoss {
  static constexpr std::string_view name = "unit";
  static constexpr std::string_view label_constraint = "must be a finite number";
  static constexpr double least_slope = 0.75;
  static constexpr double largest_slope = 1.25;
  [[nodiscard]] static double activation(double score) { return score + std::sin(score) / 4; }
  [[nodiscard]] static double slope(double score) { return 1 + std::cos(score) / 4; }
  [[nodiscard]] double value(double score, double label) const { return std::pow(activation(score) - label, 2) / 2; }
  [[nodiscard]] double derivative(double score, double label) const { return (activation(score) - label) * slope(score); }
  [[nodiscard]] double gradient_bound(double norm) const { return 2 * activation(1) * largest_slope * norm; }
  [[nodiscard]] double gradient_difference_bound(double norm) const { return 2 * gradient_bound(norm); }
  [[nodiscard]] double smoothness(double norm) const {
    return (largest_slope * largest_slope + 2 * activation(1) * std::sin(1.0) / 4) * norm * norm;
  }
  [[nodiscard]] std::optional<double> encode_label(double label) const { return any_number(label); }
};

static_assert(Objective<SigmoidLoss> && Objective<BiweightLoss> && Objective<UnitLoss>);
static_assert(!ConvexObjective<SigmoidLoss> && !ConvexObjective<BiweightLoss> && !ConvexObjective<UnitLoss>);

/// The largest |derivative - difference quotient| over scores and labels: what a wrong derivative would show, and the largest ratios of
/// |derivative| and its difference quotient to the bounds that the loss says.
struct Checked {
  double error = 0;
  double gradient = 0;
  double smoothness = 0;
};
template <Objective O>
Checked checked(const O& loss, double largest_score, const std::vector<double>& labels) {
  Checked found;
  constexpr double h = 1e-5;
  for (const double label : labels) {
    for (int k = -2000; k <= 2000; ++k) {
      const double s = largest_score * k / 2000;
      const double quotient = (loss.value(s + h, label) - loss.value(s - h, label)) / (2 * h);
      const double second = (loss.derivative(s + h, label) - loss.derivative(s - h, label)) / (2 * h);
      found.error = std::max(found.error, std::abs(quotient - loss.derivative(s, label)));
      found.gradient = std::max(found.gradient, std::abs(loss.derivative(s, label)) / loss.gradient_bound(1));
      found.smoothness = std::max(found.smoothness, std::abs(second) / loss.smoothness(1));
    }
  }
  return found;
}

// ---- Instances ----

using Weights = std::vector<double>;

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : words_{seed} {}
  [[nodiscard]] double uniform() { return static_cast<double>(words_() >> 11) * 0x1p-53; }
  [[nodiscard]] Weights direction(std::size_t dimension) {
    Weights found(dimension);
    double squares = 0;
    for (double& x : found) {
      x = normal_(words_);
      squares += x * x;
    }
    for (double& x : found) x /= std::sqrt(squares);
    return found;
  }

 private:
  std::mt19937_64 words_;
  std::normal_distribution<double> normal_;
};

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

/// Rows on the sphere, or a linear image of them, with labels of their scores at a drawn direction.
template <class Row, class Label>
Dataset draw(std::size_t features, std::size_t records, std::uint64_t seed, Row row_of, Label label_of) {
  Draws draws{seed};
  const Weights truth = draws.direction(features);
  Weights values;
  Weights labels;
  for (std::size_t i = 0; i < records; ++i) {
    const Weights row = row_of(draws);
    labels.push_back(label_of(dot(row, truth), draws));
    values.insert(values.end(), row.begin(), row.end());
  }
  return Dataset::dense(features, std::move(values), std::move(labels));
}

constexpr std::size_t dimension = 10;

/// Signs of scores, every tenth turned over.
Dataset signs(std::size_t records, std::uint64_t seed) {
  return draw(
      dimension, records, seed, [](Draws& draws) { return draws.direction(dimension); },
      [](double score, Draws& draws) { return (score < 0 ? -1.0 : 1.0) * (draws.uniform() < 0.1 ? -1 : 1); });
}
/// Scores, every fifth label anything in [-3, 3].
Dataset with_outliers(std::size_t records, std::uint64_t seed) {
  return draw(
      dimension, records, seed, [](Draws& draws) { return draws.direction(dimension); },
      [](double score, Draws& draws) {
        const double outlier = 6 * draws.uniform() - 3;
        return draws.uniform() < 0.2 ? outlier : score;
      });
}

/// Rows of R^20 in a subspace of dimension 5, coordinates 0, 4, ..., 16, of the scales 1 to 0.6: of a mean of x x^T the least positive
/// eigenvalue is about 0.36 / 5.
constexpr std::size_t wide = 20;
constexpr std::size_t rank = 5;
Dataset deficient(std::size_t records, std::uint64_t seed) {
  return draw(
      wide, records, seed,
      [](Draws& draws) {
        const Weights inner = draws.direction(rank);
        Weights row(wide);
        for (std::size_t j = 0; j < rank; ++j) row[4 * j] = inner[j] * (1 - 0.1 * static_cast<double>(j));
        return row;
      },
      [](double score, Draws&) { return score; });
}
Dataset of_unit(std::size_t records, std::uint64_t seed) {
  return draw(
      rank, records, seed, [](Draws& draws) { return draws.direction(rank); },
      [](double score, Draws&) { return UnitLoss::activation(score); });
}

// ---- Runs ----

double squared_gradient(ObjectiveRef loss, const Dataset& data, std::span<const double> weights) {
  Weights gradient(weights.size());
  for (std::size_t i = 0; i < data.size(); ++i) add_gradient(loss, data.row(i), data.label(i), weights, gradient);
  return dot(gradient, gradient) / std::pow(static_cast<double>(data.size()), 2);
}
double mean_loss(ObjectiveRef loss, const Dataset& data, std::span<const double> weights) {
  return regularized_loss(loss, data, weights, Regularization{0});
}

/// Standard deviation of the noise on the mean gradient of n records over T steps, from exact calibration: 2 G sqrt(T) / (n mu).
NoiseMultiplier multiplier_of(Count steps) {
  return calibrate([&](NoiseMultiplier z) { return repeat(steps, gaussian(z, adjacency)); }, target).value;
}
double deviation(double gradient_bound, NoiseMultiplier z, std::size_t records) {
  return 2 * gradient_bound * z.value() / static_cast<double>(records);
}

struct Run {
  double measured;
  double epsilon;
};

using Make = std::function<Dataset(std::size_t records, std::uint64_t seed)>;

/// The squared gradient norm at a random iterate, drawn from a substream of the seed.
struct StationaryCell {
  std::string name;
  ObjectiveRef loss;
  double first_loss;  ///< at least F(0) - inf F, public
  Make make;

  /// T that makes 2 L (F(w_0) - F*) / T equal to p sigma^2.
  [[nodiscard]] Count steps(std::size_t records) const {
    const double mu = 1 / multiplier_of(Count{1}).value();
    const double balanced =
        static_cast<double>(records) * mu * std::sqrt(loss.smoothness(1) * first_loss / (2 * dimension)) / loss.gradient_bound(1);
    return Count{static_cast<std::uint64_t>(std::max(1.0, std::round(balanced)))};
  }
  /// 2 L (F(w_0) - F*) / T + p sigma^2.
  [[nodiscard]] double bound(std::size_t records) const {
    const Count t = steps(records);
    return 2 * loss.smoothness(1) * first_loss / static_cast<double>(t.value()) +
           dimension * std::pow(deviation(loss.gradient_bound(1), multiplier_of(t), records), 2);
  }
  [[nodiscard]] Run run(std::size_t records, std::uint64_t seed) const {
    const Dataset data = make(records, seed);
    const Count t = steps(records);
    mechanisms::ReplayBits index{1'000'000 + seed};
    const GradientDescentOptions options{.noise_multiplier = multiplier_of(t),
                                         .adjacency = adjacency,
                                         .steps = t,
                                         .regularization = Regularization{0},
                                         .returned = random_iterate(t, index)};
    const auto [weights, epsilon] = charged(plan(options), target, seed, [&](auto& reservation, auto& bits) {
      NoisyReleaser releaser{reservation, bits};
      return gradient_descent(data, loss, WholeSpace{}, options, releaser).weights;
    });
    return {squared_gradient(loss, data, weights), epsilon};
  }
};

/// The gap of the last iterate where F has the constant mu of a Polyak-Lojasiewicz condition and inf F = 0.
struct DominatedCell {
  std::string name;
  ObjectiveRef loss;
  double constant;    ///< mu, public
  double first_loss;  ///< at least F(0)
  std::size_t features;
  Radius ball;
  Make make;

  /// T = (L / mu) log(n^2 / (p (2 G / mu*)^2)), from 1.
  [[nodiscard]] Count steps(std::size_t records) const {
    const double of_one = deviation(loss.gradient_bound(1), multiplier_of(Count{1}), records);
    const double logarithm = std::log(1 / (static_cast<double>(features) * of_one * of_one));
    return Count{static_cast<std::uint64_t>(std::max(1.0, std::round(loss.smoothness(1) / constant * logarithm)))};
  }
  /// (1 - mu / L)^T (F(w_0) - F*) + p sigma^2 / (2 mu): (81) with its sum of a geometric row, which is at most L / mu and not T.
  [[nodiscard]] double bound(std::size_t records) const {
    const Count t = steps(records);
    const double shrunk = std::pow(1 - constant / loss.smoothness(1), static_cast<double>(t.value()));
    return shrunk * first_loss +
           static_cast<double>(features) * std::pow(deviation(loss.gradient_bound(1), multiplier_of(t), records), 2) / (2 * constant);
  }
  [[nodiscard]] Run run(std::size_t records, std::uint64_t seed) const {
    const Dataset data = make(records, seed);
    const Count t = steps(records);
    const GradientDescentOptions options{
        .noise_multiplier = multiplier_of(t), .adjacency = adjacency, .steps = t, .regularization = Regularization{0}};
    const L2Ball domain{ball};
    const auto [weights, epsilon] = charged(plan(options), target, seed, [&](auto& reservation, auto& bits) {
      NoisyReleaser releaser{reservation, bits};
      return gradient_descent(data, loss, domain, options, releaser).weights;
    });
    return {mean_loss(loss, data, weights), epsilon};
  }
  /// The least ||grad F||^2 / (2 F) over points of the ball: at least `constant` where the condition holds.
  [[nodiscard]] double least_ratio(std::size_t records, std::uint64_t seed) const {
    const Dataset data = make(records, seed);
    Draws draws{seed + 77};
    double least = 1e300;
    for (int k = 0; k < 2000; ++k) {
      Weights point = draws.direction(features);
      const double length = ball.value() * draws.uniform();
      for (double& x : point) x *= length;
      const double gap = mean_loss(loss, data, point);
      if (gap > 1e-12) least = std::min(least, squared_gradient(loss, data, point) / (2 * gap));
    }
    return least;
  }
};

const SigmoidLoss sigmoid;
const BiweightLoss biweight;
const UnitLoss unit;
const SquaredLoss squared{.label_bound = LabelBound{1}, .weight_radius = Radius{2}};

const StationaryCell of_sigmoid{"sigmoid", sigmoid, 0.5, signs};
const StationaryCell of_biweight{"biweight", biweight, 1.0 / 6, with_outliers};
/// The least positive eigenvalue of 500 and more of these rows is 0.072 less a sampling error of some 0.003: 0.055 is below it.
const DominatedCell of_squares{"least squares of rank 5 in R^20", squared, 0.055, 0.5, wide, Radius{2}, deficient};
/// (3/4)^4 / (5/4)^2 times the least eigenvalue of the rows, which is 0.2 less some 0.01: 0.16 is below it.
const DominatedCell of_one_unit{"one unit, s + sin(s) / 4", unit, 0.16 * 0.31640625 / 1.5625, 0.79, rank, Radius{1}, of_unit};

/// Slope of log y against log x by least squares.
double slope(std::span<const std::size_t> xs, std::span<const double> ys) {
  double x_mean = 0;
  double y_mean = 0;
  const auto count = static_cast<double>(xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i) {
    x_mean += std::log(static_cast<double>(xs[i])) / count;
    y_mean += std::log(ys[i]) / count;
  }
  double covariance = 0;
  double variance = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const double x = std::log(static_cast<double>(xs[i])) - x_mean;
    covariance += x * (std::log(ys[i]) - y_mean);
    variance += x * x;
  }
  return covariance / variance;
}

struct Summary {
  MeanAndDeviation measured;
  double epsilon = 0;
};
template <class Cell>
Summary summarize(const Cell& cell, std::size_t records, std::uint64_t seeds) {
  std::vector<double> found;
  Summary summary{};
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Run run = cell.run(records, seed);
    found.push_back(run.measured);
    summary.epsilon = std::max(summary.epsilon, run.epsilon);
  }
  summary.measured = mean_and_deviation(found);
  return summary;
}

template <class Cell>
std::vector<std::string> row_of(const Cell& cell, std::size_t records, const Summary& summary) {
  return {cell.name,
          fmt::format("{}", records),
          fmt::format("{}", cell.steps(records).value()),
          fmt::format("{:.3g} ({:.2g})", summary.measured.mean, summary.measured.deviation),
          fmt::format("{:.3g}", cell.bound(records)),
          fmt::format("{:.4f}", summary.epsilon)};
}

constexpr std::array<std::size_t, 4> sizes{500, 1500, 4500, 13500};

template <class Cell>
void add(Table& table, Table& slopes, const Cell& cell, std::uint64_t seeds) {
  std::vector<double> means;
  std::vector<double> bounds;
  for (const std::size_t records : sizes) {
    const Summary summary = summarize(cell, records, seeds);
    means.push_back(summary.measured.mean);
    bounds.push_back(cell.bound(records));
    table.add(row_of(cell, records, summary));
  }
  slopes.add({cell.name, fmt::format("{:.2f}", slope(sizes, means)), fmt::format("{:.2f}", slope(sizes, bounds))});
}

/// ||grad F||^2 / (2 F) of a sigmoid unit, (1 / (1 + e^-s) - y)^2 / 2 at labels that it can fit, at weights of that length against the
/// truth.
double ratio_of_sigmoid_unit(double length) {
  struct Loss : UnitLoss {
    [[nodiscard]] static double activation(double s) { return 1 / (1 + std::exp(-s)); }
    [[nodiscard]] double value(double s, double y) const { return std::pow(activation(s) - y, 2) / 2; }
    [[nodiscard]] double derivative(double s, double y) const { return (activation(s) - y) * activation(s) * activation(-s); }
  };
  const Dataset data = draw(
      rank, 500, 1, [](Draws& draws) { return draws.direction(rank); }, [](double s, Draws&) { return Loss::activation(s); });
  Weights point = Draws{1}.direction(rank);
  for (double& x : point) x *= -length;
  const Loss loss;
  return squared_gradient(loss, data, point) / (2 * mean_loss(loss, data, point));
}

int page(std::span<char* const> arguments) {
  const std::uint64_t seeds = number_at(arguments, 1, 10);
  fmt::print("{}", heading("Losses that need not be convex", "research/scripts/experiment general_losses"));
  fmt::print(
      "[[WYX17]](../bibliography.md), Section 6: Algorithm 4, `gradient_descent`, without convexity, on losses and instances of\n"
      "`research/experiments/general_losses.cpp`.\n"
      "(1, 1e-5)-DP under replace-one, exact calibration, each run charged and audited; mean (deviation) over seeds 1 to {}.\n"
      "Clips never bind; eta = 1 / L. The mu of least squares was set with a first least ratio in view.\n\n"
      "## Theorem 6.3: the gradient at a random iterate\n\n"
      "The squared gradient norm at x_m from 0 in R^10, m drawn below T before the run; T, of order n epsilon, makes the two terms of the bound\n"
      "2 L (F(0) - F*) / T + p sigma^2 equal.\n\n",
      seeds);
  Table stationary{{"loss", "n", "T", "squared gradient norm", "bound", "audited epsilon"}};
  Table slopes{{"loss", "slope in n, measured", "slope of the bound"}};
  add(stationary, slopes, of_sigmoid, seeds);
  add(stationary, slopes, of_biweight, seeds);
  fmt::print("{}\n", stationary.markdown({.file = "general-losses-stationary", .keep = R"(\| 13500 \|)"}));
  fmt::print(
      "## Theorem 6.2: Polyak-Lojasiewicz\n\n"
      "The gap F(x_T) - F*, with F* = 0, for T = (L / mu) log(1 / (p sigma_1^2)), sigma_1 the noise of one step.\n"
      "The bound has L / mu (the sum of (1 - mu / L)^k) in place of the T in the paper's (81).\n"
      "\n"
      "* *Least squares* on rows in a subspace, on the ball of radius 2: mu is the least positive eigenvalue, 0.055 or more.\n"
      "* *One unit*, slopes of the activation between m = 3/4 and M = 5/4, labels that it can fit, on the unit ball: mu = m^4 / M^2 times the least\n"
      "  eigenvalue ([proof](../proofs/gradient-descent.md#one-unit)).\n"
      "\n"
      "Least ratios ||grad F||^2 / (2 F) over 2000 points of the ball, n = 500: {:.4f} for mu = {:.4f}, and {:.4f} for mu = {:.4f}. For a sigmoid\n"
      "unit the ratio falls to {:.2g} at weights of length 10 and {:.2g} at\n"
      "100.\n\n",
      of_squares.least_ratio(500, 1), of_squares.constant, of_one_unit.least_ratio(500, 1), of_one_unit.constant, ratio_of_sigmoid_unit(10),
      ratio_of_sigmoid_unit(100));
  Table dominated{{"loss", "n", "T", "gap", "bound", "audited epsilon"}};
  add(dominated, slopes, of_squares, seeds);
  add(dominated, slopes, of_one_unit, seeds);
  fmt::print("{}\n## Slopes\n\nSlopes of log against log n, by least squares over the four n:\n\n{}",
             dominated.markdown({.file = "general-losses-dominated", .keep = R"(\| 13500 \|)"}), slopes.markdown());
  return 0;
}

/// Derivatives and bounds of the losses, least ratios, and the first row of each loss.
void make_fixed_part(FixedPart& part) {
  const auto check = [&](const std::string& name, const Checked& found) {
    if (!(found.error < 1e-8 && found.gradient <= 1 + 1e-9 && found.smoothness <= 1 + 1e-6)) {
      throw Error{ErrorCode::internal, name + ": a derivative, or a bound on one, is wrong"};
    }
    part.add(name + ": largest derivative over its bound", found.gradient);
    part.add(name + ": largest second derivative over its bound", found.smoothness);
  };
  check("sigmoid", checked(sigmoid, 8, {-1, 1}));
  check("biweight", checked(biweight, 3, {-1.5, 0, 0.3}));
  check("unit", checked(unit, 1, {-UnitLoss::activation(1), 0, 0.4, UnitLoss::activation(1)}));
  for (const DominatedCell& cell : {of_squares, of_one_unit}) {
    const double least = cell.least_ratio(500, 1);
    if (!(least >= cell.constant)) throw Error{ErrorCode::internal, cell.name + ": its Polyak-Lojasiewicz constant is wrong"};
    part.add(cell.name + ": least ratio", least);
    part.add(cell.name + ": gap of 500 records", cell.run(500, 1).measured);
  }
  std::vector<double> bounds;
  for (const std::size_t records : sizes) bounds.push_back(of_squares.bound(records));
  part.show(Table::line({fmt::format("{:.2f}", slope(sizes, bounds))}));  // how a row of the slopes ends
  part.add("sigmoid unit at length 10: ratio", ratio_of_sigmoid_unit(10));
  part.show(Table::line(row_of(of_squares, 500, summarize(of_squares, 500, 10))));
  for (const StationaryCell& cell : {of_sigmoid, of_biweight}) part.show(Table::line(row_of(cell, 500, summarize(cell, 500, 10))));
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page({arguments, static_cast<std::size_t>(count)}, page, make_fixed_part);
}
