#include <surety/optimizers/doors/stream.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {

void require_fixed_places(Adjacency adjacency) {
  if (adjacency == Adjacency::add_or_remove_one) {
    throw Error{ErrorCode::unsupported,
                "adjacency is add-or-remove-one, must be replace-one or zero-out for a stream: records have public places in it"};
  }
}

StreamShape<> one_push_per_record(Count steps, Count dimension, ClippingNorm clip, Adjacency adjacency) {
  require_fixed_places(adjacency);
  return {.steps = steps,
          .dimension = dimension,
          .sensitivity = mechanisms::sensitivity_of_clipped_sum(clip, adjacency),
          .adjacency = adjacency};
}

namespace detail {

void push_too_sensitive(double sensitivity, double calibrated) {
  throw Error{ErrorCode::internal,
              fmt::format("sensitivity of a push is {}, must be at most {}, for which the noise was calibrated", sensitivity, calibrated)};
}

}  // namespace detail
}  // namespace surety::optimizers
