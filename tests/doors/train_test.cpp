// Every algorithm of `surety train`, from the words of the command and files of records to all that comes out: released values are held fixed,
// one record or one unit of the file is another, and nothing may differ but the releases that its charge is for, by no more than was said.
//
// The algorithms are those that are registered; nobody adds a line here for a new one. Only what is required is given: the command is asked,
// and what it calls missing is said (`said`). So defaults, the reader, the split, the scaling and the choice of rows of a unit are inside.
// Released values are replayed at the doors (watched_doors.h), in this process. The same is asked of each plan through C, on records in columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <support/train_command.h>
#include <support/train_through_c.h>
#include <support/watched_doors.h>
#include <surety/jobs/algorithms/algorithms.h>

namespace surety_test::train_test {
namespace {

using Records = TrainCommand::Records;
using Question = TrainCommand::Question;

class Train : public ::testing::TestWithParam<std::string> {
 protected:
  /// False where the algorithm has no theorem for what is asked.
  bool accepts(const Question& question, const Records& records, std::size_t count) {
    std::string defect;
    const bool is_accepted = command_.accepts(question, records, count, defect);
    EXPECT_EQ(defect, "") << GetParam();
    return is_accepted;
  }

  /// Holds neighbours of `base` to it. `neighbours(has_batches)` returns them.
  template <class Neighbours>
  void expect_untainted(const Question& question, const Records& base, std::size_t count, const Neighbours& neighbours) {
    expect_untainted(question, base, count, neighbours, [&](const Records& records) { return command_.run(question, records, count); });
  }
  /// The same of `run(records)`, which answers the question in another way.
  template <class Neighbours, class Run>
  void expect_untainted(const Question& question, const Records& base, std::size_t count, const Neighbours& neighbours, Run&& run) {
    WatchedDoors recorded;
    const auto first = run(base);
    ASSERT_EQ(first.said.code, 0) << first.said.err;
    EXPECT_FALSE(recorded.log().empty()) << GetParam();
    EXPECT_TRUE(every_charge_has_a_release(recorded.log())) << GetParam();
    for (const Records& records : neighbours(recorded.has_batches())) {
      const auto what = [&] {
        return fmt::format("{}\nbase\n  {}\nneighbour\n  {}\n", fmt::join(command_.words(question, count), " "), fmt::join(base, "\n  "),
                           fmt::join(records, "\n  "));
      };
      WatchedDoors replayed{recorded};
      const auto other = run(records);
      const auto difference = compare(recorded.log(), replayed.log());
      ASSERT_TRUE(difference.allowed) << what();
      ASSERT_EQ(first.said.code, other.said.code) << what() << other.said.err;
      ASSERT_EQ(first.said.err, other.said.err) << what();
      ASSERT_EQ(first.report, other.report) << what();
      ASSERT_TRUE(first.model == other.model) << what() << first.model << other.model;
      moved_ += difference.moved;
      ++compared_;
    }
  }

