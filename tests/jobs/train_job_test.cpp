// Trainings as jobs: what a program asks for without a command line. That their numbers are those of the command, the recorded commands say.
#include <surety/jobs/train/train_job.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/releases.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/automatic/automatic.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/run/kept_units.h>
#include <surety/jobs/search/candidates.h>
#include <surety/jobs/train/trained_report.h>

#include <support/arrow_batches.h>
#include <support/needed_fields.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::train_job_test {
namespace {

using reference::refusal_of;

constexpr std::size_t people = 120;

class TrainJob : public ::testing::Test {
 protected:
  [[nodiscard]] jobs::TrainPlan plan_of(jobs::AlgorithmPlan algorithm, Adjacency adjacency = Adjacency::replace_one) const {
    return {.target = {Epsilon{1}, Delta{1e-5}, adjacency},
            .source = {.path = table_.string(), .label = data::parse_label_rule("y>0"), .inputs = data::CsvOptions{.drop = {"who"}}},
            .algorithm = std::move(algorithm)};
  }
  /// With all that an algorithm needs to be said.
  [[nodiscard]] jobs::TrainPlan ready(const jobs::Algorithm& algorithm) const {
    auto plan = plan_of(algorithm.standard());
    jobs::FieldTable fields;
    algorithm.add_fields(fields, plan.algorithm, plan);
    testing::say_what_is_needed(fields, people);
    if (const auto* radius = fields.find("radius"); radius != nullptr && radius->standard() == "needed") radius->set("2");
    if (algorithm.name() == "sufficient-statistics") {
      plan.problem.loss = jobs::Loss::squared;
      plan.problem.label_bound = 1;
      plan.source.label = data::parse_label_rule("y");
    }
    return plan;
  }
  [[nodiscard]] accounting::Ledger ledger(const jobs::TrainPlan& plan, std::optional<accounting::Budget> budget = std::nullopt) const {
    return accounting::Ledger::create(folder_ / fmt::format("{}.db", ++ledgers_), plan.target.adjacency, budget, plan.unit);
  }
  [[nodiscard]] jobs::TrainedModel run(const jobs::TrainPlan& plan, accounting::Ledger& ledger, std::uint64_t seed = 7) const {
    jobs::RunBits bits{seed};
    return jobs::run(jobs::TrainJob{plan}, ledger, bits);
  }
  [[nodiscard]] jobs::TrainedModel run(const jobs::TrainPlan& plan, std::uint64_t seed = 7) const {
    auto of_its_own = ledger(plan);
    return run(plan, of_its_own, seed);
  }

  TemporaryFolder folder_;
  std::filesystem::path table_ = folder_.write("table.csv", [] {
    std::string text = "who,a,b,y\n";
    for (std::size_t k = 0; k < people; ++k) text += fmt::format("p{},{},{},{}\n", k % 40, k % 7, k % 11, k % 3 == 0 ? 1 : -1);
    return text;
  }());
  mutable int ledgers_ = 0;
};

TEST_F(TrainJob, OfEveryAlgorithmChargesWhatItSays) {
  std::size_t trained = 0;
  for (const auto& algorithm : jobs::all_algorithms()) {
    SCOPED_TRACE(algorithm->name());
    const auto plan = ready(*algorithm);
    auto ledger = this->ledger(plan);
    const auto found = run(plan, ledger);
    EXPECT_LE(found.noise.epsilon.upper, 1 + 1e-9);
    EXPECT_LE(accounting::quick_epsilon(found.noise.event, Delta{1e-5}).lower, 1);
    const auto runs = ledger.runs();
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].plan.event, found.noise.event);
    EXPECT_TRUE(runs[0].settlement.has_value());
    EXPECT_TRUE(runs[0].plan.not_private);
    EXPECT_EQ(found.model.guarantee.event, found.noise.event);
    EXPECT_TRUE(found.model.guarantee.not_private);
    found.model.validate();
    const auto json = nlohmann::json::parse(json_text(found));
    const bool is_scored = json.contains("held_out_score") && json["held_out_score"]["name"].is_string();
    EXPECT_EQ(runs[0].plan.note, fmt::format("{}, {} loss{}", algorithm->name(), plan.problem.loss, is_scored ? ", scored" : ""));
    EXPECT_EQ(json["algorithm"], algorithm->name());
    EXPECT_EQ(json["run"], found.run.value);
    EXPECT_EQ(json["not_private"], true);
    ++trained;
  }
  EXPECT_EQ(trained, std::variant_size_v<jobs::AlgorithmPlan>) << "each alternative of the variant is an algorithm, and each algorithm one";
}

