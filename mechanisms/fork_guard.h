// Notices that the running process is a copy of the one before: after fork() or a raw clone, a buffer of random bytes exists twice,
// and two processes would add the same noise to different data.
#pragma once

#include <sys/types.h>

namespace surety::mechanisms {

class ForkGuard {
 public:
  enum class Method {
    wiped_page,  ///< a page that the kernel fills with zeros in every copy of this address space (Linux 4.14); costs one load
    process_id,  ///< compares getpid(), a system call; misses only a descendant that is given its ancestor's number again
  };

  /// `preferred`, or process_id where the kernel does not offer a wiped page.
  explicit ForkGuard(Method preferred = Method::wiped_page);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  [[nodiscard]] Method method() const noexcept { return page_ != nullptr ? Method::wiped_page : Method::process_id; }

  /// True exactly once in each process that inherited this object, false in the process that made it. Not for use by two threads.
  [[nodiscard]] bool entered_new_process() noexcept {
    if (page_ == nullptr) return process_id_changed();
    if (*page_ != 0) [[likely]]
      return false;
    *page_ = 1;
    return true;
  }

 private:
  bool process_id_changed() noexcept;

  volatile unsigned char* page_ = nullptr;
  pid_t process_id_;
};

}  // namespace surety::mechanisms
