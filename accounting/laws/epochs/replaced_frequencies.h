// The tails of a replaced epoch (replaced_epoch.h) from its Fourier transform at frequencies that rise geometrically, at many losses at once.
//
// A - e^x B is 2 e^(x / 2 - mu^2 / 2) sinh(mu (g - c)), c = x / (2 mu). With frequencies of that hyperbolic sine, and with the nodes of all losses on
// one lattice of g - c, the exponentials are the same for every loss: losses differ by the weights of the nodes alone.
//
// Definitions:
//   lattice    places g - c on the line that is turned away from where the exponentials turn
//   transform  f(W) = E e^(i W sinh(mu (g - c))), and the same times A or B
//   edges      of the strip of log W in which the transforms are analytic, and which the integral's rule uses
#pragma once

#include <complex>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <surety/base/numbers/bound.h>

namespace surety::accounting {

class ReplacedFrequencies {
 public:
  /// \pre rounds is a whole number, at least 2, and multiplier > 0: the noise over the bound on one record.
  ReplacedFrequencies(double rounds, double multiplier);

  /// What lies beyond a loss.
  struct Tails {
    long double p;      ///< P(loss > x)
    long double other;  ///< P'(loss > x)
    LongUpper p_error;  ///< absolute
    LongUpper other_error;
    LongUpper rule;     ///< of these: what the integral's rule errs by
    LongUpper ends;     ///< and the frequencies that are left out
    std::size_t count;  ///< of frequencies
  };
  /// In the order of the losses; nothing where that would take more than `most` frequencies, for a multiplier below about .1, whose lattices are long, and one
  /// above about 12, for which roundings are not counted.
  /// \pre there is a loss, and each is at least 0. \complexity O(frequencies x nodes x losses), some 800 x 300, at ten nanoseconds each.
  [[nodiscard]] std::vector<Tails> beyond(std::span<const double> losses, std::size_t most) const;

 private:
  using Complex = std::complex<long double>;
  struct Lattice;
  struct Loss;
  struct Frequencies;
  struct Ends;

  [[nodiscard]] Lattice lattice(double largest_loss) const;
  [[nodiscard]] Loss weights_of(double x, const Lattice& lattice) const;
  [[nodiscard]] std::vector<LongUpper> edges_of(const std::vector<Loss>& losses, const Lattice& lattice, long double edge) const;
  void add_edges(std::vector<LongUpper>& edges, const std::vector<Loss>& losses, const Lattice& lattice, long double w,
                 long double angle) const;
  [[nodiscard]] LongUpper mean_on_edge(const Loss& loss) const;
  [[nodiscard]] Ends ends(long double largest_loss) const;
  [[nodiscard]] std::optional<Frequencies> frequencies(const std::vector<Loss>& losses, const Lattice& lattice, double largest_loss,
                                                       std::size_t most) const;
  void add(Loss& loss, long double w, const std::vector<Complex>& less) const;
  [[nodiscard]] Tails tails(const Loss& loss, LongUpper edges, const Frequencies& at) const;

  double t_;
  double multiplier_;
  long double mu_;
  long double b_;          ///< how far the line is turned
  long double h_;          ///< the lattice's step
  LongUpper grown_{0};     ///< e^(b^2 / 2), by which the normal law's modulus is larger on the line
  LongUpper outside_{0};   ///< what the lattice's rule and its ends leave of a transform, a share of W E cosh
  LongUpper on_edges_{0};  ///< the same on the edges
};

}  // namespace surety::accounting
