#include "release_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>

#include "../output.h"
#include "../pictures.h"

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

bool is_one_number(const PartFacts& facts) { return !facts.has_groups && !facts.has_cells; }

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
      fmt::print("{}\n", line);
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

/// The cells of one histogram.
void print_cells(const ReleaseReport& report) {
  const auto& [facts, weight, event, answers] = report.queries.front();
  std::size_t width = 4;
  for (const auto& answer : answers) width = std::max(width, answer.cell.size());
  fmt::print("\n{:<{}} {:>12}   interval with confidence {} for each cell alone, over the noise\n", "cell", width, "count",
             report.confidence);
  for (const auto& answer : answers) {
    fmt::print("{:<{}} {:>12}   {}\n", one_line(answer.cell), width, shown_value(facts, answer.estimate.value),
               shown_interval(facts, answer.estimate));
  }
}

/// All numbers of all queries.
void print_numbers(const ReleaseReport& report) {
  const auto any = [&](bool PartFacts::*has) {
    return std::any_of(report.queries.begin(), report.queries.end(), [&](const ReleasedQuery& query) { return query.facts.*has; });
  };
  const bool has_groups = any(&PartFacts::has_groups);
  const bool has_cells = any(&PartFacts::has_cells);
  const auto row = [&](std::string query, const std::string& group, const std::string& cell, std::vector<std::string> rest) {
    std::vector<std::string> cells{std::move(query)};
    if (has_groups) cells.push_back(group);
    if (has_cells) cells.push_back(cell);
    for (auto& one : rest) cells.push_back(std::move(one));
    return cells;
  };
  fmt::print("\nIntervals have confidence {} for each number alone, over the noise.\n", report.confidence);
  TextTable table{row("query", "group", "cell", {"value", "interval", "noise"})};
  for (const auto& query : report.queries) {
    for (const auto& answer : query.answers) {
      table.add(row(one_line(query.facts.query), one_line(answer.group), one_line(answer.cell),
                    {shown_value(query.facts, answer.estimate.value),
                     query.facts.rank_error ? "rank error: " + shown_rank_error(*query.facts.rank_error)
                                            : shown_interval(query.facts, answer.estimate),
                     shown_noise(query.facts)}));
    }
  }
  table.print();
}

nlohmann::json json_of(const PartFacts& facts, double number) {
  if (std::isinf(number)) return accounting::json_number(number);
  if (facts.is_whole) return static_cast<std::int64_t>(number);
  return number;
}

nlohmann::json json_of(const PartFacts& facts, const Estimate& estimate) {
  if (facts.rank_error) return {{"value", json_of(facts, estimate.value)}, {"rank_error", accounting::json_number(*facts.rank_error)}};
  return {{"value", json_of(facts, estimate.value)}, {"interval", {json_of(facts, estimate.lower), json_of(facts, estimate.upper)}}};
}

/// "value" and "interval", or "cells", of answers that are one group's.
nlohmann::json json_of_group(const PartFacts& facts, const Answer* first, const Answer* last) {
  if (!facts.has_cells) return json_of(facts, first->estimate);
  auto cells = nlohmann::json::array();
  for (; first != last; ++first) {
    auto cell = json_of(facts, first->estimate);
    cell["cell"] = first->cell;
    cells.push_back(std::move(cell));
  }
  return {{"cells", std::move(cells)}};
}

nlohmann::json json_of_query(const ReleasedQuery& query) {
  const auto& facts = query.facts;
  nlohmann::json object{{"query", facts.query}, {"noise", facts.noise}, {"noise_is_on", facts.noise_is_on}};
  const auto set = [&](const char* name, const std::optional<double>& number) {
    if (number) object[name] = *number;
  };
  set("standard_deviation", facts.standard_deviation);
  set("l1_sensitivity", facts.l1_sensitivity);
  set("l2_sensitivity", facts.l2_sensitivity);
  set("grid_step", facts.grid_step);
  const Answer* answer = query.answers.data();
  const Answer* const end = answer + query.answers.size();
  if (!facts.has_groups) {
    object.update(json_of_group(facts, answer, end));
    return object;
  }
  object["groups"] = nlohmann::json::array();
  while (answer != end) {
    const Answer* const next = std::find_if(answer, end, [&](const Answer& other) { return other.group != answer->group; });
    auto group = json_of_group(facts, answer, next);
    group["group"] = answer->group;
    object["groups"].push_back(std::move(group));
    answer = next;
  }
  return object;
}

std::string csv_text(const std::string& text) {
  std::string safe = !text.empty() && std::string_view{"=+-@\t\r"}.find(text.front()) != std::string_view::npos ? "'" + text : text;
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_number(const PartFacts& facts, double number) {
  return facts.is_whole && std::isfinite(number) ? fmt::format("{:.0f}", number) : fmt::format("{}", number);
}

}  // namespace

