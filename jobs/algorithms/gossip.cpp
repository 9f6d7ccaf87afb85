// Learners that own records and exchange parameters, in one process or spread over the ranks of an mpirun. Every rank runs this file.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <concepts>
#include <cstring>
#include <fstream>
#include <sstream>

#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/algorithms/rank_exchange.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/optimizers/gossip/gossip.h>
#include <surety/optimizers/gossip/mixing.h>
#include <surety/optimizers/models/model.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/usable_count.h>
#include <surety/jobs/doors/releasers.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

bool has_file_for_each(const TrainPlan& shared) { return shared.source.path.find(learner_word) != std::string::npos; }

TrainPlan of_learner(TrainPlan shared, std::size_t learner) {
  shared.source.path = data_of_learner(shared.source.path, learner);
  return shared;
}

std::vector<Edge> read_graph(const std::string& path) {
  errno = 0;
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
  if (!file.eof()) {
    const int error_number = errno;
    throw Error{data::code_of_failed_read(error_number),
                fmt::format("{}: cannot be read ({})", one_line(path), std::strerror(error_number))};
  }
  return edges;
}

/// The noise of every release, by its one number.
LearnerNoise learner_noise(LearnerNoiseKind kind, double value) {
  if (kind == LearnerNoiseKind::laplace) return LaplaceNoise{NoiseScale{value}};
  if (kind == LearnerNoiseKind::k_norm) return L2KNormNoise{NoiseScale{value}};
  return GaussianNoise{NoiseMultiplier{value}};
}

CalibratedNoise calibrated_gossip(const GossipOptions& settings, LearnerNoiseKind kind, Count features, const Target& target,
                                  const UsableCount& count) {
  const auto event = [&](double value) {
    auto candidate = settings;
    candidate.noise = learner_noise(kind, value);
    return count.with_count(plan(candidate, features));
  };
  const CostFunctions cost = accounting::best_cost(target);
  // Without a delta E passes of pure noise cost E / scale: that, and what rounding needs, is tried before a search, which is slow here.
  if (kind != LearnerNoiseKind::gaussian && target.delta.value() == 0 && target.epsilon.value() > 0) {
    const double proposed = static_cast<double>(settings.passes.value()) / (target.epsilon.value() - count.pure_epsilon());
    for (double margin = 0x1p-52; std::isfinite(proposed) && margin < 0x1p-30; margin *= 2) {
      const double value = proposed * (1 + margin);
      const Event made = event(value);
      const Enclosure epsilon = cost.epsilon(made, target.delta);
      if (epsilon.upper > target.epsilon.value()) continue;
      if (cost.delta(made, target.epsilon).upper == 0) return {.event = made, .epsilon = epsilon, .value = value};
    }
  }
  const auto found =
      solve(event, target,
            {.name = kind == LearnerNoiseKind::gaussian ? "noise multiplier" : "scale", .lowest = 0x1p-600, .highest = 0x1p600}, cost);
  return {.event = found.event, .epsilon = found.epsilon, .value = found.value};
}

/// What follows from a plan.
struct GossipRules {
  const GossipPlan& own;

  [[nodiscard]] Mixing mixing(Count of) const {
    const Topology kind = own.topology.value_or(Topology::matchings);
    if (own.graph && kind != Topology::graph) refuse_plan("{} is for {} graph, not for {}", "graph"_field, "topology"_field, kind);
    if (own.mixing_seed && kind != Topology::matchings)
      refuse_plan("{} is for {} matchings, not for {}", "mixing-seed"_field, "topology"_field, kind);
    if (kind == Topology::complete) return Mixing::complete(of);
    if (kind == Topology::ring) return Mixing::ring(of);
    if (kind == Topology::torus) return Mixing::torus(of);
    if (kind == Topology::hypercube) return Mixing::hypercube(of);
    if (kind == Topology::matchings) return Mixing::random_matchings(of, own.mixing_seed.value_or(0));
    if (!own.graph) refuse_plan("{} is missing: {} graph needs a file of edges", "graph"_field, "topology"_field);
    return Mixing::of_graph(of, read_graph(*own.graph));
  }

  [[nodiscard]] LearnerNoiseKind noise_kind(const TrainPlan& shared) const {
    return own.noise.value_or(shared.target.delta.value() == 0 ? LearnerNoiseKind::k_norm : LearnerNoiseKind::gaussian);
  }

