// The two written forms of an event, the event language and JSON. Both read and write an event by what its kind says of itself
// in event.h, so that a kind cannot be spelled in one form and not in the other.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/words.h>
#include <surety/accounting/numbers/checked_cast.h>
#include <surety/accounting/numbers/floating_point.h>

namespace surety {
namespace {

constexpr int json_version = 1;

/// The fields of one event, asked for in their order.
class FieldReader {
 public:
  explicit FieldReader(Adjacency adjacency) : adjacency_{adjacency} {}
  virtual ~FieldReader() = default;
  FieldReader(const FieldReader&) = delete;
  FieldReader& operator=(const FieldReader&) = delete;

  [[nodiscard]] Adjacency adjacency() const { return adjacency_; }
  virtual double real(const char* field) = 0;
  virtual Count whole(const char* field) = 0;
  /// A number that need not be there, before an event.
  virtual std::optional<Count> whole_if_said(const char* field) = 0;
  virtual std::string word(const char* field) = 0;
  virtual Event event() = 0;
  virtual std::vector<Event> events() = 0;
  /// Whether a field is there by its name. Text has no names.
  [[nodiscard]] virtual bool has(const char* /*field*/) const { return false; }

 private:
  Adjacency adjacency_;
};

class FieldWriter {
 public:
  FieldWriter() = default;
  virtual ~FieldWriter() = default;
  FieldWriter(const FieldWriter&) = delete;
  FieldWriter& operator=(const FieldWriter&) = delete;

  virtual void real(const char* field, double value) = 0;
  virtual void whole(const char* field, Count value) = 0;
  virtual void word(const char* field, std::string_view value) = 0;
  virtual void event(const Event& value) = 0;
  virtual void events(const std::vector<Event>& values) = 0;
};

// ---- What each member of an event is written as ----

/// Of the two numbers of batches the one named so is how many records there are.
constexpr std::string_view all_records = "records";

Batches read_batches(FieldReader& in, const std::array<const char*, 2>& names) {
  const Count first = in.whole(names[0]);
  const Count second = in.whole(names[1]);
  return names[0] == all_records ? Batches{first, second} : Batches{second, first};
}

Runs read_runs(FieldReader& in, const std::array<const char*, 4>& names) {
  const auto& [law_is, mean_is, shape_is, cap_is] = names;
  const RunsLaw law = parse_runs_law(in.word(law_is));
  const double mean = in.real(mean_is);
  const bool has_shape = law == RunsLaw::negative_binomial;
  const bool has_cap = law == RunsLaw::capped_geometric;
  if (in.has(shape_is) && !has_shape) invalid(fmt::format("best_of: {} have no shape", name(law)));
  if (in.has(cap_is) && !has_cap) invalid(fmt::format("best_of: {} have no cap", name(law)));
  if (has_shape) return Runs::negative_binomial(mean, in.real(shape_is));
  return has_cap ? Runs::capped_geometric(mean, in.whole(cap_is)) : Runs{law, mean};
}

template <class Kind, class Value, std::size_t count>
Value read(FieldReader& in, const Argument<Kind, Value, count>& said) {
  if constexpr (std::is_same_v<Value, Event>) {
    return in.event();
  } else if constexpr (std::is_same_v<Value, std::vector<Event>>) {
    return in.events();
  } else if constexpr (std::is_same_v<Value, Batches>) {
    return read_batches(in, said.names);
  } else if constexpr (std::is_same_v<Value, Runs>) {
    return read_runs(in, said.names);
  } else if constexpr (std::is_same_v<Value, NormName>) {
    return parse_norm(in.word(said.names[0]));
  } else if constexpr (std::is_same_v<Value, Count>) {
    return said.is_optional ? in.whole_if_said(said.names[0]).value_or(Count{1}) : in.whole(said.names[0]);
  } else {
    return Value{in.real(said.names[0])};
  }
}

/// Writes the fields of an event, and returns the word of its kind.
struct Write {
  FieldWriter& out;

  template <class Kind>
  std::string_view operator()(const Kind& e) const {
    std::apply([&](const auto&... said) { (..., put(said, e.*said.member)); }, Kind::arguments());
    return Kind::word;
  }

