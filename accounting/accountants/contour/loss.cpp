#include <surety/accounting/accountants/contour/loss.h>

#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/accountants/seam/accountant.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::contour {
namespace {

constexpr mpfr_prec_t precision = 128;

Interval squared(const Event& event) {
  if (auto found = gaussian_mu_squared(event, precision)) return *found;
  no_answer_for(*first_not_gaussian(event), "its loss has no density that is known here");
}

double middle(const Interval& interval) {
  const auto enclosure = interval.enclosure();
  return enclosure.lower + (enclosure.upper - enclosure.lower) / 2;
}

struct Collector {
  Interval mu_squared{0, precision};
  std::map<std::pair<double, double>, double> counts;
  double releases = 0;

  void add(const Event& event, double count) {
    if (!(count <= 0x1p53)) no_answer_for(event, "it is released more than 2^53 times");
    if (const auto* repeated = std::get_if<Event::Repeated>(&event.node())) {
      add(repeated->event, count * static_cast<double>(repeated->count.value()));
    } else if (const auto* composed = std::get_if<Event::Composed>(&event.node())) {
      for (const auto& part : composed->events) add(part, count);
    } else if (const auto* sampled = std::get_if<Event::PoissonSampled>(&event.node()); sampled && sampled->rate.value() < 1) {
      const auto pair = poisson_pair(sampled->event);
      if (pair == PoissonPair::opposite) no_answer_for(event, "under replace-one both data sets are mixtures");
      if (pair != PoissonPair::with_or_without) no_answer_for(event, "who was in the batch may show");
      const double mu = middle(sqrt(squared(sampled->event)));
      counts[{sampled->rate.value(), mu}] += count;
      releases += count;
    } else {
      mu_squared = mu_squared + Interval{count, precision} * squared(sampled ? sampled->event : event);
      releases += 1;
    }
  }
};

}  // namespace

void no_answer_for(const Event& event, std::string_view reason) {
  unsupported(event, fmt::format("contour has no answer for {{}}: {}; privacy-loss may", reason));
}

Loss collect(const Event& event) {
  Collector collector;
  collector.add(plainest(event), 1);
  Loss loss{middle(collector.mu_squared), {}, collector.releases};
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