/// A table as text and as an Arrow stream: numbers of several widths, missing and damaged cells, categories, an owner.
class SameTable {
 public:
  explicit SameTable(const TemporaryFolder& folder) {
    std::string text = "who,a,b,town,y\n";
    testing::ArrowTestColumn who{.name = "who", .format = "s", .cells = {}};
    testing::ArrowTestColumn a{.name = "a", .format = "g", .cells = {}};
    testing::ArrowTestColumn b{.name = "b", .format = "u", .cells = {}};
    testing::ArrowTestColumn town{.name = "town", .format = "U", .cells = {}, .indices = "i"};
    testing::ArrowTestColumn y{.name = "y", .format = "c", .cells = {}};
    for (std::size_t k = 0; k < people; ++k) {
      const auto owner = static_cast<std::int64_t>(k % 40);
      const double value = static_cast<double>(k % 7) / 3;
      const std::string written = k % 11 == 10 ? "none" : fmt::format("{}e-1", k % 11);
      const char* const name = k % 5 == 0 ? "" : k % 5 < 3 ? "Ulm" : "Bonn";
      const std::int64_t label = k % 3 == 0 ? 1 : -1;
      const bool has_a = k % 13 != 12;
      text += fmt::format("{},{},{},{},{}\n", owner, has_a ? fmt::format("{}", value) : "", written, name, label);
      who.cells.emplace_back(owner);
      if (auto& cell = a.cells.emplace_back(); has_a) cell = value;
      b.cells.emplace_back(written);
      if (auto& cell = town.cells.emplace_back(); *name != 0) cell.emplace<std::string>(name);
      y.cells.emplace_back(label);
    }
    path = folder.write("same.csv", text);
    table.columns = {std::move(who), std::move(a), std::move(b), std::move(town), std::move(y)};
  }
  [[nodiscard]] data::ArrowStream rows(std::size_t each) const {
    auto stream = testing::arrow_stream(table, {.batches = testing::batches_of(people, each), .offset = each % 5, .child_offset = 1});
    return data::ArrowStream{&stream};
  }
  [[nodiscard]] jobs::TrainingSource source() const {
    return {.path = path.string(),
            .label = data::parse_label_rule("y>0"),
            .inputs = data::CsvOptions{.drop = {"who"}, .bounds = {{"a", data::Bounds{0, 2}}}, .categories = {{"town", {"Bonn", "Ulm"}}}}};
  }

  testing::ArrowTestTable table;
  std::filesystem::path path;
};

TEST_F(TrainJob, OfAnArrowStreamIsThatOfACsvFileHoweverItIsCut) {
  const SameTable same{folder_};
  std::size_t trained = 0;
  for (const auto& algorithm : jobs::all_algorithms()) {
    SCOPED_TRACE(algorithm->name());
    auto plan = ready(*algorithm);
    const auto label = plan.source.label;
    plan.source = same.source();
    plan.source.label = label;
    if (algorithm->name() == "gossip") {
      plan.source.rows = std::make_shared<jobs::GivenRows>(same.rows(people));
      EXPECT_NE(refusal_of([&] { static_cast<void>(run(plan)); }).message.find("gossip reads its header first"), std::string::npos);
      continue;
    }
    const auto of_file = run(plan);
    for (const std::size_t each : {people, std::size_t{7}, std::size_t{1}}) {
      auto of_stream = plan;
      of_stream.source.path = "rows";
      of_stream.source.rows = std::make_shared<jobs::GivenRows>(same.rows(each));
      const auto found = run(of_stream);
      EXPECT_EQ(write_model(found.model), write_model(of_file.model)) << each;
      EXPECT_EQ(json_text(found), json_text(of_file)) << each;
    }
    ++trained;
  }
  EXPECT_EQ(trained, std::variant_size_v<jobs::AlgorithmPlan> - 1);
  EXPECT_EQ(testing::ArrowCount::live, 0);
}

