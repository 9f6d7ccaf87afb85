#include <surety/cli/print/failure.h>

#include <new>
#include <system_error>

#include <surety/accounting/ledger/beyond_reservation.h>
#include <surety/cli/parser/options.h>
#include <surety/cli/print/output.h>
#include <surety/jobs/plans/plan_error.h>

namespace surety::cli {

namespace {

std::string message_of(const jobs::Refusal& refusal) {
  return (refusal.is_of_plan_text ? "options: " : "") + refusal.text.printed(option_name);
}

}  // namespace

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::budget_exceeded: return exit_code::broken;
    case ErrorCode::invalid_argument:
    case ErrorCode::unsupported: return exit_code::usage;
    case ErrorCode::bad_data: return exit_code::bad_data;
    case ErrorCode::damaged_ledger: return exit_code::damaged_ledger;
    case ErrorCode::environment: return exit_code::environment;
    case ErrorCode::unreachable:
    case ErrorCode::memory:
    case ErrorCode::stopped: return exit_code::unreachable;
    case ErrorCode::internal: return exit_code::internal;
  }
  return exit_code::internal;
}

int fail(int code, const std::string& message) {
  say_error(message);
  return code;
}

Failure failure_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Failure& failure) {
    return failure;
  } catch (const accounting::BeyondReservation& defect) {  // of a plan that the command itself has made
    return {exit_code::internal, defect.what()};
  } catch (const jobs::PlanError& refusal) {
    return {exit_code_of(refusal.code()), message_of(refusal.refusal())};
  } catch (const Error& refusal) {
    return {exit_code_of(refusal.code()), refusal.what()};
  } catch (const std::bad_alloc&) {
    return {exit_code::environment, "memory is exhausted"};
  } catch (const std::system_error& refusal) {  // of printing to a full disk
    return {exit_code::environment, refusal.what()};
  } catch (const std::exception& defect) {
    return {exit_code::internal, defect.what()};
  }
}

}  // namespace surety::cli
