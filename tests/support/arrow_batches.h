// Arrow C streams made by hand: a table of cells, cut into batches as asked, in memory that is counted.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <surety/data/arrow/arrow_abi.h>

namespace surety::testing {

/// Nothing is a null.
using ArrowCell = std::variant<std::monostate, std::int64_t, double, std::string>;

struct ArrowTestColumn {
  std::string name;
  std::string format;  ///< as the interface writes it; of a union `dense_union` or `sparse_union`
  std::vector<ArrowCell> cells;
  /// The format of the indices of a dictionary, in which every cell of a batch stands by itself, equal ones too, behind one that is not used.
  std::string indices = {};
};

/// Unions whose members are of a null, of int64, of float64 and of utf8: each cell is of that of its type.
inline constexpr const char* dense_union = "+ud:3,0,127,9";
inline constexpr const char* sparse_union = "+us:3,0,127,9";

struct ArrowTestTable {
  std::vector<ArrowTestColumn> columns;
  std::vector<bool> null_rows = {};  ///< rows that are null as a whole; empty: none

  [[nodiscard]] std::size_t rows() const { return columns.empty() ? 0 : columns.front().cells.size(); }
};

struct ArrowStreamOptions {
  std::vector<std::size_t> batches = {};               ///< rows of each; what is beyond them is one more. Empty: one batch
  std::size_t offset = 0;                              ///< rows that stand before those of a batch, in the parent
  std::size_t child_offset = 0;                        ///< and in its columns
  std::optional<std::size_t> fails_at = std::nullopt;  ///< the batch in whose place the producer fails
  std::string words = "secret 4711";                   ///< of a producer that fails
  int code = 5;                                        ///< likewise
  /// Sees each struct before it is given away.
  std::function<void(ArrowArray&)> change_batch = {};
  std::function<void(ArrowSchema&)> change_schema = {};
};

/// Structs that were given away and not released, and releases of what was not there.
struct ArrowCount {
  static inline int live = 0;
  static inline int twice = 0;
};

namespace arrow_detail {

/// What hangs on a struct: its buffers, children and dictionary.
struct ArrayParts {
  std::vector<std::vector<unsigned char>> buffers;
  std::vector<const void*> pointers;
  std::vector<std::unique_ptr<ArrowArray>> owned;
  std::vector<ArrowArray*> children;
  std::unique_ptr<ArrowArray> dictionary;
};
struct SchemaParts {
  std::string format;
  std::string name;
  std::vector<std::unique_ptr<ArrowSchema>> owned;
  std::vector<ArrowSchema*> children;
  std::unique_ptr<ArrowSchema> dictionary;
};

/// Releases what hangs on `parts`, whatever its struct says by now, unless it was moved away.
template <class Struct, class Parts>
void release(Struct* it) {
  if (it->release == nullptr || it->private_data == nullptr) {
    ++ArrowCount::twice;
    return;
  }
  auto* const parts = static_cast<Parts*>(it->private_data);
  it->private_data = nullptr;
  for (auto& child : parts->owned) {
    if (child->release != nullptr) child->release(child.get());
  }
  if (parts->dictionary && parts->dictionary->release != nullptr) parts->dictionary->release(parts->dictionary.get());
  delete parts;
  it->release = nullptr;
  --ArrowCount::live;
}

inline void finish(ArrowArray& array, std::unique_ptr<ArrayParts> parts) {
  for (const auto& buffer : parts->buffers) parts->pointers.push_back(buffer.empty() ? nullptr : buffer.data());
  for (const auto& child : parts->owned) parts->children.push_back(child.get());
  array.n_buffers = static_cast<std::int64_t>(parts->pointers.size());
  array.buffers = parts->pointers.data();
  array.n_children = static_cast<std::int64_t>(parts->children.size());
  array.children = parts->children.data();
  array.dictionary = parts->dictionary.get();
  array.release = &release<ArrowArray, ArrayParts>;
  array.private_data = parts.release();
  ++ArrowCount::live;
}

template <class T>
void append(std::vector<unsigned char>& bytes, T value) {
  const auto old = bytes.size();
  bytes.resize(old + sizeof(value));
  std::memcpy(bytes.data() + old, &value, sizeof(value));
}

inline std::uint16_t half_of(double value) {
  const float single = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof(bits));
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (std::abs(value) >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (std::abs(value) < 0x1p-14) return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::abs(value) * 0x1p24));
  return static_cast<std::uint16_t>(sign | (((bits >> 23 & 0xff) - 112) << 10) | (bits >> 13 & 0x3ff));
}

