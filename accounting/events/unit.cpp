#include <surety/accounting/events/unit.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include <surety/accounting/events/words.h>
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

/// A part of a rule beside that of another one.
struct RulePart {
  std::string_view name;
  std::string text;  ///< empty where it is as ever
  bool is_equal;
};

std::array<RulePart, 5> parts_of(const OwnerRule& rule, const OwnerRule& other) {
  const OwnerRule standard;
  std::string place;
  if (rule.place) place = fmt::format("column {} of {} without a header", rule.place->column, rule.place->columns);
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
  if (name_.empty() || name_.size() > longest_name || !is_printable_text(name_)) {
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
  if (rule_.place && !(rule_.place->column >= 1 && rule_.place->column <= rule_.place->columns)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("column of a unit is {}, must be from 1 to {}", rule_.place->column, rule_.place->columns)};
  }
}

UnitOfPrivacy UnitOfPrivacy::without_rule(std::string name, Count most) {
  UnitOfPrivacy unit{std::move(name), most};
  unit.says_rule_ = false;
  return unit;
}

std::string describe(const UnitOfPrivacy& unit) {
  if (unit.is_row()) return "one row";
  std::string rule = unit.says_rule() ? "names byte by byte" : "it does not say its rule, taken for the default: names byte by byte";
  for (const auto& part : parts_of(unit.rule(), unit.rule())) {
    if (!part.text.empty()) rule += ", " + part.text;
  }
  return fmt::format("one {} of at most {} row{} ({})", unit.name(), unit.most().value(), unit.most().value() == 1 ? "" : "s", rule);
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
