// Numbers of a report in words: rounded in the direction that keeps them true.
#include <surety/jobs/report/report_values.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <string>

namespace surety::report_values_test {
namespace {

TEST(ReportValues, RoundsAProbabilityUp) {
  EXPECT_EQ(jobs::report_values::percent_at_most(0), "0 %");
  EXPECT_EQ(jobs::report_values::percent_at_most(1), "100 %");
  EXPECT_EQ(jobs::report_values::percent_at_most(0.5), "50 %");
  EXPECT_EQ(jobs::report_values::percent_at_most(0.6209183377), "62.1 %");
  EXPECT_EQ(jobs::report_values::percent_at_most(0.0271828233), "2.719 %");
  EXPECT_EQ(jobs::report_values::percent_at_most(0.75), "75 %");
  EXPECT_EQ(jobs::report_values::percent_at_most(0.99999999), "100 %");
  EXPECT_EQ(jobs::report_values::percent_of(0.001), "0.1 %");
  EXPECT_EQ(jobs::report_values::percent_of(0.01), "1 %");
  EXPECT_EQ(jobs::report_values::percent_of(0.1), "10 %");
  EXPECT_EQ(jobs::report_values::percent_of(1e-7), "1e-07 (as a share of 1)");
}

TEST(ReportValues, NeverSaysLessThanTheProbability) {
  std::mt19937_64 words{7};
  for (int k = 0; k < 10'000; ++k) {
    const double value = std::ldexp(static_cast<double>(words() >> 11), -53) * std::ldexp(1, -static_cast<int>(words() % 20));
    const auto text = jobs::report_values::percent_at_most(value);
    const double said = std::stod(text) / (text.find('%') == std::string::npos ? 1 : 100);
    EXPECT_GE(said, value * (1 - 1e-15)) << text;
    EXPECT_LE(said, value * 1.0011) << text;
  }
}

}  // namespace
}  // namespace surety::report_values_test
