#include <surety/accounting/logs/run_log.h>

#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace surety::accounting::run_log_test {
namespace {

using Json = nlohmann::json;

Json schema() { return Json::parse(std::ifstream{SURETY_LOG_SCHEMA}); }

Json plain() { return {{"version", 1}, {"noise_multiplier", 1.5}, {"batch_size", 600}, {"records", 60000}, {"epochs", 10}}; }

Json with(Json log, const Json& more) {
  log.update(more);
  return log;
}

void expect_refused(const std::string& text, const std::string& word) {
  try {
    static_cast<void>(run_log_from_json(text));
    ADD_FAILURE() << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{error.what()}.find(word), std::string::npos) << error.what();
  }
}

TEST(RunLog, KeepsWhatItReads) {
  const auto log = run_log_from_json(with(plain(), {{"noise_over", "twice_clip"},
                                                    {"clip", 0.25},
                                                    {"sampler", "truncated_poisson"},
                                                    {"largest_batch", 700},
                                                    {"sampling_rate", 0.01},
                                                    {"steps", 1000},
                                                    {"adjacency", "replace-one"},
                                                    {"epsilon", 3},
                                                    {"delta", 1e-6},
                                                    {"accountant", "prv"}})
                                         .dump());
  EXPECT_EQ(log.noise_multiplier->value(), 1.5);
  EXPECT_EQ(log.noise_over, NoiseOver::twice_clip);
  EXPECT_EQ(log.clip->value(), 0.25);
  EXPECT_EQ(log.sampler, LoggedSampler::truncated_poisson);
  EXPECT_EQ(log.records->value(), 60000U);
  EXPECT_EQ(log.batch_size->value(), 600U);
  EXPECT_EQ(log.largest_batch->value(), 700U);
  EXPECT_EQ(log.rate().value(), 0.01);
  EXPECT_EQ(log.batches()->value(), 100U);
  EXPECT_EQ(log.total_steps().value(), 1000U);
  EXPECT_EQ(log.adjacency, Adjacency::replace_one);
  EXPECT_EQ(log.epsilon->value(), 3);
  EXPECT_EQ(log.delta->value(), 1e-6);
  EXPECT_EQ(log.accountant, "prv");
}

TEST(RunLog, CountsTheBatchesOfAnEpoch) {
  const Json ragged{{"version", 1}, {"batch_size", 300}, {"records", 1000}, {"epochs", 7}};
  EXPECT_EQ(run_log_from_json(ragged.dump()).total_steps().value(), 28U);
  EXPECT_EQ(run_log_from_json(with(ragged, {{"drop_last", true}}).dump()).total_steps().value(), 21U);
  EXPECT_EQ(run_log_from_json(with(ragged, {{"steps", 21}}).dump()).drop_last, true);
  EXPECT_EQ(run_log_from_json(with(ragged, {{"steps", 28}}).dump()).drop_last, false);
  expect_refused(with(ragged, {{"steps", 24}}).dump(), "steps is 24, must be 21 or 28 for 7 epochs of 1000 records in batches of 300");
  expect_refused(with(ragged, {{"steps", 21}, {"drop_last", false}}).dump(), "must be 28");
  expect_refused(with(ragged, {{"steps", 28}, {"drop_last", true}}).dump(), "must be 21");
}

TEST(RunLog, AllowsTheRatesThatLoadersUse) {
  const Json ragged{{"version", 1}, {"batch_size", 300}, {"records", 1000}, {"steps", 7}};
  for (const double rate : {0.25, 0.3, 1.0 / 3, 0.33333334}) {
    EXPECT_EQ(run_log_from_json(with(ragged, {{"sampling_rate", rate}}).dump()).rate().value(), rate);
  }
  for (const double rate : {0.2499, 0.3334, 1.0}) expect_refused(with(ragged, {{"sampling_rate", rate}}).dump(), "sampling_rate is");
  EXPECT_EQ(run_log_from_json(ragged.dump()).rate().value(), 0.3);
}

