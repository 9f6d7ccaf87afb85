// A program of its own: GMP keeps the functions that it is given.
#include <surety/base/system/memory_reserve.h>

#include <gmp.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <atomic>
#include <barrier>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <support/no_memory.h>

namespace surety::memory_reserve_test {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;
constexpr std::size_t whole = 16 * mebi;

using surety_test::NoMemory;

class MemoryReserve : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer needs address space";
#endif
    // What was freed goes back to the system, and no thread has an arena of its own, which has taken its address space before.
    ASSERT_EQ(::mallopt(M_MMAP_THRESHOLD, mebi / 8), 1);
    ASSERT_EQ(::mallopt(M_TRIM_THRESHOLD, mebi / 8), 1);
    ASSERT_EQ(::mallopt(M_ARENA_MAX, 1), 1);
    ASSERT_EQ(fill_memory_reserve(), whole);
    ASSERT_EQ(fill_memory_reserve(), whole);  // the same one
  }
};
using MemoryReserveDeathTest = MemoryReserve;

std::span<std::byte> bytes_of(void* memory, std::size_t size) { return {static_cast<std::byte*>(memory), size}; }

void write(void* memory, std::size_t size, unsigned seed) {
  for (std::size_t k = 0; k < size; k += 512) bytes_of(memory, size)[k] = static_cast<std::byte>(seed + k / 512);
}

/// Whether the first `size` bytes are what `write` wrote.
bool has(void* memory, std::size_t size, unsigned seed) {
  for (std::size_t k = 0; k < size; k += 512) {
    if (bytes_of(memory, size)[k] != static_cast<std::byte>(seed + k / 512)) return false;
  }
  return true;
}

/// A block of all but the sizes that stand before blocks: there is room for it where no other block is in the reserve.
void expect_reserve_is_whole() {
  const NoMemory none;
  const ReserveWatch watch;
  void* const all = allocate_or_reserve(whole - 64);
  EXPECT_TRUE(watch.saw_use());
  free_or_give_back(all);
}

TEST_F(MemoryReserve, IsNotUsedWhileTheSystemHasMemory) {
  const ReserveWatch watch;
  void* block = allocate_or_reserve(4 * mebi);
  block = reallocate_or_reserve(block, 8 * mebi);
  free_or_give_back(block);
  free_or_give_back(allocate_or_reserve(0));
  free_or_give_back(nullptr);
  EXPECT_FALSE(watch.saw_use());
  EXPECT_NO_THROW(watch.require_no_use());
}

TEST_F(MemoryReserve, HoldsBlocksThatMoveInAndOut) {
  void* outside = allocate_or_reserve(2 * mebi);
  write(outside, 2 * mebi, 1);
  void* inside = nullptr;
  {
    const NoMemory none;
    const ReserveWatch watch;
    inside = allocate_or_reserve(3 * mebi);
    write(inside, 3 * mebi, 2);
    EXPECT_THROW(watch.require_no_use(), std::bad_alloc);
    outside = reallocate_or_reserve(outside, 4 * mebi);  // comes in
    inside = reallocate_or_reserve(inside, 5 * mebi);    // moves within
    EXPECT_TRUE(has(outside, 2 * mebi, 1));
    EXPECT_TRUE(has(inside, 3 * mebi, 2));
  }
  const ReserveWatch watch;
  inside = reallocate_or_reserve(inside, mebi);  // goes out
  EXPECT_TRUE(has(inside, mebi, 2));
  EXPECT_TRUE(has(outside, 2 * mebi, 1));
  free_or_give_back(inside);
  free_or_give_back(outside);
  EXPECT_FALSE(watch.saw_use());
  expect_reserve_is_whole();
}

TEST_F(MemoryReserve, UsesTheLastBlockAgain) {
  const NoMemory none;
  void* const first = allocate_or_reserve(mebi);
  for (int k = 0; k < 100; ++k) free_or_give_back(allocate_or_reserve(10 * mebi));
  free_or_give_back(first);
}

