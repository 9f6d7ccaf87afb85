#include <surety/accounting/event.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/json.h>

namespace surety {

struct Event::Shared {
  Node node;
  Adjacency adjacency;
  int depth;
};

const Event::Node& Event::node() const noexcept { return shared_->node; }
Adjacency Event::adjacency() const noexcept { return shared_->adjacency; }
int Event::depth() const noexcept { return shared_->depth; }

bool operator==(const Event& a, const Event& b) {
  return a.shared_ == b.shared_ || (a.adjacency() == b.adjacency() && a.depth() == b.depth() && a.node() == b.node());
}

Event Event::make(Node node, Adjacency adjacency, int depth) {
  if (depth > max_depth) {
    throw Error{ErrorCode::invalid_argument, fmt::format("event is nested {} deep, must be at most {}", depth, max_depth)};
  }
  return Event{std::make_shared<const Shared>(Shared{std::move(node), adjacency, depth})};
}

Event gaussian(NoiseMultiplier multiplier, Adjacency adjacency) { return Event::make(Event::Gaussian{multiplier}, adjacency, 1); }

Event repeated(Count count, Event event) {
  const auto adjacency = event.adjacency();
  const int depth = event.depth() + 1;
  return Event::make(Event::Repeated{count, std::move(event)}, adjacency, depth);
}

Event composed(std::vector<Event> events) {
  if (events.empty()) throw Error{ErrorCode::invalid_argument, "a composition of no events is empty, must have at least one"};
  const auto adjacency = events.front().adjacency();
  int depth = 0;
  for (const auto& event : events) {
    if (event.adjacency() != adjacency) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("a composition mixes adjacency {} and {}, must have one", name(adjacency), name(event.adjacency()))};
    }
    depth = std::max(depth, event.depth());
  }
  return Event::make(Event::Composed{std::move(events)}, adjacency, depth + 1);
}

namespace {

template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;

/// The integer that `value` is, as a count. \throws Error{invalid_argument}.
Count whole(double value) {
  if (!(value >= 1 && value <= 0x1p53 && value == std::floor(value))) {
    throw Error{ErrorCode::invalid_argument, fmt::format("count is {}, must be an integer from 1 to 2^53", value)};
  }
  return Count{static_cast<std::uint64_t>(value)};
}

// The event language:  event = word "(" argument { "," argument } ")"    argument = event | number | name
class Parser {
 public:
  Parser(std::string_view text, Adjacency adjacency, const std::map<std::string, double>& values)
      : text_{text}, adjacency_{adjacency}, values_{values} {}

  Event parse() {
    Event event = parse_event(1);
    skip_space();
    if (position_ != text_.size()) refuse("the end of the event is expected");
    return event;
  }

 private:
  Event parse_event(int depth) {
    if (depth > Event::max_depth) refuse(fmt::format("an event may be nested at most {} deep", Event::max_depth));
    skip_space();
    const auto start = position_;
    const auto word = parse_word();
    if (word == "gaussian") {
      expect('(');
      const NoiseMultiplier multiplier{parse_number()};
      expect(')');
      return gaussian(multiplier, adjacency_);
    }
    if (word == "repeat") {
      expect('(');
      const Count count = parse_count();
      expect(',');
      Event event = parse_event(depth + 1);
      expect(')');
      return repeated(count, std::move(event));
    }
    if (word == "compose") {
      expect('(');
      std::vector<Event> events{parse_event(depth + 1)};
      while (next_is(',')) events.push_back(parse_event(depth + 1));
      expect(')');
      return composed(std::move(events));
    }
    position_ = start;
    refuse("gaussian, repeat or compose is expected");
  }

  std::string_view parse_word() {
    skip_space();
    const auto start = position_;
    while (position_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_')) ++position_;
    return text_.substr(start, position_ - start);
  }

  double parse_number() {
    skip_space();
    const auto start = position_;
    const bool is_name = position_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[position_]));
    if (is_name) {
      const auto word = parse_word();
      if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
      if (word == "inf" || word == "infinity") return std::numeric_limits<double>::infinity();
      const auto found = values_.find(std::string{word});
      if (found != values_.end()) return found->second;
      position_ = start;
      refuse(fmt::format("the name '{}' has no value here, a number is expected", word));
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (error == std::errc::invalid_argument) refuse("a number is expected");
    if (error == std::errc::result_out_of_range) refuse("a number within the range of double is expected");
    position_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  Count parse_count() {
    skip_space();
    const auto start = position_;
    const double value = parse_number();
    // Beyond 2^53 a double may round to a count that is allowed, so digits are read as an integer.
    std::uint64_t exact = 0;
    const auto [end, error] = std::from_chars(text_.data() + start, text_.data() + position_, exact);
    if (error == std::errc{} && end == text_.data() + position_) return Count{exact};
    return whole(value);
  }

  bool next_is(char wanted) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }
  void expect(char wanted) {
    if (!next_is(wanted)) refuse(fmt::format("'{}' is expected", wanted));
  }
  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_]))) ++position_;
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    throw Error{ErrorCode::invalid_argument, fmt::format("{} at position {}", reason, position_ + 1)};
  }

  std::string_view text_;
  Adjacency adjacency_;
  const std::map<std::string, double>& values_;
  std::size_t position_ = 0;
};

