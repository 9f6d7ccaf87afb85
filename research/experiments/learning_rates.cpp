// [HLL22] Figures 5.2 and 5.3 and Theorems 3.3 and 3.6: streaming private Frank-Wolfe against the scale of its steps, against time, and
// against the horizon.
//
//     experiment_learning_rates [SEEDS]      default: 10 seeds
//
// The instance of lp_regression.h; in the last part also with the ball's boundary through theta.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/optimizers/doors/selector.h>
#include <surety/optimizers/empirical_risk/sampled_sgd.h>
#include <surety/optimizers/streams/polyhedral_frank_wolfe.h>
#include <surety/testing/selector.h>
#include <surety/testing/stream.h>

#include "lp_regression.h"
#include "page_check.h"
#include "report.h"

namespace surety::experiments {
namespace {

constexpr std::array<double, 7> scalings{1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0 / 2, 1, 2, 4};

struct Panel {
  std::string name;
  Cell cell;
  std::function<Method(const Cell&, double scale)> method;
};

std::vector<Panel> panels() {
  const Cell low{1.5, 10, 2000};
  const Cell high{infinity, 10, 2000};
  const auto by = [](Factorization factorization) {
    return [=](const Cell& cell, double scale) { return online_frank_wolfe(cell, factorization, scale); };
  };
  return {{"NoisySFW, p = 1.5", low, noisy_frank_wolfe_method},
          {"DP-TOFW (tree), p = 1.5", low, by(Factorization::tree)},
          {"DP-TOFW (buffered), p = 1.5", low, by(Factorization::buffered)},
          {"NoisySGD, p = infinity", high, noisy_sgd_method},
          {"DP-TOFW (tree), p = infinity", high, by(Factorization::tree)},
          {"DP-TOFW (buffered), p = infinity", high, by(Factorization::buffered)}};
}

Summary summarize(const Cell& cell, const Method& method, std::uint64_t seeds) {
  Summary summary;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Instance instance = make_instance(cell, seed);
    summary.add(instance, method(instance, seed));
  }
  return summary;
}

/// A panel's row, and how many times the best mean its worst is.
std::pair<std::vector<std::string>, double> row_of(const Panel& panel, std::uint64_t seeds) {
  std::vector<std::string> row{panel.name};
  double best = infinity;
  double worst = 0;
  double epsilon = 0;
  std::vector<double> means;
  for (const double scale : scalings) {
    const Summary summary = summarize(panel.cell, panel.method(panel.cell, scale), seeds);
    const auto found = mean_and_deviation(summary.suboptimalities);
    means.push_back(found.mean);
    epsilon = std::max(epsilon, summary.audited_epsilon);
    row.push_back(fmt::format("{:.3g} ({:.1g})", found.mean, found.deviation));
  }
  for (const double mean : means) {
    best = std::min(best, mean);
    worst = std::max(worst, mean);
  }
  const auto near = std::count_if(means.begin(), means.end(), [best](double mean) { return mean <= 3 * best; });
  row.push_back(fmt::format("{:.1f}", worst / best));
  row.push_back(fmt::format("{}", near));
  row.push_back(fmt::format("{:.1f}", means.back() / means[means.size() - 3]));
  row.push_back(fmt::format("{:.4f}", epsilon));
  return {row, worst / best};
}

// ---- NoisySGD as printed ----

/// h = 0 on a ball, infinity elsewhere.
struct OnBall final : Regularizer {
  explicit OnBall(LpBall domain) : ball{domain} {}
  LpBall ball;
  [[nodiscard]] double value(std::span<const double>) const override { return 0; }
  void proximal(double /*step*/, std::span<double> target) const override { ball.project(target); }
  [[nodiscard]] double strong_convexity() const override { return 0; }
};
/// [BFGT20] Algorithm 2 as we read it, for epsilon = 1 and delta = 1 / n: T = n^2 steps on one record drawn anew, noise of sigma^2 = 8 T
/// L^2 log(1 / delta) / n^2 for gradients of at most L, here the clip; eta = R / (sqrt(T) sqrt(L^2 + d sigma^2)), the mean iterate.
SampledSgdOptions printed_sgd_options(const Cell& cell) {
  const auto n = static_cast<double>(cell.steps);
  const double sigma = std::sqrt(8 * std::log(n));  // over L
  const ClippingNorm clip = offline_clip(cell);
  const double size = std::sqrt(1 + static_cast<double>(cell.dimension) * sigma * sigma) * clip.value();
  return {.noise_multiplier = NoiseMultiplier{sigma},
          .sampler = mechanisms::FixedSizeBatches{Batches{Count{cell.steps}, Count{1}}},
          .steps = Count{cell.steps * cell.steps},
          .adjacency = Adjacency::replace_one,
          .step_size = StepSize{radius / (n * size)},
          .schedule = StepSchedule::constant,
          .clip = clip,
          .returned = AverageIterate{}};
}

/// One run, whatever it costs.
Outcome printed_sgd(const Cell& cell, const Instance& instance, std::uint64_t seed) {
  const auto options = printed_sgd_options(cell);
  auto [weights, epsilon] = charged(plan(options), target_of(cell), seed, [&](auto& reservation, auto& bits) {
    NoisySamplingReleaser releaser{reservation, bits, std::get<mechanisms::FixedSizeBatches>(options.sampler)};
    return sampled_sgd(instance.training, squared_loss(), OnBall{domain_of(cell)}, options, releaser);
  });
  return {.weights = std::move(weights), .audited_epsilon = epsilon};
}

// ---- Against the horizon ----

/// Gap and cumulative regret (3.7) of DP-TOFW with the printed steps 1 / (t + 1), in units of loss(0) - loss(theta).
struct Course {
  double gap;
  double regret;
  double epsilon;
};
struct Kind {
  std::string name;
  bool noisy;
  bool by_rule;  ///< the clip of the rule, which is below the bound
};
const std::array<Kind, 3> kinds{
    {{"no noise, unclipped", false, false}, {"noise, unclipped", true, false}, {"noise, clip by the rule", true, true}}};

/// What no g_t exceeds with the printed steps: g_t = (<v, x> - y) x for a point v of the ball, and ||x||_2 is at most d^max(0, 1/p - 1/2).
ClippingNorm bound_of(const Cell& cell) {
  const double longest = std::pow(static_cast<double>(cell.dimension), std::max(0.0, 1 / cell.p - 0.5));
  return ClippingNorm{(cell.ball + label_bound) * longest};
}

Course course(const Cell& cell, const Kind& kind, std::uint64_t seed) {
  const Instance instance = make_instance(cell, seed);
  OnlineFrankWolfeOptions options = public_rule(cell);
  options.step_scale = StepScaleFactor{1};
  if (!kind.by_rule) options.clip = bound_of(cell);
  const auto asked = shape(options, Count{cell.dimension});
  const Target target = target_of(cell);
  const auto run = [&](auto& stream) {
    OnlineFrankWolfe algorithm{squared_loss(), domain_of(cell), options, Count{cell.dimension}};
    double regret = 0;
    for (std::size_t i = 0; i < instance.training.size(); ++i) {
      regret += instance.suboptimality(algorithm.weights());
      algorithm.observe(instance.training.row(i), instance.training.label(i), stream);
    }
    return std::pair{instance.suboptimality(algorithm.weights()), regret};
  };
  if (!kind.noisy) {
    testing::ExactStream stream{Grid{.log2_step = -30}};
    const auto [gap, regret] = run(stream);
    return {gap, regret, infinity};
  }
  const auto found =
      calibrate([&](NoiseMultiplier z) { return continual_event(Factorization::buffered, asked.steps, z, asked.adjacency); }, target);
  const auto [ends, epsilon] = charged(found.event, target, seed, [&](auto& reservation, auto& bits) {
    NoisyStream stream{reservation, bits, sum_for(Factorization::buffered, asked, found.value), asked.sensitivity};
    return run(stream);
  });
  return {ends.first, ends.second, epsilon};
}

constexpr std::array<std::uint64_t, 4> horizons{1000, 3000, 9000, 27'000};

/// Slope of log y over log T by least squares.
double slope(std::span<const double> ys) {
  double x_mean = 0;
  double y_mean = 0;
  const auto count = static_cast<double>(ys.size());
  for (std::size_t i = 0; i < ys.size(); ++i) {
    x_mean += std::log(static_cast<double>(horizons[i])) / count;
    y_mean += std::log(ys[i]) / count;
  }
  double covariance = 0;
  double variance = 0;
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const double x = std::log(static_cast<double>(horizons[i])) - x_mean;
    covariance += x * (std::log(ys[i]) - y_mean);
    variance += x * x;
  }
  return covariance / variance;
}

/// \param lengths the first of the horizons; a row of less than two has no slopes.
std::vector<std::string> course_row(const std::string& name, double p, double ball, const Kind& kind, std::uint64_t seeds,
                                    std::span<const std::uint64_t> lengths = horizons) {
  std::vector<std::string> row{name, kind.name};
  std::vector<double> gaps;
  std::vector<double> regrets;
  double epsilon = 0;
  for (const std::uint64_t steps : lengths) {
    std::vector<double> gap;
    double regret = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const Course found = course({.p = p, .dimension = 5, .steps = steps, .ball = ball}, kind, seed);
      gap.push_back(found.gap);
      regret += found.regret / static_cast<double>(seeds);
      epsilon = std::max(epsilon, found.epsilon);
    }
    const auto summary = mean_and_deviation(gap);
    gaps.push_back(summary.mean);
    regrets.push_back(regret);
    row.push_back(fmt::format("{:.3g} ({:.1g})", summary.mean, summary.deviation));
  }
  if (lengths.size() < 2) return row;
  row.push_back(fmt::format("{:.2f}", slope(gaps)));
  row.push_back(fmt::format("{:.1f} to {:.1f}", regrets.front(), regrets.back()));
  row.push_back(fmt::format("{:.2f}", slope(regrets)));
  row.push_back(std::isinf(epsilon) ? "no noise" : fmt::format("{:.4f}", epsilon));
  return row;
}

