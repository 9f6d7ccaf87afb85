// Batches of a largest size, against the meaning of their adjacency on concrete data: every way to draw and to drop is enumerated, and the curve
// of what is released is integrated.
#include <surety/accounting/laws/truncated/truncated_batch.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>

#include <support/mixtures.h>

namespace surety::accounting::truncated_batch_test {
namespace {

using namespace reference;

Enclosure asked(const std::string& text, Adjacency adjacency, double epsilon) {
  return delta(Pld{.width = 1e-5}, parse_event(text, adjacency), Epsilon{epsilon});
}

/// Where the sum of one round lies: the record's own vector where it stays, and the others' where they do.
struct Data {
  int others;
  double own;
  double other;
};
/// With the record, or with its zeroed form, which is drawn and keeps its place.
Mixture sum_with(const Data& data, double rate, int largest, bool zeroed) {
  Mixture found;
  for (int drawn = 0; drawn <= data.others; ++drawn) {
    const double weight = binomial(data.others, drawn, rate);
    const double own = zeroed ? 0 : data.own;
    found[std::min(drawn, largest) * data.other] += weight * (1 - rate);
    const double stays = drawn < largest ? 1 : static_cast<double>(largest) / (drawn + 1);
    found[std::min(drawn, largest - 1) * data.other + own] += weight * rate * stays;
    if (stays < 1) found[largest * data.other] += weight * rate * (1 - stays);
  }
  return found;
}
Mixture sum_without(const Data& data, double rate, int largest) {
  Mixture found;
  for (int drawn = 0; drawn <= data.others; ++drawn) found[std::min(drawn, largest) * data.other] += binomial(data.others, drawn, rate);
  return found;
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// delta of the record's vector in the batch at this rate; `gap` is its distance from what stands in its place elsewhere, in deviations.
/// One-sided pairs, both directions; opposite pairs are symmetric.
struct Directions {
  double removed;
  double added;
};
Directions one_sided(double rate, double gap, double epsilon) {
  if (rate == 0) return {0, 0};
  const double bound = std::exp(epsilon);
  // P / Q = 1 + rate (e^(gap x - gap^2 / 2) - 1) against e^epsilon, and against e^-epsilon.
  const auto place = [&](double ratio) { return std::log((ratio - 1) / rate + 1) / gap + gap / 2; };
  const double up = place(bound);
  const double removed = rate * normal_cdf(gap - up) + (1 - rate - bound) * normal_cdf(-up);
  const double inside = (1 / bound - 1) / rate + 1;
  const double down = inside > 0 ? std::log(inside) / gap + gap / 2 : -40;
  const double added = normal_cdf(down) - bound * ((1 - rate) * normal_cdf(down) + rate * normal_cdf(down - gap));
  return {removed, std::max(0.0, added)};
}
/// The others' vectors are orthogonal to the record's: how many are kept is seen under the noise.
double delta_of_orthogonal(const Data& data, double rate, int largest, double z, double epsilon) {
  std::vector<double> kept(static_cast<std::size_t>(largest) + 1, 0);
  std::vector<double> joined(static_cast<std::size_t>(largest) + 1, 0);
  for (int drawn = 0; drawn <= data.others; ++drawn) {
    const double weight = binomial(data.others, drawn, rate);
    const double stays = rate * (drawn < largest ? 1 : static_cast<double>(largest) / (drawn + 1));
    const auto here = static_cast<std::size_t>(std::min(drawn, largest));
    kept[here] += weight * (drawn < largest ? 1 : 1 - stays);
    joined[here] += drawn < largest ? weight * stays : 0;
    if (drawn < largest) continue;
    kept[here - 1] += weight * stays;
    joined[here - 1] += weight * stays;
  }
  Directions sum{0, 0};
  constexpr double step = 0.02;
  for (double y = -9 * z; y <= largest + 9 * z; y += step * z) {
    double density = 0;
    double joining = 0;
    for (std::size_t c = 0; c < kept.size(); ++c) {
      const double at = std::exp(-0.5 * std::pow((y - static_cast<double>(c)) / z, 2)) / 2.5066282746310002;
      density += kept[c] * at;
      joining += joined[c] * at;
    }
    if (density < 1e-30) continue;
    const auto found = one_sided(joining / density, 1 / z, epsilon);
    sum.removed += density * found.removed * step;
    sum.added += density * found.added * step;
  }
  return std::max(sum.removed, sum.added);
}

TEST(TruncatedPoisson, ShowsHowManyOthersAreKept) {
  bool sharper = false;
  for (const auto& [largest, rate, z] : {std::tuple{1, 0.3, 1.0}, {2, 0.5, 0.4}, {3, 0.2, 1.5}, {5, 0.9, 0.5}, {4, 0.6, 0.3}}) {
    const std::string text =
        "truncated_poisson(" + std::to_string(rate) + ", " + std::to_string(largest) + ", 6, gaussian(" + std::to_string(z) + "))";
    for (const double epsilon : {0.1, 0.3, 1.0, 2.0}) {
      const auto found = asked(text, Adjacency::zero_out, epsilon);
      const Data data{5, 1, 0};
      const double orthogonal = delta_of_orthogonal(data, rate, largest, z, epsilon);
      EXPECT_LE(found.lower, orthogonal + 1e-7) << text << ' ' << epsilon;
      EXPECT_GE(found.upper, orthogonal - 1e-7) << text << ' ' << epsilon;
      const double silent = delta_of_pair(sum_with(data, rate, largest, false), sum_with(data, rate, largest, true), z, epsilon);
      sharper = sharper || found.lower > silent + 1e-3;
    }
  }
  EXPECT_TRUE(sharper) << "than where the others contribute nothing";
}

TEST(TruncatedPoisson, SharesWhatIsSeenOfTheOthers) {
  for (const auto& [records, largest, rate, z] :
       {std::tuple{6, 2, 0.5, 1.0}, {40, 7, 0.2, 0.1}, {1000, 30, 0.02, 3.0}, {60000, 900, 0.01, 1.0}}) {
    const Batches batches{Count{static_cast<std::uint64_t>(records)}, Count{static_cast<std::uint64_t>(largest)}};
    const auto whole = laws::truncated_batch(SamplingRate{rate}, batches);
    double weight = 0;
    double joined = 0;
    for (const auto& share : laws::shares_by_others_seen(SamplingRate{rate}, batches, z)) {
      EXPECT_LE(share.weight.width(), 1e-12 * share.weight.upper);
      EXPECT_LE(share.rate.width(), 1e-12);
      weight += share.weight.lower;
      joined += share.weight.lower * share.rate.lower;
    }
    EXPECT_NEAR(weight, 1, 1e-12) << records;
    EXPECT_NEAR(joined, whole.rate.lower, 1e-12) << records;
  }
  EXPECT_TRUE(laws::shares_by_others_seen(SamplingRate{0.5}, Batches{Count{6}, Count{2}}, 11).empty());
}

TEST(TruncatedPoisson, CountsCrowdsOfEveryNumberOfRecords) {
  const auto chance = [](int records, int largest, double rate) {
    double crowded = 0;
    double joins = 0;
    for (int n = largest; n < records; ++n) {
      crowded += binomial(records - 1, n, rate);
      joins += binomial(records - 1, n, rate) * rate * largest / (n + 1);
    }
    return std::pair{crowded, joins / crowded};
  };
  for (const auto& [records, largest, rate] : {std::tuple{5, 2, 0.5}, {40, 7, 0.2}, {4000, 30, 0.0075}}) {
    const auto found = laws::crowded_batches(
        SamplingRate{rate}, Batches{Count{static_cast<std::uint64_t>(records)}, Count{static_cast<std::uint64_t>(largest)}});
    for (int fewer = largest + 1; fewer <= records; fewer += fewer < records - 100 ? 1 + records / 100 : 1) {
      const auto [crowded, joins] = chance(fewer, largest, rate);
      bool covered = false;
      for (const auto& crowd : found) {
        covered = covered || (crowd.weight.upper >= crowded * (1 - 1e-9) && crowd.largest_rate >= joins * (1 - 1e-9));
      }
      EXPECT_TRUE(covered) << fewer << " of " << records;
    }
    const auto [crowded, joins] = chance(records, largest, rate);
    EXPECT_NEAR(found.front().weight.upper, crowded, 1e-9);
    EXPECT_NEAR(found.front().largest_rate, joins, (records > 100 ? 2e-3 : 0.1) * joins);
  }
}

TEST(TruncatedPoisson, CoversEveryDataSetOfItsAdjacency) {
  constexpr int records = 6;
  bool displaces = false;
  for (const auto& [largest, rate, z] : {std::tuple{1, 0.3, 1.0}, {2, 0.5, 0.8}, {3, 0.2, 1.5}, {5, 0.9, 2.0}, {1, 0.6, 1.0}}) {
    const auto text = "truncated_poisson(" + std::to_string(rate) + ", " + std::to_string(largest) + ", " + std::to_string(records) + ", ";
    const auto release = [&, noise = z](const std::string& name) { return text + name + "(" + std::to_string(noise) + "))"; };
    for (const double epsilon : {0.0, 0.3, 1.0, 2.0}) {
      const auto zeroed = asked(release("gaussian"), Adjacency::zero_out, epsilon);
      const auto removed = asked(release("gaussian"), Adjacency::add_or_remove_one, epsilon);
      const auto replaced = asked(release("record_sum"), Adjacency::replace_one, epsilon);
      for (const double other : {-1.0, -0.5, 0.0, 0.7, 1.0}) {
        const Data data{records - 1, 1, other};
        const Mixture with = sum_with(data, rate, largest, false);
        const double attack = delta_of_pair(with, sum_with(data, rate, largest, true), z, epsilon);
        EXPECT_GE(zeroed.upper, attack - 3e-6) << release("gaussian") << ' ' << epsilon << ' ' << other;
        if (other == 0) {
          EXPECT_GE(zeroed.lower, attack - 2e-5) << release("gaussian") << ' ' << epsilon;
        }
        const double opposite = delta_of_pair(with, sum_with({records - 1, -1, other}, rate, largest, false), z, epsilon);
        EXPECT_GE(replaced.upper, opposite - 3e-6) << release("record_sum") << ' ' << epsilon << ' ' << other;
        if (other == 0) {
          EXPECT_GE(replaced.lower, opposite - 2e-5) << release("record_sum") << ' ' << epsilon;
        }
        for (int others = 0; others < records; ++others) {
          const Data fewer{others, 1, other};
          const double removal = delta_of_pair(sum_with(fewer, rate, largest, false), sum_without(fewer, rate, largest), z, epsilon);
          EXPECT_GE(removed.upper, removal - 3e-6) << release("gaussian") << ' ' << epsilon << ' ' << other << ' ' << others;
          if (others == 0) {
            EXPECT_NEAR(removed.lower, removal, 2e-5) << release("gaussian") << ' ' << epsilon;
          }
          // Without the place that the record takes, the charge would be the one of zero-out, which this exceeds.
          displaces = displaces || removal > zeroed.upper + 1e-3;
        }
      }
    }
  }
  EXPECT_TRUE(displaces);
}

// Under replace-one it is told how many of the others stay, or that the record displaces one: at every epsilon what costs less.
TEST(TruncatedPoisson, IsToldWhatCostsLess) {
  int crowded_is_less = 0;
  int others_are_less = 0;
  for (const auto& [rate, z] : {std::pair{0.2, 1.0}, {0.24, 0.4}, {0.27, 1.0}, {0.3, 3.0}}) {
    constexpr int records = 40;
    constexpr int largest = 7;
    double roomy = 0;
    double at = 0;
    double crowded = 0;
    double displaces = 0;
    for (int n = 0; n < records; ++n) {
      const double weight = binomial(records - 1, n, rate);
      (n < largest - 1 ? roomy : n == largest - 1 ? at : crowded) += weight;
      if (n >= largest) displaces += weight * rate * largest / (n + 1);
    }
    const auto opposite = [&, noise = z](double q, double epsilon) {
      return delta_of_mixtures({{0, 1 - q}, {1, q}}, {{0, 1 - q}, {-1, q}}, noise, epsilon);
    };
    const std::string text = "truncated_poisson(" + std::to_string(rate) + ", 7, 40, record_sum(" + std::to_string(z) + "))";
    for (const double epsilon : {0.5, 3.0, 8.0}) {
      const double last = at + displaces;
      const double told = roomy * opposite(rate, epsilon) + last * opposite((at * rate + displaces) / last, epsilon);
      const double moved = (1 - crowded) * opposite(rate, epsilon) + crowded * one_sided(displaces / crowded, 2 / z, epsilon).removed;
      const double found = asked(text, Adjacency::replace_one, epsilon).upper;
      const double least = std::min(told, moved);
      EXPECT_GE(found, least * (1 - 1e-4) - 1e-9) << text << ' ' << epsilon;
      EXPECT_LE(found, least * (1 + 1e-3) + 1e-9) << text << ' ' << epsilon;
      (moved < 0.9 * told ? crowded_is_less : others_are_less) += 1;
    }
  }
  EXPECT_GT(crowded_is_less, 2);
  EXPECT_GT(others_are_less, 2);
  // In many rounds, too, however often batches are crowded: here in half of them, and in nine of ten.
  const auto of_rounds = [](const char* text) { return epsilon(Best{}, parse_event(text, Adjacency::replace_one), Delta{1e-6}).upper; };
  EXPECT_LT(of_rounds("repeat(1000, truncated_poisson(0.01, 600, 60000, record_sum(2)))"), 6);
  EXPECT_LT(of_rounds("repeat(1000, truncated_poisson(0.01, 570, 60000, record_sum(2)))"), 2.4);
}

// Where every batch is full the record takes the place of another, at the opposite clip: known of a public number of records, and of private ones from below.
TEST(TruncatedPoisson, IsFullForSure) {
  constexpr int largest = 30;
  const auto moved = [](int others, double epsilon) {
    const Data data{others, 1, -1};
    return delta_of_pair(sum_with(data, 0.5, largest, false), sum_without(data, 0.5, largest), 0.3, epsilon);
  };
  for (const double epsilon : {20.0, 30.0}) {
    const double public_number = one_sided(largest / 4000.0, 2 / 0.3, epsilon).removed;
    const auto replaced = asked("truncated_poisson(0.5, 30, 4000, record_sum(0.3))", Adjacency::replace_one, epsilon);
    EXPECT_LE(replaced.lower, public_number * (1 + 1e-9)) << epsilon;
    EXPECT_GE(replaced.upper, public_number * (1 - 1e-9)) << epsilon;
    EXPECT_LT(replaced.width(), 1e-4 * replaced.upper) << epsilon;
    EXPECT_NEAR(moved(3999, epsilon), public_number, 1e-6) << epsilon;
    double most = 0;
    for (int others = 100; others < 4000; others += 150) most = std::max(most, moved(others, epsilon));
    const auto removed = asked("truncated_poisson(0.5, 30, 4000, gaussian(0.3))", Adjacency::add_or_remove_one, epsilon);
    EXPECT_LE(removed.lower, most) << epsilon;
    EXPECT_GE(removed.lower, public_number * (1 - 1e-9)) << epsilon;
    EXPECT_GE(removed.upper, most) << epsilon;
    // More than a record that joins a batch with room for it.
    EXPECT_GT(removed.lower, 2 * std::max(one_sided(0.5, 1 / 0.3, epsilon).removed, one_sided(0.5, 1 / 0.3, epsilon).added)) << epsilon;
  }
}

TEST(TruncatedPoisson, IsFullForSureByAsMuchAsIsAskedFor) {
  const Batches batches{Count{4000}, Count{30}};
  double room = 0;  // its logarithm; the terms that are left out are far smaller
  for (int n = 0; n < 30; ++n) {
    const double term = std::lgamma(4000) - std::lgamma(n + 1) - std::lgamma(4000 - n) - 3999 * std::log(2.0);
    room = n == 0 ? term : term + std::log1p(std::exp(room - term));
  }
  const auto joins = [&](double log_room, bool is_public) {
    return laws::rate_of_full_batches(SamplingRate{0.5}, batches, log_room, is_public);
  };
  ASSERT_TRUE(joins(room + 0.01, true).has_value());
  EXPECT_NEAR(*joins(room + 0.01, true), 30 / 4000.0, 1e-9);
  EXPECT_FALSE(joins(room - 0.01, true).has_value());
  EXPECT_FALSE(joins(room - 0.01, false).has_value());
  // Of private numbers one that is hardly larger than it has to be.
  const auto least = joins(-100, false);
  ASSERT_TRUE(least.has_value());
  EXPECT_GT(*least, 8 * 30 / 4000.0);
}

TEST(TruncatedPoisson, SharesOutItsBatch) {
  for (const auto& [records, largest, rate] : {std::tuple{5, 2, 0.5}, {40, 7, 0.2}, {3, 1, 1.0}, {1000, 30, 0.02}}) {
    const auto found = laws::truncated_batch(
        SamplingRate{rate}, Batches{Count{static_cast<std::uint64_t>(records)}, Count{static_cast<std::uint64_t>(largest)}});
    double joins = 0;
    double roomy = 0;
    double last = 0;
    double crowded = 0;
    for (int n = 0; n < records; ++n) {
      const double weight = rate == 1 ? (n == records - 1 ? 1 : 0) : binomial(records - 1, n, rate);
      const double stays = rate * (n < largest ? 1.0 : static_cast<double>(largest) / (n + 1));
      joins += weight * stays;
      if (n < largest - 1) roomy += weight;
      if (n == largest - 1) last += weight;
      if (n >= largest) {
        last += weight * stays;
        crowded += weight;
      }
    }
    EXPECT_NEAR(found.rate.lower, joins, 1e-11);
    EXPECT_NEAR(found.roomy.upper, roomy, 1e-11);
    EXPECT_NEAR(found.last.upper, last, 1e-11);
    EXPECT_NEAR(found.crowded.upper, crowded, 1e-11);
    EXPECT_NEAR(found.roomy.upper + found.last.upper + found.full.upper, 1, 1e-11);
    EXPECT_LE(found.rate.width(), 1e-14);
  }
}

TEST(TruncatedPoisson, SharesOutBatchesOfManyRecords) {
  // What is not added up term by term: above the mean, below it, next to it, and far from it.
  for (const auto& [records, largest, rate] :
       {std::tuple{200'001, 99'900, 0.5}, {200'001, 100'100, 0.5}, {200'001, 100'000, 0.5}, {60'000, 40'000, 0.7}, {3'000'001, 30, 1e-5}}) {
    const auto found = laws::truncated_batch(
        SamplingRate{rate}, Batches{Count{static_cast<std::uint64_t>(records)}, Count{static_cast<std::uint64_t>(largest)}});
    long double roomy = 0;
    long double at = 0;
    long double crowded = 0;
    long double kept = 0;
    const int others = records - 1;
    const long double constant = std::lgamma(static_cast<long double>(records));
    for (int n = 0; n < records; ++n) {
      const long double ways = constant - std::lgamma(n + 1.0L) - std::lgamma(others - n + 1.0L);
      const long double weight =
          std::exp(ways + n * std::log(static_cast<long double>(rate)) + (others - n) * std::log1p(-static_cast<long double>(rate)));
      (n < largest - 1 ? roomy : n == largest - 1 ? at : crowded) += weight;
      if (n >= largest) kept += weight * rate * largest / (n + 1);
    }
    const auto near = [&](const Enclosure& one, long double truth) {
      EXPECT_NEAR(one.lower, static_cast<double>(truth), 1e-10) << records << ' ' << largest;
      EXPECT_LE(one.width(), 1e-14) << records << ' ' << largest;
    };
    near(found.roomy, roomy);
    near(found.last, at + kept);
    near(found.crowded, crowded);
    near(found.full, crowded - kept);
    near(found.rate, (roomy + at) * rate + kept);
  }
  const Batches many{Count{10'000'000'000}, Count{5'000'000'000}};
  EXPECT_THROW(static_cast<void>(laws::truncated_batch(SamplingRate{0.5}, many)), Error) << "a million terms";
}

TEST(TruncatedPoisson, AgreesWithKnownValues) {
  struct Known {
    const char* text;
    Adjacency adjacency;
    double least;  ///< from concrete data
    double most;   ///< by the same theorem in plain doubles
  };
  for (const auto& known :
       {Known{"repeat(10000, truncated_poisson(0.01, 700, 60000, gaussian(1)))", Adjacency::zero_out, 6.187768, 6.188676},
        Known{"repeat(10000, truncated_poisson(0.01, 650, 60000, gaussian(1)))", Adjacency::zero_out, 6.232598, 7.177411},
        Known{"repeat(10000, truncated_poisson(0.01, 700, 60000, record_sum(1)))", Adjacency::replace_one, 10.8808, 10.8821}}) {
    const auto found = epsilon(Best{}, parse_event(known.text, known.adjacency), Delta{1e-5});
    EXPECT_LE(found.lower, known.least + 1e-3) << known.text;
    EXPECT_GE(found.lower, known.least - 8e-3) << known.text;
    EXPECT_GE(found.upper, known.most - 1e-6) << known.text;
    EXPECT_LE(found.upper, known.most + 1e-3) << known.text;
  }
}

TEST(TruncatedPoisson, RefusesWhatItHasNoTheoremFor) {
  EXPECT_THROW(static_cast<void>(parse_event("truncated_poisson(0.5, 2, 4, laplace(1))", Adjacency::zero_out)), Error);
  EXPECT_THROW(static_cast<void>(parse_event("truncated_poisson(0.5, 2, 4, gaussian(1))", Adjacency::replace_one)), Error);
  EXPECT_THROW(static_cast<void>(parse_event("truncated_poisson(0.5, 4, 4, gaussian(1))", Adjacency::zero_out)), Error);
}

}  // namespace
}  // namespace surety::accounting::truncated_batch_test
