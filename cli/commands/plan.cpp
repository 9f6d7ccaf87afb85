#include <surety/cli/commands/plan.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/base/text/error.h>
#include <surety/base/text/escaped_text.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/plans/other_words.h>
#include <surety/jobs/plans/small_text.h>
#include <surety/jobs/plans/text_lists.h>
#include <surety/jobs/plans/unit_fields.h>
#include <surety/jobs/release/queries.h>
#include <surety/jobs/release/release_fields.h>
#include <surety/jobs/train/train_fields.h>

namespace surety::cli {
namespace {

constexpr std::string_view plan_option = "--plan";
/// A plan says these by themselves.
constexpr std::array target_options{"--epsilon", "--delta", "--adjacency"};
/// What is asked of a plan, and no part of it. Who writes a plan does not decide that a file may be lost.
constexpr std::array asking_options{"--accuracy",        "--plan",      "--print-plan",    "--json",
                                    "--list-algorithms", "--overwrite", "--limit-seconds", "--progress"};

nlohmann::json value_of(const Option& option, const std::string& text) {
  if (option.placeholder() == "COUNT") return std::strtoull(text.c_str(), nullptr, 10);
  if (option.placeholder() == "NUMBER") return jobs::parse_double(text, option.field().name());
  return text;
}

/// Options with which a plan would run nothing, or lose a file: the user of the plan gives them.
constexpr std::array options_of_users{"overwrite", "print-plan", "list-algorithms", "progress"};

/// Refuses a value of another type than the field has. Unknown fields are refused where options are set.
void require_type(std::string_view command, const std::string& name, const nlohmann::json& value) {
  if (name == "json" && !value.is_boolean()) {
    jobs::refuse_option("{} is {}, must be true or false", jobs::FieldName{name}, one_line(value.dump()));
  }
  const auto check = [&](jobs::FieldTable& table) {
    const auto* const field = table.find(name);
    if (field != nullptr) jobs::require_type(*field, value);
    return field != nullptr;
  };
  if (command == "release") {
    jobs::ReleaseFields fields;
    if (check(fields.table())) return;
  } else {
    // A field has the same type in every algorithm that knows it.
    for (const auto& algorithm : jobs::all_algorithms()) {
      jobs::TrainFields fields{*algorithm};
      if (check(fields.table())) return;
    }
  }
  // Fields that are in no table, such as the algorithm and files, take one value.
  if (value.is_array()) jobs::refuse_option("{} is a list, must be one value", jobs::FieldName{name});
}

/// Says whether usable records are counted, unless the command line does. An algorithm that is none is refused where the words are read.
void set_count(nlohmann::json& plan, const Arguments& said) {
  if (std::find(said.begin(), said.end(), "--count-records") != said.end()) return;
  for (const auto& algorithm : jobs::all_algorithms()) {
    if (!plan["options"].contains("algorithm") || plan["options"]["algorithm"] != algorithm->name()) continue;
    jobs::TrainFields fields{*algorithm};
    jobs::set_count(plan, fields.table());
  }
}

std::vector<std::string> texts_of(const std::string& field, const nlohmann::json& value) {
  std::vector<std::string> texts;
  for (const auto& one : value.is_array() ? value : nlohmann::json::array({value})) texts.push_back(jobs::text_in(field, one));
  return texts;
}

/// The options of a plan in this file, and its promise. \throws PlanError{bad_data}
std::vector<PlannedOption> planned_options(const nlohmann::json& plan, std::string_view command, const std::string& file) {
  std::vector<PlannedOption> planned;
  for (const auto& [field, value] : plan["options"].items()) {
    if (std::find(options_of_users.begin(), options_of_users.end(), field) != options_of_users.end()) {
      jobs::refuse_text("options have '{}', which must be said where the plan is run", field);
    }
    require_type(command, field, value);
    if (field == "epsilon" || field == "delta" || field == "adjacency" || field == "plan") {
      jobs::refuse_text("options have '{}', which must stand in target or adjacency", field);
    }
    if (value.is_boolean()) {
      if (accounting::truth_of(value, field)) planned.push_back({field, {}});
      continue;
    }
    auto texts = texts_of(field, value);
    if (field == "unit") texts = {columns_text(texts)};
    planned.push_back({field, std::move(texts)});
    if (field == "data" && file == "-" && planned.back().texts == std::vector<std::string>{"-"}) {
      jobs::refuse_text("the plan and its data are both standard input, must be two");
    }
  }
  const auto target = jobs::target_in(plan);
  planned.push_back({"epsilon", texts_of("epsilon", target.epsilon.value())});
  planned.push_back({"delta", texts_of("delta", target.delta.value())});
  planned.push_back({"adjacency", texts_of("adjacency", plan["adjacency"])});
  return planned;
}

/// The option of a field; nullptr where the command has none.
Option* option_of(Command& command, const std::string& field) {
  for (auto* table : {&command.options, &command.hidden}) {
    for (const auto& name : {field, option_name(field)}) {
      auto* const found = table->find(name);
      if (found != nullptr && found->field().name() == field) return found;
    }
  }
  return nullptr;
}

[[noreturn]] void refuse_unknown(const Command& command, const std::string& field) {
  std::vector<std::string_view> known;
  for (const auto* table : {&command.options, &command.hidden}) {
    for (const auto& group : table->groups()) {
      for (const auto& option : group.options) known.push_back(option.field().name());
    }
  }
  jobs::refuse_option("unknown field '{}'{}", one_line(field), jobs::advice_on(field, known));
}

/// `action`, whose refusals name the file.
template <class Action>
auto naming(const std::string& file, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error{error.code(), fmt::format("{}: {}", one_line(file), error.what())};
  }
}

}  // namespace

