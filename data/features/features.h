// How the cells of a file become the features and the label of a record: a public value, fixed before the data is read, stored
// with the model, and applied again when the model predicts.
//
// Why public: a transformation that looks at the data (scaling by the largest value found, centring on the mean, dropping rare
// categories, counting the features that occur) is a release of its own, which nobody accounts for. Here every number comes
// from the user (bounds, categories, the count of sparse features), from the file's header, or from the one row in hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <surety/data/reading/condition.h>

namespace surety::data {

/// The number as it is.
struct Unchanged {
  friend bool operator==(const Unchanged&, const Unchanged&) = default;
};
/// asinh(x): the number itself near zero, its signed logarithm far away. The default where no bounds are given, so that one
/// column of large numbers does not drown the others when the row is normalised.
struct SignedLogarithm {
  friend bool operator==(const SignedLogarithm&, const SignedLogarithm&) = default;
};
/// The number clamped to [lower, upper] and scaled to [-1, 1], whose middle is 0: scaled to [0, 1], every row would lie near the intercept.
/// Known to the user without looking at the data.
struct Bounds {
  double lower;
  double upper;
  friend bool operator==(const Bounds&, const Bounds&) = default;
};
/// The number clamped to [lower, upper] and scaled to [0, 1]: what bounds meant in models of version 1 and 2, which are read as they were meant.
struct BoundsToUnitInterval {
  double lower;
  double upper;
  friend bool operator==(const BoundsToUnitInterval&, const BoundsToUnitInterval&) = default;
};
/// One feature per category, 1 where the cell is that text and 0 elsewhere; an unlisted text is all zeros. A contrast of two texts is one feature, -1 for the
/// first, 1 for the second and 0 for an unlisted text.
struct Categories {
  std::vector<std::string> names;
  bool is_contrast = false;  ///< \pre then there are two names
  friend bool operator==(const Categories&, const Categories&) = default;
};

/// `Bounds` that a training releases before it learns (private_ranges.h). Part of a plan, never of a model: no number is mapped by it.
struct PrivateRange {
  friend bool operator==(const PrivateRange&, const PrivateRange&) = default;
};

using ColumnMap = std::variant<Unchanged, SignedLogarithm, Bounds, BoundsToUnitInterval, Categories, PrivateRange>;

/// Whether numbers are scaled to [-1, 1] by bounds that are given, or by ones that are released before training.
[[nodiscard]] inline bool has_bounds(const ColumnMap& map) noexcept {
  return std::holds_alternative<Bounds>(map) || std::holds_alternative<PrivateRange>(map);
}

struct Column {
  std::string name;
  ColumnMap map;
  std::optional<std::string> missing = std::nullopt;  ///< what a missing cell counts as (data_policy.h)
  /// Of a column with `Bounds`: how many hat functions stand beside the number itself (`append_hats`), and where its missing cells count as something one
  /// more feature, 1 where the cell is missing; 0 for the number alone.
  std::uint32_t knots = 0;
  /// One more feature, 1 where the cell is missing, without hat functions: of rows that are read before their ranges are released.
  bool marks_missing = false;

  /// How many features it has, and the largest square of their length. Of a number without bounds that is as if it were in [-1, 1].
  [[nodiscard]] std::size_t features() const noexcept;
  [[nodiscard]] double most_squared_length() const noexcept;
  [[nodiscard]] bool tells_missing() const noexcept { return marks_missing || (knots > 0 && missing.has_value()); }
  friend bool operator==(const Column&, const Column&) = default;
};
/// The feature of two columns with `Bounds`: the product of their numbers, each scaled to [-1, 1].
struct ColumnPair {
  std::string first;
  std::string second;
  friend bool operator==(const ColumnPair&, const ColumnPair&) = default;
};

/// What columns with bounds become.
enum class Terms {
  automatic,  ///< as whoever chooses an algorithm likes it, else linear
  linear,     ///< the number
  additive,   ///< and hat functions of it, of which any continuous function is made that is linear between knots
};
/// What columns become that have neither bounds nor categories.
enum class Ranges {
  automatic,  ///< as the rule that chooses an algorithm decides, else asinh
  asinh,      ///< their signed logarithm
  released,   ///< numbers within a range that the training releases first
};
/// "auto", "linear", "additive".
[[nodiscard]] std::string_view name(Terms terms);
/// The inverse. \throws Error{invalid_argument}.
[[nodiscard]] Terms parse_terms(std::string_view text);
/// Of columns with additive terms. Fitted with the rule that takes them: docs/results/terms.md.
inline constexpr std::uint32_t standard_knots = 8;

/// The inputs of a CSV file, by column, in the order of the features.
using NamedColumns = std::vector<Column>;
/// The inputs of a LIBSVM file: indices 1 to `count`, unchanged. The largest index that occurs is private, the count is public.
struct SparseFeatures {
  std::uint32_t count;
  friend bool operator==(const SparseFeatures&, const SparseFeatures&) = default;
};

struct FeatureMap {
  std::variant<NamedColumns, SparseFeatures> inputs;
  bool intercept = true;               ///< append a constant feature 1
  bool unit_norm = true;               ///< then divide every row, with its intercept, by its own l2 norm; a zero row stays zero
  double row_scale = 1;                ///< or, where rows have not unit norm, multiply every row, with its intercept, by this public number
  std::vector<ColumnPair> pairs = {};  ///< of named columns; their features stand behind those of all columns, before the intercept

