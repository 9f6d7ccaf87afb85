#include <surety/data/features/features.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/base/numbers/overload.h>
#include <surety/base/text/error.h>
#include <surety/data/reading/text_reader.h>
#include <surety/mechanisms/queries/record_sum.h>

namespace surety::data {

namespace {

constexpr std::uint32_t most_knots = 1024;

void validate_bounds(const std::string& column, double lower, double upper) {
  if (!(std::isfinite(lower) && std::isfinite(upper) && lower < upper)) {
    invalid(fmt::format("bounds of column {} are {} and {}, must be finite and ascend", in_quotes(column), lower, upper));
  }
}

void validate_column(const Column& column) {
  if (column.name.empty()) invalid("a column has no name");
  std::visit(
      Overload{[&](const Bounds& bounds) { validate_bounds(column.name, bounds.lower, bounds.upper); },
               [&](const BoundsToUnitInterval& bounds) { validate_bounds(column.name, bounds.lower, bounds.upper); }, [](const auto&) {}},
      column.map);
  if (column.knots == 1 || column.knots > most_knots || (column.knots > 0 && !has_bounds(column.map))) {
    invalid(
        fmt::format("column {} has {} knots, must have 0, or from 2 to {} and bounds", in_quotes(column.name), column.knots, most_knots));
  }
  const auto* const categories = std::get_if<Categories>(&column.map);
  if (column.missing) {
    const bool fits = categories != nullptr ? !trimmed(*column.missing).empty() : parse_number(*column.missing).fault == NumberFault::none;
    if (!fits) {
      invalid(fmt::format("a missing cell of column {} counts as {}, must count as {}", in_quotes(column.name), in_quotes(*column.missing),
                          categories != nullptr ? "a text" : "a number, unless the column has categories"));
    }
  }
  if (categories != nullptr) {
    if (categories->names.empty()) invalid(fmt::format("column {} has an empty list of categories", in_quotes(column.name)));
    const std::set<std::string_view> distinct{categories->names.begin(), categories->names.end()};
    if (categories->is_contrast && categories->names.size() != 2) {
      invalid(fmt::format("column {} has {} categories in one feature, must have two", in_quotes(column.name), categories->names.size()));
    }
    if (distinct.size() != categories->names.size()) invalid(fmt::format("column {} lists a category twice", in_quotes(column.name)));
  }
}

std::string pair_text(const ColumnPair& pair) { return pair.first + ":" + pair.second; }

void validate_pairs(const NamedColumns& columns, const std::vector<ColumnPair>& pairs) {
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (const auto& pair : pairs) {
    for (const std::string_view name : {pair.first, pair.second}) {
      const auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& column) { return column.name == name; });
      if (found == columns.end())
        invalid(fmt::format("pair {} names {}, must name two features", in_quotes(pair_text(pair)), in_quotes(name)));
      if (!has_bounds(found->map)) {
        invalid(fmt::format("pair {} names {}, must name two columns with bounds", in_quotes(pair_text(pair)), in_quotes(name)));
      }
    }
    if (pair.first == pair.second) invalid(fmt::format("pair {} is of a column with itself, must be of two", in_quotes(pair_text(pair))));
    if (!known.insert(std::minmax<std::string_view>(pair.first, pair.second)).second) {
      invalid(fmt::format("pair {} is listed twice, must be listed once", in_quotes(pair_text(pair))));
    }
  }
}

nlohmann::json column_map_to_json(const ColumnMap& map) {
  return std::visit(Overload{
                        [](const Unchanged&) -> nlohmann::json { return "unchanged"; },
                        [](const SignedLogarithm&) -> nlohmann::json { return "signed-logarithm"; },
                        [](const Bounds& bounds) -> nlohmann::json {
                          return {{"bounds", {bounds.lower, bounds.upper}}, {"to", {-1, 1}}};
                        },
                        [](const BoundsToUnitInterval& bounds) -> nlohmann::json {
                          return {{"bounds", {bounds.lower, bounds.upper}}};
                        },
                        [](const Categories& categories) -> nlohmann::json {
                          nlohmann::json json{{"categories", categories.names}};
                          if (categories.is_contrast) json["to"] = {-1, 1};
                          return json;
                        },
                        [](const PrivateRange&) -> nlohmann::json { return "private-range"; },
                    },
                    map);
}

