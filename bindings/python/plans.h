// What plans of releases and of trainings have in common in Python: fields as keywords, refusals in their words, runs that signals call off, and where a
// run is charged.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/unit.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/written_plan.h>
#include <surety/jobs/run/named_ledger.h>
#include <surety/jobs/run/run_context.h>

#include "calls.h"
#include "ledgers.h"

namespace surety::python {

/// A field as Python is told of it: keyword, help, what holds where it is not said, and what a value is: "flag", "text", "number", "count" or "texts".
using FieldRow = std::tuple<std::string, std::string, std::optional<std::string>, std::string>;
[[nodiscard]] FieldRow row_of(const jobs::Field& field);
/// Of every field.
[[nodiscard]] std::vector<FieldRow> rows_of(const jobs::FieldTable& table);

/// A field as a keyword of Python: "empty_unit".
[[nodiscard]] std::string keyword(std::string field);
/// The keyword of Surety for a word of another tool, as "Surety calls it step_size"; empty where the word is no such word for one of the keywords.
[[nodiscard]] std::string meaning_of(const std::string& word, std::vector<std::string> keywords);
/// What is wrong with a plan, with its fields as keywords.
[[nodiscard]] Error in_keywords(const jobs::PlanRefusal& refusal);

/// `work` as the library does all of its work, with refusals in words of Python.
template <class Work>
auto in_order(const Work& work) {
  const StandardFloatingPoint environment;
  try {
    return work();
  } catch (const jobs::PlanError& error) {
    throw in_keywords(error.refusal());
  }
}

/// A schema may name a unit; who says none says that a row is one. \throws Error{invalid_argument}
void require_said_unit(const jobs::WrittenPlan& written, const UnitOfPrivacy& unit);
/// The text of a plan, with what follows from it.
[[nodiscard]] std::string text_with(const jobs::WrittenPlan& written, const UnitOfPrivacy& unit, const Event& event, double noise);

/// Where a run's charge goes: an open ledger, or a path, of which the file is made when it is charged.
using LedgerOfRun = std::variant<LedgerHandle, std::filesystem::path>;

/// The ledger of one run.
class ChargedLedger {
 public:
  /// \throws Error{invalid_argument} for one that is closed
  ChargedLedger(const LedgerOfRun& ledger, bool must_exist);

  /// Refuses what it would refuse. Writes nothing.
  void ask(const accounting::Plan& charge);
  [[nodiscard]] accounting::Reservation reserve(const accounting::Plan& charge);
  /// Unless a run has the mark already, as `Ledger::reserve_once`.
  [[nodiscard]] accounting::Reservation reserve_once(const accounting::Plan& charge, std::string_view mark);
  /// The run's number, once it is charged.
  [[nodiscard]] std::optional<std::uint64_t> charged() const noexcept { return charged_; }
  /// Its path, as it was said, and whether it was made now. \pre it was charged
  [[nodiscard]] std::string path() const { return path_.value_or(used().path().string()); }
  [[nodiscard]] bool is_new() const { return used().is_new(); }

 private:
  [[nodiscard]] const accounting::Ledger& used() const { return named_ ? named_->charged() : used_.value(); }

  std::optional<LedgerHandle> handle_;
  std::optional<jobs::NamedLedger> named_;
  std::optional<std::string> path_;
  std::optional<accounting::Ledger> used_;
  std::optional<std::uint64_t> charged_;
};

/// As the command prints it.
[[nodiscard]] std::string report_text(nlohmann::json report);

}  // namespace surety::python
