#include <surety/data/features/features.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <numeric>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <support/refusal.h>

namespace surety::data::features_test {
namespace {

FeatureMap example() {
  return {
      .inputs =
          NamedColumns{{"age", Bounds{0, 120}}, {"income", SignedLogarithm{}}, {"x", Unchanged{}}, {"town", Categories{{"a", "b", "c"}}}},
      .intercept = true,
      .unit_norm = false};
}

TEST(FeatureMap, CountsFeatures) {
  EXPECT_EQ(example().features(), 7U);
  EXPECT_EQ((FeatureMap{.inputs = SparseFeatures{123}, .intercept = false}).features(), 123U);
}

TEST(FeatureMap, SurvivesJson) {
  EXPECT_EQ(feature_map_from_json(to_json(example())), example());
  EXPECT_EQ(to_json(example())["columns"][0]["map"], nlohmann::json::parse(R"({"bounds": [0, 120], "to": [-1, 1]})"));
  const FeatureMap sparse{.inputs = SparseFeatures{123}, .intercept = false, .unit_norm = true};
  EXPECT_EQ(feature_map_from_json(to_json(sparse)), sparse);
}

TEST(FeatureMap, AContrastOfTwoCategoriesIsOneFeature) {
  const FeatureMap contrast{.inputs = NamedColumns{{"town", Categories{{"a", "b"}, true}}}, .intercept = false, .unit_norm = false};
  const FeatureMap each{.inputs = NamedColumns{{"town", Categories{{"a", "b"}}}}, .intercept = false, .unit_norm = false};
  EXPECT_EQ(contrast.features(), 1U);
  EXPECT_EQ(each.features(), 2U) << "as older models have it";
  EXPECT_EQ(feature_names(contrast).front().category, "b against a");
  EXPECT_EQ(to_json(contrast)["columns"][0]["map"], nlohmann::json::parse(R"({"categories": ["a", "b"], "to": [-1, 1]})"));
  EXPECT_EQ(feature_map_from_json(to_json(contrast)), contrast);
  EXPECT_EQ(feature_map_from_json(to_json(each)), each);
  EXPECT_EQ(contrast.common_scale(), 1);
}

// Bounds that say nothing of where they go are those of models that are older than the other meaning.
TEST(FeatureMap, ACommonScaleKeepsRowsOfBoundedColumnsWithinNormOne) {
  FeatureMap map = example();
  const auto columns = std::get<NamedColumns>(map.inputs).size();
  map.unit_norm = false;
  map.row_scale = map.common_scale();
  EXPECT_NEAR(map.row_scale, 1 / std::sqrt(static_cast<double>(columns) + 1), 1e-15);
  EXPECT_EQ(feature_map_from_json(to_json(map)), map);
  EXPECT_NO_THROW(map.validate());
  // A number of 1 or -1 of each column, one of its categories, and the constant.
  std::vector<double> row(columns + 1, -1.0);
  scale_row(map, row);
  EXPECT_NEAR(std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0)), 1, 1e-15);
  const FeatureMap sparse{.inputs = SparseFeatures{3}, .intercept = false};
  EXPECT_NEAR(sparse.common_scale(), 1 / std::sqrt(3), 1e-15);
  EXPECT_FALSE(to_json(sparse).contains("row_scale")) << "what older versions know is written as they write it";
  // Both at once, and what is no scale.
  map.unit_norm = true;
  EXPECT_THROW(map.validate(), Error);
  for (const double scale : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_THROW((FeatureMap{.inputs = SparseFeatures{1}, .unit_norm = false, .row_scale = scale}.validate()), Error) << scale;
  }
}

TEST(FeatureMap, BoundsOfBeforeGoToTheUnitInterval) {
  const auto json =
      nlohmann::json::parse(R"({"columns": [{"name": "age", "map": {"bounds": [0.0, 120.0]}}], "intercept": true, "unit_norm": true})");
  const FeatureMap map = feature_map_from_json(json);
  EXPECT_EQ(std::get<NamedColumns>(map.inputs)[0].map, (ColumnMap{BoundsToUnitInterval{0, 120}}));
  EXPECT_EQ(to_json(map), json);
}

