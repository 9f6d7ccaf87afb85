// Calls of the system that a signal does not end.
#pragma once

#include <cerrno>

namespace surety {

/// What `call` returns: a number that is at least 0, or -1 with errno, which is not EINTR then. Not for close(2), which closes also where a signal came.
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace surety
