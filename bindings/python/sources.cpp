#include "sources.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string_view>

#include <surety/base/text/error.h>
#include <surety/data/reading/text_reader.h>

#include "calls.h"
#include "objects.h"
#include "texts.h"

namespace surety::python {
namespace {

data::DataLimits limits_of(bool no_limits) { return no_limits ? data::DataLimits::none() : data::DataLimits{}; }

/// Releases children with their parent, or leaves those that somebody has moved out.
template <class Holder, class Struct>
void release_struct(Struct* one) {
  for (std::int64_t k = 0; k < one->n_children; ++k) {
    if (one->children[k]->release != nullptr) one->children[k]->release(one->children[k]);
  }
  delete static_cast<Holder*>(one->private_data);
  one->release = nullptr;
}

/// Memory of Python's, held as long as this lives.
class Memory {
 public:
  explicit Memory(nb::handle owner) {
    if (PyObject_GetBuffer(owner.ptr(), &view_, PyBUF_SIMPLE) != 0) python_error();
  }
  Memory(Memory&& other) noexcept : view_{std::exchange(other.view_, Py_buffer{})} {}
  Memory(const Memory&) = delete;
  ~Memory() {
    if (view_.obj == nullptr) return;
    const Locked lock;
    PyBuffer_Release(&view_);
  }
  [[nodiscard]] const void* begin() const noexcept { return view_.buf; }
  /// All of it. \pre it holds values of this type
  template <class T>
  [[nodiscard]] std::span<const T> all() const noexcept {
    return {static_cast<const T*>(view_.buf), static_cast<std::size_t>(view_.len) / sizeof(T)};
  }

 private:
  Py_buffer view_{};
};

/// One column of a batch.
struct Column {
  std::vector<Memory> memory = {};
  std::vector<const void*> buffers = {};
};
struct Batch {
  std::vector<ArrowArray> columns = {};
  std::vector<ArrowArray*> pointers = {};
  const void* no_buffer = nullptr;
};

/// What NumPy has of a column.
void export_buffers(nb::handle buffers, std::int64_t rows, ArrowArray* out) {
  auto column = std::make_unique<Column>();
  for (const nb::handle buffer : buffers) {
    if (buffer.is_none()) {
      column->buffers.push_back(nullptr);
    } else {
      column->memory.emplace_back(buffer);
      column->buffers.push_back(column->memory.back().begin());
    }
  }
  *out = {.length = rows,
          .null_count = column->buffers.front() == nullptr ? 0 : -1,
          .offset = 0,
          .n_buffers = static_cast<std::int64_t>(column->buffers.size()),
          .n_children = 0,
          .buffers = column->buffers.data(),
          .children = nullptr,
          .dictionary = nullptr,
          .release = release_struct<Column, ArrowArray>,
          .private_data = column.get()};
  static_cast<void>(column.release());
}

ArrowArrayStream* stream_in(nb::handle capsule) {
  auto* const stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), stream_capsule));
  if (stream == nullptr) python_error();
  return stream;
}

/// What another package has of a column: a stream of one chunk with these rows.
void export_chunk(nb::handle capsule, std::int64_t rows, ArrowArray* out) {
  data::ArrowOwner<ArrowArrayStream> stream{stream_in(capsule)};
  ArrowArray given{};
  const int code = stream.is_there() ? stream->get_next(stream.get(), &given) : EINVAL;
  data::ArrowOwner<ArrowArray> chunk{code == 0 ? &given : nullptr};
  if (!chunk.is_there() || chunk->length != rows) data::ArrowStream::refuse("a column cannot be read");
  *out = *chunk.get();
  chunk.get()->release = nullptr;
}

