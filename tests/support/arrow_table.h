// A random table as a CSV file and as Arrow columns.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <support/arrow_batches.h>

#include <surety/data/reading/condition.h>

namespace surety::testing {

/// A table in both forms.
struct TableInBothForms {
  ArrowTestTable arrow{
      .columns = {
          {"who", "l", {}}, {"x", "g", {}}, {"n", "i", {}}, {"t", "u", {}}, {"day", "tdD", {}}, {"flag", "b", {}}, {"price", "d:9,2", {}}}};
  std::string csv = "who,x,n,t,day,flag,price\n";
};

/// \param most_rows of each owner
inline TableInBothForms random_table_in_both_forms(std::uint64_t seed, std::size_t rows, std::size_t most_rows) {
  std::mt19937_64 random{seed};
  TableInBothForms both;
  const auto add = [&](std::size_t column, std::string& record, const ArrowCell& cell, const std::string& text) {
    both.arrow.columns[column].cells.push_back(cell);
    record += (column > 0 ? "," : "") + text;
  };
  for (std::size_t row = 0; row < rows; ++row) {
    std::string record;
    const bool is_null = random() % 15 == 0;
    const bool is_blank = random() % 10 == 0;  // but for its owner
    both.arrow.null_rows.push_back(is_null);
    const auto maybe = [&](std::size_t column, const ArrowCell& cell, const std::string& text) {
      if (is_blank || random() % 6 == 0) return add(column, record, {}, "");
      add(column, record, cell, text);
    };
    const auto who = static_cast<std::int64_t>(row / most_rows);
    add(0, record, who, std::to_string(who));
    const auto eighths = static_cast<double>(random() % 200) / 8 - 5;
    const bool is_nan = random() % 12 == 0;
    maybe(1, is_nan ? std::nan("") : eighths, is_nan ? "" : fmt::format("{}", eighths));
    const auto whole = static_cast<std::int64_t>(random() % 7) - 2;
    maybe(2, whole, std::to_string(whole));
    const std::string text = std::vector<std::string>{"Rome", "Oslo", " ", "7", "a rather long name of a town"}[random() % 5];
    maybe(3, text, text);
    const data::Date day{17'310 + static_cast<std::int32_t>(random() % 20)};
    maybe(4, std::int64_t{day.days}, describe(day));
    const bool flag = random() % 2 == 0;
    maybe(5, std::int64_t{flag}, flag ? "true" : "false");
    const auto cents = static_cast<std::int64_t>(random() % 2000) - 300;
    maybe(6, cents, fmt::format("{}{}.{:02}", cents < 0 ? "-" : "", std::abs(cents) / 100, std::abs(cents) % 100));
    both.csv += (is_null ? "" : record) + "\n";
  }
  return both;
}

}  // namespace surety::testing