// Of owners of at most K rows all are kept: the model is that of the file. Of more, which go is decided by what they hold, however the stream is cut.
TEST_F(TrainJob, OfOwnersInAnArrowStreamDoesNotDependOnHowItIsCut) {
  const SameTable same{folder_};
  for (const std::uint64_t most : {std::uint64_t{3}, std::uint64_t{2}}) {
    SCOPED_TRACE(most);
    auto plan = plan_of(jobs::GradientDescentPlan{});
    plan.unit = jobs::unit_of_column("who", Count{most}, {});
    plan.source = same.source();
    // Scores that are not private are sums of rounded numbers in the order of rows, which a stream keeps in another one.
    const auto text_of_found = [](const jobs::TrainedModel& found) {
      auto report = nlohmann::json::parse(json_text(found));
      report.erase("held_out_scores_not_private");
      return report.dump() + write_model(found.model);
    };
    const auto text_of = [&](std::size_t each, std::uint64_t seed) {
      auto of_stream = plan;
      of_stream.source.rows = std::make_shared<jobs::GivenRows>(same.rows(each));
      return text_of_found(run(of_stream, seed));
    };
    const auto of_file = run(plan, 7);
    const auto whole = text_of(people, 7);
    EXPECT_EQ(whole == text_of_found(of_file), most == 3);
    for (const std::size_t each : {std::size_t{7}, std::size_t{1}}) EXPECT_EQ(text_of(each, 7), whole) << each;
    EXPECT_NE(text_of(people, 8), whole);
  }
}

TEST_F(TrainJob, RowsOfAStreamAreReadOnce) {
  const SameTable same{folder_};
  auto plan = plan_of(jobs::GradientDescentPlan{});
  plan.source = same.source();
  plan.source.rows = std::make_shared<jobs::GivenRows>(same.rows(people));
  static_cast<void>(run(plan));
  EXPECT_NE(refusal_of([&] { static_cast<void>(run(plan)); }).message.find("was read already"), std::string::npos);
  // A job takes them in the place of its file, and a plan of other files takes none.
  jobs::TrainJob job{plan};
  job.take_records(same.rows(3));
  jobs::RunBits bits{7};
  auto book = ledger(plan);
  EXPECT_EQ(jobs::run(std::move(job), book, bits).model.weights, run([&] {
                                                                   auto of_file = plan;
                                                                   of_file.source.rows.reset();
                                                                   return of_file;
                                                                 }())
                                                                     .model.weights);
  plan.source.rows.reset();
  plan.source.inputs = data::SparseFeatures{3};
  jobs::TrainJob sparse{plan};
  EXPECT_NE(refusal_of([&] { sparse.take_records(same.rows(3)); }).message.find("format is not csv"), std::string::npos);
}

/// Rows as LIBSVM text and as a sparse matrix: columns in another order, zeros, and a row that is damaged.
class SameRows {
 public:
  static constexpr std::uint32_t columns = 3;

  explicit SameRows(const TemporaryFolder& folder) {
    std::string text;
    for (std::size_t k = 0; k < people; ++k) {
      const double label = k % 3 == 0 ? 1 : -1;
      const bool is_damaged = k % 13 == 12;
      const auto a = static_cast<double>(k % 7);
      const auto b = static_cast<double>(k % 5) / 8;
      text += fmt::format("{} 1:{} 3:{}\n", label, b, is_damaged ? "inf" : fmt::format("{}", a));
      held_->indices.insert(held_->indices.end(), {2, 1, 0});
      held_->values.insert(held_->values.end(), {is_damaged ? std::numeric_limits<double>::infinity() : a, 0, b});
      held_->ends.push_back(static_cast<std::int64_t>(held_->values.size()));
      held_->labels.push_back(label);
    }
    path_ = folder.write("same.svm", text);
  }
  [[nodiscard]] jobs::TrainingSource source() const { return {.path = path_.string(), .inputs = data::SparseFeatures{columns}}; }
  [[nodiscard]] data::SparseMatrix matrix() const {
    return {.columns = columns,
            .ends = held_->ends,
            .indices = std::span<const std::int32_t>{held_->indices},
            .values = held_->values,
            .labels = held_->labels,
            .owner = held_};
  }

