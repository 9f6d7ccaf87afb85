// Statistics of every kind, records of every kind, and noise for them.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <surety/statistics/statistics.h>

namespace surety::statistics {

/// Counts, and sums, means, variances and histograms of x, with and without `condition`, under each adjacency, as far as it is allowed; sums,
/// means and variances under each rule for missing cells.
inline std::vector<Statistic> every_statistic(const data::Condition& condition, const std::vector<data::Bounds>& bounds,
                                              const std::vector<HistogramOf>& histograms) {
  std::vector<Statistic> result;
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    for (const auto& where : {std::optional<data::Condition>{}, std::optional{condition}}) {
      const auto push = [&](const auto& of, MissingCells missing = MissingCells::left_out) {
        result.push_back({.of = of, .where = where, .adjacency = adjacency, .missing = missing});
      };
      if (where || adjacency == Adjacency::add_or_remove_one) push(CountOf{});
      for (const data::Bounds& each : bounds) {
        for (const auto missing : {MissingCells::left_out, MissingCells::promised_complete}) {
          push(SumOf{"x", each}, missing);
          push(MeanOf{"x", each}, missing);
          if (each.upper - each.lower < 0x1p500) push(VarianceOf{"x", each}, missing);
        }
      }
      for (const auto& histogram : histograms) push(histogram);
    }
  }
  return result;
}

/// What a test knows of a record: whether it meets the condition, and its cell as a number or as a text.
struct Record {
  bool meets = true;
  double number = 0;
  std::string text = {};
  bool is_damaged = false;
  std::string group = {};
  double group_number = 0;
};

inline void add(StatisticSum& sum, const Record& record) {
  if (!record.meets) return;
  std::size_t group = 0;
  if (const auto& by = sum.statistic().by) {
    const CellFinder groups{by->keys};
    const auto found = groups.is_text() ? groups.find(record.group) : std::optional{groups.find(record.group_number)};
    if (!found) return;
    group = *found;
  }
  const auto* const histogram = std::get_if<HistogramOf>(&sum.statistic().of);
  if (std::holds_alternative<CountOf>(sum.statistic().of)) {
    sum.add_to_count(group);
  } else if (record.is_damaged) {
    sum.add_damaged(group);
  } else if (histogram != nullptr && std::holds_alternative<data::Categories>(histogram->cells)) {
    sum.add(record.text, group);
  } else {
    sum.add(record.number, group);
  }
}

inline std::vector<std::int64_t> exact(const Statistic& statistic, Grid grid, const std::vector<Record>& records,
                                       NoiseLaw law = NoiseLaw::laplace) {
  StatisticSum sum{statistic, grid, law};
  for (const auto& record : records) add(sum, record);
  return sum.sum().steps;
}

inline StatisticSum example(const Statistic& statistic, double noise = 1, NoiseLaw law = NoiseLaw::laplace) {
  return {statistic, grid_for(statistic, NoiseMultiplier{noise}), law};
}

inline StatisticNoise laplace(const StatisticSum& sum, double scale) {
  return noise_for(sum, surety::laplace(NoiseScale{scale}, sum.statistic().adjacency));
}
inline StatisticNoise gaussian(const StatisticSum& sum, double multiplier) {
  return noise_for(sum, surety::gaussian(NoiseMultiplier{multiplier}, sum.statistic().adjacency));
}

/// P(|noise| > t) for rounded noise of step g.
inline double exceeds(const StatisticNoise& noise, double t, double step) {
  const double x = t + step / 2;
  if (name(noise) == "gaussian") return std::erfc(x / (standard_deviation(noise) * std::sqrt(2.0)));
  return std::exp(-x * std::sqrt(2.0) / standard_deviation(noise));
}

}  // namespace surety::statistics
