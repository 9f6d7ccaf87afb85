// surety audit --log and surety calibrate --log: a table and JSON that say the same, exit codes, and what is refused.
#include <support/surety_process.h>

namespace surety_test::log_test {
namespace {

class Log : public CommandTest {
 protected:
  [[nodiscard]] std::string log(const std::string& more = "", const std::string& name = "run.json") const {
    write(path(name),
          R"({"version": 1, "noise_multiplier": 1, "clip": 1, "batch_size": 600, "records": 60000, "epochs": 10)" + more + "}\n");
    return path(name);
  }
};

const std::string claimed = R"(, "adjacency": "zero-out", "epsilon": 1.83, "delta": 1e-5, "accountant": "rdp")";

TEST_F(Log, ShowsEveryReadingAndWhichIsProved) {
  const auto outcome = surety({"audit", "--log", log(claimed + R"(, "sampler": "shuffled")")});
  EXPECT_EQ(outcome.code, 1);
  for (const char* words :
       {"claim        epsilon = 1.83 at delta = 1e-05 by rdp",
        "  poisson        [1.828236666, 1.828236667]  holds       repeat(1000, poisson(0.01, gaussian(1)))",
        "* shuffled       [1.203037669, 17.85658919]  not proved  repeat(10, shuffled(60000, 600, gaussian(1)))",
        "  deterministic  [17.85658683, 17.85658684]  too low", "  fixed_size     no theorem: adjacency is zero-out",
        "proved       epsilon <= 17.85658919 if each epoch is a fresh secret permutation",
        "verdict      the claim is not proved: the bounds lie on both sides of it; it would hold for poisson, allocated"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\nin\n" << outcome.out;
  }
}

TEST_F(Log, EndsWithOneWhereTheClaimIsNotProvedForWhatHappened) {
  const Words only{"--reading", "by_record"};
  const auto code = [&](const std::string& more) { return surety(Words{"audit", "--log", log(more)} + only).code; };
  EXPECT_EQ(code(claimed + R"(, "sampler": "poisson")"), 0);
  EXPECT_EQ(code(claimed + R"(, "sampler": "deterministic")"), 1);
  EXPECT_EQ(code(claimed + R"(, "sampler": "fixed_size")"), 1);
  EXPECT_EQ(code(claimed), 1);
  EXPECT_EQ(code(R"(, "adjacency": "zero-out", "delta": 1e-5)"), 0);
}

TEST_F(Log, SaysInJsonWhatAccountSays) {
  const auto file = log(R"(, "sampler": "poisson")");
  const Words beside{"--adjacency", "add-or-remove-one", "--delta", "1e-6", "--epsilon", "2.5", "--json"};
  const auto outcome = surety(Words{"audit", "--log", file, "--reading", "allocated"} + beside);
  EXPECT_EQ(outcome.code, 0);
  const auto json = outcome.json();
  EXPECT_EQ(json["log"], file);
  EXPECT_EQ(json["kept"], true);
  EXPECT_EQ(json["claim"]["epsilon"], 2.5);
  ASSERT_EQ(json["readings"].size(), 2U);
  for (const auto& reading : json["readings"]) {
    const auto account =
        surety({"account", "--event", reading["event"].get<std::string>(), "--adjacency", "add-or-remove-one", "--delta", "1e-6", "--json"})
            .json();
    EXPECT_EQ(reading["epsilon"], account["epsilon"]);
    EXPECT_EQ(reading["accountant"], account["accountant"]);
  }
  EXPECT_EQ(json["proved"], json["readings"][0]);
}

TEST_F(Log, CalibratesAsForTheEvent) {
  const auto file = log(claimed + R"(, "sampler": "shuffled")");
  const Words target{"--epsilon", "2", "--delta", "1e-6"};
  const auto json = surety(Words{"calibrate", "--log", file, "--reading", "poisson", "--json"} + target).json();
  for (const auto& [place, event] :
       {std::pair{0U, "repeat(1000, poisson(0.01, gaussian(z)))"}, {1U, "repeat(10, shuffled(60000, 600, gaussian(z)))"}}) {
    const auto found = surety(Words{"calibrate", "--event", event, "--solve", "z", "--adjacency", "zero-out", "--json"} + target).json();
    EXPECT_EQ(json["readings"][place]["noise_multiplier"], found["z"]);
    EXPECT_EQ(json["readings"][place]["epsilon"], found["epsilon"]);
    EXPECT_EQ(json["readings"][place]["failing"], found["failing"]);
  }
  EXPECT_EQ(json["proved"], json["readings"][1]);
  const auto text = surety(Words{"calibrate", "--log", file, "--reading", "poisson"});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("target       epsilon = 1.83 at delta = 1e-05"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("is enough if each epoch is a fresh secret permutation"), std::string::npos) << text.out;
}

TEST_F(Log, IsReadFromStandardInput) {
  const auto file = log(claimed + R"(, "sampler": "by_record")");
  const auto outcome = surety({"audit", "--log", "-", "--reading", "by_record"}, {.standard_input = file.c_str()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find("log          -\n"), std::string::npos);
  EXPECT_NE(outcome.out.find("BROKEN"), std::string::npos);
}

TEST_F(Log, RefusesWhatIsNoLog) {
  const auto refused = [&](const std::string& text, const std::string& word) {
    write(path("bad.json"), text);
    for (const char* command : {"audit", "calibrate"}) {
      expect_refused_untouched({command, "--log", path("bad.json"), "--adjacency", "zero-out", "--epsilon", "1", "--delta", "1e-5"}, 3,
                               {"bad.json", word});
    }
  };
  refused("", "not JSON");
  refused("[1]", "a history has the form");
  refused("{}", "the log lacks version, which must be 1; records and batch_size");
  refused(R"({"version": 1, "noise": 1})", "unknown field 'noise'");
  refused(R"({"version": 1, "version": 1})", "twice");
  refused(std::string(70'000, ' '), "must have fewer for a log");
  refused(R"({"version": 1, "steps": 3, "sampling_rate": 2})", "sampling rate is 2");
  refused(R"({"version": 1, "steps": 3, "sampling_rate": 1, "accountant": "\u001b[31m", "sampler": "\u001b[31m"})", "sampler is ' [31m'");
  expect_refused_untouched({"audit", "--log", path("none.json"), "--adjacency", "zero-out", "--delta", "1e-5"}, 3, {"none.json"});
}

TEST_F(Log, IsAHistoryOfPhases) {
  write(path("history"), "[(1.1, .0042, 480), (.9, .0042, 240)]\n");
  const Words question{"audit", "--log", path("history"), "--adjacency", "add-or-remove-one", "--reading", "poisson"};
  const auto outcome = surety(question + Words{"--delta", "1e-5"});
  EXPECT_EQ(outcome.code, 0);
  for (const char* words : {"run          720 steps in 2 phases\n", "noise        from 0.9 to 1.1, over the clip\n",
                            "[0.6484233203, 0.648423324]  compose(repeat(480, poisson(0.0042, gaussian(1.1))), repeat(240, "}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\nin\n" << outcome.out;
  }
  const auto risk = surety(question + Words{"--risk", "--json"}).json();
  const auto account = surety({"account", "--event", risk["readings"][0]["event"].get<std::string>(), "--adjacency", "add-or-remove-one",
                               "--risk", "--json"})
                           .json();
  EXPECT_EQ(risk["readings"][0]["advantage"], account["advantage"]);
  EXPECT_EQ(risk["readings"][0]["true_positive_rates"], account["true_positive_rates"]);
  EXPECT_EQ(surety(question + Words{"--risk", "--prior", "0.1", "--json"}).json()["readings"][0]["prior"], 0.1);
  const auto table = surety(question + Words{"--risk"}).out;
  EXPECT_NE(table.find("true positives at 0.01"), std::string::npos) << table;
  expect_refused_untouched(question + Words{"--risk", "--delta", "1e-5"}, 2, {"--risk and --delta"});
  expect_refused_untouched(question + Words{"--prior", "0.1", "--delta", "1e-5"}, 2, {"--prior is given without --risk"});
  expect_refused_untouched(question + Words{"--risk", "--prior", "1"}, 2, {"--prior is 1, must be"});
  expect_refused_untouched({"audit", "--event", "gaussian(1)", "--adjacency", "zero-out", "--risk"}, 2, {"surety account --risk"});
}

TEST_F(Log, RefusesWhatDoesNotGoTogether) {
  const auto file = log(claimed);
  expect_refused_untouched({"audit", "--log", file, "run.db"}, 2, {"--log and a ledger"});
  expect_refused_untouched({"audit", "--log", file, "--event", "gaussian(1)"}, 2, {"--log and --event"});
  expect_refused_untouched({"calibrate", "--log", file, "--event", "gaussian(z)"}, 2, {"--log and --event"});
  expect_refused_untouched({"calibrate", "--log", file, "--solve", "z"}, 2, {"--log and --solve"});
  expect_refused_untouched({"calibrate", "--log", file, "--advantage", "0.1"}, 2, {"--log and --advantage"});
  expect_refused_untouched({"audit", "--log", file, "--delta", "1e-6"}, 2, {"delta is 1e-06, must be 1e-05 as in the log"});
  expect_refused_untouched({"audit", "--log", file, "--adjacency", "replace-one"}, 2,
                           {"adjacency is replace-one, must be zero-out as in the log"});
  expect_refused_untouched({"audit", "--log", log()}, 2,
                           {"the log lacks adjacency, in the log or given with it; delta, in the log or given with it"});
  expect_refused_untouched({"audit", "--log", log(), "--adjacency", "zero-out"}, 2, {"lacks delta"});
  expect_refused_untouched({"calibrate", "--log", log(), "--adjacency", "zero-out", "--delta", "1e-5"}, 2, {"lacks epsilon"});
  expect_refused_untouched({"audit", "--log", file, "--reading", "poison"}, 2, {"did you mean 'poisson'?"});
  expect_refused_untouched({"audit", "run.db", "--delta", "1e-5", "--reading", "poisson"}, 2, {"--reading is given without --log"});
  expect_refused_untouched({"calibrate", "--event", "gaussian(z)", "--solve", "z", "--adjacency", "zero-out", "--reading", "poisson"}, 2,
                           {"--reading"});
}

}  // namespace
}  // namespace surety_test::log_test
