// Batches drawn with replacement, against every batch there is.
#include <surety/accounting/laws/batches/drawn_slots.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>

#include <support/mixtures.h>
#include <support/refusal.h>

namespace surety::accounting::drawn_slots_test {
namespace {

using namespace reference;
using laws::drawn_slots;
using laws::mixture_of_slots;

Event event_of(const std::string& text) { return parse_event(text, Adjacency::replace_one); }

Enclosure asked(const std::string& text, double epsilon) { return delta(Pld{.width = 1e-4}, event_of(text), Epsilon{epsilon}); }

/// What `query` says of each of the n^m batches of these records, in order.
Mixture over_all_batches(const std::vector<double>& records, int slots, const std::function<double(const std::vector<double>&)>& query) {
  Mixture found;
  const double all = std::pow(static_cast<double>(records.size()), slots);
  for (int draw = 0; draw < static_cast<int>(all); ++draw) {
    std::vector<double> batch;
    for (int i = 0, rest = draw; i < slots; ++i, rest /= static_cast<int>(records.size())) {
      batch.push_back(records[static_cast<std::size_t>(rest) % records.size()]);
    }
    found[query(batch)] += 1 / all;
  }
  return found;
}

double sum_of(const std::vector<double>& batch) {
  double sum = 0;
  for (const double one : batch) sum += one;
  return sum;
}

/// As different as two places are from 1/2, and no more: one slot moves it by at most 1.
double largest_less_least(const std::vector<double>& batch) {
  return 0.5 * (*std::max_element(batch.begin(), batch.end()) - *std::min_element(batch.begin(), batch.end()));
}

TEST(WithReplacement, CostsNoLessThanAnyDataOnTheLine) {
  std::mt19937_64 words{71};
  std::uniform_real_distribution<double> place{-1, 1};
  double closest = 0;
  for (const auto& [n, m, z] : {std::tuple{2, 2, 0.7}, {2, 3, 1.5}, {3, 2, 0.5}, {3, 3, 1.0}, {4, 3, 0.4}, {3, 4, 3.0}}) {
    for (const double epsilon : {0.0, 0.7}) {
      const auto of_sums = asked(fmt::format("with_replacement({}, {}, record_sum({}))", n, m, z), epsilon);
      const auto of_queries = asked(fmt::format("with_replacement({}, {}, gaussian({}))", n, m, z), epsilon);
      double attained = 0;
      for (int i = 0; i < 9; ++i) {
        // The first ones are all at one end, and the record at the other.
        std::vector<double> records(static_cast<std::size_t>(n), -1.0);
        std::vector<double> other = records;
        records[0] = 1;
        if (i > 0) {
          for (std::size_t at = 0; at < records.size(); ++at)
            records[at] = other[at] = i % 3 == 0 ? std::round(place(words)) : place(words);
          other[0] = i % 2 == 0 ? -1 : place(words);
          records[0] = 1;
        }
        const double truth = delta_of_pair(over_all_batches(records, m, sum_of), over_all_batches(other, m, sum_of), z, epsilon);
        EXPECT_LE(truth, of_sums.upper + 3e-6) << n << ' ' << m << ' ' << z << ' ' << epsilon;
        if (i == 0) attained = truth;
        closest = std::max(closest, truth / of_sums.upper);
        const double of_query =
            delta_of_pair(over_all_batches(records, m, largest_less_least), over_all_batches(other, m, largest_less_least), z, epsilon);
        EXPECT_LE(of_query, of_queries.upper + 3e-6) << n << ' ' << m << ' ' << z << ' ' << epsilon;
      }
      EXPECT_LE(of_sums.lower, attained + 3e-6) << n << ' ' << m << ' ' << z << ' ' << epsilon;
      EXPECT_GE(of_sums.lower, attained - 1e-4) << n << ' ' << m << ' ' << z << ' ' << epsilon;
      EXPECT_EQ(of_sums.lower, asked(fmt::format("with_replacement({}, {}, gaussian({}))", n, m, 0.5 * z), epsilon).lower);
    }
  }
  EXPECT_GT(closest, 0.9);
}

TEST(WithReplacement, IsBoundedByWhatItsSlotsAddUpTo) {
  for (const auto& [n, m, z] : {std::tuple{2, 2, 0.7}, {5, 3, 1.0}, {10, 7, 2.0}, {100, 20, 0.8}}) {
    const double q = 1 - binomial(m, 0, 1.0 / n);
    Mixture sum;
    for (int k = 1; k <= m; ++k) sum[k] = binomial(m, k, 1.0 / n) / q;
    for (const double epsilon : {0.0, 0.05, 0.6, 2.5}) {
      const double inner = 1 + std::expm1(epsilon) / q;
      const double share = std::exp(epsilon) / inner;
      const auto of_sum = [&, noise = z](double c) { return delta_of_mixtures(sum, {{0, 1}}, noise, std::log(c)); };
      double told = 0;
      for (const auto& [k, weight] : sum) told += weight * delta_of_mixtures({{k, 1}}, {{0, 1}}, z, std::log(inner));
      const double truth = q * ((1 - share) * of_sum(inner) + share * std::min(told, of_sum(inner * sum[1])));
      const auto found = asked(fmt::format("with_replacement({}, {}, gaussian({}))", n, m, z), epsilon);
      EXPECT_GE(found.upper, truth - 3e-6) << n << ' ' << m << ' ' << epsilon;
      EXPECT_LE(found.upper, truth * 1.02 + 2e-5) << n << ' ' << m << ' ' << epsilon;
    }
  }
}

TEST(WithReplacement, OfPurePrivacyIsTheSumOverItsSlots) {
  for (const auto& [n, m] : {std::pair{5, 3}, {40, 3}}) {
    for (const double epsilon : {0.0, 0.2, 0.7, 1.4}) {
      const double q = 1 - binomial(m, 0, 1.0 / n);
      const double at = 1 + std::expm1(epsilon) / q;
      double truth = 0;
      for (int k = 1; k <= m; ++k) {
        const double odds = std::exp(0.5 * k);
        truth += binomial(m, k, 1.0 / n) * std::max(0.0, (odds - at) / (1 + odds));
      }
      const auto found = asked(fmt::format("with_replacement({}, {}, pure(0.5))", n, m), epsilon);
      EXPECT_NEAR(found.upper, truth, 1e-4 * truth + 1e-300) << n << ' ' << epsilon;
      EXPECT_GE(found.upper, truth * (1 - 1e-12)) << n << ' ' << epsilon;
      // One bit, wrong where a slot holds the record.
      const double odds = std::exp(0.5);
      const double removed = q * (odds - at) / (1 + odds);
      const double a = std::exp(epsilon);
      const double added = (odds - a * (q + (1 - q) * odds)) / (1 + odds);
      EXPECT_NEAR(found.lower, std::max({removed, added, 0.0}), 1e-5) << n << ' ' << epsilon;
    }
  }
}

TEST(WithReplacement, IsNearABatchWithoutWhereItIsSmall) {
  constexpr double epsilon = 1e-3;
  for (const std::string release :
       {"gaussian(1)", "laplace(1)", "randomized_response(0.7, 3)", "compose(gaussian(2), randomized_response(0.7, 3))"}) {
    const Pld fine{.width = 1e-4};
    const auto with = delta(fine, event_of("with_replacement(10000, 10, " + release + ")"), Epsilon{epsilon});
    const auto without = delta(fine, event_of("without_replacement(10000, 10, " + release + ")"), Epsilon{epsilon});
    EXPECT_GE(with.upper, 0.99 * without.upper) << release;
    EXPECT_LE(with.upper, 1.02 * without.upper) << release;
    EXPECT_GE(with.lower, 0.99 * without.lower) << release;
  }
}

TEST(WithReplacement, CountsSlotsThatNothingIsKnownOfAsSeen) {
  // Of two records a given curve says nothing.
  const auto given = asked("with_replacement(10, 2, curve(0.5, 0.01, 0.6, 0.005))", 0.3);
  const double q = 1 - 0.81;
  const double at = 1 + std::expm1(0.3) / q;
  ASSERT_GT(at, std::exp(0.6));
  EXPECT_NEAR(given.upper, 0.18 * 0.005 + 0.01, 1e-6);
}

TEST(WithReplacement, OfOneSlotIsABatchOfOneRecord) {
  for (const std::string release : {"gaussian(1)", "laplace(2)"}) {
    const auto with = delta(Best{}, event_of("repeat(10, with_replacement(50, 1, " + release + "))"), Epsilon{0.1});
    const auto without = delta(Best{}, event_of("repeat(10, without_replacement(50, 1, " + release + "))"), Epsilon{0.1});
    EXPECT_EQ(with.lower, without.lower);
    EXPECT_EQ(with.upper, without.upper);
  }
}

TEST(WithReplacement, OfOneRecordHoldsItInEverySlot) {
  const auto found = asked("with_replacement(1, 4, gaussian(8))", 0.5);
  const auto known = asked("gaussian(2)", 0.5);
  EXPECT_NEAR(found.upper, known.upper, 1e-5);
  EXPECT_NEAR(found.lower, known.lower, 1e-5);
}

/// Of the table of the proof, 1,000 rounds at delta 1e-6, all but one row: each end as it is printed there.
TEST(WithReplacement, CostsWhatTheTableOfItsProofSays) {
  for (const auto& [batch, with, without] :
       {std::tuple<std::string, Enclosure, Enclosure>{"50000, 500, gaussian(1)", {2.2485, 2.6017}, {2.1313, 2.5129}},
        {"1000, 100, gaussian(3)", {5.5148, 6.1862}, {5.4608, 6.0059}},
        {"50000, 500, laplace(1)", {1.2798, 1.5413}, {1.2868, 1.5304}}}) {
    for (const auto& [word, printed] : {std::pair{"with_replacement", with}, {"without_replacement", without}}) {
      const auto found = epsilon(Best{}, event_of(fmt::format("repeat(1000, {}({}))", word, batch)), Delta{1e-6});
      EXPECT_NEAR(found.lower, printed.lower, 1e-4) << word << ' ' << batch;
      EXPECT_NEAR(found.upper, printed.upper, 1e-4) << word << ' ' << batch;
    }
  }
}

TEST(DrawnSlots, AreBinomial) {
  for (const auto& [n, m, growth] : {std::tuple{2, 3, 0.1}, {10, 500, 1.0 / 16}, {50000, 500, 0.5}, {7, 2000, 0.5}}) {
    const auto slots = drawn_slots(Count{static_cast<std::uint64_t>(n)}, Count{static_cast<std::uint64_t>(m)}, growth);
    const auto chance = [m = static_cast<long double>(m), n = static_cast<long double>(n)](long double k) {
      return std::exp(std::lgamma(m + 1) - std::lgamma(k + 1) - std::lgamma(m - k + 1) - k * std::log(n) + (m - k) * std::log1p(-1 / n));
    };
    const auto expect_holds = [&, many = m](const Interval& found, long double truth, std::uint64_t at) {
      const auto ends = found.enclosure();
      EXPECT_LE(ends.lower, truth * (1 + 1e-12L)) << many << ' ' << at;
      EXPECT_GE(ends.upper, truth * (1 - 1e-12L) - 1e-300L) << many << ' ' << at;
      if (truth > 1e-200L) {
        EXPECT_LE(ends.upper - ends.lower, 1e-12 * ends.upper) << many << ' ' << at;
      }
    };
    expect_holds(slots.none, chance(0), 0);
    expect_holds(slots.any, 1 - chance(0), 0);
    std::uint64_t next = 1;
    for (const auto& [least, most, found] : slots.some) {
      EXPECT_EQ(least, next);
      EXPECT_GE(most, least);
      long double sum = 0;
      for (std::uint64_t k = least; k <= most; ++k) sum += chance(static_cast<long double>(k));
      expect_holds(found, sum, least);
      next = most + 1;
    }
    EXPECT_EQ(next, static_cast<std::uint64_t>(m) + 1);
    const auto mixture = mixture_of_slots(3, slots);
    double total = 0;
    for (std::size_t i = 0; i < mixture.log_weights.size(); ++i) {
      total += std::exp(mixture.log_weights[i]);
      if (i > 0) {
        EXPECT_GT(mixture.shifts[i], mixture.shifts[i - 1]);
      }
    }
    EXPECT_NEAR(total, 1, 1e-12);
    EXPECT_LT(mixture.weight_error, 1e-12);
  }
}

TEST(WithReplacement, RefusesWhatItHasNoTheoremFor) {
  for (const auto& [text, why] : {std::pair{"with_replacement(10, 2, parallel(gaussian(1), gaussian(2)))", "among parallel parts"},
                                  {"with_replacement(2, 20001, gaussian(1))", "more than 10000 times"},
                                  {"with_replacement(1, 9, laplace(1))", "nearly every batch"}}) {
    const auto event = event_of(text);
    EXPECT_TRUE(reference::refusal_of([&] { return delta(Pld{}, event, Epsilon{0.1}); }).says(ErrorCode::unsupported, why)) << text;
    EXPECT_FALSE(supports(Pld{}, event)) << text;
  }
  // The pair over both orders of a law equals its own reverse.
  for (const char* text : {"with_replacement(10, 2, gaussian(1))", "with_replacement(10, 2, laplace(1))",
                           "with_replacement(10, 2, law(0.5, 0.4, -0.1, 0.6))"}) {
    EXPECT_TRUE(supports(Pld{}, event_of(text))) << text;
    EXPECT_FALSE(supports(Renyi{}, event_of(text))) << text;
    EXPECT_FALSE(supports(Composition::Basic{}, event_of(text))) << text;
    EXPECT_FALSE(supports(Contour{}, event_of(text))) << text;
  }
}

}  // namespace
}  // namespace surety::accounting::drawn_slots_test
