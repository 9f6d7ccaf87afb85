// An event as text or as JSON: what is one comes back from both spellings, and costs no NaN and nothing negative.
#include <algorithm>
#include <limits>

#include <fuzz/json_mutator.h>
#include <fuzz/target.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/events/json.h>

using namespace surety;
using namespace surety_fuzz;

namespace {

void check(const Enclosure& found, double most) {
  expect(found.lower >= 0 && found.upper >= found.lower && found.upper <= most, "an answer that is no interval of costs");
}

template <class Accountant>
void price(const Accountant& accountant, const Event& event) {
  accepted([&] { check(accounting::epsilon(accountant, event, Delta{1e-5}), std::numeric_limits<double>::infinity()); });
  accepted([&] { check(accounting::delta(accountant, event, Epsilon{1}), 1); });
}

void examine(const Event& event) {
  const auto text = describe(event);
  expect(parse_event(text, event.adjacency()) == event, "an event does not come back from its text");
  expect(event_from_json(to_json(event).dump()) == event, "an event does not come back from its JSON");
  if (std::count(text.begin(), text.end(), '(') > 3) return;
  price(accounting::ClosedForm{}, event);
  price(accounting::Zcdp{}, event);
  price(accounting::Renyi{}, event);
}

}  // namespace

SURETY_MUTATES_JSON(1)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input{data, size};
  constexpr Adjacency adjacencies[] = {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};
  const auto adjacency = adjacencies[input.choice(3)];
  accepted([&] { examine(parse_event(input.rest(), adjacency)); });
  accepted([&] { examine(event_from_json(std::string{input.rest()})); });
  return 0;
}
