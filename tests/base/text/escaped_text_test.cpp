#include <surety/base/text/escaped_text.h>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/base/text/safe_text.h>

namespace surety::escaped_text_test {
namespace {

/// All texts of up to three of these pieces: what is replaced, what it is replaced by, and what is neither.
std::vector<std::string> texts() {
  const std::vector<std::string> pieces{"a",
                                        "\\",
                                        "\\\\",
                                        "x",
                                        "1b",
                                        "\x1b",
                                        "\n",
                                        "u009b",
                                        "\xc2\x9b",
                                        "\x9b",
                                        "\xc2",
                                        "\xe2\x80\xae",
                                        "\xe2\x80\xa8",
                                        "u202e",
                                        "\xff",
                                        "\x7f",
                                        "7f",
                                        std::string(1, '\0'),
                                        "\xc3\xa9"};
  std::vector<std::string> all{""};
  for (std::size_t from = 0, length = 0; length < 3; ++length) {
    const std::size_t to = all.size();
    for (; from < to; ++from) {
      for (const auto& piece : pieces) all.push_back(all[from] + piece);
    }
  }
  return all;
}

TEST(EscapedText, OfTwoTextsIsNeverTheSame) {
  std::map<std::string, std::string> text_of;
  for (const auto& text : texts()) {
    const auto shown = escaped(text);
    EXPECT_EQ(one_line(shown, shown.size() + 1), shown) << "something in it would not be shown as it is";
    const auto [found, is_new] = text_of.emplace(shown, text);
    EXPECT_TRUE(is_new || found->second == text) << shown;
  }
  EXPECT_EQ(escaped("a\\b\x1b[1m\xc2\x9b\xff\xc3\xa9"), "a\\\\b\\x1b[1m\\u009b\\xff\xc3\xa9");
}

TEST(CsvText, IsOneCellThatNoSpreadsheetRuns) {
  for (const char* text : {"=1+1", "+1", "-1", "@x", "'x"}) EXPECT_EQ(csv_text(text), "'" + std::string{text});
  EXPECT_EQ(csv_text("New York, NY"), "\"New York, NY\"");
  EXPECT_EQ(csv_text("=\"a\""), "\"'=\"\"a\"\"\"");
  EXPECT_EQ(csv_text("a\nb\\"), "a\\x0ab\\\\");
  EXPECT_EQ(csv_text(""), "");
  EXPECT_EQ(csv_text("1-1"), "1-1");
}

TEST(JsonForTerminals, MeansTheSame) {
  for (const auto& text : texts()) {
    std::string json;
    try {
      json = nlohmann::json{{text, text}}.dump();
    } catch (const nlohmann::json::type_error&) {
      continue;  // not UTF-8
    }
    const auto shown = json_for_terminals(json);
    EXPECT_EQ(one_line(shown, shown.size() + 1), shown);
    EXPECT_EQ(nlohmann::json::parse(shown), nlohmann::json::parse(json));
  }
  EXPECT_EQ(json_for_terminals("\"\xc2\x9b\""), "\"\\u009b\"");
}

}  // namespace
}  // namespace surety::escaped_text_test
