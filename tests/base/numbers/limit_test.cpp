#include <surety/base/numbers/limit.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>

#include <surety/base/text/error.h>

namespace surety::accounting::limit_test {
namespace {

/// A clock that a look at it moves on by so many seconds.
std::function<double()> clock_of(double step, double start = 0) {
  return [=, now = start]() mutable { return now += step; };
}

std::string stop_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::stopped);
    return error.what();
  }
  return "not stopped";
}

std::uint64_t polls_until_stopped(const Limit& limit) {
  EXPECT_NE(stop_of([] {
              for (int i = 0; i < 1000; ++i) poll_limit();
            }),
            "not stopped");
  return limit.polls();
}

TEST(Limit, WithoutOneAPollIsNothing) { EXPECT_NO_THROW(poll_limit()); }

TEST(Limit, StopsAtTheFirstPollAfterItsTime) {
  const Limit limit{{.seconds = 10, .clock = clock_of(1)}};
  EXPECT_EQ(polls_until_stopped(limit), 11U);
}

TEST(Limit, TheLineSaysWhichLimit) {
  const Limit limit{{.seconds = 2.5, .clock = clock_of(1), .name = "--limit-seconds", .unit = ""}};
  EXPECT_EQ(stop_of([] {
              for (int i = 0; i < 9; ++i) poll_limit();
            }),
            "it took longer than --limit-seconds 2.5");
}

TEST(Limit, IsCalledOffByWhoeverAsks) {
  int asked = 0;
  const Limit limit{{.is_called_off = [&] { return ++asked == 3; }, .clock = clock_of(1)}};
  EXPECT_EQ(polls_until_stopped(limit), 3U);
}

TEST(Limit, TheCallerIsNotAskedMoreOftenThanEveryTenMilliseconds) {
  int asked = 0;
  const Limit limit{{.is_called_off = [&] { return ++asked < 0; }, .clock = clock_of(0.001)}};
  for (int i = 0; i < 1000; ++i) poll_limit();
  EXPECT_GE(asked, 90);
  EXPECT_LE(asked, 101);
}

TEST(Limit, WhatTheCallerThrowsEndsTheQuestion) {
  const Limit limit{{.is_called_off = []() -> bool { throw std::runtime_error{"a signal"}; }}};
  EXPECT_THROW(poll_limit(), std::runtime_error);
}

TEST(Limit, OfTwoThatNestEachCounts) {
  const Limit outer{{.seconds = 5, .clock = clock_of(1)}};
  {
    const Limit inner{{.seconds = 100, .clock = clock_of(1)}};
    EXPECT_EQ(polls_until_stopped(outer), 6U);
  }
  const Limit later{{.seconds = 2, .clock = clock_of(1)}};
  EXPECT_NE(stop_of(poll_limit), "not stopped");
}

TEST(Limit, EndsWithItsLife) {
  { const Limit limit{{.seconds = 1, .clock = clock_of(10)}}; }
  EXPECT_NO_THROW(poll_limit());
}

TEST(Limit, WhatIsLiftedStopsNothing) {
  const Limit outer{{.seconds = 1, .clock = clock_of(10)}};
  const Limit inner{{.seconds = 1, .clock = clock_of(10)}};
  Limit::lift();
  EXPECT_NO_THROW(poll_limit());
  const Limit later{{.seconds = 1, .clock = clock_of(10)}};
  EXPECT_THROW(poll_limit(), Error);
}

TEST(Limit, IsThatOfItsThread) {
  const Limit limit{{.seconds = 1, .clock = clock_of(10)}};
  std::thread{[] { EXPECT_NO_THROW(poll_limit()); }}.join();
  EXPECT_THROW(poll_limit(), Error);
}

TEST(Limit, LoopsOfShortTurnsPollNowAndThen) {
  const Limit limit{{}};
  PollNowAndThen poll;
  for (int i = 0; i < 2560; ++i) poll();
  EXPECT_EQ(limit.polls(), 10U);
}

TEST(Limit, RefusesATimeThatIsNone) {
  for (const double seconds : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    try {
      const Limit limit{{.seconds = seconds}};
      FAIL() << seconds;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    }
    EXPECT_NO_THROW(poll_limit());
  }
}

}  // namespace
}  // namespace surety::accounting::limit_test
