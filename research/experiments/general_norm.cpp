// [ZTC22] Online-to-batch in a general norm: l_p balls, 1 < p <= 2, gradients in the dual norm l_q, noise of that norm (its Definition 4;
// Definition 5 and Theorem 19 for pure privacy), beside l2.
//
//     experiment_general_norm [SEEDS]      default: 5 seeds
//
// Instance (ours). d = 20; rows uniform on [-1, 1]^d over their l_q norm, y = <x, theta> + N(0, 0.1^2) clipped to |y| <= 1.3, theta = (1/2,
// -1/2, 0, ..) over its l_p norm; the l_p ball of radius 2; beta_t = t. The gap is c ||w - theta||_2^2 / 2, c the mean square of a coordinate.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/continual.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/streams/lr_clip.h>
#include <surety/testing/stream.h>

#include "page_check.h"
#include "report.h"

namespace surety::experiments {
namespace {

using namespace optimizers;
using Weights = std::vector<double>;

constexpr auto adjacency = Adjacency::replace_one;
constexpr std::size_t dimension = 20;
constexpr double radius = 2;
constexpr std::uint64_t default_steps = 10'000;

struct Instance {
  Weights rows;
  Weights labels;
  Weights truth;
  double square = 0;  ///< c

  [[nodiscard]] std::span<const double> row(std::size_t i) const { return std::span{rows}.subspan(i * dimension, dimension); }
  [[nodiscard]] double gap(std::span<const double> w) const {
    double sum = 0;
    for (std::size_t j = 0; j < dimension; ++j) sum += (w[j] - truth[j]) * (w[j] - truth[j]);
    return square * sum / 2;
  }
};

Instance draw(double p, std::uint64_t steps, std::uint64_t seed) {
  std::mt19937_64 words{seed};
  std::normal_distribution<double> normal;
  const LpExponent q = dual(LpExponent{p});
  Instance instance{.rows = {}, .labels = {}, .truth = Weights(dimension)};
  instance.truth[0] = std::pow(2, -1 / p);
  instance.truth[1] = -instance.truth[0];
  Weights row(dimension);
  for (std::uint64_t i = 0; i < steps; ++i) {
    for (double& x : row) x = static_cast<double>(words() >> 11) * 0x1p-52 - 1;
    const double norm = lp_norm(row, q);
    double score = 0.1 * normal(words);
    for (std::size_t j = 0; j < dimension; ++j) {
      row[j] /= norm;
      score += row[j] * instance.truth[j];
      instance.square += row[j] * row[j] / static_cast<double>(dimension * steps);
    }
    instance.rows.insert(instance.rows.end(), row.begin(), row.end());
    instance.labels.push_back(std::clamp(score, -1.3, 1.3));
  }
  return instance;
}

/// argmin over the l_p ball of <G, w> + ||w||_p^2 / (2 (p - 1) eta), 1-strongly convex in l_p but for eta, which its Assumption 1 asks for:
/// along the vertex that is least for G, as far as eta (p - 1) ||G||_q. eta = R / sqrt(S + the sum of ||g||_q^2).
class LpAveraging {
 public:
  LpAveraging(double p, double first) : p_{p}, squares_{first}, sum_(dimension), point_(dimension) {}

  [[nodiscard]] const Weights& point() const { return point_; }
  void update(std::span<const double> gradient) {
    const LpExponent q = dual(LpExponent{p_});
    squares_ += std::pow(lp_norm(gradient, q), 2);
    for (std::size_t j = 0; j < dimension; ++j) sum_[j] += gradient[j];
    point_ = LpBall{LpExponent{p_}, Radius{1}}.minimize_linear(sum_);
    const double length = std::min(radius, radius / std::sqrt(squares_) * (p_ - 1) * lp_norm(sum_, q));
    for (double& w : point_) w *= length;
  }

