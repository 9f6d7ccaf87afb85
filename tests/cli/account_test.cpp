// surety calibrate and surety account: the numbers, their two spellings, and what they refuse.
#include <cstdlib>

#include <support/surety_process.h>

namespace surety_test::account_test {
namespace {

const std::string hundred = "repeat(100, gaussian(z))";
const Words main_target{"--solve", "z", "--epsilon", "1", "--delta", "1e-5", "--adjacency", "replace-one"};

Words account(const std::string& event, const std::string& question = "--delta", const std::string& at = "1e-5") {
  return {"account", "--event", event, "--adjacency", "replace-one", question, at};
}
Words calibrate(const std::string& event, const std::string& epsilon = "1", const std::string& delta = "1e-5") {
  return {"calibrate", "--event", event, "--solve", "z", "--adjacency", "replace-one", "--epsilon", epsilon, "--delta", delta};
}

/// The two numbers of the first "<name> in [lower, upper]" in `text`; "infinity" is one.
std::pair<double, double> enclosure_in(const std::string& text, const std::string& name) {
  std::smatch found;
  const std::regex line{name + R"( +in \[([^,]+), ([^\]]+)\])"};
  if (!std::regex_search(text, found, line)) {
    ADD_FAILURE() << "no enclosure of " << name << " in " << text;
    return {HUGE_VAL, -HUGE_VAL};
  }
  return {std::strtod(found[1].str().c_str(), nullptr), std::strtod(found[2].str().c_str(), nullptr)};
}

TEST(Calibrate, FindsTheMultiplierOfTheMainJob) {
  const auto outcome = surety(Words{"calibrate", "--event", hundred} + main_target + Words{"--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_NEAR(json["z"].get<double>(), 37.3063, 5e-5);
  EXPECT_EQ(json["z"], json["noise_multiplier"]);
  EXPECT_LE(json["epsilon"]["upper"].get<double>(), 1);
  EXPECT_GT(json["epsilon"]["lower"].get<double>(), 0.999999);
  EXPECT_EQ(json["delta"], 1e-5);
  EXPECT_EQ(json["adjacency"], "replace-one");
  EXPECT_EQ(json["accountant"], "closed-form");
  EXPECT_LT(json["failing"], json["z"]);
  EXPECT_GE(json["independent"]["epsilon"]["upper"], json["epsilon"]["lower"]);
}

TEST(Calibrate, SaysInTextWhatItSaysInJson) {
  const Words arguments = Words{"calibrate", "--event", hundred} + main_target;
  const auto text = surety(arguments);
  const auto json = surety(arguments + Words{"--json"}).json();
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(std::strtod(text.out.substr(text.out.find("= ") + 2).c_str(), nullptr), json["z"].get<double>());
  const auto [lower, upper] = enclosure_in(text.out, "epsilon");
  EXPECT_LE(lower, json["epsilon"]["lower"].get<double>());
  EXPECT_GE(upper, json["epsilon"]["upper"].get<double>());
  EXPECT_NE(text.out.find("replace-one"), std::string::npos);
}

TEST(Calibrate, GivesAnEventThatAccountFindsWithinTheTarget) {
  const auto event = surety(calibrate("compose(gaussian(z), repeat(10, gaussian(50)))", "2", "1e-6") + Words{"--json"}).json()["event"];
  const auto cost = surety(account(event.get<std::string>(), "--delta", "1e-6") + Words{"--json"}).json();
  EXPECT_LE(cost["epsilon"]["upper"].get<double>(), 2);
  EXPECT_GT(cost["epsilon"]["lower"].get<double>(), 1.999999);
}

TEST(Calibrate, SaysThatDeltaZeroIsUnreachable) {
  for (const Words& more : {Words{}, Words{"--json"}})
    expect_refused(calibrate("gaussian(z)", "1", "0") + more, 6, {"epsilon = 1", "delta = 0"});
}

TEST(Calibrate, RefusesATargetThatIsNone) {
  for (const std::string bad : {"nan", "inf", "-1", "0", "1e400", "abc", "", "1e-400"}) {
    expect_refused(calibrate("gaussian(z)", bad), 2, {"epsilon", bad == "0" ? "is 0" : bad, "must be"});
  }
  for (const std::string bad : {"nan", "inf", "-1", "1", "2", "1e400", "abc", "", "1e-400"}) {
    expect_refused(calibrate("gaussian(z)", "1", bad), 2, {"delta", bad, "must be"});
  }
}

TEST(Calibrate, RefusesToSolveForWhatIsNotInTheEvent) {
  expect_refused(Words{"calibrate", "--event", "gaussian(2)"} + main_target, 2, {"the name to solve for", "'z'", "gaussian(2)"});
  expect_refused(Words{"calibrate", "--event", "gaussian(y)"} + main_target, 2, {"'y'", "gaussian(y)"});
  expect_refused({"calibrate", "--event", hundred, "--epsilon", "1", "--delta", "1e-5", "--adjacency", "replace-one"}, 2, {"--solve"});
}

TEST(Account, PrintsTheFieldsOfTheAnswer) {
  const auto outcome = surety(account("repeat(100, gaussian(40))") + Words{"--json"});
  ASSERT_EQ(outcome.code, 0);
  const auto json = outcome.json();
  const auto lower = json["epsilon"]["lower"].get<double>();
  const auto upper = json["epsilon"]["upper"].get<double>();
  EXPECT_GT(lower, 0.9);
  EXPECT_LT(upper, 1);
  EXPECT_LE(upper - lower, 1e-12 * upper);
  EXPECT_EQ(json["delta"], 1e-5);
  EXPECT_EQ(json["adjacency"], "replace-one");
  EXPECT_EQ(json["accountant"], "closed-form");
}

TEST(Account, RoundsTheTextOutwardFromTheJson) {
  for (const char* event : {"gaussian(1)", "gaussian(3)", "repeat(7, gaussian(11))", "compose(gaussian(2), gaussian(5))"}) {
    for (const Words& question : {Words{"epsilon", "--delta", "1e-7"}, Words{"delta", "--epsilon", "0.75"}}) {
      const auto text = surety(account(event, question[1], question[2]));
      const auto json = surety(account(event, question[1], question[2]) + Words{"--json"}).json()[question[0]];
      const auto [lower, upper] = enclosure_in(text.out, question[0]);
      EXPECT_LE(lower, json["lower"].get<double>()) << event;
      EXPECT_GE(upper, json["upper"].get<double>()) << event;
      EXPECT_LE(upper - lower, 1e-8 * upper) << event;
    }
  }
}

TEST(Account, SaysInfinityAtDeltaZero) {
  const auto json = surety(account("gaussian(1)", "--delta", "0") + Words{"--json"}).json();
  EXPECT_EQ(json["epsilon"]["upper"], "infinity");
  EXPECT_EQ(json["delta"], 0);
  const auto text = surety(account("gaussian(1)", "--delta", "0"));
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(enclosure_in(text.out, "epsilon").second, HUGE_VAL);
}

TEST(Account, ReadsTheJsonFormOfAnEvent) {
  const std::string event =
      R"({"version": 1, "adjacency": "replace-one", "event": {"repeat": {"count": 100, "event": {"gaussian": {"noise_multiplier": 40}}}}})";
  const auto said = surety({"account", "--event", event, "--adjacency", "replace-one", "--delta", "1e-5"});
  EXPECT_EQ(said.out, surety(account("repeat(100, gaussian(40))")).out) << said.err;
  expect_refused({"account", "--event", event, "--adjacency", "zero-out", "--delta", "1e-5"}, 2, {"zero-out", "replace-one"});
}

TEST(Account, RefusesAQuestionThatIsNone) {
  for (const std::string bad : {"nan", "inf", "-1", "1", "1e400", "abc", "", "1e-400"}) {
    expect_refused(account("gaussian(1)", "--delta", bad), 2, {"delta", bad, "must be"});
  }
  for (const std::string bad : {"nan", "inf", "-1", "1e400", "abc", ""}) {
    expect_refused(account("gaussian(1)", "--epsilon", bad), 2, {"epsilon", bad, "must be"});
  }
  expect_refused({"account", "--event", "gaussian(1)", "--adjacency", "replace-one"}, 2, {"--delta", "--epsilon"});
  expect_refused(account("gaussian(1)") + Words{"--epsilon", "1"}, 2, {"--delta", "--epsilon"});
}

TEST(Account, RefusesAnAdjacencyThatIsMissingOrMisspelt) {
  expect_refused({"account", "--event", "gaussian(1)", "--delta", "1e-5"}, 2, {"--adjacency"});
  expect_refused({"account", "--event", "gaussian(1)", "--delta", "1e-5", "--adjacency", "replaceone"}, 2,
                 {"adjacency", "'replaceone'", "replace-one", "add-or-remove-one", "zero-out"});
  expect_refused({"calibrate", "--event", "gaussian(z)", "--solve", "z", "--epsilon", "1", "--delta", "1e-5"}, 2, {"--adjacency"});
  expect_refused({"account", "--event", "gaussian(1)", "--delta", "1e-5", "--adjacency", ""}, 2, {"adjacency", "replace-one"});
}

TEST(Account, RefusesEventsWithNameValueAndConstraint) {
  for (const std::string bad : {"nan", "inf", "-1", "0"}) {
    expect_refused(account("gaussian(" + bad + ")"), 2, {"noise multiplier is " + bad, "must be finite and greater than 0"});
    expect_refused(account("repeat(" + bad + ", gaussian(1))"), 2, {"count is " + bad, "must be an integer from 1 to 2^53"});
  }
  expect_refused(account("poisson(1/0, gaussian(1))"), 2, {"sampling rate is 1/0", "the second is not 0"});
  expect_refused(account("repeat(1.5, gaussian(1))"), 2, {"count is 1.5", "integer"});
  expect_refused(account("repeat(1e17, gaussian(1))"), 2, {"count is", "2^53"});
  expect_refused(account("gaussian(1e400)"), 2, {"range", "gaussian(1e400)"});
  expect_refused(account("gaussian(abc)"), 2, {"'abc'", "number"});
  expect_refused(account("gauss(1)"), 2, {"unknown event type 'gauss' at position 1; did you mean 'gaussian'?", "gauss(1)"});
  expect_refused(account("frobnicate(1)"), 2, {"an event is expected (gaussian, record_sum, laplace", "frobnicate(1)"});
  expect_refused(account("posson(0.1, gaussian(1))"), 2, {"at position 1; did you mean 'poisson'?"});
  expect_refused(account("gaussian(1"), 2, {"')' is expected", "gaussian(1"});
  expect_refused(account("gaussian(1) gaussian(1)"), 2, {"end of the event"});
  expect_refused(account("compose()"), 2, {"compose()"});
  expect_refused(account(""), 2, {"event"});
  std::string deep = "gaussian(1)";
  for (int i = 0; i < 64; ++i) deep = "repeat(1, " + deep + ")";
  expect_refused(account(deep), 2, {"64"});
  expect_refused(account("{"), 2, {"not JSON"});
  expect_refused(account(R"({"version":1,"version":1})"), 2, {"'version' appears twice"});
  expect_refused(account(R"({"surprise":1})"), 2, {"unknown field 'surprise'"});
}

TEST(Account, SaysWhatAnAttackerGets) {
  const Words question{"account", "--event", "gaussian(2)", "--adjacency", "replace-one", "--risk", "--prior", "0.2"};
  const auto json = surety(question + Words{"--json"}).json();
  // 2 Phi(1 / 4) - 1, Phi(Phi^-1(0.01) + 1 / 2), and 1 / 2.
  EXPECT_NEAR(json["advantage"]["upper"].get<double>(), 0.19741265136584735, 1e-12);
  ASSERT_EQ(json["true_positive_rates"].size(), 3u);
  EXPECT_EQ(json["true_positive_rates"][1]["false_positive_rate"], 0.01);
  EXPECT_NEAR(json["true_positive_rates"][1]["true_positive_rate"]["upper"].get<double>(), 0.033898939, 1e-9);
  EXPECT_EQ(json["mu"]["upper"].get<double>(), 0.5);
  EXPECT_EQ(json["prior"], 0.2);
  EXPECT_GE(json["accuracy"]["lower"].get<double>(), 0.8);
  const auto text = surety(question);
  EXPECT_EQ(text.code, 0);
  const auto [lower, upper] = enclosure_in(text.out, "advantage");
  EXPECT_LE(lower, json["advantage"]["lower"].get<double>());
  EXPECT_GE(upper, json["advantage"]["upper"].get<double>());
  EXPECT_NE(text.out.find("covers every epsilon"), std::string::npos);
}

// One line says which part, why, and where there is a theorem; who asks for explanations hears from each accountant.
TEST(Account, TellsEachRefusalToWhoAsksForExplanations) {
  const Words question = account("users(2, allocated(100, 2, record_sum(0.3)))");
  const std::string refusal =
      "no accountant has a theorem for users(2, allocated(100, 2, record_sum(0.3))): privacy-loss: it has no dominating pair here under replace-one; there is one under add-or-remove-one and zero-out";
  expect_refused(question, 2, {refusal + "\n"});
  expect_refused(question + Words{"--explain"}, 2,
                 {refusal + " (it has no closed form; choices: ", "; contour has no answer for it: ", "; the renyi accountant has no ",
                  "; the zcdp accountant has no ",
                  "; tuning: ", "; composition theorems know it by no (epsilon, delta) of its own; privacy-loss and renyi may)\n"});
}

TEST(Account, RefusesRiskBesideOtherQuestions) {
  const Words risk{"account", "--event", "gaussian(2)", "--adjacency", "replace-one", "--risk"};
  expect_refused(risk + Words{"--delta", "1e-5"}, 2, {"--risk"});
  expect_refused(risk + Words{"--explain"}, 2, {"--explain", "--risk"});
  expect_refused(risk + Words{"--prior", "1"}, 2, {"--prior is 1", "less than 1"});
  expect_refused(account("gaussian(2)") + Words{"--prior", "0.5"}, 2, {"--prior", "--risk"});
}

TEST(Calibrate, MeetsATargetOfRisk) {
  const Words solve{"calibrate", "--event", "gaussian(z)", "--solve", "z", "--adjacency", "replace-one"};
  const auto advantage = surety(solve + Words{"--advantage", "0.1", "--json"}).json();
  EXPECT_NEAR(advantage["z"].get<double>(), 3.97894828054, 1e-10);
  EXPECT_EQ(advantage["z"], advantage["noise_multiplier"]);
  EXPECT_EQ(advantage["target"]["advantage"], 0.1);
  EXPECT_LE(advantage["advantage"]["upper"].get<double>(), 0.1);
  const Words rates{"--true-positive-rate", "0.05", "--false-positive-rate", "0.01"};
  const auto rate = surety(solve + rates + Words{"--json"}).json();
  EXPECT_NEAR(rate["z"].get<double>(), 1.46736381748, 1e-8);
  EXPECT_LE(rate["true_positive_rate"]["upper"].get<double>(), 0.05);
  EXPECT_EQ(rate["target"]["false_positive_rate"], 0.01);
  EXPECT_NE(surety(solve + rates).out.find("at a false-positive rate of 0.01"), std::string::npos);
}

TEST(Calibrate, MeetsATargetOfRho) {
  const Words solve{"calibrate", "--event", "repeat(100, discrete_gaussian(s, 1))", "--solve", "s", "--adjacency", "replace-one"};
  const auto found = surety(solve + Words{"--rho", "0.5", "--json"}).json();
  EXPECT_NEAR(found["s"].get<double>(), 10, 1e-10);
  EXPECT_LE(found["rho"]["upper"].get<double>(), 0.5);
  EXPECT_EQ(found["target"]["rho"], 0.5);
  EXPECT_EQ(found["accountant"], "zcdp");
  EXPECT_NE(surety(solve + Words{"--rho", "0.5"}).out.find("rho          in [0, 0.5]\n"), std::string::npos);
  for (const std::string bad : {"0", "-1", "inf", "nan", ""}) expect_refused(solve + Words{"--rho", bad}, 2, {"--rho", bad, "must be"});
  for (const char* other : {"--epsilon", "--delta", "--advantage", "--true-positive-rate", "--false-positive-rate"}) {
    expect_refused(solve + Words{"--rho", "0.5", other, "0.1"}, 2, {"one target at a time", "--rho"});
  }
  const Words sampled{"calibrate", "--event", "poisson(0.01, gaussian(z))", "--solve", "z", "--adjacency", "zero-out", "--rho", "0.5"};
  expect_refused(sampled, 2, {"no theorem for poisson(0.01, gaussian(1))"});
}

TEST(Calibrate, FindsTheTruthOfRandomizedResponse) {
  const auto found = surety({"calibrate", "--event", "randomized_response(p, 165)", "--solve", "p", "--epsilon", "14", "--delta", "0",
                             "--adjacency", "replace-one", "--json"})
                         .json();
  EXPECT_NEAR(found["p"].get<double>(), 0.99986364788450, 1e-13);
  EXPECT_LE(found["epsilon"]["upper"].get<double>(), 14);
}

TEST(Calibrate, TakesOneTarget) {
  const Words solve{"calibrate", "--event", "gaussian(z)", "--solve", "z", "--adjacency", "replace-one"};
  expect_refused(solve, 2, {"--epsilon is required", "--advantage"});
  expect_refused(solve + Words{"--epsilon", "1"}, 2, {"--delta is required"});
  expect_refused(solve + Words{"--advantage", "0.1", "--delta", "1e-5"}, 2, {"one target at a time"});
  expect_refused(solve + Words{"--advantage", "0.1", "--false-positive-rate", "0.01"}, 2, {"one target at a time"});
  expect_refused(solve + Words{"--advantage", "1.5"}, 2, {"--advantage is 1.5"});
  expect_refused(solve + Words{"--true-positive-rate", "0.05"}, 2, {"must be given together"});
  expect_refused(solve + Words{"--true-positive-rate", "0.01", "--false-positive-rate", "0.05"}, 2, {"what guessing gets"});
}

}  // namespace
}  // namespace surety_test::account_test