TEST(RunLog, RefusesWhatContradictsItself) {
  expect_refused(with(plain(), {{"batch_size", 60001}}).dump(), "batch_size is 60001, must be at most the 60000 records");
  expect_refused(with(plain(), {{"epsilon", 1}}).dump(), "delta, which must be given with epsilon");
  expect_refused(with(plain(), {{"sampler", "truncated_poisson"}}).dump(),
                 "largest_batch, which must be given with sampler truncated_poisson");
  expect_refused(R"({"version": 1, "records": 10, "steps": 1, "sampling_rate": 0.1})",
                 "lacks batch_size, which must be given with records");
  expect_refused(R"({"version": 1, "batch_size": 10, "steps": 1, "sampling_rate": 0.1})",
                 "lacks records, which must be given with batch_size");
  expect_refused(R"({"version": 1, "steps": 1})", "lacks records and batch_size, or in their place sampling_rate");
  expect_refused(R"({"version": 1, "sampling_rate": 0.1})", "lacks steps");
  expect_refused(R"({"version": 1, "sampling_rate": 0.1, "epochs": 3})", "records and batch_size, which must be given with epochs");
  expect_refused(R"({"version": 1, "sampling_rate": 0.1, "steps": 3, "largest_batch": 5})",
                 "records and batch_size, which must be given with largest_batch");
  const Json many{{"version", 1}, {"batch_size", 1}, {"records", 1ULL << 53}, {"epochs", 1ULL << 53}};
  EXPECT_THROW(static_cast<void>(run_log_from_json(many.dump()).total_steps()), Error);
}

TEST(RunLog, NamesAllThatItLacksAtOnce) {
  const NeededFields all{.adjacency = true, .noise_multiplier = true, .delta = true};
  const auto lacks = [&](const std::string& text, const std::string& what) {
    try {
      static_cast<void>(run_log_from_json(text, all));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(std::string{error.what()}, "the log lacks " + what);
    }
  };
  const std::string beside = "noise_multiplier; adjacency, in the log or given with it; delta, in the log or given with it";
  lacks("{}",
        "version, which must be 1; records and batch_size, or in their place sampling_rate; steps, or in its place epochs; " + beside);
  lacks(R"({"version": 1, "sampling_rate": 0.1})", "steps; " + beside);
  lacks(R"({"version": 1, "records": 9, "epsilon": 1, "sampler": "truncated_poisson"})",
        "batch_size, which must be given with records; steps, or in its place epochs; largest_batch, which must be given with sampler "
        "truncated_poisson; delta, which must be given with epsilon; noise_multiplier; adjacency, in the log or given with it");
  lacks(
      R"({"version": 1, "phases": [[1, 0.1, 5], {"steps": 3}]})",
      "phase 2: records and batch_size, or in their place sampling_rate; phase 2: noise_multiplier; adjacency, in the log or given with it; "
      "delta, in the log or given with it");
  std::string many = R"({"version": 1, "phases": [{})";
  for (int i = 1; i < 500; ++i) many += ", {}";
  const auto refusal = [&]() -> std::string {
    try {
      static_cast<void>(run_log_from_json(many + "]}", all));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }();
  EXPECT_LT(refusal.size(), 1000U);
  EXPECT_NE(refusal.find("; and 1490 more"), std::string::npos) << refusal;
  try {
    require_needed(run_log_from_json(R"({"version": 1, "sampling_rate": 0.1, "steps": 5})"), all);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(std::string{error.what()}, "the log lacks " + beside);
  }
}

TEST(RunLog, ReadsTheHistoryOfAnAccountant) {
  const auto expected = run_log_from_json(R"({"version": 1, "phases": [[1.1, 0.0042, 480], [0.9, 0.0042, 240]]})");
  ASSERT_EQ(expected.phases.size(), 2U);
  EXPECT_EQ(expected.phases[0].noise_multiplier->value(), 1.1);
  EXPECT_EQ(expected.phases[1].rate().value(), 0.0042);
  EXPECT_EQ(expected.total_steps().value(), 720U);
  for (const char* text : {"[(1.1, .0042, 480), (.9, .0042, 240)]", "[[1.1, 0.0042, 480], [0.9, 0.0042, 240]]",
                           " [ (1.1,4.2e-3,480,) ,\n[.9, .0042, 240],]\n"}) {
    EXPECT_TRUE(run_log_from_json(text) == expected) << text;
  }
  for (const auto& [text, word] : std::vector<std::pair<std::string, std::string>>{
           {"[(0, .1, 5)]", "phase 1: noise multiplier is 0"},
           {"[(1, .1, 5), (inf, .1, 5)]", "phase 2: noise multiplier is inf"},
           {"[(1, nan, 5)]", "phase 1: sampling rate is nan"},
           {"[(1, 1.5, 5)]", "sampling rate is 1.5"},
           {"[(1, .1, 0)]", "must be an integer from 1 to 2^53"},
           {"[(1, .1, 5.0)]", "')' is expected at position 11"},
           {"[(1, .1, -5)]", "a whole number of steps is expected"},
           {"[(1, .1, 18446744073709551616)]", "a whole number of steps is expected"},
           {"[(1, .1, 5]", "')' is expected"},
           {"[(1, .1)]", "',' is expected"},
           {"[(1, .1, 5)", "',' is expected"},
           {"[(1, .1, 5)] x", "the end is expected"},
           {"[1, .1, 5]", "a history has the form [(noise_multiplier, sampling_rate, steps), ...]"},
           {"[(1, .1, 5, 7)]", "')' is expected"},
           {"[", "a history has the form"}}) {
    expect_refused(text, word);
  }
  std::string long_history = "[";
  for (int i = 0; i < 1001; ++i) long_history += "(1,.1,5),";
  expect_refused(long_history + "]", "phases are 1001, must be from 1 to 1000");
  EXPECT_EQ(run_log_from_json(long_history.substr(0, long_history.size() - 9) + "]").phases.size(), 1000U);
  constexpr const char* most = "9007199254740992";
  std::string steps = "[";
  for (int i = 0; i < 2; ++i) steps += std::string{"(1,.1,"} + most + "),";
  EXPECT_THROW(static_cast<void>(run_log_from_json(steps + "]").total_steps()), Error);
}

TEST(RunLog, SharesFieldsAmongPhases) {
  const auto log = run_log_from_json(
      R"({"version": 1, "sampler": "poisson", "records": 1000, "batch_size": 50, "drop_last": true,
          "phases": [{"noise_multiplier": 1, "epochs": 2}, {"noise_multiplier": 2, "steps": 7}]})");
  EXPECT_EQ(log.phases[0].total_steps().value(), 40U);
  EXPECT_EQ(log.phases[1].rate().value(), 0.05);
  EXPECT_EQ(log.phases[1].drop_last, true);
  for (const auto& [fields, word] : std::vector<std::pair<std::string, std::string>>{
           {R"("noise_multiplier": 1, "phases": [[1, 0.1, 5]])",
            "phase 1: noise_multiplier is given here and for all phases, must be given once"},
           {R"("steps": 5, "phases": [[1, 0.1, 5]])", "steps is given with phases, must be given in each of them"},
           {R"("epochs": 5, "phases": [[1, 0.1, 5]])", "epochs is given with phases"},
           {R"("phases": [])", "phases are 0, must be from 1"},
           {R"("phases": 7)", "phases is 7, must be a list"},
           {R"("phases": [7])", "phase 1: it is 7, must be a list or an object"},
           {R"("phases": [[1, 0.1]])", "phase 1: a list of 2 values, must be [noise_multiplier, sampling_rate, steps]"},
           {R"("phases": [[1, 0.1, 5], {"delta": 0.1}])", "phase 2: unknown field 'delta'"},
           {R"("phases": [{"step": 0.1}])", "phase 1: unknown field 'step'; did you mean 'steps'?"},
           {R"("phases": [[1, 0.1, 5.5]])", "phase 1: steps is 5.5"},
           {R"("phases": [[1, "a", 5]])", "phase 1: sampling_rate is"},
           {R"("records": 10, "phases": [{"batch_size": 11, "steps": 5}])", "phase 1: batch_size is 11, must be at most the 10 records"},
           {R"("phases": [[1, 0.1, [5]]])", "deeper than"}}) {
    expect_refused(R"({"version": 1, )" + fields + "}", word);
  }
}

