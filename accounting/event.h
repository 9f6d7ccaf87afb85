// Events: what was released, as data. An event holds exactly the parameters that are necessary and sufficient to account for
// it, and one adjacency; accountants interpret it. Its meaning never changes: a new kind of release is a new event.
//
// The same event has three spellings, which round-trip exactly:
//   C++   repeated(Count{100}, gaussian(NoiseMultiplier{40}, Adjacency::replace_one))
//   text  repeat(100, gaussian(40))                        the adjacency is said beside it
//   JSON  {"version": 1, "adjacency": "replace-one",
//          "event": {"repeat": {"count": 100, "event": {"gaussian": {"noise_multiplier": 40}}}}}
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <surety/accounting/units.h>

namespace surety {

class Event {
 public:
  /// One release of a vector plus N(0, (multiplier x l2 sensitivity)^2 I).
  struct Gaussian {
    NoiseMultiplier multiplier;
    friend bool operator==(const Gaussian&, const Gaussian&) = default;
  };
  /// `count` releases of `event`, each chosen with knowledge of the earlier results.
  struct Repeated;
  /// One release of each of `events` in turn, each chosen with knowledge of the earlier results. Never empty.
  struct Composed;

  using Node = std::variant<Gaussian, Repeated, Composed>;

  /// Nesting beyond this depth is refused wherever an event is made, so every recursion over events is bounded.
  static constexpr int max_depth = 64;

  [[nodiscard]] const Node& node() const noexcept;
  [[nodiscard]] Adjacency adjacency() const noexcept;
  [[nodiscard]] int depth() const noexcept;

  /// Equality of structure: repeat(2, e) and compose(e, e) cost the same and are different events.
  friend bool operator==(const Event& a, const Event& b);

 private:
  struct Shared;
  explicit Event(std::shared_ptr<const Shared> shared) : shared_{std::move(shared)} {}
  static Event make(Node node, Adjacency adjacency, int depth);
  std::shared_ptr<const Shared> shared_;

  friend Event gaussian(NoiseMultiplier, Adjacency);
  friend Event repeated(Count, Event);
  friend Event composed(std::vector<Event>);
};

struct Event::Repeated {
  Count count;
  Event event;
  friend bool operator==(const Repeated&, const Repeated&) = default;
};

struct Event::Composed {
  std::vector<Event> events;
  friend bool operator==(const Composed&, const Composed&) = default;
};

[[nodiscard]] Event gaussian(NoiseMultiplier multiplier, Adjacency adjacency);
/// \throws Error{invalid_argument} when the nesting exceeds Event::max_depth.
[[nodiscard]] Event repeated(Count count, Event event);
/// \throws Error{invalid_argument} when `events` is empty, mixes adjacencies, or nests beyond Event::max_depth.
[[nodiscard]] Event composed(std::vector<Event> events);

/// The event in the event language, without its adjacency: "repeat(100, gaussian(40))".
[[nodiscard]] std::string describe(const Event& event);

/// The event written in the event language. Numbers may be names that `values` gives a number: 'gaussian(z)' with z = 40.
/// \throws Error{invalid_argument} naming the position and what was expected there.
[[nodiscard]] Event parse_event(std::string_view text, Adjacency adjacency, const std::map<std::string, double>& values = {});

/// The JSON form with its version and adjacency.
[[nodiscard]] nlohmann::json to_json(const Event& event);
/// The inverse of `to_json`. \throws Error{invalid_argument} for an unknown version, an unknown or missing or duplicate
/// field, a number out of range, or nesting beyond Event::max_depth.
[[nodiscard]] Event event_from_json(std::string_view text);

}  // namespace surety
