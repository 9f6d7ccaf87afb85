#include <surety/accounting/accountants/contour/loss.h>

#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/accountants/seam/accountant.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::contour {
namespace {

constexpr mpfr_prec_t precision = 128;

OrRefusal<Interval> squared(const Event& event) {
  if (auto found = gaussian_mu_squared(event, precision)) return *std::move(found);
  return no_answer_to(*first_not_gaussian(event), "its loss has no density that is known here");
}

double middle(const Interval& interval) {
  const auto enclosure = interval.enclosure();
  return enclosure.lower + (enclosure.upper - enclosure.lower) / 2;
}

struct Collector {
  Interval mu_squared{0, precision};
  Interval of_lattices{0, precision};
  std::map<std::pair<double, double>, double> counts;
  std::map<std::pair<double, double>, double> lattices;
  double releases = 0;

  [[nodiscard]] std::vector<LatticeReleases> of_kinds() const {
    std::vector<LatticeReleases> all;
    for (const auto& [key, times] : lattices) all.push_back({key.first, key.second, times});
    return all;
  }

  /// Why not, where the event is refused.
  std::optional<Refusal> add(const Event& event, double count) {
    if (!(count <= 0x1p53)) return no_answer_to(event, "it is released more than 2^53 times");
    if (const auto* repeated = std::get_if<Event::Repeated>(&event.node())) {
      return add(repeated->event, count * static_cast<double>(repeated->count.value()));
    }
    if (const auto* composed = std::get_if<Event::Composed>(&event.node())) {
      for (const auto& part : composed->events) {
        if (auto refusal = add(part, count)) return refusal;
      }
      return std::nullopt;
    }
    const auto* sampled = std::get_if<Event::PoissonSampled>(&event.node());
    if (sampled != nullptr && sampled->rate.value() < 1) {
      const auto pair = poisson_pair(sampled->event);
      if (pair == PoissonPair::opposite) return no_answer_to(event, "under replace-one both data sets are mixtures");
      if (pair != PoissonPair::with_or_without) return no_answer_to(event, "who was in the batch may show");
      const auto once = squared(sampled->event);
      if (!once) return once.refusal();
      counts[{sampled->rate.value(), middle(sqrt(*once))}] += count;
      releases += count;
      return std::nullopt;
    }
    if (const auto* lattice = std::get_if<Event::DiscreteGaussian>(&event.node())) {
      const double sigma = lattice->sigma.value();
      const auto sensitivity = static_cast<double>(lattice->sensitivity.value());
      const Interval mu = Interval{sensitivity, precision} / Interval{sigma, precision};
      of_lattices = of_lattices + Interval{count, precision} * mu * mu;
      lattices[{sigma, sensitivity}] += count;
      releases += count;
      return std::nullopt;
    }
    const auto once = squared(sampled != nullptr ? sampled->event : event);
    if (!once) return once.refusal();
    mu_squared = mu_squared + Interval{count, precision} * *once;
    releases += 1;
    return std::nullopt;
  }
};

}  // namespace

Refusal no_answer_to(const Event& event, std::string_view reason) {
  return {event, fmt::format("contour has no answer for {{}}: {}; privacy-loss may", reason)};
}
void no_answer_for(const Event& event, std::string_view reason) { unsupported(no_answer_to(event, reason)); }

std::optional<Refusal> why_not_collected(const Event& event) { return Collector{}.add(plainest(event), 1); }

Loss lattices_of(const Event& event) {
  Collector collector;
  if (const auto refusal = collector.add(plainest(event), 1)) unsupported(*refusal);
  return {
      .mu_squared = 0, .continuous_mu_squared = middle(collector.mu_squared), .parts = {}, .lattices = collector.of_kinds(), .releases = 0};
}

Loss collect(const Event& event) {
  Collector collector;
  if (const auto refusal = collector.add(plainest(event), 1)) unsupported(*refusal);
  Loss loss{.mu_squared = middle(collector.mu_squared + collector.of_lattices),
            .continuous_mu_squared = middle(collector.mu_squared),
            .parts = {},
            .lattices = collector.of_kinds(),
            .releases = collector.releases};
  if (loss.mu_squared != 0 && !(loss.mu_squared > 1e-200 && loss.mu_squared < 1e200)) throw Unsuitable{"its noise is out of range"};
  for (const auto& [key, count] : collector.counts) {
    if (!(key.second > 1e-100 && key.second < 1e3)) throw Unsuitable{"the noise of a sampled batch is out of range"};
    if (!(key.first > 1e-30 && key.first < 1 - 1e-9)) throw Unsuitable{"its sampling rate is nearly 0 or 1"};
    loss.parts.push_back({key.first, key.second, count});
  }
  return loss;
}

Enclosure largest_loss(const Loss& loss, Direction direction) {
  if (direction == Direction::remove || loss.mu_squared > 0) return {infinity, infinity};
  Ball largest = 0;
  for (const auto& part : loss.parts) largest += Exact{part.count} * -log1p(Ball{Exact{-part.rate}});
  return {largest.lower().value(), largest.upper().value()};
}

}  // namespace surety::accounting::contour
