// What calls of Python have in common: the interpreter's lock, signals, and how long a question may take.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <surety/accounting/events/units.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/system/memory_reserve.h>
#include <surety/base/text/error.h>

namespace nb = nanobind;

namespace surety::python {

/// A thread that asks for the interpreter's lock while the interpreter goes down is unwound by it, which no destructor and no C code lets through and which
/// may begin at any moment of the wait, so that no question asked beforehand helps; it rests until the process ends.
template <class Ask>
auto with_rest_at_the_end(const Ask& ask) {
  try {
    return ask();
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}

/// Without the interpreter's lock while this lives.
class Unlocked {
 public:
  Unlocked() : thread_{PyEval_SaveThread()} {}
  ~Unlocked() {
    with_rest_at_the_end([this] { PyEval_RestoreThread(thread_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* thread_;
};

/// With the interpreter's lock while this lives, whoever had it before.
class Locked {
 public:
  Locked() : state_{with_rest_at_the_end([] { return PyGILState_Ensure(); })} {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

/// What `work` returns. \throws std::bad_alloc, which is MemoryError, where GMP had to use the memory reserve for it.
template <class Work>
auto unlocked(const Work& work) {
  const Unlocked lock;
  return without_memory_reserve(work);
}

/// What is set as Python's error already.
[[noreturn]] inline void python_error() { throw nb::python_error{}; }

/// Asked for once, when the module is imported: while the interpreter goes down nothing can be imported.
void remember_main_thread();

/// Signals while a call works without the interpreter's lock. Of the main thread they are looked for some twenty times a second, and what a handler raises,
/// KeyboardInterrupt for one, ends the call. Other threads have no signals, and do not ask for the lock, which might unwind them while the interpreter goes
/// down.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] bool is_of_main_thread() const noexcept { return is_of_main_thread_; }
  /// Looks, where it is time to. \pre without the lock
  [[nodiscard]] bool are_raised();
  /// Throws what was raised, if anything was. \pre with the lock
  void rethrow();
  /// Ends the call with an error of a function that the call runs. \pre with the lock
  void raise(nb::python_error&& error);

 private:
  using Clock = std::chrono::steady_clock;
  bool is_of_main_thread_;
  Clock::time_point last_ = Clock::now();
  std::unique_ptr<nb::python_error> raised_;
};

/// Does work without the interpreter's lock, which what signals raise ends: `work` asks for them.
template <class Work>
auto with_signals(Signals& signals, const Work& work) {
  try {
    if constexpr (std::is_void_v<decltype(work())>) {
      unlocked(work);
      signals.rethrow();
    } else {
      auto answer = unlocked(work);
      signals.rethrow();
      return answer;
    }
  } catch (const Error&) {
    signals.rethrow();
    throw;
  }
}

/// Passes the phases of a run, and within a phase public counts, to the `progress` of a caller.
class Progress {
 public:
  /// \param callable None or a callable of (phase, done, all); alive as long as this object. An exception of it ends the call like one of a signal handler.
  Progress(nb::handle callable, Signals& signals) : callable_{callable}, signals_{signals} {}

  [[nodiscard]] bool is_wanted() const noexcept { return !callable_.is_none(); }
  /// Calls at 0 of 0, at `all`, and where the whole percentage changes: which calls are made depends on the counts alone, not on the time.
  /// \pre without the lock
  void tell(std::string_view phase, std::uint64_t done, std::uint64_t all);

 private:
  nb::handle callable_;
  Signals& signals_;
};

/// The seconds that a question may take.
using LimitSeconds = std::optional<double>;

/// Answers a question without the interpreter's lock, in its time and unless a signal ends it.
template <class Work>
auto asked(LimitSeconds seconds, const Work& work) {
  if (seconds && !(*seconds > 0)) refuse_quantity("limit_seconds", *seconds, "greater than 0");
  Signals signals;
  return with_signals(signals, [&] {
    Limit::Rules rules{.seconds = seconds, .name = "limit_seconds", .unit = ""};
    if (signals.is_of_main_thread()) rules.is_called_off = [&signals] { return signals.are_raised(); };
    const Limit limit{std::move(rules)};
    return work();
  });
}

}  // namespace surety::python