 private:
  double p_;
  double squares_;
  Weights sum_;
  Weights point_;
};

/// Algorithm 1 with beta_t = t: one push a record, the gradient difference clipped to l_r norm C.
template <class Stream, class Sensitivity>
Weights train(const Instance& instance, double p_of_learner, const LrClip& clip, Stream& stream, Sensitivity sensitivity) {
  const auto n = static_cast<double>(instance.labels.size());
  LpAveraging learner{p_of_learner, 0.01 * n * n * n};
  Weights point(dimension);
  for (std::size_t i = 0; i < instance.labels.size(); ++i) {
    const auto now = static_cast<double>(i + 1);
    const std::span<const double> x = instance.row(i);
    const RowView row{.indices = {}, .values = x, .norm = lp_norm(x, LpExponent{2})};
    const double before = row.dot(point) - instance.labels[i];
    for (std::size_t j = 0; j < dimension; ++j) point[j] += 2 / (now + 1) * (learner.point()[j] - point[j]);
    const double after = row.dot(point) - instance.labels[i];
    learner.update(stream.push(clipped_contribution(now * after - (now - 1) * before, row, clip, stream.grid(), dimension), sensitivity));
  }
  return point;
}

struct Run {
  double gap;
  double epsilon;
};

/// l_r noise for gradients of l_r norm at most `clip`: r = q, or 2 with all of these gradients' l2 norms.
enum class Noise { none, gaussian, generalized, pure_l2, pure_linf };

double largest_l2(double q) { return q > 2 ? std::pow(static_cast<double>(dimension), 0.5 - 1 / q) : 1; }

template <class Sensitivity, class Node>
Run on_tree(const Instance& instance, double p, const LrClip& clip, const Node& node, Sensitivity sensitivity, const Target& target,
            std::uint64_t seed) {
  const mechanisms::TreeSum sum{node, Count{instance.labels.size()}, Count{dimension}};
  const auto [weights, epsilon] = charged(sum.event(), target, seed, [&](auto& reservation, auto& bits) {
    NoisyStream<std::remove_const_t<decltype(sum)>, Sensitivity> stream{reservation, bits, sum, sensitivity};
    return train(instance, p, clip, stream, sensitivity);
  });
  return {instance.gap(weights), epsilon};
}

Run run(double p, Noise noise, std::uint64_t steps, std::uint64_t seed) {
  const Instance instance = draw(p, steps, seed);
  const double q = dual(LpExponent{p}).value();
  const bool in_l2 = noise == Noise::gaussian || noise == Noise::pure_l2;
  const LrClip clip{.r = NormExponent{in_l2 ? 2 : q}, .norm = ClippingNorm{in_l2 ? largest_l2(q) : 1}};
  const double moved = 2 * clip.norm.value();
  const double p_of_learner = in_l2 ? 2 : p;
  const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = adjacency};
  const Target pure{.epsilon = Epsilon{1}, .delta = Delta{0}, .adjacency = adjacency};
  const CostFunctions quick{[](const Event& e, Epsilon at) { return accounting::quick_delta(e, at); },
                            [](const Event& e, Delta at) { return accounting::quick_epsilon(e, at); }};
  switch (noise) {
    case Noise::none: {
      testing::ExactStream stream{Grid{.log2_step = -30}};
      return {instance.gap(train(instance, p, clip, stream, L2Sensitivity{moved * largest_l2(q)})),
              std::numeric_limits<double>::infinity()};
    }
    case Noise::gaussian: {
      const NoiseMultiplier z =
          calibrate([&](NoiseMultiplier m) { return accounting::tree(Count{steps}, gaussian(m, adjacency)); }, target, quick).value;
      const L2Sensitivity s{moved};
      return on_tree(instance, p_of_learner, clip,
                     mechanisms::Gaussian{{.multiplier = z, .sensitivity = s, .grid = mechanisms::grid_for(s, z), .adjacency = adjacency}},
                     s, target, seed);
    }
    case Noise::generalized: {
      const Count d{dimension};
      // The same for every seed, and most of the page's time.
      static std::map<std::pair<double, std::uint64_t>, NoiseMultiplier> known;
      auto of_rule = known.find({p, steps});
      if (of_rule == known.end()) {
        const auto found =
            calibrate([&](NoiseMultiplier m) { return accounting::tree(Count{steps}, generalized_gaussian(clip.r, d, m, adjacency)); },
                      target, quick);
        of_rule = known.emplace(std::pair{p, steps}, found.value).first;
      }
      const NoiseMultiplier z = of_rule->second;
      const LrSensitivity s{moved};
      const mechanisms::GeneralizedGaussian node{{.r = clip.r,
                                                  .multiplier = z,
                                                  .sensitivity = s,
                                                  .grid = mechanisms::grid_for(L2Sensitivity{moved}, z),
                                                  .dimension = d,
                                                  .adjacency = adjacency}};
      return on_tree(instance, p_of_learner, clip, node, s, target, seed);
    }
    case Noise::pure_l2:
    case Noise::pure_linf: {
      const NoiseScale scale = accounting::tree_noise_scale(Count{steps}, pure.epsilon);
      const auto with = [&](auto s) {
        const mechanisms::KNorm node{{.scale = scale,
                                      .sensitivity = s,
                                      .grid = mechanisms::grid_for(L2Sensitivity{moved}, NoiseMultiplier{scale.value()}),
                                      .dimension = Count{dimension},
                                      .adjacency = adjacency}};
        return on_tree(instance, p_of_learner, clip, node, s, pure, seed);
      };
      if (noise == Noise::pure_l2) return with(L2Sensitivity{moved});
      return with(LinfSensitivity{moved});
    }
  }
  return {};
}

struct Row {
  std::string name;
  Noise noise;
};
const std::array<Row, 5> rows{{{"l_p learner, no noise", Noise::none},
                               {"l_p learner, generalized Gaussian of l_q", Noise::generalized},
                               {"l2 learner, Gaussian", Noise::gaussian},
                               {"l_p learner, pure, K-norm of l-infinity", Noise::pure_linf},
                               {"l2 learner, pure, K-norm of l2", Noise::pure_l2}}};
constexpr std::array<double, 3> exponents{1.2, 1.5, 2};

std::vector<std::string> row_of(const Row& row, std::uint64_t seeds) {
  std::vector<std::string> cells{row.name};
  double epsilon = 0;
  for (const double p : exponents) {
    std::vector<double> gaps;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const auto [gap, cost] = run(p, row.noise, default_steps, seed);
      gaps.push_back(gap);
      epsilon = std::max(epsilon, cost);
    }
    cells.push_back(text(mean_and_deviation(gaps)));
  }
  cells.push_back(std::isinf(epsilon) ? "no noise" : fmt::format("{:.4f}", epsilon));
  return cells;
}

