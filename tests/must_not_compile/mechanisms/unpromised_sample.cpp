// error: no match for call to .*DiscreteLaplaceNoise.*mt19937_64
// Nor does one sample, which is drawn from the source's own type.
#include <surety/mechanisms/samplers/lattice_noise.h>

#include <random>

void draw(const surety::mechanisms::DiscreteLaplaceNoise& noise) {
  surety::mechanisms::SystemBits bits;
  (void)noise(bits);
  std::mt19937_64 engine{1};
  (void)noise(engine);
}
