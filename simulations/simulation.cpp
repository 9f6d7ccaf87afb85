#include <surety/simulations/simulation.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <surety/accounting/events/continual.h>
#include <surety/testing/stream.h>

namespace surety::simulations {

std::string_view name(BanditInstance instance) { return instance == BanditInstance::sparse ? "sparse" : "dense"; }

std::string_view name(BanditAlgorithm algorithm) {
  switch (algorithm) {
    case BanditAlgorithm::hdb: return "hdb";
    case BanditAlgorithm::ucb: return "ucb";
    case BanditAlgorithm::random: return "random";
  }
  return "";
}

double typical_norm(BanditInstance instance, Count features) {
  const auto d = static_cast<double>(features.value());
  return std::sqrt(instance == BanditInstance::sparse ? d : d / 3);
}

SimulatedUsers::SimulatedUsers(BanditInstance instance, Count features, Count arms, std::uint64_t seed)
    : instance_{instance}, features_{features.value()}, words_{seed}, parameters_(arms.value(), std::vector<double>(features.value())) {
  constexpr std::size_t support = 5;
  if (instance == BanditInstance::sparse && support * ((parameters_.size() + 1) / 2) > features_) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("dimension is {}, must be at least {} for each two of the {} arms of a sparse instance", features_, support,
                            parameters_.size())};
  }
  for (std::size_t arm = 0; arm < parameters_.size(); ++arm) {
    auto& theta = parameters_[arm];
    if (instance == BanditInstance::sparse) {
      std::fill_n(theta.begin() + static_cast<std::ptrdiff_t>(support * (arm / 2)), support, arm % 2 == 0 ? 0.2 : -0.2);
      continue;
    }
    double norm = 0;
    for (double& weight : theta) norm += std::abs(weight = normal());
    for (double& weight : theta) weight /= norm;
  }
}

double SimulatedUsers::uniform() { return static_cast<double>(words_() >> 11) * 0x1p-53; }

