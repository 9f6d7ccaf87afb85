#include <surety/accounting/ledger/running_cost.h>

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include <surety/accounting/ledger/ledger_contents.h>

#include <support/refusal.h>

namespace surety::accounting::running_cost_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;

Budget budget_of(FilterKind kind) {
  return {.target = {.epsilon = Epsilon{2}, .delta = Delta{1e-6}, .adjacency = adjacency}, .filter = kind};
}

std::vector<Event> events_for(FilterKind kind) {
  std::vector<Event> events{gaussian(NoiseMultiplier{5}, adjacency), gaussian(NoiseMultiplier{8.5}, adjacency),
                            repeat(Count{3}, gaussian(NoiseMultiplier{12}, adjacency))};
  if (kind == FilterKind::gaussian) return events;
  const std::vector<Event> promised{laplace(NoiseScale{3}, adjacency), laplace(NoiseScale{5}, adjacency),
                                    compose({laplace(NoiseScale{20}, adjacency), laplace(NoiseScale{25}, adjacency)})};
  if (kind == FilterKind::basic) return promised;
  events.insert(events.end(), promised.begin(), promised.end());
  // At the order of the filter this one has no divergence, and fits by its epsilon alone.
  if (kind == FilterKind::renyi) events.push_back(surety::pure(Epsilon{0.1}, adjacency));
  return events;
}

constexpr std::array kinds{FilterKind::renyi, FilterKind::gaussian, FilterKind::zcdp, FilterKind::basic};

// The filter, which adds up all of it each time, says the same, but for what lies within a thousandth of the limit.
TEST(RunningCost, IsThatOfTheFilter) {
  std::mt19937_64 random{7};
  for (const auto kind : kinds) {
    const auto budget = budget_of(kind);
    const Filter filter{budget};
    const auto events = events_for(kind);
    int admitted = 0;
    int refused = 0;
    for (int history = 0; history < 4; ++history) {
      std::vector<Releases> runs;
      Releases total{adjacency};
      RunningCost cost{budget, total};
      for (int step = 0; step < 40; ++step) {
        const auto next = Releases::of(events[random() % events.size()]);
        Releases together = total;
        together.add(next);
        const bool surely = cost.surely_admits(next);
        const bool fits = filter.admits(together);
        EXPECT_TRUE(!surely || fits) << name(kind) << ", step " << step;
        EXPECT_TRUE(surely || filter.spent(together).upper >= 0.999 * filter.limit().lower) << name(kind) << ", step " << step;
        surely ? ++admitted : ++refused;
        if (fits) {
          total.add(next);
          cost.add(next);
          runs.push_back(next);
        }
        // A run that is settled gives back a part.
        if (!runs.empty() && random() % 3 == 0) {
          total.subtract(runs.back());
          cost.subtract(runs.back());
          runs.pop_back();
        }
        EXPECT_LE(cost.kinds(), 8U);
      }
      // And what is priced at once is what was added up.
      RunningCost again{budget, total};
      for (const auto& event : events)
        EXPECT_EQ(again.surely_admits(Releases::of(event)), cost.surely_admits(Releases::of(event))) << name(kind);
    }
    EXPECT_GT(admitted, 20) << name(kind);
    EXPECT_GT(refused, 5) << name(kind);
  }
}

TEST(RunningCost, ARenyiFilterAdmitsBySumsOfEpsilonsToo) {
  const auto budget = budget_of(FilterKind::renyi);
  const Filter filter{budget};
  const auto event = laplace(NoiseScale{0.55}, adjacency);
  ASSERT_GT(filter.spent(Releases::of(event)).upper, filter.limit().upper);
  RunningCost cost{budget, Releases{adjacency}};
  EXPECT_TRUE(cost.surely_admits(Releases::of(event)));
  cost.add(Releases::of(gaussian(NoiseMultiplier{1e6}, adjacency)));
  EXPECT_FALSE(cost.surely_admits(Releases::of(event))) << "one release promises no epsilon";
  cost.subtract(Releases::of(gaussian(NoiseMultiplier{1e6}, adjacency)));
  EXPECT_TRUE(cost.surely_admits(Releases::of(event)));
}

TEST(RunningCost, RefusesWhatTheFilterHasNoRuleFor) {
  RunningCost cost{budget_of(FilterKind::gaussian), Releases{adjacency}};
  EXPECT_TRUE(reference::refusal_of([&] {
                return cost.surely_admits(Releases::of(laplace(NoiseScale{7}, adjacency)));
              }).says(ErrorCode::unsupported, "no filter of kind gaussian"));
  EXPECT_TRUE(cost.surely_admits(Releases::of(gaussian(NoiseMultiplier{9}, adjacency))));
}

// What the entries of a ledger amount to keeps its cost.
TEST(RunningCost, FollowsTheEntries) {
  const auto budget = budget_of(FilterKind::zcdp);
  LedgerContents contents;
  for (const auto& entry : first_entries(adjacency, UnitOfPrivacy{}, budget)) contents.take(entry.content);
  contents.cost.emplace(budget, *contents.counted);
  for (int run = 1; run <= 30; ++run) {
    const auto event = repeat(Count{4}, gaussian(NoiseMultiplier{60.0 + run}, adjacency));
    contents.take(reserve_entry({.event = event}, "2026-01-01T00:00:00Z"));
    if (run % 2 == 0) {
      contents.take(settle_entry({static_cast<std::uint64_t>(run)}, "2026-01-01T00:00:00Z",
                                 gaussian(NoiseMultiplier{60.0 + run}, adjacency), Stopping::adaptive));
    }
    ASSERT_TRUE(contents.cost);
    EXPECT_EQ(contents.cost->kinds(), static_cast<std::size_t>(run)) << "each kind is priced once";
  }
  RunningCost fresh{budget, *contents.counted};
  for (int z = 1; z < 400; ++z) {
    const auto asked = Releases::of(gaussian(NoiseMultiplier{z / 20.0}, adjacency));
    EXPECT_EQ(contents.cost->surely_admits(asked), fresh.surely_admits(asked)) << z;
  }
}

}  // namespace
}  // namespace surety::accounting::running_cost_test
