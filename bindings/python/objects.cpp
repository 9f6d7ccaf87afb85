#include "objects.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/data/reading/cell_text.h>
#include <surety/data/reading/text_reader.h>

#include "calls.h"

namespace surety::python {
namespace {

/// The members of the union by their type ids. `_sources._cell_of` names those of times.
enum Member : std::int8_t { nothing, text, truth, integer, number, first_time };
constexpr std::array members{"n", "U", "b", "l", "g", "tdD", "tss:", "tsm:", "tsu:", "tsn:", "tDs", "tDm", "tDu", "tDn", "ttu", "ttn"};
constexpr const char* format_of_union = "+ud:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15";
constexpr std::size_t member_count = members.size();
constexpr std::int8_t days = first_time;
constexpr std::int8_t instant_in_microseconds = 8;
constexpr std::int8_t instant_in_nanoseconds = 9;
constexpr std::int8_t duration_in_seconds = 10;
constexpr std::int8_t duration_in_microseconds = 12;
constexpr std::int8_t duration_in_nanoseconds = 13;
constexpr std::int8_t microsecond_of_day = 14;
constexpr std::int64_t second = 1'000'000;  ///< in microseconds

template <class Struct>
void release_child(Struct* one) {
  one->release = nullptr;  // it lives as long as its parent
}
template <class Struct, class Holder>
void release_parent(Struct* one) {
  for (std::int64_t k = 0; k < one->n_children; ++k) {
    if (one->children[k]->release != nullptr) one->children[k]->release(one->children[k]);
  }
  delete static_cast<Holder*>(one->private_data);
  one->release = nullptr;
}

struct SchemaHolder {
  std::string name;
  std::array<ArrowSchema, member_count> members = {};
  std::array<ArrowSchema*, member_count> pointers = {};
};

/// Decimal digits as `cell_text.h` has them, of what Python writes of a number: "-7.00", "1E+3", "1.5E-9". Nothing for what is too large for a double.
/// \pre it is no NaN and no infinity
std::string plain_digits(std::string_view written) {
  constexpr std::int64_t most_digits = 5000;
  const bool is_negative = written.starts_with('-');
  if (is_negative || written.starts_with('+')) written.remove_prefix(1);
  const auto mark = std::min(written.find_first_of("eE"), written.size());
  std::int64_t exponent = 0;
  for (const char byte : written.substr(std::min(mark + 1, written.size()))) {
    if (byte >= '0' && byte <= '9') exponent = std::min<std::int64_t>(exponent * 10 + (byte - '0'), std::int64_t{1} << 40);
  }
  if (mark + 1 < written.size() && written[mark + 1] == '-') exponent = -exponent;
  std::string digits;
  std::int64_t decimals = 0;
  bool is_behind = false;
  for (const char byte : written.substr(0, mark)) {
    if (byte == '.') {
      is_behind = true;
    } else {
      digits += byte;
      decimals += is_behind ? 1 : 0;
    }
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return "0";
  decimals -= exponent;
  while (digits.back() == '0' && decimals > 0) {
    digits.pop_back();
    --decimals;
  }
  if (std::abs(decimals) > most_digits) {
    // So near to zero, or so far, that zeros would fill memory.
    return decimals < 0 ? std::string{} : (is_negative ? "-" : "") + digits + "E-" + std::to_string(decimals);
  }
  if (decimals < 0) digits.append(static_cast<std::size_t>(-decimals), '0');
  if (decimals > 0) {
    const auto behind = static_cast<std::size_t>(decimals);
    if (digits.size() <= behind) digits.insert(0, behind + 1 - digits.size(), '0');
    digits.insert(digits.size() - behind, 1, '.');
  }
  return is_negative ? "-" + digits : digits;
}

/// What an object raises is forgotten: it is no cell. Control-C and a lack of memory are nobody's cell. \throws nb::python_error for these
nb::object or_nothing(PyObject* made) {
  if (made == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0 || PyErr_ExceptionMatches(PyExc_MemoryError) != 0) python_error();
    PyErr_Clear();
  }
  return nb::steal(made);
}

/// A class of a module that is imported already: without it there is no object of it.
nb::object class_of(const char* module, const char* name) {
  const auto module_name = or_nothing(PyUnicode_FromString(module));
  const auto found = module_name.is_valid() ? nb::steal(PyImport_GetModule(module_name.ptr())) : nb::object{};
  if (!found.is_valid()) {
    PyErr_Clear();
    return {};
  }
  auto made = or_nothing(PyObject_GetAttrString(found.ptr(), name));
  return made.is_valid() && PyType_Check(made.ptr()) ? made : nb::object{};
}

/// A function of a type, as the limited C interface has it. \pre the type has it
template <class Function>
Function slot_of(PyObject* type, int slot) {
  void* const found = PyType_GetSlot(reinterpret_cast<PyTypeObject*>(type), slot);
  return reinterpret_cast<Function>(found);
}

/// Classes whose objects are many, and are not asked by way of Python.
struct Classes {
  nb::object date_and_time = class_of("datetime", "datetime");
  nb::object date = class_of("datetime", "date");
  nb::object duration = class_of("datetime", "timedelta");
  nb::object time = class_of("datetime", "time");
  nb::object decimal = class_of("decimal", "Decimal");
  nb::object integer = class_of("numpy", "integer");
  nb::object floating = class_of("numpy", "floating");
  nb::object timestamp = class_of("pandas", "Timestamp");
  nb::object timedelta = class_of("pandas", "Timedelta");
};
bool is_of(PyObject* object, const nb::object& its_class) {
  return its_class.is_valid() && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(its_class.ptr())) != 0;
}

/// Whether it is of this class and of none that derives of it.
bool is_exactly(PyObject* object, const nb::object& its_class) {
  return its_class.is_valid() && reinterpret_cast<PyObject*>(Py_TYPE(object)) == its_class.ptr();
}

/// Attributes of times.
struct Names {
  static nb::object of(const char* name) { return nb::steal(PyUnicode_InternFromString(name)); }
  nb::object zone = of("tzinfo");
  std::array<nb::object, 3> date = {of("year"), of("month"), of("day")};
  std::array<nb::object, 4> time = {of("hour"), of("minute"), of("second"), of("microsecond")};
  std::array<nb::object, 3> duration = {of("days"), of("seconds"), of("microseconds")};
  std::array<nb::object, 1> value = {of("value")};
};

/// Attributes that are whole numbers; nothing where one is none, or one beyond 64 bits.
template <std::size_t size>
std::optional<std::array<std::int64_t, size>> numbers_of(PyObject* object, const std::array<nb::object, size>& names) {
  std::array<std::int64_t, size> numbers{};
  for (std::size_t k = 0; k < size; ++k) {
    const auto found = or_nothing(PyObject_GetAttr(object, names[k].ptr()));
    if (!found.is_valid() || !PyLong_CheckExact(found.ptr())) return std::nullopt;
    int beyond = 0;
    numbers[k] = PyLong_AsLongLongAndOverflow(found.ptr(), &beyond);
    if (beyond != 0) return std::nullopt;
  }
  return numbers;
}

class Cells {
 public:
  Cells(nb::handle convert, std::size_t rows) : convert_{convert} {
    types_.reserve(rows);
    places_.reserve(rows);
    ends_.push_back(0);
  }