double SimulatedUsers::normal() {
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

SimulatedUser SimulatedUsers::next() {
  SimulatedUser user{.context = std::vector<double>(features_), .means = {}, .rewards = {}};
  for (double& x : user.context) {
    x = 2 * uniform() - 1;
    if (instance_ == BanditInstance::sparse) x = x < 0 ? -1 : 1;
  }
  for (const auto& theta : parameters_) {
    double mean = 0;
    for (std::size_t j = 0; j < features_; ++j) mean += theta[j] * user.context[j];
    user.means.push_back(mean);
    user.rewards.push_back(mean + reward_deviation * normal());
  }
  return user;
}

namespace detail {

LinearBanditOptions bandit_options(const Simulation& simulation) {
  return {.steps = simulation.steps,
          .arms = simulation.arms,
          .adjacency = simulation.adjacency,
          .warm_up = simulation.warm_up,
          .clip = simulation.clip.value_or(ClippingNorm{0.1 * typical_norm(simulation.instance, simulation.features)}),
          .step_scale = simulation.step_scale};
}

LpExponent ball_exponent(const Simulation& simulation) {
  if (simulation.ball) return *simulation.ball;
  return LpExponent{1 + 1 / std::max(1.0, std::log(static_cast<double>(simulation.features.value())))};
}

LinearUcbOptions ucb_options(const Simulation& simulation, double deviation) {
  LinearUcbOptions options{.steps = simulation.steps,
                           .arms = simulation.arms,
                           .adjacency = simulation.adjacency,
                           .row_norm = ClippingNorm{typical_norm(simulation.instance, simulation.features)},
                           .reward_bound = simulation.reward_bound,
                           .clip = simulation.clip.value_or(ClippingNorm{1})};
  // The parameters of all instances have l1 norm 1.
  const auto width = paper_width(options, simulation.features,
                                 {.deviation = deviation, .reward_deviation = reward_deviation, .parameter_norm = 1, .failure = 0.05});
  options.ridge = width.ridge;
  options.exploration = Exploration{simulation.exploration.value() * width.exploration.value()};
  return options;
}

namespace {
StreamShape<> shape_of(const Simulation& simulation) {
  if (simulation.algorithm == BanditAlgorithm::ucb) return shape(ucb_options(simulation, 0), simulation.features);
  return shape(bandit_options(simulation), simulation.features);
}
}  // namespace

mechanisms::GaussianContinualSum::Options sum_options(const Simulation& simulation, NoiseMultiplier multiplier) {
  const StreamShape<> asked = shape_of(simulation);
  return {.factorization = simulation.factorization,
          .steps = asked.steps,
          .dimension = asked.dimension,
          .sensitivity = asked.sensitivity,
          .multiplier = multiplier,
          .grid = mechanisms::continual_grid(simulation.factorization, asked.steps, asked.sensitivity, multiplier),
          .adjacency = asked.adjacency};
}

double largest_deviation(const mechanisms::GaussianContinualSum::Options& options) {
  const bool is_tree =
      options.factorization == mechanisms::Factorization::tree || options.factorization == mechanisms::Factorization::streaming_tree;
  const double releases = is_tree ? static_cast<double>(accounting::tree_levels(options.steps).value()) : 1;
  const double mu = std::sqrt(releases) / options.multiplier.value();
  return mechanisms::prefix_error(options.factorization, options.steps).max * options.sensitivity.value() / mu;
}

std::vector<double> regret_of_random_play(const Simulation& simulation, std::uint64_t seed) {
  SimulatedUsers users{simulation.instance, simulation.features, simulation.arms, seed};
  std::mt19937_64 arms{~seed};
  std::vector<double> sums;
  double sum = 0;
  for (std::uint64_t t = 0; t < simulation.steps.value(); ++t) {
    const SimulatedUser user = users.next();
    const std::size_t arm = arms() % user.means.size();
    sum += *std::max_element(user.means.begin(), user.means.end()) - user.means[arm];
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace detail

std::optional<Event> event(const Simulation& simulation, NoiseMultiplier multiplier) {
  if (simulation.algorithm == BanditAlgorithm::random) return std::nullopt;
  const StreamShape<> asked = detail::shape_of(simulation);
  return mechanisms::continual_event(simulation.factorization, asked.steps, multiplier, asked.adjacency);
}

void require_possible(const Simulation& simulation, NoiseMultiplier multiplier) {
  static_cast<void>(SimulatedUsers{simulation.instance, simulation.features, simulation.arms, 0});
  if (simulation.algorithm == BanditAlgorithm::random) return;
  const auto options = detail::sum_options(simulation, multiplier);
  static_cast<void>(mechanisms::GaussianContinualSum{options});
  if (simulation.algorithm == BanditAlgorithm::ucb) {
    require_fine_grid(detail::ucb_options(simulation, detail::largest_deviation(options)), simulation.features, options.grid);
  }
}

namespace {

std::vector<double> regret(const Simulation& simulation, double deviation, std::uint64_t seed, StreamReleaser<>& stream) {
  if (simulation.algorithm == BanditAlgorithm::ucb) {
    return detail::regret(LinearUcb{detail::ucb_options(simulation, deviation), simulation.features}, stream, simulation, seed);
  }
  const SquaredLoss loss{.label_bound = LabelBound{simulation.reward_bound.value()}, .weight_radius = Radius{1}};
  return detail::regret(
      LinearBandit{loss, LpBall{detail::ball_exponent(simulation), Radius{1}}, detail::bandit_options(simulation), simulation.features},
      stream, simulation, seed);
}

}  // namespace

std::vector<double> private_regret(const Simulation& simulation, NoiseMultiplier multiplier, std::uint64_t seed, mechanisms::BitsRef bits) {
  if (simulation.algorithm == BanditAlgorithm::random) return detail::regret_of_random_play(simulation, seed);
  const auto options = detail::sum_options(simulation, multiplier);
  mechanisms::GaussianContinualSum sum{options};
  ChargedStream stream{sum, bits, options.sensitivity};
  return regret(simulation, detail::largest_deviation(options), seed, stream);
}

std::vector<double> exact_regret(const Simulation& simulation, std::uint64_t seed) {
  if (simulation.algorithm == BanditAlgorithm::random) return detail::regret_of_random_play(simulation, seed);
  testing::ExactStream stream{Grid{.log2_step = -30}};
  return regret(simulation, 0, seed, stream);
}

std::vector<RegretBand> bands(std::span<const std::vector<double>> runs) {
  const std::size_t users = runs.front().size();
  const auto count = static_cast<double>(runs.size());
  std::vector<RegretBand> result;
  for (std::size_t tenth = 1; tenth <= 10; ++tenth) {
    const std::size_t time = (users * tenth + 9) / 10;
    if (!result.empty() && result.back().users == time) continue;
    RegretBand band{.users = time, .mean = 0, .deviation = 0, .least = runs.front()[time - 1], .largest = runs.front()[time - 1]};
    for (const auto& run : runs) {
      band.mean += run[time - 1] / count;
      band.least = std::min(band.least, run[time - 1]);
      band.largest = std::max(band.largest, run[time - 1]);
    }
    for (const auto& run : runs) band.deviation += (run[time - 1] - band.mean) * (run[time - 1] - band.mean);
    band.deviation = runs.size() < 2 ? 0 : std::sqrt(band.deviation / (count - 1));
    result.push_back(band);
  }
  return result;
}

}  // namespace surety::simulations
