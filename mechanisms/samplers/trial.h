// What the parts of isochronous samplers share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace surety::mechanisms {

__extension__ using UnsignedWide = unsigned __int128;

/// Trials that are made together.
inline constexpr std::size_t trial_block = 256;
/// The number of trials of a block is a multiple of this.
inline constexpr std::size_t trial_lanes = 8;

/// The instructions that the loop over trials is compiled to. All decide the same.
enum class TrialPath { baseline, avx2, avx512 };

/// An accepted sample, or none.
struct DecidedTrial {
  std::int64_t sample = 0;
  std::int64_t accepted = 0;  ///< a mask: 0 or -1
};

}  // namespace surety::mechanisms
