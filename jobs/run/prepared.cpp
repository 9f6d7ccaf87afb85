#include <surety/jobs/run/prepared.h>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>

namespace surety::jobs {

std::string prepared_json_text(std::string_view command, const accounting::Plan& charge, double noise, const Enclosure& epsilon,
                               const std::vector<std::string>& notes) {
  const Target& target = charge.promise.value();
  const double delta = target.delta.value();
  nlohmann::json object{{"version", 1},
                        {"command", command},
                        {"adjacency", name(target.adjacency)},
                        {"target", {{"epsilon", target.epsilon.value()}, {"delta", delta}}},
                        {"event", to_json(charge.event)},
                        {"noise", noise},
                        {"epsilon", accounting::to_json(epsilon)},
                        {"delta", delta},
                        {"unit", to_json(charge.unit)}};
  if (!notes.empty()) object["notes"] = notes;
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace surety::jobs