  void add(nb::handle object) {
    if (!add_plain(object) && !add_time(object.ptr()))
      add_converted(or_nothing(PyObject_CallFunctionObjArgs(convert_.ptr(), object.ptr(), nullptr)));
  }

  /// \pre called once, at the end
  static void give(std::unique_ptr<Cells> cells, ArrowArray* out) {
    cells->lay_out();
    *out = {.length = static_cast<std::int64_t>(cells->types_.size()),
            .null_count = 0,
            .offset = 0,
            .n_buffers = 2,
            .n_children = static_cast<std::int64_t>(member_count),
            .buffers = cells->own_buffers_.data(),
            .children = cells->pointers_.data(),
            .dictionary = nullptr,
            .release = release_parent<ArrowArray, Cells>,
            .private_data = cells.get()};
    static_cast<void>(cells.release());
  }

 private:
  void put(std::int8_t member, std::size_t place) {
    types_.push_back(member);
    places_.push_back(static_cast<std::int32_t>(place));
  }
  void add_nothing() { put(nothing, 0); }
  void add_truth(bool is_true) { put(truth, is_true ? 1 : 0); }
  void add_text(std::string_view letters) {
    put(text, ends_.size() - 1);
    letters_ += letters;
    ends_.push_back(static_cast<std::int64_t>(letters_.size()));
  }
  void add_integer(std::int64_t value) {
    put(integer, integers_.size());
    integers_.push_back(value);
  }
  void add_number(double value) {
    if (std::isnan(value)) return add_nothing();
    put(number, numbers_.size());
    numbers_.push_back(value);
  }
  /// Of any number of digits.
  void add_digits(std::string_view written) {
    if (written.find_first_of("nN") != std::string_view::npos) {  // an infinity, or no number
      return written.find_first_of("fF") == std::string_view::npos ? add_nothing() : add_infinity(written.starts_with('-'));
    }
    const std::string digits = plain_digits(written);
    if (const auto whole = data::integer_in(std::string_view{digits})) return add_integer(*whole);
    if (digits.empty() || data::parse_number(digits).fault != data::NumberFault::none) return add_infinity(written.starts_with('-'));
    add_text(digits);
  }
  void add_infinity(bool is_negative) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    add_number(is_negative ? -infinity : infinity);
  }
  void add_long(nb::handle object) {
    int beyond = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &beyond);
    if (beyond == 0) return add_integer(value);
    // Not what a class of its own would write. Beyond what Python writes it is beyond all doubles.
    const auto digits = or_nothing(slot_of<reprfunc>(reinterpret_cast<PyObject*>(&PyLong_Type), Py_tp_repr)(object.ptr()));
    if (!digits.is_valid()) return add_infinity(beyond < 0);
    add_digits(letters_of(digits));
  }
  void add_letters(nb::handle object) {
#ifndef Py_LIMITED_API
    if (PyUnicode_IS_COMPACT_ASCII(object.ptr())) {
      return add_text({reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(object.ptr())),
                       static_cast<std::size_t>(PyUnicode_GET_LENGTH(object.ptr()))});
    }
