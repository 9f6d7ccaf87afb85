// A run as one value: printed, kept in a file, and run from there.
#include <support/surety_process.h>

namespace surety_test::plan_test {
namespace {

class Plan : public CommandTest {
 protected:
  /// Prints the plan of the words into plan.json, and looks at it.
  [[nodiscard]] nlohmann::json planned(const Words& words) const {
    const auto before = files();
    const auto outcome = surety(words + Words{"--print-plan"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(files(), before) << "a plan charges and writes nothing";
    write(path("plan.json"), outcome.out);
    return outcome.json();
  }
  void change(const nlohmann::json& plan) const { write(path("plan.json"), plan.dump()); }
  [[nodiscard]] Words replayed(const std::string& data, const Words& more = {}) const {
    return train(data) + Words{"--replay-seed", "4"} + more;
  }
  [[nodiscard]] Words from_plan(const std::string& command = "train") const { return {command, "--plan", path("plan.json")}; }
};

TEST_F(Plan, OfATrainingIsTheSameRunWhenItIsReadBack) {
  const auto data = small_data(300);
  const Words base{"train",    data,           "--label", "label>0",          "--drop",        "y", "--epsilon", "1", "--delta", "1e-5",
                   "--ledger", path("run.db"), "--model", path("model.json"), "--replay-seed", "4"};
  for (const Words& more : std::vector<Words>{
           {},
           {"--algorithm", "svrg", "--records", "300", "--step-size", "0.1", "--inner-steps", "3"},
           {"--algorithm", "online-frank-wolfe", "--steps", "300", "--radius", "2", "--norm", "1.5"},
           {"--algorithm", "noisy-sgd", "--records", "300", "--radius", "2", "--form-is-public"},
           {"--algorithm", "gossip", "--records", "300", "--radius", "2", "--learners", "4"},
           {"--algorithm", "gradient-descent", "--bounds", "x=-3,3", "--adjacency", "zero-out", "--iterate", "average", "--clip", "0.3"}}) {
    std::filesystem::remove(path("run.db"));  // a ledger is of one adjacency
    const auto plan = planned(base + more);
    EXPECT_EQ(plan["version"], 2);
    EXPECT_EQ(plan["options"]["algorithm"], more.empty() ? "shaped-descent" : more[1]);
    const auto first = surety(base + more + Words{"--json"});
    ASSERT_EQ(first.code, 0) << first.err;
    const auto model = contents(path("model.json"));
    write(path("model.json"), "");
    const auto second = surety(from_plan() + Words{"--json"});
    ASSERT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(contents(path("model.json")), model);
    EXPECT_EQ(second.json()["event"], first.json()["event"]);
    EXPECT_EQ(second.json()["epsilon"], first.json()["epsilon"]);
    EXPECT_EQ(planned(from_plan()), plan);
  }
}

// A plan of version 1 is from when nothing was counted unless it said so: it keeps its event and its noise.
TEST_F(Plan, OfATrainingOfVersion1CountsNoRecordsUnlessItSaysSo) {
  const Words base{
      "train", small_data(300), "--label", "label>0",  "--drop",       "y",       "--algorithm",      "gradient-descent", "--epsilon",
      "1",     "--delta",       "1e-5",    "--ledger", path("run.db"), "--model", path("model.json"), "--replay-seed",    "4"};
  const auto counted = planned(base);
  const auto plain = planned(base + Words{"--no-count-records"});
  EXPECT_NE(counted["event"], plain["event"]);
  EXPECT_EQ(counted["event"], planned(base + Words{"--count-records"})["event"]);
  EXPECT_EQ(plain["options"]["no-count-records"], true);
  auto old = plain;
  old["version"] = 1;
  old["options"].erase("no-count-records");
  change(old);  // with its event and its noise, which must follow from the rest
  EXPECT_EQ(planned(from_plan()), plain);
  EXPECT_EQ(surety(from_plan() + Words{"--json"}).json()["planned"],
            surety(base + Words{"--no-count-records", "--json"}).json()["planned"]);
  // What the command line says goes with the plan.
  old.erase("event");
  old.erase("noise");
  change(old);
  EXPECT_EQ(planned(from_plan() + Words{"--count-records"})["event"], counted["event"]);
  old["options"]["count-records"] = true;
  change(old);
  EXPECT_EQ(planned(from_plan())["event"], counted["event"]);
  for (const int version : {1, 2}) {
    old["version"] = version;
    old["options"]["count-records"] = false;
    change(old);
    EXPECT_EQ(planned(from_plan()), plain) << version;
  }
  old["options"].erase("count-records");
  change(old);
  EXPECT_EQ(planned(from_plan()), counted) << "of version 2";
  old["options"]["no-count-records"] = 1;
  change(old);
  expect_refused_untouched(from_plan(), 3, {"no-count-records is 1, must be true or false"});
}

// The algorithm decides what a plan of version 1 means before its options are parsed: with ["dp-sgd"] it counted records, with "dp-sgd" it does not.
TEST_F(Plan, HasNoListWhereAFieldTakesOneValue) {
  const auto data = small_data();
  const auto refused = [&](const char* command, const nlohmann::json& plan) {
    auto names = std::vector<std::string>{"data", "ledger"};
    if (std::string{command} == "train") names.insert(names.end(), {"algorithm", "loss", "model", "label", "steps"});
    for (const auto& name : names) {
      auto other = plan;
      ASSERT_TRUE(other["options"].contains(name)) << name;
      other["version"] = 1;
      other["options"][name] = nlohmann::json::array({plan["options"][name]});
      change(other);
      expect_refused_untouched(from_plan(command), 3, {name + " is a list, must be one value"});
    }
  };
  refused("release", planned({"release", data, "--query", "count()", "--epsilon", "1", "--ledger", path("run.db")}));
  refused("train", planned({"train", data, "--label", "label>0", "--algorithm", "gradient-descent", "--steps", "3", "--epsilon", "1",
                            "--delta", "1e-5", "--ledger", path("run.db"), "--model", path("model.json")}));
}

// "--note=" took the next option for its value: a plan of version 1 counted records, and limits were kept that it lifts.
TEST_F(Plan, WithAnEmptyTextKeepsItsOtherFields) {
  const auto data = small_data();
  auto plan = planned({"train",
                       data,
                       "--label",
                       "label>0",
                       "--algorithm",
                       "gradient-descent",
                       "--steps",
                       "3",
                       "--epsilon",
                       "1",
                       "--delta",
                       "1e-5",
                       "--ledger",
                       path("run.db"),
                       "--model",
                       path("model.json"),
                       "--note",
                       "x",
                       "--no-count-records",
                       "--no-limits"});
  plan["options"]["note"] = "";
  change(plan);
  EXPECT_EQ(planned(from_plan())["options"], plan["options"]);
  EXPECT_EQ(
      planned({"train", data, "--label", "label>0", "--algorithm", "gradient-descent", "--steps", "3", "--epsilon", "1", "--delta", "1e-5",
               "--ledger", path("run.db"), "--model", path("model.json"), "--note=", "--no-count-records", "--no-limits"})["options"],
      plan["options"]);
}

// A text is no truth value. As an option with a value, "yes" would turn a flag on, and "no" would say nothing.
TEST_F(Plan, HasFlagsThatAreTrueOrFalse) {
  const auto data = small_data();
  const auto refused = [&](const char* command, const nlohmann::json& plan, const std::string& flag) {
    for (const nlohmann::json& value : {nlohmann::json("yes"), nlohmann::json("no"), nlohmann::json(""), nlohmann::json(1)}) {
      auto other = plan;
      other["options"][flag] = value;
      change(other);
      expect_refused_untouched(from_plan(command), 3, {flag + " is " + value.dump() + ", must be true or false"});
    }
  };
  const auto release = planned({"release", data, "--query", "count() where x>0", "--epsilon", "1", "--ledger", path("run.db")});
  for (const auto* const flag : {"form-is-public", "no-limits", "ledger-must-exist", "json"}) refused("release", release, flag);
  const auto training = planned({"train", data, "--label", "label>0", "--algorithm", "gradient-descent", "--epsilon", "1", "--delta",
                                 "1e-5", "--ledger", path("run.db"), "--model", path("model.json")});
  for (const auto* const flag : {"form-is-public", "no-limits", "ledger-must-exist", "count-records", "no-count-records", "json"}) {
    refused("train", training, flag);
  }
  // With one of these a plan would end with exit code 0 and run nothing, or lose a file.
  for (const auto* const flag : {"print-plan", "list-algorithms", "overwrite"}) {
    auto changed = training;
    changed["options"][flag] = true;
    change(changed);
    expect_refused_untouched(from_plan("train"), 3,
                             {"plan.json: options have '" + std::string{flag} + "', which must be said where the plan is run"});
  }
  auto other = training;
  other["options"]["json"] = true;
  change(other);
  EXPECT_EQ(planned(from_plan()), training);
}

TEST_F(Plan, OfAReleaseIsTheSameRunWhenItIsReadBack) {
  const Words words{"release", small_data(), "--query", "mean(x)",      "--where", "label==1", "--bounds",     "-3,3",          "--epsilon",
                    "0.7",     "--delta",    "1e-6",    "--confidence", "0.9",     "--ledger", path("run.db"), "--replay-seed", "9"};
  const auto plan = planned(words);
  EXPECT_EQ(plan["command"], "release");
  EXPECT_EQ(plan["version"], 2);
  EXPECT_EQ(plan["options"]["query"],
            nlohmann::json::parse(json_text("[{'function': 'mean', 'column': 'x', 'bounds': [-3.0, 3.0], 'where': 'label==1',"
                                            " 'types': {'label': 'number'}}]")));
  EXPECT_FALSE(plan["options"].contains("bounds") || plan["options"].contains("where")) << "queries say all themselves";
  const auto first = surety(words + Words{"--json"}).json();
  const auto second = surety(from_plan("release") + Words{"--json"}).json();
  for (const char* field : {"value", "interval", "event", "epsilon", "confidence"}) EXPECT_EQ(second[field], first[field]) << field;
  EXPECT_EQ(runs_in(path("run.db")), 2U);
}

// Bounds belong to a column. One pair for several is refused before the charge, unless a plan of version 1 says it.
TEST_F(Plan, OfAReleaseHasBoundsForEachColumn) {
  const auto data = small_data();
  const Words two{"release", data,      "--query",   "mean(x)", "--query",  "median(y) where x>0",
                  "--query", "count()", "--epsilon", "0.7",     "--ledger", path("run.db")};
  expect_refused_untouched(two + Words{"--bounds", "-3,3"}, 2,
                           {"--bounds is given once for 2 columns ('x', 'y')", "--bounds x=lower,upper --bounds y=lower,upper"});
  const Words own{"--bounds", "x=-3,3", "--bounds", "y=0,5"};
  const auto plan = planned(two + own);
  EXPECT_EQ(plan["options"]["query"][0]["bounds"], (nlohmann::json{-3, 3}));
  EXPECT_EQ(plan["options"]["query"][1]["bounds"], (nlohmann::json{0, 5}));
  EXPECT_EQ(planned(from_plan("release")), plan);
  // They are those that each query would say itself.
  const auto mean = json_text("{'query': 'mean(x)', 'bounds': [-3, 3]}");
  const auto median = json_text("{'query': 'median(y)', 'where': 'x>0', 'bounds': [0, 5]}");
  const auto objects = planned(Words{"release", data, "--query", mean, "--query", median, "--query", json_text("{'query': 'count()'}"),
                                     "--epsilon", "0.7", "--ledger", path("run.db")});
  EXPECT_EQ(objects["event"], plan["event"]);
  EXPECT_EQ(objects["noise"], plan["noise"]);
  // A pair of its own for one column, and the other pair for the only one that is left.
  EXPECT_EQ(planned(two + Words{"--bounds", "y=0,5", "--bounds", "-3,3"})["event"], plan["event"]);
  // One column may be asked several times by one pair.
  const auto twice = planned(Words{"release", data, "--query", "mean(x)", "--query", "variance(x)", "--bounds", "-3,3", "--epsilon", "1",
                                   "--ledger", path("run.db")});
  for (const auto& query : twice["options"]["query"]) EXPECT_EQ(query["bounds"], (nlohmann::json{-3, 3}));
  auto old = plan;
  old["version"] = 1;
  old["options"]["query"] = {"mean(x)", "median(y) where x>0"};
  old["options"]["bounds"] = "-3,3";
  for (const char* field : {"event", "noise", "unit"}) old.erase(field);
  change(old);
  EXPECT_EQ(surety(from_plan("release") + Words{"--print-plan"}).code, 0) << "a plan of version 1 keeps its meaning";
  expect_refused_untouched(two + own + Words{"--bounds", "x=0,1"}, 2, {"--bounds names column 'x' twice"});
  expect_refused_untouched(two + own + Words{"--bounds", "z=0,1"}, 2, {"--bounds names column 'z', which none of the queries clamps"});
  expect_refused_untouched(two + Words{"--bounds", "0,1", "--bounds", "0,2"}, 2, {"--bounds is given twice without a column"});
  expect_refused_untouched(two + Words{"--bounds", "x=0"}, 2, {"--bounds is", "must be"});
  expect_refused_untouched(two + Words{"--bounds", "x=-3,3"}, 2, {"bounds"});
  // What else is said once and belongs to a column.
  const Words sums{"release", data,      "--unit", "label",     "--most", "2",        "--query",
                   "sum(x)",  "--query", "sum(y)", "--epsilon", "1",      "--ledger", path("run.db")};
  expect_refused_untouched(sums + Words{"--clip-unit-sum", "0,1"}, 2, {"--clip-unit-sum is given once for 2 columns ('x', 'y')"});
  const Words cells{"release", data,        "--query", "histogram(x)", "--query",     "histogram(y)", "--categories",
                    "0,1",     "--epsilon", "1",       "--ledger",     path("run.db")};
  expect_refused_untouched(cells, 2, {"--categories is given once for 2 columns ('x', 'y')"});
}

TEST_F(Plan, OfSeveralQueriesHoldsThemAllAndNoFile) {
  const auto data = small_data();
  write(path("queries.json"),
        json_text("[{'query': 'mean(x)', 'bounds': [-3, 3], 'weight': 2}, {'query': 'count()', 'by': 'label', 'keys': ['0', '1']}]"));
  const Words words{"release", data,       "--queries",    path("queries.json"), "--epsilon",
                    "0.7",     "--ledger", path("run.db"), "--replay-seed",      "9"};
  const auto plan = planned(words);
  EXPECT_EQ(plan["options"]["query"],
            nlohmann::json::parse(json_text("[{'function': 'mean', 'column': 'x', 'bounds': [-3.0, 3.0], 'weight': 2.0},"
                                            " {'function': 'count', 'by': 'label', 'keys': ['0', '1']}]")));
  EXPECT_FALSE(plan["options"].contains("queries"));
  const auto first = surety(words + Words{"--json"}).json();
  write(path("queries.json"), "no queries");
  const auto second = surety(from_plan("release") + Words{"--json"}).json();
  EXPECT_EQ(first["queries"].size(), 2U);
  EXPECT_EQ(first["queries"], second["queries"]);
  EXPECT_EQ(planned(from_plan("release")), plan);
  const auto run = surety({"ledger", "show", path("run.db"), "1", "--json"}).json();
  EXPECT_EQ(plan["event"], run["planned"]);
  auto heavier = plan;
  heavier["options"]["query"][0]["weight"] = 3;
  change(heavier);
  expect_refused(from_plan("release"), 2, {"event is", "as follows"});
}

TEST_F(Plan, SaysWhatTheRunThenCharges) {
  const auto words = replayed(small_data());
  const auto plan = planned(words);
  ASSERT_EQ(surety(words).code, 0);
  const auto run = surety({"ledger", "show", path("run.db"), "1", "--json"}).json();
  EXPECT_EQ(plan["event"], run["planned"]);
  EXPECT_EQ(plan["unit"], run["unit"]);
  EXPECT_EQ(plan["target"], run["promise"]);
}

TEST_F(Plan, WrittenByHandMayLeaveOutWhatFollows) {
  auto plan = planned(replayed(small_data()));
  for (const char* field : {"event", "noise", "unit"}) plan.erase(field);
  change(plan);
  EXPECT_EQ(surety(from_plan()).code, 0);
}

TEST_F(Plan, NeverRunsAsSomethingElseThanItSays) {
  const auto plan = planned(replayed(small_data()));
  const auto refused = [&](const nlohmann::json& changed, int code, const Words& said) {
    change(changed);
    expect_refused_untouched(from_plan(), code, Words{"plan.json"} + said);
  };
  const auto with = [&](const char* field, const nlohmann::json& value) {
    auto changed = plan;
    changed[field] = value;
    return changed;
  };
  auto less = plan["event"];
  less["event"]["repeat"]["count"] = 4;
  refused(with("event", less), 2, {"event is", "must be"});
  refused(with("noise", plan["noise"].get<double>() * 2), 2, {"noise is", "must be"});
  refused(with("unit", {{"name", "patient"}, {"most", 5}}), 2, {"unit is", "must be"});
  refused(with("version", 3), 3, {"version is 3, must be from 1 to 2"});
  refused(with("command", "release"), 3, {"command is", "must be \"train\""});
  refused(with("surprise", 1), 3, {"unknown field 'surprise'"});
  auto missing = plan;
  missing.erase("target");
  refused(missing, 3, {"'target' is missing"});
  refused(nlohmann::json::array(), 3, {"no plan"});
  auto twice = plan;
  twice["options"]["epsilon"] = 3;
  refused(twice, 3, {"options have 'epsilon'"});
  write(path("plan.json"), "{");
  expect_refused_untouched(from_plan(), 3, {"plan.json", "not JSON"});
  expect_refused_untouched({"train", "--plan", path("nothing.json")}, 3, {"nothing.json", "No such file"});
}

// A plan is an input: nothing that the run writes takes its place, whatever name says so.
TEST_F(Plan, IsNotReplacedByWhatTheRunWrites) {
  auto plan = planned(replayed(small_data()));
  plan["options"]["model"] = path("plan.json");
  change(plan);
  expect_refused_untouched(from_plan(), 2, {"--model", "must be another file than --plan"});
  std::filesystem::create_symlink(path("plan.json"), path("link.json"));
  expect_refused_untouched({"train", "--plan", path("link.json")}, 2, {"--model", "must be another file than --plan"});
  plan["options"]["model"] = path("model.json");
  plan["options"]["ledger"] = path("plan.json");
  change(plan);
  expect_refused_untouched(from_plan(), 2, {"--plan", "must be another file than the ledger"});
}

TEST_F(Plan, AndItsDataAreNotBothStandardInput) {
  auto plan = planned(replayed(small_data()));
  plan["options"]["data"] = "-";
  change(plan);
  const auto input = path("plan.json");
  const auto outcome = surety({"train", "--plan", "-"}, {.standard_input = input.c_str()});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("both standard input"), std::string::npos) << outcome.err;
}

TEST_F(Plan, IsHeldToTheSameChecksAsWords) {
  const auto plan = planned(replayed(small_data()));
  const auto refused = [&](const char* option, const nlohmann::json& value, const Words& said) {
    auto changed = plan;
    changed["options"][option] = value;
    change(changed);
    expect_refused_untouched(from_plan(), 2, said);
  };
  refused("steps", -1, {"plan.json: steps is '-1', must be a whole number from 1"});
  refused("steps", 1.5, {"plan.json: steps is '1.5', must be a whole number"});
  refused("microbatch", 2, {"--microbatch is for dp-sgd, not for gradient-descent"});
  auto changed = plan;
  changed["options"]["stps"] = 2;
  change(changed);
  expect_refused_untouched(from_plan(), 3, {"plan.json: options: unknown field 'stps'", "did you mean 'steps'?"});
  change(plan);
  expect_refused_untouched(from_plan() + Words{"--steps", "7"}, 2, {"--steps is given by the plan, too; remove one of them"});
  expect_refused_untouched(from_plan() + Words{"other.csv"}, 2, {"data is given by the plan, too; remove one of them"});
}

// A plan that asks for help would be answered without a run.
TEST_F(Plan, HasFieldsThatAreNames) {
  auto plan = planned(replayed(small_data()));
  plan["options"].erase("data");
  for (const char* field : {"--steps", "note=--steps", "", "-", "Steps", "steps 3", "help", "--help", "version"}) {
    auto changed = plan;
    changed["options"][field] = "data.csv";
    change(changed);
    expect_refused_untouched(from_plan(), 3, {"plan.json: options: unknown field '" + std::string{field} + "'"});
  }
}

}  // namespace
}  // namespace surety_test::plan_test
