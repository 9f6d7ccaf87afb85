// error: no matching function for call to .*NoisyReleaser
// A run spends budget on noise from a source that somebody vouched for, or there is no run.
#include <surety/optimizers/doors/run.h>

#include <random>

using namespace surety;

void make(accounting::Reservation& reservation) {
  mechanisms::SystemBits bits;
  optimizers::NoisyReleaser private_one{reservation, bits};
  std::mt19937_64 engine{1};
  optimizers::NoisyReleaser leaky{reservation, engine};
}