 private:
  template <class Argument, class Rule>
  void put(const Argument& said, const Quantity<Rule>& value) const {
    out.real(said.names[0], value.value());
  }
  template <class Argument>
  void put(const Argument& said, Count value) const {
    if (!said.is_optional || value != Count{1}) out.whole(said.names[0], value);
  }
  template <class Argument>
  void put(const Argument& said, NormName value) const {
    out.word(said.names[0], name(value));
  }
  template <class Argument>
  void put(const Argument& said, const Batches& value) const {
    for (const auto* field : said.names) out.whole(field, field == all_records ? value.records() : value.size());
  }
  template <class Argument>
  void put(const Argument& said, const Runs& value) const {
    out.word(said.names[0], name(value.law()));
    out.real(said.names[1], value.mean());
    if (value.law() == RunsLaw::negative_binomial) out.real(said.names[2], value.shape());
    if (const auto& cap = value.cap()) out.whole(said.names[3], *cap);
  }
  template <class Argument>
  void put(const Argument& /*said*/, const Event& value) const {
    out.event(value);
  }
  template <class Argument>
  void put(const Argument& /*said*/, const std::vector<Event>& values) const {
    out.events(values);
  }
};

// ---- The words, in the order of Event::Node ----

/// Of the JSON object; unused ones have no name, and none has where the kind holds a list of events.
struct Field {
  std::string_view name;
  bool is_optional = false;
};

struct Spelling {
  std::string_view word;
  std::array<Field, 5> fields;
  Event (*read)(FieldReader& in);
};

template <class Kind>
constexpr Spelling spelling_of() {
  Spelling spelling{
      Kind::word, {}, [](FieldReader& in) {
        return std::apply([&](const auto&... said) { return Event{Kind{read(in, said)...}, in.adjacency()}; }, Kind::arguments());
      }};
  auto* field = spelling.fields.begin();
  const auto add = [&]<class Value, std::size_t count>(const Argument<Kind, Value, count>& said) {
    // Of runs each law has its own beside the mean.
    for (std::size_t i = 0; i < count; ++i) *field++ = {said.names[i], said.is_optional || (std::is_same_v<Value, Runs> && i >= 2)};
  };
  std::apply([&](const auto&... said) { (..., add(said)); }, Kind::arguments());
  return spelling;
}

template <class... Kinds>
constexpr std::array<Spelling, sizeof...(Kinds)> spellings_of(const std::variant<Kinds...>* /*node*/) {
  return {spelling_of<Kinds>()...};
}

constexpr auto spellings = spellings_of(static_cast<const Event::Node*>(nullptr));

constexpr auto words = [] {
  std::array<std::string_view, spellings.size()> all{};
  std::transform(spellings.begin(), spellings.end(), all.begin(), [](const Spelling& spelling) { return spelling.word; });
  return all;
}();

const Spelling* find_spelling(std::string_view word) {
  const auto* found = std::find_if(spellings.begin(), spellings.end(), [&](const Spelling& spelling) { return spelling.word == word; });
  return found == spellings.end() ? nullptr : found;
}

[[noreturn]] void refuse_whole(std::string_view field, std::string_view value) {
  std::string said{field};
  std::replace(said.begin(), said.end(), '_', ' ');
  throw Error{ErrorCode::invalid_argument, fmt::format("{} is {}, must be an integer from 1 to 2^53", said, one_line(value))};
}

Count whole_from(std::uint64_t value, std::string_view field) {
  if (value < 1 || value > (std::uint64_t{1} << 53)) refuse_whole(field, fmt::format("{}", value));
  return Count{value};
}

// The event language:  event = word "(" argument { "," argument } ")"    argument = event | number | name
class TextReader : public FieldReader {
 public:
  TextReader(std::string_view text, Adjacency adjacency, const std::map<std::string, double>& values)
      : FieldReader{adjacency}, text_{text}, values_{values} {}

  Event parse() {
    Event event = parse_event();
    skip_space();
    if (position_ != text_.size()) refuse_here("the end of the event is expected");
    return event;
  }

  /// Where names were used for numbers, so far.
  [[nodiscard]] const std::vector<NameUse>& uses() const { return uses_; }

