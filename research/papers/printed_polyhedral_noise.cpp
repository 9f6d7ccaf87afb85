#include <surety/research/papers/printed_polyhedral_noise.h>

#include <cmath>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::papers {

NoiseMultiplier printed_multiplier(Count steps, Epsilon epsilon, Delta delta) {
  if (!(epsilon.value() > 0 && delta.value() > 0) || steps.value() < 2) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("epsilon, delta and steps are {}, {} and {}, must be greater than 0, 0 and 1 for the printed noise",
                            epsilon.value(), delta.value(), steps.value())};
  }
  return NoiseMultiplier{2 * std::sqrt(std::log(static_cast<double>(steps.value())) * -std::log(delta.value())) / epsilon.value()};
}

}  // namespace surety::papers
