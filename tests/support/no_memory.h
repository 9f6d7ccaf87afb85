// A process that the system gives no memory.
#pragma once

#include <sys/resource.h>

namespace surety_test {

/// While it lives, this process gets no further memory from the system: malloc fails for all that does not fit into what was freed before.
class NoMemory {
 public:
  NoMemory() {
    ::getrlimit(RLIMIT_AS, &before_);
    const rlimit none{.rlim_cur = 1, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &none);
  }
  ~NoMemory() { ::setrlimit(RLIMIT_AS, &before_); }
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;

 private:
  rlimit before_{};
};

}  // namespace surety_test
