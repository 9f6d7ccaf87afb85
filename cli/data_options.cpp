#include "data_options.h"

#include <fmt/format.h>

#include <surety/accounting/events/format.h>
#include <surety/data/text_reader.h>

#include "private_run.h"

namespace surety::cli {

void DataOptions::add_form_to(OptionTable& table) {
  table.add("--form-is-public", form_is_public,
            "Say that the form of every record is public: a damaged one is then an error that names its row and shows its cell. "
            "Without it, nothing that a record holds is shown or stops a run");
}

void DataOptions::add_limits_to(OptionTable& table) {
  table.add("--no-limits", no_limits, "Lift the limits on headers, columns, features, records, models and what gzip makes of them");
}

data::DataLimits DataOptions::limits() const { return no_limits ? data::DataLimits::none() : data::DataLimits{}; }

data::DataPolicy DataOptions::policy() const {
  return {.form = form_is_public ? data::RecordForm::is_public : data::RecordForm::is_private, .limits = limits()};
}

std::vector<std::string> parse_values(std::string_view text, std::string_view option) {
  const auto invalid_for = [&](std::string_view fault) { invalid(fmt::format("{} is '{}', {}", option, one_line(text), fault)); };
  std::vector<std::string> values;
  for (bool is_more = true; is_more;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::string value;
    std::string_view rest;
    if (text.starts_with('"')) {
      std::size_t k = 1;
      for (; k < text.size() && (text[k] != '"' || text.substr(k + 1).starts_with('"')); k += text[k] == '"' ? 2 : 1) value += text[k];
      if (k >= text.size()) invalid_for("must close each quote");
      rest = text.substr(k + 1);
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
      if (!rest.empty() && !rest.starts_with(',')) invalid_for("must have a comma behind a closing quote");
    } else {
      const auto length = std::min(text.find(','), text.size());
      value = data::trimmed(text.substr(0, length));
      if (value.find('"') != std::string::npos) invalid_for("must have quotes around a value with a quote in it, and that quote twice");
      rest = text.substr(length);
    }
    values.push_back(std::move(value));
    is_more = !rest.empty();
    text = is_more ? rest.substr(1) : rest;
  }
  return values;
}

Ends parse_ends(std::string_view text, std::string_view option) {
  const auto ends = parse_values(text, option);
  if (ends.size() != 2) invalid(fmt::format("{} is '{}', must be lower,upper", option, one_line(text)));
  return {parse_double(ends[0], option), parse_double(ends[1], option)};
}

}  // namespace surety::cli
