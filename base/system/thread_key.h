// A pointer of each thread, which is destroyed when the thread ends. As thread_local, but where there is no memory to note the destructor it says so: C++
// aborts the process then (__cxa_thread_atexit).
#pragma once

#include <pthread.h>

namespace surety {

/// For an object of static storage duration. The thread that ends the process destroys its own pointer there.
class ThreadKey {
 public:
  /// \param destroy called with a pointer that is not null
  explicit ThreadKey(void (*destroy)(void*)) noexcept : destroy_{destroy}, is_made_{::pthread_key_create(&key_, destroy) == 0} {}
  ~ThreadKey() {
    if (!is_made_) return;
    void* const own = get();
    ::pthread_key_delete(key_);
    if (own != nullptr) destroy_(own);
  }
  ThreadKey(const ThreadKey&) = delete;
  ThreadKey& operator=(const ThreadKey&) = delete;

  /// What this thread has set, or null.
  [[nodiscard]] void* get() const noexcept { return is_made_ ? ::pthread_getspecific(key_) : nullptr; }
  /// \return false where there is no memory to note it: then nothing has changed
  [[nodiscard]] bool set(void* pointer) noexcept { return is_made_ && ::pthread_setspecific(key_, pointer) == 0; }

 private:
  void (*destroy_)(void*);
  pthread_key_t key_{};
  bool is_made_;
};

}  // namespace surety
