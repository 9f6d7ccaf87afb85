#include <surety/data/features/private_ranges.h>

#include <utility>
#include <variant>

#include <surety/base/text/error.h>
#include <surety/mechanisms/queries/record_sum.h>

namespace surety::data {
namespace {

bool is_private(const Column& column) { return std::holds_alternative<PrivateRange>(column.map); }

/// Makes rows of one map, one at a time.
class RowsWithRanges {
 public:
  /// \param before columns of the rows that are read \param after the map with bounds
  RowsWithRanges(const NamedColumns& before, const FeatureMap& after) : before_{before}, after_{after}, pairs_{places_of_pairs(after)} {
    const auto& columns = std::get<NamedColumns>(after.inputs);
    for (std::size_t k = 0; k < columns.size(); ++k) is_ranged_.push_back(before[k].map != columns[k].map);
  }

  /// \param row as read, of a record that is not damaged
  void make(std::span<const double> row, std::vector<double>& features) const {
    const auto& columns = std::get<NamedColumns>(after_.inputs);
    features.clear();
    std::size_t from = 0;
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const std::size_t count = before_[k].features();
      const auto own = row.subspan(from, count);
      from += count;
      features.insert(features.end(), own.begin(), own.end());
      if (!is_ranged_[k]) continue;
      features.resize(features.size() - count + 1);  // the number alone
      map_numbers(columns[k].map, std::span{features}.last(1));
      if (columns[k].knots > 0) append_hats(features.back(), columns[k].knots, features);
      if (columns[k].tells_missing()) features.push_back(own.back());
    }
    for (const auto& [first, second] : pairs_) features.push_back(features[first] * features[second]);
    if (after_.intercept) features.push_back(1);
    scale_row(after_, features);
  }

 private:
  const NamedColumns& before_;
  const FeatureMap& after_;
  std::vector<bool> is_ranged_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;  ///< features that are multiplied
};

}  // namespace

FeatureMap map_before_ranges(const FeatureMap& map) {
  if (!has_private_ranges(map)) return map;
  FeatureMap before{.inputs = map.inputs, .intercept = true, .unit_norm = false};
  for (auto& column : std::get<NamedColumns>(before.inputs)) {
    if (!is_private(column)) continue;
    column.marks_missing = column.tells_missing();
    column.map = Unchanged{};
    column.knots = 0;
  }
  return before;
}

FeatureMap without_private_ranges(FeatureMap map) {
  if (!has_private_ranges(map)) return map;
  for (auto& column : std::get<NamedColumns>(map.inputs)) {
    if (!is_private(column)) continue;
    column.map = SignedLogarithm{};
    column.knots = 0;
  }
  return map;
}

std::vector<std::size_t> places_of_ranges(const FeatureMap& map) {
  std::vector<std::size_t> places;
  const auto before = map_before_ranges(map);
  std::size_t first = 0;
  const auto& columns = std::get<NamedColumns>(map.inputs);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    if (is_private(columns[k])) places.push_back(first);
    first += std::get<NamedColumns>(before.inputs)[k].features();
  }
  return places;
}

FeatureMap with_ranges(FeatureMap map, std::span<const Bounds> ranges) {
  std::size_t next = 0;
  for (auto& column : std::get<NamedColumns>(map.inputs)) {
    if (is_private(column)) column.map = ranges[next++];
  }
  return map;
}

Dataset rows_with_ranges(const Dataset& rows, const FeatureMap& map, std::span<const Bounds> ranges) {
  if (rows.file() != nullptr || rows.is_sparse()) throw Error{ErrorCode::unsupported, "private ranges are for rows of a table in memory"};
  const FeatureMap before = map_before_ranges(map);
  const FeatureMap after = with_ranges(map, ranges);
  const RowsWithRanges made{std::get<NamedColumns>(before.inputs), after};
  const std::size_t count = after.features();
  DatasetBuilder builder{count, false, rows.has_weights()};
  std::vector<double> features;
  const std::vector<double> zeros(count, 0.0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = rows.row(i).values;
    const bool is_damaged = row.empty() || row.back() == 0;
    if (!is_damaged) made.make(row, features);
    const auto& own = is_damaged ? zeros : features;
    builder.add({.indices = {}, .values = own, .norm = mechanisms::l2_norm(own)}, rows.has_labels() ? rows.label(i) : 0, rows.weight(i));
  }
  return std::move(builder).finish();
}

}  // namespace surety::data
