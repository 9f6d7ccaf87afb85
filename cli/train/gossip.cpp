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
#include <surety/data/text_reader.h>
#include <surety/optimizers/gossip/gossip.h>
#include <surety/optimizers/gossip/mixing.h>
#include <surety/optimizers/models/model.h>

#include "../validators.h"
#include "algorithms.h"
#include "report.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using namespace data;

/// In a path of data: the number of a learner, whose own file it is.
constexpr std::string_view learner_word = "{learner}";

bool has_file_for_each(const TrainOptions& shared) { return shared.data.find(learner_word) != std::string::npos; }

/// The path of a learner's own data; where they share one, that one.
std::string data_of_learner(const TrainOptions& shared, std::uint64_t learner) {
  std::string path = shared.data;
  if (const auto place = path.find(learner_word); place != std::string::npos)
    path.replace(place, learner_word.size(), std::to_string(learner));
  return path;
}

TrainOptions of_learner(TrainOptions shared, std::size_t learner) {
  shared.data = data_of_learner(shared, learner);
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
LearnerNoise learner_noise(std::string_view kind, double value) {
  if (kind == "laplace") return LaplaceNoise{NoiseScale{value}};
  if (kind == "k-norm") return L2KNormNoise{NoiseScale{value}};
  return GaussianNoise{NoiseMultiplier{value}};
}

CalibratedNoise calibrated(const GossipOptions& settings, std::string_view kind, Count features, const Target& target) {
  const auto event = [&](double value) {
    auto candidate = settings;
    candidate.noise = learner_noise(kind, value);
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
      if (cost.delta(made, target.epsilon).upper == 0) return {.event = made, .epsilon = epsilon, .value = value};
    }
  }
  const auto found =
      solve(event, target, {.name = kind == "gaussian" ? "noise multiplier" : "scale", .lowest = 0x1p-600, .highest = 0x1p600}, cost);
  return {.event = found.event, .epsilon = found.epsilon, .value = found.value};
}

/// What the user says of it.
struct GossipWords {
  std::optional<std::uint64_t> records;
  std::optional<std::uint64_t> learners;
  std::optional<std::string> topology;
  std::optional<std::string> graph;
  std::optional<std::uint64_t> mixing_seed;
  std::uint64_t batch_size = 1;
  std::uint64_t passes = 1;
  double step_size = 1;
  std::optional<std::string> schedule;
  double regularization = 0;
  std::optional<std::string> noise;
  std::optional<double> timeout;

  [[nodiscard]] Mixing mixing(Count of) const {
    const std::string kind = topology.value_or("matchings");
    if (graph && kind != "graph") invalid(fmt::format("--graph is for --topology graph, not for {}", kind));
    if (mixing_seed && kind != "matchings") invalid(fmt::format("--mixing-seed is for --topology matchings, not for {}", kind));
    if (kind == "complete") return Mixing::complete(of);
    if (kind == "ring") return Mixing::ring(of);
    if (kind == "torus") return Mixing::torus(of);
    if (kind == "hypercube") return Mixing::hypercube(of);
    if (kind == "matchings") return Mixing::random_matchings(of, mixing_seed.value_or(0));
    if (!graph) invalid("--graph is missing: --topology graph needs a file of edges");
    return Mixing::of_graph(of, read_graph(*graph));
  }

  [[nodiscard]] std::string noise_kind(const TrainOptions& shared) const {
    return noise.value_or(shared.run.delta == 0 ? "k-norm" : "gaussian");
  }

  [[nodiscard]] StepRule step() const {
    const std::string rule = schedule.value_or("inverse-root");
    if (rule == "constant") return ConstantStep{StepSize{step_size}};
    if (rule == "inverse-root") return InverseRootStep{StepSize{step_size}};
    return InverseStep{Quantity<StepDecayRule>{1 / StepSize{step_size}.value()}};
  }

  template <class O>
  [[nodiscard]] GossipOptions settings(const TrainOptions& shared, const O& objective) const {
    if (!learners) invalid("--learners is missing: gossip needs the number of learners");
    if (!records) invalid("--records is missing: gossip shares the public number of records out among learners");
    if (!shared.radius) invalid("--radius is missing: gossip keeps its weights in a ball");
    return {.noise = learner_noise(noise_kind(shared), 1),
            .records = Count{*records},
            .learners = Count{*learners},
            .batch_size = Count{batch_size},
            .passes = Count{passes},
            .adjacency = shared.run.target().adjacency,
            .step = step(),
            .regularization = Regularization{regularization},
            .clip = clip_of(shared, objective)};
  }
};

/// The features of all learners' records, from the options and the header of one file.
FeatureMap features_of(const TrainOptions& shared, const Source& source) {
  if (shared.data == TextReader::standard_input) invalid("the data file is -, must be a file: gossip reads its header first");
  if (std::holds_alternative<SparseFeatures>(source.inputs)) return sparse_map_of(source);
  return open_stream(shared, source).features;
}

