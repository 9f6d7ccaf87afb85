#include "calls.h"

namespace surety::python {
namespace {

std::uint64_t main_thread = 0;

constexpr auto between_looks = std::chrono::milliseconds{50};

}  // namespace

void remember_main_thread() {
  main_thread = nb::cast<std::uint64_t>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
}

Signals::Signals() : is_of_main_thread_{PyThread_get_thread_ident() == main_thread} {}

bool Signals::are_raised() {
  if (raised_) return true;
  if (!is_of_main_thread_ || Clock::now() - last_ < between_looks) return false;
  const Locked lock;
  if (PyErr_CheckSignals() != 0) raised_ = std::make_unique<nb::python_error>();
  last_ = Clock::now();
  return raised_ != nullptr;
}

void Signals::rethrow() {
  if (raised_) throw nb::python_error{std::move(*std::exchange(raised_, nullptr))};
}

}  // namespace surety::python
