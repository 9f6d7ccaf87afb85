// surety ledger and surety audit, budgets, and full disks: what is in a ledger stays there.
#include <sys/stat.h>
#include <unistd.h>

#include <support/surety_process.h>

namespace surety_test::ledger_test {
namespace {

class LedgerCommand : public CommandTest {
 protected:
  [[nodiscard]] Words create(const Words& more = {}) const {
    return Words{"ledger", "create", path("run.db"), "--adjacency", "replace-one"} + more;
  }
  [[nodiscard]] Words audit(const std::string& file = "run.db") const { return {"audit", path(file), "--delta", "1e-5"}; }
};

TEST_F(LedgerCommand, MakesAnEmptyLedgerOnce) {
  EXPECT_EQ(surety(create()).code, 0);
  EXPECT_EQ(runs_in(path("run.db")), 0U);
  const auto audited = surety(audit() + Words{"--json"});
  EXPECT_EQ(audited.code, 0);
  EXPECT_EQ(audited.json()["epsilon"]["upper"], 0);
  EXPECT_NE(surety(audit()).out.find("nothing was released"), std::string::npos);
  expect_refused_untouched(create(), 2, {"run.db", "exists"});
}

TEST_F(LedgerCommand, RefusesBudgetsThatAreNone) {
  for (const std::string bad : {"nan", "inf", "-1", "0", "1e400", "abc", ""}) {
    expect_refused_untouched(create({"--epsilon", bad, "--delta", "1e-5"}), 2, {"epsilon", bad, "must be"});
  }
  for (const std::string bad : {"nan", "inf", "-1", "0", "1", "1e400", "abc", ""}) {
    expect_refused_untouched(create({"--epsilon", "1", "--delta", bad}), 2, {"delta", bad, "must be"});
  }
  expect_refused_untouched(create({"--epsilon", "1"}), 2, {"--delta"});
  expect_refused_untouched(create({"--delta", "1e-5"}), 2, {"--epsilon"});
  expect_refused_untouched(create({"--epsilon", "1", "--delta", "1e-5", "--filter", "none"}), 2,
                           {"--filter is 'none'", "renyi or gaussian or zcdp or basic"});
  expect_refused_untouched({"ledger", "create", path("run.db")}, 2, {"--adjacency"});
  expect_refused_untouched({"ledger", "create", path("run.db"), "--adjacency", "both"}, 2, {"'both'", "replace-one"});
  expect_refused_untouched({"ledger", "create", path("missing/run.db"), "--adjacency", "replace-one"}, 5, {"missing/run.db"});
}

TEST_F(LedgerCommand, KeepsItsBudgetBeforeTheDataIsRead) {
  for (const Words& filter : {Words{"--filter", "gaussian"}, Words{"--filter", "zcdp"}, Words{"--filter", "renyi"}}) {
    std::filesystem::remove(path("run.db"));
    ASSERT_EQ(surety(create({"--epsilon", "1.2", "--delta", "1e-5"}) + filter).code, 0);
    ASSERT_EQ(surety(train(small_data())).code, 0);
    std::filesystem::remove(path("model.json"));
    expect_refused_untouched(train(path("missing.csv")), 1, {"budget epsilon = 1.2 at delta = 1e-05", "allows", "spent", "asks"});
    expect_refused_untouched(train(small_data()) + Words{"--json"}, 1, {"budget"});
    const auto audited = surety(audit() + Words{"--json"});
    EXPECT_EQ(audited.code, 0);
    EXPECT_EQ(audited.json()["budget"]["epsilon"], 1.2);
    EXPECT_EQ(audited.json()["budget"]["filter"], filter[1]);
    EXPECT_LE(audited.json()["budget"]["spent"]["upper"].get<double>(), audited.json()["budget"]["limit"]["lower"].get<double>());
    EXPECT_NE(surety(audit()).out.find("budget"), std::string::npos);
  }
}

TEST_F(LedgerCommand, ABudgetAdmitsWhatTheCommandsReleaseUnlessAnotherFilterIsNamed) {
  const Words release{"release",   small_data(), "--query", "sum(x)",  "--bounds", "0,1",
                      "--epsilon", "0.1",        "--noise", "laplace", "--ledger", path("run.db")};
  ASSERT_EQ(surety(create({"--epsilon", "3", "--delta", "1e-5"})).code, 0);
  EXPECT_EQ(surety(train(small_data())).code, 0);
  const auto released = surety(release);
  EXPECT_EQ(released.code, 0) << released.err;
  std::filesystem::remove(path("run.db"));
  ASSERT_EQ(surety(create({"--epsilon", "3", "--delta", "1e-5", "--filter", "gaussian"})).code, 0);
  expect_refused_untouched(release, 2, {"no filter of kind gaussian is proved for laplace", "renyi, zcdp and basic would be"});
  expect_refused_untouched(Words{"ledger", "create", path("other.db"), "--adjacency", "replace-one", "--epsilon", "1", "--delta", "0"}, 2,
                           {"delta of the budget is 0", "the filter basic needs none"});
}

TEST_F(LedgerCommand, OneBudgetAdmitsCountsAndTrainingAndSaysWhatIsLeft) {
  const auto data = small_data();
  const auto counted = [&](const std::string& epsilon) {
    return Words{"release", data, "--query", "count()", "--where", "x>0", "--epsilon", epsilon, "--ledger", path("run.db")};
  };
  const auto show = [&] { return surety({"ledger", "show", path("run.db"), "--json"}).json(); };
  EXPECT_NE(surety(create({"--epsilon", "1", "--delta", "1e-6"})).out.find("(renyi filter at order 21.98"), std::string::npos);
  auto shown = show();
  EXPECT_EQ(shown["left"]["counts"]["epsilon"], 0.1);
  EXPECT_EQ(shown["left"]["counts"]["runs"], 10) << "by the sum of their epsilons";
  EXPECT_FALSE(shown["left"].contains("like_the_last"));
  EXPECT_EQ(shown["budget"]["odometer"]["epsilon"]["upper"], 0);
  // A pure run of half of epsilon, then one that is not: the order counts from then on.
  ASSERT_EQ(surety(counted("0.05")).code, 0);
  const Words sgd{"train", data,        "--label", "label>0", "--algorithm", "dp-sgd",   "--records",    "60",      "--steps",
                  "20",    "--epsilon", "0.3",     "--delta", "1e-6",        "--ledger", path("run.db"), "--model", path("model.json")};
  const auto trained = surety(sgd);
  ASSERT_EQ(trained.code, 0) << trained.err;
  ASSERT_EQ(surety(counted("0.05")).code, 0);
  shown = show();
  EXPECT_EQ(shown["runs"], 3);
  EXPECT_EQ(shown["budget"]["filter"], "renyi");
  EXPECT_FALSE(shown["budget"].contains("spent_epsilon"));
  const double left = shown["left"]["like_the_last"]["runs"].get<double>();
  EXPECT_GT(left, shown["left"]["counts"]["runs"].get<double>());
  EXPECT_GT(shown["budget"]["odometer"]["epsilon"]["upper"].get<double>(), 0.1);
  EXPECT_LT(shown["budget"]["odometer"]["epsilon"]["upper"].get<double>(), 1.2);
  EXPECT_LT(shown["budget"]["spent"]["upper"].get<double>(), shown["budget"]["limit"]["lower"].get<double>());
  const auto text = surety({"ledger", "show", path("run.db")}).out;
  const auto words = std::to_string(shown["left"]["like_the_last"]["runs"].get<int>()) + " more runs like the last, or " +
                     std::to_string(shown["left"]["counts"]["runs"].get<int>()) + " counts at epsilon 0.1";
  EXPECT_NE(text.find(words), std::string::npos) << text;
  EXPECT_NE(text.find("surely, but for a probability of 1e-06"), std::string::npos) << text;
  // What is left is admitted, and one more is not.
  for (int i = 0; i < shown["left"]["counts"]["runs"].get<int>(); ++i) ASSERT_EQ(surety(counted("0.1")).code, 0) << i;
  expect_refused_untouched(counted("0.1"), 1, {"budget epsilon = 1 at delta = 1e-06 allows divergence of order 21.98", "spent", "asks"});
  EXPECT_EQ(surety(audit()).code, 0);
  EXPECT_EQ(surety(audit() + Words{"--json"}).json()["budget"]["order"], shown["budget"]["order"]);
  EXPECT_EQ(surety({"ledger", "show", path("none.db")}).code, 5);
}

// Who may create names in the folder, and not write the ledger, changes nothing by them.
TEST_F(LedgerCommand, RefusesWhatAnotherUserPlacedBesideIt) {
  ASSERT_EQ(surety(create({"--epsilon", "1.2", "--delta", "1e-5"})).code, 0);
  const auto data = small_data();
  ASSERT_EQ(surety(train(data)).code, 0);
  std::filesystem::remove(path("model.json"));
  for (const std::string ending : {"-journal", "-wal", "-shm"}) {
    const auto name = path("run.db" + ending);
    for (const bool is_fifo : {true, false}) {
      if (is_fifo) {
        ASSERT_EQ(::mkfifo(name.c_str(), 0666), 0);
      } else {
        write(name, std::string(8192, 'j'));
        // Another user's; where this process can make none, one that others may write.
        if (::chown(name.c_str(), 65534, 65534) != 0) {
          ASSERT_EQ(::chmod(name.c_str(), 0666), 0);
        }
      }
      for (const auto& words : {Words{"ledger", "list", path("run.db")}, Words{"ledger", "show", path("run.db")}, audit(), train(data)}) {
        expect_refused_untouched(words, 5, {"cannot use the ledger", "run.db" + ending});
      }
      std::filesystem::remove(name);
    }
  }
  EXPECT_EQ(runs_in(path("run.db")), 1U);
}

TEST_F(LedgerCommand, SaysWhichRuleAdmittedWhatIsSpent) {
  const auto data = small_data();
  const auto counted = [&](const std::string& epsilon) {
    return Words{"release", data, "--query", "count()", "--where", "x>0", "--epsilon", epsilon, "--ledger", path("run.db")};
  };
  const auto show = [&] { return surety({"ledger", "show", path("run.db")}).out; };
  const auto rules = [&] { return surety({"ledger", "show", path("run.db"), "--json"}).json()["budget"]["admitted_by"]; };
  ASSERT_EQ(surety(create({"--epsilon", "1", "--delta", "1e-6"})).code, 0);
  ASSERT_EQ(surety(counted("0.2")).code, 0);
  EXPECT_NE(show().find(" of 0.535454, epsilon 0.2 of 1: within both rules, of which one is enough\n"), std::string::npos) << show();
  EXPECT_EQ(rules(), (nlohmann::json{"divergence", "epsilon"}));
  // Beyond the limit of the divergence, which a reader takes for a broken budget where no rule is named.
  for (int i = 0; i < 3; ++i) ASSERT_EQ(surety(counted("0.24")).code, 0);
  const std::string words = ", epsilon 0.92 of 1: admitted by the sum of epsilons, as long as every run promises one";
  EXPECT_NE(show().find(words + "\n"), std::string::npos) << show();
  EXPECT_EQ(rules(), nlohmann::json{"epsilon"});
  const auto json = surety({"ledger", "show", path("run.db"), "--json"}).json()["budget"];
  EXPECT_GT(json["spent"]["lower"].get<double>(), json["limit"]["upper"].get<double>());
  EXPECT_NE(surety(audit()).out.find(words + "\n"), std::string::npos);
  expect_refused_untouched(counted("0.24"), 1, {"; all epsilons together are 1.16, above 1"});
  expect_refused_untouched(Words{"train", data, "--label", "label>0", "--algorithm", "dp-sgd", "--records", "60", "--steps", "20",
                                 "--epsilon", "0.3", "--delta", "1e-6", "--ledger", path("run.db"), "--model", path("model.json")},
                           1, {"the sum of epsilons admits nothing that promises none"});
}

TEST_F(LedgerCommand, CountsRunsThatAreLeftUpToALimit) {
  ASSERT_EQ(surety(create({"--epsilon", "1000000", "--delta", "1e-6"})).code, 0);
  ASSERT_EQ(
      surety({"release", small_data(), "--query", "count()", "--where", "x>0", "--epsilon", "0.0001", "--ledger", path("run.db")}).code, 0);
  const auto shown = surety({"ledger", "show", path("run.db")}).out;
  EXPECT_NE(shown.find("left         at least 1000000 more runs like the last, or 9 counts at epsilon 100000\n"), std::string::npos)
      << shown;
}

TEST_F(LedgerCommand, ABudgetTakesTheOrderThatIsNamedOrPlanned) {
  const Words budget{"--epsilon", "1", "--delta", "1e-6"};
  const Words plan{"--planned", "repeat(20, poisson(0.01, record_sum(1.5)))"};
  EXPECT_EQ(surety(create(budget + Words{"--order", "12", "--json"})).json()["budget"]["order"], 12);
  std::filesystem::remove(path("run.db"));
  const double order = surety(create(budget + plan + Words{"--json"})).json()["budget"]["order"].get<double>();
  EXPECT_GT(order, 5);
  EXPECT_LT(order, 22);
  std::filesystem::remove(path("run.db"));
  const Words quotient{"--planned", "repeat(2e1, poisson(1/100, record_sum(3/2)))", "--json"};
  EXPECT_EQ(surety(create(budget + quotient)).json()["budget"]["order"], order);
  std::filesystem::remove(path("run.db"));
  expect_refused_untouched(create(budget + Words{"--order", "1"}), 2, {"order is 1", "greater than 1"});
  expect_refused_untouched(create(budget + Words{"--order", "2"}), 2, {"order of the budget is 2", "larger"});
  expect_refused_untouched(create(budget + Words{"--order", "12", "--filter", "zcdp"}), 2, {"order", "renyi, not zcdp"});
  expect_refused_untouched(create(budget + plan + Words{"--filter", "zcdp"}), 2, {"--planned", "renyi, not zcdp"});
  expect_refused_untouched(create(budget + plan + Words{"--order", "12"}), 2, {"--planned", "--order"});
  expect_refused_untouched(create(budget + Words{"--planned", "approx(0.1, 1e-9)"}), 2, {"no filter of kind renyi", "approx"});
  expect_refused_untouched(create(plan), 2, {"--planned", "--epsilon"});
}

TEST_F(LedgerCommand, ShowsALedgerWithoutABudget) {
  ASSERT_EQ(surety(create()).code, 0);
  EXPECT_NE(surety({"ledger", "show", path("run.db")}).out.find("budget       none"), std::string::npos);
  EXPECT_FALSE(surety({"ledger", "show", path("run.db"), "--json"}).json().contains("budget"));
  std::filesystem::remove(path("run.db"));
  // A budget of a kind that knows no count says what it can.
  ASSERT_EQ(surety(create({"--epsilon", "1", "--delta", "1e-6", "--filter", "gaussian"})).code, 0);
  const auto shown = surety({"ledger", "show", path("run.db")}).out;
  EXPECT_EQ(shown.find("left"), std::string::npos) << shown;
  EXPECT_NE(shown.find("mu^2 0 of 0.0"), std::string::npos) << shown;
}

TEST_F(LedgerCommand, ListsWhatEachRunCostsAndAuditsWhatAllCostTogether) {
  ASSERT_EQ(surety(train(small_data())).code, 0);
  EXPECT_NE(surety(audit()).out.find("every promise is kept"), std::string::npos);
  std::filesystem::remove(path("model.json"));
  ASSERT_EQ(surety(train(small_data())).code, 0);
  const auto listed = surety({"ledger", "list", path("run.db"), "--json"}).json()["runs"];
  const double each = listed[0]["epsilon"]["upper"].get<double>();
  EXPECT_LE(each, listed[0]["promise"]["epsilon"].get<double>());
  EXPECT_NE(surety({"ledger", "list", path("run.db")}).out.find("epsilon <= "), std::string::npos);
  const auto text = surety(audit()).out;
  EXPECT_NE(text.find("each of 2 promises is kept by itself; together the 2 runs cost epsilon <= "), std::string::npos) << text;
  EXPECT_GT(surety(audit() + Words{"--json"}).json()["epsilon"]["upper"].get<double>(), each);
}

// Runs are printed one by one, and the whole is what one object would be.
TEST_F(LedgerCommand, ListsRunsInOneObject) {
  const auto listed = [&](const std::string& file) { return surety({"ledger", "list", path(file), "--json"}); };
  const std::string odd = "a\n  \"runs\": [].db";
  for (const auto& file : {std::string{"run.db"}, odd}) {
    ASSERT_EQ(surety({"ledger", "create", path(file), "--adjacency", "replace-one"}).code, 0);
    for (std::size_t runs = 0; runs < 3; ++runs) {
      const auto found = listed(file);
      EXPECT_EQ(found.out, found.json().dump(2) + "\n");
      EXPECT_EQ(found.json()["runs"].size(), runs);
      EXPECT_EQ(found.json()["ledger"], path(file));
      ASSERT_EQ(surety({"release", small_data(), "--query", "sum(x)", "--bounds", "0,1", "--epsilon", "0.1", "--ledger", path(file)}).code,
                0);
    }
  }
}

TEST_F(LedgerCommand, ABasicBudgetMayHaveDeltaZeroAndAdmitsNoGaussianNoise) {
  ASSERT_EQ(surety(create({"--epsilon", "1.2", "--delta", "0", "--filter", "basic"})).code, 0);
  expect_refused_untouched(train(small_data()), 2, {"no filter of kind basic is proved for gaussian"});
  EXPECT_EQ(surety(audit() + Words{"--json"}).json()["budget"]["filter"], "basic");
}

TEST_F(LedgerCommand, KeepsOneAdjacency) {
  ASSERT_EQ(surety(train(small_data())).code, 0);
  std::filesystem::remove(path("model.json"));
  expect_refused_untouched(train(small_data()) + Words{"--adjacency", "zero-out"}, 2, {"zero-out", "replace-one"});
  expect_refused_untouched(train(path("missing.csv")) + Words{"--adjacency", "add-or-remove-one", "--public-count", "9"}, 2,
                           {"add-or-remove-one", "replace-one"});
}

TEST_F(LedgerCommand, ListsAndShowsRunsInTextAndJson) {
  ASSERT_EQ(surety(train(small_data()) + Words{"--note", "first\nline"}).code, 0);
  ASSERT_EQ(surety(train(small_data())).code, 0);
  const auto text = surety({"ledger", "list", path("run.db")});
  EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), 3) << text.out;
  EXPECT_NE(text.out.find("first line"), std::string::npos);
  EXPECT_NE(text.out.find("2 runs under replace-one"), std::string::npos);
  const auto json = surety({"ledger", "list", path("run.db"), "--json"}).json();
  EXPECT_EQ(json["adjacency"], "replace-one");
  ASSERT_EQ(json["runs"].size(), 2U);
  EXPECT_EQ(json["runs"][0]["note"], "first\nline");
  auto expected = json["runs"][1];
  expected["version"] = 1;
  EXPECT_EQ(surety({"ledger", "show", path("run.db"), "2", "--json"}).json(), expected);
  EXPECT_NE(surety({"ledger", "show", path("run.db"), "1"}).out.find("epsilon = 1 at delta = 1e-05"), std::string::npos);
  for (const char* run : {"0", "3"}) expect_refused_untouched({"ledger", "show", path("run.db"), run}, 2, {"run is", run});
  for (const std::string run : {"-1", "one", "", "18446744073709551616"}) {
    expect_refused_untouched({"ledger", "show", path("run.db"), run}, 2, {"run is '" + run + "'", "whole number"});
  }
}

