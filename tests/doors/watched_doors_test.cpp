// The comparison of two runs sees what it is there for.
#include <support/watched_doors.h>

#include <gtest/gtest.h>

namespace surety_test::watched_doors_test {
namespace {

using Kind = DoorEntry::Kind;

DoorEntry charge(const std::string& event = "gaussian(1)") { return {Kind::charge, event, {}, 0}; }
DoorEntry release(std::vector<double> content, const std::string& asked = "release") {
  return {Kind::vector, asked, std::move(content), 0.5};
}

const DoorLog recorded{charge(), release({1, 2}), release({3, 4}), charge(), release({5, 6})};

DoorLog with(std::size_t entry, DoorEntry other) {
  DoorLog log = recorded;
  log[entry] = std::move(other);
  return log;
}

TEST(WatchedDoors, LetOneReleaseUnderEachChargeMoveByItsSensitivity) {
  DoorLog both = with(1, release({1.3, 2.4}));
  both[4] = release({5, 5.5});
  const auto found = compare(recorded, both);
  EXPECT_TRUE(found.allowed);
  EXPECT_NEAR(found.ratio, 1, 1e-12);
  EXPECT_EQ(compare(recorded, recorded).ratio, 0);
}

TEST(WatchedDoors, SeeWhatMovesTooFar) { EXPECT_FALSE(compare(recorded, with(1, release({1.31, 2.4}))).allowed); }

TEST(WatchedDoors, SeeASecondReleaseThatMovesUnderOneCharge) {
  DoorLog both = with(1, release({1.1, 2}));
  both[2] = release({3.1, 4});
  EXPECT_FALSE(compare(recorded, both).allowed);
}

TEST(WatchedDoors, SeeAnotherQuestionAnotherChargeAndAnotherNumberOfThem) {
  EXPECT_FALSE(compare(recorded, with(2, release({3, 4}, "another"))).allowed);
  EXPECT_FALSE(compare(recorded, with(3, charge("gaussian(2)"))).allowed);
  EXPECT_FALSE(compare(recorded, with(3, release({3, 4}))).allowed);
  DoorLog shorter = recorded;
  shorter.pop_back();
  EXPECT_FALSE(compare(recorded, shorter).allowed);
  EXPECT_FALSE(compare(shorter, recorded).allowed);
}

TEST(WatchedDoors, MeasureScoresByTheRangeOfTheirChanges) {
  const auto scores = [](std::vector<double> content) { return DoorLog{charge(), {Kind::scores, "select", std::move(content), 1}}; };
  EXPECT_TRUE(compare(scores({1, 2, 3}), scores({6, 7, 8})).allowed);
  EXPECT_TRUE(compare(scores({1, 2, 3}), scores({1.5, 1.5, 3})).allowed);
  EXPECT_FALSE(compare(scores({1, 2, 3}), scores({1.6, 1.5, 3})).allowed);
}

TEST(WatchedDoors, SeeAReleaseBeforeItsChargeAndAChargeWithoutARelease) {
  EXPECT_FALSE(compare({release({1}), charge()}, {release({1.1}), charge()}).allowed);
  EXPECT_TRUE(every_charge_has_a_release(recorded));
  EXPECT_FALSE(every_charge_has_a_release({charge()}));
  EXPECT_FALSE(every_charge_has_a_release({charge(), charge(), release({1})}));
}

}  // namespace
}  // namespace surety_test::watched_doors_test
