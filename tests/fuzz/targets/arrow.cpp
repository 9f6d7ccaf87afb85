// An Arrow stream whose producer lies: a small table of columns of every type, cut into batches, of which up to four things are not so. What is read of it for
// statistics, with and without owners, or for a training, is an answer or a refusal: every struct that was given is released once, and nothing is called or
// looked at that was released; where the form is private every row that was given is a record, and no refusal repeats a cell or the producer's words.
// Buffers are in memory of just the size that the structs say, so that a sanitizer sees a byte too far; lies that the interface lets nobody check
// (arrow_stream.h) are not told.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <fuzz/target.h>

#include <surety/data/arrow/arrow_records.h>
#include <surety/statistics/parts.h>

using namespace surety;
using namespace surety_fuzz;

namespace {

constexpr std::int64_t absurd_counts[] = {-1, -2, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                                          (std::int64_t{1} << 56) + 1};
/// In every cell that may not be seen, and in the producer's words.
constexpr std::string_view secret = "4711";

enum Lie : std::size_t {
  // of a column of a batch, in the order of `lie_about_column`
  length,
  short_length,
  offset,
  nulls,
  buffer_count,
  no_buffers,
  no_bits,
  no_data,
  no_bytes,
  text_places,
  index,
  dictionary_is_missing,
  dictionary_is_extra,
  dictionary_is_released,
  dictionary_length,
  dictionary_nulls,
  dictionary_no_buffers,
  dictionary_places,
  // of a batch
  no_child,
  released_child,
  batch_length,
  batch_offset,
  batch_nulls,
  batch_bits,
  batch_children,
  batch_no_children,
  batch_dictionary,
  // of the schema
  column_format,
  column_name,
  same_name,
  no_column,
  released_column,
  columns,
  no_columns,
  no_dictionary_format,
  released_dictionary,
  nested_dictionary,
  index_format,
  table_format,
  no_schema,
  // of the stream
  schema_fails,
  next_fails,
  schema_releases,
  next_releases,
  next_releases_and_fails,
  no_words,
  no_last_error,
  schema_takes_next_away,
  next_takes_next_away,
  no_callbacks,
  stream_was_released,
  count,
};

struct Told {
  Lie lie;
  std::size_t batch;
  std::size_t column;
  std::size_t how;
};

struct Asked {
  std::string name;
  std::string format;
  std::string indices = {};  ///< of a dictionary
};

/// What the input asks a producer for.
struct Script {
  std::vector<Asked> columns;
  std::vector<std::size_t> batches;  ///< rows of each
  std::size_t offset = 0;
  std::size_t child_offset = 0;
  bool is_misaligned = false;
  bool has_null_rows = false;
  std::vector<Told> lies;
  std::uint64_t seed = 0;