TEST_F(LedgerCommand, AuditsTwoRunsTogetherAndAgainstWhatIsAsked) {
  ASSERT_EQ(surety(train(small_data())).code, 0);
  ASSERT_EQ(surety(train(small_data())).code, 0);
  const auto json = surety(audit() + Words{"--json"}).json();
  EXPECT_GT(json["epsilon"]["lower"].get<double>(), 1.4);
  EXPECT_LT(json["epsilon"]["upper"].get<double>(), 2);
  EXPECT_EQ(json["kept"], true);
  EXPECT_EQ(surety(audit() + Words{"--epsilon", "2"}).code, 0);
  const auto broken = surety(audit() + Words{"--epsilon", "1.4"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_NE(broken.out.find("BROKEN"), std::string::npos);
  EXPECT_EQ(surety(audit() + Words{"--epsilon", "1.4", "--json"}).json()["kept"], false);
  for (const std::string bad : {"nan", "inf", "-1", "1", "1e400", "abc", ""}) {
    expect_refused_untouched({"audit", path("run.db"), "--delta", bad}, 2, {"delta", bad, "must be"});
  }
  for (const std::string bad : {"nan", "inf", "-1", "1e400", "abc", ""}) {
    expect_refused_untouched(audit() + Words{"--epsilon", bad}, 2, {"epsilon", bad, "must be"});
  }
  EXPECT_EQ(surety({"audit", path("run.db"), "--delta", "0", "--json"}).json()["epsilon"]["upper"], "infinity");
}

TEST_F(LedgerCommand, HasABudgetOfRho) {
  const auto made = surety(create({"--rho", "0.5", "--delta", "1e-10", "--json"})).json();
  EXPECT_EQ(made["budget"]["filter"], "zcdp");
  EXPECT_EQ(
      made["budget"]["epsilon"],
      surety({"account", "--event", "zcdp(0.5)", "--adjacency", "replace-one", "--delta", "1e-10", "--json"}).json()["epsilon"]["upper"]);
  const auto shown = surety({"ledger", "show", path("run.db")}).out;
  EXPECT_NE(shown.find("spent        rho 0 of 0.4999"), std::string::npos) << shown;
  std::filesystem::remove(path("run.db"));
  EXPECT_NE(surety(create({"--rho", "0.5", "--delta", "1e-10"})).out.find("(zcdp filter: what rho = 0.5 costs)"), std::string::npos);
  std::filesystem::remove(path("run.db"));
  for (const std::string bad : {"0", "-1", "inf", "nan", "abc"}) {
    expect_refused_untouched(create({"--rho", bad, "--delta", "1e-5"}), 2, {"--rho", bad, "must be"});
  }
  expect_refused_untouched(create({"--rho", "1"}), 2, {"--rho and --delta"});
  expect_refused_untouched(create({"--rho", "1", "--delta", "0"}), 2, {"delta of the budget is 0"});
  expect_refused_untouched(create({"--rho", "1", "--epsilon", "1", "--delta", "1e-5"}), 2, {"--rho and --epsilon"});
  expect_refused_untouched(create({"--rho", "1", "--delta", "1e-5", "--filter", "renyi"}), 2, {"--rho goes with --filter zcdp, not renyi"});
  expect_refused_untouched(create({"--rho", "1", "--delta", "1e-5", "--order", "9"}), 2, {"--order"});
}

TEST_F(LedgerCommand, AuditsAtTheDeltaOfTheBudgetOrOfThePromises) {
  const Words bare{"audit", path("run.db"), "--json"};
  ASSERT_EQ(surety(create()).code, 0);
  expect_refused_untouched(bare, 2, {"--delta is required", "neither a budget nor a promise"});
  expect_refused_untouched({"audit", path("run.db"), "--risk"}, 2, {"charged for nothing"});
  ASSERT_EQ(surety(train(small_data())).code, 0);
  EXPECT_EQ(surety(bare).json(), surety(audit() + Words{"--json"}).json());
  EXPECT_EQ(surety(bare).json()["delta"], 1e-5);
  std::filesystem::remove(path("run.db"));
  ASSERT_EQ(surety(create({"--epsilon", "3", "--delta", "1e-4"})).code, 0);
  EXPECT_EQ(surety(bare).json()["delta"], 1e-4);
}

TEST_F(LedgerCommand, SaysWhatAnAttackerGets) {
  ASSERT_EQ(surety(train(small_data())).code, 0);
  const auto risk = surety({"audit", path("run.db"), "--risk", "--json"}).json();
  const auto account =
      surety({"account", "--event", risk["event"].get<std::string>(), "--adjacency", "replace-one", "--risk", "--json"}).json();
  for (const char* field : {"advantage", "true_positive_rates", "accuracy", "mu"}) EXPECT_EQ(risk[field], account[field]) << field;
  EXPECT_NE(surety({"audit", path("run.db"), "--risk"}).out.find("\nreleased       "), std::string::npos);
  expect_refused_untouched({"audit", path("run.db"), "--risk", "--delta", "1e-5"}, 2, {"--risk and --delta"});
  expect_refused_untouched({"audit", path("run.db"), "--risk", "--epsilon", "1"}, 2, {"--risk and --epsilon"});
}

TEST_F(LedgerCommand, AuditsAClaimAboutAnEvent) {
  const auto claim = [](const std::string& event, const std::string& epsilon) {
    return Words{"audit", "--event", event, "--adjacency", "replace-one", "--epsilon", epsilon, "--delta", "1e-3"};
  };
  const auto printed = claim("repeat(75000, without_replacement(200000, 1, gaussian(0.0045)))", "0.2");
  const auto broken = surety(printed + Words{"--json"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_EQ(broken.json()["kept"], false);
  EXPECT_EQ(broken.json()["refuted"], true);
  EXPECT_NEAR(broken.json()["delta"]["lower"].get<double>(), 0.3127, 1e-4);
  EXPECT_NEAR(broken.json()["delta"]["upper"].get<double>(), 0.3127, 1e-4);
  EXPECT_NE(surety(printed).out.find("BROKEN"), std::string::npos);
  EXPECT_EQ(surety(claim("repeat(100, gaussian(50))", "1")).code, 0);
  EXPECT_NE(surety(claim("repeat(100, gaussian(50))", "1")).out.find("the claim is kept"), std::string::npos);
  // What lies between both bounds is neither kept nor refuted.
  const auto open = surety(claim("zcdp(0.1)", "1.3559") + Words{"--json"});
  EXPECT_EQ(open.code, 1);
  EXPECT_EQ(open.json()["refuted"], false);
  expect_refused({"audit", "--delta", "1e-3"}, 2, {"ledger", "--event"});
  expect_refused({"audit", "--event", "gaussian(1)", "--delta", "1e-3", "--epsilon", "1"}, 2, {"--adjacency"});
  expect_refused({"audit", "--event", "gaussian(1)", "--adjacency", "replace-one", "--delta", "1e-3"}, 2, {"--epsilon"});
  expect_refused(audit() + Words{"--adjacency", "replace-one"}, 2, {"--adjacency", "--event"});
  expect_refused(audit() + Words{"--event", "gaussian(1)"}, 2, {"--event"});
}

TEST(Audit, RefutesAClaimOfBatchesThatShowWhoIsInThem) {
  const Words claim{"audit",   "--event", "poisson(0.1, randomized_response(0.9, 3))", "--adjacency", "zero-out", "--epsilon", "1",
                    "--delta", "0"};
  const auto said = surety(claim);
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.out.find("BROKEN"), std::string::npos) << said.out;
  EXPECT_EQ(surety(claim + Words{"--json"}).json()["refuted"], true);
}

TEST_F(LedgerCommand, RefusesWhatIsNoIntactLedger) {
  ASSERT_EQ(surety(train(small_data())).code, 0);
  const auto good = contents(path("run.db"));
  write(path("text.db"), "this is no ledger, but a text of more than one hundred bytes: " + std::string(200, 'x'));
  write(path("empty.db"), "");
  for (const std::size_t length : {good.size() / 4, good.size() / 2, good.size() - 1, std::size_t{100}, std::size_t{16}}) {
    write(path("truncated" + std::to_string(length) + ".db"), good.substr(0, length));
  }
  auto flipped = good;
  flipped[flipped.rfind("gaussian")] = 'G';
  write(path("flipped.db"), flipped);
  auto future = good;
  future[63] = static_cast<char>(future[63] + 2);  // the last byte of user_version, the version of the format
  write(path("future.db"), future);
  std::filesystem::create_directory(path("folder.db"));
  int refused = 0;
  for (const auto& [file, text] : files()) {
    const auto name = std::filesystem::path{file}.filename().string();
    if (!name.ends_with(".db") || name == "run.db") continue;
    ++refused;
    const int code = name == "folder.db" ? 2 : 4;  // what is no file is no damaged one either
    for (const Words& command : {audit(name), Words{"ledger", "list", file}, Words{"ledger", "show", file, "1"}}) {
      expect_refused_untouched(command, code, {name});
    }
    auto words = train(small_data());
    *(std::find(words.begin(), words.end(), "--ledger") + 1) = file;
    expect_refused_untouched(words, code, {name});
  }
  EXPECT_EQ(refused, 10);
  expect_refused(audit("future.db"), 4, {"version"});
  expect_refused(audit("empty.db"), 4, {"empty"});
  expect_refused_untouched(audit("missing.db"), 5, {"missing.db", "No such file"});
  expect_refused_untouched({"ledger", "list", path("missing.db")}, 5, {"missing.db", "No such file"});
  EXPECT_EQ(contents(path("run.db")), good);
}

TEST_F(LedgerCommand, LosesNothingOnAFullDisk) {
  const auto data = small_data();
  // Nothing fits: no ledger, no model, nothing in between.
  for (const rlim_t size : {rlim_t{0}, rlim_t{4096}}) {
    const auto before = files();
    EXPECT_EQ(surety(create(), {.largest_file = size}).code, 5);
    EXPECT_EQ(surety(train(data), {.largest_file = size}).code, 5);
    EXPECT_TRUE(before == files());
  }
  // A ledger and a model are there and stay, whichever file is the first that does not fit.
  ASSERT_EQ(surety(train(data)).code, 0);
  const auto before = files();
  const std::string long_note(100000, 'x');
  int refused = 0;
  for (rlim_t size = 0; size <= 160000; size += 8000) {
    const auto outcome = surety(train(data) + Words{"--note", long_note}, {.largest_file = size});
    if (outcome.code == 0) break;
    ++refused;
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_TRUE(before == files()) << "a file changed under a limit of " << size;
    EXPECT_EQ(runs_in(path("run.db")), 1U);
    EXPECT_EQ(surety(audit()).code, 0);
  }
  EXPECT_GE(refused, 10);
  EXPECT_EQ(runs_in(path("run.db")), 2U) << "without a limit that matters the run is charged";
}

TEST_F(LedgerCommand, IsMadeWithAWordOrNotAtAll) {
  const auto data = small_data();
  const Words release{"release", data, "--query", "sum(x)", "--bounds", "0,3", "--epsilon", "1", "--ledger", path("run.db")};
  expect_refused_untouched(release + Words{"--ledger-must-exist"}, 5, {"run.db", "No such file"});
  expect_refused_untouched(train(data) + Words{"--ledger-must-exist"}, 5, {"run.db", "No such file"});
  const auto made = surety(release);
  EXPECT_NE(made.out.find("run.db (new), run 1\n"), std::string::npos) << made.out;
  const auto used = surety(release + Words{"--ledger-must-exist"});
  EXPECT_EQ(used.code, 0);
  EXPECT_NE(used.out.find("run.db, run 2\n"), std::string::npos) << used.out;
  EXPECT_EQ(surety(release + Words{"--json"}).json()["ledger_is_new"], false);
  std::filesystem::remove(path("run.db"));
  EXPECT_EQ(surety(train(data) + Words{"--json"}).json()["ledger_is_new"], true);
}

TEST_F(LedgerCommand, EveryReportNamesTheUnit) {
  const nlohmann::json row{{"name", "row"}, {"most", 1}};
  const std::string line = "unit         one row\n";
  EXPECT_EQ(surety(create({"--json"})).json()["unit"], row);
  const auto data = small_data();
  const Words release{"release", data, "--query", "sum(x)", "--bounds", "0,3", "--epsilon", "1", "--ledger", path("run.db")};
  for (const Words& words : {release, train(data), audit(), Words{"ledger", "show", path("run.db"), "1"}}) {
    EXPECT_NE(surety(words).out.find(line), std::string::npos) << joined(words);
    EXPECT_EQ(surety(words + Words{"--json"}).json()["unit"], row) << joined(words);
  }
  EXPECT_EQ(surety({"ledger", "list", path("run.db"), "--json"}).json()["unit"], row);
  EXPECT_NE(surety({"ledger", "list", path("run.db")}).out.find("each for one row"), std::string::npos);
}

// The file may not grow, and notes of growing length fill its last page: at some length the reservation fits and the settlement does not.
// The value is paid for then, and must be printed.
TEST_F(LedgerCommand, PrintsWhatIsPaidForWhenItCannotBeSettled) {
  const auto data = small_data();
  const Words release{"release", data, "--query", "sum(x)", "--bounds", "0,3", "--epsilon", "1", "--ledger", path("run.db")};
  for (int i = 0; i < 12; ++i) ASSERT_EQ(surety(release).code, 0);
  const auto before = contents(path("run.db"));
  int unsettled = 0;
  for (std::size_t length = 0; length < 4200 && unsettled < 2; length += 120) {
    write(path("run.db"), before);
    const Words words = release + Words{"--note", std::string(length, 'n')};
    Process process{words, {.largest_file = before.size()}};
    const auto outcome = process.finish();
    const auto run = surety({"ledger", "list", path("run.db"), "--json"}).json()["runs"];
    if (run.size() == 12 || outcome.code == 0) continue;
    ++unsettled;
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_EQ(run[12]["state"], "reserved");
    EXPECT_NE(outcome.out.find("value "), std::string::npos) << outcome.out;
    EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
    for (const char* word : {"run 13", "could not be settled", "stays charged", "printed"}) {
      EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
    }
  }
  EXPECT_GT(unsettled, 0) << "no note made the settlement alone fail";
}

TEST_F(LedgerCommand, ChargesARunWhoseReportIsLost) {
  EXPECT_EQ(surety(train(small_data()), {.standard_output = "/dev/full"}).code, 5);
  EXPECT_EQ(runs_in(path("run.db")), 1U);
  EXPECT_EQ(surety(audit(), {.standard_output = "/dev/full"}).code, 5);
}

}  // namespace
}  // namespace surety_test::ledger_test
