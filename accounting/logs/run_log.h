// What people have of a training run: a line of numbers. It is read as any text that may be hostile; what may be missing is said in
// docs/reference/log.md, and what contradicts itself is refused.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/events/units.h>

namespace surety::accounting {

/// How batches are drawn: the word of a log's "sampler", and the name of a reading.
enum class LoggedSampler {
  unknown,
  poisson,            ///< each record joins each batch by a coin of its own
  truncated_poisson,  ///< the same, cut to a largest batch
  fixed_size,         ///< a fresh uniform set of so many records for each step
  allocated,          ///< each record is in one batch of an epoch, by a draw of its own
  shuffled,           ///< a fresh secret permutation for each epoch, cut into batches
  deterministic,      ///< the order of the file, or any that is public
  by_record,          ///< the batch of a record depends on that record alone
};
[[nodiscard]] std::string_view name(LoggedSampler sampler);
/// The inverse of `name`. \throws Error{invalid_argument} listing the words.
[[nodiscard]] LoggedSampler parse_logged_sampler(std::string_view text);
/// All words, "unknown" among them.
[[nodiscard]] std::span<const std::string_view> logged_sampler_names();

/// What the noise multiplier is the standard deviation over: the bound C on one record's gradient, or the 2C by which a replaced one moves.
enum class NoiseOver { clip, twice_clip };
[[nodiscard]] std::string_view name(NoiseOver over);
[[nodiscard]] NoiseOver parse_noise_over(std::string_view text);

struct ClipRule : Positive {
  static constexpr std::string_view name = "clip";
};
using Clip = Quantity<ClipRule>;

struct RunLog {
  std::optional<NoiseMultiplier> noise_multiplier = std::nullopt;
  NoiseOver noise_over = NoiseOver::clip;
  std::optional<Clip> clip = std::nullopt;  ///< C, which no number here depends on
  LoggedSampler sampler = LoggedSampler::unknown;
  std::optional<Count> records = std::nullopt;
  std::optional<Count> batch_size = std::nullopt;          ///< of one noise addition, which may take several micro-batches
  std::optional<Count> accumulation_steps = std::nullopt;  ///< micro-batches of a noise addition: parts of one batch of batch_size
  std::optional<Count> largest_batch = std::nullopt;
  std::optional<SamplingRate> sampling_rate = std::nullopt;
  std::optional<Count> epochs = std::nullopt;
  std::optional<Count> steps = std::nullopt;
  std::optional<bool> drop_last = std::nullopt;  ///< whether an epoch leaves out what fills no whole batch
  std::optional<Adjacency> adjacency = std::nullopt;
  std::optional<Epsilon> epsilon = std::nullopt;  ///< what was claimed
  std::optional<Delta> delta = std::nullopt;
  std::string accountant = {};  ///< by whom, for people
  /// One after the other, each with noise, batches and steps of its own and all else as here; empty where the run has one phase. Phases have none.
  std::vector<RunLog> phases = {};

  /// The phases, or this log as the only one.
  [[nodiscard]] std::vector<RunLog> parts() const;
  /// Some part accumulates micro-batches.
  [[nodiscard]] bool accumulates() const;

  /// batch_size over records, or the sampling rate that is said; the nearest double. \throws Error{invalid_argument} where neither is said.
  [[nodiscard]] SamplingRate rate() const;
  /// Of an epoch: records over batch_size, rounded up, or down where the last is dropped; nothing where they are not said.
  [[nodiscard]] std::optional<Count> batches() const;
  /// Those of all epochs, unless they are said; of all phases.
  [[nodiscard]] Count total_steps() const;
  friend bool operator==(const RunLog&, const RunLog&) = default;
};

/// A log is no longer than this, in bytes.
inline constexpr std::size_t largest_log = std::size_t{1} << 16;

/// The fields that a log may have, in the order of docs/reference/log.md.
[[nodiscard]] std::span<const std::string_view> run_log_fields();

/// What a question needs of a log in addition to what every log has.
struct NeededFields {
  bool adjacency = false;
  bool noise_multiplier = false;
  bool epsilon = false;
  bool delta = false;
};
/// \throws Error{invalid_argument} naming all of them that `log` lacks.
void require_needed(const RunLog& log, const NeededFields& needed);

/// Reads {"version": 1, "noise_multiplier": ..., ...}, or the history of an accountant, [(noise_multiplier, sampling_rate, steps), ...], as Python
/// prints it or as JSON.
/// \throws Error{invalid_argument} for a text that is too long or no such object, for an unknown, missing or duplicate field, a number that is
///         none or out of range, and for fields that contradict each other: a batch larger than the data, epochs that are not those of the
///         steps, a sampling rate that is not that of the batches.
///         A log that lacks fields is refused once, with all that it lacks, those of `needed` included.
[[nodiscard]] RunLog run_log_from_json(std::string_view text, const NeededFields& needed = {});

}  // namespace surety::accounting
