#include <surety/mechanisms/additive/laplace.h>

namespace surety::mechanisms {

Laplace::Laplace(Options options)
    : GridNoise{RoundedLaplace{StepScale{
                    checked_scale_in_steps("the scale of the noise", options.scale.value(), options.sensitivity.value(), options.grid)}},
                options.grid},
      options_{options} {}

LaplaceOnReals::LaplaceOnReals(Options options)
    : OnReals{Laplace{{.scale = options.scale,
                       .sensitivity = after_rounding(options.sensitivity, options.grid, options.dimension),
                       .grid = options.grid,
                       .adjacency = options.adjacency}},
              options.dimension},
      options_{options} {}

}  // namespace surety::mechanisms