  [[nodiscard]] const Told* told(Lie lie) const {
    const auto found = std::find_if(lies.begin(), lies.end(), [&](const Told& one) { return one.lie == lie; });
    return found != lies.end() ? &*found : nullptr;
  }
  [[nodiscard]] const Told* told(Lie lie, std::size_t batch) const {
    const auto* const found = told(lie);
    return found != nullptr && found->batch % std::max<std::size_t>(batches.size(), 1) == batch ? found : nullptr;
  }
  [[nodiscard]] const Told* told(Lie lie, std::size_t batch, std::size_t column) const {
    const auto* const found = told(lie, batch);
    return found != nullptr && found->column % columns.size() == column ? found : nullptr;
  }
};

/// What hangs on a struct.
struct Held {
  std::vector<std::unique_ptr<unsigned char[]>> memory = {};
  std::vector<const void*> buffers = {};
  std::vector<std::unique_ptr<ArrowArray>> arrays = {};
  std::vector<ArrowArray*> array_places = {};
  std::vector<std::unique_ptr<ArrowSchema>> schemas = {};
  std::vector<ArrowSchema*> schema_places = {};
  std::unique_ptr<char[]> format = {};
  std::unique_ptr<char[]> name = {};
};

/// Of structs that were given and not released.
std::set<const void*>& live() {
  static std::set<const void*> all;
  return all;
}

template <class Struct>
void release(Struct* it) {
  expect(live().erase(it->private_data) == 1, "a struct is released that is not there");
  const std::unique_ptr<Held> held{static_cast<Held*>(it->private_data)};
  for (const auto& array : held->arrays) {
    if (array->release != nullptr) array->release(array.get());
  }
  for (const auto& schema : held->schemas) {
    if (schema->release != nullptr) schema->release(schema.get());
  }
  it->release = nullptr;
  it->private_data = nullptr;
}

template <class Struct>
void give(Struct& it, std::unique_ptr<Held> held) {
  it.release = &release<Struct>;
  it.private_data = held.release();
  live().insert(it.private_data);
}

std::unique_ptr<char[]> text_of(const std::string& text) {
  auto made = std::make_unique<char[]>(text.size() + 1);
  std::memcpy(made.get(), text.c_str(), text.size() + 1);
  return made;
}

class Producer {
 public:
  explicit Producer(Script script) : script_{std::move(script)}, random_{script_.seed} {}
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  [[nodiscard]] ArrowArrayStream stream() {
    const bool has_no_callbacks = script_.told(no_callbacks) != nullptr;
    ArrowArrayStream made{.get_schema = &Producer::get_schema,
                          .get_next = &Producer::get_next,
                          .get_last_error = script_.told(no_last_error) != nullptr ? nullptr : &Producer::get_last_error,
                          .release = &Producer::release_stream,
                          .private_data = this};
    if (has_no_callbacks && script_.told(no_callbacks)->how % 2 == 0) made.get_schema = nullptr;
    if (has_no_callbacks && script_.told(no_callbacks)->how % 2 == 1) made.get_next = nullptr;
    if (script_.told(stream_was_released) != nullptr) {
      made.release = nullptr;
      is_released_ = true;
    }
    return made;
  }
  [[nodiscard]] bool is_released() const noexcept { return is_released_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }

 private:
  static Producer& of(ArrowArrayStream* stream) {
    auto& self = *static_cast<Producer*>(stream->private_data);
    expect(!self.is_released_, "a stream is called that was released");
    return self;
  }
  static void release_stream(ArrowArrayStream* stream) {
    of(stream).is_released_ = true;
    stream->release = nullptr;
  }
  static const char* get_last_error(ArrowArrayStream* stream) {
    return of(stream).script_.told(no_words) != nullptr ? nullptr : "the secret 4711\n of a producer \xff";
  }
  [[noreturn]] static void release_nothing(ArrowArray* /*array*/) { fail("what a callback that failed gave is released"); }

  static int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
    auto& self = of(stream);
    const auto& script = self.script_;
    *out = {};
    if (script.told(schema_fails) != nullptr) return 4711;
    if (script.told(no_schema) != nullptr) return 0;
    self.make_schema(*out);
    if (script.told(schema_takes_next_away) != nullptr) stream->get_next = nullptr;
    if (script.told(schema_releases) != nullptr) release_stream(stream);
    return 0;
  }

  static int get_next(ArrowArrayStream* stream, ArrowArray* out) {
    auto& self = of(stream);
    const auto& script = self.script_;
    const std::size_t batch = self.batch_++;
    *out = {};
    if (script.told(next_fails, batch) != nullptr) {
      out->release = &release_nothing;
      return 4711;
    }
    if (script.told(next_releases_and_fails, batch) != nullptr) {
      release_stream(stream);
      return 4711;
    }
    if (batch >= script.batches.size()) return 0;
    self.make_batch(batch, *out);
    if (script.told(next_takes_next_away, batch) != nullptr) stream->get_next = nullptr;
    if (script.told(next_releases, batch) != nullptr) release_stream(stream);
    return 0;
  }