nlohmann::json column_to_json(const Column& column) {
  nlohmann::json json{{"name", column.name}, {"map", column_map_to_json(column.map)}};
  if (column.missing) json["missing"] = *column.missing;
  if (column.knots > 0) json["knots"] = column.knots;
  return json;
}

ColumnMap column_map_from_json(const nlohmann::json& json) {
  if (json == "unchanged") return Unchanged{};
  if (json == "signed-logarithm") return SignedLogarithm{};
  if (json.is_object() && json.contains("bounds")) {
    // Without "to", as all wrote them once, to [0, 1].
    const bool has_to = json.contains("to");
    has_to ? accounting::require_fields(json, {"bounds", "to"}, "column map") : accounting::require_fields(json, {"bounds"}, "column map");
    const auto& ends = json["bounds"];
    if (!ends.is_array() || ends.size() != 2 || !ends[0].is_number() || !ends[1].is_number()) invalid("bounds are not two numbers");
    if (has_to && json["to"] != nlohmann::json{-1, 1}) invalid("what bounds are scaled to is not [-1, 1]");
    const double lower = accounting::number_of(ends[0], "lower bound of a column");
    const double upper = accounting::number_of(ends[1], "upper bound of a column");
    return has_to ? ColumnMap{Bounds{lower, upper}} : ColumnMap{BoundsToUnitInterval{lower, upper}};
  }
  Categories categories;
  categories.is_contrast = json.is_object() && json.contains("to");
  categories.is_contrast ? accounting::require_fields(json, {"categories", "to"}, "column map")
                         : accounting::require_fields(json, {"categories"}, "column map");
  if (categories.is_contrast && json["to"] != nlohmann::json{-1, 1}) invalid("what two categories become is not [-1, 1]");
  if (!json["categories"].is_array()) invalid("categories are not a list");
  for (const auto& name : json["categories"]) {
    if (!name.is_string()) invalid("a category is not a text");
    categories.names.push_back(accounting::text_of(name, "a category"));
  }
  return categories;
}

Column column_from_json(const nlohmann::json& json) {
  const bool has_missing = json.is_object() && json.contains("missing");
  const bool has_knots = json.is_object() && json.contains("knots");
  std::vector<std::string_view> known{"name", "map"};
  if (has_missing) known.emplace_back("missing");
  if (has_knots) known.emplace_back("knots");
  accounting::require_fields(json, known, "column");
  if (has_missing && !json["missing"].is_string()) invalid("what a missing cell of a column counts as is not a text");
  if (!json["name"].is_string()) invalid("a column's name is not a text");
  Column column{accounting::text_of(json["name"], "a column's name"), column_map_from_json(json["map"])};
  if (has_missing) column.missing = accounting::text_of(json["missing"], "missing of a column");
  if (has_knots) {
    if (!json["knots"].is_number_unsigned() || json["knots"] < 2 || json["knots"] > most_knots) {
      invalid(fmt::format("the number of a column's knots is not a whole number from 2 to {}", most_knots));
    }
    column.knots = static_cast<std::uint32_t>(accounting::whole_number_of(json["knots"], "knots of a column", most_knots));
  }
  return column;
}

std::vector<ColumnPair> pairs_from_json(const nlohmann::json& json) {
  // None at all are not written.
  if (!json.is_array() || json.empty()) invalid("pairs are not a list of at least one");
  std::vector<ColumnPair> pairs;
  for (const auto& one : json) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_string() || !one[1].is_string()) invalid("a pair is not two names of columns");
    pairs.push_back({accounting::text_of(one[0], "a column of a pair"), accounting::text_of(one[1], "a column of a pair")});
  }
  return pairs;
}