template <class O>
ReadRecords read_encoded(const TrainOptions& shared, const Source& source, const FeatureMap& features, const O& objective,
                         std::size_t records) {
  auto found = read(shared, source, objective);
  if (!(found.features == features))
    throw Error{ErrorCode::bad_data, fmt::format("{}: has other columns than other learners' files", one_line(shared.data))};
  if (found.data.size() != records) {
    throw Error{ErrorCode::bad_data, fmt::format("{}: has {} records, must have the {} that follow from --records", one_line(shared.data),
                                                 found.data.size(), records)};
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
Parts read_parts(const TrainOptions& shared, const Source& source, const FeatureMap& features, const O& objective,
                 const GossipOptions& settings, LearnerRange local) {
  if (!has_file_for_each(shared)) {
    const auto found = read_encoded(shared, source, features, objective, static_cast<std::size_t>(settings.records.value()));
    return {.of_learners = deal_records(found.data, settings.learners, local), .damaged = found.damaged};
  }
  Parts parts;
  for (std::size_t learner = local.first; learner < local.last; ++learner) {
    auto found = read_encoded(of_learner(shared, learner), source, features, objective,
                              records_of_learner(settings.records, settings.learners, learner));
    parts.of_learners.push_back(std::move(found.data));
    parts.damaged += found.damaged;
  }
  return parts;
}

template <class O>
class GossipRun final : public TrainingRun {
 public:
  GossipRun(const TrainOptions& shared, const Source& source, Team& team, const GossipWords& words, const O& objective)
      : shared_{shared},
        source_{source},
        team_{team},
        words_{words},
        objective_{objective},
        settings_{words.settings(shared, objective)},
        radius_{*shared.radius},
        local_{part_of_node(static_cast<std::size_t>(settings_.learners.value()), team.size(), team.rank())},
        mixing_{words.mixing(settings_.learners)},
        features_{features_of(of_learner(shared, local_.first), source)} {
    require_writable_names(features_, source.label);
    rounds_ = settings_.passes.value() * pass(settings_, dimension()).rounds;
  }

  CalibratedNoise calibrate() override { return calibrated(settings_, kind(), dimension(), shared_.run.target()); }

  const FeatureMap& read(double noise, RunBits& /*bits*/) override {
    settings_.noise = learner_noise(kind(), noise);
    parts_ = read_parts(shared_, source_, features_, objective_, settings_, local_);
    return features_;
  }

  std::string identity(double noise) const override {
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    if (words_.graph) {
      for (const auto& edge : read_graph(*words_.graph)) edges.emplace_back(edge.a, edge.b);
    }
    return nlohmann::json{{"version", SURETY_VERSION},
                          {"data", shared_.data},
                          {"features", to_json(features_)},
                          {"label", shared_.label},
                          {"loss", shared_.loss},
                          {"label_bound", shared_.label_bound.value_or(0)},
                          {"event", describe(plan(settings_, dimension()))},
                          {"noise", noise},
                          {"topology", words_.topology.value_or("")},
                          {"graph", edges},
                          {"mixing_seed", words_.mixing_seed.value_or(0)},
                          {"schedule", words_.schedule.value_or("")},
                          {"step_size", words_.step_size},
                          {"regularization", settings_.regularization.value()},
                          {"radius", radius_.value()},
                          {"clip", settings_.clip.value()},
                          {"replay_seed", shared_.run.replay_seed.value_or(0)},
                          {"is_replayed", shared_.run.replay_seed.has_value()}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);  // a path need not be UTF-8
  }

  std::vector<double> run(double /*noise*/, accounting::Reservation* reservation, RunBits& bits) override {
    if (reservation == nullptr) return learn(RankExchange{team_, mixing_.learners()}, ChargedByFirstNode{}, bits);
    settings_.progress = progress_bar(rounds_);
    if (team_.size() == 1) return learn(InProcessExchange{mixing_.learners()}, *reservation, bits);
    return learn(RankExchange{team_, mixing_.learners()}, *reservation, bits);
  }

  void add_to(Report& report) const override {
    const std::string topology = words_.topology.value_or("matchings");
    report.extent = fmt::format("{} records of {} learners, {} rounds over {}", *words_.records, *words_.learners, rounds_, topology);
    if (team_.size() > 1) report.lines.emplace_back("processes", std::to_string(team_.size()));
    report.in_place_of.emplace_back("noise", fmt::format("{} of {} {}, for each learner in each round", kind(),
                                                         kind() == "gaussian" ? "multiplier" : "scale", report.noise.value));
    report.damaged = parts_.damaged;
    report.fields = {{"noise", kind()},   {"noise_value", report.noise.value}, {"learners", *words_.learners}, {"topology", topology},
                     {"rounds", rounds_}, {"processes", team_.size()},         {"records", *words_.records}};
  }

 private:
  [[nodiscard]] std::string kind() const { return words_.noise_kind(shared_); }
  [[nodiscard]] Count dimension() const { return Count{features_.features()}; }

  /// The mean over learners, at the first rank, of what each learned over the last half of the rounds.
  template <class Engine, class Owner>
  std::vector<double> learn(Engine engine, Owner&& owner, RunBits& bits) {
    const auto with = [&](auto learner_bits) {
      NoisyLearnerReleaser releaser{std::forward<Owner>(owner), learner_bits};
      const auto result = gossip(parts_.of_learners, objective_, L2Ball{radius_}, settings_, mixing_, engine, releaser);
      const auto all = engine.gather(result.mean);
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

  const TrainOptions& shared_;
  const Source& source_;
  Team& team_;
  const GossipWords& words_;
  O objective_;
  GossipOptions settings_;
  Radius radius_;
  LearnerRange local_;
  Mixing mixing_;
  FeatureMap features_;
  std::uint64_t rounds_ = 0;
  Parts parts_;
};

class Gossip final : public Algorithm {
 public:
  Gossip() : Algorithm{"gossip", "Learners that own records descend by themselves and exchange noisy parameters, also over an mpirun."} {}

  void add_options(OptionTable& table, TrainOptions& shared) override {
    table.group("Data");
    shared.reading.add_form_to(table);
    table.group("Problem and algorithm");
    add_records(table, words_.records);
    table
        .add("--learners", words_.learners, "How many learners share the records: record i belongs to learner i mod learners",
             whole_number(1, Mixing::max_learners))
        .standard("needed");
    table
        .add("--topology", words_.topology,
             "Who exchanges parameters with whom: complete, ring, torus, hypercube, matchings (random ones), graph",
             one_of({"complete", "ring", "torus", "hypercube", "matchings", "graph"}))
        .standard("matchings");
    table.add("--graph", words_.graph, "A file with an edge a line, two learners from 0: --topology graph, Metropolis weights");
    table.add("--mixing-seed", words_.mixing_seed, "The public seed of random matchings", whole_number()).standard("0");
    table.add("--batch-size", words_.batch_size, "Records of a learner in a round", whole_number(1, max_count));
    table.add("--passes", words_.passes, "Over the records", whole_number(1, max_count));
    table.add("--step-size", words_.step_size, "Of each step", number());
    table
        .add("--schedule", words_.schedule, "Of the step in round t: constant, inverse-root: step-size / sqrt(t), inverse: step-size / t",
             one_of({"constant", "inverse-root", "inverse"}))
        .standard("inverse-root");
    add_regularization(table, words_.regularization);
    add_radius(table, shared, "needed");
    add_clip(table, shared, "the loss's bound for rows of norm 1");
    table.add("--timeout", words_.timeout, "Seconds that a rank of an mpirun waits for the others", number()).standard("30");
    table.group("Privacy");
    table
        .add("--noise", words_.noise, "laplace, k-norm (default at delta = 0) or gaussian (default elsewhere)",
             one_of({"laplace", "k-norm", "gaussian"}))
        .standard("gaussian, at delta = 0 k-norm");
  }

  std::vector<std::pair<std::string, std::string>> refusals() const override {
    return {{"--steps", "is not for gossip, whose rounds follow from --records, --learners, --batch-size and --passes"}};
  }

  bool runs_on_ranks() const override { return true; }

  std::chrono::milliseconds timeout() const override { return timeout_of(words_.timeout); }

  std::vector<NamedFile> inputs(const TrainOptions& shared) const override {
    std::vector<NamedFile> files;
    const bool is_for_each = words_.learners && has_file_for_each(shared);
    for (std::uint64_t learner = 0; learner < (is_for_each ? *words_.learners : 1); ++learner) {
      files.push_back({"the data file", is_for_each ? data_of_learner(shared, learner) : shared.data});
    }
    if (words_.graph) files.push_back({"--graph", *words_.graph});
    return files;
  }

  [[nodiscard]] std::string why_no_units() const override {
    return "a record's learner follows from its place in the file, and its proof is about one record of one learner";
  }
  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team& team) const override {
    return with_objective(shared, [&](const auto& objective) -> std::unique_ptr<TrainingRun> {
      using O = std::remove_cvref_t<decltype(objective)>;
      return std::make_unique<GossipRun<O>>(shared, source, team, words_, objective);
    });
  }

 private:
  GossipWords words_;
};

}  // namespace

std::unique_ptr<Algorithm> gossip_algorithm() { return std::make_unique<Gossip>(); }

}  // namespace surety::cli
