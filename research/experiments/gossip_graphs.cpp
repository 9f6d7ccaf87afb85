// [LZCJ16] Graphs that are connected only within N rounds (its Assumption 2), the rates of its Theorem 2, and messages that come late, which
// the paper leaves open.
//
//     experiment_gossip_graphs [SEEDS]      default: 3 seeds
//
// 16 learners; x uniform in the unit ball of R^10, y = sign <x, w*> with w* uniform on the sphere; hinge loss, weights in the ball of
// radius 10. Regret (its Definition 2): the losses of learner 0's parameters on the records that all learners have in the round, less those
// of the best c w*, c = 0, 1/4, .., 10.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/optimizers/gossip/gossip.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/testing/learner_releaser.h>

#include "page_check.h"
#include "report.h"
#include "sphere.h"

namespace surety::experiments {
namespace {

using namespace optimizers;
using Weights = std::vector<double>;

constexpr auto adjacency = Adjacency::replace_one;
constexpr std::size_t learners = 16;
constexpr std::size_t dimension = 10;
constexpr double radius = 10;
const HingeLoss hinge;
const L2Ball ball{Radius{radius}};
const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-5}, .adjacency = adjacency};

struct Instance {
  Dataset data;
  Weights truth;
};

Instance draw(std::uint64_t rounds, std::uint64_t seed) {
  std::mt19937_64 words{seed};
  std::normal_distribution<double> normal;
  const auto direction = [&] { return point_of_sphere(words, normal, dimension); };
  const Weights truth = direction();
  Weights values;
  Weights labels;
  for (std::uint64_t i = 0; i < rounds * learners; ++i) {
    Weights row = direction();
    const double length = std::pow(static_cast<double>(words() >> 11) * 0x1p-53, 1.0 / dimension);
    for (double& x : row) x *= length;
    labels.push_back(std::inner_product(row.begin(), row.end(), truth.begin(), 0.0) > 0 ? 1 : -1);
    values.insert(values.end(), row.begin(), row.end());
  }
  return {Dataset::dense(dimension, std::move(values), std::move(labels)), truth};
}

double best_total(const Instance& instance, double phi) {
  double best = std::numeric_limits<double>::infinity();
  for (double c = 0; c <= radius; c += 0.25) {
    Weights weights = instance.truth;
    for (double& w : weights) w *= c;
    best = std::min(best, regularized_loss(hinge, instance.data, weights, Regularization{phi}) * static_cast<double>(instance.data.size()));
  }
  return best;
}

// ---- Graphs ----

/// The ring whose edge i, between learners i and i + 1, is there in the rounds t = i mod N: connected within N rounds, not sooner.
Mixing ring_in_turns(std::uint64_t window) {
  std::vector<MixingMatrix> matrices;
  for (std::uint64_t t = 0; t < window; ++t) {
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < learners; ++i) {
      if (i % window == t) edges.push_back({i, (i + 1) % learners});
    }
    matrices.push_back(MixingMatrix::metropolis(Count{learners}, edges));
  }
  return Mixing::repeating(std::move(matrices));
}

/// Messages from learner j reach learner i `delay(i, j)` rounds late; a learner's own parameters are at hand, and before round 0 all had
/// those of round 0.
class LateExchange final : public Exchange {
 public:
  explicit LateExchange(std::uint64_t largest) : largest_{largest} {}

  [[nodiscard]] std::size_t learners() const noexcept override { return experiments::learners; }
  [[nodiscard]] LearnerRange local() const noexcept override { return {0, experiments::learners}; }
  /// From 0 to `largest`, fixed for each pair.
  [[nodiscard]] std::uint64_t delay(std::size_t i, std::size_t j) const { return i == j ? 0 : (7 * i + 3 * j) % (largest_ + 1); }

  void exchange(std::uint64_t /*round*/, const MixingMatrix& matrix, std::span<const double> parameters, std::span<double> mixed) override {
    past_.emplace_front(parameters.begin(), parameters.end());
    if (past_.size() > largest_ + 1) past_.pop_back();
    const std::size_t size = parameters.size() / experiments::learners;
    for (std::size_t i = 0; i < experiments::learners; ++i) {
      mix(
          matrix.row(i),
          [&](std::size_t j) {
            const auto& then = past_[std::min<std::size_t>(delay(i, j), past_.size() - 1)];
            return std::span<const double>{then}.subspan(j * size, size);
          },
          mixed.subspan(i * size, size));
    }
  }
  [[nodiscard]] Weights gather(std::span<const double> parameters) override { return {parameters.begin(), parameters.end()}; }

