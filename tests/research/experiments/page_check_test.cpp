#include "page_check.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include <surety/base/text/error.h>

namespace surety::experiments::page_check_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

FixedPart part(double gap = 0.00123456789012345) {
  FixedPart made;
  made.add("gap, \"seed\" 1", gap);
  made.add("epsilon", infinity);
  made.add("steps", 1500);
  return made;
}

TEST(PageCheck, FindsNothingWrongWithWhatWasKept) {
  const FixedPart made = part();
  EXPECT_TRUE(differences(from_json(to_json(made)), made, "").empty());
}

TEST(PageCheck, KeepsEveryDigit) {
  const FixedPart kept = from_json(to_json(part()));
  ASSERT_EQ(kept.numbers().size(), 3);
  EXPECT_EQ(kept.numbers(), part().numbers());
}

TEST(PageCheck, FindsAChangedNumber) {
  const auto found = differences(from_json(to_json(part())), part(0.001234577), "");
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0], "'gap, \"seed\" 1' is kept as 0.00123456789012345, and now 0.001234577");
}

TEST(PageCheck, AllowsTheLastDigitsOfAnotherMathematicalLibrary) {
  EXPECT_TRUE(differences(part(), part(0.00123456789012345 * (1 + 9e-7)), "").empty());
  EXPECT_EQ(differences(part(), part(0.00123456789012345 * (1 + 2e-6)), "").size(), 1);
  EXPECT_EQ(differences(part(0), part(1e-300), "").size(), 1);
  EXPECT_EQ(differences(part(1), part(-1), "").size(), 1);
  EXPECT_EQ(differences(part(infinity), part(1), "").size(), 1);
  EXPECT_EQ(differences(part(infinity), part(-infinity), "").size(), 1);
}

TEST(PageCheck, FindsAMissingNumber) {
  FixedPart kept = part();
  kept.add("no longer", 1);
  const auto found = differences(kept, part(), "");
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0], "'no longer' is kept as 1, and no longer made");
}

TEST(PageCheck, FindsAnExtraNumber) {
  FixedPart made = part();
  made.add("new", 2);
  const auto found = differences(part(), made, "");
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0], "'new' is 2, and not kept");
}

TEST(PageCheck, FindsALineThatThePageDoesNotShow) {
  FixedPart made = part();
  made.show("| DP-GD | 0.12 |");
  EXPECT_TRUE(differences(part(), made, "# Page\n\n| DP-GD | 0.12 | more |\n").empty());
  const auto found = differences(part(), made, "# Page\n\n| DP-GD | 0.13 | more |\n");
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0], "the page does not show \"| DP-GD | 0.12 |\"");
}

TEST(PageCheck, ReadsATableOfValuesAsLines) {
  EXPECT_EQ(lines_of_table("data,claim\na9a,\"0.2, 0.5\"\n\"of \"\"b\"\"\",\n"), "| data | claim |\n| a9a | 0.2, 0.5 |\n| of \"b\" |  |\n");
  EXPECT_EQ(lines_of_table(""), "");
}

TEST(PageCheck, RefusesANameTwiceAndWhatIsNoNumber) {
  FixedPart made = part();
  EXPECT_THROW(made.add("steps", 1500), Error);
  EXPECT_THROW(made.add("nothing", std::numeric_limits<double>::quiet_NaN()), Error);
  for (const char* text : {"", "[1]", "{\"a\": \"b\"}", "{\"a\": null}", "{\"a\": 1"}) {
    EXPECT_THROW(static_cast<void>(from_json(text)), Error) << text;
  }
}

}  // namespace
}  // namespace surety::experiments::page_check_test
