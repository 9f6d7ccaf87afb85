// error: no match for .*operator=.*operand types are .*long unsigned int
// Progress is a number of steps: no function outside of the releaser gets an iterate.
#include <surety/optimizers/doors/last_iterate_releaser.h>

#include <span>

using namespace surety::optimizers;

void watch(LastIterateDescent& descent) {
  descent.progress = [](std::uint64_t) {};
  descent.progress = [](std::span<const double>) {};
}