nlohmann::json options_json(std::string_view command, const OptionTable& given) {
  auto options = nlohmann::json::object();
  for (const auto& group : given.groups()) {
    for (const auto& option : group.options) {
      const auto is_named = [&](const char* name) { return option.name() == name; };
      // The format of a report; of records, in a training.
      if (is_named("--format") && command == "release") continue;
      // What is run stands in a plan, also where nobody said it.
      const bool is_shown = option.is_given() || is_named("--algorithm") || is_named("--loss");
      if (!is_shown || std::any_of(target_options.begin(), target_options.end(), is_named) ||
          std::any_of(asking_options.begin(), asking_options.end(), is_named)) {
        continue;
      }
      auto& value = options[option.field().name()];
      if (option.is_flag()) {
        value = true;
      } else if (option.is_repeatable()) {
        value = option.given();
      } else {
        const auto& text = option.is_given() ? option.given().front() : option.standard();
        value = is_named("--unit") ? jobs::unit_json(jobs::parse_unit(text)) : value_of(option, text);
      }
    }
  }
  return options;
}

nlohmann::json to_json(const PlannedRun& plan) {
  // JSON would hold another name or path.
  for (const auto& group : plan.options.groups()) {
    for (const auto& option : group.options) {
      if (!std::all_of(option.given().begin(), option.given().end(), is_utf8)) {
        jobs::has_no_text(fmt::format("{} is not UTF-8, must be for JSON", option.name()));
      }
    }
  }
  auto options = options_json(plan.command, plan.options);
  if (!plan.queries.is_null()) {
    jobs::QueryFields of_queries;
    jobs::FieldTable fields;
    of_queries.add(fields);
    for (const auto& group : fields.groups()) {
      for (const auto& field : group.fields) options.erase(field.name());
    }
    options["query"] = plan.queries;
  }
  auto json = jobs::plan_json(plan.command, std::move(options), plan.target);
  if (plan.is_of_version_1) json["version"] = 1;
  json["unit"] = to_json(plan.follows.unit);
  json["event"] = to_json(plan.follows.event);
  json["noise"] = plan.follows.noise;
  if (plan.schema_sha256) json["schema_sha256"] = *plan.schema_sha256;
  return json;
}

std::optional<std::string> GivenArguments::value_of(const std::string& field) const {
  const auto found = std::find_if(planned.begin(), planned.end(), [&](const PlannedOption& option) { return option.field == field; });
  if (found != planned.end() && !found->texts.empty()) return found->texts.front();
  return value_in(words, option_name(field));
}

GivenArguments with_plan(const Arguments& words) {
  if (words.empty() || (words.front() != "train" && words.front() != "release")) return {words};
  const auto file = value_in(words, plan_option);
  const auto is_given = [&](std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  if (!file || is_given("--help") || is_given("-h")) return {words};
  constexpr std::size_t largest_plan = std::size_t{1} << 20;
  const std::string text = jobs::read_text(*file, largest_plan, "a plan");
  GivenArguments result{.words = {words.front()}, .expected = ExpectedRun{*file, text}};
  result.planned = naming(*file, [&] {
    auto plan = jobs::parse_plan(text, words.front());
    if (words.front() == "train") set_count(plan, words);
    result.expected->version = static_cast<int>(accounting::whole_number_of(plan["version"], "version"));
    return planned_options(plan, words.front(), *file);
  });
  for (std::size_t k = 1; k < words.size(); ++k) {
    if (words[k] == plan_option) {
      ++k;
    } else if (!words[k].starts_with(std::string{plan_option} + "=")) {
      result.words.push_back(words[k]);
    }
  }
  return result;
}

void set_planned(Command& command, const GivenArguments& given) {
  for (const auto& [field, texts] : given.planned) {
    naming(given.expected->file, [&, &field = field, &texts = texts] {
      auto* const option = option_of(command, field);
      if (option == nullptr) refuse_unknown(command, field);
      option->set(texts);
    });
  }
}

void require_as_expected(const ExpectedRun& expected, const PlannedRun& plan) {
  jobs::WrittenPlan written;
  written.schema_sha256 = plan.schema_sha256;
  written.text = expected.text;
  naming(expected.file, [&] { jobs::require_follows(written, plan.follows); });
}

}  // namespace surety::cli
