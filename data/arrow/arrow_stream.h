// Tables from other programs in memory: an Arrow C stream as batches of columns whose form was looked at.
//
// What a cell counts as depends on the cell alone, never on the type of its column, which other packages infer from all cells, so that one record could decide
// what the others are. Every column can be used in every way; a cell that does not fit a use is a missing or a damaged one there (data_policy.h).
//
//   cell                                number                        text (cell_text.h)
//   7, 7.0, decimal 7.00                7                             "7"
//   other integers, decimals            the double nearest to it      all digits, none that is a 0 at the end of decimals: "1.5"
//   other floats                        itself                        the shortest decimal of the double: "0.1"
//   floats beyond 2^53                  itself                        none
//   infinities                          none                          none
//   truth values                        1 or 0                        "true" or "false"
//   texts                               where it is written as one    itself
//                                       (text_reader.h)
//   dates, timestamps                   days since 1970-01-01         "2017-06-01", "2017-06-01 13:30:00.5"; none beyond the years 0000 to 9999
//   durations                           days                          that of the number
//   times of day                        days: 6 hours are 0.25        "06:00:00"
//
// A day is the unit of all of them: hours are fractions of it. A timestamp is in UTC where its column has a zone, and stands for its day where a date is compared, as
// a text does that is written as one (`date_in`). Bytes are texts. The cells of a dictionary are its values, by value, never by index, and those of
// a union what the member says that each is of. Nulls and NaN are missing cells, and so is every cell of another type (lists, structs, intervals of months).
// Integers of 128 bits are those of polars ("_pli128"), which Arrow does not have.
// A row that is null as a whole is a damaged record. Names of columns are as they stand in the schema, blanks and all.
//
// The producer of a stream is another program's code. What it says is checked as far as it can be before it is believed: counts, lengths,
// null pointers where there must be something, offsets of texts, indices of dictionaries, and each struct is released once whatever it says. *What cannot be checked*:
// the interface gives no lengths of buffers (but for views of texts, whose buffers say theirs). A producer whose buffers are shorter than
// its counts say, or whose pointers lead nowhere, makes this program read memory that is none: it is trusted as code is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/data/arrow/arrow_abi.h>
#include <surety/data/reading/cell_text.h>
#include <surety/data/reading/condition.h>
#include <surety/data/reading/data_policy.h>
#include <surety/data/reading/text_reader.h>

namespace surety::data {

class HashedBytes;

/// What the cells of an Arrow column hold; of a dictionary, what its values do.
struct ArrowType {
  enum class Kind : std::uint8_t {
    null,
    boolean,
    integer,
    unsigned_integer,
    floating,
    text,
    text_view,
    fixed_text,
    date,
    timestamp,
    time_of_day,
    duration,
    decimal,
    dense_union,
    sparse_union,
    other
  };
  Kind kind = Kind::other;
  int bytes = 0;           ///< of a value; of a text, of an offset
  std::int64_t units = 1;  ///< of a date in a day, of a time in a second
  int scale = 0;           ///< decimals of a decimal
  bool is_signed = true;   ///< of a decimal
  friend bool operator==(const ArrowType&, const ArrowType&) = default;
};

struct ArrowColumn {
  std::string name;
  std::string format;                                      ///< as the interface writes it: "l" is int64
  ArrowType type;                                          ///< of values
  std::optional<ArrowType> indices;                        ///< of a dictionary
  std::vector<ArrowColumn> members = {};                   ///< of a union
  std::vector<std::optional<std::size_t>> member_of = {};  ///< the member of each type id of a union
  /// Its cells may be texts.
  [[nodiscard]] bool may_hold_texts() const noexcept;
};

/// A struct of the interface that is released once: when it goes, unless it was moved on.
template <class Struct>
class ArrowOwner {
 public:
  ArrowOwner() = default;
  /// Takes it over, if there is one: `from` counts as released.
  explicit ArrowOwner(Struct* from) noexcept {
    if (from == nullptr) return;
    held_ = *from;
    from->release = nullptr;
  }
  ArrowOwner(ArrowOwner&& other) noexcept : held_{std::exchange(other.held_, Struct{})} {}
  ArrowOwner& operator=(ArrowOwner&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ArrowOwner(const ArrowOwner&) = delete;
  ArrowOwner& operator=(const ArrowOwner&) = delete;
  ~ArrowOwner() {
    if (held_.release != nullptr) held_.release(&held_);
  }

  [[nodiscard]] bool is_there() const noexcept { return held_.release != nullptr; }
  [[nodiscard]] Struct* operator->() noexcept { return &held_; }
  [[nodiscard]] const Struct* operator->() const noexcept { return &held_; }
  [[nodiscard]] Struct* get() noexcept { return &held_; }

 private:
  Struct held_{};
};

/// The cells of one column in one batch, whose counts, offsets and indices are within each other. It looks into the batch, which must stay.
class ArrowCells {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Null or NaN, or of a type that is never there; also of a row that is null as a whole. \pre row < size(), here and below
  [[nodiscard]] bool is_null(std::size_t row) const noexcept;
  /// Null, or a text with nothing in it but blanks.
  [[nodiscard]] bool is_blank(std::size_t row) const;
  /// \pre the cell is not null, here and below
  [[nodiscard]] ParsedNumber number(std::size_t row, NumberFormat format = {}) const;
  /// Looks into the batch or into `buffer`, which it may fill. Empty where it has none.
  [[nodiscard]] std::string_view text(std::size_t row, std::string& buffer) const;
  /// Nothing where it is none of the years 0000 to 9999, or no date.
  [[nodiscard]] std::optional<Date> date(std::size_t row) const;
  /// Nothing where it is none.
  [[nodiscard]] std::optional<bool> truth(std::size_t row) const;

