// Batches of a largest size, against the meaning of their adjacency on concrete data: every way to draw and to drop is enumerated, and the curve
// of what is released is integrated.
#include <surety/accounting/accountants/privacy_loss/truncated_batch.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/accountants/privacy_loss/privacy_loss.h>

#include <support/mixtures.h>

namespace surety::accounting::truncated_batch_test {
namespace {

using namespace reference;

Enclosure asked(const std::string& text, Adjacency adjacency, double epsilon) {
  return delta(PrivacyLoss{.width = 1e-5}, parse_event(text, adjacency), Epsilon{epsilon});
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

TEST(TruncatedPoisson, CoversEveryDataSetOfItsAdjacency) {
  constexpr int records = 6;
  bool displaces = false;
  for (const auto& [largest, rate, z] : {std::tuple{1, 0.3, 1.0}, {2, 0.5, 0.8}, {3, 0.2, 1.5}, {5, 0.9, 2.0}}) {
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
          EXPECT_NEAR(zeroed.lower, attack, 2e-5) << release("gaussian") << ' ' << epsilon;
        }
        const double opposite = delta_of_pair(with, sum_with({records - 1, -1, other}, rate, largest, false), z, epsilon);
        EXPECT_GE(replaced.upper, opposite - 3e-6) << release("record_sum") << ' ' << epsilon << ' ' << other;
        if (other == 0) {
          EXPECT_NEAR(replaced.lower, opposite, 2e-5) << release("record_sum") << ' ' << epsilon;
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

TEST(TruncatedPoisson, SharesOutItsBatch) {
  for (const auto& [records, largest, rate] : {std::tuple{5, 2, 0.5}, {40, 7, 0.2}, {3, 1, 1.0}, {1000, 30, 0.02}}) {
    const auto found = privacy_loss::truncated_batch(
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

TEST(TruncatedPoisson, AgreesWithKnownValues) {
  struct Known {
    const char* text;
    Adjacency adjacency;
    double least;  ///< from concrete data
    double most;   ///< by the same theorem in plain doubles
  };
  for (const auto& known :
       {Known{"repeat(10000, truncated_poisson(0.01, 700, 60000, gaussian(1)))", Adjacency::zero_out, 6.187710, 6.188676},
        Known{"repeat(10000, truncated_poisson(0.01, 650, 60000, gaussian(1)))", Adjacency::zero_out, 6.185348, 7.177411},
        Known{"repeat(10000, truncated_poisson(0.01, 700, 60000, record_sum(1)))", Adjacency::replace_one, 10.88, 10.8821},
        Known{"repeat(10000, truncated_poisson(0.01, 700, 60000, gaussian(1)))", Adjacency::add_or_remove_one, 6.187710, 6.212491}}) {
    const auto found = epsilon(Best{}, parse_event(known.text, known.adjacency), Delta{1e-5});
    EXPECT_LE(found.lower, known.least + 1e-3) << known.text;
    EXPECT_GE(found.lower, known.least - 1e-4) << known.text;
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
