#include <surety/accounting/events/unit.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include <surety/accounting/events/words.h>
#include <surety/base/text/quoted_text.h>
#include <surety/base/text/safe_text.h>

namespace surety {
namespace {

bool is_printable_text(const std::string& text) {
  return is_utf8(text) && std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

constexpr accounting::Words<EmptyUnit, 2> empty_units{
    .what = "rule for rows without a name", .values = {EmptyUnit::one, EmptyUnit::each}, .words = {"one", "each"}};

bool separates_cells(char delimiter) {
  const auto byte = static_cast<unsigned char>(delimiter);
  return byte != 0 && byte < 0x80 && byte != '"' && byte != '\r' && byte != '\n';
}

std::string shown(char delimiter) {
  if (delimiter == '\t') return "a tab";
  if (delimiter == ' ') return "a blank";
  if (const auto byte = static_cast<unsigned char>(delimiter); byte < 0x20 || byte == 0x7f) return fmt::format("byte {:#04x}", byte);
  return fmt::format("'{}'", one_line(std::string_view{&delimiter, 1}));
}

// "row" is the name of a row itself, and a combination has no name of its own.
constexpr std::string_view column_prefix = "column ";

bool needs_quotes(const std::string& name) {
  return name.empty() || name.find_first_of(",\"|") != std::string::npos || name.front() == ' ' || name.front() == '\t' ||
         name.back() == ' ' || name.back() == '\t';
}

/// The names of a text that `columns_text` makes of two or more; none of another text.
std::vector<std::string> columns_of_text(std::string_view text) {
  const std::string_view whole = text;
  std::vector<std::string> columns;
  for (;;) {
    if (text.starts_with('"')) {
      auto name = take_quoted(text);
      if (!name) return {};
      columns.push_back(*std::move(name));
    } else {
      columns.emplace_back(text.substr(0, text.find(',')));
      text.remove_prefix(columns.back().size());
    }
    if (text.empty()) break;
    if (!text.starts_with(',')) return {};
    text.remove_prefix(1);
  }
  if (columns.size() < 2 || columns.size() > UnitOfPrivacy::most_columns || columns_text(columns) != whole) return {};
  return columns;
}

/// The columns of the name of a combination; none of another name.
std::vector<std::string> combined_columns(const std::string& name) {
  if (!name.starts_with(column_prefix)) return {};
  const auto rest = std::string_view{name}.substr(column_prefix.size());
  // `unit_of_columns` also puts the prefix before one column named "row", or whose name starts with the prefix.
  if (rest == UnitOfPrivacy::row || rest.starts_with(column_prefix)) return {};
  return columns_of_text(rest);
}

bool is_name(const std::string& name) { return !name.empty() && name.size() <= UnitOfPrivacy::longest_name && is_printable_text(name); }

/// A part of a rule beside that of another one.
struct RulePart {
  std::string_view name;
  std::string text;  ///< empty where it is as ever
  bool is_equal;
};

std::array<RulePart, 5> parts_of(const OwnerRule& rule, const OwnerRule& other) {
  const OwnerRule standard;
  std::string place;
  if (rule.place) {
    std::string columns = fmt::format("column {}", rule.place->column);
    for (const auto column : rule.place->further) columns += fmt::format(" and {}", column);
    place = fmt::format("{} of {} without a header", columns, rule.place->columns);
  }
  std::string record;
  if (!rule.record_bytes) {
    record = "records of any length";
  } else if (rule.record_bytes != standard.record_bytes) {
    record = fmt::format("records of at most {} bytes", *rule.record_bytes);
  }
  std::string quoted;
  if (rule.quoted_lines != standard.quoted_lines) quoted = fmt::format("cells of at most {} line ends", rule.quoted_lines);
  return {{{.name = "rows without a name",
            .text = rule.empty == EmptyUnit::one ? "rows without one: one unit" : "rows without one: each a unit",
            .is_equal = rule.empty == other.empty},
           {.name = "the delimiter",
            .text = rule.delimiter == standard.delimiter ? "" : "delimiter " + shown(rule.delimiter),
            .is_equal = rule.delimiter == other.delimiter},
           {.name = "the place of the column", .text = place, .is_equal = rule.place == other.place},
           {.name = "the longest record", .text = record, .is_equal = rule.record_bytes == other.record_bytes},
           {.name = "the line ends of a cell", .text = quoted, .is_equal = rule.quoted_lines == other.quoted_lines}}};
}

}  // namespace

std::string_view name(EmptyUnit empty) { return empty_units.name(empty); }
EmptyUnit parse_empty_unit(std::string_view text) { return empty_units.parse(text); }

UnitOfPrivacy::UnitOfPrivacy(std::string name, Count most, const OwnerRule& rule) : name_{std::move(name)}, most_{most}, rule_{rule} {
  const auto combined = combined_columns(name_);
  const bool is_good = combined.empty() ? is_name(name_) : std::all_of(combined.begin(), combined.end(), is_name);
  if (!is_good) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("unit of privacy is '{}', must be named by 1 to {} bytes of printable UTF-8", one_line(name_), longest_name)};
  }
  if (is_row() && most_.value() != 1) {
    throw Error{ErrorCode::invalid_argument, fmt::format("rows of a row are {}, must be 1", most_.value())};
  }
  if (is_row() && !(rule_ == OwnerRule{})) throw Error{ErrorCode::invalid_argument, "a row has a rule for its owner, must have none"};
  if (!separates_cells(rule_.delimiter)) {
    throw Error{ErrorCode::invalid_argument, "the delimiter of a unit is a quote, a line end or no byte of ASCII, must be another one"};
  }
  if (!rule_.place) return;
  const auto require = [&](std::uint64_t column) {
    if (column >= 1 && column <= rule_.place->columns) return;
    throw Error{ErrorCode::invalid_argument, fmt::format("column of a unit is {}, must be from 1 to {}", column, rule_.place->columns)};
  };
  require(rule_.place->column);
  for (const auto column : rule_.place->further) require(column);
  if (const auto needed = combined.empty() ? 1 : combined.size(); rule_.place->further.size() + 1 != needed) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("a unit has the places of {} columns, must have those of {}", rule_.place->further.size() + 1, needed)};
  }
}