 private:
  std::uint64_t largest_;
  std::deque<Weights> past_;  ///< of this round, the last one, ...
};
/// A path of learners, whose Metropolis weights are not those of a regular graph.
MixingMatrix path() {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i + 1 < learners; ++i) edges.push_back({i, i + 1});
  return MixingMatrix::metropolis(Count{learners}, edges);
}
MixingMatrix ring() {
  Mixing mixing = ring_in_turns(1);
  return mixing.at(0);
}

/// Z = 1 + the sum of a_ij delay(i, j) over m.
double slowdown(const MixingMatrix& matrix, std::uint64_t largest) {
  const LateExchange engine{largest};
  double sum = 0;
  for (std::size_t i = 0; i < learners; ++i) {
    for (const auto& [j, weight] : matrix.row(i)) sum += weight * static_cast<double>(engine.delay(i, j));
  }
  return 1 + sum / learners;
}

/// What all learners' numbers tend to when learner k adds 1 to its own, once; least and largest over k.
std::pair<double, double> limits(const MixingMatrix& matrix, std::uint64_t largest) {
  double least = 1e300;
  double most = 0;
  for (std::size_t k = 0; k < learners; ++k) {
    LateExchange engine{largest};
    Weights numbers(learners);
    Weights mixed(learners);
    for (std::uint64_t t = 0; t < 12'000; ++t) {
      engine.exchange(t, matrix, numbers, mixed);
      numbers = mixed;
      if (t == largest) numbers[k] += 1;
    }
    least = std::min(least, *std::min_element(numbers.begin(), numbers.end()));
    most = std::max(most, *std::max_element(numbers.begin(), numbers.end()));
  }
  return {least, most};
}

// ---- Runs ----

struct Run {
  double regret;
  double epsilon;
};

template <class Engine>
Run run(const Instance& instance, double best, double phi, bool noisy, Mixing mixing, Engine engine, std::uint64_t seed) {
  const NoiseMultiplier z = calibrate([](NoiseMultiplier m) { return gaussian(m, adjacency); }, target).value;
  const StepRule step = phi > 0 ? StepRule{InverseStep{Quantity<StepDecayRule>{phi}}} : StepRule{InverseRootStep{StepSize{1}}};
  const GossipOptions options{.noise = GaussianNoise{z},
                              .records = Count{instance.data.size()},
                              .learners = Count{learners},
                              .step = step,
                              .regularization = Regularization{phi}};
  const LearnerRange local{0, learners};
  const auto parts = deal_records(instance.data, options.learners, local);
  double losses = 0;
  const auto observe = [&](std::uint64_t round, std::span<const double> parameters) {
    const auto weights = parameters.first(dimension);
    const double squares = std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0);
    for (const Dataset& part : parts) losses += loss(hinge, part.row(round), part.label(round), weights) + phi / 2 * squares;
  };
  double epsilon = std::numeric_limits<double>::infinity();
  if (noisy) {
    std::tie(std::ignore, epsilon) = charged(plan(options, Count{dimension}), target, seed, [&](auto& reservation, auto& bits) {
      ReplayedLearnerBits sources{bits, local};
      NoisyLearnerReleaser releaser{reservation, sources};
      return gossip(parts, hinge, ball, options, mixing, engine, releaser, observe);
    });
  } else {
    testing::ExactLearnerReleaser releaser;
    static_cast<void>(gossip(parts, hinge, ball, options, mixing, engine, releaser, observe));
  }
  return {losses - best, epsilon};
}

constexpr std::array<std::uint64_t, 3> horizons{500, 2000, 8000};

/// Slope of y against x by least squares.
double slope(std::span<const double> xs, std::span<const double> ys) {
  const auto count = static_cast<double>(xs.size());
  const double x_mean = std::accumulate(xs.begin(), xs.end(), 0.0) / count;
  const double y_mean = std::accumulate(ys.begin(), ys.end(), 0.0) / count;
  double covariance = 0;
  double variance = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    covariance += (xs[i] - x_mean) * (ys[i] - y_mean);
    variance += (xs[i] - x_mean) * (xs[i] - x_mean);
  }
  return covariance / variance;
}

