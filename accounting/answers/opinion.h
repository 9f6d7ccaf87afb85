// What an accountant is asked, and what it says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// Delta at an epsilon, or epsilon at a delta.
using Question = std::variant<Epsilon, Delta>;

/// What one accountant says of the event: an enclosure, or why it has none.
struct Opinion {
  std::string_view accountant;
  std::optional<Enclosure> value;
  std::string refusal;                          ///< empty where there is a value
  std::vector<std::string_view> rests_on = {};  ///< the computations behind it: accounting/answers/registry.h
};

struct BestAnswer {
  Enclosure value;              ///< the intersection of all opinions
  std::string_view accountant;  ///< whose upper bound it is
  std::vector<Opinion> opinions;
};

/// Settings of the accountants that can work harder on request.
struct Effort {
  /// Aimed at in epsilon by accountants that compute on a grid; up to 2^18 times as wide where memory is short, and as wide as by default
  /// where it is short for less than that. Where epsilon is below 1 it is a share of it: `width_at`.
  double width = 1e-4;
};
}  // namespace surety::accounting
