// What the targets of libFuzzer share: bytes that are a file, and what may come out of a reader.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace surety_fuzz {

/// A finding: both libFuzzer and the replay stop at a signal, with the input.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "fuzz: %s\n", what.c_str());
  std::abort();
}
inline void expect(bool holds, const char* what) {
  if (!holds) fail(what);
}

/// Calls what may refuse, with a surety::Error that is no defect and whose message has something in it. Whether it did not.
template <class Call>
bool accepted(const Call& call) {
  try {
    call();
    return true;
  } catch (const surety::Error& error) {
    if (error.code() == surety::ErrorCode::internal) fail(error.what());
    if (std::string_view{error.what()}.empty()) fail("a refusal that says nothing");
  } catch (const std::exception& error) {
    fail(std::string{"another exception: "} + error.what());
  }
  return false;
}

/// A file of this process that has no name but this path.
class InputFile {
 public:
  InputFile() : file_{memfd_create("input", MFD_CLOEXEC)} { expect(file_ >= 0, "no file in memory"); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() { close(file_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }
  void hold(std::string_view bytes) const {
    // In this order the file keeps its page of memory.
    const auto size = static_cast<ssize_t>(bytes.size());
    const bool is_written = pwrite(file_, bytes.data(), bytes.size(), 0) == size && ftruncate(file_, size) == 0;
    expect(is_written, "a file in memory is not written");
  }

 private:
  int file_;
};

/// The first bytes say how to read, the rest is read.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_{reinterpret_cast<const char*>(data), size} {}
  /// Below `count`.
  [[nodiscard]] std::size_t choice(std::size_t count) {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return byte % count;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace surety_fuzz
