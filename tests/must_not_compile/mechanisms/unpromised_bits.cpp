// error: cannot convert .*EngineBits.* to .*BitsRef
// A bit source whose author did not promise that it is cryptographic makes no noise.
#include <surety/mechanisms/additive/gaussian.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>

struct EngineBits {
  std::mt19937_64 engine{1};
  void fill(std::span<std::byte> bytes) {
    std::ranges::generate(bytes, [&] { return static_cast<std::byte>(engine()); });
  }
};
static_assert(surety::mechanisms::BitSource<EngineBits>);

void release(const surety::mechanisms::Gaussian& mechanism, const surety::GridVector& query) {
  surety::mechanisms::SystemBits system_bits;
  (void)mechanism.release(query, system_bits);
  EngineBits bits;
  (void)mechanism.release(query, bits);
}
