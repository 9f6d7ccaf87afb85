// Binary reports, whatever the data of the others are.
#pragma once

#include <cstdint>
#include <vector>

#include <surety/accounting/laws/shuffled/binomial.h>
#include <surety/base/numbers/ball.h>

namespace surety::accounting::laws {

/// The largest of the curves of binary randomized response over all data of the others: how many of them have either input.
class AllBinaryData {
 public:
  /// \pre others <= 1000. \complexity O(others^3 / 6), memory O(others^2).
  AllBinaryData(std::uint64_t others, const LongBall& more, const LongBall& less);

  /// At e^epsilon >= 1. \complexity O(others^2). \source docs/proofs/shuffled-reports.md#binary
  [[nodiscard]] LongBounds at(const LongBall& e) const;

 private:
  LongBall more_;
  LongBall less_;
  std::vector<std::vector<double>> sums_;  ///< how many of the others report the likely outcome, by how many have its input
};

}  // namespace surety::accounting::laws