  /// The finite numbers among the cells of `count` rows, in their order. \return how many: the others are null or damaged.
  /// \pre out has room for `count`. \complexity O(count), without memory for what are no texts and decimals
  [[nodiscard]] std::size_t numbers(std::size_t first, std::size_t count, double* out, NumberFormat format = {}) const;
  /// The same of these rows.
  [[nodiscard]] std::size_t numbers(std::span<const std::size_t> rows, double* out, NumberFormat format = {}) const;
  /// Each row's, NaN where it is null or no finite number; of a dictionary, a union and what is written as text NaN everywhere: `number` has those.
  void numbers_or_nan(std::size_t first, std::span<double> out) const;

  /// The cell as bytes that are those of another one where both count as the same in every use, whatever their types: docs/proofs/units.md#arrow. Also of a
  /// null.
  void encode(std::size_t row, std::vector<unsigned char>& out) const;
  /// Each to the bytes of its own.
  void encode(std::span<const std::size_t> rows, HashedBytes* out) const;
  /// The integer whose digits are the text of the cell; nothing for other texts, and beyond 64 bits.
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t row) const;
  /// Those of `count` rows, of integers with a sign of which none can be null; false, and writes nothing, for other columns. \pre out has room for `count`
  [[nodiscard]] bool whole_integers(std::size_t first, std::size_t count, std::int64_t* out) const;

  /// Where the value of a row that will be read soon begins, of a text its offset, for the processor alone; nullptr where there is no such place.
  [[nodiscard]] const void* place_in_memory(std::size_t row) const noexcept {
    return data_ != nullptr ? data_ + static_cast<std::size_t>(type_.bytes) * (first_ + row) : nullptr;
  }

  /// No cell can be null: neither a bit nor a value says so.
  [[nodiscard]] bool is_whole() const noexcept {
    using enum ArrowType::Kind;
    return data_ != nullptr && type_.kind != floating && type_.kind != dense_union && type_.kind != sparse_union && has_no_bits() &&
           !values_;
  }

 private:
  friend class ArrowBatch;
  ArrowCells() = default;
  /// \throws std::string_view of what is wrong
  ArrowCells(const ArrowArray& array, const ArrowColumn& column, std::size_t first, std::size_t size, const unsigned char* row_bits,
             std::size_t first_row_bit);
  void read_buffers(const ArrowArray& array, std::size_t first, std::size_t size);
  void read_members(const ArrowArray& array, const ArrowColumn& column);
  void check_texts() const;
  [[nodiscard]] bool has_no_bits() const noexcept { return bits_ == nullptr && row_bits_ == nullptr; }
  /// By a bit of its own, or of its row.
  [[nodiscard]] bool has_null_bit(std::size_t row) const noexcept;
  /// By that, its type or its value; of dictionaries and unions without a look at values.
  [[nodiscard]] bool has_own_null(std::size_t row) const noexcept;
  /// Where the value of a cell is: in a dictionary, in a member of a union, here. \pre it has no null of its own
  struct Place {
    const ArrowCells* cells;
    std::size_t row;
  };
  [[nodiscard]] Place place(std::size_t row) const noexcept;
  [[nodiscard]] bool is_elsewhere() const noexcept { return values_ != nullptr || members_ != nullptr; }
  [[nodiscard]] std::uint64_t index(std::size_t row) const noexcept;
  [[nodiscard]] std::int64_t signed_value(std::size_t row) const noexcept;
  [[nodiscard]] std::uint64_t unsigned_value(std::size_t row) const noexcept;
  [[nodiscard]] double floating_value(std::size_t row) const noexcept;
  [[nodiscard]] std::string_view bytes_of_text(std::size_t row) const noexcept;
  [[nodiscard]] std::int64_t days(std::size_t row) const noexcept;
  [[nodiscard]] Instant instant(std::size_t row) const noexcept { return instant_of(signed_value(row), type_.units); }
  [[nodiscard]] std::string decimal(std::size_t row) const;
  /// Calls use(load), where load(row) is the number of a row's value. False, and does not, where that is no load from memory.
  template <class Use>
  bool with_load(const Use& use) const;
  template <class Rows, class Load>
  std::size_t present(const Rows& rows, double* out, const Load& load) const;
  template <class Rows>
  std::size_t numbers_of(const Rows& rows, double* out, NumberFormat format) const;
  template <class Sink>
  void write(std::size_t row, Sink& out) const;

