// A document as Markdown: no text of it is markup, and a table keeps its cells.
#include <surety/jobs/report/markdown.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include <support/markup_names.h>

namespace surety::markdown_test {
namespace {

using namespace jobs;

TEST(Markdown, KeepsWhatAnybodyWroteInsideOfCodeSpans) {
  const auto page = [](const std::string& text) {
    const auto foreign = Line::foreign(text);
    return Document{.title = "x",
                    .blocks = {Heading{foreign}, Verdict{foreign, true}, Paragraph{"a " + foreign}, BulletList{{foreign}},
                               Table{.head = {"a", foreign}, .rows = {{foreign, "b"}}}}};
  };
  const auto harmless = reference::outside_code(markdown(page("x")));
  for (const auto& name : reference::markup_names(200)) EXPECT_EQ(reference::outside_code(markdown(page(name))), harmless) << name;
}

TEST(Markdown, ShowsNoTwoTextsAlike) {
  std::set<std::string> seen;
  for (const auto& name : reference::markup_names(200)) {
    const auto code = markdown_code(name);
    EXPECT_TRUE(seen.insert(code).second) << code;
    EXPECT_EQ(code.find('|'), std::string::npos) << code;
    EXPECT_EQ(std::count(code.begin(), code.end(), '`'), 2) << code;
    EXPECT_EQ(code.find('\n'), std::string::npos) << code;
  }
  EXPECT_EQ(markdown_code(""), "(empty)");
  EXPECT_EQ(markdown_code("a|`\\"), "`a\\x7c\\x60\\\\`");
  EXPECT_EQ(markdown_code("\xc3\xa9\xc3\xa9", 3), "`\xc3\xa9...`") << "cut between characters";
  EXPECT_EQ(markdown_code("\xc3\xa9\xc3\xa9", 4), "`\xc3\xa9\xc3\xa9`");
}

TEST(Markdown, EscapesItsOwnWords) {
  EXPECT_EQ(markdown_text("a_b*c|d<e>[f](g)`h`\\"), "a\\_b\\*c\\|d\\<e\\>\\[f\\](g)\\`h\\`\\\\");
  EXPECT_EQ(markdown_text("epsilon = 1 at delta = 1e-06"), "epsilon = 1 at delta = 1e-06");
}

TEST(Markdown, WritesTheNumbersOfAPicture) {
  const Figure figure{.picture = CurvePicture{.title = "x", .across = {"x"}, .up = {"y"}, .points = {{0, 0, 1}, {1, 1, 2}}},
                      .numbers = {.head = {"Delta", "Epsilon"}, .rows = {{"0.1", "1"}}}};
  EXPECT_EQ(markdown({.title = "Title", .blocks = {figure, BulletList{{"a", "b"}}}}),
            "# Title\n\n| Delta | Epsilon |\n| --- | --- |\n| 0.1 | 1 |\n\n* a\n* b\n");
}

}  // namespace
}  // namespace surety::markdown_test
