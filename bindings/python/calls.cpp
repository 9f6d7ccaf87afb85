#include "calls.h"

#include <nanobind/stl/string_view.h>

#include <cmath>

namespace surety::python {
namespace {

std::uint64_t main_thread = 0;

constexpr auto between_looks = std::chrono::milliseconds{50};

/// Whether this thread runs the `progress` of a caller. A run that starts there would nest without end.
thread_local bool runs_progress = false;

class RunsProgress {
 public:
  RunsProgress() { runs_progress = true; }
  ~RunsProgress() { runs_progress = false; }
  RunsProgress(const RunsProgress&) = delete;
  RunsProgress& operator=(const RunsProgress&) = delete;
};

}  // namespace

void remember_main_thread() {
  main_thread = nb::cast<std::uint64_t>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
}

Signals::Signals() : is_of_main_thread_{PyThread_get_thread_ident() == main_thread} {
  if (runs_progress)
    throw Error{ErrorCode::invalid_argument, "progress calls the library, must only report; call the library after the run"};
}

bool Signals::are_raised() {
  if (raised_) return true;
  if (!is_of_main_thread_ || Clock::now() - last_ < between_looks) return false;
  const Locked lock;
  if (PyErr_CheckSignals() != 0) raised_ = std::make_unique<nb::python_error>();
  last_ = Clock::now();
  return raised_ != nullptr;
}

void Signals::raise(nb::python_error&& error) {
  if (!raised_) raised_ = std::make_unique<nb::python_error>(std::move(error));
}

void Progress::tell(std::string_view phase, std::uint64_t done, std::uint64_t all) {
  if (!is_wanted()) return;
  const auto percent = [all](std::uint64_t count) { return static_cast<double>(count) * 100 / static_cast<double>(all); };
  if (done != all && std::floor(percent(done)) == std::floor(percent(done - 1))) return;
  const Locked lock;
  const RunsProgress now;
  try {
    with_rest_at_the_end([&] { callable_(phase, done, all); });
  } catch (nb::python_error& error) {
    signals_.raise(std::move(error));
  }
}

void Signals::rethrow() {
  if (raised_) throw nb::python_error{std::move(*std::exchange(raised_, nullptr))};
}

}  // namespace surety::python