#endif
    // Not as Python keeps it from then on beside the text.
    auto bytes = or_nothing(PyUnicode_AsUTF8String(object.ptr()));
    if (!bytes.is_valid()) bytes = or_nothing(PyUnicode_AsEncodedString(object.ptr(), "utf-8", "surrogatepass"));
    if (!bytes.is_valid()) return add_nothing();
    add_bytes(bytes);
  }
  void add_bytes(nb::handle object) { add_text({PyBytes_AsString(object.ptr()), static_cast<std::size_t>(PyBytes_Size(object.ptr()))}); }
  /// \pre a text of ASCII
  static std::string_view letters_of(nb::handle object) {
    Py_ssize_t size = 0;
    const char* const letters = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
    if (letters == nullptr) {
      PyErr_Clear();
      return "nan";
    }
    return {letters, static_cast<std::size_t>(size)};
  }

  /// False for what Python has to convert.
  bool add_plain(nb::handle object) {
    PyObject* const it = object.ptr();
    if (it == Py_None) {
      add_nothing();
    } else if (PyUnicode_Check(it)) {
      add_letters(object);
    } else if (PyFloat_Check(it)) {
      add_number(PyFloat_AsDouble(it));
    } else if (PyBool_Check(it)) {
      add_truth(it == Py_True);
    } else if (PyLong_Check(it)) {
      add_long(object);
    } else if (PyBytes_Check(it)) {
      add_bytes(object);
    } else if (is_of(it, classes_.decimal)) {
      // As the class itself writes it, whatever one that derives of it does.
      const auto written = or_nothing(slot_of<reprfunc>(classes_.decimal.ptr(), Py_tp_str)(it));
      if (written.is_valid()) {
        add_digits(letters_of(written));
      } else {
        add_nothing();
      }
    } else if (is_of(it, classes_.integer) && PyIndex_Check(it) != 0) {  // but for durations of NumPy, which count as integers there
      const auto value = or_nothing(PyNumber_Index(it));
      if (!value.is_valid()) return false;
      add_long(value);
    } else if (is_of(it, classes_.floating)) {
      const double value = PyFloat_AsDouble(it);
      if (value == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return false;
      }
      add_number(value);
    } else {
      return false;
    }
    return true;
  }

  void add_units(std::int8_t member, std::int64_t units) {
    auto& all = units_[static_cast<std::size_t>(member)];
    put(member, all.size());
    all.push_back(units);
  }
  void add_day(std::int32_t day) {
    put(days, days_.size());
    days_.push_back(day);
  }
  /// Since 1970; nothing for what is no day of a calendar.
  [[nodiscard]] std::optional<std::int64_t> day_of(PyObject* it) const {
    using namespace std::chrono;
    const auto found = numbers_of(it, names_.date);
    if (!found) return std::nullopt;
    const auto [year, month, day] = *found;
    if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
    const auto date = std::chrono::year{static_cast<int>(year)} / static_cast<int>(month) / static_cast<int>(day);
    return date.ok() ? std::optional<std::int64_t>{sys_days{date}.time_since_epoch().count()} : std::nullopt;
  }
  /// Of the day; nothing for what is no time.
  [[nodiscard]] std::optional<std::int64_t> microsecond_of(PyObject* it) const {
    const auto found = numbers_of(it, names_.time);
    if (!found) return std::nullopt;
    const auto [hours, minutes, seconds, microseconds] = *found;
    const auto is_digit = [](std::int64_t part, std::int64_t most) { return part >= 0 && part < most; };
    if (!is_digit(hours, 24) || !is_digit(minutes, 60) || !is_digit(seconds, 60) || !is_digit(microseconds, second)) return std::nullopt;
    return ((hours * 60 + minutes) * 60 + seconds) * second + microseconds;
  }
  /// Without a zone.
  bool add_instant(PyObject* it) {
    const auto zone = or_nothing(PyObject_GetAttr(it, names_.zone.ptr()));
    if (!zone.is_none()) return false;
    const auto day = day_of(it);
    const auto microsecond = microsecond_of(it);
    if (!day || !microsecond) return false;
    add_units(instant_in_microseconds, *day * data::seconds_of_day * second + *microsecond);
    return true;
  }
  bool add_date(PyObject* it) {
    const auto day = day_of(it);
    if (day) add_day(static_cast<std::int32_t>(*day));
    return day.has_value();
  }
  bool add_duration(PyObject* it) {
    const auto found = numbers_of(it, names_.duration);
    constexpr std::int64_t most_days = 999'999'999;  // of the class
    if (!found || std::abs((*found)[0]) > most_days || (*found)[1] < 0 || (*found)[1] >= data::seconds_of_day) return false;
    const std::int64_t seconds = (*found)[0] * data::seconds_of_day + (*found)[1];
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / second - 1;
    if (seconds > most || seconds < -most) {
      add_units(duration_in_seconds, seconds);
    } else {
      add_units(duration_in_microseconds, seconds * second + (*found)[2] % second);
    }
    return true;
  }
  bool add_time_of_day(PyObject* it) {
    const auto microsecond = microsecond_of(it);
    if (microsecond) add_units(microsecond_of_day, *microsecond);
    return microsecond.has_value();
  }
  /// Of pandas; false beyond 64 bits.
  bool add_nanoseconds(PyObject* it, std::int8_t member) {
    const auto value = numbers_of(it, names_.value);
    if (value) add_units(member, value->front());
    return value.has_value();
  }
  /// False for times of other classes, and of zones.
  bool add_time(PyObject* it) {
    if (is_exactly(it, classes_.date_and_time)) return add_instant(it);
    if (is_exactly(it, classes_.date)) return add_date(it);
    if (is_exactly(it, classes_.duration)) return add_duration(it);
    if (is_exactly(it, classes_.time)) return add_time_of_day(it);
    if (is_of(it, classes_.timestamp)) return add_nanoseconds(it, instant_in_nanoseconds);
    if (is_of(it, classes_.timedelta)) return add_nanoseconds(it, duration_in_nanoseconds);
    return false;
  }

  void add_converted(const nb::object& made) {
    if (!made.is_valid()) return add_nothing();
    if (!PyTuple_CheckExact(made.ptr())) {
      if (!add_plain(made)) add_nothing();
      return;
    }
    int beyond = 0;
    const auto item = [&](Py_ssize_t place) { return PyTuple_GetItem(made.ptr(), place); };
    const bool is_pair = PyTuple_Size(made.ptr()) == 2 && PyLong_Check(item(0)) && PyLong_Check(item(1));
    const long member = is_pair ? PyLong_AsLongAndOverflow(item(0), &beyond) : 0;
    if (!is_pair || beyond != 0 || member < first_time || member >= static_cast<long>(member_count)) return add_nothing();
    const long long units = PyLong_AsLongLongAndOverflow(item(1), &beyond);
    if (beyond != 0 || (member == days && units != static_cast<std::int32_t>(units))) return add_nothing();
    if (member == days) {
      add_day(static_cast<std::int32_t>(units));
    } else {
      add_units(static_cast<std::int8_t>(member), units);
    }
  }

  void lay_out() {
    // The thread that releases the cells may not hold the lock.
    classes_ = {.date_and_time = {},
                .date = {},
                .duration = {},
                .time = {},
                .decimal = {},
                .integer = {},
                .floating = {},
                .timestamp = {},
                .timedelta = {}};
    names_ = {.zone = {}, .date = {}, .time = {}, .duration = {}, .value = {}};
    own_buffers_ = {types_.data(), places_.data()};
    const auto child = [&](std::size_t member, std::size_t length, std::array<const void*, 3> buffers, std::int64_t buffer_count) {
      buffers_[member] = buffers;
      children_[member] = {.length = static_cast<std::int64_t>(length),
                           .null_count = 0,
                           .offset = 0,
                           .n_buffers = buffer_count,
                           .n_children = 0,
                           .buffers = buffers_[member].data(),
                           .children = nullptr,
                           .dictionary = nullptr,
                           .release = release_child<ArrowArray>,
                           .private_data = nullptr};
    };
    // Where there is nothing to point at, something must be pointed at.
    const auto place = [&](const void* begin) { return begin != nullptr ? begin : &truths_; };
    child(nothing, 1, {}, 0);
    children_[nothing].null_count = 1;
    child(text, ends_.size() - 1, {nullptr, ends_.data(), letters_.data()}, 3);
    child(truth, 2, {nullptr, &truths_, nullptr}, 2);
    child(integer, integers_.size(), {nullptr, place(integers_.data()), nullptr}, 2);
    child(number, numbers_.size(), {nullptr, place(numbers_.data()), nullptr}, 2);
    child(days, days_.size(), {nullptr, place(days_.data()), nullptr}, 2);
    for (std::size_t k = days + 1; k < member_count; ++k) child(k, units_[k].size(), {nullptr, place(units_[k].data()), nullptr}, 2);
    for (std::size_t k = 0; k < member_count; ++k) pointers_[k] = &children_[k];
  }

  nb::handle convert_;
  Classes classes_;
  Names names_;
  std::vector<std::int8_t> types_;
  std::vector<std::int32_t> places_;
  std::vector<std::int64_t> ends_;
  std::string letters_;
  std::vector<std::int64_t> integers_;
  std::vector<double> numbers_;
  std::vector<std::int32_t> days_;
  std::array<std::vector<std::int64_t>, member_count> units_;
  std::uint8_t truths_ = 0b10;
  std::array<const void*, 2> own_buffers_ = {};
  std::array<std::array<const void*, 3>, member_count> buffers_ = {};
  std::array<ArrowArray, member_count> children_ = {};
  std::array<ArrowArray*, member_count> pointers_ = {};
};

}  // namespace