/// \pre with the lock \param convert as of `export_objects`
void export_batch(nb::handle batch, nb::handle convert, ArrowArray* out) {
  const auto rows = nb::cast<std::int64_t>(batch[0]);
  const nb::object columns = batch[1];
  auto held = std::make_unique<Batch>();
  held->columns.resize(nb::len(columns));
  held->pointers.reserve(held->columns.size());
  for (auto& column : held->columns) held->pointers.push_back(&column);
  // From here on what is made is released with its parent.
  *out = {.length = rows,
          .null_count = 0,
          .offset = 0,
          .n_buffers = 1,
          .n_children = static_cast<std::int64_t>(held->columns.size()),
          .buffers = &held->no_buffer,
          .children = held->pointers.data(),
          .dictionary = nullptr,
          .release = release_struct<Batch, ArrowArray>,
          .private_data = held.get()};
  data::ArrowOwner<ArrowArray> owner{out};
  auto& made = held.release()->columns;
  for (std::size_t k = 0; k < made.size(); ++k) {
    const nb::object given = columns[k];
    if (PyTuple_Check(given.ptr())) {
      export_buffers(given, rows, &made[k]);
    } else if (PyCapsule_IsValid(given.ptr(), stream_capsule) != 0) {
      export_chunk(given, rows, &made[k]);
    } else {
      export_objects(given, convert, &made[k]);
    }
  }
  *out = *owner.get();
  owner.get()->release = nullptr;
}

/// Of what type a column is: as Arrow writes it, a stream of it, or of Python objects.
struct ColumnType {
  std::string format = {};
  std::shared_ptr<data::ArrowOwner<ArrowSchema>> schema = {};
  bool is_of_objects = false;
};

struct Columns {
  std::vector<std::string> names;
  std::vector<ColumnType> types;
  nb::object next;
  nb::object convert;
  Raised raised;
};

struct Schema {
  std::vector<std::string> names = {};
  std::vector<ColumnType> types = {};
  std::vector<ArrowSchema> columns = {};
  std::vector<ArrowSchema*> pointers = {};
};
/// What it says lives as long as the schema of all columns.
void release_column(ArrowSchema* column) { column->release = nullptr; }

void export_schema(const Columns& columns, ArrowSchema* out) {
  auto held = std::make_unique<Schema>(Schema{.names = columns.names, .types = columns.types});
  held->columns.resize(held->names.size());
  for (auto& column : held->columns) held->pointers.push_back(&column);
  // From here on what is made is released with its parent.
  *out = {.format = "+s",
          .name = "",
          .metadata = nullptr,
          .flags = 0,
          .n_children = static_cast<std::int64_t>(held->columns.size()),
          .children = held->pointers.data(),
          .dictionary = nullptr,
          .release = release_struct<Schema, ArrowSchema>,
          .private_data = held.get()};
  data::ArrowOwner<ArrowSchema> owner{out};
  auto& made = *held.release();
  for (std::size_t k = 0; k < made.columns.size(); ++k) {
    const auto& type = made.types[k];
    const char* const name = made.names[k].c_str();
    if (type.is_of_objects) {
      export_schema_of_objects(name, &made.columns[k]);
      continue;
    }
    // What another package says of a column stays with it: children and dictionary are looked at, and released there.
    if (type.schema) made.columns[k] = *type.schema->get();
    if (!type.schema) {
      made.columns[k].format = type.format.c_str();
      made.columns[k].flags = ARROW_FLAG_NULLABLE;
    }
    made.columns[k].name = name;
    made.columns[k].release = release_column;
    made.columns[k].private_data = nullptr;
  }
  *out = *owner.get();
  owner.get()->release = nullptr;
}

/// \pre with the lock
ColumnType type_in(nb::handle given) {
  if (given.is_none()) return {.format = {}, .schema = {}, .is_of_objects = true};
  if (PyCapsule_IsValid(given.ptr(), stream_capsule) == 0)
    return {.format = nb::cast<std::string>(given), .schema = {}, .is_of_objects = false};
  data::ArrowOwner<ArrowArrayStream> stream{stream_in(given)};
  ArrowSchema schema{};
  if (!stream.is_there() || stream->get_schema(stream.get(), &schema) != 0) data::ArrowStream::refuse("a column cannot be read");
  return {.format = {}, .schema = std::make_shared<data::ArrowOwner<ArrowSchema>>(&schema), .is_of_objects = false};
}

Columns& columns_of(ArrowArrayStream* stream) { return *static_cast<Columns*>(stream->private_data); }

int next_batch(ArrowArrayStream* stream, ArrowArray* out) {
  auto& columns = columns_of(stream);
  const Locked lock;
  *out = {};
  try {
    const nb::object batch = columns.next();
    if (!batch.is_none()) export_batch(batch, columns.convert, out);
    return 0;
  } catch (nb::python_error& error) {
    columns.raised->emplace(std::move(error));
    return EINVAL;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (...) {
    return EINVAL;
  }
}

}  // namespace

