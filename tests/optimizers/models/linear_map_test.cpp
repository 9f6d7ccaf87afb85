// The linear map of a model says its scores, in units of the columns.
#include <surety/optimizers/models/linear_map.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <surety/base/text/error.h>

namespace surety::optimizers {
namespace {

Model scaled_model() {
  data::FeatureMap map{.inputs = data::NamedColumns{{.name = "age", .map = data::Bounds{18, 90}},
                                                    {.name = "town", .map = data::Categories{{"Rome", "Oslo"}}},
                                                    {.name = "share", .map = data::BoundsToUnitInterval{-2, 3}},
                                                    {.name = "raw", .map = data::Unchanged{}}},
                       .unit_norm = false,
                       .row_scale = 0.25};
  return {.loss = "squared",
          .label = data::LabelRule{.column = "y", .test = {}},
          .features = map,
          .weights = {3, -1, 0.5, 2, 7, -4},
          .guarantee = {.target = {.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = Adjacency::replace_one},
                        .event = gaussian(NoiseMultiplier{3}, Adjacency::replace_one)}};
}

TEST(LinearMap, SaysTheScoreOfARow) {
  const auto model = scaled_model();
  const auto linear = linear_map(model);
  ASSERT_EQ(linear.names.size(), 5U);
  EXPECT_EQ(linear.names[2].category, "Oslo");
  EXPECT_EQ(linear.names[4].column, "raw");
  // The features of age 30, Oslo, share 1 and raw -6.
  std::vector<double> row{data::scaled(30, data::Bounds{18, 90}), 0, 1, data::scaled(1, data::BoundsToUnitInterval{-2, 3}), -6, 1};
  data::scale_row(model.features, row);
  const auto score = scores(model, data::RowView{{}, row, 0}).front();
  const auto& c = linear.coefficients;
  EXPECT_NEAR(linear.intercepts.front() + 30 * c[0] + c[2] + 1 * c[3] - 6 * c[4], score, 1e-13);
  EXPECT_NEAR(c[0], 0.25 * 3 / 36, 1e-16);
}

TEST(LinearMap, OfALabelWithACentreSaysWhatIsPredicted) {
  auto model = scaled_model();
  const double intercept = linear_map(model).intercepts.front();
  model.label_centre = 1000;
  EXPECT_EQ(linear_map(model).intercepts.front(), intercept + 1000);
  EXPECT_EQ(linear_map(model).coefficients, linear_map(scaled_model()).coefficients);
}

TEST(LinearMap, OfSeveralClassesHasARowForEach) {
  auto model = scaled_model();
  model.loss = "logistic";
  model.label->classes = {"a", "b"};
  model.weights = {3, -1, 0.5, 2, 7, -4, 1, 1, 1, 1, 1, 1};
  const auto linear = linear_map(model);
  ASSERT_EQ(linear.coefficients.size(), 10U);
  ASSERT_EQ(linear.intercepts.size(), 2U);
  EXPECT_NEAR(linear.coefficients[5], 0.25 / 36, 1e-16);
}

std::string refusal_of(const Model& model) {
  try {
    static_cast<void>(linear_map(model));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    return error.what();
  }
  return {};
}

TEST(LinearMap, IsRefusedWhereThereIsNone) {
  auto model = scaled_model();
  model.features.unit_norm = true;
  model.features.row_scale = 1;
  EXPECT_NE(refusal_of(model).find("divided by its norm"), std::string::npos);
  model = scaled_model();
  std::get<data::NamedColumns>(model.features.inputs)[3].map = data::SignedLogarithm{};
  EXPECT_NE(refusal_of(model).find("column 'raw' has no bounds"), std::string::npos);
}

TEST(ClassNames, AreThoseThatPredictionsTell) {
  auto model = scaled_model();
  model.loss = "logistic";
  model.label = data::parse_label_rule("town==Rome");
  EXPECT_EQ(class_names(model), (std::vector<std::string>{"town!=Rome", "town==Rome"}));
  EXPECT_EQ(predicted_class(model, 0), "town==Rome");
  EXPECT_EQ(predicted_class(model, -1e-300), "town!=Rome");
  model.loss = "squared";
  EXPECT_THROW(static_cast<void>(class_names(model)), Error);
}

}  // namespace
}  // namespace surety::optimizers
