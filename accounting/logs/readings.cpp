#include <surety/accounting/logs/readings.h>

#include <fmt/format.h>

#include <cstdint>
#include <utility>

namespace surety::accounting {
namespace {

constexpr LoggedSampler samplers_in_order[] = {LoggedSampler::poisson,   LoggedSampler::truncated_poisson, LoggedSampler::fixed_size,
                                               LoggedSampler::allocated, LoggedSampler::shuffled,          LoggedSampler::deterministic,
                                               LoggedSampler::by_record};

std::string condition_of(LoggedSampler sampler, Adjacency adjacency) {
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

/// The release of one batch. Multiplied by two a multiplier keeps its digits.
Event release_of(const Reading& reading, NoiseMultiplier multiplier) {
  const NoiseMultiplier over_clip = reading.noise_over == NoiseOver::clip ? multiplier : NoiseMultiplier{2 * multiplier.value()};
  if (reading.adjacency == Adjacency::replace_one) return record_sum(over_clip, reading.adjacency);
  return gaussian(over_clip, reading.adjacency);
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
Event epoch_of(const Reading& reading, NoiseMultiplier multiplier) {
  if (reading.sampler == LoggedSampler::allocated) {
    return allocated(batches_of(reading.log, reading.sampler), release_of(reading, multiplier));
  }
  const auto sizes = sizes_of(reading.log, reading.sampler);
  return reading.sampler == LoggedSampler::shuffled ? shuffled(sizes.records(), sizes.size(), release_of(reading, multiplier))
                                                    : deterministic(sizes.records(), sizes.size(), release_of(reading, multiplier));
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

}  // namespace

Event Reading::event(NoiseMultiplier multiplier) const {
  switch (sampler) {
    case LoggedSampler::poisson: return times(log.total_steps().value(), poisson(log.rate(), release_of(*this, multiplier)));
    case LoggedSampler::truncated_poisson:
      return times(log.total_steps().value(),
                   truncated_poisson(log.rate(), *log.largest_batch, *log.records, release_of(*this, multiplier)));
    case LoggedSampler::fixed_size: {
      const auto sizes = sizes_of(log, sampler);
      return times(log.total_steps().value(), without_replacement(sizes.records(), sizes.size(), release_of(*this, multiplier)));
    }
    case LoggedSampler::by_record:
      return cyclic(batches_of(log, sampler), log.total_steps(), SamplingRate{1}, release_of(*this, multiplier));
    case LoggedSampler::allocated:
    case LoggedSampler::shuffled:
    case LoggedSampler::deterministic: return times(epochs_of(log, sampler).begun, epoch_of(*this, multiplier));
    case LoggedSampler::unknown: break;
  }
  throw Error{ErrorCode::internal, "a reading has no sampler"};
}

std::optional<Event> Reading::least(NoiseMultiplier multiplier) const {
  if (sampler != LoggedSampler::allocated && sampler != LoggedSampler::shuffled) return event(multiplier);
  const auto epochs = epochs_of(log, sampler);
  // A record that an epoch leaves out by chance is hidden by more than its batch.
  if (epochs.ended == 0 || (sampler == LoggedSampler::shuffled && leaves_records_out(log))) return std::nullopt;
  return times(epochs.ended, epoch_of(*this, multiplier));
}

std::vector<Reading> readings(const RunLog& log, Adjacency adjacency) {
  if (log.adjacency && *log.adjacency != adjacency) {
    invalid(fmt::format("adjacency is {}, must be {} as in the log", name(adjacency), name(*log.adjacency)));
  }
  static_cast<void>(log.total_steps());
  std::vector<Reading> result;
  for (const auto sampler : samplers_in_order) {
    if (sampler == LoggedSampler::truncated_poisson && !log.largest_batch) continue;
    for (const auto over : {NoiseOver::clip, NoiseOver::twice_clip}) {
      if (adjacency != Adjacency::replace_one && over != log.noise_over) continue;
      Reading reading{.sampler = sampler,
                      .noise_over = over,
                      .happened = sampler == log.sampler && over == log.noise_over,
                      .condition = condition_of(sampler, adjacency),
                      .log = log,
                      .adjacency = adjacency};
      try {
        static_cast<void>(reading.event(log.noise_multiplier.value_or(NoiseMultiplier{1})));
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
