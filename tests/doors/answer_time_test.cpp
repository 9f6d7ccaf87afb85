// `surety train --tune --answer-at`: what is said before the time, at it, and after it, by a clock of the test's own.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <support/command_in_process.h>
#include <support/refusal.h>
#include <support/scripted_clock.h>
#include <support/temporary_folder.h>
#include <support/train_command.h>
#include <support/watched_doors.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/jobs/search/answer_time.h>

namespace surety_test::answer_time_test {
namespace {

using namespace std::chrono_literals;
using surety::ErrorCode;
using surety::jobs::parse_answer_time;
using surety::jobs::text_of;
using surety::reference::refusal_of;

/// 2026-11-23T18:10:28.350Z
constexpr Instant evening{std::chrono::milliseconds{1'795'457'428'350}};

// ---- The text ----

TEST(AnswerTime, IsATimeOrHowLongFromNow) {
  const auto read = [](const char* text) { return text_of(parse_answer_time(text, evening)); };
  EXPECT_EQ(text_of(evening), "2026-11-23T18:10:28Z");
  EXPECT_EQ(read("2026-11-24T06:00Z"), "2026-11-24T06:00:00Z");
  EXPECT_EQ(read("2026-11-24T06:00:07Z"), "2026-11-24T06:00:07Z");
  EXPECT_EQ(read("2026-11-24T06:00+01:30"), "2026-11-24T04:30:00Z");
  EXPECT_EQ(read("2026-11-24T23:59:59-02:00"), "2026-11-25T01:59:59Z");
  // The next whole second.
  EXPECT_EQ(read("+90m"), "2026-11-23T19:40:29Z");
  EXPECT_EQ(read("+1s"), "2026-11-23T18:10:30Z");
  EXPECT_EQ(read("+1d2h3m4s"), "2026-11-24T20:13:33Z");
  EXPECT_EQ(read("+2h10s"), "2026-11-23T20:10:39Z");
}

TEST(AnswerTime, RefusesWhatSaysNoTime) {
  for (const char* text : {"",
                           "+",
                           "90m",
                           "+m",
                           "+90",
                           "+90x",
                           "+1h30",
                           "+1m1h",
                           "+1h1h",
                           "+-1h",
                           "+1.5h",
                           "+9999999s",
                           "tomorrow",
                           "2026-11-24",
                           "2026-11-24T06:00",
                           "2026-11-24 06:00Z",
                           "2026-11-24T24:00Z",
                           "2026-11-24T06:60Z",
                           "2026-11-24T06:00:60Z",
                           "2026-11-31T06:00Z",
                           "2026-02-29T06:00Z",
                           "2026-13-01T06:00Z",
                           "26-11-24T06:00Z",
                           "2026-11-24T06:00z",
                           "2026-11-24T06:00+0100",
                           "2026-11-24T06:00+1:00",
                           "2026-11-24T06:00Z ",
                           "+1d ",
                           "2026-11-24T06:00:00.5Z"}) {
    const auto refusal = refusal_of([&] { return parse_answer_time(text, evening); });
    EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, fmt::format("answer-at is '{}', must be a time with its offset", text))) << text;
  }
  const auto refused = [](const char* text, const char* why) {
    return refusal_of([&] { return parse_answer_time(text, evening); }).says(ErrorCode::invalid_argument, why);
  };
  EXPECT_TRUE(refused("2026-11-23T18:10:28Z", "answer-at is 2026-11-23T18:10:28Z, must be later than now, 2026-11-23T18:10:28Z"));
  EXPECT_TRUE(refused("2026-11-23T19:10+01:00", "must be later than now"));
  EXPECT_TRUE(refused("+367d", "must be within 366 days"));
}

// ---- The command ----

class AnswerAt : public ::testing::Test {
 protected:
  AnswerAt() {
    std::ofstream file{path("data"), std::ios::binary};
    file << "x,y,label\n";
    for (const auto& record : ordinary_records(20)) file << record << '\n';
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] Said ask(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"train",     path("data"), "--json",       "--label",     "label>0",          "--epsilon",
                                   "1",         "--delta",    "1e-5",         "--algorithm", "gradient-descent", "--tune-over",
                                   "steps=2,3", "--ledger",   path("run.db"), "--model",     path("model.json"), "--tune",
                                   "4"};
    words.insert(words.end(), more.begin(), more.end());
    return command_in_process(words, path(""));
  }
  [[nodiscard]] bool is_charged() const { return std::filesystem::exists(path("run.db")); }
  [[nodiscard]] bool has_model() const { return std::filesystem::exists(path("model.json")); }
  [[nodiscard]] std::string state() const {
    const auto said = command_in_process({"ledger", "list", path("run.db"), "--json"}, path(""));
    return nlohmann::json::parse(said.out)["runs"].back()["state"].get<std::string>();
  }

  TemporaryFolder folder_;
};