  ArrowType type_;  ///< of the indices of a dictionary
  std::size_t size_ = 0;
  std::size_t first_ = 0;  ///< the place of row 0 in the buffers
  const unsigned char* bits_ = nullptr;
  const unsigned char* data_ = nullptr;
  const unsigned char* bytes_ = nullptr;       ///< of texts
  const void* const* text_buffers_ = nullptr;  ///< of views of texts
  std::size_t text_buffer_count_ = 0;
  const unsigned char* text_buffer_sizes_ = nullptr;
  const unsigned char* row_bits_ = nullptr;  ///< of the rows as a whole
  std::size_t first_row_bit_ = 0;
  std::shared_ptr<const ArrowCells> values_;  ///< of a dictionary
  /// Of a union, with the member of each type id, and where the values of a sparse one begin.
  struct Members {
    std::vector<ArrowCells> cells;
    std::array<std::uint8_t, 128> member_of;
  };
  std::shared_ptr<const Members> members_;
};

/// Some rows of a stream.
class ArrowBatch {
 public:
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  /// Whether a row is null as a whole. \pre row < rows()
  [[nodiscard]] bool is_null(std::size_t row) const noexcept;
  /// The cells of a column, once its form was looked at. \pre position is that of a column. \throws Error{bad_data} where it lies, or was let go.
  /// \complexity O(1) but for texts and dictionaries, of which each row is looked at
  [[nodiscard]] ArrowCells cells(std::size_t position) const;
  /// Lets the memory of all other columns go. \param positions without repetitions
  void keep_only(std::span<const std::size_t> positions);

 private:
  friend class ArrowStream;
  ArrowBatch() = default;

  std::shared_ptr<const std::vector<ArrowColumn>> columns_;
  ArrowOwner<ArrowArray> root_;
  std::vector<ArrowOwner<ArrowArray>> kept_;
  std::vector<const ArrowArray*> arrays_;  ///< by position; nullptr where it was let go
  std::size_t rows_ = 0;
  std::size_t first_ = 0;            ///< the place of row 0 in the columns
  std::vector<unsigned char> bits_;  ///< of rows, from `first_` modulo 8 on; empty where none is null
};

/// A stream of another program, which is read once.
class ArrowStream {
 public:
  /// Takes the stream over, also where it throws: it is released when this goes, once, and `stream` counts as released at once. Reads the schema.
  /// \throws Error{invalid_argument} for no stream, or one that was released; Error{bad_data} for a producer that fails, or a schema that is none of a table or has more
  ///         columns than `limits.columns`.
  /// \param rows how many there are, where the producer knows
  explicit ArrowStream(ArrowArrayStream* stream, const DataLimits& limits = {}, std::optional<std::uint64_t> rows = {});

  [[nodiscard]] const std::vector<ArrowColumn>& columns() const noexcept { return *columns_; }
  /// A stream of the same schema that is at its end, for what looks at that alone.
  [[nodiscard]] ArrowStream without_rows() const { return ArrowStream{columns_}; }
  /// The next batch, which may be empty; nothing at the end. \throws Error{bad_data} for a producer that fails, whose words are repeated where
  ///         the form is public, or a batch whose counts lie. Then the stream is at its end.
  [[nodiscard]] std::optional<ArrowBatch> next(RecordForm form = RecordForm::is_private);
  /// How many rows there are. Where the producer does not know, all batches are read now and held until `next` gives them, since a stream can be read once.
  /// \pre no batch was taken yet \throws as `next` \complexity O(1), or one pass; memory: that of all batches, which is shared where the producer shares it
  [[nodiscard]] std::uint64_t count_rows(RecordForm form = RecordForm::is_private);

  /// The position of a column. \throws Error{bad_data} listing the schema's names when there is none, or where it stands twice.
  [[nodiscard]] std::size_t position(std::string_view column) const;
  /// \throws Error{bad_data} "Arrow stream: <reason>", always.
  [[noreturn]] static void refuse(std::string_view reason);

 private:
  explicit ArrowStream(std::shared_ptr<const std::vector<ArrowColumn>> columns) : columns_{std::move(columns)}, is_at_end_{true} {}
  [[nodiscard]] std::optional<ArrowBatch> read_next(RecordForm form);
  [[noreturn]] void refuse_producer(std::string_view failed, int code, RecordForm form);

  ArrowOwner<ArrowArrayStream> stream_;
  std::shared_ptr<const std::vector<ArrowColumn>> columns_;
  std::optional<std::uint64_t> rows_;
  std::vector<ArrowBatch> held_;  ///< batches that were read to be counted; the next one is the last
  bool is_at_end_ = false;
};

}  // namespace surety::data
