// What the commands share that charge a ledger: their promise, where it is written, and their random bits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <surety/accounting/ledger/ledger.h>
#include <surety/cli/commands/plan.h>
#include <surety/cli/files/files.h>
#include <surety/cli/parser/options.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/plans/reading_fields.h>
#include <surety/jobs/plans/unit_fields.h>
#include <surety/jobs/run/named_ledger.h>
#include <surety/jobs/run/order.h>
#include <surety/jobs/run/run_bits.h>

namespace surety::cli {

/// The variable of the environment that names the ledger where no option and no plan does.
inline constexpr const char* ledger_variable = "SURETY_LEDGER";
/// The path of a ledger in a report, and where it came from.
[[nodiscard]] std::string shown_ledger(const std::string& path, bool is_of_variable);

/// The options by which a command promises and charges.
struct PrivateRunOptions : jobs::RunFields {
  double epsilon = 0;
  double delta = 0;
  std::string adjacency = "replace-one";
  jobs::UnitFields said_unit;
  UnitOfPrivacy unit = {};                   ///< what `take_unit` made of it
  std::optional<std::string> period = {};    ///< likewise
  bool has_unit_of_ledger = false;           ///< no option and no schema says one
  std::string plan_file;                     ///< whose options are among the words already
  std::optional<ExpectedRun> expected = {};  ///< by that plan
  bool print_plan = false;
  bool is_ledger_of_variable = false;  ///< whether SURETY_LEDGER names the ledger, and no option

  /// \param replacement of --epsilon; empty: there is none
  void add_promise_to(OptionTable& table, bool delta_is_required, const std::string& replacement = {});
  /// For commands that know units. Whoever runs them calls `take_unit` first.
  void add_unit_to(OptionTable& table);
  /// Where there is a ledger already, its adjacency and its unit hold where nothing else says them. Before `take_unit`, and once it is known that
  /// the ledger's file is none that the command reads or writes. \throws as `Ledger::open`.
  void take_ledger(const OptionTable& given);
  /// Makes `unit` of what was said of it: one row where nothing was.
  /// \throws as `jobs::unit_of_records`.
  void take_unit(const jobs::ReadingFields& reading);
  [[nodiscard]] bool has_unit() const noexcept { return !unit.is_row(); }
  /// "--unit", or "the unit of the ledger" where nothing else says it.
  [[nodiscard]] std::string_view unit_words() const noexcept { return has_unit_of_ledger ? "the unit of the ledger" : "--unit"; }
  void add_ledger_to(OptionTable& table);
  /// \pre it is given
  [[nodiscard]] const std::string& ledger_file() const { return ledger.value(); }
  void add_plan_to(OptionTable& table);
  [[nodiscard]] Target target() const;
  /// \param note what the run is, where the user does not say it.
  [[nodiscard]] accounting::Plan plan(const Event& event, const std::string& note) const;
  /// Holds a run to the plan that was read, if one was. Prints its plan where that is all that is asked for, and says so.
  /// \throws Error{invalid_argument} when the plan says what does not follow from it.
  [[nodiscard]] bool is_only_planned(const PlannedRun& plan) const;
  /// All that the command reads: these, the schema and the plan, if there are any.
  [[nodiscard]] std::vector<NamedFile> inputs(std::vector<NamedFile> others, const jobs::ReadingFields& reading) const;
  /// Refuses what the ledger would refuse at this moment, where there is one already. Writes nothing.
  void check(const accounting::Plan& plan) const;
  /// Makes the charge durable.
  [[nodiscard]] accounting::Reservation reserve(const accounting::Plan& plan) const;

  /// For people, after `reserve`: "run.db, run 2", "run.db (new), run 1".
  [[nodiscard]] std::string ledger_and(accounting::RunId run) const;
  /// The fields "ledger", "ledger_is_new", "run" and "unit" of a report, after `reserve`.
  [[nodiscard]] nlohmann::json charge_json(accounting::RunId run) const;

 private:
  [[nodiscard]] jobs::NamedLedger& named_ledger() const;
  /// Made when it is first asked for, when the path has been parsed. Copies share it.
  std::shared_ptr<std::optional<jobs::NamedLedger>> ledger_ = std::make_shared<std::optional<jobs::NamedLedger>>();
};

/// The steps of a command that charges a ledger: what it released is printed whatever becomes of the settlement.
class CommandSteps : public jobs::RunSteps {
 public:
  void ask(const accounting::Plan& charge) final { options_.check(charge); }
  void seed() override { bits_.emplace(options_.replay_seed); }
  [[nodiscard]] accounting::Reservation reserve(const accounting::Plan& charge) override { return options_.reserve(charge); }
  void report(const accounting::Reservation& reservation) final;
  void not_settled(const accounting::Reservation& reservation, const Error& error, bool was_told) final;
  /// All of them. \return the exit code: that of the failure, after a line on standard error, where the settlement could not be written and the full
  /// plan stays charged.
  [[nodiscard]] int run();

 protected:
  explicit CommandSteps(const PrivateRunOptions& options) : options_{options} {}
  [[nodiscard]] jobs::RunBits& bits() { return *bits_; }
  virtual void print(const accounting::Reservation& reservation) = 0;

 private:
  const PrivateRunOptions& options_;
  std::optional<jobs::RunBits> bits_;
  int code_ = 0;
};

}  // namespace surety::cli
