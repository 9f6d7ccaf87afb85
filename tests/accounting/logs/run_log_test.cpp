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
  expect_refused(with(plain(), {{"epsilon", 1}}).dump(), "epsilon is given without delta");
  expect_refused(with(plain(), {{"sampler", "truncated_poisson"}}).dump(), "must come with largest_batch");
  expect_refused(R"({"version": 1, "records": 10, "steps": 1, "sampling_rate": 0.1})", "records is given without batch_size");
  expect_refused(R"({"version": 1, "batch_size": 10, "steps": 1, "sampling_rate": 0.1})", "batch_size is given without records");
  expect_refused(R"({"version": 1, "steps": 1})", "records and batch_size are missing");
  expect_refused(R"({"version": 1, "sampling_rate": 0.1})", "steps is missing");
  expect_refused(R"({"version": 1, "sampling_rate": 0.1, "epochs": 3})", "epochs are given without records");
  expect_refused(R"({"version": 1, "sampling_rate": 0.1, "steps": 3, "largest_batch": 5})", "largest_batch is given without records");
  const Json many{{"version", 1}, {"batch_size", 1}, {"records", 1ULL << 53}, {"epochs", 1ULL << 53}};
  EXPECT_THROW(static_cast<void>(run_log_from_json(many.dump()).total_steps()), Error);
}

TEST(RunLog, RefusesHostileText) {
  expect_refused("", "not JSON");
  expect_refused("[]", "must be an object");
  expect_refused("{}", "'version' is missing");
  expect_refused(R"({"version": 2, "steps": 1, "sampling_rate": 1})", "version is 2");
  expect_refused(R"({"version": 1.0, "steps": 1, "sampling_rate": 1})", "version is 1.0");
  expect_refused(R"({"version": 1, "version": 1})", "appears twice");
  expect_refused(R"({"version": 1, "noise_multiplierr": 1})", "did you mean 'noise_multiplier'");
  expect_refused(R"({"version": 1, "steps": {"a": {"b": 1}}})", "deeper than");
  expect_refused(with(plain(), {{"records", {{"a", 1}}}}).dump(), "records is");
  expect_refused(with(plain(), {{"accountant", std::string(201, 'x')}}).dump(), "at most 200");
  expect_refused(with(plain(), {{"accountant", std::string(largest_log, 'x')}}).dump(), "must have at most 65536");
  expect_refused(R"({"version": 1, "noise_multiplier": 1e400})", "not JSON");
  expect_refused(R"({"version": 1, "noise_multiplier": NaN})", "not JSON");
  for (const char* bad : {"1e3", "100.0", "-1", "0", "\"10\"", "true", "null", "18446744073709551616", "9007199254740993"}) {
    for (const char* field : {"records", "batch_size", "largest_batch", "epochs", "steps"}) {
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
