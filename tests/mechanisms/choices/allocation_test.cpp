// Deals, bit by bit: of all bit strings each deal comes of equally many. What holds of many deals is judged in statistical/batch_test.
#include <surety/mechanisms/choices/allocation.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/choices/batch_sampler.h>

#include <support/refusal.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::allocation_test {
namespace {

using reference::refusal_of;
using testing::ScriptedBits;

/// The round of each record. Fails where a record is in no round, or in two, or a batch is not ascending.
std::vector<std::uint64_t> rounds_of(const DealtEpoch& epoch, std::size_t records) {
  std::vector<std::uint64_t> round_of(records, epoch.rounds());
  std::size_t dealt = 0;
  for (std::uint64_t round = 0; round < epoch.rounds(); ++round) {
    std::size_t least = 0;
    for (const std::size_t place : epoch.batch(round)) {
      EXPECT_LT(place, records);
      EXPECT_GE(place, least);
      EXPECT_EQ(round_of[place], epoch.rounds());
      round_of[place] = round;
      least = place + 1;
      ++dealt;
    }
  }
  EXPECT_EQ(dealt, records);
  return round_of;
}

// Four rounds: the first two bits of a record's word.
TEST(Allocation, OfAllStringsGivesEachDealOnce) {
  std::map<std::vector<std::uint64_t>, int> count;
  for (std::uint64_t string = 0; string < 64; ++string) {
    ScriptedBits bits{{string << 62, (string >> 2) << 62, (string >> 4) << 62}};
    const auto deal = rounds_of(Allocation{Count{4}}.deal(3, bits), 3);
    EXPECT_EQ(deal, (std::vector<std::uint64_t>{string & 3, string >> 2 & 3, string >> 4}));
    ++count[deal];
    EXPECT_EQ(bits.used(), 3U);
  }
  EXPECT_EQ(count.size(), 64U);
}

// Record by record the uniform integers of `UniformBelow`, whose laws are exact to the last word: also where words are rejected.
TEST(Allocation, DealsByUniformIntegers) {
  for (const std::uint64_t rounds : {1U, 2U, 3U, 100U, 5000U}) {
    for (const std::size_t records : {0U, 1U, 63U, 64U, 65U, 1000U}) {
      ReplayBits bits{rounds};
      ReplayBits same{rounds};
      const auto deal = rounds_of(Allocation{Count{rounds}}.deal(records, bits), records);
      const UniformBelow uniform{rounds};
      for (const std::uint64_t round : deal) EXPECT_EQ(round, uniform([&same] { return draw_word(same); }));
    }
  }
  // 2^64 is 1 modulo 3: the word 0 is the one to reject.
  ScriptedBits bits{{0, 1, ~std::uint64_t{0}}};
  EXPECT_EQ(rounds_of(Allocation{Count{3}}.deal(2, bits), 2), (std::vector<std::uint64_t>{0, 2}));
}

TEST(Allocation, DealsAnewEachTime) {
  ReplayBits bits{5};
  const Allocation allocation{Count{10}};
  const auto first = rounds_of(allocation.deal(100, bits), 100);
  EXPECT_NE(rounds_of(allocation.deal(100, bits), 100), first);
}

TEST(Allocation, HasEveryRoundWhoeverIsInIt) {
  ReplayBits bits{5};
  EXPECT_EQ(Allocation{Count{7}}.deal(0, bits).rounds(), 7U);
  const auto epoch = Allocation{Count{7}}.deal(2, bits);
  EXPECT_EQ(epoch.rounds(), 7U);
  int empty = 0;
  for (std::uint64_t round = 0; round < 7; ++round) empty += epoch.batch(round).empty() ? 1 : 0;
  EXPECT_GE(empty, 5);
}

TEST(Allocation, IsTheEventOfItsRounds) {
  const Event release = gaussian(NoiseMultiplier{1.25}, Adjacency::add_or_remove_one);
  EXPECT_EQ(Allocation{Count{30}}.event(release), allocated(Count{30}, release));
  EXPECT_EQ(refusal_of([] { return Allocation{Count{30}}.event(gaussian(NoiseMultiplier{1}, Adjacency::replace_one)); }).code,
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace surety::mechanisms::allocation_test
