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
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
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
inline std::int64_t sample_size() {
  if (const char* const text = std::getenv("SURETY_STATISTICS_SAMPLES"); text != nullptr) return std::max(1000LL, std::atoll(text));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 200'000;
#else
  return 20'000'000;
#endif
}

/// Appends a line to the report, when one is wanted, and prints it.
inline void report_line(const std::string& line) {
  fmt::print("{}\n", line);
  if (const char* const name = std::getenv("SURETY_STATISTICS_REPORT"); name != nullptr) std::ofstream{name, std::ios::app} << line << '\n';
}

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

/// Counts what is judged of true laws, over all tests of a program.
class Budget : public ::testing::Environment {
 public:
  static Budget& instance() {
    // GoogleTest owns it.
    static auto* const budget = static_cast<Budget*>(::testing::AddGlobalTestEnvironment(new Budget));
    return *budget;
  }
  void spend(std::size_t statistics) { spent_ += statistics; }
  void TearDown() override {
    EXPECT_LE(spent_, std::size_t{statistics_per_program}) << "statistics of true laws, false alarms not covered";
  }

 private:
  std::size_t spent_ = 0;
};
inline Budget& budget = Budget::instance();

/// For true laws: whether no statistic alarms; if one does, the message names it.
inline ::testing::AssertionResult fits(const Report& report) {
  budget.spend(report.findings().size());
  if (!report.alarms()) return ::testing::AssertionSuccess() << "fits";
  auto result = ::testing::AssertionFailure();
  for (const auto& [statistic, p, detail] : report.findings()) {
    if (!(p > alpha)) result << statistic << " (p <= " << p << "): " << detail << "; ";
  }
  return result;
}

/// Probabilities are computed in double, up to a relative error below this.
inline constexpr double probability_error = 1e-11;

/// Twice the smaller of P(count <= observed) and P(count >= observed), for n independent events of probability p.
inline double binomial_p(std::int64_t observed, std::int64_t n, double p) {
  using Binomial = boost::math::binomial_distribution<double>;
  if (!(p >= 0)) return 0;
  const double low = p * (1 - probability_error);
  const double high = std::min(1.0, p * (1 + probability_error));
  const auto total = static_cast<double>(n);
  const auto count = static_cast<double>(observed);
  const double below = observed >= n ? 1 : boost::math::cdf(Binomial{total, low}, count);
  const double above = observed <= 0 ? 1 : boost::math::cdf(boost::math::complement(Binomial{total, high}, count - 1));
  return std::min(1.0, 2 * std::min(below, above));
}

inline void judge_count(Report& report, const std::string& statistic, std::int64_t observed, std::int64_t n, double p) {
  report.add(statistic, binomial_p(observed, n, p), fmt::format("{} of {}, {:.1f} are expected", observed, n, static_cast<double>(n) * p));
}

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
inline Cells pooled(const Cells& cells, double least) {
  Cells result;
  double mass = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    mass += cells.probability[i];
    count += cells.count[i];
    if (mass >= least) {
      result.probability.push_back(std::exchange(mass, 0));
      result.count.push_back(std::exchange(count, 0));
      result.score.push_back(cells.score[i]);
    }
  }
  if (result.size() == 0) return cells;
  result.probability.back() += mass;
  result.count.back() += count;
  return result;
}

/// The sum of score(i) over all observations, by the Chernoff bound.
inline void judge_sum(Report& report, const std::string& statistic, const Cells& cells, const std::vector<double>& score) {
  const auto n = static_cast<double>(cells.total());
  double mean = 0;
  double expected = 0;
  double square = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    mean += static_cast<double>(cells.count[i]) / n * score[i];
    expected += cells.probability[i] * score[i];
    square += cells.probability[i] * score[i] * score[i];
  }
  const double deviation = std::sqrt(square - expected * expected);
  if (!(deviation > 0)) return;  // a constant
  // log E e^(t (g - mean)) and its derivative; any t of the sign of mean - expected bounds, Newton's is the best.
  double t = 0;
  double best = 0;
  for (int step = 0; step < 60; ++step) {
    double transform = 0;
    double first = 0;
    double second = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const double distance = score[i] - mean;
      const double term = cells.probability[i] * std::exp(t * distance);
      transform += term;
      first += term * distance;
      second += term * distance * distance;
    }
    const double value = std::log(transform);
    if (std::isfinite(value)) best = std::min(best, value);
    const double tilted = first / transform;
    const double change = tilted / (second / transform - tilted * tilted);
    // A cautious step: exponents stay below 700.
    t -= std::clamp(change, -1 / deviation, 1 / deviation);
    if (!(std::abs(change) > 1e-12 * std::abs(t))) break;
  }
  report.add(statistic, 2 * std::exp(n * best),
             fmt::format("{:.6g} where {:.6g} is expected, {:.2f} standard errors off", mean, expected,
                         (mean - expected) / deviation * std::sqrt(n)));
}

