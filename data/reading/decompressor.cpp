#include <surety/data/reading/decompressor.h>

#include <bzlib.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::data {

namespace {

[[noreturn]] void no_memory() { throw Error{ErrorCode::environment, "no memory to decompress"}; }

/// What zlib and libbz2 can count.
unsigned counted(std::size_t bytes) { return static_cast<unsigned>(std::min<std::size_t>(bytes, std::numeric_limits<unsigned>::max())); }

class Gzip final : public Decompressor {
 public:
  Gzip() {
    constexpr int gzip_window_bits = 15 + 16;
    if (inflateInit2(&stream_, gzip_window_bits) != Z_OK) no_memory();
  }
  ~Gzip() override { inflateEnd(&stream_); }

  [[nodiscard]] std::string_view name() const noexcept override { return "gzip"; }

  Step decompress(std::span<const unsigned char> input, std::span<char> output) override {
    if (input.empty()) return {};
    if (is_between_members_) inflateReset(&stream_);
    const unsigned given = counted(input.size());
    const unsigned room = counted(output.size());
    stream_.next_in = const_cast<unsigned char*>(input.data());
    stream_.avail_in = given;
    stream_.next_out = reinterpret_cast<unsigned char*>(output.data());
    stream_.avail_out = room;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    Step step{.taken = given - stream_.avail_in, .made = room - stream_.avail_out};
    if (status != Z_OK && status != Z_STREAM_END) step.fault = stream_.msg != nullptr ? stream_.msg : "unexpected end";
    is_between_members_ = status == Z_STREAM_END;
    return step;
  }

 private:
  z_stream stream_{};
};

class Zstd final : public Decompressor {
 public:
  // Without a word to the contrary a window of at most 2^27 bytes is taken, and a frame that needs more is refused.
  Zstd() : stream_{ZSTD_createDStream()} {
    if (stream_ == nullptr) no_memory();
  }
  ~Zstd() override { ZSTD_freeDStream(stream_); }

  [[nodiscard]] std::string_view name() const noexcept override { return "zstd"; }

  Step decompress(std::span<const unsigned char> input, std::span<char> output) override {
    // Between frames nothing is left inside, and an empty input would begin another one.
    if (input.empty() && is_between_members_) return {};
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{output.data(), output.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream_, &out, &in);
    Step step{.taken = in.pos, .made = out.pos};
    if (ZSTD_isError(left) != 0) step.fault = ZSTD_getErrorName(left);
    is_between_members_ = left == 0;
    return step;
  }

 private:
  ZSTD_DStream* stream_;
};

class Bzip2 final : public Decompressor {
 public:
  Bzip2() { begin(); }
  ~Bzip2() override { BZ2_bzDecompressEnd(&stream_); }

  [[nodiscard]] std::string_view name() const noexcept override { return "bzip2"; }

  Step decompress(std::span<const unsigned char> input, std::span<char> output) override {
    if (is_between_members_) {
      if (input.empty()) return {};
      BZ2_bzDecompressEnd(&stream_);
      begin();
    }
    const unsigned given = counted(input.size());
    const unsigned room = counted(output.size());
    stream_.next_in = reinterpret_cast<char*>(const_cast<unsigned char*>(input.data()));
    stream_.avail_in = given;
    stream_.next_out = output.data();
    stream_.avail_out = room;
    const int status = BZ2_bzDecompress(&stream_);
    Step step{.taken = given - stream_.avail_in, .made = room - stream_.avail_out};
    if (status == BZ_MEM_ERROR) no_memory();
    if (status == BZ_DATA_ERROR_MAGIC) step.fault = "no bzip2 stream begins there";
    if (status != BZ_OK && status != BZ_STREAM_END && step.fault.empty()) step.fault = "incorrect data check";
    is_between_members_ = status == BZ_STREAM_END;
    return step;
  }

 private:
  void begin() {
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) no_memory();
  }

  bz_stream stream_{};
};

constexpr std::array<unsigned char, 2> gzip_start{0x1f, 0x8b};
constexpr std::array<unsigned char, 4> zstd_start{0x28, 0xb5, 0x2f, 0xfd};
// "BZh", a digit that is not 0, and what begins a block or ends a stream without one: "BZh1" alone may be the text of a header.
constexpr std::array<unsigned char, 10> bzip2_block{'B', 'Z', 'h', '1', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59};
constexpr std::array<unsigned char, 10> bzip2_end{'B', 'Z', 'h', '1', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90};
constexpr std::size_t level_place = 3;

/// The first bytes of `start` are those of `expected`, as far as both go.
bool agrees(std::span<const unsigned char> start, std::span<const unsigned char> expected, bool has_level) {
  for (std::size_t k = 0; k < std::min(start.size(), expected.size()); ++k) {
    const bool fits = has_level && k == level_place ? start[k] >= '1' && start[k] <= '9' : start[k] == expected[k];
    if (!fits) return false;
  }
  return true;
}

bool starts(std::span<const unsigned char> start, std::span<const unsigned char> expected, bool has_level = false) {
  return start.size() >= expected.size() && agrees(start, expected, has_level);
}

bool may_start(std::span<const unsigned char> start, std::span<const unsigned char> expected, bool has_level = false) {
  return start.size() < expected.size() && agrees(start, expected, has_level);
}

}  // namespace

std::unique_ptr<Decompressor> decompressor_of(std::span<const unsigned char> start) {
  if (starts(start, gzip_start)) return std::make_unique<Gzip>();
  if (starts(start, zstd_start)) return std::make_unique<Zstd>();
  if (starts(start, bzip2_block, true) || starts(start, bzip2_end, true)) return std::make_unique<Bzip2>();
  return nullptr;
}

bool may_become_compressed(std::span<const unsigned char> start) {
  return may_start(start, gzip_start) || may_start(start, zstd_start) || may_start(start, bzip2_block, true) ||
         may_start(start, bzip2_end, true);
}

}  // namespace surety::data