bool flag_from_json(const nlohmann::json& json, std::string_view field) {
  if (!json[field].is_boolean()) invalid(fmt::format("{} is not true or false", field));
  return accounting::truth_of(json[field], field);
}

}  // namespace

std::size_t Column::features() const noexcept {
  if (const auto* const categories = std::get_if<Categories>(&map)) return categories->is_contrast ? 1 : categories->names.size();
  return std::size_t{1} + knots + (tells_missing() ? 1 : 0);
}

double Column::most_squared_length() const noexcept { return 1.0 + (knots > 0 ? 1 : 0) + (tells_missing() ? 1 : 0); }

std::string_view name(Terms terms) {
  switch (terms) {
    case Terms::automatic: return "auto";
    case Terms::linear: return "linear";
    case Terms::additive: return "additive";
  }
  return {};
}

Terms parse_terms(std::string_view text) {
  for (const auto terms : {Terms::automatic, Terms::linear, Terms::additive}) {
    if (text == name(terms)) return terms;
  }
  invalid(fmt::format("terms are {}, must be linear, additive or auto", in_quotes(text)));
}

std::size_t FeatureMap::features() const {
  const std::size_t own = std::visit(Overload{
                                         [](const NamedColumns& columns) {
                                           std::size_t count = 0;
                                           for (const auto& column : columns) count += column.features();
                                           return count;
                                         },
                                         [](const SparseFeatures& sparse) { return std::size_t{sparse.count}; },
                                     },
                                     inputs);
  return own + pairs.size() + (intercept ? 1 : 0);
}

std::vector<FeatureName> feature_names(const FeatureMap& map) {
  std::vector<FeatureName> names;
  names.reserve(map.features());
  if (const auto* const columns = std::get_if<NamedColumns>(&map.inputs)) {
    for (const auto& column : *columns) {
      if (const auto* const categories = std::get_if<Categories>(&column.map)) {
        if (categories->is_contrast) {
          names.push_back({column.name, fmt::format("{} against {}", categories->names[1], categories->names[0])});
          continue;
        }
        for (const auto& category : categories->names) names.push_back({column.name, category});
      } else {
        names.push_back({column.name, std::nullopt});
        for (std::uint32_t k = 0; k < column.knots; ++k) {
          names.push_back({column.name, fmt::format("at {:.6g}", knot_at(std::get<Bounds>(column.map), k, column.knots))});
        }
        if (column.tells_missing()) names.push_back({column.name, "missing"});
      }
    }
    for (const auto& pair : map.pairs) names.push_back({pair_text(pair), std::nullopt});
  } else {
    const auto count = std::get<SparseFeatures>(map.inputs).count;
    for (std::uint32_t index = 1; index <= count; ++index) names.push_back({std::to_string(index), std::nullopt});
  }
  if (map.intercept) names.emplace_back();
  return names;
}

std::vector<std::vector<double>> linear_relations(const FeatureMap& map) {
  std::vector<std::vector<double>> found;
  const auto* const columns = std::get_if<NamedColumns>(&map.inputs);
  if (columns == nullptr) return found;
  const std::size_t features = map.features();
  // Proved: docs/proofs/data.md#relations
  std::vector<double> sum(features, 0.0);  // that is the constant 1, or of the hat functions before
  if (map.intercept) sum.back() = -1;
  bool has_sum = map.intercept;
  std::size_t first = 0;
  for (const auto& column : *columns) {
    if (column.knots > 0) {
      std::vector<double> number(features, 0.0);
      number[first] = -1;
      std::vector<double> next = sum;
      std::vector<double> own(features, 0.0);
      for (std::uint32_t k = 0; k < column.knots; ++k) {
        const std::size_t hat = first + 1 + k;
        number[hat] = knot_at(k, column.knots);
        next[hat] = 1;
        own[hat] = -1;
      }
      found.push_back(std::move(number));
      if (has_sum) found.push_back(std::move(next));
      if (!map.intercept) sum = std::move(own);
      has_sum = true;
    }
    first += column.features();
  }
  // Proved so far.
  return found;
}