void export_schema_of_objects(const char* name, ArrowSchema* out) {
  auto held = std::make_unique<SchemaHolder>();
  held->name = name;
  for (std::size_t k = 0; k < member_count; ++k) {
    held->members[k] = {.format = members[k],
                        .name = members[k],
                        .metadata = nullptr,
                        .flags = ARROW_FLAG_NULLABLE,
                        .n_children = 0,
                        .children = nullptr,
                        .dictionary = nullptr,
                        .release = release_child<ArrowSchema>,
                        .private_data = nullptr};
    held->pointers[k] = &held->members[k];
  }
  *out = {.format = format_of_union,
          .name = held->name.c_str(),
          .metadata = nullptr,
          .flags = ARROW_FLAG_NULLABLE,
          .n_children = static_cast<std::int64_t>(member_count),
          .children = held->pointers.data(),
          .dictionary = nullptr,
          .release = release_parent<ArrowSchema, SchemaHolder>,
          .private_data = held.get()};
  static_cast<void>(held.release());
}

void export_objects(nb::handle objects, nb::handle convert, ArrowArray* out) {
  const auto rows = static_cast<std::size_t>(nb::len(objects));
  auto cells = std::make_unique<Cells>(convert, rows);
  for (std::size_t k = 0; k < rows; ++k) {
    // The conversion of one object may change the list, so each item is fetched by its place.
    const nb::object object = or_nothing(PySequence_GetItem(objects.ptr(), static_cast<Py_ssize_t>(k)));
    cells->add(object.is_valid() ? object : nb::none());
  }
  Cells::give(std::move(cells), out);
}

}  // namespace surety::python