void print_table(const ReleaseReport& report) {
  const auto line = [](std::string_view field, const std::string& value) { fmt::print("{:<12} {}\n", field, value); };
  const auto& options = report.options;
  const bool is_single = report.queries.size() == 1;
  const auto& first = report.queries.front();
  if (is_single) {
    line("query", first.facts.query);
    if (is_one_number(first.facts)) {
      const auto& estimate = first.answers.front().estimate;
      line("value", shown_value(first.facts, estimate.value));
      if (first.facts.rank_error) {
        line("rank error",
             fmt::format("{} with confidence {}, over the choice alone", shown_rank_error(*first.facts.rank_error), report.confidence));
      } else {
        line("interval",
             fmt::format("{} with confidence {}, over the noise alone", shown_interval(first.facts, estimate), report.confidence));
      }
    }
  } else {
    line("queries", fmt::format("{}, each with its own noise, in one charge", report.queries.size()));
  }
  if (const auto missing = report.reading.missing_text(); !missing.empty()) line("missing", missing);
  line("adjacency", options.adjacency);
  line("unit", describe(options.unit));
  line("promise", fmt::format("epsilon = {} at delta = {}", options.epsilon, options.delta));
  line("released", describe(report.cost.event));
  line("epsilon", fmt::format("in {} at delta = {}", text(report.cost.epsilon), options.delta));
  if (is_single) line("noise", shown_noise(first.facts));
  line("ledger", options.ledger_and(report.run));
  if (options.replay_seed) line("NOT PRIVATE", "the noise was replayed from a known seed");
  if (is_single && first.facts.has_cells && !first.facts.has_groups) {
    print_cells(report);
  } else if (!is_single || first.facts.has_groups) {
    print_numbers(report);
  }
}

void print_json(const ReleaseReport& report) {
  const auto& options = report.options;
  nlohmann::json object{{"adjacency", options.adjacency},
                        {"promise", {{"epsilon", options.epsilon}, {"delta", options.delta}}},
                        {"event", describe(report.cost.event)},
                        {"epsilon", json(report.cost.epsilon)},
                        {"delta", options.delta},
                        {"confidence", report.confidence},
                        {"not_private", options.replay_seed.has_value()}};
  object.update(options.charge_json(report.run));
  if (!report.reading.missing_text().empty()) object["missing"] = report.reading.missing_json();
  if (report.records) object["records"] = *report.records;
  if (report.queries.size() == 1) {
    object.update(json_of_query(report.queries.front()));
  } else {
    object["queries"] = nlohmann::json::array();
    for (const auto& query : report.queries) {
      auto one = json_of_query(query);
      one["weight"] = query.weight;
      one["event"] = describe(query.event);
      object["queries"].push_back(std::move(one));
    }
  }
  print(object);
}

void print_csv(const ReleaseReport& report) {
  fmt::print("query,group,cell,value,lower,upper,confidence,noise,noise_standard_deviation,not_private\n");
  for (const auto& query : report.queries) {
    const auto& facts = query.facts;
    for (const auto& answer : query.answers) {
      const auto& estimate = answer.estimate;
      fmt::print("{},{},{},{},{},{},{},{},{},{}\n", csv_text(facts.query), csv_text(answer.group), csv_text(answer.cell),
                 csv_number(facts, estimate.value), facts.rank_error ? "" : csv_number(facts, estimate.lower),
                 facts.rank_error ? "" : csv_number(facts, estimate.upper), report.confidence, facts.noise,
                 facts.standard_deviation ? fmt::format("{}", *facts.standard_deviation) : "", report.options.replay_seed.has_value());
    }
  }
}

std::string svg_of(const ReleaseReport& report) {
  const auto& options = report.options;
  BarPicture picture{
      .title = fmt::format("Released with epsilon = {} at delta = {} for {}, {}{}", options.epsilon, options.delta, describe(options.unit),
                           options.adjacency, options.replay_seed ? "; NOT PRIVATE: the noise was replayed from a known seed" : ""),
      .panels = {},
      .note = fmt::format("Lines: intervals with confidence {}, each for itself, over the noise alone.", report.confidence)};
  for (const auto& query : report.queries) {
    const auto& rank_error = query.facts.rank_error;
    BarPanel panel{.title = query.facts.query + (rank_error ? ", rank error: " + shown_rank_error(*rank_error) : std::string{}),
                   .across = {query.facts.is_whole ? "records" : query.facts.query},
                   .bars = {}};
    for (const auto& answer : query.answers) {
      const char* const between = answer.group.empty() || answer.cell.empty() ? "" : ", ";
      const std::string name = answer.group + between + answer.cell;
      panel.bars.push_back({name, answer.estimate.value, answer.estimate.lower, answer.estimate.upper, !rank_error.has_value()});
    }
    picture.panels.push_back(std::move(panel));
  }
  return svg(picture);
}

}  // namespace surety::cli
