#include <surety/accounting/ledger/run.h>

#include <surety/accounting/events/words.h>

namespace surety::accounting {

namespace {
constexpr Words<Stopping, 2> stoppings{
    .what = "stopping", .values = {Stopping::data_independent, Stopping::adaptive}, .words = {"data-independent", "adaptive"}};
}  // namespace

std::string_view name(Stopping stopping) { return stoppings.name(stopping); }

Stopping parse_stopping(std::string_view text) { return stoppings.parse(text); }

std::optional<Event> Run::charged() const {
  return settlement && settlement->stopping == Stopping::data_independent ? settlement->released : plan.event;
}

std::optional<Event> Run::counted() const { return settlement ? settlement->released : plan.event; }

}  // namespace surety::accounting
