#include <surety/accounting/ledger/standing.h>

#include <cmath>

#include <surety/accounting/calibration/judgement.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/ledger/audit_json.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

nlohmann::json event_json(const std::optional<Event>& event) { return event ? to_json(*event) : nlohmann::json{}; }

std::optional<Room> room_of(const Ledger& ledger, const Event& event) {
  try {
    return Room{event, ledger.room_for(event, Room::most).value()};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return std::nullopt;
  }
}

std::optional<Room> room_for_counts(const Ledger& ledger, const Budget& budget) {
  const double scale = 1 / epsilon_of_count(budget);
  if (!(scale > 0) || scale == infinity) return std::nullopt;
  // A scale whose epsilon is certainly not the larger one.
  return room_of(ledger, laplace(NoiseScale{std::nextafter(scale, infinity)}, ledger.adjacency()));
}

}  // namespace

std::string_view state_of(const Run& run) { return run.settlement ? "settled" : "reserved"; }

std::optional<Enclosure> RunCosts::of(const Run& run) {
  if (!run.plan.promise) return std::nullopt;
  const auto charged = run.charged();
  if (!charged) return Enclosure{0, 0};
  const auto delta = run.plan.promise->delta;
  const auto [known, is_new] = known_.try_emplace({to_json(*charged).dump(), delta.value(), run.plan.promise->epsilon.value()});
  if (is_new) {
    try {
      known->second = epsilon_beside(*charged, *run.plan.promise);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
    }
  }
  if (known->second && run.plan.not_private) return Enclosure{known->second->lower, infinity};
  return known->second;
}

double epsilon_of_count(const Budget& budget) { return budget.target.epsilon.value() / 10; }

Standing::Standing(const Ledger& ledger) : adjacency{ledger.adjacency()}, unit{ledger.unit()}, balance{ledger.balance()} {
  const auto all = ledger.runs();
  runs = all.size();
  if (!balance) return;
  if (!all.empty()) like_the_last = room_of(ledger, all.back().plan.event);
  counts = room_for_counts(ledger, balance->budget);
}

nlohmann::json to_json(const Run& run, RunCosts& costs) {
  nlohmann::json object{{"run", run.id.value},    {"unit", reported_json(run.plan.unit)}, {"created", run.created},
                        {"state", state_of(run)}, {"planned", to_json(run.plan.event)},   {"charged", event_json(run.charged())},
                        {"note", run.plan.note},  {"not_private", run.plan.not_private}};
  if (run.plan.promise) object["promise"] = to_json(*run.plan.promise);
  if (run.settlement) {
    object["settled"] = {
        {"time", run.settlement->time}, {"released", event_json(run.settlement->released)}, {"stop", name(run.settlement->stopping)}};
  }
  if (const auto cost = costs.of(run)) object["epsilon"] = to_json(*cost);
  return object;
}

nlohmann::json to_json(const Standing& stands) {
  nlohmann::json object{{"adjacency", name(stands.adjacency)}, {"unit", reported_json(stands.unit)}, {"runs", stands.runs}};
  if (!stands.balance) return object;
  object["budget"] = to_json(*stands.balance);
  auto& left = object["left"] = nlohmann::json::object();
  if (const auto& last = stands.like_the_last) left["like_the_last"] = {{"event", to_json(last->event)}, {"runs", last->runs}};
  if (const auto& counts = stands.counts) {
    left["counts"] = {{"epsilon", epsilon_of_count(stands.balance->budget)}, {"event", to_json(counts->event)}, {"runs", counts->runs}};
  }
  return object;
}

}  // namespace surety::accounting