  [[nodiscard]] StepRule step() const {
    const Schedule rule = own.schedule.value_or(Schedule::inverse_root);
    if (rule == Schedule::constant) return ConstantStep{StepSize{own.step_size}};
    if (rule == Schedule::inverse_root) return InverseRootStep{StepSize{own.step_size}};
    return InverseStep{Quantity<StepDecayRule>{1 / StepSize{own.step_size}.value()}};
  }

  template <class O>
  [[nodiscard]] GossipOptions settings(const TrainPlan& shared, const O& objective) const {
    if (!own.learners) refuse_plan("{} is missing: gossip needs the number of learners", "learners"_field);
    if (!own.records) refuse_plan("{} is missing: gossip shares the public number of records out among learners", "records"_field);
    if (!shared.problem.radius) refuse_plan("{} is missing: gossip keeps its weights in a ball", "radius"_field);
    return {.noise = learner_noise(noise_kind(shared), 1),
            .records = Count{*own.records},
            .learners = Count{*own.learners},
            .batch_size = Count{own.batch_size},
            .passes = Count{own.passes},
            .adjacency = shared.target.adjacency,
            .step = step(),
            .regularization = Regularization{own.regularization},
            .clip = clip_of(shared, objective)};
  }
};

/// The features of all learners' records, from the options and the header of one file.
FeatureMap features_of(const TrainPlan& shared) {
  if (shared.source.rows) shared.source.rows->refuse("must be a file: gossip reads its header first");
  if (shared.source.path.empty()) refuse_plan("{} is missing, must name a file: gossip reads its header first", "data"_field);
  if (shared.source.path == TextReader::standard_input) refuse_plan("the data file is -, must be a file: gossip reads its header first");
  if (std::holds_alternative<SparseFeatures>(shared.source.inputs)) return sparse_map_of(shared.source);
  return open_stream(shared.source).features;
}

template <class O>
ReadRecords read_encoded(const TrainPlan& shared, const FeatureMap& features, const O& objective, std::size_t records) {
  auto found = read(shared, objective);
  if (!(found.features == features))
    throw Error{ErrorCode::bad_data, fmt::format("{}: has other columns than other learners' files", one_line(shared.source.path))};
  if (found.data.size() != records) {
    refuse(ErrorCode::bad_data, "{}: has {} records, must have the {} that follow from {}", one_line(shared.source.path), found.data.size(),
           records, "records"_field);
  }
  return found;
}

/// The records of this rank's learners, and how many of all that were read are records of zeros: private.
struct Parts {
  std::vector<Dataset> of_learners;
  std::uint64_t damaged = 0;
};

/// Of one file every rank reads all and keeps its own; a learner's own file is opened by its rank alone.
template <class O>
Parts read_parts(const TrainPlan& shared, const FeatureMap& features, const O& objective, const GossipOptions& settings,
                 LearnerRange local) {
  if (!has_file_for_each(shared)) {
    const auto found = read_encoded(shared, features, objective, static_cast<std::size_t>(settings.records.value()));
    return {.of_learners = deal_records(found.data, settings.learners, local), .damaged = found.damaged};
  }
  Parts parts;
  for (std::size_t learner = local.first; learner < local.last; ++learner) {
    auto found =
        read_encoded(of_learner(shared, learner), features, objective, records_of_learner(settings.records, settings.learners, learner));
    parts.of_learners.push_back(std::move(found.data));
    parts.damaged += found.damaged;
  }
  return parts;
}

template <class O>
class GossipRun final : public TrainingRun {
 public:
  GossipRun(const GossipPlan& own, const TrainPlan& shared, const TrainContext& context, const O& objective)
      : shared_{shared},
        context_{context},
        rules_{own},
        objective_{objective},
        settings_{rules_.settings(shared, objective)},
        count_{own,
               shared,
               {.is_pure = rules_.noise_kind(shared) != LearnerNoiseKind::gaussian,
                .public_records = settings_.records.value(),
                .parts = settings_.learners.value()}},
        radius_{*shared.problem.radius},
        local_{part_of_node(static_cast<std::size_t>(settings_.learners.value()), context_.team.size(), context_.team.rank())},
        mixing_{rules_.mixing(settings_.learners)},
        features_{features_of(of_learner(shared, local_.first))} {
    optimizers::require_writable_names(features_, shared_.source.label);
    rounds_ = settings_.passes.value() * pass(settings_, dimension()).rounds;
  }

  CalibratedNoise calibrate() override { return calibrated_gossip(settings_, kind(), dimension(), shared_.target, count_); }

