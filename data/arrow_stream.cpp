#include <surety/data/arrow_stream.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/data/keyed_texts.h>

namespace surety::data {

namespace {

using Kind = ArrowType::Kind;

/// Beyond any memory, and far from overflow in bytes or bits.
constexpr std::int64_t most_rows = std::int64_t{1} << 56;
constexpr std::int64_t milliseconds_of_day = 86'400'000;
constexpr std::size_t view_bytes = 16;
constexpr std::size_t inline_bytes = 12;

template <class T>
T loaded(const unsigned char* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

bool bit(const unsigned char* bits, std::size_t place) noexcept { return (bits[place / 8] >> (place % 8) & 1) != 0; }

struct Format {
  std::string_view letters;
  ArrowType type;
  std::string_view name;
};
constexpr ArrowType of(Kind kind, int bytes = 0, std::int64_t units = 1) { return {.kind = kind, .bytes = bytes, .units = units}; }
constexpr std::array formats{
    Format{"n", of(Kind::null), "null"}, Format{"b", of(Kind::boolean), "bool"}, Format{"c", of(Kind::integer, 1), "int8"},
    Format{"C", of(Kind::unsigned_integer, 1), "uint8"}, Format{"s", of(Kind::integer, 2), "int16"},
    Format{"S", of(Kind::unsigned_integer, 2), "uint16"}, Format{"i", of(Kind::integer, 4), "int32"},
    Format{"I", of(Kind::unsigned_integer, 4), "uint32"}, Format{"l", of(Kind::integer, 8), "int64"},
    Format{"L", of(Kind::unsigned_integer, 8), "uint64"}, Format{"e", of(Kind::floating, 2), "float16"},
    Format{"f", of(Kind::floating, 4), "float32"}, Format{"g", of(Kind::floating, 8), "float64"}, Format{"u", of(Kind::text, 4), "utf8"},
    Format{"U", of(Kind::text, 8), "large_utf8"}, Format{"vu", of(Kind::text_view, view_bytes), "utf8_view"},
    Format{"tdD", of(Kind::date, 4), "date32"}, Format{"tdm", of(Kind::date, 8, milliseconds_of_day), "date64"},
    Format{"tts", of(Kind::time, 4), "time32"}, Format{"ttm", of(Kind::time, 4, 1'000), "time32"},
    Format{"ttu", of(Kind::time, 8, 1'000'000), "time64"}, Format{"ttn", of(Kind::time, 8, 1'000'000'000), "time64"},
    Format{"tDs", of(Kind::time, 8), "duration"}, Format{"tDm", of(Kind::time, 8, 1'000), "duration"},
    Format{"tDu", of(Kind::time, 8, 1'000'000), "duration"}, Format{"tDn", of(Kind::time, 8, 1'000'000'000), "duration"},
    // What cannot be used has a name for people.
    Format{"z", {}, "binary"}, Format{"Z", {}, "large_binary"}, Format{"vz", {}, "binary_view"}, Format{"+l", {}, "list"},
    Format{"+L", {}, "large_list"}, Format{"+vl", {}, "list_view"}, Format{"+s", {}, "struct"}, Format{"+m", {}, "map"},
    Format{"+r", {}, "run_end_encoded"}};

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{value} : std::nullopt;
}

/// Of "d:19,10" and "d:19,10,256".
ArrowType decimal_of(std::string_view parameters) {
  std::array<int, 3> numbers{0, 0, 128};
  std::size_t count = 0;
  for (;;) {
    const auto end = std::min(parameters.find(','), parameters.size());
    const auto number = whole(parameters.substr(0, end));
    if (!number || count == numbers.size()) return {};
    numbers[count++] = *number;
    if (end == parameters.size()) break;
    parameters.remove_prefix(end + 1);
  }
  const auto [precision, scale, bits] = numbers;
  constexpr int most_digits = 76;
  const bool is_width = bits == 32 || bits == 64 || bits == 128 || bits == 256;
  if (count < 2 || !is_width || precision < 1 || precision > most_digits || std::abs(scale) > most_digits) return {};
  return {.kind = Kind::decimal, .bytes = bits / 8, .scale = scale};
}

ArrowType type_of(std::string_view format) {
  const auto* const found = std::find_if(formats.begin(), formats.end(), [&](const Format& one) { return one.letters == format; });
  if (found != formats.end()) return found->type;
  if (format.starts_with("d:")) return decimal_of(format.substr(2));
  if (format.starts_with("ts") && format.size() > 3 && format[3] == ':') {
    switch (format[2]) {
      case 's': return of(Kind::time, 8);
      case 'm': return of(Kind::time, 8, 1'000);
      case 'u': return of(Kind::time, 8, 1'000'000);
      case 'n': return of(Kind::time, 8, 1'000'000'000);
      default: break;
    }
  }
  return {};
}

std::string_view name_of(std::string_view format) {
  const auto* const found = std::find_if(formats.begin(), formats.end(), [&](const Format& one) { return one.letters == format; });
  if (found != formats.end()) return found->name;
  if (format.starts_with("d:")) return "decimal";
  if (format.starts_with("ts")) return "timestamp";
  if (format.starts_with("w:")) return "fixed_size_binary";
  if (format.starts_with("+w:")) return "fixed_size_list";
  if (format.starts_with("+u")) return "union";
  if (format.starts_with("ti")) return "interval";
  return "an unknown type";
}

bool is_integer(Kind kind) { return kind == Kind::integer || kind == Kind::unsigned_integer; }

ArrowColumn column_of(const ArrowSchema& schema, std::size_t place) {
  if (schema.release == nullptr || schema.format == nullptr) ArrowStream::refuse(fmt::format("column {} has no format", place + 1));
  ArrowColumn column{
      .name = schema.name == nullptr ? "" : schema.name, .format = schema.format, .type = type_of(schema.format), .indices = {}};
  if (schema.dictionary == nullptr) return column;
  const auto& values = *schema.dictionary;
  if (values.release == nullptr || values.format == nullptr) {
    ArrowStream::refuse(fmt::format("the dictionary of column {} has no format", in_quotes(column.name)));
  }
  column.indices = column.type;
  column.format = values.format;
  const bool is_simple = is_integer(column.indices->kind) && values.dictionary == nullptr;
  column.type = is_simple ? type_of(values.format) : ArrowType{};
  return column;
}

/// Digits of a number of `limbs` 32 bits each, the least first, which becomes 0.
std::string digits_of(std::span<std::uint32_t> limbs) {
  std::string digits;
  for (;;) {
    std::uint64_t rest = 0;
    bool is_zero = true;
    for (std::size_t k = limbs.size(); k-- > 0;) {
      const std::uint64_t all = rest << 32 | limbs[k];
      limbs[k] = static_cast<std::uint32_t>(all / 1'000'000'000);
      rest = all % 1'000'000'000;
      is_zero = is_zero && limbs[k] == 0;
    }
    digits.insert(0, is_zero ? fmt::format("{}", rest) : fmt::format("{:09}", rest));
    if (is_zero) return digits;
  }
}

/// The decimal in so many bytes, with all digits of its scale.
std::string decimal_text(const unsigned char* bytes, int width, int scale) {
  std::array<std::uint32_t, 8> all{};
  const std::span limbs{all.data(), static_cast<std::size_t>(width) / sizeof(std::uint32_t)};
  std::memcpy(limbs.data(), bytes, static_cast<std::size_t>(width));
  const bool is_negative = (limbs.back() >> 31) != 0;
  if (is_negative) {
    std::uint64_t carry = 1;
    for (auto& limb : limbs) {
      carry += static_cast<std::uint32_t>(~limb);
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  std::string digits = digits_of(limbs);
  if (scale < 0 && digits != "0") digits.append(static_cast<std::size_t>(-scale), '0');
  if (scale > 0) {
    const auto decimals = static_cast<std::size_t>(scale);
    if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
    digits.insert(digits.size() - decimals, 1, '.');
  }
  return is_negative ? "-" + digits : digits;
}

double half_precision(std::uint16_t bits) noexcept {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  double value = exponent == 0x1f ? (fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN())
                 : exponent == 0  ? std::ldexp(fraction, -24)
                                  : std::ldexp(fraction + 0x400, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

ParsedNumber finite(double value) noexcept { return {value, std::isfinite(value) ? NumberFault::none : NumberFault::not_finite}; }

std::int64_t floor_of(std::int64_t value, std::int64_t divisor) noexcept {
  const std::int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

}  // namespace

bool ArrowColumn::can_be(CellUse use) const noexcept {
  switch (type.kind) {
    case Kind::null:
    case Kind::text:
    case Kind::text_view:
    case Kind::date: return true;
    case Kind::boolean:
    case Kind::integer:
    case Kind::unsigned_integer:
    case Kind::decimal: return use != CellUse::date;
    case Kind::floating:
    case Kind::time: return use == CellUse::number || use == CellUse::presence;
    case Kind::other: return false;
  }
  return false;
}

std::string describe(const ArrowColumn& column) {
  constexpr std::size_t shown = 40;
  return fmt::format("{}{} ({})", column.indices ? "dictionary of " : "", name_of(column.format), one_line(column.format, shown));
}

ArrowCells::ArrowCells(const ArrowArray& array, const ArrowColumn& column, std::size_t first, std::size_t size,
                       const unsigned char* row_bits, std::size_t first_row_bit)
    : type_{column.indices.value_or(column.type)}, row_bits_{row_bits}, first_row_bit_{first_row_bit} {
  using namespace std::string_view_literals;
  if ((array.dictionary != nullptr) != column.indices.has_value()) throw "has a dictionary in its schema or in a batch alone"sv;
  read_buffers(array, first, size);
  if (!column.indices) return;
  const auto& dictionary = *array.dictionary;
  if (dictionary.release == nullptr) throw "has a dictionary that was released"sv;
  if (!(dictionary.length >= 0 && dictionary.length <= most_rows)) throw "has a dictionary of a length that is none"sv;
  const ArrowColumn values{.name = {}, .format = column.format, .type = column.type, .indices = {}};
  values_ =
      std::shared_ptr<const ArrowCells>{new ArrowCells{dictionary, values, 0, static_cast<std::size_t>(dictionary.length), nullptr, 0}};
  for (std::size_t row = 0; row < size_; ++row) {
    if (!has_own_null(row) && !(index(row) < values_->size_)) throw "has an index beyond its dictionary"sv;
  }
}

void ArrowCells::read_buffers(const ArrowArray& array, std::size_t first, std::size_t size) {
  using namespace std::string_view_literals;
  if (!(array.length >= 0 && array.length <= most_rows && array.offset >= 0 && array.offset <= most_rows)) {
    throw "has a length or an offset that is none"sv;
  }
  if (!(array.null_count >= -1 && array.null_count <= array.length)) throw "has a number of nulls that is none"sv;
  if (!(first <= static_cast<std::size_t>(array.length) && size <= static_cast<std::size_t>(array.length) - first)) {
    throw "is shorter than its batch"sv;
  }
  size_ = size;
  first_ = static_cast<std::size_t>(array.offset) + first;
  if (type_.kind == Kind::null) return;
  const bool is_view = type_.kind == Kind::text_view;
  const std::int64_t buffers = type_.kind == Kind::text ? 3 : 2;
  constexpr std::int64_t most_buffers = std::int64_t{1} << 31;
  const bool is_as_many = is_view ? array.n_buffers >= 3 && array.n_buffers <= most_buffers : array.n_buffers == buffers;
  if (!is_as_many || array.buffers == nullptr) throw "has another number of buffers than its type"sv;
  const auto buffer = [&](std::int64_t k) { return static_cast<const unsigned char*>(array.buffers[k]); };
  if (array.null_count != 0) bits_ = buffer(0);
  if (array.null_count > 0 && bits_ == nullptr) throw "has nulls and says not where"sv;
  data_ = buffer(1);
  if (data_ == nullptr && size > 0) throw "has no values"sv;
  if (type_.kind == Kind::text) bytes_ = buffer(2);
  if (is_view) {
    text_buffers_ = array.buffers + 2;
    text_buffer_count_ = static_cast<std::size_t>(array.n_buffers - 3);
    text_buffer_sizes_ = buffer(array.n_buffers - 1);
    if (text_buffer_count_ > 0 && text_buffer_sizes_ == nullptr) throw "has texts whose lengths are nowhere"sv;
  }
  if (type_.kind == Kind::text || is_view) check_texts();
}

void ArrowCells::check_texts() const {
  using namespace std::string_view_literals;
  if (size_ == 0) return;
  if (type_.kind == Kind::text) {
    const auto offset = [&](std::size_t k) {
      return type_.bytes == 4 ? loaded<std::int32_t>(data_ + (first_ + k) * 4) : loaded<std::int64_t>(data_ + (first_ + k) * 8);
    };
    std::int64_t last = offset(0);
    if (last < 0) throw "has a text that begins before the first one"sv;
    const std::int64_t begin = last;
    for (std::size_t k = 1; k <= size_; ++k) {
      const std::int64_t next = offset(k);
      if (next < last) throw "has a text that ends before it begins"sv;
      last = next;
    }
    if (last > most_rows || (last > begin && bytes_ == nullptr)) throw "has texts that are nowhere"sv;
    return;
  }
  for (std::size_t row = 0; row < size_; ++row) {
    if (has_own_null(row)) continue;
    const auto* const view = data_ + (first_ + row) * view_bytes;
    const auto length = loaded<std::int32_t>(view);
    if (length < 0) throw "has a text that ends before it begins"sv;
    if (static_cast<std::size_t>(length) <= inline_bytes) continue;
    const auto buffer = loaded<std::int32_t>(view + 8);
    const auto offset = loaded<std::int32_t>(view + 12);
    if (!(buffer >= 0 && static_cast<std::size_t>(buffer) < text_buffer_count_ && offset >= 0)) throw "has a text in no buffer"sv;
    const auto bytes = loaded<std::int64_t>(text_buffer_sizes_ + static_cast<std::size_t>(buffer) * 8);
    if (text_buffers_[buffer] == nullptr || std::int64_t{offset} + length > bytes) throw "has a text that ends behind its buffer"sv;
  }
}

bool ArrowCells::has_own_null(std::size_t row) const noexcept {
  if (type_.kind == Kind::null) return true;
  return (bits_ != nullptr && !bit(bits_, first_ + row)) || (row_bits_ != nullptr && !bit(row_bits_, first_row_bit_ + row));
}

bool ArrowCells::is_null(std::size_t row) const noexcept {
  return has_own_null(row) || (values_ && values_->has_own_null(static_cast<std::size_t>(index(row))));
}

std::int64_t ArrowCells::signed_value(std::size_t row) const noexcept {
  const std::size_t place = first_ + row;
  switch (type_.bytes) {
    case 1: return loaded<std::int8_t>(data_ + place);
    case 2: return loaded<std::int16_t>(data_ + 2 * place);
    case 4: return loaded<std::int32_t>(data_ + 4 * place);
    default: return loaded<std::int64_t>(data_ + 8 * place);
  }
}

std::uint64_t ArrowCells::unsigned_value(std::size_t row) const noexcept {
  const std::size_t place = first_ + row;
  switch (type_.bytes) {
    case 1: return loaded<std::uint8_t>(data_ + place);
    case 2: return loaded<std::uint16_t>(data_ + 2 * place);
    case 4: return loaded<std::uint32_t>(data_ + 4 * place);
    default: return loaded<std::uint64_t>(data_ + 8 * place);
  }
}

double ArrowCells::floating_value(std::size_t row) const noexcept {
  const std::size_t place = first_ + row;
  switch (type_.bytes) {
    case 2: return half_precision(loaded<std::uint16_t>(data_ + 2 * place));
    case 4: return static_cast<double>(loaded<float>(data_ + 4 * place));
    default: return loaded<double>(data_ + 8 * place);
  }
}

/// A negative one is beyond every dictionary.
std::uint64_t ArrowCells::index(std::size_t row) const noexcept {
  return type_.kind == Kind::integer ? static_cast<std::uint64_t>(signed_value(row)) : unsigned_value(row);
}

std::string_view ArrowCells::bytes_of_text(std::size_t row) const noexcept {
  const std::size_t place = first_ + row;
  if (type_.kind == Kind::text) {
    const auto offset = [&](std::size_t k) {
      return static_cast<std::size_t>(type_.bytes == 4 ? loaded<std::int32_t>(data_ + 4 * k) : loaded<std::int64_t>(data_ + 8 * k));
    };
    const std::size_t begin = offset(place);
    const std::size_t end = offset(place + 1);
    return begin == end ? std::string_view{} : std::string_view{reinterpret_cast<const char*>(bytes_ + begin), end - begin};
  }
  const auto* const view = data_ + place * view_bytes;
  const auto length = static_cast<std::size_t>(loaded<std::int32_t>(view));
  if (length <= inline_bytes) return {reinterpret_cast<const char*>(view + 4), length};
  const auto* const buffer = static_cast<const char*>(text_buffers_[loaded<std::int32_t>(view + 8)]);
  return {buffer + loaded<std::int32_t>(view + 12), length};
}

std::optional<std::int64_t> ArrowCells::days(std::size_t row) const noexcept {
  const std::int64_t days = floor_of(signed_value(row), type_.units);
  constexpr std::int64_t first = -719'528;  // 0000-01-01
  constexpr std::int64_t last = 2'932'896;  // 9999-12-31
  return days >= first && days <= last ? std::optional{days} : std::nullopt;
}

ParsedNumber ArrowCells::number(std::size_t row, NumberFormat format) const {
  if (values_) return values_->number(static_cast<std::size_t>(index(row)), format);
  switch (type_.kind) {
    case Kind::boolean: return {bit(data_, first_ + row) ? 1.0 : 0.0, NumberFault::none};
    case Kind::integer: return {static_cast<double>(signed_value(row)), NumberFault::none};
    case Kind::unsigned_integer: return {static_cast<double>(unsigned_value(row)), NumberFault::none};
    case Kind::floating: return finite(floating_value(row));
    case Kind::text:
    case Kind::text_view: return parse_number(bytes_of_text(row), format);
    case Kind::date: return {static_cast<double>(floor_of(signed_value(row), type_.units)), NumberFault::none};
    case Kind::time: return {static_cast<double>(signed_value(row)) / static_cast<double>(type_.units), NumberFault::none};
    case Kind::decimal:
      return parse_number(decimal_text(data_ + (first_ + row) * static_cast<std::size_t>(type_.bytes), type_.bytes, type_.scale));
    case Kind::null:
    case Kind::other: break;
  }
  return {0, NumberFault::not_a_number};
}

std::string_view ArrowCells::text(std::size_t row, std::string& buffer) const {
  if (values_) return values_->text(static_cast<std::size_t>(index(row)), buffer);
  const auto written = [&](auto value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    buffer.assign(digits.data(), end);
    return std::string_view{buffer};
  };
  switch (type_.kind) {
    case Kind::boolean: return bit(data_, first_ + row) ? "true" : "false";
    case Kind::integer: return written(signed_value(row));
    case Kind::unsigned_integer: return written(unsigned_value(row));
    case Kind::text:
    case Kind::text_view: return bytes_of_text(row);
    case Kind::date: {
      const auto found = date(row);
      buffer = found ? describe(*found) : std::string{};
      return buffer;
    }
    case Kind::decimal:
      buffer = decimal_text(data_ + (first_ + row) * static_cast<std::size_t>(type_.bytes), type_.bytes, type_.scale);
      return buffer;
    case Kind::floating:
    case Kind::time:
    case Kind::null:
    case Kind::other: break;
  }
  return {};
}

std::optional<Date> ArrowCells::date(std::size_t row) const {
  if (values_) return values_->date(static_cast<std::size_t>(index(row)));
  if (type_.kind == Kind::text || type_.kind == Kind::text_view) return parse_date(bytes_of_text(row));
  if (type_.kind != Kind::date) return std::nullopt;
  const auto found = days(row);
  return found ? std::optional{Date{static_cast<std::int32_t>(*found)}} : std::nullopt;
}

namespace {

/// Rows one behind the other. Clang 14 does not compile `std::views::iota` of GCC 12.
struct RowsBetween {
  struct Iterator {
    std::size_t row;
    std::size_t operator*() const noexcept { return row; }
    Iterator& operator++() noexcept {
      ++row;
      return *this;
    }
    bool operator!=(const Iterator& other) const noexcept { return row != other.row; }
  };
  std::size_t first;
  std::size_t last;
  [[nodiscard]] Iterator begin() const noexcept { return {first}; }
  [[nodiscard]] Iterator end() const noexcept { return {last}; }
};

}  // namespace

template <class Rows, class Load>
std::size_t ArrowCells::present(const Rows& rows, double* out, const Load& load) const {
  std::size_t there = 0;
  for (const std::size_t row : rows) {
    const double value = load(row);
    out[there] = value;
    there += std::isfinite(value) && !has_own_null(row) ? 1 : 0;
  }
  return there;
}

template <class Use>
bool ArrowCells::with_load(const Use& use) const {
  if (values_) return false;
  const auto with = [&]<class T>(T /*type*/) {
    use([&](std::size_t row) { return static_cast<double>(loaded<T>(data_ + sizeof(T) * (first_ + row))); });
    return true;
  };
  if (type_.kind == Kind::floating && type_.bytes == 8) return with(double{});
  if (type_.kind == Kind::floating && type_.bytes == 4) return with(float{});
  if (type_.kind == Kind::integer && type_.bytes == 8) return with(std::int64_t{});
  return type_.kind == Kind::integer && type_.bytes == 4 && with(std::int32_t{});
}

void ArrowCells::numbers_or_nan(std::size_t first, std::span<double> out) const {
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  const bool has_nulls = !is_whole();
  const auto fill = [&](const auto& load) {
    for (std::size_t k = 0; k < out.size(); ++k) {
      const double value = load(first + k);
      out[k] = std::isfinite(value) && !(has_nulls && has_own_null(first + k)) ? value : nothing;
    }
  };
  if (with_load(fill)) return;
  switch (values_ ? Kind::other : type_.kind) {
    case Kind::boolean:
    case Kind::integer:
    case Kind::unsigned_integer:
    case Kind::floating:
    case Kind::date:
    case Kind::time:
      return fill([&](std::size_t row) {
        const auto parsed = number(row);
        return parsed.fault == NumberFault::none ? parsed.value : nothing;
      });
    default: std::fill(out.begin(), out.end(), nothing);
  }
}

template <class Rows>
std::size_t ArrowCells::numbers_of(const Rows& rows, double* out, NumberFormat format) const {
  std::size_t there = 0;
  if (with_load([&](const auto& load) { there = present(rows, out, load); })) return there;
  for (const std::size_t row : rows) {
    if (is_null(row)) continue;
    const auto parsed = number(row, format);
    if (parsed.fault == NumberFault::none) out[there++] = parsed.value;
  }
  return there;
}

std::size_t ArrowCells::numbers(std::size_t first, std::size_t count, double* out, NumberFormat format) const {
  if (!values_ && type_.kind == Kind::floating && type_.bytes == 8 && bits_ == nullptr && row_bits_ == nullptr) {
    std::memcpy(out, data_ + 8 * (first_ + first), 8 * count);
    // Of the numbers that are not finite alone such a difference has a bit that is not 0.
    std::uint64_t odd = 0;
    for (std::size_t k = 0; k < count; ++k) odd |= std::bit_cast<std::uint64_t>(out[k] - out[k]);
    if (odd == 0) return count;
    return static_cast<std::size_t>(std::remove_if(out, out + count, [](double value) { return !std::isfinite(value); }) - out);
  }
  return numbers_of(RowsBetween{first, first + count}, out, format);
}

std::size_t ArrowCells::numbers(std::span<const std::size_t> rows, double* out, NumberFormat format) const {
  return numbers_of(rows, out, format);
}

bool ArrowCells::whole_integers(std::size_t first, std::size_t count, std::int64_t* out) const {
  if (!is_whole() || type_.kind != Kind::integer) return false;
  const auto load = [&]<class T>(T /*type*/) {
    for (std::size_t k = 0; k < count; ++k) out[k] = loaded<T>(data_ + sizeof(T) * (first_ + first + k));
  };
  switch (type_.bytes) {
    case 1: load(std::int8_t{}); break;
    case 2: load(std::int16_t{}); break;
    case 4: load(std::int32_t{}); break;
    default: load(std::int64_t{}); break;
  }
  return true;
}

std::optional<std::int64_t> ArrowCells::integer(std::size_t row) const {
  if (values_) return values_->integer(static_cast<std::size_t>(index(row)));
  if (type_.kind == Kind::integer) return signed_value(row);
  if (type_.kind != Kind::unsigned_integer) return std::nullopt;
  const std::uint64_t value = unsigned_value(row);
  return value < std::uint64_t{1} << 63 ? std::optional{static_cast<std::int64_t>(value)} : std::nullopt;
}

template <class Sink>
void ArrowCells::write(std::size_t row, Sink& out) const {
  if (has_own_null(row)) return out.byte(0);
  if (values_) return values_->write(static_cast<std::size_t>(index(row)), out);
  unsigned char tag = 0;
  std::uint64_t word = 0;
  switch (type_.kind) {
    case Kind::integer:
      tag = 1;
      word = static_cast<std::uint64_t>(signed_value(row));
      break;
    case Kind::unsigned_integer:
      word = unsigned_value(row);
      tag = word < std::uint64_t{1} << 63 ? 1 : 2;
      break;
    case Kind::floating: {
      const double value = floating_value(row);
      if (!std::isfinite(value)) return out.byte(0);
      tag = 3;
      word = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
      break;
    }
    case Kind::text:
    case Kind::text_view:
      tag = 4;
      word = bytes_of_text(row).size();
      break;
    case Kind::boolean:
      tag = 5;
      word = bit(data_, first_ + row) ? 1 : 0;
      break;
    case Kind::date:
      tag = 6;
      word = static_cast<std::uint64_t>(floor_of(signed_value(row), type_.units));
      break;
    case Kind::time:
      tag = 7;
      word = static_cast<std::uint64_t>(type_.units);
      break;
    case Kind::decimal:
      tag = 8;
      word = static_cast<std::uint64_t>(type_.scale);
      break;
    case Kind::null:
    case Kind::other: return out.byte(0);
  }
  out.byte(tag);
  out.word(word);
  write_rest(row, out);
}

/// What is longer than a word.
template <class Sink>
void ArrowCells::write_rest(std::size_t row, Sink& out) const {
  switch (type_.kind) {
    case Kind::text:
    case Kind::text_view: {
      const auto text = bytes_of_text(row);
      return out.bytes({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
    }
    case Kind::time: {
      const auto units = static_cast<std::uint64_t>(signed_value(row));
      std::array<unsigned char, sizeof(units)> bytes;
      for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<unsigned char>(units >> 8 * k);
      return out.bytes(bytes);
    }
    case Kind::decimal: {
      const auto width = static_cast<std::size_t>(type_.bytes);
      const auto* const from = data_ + (first_ + row) * width;
      std::array<unsigned char, 32> bytes;
      bytes.fill(from[width - 1] >= 0x80 ? 0xff : 0);
      std::memcpy(bytes.data(), from, width);
      return out.bytes(bytes);
    }
    default: return;
  }
}

void ArrowCells::encode(std::size_t row, std::vector<unsigned char>& out) const {
  struct {
    std::vector<unsigned char>& to;
    void byte(unsigned char byte) { to.push_back(byte); }
    void word(std::uint64_t word) {
      for (int k = 0; k < 8; ++k) to.push_back(static_cast<unsigned char>(word >> 8 * k));
    }
    void bytes(std::span<const unsigned char> bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }
  } sink{out};
  write(row, sink);
}

void ArrowCells::encode(std::span<const std::size_t> rows, HashedBytes* out) const {
  for (std::size_t k = 0; k < rows.size(); ++k) write(rows[k], out[k]);
}

bool ArrowBatch::is_null(std::size_t row) const noexcept { return !bits_.empty() && !bit(bits_.data(), first_ % 8 + row); }

ArrowCells ArrowBatch::cells(std::size_t position) const {
  const auto& column = (*columns_)[position];
  const auto* const array = arrays_[position];
  if (array == nullptr) throw Error{ErrorCode::internal, "a column of Arrow that was let go is asked for"};
  try {
    return {*array, column, first_, rows_, bits_.empty() ? nullptr : bits_.data(), first_ % 8};
  } catch (const std::string_view fault) {
    ArrowStream::refuse(fmt::format("column {} {}", in_quotes(column.name), fault));
  }
}

void ArrowBatch::keep_only(std::span<const std::size_t> positions) {
  std::vector<ArrowOwner<ArrowArray>> kept;
  std::vector<const ArrowArray*> arrays(arrays_.size(), nullptr);
  kept.reserve(positions.size());
  for (const std::size_t position : positions) {
    const auto* const array = arrays_[position];
    const auto held = std::find_if(kept_.begin(), kept_.end(), [&](auto& one) { return one.get() == array; });
    if (array == nullptr) throw Error{ErrorCode::internal, "a column of Arrow that was let go is to be kept"};
    kept.push_back(held != kept_.end() ? std::move(*held) : ArrowOwner<ArrowArray>{root_->children[position]});
    arrays[position] = kept.back().get();
  }
  kept_ = std::move(kept);
  arrays_ = std::move(arrays);
  root_ = {};
}

void ArrowStream::refuse(std::string_view reason) { throw Error{ErrorCode::bad_data, fmt::format("Arrow stream: {}", reason)}; }

void ArrowStream::refuse_producer(std::string_view failed, int code, RecordForm form) {
  is_at_end_ = true;
  std::string words;
  // They may hold data, and so may the code.
  if (form == RecordForm::is_public) {
    const bool can_say = stream_.is_there() && stream_->get_last_error != nullptr;
    const char* const said = can_say ? stream_->get_last_error(stream_.get()) : nullptr;
    words = fmt::format(" (code {}{}{})", code, said != nullptr ? ": " : "", said != nullptr ? one_line(said) : "");
  }
  refuse(fmt::format("its producer {}{}", failed, words));
}

ArrowStream::ArrowStream(ArrowArrayStream* stream, const DataLimits& limits) {
  if (stream == nullptr) invalid("there is no Arrow stream");
  if (stream->release == nullptr) invalid("the Arrow stream was released, must be read before");
  stream_ = ArrowOwner<ArrowArrayStream>{stream};
  if (stream_->get_schema == nullptr || stream_->get_next == nullptr) refuse("its producer gives neither a schema nor batches");
  ArrowSchema given{};
  const int code = stream_->get_schema(stream_.get(), &given);
  if (code != 0) refuse_producer("gives no schema", code, RecordForm::is_private);
  ArrowOwner<ArrowSchema> schema{&given};
  if (!schema.is_there() || schema->format == nullptr || std::string_view{schema->format} != "+s") {
    refuse("its schema is none of a table, must be a struct of columns");
  }
  if (!(schema->n_children >= 0 && static_cast<std::uint64_t>(schema->n_children) <= limits.columns)) {
    refuse(fmt::format("its schema has {} columns, must have at most {} unless --no-limits is given", schema->n_children, limits.columns));
  }
  std::vector<ArrowColumn> columns;
  for (std::int64_t k = 0; k < schema->n_children; ++k) {
    const auto* const column = schema->children != nullptr ? schema->children[k] : nullptr;
    if (column == nullptr) refuse(fmt::format("column {} of its schema is nowhere", k + 1));
    columns.push_back(column_of(*column, static_cast<std::size_t>(k)));
  }
  columns_ = std::make_shared<const std::vector<ArrowColumn>>(std::move(columns));
}

std::optional<ArrowBatch> ArrowStream::next(RecordForm form) {
  if (is_at_end_) return std::nullopt;
  // In a call before it may have done anything.
  if (!stream_.is_there() || stream_->get_next == nullptr) {
    is_at_end_ = true;
    refuse("its producer gave up before it said that it was at its end");
  }
  ArrowArray given{};
  const int code = stream_->get_next(stream_.get(), &given);
  if (code != 0) refuse_producer("fails", code, form);  // what it gave then is none
  ArrowBatch batch;
  batch.root_ = ArrowOwner<ArrowArray>{&given};
  if (!batch.root_.is_there()) {
    is_at_end_ = true;
    return std::nullopt;
  }
  const auto& root = *batch.root_.get();
  const auto refuse_batch = [&](std::string_view reason) {
    is_at_end_ = true;
    refuse(fmt::format("a batch {}", reason));
  };
  const auto& columns = *columns_;
  if (!(root.length >= 0 && root.length <= most_rows && root.offset >= 0 && root.offset <= most_rows)) {
    refuse_batch("has a length or an offset that is none");
  }
  if (!(root.null_count >= -1 && root.null_count <= root.length)) refuse_batch("has a number of nulls that is none");
  if (root.n_children != std::ssize(columns) || (root.children == nullptr && !columns.empty())) {
    refuse_batch("has another number of columns than its schema");
  }
  if (root.dictionary != nullptr) refuse_batch("has a dictionary of rows");
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const auto* const child = root.children[k];
    if (child == nullptr || child->release == nullptr)
      refuse_batch(fmt::format("has no column {}, or a released one", in_quotes(columns[k].name)));
    if (!(child->length >= root.offset && child->length - root.offset >= root.length)) {
      refuse_batch(fmt::format("is longer than its column {}", in_quotes(columns[k].name)));
    }
    batch.arrays_.push_back(child);
  }
  if (root.null_count != 0) {
    const auto* const bits = root.n_buffers == 1 && root.buffers != nullptr ? static_cast<const unsigned char*>(root.buffers[0]) : nullptr;
    if (bits == nullptr && root.null_count > 0) refuse_batch("has rows that are null and says not which");
    const auto first = static_cast<std::size_t>(root.offset);
    if (bits != nullptr && root.length > 0)
      batch.bits_.assign(bits + first / 8, bits + (first + static_cast<std::size_t>(root.length) + 7) / 8);
  }
  batch.columns_ = columns_;
  batch.rows_ = static_cast<std::size_t>(root.length);
  batch.first_ = static_cast<std::size_t>(root.offset);
  return batch;
}

std::size_t ArrowStream::position(std::string_view column) const {
  const auto& all = *columns_;
  const auto is_named = [&](const ArrowColumn& one) { return one.name == column; };
  const auto found = std::find_if(all.begin(), all.end(), is_named);
  if (found == all.end()) {
    constexpr std::size_t shown = 20;
    std::string names;
    for (std::size_t k = 0; k < std::min(shown, all.size()); ++k) names += (k > 0 ? ", " : "") + one_line(all[k].name);
    refuse(fmt::format("column {} is missing, the schema has {}{}", in_quotes(column), names, all.size() > shown ? ", ..." : ""));
  }
  if (std::find_if(found + 1, all.end(), is_named) != all.end()) {
    refuse(fmt::format("column {} appears twice in the schema", in_quotes(column)));
  }
  return static_cast<std::size_t>(found - all.begin());
}

std::size_t ArrowStream::position(std::string_view column, CellUse use) const {
  const auto found = position(column);
  const auto& it = (*columns_)[found];
  if (!it.can_be(use)) {
    refuse(fmt::format("column {} is of the type {}, must be of {}", in_quotes(column), describe(it),
                       use == CellUse::text   ? "texts, integers, decimals, truth values or dates"
                       : use == CellUse::date ? "dates or texts"
                                              : "numbers, truth values, texts, dates or times"));
  }
  return found;
}

}  // namespace surety::data
