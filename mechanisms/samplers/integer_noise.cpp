#include <surety/mechanisms/samplers/integer_noise.h>

namespace surety::mechanisms {

void add_noise(const LatticeNoise& noise, std::span<std::int64_t> values, BitsRef bits) {
  noise.for_each_block(values.size(), bits, [values](std::size_t first, std::span<const std::int64_t> drawn) {
    for (std::size_t i = 0; i < drawn.size(); ++i) values[first + i] = saturating_add(values[first + i], drawn[i]);
  });
}

std::vector<std::int64_t> with_noise(const LatticeNoise& noise, std::span<const std::int64_t> values, BitsRef bits) {
  std::vector<std::int64_t> noisy(values.begin(), values.end());
  add_noise(noise, noisy, bits);
  return noisy;
}

}  // namespace surety::mechanisms
