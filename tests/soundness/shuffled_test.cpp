// Shuffled reports against randomizers that are drawn at random, from the meaning of a shuffle alone: every order of the records, every sequence of
// reports, one by one. Randomizers may depend on the earlier reports. Nothing here knows a clone or a blanket.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event.h>

#include <support/report_histograms.h>

namespace surety::accounting::shuffled_test {
namespace {

using Words = std::mt19937_64;
using Rows = surety::testing::ReportRows;
using surety::testing::histograms;
using surety::testing::hockey_stick;
using surety::testing::Reports;
using surety::testing::response;
using Law = surety::testing::ReportDistribution;

long double uniform(Words& words) { return static_cast<long double>(words() >> 11) * 0x1p-53L; }
std::size_t below(Words& words, std::size_t count) { return static_cast<std::size_t>(words() % count); }

constexpr std::size_t inputs = 3;

/// Of each input some outcomes, as many for every input, that are `odds` times as likely as the others: binary randomized response and its like.
Rows draw_subsets(Words& words, long double odds, std::size_t outcomes) {
  const std::size_t likely = 1 + below(words, outcomes - 1);
  const long double least = 1 / (static_cast<long double>(likely) * odds + static_cast<long double>(outcomes - likely));
  Rows rows;
  for (std::size_t input = 0; input < inputs; ++input) {
    std::vector<long double> row(outcomes, least);
    std::fill_n(row.begin(), likely, odds * least);
    std::shuffle(row.begin(), row.end(), words);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Rows whose probabilities of a report differ by at most the factor `odds`, many of them by all of it.
Rows draw_randomizer(Words& words, long double odds, std::size_t outcomes) {
  if (below(words, 2) == 0) return draw_subsets(words, odds, outcomes);
  for (;;) {
    std::vector<long double> least(outcomes);
    for (auto& one : least) one = std::pow(uniform(words), 1 + 2 * static_cast<long double>(below(words, 2)));
    const long double sum = std::accumulate(least.begin(), least.end(), 0.0L);
    // The least probabilities are scaled so that each row may sum to 1.
    const long double scale = 1 / (sum * (1 + uniform(words) * (odds - 1)));
    Rows rows;
    for (std::size_t input = 0; input < inputs; ++input) {
      std::vector<long double> more(outcomes);
      for (auto& one : more) one = below(words, 3) == 0 ? uniform(words) : static_cast<long double>(below(words, 2));
      long double moved = 0;
      for (std::size_t y = 0; y < outcomes; ++y) moved += least[y] * more[y] * (odds - 1);
      const long double share = moved > 0 ? (1 / scale - sum) / moved : 2;
      if (share > 1) break;
      std::vector<long double> row(outcomes);
      for (std::size_t y = 0; y < outcomes; ++y) row[y] = scale * least[y] * (1 + share * more[y] * (odds - 1));
      rows.push_back(std::move(row));
    }
    if (rows.size() == inputs) return rows;
  }
}

/// A randomizer for each list of earlier reports, or one for all.
class Randomizers {
 public:
  Randomizers(Words& words, long double odds, std::size_t outcomes, bool adapts)
      : words_{words}, odds_{odds}, outcomes_{outcomes}, adapts_{adapts} {}
  const Rows& after(const Reports& earlier) {
    const Reports key = adapts_ ? earlier : Reports{};
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_.emplace(key, draw_randomizer(words_, odds_, outcomes_)).first->second;
  }

 private:
  Words& words_;
  long double odds_;
  std::size_t outcomes_;
  bool adapts_;
  std::map<Reports, Rows> known_;
};

/// What is seen of these records in a uniform order: the reports in that order.
Law seen(Randomizers& randomizers, std::vector<std::size_t> data) {
  std::vector<std::size_t> order(data.size());
  std::iota(order.begin(), order.end(), 0);
  Law law;
  long double orders = 0;
  do {
    Law now{{{}, 1}};
    for (const std::size_t place : order) {
      Law next;
      for (const auto& [earlier, mass] : now) {
        const auto& row = randomizers.after(earlier)[data[place]];
        for (std::size_t y = 0; y < row.size(); ++y) {
          auto later = earlier;
          later.push_back(y);
          next[later] += mass * row[y];
        }
      }
      now = std::move(next);
    }
    for (const auto& [reports, mass] : now) law[reports] += mass;
    orders += 1;
  } while (std::next_permutation(order.begin(), order.end()));
  for (auto& [reports, mass] : law) mass /= orders;
  return law;
}

Event event_of(const std::string& text) { return parse_event(text, Adjacency::replace_one); }

constexpr double slack = 1e-11;

TEST(ShuffledReports, HoldRandomizersThatAdaptToEarlierReports) {
  Words words{20};
  double nearest = 0;
  for (int i = 0; i < 150; ++i) {
    const double epsilon0 = std::vector<double>{0.2, 0.7, 1, 2, 3}[below(words, 5)];
    const std::size_t n = 1 + below(words, 4);
    Randomizers randomizers{words, std::exp(static_cast<long double>(epsilon0)), 2 + below(words, n > 3 ? 1 : 3), below(words, 2) == 0};
    std::vector<std::size_t> data(n);
    for (auto& one : data) one = below(words, inputs);
    data[0] = 0;
    const Law p = seen(randomizers, data);
    data[0] = 1;
    const Law q = seen(randomizers, data);
    const Event event = event_of(fmt::format("shuffled_reports({}, {})", n, epsilon0));
    for (const double share : {0.0, 0.1, 0.4, 0.8}) {
      const double epsilon = share * epsilon0;
      const long double e = std::exp(static_cast<long double>(epsilon));
      const auto truth = static_cast<double>(std::max(hockey_stick(p, q, e), hockey_stick(q, p, e)));
      const double claimed = best_delta(event, Epsilon{epsilon}).value.upper;
      EXPECT_LE(truth, claimed + slack) << describe(event) << " at " << epsilon;
      if (n > 1) nearest = std::max(nearest, truth / claimed);
    }
  }
  // Some are nearly as bad as any.
  EXPECT_GT(nearest, 0.9);
}

/// Two independent shuffles.
Law together(const Law& one, const Law& other) {
  Law law;
  for (const auto& [a, mass] : one) {
    for (const auto& [b, more] : other) {
      auto both = a;
      both.insert(both.end(), b.begin(), b.end());
      law[both] += mass * more;
    }
  }
  return law;
}

/// Calls see(data) for all data of the others, record 0 having input 0.
template <class See>
void for_all_data(std::size_t n, std::size_t categories, const See& see) {
  std::vector<std::size_t> data(n, 0);
  for (;;) {
    see(data);
    std::size_t i = n;
    while (--i > 0 && data[i] + 1 == categories) {
    }
    if (i == 0) return;
    std::fill(data.begin() + static_cast<std::ptrdiff_t>(i), data.end(), data[i] + 1);
  }
}

TEST(ShuffledResponses, HoldTheWorstDataAloneAndTwice) {
  for (const auto& [truth, categories] :
       std::vector<std::pair<double, std::size_t>>{{0.7, 2}, {0.3, 2}, {0.6, 3}, {0.1, 3}, {0.5, 4}, {0.05, 4}}) {
    for (const std::size_t n : {2U, 3U, 5U}) {
      const Rows rows = response(static_cast<long double>(truth), categories);
      const Event once = event_of(fmt::format("shuffled_responses({}, {}, {})", n, truth, categories));
      const Event twice = repeat(Count{2}, once);
      for (const double epsilon : {0.0, 0.1, 0.4, 1.0}) {
        const long double e = std::exp(static_cast<long double>(epsilon));
        long double worst = 0;
        long double worst_twice = 0;
        for_all_data(n, categories, [&](std::vector<std::size_t> data) {
          const Law p = histograms(rows, data);
          data[0] = 1;
          const Law q = histograms(rows, data);
          worst = std::max(worst, hockey_stick(p, q, e));
          if (n < 4) worst_twice = std::max(worst_twice, hockey_stick(together(p, p), together(q, q), e));
        });
        const auto found = best_delta(once, Epsilon{epsilon}).value;
        EXPECT_LE(static_cast<double>(worst), found.upper + slack) << describe(once) << " at " << epsilon;
        EXPECT_GE(static_cast<double>(worst), found.lower - slack) << describe(once) << " at " << epsilon;
        if (n >= 4) continue;
        const auto of_two = best_delta(twice, Epsilon{epsilon}).value;
        EXPECT_LE(static_cast<double>(worst_twice), of_two.upper + slack) << describe(twice) << " at " << epsilon;
        EXPECT_LE(of_two.lower, of_two.upper);
      }
    }
  }
}

/// Where the lower law of several shuffles is that of data, these are at least as bad.
TEST(ShuffledResponses, OfSeveralAreNoCheaperThanSomeData) {
  for (const auto& [truth, categories] : std::vector<std::pair<double, std::size_t>>{{0.7, 2}, {0.6, 3}}) {
    const std::size_t n = 4;
    const Rows rows = response(static_cast<long double>(truth), categories);
    const Event twice = event_of(fmt::format("repeat(2, shuffled_responses({}, {}, {}))", n, truth, categories));
    for (const double epsilon : {0.05, 0.3, 0.8}) {
      const long double e = std::exp(static_cast<long double>(epsilon));
      long double worst = 0;
      for_all_data(n, categories, [&](std::vector<std::size_t> data) {
        const Law p = histograms(rows, data);
        data[0] = 1;
        const Law q = histograms(rows, data);
        worst = std::max({worst, hockey_stick(together(p, p), together(q, q), e), hockey_stick(together(q, q), together(p, p), e)});
      });
      const auto found = best_delta(twice, Epsilon{epsilon}).value;
      EXPECT_GT(found.lower, 0.5 * static_cast<double>(worst)) << describe(twice) << " at " << epsilon;
      EXPECT_LE(found.lower, static_cast<double>(worst) + slack) << describe(twice) << " at " << epsilon;
      EXPECT_GE(found.upper, static_cast<double>(worst) - slack);
    }
  }
}

}  // namespace
}  // namespace surety::accounting::shuffled_test
