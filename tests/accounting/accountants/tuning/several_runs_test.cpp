#include <surety/accounting/accountants/tuning/several_runs.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace surety::accounting::several_runs_test {
namespace {

// E delta_K of a geometric K of mean 2, where delta_k = 1 - 2^-k: sum of 2^-k (1 - 2^-k) = 2/3.
TEST(SeveralRuns, IsTheMeanOverHowManyThereWere) {
  std::vector<std::size_t> counts;
  for (std::size_t k = 1; k <= 40; ++k) counts.push_back(k);
  const SeveralRuns all{Runs{RunsLaw::geometric, 2}, counts};
  const auto delta_of = [&](std::size_t i) { return 1 - std::exp2(-static_cast<double>(counts[i])); };
  const double found = all.above(delta_of);
  EXPECT_GE(found, 2.0 / 3);
  EXPECT_LT(found, 2.0 / 3 + 1e-9);
  // Beyond the last count all is known: P(K > 2) = 1/4.
  const SeveralRuns two{Runs{RunsLaw::geometric, 2}, {1, 2}};
  const double cut = two.above([](std::size_t) { return 0.0; });
  EXPECT_GE(cut, 0.25);
  EXPECT_LT(cut, 0.25 + 1e-9);
}

TEST(SeveralRuns, AreCountedOneByOneAndThenGrowing) {
  const auto counts = counts_of_runs(Runs{RunsLaw::geometric, 50}, 5, 1.5, 1e-3);
  ASSERT_GT(counts.size(), 8U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(counts[i], i + 1);
  for (std::size_t i = 5; i < counts.size(); ++i) EXPECT_GT(counts[i], counts[i - 1]);
  EXPECT_GT(counts.back() - counts[counts.size() - 2], 1U);
  // More runs than that are one in a thousand: (1 - 1/50)^342.
  EXPECT_LT(counts.back(), 345U);
}

}  // namespace
}  // namespace surety::accounting::several_runs_test