  [[nodiscard]] std::uint64_t word() noexcept {
    random_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = (random_ ^ random_ >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }
  [[nodiscard]] std::size_t below(std::size_t count) noexcept { return static_cast<std::size_t>(word() % count); }

  void make_schema(ArrowSchema& out) const {
    auto held = std::make_unique<Held>();
    const auto lied = [&](Lie lie, std::size_t column) {
      const auto* const told = script_.told(lie);
      return told != nullptr && told->column % script_.columns.size() == column;
    };
    for (std::size_t k = 0; k < script_.columns.size(); ++k) {
      const auto& asked = script_.columns[k];
      const bool is_dictionary = !asked.indices.empty();
      auto own = std::make_unique<Held>();
      auto& column = *held->schemas.emplace_back(std::make_unique<ArrowSchema>());
      std::string format = is_dictionary ? asked.indices : asked.format;
      if (lied(column_format, k)) {
        static const std::string formats[] = {"",          "z",   "+l",   "+s",      "d:",   "d:5", "d:5,2,7", "d:99999999999,1",
                                              "d:1,2,3,4", "w:0", "ts",   "tsx:UTC", "tt",   "tiM", "+r",      "+ud:0,1",
                                              "+vl",       "e ",  "+w:2", "d:0,0,",  "d:,,", "\n",  "d:5,200", "\xff\n",
                                              "l\x01"};
        format = formats[script_.told(column_format)->how % std::size(formats)];
      }
      if (lied(index_format, k) && is_dictionary) format = "g";
      own->format = text_of(format);
      own->name = text_of(lied(same_name, k) ? script_.columns.front().name : asked.name);
      column.format = own->format.get();
      column.name = lied(column_name, k) ? nullptr : own->name.get();
      column.flags = ARROW_FLAG_NULLABLE;
      if (is_dictionary) {
        auto& dictionary = *own->schemas.emplace_back(std::make_unique<ArrowSchema>());
        auto values = std::make_unique<Held>();
        values->format = text_of(asked.format);
        dictionary.format = lied(no_dictionary_format, k) ? nullptr : values->format.get();
        dictionary.name = "";
        if (lied(nested_dictionary, k)) dictionary.dictionary = &dictionary;
        give(dictionary, std::move(values));
        if (lied(released_dictionary, k)) dictionary.release(&dictionary);
        column.dictionary = &dictionary;
      }
      give(column, std::move(own));
      if (lied(released_column, k)) column.release(&column);
      held->schema_places.push_back(lied(no_column, k) ? nullptr : &column);
    }
    const auto* const counted = script_.told(columns);
    static const std::int64_t counts[] = {-1,     0, 1, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                                          1 << 21};
    out = {};
    held->format = text_of("+s");
    out.format = held->format.get();
    if (const auto* const told = script_.told(table_format)) {
      static const char* const formats[] = {nullptr, "", "l", "+l", "+s "};
      out.format = formats[told->how % std::size(formats)];
    }
    out.n_children = counted != nullptr ? counts[counted->how % std::size(counts)] : std::ssize(held->schema_places);
    out.children = script_.told(no_columns) != nullptr ? nullptr : held->schema_places.data();
    give(out, std::move(held));
  }

  const void* buffer(Held& held, const std::vector<unsigned char>& bytes) const {
    const std::size_t shift = script_.is_misaligned ? 1 : 0;
    auto& made = held.memory.emplace_back(std::make_unique<unsigned char[]>(bytes.size() + shift));
    if (!bytes.empty()) std::memcpy(made.get() + shift, bytes.data(), bytes.size());
    return made.get() + shift;
  }

  template <class T>
  static void append(std::vector<unsigned char>& bytes, T value) {
    const auto size = bytes.size();
    bytes.resize(size + sizeof(value));
    std::memcpy(bytes.data() + size, &value, sizeof(value));
  }

  [[nodiscard]] std::string cell() {
    static const std::string texts[] = {"Rome",       "Oslo", "",    " ",          "7",   "4711", "cell 4711 of a person",
                                        "2017-06-01", "nan",  "1e3", "4711\xff\n", "true"};
    return texts[below(std::size(texts))];
  }

  /// `size` values, of a dictionary or a column. \param misplaced whether the places of texts lie
  void make_values(ArrowArray& array, Held& held, const std::string& format, std::size_t size, const Told* misplaced) {
    std::vector<unsigned char> bits((size + 7) / 8);
    std::int64_t nulls = 0;
    for (std::size_t k = 0; k < size; ++k) {
      const bool is_null = below(6) == 0;
      if (!is_null) bits[k / 8] = static_cast<unsigned char>(bits[k / 8] | 1U << k % 8);
      if (is_null && k >= static_cast<std::size_t>(array.offset)) ++nulls;
    }
    array.null_count = format == "n" ? array.length : nulls;
    if (format == "n") return;
    if (nulls > 0 || below(2) == 0) {
      held.buffers.push_back(buffer(held, bits));
    } else {
      held.buffers.push_back(nullptr);
    }
    std::vector<unsigned char> values;
    std::vector<unsigned char> bytes;
    const std::size_t lie_at = misplaced != nullptr && size > 0 ? misplaced->column % (size + 1) : size + 2;
    if (format == "u" || format == "U") {
      std::vector<std::int64_t> places{0};
      for (std::size_t k = 0; k < size; ++k) {
        const auto text = cell();
        bytes.insert(bytes.end(), text.begin(), text.end());
        places.push_back(static_cast<std::int64_t>(bytes.size()));
      }
      if (lie_at <= size) {
        static constexpr std::int64_t before[] = {-1, std::numeric_limits<std::int32_t>::min()};
        const auto how = misplaced->how % 4;
        // Never behind the bytes: nobody could know.
        places[lie_at] = how < 2 ? before[how] : how == 2 ? 0 : places.back();
      }
      for (const auto place : places) {
        if (format == "U") append(values, place);
        if (format == "u") append(values, static_cast<std::int32_t>(place));
      }
      held.buffers.push_back(buffer(held, values));
      held.buffers.push_back(buffer(held, bytes));
    } else if (format == "vu") {
      for (std::size_t k = 0; k < size; ++k) {
        const auto text = cell();
        append(values, static_cast<std::int32_t>(text.size()));
        std::string inside = text.substr(0, text.size() <= 12 ? 12 : 4);
        inside.resize(text.size() <= 12 ? 12 : 4);
        values.insert(values.end(), inside.begin(), inside.end());
        if (text.size() > 12) {
          append(values, std::int32_t{0});
          append(values, static_cast<std::int32_t>(bytes.size()));
          bytes.insert(bytes.end(), text.begin(), text.end());
        }
        // Whatever stands in a view can be checked.
        if (k == lie_at) {
          const auto lie = word();
          static constexpr std::int32_t odd[] = {-1, 13, 1, 0x7fffffff, 100, 5, 0, 16};
          const std::int32_t said[] = {odd[lie % 8], 0, odd[lie / 8 % 8], odd[lie / 64 % 8]};
          std::memcpy(values.data() + values.size() - 16, said, sizeof(said));
        }
      }
      std::vector<unsigned char> sizes;
      append(sizes, lie_at < size && misplaced->how % 4 == 3 ? std::int64_t{-1} : static_cast<std::int64_t>(bytes.size()));
      held.buffers.push_back(buffer(held, values));
      held.buffers.push_back(buffer(held, bytes));
      held.buffers.push_back(buffer(held, sizes));
    } else if (format == "b") {
      values.resize((size + 7) / 8);
      for (auto& byte : values) byte = static_cast<unsigned char>(word());
      held.buffers.push_back(buffer(held, values));
    } else {
      const std::size_t width = width_of(format);
      for (std::size_t k = 0; k < size; ++k) {
        std::vector<unsigned char> value;
        const std::size_t kind = below(4);
        if (format == "g" && kind != 0) {
          static constexpr double numbers[] = {
              4711, 0.5, -3, 1e300, std::numeric_limits<double>::infinity(), 7, std::numeric_limits<double>::quiet_NaN()};
          append(value, numbers[below(std::size(numbers))]);
        } else if (kind != 0) {
          append(value, static_cast<std::int64_t>(below(9)) - 2);
        } else {
          append(value, word());
        }
        while (value.size() < width) append(value, kind == 0 ? word() : (value[7] & 0x80) != 0 ? ~std::uint64_t{0} : 0);
        values.insert(values.end(), value.begin(), value.begin() + static_cast<std::ptrdiff_t>(width));
      }
      held.buffers.push_back(buffer(held, values));
    }
  }

  static std::size_t width_of(const std::string& format) {
    static const std::pair<const char*, std::size_t> widths[] = {{"c", 1},   {"C", 1},      {"s", 2},           {"S", 2},        {"e", 2},
                                                                 {"i", 4},   {"I", 4},      {"f", 4},           {"tdD", 4},      {"tts", 4},
                                                                 {"ttm", 4}, {"d:9,2", 16}, {"d:76,3,256", 32}, {"d:5,-2,32", 4}};
    const auto* const found = std::find_if(std::begin(widths), std::end(widths), [&](const auto& one) { return format == one.first; });
    return found != std::end(widths) ? found->second : 8;
  }

  void finish(ArrowArray& array, std::unique_ptr<Held> held) const {
    array.n_buffers = std::ssize(held->buffers);
    held->buffers.shrink_to_fit();
    array.buffers = held->buffers.data();
    give(array, std::move(held));
  }

  void make_dictionary(ArrowArray& array, const std::string& format, std::size_t size, std::size_t batch, std::size_t column) {
    array = {};
    array.length = static_cast<std::int64_t>(size);
    auto held = std::make_unique<Held>();
    make_values(array, *held, format, size, script_.told(dictionary_places, batch, column));
    finish(array, std::move(held));
    if (const auto* const told = script_.told(dictionary_length, batch, column)) {
      array.length = told->how % 6 == 5 ? 0 : absurd_counts[told->how % 6];
    }
    if (const auto* const told = script_.told(dictionary_nulls, batch, column)) array.null_count = absurd_counts[told->how % 5];
    if (script_.told(dictionary_no_buffers, batch, column) != nullptr) array.buffers = nullptr;
  }

  /// \param rows of the parent, with those before its batch
  void make_column(ArrowArray& array, std::size_t rows, std::size_t batch, std::size_t column) {
    const auto& asked = script_.columns[column];
    const auto told = [&](Lie lie) { return script_.told(lie, batch, column); };
    array = {};
    array.length = static_cast<std::int64_t>(rows);
    array.offset = static_cast<std::int64_t>(script_.child_offset);
    const std::size_t size = rows + script_.child_offset;
    auto held = std::make_unique<Held>();
    if (asked.indices.empty()) {
      make_values(array, *held, asked.format, size, told(text_places));
      if (told(dictionary_is_extra) != nullptr) {
        auto& extra = *held->arrays.emplace_back(std::make_unique<ArrowArray>());
        make_dictionary(extra, "l", 3, batch, column);
        array.dictionary = &extra;
      }
    } else {
      const std::size_t values = 1 + below(4);
      std::vector<unsigned char> bits((size + 7) / 8, 0xff);
      if (size > 0 && below(2) == 0) {
        bits[0] = 0xfe;
        array.null_count = array.offset == 0 ? 1 : 0;
      }
      held->buffers.push_back(buffer(*held, bits));
      const std::size_t width = width_of(asked.indices);
      std::vector<unsigned char> indices;
      for (std::size_t k = 0; k < size; ++k) {
        std::uint64_t place = below(values);
        const auto* const beyond = told(index);
        if (beyond != nullptr && beyond->how % size == k) place = beyond->how % 2 == 0 ? values : ~std::uint64_t{0};
        std::vector<unsigned char> one;
        append(one, place);
        indices.insert(indices.end(), one.begin(), one.begin() + static_cast<std::ptrdiff_t>(width));
      }
      held->buffers.push_back(buffer(*held, indices));
      auto& dictionary = *held->arrays.emplace_back(std::make_unique<ArrowArray>());
      make_dictionary(dictionary, asked.format, values, batch, column);
      array.dictionary = told(dictionary_is_missing) != nullptr ? nullptr : &dictionary;
      if (told(dictionary_is_released) != nullptr) dictionary.release(&dictionary);
    }
    const bool has_bytes = held->buffers.size() == 3;
    const bool is_view = held->buffers.size() == 4;
    if (told(no_bits) != nullptr && !held->buffers.empty()) held->buffers[0] = nullptr;
    if (told(no_data) != nullptr && held->buffers.size() > 1) held->buffers[1] = nullptr;
    if (told(no_bytes) != nullptr && (has_bytes || is_view)) held->buffers[2 + told(no_bytes)->how % (is_view ? 2 : 1)] = nullptr;
    finish(array, std::move(held));
    if (const auto* const lie = told(Lie::length)) array.length = lie->how % 6 == 5 ? std::int64_t{1} << 40 : absurd_counts[lie->how % 6];
    if (const auto* const lie = told(short_length)) array.length = lie->how % 2 == 0 || rows == 0 ? 0 : static_cast<std::int64_t>(rows) - 1;
    if (const auto* const lie = told(offset)) array.offset = absurd_counts[lie->how % 5];
    if (const auto* const lie = told(nulls)) {
      const auto said = static_cast<std::int64_t>(rows);
      const std::int64_t more[] = {said + 1, said, 1, 0};
      array.null_count = lie->how % 9 < 5 ? absurd_counts[lie->how % 9] : more[lie->how % 9 - 5];
    }
    if (const auto* const lie = told(buffer_count)) {
      // Of views a number between 4 and what there is would be believed.
      array.n_buffers = lie->how % 8 < 5 ? absurd_counts[lie->how % 8] : static_cast<std::int64_t>(lie->how % 8 - 5);
    }
    if (told(no_buffers) != nullptr) array.buffers = nullptr;
  }

  void make_batch(std::size_t batch, ArrowArray& out) {
    const std::size_t rows = script_.batches[batch];
    const std::size_t all = rows + script_.offset;
    const auto told = [&](Lie lie) { return script_.told(lie, batch); };
    out = {};
    auto held = std::make_unique<Held>();
    for (std::size_t k = 0; k < script_.columns.size(); ++k) {
      auto& column = *held->arrays.emplace_back(std::make_unique<ArrowArray>());
      make_column(column, all, batch, k);
      if (script_.told(released_child, batch, k) != nullptr) column.release(&column);
      held->array_places.push_back(script_.told(no_child, batch, k) != nullptr ? nullptr : &column);
    }
    out.length = static_cast<std::int64_t>(rows);
    out.offset = static_cast<std::int64_t>(script_.offset);
    std::vector<unsigned char> bits((all + 7) / 8, 0xff);
    for (std::size_t k = script_.offset; script_.has_null_rows && k < all; ++k) {
      if (below(4) != 0) continue;
      bits[k / 8] = static_cast<unsigned char>(bits[k / 8] & ~(1U << k % 8));
      ++out.null_count;
    }
    held->buffers.push_back(script_.has_null_rows ? buffer(*held, bits) : nullptr);
    if (told(batch_bits) != nullptr) held->buffers[0] = nullptr;
    out.n_children = std::ssize(held->array_places);
    out.children = told(batch_no_children) != nullptr ? nullptr : held->array_places.data();
    if (told(batch_dictionary) != nullptr) {
      auto& extra = *held->arrays.emplace_back(std::make_unique<ArrowArray>());
      make_dictionary(extra, "l", 3, batch, 0);
      out.dictionary = &extra;
    }
    finish(out, std::move(held));
    if (const auto* const lie = told(batch_length)) {
      const std::int64_t more[] = {out.length + 1, std::int64_t{1} << 40};
      out.length = lie->how % 7 < 5 ? absurd_counts[lie->how % 7] : more[lie->how % 7 - 5];
    }
    if (const auto* const lie = told(batch_offset)) out.offset = lie->how % 6 < 5 ? absurd_counts[lie->how % 6] : out.offset + 1;
    if (const auto* const lie = told(batch_nulls)) {
      const auto said = static_cast<std::int64_t>(rows);
      const std::int64_t more[] = {said + 1, said, 0};
      out.null_count = lie->how % 8 < 5 ? absurd_counts[lie->how % 8] : more[lie->how % 8 - 5];
    }
    if (const auto* const lie = told(batch_bits)) {
      if (lie->how % 3 == 1) out.n_buffers = absurd_counts[lie->how / 3 % 5];
      if (lie->how % 3 == 2) out.buffers = nullptr;
    }
    if (const auto* const lie = told(batch_children)) out.n_children = lie->how % 6 < 5 ? absurd_counts[lie->how % 6] : out.n_children - 1;
    rows_ += rows;
  }

  Script script_;
  std::uint64_t random_;
  std::size_t batch_ = 0;
  std::uint64_t rows_ = 0;
  bool is_released_ = false;
};

Script script_of(Input& input) {
  static const std::vector<std::vector<std::string>> formats{{"l", "i", "C", "L", "u", "vu", "b", "tdD", "d:9,2", "g"},
                                                             {"g", "f", "e", "i", "u", "d:76,3,256", "tsn:UTC", "n"},
                                                             {"i", "S", "l", "c", "s", "I", "ttu", "tDs", "U"},
                                                             {"u", "U", "vu", "i", "tdD"},
                                                             {"tdD", "tdm", "u", "n"},
                                                             {"b", "u", "c"},
                                                             {"d:9,2", "d:5,-2,32", "g", "vu"}};
  static const char* const names[] = {"who", "x", "n", "t", "day", "flag", "price"};
  static const char* const indices[] = {"c", "i", "L", "S"};
  Script script;
  for (std::size_t k = 0; k < formats.size(); ++k) {
    // Mostly the first one, of which all can be read.
    const std::size_t chosen = input.choice(64);
    script.columns.push_back({names[k], formats[k][chosen < 32 ? 0 : chosen % formats[k].size()]});
    if (chosen % 4 == 3) script.columns.back().indices = indices[chosen / 4 % 4];
  }
  for (std::size_t n = input.choice(5); n > 0; --n) script.batches.push_back(input.choice(12));
  script.offset = input.choice(3);
  script.child_offset = input.choice(3);
  script.is_misaligned = input.choice(2) == 1;
  script.has_null_rows = input.choice(3) == 1;
  for (std::size_t n = input.choice(5); n > 0; --n) {
    const auto lie = static_cast<Lie>(input.choice(Lie::count));
    const std::size_t batch = input.choice(4);
    const std::size_t column = input.choice(64);
    script.lies.push_back({lie, batch, column, input.choice(256)});
  }
  script.seed = 14695981039346656037U;
  for (const char byte : input.rest()) script.seed = (script.seed ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  return script;
}

std::vector<statistics::WeightedStatistic> queries_of(Adjacency adjacency, const UnitOfPrivacy& unit) {
  using namespace statistics;
  const data::ColumnKinds kinds{{"day", data::CellKind::date}, {"x", data::CellKind::number}};
  const auto where = [&](const char* text) { return data::parse_condition(text, "where", kinds); };
  const data::Categories towns{{"Rome", "7"}};
  std::vector<Statistic> all{{.of = CountOf{}, .where = where("day>='2017-06-01' or t==Rome"), .adjacency = {}},
                             {.of = CountOf{}, .where = where("flag==true and not (missing(x) or price<=3)"), .adjacency = {}},
                             {.of = SumOf{"x", {-1, 15}}, .adjacency = {}},
                             {.of = MeanOf{"n", {0, 4}}, .where = where("present(who)"), .adjacency = {}},
                             {.of = VarianceOf{"price", {0, 20}}, .adjacency = {}},
                             {.of = HistogramOf{"x", Bins{{-5, 20}, 3}}, .adjacency = {}},
                             {.of = HistogramOf{"t", towns}, .adjacency = {}},
                             {.of = SumOf{"n", {0, 4}}, .adjacency = {}, .by = Groups{"t", towns}},
                             {.of = QuantileOf{"x", {0, 20}, Fraction{0.5}, 11}, .adjacency = {}},
                             {.of = KeysOf{.column = "t", .chance = Delta{1e-7}}, .adjacency = {}}};
  std::vector<WeightedStatistic> queries;
  for (auto& statistic : all) {
    statistic.adjacency = adjacency;
    statistic.unit = unit;
    if (auto* const keys = std::get_if<KeysOf>(&statistic.of); keys != nullptr && !unit.is_row()) keys->owner = RowOwner{"who", false};
    queries.push_back({.statistic = std::move(statistic)});
  }
  return queries;
}

/// The same for some hundred inputs: noise is dear.
const statistics::Parts& parts_for(bool has_units) {
  struct Kept {
    statistics::Parts parts = {};
    std::size_t uses = 0;
  };
  static Kept kept[2];
  auto& [parts, uses] = kept[has_units ? 1 : 0];
  if (uses++ % 512 == 0) {
    const auto unit = has_units ? UnitOfPrivacy{"who", Count{2}} : UnitOfPrivacy{};
    parts = statistics::parts_of(queries_of(Adjacency::add_or_remove_one, unit), statistics::NoiseFamily::laplace, 2, 0.95);
  }
  return parts;
}

void read_statistics(data::ArrowStream stream, const data::DataPolicy& policy, bool has_units, std::size_t how, const Producer& producer) {
  std::optional<data::ArrowUnits> units;
  if (has_units) {
    units = {
        .rule = {.column = "who", .most = Count{2}, .empty = how % 2 == 0 ? EmptyUnit::one : EmptyUnit::each},
        .key = {1, 2, 3},
        .options = {
            .memory = how % 3 == 0 ? std::size_t{64} : std::size_t{1} << 20, .lists_units = how % 5 == 0, .finds_buckets = how % 7 != 0}};
  }
  data::OwnerBuckets buckets;
  const auto& parts = parts_for(has_units);
  const auto records = statistics::read_parts(data::ArrowReader{std::move(stream), policy}, parts, false, units, &buckets);
  for (const auto& part : parts) static_cast<void>(part->total());
  expect(has_units ? records <= producer.rows() : records == producer.rows(), "rows that were given are no records");
}

void read_training(data::ArrowStream stream, const data::DataPolicy& policy, std::size_t how, const Producer& producer) {
  data::ArrowReader reader{std::move(stream), policy};
  const auto label = data::parse_label_rule(how % 2 == 0 ? "n>1" : "t==Rome");
  data::CsvOptions options{.drop = {"who"}, .bounds = {{"x", {0, 4}}}, .categories = {{"t", {"Rome", "Oslo"}}}};
  options.drop.emplace_back("day");
  if (how % 2 != 0) options.categories.clear();
  const auto features = data::arrow_features(reader, label, options);
  data::ArrowRecords records{std::move(reader), features, label};
  if (how % 3 == 2) static_cast<void>(records.keep_units({.rule = {.column = "who", .most = Count{2}}, .key = {1, 2, 3}}));
  std::vector<double> row;
  double said = 0;
  std::uint64_t count = 0;
  for (; records.next(row, said); ++count) {
    expect(std::isfinite(said), "a label that is not finite");
    expect(records.is_damaged() ? row.empty() : row.size() == features.features(), "a row of another length");
    double square = 0;
    for (const double value : row) square += value * value;
    expect(square <= 1 + 1e-9, "a row that is longer than 1, or no numbers");
  }
  expect(how % 3 == 2 ? count <= producer.rows() : count == producer.rows(), "rows that were given are no records");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input{data, size};
  const std::size_t reading = input.choice(4);
  const std::size_t how = input.choice(64);
  data::DataPolicy policy;
  const std::size_t rules = input.choice(8);
  if (rules == 7) policy.form = data::RecordForm::is_public;
  if (rules % 2 == 1) policy.csv.missing = {{"x", "4"}, {"t", "Rome"}};
  if (rules == 4) policy.csv.complete = {"n"};
  Producer producer{script_of(input)};
  auto stream = producer.stream();
  try {
    data::ArrowStream taken{&stream, policy.limits};
    switch (reading) {
      case 0: read_statistics(std::move(taken), policy, false, how, producer); break;
      case 1: read_statistics(std::move(taken), policy, true, how, producer); break;
      case 2: read_training(std::move(taken), policy, how, producer); break;
      default: {
        // Whoever lets go of it halfway.
        data::ArrowReader reader{std::move(taken), policy};
        static_cast<void>(reader.position("t", data::CellUse::text));
        static_cast<void>(reader.next());
        static_cast<void>(reader.next_batch());
      }
    }
  } catch (const Error& error) {
    const std::string_view words = error.what();
    if (error.code() == ErrorCode::internal) fail(error.what());
    expect(!words.empty(), "a refusal that says nothing");
    if (policy.form == data::RecordForm::is_private && words.find(secret) != std::string_view::npos) fail(error.what());
  } catch (const std::exception& error) {
    fail(std::string{"another exception: "} + error.what());
  }
  expect(producer.is_released(), "a stream is not released");
  expect(live().empty(), "a struct is not released");
  return 0;
}
