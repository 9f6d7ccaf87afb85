// surety release: a private statistic of real data, its charge, its interval, and what bad input gets.
#include <fmt/format.h>

#include <zlib.h>

#include <cmath>

#include <tuple>

#include <support/surety_process.h>

namespace surety_test::release_test {
namespace {

class Release : public CommandTest {
 protected:
  /// release of `query` at epsilon 1, into run.db.
  [[nodiscard]] Words release(const std::string& data, const std::string& query, const Words& more = {}) const {
    return Words{"release", data, "--query", query, "--epsilon", "1", "--ledger", path("run.db")} + more;
  }
};

const Words as_json{"--json"};
const Words private_count{"--adjacency", "add-or-remove-one"};

nlohmann::json report_of(const Words& words) {
  const auto outcome = surety(words + as_json);
  EXPECT_EQ(outcome.code, 0) << joined(words) << outcome.err;
  return outcome.code == 0 ? outcome.json() : nlohmann::json::object();
}

/// The interval is around the value, and neither is further from the truth than `far`.
void expect_near_truth(const nlohmann::json& estimate, double truth, double far) {
  EXPECT_NEAR(estimate["value"].get<double>(), truth, far);
  EXPECT_LE(estimate["interval"][0], estimate["value"]);
  EXPECT_LE(estimate["value"], estimate["interval"][1]);
  EXPECT_GE(estimate["interval"][0].get<double>(), truth - far);
  EXPECT_LE(estimate["interval"][1].get<double>(), truth + far);
}

// The exact numbers of randhie.csv, from the file itself.
struct Truth {
  double records = 0;
  double visited = 0;
  double clamped_visits = 0;
  double clamped_visits_in_good_health = 0;
  double in_good_health = 0;
};

Truth truth_of_randhie() {
  std::ifstream file{randhie};
  std::string line;
  std::getline(file, line);
  Truth truth;
  while (std::getline(file, line)) {
    const double visits = std::stod(line);
    auto cell = line.begin();
    for (int k = 0; k < 7; ++k) cell = std::find(cell, line.end(), ',') + 1;
    const bool good = *cell == '1';
    truth.records += 1;
    truth.visited += visits > 0 ? 1 : 0;
    truth.clamped_visits += std::min(visits, 20.0);
    truth.clamped_visits_in_good_health += good ? std::min(visits, 20.0) : 0;
    truth.in_good_health += good ? 1 : 0;
  }
  return truth;
}

// Noise of scale b exceeds 40 b with probability 4e-18.
TEST_F(Release, AnswersEachQueryOnRealDataAndChargesIt) {
  const auto truth = truth_of_randhie();
  ASSERT_EQ(truth.records, 20190);
  const auto count = report_of(release(randhie, "count()", {"--where", "mdvis>0"}));
  expect_near_truth(count, truth.visited, 44);
  EXPECT_TRUE(count["value"].is_number_integer());
  EXPECT_EQ(count["noise"], "laplace");
  EXPECT_FALSE(count.contains("records"));

  const auto sum = report_of(release(randhie, "sum(mdvis)", {"--bounds", "0,20"}));
  expect_near_truth(sum, truth.clamped_visits, 44 * 20);
  EXPECT_EQ(sum["l1_sensitivity"], 20);
  EXPECT_EQ(sum["records"], 20190);

  const auto mean = report_of(release(randhie, "mean(mdvis)", {"--bounds", "0,20", "--delta", "1e-6"}));
  expect_near_truth(mean, truth.clamped_visits / truth.records, 44 * 20 / truth.records);

  const auto ratio = report_of(release(randhie, "mean(mdvis)", {"--bounds", "0,20", "--where", "hlthg==1"}));
  expect_near_truth(ratio, truth.clamped_visits_in_good_health / truth.in_good_health, 2 * 44 * 20 / truth.in_good_health);

  // 30 records separate the visits of the median, 1, from 2; the quantiles are in the middle of more than 100.
  const auto median = report_of(release(randhie, "median(mdvis)", {"--bounds", "0,20", "--candidates", "21"}));
  EXPECT_TRUE(median["value"] == 1 || median["value"] == 2);
  EXPECT_LT(median["rank_error"].get<double>(), 40);
  EXPECT_FALSE(median.contains("interval"));
  EXPECT_TRUE(median["event"].get<std::string>().starts_with("pure("));
  // Several by halving, of groups: what two levels cost, a cell for each.
  const auto several = report_of(
      release(randhie, "quantile(mdvis, 0.4, 0.6, 0.9)", {"--bounds", "0,20", "--candidates", "21", "--by", "hlthg", "--keys", "0,1"}));
  EXPECT_TRUE(several["event"].get<std::string>().starts_with("repeat(2, pure("));
  EXPECT_EQ(several["groups"].size(), 2U);
  for (const auto& group : several["groups"]) {
    EXPECT_EQ(group["cells"][0]["cell"], "0.4");
    EXPECT_EQ(group["cells"][0]["value"], 1);
    EXPECT_LE(group["cells"][0]["value"], group["cells"][1]["value"]);
    EXPECT_LE(group["cells"][1]["value"], group["cells"][2]["value"]);
    // Each has its own bound: the middle one is a choice alone, the others follow its division.
    EXPECT_LT(group["cells"][1]["rank_error"].get<double>(), group["cells"][2]["rank_error"].get<double>());
    EXPECT_FALSE(group["cells"][2].contains("rank_error_share"));
  }
  // With intervals: the levels, the flanks, and the counts at as much epsilon as the two levels.
  const auto measured =
      report_of(release(randhie, "quantile(mdvis, 0.4, 0.6, 0.9)", {"--bounds", "0,20", "--candidates", "21", "--interval"}));
  EXPECT_NE(measured["event"].get<std::string>().find("repeat(3, pure("), std::string::npos) << measured["event"];
  for (const auto& cell : measured["cells"]) {
    EXPECT_LE(cell["interval"][0], cell["value"]);
    EXPECT_GE(cell["interval"][1], cell["value"]);
    EXPECT_LT(cell["interval"][1].get<double>() - cell["interval"][0].get<double>(), 8);
    EXPECT_LT(cell["rank_error"].get<double>(), 400);
  }
  const auto of_mean = surety(release(randhie, "mean(mdvis)", {"--bounds", "0,20", "--interval"}));
  EXPECT_NE(of_mean.code, 0);
  EXPECT_NE(of_mean.err.find("--interval is not for mean()"), std::string::npos) << of_mean.err;
  EXPECT_EQ(report_of(release(randhie, "quantile(mdvis, 0.4)", {"--bounds", "0,20", "--candidates", "21"}))["value"], 1);
  EXPECT_EQ(report_of(release(randhie, "quantile(mdvis, 0.9)", {"--bounds", "0,20", "--candidates", "21"}))["value"], 7);
  const auto variance = report_of(release(randhie, "variance(mdvis)", {"--bounds", "0,20"}));
  EXPECT_GT(variance["value"].get<double>(), variance["interval"][0].get<double>());
  EXPECT_LT(variance["value"].get<double>(), variance["interval"][1].get<double>());
  EXPECT_NEAR(variance["value"].get<double>(), 13.0, 3);

  const auto histogram = report_of(release(randhie, "histogram(hlthg)", {"--categories", "0,1,7"}));
  ASSERT_EQ(histogram["cells"].size(), 3U);
  const auto mode = report_of(release(randhie, "mode(hlthg)", {"--categories", "0,1,7", "--top", "2"}));
  const bool is_mostly_good = 2 * truth.in_good_health > truth.records;
  ASSERT_EQ(mode["cells"].size(), 2U);
  EXPECT_EQ(mode["cells"][0]["cell"], is_mostly_good ? "1" : "0");
  EXPECT_EQ(mode["cells"][1]["cell"], is_mostly_good ? "0" : "1");
  EXPECT_GT(mode["cells"][0]["rank_error"].get<double>(), 0);
  EXPECT_EQ(mode["noise"], "permute-and-flip");
  expect_near_truth(histogram["cells"][0], truth.records - truth.in_good_health, 88);
  expect_near_truth(histogram["cells"][1], truth.in_good_health, 88);
  expect_near_truth(histogram["cells"][2], 0, 88);
  EXPECT_EQ(histogram["cells"][1]["cell"], "1");

  const auto bins =
      report_of(release(randhie, "histogram(mdvis)", {"--bounds", "0,1", "--bins", "2", "--noise", "gaussian", "--delta", "1e-6"}));
  EXPECT_EQ(bins["noise"], "gaussian");
  expect_near_truth(bins["cells"][0], truth.records - truth.visited, 100);
  expect_near_truth(bins["cells"][1], truth.visited, 100);

  const auto audited = surety({"audit", path("run.db"), "--delta", "1e-6", "--json"});
  ASSERT_EQ(audited.code, 0) << audited.err << audited.out;
  const auto audit = audited.json();
  EXPECT_EQ(audit["kept"], true);
  ASSERT_EQ(audit["runs"].size(), 13U);
  for (const auto& run : audit["runs"]) EXPECT_LE(run["epsilon"]["upper"].get<double>(), 1);
  const auto said = surety({"audit", path("run.db"), "--delta", "1e-6"}).out;
  EXPECT_NE(said.find("each of 13 promises is kept by itself; together the 13 runs cost epsilon <= "), std::string::npos) << said;

  const auto run = surety({"ledger", "show", path("run.db"), "1", "--json"}).json();
  EXPECT_EQ(run["state"], "settled");
  EXPECT_EQ(run["charged"], run["planned"]);
  EXPECT_EQ(run["note"], "count() where mdvis>0");
  EXPECT_EQ(run["promise"], (nlohmann::json{{"epsilon", 1.0}, {"delta", 0.0}}));
}

TEST_F(Release, SaysWhatItReleasedAndWhatTheIntervalIs) {
  const auto outcome = surety(release(small_data(), "mean(x)", {"--bounds", "-3,3", "--note", "first look"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* words : {"query        mean(x)", "value", "interval", "confidence 0.95", "replace-one", "epsilon = 1 at delta = 0",
                            "laplace(1.0", "standard deviation", "run 1"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << " is not in\n" << outcome.out;
  }
  EXPECT_EQ(outcome.out.find("NOT PRIVATE"), std::string::npos);
  EXPECT_NE(surety({"ledger", "list", path("run.db")}).out.find("first look"), std::string::npos);
}

TEST_F(Release, RepeatsItselfFromASeedAndSaysNotPrivate) {
  const auto words = release(small_data(), "sum(x)", {"--bounds", "0,3", "--replay-seed", "5"});
  const auto first = surety(words);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.out.find("NOT PRIVATE"), std::string::npos);
  EXPECT_EQ(report_of(words)["value"], report_of(words)["value"]);
  EXPECT_EQ(report_of(words)["not_private"], true);
  EXPECT_EQ(surety({"audit", path("run.db"), "--delta", "1e-6"}).code, 1);
  const auto fresh = release(path("small.csv"), "sum(x)", {"--bounds", "0,3"});
  EXPECT_NE(report_of(fresh)["value"], report_of(fresh)["value"]);
}

TEST_F(Release, TakesTheNoiseOfTheSmallerDeviation) {
  const auto data = small_data();
  const auto histogram = [&](const std::string& epsilon, const Words& more) {
    return report_of(
        Words{"release", data, "--query", "histogram(y)", "--categories", "0,1", "--epsilon", epsilon, "--ledger", path("run.db")} + more);
  };
  // Two cells move together: Laplace pays 2 of l1, the Gaussian sqrt(2) of l2.
  for (const Words& delta : {Words{"--delta", "1e-9"}, Words{"--delta", "0.1"}}) {
    const auto best = histogram("0.1", delta);
    const auto laplace = histogram("0.1", delta + Words{"--noise", "laplace"});
    const auto gaussian = histogram("0.1", delta + Words{"--noise", "gaussian"});
    EXPECT_EQ(best["standard_deviation"].get<double>(),
              std::min(laplace["standard_deviation"].get<double>(), gaussian["standard_deviation"].get<double>()));
    EXPECT_EQ(best["noise"], delta.back() == "0.1" ? "gaussian" : "laplace");
  }
  expect_refused(release(data, "count()", {"--where", "x>0", "--noise", "gaussian"}), 6, {"delta = 0"});
}

// The search begins at a guess then, and looks at one family alone where it is far better.
TEST_F(Release, TakesTheLeastNoiseForChoicesAmongOtherQueries) {
  const auto data = small_data();
  const auto kept = [&](const std::string& family, const std::string& choice, int counts, int medians, double scale) {
    const auto times = [](int count, const std::string& mechanism, double number) {
      return "repeat(" + std::to_string(count) + ", " + mechanism + "(" + nlohmann::json(number).dump() + "))";
    };
    const auto event =
        "compose(" + times(medians, choice, (family == "gaussian" ? 2 : 1) / scale) + ", " + times(counts, family, scale) + ")";
    const auto code = surety({"audit", "--event", event, "--adjacency", "add-or-remove-one", "--epsilon", "1", "--delta", "1e-6"}).code;
    EXPECT_TRUE(code == 0 || code == 1) << event;
    return code == 0;
  };
  // Of few choices beside Laplace noise permute-and-flip misses by less.
  using Case = std::tuple<int, int, std::string, std::string>;
  for (const auto& [counts, medians, better, beside_laplace] :
       std::vector<Case>{{2, 2, "laplace", "pure"}, {10, 30, "gaussian", "exponential"}}) {
    Words queries;
    for (int k = 0; k < counts; ++k) queries = queries + Words{"--query", "count() where x>" + std::to_string(k)};
    for (int k = 0; k < medians; ++k) {
      queries = queries + Words{"--query", nlohmann::json{{"query", "median(x)"}, {"bounds", {0, k + 1}}}.dump()};
    }
    const auto plan = [&](const std::string& noise) {
      const auto outcome =
          surety(Words{"release", data} + queries +
                 Words{"--epsilon", "1", "--delta", "1e-6", "--noise", noise, "--ledger", path("run.db"), "--print-plan"} + private_count);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      return outcome.code == 0 ? outcome.json() : nlohmann::json::object();
    };
    std::map<std::string, double> scales;
    for (const std::string family : {"laplace", "gaussian"}) {
      const double scale = scales[family] = plan(family)["noise"].get<double>();
      const auto choice = family == "laplace" ? beside_laplace : "exponential";
      EXPECT_TRUE(kept(family, choice, counts, medians, scale)) << family << " " << counts << " " << medians;
      EXPECT_FALSE(kept(family, choice, counts, medians, scale * (1 - 2e-5))) << family << " " << counts << " " << medians;
    }
    // The sum of the variances, of which a choice beside Gaussian noise has a quarter.
    const double of_gaussian = (counts + medians / 4.0) * scales["gaussian"] * scales["gaussian"];
    const double of_laplace = (2.0 * counts + medians) * scales["laplace"] * scales["laplace"];
    EXPECT_EQ(of_gaussian < of_laplace ? "gaussian" : "laplace", better) << counts << " " << medians;
    EXPECT_EQ(plan("best")["noise"].get<double>(), scales[better]) << counts << " " << medians;
  }
}

TEST_F(Release, KeepsTheBudgetOfALedger) {
  const auto data = small_data();
  const Words create{"ledger", "create", path("run.db"), "--adjacency", "replace-one", "--epsilon", "15", "--delta", "1e-6"};
  ASSERT_EQ(surety(create + Words{"--filter", "zcdp"}).code, 0);
  const auto words = release(data, "count()", {"--where", "x>0"});
  int admitted = 0;
  while (admitted < 10 && surety(words).code == 0) ++admitted;
  EXPECT_EQ(admitted, 6);  // epsilon 15 at delta 1e-6 is rho = 3.017, and laplace(1) costs 0.5
  expect_refused_untouched(words, 1, {"budget"});
}

TEST_F(Release, TreatsAnEmptyFileAsANeighbourWhereTheCountIsPrivate) {
  write(path("empty.csv"), "x,label\n");
  for (const Words& query : {Words{"count()"}, Words{"sum(x)", "--bounds", "0,1"}, Words{"mean(x)", "--bounds", "-1,1"},
                             Words{"histogram(x)", "--bounds", "0,1", "--bins", "2"}}) {
    const auto report = report_of(release(path("empty.csv"), query.front(), Words{query.begin() + 1, query.end()} + private_count));
    EXPECT_FALSE(report.contains("records"));
  }
  expect_refused_untouched(
      {"release", path("empty.csv"), "--query", "sum(x)", "--bounds", "0,1", "--epsilon", "1", "--ledger", path("other.db")}, 3,
      {"has no records"});
  // Nothing is left by the condition: a result like any other.
  const auto data = small_data();
  const Words none{"--where", "x>100", "--bounds", "0,1", "--ledger", path("none.db")};
  const Words mean = Words{"release", data, "--query", "mean(x)", "--epsilon", "1"} + none;
  const auto report = report_of(mean);
  EXPECT_GE(report["value"].get<double>(), 0);
  EXPECT_LE(report["value"].get<double>(), 1);
}

TEST_F(Release, WorksAtTheEndsOfWhatItTakes) {
  write(path("one.csv"), "x\n1e300\n");
  for (const std::string epsilon : {"1e-12", "1e-6", "40", "3000"}) {
    for (const Words& query : {Words{"sum(x)", "--bounds", "-1e200,1e250"}, Words{"mean(x)", "--bounds", "0,1e-200"},
                               Words{"count()", "--where", "x>1e299"}, Words{"histogram(x)", "--bounds", "0,1e250", "--bins", "3"}}) {
      const auto outcome = surety(Words{"release", path("one.csv"), "--epsilon", epsilon, "--ledger", path("run.db"), "--query"} + query);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
    }
  }
  for (const std::string cell : {"-0", "5e-324", "1.7976931348623157e308"}) {
    write(path("one.csv"), "x\n" + cell + "\n");
    EXPECT_EQ(surety(release(path("one.csv"), "sum(x)", {"--bounds", "-1,1"})).code, 0);
  }
}

TEST_F(Release, GivesDamagedCellsTheirStatedValuesAndNoWord) {
  write(path("damaged.csv"),
        "name,x,y\nAlice Smith,HIV positive,1\nBob,30,1\n\"C\nD\",1e400,1\nEve,40\n\nFay,50,no number\nGil,200,1\n"
        "Hal,1e-400,1\n");
  const auto outcome = surety(release(path("damaged.csv"), "sum(x)", Words{"--bounds", "18, 90"} + private_count));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* word : {"Alice", "HIV", "damage", "no number"}) EXPECT_EQ(outcome.out.find(word), std::string::npos) << outcome.out;
  const auto value = [&](const std::string& query, const Words& more) {
    auto words = release(path("damaged.csv"), query, more + private_count);
    *(std::find(words.begin(), words.end(), "--epsilon") + 1) = "3000";
    return report_of(words);
  };
  // Hal at 18; of Alice, C, Eve and the empty line there is no number, and with --missing they are at 18, too.
  EXPECT_NEAR(value("sum(x)", {"--bounds", "18, 90"})["value"].get<double>(), 18 + 30 + 50 + 90, 1);
  EXPECT_NEAR(value("sum(x)", {"--bounds", "18, 90", "--missing", "x=0"})["value"].get<double>(), 5 * 18 + 30 + 50 + 90, 1);
  EXPECT_EQ(value("count()", {})["value"], 8);
  EXPECT_EQ(value("count()", {"--where", "y>0"})["value"], 5);
  EXPECT_EQ(value("count()", {"--where", "x>=0"})["value"], 4);  // leaves damaged cells out
  const auto bins = value("histogram(x)", {"--bounds", "0,100", "--bins", "2"});
  EXPECT_EQ(bins["cells"][0]["value"], 2);
  EXPECT_EQ(bins["cells"][1]["value"], 2);
  const auto texts = value("histogram(name)", {"--categories", "Bob, \"C\nD\", Eve"});
  EXPECT_EQ(texts["cells"][0]["value"], 1);
  EXPECT_EQ(texts["cells"][1]["value"], 1);
  EXPECT_EQ(texts["cells"][2]["value"], 0);
}

// ---- Several queries in one charge ----

TEST_F(Release, AnswersSeveralQueriesInOneCharge) {
  const auto truth = truth_of_randhie();
  write(
      path("queries.json"),
      json_text(
          "[{'query': 'count()', 'where': 'mdvis>0'}, {'query': 'sum(mdvis)', 'bounds': [0, 20], 'weight': 4}, {'query': 'mean(mdvis)', 'bounds': [0, 20], 'by': 'hlthg', 'keys': ['1', '0', 'none']}, {'query': 'histogram(mdvis)', 'bounds': [0, 1], 'bins': 2, 'by': 'hlthg', 'key_bounds': [0, 1], 'key_bins': 2}]"));
  const auto report = report_of({"release", randhie, "--queries", path("queries.json"), "--epsilon", "1", "--ledger", path("run.db")});
  const auto& queries = report["queries"];
  ASSERT_EQ(queries.size(), 4U);
  // Each alone has a third to a fifth of epsilon.
  expect_near_truth(queries[0], truth.visited, 44 * 5);
  expect_near_truth(queries[1], truth.clamped_visits, 44 * 20 * 3);
  const auto& groups = queries[2]["groups"];
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0]["group"], "1");
  expect_near_truth(groups[0], truth.clamped_visits_in_good_health / truth.in_good_health, 10 * 44 * 20 / truth.in_good_health);
  EXPECT_LE(groups[2]["interval"][0], groups[2]["interval"][1]);
  const auto& cells = queries[3]["groups"];
  ASSERT_EQ(cells.size(), 2U);
  double sum = 0;
  for (const auto& group : cells) {
    for (const auto& cell : group["cells"]) sum += cell["value"].get<double>();
  }
  EXPECT_NEAR(sum, truth.records, 4 * 44 * 10);
  EXPECT_EQ(report["records"], 20190);

