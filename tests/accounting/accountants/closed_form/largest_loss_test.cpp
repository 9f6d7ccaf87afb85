// Noise shaped like a norm at delta = 0, through the accountant that answers by it.
#include <surety/accounting/accountants/closed_form/largest_loss.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <support/real.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>

namespace surety::accounting::largest_loss_test {
namespace {

using reference::Real;

Enclosure epsilon_at(const Event& event, double delta) { return epsilon(ClosedForm{}, event, Delta{delta}); }

/// Sums in 200 bits; powers of two and their sums are exact.
TEST(LargestLoss, IsTheSumOfAllReciprocalScales) {
  const auto at_0 = [](const std::string& text, Adjacency under = Adjacency::add_or_remove_one) {
    return epsilon_at(parse_event(text, under), 0);
  };
  EXPECT_EQ(at_0("k_norm(l2, 10, 1)"), (Enclosure{1, 1}));
  EXPECT_EQ(at_0("repeat(10, k_norm(linf, 7, 0.5))", Adjacency::replace_one), (Enclosure{20, 20}));
  EXPECT_EQ(at_0("compose(k_norm(l1, 3, 4), repeat(3, compose(laplace(2), k_norm(l2, 2, 8))))", Adjacency::zero_out),
            (Enclosure{2.125, 2.125}));
  EXPECT_EQ(at_0("repeat(1000000, laplace(1024))"), (Enclosure{976.5625, 976.5625}));
  const auto thirds = at_0("compose(k_norm(l2, 4, 3), laplace(0.7))");
  const Real truth = Real{1} / Real{3} + Real{1} / Real{0.7};
  EXPECT_TRUE(Real{thirds.lower} <= truth && truth <= Real{thirds.upper});
  EXPECT_LT(thirds.width(), 1e-15);
}

TEST(LargestLoss, IsOfNoOtherKindAndNoOtherDelta) {
  for (const auto* text : {"compose(k_norm(l2, 10, 1), gaussian(1))", "compose(k_norm(l2, 10, 1), exponential(1))",
                           "poisson(0.5, k_norm(l2, 10, 1))", "parallel(k_norm(l2, 10, 1), laplace(1))"}) {
    EXPECT_THROW(epsilon_at(parse_event(text, Adjacency::zero_out), 0), Error) << text;
  }
  EXPECT_THROW(epsilon_at(parse_event("k_norm(l2, 10, 1)", Adjacency::zero_out), 1e-300), Error);
}

/// Directly by the definition: the loss (||x - v|| - ||x||) / b at drawn x near the ray against v, in each norm.
TEST(LargestLoss, IsApproachedAndNeverPassed) {
  std::mt19937_64 random{3};
  std::normal_distribution<double> normal;
  constexpr std::size_t dimension = 5;
  const auto norm_of = [](const std::vector<double>& x, int kind) {
    double sum = 0;
    for (const double one : x) sum = kind == 0 ? std::max(sum, std::abs(one)) : kind == 1 ? sum + std::abs(one) : std::hypot(sum, one);
    return sum;
  };
  const std::vector<std::string> names{"linf", "l1", "l2"};
  for (int kind = 0; kind < 3; ++kind) {
    const double claim =
        epsilon_at(parse_event("k_norm(" + names[static_cast<std::size_t>(kind)] + ", 5, 0.75)", Adjacency::add_or_remove_one), 0).upper;
    double largest = 0;
    for (int draw = 0; draw < 3000; ++draw) {
      std::vector<double> v(dimension);
      for (double& one : v) one = normal(random);
      const double length = norm_of(v, kind);
      std::vector<double> x(dimension);
      std::vector<double> moved(dimension);
      for (std::size_t i = 0; i < dimension; ++i) {
        v[i] /= length;
        x[i] = -v[i] + 0.001 * normal(random);
        moved[i] = x[i] - v[i];
      }
      largest = std::max(largest, (norm_of(moved, kind) - norm_of(x, kind)) / 0.75);
    }
    EXPECT_LE(largest, claim * (1 + 1e-12)) << names[static_cast<std::size_t>(kind)];
    EXPECT_GT(largest, claim * (1 - 1e-3)) << names[static_cast<std::size_t>(kind)];
  }
}

/// The largest log-ratio of any histogram of reports by randomized response, one record at 0 or 1 and the others at `others`, from all reports in order.
double largest_of_reports(double truth, int categories, const std::vector<int>& others) {
  const double other = (1 - truth) / (categories - 1);
  std::map<std::vector<int>, std::pair<double, double>> histograms;
  std::vector<int> reports(others.size() + 1);
  const auto add = [&](const auto& self, std::size_t place, double shared) -> void {
    if (place == reports.size()) {
      std::vector<int> counts(static_cast<std::size_t>(categories));
      for (const int one : reports) ++counts[static_cast<std::size_t>(one)];
      auto& [first, second] = histograms[counts];
      first += shared * (reports[0] == 0 ? truth : other);
      second += shared * (reports[0] == 1 ? truth : other);
      return;
    }
    for (int value = 0; value < categories; ++value) {
      reports[place] = value;
      self(self, place + 1, place == 0 ? shared : shared * (others[place - 1] == value ? truth : other));
    }
  };
  add(add, 0, 1);
  double largest = 0;
  for (const auto& [counts, both] : histograms) largest = std::max(largest, std::abs(std::log(both.first / both.second)));
  return largest;
}

TEST(LargestLoss, OfAShuffleIsThatOfOneReport) {
  for (const auto& [truth, categories] : {std::pair{0.7, 2}, {0.5, 3}, {0.2, 3}, {0.1, 4}}) {
    const auto claim = [&](const std::string& text, int times) {
      return epsilon_at(parse_event(fmt::format("repeat({}, {})", times, text), Adjacency::replace_one), 0);
    };
    for (const std::vector<int>& others : {std::vector{0}, {1, 1}, {0, 1, 1}, {1, 0, 1, 0, 1}}) {
      const double truly = largest_of_reports(truth, categories, others);
      const auto found = claim(fmt::format("shuffled_responses({}, {}, {})", others.size() + 1, truth, categories), 3);
      EXPECT_NEAR(found.lower, 3 * truly, 1e-12) << truth << " " << categories;
      EXPECT_NEAR(found.upper, 3 * truly, 1e-12) << truth << " " << categories;
    }
  }
  EXPECT_EQ(epsilon_at(parse_event("compose(laplace(2), repeat(4, shuffled_reports(1000, 0.25)))", Adjacency::replace_one), 0),
            (Enclosure{1.5, 1.5}));
  EXPECT_THROW(epsilon_at(parse_event("repeat(2, shuffled_reports(1000, 0.25))", Adjacency::replace_one), 1e-300), Error);
}

}  // namespace
}  // namespace surety::accounting::largest_loss_test
