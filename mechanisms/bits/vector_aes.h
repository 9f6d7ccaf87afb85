// The keystream of AES-256 in counter mode by the instructions VAES of AVX-512: what OpenSSL gives, four blocks to an instruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace surety::mechanisms {

/// No jump and no address depends on the key or the stream. Copies of neither are left behind.
class VectorAes {
 public:
  /// Whether this processor has the instructions.
  [[nodiscard]] static bool is_available();

  VectorAes() = default;
  ~VectorAes();
  VectorAes(const VectorAes&) = delete;
  VectorAes& operator=(const VectorAes&) = delete;

  /// Starts the stream of `key` at counter 0. \pre is_available(), here and below.
  void restart(std::span<const std::byte, 32> key);
  /// The next bytes of the stream.
  void generate(std::span<std::byte> bytes);

 private:
  static constexpr std::size_t rounds = 14;
  alignas(16) std::array<std::array<std::byte, 16>, rounds + 1> round_keys_{};
  std::uint64_t position_ = 0;  ///< in bytes
};

}  // namespace surety::mechanisms
