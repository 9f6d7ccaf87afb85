#include <surety/mechanisms/bits/bits_ref.h>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

#include <surety/base/text/error.h>

namespace surety::mechanisms::bits_ref_test {
namespace {

/// Bits that fail.
struct Failing {
  void fill(std::span<std::byte> /*bytes*/) { throw Error{ErrorCode::environment, "no bits"}; }
};

}  // namespace
}  // namespace surety::mechanisms::bits_ref_test

template <>
inline constexpr bool surety::is_cryptographic<surety::mechanisms::bits_ref_test::Failing> = true;  // for this test, which draws no noise

namespace surety::mechanisms::bits_ref_test {
namespace {

/// Bytes from a generator that nobody vouches for.
struct Unpromised {
  void fill(std::span<std::byte> bytes);
};
static_assert(BitSource<Unpromised> && !ReleaseBits<Unpromised>);

static_assert(std::is_constructible_v<BitsRef, SystemBits&> && std::is_constructible_v<BitsRef, ReplayBits&>);
static_assert(std::is_convertible_v<SystemBits&, BitsRef>);
static_assert(!std::is_constructible_v<BitsRef, Unpromised&> && !std::is_constructible_v<BitsRef, std::mt19937_64&>);
static_assert(!std::is_constructible_v<BitsRef, SystemBits> && !std::is_constructible_v<BitsRef, const SystemBits&>);
static_assert(std::is_trivially_copyable_v<BitsRef> && sizeof(BitsRef) == 2 * sizeof(void*));

TEST(BitsRef, GivesTheBytesOfItsSource) {
  ReplayBits source{5};
  ReplayBits same{5};
  const BitsRef bits{source};
  for (const std::size_t size : {1, 8, 100, 5000}) {
    std::vector<std::byte> drawn(size);
    std::vector<std::byte> expected(size);
    bits.fill(drawn);
    same.fill(expected);
    EXPECT_EQ(drawn, expected);
  }
  EXPECT_EQ(draw_word(bits), draw_word(same));
  std::array<std::uint64_t, 3> words;
  draw_words(bits, std::span{words});
  for (const auto word : words) EXPECT_EQ(word, draw_word(same));
  const NextWord next = words_of(bits);
  EXPECT_EQ(next(), draw_word(same));
  EXPECT_EQ(next(), draw_word(same));
}

/// A copy that outlives the reference that it was made from.
BitsRef copy_of(BitsRef bits) {
  BitsRef copy = bits;
  BitsRef another{copy};
  return another;
}

TEST(BitsRef, CopiesReferToTheSourceAndNotToEachOther) {
  ReplayBits source{6};
  ReplayBits same{6};
  const BitsRef bits = copy_of(source);
  const NextWord next = words_of(copy_of(bits));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(next(), draw_word(same));
}

TEST(BitsRef, ThrowsWhatItsSourceThrows) {
  Failing source;
  const BitsRef bits{source};
  std::array<std::byte, 8> bytes{};
  EXPECT_THROW(bits.fill(bytes), Error);
}

}  // namespace
}  // namespace surety::mechanisms::bits_ref_test
