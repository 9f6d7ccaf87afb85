#include <surety/base/numbers/index_tests.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <support/random.h>

namespace surety::accounting::index_tests_test {
namespace {

using reference::log_uniform;

/// P- and Q-masses of indices 0, 1, ... whose losses are about index x step, and what a window of them and its circular images look like.
struct Masses {
  std::vector<double> p;
  std::vector<double> q;
  double step;

  static Masses random(std::mt19937_64& words) {
    Masses made{{}, {}, 0.05};
    double p = 0;
    double q = 0;
    for (int i = 0; i < 96; ++i) {
      made.p.push_back(std::exp(-0.004 * (i - 48) * (i - 48)) * log_uniform(words, 0.3, 3));
      made.q.push_back(made.p.back() * std::exp(-made.step * (i - 40)) * log_uniform(words, 0.9, 1.1));
      p += made.p.back();
      q += made.q.back();
    }
    for (auto& mass : made.p) mass /= p;
    for (auto& mass : made.q) mass /= q;
    return made;
  }
  [[nodiscard]] double delta(double epsilon) const {
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) sum += std::max(0.0, p[i] - std::exp(epsilon) * q[i]);
    return sum;
  }
  /// The entries of a window of `size` that begins at index `first`.
  [[nodiscard]] IndexSums window(std::size_t first, std::size_t size, double s) const {
    IndexSums sums;
    sums.hits.assign(size, 0.0);
    sums.misses.assign(size, 0.0);
    sums.start = static_cast<double>(first) * step;
    sums.step = step;
    sums.s = s;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const std::size_t at = (i + 96 * size - first) % size;
      const double x = static_cast<double>(i) * step;
      const double tilted = p[i] * std::exp(s * x);
      sums.hits[at] += tilted;
      sums.misses[at] += q[i] * std::exp((s + 1) * x);
      if (i < first) sums.outside_left += tilted;
      if (i >= first + size) sums.outside_right += tilted;
    }
    sums.faded = std::exp(-s * static_cast<double>(size) * step);
    return sums;
  }
};

TEST(IndexTests, OfAllIndicesIsTheBestOne) {
  std::mt19937_64 words{3};
  for (int i = 0; i < 50; ++i) {
    auto masses = Masses::random(words);
    // Losses that rise with the index, so that the best set is one of those tried.
    for (std::size_t k = 0; k < masses.q.size(); ++k) masses.q[k] = masses.p[k] * std::exp(-masses.step * (static_cast<double>(k) - 40));
    const IndexTests tests{masses.window(0, 128, 1.5)};
    const double epsilon = 0.05 + 0.03 * i;
    const double truth = masses.delta(epsilon);
    EXPECT_NEAR(static_cast<double>(tests.delta(epsilon)), truth, 1e-9 * truth);
    EXPECT_NEAR(static_cast<double>(tests.epsilon(truth)), epsilon, 1e-9);
  }
}

// Each term left out in turn: some bound is then above the truth. With all of them none is.
TEST(IndexTests, NeedEveryTerm) {
  std::mt19937_64 words{4};
  int without_right = 0;
  int without_left = 0;
  int without_rounding = 0;
  for (int i = 0; i < 400; ++i) {
    const auto masses = Masses::random(words);
    const double s = log_uniform(words, 0.3, 6);
    const std::size_t first = 8 + static_cast<std::size_t>(words() % 40);
    const double epsilon = log_uniform(words, 0.05, 1.5);
    const double truth = masses.delta(epsilon) * (1 + 1e-12);
    auto sums = masses.window(first, 32, s);
    EXPECT_LE(static_cast<double>(IndexTests{sums}.delta(epsilon)), truth);
    auto mutant = sums;
    mutant.outside_right = 0;
    without_right += static_cast<double>(IndexTests{mutant}.delta(epsilon)) > truth ? 1 : 0;
    mutant = sums;
    mutant.faded = 0;
    without_left += static_cast<double>(IndexTests{mutant}.delta(epsilon)) > truth ? 1 : 0;

    // Entries that err by as much as is said, to the worse side.
    sums = masses.window(0, 128, s);
    sums.entry_error = 1e-6;
    for (auto& hit : sums.hits) hit += sums.entry_error;
    for (auto& miss : sums.misses) miss = std::max(0.0, miss - sums.entry_error);
    EXPECT_LE(static_cast<double>(IndexTests{sums}.delta(epsilon)), truth);
    sums.entry_error = 0;
    without_rounding += static_cast<double>(IndexTests{sums}.delta(epsilon)) > truth ? 1 : 0;
  }
  EXPECT_GT(without_right, 20);
  EXPECT_GT(without_left, 20);
  EXPECT_GT(without_rounding, 20);
}

TEST(IndexTests, OfNothingSayNothing) {
  IndexSums sums;
  sums.infinite = 0.01;
  EXPECT_EQ(static_cast<double>(IndexTests{sums}.delta(1)), 0.01);
  EXPECT_EQ(static_cast<double>(IndexTests{sums}.epsilon(0.02)), 0);
  EXPECT_TRUE(std::isinf(IndexTests{sums}.epsilon(1e-5)));
}

}  // namespace
}  // namespace surety::accounting::index_tests_test
