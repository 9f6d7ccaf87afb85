#include <support/train_through_c.h>

#include <calls.h>
#include <surety.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <support/arrow_batches.h>

#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/ledger/memory_store.h>
#include <surety/jobs/train/written_plan.h>

namespace surety_test {
namespace {

using namespace surety;
using surety::testing::ArrowCell;
using surety::testing::ArrowTestTable;

ArrowCell cell_of(const std::string& text, const std::string& format) {
  if (text.empty()) return {};
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (format == "l") return *end == '\0' ? ArrowCell{static_cast<std::int64_t>(value)} : ArrowCell{};
  return *end == '\0' ? value : std::nan("");
}

/// A record that has not all its fields is a row of nulls, as it has no usable field in a file.
ArrowTestTable table_of(const TrainCommand::Records& records, bool has_units) {
  ArrowTestTable table;
  if (has_units) table.columns.push_back({.name = "owner", .format = "u", .cells = {}});
  for (const char* const name : {"x", "y"}) table.columns.push_back({.name = name, .format = "g", .cells = {}});
  table.columns.push_back({.name = "label", .format = "l", .cells = {}});  // which may be a class
  for (const auto& record : records) {
    std::vector<std::string> fields{""};
    for (const char c : record) {
      if (c == ',') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    const bool is_whole = fields.size() == table.columns.size();
    for (std::size_t k = 0; k < table.columns.size(); ++k) {
      auto& cells = table.columns[k].cells;
      if (!is_whole) {
        cells.emplace_back();
      } else if (has_units && k == 0) {
        cells.emplace_back(fields[k]);
      } else {
        cells.push_back(cell_of(fields[k], table.columns[k].format));
      }
    }
  }
  return table;
}

}  // namespace

TrainThroughC::TrainThroughC(const std::string& plan) {
  const auto read = jobs::read_train_plan(plan).plan;
  adjacency_ = read.target.adjacency;
  unit_ = read.unit;
  HeldFailure failure;
  if (surety_job_prepare(plan.data(), plan.size(), &job_, &failure) != SURETY_OK) throw std::logic_error{surety_failure_message(failure)};
}

TrainCommand::Seen TrainThroughC::run(const TrainCommand::Records& records) {
  surety_ledger ledger{accounting::Ledger::create(std::make_shared<accounting::MemoryStore>(), adjacency_, std::nullopt, unit_)};
  auto table = table_of(records, unit_ != UnitOfPrivacy{});
  const std::size_t rows_of_a_batch = 1 + 5 * runs_++ % 17;
  auto stream = surety::testing::arrow_stream(std::move(table), {.batches = surety::testing::batches_of(records.size(), rows_of_a_batch)});
  HeldResult result;
  HeldFailure failure;
  TrainCommand::Seen seen;
  seen.said.code = surety_job_run_arrow(job_, &stream, &ledger, nullptr, &result, &failure);
  if (seen.said.code != SURETY_OK) {
    seen.said.err = surety_failure_message(failure);
    return seen;
  }
  HeldModel model;
  char* report = nullptr;
  char* text = nullptr;
  if (surety_result_json(result, &report, nullptr, nullptr) != SURETY_OK || surety_result_model(result, &model, nullptr) != SURETY_OK ||
      surety_model_json(model, &text, nullptr, nullptr) != SURETY_OK) {
    throw std::logic_error{"a training without its report or its model"};
  }
  seen.said.out = taken(report);
  seen.report = without_what_is_not_private(nlohmann::json::parse(seen.said.out));
  seen.model = taken(text);
  return seen;
}

}  // namespace surety_test
