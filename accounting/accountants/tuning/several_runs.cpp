#include <surety/accounting/accountants/tuning/several_runs.h>

#include <algorithm>
#include <cmath>

#include <surety/accounting/accountants/tuning/ranks.h>
#include <surety/base/numbers/floating_point.h>

namespace surety::accounting {

using tuning_ranks::margin;
using tuning_ranks::rounding;
using tuning_ranks::survival_above;
using tuning_ranks::tiny;

SeveralRuns::SeveralRuns(const Runs& runs, const std::vector<std::size_t>& counts) : counts_{counts} {
  const StandardFloatingPoint environment;
  const auto survival = survival_above(runs, counts.empty() ? 1 : counts.back() + 1);
  const auto at_least = [&](std::size_t k) { return k < survival.size() ? survival[k] : survival.back(); };
  std::size_t before = 0;
  for (const std::size_t count : counts) {
    at_least_.push_back(at_least(before + 1));
    before = count;
  }
  more_ = at_least(before + 1);
}

double SeveralRuns::above(const std::function<double(std::size_t)>& delta_of) const {
  // The mean of a sum of what each further run adds.
  double sum = 0;
  double before = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const double delta = std::clamp(delta_of(i), before, 1.0);
    sum += at_least_[i] * (delta - before);
    before = delta;
  }
  return std::min(1.0, (sum + more_ * (1 - before)) * (1 + rounding(counts_.size())) + tiny);
}

bool SeveralRuns::is_larger(double most, const std::function<double(std::size_t)>& delta_of) const {
  constexpr std::size_t few_counts = 12;
  // What each adds counts at least as often as the last of those between two.
  double sum = 0;
  double before = 0;
  const std::size_t size = counts_.size();
  for (std::size_t j = 1; j <= few_counts && size > few_counts; ++j) {
    const std::size_t i = j * size / few_counts - 1;
    const double delta = std::clamp(delta_of(i), before, 1.0);
    sum += at_least_[i] * (delta - before);
    before = delta;
    if (sum > most * (1 + margin)) return true;
  }
  return false;
}

std::vector<std::size_t> counts_of_runs(const Runs& runs, std::size_t one_by_one, double growth, double hardly_any) {
  const StandardFloatingPoint environment;
  const auto survival = survival_above(runs, 4096);
  std::vector<std::size_t> counts;
  for (std::size_t k = 1; k < survival.size() && survival[k] > hardly_any;) {
    counts.push_back(k);
    k = k < one_by_one ? k + 1 : std::max(k + 1, static_cast<std::size_t>(std::ceil(static_cast<double>(k) * growth)));
  }
  return counts;
}

}  // namespace surety::accounting
