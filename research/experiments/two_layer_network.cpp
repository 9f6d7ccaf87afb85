// [ZTC22] "Privacy does not need convexity": Algorithm 1 on a two-layer network, whose records reach the noise through the same door.
//
//     experiment_two_layer_network [SEEDS]      default: 5 seeds
//
// Instance (ours). u uniform on [-1, 1]^2, label the sign of u_1 u_2, which no linear model knows; 50,000 records, 10,000 fresh ones. The
// network has 8 units, sum of c_k tanh(<a_k, u> + b_k), so 32 weights, logistic loss, and public first weights from the seed; weights in the
// ball of radius 20. beta_t = t.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/streams/online_learner.h>
#include <surety/optimizers/streams/online_to_batch.h>
#include <surety/testing/stream.h>

#include "continual.h"
#include "page_check.h"
#include "report.h"

namespace surety::experiments {
namespace {

using namespace optimizers;
using mechanisms::Factorization;
using Weights = std::vector<double>;

constexpr std::size_t units = 8;
constexpr std::size_t weights_in_all = 4 * units;  ///< of unit k: a_k, b_k, c_k
constexpr std::uint64_t default_steps = 50'000;
const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = Adjacency::replace_one};

struct Record {
  std::array<double, 2> u;
  double label;
};

class Records {
 public:
  explicit Records(std::uint64_t seed) : words_{seed} {}
  [[nodiscard]] Record next() {
    const double a = uniform();
    const double b = uniform();
    return {{a, b}, a * b < 0 ? -1.0 : 1.0};
  }
  [[nodiscard]] double uniform() { return static_cast<double>(words_() >> 11) * 0x1p-52 - 1; }

 private:
  std::mt19937_64 words_;
};

double score(std::span<const double> w, const Record& record) {
  double sum = 0;
  for (std::size_t k = 0; k < units; ++k) {
    const auto unit = w.subspan(4 * k, 4);
    sum += unit[3] * std::tanh(unit[0] * record.u[0] + unit[1] * record.u[1] + unit[2]);
  }
  return sum;
}

double loss(std::span<const double> w, const Record& record) { return std::log1p(std::exp(-record.label * score(w, record))); }

/// The gradient of the loss by all weights.
Weights gradient(std::span<const double> w, const Record& record) {
  const double factor = -record.label / (1 + std::exp(record.label * score(w, record)));
  Weights found(w.size());
  for (std::size_t k = 0; k < units; ++k) {
    const auto unit = w.subspan(4 * k, 4);
    const double value = std::tanh(unit[0] * record.u[0] + unit[1] * record.u[1] + unit[2]);
    const double inner = factor * unit[3] * (1 - value * value);
    found[4 * k] = inner * record.u[0];
    found[4 * k + 1] = inner * record.u[1];
    found[4 * k + 2] = inner;
    found[4 * k + 3] = factor * value;
  }
  return found;
}

/// The same options as for a convex loss: what is charged is asked of them alone.
OnlineToBatchOptions options_of(std::uint64_t steps) { return {.steps = Count{steps}, .scale = FixedScale{ClippingNorm{1}}}; }

/// Algorithm 1 with beta_t = t: x_t is the mean of the learner's points, weighted by t, and d_t = t grad l(x_t) - (t - 1) grad l(x_(t-1)),
/// clipped to norm 1, is the only thing that depends on record t.
template <class Stream>
Weights train(std::uint64_t steps, std::uint64_t seed, Stream& stream) {
  const auto asked = shape(options_of(steps), Count{weights_in_all});
  Records first{seed + 500};
  Weights point(weights_in_all);
  for (double& w : point) w = first.uniform();
  Weights previous = point;
  const double t_all = static_cast<double>(steps);
  DualAveraging<L2Ball> learner{L2Ball{Radius{20}}, point, InitialAccumulator{1e-4 * t_all * t_all * t_all}};
  Records records{seed};
  for (std::uint64_t t = 1; t <= steps; ++t) {
    const Record record = records.next();
    const std::span<const double> played = learner.predict();
    const auto now = static_cast<double>(t);
    previous = point;
    for (std::size_t j = 0; j < point.size(); ++j) point[j] += 2 / (now + 1) * (played[j] - point[j]);
    Weights difference = gradient(point, record);
    const Weights before = gradient(previous, record);
    for (std::size_t j = 0; j < point.size(); ++j) difference[j] = now * difference[j] - (now - 1) * before[j];
    mechanisms::RecordSum clipped{{.clip = ClippingNorm{1}, .grid = stream.grid(), .dimension = weights_in_all}};
    clipped.add(difference);
    const Weights released = stream.push(clipped.sum(), asked.sensitivity);
    learner.update({.gradient = released});
  }
  return point;
}

double accuracy(std::span<const double> w, std::uint64_t seed) {
  Records fresh{seed + 900};
  int right = 0;
  constexpr int count = 10'000;
  for (int k = 0; k < count; ++k) {
    const Record record = fresh.next();
    if (score(w, record) * record.label > 0) ++right;
  }
  return right / static_cast<double>(count);
}

struct Run {
  double accuracy;
  double epsilon;
};

Run without_noise(std::uint64_t steps, std::uint64_t seed) {
  testing::ExactStream stream{Grid{.log2_step = -30}};
  return {accuracy(train(steps, seed, stream), seed), std::numeric_limits<double>::infinity()};
}

Run with_noise(std::uint64_t steps, std::uint64_t seed) {
  const auto asked = shape(options_of(steps), Count{weights_in_all});
  const auto found = calibrate(
      [&](NoiseMultiplier z) { return mechanisms::continual_event(Factorization::buffered, asked.steps, z, asked.adjacency); }, target);
  const auto [weights, epsilon] = charged(found.event, target, seed, [&](auto& reservation, auto& bits) {
    NoisyStream stream{reservation, bits, sum_for(Factorization::buffered, asked, found.value), asked.sensitivity};
    return train(steps, seed, stream);
  });
  return {accuracy(weights, seed), epsilon};
}

std::vector<std::string> row_of(bool noisy, std::uint64_t seeds) {
  std::vector<double> found;
  double epsilon = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Run run = noisy ? with_noise(default_steps, seed) : without_noise(default_steps, seed);
    found.push_back(run.accuracy);
    epsilon = std::max(epsilon, run.epsilon);
  }
  const auto summary = mean_and_deviation(found);
  return {noisy ? "private" : "no noise", fmt::format("{:.3f} ({:.3f})", summary.mean, summary.deviation),
          noisy ? fmt::format("{:.4f}", epsilon) : "no noise"};
}

