#include <surety/testing/releaser.h>

#include <cstddef>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::testing {

std::vector<double> ScriptedReleaser::release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  const std::size_t step = log_.size();
  if (step == released_.size()) invalid(fmt::format("the script ends after {} releases", step));
  if (released_[step].size() != query.steps.size()) {
    invalid(fmt::format("release {} of the script has {} coordinates, the query has {}", step, released_[step].size(), query.steps.size()));
  }
  log_.push_back({query, sensitivity, event});
  return released_[step];
}

}  // namespace surety::testing