double json_double(const nlohmann::json& value, std::string_view what) {
  if (!value.is_number()) throw Error{ErrorCode::invalid_argument, fmt::format("{} is {}, must be a number", what, value.type_name())};
  return value.get<double>();
}

nlohmann::json node_to_json(const Event& event) {
  return std::visit(Overload{
                        [](const Event::Gaussian& gaussian) -> nlohmann::json {
                          return {{"gaussian", {{"noise_multiplier", gaussian.multiplier.value()}}}};
                        },
                        [](const Event::Repeated& repeated) -> nlohmann::json {
                          return {{"repeat", {{"count", repeated.count.value()}, {"event", node_to_json(repeated.event)}}}};
                        },
                        [](const Event::Composed& composed) -> nlohmann::json {
                          auto events = nlohmann::json::array();
                          for (const auto& part : composed.events) events.push_back(node_to_json(part));
                          return {{"compose", std::move(events)}};
                        },
                    },
                    event.node());
}

Event node_from_json(const nlohmann::json& json, Adjacency adjacency, int depth) {
  if (depth > Event::max_depth)
    throw Error{ErrorCode::invalid_argument, fmt::format("event is nested more than {} deep", Event::max_depth)};
  if (!json.is_object() || json.size() != 1)
    throw Error{ErrorCode::invalid_argument, "event: an object with one field, the kind of event, is expected"};
  const auto& kind = json.begin().key();
  const auto& fields = json.begin().value();
  if (kind == "gaussian") {
    accounting::require_fields(fields, {"noise_multiplier"}, kind);
    return gaussian(NoiseMultiplier{json_double(fields["noise_multiplier"], "noise multiplier")}, adjacency);
  }
  if (kind == "repeat") {
    accounting::require_fields(fields, {"count", "event"}, kind);
    const auto& count = fields["count"];
    if (!count.is_number_unsigned()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("count is {}, must be an integer from 1 to 2^53", one_line(count.dump()))};
    }
    return repeated(Count{count.get<std::uint64_t>()}, node_from_json(fields["event"], adjacency, depth + 1));
  }
  if (kind == "compose") {
    if (!fields.is_array()) throw Error{ErrorCode::invalid_argument, "compose: an array of events is expected"};
    std::vector<Event> events;
    for (const auto& part : fields) events.push_back(node_from_json(part, adjacency, depth + 1));
    return composed(std::move(events));
  }
  throw Error{ErrorCode::invalid_argument, fmt::format("event: unknown kind '{}'", one_line(kind))};
}

constexpr int json_version = 1;

}  // namespace

std::string describe(const Event& event) {
  return std::visit(
      Overload{
          [](const Event::Gaussian& gaussian) { return fmt::format("gaussian({})", gaussian.multiplier); },
          [](const Event::Repeated& repeated) { return fmt::format("repeat({}, {})", repeated.count.value(), describe(repeated.event)); },
          [](const Event::Composed& composed) {
            std::string text = "compose(";
            for (const auto& part : composed.events) text += (text.back() == '(' ? "" : ", ") + describe(part);
            return text + ")";
          },
      },
      event.node());
}

Event parse_event(std::string_view text, Adjacency adjacency, const std::map<std::string, double>& values) {
  try {
    return Parser{text, adjacency, values}.parse();
  } catch (const Error& error) {
    throw Error{error.code(), fmt::format("{} (in event '{}')", error.what(), one_line(text))};
  }
}

nlohmann::json to_json(const Event& event) {
  return {{"version", json_version}, {"adjacency", name(event.adjacency())}, {"event", node_to_json(event)}};
}

Event event_from_json(std::string_view text) {
  // Each level of an event is at most three levels of JSON.
  const auto json = accounting::parse_strict_json(text, 3 * Event::max_depth + 3, "event");
  accounting::require_fields(json, {"version", "adjacency", "event"}, "event");
  if (json["version"] != json_version) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("event: version is {}, must be {}", one_line(json["version"].dump()), json_version)};
  }
  if (!json["adjacency"].is_string()) throw Error{ErrorCode::invalid_argument, "event: adjacency must be a string"};
  return node_from_json(json["event"], parse_adjacency(json["adjacency"].get<std::string>()), 1);
}

}  // namespace surety