TEST(Bounds, ScaleToTheirInterval) {
  const auto both = [](double cell, double lower, double upper) {
    return std::pair{scaled(cell, Bounds{lower, upper}), scaled(cell, BoundsToUnitInterval{lower, upper})};
  };
  EXPECT_EQ(both(30, 0, 120), (std::pair{-0.5, 0.25}));
  EXPECT_EQ(both(-7, -3, 5), (std::pair{-1.0, 0.0}));
  EXPECT_EQ(both(1, -3, 5), (std::pair{0.0, 0.5}));
  EXPECT_EQ(both(150, -3, 5), (std::pair{1.0, 1.0}));
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(both(0, -largest, largest), (std::pair{0.0, 0.5}));
  EXPECT_EQ(both(largest / 2, -largest, largest), (std::pair{0.5, 0.75}));
  const double smallest = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(both(0, 0, smallest), (std::pair{-1.0, 0.0}));
  EXPECT_EQ(both(1, 0, smallest), (std::pair{1.0, 1.0}));
}

RC_GTEST_PROP(Bounds, StayInTheirIntervalAndKeepTheOrder, (double a, double b, double c, double d)) {
  RC_PRE(a != b);
  const Bounds bounds{std::min(a, b), std::max(a, b)};
  const BoundsToUnitInterval before{bounds.lower, bounds.upper};
  const auto [less, more] = std::minmax(c, d);
  RC_ASSERT(-1 <= scaled(less, bounds) && scaled(less, bounds) <= scaled(more, bounds) && scaled(more, bounds) <= 1);
  RC_ASSERT(0 <= scaled(less, before) && scaled(less, before) <= scaled(more, before) && scaled(more, before) <= 1);
  RC_ASSERT(scaled(bounds.lower, bounds) == -1 && scaled(bounds.upper, bounds) == 1);
}

TEST(HatFunctions, MakeWhatIsLinearBetweenKnotsAndAreNoLongerThanOne) {
  const std::vector<double> at_knots{0.25, -1, 3, 0.5, 2};  // what a function is at -1, -.5, 0, .5 and 1
  for (int k = -1000; k <= 1000; ++k) {
    const double number = k / 1000.0;
    std::vector<double> hats{7};
    append_hats(number, 5, hats);
    ASSERT_EQ(hats.size(), 6U);
    EXPECT_EQ(hats[0], 7) << "what was there stays";
    double sum = 0;
    double squares = 0;
    double value = 0;
    for (std::size_t j = 0; j < 5; ++j) {
      EXPECT_GE(hats[j + 1], 0) << number;
      sum += hats[j + 1];
      squares += hats[j + 1] * hats[j + 1];
      value += hats[j + 1] * at_knots[j];
    }
    EXPECT_NEAR(sum, 1, 1e-15);
    EXPECT_LE(squares, 1 + 0x1p-50) << number;
    const double place = (number + 1) * 2;
    const auto left = std::min<std::size_t>(static_cast<std::size_t>(place), 3);
    EXPECT_NEAR(value, std::lerp(at_knots[left], at_knots[left + 1], place - static_cast<double>(left)), 1e-14) << number;
  }
  const Bounds bounds{-2, 10};
  EXPECT_EQ(knot_at(bounds, 0, 4), -2);
  EXPECT_NEAR(knot_at(bounds, 1, 4), 2, 1e-14);
  EXPECT_EQ(knot_at(bounds, 3, 4), 10);
}

