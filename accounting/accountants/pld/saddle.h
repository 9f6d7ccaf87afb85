// Tuning: an approximate cumulant function and its saddle points. Nothing here is certified, nor needs to be.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <surety/accounting/laws/cells/parts.h>

namespace surety::accounting::pld {

struct Cumulants {
  double value;
  double mean;
  double variance;
};

/// log of the moment generating function of the composed loss under P, from coarse laws.
class ApproximateCumulants {
 public:
  ApproximateCumulants(const laws::Parts& parts, const Cut& cut);

  [[nodiscard]] Cumulants at(double s) const;
  [[nodiscard]] Cumulants part(std::size_t i, double s) const { return at(laws_[i], s); }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double largest() const { return largest_; }

 private:
  struct Law {
    std::vector<double> losses;
    std::vector<double> log_masses;
    double count;

    void add(double loss, double log_mass) {
      losses.push_back(loss);
      log_masses.push_back(log_mass);
    }
  };

  /// The trapezoid rule over the Gaussian outcome t, where everything is smooth, converges faster than any power of its step.
  static void add_gaussian(Law& law, const LossLaw& pair, const Cut& cut);
  static Cumulants at(const Law& law, double s);

  std::vector<Law> laws_;
  double least_ = 0;
  double largest_ = 0;
};

/// What the saddle-point approximation says at one tilt: the epsilon whose saddle it is, and the logarithm of delta there. For an
/// epsilon with another saddle the integrand s -> e^(K(s) - s epsilon) / (s (s + 1)) is larger than needed, no more.
struct Saddle {
  double s = 0;
  double epsilon = 0;
  double log_delta = 0;
};

/// The saddle of an epsilon or a delta; s between 1e-4 and `most`, at which it stays where it is larger (near the largest loss, where
/// there is an atom, it is infinite).
[[nodiscard]] Saddle find_saddle(const ApproximateCumulants& k, double most, const std::function<bool(const Saddle&)>& beyond);

/// log max over x > 0 of (1 - e^-x) e^(-s x).
[[nodiscard]] double log_alias(double s);

}  // namespace surety::accounting::pld
