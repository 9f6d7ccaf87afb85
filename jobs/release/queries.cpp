#include <surety/jobs/release/queries.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/accounting/events/words.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/condition.h>
#include <surety/data/text_reader.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/small_text.h>
#include <surety/jobs/plans/text_lists.h>
#include <surety/jobs/release/query_text.h>
#include <surety/jobs/release/release_plan.h>
#include <surety/jobs/run/kept_units.h>

namespace surety::jobs {
namespace {

using namespace data;
using namespace statistics;

/// All that may be said of one query. `where` is parsed last, since its messages name it.
struct SaidOfQuery {
  AskedFunction asked = {};
  std::string function = {};  ///< its name, as it was written
  std::string query = {};     ///< as text, for messages
  FieldText place = {};       ///< before each message: "query 2: "
  bool is_object = false;     ///< in JSON, where most-keys is most_keys
  std::optional<std::string> where = {};
  std::optional<Bounds> bounds = {};
  std::optional<Bounds> clip_unit_sum = {};  ///< in the place of bounds
  std::optional<std::uint64_t> bins = {};
  std::optional<Categories> categories = {};
  std::optional<std::uint64_t> candidates = {};
  std::optional<std::uint64_t> most_keys = {};
  std::vector<std::string> by = {};
  std::vector<Cells> keys = {};  ///< of each column
  bool discovers_keys = false;   ///< in the place of keys
  std::optional<Bounds> key_bounds = {};
  std::optional<std::uint64_t> key_bins = {};
  std::optional<std::uint64_t> most_per_group = {};
  std::map<std::string, std::string> types = {};
  double weight = 1;

  /// \throws PlanError, always, by a pattern as that of `field_text`. The names of an object's members are the same at every front end.
  template <class... Values>
  [[noreturn]] void refuse(fmt::format_string<const Values&...> pattern, const Values&... values) const {
    auto reason = field_text<Values...>(pattern, values...);
    if (is_object) reason = reason.printed(member_name);
    throw PlanError{{.code = ErrorCode::invalid_argument, .text = field_text("{}{}", place, reason)}};
  }

 private:
  static std::string member_name(std::string name) {
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
};

/// What `action` makes. What it refuses, `refuse` refuses for the same reason.
template <class Action, class Refuse>
auto or_refused(const Action& action, const Refuse& refuse) {
  try {
    return action();
  } catch (const Error& error) {
    refuse(error.what());
    throw;
  }
}

/// Whether it is of texts of which a unit has so many at most.
bool has_most_keys(Function function) {
  return function == Function::keys || function == Function::distinct || function == Function::count_distinct;
}

/// Whether it is of the rows of listed groups, of which a unit may have so many in each at most.
bool has_group_cap(const SaidOfQuery& said) {
  const auto function = said.asked.function;
  return !said.by.empty() && !said.discovers_keys && !said.clip_unit_sum && !has_most_keys(function) && function != Function::count_units;
}

bool is_quantile(Function function) { return function == Function::median || function == Function::quantile; }

/// Reads what is asked from `said.query`. \throws PlanError for no query
void read_text(SaidOfQuery& said, bool may_have_condition) {
  auto text = parse_query_text(said.query, may_have_condition);
  if (!text.fault.empty()) said.refuse("{}", text.fault);
  if (text.where) {
    if (said.where) said.refuse("'{}' has a condition, so {} must be left out", one_line(said.query), "where"_field);
    said.where = std::move(text.where);
  }
  said.asked = std::move(text.asked);
  said.function = trimmed(std::string_view{said.query}.substr(0, said.query.find('(')));
}

/// \throws PlanError naming the query for what is no fraction.
Fractions fractions_of(const SaidOfQuery& said) {
  try {
    return Fractions{std::vector<Fraction>(said.asked.fractions.begin(), said.asked.fractions.end())};
  } catch (const Error& error) {
    if (said.place.empty()) throw;
    said.refuse("{}", error.what());
  }
}

std::optional<Groups> groups_of(const SaidOfQuery& said) {
  if (said.by.empty()) {
    if (!said.keys.empty() || said.discovers_keys)
      said.refuse("{} is given without {}, the column of the groups", "keys"_field, "by"_field);
    if (said.key_bounds) said.refuse("{} is given without {}, the column of the groups", "key-bounds"_field, "by"_field);
    if (said.key_bins) said.refuse("{} is given without {}, the column of the groups", "key-bins"_field, "by"_field);
    if (said.most_per_group) said.refuse("{} is given without {}, the column of the groups", "most-per-group"_field, "by"_field);
    return std::nullopt;
  }
  if (std::find(said.by.begin(), said.by.end(), "") != said.by.end()) said.refuse("{} has an empty name, must name columns", "by"_field);
  const bool is_of_several = said.by.size() > 1;
  if (!said.keys.empty() || said.discovers_keys) {
    if (said.key_bounds || said.key_bins)
      said.refuse("{} and {} are not for {}, must be left out", "key-bounds"_field, "key-bins"_field, "keys"_field);
    if (said.discovers_keys) return std::nullopt;
    if (said.keys.size() != said.by.size()) {
      said.refuse("{} has {} lists, must have one for each of the {} columns of {}{}", "keys"_field, said.keys.size(), said.by.size(),
                  "by"_field, said.is_object ? "" : ", with ; between two");
    }
    Groups groups{said.by.front(), said.keys.front()};
    for (std::size_t k = 1; k < said.by.size(); ++k) groups.beside.push_back({said.by[k], said.keys[k]});
    return groups;
  }
  if (is_of_several) {
    if (said.key_bounds || said.key_bins) {
      said.refuse("{} and {} are for one column, must be left out (in JSON keys may be bins: {{\"bounds\": [0, 90], \"bins\": 9}})",
                  "key-bounds"_field, "key-bins"_field);
    }
    said.refuse("{} is missing: the groups are public, a list for each of the {} columns of {}", "keys"_field, said.by.size(), "by"_field);
  }
  if (!said.key_bounds || !said.key_bins) {
    said.refuse("{} is missing: the groups are public (of numbers, {} and {})", "keys"_field, "key-bounds"_field, "key-bins"_field);
  }
  return Groups{said.by.front(), Bins{*said.key_bounds, *said.key_bins}};
}

/// The columns whose numbers a statistic and its groups read.
std::vector<std::string> columns_of_numbers(const Statistic& statistic) {
  std::vector<std::string> columns;
  const auto add = [&](const std::string& column) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
  };
  const auto* const histogram = std::get_if<HistogramOf>(&statistic.of);
  const bool is_number = histogram != nullptr ? std::holds_alternative<Bins>(histogram->cells)
                                              : bounds_of(statistic) != nullptr || std::holds_alternative<QuantileOf>(statistic.of);
  if (is_number) add(*column_of(statistic));
  const auto add_bins = [&](const std::string& column, const Cells& keys) {
    if (std::holds_alternative<Bins>(keys)) add(column);
  };
  if (statistic.by) {
    add_bins(statistic.by->column, statistic.by->keys);
    for (const auto& more : statistic.by->beside) add_bins(more.column, more.keys);
  }
  return columns;
}

/// What columns hold: as was said, by the schema, and since a statistic or its groups use their numbers.
ColumnKinds kinds_of(const Statistic& statistic, const std::map<std::string, std::string>& types, const Schema* schema) {
  ColumnKinds kinds;
  for (const auto& [column, type] : types) kinds.emplace(column, kind_of_type(type));
  for (const auto& column : schema != nullptr ? schema->columns : std::vector<SchemaColumn>{}) {
    const auto kind = column.type ? std::optional{kind_of_type(*column.type)} : std::nullopt;
    if (kind == CellKind::date) kinds.emplace(column.name, CellKind::date);
    if (kind == CellKind::text || column.categories) kinds.emplace(column.name, CellKind::text);
    if (kind == CellKind::number || column.bounds) kinds.emplace(column.name, CellKind::number);
  }
  for (const auto& column : columns_of_numbers(statistic)) kinds.emplace(column, CellKind::number);
  return kinds;
}

/// Whose rows are whose; nothing where the unit is a row.
std::optional<RowOwner> owner_of(const UnitOfPrivacy& unit) {
  const auto column = column_of(unit);
  if (!column) return std::nullopt;
  return RowOwner{*column, unit.rule().empty == EmptyUnit::each};
}

/// What is asked of which column, its fields checked.
class AskedStatistic {
 public:
  AskedStatistic(const SaidOfQuery& said, const QueryContext& context) : said_{said}, context_{context} { check(); }

