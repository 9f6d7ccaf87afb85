#include <surety/statistics/groups.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/base/text/quoted_text.h>
#include <surety/base/text/safe_text.h>

namespace surety::statistics {

void validate_columns(const std::vector<std::string>& columns) {
  if (columns.size() > most_group_columns) {
    invalid(fmt::format("groups are by {} columns, must be by at most {}", columns.size(), most_group_columns));
  }
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    if (columns.size() > 1 && column->empty()) invalid("a column of groups has no name, must have one");
    if (std::find(columns.begin(), column, *column) != column) {
      invalid(fmt::format("groups are by '{}' twice, must name each column once", one_line(*column)));
    }
  }
}

void validate(const Groups& groups) {
  validate_columns(columns_of(groups));
  validate(groups.keys);
  for (const auto& more : groups.beside) validate(more.keys);
}

std::vector<std::string> columns_of(const Groups& groups) {
  std::vector<std::string> columns{groups.column};
  for (const auto& more : groups.beside) columns.push_back(more.column);
  return columns;
}

std::size_t number_of(const Groups& groups) noexcept {
  std::size_t all = number_of(groups.keys);
  for (const auto& more : groups.beside) all *= number_of(more.keys);
  return all;
}

std::vector<GroupName> names_of(const Groups& groups) {
  std::vector<GroupName> result;
  if (groups.beside.empty()) {
    for (auto& name : names_of(groups.keys)) result.push_back({std::move(name)});
    return result;
  }
  std::vector<std::vector<std::string>> cells{names_of(groups.keys)};
  for (const auto& more : groups.beside) cells.push_back(names_of(more.keys));
  const std::size_t all = number_of(groups);
  result.reserve(all);
  for (std::size_t group = 0; group < all; ++group) {
    std::vector<std::string> texts(cells.size());
    std::size_t rest = group;
    for (std::size_t k = cells.size(); k-- > 0; rest /= cells[k].size()) texts[k] = cells[k][rest % cells[k].size()];
    auto text = tuple_text(texts);
    result.push_back({std::move(text), std::move(texts)});
  }
  return result;
}

std::string tuple_text(std::span<const std::string> texts) {
  if (texts.size() == 1) return texts.front();
  std::string all;
  for (const auto& text : texts) {
    const bool is_plain = !text.empty() && text.find_first_of(",\"") == std::string::npos && text.front() != ' ' && text.back() != ' ';
    all += (all.empty() ? "" : ", ") + (is_plain ? text : double_quoted(text));
  }
  return all;
}

namespace {

// What stands between two texts of a key, and what a zero byte inside one is: the former is less than either, and than any byte that is not zero.
constexpr char mark = '\0';
constexpr char of_end = '\1';
constexpr char of_zero = '\2';

}  // namespace

std::string tuple_key(std::span<const std::string> texts) {
  if (std::any_of(texts.begin(), texts.end(), [](const std::string& text) { return text.empty(); })) return {};
  if (texts.size() == 1) return texts.front();
  std::string key;
  for (const auto& text : texts) {
    if (!key.empty()) key.append({mark, of_end});
    for (const char c : text) {
      key += c;
      if (c == mark) key += of_zero;
    }
  }
  return key;
}

std::vector<std::string> texts_of_key(const std::string& key, std::size_t columns) {
  if (columns == 1) return {key};
  std::vector<std::string> texts(1);
  for (std::size_t k = 0; k < key.size(); ++k) {
    if (key[k] != mark) {
      texts.back() += key[k];
    } else if (++k < key.size() && key[k] == of_zero) {
      texts.back() += mark;
    } else {
      texts.emplace_back();
    }
  }
  texts.resize(columns);
  return texts;
}

}  // namespace surety::statistics
