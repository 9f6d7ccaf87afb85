// surety noise --check-timing. What it measures differs from machine to machine: here only what a row holds, never how large a t is.
#include <support/surety_process.h>

namespace surety_test::noise_test {
namespace {

TEST(Noise, HasARowForEachMechanismAndScale) {
  const auto outcome = surety({"noise", "--check-timing", "--draws", "200", "--json"});
  ASSERT_EQ(outcome.code, 0);
  const auto json = outcome.json();
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["threshold"], 4.5);
  const auto& rows = json["rows"];
  ASSERT_EQ(rows.size(), 44u);
  for (const auto& row : rows) {
    EXPECT_EQ(row["draws"], 200) << row;
    EXPECT_EQ(row["verdict"], "too few draws") << row;
    EXPECT_EQ(row["independent"], false);
    ASSERT_EQ(row["contrasts"].size(), 4u);
    for (const auto& contrast : row["contrasts"]) {
      EXPECT_TRUE(contrast["t"].is_null()) << row;
      EXPECT_LE(contrast["first"]["draws"].get<int>() + contrast["second"]["draws"].get<int>(), 200);
    }
  }
}

TEST(Noise, PrintsATableOfOneMechanism) {
  const auto outcome = surety({"noise", "--check-timing", "--draws", "200", "--mechanism", "k_norm"});
  ASSERT_EQ(outcome.code, 0);
  std::istringstream lines{outcome.out};
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  ASSERT_EQ(all.size(), 13u) << outcome.out;
  EXPECT_EQ(all[0].rfind("processor  ", 0), 0u);
  EXPECT_EQ(all[1].rfind("governor   ", 0), 0u);
  EXPECT_EQ(all[2].rfind("tick       ", 0), 0u);
  EXPECT_EQ(all[3].rfind("mechanism ", 0), 0u);
  for (std::size_t n = 4; n < all.size(); ++n) {
    EXPECT_EQ(all[n].rfind("k_norm", 0), 0u);
    EXPECT_NE(all[n].find("too few draws"), std::string::npos) << all[n];
  }
}

TEST(Noise, RequiresIndependenceByItsExitCode) {
  const Words measured{"noise", "--check-timing", "--draws", "200", "--mechanism", "draw_ahead"};
  EXPECT_EQ(surety(measured).code, 0);
  // Too few draws are no evidence of independence.
  EXPECT_EQ(surety(measured + Words{"--require-independent"}).code, 1);
}

TEST(Noise, RefusesWhatItCannotMeasure) {
  expect_refused({"noise"}, 2, {"--check-timing"});
  for (const auto* seconds : {"0", "-1", "nan", "inf", "86401"}) {
    expect_refused({"noise", "--check-timing", "--seconds", seconds}, 2, {"--seconds is ", "must be greater than 0 and at most 86400"});
  }
  expect_refused({"noise", "--check-timing", "--draws", "0"}, 2, {"--draws"});
  expect_refused({"noise", "--check-timing", "--mechanism", "cauchy"}, 2, {"--mechanism is 'cauchy'", "draw_ahead"});
}

}  // namespace
}  // namespace surety_test::noise_test
