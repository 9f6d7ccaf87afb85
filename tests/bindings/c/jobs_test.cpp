// Jobs and models from C beside the same jobs of the library, which is linked into this program once more.
#include <surety.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/data/units/owner_buckets.h>
#include <surety/jobs/predict/predictions.h>
#include <surety/jobs/release/release_job.h>
#include <surety/jobs/release/written_release.h>
#include <surety/jobs/train/train_job.h>
#include <surety/jobs/train/written_plan.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/models/model.h>

#include <support/arrow_batches.h>
#include <support/child_process.h>
#include <support/held_by_c.h>
#include <support/hostile_names.h>
#include <support/temporary_folder.h>

namespace surety::jobs_test {
namespace {

using testing::ArrowCount;

constexpr std::size_t people = 120;

/// What a call leaves behind.
struct Told {
  Told() = default;
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  ~Told() { surety_failure_free(failure); }
  [[nodiscard]] std::string message() const { return surety_failure_message(failure); }

  surety_failure* failure = nullptr;
};

using surety_test::taken;
using Job = surety_test::HeldJob;
using Result = surety_test::HeldResult;
using Model = surety_test::HeldModel;
using Ledger = surety_test::HeldLedger;

class SuretyCJobs : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string text = "a,town,y\n";
    testing::ArrowTestColumn a{.name = "a", .format = "g", .cells = {}};
    testing::ArrowTestColumn town{.name = "town", .format = "u", .cells = {}};
    testing::ArrowTestColumn y{.name = "y", .format = "l", .cells = {}};
    for (std::size_t k = 0; k < people; ++k) {
      const double value = static_cast<double>(k % 7) / 4;
      const auto* const name = k % 3 == 0 ? "Ulm" : "Bonn";
      const bool is_missing = k % 10 == 9;
      text += is_missing ? fmt::format(",{},{}\n", name, k % 2) : fmt::format("{},{},{}\n", value, name, k % 2);
      a.cells.push_back(is_missing ? testing::ArrowCell{} : testing::ArrowCell{value});
      town.cells.emplace_back(std::string{name});
      y.cells.emplace_back(static_cast<std::int64_t>(k % 2));
    }
    path_ = folder_.write("table.csv", text);
    table_ = {.columns = {std::move(a), std::move(town), std::move(y)}};
  }

  /// A plan of a training, with `more` among its options.
  [[nodiscard]] std::string plan(const std::string& more = R"(, "replay-seed": 7)") const {
    return R"({"version": 1, "command": "train", "adjacency": "replace-one", "target": {"epsilon": 1, "delta": 1e-05}, "options": {)"
           R"("algorithm": "gradient-descent", "label": "y>0", "bounds": "a=0,2", "categories": "town=Ulm,Bonn", "steps": 5)" +
           more + "}}";
  }
  void prepare(const std::string& json, Job& job) const {
    Told told;
    ASSERT_EQ(surety_job_prepare(json.data(), json.size(), &job, &told.failure), SURETY_OK) << told.message();
  }
  void new_ledger(Ledger& ledger, surety_adjacency adjacency = SURETY_REPLACE_ONE) {
    Told told;
    const auto path = ledger_path(++ledgers_);
    ASSERT_EQ(surety_ledger_create(path.c_str(), adjacency, nullptr, nullptr, &ledger, &told.failure), SURETY_OK) << told.message();
  }
  [[nodiscard]] std::filesystem::path ledger_path(int number) const { return folder_ / fmt::format("{}.db", number); }
  [[nodiscard]] std::vector<accounting::Run> runs() const { return accounting::Ledger::open(ledger_path(ledgers_)).runs(); }

