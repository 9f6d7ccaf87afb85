#include <surety/statistics/release.h>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/text/error.h>

namespace surety::statistics {

namespace {

[[noreturn]] void refuse_event(const Event& event) {
  throw Error{ErrorCode::unsupported, fmt::format("no noise of a statistic is the event '{}'", describe(event))};
}

}  // namespace

StatisticNoise noise_for(const StatisticSum& sum, const Event& event) {
  const auto adjacency = event.adjacency();
  if (const auto* const laplace = std::get_if<Event::Laplace>(&event.node())) {
    return mechanisms::Laplace{{.scale = laplace->scale, .sensitivity = sum.l1_sensitivity(), .grid = sum.grid(), .adjacency = adjacency}};
  }
  if (const auto* const gaussian = std::get_if<Event::Gaussian>(&event.node())) {
    return mechanisms::Gaussian{
        {.multiplier = gaussian->multiplier, .sensitivity = sum.l2_sensitivity(), .grid = sum.grid(), .adjacency = adjacency}};
  }
  refuse_event(event);
}

NoiseMultiplier multiplier_of(const Event& event) {
  if (const auto* const laplace = std::get_if<Event::Laplace>(&event.node())) return NoiseMultiplier{laplace->scale.value()};
  if (const auto* const gaussian = std::get_if<Event::Gaussian>(&event.node())) return gaussian->multiplier;
  refuse_event(event);
}

std::vector<double> release(const StatisticSum& sum, const StatisticNoise& noise, accounting::Reservation& reservation,
                            mechanisms::BitsRef bits) {
  const auto exact = sum.sum();
  reservation.spend(event_of(noise));
  return std::visit([&](const auto& mechanism) { return mechanism.release(exact, bits); }, noise);
}

}  // namespace surety::statistics