  [[nodiscard]] decltype(Statistic::of) kind() const {
    if (said_.clip_unit_sum) return UnitSumOf{column(), *said_.clip_unit_sum, owner_of(context_.unit)};
    switch (said_.asked.function) {
      case Function::count: return CountOf{};
      case Function::count_units:
        if (said_.discovers_keys) return keys_of_by();
        return UnitsOf{owner_of(context_.unit)};
      case Function::count_distinct: return DistinctOf{.column = column(), .most_keys = most_keys(), .owner = owner_of(context_.unit)};
      case Function::sum: return SumOf{column(), bounds()};
      case Function::mean:
        if (said_.discovers_keys) return GroupMeansOf{.mean = {column(), bounds()}, .keys = keys_of_by()};
        return MeanOf{column(), bounds()};
      case Function::variance: return VarianceOf{column(), bounds()};
      case Function::median: return QuantileOf{column(), bounds(), Fraction::median(), said_.candidates};
      case Function::quantile: {
        const auto fractions = fractions_of(said_);
        return QuantileOf{column(), bounds(), fractions, said_.candidates};
      }
      case Function::histogram: return histogram();
      case Function::keys: return KeysOf{.column = column(), .most_keys = most_keys(), .owner = owner_of(context_.unit)};
      case Function::distinct: break;
    }
    const auto& columns = said_.asked.columns;
    return KeysOf{.column = columns.front(),
                  .most_keys = most_keys(),
                  .owner = owner_of(context_.unit),
                  .beside = {columns.begin() + 1, columns.end()},
                  .hides_counts = true};
  }

  [[nodiscard]] std::optional<GroupCap> group_cap() const {
    if (!said_.most_per_group) return std::nullopt;
    if (!has_group_cap(said_))
      refuse_field(true, said_.discovers_keys ? field_text("{} beside discovered {}", "most-per-group"_field, "keys"_field)
                                              : "most-per-group"_field);
    return GroupCap{Count{*said_.most_per_group}, owner_of(context_.unit)};
  }

 private:
  [[nodiscard]] const std::string& column() const { return said_.asked.columns.front(); }
  void refuse_field(bool is_given, const FieldText& field) const {
    if (is_given) said_.refuse("{} is not for {}(), must be left out", field, said_.function);
  }
  void check() const {
    const auto function = said_.asked.function;
    if (function == Function::count || function == Function::count_units || function == Function::count_distinct) {
      refuse_field(said_.bounds.has_value(), "bounds"_field);
    }
    if (function != Function::sum) refuse_field(said_.clip_unit_sum.has_value(), "clip-unit-sum"_field);
    if (said_.clip_unit_sum) refuse_field(said_.bounds.has_value(), field_text("{} beside {}", "bounds"_field, "clip-unit-sum"_field));
    if (function != Function::histogram) {
      refuse_field(said_.bins.has_value(), "bins"_field);
      refuse_field(said_.categories.has_value(), "categories"_field);
    }
    if (!is_quantile(function)) refuse_field(said_.candidates.has_value(), "candidates"_field);
    if (said_.discovers_keys && function != Function::mean && function != Function::count_units) {
      said_.refuse("{} is {} for {}(), must be a list there: means and count(units) alone are of groups that nobody listed", "keys"_field,
                   discovered, said_.function);
    }
    if (!has_most_keys(function) && !said_.discovers_keys) refuse_field(said_.most_keys.has_value(), "most-keys"_field);
    if (function == Function::keys || function == Function::distinct) refuse_field(said_.bounds.has_value(), "bounds"_field);
  }
  [[nodiscard]] Bounds bounds() const {
    if (!said_.bounds) said_.refuse("{} is missing: {}() needs public bounds lower,upper", "bounds"_field, said_.function);
    return *said_.bounds;
  }
  [[nodiscard]] Count most_keys() const { return Count{said_.most_keys.value_or(context_.unit.most().value())}; }
  [[nodiscard]] KeysOf keys_of_by() const {
    return {.column = said_.by.front(),
            .most_keys = most_keys(),
            .owner = owner_of(context_.unit),
            .beside = {said_.by.begin() + 1, said_.by.end()}};
  }
  [[nodiscard]] HistogramOf histogram() const {
    if (said_.categories) {
      refuse_field(said_.bounds.has_value(), field_text("{} beside {}", "bounds"_field, "categories"_field));
      refuse_field(said_.bins.has_value(), field_text("{} beside {}", "bins"_field, "categories"_field));
      return {column(), *said_.categories};
    }
    if (!said_.bins) said_.refuse("{} or {} is missing: the cells of a histogram are public", "bins"_field, "categories"_field);
    return {column(), Bins{bounds(), *said_.bins}};
  }

