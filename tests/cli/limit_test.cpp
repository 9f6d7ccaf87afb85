// --limit-seconds: every command that asks what something costs ends in time, before anything is charged.
#include <support/surety_process.h>

namespace surety_test::limit_test {
namespace {

class LimitOption : public CommandTest {
 protected:
  /// So short that the first look at the clock is too late.
  static Words at_once() { return {"--limit-seconds", "1e-12"}; }
  static Words never() { return {"--limit-seconds", "1e9"}; }
  static Words event(const std::string& text) { return {"--event", text, "--adjacency", "add-or-remove-one"}; }
};

TEST_F(LimitOption, EndsEveryQuestionWithCode6) {
  const auto data = small_data();
  const std::string run = "repeat(100, poisson(0.01, gaussian(1)))";
  const std::string open = "repeat(100, poisson(0.01, gaussian(z)))";
  EXPECT_EQ(surety({"release", data, "--query", "sum(x)", "--bounds", "-1,1", "--epsilon", "1", "--ledger", path("kept.db")}).code, 0);
  const std::vector<Words> questions{
      Words{"account"} + event(run) + Words{"--delta", "1e-6"},
      Words{"account"} + event(run) + Words{"--risk"},
      Words{"curve"} + event(run) + Words{"--points", "3"},
      Words{"calibrate"} + event(open) + Words{"--solve", "z", "--epsilon", "1", "--delta", "1e-6"},
      Words{"audit"} + event(run) + Words{"--epsilon", "1", "--delta", "1e-6"},
      {"audit", path("kept.db"), "--delta", "1e-6"},
      {"ledger", "list", path("kept.db")},
      {"ledger", "show", path("kept.db"), "1"},
      {"release", data, "--query", "sum(x)", "--bounds", "-1,1", "--epsilon", "1", "--delta", "1e-6", "--ledger", path("new.db")},
      train(data),
      train(data, "label>0", "dp-sgd") + Words{"--records", "60"},
  };
  for (const auto& words : questions) expect_refused_untouched(words + at_once(), 6, {"it took longer than --limit-seconds 1e-12"});
}

TEST_F(LimitOption, ChangesNoAnswerThatComesInTime) {
  const auto words = Words{"account"} + event("repeat(100, poisson(0.01, gaussian(1)))") + Words{"--delta", "1e-6"};
  EXPECT_EQ(surety(words + never()).out, surety(words).out);
}

/// It says how long somebody waits, and nothing of what is run.
TEST_F(LimitOption, IsNoPartOfAPlan) {
  const auto words = train(small_data()) + Words{"--print-plan"};
  EXPECT_EQ(surety(words + never()).out, surety(words).out);
}

TEST_F(LimitOption, RefusesATimeThatIsNone) {
  const auto words = Words{"account"} + event("gaussian(1)") + Words{"--delta", "1e-6"};
  for (const std::string bad : {"0", "-1", "nan"}) {
    expect_refused_untouched(words + Words{"--limit-seconds", bad}, 2, {"limit of time is", bad, "must be greater than 0"});
  }
  expect_refused_untouched({"convert", small_data(), path("d.rec"), "--label", "label", "--limit-seconds", "5"}, 2, {"--limit-seconds"});
}

}  // namespace
}  // namespace surety_test::limit_test
