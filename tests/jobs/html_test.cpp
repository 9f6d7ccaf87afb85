// A document as HTML: no text of it is markup.
#include <surety/jobs/report/html.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <support/markup_names.h>

namespace surety::html_test {
namespace {

using namespace jobs;

/// Every place in which a text may stand.
Document page_of(const std::string& text) {
  const auto foreign = Line::foreign(text);
  Table table{.head = {text, foreign}, .rows = {{text, foreign}}};
  CurvePicture curve{.title = text, .across = {text}, .up = {text}, .points = {{0, 0, 1}, {1, 1, 2}}};
  BarPicture bars{.title = text,
                  .panels = {{.title = text, .across = {text}, .bars = {{.name = text, .value = 1, .lower = 0, .upper = 2}}}},
                  .note = text};
  return {.title = text,
          .blocks = {Heading{foreign}, Verdict{foreign, true}, Paragraph{Line{text} + foreign}, BulletList{{text, foreign}}, table,
                     Figure{curve, table}, Figure{bars, table}}};
}

TEST(Html, HasTheTagsOfAHarmlessPageWhateverItsTextsAre) {
  // The place of what stands in a picture depends on the widths of its texts.
  const auto without_numbers = [](const std::string& text) {
    std::vector<std::string> tags;
    for (auto tag : reference::tags_of(html(page_of(text)))) {
      std::erase_if(tag, [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-'; });
      tags.push_back(std::move(tag));
    }
    return tags;
  };
  const auto harmless = without_numbers("x");
  EXPECT_GT(harmless.size(), 60U);
  for (const auto& name : reference::markup_names(200)) {
    // Pictures break lines at blanks, and write one element a line.
    if (name.find_first_of(" \t\n\r") == std::string::npos) {
      EXPECT_EQ(without_numbers(name), harmless) << name;
    }
    const auto page = html(page_of(name));
    EXPECT_EQ(page.find("<script"), std::string::npos);
    EXPECT_EQ(page.find("<img"), std::string::npos);
    EXPECT_EQ(page.find("<a "), std::string::npos);
  }
}

TEST(Html, EscapesATextForElementsAndAttributes) {
  EXPECT_EQ(html_text("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(html_text("a\nb\xe2\x80\xae"
                      "c\xff"),
            "a b c\\xff")
      << "one line, one direction, UTF-8";
  EXPECT_EQ(html_text("&&&&", 2), "&amp;&amp;...") << "cut before it is escaped, not within an entity";
}

TEST(Html, LoadsNothing) {
  const auto page = html(page_of("x"));
  EXPECT_TRUE(page.starts_with(html_report_file.beginning));
  EXPECT_NE(page.find("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"),
            std::string::npos);
  for (const auto& tag : reference::tags_of(page)) {
    for (const char* word : {"src=", "href", "url(", "on", "style="}) {
      // "Content", "Security", "polygon" and the like have it within a word.
      EXPECT_EQ(tag.find(std::string{" "} + word), std::string::npos) << tag;
    }
  }
}

}  // namespace
}  // namespace surety::html_test
