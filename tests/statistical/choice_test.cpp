// Mechanisms that answer one of few things, against exact probabilities: selection, sparse vector, randomized response. n = 2e6 answers of
// each (a tenth of sample_size), one by one and in consecutive pairs. The laws are in closed form in MPFR (tests/support/selection_laws.h), or
// integrals over one noise, whose integrands are analytic between the scores. Mutants are laws and simulations of usual mistakes.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <surety/mechanisms/choices/randomized_response.h>
#include <surety/mechanisms/choices/secret_runs.h>
#include <surety/mechanisms/choices/selection.h>
#include <surety/mechanisms/choices/sparse_vector.h>

#include <support/real.h>
#include <support/selection_laws.h>
#include <support/suite.h>

namespace surety::statistical::choice_test {
namespace {

using mechanisms::NoiseShape;
using mechanisms::ReplayBits;
using reference::Real;

using Law = std::vector<double>;
using Choose = std::function<std::size_t()>;

std::int64_t choices() { return sample_size() / 10; }

Report judge(const Law& law, const Choose& choose, std::int64_t n) {
  Cells cells;
  cells.probability = law;
  for (std::size_t i = 0; i < law.size(); ++i) cells.score.push_back(static_cast<double>(i));
  cells.count.resize(law.size());
  std::vector<std::int64_t> pairs(law.size() * law.size());
  std::size_t last = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto chosen = choose();
    ++cells.count[chosen];
    if (i % 2 != 0) ++pairs[last * law.size() + chosen];
    last = chosen;
  }
  Report report;
  judge_sum(report, "mean", cells, cells.score);
  judge_chi_square(report, "chi-square", cells);
  judge_largest(report, "largest deviation", cells);
  judge_kolmogorov(report, "Kolmogorov", cells);
  judge_pairs(report, "pairs,", law, law, pairs);
  return report;
}

void expect_fit(const std::string& name, const Law& law, const Choose& choose, std::int64_t n = choices()) {
  ASSERT_NEAR(std::accumulate(law.begin(), law.end(), 0.0), 1, 1e-12) << name;
  const auto report = judge(law, choose, n);
  report_fit(name, n, report);
  EXPECT_TRUE(fits(report)) << name;
}

void expect_found(const std::string& name, double found_from, const Law& law, const Choose& choose, std::int64_t n = choices()) {
  const auto report = judge(law, choose, n);
  report_line(fmt::format("| {} | {} | {} | {:.0g} |", name, n, report.alarms() ? report.alarming() : "not found", report.worst().p));
  if (static_cast<double>(n) >= found_from) {
    EXPECT_TRUE(report.alarms()) << name << ": " << report.worst().statistic << ", " << report.worst().detail;
  }
}

// ---- Selection ------------------------------------------------------------------------------------------------------------------------

// b = 2 x 1.5 / 0.75 = 4, and all scores in units of b are exact.
mechanisms::SelectionOptions options(std::size_t candidates) {
  return {.epsilon = Epsilon{0.75},
          .sensitivity = ScoreSensitivity{1.5},
          .change = ScoreChange::either_way,
          .candidates = Count{candidates},
          .adjacency = Adjacency::replace_one};
}
constexpr double b = 4;

const std::vector<double>& scores() {
  static const std::vector<double> five{0, 3, 7.5, 7.5, -4};
  return five;
}

std::vector<Real> in_units(const std::vector<double>& of) {
  std::vector<Real> result;
  for (const double score : of) result.push_back(Real{score} / b);
  return result;
}

Law as_doubles(const std::vector<Real>& law) {
  Law result;
  for (const auto& p : law) result.push_back(p.nearest_double());
  return result;
}

double laplace_density(double x) { return std::exp(-std::abs(x)) / 2; }
double laplace_below(double x) { return x < 0 ? std::exp(x) / 2 : 1 - std::exp(-x) / 2; }

/// The integral over the line of a function that is analytic between the knots and decays like exp(-|x|).
double integral(std::vector<double> knots, const std::function<double(double)>& f) {
  std::sort(knots.begin(), knots.end());
  std::vector<double> ends;
  for (int i = 40; i > 0; --i) ends.push_back(knots.front() - i);
  for (std::size_t i = 0; i < knots.size(); ++i) {
    ends.push_back(knots[i]);
    for (int part = 1; i + 1 < knots.size() && part < 4; ++part) ends.push_back(knots[i] + part * (knots[i + 1] - knots[i]) / 4);
  }
  for (int i = 1; i <= 40; ++i) ends.push_back(knots.back() + i);
  double sum = 0;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    if (ends[i] > ends[i - 1]) sum += boost::math::quadrature::gauss<double, 20>::integrate(f, ends[i - 1], ends[i]);
  }
  return sum;
}