TEST_F(AnswerAt, HoldsModelReportAndSettlementUntilThen) {
  Instant now = evening;
  std::vector<Instant> waited;
  const ScriptedClock clock{[&] { return now += 1ms; },
                            [&](Instant time) {
                              waited.push_back(time);
                              EXPECT_TRUE(is_charged());
                              EXPECT_FALSE(has_model());
                              std::ifstream out{path("out"), std::ios::binary};
                              EXPECT_EQ((std::string{std::istreambuf_iterator<char>{out}, {}}), "");
                              const auto runs = surety::accounting::Ledger::open(path("run.db")).runs();
                              EXPECT_EQ(runs.size(), 1U);
                              EXPECT_FALSE(runs.front().settlement.has_value());
                              now = time;
                            }};
  const auto said = ask({"--tune-by", "random", "--tune-most", "9", "--answer-at", "+90m"});
  ASSERT_EQ(said.code, 0) << said.err;
  ASSERT_EQ(waited.size(), 1U);
  EXPECT_EQ(text_of(waited.front()), "2026-11-23T19:40:29Z");
  EXPECT_TRUE(has_model());
  EXPECT_EQ(state(), "settled");
  const auto report = nlohmann::json::parse(said.out);
  const auto& tuning = report["tuning"];
  EXPECT_EQ(tuning["runs"], "capped_geometric_runs");
  EXPECT_EQ(tuning["most_runs"], 9);
  EXPECT_EQ(tuning["answered_at"], "2026-11-23T19:40:29Z");
  EXPECT_EQ(report["event"].get<std::string>().substr(0, 45), "best_of(capped_geometric_runs, 4, 9, gaussian");
  // Two candidates: P(K = k) / 2^k.
  EXPECT_GT(tuning["missed"].get<double>(), 0.15);
  EXPECT_LT(tuning["missed"].get<double>(), 0.2);
}

TEST_F(AnswerAt, HasACapOfFiveTimesTheMeanWhereNoneIsSaid) {
  const ScriptedClock clock{[] { return evening; }, [](Instant) {}};
  const auto said = ask({"--tune-by", "random", "--answer-at", "+1d"});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(nlohmann::json::parse(said.out)["event"].get<std::string>().substr(0, 46), "best_of(capped_geometric_runs, 4, 20, gaussian");
}

TEST_F(AnswerAt, MayHaveACapWithoutATime) {
  const auto said = ask({"--tune-by", "random", "--tune-most", "30"});
  ASSERT_EQ(said.code, 0) << said.err;
  const auto report = nlohmann::json::parse(said.out);
  EXPECT_EQ(report["event"].get<std::string>().substr(0, 46), "best_of(capped_geometric_runs, 4, 30, gaussian");
  EXPECT_FALSE(report["tuning"].contains("answered_at"));
}

// Late once it is charged, at the first release of a run or between any two.
TEST_F(AnswerAt, PublishesNothingWhereTheSearchIsLate) {
  for (const int releases : {0, 1, 3}) {
    for (const char* file : {"run.db", "model.json"}) std::filesystem::remove(path(file));
    int asked = 0;
    const ScriptedClock clock{[&] { return is_charged() && asked++ >= releases ? evening + 2h : evening; },
                              [](Instant) { ADD_FAILURE() << "waits for a time that has come"; }};
    const auto said = ask({"--tune-by", "random", "--tune-most", "9", "--answer-at", "+90m"});
    EXPECT_EQ(said.code, 5) << releases;
    EXPECT_EQ(said.out, "");
    EXPECT_NE(said.err.find("the search was not done at 2026-11-23T19:40:29Z"), std::string::npos) << said.err;
    EXPECT_FALSE(has_model());
    EXPECT_EQ(asked, releases + 1) << "goes on after the time";
    ASSERT_TRUE(is_charged());
    const auto runs = surety::accounting::Ledger::open(path("run.db")).runs();
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_FALSE(runs.front().settlement.has_value());
    EXPECT_EQ(surety::describe(*runs.front().charged()).substr(0, 45), "best_of(capped_geometric_runs, 4, 9, gaussian");
  }
}

