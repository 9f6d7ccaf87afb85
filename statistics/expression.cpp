#include <surety/statistics/expression.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/words.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/text/error.h>
#include <surety/base/text/quoted_text.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>

namespace surety::statistics {

using Operation = Expression::Operation;

namespace {

/// What a stack holds while an expression is evaluated: each level of parentheses keeps at most two operands waiting.
constexpr std::size_t most_waiting = 2 * Expression::deepest + 4;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool continues_name(char c) { return begins_name(c) || is_digit(c) || c == '.'; }
bool is_name(std::string_view text) {
  return !text.empty() && begins_name(text.front()) && std::all_of(text.begin(), text.end(), continues_name);
}
bool is_operator(char c) { return c == '+' || c == '-' || c == '*' || c == '/'; }

std::size_t operands_of(Operation operation) {
  switch (operation) {
    case Operation::column:
    case Operation::constant: return 0;
    case Operation::negate:
    case Operation::log:
    case Operation::exp:
    case Operation::sqrt:
    case Operation::abs:
    case Operation::year: return 1;
    default: return 2;
  }
}

const Expression::Function* function_named(std::string_view name) {
  const auto* const found =
      std::find_if(Expression::functions.begin(), Expression::functions.end(), [&](const auto& one) { return one.name == name; });
  return found == Expression::functions.end() ? nullptr : found;
}

/// The year of a day since 1970-01-01, from -9999 to 9999; else NaN. Never falls as the day rises.
double year_of(double day) {
  constexpr double first = -4371587;  // -9999-01-01
  constexpr double behind = 2932897;  // 10000-01-01
  if (!(day >= first && day < behind)) return std::numeric_limits<double>::quiet_NaN();
  const std::chrono::sys_days days{std::chrono::days{static_cast<int>(std::floor(day))}};
  return static_cast<int>(std::chrono::year_month_day{days}.year());
}

std::string with_signature(const Expression::Function& function) {
  return fmt::format("{}({})", function.name, function.arguments == 1 ? "x" : "x, y");
}

/// How tightly what was printed holds together: sums, products, signs, all else.
enum class Binding : std::uint8_t { sum, product, sign, whole };
struct Printed {
  std::string text;
  Binding binding;
};
std::string in_parentheses(const Printed& one, bool needs) { return needs ? "(" + one.text + ")" : one.text; }

}  // namespace

class Expression::Parser {
 public:
  explicit Parser(std::string_view text) : all_{text}, rest_{text} {}

  Expression parsed() && {
    sum();
    if (!skip_blanks().empty()) {
      if (rest_.front() == ')') refuse("has a ')' that closes nothing");
      refuse(fmt::format("has '{}' where an operator must stand; a name with a blank or a sign in it stands in double quotes",
                         one_line(rest_, 40)));
    }
    if (made_.columns_.empty()) refuse("reads no column");
    made_.text_ = made_.printed();
    return std::move(made_);
  }

 private:
  [[noreturn]] void refuse(std::string_view reason) const { invalid(fmt::format("expression '{}' {}", one_line(all_, 120), reason)); }

