#include <surety/statistics/query.h>

#include <algorithm>

#include <fmt/format.h>

#include <surety/base/numbers/overload.h>
#include <surety/base/text/error.h>
#include <surety/base/text/quoted_text.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>
#include <surety/statistics/quantile_intervals.h>

namespace surety::statistics {

using namespace data;
namespace {

bool is_median(const QuantileOf& quantile) { return quantile.fractions == Fractions{Fraction::median()}; }

/// \throws Error{invalid_argument} for the texts of a unit beyond its rows, and for groups.
void validate_texts(const Statistic& statistic, Count most_keys, std::string_view what) {
  if (statistic.by) invalid(fmt::format("{} is of {}, must be asked without groups", describe(statistic), what));
  if (most_keys.value() > statistic.unit.most().value()) {
    invalid(fmt::format("the keys of a unit are {}, must be at most the {} of its rows", most_keys.value(), statistic.unit.most().value()));
  }
}

bool tells_units_apart(const Statistic& statistic) {
  return statistic.group_cap || std::holds_alternative<UnitsOf>(statistic.of) || std::holds_alternative<UnitSumOf>(statistic.of) ||
         std::holds_alternative<DistinctOf>(statistic.of) || keys_of(statistic) != nullptr;
}

}  // namespace

void Statistic::validate() const {
  if (const auto* const bounds = bounds_of(*this)) statistics::validate(*bounds);
  const auto* const histogram = std::get_if<HistogramOf>(&of);
  if (histogram != nullptr) statistics::validate(histogram->cells);
  const auto* const mode = std::get_if<ModeOf>(&of);
  if (mode != nullptr) {
    statistics::validate(Cells{mode->categories});
    const std::size_t texts = mode->categories.names.size();
    if (texts < 2 || texts > most_cells) invalid(fmt::format("the texts of a mode are {}, must be from 2 to 2^20", texts));
    // Each is a release whose cost is a game of all choices.
    constexpr std::size_t most_chosen = 1024;
    const std::size_t most = std::min(most_chosen, texts - 1);
    if (mode->top < 1 || mode->top > most) {
      invalid(
          fmt::format("the number of most frequent texts is {}, must be from 1 to {}: at most 1024, and fewer than the {} that are listed",
                      mode->top, most, texts));
    }
  }
  if (const auto* const variance = std::get_if<VarianceOf>(&of)) {
    const double width = variance->bounds.upper - variance->bounds.lower;
    if (!(width >= 0x1p-400 && width <= 0x1p500)) {
      invalid(fmt::format("bounds are {} and {}, must be from 2^-400 to 2^500 apart, whose squares are numbers", variance->bounds.lower,
                          variance->bounds.upper));
    }
  }
  if (const auto* const quantile = std::get_if<QuantileOf>(&of)) {
    const auto candidates = candidates_of(*quantile).count();
    if (by && number_of(*by) > Candidates::most / candidates) {
      invalid(fmt::format("{} groups of {} candidates are more than 2^22, must be fewer", number_of(*by), candidates));
    }
    if (quantile->has_interval && quantile->fractions.size() > QuantileIntervals::most_fractions) {
      invalid(fmt::format("the fractions of a quantile with intervals are {}, must be at most {}", quantile->fractions.size(),
                          QuantileIntervals::most_fractions));
    }
  }
  if (const auto* const keys = keys_of(*this)) {
    validate_texts(*this, keys->most_keys, "keys");
    validate_columns(columns_of(*keys));
  }
  if (const auto* const distinct = std::get_if<DistinctOf>(&of)) validate_texts(*this, distinct->most_keys, "different texts");
  if (const auto* const sum = std::get_if<UnitSumOf>(&of); sum != nullptr && by && sum->clip.lower != -sum->clip.upper) {
    invalid(fmt::format("the clip of {} is {} and {}, must be -C and C: of groups it is the norm of what a unit adds to all of them",
                        describe(*this), sum->clip.lower, sum->clip.upper));
  }
  if (group_cap) {
    const bool is_of_rows = keys_of(*this) == nullptr && !std::holds_alternative<UnitsOf>(of) && !std::holds_alternative<DistinctOf>(of) &&
                            !std::holds_alternative<UnitSumOf>(of);
    if (!by || !is_of_rows) invalid(fmt::format("a cap of a unit's rows in each group is not for {}, must be left out", describe(*this)));
    if (group_cap->most.value() > unit.most().value()) {
      invalid(fmt::format("the rows of a unit in each group are {}, must be at most the {} of its rows", group_cap->most.value(),
                          unit.most().value()));
    }
  }
  if (tells_units_apart(*this) && unit.most().value() > 1 && owner_of(*this) == nullptr) {
    invalid(fmt::format("{} needs the column that names the owner of a row", describe(*this)));
  }
  if (expression && !(reads_numbers(*this) && *column_of(*this) == expression->text())) {
    invalid(fmt::format("the expression '{}' is given for {}, must be for a sum, mean, variance, quantile or histogram of its numbers",
                        one_line(expression->text(), 120), one_line(describe(*this), 120)));
  }
  if (by) {
    statistics::validate(*by);
    const std::size_t groups = number_of(*by);
    const std::size_t numbers = histogram != nullptr ? number_of(histogram->cells) : mode != nullptr ? mode->categories.names.size() : 1;
    if (groups > most_numbers / numbers) {
      invalid(fmt::format("{} groups of {} cells are more than 2^20 numbers, must be fewer", groups, numbers));
    }
  }
}

Candidates candidates_of(const QuantileOf& quantile) {
  return quantile.candidates ? Candidates{quantile.bounds, *quantile.candidates} : Candidates::between(quantile.bounds);
}

bool has_public_size(Adjacency adjacency, const UnitOfPrivacy& unit) noexcept {
  return adjacency != Adjacency::add_or_remove_one && unit.most().value() == 1;
}

bool Statistic::has_public_count() const noexcept {
  return !where && !by && !std::holds_alternative<UnitSumOf>(of) && !leaves_out_missing_cells(*this) && has_public_size(adjacency, unit);
}

bool is_choice(const Statistic& statistic) noexcept {
  return std::holds_alternative<QuantileOf>(statistic.of) || std::holds_alternative<ModeOf>(statistic.of);
}

bool has_numbers(const Statistic& statistic) noexcept {
  const auto* const keys = std::get_if<KeysOf>(&statistic.of);
  return !std::holds_alternative<ModeOf>(statistic.of) && !(keys != nullptr && keys->hides_counts);
}

bool is_public(const Statistic& statistic) noexcept {
  if (std::holds_alternative<CountOf>(statistic.of)) return statistic.has_public_count();
  return std::holds_alternative<UnitsOf>(statistic.of) && !statistic.where && !statistic.by &&
         statistic.adjacency != Adjacency::add_or_remove_one;
}

bool leaves_out_missing_cells(const Statistic& statistic) noexcept {
  return bounds_of(statistic) != nullptr && statistic.missing == MissingCells::left_out;
}

namespace {

/// "sex, \"region, old\"".
std::string names_text(const std::vector<std::string>& columns) {
  std::string text;
  for (const auto& column : columns) text += (text.empty() ? "" : ", ") + query_name(column);
  return text;
}

/// " by sex, region", or nothing.
std::string groups_text(const Statistic& statistic) {
  if (statistic.by) {
    return " by " + names_text(columns_of(*statistic.by)) +
           (statistic.group_cap ? fmt::format(" ({} of a unit in each)", statistic.group_cap->most.value()) : std::string{});
  }
  const auto* const keys = keys_of(statistic);
  if (keys == nullptr || (std::holds_alternative<KeysOf>(statistic.of) && (keys->beside.empty() || keys->hides_counts))) return {};
  return " by discovered " + names_text(columns_of(*keys));
}

}  // namespace

std::string query_name(std::string_view column) {
  const bool is_plain = !column.empty() && column == trimmed(column) && std::none_of(column.begin(), column.end(), [](char c) {
    return c == '"' || c == ',' || c == '(' || c == ')' || static_cast<unsigned char>(c) < ' ';
  }) && !has_signs_of_expression(column);
  return is_plain ? std::string{column} : double_quoted(column);
}

std::string describe(const Statistic& statistic) {
  const auto* const column = column_of(statistic);
  const char* const function = std::visit(
      Overload{[](const CountOf&) { return "count"; }, [](const SumOf&) { return "sum"; }, [](const MeanOf&) { return "mean"; },
               [](const VarianceOf&) { return "variance"; },
               [](const QuantileOf& quantile) { return is_median(quantile) ? "median" : "quantile"; },
               [](const HistogramOf&) { return "histogram"; }, [](const KeysOf& keys) { return keys.hides_counts ? "distinct" : "keys"; },
               [](const UnitsOf&) { return "count"; }, [](const DistinctOf&) { return "count"; },
               [](const GroupMeansOf&) { return "mean"; }, [](const UnitSumOf&) { return "sum"; }, [](const ModeOf&) { return "mode"; }},
      statistic.of);
  const auto* const keys = std::get_if<KeysOf>(&statistic.of);
  const auto* const quantile = std::get_if<QuantileOf>(&statistic.of);
  const bool counts_units_of_tuples = keys != nullptr && !keys->beside.empty() && !keys->hides_counts;
  std::string asked;
  if (counts_units_of_tuples || std::holds_alternative<UnitsOf>(statistic.of)) {
    asked = "units";
  } else if (keys != nullptr) {
    asked = names_text(columns_of(*keys));
  } else if (column != nullptr) {
    asked = (std::holds_alternative<DistinctOf>(statistic.of) ? "distinct " : "") +
            (statistic.expression ? statistic.expression->text() : query_name(*column));
  }
  if (quantile != nullptr && !is_median(*quantile)) {
    for (const auto fraction : quantile->fractions.all()) asked += fmt::format(", {}", fraction.value());
  }
  return fmt::format("{}({}){}{}", counts_units_of_tuples ? "count" : function, asked, groups_text(statistic),
                     statistic.where ? " where " + describe(*statistic.where) : std::string{});
}

Count most_rows(const Statistic& statistic) {
  const std::uint64_t used = statistic.unit.most().value();
  if (!statistic.group_cap || !statistic.by) return Count{used};
  const std::uint64_t cap = statistic.group_cap->most.value();
  const std::uint64_t groups = number_of(*statistic.by);
  return Count{cap > used / groups ? used : cap * groups};
}

std::vector<std::string> columns_of(const KeysOf& keys) {
  std::vector<std::string> columns{keys.column};
  columns.insert(columns.end(), keys.beside.begin(), keys.beside.end());
  return columns;
}

const RowOwner* owner_of(const Statistic& statistic) noexcept {
  const auto found = [](const std::optional<RowOwner>& owner) { return owner ? &*owner : nullptr; };
  if (statistic.group_cap) return found(statistic.group_cap->owner);
  if (const auto* const units = std::get_if<UnitsOf>(&statistic.of)) return found(units->owner);
  if (const auto* const distinct = std::get_if<DistinctOf>(&statistic.of)) return found(distinct->owner);
  if (const auto* const sum = std::get_if<UnitSumOf>(&statistic.of)) return found(sum->owner);
  if (const auto* const keys = keys_of(statistic)) return found(keys->owner);
  return nullptr;
}

const KeysOf* keys_of(const Statistic& statistic) noexcept {
  if (const auto* const means = std::get_if<GroupMeansOf>(&statistic.of)) return &means->keys;
  return std::get_if<KeysOf>(&statistic.of);
}

const std::string* column_of(const Statistic& statistic) noexcept {
  return std::visit(
      Overload{[](const CountOf&) -> const std::string* { return nullptr; }, [](const UnitsOf&) -> const std::string* { return nullptr; },
               [](const GroupMeansOf& of) -> const std::string* { return &of.mean.column; },
               [](const auto& of) -> const std::string* { return &of.column; }},
      statistic.of);
}

std::string term_of(const Statistic& statistic) {
  return statistic.expression ? "(" + statistic.expression->text() + ")" : *column_of(statistic);
}

bool reads_numbers(const Statistic& statistic) noexcept {
  const auto* const histogram = std::get_if<HistogramOf>(&statistic.of);
  if (histogram != nullptr) return are_of_numbers(histogram->cells);
  return bounds_of(statistic) != nullptr || std::holds_alternative<QuantileOf>(statistic.of);
}

std::vector<std::string> columns_of_numbers(const Statistic& statistic) {
  if (!reads_numbers(statistic)) return {};
  return statistic.expression ? statistic.expression->columns() : std::vector{*column_of(statistic)};
}

const Bounds* bounds_of(const Statistic& statistic) noexcept {
  if (const auto* const sum = std::get_if<SumOf>(&statistic.of)) return &sum->bounds;
  if (const auto* const mean = std::get_if<MeanOf>(&statistic.of)) return &mean->bounds;
  if (const auto* const means = std::get_if<GroupMeansOf>(&statistic.of)) return &means->mean.bounds;
  if (const auto* const sum = std::get_if<UnitSumOf>(&statistic.of)) return &sum->clip;
  if (const auto* const variance = std::get_if<VarianceOf>(&statistic.of)) return &variance->bounds;
  return nullptr;
}

bool is_ratio(const Statistic& statistic) noexcept { return std::holds_alternative<MeanOf>(statistic.of) && !statistic.has_public_count(); }

}  // namespace surety::statistics
