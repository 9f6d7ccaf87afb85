// What the noises on integers have in common: a sampler, one at a time or in bulk. The time of a draw is independent of its value
// (isochronous_sampler.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/samplers/isochronous_sampler.h>

namespace surety::mechanisms {

class LatticeNoise {
 public:
  /// Samples beyond are clamped to this. `saturating_add` (grid.h) turns them into a function of the ideal sum.
  static constexpr std::int64_t saturation = IsochronousSampler::saturation;
  /// No part of `for_each_block` is larger.
  static constexpr std::size_t block = IsochronousSampler::block;

  template <ReleaseBits Bits>
  [[nodiscard]] std::int64_t operator()(Bits& bits) const {
    return sampler_(bits);
  }

  /// Fills `noise` with independent samples. Words are drawn by blocks: the samples differ from as many single ones where a sample needs
  /// more words than the first. \throws what the bits throw.
  void fill(std::span<std::int64_t> noise, BitsRef bits) const { sampler_.fill(noise, bits); }

  /// The same samples in data units of `grid`: exact up to 2^53 steps and the nearest double beyond.
  void fill(std::span<double> noise, const Grid& grid, BitsRef bits) const;

  /// The same samples as `fill`, handed out block by block: `use(std::size_t first, std::span<const std::int64_t>)`.
  template <class Use>
  void for_each_block(std::size_t count, BitsRef bits, Use use) const {
    sampler_.for_each_block(count, bits, use);
  }

 protected:
  explicit LatticeNoise(IsochronousSampler sampler) : sampler_{std::move(sampler)} {}

 private:
  IsochronousSampler sampler_;
};

/// P(k) proportional to exp(-k^2 / (2 variance)), exactly, for all integers k. \throws Error{invalid_argument} unless variance > 0.
class DiscreteGaussianNoise : public LatticeNoise {
 public:
  explicit DiscreteGaussianNoise(Rational variance) : LatticeNoise{IsochronousSampler::discrete_gaussian(variance)}, variance_{variance} {}
  [[nodiscard]] Rational variance() const noexcept { return variance_; }

 private:
  Rational variance_;
};

/// P(k) proportional to exp(-|k| / scale), exactly, for all integers k. \throws Error{invalid_argument} unless 0 < scale <= 2^58.
class DiscreteLaplaceNoise : public LatticeNoise {
 public:
  explicit DiscreteLaplaceNoise(Rational scale) : LatticeNoise{IsochronousSampler::discrete_laplace(scale)}, scale_{scale} {}
  [[nodiscard]] Rational scale() const noexcept { return scale_; }

 private:
  Rational scale_;
};

/// P(k) proportional to exp(-k / scale), exactly, for k >= 0. \throws Error{invalid_argument} unless 0 < scale <= 2^58.
class GeometricNoise : public LatticeNoise {
 public:
  explicit GeometricNoise(Rational scale) : LatticeNoise{IsochronousSampler::geometric(scale)}, scale_{scale} {}
  [[nodiscard]] Rational scale() const noexcept { return scale_; }

 private:
  Rational scale_;
};

/// Heads among `flips` fair coin flips minus flips / 2, exactly: P(k) = C(n, n/2 + k) / 2^n, variance n / 4. Takes milliseconds to make.
/// \throws Error{invalid_argument} unless flips is even, from 2 to 2^52.
class BinomialNoise : public LatticeNoise {
 public:
  explicit BinomialNoise(std::uint64_t flips) : LatticeNoise{IsochronousSampler::binomial(flips)}, flips_{flips} {}
  [[nodiscard]] std::uint64_t flips() const noexcept { return flips_; }

 private:
  std::uint64_t flips_;
};

/// The difference of two independent Poisson variables of mean `mean` each, exactly: variance 2 mean. Takes milliseconds to make.
/// \throws Error{invalid_argument} unless 0 < mean <= 2^50.
class SkellamNoise : public LatticeNoise {
 public:
  explicit SkellamNoise(double mean) : LatticeNoise{IsochronousSampler::skellam(mean)}, mean_{mean} {}
  [[nodiscard]] double mean() const noexcept { return mean_; }

 private:
  double mean_;
};

}  // namespace surety::mechanisms
