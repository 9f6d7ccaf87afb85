#include <surety/jobs/release/released_report.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/events/format.h>
#include <surety/base/numbers/rounded_text.h>
#include <surety/base/text/escaped_text.h>
#include <surety/base/text/report_lines.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/reading_fields.h>

namespace surety::jobs {
namespace {

using namespace statistics;

/// Text and CSV are the command's. In JSON, C and Python a field has its name alone.

std::string shown_value(const PartFacts& facts, double number) {
  if (!facts.has_values) return "";
  return facts.is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.10g}", number);
}

std::string shown_interval(const PartFacts& facts, const Estimate& estimate) {
  if (!facts.has_values) return "";
  if (facts.is_whole) return fmt::format("[{:.0f}, {:.0f}]", estimate.lower, estimate.upper);
  return fmt::format("[{}, {}]", rounded_down(estimate.lower), rounded_up(estimate.upper));
}

std::string shown_noise(const PartFacts& facts) {
  if (!facts.standard_deviation) return fmt::format("{} on {}", facts.noise, facts.noise_is_on);
  return fmt::format("{}, standard deviation {:.6g} on {}", facts.noise, *facts.standard_deviation, facts.noise_is_on);
}

/// "403 in [395, 411] of 2000".
std::string shown_used(const UsedRecords& records) {
  const auto& [value, lower, upper] = records.used;
  std::string text = fmt::format("{:.0f} in [{:.0f}, {:.0f}]", value, lower, upper);
  if (records.total) text += fmt::format(" of {:.0f}", records.total->value);
  return text;
}

/// Of a quantile.
std::string shown_rank_error(double records) {
  return std::isinf(records) ? "not bounded" : fmt::format("fewer than {} records", rounded_up(records));
}

/// The interval of a number, its rank error, or both.
std::string shown_bounds(const PartFacts& facts, const Answer& answer) {
  const auto rank_error = answer.rank_error ? "rank error: " + shown_rank_error(*answer.rank_error) : std::string{};
  if (!facts.has_interval) return rank_error;
  return shown_interval(facts, answer.estimate) + (rank_error.empty() ? "" : "; ") + rank_error;
}

/// One line for each column and what its cells are: "missing cells: left out; numbers are clamped to [0, 20]", with the column where there
/// are several.
std::string cell_rules(const ReleasedStatistics& released) {
  std::vector<std::pair<std::string, std::string>> rules;
  for (const auto& query : released.queries) {
    if (!query.facts.missing_cells) continue;
    std::pair rule{query.facts.column, fmt::format("missing cells: {}; {}", query.missing_cells, query.facts.other_cells)};
    if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(std::move(rule));
  }
  std::string lines;
  for (const auto& [column, rule] : rules) {
    lines += report_line("cells", (released.queries.size() > 1 ? column + ": " : std::string{}) + rule);
  }
  return lines;
}

/// One line for each column of dates: "d is in days since 1970-01-01".
std::string unit_lines(const ReleasedStatistics& released) {
  std::set<std::string> units;
  for (const auto& query : released.queries) {
    for (const auto& [column, unit] : query.facts.column_units) units.insert(fmt::format("{} is in {}", one_line(column), unit));
  }
  std::string lines;
  for (const auto& unit : units) lines += report_line("dates", unit);
  return lines;
}

bool is_one_number(const PartFacts& facts) { return !facts.has_groups && !facts.has_cells; }

/// A text in a column of a table, in which blanks at the end of one would not show.
std::string shown_cell(const std::string& text) {
  std::string shown = escaped(text);
  if (shown.ends_with(' ')) shown.replace(shown.size() - 1, 1, "\\x20");
  return shown;
}

/// The cells of one histogram.
std::string cell_lines(const ReleasedStatistics& released) {
  const auto& [facts, missing_cells, weight, event, answers] = released.queries.front();
  std::size_t width = 4;
  for (const auto& answer : answers) width = std::max(width, shown_cell(answer.cell).size());
  if (!facts.has_values) {
    std::string names = fmt::format("\n{}\n", facts.cell_heading);
    for (const auto& answer : answers) names += shown_cell(answer.cell) + "\n";
    return names;
  }
  std::string lines = safe_format("\n{:<{}} {:>12}   interval with confidence {} for each cell alone, over the noise\n", "cell", width,
                                  "count", released.confidence);
  for (const auto& answer : answers) {
    lines += safe_format("{:<{}} {:>12}   {}\n", shown_cell(answer.cell), width, shown_value(facts, answer.estimate.value),
                         shown_interval(facts, answer.estimate));
  }
  return lines;
}

/// All numbers of all queries.
std::string number_lines(const ReleasedStatistics& released) {
  const auto any = [&](bool PartFacts::*has) {
    return std::any_of(released.queries.begin(), released.queries.end(), [&](const ReleasedQuery& query) { return query.facts.*has; });
  };
  const bool has_groups = any(&PartFacts::has_groups);
  const bool has_cells = any(&PartFacts::has_cells);
  const bool is_single = released.queries.size() == 1;  // whose noise is said before
  const bool has_used = std::any_of(released.queries.begin(), released.queries.end(), [](const ReleasedQuery& query) {
    return std::any_of(query.answers.begin(), query.answers.end(), [](const Answer& answer) { return answer.used.has_value(); });
  });
  const auto row = [&](std::string query, const std::string& group, const std::string& cell, std::vector<std::string> rest) {
    std::vector<std::string> cells{std::move(query)};
    if (has_groups) cells.push_back(group);
    if (has_cells) cells.push_back(cell);
    for (auto& one : rest) cells.push_back(std::move(one));
    return cells;
  };
  ReportTable table{{.gap = 3, .numbers = "value"}};
  const auto rest = [&](std::string value, std::string interval, std::string used, std::string noise) {
    std::vector<std::string> cells{std::move(value), std::move(interval)};
    if (has_used) cells.push_back(std::move(used));
    cells.push_back(std::move(noise));
    return cells;
  };
  table.add(row("query", "group", "cell", rest("value", "interval", "used", is_single ? "" : "noise")));
  for (const auto& query : released.queries) {
    std::string noise = is_single ? "" : shown_noise(query.facts);
    for (const auto& answer : query.answers) {
      table.add(row(one_line(query.facts.query), shown_cell(answer.group), shown_cell(answer.cell),
                    rest(shown_value(query.facts, answer.estimate.value), shown_bounds(query.facts, answer),
                         answer.used ? shown_used(*answer.used) : "", std::exchange(noise, {}))));
    }
  }
  const bool has_values =
      std::any_of(released.queries.begin(), released.queries.end(), [](const auto& query) { return query.facts.has_values; });
  const auto title = fmt::format("\nIntervals have confidence {} for each number alone, over the noise.\n", released.confidence);
  return (has_values ? title : "\n") + table.text();
}

std::string csv_whole(double number) { return std::isfinite(number) ? fmt::format("{:.0f}", number) : fmt::format("{}", number); }

std::string csv_number(const PartFacts& facts, double number) {
  if (!facts.has_values) return "";
  return facts.is_whole && std::isfinite(number) ? fmt::format("{:.0f}", number) : fmt::format("{}", number);
}

}  // namespace

