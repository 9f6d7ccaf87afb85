#include <surety/testing/selector.h>

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include <surety/base/text/error.h>

namespace surety::testing::selector_test {
namespace {

const Event pure = surety::pure(Epsilon{0.5}, Adjacency::replace_one);
const std::vector<double> scores{1, 3, 2};

TEST(ExactSelector, TakesTheFirstOfTheLargest) {
  EXPECT_EQ(ExactSelector{}.select(std::array{2.0, 3.0, 3.0}, ScoreSensitivity{1}, ScoreChange::range, pure), 1U);
}

TEST(ScriptedSelector, RepliesFromItsScriptAndLogs) {
  ScriptedSelector selector{{7}};
  EXPECT_EQ(selector.select(scores, ScoreSensitivity{2}, ScoreChange::one_way, pure), 1U);
  ASSERT_EQ(selector.log().size(), 1U);
  EXPECT_EQ(selector.log()[0].scores, (std::vector<double>{1, 3, 2}));
  EXPECT_EQ(selector.log()[0].sensitivity, ScoreSensitivity{2});
  EXPECT_THROW(static_cast<void>(selector.select(scores, ScoreSensitivity{2}, ScoreChange::one_way, pure)), Error);
}

}  // namespace
}  // namespace surety::testing::selector_test