TEST(RunLog, CountsTheMicroBatchesOfANoiseAdditionAsOneBatch) {
  const auto log = run_log_from_json(with(plain(), {{"accumulation_steps", 8}}).dump());
  EXPECT_EQ(log.batch_size->value(), 4800U);
  EXPECT_EQ(log.rate().value(), 0.08);
  EXPECT_EQ(log.batches()->value(), 13U);
  EXPECT_EQ(log.total_steps().value(), 130U);
  EXPECT_TRUE(log.accumulates());
  EXPECT_FALSE(run_log_from_json(with(plain(), {{"accumulation_steps", 1}}).dump()).accumulates());
  expect_refused(with(plain(), {{"accumulation_steps", 101}}).dump(),
                 "batch_size is 600, must be with 101 accumulation_steps at most the 60000 records");
  expect_refused(with(plain(), {{"accumulation_steps", 1ULL << 53}}).dump(), "at most the 60000 records");
  expect_refused(with(plain(), {{"accumulation_steps", 8}, {"sampling_rate", 0.01}}).dump(),
                 "must be that of batches of 4800 of 60000 records");
  expect_refused(R"({"version": 1, "sampling_rate": 0.01, "steps": 5, "accumulation_steps": 8})",
                 "records and batch_size, which must be given with accumulation_steps");
}