  friend bool operator==(const FeatureMap&, const FeatureMap&) = default;

  /// The scale of rows that makes each at most of norm 1 where numbers lie in [-1, 1]: with bounds, and of categories. For k columns, or sparse features,
  /// and the intercept it is 1 / sqrt(k + 1); hat functions of a column count as one column more, and so does a pair.
  [[nodiscard]] double common_scale() const;
  /// The length of a row of features.
  [[nodiscard]] std::size_t features() const;
  /// \throws Error{invalid_argument} naming the column for bounds that are not finite with lower < upper, a missing number that
  ///         counts as a text, categories that are empty or listed twice, a column listed twice or without a name, no columns at all, or a count of sparse features
  ///         outside 1 to 2^24, and a scale of rows that is not positive and finite, or not 1 where rows have unit norm; knots of a column without bounds,
  ///         or 1 of them, or more than 1024; a pair of a column with itself, of one that is not there or has no bounds, or one that stands twice.
  void validate() const;
  [[nodiscard]] bool is_additive() const noexcept;
  /// How many numbers say what its additive terms add: one for each knot, each column that tells missing cells, and each pair.
  [[nodiscard]] std::size_t values_of_terms() const noexcept;
};
/// Whether a column of the map has a `PrivateRange`.
[[nodiscard]] bool has_private_ranges(const FeatureMap& map) noexcept;
/// The places of the two features that each pair of the map multiplies. \pre a valid map of named columns
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> places_of_pairs(const FeatureMap& map);
/// The map with `standard_knots` in every column with `Bounds`, and of the same rule of rows. \pre a valid map
[[nodiscard]] FeatureMap with_additive_terms(FeatureMap map);

/// What a feature is of.
struct FeatureName {
  std::optional<std::string> column;    ///< or the index, from 1 on, of sparse features; "first:second" of a pair; nothing of the intercept
  std::optional<std::string> category;  ///< of a column of categories; "at 30" of a hat function around 30, "missing" of a missing cell
  friend bool operator==(const FeatureName&, const FeatureName&) = default;
};
/// Of all features, in their order. O(map.features()).
[[nodiscard]] std::vector<FeatureName> feature_names(const FeatureMap& map);

/// Vectors of `map.features()` numbers that every row of the map is orthogonal to, but for rounding, with any scale of rows: of each column with hat functions that the
/// number is their sum weighed with their knots, and that they add up to the constant, or without one to those of the next such column. They are linearly
/// independent. O(map.features()) for each. \source docs/proofs/data.md#relations
[[nodiscard]] std::vector<std::vector<double>> linear_relations(const FeatureMap& map);

/// What the map makes of a number, within the interval that it names and within 4 ulp of 1 of the exact value.
/// \pre the bounds are finite and ascend, `cell` is finite
[[nodiscard]] double scaled(double cell, const Bounds& bounds) noexcept;
[[nodiscard]] double scaled(double cell, const BoundsToUnitInterval& bounds) noexcept;
/// Each number to its feature; NaN stays. \pre a map of numbers
void map_numbers(const ColumnMap& map, std::span<double> numbers) noexcept;

/// Where the hat function of a knot is 1, from 0 on, in the column's unit, within 2 ulp of the larger bound. \pre knot < knots, knots > 1
[[nodiscard]] double knot_at(const Bounds& bounds, std::uint32_t knot, std::uint32_t knots) noexcept;
/// The same of the number that was scaled to [-1, 1].
[[nodiscard]] inline double knot_at(std::uint32_t knot, std::uint32_t knots) noexcept {
  return 2 * static_cast<double>(knot) / (knots - 1) - 1;
}
/// Appends the hat functions of a number that was scaled to [-1, 1]: k of them around knots at equal distances from -1 to 1, each 1 at its own knot, 0 at the
/// others and linear between, so that at most two are not 0, none is negative, and their squares add up to at most 1 + 2^-50. O(k). \pre -1 <= number <= 1, k > 1
void append_hats(double number, std::uint32_t knots, std::vector<double>& features);

/// What `map` does to the length of a row, with its intercept: unit norm, or the common scale. O(length).
void scale_row(const FeatureMap& map, std::vector<double>& values);

/// Divides `values` by their l2 norm; zeros stay zeros. No overflow for any finite values.
void scale_to_unit_norm(std::vector<double>& values);

/// Which column is the label, and what it is compared with.
///   mdvis      the number in column mdvis
///   mdvis>0    +1 where the number in column mdvis is greater than 0, else -1; also >=, <, <=, ==, !=
///   class==yes +1 where the text in column class is that one, else -1; also !=
/// With a list of classes the label is the place of the text in it, from 0 on; a record of another text is damaged.
struct LabelRule {
  using Comparison = Relation;
  struct Test {
    Comparison comparison;
    double threshold;
    std::optional<std::string> text = std::nullopt;  ///< what a text is compared with, in the place of the threshold
    friend bool operator==(const Test&, const Test&) = default;
  };

