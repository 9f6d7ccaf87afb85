// Texts that HTML, SVG or Markdown could take for markup, and the tags of a page.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <support/hostile_names.h>

namespace surety::reference {

/// So many different texts, the same on every machine: names that parsers confuse, and markup.
inline std::vector<std::string> markup_names(std::size_t count) {
  constexpr std::array<std::string_view, 48> markup{"<script>alert(1)</script>",
                                                    "</td><td>",
                                                    "</bdi><b>",
                                                    "</table>",
                                                    "</title><script>",
                                                    "</style><img src=x onerror=alert(1)>",
                                                    "</svg><script>alert(1)</script>",
                                                    "<svg onload=alert(1)>",
                                                    "<!-- a",
                                                    "-->",
                                                    "<![CDATA[a]]>",
                                                    "]]>",
                                                    "<?xml version='1.0'?>",
                                                    "<a href='https://evil.example'>a</a>",
                                                    "\"><img src=x>",
                                                    "' onmouseover='alert(1)",
                                                    "\" onmouseover=\"alert(1)",
                                                    "&lt;script&gt;",
                                                    "&#60;script&#62;",
                                                    "&amp",
                                                    "[a](https://evil.example)",
                                                    "![a](https://evil.example/a.png)",
                                                    "[a][b]",
                                                    "[b]: https://evil.example",
                                                    "<https://evil.example>",
                                                    "https://evil.example",
                                                    "www.evil.example",
                                                    "mailto:a@evil.example",
                                                    "a@evil.example",
                                                    "`",
                                                    "``",
                                                    "` [a](https://evil.example) `",
                                                    "```html",
                                                    "| a | b |",
                                                    "a|b",
                                                    "\\|",
                                                    "\\`",
                                                    "a\\",
                                                    "# a",
                                                    "* a",
                                                    "1. a",
                                                    "> a",
                                                    "---",
                                                    "**a**",
                                                    "__a__",
                                                    "~~a~~",
                                                    "$a$",
                                                    "@user"};
  std::vector<std::string> names{markup.begin(), markup.end()};
  for (auto& name : hostile_names(count)) {
    if (names.size() < count) names.push_back(std::move(name));
  }
  return names;
}

/// The tags, comments and declarations of a page in the order in which they stand, each with its attributes. Nothing closes one but >.
inline std::vector<std::string> tags_of(std::string_view page) {
  std::vector<std::string> tags;
  for (std::size_t at = 0; (at = page.find('<', at)) != std::string_view::npos;) {
    const auto end = page.find('>', at);
    tags.emplace_back(page.substr(at, end - at + 1));
    at = end == std::string_view::npos ? page.size() : end + 1;
  }
  return tags;
}

/// A Markdown page without its code spans, which begin and end with one backtick each. \pre no line has a lone one
inline std::string outside_code(std::string_view page) {
  std::string text;
  bool is_code = false;
  for (std::size_t k = 0; k < page.size(); ++k) {
    if (!is_code && page[k] == '\\' && k + 1 < page.size()) {
      text += page[k];
      text += page[++k];
    } else if (page[k] == '`') {
      is_code = !is_code;
      text += '`';
    } else if (!is_code || page[k] == '\n') {
      text += page[k];
    }
  }
  return text;
}

}  // namespace surety::reference