std::string regret_cell(std::span<const double> regrets) {
  const auto summary = mean_and_deviation(regrets);
  return fmt::format("{:.0f} ({:.0f})", summary.mean, summary.deviation);
}

/// A table over settings: `run_of(setting, instance, best, phi, noisy, seed)`, one row for each setting, curvature and noise.
template <class RunOf>
std::string table_of(const std::string& name, std::span<const std::uint64_t> settings, std::uint64_t seeds, RunOf run_of) {
  std::vector<std::string> header{name, "lambda", "noise"};
  for (const std::uint64_t rounds : horizons) header.push_back(fmt::format("regret, T = {}", rounds));
  header.insert(header.end(), {"slope in log T of its log", "of regret over log T, last over first",
                               "of regret over sqrt T, last over first", "audited epsilon"});
  Table table{header};
  for (const double phi : {1.0, 0.0}) {
    for (const bool noisy : {false, true}) {
      std::vector<std::vector<Weights>> regrets(settings.size(), std::vector<Weights>(horizons.size()));
      std::vector<double> epsilons(settings.size());
      for (std::size_t h = 0; h < horizons.size(); ++h) {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
          const Instance instance = draw(horizons[h], seed);
          const double best = best_total(instance, phi);
          for (std::size_t s = 0; s < settings.size(); ++s) {
            const Run found = run_of(settings[s], instance, best, phi, noisy, seed);
            regrets[s][h].push_back(found.regret);
            epsilons[s] = std::max(epsilons[s], found.epsilon);
          }
        }
      }
      for (std::size_t s = 0; s < settings.size(); ++s) {
        std::vector<std::string> row{fmt::format("{}", settings[s]), fmt::format("{}", phi), noisy ? "Gaussian" : "none"};
        Weights log_t;
        Weights log_regret;
        Weights means;
        for (std::size_t h = 0; h < horizons.size(); ++h) {
          const auto summary = mean_and_deviation(regrets[s][h]);
          means.push_back(summary.mean);
          log_t.push_back(std::log(static_cast<double>(horizons[h])));
          log_regret.push_back(std::log(summary.mean));
          row.push_back(regret_cell(regrets[s][h]));
        }
        const double ratio = means.back() / means.front();
        row.push_back(fmt::format("{:.2f}", slope(log_t, log_regret)));
        row.push_back(fmt::format("{:.2f}", ratio * log_t.front() / log_t.back()));
        row.push_back(fmt::format("{:.2f}", ratio / std::exp((log_t.back() - log_t.front()) / 2)));
        row.push_back(noisy ? fmt::format("{:.4f}", epsilons[s]) : "no noise");
        table.add(std::move(row));
      }
    }
  }
  return table.markdown({.file = name == "N" ? "gossip-graphs-window" : "gossip-graphs-delay",
                         .keep = name == "N" ? R"(^(1|16) \|)" : R"(^16 \|)",
                         .columns = {name, "lambda", "noise", "slope in log T of its log", "of regret over log T, last over first",
                                     "of regret over sqrt T, last over first"}});
}

constexpr std::array<std::uint64_t, 3> windows{1, 4, 16};
constexpr std::array<std::uint64_t, 3> delays{0, 4, 16};

const auto of_window = [](std::uint64_t window, const Instance& instance, double best, double phi, bool noisy, std::uint64_t seed) {
  return run(instance, best, phi, noisy, ring_in_turns(window), InProcessExchange{learners}, seed);
};
const auto of_delay = [](std::uint64_t largest, const Instance& instance, double best, double phi, bool noisy, std::uint64_t seed) {
  return run(instance, best, phi, noisy, ring_in_turns(1), LateExchange{largest}, seed);
};

/// Z of a graph, and the limits of impulses.
std::vector<std::string> limits_row(const std::string& graph, const MixingMatrix& matrix, std::uint64_t largest) {
  const auto [least, most] = limits(matrix, largest);
  const double z = slowdown(matrix, largest);
  return {graph,
          fmt::format("{}", largest),
          fmt::format("{:.4f}", z),
          fmt::format("{:.6f}", 1 / (learners * z)),
          fmt::format("{:.6f}", least),
          fmt::format("{:.6f}", most)};
}

