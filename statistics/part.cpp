#include <surety/statistics/part.h>

#include <utility>

#include <fmt/format.h>

#include <surety/statistics/keys.h>

namespace surety::statistics {

using namespace data;

PartFacts with_cells(PartFacts facts, const Statistic& statistic) {
  const auto* const keys = keys_of(statistic);
  if (statistic.by && !statistic.by->beside.empty()) facts.group_columns = columns_of(*statistic.by);
  if (keys != nullptr && !keys->beside.empty()) facts.group_columns = columns_of(*keys);
  const auto* const column = column_of(statistic);
  for (const auto& date : statistic.dates) facts.column_units.emplace(date, unit_of_dates);
  if (column == nullptr) return facts;
  if (const auto unit = facts.column_units.find(*column);
      unit != facts.column_units.end() && std::holds_alternative<VarianceOf>(statistic.of)) {
    unit->second += "; a variance is in square days";
  }
  facts.column = std::holds_alternative<KeysOf>(statistic.of) ? tuple_text(columns_of(*keys)) : *column;
  const auto long_texts = keys != nullptr && !keys->beside.empty()
                              ? fmt::format("tuples of more than {} bytes, with 2 between two texts,", KeyCounts::longest_key)
                              : fmt::format("texts of more than {} bytes", KeyCounts::longest_key);
  if (const auto* const mean = std::get_if<MeanOf>(&statistic.of)) facts.range = mean->bounds;
  if (const auto* const means = std::get_if<GroupMeansOf>(&statistic.of)) facts.range = means->mean.bounds;
  if (const auto* const variance = std::get_if<VarianceOf>(&statistic.of)) {
    const double half = variance->bounds.upper / 2 - variance->bounds.lower / 2;
    facts.range = Bounds{0, half * half};
  }
  // No cell of a histogram and no key is a missing one, whatever was promised.
  facts.missing_cells = statistic.missing;
  const auto between = [](const Bounds& bounds) { return fmt::format("[{}, {}]", bounds.lower, bounds.upper); };
  if (const auto* const histogram = std::get_if<HistogramOf>(&statistic.of)) {
    const auto ends = edges(histogram->cells);
    facts.other_cells = ends.empty() ? "texts that are not listed are in no cell"
                                     : fmt::format("numbers beyond {} are in the outer cells", between({ends.front(), ends.back()}));
  } else if (const auto* const quantile = std::get_if<QuantileOf>(&statistic.of)) {
    facts.other_cells = fmt::format("numbers are clamped to {}", between(quantile->bounds));
  } else if (const auto* const bounds = bounds_of(statistic)) {
    facts.other_cells = std::holds_alternative<UnitSumOf>(statistic.of) ? fmt::format("what a unit adds is clipped to {}", between(*bounds))
                                                                        : fmt::format("numbers are clamped to {}", between(*bounds));
    if (std::holds_alternative<GroupMeansOf>(statistic.of)) {
      facts.other_cells += fmt::format("; {} are no groups", long_texts);
    }
  } else {
    facts.other_cells = fmt::format("{} {}", long_texts, std::holds_alternative<DistinctOf>(statistic.of) ? "do not count" : "are no keys");
  }
  return facts;
}

}  // namespace surety::statistics
