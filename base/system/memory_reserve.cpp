#include <surety/base/system/memory_reserve.h>

#include <gmp.h>
#include <malloc.h>
#include <mpfr.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <string_view>

#include <surety/base/system/new_file.h>

namespace surety {
namespace {

constexpr std::size_t reserve_bytes = std::size_t{16} << 20;
/// Of blocks, and of the size that stands before each.
constexpr std::size_t unit = alignof(std::max_align_t);

std::atomic<std::byte*> reserve{nullptr};

/// Blocks lie one behind the other from the beginning of the reserve. A freed block is used again once it is the last one, or none is left: calls that use the
/// reserve end soon, with an error. All of this state is one word, so that no thread waits for another, which a fork may have left behind.
struct alignas(std::uint64_t) Fill {
  std::uint32_t bytes;
  std::uint32_t blocks;
};
std::atomic<Fill> fill{Fill{0, 0}};
static_assert(std::atomic<Fill>::is_always_lock_free && reserve_bytes <= UINT32_MAX);
// For a type that is not aligned as its size, Clang calls functions of libatomic, which no target links.
static_assert(alignof(Fill) == sizeof(Fill));

std::atomic<std::uint64_t> taken{0};

std::size_t& size_before(std::byte* block) noexcept { return *reinterpret_cast<std::size_t*>(block - unit); }

void* take(std::size_t size) noexcept {
  std::byte* const begin = reserve.load(std::memory_order_acquire);
  if (begin == nullptr || size > reserve_bytes - 2 * unit) return nullptr;
  const auto whole = static_cast<std::uint32_t>(unit + (size + unit - 1) / unit * unit);
  Fill before = fill.load(std::memory_order_acquire);
  do {
    if (whole > reserve_bytes - before.bytes) return nullptr;
  } while (!fill.compare_exchange_weak(before, {before.bytes + whole, before.blocks + 1}, std::memory_order_acq_rel));
  taken.fetch_add(1, std::memory_order_relaxed);
  std::byte* const block = begin + before.bytes + unit;
  size_before(block) = whole;
  return block;
}

bool is_in_reserve(const void* memory) noexcept {
  const std::byte* const begin = reserve.load(std::memory_order_acquire);
  const auto* const byte = static_cast<const std::byte*>(memory);
  return begin != nullptr && !std::less<>{}(byte, begin) && std::less<>{}(byte, begin + reserve_bytes);
}

/// \pre a block of `take`
void give_back(std::byte* block) noexcept {
  const auto whole = static_cast<std::uint32_t>(size_before(block));
  const auto first = static_cast<std::uint32_t>(block - unit - reserve.load(std::memory_order_acquire));
  Fill before = fill.load(std::memory_order_acquire);
  Fill after{};
  do {
    after = {first + whole == before.bytes ? first : before.bytes, before.blocks - 1};
    if (after.blocks == 0) after.bytes = 0;
  } while (!fill.compare_exchange_weak(before, after, std::memory_order_acq_rel));
}

/// Calls of this thread that are looked at, one within the other.
constinit thread_local unsigned watches = 0;

std::atomic<bool> ends_watched_calls{false};
std::terminate_handler otherwise = nullptr;   // NOLINT: set once
bool (*ends_elsewhere)() noexcept = nullptr;  // NOLINT: set once

/// \pre an exception that nobody may catch is on its way.
[[noreturn]] void end_by_exception() noexcept {
  if (watches > 0 || (ends_elsewhere != nullptr && ends_elsewhere())) {
    try {
      if (const auto error = std::current_exception()) std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
      end_where_memory_is_exhausted();
    } catch (...) {
    }
  }
  if (otherwise != nullptr) otherwise();
  std::abort();
}

extern "C" {

void* allocate_for_gmp(std::size_t size) { return allocate_or_reserve(size); }
void* reallocate_for_gmp(void* memory, std::size_t /*before*/, std::size_t size) { return reallocate_or_reserve(memory, size); }
void free_for_gmp(void* memory, std::size_t /*size*/) { free_or_give_back(memory); }
}

}  // namespace

void end_where_memory_is_exhausted() noexcept {
  constexpr std::string_view line = "surety: error: memory is exhausted\n";
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  remove_new_files();
  ::_exit(exit_code_where_memory_is_exhausted);
}

std::size_t fill_memory_reserve() noexcept {
  if (reserve.load(std::memory_order_acquire) != nullptr) return reserve_bytes;
  // Populated now: pages that the system promises without having them would end the process when they are used.
  void* const memory = ::mmap(nullptr, reserve_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return 0;
  std::byte* none = nullptr;
  if (!reserve.compare_exchange_strong(none, static_cast<std::byte*>(memory), std::memory_order_acq_rel)) ::munmap(memory, reserve_bytes);
  return reserve_bytes;
}

void* allocate_or_reserve(std::size_t size) noexcept {
  if (void* const memory = std::malloc(std::max(size, std::size_t{1}))) [[likely]]
    return memory;
  if (void* const memory = take(size)) return memory;
  end_where_memory_is_exhausted();
}

void* reallocate_or_reserve(void* memory, std::size_t size) noexcept {
  const bool is_in = is_in_reserve(memory);
  if (!is_in) {
    if (void* const larger = std::realloc(memory, std::max(size, std::size_t{1}))) [[likely]]
      return larger;
  }
  void* const moved = allocate_or_reserve(size);
  const auto before = is_in ? size_before(static_cast<std::byte*>(memory)) - unit : ::malloc_usable_size(memory);
  if (memory != nullptr) std::memcpy(moved, memory, std::min(before, size));
  free_or_give_back(memory);
  return moved;
}

void free_or_give_back(void* memory) noexcept {
  if (is_in_reserve(memory)) return give_back(static_cast<std::byte*>(memory));
  std::free(memory);
}

void let_gmp_use_memory_reserve() noexcept { mp_set_memory_functions(allocate_for_gmp, reallocate_for_gmp, free_for_gmp); }

void end_watched_calls_where_memory_is_exhausted(bool (*or_where)() noexcept) noexcept {
  if (ends_watched_calls.exchange(true)) return;
  ends_elsewhere = or_where;
  otherwise = std::set_terminate(end_by_exception);
}

ReserveWatch::ReserveWatch() noexcept : before_{taken.load(std::memory_order_relaxed)} { ++watches; }

ReserveWatch::~ReserveWatch() {
  --watches;
  if (saw_use()) mpfr_free_cache();
}

bool ReserveWatch::saw_use() const noexcept { return taken.load(std::memory_order_relaxed) != before_; }

}  // namespace surety
