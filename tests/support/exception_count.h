// How many exceptions this program has thrown. To be included by one source of a program: it replaces the function that throws.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

namespace surety::exception_count {

inline std::atomic<long> thrown = 0;

}  // namespace surety::exception_count

/// Its type is that by which the compiler calls it.
extern "C" [[noreturn]] inline __attribute__((used)) void __cxa_throw(void* exception, void* type, void (*destroy)(void*)) {
  using Throw = void (*)(void*, void*, void (*)(void*));
  static const auto next = reinterpret_cast<Throw>(::dlsym(RTLD_NEXT, "__cxa_throw"));
  ++surety::exception_count::thrown;
  next(exception, type, destroy);
  std::abort();
}
