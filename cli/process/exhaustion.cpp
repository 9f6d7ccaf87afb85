#include <surety/cli/process/exhaustion.h>

#include <gmp.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include <surety/base/system/new_file.h>
#include <surety/cli/print/failure.h>

namespace surety::cli {
namespace {

/// By system calls alone: there is no memory to do it with.
[[noreturn]] void end() noexcept {
  constexpr std::string_view line = "surety: error: memory is exhausted\n";
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  accounting::remove_new_files();
  ::_exit(exit_code::environment);
}

std::terminate_handler otherwise = nullptr;  // NOLINT: set once, before there is a second thread

/// \pre an exception that nobody may catch is on its way.
[[noreturn]] void end_by_exception() noexcept {
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    end();
  } catch (...) {
  }
  otherwise();
  std::abort();
}

extern "C" {

// None may return nothing, nor throw through what is written in C.
void* allocate(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) end();
  return memory;
}

void* reallocate(void* memory, std::size_t /*before*/, std::size_t size) {
  void* const larger = std::realloc(memory, size);
  if (larger == nullptr) end();
  return larger;
}

void give_back(void* memory, std::size_t /*size*/) { std::free(memory); }

void* allocate_for_openssl(std::size_t size, const char* /*file*/, int /*line*/) { return size == 0 ? nullptr : allocate(size); }

void* reallocate_for_openssl(void* memory, std::size_t size, const char* /*file*/, int /*line*/) {
  if (size > 0) return reallocate(memory, 0, size);
  std::free(memory);
  return nullptr;
}

void give_back_of_openssl(void* memory, const char* /*file*/, int /*line*/) { std::free(memory); }
}

}  // namespace

void end_in_a_line_where_memory_runs_out() {
  mp_set_memory_functions(allocate, reallocate, give_back);
  // Where OpenSSL finds no memory as it starts, it goes on without.
  CRYPTO_set_mem_functions(allocate_for_openssl, reallocate_for_openssl, give_back_of_openssl);
  otherwise = std::set_terminate(end_by_exception);
}

}  // namespace surety::cli
