#include "objects.h"

#include <datetime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
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

/// Classes whose objects are many, and are not asked by way of Python.
struct Classes {
  nb::object decimal = class_of("decimal", "Decimal");
  nb::object integer = class_of("numpy", "integer");
  nb::object floating = class_of("numpy", "floating");
  nb::object timestamp = class_of("pandas", "Timestamp");
  nb::object timedelta = class_of("pandas", "Timedelta");
};
bool is_of(PyObject* object, const nb::object& its_class) {
  return its_class.is_valid() && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(its_class.ptr())) != 0;
}

class Cells {
 public:
  Cells(nb::handle convert, std::size_t rows) : convert_{convert} {
    types_.reserve(rows);
    places_.reserve(rows);
    ends_.push_back(0);
    if (PyDateTimeAPI == nullptr) PyDateTime_IMPORT;
    if (PyDateTimeAPI == nullptr) python_error();
  }

  void add(nb::handle object) {
    if (!add_plain(object) && !add_time(object.ptr())) add_converted(or_nothing(PyObject_CallOneArg(convert_.ptr(), object.ptr())));
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
    const auto digits = or_nothing(PyLong_Type.tp_repr(object.ptr()));
    if (!digits.is_valid()) return add_infinity(beyond < 0);
    add_digits(letters_of(digits));
  }
  void add_letters(nb::handle object) {
    if (PyUnicode_IS_COMPACT_ASCII(object.ptr())) {
      return add_text({reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(object.ptr())),
                       static_cast<std::size_t>(PyUnicode_GET_LENGTH(object.ptr()))});
    }
    // Not as Python keeps it from then on beside the text.
    auto bytes = or_nothing(PyUnicode_AsUTF8String(object.ptr()));
    if (!bytes.is_valid()) bytes = or_nothing(PyUnicode_AsEncodedString(object.ptr(), "utf-8", "surrogatepass"));
    if (!bytes.is_valid()) return add_nothing();
    add_bytes(bytes);
  }
  void add_bytes(nb::handle object) {
    add_text({PyBytes_AS_STRING(object.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(object.ptr()))});
  }
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
      add_number(PyFloat_AS_DOUBLE(it));
    } else if (PyBool_Check(it)) {
      add_truth(it == Py_True);
    } else if (PyLong_Check(it)) {
      add_long(object);
    } else if (PyBytes_Check(it)) {
      add_bytes(object);
    } else if (is_of(it, classes_.decimal)) {
      // As the class itself writes it, whatever one that derives of it does.
      const auto written = or_nothing(reinterpret_cast<PyTypeObject*>(classes_.decimal.ptr())->tp_str(it));
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
  static std::int64_t days_since_1970(int year, int month, int day) {
    using namespace std::chrono;
    return sys_days{std::chrono::year{year} / month / day}.time_since_epoch().count();
  }
  /// False for times of other classes, and of zones.
  bool add_time(PyObject* it) {
    constexpr std::int64_t second = 1'000'000;
    if (PyDateTime_CheckExact(it) && PyDateTime_DATE_GET_TZINFO(it) == Py_None) {
      const auto day = days_since_1970(PyDateTime_GET_YEAR(it), PyDateTime_GET_MONTH(it), PyDateTime_GET_DAY(it));
      const std::int64_t minute = day * 1440 + PyDateTime_DATE_GET_HOUR(it) * 60 + PyDateTime_DATE_GET_MINUTE(it);
      add_units(instant_in_microseconds, (minute * 60 + PyDateTime_DATE_GET_SECOND(it)) * second + PyDateTime_DATE_GET_MICROSECOND(it));
    } else if (PyDate_CheckExact(it)) {
      add_day(static_cast<std::int32_t>(days_since_1970(PyDateTime_GET_YEAR(it), PyDateTime_GET_MONTH(it), PyDateTime_GET_DAY(it))));
    } else if (PyDelta_CheckExact(it)) {
      const std::int64_t seconds = std::int64_t{PyDateTime_DELTA_GET_DAYS(it)} * data::seconds_of_day + PyDateTime_DELTA_GET_SECONDS(it);
      constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / second - 1;
      if (seconds > most || seconds < -most) {
        add_units(duration_in_seconds, seconds);
      } else {
        add_units(duration_in_microseconds, seconds * second + PyDateTime_DELTA_GET_MICROSECONDS(it));
      }
    } else if (PyTime_CheckExact(it)) {
      const std::int64_t minute = PyDateTime_TIME_GET_HOUR(it) * 60 + PyDateTime_TIME_GET_MINUTE(it);
      add_units(microsecond_of_day, (minute * 60 + PyDateTime_TIME_GET_SECOND(it)) * second + PyDateTime_TIME_GET_MICROSECOND(it));
    } else if (is_of(it, classes_.timestamp)) {
      return add_nanoseconds(it, instant_in_nanoseconds);
    } else if (is_of(it, classes_.timedelta)) {
      return add_nanoseconds(it, duration_in_nanoseconds);
    } else {
      return false;
    }
    return true;
  }
  /// Of pandas; false beyond 64 bits.
  bool add_nanoseconds(PyObject* it, std::int8_t member) {
    const auto value = or_nothing(PyObject_GetAttr(it, value_.ptr()));
    if (!value.is_valid() || !PyLong_CheckExact(value.ptr())) return false;
    int beyond = 0;
    const long long units = PyLong_AsLongLongAndOverflow(value.ptr(), &beyond);
    if (beyond != 0) return false;
    add_units(member, units);
    return true;
  }

  void add_converted(const nb::object& made) {
    if (!made.is_valid()) return add_nothing();
    if (!PyTuple_CheckExact(made.ptr())) {
      if (!add_plain(made)) add_nothing();
      return;
    }
    int beyond = 0;
    const bool is_pair =
        PyTuple_GET_SIZE(made.ptr()) == 2 && PyLong_Check(PyTuple_GET_ITEM(made.ptr(), 0)) && PyLong_Check(PyTuple_GET_ITEM(made.ptr(), 1));
    const long member = is_pair ? PyLong_AsLongAndOverflow(PyTuple_GET_ITEM(made.ptr(), 0), &beyond) : 0;
    if (!is_pair || beyond != 0 || member < first_time || member >= static_cast<long>(member_count)) return add_nothing();
    const long long units = PyLong_AsLongLongAndOverflow(PyTuple_GET_ITEM(made.ptr(), 1), &beyond);
    if (beyond != 0 || (member == days && units != static_cast<std::int32_t>(units))) return add_nothing();
    if (member == days) {
      add_day(static_cast<std::int32_t>(units));
    } else {
      add_units(static_cast<std::int8_t>(member), units);
    }
  }

  void lay_out() {
    // The thread that releases the cells may not hold the lock.
    classes_ = {.decimal = {}, .integer = {}, .floating = {}, .timestamp = {}, .timedelta = {}};
    value_ = {};
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
  nb::object value_ = nb::steal(PyUnicode_InternFromString("value"));
  Classes classes_;
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