  const FeatureMap& read(double noise, RunBits& /*bits*/, const RunContext& /*context*/) override {
    settings_.noise = learner_noise(kind(), noise);
    parts_ = read_parts(shared_, features_, objective_, settings_, local_);
    return features_;
  }

  std::string identity(double noise) const override {
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    if (rules_.own.graph) {
      for (const auto& edge : read_graph(*rules_.own.graph)) edges.emplace_back(edge.a, edge.b);
    }
    return nlohmann::json{{"data", shared_.source.path},
                          {"features", to_json(features_)},
                          {"loss", name_of(shared_.problem.loss)},
                          {"label_bound", shared_.problem.label_bound.value_or(0)},
                          {"label_bounds", shared_.problem.label_bounds.value_or("")},
                          {"event", describe(count_.with_count(plan(settings_, dimension())))},
                          {"noise", noise},
                          {"topology", rules_.own.topology ? name_of(*rules_.own.topology) : ""},
                          {"graph", edges},
                          {"mixing_seed", rules_.own.mixing_seed.value_or(0)},
                          {"schedule", rules_.own.schedule ? name_of(*rules_.own.schedule) : ""},
                          {"step_size", rules_.own.step_size},
                          {"regularization", settings_.regularization.value()},
                          {"radius", radius_.value()},
                          {"clip", settings_.clip.value()}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);  // a path need not be UTF-8
  }

  std::vector<double> run(double /*noise*/, accounting::Reservation* reservation, RunBits& bits) override {
    if (reservation == nullptr) {
      ChargedByFirstNode charged;
      return learn(RankExchange{context_.team, mixing_.learners()}, charged, bits);
    }
    settings_.progress = context_.progress_of(rounds_);
    if (context_.team.size() == 1) return learn(InProcessExchange{mixing_.learners()}, *reservation, bits);
    return learn(RankExchange{context_.team, mixing_.learners()}, *reservation, bits);
  }

  void add_to(TrainingFacts& facts, const ModelFacts& known) const override {
    const std::string_view topology = name_of(rules_.own.topology.value_or(Topology::matchings));
    facts.extent =
        fmt::format("{} records of {} learners, {} rounds over {}", *rules_.own.records, *rules_.own.learners, rounds_, topology);
    if (context_.team.size() > 1) facts.lines.emplace_back("processes", std::to_string(context_.team.size()));
    facts.in_place_of.emplace_back("noise", fmt::format("{} of {} {}, for each learner in each round", kind(),
                                                        kind() == LearnerNoiseKind::gaussian ? "multiplier" : "scale", known.noise.value));
    facts.damaged = parts_.damaged;
    facts.fields = {
        {"noise", name_of(kind())}, {"noise_value", known.noise.value},  {"learners", *rules_.own.learners}, {"topology", topology},
        {"rounds", rounds_},        {"processes", context_.team.size()}, {"records", *rules_.own.records}};
    count_.add_to(facts);
  }

 private:
  [[nodiscard]] LearnerNoiseKind kind() const { return rules_.noise_kind(shared_); }
  [[nodiscard]] Count dimension() const { return Count{features_.features()}; }

  /// The mean over learners, at the first rank, of what each learned over the last half of the rounds.
  template <class Engine, class Owner>
  std::vector<double> learn(Engine engine, Owner& owner, RunBits& bits) {
    const auto with = [&](auto learner_bits) {
      const auto releaser = releasers().of_learners(owner, learner_bits);
      const auto result = gossip(parts_.of_learners, objective_, L2Ball{radius_}, settings_, mixing_, engine, *releaser);
      const auto all = engine.gather(result.mean);
      if (count_.is_counted()) count_usable(engine, *releasers().of_learners(owner, learner_bits));
      return all.empty() ? all : mean_vector(all, parts_.of_learners.front().features());
    };
    return bits.with([&](auto& its) {
      if constexpr (std::same_as<std::remove_reference_t<decltype(its)>, mechanisms::ReplayBits>) {
        return with(ReplayedLearnerBits{its, engine.local()});
      } else {
        return with(SharedBits{its});
      }
    });
  }

  /// Each learner counts its own records, with noise of its own, and sends the count to the first rank. A record is in one of these counts, so all of them cost what one
  /// does.
  void count_usable(Exchange& engine, LearnerReleaser& releaser) {
    releaser.begin({.rounds = 1, .release = count_.event().value(), .pass = count_.event().value()});
    const std::size_t dimension = parts_.of_learners.front().features();
    std::vector<double> counts(local_.count() * dimension, 0.0);  // as long as vectors of parameters
    for (std::size_t k = 0; k < local_.count(); ++k) {
      const auto query = count_.query(usable_units(parts_.of_learners[k]));
      counts[k * dimension] = releaser.release(local_.first + k, 0, query.sum, query.sensitivity).front();
    }
    const auto all = engine.gather(counts);
    if (all.empty()) return;
    double sum = 0;
    for (std::size_t k = 0; k < all.size(); k += dimension) sum += all[k];
    count_.keep(sum, *rules_.own.records);
  }