// The last release is early, and the time has come when the search returns.
TEST_F(AnswerAt, PublishesNothingWhereTheSearchIsLateAtItsVeryEnd) {
  bool is_done = false;
  int asked = 0;
  const auto counted = [&] {
    const ScriptedClock clock{[&] { return asked += is_charged() ? 1 : 0, evening; }, [&](Instant) { is_done = true; }};
    return ask({"--tune-by", "random", "--tune-most", "9", "--answer-at", "+90m", "--replay-seed", "7"});
  };
  ASSERT_EQ(counted().code, 0);
  ASSERT_TRUE(is_done);
  for (const char* file : {"run.db", "model.json"}) std::filesystem::remove(path(file));
  int left = asked - 1;
  const ScriptedClock clock{[&] { return is_charged() && left-- <= 0 ? evening + 2h : evening; },
                            [](Instant) { ADD_FAILURE() << "waits for a time that has come"; }};
  const auto said = ask({"--tune-by", "random", "--tune-most", "9", "--answer-at", "+90m", "--replay-seed", "7"});
  EXPECT_EQ(said.code, 5) << said.err;
  EXPECT_EQ(left, -1);
  EXPECT_FALSE(has_model());
}

// Nine runs of 21 s at least do not fit into three minutes, and do into four.
TEST_F(AnswerAt, RefusesBeforeTheChargeWhatDoesNotFit) {
  const auto asked_for = [&](const std::string& time) {
    Instant now = evening;
    const ScriptedClock clock{[&] { return is_charged() ? now : now += 10s; }, [](Instant) {}};
    return ask({"--tune-by", "random", "--tune-most", "9", "--answer-at", time});
  };
  const auto refused = asked_for("+100s");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("must leave room for 9 runs, of which one on made-up records took 10 s: 90 s, there are "), std::string::npos)
      << refused.err;
  EXPECT_FALSE(is_charged());
  EXPECT_FALSE(has_model());
  EXPECT_EQ(asked_for("+400s").code, 0);
}

// What is released before the charge is of made-up records: with the same answers it is the same, whatever the records are.
TEST_F(AnswerAt, RehearsesWithoutTheData) {
  const ScriptedClock clock{[] { return evening; }, [](Instant) {}};
  const TrainCommand command;
  const auto run_on = [&](TrainCommand::Records records) {
    const auto seen = command.run({.algorithm = "gradient-descent",
                                   .loss = "logistic",
                                   .adjacency = "replace-one",
                                   .more = {"--tune", "2", "--tune-over", "steps=2,3", "--answer-at", "+1h"}},
                                  records, 20);
    EXPECT_EQ(seen.said.code, 0) << seen.said.err;
  };
  TrainCommand::Records others;
  for (int i = 0; i < 20; ++i) others.push_back("1e308,-3,1");
  WatchedDoors recorded;
  run_on(ordinary_records(20));
  const auto first = recorded.log();
  WatchedDoors replayed{recorded};
  run_on(others);
  const auto second = replayed.log();
  ASSERT_EQ(first.size(), second.size());
  std::size_t rehearsed = 0;
  std::size_t differ = 0;
  bool is_charged = false;
  for (std::size_t k = 0; k < first.size(); ++k) {
    is_charged = is_charged || first[k].asked.starts_with("best_of(") || first[k].asked.starts_with("repeat(");
    if (first[k].kind != DoorEntry::Kind::vector) continue;
    if (is_charged) {
      differ += first[k].content == second[k].content ? 0 : 1;
      continue;
    }
    ++rehearsed;
    EXPECT_EQ(first[k].content, second[k].content) << first[k].asked;
  }
  EXPECT_EQ(rehearsed, 7U);  // of two candidates two and three steps, and a score each
  EXPECT_TRUE(is_charged);
  EXPECT_GT(differ, 0U);
}

TEST_F(AnswerAt, RefusesWhereItCannotBeSaidHowLongARunTakes) {
  const ScriptedClock clock{[] { return evening; }, [](Instant) {}};
  const auto refused = [&](const std::vector<std::string>& more, const std::string& why) {
    const auto said = ask(more);
    EXPECT_EQ(said.code, 2) << said.err;
    EXPECT_NE(said.err.find(why), std::string::npos) << said.err;
    EXPECT_FALSE(is_charged());
  };
  refused({"--answer-at", "+1h", "--adjacency", "add-or-remove-one", "--public-count", "16"}, "--answer-at is not for add-or-remove-one");
  refused({"--answer-at", "soon"}, "--answer-at is 'soon', must be a time with its offset");
  refused({"--answer-at", "2026-11-23T18:00Z"}, "must be later than now");
  refused({"--answer-at", "+1h", "--tune-most", "4"}, "--tune-most is 4, must be greater than the 4 runs that --tune expects");
  refused({"--tune-most", "9", "--tune-by", "split"}, "--tune-most is for a random number of runs");
}

}  // namespace
}  // namespace surety_test::answer_time_test