  TrainCommand command_;
  std::size_t moved_ = 0;  ///< releases, by all neighbours
  std::size_t compared_ = 0;
};

/// All damaged but one: whatever is taken from the longest, the first or the sum of all, that one decides.
Records lonely_records(std::size_t count, std::size_t place) {
  Records records(count, "x,x,x");
  records[place] = "2,1,1";
  return records;
}

const Records strangers{"-3,4,0", "1e308,-1e308,1", "x,,7", "0,0,0", "-1e-300,9,1"};

/// One record is another at these places; where the adjacency says so, it is one of zeros.
std::vector<Records> replaced(const Records& base, const std::string& adjacency, const std::vector<std::size_t>& places) {
  std::vector<Records> all;
  for (std::size_t k = 0; k < places.size(); ++k) {
    Records records = base;
    records[places[k]] = adjacency == "zero-out" ? "" : strangers[k % strangers.size()];
    all.push_back(std::move(records));
  }
  return all;
}

/// One record comes or goes. Secret batches know records by their places, so there it is the last.
std::vector<Records> added_or_removed(const Records& base, bool only_last) {
  std::vector<Records> all;
  for (const auto& stranger : strangers) {
    all.push_back(base);
    all.back().push_back(stranger);
  }
  all.push_back(base);
  all.back().pop_back();
  if (only_last) return all;
  for (const std::size_t place : {std::size_t{0}, std::size_t{3}, std::size_t{5}}) {
    all.push_back(base);
    all.back().erase(all.back().begin() + static_cast<std::ptrdiff_t>(std::min(place, base.size() - 1)));
    all.push_back(base);
    all.back().insert(all.back().begin() + static_cast<std::ptrdiff_t>(std::min(place, base.size())), strangers[place % strangers.size()]);
  }
  return all;
}

TEST_P(Train, LetsOneRecordMoveNothingButItsReleases) {
  bool is_accepted = false;
  for (const std::string& loss : std::vector<std::string>{"logistic", "squared", "classes", "softmax"}) {
    for (const char* adjacency : {"replace-one", "zero-out", "add-or-remove-one"}) {
      Question question{.algorithm = GetParam(), .loss = loss, .adjacency = adjacency};
      if (loss == "classes" || loss == "softmax") question.loss = "logistic", question.classes = "0,1,7";  // of which one is a stranger's
      if (loss == "softmax") question.more = {"--classes-by", "softmax"};
      if (loss == "squared")
        question.more = {"--terms", "additive", "--pairs", "x:y", "--bounds", "x=-2,3", "--bounds", "y=0,4", "--missing", "y=1"};
      // Of so few records the count is mostly noise, so none counts by itself.
      if (loss == "squared" && question.adjacency != "add-or-remove-one") question.more.emplace_back("--count-records");
      // Some defaults need more records than others.
      std::size_t count = 20;
      auto base = ordinary_records(count);
      if (!accepts(question, base, count)) {
        count = 64;
        base = ordinary_records(count);
        if (!accepts(question, base, count)) continue;
      }
      is_accepted = true;
      const auto neighbours = [&](const Records& records, const std::vector<std::size_t>& places) {
        expect_untainted(question, records, count, [&](bool has_batches) {
          return question.adjacency == "add-or-remove-one" ? added_or_removed(records, has_batches || loss != "logistic")
                                                           : replaced(records, question.adjacency, places);
        });
      };
      // Where a record stands is asked with one loss: no other looks at places.
      const bool is_first = loss == "logistic";
      neighbours(base, is_first ? std::vector<std::size_t>{0, 1, 3, 5, 10, count - 1} : std::vector<std::size_t>{3, count - 1, 5});
      neighbours(lonely_records(count, 1), is_first ? std::vector<std::size_t>{1, 0, count - 1} : std::vector<std::size_t>{1});
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_TRUE(is_accepted) << GetParam() << " accepts no loss and adjacency of those that are asked here";
  EXPECT_GT(moved_, 0U) << "no neighbour moved a release of " << GetParam();
}

bool is_of(const std::string& row, char owner) { return row.front() == owner; }

/// All rows of one unit are others, more, fewer or none.
std::vector<Records> of_other_units(const std::string& adjacency, bool only_last, const Records& base = rows_of_units()) {
  std::vector<Records> all;
  const auto without = [&](char owner) {
    Records rows;
    std::copy_if(base.begin(), base.end(), std::back_inserter(rows), [&](const auto& row) { return !is_of(row, owner); });
    return rows;
  };
  if (adjacency == "add-or-remove-one") {
    for (const char owner : {'k', 'l', 'z'}) {
      all.push_back(base);
      for (std::size_t k = 0; k < 3; ++k) all.back().push_back(std::string(1, owner) + "," + strangers[k]);
    }
    if (only_last) return all;
    for (const char owner : {'a', 'c', 'j'}) all.push_back(without(owner));
    return all;
  }
  for (const char owner : {'a', 'c', 'g', 'j'}) {
    Records rows = base;
    std::size_t k = 0;
    for (auto& row : rows) {
      if (is_of(row, owner))
        row = adjacency == "zero-out" ? std::string(1, owner) + ",x,x,x" : std::string(1, owner) + "," + strangers[k++ % strangers.size()];
    }
    all.push_back(rows);
    if (adjacency == "zero-out") continue;
    // More rows than are used of a unit, and before all others.
    for (const char* more : {",1e308,-1e308,1", ",3,-2,0", ",x,,"}) rows.insert(rows.end(), owner + std::string{more});
    all.push_back(rows);
  }
  return all;
}

/// Whether the algorithm has a theorem for owners of so many rows, of whom none is held out; what auto chooses has one.
bool has_theorem_for_units(const std::string& algorithm, std::uint64_t most) {
  for (const auto& known : surety::jobs::all_algorithms()) {
    if (known->name() != algorithm) continue;
    surety::jobs::TrainPlan plan{.target = {surety::Epsilon{1}, surety::Delta{1e-5}, surety::Adjacency::replace_one},
                                 .unit = {"owner", surety::Count{most}},
                                 .source = {},
                                 .algorithm = known->standard()};
    std::visit(
        [](auto& own) {
          if constexpr (std::derived_from<std::remove_reference_t<decltype(own)>, surety::jobs::SplitPlan>) own.held_out = 0;
        },
        plan.algorithm);
    return known->why_no_units(plan).empty();
  }
  return true;
}

// Owners of one row may be where records may, but its place in the file is no part of an owner.
TEST_P(Train, LetsAnOwnerOfOneRowMoveNothingButItsReleases) {
  constexpr std::size_t units = 60;
  const auto base = rows_of_units(units);
  for (const char* adjacency : {"replace-one", "zero-out"}) {
    Question question{.algorithm = GetParam(), .loss = "logistic", .adjacency = adjacency, .has_units = true, .most = 1};
    if (!accepts(question, base, units)) question.loss = "squared";
    if (!accepts(question, base, units)) continue;
    expect_untainted(question, base, units, [&](bool has_batches) { return of_other_units(adjacency, has_batches, base); });
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(compared_ > 0, has_theorem_for_units(GetParam(), 1)) << GetParam();
}

TEST_P(Train, LetsOneUnitMoveNothingButItsReleases) {
  constexpr std::size_t units = 10;
  for (const char* adjacency : {"replace-one", "zero-out", "add-or-remove-one"}) {
    Question question{.algorithm = GetParam(), .loss = "logistic", .adjacency = adjacency, .has_units = true};
    if (!accepts(question, rows_of_units(), units)) question.loss = "squared";
    if (!accepts(question, rows_of_units(), units)) continue;
    expect_untainted(question, rows_of_units(), units, [&](bool has_batches) { return of_other_units(adjacency, has_batches); });
    if (HasFatalFailure()) return;
    question = {.algorithm = GetParam(), .loss = "logistic", .adjacency = adjacency, .has_units = true, .classes = "0,1,7"};
    question.more = {"--classes-by", "softmax"};
    if (!accepts(question, rows_of_units(), units)) continue;
    expect_untainted(question, rows_of_units(), units, [&](bool has_batches) { return of_other_units(adjacency, has_batches); });
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(compared_ > 0, has_theorem_for_units(GetParam(), 2)) << GetParam();
}

// A score that is charged beside the training is a release like the others. The noise is given: to find it takes a second for each neighbour.
class TrainWithPaidScore : public Train {};

TEST_P(TrainWithPaidScore, LetsOneRecordOrUnitMoveNothingButItsReleases) {
  for (const char* adjacency : {"replace-one", "zero-out", "add-or-remove-one"}) {
    Question question{
        .algorithm = GetParam(), .loss = "logistic", .adjacency = adjacency, .more = {"--score", "brier", "--noise-multiplier", "50"}};
    constexpr std::size_t count = 64;
    const auto base = ordinary_records(count);
    ASSERT_TRUE(accepts(question, base, count));
    EXPECT_EQ(command_.run(question, base, count).report["held_out_score"]["charged"], "beside the training's releases, in the event");
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < count; place += 9) places.push_back(place);
    expect_untainted(question, base, count, [&](bool has_batches) {
      return question.adjacency == "add-or-remove-one" ? added_or_removed(base, has_batches) : replaced(base, question.adjacency, places);
    });
    constexpr std::size_t units = 10;
    question.has_units = true;
    ASSERT_TRUE(accepts(question, rows_of_units(), units));
    expect_untainted(question, rows_of_units(), units, [&](bool has_batches) { return of_other_units(adjacency, has_batches); });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(moved_, 0U);
}

/// What a program is given that asks through C, with columns and not a file.
class TrainThroughColumns : public Train {
 protected:
  /// The job of what is asked; nothing where the algorithm has no theorem for it.
  std::unique_ptr<TrainThroughC> job_of(const Question& question, const Records& records, std::size_t count) {
    std::string defect;
    const auto plan = command_.accepted_plan(question, records, count, defect);
    EXPECT_EQ(defect, "") << GetParam();
    return plan ? std::make_unique<TrainThroughC>(*plan) : nullptr;
  }
};

// Each loss and each adjacency once: what they mean for an algorithm is asked of the command, above.
TEST_P(TrainThroughColumns, LetsOneRecordMoveNothingButItsReleases) {
  const std::vector<Question> questions{{.algorithm = GetParam(), .loss = "logistic", .adjacency = "replace-one"},
                                        {.algorithm = GetParam(), .loss = "logistic", .adjacency = "add-or-remove-one"},
                                        {.algorithm = GetParam(), .loss = "squared", .adjacency = "zero-out"},
                                        {.algorithm = GetParam(), .loss = "logistic", .adjacency = "zero-out", .classes = "0,1,7"}};
  constexpr std::size_t count = 64;
  for (const auto& question : questions) {
    const auto job = job_of(question, ordinary_records(count), count);
    if (!job) continue;
    const auto neighbours = [&](const Records& records) {
      expect_untainted(
          question, records, count,
          [&](bool has_batches) {
            return question.adjacency == "add-or-remove-one" ? added_or_removed(records, has_batches)
                                                             : replaced(records, question.adjacency, {0, 1, 3, 5, count - 1});
          },
          [&](const Records& table) { return job->run(table); });
    };
    neighbours(ordinary_records(count));
    if (HasFatalFailure()) return;
    if (question.adjacency == "replace-one") neighbours(lonely_records(count, 1));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(moved_, 0U) << "no neighbour moved a release of " << GetParam();
}

TEST_P(TrainThroughColumns, LetsOneUnitMoveNothingButItsReleases) {
  constexpr std::size_t units = 10;
  for (const char* adjacency : {"replace-one", "zero-out", "add-or-remove-one"}) {
    Question question{.algorithm = GetParam(), .loss = "logistic", .adjacency = adjacency, .has_units = true};
    auto job = job_of(question, rows_of_units(), units);
    if (!job) {
      question.loss = "squared";
      job = job_of(question, rows_of_units(), units);
    }
    if (!job) continue;
    expect_untainted(
        question, rows_of_units(), units, [&](bool has_batches) { return of_other_units(adjacency, has_batches); },
        [&](const Records& table) { return job->run(table); });
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(moved_ > 0, has_theorem_for_units(GetParam(), 2)) << GetParam();
}

/// Algorithms with `--publish last`.
class TrainTheLastIterate : public Train {};

TEST_P(TrainTheLastIterate, IsUntainted) {
  for (const char* adjacency : {"replace-one", "zero-out"}) {
    const Question question{.algorithm = GetParam(), .loss = "logistic", .adjacency = adjacency, .more = {"--publish", "last"}};
    constexpr std::size_t count = 20;
    const auto base = ordinary_records(count);
    ASSERT_TRUE(accepts(question, base, count));
    expect_untainted(question, base, count, [&](bool) { return replaced(base, adjacency, {0, 5, 9, 19}); });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(moved_, 0U);
}

/// Algorithms that release residuals of squared loss, in other places for rows of one scale and of unit norm.
class TrainOnResiduals : public Train {};

TEST_P(TrainOnResiduals, LetsOneRecordOrUnitMoveNothingButItsReleases) {
  constexpr std::size_t count = 20;
  constexpr std::size_t units = 10;
  for (const std::string rows : {"unit", "scaled"}) {
    for (const char* adjacency : {"replace-one", "zero-out", "add-or-remove-one"}) {
      Question question{.algorithm = GetParam(),
                        .loss = "squared",
                        .adjacency = adjacency,
                        .more = {"--rows", rows, "--bounds", "x=-2,3", "--bounds", "y=0,4", "--steps", "4"}};
      const auto base = ordinary_records(count);
      ASSERT_TRUE(accepts(question, base, count));
      const std::string event = command_.run(question, base, count).report["event"].dump();
      EXPECT_EQ(event.find("repeat(2, ") != std::string::npos, rows == "unit") << event;
      expect_untainted(question, base, count, [&](bool has_batches) {
        return question.adjacency == "add-or-remove-one" ? added_or_removed(base, has_batches) : replaced(base, adjacency, {0, 5, 9, 19});
      });
      if (HasFatalFailure()) return;
      question.has_units = true;
      ASSERT_TRUE(accepts(question, rows_of_units(), units));
      expect_untainted(question, rows_of_units(), units, [&](bool has_batches) { return of_other_units(adjacency, has_batches); });
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(moved_, 0U);
}

// The mean label is released before the descent begins.
TEST_P(TrainOnResiduals, FromTheShareOfAClassLetsOneRecordOrUnitMoveNothingButItsReleases) {
  constexpr std::size_t count = 20;
  constexpr std::size_t units = 10;
  for (const char* adjacency : {"replace-one", "zero-out", "add-or-remove-one"}) {
    Question question{.algorithm = GetParam(),
                      .loss = "logistic",
                      .adjacency = adjacency,
                      .more = {"--start", "share", "--steps", "4", "--bounds", "x=-2,3"}};
    const auto base = ordinary_records(count);
    ASSERT_TRUE(accepts(question, base, count));
    expect_untainted(question, base, count, [&](bool has_batches) {
      return question.adjacency == "add-or-remove-one" ? added_or_removed(base, has_batches) : replaced(base, adjacency, {0, 5, 9, 19});
    });
    if (HasFatalFailure()) return;
    question.has_units = true;
    ASSERT_TRUE(accepts(question, rows_of_units(), units));
    expect_untainted(question, rows_of_units(), units, [&](bool has_batches) { return of_other_units(adjacency, has_batches); });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(moved_, 0U);
}

/// Algorithms that release ranges of columns before they train.
class TrainOnRanges : public Train {};

TEST_P(TrainOnRanges, LetsOneRecordMoveNothingButItsReleases) {
  constexpr std::size_t count = 20;
  const std::vector<std::vector<std::string>> kinds{
      {"--ranges", "private", "--terms", "additive"}, {"--bounds", "x=private"}, {"--ranges", "private", "--missing", "y=0.5"}};
  for (const auto& kind : kinds) {
    for (const char* adjacency : {"replace-one", "zero-out", "add-or-remove-one"}) {
      const Question question{.algorithm = GetParam(), .loss = "squared", .adjacency = adjacency, .more = kind};
      const auto base = ordinary_records(count);
      const bool is_accepted = accepts(question, base, count);
      ASSERT_EQ(is_accepted, GetParam() != "sufficient-statistics" || question.adjacency != "add-or-remove-one");
      if (!is_accepted) continue;
      EXPECT_TRUE(command_.run(question, base, count).report.contains("ranges"));
      expect_untainted(question, base, count, [&](bool has_batches) {
        return question.adjacency == "add-or-remove-one" ? added_or_removed(base, has_batches) : replaced(base, adjacency, {0, 5, 9, 19});
      });
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(moved_, 0U);
}

/// Those whose records have public places in batches or in time.
class TrainInOrder : public Train {};

// What is kept of earlier records is cleared, halved or merged at powers of two.
TEST_P(TrainInOrder, IsUntaintedAtLengthsAroundPowersOfTwo) {
  for (const std::size_t power : {2, 4, 8, 16, 32, 64, 128}) {
    for (const std::size_t count : {power - 1, power, power + 1}) {
      const Question question{.algorithm = GetParam(), .loss = "logistic", .adjacency = power % 3 == 1 ? "replace-one" : "zero-out"};
      auto base = ordinary_records(count);
      if (count > 6) base[5] = "4,4,0";
      if (!accepts(question, base, count)) continue;
      const std::set<std::size_t> places{0, count / 2, count - 1, std::min(count - 1, power / 2 - 1), std::min<std::size_t>(count - 1, 6)};
      expect_untainted(question, base, count, [&](bool) { return replaced(base, question.adjacency, {places.begin(), places.end()}); });
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(compared_, 20U);
  EXPECT_GT(moved_, 0U);
}

std::vector<std::string> all_names() {
  std::vector<std::string> names{"auto"};
  for (const auto& algorithm : surety::jobs::all_algorithms()) names.push_back(algorithm->name());
  return names;
}

std::vector<std::string> names_of_those_in_order() {
  using namespace surety::jobs;
  const auto is_in_order = []<class Plan>(const Plan&) {
    return std::is_base_of_v<StreamPlan, Plan> || std::is_same_v<Plan, NoisySgdPlan> || std::is_same_v<Plan, SnowballSgdPlan> ||
           std::is_same_v<Plan, NoisyFrankWolfePlan>;
  };
  std::vector<std::string> names;
  for (const auto& algorithm : all_algorithms()) {
    if (std::visit(is_in_order, algorithm->standard())) names.push_back(algorithm->name());
  }
  return names;
}

std::string as_identifier(const ::testing::TestParamInfo<std::string>& algorithm) {
  std::string name = algorithm.param;
  for (auto& c : name) c = c == '-' ? '_' : c == '+' ? 'p' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Train, ::testing::ValuesIn(all_names()), as_identifier);
INSTANTIATE_TEST_SUITE_P(Residuals, TrainOnResiduals, ::testing::Values("shaped-descent"), as_identifier);
INSTANTIATE_TEST_SUITE_P(Ranges, TrainOnRanges,
                         ::testing::Values("shaped-descent", "gradient-descent", "accelerated-gradient-descent", "mirror-descent",
                                           "sufficient-statistics"),
                         as_identifier);
INSTANTIATE_TEST_SUITE_P(Batches, TrainWithPaidScore, ::testing::Values("dp-sgd"), as_identifier);
INSTANTIATE_TEST_SUITE_P(All, TrainTheLastIterate, ::testing::Values("gradient-descent", "noisy-sgd"), as_identifier);
INSTANTIATE_TEST_SUITE_P(All, TrainThroughColumns, ::testing::ValuesIn(all_names()), as_identifier);
INSTANTIATE_TEST_SUITE_P(InOrder, TrainInOrder, ::testing::ValuesIn(names_of_those_in_order()), as_identifier);

}  // namespace
}  // namespace surety_test::train_test
