#include <surety/accounting/logs/log_audit.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/judgement.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/words.h>

namespace surety::accounting {
namespace {

constexpr Words<ClaimVerdict, 3> verdicts{
    "verdict", {ClaimVerdict::holds, ClaimVerdict::too_low, ClaimVerdict::not_proved}, {"holds", "too low", "not proved"}};

/// What is said once or twice alike. \throws Error{invalid_argument} otherwise.
template <class Value, class Shown>
std::optional<Value> said_once(const char* what, const std::optional<Value>& asked, const std::optional<Value>& logged, Shown shown) {
  if (asked && logged && !(*asked == *logged)) {
    invalid(fmt::format("{} is {}, must be {} as in the log", what, shown(*asked), shown(*logged)));
  }
  return asked ? asked : logged;
}

/// \pre it is in the log or in the question, as `require_needed` has seen.
Adjacency adjacency_of(const RunLog& log, const LogQuestion& question) {
  return said_once("adjacency", question.adjacency, log.adjacency, [](Adjacency a) { return name(a); }).value();
}

double value_of(const auto& quantity) { return quantity.value(); }

std::vector<Reading> asked_readings(const RunLog& log, Adjacency adjacency, const LogQuestion& question) {
  auto all = readings(log, adjacency);
  if (question.only.empty()) return all;
  std::erase_if(all, [&](const Reading& reading) {
    return !reading.happened && std::find(question.only.begin(), question.only.end(), reading.sampler) == question.only.end();
  });
  return all;
}

/// No theorem, or no memory for one: what is said in its place. \throws whatever else `call` does.
template <class Call>
std::string refusal_of(Call call) {
  try {
    call();
    return {};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory && error.code() != ErrorCode::unreachable) throw;
    return error.what();
  }
}

/// From what was surely released to what may have been.
Enclosure between(const std::optional<Enclosure>& least, const Enclosure& most) { return {least ? least->lower : 0, most.upper}; }

Enclosure epsilon_of(const std::optional<Event>& least, const Event& event, const Enclosure& most, Delta delta, const Effort& effort) {
  if (!least) return between(std::nullopt, most);
  return *least == event ? most : between(best_epsilon(*least, delta, effort, Bounds::needed).value, most);
}

/// Narrows the cost of the reading to what the judgement takes.
ClaimVerdict verdict_of(ReadingCost& cost, const std::optional<Event>& least, Epsilon claim, Delta delta, const Effort& effort) {
  if (cost.epsilon->upper <= claim.value()) return ClaimVerdict::holds;
  if (cost.epsilon->lower > claim.value()) return ClaimVerdict::too_low;
  const Target target{.epsilon = claim, .delta = delta, .adjacency = cost.event->adjacency()};
  const auto most = judge(*cost.event, target, effort);
  cost.epsilon = Enclosure{cost.epsilon->lower, std::min(cost.epsilon->upper, most.epsilon.upper)};
  if (most.kept) return ClaimVerdict::holds;
  if (!least) return ClaimVerdict::not_proved;
  const auto surely = *least == *cost.event ? most : judge(*least, target, effort);
  cost.epsilon = Enclosure{std::max(cost.epsilon->lower, surely.epsilon.lower), cost.epsilon->upper};
  return surely.refuted ? ClaimVerdict::too_low : ClaimVerdict::not_proved;
}

void solve_for(const Target& target, const Effort& effort, ReadingNoise& noise) {
  BestCost cost{target, effort};
  const auto found = solve([&](double value) { return noise.reading.event(NoiseMultiplier{value}); }, target,
                           parameter_of("gaussian(z)", target.adjacency, "z"), cost.functions());
  const auto best = cost.report(found.event);
  const auto least = noise.reading.least(NoiseMultiplier{found.value});
  noise.epsilon = epsilon_of(least, found.event, best.value, target.delta, effort);
  noise.accountant = best.accountant;
  noise.event = found.event;
  noise.failing = found.failing;
  noise.gap = found.gap;
  noise.failing_is_proved = found.failing_is_proved && least == found.event;
  noise.multiplier = NoiseMultiplier{found.value};
}

/// From what was surely released to what may have been.
Risk between(const std::optional<Risk>& least, Risk most) {
  const auto widen = [](Enclosure& value, const Enclosure* below) { value.lower = below == nullptr ? 0 : below->lower; };
  widen(most.advantage, least ? &least->advantage : nullptr);
  for (std::size_t i = 0; i < most.rates.size(); ++i) {
    auto& rate = most.rates[i];
    // Who guesses has as many true positives as false ones.
    rate.true_positive_rate.lower = least ? least->rates[i].true_positive_rate.lower : rate.false_positive_rate.value();
  }
  widen(most.accuracy, least ? &least->accuracy : nullptr);
  widen(most.mu, least ? &least->mu : nullptr);
  widen(most.mu_above_floor, least ? &least->mu_above_floor : nullptr);
  return most;
}

/// Noise over 2C is half as many times as much as the same noise over C. \return whether the answer before this one was to the same event.
bool take_over(const std::vector<ReadingNoise>& before, ReadingNoise& noise) {
  if (before.empty() || before.back().reading.sampler != noise.reading.sampler || !before.back().multiplier) return false;
  const auto& other = before.back();
  const NoiseMultiplier half{0.5 * other.multiplier->value()};
  if (!(noise.reading.event(half) == *other.event)) return false;
  const auto reading = noise.reading;
  noise = other;
  noise.reading = reading;
  noise.multiplier = half;
  if (noise.failing) noise.failing = 0.5 * *noise.failing;
  return true;
}

}  // namespace

