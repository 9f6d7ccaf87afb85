#include <surety/jobs/train/written_plan.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/words.h>
#include <surety/accounting/numbers/safe_text.h>
#include <surety/data/text_reader.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/table_fields.h>
#include <surety/jobs/plans/text_lists.h>
#include <surety/jobs/plans/unit_fields.h>

namespace surety::jobs {
namespace {

constexpr int plan_version = 1;
constexpr int deepest = 70;  // an event has at most 64 levels

template <class... Values>
[[noreturn]] void refuse_text(fmt::format_string<const Values&...> pattern, const Values&... values) {
  refuse<Values...>(ErrorCode::bad_data, pattern, values...);
}

std::unique_ptr<Algorithm> algorithm_named(const std::string& name) {
  auto all = all_algorithms();
  std::vector<std::string_view> names;
  for (auto& one : all) {
    if (one->name() == name) return std::move(one);
    names.push_back(one->name());
  }
  if (name == "auto") refuse_text("options: @algorithm is auto, must be named in a plan");
  refuse_text("options: @algorithm is '{}', must be one of {}{}", one_line(name), fmt::format("{}", fmt::join(names, ", ")),
              did_you_mean(name, names));
}

/// All that can be said of a training with one algorithm, and where it is kept.
class TrainFields {
 public:
  explicit TrainFields(const Algorithm& algorithm) {
    plan_.algorithm = algorithm.standard();
    table_.group("Data");
    table_.add("data", records_.data, "");
    records_.add(table_, {"csv", "libsvm", "records"});
    reading_.add_missing(table_);
    reading_.add_schema(table_);
    reading_.add_csv(table_);
    reading_.add_limits(table_);
    table_.group("Problem and algorithm");
    add_problem(table_, plan_.problem);
    table_.group("Privacy");
    unit_.add(table_);
    table_.add("ledger", ledger_, "");
    table_.add("ledger-must-exist", ledger_must_exist_, "");
    table_.add("note", note_, "");
    table_.add("replay-seed", replay_seed_, "", WholeNumber{});
    table_.group("Output");
    table_.add("model", model_, "");
    algorithm.add_fields(table_, plan_.algorithm, plan_);
  }
  TrainFields(const TrainFields&) = delete;
  TrainFields& operator=(const TrainFields&) = delete;

  [[nodiscard]] FieldTable& table() noexcept { return table_; }

  /// \throws as `source_of` and `unit_of_records`.
  [[nodiscard]] WrittenTraining written(const Target& target) {
    if (records_.data.empty()) refuse_text("options: @data is missing, must name the records");
    reading_.load_schema();
    if (reading_.schema) {
      records_.take_schema(*reading_.schema);
      unit_.take_schema(*reading_.schema);
    }
    WrittenTraining result{.plan = plan_, .said = {}};
    result.plan.target = target;
    result.plan.unit = unit_of_records(unit_, reading_);
    const bool form_is_public = plan_.source.form_is_public;
    result.plan.source = source_of(
        records_, {.reading = reading_, .said_unit = unit_, .has_unit = result.plan.has_unit(), .classes = plan_.problem.classes});
    result.plan.source.form_is_public = form_is_public;
    result.ledger = ledger_;
    result.ledger_must_exist = ledger_must_exist_;
    result.model = model_;
    result.note = note_.value_or("");
    result.replay_seed = replay_seed_;
    result.schema_sha256 = reading_.schema_sha256();
    return result;
  }

