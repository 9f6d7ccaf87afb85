// --unit: promises to owners of several rows, through the command. What neighbours may see is in neighbour_test.
#include <support/surety_process.h>

#include <fmt/format.h>

namespace surety_test::unit_test {
namespace {

class Units : public CommandTest {
 protected:
  [[nodiscard]] Words release(const std::string& data, const Words& more) const {
    return Words{"release", data, "--query", "mean(x)", "--bounds", "0,10", "--epsilon", "1", "--ledger", path("run.db")} + more;
  }
  [[nodiscard]] Words train(const std::string& data, const std::string& algorithm, const Words& more = {}) const {
    return Words{"train", data,       "--label",      "label>0", "--algorithm",      algorithm, "--epsilon", "1",      "--delta",
                 "1e-5",  "--ledger", path("run.db"), "--model", path("model.json"), "--unit",  "who",       "--most", "2"} +
           more;
  }
  /// 30 owners of 1 to 4 rows.
  [[nodiscard]] std::string owned() const {
    std::string text = "who,row,x,label\n";
    for (int who = 0; who < 30; ++who) {
      for (int k = 0; k <= who % 4; ++k)
        text += "p" + std::to_string(who) + ",0," + std::to_string((who + k) % 11) + "," + std::to_string(k % 2) + "\n";
    }
    write(path("owned.csv"), text);
    return path("owned.csv");
  }
};

const Words of_two{"--unit", "who", "--most", "2"};
const std::string told_of_two = "one who of at most 2 rows (names byte by byte, rows without one: one unit)";
const nlohmann::json json_of_two{{"name", "who"},    {"most", 2},        {"names", "bytes"},        {"empty", "one"},
                                 {"delimiter", ","}, {"place", nullptr}, {"record_bytes", 1 << 26}, {"quoted_lines", 100}};

TEST_F(Units, StandInReportLedgerAndPlan) {
  const auto data = owned();
  const auto outcome = surety(release(data, of_two));
  EXPECT_NE(outcome.out.find("\nunit         " + told_of_two + "\n"), std::string::npos) << outcome.out;
  const auto report = surety(release(data, of_two + Words{"--json"})).json();
  EXPECT_EQ(report["unit"], json_of_two);
  EXPECT_FALSE(report.contains("records")) << "the number of rows is private";
  // Rows come and go, beside their weight in the count: 5 + 5 for each of two.
  EXPECT_NEAR(report["l1_sensitivity"].get<double>(), 20, 1e-9);
  EXPECT_NE(surety({"ledger", "show", path("run.db")}).out.find(told_of_two), std::string::npos);
  EXPECT_NE(surety({"audit", path("run.db"), "--delta", "0"}).out.find(told_of_two), std::string::npos);

  const auto plan = surety(release(data, of_two + Words{"--print-plan"}));
  EXPECT_EQ(plan.json()["unit"], json_of_two);
  write(path("plan.json"), plan.out);
  EXPECT_EQ(surety({"release", "--plan", path("plan.json")}).code, 0);
  auto changed = plan.json();
  changed["unit"]["most"] = 3;
  write(path("plan.json"), changed.dump());
  expect_refused({"release", "--plan", path("plan.json")}, 2, {"unit is", "must be"});
}

TEST_F(Units, HaveNoIntervalsForAPopulation) {
  const auto report = surety(train(owned(), "sufficient-statistics", {"--loss", "squared", "--label-bound", "1", "--json"})).json();
  EXPECT_EQ(report["population_intervals"]["why_not"], "rows of one unit are not independent") << report;
}

TEST_F(Units, AreScoredOnThoseWhoAreHeldOut) {
  const auto report = surety(train(owned(), "shaped-descent", {"--json"})).json();
  const auto& score = report["held_out_score"];
  EXPECT_EQ(score["name"], "brier") << report;
  EXPECT_TRUE(score.contains("usable_units"));
  EXPECT_NE(surety(train(owned(), "dp-sgd", {"--records", "30"})).out.find("\nscore        none that is private: "), std::string::npos);
}

TEST_F(Units, OfOneRowAreAsManyAsIsPublic) {
  const auto report = surety(release(owned(), {"--unit", "who", "--most", "1", "--json"})).json();
  EXPECT_EQ(report["records"], 30);
  EXPECT_EQ(report["l1_sensitivity"], 10.0);
}

TEST_F(Units, OfAColumnNamedRowAreNoRows) {
  const auto data = owned();
  const auto name_of = [&](const std::string& column) {
    std::filesystem::remove(path("run.db"));
    return surety(release(data, {"--unit", column, "--most", "1", "--json"})).json()["unit"]["name"];
  };
  EXPECT_EQ(name_of("row"), "column row");
  write(path("owned.csv"), "column row,x\n1,2\n");
  EXPECT_EQ(name_of("column row"), "column column row");
}

TEST_F(Units, HaveLedgersWithBudgets) {
  const Words create{"ledger", "create", path("run.db"), "--adjacency", "replace-one", "--epsilon", "3", "--delta", "1e-5"};
  expect_refused_untouched(create + Words{"--unit", "who"}, 2, {"--most is missing"});
  EXPECT_NE(surety(create + of_two).out.find("for " + told_of_two + " with a budget"), std::string::npos);
  const auto data = owned();
  EXPECT_EQ(surety(release(data, of_two)).code, 0);
  expect_refused(train(data, "dp-sgd", {"--records", "30", "--batch-size", "3", "--steps", "4", "--clip-by", "row"}), 2,
                 {"no filter of kind renyi is proved for users(2, poisson("});
  expect_refused(Words{"release", data, "--query", "mean(x)", "--bounds", "0,10", "--epsilon", "3", "--ledger", path("run.db")} + of_two, 1,
                 {"budget"});
}

TEST_F(Units, TwoOfThemShareNoLedger) {
  const auto data = owned();
  ASSERT_EQ(surety(release(data, of_two)).code, 0);
  for (const auto& other : {Words{"--unit", "who", "--most", "3"}, Words{"--unit", "row", "--most", "2"}}) {
    expect_refused_untouched(release(data, other), 2, {"unit of the plan", "must be the ledger's, " + told_of_two});
  }
}

TEST_F(Units, ComeByStandardInputAndCompressed) {
  const auto data = owned();
  const Words words = release("-", Words{"--replay-seed", "3"} + of_two + Words{"--json"});
  const auto value_of = [&](const Surroundings& around) {
    std::filesystem::remove(path("run.db"));
    return surety(words, around).json()["value"];
  };
  const auto expected = value_of({.standard_input = data.c_str()});
  const auto zipped = path("owned.csv.gz");
  write(zipped, gzip(contents(data)));
  EXPECT_EQ(value_of({.standard_input = zipped.c_str()}), expected);
  const std::string script = "cat " + data + " | \"$@\"";
  EXPECT_EQ(value_of({.launcher = {"/bin/sh", "-c", script, "sh"}}), expected);
  std::filesystem::remove(path("run.db"));
  EXPECT_EQ(surety(release(data, Words{"--replay-seed", "3"} + of_two + Words{"--json"})).json()["value"], expected);
}

TEST_F(Units, AreRefusedWhereTheyAreSaidInPart) {
  const auto data = owned();
  expect_refused_untouched(release(data, {"--unit", "who"}), 2, {"--most is missing"});
  expect_refused_untouched(release(data, {"--most", "2"}), 2, {"--unit is missing"});
  expect_refused_untouched(release(data, {"--empty-unit", "each"}), 2, {"--empty-unit is for --unit"});
  expect_refused_untouched(release(data, {"--unit", "whose", "--most", "2"}), 3, {"column 'whose' is missing"});
  expect_refused_untouched(release(data, {"--unit", "who", "--most", "0"}), 2, {"--most"});
  expect_refused_untouched({"train", data, "--format", "libsvm", "--features", "3", "--epsilon", "1", "--delta", "1e-5", "--ledger",
                            path("run.db"), "--model", path("model.json"), "--unit", "who", "--most", "2"},
                           2, {"--unit is for CSV files"});
  for (const char* label : {"who", "who==p1"}) {
    auto words = train(data, "shaped-descent");
    words[3] = label;
    expect_refused_untouched(words, 2, {"--unit is 'who', must be another column than the label's"});
  }
}

TEST_F(Units, AreRefusedByWhatHasNoTheoremForThem) {
  const auto data = owned();
  for (const auto& algorithm :
       {"svrg", "svrg++", "output-perturbation", "objective-perturbation", "online-frank-wolfe", "polyhedral-frank-wolfe",
        "online-to-batch", "private-ftrl", "one-pass-sgd", "noisy-sgd", "noisy-frank-wolfe", "gossip"}) {
    expect_refused_untouched(train(data, algorithm), 2, {"--unit is not for " + std::string{algorithm} + ": "});
  }
  const Words batches{"--records", "30", "--batch-size", "3", "--steps", "4"};
  expect_refused_untouched(train(data, "dp-sgd", batches + Words{"--sampling", "fixed"}), 2, {"must be poisson or allocated with --unit"});
  expect_refused_untouched(train(data, "dp-sgd", batches + Words{"--sampling", "truncated", "--largest-batch", "5"}), 2, {"with --unit"});
  expect_refused_untouched(train(data, "dp-sgd", batches + Words{"--microbatch", "3"}), 2, {"must be 1 with --unit"});
  expect_refused_untouched(train(data, "dp-sgd", batches + Words{"--sampling", "allocated", "--clip-by", "row", "--adjacency", "zero-out"}),
                           2, {"must be poisson with --clip-by row"});
  expect_refused_untouched(train(data, "dp-sgd", {"--records", "29", "--batch-size", "3", "--steps", "4"}), 3,
                           {"has 30 units, must have the 29"});
}

TEST_F(Units, AreTrainedOnAndCharged) {
  const auto data = owned();
  const auto report = surety(train(data, "gradient-descent", {"--json"})).json();
  EXPECT_EQ(report["units"], 30);
  EXPECT_FALSE(report.contains("training_records")) << "their number is private";
  EXPECT_LE(report["training_records_not_private"].get<int>() + report["held_out_records_not_private"].get<int>(), 60);
  const auto model = nlohmann::json::parse(contents(path("model.json")));
  EXPECT_EQ(model["features"].dump().find("\"who\""), std::string::npos) << "a name is no feature";
  EXPECT_EQ(model["guarantee"]["unit"], json_of_two);
  EXPECT_EQ(surety({"predict", path("model.json"), data}).code, 0);
  const Words batches{"--records", "30", "--batch-size", "3", "--steps", "4", "--json"};
  EXPECT_EQ(surety(train(data, "dp-sgd", batches)).json()["event"].get<std::string>().find("repeat(4, poisson(0.125, record_sum("), 0U);
  EXPECT_EQ(surety(train(data, "dp-sgd", batches + Words{"--clip-by", "row"}))
                .json()["event"]
                .get<std::string>()
                .find("repeat(4, users(2, poisson(0.125, "),
            0U);
  expect_refused_untouched(Words{"train", data, "--label", "label>0", "--algorithm", "dp-sgd", "--epsilon", "1", "--delta", "1e-5",
                                 "--ledger", path("other.db"), "--model", path("other.json"), "--records", "30", "--clip-by", "row"},
                           2, {"--clip-by is for --unit"});
}

// ---- Combinations of columns ----

class Combinations : public CommandTest {
 protected:
  /// Four users on three days each, with two rows a day; some cells of the combination are missing.
  [[nodiscard]] std::string visits() const {
    std::string text = "user,day,\"a,b\",x,label\n";
    for (int user = 0; user < 4; ++user) {
      for (int day = 1; day <= 3; ++day) {
        for (int k = 0; k < 2; ++k) text += fmt::format("u{},2024-01-0{},{},{},{}\n", user, day, k, user + day, (user + k) % 2);
      }
    }
    write(path("visits.csv"), text + "u1,,0,1,1\n,2024-01-01,0,1,0\n");
    return path("visits.csv");
  }
  [[nodiscard]] Words release(const Words& more) const {
    return Words{"release", visits(), "--query", "count(units)", "--epsilon", "1", "--ledger", path("run.db")} + more;
  }
  const Words of_days{"--unit", "user,day", "--most", "2"};
  const std::string told = "one combination of user,day of at most 2 rows (names byte by byte, rows without one: one unit)";
};

TEST_F(Combinations, AreUnits) {
  const auto outcome = surety(release(of_days));
  EXPECT_NE(outcome.out.find("\nvalue        13\n"), std::string::npos) << "twelve days, and rows without one: " << outcome.out;
  EXPECT_NE(outcome.out.find("\nunit         " + told + "\n"), std::string::npos) << outcome.out;
  EXPECT_NE(surety({"audit", path("run.db"), "--delta", "0"}).out.find(told), std::string::npos);
  // The ledger's, where nothing is said; in another order they are another unit.
  EXPECT_EQ(surety(release({"--json"})).json()["unit"]["name"], "column user,day");
  expect_refused(release({"--unit", "day,user", "--most", "2"}), 2, {"must be the ledger's, " + told});
  expect_refused(release({"--unit", "user", "--most", "2"}), 2, {"must be the ledger's, " + told});
}

TEST_F(Combinations, AreCreatedWithLedgersAndPlans) {
  EXPECT_NE(surety(Words{"ledger", "create", path("run.db"), "--adjacency", "replace-one"} + of_days).out.find(told), std::string::npos);
  const auto plan = surety(release(of_days + Words{"--unit-period", "day", "--print-plan"})).json();
  EXPECT_EQ(plan["options"]["unit"], (Words{"user", "day"}));
  EXPECT_EQ(plan["options"]["unit-period"], "day");
  write(path("plan.json"), plan.dump());
  EXPECT_EQ(surety({"release", "--plan", path("plan.json"), "--json"}).json()["unit"], plan["unit"]);
  auto as_text = plan;
  as_text["options"]["unit"] = "user,day";
  as_text["options"]["ledger"] = path("other.db");
  as_text["options"].erase("unit-period");
  as_text.erase("unit");
  write(path("plan.json"), as_text.dump());
  expect_refused({"release", "--plan", path("plan.json")}, 3, {"column 'user,day' is missing"});
  write(path("schema.json"), R"({"surety_schema": 1, "columns": [{"name": "user"}], "unit": ["user", "day"], "most": 2})");
  EXPECT_EQ(surety(release({"--schema", path("schema.json"), "--json"})).json()["unit"], plan["unit"]);
}

TEST_F(Combinations, QuoteNamesWithCommasAndBars) {
  const auto name_of = [&](const std::string& unit) {
    std::filesystem::remove(path("run.db"));
    return surety(release({"--unit", unit, "--most", "9", "--json"})).json()["unit"]["name"];
  };
  EXPECT_EQ(name_of("\"a,b\""), "a,b");
  EXPECT_EQ(name_of("user, \"a,b\""), "column user,\"a,b\"");
  EXPECT_EQ(name_of("user,day,\"a,b\""), "column user,day,\"a,b\"");
  for (const std::string period : {"a,b", "\"a,b\""}) {
    std::filesystem::remove(path("run.db"));
    const auto outcome = surety(release({"--unit", "user,\"a,b\"", "--most", "9", "--unit-period", period}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
}

TEST_F(Combinations, AreRefusedWhereTheyAreNone) {
  const auto refused = [&](const std::string& unit, const std::string& why) {
    expect_refused_untouched(release({"--unit", unit, "--most", "2"}), unit.find("whose") == std::string::npos ? 2 : 3, {why});
  };
  refused("a,b,c,d,e,f,g,h,i,j", "--unit names 10 columns, must name at most 3");
  refused("user,user", "--unit names column 'user' twice");
  refused("user,", "must name a column on both sides of each comma");
  refused("user,whose", "column 'whose' is missing");
  refused("user|day", "must name one owner of a row");
  refused("user,\"day", "must close each quote");
  expect_refused_untouched(release(of_days + Words{"--missing", "day=2024-01-01"}), 2, {"column 'day'", "--empty-unit says it"});
  expect_refused_untouched(release(of_days + Words{"--unit-period", "x"}), 2,
                           {"--unit-period is 'x', must be one of the columns user,day"});
  expect_refused_untouched(release({"--unit", "user", "--most", "2", "--unit-period", "user"}), 2,
                           {"--unit-period is 'user', must be left out"});
}

TEST_F(Combinations, SayWhatAUserHasOverTime) {
  const auto words = release(of_days + Words{"--unit-period", "day", "--where", "x>2"});
  const auto outcome = surety(words);
  EXPECT_NE(
      outcome.out.find(
          "\nover time    one user with 7 values of day: epsilon <= 7 by this run; epsilon <= 7 by 7 such runs that read one value each\n"),
      std::string::npos)
      << outcome.out;
  const auto over = surety(words + Words{"--json"}).json()["over_time"];
  EXPECT_EQ(over["user"], nlohmann::json{"user"});
  EXPECT_EQ(over["bounds"][2]["periods"], 365);
  EXPECT_NEAR(over["bounds"][2]["of_one_run"].get<double>(), 365, 1e-3);
  EXPECT_FALSE(surety(release(of_days + Words{"--json"})).json().contains("over_time"));
}

// Without a header the place of each column is part of the unit.
TEST_F(Combinations, AreFoundByTheirPlaces) {
  write(path("bare.csv"), "u,1,5\nu,2,5\nv,1,5\nu,1,6\n");
  const auto release_of = [&](const std::string& columns) {
    return Words{"release",  path("bare.csv"), "--query",   "count(units)", "--epsilon", "1",
                 "--ledger", path("run.db"),   "--columns", columns,        "--json"};
  };
  const auto report = surety(release_of("who,day,x") + Words{"--unit", "who,day", "--most", "2"}).json();
  EXPECT_EQ(report["value"], 3);
  EXPECT_EQ(report["unit"]["place"], (nlohmann::json{{"column", 1}, {"columns", 3}, {"further", {2}}}));
  expect_refused(release_of("who,x,day") + Words{"--unit", "who,day", "--most", "2"}, 2, {"they differ in the place of the column"});
}

TEST_F(Combinations, AreTrainedOn) {
  const Words words{"train",      visits(), "--label",  "label>0",      "--algorithm", "gradient-descent", "--epsilon",     "1",
                    "--delta",    "1e-5",   "--ledger", path("run.db"), "--model",     path("model.json"), "--unit-period", "day",
                    "--held-out", "0"};
  const auto report = surety(words + of_days + Words{"--json"}).json();
  EXPECT_EQ(report["units"], 13) << report;
  EXPECT_EQ(report["over_time"]["period"], "day");
  const auto model = nlohmann::json::parse(contents(path("model.json")));
  EXPECT_EQ(model["guarantee"]["unit"]["name"], "column user,day");
  EXPECT_EQ(model["features"].dump().find("\"day\""), std::string::npos) << "what names a unit is no feature";
}

}  // namespace
}  // namespace surety_test::unit_test
