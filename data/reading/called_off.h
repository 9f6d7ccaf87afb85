// Reading that is called off: whoever waits for a pass over records may end it, between two of them.
//
// It is no limit of time: how long records take to read may follow from what they hold, and that decides nothing. Limits of public questions are
// base/numbers/limit.h.
#pragma once

#include <functional>

namespace surety::data {

/// While one lives, readers of its thread end by Error{stopped} soon after somebody has called them off. The innermost one alone counts.
class CalledOff {
 public:
  /// \param is_called_off asked at most every 10 ms of the clock, by the thread that reads. What it throws ends the pass, too. Never, where it is empty.
  explicit CalledOff(std::function<bool()> is_called_off);
  ~CalledOff();
  CalledOff(const CalledOff&) = delete;
  CalledOff& operator=(const CalledOff&) = delete;

 private:
  friend void require_not_called_off_now();
  void ask();

  std::function<bool()> is_called_off_;
  double asked_;  ///< when
  CalledOff* outer_;
};

/// One look. \throws Error{stopped} \complexity some nanoseconds where nobody may call off
void require_not_called_off_now();
/// The same for loops whose turns take less than a microsecond: every 256th call looks.
void require_not_called_off();

}  // namespace surety::data
