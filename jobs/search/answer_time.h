// `--answer-at`: when a search answers, so that how long it took stays secret.
#pragma once

#include <string>
#include <string_view>

#include <surety/optimizers/doors/run.h>

#include <surety/jobs/search/wall_clock.h>

namespace surety::jobs {

/// "2026-11-24T06:00Z", "2026-11-24T06:00:00+01:00", or how long from `now`: "+90m", "+1d12h", "+2h30m10s"; then the next whole second.
/// \throws Error{invalid_argument} naming --answer-at for any other text, and for a time that has come, or that lies more than 366 days ahead.
[[nodiscard]] Instant parse_answer_time(std::string_view text, Instant now);
/// "2026-11-24T06:00:00Z".
[[nodiscard]] std::string text_of(Instant time);

/// A time before which a search has to be done. What was not done by then is never published: when it would have been done is a secret.
class AnswerTime {
 public:
  explicit AnswerTime(Instant at) : at_{at} {}

  [[nodiscard]] Instant at() const noexcept { return at_; }
  /// Whether so many runs as long as that fit. \throws Error{invalid_argument} where they do not.
  void require_room(std::uint64_t runs, std::chrono::milliseconds longest) const;
  /// \throws Error{environment} from the time on.
  void require_early() const;
  /// Waits for it. \throws Error{environment} where it has come already.
  void wait() const;

 private:
  Instant at_;
};

/// A `Releaser` that releases nothing from the time on: a run stops there, wherever it is, and not when it would have been done.
class PunctualReleaser final : public optimizers::Releaser {
 public:
  PunctualReleaser(const AnswerTime& time, optimizers::Releaser& releaser) : time_{time}, releaser_{releaser} {}

  /// \throws Error{environment} from the time on; what the releaser throws.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    time_.require_early();
    return releaser_.release(query, sensitivity, event);
  }

 private:
  const AnswerTime& time_;
  optimizers::Releaser& releaser_;
};

}  // namespace surety::jobs