std::string warning_of(const ReleasedQuery& query, const Answer& answer, const PrintName& print_name) {
  if (!answer.used || !answer.used->are_few()) return {};
  return field_text("at most {:.0f} of {:.0f} records have a number in {}: check how its numbers are written ({}, {}, {})",
                    answer.used->used.upper, answer.used->total->value, data::in_quotes(query.facts.column), "decimal"_field,
                    "thousands"_field, "missing"_field)
      .printed(print_name);
}

std::string width_warning_of(const ReleasedQuery& query, const Answer& answer) {
  const auto& range = query.facts.range;
  if (!query.facts.has_values || !range || !(answer.estimate.upper - answer.estimate.lower >= range->upper - range->lower)) return {};
  return fmt::format(
      "the interval is as wide as [{}, {}], which holds every possible value: the noise hides the number (use more records, a larger epsilon or narrower bounds)",
      range->lower, range->upper);
}

std::string zero_warning_of(const ReleasedQuery& query) {
  const auto& facts = query.facts;
  // A count without noise is exact.
  if (!facts.has_values || !facts.is_whole || facts.has_rank_error || facts.standard_deviation.value_or(1) == 0 || query.answers.empty())
    return {};
  const bool may_be_none = std::all_of(query.answers.begin(), query.answers.end(), [](const Answer& answer) {
    return std::isfinite(answer.estimate.lower) && answer.estimate.lower <= 0 && answer.estimate.upper > answer.estimate.lower;
  });
  if (!may_be_none) return {};
  return fmt::format(
      "{} holds 0: either no record is counted, or the noise hides their number (check the condition and the listed texts, or use a larger epsilon)",
      query.answers.size() == 1 ? "the interval" : "every interval");
}

