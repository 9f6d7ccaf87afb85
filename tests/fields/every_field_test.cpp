// Each field of each algorithm, of a release and of a query, as the tables of fields have them, is reached by an option of the command, by a plan in JSON and
// through C: said in each of these ways, it makes the same model or the same released values, charged alike, and the plan without it is another one.
#include <surety.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <surety/accounting/ledger/ledger.h>
#include <surety/cli/commands/plan.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/release/release_fields.h>
#include <surety/jobs/release/written_release.h>
#include <surety/jobs/train/chosen_text.h>
#include <surety/jobs/train/train_fields.h>
#include <surety/jobs/train/written_plan.h>
#include <surety/jobs/written/plan_schema.h>

#include <support/command_in_process.h>
#include <support/held_by_c.h>
#include <support/temporary_folder.h>

namespace surety_test::every_field_test {
namespace {

using namespace surety;
using nlohmann::json;

/// What one way of asking made.
struct Answer {
  std::string refused;  ///< why not; empty where it was run
  std::string model;    ///< of a training, as its file has it
  json report;          ///< as `--json` prints it
};

std::string contents(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// The one object that the command printed, or the last of one on each line.
json report_in(const std::string& printed) {
  if (printed.starts_with("{\n")) return json::parse(printed);
  return json::parse(printed.substr(printed.find_last_of('\n', printed.size() - 2) + 1));
}

class EveryField : public ::testing::Test {
 protected:
  EveryField() {
    std::string rows;
    for (int k = 0; k < people; ++k) rows += fmt::format("p{},{},{},2020-01-0{}\n", k % 9, k % 50, k % 2, 1 + k % 9);
    folder_.write("table.csv", "who,age,y,day\n" + rows);
    folder_.write("other.csv", "who,age,y,day\np1,7,0,2020-01-01\n" + rows.substr(rows.find('\n') + 1));
    folder_.write("headless.csv", rows);
    for (auto& c : rows) c = c == ',' ? ';' : c;
    folder_.write("semicolons.csv", "who;age;y;day\n" + rows);
    std::string sparse;
    for (int k = 0; k < people; ++k) sparse += fmt::format("{} 1:0.5 {}:{}\n", k % 2 == 0 ? 1 : -1, 2 + k % 2, 1 + k % 5);
    folder_.write("table.svm", sparse);
    folder_.write("graph.txt", "0 1\n1 2\n2 3\n3 0\n");
    folder_.write("queries.json", R"x([{"query": "mean(age)", "bounds": [0, 9]}])x");
    folder_.write("schema.json", R"({"surety_schema": 1, "columns": [{"name": "age", "bounds": [0, 9]}, {"name": "y"},)"
                                 R"( {"name": "who", "drop": true}, {"name": "day", "drop": true}]})");
  }

  [[nodiscard]] std::string path(std::string_view name) const { return (folder_ / name).string(); }

  /// The plan of these options, for a promise whose noise is found in milliseconds. What is null is not said; "adjacency", "epsilon" and "delta" go where
  /// they belong.
  [[nodiscard]] static json plan_of(const std::string& command, const json& said) {
    auto options = said;
    json plan{{"version", command == "train" ? 2 : 1},
              {"command", command},
              {"adjacency", "zero-out"},
              {"target", {{"epsilon", 0.1}, {"delta", 1e-5}}}};
    for (const auto& [name, value] : said.items()) {
      if (name == "adjacency") plan[name] = value;
      const bool is_of_target = name == "epsilon" || name == "delta";
      if (is_of_target) plan["target"][name] = value;
      if (value.is_null() || name == "adjacency" || is_of_target) options.erase(name);
    }
    plan["options"] = std::move(options);
    return plan;
  }

  /// The words of the command that say the same.
  [[nodiscard]] static std::vector<std::string> words_of(const json& plan) {
    std::vector<std::string> words{plan["command"].get<std::string>(), plan["options"]["data"].get<std::string>()};
    const auto say = [&](const std::string& name, const json& value) {
      if (value.is_boolean()) return words.push_back("--" + name);
      words.push_back(fmt::format("--{}={}", name, value.is_string() ? value.get<std::string>() : value.dump()));
    };
    for (const auto& [name, value] : plan["options"].items()) {
      if (name == "data") continue;
      if (name == "unit" && value.is_array()) {
        say(name, columns_text(value.get<std::vector<std::string>>()));
        continue;
      }
      for (const auto& one : value.is_array() ? value : json::array({value})) say(name, one);
    }
    say("adjacency", plan["adjacency"]);
    for (const auto& [name, value] : plan["target"].items()) say(name, value);
    return words;
  }

  /// Runs the command by words. Old outputs are gone.
  [[nodiscard]] Answer by_words(std::vector<std::string> words, const json& plan) const {
    words.emplace_back("--json");
    const auto& options = plan["options"];
    std::filesystem::remove(options["ledger"].get<std::string>());
    if (options.contains("ledger-must-exist")) {
      auto made = accounting::Ledger::create(options["ledger"].get<std::string>(), parse_adjacency(plan["adjacency"].get<std::string>()),
                                             std::nullopt, {});
    }
    if (options.contains("model")) std::filesystem::remove(options["model"].get<std::string>());
    const auto said = command_in_process(words, path(""));
    if (said.code != 0) return {.refused = fmt::format("code {}: {}", said.code, said.err), .model = {}, .report = {}};
    return {.refused = {},
            .model = options.contains("model") ? contents(options["model"].get<std::string>()) : std::string{},
            .report = report_in(said.out)};
  }

  /// Runs the plan through C, in the ledger that the command made for it.
  [[nodiscard]] Answer through_c(const json& plan) const {
    const auto text = plan.dump();
    HeldFailure failure;
    HeldJob job;
    HeldLedger ledger;
    HeldResult result;
    const auto refused = [&] { return Answer{.refused = surety_failure_message(failure), .model = {}, .report = {}}; };
    const auto book = plan["options"]["ledger"].get<std::string>();
    if (surety_job_prepare(text.data(), text.size(), &job, &failure) != SURETY_OK) return refused();
    if (surety_ledger_open(book.c_str(), &ledger, &failure) != SURETY_OK) return refused();
    if (surety_job_run(job, nullptr, ledger, nullptr, &result, &failure) != SURETY_OK) return refused();
    Answer answer;
    char* made = nullptr;
    if (surety_result_json(result, &made, nullptr, &failure) != SURETY_OK) return refused();
    answer.report = json::parse(taken(made));
    if (plan["command"] == "release") return answer;
    HeldModel model;
    if (surety_result_model(result, &model, &failure) != SURETY_OK) return refused();
    if (surety_model_json(model, &made, nullptr, &failure) != SURETY_OK) return refused();
    answer.model = taken(made) + "\n";
    return answer;
  }

  /// What C says of a plan that it does not take.
  [[nodiscard]] static std::string refused_by_c(const json& plan) {
    const auto text = plan.dump();
    HeldFailure failure;
    HeldJob job;
    return surety_job_prepare(text.data(), text.size(), &job, &failure) == SURETY_OK ? "" : surety_failure_message(failure);
  }

  /// That the command and C make the same of a plan, and charge it alike.
  void expect_same(const json& plan) const {
    const auto by_command = by_words(words_of(plan), plan);
    ASSERT_EQ(by_command.refused, "") << "by the command";
    // The command adds what follows from public numbers, and a plan has its constants: what the command would print goes through C.
    const bool is_training = plan["command"] == "train";
    const auto by_c = through_c(is_training ? json::parse(jobs::ruled_text(plan.dump(), nullptr).text) : plan);
    ASSERT_EQ(by_c.refused, "") << "through C";
    EXPECT_TRUE(by_c.model == by_command.model) << by_c.model << by_command.model;
    EXPECT_EQ(by_c.model.empty(), plan["command"] == "release");
    for (const auto& [name, value] : by_c.report.items()) {
      if (name == "run") continue;
      EXPECT_EQ(by_command.report.value(name, json{}), value) << name;
    }
    const auto runs = accounting::Ledger::open(plan["options"]["ledger"].get<std::string>()).runs();
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_EQ(runs[0].plan.event, runs[1].plan.event);
    EXPECT_EQ(runs[0].plan.unit, runs[1].plan.unit);
    EXPECT_EQ(runs[0].plan.not_private, runs[1].plan.not_private);
    EXPECT_EQ(runs[0].plan.note, runs[1].plan.note);
    EXPECT_EQ(runs[0].charged(), runs[1].charged());
    if (plan["options"].contains("note")) {
      EXPECT_EQ(runs[0].plan.note, plan["options"]["note"]);
    }
    ++ran_;
  }

  /// That both refuse a value by its field, as a field of the plan or as an option of the optimizer.
  void expect_refused(const json& plan, const std::string& why) const {
    const std::string mark = why.starts_with("noise is that of the paper") ? "" : "--";
    EXPECT_NE(by_words(words_of(plan), plan).refused.find(mark + why), std::string::npos) << "by the command";
    EXPECT_NE(refused_by_c(plan).find(why), std::string::npos) << "through C";
  }

  /// That a plan file of the command is these words.
  void expect_same_words(const json& plan) const {
    const auto file = folder_.write("plan.json", plan.dump());
    const auto given = cli::with_plan({plan["command"].get<std::string>(), "--plan", file.string()});
    auto words = given.words;
    for (const auto& [field, texts] : given.planned) {
      if (texts.empty()) words.push_back("--" + field);
      for (const auto& text : texts) words.push_back(field == "data" ? text : fmt::format("--{}={}", field, text));
    }
    const auto wanted = words_of(plan);
    EXPECT_EQ(std::multiset<std::string>(words.begin(), words.end()), std::multiset<std::string>(wanted.begin(), wanted.end()));
  }

  TemporaryFolder folder_;
  mutable std::size_t ran_ = 0;
  static constexpr int people = 120;
};

/// In memory, where there is such a place: a ledger is written for each run.
[[maybe_unused]] const bool is_in_memory = std::filesystem::is_directory("/dev/shm") && setenv("TMPDIR", "/dev/shm", 1) == 0;

/// All that the text of a plan says, or the field that it is said to miss.
struct Meaning {
  std::optional<jobs::WrittenTraining> training = {};
  std::optional<jobs::WrittenRelease> release = {};
  std::string refused = {};

  [[nodiscard]] bool is_that_of(const Meaning& other) const {
    const auto beside = [](const auto& a, const auto& b) {
      return a.ledger == b.ledger && a.ledger_must_exist == b.ledger_must_exist && a.note == b.note && a.replay_seed == b.replay_seed &&
             a.schema_sha256 == b.schema_sha256;
    };
    if (training.has_value() != other.training.has_value() || release.has_value() != other.release.has_value()) return false;
    if (training) {
      return training->plan == other.training->plan && training->model == other.training->model && beside(*training, *other.training);
    }
    return release && release->plan == other.release->plan && release->data == other.release->data &&
           release->picture == other.release->picture && beside(*release, *other.release);
  }
};

Meaning meaning_of(const json& plan) {
  Meaning meaning;
  try {
    if (plan["command"] == "train") {
      meaning.training = jobs::read_train_plan(plan.dump());
    } else {
      meaning.release = jobs::read_release_plan(plan.dump());
    }
  } catch (const jobs::PlanError& error) {
    meaning.refused = error.what();
  }
  return meaning;
}

/// That a plan in JSON is another one without a field, or none.
void expect_meant(const json& plan, const std::string& field) {
  const auto with = meaning_of(plan);
  ASSERT_EQ(with.refused, "");
  auto less = plan;
  less["options"].erase(field);
  EXPECT_FALSE(with.is_that_of(meaning_of(less)));
}

json with(json options, const json& more) {
  options.update(more);
  return options;
}

/// Another value than what holds where nothing is said.
json another_value(const jobs::Field& field) {
  if (std::holds_alternative<bool*>(field.value())) return true;
  if (const auto* words = std::get_if<jobs::OneOfWords>(&field.constraint())) {
    return jobs::held_by(field) == words->words.back() ? words->words.front() : words->words.back();
  }
  if (const auto* whole = std::get_if<jobs::WholeNumber>(&field.constraint())) return whole->least + 7;
  if (std::holds_alternative<jobs::AnyNumber>(field.constraint())) return 0.4375;
  return "one";
}

class EveryFieldOfTrainings : public EveryField {
 protected:
  /// What an algorithm needs.
  [[nodiscard]] json needs(const std::string& algorithm) const {
    const json stream{{"steps", people}, {"radius", 2}};
    const json batches{{"records", people}, {"batch-size", 40}, {"epochs", 1}, {"inner-steps", 1}};
    static const std::map<std::string, json> all{
        {"gradient-descent", {{"steps", 3}}},
        {"accelerated-gradient-descent", {{"steps", 3}}},
        {"mirror-descent", {{"steps", 3}, {"radius", 2}}},
        {"shaped-descent", {{"steps", 3}}},
        {"dp-sgd", {{"records", people}, {"batch-size", 40}, {"steps", 2}}},
        {"svrg", batches},
        {"svrg++", batches},
        {"objective-perturbation", {{"records", people}, {"epsilon", 1}}},
        {"online-frank-wolfe", stream},
        {"polyhedral-frank-wolfe", stream},
        {"online-to-batch", stream},
        {"private-ftrl", with(stream, {{"step-size", 0.1}})},
        {"one-pass-sgd", stream},
        {"noisy-sgd", {{"records", people}, {"batch-size", 10}, {"step-size", 0.1}, {"radius", 2}}},
        {"snowball-sgd", {{"records", people}, {"steps", 3}}},
        {"noisy-frank-wolfe", {{"records", people}, {"radius", 2}, {"steps", 3}}},
        {"gossip", {{"records", people}, {"learners", 4}, {"radius", 2}}},
        {"sufficient-statistics", {{"loss", "squared"}, {"label-bound", 1}, {"label", "y"}}},
    };
    const auto found = all.find(algorithm);
    return found == all.end() ? json::object() : found->second;
  }

  [[nodiscard]] json base(const std::string& algorithm) const {
    return with({{"data", path("table.csv")},
                 {"label", "y>0"},
                 {"drop", {"who", "day"}},
                 {"algorithm", algorithm},
                 {"ledger", path("run.db")},
                 {"model", path("model.json")},
                 {"replay-seed", 7}},
                needs(algorithm));
  }

  /// What a field is said to be, with what it needs beside it. \return null where any other value than the standard one will do
  [[nodiscard]] json said(const std::string& algorithm, const std::string& field) const {
    const json owners{{"unit", "who"}, {"most", 2}};
    json squared{{"loss", "squared"}, {"label", "y"}, {"label-bound", 2}};
    if (algorithm == "gradient-descent") squared["radius"] = 2;
    const json searched{{"steps", nullptr}, {"tune", 3}, {"tune-over", "steps=2,3"}, {"tune-by", "split"}};
    const json sparse{{"data", path("table.svm")}, {"format", "libsvm"}, {"features", 3}, {"label", nullptr}, {"drop", nullptr}};
    const json weights{{"weight", "age"}, {"weight-bound", 50}, {"categories", "who=p1,p2"}, {"drop", {"day"}}};
    const std::map<std::string, json> of_all{
        {"data", {{field, path("other.csv")}}},
        {"label", {{field, algorithm == "sufficient-statistics" ? "age" : "age>20"}}},
        {"model", {{field, path("another.json")}}},
        {"ledger", {{field, path("another.db")}}},
        {"format", sparse},
        {"features", with(sparse, {{field, 9}})},
        {"drop", {{field, {"who", "y"}}, {"label", "age>20"}}},
        {"bounds", {{field, "age=0,9"}}},
        {"categories", {{field, "age=1,2"}}},
        {"terms", {{field, "additive"}, {"bounds", "age=0,9"}}},
        {"ranges", {{field, "private"}}},
        {"start", {{field, "share"}}},
        {"shrink", {{field, "stein"}}},
        {"pairs", {{field, "age:day"}, {"drop", {"who"}}, {"missing", "day=3"}, {"bounds", {"age=0,9", "day=0,9"}}}},
        {"missing", {{field, "age=4"}}},
        {"schema", {{field, path("schema.json")}}},
        {"delimiter", {{field, ";"}, {"data", path("semicolons.csv")}}},
        {"decimal", {{field, ","}, {"delimiter", ";"}, {"data", path("semicolons.csv")}}},
        {"thousands", {{field, "'"}}},
        {"columns", {{field, "who,age,y,day"}, {"data", path("headless.csv")}}},
        {"loss", squared},
        {"label-bound", with(squared, {{field, 0.5}})},
        {"label-bounds", with(squared, {{field, "-1,2"}, {"label-bound", nullptr}})},
        {"smoothing", {{field, 0.25}, {"loss", "smoothed-hinge"}}},
        {"unit", owners},
        {"most", owners},
        {"empty-unit", with(owners, {{field, "each"}})},
        {"unit-period", {{field, "day"}, {"unit", {"who", "day"}}, {"most", 2}}},
        {"clip-by", with(owners, {{field, "row"}})},
        {"classes", {{field, "0,1"}, {"label", "y"}}},
        {"classes-by", {{field, "softmax"}, {"classes", "0,1"}, {"label", "y"}}},
        {"class-weight", {{field, "0=2"}, {"classes", "0,1"}, {"label", "y"}}},
        {"answer-at", with(searched, {{field, "one"}, {"tune-by", nullptr}})},
        {"tune", searched},
        {"tune-over", searched},
        {"tune-by", searched},
        {"tune-most", with(searched, {{field, 4}})},
        {"graph", {{field, path("graph.txt")}, {"topology", "graph"}}},
        {"public-count", {{field, 110}, {"adjacency", "add-or-remove-one"}}},
        {"records", {{field, people}}},
        {"sampling", {{field, "fixed"}, {"adjacency", "replace-one"}}},
        {"norm", {{field, 1.5}}},
        {"weight", weights},
        {"weight-bound", weights},
    };
    static const std::map<std::pair<std::string, std::string>, json> of_one{
        {{"dp-sgd", "epochs"}, {{"steps", nullptr}, {"epochs", 2}}},
        {{"dp-sgd", "microbatch"}, {{"batch-size", 8}, {"microbatch", 4}, {"adjacency", "replace-one"}}},
        {{"dp-sgd", "noise-multiplier"}, {{"noise-multiplier", 50}}},
        {{"gossip", "topology"}, {{"topology", "ring"}}},
        {{"sufficient-statistics", "smoothing"},
         {{"smoothing", 0.25}, {"loss", "smoothed-hinge"}, {"label", "y>0"}, {"label-bound", nullptr}}},
    };
    const auto one = of_one.find({algorithm, field});
    if (one != of_one.end()) return one->second;
    const auto found = of_all.find(field);
    return found == of_all.end() ? json{} : found->second;
  }

  /// Of fields whose other values take seconds, or more, and of those that have none: how the job refuses one.
  [[nodiscard]] static std::string why_refused(const std::string& algorithm, const std::string& field) {
    if (field == "answer-at") return "answer-at is 'one', must be";
    if (field == "tune-most") return "tune-most is for a random number of runs, not for ";
    if (field == "largest-batch") return "largest-batch is ";
    if (algorithm.starts_with("svrg") && field == "noise") return "noise is that of the paper, must be calibrated for SVRG";
    return {};
  }

  [[nodiscard]] json plan(const std::string& algorithm, const jobs::Field& field) const {
    auto more = said(algorithm, field.name());
    if (more.is_null()) more = {{field.name(), another_value(field)}};
    return plan_of("train", with(base(algorithm), more));
  }
};

TEST_F(EveryFieldOfTrainings, IsReachedByEachDoor) {
  for (const auto& algorithm : jobs::all_algorithms()) {
    jobs::TrainFields fields{*algorithm};
    auto standard = jobs::read_train_plan(plan_of("train", base(algorithm->name())).dump()).plan;
    jobs::FieldTable own;
    algorithm->add_fields(own, standard.algorithm, standard);
    for (const auto& group : fields.table().groups()) {
      for (const auto& field : group.fields) {
        const auto plan = this->plan(algorithm->name(), field);
        SCOPED_TRACE(plan["options"].dump());
        ASSERT_TRUE(plan["options"].contains(field.name()));
        expect_meant(plan, field.name());
        // What all share is the business of one of them.
        if (own.find(field.name()) == nullptr && algorithm->name() != "gradient-descent") continue;
        const auto why = why_refused(algorithm->name(), field.name());
        why.empty() ? expect_same(plan) : expect_refused(plan, why);
        expect_same_words(plan);
      }
    }
  }
  EXPECT_GT(ran_, 200U);
}

// What all share is known to C of each algorithm, too, and has a type.
TEST_F(EveryFieldOfTrainings, IsKnownToCOfEachAlgorithm) {
  std::size_t known = 0;
  for (const auto& algorithm : jobs::all_algorithms()) {
    jobs::TrainFields fields{*algorithm};
    for (const auto& group : fields.table().groups()) {
      for (const auto& field : group.fields) {
        const bool is_flag = std::holds_alternative<bool*>(field.value());
        const auto plan = plan_of("train", with(base(algorithm->name()), {{field.name(), is_flag ? json(3) : json(true)}}));
        EXPECT_EQ(refused_by_c(plan), fmt::format("options: {} is {}, must be {}", field.name(), is_flag ? "3" : "true",
                                                  is_flag                 ? "true or false"
                                                  : field.takes_numbers() ? "a text or a number"
                                                                          : "a text"))
            << algorithm->name();
        ++known;
      }
    }
  }
  EXPECT_GT(known, 600U);
}

class EveryFieldOfReleases : public EveryField {
 protected:
  [[nodiscard]] json base() const {
    return {{"data", path("table.csv")}, {"query", "mean(age)"}, {"bounds", "0,9"},
            {"ledger", path("run.db")},  {"replay-seed", 7},     {"delta", 0}};
  }

  /// What a field is said to be, with what it needs beside it. \return null where any other value than the standard one will do
  [[nodiscard]] json said(const std::string& field) const {
    const json owners{{"unit", "who"}, {"most", 2}};
    const json groups{{"by", "who"}, {"keys", "p1,p2"}};
    const json bands{{"by", "age"}, {"key-bounds", "0,9"}, {"key-bins", 3}};
    const std::map<std::string, json> all{
        {"data", {{field, path("other.csv")}}},
        {"ledger", {{field, path("another.db")}}},
        {"query", {{field, {"sum(age)", "mean(age)"}}}},
        {"queries", {{field, path("queries.json")}, {"query", nullptr}, {"bounds", nullptr}}},
        {"where", {{field, "age>3"}}},
        {"bounds", {{field, "0,8"}}},
        {"clip-unit-sum", {{field, "0,8"}, {"query", "sum(age)"}, {"bounds", nullptr}}},
        {"bins", {{field, 7}, {"query", "histogram(age)"}}},
        {"edges", {{field, "0,3,9"}, {"query", "histogram(age)"}, {"bounds", nullptr}}},
        {"categories", {{field, "p1,p2"}, {"query", "histogram(who)"}, {"bounds", nullptr}}},
        {"top", {{field, 2}, {"query", "mode(who)"}, {"categories", "p1,p2,p3"}, {"bounds", nullptr}}},
        {"candidates", {{field, 9}, {"query", "median(age)"}}},
        {"most-keys", with(owners, {{field, 1}, {"query", "keys(who)"}, {"bounds", nullptr}, {"delta", 1e-5}, {"noise", "gaussian"}})},
        {"noise", {{field, "gaussian"}, {"delta", 1e-5}}},
        {"by", groups},
        {"keys", groups},
        {"key-bounds", bands},
        {"key-bins", bands},
        {"key-edges", {{"by", "age"}, {field, "0,3,9"}}},
        {"most-per-group", with(owners, with(bands, {{field, 1}}))},
        {"missing", {{field, "age=4"}}},
        {"complete", {{field, "age"}}},
        {"schema", {{field, path("schema.json")}, {"bounds", nullptr}}},
        {"delimiter", {{field, ";"}, {"data", path("semicolons.csv")}}},
        {"decimal", {{field, ","}, {"delimiter", ";"}, {"data", path("semicolons.csv")}}},
        {"thousands", {{field, "'"}}},
        {"columns", {{field, "who,age,y,day"}, {"data", path("headless.csv")}}},
        {"unit", owners},
        {"most", owners},
        {"empty-unit", with(owners, {{field, "each"}})},
        {"interval", {{field, true}, {"query", "median(age)"}}},
        {"unit-period", {{field, "day"}, {"unit", {"who", "day"}}, {"most", 2}}},
        {"svg", {{field, path("picture.svg")}}},
    };
    const auto found = all.find(field);
    return found == all.end() ? json{} : found->second;
  }
};

TEST_F(EveryFieldOfReleases, IsReachedByEachDoor) {
  jobs::ReleaseFields fields;
  for (const auto& group : fields.table().groups()) {
    for (const auto& field : group.fields) {
      auto more = said(field.name());
      if (more.is_null()) more = {{field.name(), another_value(field)}};
      const auto plan = plan_of("release", with(base(), more));
      SCOPED_TRACE(plan["options"].dump());
      ASSERT_TRUE(plan["options"].contains(field.name()));
      expect_meant(plan, field.name());
      expect_same(plan);
      expect_same_words(plan);
    }
  }
  EXPECT_GT(ran_, 30U);
}

// A query that is an object says all itself. Its fields are those of the schema of plans.
TEST_F(EveryFieldOfReleases, IsReachedByEachDoorInAQuery) {
  const std::map<std::string, json> said{
      {"function", {{"function", "mean"}}},
      {"column", {{"column", "y"}}},
      {"expression", {{"column", nullptr}, {"expression", "age * 2 - 1"}}},
      {"fractions", {{"function", "quantile"}, {"fractions", {0.25, 0.5}}}},
      {"where", {{"where", "age>3"}}},
      {"bounds", {{"bounds", {0, 8}}}},
      {"clip_unit_sum", {{"bounds", nullptr}, {"clip_unit_sum", {0, 8}}}},
      {"bins", {{"function", "histogram"}, {"bins", 7}}},
      {"edges", {{"function", "histogram"}, {"bounds", nullptr}, {"edges", {0, 3, 9}}}},
      {"categories", {{"function", "histogram"}, {"column", "who"}, {"bounds", nullptr}, {"categories", {"p1", "p2"}}}},
      {"top", {{"function", "mode"}, {"column", "who"}, {"bounds", nullptr}, {"categories", {"p1", "p2", "p3"}}, {"top", 2}}},
      {"candidates", {{"function", "median"}, {"candidates", 9}}},
      {"interval", {{"function", "median"}, {"interval", true}}},
      {"most_keys", {{"function", "keys"}, {"column", "who"}, {"bounds", nullptr}, {"most_keys", 1}}},
      {"by", {{"by", "who"}, {"keys", {"p1", "p2"}}}},
      {"keys", {{"by", "who"}, {"keys", {"p1", "p2"}}}},
      {"key_bounds", {{"by", "age"}, {"key_bounds", {0, 9}}, {"key_bins", 3}}},
      {"key_bins", {{"by", "age"}, {"key_bounds", {0, 9}}, {"key_bins", 3}}},
      {"key_edges", {{"by", "age"}, {"key_edges", {0, 3, 9}}}},
      {"most_per_group", {{"by", "age"}, {"key_bounds", {0, 9}}, {"key_bins", 3}, {"most_per_group", 1}}},
      {"types", {{"where", "day=='2020-01-03'"}, {"types", {{"day", "date"}}}}},  // without the type a quoted date is a text
      {"weight", {{"weight", 2}}},
  };
  const auto schema = json::parse(jobs::plan_schema());
  for (const auto& [field, rule] : schema["$defs"]["query"]["properties"].items()) {
    SCOPED_TRACE(field);
    json query{{"function", "sum"}, {"column", "age"}, {"bounds", {0, 9}}};
    query.update(said.at(field));
    for (const auto& [name, value] : json::object_t(query)) {
      if (value.is_null()) query.erase(name);
    }
    ASSERT_TRUE(query.contains(field));
    const auto of = [&, &name = field](const json& one) {
      json options{{"query", json::array({one})}, {"bounds", nullptr}};
      if (name == "weight") options["query"].push_back({{"function", "count"}, {"where", "y>0"}});
      if (name == "most_keys") options.update({{"unit", "who"}, {"most", 2}, {"delta", 1e-5}, {"noise", "gaussian"}});
      if (name == "most_per_group") options.update({{"unit", "who"}, {"most", 2}});
      auto plan = plan_of("release", with(base(), options));
      plan["version"] = 2;
      return plan;
    };
    auto less = query;
    less.erase(field);
    const auto meant = meaning_of(of(query));
    ASSERT_EQ(meant.refused, "");
    EXPECT_FALSE(meant.is_that_of(meaning_of(of(less))));
    expect_same(of(query));
    expect_same_words(of(query));
  }
  EXPECT_EQ(ran_, said.size());
}

}  // namespace
}  // namespace surety_test::every_field_test