// ---- DP-POFW ----

/// The gap of DP-POFW with the printed steps on the l1 ball of radius 2, theta at distance 1 from its boundary; clipped to what no g_t
/// exceeds, |<v, x> - y| of x with entries of at most 1. Calibrated by zero-concentration, at the seeds' one cost.
struct Choices {
  PolyhedralFrankWolfeOptions options;
  double epsilon;
};
Choices choices_of(const Cell& cell) {
  PolyhedralFrankWolfeOptions options{.steps = Count{cell.steps},
                                      .radius = Radius{cell.ball},
                                      .noise_multiplier = NoiseMultiplier{1},
                                      .clip = LinfClip{cell.ball + label_bound},
                                      .step_scale = StepScaleFactor{1}};
  const auto found = calibrate(
      [&](NoiseMultiplier z) {
        auto candidate = options;
        candidate.noise_multiplier = z;
        return plan(candidate);
      },
      target_of(cell), accounting::Zcdp{});
  options.noise_multiplier = found.value;
  return {options, accounting::epsilon(accounting::Zcdp{}, found.event, target_of(cell).delta).upper};
}

double gap_of_choices(const Cell& cell, const Choices& choices, bool noisy, std::uint64_t seed) {
  const Instance instance = make_instance(cell, seed);
  PolyhedralFrankWolfe algorithm{squared_loss(), choices.options, Count{cell.dimension}};
  const auto run = [&](auto& selector) {
    for (std::size_t i = 0; i < instance.training.size(); ++i) {
      algorithm.observe(instance.training.row(i), instance.training.label(i), selector);
    }
    return instance.suboptimality(algorithm.weights());
  };
  if (!noisy) {
    testing::ExactSelector selector;
    return run(selector);
  }
  const Target target = target_of(cell);
  TemporaryLedger ledger{target.adjacency};
  auto reservation = ledger.ledger().reserve({.event = plan(choices.options), .promise = target, .not_private = true});
  mechanisms::ReplayBits bits{seed};
  NoisySelector selector{reservation, bits};
  const double gap = run(selector);
  reservation.settle(accounting::Stopping::data_independent);
  return gap;
}