  const TrainPlan& shared_;
  TrainContext context_;
  GossipRules rules_;
  O objective_;
  GossipOptions settings_;
  UsableCount count_;
  Radius radius_;
  LearnerRange local_;
  Mixing mixing_;
  FeatureMap features_;
  std::uint64_t rounds_ = 0;
  Parts parts_;
};

class Gossip final : public AlgorithmOf<GossipPlan> {
 public:
  Gossip() : AlgorithmOf{"Learners that own records descend by themselves and exchange noisy parameters, also over an mpirun (DOLA)."} {}

  std::vector<RefusedField> refusals() const override {
    return {{"steps", field_text("is not for gossip, whose rounds follow from {}, {}, {} and {}", "records"_field, "learners"_field,
                                 "batch-size"_field, "passes"_field)}};
  }

  bool runs_on_ranks() const override { return true; }

  std::chrono::milliseconds timeout(const TrainPlan& plan) const override {
    return timeout_of(std::get<GossipPlan>(plan.algorithm).timeout);
  }

  std::vector<ReadFile> inputs(const TrainPlan& plan) const override {
    const auto& own = std::get<GossipPlan>(plan.algorithm);
    std::vector<ReadFile> files;
    const bool is_for_each = own.learners && has_file_for_each(plan);
    for (std::uint64_t learner = 0; learner < (is_for_each ? *own.learners : 1); ++learner) {
      files.push_back({"the data file", is_for_each ? data_of_learner(plan.source.path, learner) : plan.source.path});
    }
    if (own.graph) files.push_back({"graph"_field, *own.graph});
    return files;
  }

  [[nodiscard]] FieldText why_no_units(const TrainPlan& /*plan*/) const override {
    return "a record's learner follows from its place in the file, and its proof is about one record of one learner";
  }

 protected:
  void fields(FieldTable& table, GossipPlan& own, TrainPlan& shared) const override {
    table.group("Data");
    add_form(table, shared.source.form_is_public);
    add_count(table, own);
    add_records(table, own.records);
    table
        .add("learners", own.learners, "How many learners share the records: record i belongs to learner i mod learners",
             WholeNumber{1, Mixing::max_learners})
        .standard("needed");
    table
        .add("topology", own.topology,
             "Who exchanges parameters with whom: complete, ring, torus, hypercube, matchings (random ones), graph")
        .standard("matchings");
    table.add("graph", own.graph,
              field_text("A file with an edge a line, two learners from 0: {} graph, Metropolis weights", "topology"_field));
    table.add("mixing-seed", own.mixing_seed, "The public seed of random matchings", WholeNumber{}).standard("0");
    table.add("batch-size", own.batch_size, "Records of a learner in a round", WholeNumber{1, max_count});
    table.add("passes", own.passes, "Over the records", WholeNumber{1, max_count});
    table.add("step-size", own.step_size, "Of each step", AnyNumber{});
    table.add("schedule", own.schedule, "Of the step in round t: constant, inverse-root: step-size / sqrt(t), inverse: step-size / t")
        .standard("inverse-root");
    add_regularization(table, own.regularization);
    add_radius(table, shared, "needed");
    add_clip(table, shared, "the loss's bound for rows of norm 1");
    table.add("timeout", own.timeout, "Seconds that a rank of an mpirun waits for the others", AnyNumber{}).standard("30");
    table.group("Privacy");
    table.add("noise", own.noise, "laplace, k-norm (default at delta = 0) or gaussian (default elsewhere)")
        .standard("gaussian, at delta = 0 k-norm");
  }

  std::unique_ptr<TrainingRun> run_of(const GossipPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    return with_objective(shared, [&](const auto& objective) -> std::unique_ptr<TrainingRun> {
      using O = std::remove_cvref_t<decltype(objective)>;
      return std::make_unique<GossipRun<O>>(own, shared, context, objective);
    });
  }
};

}  // namespace

std::unique_ptr<Algorithm> gossip_algorithm() { return std::make_unique<Gossip>(); }

}  // namespace surety::jobs
