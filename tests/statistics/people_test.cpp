// Counts of units and of different texts, over all neighbours of small files, read and added as a release does.
#include <surety/statistics/parts.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <support/refusal.h>
#include <support/small_files.h>

namespace surety::statistics::people_test {
namespace {

using reference::refusal_of;
using Rows = std::vector<std::string>;

constexpr auto all_adjacencies = {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};
const RowOwner owner{"u", false};

const Rows cells{"1,p", "1,q", "0,r", ",", "1,s"};

// Every sensitivity is reached, so that a smaller one would be found here.
TEST(People, MoveByWhatIsChargedAtMostAndReachIt) {
  SmallFiles files;
  const auto condition = data::parse_condition("x>0");
  for (const auto adjacency : all_adjacencies) {
    for (const std::uint64_t most : {1U, 2U, 3U}) {
      std::vector<Statistic> asked;
      const auto units = statistic_of(UnitsOf{owner}, adjacency, most);
      if (adjacency == Adjacency::add_or_remove_one) asked.push_back(units);
      asked.push_back(units);
      asked.back().where = condition;
      for (const data::Categories& keys :
           {data::Categories{{"p"}}, data::Categories{{"p", "q", "r"}}, data::Categories{{"p", "q", "r", "s"}}}) {
        asked.push_back(units);
        asked.back().by = Groups{"t", keys};
      }
      asked.push_back(units);
      asked.back().by = Groups{"t", data::Categories{{"p", "q"}}};
      asked.back().where = condition;
      for (std::uint64_t texts = 1; texts <= std::min<std::uint64_t>(most, 2); ++texts) {
        asked.push_back(statistic_of(DistinctOf{"t", Count{texts}, owner}, adjacency, most));
        asked.push_back(asked.back());
        asked.back().where = condition;
      }
      for (const auto& statistic : asked) {
        const auto found = reach_of(statistic, cells, files);
        const auto noise = charged(statistic);
        const auto text = describe(statistic) + " under " + std::string{name(adjacency)} + " of " + std::to_string(most);
        EXPECT_LE(found.l1, noise.l1) << text;
        EXPECT_LE(found.l2, noise.l2) << text;
        EXPECT_GE(found.l1, noise.l1 * (1 - 1e-12)) << text;
        EXPECT_GE(found.l2, noise.l2 * (1 - 1e-12)) << text;
      }
    }
  }
}

// Under zero-out all is reached where 0 is at a bound or beyond one.
TEST(People, AddWhatIsClippedOnce) {
  SmallFiles files;
  const std::vector<std::string> numbers{"900,p", "-900,p", "2,q", ",p", "1e300,r"};
  for (const auto adjacency : all_adjacencies) {
    for (const std::uint64_t most : {1U, 2U, 3U}) {
      for (const data::Bounds& clip : {data::Bounds{-3, 10}, data::Bounds{2, 5}, data::Bounds{-7, -1}, data::Bounds{0, 6}}) {
        auto statistic = statistic_of(UnitSumOf{"x", clip, owner}, adjacency, most);
        const double allowed =
            adjacency == Adjacency::add_or_remove_one ? std::max(std::abs(clip.lower), std::abs(clip.upper)) : clip.upper - clip.lower;
        for (const bool has_condition : {false, true}) {
          if (has_condition) statistic.where = data::parse_condition("x>0 or t==p");
          const auto text = describe(statistic) + " under " + std::string{name(adjacency)} + " of " + std::to_string(most);
          const auto found = reach_of(statistic, numbers, files);
          const auto noise = charged(statistic);
          EXPECT_LE(found.l1, noise.l1) << text;
          EXPECT_LE(found.l2, noise.l2) << text;
          EXPECT_NEAR(noise.l1, allowed, 1e-4 * allowed) << text;
          EXPECT_NEAR(noise.l2, allowed, 1e-4 * allowed) << text;
          const bool is_reached = adjacency != Adjacency::zero_out || clip.lower >= 0 || clip.upper <= 0;
          EXPECT_GE(found.l1, noise.l1 * (is_reached ? 1 - 1e-12 : 0.7)) << text;
        }
      }
    }
  }
  // a: 3 + 4 - 1, b: 100 at 10, c: nothing at 1, nobody: 2.5.
  const auto sum = statistic_of(UnitSumOf{"x", {1, 10}, owner}, Adjacency::replace_one, 3);
  EXPECT_NEAR(files.added(sum, {"a,3,p", "a,4,p", "a,-1,p", "b,50,p", "b,50,p", "c,,p", ",2.5,q"})["0"], 6 + 10 + 1 + 2.5, 1e-3);
}

// In l1 all but the whole steps to which the vector is cut is reached.
TEST(People, AddOneVectorToAllGroups) {
  SmallFiles files;
  const std::vector<std::string> numbers{"900,p", "-900,p", "900,q", "-900,q", "3,r", ",p"};
  for (const auto adjacency : all_adjacencies) {
    for (const std::uint64_t most : {1U, 2U, 3U}) {
      for (const data::Categories& keys : {data::Categories{{"p"}}, data::Categories{{"p", "q"}}}) {
        auto statistic = statistic_of(UnitSumOf{"x", {-5, 5}, owner}, adjacency, most);
        statistic.by = Groups{"t", keys};
        const auto text = describe(statistic) + " under " + std::string{name(adjacency)} + " of " + std::to_string(most);
        const auto found = reach_of(statistic, numbers, files);
        const auto noise = charged(statistic);
        EXPECT_LE(found.l1, noise.l1) << text;
        EXPECT_LE(found.l2, noise.l2) << text;
        EXPECT_GE(found.l1, noise.l1 * (1 - 1e-5)) << text;
        EXPECT_GE(found.l2, noise.l2 * (1 - 1e-12)) << text;
        const double vectors = adjacency == Adjacency::replace_one ? 2 : 1;
        EXPECT_NEAR(noise.l2, 5 * vectors, 1e-9) << text;
        EXPECT_NEAR(noise.l1, 5 * vectors * std::sqrt(std::min<double>(static_cast<double>(most), static_cast<double>(keys.names.size()))),
                    1e-9);
      }
    }
  }
  auto statistic = statistic_of(UnitSumOf{"x", {-5, 5}, owner}, Adjacency::zero_out, 3);
  statistic.by = Groups{"t", data::Categories{{"p", "q"}}};
  const auto sums = files.added(statistic, {"a,1,p", "a,2,p", "a,-4,q", "b,6,p", "b,8,q", "c,1e300,p", "d,7,r", ",2,q"});
  EXPECT_NEAR(sums.at("0"), 3 + 3 + 5, 1e-4);  // b is 10 long
  EXPECT_NEAR(sums.at("1"), -4 + 4 + 2, 1e-4);
  statistic.of = UnitSumOf{"x", {-5, 6}, owner};
  EXPECT_TRUE(
      refusal_of([&] { statistic.validate(); }).says(ErrorCode::invalid_argument, "the clip of sum(x) by t is -5 and 6, must be -C and C"));
}

// Groups by two columns are those of one whose cells are the pairs.
TEST(People, MoveTuplesAsOneColumnOfThem) {
  SmallFiles files;
  const Rows rows{"9,p", "-9,p", "9,q", "-9,q", ",p", "9,r", "9,s"};
  const data::Categories texts{{"p", "q"}};
  const Groups pairs{"t", texts, {{"x", Bins{{-2, 2}, 2}}}};
  // By the owner, too: a group of a sum may not depend on the number, or its sign would be known.
  const Groups with_owner{"t", texts, {{"u", data::Categories{{"u"}}}}};
  for (const auto adjacency : all_adjacencies) {
    for (const std::uint64_t most : {1U, 2U}) {
      std::vector<Statistic> asked;
      for (const decltype(Statistic::of)& of : {decltype(Statistic::of){UnitsOf{owner}},
                                                {CountOf{}},
                                                {SumOf{"x", {-4, 6}}},
                                                {MeanOf{"x", {-4, 6}}},
                                                {UnitSumOf{"x", {-5, 5}, owner}}}) {
        asked.push_back(statistic_of(of, adjacency, most));
        asked.back().by = column_of(asked.back()) == nullptr ? pairs : with_owner;
      }
      asked.push_back(statistic_of(
          GroupMeansOf{.mean = {"x", {-4, 6}},
                       .keys = {.column = "t", .most_keys = Count{most}, .chance = Delta{1e-3}, .owner = owner, .beside = {"u"}}},
          adjacency, most));
      for (const auto& statistic : asked) {
        const auto text = describe(statistic) + " under " + std::string{name(adjacency)} + " of " + std::to_string(most);
        const auto found = reach_of(statistic, rows, files);
        const auto noise = charged(statistic);
        EXPECT_LE(found.l1, noise.l1 * (1 + 1e-15)) << text;
        EXPECT_LE(found.l2, noise.l2 * (1 + 1e-15)) << text;
        EXPECT_GE(found.l1, noise.l1 * (1 - 1e-5)) << text;
        EXPECT_GE(found.l2, noise.l2 * (1 - 1e-12)) << text;
      }
    }
  }
  const auto counted = [&](const Groups& groups) {
    auto statistic = statistic_of(UnitsOf{owner}, Adjacency::add_or_remove_one, 3);
    statistic.by = groups;
    return files.added(statistic, {"a,1,p", "a,1,p", "a,-1,p", "b,1,q", "b,nan,p", "c,-7,r", "d,0,"});
  };
  EXPECT_EQ(counted(pairs), (Vector{{"0", 1}, {"1", 1}, {"2", 0}, {"3", 1}}));
  EXPECT_EQ(counted({"x", Bins{{-2, 2}, 2}, {{"t", data::Categories{{"p", "q"}}}}}), (Vector{{"0", 1}, {"1", 0}, {"2", 1}, {"3", 1}}));
}

Statistic capped(const decltype(Statistic::of)& of, Adjacency adjacency, std::uint64_t most, std::uint64_t cap,
                 const data::Categories& keys) {
  auto statistic = statistic_of(of, adjacency, most);
  statistic.by = Groups{"t", keys};
  statistic.group_cap = GroupCap{Count{cap}, owner};
  return statistic;
}

// Each sensitivity is reached, of means in l2 nearly.
TEST(People, MoveByTheRowsThatCountInEachGroup) {
  SmallFiles files;
  const Rows few{"9,p", "-9,p", "9,q", "-9,q", "9,r", "-9,r"};
  for (const auto adjacency : all_adjacencies) {
    for (const std::uint64_t most : {2U, 3U}) {
      for (std::uint64_t cap = 1; cap <= most; ++cap) {
        for (const data::Categories& keys : {data::Categories{{"p"}}, data::Categories{{"p", "q"}}, data::Categories{{"p", "q", "r"}}}) {
          for (const decltype(Statistic::of)& of : {decltype(Statistic::of){CountOf{}}, {SumOf{"x", {-4, 6}}}, {MeanOf{"x", {-4, 6}}}}) {
            const auto statistic = capped(of, adjacency, most, cap, keys);
            const auto text = describe(statistic) + " under " + std::string{name(adjacency)} + " of " + std::to_string(most) + " in " +
                              std::to_string(keys.names.size());
            const auto found = reach_of(statistic, few, files);
            const auto noise = charged(statistic);
            EXPECT_LE(found.l1, noise.l1 * (1 + 1e-15)) << text;
            EXPECT_LE(found.l2, noise.l2 * (1 + 1e-15)) << text;
            // No record of these is in no group, which a group alone would need; and a mean is there where it changes.
            const bool is_reached = adjacency != Adjacency::replace_one || (keys.names.size() == 3 && cap * 3 >= 2 * most);
            EXPECT_GE(found.l1, noise.l1 * (is_reached ? 1 - 1e-5 : 0.6)) << text;
            // Records that come and records that change move a mean in different directions, whose lengths are added.
            const bool is_mean = std::holds_alternative<MeanOf>(statistic.of);
            EXPECT_GE(found.l2, noise.l2 * (!is_reached ? 0.6 : is_mean ? 0.9 : 1 - 1e-5)) << text;
          }
        }
      }
    }
  }
}

/// All ways to have at most `most` rows in some groups, at most `cap` in each.
std::vector<std::vector<int>> loads(std::size_t groups, int most, int cap) {
  std::vector<std::vector<int>> all{{}};
  for (std::size_t g = 0; g < groups; ++g) {
    std::vector<std::vector<int>> longer;
    for (const auto& one : all) {
      int left = most;
      for (const int n : one) left -= n;
      for (int n = 0; n <= std::min(left, cap); ++n) {
        longer.push_back(one);
        longer.back().push_back(n);
      }
    }
    all = std::move(longer);
  }
  return all;
}

// The formula of the proof beside all pairs of loads: bounds from 2 to 6 have m = 6 and s' = 4, bounds from -6 to 4 have s' = 10.
TEST(People, MoveAsFarAsThePairOfLoadsThatMovesFarthest) {
  const std::vector<std::string> texts{"p", "q", "r", "s"};
  for (const data::Bounds& bounds : {data::Bounds{2, 6}, data::Bounds{-6, 4}}) {
    const double m = 6;
    const double s = std::max(m, bounds.upper - bounds.lower);
    for (std::size_t groups = 1; groups <= texts.size(); ++groups) {
      for (int most = 1; most <= 6; ++most) {
        for (int cap = 1; cap <= most; ++cap) {
          const data::Categories keys{{texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(groups)}};
          const auto all = loads(groups, most, cap);
          for (const auto adjacency : all_adjacencies) {
            Reach reach;
            for (const auto& one : all) {
              for (const auto& other :
                   adjacency == Adjacency::replace_one ? all : std::vector<std::vector<int>>{std::vector<int>(groups)}) {
                double l1 = 0;
                double squares = 0;
                for (std::size_t g = 0; g < groups; ++g) {
                  const double moved = std::min(one[g], other[g]) * s + std::abs(one[g] - other[g]) * m;
                  l1 += moved;
                  squares += moved * moved;
                }
                reach = {std::max(reach.l1, l1), std::max(reach.l2, std::sqrt(squares))};
              }
            }
            const auto statistic =
                capped(SumOf{"x", bounds}, adjacency, static_cast<std::uint64_t>(most), static_cast<std::uint64_t>(cap), keys);
            const StatisticSum sum{statistic, grid_for(statistic, NoiseMultiplier{1})};
            EXPECT_NEAR(sum.l1_sensitivity().value(), reach.l1, 1e-9) << groups << " " << most << " " << cap << " " << name(adjacency);
            EXPECT_NEAR(sum.l2_sensitivity().value(), reach.l2, 1e-9) << groups << " " << most << " " << cap << " " << name(adjacency);
          }
        }
      }
    }
  }
}

TEST(People, HaveInAGroupTheFirstOfTheirRowsThere) {
  SmallFiles files;
  const data::Categories keys{{"p", "q"}};
  auto sum = capped(SumOf{"x", {0, 16}}, Adjacency::add_or_remove_one, 4, 2, keys);
  const Rows rows{"a,1,p", "a,,p", "a,2,p", "b,8,p", "a,4,p", ",1,p", "b,16,q"};
  EXPECT_EQ(files.added(sum, rows), (Vector{{"0", 1 + 2 + 8 + 1}, {"1", 16}}));
  // Rows of another group decide nothing.
  Rows more{"a,8,q", "a,9,q", "a,9,q"};
  more.insert(more.end(), rows.begin(), rows.end());
  EXPECT_EQ(files.added(sum, more), (Vector{{"0", 1 + 2 + 8 + 1}, {"1", 16 + 8 + 9}}));
  sum.of = CountOf{};
  EXPECT_EQ(files.added(sum, more), (Vector{{"0", 2 + 1 + 1}, {"1", 1 + 2}}));
  const auto refused = [&](const decltype(Statistic::of)& of, const std::string& what) {
    EXPECT_TRUE(refusal_of([&] { capped(of, Adjacency::replace_one, 3, 2, keys).validate(); }).says(ErrorCode::invalid_argument, what))
        << what;
  };
  refused(UnitsOf{owner}, "a cap of a unit's rows in each group is not for count(units) by t");
  refused(UnitSumOf{"x", {-1, 1}, owner}, "is not for sum(x) by t");
  EXPECT_TRUE(refusal_of([&] {
                capped(CountOf{}, Adjacency::replace_one, 3, 4, keys).validate();
              }).says(ErrorCode::invalid_argument, "the rows of a unit in each group are 4, must be at most the 3 of its rows"));
  auto nobodys = capped(CountOf{}, Adjacency::replace_one, 3, 2, keys);
  nobodys.group_cap->owner = std::nullopt;
  EXPECT_TRUE(refusal_of([&] { nobodys.validate(); }).says(ErrorCode::invalid_argument, "needs the column that names the owner"));
  // A quantile of so many rows.
  const auto quantile = capped(QuantileOf{"x", {0, 4}, Fraction::median(), 5}, Adjacency::add_or_remove_one, 9, 2, keys);
  EXPECT_EQ(most_rows(quantile).value(), 4U);
  EXPECT_EQ(describe(quantile), "median(x) by t (2 of a unit in each)");
}

TEST(People, MoveByNumbersOfGroupsAndNotByTheirRows) {
  const auto of_groups = [](Adjacency adjacency, std::uint64_t most) {
    auto statistic = statistic_of(UnitsOf{owner}, adjacency, most);
    statistic.by = Groups{"t", data::Categories{{"a", "b", "c", "d", "e"}}};
    return charged(statistic);
  };
  EXPECT_EQ(of_groups(Adjacency::add_or_remove_one, 3).l1, 3);
  EXPECT_NEAR(of_groups(Adjacency::zero_out, 3).l2, std::sqrt(3.0), 1e-15);
  EXPECT_EQ(of_groups(Adjacency::replace_one, 2).l1, 4);
  EXPECT_EQ(of_groups(Adjacency::replace_one, 2).l2, 2);
  EXPECT_EQ(of_groups(Adjacency::replace_one, 3).l1, 5);  // there are no six
  EXPECT_EQ(of_groups(Adjacency::add_or_remove_one, 1000).l1, 5);
  // Gains and losses of texts offset each other.
  for (const auto adjacency : all_adjacencies) {
    EXPECT_EQ(charged(statistic_of(DistinctOf{"t", Count{4}, owner}, adjacency, 7)).l1, 4);
    EXPECT_EQ(charged(statistic_of(DistinctOf{"t", Count{4}, owner}, adjacency, 7)).l2, 4);
  }
}

TEST(People, AreCountedFreelyWhereTheirNumberIsPublic) {
  SmallFiles files;
  for (const auto adjacency : all_adjacencies) {
    const auto all = statistic_of(UnitsOf{owner}, adjacency, 2);
    EXPECT_EQ(is_public(all), adjacency != Adjacency::add_or_remove_one);
    // Records are as many as units where each has one.
    EXPECT_EQ(is_public(statistic_of(CountOf{}, adjacency, 1)), adjacency != Adjacency::add_or_remove_one);
    EXPECT_FALSE(is_public(statistic_of(CountOf{}, adjacency, 2)));
    auto some = all;
    some.where = data::parse_condition("x>0");
    EXPECT_FALSE(is_public(some));
    some = all;
    some.by = Groups{"t", data::Categories{{"p"}}};
    EXPECT_FALSE(is_public(some));
    // All units count, also those of damaged rows and of none but their name; rows without one are one unit.
    EXPECT_EQ(files.added(all, {"a,1,p", "a,1,p", "b,,", ",1,q", "c", ""})["0"], 3);
    if (!is_public(all)) continue;
    EXPECT_EQ(describe(event_of(std::vector<WeightedStatistic>{{all}}, NoiseFamily::laplace, 1)), "pure(0)");
    EXPECT_EQ(describe(event_of(std::vector<WeightedStatistic>{{all}, {some}}, NoiseFamily::laplace, 1)), "laplace(1)");
    const auto number = files.added(all, {"a,1,p", "u,1,p"});
    for (const auto& rows : units_of(cells, 2)) {
      Rows file{"a,1,p"};
      file.insert(file.end(), rows.begin(), rows.end());
      EXPECT_EQ(files.added(all, file), number);
    }
  }
}

TEST(People, CountOnceInEachGroup) {
  SmallFiles files;
  auto units = statistic_of(UnitsOf{owner}, Adjacency::add_or_remove_one, 3);
  units.by = Groups{"t", data::Categories{{"p", "q"}}};
  const Rows rows{"a,1,p", "a,2,q", "a,3,p", "b,1,p", "b,1,p", "c,1,other", ",1,q", ",2,q"};
  EXPECT_EQ(files.added(units, rows), (Vector{{"0", 2}, {"1", 2}}));
  // Rows without a name that are units of their own.
  units.of = UnitsOf{RowOwner{"u", true}};
  EXPECT_EQ(files.added(units, rows), (Vector{{"0", 2}, {"1", 3}}));
  EXPECT_EQ(files.added(statistic_of(DistinctOf{"t", Count{2}, owner}, Adjacency::replace_one, 3), rows)["texts"], 3);
  EXPECT_EQ(files.added(statistic_of(DistinctOf{"t", Count{1}, owner}, Adjacency::replace_one, 3), rows)["texts"], 3);
}

TEST(People, NeedTheirColumn) {
  EXPECT_TRUE(refusal_of([] {
                statistic_of(UnitSumOf{"x", {0, 1}}, Adjacency::replace_one, 2).validate();
              }).says(ErrorCode::invalid_argument, "sum(x) needs the column that names the owner of a row"));
  EXPECT_TRUE(refusal_of([] {
                statistic_of(UnitsOf{}, Adjacency::replace_one, 2).validate();
              }).says(ErrorCode::invalid_argument, "count(units) needs the column that names the owner of a row"));
  EXPECT_TRUE(refusal_of([] {
                statistic_of(DistinctOf{"t", Count{3}, owner}, Adjacency::replace_one, 2).validate();
              }).says(ErrorCode::invalid_argument, "the keys of a unit are 3, must be at most the 2 of its rows"));
  auto grouped = statistic_of(DistinctOf{"t", Count{1}, owner}, Adjacency::replace_one, 2);
  grouped.by = Groups{"u", data::Categories{{"p"}}};
  EXPECT_TRUE(refusal_of([&] {
                grouped.validate();
              }).says(ErrorCode::invalid_argument, "count(distinct t) by u is of different texts, must be asked without groups"));
}

}  // namespace
}  // namespace surety::statistics::people_test