  const SaidOfQuery& said_;
  const QueryContext& context_;
};

/// A number or a day, where that is what a cell is compared with.
std::optional<double> order_of(const CellComparison& comparison) {
  if (const auto* const number = std::get_if<double>(&comparison.value)) return *number;
  if (const auto* const date = std::get_if<Date>(&comparison.value)) return date->days;
  return std::nullopt;
}

/// Whether a number stands so to two others at once: one of them, one next to them, or one beyond. Between two days there may be none.
bool has_number(const CellComparison& one, bool first, const CellComparison& other, bool second) {
  const double a = *order_of(one);
  const double b = *order_of(other);
  const auto fits = [&](double number) { return holds(number, one.relation, a) == first && holds(number, other.relation, b) == second; };
  const double infinite = std::numeric_limits<double>::infinity();
  return fits(a) || fits(b) || fits(-infinite) || fits(infinite) || (a != b && fits(std::nextafter(std::min(a, b), infinite)));
}

/// Whether a text is equal, or not, to two others as the comparisons with them come out.
bool has_text(const CellComparison& one, bool first, const CellComparison& other, bool second) {
  const bool equals_one = (one.relation == Relation::equal) == first;
  const bool equals_other = (other.relation == Relation::equal) == second;
  return one.value == other.value ? equals_one == equals_other : !(equals_one && equals_other);
}

/// Whether one cell may be such that a comparison with it, or the question whether it is there, comes out as `first`, and another as `second`. True of
/// other columns, and in doubt. \param counts_missing whether a missing cell counts as a value, by --missing
bool may_be_together(const CellComparison& one, Truth first, const CellComparison& other, Truth second, bool counts_missing) {
  if (one.column != other.column) return true;
  const bool are_of_one_kind = one.kind() == other.kind();
  const bool asks_one = is_about_presence(one.relation);
  const bool asks_other = is_about_presence(other.relation);
  if (asks_one && asks_other) {
    if (!are_of_one_kind) return true;
    if (one.relation == other.relation) return first == second;
    return (first == Truth::unknown && second == Truth::unknown) || (first == Truth::met && second == Truth::missed) ||
           (first == Truth::missed && second == Truth::met);
  }
  if (asks_other) return may_be_together(other, second, one, first, counts_missing);
  if (asks_one) {
    // A comparison with a missing cell is unknown, unless that counts as a value. What is missing as a number may be a text.
    const bool is_missing = first == (one.relation == Relation::missing ? Truth::met : Truth::missed);
    return !is_missing || !are_of_one_kind || counts_missing || second == Truth::unknown;
  }
  if (!are_of_one_kind) {
    /// Whether the cell is this text, which is no number.
    const auto is_no_number = [](const CellComparison& comparison, Truth value) {
      const auto* const text = std::get_if<std::string>(&comparison.value);
      // A truth value has a number as well.
      return text != nullptr && value == (comparison.relation == Relation::equal ? Truth::met : Truth::missed) &&
             text->find_first_of("0123456789") == std::string::npos && *text != "true" && *text != "false" &&
             parse_number(*text).fault != NumberFault::none;
    };
    const auto is_number = [](const CellComparison& comparison, Truth value) {
      return comparison.kind() == CellKind::number && value != Truth::unknown;
    };
    return counts_missing ||
           !((is_no_number(one, first) && is_number(other, second)) || (is_no_number(other, second) && is_number(one, first)));
  }
  if (first == Truth::unknown || second == Truth::unknown) return first == second;
  const auto has = one.kind() == CellKind::text ? has_text : has_number;
  return has(one, first == Truth::met, other, second == Truth::met);
}

/// Why no record meets the condition, whatever its cells are: "no cell meets both 'age>5' and 'not age>3'". Nothing where one may, and for long conditions.
/// \complexity 3^n for n comparisons, of which there are at most 7
std::optional<std::string> contradiction_in(const Condition& condition, const CsvFormat& format) {
  constexpr std::size_t most = 7;
  const auto& all = condition.comparisons();
  if (all.size() < 2 || all.size() > most) return std::nullopt;
  /// Two values that two comparisons of one column never have together.
  struct Pair {
    std::size_t one, other;
    Truth first, second;
  };
  constexpr std::array truths{Truth::met, Truth::missed, Truth::unknown};
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i + 1; k < all.size(); ++k) {
      for (const auto first : truths) {
        for (const auto second : truths) {
          if (!may_be_together(all[i], first, all[k], second, format.missing.contains(all[i].column)))
            pairs.push_back({i, k, first, second});
        }
      }
    }
  }
  const auto may_be_met = [&](std::span<const Pair> impossible) {
    std::vector<Truth> values(all.size());
    std::size_t assignments = 1;
    for (std::size_t i = 0; i < all.size(); ++i) assignments *= truths.size();
    for (std::size_t place = 0; place < assignments; ++place) {
      std::size_t rest = place;
      for (auto& value : values) {
        value = truths.at(rest % truths.size());
        rest /= truths.size();
      }
      const bool may_be = std::none_of(impossible.begin(), impossible.end(), [&](const Pair& pair) {
        return values[pair.one] == pair.first && values[pair.other] == pair.second;
      });
      if (may_be && condition.is_met(values)) return true;
    }
    return false;
  };
  if (pairs.empty() || may_be_met(pairs)) return std::nullopt;
  const auto shown = [](const CellComparison& comparison, Truth value) {
    return in_quotes((value == Truth::met ? "" : "not ") + describe(comparison));
  };
  const auto why = [&](const Pair& pair) {
    return fmt::format("no cell meets both {} and {}", shown(all[pair.one], pair.first), shown(all[pair.other], pair.second));
  };
  for (const auto& pair : pairs) {
    if (pair.first != Truth::unknown && pair.second != Truth::unknown && !may_be_met({&pair, 1})) return why(pair);
  }
  const auto both =
      std::find_if(pairs.begin(), pairs.end(), [](const Pair& pair) { return pair.first == Truth::met && pair.second == Truth::met; });
  return both != pairs.end() ? why(*both) : std::string{"its comparisons exclude each other"};
}

