// Bytes that go from one process to another and come back: what they are, their version, and a checksum over all of it, against accidents and not against
// forgery.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <surety/statistics/totals.h>

namespace surety::jobs {

/// How many bytes a number has.
inline constexpr std::size_t one_byte = 1;
inline constexpr std::size_t four_bytes = 4;
inline constexpr std::size_t eight_bytes = 8;

/// Eight bytes that say what follows, and the version of that.
struct SealedKind {
  std::string_view magic;
  std::uint32_t version;
  const char* name;  ///< for messages: "ticket"
};

/// Writes whole numbers with their least byte first, behind the kind.
class SealedWriter {
 public:
  explicit SealedWriter(const SealedKind& kind);
  void put(std::uint64_t number, std::size_t bytes);
  void put(statistics::ExactInteger number);
  void put(std::string_view bytes) { text_ += bytes; }
  /// All that was put, with its checksum.
  [[nodiscard]] std::string sealed() &&;

 private:
  std::string text_;
};

/// Reads what SealedWriter wrote. Every call \throws Error{bad_data} "<name>: ..." where there is less than it asks for.
class SealedReader {
 public:
  /// Looks into `bytes`. \throws Error{bad_data} for what is of another kind or version, cut short or changed; Error{environment} where OpenSSL fails.
  SealedReader(std::string_view bytes, const SealedKind& kind);
  [[nodiscard]] std::uint64_t number(std::size_t bytes);
  [[nodiscard]] statistics::ExactInteger exact();
  [[nodiscard]] std::string_view text(std::size_t bytes);
  /// Before memory is taken for it: there are `count` things of at least `bytes` each.
  void require_room(std::uint64_t count, std::size_t bytes) const;
  /// \throws Error{bad_data} unless `holds`.
  void require(bool holds) const;
  /// Nothing is left.
  void finish() const { require(left_.empty()); }
  [[noreturn]] void refuse(std::string_view reason) const;

 private:
  std::string_view left_;
  const char* name_;
};

/// Two lower-case digits for each byte.
[[nodiscard]] std::string hexadecimal(std::span<const unsigned char> bytes);

}  // namespace surety::jobs
