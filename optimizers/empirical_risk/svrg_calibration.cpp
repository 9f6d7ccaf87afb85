#include <surety/optimizers/empirical_risk/svrg_calibration.h>

#include <cmath>
#include <string>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>

namespace surety::optimizers {
namespace {

/// delta of `event`. The width of its enclosure is a share of epsilon: the narrowest that the accountant's memory allows.
/// Never a looser accountant instead: noise would jump where one stops and the other begins.
Enclosure certified_delta(const Event& event, Epsilon epsilon) {
  try {
    return accounting::delta(accounting::Contour{}, event, epsilon);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
  std::string reason;
  for (const double share : {0x1p-8, 0x1p-5, 0x1p-2}) {
    try {
      return accounting::delta(accounting::PrivacyLoss{.width = share * epsilon.value()}, event, epsilon);
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

SvrgNoise calibrate_svrg(const SvrgOptions& options, const Target& target, AnchorShare share) {
  if (target.adjacency != options.adjacency) {
    throw Error{ErrorCode::invalid_argument, fmt::format("adjacency of the target is {}, must be that of the options, {}",
                                                         name(target.adjacency), name(options.adjacency))};
  }
  if (target.epsilon.value() == 0) throw Error{ErrorCode::invalid_argument, "epsilon of the target is 0, must be greater than 0"};
  if (target.delta.value() == 0) throw Error{ErrorCode::invalid_argument, "delta of the target is 0, must be greater than 0"};

  const double largest_mu = accounting::largest_mu(target.epsilon, target.delta).lower;
  SvrgOptions tried = options;
  tried.anchor_multiplier = NoiseMultiplier{std::sqrt(static_cast<double>(options.epochs.value()) / share.value()) / largest_mu};
  const auto delta_at = [&](double z) {
    tried.noise_multiplier = NoiseMultiplier{z};
    return certified_delta(plan(tried), target.epsilon);
  };
  std::string refusal;  // at the largest z that does not meet the target
  const auto meets = [&](double z) {
    try {
      if (delta_at(z).upper <= target.delta.value()) return true;
      refusal.clear();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      refusal = error.what();
    }
    return false;
  };

  // Doubling or halving from 1, then bisection of the logarithm.
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
        throw Error{ErrorCode::unreachable, fmt::format("epsilon = {} at delta = {} is out of reach for '{}'", target.epsilon, target.delta,
                                                        describe(plan(tried)))};
      }
    } while (!meets(meeting));
  }
  while (meeting / failing > 1 + 0x1p-13) {
    const double middle = std::sqrt(meeting * failing);
    (meets(middle) ? meeting : failing) = middle;
  }
  const Enclosure delta = delta_at(meeting);
  return {.anchor_multiplier = tried.anchor_multiplier,
          .noise_multiplier = NoiseMultiplier{meeting},
          .event = plan(tried),
          .delta = delta,
          .refusal = refusal};
}

}  // namespace surety::optimizers
