// What targets of compressible files leave out.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <surety/data/reading/decompressor.h>

namespace surety_fuzz {

/// Whether a compressed input has more than 2^18 bytes, four times the reader's buffer. A damaged bzip2 file of 50 bytes expands to 25 million, which takes
/// as long as thousands of other inputs.
inline bool expands_too_far(std::string_view input) {
  constexpr std::size_t most = std::size_t{1} << 18;
  std::span<const unsigned char> left{reinterpret_cast<const unsigned char*>(input.data()), input.size()};
  const auto decompressor = surety::data::decompressor_of(left);
  if (!decompressor) return false;
  std::vector<char> output(most / 4);
  for (std::size_t made = 0; made <= most;) {
    const auto step = decompressor->decompress(left, output);
    left = left.subspan(step.taken);
    made += step.made;
    if (!step.fault.empty() || (left.empty() && step.made < output.size())) return false;
  }
  return true;
}

}  // namespace surety_fuzz
