// What runs from C have in common: what a run tells its caller, where its bits come from, streams that are taken, and what comes of it.
#pragma once

#include <surety.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <surety/base/text/error.h>
#include <surety/data/arrow/arrow_stream.h>
#include <surety/jobs/release/released_statistics.h>
#include <surety/jobs/run/run_bits.h>
#include <surety/jobs/run/run_context.h>
#include <surety/jobs/train/train_job.h>

#include "calls.h"
#include "known_part.h"

namespace surety::c {

/// What a run tells its caller. It lies still while jobs refer to it.
struct Listener {
  void tell(const char* phase, std::uint64_t done, std::uint64_t all) const {
    if (options.progress != nullptr) called_back(options.progress, options.context, phase, done, all);
  }

  /// What a job asks of it. `*this` outlives the job.
  [[nodiscard]] jobs::RunContext context() const {
    return {.progress =
                [this](jobs::Phase phase, std::uint64_t done, std::uint64_t all) {
                  const std::string word{jobs::name(phase)};
                  tell(word.c_str(), done, all);
                },
            .should_stop = [this] { return options.should_stop != nullptr && called_back(options.should_stop, options.context) != 0; }};
  }

  surety_run_options options{};
};

using AnyResult = std::variant<jobs::TrainedModel, jobs::ReleasedStatistics>;

/// The bits of one run, which last as long as it.
class BitsOfRun {
 public:
  BitsOfRun(const surety_bits* own, const std::optional<std::uint64_t>& replay_seed) {
    if (own == nullptr) {
      bits_.emplace(replay_seed);
      return;
    }
    if (replay_seed) invalid("bits are given, must be NULL for a plan with a replay-seed");
    own_.emplace(own);
    bits_.emplace(mechanisms::BitsRef{*own_});
  }
  BitsOfRun(const BitsOfRun&) = delete;
  BitsOfRun& operator=(const BitsOfRun&) = delete;

  [[nodiscard]] jobs::RunBits& bits() { return *bits_; }

 private:
  std::optional<CallerBits> own_;
  std::optional<jobs::RunBits> bits_;
};

/// What the caller said of a run; nothing, of NULL.
[[nodiscard]] inline surety_run_options options_of(const surety_run_options* options) {
  if (options != nullptr) return known_part(options, "options");
  surety_run_options none{};
  none.size = sizeof none;
  return none;
}

/// A stream of the caller's, which is released whatever becomes of the call.
class ArrowTaken {
 public:
  explicit ArrowTaken(ArrowArrayStream* given) noexcept : is_given_{given != nullptr}, held_{given} {}

  /// \throws Error{invalid_argument} where there is none; as data::ArrowStream.
  [[nodiscard]] data::ArrowStream stream(const char* name) {
    if (!is_given_) invalid(std::string{name} + " is NULL, must be given");
    return data::ArrowStream{held_.get()};
  }

 private:
  bool is_given_;
  data::ArrowOwner<ArrowArrayStream> held_;
};

}  // namespace surety::c

struct surety_result {
  surety::c::AnyResult result;
};
