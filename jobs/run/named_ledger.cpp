#include <surety/jobs/run/named_ledger.h>

#include <fmt/format.h>

#include <system_error>

#include <surety/base/text/error.h>

namespace surety::jobs {

using accounting::Ledger;

Ledger* NamedLedger::existing() {
  if (!opened_) {
    std::error_code error;
    const bool is_there = std::filesystem::exists(path_, error);
    if (error)
      throw Error{ErrorCode::environment, fmt::format("cannot look for the ledger '{}': {}", one_line(path_.string()), error.message())};
    if (is_there) opened_ = Ledger::open(path_);
  }
  return opened_ ? &*opened_ : nullptr;
}

void NamedLedger::check(const accounting::Plan& plan) {
  if (must_exist_ && !opened_) opened_ = Ledger::open(path_);
  if (const auto* const found = existing()) found->check(plan);
}

accounting::Reservation NamedLedger::reserve(const accounting::Plan& plan) { return made_for(plan).reserve(plan); }

accounting::Reservation NamedLedger::reserve_once(const accounting::Plan& plan, std::string_view mark) {
  return made_for(plan).reserve_once(plan, mark);
}

Ledger& NamedLedger::made_for(const accounting::Plan& plan) {
  if (!opened_) opened_ = must_exist_ ? Ledger::open(path_) : Ledger::open_or_create(path_, plan.event.adjacency(), plan.unit);
  return *opened_;
}

}  // namespace surety::jobs
