#include <surety/optimizers/gossip/gossip.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/numbers/overload.h>
#include <surety/optimizers/doors/stream.h>

namespace surety::optimizers {
namespace {

Event release_event(const LearnerNoise& noise, Count features, Adjacency adjacency) {
  return std::visit(Overload{[&](const LaplaceNoise& laplace) { return release(Event::Laplace{laplace.scale}, adjacency); },
                             [&](const L2KNormNoise& k_norm) {
                               return release(Event::KNorm{NormName::l2, features, k_norm.scale}, adjacency);
                             },
                             [&](const GaussianNoise& gaussian) { return release(Event::Gaussian{gaussian.multiplier}, adjacency); }},
                    noise);
}

double above(double value) { return std::nextafter(value, std::numeric_limits<double>::infinity()); }

}  // namespace

double step_size(const StepRule& rule, std::uint64_t round) {
  const auto t = static_cast<double>(round);
  return std::visit(Overload{[](const ConstantStep& constant) { return constant.step.value(); },
                             [&](const InverseRootStep& root) { return root.step.value() / std::sqrt(t); },
                             [&](const InverseStep& inverse) { return 1 / (inverse.decay.value() * t); }},
                    rule);
}

std::size_t records_of_learner(Count records, Count learners, std::size_t learner) {
  if (learners > records) {
    invalid(fmt::format("the number of learners is {}, must be at most {}, the number of records", learners.value(), records.value()));
  }
  if (learner >= learners.value()) invalid(fmt::format("learner is {}, must be less than {}", learner, learners.value()));
  return static_cast<std::size_t>(records.value() / learners.value() + (learner < records.value() % learners.value() ? 1 : 0));
}

std::vector<Dataset> deal_records(const Dataset& data, Count learners, LearnerRange local) {
  std::vector<Dataset> parts;
  std::vector<std::size_t> indices;
  for (std::size_t learner = local.first; learner < local.last; ++learner) {
    indices.resize(records_of_learner(Count{data.size()}, learners, learner));
    for (std::size_t k = 0; k < indices.size(); ++k) indices[k] = learner + k * static_cast<std::size_t>(learners.value());
    parts.push_back(data.subset(indices));
  }
  return parts;
}

GossipPass pass(const GossipOptions& options, Count features) {
  require_fixed_places(options.adjacency);
  const std::uint64_t learners = options.learners.value();
  const std::uint64_t size = options.batch_size.value();
  const std::uint64_t most = records_of_learner(options.records, options.learners, 0);
  const std::uint64_t least = records_of_learner(options.records, options.learners, static_cast<std::size_t>(learners - 1));
  if (size > least) invalid(fmt::format("batch size is {}, must be at most {}, the records of a learner", size, least));
  const Event release = release_event(options.noise, features, options.adjacency);
  const auto part = [&](std::uint64_t records) { return deterministic(Batches{Count{records}, options.batch_size}, release); };
  std::vector<Event> parts(static_cast<std::size_t>(learners), part(least));
  std::fill_n(parts.begin(), options.records.value() % learners, part(most));
  return {.rounds = (most - 1) / size + 1, .release = release, .pass = parallel(std::move(parts))};
}

Event plan(const GossipOptions& options, Count features) { return repeat(options.passes, pass(options, features).pass); }

L1Sensitivity l1_sensitivity(L2Sensitivity sensitivity, std::size_t dimension) {
  return L1Sensitivity{above(above(std::sqrt(static_cast<double>(dimension))) * sensitivity.value())};
}

ReplayedLearnerBits::ReplayedLearnerBits(const mechanisms::ReplayBits& root, LearnerRange local) : first_{local.first} {
  for (std::size_t learner = local.first; learner < local.last; ++learner) sources_.push_back(root.substream(learner));
}

LearnerMechanism::LearnerMechanism(const Event& release, const Grid& grid, std::size_t dimension, L2Sensitivity sensitivity)
    : grid_{grid}, dimension_{dimension}, sensitivity_{sensitivity}, noise_{make(release, grid, dimension, sensitivity)} {}

LearnerMechanism::Noise LearnerMechanism::make(const Event& release, const Grid& grid, std::size_t dimension, L2Sensitivity sensitivity) {
  const Adjacency adjacency = release.adjacency();
  if (const auto* laplace = std::get_if<Event::Laplace>(&release.node())) {
    return mechanisms::Laplace{
        {.scale = laplace->scale, .sensitivity = l1_sensitivity(sensitivity, dimension), .grid = grid, .adjacency = adjacency}};
  }
  if (const auto* k_norm = std::get_if<Event::KNorm>(&release.node());
      k_norm != nullptr && k_norm->norm == NormName::l2 && k_norm->dimension.value() == dimension) {
    return mechanisms::KNorm{
        {.scale = k_norm->scale, .sensitivity = sensitivity, .grid = grid, .dimension = k_norm->dimension, .adjacency = adjacency}};
  }
  if (const auto* gaussian = std::get_if<Event::Gaussian>(&release.node())) {
    return mechanisms::Gaussian{{.multiplier = gaussian->multiplier, .sensitivity = sensitivity, .grid = grid, .adjacency = adjacency}};
  }
  throw Error{ErrorCode::unsupported,
              fmt::format("no mechanism releases the event '{}' for {} coordinates of a learner", describe(release), dimension)};
}

std::vector<double> mean_vector(std::span<const double> vectors, std::size_t dimension) {
  if (dimension == 0 || vectors.empty() || vectors.size() % dimension != 0) {
    invalid(fmt::format("{} numbers are no vectors of {} coordinates, of which there must be at least 1", vectors.size(), dimension));
  }
  const auto count = static_cast<double>(vectors.size() / dimension);
  std::vector<double> mean(dimension, 0.0);
  for (std::size_t j = 0; j < vectors.size(); ++j) mean[j % dimension] += vectors[j];
  for (double& value : mean) value /= count;
  return mean;
}

double printed_minibatch_factor(const StepRule& step, Regularization phi, std::uint64_t rounds) {
  double factor = 0;
  double largest = 0;
  for (std::uint64_t t = rounds; t > 0; --t) {
    // The record of the last round is in no later release.
    factor = t == rounds ? 1 : 1 + phi.value() * step_size(step, t) * factor;
    largest = std::max(largest, factor);
  }
  return largest;
}

namespace detail {

void require_gossip(std::span<const Dataset> parts, const GossipOptions& options, const Mixing& mixing, std::size_t learners,
                    LearnerRange local) {
  const auto require_learners = [&](const char* what, std::size_t count) {
    if (count != options.learners.value())
      invalid(fmt::format("{} is for {} learners, must be for {}", what, count, options.learners.value()));
  };
  require_learners("the mixing", mixing.learners());
  require_learners("the engine", learners);
  if (parts.size() != local.count()) invalid(fmt::format("there are records of {} learners, must be of {}", parts.size(), local.count()));
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::size_t learner = local.first + k;
    const std::size_t wanted = records_of_learner(options.records, options.learners, learner);
    if (!parts[k].has_labels()) invalid(fmt::format("gossip needs labels, the records of learner {} have none", learner));
    if (parts[k].size() != wanted) invalid(fmt::format("learner {} has {} records, must have {}", learner, parts[k].size(), wanted));
    if (parts[k].features() != parts[0].features()) {
      invalid(fmt::format("the records of learner {} have {} features, must have {}", learner, parts[k].features(), parts[0].features()));
    }
  }
}

Grid grid_of_learners(const LearnerNoise& noise, L2Sensitivity sensitivity, std::size_t dimension) {
  const double root = std::sqrt(static_cast<double>(dimension));
  return std::visit(
      Overload{[&](const GaussianNoise& gaussian) { return mechanisms::grid_for(sensitivity, gaussian.multiplier); },
               [&](const auto& pure) { return mechanisms::grid_for(sensitivity, NoiseMultiplier{root * pure.scale.value()}); }},
      noise);
}

}  // namespace detail
}  // namespace surety::optimizers
