// What is private to the choice of rows (unit_selection.h, arrow_units.h): a hash by its key, and texts by the places where they stand.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <openssl/crypto.h>

namespace surety::data {

using Hash = std::array<std::uint64_t, 2>;

/// SipHash-2-4 of 128 bits [Aumasson, Bernstein 2012] of bytes that come piece by piece. That of OpenSSL takes half a microsecond, most of which is no hashing.
class HashedBytes {
 public:
  explicit HashedBytes(const Hash& key) noexcept
      : v_{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d ^ 0xee, key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573} {}

  void byte(unsigned char byte) noexcept { some(byte, 1); }
  /// Eight bytes, the least first.
  void word(std::uint64_t word) noexcept {
    absorb(pending_ | word << bits_);
    pending_ = word >> 1 >> (63 - bits_);
    size_ += sizeof(word);
  }
  void bytes(std::span<const unsigned char> bytes) noexcept {
    const std::size_t whole = bytes.size() / sizeof(std::uint64_t) * sizeof(std::uint64_t);
    for (std::size_t at = 0; at < whole; at += sizeof(std::uint64_t)) {
      std::uint64_t next = 0;
      std::memcpy(&next, bytes.data() + at, sizeof(next));
      word(little_endian(next));
    }
    std::uint64_t last = 0;
    if (bytes.size() > whole) std::memcpy(&last, bytes.data() + whole, bytes.size() - whole);
    some(little_endian(last), static_cast<unsigned>(bytes.size() - whole));
  }

  /// The first word of the hash, for half of the work. \pre called once, instead of `whole`
  [[nodiscard]] std::uint64_t first_word() noexcept {
    absorb(pending_ | size_ << 56);
    v_[2] ^= 0xee;
    return finished();
  }
  [[nodiscard]] Hash whole() noexcept {
    const std::uint64_t first = first_word();
    v_[1] ^= 0xdd;
    return {first, finished()};
  }

  static std::uint64_t little_endian(std::uint64_t word) noexcept {
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
  }

 private:
  /// The first `count` bytes of a word, fewer than eight, whose others are 0.
  void some(std::uint64_t word, unsigned count) noexcept {
    pending_ |= word << bits_;
    bits_ += 8 * count;
    size_ += count;
    if (bits_ < 64) return;
    absorb(pending_);
    bits_ -= 64;
    pending_ = word >> (8 * count - bits_);
  }
  void absorb(std::uint64_t word) noexcept {
    v_[3] ^= word;
    for (int k = 0; k < 2; ++k) round();
    v_[0] ^= word;
  }
  std::uint64_t finished() noexcept {
    for (int k = 0; k < 4; ++k) round();
    return little_endian(v_[0] ^ v_[1] ^ v_[2] ^ v_[3]);
  }
  void round() noexcept {
    v_[0] += v_[1];
    v_[1] = std::rotl(v_[1], 13) ^ v_[0];
    v_[0] = std::rotl(v_[0], 32);
    v_[2] += v_[3];
    v_[3] = std::rotl(v_[3], 16) ^ v_[2];
    v_[0] += v_[3];
    v_[3] = std::rotl(v_[3], 21) ^ v_[0];
    v_[2] += v_[1];
    v_[1] = std::rotl(v_[1], 17) ^ v_[2];
    v_[2] = std::rotl(v_[2], 32);
  }

  std::array<std::uint64_t, 4> v_;
  std::uint64_t pending_ = 0;  ///< fewer than eight bytes
  unsigned bits_ = 0;          ///< how many of it
  std::uint64_t size_ = 0;
};

class KeyedHash {
 public:
  /// \param key a `UnitKey` (unit_selection.h)
  explicit KeyedHash(const std::array<unsigned char, 16>& key) {
    std::memcpy(key_.data(), key.data(), key.size());
    for (auto& word : key_) word = HashedBytes::little_endian(word);
  }
  KeyedHash(const KeyedHash&) = delete;
  KeyedHash& operator=(const KeyedHash&) = delete;
  ~KeyedHash() { OPENSSL_cleanse(key_.data(), sizeof(key_)); }

  /// Of no byte yet.
  [[nodiscard]] HashedBytes start() const noexcept { return HashedBytes{key_}; }

  [[nodiscard]] Hash operator()(std::span<const unsigned char> bytes) const noexcept {
    auto hashed = start();
    hashed.bytes(bytes);
    return hashed.whole();
  }
  [[nodiscard]] Hash operator()(std::string_view text) const noexcept {
    return (*this)(std::span{reinterpret_cast<const unsigned char*>(text.data()), text.size()});
  }

 private:
  Hash key_{};
};

/// Texts, each once, by the place at which it stands: a number that is another for each.
class Texts {
 public:
  explicit Texts(const KeyedHash& hash) : hash_{hash} {}

  std::uint64_t place_of(std::string_view text) {
    if ((count_ + 1) * 4 > places_.size() * 3) grow();
    const std::size_t slot = slot_of(text);
    if (places_[slot] != nothing) return places_[slot];
    ++count_;
    return places_[slot] = append(text);
  }

  [[nodiscard]] std::string_view text(std::uint64_t place) const {
    const char* const at = blocks_[place / block_bytes].get() + place % block_bytes;
    std::uint64_t size = 0;
    std::memcpy(&size, at, sizeof(size));
    return {at + sizeof(size), static_cast<std::size_t>(size)};
  }

 private:
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;

  [[nodiscard]] std::size_t slot_of(std::string_view text) const {
    const std::size_t mask = places_.size() - 1;
    std::size_t slot = hash_(text)[0] & mask;
    while (places_[slot] != nothing && this->text(places_[slot]) != text) slot = (slot + 1) & mask;
    return slot;
  }
  /// A text stands in one block, which is as long as it needs to be; its place is counted in blocks of the usual size.
  std::uint64_t append(std::string_view text) {
    const std::uint64_t size = text.size();
    const std::size_t needed = sizeof(size) + text.size();
    if (blocks_.empty() || used_ + needed > block_bytes) {
      blocks_.push_back(std::make_unique<char[]>(std::max(block_bytes, needed)));
      used_ = 0;
    }
    char* const at = blocks_.back().get() + used_;
    std::memcpy(at, &size, sizeof(size));
    std::memcpy(at + sizeof(size), text.data(), text.size());
    const std::uint64_t place = (blocks_.size() - 1) * block_bytes + used_;
    used_ = std::min(block_bytes, used_ + needed);
    return place;
  }
  void grow() {
    const auto old = std::exchange(places_, std::vector<std::uint64_t>(std::max<std::size_t>(1024, places_.size() * 2), nothing));
    for (const auto place : old) {
      if (place != nothing) places_[slot_of(text(place))] = place;
    }
  }

  const KeyedHash& hash_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t used_ = 0;
  std::vector<std::uint64_t> places_;  ///< open addressing; a power of 2
  std::size_t count_ = 0;
};

}  // namespace surety::data