inline constexpr std::array<std::int8_t, 4> union_ids{3, 0, 127, 9};
inline constexpr std::array<const char*, 4> union_formats{"n", "l", "g", "u"};
inline bool is_union(const std::string& format) { return format.starts_with("+u"); }

inline std::size_t width_of(const std::string& format) {
  if (format == "c" || format == "C") return 1;
  if (format == "s" || format == "S" || format == "e") return 2;
  if (format == "i" || format == "I" || format == "f" || format == "tdD" || format == "tts" || format == "ttm") return 4;
  if (format.starts_with("_pl")) return 16;
  if (format.starts_with("d:")) {
    const auto last = format.rfind(',');
    return last == format.find(',') ? 16 : static_cast<std::size_t>(std::stoi(format.substr(last + 1))) / 8;
  }
  return 8;
}

inline ArrowArray array_of(const std::string& format, const std::vector<ArrowCell>& cells, std::size_t offset);

/// A union of these cells, whose members begin with a value that is none of theirs.
inline ArrowArray union_of(const std::string& format, const std::vector<ArrowCell>& cells, std::size_t offset) {
  auto parts = std::make_unique<ArrayParts>();
  ArrowArray array{};
  array.length = static_cast<std::int64_t>(cells.size() - offset);
  array.offset = static_cast<std::int64_t>(offset);
  const bool is_dense = format == dense_union;
  std::array<std::vector<ArrowCell>, 4> members;
  std::vector<unsigned char> ids;
  std::vector<unsigned char> places;
  for (auto& member : members) member.resize(is_dense ? 1 : 0);
  for (const auto& cell : cells) {
    const std::size_t member = cell.index();
    ids.push_back(static_cast<unsigned char>(union_ids[member]));
    append(places, static_cast<std::int32_t>(members[member].size()));
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (k == member) members[k].push_back(cell);
      if (k != member && !is_dense) members[k].emplace_back();
    }
  }
  parts->buffers.push_back(std::move(ids));
  if (is_dense) parts->buffers.push_back(std::move(places));
  for (std::size_t k = 0; k < members.size(); ++k)
    parts->owned.push_back(std::make_unique<ArrowArray>(array_of(union_formats[k], members[k], 0)));
  finish(array, std::move(parts));
  return array;
}

