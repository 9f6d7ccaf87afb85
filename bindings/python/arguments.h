// Arguments as the module's functions take them apart.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/events/units.h>

#include "calls.h"

namespace surety::python {

/// A whole number from 1 on. \param what its name in a refusal
[[nodiscard]] Count count_of(nb::handle number, const char* what);

[[nodiscard]] accounting::Effort effort_of(std::optional<double> width);

/// The memory of an array that is one block of C order, held as long as this lives: whoever has it cannot resize it meanwhile.
class Block {
 public:
  enum class Use { change, read };

  /// A TypeError of Python unless it is an aligned array of float64, float32 or int64. \param name how a refusal calls it
  Block(nb::handle array, const char* name, Use use = Use::change);
  ~Block() { PyBuffer_Release(&view_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// The values, if they are of this type.
  template <class T>
  [[nodiscard]] std::optional<std::span<T>> of() const {
    constexpr char kind = std::is_same_v<T, double> ? 'd' : std::is_same_v<T, float> ? 'f' : 'l';
    if (kind_ != kind) return std::nullopt;
    return std::span{static_cast<T*>(view_.buf), static_cast<std::size_t>(view_.len) / sizeof(T)};
  }
  /// A TypeError of Python unless it holds doubles.
  [[nodiscard]] std::span<double> doubles(const char* name) const;

 private:
  Py_buffer view_{};
  char kind_ = '?';
};

}  // namespace surety::python
