// What the contour accountant accounts for: the privacy loss of an event as a Gaussian one and Poisson-sampled ones.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/refusal.h>
#include <surety/accounting/laws/given/direction.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting::contour {

/// The loss has no contour that is worth its points; becomes Error{unsupported} where the event is known.
struct Unsuitable {
  const char* reason;
};

/// `count` batches joined with probability `rate`, of Gaussian releases with mu together; mu is within 2 units.
struct SampledReleases {
  double rate;
  double mu;
  double count;
};

/// `count` discrete Gaussian releases of one sigma and sensitivity.
struct LatticeReleases {
  double sigma;
  double sensitivity;
  double count;
};

/// Gaussian releases of `mu_squared` together (within 2 units; 0 for none), sampled ones, and lattices.
struct Loss {
  double mu_squared = 0;             ///< with (sensitivity / sigma)^2 of each release of a lattice: lattice.h has what these differ by
  double continuous_mu_squared = 0;  ///< without these
  std::vector<SampledReleases> parts;
  std::vector<LatticeReleases> lattices;
  double releases = 0;
};

/// \throws Error{unsupported} naming a part whose loss has no density that is known here; Unsuitable where its numbers are out of range.
[[nodiscard]] Loss collect(const Event& event);

/// Its lattices and the mu of its continuous noise, whatever the numbers of its sampled batches.
/// \throws Error{unsupported} as `collect`.
[[nodiscard]] Loss lattices_of(const Event& event);

/// Which part of the event has a loss without a density that is known here.
[[nodiscard]] std::optional<Refusal> why_not_collected(const Event& event);

[[nodiscard]] Refusal no_answer_to(const Event& event, std::string_view reason);
/// Refuses an event. \throws Error{unsupported} with the reason.
[[noreturn]] void no_answer_for(const Event& event, std::string_view reason);

/// The largest loss of the direction: in the add direction r >= 1 - q, unless there is a Gaussian part.
[[nodiscard]] Enclosure largest_loss(const Loss& loss, Direction direction);

}  // namespace surety::accounting::contour
