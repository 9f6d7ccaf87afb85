#include <surety/mechanisms/laplace.h>

namespace surety::mechanisms {

Laplace::Laplace(Options options)
    : GridNoise{RoundedLaplace{StepScale{
                    checked_scale_in_steps("the scale of the noise", options.scale.value(), options.sensitivity.value(), options.grid)}},
                options.grid},
      options_{options} {}

}  // namespace surety::mechanisms