TEST(FeatureMap, AdditiveTermsAndPairsSurviveJsonAndStayWithinTheScale) {
  FeatureMap map{.inputs = NamedColumns{{"a", Bounds{0, 4}, "2"}, {"b", Bounds{-1, 1}}, {"t", Categories{{"x", "y"}}}, {"u", Unchanged{}}},
                 .unit_norm = false,
                 .pairs = {{"b", "a"}}};
  map.row_scale = map.common_scale();
  EXPECT_NEAR(map.row_scale, 1 / std::sqrt(6), 1e-15) << "four columns, a pair and the constant";
  map = with_additive_terms(map);
  EXPECT_TRUE(map.is_additive());
  EXPECT_NEAR(map.row_scale, 1 / std::sqrt(9), 1e-15) << "and hat functions of two, and what says that a is missing";
  EXPECT_EQ(map.features(), 2U + 2 * standard_knots + 1 + 2 + 1 + 1 + 1);
  EXPECT_EQ(feature_map_from_json(to_json(map)), map);
  const auto names = feature_names(map);
  ASSERT_EQ(names.size(), map.features());
  EXPECT_EQ(names[0], (FeatureName{"a", std::nullopt}));
  EXPECT_EQ(names[1], (FeatureName{"a", "at 0"}));
  EXPECT_EQ(names[standard_knots], (FeatureName{"a", "at 4"}));
  EXPECT_EQ(names[standard_knots + 1], (FeatureName{"a", "missing"}));
  EXPECT_EQ(names[names.size() - 2], (FeatureName{"b:a", std::nullopt}));
  const auto refused = [&](auto change, std::string_view words) {
    auto wrong = map;
    change(wrong);
    return refuses([&] { wrong.validate(); }, ErrorCode::invalid_argument, {words});
  };
  EXPECT_TRUE(refused([](auto& its) { its.pairs = {{"a", "c"}}; }, "pair 'a:c' names 'c', must name two features"));
  EXPECT_TRUE(refused([](auto& its) { its.pairs = {{"a", "t"}}; }, "pair 'a:t' names 't', must name two columns with bounds"));
  EXPECT_TRUE(refused([](auto& its) { its.pairs = {{"a", "a"}}; }, "pair 'a:a' is of a column with itself"));
  EXPECT_TRUE(refused([](auto& its) { its.pairs.push_back({"a", "b"}); }, "pair 'a:b' is listed twice"));
  EXPECT_TRUE(refused([](auto& its) { std::get<NamedColumns>(its.inputs)[3].knots = 4; }, "'u' has 4 knots"));
  EXPECT_TRUE(refused([](auto& its) { std::get<NamedColumns>(its.inputs)[0].knots = 1; }, "'a' has 1 knots"));
  EXPECT_TRUE(refused([](auto& its) { its.inputs = SparseFeatures{3}; }, "sparse features have pairs"));
  const auto json_refused = [&](auto change) {
    auto json = to_json(map);
    change(json);
    return refuses([&] { static_cast<void>(feature_map_from_json(json)); }, ErrorCode::invalid_argument, {});
  };
  EXPECT_TRUE(json_refused([](auto& json) { json["pairs"] = nlohmann::json::array(); }));
  EXPECT_TRUE(json_refused([](auto& json) { json["pairs"] = {{"a", "b", "u"}}; }));
  EXPECT_TRUE(json_refused([](auto& json) { json["columns"][0]["knots"] = 0; }));
  EXPECT_TRUE(json_refused([](auto& json) { json["columns"][0]["knots"] = 2.5; }));
  EXPECT_TRUE(json_refused([](auto& json) { json["columns"][0]["knots"] = 4294967300U; }));
}

/// How many rows of a matrix are linearly independent, by elimination.
std::size_t rank_of(std::vector<std::vector<double>> rows) {
  std::size_t rank = 0;
  for (std::size_t column = 0; !rows.empty() && column < rows[0].size() && rank < rows.size(); ++column) {
    const auto largest = std::max_element(rows.begin() + static_cast<std::ptrdiff_t>(rank), rows.end(),
                                          [&](const auto& a, const auto& b) { return std::abs(a[column]) < std::abs(b[column]); });
    if (std::abs((*largest)[column]) < 1e-9) continue;
    std::swap(*largest, rows[rank]);
    for (std::size_t i = rank + 1; i < rows.size(); ++i) {
      const double share = rows[i][column] / rows[rank][column];
      for (std::size_t k = column; k < rows[i].size(); ++k) rows[i][k] -= share * rows[rank][k];
    }
    ++rank;
  }
  return rank;
}

// Rows with random cells, some of them missing: orthogonal to all relations, and to nothing else.
TEST(LinearRelations, AreAllThatRowsSatisfy) {
  for (const bool intercept : {true, false}) {
    for (const bool unit_norm : {true, false}) {
      FeatureMap map{.inputs = NamedColumns{{"a", Bounds{0, 4}, std::nullopt, 4},
                                            {"u", Unchanged{}},
                                            {"b", Bounds{-1, 1}, "0.5", 3},
                                            {"town", Categories{{"x", "y"}}},
                                            {"c", Bounds{2, 3}, std::nullopt, 5}},
                     .intercept = intercept,
                     .unit_norm = unit_norm,
                     .row_scale = unit_norm ? 1 : 0.25,
                     .pairs = {{"a", "b"}}};
      map.validate();
      std::mt19937_64 random{7};
      std::uniform_real_distribution<double> any{-1, 1};
      std::vector<std::vector<double>> rows;
      for (int i = 0; i < 200; ++i) {
        const bool is_missing = i % 5 == 0;
        const double a = any(random);
        const double b = is_missing ? 0.5 : any(random);
        const double c = any(random);
        std::vector<double> row{a};
        append_hats(a, 4, row);
        row.push_back(3 * any(random));
        row.push_back(b);
        append_hats(b, 3, row);
        row.push_back(is_missing ? 1 : 0);
        row.push_back(i % 3 == 0 ? 1 : 0);
        row.push_back(i % 3 == 1 ? 1 : 0);
        row.push_back(c);
        append_hats(c, 5, row);
        row.push_back(a * b);
        if (intercept) row.push_back(1);
        scale_row(map, row);
        rows.push_back(std::move(row));
      }
      const auto relations = linear_relations(map);
      EXPECT_EQ(relations.size(), intercept ? 6U : 5U);
      EXPECT_EQ(rank_of(relations), relations.size());
      EXPECT_EQ(rank_of(rows), map.features() - relations.size());
      for (const auto& relation : relations) {
        ASSERT_EQ(relation.size(), map.features());
        for (const auto& row : rows) {
          EXPECT_NEAR(std::inner_product(row.begin(), row.end(), relation.begin(), 0.0), 0, 1e-14);
        }
      }
    }
  }
  EXPECT_TRUE(linear_relations(example()).empty());
  EXPECT_TRUE(linear_relations({.inputs = SparseFeatures{3}}).empty());
}

