#include <surety/accounting/accountants/closed_form/repetition.h>

#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/normal_form.h>

namespace surety::accounting {

std::optional<Repetition> repetition(const Event& event) {
  if (const auto* repeated = std::get_if<Event::Repeated>(&event.node())) {
    auto inner = repetition(repeated->event);
    if (inner) inner->count *= static_cast<double>(repeated->count.value());
    return inner;
  }
  if (const auto* composed = std::get_if<Event::Composed>(&event.node())) {
    std::optional<Repetition> sum;
    for (const auto& part : composed->events) {
      const auto inner = repetition(part);
      if (!inner || (sum && !(sum->leaf == inner->leaf))) return std::nullopt;
      sum = Repetition{inner->leaf, (sum ? sum->count : 0) + inner->count};
    }
    return sum;
  }
  return Repetition{event, 1};
}

std::optional<Refusal> why_too_large(const Repetition& repetition, double most, double loss) {
  constexpr double largest_loss = 1e8;
  if (repetition.count > most) {
    return Refusal{repetition.leaf,
                   fmt::format("{} releases of {{}} are too many for a closed form, must be at most {}", repetition.count, most)};
  }
  if (!(repetition.count * loss <= largest_loss)) {
    return Refusal{repetition.leaf, fmt::format("the largest loss of {} of {{}} is {}, must be at most {} for a closed form",
                                                repetition.count, repetition.count * loss, largest_loss)};
  }
  return std::nullopt;
}

}  // namespace surety::accounting
