#include <surety/mechanisms/additive/skellam.h>

namespace surety::mechanisms {

Skellam::Skellam(Options options)
    : IntegerMechanism{surety::skellam(options.mean, options.sensitivity.value(), options.adjacency), SkellamNoise{options.mean.value()}},
      options_{options} {}

}  // namespace surety::mechanisms
