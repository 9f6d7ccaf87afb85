// surety train by gossip: learners that own records and exchange parameters, in one process or spread over the ranks of an mpirun. Every
// rank runs this file; what only the first may do stands behind `team.is_first()`.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/optimizers/gossip/gossip.h>
#include <surety/optimizers/gossip/mixing.h>
#include <surety/optimizers/models/model.h>

#include "command.h"
#include "files.h"
#include "output.h"
#include "team.h"
#include "train_options.h"

namespace surety::cli {
namespace {

using namespace optimizers;

bool has_file_for_each(const TrainOptions& options) { return options.data.find(learner_word) != std::string::npos; }

TrainOptions of_learner(TrainOptions options, std::size_t learner) {
  options.data = data_of_learner(options, learner);
  return options;
}

std::vector<Edge> read_graph(const std::string& path) {
  std::ifstream file{path};
  std::vector<Edge> edges;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream words{line};
    Edge edge{};
    std::string rest;
    if (line.find('-') != std::string::npos || !(words >> edge.a >> edge.b) || words >> rest) {
      throw Error{ErrorCode::bad_data,
                  fmt::format("{}: line {} is '{}', must be the numbers of two learners", one_line(path), number, one_line(line))};
    }
    edges.push_back(edge);
  }
  if (!file.eof()) throw Error{ErrorCode::bad_data, fmt::format("{}: cannot be read", one_line(path))};
  return edges;
}

Mixing mixing_of(const TrainOptions& options, Count learners) {
  const std::string topology = options.topology.value_or("matchings");
  if (options.graph && topology != "graph") throw usage(fmt::format("--graph is for --topology graph, not for {}", topology));
  if (options.mixing_seed && topology != "matchings")
    throw usage(fmt::format("--mixing-seed is for --topology matchings, not for {}", topology));
  if (topology == "complete") return Mixing::complete(learners);
  if (topology == "ring") return Mixing::ring(learners);
  if (topology == "torus") return Mixing::torus(learners);
  if (topology == "hypercube") return Mixing::hypercube(learners);
  if (topology == "matchings") return Mixing::random_matchings(learners, options.mixing_seed.value_or(0));
  if (!options.graph) throw usage("--graph is missing: --topology graph needs a file of edges");
  return Mixing::of_graph(learners, read_graph(*options.graph));
}

/// The noise of every release, by its one number.
LearnerNoise noise_of(std::string_view kind, double value) {
  if (kind == "laplace") return LaplaceNoise{NoiseScale{value}};
  if (kind == "k-norm") return L2KNormNoise{NoiseScale{value}};
  return GaussianNoise{NoiseMultiplier{value}};
}

std::string noise_kind(const TrainOptions& options) {
  const std::string kind = options.noise.value_or(options.run.delta == 0 ? "k-norm" : "gaussian");
  if (kind != "laplace" && kind != "k-norm" && kind != "gaussian") {
    throw usage(fmt::format("--noise is '{}', must be laplace, k-norm or gaussian for gossip", kind));
  }
  return kind;
}

StepRule step_of(const TrainOptions& options) {
  const double step = options.step_size.value_or(1);
  const std::string schedule = options.schedule.value_or("inverse-root");
  if (schedule == "constant") return ConstantStep{StepSize{step}};
  if (schedule == "inverse-root") return InverseRootStep{StepSize{step}};
  return InverseStep{Quantity<StepDecayRule>{1 / StepSize{step}.value()}};
}

template <class O>
GossipOptions settings_of(const TrainOptions& options, const O& objective, Adjacency adjacency) {
  if (!options.learners) throw usage("--learners is missing: gossip needs the number of learners");
  if (!options.records) throw usage("--records is missing: gossip shares the public number of records out among learners");
  if (!options.radius) throw usage("--radius is missing: gossip keeps its weights in a ball");
  if (options.steps) throw usage("--steps is not for gossip, whose rounds follow from --records, --learners, --batch-size and --passes");
  return {.noise = noise_of(noise_kind(options), 1),
          .records = Count{*options.records},
          .learners = Count{*options.learners},
          .batch_size = Count{options.batch_size.value_or(1)},
          .passes = Count{options.passes.value_or(1)},
          .adjacency = adjacency,
          .step = step_of(options),
          .regularization = Regularization{options.regularization.value_or(0)},
          .clip = ClippingNorm{options.clip ? *options.clip : objective.gradient_bound(1)}};
}

/// The features of all learners' records, from the options and the header of one file.
FeatureMap features_of(const TrainOptions& options, const Source& source) {
  if (options.data == TextReader::standard_input) throw usage("the data file is -, must be a file: gossip reads its header first");
  if (const auto* sparse = std::get_if<SparseFeatures>(&source.inputs)) return {.inputs = *sparse};
  return open_stream(options, source).features;
}

template <class O>
ReadRecords read_encoded(const TrainOptions& options, const Source& source, const FeatureMap& features, const O& objective,
                         std::size_t records) {
  auto found = read(options, source, objective);
  if (!(found.features == features))
    throw Error{ErrorCode::bad_data, fmt::format("{}: has other columns than other learners' files", one_line(options.data))};
  if (found.data.size() != records) {
    throw Error{ErrorCode::bad_data, fmt::format("{}: has {} records, must have the {} that follow from --records", one_line(options.data),
                                                 found.data.size(), records)};
  }
  return found;
}

/// The records of this rank's learners, and how many of all that were read are records of zeros: private.
struct Parts {
  std::vector<Dataset> of_learners;
  std::uint64_t damaged = 0;
};

/// Of one file every rank reads all and keeps its own; a learner's own file is opened by its rank
/// alone.
template <class O>
Parts read_parts(const TrainOptions& options, const Source& source, const FeatureMap& features, const O& objective,
                 const GossipOptions& settings, LearnerRange local) {
  if (!has_file_for_each(options)) {
    const auto found = read_encoded(options, source, features, objective, static_cast<std::size_t>(settings.records.value()));
    return {.of_learners = deal_records(found.data, settings.learners, local), .damaged = found.damaged};
  }
  Parts parts;
  for (std::size_t learner = local.first; learner < local.last; ++learner) {
    auto found = read_encoded(of_learner(options, learner), source, features, objective,
                              records_of_learner(settings.records, settings.learners, learner));
    parts.of_learners.push_back(std::move(found.data));
    parts.damaged += found.damaged;
  }
  return parts;
}

Solution calibrated(const GossipOptions& settings, std::string_view kind, Count features, const Target& target) {
  const auto event = [&](double value) {
    auto candidate = settings;
    candidate.noise = noise_of(kind, value);
    return plan(candidate, features);
  };
  const CostFunctions cost = accounting::best_cost(target);
  // Without a delta E passes of pure noise cost E / scale: that, and what rounding needs, is tried before a search, which is slow here.
  if (kind != "gaussian" && target.delta.value() == 0 && target.epsilon.value() > 0) {
    const double proposed = static_cast<double>(settings.passes.value()) / target.epsilon.value();
    for (double margin = 0x1p-52; std::isfinite(proposed) && margin < 0x1p-30; margin *= 2) {
      const double value = proposed * (1 + margin);
      const Event made = event(value);
      const Enclosure epsilon = cost.epsilon(made, target.delta);
      if (epsilon.upper > target.epsilon.value()) continue;
      const Enclosure delta = cost.delta(made, target.epsilon);
      if (delta.upper == 0) return {.value = value, .event = made, .epsilon = epsilon, .delta = delta, .failing = std::nullopt};
    }
  }
  return solve(event, target, {.name = kind == "gaussian" ? "noise multiplier" : "scale", .lowest = 0x1p-600, .highest = 0x1p600}, cost);
}

/// All that must be equal on all ranks, as a text.
std::string described(const TrainOptions& options, const GossipOptions& settings, const FeatureMap& features, double noise) {
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  if (options.graph) {
    for (const auto& edge : read_graph(*options.graph)) edges.emplace_back(edge.a, edge.b);
  }
  return nlohmann::json{{"version", SURETY_VERSION},
                        {"data", options.data},
                        {"features", to_json(features)},
                        {"label", options.label},
                        {"loss", options.loss},
                        {"label_bound", options.label_bound.value_or(0)},
                        {"event", describe(plan(settings, Count{features.features()}))},
                        {"noise", noise},
                        {"topology", options.topology.value_or("")},
                        {"graph", edges},
                        {"mixing_seed", options.mixing_seed.value_or(0)},
                        {"schedule", options.schedule.value_or("")},
                        {"step_size", options.step_size.value_or(1)},
                        {"regularization", settings.regularization.value()},
                        {"radius", options.radius.value()},
                        {"clip", settings.clip.value()},
                        {"replay_seed", options.run.replay_seed.value_or(0)},
                        {"is_replayed", options.run.replay_seed.has_value()}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);  // a path need not be UTF-8
}

struct Report {
  Solution noise;
  accounting::RunId run;
  std::uint64_t rounds;
  std::size_t ranks;
  std::uint64_t damaged;  ///< among the records that the first process read: private
};

void print_report(const TrainOptions& options, const Report& report) {
  const std::string topology = options.topology.value_or("matchings");
  if (options.json) {
    nlohmann::json object{{"algorithm", options.algorithm},
                          {"loss", options.loss},
                          {"adjacency", options.run.adjacency},
                          {"promise", {{"epsilon", options.run.epsilon}, {"delta", options.run.delta}}},
                          {"event", as_charged(report.noise.event)},
                          {"epsilon", json(report.noise.epsilon)},
                          {"delta", options.run.delta},
                          {"noise", noise_kind(options)},
                          {"noise_value", report.noise.value},
                          {"learners", *options.learners},
                          {"topology", topology},
                          {"rounds", report.rounds},
                          {"processes", report.ranks},
                          {"model", options.model},
                          {"not_private", options.run.replay_seed.has_value()},
                          {"records", *options.records},
                          {"damaged_records_not_private", report.damaged}};
    object.update(options.run.charge_json(report.run));
    print(object);
    return;
  }
  const auto line = [](std::string_view field, const std::string& value) { fmt::print("{:<12} {}\n", field, value); };
  line("trained", fmt::format("{} loss by {}, {} records of {} learners, {} rounds over {}", options.loss, options.algorithm,
                              *options.records, *options.learners, report.rounds, topology));
  if (report.ranks > 1) line("processes", std::to_string(report.ranks));
  line("adjacency", options.run.adjacency);
  line("unit", describe(options.run.unit));
  line("promise", fmt::format("epsilon = {} at delta = {}", options.run.epsilon, options.run.delta));
  line("noise", fmt::format("{} of {} {}, for each learner in each round", noise_kind(options),
                            noise_kind(options) == "gaussian" ? "multiplier" : "scale", report.noise.value));
  line("epsilon", fmt::format("in {} at delta = {}", text(report.noise.epsilon), options.run.delta));
  line("ledger", options.run.ledger_and(report.run));
  line("model", shown(options.model));
  if (report.damaged > 0) line("damaged", describe_damage(report.damaged));
  if (options.run.replay_seed) line("NOT PRIVATE", "the noise was replayed from a known seed");
}

/// The mean over learners, at the first rank, of what each learned over the last half of the rounds.
template <class O, class Engine, class Owner>
std::vector<double> learn(const std::vector<Dataset>& parts, const O& objective, Radius radius, const GossipOptions& settings,
                          Mixing& mixing, Engine engine, Owner&& owner, RunBits& bits) {
  const auto run = [&](auto learner_bits) {
    NoisyLearnerReleaser releaser{std::forward<Owner>(owner), learner_bits};
    const auto result = gossip(parts, objective, L2Ball{radius}, settings, mixing, engine, releaser);
    const auto all = engine.gather(result.mean);
    return all.empty() ? all : mean_vector(all, parts.front().features());
  };
  return bits.with([&](auto& source) {
    if constexpr (std::same_as<std::remove_reference_t<decltype(source)>, mechanisms::ReplayBits>) {
      return run(ReplayedLearnerBits{source, engine.local()});
    } else {
      return run(SharedBits{source});
    }
  });
}

template <class O>
int train_learners(const TrainOptions& options, const O& objective, Team& team) {
  const Target target = options.run.target();
  auto settings = settings_of(options, objective, target.adjacency);
  const Radius radius{*options.radius};
  const LearnerRange local = part_of_node(static_cast<std::size_t>(settings.learners.value()), team.size(), team.rank());
  Mixing mixing = mixing_of(options, settings.learners);
  const auto kind = noise_kind(options);
  const auto source = source_of(options);
  const auto features = features_of(of_learner(options, local.first), source);
  require_writable_names(features, source.label);
  const Count dimension{features.features()};
  const GossipPass shape = pass(settings, dimension);
  RunBits bits{options.run.replay_seed};
  const auto train = [&](auto engine, auto&& owner, const std::vector<Dataset>& parts) {
    return learn(parts, objective, radius, settings, mixing, std::move(engine), std::forward<decltype(owner)>(owner), bits);
  };

  if (!team.is_first()) {
    const double noise = team.await_begin();
    settings.noise = noise_of(kind, noise);
    const auto parts = read_parts(options, source, features, objective, settings, local);
    team.report_ready(described(options, settings, features, noise));
    team.await_go();
    static_cast<void>(train(RankExchange{team, mixing.learners()}, ChargedByFirstNode{}, parts.of_learners));
    return exit_code::fine;
  }

  require_distinct_files(options);
  const auto noise = calibrated(settings, kind, dimension, target);
  settings.noise = noise_of(kind, noise.value);
  settings.progress = progress_bar(settings.passes.value() * shape.rounds);
  const auto planned = options.run.plan(noise.event, fmt::format("{}, {} loss", options.algorithm, options.loss));
  options.run.check(planned);
  team.begin(noise.value);
  const auto parts = read_parts(options, source, features, objective, settings, local);
  team.await_ready(described(options, settings, features, noise.value));

  ModelFile model_file{options.model, features, source.label};
  auto reservation = options.run.reserve(planned);
  team.go();
  auto weights = team.size() == 1 ? train(InProcessExchange{mixing.learners()}, reservation, parts.of_learners)
                                  : train(RankExchange{team, mixing.learners()}, reservation, parts.of_learners);
  model_file.commit({.loss = std::string{O::name},
                     .label = source.label,
                     .features = features,
                     .weights = std::move(weights),
                     .guarantee = {.target = target, .event = noise.event, .not_private = options.run.replay_seed.has_value()}});
  return report_and_settle(reservation, options.run.ledger, [&] {
    print_report(options, {.noise = noise,
                           .run = reservation.id(),
                           .rounds = settings.passes.value() * shape.rounds,
                           .ranks = team.size(),
                           .damaged = parts.damaged});
  });
}

}  // namespace

int train_by_gossip(const TrainOptions& options, Team& team) {
  return with_objective(options, [&](const auto& objective) { return train_learners(options, objective, team); });
}

}  // namespace surety::cli
