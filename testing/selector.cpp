#include <surety/testing/selector.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::testing {

std::size_t ScriptedSelector::select(std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change, const Event& event) {
  if (log_.size() == chosen_.size()) invalid(fmt::format("the script ends after {} choices", chosen_.size()));
  log_.push_back({{scores.begin(), scores.end()}, sensitivity, change, event});
  return chosen_[log_.size() - 1] % scores.size();
}

}  // namespace surety::testing
