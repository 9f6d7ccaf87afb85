#include <surety/accounting/logs/log_json.h>

#include <utility>

#include <surety/accounting/answers/explanation.h>
#include <surety/accounting/events/json.h>

namespace surety::accounting {
namespace {

nlohmann::json reading_of(const Reading& reading) {
  return {{"reading", name(reading.sampler)},
          {"noise_over", name(reading.noise_over)},
          {"happened", reading.happened},
          {"condition", reading.condition}};
}

nlohmann::json phases_of(const RunLog& log) {
  auto list = nlohmann::json::array();
  for (const auto& phase : log.phases) {
    list.push_back({{"noise_multiplier", phase.noise_multiplier->value()},
                    {"sampling_rate", phase.rate().value()},
                    {"steps", phase.total_steps().value()}});
  }
  return list;
}

/// What an audit and a calibration say alike of a log.
nlohmann::json log_of(const RunLog& log, Adjacency adjacency) {
  return {{"sampler", name(log.sampler)}, {"noise_over", name(log.noise_over)}, {"adjacency", name(adjacency)}};
}

std::string line_of(nlohmann::json object) {
  object["version"] = 1;
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json object_of(const ReadingCost& cost) {
  auto object = reading_of(cost.reading);
  if (cost.event) object["event"] = describe(*cost.event);
  if (!cost.epsilon) {
    object["refusal"] = cost.refusal;
    return object;
  }
  object["epsilon"] = accounting::to_json(*cost.epsilon);
  object["accountant"] = cost.accountant;
  if (cost.claim) object["claim"] = name(*cost.claim);
  return object;
}

nlohmann::json object_of(const ReadingNoise& noise) {
  auto object = reading_of(noise.reading);
  if (!noise.multiplier) {
    object["refusal"] = noise.refusal;
    return object;
  }
  object["noise_multiplier"] = noise.multiplier->value();
  object["event"] = describe(*noise.event);
  object["epsilon"] = accounting::to_json(*noise.epsilon);
  object["accountant"] = noise.accountant;
  if (noise.failing) {
    object["failing"] = *noise.failing;
    object["failing_is_proved"] = noise.failing_is_proved;
    object["tight"] = noise.is_tight();
  }
  return object;
}

nlohmann::json object_of(const ReadingRisk& found, const RiskQuestions& questions) {
  auto object = reading_of(found.reading);
  if (found.event) object["event"] = describe(*found.event);
  if (!found.risk) {
    object["refusal"] = found.refusal;
    return object;
  }
  object.update(accounting::to_json(*found.risk, questions));
  return object;
}

template <class Answers>
nlohmann::json list_of(const Answers& answers) {
  auto list = nlohmann::json::array();
  for (const auto& answer : answers) list.push_back(object_of(answer));
  return list;
}

}  // namespace

nlohmann::json to_json(const LogAudit& audit) {
  auto object = log_of(audit.log, audit.adjacency);
  object["delta"] = audit.delta.value();
  if (audit.log.phases.empty()) {
    object["noise_multiplier"] = audit.log.noise_multiplier->value();
  } else {
    object["phases"] = phases_of(audit.log);
  }
  if (audit.claim) {
    object["claim"] = {{"epsilon", audit.claim->value()}, {"delta", audit.delta.value()}};
    if (!audit.log.accountant.empty()) object["claim"]["accountant"] = audit.log.accountant;
    object["kept"] = audit.kept();
  }
  object["readings"] = list_of(audit.readings);
  const auto* proved = audit.proved();
  object["proved"] = proved == nullptr ? nlohmann::json{} : object_of(*proved);
  return object;
}

nlohmann::json to_json(const LogRisk& risk, const RiskQuestions& questions) {
  auto object = log_of(risk.log, risk.adjacency);
  auto list = nlohmann::json::array();
  for (const auto& reading : risk.readings) list.push_back(object_of(reading, questions));
  object["readings"] = std::move(list);
  const auto* proved = risk.proved();
  object["proved"] = proved == nullptr ? nlohmann::json{} : object_of(*proved, questions);
  return object;
}

nlohmann::json to_json(const LogCalibration& calibration) {
  auto object = log_of(calibration.log, calibration.target.adjacency);
  object["target"] = {{"epsilon", calibration.target.epsilon.value()}, {"delta", calibration.target.delta.value()}};
  object["readings"] = list_of(calibration.readings);
  const auto* proved = calibration.proved();
  object["proved"] = proved == nullptr ? nlohmann::json{} : object_of(*proved);
  return object;
}

std::string audit_log_text(std::string_view log, const LogQuestion& question) {
  return line_of(to_json(audit_log(run_log_from_json(log, needed_by_audit(question)), question)));
}

std::string calibrate_log_text(std::string_view log, const LogQuestion& question) {
  return line_of(to_json(calibrate_log(run_log_from_json(log, needed_by_calibration(question)), question)));
}

}  // namespace surety::accounting