 private:
  struct Held {
    std::vector<std::int64_t> ends = {0};
    std::vector<std::int32_t> indices = {};
    std::vector<double> values = {};
    std::vector<double> labels = {};
  };
  std::shared_ptr<Held> held_ = std::make_shared<Held>();
  std::filesystem::path path_;
};

// One of each way to read: whole, in batches, one at a time, not at all.
TEST_F(TrainJob, OfASparseMatrixIsThatOfLibsvmText) {
  const SameRows same{folder_};
  const std::set<std::string_view> read{"gradient-descent", "sufficient-statistics", "dp-sgd", "private-ftrl", "gossip"};
  for (const auto& algorithm : jobs::all_algorithms()) {
    if (!read.contains(algorithm->name())) continue;
    SCOPED_TRACE(algorithm->name());
    auto plan = ready(*algorithm);
    plan.source = same.source();
    if (algorithm->name() == "gossip") {
      plan.source.rows = std::make_shared<jobs::GivenRows>(same.matrix());
      EXPECT_NE(refusal_of([&] { static_cast<void>(run(plan)); }).message.find("the data are a sparse matrix, must be a file"),
                std::string::npos);
      continue;
    }
    const auto of_file = run(plan);
    jobs::TrainJob job{plan};
    job.take_records(same.matrix());
    jobs::RunBits bits{7};
    auto book = ledger(plan);
    const auto found = jobs::run(std::move(job), book, bits);
    EXPECT_EQ(write_model(found.model), write_model(of_file.model));
    EXPECT_EQ(json_text(found), json_text(of_file));
  }
}

TEST_F(TrainJob, ASparseMatrixFitsItsPlanOrIsRefusedBeforeTheCharge) {
  const SameRows same{folder_};
  auto plan = plan_of(jobs::GradientDescentPlan{});
  const auto refused = [&](data::SparseMatrix matrix) {
    jobs::TrainJob job{plan};
    return refusal_of([&] { job.take_records(std::move(matrix)); }).message;
  };
  EXPECT_NE(refused(same.matrix()).find("format is not libsvm"), std::string::npos);
  plan.source = same.source();
  auto wide = same.matrix();
  wide.columns = 4;
  EXPECT_NE(refused(wide).find("features is 3, must be 4"), std::string::npos);
  auto nameless = same.matrix();
  nameless.labels = {};
  EXPECT_NE(refused(nameless).find("it has no labels"), std::string::npos);
  auto cut = same.matrix();
  cut.values = cut.values.first(3);
  EXPECT_NE(refused(cut).find("as many column indices as values"), std::string::npos);
}

TEST_F(TrainJob, ASearchReadsTheRecordsThatItsJobIsGiven) {
  const SameTable same{folder_};
  auto plan = plan_of(jobs::GradientDescentPlan{});
  plan.source = same.source();
  plan.search = {.tune = 3, .tune_over = {"steps=3,5", "clip=0.2,1"}, .tune_by = jobs::SearchBy::split};
  const auto weights = run(plan).model.weights;
  const std::string path = plan.source.path;
  plan.source.path = folder_ / "none.csv";
  const auto weights_of = [&](const auto& take) {
    jobs::TrainJob job{plan};
    take(job);
    jobs::RunBits bits{7};
    auto book = ledger(plan);
    return jobs::run(std::move(job), book, bits).model.weights;
  };
  EXPECT_EQ(weights_of([&](jobs::TrainJob& job) { job.take_records(same.rows(7)); }), weights);
  EXPECT_EQ(weights_of([&](jobs::TrainJob& job) { job.take_records(path); }), weights);
}

