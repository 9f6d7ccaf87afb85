// What a ledger proves, for people who have to assess it without the data: one JSON value, from which the other forms are made (report_document.h).
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <surety/accounting/answers/risk.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/base/system/place.h>

namespace surety::jobs {

/// A report as a file.
inline constexpr FileKind json_report_file{"a report of Surety in JSON",
                                           "{\n  \"about\": {\n    \"document\": \"report of a Surety ledger\""};

struct ReportQuestions {
  /// At which epsilon is reported; nothing: that of the budget, or the largest of the promises.
  std::optional<Delta> delta = std::nullopt;
  accounting::RiskQuestions risk = {};
  std::string checklist = {};  ///< a name of checklist.h; empty: none
};

/// Where a report comes from, for who wants to make it again.
struct ReportOrigin {
  std::string program;        ///< "surety 0.1.0"
  std::string command;        ///< without names of files, so that copies of a ledger have equal reports
  std::string ledger_sha256;  ///< of the ledger's file; empty where it is in no file
};

/// The fields are those of docs/reference/report.schema.json. Equal ledgers, questions and origins have equal values.
/// \pre nobody adds to the ledger meanwhile: it is read several times (`report_of_file` makes sure)
/// \throws Error{invalid_argument} where there is no delta; as `accounting::audit`, `accounting::risk` and `accounting::tabulated`.
/// \complexity an audit, some 500 evaluations of the curve of everything that is charged, and 24 epsilons
[[nodiscard]] nlohmann::json report_of(const accounting::Ledger& ledger, const ReportQuestions& questions, ReportOrigin origin);

/// The same of the ledger in a file, with its checksum. Nothing is charged and nothing is written.
/// \throws as above and as `Ledger::open`; Error{environment} where the file changes meanwhile.
[[nodiscard]] nlohmann::json report_of_file(const std::filesystem::path& path, const ReportQuestions& questions, ReportOrigin origin);

/// Whether everything that was recorded keeps what was promised: no promise and no budget is broken, and all noise was secret.
[[nodiscard]] bool is_kept(const nlohmann::json& report);

/// A report as the content of a file: indented, with a newline at the end, without what a terminal obeys.
[[nodiscard]] std::string json_text(const nlohmann::json& report);

}  // namespace surety::jobs