constexpr std::array<std::uint64_t, 4> long_horizons{10'000, 30'000, 90'000, 270'000};

/// \param lengths the first of the long horizons; a row of less than two has no slope.
std::vector<std::string> choices_row(bool noisy, std::uint64_t seeds, std::span<const std::uint64_t> lengths = long_horizons) {
  std::vector<std::string> row{noisy ? "Gumbel noise" : "no noise"};
  std::vector<double> gaps;
  double epsilon = 0;
  for (const std::uint64_t steps : lengths) {
    const Cell cell{.p = 1, .dimension = 5, .steps = steps};
    const Choices choices = choices_of(cell);
    epsilon = std::max(epsilon, choices.epsilon);
    std::vector<double> found;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) found.push_back(gap_of_choices(cell, choices, noisy, seed));
    const auto summary = mean_and_deviation(found);
    gaps.push_back(summary.mean);
    row.push_back(fmt::format("{:.3g} ({:.1g})", summary.mean, summary.deviation));
  }
  if (lengths.size() < 2) return row;
  row.push_back(fmt::format("{:.2f}", slope(gaps)));  // both rows of horizons grow by 3
  row.push_back(noisy ? fmt::format("{:.4f}", epsilon) : "no noise");
  return row;
}

struct Setting {
  std::string name;
  double p;
  double ball;
};
const std::array<Setting, 4> settings{{{"p = 1.5, theta inside", 1.5, 2},
                                       {"p = infinity, theta inside", infinity, 2},
                                       {"p = 1.5, theta on the boundary", 1.5, 1},
                                       {"p = 1, theta within a face", 1, 1}}};

