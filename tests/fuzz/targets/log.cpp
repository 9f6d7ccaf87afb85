// The log of a training run: what is one has readings, each of which is an event that comes back from its text.
#include <fuzz/json_mutator.h>
#include <fuzz/target.h>

#include <surety/accounting/events/event.h>
#include <surety/accounting/logs/readings.h>
#include <surety/accounting/logs/run_log.h>

using namespace surety;
using namespace surety_fuzz;

SURETY_MUTATES_JSON(1)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input{data, size};
  constexpr Adjacency adjacencies[] = {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};
  const auto adjacency = adjacencies[input.choice(3)];
  accepted([&] {
    const auto log = accounting::run_log_from_json(input.rest());
    const auto multiplier = log.noise_multiplier.value_or(NoiseMultiplier{1});
    for (const auto& reading : accounting::readings(log, log.adjacency.value_or(adjacency))) {
      if (!reading.refusal.empty()) continue;
      const Event event = reading.event(multiplier);
      static_cast<void>(reading.least(multiplier));
      expect(parse_event(describe(event), event.adjacency()) == event, "a reading does not come back from its text");
    }
  });
  return 0;
}