/// P(i has the largest of s_i / b + Laplace).
Law laplace_law(const std::vector<double>& of) {
  std::vector<double> s;
  for (const double score : of) s.push_back(score / b);
  Law law;
  for (std::size_t i = 0; i < s.size(); ++i) {
    law.push_back(integral(s, [&](double x) {
      double product = laplace_density(x - s[i]);
      for (std::size_t j = 0; j < s.size(); ++j) product *= j == i ? 1 : laplace_below(x - s[j]);
      return product;
    }));
  }
  return law;
}

template <class Mechanism>
Choose chooses(const Mechanism& mechanism, const std::vector<double>& among, const std::string& stream) {
  auto bits = std::make_shared<ReplayBits>(ReplayBits{seed}.substream(stream));
  return [=] { return mechanism.release(among, *bits); };
}

TEST(ExponentialMechanism, FitsItsLaw) {
  expect_fit("exponential mechanism, 5 candidates", as_doubles(testing::softmax(in_units(scores()))),
             chooses(mechanisms::ExponentialMechanism{options(5)}, scores(), "exponential"));
  std::vector<double> many;
  for (int i = 0; i < 40; ++i) many.push_back(i % 7 - i % 3);
  expect_fit("exponential mechanism, 40 candidates", as_doubles(testing::softmax(in_units(many))),
             chooses(mechanisms::ExponentialMechanism{options(40)}, many, "exponential, many"), choices() / 8);
}

TEST(ReportNoisyMax, FitsItsLaw) {
  using mechanisms::ReportNoisyMax;
  expect_fit("noisy max, Gumbel, 5 candidates", as_doubles(testing::softmax(in_units(scores()))),
             chooses(ReportNoisyMax{options(5), NoiseShape::gumbel}, scores(), "gumbel"));
  expect_fit("noisy max, exponential, 5 candidates", as_doubles(testing::exponential_noise_law(in_units(scores()))),
             chooses(ReportNoisyMax{options(5), NoiseShape::exponential}, scores(), "exponential noise"));
  expect_fit("noisy max, Laplace, 5 candidates", laplace_law(scores()),
             chooses(ReportNoisyMax{options(5), NoiseShape::laplace}, scores(), "laplace"));
  expect_fit("noisy max, Laplace, 2 candidates", as_doubles(testing::laplace_noise_law(in_units({0, 3}))),
             chooses(ReportNoisyMax{options(2), NoiseShape::laplace}, {0, 3}, "laplace of two"));
}

TEST(PermuteAndFlip, FitsItsLaw) {
  expect_fit("permute-and-flip, 5 candidates", as_doubles(testing::permute_and_flip_law(in_units(scores()))),
             chooses(mechanisms::PermuteAndFlip{options(5)}, scores(), "permute"));
}

TEST(Integrals, AgreeWithClosedForms) {
  const auto two = laplace_law({0, 3});
  const auto exact = as_doubles(testing::laplace_noise_law(in_units({0, 3})));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(two[i], exact[i], 1e-13);
}

// ---- Sparse vector ----------------------------------------------------------------------------------------------------------------------