/// By column, as the query or the schema declares them.
std::map<std::string, std::string> declared_types(const SaidOfQuery& said, const Schema* schema) {
  auto types = said.types;
  for (const auto& column : schema != nullptr ? schema->columns : std::vector<SchemaColumn>{}) {
    if (column.type) types.emplace(column.name, *column.type);
  }
  return types;
}

/// The columns whose numbers are days, since the query or the schema declares dates or the condition compares dates: no record has a say.
std::vector<std::string> dates_of(const SaidOfQuery& said, const Statistic& statistic, const Schema* schema) {
  const auto types = declared_types(said, schema);
  const auto compares_dates = [&](const std::string& column) {
    const auto is_date = [&](const CellComparison& asked) { return asked.column == column && asked.kind() == CellKind::date; };
    return statistic.where && std::any_of(statistic.where->comparisons().begin(), statistic.where->comparisons().end(), is_date);
  };
  auto columns = columns_of_numbers(statistic);
  std::erase_if(columns, [&](const std::string& column) {
    const auto type = types.find(column);
    return !(type != types.end() && type->second == "date") && !compares_dates(column);
  });
  return columns;
}

/// Whether some cell of a column of this type has this text.
bool may_have_text(const std::string& column, const std::string& type, const std::string& text) {
  // In another format than the usual one, a number may be written otherwise.
  if (text.empty() || (type == "number" && text.find_first_of("0123456789") != std::string::npos)) return true;
  return may_be_met({.column = column, .relation = Relation::equal, .value = text}, type);
}

/// The condition, in which `statistic` says what its columns hold.
Condition condition_of(const SaidOfQuery& said, const Statistic& statistic, const Schema* schema, const CsvFormat& format) {
  const auto kinds = kinds_of(statistic, said.types, schema);
  const auto condition = or_refused([&] { return parse_condition(*said.where, "", kinds); },
                                    [&](const std::string& reason) { said.refuse("{}{}", "where"_field, reason); });
  if (const auto why = why_never(condition, declared_types(said, schema))) said.refuse("{} {}", "where"_field, *why);
  if (const auto why = contradiction_in(condition, format)) {
    said.refuse("{} is '{}', which no record can meet: {}", "where"_field, one_line(*said.where), *why);
  }
  return condition;
}

/// \throws PlanError for a listed text that no cell of its column's declared type can have.
void require_possible_texts(const SaidOfQuery& said, const Statistic& statistic, const Schema* schema) {
  const auto types = declared_types(said, schema);
  if (types.empty()) return;
  const auto check = [&](FieldName field, const std::string& column, const Cells& cells) {
    const auto* const texts = std::get_if<Categories>(&cells);
    const auto type = types.find(column);
    if (texts == nullptr || type == types.end()) return;
    for (const auto& text : texts->names) {
      if (may_have_text(column, type->second, text)) continue;
      said.refuse("{} has '{}', which no cell of column {} can be: it is declared to be of type {}; must be left out", field,
                  one_line(text), in_quotes(column), type->second);
    }
  };
  if (const auto* const histogram = std::get_if<HistogramOf>(&statistic.of)) check("categories"_field, histogram->column, histogram->cells);
  if (!statistic.by) return;
  check("keys"_field, statistic.by->column, statistic.by->keys);
  for (const auto& more : statistic.by->beside) check("keys"_field, more.column, more.keys);
}

/// \throws PlanError for a field that is missing or out of place.
WeightedStatistic query_of(const SaidOfQuery& said, const QueryContext& context) {
  const AskedStatistic asked{said, context};
  WeightedStatistic query{
      .statistic = {.of = CountOf{}, .adjacency = context.target.adjacency, .by = groups_of(said), .unit = context.unit},
      .weight = said.weight};
  auto& statistic = query.statistic;
  statistic.of = asked.kind();
  statistic.group_cap = asked.group_cap();
  if (said.where) statistic.where = condition_of(said, statistic, context.schema, context.format);
  require_possible_texts(said, statistic, context.schema);
  statistic.dates = dates_of(said, statistic, context.schema);
  if (const auto* const read = column_of(statistic)) {
    statistic.missing = context.format.missing.contains(*read)    ? MissingCells::count_as_a_value
                        : context.format.complete.contains(*read) ? MissingCells::promised_complete
                                                                  : MissingCells::left_out;
  }
  try {
    query.validate();
  } catch (const Error& error) {
    if (said.place.empty()) throw;
    said.refuse("{}", error.what());
  }
  return query;
}

