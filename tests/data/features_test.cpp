#include <surety/data/features.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
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
  const FeatureMap sparse{.inputs = SparseFeatures{123}, .intercept = false, .unit_norm = true};
  EXPECT_EQ(feature_map_from_json(to_json(sparse)), sparse);
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
  EXPECT_TRUE(refused({{"a", Categories{{}}}}, "empty list"));
  EXPECT_TRUE(refused({{"a", Categories{{"x", "x"}}}}, "twice"));
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
  EXPECT_TRUE(refused(R"({"sparse_features": -3, "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"sparse_features": 1e3, "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"sparse_features": 3, "columns": [], "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"columns": [], "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"columns": [{"name": "a", "map": "?"}], "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"columns": [{"name": 1, "map": "unchanged"}], "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"columns": [{"name": "a", "map": {"bounds": [1]}}], "intercept": true, "unit_norm": true})"));
  EXPECT_TRUE(refused(R"({"columns": [{"name": "a", "map": {"categories": [1]}}], "intercept": true, "unit_norm": true})"));
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

}  // namespace
}  // namespace surety::data::features_test
