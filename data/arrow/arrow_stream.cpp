#include <surety/data/arrow/arrow_stream.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <new>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/data/reading/called_off.h>
#include <surety/data/reading/keyed_texts.h>

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
};
constexpr ArrowType of(Kind kind, int bytes = 0, std::int64_t units = 1) { return {.kind = kind, .bytes = bytes, .units = units}; }
constexpr std::array formats{Format{"n", of(Kind::null)},
                             Format{"b", of(Kind::boolean)},
                             Format{"c", of(Kind::integer, 1)},
                             Format{"C", of(Kind::unsigned_integer, 1)},
                             Format{"s", of(Kind::integer, 2)},
                             Format{"S", of(Kind::unsigned_integer, 2)},
                             Format{"i", of(Kind::integer, 4)},
                             Format{"I", of(Kind::unsigned_integer, 4)},
                             Format{"l", of(Kind::integer, 8)},
                             Format{"L", of(Kind::unsigned_integer, 8)},
                             Format{"e", of(Kind::floating, 2)},
                             Format{"f", of(Kind::floating, 4)},
                             Format{"g", of(Kind::floating, 8)},
                             Format{"u", of(Kind::text, 4)},
                             Format{"U", of(Kind::text, 8)},
                             Format{"vu", of(Kind::text_view, view_bytes)},
                             Format{"z", of(Kind::text, 4)},
                             Format{"Z", of(Kind::text, 8)},
                             Format{"vz", of(Kind::text_view, view_bytes)},
                             Format{"tdD", of(Kind::date, 4)},
                             Format{"tdm", of(Kind::date, 8, milliseconds_of_day)},
                             Format{"tts", of(Kind::time_of_day, 4)},
                             Format{"ttm", of(Kind::time_of_day, 4, 1'000)},
                             Format{"ttu", of(Kind::time_of_day, 8, 1'000'000)},
                             Format{"ttn", of(Kind::time_of_day, 8, 1'000'000'000)},
                             Format{"tDs", of(Kind::duration, 8)},
                             Format{"tDm", of(Kind::duration, 8, 1'000)},
                             Format{"tDu", of(Kind::duration, 8, 1'000'000)},
                             Format{"tDn", of(Kind::duration, 8, 1'000'000'000)},
                             Format{"_pli128", of(Kind::decimal, 16)},
                             Format{"_plu128", {.kind = Kind::decimal, .bytes = 16, .is_signed = false}}};

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
  if (format.starts_with("w:")) {
    const auto bytes = whole(format.substr(2));
    return bytes && *bytes > 0 ? of(Kind::fixed_text, *bytes) : ArrowType{};
  }
  if (format.starts_with("ts") && format.size() > 3 && format[3] == ':') {
    switch (format[2]) {
      case 's': return of(Kind::timestamp, 8);
      case 'm': return of(Kind::timestamp, 8, 1'000);
      case 'u': return of(Kind::timestamp, 8, 1'000'000);
      case 'n': return of(Kind::timestamp, 8, 1'000'000'000);
      default: break;
    }
  }
  return {};
}

bool is_integer(Kind kind) { return kind == Kind::integer || kind == Kind::unsigned_integer; }
bool is_union(Kind kind) { return kind == Kind::dense_union || kind == Kind::sparse_union; }

/// A column, but for the members of a union.
ArrowColumn without_members(const ArrowSchema& schema, std::size_t place);

/// Makes a column one of a union where its format is that of one whose members can be told apart: "+ud:0,1,5".
void read_union(const ArrowSchema& schema, std::size_t place, ArrowColumn& column) {
  const std::string_view format{schema.format};
  const bool is_dense = format.starts_with("+ud:");
  if (!is_dense && !format.starts_with("+us:")) return;
  constexpr int most_id = 127;
  auto ids = format.substr(4);
  std::vector<std::optional<std::size_t>> member_of(most_id + 1);
  for (std::int64_t k = 0; k < schema.n_children; ++k) {
    const auto end = std::min(ids.find(','), ids.size());
    const auto id = whole(ids.substr(0, end));
    ids.remove_prefix(std::min(end + 1, ids.size()));
    if (!id || !(*id >= 0 && *id <= most_id) || member_of[static_cast<std::size_t>(*id)]) return;
    member_of[static_cast<std::size_t>(*id)] = static_cast<std::size_t>(k);
    const auto* const child = schema.children != nullptr ? schema.children[k] : nullptr;
    if (child == nullptr) ArrowStream::refuse(fmt::format("a member of the union in column {} is nowhere", in_quotes(column.name)));
    // A union within a union is a missing cell, so that no schema is too deep.
    column.members.push_back(without_members(*child, place));
  }
  if (!ids.empty()) return;
  column.member_of = std::move(member_of);
  column.type = of(is_dense ? Kind::dense_union : Kind::sparse_union, 1);
}

ArrowColumn without_members(const ArrowSchema& schema, std::size_t place) {
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
ArrowColumn column_of(const ArrowSchema& schema, std::size_t place) {
  auto column = without_members(schema, place);
  if (schema.dictionary == nullptr) read_union(schema, place, column);
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

/// The decimal in so many bytes, without zeros at the end of its decimals.
std::string decimal_text(const unsigned char* bytes, int width, int scale, bool is_signed) {
  std::array<std::uint32_t, 8> all{};
  const std::span limbs{all.data(), static_cast<std::size_t>(width) / sizeof(std::uint32_t)};
  std::memcpy(limbs.data(), bytes, static_cast<std::size_t>(width));
  const bool is_negative = is_signed && (limbs.back() >> 31) != 0;
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
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
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

bool ArrowColumn::may_hold_texts() const noexcept {
  const auto is_text = [](Kind kind) { return kind == Kind::text || kind == Kind::text_view || kind == Kind::fixed_text; };
  return is_text(type.kind) || std::any_of(members.begin(), members.end(), [&](const auto& one) { return is_text(one.type.kind); });
}

ArrowCells::ArrowCells(const ArrowArray& array, const ArrowColumn& column, std::size_t first, std::size_t size,
                       const unsigned char* row_bits, std::size_t first_row_bit)
    : type_{column.type.kind == Kind::other ? ArrowType{} : column.indices.value_or(column.type)},
      row_bits_{row_bits},
      first_row_bit_{first_row_bit} {
  using namespace std::string_view_literals;
  read_buffers(array, first, size);
  if (type_.kind == Kind::other) return;
  if ((array.dictionary != nullptr) != column.indices.has_value()) throw "has a dictionary in its schema or in a batch alone"sv;
  if (is_union(type_.kind)) read_members(array, column);
  if (!column.indices) return;
  const auto& dictionary = *array.dictionary;
  if (dictionary.release == nullptr) throw "has a dictionary that was released"sv;
  if (!(dictionary.length >= 0 && dictionary.length <= most_rows)) throw "has a dictionary of a length that is none"sv;
  const ArrowColumn values{.name = {}, .format = column.format, .type = column.type, .indices = {}};
  values_ =
      std::shared_ptr<const ArrowCells>{new ArrowCells{dictionary, values, 0, static_cast<std::size_t>(dictionary.length), nullptr, 0}};
  for (std::size_t row = 0; row < size_; ++row) {
    if (!has_null_bit(row) && !(index(row) < values_->size_)) throw "has an index beyond its dictionary"sv;
  }
}

void ArrowCells::read_members(const ArrowArray& array, const ArrowColumn& column) {
  using namespace std::string_view_literals;
  if (array.n_children != std::ssize(column.members) || (array.children == nullptr && !column.members.empty())) {
    throw "has another number of members than its schema"sv;
  }
  auto members = std::make_shared<Members>();
  constexpr std::uint8_t nothing = 255;
  members->member_of.fill(nothing);
  for (std::size_t id = 0; id < members->member_of.size(); ++id) {
    if (const auto member = column.member_of[id]) members->member_of[id] = static_cast<std::uint8_t>(*member);
  }
  for (std::size_t k = 0; k < column.members.size(); ++k) {
    const auto* const child = array.children[k];
    if (child == nullptr || child->release == nullptr) throw "has a member that is nowhere, or was released"sv;
    if (!(child->length >= 0 && child->length <= most_rows)) throw "has a member of a length that is none"sv;
    members->cells.push_back(ArrowCells{*child, column.members[k], 0, static_cast<std::size_t>(child->length), nullptr, 0});
  }
  members_ = std::move(members);
  for (std::size_t row = 0; row < size_; ++row) {
    const auto id = loaded<std::int8_t>(data_ + first_ + row);
    if (id < 0 || members_->member_of[static_cast<std::size_t>(id)] == nothing) throw "has a cell of no member"sv;
    const auto at = place(row);
    if (!(at.row < at.cells->size_)) throw "has a cell beyond its member"sv;
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
  if (type_.kind == Kind::null || type_.kind == Kind::other) return;
  const bool is_view = type_.kind == Kind::text_view;
  if (is_union(type_.kind)) {
    // One has no bits of its own.
    const bool is_dense = type_.kind == Kind::dense_union;
    if (array.n_buffers != (is_dense ? 2 : 1) || array.buffers == nullptr) throw "has another number of buffers than its type"sv;
    data_ = static_cast<const unsigned char*>(array.buffers[0]);
    if (is_dense) bytes_ = static_cast<const unsigned char*>(array.buffers[1]);
    if (size > 0 && (data_ == nullptr || (is_dense && bytes_ == nullptr))) throw "has no values"sv;
    return;
  }
  if (type_.kind == Kind::fixed_text && size > static_cast<std::size_t>(most_rows / type_.bytes)) throw "is longer than any memory"sv;
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

bool ArrowCells::has_null_bit(std::size_t row) const noexcept {
  return (bits_ != nullptr && !bit(bits_, first_ + row)) || (row_bits_ != nullptr && !bit(row_bits_, first_row_bit_ + row));
}

bool ArrowCells::has_own_null(std::size_t row) const noexcept {
  if (type_.kind == Kind::null || type_.kind == Kind::other || has_null_bit(row)) return true;
  return type_.kind == Kind::floating && std::isnan(floating_value(row));
}

bool ArrowCells::is_null(std::size_t row) const noexcept {
  if (has_own_null(row)) return true;
  if (!is_elsewhere()) return false;
  const auto at = place(row);
  return at.cells->is_null(at.row);
}

bool ArrowCells::is_blank(std::size_t row) const {
  if (has_own_null(row)) return true;
  if (is_elsewhere()) {
    const auto at = place(row);
    return at.cells->is_blank(at.row);
  }
  return (type_.kind == Kind::text || type_.kind == Kind::text_view || type_.kind == Kind::fixed_text) &&
         trimmed(bytes_of_text(row)).empty();
}

ArrowCells::Place ArrowCells::place(std::size_t row) const noexcept {
  if (values_) return {values_.get(), static_cast<std::size_t>(index(row))};
  const auto& member = members_->cells[members_->member_of[data_[first_ + row]]];
  if (type_.kind == Kind::sparse_union) return {&member, first_ + row};
  // A negative one is beyond every member.
  return {&member, static_cast<std::size_t>(loaded<std::int32_t>(bytes_ + 4 * (first_ + row)))};
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
  if (type_.kind == Kind::fixed_text) {
    const auto bytes = static_cast<std::size_t>(type_.bytes);
    return {reinterpret_cast<const char*>(data_ + place * bytes), bytes};
  }
  const auto* const view = data_ + place * view_bytes;
  const auto length = static_cast<std::size_t>(loaded<std::int32_t>(view));
  if (length <= inline_bytes) return {reinterpret_cast<const char*>(view + 4), length};
  const auto* const buffer = static_cast<const char*>(text_buffers_[loaded<std::int32_t>(view + 8)]);
  return {buffer + loaded<std::int32_t>(view + 12), length};
}

std::int64_t ArrowCells::days(std::size_t row) const noexcept { return floor_of(signed_value(row), type_.units); }

std::string ArrowCells::decimal(std::size_t row) const {
  const auto bytes = static_cast<std::size_t>(type_.bytes);
  return decimal_text(data_ + (first_ + row) * bytes, type_.bytes, type_.scale, type_.is_signed);
}

ParsedNumber ArrowCells::number(std::size_t row, NumberFormat format) const {
  if (is_elsewhere()) {
    const auto at = place(row);
    return at.cells->has_own_null(at.row) ? ParsedNumber{0, NumberFault::not_a_number} : at.cells->number(at.row, format);
  }
  switch (type_.kind) {
    case Kind::boolean: return {bit(data_, first_ + row) ? 1.0 : 0.0, NumberFault::none};
    case Kind::integer: return {static_cast<double>(signed_value(row)), NumberFault::none};
    case Kind::unsigned_integer: return {static_cast<double>(unsigned_value(row)), NumberFault::none};
    case Kind::floating: return finite(floating_value(row));
    case Kind::text:
    case Kind::text_view:
    case Kind::fixed_text: return parse_number(bytes_of_text(row), format);
    case Kind::date: return {static_cast<double>(days(row)), NumberFault::none};
    case Kind::timestamp:
    case Kind::time_of_day:
    case Kind::duration: return {days_of(signed_value(row), type_.units), NumberFault::none};
    case Kind::decimal: return parse_number(decimal(row));
    case Kind::null:
    case Kind::dense_union:
    case Kind::sparse_union:
    case Kind::other: break;
  }
  return {0, NumberFault::not_a_number};
}

std::string_view ArrowCells::text(std::size_t row, std::string& buffer) const {
  if (is_elsewhere()) {
    const auto at = place(row);
    return at.cells->text(at.row, buffer);
  }
  buffer.clear();
  if (has_own_null(row)) return buffer;
  switch (type_.kind) {
    case Kind::boolean: return bit(data_, first_ + row) ? "true" : "false";
    case Kind::integer: write_number(signed_value(row), buffer); break;
    case Kind::unsigned_integer: write_number(unsigned_value(row), buffer); break;
    case Kind::floating: write_number(floating_value(row), buffer); break;
    case Kind::text:
    case Kind::text_view:
    case Kind::fixed_text: return bytes_of_text(row);
    case Kind::date: write_instant({.days = days(row), .nanoseconds = 0}, buffer); break;
    case Kind::timestamp: write_instant(instant(row), buffer); break;
    case Kind::time_of_day:
      if (const auto found = instant(row); found.days == 0) write_time_of_day(found.nanoseconds, buffer);
      break;
    case Kind::duration: write_number(days_of(signed_value(row), type_.units), buffer); break;
    case Kind::decimal: buffer = decimal(row); break;
    case Kind::null:
    case Kind::dense_union:
    case Kind::sparse_union:
    case Kind::other: break;
  }
  return buffer;
}

std::optional<Date> ArrowCells::date(std::size_t row) const {
  if (is_elsewhere()) {
    const auto at = place(row);
    return at.cells->date(at.row);
  }
  if (has_own_null(row)) return std::nullopt;
  switch (type_.kind) {
    case Kind::text:
    case Kind::text_view:
    case Kind::fixed_text: return date_in(bytes_of_text(row));
    case Kind::date: return date_of_days(days(row));
    case Kind::timestamp: return date_of_days(instant(row).days);
    default: return std::nullopt;
  }
}

std::optional<bool> ArrowCells::truth(std::size_t row) const {
  if (is_elsewhere()) {
    const auto at = place(row);
    return at.cells->truth(at.row);
  }
  return type_.kind == Kind::boolean && !has_own_null(row) ? std::optional{bit(data_, first_ + row)} : std::nullopt;
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
    there += std::isfinite(value) && !has_null_bit(row) ? 1 : 0;
  }
  return there;
}

template <class Use>
bool ArrowCells::with_load(const Use& use) const {
  if (is_elsewhere()) return false;
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
  const bool has_nulls = !has_no_bits();
  const auto fill = [&](const auto& load) {
    for (std::size_t k = 0; k < out.size(); ++k) {
      const double value = load(first + k);
      out[k] = std::isfinite(value) && !(has_nulls && has_null_bit(first + k)) ? value : nothing;
    }
  };
  if (with_load(fill)) return;
  switch (is_elsewhere() ? Kind::other : type_.kind) {
    case Kind::boolean:
    case Kind::integer:
    case Kind::unsigned_integer:
    case Kind::floating:
    case Kind::date:
    case Kind::timestamp:
    case Kind::time_of_day:
    case Kind::duration:
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
  if (!values_ && type_.kind == Kind::floating && type_.bytes == 8 && has_no_bits()) {
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
  if (has_own_null(row)) return std::nullopt;
  if (is_elsewhere()) {
    const auto at = place(row);
    return at.cells->integer(at.row);
  }
  switch (type_.kind) {
    case Kind::integer: return signed_value(row);
    case Kind::unsigned_integer: {
      const std::uint64_t value = unsigned_value(row);
      return value < std::uint64_t{1} << 63 ? std::optional{static_cast<std::int64_t>(value)} : std::nullopt;
    }
    case Kind::floating: return integer_in(floating_value(row));
    case Kind::duration: return integer_in(days_of(signed_value(row), type_.units));
    case Kind::text:
    case Kind::text_view:
    case Kind::fixed_text: return integer_in(bytes_of_text(row));
    case Kind::decimal: return integer_in(std::string_view{decimal(row)});
    default: return std::nullopt;
  }
}

namespace {

/// Tags of encoded cells, each followed by what docs/proofs/units.md#arrow says.
enum class Tag : unsigned char {
  missing = 0,
  integer = 1,
  number = 3,
  text = 4,
  truth = 5,
  day = 6,
  instant = 7,
  time_of_day = 8,
  nameless_number = 9
};

template <class Sink>
void write_tag(Tag tag, Sink& out) {
  out.byte(static_cast<unsigned char>(tag));
}
template <class Sink>
void write_word(Tag tag, std::int64_t word, Sink& out) {
  write_tag(tag, out);
  out.word(static_cast<std::uint64_t>(word));
}

/// A number that is no NaN.
template <class Sink>
void write_float(double number, Sink& out) {
  if (const auto whole = integer_in(number)) return write_word(Tag::integer, *whole, out);
  write_word(std::abs(number) < 0x1p53 ? Tag::number : Tag::nameless_number, std::bit_cast<std::int64_t>(number), out);
}

/// The float whose text this is, and no integer's.
std::optional<double> float_in(std::string_view text) {
  constexpr std::size_t longest = 24;
  if (text.size() > longest || text.find_first_of(".e") == std::string_view::npos) return std::nullopt;
  const auto [number, fault] = parse_number(text);
  if (fault != NumberFault::none) return std::nullopt;
  std::string written;
  write_number(number, written);
  return written == text ? std::optional{number} : std::nullopt;
}

template <class Sink>
void write_text(std::string_view text, Sink& out) {
  const bool may_be_number = !text.empty() && (text.front() == '-' || (text.front() >= '0' && text.front() <= '9'));
  if (may_be_number) {
    if (const auto whole = integer_in(text)) return write_word(Tag::integer, *whole, out);
    if (const auto number = float_in(text)) return write_float(*number, out);
  }
  write_word(Tag::text, static_cast<std::int64_t>(text.size()), out);
  out.bytes({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
}

}  // namespace

template <class Sink>
void ArrowCells::write(std::size_t row, Sink& out) const {
  if (has_own_null(row)) return write_tag(Tag::missing, out);
  if (is_elsewhere()) {
    const auto at = place(row);
    return at.cells->write(at.row, out);
  }
  switch (type_.kind) {
    case Kind::integer: return write_word(Tag::integer, signed_value(row), out);
    case Kind::unsigned_integer: {
      const std::uint64_t value = unsigned_value(row);
      if (value < std::uint64_t{1} << 63) return write_word(Tag::integer, static_cast<std::int64_t>(value), out);
      std::string digits;
      write_number(value, digits);
      return write_text(digits, out);
    }
    case Kind::floating: return write_float(floating_value(row), out);
    case Kind::duration: return write_float(days_of(signed_value(row), type_.units), out);
    case Kind::decimal: return write_text(decimal(row), out);
    case Kind::text:
    case Kind::text_view:
    case Kind::fixed_text: return write_text(bytes_of_text(row), out);
    case Kind::boolean: return write_word(Tag::truth, bit(data_, first_ + row) ? 1 : 0, out);
    case Kind::date: return write_word(Tag::day, days(row), out);
    case Kind::timestamp: {
      const auto found = instant(row);
      if (found.nanoseconds == 0) return write_word(Tag::day, found.days, out);
      write_word(Tag::instant, found.days, out);
      return out.word(static_cast<std::uint64_t>(found.nanoseconds));
    }
    case Kind::time_of_day: {
      const auto found = instant(row);
      write_word(Tag::time_of_day, found.days, out);
      return out.word(static_cast<std::uint64_t>(found.nanoseconds));
    }
    case Kind::null:
    case Kind::dense_union:
    case Kind::sparse_union:
    case Kind::other: return write_tag(Tag::missing, out);
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
  // No cell decides how much memory there is.
  if (code == ENOMEM) throw std::bad_alloc{};
  std::string words;
  // They may hold data, and so may the code.
  if (form == RecordForm::is_public) {
    const bool can_say = stream_.is_there() && stream_->get_last_error != nullptr;
    const char* const said = can_say ? stream_->get_last_error(stream_.get()) : nullptr;
    words = fmt::format(" (code {}{}{})", code, said != nullptr ? ": " : "", said != nullptr ? one_line(said) : "");
  }
  refuse(fmt::format("its producer {}{}", failed, words));
}

ArrowStream::ArrowStream(ArrowArrayStream* stream, const DataLimits& limits, std::optional<std::uint64_t> rows) : rows_{rows} {
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
  if (held_.empty()) return read_next(form);
  std::optional<ArrowBatch> batch{std::move(held_.back())};
  held_.pop_back();
  return batch;
}

std::uint64_t ArrowStream::count_rows(RecordForm form) {
  if (rows_) return *rows_;
  std::uint64_t rows = 0;
  std::vector<ArrowBatch> held;  // of a producer that fails nothing is held
  while (auto batch = read_next(form)) {
    require_not_called_off();
    rows += batch->rows();
    held.push_back(*std::move(batch));
  }
  std::reverse(held.begin(), held.end());
  held_ = std::move(held);
  rows_ = rows;
  return rows;
}

std::optional<ArrowBatch> ArrowStream::read_next(RecordForm form) {
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

}  // namespace surety::data
