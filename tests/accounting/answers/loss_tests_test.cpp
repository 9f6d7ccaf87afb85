// Lower ends by tests of outcomes, against all outcomes.
#include <surety/accounting/answers/loss_tests.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <surety/accounting/answers/asking.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/format.h>

namespace surety::accounting::loss_tests_test {
namespace {

struct Outcome {
  double p;
  double q;
};
using Pair = std::vector<Outcome>;

double delta_of(const Pair& pair, double at) {
  const double odds = std::exp(at);
  double sum = 0;
  for (const auto& [p, q] : pair) sum += std::max(0.0, p - odds * q);
  return sum;
}
double epsilon_of(const Pair& pair, double delta) {
  double below = 0;
  double above = 500;
  if (delta_of(pair, 0) <= delta) return 0;
  for (int i = 0; i < 50; ++i) {
    const double middle = (below + above) / 2;
    (delta_of(pair, middle) > delta ? below : above) = middle;
  }
  return above;
}
Pair both(const Pair& a, const Pair& b) {
  Pair all;
  for (const auto& x : a) {
    for (const auto& y : b) all.push_back({x.p * y.p, x.q * y.q});
  }
  return all;
}
/// With this probability the record is in the batch.
Pair drawn(double rate, Pair pair) {
  for (auto& [p, q] : pair) p = (1 - rate) * q + rate * p;
  return pair;
}
/// And everybody sees whether it is.
Pair drawn_and_shown(double rate, Pair pair) {
  for (auto& [p, q] : pair) {
    p *= rate;
    q *= rate;
  }
  pair.push_back({1 - rate, 1 - rate});
  return pair;
}
/// Noise of these weights around 0 and around s, on the integers.
template <class Weight>
Pair shifted(int s, int reach, const Weight& weight) {
  double all = 0;
  for (int k = -reach; k <= reach; ++k) all += weight(k);
  Pair pair;
  for (int k = -reach; k <= reach + s; ++k) pair.push_back({weight(k - s) / all, weight(k) / all});
  return pair;
}
Pair geometric(double scale, int s) {
  return shifted(s, s + static_cast<int>(60 * scale) + 1, [=](int k) { return std::exp(-std::abs(k) / scale); });
}
Pair discrete_gaussian(double sigma, int s) {
  return shifted(s, s + static_cast<int>(14 * sigma) + 2, [=](int k) { return std::exp(-k * k / (2 * sigma * sigma)); });
}
Pair bit(double epsilon) {
  const double right = 1 / (1 + std::exp(-epsilon));
  return {{right, 1 - right}, {1 - right, right}};
}
/// One cell of the plane after another, of noise of density e^-height; moved along the first coordinate, or along both.
template <class Height>
Pair plane(double reach, double step, bool along_both, const Height& height) {
  Pair pair;
  double all = 0;
  for (double x = -reach; x <= reach; x += step) {
    for (double y = -reach; y <= reach; y += step) {
      pair.push_back({std::exp(-height(x, y)), std::exp(-height(x + 1, along_both ? y + 1 : y))});
      all += pair.back().p;
    }
  }
  for (auto& [p, q] : pair) {
    p /= all;
    q /= all;
  }
  return pair;
}
/// A record in one of two rounds of N(0, 1) or N(mu, 1).
Pair in_one_of_two(double mu) {
  Pair pair;
  constexpr double step = 0.2;
  for (double x = -9; x <= 9 + mu; x += step) {
    for (double y = -9; y <= 9 + mu; y += step) {
      const auto density = [&](double a, double b) {
        return std::exp(-((x - a) * (x - a) + (y - b) * (y - b)) / 2) * step * step / (2 * 3.14159265358979323846);
      };
      pair.push_back({(density(mu, 0) + density(0, mu)) / 2, density(0, 0)});
    }
  }
  return pair;
}

struct Case {
  std::string text;
  Adjacency adjacency;
  Pair pair;
};
std::vector<Case> cases() {
  constexpr auto add = Adjacency::add_or_remove_one;
  constexpr auto zero = Adjacency::zero_out;
  constexpr auto replace = Adjacency::replace_one;
  const auto cube = [](double b) { return [b](double x, double y) { return std::max(std::abs(x), std::abs(y)) / b; }; };
  const auto circle = [](double b) { return [b](double x, double y) { return std::sqrt(x * x + y * y) / b; }; };
  const auto fourth = [](double z) { return [z](double x, double y) { return std::sqrt(x * x * x * x + y * y * y * y) / (2 * z * z); }; };
  return {
      {"discrete_laplace(0.3, 7)", add, geometric(0.3, 7)},
      {"discrete_laplace(3, 7)", zero, geometric(3, 7)},
      {"repeat(2, discrete_laplace(0.7, 9))", zero, both(geometric(0.7, 9), geometric(0.7, 9))},
      {"poisson(0.2, discrete_laplace(0.2, 5))", add, drawn(0.2, geometric(0.2, 5))},
      {"repeat(2, poisson(0.2, discrete_laplace(0.2, 5)))", add, both(drawn(0.2, geometric(0.2, 5)), drawn(0.2, geometric(0.2, 5)))},
      {"without_replacement(10, 3, discrete_laplace(0.2, 5))", replace, drawn(0.3, geometric(0.2, 5))},
      {"discrete_gaussian(2, 21)", replace, discrete_gaussian(2, 21)},
      {"discrete_gaussian(0.4, 3)", add, discrete_gaussian(0.4, 3)},
      {"repeat(2, discrete_gaussian(1.5, 11))", add, both(discrete_gaussian(1.5, 11), discrete_gaussian(1.5, 11))},
      {"poisson(0.01, discrete_gaussian(2, 21))", zero, drawn(0.01, discrete_gaussian(2, 21))},
      {"pure(3)", add, bit(3)},
      {"repeat(2, pure(9))", add, both(bit(9), bit(9))},
      {"poisson(0.3, pure(9))", add, drawn(0.3, bit(9))},
      {"repeat(2, poisson(0.3, pure(9)))", add, both(drawn(0.3, bit(9)), drawn(0.3, bit(9)))},
      {"poisson(0.3, pure(9))", zero, drawn_and_shown(0.3, bit(9))},
      {"compose(pure(4), discrete_laplace(0.5, 4))", add, both(bit(4), geometric(0.5, 4))},
      {"randomized_response(0.9, 3)", replace, {{0.9, 0.05}, {0.05, 0.9}, {0.05, 0.05}}},
      {"randomized_response(0.01, 3)", replace, {{0.01, 0.495}, {0.495, 0.01}, {0.495, 0.495}}},
      // Of three reports one is the record's, and the others are of its neighbour's value.
      {"shuffled_responses(3, 0.9, 2)", replace, {{0.081, 0.729}, {0.747, 0.243}, {0.163, 0.027}, {0.009, 0.001}}},
      {"shuffled_reports(3, 2.1972245773362196)", replace, {{0.081, 0.729}, {0.747, 0.243}, {0.163, 0.027}, {0.009, 0.001}}},
      {"k_norm(linf, 2, 0.2)", add, plane(4, 0.08, true, cube(0.2))},
      {"k_norm(l2, 2, 0.1)", add, plane(2.5, 0.05, false, circle(0.1))},
      {"generalized_gaussian(4, 2, 0.05)", add, plane(0.5, 0.01, false, fourth(0.05))},
      {"poisson(0.1, generalized_gaussian(4, 2, 0.05))", add, drawn(0.1, plane(0.5, 0.01, false, fourth(0.05)))},
      {"allocated(2, gaussian(0.2))", add, in_one_of_two(5)},
      {"shuffled(6, 3, gaussian(0.2))", replace, in_one_of_two(5)},
      {"shuffled(6, 3, record_sum(0.2))", zero, in_one_of_two(5)},
      // Four steps are one of half of the noise; in so small a domain there is hardly more than the last step.
      {"last_iterate(4, 1, gaussian(1))", replace, shifted(40, 200, [](int k) { return std::exp(-k * k / 800.0); })},
      {"last_iterate_of_batches(9, 2, gaussian(0.25))", replace, shifted(40, 200, [](int k) { return std::exp(-k * k / 800.0); })},
      {"last_iterate_within(0.00001, 9, 1, gaussian(0.5))", replace, shifted(40, 200, [](int k) { return std::exp(-k * k / 800.0); })},
      {"poisson(0.3, gaussian(0.5))", add, drawn(0.3, shifted(40, 200, [](int k) { return std::exp(-k * k / 800.0); }))},
  };
}

struct Truth {
  Event event;
  double delta;
  double epsilon;
  double delta_there;
};
const std::vector<Truth>& truths() {
  static const auto all = [] {
    std::vector<Truth> found;
    for (const auto& [text, adjacency, pair] : cases()) {
      for (const double delta : {1e-9, 1e-3, 0.1, 0.3, 0.6}) {
        const double epsilon = epsilon_of(pair, delta);
        found.push_back({parse_event(text, adjacency), delta, epsilon, delta_of(pair, epsilon)});
      }
    }
    return found;
  }();
  return all;
}

/// How often a lower end of these terms lies above the truth.
int above_truth(const LossTestTerms& terms) {
  int found = 0;
  for (const auto& [event, delta, epsilon, delta_there] : truths()) {
    const auto tests = tests_of(event, terms);
    // Sums over cells of the plane are off by some 1e-4.
    const double lower = lower_end(tests, Delta{delta});
    const bool of_epsilon = lower > epsilon + 1e-4 * (1 + epsilon);
    const bool of_delta = lower_end(tests, Epsilon{epsilon}) > delta_there * (1 + 1e-3) + 1e-12;
    if (terms.spread && terms.odds) {
      EXPECT_FALSE(of_epsilon) << describe(event) << ' ' << delta << ": " << lower << " above " << epsilon;
      EXPECT_FALSE(of_delta) << describe(event) << ' ' << delta;
    }
    found += of_epsilon ? 1 : 0;
  }
  return found;
}

TEST(LossTests, LieBelowTheTruth) { EXPECT_EQ(above_truth({}), 0); }

// Of the choices between two candidates the one that costs most at this delta.
TEST(LossTests, OfAChoiceLieBelowTheWorstOne) {
  constexpr double range = 6;
  for (const double delta : {1e-9, 1e-3, 0.1, 0.6}) {
    double worst = 0;
    for (double t = 0.001; t < range; t += 0.001) {
      const double power = std::expm1(t - range) / std::expm1(-range);
      if (power > delta) worst = std::max(worst, t + std::log1p(-delta / power));
    }
    const double lower = lower_end(tests_of(parse_event("exponential(6)", Adjacency::replace_one)), Delta{delta});
    EXPECT_LE(lower, worst + 1e-6) << delta;
    EXPECT_GE(lower, 0.5 * worst) << delta;
  }
}

TEST(LossTests, WithoutATermDoNot) {
  EXPECT_GT(above_truth({.spread = false}), 0);
  EXPECT_GT(above_truth({.odds = false}), 0);
}

// Near the largest loss where that is huge, alone, composed, in batches and beside a part that nothing is known of.
TEST(LossTests, ComeNearHugeLosses) {
  const auto share = [](const char* text, Adjacency adjacency, double loss) {
    return lower_end(tests_of(parse_event(text, adjacency)), Delta{1e-6}) / loss;
  };
  constexpr auto add = Adjacency::add_or_remove_one;
  EXPECT_GT(share("laplace(1e-159)", add, 1e159), 1 - 1e-12);
  EXPECT_GT(share("exponential(1e280)", add, 1e280), 1 - 1e-12);
  EXPECT_GT(share("k_norm(l1, 5, 1e-9)", add, 1e9), 1 - 1e-6);
  EXPECT_GT(share("repeat(1000, pure(1e6))", add, 1e9), 1 - 1e-12);
  EXPECT_GT(share("gaussian(1e-6)", add, 5e11), 1 - 1e-4);
  EXPECT_GT(share("users(7, record_sum(1e-6))", add, 49 * 5e11), 1 - 1e-4);
  EXPECT_GT(share("record_sum(1e-6)", Adjacency::replace_one, 2e12), 1 - 1e-4);
  EXPECT_GT(share("poisson(0.01, laplace(1e-9))", add, 1e9), 1 - 1e-6);
  EXPECT_GT(share("repeat(100, poisson(1e-6, laplace(1e-9)))", add, 1e9), 1 - 1e-6);
  EXPECT_GT(share("compose(laplace(1e-9), best_of(geometric_runs, 3, gaussian(1)))", add, 1e9), 1 - 1e-6);
  EXPECT_EQ(lower_end(tests_of(parse_event("poisson(0.1, approx(1, 0.5))", add)), Delta{1e-6}), INFINITY);
  EXPECT_EQ(lower_end(tests_of(parse_event("poisson(1e-30, laplace(1e-9))", add)), Delta{1e-6}), 0);
}

// An answer has a lower end above 0 or names what has none.
TEST(LossTests, AreAskedWhereNobodyHasALowerEnd) {
  const auto best = best_epsilon(parse_event("zcdp(11310.7)", Adjacency::replace_one), Delta{1e-6});
  EXPECT_GT(best.value.lower, 11000);
  EXPECT_LE(best.value.lower, best.value.upper);
  EXPECT_GT(quick_epsilon(parse_event("zcdp(11310.7)", Adjacency::replace_one), Delta{1e-6}).lower, 11000);
  const auto part = without_test(parse_event("compose(gaussian(1), best_of(geometric_runs, 2, pure(1)))", Adjacency::zero_out));
  ASSERT_TRUE(part);
  EXPECT_EQ(describe(*part), "best_of(geometric_runs, 2, pure(1))");
  EXPECT_FALSE(without_test(parse_event("compose(gaussian(1), repeat(3, pure(1)))", Adjacency::zero_out)));
}

// A grid aims at digits of epsilon that a double has, and at none where more than delta shows everything; who asks for more gets it.
TEST(LossTests, SayHowNarrowAGridHasToBe) {
  const auto event = parse_event("gaussian(0.01)", Adjacency::zero_out);
  const auto of_grid = [](const Event& of, double width) {
    return *opinion_of(place_of<Pld>, of, Delta{1e-6}, {.width = width}, curves_of_all()).value;
  };
  const auto usual = of_grid(event, Effort{}.width);
  EXPECT_LE(usual.width(), 1e-6 * usual.upper);
  EXPECT_LE(of_grid(event, Effort{}.width / 2).width(), Effort{}.width / 2);
  const auto shown = parse_event("compose(poisson(0.1, approx(1, 0.5)), gaussian(1e-9))", Adjacency::add_or_remove_one);
  EXPECT_EQ(of_grid(shown, Effort{}.width), (Enclosure{INFINITY, INFINITY}));
  EXPECT_TRUE(why_not(place_of<Pld>,
                      parse_event("compose(users(2, allocated(9, 2, record_sum(3))), approx(1, 0.5))", Adjacency::replace_one),
                      curves_of_all()));
}

}  // namespace
}  // namespace surety::accounting::loss_tests_test
