// A program of its own: OpenSSL keeps the functions that it is given.
#include <surety/mechanisms/bits/openssl_memory.h>

#include <gtest/gtest.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <surety/base/system/memory_reserve.h>

#include <support/no_memory.h>

namespace surety::openssl_memory_test {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

using surety_test::NoMemory;

/// In a process of its own, in which nothing was set. Tests of this name run first.
TEST(OpensslMemoryDeathTest, IsNotChangedOnceItIsTaken) {
  const auto set_too_late = [] {
    OPENSSL_free(OPENSSL_malloc(8));
    std::_Exit(mechanisms::let_openssl_use_memory_reserve() ? 1 : 0);
  };
  EXPECT_EXIT(set_too_late(), ::testing::ExitedWithCode(0), "");
}

class OpensslMemory : public ::testing::Test {
 protected:
  /// Before OpenSSL takes its first memory here, as programs do.
  static void SetUpTestSuite() { ASSERT_TRUE(mechanisms::let_openssl_use_memory_reserve()); }
};

TEST_F(OpensslMemory, IsOfTheReserveWhereTheSystemHasNone) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs address space";
#endif
  ASSERT_EQ(::mallopt(M_MMAP_THRESHOLD, mebi / 8), 1);
  ASSERT_EQ(::mallopt(M_TRIM_THRESHOLD, mebi / 8), 1);
  ASSERT_GT(fill_memory_reserve(), 2 * mebi);
  const ReserveWatch watch;
  void* usual = OPENSSL_malloc(mebi);
  ASSERT_NE(usual, nullptr);
  EXPECT_FALSE(watch.saw_use());
  OPENSSL_free(usual);
  void* block = nullptr;
  {
    const NoMemory none;
    block = OPENSSL_malloc(mebi / 2);
    if (block != nullptr) std::memset(block, 7, mebi / 2);
    block = OPENSSL_realloc(block, mebi);
  }
  EXPECT_TRUE(watch.saw_use());
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(static_cast<unsigned char*>(block)[mebi / 2 - 1], 7) << "a block that grew holds what it held";
  OPENSSL_free(block);
}

TEST_F(OpensslMemory, OfNothingIsNone) {
  EXPECT_EQ(OPENSSL_malloc(0), nullptr);
  void* const block = OPENSSL_malloc(8);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(OPENSSL_realloc(block, 0), nullptr);
}

}  // namespace
}  // namespace surety::openssl_memory_test
