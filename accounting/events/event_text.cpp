#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_fields.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/event_text.h>
#include <surety/accounting/events/kept_with_event.h>
#include <surety/accounting/events/words.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>

namespace surety {
namespace {

using namespace spelling;

/// The whole number that a decimal number is, where it is one below 10^18: "1e4", "15.0", "1.5e1". Exact, as a double is not beyond 2^53.
/// \pre `text` was read by std::from_chars as a number of floating point.
std::optional<std::uint64_t> exact_whole(std::string_view text) {
  const auto in_digits = [](std::string_view digits) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && end == digits.data() + digits.size() ? std::optional{value} : std::nullopt;
  };
  if (const auto plain = in_digits(text)) return plain;
  const auto mark = text.find_first_of("eE");
  std::int64_t exponent = 0;
  if (mark != std::string_view::npos) {
    auto power = text.substr(mark + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec != std::errc{}) return std::nullopt;
  }
  // Of finite doubles the exponent is small, unless many digits balance it.
  constexpr std::int64_t largest_exponent = 1'000'000;
  if (exponent < -largest_exponent || exponent > largest_exponent) return std::nullopt;
  std::string digits{text.substr(0, mark)};
  if (const auto point = digits.find('.'); point != std::string::npos) {
    exponent -= static_cast<std::int64_t>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  const auto last = digits.find_last_not_of('0');
  if (last == std::string::npos) return 0;
  exponent += static_cast<std::int64_t>(digits.size() - last - 1);
  digits.resize(last + 1);
  digits.erase(0, digits.find_first_not_of('0'));
  constexpr std::int64_t most_digits = 18;
  if (exponent < 0 || static_cast<std::int64_t>(digits.size()) + exponent > most_digits) return std::nullopt;
  digits.append(static_cast<std::size_t>(exponent), '0');
  return in_digits(digits);
}

// The event language:  event = word "(" argument { "," argument } ")"    argument = event | number | number "/" number | name
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
    return parse_number(field, false, at_.numbers++);
  }

  Count whole(const char* field) override {
    next_argument();
    skip_space();
    const auto start = position_;
    const double value = parse_number(field, true, at_.numbers++);
    const bool is_name = std::isalpha(static_cast<unsigned char>(text_[start])) != 0;
    const auto written = text_.substr(start, position_ - start);
    if (!is_name && peek_is('/')) {
      invalid(fmt::format("{} is a quotient, '{}/...', must be one whole number from 1 to 2^53", spaced(field), one_line(written)));
    }
    // Beyond 2^53 a double may round to a count that is allowed, so the number is read exactly.
    if (const auto exact = exact_whole(written); exact && !is_name) return whole_from(*exact, field);
    if (!is_name) refuse_whole(field, written);
    return whole_from(value, field);
  }

  std::optional<Count> whole_if_said(const char* field) override {
    if (next_is_event()) {
      ++at_.numbers;
      return std::nullopt;
    }
    return whole(field);
  }

