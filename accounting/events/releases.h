// Releases: an event taken apart into what leaves the algorithm one by one.
//
// Definitions:
//   leaf      an event that is released at once: everything but repeat and compose, which only say how often. A batch is one leaf.
//   releases  a multiset of leaves under one adjacency: each leaf with the exact number of its occurrences, possibly none.
//
// The order of releases is the analyst's and may depend on the results, so that an event costs what the worst order does: two events with
// equal releases, however they are nested, cost the same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include <surety/accounting/events/event.h>

namespace surety::accounting {

class Releases {
 public:
  struct Entry {
    Event leaf;
    Count count;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  /// The most often that one leaf may occur, 2^53: the bound of Count, so that the releases can be written as an event again.
  static constexpr std::uint64_t max_count = std::uint64_t{1} << 53;

  /// No releases at all.
  explicit Releases(Adjacency adjacency) : adjacency_{adjacency} {}

  /// The leaves of `event`.
  /// \throws Error{invalid_argument} naming the leaf that would occur more than max_count times.
  /// \complexity O(n log n) for n nodes in the written form of the event, whatever its counts.
  [[nodiscard]] static Releases of(const Event& event);

  [[nodiscard]] Adjacency adjacency() const noexcept { return adjacency_; }
  [[nodiscard]] bool empty() const noexcept { return leaves_.empty(); }
  /// How often `leaf` occurs; 0 for anything that is not a leaf of these releases.
  [[nodiscard]] std::uint64_t count(const Event& leaf) const;
  /// Every leaf once, with its count, in an order that depends only on the multiset.
  [[nodiscard]] std::vector<Entry> entries() const;

  /// Multiset sum. Leaves everything as it was when it throws.
  /// \throws Error{invalid_argument} for another adjacency, or when a leaf would occur more than max_count times.
  void add(const Releases& other);
  /// \throws as `add` would, and changes nothing.
  void require_room_for(const Releases& other) const;
  /// Multiset difference. \pre other.is_part_of(*this); \throws Error{internal} otherwise, leaving everything as it was.
  void subtract(const Releases& other);

  /// No leaf occurs more often here than in `whole`, and the adjacencies are equal.
  [[nodiscard]] bool is_part_of(const Releases& whole) const;

  /// The shortest event with these releases: compose(repeat(3, gaussian(2)), gaussian(5)); nothing when empty.
  [[nodiscard]] std::optional<Event> event() const;

  friend bool operator==(const Releases& a, const Releases& b) { return a.adjacency_ == b.adjacency_ && a.leaves_ == b.leaves_; }

 private:
  Adjacency adjacency_;
  // Keyed by the leaf's text, which says the leaf exactly and needs no order among kinds of events. The text is kept with the leaf of the entry.
  std::map<std::string_view, Entry> leaves_;
};

/// Whether `holds` is true of every leaf of `event`.
[[nodiscard]] bool every_leaf(const Event& event, bool (*holds)(const Event& leaf));

}  // namespace surety::accounting
