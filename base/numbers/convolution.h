// Convolution powers of measures on a grid, with a proved bound on every rounding error.
//
// Definitions:
//   circular   indices are taken modulo the size N, a power of two: entry r of the result is the sum of the exact entries
//              r, r + N, r + 2 N, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace surety {

/// Two non-negative sequences of one length at most N, which are transformed together.
struct SequencePair {
  std::vector<double> first;
  std::vector<double> second;
};

/// Circular convolutions of `factors`, each to its power, accumulated one factor at a time so that only one is in memory.
class CircularProduct {
 public:
  /// \pre size is a power of two, at least 4.
  explicit CircularProduct(std::size_t size);

  /// Multiplies by the `count`-th power of `factor`, whose sequences are folded modulo N. \complexity O(N log N).
  void multiply(const SequencePair& factor, std::uint64_t count);

  struct Result {
    std::vector<double> first;
    std::vector<double> second;
    double error;  ///< every entry is within this of the exact circular convolution of the given doubles
  };
  [[nodiscard]] Result result() &&;

  /// The same for one factor alone, in place.
  [[nodiscard]] static Result power(SequencePair factor, std::uint64_t count, std::size_t size);

  /// Bytes that a product of this size, or a power alone, needs, tables and what reads the result included.
  [[nodiscard]] static std::size_t bytes(std::size_t size, bool alone) { return (alone ? 56 : 88) * size; }

 private:
  std::size_t size_;
  // Spectra of the two products, one bin of each k and N - k; bounds on their moduli (logarithms) and on their errors over the moduli.
  struct Bin {
    double re;
    double im;
    double log_bound;  // of the modulus of both the computed and the exact product
    double error;      // of the computed product over exp(log_bound)
  };
  std::vector<Bin> first_;
  std::vector<Bin> second_;
};

namespace transform {

/// In place, natural order to bit-reversed order: X_k = sum of x_j e^(-2 pi i j k / N). `re` and `im` have N = 2^k >= 4 entries.
/// The 2-norm of the error is at most relative_error(N) times the 2-norm of the exact result.
/// \source N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., Theorem 24.2. \complexity 5 N log2 N operations.
void forward(std::span<double> re, std::span<double> im);
/// In place, bit-reversed order to natural order, without the factor 1 / N: x_j = sum of X_k e^(2 pi i j k / N). The same bound.
void backward(std::span<double> re, std::span<double> im);
[[nodiscard]] double relative_error(std::size_t size);

}  // namespace transform
}  // namespace surety