  double real(const char* field) override {
    next_argument();
    return parse_number(field, false);
  }

  Count whole(const char* field) override {
    next_argument();
    skip_space();
    const auto start = position_;
    const double value = parse_number(field, true);
    // Beyond 2^53 a double may round to a count that is allowed, so digits are read as an integer.
    std::uint64_t exact = 0;
    const auto [end, error] = std::from_chars(text_.data() + start, text_.data() + position_, exact);
    if (error == std::errc{} && end == text_.data() + position_) return whole_from(exact, field);
    const bool is_name = std::isalpha(static_cast<unsigned char>(text_[start])) != 0;
    if (!is_name) refuse_whole(field, text_.substr(start, position_ - start));
    if (!(value >= 1 && value <= 0x1p53 && value == std::floor(value))) refuse_whole(field, fmt::format("{}", value));
    return Count{checked_cast<std::uint64_t>(value)};
  }

  std::optional<Count> whole_if_said(const char* field) override {
    const auto start = position_;
    const bool first = first_;
    next_argument();
    skip_space();
    const bool is_word = position_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[position_])) != 0;
    // An event is a word with arguments; any other word stands for a number.
    const bool is_event = is_word && (find_spelling(parse_word()) != nullptr || peek_is('('));
    position_ = start;
    first_ = first;
    if (is_event) return std::nullopt;
    return whole(field);
  }

  std::string word(const char* /*field*/) override {
    next_argument();
    return std::string{parse_word()};
  }

  Event event() override {
    next_argument();
    return parse_event();
  }

  std::vector<Event> events() override {
    std::vector<Event> events{event()};
    while (peek_is(',')) events.push_back(event());
    return events;
  }

 private:
  Event parse_event() {
    if (++depth_ > Event::max_depth) refuse_here(fmt::format("an event may be nested at most {} deep", Event::max_depth));
    skip_space();
    const auto start = position_;
    const auto word = parse_word();
    const auto* const spelling = find_spelling(word);
    if (spelling == nullptr) {
      position_ = start;
      refuse_here(fmt::format("an event is expected ({})", fmt::join(words, ", ")), did_you_mean(word, words));
    }
    expect('(');
    const bool outer_first = std::exchange(first_, true);
    Event event = spelling->read(*this);
    first_ = outer_first;
    expect(')');
    --depth_;
    return event;
  }

  void next_argument() {
    if (!std::exchange(first_, false)) expect(',');
  }

  std::string_view parse_word() {
    skip_space();
    const auto start = position_;
    while (position_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_')) ++position_;
    return text_.substr(start, position_ - start);
  }

  double parse_number(const char* field, bool whole) {
    skip_space();
    const auto start = position_;
    const bool is_name = position_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[position_]));
    if (is_name) {
      const auto word = parse_word();
      if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
      if (word == "inf" || word == "infinity") return std::numeric_limits<double>::infinity();
      const auto found = values_.find(std::string{word});
      if (found != values_.end()) {
        uses_.push_back({std::string{word}, field, whole});
        return found->second;
      }
      position_ = start;
      refuse_here(fmt::format("the name '{}' has no value here, a number is expected", word));
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (error == std::errc::invalid_argument) refuse_here("a number is expected");
    if (error == std::errc::result_out_of_range) refuse_here("a number within the range of double is expected");
    position_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  bool peek_is(char wanted) {
    skip_space();
    return position_ < text_.size() && text_[position_] == wanted;
  }
  void expect(char wanted) {
    if (!peek_is(wanted)) refuse_here(fmt::format("'{}' is expected", wanted));
    ++position_;
  }
  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_]))) ++position_;
  }
  [[noreturn]] void refuse_here(const std::string& reason, const std::string& meant = {}) const {
    invalid(fmt::format("{} at position {}{}", reason, position_ + 1, meant));
  }

  std::string_view text_;
  const std::map<std::string, double>& values_;
  std::vector<NameUse> uses_;
  std::size_t position_ = 0;
  int depth_ = 0;
  bool first_ = true;  ///< the next argument is the first of its call
};

class TextWriter : public FieldWriter {
 public:
  [[nodiscard]] static std::string write(const Event& event) {
    TextWriter writer;
    const auto word = std::visit(Write{writer}, event.node());
    return fmt::format("{}({})", word, writer.arguments_);
  }

