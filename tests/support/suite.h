// Statistical tests that can fail: is a sample consistent with its exact law?
//
// Every statistic comes with a bound p on the probability that a true law shows so much or more; no bound is an asymptotic approximation,
// whose error at 1e-13 nobody knows.
//
//   counts           binomial, its tails computed (incomplete beta function)
//   sums of scores   of cells of known probabilities: Chernoff, P(mean >= x) <= (E e^(t (g - x)))^n for every t, here the best one. The
//   mean,
//                    the mean absolute deviation and the variance are sums of scores of some thousand cells, the outermost endless
//   chi-square       in its likelihood-ratio form n KL(observed || law): P(n KL >= x) <= e^(m - x) (x / m)^m for m = bins - 1 and x > m
//                    (Agrawal, "Finite-sample concentration of the multinomial in relative entropy", IEEE Trans. Inf. Theory 66, 2020)
//   Kolmogorov       sup |F_n - F| over the ends of cells: 2 exp(-2 n d^2) (Massart 1990)
//   repetitions      equal blocks of samples: a union bound over pairs, see lattice.h
//
// A statistic alarms when p <= alpha = 1e-9 / 4000, and no run of all tests/statistical judges more than 4000 statistics of true laws,
// which is checked: by the union bound a run alarms falsely with probability at most 1e-9. The seed is fixed, so a failure is a defect and
// repeats itself. Power: docs/proofs/statistical-power.md#power.
//
// SURETY_STATISTICS_SAMPLES sets n for fast samplers (default 2e7; slow ones take a stated part of it); SURETY_STATISTICS_REPORT names a
// file to which tables are appended. Both are for scripts/statistics.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace surety::statistical {

inline constexpr std::uint64_t seed = 20261121;

inline constexpr double family_wise = 1e-9;
inline constexpr int statistics_per_run = 4000;
inline constexpr int statistics_per_program = 800;  ///< there are five
inline constexpr double alpha = family_wise / statistics_per_run;

/// Samples of each fast sampler. Sanitizers learn nothing from more.
std::int64_t sample_size();

/// Appends a line to the report, when one is wanted, and prints it.
void report_line(const std::string& line);

struct Finding {
  std::string statistic;
  double p;  ///< a true law shows so much or more with probability at most p
  std::string detail;
};

/// All statistics of one sample.
class Report {
 public:
  void add(std::string statistic, double p, std::string detail) {
    findings_.push_back({std::move(statistic), std::min(p, 1.0), std::move(detail)});
  }
  [[nodiscard]] const std::vector<Finding>& findings() const noexcept { return findings_; }
  [[nodiscard]] const Finding& worst() const {
    return *std::min_element(findings_.begin(), findings_.end(), [](const auto& a, const auto& b) { return a.p < b.p; });
  }
  /// Whether some statistic alarms. NaN alarms.
  [[nodiscard]] bool alarms() const {
    return std::any_of(findings_.begin(), findings_.end(), [](const auto& finding) { return !(finding.p > alpha); });
  }
  /// The statistics that alarm, by name.
  [[nodiscard]] std::string alarming() const {
    std::string names;
    for (const auto& [statistic, p, detail] : findings_) {
      if (!(p > alpha)) names += (names.empty() ? "" : ", ") + statistic;
    }
    return names;
  }
  void append(const Report& other) { findings_.insert(findings_.end(), other.findings_.begin(), other.findings_.end()); }

 private:
  std::vector<Finding> findings_;
};

/// For true laws: whether no statistic alarms; if one does, the message names it.
::testing::AssertionResult fits(const Report& report);

/// Probabilities are computed in double, up to a relative error below this.
inline constexpr double probability_error = 1e-11;

/// Twice the smaller of P(count <= observed) and P(count >= observed), for n independent events of probability p.
double binomial_p(std::int64_t observed, std::int64_t n, double p);

void judge_count(Report& report, const std::string& statistic, std::int64_t observed, std::int64_t n, double p);

/// Cells of a law in order, and what was observed.
struct Cells {
  std::vector<double> probability;
  std::vector<double> score;  ///< increasing: a value in each cell
  std::vector<std::int64_t> count;

  [[nodiscard]] std::size_t size() const noexcept { return probability.size(); }
  [[nodiscard]] std::int64_t total() const {
    std::int64_t sum = 0;
    for (const auto c : count) sum += c;
    return sum;
  }
};

/// Neighbouring cells pooled until each has at least `least` probability.
Cells pooled(const Cells& cells, double least);

/// The sum of score(i) over all observations, by the Chernoff bound.
void judge_sum(Report& report, const std::string& statistic, const Cells& cells, const std::vector<double>& score);

/// The likelihood-ratio form of chi-square.
void judge_chi_square(Report& report, const std::string& statistic, const Cells& cells);

/// The largest deviation of a cell, among those pooled until 25 observations are expected.
void judge_largest(Report& report, const std::string& statistic, const Cells& all);

void judge_kolmogorov(Report& report, const std::string& statistic, const Cells& cells);

/// Mean, mean absolute deviation, variance, chi-square of about 64 bins, largest deviation, Kolmogorov.
void judge_cells(Report& report, const std::string& prefix, const Cells& cells);

/// A table of two categories that should be independent, each of known probabilities: chi-square, and the sum of products of scores.
void judge_pairs(Report& report, const std::string& statistic, const std::vector<double>& first, const std::vector<double>& second,
                 const std::vector<std::int64_t>& counts);

/// One line of a table: what was judged, from how much, and the statistic that is least likely.
void report_fit(const std::string& law, std::int64_t n, const Report& report);

}  // namespace surety::statistical
