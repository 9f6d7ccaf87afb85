// One epoch of random allocation: each record takes part in exactly one of t rounds, drawn uniformly, of a Gaussian release each.
//
// Its pair is P = (1/t) sum of N(e_i / z, I) against Q = N(0, I) in t dimensions. Under Q the ratio R = dP/dQ is the mean of t
// independent log-normal variables Y of mean 1, and the density of R is a Fourier integral of E e^(-s R) = L(s / t)^t,
// L(s) = E e^(-s Y), on a line where Re s > 0. docs/proofs/allocated.md derives the pair and every error.
#pragma once

#include <memory>

#include <surety/accounting/laws/losses/loss_law.h>

namespace surety::accounting {

/// The cells of one allocated epoch, and the bounds they are made with.
class AllocatedEpoch {
 public:
  /// \pre rounds is a whole number, at least 2, and multiplier > 0. \throws Error{unsupported} for a multiplier below 1 / 50.
  AllocatedEpoch(double rounds, double multiplier);
  ~AllocatedEpoch();
  AllocatedEpoch(const AllocatedEpoch&) = delete;
  AllocatedEpoch(AllocatedEpoch&&) = delete;
  AllocatedEpoch& operator=(const AllocatedEpoch&) = delete;
  AllocatedEpoch& operator=(AllocatedEpoch&&) = delete;

  /// x such that P(R >= x) <= e^log_mass, which is at least -100 or taken for that.
  [[nodiscard]] double highest(double log_mass) const;
  /// The same with Q(R < x) <= e^log_mass.
  [[nodiscard]] double lowest(double log_mass) const;

  /// An upper bound on log E e^(-v Y), v > 0.
  [[nodiscard]] double log_laplace(double v) const;

  /// Whether there are cells: else there is too little noise, or there are too few rounds.
  [[nodiscard]] bool has_density() const;

  /// The least and largest loss of what is kept; `reversed` for Q against P.
  [[nodiscard]] LossRange range(bool reversed, const Cut& cut) const;

  /// \complexity O(range / step), and the first time a table of the density: some 20 us for each node of the line, 0.1 s for 100 rounds
  ///     of multiplier 1. Safe to call from several threads.
  /// \throws Error{unsupported} where the line takes too many nodes (little noise, or few rounds), or digits do not suffice.
  [[nodiscard]] LossCells cells(bool reversed, double step, const Cut& cut) const;

  /// The error terms of the table. The density of R at x is within (rounding + line + remainder) e^(tilt x) of what it gives, and less than
  /// that by what comes from beyond the period, at most a Q-mass of `alias` in any cell.
  struct Terms {
    double rounding;   ///< of L, of its power, and of the transforms
    double line;       ///< what lies beyond the nodes
    double remainder;  ///< of the Taylor polynomials
    double alias;
    double tilt;
    double nodes;
  };
  [[nodiscard]] Terms terms() const;

 private:
  class Numbers;
  std::unique_ptr<Numbers> numbers_;
};

/// The epoch of these rounds and this multiplier. The last few are kept, with their tables.
[[nodiscard]] std::shared_ptr<const AllocatedEpoch> allocated_epoch(double rounds, double multiplier);

}  // namespace surety::accounting
