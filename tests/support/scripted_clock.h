// The wall clock of the command in this process, replaced: a test says what time it is, and nobody sleeps.
//
// Calls go through functions of scripted_clock.cpp (the linker's --wrap); the command knows no way to be told a time.
#pragma once

#include <functional>

#include <surety/jobs/search/wall_clock.h>

namespace surety_test {

using surety::jobs::Instant;

/// Tells the time as long as it lives. One at a time.
class ScriptedClock {
 public:
  /// \param now answers each question for the time, `waits` is called in the place of waiting until one
  ScriptedClock(std::function<Instant()> now, std::function<void(Instant)> waits);
  ScriptedClock(const ScriptedClock&) = delete;
  ScriptedClock& operator=(const ScriptedClock&) = delete;
  ~ScriptedClock();

  std::function<Instant()> now;
  std::function<void(Instant)> waits;
};

}  // namespace surety_test
