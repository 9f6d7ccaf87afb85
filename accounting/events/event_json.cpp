#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/event_fields.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/accounting/events/words.h>
#include <surety/base/numbers/floating_point.h>

namespace surety {
namespace {

using namespace spelling;

constexpr int json_version = 1;
/// JSON has no number for it.
constexpr const char* infinite = "inf";

class JsonReader : public FieldReader {
 public:
  [[nodiscard]] static Event read(const nlohmann::json& json, Adjacency adjacency, int depth) {
    if (depth > Event::max_depth) {
      throw Error{ErrorCode::invalid_argument, fmt::format("event is nested more than {} deep", Event::max_depth)};
    }
    if (!json.is_object() || json.size() != 1) {
      throw Error{ErrorCode::invalid_argument,
                  R"(event: must be an object with one field, the event type, as {"gaussian": {"noise_multiplier": 2}})"};
    }
    const auto& word = json.begin().key();
    const auto& fields = json.begin().value();
    const auto* const spelling = find_spelling(word);
    if (spelling == nullptr) invalid(fmt::format("event: unknown kind '{}'{}", one_line(word), did_you_mean(word, words)));
    std::vector<std::string_view> names;
    for (const auto& [field, is_optional] : spelling->fields) {
      if (!field.empty() && (!is_optional || fields.contains(field))) names.push_back(field);
    }
    if (!names.empty()) {
      accounting::require_fields(fields, names, word);
    } else if (!fields.is_array()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("{}: an array of events is expected", word)};
    }
    JsonReader reader{fields, adjacency, depth};
    return spelling->read(reader);
  }

  double real(const char* field) override {
    if (!has(field)) invalid(fmt::format("event: field '{}' is missing", field));
    const auto& value = fields_[field];
    if (!value.is_number()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("{} is {}, must be a number", spaced(field), value.type_name())};
    }
    return accounting::number_of(value, field);
  }

  Count whole(const char* field) override {
    if (!has(field)) invalid(fmt::format("event: field '{}' is missing", field));
    const auto& value = fields_[field];
    if (!value.is_number_unsigned()) refuse_whole(field, value.dump());
    return whole_from(accounting::whole_number_of(value, field), field);
  }

  std::optional<Count> whole_if_said(const char* field) override {
    if (!fields_.contains(field)) return std::nullopt;
    return whole(field);
  }

  std::optional<double> real_if_said(const char* field) override {
    if (!fields_.contains(field)) return std::nullopt;
    return real(field);
  }

  std::vector<NumberPair> pairs(const char* field) override {
    const auto& values = fields_[field];
    const auto refuse = [&] { invalid(fmt::format("{}: a list of pairs of numbers is expected", field)); };
    const auto number = [&](const nlohmann::json& value) {
      if (value.is_string() && value == infinite) return std::numeric_limits<double>::infinity();
      if (!value.is_number()) refuse();
      return accounting::number_of(value, field);
    };
    if (!values.is_array()) refuse();
    std::vector<NumberPair> found;
    found.reserve(values.size());
    for (const auto& value : values) {
      if (!value.is_array() || value.size() != 2) refuse();
      found.push_back({number(value[0]), number(value[1])});
    }
    return found;
  }

  std::string word(const char* field) override {
    const auto& value = fields_[field];
    if (!value.is_string()) throw Error{ErrorCode::invalid_argument, fmt::format("{} is {}, must be a text", field, value.type_name())};
    return accounting::text_of(value, field);
  }

  Event event() override { return read(fields_["event"], adjacency(), depth_ + 1); }
  [[nodiscard]] bool has(const char* field) const override { return fields_.contains(field); }

  std::vector<Event> events() override {
    std::vector<Event> events;
    for (const auto& part : fields_) events.push_back(read(part, adjacency(), depth_ + 1));
    return events;
  }

 private:
  JsonReader(const nlohmann::json& fields, Adjacency adjacency, int depth) : FieldReader{adjacency}, fields_{fields}, depth_{depth} {}

  const nlohmann::json& fields_;
  int depth_;
};

class JsonWriter : public FieldWriter {
 public:
  [[nodiscard]] static nlohmann::json write(const Event& event) {
    JsonWriter writer;
    const std::string word{std::visit(Write{writer}, event.node())};
    return {{word, std::move(writer.fields_)}};
  }

  void real(const char* field, double value) override { fields_[field] = value; }
  void whole(const char* field, Count value) override { fields_[field] = value.value(); }
  void pairs(const char* field, const std::vector<NumberPair>& values) override {
    auto& all = fields_[field] = nlohmann::json::array();
    const auto number = [](double value) { return is_finite(value) ? nlohmann::json(value) : nlohmann::json(infinite); };
    for (const auto& [one, other] : values) all.push_back(nlohmann::json::array({number(one), number(other)}));
  }
  void word(const char* field, std::string_view value) override { fields_[field] = value; }
  void event(const Event& value) override { fields_["event"] = write(value); }
  void events(const std::vector<Event>& values) override {
    fields_ = nlohmann::json::array();
    for (const auto& value : values) fields_.push_back(write(value));
  }

 private:
  nlohmann::json fields_ = nlohmann::json::object();
};

}  // namespace

nlohmann::json to_json(const Event& event) {
  return {{"version", json_version}, {"adjacency", name(event.adjacency())}, {"event", JsonWriter::write(event)}};
}

std::string to_json_text(const Event& event) { return to_json(event).dump(); }

Event event_from_json(std::string_view text) {
  const StandardFloatingPoint environment;
  // Each level of an event is at most three levels of JSON.
  const auto json = accounting::parse_strict_json(text, 3 * Event::max_depth + 3, "event");
  return accounting::translating_json_errors("event", [&] {
    accounting::require_fields(json, {"version", "adjacency", "event"}, "event");
    if (!json["version"].is_number_integer() || json["version"] != json_version) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("event: version is {}, must be {}", one_line(json["version"].dump()), json_version)};
    }
    if (!json["adjacency"].is_string()) throw Error{ErrorCode::invalid_argument, "event: adjacency must be a string"};
    return JsonReader::read(json["event"], parse_adjacency(accounting::text_of(json["adjacency"], "event: adjacency")), 1);
  });
}

}  // namespace surety