TEST_F(TrainJob, RepeatsItselfFromItsBitsAlone) {
  const auto plan = plan_of(jobs::GradientDescentPlan{});
  EXPECT_EQ(run(plan, 7).model.weights, run(plan, 7).model.weights);
  EXPECT_NE(run(plan, 7).model.weights, run(plan, 8).model.weights);
}

TEST_F(TrainJob, IsReportedInLinesOfItsOwn) {
  auto plan = plan_of(jobs::GradientDescentPlan{});
  plan.source.reading.csv.missing = {{"a", "0"}};
  const auto trained = run(plan);
  const auto report = report_text(trained, {.ledger = "run.db\nNOT PRIVATE, run 1", .model = "model\x1b.json", .chosen = "svrg: why"});
  const auto places = [&](const std::vector<std::string>& all) {
    std::size_t at = 0;
    for (const auto& words : all) {
      const auto found = report.find(words, at);
      ASSERT_NE(found, std::string::npos) << words << "\nis not in its place in\n" << report;
      at = found + words.size();
    }
  };
  places({"trained      logistic loss by gradient-descent, ", "\nchosen       svrg: why\n",
          "missing      a=0\nadjacency    replace-one\nunit         one row\n",
          "promise      epsilon = 1 at delta = 1e-05\nreleased     " + trained.released.event + "\nepsilon      in [0.99",
          "] at delta = 1e-05\nsigma        ", "ledger       run.db NOT PRIVATE, run 1\nmodel        model .json\n",
          "NOT PRIVATE  the noise was replayed from a known seed\n", "\nscores on ",
          " held-out records (computed on private data, so not private themselves: do not publish them)\n"});
  auto secret = trained;
  secret.model.guarantee.not_private = false;
  EXPECT_EQ(report_text(secret, {.ledger = "run.db", .model = "m"}).find("NOT PRIVATE"), std::string::npos);
  EXPECT_EQ(report_text(secret, {.ledger = "run.db", .model = "m"}).find("chosen"), std::string::npos);
}

TEST_F(TrainJob, KnowsItsNoiseAndItsCostBeforeAnyRecord) {
  auto plan = plan_of(jobs::GradientDescentPlan{});
  plan.source.path = (folder_ / "is not there.csv").string();
  jobs::TrainJob job{plan};
  EXPECT_GT(job.calibrate().value, 0);
  EXPECT_GT(job.calibrate().epsilon.upper, 0.999);
  EXPECT_EQ(job.charge(false).event, job.calibrate().event);
  EXPECT_FALSE(job.charge(false).not_private);
  EXPECT_EQ(job.charge(true, "the first one").note, "the first one");
}

// What fails before the charge has cost nothing.
TEST_F(TrainJob, AsksTheLedgerBeforeItReads) {
  auto plan = plan_of(jobs::GradientDescentPlan{});
  plan.source.path = (folder_ / "is not there.csv").string();
  auto small = ledger(plan, accounting::Budget{.target = {Epsilon{0.5}, Delta{1e-6}, Adjacency::replace_one}});
  EXPECT_EQ(refusal_of([&] { return run(plan, small); }).code, ErrorCode::budget_exceeded);
  auto large = ledger(plan);
  EXPECT_TRUE(refusal_of([&] { return run(plan, large); }).refused) << "no such file";
  EXPECT_TRUE(small.runs().empty() && large.runs().empty());
}

