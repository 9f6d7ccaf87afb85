// Texts as arguments. The caster of nanobind copies a text where nothing can be thrown, so that missing memory aborts the interpreter.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include <surety/base/system/memory_reserve.h>

namespace nanobind::detail {

/// In place of nanobind/stl/string.h, which must not be included beside it.
template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  /// \throws std::bad_alloc. Within a caster of another type, which lets nothing through, the process then ends as in a call of Surety.
  bool from_python(handle source, std::uint32_t /*flags*/, cleanup_list* /*cleanup*/) {
    if (!PyUnicode_Check(source.ptr())) return false;
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(source.ptr(), &size);
    if (text == nullptr) {
      if (PyErr_ExceptionMatches(PyExc_MemoryError) != 0) throw python_error{};
      PyErr_Clear();
      return false;
    }
    const surety::ReserveWatch watch;
    value.assign(text, static_cast<std::size_t>(size));
    return true;
  }

  static handle from_cpp(const std::string& value, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    return PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()));
  }
};

}  // namespace nanobind::detail
