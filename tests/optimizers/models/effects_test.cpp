// What each column adds: pairs, missing cells, columns without bounds and classes. Values, changes and odds of predictions: cli/show_test.
#include <surety/optimizers/models/effects.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace surety::optimizers {
namespace {

Model model_of(data::FeatureMap map, std::vector<double> weights) {
  return {.loss = "logistic",
          .label = data::LabelRule{.column = "y", .test = data::LabelRule::Test{.comparison = data::Relation::greater, .threshold = 0}},
          .features = std::move(map),
          .weights = std::move(weights),
          .guarantee = {.target = {.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = Adjacency::replace_one},
                        .event = gaussian(NoiseMultiplier{3}, Adjacency::replace_one)}};
}

TEST(ColumnEffects, OfPairsAndOfTheirColumnsHaveNoOdds) {
  const auto model = model_of({.inputs = data::NamedColumns{{.name = "age", .map = data::Bounds{0, 2}},
                                                            {.name = "rooms", .map = data::Bounds{0, 4}},
                                                            {.name = "sex", .map = data::Categories{{"f", "m"}, true}}},
                               .unit_norm = false,
                               .row_scale = 0.5,
                               .pairs = {{"age", "rooms"}}},
                              {1, 2, 3, -4, 7});
  model.validate();
  const auto effects = column_effects(model);
  ASSERT_EQ(effects.size(), 4U);
  EXPECT_EQ(effects[0].column, "age:rooms");
  EXPECT_EQ(*effects[0].importance, 4) << "the product is from -1 to 1";
  EXPECT_EQ(effects[0].values.front(), std::vector<double>{-2});
  EXPECT_EQ(effects[1].column, "sex");
  EXPECT_EQ(effects[1].values.front(), (std::vector<double>{-1.5, 1.5}));
  EXPECT_NEAR(odds(effects[1], 1)->lower, std::exp(3), 1e-9);
  EXPECT_EQ(effects[3].column, "age");
  EXPECT_EQ(effects[3].values.front(), (std::vector<double>{-0.5, 0.5}));
  EXPECT_TRUE(effects[3].per_unit.empty()) << "it depends on rooms";
  for (const std::size_t k : {0, 2, 3}) EXPECT_FALSE(odds(effects[k], 0)) << effects[k].column;
}

TEST(ColumnEffects, OfColumnsWithoutBoundsHaveNoImportance) {
  const data::NamedColumns columns{{.name = "income", .map = data::SignedLogarithm{}},
                                   {.name = "age", .map = data::Bounds{0, 2}, .missing = "1", .knots = 2}};
  auto model = model_of({.inputs = columns, .unit_norm = false}, {2, 1, 5, 6, 0.25, 0});
  const auto scaled = column_effects(model);
  EXPECT_EQ(scaled[0].column, "age");
  EXPECT_EQ(scaled[0].values.front(), (std::vector<double>{4, 7}));
  EXPECT_EQ(scaled[0].missing, std::vector<double>{0.25});
  EXPECT_EQ(*scaled[0].importance, 3);
  EXPECT_FALSE(scaled[1].importance);
  EXPECT_EQ(scaled[1].at[scaled[1].reference], 0);
  EXPECT_NEAR(scaled[1].values.front()[5], 2 * std::asinh(1.0), 1e-15);
  EXPECT_NEAR(change(scaled[1], 0, 5)->upper, 2 * std::asinh(1.0), 1e-15);
  // Where rows are divided by norms without a bound, the change may be as near to 0 as one likes.
  model.features.unit_norm = true;
  const auto divided = column_effects(model);
  EXPECT_EQ(change(divided[0], 0, 1)->lower, 0);
  EXPECT_NEAR(change(divided[0], 0, 1)->upper, 3 / std::sqrt(3.0), 1e-15) << "number, hat function and constant";
  EXPECT_EQ(divided[0].norms[1]->most, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(change(divided[1], 0, 5));
}

TEST(ColumnEffects, HaveOddsOfTwoClassesBySoftmaxAlone) {
  auto model = model_of({.inputs = data::NamedColumns{{.name = "age", .map = data::Bounds{0, 2}}}, .unit_norm = false}, {-1, 0, 2, 0});
  model.label = data::with_classes(data::parse_label_rule("y"), {"a", "b"});
  EXPECT_FALSE(has_odds(model));
  model.classes_by = ClassesBy::softmax;
  ASSERT_TRUE(has_odds(model));
  const auto effect = column_effects(model).front();
  EXPECT_NEAR(odds(effect, 1)->upper, std::exp(6), 1e-9);
  EXPECT_NEAR(*odds_per_unit(effect), std::exp(3), 1e-9);
  EXPECT_EQ(*effect.importance, 4);
  model.loss = "hinge";
  EXPECT_FALSE(has_odds(model));
  model.features.inputs = data::SparseFeatures{1};
  EXPECT_TRUE(column_effects(model).empty());
}

}  // namespace
}  // namespace surety::optimizers
