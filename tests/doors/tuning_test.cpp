// `surety train --tune`, as train_test holds every algorithm: released values are held fixed, one record of the file is another, and nothing may
// differ but the releases of each run: those of its training or its score, by no more than was said, and never both.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <support/train_command.h>
#include <support/watched_doors.h>

namespace surety_test::tuning_test {
namespace {

using Records = TrainCommand::Records;
using Question = TrainCommand::Question;

const Records strangers{"-3,4,0", "1e308,-1e308,1", "x,,7"};

/// Other records at these places, or more of them where the adjacency says so.
std::vector<Records> neighbours_of(const Records& base, const std::string& adjacency, const std::vector<std::size_t>& places) {
  std::vector<Records> all;
  for (const std::size_t place : places) {
    Records records = base;
    const std::string& stranger = strangers[place % strangers.size()];
    if (adjacency == "add-or-remove-one") {
      records.insert(records.begin() + static_cast<std::ptrdiff_t>(place), fmt::format("{},{},0", place, stranger.substr(0, 1)));
    } else {
      records[place] = adjacency == "zero-out" ? "" : stranger;
    }
    all.push_back(std::move(records));
  }
  return all;
}

bool is_score(const DoorEntry& entry) { return entry.asked.find(" of 1 coordinates") != std::string::npos; }

class Tuning : public ::testing::Test {
 protected:
  static void expect_untainted(const Question& question, const std::vector<std::size_t>& places) {
    const TrainCommand command;
    const Records base = ordinary_records(20);
    WatchedDoors recorded;
    const auto first = command.run(question, base, 20);
    ASSERT_EQ(first.said.code, 0) << first.said.err;
    ASSERT_FALSE(recorded.log().empty());
    EXPECT_EQ(recorded.log().front().kind, DoorEntry::Kind::charge);
    EXPECT_EQ(recorded.log().front().asked.find(first.report["event"].get<std::string>()), 0U) << recorded.log().front().asked;
    EXPECT_TRUE(every_charge_has_a_release(recorded.log()));
    std::size_t of_training = 0;
    std::size_t of_scores = 0;
    for (const Records& records : neighbours_of(base, question.adjacency, places)) {
      const auto what = [&] { return fmt::format("{}\n  {}\n", question.adjacency, fmt::join(records, "\n  ")); };
      WatchedDoors replayed{recorded};
      const auto other = command.run(question, records, 20);
      const auto difference = compare(recorded.log(), replayed.log());
      ASSERT_TRUE(difference.allowed) << what();
      ASSERT_EQ(first.said.code, other.said.code) << what() << other.said.err;
      ASSERT_EQ(first.said.err, other.said.err) << what();
      ASSERT_EQ(first.report, other.report) << what();
      ASSERT_TRUE(first.model == other.model) << what();
      bool moves_training = false;
      bool moves_scores = false;
      for (std::size_t k = 0; k < recorded.log().size(); ++k) {
        if (recorded.log()[k].content == replayed.log()[k].content) continue;
        (is_score(recorded.log()[k]) ? moves_scores : moves_training) = true;
      }
      EXPECT_FALSE(moves_training && moves_scores) << "a record is in both parts\n" << what();
      of_training += moves_training ? 1 : 0;
      of_scores += moves_scores ? 1 : 0;
    }
    EXPECT_GT(of_training, 0U) << question.adjacency;
    EXPECT_GT(of_scores, 0U) << question.adjacency << ": no neighbour moved a score";
  }
};

// Of the places that are named one is held out.
TEST_F(Tuning, LetsOneRecordMoveNothingButItsReleases) {
  const std::vector<std::string> at_random{"--tune", "3", "--tune-over", "steps=2,3,4", "--tune-over", "clip=0.5,1"};
  expect_untainted({.algorithm = "shaped-descent", .loss = "logistic", .adjacency = "replace-one", .more = at_random}, {0, 1});
}

TEST_F(Tuning, LetsOneRecordMoveNothingButItsReleasesWhereTheBudgetIsSplit) {
  const std::vector<std::string> each{"--tune", "50", "--tune-over", "steps=2,3", "--public-count", "16"};
  for (const char* adjacency : {"replace-one", "zero-out", "add-or-remove-one"}) {
    expect_untainted({.algorithm = "gradient-descent", .loss = "logistic", .adjacency = adjacency, .more = each}, {0, 1, 4});
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace surety_test::tuning_test
