#include <surety/testing/stream.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <surety/base/text/error.h>

namespace surety::testing::stream_test {
namespace {

const Grid grid{-20};

GridVector contribution(std::int64_t steps) { return {.grid = grid, .steps = {steps}}; }

TEST(ExactStream, AddsUp) {
  ExactStream stream{grid};
  EXPECT_EQ(stream.push(contribution(1 << 20), L2Sensitivity{1}), std::vector<double>{1});
  EXPECT_EQ(stream.push(contribution(1 << 20), L2Sensitivity{1}), std::vector<double>{2});
}

TEST(ScriptedStream, RepliesFromItsScriptAndLogs) {
  ScriptedStream<> stream{grid, {{3}, {4, 5}}};
  EXPECT_EQ(stream.push(contribution(7), L2Sensitivity{2}), std::vector<double>{3});
  EXPECT_THROW(static_cast<void>(stream.push(contribution(7), L2Sensitivity{2})), Error) << "it has another length";
  EXPECT_EQ(stream.log().size(), 1U);
  EXPECT_EQ(stream.log()[0].contribution, contribution(7));
  EXPECT_EQ(stream.log()[0].sensitivity, L2Sensitivity{2});
}

}  // namespace
}  // namespace surety::testing::stream_test
