#include <surety/accounting/logs/log_audit.h>

#include <map>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/logs/log_json.h>

namespace surety::accounting::log_audit_test {
namespace {

constexpr auto zero_out = Adjacency::zero_out;
constexpr auto replace = Adjacency::replace_one;
constexpr auto add = Adjacency::add_or_remove_one;

RunLog log_of(const std::string& more = "") {
  return run_log_from_json(R"({"version": 1, "noise_multiplier": 1, "batch_size": 600, "records": 60000, "epochs": 10)" + more + "}");
}

std::map<std::string, std::string> events_of(const RunLog& log, Adjacency adjacency) {
  std::map<std::string, std::string> events;
  for (const auto& reading : readings(log, adjacency)) {
    const auto key = std::string{name(reading.sampler)} + (reading.noise_over == NoiseOver::twice_clip ? " 2C" : "");
    events[key] = reading.refusal.empty() ? describe(reading.event(*log.noise_multiplier)) : "";
  }
  return events;
}

const ReadingCost& of(const LogAudit& audit, LoggedSampler sampler, NoiseOver over = NoiseOver::clip) {
  for (const auto& cost : audit.readings) {
    if (cost.reading.sampler == sampler && cost.reading.noise_over == over) return cost;
  }
  throw std::logic_error{"no such reading"};
}

TEST(Readings, AreTheEventsOfTheSameNumbers) {
  EXPECT_EQ(events_of(log_of(R"(, "largest_batch": 700)"), zero_out),
            (std::map<std::string, std::string>{{"poisson", "repeat(1000, poisson(0.01, gaussian(1)))"},
                                                {"truncated_poisson", "repeat(1000, truncated_poisson(0.01, 700, 60000, gaussian(1)))"},
                                                {"fixed_size", ""},
                                                {"allocated", "repeat(10, allocated(100, gaussian(1)))"},
                                                {"shuffled", "repeat(10, shuffled(60000, 600, gaussian(1)))"},
                                                {"deterministic", "repeat(10, deterministic(60000, 600, gaussian(1)))"},
                                                {"by_record", "cyclic(100, 1000, 1, gaussian(1))"}}));
  const auto added = events_of(log_of(), add);
  EXPECT_EQ(added.at("poisson"), "repeat(1000, poisson(0.01, gaussian(1)))");
  EXPECT_EQ(added.at("shuffled"), "");
  EXPECT_EQ(added.at("deterministic"), "");
  EXPECT_EQ(added.count("truncated_poisson"), 0U);
  const auto replaced = events_of(log_of(), replace);
  EXPECT_EQ(replaced.at("poisson"), "repeat(1000, poisson(0.01, record_sum(1)))");
  EXPECT_EQ(replaced.at("poisson 2C"), "repeat(1000, poisson(0.01, record_sum(2)))");
  EXPECT_EQ(replaced.at("fixed_size"), "repeat(1000, without_replacement(60000, 600, record_sum(1)))");
  EXPECT_EQ(replaced.at("allocated 2C"), "repeat(10, allocated(100, record_sum(2)))");
  EXPECT_EQ(replaced.size(), 12U);
}

// Noise of twice the standard deviation is what a log over 2C has, whatever the adjacency.
TEST(Readings, MeasureTheNoiseByWhatTheLogSays) {
  EXPECT_EQ(events_of(log_of(R"(, "noise_over": "twice_clip")"), add).at("poisson 2C"), "repeat(1000, poisson(0.01, gaussian(2)))");
  for (const char* over : {"clip", "twice_clip"}) {
    int happened = 0;
    for (const auto& reading : readings(log_of(std::string{R"(, "sampler": "fixed_size", "noise_over": ")"} + over + "\""), replace)) {
      happened += reading.happened ? 1 : 0;
      if (reading.happened) {
        EXPECT_EQ(name(reading.noise_over), over);
      }
    }
    EXPECT_EQ(happened, 1);
  }
}

// What surely happened bounds from below: an epoch that did not end has happened in part.
TEST(Readings, CountAnUnfinishedEpochAboveAndNotBelow) {
  const auto log = run_log_from_json(R"({"version": 1, "batch_size": 600, "records": 60000, "steps": 250, "noise_multiplier": 2})");
  const NoiseMultiplier z{2};
  for (const auto& reading : readings(log, zero_out)) {
    if (!reading.refusal.empty()) continue;
    const auto event = describe(reading.event(z));
    const auto least = describe(*reading.least(z));
    if (reading.sampler == LoggedSampler::allocated) {
      EXPECT_EQ(event, "repeat(3, allocated(100, gaussian(2)))");
      EXPECT_EQ(least, "repeat(2, allocated(100, gaussian(2)))");
    } else if (reading.sampler == LoggedSampler::shuffled) {
      EXPECT_EQ(event, "repeat(3, shuffled(60000, 600, gaussian(2)))");
      EXPECT_EQ(least, "repeat(2, shuffled(60000, 600, gaussian(2)))");
    } else {
      EXPECT_EQ(event, least);
    }
    if (reading.sampler == LoggedSampler::deterministic) {
      EXPECT_EQ(event, "repeat(3, deterministic(60000, 600, gaussian(2)))");
    }
    if (reading.sampler == LoggedSampler::by_record) {
      EXPECT_EQ(event, "cyclic(100, 250, 1, gaussian(2))");
    }
  }
  const auto part = run_log_from_json(R"({"version": 1, "batch_size": 600, "records": 60000, "steps": 50, "noise_multiplier": 2})");
  const auto audit = audit_log(part, {.adjacency = zero_out, .delta = Delta{1e-5}, .only = {LoggedSampler::shuffled}});
  ASSERT_EQ(audit.readings.size(), 1U);
  EXPECT_EQ(audit.readings.front().epsilon->lower, 0);
  EXPECT_EQ(audit.readings.front().epsilon->upper, best_epsilon(audit.readings.front().event.value(), Delta{1e-5}).value.upper);
}

// Phases are composed, each with its own noise; phases of an epoch have one event alone where they end with it.
TEST(Readings, OfPhasesAreComposed) {
  const auto log = run_log_from_json(
      R"({"version": 1, "records": 1000, "batch_size": 50, "accumulation_steps": 2, "largest_batch": 200,
          "phases": [{"noise_multiplier": 1, "epochs": 2}, {"noise_multiplier": 2, "steps": 25}]})");
  std::map<std::string, std::pair<std::string, std::string>> said;
  for (const auto& reading : readings(log, zero_out)) {
    if (reading.refusal.empty()) said[std::string{name(reading.sampler)}] = {describe(reading.event()), describe(*reading.least())};
    EXPECT_NE(reading.condition.find("micro-batches are parts of it"), std::string::npos);
    const bool is_by_step = reading.sampler == LoggedSampler::poisson || reading.sampler == LoggedSampler::truncated_poisson ||
                            reading.sampler == LoggedSampler::fixed_size;
    EXPECT_EQ(reading.condition.find("each phase begins with a new epoch") == std::string::npos, is_by_step);
  }
  const std::map<std::string, std::pair<std::string, std::string>> expected{
      {"poisson",
       {"compose(repeat(20, poisson(0.1, gaussian(1))), repeat(25, poisson(0.1, gaussian(2))))",
        "compose(repeat(20, poisson(0.1, gaussian(1))), repeat(25, poisson(0.1, gaussian(2))))"}},
      {"truncated_poisson",
       {"compose(repeat(20, truncated_poisson(0.1, 200, 1000, gaussian(1))), repeat(25, truncated_poisson(0.1, 200, 1000, gaussian(2))))",
        "compose(repeat(20, truncated_poisson(0.1, 200, 1000, gaussian(1))), repeat(25, truncated_poisson(0.1, 200, 1000, gaussian(2))))"}},
      {"allocated",
       {"compose(repeat(2, allocated(10, gaussian(1))), repeat(3, allocated(10, gaussian(2))))",
        "compose(repeat(2, allocated(10, gaussian(1))), repeat(2, allocated(10, gaussian(2))))"}},
      {"shuffled",
       {"compose(repeat(2, shuffled(1000, 100, gaussian(1))), repeat(3, shuffled(1000, 100, gaussian(2))))",
        "compose(repeat(2, shuffled(1000, 100, gaussian(1))), repeat(2, shuffled(1000, 100, gaussian(2))))"}},
      {"deterministic",
       {"compose(repeat(2, deterministic(1000, 100, gaussian(1))), repeat(3, deterministic(1000, 100, gaussian(2))))",
        "compose(repeat(2, deterministic(1000, 100, gaussian(1))), repeat(2, deterministic(1000, 100, gaussian(2))))"}},
      {"by_record",
       {"compose(cyclic(10, 20, 1, gaussian(1)), cyclic(10, 25, 1, gaussian(2)))",
        "compose(cyclic(10, 20, 1, gaussian(1)), cyclic(10, 20, 1, gaussian(2)))"}}};
  EXPECT_EQ(said, expected);
}

// An epoch that goes on in the next phase has two kinds of noise, for which there is no event.
TEST(Readings, OfPhasesThatEndWithinAnEpochAreRefused) {
  const auto log = run_log_from_json(
      R"({"version": 1, "records": 1000, "batch_size": 50, "phases": [{"noise_multiplier": 1, "steps": 25}, {"noise_multiplier": 2, "steps": 20}]})");
  std::size_t refused = 0;
  for (const auto& reading : readings(log, zero_out)) {
    if (reading.sampler == LoggedSampler::poisson || reading.sampler == LoggedSampler::fixed_size) continue;
    ++refused;
    EXPECT_EQ(reading.refusal, fmt::format("phase 1 has 25 steps, must have whole epochs of 20 for {}", name(reading.sampler)));
  }
  EXPECT_EQ(refused, 4U);
}

// A phase of which nothing is known from below is left out there.
TEST(Readings, OfPhasesBoundFromBelowByWholeEpochs) {
  const auto log = run_log_from_json(
      R"({"version": 1, "records": 1000, "batch_size": 50, "phases": [{"noise_multiplier": 1, "steps": 20}, {"noise_multiplier": 2, "steps": 5}]})");
  for (const auto& reading : readings(log, zero_out)) {
    if (reading.sampler == LoggedSampler::allocated) {
      EXPECT_EQ(describe(*reading.least()), "allocated(20, gaussian(1))");
    }
    if (reading.sampler == LoggedSampler::by_record) {
      EXPECT_EQ(describe(*reading.least()), "cyclic(20, 20, 1, gaussian(1))");
    }
  }
}

TEST(LogAudit, OfAHistoryIsThatOfItsComposition) {
  const auto log = run_log_from_json("[(1.1, .0042, 480), (.9, .0042, 240)]");
  const auto audit = audit_log(log, {.adjacency = add, .delta = Delta{1e-5}, .only = {LoggedSampler::poisson}});
  const auto event = parse_event("compose(repeat(480, poisson(0.0042, gaussian(1.1))), repeat(240, poisson(0.0042, gaussian(0.9))))", add);
  EXPECT_EQ(of(audit, LoggedSampler::poisson).epsilon->upper, best_epsilon(event, Delta{1e-5}).value.upper);
  EXPECT_EQ(audit.proved(), nullptr) << "a history does not say how batches were drawn";
  EXPECT_EQ(to_json(audit)["phases"][1], (nlohmann::json{{"noise_multiplier", 0.9}, {"sampling_rate", 0.0042}, {"steps", 240}}));
  const auto found = calibrate_log(log, {.adjacency = add, .epsilon = Epsilon{1}, .delta = Delta{1e-5}, .only = {LoggedSampler::poisson}});
  EXPECT_NEAR(found.readings.front().multiplier->value(), 0.8437377942, 1e-9);
}

TEST(LogRisk, IsThatOfEachReading) {
  const auto log = run_log_from_json(
      R"({"version": 1, "sampler": "shuffled", "noise_multiplier": 20, "records": 100, "batch_size": 50, "steps": 5, "adjacency": "zero-out"})");
  const auto found = risk_of_log(log, {.only = {LoggedSampler::by_record}}, {.false_positive_rates = {Probability{0.001}}});
  ASSERT_EQ(found.readings.size(), 2U);
  const auto exact = parse_event("cyclic(2, 5, 1, gaussian(20))", zero_out);
  EXPECT_EQ(found.readings.back().risk->advantage, advantage(exact));
  EXPECT_EQ(found.readings.back().risk->rates[0].true_positive_rate, true_positive_rate(exact, Probability{0.001}));
  const auto& between = *found.proved()->risk;
  EXPECT_EQ(between.advantage.lower, advantage(parse_event("repeat(2, shuffled(100, 50, gaussian(20)))", zero_out)).lower);
  EXPECT_EQ(between.advantage.upper, advantage(parse_event("repeat(3, shuffled(100, 50, gaussian(20)))", zero_out)).upper);
}

// One record of 1001 is in no batch of 500: the lower bound of an epoch that holds all of them says nothing.
TEST(Readings, KnowNoLowerEndWhereRecordsAreLeftOut) {
  for (const auto& [records, drops, has] : {std::tuple{1001, true, false}, {1001, false, true}, {1000, true, true}}) {
    const auto log = run_log_from_json(
        nlohmann::json{{"version", 1}, {"batch_size", 500}, {"records", records}, {"epochs", 2}, {"drop_last", drops}}.dump());
    for (const auto& reading : readings(log, zero_out)) {
      if (reading.sampler == LoggedSampler::shuffled) {
        EXPECT_EQ(reading.least(NoiseMultiplier{1}).has_value(), has);
      }
    }
  }
}

// Values of docs/guides/training-loops.md, and those of other programs: epsilon 6.187712390 is exact, 8.0840 the curve of a fixed size.
TEST(LogAudit, SaysWhatEachReadingCosts) {
  const auto audit = audit_log(log_of(R"(, "sampler": "poisson", "delta": 1e-5)"), {.adjacency = zero_out});
  const auto& poisson = of(audit, LoggedSampler::poisson);
  EXPECT_NEAR(poisson.epsilon->upper, 1.828236667, 1e-8);
  EXPECT_EQ(audit.proved(), &poisson);
  EXPECT_NEAR(of(audit, LoggedSampler::shuffled).epsilon->lower, 1.203037669, 1e-8);
  EXPECT_NEAR(of(audit, LoggedSampler::shuffled).epsilon->upper, 17.85660826, 1e-6);
  for (const auto& cost : audit.readings) {
    if (!cost.event) continue;
    const auto best = best_epsilon(*cost.event, Delta{1e-5});
    EXPECT_EQ(*cost.epsilon, best.value);
    EXPECT_EQ(cost.accountant, best.accountant);
  }
  const auto long_run = run_log_from_json(
      R"({"version": 1, "noise_multiplier": 1, "batch_size": 600, "records": 60000, "steps": 10000, "noise_over": "twice_clip", "delta": 1e-5})");
  const auto replaced = audit_log(long_run, {.adjacency = replace, .only = {LoggedSampler::fixed_size, LoggedSampler::poisson}});
  EXPECT_NEAR(of(replaced, LoggedSampler::fixed_size, NoiseOver::twice_clip).epsilon->upper, 8.0840, 5e-4);
  EXPECT_NEAR(of(replaced, LoggedSampler::poisson, NoiseOver::twice_clip).epsilon->upper, 4.3960, 5e-4);
  EXPECT_NEAR(of(replaced, LoggedSampler::poisson).epsilon->upper, 10.8808, 5e-4);
  EXPECT_EQ(replaced.proved(), nullptr);
  const auto added = audit_log(long_run, {.adjacency = add, .only = {LoggedSampler::poisson}});
  EXPECT_LT(of(added, LoggedSampler::poisson, NoiseOver::twice_clip).epsilon->upper, 6.1877);
}

TEST(LogAudit, JudgesAClaimByWhatHappened) {
  const auto verdicts = [](const std::string& sampler, double claim) {
    const auto audit = audit_log(log_of(", \"delta\": 1e-5, \"sampler\": \"" + sampler + "\""),
                                 {.adjacency = zero_out, .epsilon = Epsilon{claim}, .only = {LoggedSampler::by_record}});
    return std::pair{audit.kept(), audit.proved() == nullptr ? std::string{} : std::string{name(*audit.proved()->claim)}};
  };
  using V = std::pair<bool, std::string>;
  EXPECT_EQ(verdicts("poisson", 1.83), (V{true, "holds"}));
  EXPECT_EQ(verdicts("poisson", 1.82), (V{false, "too low"}));
  EXPECT_EQ(verdicts("shuffled", 1.83), (V{false, "not proved"}));
  EXPECT_EQ(verdicts("shuffled", 1.2), (V{false, "too low"}));
  EXPECT_EQ(verdicts("shuffled", 17.9), (V{true, "holds"}));
  EXPECT_EQ(verdicts("deterministic", 1.83), (V{false, "too low"}));
  EXPECT_EQ(verdicts("fixed_size", 100), (V{false, ""}));
  EXPECT_EQ(verdicts("unknown", 100), (V{false, ""}));
}

TEST(LogAudit, RefusesTwoAnswersToOneQuestion) {
  const auto log = log_of(R"(, "adjacency": "zero-out", "epsilon": 2, "delta": 1e-5)");
  EXPECT_THROW(static_cast<void>(audit_log(log, {.adjacency = replace})), Error);
  EXPECT_THROW(static_cast<void>(audit_log(log, {.epsilon = Epsilon{3}})), Error);
  EXPECT_THROW(static_cast<void>(audit_log(log, {.delta = Delta{1e-6}})), Error);
  EXPECT_THROW(static_cast<void>(audit_log(log_of(), {.delta = Delta{1e-6}})), Error);
  EXPECT_THROW(static_cast<void>(audit_log(log_of(), {.adjacency = add})), Error);
  EXPECT_NO_THROW(static_cast<void>(audit_log(log, {.adjacency = zero_out, .only = {LoggedSampler::poisson}})));
}

// The least noise for each reading is what the search for its event finds, and in an audit the claim holds with it, and not with a little less.
TEST(LogCalibration, AnswersTheReverse) {
  const auto log = log_of(R"(, "sampler": "shuffled", "epsilon": 2, "delta": 1e-6)");
  const auto found = calibrate_log(log, {.adjacency = zero_out, .only = {LoggedSampler::poisson, LoggedSampler::by_record}});
  ASSERT_EQ(found.readings.size(), 3U);
  EXPECT_EQ(found.proved()->reading.sampler, LoggedSampler::shuffled);
  for (const auto& noise : found.readings) {
    ASSERT_TRUE(noise.multiplier) << noise.refusal;
    EXPECT_LE(noise.epsilon->upper, 2);
    auto with_it = log;
    with_it.sampler = noise.reading.sampler;
    with_it.noise_multiplier = noise.multiplier;
    const LogQuestion question{.adjacency = zero_out, .only = {noise.reading.sampler}};
    EXPECT_TRUE(audit_log(with_it, question).kept());
    with_it.noise_multiplier = NoiseMultiplier{0.999 * noise.multiplier->value()};
    EXPECT_FALSE(audit_log(with_it, question).kept());
    EXPECT_EQ(noise.multiplier->value(), calibrate([&](NoiseMultiplier z) { return noise.reading.event(z); }, found.target).value.value());
  }
  EXPECT_EQ(calibrate_log(log, {.adjacency = zero_out, .epsilon = Epsilon{3}, .only = {LoggedSampler::poisson}}).target.epsilon.value(), 3);
}

TEST(LogCalibration, MeasuresTheNoiseOverBothUnderReplaceOne) {
  const auto found = calibrate_log(log_of(R"(, "epsilon": 2, "delta": 1e-6)"), {.adjacency = replace, .only = {LoggedSampler::fixed_size}});
  ASSERT_EQ(found.readings.size(), 2U);
  EXPECT_EQ(found.readings[0].multiplier->value(), 2 * found.readings[1].multiplier->value());
  EXPECT_EQ(found.readings[0].event, found.readings[1].event);
  EXPECT_EQ(*found.readings[0].failing, 2 * *found.readings[1].failing);
  EXPECT_EQ(found.readings[1].reading.noise_over, NoiseOver::twice_clip);
}

TEST(LogJson, SaysWhatTheAuditSays) {
  const std::string text =
      R"({"version": 1, "noise_multiplier": 1, "batch_size": 600, "records": 60000, "epochs": 10, "sampler": "shuffled",
                               "adjacency": "zero-out", "epsilon": 1.83, "delta": 1e-5})";
  const auto json = nlohmann::json::parse(audit_log_text(text, {.only = {LoggedSampler::poisson}}));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["kept"], false);
  EXPECT_EQ(json["proved"]["reading"], "shuffled");
  EXPECT_EQ(json["proved"]["claim"], "not proved");
  EXPECT_EQ(json["readings"][0]["event"], "repeat(1000, poisson(0.01, gaussian(1)))");
  EXPECT_EQ(json["readings"][0]["claim"], "holds");
  const auto reverse = nlohmann::json::parse(calibrate_log_text(text, {.only = {LoggedSampler::poisson}}));
  EXPECT_EQ(reverse["target"]["epsilon"], 1.83);
  EXPECT_NEAR(reverse["readings"][0]["noise_multiplier"].get<double>(), 0.9993, 1e-3);
}

}  // namespace
}  // namespace surety::accounting::log_audit_test
