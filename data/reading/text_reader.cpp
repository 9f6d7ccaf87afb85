#include <surety/data/reading/text_reader.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <surety/base/system/uninterrupted.h>
#include <surety/base/text/error.h>
#include <surety/data/reading/decompressor.h>

namespace surety::data {

namespace {

constexpr std::size_t chunk = std::size_t{1} << 16;

}  // namespace

ErrorCode code_of_failed_read(int error_number) noexcept {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP: return ErrorCode::bad_data;
    default: return ErrorCode::environment;
  }
}

struct TextReader::Stream {
  int file = -1;
  // Not initialized: most files are much smaller, and what is not read into it is never used.
  std::unique_ptr<unsigned char[]> raw = std::make_unique_for_overwrite<unsigned char[]>(chunk);
  std::size_t begin = 0;  // of what is not yet used of raw
  std::size_t end = 0;
  std::unique_ptr<Decompressor> decompressor = nullptr;  // none for plain text
  bool holds_output = false;                             // the last output was full, so more may wait inside

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (file > STDIN_FILENO) close(file);
  }
};

TextReader::TextReader(std::filesystem::path path, const ExpansionLimit& limit)
    : path_{std::move(path)}, stream_{std::make_unique<Stream>()}, limit_{limit} {
  stream_->file = path_ == standard_input ? STDIN_FILENO : uninterrupted([&] { return ::open(path_.c_str(), O_RDONLY | O_CLOEXEC); });
  if (stream_->file < 0) refuse_machine("cannot be opened", errno);
  if (path_ == standard_input) path_ = "standard input";
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  // A pipe may deliver its first bytes one by one, of which as many are awaited as tell what the file is.
  const auto start = [&] { return std::span<const unsigned char>{stream_->raw.get(), stream_->end}; };
  const auto may_be_mark = [&] {
    const std::string_view found{reinterpret_cast<const char*>(stream_->raw.get()), stream_->end};
    return found.size() < byte_order_mark.size() && byte_order_mark.starts_with(found);
  };
  for (std::size_t got = 1; got > 0 && (may_become_compressed(start()) || may_be_mark()); stream_->end += got)
    got = read_some(stream_->end);
  stream_->decompressor = decompressor_of(start());
  static_cast<void>(peek());
  if (std::string_view{buffer_.data(), filled_}.starts_with(byte_order_mark)) position_ = byte_order_mark.size();
}

TextReader::~TextReader() = default;
TextReader::TextReader(TextReader&&) noexcept = default;
TextReader& TextReader::operator=(TextReader&&) noexcept = default;

void TextReader::refuse_file(std::string_view reason) const { throw Error{ErrorCode::bad_data, about_file(reason)}; }

void TextReader::refuse_machine(std::string_view failed, int error_number) const {
  throw Error{code_of_failed_read(error_number), about_file(fmt::format("{} ({})", failed, std::strerror(error_number)))};
}

std::string TextReader::about_file(std::string_view reason) const { return fmt::format("{}: {}", one_line(path_.string()), reason); }

void TextReader::skip(std::size_t count) {
  const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(position_);
  line_ += static_cast<std::size_t>(std::count(begin, begin + static_cast<std::ptrdiff_t>(count), '\n'));
  position_ += count;
}

std::size_t TextReader::read_some(std::size_t offset) {
  for (;;) {
    const ssize_t got = read(stream_->file, stream_->raw.get() + offset, chunk - offset);
    if (got >= 0) {
      raw_bytes_ += static_cast<std::uint64_t>(got);
      return static_cast<std::size_t>(got);
    }
    if (errno != EINTR) refuse_machine("cannot be read", errno);
  }
}

