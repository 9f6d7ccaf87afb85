#include <surety/optimizers/empirical_risk/svrg_calibration.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/events/format.h>
#include <surety/base/numbers/root.h>
#include <surety/base/text/error.h>

namespace surety::optimizers {
namespace {

/// delta of `event`. The width of its enclosure is a share of epsilon: the narrowest that the accountant's memory allows.
/// Never a looser accountant instead: noise would jump where one stops and the other begins.
/// \param level what its upper end, which is all that is looked for then, is compared with
Enclosure certified_delta(const Event& event, Epsilon epsilon, std::optional<double> level = {}) {
  try {
    return accounting::delta(accounting::Contour{}, event, epsilon);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
  std::string reason;
  for (const double share : {0x1p-8, 0x1p-5, 0x1p-2}) {
    try {
      const accounting::Pld accountant{.width = share * epsilon.value(), .upper_only = level.has_value(), .level = level};
      return accounting::delta(accountant, event, epsilon);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::memory) {
        if (error.code() != ErrorCode::unsupported) throw;
        reason = error.what();
        break;
      }
      reason = error.what();
    }
  }
  throw Error{ErrorCode::unsupported, fmt::format("no noise was found for '{}': {}", describe(event), reason)};
}

}  // namespace

SvrgNoise calibrate_svrg(const SvrgOptions& options, const Target& target, AnchorShare share, const std::optional<Event>& beside) {
  if (target.adjacency != options.adjacency) {
    throw Error{ErrorCode::invalid_argument, fmt::format("adjacency of the target is {}, must be that of the options, {}",
                                                         name(target.adjacency), name(options.adjacency))};
  }
  if (target.epsilon.value() == 0) throw Error{ErrorCode::invalid_argument, "epsilon of the target is 0, must be greater than 0"};
  if (target.delta.value() == 0) throw Error{ErrorCode::invalid_argument, "delta of the target is 0, must be greater than 0"};

  const double largest_mu = accounting::largest_mu(target.epsilon, target.delta).lower;
  SvrgOptions tried = options;
  tried.anchor_multiplier = NoiseMultiplier{std::sqrt(static_cast<double>(options.epochs.value()) / share.value()) / largest_mu};
  const auto event = [&] { return beside ? compose({*beside, plan(tried)}) : plan(tried); };
  std::map<double, double> known;
  const auto upper_at = [&](double z) {
    tried.noise_multiplier = NoiseMultiplier{z};
    if (const auto asked = known.find(z); asked != known.end()) return asked->second;
    return known.emplace(z, certified_delta(event(), target.epsilon, target.delta.value()).upper).first->second;
  };
  std::string refusal;  // at the largest z that does not meet the target
  // log(delta / target), at most 0 where the target is met; bounded, since delta may be 0.
  constexpr double far = 1e6;
  const auto excess = [&](double z) {
    try {
      const double upper = upper_at(z);
      if (upper > target.delta.value()) refusal.clear();
      const double logs = std::max(std::log(upper) - std::log(target.delta.value()), -far);
      return upper > target.delta.value() ? std::max(logs, std::numeric_limits<double>::min()) : std::min(logs, 0.0);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      refusal = error.what();
      return far;
    }
  };
  const auto meets = [&](double z) { return excess(z) <= 0; };

  // Doubling or halving from 1, then a root in the logarithm.
  constexpr double largest = 0x1p60;
  double failing = 1;
  double meeting = 1;
  if (meets(1)) {
    do {
      meeting = failing;
      failing /= 2;
    } while (meets(failing));
  } else {
    do {
      failing = meeting;
      meeting *= 2;
      if (meeting > largest) {
        if (!refusal.empty()) throw Error{ErrorCode::unsupported, refusal};
        throw Error{ErrorCode::unreachable,
                    fmt::format("epsilon = {} at delta = {} is out of reach for '{}'", target.epsilon, target.delta, describe(event()))};
      }
    } while (!meets(meeting));
  }
  const auto excess_of_log = [&](double log2_z) { return excess(std::exp2(log2_z)); };
  const auto near = [](double a, double b) { return std::abs(b - a) <= 0x1p-13; };
  const auto found = narrow_root(excess_of_log, std::log2(failing), std::log2(meeting), excess(failing), excess(meeting), near, 100);
  // The smaller one last: what it was refused for is what is told. Where the target is met exactly both are the same one.
  meeting = std::exp2(excess_of_log(found.low) <= 0 ? found.low : found.high);
  const double upper = upper_at(meeting);
  const Enclosure both = certified_delta(event(), target.epsilon);
  return {.anchor_multiplier = tried.anchor_multiplier,
          .noise_multiplier = NoiseMultiplier{meeting},
          .event = event(),
          .delta = {both.lower, std::min(both.upper, upper)},
          .refusal = refusal};
}

}  // namespace surety::optimizers
