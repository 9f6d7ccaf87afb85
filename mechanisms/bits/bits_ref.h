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

/// Refers to a source of bits, which must outlive it. Two words, passed by value; the source is called once for each `fill` and `word`, so
/// draw in blocks where that can be.
class BitsRef {
 public:
  /// Any source that mechanisms accept, as an argument of its own type. Not another reference: that is copied, or a reference to a
  /// parameter would outlive it.
  template <class Bits>
  requires(!std::same_as<Bits, BitsRef>) &&
      ReleaseBits<Bits> BitsRef(Bits& bits) noexcept  // NOLINT(google-explicit-constructor): callers pass their source itself
      : bits_{std::addressof(bits)},
  calls_{&calls_of<Bits>} {}

  /// The next bytes of the source. \throws what it throws.
  void fill(std::span<std::byte> bytes) const { calls_->fill(bits_, bytes); }
  /// `draw_word` of the source, compiled for it: eight bytes are no loop there.
  [[nodiscard]] std::uint64_t word() const { return calls_->word(bits_); }

 private:
  struct Calls {
    void (*fill)(void* source, std::span<std::byte> bytes);
    std::uint64_t (*word)(void* source);
  };
  template <class Bits>
  static constexpr Calls calls_of{.fill = [](void* source, std::span<std::byte> bytes) { static_cast<Bits*>(source)->fill(bytes); },
                                  .word = [](void* source) { return draw_word(*static_cast<Bits*>(source)); }};

  void* bits_;
  const Calls* calls_;
};

static_assert(ReleaseBits<BitsRef>);

/// The next 64 random bits.
using NextWord = std::function<std::uint64_t()>;

/// The next 64 bits of the source.
[[nodiscard]] inline std::uint64_t draw_word(BitsRef bits) { return bits.word(); }

/// `draw_word` of `bits`.
[[nodiscard]] inline NextWord words_of(BitsRef bits) {
  return [bits] { return draw_word(bits); };
}

}  // namespace surety::mechanisms