bool TextReader::refill() {
  auto& stream = *stream_;
  position_ = 0;
  filled_ = 0;
  while (filled_ == 0) {
    bool is_at_end = false;
    if (stream.begin == stream.end && !stream.holds_output) {
      stream.begin = 0;
      stream.end = read_some(0);
      is_at_end = stream.end == 0;
    }
    if (!stream.decompressor) {
      if (is_at_end) break;
      filled_ = stream.end - stream.begin;
      // No larger than what was read, so that the address sanitizer reports a read behind it.
      if (buffer_.size() < filled_) buffer_.resize(filled_);
      std::memcpy(buffer_.data(), stream.raw.get() + stream.begin, filled_);
      stream.begin = stream.end;
      continue;
    }
    auto& decompressor = *stream.decompressor;
    if (is_at_end) {
      if (decompressor.is_between_members()) break;
      refuse_file(fmt::format("{} stream is truncated", decompressor.name()));
    }
    buffer_.resize(chunk);
    const auto step = decompressor.decompress({stream.raw.get() + stream.begin, stream.end - stream.begin}, buffer_);
    if (!step.fault.empty()) refuse_file(fmt::format("{} stream is damaged ({})", decompressor.name(), step.fault));
    stream.begin += step.taken;
    filled_ = step.made;
    stream.holds_output = filled_ == buffer_.size();
    bytes_ += filled_;
    if (bytes_ > limit_.unsuspicious && static_cast<double>(bytes_) > limit_.factor * static_cast<double>(raw_bytes_)) {
      refuse_file(fmt::format("decompresses to more than {} times its size, must be less unless --no-limits is given", limit_.factor));
    }
  }
  return filled_ > 0;
}

namespace {

/// Whether a decimal number that does not fit into a double is one near zero, not a large one: its first digit that is not 0 stands behind
/// the point, by its exponent. \pre `text` has such a digit.
bool is_tiny(std::string_view text) {
  const auto mark = text.find_first_of("eE");
  const auto digits = text.substr(0, mark);
  constexpr double largest = 0x1p62;
  double exponent = 0;
  if (mark != std::string_view::npos) {
    for (const char c : text.substr(mark + 1)) {
      if (c >= '0' && c <= '9') exponent = std::min(largest, exponent * 10 + (c - '0'));
    }
    if (text.substr(mark + 1).starts_with('-')) exponent = -exponent;
  }
  const auto point = std::min(digits.find('.'), digits.size());
  const auto first = digits.find_first_of("123456789");
  return exponent + static_cast<double>(point) - static_cast<double>(first) < 0;
}

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// "1,234.5" as "1234.5"; nothing where the separators do not stand between groups of three digits. \pre `text` has a separator
std::optional<std::string> without_separators(std::string_view text, NumberFormat format) {
  std::string plain;
  if (text.starts_with('+') || text.starts_with('-')) {
    plain += text.front();
    text.remove_prefix(1);
  }
  const auto end_of_group = [&] { return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin()); };
  const auto first = end_of_group();
  if (first < 1 || first > 3 || text.front() == '0') return std::nullopt;
  plain += text.substr(0, first);
  text.remove_prefix(first);
  while (text.starts_with(format.thousands)) {
    text.remove_prefix(1);
    constexpr std::size_t digits = 3;
    if (end_of_group() != digits) return std::nullopt;
    plain += text.substr(0, digits);
    text.remove_prefix(digits);
  }
  if (text.empty()) return plain;
  if (text.front() != format.point || !std::all_of(text.begin() + 1, text.end(), is_digit)) return std::nullopt;
  return plain.append(text);
}

}  // namespace

ParsedNumber parse_number(std::string_view text, NumberFormat format) {
  text = trimmed(text);
  if (format.thousands != 0 && text.find(format.thousands) != std::string_view::npos) {
    const auto plain = without_separators(text, format);
    return plain ? parse_number(*plain, NumberFormat{.point = format.point}) : ParsedNumber{0, NumberFault::not_a_number};
  }
  if (const char point = format.point; point != '.') {
    if (text.find('.') != std::string_view::npos) return {0, NumberFault::not_a_number};
    if (const auto comma = text.find(point); comma != std::string_view::npos) {
      std::string with_point{text};
      with_point[comma] = '.';
      return parse_number(with_point);
    }
  }
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc::invalid_argument || end != last) return {0, NumberFault::not_a_number};
  if (error == std::errc::result_out_of_range) return {0, is_tiny(text) ? NumberFault::none : NumberFault::out_of_range};
  if (!std::isfinite(value)) return {0, NumberFault::not_finite};
  return {value, NumberFault::none};
}

std::string_view describe(NumberFault fault) {
  switch (fault) {
    case NumberFault::none: return "is a number";
    case NumberFault::not_a_number: return "is not a number";
    case NumberFault::not_finite: return "is not finite";
    case NumberFault::out_of_range: return "is outside the range of double";
  }
  throw Error{ErrorCode::internal, "a fault without a description"};
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 60;
  return fmt::format("'{}'", one_line(text, longest));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t";
  const auto first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

}  // namespace surety::data
