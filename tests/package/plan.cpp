// Accounting alone: read an event, calibrate its noise.
#include <surety/accounting.h>

#include <cmath>
#include <cstdio>

int main() {
  const surety::Target target{.epsilon = surety::Epsilon{1}, .delta = surety::Delta{1e-5}, .adjacency = surety::Adjacency::replace_one};
  const auto plan = surety::calibrate(
      [&](surety::NoiseMultiplier z) {
        return surety::parse_event("repeat(100, gaussian(z))", target.adjacency, {{"z", z.value()}});
      },
      target);
  std::printf("%s costs at most %.17g\n", describe(plan.event).c_str(), plan.epsilon.upper);
  // mu*(1, 1e-5) = 0.268051, and 100 releases need ten times the multiplier of one.
  const bool right = std::abs(plan.value.value() * 0.268051 / 10 - 1) < 1e-5 && plan.epsilon.upper <= 1;
  return right ? 0 : 1;
}
