// [WYX17] Tables 1 and 2: what their rows claim, the gradients counted and the gap measured, for the methods that are here.
//
//     experiment_printed_rates [SEEDS]      default: 10 seeds
//
// Instance (ours). x uniform on the unit sphere of R^10, P(y = 1) = 1 / (1 + exp(-4 <x, theta>)), theta uniform on the sphere; logistic loss,
// lambda = 0.01 (Table 1) and 0 (Table 2), (1, 1e-3)-DP under zero-out, n = 2000 and 16,000. Gap: F(w) - F(w*) on the data, which is what
// the tables bound.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/optimizers/doors/perturbing_releaser.h>
#include <surety/optimizers/doors/vector_releaser.h>
#include <surety/optimizers/empirical_risk/gradient_descent.h>
#include <surety/optimizers/empirical_risk/objective_perturbation.h>
#include <surety/optimizers/empirical_risk/output_perturbation.h>
#include <surety/optimizers/empirical_risk/svrg.h>
#include <surety/optimizers/empirical_risk/svrg_calibration.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/problem.h>

#include "classification_data.h"
#include "page_check.h"
#include "report.h"
#include "sphere.h"

namespace surety::experiments {
namespace {

using namespace optimizers;
using mechanisms::PoissonBatches;
using Weights = std::vector<double>;

constexpr auto adjacency = Adjacency::zero_out;
constexpr std::size_t dimension = 10;
const LogisticLoss logistic;
const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-3}, .adjacency = adjacency};

/// Counts the gradients that are evaluated: one derivative each.
struct CountedLoss : LogisticLoss {
  std::uint64_t* count;
  [[nodiscard]] double derivative(double score, double label) const noexcept {
    ++*count;
    return LogisticLoss::derivative(score, label);
  }
};

Dataset draw(std::size_t records, std::uint64_t seed) {
  std::mt19937_64 words{seed};
  std::normal_distribution<double> normal;
  const auto direction = [&] { return point_of_sphere(words, normal, dimension); };
  const Weights theta = direction();
  Weights values;
  Weights labels;
  for (std::size_t i = 0; i < records; ++i) {
    const Weights row = direction();
    const double score = std::inner_product(row.begin(), row.end(), theta.begin(), 0.0);
    labels.push_back(static_cast<double>(words() >> 11) * 0x1p-53 < 1 / (1 + std::exp(-4 * score)) ? 1 : -1);
    values.insert(values.end(), row.begin(), row.end());
  }
  return Dataset::dense(dimension, std::move(values), std::move(labels));
}

struct Run {
  Weights weights;
  double epsilon = 0;
  double gradients = 0;
};

Run descent(const Dataset& data, Regularization lambda, std::uint64_t seed) {
  const Count steps{100};
  const NoiseMultiplier z = calibrate([&](NoiseMultiplier m) { return repeat(steps, gaussian(m, adjacency)); }, target).value;
  const GradientDescentOptions options{.noise_multiplier = z, .adjacency = adjacency, .steps = steps, .regularization = lambda};
  auto [weights, epsilon] = charged(plan(options), target, seed, [&](auto& reservation, auto& bits) {
    NoisyReleaser releaser{reservation, bits};
    return gradient_descent(data, logistic, NoRegularizer{}, options, releaser).weights;
  });
  return {std::move(weights), epsilon, static_cast<double>(steps.value() * data.size())};
}

Run variance_reduced(const Dataset& data, Regularization lambda, std::uint64_t seed) {
  const bool plain = lambda.value() > 0;                   // Algorithm 1 for Table 1, Algorithm 2 for Table 2
  static std::array<std::optional<SvrgOptions>, 2> known;  // they depend on nothing else
  auto& options = known[plain ? 1 : 0];
  if (!options) {
    options = SvrgOptions{.anchor_multiplier = NoiseMultiplier{1},
                          .noise_multiplier = NoiseMultiplier{1},
                          .sampler = PoissonBatches{SamplingRate{1.0 / 50}},
                          .adjacency = adjacency,
                          .variant = plain ? SvrgVariant::svrg : SvrgVariant::svrg_plus_plus,
                          .epochs = Count{plain ? 10U : 4U},
                          .inner_steps = Count{plain ? 50U : 15U}};
    const SvrgNoise noise = calibrate_svrg(*options, target);
    options->anchor_multiplier = noise.anchor_multiplier;
    options->noise_multiplier = noise.noise_multiplier;
  }
  auto [weights, epsilon] = charged(plan(*options), target, seed, [&](auto& reservation, auto& bits) {
    NoisySamplingReleaser releaser{reservation, bits, std::get<PoissonBatches>(options->sampler)};
    return svrg(data, logistic, L2Regularizer{lambda}, *options, releaser);
  });
  return {std::move(weights), epsilon, gradient_evaluations(*options, Count{data.size()})};
}

