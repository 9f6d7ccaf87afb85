#include <surety/base/text/report_lines.h>

#include <algorithm>
#include <utility>

#include <surety/base/text/safe_text.h>

namespace surety {

std::string detail::inserted(std::string_view text) { return one_line(text, std::string_view::npos); }

std::string report_line(std::string_view field, std::string_view value) { return safe_format("{:<12} {}\n", field, value); }

void ReportTable::add(std::vector<std::string> cells) {
  for (auto& cell : cells) cell = detail::inserted(cell);
  rows_.push_back(std::move(cells));
}

std::string ReportTable::text() const {
  const auto is_of_numbers = [&](std::size_t k) {
    const auto& heads = rows_.front();
    return !style_.numbers.empty() && k < heads.size() && heads[k] == style_.numbers;
  };
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (k + 1 < row.size() || is_of_numbers(k)) widths[k] = std::max(widths[k], row[k].size());
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (k > 0) line.append(style_.gap, ' ');
      if (is_of_numbers(k)) {
        line += fmt::format("{:>{}}", row[k], std::max(widths[k], style_.width_of_numbers));
      } else {
        line += k + 1 == row.size() ? row[k] : fmt::format("{:<{}}", row[k], widths[k]);
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace surety