  std::string column;
  std::optional<Test> test;
  std::vector<std::string> classes = {};  ///< several texts, of which none stands twice; then there is no test

  friend bool operator==(const LabelRule&, const LabelRule&) = default;
  /// The label looks at the text of its cell.
  [[nodiscard]] bool is_of_text() const noexcept { return !classes.empty() || (test && test->text); }
  /// \pre !is_of_text()
  [[nodiscard]] double operator()(double cell) const;
  /// Nothing for a text that is none of the classes, where there are any. \pre is_of_text()
  [[nodiscard]] std::optional<double> operator()(std::string_view cell) const;
};

/// The rule written as above, a comparison as in condition.h. \throws Error{invalid_argument} when it is no column and no comparison.
[[nodiscard]] LabelRule parse_label_rule(std::string_view text);
/// The rule that holds where `rule` does not: class!=yes for class==yes. \pre rule.test
[[nodiscard]] LabelRule opposite(LabelRule rule);
/// The inverse of `parse_label_rule`, which knows no classes: they are listed apart.
[[nodiscard]] std::string describe(const LabelRule& rule);
/// The rule for several classes. \throws Error{invalid_argument} for a rule with a comparison, for fewer than 2 classes, an empty one, and one that
///     stands twice.
[[nodiscard]] LabelRule with_classes(LabelRule rule, std::vector<std::string> classes);

/// Which column holds the weight of a record, and the largest weight, which is public.
struct WeightRule {
  std::string column;
  double bound;  ///< W, greater than 0 and finite
  friend bool operator==(const WeightRule&, const WeightRule&) = default;
  /// w / W, from 0 to 1; nothing for a cell outside [0, W], which makes its record a damaged one. \pre the cell is finite
  [[nodiscard]] std::optional<double> operator()(double cell) const {
    // Proved: docs/proofs/weights.md#clip
    return cell >= 0 && cell <= bound ? std::optional{cell / bound} : std::nullopt;
    // Proved so far.
  }
};

/// "column 'w' over 5".
[[nodiscard]] std::string describe(const WeightRule& rule);

/// What the user says about the columns of a table. Every name must be one of them.
struct CsvOptions {
  std::vector<std::string> drop = {};                               ///< columns that are no features
  std::map<std::string, Bounds> bounds = {};                        ///< public bounds
  std::map<std::string, std::vector<std::string>> categories = {};  ///< public lists of categories
  ColumnMap otherwise = SignedLogarithm{};                          ///< what becomes of the other columns
  bool intercept = true;
  bool unit_norm = true;
  bool rows_have_common_scale = false;  ///< in its place
  Terms terms = Terms::automatic;
  std::vector<ColumnPair> pairs = {};
  Ranges ranges = Ranges::automatic;
  std::set<std::string> private_ranges = {};  ///< columns with a released range, whatever `ranges` is

  [[nodiscard]] bool has_private_ranges() const noexcept { return ranges == Ranges::released || !private_ranges.empty(); }
  friend bool operator==(const CsvOptions&, const CsvOptions&) = default;
};

[[nodiscard]] nlohmann::json to_json(const FeatureMap& map);
/// The inverse of `to_json`. \throws Error{invalid_argument} for an unknown or missing field, or a map that is not valid.
[[nodiscard]] FeatureMap feature_map_from_json(const nlohmann::json& json);

}  // namespace surety::data
