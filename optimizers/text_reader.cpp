#include <surety/optimizers/text_reader.h>

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/error.h>

namespace surety::optimizers {

namespace {

constexpr std::size_t chunk = std::size_t{1} << 16;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

struct TextReader::Stream {
  std::unique_ptr<std::FILE, CloseFile> file;
  bool compressed = false;
  bool between_members = false;  // a gzip file is one or more members; the end of the file is legal only between two
  z_stream inflater{};
  std::vector<unsigned char> raw;

  ~Stream() {
    if (compressed) inflateEnd(&inflater);
  }
};

TextReader::TextReader(std::filesystem::path path) : path_{std::move(path)}, stream_{std::make_unique<Stream>()}, buffer_(chunk) {
  stream_->file.reset(std::fopen(path_.c_str(), "rbe"));
  if (!stream_->file) refuse(fmt::format("cannot be opened ({})", std::strerror(errno)));
  stream_->raw.resize(chunk);
  const std::size_t count = std::fread(stream_->raw.data(), 1, chunk, stream_->file.get());
  if (std::ferror(stream_->file.get())) refuse(fmt::format("cannot be read ({})", std::strerror(errno)));
  stream_->inflater.next_in = stream_->raw.data();
  stream_->inflater.avail_in = static_cast<uInt>(count);
  if (count >= 2 && stream_->raw[0] == 0x1f && stream_->raw[1] == 0x8b) {
    constexpr int gzip_window_bits = 15 + 16;
    if (inflateInit2(&stream_->inflater, gzip_window_bits) != Z_OK) throw Error{ErrorCode::environment, "no memory to decompress"};
    stream_->compressed = true;
  }
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  static_cast<void>(peek());
  if (std::string_view{buffer_.data(), filled_}.starts_with(byte_order_mark)) position_ = byte_order_mark.size();
}

TextReader::~TextReader() = default;
TextReader::TextReader(TextReader&&) noexcept = default;
TextReader& TextReader::operator=(TextReader&&) noexcept = default;

void TextReader::refuse(std::string_view reason) const { throw Error{ErrorCode::bad_data, fmt::format("{}: {}", path_.string(), reason)}; }

bool TextReader::refill() {
  auto& stream = *stream_;
  auto& inflater = stream.inflater;
  position_ = 0;
  filled_ = 0;
  while (filled_ == 0) {
    if (inflater.avail_in == 0) {
      inflater.next_in = stream.raw.data();
      inflater.avail_in = static_cast<uInt>(std::fread(stream.raw.data(), 1, chunk, stream.file.get()));
      if (std::ferror(stream.file.get())) refuse(fmt::format("cannot be read ({})", std::strerror(errno)));
    }
    const bool at_end = inflater.avail_in == 0;
    if (!stream.compressed) {
      if (at_end) return false;
      filled_ = inflater.avail_in;
      std::memcpy(buffer_.data(), inflater.next_in, filled_);
      inflater.avail_in = 0;
      continue;
    }
    if (at_end) {
      if (stream.between_members) return false;
      refuse("gzip stream is truncated");
    }
    if (stream.between_members) inflateReset(&inflater);
    inflater.next_out = reinterpret_cast<unsigned char*>(buffer_.data());
    inflater.avail_out = static_cast<uInt>(chunk);
    const int status = inflate(&inflater, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) {
      refuse(fmt::format("gzip stream is damaged ({})", inflater.msg != nullptr ? inflater.msg : "unexpected end"));
    }
    stream.between_members = status == Z_STREAM_END;
    filled_ = chunk - inflater.avail_out;
  }
  return true;
}

ParsedNumber parse_number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc::invalid_argument || end != last) return {0, NumberFault::not_a_number};
  if (error == std::errc::result_out_of_range) return {0, NumberFault::out_of_range};
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
  std::string line{text.substr(0, longest)};
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
  return text.size() > longest ? fmt::format("'{}...'", line) : fmt::format("'{}'", line);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t";
  const auto first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

}  // namespace surety::optimizers
