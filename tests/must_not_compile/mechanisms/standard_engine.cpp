// error: cannot convert .*mersenne_twister_engine.* to .*BitsRef
// A generator of the standard library is no source of noise.
#include <surety/mechanisms/additive/gaussian.h>

#include <random>

void release(const surety::mechanisms::Gaussian& mechanism, const surety::GridVector& query) {
  surety::mechanisms::SystemBits bits;
  (void)mechanism.release(query, bits);
  std::mt19937_64 engine{1};
  (void)mechanism.release(query, engine);
}
