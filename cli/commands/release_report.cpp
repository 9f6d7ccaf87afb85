#include <surety/cli/commands/release_report.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/numbers/escaped_text.h>
#include <surety/cli/pictures/pictures.h>
#include <surety/cli/print/output.h>
#include <surety/jobs/release/released_json.h>

namespace surety::cli {
namespace {

using namespace statistics;

std::string shown_value(const PartFacts& facts, double number) {
  return facts.is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.10g}", number);
}

std::string shown_interval(const PartFacts& facts, const Estimate& estimate) {
  if (facts.is_whole) return fmt::format("[{:.0f}, {:.0f}]", estimate.lower, estimate.upper);
  return fmt::format("[{}, {}]", rounded_down(estimate.lower), rounded_up(estimate.upper));
}

std::string shown_noise(const PartFacts& facts) {
  if (!facts.standard_deviation) return fmt::format("{} on {}", facts.noise, facts.noise_is_on);
  return fmt::format("{}, standard deviation {:.6g} on {}", facts.noise, *facts.standard_deviation, facts.noise_is_on);
}

/// Of a quantile, in the place of an interval.
std::string shown_rank_error(double records) {
  return std::isinf(records) ? "not bounded" : fmt::format("fewer than {} records", rounded_up(records));
}

/// One line for each column and what its cells are: "missing cells: left out; numbers are clamped to [0, 20]", with the column where there
/// are several.
void print_cell_rules(const ReleaseReport& report) {
  std::vector<std::pair<std::string, std::string>> rules;
  for (const auto& query : report.released.queries) {
    if (!query.facts.missing_cells) continue;
    std::pair rule{query.facts.column, fmt::format("missing cells: {}; {}", query.missing_cells, query.facts.other_cells)};
    if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(std::move(rule));
  }
  for (const auto& [column, rule] : rules) {
    say("{:<12} {}{}\n", "cells", report.released.queries.size() > 1 ? column + ": " : std::string{}, rule);
  }
}

bool is_one_number(const PartFacts& facts) { return !facts.has_groups && !facts.has_cells; }

/// A text in a column of a table, in which blanks at the end of one would not show.
std::string shown_cell(const std::string& text) {
  std::string shown = escaped(text);
  if (shown.ends_with(' ')) shown.replace(shown.size() - 1, 1, "\\x20");
  return shown;
}

/// Texts in columns, of which the one named "value" stands at the right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heads) { add(std::move(heads)); }
  void add(std::vector<std::string> cells) {
    widths_.resize(cells.size());
    for (std::size_t k = 0; k < cells.size(); ++k) widths_[k] = std::max(widths_[k], cells[k].size());
    rows_.push_back(std::move(cells));
  }
  void print() const {
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t k = 0; k < row.size(); ++k) {
        const bool is_last = k + 1 == row.size();
        if (rows_.front()[k] == "value") {
          line += fmt::format("{:>{}}", row[k], std::max<std::size_t>(widths_[k], 12));
        } else {
          line += is_last ? row[k] : fmt::format("{:<{}}", row[k], widths_[k]);
        }
        if (!is_last) line += "   ";
      }
      line.erase(line.find_last_not_of(' ') + 1);
      say("{}\n", line);
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

/// The cells of one histogram.
void print_cells(const ReleaseReport& report) {
  const auto& [facts, missing_cells, weight, event, answers] = report.released.queries.front();
  std::size_t width = 4;
  for (const auto& answer : answers) width = std::max(width, shown_cell(answer.cell).size());
  say("\n{:<{}} {:>12}   interval with confidence {} for each cell alone, over the noise\n", "cell", width, "count",
      report.released.confidence);
  for (const auto& answer : answers) {
    say("{:<{}} {:>12}   {}\n", shown_cell(answer.cell), width, shown_value(facts, answer.estimate.value),
        shown_interval(facts, answer.estimate));
  }
}

/// All numbers of all queries.
void print_numbers(const ReleaseReport& report) {
  const auto any = [&](bool PartFacts::*has) {
    return std::any_of(report.released.queries.begin(), report.released.queries.end(),
                       [&](const jobs::ReleasedQuery& query) { return query.facts.*has; });
  };
  const bool has_groups = any(&PartFacts::has_groups);
  const bool has_cells = any(&PartFacts::has_cells);
  const bool is_single = report.released.queries.size() == 1;  // whose noise is said before
  const auto row = [&](std::string query, const std::string& group, const std::string& cell, std::vector<std::string> rest) {
    std::vector<std::string> cells{std::move(query)};
    if (has_groups) cells.push_back(group);
    if (has_cells) cells.push_back(cell);
    for (auto& one : rest) cells.push_back(std::move(one));
    return cells;
  };
  say("\nIntervals have confidence {} for each number alone, over the noise.\n", report.released.confidence);
  TextTable table{row("query", "group", "cell", {"value", "interval", is_single ? "" : "noise"})};
  for (const auto& query : report.released.queries) {
    std::string noise = is_single ? "" : shown_noise(query.facts);
    for (const auto& answer : query.answers) {
      table.add(row(one_line(query.facts.query), shown_cell(answer.group), shown_cell(answer.cell),
                    {shown_value(query.facts, answer.estimate.value),
                     query.facts.rank_error ? "rank error: " + shown_rank_error(*query.facts.rank_error)
                                            : shown_interval(query.facts, answer.estimate),
                     std::exchange(noise, {})}));
    }
  }
  table.print();
}

std::string csv_number(const PartFacts& facts, double number) {
  return facts.is_whole && std::isfinite(number) ? fmt::format("{:.0f}", number) : fmt::format("{}", number);
}

}  // namespace

