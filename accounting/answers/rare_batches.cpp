#include <surety/accounting/answers/rare_batches.h>

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/answers/asking.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/event_text.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/overload.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

Interval number(double value) { return {value, 128}; }
Interval number(Count count) { return number(static_cast<double>(count.value())); }

// Proved: docs/proofs/composition.md#rare-batches
/// So many independent draws, each of which takes the record with a probability of at most this.
struct Draws {
  Interval times;
  Interval rate;
};
std::optional<Draws> draws_of(const Event& leaf) {
  const auto of_node = Overload{[](const Event::PoissonSampled& e) {
                                  return std::optional{Draws{number(1), number(e.rate.value())}};
                                },
                                [](const Event::TruncatedPoisson& e) {
                                  return std::optional{Draws{number(1), number(e.rate.value())}};
                                },
                                [](const Event::SampledWithoutReplacement& e) {
                                  return std::optional{Draws{number(1), number(e.batches.size()) / number(e.batches.records())}};
                                },
                                [](const Event::SampledWithReplacement& e) {
                                  return std::optional{Draws{number(e.batch_size), number(1) / number(e.records)}};
                                },
                                [](const Event::Cyclic& e) {
                                  const auto rounds = (e.rounds.value() + e.groups.value() - 1) / e.groups.value();
                                  return std::optional{Draws{number(Count{rounds}), number(e.rate.value())}};
                                },
                                [](const auto&) { return std::optional<Draws>{}; }};
  return std::visit(of_node, leaf.node());
}

}  // namespace

double most_joined(const Event& event) {
  const StandardFloatingPoint environment;
  Interval sum = number(0);
  Interval log_never = number(0);
  for (const auto& [leaf, count] : Releases::of(event).entries()) {
    const auto draws = draws_of(leaf);
    if (!draws || !(draws->rate.enclosure().upper < 1)) return 1;
    const Interval times = number(count) * draws->times;
    sum = sum + times * draws->rate;
    log_never = log_never + times * log1p(-draws->rate);
  }
  // The sum is exact for one draw.
  return std::min({sum.enclosure().upper, (-expm1(log_never)).enclosure().upper, 1.0});
}

std::optional<double> by_rare_batches(const Event& event, const Question& question) {
  const double joined = most_joined(event);
  if (!(joined < 1)) return std::nullopt;
  if (std::holds_alternative<Epsilon>(question)) return joined;
  return joined <= std::get<Delta>(question).value() ? std::optional{0.0} : std::nullopt;
}
// Proved so far.

Enclosure with_rare_batches(const Event& event, const Question& question, const Enclosure& known) {
  if (is_exact(known)) return known;
  const auto upper = by_rare_batches(event, question);
  if (!upper || !(*upper < known.upper)) return known;
  if (known.lower > *upper) {
    throw Error{ErrorCode::internal,
                fmt::format("two proofs disagree about {}: it costs at least {}, the draws of its batches say at most {}", describe(event),
                            known.lower, *upper)};
  }
  return {known.lower, *upper};
}

}  // namespace surety::accounting
