// Where the rule of `--algorithm auto` changes what it takes: for tables of known shape, on both sides of each of its thresholds. That the command takes what
// is chosen is looked at in cli/automatic_test.
#include <surety/jobs/automatic/automatic.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include <surety/accounting/accountants/closed_form/closed_form.h>

namespace surety::automatic_test {
namespace {

using jobs::PublicNumbers;
using jobs::RowLength;

const Target target{Epsilon{1}, Delta{1e-5}, Adjacency::replace_one};

double mu() {
  static const double found = accounting::largest_mu(target.epsilon, target.delta).lower;
  return found;
}

/// So many records that 2 d / (n mu) is nearly this.
Count records_at(double nu, std::size_t features) {
  return Count{static_cast<std::uint64_t>(std::llround(2 * static_cast<double>(features) / (nu * mu())))};
}

PublicNumbers table(double nu, std::size_t features) {
  return {.records = records_at(nu, features),
          .features = features,
          .linear_features = features,
          .target = target,
          .loss = jobs::Loss::logistic};
}
PublicNumbers squares(double nu, std::size_t features, RowLength rows = RowLength::unit) {
  auto numbers = table(nu, features);
  numbers.loss = jobs::Loss::squared;
  numbers.label_bound = 1;
  numbers.rows = rows;
  return numbers;
}
PublicNumbers of_classes(double nu, std::size_t features, std::size_t classes = 3) {
  auto numbers = table(nu, features);
  numbers.classes = classes;
  return numbers;
}
/// \param nu of all features with additive terms
PublicNumbers with_curves(PublicNumbers numbers, double nu, std::size_t linear) {
  numbers.records = records_at(nu, numbers.features);
  numbers.additive_features = numbers.features;
  numbers.features = numbers.linear_features = linear;
  return numbers;
}

/// What is taken: the algorithm, and its fields in their order.
std::string taken(const PublicNumbers& numbers) {
  const auto choice = jobs::choices(numbers).front();
  std::string text = choice.algorithm;
  for (const auto& [name, value] : choice.fields) text += " " + name + " " + value;
  return text;
}
bool takes_curves(const PublicNumbers& numbers) { return taken(numbers).find("terms additive") != std::string::npos; }

TEST(RuleOfAuto, OfLogisticLossTakesStepsByTheNoiseAndTheConstantBeyondOne) {
  EXPECT_EQ(taken(table(1.02, 50)), "constant");
  EXPECT_EQ(taken(table(0.98, 50)), "shaped-descent steps 10 shrink stein start share");
  EXPECT_EQ(taken(table(0.1, 50)), "shaped-descent steps 10 shrink stein start share");
  EXPECT_EQ(taken(table(0.088, 50)), "shaped-descent steps 11 shrink stein start share");
  EXPECT_EQ(taken(table(0.025, 50)), "shaped-descent steps 20 shrink stein start share");
  EXPECT_EQ(taken(table(0.00285, 50)), "shaped-descent steps 59 shrink stein start share");
  EXPECT_EQ(taken(table(0.0027, 50)), "shaped-descent steps 60 shrink stein start share");
}

TEST(RuleOfAuto, OfSeveralClassesTakesStepsAndRidgeByTheirFeatures) {
  EXPECT_EQ(taken(of_classes(1.02, 20)), "constant classes-by softmax");
  EXPECT_EQ(taken(of_classes(0.98, 20)), "shaped-descent steps 20 ridge 0.1 classes-by softmax");
  EXPECT_EQ(taken(of_classes(0.1, 30)), "shaped-descent steps 20 ridge 0.1 classes-by softmax");
  EXPECT_EQ(taken(of_classes(0.1, 31)), "shaped-descent steps 30 ridge 0.03 classes-by softmax");
  EXPECT_EQ(taken(of_classes(0.0178, 30)), "shaped-descent steps 24 ridge 0.1 classes-by softmax");
  EXPECT_EQ(taken(of_classes(0.0085, 31)), "shaped-descent steps 34 ridge 0.03 classes-by softmax");
}

TEST(RuleOfAuto, TakesCurvesUpToAsMuchNoiseAsTheLossBears) {
  EXPECT_TRUE(takes_curves(with_curves(table(1, 80), 0.098, 10)));
  EXPECT_FALSE(takes_curves(with_curves(table(1, 80), 0.102, 10)));
  EXPECT_TRUE(takes_curves(with_curves(squares(1, 80), 0.0147, 10)));
  EXPECT_FALSE(takes_curves(with_curves(squares(1, 80), 0.0153, 10)));
  // More than 70 records of each feature: n / d is 7.6 / nu here.
  EXPECT_TRUE(takes_curves(with_curves(of_classes(1, 80), 0.0294, 10)));
  EXPECT_FALSE(takes_curves(with_curves(of_classes(1, 80), 0.0306, 10)));
}

/// Of several classes with curves and so many records of each feature, at an epsilon for which nu is this.
std::string taken_of_few(double records_of_each, double nu, std::size_t features = 80, std::size_t linear = 10, std::size_t classes = 3) {
  auto numbers = with_curves(of_classes(1, features, classes), 1, linear);
  numbers.records = Count{static_cast<std::uint64_t>(std::llround(records_of_each * static_cast<double>(features)))};
  const Mu mu_of_nu{2 / (nu * records_of_each)};
  numbers.target.epsilon = Epsilon{accounting::gaussian_epsilon(mu_of_nu, target.delta).upper};
  return taken(numbers);
}

TEST(RuleOfAuto, OfSeveralClassesHasALargerRidgeWhereRecordsOfAFeatureAreFew) {
  const std::string few = "shaped-descent steps 20 shrink stein classes-by softmax terms additive";
  const std::string many = "shaped-descent steps 30 shrink stein classes-by softmax terms additive";
  EXPECT_EQ(taken_of_few(69, 0.0294), few);
  EXPECT_EQ(taken_of_few(71, 0.0294), many);
  // Where it is larger curves begin earlier.
  EXPECT_EQ(taken_of_few(69, 0.196), few);
  EXPECT_EQ(taken_of_few(69, 0.204), "shaped-descent steps 20 ridge 0.1 classes-by softmax");
  EXPECT_EQ(taken_of_few(71, 0.0306), "shaped-descent steps 51 ridge 0.1 classes-by softmax") << "of 10 linear features";
  // And of at most 30 linear ones.
  EXPECT_EQ(taken_of_few(69, 0.0294, 240, 30), few);
  EXPECT_EQ(taken_of_few(69, 0.0294, 248, 31), many);
}

TEST(RuleOfAuto, WantsRecordsForEachFeatureOfACurve) {
  const auto takes = [](const std::string& text) { return text.find("terms additive") != std::string::npos; };
  EXPECT_TRUE(takes(taken_of_few(12.1, 0.1)));
  EXPECT_FALSE(takes(taken_of_few(11.9, 0.1)));
  // Three for each class, where these are more.
  EXPECT_TRUE(takes(taken_of_few(60.5, 0.1, 80, 10, 20)));
  EXPECT_FALSE(takes(taken_of_few(59.5, 0.1, 80, 10, 20)));
}

TEST(RuleOfAuto, OfSquaredLossLeavesTheClipToReleasedResiduals) {
  EXPECT_EQ(taken(squares(0.00098, 15)), "sufficient-statistics");
  EXPECT_EQ(taken(squares(0.00102, 15)), "shaped-descent");
  EXPECT_EQ(taken(squares(0.00098, 16)), "shaped-descent");
  EXPECT_EQ(taken(squares(0.49, 16)), "shaped-descent");
  EXPECT_EQ(taken(squares(0.51, 16)), "constant");
}

TEST(RuleOfAuto, OfSquaredLossHasRowsOfOneScaleWhereItMayChoose) {
  EXPECT_EQ(taken(squares(0.0196, 25, RowLength::either)), "shaped-descent rows scaled");
  EXPECT_EQ(taken(squares(0.0196, 60, RowLength::either)), "shaped-descent rows scaled");
  EXPECT_EQ(taken(squares(0.00098, 15, RowLength::either)), "sufficient-statistics rows scaled");
  EXPECT_EQ(taken(squares(0.0196, 26, RowLength::scaled)), "shaped-descent") << "nobody needs to say so again";
  EXPECT_EQ(taken(squares(0.0196, 26, RowLength::unit)), "shaped-descent");
}

TEST(RuleOfAuto, OfOwnersTakesAsManyStepsAsTheNoiseOfTheirMeansAllows) {
  auto owners = table(0.1, 20);
  owners.unit_rows = Count{16};
  EXPECT_EQ(taken(owners), "shaped-descent steps 14 ridge 0.3 start share clip-share 0.075")
      << "of nu / 2, and the share of records over 4";
  owners.records = records_at(0.98, 20);
  EXPECT_EQ(taken(owners), "shaped-descent steps 10 ridge 0.3 start share clip-share 0.075");
  owners.records = records_at(1.02, 20);
  EXPECT_EQ(taken(owners), "constant") << "by the number of owners, whatever K is";
  owners.loss = jobs::Loss::squared;
  owners.label_bound = 3;
  owners.records = records_at(0.51, 20);
  EXPECT_EQ(taken(owners), "constant");
  owners.records = records_at(0.49, 20);
  EXPECT_EQ(taken(owners), "shaped-descent steps 10 ridge 0.3 clip-share 0.075 clip 1.5");
  owners.records = records_at(0.102, 20);
  EXPECT_EQ(taken(owners), "shaped-descent steps 14 ridge 0.3 clip-share 0.075 clip 1.5");
  owners.records = records_at(0.098, 20);
  EXPECT_EQ(taken(owners), "shaped-descent clip-share 0.25");
}

TEST(RuleOfAuto, OfManyFeaturesTakesTheL1GeometryWhereNoiseIsLarge) {
  EXPECT_EQ(taken(table(0.31, 100)), "mirror-descent geometry l1 radius 120 steps 903");
  EXPECT_EQ(taken(table(0.98, 100)).substr(0, 26), "mirror-descent geometry l1");
  EXPECT_EQ(taken(table(1.02, 100)), "constant");
  EXPECT_EQ(taken(table(0.29, 100)), "shaped-descent steps 30 start share");
  EXPECT_EQ(taken(table(0.0027, 100)), "shaped-descent steps 60 start share");
  EXPECT_EQ(taken(table(0.31, 99)), "shaped-descent steps 10 shrink stein start share") << "few features";
  EXPECT_EQ(taken(table(0.31, 1025)).substr(0, 26), "mirror-descent geometry l1");
  EXPECT_EQ(taken(table(5, 1025)).substr(0, 26), "mirror-descent geometry l1");
  EXPECT_EQ(taken(table(0.29, 1025)), "accelerated-gradient-descent steps 84 regularization 0");
  EXPECT_EQ(taken(table(0.29, 1024)), "shaped-descent steps 30 start share");
}

}  // namespace
}  // namespace surety::automatic_test