inline ArrowArray array_of(const std::string& format, const std::vector<ArrowCell>& cells, std::size_t offset) {
  if (is_union(format)) return union_of(format, cells, offset);
  auto parts = std::make_unique<ArrayParts>();
  ArrowArray array{};
  array.length = static_cast<std::int64_t>(cells.size() - offset);
  array.offset = static_cast<std::int64_t>(offset);
  std::vector<unsigned char> bits((cells.size() + 7) / 8);
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const bool is_there = !std::holds_alternative<std::monostate>(cells[k]);
    if (is_there) bits[k / 8] = static_cast<unsigned char>(bits[k / 8] | 1U << k % 8);
    if (!is_there && k >= offset) ++array.null_count;
  }
  if (format == "n") {
    array.null_count = array.length;
    finish(array, std::move(parts));
    return array;
  }
  if (array.null_count == 0) bits.clear();
  parts->buffers.push_back(std::move(bits));
  const auto text = [&](const ArrowCell& cell) {
    const auto* const it = std::get_if<std::string>(&cell);
    return it != nullptr ? *it : std::string{};
  };
  const auto number = [&](const ArrowCell& cell) {
    const auto* const it = std::get_if<std::int64_t>(&cell);
    return it != nullptr ? *it : 0;
  };
  std::vector<unsigned char> values;
  if (format == "u" || format == "U" || format == "z" || format == "Z") {
    std::vector<unsigned char> bytes;
    const auto place = [&] {
      const bool is_wide = format == "U" || format == "Z";
      if (is_wide) append(values, static_cast<std::int64_t>(bytes.size()));
      if (!is_wide) append(values, static_cast<std::int32_t>(bytes.size()));
    };
    for (const auto& cell : cells) {
      place();
      const auto it = text(cell);
      bytes.insert(bytes.end(), it.begin(), it.end());
    }
    place();
    parts->buffers.push_back(std::move(values));
    parts->buffers.push_back(std::move(bytes));
  } else if (format.starts_with("w:")) {
    const auto width = static_cast<std::size_t>(std::stoi(format.substr(2)));
    for (const auto& cell : cells) {
      auto it = text(cell);
      it.resize(width);
      values.insert(values.end(), it.begin(), it.end());
    }
    parts->buffers.push_back(std::move(values));
  } else if (format == "vu" || format == "vz") {
    std::vector<unsigned char> bytes;
    for (const auto& cell : cells) {
      const auto it = text(cell);
      append(values, static_cast<std::int32_t>(it.size()));
      std::string inside = it.substr(0, it.size() <= 12 ? 12 : 4);
      inside.resize(it.size() <= 12 ? 12 : 4);
      values.insert(values.end(), inside.begin(), inside.end());
      if (it.size() <= 12) continue;
      append(values, std::int32_t{0});
      append(values, static_cast<std::int32_t>(bytes.size()));
      bytes.insert(bytes.end(), it.begin(), it.end());
    }
    std::vector<unsigned char> lengths;
    append(lengths, static_cast<std::int64_t>(bytes.size()));
    parts->buffers.push_back(std::move(values));
    parts->buffers.push_back(std::move(bytes));
    parts->buffers.push_back(std::move(lengths));
  } else if (format == "b") {
    values.resize((cells.size() + 7) / 8);
    for (std::size_t k = 0; k < cells.size(); ++k) {
      if (number(cells[k]) != 0) values[k / 8] = static_cast<unsigned char>(values[k / 8] | 1U << k % 8);
    }
    parts->buffers.push_back(std::move(values));
  } else {
    const std::size_t width = width_of(format);
    for (const auto& cell : cells) {
      const auto* const real = std::get_if<double>(&cell);
      const double value = real != nullptr ? *real : 0;
      if (format == "g") {
        append(values, value);
      } else if (format == "f") {
        append(values, static_cast<float>(value));
      } else if (format == "e") {
        append(values, half_of(value));
      } else {
        std::vector<unsigned char> bytes;
        append(bytes, number(cell));
        bytes.resize(std::max<std::size_t>(width, 8), number(cell) < 0 ? 0xff : 0);
        values.insert(values.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(width));
      }
    }
    parts->buffers.push_back(std::move(values));
  }
  finish(array, std::move(parts));
  return array;
}

inline ArrowArray column_of(const ArrowTestColumn& column, std::size_t first, std::size_t count, std::size_t before, std::size_t offset) {
  // What stands before the rows of a batch is no data of the table.
  std::vector<ArrowCell> cells(before + offset);
  for (auto& cell : cells) cell = std::string{"before"};
  for (std::size_t k = 0; k < count; ++k) cells.push_back(column.cells[first + k]);
  if (column.indices.empty()) return array_of(column.format, cells, offset);
  std::vector<ArrowCell> indices;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const bool is_null = std::holds_alternative<std::monostate>(cells[k]) && k % 2 == 0;  // by the index, or by the value
    indices.push_back(is_null ? ArrowCell{} : ArrowCell{static_cast<std::int64_t>(k + 1)});
  }
  auto array = array_of(column.indices, indices, offset);
  auto& parts = *static_cast<ArrayParts*>(array.private_data);
  std::vector<ArrowCell> values(1, ArrowCell{std::string{"unused"}});
  for (const auto& cell : cells) values.push_back(cell);
  parts.dictionary = std::make_unique<ArrowArray>(array_of(column.format, values, 0));
  array.dictionary = parts.dictionary.get();
  return array;
}

inline void schema_of(ArrowSchema& schema, const std::string& format, const std::string& name, std::unique_ptr<SchemaParts> parts) {
  parts->format = format;
  parts->name = name;
  for (const auto& child : parts->owned) parts->children.push_back(child.get());
  schema = {};
  schema.format = parts->format.c_str();
  schema.name = parts->name.c_str();
  schema.flags = ARROW_FLAG_NULLABLE;
  schema.n_children = static_cast<std::int64_t>(parts->children.size());
  schema.children = parts->children.data();
  schema.dictionary = parts->dictionary.get();
  schema.release = &release<ArrowSchema, SchemaParts>;
  schema.private_data = parts.release();
  ++ArrowCount::live;
}

