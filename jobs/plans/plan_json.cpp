#include <surety/jobs/plans/plan_json.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>
#include <variant>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/accounting/events/words.h>
#include <surety/base/numbers/overload.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/jobs/plans/other_words.h>
#include <surety/jobs/plans/text_lists.h>
#include <surety/jobs/plans/unit_fields.h>
#include <surety/jobs/run/kept_units.h>

namespace surety::jobs {
namespace {

constexpr int deepest = 70;  // an event has at most 64 levels

const nlohmann::json& member(const nlohmann::json& object, const char* field) {
  if (!object.contains(field)) refuse_text("field '{}' is missing", field);
  return object[field];
}

double number_in(const nlohmann::json& object, const char* field) {
  const auto& value = member(object, field);
  if (!value.is_number()) refuse_text("target: '{}' is no number", field);
  return accounting::number_of(value, field);
}

nlohmann::json parse_object(std::string_view text) {
  nlohmann::json json;
  try {
    json = accounting::parse_strict_json_by_path(text, deepest, "plan");
  } catch (const Error& error) {
    refuse_text("{}", error.what());
  }
  if (!json.is_object()) refuse_text("is no plan, must be a JSON object");
  return json;
}

}  // namespace

std::string command_of(std::string_view plan) {
  const auto json = parse_object(plan);
  const auto& command = member(json, "command");
  if (command != "train" && command != "release") {
    refuse_text("command is {}, must be \"train\" or \"release\"", one_line(command.dump()));
  }
  return accounting::text_of(command, "command");
}

nlohmann::json parse_plan(std::string_view text, std::string_view command) {
  auto json = parse_object(text);
  constexpr std::array<std::string_view, 9> known{"version", "command", "options", "adjacency",    "target",
                                                  "unit",    "event",   "noise",   "schema_sha256"};
  for (const auto& [field, value] : json.items()) {
    if (std::find(known.begin(), known.end(), field) == known.end()) {
      refuse_text("unknown field '{}'{}", one_line(field), did_you_mean(field, known));
    }
  }
  const auto& version = member(json, "version");
  if (!version.is_number_integer() || version < 1 || version > plan_version) {
    refuse_text("version is {}, must be from 1 to {}", one_line(version.dump()), plan_version);
  }
  if (member(json, "command") != command) refuse_text("command is {}, must be \"{}\"", one_line(json["command"].dump()), command);
  if (!member(json, "options").is_object()) refuse_text("options are no object");
  // A text is one name, whatever characters it has.
  if (auto unit = json["options"].find("unit"); unit != json["options"].end() && unit->is_string()) *unit = nlohmann::json::array({*unit});
  if (!member(json, "adjacency").is_string()) refuse_text("adjacency is no text");
  if (!member(json, "target").is_object() || json["target"].size() != 2) refuse_text("target is no object with epsilon and delta");
  return json;
}

Target target_in(const nlohmann::json& plan) {
  return {.epsilon = Epsilon{number_in(plan["target"], "epsilon")},
          .delta = Delta{number_in(plan["target"], "delta")},
          .adjacency = parse_adjacency(accounting::text_of(plan["adjacency"], "adjacency"))};
}

void set_count(nlohmann::json& plan, FieldTable& known) {
  constexpr const char* count = "count-records";
  constexpr const char* no_count = "no-count-records";
  auto& options = plan["options"];
  if (known.find(no_count) == nullptr || (options.contains(no_count) && !options[no_count].is_boolean())) return;
  const bool is_said = options.contains(count);
  // A value of another type is refused where the field is set.
  if (is_said && (!options[count].is_boolean() || accounting::truth_of(options[count], count))) return;
  options.erase(count);
  if (is_said || plan["version"] == 1) options[no_count] = true;
}

nlohmann::json plan_json(std::string_view command, nlohmann::json options, const Target& target) {
  return {{"version", plan_version},
          {"command", command},
          {"options", std::move(options)},
          {"adjacency", name(target.adjacency)},
          {"target", {{"epsilon", target.epsilon.value()}, {"delta", target.delta.value()}}}};
}

void require_type(const Field& field, const nlohmann::json& value) {
  const bool is_flag = std::holds_alternative<bool*>(field.value());
  const bool is_list = std::holds_alternative<std::vector<std::string>*>(field.value());
  if (value.is_array() && !is_list && !field.takes_names()) refuse_option("{} is a list, must be one value", FieldName{field.name()});
  const auto require = [&](const nlohmann::json& one) {
    const bool is_query = one.is_object() && field.name() == "query";
    if (is_flag ? one.is_boolean() : one.is_string() || is_query || (one.is_number() && field.takes_numbers())) return;
    refuse_option("{} is {}, must be {}", FieldName{field.name()}, one_line(one.dump()),
                  is_flag                 ? "true or false"
                  : field.takes_numbers() ? "a text or a number"
                                          : "a text");
  };
  if (!value.is_array()) return require(value);
  for (const auto& one : value) require(one);
}

std::string text_in(const std::string& field, const nlohmann::json& value) {
  if (value.is_string()) return accounting::text_of(value, field);
  if (value.is_number_unsigned()) return fmt::format("{}", accounting::whole_number_of(value, field));
  if (value.is_number()) return fmt::format("{}", accounting::number_of(value, field));
  if (value.is_object() && field == "query") return value.dump();
  refuse_option("{} is {}, must be a text or a number", FieldName{field}, one_line(value.dump()));
}

nlohmann::json held_by(const Field& field) {
  return std::visit(Overload{[](const auto* value) -> nlohmann::json {
                               if constexpr (requires { value->has_value(); }) {
                                 return *value ? nlohmann::json(**value) : nlohmann::json{};
                               } else {
                                 return *value;
                               }
                             },
                             [](const ChoiceField& choice) -> nlohmann::json {
                               return choice.name() ? nlohmann::json(*choice.name()) : nlohmann::json{};
                             }},
                    field.value());
}

void set_field(const Field& field, const nlohmann::json& value) {
  require_type(field, value);
  if (value.is_boolean()) {
    if (accounting::truth_of(value, field.name())) field.set("");
    return;
  }
  if (value.is_array() && field.takes_names()) {
    std::vector<std::string> names;
    for (const auto& one : value) names.push_back(text_in(field.name(), one));
    field.set(list_text(names));
    return;
  }
  for (const auto& one : value.is_array() ? value : nlohmann::json::array({value})) field.set(text_in(field.name(), one));
}

void refuse_unknown_field(const std::string& name, const FieldTable& known) {
  std::vector<std::string_view> names;
  for (const auto& group : known.groups()) {
    for (const auto& field : group.fields) names.push_back(field.name());
  }
  refuse_option("unknown field '{}'{}", one_line(name), advice_on(name, names));
}

void write_reading(nlohmann::json& options, const data::DataPolicy& reading) {
  const auto& csv = reading.csv;
  const data::CsvFormat usual;
  if (csv.delimiter != usual.delimiter) options["delimiter"] = csv.delimiter == ' ' ? "space" : std::string{csv.delimiter};
  if (csv.decimal != usual.decimal) options["decimal"] = std::string{csv.decimal};
  if (csv.thousands != usual.thousands) options["thousands"] = csv.thousands == ' ' ? "space" : std::string{csv.thousands};
  if (!csv.columns.empty()) options["columns"] = list_text(csv.columns);
  if (csv.quoted_lines != usual.quoted_lines) options["quoted-lines"] = csv.quoted_lines;
  for (const auto& [column, value] : csv.missing) options["missing"].push_back(list_text({column}) + "=" + list_text({value}));
  if (!csv.complete.empty()) options["complete"] = list_text({csv.complete.begin(), csv.complete.end()});
  if (reading.form == data::RecordForm::is_public) options["form-is-public"] = true;
  if (!(reading.limits == data::DataLimits{})) options["no-limits"] = true;
}

void write_unit(nlohmann::json& options, const UnitOfPrivacy& unit, const std::optional<std::string>& period) {
  if (unit.is_row()) return;
  options["unit"] = unit_json(columns_of(unit));
  options["most"] = unit.most().value();
  options["empty-unit"] = name(unit.rule().empty);
  if (period) options["unit-period"] = *period;
}

void has_no_text(std::string_view what) { throw Error{ErrorCode::unsupported, fmt::format("the plan has no text: {}", what)}; }

void RunFields::add(FieldTable& table) {
  table.add("ledger", ledger, "The ledger's file, made when missing");
  table.add("ledger-must-exist", ledger_must_exist, "Refuse to make a new ledger, as a mistyped path would");
  table.add("note", note, "A word about this run for the ledger");
  table.add("replay-seed", replay_seed, "Replay noise from this seed (format 2): NOT PRIVATE, for experiments", WholeNumber{});
}

void RunFields::write_to(WrittenPlan& written) const {
  written.ledger = ledger;
  written.ledger_must_exist = ledger_must_exist;
  written.note = note.value_or("");
  written.replay_seed = replay_seed;
}

void require_follows(const WrittenPlan& written, const Follows& follows) {
  const auto json = nlohmann::json::parse(written.text);
  const auto differ = [&](const char* field, const nlohmann::json& own) {
    refuse_plan("{} is {}, must be {} as follows from the plan's options here", field, one_line(json[field].dump()), one_line(own.dump()));
  };
  if (json.contains("schema_sha256")) {
    const auto hash = written.schema_sha256 ? nlohmann::json(*written.schema_sha256) : nlohmann::json{};
    if (json["schema_sha256"] != hash) {
      refuse_plan("schema_sha256 is {}, must be {}, the hash of the schema's file: it has changed since",
                  one_line(json["schema_sha256"].dump()), one_line(hash.dump()));
    }
  }
  if (json.contains("event") && json["event"] != to_json(follows.event)) differ("event", to_json(follows.event));
  if (json.contains("noise") && json["noise"] != nlohmann::json(follows.noise)) differ("noise", follows.noise);
  if (!json.contains("unit")) return;
  bool is_the_same = false;
  try {
    // A plan that does not say the rule of its unit has it in its options.
    const auto said = unit_from_json(json["unit"]);
    const auto& unit = follows.unit;
    is_the_same = said.says_rule() ? said == unit : said.name() == unit.name() && said.most() == unit.most();
  } catch (const std::exception&) {  // it is none
  }
  if (!is_the_same) differ("unit", to_json(follows.unit));
}

}  // namespace surety::jobs
