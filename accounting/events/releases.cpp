#include <surety/accounting/events/releases.h>

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/kept_with_event.h>

namespace surety::accounting {

namespace {

/// Whether `more` occurrences on top of `count` stay within the bound; written so that nothing overflows.
bool fits(std::uint64_t count, std::uint64_t more) { return count <= Releases::max_count && more <= Releases::max_count - count; }

[[noreturn]] void refuse_count(std::string_view leaf) {
  throw Error{ErrorCode::invalid_argument, fmt::format("the number of releases of {} is more than 2^53, must be at most 2^53", leaf)};
}

template <class Take>
void for_each_leaf(const Event& event, std::uint64_t times, Take& take);

template <class Take>
struct LeafVisitor {
  const Event& event;
  std::uint64_t times;
  Take& take;

  /// Everything but repetition and composition leaves the algorithm at once.
  template <class Leaf>
  void operator()(const Leaf&) const {
    take(event, times);
  }
  void operator()(const Event::Repeated& repeated) const {
    // Both factors are at least 1, so a product beyond the bound stays beyond it for every leaf inside.
    const std::uint64_t count = repeated.count.value();
    if (times > Releases::max_count / count) refuse_count(describe(event));
    for_each_leaf(repeated.event, times * count, take);
  }
  void operator()(const Event::Composed& composed) const {
    for (const auto& part : composed.events) for_each_leaf(part, times, take);
  }
};

/// Visits an event and hands every leaf, with the product of the counts around it, to `take`.
template <class Take>
void for_each_leaf(const Event& event, std::uint64_t times, Take& take) {
  std::visit(LeafVisitor<Take>{event, times, take}, event.node());
}

}  // namespace

Releases Releases::of(const Event& event) {
  Releases releases{event.adjacency()};
  auto take = [&releases](const Event& leaf, std::uint64_t times) {
    const std::string_view text = KeptWithEvent::text(leaf);
    const auto found = releases.leaves_.find(text);
    if (found == releases.leaves_.end()) {
      releases.leaves_.emplace(text, Entry{leaf, Count{times}});
      return;
    }
    auto& count = found->second.count;
    if (!fits(count.value(), times)) refuse_count(text);
    count = Count{count.value() + times};
  };
  for_each_leaf(event, 1, take);
  return releases;
}

std::uint64_t Releases::count(const Event& leaf) const {
  if (leaf.adjacency() != adjacency_) return 0;
  const auto found = leaves_.find(KeptWithEvent::text(leaf));
  return found == leaves_.end() ? 0 : found->second.count.value();
}

std::vector<Releases::Entry> Releases::entries() const {
  std::vector<Entry> entries;
  entries.reserve(leaves_.size());
  for (const auto& [text, entry] : leaves_) entries.push_back(entry);
  return entries;
}

void Releases::require_room_for(const Releases& other) const {
  if (other.adjacency_ != adjacency_) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("adjacency of the releases is {}, must be {}", surety::name(other.adjacency_), surety::name(adjacency_))};
  }
  for (const auto& [text, entry] : other.leaves_) {
    const auto found = leaves_.find(text);
    if (found != leaves_.end() && !fits(found->second.count.value(), entry.count.value())) refuse_count(text);
  }
}

void Releases::add(const Releases& other) {
  require_room_for(other);
  for (const auto& [text, entry] : other.leaves_) {
    const auto [place, is_new] = leaves_.try_emplace(text, entry);
    if (!is_new) place->second.count = Count{place->second.count.value() + entry.count.value()};
  }
}

void Releases::subtract(const Releases& other) {
  if (!other.is_part_of(*this)) throw Error{ErrorCode::internal, "releases are taken away that are not there"};
  for (const auto& [text, entry] : other.leaves_) {
    const auto found = leaves_.find(text);
    const std::uint64_t rest = found->second.count.value() - entry.count.value();
    if (rest == 0) {
      leaves_.erase(found);
    } else {
      found->second.count = Count{rest};
    }
  }
}

bool Releases::is_part_of(const Releases& whole) const {
  return adjacency_ == whole.adjacency_ && std::all_of(leaves_.begin(), leaves_.end(), [&whole](const auto& item) {
           const auto found = whole.leaves_.find(item.first);
           return found != whole.leaves_.end() && item.second.count <= found->second.count;
         });
}

std::optional<Event> Releases::event() const {
  std::vector<Event> parts;
  parts.reserve(leaves_.size());
  for (const auto& [text, entry] : leaves_) parts.push_back(entry.count.value() == 1 ? entry.leaf : repeat(entry.count, entry.leaf));
  if (parts.empty()) return std::nullopt;
  if (parts.size() == 1) return parts.front();
  return compose(std::move(parts));
}

bool every_leaf(const Event& event, bool (*holds)(const Event& leaf)) {
  if (const auto* repeated = std::get_if<Event::Repeated>(&event.node())) return every_leaf(repeated->event, holds);
  if (const auto* composed = std::get_if<Event::Composed>(&event.node())) {
    return std::all_of(composed->events.begin(), composed->events.end(), [&](const Event& part) { return every_leaf(part, holds); });
  }
  return holds(event);
}

}  // namespace surety::accounting
