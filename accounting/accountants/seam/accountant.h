// An accountant turns an event into what it costs. Every accountant is a small value (its settings) with free functions.
#pragma once

#include <concepts>
#include <string_view>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/refusal.h>
#include <surety/accounting/events/units.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// delta(a, event, epsilon) encloses the smallest delta at which `event` is (epsilon, delta)-differentially private, and
/// epsilon(a, event, delta) the smallest epsilon; the truth is the supremum over data sets, neighbours under
/// event.adjacency() and adaptive queries. An accountant that proves only upper bounds answers with lower = 0; one that has
/// no theorem for the event throws Error{unsupported} naming it.
///
/// Those of this library have why_not(a, event) as well: the part of the event for which there is no theorem; and supports(a, event), that there
/// is none. Both read the event, make no law and ask no curve, so an accountant that supports an event may still refuse its numbers: noise so
/// small, or releases so many, that what it can prove is not worth having.
template <class A>
concept Accountant = requires(const A& accountant, const Event& event, Epsilon at_epsilon, Delta at_delta) {
  { A::name } -> std::convertible_to<std::string_view>;
  { delta(accountant, event, at_epsilon) } -> std::same_as<Enclosure>;
  { epsilon(accountant, event, at_delta) } -> std::same_as<Enclosure>;
};

}  // namespace surety::accounting
