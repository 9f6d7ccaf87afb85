// A source of bits without its type: what draws through a `BitsRef` is compiled once, and not once for every source.
//
// There is a reference only to what a mechanism may draw from (`ReleaseBits`), so it promises what the sources promise: a generator that
// nobody vouched for makes none, and with it no noise.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <surety/mechanisms/bits/random_bits.h>

namespace surety::mechanisms {

/// Refers to a source of bits, which must outlive it. Two words, passed by value; the source is called once per `fill`, so draw in blocks.
class BitsRef {
 public:
  /// Any source that mechanisms accept, as an argument of its own type. Not another reference: that is copied, or a reference to a
  /// parameter would outlive it.
  template <class Bits>
  requires(!std::same_as<Bits, BitsRef>) && ReleaseBits<Bits>
  BitsRef(Bits& bits) noexcept  // NOLINT(google-explicit-constructor): callers pass their source itself
      : bits_{std::addressof(bits)}, fill_{[](void* source, std::span<std::byte> bytes) { static_cast<Bits*>(source)->fill(bytes); }} {}

  /// The next bytes of the source. \throws what it throws.
  void fill(std::span<std::byte> bytes) const { fill_(bits_, bytes); }

 private:
  void* bits_;
  void (*fill_)(void* source, std::span<std::byte> bytes);
};

static_assert(ReleaseBits<BitsRef>);

/// The next 64 random bits.
using NextWord = std::function<std::uint64_t()>;

/// `draw_word` of `bits`.
[[nodiscard]] inline NextWord words_of(BitsRef bits) {
  return [bits] { return draw_word(bits); };
}

}  // namespace surety::mechanisms
