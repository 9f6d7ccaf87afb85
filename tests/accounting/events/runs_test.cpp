// Laws of the number of runs: the parameter that follows from the mean, against the mean of the probabilities.
#include <surety/accounting/events/runs.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/events/runs_law.h>

#include <support/refusal.h>

namespace surety::accounting::runs_test {
namespace {

using reference::refusal_of;

TEST(Runs, HaveTheMeanThatTheyAreSaidToHave) {
  for (const double mean : {1.001, 1.5, 10.0, 40.0}) {
    for (const double shape : {-0.5, -0.25, 0.0, 1e-9, 0.5, 1.0, 2.5, 40.0}) {
      const auto runs = shape == 0   ? Runs{RunsLaw::logarithmic, mean}
                        : shape == 1 ? Runs{RunsLaw::geometric, mean}
                                     : Runs::negative_binomial(mean, shape);
      const auto w = minus_log_stopping(runs, 64).enclosure();
      EXPECT_LE(w.width(), 4e-16 * w.upper);
      const double share = -std::expm1(-w.lower);
      double mass = 1;
      double sum = 0;
      double sum_of_runs = 0;
      for (double k = 1; k < 2e6 && mass > 1e-19 * sum; ++k) {
        sum += mass;
        sum_of_runs += k * mass;
        mass *= share * (k + shape) / (k + 1);
      }
      EXPECT_NEAR(sum_of_runs / sum / mean, 1, 2e-7) << mean << ' ' << shape;
    }
  }
}

TEST(Runs, EncloseTheirParameterAtAnyPrecision) {
  const auto runs = Runs::negative_binomial(10, 0.5);
  const auto narrow = minus_log_stopping(runs, 300);
  EXPECT_TRUE(narrow.agrees_to(298));
  const auto wide = minus_log_stopping(runs, 64).enclosure();
  EXPECT_TRUE(overlap(wide, narrow.enclosure()));
  // A law by two names.
  const auto geometric = minus_log_stopping(Runs{RunsLaw::geometric, 10}, 128).enclosure();
  EXPECT_TRUE(overlap(geometric, minus_log_stopping(Runs::negative_binomial(10, 1), 128).enclosure()));
  EXPECT_NEAR(geometric.lower, std::log(10.0), 1e-15);
}

TEST(Runs, OfACapHaveTheMeanThatTheyAreSaidToHave) {
  const std::vector<std::pair<double, std::uint64_t>> laws{{1.001, 2}, {1.999, 2},    {10, 11},       {10, 20},
                                                           {10, 1000}, {700.5, 1000}, {999.999, 1000}};
  for (const auto& [mean, cap] : laws) {
    const auto runs = Runs::capped_geometric(mean, Count{cap});
    const auto w = minus_log_stopping(runs, 64).enclosure();
    EXPECT_LE(w.width(), 4e-16 * w.upper);
    const double stops = std::exp(-w.lower);
    // The mean of what is cut, by its probabilities.
    double left = 1;
    double found = 0;
    for (std::uint64_t k = 1; k < cap; ++k) {
      found += static_cast<double>(k) * left * stops;
      left *= 1 - stops;
    }
    found += static_cast<double>(cap) * left;
    EXPECT_NEAR(found / mean, 1, 1e-11) << mean << ' ' << cap;
  }
  EXPECT_TRUE(minus_log_stopping(Runs::capped_geometric(10, Count{20}), 300).agrees_to(298));
  // A cap that is hardly ever reached is none.
  EXPECT_NEAR(minus_log_stopping(Runs::capped_geometric(10, Count{1000}), 64).enclosure().lower, std::log(10.0), 1e-15);
}

TEST(Runs, RoundTripThroughTheirNames) {
  for (const auto law :
       {RunsLaw::poisson, RunsLaw::geometric, RunsLaw::logarithmic, RunsLaw::negative_binomial, RunsLaw::capped_geometric}) {
    EXPECT_EQ(parse_runs_law(name(law)), law);
  }
  EXPECT_TRUE(refusal_of([] { return parse_runs_law("geometric"); }).says(ErrorCode::invalid_argument, "did you mean 'geometric_runs'?"));
}

TEST(Runs, RefuseWhatTheyHaveNoMeaningFor) {
  const auto refused = [](RunsLaw law, double mean) { return refusal_of([&] { return Runs{law, mean}; }).refused; };
  EXPECT_TRUE(refused(RunsLaw::poisson, 0));
  EXPECT_FALSE(refused(RunsLaw::poisson, 1e-9));
  EXPECT_TRUE(refused(RunsLaw::geometric, 1));
  EXPECT_TRUE(refused(RunsLaw::logarithmic, 1e7));
  EXPECT_TRUE(refused(RunsLaw::negative_binomial, 2));
  EXPECT_TRUE(refusal_of([] { return Runs::negative_binomial(2, -0.6); }).refused);
  EXPECT_TRUE(refusal_of([] { return Runs::negative_binomial(2, std::nan("")); }).refused);
}

}  // namespace
}  // namespace surety::accounting::runs_test
