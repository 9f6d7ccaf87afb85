// Decompression of a stream in bounded memory, whatever its bytes hold. For use inside Surety: TextReader is what others read with.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace surety::data {

/// One format. A file is one or more members (of gzip), frames (of zstd) or streams (of bzip2), one behind the other.
class Decompressor {
 public:
  struct Step {
    std::size_t taken = 0;   ///< bytes of the input
    std::size_t made = 0;    ///< bytes of the output
    std::string fault = {};  ///< what is wrong with the input; empty when nothing is
  };

  Decompressor() = default;
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  virtual ~Decompressor() = default;

  /// "gzip"
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Goes on as far as one of the two reaches. Neither takes nor makes anything where it needs more input.
  [[nodiscard]] virtual Step decompress(std::span<const unsigned char> input, std::span<char> output) = 0;
  /// The input may end here: a member has ended, and no other has begun.
  [[nodiscard]] bool is_between_members() const noexcept { return is_between_members_; }

 protected:
  bool is_between_members_ = false;
};

/// The one whose format a file has that starts with these bytes; nothing for other files. \throws Error{environment} without memory.
[[nodiscard]] std::unique_ptr<Decompressor> decompressor_of(std::span<const unsigned char> start);
/// Whether more bytes behind these could make a difference to `decompressor_of`. At most 10 do.
[[nodiscard]] bool may_become_compressed(std::span<const unsigned char> start);

}  // namespace surety::data
