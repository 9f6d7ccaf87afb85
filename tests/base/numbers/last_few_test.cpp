#include <surety/base/numbers/last_few.h>

#include <gtest/gtest.h>

#include <stdexcept>

namespace surety::accounting::last_few_test {
namespace {

TEST(LastFew, MakesWhatItDoesNotKeep) {
  LastFew<int, int> kept;
  int made = 0;
  const auto square = [&](int key) { return kept.of(key, [&] { return ++made, key * key; }); };
  EXPECT_EQ(square(3), 9);
  EXPECT_EQ(square(3), 9);
  EXPECT_EQ(made, 1);
  for (int i = 10; i < 30; ++i) EXPECT_EQ(square(i), i * i);
  EXPECT_EQ(made, 21);
  EXPECT_EQ(square(29), 841);
  EXPECT_EQ(made, 21) << "one of the last";
  EXPECT_EQ(square(3), 9);
  EXPECT_EQ(made, 22) << "it was given up";
}

TEST(LastFew, KeepsAsManyAsItIsTold) {
  LastFew<int, int, laws_of_a_question> kept;
  int made = 0;
  // A question goes through all of its laws again and again.
  for (int round = 0; round < 3; ++round) {
    for (int law = 0; law < static_cast<int>(laws_of_a_question); ++law) EXPECT_EQ(kept.of(law, [&] { return ++made, -law; }), -law);
  }
  EXPECT_EQ(made, static_cast<int>(laws_of_a_question));
}

TEST(LastFew, MayBeAskedWhileItMakesAndKeepsNothingThatFailed) {
  LastFew<int, int> kept;
  EXPECT_EQ(kept.of(1, [&] { return kept.of(2, [] { return 5; }) + 1; }), 6);
  EXPECT_THROW(static_cast<void>(kept.of(3, []() -> int { throw std::runtime_error{"no"}; })), std::runtime_error);
  EXPECT_EQ(kept.of(3, [] { return 7; }), 7);
}

}  // namespace
}  // namespace surety::accounting::last_few_test