  // One run, whose event is that of all, and half of the noise where the weight is 4.
  EXPECT_EQ(runs_in(path("run.db")), 1U);
  const auto scale = [&](std::size_t k) {
    return queries[k]["standard_deviation"].get<double>() / std::sqrt(2.0) / queries[k]["l1_sensitivity"].get<double>();
  };
  EXPECT_NEAR(scale(1), scale(0) / 2, 1e-9);
  EXPECT_NEAR(scale(0), 5, 1e-9);
  EXPECT_TRUE(report["event"].get<std::string>().starts_with("compose(laplace(2.5")) << report["event"];
  EXPECT_LE(report["epsilon"]["upper"].get<double>(), 1);
  EXPECT_GE(report["epsilon"]["lower"].get<double>(), 1 - 1e-6);
  const auto run = surety({"ledger", "show", path("run.db"), "1", "--json"}).json();
  EXPECT_EQ(run["charged"], run["planned"]);
  EXPECT_NE(run["note"].get<std::string>().find("4 queries: count() where mdvis>0; sum(mdvis); "), std::string::npos);
}

TEST_F(Release, SharesTheOptionsOfQueriesInWords) {
  const auto data = small_data();
  const Words several{"--query", "mean(x)",      "--query", "count()", "--query",  "histogram(y)", "--bounds",
                      "-3,3",    "--categories", "0,1",     "--where", "label==1", "--delta",      "1e-6"};
  const auto report = report_of(release(data, "sum(x)", several));
  ASSERT_EQ(report["queries"].size(), 4U);
  for (const auto& query : report["queries"]) EXPECT_NE(query["query"].get<std::string>().find(" where label==1"), std::string::npos);
  const auto text = surety(release(data, "sum(x)", several)).out;
  for (const char* words : {"queries      4, each with its own noise, in one charge", "released     repeat(4, ", "run 2", "cell"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << " is not in\n" << text;
  }
  const auto conditions = report_of(release(data, "count() where label==1 and x>0", {"--query", "sum(x)", "--bounds", "0,1"}));
  EXPECT_EQ(conditions["queries"][0]["query"], "count() where label==1 and x>0");
  EXPECT_EQ(conditions["queries"][1]["query"], "sum(x)");
  expect_refused_untouched(release(data, "count() where x>1", {"--where", "x>0"}), 2, {"has a condition", "--where"});
  expect_refused_untouched(release(data, "count() where x>", {}), 2, {"--where is 'x>', must"});
  expect_refused_untouched(release(data, "count()", {"--query", "count()", "--bounds", "0,1", "--where", "x>0"}), 2,
                           {"--bounds is for none of the queries"});
  expect_refused_untouched(release(data, "count()", {"--query", "spread(x)", "--where", "x>0"}), 2, {"query 2: --query has 'spread'"});
}

// The family with the smaller variance over all queries, whose joint Gaussian is cheaper the more there are.
TEST_F(Release, TakesOneFamilyOfNoiseForAllQueries) {
  const auto data = small_data();
  const auto of = [&](std::size_t queries) {
    Words more{"--where", "x>0", "--delta", "1e-6"};
    for (std::size_t k = 1; k < queries; ++k) more = more + Words{"--query", "count()"};
    return report_of(release(data, "count()", more));
  };
  EXPECT_EQ(of(2)["queries"][0]["noise"], "laplace");
  const auto many = of(60);
  EXPECT_EQ(many["queries"][59]["noise"], "gaussian");
  EXPECT_TRUE(many["event"].get<std::string>().starts_with("repeat(60, gaussian(")) << many["event"];
}

TEST_F(Release, MultipliesWhatAGroupMovesByTheRowsOfAUnit) {
  write(path("owned.csv"), "who,x,g\na,1,p\na,2,q\na,3,p\nb,4,q\nc,5,p\n");
  const auto of = [&](const std::string& most) {
    std::filesystem::remove(path("run.db"));  // a ledger is of one unit
    return report_of(
        release(path("owned.csv"), "sum(x)", {"--bounds", "0,5", "--by", "g", "--keys", "p,q", "--unit", "who", "--most", most}));
  };
  EXPECT_EQ(of("1")["l1_sensitivity"], 10);
  EXPECT_EQ(of("3")["l1_sensitivity"], 30);
}

// Of 300 owners each has two rows of the common key; the rare one is the eighth row of one of them.
TEST_F(Release, ShowsKeysThatManyOwnersHoldAndNoneOfOneAlone) {
  std::string rows = "who,town\n";
  for (int k = 0; k < 300; ++k) {
    const std::string who = std::to_string(k);
    rows += who + ",common\n" + who + ",common\n" + who + ",\xff" + std::to_string(k % 2) + "\n";
  }
  for (int k = 0; k < 8; ++k) rows += "0,rare\n";
  write(path("towns.csv"), rows);
  const auto ask = [&](const Words& more) {
    return release(path("towns.csv"), "keys(town)", Words{"--delta", "1e-6", "--replay-seed", "3"} + private_count + more);
  };
  const auto of_owners = report_of(ask({"--unit", "who", "--most", "20"}));
  EXPECT_EQ(of_owners["event"].get<std::string>().rfind("compose(", 0), 0U);
  EXPECT_NE(of_owners["event"].get<std::string>().find("approx(0, 5e-07)"), std::string::npos) << of_owners["event"];
  ASSERT_EQ(of_owners["cells"].size(), 3U) << "not the key of one owner";
  EXPECT_EQ(of_owners["cells"][0]["cell"], "common");
  EXPECT_NEAR(of_owners["cells"][0]["value"].get<double>(), 300, 250) << "each owner counts once";
  EXPECT_DOUBLE_EQ(of_owners["l1_sensitivity"].get<double>(), 20);

  std::filesystem::remove(path("run.db"));
  const auto of_few = report_of(ask({"--unit", "who", "--most", "20", "--most-keys", "2"}));
  ASSERT_EQ(of_few["cells"].size(), 3U);
  EXPECT_EQ(of_few["cells"][1]["cell"], "\\xff0") << "a key that is no UTF-8 is shown as its bytes";
  EXPECT_NEAR(of_few["cells"][0]["value"].get<double>(), 300, 60);

  std::filesystem::remove(path("run.db"));
  EXPECT_NEAR(report_of(ask({}))["cells"][0]["value"].get<double>(), 600, 60) << "each row counts where rows are protected";
}

// Of 400 owners each is in one of two groups that nobody listed, and one of them in a third, with more rows than all others together.
TEST_F(Release, ShowsMeansOfGroupsThatManyOwnersAreIn) {
  std::string rows = "who,town,y\n";
  for (int k = 0; k < 400; ++k) {
    const std::string who = std::to_string(k);
    rows += who + (k % 4 == 0 ? ",Rome,2\n" : ",Oslo,7\n") + who + ",Bern,\n";
  }
  for (int k = 0; k < 1000; ++k) rows += "0,rare,9\n";
  write(path("towns.csv"), rows);
  const auto ask = [&](const std::string& query, const Words& more) {
    std::filesystem::remove(path("run.db"));
    return report_of(Words{"release", path("towns.csv"), "--epsilon", "1", "--delta", "1e-6", "--ledger", path("run.db"), "--replay-seed",
                           "3", "--unit", "who", "--most", "3", "--query", query, "--json"} +
                     more);
  };
  for (const char* adjacency : {"add-or-remove-one", "replace-one", "zero-out"}) {
    const auto found =
        ask("mean(y)", {"--bounds", "0,10", "--by", "town", "--keys", "discovered", "--most-keys", "1", "--adjacency", adjacency});
    ASSERT_EQ(found["groups"].size(), 2U) << found.dump(1);
    EXPECT_EQ(found["query"], "mean(y) by discovered town");
    for (const auto& [place, name, mean] : {std::tuple{0, "Oslo", 7.0}, std::tuple{1, "Rome", 2.0}}) {
      const auto& group = found["groups"][static_cast<std::size_t>(place)];
      EXPECT_EQ(group["group"], name);
      EXPECT_NEAR(group["value"].get<double>(), mean, 1.5);
      EXPECT_LE(group["interval"][0].get<double>(), mean);
      EXPECT_GE(group["interval"][1].get<double>(), mean);
    }
    EXPECT_NEAR(found["l1_sensitivity"].get<double>(), std::string{adjacency} == "replace-one" ? 20 : 7.5, 1e-4);
  }
  const auto object = ask(R"json({"query": "mean(y)", "bounds": [0, 10], "by": "town", "keys": "discovered", "most_keys": 1})json", {});
  EXPECT_EQ(object["groups"].size(), 2U);
  // By two columns.
  for (const auto& [query, more] : {std::pair{"mean(y)", Words{"--bounds", "0,10"}}, std::pair{"count(units)", Words{}}}) {
    const auto pairs = ask(query, more + Words{"--by", "town,who", "--keys", "discovered", "--most-keys", "1"});
    EXPECT_EQ(pairs["query"], std::string{query} + " by discovered town, who");
    EXPECT_EQ(pairs["groups"], nlohmann::json::array()) << "each of one owner";
  }
  const auto listed = ask("count(units)", {"--by", "town,y", "--keys", "\"Rome\", Oslo; 2"});
  EXPECT_EQ(listed["groups"][0]["group"], "Rome, 2");
  EXPECT_EQ(listed["groups"][1]["columns"], nlohmann::json::parse(R"({"town": "Oslo", "y": "2"})"));
  // Keys alone: chosen by themselves where that shows those of fewer owners than a threshold does.
  const auto alone = ask("distinct(town)", {"--most-keys", "1"});
  EXPECT_EQ(alone["noise"], "selection");
  EXPECT_TRUE(alone["event"].get<std::string>().starts_with("repeat(2, approx(0.5")) << alone["event"];
  EXPECT_EQ(alone["cells"], nlohmann::json::parse(R"([{"cell": "Oslo"}, {"cell": "Rome"}])"));
  const auto tuples = ask("distinct(town, who)", {"--most-keys", "1"});
  EXPECT_EQ(tuples["query"], "distinct(town, who)");
  EXPECT_EQ(tuples["groups"], nlohmann::json::array());
  const auto many = ask("distinct(town)", {"--noise", "gaussian"});
  EXPECT_EQ(many["noise"], "gaussian");
  EXPECT_EQ(many["cells"][0], nlohmann::json::parse(R"({"cell": "Bern"})"));
  for (const char* form : {"csv", "table"}) {
    std::filesystem::remove(path("run.db"));
    const auto shown = surety({"release",      path("towns.csv"), "--epsilon",   "1",      "--delta",  "1e-6",   "--ledger",
                               path("run.db"), "--replay-seed",   "3",           "--unit", "who",      "--most", "3",
                               "--query",      "distinct(town)",  "--most-keys", "1",      "--format", form});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_NE(shown.out.find("Oslo"), std::string::npos);
    EXPECT_EQ(shown.out.find("nan"), std::string::npos) << shown.out;
  }
  // Of an owner one row in each group; and what it is not for.
  const auto capped = ask("count()", {"--by", "town", "--keys", "Rome,Oslo,Bern,rare", "--most-per-group", "1", "--noise", "gaussian",
                                      "--adjacency", "add-or-remove-one"});
  EXPECT_EQ(capped["query"], "count() by town (1 of a unit in each)");
  EXPECT_NEAR(capped["l2_sensitivity"].get<double>(), std::sqrt(3), 1e-12);
  EXPECT_NEAR(capped["groups"][2]["value"].get<double>(), 400, 40);
  EXPECT_NEAR(capped["groups"][3]["value"].get<double>(), 1, 40);
  // A list of that one text is a list.
  EXPECT_EQ(ask("mean(y)", {"--bounds", "0,10", "--by", "town", "--keys", "\"discovered\""})["groups"][0]["group"], "discovered");
}

// A row with nothing in it but its owner is one of that owner's, and a damaged one is nobody's.
TEST_F(Release, CountsOwnersOfRowsWithNothingElse) {
  write(path("blank.csv"), "who,y,t\na,1,p\nb,,\nb,,\nc,2,q\n,,\nd,,\n1,2\n,3,p\n");
  const auto ask = [&](const Words& more, const char* epsilon = "1") {
    std::filesystem::remove(path("run.db"));
    return report_of(Words{"release", path("blank.csv"), "--epsilon", epsilon, "--ledger", path("run.db"), "--unit", "who", "--most", "3",
                           "--json", "--query"} +
                     more);
  };
  for (const char* adjacency : {"replace-one", "zero-out"}) {
    EXPECT_EQ(ask({"count(units)", "--adjacency", adjacency})["value"], 5) << "nobody's rows are one unit";
    EXPECT_EQ(ask({"count(units)", "--adjacency", adjacency, "--empty-unit", "each"})["value"], 7);
  }
  // Each owner adds something: 1 for a, 2 for c and 0, clipped, for the others but nobody, who adds 3: the damaged row is nobody's third,
  // and with fewer at most it is drawn which ones count.
  EXPECT_NEAR(ask({"sum(y)", "--clip-unit-sum", "1,4"}, "1e4")["value"].get<double>(), 1 + 2 + 1 + 1 + 3, 0.1);
}

// What keeps a key from being shown is the threshold, and Laplace noise has the higher one at an equal deviation.
TEST_F(Release, TakesTheNoiseOfTheLowerThresholdForKeys) {
  write(path("jobs.csv"), "who,job\n1,a\n2,b\n");
  const auto threshold = [&](const char* noise, const char* most, const char* epsilon, const Words& more) {
    std::filesystem::remove(path("run.db"));
    const auto found = report_of(Words{"release", path("jobs.csv"), "--query", "keys(job)", "--unit", "who", "--most", most, "--delta",
                                       "1e-6", "--epsilon", epsilon, "--ledger", path("run.db"), "--noise", noise} +
                                 more)["noise_is_on"]
                           .get<std::string>();
    return std::stoi(found.substr(found.find("above ") + 6));
  };
  int gaussian_is_lower = 0;
  for (const auto& [most, epsilon, more] : std::vector<std::tuple<const char*, const char*, Words>>{
           {"1", "1", {}}, {"3", "1", {}}, {"3", "0.1", private_count}, {"8", "1", private_count}}) {
    const int laplace = threshold("laplace", most, epsilon, more);
    const int gaussian = threshold("gaussian", most, epsilon, more);
    EXPECT_EQ(threshold("best", most, epsilon, more), std::min(laplace, gaussian)) << most << " " << epsilon;
    gaussian_is_lower += gaussian < laplace ? 1 : 0;
  }
  EXPECT_EQ(gaussian_is_lower, 3);
}

TEST_F(Release, WritesCsvThatNoSpreadsheetRuns) {
  write(path("texts.csv"), "t,x\n=1+1,1\n@a,2\n\"b,\"\"c\",-3\n");
  const auto out = surety(release(path("texts.csv"), "histogram(t)",
                                  {"--categories", "=1+1,@a,\"b,\"\"c\",-2,d", "--query", "sum(x)", "--bounds", "-9,-1", "--format", "csv",
                                   "--replay-seed", "1"}))
                       .out;
  std::istringstream lines{out};
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(
      line,
      "query,group,cell,value,lower,upper,confidence,noise,noise_standard_deviation,not_private,missing_cells,used,used_lower,used_upper,total,warning,rank_error,rank_error_share");
  for (const char* start : {"histogram(t),,'=1+1,", "histogram(t),,'@a,", "histogram(t),,\"b,\"\"c\",", "histogram(t),,'-2,",
                            "histogram(t),,d,", "sum(x),,,-"}) {
    ASSERT_TRUE(std::getline(lines, line)) << out;
    EXPECT_TRUE(line.starts_with(start)) << line;
    EXPECT_NE(line.find(",true,left out,"), std::string::npos) << line;
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
  expect_refused(release(path("texts.csv"), "sum(x)", {"--bounds", "0,1", "--format", "csv", "--json"}), 2, {"--json"});
}

class ReleaseRefusal : public Release {
 protected:
  ReleaseRefusal() { EXPECT_EQ(surety(release(small_data(), "sum(x)", {"--bounds", "0,1"})).code, 0); }
  void expect_usage(const std::string& query, const Words& more, const Words& words) const {
    expect_refused_untouched(release(path("small.csv"), query, more), 2, words);
  }
};

TEST_F(ReleaseRefusal, OfQueries) {
  for (const char* query : {"", "count", "sum(x", "sum x)", ")(", "spread(x)", "sum(x)+1", "COUNT()"}) {
    expect_usage(query, {"--where", "x>0", "--bounds", "0,1"}, {"must be"});
  }
  expect_usage("count(x)", {}, {"count()", "count(units)", "count(distinct column)", "--where"});
  expect_usage("count(distinct x)", {"--by", "label", "--keys", "0,1"}, {"count(distinct x)", "without groups"});
  expect_usage("count(units)", {"--where", "x>0", "--most-keys", "1"}, {"--most-keys is not for count()"});
  expect_usage("sum()", {"--bounds", "0,1"}, {"must name a column"});
  expect_usage("sum(x)", {}, {"--bounds is missing"});
  expect_usage("sum(x)", {"--bounds", "0,1", "--clip-unit-sum", "0,1"}, {"--bounds beside --clip-unit-sum"});
  expect_usage("mean(x)", {"--clip-unit-sum", "0,1"}, {"--clip-unit-sum is not for mean()"});
  expect_usage("sum(x)", {"--clip-unit-sum", "1,0"}, {"bounds"});
  expect_usage("sum(x)", {"--clip-unit-sum", "0,1", "--by", "label", "--keys", "0,1"},
               {"the clip of sum(x) by label is 0 and 1, must be -C and C"});
  expect_usage("mean(x)", {}, {"--bounds is missing"});
  expect_usage("variance(x)", {}, {"--bounds is missing"});
  expect_usage("median(x)", {}, {"--bounds is missing"});
  expect_usage("mediam(x)", {"--bounds", "0,1"}, {"median"});
  expect_usage("median(x)", {"--bounds", "0,1", "--candidates", "1"}, {"--candidates"});
  expect_usage("median(x)", {"--bounds", "0,1", "--by", "x", "--keys", "0,1", "--candidates", "4000000"}, {"2 groups of 4000000", "2^22"});
  expect_usage("sum(x)", {"--bounds", "0,1", "--candidates", "9"}, {"--candidates", "sum()"});
  for (const char* query : {"quantile(x)", "quantile(x, y)", "quantile(, 0.5)", "quantile(x, 0)", "quantile(x, 1.5)",
                            "quantile(x, 0.5, 0.5)", "quantile(x, 0.9, 0.2)", "quantile(0.2, 0.9, 1.5)"}) {
    expect_usage(query, {"--bounds", "0,1"}, {"quantile"});
  }
  expect_usage("histogram(x)", {}, {"--bins, --edges or --categories is missing"});
  expect_usage("histogram(x)", {"--bins", "3"}, {"--bounds is missing"});
  expect_usage("count()", {"--where", "x>0", "--bounds", "0,1"}, {"--bounds", "count()"});
  expect_usage("sum(x)", {"--bounds", "0,1", "--bins", "3"}, {"--bins", "sum()"});
  expect_usage("sum(x)", {"--bounds", "0,1", "--categories", "a"}, {"--categories", "sum()"});
  expect_usage("histogram(x)", {"--categories", "a", "--bounds", "0,1"}, {"--bounds beside --categories"});
  expect_usage("histogram(x)", {"--categories", "a", "--bins", "3"}, {"--bins beside --categories"});
  expect_usage("histogram(x)", {"--categories", "a,b", "--top", "1"}, {"--top is not for histogram()"});
  expect_usage("mode(x)", {}, {"--categories is missing"});
  expect_usage("mode(x)", {"--categories", "a"}, {"texts of a mode are 1", "from 2"});
  expect_usage("mode(x)", {"--categories", "a,b", "--top", "2"}, {"most frequent texts is 2", "from 1 to 1"});
  expect_usage("mode(x)", {"--categories", "a,b", "--top", "0"}, {"--top is '0'", "whole number from 1"});
  expect_usage("mode(x)", {"--categories", "a,b", "--bounds", "0,1"}, {"--bounds is not for mode()"});
  expect_usage("mode(x)", {"--categories", "a,b", "--bins", "2"}, {"--bins is not for mode()"});
  expect_usage("histogram(x)", {"--edges", "0,1,2", "--categories", "a"}, {"--categories beside --edges"});
  expect_usage("histogram(x)", {"--edges", "0,1,2", "--bounds", "0,2"}, {"--bounds beside --edges"});
  expect_usage("histogram(x)", {"--edges", "0,1,2", "--bins", "2"}, {"--bins beside --edges"});
  expect_usage("histogram(x)", {"--edges", "0,1"}, {"number of edges is 2", "from 3"});
  expect_usage("histogram(x)", {"--edges", "0,2,1"}, {"the edge 1 follows 2"});
  expect_usage("histogram(x)", {"--edges", "0,a,1"}, {"--edges has 'a'", "number"});
  expect_usage("mean(x)", {"--bounds", "0,1", "--edges", "0,1,2"}, {"--edges is not for mean()"});
  expect_usage("mean(x)", {"--bounds", "0,1", "--key-edges", "0,1,2"}, {"--key-edges is given without --by"});
  expect_usage("mean(x)", {"--bounds", "0,1", "--by", "y", "--keys", "a", "--key-edges", "0,1,2"}, {"--key-edges is not for --keys"});
  expect_usage("mean(x)", {"--bounds", "0,1", "--by", "y", "--key-bins", "2", "--key-edges", "0,1,2"},
               {"--key-bounds and --key-bins are not for --key-edges"});
  expect_usage("mean(x)", {"--bounds", "0,1", "--by", "y,z", "--key-edges", "0,1,2"}, {"--key-edges is for one column"});
}

TEST_F(ReleaseRefusal, OfKeys) {
  const auto ask = [&](const std::string& query, const Words& more) { return release(path("small.csv"), query, more); };
  expect_refused_untouched(ask("keys(x)", private_count), 2, {"delta > 0"});
  const Words delta{"--delta", "1e-6"};
  expect_refused_untouched(ask("keys(x)", private_count + delta + Words{"--most-keys", "2"}), 2, {"keys of a unit are 2", "at most the 1"});
  expect_refused_untouched(ask("keys(x)", private_count + delta + Words{"--bounds", "0,1"}), 2, {"--bounds is not for keys()"});
  expect_refused_untouched(ask("distinct(x)", private_count), 2, {"delta > 0"});
  expect_refused_untouched(ask("distinct(x, x)", private_count + delta), 2, {"groups are by 'x' twice"});
  expect_refused_untouched(ask("distinct(x)", private_count + delta + Words{"--bounds", "0,1"}), 2, {"--bounds is not for distinct()"});
  expect_refused_untouched(ask("count()", private_count + Words{"--most-keys", "1"}), 2, {"--most-keys is not for count()"});
  const Words discovered{"--by", "label", "--keys", "discovered"};
  expect_refused_untouched(ask("count()", private_count + delta + discovered), 2, {"--keys is discovered for count()", "count(units)"});
  expect_refused_untouched(ask("mean(x)", private_count + discovered + Words{"--bounds", "0,1"}), 2, {"delta > 0"});
  expect_refused_untouched(ask("mean(x)", delta + Words{"--bounds", "0,1", "--keys", "discovered"}), 2, {"--keys is given without --by"});
  expect_refused_untouched(ask("mean(x)", delta + discovered + Words{"--bounds", "0,1", "--key-bins", "2"}), 2,
                           {"--key-bins are not for --keys"});
  expect_refused_untouched(ask("keys(x)", private_count + delta + Words{"--by", "label", "--keys", "0,1"}), 2, {"without groups"});
  const auto by = [&](const char* columns, const Words& more) { return ask("count()", private_count + Words{"--by", columns} + more); };
  expect_refused_untouched(by("label,x", {}), 2, {"--keys is missing", "each of the 2 columns of --by"});
  expect_refused_untouched(by("label,x", {"--keys", "0,1"}), 2, {"--keys has 1 lists", "each of the 2 columns", "; between two"});
  expect_refused_untouched(by("label,label", {"--keys", "0;1"}), 2, {"groups are by 'label' twice"});
  expect_refused_untouched(by("label,x,y,z", {"--keys", "0;1;2;3"}), 2, {"groups are by 4 columns, must be by at most 3"});
  expect_refused_untouched(by("label,", {"--keys", "0;1"}), 2, {"--by has an empty name"});
  expect_refused_untouched(by("label", {"--keys", "0", "--most-per-group", "2"}), 2,
                           {"rows of a unit in each group are 2", "at most the 1"});
  expect_refused_untouched(ask("count()", private_count + Words{"--most-per-group", "1"}), 2, {"--most-per-group is given without --by"});
  expect_refused_untouched(ask("count(units)", private_count + Words{"--by", "label", "--keys", "0", "--most-per-group", "1"}), 2,
                           {"--most-per-group is not for count()"});
  expect_refused_untouched(by("label,x", {"--key-bounds", "0,1", "--key-bins", "2"}), 2,
                           {"--key-bounds and --key-bins are for one column"});
}

TEST_F(ReleaseRefusal, OfOptionsOutOfRange) {
  for (const char* bad : {"", "1", "1,2,3", "2,1", "1,1", "nan,1", "0,inf", "a,b", "-1e308,1e308", "0,1e-320"}) {
    expect_usage("sum(x)", {"--bounds", bad}, {"bounds", "must"});
  }
  for (const char* bad : {"0", "1", "-2", "x", "", "1048577"}) {
    expect_usage("histogram(x)", {"--bounds", "0,1", "--bins", bad}, {"--bins is '" + std::string{bad} + "'", "whole number from 2"});
  }
  for (const char* bad : {"", "a,,b", "a,a", "a, a", "a,\"b", "\"a\"b", "a\"b"}) {
    expect_usage("histogram(x)", {"--categories", bad}, {"categor"});
  }
  for (const char* bad : {"x", "x>", "x>one", ">1", ""}) {
    expect_usage("count()", {"--where", bad}, {"--where is '" + std::string{bad} + "', must "});
  }
  for (const char* bad : {"0", "1", "-1", "nan", "2", "", "x"}) {
    expect_usage("sum(x)", {"--bounds", "0,1", "--confidence", bad}, {"confidence", "must be"});
  }
  for (const char* bad : {"1", "-1", "nan", ""}) expect_usage("sum(x)", {"--bounds", "0,1", "--delta", bad}, {"delta", "must be"});
  expect_usage("sum(x)", {"--bounds", "0,1", "--noise", "uniform"}, {"--noise is 'uniform'"});
  expect_usage("sum(x)", {"--bounds", "0,1", "--adjacency", "zero-in"}, {"adjacency is 'zero-in'"});
  expect_usage("sum(x)", {"--bounds", "0,1", "--adjacency", "zero-out"}, {"must be the ledger's, replace-one"});
  auto words = release(path("small.csv"), "sum(x)", {"--bounds", "0,1"});
  for (const std::string bad : {"nan", "inf", "-1", "0", "1e400", ""}) {
    *(std::find(words.begin(), words.end(), "--epsilon") + 1) = bad;
    expect_refused_untouched(words, 2, {"epsilon", "must be"});
  }
}

TEST_F(ReleaseRefusal, OfGroups) {
  expect_usage("sum(x)", {"--bounds", "0,1", "--by", "y"}, {"--keys is missing", "public"});
  expect_usage("sum(x)", {"--bounds", "0,1", "--keys", "a"}, {"--keys is given without --by"});
  expect_usage("sum(x)", {"--bounds", "0,1", "--by", "y", "--keys", "a", "--key-bins", "3"}, {"--key-bins are not for --keys"});
  expect_usage("sum(x)", {"--bounds", "0,1", "--by", "y", "--key-bins", "3"}, {"--keys is missing", "--key-bounds"});
  expect_usage("sum(x)", {"--bounds", "0,1", "--by", "y", "--keys", "a,a"}, {"twice"});
  expect_usage("histogram(x)", {"--bounds", "0,1", "--bins", "1048576", "--by", "y", "--keys", "a,b"}, {"2^20 numbers"});
  expect_refused_untouched(release(path("small.csv"), "sum(x)", {"--bounds", "0,1", "--by", "none", "--keys", "a"}), 3,
                           {"'none' is missing"});
}

TEST_F(ReleaseRefusal, OfListsOfQueries) {
  const auto expect_list = [&](const std::string& list, int code, const Words& words) {
    write(path("queries.json"), json_text(list));
    expect_refused_untouched(
        {"release", path("small.csv"), "--queries", path("queries.json"), "--epsilon", "1", "--ledger", path("run.db")}, code, words);
  };
  for (const char* bad : {"", "[", "{}", "[]", "[1]", "['sum(x)']", "[{'query': 'count()', 'query': 'count()'}]"}) {
    expect_list(bad, 3, {"queries.json"});
  }
  const auto expect_second = [&](const std::string& second, const Words& words) {
    expect_list("[{'query': 'sum(x)', 'bounds': [0, 1]}, {" + second + "}]", 2, Words{"query 2: "} + words);
  };
  expect_second("'bounds': [0, 1]", {"'function' is missing"});
  expect_second("'query': 'sum(x)', 'bound': [0, 1]", {"unknown field 'bound'", "bounds"});
  expect_second("'query': 'sum(x)'", {"bounds is missing"});
  for (const std::string bad : {"[0]", "[0, 1, 2]", "'0,1'", "['0', 1]", "1", "null"}) {
    expect_second("'query': 'sum(x)', 'bounds': " + bad, {"'bounds' is", "[lower, upper]"});
  }
  expect_second("'query': 'sum(x)', 'bounds': [1, 0]", {"bounds are 1 and 0"});
  expect_second("'query': 'histogram(x)', 'bounds': [0, 1], 'bins': 2.5", {"'bins' is 2.5", "whole number"});
  expect_second("'query': 'histogram(x)', 'categories': 'a,b'", {"'categories' is", "list of texts"});
  expect_second("'query': 'count()', 'where': 'x>'", {"where is 'x>', must "});
  for (const std::string bad : {"0", "-1", "1e7", "1e-7", "'2'"}) {
    expect_second("'query': 'sum(x)', 'bounds': [0, 1], 'weight': " + bad, {"weight"});
  }
  expect_refused_untouched(release(path("small.csv"), json_text("{'query': 'sum(x)', 'bounds': [0, 1]}"), {"--bounds", "0,1"}), 2,
                           {"--bounds is for none of the queries"});
  expect_refused_untouched({"release", path("small.csv"), "--epsilon", "1", "--ledger", path("run.db")}, 2, {"--query"});
}

TEST_F(ReleaseRefusal, OfFiles) {
  const Words sum{"--bounds", "0,1"};
  const auto expect_bad = [&](const std::string& text, const Words& words) {
    write(path("bad.csv"), text);
    expect_refused_untouched(release(path("bad.csv"), "sum(x)", sum + Words{"--form-is-public"}), 3, Words{"bad.csv"} + words);
  };
  expect_bad("", {"is empty"});
  expect_bad("x\n", {"has no records"});
  expect_bad("y\n1\n", {"'x' is missing"});
  expect_bad("x,y\n1,2\n3\n", {"row 2", "1 cells"});
  for (const std::string cell : {"nan", "inf", "-inf", "1e999", "red"}) expect_bad("x\n1\n" + cell + "\n", {"row 2", "'x'", cell});
  expect_bad("x,y\n1,2\n,2\n", {"row 2", "'x'", "empty"});
  expect_refused_untouched(release(path("small.csv"), "count()", {"--where", "z>0"}), 3, {"'z' is missing"});
  // Before noise is looked for, of which there is none here.
  expect_refused_untouched(release(path("small.csv"), "count()", {"--where", "z>0", "--noise", "gaussian"}), 3, {"'z' is missing"});
  expect_refused_untouched(release(path("missing.csv"), "sum(x)", sum), 3, {"No such file"});
  auto words = release(path("small.csv"), "sum(x)", sum);
  const auto ledger = std::find(words.begin(), words.end(), "--ledger") + 1;
  *ledger = path("small.csv");
  expect_refused_untouched(words, 2, {"another file than the ledger"});
  *ledger = path("missing/run.db");
  expect_refused_untouched(words, 5, {"No such file"});
}

TEST_F(ReleaseRefusal, OfWhatIsMissing) {
  for (const char* option : {"--query", "--epsilon", "--ledger"}) {
    auto words = release(path("small.csv"), "count()", {"--where", "x>0"});
    const auto position = std::find(words.begin(), words.end(), option);
    words.erase(position, position + 2);
    expect_refused_untouched(words, 2, {option});
  }
  expect_refused_untouched({"release"}, 2, {"data is required"});
}

// ---- The epsilon of an accuracy ----

class Accuracy : public Release {
 protected:
  [[nodiscard]] Words asking(const std::string& accuracy, const Words& more) const {
    return Words{"release", randhie, "--accuracy", accuracy, "--ledger", path("run.db")} + more;
  }
};

TEST_F(Accuracy, IsKeptByTheLeastEpsilon) {
  struct Asked {
    Words words;
    double error;
  };
  const std::vector<Asked> all{
      {Words{"--query", "count()"} + private_count, 50},
      {{"--query", "count()", "--where", "mdvis>0"}, 50},
      {{"--query", "sum(mdvis)", "--bounds", "0,20"}, 700},
      {{"--query", "histogram(hlthg)", "--categories", "0,1", "--delta", "1e-6", "--noise", "gaussian"}, 30},
      {{"--query", "count()", "--by", "hlthg", "--keys", "0,1", "--where", "mdvis>0", "--delta", "1e-6"}, 25},
      {Words{"--query", "median(mdvis)", "--bounds", "0,20", "--candidates", "21"} + private_count, 40},
      {Words{"--query", "count()", "--query", "sum(mdvis)", "--bounds", "0,2"} + private_count, 90},
  };
  // The largest error of a number in a report.
  const auto error_of = [](const nlohmann::json& report) {
    double largest = 0;
    for (const auto& query : report.contains("queries") ? report["queries"] : nlohmann::json::array({report})) {
      for (const auto& group : query.contains("groups") ? query["groups"] : nlohmann::json::array({query})) {
        for (const auto& one : group.contains("cells") ? group["cells"] : nlohmann::json::array({group})) {
          const auto& ends = query.contains("rank_error") ? nlohmann::json{0, 2 * query["rank_error"].get<double>()} : one["interval"];
          largest = std::max(largest, (ends[1].get<double>() - ends[0].get<double>()) / 2);
        }
      }
    }
    return largest;
  };
  for (const auto& [words, error] : all) {
    std::filesystem::remove(path("run.db"));
    const auto report = report_of(asking(fmt::format("+-{} at 95 %", error), words));
    EXPECT_LE(error_of(report), error * (1 + 1e-12)) << joined(words);
    const double epsilon = report["promise"]["epsilon"].get<double>();
    const auto with_less =
        report_of(Words{"release", randhie, "--ledger", path("run.db"), "--epsilon", fmt::format("{}", 0.998 * epsilon)} + words);
    EXPECT_GT(error_of(with_less), error) << joined(words) << ": a smaller epsilon would do";
  }
}

TEST_F(Accuracy, IsThatOfLaplaceNoise) {
  // Whole numbers are beyond t where Laplace noise is beyond t + 1/2, with probability exp(-(t + 1/2) epsilon).
  const auto epsilon_of = [&](const std::string& accuracy) {
    std::filesystem::remove(path("run.db"));
    return report_of(asking(accuracy, Words{"--query", "count()"} + private_count))["promise"]["epsilon"].get<double>();
  };
  EXPECT_NEAR(epsilon_of("+-50 at 95 %"), std::log(20) / 50.5, 2e-5);
  EXPECT_NEAR(epsilon_of("\xc2\xb1"
                         "50"),
              std::log(20) / 50.5, 2e-5)
      << "95 % is the default";
  EXPECT_NEAR(epsilon_of("200 at 99.9%"), std::log(1000) / 200.5, 2e-5);
  // A text with so many records less than the largest has so much more exponential noise: two texts, each with probability exp(-50 epsilon) / 2.
  std::filesystem::remove(path("run.db"));
  const auto mode =
      report_of(asking("+-50 at 95 %", {"--query", "mode(hlthg)", "--categories", "0,1,7", "--adjacency", "add-or-remove-one"}));
  EXPECT_NEAR(mode["promise"]["epsilon"].get<double>(), std::log(20) / 50, 2e-5);
}

TEST_F(Accuracy, IsAskedBeforeAnythingIsCharged) {
  const auto words = asking("+-50 at 90 %", Words{"--query", "count()"} + private_count);
  const auto plan = surety(words + Words{"--print-plan"});
  EXPECT_EQ(plan.json()["target"]["epsilon"], 0.0456) << "log(10) / 50.5, rounded up";
  EXPECT_EQ(plan.json()["options"]["confidence"], 0.9);
  EXPECT_FALSE(plan.json()["options"].contains("accuracy"));
  EXPECT_FALSE(std::filesystem::exists(path("run.db")));
  write(path("plan.json"), plan.out);
  EXPECT_EQ(report_of({"release", "--plan", path("plan.json")})["promise"]["epsilon"], 0.0456);
  expect_refused({"release", "--plan", path("plan.json"), "--accuracy", "50"}, 2, {"cannot combine --accuracy with --epsilon"});
  EXPECT_NE(surety(words).out.find("accuracy     +-50 at 90 % takes epsilon = 0.0456\n"), std::string::npos);
}

TEST_F(Accuracy, IsRefusedWhereItIsNotKnown) {
  const auto refused = [&](const std::string& accuracy, const Words& more, const std::string& why) {
    expect_refused_untouched(asking(accuracy, more), 2, {why});
  };
  const Words counted = Words{"--query", "count()"} + private_count;
  refused("+-1 at 95 %", {"--query", "mean(mdvis)", "--bounds", "0,20"}, "--accuracy is not for mean(mdvis)");
  refused("+-1 at 95 %", {"--query", "variance(mdvis)", "--bounds", "0,20"}, "--accuracy is not for variance(mdvis)");
  refused("+-1 at 95 %", {"--query", "keys(hlthg)", "--delta", "1e-6"}, "--accuracy is not for keys(hlthg)");
  refused("+-50 at 95 %", counted + Words{"--query", "quantile(mdvis, 0.1, 0.5, 0.9)", "--bounds", "0,20"},
          "--accuracy is not for quantile(mdvis");
  refused("+-50 at 95 %", {"--query", "count(units)", "--unit", "mdvis", "--most", "2"}, "nothing that is released here misses by more");
  refused("+-50 at 95 %", counted + Words{"--epsilon", "1"}, "--epsilon excludes --accuracy");
  refused("+-50 at 95 %", counted + Words{"--confidence", "0.9"}, "--confidence is 0.9, must be that of --accuracy, 0.95");
  expect_refused_untouched(asking("+-0.001 at 95 %", {"--query", "sum(mdvis)", "--bounds", "0,20"}), 6,
                           {"--accuracy needs an --epsilon above 1000"});
  for (const char* const bad :
       {"", "much", "+-50 at", "+-50 at 95", "+-50 at 0 %", "+-50 at 100 %", "+-0", "-50", "inf", "+-50 at 95 % at 95 %"}) {
    refused(bad, counted, "--accuracy");
  }
  expect_refused_untouched(Words{"release", randhie, "--query", "count()", "--ledger", path("run.db")}, 2, {"--epsilon is required"});
}

}  // namespace
}  // namespace surety_test::release_test