/// Both perturbations need regularization. Where there is none they get one that balances what it costs and what it saves.
Run output(const Dataset& data, Regularization lambda, std::uint64_t seed) {
  const double own = std::cbrt(dimension / std::pow(static_cast<double>(data.size()), 2));
  const OutputPerturbationOptions options{.noise = calibrate([](NoiseMultiplier z) { return gaussian(z, adjacency); }, target).value,
                                          .regularization = Regularization{lambda.value() > 0 ? lambda.value() : own},
                                          .adjacency = adjacency};
  std::uint64_t count = 0;
  auto [weights, epsilon] = charged(plan(options, Count{dimension}), target, seed, [&](auto& reservation, auto& bits) {
    NoisyVectorReleaser releaser{reservation, bits};
    return output_perturbation(data, CountedLoss{{}, &count}, options, releaser);
  });
  return {std::move(weights), epsilon, static_cast<double>(count)};
}

Run objective(const Dataset& data, Regularization lambda, std::uint64_t seed) {
  const double own = std::sqrt(static_cast<double>(dimension)) / static_cast<double>(data.size());
  // What is released is known so closely beforehand that much noise on it is little: as the command does it.
  const NoiseMultiplier of_output{1000};
  const Delta delta_of_output{target.delta.value() / 16};
  const double spent = accounting::epsilon(accounting::ClosedForm{}, gaussian(of_output, adjacency), delta_of_output).upper;
  ObjectivePerturbationOptions options{.records = Count{data.size()},
                                       .noise_multiplier = NoiseMultiplier{1},
                                       .epsilon = Epsilon{target.epsilon.value() - spent},
                                       .regularization = Regularization{lambda.value() > 0 ? lambda.value() : own},
                                       .adjacency = adjacency,
                                       .output_multiplier = of_output};
  options.noise_multiplier =
      objective_perturbation_multiplier(options, perturbed_loss(logistic), Delta{target.delta.value() - delta_of_output.value()});
  std::uint64_t count = 0;
  auto [weights, epsilon] = charged(plan(options, logistic), target, seed, [&](auto& reservation, auto& bits) {
    NoisyPerturbingReleaser releaser{reservation, bits};
    return objective_perturbation(data, CountedLoss{{}, &count}, options, releaser);
  });
  return {std::move(weights), epsilon, static_cast<double>(count)};
}

/// A row of a table: its bound for n, of p = 10 and epsilon = 1, without the constants and the logarithms of delta that the tables leave out.
struct Row {
  std::string name;
  std::string bound_text;
  double lambda;
  double (*bound)(double n);
  Run (*run)(const Dataset&, Regularization, std::uint64_t seed);
};
constexpr double p = dimension;
const std::vector<Row> rows{
    {"objective perturbation", "p / (n eps)^2", 0.01, [](double n) { return p / (n * n); }, objective},
    {"output perturbation", "p / (n eps)^2", 0.01, [](double n) { return p / (n * n); }, output},
    {"DP-GD, T = 100", "p log^2 n / (n eps)^2", 0.01, [](double n) { return p * std::pow(std::log(n), 2) / (n * n); }, descent},
    {"DP-SVRG", "p log n / (n eps)^2", 0.01, [](double n) { return p * std::log(n) / (n * n); }, variance_reduced},
    {"objective perturbation", "sqrt(p) / (n eps)", 0, [](double n) { return std::sqrt(p) / n; }, objective},
    {"output perturbation", "(sqrt(p) / (n eps))^(2/3)", 0, [](double n) { return std::pow(std::sqrt(p) / n, 2.0 / 3); }, output},
    {"DP-GD, T = 100", "sqrt(p) log^(3/2) n / (n eps)", 0, [](double n) { return std::sqrt(p) * std::pow(std::log(n), 1.5) / n; }, descent},
    {"DP-SVRG++", "sqrt(p) / (n eps)", 0, [](double n) { return std::sqrt(p) / n; }, variance_reduced}};

struct Summary {
  MeanAndDeviation gap{};
  double epsilon = 0;
  double gradients = 0;
};