TEST_F(TrainJob, TrainsOnOwnersWhereThereIsATheorem) {
  const auto unit = jobs::unit_of_column("who", Count{2}, {});
  auto plan = plan_of(jobs::AcceleratedGradientDescentPlan{});
  plan.unit = unit;
  auto ledger = this->ledger(plan);
  const auto trained = run(plan, ledger);
  EXPECT_EQ(ledger.runs().at(0).plan.unit, unit);
  EXPECT_EQ(trained.model.guarantee.unit, unit);
  EXPECT_EQ(nlohmann::json::parse(json_text(trained))["units"], 40);

  // Of one row each, all of whom are trained on, they are records.
  const auto refused = [&](Count most, double held_out) {
    jobs::OutputPerturbationPlan own;
    own.regularization = 0.1;
    own.held_out = held_out;
    auto other = plan_of(std::move(own));
    other.unit = jobs::unit_of_column("who", most, {});
    return refusal_of([&] { return jobs::TrainJob{other}; });
  };
  const auto of_several = refused(Count{2}, 0);
  EXPECT_TRUE(of_several.says(ErrorCode::unsupported, "unit is not for output-perturbation: its proof is about what one record moves"))
      << of_several;
  const auto of_a_part = refused(Count{1}, 0.2);
  EXPECT_TRUE(of_a_part.says(ErrorCode::unsupported, "with held-out 0 each of these units is a record")) << of_a_part;
  EXPECT_FALSE(refused(Count{1}, 0).refused) << refused(Count{1}, 0);
}

// Of few owners a batch is a larger share, and the mean of K gradients is clipped to less than one of them.
TEST_F(TrainJob, DefaultsOfDpSgdFollowTheNumberOfOwners) {
  const auto noise = [&](std::optional<double> clip, Count owners) {
    jobs::DpSgdPlan own;
    own.held_out = 0;
    own.records = owners.value();
    own.no_count_records = true;
    auto plan = plan_of(std::move(own));
    plan.unit = jobs::unit_of_column("who", Count{16}, {});
    plan.problem.clip = clip;
    return jobs::TrainJob{plan}.calibrate();
  };
  const auto few = noise({}, Count{500});
  EXPECT_TRUE(describe(few.event).starts_with("repeat(28, poisson(0.178, ")) << describe(few.event);  // batches of 4 sqrt(500)
  EXPECT_EQ(few.sigma, noise(0.5, Count{500}).sigma);                                                 // 16^(-1/4) of the loss's 1
  EXPECT_NE(few.sigma, noise(1.0, Count{500}).sigma);
  EXPECT_TRUE(describe(noise({}, Count{1'000'000}).event).starts_with("repeat(1000, poisson(0.005, "));
}

TEST_F(TrainJob, RefusesNumbersThatAreNone) {
  const auto refused = [&](jobs::AlgorithmPlan algorithm, const std::string& text) {
    const auto said = refusal_of([&] {
      jobs::TrainJob job{plan_of(std::move(algorithm))};
      return job.calibrate().value;
    });
    EXPECT_TRUE(said.says(ErrorCode::invalid_argument, text)) << said;
  };
  jobs::DpSgdPlan sampled;
  refused(sampled, "records is missing: dp-sgd needs the public number of records in the file");
  sampled.records = people;
  sampled.batch_size = 7;
  sampled.microbatch = 2;
  refused(sampled, "batch-size is 7, must be a multiple of the 2 of microbatch");
  jobs::GradientDescentPlan descent;
  descent.held_out = 1;
  refused(descent, "held-out is 1, must be at least 0 and less than 1");
  descent.held_out = 0.2;
  descent.steps = 0;
  refused(descent, "is 0");
  refused(jobs::PrivateFtrlPlan{}, "radius is missing: private-ftrl keeps its weights in a ball");
}

TEST_F(TrainJob, TellsProgressToWhomeverAsks) {
  jobs::GradientDescentPlan descent;
  descent.steps = 5;
  const auto plan = plan_of(descent);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  jobs::Alone alone;
  std::vector<jobs::Phase> phases;
  const auto tell = [&](jobs::Phase phase, std::uint64_t done, std::uint64_t all) {
    if (all != 0) told.emplace_back(done, all);
    if (phases.empty() || phases.back() != phase) phases.push_back(phase);
  };
  jobs::TrainJob job{plan, {.team = alone, .run = {.progress = tell}}};
  auto ledger = this->ledger(plan);
  jobs::RunBits bits{1};
  static_cast<void>(jobs::run(std::move(job), ledger, bits));
  EXPECT_EQ(told, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 5}, {2, 5}, {3, 5}, {4, 5}, {5, 5}}));
  EXPECT_EQ(phases, (std::vector<jobs::Phase>{jobs::Phase::calibrating, jobs::Phase::reading, jobs::Phase::releasing}));
}

