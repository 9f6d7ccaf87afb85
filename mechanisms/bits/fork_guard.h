// Notices that the running process is a copy of the one before: after fork() or a raw clone, a buffer of random bytes exists twice,
// and two processes would add the same noise to different data.
#pragma once

#include <surety/base/system/home_process.h>

namespace surety::mechanisms {

/// For what starts again in a new process; what must refuse there holds a HomeProcess itself.
class ForkGuard {
 public:
  using Method = HomeProcess::Method;

  /// `preferred`, or process_id where the kernel does not offer a wiped page.
  explicit ForkGuard(Method preferred = Method::wiped_page) : home_{preferred} {}

  [[nodiscard]] Method method() const noexcept { return home_.method(); }

  /// True exactly once in each process that inherited this object, false in the process that made it. Not for use by two threads.
  [[nodiscard]] bool entered_new_process() {
    if (home_.is_here()) [[likely]]
      return false;
    home_ = HomeProcess{home_.method()};
    return true;
  }

 private:
  HomeProcess home_;
};

}  // namespace surety::mechanisms