Summary summarize(const Row& row, std::size_t records, std::uint64_t seeds) {
  const Regularization lambda{row.lambda};
  std::vector<double> gaps;
  Summary summary;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Dataset data = draw(records, seed);
    const Run run = row.run(data, lambda, seed);
    gaps.push_back(regularized_loss(logistic, data, run.weights, lambda) - logistic_optimum(data, lambda));
    summary.epsilon = std::max(summary.epsilon, run.epsilon);
    summary.gradients += run.gradients / static_cast<double>(seeds);
  }
  summary.gap = mean_and_deviation(gaps);
  return summary;
}

constexpr std::array<std::size_t, 2> sizes{2000, 16'000};

/// The gap, and what it is over the bound.
std::vector<std::string> cells_of(const Row& row, std::size_t records, const Summary& summary) {
  return {text(summary.gap), fmt::format("{:.3g}", summary.gap.mean / row.bound(static_cast<double>(records)))};
}

/// The columns of the gaps and the slopes; the file has all.
std::string shown(const Table& table, const char* number) {
  return table.markdown({.file = "printed-rates",
                         .labels = {{"table", number}},
                         .keep = ".",
                         .columns = {"method", "bound", "gap, n = 2000", "gap, n = 16000", "slope in n", "slope of the bound"}});
}

int page(std::span<char* const> arguments) {
  const std::uint64_t seeds = number_at(arguments, 1, 10);
  fmt::print("{}",
             heading("Rates of private empirical risk minimization, printed and measured", "research/scripts/experiment printed_rates"));
  const std::vector<std::string> header{"method",           "bound",
                                        "gap, n = 2000",    "gap over the bound, n = 2000",
                                        "gap, n = 16000",   "gap over the bound, n = 16000",
                                        "slope in n",       "slope of the bound",
                                        "passes, n = 2000", "passes, n = 16000",
                                        "audited epsilon"};
  std::array<Table, 2> tables{Table{header}, Table{header}};
  for (const Row& row : rows) {
    std::vector<std::string> cells{row.name, row.bound_text};
    std::vector<std::string> passes;
    std::vector<double> means;
    double epsilon = 0;
    for (const std::size_t records : sizes) {
      const Summary summary = summarize(row, records, seeds);
      means.push_back(summary.gap.mean);
      epsilon = std::max(epsilon, summary.epsilon);
      for (auto& cell : cells_of(row, records, summary)) cells.push_back(std::move(cell));
      passes.push_back(fmt::format("{:.0f}", summary.gradients / static_cast<double>(records)));
    }
    cells.push_back(fmt::format("{:.2f}", std::log(means[1] / means[0]) / std::log(8)));
    cells.push_back(fmt::format("{:.2f}", std::log(row.bound(16'000) / row.bound(2000)) / std::log(8)));
    cells.insert(cells.end(), passes.begin(), passes.end());
    cells.push_back(fmt::format("{:.4f}", epsilon));
    tables[row.lambda > 0 ? 0 : 1].add(std::move(cells));
  }
  fmt::print(
      "[[WYX17]](../bibliography.md), Tables 1 and 2; Table 3 is\n"
      "[high-dimension](high-dimension.md). Columns: the printed bound without constants, logarithms of delta, and mu; the measured gap and its\n"
      "ratio to the bound at two n; evaluated gradients of one record, over n.\n"
      "Logistic loss, x on the unit sphere of R^10, (1, 1e-3)-DP under zero-out, exact calibration, each run charged and audited; mean (deviation)\n"
      "over seeds 1 to {}. Steps, epochs and batches are those of [empirical-risk](empirical-risk.md), for both n.\n\n"
      "## Table 1: lambda = 0.01\n\n{}\n## Table 2: convex\n\n{}",
      seeds, shown(tables[0], "1"), shown(tables[1], "2"));
  return 0;
}

/// A short run of each row, and how a row of each table begins.
void make_fixed_part(FixedPart& part) {
  for (const Row& row : {rows[0], rows[6]}) {
    std::vector<std::string> cells{row.name, row.bound_text};
    for (auto& cell : cells_of(row, sizes[0], summarize(row, sizes[0], 10))) cells.push_back(std::move(cell));
    part.show(Table::line(cells));
  }
  for (const Row& row : rows) {
    const Summary summary = summarize(row, 500, 1);
    const std::string title = fmt::format("{}, lambda = {}, n = 500", row.name, row.lambda);
    part.add(title + ": gap", summary.gap.mean);
    part.add(title + ": gradients", summary.gradients);
  }
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page({arguments, static_cast<std::size_t>(count)}, page, make_fixed_part);
}
