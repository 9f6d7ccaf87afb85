#include <surety/accounting/events/releases.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

namespace surety::accounting::releases_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;

Event leaf(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }
Event times(std::uint64_t count, Event event) { return repeat(Count{count}, std::move(event)); }

/// A nested event over few leaves, so that equal leaves meet.
Event any_event(int depth) {
  const int kind = depth == 0 ? 0 : *rc::gen::inRange(0, 3);
  if (kind == 1) return times(*rc::gen::inRange<std::uint64_t>(1, 5), any_event(depth - 1));
  if (kind == 2) {
    std::vector<Event> parts;
    const int size = *rc::gen::inRange(1, 4);
    for (int i = 0; i < size; ++i) parts.push_back(any_event(depth - 1));
    return compose(std::move(parts));
  }
  return leaf(*rc::gen::element(0.1, 0.7, 3.0, 1e100));
}

Releases any_releases() {
  Releases releases{adjacency};
  if (*rc::gen::inRange(0, 6) > 0) releases.add(Releases::of(any_event(3)));
  return releases;
}

Releases sum(Releases a, const Releases& b) {
  a.add(b);
  return a;
}

ErrorCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::internal;
}

TEST(Releases, CountsMultiplyThroughNesting) {
  const auto releases = Releases::of(compose({times(3, compose({leaf(2), times(5, leaf(7))})), leaf(2)}));
  EXPECT_EQ(releases.count(leaf(2)), 4U);
  EXPECT_EQ(releases.count(leaf(7)), 15U);
  EXPECT_EQ(releases.entries().size(), 2U);
}

TEST(Releases, TellNeighbouringMultipliersApart) {
  const double next = std::nextafter(0.3, 1.0);
  const auto releases = Releases::of(compose({leaf(0.3), leaf(next), leaf(next)}));
  EXPECT_EQ(releases.count(leaf(0.3)), 1U);
  EXPECT_EQ(releases.count(leaf(next)), 2U);
}

TEST(Releases, CountOfSomethingElseIsZero) {
  const auto releases = Releases::of(leaf(2));
  EXPECT_EQ(releases.count(leaf(3)), 0U);
  EXPECT_EQ(releases.count(times(1, leaf(2))), 0U);
  EXPECT_EQ(releases.count(gaussian(NoiseMultiplier{2}, Adjacency::zero_out)), 0U);
}

TEST(Releases, AreWrittenAsTheShortestEvent) {
  EXPECT_EQ(describe(*Releases::of(times(2, times(3, leaf(2)))).event()), "repeat(6, gaussian(2))");
  EXPECT_EQ(describe(*Releases::of(compose({leaf(2), leaf(5), leaf(2)})).event()), "compose(repeat(2, gaussian(2)), gaussian(5))");
  EXPECT_FALSE(Releases{adjacency}.event().has_value());
}

TEST(Releases, CountUpToTheBoundExactly) {
  const std::uint64_t half = Releases::max_count / 2;
  auto releases = Releases::of(times(half, leaf(2)));
  releases.add(Releases::of(times(half, leaf(2))));
  EXPECT_EQ(releases.count(leaf(2)), Releases::max_count);
  EXPECT_EQ(code_of([&] { releases.add(Releases::of(compose({leaf(3), leaf(2)}))); }), ErrorCode::invalid_argument);
  EXPECT_EQ(releases.count(leaf(3)), 0U) << "a refused sum must leave everything as it was";
}

TEST(Releases, RefuseCountsThatMultiplyBeyondTheBound) {
  EXPECT_EQ(code_of([] { static_cast<void>(Releases::of(times(Releases::max_count, times(2, leaf(2))))); }), ErrorCode::invalid_argument);
  // 2^63 and 2^106, which would wrap around to 2^63 and to 0.
  EXPECT_EQ(code_of([] { static_cast<void>(Releases::of(times(Releases::max_count, times(1024, leaf(2))))); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { static_cast<void>(Releases::of(times(Releases::max_count, times(Releases::max_count, leaf(2))))); }),
            ErrorCode::invalid_argument);
}

TEST(Releases, RefuseAnotherAdjacency) {
  Releases releases{adjacency};
  EXPECT_EQ(code_of([&] { releases.add(Releases{Adjacency::zero_out}); }), ErrorCode::invalid_argument);
  EXPECT_FALSE(Releases{Adjacency::zero_out}.is_part_of(releases));
}

TEST(Releases, RefuseToTakeAwayWhatIsNotThere) {
  auto releases = Releases::of(compose({leaf(2), leaf(3)}));
  EXPECT_EQ(code_of([&] { releases.subtract(Releases::of(compose({leaf(2), times(2, leaf(3))}))); }), ErrorCode::internal);
  EXPECT_EQ(releases, Releases::of(compose({leaf(2), leaf(3)})));
}

RC_GTEST_PROP(ReleasesLaws, TheEventOfReleasesHasTheseReleases, ()) {
  const auto releases = Releases::of(any_event(4));
  RC_ASSERT(Releases::of(*releases.event()) == releases);
}

RC_GTEST_PROP(ReleasesLaws, CompositionIsTheSum, ()) {
  const auto a = any_event(3);
  const auto b = any_event(3);
  RC_ASSERT(Releases::of(compose({a, b})) == sum(Releases::of(a), Releases::of(b)));
}

RC_GTEST_PROP(ReleasesLaws, RepetitionIsARepeatedSum, ()) {
  const auto event = any_event(3);
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 6);
  Releases expected{adjacency};
  for (std::uint64_t i = 0; i < count; ++i) expected.add(Releases::of(event));
  RC_ASSERT(Releases::of(times(count, event)) == expected);
}

RC_GTEST_PROP(ReleasesLaws, TheSumCommutesAndAssociatesWithNothingAsNeutral, ()) {
  const auto a = any_releases();
  const auto b = any_releases();
  const auto c = any_releases();
  RC_ASSERT(sum(a, b) == sum(b, a));
  RC_ASSERT(sum(sum(a, b), c) == sum(a, sum(b, c)));
  RC_ASSERT(sum(a, Releases{adjacency}) == a);
}

RC_GTEST_PROP(ReleasesLaws, TheDifferenceUndoesTheSum, ()) {
  const auto a = any_releases();
  const auto b = any_releases();
  auto rest = sum(a, b);
  rest.subtract(b);
  RC_ASSERT(rest == a);
}

RC_GTEST_PROP(ReleasesLaws, BeingPartIsAnOrderAndMeansThatCountsAreAtMost, ()) {
  const auto a = any_releases();
  const auto b = any_releases();
  bool at_most = true;
  for (const auto& entry : a.entries()) at_most = at_most && entry.count.value() <= b.count(entry.leaf);
  RC_ASSERT(a.is_part_of(b) == at_most);
  RC_ASSERT(a.is_part_of(a));
  RC_ASSERT(a.is_part_of(sum(a, b)));
  RC_ASSERT((a.is_part_of(b) && b.is_part_of(a)) == (a == b));
}

}  // namespace
}  // namespace surety::accounting::releases_test
