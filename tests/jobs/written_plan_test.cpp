// Plans of trainings as JSON: each field is reached, and what is no plan is refused with its path.
#include <surety/jobs/train/written_plan.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/run/kept_units.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::written_plan_test {
namespace {

using nlohmann::json;
using reference::refusal_of;

json plan_of(const std::string& algorithm) {
  return {{"version", 2},
          {"command", "train"},
          {"adjacency", "replace-one"},
          {"target", {{"epsilon", 1}, {"delta", 1e-5}}},
          {"options", {{"data", "a.csv"}, {"label", "y>0"}, {"algorithm", algorithm}}}};
}

/// A value that is not the one that holds where nothing is said.
json another_value(const jobs::Field& field) {
  if (std::holds_alternative<bool*>(field.value())) return true;
  if (const auto* words = std::get_if<jobs::OneOfWords>(&field.constraint())) return words->words.back();
  if (const auto* whole = std::get_if<jobs::WholeNumber>(&field.constraint())) return whole->least + 7;
  if (std::holds_alternative<jobs::AnyNumber>(field.constraint())) return 0.4375;
  return "one,two";
}

TEST(WrittenPlanText, ReachesEveryFieldOfEveryAlgorithm) {
  std::size_t reached = 0;
  for (const auto& algorithm : jobs::all_algorithms()) {
    auto standard = jobs::read_train_plan(plan_of(algorithm->name()).dump()).plan;
    jobs::FieldTable rows;
    algorithm->add_fields(rows, standard.algorithm, standard);
    for (const auto& group : rows.groups()) {
      for (const auto& field : group.fields) {
        SCOPED_TRACE(algorithm->name() + " " + field.name());
        auto text = plan_of(algorithm->name());
        const auto value = another_value(field);
        text["options"][field.name()] = value;
        if (field.name() == "classes") text["options"]["label"] = "y";
        auto written = jobs::read_train_plan(text.dump());
        EXPECT_TRUE(written.said.contains(field.name()));
        jobs::FieldTable again;
        algorithm->add_fields(again, written.plan.algorithm, written.plan);
        const auto held = jobs::held_by(*again.find(field.name()));
        EXPECT_EQ(held, held.is_array() ? json::array({value}) : value);
        // A word may be the standard one; every other value is not.
        EXPECT_TRUE(held != jobs::held_by(field) || std::holds_alternative<jobs::OneOfWords>(field.constraint()));
        ++reached;
      }
    }
  }
  EXPECT_GT(reached, 150U);
}

TEST(WrittenPlanText, SaysWhereRecordsComeFromAndWhomItProtects) {
  auto text = plan_of("gradient-descent");
  text["adjacency"] = "zero-out";
  text["options"].update({{"bounds", {"age=18,90", "\"a=b\"=0,1"}},
                          {"drop", "id"},
                          {"categories", "town=Rome,Oslo"},
                          {"missing", {"age=40"}},
                          {"delimiter", "tab"},
                          {"rows", "scaled"},
                          {"no-limits", true},
                          {"form-is-public", true},
                          {"unit", "person"},
                          {"most", 3},
                          {"empty-unit", "each"},
                          {"loss", "squared"},
                          {"label-bound", 2.5},
                          {"ledger", "run.db"},
                          {"ledger-must-exist", true},
                          {"model", "m.json"},
                          {"note", "the first"},
                          {"replay-seed", 7}});
  const auto written = jobs::read_train_plan(text.dump());
  const auto& plan = written.plan;
  EXPECT_EQ(plan.target.adjacency, Adjacency::zero_out);
  EXPECT_EQ(plan.target.epsilon.value(), 1);
  EXPECT_EQ(plan.source.path, "a.csv");
  const auto& inputs = std::get<data::CsvOptions>(plan.source.inputs);
  EXPECT_EQ(inputs.bounds.at("age").upper, 90);
  EXPECT_EQ(inputs.bounds.at("a=b").upper, 1);
  EXPECT_EQ(inputs.drop, (std::vector<std::string>{"id", "person"})) << "a name is no feature";
  EXPECT_EQ(inputs.categories.at("town"), (std::vector<std::string>{"Rome", "Oslo"}));
  EXPECT_TRUE(inputs.rows_have_common_scale);
  EXPECT_EQ(plan.source.policy().csv.delimiter, '\t');
  EXPECT_EQ(plan.source.policy().csv.missing.at("age"), "40");
  EXPECT_EQ(plan.source.policy().form, data::RecordForm::is_public);
  EXPECT_EQ(plan.unit.most().value(), 3U);
  EXPECT_EQ(plan.unit.rule().empty, EmptyUnit::each);
  EXPECT_FALSE(plan.unit.rule().record_bytes.has_value());
  EXPECT_EQ(plan.problem.loss, jobs::Loss::squared);
  EXPECT_EQ(plan.problem.label_bound, 2.5);
  EXPECT_EQ(written.ledger, "run.db");
  EXPECT_TRUE(written.ledger_must_exist);
  EXPECT_EQ(written.model, "m.json");
  EXPECT_EQ(written.note, "the first");
  EXPECT_EQ(written.replay_seed, 7U);
}

TEST(WrittenPlanText, TakesWhatItsSchemaSays) {
  const TemporaryFolder folder;
  const auto schema = folder.write("schema.json", R"({"surety_schema": 1, "columns": [{"name": "age", "bounds": [0, 9]}, {"name": "y"}],
      "label": "y>0", "unit": "person", "most": 2})");
  auto text = plan_of("gradient-descent");
  text["options"].erase("label");
  text["options"]["schema"] = schema.string();
  const auto written = jobs::read_train_plan(text.dump());
  EXPECT_EQ(std::get<data::CsvOptions>(written.plan.source.inputs).bounds.at("age").upper, 9);
  EXPECT_EQ(written.plan.unit.most().value(), 2U);
  ASSERT_TRUE(written.schema_sha256.has_value());
  EXPECT_EQ(written.schema_sha256->size(), 64U);
}

