// How long a question may take, and how whoever asks it calls it off.
//
// Definitions:
//   poll  a look at the limit. The long loops of accountants, searches and audits poll every 50 ms of processor time and oftener. They hold
//         nothing that an end there would leave half made: what they keep for later questions is kept when it is done.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace surety {

/// While one lives, the questions of its thread end by Error{stopped} at the first poll after the time is over or somebody has called them off.
/// Limits of one thread nest, and each counts. Other threads have their own.
class Limit {
 public:
  struct Rules {
    /// Of the clock; no limit of time without it. Not 0, not NaN.
    std::optional<double> seconds = std::nullopt;
    /// Whether the question is called off; asked at most every 10 ms of the clock, by the thread that computes. What it throws ends the
    /// question, too.
    std::function<bool()> is_called_off = nullptr;
    /// Seconds since anything, never fewer than before; the machine's monotonic clock where there is none.
    std::function<double()> clock = nullptr;
    /// For the message: "it took longer than --limit-seconds 5".
    std::string name = "its limit of";
    std::string unit = " seconds";
  };

  /// \throws Error{invalid_argument} unless the seconds are greater than 0.
  explicit Limit(Rules rules);
  ~Limit();
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

  [[nodiscard]] std::uint64_t polls() const noexcept { return polls_; }

  /// From now on none of those that live in this thread counts: what is done now must be done to its end.
  static void lift() noexcept;

 private:
  friend void poll_limit();
  void poll();

  Rules rules_;
  double start_;
  double asked_;  ///< when, whether it is called off
  bool is_lifted_ = false;
  std::uint64_t polls_ = 0;
  Limit* outer_;
};

/// One look. \throws Error{stopped} where a limit says so. \complexity some nanoseconds where there is none.
void poll_limit();

/// For loops whose turns take microseconds: every 256th is a poll.
class PollNowAndThen {
 public:
  void operator()() {
    if ((++turns_ & 0xff) == 0) poll_limit();
  }

 private:
  unsigned turns_ = 0;
};

}  // namespace surety