const Source::Records& Source::records() const {
  if (!records_) invalid("the records were read already, must be read once");
  return *records_;
}

bool Source::has_column(const std::string& name) const {
  const auto* const stream = std::get_if<data::ArrowStream>(&records());
  if (stream == nullptr) return false;
  const auto& columns = stream->columns();
  return std::any_of(columns.begin(), columns.end(), [&](const data::ArrowColumn& one) { return one.name == name; });
}

Source::Records Source::take() {
  static_cast<void>(records());
  return *std::exchange(records_, std::nullopt);
}

void Source::rethrow() const {
  if (!raised_ || !*raised_) return;
  nb::python_error raised{*std::move(*raised_)};
  raised_->reset();
  throw raised;
}

Source arrow_source(nb::handle capsule, bool no_limits) {
  auto* const stream = stream_in(capsule);
  return unlocked([&] { return Source{data::ArrowStream{stream, limits_of(no_limits)}}; });
}

Source array_source(const std::vector<std::string>& names, nb::handle types, nb::object next, nb::object convert, bool no_limits,
                    std::uint64_t rows) {
  auto raised = std::make_shared<std::optional<nb::python_error>>();
  auto columns = std::make_unique<Columns>(
      Columns{.names = names, .types = {}, .next = std::move(next), .convert = std::move(convert), .raised = raised});
  for (const nb::handle type : types) columns->types.push_back(type_in(type));
  ArrowArrayStream stream{.get_schema =
                              [](ArrowArrayStream* self, ArrowSchema* out) {
                                try {
                                  export_schema(columns_of(self), out);
                                  return 0;
                                } catch (const std::bad_alloc&) {
                                  return ENOMEM;
                                } catch (...) {
                                  return EINVAL;
                                }
                              },
                          .get_next = next_batch,
                          .get_last_error = [](ArrowArrayStream* /*self*/) -> const char* { return "a column cannot be read"; },
                          .release =
                              [](ArrowArrayStream* self) {
                                const Locked lock;
                                delete &columns_of(self);
                                self->release = nullptr;
                              },
                          .private_data = columns.get()};
  static_cast<void>(columns.release());
  return Source{data::ArrowStream{&stream, limits_of(no_limits), rows}, std::move(raised)};
}

Source sparse_source(std::uint64_t columns, nb::handle ends, nb::handle indices, bool wide_indices, nb::handle values, nb::handle labels) {
  const auto held = std::make_shared<std::vector<Memory>>();
  const auto memory = [&](nb::handle array) -> const Memory& { return held->emplace_back(array); };
  data::SparseMatrix matrix;
  matrix.columns = columns;
  matrix.ends = memory(ends).all<std::int64_t>();
  if (wide_indices) {
    matrix.indices = memory(indices).all<std::int64_t>();
  } else {
    matrix.indices = memory(indices).all<std::int32_t>();
  }
  matrix.values = memory(values).all<double>();
  if (!labels.is_none()) matrix.labels = memory(labels).all<double>();
  matrix.owner = held;
  unlocked([&] { matrix.validate(); });
  return Source{std::move(matrix)};
}

nb::object cells_of(Source& source, bool as_texts) {
  auto stream = std::get<data::ArrowStream>(source.take());
  nb::list texts;
  std::vector<double> numbers;
  std::string buffer;
  try {
    while (const auto batch = unlocked([&] { return stream.next(); })) {
      const auto cells = batch->cells(0);
      for (std::size_t row = 0; row < cells.size(); ++row) {
        const bool is_there = !cells.is_null(row);
        if (as_texts) {
          const auto text = is_there ? cells.text(row, buffer) : std::string_view{};
          if (data::trimmed(text).empty()) {
            texts.append(nb::none());
          } else {
            texts.append(nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape")));
          }
        } else {
          const auto parsed = is_there ? cells.number(row) : data::ParsedNumber{0, data::NumberFault::not_a_number};
          numbers.push_back(parsed.fault == data::NumberFault::none ? parsed.value : std::numeric_limits<double>::quiet_NaN());
        }
      }
    }
  } catch (const Error&) {
    source.rethrow();
    throw;
  }
  if (as_texts) return texts;
  return nb::steal(
      PyBytes_FromStringAndSize(reinterpret_cast<const char*>(numbers.data()), static_cast<Py_ssize_t>(numbers.size() * sizeof(double))));
}

}  // namespace surety::python
