#include <surety/jobs/run/released.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <surety/accounting/answers/best.h>
#include <surety/base/numbers/rounded_text.h>
#include <surety/base/text/error.h>
#include <surety/base/text/report_lines.h>
#include <surety/base/text/safe_text.h>

namespace surety::jobs {
namespace {

std::optional<double> bound_of(const Event& event, Delta delta) {
  try {
    return accounting::best_epsilon(event, delta, {}, accounting::Bounds::needed).value.upper;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::invalid_argument) throw;
    return std::nullopt;
  }
}

/// The bound of an event that may be none.
template <class Make>
std::optional<double> bound_of_made(const Make& make, Delta delta) {
  std::optional<Event> event;
  try {
    event.emplace(make());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::invalid_argument) throw;
    return std::nullopt;
  }
  return bound_of(*event, delta);
}

/// Rounded up, so that what is printed holds.
std::string shown(const std::optional<double>& bound, double delta) {
  if (!bound) return "is not available, since no bound is known";
  if (!std::isfinite(*bound)) return fmt::format("is not bounded at delta = {}", delta);
  if (*bound == 0) return "= 0";
  return "<= " + rounded_up(*bound, 6);
}

}  // namespace

std::optional<OverPeriods> over_periods(const UnitOfPrivacy& unit, const std::optional<std::string>& period, const Event& event,
                                        Delta delta) {
  if (!period) return std::nullopt;
  OverPeriods over{.user = columns_of(unit), .period = *period, .delta = delta.value(), .bounds = {}};
  std::erase(over.user, *period);
  for (const auto periods : OverPeriods::numbers) {
    over.bounds.push_back({.periods = periods,
                           .of_one_run = bound_of_made([&] { return users(Count{periods}, event); }, delta),
                           .of_run_each = bound_of_made([&] { return repeat(Count{periods}, event); }, delta)});
  }
  return over;
}

std::string report_lines(const OverPeriods& over) {
  std::string lines;
  const std::string user = one_line(columns_text(over.user));
  for (const auto& bound : over.bounds) {
    lines += report_line(
        "over time", fmt::format("one {} with {} values of {}: epsilon {} by this run; epsilon {} by {} such runs that read one value each",
                                 user, bound.periods, one_line(over.period), shown(bound.of_one_run, over.delta),
                                 shown(bound.of_run_each, over.delta), bound.periods));
  }
  return lines;
}

nlohmann::json to_json(const OverPeriods& over) {
  const auto number = [](const std::optional<double>& bound) -> nlohmann::json {
    if (!bound) return nullptr;
    if (!std::isfinite(*bound)) return "infinity";
    return *bound;
  };
  nlohmann::json bounds = nlohmann::json::array();
  for (const auto& bound : over.bounds) {
    bounds.push_back({{"periods", bound.periods}, {"of_one_run", number(bound.of_one_run)}, {"of_run_each", number(bound.of_run_each)}});
  }
  return {{"user", over.user}, {"period", over.period}, {"delta", over.delta}, {"bounds", std::move(bounds)}};
}

}  // namespace surety::jobs