/// A field of an object, checked.
class Member {
 public:
  Member(const SaidOfQuery& said, std::string_view name, const nlohmann::json& value) : said_{said}, name_{name}, value_{value} {}

  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) refuse("a text");
    return accounting::text_of(value_, name_);
  }
  [[nodiscard]] double number() const {
    if (!value_.is_number()) refuse("a number");
    return accounting::number_of(value_, name_);
  }
  [[nodiscard]] std::uint64_t whole() const {
    if (!value_.is_number_unsigned()) refuse("a whole number");
    return accounting::whole_number_of(value_, name_);
  }
  [[nodiscard]] Bounds bounds() const {
    if (!value_.is_array() || value_.size() != 2 || !value_[0].is_number() || !value_[1].is_number()) refuse("[lower, upper]");
    return {accounting::number_of(value_[0], name_), accounting::number_of(value_[1], name_)};
  }
  [[nodiscard]] Categories texts() const {
    const auto is_text = [](const nlohmann::json& one) { return one.is_string(); };
    if (!value_.is_array() || !std::all_of(value_.begin(), value_.end(), is_text)) refuse("a list of texts");
    return {accounting::texts_of(value_, name_)};
  }
  /// A text, or a list of texts.
  [[nodiscard]] std::vector<std::string> names() const { return value_.is_array() ? texts().names : std::vector{text()}; }
  [[nodiscard]] std::vector<double> numbers() const {
    const auto is_number = [](const nlohmann::json& one) { return one.is_number(); };
    if (!value_.is_array() || !std::all_of(value_.begin(), value_.end(), is_number)) refuse("a list of numbers");
    return accounting::numbers_of(value_, name_);
  }
  /// One list of texts; or, of several columns, such a list or bins for each.
  [[nodiscard]] std::vector<Cells> keys() const {
    const auto is_of_columns = value_.is_array() && !value_.empty() &&
                               std::none_of(value_.begin(), value_.end(), [](const nlohmann::json& one) { return one.is_string(); });
    if (!is_of_columns) return {texts()};
    std::vector<Cells> all;
    for (const auto& one : value_) {
      const bool has_bins = one.is_object() && one.size() == 2 && one.contains("bounds") && one.contains("bins");
      if (!has_bins && !one.is_array())
        refuse("a list of texts, or of lists of texts and of {\"bounds\": [lower, upper], \"bins\": count}");
      if (has_bins) {
        all.emplace_back(Bins{Member{said_, "bounds", one["bounds"]}.bounds(), Member{said_, "bins", one["bins"]}.whole()});
      } else {
        all.emplace_back(Member{said_, name_, one}.texts());
      }
    }
    return all;
  }
  [[nodiscard]] std::map<std::string, std::string> types() const {
    const auto is_known = [&](const nlohmann::json& one) {
      return one.is_string() && std::find(column_types.begin(), column_types.end(), accounting::text_of(one, name_)) != column_types.end();
    };
    if (!value_.is_object() || !std::all_of(value_.begin(), value_.end(), is_known)) {
      refuse("an object of columns, each number, text, date, integer or boolean");
    }
    std::map<std::string, std::string> types;
    for (const auto& [column, type] : value_.items()) types.emplace(column, accounting::text_of(type, name_));
    return types;
  }

 private:
  [[noreturn]] void refuse(std::string_view needed) const {
    said_.refuse("'{}' is {}, must be {}", name_, one_line(value_.dump()), needed);
  }
  const SaidOfQuery& said_;
  std::string_view name_;
  const nlohmann::json& value_;
};

/// The function of an object, which has it as a value of its own with its column and fractions, or on the command line and in plans of version 1
/// as the text of a query. \throws PlanError for another form than the grammar has, and for columns or fractions that the function does not take.
void read_function(SaidOfQuery& said, const nlohmann::json& object, QueryGrammar grammar) {
  if (grammar == QueryGrammar::plan_1) {
    for (const auto* const field : {"function", "column", "fractions"}) {
      if (object.contains(field)) said.refuse("unknown field '{}', must be 'query' in a plan of version 1", field);
    }
    if (!object.contains("query")) said.refuse("field 'query' is missing");
  }
  if (object.contains("query")) {
    if (grammar == QueryGrammar::plan_2) {
      said.refuse("field 'query' is for plans of version 1, must be 'function' with 'column' and 'fractions' in version 2");
    }
    for (const auto* const field : {"function", "column", "fractions"}) {
      if (object.contains(field)) said.refuse("'{}' is given beside 'query', must be one of them", field);
    }
    if (grammar == QueryGrammar::plan_1) said.query = query_text_of_version_1(said.query, false);
    return read_text(said, false);
  }
  if (!object.contains("function")) said.refuse("field 'function' is missing");
  const auto known =
      std::find_if(function_names.begin(), function_names.end(), [&](const auto& one) { return one.first == said.function; });
  if (known == function_names.end()) {
    std::vector<std::string_view> names;
    for (const auto& [name, function] : function_names) names.push_back(name);
    said.refuse("'function' is '{}', must be {}{}", one_line(said.function), fmt::format("{}", fmt::join(names, ", ")),
                did_you_mean(said.function, names));
  }
  said.asked.function = known->second;
  said.query = describe(said.asked);
  const auto& [function, columns, fractions] = said.asked;
  const bool has_column = function != Function::count && function != Function::count_units;
  if (!has_column && object.contains("column")) said.refuse("'column' is not for {}(), must be left out", said.function);
  if (has_column && (columns.empty() || std::find(columns.begin(), columns.end(), "") != columns.end())) {
    said.refuse("'column' is {}, must name a column", object.contains("column") ? "empty" : "missing");
  }
  if (columns.size() > 1 && function != Function::distinct) said.refuse("'column' is a list, must be one text for {}()", said.function);
  if (function == Function::quantile && fractions.empty()) said.refuse("'fractions' is missing, must be such as [0.25, 0.5, 0.75]");
  if (function != Function::quantile && object.contains("fractions")) {
    said.refuse("'fractions' is not for {}(), must be left out", said.function);
  }
}

SaidOfQuery said_by(const nlohmann::json& object, const FieldText& place, QueryGrammar grammar) {
  SaidOfQuery said{.place = place, .is_object = true};
  if (!object.is_object()) said.refuse("must be a JSON object");
  for (const auto& [name, value] : object.items()) {
    const Member field{said, name, value};
    if (name == "query") {
      said.query = field.text();
    } else if (name == "function") {
      said.function = field.text();
    } else if (name == "column") {
      said.asked.columns = field.names();
    } else if (name == "fractions") {
      said.asked.fractions = field.numbers();
    } else if (name == "where") {
      said.where = field.text();
    } else if (name == "bounds") {
      said.bounds = field.bounds();
    } else if (name == "clip_unit_sum") {
      said.clip_unit_sum = field.bounds();
    } else if (name == "bins") {
      said.bins = field.whole();
    } else if (name == "categories") {
      said.categories = field.texts();
    } else if (name == "candidates") {
      said.candidates = field.whole();
    } else if (name == "most_keys") {
      said.most_keys = field.whole();
    } else if (name == "by") {
      said.by = field.names();
      if (said.by.empty()) said.refuse("'by' is an empty list, must name a column");
    } else if (name == "keys" && value == discovered) {
      said.discovers_keys = true;
    } else if (name == "keys") {
      said.keys = field.keys();
    } else if (name == "key_bounds") {
      said.key_bounds = field.bounds();
    } else if (name == "key_bins") {
      said.key_bins = field.whole();
    } else if (name == "most_per_group") {
      said.most_per_group = field.whole();
    } else if (name == "types") {
      said.types = field.types();
    } else if (name == "weight") {
      said.weight = field.number();
    } else {
      constexpr std::array<std::string_view, 18> fields{
          "function",   "column",    "fractions", "query", "where",      "bounds",   "clip_unit_sum",  "bins",  "categories",
          "candidates", "most_keys", "by",        "keys",  "key_bounds", "key_bins", "most_per_group", "types", "weight"};
      said.refuse("unknown field '{}'{}", one_line(name), did_you_mean(name, fields));
    }
  }
  read_function(said, object, grammar);
  return said;
}

