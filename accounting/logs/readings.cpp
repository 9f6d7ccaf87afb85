#include <surety/accounting/logs/readings.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace surety::accounting {
namespace {

constexpr LoggedSampler samplers_in_order[] = {LoggedSampler::poisson,   LoggedSampler::truncated_poisson, LoggedSampler::fixed_size,
                                               LoggedSampler::allocated, LoggedSampler::shuffled,          LoggedSampler::deterministic,
                                               LoggedSampler::by_record};

std::string condition_of_batches(LoggedSampler sampler, Adjacency adjacency) {
  switch (sampler) {
    case LoggedSampler::poisson: return "each record joins each batch by a coin of its own";
    case LoggedSampler::truncated_poisson:
      return "each record joins each batch by a coin of its own, and of a batch too large a uniform part is kept";
    case LoggedSampler::fixed_size: return "each batch is a fresh uniform set of so many records";
    case LoggedSampler::allocated:
      return "each record is in one batch of an epoch by a draw of its own, and an empty batch is released, too";
    case LoggedSampler::shuffled: return "each epoch is a fresh secret permutation cut into batches, for which no amplification is proved";
    case LoggedSampler::deterministic: return "batches go by the order of the file, or any that is public";
    case LoggedSampler::by_record:
      return adjacency == Adjacency::replace_one ? "the batch of a record depends on a public label of it alone, which a replacement keeps"
                                                 : "the batch of a record depends on that record alone, as by a hash";
    case LoggedSampler::unknown: break;
  }
  throw Error{ErrorCode::internal, "a reading has no sampler"};
}

/// Whether the batches of an epoch depend on each other.
bool comes_in_epochs(LoggedSampler sampler) {
  return sampler == LoggedSampler::allocated || sampler == LoggedSampler::shuffled || sampler == LoggedSampler::deterministic ||
         sampler == LoggedSampler::by_record;
}

std::string condition_of(LoggedSampler sampler, Adjacency adjacency, const RunLog& log) {
  auto condition = condition_of_batches(sampler, adjacency);
  if (log.accumulates()) condition += "; a batch is what one noise addition covers, and its micro-batches are parts of it";
  if (log.phases.size() > 1 && comes_in_epochs(sampler)) condition += "; each phase begins with a new epoch";
  return condition;
}

/// One phase of a reading: its log, and how much noise it has.
struct Part {
  const Reading& reading;
  const RunLog& log;
  NoiseMultiplier multiplier;
};

/// The release of one batch. Multiplied by two a multiplier keeps its digits.
Event release_of(const Part& part) {
  const NoiseMultiplier over_clip =
      part.reading.noise_over == NoiseOver::clip ? part.multiplier : NoiseMultiplier{2 * part.multiplier.value()};
  if (part.reading.adjacency == Adjacency::replace_one) return record_sum(over_clip, part.reading.adjacency);
  return gaussian(over_clip, part.reading.adjacency);
}

Event times(std::uint64_t count, Event event) { return count == 1 ? event : repeat(Count{count}, std::move(event)); }

/// How many epochs are begun, and how many of them are ended.
struct Epochs {
  std::uint64_t begun;
  std::uint64_t ended;
};

/// \throws Error{invalid_argument} where the log does not say the sizes of an epoch.
Count batches_of(const RunLog& log, LoggedSampler sampler) {
  const auto batches = log.batches();
  if (!batches) invalid(fmt::format("records and batch_size are missing, must be given for {}", name(sampler)));
  return *batches;
}

Epochs epochs_of(const RunLog& log, LoggedSampler sampler) {
  const std::uint64_t batches = batches_of(log, sampler).value();
  const std::uint64_t steps = log.total_steps().value();
  const std::uint64_t ended = steps / batches;
  return {ended + (steps % batches == 0 ? 0 : 1), ended};
}

Batches sizes_of(const RunLog& log, LoggedSampler sampler) {
  if (!log.records) invalid(fmt::format("records and batch_size are missing, must be given for {}", name(sampler)));
  return {*log.records, *log.batch_size};
}

/// One epoch of those that come as a whole.
Event epoch_of(const Part& part) {
  const auto sampler = part.reading.sampler;
  if (sampler == LoggedSampler::allocated) return allocated(batches_of(part.log, sampler), release_of(part));
  const auto sizes = sizes_of(part.log, sampler);
  return sampler == LoggedSampler::shuffled ? shuffled(sizes.records(), sizes.size(), release_of(part))
                                            : deterministic(sizes.records(), sizes.size(), release_of(part));
}

bool leaves_records_out(const RunLog& log) { return log.drop_last.value_or(false) && log.records->value() % log.batch_size->value() != 0; }

/// A refusal by place says why.
std::string refusal_of(const Reading& reading, const Error& error) {
  const bool by_place = reading.sampler == LoggedSampler::shuffled || reading.sampler == LoggedSampler::deterministic;
  if (by_place && reading.adjacency == Adjacency::add_or_remove_one) {
    return fmt::format("{}: a record that leaves moves others into other batches", error.what());
  }
  return error.what();
}

Event event_of(const Part& part) {
  const auto sampler = part.reading.sampler;
  const auto& log = part.log;
  switch (sampler) {
    case LoggedSampler::poisson: return times(log.total_steps().value(), poisson(log.rate(), release_of(part)));
    case LoggedSampler::truncated_poisson:
      return times(log.total_steps().value(), truncated_poisson(log.rate(), *log.largest_batch, *log.records, release_of(part)));
    case LoggedSampler::fixed_size: {
      const auto sizes = sizes_of(log, sampler);
      return times(log.total_steps().value(), without_replacement(sizes.records(), sizes.size(), release_of(part)));
    }
    case LoggedSampler::by_record: return cyclic(batches_of(log, sampler), log.total_steps(), SamplingRate{1}, release_of(part));
    case LoggedSampler::allocated:
    case LoggedSampler::shuffled:
    case LoggedSampler::deterministic: return times(epochs_of(log, sampler).begun, epoch_of(part));
    case LoggedSampler::unknown: break;
  }
  throw Error{ErrorCode::internal, "a reading has no sampler"};
}

std::optional<Event> least_of(const Part& part, bool is_alone) {
  const auto sampler = part.reading.sampler;
  const bool is_exact = sampler == LoggedSampler::deterministic || sampler == LoggedSampler::by_record;
  // In an unfinished epoch the records of its first batches are known, unless earlier phases used these batches.
  if (!comes_in_epochs(sampler) || (is_exact && is_alone)) return event_of(part);
  const auto epochs = epochs_of(part.log, sampler);
  // A record that an epoch leaves out by chance is hidden by more than its batch.
  if (epochs.ended == 0 || (sampler == LoggedSampler::shuffled && leaves_records_out(part.log))) return std::nullopt;
  if (sampler != LoggedSampler::by_record) return times(epochs.ended, epoch_of(part));
  const auto batches = batches_of(part.log, sampler);
  return cyclic(batches, Count{epochs.ended * batches.value()}, SamplingRate{1}, release_of(part));
}

/// An epoch with two kinds of noise or batches has no theorem here. \throws Error{invalid_argument} naming the phase in which one does not end.
void require_whole_epochs(const Reading& reading, const std::vector<RunLog>& parts) {
  if (!comes_in_epochs(reading.sampler)) return;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const auto steps = parts[i].total_steps().value();
    const auto batches = batches_of(parts[i], reading.sampler).value();
    if (steps % batches != 0) {
      invalid(fmt::format("phase {} has {} steps, must have whole epochs of {} for {}", i + 1, steps, batches, name(reading.sampler)));
    }
  }
}

