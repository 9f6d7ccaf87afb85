// A bit source that hands out prepared words, so that a test can place a sampler exactly where it wants it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>

namespace surety::testing {

class ScriptedBits {
 public:
  explicit ScriptedBits(std::vector<std::uint64_t> words) : words_{std::move(words)} {}

  void fill(std::span<std::byte> bytes) {
    if (bytes.size() % 8 != 0 || bytes.size() / 8 > words_.size() - used_) throw std::logic_error{"the script has no such word"};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(words_[used_ + i / 8] >> (8 * (i % 8)) & 0xff);
    used_ += bytes.size() / 8;
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t used_ = 0;
};

// Of an isochronous sampler of a scale below its narrow limit: a trial has one word, with 52 digits of T and in bit 0 the sign, and a further one.

/// One trial, whose T begins with these 63 digits.
inline std::vector<std::uint64_t> one_trial(std::uint64_t digits, bool is_negative = false) {
  return {digits >> 11 << 12 | (is_negative ? 1U : 0U), digits << 53};
}
/// A block of trials with these first words, filled with copies of the last one. Their further word is for the one in doubt.
inline std::vector<std::uint64_t> block_of_trials(std::vector<std::uint64_t> first, std::uint64_t further = 0) {
  first.resize((first.size() + 7) / 8 * 8, first.back());
  first.push_back(further);
  return first;
}

}  // namespace surety::testing

// A false promise, which only a test may make.
template <>
inline constexpr bool surety::is_cryptographic<surety::testing::ScriptedBits> = true;