std::vector<std::string> interval_warnings_of(const ReleasedQuery& query) {
  std::vector<std::string> warnings;
  std::size_t count = 0;
  for (const auto& answer : query.answers) {
    auto warning = width_warning_of(query, answer);
    if (warning.empty() || count++ > 0) continue;
    warnings.push_back(query.facts.has_groups ? fmt::format("group {}: {}", one_line(answer.group), warning) : std::move(warning));
  }
  if (count > 1) warnings.back() += fmt::format("; likewise {} more", count - 1);
  if (auto warning = zero_warning_of(query); !warning.empty()) warnings.push_back(std::move(warning));
  return warnings;
}

std::vector<std::string> warnings_of(const ReleasedStatistics& released, const PrintName& print_name) {
  std::vector<std::string> warnings;
  for (const auto& query : released.queries) {
    std::string first;
    std::size_t count = 0;
    for (const auto& answer : query.answers) {
      auto warning = warning_of(query, answer, print_name);
      if (warning.empty()) continue;
      if (count == 0) first = query.facts.has_groups ? fmt::format("group {}: {}", one_line(answer.group), warning) : std::move(warning);
      ++count;
    }
    if (count > 1) first += fmt::format("; likewise {} more", count - 1);
    if (count > 0) warnings.push_back(std::move(first));
    for (const auto& warning : interval_warnings_of(query)) {
      warnings.push_back(released.queries.size() == 1 ? warning : fmt::format("{}: {}", one_line(query.facts.query), warning));
    }
  }
  return warnings;
}

std::string report_text(const ReleasedStatistics& released, std::string_view ledger, const PrintName& print_name) {
  const auto& promise = released.promise;
  const bool is_single = released.queries.size() == 1;
  const auto& first = released.queries.front();
  std::string lines;
  const auto add = [&](std::string_view field, std::string_view value) { lines += report_line(field, value); };
  if (is_single) {
    add("query", first.facts.query);
    if (is_one_number(first.facts)) {
      const auto& estimate = first.answers.front().estimate;
      add("value", shown_value(first.facts, estimate.value));
      if (const auto& rank_error = first.answers.front().rank_error) {
        add("rank error", fmt::format("{} with confidence {}, over the choice alone", shown_rank_error(*rank_error), released.confidence));
      }
      if (first.facts.has_interval) {
        add("interval",
            fmt::format("{} with confidence {}, over the noise alone", shown_interval(first.facts, estimate), released.confidence));
      }
      if (const auto& used = first.answers.front().used) add("used", shown_used(*used) + " records");
    }
  } else {
    add("queries", fmt::format("{}, each with its own noise, in one charge", released.queries.size()));
  }
  for (const auto& warning : warnings_of(released, print_name)) add("WARNING", warning);
  lines += cell_rules(released);
  lines += unit_lines(released);
  if (const auto missing = missing_text(released.missing); !missing.empty()) add("missing", missing);
  add("adjacency", name(promise.adjacency));
  add("unit", describe(released.unit));
  add("promise", fmt::format("epsilon = {} at delta = {}", promise.epsilon, promise.delta));
  add("released", describe(released.cost.event));
  add("epsilon", fmt::format("in {} at delta = {}", text(released.cost.epsilon), promise.delta));
  if (released.over_time) lines += report_lines(*released.over_time);
  if (is_single) add("noise", shown_noise(first.facts));
  add("ledger", ledger);
  if (released.not_private) add("NOT PRIVATE", "the noise was replayed from a known seed");
  if (is_single && first.facts.has_cells && !first.facts.has_groups && !first.facts.has_rank_error) {
    lines += cell_lines(released);
  } else if (!is_single || !is_one_number(first.facts)) {
    lines += number_lines(released);
  }
  return lines;
}