constexpr std::size_t longest = 10;

/// Query i minus its threshold, in units of b_T.
double distance_of(std::size_t i) { return 0.25 * static_cast<double>(i % 4) - 1.5; }

/// P(the first "above" is at i); the last category is none of `longest`. With fresh threshold noise M: query i is below when
/// d_i + ratio N_i < M.
Law stopping_law(double ratio) {
  std::vector<double> knots{0};
  for (std::size_t i = 0; i < longest; ++i) knots.push_back(distance_of(i));
  Law law;
  for (std::size_t stop = 0; stop <= longest; ++stop) {
    law.push_back(integral(knots, [&](double m) {
      double product = laplace_density(m);
      for (std::size_t i = 0; i < stop; ++i) product *= laplace_below((m - distance_of(i)) / ratio);
      return stop == longest ? product : product * (1 - laplace_below((m - distance_of(stop)) / ratio));
    }));
  }
  return law;
}

/// One run of c answers gives c stopping indices; where none of `longest` queries was above, one that certainly is ends the phase.
Choose stops(std::uint64_t answers, ScoreChange change, double epsilon, const std::string& stream) {
  using mechanisms::AboveThreshold;
  auto bits = std::make_shared<ReplayBits>(ReplayBits{seed}.substream(stream));
  auto run = std::make_shared<std::unique_ptr<AboveThreshold>>();
  const double unit = 2 * static_cast<double>(answers) * 3 / 0.75;  // b_T for epsilon 0.75, a mutant has another
  return [=]() -> std::size_t {
    if (!*run || (*run)->answers_left() == 0) {
      *run = std::make_unique<AboveThreshold>(AboveThreshold::Options{.epsilon = Epsilon{epsilon},
                                                                      .sensitivity = ScoreSensitivity{3},
                                                                      .change = change,
                                                                      .answers = Count{answers},
                                                                      .adjacency = Adjacency::replace_one});
    }
    for (std::size_t i = 0; i < longest; ++i) {
      if ((*run)->release(100 + unit * distance_of(i), 100, *bits)) return i;
    }
    EXPECT_TRUE((*run)->release(1e300, 100, *bits));
    return longest;
  };
}

TEST(AboveThreshold, StopsByItsLaw) {
  expect_fit("AboveThreshold, either way, 1 answer", stopping_law(2), stops(1, ScoreChange::either_way, 0.75, "one answer"), choices() / 2);
  // Consecutive stops of a run are independent, since the threshold is drawn again.
  expect_fit("AboveThreshold, either way, 2 answers", stopping_law(2), stops(2, ScoreChange::either_way, 0.75, "two answers"),
             choices() / 2);
  expect_fit("AboveThreshold, one way, 2 answers", stopping_law(1), stops(2, ScoreChange::one_way, 0.75, "one way"), choices() / 2);
}

// ---- Randomized response ----------------------------------------------------------------------------------------------------------------

Law response_law(double truth, std::size_t categories, std::size_t own) {
  Law law(categories, (1 - truth) / static_cast<double>(categories - 1));
  law[own] = truth;
  return law;
}

Choose answers(const mechanisms::RandomizedResponse& mechanism, std::uint64_t own, const std::string& stream) {
  auto bits = std::make_shared<ReplayBits>(ReplayBits{seed}.substream(stream));
  return [=] { return static_cast<std::size_t>(mechanism.release(own, *bits)); };
}

TEST(RandomizedResponse, FitsItsLaw) {
  using mechanisms::RandomizedResponse;
  for (const std::uint64_t k : {2U, 5U, 100U}) {
    for (const std::uint64_t own : {std::uint64_t{0}, k - 1}) {
      const auto name = fmt::format("randomized response, {} categories, own {}", k, own);
      expect_fit(name, response_law(0.7, k, own),
                 answers(RandomizedResponse{Probability{0.7}, Count{k}, Adjacency::replace_one}, own, name), 2 * choices());
    }
  }
  expect_fit("randomized response, truth 2/3, 5 categories", response_law(2.0 / 3, 5, 2),
             answers(RandomizedResponse{mechanisms::Ratio{2, 3}, Count{5}, Adjacency::replace_one}, 2, "ratio"), 2 * choices());
}

