// [WYX17] The printed noise of private empirical risk minimization, audited: what is claimed, and what it really costs.
//
//     experiment_printed_erm_noise
//
// Every row is a charge in a ledger with the claim as its promise, and what an audit of that ledger says. n = 200,000 records, delta =
// 1e-3, replace-one, the numbers of epochs and steps of the paper's experiments: DP-GD T = 1500, DP-SVRG T = 15 and m = 5000, DP-SVRG++
// T = 15 and m = 10. research/papers/printed_erm_noise.h says how a formula becomes an event.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/ledger/audit.h>
#include <surety/research/papers/printed_erm_noise.h>

#include "page_check.h"
#include "report.h"

namespace surety::experiments {
namespace {

using namespace papers;

const Count records{200'000};

Target claim(double epsilon, double delta = 1e-3) {
  return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = Adjacency::replace_one};
}

struct Cost {
  Enclosure epsilon;
  Enclosure delta;
  bool kept;
};

/// What an audit says of a run that promised `target` and was charged `event`.
Cost audited(const Event& event, const Target& target) {
  TemporaryLedger ledger{event.adjacency()};
  auto reservation = ledger.ledger().reserve({.event = event, .promise = target});
  reservation.spend(event);
  reservation.settle(accounting::Stopping::data_independent);
  const auto report = accounting::audit(ledger.ledger(), target.delta);
  const auto& run = report.runs.front();
  return {*run.epsilon, *run.delta, *run.kept};
}

std::string interval(const Enclosure& value) {
  const auto end = [](double x) { return x >= 1000 ? fmt::format("{:.0f}", x) : fmt::format("{:.4g}", x); };
  return end(value.lower) == end(value.upper) ? end(value.lower) : fmt::format("{} to {}", end(value.lower), end(value.upper));
}

using VarianceReduced = std::function<Event(const PrintedErm&, const Target&, GradientDifference, FullGradientShare)>;

/// Rows: the sampled differences alone, audited, and everything, at the best of some shares of the noise.
void add_variance_reduced(Table& table, const std::string& name, const PrintedErm& problem, const VarianceReduced& event) {
  for (const double epsilon : {0.2, 0.5, 1.0}) {
    for (const auto& [difference, text] : {std::pair{GradientDifference::general, "4 G"}, std::pair{GradientDifference::linear, "2 G"}}) {
      const auto alone = audited(event(problem, claim(epsilon), difference, FullGradientShare{0}), claim(epsilon));
      double most_epsilon = std::numeric_limits<double>::infinity();
      double most_delta = 1;
      for (const double share : {0.5, 0.2, 0.05, 0.01, 1e-3, 1e-4}) {
        const Event all = event(problem, claim(epsilon), difference, FullGradientShare{share});
        most_epsilon = std::min(most_epsilon, accounting::epsilon(accounting::Participation{}, all, Delta{1e-3}).upper);
        most_delta = std::min(most_delta, accounting::delta(accounting::Participation{}, all, Epsilon{epsilon}).upper);
      }
      table.add({name, fmt::format("{}", problem.constant), text, fmt::format("{}", epsilon), interval(alone.epsilon),
                 fmt::format("{:.0f}", most_epsilon), interval(alone.delta), fmt::format("{:.4f}", most_delta),
                 alone.kept ? "kept" : "BROKEN"});
    }
  }
}

Event gradient_descent(double c, const Target& target) {
  return printed_gradient_descent_noise({.records = records, .epochs = Count{1500}, .constant = c}, target);
}

/// The least c that an audit accepts. The cost depends on c alone, and falls with it: bisection on the upper bound.
double least_constant(double epsilon, double delta) {
  double too_small = 0.5;
  double enough = 20;
  while (enough - too_small > 1e-6) {
    const double middle = (too_small + enough) / 2;
    const auto cost = accounting::best_epsilon(gradient_descent(middle, claim(epsilon, delta)), Delta{delta}).value;
    (cost.upper <= epsilon ? enough : too_small) = middle;
  }
  return enough;
}

/// A row of the table of least constants.
std::vector<std::string> constants_row(double delta) {
  std::vector<std::string> row{fmt::format("{}", delta)};
  for (const double epsilon : {0.1, 0.5, 1.0, 4.0, 8.0}) row.push_back(fmt::format("{:.2f}", least_constant(epsilon, delta)));
  return row;
}

/// A row of the table of DP-GD with c = 1.
std::vector<std::string> descent_row(double epsilon, double delta) {
  const auto cost = audited(gradient_descent(1, claim(epsilon, delta)), claim(epsilon, delta));
  return {fmt::format("{}", delta), fmt::format("{}", epsilon), interval(cost.epsilon), interval(cost.delta),
          cost.kept ? "kept" : "BROKEN"};
}

/// What frees Theorem 4.1 of its bound on epsilon, as factors on the variance: ln(T / delta) on sigma (Remark 4.1), and that of T m
/// queries on sigma^2 (Appendix B.1, whose T counts the queries, with G^2 where it prints G).
struct Amplification {
  std::string name;
  double on_variance;
};
std::vector<Amplification> amplifications(const PrintedErm& problem, double delta) {
  const auto epochs = static_cast<double>(problem.epochs.value());
  const double of_epochs = std::log(epochs / delta);
  const double of_steps = std::log(epochs * static_cast<double>(problem.steps_per_epoch.value()) / delta);
  return {{"Remark 4.1", of_epochs * of_epochs}, {"Appendix B.1", of_steps}};
}

/// The least c at which the differences alone keep the claim: sigma^2 is proportional to it.
double least_constant_of_differences(const PrintedErm& problem, double epsilon) {
  const Event printed = printed_svrg_noise(problem, claim(epsilon), GradientDifference::general, FullGradientShare{0});
  const auto& repeated = std::get<Event::Repeated>(printed.node());
  const auto& sampled = std::get<Event::SampledWithoutReplacement>(repeated.event.node());
  const double of_printed = pairwise_multiplier(sampled.event)->value();
  const auto honest = calibrate(
      [&](NoiseMultiplier z) {
        return repeat(repeated.count, without_replacement(problem.records, Count{1}, gaussian(z, Adjacency::replace_one)));
      },
      claim(epsilon));
  return problem.constant * std::pow(honest.value.value() / of_printed, 2);
}

/// The full gradients alone, with all of the noise: every step of DP-SVRG shows the whole mean gradient once more.
Event full_gradients_alone(const PrintedErm& problem, const Target& target) {
  const Count releases{problem.epochs.value() * problem.steps_per_epoch.value()};
  return printed_gradient_descent_noise({.records = problem.records, .epochs = releases, .constant = problem.constant}, target);
}

/// DP-SVRG with an amplified noise: what it costs with full gradients for nothing, and what these cost alone. `least_constant` is that of
/// the noise that is not amplified.
std::vector<std::string> amplified_row(const PrintedErm& problem, const Amplification& amplification, double epsilon,
                                       double least_constant) {
  PrintedErm amplified = problem;
  amplified.constant *= amplification.on_variance;
  const Target target = claim(epsilon);
  const auto differences = audited(printed_svrg_noise(amplified, target, GradientDifference::general, FullGradientShare{0}), target);
  const auto gradients = audited(full_gradients_alone(amplified, target), target);
  return {amplification.name,
          fmt::format("{}", epsilon),
          fmt::format("{:.2f}", std::sqrt(amplification.on_variance)),
          interval(differences.epsilon),
          interval(differences.delta),
          differences.kept ? "kept" : "BROKEN",
          interval(gradients.epsilon),
          fmt::format("{:.1f}", least_constant / amplification.on_variance)};
}

/// The first row of each algorithm, differences alone.
const PrintedErm svrg_problem{.records = records, .epochs = Count{15}, .steps_per_epoch = Count{5000}};
const PrintedErm plus_plus_problem{.records = records, .epochs = Count{15}, .steps_per_epoch = Count{10}};
std::vector<Event> first_events() {
  return {gradient_descent(1, claim(0.2)), printed_svrg_noise(svrg_problem, claim(0.2), GradientDifference::general, FullGradientShare{0}),
          printed_svrg_plus_plus_noise(plus_plus_problem, claim(0.2), GradientDifference::general, FullGradientShare{0})};
}
std::string command_of(const Event& event) {
  return fmt::format("    surety audit --event '{}' --adjacency replace-one --epsilon 0.2 --delta 1e-3\n", describe(event));
}

void print_amplified() {
  fmt::print(
      "## Without the bound on epsilon: Remark 4.1 and Appendix B.1\n\n"
      "Theorem 4.1 holds for epsilon up to c_1 T m / n^2, here 1.9e-6 c_1. Without this bound, sigma grows by the *factor* ln(T / delta) (Remark 4.1) or\n"
      "its root (Appendix B.1), where T is the number of queries T m and G stands for G^2. DP-SVRG, c = 1, delta = 1e-3, differences of 4 G.\n\n");
  Table table{{"amplified by", "claimed epsilon", "factor", "true epsilon, differences alone", "true delta", "verdict",
               "true epsilon, full gradients alone", "least c"}};
  for (const double epsilon : {0.2, 0.5, 1.0}) {
    const double least = least_constant_of_differences(svrg_problem, epsilon);
    for (const auto& amplification : amplifications(svrg_problem, 1e-3))
      table.add(amplified_row(svrg_problem, amplification, epsilon, least));
  }
  const double step = 200'000 * 0.2 / std::sqrt(75'000 * std::log(1e3));
  fmt::print(
      "{}\nThe proof uses Lemma B.1 (amplification to 2 gamma epsilon' by a sampling share gamma, for epsilon' up to 1) at epsilon' = {:.1f} (claim 0.2),\n"
      "where sampling one of n leaves ln(1 + (e^epsilon' - 1) / n) = {:.1f}, not {:.5f}.\n\n",
      table.markdown({.file = "printed-erm-noise-amplified",
                      .keep = R"(\| (0\.2|1) \|)",
                      .columns = {"amplified by", "claimed epsilon", "true epsilon, differences alone", "verdict", "least c"}}),
      step, std::log1p(std::expm1(step) / 200'000), 2 * step / 200'000);
}

int run() {
  fmt::print("{}",
             heading("Printed noise of private empirical risk minimization, audited", "research/scripts/experiment printed_erm_noise"));
  fmt::print(
      "[[WYX17]](../bibliography.md) gives sigma^2 = c G^2 (releases) log(1/delta) / (n epsilon)^2 \"for some c\" (Theorems 4.1, 4.3, 5.3, 6.1).\n"
      "Values of c are audited for n = 200,000 under replace-one, with the epochs and steps of Figures 1 and 2; *verdict* is that of the audit.\n\n"
      "## Full gradients: DP-GD, and DP-AccMD with the noisy gradient in both steps\n\n"
      "The least constant c that an audit accepts:\n\n");
  Table constants{{"delta", "epsilon 0.1", "0.5", "1", "4", "8"}};
  for (const double delta : {1e-3, 1e-5, 1e-7}) constants.add(constants_row(delta));
  fmt::print("{}\nWith c = 1:\n\n", constants.markdown());
  Table descent{{"delta", "claimed epsilon", "true epsilon", "true delta at the claimed epsilon", "verdict"}};
  for (const double delta : {1e-3, 1e-5, 1e-7}) {
    for (const double epsilon : {0.2, 0.5, 1.0, 4.0}) descent.add(descent_row(epsilon, delta));
  }
  fmt::print("{}\nDP-AccMD as printed: no event. ",
             descent.markdown({.file = "printed-erm-noise-descent", .keep = R"(^1e-05 \| (0\.2|4) \|)"}));
  try {
    static_cast<void>(printed_accelerated_mirror_descent_noise({.records = records, .epochs = Count{1500}}, claim(1)));
  } catch (const Error& error) {
    fmt::print("\"{}\".\n\n", error.what());
  }
  fmt::print(
      "## DP-SVRG (T = 15, m = 5000: 75,000 steps) and DP-SVRG++ (T = 15, m = 10: 655,340 steps, twice what its formula counts)\n\n"
      "*Difference*: how far one record moves a sampled difference (4 G, or 2 G for generalized linear models); delta = 1e-3.\n"
      "*Differences alone* treats the full gradients as public; *everything* is an upper bound on the whole cost.\n"
      "A record is drawn with probability 1 - (1 - 1/n)^75000 = 0.313, and 0.962 for DP-SVRG++.\n\n");
  Table reduced{{"algorithm", "c", "difference", "claimed epsilon", "true epsilon, differences alone", "epsilon of everything, at most",
                 "true delta, differences alone", "delta of everything, at most", "verdict"}};
  for (const double c : {1.0, 2.0, 5.0, 10.0}) {
    add_variance_reduced(reduced, "DP-SVRG", {.records = records, .epochs = Count{15}, .steps_per_epoch = Count{5000}, .constant = c},
                         printed_svrg_noise);
  }
  add_variance_reduced(reduced, "DP-SVRG++", {.records = records, .epochs = Count{15}, .steps_per_epoch = Count{10}},
                       printed_svrg_plus_plus_noise);
  fmt::print("{}\n", reduced.markdown({.file = "printed-erm-noise",
                                       .keep = R"(\| (1|10) \| 4 G \| 0\.2 \|)",
                                       .columns = {"algorithm", "c", "claimed epsilon", "true epsilon, differences alone",
                                                   "true delta, differences alone", "verdict"}}));
  print_amplified();
  fmt::print("## By the command\n\nThe first row of each algorithm:\n\n");
  for (const auto& event : first_events()) fmt::print("{}", command_of(event));
  fmt::print(
      "\n`tests/papers/printed_erm_noise_test`: on a worst pair of 1,000 records, at c = 1 and a claim of (1, 1e-3), an attack proves a delta above\n"
      "0.05, and nothing against honest noise.\n");
  return 0;
}

/// The table of DP-GD, the first row of DP-SVRG, and everything of one claim.
void make_fixed_part(FixedPart& part) {
  for (const double delta : {1e-3, 1e-5, 1e-7}) {
    part.add(fmt::format("least constant, delta = {}, epsilon = 1", delta), least_constant(1, delta));
    for (const double epsilon : {0.2, 0.5, 1.0, 4.0}) part.show(Table::line(descent_row(epsilon, delta)));
  }
  const auto events = first_events();
  for (const Event& event : events) part.show(command_of(event));
  const auto alone = accounting::best_epsilon(events[1], Delta{1e-3}).value;
  part.add("DP-SVRG, c = 1, 4 G, claim 0.2, differences alone: least epsilon", alone.lower);
  part.add("DP-SVRG, c = 1, 4 G, claim 0.2, differences alone: epsilon", alone.upper);
  part.show(Table::line({"DP-SVRG", "1", "4 G", "0.2", interval(alone)}));
  part.show(Table::line(constants_row(1e-3)));
  auto amplified_row_begins = amplified_row(svrg_problem, amplifications(svrg_problem, 1e-3)[1], 0.2, 1);
  amplified_row_begins.pop_back();  // the least c takes long
  part.show(Table::line(amplified_row_begins));
  for (const auto& amplification : amplifications(svrg_problem, 1e-3)) {
    PrintedErm amplified = svrg_problem;
    amplified.constant = amplification.on_variance;
    const auto shown = [&](const Event& event) { return accounting::quick_epsilon(event, Delta{1e-3}).upper; };
    part.add(amplification.name + ": factor on the variance", amplification.on_variance);
    part.add(amplification.name + ", claim 0.2: delta of the differences",
             accounting::delta(accounting::Participation{},
                               printed_svrg_noise(amplified, claim(0.2), GradientDifference::general, FullGradientShare{0}), Epsilon{0.2})
                 .upper);
    part.add(amplification.name + ", claim 0.2: epsilon of the full gradients", shown(full_gradients_alone(amplified, claim(0.2))));
  }
  const Event all = printed_svrg_noise(svrg_problem, claim(0.2), GradientDifference::general, FullGradientShare{0.01});
  part.add("DP-SVRG, c = 1, 4 G, claim 0.2, everything: epsilon", accounting::epsilon(accounting::Participation{}, all, Delta{1e-3}).upper);
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page(
      {arguments, static_cast<std::size_t>(count)}, [](std::span<char* const>) { return run(); }, make_fixed_part);
}
