#include "arguments.h"

#include <cstdint>
#include <string_view>

namespace surety::python {

Count count_of(nb::handle number, const char* what) {
  const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index.is_valid()) python_error();
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0 || value < 1) {
    invalid(std::string{what} + " is " +
            (overflow > 0   ? "beyond 2^63"
             : overflow < 0 ? "below -2^63"
                            : std::to_string(value)) +
            ", must be a whole number from 1 to 2^53");
  }
  return Count{static_cast<std::uint64_t>(value)};
}

accounting::Effort effort_of(std::optional<double> width) {
  if (!width) return {};
  if (!(*width > 0) || !is_finite(*width)) refuse_quantity("width", *width, "finite and greater than 0");
  return {.width = *width};
}

Block::Block(nb::handle array, const char* name, Use use) {
  const int writable = use == Use::change ? PyBUF_WRITABLE : 0;
  if (PyObject_CheckBuffer(array.ptr()) == 0) {
    PyErr_Format(PyExc_TypeError, "%s is of type %.100U, must be an array of float64, float32 or int64", name,
                 nb::steal(PyType_GetName(Py_TYPE(array.ptr()))).ptr());
    python_error();
  }
  if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | writable) != 0) {
    // In whatever words its package has for it.
    nb::python_error refused;
    const nb::object reason = nb::str(refused.value());
    PyErr_Format(refused.type().ptr(),
                 "%s cannot be used as it lies in memory (%U), must be %sone block in C order of float64, float32 or int64", name,
                 reason.ptr(), use == Use::change ? "writable and " : "");
    python_error();
  }
  std::string_view format = view_.format == nullptr ? "B" : view_.format;
  if (!format.empty() && (format.front() == '@' || format.front() == '=')) format.remove_prefix(1);
  kind_ = format.size() == 1 ? format.front() : '?';
  if (kind_ == 'q' || (kind_ == 'l' && view_.itemsize == 8)) kind_ = 'l';
  const auto address = reinterpret_cast<std::uintptr_t>(view_.buf);
  const bool aligned = view_.itemsize > 0 && address % static_cast<std::uintptr_t>(view_.itemsize) == 0;
  if ((kind_ == 'd' || kind_ == 'f' || kind_ == 'l') && aligned) return;
  const std::string found = view_.format == nullptr ? "bytes" : std::string{"of format '"} + view_.format + "'";
  PyBuffer_Release(&view_);
  const std::string reason = std::string{name} + (kind_ == 'd' || kind_ == 'f' || kind_ == 'l' ? " is not aligned" : " is " + found) +
                             ", must be an aligned array of float64, float32 or int64 in this machine's byte order";
  PyErr_SetString(PyExc_TypeError, reason.c_str());
  python_error();
}

std::span<double> Block::doubles(const char* name) const {
  if (const auto found = of<double>()) return *found;
  PyErr_SetString(PyExc_TypeError, (std::string{name} + " must be an array of float64").c_str());
  python_error();
}

}  // namespace surety::python
