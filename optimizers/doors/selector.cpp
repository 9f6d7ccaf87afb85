#include <surety/optimizers/doors/selector.h>

#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/text/error.h>

namespace surety::optimizers {

mechanisms::ReportNoisyMax mechanism_of(const Event& event, ScoreSensitivity sensitivity, ScoreChange change, Count candidates) {
  const auto* const exponential = std::get_if<Event::Exponential>(&event.node());
  const auto* const pure = std::get_if<Event::Pure>(&event.node());
  if (exponential == nullptr && pure == nullptr) {
    throw Error{ErrorCode::unsupported, fmt::format("no mechanism selects with the event '{}'", describe(event))};
  }
  return mechanisms::ReportNoisyMax{{.epsilon = exponential != nullptr ? exponential->epsilon : pure->epsilon,
                                     .sensitivity = sensitivity,
                                     .change = change,
                                     .candidates = candidates,
                                     .adjacency = event.adjacency()},
                                    exponential != nullptr ? mechanisms::NoiseShape::gumbel : mechanisms::NoiseShape::laplace};
}

std::size_t NoisySelector::select(std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change, const Event& event) {
  const auto mechanism = mechanism_of(event, sensitivity, change, Count{scores.size()});
  reservation_.spend(event);
  return mechanism.release(scores, bits_);
}

std::size_t SharedSelector::select(std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change, const Event& event) {
  home_.require_here("this selector");
  const auto mechanism = mechanism_of(event, sensitivity, change, Count{scores.size()});
  if (!spent_) {
    reservation_.spend(plan_);
    spent_ = true;
  }
  return mechanism.release(scores, bits_);
}

}  // namespace surety::optimizers
