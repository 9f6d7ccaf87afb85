// surety._library: each function takes its arguments apart, asks the library without the interpreter's lock, and hands back numbers and texts.
// No logic of its own; what people call, with its documentation, is the package beside this file.
#include <nanobind/nanobind.h>

#include <exception>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <surety/base/text/error.h>

#include "answers.h"
#include "calls.h"
#include "memory.h"
#include "models.h"
#include "noises.h"
#include "releases.h"
#include "reservations.h"

namespace surety::python {
namespace {

/// \param code as in surety.h
void raise(int code, std::string_view text) {
  nb::object message = nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (!message.is_valid()) return;
  try {
    const auto made = nb::module_::import_("surety_dp._errors").attr("error_of")(code, message);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  } catch (nb::python_error& own) {
    own.restore();
  }
}

/// What C++ throws becomes what `guarded` of the C functions makes of it. Of no memory Python has an exception of its own.
void translate(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise(static_cast<int>(error.code()) + 1, error.what());
  } catch (const std::length_error&) {  // of what no memory could hold
    PyErr_NoMemory();
  } catch (const std::system_error& error) {  // a file or a thread that the machine refuses
    raise(static_cast<int>(ErrorCode::environment) + 1, error.what());
  }
}

}  // namespace
}  // namespace surety::python

using namespace surety;
using namespace surety::python;

NB_MODULE(_library, module) {
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);
  module.attr("version") = SURETY_VERSION;
  remember_main_thread();
  keep_memory_for_own_libraries();

  add_answers(module);
  add_noises(module);
  add_ledgers(module);
  add_releases(module);
  add_parts(module);
  add_models(module);
  add_trainings(module);
}
