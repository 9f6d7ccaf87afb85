#include <surety/statistics/release.h>

#include <gtest/gtest.h>

#include <cmath>

#include <support/every_statistic.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::statistics::release_test {

using namespace data;

namespace {

using mechanisms::ReplayBits;

TEST(Release, SpendsBeforeItDraws) {
  const TemporaryFolder folder;
  auto sum = example({.of = CountOf{}, .adjacency = Adjacency::add_or_remove_one});
  for (int i = 0; i < 1000; ++i) sum.add_to_count();
  const auto noise = laplace(sum, 2);
  auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::add_or_remove_one);
  auto reservation = ledger.reserve({.event = event_of(noise)});
  ReplayBits bits{7};
  EXPECT_NEAR(release(sum, noise, reservation, bits).front(), 1000, 100);
  EXPECT_TRUE(refuses([&] { return release(sum, noise, reservation, bits); }, ErrorCode::budget_exceeded, {"laplace(2)"}));
  EXPECT_EQ(reservation.released().event(), event_of(noise));
}

}  // namespace
}  // namespace surety::statistics::release_test