TEST(FeatureMap, RefusesWhatIsNoMap) {
  const auto refused = [](NamedColumns columns, std::string_view words) {
    return refuses([&] { FeatureMap{.inputs = std::move(columns)}.validate(); }, ErrorCode::invalid_argument, {words});
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(refused({}, "no column"));
  EXPECT_TRUE(refused({{"", Unchanged{}}}, "no name"));
  EXPECT_TRUE(refused({{"a", Unchanged{}}, {"a", Unchanged{}}}, "'a' is listed twice"));
  EXPECT_TRUE(refused({{"a", Bounds{1, 1}}}, "'a' are 1 and 1"));
  EXPECT_TRUE(refused({{"a", Bounds{0, nan}}}, "finite"));
  EXPECT_TRUE(refused({{"a", BoundsToUnitInterval{2, 1}}}, "'a' are 2 and 1"));
  EXPECT_TRUE(refused({{"a", Categories{{}}}}, "empty list"));
  EXPECT_TRUE(refused({{"a", Categories{{"x", "x"}}}}, "twice"));
  EXPECT_TRUE(refused({{"a", Categories{{"x", "y", "z"}, true}}}, "'a' has 3 categories in one feature, must have two"));
  EXPECT_TRUE(refuses([] { FeatureMap{.inputs = SparseFeatures{0}}.validate(); }, ErrorCode::invalid_argument, {"count of features is 0"}));
}

TEST(FeatureMap, RefusesOtherJson) {
  const auto refused = [](const char* text) {
    return refuses([&] { static_cast<void>(feature_map_from_json(nlohmann::json::parse(text))); }, ErrorCode::invalid_argument, {});
  };
  EXPECT_TRUE(refused("3"));
  EXPECT_TRUE(refused("{}"));
  EXPECT_TRUE(refused(R"({"sparse_features": 3, "intercept": true})"));
  EXPECT_TRUE(refused(R"({"sparse_features": 3, "intercept": 1, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"sparse_features": 3, "intercept": true, "unit_norm": false, "row_scale": 1})"));
  EXPECT_TRUE(refused(R"({"sparse_features": 3, "intercept": true, "unit_norm": false, "row_scale": "2"})"));
  EXPECT_TRUE(refused(R"({"sparse_features": 3, "intercept": true, "unit_norm": true, "row_scale": 2})"));
  EXPECT_TRUE(refused(R"({"sparse_features": -3, "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"sparse_features": 1e3, "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"sparse_features": 3, "columns": [], "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"columns": [], "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"columns": [{"name": "a", "map": "?"}], "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"columns": [{"name": 1, "map": "unchanged"}], "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"columns": [{"name": "a", "map": {"bounds": [1]}}], "intercept": true, "unit_norm": true})"));
  for (const std::string to : {"[0, 1]", "[-1, 2]", "[-1]", "1", "null", "[-1, true]", R"(["-1", "1"])"}) {
    EXPECT_TRUE(refused(
        (R"({"columns": [{"name": "a", "map": {"bounds": [1, 2], "to": )" + to + R"(}}], "intercept": true, "unit_norm": true})").c_str()))
        << to;
  }
  EXPECT_TRUE(refused(R"({"columns": [{"name": "a", "map": {"to": [-1, 1]}}], "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"columns": [{"name": "a", "map": {"categories": [1]}}], "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(
      refused(R"({"columns": [{"name": "a", "map": {"categories": ["x", "y"], "to": [0, 1]}}], "intercept": true, "unit_norm": true})"));
}

TEST(ScaleToUnitNorm, HoldsForEveryMagnitude) {
  for (const double scale : {1.0, 1e-320, 1e-160, 1e160, 1e308}) {
    std::vector<double> values{0.75 * scale, -scale, 0};
    scale_to_unit_norm(values);
    EXPECT_NEAR(values[0], 0.6, scale < 1e-300 ? 1e-3 : 1e-15) << scale;  // a subnormal has few digits
    EXPECT_NEAR(std::hypot(values[0], values[1], values[2]), 1, 1e-15) << scale;
  }
  std::vector<double> zeros(3, 0.0);
  scale_to_unit_norm(zeros);
  EXPECT_EQ(zeros, std::vector<double>(3, 0.0));
}

TEST(LabelRule, Compares) {
  const auto holds = [](const char* rule, double cell) { return parse_label_rule(rule)(cell); };
  EXPECT_EQ(holds("mdvis", 7), 7);
  EXPECT_EQ(holds("mdvis>0", 0), -1);
  EXPECT_EQ(holds("mdvis>0", 0.5), 1);
  EXPECT_EQ(holds("mdvis >= 2", 2), 1);
  EXPECT_EQ(holds("mdvis<2", 2), -1);
  EXPECT_EQ(holds("mdvis<=2", 2), 1);
  EXPECT_EQ(holds("mdvis==-1.5", -1.5), 1);
  EXPECT_EQ(holds("mdvis!=2", 2), -1);
}

TEST(LabelRule, ComparesTexts) {
  const auto holds = [](const char* rule, std::string_view cell) { return parse_label_rule(rule)(cell); };
  EXPECT_EQ(holds("class==yes", "yes"), 1);
  EXPECT_EQ(holds("class == 'yes'", "Yes"), -1);
  EXPECT_EQ(holds("class!='New York, NY'", "yes"), 1);
  EXPECT_TRUE(parse_label_rule("class=='7'").is_of_text());
  EXPECT_FALSE(parse_label_rule("class==7").is_of_text());
  for (const std::string text : {"class==yes", "class!='New York, NY'", "'a>b'", "not married==1", "(x)<3", "a b"}) {
    EXPECT_EQ(parse_label_rule(describe(parse_label_rule(text))), parse_label_rule(text)) << text;
  }
  EXPECT_EQ(describe(parse_label_rule("class == \"yes\"")), "class==yes");
  const std::vector<std::pair<std::string, std::string>> opposites{{"y>2", "y<=2"}, {"y>=2", "y<2"}, {"class==yes", "class!=yes"}};
  for (const auto& [rule, other] : opposites) {
    EXPECT_EQ(describe(opposite(parse_label_rule(rule))), other);
    EXPECT_EQ(describe(opposite(parse_label_rule(other))), rule);
  }
  EXPECT_EQ(parse_label_rule("'a>b'").column, "a>b");
  EXPECT_EQ(parse_label_rule("not married==1").column, "not married") << "as models before texts say it";
}

TEST(LabelRule, RefusesWhatIsNoRule) {
  for (const char* const text : {"", ">0", "a>", "a>b", "a=1", "a>>1", "a>nan", "a!1", "a>'1'", "a==x and b>0", "'a"}) {
    EXPECT_TRUE(refuses([&] { static_cast<void>(parse_label_rule(text)); }, ErrorCode::invalid_argument, {"label"})) << text;
  }
}

RC_GTEST_PROP(LabelRule, SurvivesText, (double threshold)) {
  const auto comparison = *rc::gen::element(LabelRule::Comparison::greater, LabelRule::Comparison::at_least, LabelRule::Comparison::less,
                                            LabelRule::Comparison::at_most, LabelRule::Comparison::equal, LabelRule::Comparison::not_equal);
  const LabelRule rule{.column = "visits per year", .test = LabelRule::Test{comparison, threshold}};
  RC_ASSERT(parse_label_rule(describe(rule)) == rule);
}

TEST(LabelRule, KnowsSeveralClasses) {
  const LabelRule rule = with_classes(parse_label_rule("kind"), {"red", "7"});
  EXPECT_TRUE(rule.is_of_text());
  EXPECT_EQ(rule("red"), 0);
  EXPECT_EQ(rule("7"), 1);
  EXPECT_EQ(rule("07"), std::nullopt) << "texts, not numbers";
  EXPECT_EQ(describe(rule), "kind");
  const auto refused = [](const char* label, std::vector<std::string> classes, const std::string& said) {
    EXPECT_TRUE(refuses([&] { static_cast<void>(with_classes(parse_label_rule(label), classes)); }, ErrorCode::invalid_argument, {said}));
  };
  refused("kind==red", {"red", "blue"}, "must be a column where there are several classes");
  refused("kind", {"red"}, "the number of classes is 1, must be at least 2");
  refused("kind", {"red", ""}, "a class is an empty text");
  refused("kind", {"red", "blue", "red"}, "class 'red' stands twice");
}

}  // namespace
}  // namespace surety::data::features_test
