// All runs of a search published: docs/proofs/best-of.md.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <surety/accounting/events/runs.h>

namespace surety::accounting {

/// All runs published, and how many there were: E delta_K, delta_k the curve of k runs composed, which rises with k.
class SeveralRuns {
 public:
  /// \param counts rising; between two of them the larger one counts, and beyond the last one all is known.
  SeveralRuns(const Runs& runs, const std::vector<std::size_t>& counts);

  /// delta(epsilon) of the best run is at most this, epsilon >= 0. \param delta_of the i-th of `counts` runs, from above, at that epsilon
  [[nodiscard]] double above(const std::function<double(std::size_t i)>& delta_of) const;
  /// Whether some of the counts show that this bound is larger than `most`, so that all of them need not be asked.
  [[nodiscard]] bool is_larger(double most, const std::function<double(std::size_t i)>& delta_of) const;

 private:
  std::vector<std::size_t> counts_;
  std::vector<double> at_least_;  ///< P(K > the count before)
  double more_ = 1;               ///< P(K > the last one)
};
/// Counts for it: one by one, then growing, as far as more runs than that are not hardly any.
[[nodiscard]] std::vector<std::size_t> counts_of_runs(const Runs& runs, std::size_t one_by_one, double growth, double hardly_any);

}  // namespace surety::accounting
