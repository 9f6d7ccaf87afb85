// The distribution of the histogram of independent reports, by enumeration: for tests of shuffled reports. It includes no header of the accountants.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace surety::testing {

/// The probabilities of each report, for each input.
using ReportRows = std::vector<std::vector<long double>>;
/// The number of each report, or a sequence of reports.
using Reports = std::vector<std::size_t>;
using ReportDistribution = std::map<Reports, long double>;

/// Randomized response: the input with probability `truth`, each other category alike.
inline ReportRows response(long double truth, std::size_t categories) {
  ReportRows rows(categories, std::vector<long double>(categories, (1 - truth) / static_cast<long double>(categories - 1)));
  for (std::size_t i = 0; i < categories; ++i) rows[i][i] = truth;
  return rows;
}

/// The distribution of the histogram of one report for each of `inputs`.
inline ReportDistribution histograms(const ReportRows& rows, const std::vector<std::size_t>& inputs) {
  ReportDistribution distribution{{Reports(rows.front().size(), 0), 1}};
  for (const std::size_t input : inputs) {
    ReportDistribution next;
    for (const auto& [histogram, mass] : distribution) {
      for (std::size_t y = 0; y < rows[input].size(); ++y) {
        auto more = histogram;
        ++more[y];
        next[more] += mass * rows[input][y];
      }
    }
    distribution = std::move(next);
  }
  return distribution;
}

/// The hockey-stick divergence of p and q at e = e^epsilon.
inline long double hockey_stick(const ReportDistribution& p, const ReportDistribution& q, long double e) {
  long double sum = 0;
  for (const auto& [reports, mass] : p) {
    const auto other = q.find(reports);
    sum += std::max(0.0L, mass - (other == q.end() ? 0 : e * other->second));
  }
  return sum;
}

}  // namespace surety::testing