namespace {

/// All warnings about one number.
std::string all_warnings_of(const ReleasedQuery& query, const Answer& answer, const PrintName& print_name) {
  std::string all;
  for (const auto& one : {warning_of(query, answer, print_name), width_warning_of(query, answer), zero_warning_of(query)}) {
    if (!one.empty()) all += (all.empty() ? "" : "; ") + one;
  }
  return all;
}

}  // namespace

std::string csv(const ReleasedStatistics& released, const PrintName& print_name) {
  std::string lines =
      "query,group,cell,value,lower,upper,confidence,noise,noise_standard_deviation,not_private,missing_cells,used,used_lower,used_upper,total,warning,rank_error,rank_error_share\n";
  for (const auto& query : released.queries) {
    const auto& facts = query.facts;
    for (const auto& answer : query.answers) {
      const auto& estimate = answer.estimate;
      const auto used = [&](double Estimate::*end) { return answer.used ? csv_whole(answer.used->used.*end) : std::string{}; };
      lines +=
          safe_format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_text(facts.query), csv_text(answer.group),
                      csv_text(answer.cell), csv_number(facts, estimate.value), facts.has_interval ? csv_number(facts, estimate.lower) : "",
                      facts.has_interval ? csv_number(facts, estimate.upper) : "", released.confidence, facts.noise,
                      facts.standard_deviation ? fmt::format("{}", *facts.standard_deviation) : "", released.not_private,
                      csv_text(query.missing_cells), used(&Estimate::value), used(&Estimate::lower), used(&Estimate::upper),
                      answer.used && answer.used->total ? csv_whole(answer.used->total->value) : "",
                      csv_text(all_warnings_of(query, answer, print_name)), answer.rank_error ? fmt::format("{}", *answer.rank_error) : "",
                      answer.rank_error ? "0" : "");
    }
  }
  return lines;
}

BarPicture picture_of(const ReleasedStatistics& released) {
  const auto& promise = released.promise;
  BarPicture picture{
      .title = fmt::format("Released with epsilon = {} at delta = {} for {}, {}{}", promise.epsilon, promise.delta, describe(released.unit),
                           name(promise.adjacency), released.not_private ? "; NOT PRIVATE: the noise was replayed from a known seed" : ""),
      .panels = {},
      .note = fmt::format("Lines: intervals with confidence {}, each for itself, over the noise alone.", released.confidence)};
  for (const auto& query : released.queries) {
    if (!query.facts.has_values) continue;
    double rank_error = 0;
    for (const auto& answer : query.answers) rank_error = std::max(rank_error, answer.rank_error.value_or(0));
    BarPanel panel{
        .title = query.facts.query + (query.facts.has_rank_error ? ", rank error: " + shown_rank_error(rank_error) : std::string{}),
        .across = {query.facts.is_whole ? "records" : query.facts.query},
        .bars = {}};
    for (const auto& answer : query.answers) {
      const char* const between = answer.group.empty() || answer.cell.empty() ? "" : ", ";
      const std::string name = escaped(answer.group) + between + escaped(answer.cell);
      panel.bars.push_back({name, answer.estimate.value, answer.estimate.lower, answer.estimate.upper, query.facts.has_interval});
    }
    picture.panels.push_back(std::move(panel));
  }
  return picture;
}

}  // namespace surety::jobs
