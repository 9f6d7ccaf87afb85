// Knows the process that made an object. After fork() or a raw clone everything exists twice: a charge, a secret threshold, a buffer of
// random bytes. What may be used once, or must stay secret, holds a HomeProcess and refuses in the copy.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

namespace surety {

/// The process in which this object was made. Copies remember the same one. Any number of threads may ask.
class HomeProcess {
 public:
  enum class Method {
    wiped_page,  ///< a page that the kernel fills with zeros in every copy of this address space (Linux 4.14); costs one load
    process_id,  ///< compares getpid(), a system call; misses only a descendant that is given its ancestor's number again
  };

  /// `preferred`, or process_id where the kernel does not offer a wiped page.
  explicit HomeProcess(Method preferred = Method::wiped_page);

  [[nodiscard]] Method method() const noexcept { return page_ != nullptr ? Method::wiped_page : Method::process_id; }

  /// Whether the running process is the one that made this object.
  [[nodiscard]] bool is_here() const noexcept {
    if (page_ == nullptr) return has_same_process_id();
    return page_->load(std::memory_order_relaxed) == mark_;
  }

  /// \throws Error{invalid_argument} "<what> was made in another process, ..." unless it is.
  void require_here(std::string_view what) const {
    if (!is_here()) [[unlikely]]
      refuse(what);
  }

 private:
  [[nodiscard]] bool has_same_process_id() const noexcept;
  [[noreturn]] static void refuse(std::string_view what);

  const std::atomic<std::uint64_t>* page_ = nullptr;  ///< shared by all objects of a process, never unmapped
  std::uint64_t mark_ = 0;                            ///< what stands there in the home process, or its number
};

/// The one T of the running process. A copy of the process gets one of its own, T{the ancestor's}, which says nothing of what the other's
/// threads were doing with theirs; the first is T{nullptr}. Without a lock, which a thread that is not copied might hold.
template <class T>
[[nodiscard]] T& one_of_this_process() {
  struct Slot {
    explicit Slot(Slot* ancestor) : inherited{ancestor}, value{ancestor != nullptr ? &ancestor->value : nullptr} {}
    HomeProcess home;
    Slot* inherited;  ///< never freed, and found by a leak checker
    T value;
  };
  static std::atomic<Slot*> current{nullptr};
  Slot* found = current.load();
  if (found == nullptr || !found->home.is_here()) {
    auto made = std::make_unique<Slot>(found);
    // Otherwise another thread was quicker, and `found` is what it made.
    if (current.compare_exchange_strong(found, made.get())) found = made.release();
  }
  return found->value;
}

}  // namespace surety