TEST_F(TrainJob, TellsWeightsOfAStream) {
  jobs::PrivateFtrlPlan ftrl;
  ftrl.steps = people;
  ftrl.every = 50;
  ftrl.step_size = 0.1;
  auto plan = plan_of(ftrl);
  plan.problem.radius = 1;
  std::vector<std::uint64_t> told;
  jobs::Alone alone;
  jobs::TrainJob job{plan, {.team = alone, .weights = [&](std::uint64_t step, std::span<const double> weights) {
                              EXPECT_EQ(weights.size(), 3U);
                              told.push_back(step);
                            }}};
  auto ledger = this->ledger(plan);
  jobs::RunBits bits{1};
  static_cast<void>(jobs::run(std::move(job), ledger, bits));
  EXPECT_EQ(told, (std::vector<std::uint64_t>{50, 100}));
}

TEST_F(TrainJob, SearchesOverPlans) {
  auto plan = plan_of(jobs::ShapedDescentPlan{});
  plan.search.tune = 4;
  plan.search.tune_by = jobs::SearchBy::random;
  auto ledger = this->ledger(plan);
  const auto found = run(plan, ledger);
  EXPECT_EQ(ledger.runs().at(0).plan.note, "shaped-descent, logistic loss, tuned");
  const auto tuning = nlohmann::json::parse(json_text(found))["tuning"];
  EXPECT_EQ(tuning["candidates"].size(), 6U) << "three numbers of steps, two shares of the clip";
  EXPECT_EQ(tuning["runs"], "geometric_runs");

  auto no_search = plan_of(jobs::OutputPerturbationPlan{});
  no_search.search.tune = 4;
  const auto refused = refusal_of([&] { return jobs::TrainJob{no_search}; });
  EXPECT_TRUE(refused.says(ErrorCode::invalid_argument, "tune-over is missing")) << refused;
}

// Of a choice that several algorithms share, a program can name a value that one of them does not have.
TEST_F(TrainJob, RefusesValuesOfAChoiceThatItsAlgorithmLacks) {
  const auto refused = [&](auto own, const std::string& text) {
    const auto found = refusal_of([&] { return jobs::TrainJob{plan_of(own)}; });
    EXPECT_TRUE(found.says(ErrorCode::invalid_argument, text)) << found;
  };
  jobs::AcceleratedGradientDescentPlan accelerated;
  accelerated.iterate = jobs::Iterate::random;
  refused(accelerated, "iterate is random, must be last or average");
  jobs::DpSgdPlan sgd;
  sgd.records = 60;
  sgd.iterate = jobs::Iterate::random;
  refused(sgd, "iterate is random, must be last or average");
  jobs::SvrgPlan svrg;
  svrg.records = 60;
  svrg.sampling = jobs::Sampling::allocated;
  refused(svrg, "sampling is allocated, must be poisson or fixed");
}

TEST_F(TrainJob, WhoSaysHowASearchIsDoneIsNotLeftWithoutOne) {
  const auto refused = [&](const std::string& field, const auto& say) {
    auto plan = plan_of(jobs::ShapedDescentPlan{});
    say(plan.search);
    const auto found = refusal_of([&] { return jobs::TrainJob{plan}; });
    EXPECT_TRUE(found.says(ErrorCode::invalid_argument, "tune is missing: ")) << field << ": " << found;
    EXPECT_TRUE(found.says(ErrorCode::invalid_argument, field)) << found;
  };
  refused("tune-over", [](jobs::SearchPlan& search) { search.tune_over = {"steps=10,30"}; });
  refused("tune-by", [](jobs::SearchPlan& search) { search.tune_by = jobs::SearchBy::split; });
  refused("tune-most", [](jobs::SearchPlan& search) { search.tune_most = 7; });
  refused("answer-at", [](jobs::SearchPlan& search) { search.answer_at = "soon"; });
  // What is said as it is anyway is said.
  jobs::Alone alone;
  const auto said = refusal_of([&] {
    return jobs::TrainJob{plan_of(jobs::ShapedDescentPlan{}), jobs::TrainContext{.team = alone}, {"tune-by"}};
  });
  EXPECT_TRUE(said.says(ErrorCode::invalid_argument, "tune-by says how a search would be done")) << said;
}

