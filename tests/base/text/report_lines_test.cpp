#include <surety/base/text/report_lines.h>

#include <gtest/gtest.h>

#include <string>

namespace surety::report_lines_test {
namespace {

/// Ends a line, moves a terminal, and is no UTF-8.
const std::string hostile = "a\nb\x1b[2J\xff";
const std::string tamed = "a b [2J\\xff";

TEST(ReportLines, AreTheLinesOfTheirPattern) {
  EXPECT_EQ(safe_format("{} {:>5} {}\n", hostile, 7, hostile.c_str()), tamed + "     7 " + tamed + "\n");
  EXPECT_EQ(safe_format("{}", std::string(300, 'x')), std::string(300, 'x')) << "texts are at their whole length";
  EXPECT_EQ(safe_format("{:<{}}|", "ab", 4), "ab  |");
  EXPECT_EQ(report_line("unit", hostile), "unit         " + tamed + "\n");
  EXPECT_EQ(report_line("a field of more columns", "b"), "a field of more columns b\n");
}

TEST(ReportTable, IsAsWideAsItsTexts) {
  ReportTable table;
  table.add({"name", "cost", "event"});
  table.add({"a long name", "1", "gaussian(1)"});
  table.add({"b", "none: a reason that is longer than any cost"});
  EXPECT_EQ(table.text(),
            "name         cost  event\n"
            "a long name  1     gaussian(1)\n"
            "b            none: a reason that is longer than any cost\n");
  EXPECT_EQ(ReportTable{}.text(), "");
}

TEST(ReportTable, HasItsNumbersAtTheRight) {
  ReportTable table{{.gap = 1, .numbers = "value", .width_of_numbers = 7}};
  table.add({"name", "value", "note"});
  table.add({hostile, "12", ""});
  table.add({"b", "123456789", "x"});
  EXPECT_EQ(table.text(), "name            value note\n" + tamed + "        12\n" + "b           123456789 x\n");
  ReportTable last{{.numbers = "value", .width_of_numbers = 2}};
  last.add({"n", "value"});
  last.add({"b", "1"});
  EXPECT_EQ(last.text(), "n  value\nb      1\n");
}

}  // namespace
}  // namespace surety::report_lines_test