double FeatureMap::common_scale() const {
  double most = static_cast<double>(pairs.size()) + (intercept ? 1 : 0);
  if (const auto* const columns = std::get_if<NamedColumns>(&inputs)) {
    for (const auto& column : *columns) most += column.most_squared_length();
  } else {
    most += static_cast<double>(std::get<SparseFeatures>(inputs).count);
  }
  return 1 / std::sqrt(most);
}

bool FeatureMap::is_additive() const noexcept {
  const auto* const columns = std::get_if<NamedColumns>(&inputs);
  return columns != nullptr && std::any_of(columns->begin(), columns->end(), [](const Column& column) { return column.knots > 0; });
}

std::size_t FeatureMap::values_of_terms() const noexcept {
  std::size_t count = pairs.size();
  if (const auto* const columns = std::get_if<NamedColumns>(&inputs)) {
    for (const auto& column : *columns) count += column.knots + (column.tells_missing() ? 1 : 0);
  }
  return count;
}

bool has_private_ranges(const FeatureMap& map) noexcept {
  const auto* const columns = std::get_if<NamedColumns>(&map.inputs);
  const auto is_private = [](const Column& column) { return std::holds_alternative<PrivateRange>(column.map); };
  return columns != nullptr && std::any_of(columns->begin(), columns->end(), is_private);
}

std::vector<std::pair<std::size_t, std::size_t>> places_of_pairs(const FeatureMap& map) {
  std::map<std::string_view, std::size_t> starts;
  std::size_t next = 0;
  for (const auto& column : std::get<NamedColumns>(map.inputs)) {
    starts.emplace(column.name, next);
    next += column.features();
  }
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const auto& pair : map.pairs) places.emplace_back(starts.at(pair.first), starts.at(pair.second));
  return places;
}

FeatureMap with_additive_terms(FeatureMap map) {
  const bool has_common_scale = !map.unit_norm && map.row_scale != 1;
  if (auto* const columns = std::get_if<NamedColumns>(&map.inputs)) {
    for (auto& column : *columns) column.knots = has_bounds(column.map) ? standard_knots : 0;
  }
  if (has_common_scale) map.row_scale = map.common_scale();
  return map;
}

void FeatureMap::validate() const {
  if (!(row_scale > 0 && std::isfinite(row_scale))) {
    invalid(fmt::format("scale of rows is {}, must be positive and finite", row_scale));
  }
  if (unit_norm && row_scale != 1) invalid(fmt::format("scale of rows is {}, must be 1 where rows have unit norm", row_scale));
  constexpr std::uint32_t largest_count = std::uint32_t{1} << 24;
  if (const auto* const sparse = std::get_if<SparseFeatures>(&inputs)) {
    if (sparse->count < 1 || sparse->count > largest_count) {
      invalid(fmt::format("count of features is {}, must be from 1 to {}", sparse->count, largest_count));
    }
    if (!pairs.empty()) invalid("sparse features have pairs, must have none");
    return;
  }
  const auto& columns = std::get<NamedColumns>(inputs);
  if (columns.empty()) invalid("no column is left as a feature");
  std::set<std::string_view> names;
  for (const auto& column : columns) {
    validate_column(column);
    if (!names.insert(column.name).second) invalid(fmt::format("column {} is listed twice", in_quotes(column.name)));
  }
  validate_pairs(columns, pairs);
}