std::string_view name(ClaimVerdict verdict) { return verdicts.name(verdict); }

const ReadingCost* LogAudit::proved() const {
  for (const auto& cost : readings) {
    if (cost.reading.happened && cost.epsilon) return &cost;
  }
  return nullptr;
}

bool LogAudit::kept() const {
  if (!claim) return true;
  const auto* what_happened = proved();
  return what_happened != nullptr && what_happened->claim == ClaimVerdict::holds;
}

const ReadingRisk* LogRisk::proved() const {
  for (const auto& risk : readings) {
    if (risk.reading.happened && risk.risk) return &risk;
  }
  return nullptr;
}

const ReadingNoise* LogCalibration::proved() const {
  for (const auto& noise : readings) {
    if (noise.reading.happened && noise.multiplier) return &noise;
  }
  return nullptr;
}

NeededFields needed_by_audit(const LogQuestion& question) {
  return {.adjacency = !question.adjacency, .noise_multiplier = true, .delta = !question.delta};
}

NeededFields needed_by_calibration(const LogQuestion& question) {
  return {.adjacency = !question.adjacency, .epsilon = !question.epsilon, .delta = !question.delta};
}

LogAudit audit_log(const RunLog& log, const LogQuestion& question) {
  require_needed(log, needed_by_audit(question));
  const auto adjacency = adjacency_of(log, question);
  const auto claim = said_once("epsilon", question.epsilon, log.epsilon, value_of<Epsilon>);
  const auto delta = said_once("delta", question.delta, log.delta, value_of<Delta>).value();
  LogAudit result{.log = log, .adjacency = adjacency, .delta = delta, .claim = claim, .readings = {}};
  for (auto& reading : asked_readings(log, adjacency, question)) {
    ReadingCost cost{.reading = std::move(reading), .event = std::nullopt, .epsilon = std::nullopt, .claim = std::nullopt};
    cost.refusal = cost.reading.refusal;
    if (cost.refusal.empty()) {
      cost.event = cost.reading.event();
      const auto least = cost.reading.least();
      cost.refusal = refusal_of([&] {
        const auto best = best_epsilon(*cost.event, delta, question.effort, Bounds::needed);
        cost.accountant = best.accountant;
        cost.epsilon = epsilon_of(least, *cost.event, best.value, delta, question.effort);
        if (claim) cost.claim = verdict_of(cost, least, *claim, delta, question.effort);
      });
    }
    result.readings.push_back(std::move(cost));
  }
  return result;
}

NeededFields needed_by_risk(const LogQuestion& question) { return {.adjacency = !question.adjacency, .noise_multiplier = true}; }

LogRisk risk_of_log(const RunLog& log, const LogQuestion& question, const RiskQuestions& questions) {
  require_needed(log, needed_by_risk(question));
  LogRisk result{.log = log, .adjacency = adjacency_of(log, question), .readings = {}};
  for (auto& reading : asked_readings(log, result.adjacency, question)) {
    ReadingRisk found{.reading = std::move(reading)};
    found.refusal = found.reading.refusal;
    if (found.refusal.empty()) {
      found.event = found.reading.event();
      const auto least = found.reading.least();
      found.refusal = refusal_of([&] {
        auto most = risk(*found.event, questions, question.effort);
        const bool is_exact = least && *least == *found.event;
        found.risk =
            is_exact ? most : between(least ? std::optional{risk(*least, questions, question.effort)} : std::nullopt, std::move(most));
      });
    }
    result.readings.push_back(std::move(found));
  }
  return result;
}

LogCalibration calibrate_log(const RunLog& log, const LogQuestion& question) {
  require_needed(log, needed_by_calibration(question));
  const auto adjacency = adjacency_of(log, question);
  const Target target{.epsilon = question.epsilon ? *question.epsilon : log.epsilon.value(),
                      .delta = question.delta ? *question.delta : log.delta.value(),
                      .adjacency = adjacency};
  LogCalibration result{.log = log, .target = target, .readings = {}};
  for (auto& reading : asked_readings(log, adjacency, question)) {
    ReadingNoise noise{.reading = std::move(reading)};
    noise.refusal = noise.reading.refusal;
    if (noise.refusal.empty() && !take_over(result.readings, noise)) {
      noise.refusal = refusal_of([&] { solve_for(target, question.effort, noise); });
    }
    result.readings.push_back(std::move(noise));
  }
  return result;
}

}  // namespace surety::accounting
