#include <surety/mechanisms/bits/vector_aes.h>

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define SURETY_INLINE [[gnu::always_inline]] inline
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("aes,avx512f,avx512bw,vaes"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("aes,avx512f,avx512bw,vaes")
#endif

namespace surety::mechanisms {
namespace {

constexpr std::size_t block_size = 16;
constexpr std::size_t rounds = 14;
constexpr std::size_t vectors = 8;
constexpr std::size_t part_size = vectors * sizeof(__m512i);

SURETY_INLINE void store_key(std::array<std::byte, block_size>& to, __m128i key) {
  _mm_store_si128(reinterpret_cast<__m128i*>(to.data()), key);
}

/// The words of the key and those before them, each added to all that follow.
SURETY_INLINE __m128i added_up(__m128i key) {
  key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
  return _mm_xor_si128(key, _mm_slli_si128(key, 8));
}

/// Round keys 2 i and 2 i + 1 from the two before them, with 2^(i - 1) as the constant. FIPS 197, section 5.2.
template <int constant>
SURETY_INLINE void expand(__m128i& even, __m128i& odd, std::array<std::byte, block_size>* to) {
  even = _mm_xor_si128(added_up(even), _mm_shuffle_epi32(_mm_aeskeygenassist_si128(odd, constant), 0xff));
  store_key(to[0], even);
  if constexpr (constant != 0x40) {
    odd = _mm_xor_si128(added_up(odd), _mm_shuffle_epi32(_mm_aeskeygenassist_si128(even, 0), 0xaa));
    store_key(to[1], odd);
  }
}

void expand_all(const std::byte* key, std::array<std::byte, block_size>* to) {
  __m128i even = _mm_loadu_si128(reinterpret_cast<const __m128i*>(key));
  __m128i odd = _mm_loadu_si128(reinterpret_cast<const __m128i*>(key + block_size));
  store_key(to[0], even);
  store_key(to[1], odd);
  expand<0x01>(even, odd, to + 2);
  expand<0x02>(even, odd, to + 4);
  expand<0x04>(even, odd, to + 6);
  expand<0x08>(even, odd, to + 8);
  expand<0x10>(even, odd, to + 10);
  expand<0x20>(even, odd, to + 12);
  expand<0x40>(even, odd, to + 14);
}

/// Blocks first, first + 1, ... of the stream, `parts` times part_size bytes.
void encrypt_counters(const std::array<std::byte, block_size>* round_keys, std::uint64_t first, std::size_t parts, std::byte* to) {
  // No std::array, which forgets the alignment of its type. Without loops all are registers, and nothing stays in memory.
  __m512i keys[rounds + 1];  // NOLINT(cppcoreguidelines-avoid-c-arrays)
#pragma GCC unroll 16
  for (std::size_t i = 0; i <= rounds; ++i) {
    keys[i] = _mm512_maskz_broadcast_i32x4(0xffff, _mm_load_si128(reinterpret_cast<const __m128i*>(round_keys[i].data())));
  }
  // A block is a number of 128 digits, the highest byte first. The highest 64 digits are 0.
  const __m512i big_endian = _mm512_set_epi64(0x08090a0b0c0d0e0f, 0x0001020304050607, 0x08090a0b0c0d0e0f, 0x0001020304050607,
                                              0x08090a0b0c0d0e0f, 0x0001020304050607, 0x08090a0b0c0d0e0f, 0x0001020304050607);
  const auto start = static_cast<long long>(first);
  __m512i counter = _mm512_add_epi64(_mm512_set_epi64(3, 0, 2, 0, 1, 0, 0, 0), _mm512_set_epi64(start, 0, start, 0, start, 0, start, 0));
  const __m512i four = _mm512_set_epi64(4, 0, 4, 0, 4, 0, 4, 0);
  for (std::size_t part = 0; part < parts; ++part) {
    __m512i states[vectors];  // NOLINT(cppcoreguidelines-avoid-c-arrays)
#pragma GCC unroll 8
    for (auto& state : states) {
      state = _mm512_xor_si512(_mm512_shuffle_epi8(counter, big_endian), keys[0]);
      counter = _mm512_add_epi64(counter, four);
    }
#pragma GCC unroll 16
    for (std::size_t i = 1; i < rounds; ++i) {
#pragma GCC unroll 8
      for (auto& state : states) state = _mm512_aesenc_epi128(state, keys[i]);
    }
#pragma GCC unroll 8
    for (auto& state : states) {
      _mm512_storeu_si512(to, _mm512_aesenclast_epi128(state, keys[rounds]));
      to += sizeof state;
    }
  }
}

}  // namespace
}  // namespace surety::mechanisms

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace surety::mechanisms {

bool VectorAes::is_available() {
  static const bool result = [] {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    const bool has_aes = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_AES) != 0;
    const bool has_vaes = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & 1U << 9) != 0;
    return has_aes && has_vaes && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
  }();
  return result;
}

void VectorAes::restart(std::span<const std::byte, 32> key) {
  expand_all(key.data(), round_keys_.data());
  position_ = 0;
}

void VectorAes::generate(std::span<std::byte> bytes) {
  const auto drawn_so_far = [&](std::size_t count) {
    bytes = bytes.subspan(count);
    position_ += count;
  };
  const auto through_a_copy = [&](std::size_t skipped) {
    alignas(64) std::array<std::byte, part_size> part;
    encrypt_counters(round_keys_.data(), position_ / block_size, 1, part.data());
    const std::size_t count = std::min(bytes.size(), part_size - skipped);
    std::memcpy(bytes.data(), part.data() + skipped, count);
    OPENSSL_cleanse(part.data(), part.size());
    drawn_so_far(count);
  };
  if (bytes.empty()) return;
  if (position_ % block_size != 0) through_a_copy(position_ % block_size);
  if (const std::size_t parts = bytes.size() / part_size; parts != 0) {
    encrypt_counters(round_keys_.data(), position_ / block_size, parts, bytes.data());
    drawn_so_far(parts * part_size);
  }
  if (!bytes.empty()) through_a_copy(0);
}

VectorAes::~VectorAes() { OPENSSL_cleanse(round_keys_.data(), sizeof round_keys_); }

}  // namespace surety::mechanisms

#else

namespace surety::mechanisms {

bool VectorAes::is_available() { return false; }
void VectorAes::restart(std::span<const std::byte, 32>) {}
void VectorAes::generate(std::span<std::byte>) {}
VectorAes::~VectorAes() = default;

}  // namespace surety::mechanisms

#endif
