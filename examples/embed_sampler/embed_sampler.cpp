// Exact noise in someone else's program: its own random bits, the sampler's header, the sampler's library, and nothing else.
#include <surety/mechanisms/samplers/lattice_noise.h>
#include <sys/random.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>

/// The generator that the program has anyway. SystemBits (random_bits.h) is the one that Surety brings.
struct HostRandom {
  static void fill(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const auto count = getrandom(bytes.data(), bytes.size(), 0);
      if (count <= 0) throw std::runtime_error{"no random bits"};
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
};
/// A promise that its author signs. Without it nothing below compiles: try std::mt19937_64.
template <>
inline constexpr bool surety::is_cryptographic<HostRandom> = true;

int main() {
  const surety::mechanisms::DiscreteLaplaceNoise noise{{3, 2}};  // P(k) proportional to exp(-2 |k| / 3), exactly
  HostRandom bits;
  std::array<std::int64_t, 8> samples{};
  noise.fill(samples, bits);
  for (const auto sample : samples) std::printf("%lld\n", static_cast<long long>(sample));
}
