#include <surety/accounting/laws/shuffled/all_binary_data.h>

#include <algorithm>
#include <cmath>

namespace surety::accounting::laws {
namespace {

double lower_double(LongLower x) { return std::max(0.0, shortened(x).value()); }
double upper_double(LongUpper x) { return std::max(0.0, shortened(x).value()); }

// Proved: docs/proofs/shuffled-reports.md#binary
/// Masses err by some 1e-14, a sum of at most 1001 products by 1001 units, each 1.2e-16, and as much again the sums and products above.
constexpr double sum_error = 0x1p-40;
constexpr double lost = 1e-290;

std::vector<double> masses(std::uint64_t trials, const LongBall& p) {
  std::vector<double> found;
  for (const auto& block : count_blocks(trials, p, trials + 1, 1e6)) found.push_back(static_cast<double>(block.weight.lower.value()));
  return found;
}

}  // namespace

AllBinaryData::AllBinaryData(std::uint64_t others, const LongBall& more, const LongBall& less) : more_{more}, less_{less} {
  std::vector<std::vector<double>> likely;
  std::vector<std::vector<double>> unlikely;
  for (std::uint64_t count = 0; count <= others; ++count) {
    likely.push_back(masses(count, more));
    unlikely.push_back(masses(count, less));
  }
  for (std::uint64_t ones = 0; ones <= others; ++ones) {
    const auto& a = likely[ones];
    const auto& b = unlikely[others - ones];
    std::vector<double> sum(others + 1, 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < b.size(); ++j) sum[i + j] += a[i] * b[j];
    }
    sums_.push_back(std::move(sum));
  }
}

LongBounds AllBinaryData::at(const LongBall& e) const {
  const LongBall gain = more_ - e * less_;
  const LongBall loss = e * more_ - less_;
  const double most = upper_double(gain.upper() * LongExact{1 + sum_error});
  const double least = lower_double(gain.lower() * LongExact{1 - sum_error});
  const double most_lost = upper_double(loss.upper() * LongExact{1 + sum_error});
  const double least_lost = lower_double(loss.lower() * LongExact{1 - sum_error});
  double upper = 0;
  double lower = 0;
  for (const auto& mass : sums_) {
    double up = most * mass.back();
    double down = least * mass.back();
    for (std::size_t t = 1; t < mass.size(); ++t) {
      up += std::max(0.0, most * mass[t - 1] - least_lost * mass[t]);
      down += std::max(0.0, least * mass[t - 1] - most_lost * mass[t]);
    }
    upper = std::max(upper, up);
    lower = std::max(lower, down);
  }
  // Subtractions of doubles, and masses that no double holds.
  return {max(LongLower{LongExact{lower * (1 - sum_error)}} - LongExact{lost}, LongLower{0}),
          LongUpper{LongExact{upper * (1 + sum_error)}} + LongExact{lost}};
}
// Proved so far.

}  // namespace surety::accounting::laws
