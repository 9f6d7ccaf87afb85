// Random bits, as an argument: nothing in Surety draws from a hidden generator.
//
//   SystemBits   cryptographic: AES-256-CTR keyed by the operating system. What a release uses.
//   ReplayBits   a fixed sequence from a seed, for tests and experiments only: noise from it is NOT private, since who knows the
//                seed subtracts it.
//
// A bit source of one's own needs `void fill(std::span<std::byte>)`, and before a mechanism accepts it also a promise in writing:
//   template <> inline constexpr bool surety::is_cryptographic<HostRandom> = true;
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include <surety/base/system/drawn_ahead.h>
#include <surety/mechanisms/bits/fork_guard.h>

struct evp_cipher_ctx_st;

namespace surety::mechanisms {
class VectorAes;
}  // namespace surety::mechanisms

namespace surety {

/// A promise that an adversary cannot tell the bytes of `Bits` from uniform ones, nor predict or reconstruct them, also across
/// processes and threads. The one who specialises it signs it: every privacy guarantee of noise drawn from `Bits` rests on it.
template <class Bits>
inline constexpr bool is_cryptographic = false;

namespace mechanisms {

/// Fills a span with bytes that are uniform and independent of all earlier ones.
template <class Bits>
concept BitSource = requires(Bits& bits, std::span<std::byte> bytes) {
  bits.fill(bytes);
};

template <class Bits>
concept CryptographicBits = BitSource<Bits> && is_cryptographic<Bits>;

class BitsRef;
class ReplayBits;

/// What a mechanism draws noise from: cryptographic bits, the one source that says by its name that it is not, or a reference to either
/// (bits_ref.h).
template <class Bits>
concept ReleaseBits = CryptographicBits<Bits> || std::same_as<Bits, ReplayBits> || std::same_as<Bits, BitsRef>;

/// Who computes AES: OpenSSL, or instructions for several blocks at once. Both give the same bytes.
enum class AesPath { openssl, vectors };
/// `vectors` where the processor has VAES and AVX-512, and gave the stream of OpenSSL for a key at the first call.
[[nodiscard]] AesPath fastest_aes();

/// The keystream of AES-256 in counter mode, from counter 0.
class AesStream {
 public:
  static constexpr std::size_t key_size = 32;
  using Key = std::array<std::byte, key_size>;

  /// \throws Error{environment} when OpenSSL offers no AES-256-CTR or memory is out.
  AesStream() : AesStream{fastest_aes()} {}
  /// \pre `path` is `openssl` or fastest_aes().
  explicit AesStream(AesPath path);
  AesStream(AesStream&&) noexcept;
  AesStream& operator=(AesStream&&) noexcept;
  ~AesStream();
  /// Starts the stream of `key`; what is left of an earlier key is overwritten. \throws Error{environment}.
  void restart(std::span<const std::byte, key_size> key);
  /// The next bytes of the stream. \throws Error{environment}.
  void generate(std::span<std::byte> bytes);

 private:
  struct Free {
    void operator()(evp_cipher_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_cipher_ctx_st, Free> context_;  ///< of `openssl`
  std::unique_ptr<VectorAes> vectors_;                ///< of `vectors`
};

/// Cryptographic random bytes, buffered.
///
/// Keyed by 256 bits of getrandom(2). Each refill of the buffer adds 256 fresh bits of getrandom(2) to the key (xor). It draws the next key from
/// the stream before anything else and forgets the old one, and each byte handed out is erased, so neither past refills nor past bytes can be
/// found in this object (Bernstein, "Fast-key-erasure random-number generators", 2017). In a process made by fork() or clone the key is new at once.
/// After a reservation of a ledger the buffer is erased and refilled.
///
/// A virtual machine that is restored twice from one snapshot hands out the rest of its buffer twice, unless it makes a reservation first. What comes
/// later differs if the kernel's entropy does: Linux reseeds after a restoration where the machine has a VMGENID device (Linux 5.18).
///
/// No lock: use one object per thread; separate objects are independent.
/// Bytes: uniform and independent up to the advantage of distinguishing AES-256 from a random permutation, plus at most 2^-109 per refill since a
/// keystream never repeats a block.
class SystemBits {
 public:
  static constexpr std::size_t buffer_size = 16384;

