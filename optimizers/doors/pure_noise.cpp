#include <surety/optimizers/doors/pure_noise.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {

Event PureRelease::event(Adjacency adjacency) const { return pure(Epsilon{1 / scale.value()}, adjacency); }

NoiseMultiplier PureRelease::multiplier() const { return NoiseMultiplier{scale.value() * std::sqrt(static_cast<double>(numbers) + 1)}; }

PureReleaser::PureReleaser(Releaser& inner, Adjacency adjacency, std::vector<PureRelease> releases) : inner_{inner} {
  for (const auto& one : releases) known_.push_back({gaussian(one.multiplier(), adjacency), one.numbers, one.event(adjacency)});
}

std::vector<double> PureReleaser::release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  const auto is_it = [&](const Known& one) { return one.numbers == query.steps.size() && one.gaussian == event; };
  const auto found = std::find_if(known_.begin(), known_.end(), is_it);
  if (found == known_.end()) {
    throw Error{ErrorCode::unsupported,
                fmt::format("no pure release is planned for the event '{}' in dimension {}", describe(event), query.steps.size())};
  }
  return inner_.release(query, sensitivity, found->pure);
}

}  // namespace surety::optimizers