std::vector<std::string> row_of_start() {
  std::vector<std::string> cells{"the start, 0"};
  for (const double p : exponents) cells.push_back(fmt::format("{:.3g}", draw(p, default_steps, 1).gap(Weights(dimension))));
  cells.emplace_back("");
  return cells;
}

int page(std::span<char* const> arguments) {
  const std::uint64_t seeds = number_at(arguments, 1, 5);
  fmt::print("{}", heading("Private online-to-batch in a general norm", "research/scripts/experiment general_norm"));
  Table table{{"run", "p = 1.2", "p = 1.5", "p = 2", "audited epsilon"}};
  for (const Row& row : rows) table.add(row_of(row, seeds));
  table.add(row_of_start());
  fmt::print(
      "[[ZTC22]](../bibliography.md) with weights in the l_p ball of radius 2 and gradients in l_q, 1/p + 1/q = 1, by dual averaging with\n"
      "||w||_p^2 / (2 (p - 1)). Noise of the dual norm is generalized Gaussian (Definition 4) or, for pure privacy, of density exp(-||x||_* / b)\n"
      "(Definition 5, Theorem 19; in l-infinity where the sampler lacks l_q). For comparison: the l2 learner in the l2 ball with its noise.\n"
      "Least squares, T = 10,000, d = 20, rows of l_q norm 1, theta of two entries, beta_t = t, clips C = 1 in l_q, binary trees, nothing tuned;\n"
      "epsilon = 1 under replace-one, delta = 1e-6 or 0, each run charged and audited; gap, mean (deviation) over seeds 1 to {}.\n\n{}",
      seeds, table.markdown());
  return 0;
}

/// Two rows of the page, and a short run of every row.
void make_fixed_part(FixedPart& part) {
  part.show(Table::line(row_of(rows[0], 5)));
  part.show(Table::line(row_of_start()));
  constexpr double p = 1.5;
  for (const Row& row : rows) {
    const auto [gap, epsilon] = run(p, row.noise, 500, 1);
    part.add(fmt::format("{}, p = {}, T = 500: gap", row.name, p), gap);
    if (!std::isinf(epsilon)) part.add(fmt::format("{}, p = {}, T = 500: audited epsilon", row.name, p), epsilon);
  }
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page({arguments, static_cast<std::size_t>(count)}, page, make_fixed_part);
}
