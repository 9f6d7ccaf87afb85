// Quantities in messages: fmt::format("epsilon is {}", epsilon) writes the shortest text that reads back as the same double.
#pragma once

#include <fmt/format.h>

#include <surety/accounting/events/units.h>

template <class Rule>
struct fmt::formatter<surety::Quantity<Rule>> : fmt::formatter<double> {
  template <class Context>
  auto format(const surety::Quantity<Rule>& quantity, Context& context) const {
    return fmt::formatter<double>::format(quantity.value(), context);
  }
};
