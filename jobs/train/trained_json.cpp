#include <surety/jobs/train/trained_json.h>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>
#include <surety/jobs/algorithms/algorithm.h>
#include <surety/jobs/run/released.h>

namespace surety::jobs {

nlohmann::json to_json(const TrainedModel& trained) {
  const auto& [plan, model, noise, released, run, facts] = trained;
  const double delta = plan.target.delta.value();
  nlohmann::json object{{"algorithm", plan.algorithm_name()},
                        {"loss", name_of(plan.problem.loss)},
                        {"adjacency", name(plan.target.adjacency)},
                        {"promise", {{"epsilon", plan.target.epsilon.value()}, {"delta", delta}}},
                        {"event", released.event},
                        {"epsilon", accounting::to_json(released.epsilon)},
                        {"delta", delta},
                        {"not_private", model.guarantee.not_private},
                        {"damaged_records_not_private", facts->damaged},
                        {"run", run.value},
                        {"unit", to_json(plan.unit)}};
  if (model.label_centre != 0) object["label_centre"] = model.label_centre;
  if (const auto& rule = model.record_weights) object["record_weights"] = {{"column", rule->column}, {"bound", rule->bound}};
  if (facts->in_place_of.empty()) {
    object["planned"] = released.planned;
    object["noise_multiplier"] = noise.value;
  }
  object.update(facts->fields);
  if (const auto over = over_periods(plan.unit, plan.period, noise.event, plan.target.delta)) object["over_time"] = to_json(*over);
  if (!facts->notes.empty()) object["notes"] = facts->notes;
  return object;
}

std::string json_text(const TrainedModel& trained) {
  return to_json(trained).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace surety::jobs
