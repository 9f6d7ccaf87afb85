// What can be read in an SVG picture of the command, and whether all of it is inside.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <regex>
#include <string>
#include <vector>

namespace surety_test {

/// Of DejaVu Sans, one of the widest usual fonts, in thousandths of its size: the characters from blank to tilde.
inline constexpr std::array<int, 95> dejavu_widths{
    318, 401, 460, 838, 636, 950, 780, 275, 390,  390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
    603, 787, 695, 635, 611, 732, 684, 989, 685,  611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635,
    634, 278, 278, 579, 278, 974, 634, 612, 635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838};

/// Of text in pixels; a character outside ASCII counts as a square.
inline double dejavu_width(const std::string& text, double font_size) {
  double thousandths = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) thousandths += dejavu_widths[byte - 0x20U];
    if (byte >= 0xc0) thousandths += 1000;
  }
  return thousandths * font_size / 1000;
}

struct SvgText {
  std::string text;
  double left;
  double right;
  double top;
  double bottom;
};

/// The texts of `svg` and where they stand.
inline std::vector<SvgText> svg_texts(const std::string& svg) {
  static const std::regex element{R"re(<text x="([^"]*)" y="([^"]*)" text-anchor="([a-z]*)"([^>]*)>([^<]*)</text>)re"};
  constexpr double font_size = 12;
  std::vector<SvgText> result;
  for (auto found = std::sregex_iterator{svg.begin(), svg.end(), element}; found != std::sregex_iterator{}; ++found) {
    std::string text = (*found)[5];
    for (const auto& [entity, plain] :
         {std::pair{"&lt;", "<"}, std::pair{"&gt;", ">"}, std::pair{"&quot;", "\""}, std::pair{"&amp;", "&"}}) {
      for (std::size_t at = 0; (at = text.find(entity, at)) != std::string::npos; ++at) text.replace(at, std::string{entity}.size(), plain);
    }
    const double x = std::stod((*found)[1]);
    const double y = std::stod((*found)[2]);
    const double width = dejavu_width(text, font_size);
    const double before = (*found)[3] == "start" ? 0 : (*found)[3] == "middle" ? width / 2 : width;
    if ((*found)[4].str().find("rotate(-90") != std::string::npos) {
      result.push_back({text, x - font_size, x + font_size / 4, y - width + before, y + before});
    } else {
      result.push_back({text, x - before, x - before + width, y - font_size, y + font_size / 4});
    }
  }
  return result;
}

/// Every text of `svg` is inside the picture, and none is on another.
inline void expect_readable(const std::string& svg) {
  static const std::regex view{R"re(viewBox="0 0 ([0-9.]*) ([0-9.]*)")re"};
  std::smatch box;
  ASSERT_TRUE(std::regex_search(svg, box, view));
  const auto texts = svg_texts(svg);
  EXPECT_GE(texts.size(), 4u);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto& one = texts[i];
    EXPECT_TRUE(one.left >= 0 && one.top >= 0 && one.right <= std::stod(box[1]) && one.bottom <= std::stod(box[2])) << one.text;
    for (std::size_t j = 0; j < i; ++j) {
      const auto& other = texts[j];
      EXPECT_TRUE(one.left >= other.right || other.left >= one.right || one.top >= other.bottom || other.top >= one.bottom)
          << one.text << " on " << other.text;
    }
  }
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

}  // namespace surety_test
