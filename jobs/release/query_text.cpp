#include <surety/jobs/release/query_text.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <surety/accounting/events/words.h>
#include <surety/base/text/error.h>
#include <surety/base/text/quoted_text.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/plans/text_lists.h>
#include <surety/statistics/query.h>

namespace surety::jobs {
namespace {

using data::trimmed;

std::string_view word_of(const FunctionForm& form) { return form.text.substr(0, form.text.find('(')); }
/// What may stand before the parenthesis, each word once.
std::vector<std::string_view> known_words() {
  std::vector<std::string_view> words;
  for (const auto& form : function_forms) {
    if (words.empty() || words.back() != word_of(form)) words.push_back(word_of(form));
  }
  return words;
}
std::string listed(const std::vector<std::string_view>& texts, std::string_view before_last) {
  return fmt::format("{}{}{}", fmt::join(texts.begin(), texts.end() - 1, ", "), before_last, texts.back());
}
constexpr std::string_view before_condition = ") where ";

std::string_view without_blanks_before(std::string_view text) { return text.substr(std::min(text.find_first_not_of(" \t"), text.size())); }

/// What stands before the closing parenthesis, and the condition behind it.
struct Inside {
  std::string_view text;
  std::optional<std::string> where = {};
};
/// Nothing where no parenthesis closes. \param has_quotes whether what stands in quotes closes nothing
std::optional<Inside> inside_of(std::string_view text, bool may_have_condition, bool has_quotes) {
  bool is_quoted = false;
  for (std::size_t k = 0; may_have_condition && k < text.size(); ++k) {
    if (has_quotes && text[k] == '"') is_quoted = !is_quoted;
    if (is_quoted || !text.substr(k).starts_with(before_condition)) continue;
    return Inside{text.substr(0, k), std::string{text.substr(k + before_condition.size())}};
  }
  text = trimmed(text);
  if (!text.ends_with(')')) return std::nullopt;
  return Inside{text.substr(0, text.size() - 1)};
}

/// The word before the parenthesis, and what follows that.
struct Head {
  std::string word;
  std::string_view rest;         ///< behind the parenthesis
  std::string_view of_name;      ///< the same from the name on: behind "distinct" of a count, and without blanks before it
  bool counts_distinct = false;  ///< "count(distinct "
};
std::optional<Head> head_of(std::string_view text) {
  const auto open = text.find('(');
  if (open == std::string_view::npos) return std::nullopt;
  Head head{.word = std::string{trimmed(text.substr(0, open))}, .rest = text.substr(open + 1), .of_name = {}};
  head.of_name = without_blanks_before(head.rest);
  constexpr std::string_view distinct = "distinct ";
  head.counts_distinct = head.word == "count" && head.of_name.starts_with(distinct);
  if (head.counts_distinct) head.of_name = without_blanks_before(head.of_name.substr(distinct.size()));
  return head;
}

/// A reason of `Expression::parse`, with what a name needs.
std::string about_expression(std::string_view reason) {
  return fmt::format("{}{}", reason,
                     reason.find("double quotes") == std::string_view::npos ? " (a column of such a name stands in double quotes)" : "");
}

/// Takes numbers behind commas from the end of `text`; what is left before them may have commas, too.
std::vector<double> take_fractions(std::string_view& text) {
  std::vector<double> fractions;
  for (auto comma = text.rfind(','); comma != std::string_view::npos; comma = text.rfind(',')) {
    const auto number = data::parse_number(text.substr(comma + 1));
    if (number.fault != data::NumberFault::none) break;
    fractions.insert(fractions.begin(), number.value);
    text = text.substr(0, comma);
  }
  return fractions;
}

Function function_of(const Head& head) {
  if (head.counts_distinct) return Function::count_distinct;
  return std::find_if(function_forms.begin(), function_forms.end(), [&](const auto& one) { return word_of(one) == head.word; })->function;
}

}  // namespace

std::string listed_functions(std::string_view FunctionForm::*member, std::string_view before_last) {
  std::vector<std::string_view> texts;
  for (const auto& form : function_forms) texts.push_back(form.*member);
  return listed(texts, before_last);
}

bool takes_expression(Function function) noexcept {
  return function == Function::sum || function == Function::mean || function == Function::variance || function == Function::median ||
         function == Function::quantile || function == Function::histogram;
}

QueryText parse_query_text(std::string_view text, bool may_have_condition, const IsColumn& is_column) {
  const auto is_wrong = [&](const FieldText& constraint) {
    return QueryText{.fault = field_text("{} is '{}', {}", "query"_field, one_line(text), constraint)};
  };
  const auto is_no_query = [&] { return is_wrong("must be " + listed_functions(&FunctionForm::text)); };
  const auto head = head_of(text);
  if (!head) return is_no_query();
  const auto words = known_words();
  const bool is_known = std::find(words.begin(), words.end(), head->word) != words.end();
  const bool is_distinct = head->word == "distinct";
  const bool has_name = head->word != "count" || head->counts_distinct;
  std::optional<std::string> quoted;
  std::string_view rest = head->counts_distinct ? head->of_name : head->rest;
  if (is_known && has_name && !is_distinct && head->of_name.starts_with('"')) {
    rest = head->of_name;
    quoted = take_quoted(rest);
    if (!quoted) return is_wrong("must close each quote");
    // What goes on behind the name is an expression, with the quotes of its names.
    const auto behind = without_blanks_before(rest);
    if (takes_expression(function_of(*head)) && !behind.empty() &&
        std::string_view{"+-*/"}.find(behind.front()) != std::string_view::npos) {
      quoted.reset();
      rest = head->of_name;
    }
  }
  const bool goes_on = is_known && has_name && !quoted && head->of_name.starts_with('"');
  auto inside = inside_of(rest, may_have_condition, is_distinct || goes_on);
  if (inside && is_known && takes_expression(function_of(*head)) && !quoted && !goes_on) {
    // A quote closes nothing in an expression, and is a character like others in a name.
    auto again = inside_of(rest, may_have_condition, true);
    auto argument = again ? again->text : std::string_view{};
    if (function_of(*head) == Function::quantile) static_cast<void>(take_fractions(argument));
    if (statistics::has_signs_of_expression(argument)) inside = std::move(again);
  }
  if (!inside) {
    if (!quoted) return is_no_query();
    return is_wrong("must have a parenthesis, or of a quantile a comma, behind the quoted name");
  }
  if (!is_known) {
    return {.fault = field_text("{} has '{}', must be {} there{}", "query"_field, one_line(head->word), listed(words, " or "),
                                did_you_mean(head->word, words))};
  }
  QueryText result{.asked = {.function = function_of(*head)}, .where = std::move(inside->where)};
  auto& asked = result.asked;
  std::string_view left = inside->text;
  if (!has_name) {
    left = trimmed(left);
    if (left == "units") asked.function = Function::count_units;
    if (left.empty() || left == "units") return result;
    return is_wrong(field_text("must be count(), count(units) or count(distinct column): a condition goes to {}", "where"_field));
  }
  if (is_distinct) {
    asked.columns = parse_values(left, "query");
  } else {
    if (asked.function == Function::quantile) asked.fractions = take_fractions(left);
    left = trimmed(left);
    if (quoted && !left.empty()) return is_wrong("must have a parenthesis, or of a quantile a comma, behind the quoted name");
    asked.columns = {quoted ? *quoted : std::string{left}};
    const bool is_expression = !quoted && takes_expression(asked.function) && statistics::has_signs_of_expression(left) &&
                               !(is_column && is_column(std::string{left}));
    if (is_expression) {
      try {
        asked.expression = statistics::Expression::parse(left);
      } catch (const Error& error) {
        return {.fault = field_text("{} is '{}': {}", "query"_field, one_line(text), about_expression(error.what()))};
      }
      asked.columns = {asked.expression->text()};
    }
  }
  const bool has_empty_name = std::find(asked.columns.begin(), asked.columns.end(), "") != asked.columns.end();
  if (asked.function == Function::quantile && (has_empty_name || asked.fractions.empty())) {
    return is_wrong("must be such as quantile(age, 0.9) or quantile(age, 0.25, 0.5, 0.75)");
  }
  if (has_empty_name) return is_wrong("must name a column");
  return result;
}

std::string query_text_of_version_1(std::string_view text, bool may_have_condition) {
  const std::string same{text};
  const auto head = head_of(text);
  const bool has_name = head && head->word != "distinct" && (head->word != "count" || head->counts_distinct);
  if (!has_name) return same;
  const auto inside = inside_of(head->of_name, may_have_condition, false);
  if (!inside) return same;  // neither grammar has a query in it
  auto name = inside->text;
  std::string fractions;
  if (head->word == "quantile") {
    for (const double fraction : take_fractions(name)) fractions += fmt::format(", {}", fraction);
  }
  if (!head->of_name.starts_with('"') && !statistics::has_signs_of_expression(name)) return same;
  return fmt::format("{}({}{}{}){}", head->word, head->counts_distinct ? "distinct " : "", double_quoted(trimmed(name)), fractions,
                     inside->where ? " where " + *inside->where : std::string{});
}

std::string describe(const AskedFunction& asked) {
  if (asked.function == Function::count_units) return "count(units)";
  const auto* const found =
      std::find_if(function_forms.begin(), function_forms.end(), [&](const auto& one) { return one.function == asked.function; });
  const bool counts_distinct = asked.function == Function::count_distinct;
  std::string text{counts_distinct ? "count(distinct " : fmt::format("{}(", found->name)};
  for (std::size_t k = 0; k < asked.columns.size(); ++k) {
    text += (k > 0 ? ", " : "") + (asked.expression ? asked.columns[k] : statistics::query_name(asked.columns[k]));
  }
  for (const double fraction : asked.fractions) text += fmt::format(", {}", fraction);
  return text + ")";
}

}  // namespace surety::jobs