void print_table(const ReleaseReport& report) {
  const auto& options = report.options;
  const bool is_single = report.released.queries.size() == 1;
  const auto& first = report.released.queries.front();
  if (is_single) {
    say_line("query", first.facts.query);
    if (is_one_number(first.facts)) {
      const auto& estimate = first.answers.front().estimate;
      say_line("value", shown_value(first.facts, estimate.value));
      if (first.facts.rank_error) {
        say_line("rank error", fmt::format("{} with confidence {}, over the choice alone", shown_rank_error(*first.facts.rank_error),
                                           report.released.confidence));
      } else {
        say_line("interval", fmt::format("{} with confidence {}, over the noise alone", shown_interval(first.facts, estimate),
                                         report.released.confidence));
      }
    }
  } else {
    say_line("queries", fmt::format("{}, each with its own noise, in one charge", report.released.queries.size()));
  }
  print_cell_rules(report);
  if (const auto missing = report.reading.missing_text(); !missing.empty()) say_line("missing", missing);
  say_line("adjacency", options.adjacency);
  say_line("unit", describe(options.unit));
  say_line("promise", fmt::format("epsilon = {} at delta = {}", options.epsilon, options.delta));
  say_line("released", describe(report.released.cost.event));
  say_line("epsilon", fmt::format("in {} at delta = {}", text(report.released.cost.epsilon), options.delta));
  if (is_single) say_line("noise", shown_noise(first.facts));
  say_line("ledger", options.ledger_and(report.released.run));
  if (options.replay_seed) say_line("NOT PRIVATE", "the noise was replayed from a known seed");
  if (is_single && first.facts.has_cells && !first.facts.has_groups) {
    print_cells(report);
  } else if (!is_single || first.facts.has_groups) {
    print_numbers(report);
  }
}

void print_json(const ReleaseReport& report) {
  auto object = jobs::to_json(report.released);
  object.update(report.options.charge_json(report.released.run));
  print(object);
}

void print_csv(const ReleaseReport& report) {
  say("query,group,cell,value,lower,upper,confidence,noise,noise_standard_deviation,not_private,missing_cells\n");
  for (const auto& query : report.released.queries) {
    const auto& facts = query.facts;
    for (const auto& answer : query.answers) {
      const auto& estimate = answer.estimate;
      say("{},{},{},{},{},{},{},{},{},{},{}\n", csv_text(facts.query), csv_text(answer.group), csv_text(answer.cell),
          csv_number(facts, estimate.value), facts.rank_error ? "" : csv_number(facts, estimate.lower),
          facts.rank_error ? "" : csv_number(facts, estimate.upper), report.released.confidence, facts.noise,
          facts.standard_deviation ? fmt::format("{}", *facts.standard_deviation) : "", report.options.replay_seed.has_value(),
          csv_text(query.missing_cells));
    }
  }
}

std::string svg_of(const ReleaseReport& report) {
  const auto& options = report.options;
  BarPicture picture{
      .title = fmt::format("Released with epsilon = {} at delta = {} for {}, {}{}", options.epsilon, options.delta, describe(options.unit),
                           options.adjacency, options.replay_seed ? "; NOT PRIVATE: the noise was replayed from a known seed" : ""),
      .panels = {},
      .note = fmt::format("Lines: intervals with confidence {}, each for itself, over the noise alone.", report.released.confidence)};
  for (const auto& query : report.released.queries) {
    const auto& rank_error = query.facts.rank_error;
    BarPanel panel{.title = query.facts.query + (rank_error ? ", rank error: " + shown_rank_error(*rank_error) : std::string{}),
                   .across = {query.facts.is_whole ? "records" : query.facts.query},
                   .bars = {}};
    for (const auto& answer : query.answers) {
      const char* const between = answer.group.empty() || answer.cell.empty() ? "" : ", ";
      const std::string name = escaped(answer.group) + between + escaped(answer.cell);
      panel.bars.push_back({name, answer.estimate.value, answer.estimate.lower, answer.estimate.upper, !rank_error.has_value()});
    }
    picture.panels.push_back(std::move(panel));
  }
  return svg(picture);
}

}  // namespace surety::cli