std::optional<Bounds> bounds_in(const SchemaColumn* column) {
  if (column == nullptr || !column->bounds) return std::nullopt;
  return Bounds{column->bounds->lower, column->bounds->upper};
}

std::optional<Categories> categories_in(const SchemaColumn* column) {
  if (column == nullptr || !column->categories) return std::nullopt;
  return Categories{*column->categories};
}

/// With what the schema says of its columns, where nobody said it of the query.
SaidOfQuery with_schema(SaidOfQuery said, const Schema* schema) {
  if (schema == nullptr) return said;
  const auto function = said.asked.function;
  const auto* const column = said.asked.columns.empty() ? nullptr : schema->find(said.asked.columns.front());
  const bool is_histogram = function == Function::histogram;
  if (is_histogram && !said.categories && !said.bins && !said.bounds) said.categories = categories_in(column);
  const bool needs_bounds = function == Function::sum || function == Function::mean || function == Function::variance ||
                            is_quantile(function) || (is_histogram && said.bins);
  if (needs_bounds && column != nullptr && (column->type == "text" || column->type == "date")) {
    said.refuse("{} is '{}', whose column is a {} by {}, must be one of numbers", "query"_field, one_line(said.query), *column->type,
                "schema"_field);
  }
  if (needs_bounds && !said.bounds && !said.clip_unit_sum) said.bounds = bounds_in(column);
  if (said.by.empty()) return said;
  if (said.keys.empty() && !said.discovers_keys && !said.key_bounds && !said.key_bins) {
    for (const auto& by : said.by) {
      if (auto its = categories_in(schema->find(by))) said.keys.emplace_back(*std::move(its));
    }
    if (said.keys.size() < said.by.size()) said.keys.clear();
  }
  if (said.key_bins && !said.key_bounds) said.key_bounds = bounds_in(schema->find(said.by.front()));
  return said;
}

bool is_object_text(const std::string& query) { return trimmed(query).starts_with('{'); }

SaidOfQuery said_in_words(const QueryFields& options, const std::string& query) {
  SaidOfQuery said{.query = query,
                   .where = options.where,
                   .bins = options.bins,
                   .candidates = options.candidates,
                   .most_keys = options.most_keys,
                   .key_bins = options.key_bins,
                   .most_per_group = options.most_per_group};
  const auto ends = [](const std::string& text, std::string_view option) {
    const auto [lower, upper] = parse_ends(text, option);
    return Bounds{lower, upper};
  };
  if (options.clip_unit_sum) said.clip_unit_sum = ends(*options.clip_unit_sum, "clip-unit-sum");
  if (options.categories) said.categories = Categories{parse_values(*options.categories, "categories")};
  said.discovers_keys = options.keys && trimmed(*options.keys) == discovered;
  if (options.by) said.by = parse_values(*options.by, "by");
  if (options.keys && !said.discovers_keys) {
    if (said.by.size() > 1) {
      for (auto& list : parse_lists(*options.keys, "keys")) said.keys.emplace_back(Categories{std::move(list)});
    } else {
      said.keys.emplace_back(Categories{parse_values(*options.keys, "keys")});
    }
  }
  if (options.key_bounds) said.key_bounds = ends(*options.key_bounds, "key-bounds");
  return said;
}

/// The column of numbers that is clamped to bounds; nothing where there is none.
std::optional<std::string> bounded_column(const SaidOfQuery& said) {
  const auto function = said.asked.function;
  const bool has_bounds = function == Function::sum || function == Function::mean || function == Function::variance ||
                          is_quantile(function) || (function == Function::histogram && !said.categories);
  return has_bounds && !said.asked.columns.empty() ? std::optional{said.asked.columns.front()} : std::nullopt;
}

/// Bounds that were said beside queries in words.
class SharedBounds {
 public:
  explicit SharedBounds(const std::vector<std::string>& texts) {
    for (const auto& text : texts) {
      if (text.find('=') == std::string::npos) {
        if (of_all_) refuse_plan("{} is given twice without a column, must be column=lower,upper for each column", "bounds"_field);
        of_all_ = ends_of(text);
        continue;
      }
      const auto [column, rest] = split_at_column(text, "bounds", "lower,upper or column=lower,upper", false);
      if (!of_column_.emplace(column, ends_of(rest)).second) refuse_plan("{} names column '{}' twice", "bounds"_field, one_line(column));
    }
  }

  /// With the bounds of its column, or with those of all columns; a clip of the sum of a unit takes their place.
  void give(SaidOfQuery& said) {
    const auto column = bounded_column(said);
    const auto found = column ? of_column_.find(*column) : of_column_.end();
    if (found != of_column_.end()) {
      used_.insert(*column);
      if (!said.clip_unit_sum) said.bounds = found->second;
    } else if (of_all_) {
      said.bounds = of_all_;
    }
  }
  [[nodiscard]] bool has_own(const std::string& column) const { return of_column_.contains(column); }
  void require_used() const {
    for (const auto& [column, bounds] : of_column_) {
      if (!used_.contains(column))
        refuse_plan("{} names column '{}', which none of the queries clamps; leave it out", "bounds"_field, one_line(column));
    }
  }
  [[nodiscard]] const std::optional<Bounds>& of_all() const noexcept { return of_all_; }

 private:
  static Bounds ends_of(std::string_view text) {
    const auto [lower, upper] = parse_ends(text, "bounds");
    return {lower, upper};
  }

  std::optional<Bounds> of_all_;
  std::map<std::string, Bounds> of_column_;
  std::set<std::string> used_;
};