std::string cell_of(const Summary& summary) { return text(mean_and_deviation(summary.suboptimalities)); }

/// The row of disjoint batches beside batches drawn anew.
std::vector<std::string> disjoint_row(const Cell& cell, std::uint64_t seeds) {
  const Summary disjoint = summarize(cell, noisy_sgd_method(cell), seeds);
  return {"disjoint batches, calibrated", "100", "100", cell_of(disjoint), fmt::format("{:.4f}", disjoint.audited_epsilon)};
}

int page(std::span<char* const> arguments) {
  const std::uint64_t seeds = number_at(arguments, 1, 10);
  fmt::print("{}", heading("Streaming Frank-Wolfe: scale of the steps, time, horizon", "research/scripts/experiment learning_rates"));
  fmt::print(
      "[[HLL22]](../bibliography.md), Figures 5.2 and 5.3 and Theorems 3.3 and 3.6, with honest noise, on the instance and with the methods of\n"
      "[online-frank-wolfe](online-frank-wolfe.md): (1, 1/T)-DP under replace-one, audited; SubOpt is the mean (deviation) over seeds 1 to {}.\n\n"
      "## Figure 5.2: scale of the steps\n\n"
      "T = 2000, d = 10. Scale 1 is that page's choice; the largest scale is the last power of 2 that Frank-Wolfe may take.\n"
      "*Worst over best*: of the seven means; *near*: how many are at most 3 times the best.\n"
      "The paper claims that DP-TOFW is more robust against the scale than NoisySFW (p = 1.5) and NoisySGD (p = infinity).\n\n",
      seeds);
  std::vector<std::string> header{"panel"};
  for (const double scale : scalings) header.push_back(scale < 1 ? fmt::format("1/{}", std::lround(1 / scale)) : fmt::format("{}", scale));
  header.insert(header.end(), {"worst over best", "near", "4 over 1", "audited epsilon"});
  Table scales{header};
  std::vector<double> spread;
  for (const Panel& panel : panels()) {
    auto [row, ratio] = row_of(panel, seeds);
    scales.add(std::move(row));
    spread.push_back(ratio);
  }
  const auto verdict = [&](std::size_t other, std::size_t tree, std::size_t buffered) {
    const bool holds = spread[tree] < spread[other] && spread[buffered] < spread[other];
    return holds ? "holds" : "does not hold";
  };
  fmt::print("{}\nBy worst over best of both sums, the claim {} for p = 1.5 and {} for p = infinity.\n\n",
             scales.markdown({.file = "learning-rates", .keep = ".", .columns = {"panel", "1", "worst over best", "near", "4 over 1"}}),
             verdict(0, 1, 2), verdict(3, 4, 5));
  Table times{{"T", "d", "NoisySFW", "its ms", "DP-TOFW (tree)", "its ms", "DP-TOFW (buffered)", "its ms"}};
  for (const auto& [steps, dimension] : {std::pair{1000U, 5U}, std::pair{2000U, 10U}}) {
    const Cell cell{1.5, dimension, steps};
    std::vector<std::string> row{fmt::format("{}", steps), fmt::format("{}", dimension)};
    for (const Method& method : {noisy_frank_wolfe_method(cell), online_frank_wolfe(cell, Factorization::tree),
                                 online_frank_wolfe(cell, Factorization::buffered)}) {
      const Summary summary = summarize(cell, method, seeds);
      row.push_back(cell_of(summary));
      row.push_back(fmt::format("{:.1f}", 1e3 * summary.seconds));
    }
    times.add(std::move(row));
  }
  fmt::print(
      "## Figure 5.3: time\n\n"
      "p = 1.5, processor milliseconds of a run with the tables of the sampler, the least over seeds. NoisySFW makes sqrt(T) releases, DP-TOFW T.\n\n{}\n",
      times.markdown());
  const Cell cell{infinity, 10, 1000};
  const std::uint64_t few = std::min<std::uint64_t>(seeds, 3);
  Table passes{{"method", "steps", "records a step", "SubOpt", "audited epsilon"}};
  Summary printed;
  for (std::uint64_t seed = 1; seed <= few; ++seed) {
    const Instance instance = make_instance(cell, seed);
    printed.add(instance, printed_sgd(cell, instance, seed));
  }
  passes.add({"drawn anew, its noise", "1000000", "1", cell_of(printed), fmt::format("{:.4f}", printed.audited_epsilon)});
  passes.add(disjoint_row(cell, few));
  fmt::print(
      "## NoisySGD on resampled batches\n"
      "\n"
      "p = infinity, d = 10, T = 1000, {} seeds. [BFGT20] Algorithm 2 as read here: n^2 steps on one resampled record, the mean iterate, a step of\n"
      "R / (sqrt(T) sqrt(L^2 + d sigma^2)), sigma^2 = 8 T L^2 log(1/delta) / (n epsilon)^2 with T the steps; against ten passes of disjoint batches.\n\n{}\n",
      few, passes.markdown());
  header = {"setting", "run"};
  for (const std::uint64_t steps : horizons) header.push_back(fmt::format("T = {}", steps));
  header.insert(header.end(), {"slope", "regret", "slope of regret", "audited epsilon"});
  Table courses{header};
  for (const auto& [name, p, ball] : settings) {
    for (const Kind& kind : kinds) courses.add(course_row(name, p, ball, kind, few));
  }
  fmt::print(
      "## Theorem 3.3: strongly convex, the minimum inside\n\n"
      "d = 5, {} seeds, buffered sums, the printed steps 1 / (t + 1); *unclipped* is a clip that no gradient reaches.\n"
      "Theorem 3.3 bounds the gap by 1 / t and a noise of 1 / t^2 with theta at distance gamma = 1 from the boundary of the ball of radius 2; with\n"
      "the boundary through theta the general bound is 1 / sqrt(t). Cumulative regret (3.7) is in units of loss(0) - loss(theta).\n\n{}",
      few,
      courses.markdown({.file = "learning-rates-strongly-convex",
                        .keep = R"(^p = 1\.5, theta inside)",
                        .columns = {"setting", "run", "T = 27000", "slope", "slope of regret"}}));
  header = {"run"};
  for (const std::uint64_t steps : long_horizons) header.push_back(fmt::format("T = {}", steps));
  header.insert(header.end(), {"slope", "epsilon by zero-concentration"});
  Table chosen{header};
  for (const bool noisy : {false, true}) chosen.add(choices_row(noisy, few));
  fmt::print(
      "\n## Theorem 3.6: DP-POFW, the minimum inside\n\n"
      "p = 1, d = 5, the ball of radius 2, theta at l1 distance 1 from its boundary, {} seeds, the printed steps, unclipped.\n"
      "Theorem 3.6 bounds the gap by 1 / t.\n\n{}",
      few, chosen.markdown());
  return 0;
}

