// Reading text that may be hostile or damaged: a file, plain or compressed by gzip, zstd or bzip2, byte by byte in bounded memory, and the
// numbers in it. Every refusal is Error{bad_data}, or Error{environment} where it is the machine's, and starts with the file's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/data/reading/data_policy.h>

namespace surety::data {

/// Whose fault it is that a file cannot be opened or read: bad_data where its path is wrong, which names nothing or a folder; environment where
/// the machine refuses: no permission, a failing disk, too many open files.
[[nodiscard]] ErrorCode code_of_failed_read(int error_number) noexcept;

/// The most that a compressed file may grow to. Such a limit is decided by all bytes, so it is for files that nobody keeps private.
struct ExpansionLimit {
  double factor = std::numeric_limits<double>::infinity();  ///< times its own size
  std::uint64_t unsuspicious = 0;                           ///< so many bytes may always come
};

/// The bytes of a file in order, decompressed when the file starts as gzip, zstd or bzip2 do. A UTF-8 byte order mark is skipped, and `line()` counts line feeds for messages.
class TextReader {
 public:
  static constexpr int end = -1;
  /// The path that stands for standard input, which can be read once. Bytes are handed on as they arrive.
  static constexpr const char* standard_input = "-";

  /// \throws Error{code_of_failed_read} when the file cannot be opened or read; Error{bad_data} when it grows beyond `limit`.
  explicit TextReader(std::filesystem::path path, const ExpansionLimit& limit = {});
  ~TextReader();
  TextReader(TextReader&&) noexcept;
  TextReader& operator=(TextReader&&) noexcept;

  /// The next byte as an unsigned char, or `end`; `peek` leaves it in place.
  /// \throws Error{code_of_failed_read} on a read error; Error{bad_data} on a compressed stream that is truncated or damaged, or one that grows
  ///         beyond the limit.
  [[nodiscard]] int peek() {
    if (position_ == filled_ && !refill()) return end;
    return static_cast<unsigned char>(buffer_[position_]);
  }
  int get() {
    const int byte = peek();
    if (byte == end) return end;
    ++position_;
    if (byte == '\n') ++line_;
    return byte;
  }

  /// Some of the next bytes, at least one unless the file ends; they stay in place. Throws as `peek`.
  [[nodiscard]] std::string_view available() {
    if (position_ == filled_ && !refill()) return {};
    return {buffer_.data() + position_, filled_ - position_};
  }
  /// Goes on behind the first `count` of the bytes that are available.
  void skip(std::size_t count);

  /// The line of the next byte, from 1.
  [[nodiscard]] std::size_t line() const noexcept { return line_; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// \throws Error{bad_data} "<file>: <reason>", always.
  [[noreturn]] void refuse_file(std::string_view reason) const;
  /// "<file>: <reason>".
  [[nodiscard]] std::string about_file(std::string_view reason) const;

 private:
  struct Stream;
  /// `failed` is "cannot be read".
  [[noreturn]] void refuse_machine(std::string_view failed, int error_number) const;
  bool refill();
  /// Reads what there is, at least one byte unless the file ends, into the raw bytes from `offset` on.
  std::size_t read_some(std::size_t offset);

  std::filesystem::path path_;
  std::unique_ptr<Stream> stream_;
  std::vector<char> buffer_;
  std::size_t position_ = 0;
  std::size_t filled_ = 0;
  std::size_t line_ = 1;
  ExpansionLimit limit_;
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t bytes_ = 0;
};

/// What is wrong with a text that should be a number.
enum class NumberFault { none, not_a_number, not_finite, out_of_range };

struct ParsedNumber {
  double value;
  NumberFault fault;
};

/// The whole of `text`, without surrounding spaces and tabs, as a decimal number. Independent of the locale; a leading '+' is
/// accepted. A number that overflows a double is out of range; one that underflows is 0. Before the decimals stands `format.point`: with a comma there
/// a text with a point is no number, unless the point separates thousands.
/// With a separator of thousands a number may be written without it, or with it between all groups: one to three digits that do not begin with 0, then
/// groups of exactly three, then decimals without it and no exponent: "1,234,567.5". Anything else that has the separator is no number.
[[nodiscard]] ParsedNumber parse_number(std::string_view text, NumberFormat format = {});

/// "is not a number", "is not finite" or "is outside the range of double".
[[nodiscard]] std::string_view describe(NumberFault fault);

/// A user's text for one line of an error message: control characters replaced, at most 60 bytes of it, in quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// `text` without leading and trailing spaces and tabs.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace surety::data
