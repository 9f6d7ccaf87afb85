#include <surety/data/reading/condition.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <surety/base/numbers/overload.h>
#include <surety/base/text/error.h>
#include <surety/data/reading/text_reader.h>

namespace surety::data {

namespace {

/// Two-character operators come before their prefixes.
constexpr std::array<std::pair<std::string_view, Relation>, 6> relations{{{">=", Relation::at_least},
                                                                          {"<=", Relation::at_most},
                                                                          {"==", Relation::equal},
                                                                          {"!=", Relation::not_equal},
                                                                          {">", Relation::greater},
                                                                          {"<", Relation::less}}};
constexpr std::string_view blanks = " \t";
constexpr std::string_view operators = "<>=!";
constexpr std::string_view ends_of_bare_texts = " \t()<>=!'\",;&|";

constexpr std::array<std::pair<std::string_view, Relation>, 2> presences{{{"missing", Relation::missing}, {"present", Relation::present}}};

bool is_quote(char byte) { return byte == '"' || byte == '\''; }

/// A text that needs no quotes.
bool is_bare(std::string_view text) {
  if (text.empty() || text.find_first_of(ends_of_bare_texts) != std::string_view::npos) return false;
  if (text == "and" || text == "or" || text == "not") return false;
  const auto first = static_cast<unsigned char>(text.front());
  const bool is_letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_' || first >= 0x80;
  return is_letter && parse_number(text).fault == NumberFault::not_a_number;  // "nan" is a number that is refused
}

std::string single_quoted(std::string_view text) {
  std::string result = "'";
  for (const char byte : text) result.append(byte == '\'' ? 2 : 1, byte);
  return result + "'";
}

bool begins_with_word(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  const auto rest = text.substr(word.size());
  return rest.empty() || rest.front() == '(' || blanks.find(rest.front()) != std::string_view::npos;
}

/// Of "missing(age)", "present (age)".
const std::pair<std::string_view, Relation>* presence_at(std::string_view text) {
  for (const auto& one : presences) {
    if (!text.starts_with(one.first)) continue;
    const auto next = text.find_first_not_of(blanks, one.first.size());
    if (next != std::string_view::npos && text[next] == '(') return &one;
  }
  return nullptr;
}

template <class T>
bool stands(const T& cell, Relation relation, const T& value) {
  switch (relation) {
    case Relation::greater: return cell > value;
    case Relation::at_least: return cell >= value;
    case Relation::less: return cell < value;
    case Relation::at_most: return cell <= value;
    case Relation::equal: return cell == value;
    case Relation::not_equal: return cell != value;
    case Relation::missing:
    case Relation::present: break;
  }
  throw Error{ErrorCode::internal, "no relation of two values"};
}

}  // namespace

std::optional<Date> parse_date(std::string_view text) {
  text = trimmed(text);
  constexpr std::string_view form = "0000-00-00";
  if (text.size() != form.size()) return std::nullopt;
  const auto is_digit = [](char byte) { return byte >= '0' && byte <= '9'; };
  for (std::size_t k = 0; k < form.size(); ++k) {
    if (form[k] == '-' ? text[k] != '-' : !is_digit(text[k])) return std::nullopt;
  }
  const auto number = [&](std::size_t from, std::size_t count) {
    unsigned value = 0;
    for (const char byte : text.substr(from, count)) value = 10 * value + static_cast<unsigned>(byte - '0');
    return value;
  };
  const std::chrono::year_month_day day{std::chrono::year{static_cast<int>(number(0, 4))}, std::chrono::month{number(5, 2)},
                                        std::chrono::day{number(8, 2)}};
  if (!day.ok()) return std::nullopt;
  return Date{static_cast<std::int32_t>(std::chrono::sys_days{day}.time_since_epoch().count())};
}

namespace {

/// The number that a comparison is with, or that its text is. A cell keeps its spelling: "007" is an integer, and so is one of 400 digits.
std::optional<double> number_in(const CellComparison& comparison) {
  if (const auto* const number = std::get_if<double>(&comparison.value)) return *number;
  const auto* const text = std::get_if<std::string>(&comparison.value);
  if (text == nullptr) return std::nullopt;
  const auto [number, fault] = parse_number(*text);
  if (fault == NumberFault::out_of_range) return std::numeric_limits<double>::infinity();
  return fault == NumberFault::none ? std::optional{number} : std::nullopt;
}

/// The number of two digits at the front, which is taken away; nothing where there is none up to `most`.
std::optional<int> take_two_digits(std::string_view& text, int most) {
  const auto is_digit = [](char byte) { return byte >= '0' && byte <= '9'; };
  if (text.size() < 2 || !is_digit(text[0]) || !is_digit(text[1])) return std::nullopt;
  const int value = 10 * (text[0] - '0') + (text[1] - '0');
  text.remove_prefix(2);
  return value <= most ? std::optional{value} : std::nullopt;
}

bool take(std::string_view& text, char byte) {
  if (!text.starts_with(byte)) return false;
  text.remove_prefix(1);
  return true;
}

/// Minutes of a day, with what is behind them of UTC taken away; nothing for what is no time of day.
std::optional<int> utc_minutes(std::string_view text) {
  const auto hour = take_two_digits(text, 23);
  if (!hour || !take(text, ':')) return std::nullopt;
  const auto minute = take_two_digits(text, 59);
  if (!minute) return std::nullopt;
  if (take(text, ':')) {
    if (!take_two_digits(text, 59)) return std::nullopt;
    if (take(text, '.')) {
      const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
      if (digits == 0) return std::nullopt;
      text.remove_prefix(digits);
    }
  }
  const int minutes = *hour * 60 + *minute;
  if (text.empty() || text == "Z") return minutes;
  const bool is_east = text.front() == '+';
  if (!is_east && text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  const auto hours_off = take_two_digits(text, 23);
  if (!hours_off) return std::nullopt;
  take(text, ':');
  const auto minutes_off = text.empty() ? std::optional{0} : take_two_digits(text, 59);
  if (!minutes_off || !text.empty()) return std::nullopt;
  const int off = *hours_off * 60 + *minutes_off;
  return minutes - (is_east ? off : -off);
}

}  // namespace

std::optional<Date> date_in(std::string_view text) {
  text = trimmed(text);
  constexpr std::size_t day_size = 10;
  const auto day = parse_date(text.substr(0, std::min(day_size, text.size())));
  if (!day || text.size() <= day_size) return day;
  if (text[day_size] != ' ' && text[day_size] != 'T') return std::nullopt;
  const auto minutes = utc_minutes(text.substr(day_size + 1));
  if (!minutes) return std::nullopt;
  constexpr int of_day = 24 * 60;
  return date_of_days(std::int64_t{day->days} + (*minutes < 0 ? -1 : *minutes >= of_day ? 1 : 0));
}

std::optional<Date> date_of_days(std::int64_t days) noexcept {
  constexpr std::int64_t first = -719'528;  // 0000-01-01
  constexpr std::int64_t last = 2'932'896;  // 9999-12-31
  return days >= first && days <= last ? std::optional{Date{static_cast<std::int32_t>(days)}} : std::nullopt;
}

std::string describe(Date date) {
  const std::chrono::year_month_day day{std::chrono::sys_days{std::chrono::days{date.days}}};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

/// A cursor over the text of a condition.
class ConditionParser {
 public:
  ConditionParser(std::string_view text, std::string_view what, const ColumnKinds& kinds)
      : text_{text}, rest_{text}, what_{what}, kinds_{kinds} {
    if (text.size() > Condition::most_bytes) {
      invalid(fmt::format("{} has {} bytes, must have at most {}", what, text.size(), Condition::most_bytes));
    }
  }

  Condition condition() {
    either(0);
    require_end("and, or or its end");
    const auto is_compared = [&](const std::string& column, CellKind kind) {
      return std::any_of(result_.comparisons_.begin(), result_.comparisons_.end(), [&](const CellComparison& other) {
        return other.column == column && !is_about_presence(other.relation) && other.kind() == kind;
      });
    };
    for (auto& asked : result_.comparisons_) {
      // A column whose dates are compared is one of dates, in quotes or not: so the text of a condition means one thing, whoever reads it again.
      if (is_compared(asked.column, CellKind::date)) {
        make_date(asked);
      } else if (is_about_presence(asked.relation) && !kinds_.contains(asked.column) && is_compared(asked.column, CellKind::number)) {
        asked.value = 0.0;  // a column whose numbers are compared is one of numbers
      }
    }
    return std::move(result_);
  }

  CellComparison comparison() {
    auto compared = read_comparison();
    require_end("its end");
    return compared;
  }

  /// Nothing where the quotes are left open. \pre a quote comes next
  std::optional<std::string> quoted_text() {
    const char quote = rest_.front();
    std::string text;
    for (std::size_t k = 1; k < rest_.size(); ++k) {
      if (rest_[k] == quote) {
        if (k + 1 == rest_.size() || rest_[k + 1] != quote) {
          rest_.remove_prefix(k + 1);
          return text;
        }
        ++k;
      }
      text += rest_[k];
    }
    return std::nullopt;
  }

  bool is_at_end() {
    skip_blanks();
    return rest_.empty();
  }

 private:
  using Step = Condition::Step;

  [[noreturn]] void refuse(std::string_view constraint) const { invalid(fmt::format("{} is {}, {}", what_, in_quotes(text_), constraint)); }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size())); }

