#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/event_fields.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/event_text.h>
#include <surety/accounting/events/words.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>

namespace surety {
namespace {

using namespace spelling;

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
    if (next_is_event()) return std::nullopt;
    return whole(field);
  }

  std::optional<double> real_if_said(const char* field) override {
    const auto start = position_;
    const auto used = uses_.size();
    const bool first = first_;
    const double value = real(field);
    if (peek_is(',')) return value;
    position_ = start;
    first_ = first;
    uses_.erase(uses_.begin() + static_cast<std::ptrdiff_t>(used), uses_.end());
    return std::nullopt;
  }

  std::vector<NumberPair> pairs(const char* field) override {
    std::vector<NumberPair> found;
    do {
      const double one = real(field);
      found.push_back({one, real(field)});
    } while (peek_is(',') && !next_is_event());
    return found;
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

  /// An event is a word with arguments; any other word stands for a number.
  bool next_is_event() {
    const auto start = position_;
    const bool first = first_;
    next_argument();
    skip_space();
    const bool is_word = position_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[position_])) != 0;
    const bool is_event = is_word && (find_spelling(parse_word()) != nullptr || peek_is('('));
    position_ = start;
    first_ = first;
    return is_event;
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
  void pairs(const char* /*field*/, const std::vector<NumberPair>& values) override {
    for (const auto& [one, other] : values) add(fmt::format("{}, {}", one, other));
  }
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

}  // namespace

std::string describe(const Event& event) { return TextWriter::write(event); }

Event parse_event(std::string_view text, Adjacency adjacency) { return parse_event(text, adjacency, {}); }

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

}  // namespace surety
