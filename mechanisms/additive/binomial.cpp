#include <surety/mechanisms/additive/binomial.h>

namespace surety::mechanisms {

Binomial::Binomial(Options options)
    : IntegerMechanism{surety::binomial(options.flips, options.sensitivity.value(), options.adjacency),
                       BinomialNoise{options.flips.value()}},
      options_{options} {}

}  // namespace surety::mechanisms