/// A scale of each panel, a short course of each kind, what the printed noise of NoisySGD costs, and a row of each table or its beginning.
void make_fixed_part(FixedPart& part) {
  part.show(Table::line(row_of(panels()[0], 10).first));
  const Cell shortest{1.5, 5, 1000};
  part.show(Table::line({"1000", "5", cell_of(summarize(shortest, noisy_frank_wolfe_method(shortest), 10))}));
  part.show(Table::line(disjoint_row({infinity, 10, 1000}, 3)));
  part.show(Table::line(course_row(settings[0].name, settings[0].p, settings[0].ball, kinds[0], 3, std::span{horizons}.first(1))));
  part.show(Table::line(choices_row(false, 3, std::span{long_horizons}.first(1))));
  for (const Panel& panel : panels()) {
    const Cell cell{panel.cell.p, 10, 500};
    const Instance instance = make_instance(cell, 1);
    for (const double scale : {0.25, 2.0}) {
      part.add(fmt::format("{}, T = 500, scale {}: SubOpt", panel.name, scale),
               instance.suboptimality(panel.method(cell, scale)(instance, 1).weights));
    }
  }
  for (const auto& [name, p, ball] : settings) {
    for (const Kind& kind : kinds) {
      const Course found = course({.p = p, .dimension = 5, .steps = 500, .ball = ball}, kind, 1);
      const auto title = fmt::format("{}, {}, T = 500", name, kind.name);
      part.add(title + ": gap", found.gap);
      part.add(title + ": regret", found.regret);
    }
  }
  const Cell inside{.p = 1, .dimension = 5, .steps = 1000};
  const Choices choices = choices_of(inside);
  part.add("DP-POFW, T = 1000: gap without noise", gap_of_choices(inside, choices, false, 1));
  part.add("DP-POFW, T = 1000: gap", gap_of_choices(inside, choices, true, 1));
  part.add("DP-POFW, T = 1000: epsilon by zero-concentration", choices.epsilon);
  const Cell cell{infinity, 10, 1000};
  part.add("NoisySGD drawn anew, T = 1000: epsilon",
           accounting::quick_epsilon(plan(printed_sgd_options(cell)), target_of(cell).delta).upper);
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page({arguments, static_cast<std::size_t>(count)}, page, make_fixed_part);
}
