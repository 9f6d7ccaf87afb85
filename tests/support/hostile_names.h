// Names of columns that a parser could take for something else: with commas, quotes, brackets, operators, blanks around, or as numbers and keywords.
#pragma once

#include <array>
#include <cstddef>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace surety::reference {

/// So many different names in UTF-8 without zero bytes, none of them empty, the same on every machine.
inline std::vector<std::string> hostile_names(std::size_t count) {
  constexpr std::array<std::string_view, 61> chosen{"pad",
                                                    " pad",
                                                    "pad ",
                                                    "\tpad",
                                                    " pad\t",
                                                    "age",
                                                    "age, 0.5",
                                                    "age,0.5",
                                                    "0.5",
                                                    "-1",
                                                    "1e5",
                                                    "inf",
                                                    "--x",
                                                    "--where",
                                                    "@bounds",
                                                    "@",
                                                    "a, b",
                                                    "\"",
                                                    "\"\"",
                                                    "\"a\"",
                                                    "a\"b",
                                                    "\"a\", \"b\"",
                                                    "'",
                                                    "'a'",
                                                    "a'b",
                                                    "a) where b",
                                                    "\"a) where b",
                                                    ") where ",
                                                    ")",
                                                    "(",
                                                    "()",
                                                    "(a)",
                                                    "a(b)",
                                                    "a)b(",
                                                    "mean(a)",
                                                    "count()",
                                                    "units",
                                                    "distinct a",
                                                    "distinct",
                                                    "discovered",
                                                    "row",
                                                    "column row",
                                                    "not",
                                                    "not a",
                                                    "missing(a)",
                                                    "present(a)",
                                                    "and",
                                                    "a or b",
                                                    "a=b",
                                                    "a==b",
                                                    "a>b",
                                                    "a<=1",
                                                    "!",
                                                    "a:b",
                                                    "a;b",
                                                    "{\"query\": \"count()\"}",
                                                    "[a]",
                                                    "\\",
                                                    "a\nb",
                                                    "straße 東京",
                                                    " "};
  constexpr std::array<std::string_view, 31> pieces{"a", "b",        " ",      ",",   "\"",        "'",  "(",   ")",     "=", "<", ">",
                                                    "!", ":",        ";",      "\\",  "\n",        "\t", "0.5", "-",     "@", "{", "}",
                                                    "[", ") where ", "where ", "and", "distinct ", "é",  "7",   ", 0.5", "\r"};
  std::set<std::string> seen;
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    if (names.size() < count && !name.empty() && seen.insert(name).second) names.push_back(std::move(name));
  };
  for (const auto name : chosen) add(std::string{name});
  std::mt19937_64 words{42};
  while (names.size() < count) {
    std::string name;
    for (std::size_t left = 1 + words() % 6; left > 0; --left) name += pieces.at(words() % pieces.size());
    add(std::move(name));
  }
  return names;
}

/// Those that a CSV header can hold: without blanks around them, which its reader leaves out, and without a carriage return.
inline std::vector<std::string> hostile_header_names(std::size_t count) {
  std::vector<std::string> names;
  for (auto& name : hostile_names(2 * count)) {
    const bool has_blanks = std::string_view{" \t"}.find(name.front()) != std::string_view::npos ||
                            std::string_view{" \t"}.find(name.back()) != std::string_view::npos;
    if (names.size() < count && !has_blanks && name.find('\r') == std::string::npos) names.push_back(std::move(name));
  }
  return names;
}

/// A cell of CSV with this text.
inline std::string quoted_cell(std::string_view text) {
  std::string cell = "\"";
  for (const char c : text) cell.append(c == '"' ? 2 : 1, c);
  return cell + '"';
}

}  // namespace surety::reference