TEST(RunLog, RefusesHostileText) {
  expect_refused("", "not JSON");
  expect_refused("[]", "phases are 0, must be from 1 to 1000");
  expect_refused("7", "must be an object");
  expect_refused("{}", "lacks version, which must be 1");
  expect_refused(R"({"version": 2, "steps": 1, "sampling_rate": 1})", "version is 2");
  expect_refused(R"({"version": 1.0, "steps": 1, "sampling_rate": 1})", "version is 1.0");
  expect_refused(R"({"version": 1, "version": 1})", "appears twice");
  expect_refused(R"({"version": 1, "noise_multiplierr": 1})", "did you mean 'noise_multiplier'");
  expect_refused(R"({"version": 1, "steps": {"a": {"b": {"c": 1}}}})", "deeper than");
  expect_refused(with(plain(), {{"records", {{"a", 1}}}}).dump(), "records is");
  expect_refused(with(plain(), {{"accountant", std::string(201, 'x')}}).dump(), "at most 200");
  expect_refused(with(plain(), {{"accountant", std::string(largest_log, 'x')}}).dump(), "must have at most 65536");
  expect_refused(R"({"version": 1, "noise_multiplier": 1e400})", "not JSON");
  expect_refused(R"({"version": 1, "noise_multiplier": NaN})", "not JSON");
  for (const char* bad : {"1e3", "100.0", "-1", "0", "\"10\"", "true", "null", "18446744073709551616", "9007199254740993"}) {
    for (const char* field : {"records", "batch_size", "accumulation_steps", "largest_batch", "epochs", "steps"}) {
      auto log = plain();
      log.erase(field);
      const auto text = log.dump();
      expect_refused(text.substr(0, text.size() - 1) + ", \"" + field + "\": " + bad + "}", "must be");
    }
  }
}

// Every bound that the schema states is where the reader refuses, every example is a log, and neither has a field that the other has not.
TEST(RunLog, IsWhatTheSchemaSays) {
  const auto said = schema();
  ASSERT_GE(said["examples"].size(), 3U);
  for (const auto& example : said["examples"]) EXPECT_NO_THROW(static_cast<void>(run_log_from_json(example.dump()))) << example;
  std::set<std::string> of_schema;
  for (const auto& item : said["properties"].items()) of_schema.insert(item.key());
  const auto fields = run_log_fields();
  EXPECT_EQ(of_schema, (std::set<std::string>{fields.begin(), fields.end()}));
  const auto words = logged_sampler_names();
  EXPECT_EQ(said["properties"]["sampler"]["enum"], Json(std::vector<std::string>{words.begin(), words.end()}));
  const Json base{{"version", 1}, {"batch_size", 1},   {"records", 1}, {"largest_batch", 1},
                  {"steps", 1},   {"drop_last", true}, {"delta", 0.5}, {"sampling_rate", 1.0}};
  for (const auto& [field, property] : said["properties"].items()) {
    if (property.contains("enum")) {
      for (const auto& word : property["enum"]) EXPECT_NO_THROW(static_cast<void>(run_log_from_json(with(base, {{field, word}}).dump())));
      expect_refused(with(base, {{field, "neither"}}).dump(), "must be");
    }
    if (property.contains("exclusiveMinimum")) expect_refused(with(base, {{field, property["exclusiveMinimum"]}}).dump(), "must be");
    if (property.contains("exclusiveMaximum")) expect_refused(with(base, {{field, property["exclusiveMaximum"]}}).dump(), "must be");
    if (property.contains("minimum")) expect_refused(with(base, {{field, property["minimum"].get<int>() - 1}}).dump(), "must be");
    if (property.contains("maximum")) expect_refused(with(base, {{field, property["maximum"].get<std::uint64_t>() + 1}}).dump(), "must be");
    if (property.contains("maxLength")) expect_refused(with(base, {{field, std::string(201, 'x')}}).dump(), "at most 200");
    EXPECT_TRUE(field == "version" || property.value("type", "string") != "string" || property.contains("enum") ||
                property.contains("maxLength"));
  }
  for (const auto& [field, others] : said["dependentRequired"].items()) {
    auto log = with(base, {{"epsilon", 1}, {"epochs", 1}});
    for (const auto& other : others) log.erase(other.get<std::string>());
    expect_refused(log.dump(), "must be given with");
  }
}

}  // namespace
}  // namespace surety::accounting::run_log_test