TEST_F(TrainJob, CandidatesAreThePlanWithOtherValues) {
  const auto algorithm = jobs::gradient_descent_algorithm();
  const auto all = jobs::combinations({"steps=10,30", "clip=0.3,1"}, *algorithm, {});
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[1].text.plain(), "steps 10 clip 1");
  EXPECT_EQ(all[1].values, (std::vector<std::pair<std::string, std::string>>{{"steps", "10"}, {"clip", "1"}}));
  const auto refused = [&](const std::vector<std::string>& over, const std::string& text, const jobs::SaidFields& said = {}) {
    const auto found = refusal_of([&] { return jobs::combinations(over, *algorithm, said); });
    EXPECT_TRUE(found.says(ErrorCode::invalid_argument, text)) << found;
  };
  refused({"steps=10,30"}, "steps is given, must not be beside tune-over for it", {"steps"});
  refused({"threads=1,2"}, "tune-over names 'threads', by which no model differs");
  refused({"held-out=0.1,0.2"}, "tune-over names 'held-out', must name");
  refused({"ledger=a,b"}, "tune-over names 'ledger', must name");
  refused({"steps=10"}, "tune-over has one combination");
  refused({"steps=1,1"}, "tune-over has 1 of steps twice");
}

TEST_F(TrainJob, APlanMayBeChosen) {
  auto [plan, why] = jobs::chosen_plan(plan_of({}), {.held_out = 0.25});
  EXPECT_NE(why.find("90 records, 3 features"), std::string::npos) << why;
  const auto& names = jobs::all_algorithms();
  EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&, &plan = plan](const auto& one) { return one->name() == plan.algorithm_name(); }));
  const auto held_out = [](const auto& own) {
    if constexpr (requires { own.held_out; }) return own.held_out;
    return -1.0;
  };
  EXPECT_EQ(std::visit(held_out, plan.algorithm), 0.25);
  EXPECT_EQ(nlohmann::json::parse(json_text(run(plan)))["algorithm"], plan.algorithm_name());

  // Rows in memory, which can be read once, are counted for the choice and are there for the training.
  const SameTable same{folder_};
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out, Adjacency::add_or_remove_one}) {
    auto of_rows = plan_of({}, adjacency);
    of_rows.source = same.source();
    jobs::AutomaticPlan own;
    if (adjacency == Adjacency::add_or_remove_one) own.records = people;
    const auto of_file = jobs::chosen_plan(of_rows, own);
    of_rows.source.rows = std::make_shared<jobs::GivenRows>(same.rows(7));
    const auto chosen = jobs::chosen_plan(of_rows, own);
    EXPECT_EQ(chosen.why, of_file.why);
    EXPECT_EQ(json_text(run(chosen.plan)), json_text(run(of_file.plan)));
  }

  // Of a pipe the header would be gone when the training comes.
  auto of_pipe = plan_of({});
  of_pipe.source.path = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(of_pipe.source.path.c_str(), 0600), 0);
  const auto refused_pipe = refusal_of([&] { return jobs::chosen_plan(of_pipe, {}); });
  EXPECT_TRUE(refused_pipe.says(ErrorCode::bad_data, "pipe: is no file, must be one to be read twice")) << refused_pipe;

  auto unknown = plan_of({}, Adjacency::add_or_remove_one);
  const auto refused = refusal_of([&] { return jobs::chosen_plan(unknown, {}); });
  EXPECT_TRUE(refused.says(ErrorCode::invalid_argument, "records is missing: algorithm auto needs the public number of records"))
      << refused;
  const auto counted = jobs::chosen_plan(unknown, {.records = people}).plan;
  EXPECT_EQ(nlohmann::json::parse(json_text(run(counted)))["adjacency"], "add-or-remove-one");
}

}  // namespace
}  // namespace surety::train_job_test