  void run(Job& job, Ledger& ledger, Result& result, const surety_run_options* options = nullptr) const {
    Told told;
    ASSERT_EQ(surety_job_run(job, path_.c_str(), ledger, options, &result, &told.failure), SURETY_OK) << told.message();
  }
  static std::string json_of(const Result& result) {
    char* json = nullptr;
    EXPECT_EQ(surety_result_json(result, &json, nullptr, nullptr), SURETY_OK);
    return taken(json);
  }
  static std::string model_of(const Result& result) {
    Model model;
    EXPECT_EQ(surety_result_model(result, &model, nullptr), SURETY_OK);
    char* json = nullptr;
    EXPECT_EQ(surety_model_json(model, &json, nullptr, nullptr), SURETY_OK);
    return taken(json);
  }
  /// The same training by the library.
  [[nodiscard]] jobs::TrainedModel by_the_library(const std::string& json) {
    auto written = jobs::read_train_plan(json, jobs::NamedRecords::or_given_later);
    written.plan.source.path = path_.string();
    auto ledger = accounting::Ledger::create(ledger_path(++ledgers_), written.plan.target.adjacency, std::nullopt, written.plan.unit);
    jobs::RunBits bits{written.replay_seed};
    return jobs::run(jobs::TrainJob{written.plan}, ledger, bits);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_;
  testing::ArrowTestTable table_;
  int ledgers_ = 0;
};

TEST_F(SuretyCJobs, TrainAsTheLibraryDoesToTheLastBit) {
  const auto own = by_the_library(plan());
  Job job;
  Ledger ledger;
  Result result;
  prepare(plan(), job);
  new_ledger(ledger);
  run(job, ledger, result);
  EXPECT_EQ(json_of(result), json_text(own));
  EXPECT_EQ(model_of(result) + "\n", optimizers::write_model(own.model));
  // A job runs again, and each run is charged.
  run(job, ledger, result);
  EXPECT_EQ(model_of(result) + "\n", optimizers::write_model(own.model));
  const auto all = runs();
  ASSERT_EQ(all.size(), 2U);
  for (const auto& one : all) {
    EXPECT_EQ(one.plan.event, own.noise.event);
    EXPECT_TRUE(one.settlement.has_value());
    EXPECT_TRUE(one.plan.not_private);
  }
}

TEST_F(SuretyCJobs, SayWhatTheyCostBeforeAnyRecord) {
  Job job;
  prepare(plan(""), job);
  const auto written = jobs::read_train_plan(plan(""), jobs::NamedRecords::or_given_later);
  jobs::TrainJob own{written.plan};
  const auto& noise = own.calibrate();
  EXPECT_EQ(surety_job_noise(job), noise.value);
  EXPECT_TRUE(std::isnan(surety_job_noise(nullptr)));
  surety_enclosure epsilon{};
  double delta = 0;
  ASSERT_EQ(surety_job_cost(job, &epsilon, &delta, nullptr), SURETY_OK);
  EXPECT_EQ(epsilon.lower, noise.epsilon.lower);
  EXPECT_EQ(epsilon.upper, noise.epsilon.upper);
  EXPECT_LE(epsilon.upper, 1);
  EXPECT_EQ(delta, 1e-5);
  surety_event* event = nullptr;
  ASSERT_EQ(surety_job_event(job, &event, nullptr), SURETY_OK);
  char* text = nullptr;
  ASSERT_EQ(surety_event_json(event, &text, nullptr, nullptr), SURETY_OK);
  surety_event_free(event);
  EXPECT_EQ(taken(text), to_json_text(noise.event));
  ASSERT_EQ(surety_job_json(job, &text, nullptr, nullptr), SURETY_OK);
  const auto json = nlohmann::json::parse(taken(text));
  EXPECT_EQ(json["command"], "train");
  EXPECT_EQ(json["noise"], noise.value);
  EXPECT_EQ(json["target"]["epsilon"], 1);
  EXPECT_EQ(json["epsilon"]["upper"], noise.epsilon.upper);
  EXPECT_EQ(event_from_json(json["event"].dump()), noise.event);
  EXPECT_EQ(json["unit"]["name"], "row");
}

TEST_F(SuretyCJobs, TrainFromArrowAsFromCsvHoweverItIsCut) {
  const auto own = optimizers::write_model(by_the_library(plan()).model);
  for (const std::size_t each : {people, std::size_t{17}, std::size_t{1}}) {
    SCOPED_TRACE(each);
    Job job;
    Ledger ledger;
    Result result;
    prepare(plan(), job);
    new_ledger(ledger);
    auto stream = testing::arrow_stream(table_, {.batches = testing::batches_of(people, each), .offset = 3});
    Told told;
    ASSERT_EQ(surety_job_run_arrow(job, &stream, ledger, nullptr, &result, &told.failure), SURETY_OK) << told.message();
    EXPECT_EQ(model_of(result) + "\n", own);
    EXPECT_EQ(stream.release, nullptr);
    EXPECT_EQ(ArrowCount::live, 0);
    EXPECT_EQ(ArrowCount::twice, 0);
    EXPECT_EQ(runs().size(), 1U);
  }
}

// Whatever is wrong, a stream is released once, and nothing is charged but by a run.
TEST_F(SuretyCJobs, ReleaseAStreamWhateverBecomesOfTheCall) {
  Job job;
  Ledger ledger;
  Result result;
  prepare(plan(), job);
  new_ledger(ledger);
  const auto refused = [&](surety_job* of, surety_ledger* book, const surety_run_options* options, surety_result** into,
                           testing::ArrowTestTable table, testing::ArrowStreamOptions how, surety_code code, const char* words) {
    auto stream = testing::arrow_stream(std::move(table), std::move(how));
    Told told;
    EXPECT_EQ(surety_job_run_arrow(of, &stream, book, options, into, &told.failure), code) << told.message();
    EXPECT_NE(told.message().find(words), std::string::npos) << told.message();
    EXPECT_EQ(told.message().find('\n'), std::string::npos);
    EXPECT_EQ(stream.release, nullptr);
    EXPECT_EQ(ArrowCount::live, 0);
    EXPECT_EQ(ArrowCount::twice, 0);
  };
  surety_result* none = nullptr;
  refused(nullptr, ledger, nullptr, &none, table_, {}, SURETY_INVALID_ARGUMENT, "job is NULL");
  refused(job, nullptr, nullptr, &none, table_, {}, SURETY_INVALID_ARGUMENT, "ledger is NULL");
  refused(job, ledger, nullptr, nullptr, table_, {}, SURETY_INVALID_ARGUMENT, "result is NULL");
  surety_run_options of_no_size{};
  refused(job, ledger, &of_no_size, &none, table_, {}, SURETY_INVALID_ARGUMENT, "options.size is 0");
  refused(job, ledger, nullptr, &none, table_, {.batches = {50}, .fails_at = 1}, SURETY_BAD_DATA, "Arrow stream");
  auto without = table_;
  without.columns.erase(without.columns.begin());
  refused(job, ledger, nullptr, &none, without, {}, SURETY_BAD_DATA, "'a' is missing");
  Ledger of_others;
  new_ledger(of_others, SURETY_ADD_OR_REMOVE_ONE);
  refused(job, of_others, nullptr, &none, table_, {}, SURETY_INVALID_ARGUMENT, "adjacency");
  Job sparse;
  prepare(R"({"version": 1, "command": "train", "adjacency": "replace-one", "target": {"epsilon": 1, "delta": 1e-05},)"
          R"( "options": {"algorithm": "gradient-descent", "format": "libsvm", "features": 3}})",
          sparse);
  refused(sparse, ledger, nullptr, &none, table_, {}, SURETY_INVALID_ARGUMENT, "format is not csv");
  EXPECT_EQ(surety_job_run_arrow(job, nullptr, ledger, nullptr, &none, nullptr), SURETY_INVALID_ARGUMENT);
  ArrowArrayStream gone{};
  EXPECT_EQ(surety_job_run_arrow(job, &gone, ledger, nullptr, &none, nullptr), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  ledgers_ = 1;
  EXPECT_TRUE(runs().empty());
}

// Of 2,000 records a tenth is damaged. The plan of version 2 counts the usable ones and stops where they are few; that of version 1 does as it did.
TEST_F(SuretyCJobs, CountUsableRecordsInPlansOfVersion2) {
  const auto version_2 = [&](const std::string& more) { return plan(more).replace(12, 1, "2"); };
  Job counting;
  prepare(version_2(R"(, "replay-seed": 7)"), counting);
  Job old;
  prepare(plan(), old);
  Ledger ledger;
  new_ledger(ledger);
  Result result;
  run(counting, ledger, result);
  const auto usable = nlohmann::json::parse(json_of(result))["usable"];
  EXPECT_LE(usable["from"], usable["value"]);
  EXPECT_GE(usable["to"], usable["value"]);
  Result of_old;
  run(old, ledger, of_old);
  EXPECT_FALSE(nlohmann::json::parse(json_of(of_old)).contains("usable"));

  std::string text = "a,town,y\n";
  for (int i = 0; i < 20000; ++i) text += i % 12 == 0 ? "1,Ulm,1\n" : "none,Ulm,0\n";
  const auto few = folder_.write("few.csv", text);
  Job stopped;
  prepare(version_2(""), stopped);
  new_ledger(ledger);
  surety_result* none = nullptr;
  Told told;
  EXPECT_EQ(surety_job_run(stopped, few.c_str(), ledger, nullptr, &none, &told.failure), SURETY_BAD_DATA);
  EXPECT_NE(told.message().find("must be at least half"), std::string::npos) << told.message();
  EXPECT_EQ(none, nullptr);
  ASSERT_EQ(runs().size(), 1U);
  EXPECT_EQ(describe(runs().front().charged().value()), describe(runs().front().plan.event)) << "the full charge stays";
}

TEST_F(SuretyCJobs, RefusePlansInOneLine) {
  surety_job* job = nullptr;
  const auto refused = [&](const std::string& json, surety_code code, const char* words) {
    Told told;
    EXPECT_EQ(surety_job_prepare(json.data(), json.size(), &job, &told.failure), code) << json;
    EXPECT_NE(told.message().find(words), std::string::npos) << told.message();
    EXPECT_EQ(told.message().find('\n'), std::string::npos) << told.message();
    EXPECT_EQ(job, nullptr);
  };
  refused("", SURETY_BAD_DATA, "plan");
  refused("[]", SURETY_BAD_DATA, "plan");
  refused(std::string(100'000, '['), SURETY_BAD_DATA, "");
  refused(plan(R"(, "stepps": 3)"), SURETY_BAD_DATA, "stepps");
  refused(plan(R"(, "steps": 3)"), SURETY_BAD_DATA, "steps");
  refused(plan(R"(, "learner": "optimistic")"), SURETY_BAD_DATA, "learner is for online-to-batch");
  refused(plan(R"(, "held-out": 1)"), SURETY_INVALID_ARGUMENT, "held-out is 1");
  refused(plan(R"(, "format": "records")"), SURETY_BAD_DATA, "data is missing");
  auto other_noise = plan();
  other_noise.pop_back();
  refused(other_noise + R"(, "noise": 1})", SURETY_INVALID_ARGUMENT, "noise is 1");
  auto of_nobody = plan();
  of_nobody.replace(of_nobody.find("\"train\""), 7, "\"audit\"");
  refused(of_nobody, SURETY_BAD_DATA, "command");
}

TEST_F(SuretyCJobs, RunNothingWithoutRecordsOrWithBitsNobodyVouchesFor) {
  Job job;
  Ledger ledger;
  prepare(plan(""), job);
  new_ledger(ledger);
  surety_result* none = nullptr;
  Told told;
  EXPECT_EQ(surety_job_run(job, nullptr, ledger, nullptr, &none, &told.failure), SURETY_INVALID_ARGUMENT);
  EXPECT_NE(told.message().find("data is missing"), std::string::npos) << told.message();
  EXPECT_EQ(surety_job_run(job, "", ledger, nullptr, &none, nullptr), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(surety_job_run(job, (folder_ / "none.csv").c_str(), ledger, nullptr, &none, nullptr), SURETY_BAD_DATA);
  mechanisms::ReplayBits source{3};
  surety_bits bits{};
  bits.size = sizeof bits;
  bits.context = &source;
  bits.fill = [](void* context, unsigned char* bytes, std::size_t count) {
    static_cast<mechanisms::ReplayBits*>(context)->fill({reinterpret_cast<std::byte*>(bytes), count});
    return 0;
  };
  surety_run_options options{};
  options.size = sizeof options;
  options.bits = &bits;
  EXPECT_EQ(surety_job_run(job, path_.c_str(), ledger, &options, &none, nullptr), SURETY_INVALID_ARGUMENT) << "nobody vouches for them";
  bits.vouched_for = SURETY_I_VOUCH_FOR_THESE_BITS;
  Job replayed;
  prepare(plan(), replayed);
  EXPECT_EQ(surety_job_run(replayed, path_.c_str(), ledger, &options, &none, nullptr), SURETY_INVALID_ARGUMENT) << "two sources of bits";
  EXPECT_TRUE(runs().empty());
  EXPECT_EQ(none, nullptr);
  // The caller's own bits make the noise, and are not called a replay.
  Result result;
  run(job, ledger, result, &options);
  ASSERT_EQ(runs().size(), 1U);
  EXPECT_FALSE(runs()[0].plan.not_private);
  const auto first = model_of(result);
  source = mechanisms::ReplayBits{3};
  run(job, ledger, result, &options);
  EXPECT_EQ(model_of(result), first);
  source = mechanisms::ReplayBits{4};
  run(job, ledger, result, &options);
  EXPECT_NE(model_of(result), first);
  // Where they fail, the charge stays and nothing comes back.
  bits.fill = [](void* /*context*/, unsigned char* /*bytes*/, std::size_t /*count*/) { return 1; };
  EXPECT_EQ(surety_job_run(job, path_.c_str(), ledger, &options, &none, nullptr), SURETY_ENVIRONMENT);
  EXPECT_EQ(none, nullptr);
  ASSERT_EQ(runs().size(), 4U);
  EXPECT_FALSE(runs()[3].settlement.has_value());
}

TEST_F(SuretyCJobs, ABudgetIsAskedBeforeRecordsAreRead) {
  Job job;
  prepare(plan(), job);
  surety_budget budget{};
  budget.size = sizeof budget;
  budget.epsilon = 0.5;
  budget.delta = 1e-5;
  Ledger ledger;
  ASSERT_EQ(surety_ledger_create((folder_ / "small.db").c_str(), SURETY_REPLACE_ONE, &budget, nullptr, &ledger, nullptr), SURETY_OK);
  surety_result* none = nullptr;
  auto stream = testing::arrow_stream(table_, {.fails_at = 0});
  EXPECT_EQ(surety_job_run_arrow(job, &stream, ledger, nullptr, &none, nullptr), SURETY_BUDGET_EXCEEDED)
      << "and not what the producer says";
  EXPECT_EQ(ArrowCount::live, 0);
}

TEST_F(SuretyCJobs, TellTheirProgress) {
  Job job;
  Ledger ledger;
  Result result;
  prepare(plan(), job);
  new_ledger(ledger);
  std::vector<std::string> told;
  surety_run_options options{};
  options.size = sizeof options;
  options.context = &told;
  options.progress = [](void* context, const char* phase, std::uint64_t done, std::uint64_t all) {
    static_cast<std::vector<std::string>*>(context)->push_back(fmt::format("{} {}/{}", phase, done, all));
  };
  run(job, ledger, result, &options);
  const std::vector<std::string> steps{"releasing 1/5", "releasing 2/5", "releasing 3/5", "releasing 4/5", "releasing 5/5"};
  ASSERT_GE(told.size(), 7U);
  EXPECT_EQ(std::vector<std::string>(told.end() - 5, told.end()), steps);
  EXPECT_EQ(std::vector<std::string>(told.end() - 7, told.end() - 5), (std::vector<std::string>{"reading 0/0", "releasing 0/0"}));
  told.clear();
  run(job, ledger, result);
  EXPECT_TRUE(told.empty()) << "the next run has a caller of its own";
}

TEST_F(SuretyCJobs, AreCalledOffBeforeTheyAreChargedOrForWhatTheyReleased) {
  surety_run_options options{};
  options.size = sizeof options;
  struct Left {
    int calls;
    bool is_releasing;
  } left{1, false};
  options.context = &left;
  options.progress = [](void* context, const char* phase, std::uint64_t /*done*/, std::uint64_t /*all*/) {
    static_cast<Left*>(context)->is_releasing = std::string{phase} == "releasing";
  };
  options.should_stop = [](void* context) { return --static_cast<Left*>(context)->calls <= 0 ? 1 : 0; };
  surety_result* none = nullptr;
  Job job;
  Ledger ledger;
  prepare(plan(), job);
  new_ledger(ledger);
  EXPECT_EQ(surety_job_run(job, path_.c_str(), ledger, &options, &none, nullptr), SURETY_STOPPED);
  EXPECT_TRUE(runs().empty()) << "called off at once";
  // Between releases: what was released is charged, and settled as that.
  options.should_stop = [](void* context) {
    auto& mine = *static_cast<Left*>(context);
    return mine.is_releasing && --mine.calls <= 0 ? 1 : 0;
  };
  left = {3, false};
  EXPECT_EQ(surety_job_run(job, path_.c_str(), ledger, &options, &none, nullptr), SURETY_STOPPED);
  ASSERT_EQ(runs().size(), 1U);
  EXPECT_TRUE(runs()[0].settlement.has_value());
  EXPECT_EQ(none, nullptr);
}

TEST_F(SuretyCJobs, StayInTheirProcess) {
  Job job;
  Ledger ledger;
  prepare(plan(), job);
  new_ledger(ledger);
  EXPECT_EQ(reference::in_child([&] {
              surety_result* none = nullptr;
              return surety_job_run(job, path_.c_str(), ledger, nullptr, &none, nullptr) == SURETY_INVALID_ARGUMENT && none == nullptr ? 0
                                                                                                                                       : 1;
            }),
            0);
  EXPECT_TRUE(runs().empty());
}

/// The cells of an Arrow stream, as texts.
std::vector<std::vector<std::string>> cells_of(ArrowArrayStream& stream) {
  ArrowSchema schema{};
  EXPECT_EQ(stream.get_schema(&stream, &schema), 0);
  std::vector<std::vector<std::string>> rows(1);
  for (std::int64_t k = 0; k < schema.n_children; ++k) rows[0].emplace_back(schema.children[k]->name);
  for (;;) {
    ArrowArray batch{};
    EXPECT_EQ(stream.get_next(&stream, &batch), 0);
    if (batch.release == nullptr) break;
    const auto first = rows.size();
    rows.resize(first + static_cast<std::size_t>(batch.length));
    for (std::int64_t k = 0; k < batch.n_children; ++k) {
      const ArrowArray& column = *batch.children[k];
      const std::string format = schema.children[k]->format;
      std::int64_t nulls = 0;
      for (std::int64_t row = 0; row < column.length; ++row) {
        auto& into = rows[first + static_cast<std::size_t>(row)];
        if ((static_cast<const unsigned char*>(column.buffers[0])[row / 8] >> (row % 8) & 1) == 0) {
          ++nulls;
          into.emplace_back("null");
        } else if (format == "g") {
          into.push_back(fmt::format("{}", static_cast<const double*>(column.buffers[1])[row]));
        } else {
          const auto* const ends = static_cast<const std::int64_t*>(column.buffers[1]);
          into.emplace_back(static_cast<const char*>(column.buffers[2]) + ends[row], static_cast<std::size_t>(ends[row + 1] - ends[row]));
        }
      }
      EXPECT_EQ(column.null_count, nulls);
    }
    batch.release(&batch);
    EXPECT_EQ(batch.release, nullptr);
  }
  schema.release(&schema);
  return rows;
}

TEST_F(SuretyCJobs, GiveWeightsAsArrow) {
  Job job;
  Ledger ledger;
  Result result;
  prepare(plan(), job);
  new_ledger(ledger);
  run(job, ledger, result);
  const auto weights = by_the_library(plan()).model.weights;
  ArrowArrayStream stream{};
  ASSERT_EQ(surety_result_arrow(result, &stream, nullptr), SURETY_OK);
  using Row = std::vector<std::string>;
  const auto row = [&](const char* column, const char* category, std::size_t k) {
    return Row{column, category, "null", fmt::format("{}", weights.at(k))};
  };
  EXPECT_EQ(
      cells_of(stream),
      (std::vector<Row>{
          {"column", "category", "class", "weight"}, row("a", "null", 0), row("town", "Bonn against Ulm", 1), row("null", "null", 2)}));
  // What was moved out of a batch outlives it, and the stream.
  ASSERT_EQ(surety_result_arrow(result, &stream, nullptr), SURETY_OK);
  ArrowArray batch{};
  ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  ArrowArray column = *batch.children[3];
  batch.children[3]->release = nullptr;
  batch.release(&batch);
  stream.release(&stream);
  EXPECT_EQ(static_cast<const double*>(column.buffers[1])[2], weights[2]);
  column.release(&column);
}

constexpr const char* release_plan =
    R"x({"version": 1, "command": "release", "adjacency": "replace-one", "target": {"epsilon": 1, "delta": 0}, "options": )x"
    R"x({"query": ["mean(a)", {"query": "count()", "by": "town", "keys": ["Ulm", "Bonn"]}], "bounds": "0,2", "replay-seed": 5}})x";

TEST_F(SuretyCJobs, ReleaseAsTheLibraryDoesFromFilesAndFromArrow) {
  auto written = jobs::read_release_plan(release_plan);
  auto book = accounting::Ledger::create(ledger_path(++ledgers_), written.plan.target.adjacency, std::nullopt, written.plan.unit);
  mechanisms::ReplayBits own_bits{5};
  const auto own = jobs::run(jobs::ReleaseJob{written.plan}, path_, book, {.bits = own_bits, .not_private = true});
  Job job;
  Ledger ledger;
  Result result;
  prepare(release_plan, job);
  EXPECT_EQ(surety_job_noise(job), own.cost.value);
  new_ledger(ledger);
  run(job, ledger, result);
  EXPECT_EQ(json_of(result), json_text(own));
  for (const std::size_t each : {people, std::size_t{1}}) {
    Ledger other;
    new_ledger(other);
    auto stream = testing::arrow_stream(table_, {.batches = testing::batches_of(people, each)});
    Told told;
    ASSERT_EQ(surety_job_run_arrow(job, &stream, other, nullptr, &result, &told.failure), SURETY_OK) << told.message();
    EXPECT_EQ(json_of(result), json_text(own));
    EXPECT_EQ(ArrowCount::live, 0);
  }
  ASSERT_EQ(runs().size(), 1U);
  EXPECT_TRUE(runs()[0].settlement.has_value());
  surety_model* none = nullptr;
  EXPECT_EQ(surety_result_model(result, &none, nullptr), SURETY_INVALID_ARGUMENT);
  ArrowArrayStream stream{};
  ASSERT_EQ(surety_result_arrow(result, &stream, nullptr), SURETY_OK);
  auto rows = cells_of(stream);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"query", "group", "cell", "value", "lower", "upper", "used", "used_lower", "used_upper",
                                               "total", "rank_error", "rank_error_share"}));
  for (auto& row : rows) row.resize(6);
  std::size_t row = 1;
  for (const auto& query : own.queries) {
    for (const auto& answer : query.answers) {
      EXPECT_EQ(rows[row++], (std::vector<std::string>{query.facts.query, query.facts.has_groups ? answer.group : "null", "null",
                                                       fmt::format("{}", answer.estimate.value), fmt::format("{}", answer.estimate.lower),
                                                       fmt::format("{}", answer.estimate.upper)}));
    }
  }
}

// A process ends at any of the places where noise is drawn: the run is charged by then, and nothing came back.
TEST_F(SuretyCJobs, AreChargedBeforeTheFirstBitIsDrawn) {
  for (const auto& json : {plan(""), std::string{release_plan}.replace(std::string{release_plan}.find(", \"replay-seed\": 5"), 18, "")}) {
    Ledger made;
    new_ledger(made);
    std::size_t killed = 0;
    for (int at = 1;; ++at) {
      const int code = reference::in_child([&] {
        struct Left {
          int calls;
          mechanisms::ReplayBits bits;
        } left{at, mechanisms::ReplayBits{9}};
        surety_bits bits{};
        bits.size = sizeof bits;
        bits.vouched_for = SURETY_I_VOUCH_FOR_THESE_BITS;
        bits.context = &left;
        bits.fill = [](void* context, unsigned char* bytes, std::size_t count) {
          auto& mine = *static_cast<Left*>(context);
          if (--mine.calls == 0) _exit(77);
          mine.bits.fill({reinterpret_cast<std::byte*>(bytes), count});
          return 0;
        };
        surety_run_options options{};
        options.size = sizeof options;
        options.bits = &bits;
        surety_ledger* ledger = nullptr;
        surety_job* job = nullptr;
        surety_result* result = nullptr;
        if (surety_ledger_open(ledger_path(ledgers_).c_str(), &ledger, nullptr) != SURETY_OK) return 1;
        if (surety_job_prepare(json.data(), json.size(), &job, nullptr) != SURETY_OK) return 2;
        auto stream = testing::arrow_stream(table_);
        return surety_job_run_arrow(job, &stream, ledger, &options, &result, nullptr) == SURETY_OK ? 0 : 3;
      });
      const auto all = runs();
      ASSERT_EQ(all.size(), static_cast<std::size_t>(at)) << "each was charged";
      if (code == 0) {
        EXPECT_TRUE(all.back().settlement.has_value());
        break;
      }
      ASSERT_EQ(code, 77);
      EXPECT_FALSE(all.back().settlement.has_value());
      ++killed;
    }
    EXPECT_GE(killed, 2U);
  }
}

/// Bytes of a call, which are freed.
struct Bytes {
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { surety_free(text); }
  [[nodiscard]] std::string copy() const { return {text, length}; }

  char* text = nullptr;
  std::size_t length = 0;
};

/// Bits of a seed, as C gives them.
struct Replayed {
  explicit Replayed(std::uint64_t seed) : source{seed} {
    bits.size = sizeof bits;
    bits.vouched_for = SURETY_I_VOUCH_FOR_THESE_BITS;
    bits.context = &source;
    bits.fill = [](void* context, unsigned char* bytes, std::size_t count) {
      static_cast<mechanisms::ReplayBits*>(context)->fill({reinterpret_cast<std::byte*>(bytes), count});
      return 0;
    };
    options.size = sizeof options;
    options.bits = &bits;
  }
  Replayed(const Replayed&) = delete;
  Replayed& operator=(const Replayed&) = delete;

  mechanisms::ReplayBits source;
  surety_bits bits{};
  surety_run_options options{};
};

/// A release without and with owners, whose rows are many more than are kept.
std::string plan_in_parts(bool has_owners) {
  return R"x({"version": 1, "command": "release", "adjacency": "replace-one", "target": {"epsilon": 1, "delta": 0}, "options": )x"
         R"x({"query": ["mean(a)", {"query": "count()", "by": "town", "keys": ["Ulm", "Bonn"]}], "bounds": "0,2")x" +
         std::string{has_owners ? R"(, "unit": "who", "most": 3}})" : "}}"};
}

// A name in JSON is a value of its own: whatever stands in it, the column that was named is read. A column holds one number in all rows.
TEST_F(SuretyCJobs, ReadTheColumnThatIsNamedWhateverItsName) {
  const auto names = reference::hostile_names(1000);
  testing::ArrowTestTable table;
  auto queries = nlohmann::json::array();
  for (std::size_t k = 0; k < names.size(); ++k) {
    table.columns.push_back({.name = names[k], .format = "g", .cells = std::vector<testing::ArrowCell>(20, static_cast<double>(k + 1))});
    queries.push_back({{"function", "mean"}, {"column", names[k]}, {"bounds", {0, 2000}}});
  }
  const nlohmann::json plan{{"version", 2},
                            {"command", "release"},
                            {"adjacency", "replace-one"},
                            {"target", {{"epsilon", 1e9}, {"delta", 0}}},
                            {"options", {{"query", queries}, {"replay-seed", 3}}}};
  Job job;
  Ledger ledger;
  Result result;
  prepare(plan.dump(), job);
  new_ledger(ledger);
  auto stream = testing::arrow_stream(table, {.batches = testing::batches_of(20, 20)});
  Told told;
  ASSERT_EQ(surety_job_run_arrow(job, &stream, ledger, nullptr, &result, &told.failure), SURETY_OK) << told.message();
  const auto report = nlohmann::json::parse(json_of(result));
  ASSERT_EQ(report["queries"].size(), names.size());
  for (std::size_t k = 0; k < names.size(); ++k) {
    EXPECT_NEAR(report["queries"][k]["value"].get<double>(), static_cast<double>(k + 1), 0.1) << names[k];
  }
}

TEST_F(SuretyCJobs, OfAPlanOfVersionOneHaveANote) {
  Job job;
  const auto json_of_job = [&](const std::string& plan) {
    prepare(plan, job);
    char* json = nullptr;
    EXPECT_EQ(surety_job_json(job, &json, nullptr, nullptr), SURETY_OK);
    return nlohmann::json::parse(taken(json));
  };
  EXPECT_NE(json_of_job(release_plan)["notes"][0].get<std::string>().find("the plan is of version 1"), std::string::npos);
  EXPECT_FALSE(json_of_job(jobs::plan_text(jobs::read_release_plan(release_plan).plan)).contains("notes"));
}

/// Bits of a seed, told of each draw, and whoever answers the question whether to stop: the last of so many.
struct StoppedAfter : Replayed {
  StoppedAfter() : Replayed{3} {
    bits.context = this;
    bits.fill = [](void* context, unsigned char* bytes, std::size_t count) {
      auto& mine = *static_cast<StoppedAfter*>(context);
      mine.has_drawn = true;
      mine.source.fill({reinterpret_cast<std::byte*>(bytes), count});
      return 0;
    };
    options.context = this;
    options.should_stop = [](void* context) {
      auto& mine = *static_cast<StoppedAfter*>(context);
      return ++mine.asked > mine.answered ? 1 : 0;
    };
  }

  int answered = 0;  ///< with no
  int asked = 0;
  bool has_drawn = false;
};

// Whichever question is answered so: nothing was drawn that is not charged, what was charged is settled, and nothing comes back.
TEST_F(SuretyCJobs, AreCalledOffAtAnyQuestion) {
  for (const auto& json : {plan(""), plan_in_parts(false)}) {
    Job job;
    prepare(json, job);
    std::size_t uncharged = 0;
    std::size_t charged = 0;
    for (int answered = 0;; answered += 1 + answered / 10) {
      SCOPED_TRACE(answered);
      Ledger ledger;
      new_ledger(ledger);
      StoppedAfter run;
      run.answered = answered;
      surety_result* made = nullptr;
      const auto code = surety_job_run(job, path_.c_str(), ledger, &run.options, &made, nullptr);
      const auto all = runs();
      ASSERT_LE(all.size(), 1U);
      EXPECT_TRUE(all.size() == 1 || !run.has_drawn) << "drawn, and not charged";
      for (const auto& one : all) EXPECT_TRUE(one.settlement.has_value());
      surety_result_free(made);
      if (code == SURETY_OK) break;
      ASSERT_EQ(code, SURETY_STOPPED);
      EXPECT_EQ(made, nullptr);
      ++(all.empty() ? uncharged : charged);
    }
    EXPECT_GE(uncharged, 1U);
    EXPECT_GE(charged, 1U);
  }
}

constexpr std::uint32_t parts = 3;
constexpr std::int64_t owners = 17;
constexpr std::int64_t everyone = -1;

/// The rows of one part by their owners' buckets, or all.
class SuretyCParts : public SuretyCJobs {
 protected:
  [[nodiscard]] static bool is_in(std::int64_t owner, std::int64_t part) {
    static const data::OwnerBucketFinder bucket_of;
    return part == everyone || static_cast<std::int64_t>(bucket_of(std::to_string(owner)) % parts) == part;
  }
  /// Calls `add(owner, a, town)` for each row of a part.
  static void each_row(std::int64_t part, const auto& add) {
    for (std::int64_t k = 0; k < 150; ++k) {
      if (is_in(k % owners, part)) add(k % owners, static_cast<double>(k % 7) / 4, k % 3 == 0 ? "Ulm" : "Bonn");
    }
  }
  [[nodiscard]] std::string file_of(std::int64_t part) const {
    std::string text = "who,a,town\n";
    each_row(part, [&](std::int64_t who, double a, const char* town) { text += fmt::format("{},{},{}\n", who, a, town); });
    return folder_.write(fmt::format("part {}.csv", part), text).string();
  }
  [[nodiscard]] static ArrowArrayStream stream_of(std::int64_t part) {
    testing::ArrowTestTable table{.columns = {{.name = "who", .format = "l", .cells = {}},
                                              {.name = "a", .format = "g", .cells = {}},
                                              {.name = "town", .format = "u", .cells = {}}}};
    each_row(part, [&](std::int64_t who, double a, const char* town) {
      table.columns[0].cells.emplace_back(who);
      table.columns[1].cells.emplace_back(a);
      table.columns[2].cells.emplace_back(std::string{town});
    });
    return testing::arrow_stream(std::move(table), {.batches = {5, 1}});
  }
  void new_ledger_of(bool has_owners, Ledger& ledger) {
    surety_unit who{};
    who.size = sizeof who;
    who.name = "who";
    who.most = 3;
    Told told;
    ASSERT_EQ(surety_ledger_create(ledger_path(++ledgers_).c_str(), SURETY_REPLACE_ONE, nullptr, has_owners ? &who : nullptr, &ledger,
                                   &told.failure),
              SURETY_OK)
        << told.message();
  }
  static void begin(const std::string& plan, Ledger& ledger, Bytes& ticket, const surety_run_options* options = nullptr) {
    Told told;
    ASSERT_EQ(surety_parts_begin(plan.data(), plan.size(), parts, ledger, options, &ticket.text, &ticket.length, &told.failure), SURETY_OK)
        << told.message();
  }
  [[nodiscard]] std::string partial(const Bytes& ticket, std::uint32_t part, bool is_arrow) const {
    Bytes made;
    Told told;
    if (is_arrow) {
      auto stream = stream_of(part);
      EXPECT_EQ(surety_parts_partial_arrow(ticket.text, ticket.length, part, &stream, &made.text, &made.length, &told.failure), SURETY_OK)
          << told.message();
      EXPECT_EQ(ArrowCount::live, 0);
    } else {
      EXPECT_EQ(surety_parts_partial(ticket.text, ticket.length, part, file_of(part).c_str(), &made.text, &made.length, &told.failure),
                SURETY_OK)
          << told.message();
    }
    return made.copy();
  }
  static std::string merged(const std::string& a, const std::string& b) {
    Bytes made;
    Told told;
    EXPECT_EQ(surety_parts_merge(a.data(), a.size(), b.data(), b.size(), &made.text, &made.length, &told.failure), SURETY_OK)
        << told.message();
    return made.copy();
  }
};

TEST_F(SuretyCParts, ReleaseWhatOneJobDoesToTheLastBit) {
  for (const bool has_owners : {false, true}) {
    for (const bool is_arrow : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", has_owners, is_arrow));
      const auto plan = plan_in_parts(has_owners);
      Job job;
      Ledger alone;
      Result expected;
      prepare(plan, job);
      new_ledger_of(has_owners, alone);
      Replayed whole{7};
      if (is_arrow) {
        auto stream = stream_of(everyone);
        ASSERT_EQ(surety_job_run_arrow(job, &stream, alone, &whole.options, &expected, nullptr), SURETY_OK);
      } else {
        ASSERT_EQ(surety_job_run(job, file_of(everyone).c_str(), alone, &whole.options, &expected, nullptr), SURETY_OK);
      }
      const auto charged = runs().at(0).charged();

      Ledger ledger;
      new_ledger_of(has_owners, ledger);
      Replayed bits{7};
      Bytes ticket;
      begin(plan, ledger, ticket, &bits.options);
      EXPECT_TRUE(runs().empty());
      const auto first = partial(ticket, 0, is_arrow);
      EXPECT_EQ(first, partial(ticket, 0, is_arrow)) << "a task may be tried again";
      const auto second = partial(ticket, 1, is_arrow);
      const auto third = partial(ticket, 2, is_arrow);
      const auto all = merged(third, merged(first, second));
      EXPECT_EQ(all, merged(merged(second, third), first));
      Result result;
      Told told;
      ASSERT_EQ(surety_parts_finish(ticket.text, ticket.length, all.data(), all.size(), ledger, &bits.options, &result, &told.failure),
                SURETY_OK)
          << told.message();
      EXPECT_EQ(json_of(result), json_of(expected));
      ASSERT_EQ(runs().size(), 1U);
      EXPECT_EQ(runs()[0].charged(), charged);
      EXPECT_TRUE(runs()[0].settlement.has_value());
      EXPECT_FALSE(runs()[0].plan.not_private);
      // Once.
      surety_result* none = nullptr;
      EXPECT_EQ(surety_parts_finish(ticket.text, ticket.length, all.data(), all.size(), ledger, nullptr, &none, nullptr),
                SURETY_INVALID_ARGUMENT);
      EXPECT_EQ(none, nullptr);
      EXPECT_EQ(runs().size(), 1U);
    }
  }
}

// What would count somebody twice, or not at all, costs nothing and names nobody.
TEST_F(SuretyCParts, ThatDoNotMakeTheTableAreRefused) {
  const auto plan = plan_in_parts(true);
  Ledger ledger;
  new_ledger_of(true, ledger);
  Bytes ticket;
  Bytes other;
  begin(plan, ledger, ticket);
  begin(plan, ledger, other);
  EXPECT_NE(ticket.copy(), other.copy());
  const auto first = partial(ticket, 0, false);
  const auto second = partial(ticket, 1, false);
  Bytes none;
  const auto refused = [&](surety_code expected, const char* words, const auto& call) {
    Told told;
    EXPECT_EQ(call(&told.failure), expected) << told.message();
    EXPECT_NE(told.message().find(words), std::string::npos) << told.message();
    EXPECT_EQ(told.message().find('\n'), std::string::npos) << told.message();
    EXPECT_EQ(none.text, nullptr);
    EXPECT_EQ(none.length, 0U);
  };
  const auto unmerged = [&](surety_code expected, const char* words, const std::string& a, const std::string& b) {
    refused(expected, words, [&](surety_failure** failure) {
      return surety_parts_merge(a.data(), a.size(), b.data(), b.size(), &none.text, &none.length, failure);
    });
  };
  unmerged(SURETY_INVALID_ARGUMENT, "part 0", first, merged(first, second));
  unmerged(SURETY_INVALID_ARGUMENT, "ticket", first, partial(other, 1, false));
  unmerged(SURETY_INVALID_ARGUMENT, "Arrow", first, partial(ticket, 1, true));
  unmerged(SURETY_BAD_DATA, "partial", first, ticket.copy());
  unmerged(SURETY_BAD_DATA, "partial", first, "");
  auto changed = second;
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  unmerged(SURETY_BAD_DATA, "partial", first, changed);
  Bytes twice;
  ASSERT_EQ(surety_parts_partial(ticket.text, ticket.length, 1, file_of(0).c_str(), &twice.text, &twice.length, nullptr), SURETY_OK);
  unmerged(SURETY_INVALID_ARGUMENT, "bucket", first, twice.copy());

  surety_result* result = nullptr;
  const auto unfinished = [&](surety_code expected, const char* words, const Bytes& of, const std::string& whole) {
    refused(expected, words, [&](surety_failure** failure) {
      return surety_parts_finish(of.text, of.length, whole.data(), whole.size(), ledger, nullptr, &result, failure);
    });
    EXPECT_EQ(result, nullptr);
  };
  const auto all = merged(merged(first, second), partial(ticket, 2, false));
  unfinished(SURETY_INVALID_ARGUMENT, "part 2 is missing", ticket, merged(first, second));
  unfinished(SURETY_INVALID_ARGUMENT, "another ticket", other, all);
  unfinished(SURETY_BAD_DATA, "partial", ticket, ticket.copy());

  const auto no_part = [&](surety_code expected, const char* words, const std::string& of, std::uint32_t part) {
    refused(expected, words, [&](surety_failure** failure) {
      return surety_parts_partial(of.data(), of.size(), part, file_of(0).c_str(), &none.text, &none.length, failure);
    });
    refused(expected, words, [&](surety_failure** failure) {
      auto stream = stream_of(0);
      const auto code = surety_parts_partial_arrow(of.data(), of.size(), part, &stream, &none.text, &none.length, failure);
      EXPECT_EQ(stream.release, nullptr);
      EXPECT_EQ(ArrowCount::live, 0);
      EXPECT_EQ(ArrowCount::twice, 0);
      return code;
    });
  };
  no_part(SURETY_INVALID_ARGUMENT, "part is 3", ticket.copy(), parts);
  no_part(SURETY_BAD_DATA, "ticket", first, 0);
  no_part(SURETY_BAD_DATA, "ticket", "", 0);

  const auto unbegun = [&](surety_code expected, const char* words, const std::string& json, std::uint32_t number) {
    refused(expected, words, [&](surety_failure** failure) {
      return surety_parts_begin(json.data(), json.size(), number, ledger, nullptr, &none.text, &none.length, failure);
    });
  };
  unbegun(SURETY_INVALID_ARGUMENT, "parts are 0", plan, 0);
  unbegun(SURETY_BAD_DATA, "command", this->plan(), parts);
  auto more = plan;
  more.insert(more.size() - 2, R"(, "replay-seed": 5)");
  unbegun(SURETY_INVALID_ARGUMENT, "replay-seed", more, parts);
  more = plan;
  more.insert(more.size() - 1, R"(, "noise": 1)");
  unbegun(SURETY_INVALID_ARGUMENT, "noise is 1", more, parts);
  unbegun(SURETY_INVALID_ARGUMENT, "unit", plan_in_parts(false), parts);
  EXPECT_TRUE(runs().empty());
}

// A finish that is called off, or ends with its process where noise is drawn.
TEST_F(SuretyCParts, AreChargedBeforeTheFirstBitIsDrawn) {
  Ledger ledger;
  new_ledger_of(false, ledger);
  const auto whole = [&](Bytes& ticket) {
    begin(plan_in_parts(false), ledger, ticket);
    return merged(merged(partial(ticket, 0, true), partial(ticket, 1, true)), partial(ticket, 2, true));
  };
  Bytes ticket;
  const auto all = whole(ticket);
  Replayed bits{3};
  bits.options.should_stop = [](void* /*context*/) { return 1; };
  surety_result* none = nullptr;
  EXPECT_EQ(surety_parts_finish(ticket.text, ticket.length, all.data(), all.size(), ledger, &bits.options, &none, nullptr), SURETY_STOPPED);
  EXPECT_TRUE(runs().empty());
  bits.options.should_stop = nullptr;
  bits.bits.fill = [](void* /*context*/, unsigned char* /*bytes*/, std::size_t /*count*/) { return 1; };
  EXPECT_EQ(surety_parts_finish(ticket.text, ticket.length, all.data(), all.size(), ledger, &bits.options, &none, nullptr),
            SURETY_ENVIRONMENT);
  ASSERT_EQ(runs().size(), 1U);
  EXPECT_FALSE(runs()[0].settlement.has_value());
  EXPECT_EQ(surety_parts_finish(ticket.text, ticket.length, all.data(), all.size(), ledger, nullptr, &none, nullptr),
            SURETY_INVALID_ARGUMENT)
      << "it may have drawn noise";
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(runs().size(), 1U);
}

// Whoever else has an account on that machine reads none of it, whatever the umask says, and nothing is replaced.
TEST_F(SuretyCParts, AreWrittenForTheirOwnerAlone) {
  Ledger ledger;
  new_ledger_of(false, ledger);
  Bytes ticket;
  begin(plan_in_parts(false), ledger, ticket);
  const auto path = folder_ / "ticket";
  const auto umask_before = umask(0);
  Told told;
  EXPECT_EQ(surety_write_private_file(path.c_str(), ticket.text, ticket.length, &told.failure), SURETY_OK) << told.message();
  umask(umask_before);
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto content = [&] {
    std::ifstream file{path, std::ios::binary};
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  };
  EXPECT_EQ(content(), ticket.copy());
  Told again;
  EXPECT_EQ(surety_write_private_file(path.c_str(), "other", 5, &again.failure), SURETY_INVALID_ARGUMENT);
  EXPECT_NE(again.message().find("is there already"), std::string::npos) << again.message();
  EXPECT_EQ(content(), ticket.copy());
  EXPECT_EQ(surety_write_private_file((folder_ / "no folder" / "x").c_str(), "other", 5, nullptr), SURETY_ENVIRONMENT);
}

using Predictions = std::vector<std::vector<double>>;
int keep(void* context, const double* numbers, std::size_t count) {
  static_cast<Predictions*>(context)->emplace_back(numbers, numbers + count);
  return 0;
}

TEST_F(SuretyCJobs, ModelsPredictWhatTheLibraryPredicts) {
  const auto own = by_the_library(plan()).model;
  const auto file = (folder_ / "model.json").string();
  const auto text = optimizers::write_model(own);
  Model model;
  ASSERT_EQ(surety_model_parse(text.data(), text.size(), &model, nullptr), SURETY_OK);
  ASSERT_EQ(surety_model_save(model, file.c_str(), nullptr), SURETY_OK);
  std::ifstream written{file};
  std::stringstream bytes;
  bytes << written.rdbuf();
  EXPECT_EQ(bytes.str(), text);
  ASSERT_EQ(surety_model_load(file.c_str(), &model, nullptr), SURETY_OK);

  // A tenth of the rows have a cell that is missing: of those nothing can be said, and that is said in the end.
  Predictions found;
  Told told;
  EXPECT_EQ(surety_model_predict(model, path_.c_str(), keep, &found, &told.failure), SURETY_BAD_DATA);
  EXPECT_NE(told.message().find("12 of 120 records are damaged"), std::string::npos) << told.message();
  std::size_t next = 0;
  const auto predicted = jobs::predict_each(own, path_, {}, [&](std::span<const double> scores) {
    ASSERT_LT(next, found.size());
    ASSERT_EQ(found[next].size(), 1U);
    if (scores.empty()) {
      EXPECT_TRUE(std::isnan(found[next][0]));
    } else {
      EXPECT_EQ(found[next], jobs::predictions(own, scores));
    }
    ++next;
  });
  EXPECT_EQ(predicted.damaged, 12U);
  EXPECT_EQ(found.size(), people);
  // The same of a stream, without the label.
  auto unlabelled = table_;
  unlabelled.columns.pop_back();
  auto stream = testing::arrow_stream(unlabelled, {.batches = testing::batches_of(people, 7)});
  Predictions of_stream;
  Told in_stream;
  EXPECT_EQ(surety_model_predict_arrow(model, &stream, keep, &of_stream, &in_stream.failure), SURETY_BAD_DATA);
  EXPECT_NE(in_stream.message().find("12 of 120 records are damaged"), std::string::npos) << in_stream.message();
  ASSERT_EQ(of_stream.size(), found.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_TRUE(of_stream[k] == found[k] || (std::isnan(of_stream[k][0]) && std::isnan(found[k][0]))) << k;
  }
  EXPECT_EQ(ArrowCount::live, 0);
  // Whoever is told may end it.
  stream = testing::arrow_stream(unlabelled);
  int calls = 0;
  const auto stop = [](void* context, const double* /*numbers*/, std::size_t /*count*/) {
    return ++*static_cast<int*>(context) == 3 ? 1 : 0;
  };
  EXPECT_EQ(surety_model_predict_arrow(model, &stream, stop, &calls, nullptr), SURETY_STOPPED);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(surety_model_predict_arrow(model, nullptr, keep, &found, nullptr), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(ArrowCount::live, 0);
  EXPECT_EQ(ArrowCount::twice, 0);
}

TEST_F(SuretyCJobs, ModelsThatAreNoneAreRefused) {
  surety_model* none = nullptr;
  for (const std::string text : {"", "{}", "[1]", R"({"surety_model": 1, "surety_model": 1})"}) {
    EXPECT_EQ(surety_model_parse(text.data(), text.size(), &none, nullptr), SURETY_BAD_DATA) << text;
  }
  EXPECT_EQ(surety_model_load((folder_ / "none.json").c_str(), &none, nullptr), SURETY_BAD_DATA);
  EXPECT_EQ(surety_model_load(path_.c_str(), &none, nullptr), SURETY_BAD_DATA);
  EXPECT_EQ(none, nullptr);
  const auto text = optimizers::write_model(by_the_library(plan()).model);
  Model model;
  ASSERT_EQ(surety_model_parse(text.data(), text.size(), &model, nullptr), SURETY_OK);
  EXPECT_EQ(surety_model_save(model, path_.c_str(), nullptr), SURETY_INVALID_ARGUMENT) << "a table is no model to be replaced";
  EXPECT_EQ(surety_model_save(model, (folder_ / "no folder" / "m.json").c_str(), nullptr), SURETY_ENVIRONMENT);
}

}  // namespace
}  // namespace surety::jobs_test
