#include <surety/cli/process/exhaustion.h>

#include <cstdlib>
#include <exception>
#include <new>

#include <surety/base/system/memory_reserve.h>
#include <surety/cli/print/failure.h>
#include <surety/mechanisms/bits/openssl_memory.h>

namespace surety::cli {
namespace {

static_assert(exit_code::environment == exit_code_where_memory_is_exhausted);

std::terminate_handler otherwise = nullptr;  // NOLINT: set once, before there is a second thread

/// \pre an exception that nobody may catch is on its way.
[[noreturn]] void end_by_exception() noexcept {
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    end_where_memory_is_exhausted();
  } catch (...) {
  }
  otherwise();
  std::abort();
}

}  // namespace

void end_in_a_line_where_memory_runs_out() {
  // Of the reserve, which the command leaves empty.
  let_gmp_use_memory_reserve();
  // Where OpenSSL finds no memory as it starts, it goes on without.
  static_cast<void>(mechanisms::let_openssl_use_memory_reserve());
  otherwise = std::set_terminate(end_by_exception);
}

}  // namespace surety::cli