  std::optional<double> real_if_said(const char* field) override {
    const auto start = position_;
    const auto used = uses_.size();
    const auto before = at_;
    const double value = real(field);
    if (peek_is(',')) return value;
    position_ = start;
    at_ = before;
    ++at_.numbers;
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
    path_.push_back(at_.events++);
    Event event = parse_event();
    path_.pop_back();
    return event;
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
      const auto meant = did_you_mean(word, words);
      if (!meant.empty()) refuse_here(fmt::format("unknown event type '{}'", word), meant);
      refuse_here(fmt::format("an event is expected ({})", fmt::join(words, ", ")));
    }
    expect('(');
    const auto outer = std::exchange(at_, {});
    Event event = spelling->read(*this);
    at_ = outer;
    expect(')');
    --depth_;
    return event;
  }

  /// An event is a word with arguments; any other word stands for a number.
  bool next_is_event() {
    const auto start = position_;
    const auto before = at_;
    next_argument();
    skip_space();
    const bool is_word = position_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[position_])) != 0;
    const bool is_event = is_word && (find_spelling(parse_word()) != nullptr || peek_is('('));
    position_ = start;
    at_ = before;
    return is_event;
  }

  void next_argument() {
    if (!std::exchange(at_.is_first, false)) expect(',');
  }

  std::string_view parse_word() {
    skip_space();
    const auto start = position_;
    while (position_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_')) ++position_;
    return text_.substr(start, position_ - start);
  }

  double parse_number(const char* field, bool whole, std::size_t number) {
    skip_space();
    const auto start = position_;
    const bool is_name = position_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[position_]));
    if (is_name) {
      const auto word = parse_word();
      const auto constant = constant_of(word);
      const auto found = values_.find(std::string{word});
      if (!constant && found == values_.end()) {
        position_ = start;
        refuse_here(fmt::format("the name '{}' has no value here, a number is expected", word));
      }
      if (peek_is('/')) {
        invalid(fmt::format("{} is a quotient with '{}', must be one of two numbers in digits", spaced(field), one_line(word)));
      }
      if (constant) return *constant;
      uses_.push_back({std::string{word}, field, whole, path_, number});
      return found->second;
    }
    const double value = parse_digits();
    if (whole || !peek_is('/')) return value;
    ++position_;
    skip_space();
    const double divisor = parse_digits();
    return quotient(value, divisor, field, one_line(text_.substr(start, position_ - start)));
  }

  [[nodiscard]] static std::optional<double> constant_of(std::string_view word) {
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (word == "inf" || word == "infinity") return std::numeric_limits<double>::infinity();
    return std::nullopt;
  }

  double parse_digits() {
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (error == std::errc::invalid_argument) refuse_here("a number is expected");
    if (error == std::errc::result_out_of_range) refuse_here("a number within the range of double is expected");
    position_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  /// The quotient of two doubles, rounded to the nearest one: division is correctly rounded.
  [[nodiscard]] static double quotient(double value, double divisor, const char* field, const std::string& written) {
    if (!is_finite(value) || !is_finite(divisor) || divisor == 0) {
      invalid(fmt::format("{} is {}, must be a quotient of two finite numbers, of which the second is not 0", spaced(field), written));
    }
    const double result = value / divisor;
    // A quotient that rounds to 0 would be another event, such as one of epsilon 0.
    if (!is_finite(result) || (result == 0 && value != 0)) {
      invalid(fmt::format("{} is {}, must be a quotient within the range of double", spaced(field), written));
    }
    return result;
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
  /// Among the arguments of the event that is read.
  struct Place {
    bool is_first = true;     ///< the next argument is the first
    std::size_t numbers = 0;  ///< how many were read or may be left out
    std::size_t events = 0;   ///< how many were read
  };
  Place at_;
  std::vector<std::size_t> path_;
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
  void event(const Event& value) override { add(describe(value)); }
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

/// The arguments of an event in their order, all numbers among them.
class Collector : public FieldWriter {
 public:
  using Item = std::variant<double, Count, std::string, Event>;

  explicit Collector(const Event& event) { word_ = std::visit(Write{*this}, event.node()); }

  [[nodiscard]] std::string_view event_word() const { return word_; }
  [[nodiscard]] const std::vector<Item>& items() const { return items_; }

  [[nodiscard]] bool wants_all() const override { return true; }
  void real(const char* /*field*/, double value) override { items_.emplace_back(value); }
  void whole(const char* /*field*/, Count value) override { items_.emplace_back(value); }
  void pairs(const char* /*field*/, const std::vector<NumberPair>& values) override {
    for (const auto& [one, other] : values) items_.insert(items_.end(), {Item{one}, Item{other}});
  }
  void word(const char* /*field*/, std::string_view value) override { items_.emplace_back(std::string{value}); }
  void event(const Event& value) override { items_.emplace_back(value); }
  void events(const std::vector<Event>& values) override { items_.insert(items_.end(), values.begin(), values.end()); }

 private:
  std::string_view word_;
  std::vector<Item> items_;
};

/// Makes an event again, under an adjacency, with one value for the numbers at some places.
class Rebuilder : public FieldReader {
 public:
  using Uses = std::span<const NameUse>;

  /// `event` is `depth` steps along the paths of `uses`, which are all inside it, in the order in which they are read.
  /// \complexity O(what is written of the events on the paths, and of all where the adjacency is another).
  [[nodiscard]] static Event rebuilt(const Event& event, Adjacency adjacency, Uses uses, std::size_t depth, double value) {
    if (uses.empty() && adjacency == event.adjacency()) return event;
    const Collector collected{event};
    Rebuilder reader{collected.items(), adjacency, uses, depth, value};
    return find_spelling(collected.event_word())->read(reader);
  }

  double real(const char* /*field*/) override {
    const double before = std::get<double>(next());
    return is_replaced() ? value_ : before;
  }
  Count whole(const char* field) override {
    const Count before = std::get<Count>(next());
    return is_replaced() ? whole_from(value_, field) : before;
  }
  std::optional<Count> whole_if_said(const char* field) override { return whole(field); }
  std::optional<double> real_if_said(const char* field) override { return real(field); }
  std::vector<NumberPair> pairs(const char* field) override {
    std::vector<NumberPair> found;
    while (next_ < items_.size() && std::holds_alternative<double>(items_[next_])) {
      const double one = real(field);
      found.push_back({one, real(field)});
    }
    return found;
  }
  std::string word(const char* /*field*/) override { return std::get<std::string>(next()); }
  Event event() override {
    std::size_t inside = 0;
    while (inside < uses_.size() && uses_[inside].path.size() > depth_ && uses_[inside].path[depth_] == events_) ++inside;
    const Uses uses = uses_.first(inside);
    uses_ = uses_.subspan(inside);
    ++events_;
    return rebuilt(std::get<Event>(next()), adjacency(), uses, depth_ + 1, value_);
  }
  std::vector<Event> events() override {
    std::vector<Event> events;
    while (next_ < items_.size()) events.push_back(event());
    return events;
  }

 private:
  Rebuilder(const std::vector<Collector::Item>& items, Adjacency adjacency, Uses uses, std::size_t depth, double value)
      : FieldReader{adjacency}, items_{items}, uses_{uses}, depth_{depth}, value_{value} {}

  const Collector::Item& next() { return items_.at(next_++); }
  /// Whether the number that is read is that of the next use.
  bool is_replaced() {
    const std::size_t number = numbers_++;
    if (uses_.empty() || uses_.front().path.size() != depth_ || uses_.front().number != number) return false;
    uses_ = uses_.subspan(1);
    return true;
  }

  const std::vector<Collector::Item>& items_;
  Uses uses_;  ///< those that are still to come
  std::size_t depth_;
  double value_;
  std::size_t next_ = 0;
  std::size_t numbers_ = 0;
  std::size_t events_ = 0;
};

/// `make`, whose refusals name the text.
template <class Make>
Event in_text(std::string_view text, Make make) {
  const StandardFloatingPoint environment;
  try {
    return make();
  } catch (const Error& error) {
    throw Error{error.code(), fmt::format("{} (in event '{}')", error.what(), one_line(text))};
  }
}

}  // namespace

std::string describe(const Event& event) {
  const auto* const kept = KeptWithEvent::text_if_kept(event);
  if (kept != nullptr) return *kept;
  KeptWithEvent::computed_texts.fetch_add(1, std::memory_order_relaxed);
  return TextWriter::write(event);
}

Event parse_event(std::string_view text, Adjacency adjacency) { return parse_event(text, adjacency, {}); }

Event parse_event(std::string_view text, Adjacency adjacency, const std::map<std::string, double>& values) {
  return in_text(text, [&] { return TextReader{text, adjacency, values}.parse(); });
}

EventOfNumber::EventOfNumber(std::string_view text, Adjacency adjacency, std::string name)
    : text_{text}, adjacency_{adjacency}, name_{std::move(name)} {
  const StandardFloatingPoint environment;
  // No number fits every place: a rate is at most 1, a count is whole. The first trial that makes an event shows all places.
  for (const double trial : {0.5, 1.0, 2.0, 1000.0, 0x1p53}) {
    const std::map<std::string, double> values{{name_, trial}};
    TextReader reader{text_, adjacency, values};
    try {
      parsed_ = reader.parse();
      uses_ = reader.uses();
      return;
    } catch (const Error&) {
      if (reader.uses().size() > uses_.size()) uses_ = reader.uses();
    }
  }
}

Event EventOfNumber::operator()(double value) const {
  if (!parsed_) return parse_event(text_, adjacency_, {{name_, value}});
  return in_text(text_, [&] { return Rebuilder::rebuilt(*parsed_, adjacency_, uses_, 0, value); });
}

Event under(const Event& event, Adjacency adjacency) {
  const StandardFloatingPoint environment;
  return Rebuilder::rebuilt(event, adjacency, {}, 0, 0);
}

}  // namespace surety
