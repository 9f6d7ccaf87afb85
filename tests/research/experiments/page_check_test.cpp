#include "page_check.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <support/temporary_folder.h>
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

TEST(PageCheck, LeavesOutColumnsOfTimesAlone) {
  const std::string page = "Seconds: 1 | 2\n\n| row | its ms | gap, forms |\n|---|---|---|\n| a | 1.5 | 2 |\n\n| a | b |\n| 1 | 2 |";
  EXPECT_EQ(without_times(page, '|'), "Seconds: 1 | 2\n\n| row | its ms | gap, forms |\n|---||---|\n| a || 2 |\n\n| a | b |\n| 1 | 2 |");
  EXPECT_EQ(without_times("\"row, x\",seconds,gap\n\"1, 2\",3,4\n\"a \"\",\"\" b\",5,6\n", ','),
            "\"row, x\",seconds,gap\n\"1, 2\",,4\n\"a \"\",\"\" b\",,6\n");
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream{file};
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// What `--check` returns for a page whose program would make the numbers that are kept.
int checked(const std::filesystem::path& page) {
  std::string name = page.string();
  std::array<char*, 3> arguments{const_cast<char*>("program"), const_cast<char*>("--check"), name.data()};
  ::testing::internal::CaptureStdout();
  const int code = main_of_page(
      arguments, [](std::span<char* const>) { return 3; },
      [&](FixedPart& made) {
        const FixedPart kept = from_json(text_of(std::filesystem::path{page}.replace_extension(".check.json")));
        for (const auto& [number, value] : kept.numbers()) made.add(number, value);
      });
  const std::string printed = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(code == 1, printed.find("is not the text that the program wrote") != std::string::npos) << printed;
  return code;
}

/// Changes the last digit of a table's row that no column of times holds: the first body row of a page, the second line of a CSV file.
/// \return whether there is one.
bool change_a_digit(const std::filesystem::path& file) {
  std::istringstream lines{text_of(file)};
  const bool page = file.extension() == ".md";
  std::string text;
  std::string header;
  bool changed = false;
  for (std::string line; std::getline(lines, line); text += line + "\n") {
    if (page && !line.starts_with("|")) header.clear();
    const bool body = !header.empty() && !line.starts_with("|---");
    if (header.empty() && (!page || line.starts_with("|"))) header = line;
    if (changed || !body) continue;
    for (const char digit : {'1', '2', '3', '4', '5', '6', '7', '8', '9'}) {
      const auto at = line.find(digit);
      if (at == std::string::npos) continue;
      std::string other = line;
      other[at] = digit == '9' ? '1' : static_cast<char>(digit + 1);
      const char separator = page ? '|' : ',';
      if (without_times(header + "\n" + other, separator) == without_times(header + "\n" + line, separator)) continue;
      line = other;
      changed = true;
      break;
    }
  }
  std::ofstream{file} << text;
  return changed;
}

TEST(PageCheck, FindsADigitThatWasChangedInATableOfAnyPage) {
  const std::filesystem::path results = SURETY_RESULTS;
  std::size_t pages = 0;
  std::size_t tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator{results}) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".check.json")) continue;
    const std::string page = name.substr(0, name.find('.')) + ".md";
    const FixedPart kept = from_json(text_of(entry.path()));
    EXPECT_TRUE(kept.files().contains(page)) << page;
    const TemporaryFolder folder;
    for (const auto& [file, hash] : kept.files()) std::filesystem::copy(results / file, folder / file);
    std::filesystem::copy(entry.path(), folder / name);
    EXPECT_EQ(checked(folder / page), 0) << page;
    for (const auto& [file, hash] : kept.files()) {
      ASSERT_TRUE(change_a_digit(folder / file)) << file;
      EXPECT_EQ(checked(folder / page), 1) << file;
      std::filesystem::copy(results / file, folder / file, std::filesystem::copy_options::overwrite_existing);
      ++tables;
    }
    EXPECT_EQ(checked(folder / page), 0) << page;
    ++pages;
  }
  EXPECT_GE(pages, 18);
  EXPECT_GT(tables, pages);
}

}  // namespace
}  // namespace surety::experiments::page_check_test
