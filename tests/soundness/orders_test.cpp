// What others have found of an order (law), under an adjacency that has none: each release may be dominated in either order of two neighbours, also by
// earlier results. The truth enumerates the orders, and knows no header of accounting/accountants or accounting/laws.
//
// SURETY_ORDERS_CASES sets how many of each are drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/answers/best.h>

namespace surety::accounting::orders_test {
namespace {

using Real = long double;
using Words = std::mt19937_64;
double uniform(Words& words) { return static_cast<double>(words() >> 11) * 0x1p-53; }

int cases() {
  const char* text = std::getenv("SURETY_ORDERS_CASES");
  return text != nullptr ? std::atoi(text) : 6;
}

/// Outcomes of masses under P and under Q.
struct Outcome {
  Real p;
  Real q;
};
using Pair = std::vector<Outcome>;

Pair reversed(Pair pair) {
  for (auto& one : pair) std::swap(one.p, one.q);
  return pair;
}
Pair product(const Pair& a, const Pair& b) {
  Pair all;
  for (const auto& x : a) {
    for (const auto& y : b) all.push_back({x.p * y.p, x.q * y.q});
  }
  return all;
}
/// delta at odds a = e^epsilon.
Real curve_of(const Pair& pair, Real odds) {
  Real sum = 0;
  for (const auto& one : pair) sum += std::max<Real>(0, one.p - odds * one.q);
  return sum;
}

/// A release as it is written, its pair, and whether it has an order.
struct Release {
  std::string text;
  Pair pair;
  bool has_order;
};

std::string law_of(const Pair& pair) {
  std::string text;
  for (const auto& one : pair) {
    if (one.p == 0) continue;
    const std::string loss = one.q == 0 ? "inf" : fmt::format("{}", static_cast<double>(std::log(one.p / one.q)));
    text += fmt::format("{}{}, {}", text.empty() ? "" : ", ", loss, static_cast<double>(one.p));
  }
  return "law(" + text + ")";
}
/// Of two to four outcomes, some of them on one side alone.
Release drawn_law(Words& words, bool may_be_alone) {
  Pair pair(2 + words() % 3);
  Real p = 0;
  Real q = 0;
  for (auto& one : pair) {
    one = {0.05 + uniform(words), 0.05 + uniform(words)};
    if (words() % 4 == 0) one.q = one.p;
    p += one.p;
    q += one.q;
  }
  const Real alone_p = may_be_alone && words() % 3 == 0 ? 0.1 * uniform(words) : 0;
  const Real alone_q = may_be_alone && words() % 3 == 0 ? 0.1 * uniform(words) : 0;
  for (auto& one : pair) one = {one.p * (1 - alone_p) / p, one.q * (1 - alone_q) / q};
  if (alone_p > 0) pair.push_back({alone_p, 0});
  if (alone_q > 0) pair.push_back({0, alone_q});
  return {law_of(pair), pair, true};
}
Release drawn_answer(Words& words) {
  const double epsilon = 0.1 + uniform(words);
  const Real hit = 1 / (1 + std::exp(-static_cast<Real>(epsilon)));
  return {fmt::format("pure({})", epsilon), {{hit, 1 - hit}, {1 - hit, hit}}, false};
}

std::string composed(const std::vector<Release>& releases) {
  std::string text;
  for (const auto& one : releases) text += fmt::format("{}{}", text.empty() ? "" : ", ", one.text);
  return "compose(" + text + ")";
}

/// Every way to order the releases, fixed beforehand.
Real best_of_fixed_orders(const std::vector<Release>& releases, Real odds) {
  Real most = 0;
  for (std::size_t orders = 0; orders < std::size_t{1} << releases.size(); ++orders) {
    Pair all{{1, 1}};
    for (std::size_t i = 0; i < releases.size(); ++i) {
      const bool turned = (orders >> i) % 2 == 1;
      all = product(all, turned && releases[i].has_order ? reversed(releases[i].pair) : releases[i].pair);
    }
    most = std::max(most, curve_of(all, odds));
  }
  return most;
}

/// The most that an analyst attains who chooses the next release, and its order, by the results so far.
Real best_of_all_orders(const std::vector<Release>& releases, Real odds) {
  if (releases.empty()) return std::max<Real>(0, 1 - odds);
  Real most = 0;
  for (std::size_t i = 0; i < releases.size(); ++i) {
    if (i > 0 && releases[i].text == releases[i - 1].text) continue;
    auto rest = releases;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    for (const bool turned : {false, true}) {
      if (turned && !releases[i].has_order) continue;
      Real sum = 0;
      for (const auto& one : turned ? reversed(releases[i].pair) : releases[i].pair) {
        if (one.p > 0) sum += one.q > 0 ? one.p * best_of_all_orders(rest, odds * one.q / one.p) : one.p;
      }
      most = std::max(most, sum);
    }
  }
  return most;
}

/// What digits of the text and of this file's sums are worth.
constexpr Real slack = 1e-12L;

/// Every accountant that has a theorem.
void expect_covered_by_all(const std::string& text, double epsilon, Real truth, Real attained) {
  const auto found = best_delta(parse_event(text, Adjacency::replace_one), Epsilon{epsilon});
  for (const auto& opinion : found.opinions) {
    if (!opinion.value) continue;
    EXPECT_GE(static_cast<Real>(opinion.value->upper), truth - slack) << opinion.accountant << ": " << text << " at " << epsilon;
    EXPECT_LE(static_cast<Real>(opinion.value->lower), attained + slack) << opinion.accountant << ": " << text << " at " << epsilon;
  }
}
void expect_covered(const std::vector<Release>& releases, double epsilon) {
  const Real odds = std::exp(static_cast<Real>(epsilon));
  const Real truth = best_of_all_orders(releases, odds);
  EXPECT_GE(truth, best_of_fixed_orders(releases, odds) - slack);
  expect_covered_by_all(composed(releases), epsilon, truth, truth);
}

TEST(Orders, MixedOnesAreCovered) {
  // A query about (1, 0) and one about (0, 1), replaced by each other: optimized unary encoding, whose value turns one bit on and another one off.
  const std::string bits = "law(1.6094379124341003, 0.5, -0.5877866649021191, 0.5)";
  const auto found = best_delta(parse_event("repeat(2, " + bits + ")", Adjacency::replace_one), Epsilon{std::log(3.0)}).value;
  EXPECT_GE(found.upper, 0.3 - 1e-12);
  EXPECT_LE(found.lower, 0.3 + 1e-12);
  EXPECT_GE(found.lower, 0.3 - 1e-6);
  // With the record in every release there is one order.
  const auto ordered = best_delta(parse_event("repeat(2, " + bits + ")", Adjacency::add_or_remove_one), Epsilon{std::log(3.0)}).value;
  EXPECT_NEAR(ordered.upper, 0.22, 1e-9);
  EXPECT_NEAR(ordered.lower, 0.22, 1e-9);
  const std::string other = "repeat(2, law(-0.06803011128979436, 0.8452, 0.48510415049547007, 0.15480000000000005))";
  const auto epsilon = best_epsilon(parse_event(other, Adjacency::replace_one), Delta{0.01}).value;
  EXPECT_GE(epsilon.upper, 0.47905);
  EXPECT_GE(epsilon.lower, 0.479);
  EXPECT_LE(epsilon.lower, 0.4790525);
  const auto beside =
      best_delta(parse_event("compose(gaussian(5), repeat(2, " + bits + "))", Adjacency::replace_one), Epsilon{std::log(3.0)});
  EXPECT_GE(beside.value.upper, 0.3);
}

TEST(Orders, OfOneReleaseIsTheWorseOne) {
  Words words{1};
  for (int i = 0; i < 4 * cases(); ++i) {
    const Release law = drawn_law(words, true);
    const double epsilon = 1.2 * uniform(words);
    expect_covered({law}, epsilon);
    const auto found = best_delta(parse_event(law.text, Adjacency::replace_one), Epsilon{epsilon}).value;
    EXPECT_LE(found.width(), 1e-3) << law.text << " at " << epsilon;
    // Beside others it is chosen by their results: nothing is lost.
    const Release answer = drawn_answer(words);
    const double other = 1.2 * uniform(words);
    expect_covered({law, answer, answer}, other);
    const auto narrow = best_delta(parse_event(composed({law, answer, answer}), Adjacency::replace_one), Epsilon{other}).value;
    EXPECT_LE(narrow.width(), 2e-3) << law.text << " beside " << answer.text << " at " << other;
  }
}

TEST(Orders, OfSeveralReleasesAreCovered) {
  Words words{2};
  for (int i = 0; i < cases(); ++i) {
    const Release one = drawn_law(words, i % 2 == 0);
    const Release other = drawn_law(words, i % 3 == 0);
    const Release answer = drawn_answer(words);
    const double epsilon = uniform(words);
    expect_covered({one, one}, epsilon);
    expect_covered({one, other, answer}, epsilon);
    expect_covered({one, one, other}, epsilon);
  }
}

TEST(Orders, OfALawThatIsItsOwnReverseAreOne) {
  for (const double epsilon : {0.0, 0.3, 1.0, 2.0}) {
    const auto event = [](const std::string& text) { return parse_event(text, Adjacency::replace_one); };
    const auto law = best_delta(event("repeat(5, law(1.0986122886681098, 0.75, -1.0986122886681098, 0.25))"), Epsilon{epsilon}).value;
    const auto answers = best_delta(event("repeat(5, randomized_response(0.75, 2))"), Epsilon{epsilon}).value;
    EXPECT_NEAR(law.lower, answers.lower, 1e-9);
    EXPECT_NEAR(law.upper, answers.upper, 1e-9);
  }
}

TEST(Orders, InABatchOfFixedSizeAreCovered) {
  Words words{3};
  for (int i = 0; i < cases(); ++i) {
    const Release law = drawn_law(words, false);
    const Release answer = drawn_answer(words);
    const double epsilon = 0.5 * uniform(words);
    const Real odds = std::exp(static_cast<Real>(epsilon));
    const auto share = static_cast<int>(1 + words() % 9);
    const Real q = static_cast<Real>(share) / 10;
    // Shown is the law where the batch holds the record: in one data set it may, in the other one it cannot.
    const auto mixed = [&](Pair pair) {
      for (auto& one : pair) one.p = (1 - q) * one.q + q * one.p;
      return pair;
    };
    // The worse order of the law, and of what is done with the batch in all, at the odds that the batch leaves.
    const auto most = [&](const std::vector<Pair>& pairs) {
      Real found = 0;
      for (const auto& pair : pairs) found = std::max({found, curve_of(mixed(pair), odds), curve_of(reversed(mixed(pair)), odds)});
      return found;
    };
    const std::vector<Pair> alone{law.pair, reversed(law.pair)};
    expect_covered_by_all(fmt::format("without_replacement(10, {}, {})", share, law.text), epsilon, most(alone), most(alone));
    // Rounds, each in an order of its own.
    Real rounds = 0;
    for (const Pair& one : {mixed(law.pair), reversed(mixed(law.pair)), mixed(reversed(law.pair)), reversed(mixed(reversed(law.pair)))}) {
      for (const Pair& two : {mixed(law.pair), reversed(mixed(law.pair)), mixed(reversed(law.pair)), reversed(mixed(reversed(law.pair)))}) {
        rounds = std::max(rounds, curve_of(product(one, two), odds));
      }
    }
    expect_covered_by_all(fmt::format("repeat(2, without_replacement(10, {}, {}))", share, law.text), epsilon, rounds, 1);
    const std::vector<Pair> both{product(law.pair, answer.pair), product(reversed(law.pair), answer.pair),
                                 product(law.pair, reversed(law.pair))};
    expect_covered_by_all(fmt::format("without_replacement(10, {}, compose({}, {}))", share, law.text, answer.text), epsilon,
                          most({both[0], both[1]}), 1);
    expect_covered_by_all(fmt::format("without_replacement(10, {}, repeat(2, {}))", share, law.text), epsilon, most({both[2]}), 1);
  }
}

/// The most that the best of a geometric number of runs shows, of this mean: outcomes in any order of scores.
Real best_of_geometric_runs(const Pair& run, Real mean, Real odds) {
  // P(the best of K runs is at most so good) = E F^K, of F / mean / (1 - (1 - 1/mean) F).
  const auto generating = [&](Real f) { return f / mean / (1 - (1 - 1 / mean) * f); };
  std::vector<std::size_t> order(run.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  Real most = 0;
  do {
    Real p = 0;
    Real q = 0;
    Real sum = 0;
    for (const std::size_t i : order) {
      const Real of_p = generating(p + run[i].p) - generating(p);
      const Real of_q = generating(q + run[i].q) - generating(q);
      p += run[i].p;
      q += run[i].q;
      sum += std::max<Real>(0, of_p - odds * of_q);
    }
    most = std::max(most, sum);
  } while (std::next_permutation(order.begin(), order.end()));
  return most;
}

TEST(Orders, OfARunOfASearchAreCovered) {
  Words words{4};
  for (int i = 0; i < (cases() + 2) / 3; ++i) {
    Release law = drawn_law(words, false);
    while (law.pair.size() > 2) law = drawn_law(words, false);
    const double epsilon = 0.2 + uniform(words);
    Real truth = 0;
    for (const auto& one : {law.pair, reversed(law.pair)}) {
      for (const auto& other : {law.pair, reversed(law.pair)}) {
        truth = std::max(truth, best_of_geometric_runs(product(one, other), 3, std::exp(static_cast<Real>(epsilon))));
      }
    }
    expect_covered_by_all(fmt::format("best_of(geometric_runs, 3, repeat(2, {}))", law.text), epsilon, truth, 1);
  }
}

TEST(Orders, InPartsAreCovered) {
  Words words{5};
  for (int i = 0; i < cases(); ++i) {
    const Release one = drawn_law(words, true);
    const Release other = drawn_law(words, false);
    const double epsilon = uniform(words);
    const Real odds = std::exp(static_cast<Real>(epsilon));
    // Of parts the record is in one: in the first of one release, and in either of the next.
    const Real truth =
        std::max({best_of_all_orders({one, one}, odds), best_of_all_orders({one, other}, odds), best_of_all_orders({other, other}, odds)});
    expect_covered_by_all(fmt::format("repeat(2, parallel({}, {}))", one.text, other.text), epsilon,
                          std::max(best_of_all_orders({one, one}, odds), best_of_all_orders({other, other}, odds)), truth);
  }
}

}  // namespace
}  // namespace surety::accounting::orders_test
