// surety curve, and what account and calibrate say of events that more than one accountant knows.
#include <support/surety_process.h>
#include <support/svg_texts.h>

namespace surety_test::curve_test {
namespace {

const std::string sampled = "repeat(500, poisson(0.02, gaussian(1.5)))";

Words curve(const std::string& event, const Words& more) {
  return Words{"curve", "--event", event, "--adjacency", "add-or-remove-one"} + more;
}

TEST(Curve, PassesThroughWhatAccountSays) {
  const auto points = surety(curve(sampled, {"--from", "0.5", "--to", "2", "--points", "4", "--json"})).json()["points"];
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[3]["epsilon"], 2);
  const auto cost = surety({"account", "--event", sampled, "--adjacency", "add-or-remove-one", "--epsilon", "2", "--json"}).json();
  EXPECT_LE(points[3]["delta"]["lower"].get<double>(), cost["delta"]["upper"].get<double>());
  EXPECT_GE(points[3]["delta"]["upper"].get<double>(), cost["delta"]["lower"].get<double>());
  for (std::size_t i = 1; i < points.size(); ++i) EXPECT_LT(points[i]["delta"]["upper"], points[i - 1]["delta"]["lower"]);
}

TEST(Curve, SaysTheSameInCsvAndJson) {
  const Words question{"--kind", "epsilon", "--from", "1e-9", "--to", "1e-3", "--points", "3"};
  const auto json = surety(curve("gaussian(2)", question + Words{"--json"})).json()["points"];
  std::istringstream csv{surety(curve("gaussian(2)", question)).out};
  std::string line;
  std::getline(csv, line);
  EXPECT_EQ(line, "delta,epsilon_lower,epsilon_upper");
  for (const auto& point : json) {
    std::getline(csv, line);
    EXPECT_EQ(std::strtod(line.substr(line.rfind(',') + 1).c_str(), nullptr), point["epsilon"]["upper"].get<double>()) << line;
  }
}

TEST(Curve, DrawsAndTradesOff) {
  const auto svg = surety(curve("gaussian(1.5)", {"--kind", "tradeoff", "--points", "5", "--format", "svg"}));
  EXPECT_EQ(svg.code, 0);
  EXPECT_EQ(svg.out.rfind("<svg", 0), 0u);
  EXPECT_NE(svg.out.find("</svg>"), std::string::npos);
  EXPECT_EQ(svg.out.find("inf"), std::string::npos);
  const auto points = surety(curve("gaussian(1.5)", {"--kind", "tradeoff", "--points", "5", "--json"})).json()["points"];
  // Phi(Phi^-1(0.5) - 1 / 1.5) at the false positive rate 1/2.
  EXPECT_NEAR(points[2]["false_negative_rate"]["lower"].get<double>(), 0.252493, 1e-6);
}

TEST(Curve, CutsNothingOff) {
  // A long name of what has a closed form.
  const std::string many =
      "compose(gaussian(1.23456789012345), repeat(1000000000, gaussian(123456.789012345)), gaussian(10000000.0000001), "
      "repeat(123456789, gaussian(98765.4321098765)), repeat(500, gaussian(150.000000000001)), "
      "repeat(100, gaussian(22.0000000001)))";
  const std::vector<Words> pictures{curve("gaussian(1.5)", {"--kind", "tradeoff"}),
                                    curve(many, {"--kind", "epsilon", "--points", "2", "--from", "1e-300", "--to", "1e-9"}),
                                    curve("gaussian(0.0001)", {"--from", "49990000", "--to", "50010000"}),
                                    curve("pure(1)", {"--from", "0.9999999999", "--to", "0.99999999999"}),
                                    curve("exponential(1)", {"--to", "1e300", "--points", "3"}),
                                    curve("approx(1, 0)", {"--from", "5", "--to", "6"})};
  for (const auto& words : pictures) {
    SCOPED_TRACE(joined(words));
    expect_readable(surety(words + Words{"--format", "svg"}).out);
  }
  const auto texts = svg_texts(surety(pictures.front() + Words{"--format", "svg"}).out);
  const auto has = [&](const std::string& text) {
    return std::any_of(texts.begin(), texts.end(), [&](const SvgText& one) { return one.text == text; });
  };
  for (const char* text : {"false positive rate of an attack", "its least false negative rate", "0.2", "0.8", "upper bound"}) {
    EXPECT_TRUE(has(text)) << text;
  }
}

TEST(Curve, RefusesRangesThatAreNone) {
  expect_refused(curve("gaussian(2)", {"--from", "3", "--to", "1"}), 2, {"--to is 1", "must be greater than"});
  expect_refused(curve("gaussian(2)", {"--kind", "epsilon", "--from", "0"}), 2, {"--from is 0"});
  expect_refused(curve("gaussian(2)", {"--points", "1"}), 2, {"--points is", "1"});
  expect_refused(curve("gaussian(2)", {"--from", "-1"}), 2, {"epsilon is -1"});
}

TEST(Account, ExplainsItsAnswer) {
  const Words question{"account", "--event", sampled, "--adjacency", "add-or-remove-one", "--delta", "1e-5", "--explain"};
  const auto text = surety(question).out;
  EXPECT_NE(text.find("A shuffled data set is not that"), std::string::npos);
  EXPECT_NE(text.find("privacy-loss         epsilon in"), std::string::npos);
  const auto json = surety(question + Words{"--json"}).json();
  EXPECT_EQ(json["accountant"], "contour");
  EXPECT_EQ(json["accountants"].size(), 11u);
  EXPECT_FALSE(json["explanation"].empty());
}

TEST(Account, NeverTreatsShuffledAsSampled) {
  const auto cost = surety({"account", "--event", "repeat(10, shuffled(1000, 10, gaussian(3)))", "--adjacency", "replace-one", "--delta",
                            "1e-5", "--json"})
                        .json();
  const auto known_batch =
      surety({"account", "--event", "repeat(10, gaussian(3))", "--adjacency", "replace-one", "--delta", "1e-5", "--json"}).json();
  EXPECT_GE(cost["epsilon"]["upper"].get<double>(), known_batch["epsilon"]["lower"].get<double>());
}

TEST(Calibrate, SolvesForACount) {
  const auto json = surety({"calibrate", "--event", "repeat(n, poisson(0.01, gaussian(1)))", "--solve", "n", "--adjacency",
                            "add-or-remove-one", "--epsilon", "4", "--delta", "1e-5", "--json"})
                        .json();
  EXPECT_EQ(json["n"], 4568);
  EXPECT_EQ(json["failing"], 4569);
  EXPECT_EQ(json["parameter"], "count");
}

TEST(Calibrate, SaysOfNoValueThatItMissesATargetThatItMeets) {
  const Words question{"--adjacency", "add-or-remove-one", "--delta", "1e-6"};
  const Words calibrate{"calibrate", "--event", "repeat(10, zcdp(e))", "--solve", "e", "--epsilon", "2"};
  const auto json = surety(calibrate + question + Words{"--json"}).json();
  EXPECT_GE(json["e"].get<double>(), 0.0088);
  EXPECT_FALSE(json["failing_is_proved"].get<bool>());
  const auto text = surety(calibrate + question).out;
  EXPECT_NE(text.find("is not proved to meet the target"), std::string::npos) << text;
  const auto failing = "repeat(10, zcdp(" + json["failing"].dump() + "))";
  EXPECT_GT(surety(Words{"account", "--event", failing, "--json"} + question).json()["epsilon"]["upper"].get<double>(), 2);
}

TEST(Calibrate, SaysWhatIsNotTightAndRefusesItWhereThatIsRequired) {
  // The answers end at eight percent less noise, far from the target.
  const Words open{
      "calibrate", "--event", "with_replacement(10, 5, gaussian(z))", "--solve", "z", "--adjacency", "replace-one", "--epsilon", "1e13",
      "--delta",   "1e-6"};
  const auto text = surety(open);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("\nnot tight    the nearest value that is not proved to meet the target is "), std::string::npos) << text.out;
  const auto found = surety(open + Words{"--json"}).json();
  EXPECT_EQ(found["tight"], false);
  EXPECT_GT(found["z"].get<double>(), 1.01 * found["failing"].get<double>());
  const auto required = surety(open + Words{"--require-tight"});
  EXPECT_EQ(required.code, 6);
  EXPECT_NE(required.err.find("is not tight"), std::string::npos) << required.err;
  const Words target{"--adjacency", "replace-one", "--require-tight"};
  const auto closed = surety(Words{"calibrate", "--event", "gaussian(z)", "--solve", "z", "--epsilon", "1", "--delta", "1e-6"} + target);
  EXPECT_EQ(closed.code, 0) << closed.err;
  EXPECT_EQ(closed.out.find("not tight"), std::string::npos) << closed.out;
  const auto risk = surety(Words{"calibrate", "--event", "gaussian(z)", "--solve", "z", "--advantage", "0.1", "--json"} + target);
  EXPECT_EQ(risk.code, 0) << risk.err;
  EXPECT_EQ(risk.json()["tight"], true);
}

TEST(Curve, IsTheBestOfAllAccountants) {
  const Words range{"--kind", "epsilon", "--from", "1e-6", "--to", "1e-3", "--points", "2", "--json"};
  const auto points = surety(curve("repeat(50, exponential(0.1))", range)).json()["points"];
  EXPECT_LT(points[0]["epsilon"]["upper"].get<double>(), 1.637);
}

}  // namespace
}  // namespace surety_test::curve_test