TEST_F(MemoryReserve, HoldsBlocksOfThreads) {
  constexpr unsigned threads = 4;
  std::barrier ready{threads + 1};
  std::atomic<int> wrong{0};
  std::vector<std::jthread> running;
  const ReserveWatch watch;
  for (unsigned id = 0; id < threads; ++id) {
    running.emplace_back([&, id] {
      ready.arrive_and_wait();
      ready.arrive_and_wait();  // until there is no memory
      // All of it fits, also where no block is freed as the last one.
      for (unsigned k = 0; k < 8; ++k) {
        const std::size_t size = mebi / 8 + 1024 * ((k * 37 + id * 11) % 64);
        void* block = allocate_or_reserve(size);
        write(block, size, id + k);
        block = reallocate_or_reserve(block, size + mebi / 16);
        if (!has(block, size, id + k)) ++wrong;
        free_or_give_back(block);
      }
      ready.arrive_and_wait();
    });
  }
  ready.arrive_and_wait();
  {
    const NoMemory none;
    ready.arrive_and_wait();
    ready.arrive_and_wait();
  }
  running.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(watch.saw_use());
  expect_reserve_is_whole();
}

TEST_F(MemoryReserve, ServesGmp) {
  let_gmp_use_memory_reserve();
  constexpr mp_bitcnt_t bit = 8 * 3 * mebi;
  const auto number_of_bits = [] {
    mpz_t number;
    mpz_init_set_ui(number, 1);
    mpz_mul_2exp(number, number, bit);
    const auto found = mpz_scan1(number, 0);
    mpz_clear(number);
    return found;
  };
  EXPECT_EQ(without_memory_reserve(number_of_bits), bit);
  {
    const NoMemory none;
    const ReserveWatch watch;
    EXPECT_EQ(number_of_bits(), bit);
    EXPECT_TRUE(watch.saw_use());
    EXPECT_THROW(without_memory_reserve(number_of_bits), std::bad_alloc);
    // What was done is done.
    EXPECT_NO_THROW(without_memory_reserve([&] { static_cast<void>(number_of_bits()); }));
  }
  EXPECT_EQ(without_memory_reserve(number_of_bits), bit);
  expect_reserve_is_whole();
}

TEST_F(MemoryReserveDeathTest, EndsInALineWhenItIsSpent) {
  EXPECT_EXIT(
      {
        const NoMemory none;
        static_cast<void>(allocate_or_reserve(10 * mebi));
        static_cast<void>(allocate_or_reserve(10 * mebi));
      },
      ::testing::ExitedWithCode(exit_code_where_memory_is_exhausted), "^surety: error: memory is exhausted\n$");
}

void fail_where_nothing_can_be_thrown(const std::function<void()>& fail) noexcept { fail(); }

TEST_F(MemoryReserveDeathTest, EndsInALineWithinAWatchedCallAlone) {
  const auto lacks_memory = [] { throw std::bad_alloc{}; };
  const auto is_wrong = [] { throw std::logic_error{"a defect"}; };
  EXPECT_EXIT(
      {
        end_watched_calls_where_memory_is_exhausted();
        end_watched_calls_where_memory_is_exhausted();
        const ReserveWatch watch;
        fail_where_nothing_can_be_thrown(lacks_memory);
      },
      ::testing::ExitedWithCode(exit_code_where_memory_is_exhausted), "^surety: error: memory is exhausted\n$");
  EXPECT_EXIT(
      {
        end_watched_calls_where_memory_is_exhausted();
        { const ReserveWatch watch; }
        fail_where_nothing_can_be_thrown(lacks_memory);
      },
      ::testing::KilledBySignal(SIGABRT), "bad_alloc");
  EXPECT_EXIT(
      {
        end_watched_calls_where_memory_is_exhausted();
        const ReserveWatch watch;
        fail_where_nothing_can_be_thrown(is_wrong);
      },
      ::testing::KilledBySignal(SIGABRT), "a defect");
}

}  // namespace
}  // namespace surety::memory_reserve_test