TEST(WrittenPlanText, IsRefusedWithItsPath) {
  const auto refused = [](const auto& change, const std::string& said, ErrorCode code = ErrorCode::bad_data) {
    auto text = plan_of("gradient-descent");
    change(text);
    const auto found = refusal_of([&] { return jobs::read_train_plan(text.dump()); });
    EXPECT_TRUE(found.says(code, said)) << found << "\nwanted: " << said;
  };
  refused([](json& plan) { plan["options"]["stepz"] = 3; }, "options: unknown field 'stepz'; did you mean 'steps'?");
  refused([](json& plan) { plan["options"]["microbatch"] = 3; }, "options: microbatch is for dp-sgd, not for gradient-descent");
  refused([](json& plan) { plan["options"]["steps"] = 0; }, "steps is '0', must be a whole number from 1 to", ErrorCode::invalid_argument);
  refused([](json& plan) { plan["options"]["steps"] = nullptr; }, "options: steps is null, must be a text or a number");
  refused([](json& plan) { plan["options"]["steps"] = {1, 2}; }, "options: steps is a list, must be one value");
  refused([](json& plan) { plan["options"]["steps"] = true; }, "options: steps is true, must be a text or a number");
  refused([](json& plan) { plan["options"]["no-limits"] = 1; }, "options: no-limits is 1, must be true or false");
  refused([](json& plan) { plan["options"]["no-limits"] = "yes"; }, "options: no-limits is \"yes\", must be true or false");
  refused([](json& plan) { plan["options"]["iterate"] = "lost"; },
          "iterate is 'lost', must be last or average or random; did you mean 'last'?", ErrorCode::invalid_argument);
  refused([](json& plan) { plan["options"]["algorithm"] = "gradient-decent"; }, "did you mean 'gradient-descent'?");
  refused([](json& plan) { plan["options"]["algorithm"] = "auto"; }, "options: algorithm is auto, must be named in a plan");
  refused([](json& plan) { plan["options"].erase("algorithm"); }, "field 'algorithm' is missing");
  refused([](json& plan) { plan["options"].erase("data"); }, "options: data is missing");
  refused([](json& plan) { plan["options"].erase("label"); }, "label is missing", ErrorCode::invalid_argument);
  refused([](json& plan) { plan["options"]["epsilon"] = 1; }, "options: unknown field 'epsilon'");
  refused([](json& plan) { plan["options"] = 3; }, "options are no object");
  refused([](json& plan) { plan["version"] = 3; }, "version is 3, must be from 1 to 2");
  refused([](json& plan) { plan["command"] = "release"; }, "command is \"release\", must be \"train\"");
  refused([](json& plan) { plan["extra"] = 1; }, "unknown field 'extra'");
  refused([](json& plan) { plan["evant"] = 1; }, "unknown field 'evant'; did you mean 'event'?");
  refused([](json& plan) { plan["target"]["epsilon"] = "1"; }, "target: 'epsilon' is no number");
  refused([](json& plan) { plan["target"]["epsilon"] = -1; }, "epsilon is -1", ErrorCode::invalid_argument);
  refused([](json& plan) { plan["adjacency"] = "both"; }, "adjacency is 'both'", ErrorCode::invalid_argument);
  refused([](json& plan) { plan["options"]["most"] = 3; }, "unit is missing: most is the number of rows", ErrorCode::invalid_argument);

  const auto text_refused = [](const std::string& text, const std::string& said) {
    const auto found = refusal_of([&] { return jobs::read_train_plan(text); });
    EXPECT_TRUE(found.says(ErrorCode::bad_data, said)) << found << "\nwanted: " << said;
  };
  text_refused("[]", "is no plan, must be a JSON object");
  text_refused("{", "plan");
  text_refused(R"({"version": 1, "version": 1})", "version");
  text_refused(std::string(100'000, '[') + std::string(100'000, ']'), "plan");
  text_refused(R"({"options": {"steps": 1, "steps": 2}})", "steps");
  text_refused(R"({"version": 1, "target": {"epsilon": NaN}})", "plan");
}

// In C and in Python as for the command.
TEST(WrittenPlanText, OfVersion1CountsNoRecordsUnlessItSaysSo) {
  const auto read = [](int version, const json& count) {
    auto plan = plan_of("shaped-descent");
    plan["version"] = version;
    if (!count.is_null()) plan["options"]["count-records"] = count;
    return std::get<jobs::ShapedDescentPlan>(jobs::read_train_plan(plan.dump()).plan.algorithm);
  };
  EXPECT_TRUE(read(1, {}).no_count_records);
  EXPECT_FALSE(read(2, {}).no_count_records);
  for (const int version : {1, 2}) {
    EXPECT_TRUE(read(version, false).no_count_records);
    EXPECT_TRUE(read(version, true).count_records && !read(version, true).no_count_records);
  }
  // An algorithm without the count knows no such field.
  auto other = plan_of("dp-sgd");
  other["version"] = 1;
  EXPECT_NO_THROW(static_cast<void>(jobs::read_train_plan(other.dump())));
}

TEST(WrittenPlanText, NeverIsSomethingElseThanItSays) {
  auto text = plan_of("gradient-descent");
  const auto calibrated = [](const jobs::WrittenTraining& written) {
    jobs::TrainJob job{written.plan};
    return job.calibrate();
  };
  const auto refused = [&](const char* field, const json& value, const std::string& said) {
    auto changed = text;
    changed[field] = value;
    const auto written = jobs::read_train_plan(changed.dump());
    const auto found = refusal_of([&] {
      jobs::require_follows(written, calibrated(written));
      return 0;
    });
    EXPECT_TRUE(found.says(ErrorCode::invalid_argument, said)) << found;
  };
  refused("noise", 1.5, "noise is 1.5, must be ");
  refused("event", {{"gaussian", 1}}, "event is");
  refused("unit", {{"name", "person"}, {"most", 3}}, "unit is");
  refused("schema_sha256", "00", "schema_sha256 is");
  const auto written = jobs::read_train_plan(text.dump());
  jobs::require_follows(written, calibrated(written));
}

// A number of a column is no class: a plan of version 2 is refused, and one of version 1 means what it did.
TEST(WrittenPlanText, TakesANumberForAClassInVersion1Alone) {
  auto text = plan_of("gradient-descent");
  text["options"]["label"] = "visits";
  for (const char* const loss : {"logistic", "hinge", "smoothed-hinge"}) {
    text["options"]["loss"] = loss;
    text["version"] = 2;
    const auto found = refusal_of([&] { return jobs::read_train_plan(text.dump()); });
    EXPECT_TRUE(found.says(ErrorCode::invalid_argument, "visits, a column without a comparison")) << found;
    text["version"] = 1;
    const auto written = jobs::read_train_plan(text.dump());
    EXPECT_TRUE(written.plan.problem.has_number_of_class);
    ASSERT_EQ(written.notes.size(), 2U);
    EXPECT_NE(written.notes[0].find("label visits is a column without a comparison"), std::string::npos) << written.notes[0];
    EXPECT_NE(written.notes[1].find("usable records are not counted"), std::string::npos) << written.notes[1];
    EXPECT_EQ(json::parse(jobs::plan_text(written.plan))["version"], 1);
    EXPECT_EQ(jobs::read_train_plan(jobs::plan_text(written.plan)).plan, written.plan);
  }
  text["options"]["label"] = "visits>0";
  const auto compared = jobs::read_train_plan(text.dump());
  EXPECT_EQ(compared.notes.size(), 1U);  // of the count alone
  EXPECT_EQ(json::parse(jobs::plan_text(compared.plan))["version"], 2);
  text["options"].update({{"label", "visits"}, {"loss", "squared"}, {"label-bound", 3}, {"clip", 1}});
  text["version"] = 2;
  EXPECT_TRUE(jobs::read_train_plan(text.dump()).notes.empty());
}

TEST(WrittenPlanText, OfALabelThatNoPlanHasRunsNowhere) {
  auto plan = jobs::read_train_plan(plan_of("gradient-descent").dump()).plan;
  plan.source.label = data::parse_label_rule("y");
  const auto found = refusal_of([&] {
    const jobs::TrainJob job{plan};
    return 0;
  });
  EXPECT_TRUE(found.says(ErrorCode::invalid_argument, "label is y, a column without a comparison")) << found;
}

// ---- The text of a plan ---------------------------------------------------------------------------------------------------------------------

/// A plan of which each field that its algorithm has may be said.
jobs::TrainPlan random_plan(const jobs::Algorithm& algorithm, std::mt19937_64& random) {
  const auto coin = [&] { return random() % 2 == 0; };
  const auto adjacency = std::array{Adjacency::replace_one, Adjacency::zero_out, Adjacency::add_or_remove_one}.at(random() % 3);
  auto plan = jobs::read_train_plan(plan_of(algorithm.name()).dump()).plan;
  plan.target = {Epsilon{std::ldexp(static_cast<double>(1 + random() % 1000), -7)}, Delta{1e-7}, adjacency};
  plan.source.path.clear();
  plan.source.label.reset();
  jobs::FieldTable rows;
  jobs::add_problem(rows, plan.problem);
  algorithm.add_fields(rows, plan.algorithm, plan);
  for (const auto& group : rows.groups()) {
    for (const auto& field : group.fields) {
      if (coin() || field.name() == "classes") continue;
      if (const auto* words = std::get_if<jobs::OneOfWords>(&field.constraint())) {
        field.set(words->words.at(random() % words->words.size()));
      } else if (const auto* whole = std::get_if<jobs::WholeNumber>(&field.constraint())) {
        field.set(fmt::format("{}", whole->least + random() % std::min<std::uint64_t>(whole->most - whole->least, std::uint64_t{1} << 52)));
      } else if (std::holds_alternative<jobs::AnyNumber>(field.constraint())) {
        field.set(fmt::format("{}", std::ldexp(static_cast<double>(random() >> 11U), -static_cast<int>(random() % 60))));
      } else {
        field.set("a=\"b, c\"");
      }
    }
  }
  auto& source = plan.source;
  if (coin()) source.path = "-a table's.csv";
  if (coin()) source.reading.limits = data::DataLimits::none();
  if (random() % 4 == 0) {
    source.inputs = data::SparseFeatures{static_cast<std::uint32_t>(1 + random() % 1000)};
    source.rows_have_common_scale = coin();
    return plan;
  }
  data::CsvOptions inputs{.rows_have_common_scale = coin()};
  if (coin()) inputs.drop = {"id", "a=\"b"};
  if (coin()) inputs.bounds = {{"x, y", {-0.1, 1.0 / 3}}, {"age=", {0x1p-1000, 1e300}}};
  if (coin()) inputs.categories = {{"to=wn", {"Rome", "New \"York\", NY", " ", ""}}};
  inputs.terms = std::array{data::Terms::automatic, data::Terms::linear, data::Terms::additive}.at(random() % 3);
  inputs.ranges = std::array{data::Ranges::automatic, data::Ranges::asinh, data::Ranges::released}.at(random() % 3);
  if (coin()) inputs.private_ranges = {"in=come", "a, b"};
  if (coin()) inputs.pairs = {{"x, y", "age="}, {"a:\"b", " c "}};
  auto& csv = source.reading.csv;
  csv.delimiter = std::array{',', ';', '\t', ' '}.at(random() % 4);
  if (csv.delimiter != ',' && coin()) csv.decimal = ',';
  if (coin()) csv.thousands = csv.decimal == '.' ? " ,'_"[random() % 4] : '.';
  if (coin()) csv.missing.emplace("a=\"b", "x, y");
  if (coin()) csv.quoted_lines = random() % 1000;
  if (coin()) {
    OwnerRule rule;
    rule.empty = coin() ? EmptyUnit::one : EmptyUnit::each;
    rule.delimiter = csv.delimiter;
    rule.quoted_lines = csv.quoted_lines;
    if (!(source.reading.limits == data::DataLimits{})) rule.record_bytes.reset();
    plan.unit = jobs::unit_of_column("who, is", Count{1 + random() % 100}, rule);
    inputs.drop.emplace_back("who, is");
  }
  source.label = data::parse_label_rule(std::array{"y", "visits>=0.1", "town=='New \"York\"'", "\"a=b\"!=3"}.at(random() % 4));
  source.inputs = inputs;
  plan.problem.has_number_of_class = jobs::has_number_for_two_classes(plan);
  // Read in version 1, where no count is the default.
  if (const auto* const no_count = rows.find("no-count-records"); plan.problem.has_number_of_class && no_count != nullptr) {
    *std::get<bool*>(no_count->value()) = !*std::get<bool*>(rows.find("count-records")->value());
  }
  return plan;
}

// Whatever a plan says, its text says it; fields of no algorithm of its own, and what only a program can give, are refused.
TEST(TrainPlanText, IsReadAsThePlanThatItWasMadeOf) {
  std::mt19937_64 random{24};
  for (const auto& algorithm : jobs::all_algorithms()) {
    for (int k = 0; k < 60; ++k) {
      const auto plan = random_plan(*algorithm, random);
      const auto text = jobs::plan_text(plan);
      const auto again = jobs::read_train_plan(text, jobs::NamedRecords::or_given_later).plan;
      EXPECT_TRUE(again == plan) << text;
      EXPECT_EQ(jobs::plan_text(again), text);
    }
  }
}

TEST(TrainPlanText, IsRefusedForWhatNoTextSays) {
  std::mt19937_64 random{1};
  for (const auto& algorithm : jobs::all_algorithms()) {
    if (algorithm->name() != "constant" && algorithm->name() != "noisy-sgd") continue;
    const auto plan = random_plan(*algorithm, random);
    const auto refused = [&](const auto& change) {
      auto changed = plan;
      change(changed);
      const auto found = refusal_of([&] { return jobs::plan_text(changed); });
      EXPECT_TRUE(found.says(ErrorCode::unsupported, "the plan has no text")) << found;
    };
    refused([](auto& its) { its.source.paths_of_ranks = {"a", "b"}; });
    refused([](auto& its) { its.search.tune = 3; });
    refused([](auto& its) { its.source.reading.limits.columns = 7; });
    refused([](auto& its) { its.source.reading.form = data::RecordForm::is_public; });
    if (algorithm->name() != "constant") refused([](auto& its) { its.problem.classes = "a,b"; });
  }
}

}  // namespace
}  // namespace surety::written_plan_test