// ---- The number of runs ---------------------------------------------------------------------------------------------------------------

constexpr std::size_t most_runs = 60;  // and more count as so many

/// P(K = k), from the ratio of one probability to the one before.
Law runs_law(const std::function<double(std::size_t k)>& ratio, double first, std::size_t start) {
  Law law(most_runs + 1, 0.0);
  law[start] = first;
  for (std::size_t k = start; k + 1 < most_runs; ++k) law[k + 1] = law[k] * ratio(k);
  law.back() = 1 - std::accumulate(law.begin(), law.end() - 1, 0.0);
  return law;
}
Law poisson_runs_law(double mean) {
  return runs_law([=](std::size_t k) { return mean / static_cast<double>(k + 1); }, std::exp(-mean), 0);
}
/// With the share 1 - g of the ratio, which the mean decides: 1 / mean for shape 1, and (1 + sqrt g) / (2 sqrt g) for shape -1/2.
Law binomial_runs_law(double mean, double shape, double g) {
  return runs_law([=](std::size_t k) { return (1 - g) * (static_cast<double>(k) + shape) / static_cast<double>(k + 1); },
                  mean * std::pow(g, 1 + shape), 1);
}
/// P(K = k) by bisection for the chance to go on; what is left at the cap stops there.
Law capped_runs_law(double mean, std::size_t cap) {
  Law law;
  double low = 0;
  double high = 1;
  for (int i = 0; i < 200; ++i) {
    const double goes_on = 0.5 * (low + high);
    law.assign(most_runs + 1, 0.0);
    double left = 1;
    double found = 0;
    for (std::size_t k = 1; k <= cap; ++k, left *= goes_on) {
      law[k] = k == cap ? left : left * (1 - goes_on);
      found += static_cast<double>(k) * law[k];
    }
    (found < mean ? low : high) = goes_on;
  }
  return law;
}
double logarithmic_g(double mean) {
  double low = 1e-9;
  double high = 1;
  for (int i = 0; i < 200; ++i) {
    const double g = 0.5 * (low + high);
    ((1 - g) / (-g * std::log(g)) > mean ? low : high) = g;
  }
  return low;
}

Choose draws(const Runs& runs, const std::string& stream) {
  auto bits = std::make_shared<ReplayBits>(ReplayBits{seed}.substream(stream));
  return [=, sampler = mechanisms::SecretRuns{runs}] { return std::min<std::size_t>(most_runs, sampler.draw(*bits)); };
}

TEST(SecretRuns, FitTheirLaw) {
  const auto n = choices() / 20;
  expect_fit("Poisson runs", poisson_runs_law(4.5), draws(Runs{RunsLaw::poisson, 4.5}, "Poisson runs"), n);
  expect_fit("geometric runs", binomial_runs_law(5, 1, 0.2), draws(Runs{RunsLaw::geometric, 5}, "geometric runs"), n);
  expect_fit("logarithmic runs", binomial_runs_law(5, 0, logarithmic_g(5)), draws(Runs{RunsLaw::logarithmic, 5}, "logarithmic runs"), n);
  expect_fit("negative binomial runs", binomial_runs_law(3, -0.5, 0.04), draws(Runs::negative_binomial(3, -0.5), "negative binomial runs"),
             n);
  expect_fit("capped geometric runs", capped_runs_law(4.75, 8), draws(Runs::capped_geometric(4.75, Count{8}), "capped geometric runs"), n);
}

// ---- Mutants
// ------------------------------------------------------------------------------------------------------------------------------

