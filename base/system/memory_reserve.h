// Memory that is kept for where the system has none left, and what becomes of the process when this memory is spent as well.
//
// GMP aborts the process where malloc fails, and nothing may be thrown through GMP and MPFR: MPFR does not return from its next call. So their
// allocation functions, as those of any library in C that cannot fail, take memory from a reserve instead. The caller then looks whether they did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace surety {

inline constexpr int exit_code_where_memory_is_exhausted = 5;

/// One line on standard error, and that exit code. Removes the new files of this process that have a name. Takes no memory, and runs no destructor.
[[noreturn]] void end_where_memory_is_exhausted() noexcept;

/// Takes the memory of the reserve, once for a process; later calls do nothing. Without this call, or where the system has no memory for a reserve, the
/// reserve is empty. \return the number of its bytes
std::size_t fill_memory_reserve() noexcept;

/// As malloc, realloc and free, for blocks of all three. Where malloc has no memory, the block is of the reserve; where the reserve has none either, the
/// process ends (`end_where_memory_is_exhausted`). Any number of threads may call them.
[[nodiscard]] void* allocate_or_reserve(std::size_t size) noexcept;
[[nodiscard]] void* reallocate_or_reserve(void* memory, std::size_t size) noexcept;
void free_or_give_back(void* memory) noexcept;

/// Makes GMP, and so MPFR, take its memory by these functions, in all of the process. \pre no other thread uses GMP or MPFR now
void let_gmp_use_memory_reserve() noexcept;

/// From now on std::bad_alloc that nobody can catch ends the process in that line, where it comes from within a call that a ReserveWatch of its thread looks
/// at, or where `or_where()`. The JSON library needs memory in its destructors. Elsewhere the handler of std::terminate does what it did.
void end_watched_calls_where_memory_is_exhausted(bool (*or_where)() noexcept = nullptr) noexcept;

/// Looks at a call: whether any thread used the reserve since this object was made. Its end frees what MPFR caches for the thread, so that the reserve is
/// whole again.
class ReserveWatch {
 public:
  ReserveWatch() noexcept;
  ~ReserveWatch();
  ReserveWatch(const ReserveWatch&) = delete;
  ReserveWatch& operator=(const ReserveWatch&) = delete;

  [[nodiscard]] bool saw_use() const noexcept;
  /// \throws std::bad_alloc where the reserve was used.
  void require_no_use() const {
    if (saw_use()) [[unlikely]]
      throw std::bad_alloc{};
  }

 private:
  std::uint64_t before_;
};

/// What `work` returns. Work that returns nothing has done something, and that stands however it got its memory.
/// \throws std::bad_alloc where the reserve was used for what is returned.
template <class Work>
auto without_memory_reserve(const Work& work) {
  const ReserveWatch watch;
  if constexpr (std::is_void_v<decltype(work())>) {
    work();
  } else {
    auto answer = work();
    watch.require_no_use();
    return answer;
  }
}

}  // namespace surety