  std::string_view skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    return rest_;
  }
  bool take(char c) {
    if (skip_blanks().empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// `km/h` may be a name, as `hours-per-week` mostly is.
  std::optional<char> take_operator(char one, char other) {
    if (skip_blanks().empty() || (rest_.front() != one && rest_.front() != other)) return std::nullopt;
    const auto place = static_cast<std::size_t>(rest_.data() - all_.data());
    if (place > 0 && place + 1 < all_.size() && continues_name(all_[place - 1]) && continues_name(all_[place + 1])) {
      refuse(fmt::format("has '{}' between two names or numbers: it needs blanks around it, or double quotes around one name",
                         all_.substr(place - 1, 3)));
    }
    const char taken = rest_.front();
    rest_.remove_prefix(1);
    return taken;
  }
  void add(Step step) {
    waiting_ = waiting_ + 1 - operands_of(step.operation);
    if (made_.steps_.size() >= most_operations) refuse(fmt::format("has more than {} operations, columns and numbers", most_operations));
    if (waiting_ > most_waiting) refuse("is too deep");
    made_.steps_.push_back(step);
  }
  /// While one stands inside others.
  class Inside {
   public:
    explicit Inside(Parser& parser) : parser_{parser} {
      if (++parser_.depth_ > deepest) parser_.refuse(fmt::format("is too deep, must have at most {} levels", deepest));
    }
    ~Inside() { --parser_.depth_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Parser& parser_;
  };

  void sum() {
    product();
    while (const auto sign = take_operator('+', '-')) {
      product();
      add({*sign == '+' ? Operation::add : Operation::subtract});
    }
  }
  void product() {
    factor();
    while (const auto sign = take_operator('*', '/')) {
      factor();
      add({*sign == '*' ? Operation::multiply : Operation::divide});
    }
  }
  void factor() {
    if (take('-')) {
      const Inside inside{*this};
      factor();
      return add({Operation::negate});
    }
    if (take('(')) {
      const Inside inside{*this};
      sum();
      return close();
    }
    if (skip_blanks().empty()) refuse("ends where a column or a number must stand");
    if (rest_.front() == '"') {
      auto name = take_quoted(rest_);
      if (!name) refuse("has a quote that is not closed");
      if (name->empty()) refuse("has an empty name");
      return column(*std::move(name));
    }
    if (is_digit(rest_.front()) || (rest_.front() == '.' && rest_.size() > 1 && is_digit(rest_[1]))) return number();
    if (begins_name(rest_.front())) return name_or_call();
    refuse(fmt::format("has '{}' where a column or a number must stand", one_line(rest_, 40)));
  }
  void close() {
    if (take(')')) return;
    if (rest_.empty()) refuse("has a '(' that is not closed");
    refuse(fmt::format("has '{}' where an operator or ')' must stand", one_line(rest_, 40)));
  }
  void number() {
    const auto digits_from = [&](std::size_t place) {
      while (place < rest_.size() && is_digit(rest_[place])) ++place;
      return place;
    };
    std::size_t end = digits_from(0);
    if (end < rest_.size() && rest_[end] == '.') end = digits_from(end + 1);
    if (end < rest_.size() && (rest_[end] == 'e' || rest_[end] == 'E')) {
      const std::size_t sign = end + 1 < rest_.size() && (rest_[end + 1] == '+' || rest_[end + 1] == '-') ? 1 : 0;
      const std::size_t last = digits_from(end + 1 + sign);
      if (last > end + 1 + sign) end = last;
    }
    if (end < rest_.size() && continues_name(rest_[end])) {
      refuse(fmt::format("has '{}', which is no number; a name that begins with a digit stands in double quotes", one_line(rest_, 40)));
    }
    const auto [value, fault] = data::parse_number(rest_.substr(0, end));
    if (fault != data::NumberFault::none) {
      refuse(fmt::format("has '{}', which {}", one_line(rest_.substr(0, end), 40), data::describe(fault)));
    }
    rest_.remove_prefix(end);
    add({.operation = Operation::constant, .constant = value});
  }
  void name_or_call() {
    std::size_t end = 0;
    while (end < rest_.size() && continues_name(rest_[end])) ++end;
    const auto name = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (!take('(')) return column(std::string{name});
    const auto* const function = function_named(name);
    if (function == nullptr) {
      std::vector<std::string_view> names;
      std::string listed;
      for (const auto& one : functions) {
        names.push_back(one.name);
        listed += (listed.empty() ? "" : ", ") + with_signature(one);
      }
      refuse(fmt::format("has the function '{}', must be one of {}{}", one_line(name, 40), listed, did_you_mean(name, names)));
    }
    const Inside inside{*this};
    for (std::size_t k = 0; k < function->arguments; ++k) {
      if (k > 0 && !take(',')) refuse(fmt::format("must have {}, with {} arguments", with_signature(*function), function->arguments));
      sum();
    }
    if (!skip_blanks().empty() && rest_.front() == ',') {
      refuse(fmt::format("must have {}, with {} argument{}", with_signature(*function), function->arguments,
                         function->arguments == 1 ? "" : "s"));
    }
    close();
    add({function->operation});
  }
  void column(std::string name) {
    auto& columns = made_.columns_;
    auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end()) found = columns.insert(columns.end(), std::move(name));
    add({.operation = Operation::column, .column = static_cast<std::size_t>(found - columns.begin())});
  }

  std::string_view all_;
  std::string_view rest_;
  std::size_t depth_ = 0;
  std::size_t waiting_ = 0;
  Expression made_;
};

Expression Expression::parse(std::string_view text) {
  if (data::trimmed(text).empty()) invalid("an expression is empty, must be such as 'weight * income'");
  return Parser{text}.parsed();
}

std::string Expression::printed() const {
  std::vector<Printed> stack;
  const auto pop = [&] {
    auto last = std::move(stack.back());
    stack.pop_back();
    return last;
  };
  for (const auto& step : steps_) {
    const auto operation = step.operation;
    const auto function = std::find_if(functions.begin(), functions.end(), [&](const auto& one) { return one.operation == operation; });
    if (operation == Operation::column) {
      const auto& name = columns_[step.column];
      stack.push_back({is_name(name) ? name : double_quoted(name), Binding::whole});
    } else if (operation == Operation::constant) {
      stack.push_back({fmt::format("{}", step.constant), Binding::whole});
    } else if (operation == Operation::negate) {
      const auto operand = pop();
      stack.push_back({"-" + in_parentheses(operand, operand.binding != Binding::whole), Binding::sign});
    } else if (function != functions.end()) {
      auto arguments = pop().text;
      if (function->arguments == 2) arguments = pop().text + ", " + arguments;
      stack.push_back({fmt::format("{}({})", function->name, arguments), Binding::whole});
    } else {
      const bool is_sum = operation == Operation::add || operation == Operation::subtract;
      const auto binding = is_sum ? Binding::sum : Binding::product;
      const auto right = pop();
      const auto left = pop();
      const char sign = operation == Operation::add        ? '+'
                        : operation == Operation::subtract ? '-'
                        : operation == Operation::multiply ? '*'
                                                           : '/';
      // Doubles do not associate: what stood in parentheses on the right stays there.
      stack.push_back(
          {fmt::format("{} {} {}", in_parentheses(left, left.binding < binding), sign, in_parentheses(right, right.binding <= binding)),
           binding});
    }
  }
  return stack.front().text;
}

std::optional<double> Expression::value(std::span<const double> cells) const noexcept {
  const StandardFloatingPoint standard;
  std::array<double, most_waiting> stack{};
  std::size_t size = 0;
  for (const auto& step : steps_) {
    const std::size_t operands = operands_of(step.operation);
    size -= operands;
    const double a = operands > 0 ? stack[size] : 0;
    const double b = operands > 1 ? stack[size + 1] : 0;
    double result = 0;
    switch (step.operation) {
      case Operation::column: result = cells[step.column]; break;
      case Operation::constant: result = step.constant; break;
      case Operation::negate: result = -a; break;
      case Operation::add: result = a + b; break;
      case Operation::subtract: result = a - b; break;
      case Operation::multiply: result = a * b; break;
      case Operation::divide: result = a / b; break;
      case Operation::log: result = std::log(a); break;
      case Operation::exp: result = std::exp(a); break;
      case Operation::sqrt: result = std::sqrt(a); break;
      case Operation::abs: result = std::abs(a); break;
      case Operation::minimum: result = std::min(a, b); break;
      case Operation::maximum: result = std::max(a, b); break;
      case Operation::year: result = year_of(a); break;
    }
    // An infinite step may end in a number: 1 / (1 / 0).
    if (!std::isfinite(result)) return std::nullopt;
    stack[size++] = result;
  }
  return stack.front();
}

data::Bounds Expression::bounds(std::span<const data::Bounds> bounds) const {
  // As precise as doubles, so that steps of `value` round to within it.
  constexpr mpfr_prec_t precision = 53;
  constexpr double largest = std::numeric_limits<double>::max();
  const auto refuse = [&](std::string_view reason) {
    invalid(fmt::format("expression '{}' has no bounds by those of its columns: {}; state bounds of the statistic", one_line(text_, 120),
                        reason));
  };
  std::vector<Interval> stack;
  for (const auto& step : steps_) {
    const std::size_t operands = operands_of(step.operation);
    const Interval b = operands > 1 ? stack.back() : Interval{0, precision};
    if (operands > 1) stack.pop_back();
    const Interval a = operands > 0 ? stack.back() : Interval{0, precision};
    if (operands > 0) stack.pop_back();
    const auto ends = operands > 1 ? b.enclosure() : a.enclosure();
    const auto result = [&]() -> Interval {
      switch (step.operation) {
        case Operation::column: {
          const auto& [lower, upper] = bounds[step.column];
          if (!(std::isfinite(lower) && std::isfinite(upper))) refuse("bounds of a column must be finite");
          return hull(Interval{lower, precision}, Interval{upper, precision});
        }
        case Operation::constant: return {step.constant, precision};
        case Operation::negate: return -a;
        case Operation::add: return a + b;
        case Operation::subtract: return a - b;
        case Operation::multiply: return a * b;
        case Operation::divide:
          if (!(ends.lower > 0 || ends.upper < 0))
            refuse(fmt::format("a divisor is in [{}, {}], which contains 0", ends.lower, ends.upper));
          return a / b;
        case Operation::log:
          if (!(ends.lower > 0)) refuse(fmt::format("a logarithm is of [{}, {}], must be of numbers above 0", ends.lower, ends.upper));
          return log(a);
        case Operation::exp: return exp(a);
        case Operation::sqrt:
          if (!(ends.upper >= 0)) refuse(fmt::format("a square root is of [{}, {}], all below 0", ends.lower, ends.upper));
          return sqrt(clamp(a, 0, largest));
        case Operation::abs: return clamp(maximum(a, -a), 0, largest);
        case Operation::minimum: return -maximum(-a, -b);
        case Operation::year: {
          const double lower = year_of(ends.lower);
          const double upper = year_of(ends.upper);
          if (!(lower <= upper)) refuse(fmt::format("a year is of the days [{}, {}], must be from -9999 to 9999", ends.lower, ends.upper));
          return hull(Interval{lower, precision}, Interval{upper, precision});
        }
        case Operation::maximum: break;
      }
      return maximum(a, b);
    }();
    const auto of_result = result.enclosure();
    if (!(std::abs(of_result.lower) <= largest && std::abs(of_result.upper) <= largest)) {
      refuse("a number in it may be beyond 1.8e308");
    }
    stack.push_back(result);
  }
  const auto [lower, upper] = stack.front().enclosure();
  return {lower, upper};
}

bool has_signs_of_expression(std::string_view text) {
  text = data::trimmed(text);
  /// Whether an operand may begin: at the front, and behind an operator, a parenthesis or a comma.
  bool may_begin = true;
  std::string_view rest = text;
  while (!rest.empty()) {
    const char c = rest.front();
    if (may_begin && c == '"') {
      auto behind = rest;
      if (!take_quoted(behind)) return false;
      rest = behind;
      may_begin = false;
      continue;
    }
    const auto place = static_cast<std::size_t>(rest.data() - text.data());
    if (c == '+' || c == '*' || c == '/') return true;
    if (c == '-') {
      const char before = place == 0 ? ' ' : text[place - 1];
      const char behind = place + 1 == text.size() ? 'x' : text[place + 1];
      if (is_blank(before) || is_blank(behind) || before == ')' || before == '"' || behind == '(') return true;
    }
    if (c == '(') {
      if (place == 0 || continues_name(text[place - 1])) return true;
      const auto front = data::trimmed(text.substr(0, place));
      auto begin = front.size();
      while (begin > 0 && continues_name(front[begin - 1])) --begin;
      if (function_named(front.substr(begin)) != nullptr) return true;
    }
    if (!is_blank(c)) may_begin = is_operator(c) || c == '(' || c == ',';
    rest.remove_prefix(1);
  }
  return false;
}

}  // namespace surety::statistics
