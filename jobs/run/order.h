// The order in which every job runs: alone, for a command, on ranks, and in parts. The guarantee is this one page.
#pragma once

#include <surety/accounting/ledger/ledger.h>
#include <surety/base/text/error.h>

namespace surety::jobs {

/// What one kind of run does in each step. What fails in a step before `reserve` has cost nothing and released nothing; from then on all that was
/// planned stays charged but for what a settlement takes back.
class RunSteps {
 public:
  RunSteps() = default;
  RunSteps(const RunSteps&) = delete;
  RunSteps& operator=(const RunSteps&) = delete;
  virtual ~RunSteps() = default;

  /// The least noise that keeps the promise; refuses what public things show. \return what a ledger is asked for
  [[nodiscard]] virtual accounting::Plan calibrate() = 0;
  /// Refuses what the ledger would refuse.
  virtual void ask(const accounting::Plan& charge) = 0;
  /// The random bits, for who is not given them: a machine without entropy is refused here.
  virtual void seed() {}
  /// The records; of a stream, which is read while it is released, the header.
  virtual void read() = 0;
  /// Space for what will be written: a full disk is found out here. Its size may follow from what was read.
  virtual void take_place() {}
  /// Makes the charge durable.
  [[nodiscard]] virtual accounting::Reservation reserve(const accounting::Plan& charge) = 0;
  /// Spends, then draws.
  virtual void release(accounting::Reservation& reservation) = 0;
  virtual void write(const accounting::Reservation& /*reservation*/) {}
  /// Tells whoever asked. A report that fails keeps no run from its settlement.
  virtual void report(const accounting::Reservation& /*reservation*/) {}
  /// Where the settlement cannot be written, all that was planned stays charged. Throws the error, unless it is said otherwise.
  /// \param was_told whether the report was
  virtual void not_settled(const accounting::Reservation& reservation, const Error& error, bool was_told);
};

/// The order. \throws what the steps throw, what the report threw once the run is settled, and as `Reservation::settle`
void run_in_order(RunSteps& steps);

}  // namespace surety::jobs