UnitOfPrivacy UnitOfPrivacy::without_rule(std::string name, Count most) {
  UnitOfPrivacy unit{std::move(name), most};
  unit.says_rule_ = false;
  return unit;
}

std::string columns_text(const std::vector<std::string>& columns) {
  std::string text;
  for (const auto& column : columns) {
    if (&column != columns.data()) text += ',';
    const bool is_first = text.empty() && columns.size() > 1;
    text += needs_quotes(column) || (is_first && column.starts_with(column_prefix)) ? double_quoted(column) : column;
  }
  return text;
}

UnitOfPrivacy unit_of_columns(const std::vector<std::string>& columns, Count most, const OwnerRule& rule) {
  if (columns.empty() || columns.size() > UnitOfPrivacy::most_columns) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("columns of a unit are {}, must be from 1 to {}", columns.size(), UnitOfPrivacy::most_columns)};
  }
  if (columns.size() == 1) {
    const auto& column = columns.front();
    const bool is_ambiguous = column == UnitOfPrivacy::row || column.starts_with(column_prefix);
    return {is_ambiguous ? std::string{column_prefix} + column : column, most, rule};
  }
  for (std::size_t k = 0; k < columns.size(); ++k) {
    if (!is_name(columns[k])) {
      throw Error{ErrorCode::invalid_argument, fmt::format("column of a unit is '{}', must have 1 to {} bytes of printable UTF-8",
                                                           one_line(columns[k]), UnitOfPrivacy::longest_name)};
    }
    if (std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(k), columns[k]) !=
        columns.begin() + static_cast<std::ptrdiff_t>(k)) {
      throw Error{ErrorCode::invalid_argument, fmt::format("columns of a unit name '{}' twice, must name it once", one_line(columns[k]))};
    }
  }
  return {std::string{column_prefix} + columns_text(columns), most, rule};
}

std::vector<std::string> columns_of(const UnitOfPrivacy& unit) {
  if (unit.is_row()) return {};
  if (auto columns = combined_columns(unit.name()); !columns.empty()) return columns;
  return {unit.name().substr(unit.name().starts_with(column_prefix) ? column_prefix.size() : 0)};
}

std::string describe(const UnitOfPrivacy& unit) {
  if (unit.is_row()) return "one row";
  std::string rule = unit.says_rule() ? "names byte by byte" : "it does not say its rule, taken for the default: names byte by byte";
  for (const auto& part : parts_of(unit.rule(), unit.rule())) {
    if (!part.text.empty()) rule += ", " + part.text;
  }
  const auto combined = combined_columns(unit.name());
  const auto owner = combined.empty() ? unit.name() : "combination of " + columns_text(combined);
  return fmt::format("one {} of at most {} row{} ({})", owner, unit.most().value(), unit.most().value() == 1 ? "" : "s", rule);
}

std::string difference(const UnitOfPrivacy& a, const UnitOfPrivacy& b) {
  std::string parts;
  const auto add = [&](std::string_view part) { parts += (parts.empty() ? "" : ", ") + std::string{part}; };
  if (a.name() != b.name()) add("whose rows they are");
  if (a.most() != b.most()) add("how many rows are used");
  if (a.is_row() || b.is_row()) return parts;  // a row has no rule
  for (const auto& part : parts_of(a.rule(), b.rule())) {
    if (!part.is_equal) add(part.name);
  }
  return parts;
}

}  // namespace surety