Event composed(std::vector<Event> events) { return events.size() == 1 ? std::move(events.front()) : compose(std::move(events)); }

/// \param same the multiplier of all phases; their own where it is nothing.
NoiseMultiplier multiplier_of(const RunLog& part, const std::optional<NoiseMultiplier>& same) {
  if (same) return *same;
  if (!part.noise_multiplier) invalid("noise_multiplier is missing, must be in the log");
  return *part.noise_multiplier;
}

Event event_of(const Reading& reading, const std::optional<NoiseMultiplier>& same) {
  const auto parts = reading.log.parts();
  require_whole_epochs(reading, parts);
  std::vector<Event> events;
  for (const auto& part : parts) events.push_back(event_of(Part{reading, part, multiplier_of(part, same)}));
  return composed(std::move(events));
}

/// Phases of which nothing is known from below are left out, which is post-processing.
std::optional<Event> least_of(const Reading& reading, const std::optional<NoiseMultiplier>& same) {
  const auto parts = reading.log.parts();
  require_whole_epochs(reading, parts);
  std::vector<Event> events;
  for (const auto& part : parts) {
    if (auto event = least_of(Part{reading, part, multiplier_of(part, same)}, parts.size() == 1)) events.push_back(std::move(*event));
  }
  if (events.empty()) return std::nullopt;
  return composed(std::move(events));
}

}  // namespace

Event Reading::event(NoiseMultiplier multiplier) const { return event_of(*this, multiplier); }
Event Reading::event() const { return event_of(*this, std::nullopt); }
std::optional<Event> Reading::least(NoiseMultiplier multiplier) const { return least_of(*this, multiplier); }
std::optional<Event> Reading::least() const { return least_of(*this, std::nullopt); }

std::vector<Reading> readings(const RunLog& log, Adjacency adjacency) {
  if (log.adjacency && *log.adjacency != adjacency) {
    invalid(fmt::format("adjacency is {}, must be {} as in the log", name(adjacency), name(*log.adjacency)));
  }
  static_cast<void>(log.total_steps());
  const auto parts = log.parts();
  const bool has_largest_batch = std::all_of(parts.begin(), parts.end(), [](const RunLog& part) { return part.largest_batch.has_value(); });
  const bool has_noise = std::all_of(parts.begin(), parts.end(), [](const RunLog& part) { return part.noise_multiplier.has_value(); });
  std::vector<Reading> result;
  for (const auto sampler : samplers_in_order) {
    if (sampler == LoggedSampler::truncated_poisson && !has_largest_batch) continue;
    for (const auto over : {NoiseOver::clip, NoiseOver::twice_clip}) {
      if (adjacency != Adjacency::replace_one && over != log.noise_over) continue;
      Reading reading{.sampler = sampler,
                      .noise_over = over,
                      .happened = sampler == log.sampler && over == log.noise_over,
                      .condition = condition_of(sampler, adjacency, log),
                      .log = log,
                      .adjacency = adjacency};
      try {
        static_cast<void>(has_noise ? reading.event() : reading.event(NoiseMultiplier{1}));
      } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument) throw;
        reading.refusal = refusal_of(reading, error);
      }
      result.push_back(std::move(reading));
    }
  }
  return result;
}

}  // namespace surety::accounting
