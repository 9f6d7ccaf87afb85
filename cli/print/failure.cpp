#include <surety/cli/print/failure.h>

#include <fmt/format.h>

#include <new>
#include <string_view>
#include <system_error>

#include <surety/accounting/ledger/beyond_reservation.h>
#include <surety/cli/parser/options.h>
#include <surety/cli/print/output.h>
#include <surety/jobs/plans/plan_error.h>

namespace surety::cli {

namespace {

std::string message_of(const jobs::PlanRefusal& refusal) {
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
    return {exit_code_of(refusal.code()), message_of(refusal.refusal()), refusal.code()};
  } catch (const Error& refusal) {
    return {exit_code_of(refusal.code()), refusal.what(), refusal.code()};
  } catch (const std::bad_alloc&) {
    return {exit_code::environment, "memory is exhausted", ErrorCode::environment};
  } catch (const std::system_error& refusal) {
    // Of fmt, which writes to standard output alone.
    const std::string_view reason{refusal.what()};
    constexpr std::string_view of_printing = "cannot write to file: ";
    if (!reason.starts_with(of_printing)) return {exit_code::environment, refusal.what(), ErrorCode::environment};
    return {
        exit_code::environment,
        fmt::format("standard output could not be written ({}), must accept what the command prints", reason.substr(of_printing.size())),
        ErrorCode::environment};
  } catch (const std::exception& defect) {
    return {exit_code::internal, defect.what()};
  }
}

}  // namespace surety::cli