int page(std::span<char* const> arguments) {
  const std::uint64_t seeds = number_at(arguments, 1, 3);
  fmt::print("{}", heading("Distributed learning on graphs that are seldom connected, and with late messages",
                           "research/scripts/experiment gossip_graphs"));
  fmt::print(
      "[[LZCJ16]](../bibliography.md): {} learners, one record each a round, hinge loss in R^10, Gaussian noise for (1, 1e-5)-DP under replace-one,\n"
      "audited; mean (deviation) over seeds 1 to {}.\n"
      "Regret is that of learner 0's parameters on all records, with lambda = 1 and steps 1 / t, or lambda = 0 and steps 1 / sqrt(t).\n"
      "Theorem 2 gives log T and sqrt(T): a ratio of at most 1 is within that rate.\n\n"
      "## Connected within N rounds\n\n"
      "In a ring, the edge of learners i and i + 1 is present in the rounds that are i mod N. The graphs connect all learners within N - 1 rounds\n"
      "for N = 16, otherwise within N; the charge does not depend on it.\n\n{}\n",
      learners, seeds, table_of("N", windows, seeds, of_window));
  Table weights{{"graph", "delays up to", "Z", "1 / (m Z)", "limit of an impulse: least", "largest"}};
  for (const auto& [name, matrix] : {std::pair{"ring", ring()}, std::pair{"path", path()}}) {
    for (const std::uint64_t largest : delays) weights.add(limits_row(name, matrix, largest));
  }
  fmt::print(
      "## Late messages\n\n"
      "Learner i reads what learner j sent (7 i + 3 j) mod (D + 1) rounds ago ([old messages cost nothing](../proofs/gossip.md#late)).\n"
      "Every learner keeps equal weight and every step counts 1 / Z of its value, Z being 1 plus the mean delay; by an impulse at each learner:\n\n{}\n"
      "On the ring:\n\n{}",
      weights.markdown({.file = "gossip-graphs-impulse", .keep = "^ring"}), table_of("D", delays, seeds, of_delay));
  return 0;
}

/// Limits of impulses against 1 / (m Z), a short run of each setting, and the beginning of a row of each table: regrets of the shortest
/// horizon without noise.
void make_fixed_part(FixedPart& part) {
  part.show(Table::line(limits_row("ring", ring(), 4)));
  const auto show_row = [&](std::uint64_t setting, const auto& run_of) {
    Weights regrets;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Instance instance = draw(horizons.front(), seed);
      regrets.push_back(run_of(setting, instance, best_total(instance, 1), 1, false, seed).regret);
    }
    part.show(Table::line({fmt::format("{}", setting), "1", "none", regret_cell(regrets)}));
  };
  show_row(windows.back(), of_window);
  show_row(delays.back(), of_delay);
  for (const std::uint64_t largest : {std::uint64_t{0}, std::uint64_t{4}}) {
    const MixingMatrix matrix = path();
    const auto [least, most] = limits(matrix, largest);
    const double expected = 1 / (learners * slowdown(matrix, largest));
    if (!(std::abs(least / expected - 1) < 1e-6 && std::abs(most / expected - 1) < 1e-6)) {
      throw Error{ErrorCode::internal, fmt::format("learners do not count alike: {} to {}, not {}", least, most, expected)};
    }
    part.add(fmt::format("path, delays up to {}: limit", largest), expected);
  }
  const Instance instance = draw(100, 1);
  for (const double phi : {1.0, 0.0}) {
    const double best = best_total(instance, phi);
    for (const bool noisy : {false, true}) {
      for (const std::uint64_t window : windows) {
        part.add(fmt::format("N = {}, lambda = {}, {}: regret", window, phi, noisy ? "Gaussian" : "none"),
                 of_window(window, instance, best, phi, noisy, 1).regret);
      }
      part.add(fmt::format("D = 4, lambda = {}, {}: regret", phi, noisy ? "Gaussian" : "none"),
               of_delay(4, instance, best, phi, noisy, 1).regret);
    }
  }
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page({arguments, static_cast<std::size_t>(count)}, page, make_fixed_part);
}
