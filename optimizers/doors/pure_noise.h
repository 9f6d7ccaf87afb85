// Noise of density exp(-||x||_2 / (b s)) in D dimensions, s the l2 sensitivity, for algorithms whose noise is Gaussian otherwise: a release of it is
// pure(1/b), and its mean squared length is D (D + 1) (b s)^2, that of Gaussian noise of multiplier b sqrt(D + 1). Everything that such an algorithm
// computes from the size of its noise (ridges, steps, clips) follows from that multiplier.
//
// docs/proofs/shaped-descent.md#pure
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/optimizers/doors/run.h>

namespace surety::optimizers {

/// One release of `numbers` numbers with noise of scale b.
struct PureRelease {
  NoiseScale scale;     ///< b
  std::size_t numbers;  ///< D, at least 1

  /// pure(1/b)
  [[nodiscard]] Event event(Adjacency adjacency) const;
  /// b sqrt(D + 1)
  [[nodiscard]] NoiseMultiplier multiplier() const;
};

/// A releaser for an algorithm that requests Gaussian noise: each request of a known multiplier is one of pure noise of the same mean squared length.
class PureReleaser final : public Releaser {
 public:
  /// \param inner draws the noise of pure(epsilon), and outlives this releaser
  PureReleaser(Releaser& inner, Adjacency adjacency, std::vector<PureRelease> releases);

  /// \throws Error{unsupported} for an event that is not the Gaussian equivalent of one of the releases, or is of another dimension; and what
  ///         the inner releaser throws.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override;

 private:
  struct Known {
    Event gaussian;
    std::size_t numbers;
    Event pure;
  };
  Releaser& inner_;
  std::vector<Known> known_;
};

}  // namespace surety::optimizers
