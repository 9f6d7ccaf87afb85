#include <surety/base/numbers/floating_point.h>

#include <gtest/gtest.h>

#include <tuple>

#include <support/foreign_floating_point.h>

namespace surety::accounting::floating_point_test {
namespace {

using reference::foreign_environments;
using reference::in;

TEST(StandardFloatingPoint, LeavesTheEnvironmentAsItWas) {
  const auto before = reference::control_words();
  EXPECT_TRUE(StandardFloatingPoint::is_standard());
  for (const auto& environment : foreign_environments()) {
    const auto [outside, inside, after] = in(environment, [] {
      const auto at_first = reference::control_words();
      bool is_standard = StandardFloatingPoint::is_standard();
      {
        const StandardFloatingPoint standard;
        is_standard = !is_standard && StandardFloatingPoint::is_standard();
        const StandardFloatingPoint again;
        is_standard = is_standard && StandardFloatingPoint::is_standard();
      }
      return std::tuple{at_first, is_standard, reference::control_words()};
    });
    EXPECT_EQ(outside, after) << environment.name;
    EXPECT_NE(outside, before) << environment.name;
    EXPECT_TRUE(inside) << environment.name;
  }
  EXPECT_EQ(reference::control_words(), before);
}

}  // namespace
}  // namespace surety::accounting::floating_point_test