int page(std::span<char* const> arguments) {
  const std::uint64_t seeds = number_at(arguments, 1, 5);
  fmt::print("{}", heading("Private online-to-batch of a two-layer network", "research/scripts/experiment two_layer_network"));
  Table table{{"run", "accuracy", "audited epsilon"}};
  for (const bool noisy : {false, true}) table.add(row_of(noisy, seeds));
  fmt::print(
      "[[ZTC22]](../bibliography.md) without convexity: a network of 8 tanh units and 32 weights, u uniform on [-1, 1]^2, label the sign of u_1 u_2,\n"
      "50,000 records, logistic loss. Clipped gradient differences (norm 1) go into the stream of `OnlineToBatch`, charged as for a convex loss.\n"
      "(1, 1e-6)-DP under replace-one, audited; accuracy on 10,000 fresh records, mean (deviation) over seeds 1 to {}. A linear model has 0.5.\n\n{}",
      seeds, table.markdown());
  return 0;
}

/// Gradients against difference quotients, a row of the page, and a short run of both.
void make_fixed_part(FixedPart& part) {
  part.show(Table::line(row_of(false, 5)));
  Records draws{3};
  double error = 0;
  for (int k = 0; k < 20; ++k) {
    Weights w(weights_in_all);
    for (double& x : w) x = 2 * draws.uniform();
    const Record record = draws.next();
    const Weights found = gradient(w, record);
    for (std::size_t j = 0; j < w.size(); ++j) {
      constexpr double h = 1e-5;
      Weights up = w;
      Weights down = w;
      up[j] += h;
      down[j] -= h;
      error = std::max(error, std::abs((loss(up, record) - loss(down, record)) / (2 * h) - found[j]));
    }
  }
  if (!(error < 1e-8)) throw Error{ErrorCode::internal, "the network's gradient is wrong"};
  part.add("no noise, T = 2000: accuracy", without_noise(2000, 1).accuracy);
  const Run run = with_noise(2000, 1);
  part.add("private, T = 2000: accuracy", run.accuracy);
  part.add("private, T = 2000: audited epsilon", run.epsilon);
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page({arguments, static_cast<std::size_t>(count)}, page, make_fixed_part);
}
