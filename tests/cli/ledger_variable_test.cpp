// SURETY_LEDGER names the ledger where no option does, and every report says so.
#include <support/surety_process.h>
#include <support/variable.h>

namespace surety_test::ledger_variable_test {
namespace {

class LedgerVariable : public CommandTest {
 protected:
  [[nodiscard]] Words release() const { return {"release", small_data(), "--query", "count()", "--where", "label>0", "--epsilon", "0.5"}; }
  [[nodiscard]] bool exists(const char* name) const { return std::filesystem::exists(path(name)); }
};

TEST_F(LedgerVariable, IsChargedAndNamed) {
  const Variable ledger{"SURETY_LEDGER", path("of variable.db")};
  EXPECT_NE(surety(release()).out.find("of variable.db (from SURETY_LEDGER) (new), run 1\n"), std::string::npos);
  const auto object = surety(release() + Words{"--json"}).json();
  EXPECT_EQ(object["ledger"], path("of variable.db"));
  EXPECT_EQ(object["ledger_from"], "SURETY_LEDGER");
  EXPECT_EQ(object["run"], 2);
  auto words = train(small_data());
  const auto option = std::find(words.begin(), words.end(), "--ledger");
  words.erase(option, option + 2);
  EXPECT_NE(surety(words).out.find("(from SURETY_LEDGER), run 3"), std::string::npos);
  EXPECT_NE(surety({"simulate", "--instance", "sparse", "--algorithm", "hdb", "--steps", "500", "--seeds", "1", "--epsilon", "1", "--delta",
                    "1e-4"})
                .out.find("(from SURETY_LEDGER), run 4"),
            std::string::npos);
  EXPECT_EQ(runs_in(path("of variable.db")), 4U);
}

TEST_F(LedgerVariable, IsReadByCommandsThatLookAtALedger) {
  const Variable ledger{"SURETY_LEDGER", path("run.db")};
  EXPECT_NE(surety({"ledger", "create", "--adjacency", "replace-one"}).out.find("(from SURETY_LEDGER)"), std::string::npos);
  EXPECT_EQ(surety(release()).code, 0);
  const auto shown = surety({"ledger", "show"});
  EXPECT_NE(shown.out.find("run.db (from SURETY_LEDGER)\n"), std::string::npos);
  EXPECT_EQ(surety({"ledger", "list"}).out, surety({"ledger", "list", path("run.db")}).out);
  EXPECT_NE(surety({"audit"}).out.find("run.db (from SURETY_LEDGER)\n"), std::string::npos);
  EXPECT_EQ(surety({"audit", path("run.db")}).out.find("SURETY_LEDGER"), std::string::npos);
  EXPECT_EQ(surety({"report", "--json"}).out, surety({"report", path("run.db"), "--json"}).out);
  EXPECT_NE(surety({"report", "-o", path("report.md")}).out.find("(from SURETY_LEDGER)"), std::string::npos);
  // A number alone is a file, and not a run of the variable's ledger.
  expect_refused({"ledger", "show", "1"}, 5, {"/1'"});
}

TEST_F(LedgerVariable, GivesWayToAnOptionAPlanAndAnEvent) {
  EXPECT_EQ(surety(release() + Words{"--ledger", path("run.db"), "--print-plan"}).code, 0);
  write(path("plan.json"), surety(release() + Words{"--ledger", path("plan.db"), "--print-plan"}).out);
  const Variable ledger{"SURETY_LEDGER", path("variable.db")};
  const auto outcome = surety(release() + Words{"--ledger", path("option.db")});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out.find("SURETY_LEDGER"), std::string::npos);
  EXPECT_EQ(surety({"release", "--plan", path("plan.json")}).code, 0);
  EXPECT_TRUE(exists("plan.db"));
  EXPECT_TRUE(exists("option.db"));
  EXPECT_FALSE(exists("variable.db"));
  EXPECT_EQ(surety({"audit", "--event", "gaussian(4)", "--adjacency", "replace-one", "--epsilon", "2", "--delta", "1e-5"}).code, 0);
  EXPECT_EQ(surety({"simulate", "--instance", "sparse", "--algorithm", "hdb", "--steps", "500", "--seeds", "1", "--without-noise"}).code,
            0);
  expect_refused({"simulate", "--instance", "sparse", "--algorithm", "hdb", "--steps", "500", "--without-noise", "--ledger", path("x.db")},
                 2, {"--ledger is for noise"});
  EXPECT_FALSE(exists("variable.db"));
}

TEST_F(LedgerVariable, StandsInAPlanAsItsPath) {
  const Variable ledger{"SURETY_LEDGER", path("variable.db")};
  const auto plan = surety(release() + Words{"--print-plan"});
  EXPECT_EQ(plan.json()["options"]["ledger"], path("variable.db"));
  write(path("plan.json"), plan.out);
  const Variable other{"SURETY_LEDGER", path("other.db")};
  EXPECT_EQ(surety({"release", "--plan", path("plan.json")}).code, 0);
  EXPECT_TRUE(exists("variable.db"));
  EXPECT_FALSE(exists("other.db"));
}

TEST_F(LedgerVariable, IsNoneWhereItIsEmptyOrMissing) {
  for (const auto& value : {std::optional<std::string>{""}, std::optional<std::string>{}}) {
    const Variable ledger{"SURETY_LEDGER", value};
    expect_refused(release(), 2, {"--ledger is required"});
    expect_refused({"audit"}, 2, {"a ledger's file, --event or --log is required"});
    expect_refused({"ledger", "show"}, 2, {"ledger is required"});
  }
  const Variable ledger{"SURETY_LEDGER", path("variable.db")};
  expect_refused_untouched(release() + Words{"--ledger", ""}, 2, {"--ledger is '', must name a file"});
}

TEST_F(LedgerVariable, IsHeldToWhatHoldsForTheOption) {
  const auto data = small_data();
  const Variable ledger{"SURETY_LEDGER", data};
  expect_refused_untouched({"release", data, "--query", "count()", "--where", "label>0", "--epsilon", "0.5"}, 2,
                           {"must be another file than the ledger"});
  const Variable must_exist{"SURETY_LEDGER", path("missing.db")};
  expect_refused_untouched({"release", data, "--query", "count()", "--where", "label>0", "--epsilon", "0.5", "--ledger-must-exist"}, 5);
}

}  // namespace
}  // namespace surety_test::ledger_variable_test
