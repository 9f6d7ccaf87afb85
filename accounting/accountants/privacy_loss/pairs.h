// From events to pairs: the laws of the privacy loss that bound an event's releases from above, and those that concrete data attain.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <surety/accounting/accountants/privacy_loss/dominating_pair.h>
#include <surety/accounting/events/event.h>

namespace surety::accounting::privacy_loss {

/// One kind of release in one direction: a law that dominates it, one that concrete data attain, and how often it happens.
struct Part {
  LossLaw upper;
  std::optional<LossLaw> lower;  // nothing: only an upper bound is known
  bool same;                     // the two are one law
  std::uint64_t count;
};
/// Every release, in one direction.
using Parts = std::vector<Part>;

struct BothDirections {
  Parts remove;
  Parts add;
  bool symmetric = true;
  bool has_choice = false;  // which lower laws are best depends on the question
};

/// Where on the curve a law is asked for its digits.
enum class Reach { middle, far_tail };

/// The releases of an event. `tilt`: s of e^(s loss), by which the best part to be in is chosen for the lower laws; any choice is sound.
/// \throws Error{unsupported} naming a part without a pair that is known here.
[[nodiscard]] BothDirections both_directions(const Event& event, double tilt = 1, Reach reach = Reach::middle);

/// Gives each bounded range the concrete pair that is best at tilt s; at s = 0 it keeps the symmetric one.
void choose_two_points(Parts& parts, double s);

/// A release that shows nothing, which anybody can attain.
[[nodiscard]] LossLaw nothing();

/// The largest loss that the parts can add up to; infinity where it is unbounded.
[[nodiscard]] Enclosure largest_of(const Parts& parts);

/// How many releases there are.
[[nodiscard]] double count_of(const Parts& parts);

}  // namespace surety::accounting::privacy_loss
