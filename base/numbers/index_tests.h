// Lower bounds on a composed privacy curve from tests that see of every release only the cell of the grid that its loss lies in: they
// reject when the indices of all cells add up to enough. docs/proofs/pld.md#tests.
#pragma once

#include <cstddef>
#include <vector>

namespace surety {

/// P- and Q-mass of the sums of indices in a window, from tilted convolutions: entry j stands for P-mass of
/// hits[j] e^(log_hits - s x) and for Q-mass of misses[j] e^(log_misses - (s + 1) x), x = start + j step.
struct IndexSums {
  std::vector<double> hits;
  std::vector<double> misses;
  long double start = 0;
  long double log_hits = 0;
  long double log_misses = 0;
  double step = 0;
  double s = 0;
  double entry_error = 0;         ///< of each hit and each miss
  long double outside_right = 0;  ///< bounds on the tilted P-mass of sums beyond the window's ends, whose images are among the entries
  long double outside_left = 0;
  long double faded = 0;     ///< bound on the P-mass that the images of those on the left count for
  long double infinite = 0;  ///< lower bound on the P-mass at infinite loss
  long double doubt = 0;     ///< of the logarithms
};

/// What one of them proves.
class IndexTests {
 public:
  explicit IndexTests(IndexSums sums);

  /// delta(epsilon) is at least this: P(A) - e^epsilon Q(A) of a test A that is a good one. At least 0.
  [[nodiscard]] long double delta(double epsilon) const;
  /// delta(x) > `delta` for all x below this: log((P(A) - delta) / Q(A)). At least 0; infinity where infinite loss alone is more.
  [[nodiscard]] long double epsilon(double delta) const;

  /// Of the test that rejects from entry j to the end of the window on, P-mass from below, infinite loss included, and log Q-mass from above.
  struct Power {
    long double hit;
    long double log_miss;
  };
  [[nodiscard]] Power power(std::size_t j) const;
  /// What `power` takes off the P-mass for images and for rounding.
  struct Terms {
    long double sum;
    long double rounding;
    long double aliasing;
  };
  [[nodiscard]] Terms terms(std::size_t j) const;
  [[nodiscard]] std::size_t size() const { return sums_.hits.size(); }

 private:
  template <class Value>
  [[nodiscard]] long double best(Value value) const;

  IndexSums sums_;       // with hits and misses summed from each entry to the end
  double relative_ = 0;  // error of those sums
  double hit_sum_ = 0;   // of e^(-s x) over the window
  double miss_sum_ = 0;  // of e^(-(s + 1) x)
};

}  // namespace surety