  void real(const char* /*field*/, double value) override { add(fmt::format("{}", value)); }
  void whole(const char* /*field*/, Count value) override { add(fmt::format("{}", value.value())); }
  void word(const char* /*field*/, std::string_view value) override { add(value); }
  void event(const Event& value) override { add(write(value)); }
  void events(const std::vector<Event>& values) override {
    for (const auto& value : values) event(value);
  }

 private:
  void add(std::string_view argument) {
    if (!arguments_.empty()) arguments_ += ", ";
    arguments_ += argument;
  }

  std::string arguments_;
};

class JsonReader : public FieldReader {
 public:
  [[nodiscard]] static Event read(const nlohmann::json& json, Adjacency adjacency, int depth) {
    if (depth > Event::max_depth) {
      throw Error{ErrorCode::invalid_argument, fmt::format("event is nested more than {} deep", Event::max_depth)};
    }
    if (!json.is_object() || json.size() != 1) {
      throw Error{ErrorCode::invalid_argument, "event: an object with one field, the kind of event, is expected"};
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
      std::string said{field};
      std::replace(said.begin(), said.end(), '_', ' ');
      throw Error{ErrorCode::invalid_argument, fmt::format("{} is {}, must be a number", said, value.type_name())};
    }
    return value.get<double>();
  }

  Count whole(const char* field) override {
    if (!has(field)) invalid(fmt::format("event: field '{}' is missing", field));
    const auto& value = fields_[field];
    if (!value.is_number_unsigned()) refuse_whole(field, value.dump());
    return whole_from(value.get<std::uint64_t>(), field);
  }

  std::optional<Count> whole_if_said(const char* field) override {
    if (!fields_.contains(field)) return std::nullopt;
    return whole(field);
  }

  std::string word(const char* field) override {
    const auto& value = fields_[field];
    if (!value.is_string()) throw Error{ErrorCode::invalid_argument, fmt::format("{} is {}, must be a text", field, value.type_name())};
    return value.get<std::string>();
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

std::string describe(const Event& event) { return TextWriter::write(event); }

Event parse_event(std::string_view text, Adjacency adjacency, const std::map<std::string, double>& values) {
  const accounting::StandardFloatingPoint environment;
  try {
    return TextReader{text, adjacency, values}.parse();
  } catch (const Error& error) {
    throw Error{error.code(), fmt::format("{} (in event '{}')", error.what(), one_line(text))};
  }
}

std::vector<NameUse> uses_of_name(std::string_view text, Adjacency adjacency, const std::string& name) {
  // The fields are what is asked for; a value that fits some of them may be refused by others, or by the event around them.
  std::vector<NameUse> uses;
  for (const double trial : {0.5, 1.0, 2.0, 1000.0, 0x1p53}) {
    const std::map<std::string, double> values{{name, trial}};
    TextReader reader{text, adjacency, values};
    try {
      static_cast<void>(reader.parse());
      return reader.uses();
    } catch (const Error&) {
      if (reader.uses().size() > uses.size()) uses = reader.uses();
    }
  }
  return uses;
}

nlohmann::json to_json(const Event& event) {
  return {{"version", json_version}, {"adjacency", name(event.adjacency())}, {"event", JsonWriter::write(event)}};
}

std::string to_json_text(const Event& event) { return to_json(event).dump(); }

Event event_from_json(std::string_view text) {
  const accounting::StandardFloatingPoint environment;
  // Each level of an event is at most three levels of JSON.
  const auto json = accounting::parse_strict_json(text, 3 * Event::max_depth + 3, "event");
  accounting::require_fields(json, {"version", "adjacency", "event"}, "event");
  if (!json["version"].is_number_integer() || json["version"] != json_version) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("event: version is {}, must be {}", one_line(json["version"].dump()), json_version)};
  }
  if (!json["adjacency"].is_string()) throw Error{ErrorCode::invalid_argument, "event: adjacency must be a string"};
  return JsonReader::read(json["event"], parse_adjacency(json["adjacency"].get<std::string>()), 1);
}

}  // namespace surety