  /// \throws Error{environment} when the operating system gives no entropy: before any data is touched.
  SystemBits();
  /// \pre `path` is `openssl` or fastest_aes().
  explicit SystemBits(AesPath path);
  ~SystemBits();
  SystemBits(const SystemBits&) = delete;
  SystemBits& operator=(const SystemBits&) = delete;

  /// \throws Error{environment} when a refill is due and the operating system gives no entropy.
  void fill(std::span<std::byte> bytes) {
    if (guard_.entered_new_process()) [[unlikely]] {
      seed();
    }
    if (ahead_.must_be_forgotten()) [[unlikely]] {
      forget();
    }
    if (bytes.size() <= buffer_size && next_ <= buffer_size - bytes.size()) [[likely]] {
      take(bytes);
    } else {
      fill_across_refills(bytes);
    }
  }

 private:
  void take(std::span<std::byte> bytes) {
    if (bytes.empty()) return;
    std::memcpy(bytes.data(), buffer_.data() + next_, bytes.size());
    std::memset(buffer_.data() + next_, 0, bytes.size());
    next_ += bytes.size();
  }
  void fill_across_refills(std::span<std::byte> bytes);
  void seed();
  void forget();
  void refill();

  std::array<std::byte, buffer_size> buffer_{};
  std::size_t next_ = buffer_size;  ///< bytes before this one are used and erased
  AesStream stream_;
  ForkGuard guard_;
  DrawnAhead ahead_;
};

/// A deterministic sequence of bytes, for tests and experiments only: noise drawn from it is NOT private.
///
/// The AES-256-CTR keystream of key = SHA-256("surety replay bits 1" | seed as 8 little-endian bytes). Substreams are independent of
/// each other and of their parent, and do not depend on how much was drawn. The same on every machine; after fork() both processes
/// replay the same bytes.
class ReplayBits {
 public:
  /// \throws Error{environment} when OpenSSL lacks SHA-256 or AES-256-CTR.
  explicit ReplayBits(std::uint64_t seed);

  /// The stream of key = SHA-256("surety replay substream 1" | this stream's key | kind | name), where kind is one byte, 's' for a text
  /// and 'n' for a number, which is written as 8 little-endian bytes. \throws Error{environment}.
  [[nodiscard]] ReplayBits substream(std::string_view name) const;
  [[nodiscard]] ReplayBits substream(std::uint64_t name) const;

  /// \throws Error{environment} when OpenSSL fails.
  void fill(std::span<std::byte> bytes) {
    if (bytes.size() <= buffer_size && next_ <= buffer_size - bytes.size()) [[likely]] {
      take(bytes);
    } else {
      fill_across_refills(bytes);
    }
  }

 private:
  static constexpr std::size_t buffer_size = 4096;

  explicit ReplayBits(const AesStream::Key& key);
  void take(std::span<std::byte> bytes) {
    if (bytes.empty()) return;
    std::memcpy(bytes.data(), buffer_.data() + next_, bytes.size());
    next_ += bytes.size();
  }
  void fill_across_refills(std::span<std::byte> bytes);

  AesStream::Key key_;
  AesStream stream_;
  std::array<std::byte, buffer_size> buffer_{};
  std::size_t next_ = buffer_size;
};

/// The next 64 bits of `bits`, its first byte the least significant.
template <BitSource Bits>
[[nodiscard]] std::uint64_t draw_word(Bits& bits) {
  std::array<std::byte, 8> bytes;
  bits.fill(bytes);
  auto word = std::bit_cast<std::uint64_t>(bytes);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

/// As many words as `words` has, the same as from `draw_word` one after the other.
template <BitSource Bits>
void draw_words(Bits& bits, std::span<std::uint64_t> words) {
  bits.fill(std::as_writable_bytes(words));
  if constexpr (std::endian::native == std::endian::big) {
    for (auto& word : words) word = __builtin_bswap64(word);
  }
}

}  // namespace mechanisms

template <>
inline constexpr bool is_cryptographic<mechanisms::SystemBits> = true;

}  // namespace surety
