// Pictures as values: what is drawn of a curve and of bars, and that nothing of it is cut off.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

#include <surety/accounting/events/event_kinds.h>
#include <surety/jobs/pictures/bar_picture.h>
#include <surety/jobs/pictures/curve_picture.h>
#include <surety/jobs/pictures/svg.h>

#include <support/svg_texts.h>

namespace surety::pictures_test {
namespace {

using surety_test::expect_readable;
using surety_test::svg_texts;

constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

bool has_text(const std::string& svg, const std::string& text) {
  const auto texts = svg_texts(svg);
  return std::any_of(texts.begin(), texts.end(), [&](const auto& one) { return one.text == text; });
}

jobs::CurvePicture curve(std::vector<jobs::CurvePicture::Point> points, bool logarithmic) {
  return {.title = "a <curve>", .across = {"seconds"}, .up = {"metres", logarithmic}, .points = std::move(points)};
}

TEST(CurvePicture, HasALineForEachBoundBetweenItsAxes) {
  const auto picture = svg(curve({{0, 1, 2}, {1, 2, 4}, {2, 3, 8}}, false));
  expect_readable(picture);
  EXPECT_EQ(count(picture, "<polyline"), 2U);
  for (const char* text : {"a <curve>", "seconds", "metres", "upper bound", "lower bound", "0.4", "8"}) {
    EXPECT_TRUE(has_text(picture, text)) << text << " in " << picture;
  }
  EXPECT_EQ(count(picture, "<title>a &lt;curve&gt;</title>"), 1U);
  EXPECT_TRUE(picture.starts_with(jobs::picture_file.beginning));
}

TEST(CurvePicture, BreaksWhereABoundIsNotShown) {
  const std::vector<jobs::CurvePicture::Point> points{{0, 0, 2}, {1, 1, 4}, {2, 2, infinity}, {3, 3, 8}, {4, 4, 9}};
  // The upper bound in two pieces; the lower in one, which a logarithmic axis begins after its zero.
  EXPECT_EQ(count(svg(curve(points, false)), "<polyline"), 3U);
  const auto logarithmic = svg(curve(points, true));
  expect_readable(logarithmic);
  EXPECT_EQ(count(logarithmic, "<polyline"), 3U);
  EXPECT_TRUE(has_text(logarithmic, "1e1"));
  const auto corners_of_last = logarithmic.substr(logarithmic.rfind("points=\""));
  EXPECT_EQ(std::count(corners_of_last.begin(), corners_of_last.begin() + static_cast<std::ptrdiff_t>(corners_of_last.find('/')), ','), 4);
}

TEST(BarPicture, HasABarAndAnIntervalForEachNumber) {
  jobs::BarPicture picture{.title = "bars", .panels = {{.title = "panel", .across = {"visits"}, .bars = {}}}, .note = "a note"};
  picture.panels.front().bars = {{"closed", 3, 2, 4}, {"open", -1, -infinity, infinity}, {"none", 2, 0, 0, false}};
  const auto drawn = svg(picture);
  expect_readable(drawn);
  EXPECT_EQ(count(drawn, "#9ecae1"), 3U);
  EXPECT_EQ(count(drawn, "stroke=\"black\" stroke-width=\"1.5\""), 4U) << "two lines, and two ends of the closed one";
  EXPECT_EQ(count(drawn, "<polygon"), 2U) << "arrows of the open one";
  for (const char* text : {"bars", "panel", "visits", "closed", "open", "none", "a note"}) EXPECT_TRUE(has_text(drawn, text)) << text;
}

TEST(BarPicture, OfManyBarsSaysHowManyAreMissing) {
  jobs::BarPicture picture{.title = "bars", .panels = {}, .note = "a note"};
  for (int panel = 0; panel < 3; ++panel) {
    auto& bars = picture.panels.emplace_back(jobs::BarPanel{.title = "panel", .across = {"visits"}, .bars = {}}).bars;
    for (int bar = 0; bar < 300; ++bar) bars.push_back({"bar", 1, 0, 2});
  }
  const auto drawn = svg(picture);
  EXPECT_EQ(count(drawn, "#9ecae1"), jobs::BarPicture::most_bars);
  EXPECT_TRUE(has_text(drawn, "Not shown: 400 more. a note"));
}

// What a text of others is written as: no element, no control character, and none that XML does not have.
TEST(Drawing, TextsAreEscapedAndFit) {
  jobs::drawing::Paper paper{100, 100, "</title><script>"};
  paper.write(0, 0, "start", "a\nb\"&<\xef\xbf\xbf");
  const auto drawn = std::move(paper).finish();
  EXPECT_NE(drawn.find("<title>&lt;/title&gt;&lt;script&gt;</title>"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find(">a b&quot;&amp;&lt;\xef\xbf\xbd</text>"), std::string::npos) << drawn;
  for (const double width : {40.0, 90.0, 300.0}) {
    const auto lines = jobs::drawing::wrapped("the quick brown fox jumps over the lazy dog", width, 3);
    EXPECT_LE(lines.size(), 3U);
    for (const auto& line : lines) EXPECT_LE(surety_test::dejavu_width(line, jobs::drawing::font_size), width) << line;
    EXPECT_EQ(lines.back().ends_with("..."), width < 200) << lines.back();
  }
}

}  // namespace
}  // namespace surety::pictures_test
