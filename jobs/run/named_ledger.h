// The ledger that a run names by its path.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include <surety/accounting/ledger/ledger.h>

namespace surety::jobs {

/// Where nothing is at the path, a ledger is made when the run is charged and not before: what is refused leaves none behind.
class NamedLedger {
 public:
  /// \param must_exist whether none may be made, as a mistyped path would
  NamedLedger(std::filesystem::path path, bool must_exist) : path_{std::move(path)}, must_exist_{must_exist} {}

  /// What is there; nullptr where nothing is. Verifying a ledger takes time that grows with its runs, so what was opened is kept. \throws as `Ledger::open`
  [[nodiscard]] accounting::Ledger* existing();
  /// As `Ledger::check`, where there is one already or must be. Writes nothing.
  void check(const accounting::Plan& plan);
  /// As `Ledger::open_or_create` and `Ledger::reserve`.
  [[nodiscard]] accounting::Reservation reserve(const accounting::Plan& plan);
  /// As `Ledger::open_or_create` and `Ledger::reserve_once`.
  [[nodiscard]] accounting::Reservation reserve_once(const accounting::Plan& plan, std::string_view mark);
  /// The ledger that was charged. \pre `reserve` returned
  [[nodiscard]] const accounting::Ledger& charged() const { return opened_.value(); }

 private:
  [[nodiscard]] accounting::Ledger& made_for(const accounting::Plan& plan);

  std::filesystem::path path_;
  bool must_exist_;
  std::optional<accounting::Ledger> opened_;
};

}  // namespace surety::jobs