  void require_end(std::string_view expected) {
    if (!is_at_end()) refuse(fmt::format("must have {} where it has {}", expected, in_quotes(rest_)));
  }

  bool take_word(std::string_view word) {
    skip_blanks();
    if (!begins_with_word(rest_, word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void either(std::size_t depth) {
    for (both(depth); take_word("or"); result_.steps_.push_back(Step::either)) both(depth);
  }

  void both(std::size_t depth) {
    for (single(depth); take_word("and"); result_.steps_.push_back(Step::both)) single(depth);
  }

  void single(std::size_t depth) {
    if (depth > Condition::deepest) {
      refuse(fmt::format("must have at most {} parentheses and nots inside each other", Condition::deepest));
    }
    if (take_word("not")) {
      single(depth + 1);
      result_.steps_.push_back(Step::negation);
    } else if (rest_.starts_with('(')) {
      rest_.remove_prefix(1);
      either(depth + 1);
      skip_blanks();
      if (!rest_.starts_with(')')) refuse("must close each parenthesis");
      rest_.remove_prefix(1);
    } else {
      result_.steps_.push_back(Step::comparison);
      const auto* const presence = presence_at(rest_);
      result_.comparisons_.push_back(presence != nullptr ? read_presence(*presence) : read_comparison());
    }
  }

  void make_date(CellComparison& asked) const {
    if (asked.kind() == CellKind::date) return;
    const auto* const text = std::get_if<std::string>(&asked.value);
    const auto date = is_about_presence(asked.relation) ? std::optional{Date{0}} : text != nullptr ? parse_date(*text) : std::nullopt;
    if (!date) {
      refuse(fmt::format("must compare column {} with dates alone, such as '2017-06-01', where it compares it with one",
                         in_quotes(asked.column)));
    }
    asked.value = *date;
  }

  [[nodiscard]] CellKind kind_of(const std::string& column, CellKind otherwise) const {
    const auto found = kinds_.find(column);
    return found == kinds_.end() ? otherwise : found->second;
  }

  /// "missing(age)", whose column is what stands between the parentheses, in quotes where it holds one.
  CellComparison read_presence(const std::pair<std::string_view, Relation>& presence) {
    rest_.remove_prefix(rest_.find('(') + 1);
    skip_blanks();
    std::string name;
    if (!rest_.empty() && is_quote(rest_.front())) {
      auto text = quoted_text();
      if (!text) refuse("must close each quote");
      name = *std::move(text);
      skip_blanks();
    } else {
      const auto length = std::min(rest_.find_first_of("()"), rest_.size());
      name = std::string{trimmed(rest_.substr(0, length))};
      rest_.remove_prefix(length);
    }
    if (!rest_.starts_with(')') || name.empty()) refuse(fmt::format("must name one column in {}(column)", presence.first));
    rest_.remove_prefix(1);
    CellComparison result{.column = std::move(name), .relation = presence.second, .value = std::string{}};
    const auto kind = kind_of(result.column, CellKind::text);
    if (kind == CellKind::number) result.value = 0.0;
    if (kind == CellKind::date) result.value = Date{0};
    return result;
  }

  CellComparison read_comparison() {
    CellComparison result{.column = read_column(), .relation = Relation::equal, .value = 0.0};
    const auto* const found =
        std::find_if(relations.begin(), relations.end(), [&](const auto& one) { return rest_.starts_with(one.first); });
    if (found == relations.end()) {
      refuse("must compare a column with a number or a text by >, >=, <, <=, == or !=, such as 'visits>0' or 'class==yes'");
    }
    rest_.remove_prefix(found->first.size());
    result.relation = found->second;
    if (kind_of(result.column, CellKind::text) == CellKind::date) {
      result.value = read_date(found->first);
      return result;
    }
    result.value = read_value();
    const bool is_order = result.relation != Relation::equal && result.relation != Relation::not_equal;
    if (is_order && std::holds_alternative<std::string>(result.value)) {
      const auto& text = std::get<std::string>(result.value);
      const auto date = parse_date(text);
      if (!date) {
        refuse(fmt::format(
            "must have a number behind {} where it has {}: texts are compared by == and != alone, dates such as '2017-06-01' by all",
            found->first, in_quotes(text)));
      }
      result.value = *date;
    }
    return result;
  }

  Date read_date(std::string_view relation) {
    skip_blanks();
    std::string text;
    if (!rest_.empty() && is_quote(rest_.front())) {
      auto quoted = quoted_text();
      if (!quoted) refuse("must close each quote");
      text = *std::move(quoted);
    } else {
      text = std::string{rest_.substr(0, std::min(rest_.find_first_of(ends_of_bare_texts), rest_.size()))};
      rest_.remove_prefix(text.size());
    }
    const auto date = parse_date(text);
    if (!date) refuse(fmt::format("must have a date such as '2017-06-01' behind {} where it has {}", relation, in_quotes(text)));
    return *date;
  }

  std::string read_column() {
    skip_blanks();
    if (!rest_.empty() && is_quote(rest_.front())) {
      auto name = quoted_text();
      if (!name) refuse("must close each quote");
      skip_blanks();
      if (name->empty()) refuse("must name a column before each operator");
      return *std::move(name);
    }
    const auto length = std::min(rest_.find_first_of(operators), rest_.size());
    const std::string name{trimmed(rest_.substr(0, length))};
    rest_.remove_prefix(length);
    if (name.empty()) refuse("must name a column before each operator");
    return name;
  }

  std::variant<double, std::string, Date> read_value() {
    skip_blanks();
    if (!rest_.empty() && is_quote(rest_.front())) {
      auto text = quoted_text();
      if (!text) refuse("must close each quote");
      if (trimmed(*text).empty()) refuse("must compare with a text that is not empty: an empty cell meets no comparison");
      return *std::move(text);
    }
    const auto word = rest_.substr(0, std::min(rest_.find_first_of(ends_of_bare_texts), rest_.size()));
    const auto [number, fault] = parse_number(word);
    const auto date = parse_date(word);
    if (fault == NumberFault::none || date || is_bare(word)) rest_.remove_prefix(word.size());
    if (fault == NumberFault::none) return number;
    if (date) return *date;
    if (is_bare(word)) return std::string{word};
    if (word.empty()) refuse("must have a number or a text behind each operator");
    refuse(fmt::format("compares with {}, which {}: must be a number, a date such as 2017-06-01, or a text in quotes", in_quotes(word),
                       describe(fault)));
  }

  std::string_view text_;
  std::string_view rest_;
  std::string_view what_;
  const ColumnKinds& kinds_;
  Condition result_;
};

Condition parse_condition(std::string_view text, std::string_view what, const ColumnKinds& kinds) {
  return ConditionParser{text, what, kinds}.condition();
}

CellComparison parse_comparison(std::string_view text, std::string_view what) {
  const ColumnKinds nothing_is_known;
  return ConditionParser{text, what, nothing_is_known}.comparison();
}

std::optional<std::string> parse_column(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || !is_quote(text.front())) return std::string{text};
  const ColumnKinds nothing_is_known;
  ConditionParser parser{text, "the column", nothing_is_known};
  auto name = parser.quoted_text();
  return name && parser.is_at_end() ? std::move(name) : std::nullopt;
}

bool holds(double cell, Relation relation, double value) { return stands(cell, relation, value); }
bool holds(Date cell, Relation relation, Date value) { return stands(cell, relation, value); }

Truth compare_dates(const CellComparison& comparison, std::optional<Date> cell) {
  if (!cell) return Truth::unknown;
  return holds(*cell, comparison.relation, std::get<Date>(comparison.value)) ? Truth::met : Truth::missed;
}

Truth compare(const CellComparison& comparison, std::optional<double> cell) {
  if (!cell) return Truth::unknown;
  return holds(*cell, comparison.relation, std::get<double>(comparison.value)) ? Truth::met : Truth::missed;
}

Truth compare(const CellComparison& comparison, std::string_view cell) {
  if (trimmed(cell).empty()) return Truth::unknown;
  const bool is_equal = cell == std::get<std::string>(comparison.value);
  return is_equal == (comparison.relation == Relation::equal) ? Truth::met : Truth::missed;
}

bool Condition::is_met(std::span<const Truth> values) const noexcept {
  // Each level of nesting holds at most one value for its `or` and one for its `and`.
  std::array<Truth, 2 * deepest + 4> stack;
  std::size_t height = 0;
  std::size_t next = 0;
  for (const Step step : steps_) {
    if (step == Step::comparison) {
      stack[height++] = values[next++];
    } else if (step == Step::negation) {
      stack[height - 1] = static_cast<Truth>(static_cast<int>(Truth::met) - static_cast<int>(stack[height - 1]));
    } else {
      --height;
      stack[height - 1] = step == Step::both ? std::min(stack[height - 1], stack[height]) : std::max(stack[height - 1], stack[height]);
    }
  }
  return height == 1 && stack[0] == Truth::met;
}

void require_missing_value(const std::string& column, const std::string& value, CellUse use) {
  const bool is_number = use == CellUse::number;
  if (!is_number && use != CellUse::date) return;
  if (is_number ? parse_number(value).fault == NumberFault::none : parse_date(value).has_value()) return;
  const auto* const kind = is_number ? "number" : "date";
  invalid(fmt::format("a missing cell of column {} counts as {}, must count as a {} where its {}s are used", in_quotes(column),
                      in_quotes(value), kind, kind));
}

CellKind kind_of_type(std::string_view type) {
  if (type == "date") return CellKind::date;
  return type == "text" || type == "boolean" ? CellKind::text : CellKind::number;
}

namespace {

/// What the column must be compared with, where this comparison holds for no cell of its type.
std::optional<std::string_view> wanted_by(std::string_view type, const CellComparison& comparison) {
  const auto* const number = std::get_if<double>(&comparison.value);
  const auto* const text = std::get_if<std::string>(&comparison.value);
  const bool is_equal = comparison.relation == Relation::equal;
  if (type == "number") {
    return number == nullptr && !(text != nullptr && parse_number(*text).fault == NumberFault::none) ? std::optional{"a number"}
                                                                                                     : std::nullopt;
  }
  if (type == "integer") {
    const auto value = number_in(comparison);
    const bool can_hold = (number != nullptr && !is_equal) || (value && *value == std::floor(*value));
    return can_hold ? std::nullopt : std::optional{"an integer"};
  }
  if (type == "boolean") {
    const auto value = number_in(comparison);
    const bool can_hold = (number != nullptr && !is_equal) || (value && (*value == 0 || *value == 1)) ||
                          (text != nullptr && (*text == "true" || *text == "false"));
    return can_hold ? std::nullopt : std::optional{"true or false"};
  }
  return std::nullopt;
}

}  // namespace

bool may_be_met(const CellComparison& comparison, std::string_view type) {
  return is_about_presence(comparison.relation) || comparison.relation == Relation::not_equal || !wanted_by(type, comparison);
}

std::optional<std::string> why_never(const Condition& condition, const std::map<std::string, std::string>& types) {
  const auto& all = condition.comparisons();
  for (const auto& comparison : all) {
    const auto type = types.find(comparison.column);
    if (type == types.end() || may_be_met(comparison, type->second)) continue;
    // The text of a plan calls a column one of numbers where one of its comparisons is of numbers, whatever was declared.
    const bool may_be_said_by_another =
        type->second == "number" && std::any_of(all.begin(), all.end(), [&](const CellComparison& other) {
          return other.column == comparison.column && !is_about_presence(other.relation) && other.kind() == CellKind::number;
        });
    if (may_be_said_by_another) continue;
    const std::string_view held = type->second == "boolean" ? "truth values" : type->second == "integer" ? "integers" : "numbers";
    return fmt::format("has {}, which no cell of column {} can meet: it is declared to hold {}; must compare it with {}",
                       in_quotes(describe(comparison)), in_quotes(comparison.column), held, *wanted_by(type->second, comparison));
  }
  return std::nullopt;
}

std::string column_text(std::string_view column) {
  const bool needs_quotes = column.find_first_of(operators) != std::string_view::npos || column != trimmed(column) || column.empty() ||
                            is_quote(column.front()) || column.front() == '(' || begins_with_word(column, "not") ||
                            presence_at(column) != nullptr;
  return needs_quotes ? single_quoted(column) : std::string{column};
}

std::string describe(const CellComparison& comparison) {
  if (is_about_presence(comparison.relation)) {
    const auto& column = comparison.column;
    const bool is_plain = column_text(column) == column && column.find_first_of("()") == std::string::npos;
    return fmt::format("{}({})", comparison.relation == Relation::missing ? "missing" : "present",
                       is_plain ? column : single_quoted(column));
  }
  const auto* const symbol =
      std::find_if(relations.begin(), relations.end(), [&](const auto& one) { return one.second == comparison.relation; });
  return fmt::format("{}{}{}", column_text(comparison.column), symbol->first,
                     std::visit(Overload{[](double number) { return fmt::format("{}", number); },
                                         [](const std::string& text) { return is_bare(text) ? text : single_quoted(text); },
                                         [&](Date date) {
                                           // In quotes it is a text, unless its order is compared.
                                           const bool is_order =
                                               comparison.relation != Relation::equal && comparison.relation != Relation::not_equal;
                                           return is_order ? single_quoted(describe(date)) : describe(date);
                                         }},
                                comparison.value));
}

std::string describe(const Condition& condition) {
  using Step = Condition::Step;
  // What binds closer has the larger number.
  struct Phrase {
    std::string text;
    int binding;
  };
  std::vector<Phrase> parts;
  std::size_t next = 0;
  const auto at_least = [](const Phrase& part, int binding) { return part.binding >= binding ? part.text : "(" + part.text + ")"; };
  for (const Step step : condition.steps_) {
    if (step == Step::comparison) {
      parts.push_back({describe(condition.comparisons_[next++]), 4});
      continue;
    }
    const Phrase last = std::move(parts.back());
    parts.pop_back();
    if (step == Step::negation) {
      // A name that begins with a parenthesis is in quotes, so what follows is told apart.
      parts.push_back({"not " + at_least(last, 3), 3});
      continue;
    }
    const int binding = step == Step::both ? 2 : 1;
    const Phrase first = std::move(parts.back());
    parts.back() = {fmt::format("{} {} {}", at_least(first, binding), step == Step::both ? "and" : "or", at_least(last, binding + 1)),
                    binding};
  }
  return parts.empty() ? std::string{} : parts.front().text;
}

}  // namespace surety::data
