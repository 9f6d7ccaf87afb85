// One epoch of random allocation under replace-one: a record that adds a vector in one of t rounds, against one that adds the opposite vector.
//
// Its pair is P = (1/t) sum of N(e_i / z, I) against P' = (1/t) sum of N(-e_i / z, I). Under the normal law of t dimensions both densities are
// means of independent terms, A_i and B_i = exp(+-mu g_i - mu^2 / 2), so where one exceeds e^x times the other is decided by the sign of
// D = (1/t) sum (A_i - e^x B_i), whose law has a Fourier transform that is a power. docs/proofs/allocated.md derives every error.
#pragma once

#include <memory>
#include <vector>

#include <surety/accounting/laws/losses/loss_law.h>

namespace surety::accounting {

class ReplacedEpoch {
 public:
  /// \pre rounds is a whole number, at least 2, and multiplier > 0: the noise over the bound on one record.
  ReplacedEpoch(double rounds, double multiplier);
  ~ReplacedEpoch();
  ReplacedEpoch(const ReplacedEpoch&) = delete;
  ReplacedEpoch(ReplacedEpoch&&) = delete;
  ReplacedEpoch& operator=(const ReplacedEpoch&) = delete;
  ReplacedEpoch& operator=(ReplacedEpoch&&) = delete;

  /// What lies beyond a loss.
  struct Beyond {
    double p;            ///< P(loss > x)
    double other;        ///< P'(loss > x)
    double delta;        ///< of e^x: P(loss > x) - e^x P'(loss > x)
    double p_error;      ///< absolute
    double other_error;  ///< absolute
    double delta_error;  ///< absolute
    double line;         ///< of these: what the nodes that are left out add
    double alias;        ///< and the images of the law
    double nodes;
  };
  /// \pre x >= 0. \complexity O(nodes x 200): milliseconds, some tens of them where frequencies rise. \throws Error{unsupported} where that takes too many nodes.
  [[nodiscard]] Beyond beyond(double x) const;

  /// The least and largest loss of what is kept.
  [[nodiscard]] LossRange range() const;

  /// A law that is an upper bound, or a lower one: masses of cells of its own, at their ends or at their means. It equals its own reverse.
  /// \complexity some seconds the first time, where frequencies rise (replaced_frequencies.h) and are many up to five. Safe to call from several threads.
  [[nodiscard]] LossCells cells(bool from_above, double step) const;

 private:
  class Numbers;
  std::unique_ptr<Numbers> numbers_;
};

/// The epoch of these rounds and this multiplier. The last few are kept.
[[nodiscard]] std::shared_ptr<const ReplacedEpoch> replaced_epoch(double rounds, double multiplier);

}  // namespace surety::accounting