double scaled(double cell, const BoundsToUnitInterval& bounds) noexcept {
  // Subtraction and division round monotonically, so the result is at most 1. Halves where the width of the widest bounds overflows.
  const double scale = std::isfinite(bounds.upper - bounds.lower) ? 1 : 0.5;
  const double clamped = std::clamp(cell, bounds.lower, bounds.upper);
  return (scale * clamped - scale * bounds.lower) / (scale * bounds.upper - scale * bounds.lower);
}

double scaled(double cell, const Bounds& bounds) noexcept { return 2 * scaled(cell, BoundsToUnitInterval{bounds.lower, bounds.upper}) - 1; }

void map_numbers(const ColumnMap& map, std::span<double> numbers) noexcept {
  const auto each = [&](const auto& feature_of) {
    for (double& number : numbers) number = feature_of(number);
  };
  std::visit(Overload{[&](const SignedLogarithm&) { each([](double number) { return std::asinh(number); }); },
                      [&](const Bounds& bounds) { each([&](double number) { return scaled(number, bounds); }); },
                      [&](const BoundsToUnitInterval& bounds) { each([&](double number) { return scaled(number, bounds); }); },
                      [](const auto&) {}},
             map);
}

double knot_at(const Bounds& bounds, std::uint32_t knot, std::uint32_t knots) noexcept {
  const double place = static_cast<double>(knot) / (knots - 1);
  return (1 - place) * bounds.lower + place * bounds.upper;
}

void append_hats(double number, std::uint32_t knots, std::vector<double>& features) {
  // The number plus 1 lies in [0, 2] after rounding, too, so the place is one of an interval between knots.
  const double place = (number + 1) / 2 * (knots - 1);
  const auto left = std::min(static_cast<std::uint32_t>(place), knots - 2);
  const double beyond = place - left;
  const std::size_t begin = features.size();
  features.resize(begin + knots, 0.0);
  features[begin + left] = 1 - beyond;
  features[begin + left + 1] = beyond;
}

void scale_row(const FeatureMap& map, std::vector<double>& values) {
  if (map.unit_norm) return scale_to_unit_norm(values);
  if (map.row_scale == 1) return;
  for (double& value : values) value *= map.row_scale;
}

void scale_to_unit_norm(std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  if (largest == 0) return;
  // A power of two first: exact, and the norm of what remains neither overflows nor underflows.
  const int exponent = std::ilogb(largest);
  if (std::abs(exponent) < 1000) {
    const double power = std::ldexp(1.0, -exponent);
    for (double& value : values) value *= power;
  } else {
    for (double& value : values) value = std::scalbn(value, -exponent);
  }
  const double norm = mechanisms::l2_norm(values);
  for (double& value : values) value /= norm;
}

double LabelRule::operator()(double cell) const {
  if (!test) return cell;
  return holds(cell, test->comparison, test->threshold) ? 1.0 : -1.0;
}

std::optional<double> LabelRule::operator()(std::string_view cell) const {
  if (!classes.empty()) {
    const auto found = std::find(classes.begin(), classes.end(), cell);
    if (found == classes.end()) return std::nullopt;
    return static_cast<double>(found - classes.begin());
  }
  return (cell == *test->text) == (test->comparison == Relation::equal) ? 1.0 : -1.0;
}

LabelRule parse_label_rule(std::string_view text) {
  const bool is_quoted = trimmed(text).starts_with('"') || trimmed(text).starts_with('\'');
  auto column = is_quoted || text.find_first_of("<>=!") == std::string_view::npos ? parse_column(text) : std::nullopt;
  if (trimmed(text).empty() || (column && column->empty())) {
    invalid(fmt::format("label {} names no column, must be a column or a comparison such as 'visits>0'", in_quotes(text)));
  }
  if (column) return {.column = *std::move(column), .test = std::nullopt};
  auto compared = parse_comparison(text, "label");
  LabelRule rule{.column = std::move(compared.column), .test = LabelRule::Test{compared.relation, 0}};
  std::visit(Overload{[&](double threshold) { rule.test->threshold = threshold; },
                      [&](std::string& sought) { rule.test->text = std::move(sought); },
                      [&](Date) {
                        invalid(fmt::format("label {} is compared with a date, must be compared with a number or a text", in_quotes(text)));
                      }},
             compared.value);
  return rule;
}

