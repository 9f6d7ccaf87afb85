#include <surety/base/system/drawn_ahead.h>

#include <gtest/gtest.h>

#include <thread>

namespace surety::drawn_ahead_test {
namespace {

TEST(DrawnAhead, HasNothingToForgetBeforeAReservation) {
  DrawnAhead::forget_all();  // what was drawn before an object was made is not its own
  DrawnAhead ahead;
  EXPECT_FALSE(ahead.must_be_forgotten());
}

TEST(DrawnAhead, IsForgottenOnceByEachObject) {
  DrawnAhead first;
  DrawnAhead second;
  DrawnAhead::forget_all();
  DrawnAhead::forget_all();
  EXPECT_TRUE(first.must_be_forgotten());
  EXPECT_FALSE(first.must_be_forgotten());
  EXPECT_TRUE(second.must_be_forgotten());
  EXPECT_FALSE(second.must_be_forgotten());
  DrawnAhead::forget_all();
  EXPECT_TRUE(first.must_be_forgotten());
}

TEST(DrawnAhead, IsForgottenByAllThreads) {
  DrawnAhead ahead;
  std::thread{DrawnAhead::forget_all}.join();
  EXPECT_TRUE(ahead.must_be_forgotten());
  DrawnAhead::forget_all();
  bool is_seen = false;
  std::thread{[&] { is_seen = ahead.must_be_forgotten(); }}.join();
  EXPECT_TRUE(is_seen);
}

TEST(DrawnAhead, ACopyForgetsWhatItsOriginalForgets) {
  DrawnAhead original;
  DrawnAhead::forget_all();
  DrawnAhead copy = original;
  EXPECT_TRUE(original.must_be_forgotten());
  EXPECT_TRUE(copy.must_be_forgotten());
}

}  // namespace
}  // namespace surety::drawn_ahead_test
