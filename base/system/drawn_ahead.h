// When random bytes and noise that were drawn ahead of their use may no longer be used.
//
// A snapshot of a virtual machine or of a process (Firecracker, CRIU) holds what was drawn ahead, and two restored copies would use it twice. No
// process notices that it was restored. So what was drawn before a reservation is not used after it.
#pragma once

#include <atomic>
#include <cstdint>

namespace surety {

/// For an object that draws ahead. The counter belongs to the program or shared library that this code is part of.
class DrawnAhead {
 public:
  /// From now on no thread of this process uses what it has drawn ahead. \complexity one addition
  static void forget_all() noexcept { forgotten_.fetch_add(1, std::memory_order_relaxed); }

  /// True once after calls of `forget_all`, as the first call afterwards: what this object has drawn ahead must be erased. Not for use by two
  /// threads.
  [[nodiscard]] bool must_be_forgotten() noexcept {
    const auto now = forgotten_.load(std::memory_order_relaxed);
    if (now == seen_) [[likely]]
      return false;
    seen_ = now;
    return true;
  }

 private:
  inline static std::atomic<std::uint64_t> forgotten_{0};
  std::uint64_t seen_ = forgotten_.load(std::memory_order_relaxed);
};

}  // namespace surety
