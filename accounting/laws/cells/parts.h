// What several releases are made of: the laws of each of their kinds, in both directions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <surety/accounting/laws/cells/dominating_pair.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting::laws {

/// One kind of release in one direction: a law that dominates it, one that concrete data attain, and how often it happens.
struct ReleaseLaws {
  LossLaw upper;
  std::optional<LossLaw> lower;  // nothing: only an upper bound is known
  bool same;                     // the two are one law
  std::uint64_t count;
  std::optional<LossLaw> other_upper = {};  // dominates it, too: which of the two is smaller depends on the question
  // Under an adjacency without an order of neighbours, each release for itself:
  std::optional<LossLaw> other_order = {};  // attained as `lower` is, by each of the releases as one likes
  std::optional<LossLaw> last_order = {};   // attained by one release, whose order is chosen by the results of all others
};
/// Every release, in one direction.
using Parts = std::vector<ReleaseLaws>;

struct BothDirections {
  Parts remove;
  Parts add;
  bool symmetric = true;
  bool has_choice = false;  // which lower laws are best depends on the question
};

/// Where on the curve a law is asked for its digits.
///   none  nowhere: no law is made, and only whether there are pairs is looked at
enum class Reach { middle, far_tail, none };

/// A release that shows nothing, which anybody can attain.
[[nodiscard]] LossLaw nothing();

/// The largest loss that the parts can add up to; infinity where it is unbounded.
[[nodiscard]] Enclosure largest_of(const Parts& parts);

/// Every second release that has another order in that one; nothing where none has one.
[[nodiscard]] std::optional<Parts> in_orders_by_turns(const Parts& parts);

/// One release attains its last order: the release with the largest loss among the releases that have a last order.
[[nodiscard]] Parts with_a_last_order(Parts parts);

/// How many releases there are.
[[nodiscard]] double count_of(const Parts& parts);

}  // namespace surety::accounting::laws