/// What was said once, and of which columns it would then be.
class OnceForAll {
 public:
  void take(const std::string& column) {
    if (std::find(columns_.begin(), columns_.end(), column) == columns_.end()) columns_.push_back(column);
  }
  /// \throws PlanError where it would be of several columns.
  void require_one(std::string_view field) const {
    if (columns_.size() < 2) return;
    if (field == "bounds") {
      refuse_plan("{} is given once for {} columns ({}); give each column its own: {} {}=lower,upper {} {}=lower,upper", "bounds"_field,
                  columns_.size(), names(), "bounds"_field, form(columns_[0]), "bounds"_field, form(columns_[1]));
    }
    refuse_plan("{} is given once for {} columns ({}); say each query as a JSON object with its own", FieldName{field}, columns_.size(),
                names());
  }

 private:
  [[nodiscard]] std::string names() const {
    std::string text;
    for (const auto& column : columns_) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", one_line(column));
    return text;
  }
  /// As an option names it.
  static std::string form(const std::string& column) {
    return one_line(column.find_first_of("=,\" ") == std::string::npos ? column : list_text({column}));
  }

  std::vector<std::string> columns_;
};

/// Leaves to a query what it needs of options that several share.
SaidOfQuery with_what_it_needs(SaidOfQuery said) {
  const auto function = said.asked.function;
  if (function != Function::histogram) {
    said.bins.reset();
    said.categories.reset();
  }
  if (!has_most_keys(function) && !said.discovers_keys) said.most_keys.reset();
  if (!has_group_cap(said)) said.most_per_group.reset();
  const bool is_count = function == Function::count || function == Function::count_units || function == Function::count_distinct;
  if (is_count || function == Function::keys || function == Function::distinct || (function == Function::histogram && said.categories))
    said.bounds.reset();
  if (said.categories) said.bins.reset();
  if (function != Function::sum) said.clip_unit_sum.reset();
  if (said.clip_unit_sum) said.bounds.reset();
  if (!is_quantile(function)) said.candidates.reset();
  return said;
}

}  // namespace

void QueryFields::add(FieldTable& table) {
  table.add(
      "query", queries,
      field_text(
          "count(), count(units), count(distinct column), sum(column), mean(column), variance(column), median(column), quantile(column, fraction, ...), histogram(column), keys(column) or, for keys without counts, distinct(column, ...). A name with a comma, a quote or a parenthesis, or with blanks around it, stands in double quotes, each quote inside twice: 'mean(\"age, 0.5\")'. Behind it, if need be, a condition: 'count() where age>40'; may be repeated: all are released in one charge, each with noise of its own. Or a JSON object, as in {}",
          "queries"_field));
  table.add(
      "queries", file,
      field_text(
          "A JSON file of queries for one charge: a list of objects with \"function\" (count, count_units, count_distinct, sum, mean, variance, median, quantile, histogram, keys or distinct), \"column\" (of distinct also a list) and \"fractions\" (of quantile a list), or with \"query\", a text as {} has it, and, as needed, \"where\", \"bounds\": [lower, upper], \"bins\", \"categories\": [...], \"candidates\", \"most_keys\", \"by\", \"keys\": [...], \"key_bounds\", \"key_bins\", \"most_per_group\" (of several columns \"by\": [...] and \"keys\": [[...], {{\"bounds\": [lower, upper], \"bins\": 9}}]), and \"weight\": with weight 4 a query has half the noise of one with weight 1",
          "query"_field));
  table.add(
      "where", where,
      field_text(
          "Only records that meet a condition: comparisons of a column with a number or a text, with and, or, not and parentheses, such as 'visits>0' or 'class==\"New York, NY\" and not (age<18)'. A damaged cell meets no comparison, nor its not; missing(column) and present(column) ask for it. A column that {} calls a date is compared with days: 'admission>=2017-06-01'",
          "schema"_field));
  table.add(
      "bounds", bounds,
      "lower,upper, known without looking at the data: numbers are clamped to them. Where queries clamp several columns, column=lower,upper for each; may be repeated");
  table.add(
      "clip-unit-sum", clip_unit_sum,
      field_text(
          "Sum, in the place of {}: lower,upper, known without looking at the data, to which what all used rows of a unit add up to is clipped",
          "bounds"_field));
  table.add("bins", bins, "Histogram: this many cells of equal width between the bounds", WholeNumber{2, most_cells});
  table
      .add(
          "categories", categories,
          "Histogram: text,text,...: one cell for each text, known without looking at the data; others are in no cell. Blanks around a text do not count, and one with a comma stands in quotes: 'Rome, \"New York, NY\"'")
      .is_of_values();
  table.add(
      "candidates", candidates,
      "Median and quantile: choose one of this many equally spaced numbers from one bound to the other; some 16,000 unless given, with whole numbers among them where both bounds are",
      WholeNumber{2, Candidates::most});
  table.add(
      "most-keys", most_keys,
      "Keys, discovered groups and different texts: how many of a unit count, at most; as many as its rows unless given. Keys are texts that nobody listed, each shown where more units hold it than a threshold, at delta > 0",
      WholeNumber{1, std::uint64_t{1} << 20});
  table.add(
      "by", by,
      field_text(
          "Each statistic for each group of this column, or of up to three: 'sex,region', where {}, or {} and {} of one, say which there are. A name with a comma stands in quotes",
          "keys"_field, "key-bounds"_field, "key-bins"_field));
  table
      .add(
          "keys", keys,
          field_text(
              "text,text,...: the groups, known without looking at the data and written as {}; others are in none. Of several columns a list each, with ; between: 'f,m; north,south' are four groups. Or, for a mean and count(units), discovered: the groups that nobody listed, each shown where more units are in it than a threshold, at delta > 0; the mean is that of its units' own means. Of a unit {} groups count",
              "categories"_field, "most-keys"_field))
      .is_of_values();
  table.add("key-bounds", key_bounds, "lower,upper of groups by a number; those beyond are in the outer groups");
  table.add("key-bins", key_bins, field_text("This many groups of equal width between {}", "key-bounds"_field), WholeNumber{2, most_cells});
  table.add(
      "most-per-group", most_per_group,
      "Of a unit at most this many rows count in each listed group, the first of those that are used; as many as are used unless given",
      WholeNumber{1, std::uint64_t{1} << 53});
}

