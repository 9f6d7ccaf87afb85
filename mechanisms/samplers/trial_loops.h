// The trials of isochronous_sampler.h in doubles, eight at a time, by vector instructions. No branch, address or instruction of variable
// duration depends on what a trial holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <surety/mechanisms/samplers/trial.h>

namespace surety::mechanisms {

/// The paths that this processor has, the slowest first.
[[nodiscard]] std::span<const TrialPath> available_paths();
[[nodiscard]] TrialPath fastest_path();
[[nodiscard]] std::string_view name_of(TrialPath path);

/// What the weights of a distribution are computed from. A narrow distribution of `cosines` has its weights in its thresholds.
enum class TrialWeights { gaussian, exponential, cosines };

/// A distribution, as the trials need it. Doubles are the nearest ones, except for thresholds and heights.
struct TrialConstants {
  TrialWeights weights = TrialWeights::gaussian;
  bool is_wide = false;
  bool is_rounded = false;
  bool is_two_sided = true;
  int log2_width = 0;
  /// Digits of T, from the highest of the first word on: 52, or of trials of two words 44 (Gaussian) or 48 (cosines). Below them is V as far as the first word has it,
  /// and in bit 0 the sign.
  int index_digits = 52;
  /// The second word is V and the third begins with U. Else the second one begins with further digits of V and ends with U.
  bool has_third_word = false;
  int acceptance_digits = 0;  ///< of U
  double acceptance_unit = 1;
  /// Gaussian, cosines: 1 + floor(2^d S(j)) 2^-d for d index_digits and j = 1, 2, ..., until S(j) < 2^-d.
  std::vector<double> thresholds = {};
  /// The same floor(2^d S(j)) 2^(63 - d) + j - 1, and at the end how many they are.
  std::vector<std::uint64_t> numbered_thresholds = {};
  /// Exponential: S(j) = exp(log_factor - j index_rate), and 1 / index_rate.
  double index_rate = 1;
  double log_factor = 0;
  double indices_per_log = 1;
  /// Wide: what the exponent loses at the place y of a block: (2 i + y) y rate (Gaussian) or y rate (exponential).
  double rate = 0;
  /// Of a place y in a block these digits are used, and its unit is 2^-place_digits.
  int place_digits = 0;
  double place_unit = 1;
  /// A difference of U and what is accepted that leaves a trial in doubt, and what is added to it for the block i, i + 1 times.
  double acceptance_margin = 0;
  double margin_per_index = 0;
  /// Wide, of cosines: block i has the envelope heights[i], exactly, and the weight of k is the sum of coefficients[j] cos(2 pi j k / N).
  /// The margin is then one of U heights[i] and that weight.
  std::vector<double> heights = {};
  std::vector<double> coefficients = {};
  double quarter = 1;  ///< N / 4
  double inverse_quarter = 1;
};

/// What the loops make of a block. Masks are 0 or -1.
struct DecidedTrials {
  alignas(64) std::array<std::int64_t, trial_block> samples;
  alignas(64) std::array<std::int64_t, trial_block> accepted;
  alignas(64) std::array<std::int64_t, trial_block> in_doubt;
  std::uint64_t doubts;                ///< how many are in doubt
  std::array<std::uint64_t, 3> words;  ///< of the one in doubt, where there is one
};

// A trial is in doubt where T is within this of an exponential S(j), relative and absolute, or has the digits of a Gaussian one, and where U is within
// acceptance_margin of what is accepted. docs/proofs/samplers.md#doubles bounds the errors.
inline constexpr double index_margin = 0x1p-45;
inline constexpr double index_digits_margin = 0x1p-51;
/// Below, T has few digits that are not 0, and its logarithm is not known well enough.
inline constexpr double smallest_index_real = 0x1p-44;

/// Decides `count` trials. Word w of trial k is words[w count + k]. \pre count is a multiple of trial_lanes, at most trial_block; the processor
/// has the path; doubles are rounded to nearest.
void decide_trials(TrialPath path, const TrialConstants& constants, std::size_t count, const std::uint64_t* words, DecidedTrials& trials);
/// Moves the accepted samples to `samples`, where those in doubt are `doubtful`, and returns how many they are. Writes at most trial_lanes more.
[[nodiscard]] std::size_t gather_accepted(TrialPath path, const DecidedTrials& trials, std::size_t count, const DecidedTrial& doubtful,
                                          std::int64_t* samples);

}  // namespace surety::mechanisms
