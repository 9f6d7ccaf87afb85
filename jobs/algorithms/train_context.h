// What a training may use of whoever runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <surety/accounting/events/event.h>
#include <surety/jobs/plans/field_names.h>
#include <surety/jobs/run/run_context.h>
#include <surety/jobs/run/team.h>

namespace surety::jobs {

/// Every function may be empty. None is told anything that is private.
struct TrainContext {
  Team& team;
  RunContext run = {};
  /// How names of fields are printed in results: "--steps" by the command.
  PrintName print_name = plain_name;
  /// Told the weights after so many records, where a plan asks for that: they are released.
  std::function<void(std::uint64_t step, std::span<const double> weights)> weights = {};

  /// Of a search: whether the ledger's budget, if it has one, can hold such an event; whether there is room for it is found out with any other.
  std::function<bool(const Event& event)> budget_knows = {};

  /// Told of each of so many steps; nothing where nobody is told and nobody stops them. \throws Error{stopped} by it, where the job is called off.
  [[nodiscard]] std::function<void(std::uint64_t)> progress_of(std::uint64_t steps) const;
};

}  // namespace surety::jobs