 private:
  TrainPlan plan_{.target = {.epsilon = Epsilon{1}, .delta = Delta{0}, .adjacency = Adjacency::replace_one}, .source = {}};
  TableFields records_;
  ReadingFields reading_;
  UnitFields unit_;
  std::optional<std::string> ledger_;
  bool ledger_must_exist_ = false;
  std::optional<std::string> note_;
  std::optional<std::uint64_t> replay_seed_;
  std::optional<std::string> model_;
  FieldTable table_;
};

[[noreturn]] void refuse_field(const std::string& name, const Algorithm& algorithm, FieldTable& known) {
  std::vector<std::string> knowing;
  for (const auto& other : all_algorithms()) {
    TrainFields fields{*other};
    if (fields.table().find(name) != nullptr) knowing.push_back(other->name());
  }
  for (const auto& [field, reason] : algorithm.refusals()) {
    if (field == name) refuse_text("options: @{} {}", name, with_marks(reason, ""));
  }
  if (!knowing.empty())
    refuse_text("options: @{} is for {}, not for {}", name, fmt::format("{}", fmt::join(knowing, ", ")), algorithm.name());
  std::vector<std::string_view> names;
  for (const auto& group : known.groups()) {
    for (const auto& field : group.fields) names.push_back(field.name());
  }
  refuse_text("options: unknown field '{}'{}", one_line(name), did_you_mean(name, names));
}

std::string text_of(const std::string& field, const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned()) return fmt::format("{}", value.get<std::uint64_t>());
  if (value.is_number()) return fmt::format("{}", value.get<double>());
  refuse_text("options: @{} is {}, must be a text or a number", field, one_line(value.dump()));
}

void set(const Field& field, const nlohmann::json& value) {
  const bool is_flag = std::holds_alternative<bool*>(field.value());
  if (is_flag != value.is_boolean()) {
    refuse_text("options: @{} is {}, must be {}", field.name(), one_line(value.dump()), is_flag ? "true or false" : "a text or a number");
  }
  if (is_flag) {
    if (value.get<bool>()) field.set("");
    return;
  }
  if (value.is_array() && !std::holds_alternative<std::vector<std::string>*>(field.value())) {
    refuse_text("options: @{} is a list, must be one value", field.name());
  }
  for (const auto& one : value.is_array() ? value : nlohmann::json::array({value})) field.set(text_of(field.name(), one));
}

const nlohmann::json& member(const nlohmann::json& object, const char* field) {
  if (!object.contains(field)) refuse_text("field '{}' is missing", field);
  return object[field];
}

double number_in(const nlohmann::json& object, const char* field) {
  const auto& value = member(object, field);
  if (!value.is_number()) refuse_text("target: '{}' is no number", field);
  return value.get<double>();
}

nlohmann::json parsed(std::string_view text) {
  nlohmann::json json;
  try {
    json = accounting::parse_strict_json(text, deepest, "plan");
  } catch (const Error& error) {
    refuse_text("{}", error.what());
  }
  if (!json.is_object()) refuse_text("is no plan, must be a JSON object");
  constexpr std::array<std::string_view, 9> known{"version", "command", "options", "adjacency",    "target",
                                                  "unit",    "event",   "noise",   "schema_sha256"};
  for (const auto& [field, value] : json.items()) {
    if (std::find(known.begin(), known.end(), field) == known.end()) {
      refuse_text("unknown field '{}'{}", one_line(field), did_you_mean(field, known));
    }
  }
  if (member(json, "version") != plan_version) refuse_text("version is {}, must be {}", one_line(json["version"].dump()), plan_version);
  if (member(json, "command") != "train") refuse_text("command is {}, must be \"train\"", one_line(json["command"].dump()));
  if (!member(json, "options").is_object()) refuse_text("options are no object");
  if (!member(json, "adjacency").is_string()) refuse_text("adjacency is no text");
  if (!member(json, "target").is_object() || json["target"].size() != 2) refuse_text("target is no object with epsilon and delta");
  return json;
}

}  // namespace

WrittenTraining read_train_plan(std::string_view text) {
  const auto json = parsed(text);
  const auto& options = json["options"];
  const auto& name = member(options, "algorithm");
  if (!name.is_string()) refuse_text("options: @algorithm is {}, must be a text", one_line(name.dump()));
  const auto algorithm = algorithm_named(name.get<std::string>());
  TrainFields fields{*algorithm};
  SaidFields said;
  for (const auto& [field, value] : options.items()) {
    if (field == "algorithm") continue;
    const auto* const known = fields.table().find(field);
    if (known == nullptr) refuse_field(field, *algorithm, fields.table());
    set(*known, value);
    said.insert(field);
  }
  auto written = fields.written({.epsilon = Epsilon{number_in(json["target"], "epsilon")},
                                 .delta = Delta{number_in(json["target"], "delta")},
                                 .adjacency = parse_adjacency(json["adjacency"].get<std::string>())});
  written.said = std::move(said);
  written.text = text;
  return written;
}

void require_follows(const WrittenTraining& written, const CalibratedNoise& noise) {
  const auto json = nlohmann::json::parse(written.text);
  const auto differ = [&](const char* field, const nlohmann::json& follows) {
    refuse_plan("{} is {}, must be {} as follows from the plan's options here", field, one_line(json[field].dump()),
                one_line(follows.dump()));
  };
  const auto& unit = written.plan.unit;
  if (json.contains("schema_sha256")) {
    const auto hash = written.schema_sha256 ? nlohmann::json(*written.schema_sha256) : nlohmann::json{};
    if (json["schema_sha256"] != hash) differ("schema_sha256", hash);
  }
  if (json.contains("event") && json["event"] != to_json(noise.event)) differ("event", to_json(noise.event));
  if (json.contains("noise") && json["noise"] != nlohmann::json(noise.value)) differ("noise", noise.value);
  if (!json.contains("unit")) return;
  bool is_the_same = false;
  try {
    // A plan that does not say the rule of its unit has it in its options.
    const auto said = unit_from_json(json["unit"]);
    is_the_same = said.says_rule() ? said == unit : said.name() == unit.name() && said.most() == unit.most();
  } catch (const std::exception&) {  // it is none
  }
  if (!is_the_same) differ("unit", to_json(unit));
}

}  // namespace surety::jobs
