// A sum that keeps what its additions lose.
#pragma once

#include <cmath>

namespace surety {

/// Of less than 2^30 numbers it is within a unit of itself and a unit of the sum of their moduli, units of the last place of long double.
/// \source Neumaier 1974: Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen, with Knuth's exact error of one addition.
class LongSum {
 public:
  void operator+=(long double x) {
    const long double sum = sum_ + x;
    const long double of_x = sum - sum_;
    rest_ += (sum_ - (sum - of_x)) + (x - of_x);
    sum_ = sum;
  }
  [[nodiscard]] long double value() const { return std::isfinite(sum_) ? sum_ + rest_ : sum_; }

 private:
  long double sum_ = 0;
  long double rest_ = 0;
};

}  // namespace surety