struct StreamParts {
  ArrowTestTable table;
  ArrowStreamOptions options;
  std::size_t batch = 0;
  std::size_t row = 0;
};

inline StreamParts& parts_of(ArrowArrayStream* stream) { return *static_cast<StreamParts*>(stream->private_data); }

inline int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  const auto& [table, options, batch, row] = parts_of(stream);
  auto parts = std::make_unique<SchemaParts>();
  for (const auto& column : table.columns) {
    auto own = std::make_unique<SchemaParts>();
    if (!column.indices.empty()) {
      own->dictionary = std::make_unique<ArrowSchema>();
      schema_of(*own->dictionary, column.format, "", std::make_unique<SchemaParts>());
    }
    for (std::size_t k = 0; is_union(column.format) && k < union_formats.size(); ++k) {
      own->owned.push_back(std::make_unique<ArrowSchema>());
      schema_of(*own->owned.back(), union_formats[k], "", std::make_unique<SchemaParts>());
    }
    parts->owned.push_back(std::make_unique<ArrowSchema>());
    schema_of(*parts->owned.back(), column.indices.empty() ? column.format : column.indices, column.name, std::move(own));
  }
  schema_of(*out, "+s", "", std::move(parts));
  if (options.change_schema) options.change_schema(*out);
  return 0;
}

inline int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto& [table, options, batch, row] = parts_of(stream);
  *out = {};
  if (options.fails_at == batch) return options.code;
  const bool is_listed = batch < options.batches.size();
  if (!is_listed && row == table.rows()) return 0;
  const std::size_t left = table.rows() - row;
  const std::size_t count = is_listed ? std::min(options.batches[batch], left) : left;
  auto parts = std::make_unique<ArrayParts>();
  for (const auto& column : table.columns) {
    parts->owned.push_back(std::make_unique<ArrowArray>(column_of(column, row, count, options.offset, options.child_offset)));
  }
  std::vector<unsigned char> bits((options.offset + count + 7) / 8 + 1);
  ArrowArray array{};
  for (std::size_t k = 0; k < count; ++k) {
    const bool is_null = !table.null_rows.empty() && table.null_rows[row + k];
    if (is_null) ++array.null_count;
    const std::size_t place = options.offset + k;
    if (!is_null) bits[place / 8] = static_cast<unsigned char>(bits[place / 8] | 1U << place % 8);
  }
  parts->buffers.push_back(array.null_count > 0 ? bits : std::vector<unsigned char>{});
  array.length = static_cast<std::int64_t>(count);
  array.offset = static_cast<std::int64_t>(options.offset);
  finish(array, std::move(parts));
  row += count;
  ++batch;
  if (options.change_batch) options.change_batch(array);
  *out = array;
  return 0;
}

inline const char* get_last_error(ArrowArrayStream* stream) { return parts_of(stream).options.words.c_str(); }

inline void release_stream(ArrowArrayStream* stream) {
  if (stream->private_data == nullptr) {
    ++ArrowCount::twice;
    return;
  }
  delete static_cast<StreamParts*>(std::exchange(stream->private_data, nullptr));
  stream->release = nullptr;
  --ArrowCount::live;
}

}  // namespace arrow_detail

/// A stream of the table. Whoever takes it releases it.
inline ArrowArrayStream arrow_stream(ArrowTestTable table, ArrowStreamOptions options = {}) {
  using namespace arrow_detail;
  ++ArrowCount::live;
  return {.get_schema = &get_schema,
          .get_next = &get_next,
          .get_last_error = &get_last_error,
          .release = &release_stream,
          .private_data = new StreamParts{.table = std::move(table), .options = std::move(options)}};
}

/// Batches of so many rows each.
inline std::vector<std::size_t> batches_of(std::size_t rows, std::size_t each) {
  return std::vector<std::size_t>((rows + each - 1) / each, each);
}

}  // namespace surety::testing