/// The likelihood-ratio form of chi-square.
inline void judge_chi_square(Report& report, const std::string& statistic, const Cells& cells) {
  const auto n = static_cast<double>(cells.total());
  double divergence = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto count = static_cast<double>(cells.count[i]);
    if (count > 0) divergence += count * std::log(count / n / cells.probability[i]);
  }
  const auto m = static_cast<double>(cells.size() - 1);
  if (!(m > 0)) return;  // one cell, which holds everything
  const double p = divergence > m ? std::exp(m - divergence + m * std::log(divergence / m)) : 1;
  report.add(statistic, p, fmt::format("{:.1f} for {:.0f} degrees of freedom", 2 * divergence, m));
}

/// The largest deviation of a cell, among those pooled until 25 observations are expected.
inline void judge_largest(Report& report, const std::string& statistic, const Cells& all) {
  const auto n = all.total();
  const Cells cells = pooled(all, 25 / static_cast<double>(n));
  double least = 1;
  std::size_t at = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double p = binomial_p(cells.count[i], n, cells.probability[i]);
    if (!(p >= least)) {
      least = p;
      at = i;
    }
  }
  report.add(
      statistic, least * static_cast<double>(cells.size()),
      fmt::format("{} at {:.6g}, {:.1f} are expected", cells.count[at], cells.score[at], static_cast<double>(n) * cells.probability[at]));
}

inline void judge_kolmogorov(Report& report, const std::string& statistic, const Cells& cells) {
  const auto n = static_cast<double>(cells.total());
  double observed = 0;
  double expected = 0;
  double largest = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    observed += static_cast<double>(cells.count[i]) / n;
    expected += cells.probability[i];
    largest = std::max(largest, std::abs(observed - expected));
  }
  report.add(statistic, 2 * std::exp(-2 * n * largest * largest), fmt::format("distribution functions differ by {:.3g}", largest));
}

/// Mean, mean absolute deviation, variance, chi-square of about 64 bins, largest deviation, Kolmogorov.
inline void judge_cells(Report& report, const std::string& prefix, const Cells& cells) {
  double mean = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) mean += cells.probability[i] * cells.score[i];
  std::vector<double> absolute;
  std::vector<double> square;
  for (const double score : cells.score) {
    absolute.push_back(std::abs(score - mean));
    square.push_back((score - mean) * (score - mean));
  }
  judge_sum(report, prefix + "mean", cells, cells.score);
  judge_sum(report, prefix + "absolute", cells, absolute);
  judge_sum(report, prefix + "variance", cells, square);
  judge_chi_square(report, prefix + "chi-square", pooled(cells, 1.0 / 64));
  judge_largest(report, prefix + "largest bin", cells);
  judge_kolmogorov(report, prefix + "Kolmogorov", cells);
}

/// A table of two categories that should be independent, each of known probabilities: chi-square, and the sum of products of scores.
inline void judge_pairs(Report& report, const std::string& statistic, const std::vector<double>& first, const std::vector<double>& second,
                        const std::vector<std::int64_t>& counts) {
  const auto standardised = [](const std::vector<double>& p) {
    double mean = 0;
    for (std::size_t i = 0; i < p.size(); ++i) mean += p[i] * static_cast<double>(i);
    std::vector<double> score;
    for (std::size_t i = 0; i < p.size(); ++i) score.push_back(static_cast<double>(i) - mean);
    return score;
  };
  const auto score_1 = standardised(first);
  const auto score_2 = standardised(second);
  Cells table;
  for (std::size_t i = 0; i < first.size(); ++i) {
    for (std::size_t j = 0; j < second.size(); ++j) {
      table.probability.push_back(first[i] * second[j]);
      table.score.push_back(score_1[i] * score_2[j]);
      table.count.push_back(counts[i * second.size() + j]);
    }
  }
  if (table.size() < 4) return;
  judge_chi_square(report, statistic + " chi-square", table);
  judge_sum(report, statistic + " correlation", table, table.score);
}

/// One line of a table: what was judged, from how much, and the statistic that is least likely.
inline void report_fit(const std::string& law, std::int64_t n, const Report& report) {
  report_line(fmt::format("| {} | {} | {} | {} | {:.2g} |", law, n, report.findings().size(), report.worst().statistic, report.worst().p));
}

}  // namespace surety::statistical
