#include <surety/accounting/calibration/accuracy.h>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

namespace surety::accuracy_test {
namespace {

NoiseOfAccuracy noise(const std::string& text, const char* name, double deviation, std::optional<double> sensitivity = std::nullopt) {
  Accuracy accuracy{NoiseScale{deviation}, std::nullopt};
  if (sensitivity) accuracy.sensitivity = NoiseScale{*sensitivity};
  return noise_of(EventOfNumber{text, Adjacency::replace_one, name}, accuracy);
}

TEST(Accuracy, IsThatOfTheNoise) {
  EXPECT_EQ(noise("repeat(10, gaussian(z))", "z", 50, 2).value, 25);
  EXPECT_EQ(noise("record_sum(z)", "z", 3).value, 3);
  EXPECT_DOUBLE_EQ(noise("laplace(b)", "b", 10, 5).value, std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(noise("poisson(0.5, laplace_record_sum(b))", "b", 10).value, std::sqrt(50.0));
  EXPECT_EQ(noise("discrete_gaussian(s, 3)", "s", 7).value, 7);
  EXPECT_EQ(noise("binomial(n, 3)", "n", 7).value, 196);
  EXPECT_EQ(noise("binomial(n, 3)", "n", 7.01).value, 196);
  EXPECT_EQ(noise("skellam(m, 3)", "m", 6).value, 18);
  EXPECT_EQ(noise("compose(record_sum(z), poisson(0.1, record_sum(z)), laplace(3))", "z", 4).value, 4);
}

// The sums over k of k^2 y^|k| and y^|k|.
TEST(Accuracy, OfDiscreteLaplaceIsThatOfItsSum) {
  for (const double deviation : {0.3, 1.0, 6.0}) {
    const auto found = noise("discrete_laplace(b, 1)", "b", deviation);
    double whole = 1;
    double squares = 0;
    for (int k = 1; k < 2000; ++k) {
      const double mass = std::exp(-k / found.value);
      whole += 2 * mass;
      squares += 2 * mass * k * k;
    }
    EXPECT_NEAR(std::sqrt(squares / whole), deviation, 1e-12 * deviation);
    EXPECT_NEAR(found.standard_deviation, deviation, 1e-12 * deviation);
  }
}

TEST(Accuracy, IsRefusedByNameWhereNoNoiseIsSought) {
  const auto message = [](const std::string& text, const char* name, std::optional<double> sensitivity = std::nullopt) -> std::string {
    try {
      static_cast<void>(noise(text, name, 2, sensitivity));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("poisson(q, record_sum(1))", "q").find("the name 'q' stands for the sampling_rate of poisson"), std::string::npos);
  EXPECT_NE(message("discrete_gaussian(3, d)", "d").find("sensitivity of discrete_gaussian"), std::string::npos);
  EXPECT_NE(message("k_norm(l2, 3, b)", "b").find("scale of k_norm"), std::string::npos);
  EXPECT_NE(message("compose(gaussian(z), record_sum(z))", "z").find("of gaussian and of record_sum"), std::string::npos);
  EXPECT_NE(message("skellam(m, 3)", "m", 3).find("sensitivity is given, must be left out"), std::string::npos);
  EXPECT_NE(message("gaussian(1)", "z").find("'z'"), std::string::npos);
  EXPECT_NE(message("binomial(n, 1)", "n"), message("binomial(n, 1)", "m"));
  try {
    static_cast<void>(noise("binomial(n, 1)", "n", 0.1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace surety::accuracy_test