LabelRule with_classes(LabelRule rule, std::vector<std::string> classes) {
  if (rule.test)
    invalid(fmt::format("label {} is a comparison, must be a column where there are several classes", in_quotes(describe(rule))));
  if (classes.size() < 2) invalid(fmt::format("the number of classes is {}, must be at least 2", classes.size()));
  std::set<std::string> known;
  for (const auto& one : classes) {
    if (one.empty()) invalid("a class is an empty text, must have at least one character");
    if (!known.insert(one).second) invalid(fmt::format("class {} stands twice, must stand once", in_quotes(one)));
  }
  rule.classes = std::move(classes);
  return rule;
}

LabelRule opposite(LabelRule rule) {
  using enum Relation;
  constexpr std::array opposites{at_most, less, at_least, greater, not_equal, equal};  // in the order of Relation
  rule.test->comparison = opposites.at(static_cast<std::size_t>(rule.test->comparison));
  return rule;
}

std::string describe(const WeightRule& rule) { return fmt::format("column {} over {}", in_quotes(rule.column), rule.bound); }

std::string describe(const LabelRule& rule) {
  if (!rule.test) return column_text(rule.column);
  CellComparison compared{.column = rule.column, .relation = rule.test->comparison, .value = rule.test->threshold};
  if (rule.test->text) compared.value = *rule.test->text;
  return describe(compared);
}

nlohmann::json to_json(const FeatureMap& map) {
  nlohmann::json json{{"intercept", map.intercept}, {"unit_norm", map.unit_norm}};
  if (map.row_scale != 1) json["row_scale"] = map.row_scale;
  if (const auto* const sparse = std::get_if<SparseFeatures>(&map.inputs)) {
    json["sparse_features"] = sparse->count;
  } else {
    json["columns"] = nlohmann::json::array();
    for (const auto& column : std::get<NamedColumns>(map.inputs)) json["columns"].push_back(column_to_json(column));
  }
  for (const auto& pair : map.pairs) json["pairs"].push_back({pair.first, pair.second});
  return json;
}

FeatureMap feature_map_from_json(const nlohmann::json& json) {
  FeatureMap map;
  const bool is_sparse = json.is_object() && json.contains("sparse_features");
  const bool has_scale = json.is_object() && json.contains("row_scale");
  const std::string_view inputs = is_sparse ? "sparse_features" : "columns";
  const bool has_pairs = json.is_object() && json.contains("pairs");
  std::vector<std::string_view> known{inputs, "intercept", "unit_norm"};
  if (has_scale) known.emplace_back("row_scale");
  if (has_pairs) known.emplace_back("pairs");
  accounting::require_fields(json, known, "features");
  if (is_sparse) {
    const auto count =
        accounting::whole_number_of(json["sparse_features"], "count of sparse features", std::numeric_limits<std::uint32_t>::max());
    map.inputs = SparseFeatures{static_cast<std::uint32_t>(count)};
  } else {
    if (!json["columns"].is_array()) invalid("columns are not a list");
    NamedColumns columns;
    for (const auto& column : json["columns"]) columns.push_back(column_from_json(column));
    map.inputs = std::move(columns);
  }
  map.intercept = flag_from_json(json, "intercept");
  map.unit_norm = flag_from_json(json, "unit_norm");
  if (has_scale) {
    // The number 1 says nothing and is never written, so that equal maps are equal texts.
    if (!json["row_scale"].is_number() || json["row_scale"] == 1) invalid("the scale of rows is not a number other than 1");
    map.row_scale = accounting::number_of(json["row_scale"], "scale of rows");
  }
  if (has_pairs) map.pairs = pairs_from_json(json["pairs"]);
  map.validate();
  return map;
}

}  // namespace surety::data