TEST(ChoiceMutants, AreFound) {
  using mechanisms::ReportNoisyMax;
  const auto softmax = as_doubles(testing::softmax(in_units(scores())));
  auto one_way = options(5);
  one_way.change = ScoreChange::one_way;
  expect_found("half the noise, exponential mechanism", 1e5, softmax, chooses(mechanisms::ExponentialMechanism{one_way}, scores(), "half"));
  auto more = options(5);
  more.epsilon = Epsilon{0.75 * 1.01};
  // The probability 0.4 of each of the best two grows by a relative 0.005.
  expect_found("scale - 1 %, exponential mechanism", 6e6, softmax, chooses(mechanisms::ExponentialMechanism{more}, scores(), "more"));
  expect_found("Laplace for Gumbel noise", 1e5, softmax, chooses(ReportNoisyMax{options(5), NoiseShape::laplace}, scores(), "laplace"));
  expect_found("Gumbel for exponential noise", 1e5, as_doubles(testing::exponential_noise_law(in_units(scores()))),
               chooses(ReportNoisyMax{options(5), NoiseShape::gumbel}, scores(), "gumbel"));
  auto last = std::make_shared<std::size_t>(0);
  auto turn = std::make_shared<std::uint64_t>(0);
  const auto right = chooses(mechanisms::ExponentialMechanism{options(5)}, scores(), "sticky");
  expect_found("the last choice once more, once in 64", 1e6, softmax, [=] {
    const auto chosen = right();
    return *last = ++*turn % 64 == 0 ? *last : chosen;
  });
  expect_found("a query as noisy as its threshold, AboveThreshold", 1e5, stopping_law(2), stops(1, ScoreChange::one_way, 0.75, "one way"));
  expect_found("scale - 1 %, AboveThreshold", 1e7, stopping_law(2), stops(1, ScoreChange::either_way, 0.75 * 1.01, "more"));

  // The same noise of the threshold for two answers, as in a version of Lyu, Su and Li's list: each stop has its law, a pair has not.
  auto words = std::make_shared<std::mt19937_64>(seed);
  auto threshold = std::make_shared<double>(0);
  auto count = std::make_shared<int>(0);
  const auto laplace = [words] {
    std::exponential_distribution<double> exponential;
    return exponential(*words) - exponential(*words);
  };
  expect_found("a threshold kept for two answers, AboveThreshold", 1e5, stopping_law(2), [=]() -> std::size_t {
    if ((*count)++ % 2 == 0) *threshold = laplace();
    for (std::size_t i = 0; i < longest; ++i) {
      if (distance_of(i) + 2 * laplace() >= *threshold) return i;
    }
    return longest;
  });

  const auto few = choices() / 40;
  expect_found("a mean less by 2 %, Poisson runs", 5e4, poisson_runs_law(4.5), draws(Runs{RunsLaw::poisson, 4.41}, "fewer"), 4 * few);
  expect_found("geometric for logarithmic runs", 5e4, binomial_runs_law(5, 0, logarithmic_g(5)),
               draws(Runs{RunsLaw::geometric, 5}, "other"), few);
  const auto right_runs = draws(Runs{RunsLaw::poisson, 4.5}, "one");
  expect_found(
      "at least one run, Poisson runs", 5e4, poisson_runs_law(4.5), [=] { return std::max<std::size_t>(1, right_runs()); }, few);

  using mechanisms::RandomizedResponse;
  expect_found("truth 0.705 for 0.7, randomized response", 1.5e6, response_law(0.7, 5, 1),
               answers(RandomizedResponse{Probability{0.705}, Count{5}, Adjacency::replace_one}, 1, "truth"));
  std::uniform_real_distribution<double> coin;
  std::uniform_int_distribution<std::size_t> any{0, 4};
  expect_found("another answer that may be one's own, randomized response", 1e5, response_law(0.7, 5, 1),
               [=]() mutable { return coin(*words) < 0.7 ? 1 : any(*words); });
}

}  // namespace
}  // namespace surety::statistical::choice_test
