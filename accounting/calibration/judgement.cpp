#include <surety/accounting/calibration/judgement.h>

#include <algorithm>
#include <cmath>

#include <surety/accounting/calibration/best_cost.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

Enclosure both(const Enclosure& one, const Enclosure& other) {
  return {std::max(one.lower, other.lower), std::min(one.upper, other.upper)};
}

class Judge {
 public:
  Judge(const Event& event, const Target& claim, const Effort& effort)
      : claim_{claim}, found_{.epsilon = {0, infinity}, .delta = {0, 1}, .accountant = {}, .kept = false, .refuted = false} {
    const auto epsilon = best_epsilon(event, claim.delta, effort, Bounds::needed);
    found_.epsilon = epsilon.value;
    found_.accountant = epsilon.accountant;
    found_.delta = best_delta(event, claim.epsilon, effort, Bounds::needed).value;
    double width = effort.width;
    for (int attempt = 0; attempt < most_attempts && !decides(); ++attempt, width /= 16) {
      const Judgement before = found_;
      BestCost cost{claim, {.width = width}};
      found_.delta = both(found_.delta, cost.delta(event, claim.epsilon));
      if (!decides()) found_.epsilon = both(found_.epsilon, cost.epsilon(event, claim.delta));
      // The first look asks as a search does; a finer one that is hardly narrower meets something else than width.
      if (attempt > 0 && !decides() && !is_narrower(before)) break;
    }
    // The number that the calibration told, not the claim in its place.
    if (is_kept() && found_.epsilon.upper > claim.epsilon.value()) {
      BestCost cost{claim, effort};
      found_.epsilon = both(found_.epsilon, cost.epsilon(event, claim.delta));
    }
  }

  [[nodiscard]] Judgement judgement() {
    found_.kept = is_kept();
    found_.refuted = is_refuted();
    // The limits of the claim are bounds as well now.
    if (found_.kept) {
      found_.epsilon.upper = std::min(found_.epsilon.upper, claim_.epsilon.value());
      found_.delta.upper = std::min(found_.delta.upper, claim_.delta.value());
    } else if (found_.refuted) {
      found_.epsilon.lower = std::max(found_.epsilon.lower, claim_.epsilon.value());
      found_.delta.lower = std::max(found_.delta.lower, claim_.delta.value());
    }
    return found_;
  }

 private:
  static constexpr int most_attempts = 4;

  [[nodiscard]] bool is_kept() const {
    return found_.delta.upper <= claim_.delta.value() || found_.epsilon.upper <= claim_.epsilon.value();
  }
  [[nodiscard]] bool is_refuted() const {
    return found_.delta.lower > claim_.delta.value() || found_.epsilon.lower > claim_.epsilon.value();
  }
  [[nodiscard]] bool decides() const { return is_kept() || is_refuted(); }
  [[nodiscard]] bool is_narrower(const Judgement& before) const {
    constexpr double share = 0.7;
    return found_.epsilon.width() < share * before.epsilon.width() || found_.delta.width() < share * before.delta.width();
  }

  Target claim_;
  Judgement found_;
};

}  // namespace

Judgement judge(const Event& event, const Target& claim, const Effort& effort) {
  const StandardFloatingPoint environment;
  return Judge{event, claim, effort}.judgement();
}

Enclosure epsilon_beside(const Event& event, const Target& promise, const Enclosure& known) {
  const double promised = promise.epsilon.value();
  return known.lower <= promised && known.upper > promised ? both(known, judge(event, promise).epsilon) : known;
}
Enclosure epsilon_beside(const Event& event, const Target& promise) {
  return epsilon_beside(event, promise, quick_epsilon(event, promise.delta));
}

}  // namespace surety::accounting
