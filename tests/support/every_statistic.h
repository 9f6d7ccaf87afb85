// Statistics of every kind.
#pragma once

#include <optional>
#include <vector>

#include <surety/statistics/statistics.h>

namespace surety::statistics {

/// Counts, and sums, means and histograms of x, with and without `condition`, under each adjacency, as far as it is allowed.
inline std::vector<Statistic> every_statistic(const LabelRule& condition, const std::vector<Bounds>& bounds,
                                              const std::vector<HistogramOf>& histograms) {
  std::vector<Statistic> result;
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    for (const auto& where : {std::optional<LabelRule>{}, std::optional{condition}}) {
      const auto push = [&](const auto& of) { result.push_back({.of = of, .where = where, .adjacency = adjacency}); };
      if (where || adjacency == Adjacency::add_or_remove_one) push(CountOf{});
      for (const Bounds& each : bounds) {
        push(SumOf{"x", each});
        push(MeanOf{"x", each});
      }
      for (const auto& histogram : histograms) push(histogram);
    }
  }
  return result;
}

}  // namespace surety::statistics
