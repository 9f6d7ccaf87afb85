#include <surety/optimizers/gossip/gossip.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <fmt/format.h>

#include <surety/base/numbers/overload.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {
namespace {

Event release_event(const LearnerNoise& noise, Count features, Adjacency adjacency) {
  return std::visit(Overload{[&](const LaplaceNoise& laplace) { return surety::laplace(laplace.scale, adjacency); },
                             [&](const L2KNormNoise& k_norm) { return surety::k_norm(NormName::l2, features, k_norm.scale, adjacency); },
                             [&](const GaussianNoise& gaussian) { return surety::gaussian(gaussian.multiplier, adjacency); }},
                    noise);
}

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
  const auto part = [&](std::uint64_t records) { return deterministic(Count{records}, options.batch_size, release); };
  std::vector<Event> parts(static_cast<std::size_t>(learners), part(least));
  std::fill_n(parts.begin(), options.records.value() % learners, part(most));
  return {.rounds = (most - 1) / size + 1, .release = release, .pass = parallel(std::move(parts))};
}

Event plan(const GossipOptions& options, Count features) { return repeat(options.passes, pass(options, features).pass); }

ReplayedLearnerBits::ReplayedLearnerBits(const mechanisms::ReplayBits& root, LearnerRange local) : first_{local.first} {
  for (std::size_t learner = local.first; learner < local.last; ++learner) sources_.push_back(root.substream(learner));
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

namespace {

/// \throws Error{invalid_argument} unless everything is for the learners of `options`.
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
    require_no_weights(parts[k], "gossip");
    if (parts[k].size() != wanted) invalid(fmt::format("learner {} has {} records, must have {}", learner, parts[k].size(), wanted));
    if (parts[k].features() != parts[0].features()) {
      invalid(fmt::format("the records of learner {} have {} features, must have {}", learner, parts[k].features(), parts[0].features()));
    }
  }
}

/// A public grid for the queries of these releases, as mechanisms::grid_for.
Grid grid_of_learners(const LearnerNoise& noise, L2Sensitivity sensitivity, std::size_t dimension) {
  const double root = std::sqrt(static_cast<double>(dimension));
  return std::visit(
      Overload{[&](const GaussianNoise& gaussian) { return mechanisms::grid_for(sensitivity, gaussian.multiplier); },
               [&](const auto& pure) { return mechanisms::grid_for(sensitivity, NoiseMultiplier{root * pure.scale.value()}); }},
      noise);
}

}  // namespace

GossipResult gossip(std::span<const Dataset> parts, ObjectiveRef objective, const Projectable& domain, const GossipOptions& options,
                    Mixing& mixing, Exchange& engine, LearnerReleaser& releaser, const GossipObserver& observe) {
  const LearnerRange local = engine.local();
  require_gossip(parts, options, mixing, engine.learners(), local);
  const std::size_t dimension = parts.front().features();
  const GossipPass planned = pass(options, Count{dimension});
  const L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(options.clip, options.adjacency);
  mechanisms::RecordSum sum{
      {.clip = options.clip, .grid = grid_of_learners(options.noise, sensitivity, dimension), .dimension = dimension}};
  const auto size = static_cast<std::size_t>(options.batch_size.value());
  const std::uint64_t rounds = options.passes.value() * planned.rounds;
  releaser.begin(planned);

  // Released values alone; the start is the same for all learners.
  std::vector<double> start(dimension, 0.0);
  domain.project(start);
  GossipResult result{.local = local, .last = {}, .mean = std::vector<double>(local.count() * dimension, 0.0)};
  std::vector<double>& parameters = result.last;
  for (std::size_t k = 0; k < local.count(); ++k) parameters.insert(parameters.end(), start.begin(), start.end());
  std::vector<double> mixed(parameters.size());
  std::uint64_t averaged = 0;

  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (observe) observe(round, parameters);
    engine.exchange(round, mixing.at(round), parameters, mixed);
    const double step = step_size(options.step, round + 1);
    for (std::size_t k = 0; k < local.count(); ++k) {
      const Dataset& data = parts[k];
      const auto before = std::span<const double>{mixed}.subspan(k * dimension, dimension);
      const auto after = std::span{parameters}.subspan(k * dimension, dimension);
      const double shrink = 1 - step * options.regularization.value();
      for (std::size_t j = 0; j < dimension; ++j) after[j] = shrink * before[j];
      const std::size_t first = static_cast<std::size_t>(round % planned.rounds) * size;
      if (first < data.size()) {
        const std::size_t end = std::min(first + size, data.size());
        sum.clear();
        add_gradients(data, objective, before, RecordRange{first, end}, sum);
        const std::vector<double> released = releaser.release(local.first + k, round, sum.sum(), sensitivity);
        const double factor = step / static_cast<double>(end - first);
        for (std::size_t j = 0; j < dimension; ++j) after[j] -= factor * released[j];
      }
      domain.project(after);
    }
    if (round >= rounds / 2) {
      const double share = 1 / static_cast<double>(++averaged);
      for (std::size_t j = 0; j < parameters.size(); ++j) result.mean[j] += share * (parameters[j] - result.mean[j]);
    }
    if (options.progress) options.progress(round + 1);
  }
  return result;
}

}  // namespace surety::optimizers
