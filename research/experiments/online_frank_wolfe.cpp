// [HLL22] Table 5.1: streaming private Frank-Wolfe for linear regression in l_p geometry, beside its baselines.
//
//     experiment_online_frank_wolfe [SEEDS [T...]]      default: 10 seeds, T = 1000 2000 5000 10000
//
// Instance. Rows N(0, 0.05^2) in each coordinate, divided by their l_q norm, 1/p + 1/q = 1; y = <x, theta> + N(0, 0.05^2), clipped to
// |y| <= 1.15, where all d coordinates of theta are d^(-1/p); the l_p ball of radius 2; start at 0; (1, 1/T)-DP under replace-one.
// SubOpt is (loss(w) - loss(theta)) / (loss(0) - loss(theta)) on 10,000 fresh rows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/continual.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/empirical_risk/gradient_descent.h>
#include <surety/optimizers/printed/printed_frank_wolfe_noise.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/streams/noisy_frank_wolfe.h>
#include <surety/optimizers/streams/noisy_sgd.h>
#include <surety/optimizers/streams/online_frank_wolfe.h>
#include <surety/optimizers/streams/polyhedral_frank_wolfe.h>

#include "lp_regression.h"
#include "page_check.h"
#include "report.h"

namespace surety::experiments {
namespace {

Method gradient_descent_method(const Cell& cell) {
  const auto options = [=](NoiseMultiplier z) {
    return GradientDescentOptions{.noise_multiplier = z,
                                  .steps = Count{30},
                                  .regularization = Regularization{0},
                                  .step_size = offline_step(cell),
                                  .clip = offline_clip(cell)};
  };
  return offline(
      cell, [=](NoiseMultiplier z) { return plan(options(z)); },
      [=](auto& reservation, auto& bits, NoiseMultiplier /*z*/) {
        return NoisyReleaser{reservation, bits};
      },
      [=](const Dataset& data, NoiseMultiplier z, auto& releaser) {
        return gradient_descent(data, squared_loss(), domain_of(cell), options(z), releaser).weights;
      });
}

/// The tree with the printed noise, whatever it costs.
Method with_printed_noise(const Cell& cell) {
  const auto options = public_rule(cell);
  const auto asked = shape(options, Count{cell.dimension});
  const Target target = target_of(cell);
  return [=](const Instance& instance, std::uint64_t seed) {
    const NoiseMultiplier z = printed_noise_multiplier(asked.steps, target);
    auto [weights, epsilon] = charged(printed_frank_wolfe_noise(asked.steps, target), target, seed, [&](auto& reservation, auto& bits) {
      const mechanisms::Gaussian node{{.multiplier = z,
                                       .sensitivity = asked.sensitivity,
                                       .grid = mechanisms::grid_for(asked.sensitivity, z),
                                       .adjacency = asked.adjacency}};
      NoisyStream stream{reservation, bits, mechanisms::TreeSum{node, asked.steps, asked.dimension}, asked.sensitivity};
      return run_online(cell, options, instance.training, stream);
    });
    return Outcome{.weights = std::move(weights), .audited_epsilon = epsilon};
  };
}

/// The tree with generalized Gaussian noise of the best exponent r. Rows of unit l_q norm are about d^(1/r - 1/2) times as long in l_r as
/// in l2, and so is the clip.
Method with_generalized_noise(const Cell& cell) {
  const auto rule = public_rule(cell);
  const auto d = static_cast<double>(cell.dimension);
  const NormExponent r = best_exponent(dual(LpExponent{cell.p}), Count{cell.dimension});
  const GeneralizedFrankWolfeOptions options{.steps = rule.steps,
                                             .adjacency = rule.adjacency,
                                             .clip = {.r = r, .norm = ClippingNorm{rule.clip.value() * std::pow(d, 1 / r.value() - 0.5)}},
                                             .step_scale = rule.step_scale};
  const auto asked = shape(options, Count{cell.dimension});
  const Target target = target_of(cell);
  const auto calibration = calibrate(
      [&](NoiseMultiplier z) { return accounting::tree(asked.steps, generalized_gaussian(r, asked.dimension, z, asked.adjacency)); },
      target, quick_cost());
  return [=](const Instance& instance, std::uint64_t seed) {
    Outcome outcome;
    auto [weights, epsilon] = charged(calibration.event, target, seed, [&](auto& reservation, auto& bits) {
      const mechanisms::GeneralizedGaussian node{{.r = r,
                                                  .multiplier = calibration.value,
                                                  .sensitivity = asked.sensitivity,
                                                  .grid = mechanisms::grid_for(L2Sensitivity{asked.sensitivity.value()}, calibration.value),
                                                  .dimension = asked.dimension,
                                                  .adjacency = asked.adjacency}};
      const mechanisms::TreeSum sum{node, asked.steps, asked.dimension};
      NoisyStream<std::remove_const_t<decltype(sum)>, LrSensitivity> stream{reservation, bits, sum, asked.sensitivity};
      std::vector<double> found;
      outcome.seconds = seconds_of([&] { found = run_online(cell, options, instance.training, stream); });
      return found;
    });
    outcome.weights = std::move(weights);
    outcome.audited_epsilon = epsilon;
    return outcome;
  };
}

/// Private choices of vertices, for p = 1. An audit of so many different events takes seconds to minutes, so the first run alone has one,
/// and none where `audited` is false.
Method polyhedral_frank_wolfe(const Cell& cell, bool laplace, bool audited) {
  const auto rule = public_rule(cell);
  const auto t = static_cast<double>(cell.steps);
  const auto d = static_cast<double>(cell.dimension);
  const auto options = [=](NoiseMultiplier z) {
    return PolyhedralFrankWolfeOptions{.steps = rule.steps,
                                       .radius = Radius{radius},
                                       .noise_multiplier = z,
                                       .adjacency = rule.adjacency,
                                       .clip = LinfClip{std::pow(t, 0.25) / (10 * d)},
                                       .step_scale = rule.step_scale,
                                       .laplace = laplace};
  };
  const Target target = target_of(cell);
  const auto calibration = calibrate([&](NoiseMultiplier z) { return plan(options(z)); }, target, accounting::Zcdp{});
  return [=](const Instance& instance, std::uint64_t seed) {
    TemporaryLedger ledger{target.adjacency};
    auto reservation = ledger.ledger().reserve({.event = calibration.event, .promise = target, .not_private = true});
    mechanisms::ReplayBits bits{seed};
    NoisySelector selector{reservation, bits};
    PolyhedralFrankWolfe algorithm{squared_loss(), options(calibration.value), Count{cell.dimension}};
    Outcome outcome;
    outcome.seconds = seconds_of([&] {
      for (std::size_t i = 0; i < instance.training.size(); ++i) {
        algorithm.observe(instance.training.row(i), instance.training.label(i), selector);
      }
    });
    reservation.settle(accounting::Stopping::data_independent);
    outcome.weights = {algorithm.weights().begin(), algorithm.weights().end()};
    if (audited && seed == 1) outcome.audited_epsilon = ledger.audited_epsilon(target.delta);
    return outcome;
  };
}

/// The summaries of `methods` over seeds.
std::vector<Summary> summarize(const Cell& cell, const std::vector<Method>& methods, std::uint64_t seeds) {
  std::vector<Summary> summaries(methods.size());
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Instance instance = make_instance(cell, seed);
    for (std::size_t m = 0; m < methods.size(); ++m) summaries[m].add(instance, methods[m](instance, seed));
  }
  return summaries;
}

std::string result_of(const Summary& summary) { return text(mean_and_deviation(summary.suboptimalities)); }
std::string epsilon_of(const Summary& summary) { return fmt::format("{:.4f}", summary.audited_epsilon); }
std::string milliseconds_of(const Summary& summary) { return fmt::format("{:.1f}", 1e3 * summary.seconds); }

std::string name_of(double p) { return std::isinf(p) ? "infinity" : fmt::format("{}", p); }

void print_noise(std::uint64_t seeds, const std::vector<std::uint64_t>& horizons) {
  Table table{{"p", "d", "T", "Gaussian", "generalized Gaussian", "r", "its audited epsilon", "its ms", "printed noise",
               "epsilon of printed noise"}};
  for (const double p : {1.5, infinity}) {
    for (const std::size_t d : {5U, 20U}) {
      for (const std::uint64_t t : horizons) {
        const Cell cell{p, d, t};
        const bool smooth = p < 2;  // for q < 2 the noise of the theorem is plain Gaussian
        std::vector<Method> methods{online_frank_wolfe(cell, Factorization::tree), with_printed_noise(cell)};
        if (smooth) methods.push_back(with_generalized_noise(cell));
        const auto summaries = summarize(cell, methods, seeds);
        table.add({name_of(p), fmt::format("{}", d), fmt::format("{}", t), result_of(summaries[0]), smooth ? result_of(summaries[2]) : "-",
                   smooth ? fmt::format("{:.3g}", best_exponent(dual(LpExponent{p}), Count{d}).value()) : "-",
                   smooth ? epsilon_of(summaries[2]) : "-", smooth ? milliseconds_of(summaries[2]) : "-", result_of(summaries[1]),
                   epsilon_of(summaries[1])});
      }
    }
  }
  // What the paper assumes of this instance: gradients of at most L = 2 (2 + 1.15), smoothness beta = 2, diameter D = 4.
  const double sensitivity = 2 * (2 * 2 * radius + 2 * (radius + label_bound));
  std::vector<std::string> literal;
  for (const std::uint64_t t : horizons) {
    const Target target = target_of({.p = infinity, .dimension = 5, .steps = t});
    const double sigma = printed_noise_multiplier(Count{t}, target).value() * sensitivity;
    const NoiseMultiplier z{std::sqrt(sigma) / sensitivity};
    const auto cost = accounting::quick_epsilon(accounting::tree(Count{t}, gaussian(z, target.adjacency)), target.delta);
    literal.push_back(fmt::format("{:.1f} at T = {}", cost.upper, t));
  }
  fmt::print(
      "## Noise of the paper\n\n"
      "DP-TOFW on the binary tree with Gaussian noise, generalized Gaussian noise in l_r (Lemma 2.1, the r of least kappa), and the noise of\n"
      "Theorem 3.1, which claims 1.\n"
      "The radial distribution of Algorithm 4 is refused: as Gaussian noise of deviation sqrt(sigma) it would cost epsilon = {}.\n\n{}\n",
      fmt::join(literal, ", "),
      table.markdown({.file = "online-frank-wolfe-noise",
                      .keep = R"(\| 10000 \|)",
                      .columns = {"p", "d", "T", "Gaussian", "generalized Gaussian", "printed noise"}}));
}

void print_polyhedral(std::uint64_t seeds, const std::vector<std::uint64_t>& horizons) {
  Table table{{"theta", "d", "T", "chosen vertices (Gumbel)", "chosen vertices (Laplace)", "buffered sums", "no noise",
               "audited epsilon: Gumbel", "epsilon: Laplace", "ms: Gumbel", "ms: buffered"}};
  std::map<std::uint64_t, std::pair<std::string, std::string>> audits;  // by horizon: the event depends on nothing else
  for (const bool sparse : {false, true}) {
    for (const std::size_t d : {20U, 100U}) {
      for (const std::uint64_t t : horizons) {
        const Cell cell{1, d, t, sparse};
        const bool audited = !audits.contains(t);
        const auto summaries = summarize(cell,
                                         {polyhedral_frank_wolfe(cell, false, audited), polyhedral_frank_wolfe(cell, true, audited),
                                          online_frank_wolfe(cell, Factorization::buffered), online_frank_wolfe_without_noise(cell)},
                                         seeds);
        if (audited) audits[t] = {epsilon_of(summaries[0]), epsilon_of(summaries[1])};
        table.add({sparse ? "first unit vector" : "equal coordinates", fmt::format("{}", d), fmt::format("{}", t), result_of(summaries[0]),
                   result_of(summaries[1]), result_of(summaries[2]), result_of(summaries[3]), audits[t].first, audits[t].second,
                   milliseconds_of(summaries[0]), milliseconds_of(summaries[2])});
      }
    }
  }
  fmt::print(
      "## The l1 ball\n\n"
      "p = 1: DP-POFW (Algorithm 2, privately chosen vertices, calibrated by zero-concentration, clip T^(1/4) / (10 d) in l-infinity) and DP-TOFW;\n"
      "{} seeds. Every choice after a record is charged for it, so the choices are very noisy until T is in the hundred thousands.\n\n{}",
      seeds,
      table.markdown({.file = "online-frank-wolfe-l1",
                      .keep = R"(\| 100000 \|)",
                      .columns = {"theta", "d", "T", "chosen vertices (Gumbel)", "buffered sums"}}));
}

/// What the paper prints for SubOpt; NoisySGD has no figure for p = 1.5, NoisySFW none for p = infinity.
struct Printed {
  Cell cell;
  double online;
  std::optional<double> baseline;
};
constexpr std::array<Printed, 24> printed{{
    {{1.5, 5, 1000}, 0.0172, 0.522},      {{1.5, 5, 2000}, 0.00235, 0.44},         {{1.5, 5, 5000}, 0.000702, 0.35},
    {{1.5, 5, 10000}, 0.000318, 0.351},   {{1.5, 10, 1000}, 0.201, 0.953},         {{1.5, 10, 2000}, 0.0595, 0.887},
    {{1.5, 10, 5000}, 0.0163, 0.808},     {{1.5, 10, 10000}, 0.00465, 0.789},      {{1.5, 20, 1000}, 0.775, 1.05},
    {{1.5, 20, 2000}, 0.406, 0.957},      {{1.5, 20, 5000}, 0.185, 1.0},           {{1.5, 20, 10000}, 0.0592, 0.937},
    {{infinity, 5, 1000}, 0.112, 0.0802}, {{infinity, 5, 2000}, 0.0432, 0.0344},   {{infinity, 5, 5000}, 0.0145, 0.00989},
    {{infinity, 5, 10000}, 0.00293, {}},  {{infinity, 10, 1000}, 0.582, 0.636},    {{infinity, 10, 2000}, 0.364, 0.484},
    {{infinity, 10, 5000}, 0.125, 0.115}, {{infinity, 10, 10000}, 0.0467, 0.0505}, {{infinity, 20, 1000}, 0.982, 0.955},
    {{infinity, 20, 2000}, 0.82, 0.947},  {{infinity, 20, 5000}, 0.637, 0.602},    {{infinity, 20, 10000}, 0.363, 0.482},
}};

std::vector<Method> methods_of(const Cell& cell) {
  return {online_frank_wolfe(cell, Factorization::buffered),
          online_frank_wolfe(cell, Factorization::tree),
          online_frank_wolfe_without_noise(cell),
          noisy_frank_wolfe_method(cell),
          noisy_sgd_method(cell),
          gradient_descent_method(cell)};
}

/// The cell's row in the first table.
std::vector<std::string> row_of(const Printed& row, const std::vector<Summary>& summaries) {
  const auto& [cell, online, baseline] = row;
  return {name_of(cell.p),
          fmt::format("{}", cell.dimension),
          fmt::format("{}", cell.steps),
          fmt::format("{:.3g}", online),
          result_of(summaries[0]),
          result_of(summaries[1]),
          result_of(summaries[2]),
          baseline ? fmt::format("{:.3g}", *baseline) : "-",
          result_of(summaries[3]),
          result_of(summaries[4]),
          result_of(summaries[5])};
}

int run(std::uint64_t seeds, const std::vector<std::uint64_t>& horizons) {
  fmt::print("{}", heading("Streaming Frank-Wolfe, linear regression in l_p geometry", "research/scripts/experiment online_frank_wolfe"));
  fmt::print(
      "[[HLL22]](../bibliography.md), Table 5.1: T records of d coordinates, (1, 1/T)-DP under replace-one.\n"
      "SubOpt = (loss(w) - loss(theta)) / (loss(0) - loss(theta)) on 10,000 fresh rows: mean (deviation) over seeds 1 .. {}.\n"
      "\n"
      "* *buffered*, *tree*: the paper's DP-TOFW with honest noise, on the buffered Toeplitz factorization or the tree; *no noise*: on exact sums.\n"
      "* *NoisySFW* ([BGN21], Algorithm 3), *NoisySGD* ([BFGT20], Algorithm 2): on disjoint batches; *gradient descent*: 30 steps on all records.\n"
      "* *printed*: the paper's figure for DP-TOFW, whose noise is not (1, 1/T)-DP (standard deviation sqrt(sigma) where the proof needs sigma).\n"
      "* *printed baseline*: the paper's NoisySFW for p = 1.5, its NoisySGD for p = infinity.\n"
      "\n"
      "All coordinates of theta are equal, as the losses in the paper's table imply.\n"
      "Step scale s = 1/4 + d / (2 sqrt(T)) and clip C = T^(1/4) d^(1/p - 3/2) / 4 (gradients of half the loss) in all cells.\n"
      "This rule, and the clips and steps of the other methods, were tuned on these instances without privacy cost.\n\n",
      seeds);
  Table table{{"p", "d", "T", "printed", "buffered", "tree", "no noise", "printed baseline", "NoisySFW", "NoisySGD", "gradient descent"}};
  Table costs{{"p", "d", "T", "audited epsilon: buffered", "epsilon: tree", "epsilon: NoisySFW", "epsilon: NoisySGD",
               "epsilon: gradient descent", "ms: buffered", "ms: tree", "ms: NoisySFW", "ms: NoisySGD", "ms: gradient descent"}};
  int met = 0;
  int cells = 0;
  for (const auto& row : printed) {
    const Cell& cell = row.cell;
    if (std::find(horizons.begin(), horizons.end(), cell.steps) == horizons.end()) continue;
    const auto summaries = summarize(cell, methods_of(cell), seeds);
    const auto epsilon = [&](std::size_t m) { return epsilon_of(summaries[m]); };
    const auto milliseconds = [&](std::size_t m) { return milliseconds_of(summaries[m]); };
    const double allowed = cell.p == 1.5 && cell.dimension == 5 ? 2.5 * row.online : row.online;
    ++cells;
    if (mean_and_deviation(summaries[0].suboptimalities).mean < allowed) ++met;
    const auto cells_of_row = row_of(row, summaries);
    table.add(cells_of_row);
    costs.add({cells_of_row[0], cells_of_row[1], cells_of_row[2], epsilon(0), epsilon(1), epsilon(3), epsilon(4), epsilon(5),
               milliseconds(0), milliseconds(1), milliseconds(3), milliseconds(4), milliseconds(5)});
  }
  fmt::print("{}\n", table.markdown({.file = "online-frank-wolfe",
                                     .keep = R"(\| (5|20) \| 10000 \|)",
                                     .columns = {"p", "d", "T", "printed", "buffered", "no noise", "NoisySGD"}}));
  fmt::print(
      "Streaming methods release a point after every record and are not better than the other three.\n\n"
      "The buffered factorization is below the printed figure (below 2.5 times it for p = 1.5, d = 5) in {} of {} cells.\n\n"
      "## Cost\n"
      "\n"
      "Audited epsilon at delta = 1/T (the largest over seeds), and processor milliseconds of one run (the least over seeds).\n\n{}\n",
      met, cells, costs.markdown({.file = "online-frank-wolfe-costs"}));
  std::vector<std::uint64_t> ends{horizons.front()};
  if (horizons.size() > 1) ends.push_back(horizons.back());
  print_noise(seeds, ends);
  print_polyhedral(std::min<std::uint64_t>(seeds, 5), {horizons.back(), 10 * horizons.back()});
  return 0;
}

/// The first row of each table or its beginning, and one run of every other method on a short instance.
void make_fixed_part(FixedPart& part) {
  const Printed& first = printed[0];
  const auto summaries = summarize(first.cell, methods_of(first.cell), 10);
  const auto shown = row_of(first, summaries);
  part.show(Table::line(shown));
  std::vector<std::string> costs{shown[0], shown[1], shown[2]};
  for (const std::size_t m : {0U, 1U, 3U, 4U, 5U}) costs.push_back(epsilon_of(summaries[m]));
  part.show(Table::line(costs));
  part.show(Table::line({shown[0], shown[1], shown[2], shown[5]}));  // of the noise of the paper: the tree again
  const Cell l1{1, 20, 10'000};
  part.show(Table::line({"equal coordinates", "20", "10000", result_of(summarize(l1, {polyhedral_frank_wolfe(l1, false, false)}, 5)[0])}));
  const auto add = [&](const Cell& cell, const std::vector<std::pair<std::string, Method>>& methods) {
    const Instance instance = make_instance(cell, 1);
    for (const auto& [name, method] : methods) {
      const Outcome outcome = method(instance, 1);
      const auto title = fmt::format("p = {}, d = {}, T = {}, {}", name_of(cell.p), cell.dimension, cell.steps, name);
      part.add(title + ": SubOpt", instance.suboptimality(outcome.weights));
      if (outcome.audited_epsilon > 0) part.add(title + ": audited epsilon", outcome.audited_epsilon);
    }
  };
  for (const double p : {1.5, infinity}) {
    const Cell cell{p, 20, 1000};
    const auto methods = methods_of(cell);
    std::vector<std::pair<std::string, Method>> named{{"buffered", methods[0]}, {"tree", methods[1]},     {"no noise", methods[2]},
                                                      {"NoisySFW", methods[3]}, {"NoisySGD", methods[4]}, {"gradient descent", methods[5]}};
    named.emplace_back("printed noise", with_printed_noise(cell));
    if (p < 2) named.emplace_back("generalized Gaussian", with_generalized_noise(cell));
    add(cell, named);
  }
  const Cell simplex{1, 20, 1000};
  add(simplex, {{"chosen vertices (Gumbel)", polyhedral_frank_wolfe(simplex, false, false)},
                {"chosen vertices (Laplace)", polyhedral_frank_wolfe(simplex, true, false)},
                {"buffered", online_frank_wolfe(simplex, Factorization::buffered)}});
}

int page(std::span<char* const> arguments) {
  const std::uint64_t seeds = number_at(arguments, 1, 10);
  std::vector<std::uint64_t> horizons;
  for (std::size_t i = 2; i < arguments.size(); ++i) horizons.push_back(std::strtoull(arguments[i], nullptr, 10));
  return run(seeds, horizons.empty() ? std::vector<std::uint64_t>{1000, 2000, 5000, 10000} : horizons);
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page({arguments, static_cast<std::size_t>(count)}, page, make_fixed_part);
}
