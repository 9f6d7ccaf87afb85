// What a log may mean: the event of each way to draw batches, and which of them is proved for what happened.
//
// Definitions:
//   reading   a way to draw the batches and what the noise is measured by: with the log's numbers an event
//   happened  the log says that its batches were drawn so; every other reading is what the same numbers would be an event of
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/logs/run_log.h>

namespace surety::accounting {

struct Reading {
  LoggedSampler sampler;
  NoiseOver noise_over;
  bool happened;          ///< the log says so; of a log without a sampler none did
  std::string condition;  ///< what has to be true of the loader, for people

  /// The events at a noise multiplier, in the log's own unit, which is the same in all phases; or at those of the log. What was released costs at most `event` and at least `least`, for which there is
  /// no event where an epoch was not ended or leaves records out. \throws Error{invalid_argument} as the events, where there is no such event:
  /// `refusal` is that message, for the log's multiplier or 1; also where an epoch goes on in the next phase.
  [[nodiscard]] Event event(NoiseMultiplier multiplier) const;
  [[nodiscard]] Event event() const;
  [[nodiscard]] std::optional<Event> least(NoiseMultiplier multiplier) const;
  [[nodiscard]] std::optional<Event> least() const;
  std::string refusal = {};  ///< empty where there is an event

  RunLog log;
  Adjacency adjacency;
};

/// All readings of `log`, in the order of docs/reference/log.md: truncated batches where a largest one is said, both meanings of the noise
/// under replace-one. \throws Error{invalid_argument} when the log says another adjacency, or its steps cannot be counted.
[[nodiscard]] std::vector<Reading> readings(const RunLog& log, Adjacency adjacency);

}  // namespace surety::accounting
