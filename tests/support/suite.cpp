#include <support/suite.h>

#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include <support/sanitized.h>

namespace surety::statistical {

std::int64_t sample_size() {
  if (const char* const text = std::getenv("SURETY_STATISTICS_SAMPLES"); text != nullptr) return std::max(1000LL, std::atoll(text));
  return surety_test::sanitized ? 200'000 : 20'000'000;
}

void report_line(const std::string& line) {
  fmt::print("{}\n", line);
  if (const char* const name = std::getenv("SURETY_STATISTICS_REPORT"); name != nullptr) std::ofstream{name, std::ios::app} << line << '\n';
}

namespace {

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
Budget& budget = Budget::instance();

}  // namespace

::testing::AssertionResult fits(const Report& report) {
  budget.spend(report.findings().size());
  if (!report.alarms()) return ::testing::AssertionSuccess() << "fits";
  auto result = ::testing::AssertionFailure();
  for (const auto& [statistic, p, detail] : report.findings()) {
    if (!(p > alpha)) result << statistic << " (p <= " << p << "): " << detail << "; ";
  }
  return result;
}

double binomial_p(std::int64_t observed, std::int64_t n, double p) {
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

void judge_count(Report& report, const std::string& statistic, std::int64_t observed, std::int64_t n, double p) {
  report.add(statistic, binomial_p(observed, n, p), fmt::format("{} of {}, {:.1f} are expected", observed, n, static_cast<double>(n) * p));
}

Cells pooled(const Cells& cells, double least) {
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

void judge_sum(Report& report, const std::string& statistic, const Cells& cells, const std::vector<double>& score) {
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

void judge_chi_square(Report& report, const std::string& statistic, const Cells& cells) {
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

void judge_largest(Report& report, const std::string& statistic, const Cells& all) {
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

void judge_kolmogorov(Report& report, const std::string& statistic, const Cells& cells) {
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

void judge_cells(Report& report, const std::string& prefix, const Cells& cells) {
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

void judge_pairs(Report& report, const std::string& statistic, const std::vector<double>& first, const std::vector<double>& second,
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

void report_fit(const std::string& law, std::int64_t n, const Report& report) {
  report_line(fmt::format("| {} | {} | {} | {} | {:.2g} |", law, n, report.findings().size(), report.worst().statistic, report.worst().p));
}

}  // namespace surety::statistical
