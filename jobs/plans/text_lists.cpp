#include <surety/jobs/plans/text_lists.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include <surety/base/text/quoted_text.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/plans/plan_error.h>

namespace surety::jobs {
namespace {

void skip_blanks(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size())); }

}  // namespace

double parse_double(std::string_view text, std::string_view field) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    refuse_plan("{} has '{}', must be a number there", FieldName{field}, one_line(text));
  return value;
}

std::vector<std::string> parse_values(std::string_view text, std::string_view field) {
  const std::string_view whole = text;
  const auto invalid_for = [&](std::string_view fault) { refuse_plan("{} is '{}', {}", FieldName{field}, one_line(whole), fault); };
  std::vector<std::string> values;
  for (bool is_more = true; is_more;) {
    skip_blanks(text);
    if (text.starts_with('"')) {
      auto value = take_quoted(text);
      if (!value) invalid_for("must close each quote");
      skip_blanks(text);
      if (!text.empty() && !text.starts_with(',')) invalid_for("must have a comma behind a closing quote");
      values.push_back(*std::move(value));
    } else {
      const auto length = std::min(text.find(','), text.size());
      values.emplace_back(data::trimmed(text.substr(0, length)));
      if (values.back().find('"') != std::string::npos)
        invalid_for("must have quotes around a value with a quote in it, and that quote twice");
      text.remove_prefix(length);
    }
    is_more = !text.empty();
    if (is_more) text.remove_prefix(1);
  }
  return values;
}

std::vector<std::vector<std::string>> parse_lists(std::string_view text, std::string_view field) {
  std::vector<std::vector<std::string>> lists;
  bool is_quoted = false;
  std::size_t begin = 0;
  for (std::size_t k = 0; k <= text.size(); ++k) {
    if (k < text.size() && text[k] == '"') is_quoted = !is_quoted;
    if (k < text.size() && (is_quoted || text[k] != ';')) continue;
    lists.push_back(parse_values(text.substr(begin, k - begin), field));
    begin = k + 1;
  }
  return lists;
}

std::string list_text(const std::vector<std::string>& values) {
  std::string text;
  for (const auto& value : values) {
    if (!text.empty()) text += ',';
    text += double_quoted(value);
  }
  return text;
}

std::pair<std::string, std::string> split_at_column(std::string_view text, std::string_view field, std::string_view form, bool at_first) {
  const auto refuse = [&] { refuse_plan("{} is '{}', must be {}", FieldName{field}, one_line(text), form); };
  std::string_view rest = text;
  if (rest.starts_with('"')) {
    auto name = take_quoted(rest);
    if (name) {
      skip_blanks(rest);
      if (name->empty() || !rest.starts_with('=')) refuse();
      return {*std::move(name), std::string{rest.substr(1)}};
    }
  }
  const auto equals = at_first ? text.find('=') : text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) refuse();
  return {std::string{text.substr(0, equals)}, std::string{text.substr(equals + 1)}};
}

std::pair<std::string, std::string> split_pair(std::string_view text, std::string_view field) {
  std::string_view rest = text;
  const auto refuse = [&] { refuse_plan("{} is '{}', must be first:second, two columns", FieldName{field}, one_line(text)); };
  const auto take = [&](bool is_last) {
    skip_blanks(rest);
    std::string name;
    if (rest.starts_with('"')) {
      auto quoted = take_quoted(rest);
      if (!quoted) refuse();
      name = *std::move(quoted);
      skip_blanks(rest);
    } else {
      const auto length = std::min(rest.find(':'), rest.size());
      name = data::trimmed(rest.substr(0, length));
      rest.remove_prefix(length);
    }
    if (name.empty() || (is_last ? !rest.empty() : !rest.starts_with(':'))) refuse();
    if (!is_last) rest.remove_prefix(1);
    return name;
  };
  auto first = take(false);
  return {std::move(first), take(true)};
}

std::string pair_text(const std::string& first, const std::string& second) { return list_text({first}) + ":" + list_text({second}); }

Ends parse_ends(std::string_view text, std::string_view field) {
  const auto ends = parse_values(text, field);
  if (ends.size() != 2) refuse_plan("{} is '{}', must be lower,upper", FieldName{field}, one_line(text));
  return {parse_double(ends[0], field), parse_double(ends[1], field)};
}

}  // namespace surety::jobs