void QueryFields::take_file() {
  if (!file) return;
  constexpr std::size_t largest = std::size_t{1} << 20;
  const auto text = read_text(*file, largest, "a list of queries");
  const auto refuse = [&](const std::string& reason) { throw Error{ErrorCode::bad_data, fmt::format("{}: {}", one_line(*file), reason)}; };
  nlohmann::json list;
  try {
    constexpr int deepest = 5;
    list = accounting::parse_strict_json(text, deepest, "list of queries");
  } catch (const Error& error) {
    refuse(error.what());
  }
  if (!list.is_array() || list.empty()) refuse("is no list of queries, must be a JSON list of objects");
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (!list[k].is_object()) refuse(fmt::format("query {} must be a JSON object", k + 1));
    texts.push_back(list[k].dump());
  }
  file.reset();
  queries = std::move(texts);
}

namespace {

void share_delta(std::vector<WeightedStatistic>& queries, Delta delta) {
  const auto keys_of = [](WeightedStatistic& query) {
    auto* const means = std::get_if<GroupMeansOf>(&query.statistic.of);
    return means != nullptr ? &means->keys : std::get_if<KeysOf>(&query.statistic.of);
  };
  const auto sharing = std::count_if(queries.begin(), queries.end(), [&](WeightedStatistic& query) { return keys_of(query) != nullptr; });
  // Keys are asked which they are, so their threshold is to be low; means how far they are off, which is the noise alone (keys.md#keys).
  const bool asks_for_means = std::any_of(queries.begin(), queries.end(),
                                          [](const auto& query) { return std::holds_alternative<GroupMeansOf>(query.statistic.of); });
  const double parts = asks_for_means ? 10 : 2;
  for (auto& query : queries) {
    auto* const keys = keys_of(query);
    if (keys == nullptr) continue;
    keys->chance = Delta{delta.value() / (parts * static_cast<double>(sharing))};
    // Where no noise needs the rest, all but what calibration needs.
    if (keys->hides_counts) keys->chance_of_selection = queries.size() == 1 ? Delta{delta.value() * (1 - 0x1p-20)} : keys->chance;
  }
}

}  // namespace

std::vector<WeightedStatistic> parse_queries(const QueryFields& options, const QueryContext& context) {
  const auto& texts = options.queries;
  if (texts.size() > ReleasePlan::most_queries) {
    refuse_plan("there are {} queries, must be at most {}", texts.size(), ReleasePlan::most_queries);
  }
  const auto in_words = std::count_if(texts.begin(), texts.end(), [](const std::string& text) { return !is_object_text(text); });
  SaidOfQuery unused = said_in_words(options, {});
  SharedBounds bounds{options.bounds};
  unused.bounds = bounds.of_all();
  OnceForAll columns_of_bounds, columns_of_clip, columns_of_categories;
  std::vector<WeightedStatistic> queries;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const auto place = texts.size() == 1 ? field_text("{}: ", "query"_field) : field_text("query {}: ", k + 1);
    if (is_object_text(texts[k])) {
      constexpr int deepest = 4;
      const auto object = or_refused([&] { return accounting::parse_strict_json(texts[k], deepest, "the object"); },
                                     [&](const std::string& reason) { refuse_plan("{}{}", place, reason); });
      queries.push_back(query_of(with_schema(said_by(object, place, options.grammar), context.schema), context));
      continue;
    }
    const bool is_of_version_1 = options.grammar == QueryGrammar::plan_1;
    auto said = said_in_words(options, is_of_version_1 ? query_text_of_version_1(texts[k], true) : texts[k]);
    if (in_words > 1) said.place = place;
    if (options.grammar == QueryGrammar::plan_2) {
      said.refuse("{} is '{}', must be an object with 'function', 'column' and 'fractions' in a plan of version 2", "query"_field,
                  one_line(texts[k]));
    }
    read_text(said, true);
    bounds.give(said);
    if (in_words > 1) said = with_what_it_needs(std::move(said));
    const auto bounded = bounded_column(said);
    const bool has_shared_bounds = said.bounds && !(bounded && bounds.has_own(*bounded));
    if (bounded && has_shared_bounds) columns_of_bounds.take(*bounded);
    if (!said.asked.columns.empty()) {
      if (said.clip_unit_sum) columns_of_clip.take(said.asked.columns.front());
      if (said.categories) columns_of_categories.take(said.asked.columns.front());
    }
    if (said.where) unused.where.reset();
    if (has_shared_bounds) unused.bounds.reset();
    if (said.clip_unit_sum) unused.clip_unit_sum.reset();
    if (said.bins) unused.bins.reset();
    if (said.categories) unused.categories.reset();
    if (said.candidates) unused.candidates.reset();
    if (said.most_keys) unused.most_keys.reset();
    if (!said.by.empty()) unused.by.clear();
    if (!said.keys.empty()) unused.keys.clear();
    if (said.discovers_keys) unused.discovers_keys = false;
    if (said.key_bounds) unused.key_bounds.reset();
    if (said.key_bins) unused.key_bins.reset();
    if (said.most_per_group) unused.most_per_group.reset();
    queries.push_back(query_of(with_schema(said, context.schema), context));
  }
  bounds.require_used();
  if (!context.shares_among_columns) {
    columns_of_bounds.require_one("bounds");
    columns_of_clip.require_one("clip-unit-sum");
    columns_of_categories.require_one("categories");
  }
  const auto refuse_unused = [](bool is_unused, std::string_view field) {
    if (is_unused) refuse_plan("{} is for none of the queries, must be left out (a query in JSON says all itself)", FieldName{field});
  };
  refuse_unused(unused.where.has_value(), "where");
  refuse_unused(unused.bounds.has_value(), "bounds");
  refuse_unused(unused.clip_unit_sum.has_value(), "clip-unit-sum");
  refuse_unused(unused.bins.has_value(), "bins");
  refuse_unused(unused.categories.has_value(), "categories");
  refuse_unused(unused.candidates.has_value(), "candidates");
  refuse_unused(unused.most_keys.has_value(), "most-keys");
  refuse_unused(!unused.by.empty(), "by");
  refuse_unused(!unused.keys.empty() || unused.discovers_keys, "keys");
  refuse_unused(unused.key_bounds.has_value(), "key-bounds");
  refuse_unused(unused.key_bins.has_value(), "key-bins");
  refuse_unused(unused.most_per_group.has_value(), "most-per-group");
  share_delta(queries, context.target.delta);
  return queries;
}

}  // namespace surety::jobs
